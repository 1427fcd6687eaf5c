/* target.c - the Metal targets: language version by OS and the limits of a kernel. */
#include "target.h"

#include <stddef.h>
#include <string.h>

/* 31 buffers a kernel, setBytes under 4 KB: Metal's limits. 4,096 statements and 64 live values are ours: far below
 * what is known to break the Metal compiler, far above what hides a launch. */
#define LIMITS .max_buffers = 31, .max_statements = 4096, .max_live = 64, .max_inline_bytes = 4095
#define MACOS(n, version, standard, number)                                                                \
  {                                                                                                        \
    .name = "macos" #n, .sdk = "macosx", .std = standard, .version_flag = "-mmacosx-version-min=" #n ".0", \
    .os = "macOS", .os_major = version, .msl = number, LIMITS                                              \
  }
#define IOS(n, version, standard, number)                                                                            \
  {                                                                                                                  \
    .name = "ios" #n, .sdk = "iphoneos", .std = standard, .version_flag = "-mios-version-min=" #n ".0", .os = "iOS", \
    .os_major = version, .msl = number, LIMITS                                                                       \
  }

static const nv_target targets[] = {
    MACOS(14, 14, "metal3.1", 310),   MACOS(11, 11, "macos-metal2.3", 230), MACOS(12, 12, "macos-metal2.4", 240),
    MACOS(13, 13, "metal3.0", 300),   MACOS(15, 15, "metal3.2", 320),       MACOS(26, 26, "metal4.0", 400),
    IOS(14, 14, "ios-metal2.3", 230), IOS(15, 15, "ios-metal2.4", 240),     IOS(16, 16, "metal3.0", 300),
    IOS(17, 17, "metal3.1", 310),     IOS(18, 18, "metal3.2", 320),         IOS(26, 26, "metal4.0", 400),
};

const char *const nv_target_names[] = {"macos14", "macos11", "macos12", "macos13", "macos15", "macos26", "ios14",
                                       "ios15",   "ios16",   "ios17",   "ios18",   "ios26",   NULL};

const nv_target *nv_target_find(const char *name) {
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    if (!strcmp(targets[i].name, name)) return &targets[i];
  return NULL;
}
