/* context.c - the replay engine: messages to Foundation, error texts, making a context and freeing it.
 *
 * The compiler pastes replay.h and the engine's files into NAME.c, in front of the graph's tables and public functions:
 * context.c, match.c, memory.c, replay.c, and state.c for entries of style mut. Only the line of each that includes the
 * one before goes. So everything is static, starts with nvr_, knows a graph only by an nvr_tape, and keeps all that
 * changes in the context. C99, the Objective-C runtime's C interface, POSIX threads' mutexes (a part of libSystem). */
#include "replay.h"

#if defined(__GNUC__)
#define NVR_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define NVR_PRINTF(f, a)
#endif

/* The text of the calling thread, made where it has none yet; the oldest one's when there are too many. The lock is
 * held. NULL: no memory. */
static nvr_message *nvr_own_message(nvr_context *c) {
  nvr_message **at = &c->messages, *m;
  size_t n = 0;
  for (; *at && !pthread_equal((*at)->thread, pthread_self()); at = &(*at)->next)
    if (++n == NVR_MESSAGES) break;
  m = *at;
  if (m) *at = m->next;
  else m = (nvr_message *)malloc(sizeof *m);
  if (!m) return NULL;
  m->thread = pthread_self();
  m->next = c->messages;
  c->messages = m;
  return m;
}

/* Sets the thread's error text; returns the status. */
static nuvec_status nvr_fail(nvr_context *c, nuvec_status status, const char *format, ...) NVR_PRINTF(3, 4);
static nuvec_status nvr_fail(nvr_context *c, nuvec_status status, const char *format, ...) {
  nvr_message *m;
  va_list arguments;
  pthread_mutex_lock(&c->lock);
  m = nvr_own_message(c);
  if (m) {
    va_start(arguments, format);
    vsnprintf(m->text, sizeof m->text, format, arguments);
    va_end(arguments);
  }
  pthread_mutex_unlock(&c->lock);
  return status;
}

static const char *nvr_error(nvr_context *c) {
  const nvr_message *m;
  if (!c) return "the context is NULL";
  pthread_mutex_lock(&c->lock);
  for (m = c->messages; m && !pthread_equal(m->thread, pthread_self());) m = m->next;
  pthread_mutex_unlock(&c->lock);
  return m ? m->text : "";
}

/* ---- Foundation ---- */

/* An autoreleased NSString; nil when text isn't UTF-8. */
static id nvr_string(const nvr_context *c, const char *text) {
  return NVR_SEND("@@:r*", id, (id, SEL, const char *))(c->string_class, c->sel[NVR_S_stringWithUTF8String], text);
}
static id nvr_get(const nvr_context *c, id object, int selector) {
  return NVR_SEND("@@:", id, (id, SEL))(object, c->sel[selector]);
}
static nvr_uint nvr_get_uint(const nvr_context *c, id object, int selector) {
  return NVR_SEND("Q@:", nvr_uint, (id, SEL))(object, c->sel[selector]);
}
static void nvr_do(const nvr_context *c, id object, int selector) {
  NVR_SEND("v@:", void, (id, SEL))(object, c->sel[selector]);
}
static void nvr_set(const nvr_context *c, id object, int selector, id value) {
  NVR_SEND("v@:@", void, (id, SEL, id))(object, c->sel[selector], value);
}
/* Text of an NSString, valid until the pool goes; never NULL. */
static const char *nvr_utf8(const nvr_context *c, id string) {
  const char *text = string ? NVR_SEND("r*@:", const char *, (id, SEL))(string, c->sel[NVR_S_UTF8String]) : NULL;
  return text ? text : "(no text)";
}
static const char *nvr_error_text(const nvr_context *c, id error) {
  return nvr_utf8(c, error ? nvr_get(c, error, NVR_S_localizedDescription) : NULL);
}

/* ---- making a context ---- */

static nuvec_status nvr_check_system(nvr_context *c) {
  const nvr_tape *t = c->tape;
  nvr_version least;
  id info = nvr_get(c, (id)objc_getClass("NSProcessInfo"), NVR_S_processInfo);
  least.major = t->os_major;
  least.minor = t->os_minor;
  least.patch = 0;
  if (!NVR_SEND("B@:{?=qqq}", BOOL, (id, SEL, nvr_version))(info, c->sel[NVR_S_isOperatingSystemAtLeastVersion], least))
    return nvr_fail(c, NUVEC_OS_TOO_OLD, "%s needs %s %ld.%ld or later; this is %s", t->name, t->os, t->os_major,
                    t->os_minor, nvr_utf8(c, nvr_get(c, info, NVR_S_operatingSystemVersionString)));
  return NUVEC_OK;
}

static nuvec_status nvr_take_device(nvr_context *c, const nuvec_options *o) {
  const nvr_tape *t = c->tape;
  if (o->device) c->device = objc_retain((id)o->device);
  else if (o->queue) c->device = objc_retain(nvr_get(c, (id)o->queue, NVR_S_device));
  else c->device = MTLCreateSystemDefaultDevice();
  if (!c->device)
    return nvr_fail(c, NUVEC_GPU_TOO_OLD,
                    "%s: no Metal device (a command-line tool on macOS must also link CoreGraphics)", t->name);
  if (!NVR_SEND("B@:q", BOOL, (id, SEL, long))(c->device, c->sel[NVR_S_supportsFamily], t->family_apple) &&
      !NVR_SEND("B@:q", BOOL, (id, SEL, long))(c->device, c->sel[NVR_S_supportsFamily], t->family_mac))
    return nvr_fail(c, NUVEC_GPU_TOO_OLD, "%s needs a GPU of family Apple%ld or Mac%ld; %s is of neither", t->name,
                    t->family_apple - 1000, t->family_mac - 2000, nvr_utf8(c, nvr_get(c, c->device, NVR_S_name)));
  c->max_buffer = nvr_get_uint(c, c->device, NVR_S_maxBufferLength);
  c->queue = o->queue ? objc_retain((id)o->queue) : nvr_get(c, c->device, NVR_S_newCommandQueue);
  if (!c->queue) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: Metal makes no command queue", t->name);
  if (!o->queue) nvr_set(c, c->queue, NVR_S_setLabel, nvr_string(c, t->name));
  return NUVEC_OK;
}

/* The file of the graph's name with this ending in the app's bundle, else beside the executable: an NSString. */
static id nvr_find_file(nvr_context *c, const char *ending) {
  id bundle = nvr_get(c, (id)objc_getClass("NSBundle"), NVR_S_mainBundle), path;
  char file[512];
  path = NVR_SEND("@@:@@", id, (id, SEL, id, id))(bundle, c->sel[NVR_S_pathForResource], nvr_string(c, c->tape->name),
                                                  nvr_string(c, ending));
  if (path) return path;
  snprintf(file, sizeof file, "%s.%s", c->tape->name, ending);
  path = nvr_get(c, bundle, NVR_S_executablePath);
  if (path) path = nvr_get(c, path, NVR_S_stringByDeletingLastPathComponent);
  if (!path) return nvr_string(c, file);
  return NVR_SEND("@@:@", id, (id, SEL, id))(path, c->sel[NVR_S_stringByAppendingPathComponent], nvr_string(c, file));
}

static nuvec_status nvr_load_library(nvr_context *c, const nuvec_options *o) {
  id error = NULL, path, url, function;
  if (o->bytes) {
    id data = dispatch_data_create(o->bytes, o->length, NULL, NULL); /* a copy */
    if (!data) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for the metallib", c->tape->name);
    c->library = NVR_SEND("@@:@^@", id, (id, SEL, id, id *))(c->device, c->sel[NVR_S_newLibraryWithData], data, &error);
    objc_release(data);
    if (!c->library)
      return nvr_fail(c, NUVEC_METALLIB, "%s: the %zu bytes of the metallib can't be loaded: %s", c->tape->name,
                      o->length, nvr_error_text(c, error));
  } else {
    path = o->path ? nvr_string(c, o->path) : nvr_find_file(c, "metallib");
    if (!path) return nvr_fail(c, NUVEC_METALLIB, "%s: the metallib's path isn't UTF-8", c->tape->name);
    url = NVR_SEND("@@:@", id, (id, SEL, id))((id)objc_getClass("NSURL"), c->sel[NVR_S_fileURLWithPath], path);
    c->library = NVR_SEND("@@:@^@", id, (id, SEL, id, id *))(c->device, c->sel[NVR_S_newLibraryWithURL], url, &error);
    if (!c->library)
      return nvr_fail(c, NUVEC_METALLIB, "%s: metallib %s can't be loaded: %s", c->tape->name, nvr_utf8(c, path),
                      nvr_error_text(c, error));
  }
  nvr_set(c, c->library, NVR_S_setLabel, nvr_string(c, c->tape->name));
  function =
      NVR_SEND("@@:@", id, (id, SEL, id))(c->library, c->sel[NVR_S_newFunctionWithName], nvr_string(c, c->tape->tie));
  if (!function)
    return nvr_fail(c, NUVEC_WRONG_METALLIB,
                    "%s: the metallib wasn't built from the .metal file of this stub (it has no %s): rebuild both",
                    c->tape->name, c->tape->tie);
  objc_release(function);
  return NUVEC_OK;
}

static nuvec_status nvr_make_pipeline(nvr_context *c, const nvr_kernel *k, nvr_pipeline *p) {
  id function, descriptor, error = NULL;
  nvr_uint threads, width;
  p->label = objc_retain(nvr_string(c, k->name));
  function = NVR_SEND("@@:@", id, (id, SEL, id))(c->library, c->sel[NVR_S_newFunctionWithName], p->label);
  if (!function)
    return nvr_fail(c, NUVEC_MISSING_KERNEL, "%s: the metallib has no kernel %s (computes %s)", c->tape->name, k->name,
                    k->nodes);
  descriptor = nvr_get(c, (id)objc_getClass("MTLComputePipelineDescriptor"), NVR_S_new_);
  nvr_set(c, descriptor, NVR_S_setLabel, p->label);
  nvr_set(c, descriptor, NVR_S_setComputeFunction, function);
  p->state = NVR_SEND("@@:@Q^@^@", id, (id, SEL, id, nvr_uint, id *, id *))(
      c->device, c->sel[NVR_S_newComputePipelineState], descriptor, 0, NULL, &error);
  objc_release(descriptor);
  objc_release(function);
  if (!p->state)
    return nvr_fail(c, NUVEC_MISSING_KERNEL, "%s: Metal makes no pipeline of kernel %s (computes %s): %s",
                    c->tape->name, k->name, k->nodes, nvr_error_text(c, error));
  threads = nvr_get_uint(c, p->state, NVR_S_maxTotalThreadsPerThreadgroup);
  width = nvr_get_uint(c, p->state, NVR_S_threadExecutionWidth);
  if (k->simd && (width != 32 || threads < 32))
    return nvr_fail(c, NUVEC_GPU_TOO_OLD,
                    "%s: kernel %s (computes %s) needs simdgroups of 32 threads; here they have %lu, and a threadgroup "
                    "has room for %lu",
                    c->tape->name, k->name, k->nodes, width, threads);
  if (threads < k->group)
    return nvr_fail(c, NUVEC_GPU_TOO_OLD,
                    "%s: kernel %s (computes %s) needs threadgroups of %u threads; here they have room for %lu",
                    c->tape->name, k->name, k->nodes, k->group, threads);
  for (p->limit = 1; p->limit * 2 <= threads && p->limit < NVR_GROUP;) p->limit *= 2;
  if (k->group) p->limit = k->group;
  return NUVEC_OK;
}

/* Was the metallib built with fast math? The tie kernel (nv_probe in the .metal file) computes from these patterns
 * what such a build changes; each result is 0 when it is exact. Run once, by one thread, with the last pipeline. */
static nuvec_status nvr_check_math(nvr_context *c) {
  enum { COMPLETED = 4, PATTERNS = 17, CHECKS = 6 };
  static const uint32_t patterns[PATTERNS] = {
      0x3f800800, 0x3f800800, 0x3f801000, /* 1 + 2^-12 squared, rounded */
      0x80000000, 0x7f800000,             /* -0, inf */
      0x3f800000, 0x30800000,             /* 1, 2^-30 */
      0x40a00000, 0x40400000, 0x3fd55555, /* 5 / 3 */
      0x3f000000, 0x3fd9999a, 0xc0533333, 0x41480000, 0xc1a20000, 0x447a0000, 0x3c23d70a};
  static const char *const checks[CHECKS] = {"contracted products and sums", "signed zeros", "infinities",
                                             "sums in another order",        "division",     "functions"};
  const nvr_tape *t = c->tape;
  nvr_kernel kernel;
  nvr_pipeline p;
  nvr_size one = {1, 1, 1};
  nuvec_status status;
  id buffer = NULL, command, encoder = NULL;
  uint32_t *v;
  int k;
  kernel.name = t->tie;
  kernel.nodes = "nothing: a test of the arithmetic";
  kernel.group = 0;
  kernel.simd = 0;
  memset(&p, 0, sizeof p);
  status = nvr_make_pipeline(c, &kernel, &p);
  if (status == NUVEC_OK) {
    buffer = NVR_SEND("@@:QQ", id, (id, SEL, nvr_uint, nvr_uint))(c->device, c->sel[NVR_S_newBufferWithLength],
                                                                  (PATTERNS + CHECKS) * sizeof *v, 0);
    if (!buffer) status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a test of the arithmetic", t->name);
  }
  if (status == NUVEC_OK) {
    nvr_set(c, buffer, NVR_S_setLabel, p.label);
    v = (uint32_t *)NVR_SEND("^v@:", void *, (id, SEL))(buffer, c->sel[NVR_S_contents]);
    memcpy(v, patterns, sizeof patterns);
    memset(v + PATTERNS, 0xff, CHECKS * sizeof *v);
    command = nvr_get(c, c->queue, NVR_S_commandBuffer);
    if (command) {
      nvr_set(c, command, NVR_S_setLabel, p.label);
      encoder = NVR_SEND("@@:Q", id, (id, SEL, nvr_uint))(command, c->sel[NVR_S_computeCommandEncoder], 0);
    }
    if (!encoder) {
      status = nvr_fail(c, NUVEC_GPU_ERROR, "%s: the queue gives no command encoder", t->name);
    } else {
      nvr_set(c, encoder, NVR_S_setLabel, p.label);
      nvr_set(c, encoder, NVR_S_setComputePipelineState, p.state);
      NVR_SEND("v@:@QQ", void, (id, SEL, id, nvr_uint, nvr_uint))(encoder, c->sel[NVR_S_setBuffer], buffer, 0, 0);
      NVR_SEND("v@:{?=QQQ}{?=QQQ}", void, (id, SEL, nvr_size, nvr_size))
      (encoder, c->sel[NVR_S_dispatchThreads], one, one);
      nvr_do(c, encoder, NVR_S_endEncoding);
      nvr_do(c, command, NVR_S_commit);
      nvr_do(c, command, NVR_S_waitUntilCompleted);
      if (nvr_get_uint(c, command, NVR_S_status) != COMPLETED)
        status = nvr_fail(c, NUVEC_GPU_ERROR, "%s: the GPU gave up on a test of the arithmetic: %s", t->name,
                          nvr_error_text(c, nvr_get(c, command, NVR_S_error)));
      for (k = 0; status == NUVEC_OK && k < CHECKS; k++)
        if (v[PATTERNS + k])
          status = nvr_fail(c, NUVEC_FAST_MATH,
                            "%s: the metallib was built with fast math, which changes results (%s): build it as %s.mk "
                            "does, with -fno-fast-math -ffp-contract=off",
                            t->name, checks[k], t->name);
    }
  }
  objc_release(buffer);
  objc_release(p.state);
  objc_release(p.label);
  return status;
}

static nuvec_status nvr_init_function(nvr_context *c, nvr_function *f, const nvr_entry *e, const size_t *capacity) {
  f->context = c;
  f->entry = e;
  f->capacity = capacity ? *capacity : e->capacity;
  f->label = objc_retain(nvr_string(c, e->name));
#if NVR_OPEN
  f->idle = (nvr_slot **)calloc(e->nsignatures + NVR_LISTS, sizeof *f->idle);
#else
  f->idle = (nvr_slot **)calloc(e->nsignatures, sizeof *f->idle);
#endif
  return f->idle ? NUVEC_OK : nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a function object", e->name);
}

static nuvec_status nvr_make(nvr_context *c, const nuvec_options *o) {
#if NVR_OPEN
  static const char *const selectors[] = {NVR_SELECTORS(NVR_SELECTOR_TEXT) NVR_OPEN_SELECTORS(NVR_SELECTOR_TEXT)};
#else
  static const char *const selectors[] = {NVR_SELECTORS(NVR_SELECTOR_TEXT)};
#endif
  const nvr_tape *t = c->tape;
  nuvec_status status;
  size_t k;
  for (k = 0; k < NVR_NSELECTORS; k++) c->sel[k] = sel_registerName(selectors[k]);
  c->string_class = (id)objc_getClass("NSString");
  c->pipelines = (nvr_pipeline *)calloc(t->nkernels + 1, sizeof *c->pipelines);
  if (!c->pipelines) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a context", t->name);
  for (k = 0; k < t->nentries; k++) {
    status = nvr_init_function(c, &c->functions[k], &t->entries[k], NULL);
    if (status != NUVEC_OK) return status;
  }
  status = nvr_check_system(c);
  if (status == NUVEC_OK) status = nvr_take_device(c, o);
  if (status == NUVEC_OK) status = nvr_load_library(c, o);
  for (k = 0; status == NUVEC_OK && k < t->nkernels; k++)
    status = nvr_make_pipeline(c, &t->kernels[k], &c->pipelines[k]);
  if (status == NUVEC_OK) status = nvr_check_math(c);
  return status;
}

/* *out is set whatever the status but for lack of memory, so that the text can be asked for. */
static nuvec_status nvr_create(const nvr_tape *tape, const nuvec_options *options, nvr_context **out) {
  static const nuvec_options defaults = {NULL, NULL, NULL, NULL, 0};
  nvr_context *c;
  void *pool;
  if (!out) return NUVEC_NULL;
  *out = NULL;
  c = (nvr_context *)calloc(1, sizeof *c + tape->nentries * sizeof *c->functions);
  if (!c) return NUVEC_OUT_OF_MEMORY;
  if (pthread_mutex_init(&c->lock, NULL)) {
    free(c);
    return NUVEC_OUT_OF_MEMORY;
  }
  if (pthread_cond_init(&c->quiet, NULL)) {
    pthread_mutex_destroy(&c->lock);
    free(c);
    return NUVEC_OUT_OF_MEMORY;
  }
  c->functions = (nvr_function *)(void *)(c + 1);
  c->tape = tape;
  pool = objc_autoreleasePoolPush();
  c->made = nvr_make(c, options ? options : &defaults);
  objc_autoreleasePoolPop(pool);
  *out = c;
  return c->made;
}

