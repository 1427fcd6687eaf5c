/* api.c - what a stub may use of Foundation, libdispatch and Metal beside dispatching. usage: api DIR NAME
 * NAME.metallib is found through the bundle; DIR/beside.metallib holds the same. */
#include "run.h"
#include "hm_hooks.h"
#include <dispatch/dispatch.h>
#include <string.h>

static int bad;
#define EXPECT(e) ((e) ? (void)0 : (void)(bad++, fprintf(stderr, "line %d: %s\n", __LINE__, #e)))
static NSUInteger number(id o, const char *selector) { return MSG("Q@:", NSUInteger, (id, SEL))(o, SELN(selector)); }
static id object(id o, const char *selector) { return MSG("@@:", id, (id, SEL))(o, SELN(selector)); }
static int is(id string, const char *text) { return string && !strcmp(mtl_utf8(string), text); }
static id with(id o, const char *selector, const char *argument) {
  return MSG("@@:@", id, (id, SEL, id))(o, SELN(selector), mtl_str(argument));
}

extern void *_NSConcreteGlobalBlock[32], *_NSConcreteStackBlock[32];
struct block { /* a deallocator, or a destructor of data, that counts */
  void *isa;
  int flags, reserved;
  void (*invoke)(void *, ...);
  const unsigned long *descriptor;
  int *count;
};
static const unsigned long block_descriptor[2] = {0, sizeof(struct block)};
static void deallocate(void *block, void *p, NSUInteger n) { ++*((struct block *)block)->count, (void)p, (void)n; }
static void destroy(void *block) { ++*((struct block *)block)->count; }
static struct block make_block(void (*f)(void), int *count) {
  struct block b = {_NSConcreteStackBlock, 0, 0, (void (*)(void *, ...))f, block_descriptor, count};
  return b;
}

static void strings(void) {
  id s = mtl_str("/a/b\xc3\xa9"), url = mtl_url("/x/y.metallib");
  char out[8];
  EXPECT(number(s, "length") == 5 && number(s, "hash") == (NSUInteger)s);
  EXPECT(MSG("Q@:Q", NSUInteger, (id, SEL, NSUInteger))(s, SELN("lengthOfBytesUsingEncoding:"), 4) == 6);
  EXPECT(is(with(s, "stringByAppendingPathComponent:", "c"), "/a/b\xc3\xa9/c"));
  EXPECT(is(object(s, "stringByDeletingLastPathComponent"), "/a"));
  EXPECT(is(with(s, "stringByAppendingString:", ".d"), "/a/b\xc3\xa9.d"));
  EXPECT(MSG("B@:@", BOOL, (id, SEL, id))(s, SELN("hasPrefix:"), mtl_str("/a")));
  EXPECT(!MSG("B@:*QQ", BOOL, (id, SEL, char *, NSUInteger, NSUInteger))(
      s, SELN("getCString:maxLength:encoding:"), out, 6, 4));
  EXPECT(is(object(url, "path"), "/x/y.metallib") && is(object(url, "lastPathComponent"), "y.metallib"));
  EXPECT(is(object(object(url, "URLByDeletingLastPathComponent"), "absoluteString"), "file:///x"));
  id made = MSG("@@:r^vQQ", id, (id, SEL, const void *, NSUInteger, NSUInteger))(
      object(CLASS("NSString"), "alloc"), SELN("initWithBytes:length:encoding:"), "abcdef", 3, 4);
  EXPECT(is(made, "abc"));
  mtl_release(made);
  const id two[] = {s, url};
  id list = MSG("@@:r^@Q", id, (id, SEL, const id *, NSUInteger))(CLASS("NSArray"),
                                                                  SELN("arrayWithObjects:count:"), two, 2);
  EXPECT(number(list, "count") == 2 && object(list, "firstObject") == s);
}

static void system_and_device(id dev) {
  NSOperatingSystemVersion v = MSG_STRET("{?=qqq}@:", NSOperatingSystemVersion, (id, SEL))(
      object(CLASS("NSProcessInfo"), "processInfo"), SELN("operatingSystemVersion"));
  EXPECT(v.majorVersion == 26 && v.minorVersion == 0 && mtl_os_at_least(14, 0) && !mtl_os_at_least(26, 1));
  EXPECT(hm_set_os("13.2") && !mtl_os_at_least(14, 0) && mtl_os_at_least(13, 2) && !hm_set_os("later"));
  EXPECT(!mtl_responds(dev, "newResidencySetWithDescriptor:error:") && mtl_responds(dev, "supportsFamily:"));
  EXPECT(hm_set_os("10.14") && !mtl_responds(dev, "supportsFamily:") && hm_set_os("26"));
  EXPECT(mtl_family(dev, 1007) && mtl_family(dev, 1009) && mtl_family(dev, 2002) && mtl_family(dev, 5001));
  EXPECT(!mtl_family(dev, 1010) && !mtl_family(dev, 5002) && mtl_family(dev, 3003));
  EXPECT(MSG("B@:", BOOL, (id, SEL))(dev, SELN("hasUnifiedMemory")));
  EXPECT(number(dev, "maxBufferLength") == 16ul << 30 && number(dev, "maxThreadgroupMemoryLength") == 32768);
  EXPECT(!objc_getClass("MTLBuffer") && !objc_getClass("MTLDevice") && objc_getClass("MTLComputePipelineDescriptor"));
}

static void buffers(id dev) {
  static const float from[4] = {1, 2, 3, 4};
  int freed = 0;
  struct block b = make_block((void (*)(void))deallocate, &freed);
  id copied = mtl_buffer_bytes(dev, from, sizeof from), secret;
  EXPECT(number(copied, "length") == 16 && !memcmp(mtl_contents(copied), from, 16) && object(copied, "device") == dev);
  void *mem = aligned_alloc(16384, 32768);
  id wrapped = mtl_buffer_nocopy(dev, mem, 32768, &b);
  EXPECT(mtl_contents(wrapped) == mem && number(wrapped, "storageMode") == 0);
  mtl_release(mtl_retain(wrapped));
  EXPECT(freed == 0 && number(wrapped, "retainCount") == 1);
  mtl_release(wrapped);
  EXPECT(freed == 1);
  free(mem);
  secret = MSG("@@:QQ", id, (id, SEL, NSUInteger, NSUInteger))(dev, SELN("newBufferWithLength:options:"), 64, 32);
  EXPECT(!mtl_contents(secret) && number(secret, "storageMode") == 2 && number(secret, "resourceOptions") == 32);
  EXPECT(number(dev, "currentAllocatedSize") == 16 + 64 && hm_get_stats().allocated == 80);
  mtl_release(secret);
  mtl_release(copied);
  EXPECT(hm_get_stats().allocated == 0);
}

static void libraries(id dev, const char *dir, const char *name) {
  char path[512];
  id err = NULL, found = mtl_bundle_path(name, "metallib");
  EXPECT(found != nil && !mtl_bundle_path("missing", "metallib"));
  id lib = mtl_library(dev, mtl_utf8(found), &err), names = object(lib, "functionNames");
  EXPECT(lib && number(names, "count") == 5 &&
         is(MSG("@@:Q", id, (id, SEL, NSUInteger))(names, SELN("objectAtIndex:"), 0), "gelu_f32"));
  mtl_release(lib);
  lib = mtl_library(dev, "/nowhere/x.metallib", &err);
  EXPECT(!lib && mtl_error_code(err) == 6 && strstr(mtl_error_text(err), "No such file") &&
         is(object(err, "domain"), "MTLLibraryErrorDomain"));
  EXPECT(number(object(err, "userInfo"), "count") == 0);
  lib = mtl_library(dev, "/etc/passwd", NULL);
  EXPECT(!lib);

  /* from bytes: copied by default, or borrowed until the destructor has run */
  snprintf(path, sizeof path, "%s/beside.metallib", dir);
  FILE *f = fopen(path, "rb");
  static char bytes[1 << 20];
  size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f) fclose(f);
  int destroyed = 0;
  struct block b = make_block((void (*)(void))destroy, &destroyed);
  for (int borrowed = 0; borrowed < 2; borrowed++) {
    dispatch_data_t data = dispatch_data_create(bytes, n, NULL, borrowed ? &b : DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    EXPECT(dispatch_data_get_size(data) == n);
    lib = mtl_library_data(dev, (id)data, &err);
    dispatch_release(data);
    EXPECT(lib != nil && destroyed == borrowed);
    id p = pipeline_or_exit(dev, lib, "gelu_f16");
    EXPECT(mtl_max_threads(p) == 1024 && number(p, "threadExecutionWidth") == 32);
    mtl_release(p);
    mtl_release(lib);
  }
  dispatch_data_t data = dispatch_data_create(bytes, n / 2, NULL, NULL);
  EXPECT(!mtl_library_data(dev, (id)data, &err) && strstr(mtl_error_text(err), "Invalid library file"));
  dispatch_release(data);
}

static void labels(id dev, const char *dir) {
  char path[512];
  snprintf(path, sizeof path, "%s/beside.metallib", dir);
  id err = NULL, lib = library_or_exit(dev, path), f = mtl_function(lib, "gelu_f32"), queue = mtl_queue(dev);
  id how = object(CLASS("MTLComputePipelineDescriptor"), "new");
  MSG("v@:@", void, (id, SEL, id))(how, SELN("setComputeFunction:"), f);
  MSG("v@:Q", void, (id, SEL, NSUInteger))(how, SELN("setMaxTotalThreadsPerThreadgroup:"), 96);
  mtl_set_label(how, "pipeline");
  id p = MSG("@@:@Q^@^@", id, (id, SEL, id, NSUInteger, id *, id *))(
      dev, SELN("newComputePipelineStateWithDescriptor:options:reflection:error:"), how, 0, NULL, &err);
  EXPECT(p && mtl_max_threads(p) == 96 && !strcmp(mtl_label(p), "pipeline"));
  id x = mtl_buffer(dev, 400), y = mtl_buffer(dev, 400), cb = mtl_cmdbuf(queue), e;
  EXPECT(mtl_status(cb) == 0);
  mtl_push(cb, "graph");
  e = mtl_encoder(cb, 1);
  id all[] = {lib, f, queue, x, cb, e};
  for (int i = 0; i < 6; i++) {
    EXPECT(object(all[i], "label") == nil && object(all[i], "device") == dev);
    mtl_set_label(all[i], "name");
    EXPECT(!strcmp(mtl_label(all[i]), "name"));
  }
  memset(mtl_contents(x), 0, 400);
  mtl_push(e, "kernel");
  const range r[] = {{x, 0}, {y, 0}};
  encode(e, p, r, 2, 100);
  mtl_pop(e);
  mtl_end(e);
  mtl_pop(cb);
  EXPECT(object(cb, "commandQueue") == queue);
  mtl_commit(cb);
  EXPECT(mtl_status(cb) == 2 && mtl_error(cb) == nil);
  mtl_wait(cb);
  EXPECT(mtl_status(cb) == 4 && mtl_error(cb) == nil && mtl_gpu_start(cb) > 0 && mtl_gpu_end(cb) >= mtl_gpu_start(cb));
  EXPECT(((float *)mtl_contents(y))[99] == 0);
  hm_stats s = hm_get_stats();
  EXPECT(s.commits == 1 && s.encoders == 1 && s.dispatches == 1 && s.barriers == 0 && s.messages > 0 &&
         s.selectors > 0);
  id owned[] = {x, y, p, how, f, lib, queue};
  for (int i = 0; i < 7; i++) mtl_release(owned[i]);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  void *pool = objc_autoreleasePoolPush();
  id dev = MTLCreateSystemDefaultDevice();
  strings();
  system_and_device(dev);
  buffers(dev);
  libraries(dev, argv[1], argv[2]);
  labels(dev, argv[1]);
  mtl_release(dev);
  objc_autoreleasePoolPop(pool);
  EXPECT(hm_get_stats().live == 0);
  dispatch_semaphore_t sem = dispatch_semaphore_create(1);
  EXPECT(!dispatch_semaphore_wait(sem, DISPATCH_TIME_FOREVER) && dispatch_semaphore_wait(sem, DISPATCH_TIME_NOW));
  dispatch_release(sem);
  printf("api: %d wrong\n", bad);
  return bad != 0;
}
