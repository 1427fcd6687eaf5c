/* hm_device.c - MTLDevice, what it says of itself, and MTLBuffer. */
#define _GNU_SOURCE
#include "hm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hm_system hm_now = {.max_threads = 1024, .width = 32, .max_buffer = 16ul << 30, .page = 16384};
static hm_object device;
id hm_device = (id)&device;

id MTLCreateSystemDefaultDevice(void) {
  if (hm_fails(HM_FAIL_DEVICE)) return NULL;
  return objc_retain(hm_single(&device, &C_MTLDevice));
}
id MTLCopyAllDevices(void) {
  id *v = calloc(1, sizeof *v);
  v[0] = MTLCreateSystemDefaultDevice();
  return hm_new_array(v[0] != NULL, v);
}

/* ---- families: each named one, and those before it of its kind ---- */
static int apple = 9, mac = 2, metal = 3;
int hm_set_family(const char *families) {
  int a = 0, m = 0, g = 0, used;
  for (const char *p = families; *p; p += p[used] == ',' ? used + 1 : used) {
    int v = 0;
    used = 0;
    if (sscanf(p, "apple%d%n", &v, &used) == 1 && used) a = v;
    else if (sscanf(p, "metal%d%n", &v, &used) == 1 && used) g = v;
    else if (sscanf(p, "mac%d%n", &v, &used) == 1 && used) m = v;
    else return 0;
    if (p[used] && p[used] != ',') return 0;
  }
  apple = a, mac = m, metal = g;
  return 1;
}
int hm_has_family(long f) {
  long n = f % 1000;
  return f / 1000 == 1   ? n <= apple
         : f / 1000 == 2 ? n <= mac
         : f / 1000 == 3 ? n <= 3 /* common */
         : f / 1000 == 5 ? n <= metal - 2
                         : 0; /* 5001 is Metal 3 */
}

static id device_name(id o, SEL s) { (void)o; (void)s; return hm_string_of("hostmetal"); }
static NSUInteger device_id(id o, SEL s) { (void)o; (void)s; return 1; }
static BOOL device_yes(id o, SEL s) { (void)o; (void)s; return 1; }
static BOOL device_no(id o, SEL s) { (void)o; (void)s; return 0; }
static BOOL device_family(id o, SEL s, long f) { (void)o; (void)s; return hm_has_family(f); }
static NSUInteger device_tgmem(id o, SEL s) { (void)o; (void)s; return 32768; }
static NSUInteger device_max_buffer(id o, SEL s) { (void)o; (void)s; return hm_now.max_buffer; }
static NSUInteger device_allocated(id o, SEL s) { (void)o; (void)s; return hm_counted.allocated; }
static MTLSize device_max_threads(id o, SEL s) {
  (void)o; (void)s;
  return (MTLSize){hm_now.max_threads, hm_now.max_threads, hm_now.max_threads};
}

/* ---- buffers ---- */
enum { SHARED, MANAGED, PRIVATE };
static NSUInteger storage_of(NSUInteger options) { return options >> 4 & 15; }
static void check_buffer(const char *what, NSUInteger n, NSUInteger options) {
  if (!n) hm_bad("%s: length 0", what);
  if (n > hm_now.max_buffer) hm_bad("%s: length %lu over maxBufferLength %lu", what, n, hm_now.max_buffer);
  if (options & ~0x3f1UL || storage_of(options) > PRIVATE) hm_bad("%s: options 0x%lx", what, options);
  if (storage_of(options) == MANAGED) hm_bad("%s: managed storage is not modelled, use shared", what);
}
static hm_buffer *make_buffer(NSUInteger n, NSUInteger options) {
  hm_buffer *b = hm_new(&C_MTLBuffer, sizeof *b);
  b->length = n;
  b->options = options;
  HM_COUNT(buffers);
  __atomic_add_fetch(&hm_counted.allocated, n, __ATOMIC_RELAXED);
  return b;
}
static id buffer_new(id d, SEL s, NSUInteger n, NSUInteger options) {
  (void)d; (void)s;
  check_buffer("newBufferWithLength:", n, options);
  if (hm_fails(HM_FAIL_ALLOC)) return NULL;
  hm_buffer *b = make_buffer(n, options);
  const char *p = getenv("HOSTMETAL_POISON");
  b->g = hm_alloc(n, p && *p == '0' ? 0 : 0xFF);
  return (id)b;
}
static id buffer_with_bytes(id d, SEL s, const void *p, NSUInteger n, NSUInteger options) {
  (void)d; (void)s;
  check_buffer("newBufferWithBytes:", n, options);
  if (!p) hm_bad("newBufferWithBytes: NULL");
  if (hm_fails(HM_FAIL_ALLOC)) return NULL;
  hm_buffer *b = make_buffer(n, options);
  b->g = hm_alloc(n, 0);
  memcpy(b->g.p, p, n);
  return (id)b;
}
static id buffer_no_copy(id d, SEL s, void *p, NSUInteger n, NSUInteger options, const hm_block *deallocator) {
  (void)d; (void)s;
  check_buffer("newBufferWithBytesNoCopy:", n, options);
  if (!p || (uintptr_t)p % hm_now.page || n % hm_now.page)
    hm_bad("newBufferWithBytesNoCopy: pointer and length must be multiples of the %lu-byte page", hm_now.page);
  if (storage_of(options) != SHARED) hm_bad("newBufferWithBytesNoCopy: the storage must be shared");
  if (hm_fails(HM_FAIL_ALLOC)) return NULL;
  hm_buffer *b = make_buffer(n, options);
  b->user = p;
  if (deallocator) b->deallocator = hm_copy_block(deallocator, "newBufferWithBytesNoCopy:");
  return (id)b;
}
char *hm_buffer_bytes(hm_buffer *b) { return b->user ? b->user : b->g.p; }
static void *buffer_contents(id o, SEL s) {
  (void)s;
  hm_buffer *b = (hm_buffer *)o;
  return storage_of(b->options) == PRIVATE ? NULL : hm_buffer_bytes(b);
}
static NSUInteger buffer_length(id o, SEL s) { (void)s; return ((hm_buffer *)o)->length; }
static NSUInteger buffer_allocated(id o, SEL s) {
  (void)s;
  return (((hm_buffer *)o)->length + hm_now.page - 1) / hm_now.page * hm_now.page;
}
static NSUInteger buffer_options(id o, SEL s) { (void)s; return ((hm_buffer *)o)->options; }
static NSUInteger buffer_storage(id o, SEL s) { (void)s; return storage_of(((hm_buffer *)o)->options); }
static NSUInteger buffer_cache(id o, SEL s) { (void)s; return ((hm_buffer *)o)->options & 15; }
static NSUInteger buffer_hazards(id o, SEL s) { (void)s; return ((hm_buffer *)o)->options >> 8 & 3; }
static void buffer_dealloc(hm_object *o) {
  hm_buffer *b = (hm_buffer *)o;
  __atomic_sub_fetch(&hm_counted.allocated, b->length, __ATOMIC_RELAXED);
  free(b->touched);
  b->touched = NULL;
  if (!b->user) hm_retire(&b->g, "MTLBuffer");
  if (!b->deallocator) return;
  ((void (*)(void *, void *, NSUInteger))b->deallocator->invoke)(b->deallocator, b->user, b->length);
  _Block_release(b->deallocator);
}
static hm_method buffer_methods[] = {{"contents", buffer_contents, 0},
                                     {"length", buffer_length, 0},
                                     {"allocatedSize", buffer_allocated, 0},
                                     {"resourceOptions", buffer_options, 0},
                                     {"storageMode", buffer_storage, 0},
                                     {"cpuCacheMode", buffer_cache, 0},
                                     {"hazardTrackingMode", buffer_hazards, 0},
                                     HM_LABELLED,
                                     HM_END};
HM_CLASS(MTLBuffer, buffer_methods, NULL, buffer_dealloc)

id hm_library_url(id d, SEL s, id url, id *err); /* hm_library.c */
id hm_library_file(id d, SEL s, id path, id *err);
id hm_library_data(id d, SEL s, id data, id *err);
id hm_library_source(id d, SEL s, id source, id options, id *err);
id hm_pipeline_new(id d, SEL s, id function, id *err);
id hm_pipeline_options(id d, SEL s, id function, NSUInteger options, id *reflection, id *err);
id hm_pipeline_descriptor(id d, SEL s, id descriptor, NSUInteger options, id *reflection, id *err);
static id queue_of(id d, SEL s, NSUInteger most) { (void)most; return hm_new_queue(d, s); }
static hm_method device_methods[] = {
    {"name", device_name, 0},
    {"registryID", device_id, 0},
    {"hasUnifiedMemory", device_yes, 0},
    {"isLowPower", device_no, 0},
    {"isHeadless", device_no, 0},
    {"isRemovable", device_no, 0},
    {"supportsFamily:", device_family, 0},
    {"maxBufferLength", device_max_buffer, 0},
    {"recommendedMaxWorkingSetSize", device_max_buffer, 0},
    {"currentAllocatedSize", device_allocated, 0},
    {"maxThreadgroupMemoryLength", device_tgmem, 0},
    {"maxThreadsPerThreadgroup", device_max_threads, 0},
    {"newBufferWithLength:options:", buffer_new, 0},
    {"newBufferWithBytes:length:options:", buffer_with_bytes, 0},
    {"newBufferWithBytesNoCopy:length:options:deallocator:", buffer_no_copy, 0},
    {"newCommandQueue", hm_new_queue, 0},
    {"newCommandQueueWithMaxCommandBufferCount:", queue_of, 0},
    {"newLibraryWithURL:error:", hm_library_url, 0},
    {"newLibraryWithFile:error:", hm_library_file, 0},
    {"newLibraryWithData:error:", hm_library_data, 0},
    {"newLibraryWithSource:options:error:", hm_library_source, 0},
    {"newComputePipelineStateWithFunction:error:", hm_pipeline_new, 0},
    {"newComputePipelineStateWithFunction:options:reflection:error:", hm_pipeline_options, 0},
    {"newComputePipelineStateWithDescriptor:options:reflection:error:", hm_pipeline_descriptor, 0},
    HM_END};
HM_CLASS(MTLDevice, device_methods, NULL, NULL)
