/* run.h - one kernel, some buffers and a number, for the tests that are about something else. */
#ifndef RUN_H
#define RUN_H
#include "mtl.h"
#include <stdio.h>
#include <stdlib.h>

static inline id library_or_exit(id device, const char *path) {
  id err = NULL, l = mtl_library(device, path, &err);
  if (l) return l;
  fprintf(stderr, "%s\n", mtl_error_text(err));
  exit(1);
}
static inline id pipeline_or_exit(id device, id library, const char *name) {
  id err = NULL, f = mtl_function(library, name), p = f ? mtl_pipeline(device, f, &err) : NULL;
  mtl_release(f);
  if (p) return p;
  fprintf(stderr, "%s: %s\n", name, f ? mtl_error_text(err) : "no such kernel");
  exit(1);
}
typedef struct range {
  id buffer;
  NSUInteger offset;
} range;
static inline void encode(id encoder, id pipeline, const range *r, int nranges, unsigned n) {
  mtl_set_pipeline(encoder, pipeline);
  for (int i = 0; i < nranges; i++) mtl_set_buffer(encoder, r[i].buffer, r[i].offset, (NSUInteger)i);
  mtl_set_bytes(encoder, &n, sizeof n, (NSUInteger)nranges);
  mtl_threads(encoder, mtl_size(n, 1, 1), mtl_size(32, 1, 1));
}
#endif
