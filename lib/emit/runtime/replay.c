/* replay.c - the replay engine of every generated stub: loads the metallib, checks arrays, encodes the tape, waits.
 *
 * The compiler pastes replay.h and this file into NAME.c, in front of the graph's tables and public functions; only the
 * inclusions of abi.h and replay.h go, as NAME.h carries the one and the other stands before. So everything is static,
 * starts with nvr_, knows a graph only by an nvr_tape, and keeps all that changes in the context. C99, the Objective-C
 * runtime's C interface, POSIX threads' mutex (a part of libSystem). */
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

/* The metallib of the graph's name in the app's bundle, else beside the executable: an NSString. */
static id nvr_find_metallib(nvr_context *c) {
  id bundle = nvr_get(c, (id)objc_getClass("NSBundle"), NVR_S_mainBundle), path;
  char file[512];
  path = NVR_SEND("@@:@@", id, (id, SEL, id, id))(bundle, c->sel[NVR_S_pathForResource], nvr_string(c, c->tape->name),
                                                  nvr_string(c, "metallib"));
  if (path) return path;
  snprintf(file, sizeof file, "%s.metallib", c->tape->name);
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
    path = o->path ? nvr_string(c, o->path) : nvr_find_metallib(c);
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

static nuvec_status nvr_make(nvr_context *c, const nuvec_options *o) {
  static const char *const selectors[] = {NVR_SELECTORS(NVR_SELECTOR_TEXT)};
  const nvr_tape *t = c->tape;
  nuvec_status status;
  size_t k;
  for (k = 0; k < NVR_NSELECTORS; k++) c->sel[k] = sel_registerName(selectors[k]);
  c->string_class = (id)objc_getClass("NSString");
  c->pipelines = (nvr_pipeline *)calloc(t->nkernels + 1, sizeof *c->pipelines);
  c->labels = (id *)calloc(t->nentries + 1, sizeof *c->labels);
  c->idle = (nvr_slot **)calloc(t->nsignatures + 1, sizeof *c->idle);
  if (!c->pipelines || !c->labels || !c->idle)
    return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a context", t->name);
  for (k = 0; k < t->nentries; k++) c->labels[k] = objc_retain(nvr_string(c, t->entries[k].name));
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
  c = (nvr_context *)calloc(1, sizeof *c);
  if (!c) return NUVEC_OUT_OF_MEMORY;
  if (pthread_mutex_init(&c->lock, NULL)) {
    free(c);
    return NUVEC_OUT_OF_MEMORY;
  }
  c->tape = tape;
  pool = objc_autoreleasePoolPush();
  c->made = nvr_make(c, options ? options : &defaults);
  objc_autoreleasePoolPop(pool);
  *out = c;
  return c->made;
}

static void nvr_free_slot(nvr_slot *s, size_t narrays) {
  size_t k;
  for (k = 0; k < narrays; k++) objc_release(s->bound[k].kept);
  objc_release(s->scratch);
  free(s->bound);
  free(s->spans);
  free(s);
}

static nuvec_status nvr_destroy(nvr_context *c) {
  size_t k, n, in_flight;
  nvr_message *m;
  nvr_slot *s;
  void *pool;
  if (!c) return NUVEC_OK;
  pthread_mutex_lock(&c->lock);
  in_flight = c->in_flight;
  pthread_mutex_unlock(&c->lock);
  if (in_flight) return nvr_fail(c, NUVEC_BUSY, "%s: %zu calls are in flight", c->tape->name, in_flight);
  pool = objc_autoreleasePoolPush();
  for (k = 0; c->idle && k < c->tape->nentries; k++)
    for (n = 0; n < c->tape->entries[k].nsignatures; n++)
      while ((s = c->idle[c->tape->entries[k].first + n]) != NULL) {
        c->idle[c->tape->entries[k].first + n] = s->next;
        nvr_free_slot(s, c->tape->entries[k].ninputs + c->tape->entries[k].noutputs);
      }
  for (k = 0; c->pipelines && k < c->tape->nkernels; k++) {
    objc_release(c->pipelines[k].state);
    objc_release(c->pipelines[k].label);
  }
  for (k = 0; c->labels && k < c->tape->nentries; k++) objc_release(c->labels[k]);
  objc_release(c->library);
  objc_release(c->queue);
  objc_release(c->device);
  objc_autoreleasePoolPop(pool);
  while ((m = c->messages) != NULL) {
    c->messages = m->next;
    free(m);
  }
  free(c->pipelines);
  free(c->labels);
  free(c->idle);
  pthread_mutex_destroy(&c->lock);
  free(c);
  return NUVEC_OK;
}

/* ---- which signature do these arrays have? ---- */

typedef char nvr_type_text[NVR_TEXT / 3]; /* "float32[32, 512]"; cut when rank is absurd */

static const char *nvr_print_type(char *text, size_t size, nuvec_dtype dtype, int32_t rank, const int64_t *shape) {
  size_t n;
  int32_t k;
  if ((unsigned)dtype < NVR_NDTYPES) snprintf(text, size, "%s[", nvr_dtypes[dtype]);
  else snprintf(text, size, "dtype %d[", (int)dtype);
  for (k = 0; k < rank; k++) {
    n = strlen(text);
    if (n + 24 > size) break;
    snprintf(text + n, size - n, k ? ", %lld" : "%lld", (long long)shape[k]);
  }
  n = strlen(text);
  snprintf(text + n, size - n, k < rank ? ", ...]" : "]");
  return text;
}

/* NUVEC_OK, or the first of dtype, rank and shape that isn't t's. */
static nuvec_status nvr_compare(const nvr_type *t, const nuvec_array *a) {
  if (a->dtype != t->dtype) return NUVEC_DTYPE;
  if (a->rank != t->rank) return NUVEC_RANK;
  return t->rank && memcmp(a->shape, t->shape, (size_t)t->rank * sizeof *t->shape) ? NUVEC_SHAPE : NUVEC_OK;
}

static size_t nvr_first_difference(const nvr_entry *e, const nvr_signature *s, const nuvec_array *in, size_t *count) {
  size_t k, first = e->ninputs;
  *count = 0;
  for (k = e->ninputs; k-- > 0;)
    if (nvr_compare(&s->inputs[k], &in[k]) != NUVEC_OK) {
      first = k;
      ++*count;
    }
  return first;
}

/* No signature fits: says which is nearest (the fewest arrays differ) and what differs first. */
static nuvec_status nvr_no_signature(nvr_context *c, const nvr_entry *e, const nuvec_array *in) {
  const nvr_type *t;
  size_t k, n, at, nearest = 0, differences = SIZE_MAX;
  nvr_type_text want, got;
  for (k = 0; k < e->nsignatures; k++) {
    nvr_first_difference(e, &e->signatures[k], in, &n);
    if (n < differences) {
      differences = n;
      nearest = k;
    }
  }
  at = nvr_first_difference(e, &e->signatures[nearest], in, &n);
  t = &e->signatures[nearest].inputs[at];
  nvr_print_type(want, sizeof want, t->dtype, t->rank, t->shape);
  nvr_print_type(got, sizeof got, in[at].dtype, in[at].rank, in[at].shape);
  if (e->nsignatures == 1)
    return nvr_fail(c, nvr_compare(t, &in[at]), "%s: input %s: expected %s, got %s", e->name, e->inputs[at], want, got);
  return nvr_fail(c, NUVEC_SIGNATURE,
                  "%s: none of %zu signatures fits; in the nearest, number %zu, input %s is %s, got %s", e->name,
                  e->nsignatures, nearest, e->inputs[at], want, got);
}

static nuvec_status nvr_check_strides(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                      const nvr_type *t, const nuvec_array *a) {
  int64_t dense = 1;
  int32_t k;
  if (!a->strides || !t->bytes) return NUVEC_OK;
  for (k = t->rank; k-- > 0; dense *= t->shape[k])
    if (t->shape[k] != 1 && a->strides[k] != dense)
      return nvr_fail(c, NUVEC_STRIDES,
                      "%s: %s %s: expected dense row-major strides, got %lld instead of %lld for axis %d", e->name,
                      what, name, (long long)a->strides[k], (long long)dense, (int)k);
  return NUVEC_OK;
}

static int nvr_fits(const nvr_entry *e, const nvr_signature *s, const nuvec_array *in) {
  size_t k;
  for (k = 0; k < e->ninputs; k++)
    if (nvr_compare(&s->inputs[k], &in[k]) != NUVEC_OK) return 0;
  return 1;
}

/* Number and types as far as they can be checked without a signature. */
static nuvec_status nvr_check_inputs(nvr_context *c, const nvr_entry *e, const nuvec_array *in, size_t nin,
                                     size_t nout) {
  size_t k;
  if (c->made != NUVEC_OK) return c->made;
  if (nin != e->ninputs || nout != e->noutputs)
    return nvr_fail(c, NUVEC_SIGNATURE, "%s takes %zu inputs and has %zu outputs; the call has %zu and %zu", e->name,
                    e->ninputs, e->noutputs, nin, nout);
  if (!in && nin) return nvr_fail(c, NUVEC_NULL, "%s: the inputs are NULL", e->name);
  for (k = 0; in && k < nin; k++)
    if (in[k].rank > 0 && !in[k].shape)
      return nvr_fail(c, NUVEC_NULL, "%s: input %s has rank %d, but its shape is NULL", e->name, e->inputs[k],
                      (int)in[k].rank);
  return NUVEC_OK;
}

/* The signature of the inputs, or NULL and what is wrong. Reads dtype, rank, shape and strides only. */
static const nvr_signature *nvr_match(nvr_context *c, const nvr_entry *e, const nuvec_array *in, size_t nin,
                                      size_t nout, nuvec_status *status) {
  const nvr_signature *s = e->signatures;
  size_t k;
  *status = nvr_check_inputs(c, e, in, nin, nout);
  if (*status != NUVEC_OK) return NULL;
  while (!nvr_fits(e, s, in))
    if (++s == e->signatures + e->nsignatures) {
      *status = nvr_no_signature(c, e, in);
      return NULL;
    }
  for (k = 0; *status == NUVEC_OK && k < nin; k++)
    *status = nvr_check_strides(c, e, "input", e->inputs[k], &s->inputs[k], &in[k]);
  return *status == NUVEC_OK ? s : NULL;
}

/* Outputs that say what they are must be that. */
static nuvec_status nvr_check_outputs(nvr_context *c, const nvr_entry *e, const nvr_signature *s,
                                      const nuvec_array *out) {
  size_t k;
  nuvec_status status = NUVEC_OK;
  if (!out && e->noutputs) return nvr_fail(c, NUVEC_NULL, "%s: the outputs are NULL", e->name);
  for (k = 0; status == NUVEC_OK && k < e->noutputs; k++) {
    const nvr_type *t = &s->outputs[k];
    nvr_type_text want, got;
    if (!out[k].shape) continue;
    status = nvr_compare(t, &out[k]);
    if (status != NUVEC_OK)
      return nvr_fail(c, status, "%s: output %s is %s, but its array says %s", e->name, e->outputs[k],
                      nvr_print_type(want, sizeof want, t->dtype, t->rank, t->shape),
                      nvr_print_type(got, sizeof got, out[k].dtype, out[k].rank, out[k].shape));
    status = nvr_check_strides(c, e, "output", e->outputs[k], t, &out[k]);
  }
  return status;
}

static void nvr_describe(const nvr_type *t, nuvec_array *a) {
  a->dtype = t->dtype;
  a->rank = t->rank;
  a->shape = t->shape;
  a->strides = NULL;
}

/* Shapes of the outputs and bytes of scratch for inputs of these types; allocates nothing. */
static nuvec_status nvr_shapes(nvr_context *c, const nvr_entry *e, const nuvec_array *in, size_t nin, nuvec_array *out,
                               size_t nout, size_t *scratch) {
  const nvr_signature *s;
  nuvec_status status;
  size_t k;
  if (!c) return NUVEC_NULL;
  s = nvr_match(c, e, in, nin, nout, &status);
  if (!s) return status;
  for (k = 0; out && k < nout; k++) {
    nvr_describe(&s->outputs[k], &out[k]);
    out[k].bytes = s->outputs[k].bytes;
  }
  if (scratch) *scratch = s->scratch;
  return NUVEC_OK;
}

/* ---- memory of a call ---- */

/* A new shared buffer of n > 0 bytes, labelled "ENTRY NAME". */
static nuvec_status nvr_new_buffer(nvr_context *c, const nvr_entry *e, const char *name, size_t n, id *out) {
  char label[512];
  if (n > c->max_buffer)
    return nvr_fail(c, NUVEC_BUFFER_LIMIT, "%s: %s needs %zu bytes; the largest buffer of %s has %lu", e->name, name, n,
                    nvr_utf8(c, nvr_get(c, c->device, NVR_S_name)), c->max_buffer);
  *out = NVR_SEND("@@:QQ", id, (id, SEL, nvr_uint, nvr_uint))(c->device, c->sel[NVR_S_newBufferWithLength], n, 0);
  if (!*out) return nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for the %zu bytes of %s", e->name, n, name);
  snprintf(label, sizeof label, "%s %s", e->name, name);
  nvr_set(c, *out, NVR_S_setLabel, nvr_string(c, label));
  return NUVEC_OK;
}

static void *nvr_contents(const nvr_context *c, id buffer) {
  return NVR_SEND("^v@:", void *, (id, SEL))(buffer, c->sel[NVR_S_contents]);
}

/* An idle slot of the signature, or a new one. Counts the call as in flight when it succeeds. */
static nuvec_status nvr_take_slot(nvr_context *c, const nvr_entry *e, const nvr_signature *s, nvr_slot **out) {
  size_t n = e->ninputs + e->noutputs, index = e->first + (size_t)(s - e->signatures);
  nuvec_status status = NUVEC_OK;
  nvr_slot *slot;
  pthread_mutex_lock(&c->lock);
  c->in_flight++;
  slot = c->idle[index];
  if (slot) c->idle[index] = slot->next;
  pthread_mutex_unlock(&c->lock);
  if (!slot) {
    slot = (nvr_slot *)calloc(1, sizeof *slot);
    if (slot) {
      slot->bound = (nvr_bound *)calloc(n + 1, sizeof *slot->bound);
      slot->spans = (nvr_span *)calloc(n + 1, sizeof *slot->spans);
    }
    if (!slot || !slot->bound || !slot->spans)
      status = nvr_fail(c, NUVEC_OUT_OF_MEMORY, "%s: no memory for a call", e->name);
    else if (s->scratch) status = nvr_new_buffer(c, e, "scratch", s->scratch, &slot->scratch);
  }
  if (status == NUVEC_OK) {
    *out = slot;
    return NUVEC_OK;
  }
  if (slot) nvr_free_slot(slot, slot->bound ? n : 0);
  pthread_mutex_lock(&c->lock);
  c->in_flight--;
  pthread_mutex_unlock(&c->lock);
  return status;
}

static void nvr_give_slot(nvr_context *c, const nvr_entry *e, const nvr_signature *s, nvr_slot *slot) {
  size_t index = e->first + (size_t)(s - e->signatures);
  pthread_mutex_lock(&c->lock);
  slot->next = c->idle[index];
  c->idle[index] = slot;
  c->in_flight--;
  pthread_mutex_unlock(&c->lock);
}

/* The app's buffer: checks it and notes its memory in *span. */
static nuvec_status nvr_bind_buffer(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                    const nvr_type *t, const nuvec_array *a, nvr_bound *b, nvr_span *span) {
  id buffer = (id)a->buffer;
  size_t length = nvr_get_uint(c, buffer, NVR_S_length), room = a->offset < length ? length - a->offset : 0;
  uintptr_t contents = (uintptr_t)nvr_contents(c, buffer);
  if (a->bytes && a->bytes < room) room = a->bytes;
  if (room < t->bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER,
                    "%s: %s %s needs %zu bytes; its buffer has %zu, of which %zu from offset %zu on are the array's",
                    e->name, what, name, t->bytes, length, room, a->offset);
  if (a->offset % t->align)
    return nvr_fail(c, NUVEC_MISALIGNED, "%s: %s %s: offset %zu isn't a multiple of the %zu bytes that a kernel moves",
                    e->name, what, name, a->offset, t->align);
  b->buffer = buffer;
  b->offset = a->offset;
  span->base = contents ? 0 : (uintptr_t)buffer;
  span->start = contents + a->offset;
  return NUVEC_OK;
}

/* The app's memory: wrapped where Metal can, else copied (an output after the call). */
static nuvec_status nvr_bind_host(nvr_context *c, const nvr_entry *e, const char *what, const char *name,
                                  const nvr_type *t, const nuvec_array *a, int is_output, nvr_bound *b,
                                  nvr_span *span) {
  nuvec_status status = NUVEC_OK;
  if (a->bytes < t->bytes)
    return nvr_fail(c, NUVEC_SHORT_BUFFER, "%s: %s %s needs %zu bytes; its host memory has %zu", e->name, what, name,
                    t->bytes, a->bytes);
  span->base = 0;
  span->start = (uintptr_t)a->host;
  b->offset = 0;
  if ((uintptr_t)a->host % NVR_PAGE == 0 && a->bytes % NVR_PAGE == 0 && a->bytes <= c->max_buffer) {
    b->made = NVR_SEND("@@:^vQQ@?", id, (id, SEL, void *, nvr_uint, nvr_uint, const void *))(
        c->device, c->sel[NVR_S_newBufferWithBytesNoCopy], a->host, a->bytes, 0, NULL);
    if (b->made) nvr_set(c, b->made, NVR_S_setLabel, nvr_string(c, name));
    b->buffer = b->made;
  }
  if (!b->buffer) {
    if (!b->kept) status = nvr_new_buffer(c, e, name, t->bytes, &b->kept);
    if (status != NUVEC_OK) return status;
    b->buffer = b->kept;
    if (is_output) b->copy = nvr_contents(c, b->kept);
    else memcpy(nvr_contents(c, b->kept), a->host, t->bytes);
  }
  return NUVEC_OK;
}

static int nvr_compare_spans(const void *p, const void *q) {
  const nvr_span *a = (const nvr_span *)p, *b = (const nvr_span *)q;
  if (a->base != b->base) return a->base < b->base ? -1 : 1;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static const char *nvr_array_name(const nvr_entry *e, size_t index) {
  return index < e->ninputs ? e->inputs[index] : e->outputs[index - e->ninputs];
}

/* Does an output share memory with any other array? In order of their starts, an array overlaps an earlier one when
 * it starts before the furthest end so far; two inputs may. */
static nuvec_status nvr_check_aliasing(nvr_context *c, const nvr_entry *e, nvr_span *spans, size_t n) {
  const nvr_span *input = NULL, *output = NULL, *clash; /* those that reach furthest */
  size_t k;
  qsort(spans, n, sizeof *spans, nvr_compare_spans);
  for (k = 0; k < n; k++) {
    const nvr_span *s = &spans[k];
    int is_output = s->index >= e->ninputs;
    if (k && s->base != spans[k - 1].base) input = output = NULL;
    clash = output && s->start < output->end ? output : is_output && input && s->start < input->end ? input : NULL;
    if (clash) {
      const nvr_span *a = is_output ? s : clash, *b = is_output ? clash : s;
      return nvr_fail(c, NUVEC_ALIASING, "%s: output %s shares memory with %s %s", e->name, nvr_array_name(e, a->index),
                      b->index < e->ninputs ? "input" : "output", nvr_array_name(e, b->index));
    }
    if (is_output) output = !output || s->end > output->end ? s : output;
    else input = !input || s->end > input->end ? s : input;
  }
  return NUVEC_OK;
}

/* Checks the memory of all arrays, then makes what the call needs. Outputs' arrays aren't written yet. */
static nuvec_status nvr_bind(nvr_context *c, const nvr_entry *e, const nvr_signature *s, nvr_slot *slot,
                             const nuvec_array *in, const nuvec_array *out) {
  size_t k, nspans = 0, n = e->ninputs + e->noutputs;
  nuvec_status status = NUVEC_OK;
  for (k = 0; status == NUVEC_OK && k < n; k++) {
    int is_output = k >= e->ninputs;
    const nuvec_array *a = is_output ? &out[k - e->ninputs] : &in[k];
    const nvr_type *t = is_output ? &s->outputs[k - e->ninputs] : &s->inputs[k];
    const char *what = is_output ? "output" : "input", *name = nvr_array_name(e, k);
    nvr_bound *b = &slot->bound[k];
    nvr_span *span = &slot->spans[nspans];
    if (!t->bytes) continue;
    if (a->buffer) status = nvr_bind_buffer(c, e, what, name, t, a, b, span);
    else if (a->host) status = nvr_bind_host(c, e, what, name, t, a, is_output, b, span);
    else if (!is_output)
      status = nvr_fail(c, NUVEC_NULL, "%s: input %s has neither a buffer nor host memory", e->name, name);
    else {
      status = nvr_new_buffer(c, e, name, t->bytes, &b->made);
      b->buffer = b->made;
      continue; /* new memory overlaps nothing */
    }
    span->end = span->start + t->bytes;
    span->index = k;
    nspans++;
  }
  return status == NUVEC_OK ? nvr_check_aliasing(c, e, slot->spans, nspans) : status;
}

/* Hands the results over when status is NUVEC_OK; gives back what the call made; leaves the slot ready for the next. */
static void nvr_unbind(nvr_context *c, const nvr_entry *e, const nvr_signature *s, nvr_slot *slot, nuvec_array *out,
                       nuvec_status status) {
  size_t k;
  for (k = 0; k < e->ninputs + e->noutputs; k++) {
    nvr_bound *b = &slot->bound[k];
    if (status == NUVEC_OK && k >= e->ninputs) {
      const nvr_type *t = &s->outputs[k - e->ninputs];
      nuvec_array *a = &out[k - e->ninputs];
      nvr_describe(t, a);
      if (b->copy) memcpy(a->host, b->copy, t->bytes);
      if (!a->buffer && !a->host && t->bytes) {
        a->buffer = b->made;
        a->host = nvr_contents(c, b->made);
        a->offset = 0;
        a->bytes = t->bytes;
        b->made = NULL;
      }
    }
    objc_release(b->made);
    b->made = b->buffer = NULL;
    b->copy = NULL;
  }
}

/* ---- replay ---- */

/* A threadgroup for a grid: what the kernel must have, else a power of two of threads, x first, no wider than the grid
 * needs. */
static nvr_size nvr_group(nvr_uint limit, unsigned fixed, const size_t grid[3]) {
  nvr_size g = {1, 1, 1};
  if (fixed) {
    g.width = fixed;
    return g;
  }
  while (g.width < limit && g.width < grid[0]) g.width *= 2;
  while (g.width * g.height < limit && g.height < grid[1]) g.height *= 2;
  while (g.width * g.height * g.depth < limit && g.depth < grid[2]) g.depth *= 2;
  return g;
}

static void nvr_encode_launch(nvr_context *c, id encoder, const nvr_entry *e, const nvr_slot *slot,
                              const nvr_launch *l) {
  const nvr_pipeline *p = &c->pipelines[l->kernel];
  nvr_size grid;
  unsigned k;
  nvr_set(c, encoder, NVR_S_pushDebugGroup, p->label);
  nvr_set(c, encoder, NVR_S_setComputePipelineState, p->state);
  for (k = 0; k < l->nplaces; k++) {
    const nvr_place *place = &l->places[k];
    id buffer = slot->scratch;
    size_t offset = place->offset;
    if (place->space != NVR_SCRATCH) {
      const nvr_bound *b = &slot->bound[place->index + (place->space == NVR_OUTPUT ? e->ninputs : 0)];
      if (b->buffer) buffer = b->buffer; /* an empty array has none: any memory will do */
      offset = b->buffer ? b->offset : 0;
    }
    NVR_SEND("v@:@QQ", void, (id, SEL, id, nvr_uint, nvr_uint))(encoder, c->sel[NVR_S_setBuffer], buffer, offset, k);
  }
  grid.width = l->grid[0];
  grid.height = l->grid[1];
  grid.depth = l->grid[2];
  NVR_SEND("v@:{?=QQQ}{?=QQQ}", void, (id, SEL, nvr_size, nvr_size))
  (encoder, c->sel[NVR_S_dispatchThreads], grid, nvr_group(p->limit, c->tape->kernels[l->kernel].group, l->grid));
  nvr_do(c, encoder, NVR_S_popDebugGroup);
}

/* One encoder for the whole graph: launches run side by side but where a barrier stands. */
static void nvr_encode(nvr_context *c, id encoder, const nvr_entry *e, const nvr_signature *s, const nvr_slot *slot) {
  size_t k;
  int barrier = 0;
  for (k = 0; k < s->nlaunches; k++) {
    const nvr_launch *l = &s->launches[k];
    barrier |= l->barrier;
    if (!l->grid[0] || !l->grid[1] || !l->grid[2]) continue; /* nothing to compute */
    if (barrier)                                             /* MTLBarrierScopeBuffers */
      NVR_SEND("v@:Q", void, (id, SEL, nvr_uint))(encoder, c->sel[NVR_S_memoryBarrierWithScope], 1);
    barrier = 0;
    nvr_encode_launch(c, encoder, e, slot, l);
  }
}

static nuvec_status nvr_run(nvr_context *c, const nvr_entry *e, const nvr_signature *s, const nvr_slot *slot) {
  enum { COMPLETED = 4, CONCURRENT = 1, OUT_OF_MEMORY = 8 }; /* MTLCommandBufferStatus, MTLDispatchType, ...Error */
  id label = c->labels[e - c->tape->entries], command, encoder, error;
  long code;
  if (!s->nlaunches) return NUVEC_OK;
  command = nvr_get(c, c->queue, NVR_S_commandBuffer);
  if (!command) return nvr_fail(c, NUVEC_GPU_ERROR, "%s: the queue gives no command buffer", e->name);
  nvr_set(c, command, NVR_S_setLabel, label);
  encoder = NVR_SEND("@@:Q", id, (id, SEL, nvr_uint))(command, c->sel[NVR_S_computeCommandEncoder], CONCURRENT);
  if (!encoder) return nvr_fail(c, NUVEC_GPU_ERROR, "%s: the command buffer gives no encoder", e->name);
  nvr_set(c, encoder, NVR_S_setLabel, label);
  nvr_encode(c, encoder, e, s, slot);
  nvr_do(c, encoder, NVR_S_endEncoding);
  nvr_do(c, command, NVR_S_commit);
  nvr_do(c, command, NVR_S_waitUntilCompleted);
  if (nvr_get_uint(c, command, NVR_S_status) == COMPLETED) return NUVEC_OK;
  error = nvr_get(c, command, NVR_S_error);
  code = error ? NVR_SEND("q@:", long, (id, SEL))(error, c->sel[NVR_S_code]) : 0;
  return nvr_fail(c, code == OUT_OF_MEMORY ? NUVEC_OUT_OF_MEMORY : NUVEC_GPU_ERROR,
                  "%s: the GPU gave up on this call (%zu kernels, the first %s): %s", e->name, s->nlaunches,
                  c->tape->kernels[s->launches[0].kernel].name, nvr_error_text(c, error));
}

static nuvec_status nvr_call(nvr_context *c, const nvr_entry *e, const nuvec_array *in, size_t nin, nuvec_array *out,
                             size_t nout) {
  const nvr_signature *s;
  nvr_slot *slot;
  nuvec_status status;
  void *pool;
  if (!c) return NUVEC_NULL;
  s = nvr_match(c, e, in, nin, nout, &status);
  if (!s) return status;
  status = nvr_check_outputs(c, e, s, out);
  if (status != NUVEC_OK) return status;
  pool = objc_autoreleasePoolPush();
  status = nvr_take_slot(c, e, s, &slot);
  if (status == NUVEC_OK) {
    status = nvr_bind(c, e, s, slot, in, out);
    if (status == NUVEC_OK) status = nvr_run(c, e, s, slot);
    nvr_unbind(c, e, s, slot, out, status);
    nvr_give_slot(c, e, s, slot);
  }
  objc_autoreleasePoolPop(pool);
  return status;
}

/* Gives back a buffer that a call allocated. */
static void nvr_release(nuvec_array *a) {
  void *pool;
  if (!a) return;
  pool = objc_autoreleasePoolPush();
  objc_release((id)a->buffer);
  objc_autoreleasePoolPop(pool);
  a->buffer = a->host = NULL;
  a->offset = a->bytes = 0;
}
