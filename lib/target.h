/* target.h - the limits and versions of a Metal target: what the fuser may do and what the build recipe says. */
#ifndef NV_TARGET_H
#define NV_TARGET_H

#include <stdint.h>

typedef struct nv_target {
  const char *name;          /* "macos14" */
  const char *sdk;           /* xcrun's -sdk: "macosx" or "iphoneos" */
  const char *std;           /* -std= of metal: "metal3.1" */
  const char *version_flag;  /* "-mmacosx-version-min=14.0" */
  const char *os;            /* "macOS" or "iOS" */
  uint32_t os_major, os_minor;
  uint32_t msl;              /* __METAL_VERSION__: 310 */
  uint32_t max_buffers;      /* bindings a kernel, setBytes included: 31 (Metal's feature set tables) */
  uint32_t max_statements;   /* of a kernel body */
  uint32_t max_live;         /* values alive at once in a kernel body */
  uint32_t max_inline_bytes; /* setBytes: below 4096 */
} nv_target;

/* By name; NULL: unknown. nv_target_names: a NULL-terminated list, default first. */
const nv_target *nv_target_find(const char *name);
extern const char *const nv_target_names[];

#endif
