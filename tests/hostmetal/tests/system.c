/* system.c - what the device and the system are said to be. usage: system LIBRARY EXPECTATION... */
#include "mtl.h"
#include "hm_hooks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static id device, library, err;
static NSUInteger number(id o, const char *selector) { return MSG("Q@:", NSUInteger, (id, SEL))(o, SELN(selector)); }
static long family(const char *s) { /* "apple7", "mac2", "metal3" */
  long n = s[strlen(s) - 1] - '0';
  return !strncmp(s, "apple10", 7) ? 1010 : *s == 'a' ? 1000 + n : !strncmp(s, "mac", 3) ? 2000 + n : 4998 + n;
}
static int holds(const char *s) {
  const char *v = strchr(s, '=');
  id f = library && v ? mtl_function(library, "gelu_f32") : nil, p = f ? mtl_pipeline(device, f, &err) : nil;
  int r;
  v = v ? v + 1 : "";
  if (!strncmp(s, "os=", 3)) {
    long major = atol(v), minor = atol(strchr(v, '.') + 1);
    r = mtl_os_at_least(major, minor) && mtl_os_at_least(major - 1, 99) && !mtl_os_at_least(major, minor + 1) &&
        !mtl_os_at_least(major + 1, 0);
  } else if (!strcmp(s, "loads")) r = library != nil;
  else if (!strncmp(s, "refused=", 8)) r = !library && err && strstr(mtl_error_text(err), v) != NULL;
  else if (!strncmp(s, "threads=", 8)) r = number(p, "maxTotalThreadsPerThreadgroup") == (NSUInteger)atol(v);
  else if (!strncmp(s, "width=", 6)) r = number(p, "threadExecutionWidth") == (NSUInteger)atol(v);
  else if (!strncmp(s, "page=", 5)) r = hm_now.page == (unsigned long)atol(v);
  else if (!strncmp(s, "buffer=", 7)) r = number(device, "maxBufferLength") == (NSUInteger)atol(v);
  else if (!strncmp(s, "no-", 3)) r = !mtl_family(device, family(s + 3));
  else r = mtl_family(device, family(s));
  mtl_release(p);
  mtl_release(f);
  return r;
}

int main(int argc, char **argv) {
  void *pool = objc_autoreleasePoolPush();
  int bad = 0;
  device = MTLCreateSystemDefaultDevice();
  library = mtl_library(device, argv[1], &err);
  for (int i = 2; i < argc; i++) {
    if (holds(argv[i])) continue;
    fprintf(stderr, "%s: no%s%s\n", argv[i], err ? ": " : "", err ? mtl_error_text(err) : "");
    bad++;
  }
  mtl_release(library);
  mtl_release(device);
  objc_autoreleasePoolPop(pool);
  return bad != 0;
}
