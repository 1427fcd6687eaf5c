/* reload.c - a metallib replaced at its path is the new one when loaded again, while the old is still in use and after
 * it was released; a released one is unmapped. usage: reload FIRST SECOND PATH */
#define _GNU_SOURCE
#include "run.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static id device, queue;
static float result(id library) {
  void *pool = objc_autoreleasePoolPush();
  id p = pipeline_or_exit(device, library, "k"), b = mtl_buffer(device, 128), cb = mtl_cmdbuf(queue),
     e = mtl_encoder(cb, 0);
  float *x = mtl_contents(b), r;
  for (int i = 0; i < 32; i++) x[i] = 1;
  const range only[] = {{b, 0}};
  encode(e, p, only, 1, 32);
  mtl_end(e);
  mtl_commit(cb);
  mtl_wait(cb);
  r = x[31];
  mtl_release(p);
  mtl_release(b);
  objc_autoreleasePoolPop(pool);
  return r;
}
static void put(const char *from, const char *to) {
  unlink(to);
  if (link(from, to)) exit(1);
}
static int mapped(const char *path) {
  char line[PATH_MAX + 200], real[PATH_MAX];
  int n = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  if (!f || !realpath(path, real)) return -1;
  while (fgets(line, sizeof line, f)) n += strstr(line, real) != NULL;
  fclose(f);
  return n;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  void *pool = objc_autoreleasePoolPush();
  int bad = 0;
  device = MTLCreateSystemDefaultDevice();
  queue = mtl_queue(device);
  put(argv[1], argv[3]);
  id first = library_or_exit(device, argv[3]);
  bad += result(first) != 1;
  put(argv[2], argv[3]);
  id second = library_or_exit(device, argv[3]);
  bad += result(second) != 2 || result(first) != 1 || mapped(argv[3]) <= 0;
  mtl_release(first);
  mtl_release(second);
  put(argv[1], argv[3]);
  bad += mapped(argv[1]) != 0 || mapped(argv[2]) != 0;
  first = library_or_exit(device, argv[3]);
  bad += result(first) != 1;
  mtl_release(first);
  mtl_release(queue);
  mtl_release(device);
  objc_autoreleasePoolPop(pool);
  printf("reload: %d wrong\n", bad);
  return bad != 0;
}
