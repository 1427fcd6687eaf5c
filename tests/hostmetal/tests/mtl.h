/* mtl.h - the typed objc_msgSend wrappers a stub needs; every cast lives here, once, beside its type string.
 *
 * MSG(types, result, (id, SEL, ...)) is objc_msgSend cast to that prototype. On Apple's systems the string goes
 * unused; in the test bed, which has <objc/hostmetal.h>, every call checks string and cast against
 * metal-selectors.json. C99, where the cast goes unchecked, C11 and C++.
 *
 * Struct results: maxThreadsPerThreadgroup, requiredThreadsPerThreadgroup (MTLSize) and operatingSystemVersion have
 * 24 bytes. On x86-64 they come through objc_msgSend_stret, on arm64, which has no such function, through
 * objc_msgSend: MSG_STRET. 16-byte structs (MTLSizeAndAlign, NSRange) and doubles are plain on both. A stub can do
 * without: maxTotalThreadsPerThreadgroup and isOperatingSystemAtLeastVersion: have scalar results. */
#ifndef MTL_H
#define MTL_H
#include <objc/message.h>
#include <objc/runtime.h>
typedef unsigned long NSUInteger;
typedef struct {
  NSUInteger width, height, depth;
} MTLSize;
typedef struct {
  long majorVersion, minorVersion, patchVersion;
} NSOperatingSystemVersion;
extern id MTLCreateSystemDefaultDevice(void);
extern void *objc_autoreleasePoolPush(void);
extern void objc_autoreleasePoolPop(void *);

#ifdef __has_include
#if __has_include(<objc/hostmetal.h>)
#define HM_STRUCTS , MTLSize *: "{?=QQQ}", NSOperatingSystemVersion *: "{?=qqq}"
#include <objc/hostmetal.h>
#endif
#endif
#ifdef HM_SEND
#define MSG(types, R, args) HM_SEND(types, R, args)
#else
static void (*mtl_send_)(void) = objc_msgSend; /* not const: gcc rejects calls through a cast function */
#define MSG(types, R, args) ((R(*) args)mtl_send_)
#endif
#if !defined(__x86_64__)
#define MSG_STRET MSG
#elif defined(HM_SEND_STRET)
#define MSG_STRET(types, R, args) HM_SEND_STRET(types, R, args)
#else
static void (*mtl_send_stret_)(void) = objc_msgSend_stret;
#define MSG_STRET(types, R, args) ((R(*) args)mtl_send_stret_)
#endif
#define SELN(n) sel_registerName(n)
#define CLASS(n) ((id)objc_getClass(n))

static inline MTLSize mtl_size(NSUInteger x, NSUInteger y, NSUInteger z) {
  MTLSize s = {x, y, z};
  return s;
}

/* ---- Foundation ---- */
static inline id mtl_str(const char *s) {
  return MSG("@@:r*", id, (id, SEL, const char *))(CLASS("NSString"), SELN("stringWithUTF8String:"), s);
}
static inline const char *mtl_utf8(id s) {
  return MSG("r*@:", const char *, (id, SEL))(s, SELN("UTF8String"));
}
static inline id mtl_url(const char *path) {
  return MSG("@@:@", id, (id, SEL, id))(CLASS("NSURL"), SELN("fileURLWithPath:"), mtl_str(path));
}
static inline const char *mtl_error_text(id e) {
  return mtl_utf8(MSG("@@:", id, (id, SEL))(e, SELN("localizedDescription")));
}
static inline long mtl_error_code(id e) { return MSG("q@:", long, (id, SEL))(e, SELN("code")); }
static inline id mtl_bundle_path(const char *name, const char *type) {
  id bundle = MSG("@@:", id, (id, SEL))(CLASS("NSBundle"), SELN("mainBundle"));
  return MSG("@@:@@", id, (id, SEL, id, id))(bundle, SELN("pathForResource:ofType:"), mtl_str(name), mtl_str(type));
}
static inline int mtl_os_at_least(long major, long minor) {
  NSOperatingSystemVersion v = {major, minor, 0};
  id info = MSG("@@:", id, (id, SEL))(CLASS("NSProcessInfo"), SELN("processInfo"));
  return MSG("B@:{?=qqq}", BOOL,
             (id, SEL, NSOperatingSystemVersion))(info, SELN("isOperatingSystemAtLeastVersion:"), v);
}
static inline int mtl_responds(id o, const char *selector) {
  return MSG("B@::", BOOL, (id, SEL, SEL))(o, SELN("respondsToSelector:"), SELN(selector));
}
static inline void mtl_set_label(id o, const char *label) {
  MSG("v@:@", void, (id, SEL, id))(o, SELN("setLabel:"), mtl_str(label));
}
static inline const char *mtl_label(id o) { return mtl_utf8(MSG("@@:", id, (id, SEL))(o, SELN("label"))); }
static inline void mtl_push(id o, const char *name) {
  MSG("v@:@", void, (id, SEL, id))(o, SELN("pushDebugGroup:"), mtl_str(name));
}
static inline void mtl_pop(id o) { MSG("v@:", void, (id, SEL))(o, SELN("popDebugGroup")); }
static inline id mtl_retain(id o) { return MSG("@@:", id, (id, SEL))(o, SELN("retain")); }
static inline void mtl_release(id o) { MSG("v@:", void, (id, SEL))(o, SELN("release")); }

/* ---- device ---- */
static inline id mtl_library(id device, const char *path, id *err) {
  return MSG("@@:@^@", id, (id, SEL, id, id *))(device, SELN("newLibraryWithURL:error:"), mtl_url(path), err);
}
static inline id mtl_library_data(id device, id data, id *err) {
  return MSG("@@:@^@", id, (id, SEL, id, id *))(device, SELN("newLibraryWithData:error:"), data, err);
}
static inline id mtl_library_source(id device, const char *source, id options, id *err) {
  return MSG("@@:@@^@", id, (id, SEL, id, id, id *))(device, SELN("newLibraryWithSource:options:error:"),
                                                     mtl_str(source), options, err);
}
static inline id mtl_function(id library, const char *name) {
  return MSG("@@:@", id, (id, SEL, id))(library, SELN("newFunctionWithName:"), mtl_str(name));
}
static inline id mtl_pipeline(id device, id function, id *err) {
  return MSG("@@:@^@", id, (id, SEL, id, id *))(device, SELN("newComputePipelineStateWithFunction:error:"), function,
                                                err);
}
static inline NSUInteger mtl_max_threads(id pipeline) {
  return MSG("Q@:", NSUInteger, (id, SEL))(pipeline, SELN("maxTotalThreadsPerThreadgroup"));
}
static inline MTLSize mtl_device_max_threads(id device) {
  return MSG_STRET("{?=QQQ}@:", MTLSize, (id, SEL))(device, SELN("maxThreadsPerThreadgroup"));
}
static inline id mtl_queue(id device) { return MSG("@@:", id, (id, SEL))(device, SELN("newCommandQueue")); }
static inline id mtl_buffer(id device, NSUInteger n) {
  return MSG("@@:QQ", id, (id, SEL, NSUInteger, NSUInteger))(device, SELN("newBufferWithLength:options:"), n, 0);
}
static inline id mtl_buffer_bytes(id device, const void *p, NSUInteger n) {
  return MSG("@@:r^vQQ", id, (id, SEL, const void *, NSUInteger, NSUInteger))(
      device, SELN("newBufferWithBytes:length:options:"), p, n, 0);
}
static inline id mtl_buffer_nocopy(id device, void *p, NSUInteger n, const void *deallocator) {
  return MSG("@@:^vQQ@?", id, (id, SEL, void *, NSUInteger, NSUInteger, const void *))(
      device, SELN("newBufferWithBytesNoCopy:length:options:deallocator:"), p, n, 0, deallocator);
}
static inline int mtl_family(id device, long family) {
  return MSG("B@:q", BOOL, (id, SEL, long))(device, SELN("supportsFamily:"), family);
}
static inline void *mtl_contents(id buffer) { return MSG("^v@:", void *, (id, SEL))(buffer, SELN("contents")); }

/* ---- command buffer ---- */
static inline id mtl_cmdbuf(id queue) { return MSG("@@:", id, (id, SEL))(queue, SELN("commandBuffer")); }
static inline id mtl_encoder(id c, int concurrent) {
  return MSG("@@:Q", id, (id, SEL, NSUInteger))(c, SELN("computeCommandEncoderWithDispatchType:"),
                                                (NSUInteger)concurrent);
}
static inline void mtl_commit(id c) { MSG("v@:", void, (id, SEL))(c, SELN("commit")); }
static inline void mtl_wait(id c) { MSG("v@:", void, (id, SEL))(c, SELN("waitUntilCompleted")); }
static inline NSUInteger mtl_status(id c) { return MSG("Q@:", NSUInteger, (id, SEL))(c, SELN("status")); }
static inline id mtl_error(id c) { return MSG("@@:", id, (id, SEL))(c, SELN("error")); }
static inline double mtl_gpu_start(id c) { return MSG("d@:", double, (id, SEL))(c, SELN("GPUStartTime")); }
static inline double mtl_gpu_end(id c) { return MSG("d@:", double, (id, SEL))(c, SELN("GPUEndTime")); }
static inline void mtl_on_completed(id c, const void *block) {
  MSG("v@:@?", void, (id, SEL, const void *))(c, SELN("addCompletedHandler:"), block);
}

/* ---- encoder ---- */
static inline void mtl_set_pipeline(id e, id p) {
  MSG("v@:@", void, (id, SEL, id))(e, SELN("setComputePipelineState:"), p);
}
static inline void mtl_set_buffer(id e, id b, NSUInteger offset, NSUInteger i) {
  MSG("v@:@QQ", void, (id, SEL, id, NSUInteger, NSUInteger))(e, SELN("setBuffer:offset:atIndex:"), b, offset, i);
}
static inline void mtl_set_bytes(id e, const void *p, NSUInteger n, NSUInteger i) {
  MSG("v@:r^vQQ", void, (id, SEL, const void *, NSUInteger, NSUInteger))(e, SELN("setBytes:length:atIndex:"), p, n, i);
}
static inline void mtl_set_tgmem(id e, NSUInteger n, NSUInteger i) {
  MSG("v@:QQ", void, (id, SEL, NSUInteger, NSUInteger))(e, SELN("setThreadgroupMemoryLength:atIndex:"), n, i);
}
static inline void mtl_barrier(id e) {
  MSG("v@:Q", void, (id, SEL, NSUInteger))(e, SELN("memoryBarrierWithScope:"), 1);
}
static inline void mtl_threads(id e, MTLSize grid, MTLSize group) {
  MSG("v@:{?=QQQ}{?=QQQ}", void, (id, SEL, MTLSize, MTLSize))(e, SELN("dispatchThreads:threadsPerThreadgroup:"), grid,
                                                              group);
}
static inline void mtl_groups(id e, MTLSize groups, MTLSize group) {
  MSG("v@:{?=QQQ}{?=QQQ}", void, (id, SEL, MTLSize, MTLSize))(
      e, SELN("dispatchThreadgroups:threadsPerThreadgroup:"), groups, group);
}
static inline void mtl_end(id e) { MSG("v@:", void, (id, SEL))(e, SELN("endEncoding")); }
#endif
