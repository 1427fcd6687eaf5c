/* hm_library.c - MTLLibrary (an ELF .so that mslc made), MTLFunction, MTLComputePipelineState and its descriptor. */
#define _GNU_SOURCE
#include "hm.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNSUPPORTED = 1, INTERNAL, COMPILE_FAILURE, FILE_NOT_FOUND = 6 }; /* MTLLibraryError */
#define DOMAIN "MTLLibraryErrorDomain"

/* ---- loading ---- */
/* A new name in the folder tmp beside libhostmetal.so, or where that can't be written in TMPDIR or /tmp. */
static void scratch_name(char path[PATH_MAX]) {
  static unsigned long n;
  unsigned long i = __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST);
  const char *dir = getenv("TMPDIR");
  char own[PATH_MAX - 100];
  Dl_info info;
  if (dladdr((void *)scratch_name, &info) && info.dli_fname && strlen(info.dli_fname) < sizeof own - 8) {
    strcpy(own, info.dli_fname);
    char *end = strrchr(own, '/');
    strcpy(end ? end + 1 : own, "tmp");
    if ((mkdir(own, 0777) == 0 || errno == EEXIST) && access(own, W_OK) == 0) dir = own;
  }
  snprintf(path, PATH_MAX, "%.3900s/hm%ld-%lu", dir ? dir : "/tmp", (long)getpid(), i);
}

static int macos_of(unsigned language) { /* the first macOS that takes a language version */
  static const struct {
    unsigned language;
    int os;
  } table[] = {{110, 1011}, {120, 1012}, {200, 1013}, {210, 1014}, {220, 1015}, {230, 1100},
               {240, 1200}, {300, 1300}, {310, 1400}, {320, 1500}, {400, 2600}};
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].language == language) return table[i].os;
  return 0;
}
/* both stamps of a metallib are checked when it is loaded */
static int too_new(const msl_library *l, id *err) {
  for (const msl_kernel *const *k = l->begin; k < l->end; k++) {
    if (!*k) continue;
    if (macos_of((*k)->language) > hm_os) {
      hm_set_error(err, DOMAIN, UNSUPPORTED,
                   "This library is using language version %u.%u, which is not supported on this OS",
                   (*k)->language / 100, (*k)->language / 10 % 10);
      return 1;
    }
    if ((*k)->target > hm_os) {
      hm_set_error(err, DOMAIN, UNSUPPORTED,
                   "This library is using a deployment target (0x%04x%04x) that is not supported on this OS",
                   (unsigned)(*k)->target / 100, (unsigned)(*k)->target % 100);
      return 1;
    }
  }
  return 0;
}

/* The loader takes a truncated file and dies of it; its last part is the section table. */
static int is_whole(const char *path) {
  Elf64_Ehdr h;
  struct stat st;
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  int ok = fread(&h, sizeof h, 1, f) == 1 && fstat(fileno(f), &st) == 0 && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
           h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_shoff &&
           h.e_shoff + (unsigned long)h.e_shnum * h.e_shentsize <= (unsigned long)st.st_size;
  fclose(f);
  return ok;
}

/* By a name of its own: the loader takes a name that it has loaded before for the same file, however it changed. */
static id load(const char *path, const char *shown, id *err) {
  char real[PATH_MAX], name[PATH_MAX];
  if (!realpath(path, real)) {
    hm_set_error(err, DOMAIN, FILE_NOT_FOUND, "%s: %s", shown, strerror(errno));
    return NULL;
  }
  scratch_name(name);
  void *h = is_whole(real) && !symlink(real, name) ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
  const char *why = h ? NULL : dlerror();
  unlink(name);
  const msl_library *l = h ? dlsym(h, "msl_library_v3") : NULL;
  if (!l || l->version != MSL_LIBRARY_VERSION) {
    hm_set_error(err, DOMAIN, INTERNAL, "%s: Invalid library file%s%s", shown, why ? ": " : "", why ? why : "");
    if (h) dlclose(h);
    return NULL;
  }
  if (too_new(l, err)) {
    dlclose(h);
    return NULL;
  }
  hm_library *o = hm_new(&C_MTLLibrary, sizeof *o);
  o->handle = h;
  o->l = l;
  return (id)o;
}
static int refuse(id *err) {
  if (!hm_fails(HM_FAIL_LIBRARY)) return 0;
  hm_set_error(err, DOMAIN, INTERNAL, "library: internal error (asked for by HOSTMETAL_FAIL)");
  return 1;
}
id hm_library_url(id d, SEL s, id url, id *err) {
  (void)d; (void)s;
  hm_want(url, &C_NSURL, "newLibraryWithURL:");
  return refuse(err) ? NULL : load(((hm_string *)url)->s, ((hm_string *)url)->s, err);
}
id hm_library_file(id d, SEL s, id path, id *err) {
  (void)d; (void)s;
  const char *p = hm_text(path, "newLibraryWithFile:");
  return refuse(err) ? NULL : load(p, p, err);
}
id hm_library_data(id d, SEL s, id data, id *err) {
  (void)d; (void)s;
  hm_want(data, &C_OS_dispatch_data, "newLibraryWithData:");
  if (refuse(err)) return NULL;
  char name[PATH_MAX];
  scratch_name(name);
  FILE *f = fopen(name, "wb");
  if (!f) {
    hm_set_error(err, DOMAIN, INTERNAL, "newLibraryWithData: %s: %s", name, strerror(errno));
    return NULL;
  }
  hm_data *b = (hm_data *)data;
  int whole = fwrite(b->p, 1, b->length, f) == b->length;
  id l = NULL;
  if (fclose(f) || !whole) hm_set_error(err, DOMAIN, INTERNAL, "newLibraryWithData: %s could not be written", name);
  else l = load(name, "data", err);
  unlink(name); /* a loaded library stays mapped */
  return l;
}

/* ---- from source: with HOSTMETAL_MSLC, the command that compiles ---- */
typedef struct hm_options {
  hm_object o;
  int safe;
} hm_options;
static char *read_all(const char *path) {
  char *text = calloc(1, 4096);
  FILE *f = fopen(path, "r");
  if (!f) return text;
  text[fread(text, 1, 4095, f)] = 0;
  fclose(f);
  return text;
}
id hm_library_source(id d, SEL s, id source, id options, id *err) {
  (void)d; (void)s;
  const char *text = hm_text(source, "newLibraryWithSource:"), *compiler = getenv("HOSTMETAL_MSLC");
  if (refuse(err)) return NULL;
  if (!compiler) {
    hm_set_error(err, DOMAIN, COMPILE_FAILURE, "newLibraryWithSource: set HOSTMETAL_MSLC");
    return NULL;
  }
  char base[PATH_MAX], in[PATH_MAX + 16], out[PATH_MAX + 16], log[PATH_MAX + 16], *command = NULL;
  scratch_name(base);
  snprintf(in, sizeof in, "%s.metal", base);
  snprintf(out, sizeof out, "%s.metallib", base);
  snprintf(log, sizeof log, "%s.log", base);
  FILE *f = fopen(in, "w");
  if (f) {
    fputs(text, f);
    fclose(f);
  }
  const char *fast = options && ((hm_options *)options)->safe ? "" : "--fast-math ";
  if (asprintf(&command, "%s %s%s -o %s 2>%s", compiler, fast, in, out, log) < 0) abort();
  id l = NULL;
  if (system(command) == 0) l = load(out, "source", err);
  else {
    char *said = read_all(log);
    hm_set_error(err, DOMAIN, COMPILE_FAILURE, "compile failed: %s", said);
    free(said);
  }
  free(command);
  unlink(in);
  unlink(out);
  unlink(log);
  return l;
}
static id options_new(id c, SEL s) { (void)c; (void)s; return hm_new(&C_MTLCompileOptions, sizeof(hm_options)); }
static void options_ignore(id o, SEL s, NSUInteger v) { (void)o; (void)s; (void)v; }
static void options_fast(id o, SEL s, BOOL fast) { (void)s; ((hm_options *)o)->safe = !fast; }
static void options_mode(id o, SEL s, long mode) { (void)s; ((hm_options *)o)->safe = mode == 0; }
static void options_functions(id o, SEL s, long precise) { (void)s; ((hm_options *)o)->safe = precise == 1; }
static hm_method options_methods[] = {{"setFastMathEnabled:", options_fast, 0},
                                      {"setMathMode:", options_mode, 0},
                                      {"setMathFloatingPointFunctions:", options_functions, 0},
                                      {"setLanguageVersion:", options_ignore, 0},
                                      HM_END};
static hm_method new_options[] = {{"new", options_new, 0}, {"alloc", options_new, 0}, HM_END};
HM_CLASS(MTLCompileOptions, options_methods, new_options, NULL)

/* ---- what a library holds ---- */
static id library_function(id o, SEL s, id name) {
  (void)s;
  const char *n = hm_text(name, "newFunctionWithName:");
  const msl_library *l = ((hm_library *)o)->l;
  for (const msl_kernel *const *k = l->begin; k < l->end; k++) {
    if (!*k || strcmp((*k)->name, n)) continue;
    hm_function *f = hm_new(&C_MTLFunction, sizeof *f);
    f->lib = (hm_library *)objc_retain(o);
    f->k = *k;
    return (id)f;
  }
  return NULL;
}
static id library_names(id o, SEL s) {
  (void)s;
  const msl_library *l = ((hm_library *)o)->l;
  NSUInteger n = 0;
  id *v = calloc(l->end - l->begin + 1, sizeof *v);
  for (const msl_kernel *const *k = l->begin; k < l->end; k++)
    if (*k) v[n++] = hm_new_string(&C_NSString, (*k)->name);
  return objc_autorelease(hm_new_array(n, v));
}
static void library_dealloc(hm_object *o) { dlclose(((hm_library *)o)->handle); }
static hm_method library_methods[] = {{"newFunctionWithName:", library_function, 0},
                                      {"functionNames", library_names, 0},
                                      HM_LABELLED,
                                      HM_END};
HM_CLASS(MTLLibrary, library_methods, NULL, library_dealloc)

static id function_name(id o, SEL s) { (void)s; return hm_string_of(((hm_function *)o)->k->name); }
static NSUInteger function_type(id o, SEL s) { (void)o; (void)s; return 3; } /* MTLFunctionTypeKernel */
static void function_dealloc(hm_object *o) { objc_release((id)((hm_function *)o)->lib); }
static hm_method function_methods[] = {{"name", function_name, 0},
                                       {"functionType", function_type, 0},
                                       HM_LABELLED,
                                       HM_END};
HM_CLASS(MTLFunction, function_methods, NULL, function_dealloc)

/* ---- pipelines ---- */
typedef struct hm_descriptor {
  hm_object o;
  id function;
  NSUInteger max_threads;
  BOOL multiple;
} hm_descriptor;
static id make_pipeline(id function, NSUInteger most, id *err, const char *where) {
  hm_want(function, &C_MTLFunction, where);
  if (hm_fails(HM_FAIL_PIPELINE)) {
    hm_set_error(err, "AGXMetalG13X", 3, "Compiler encountered an internal error (asked for by HOSTMETAL_FAIL)");
    return NULL;
  }
  hm_function *f = (hm_function *)function;
  if (f->k->max_threads > hm_now.max_threads) {
    hm_set_error(err, "AGXMetalG13X", 2, "%s: max_total_threads_per_threadgroup(%u) is over the device's %lu",
                 f->k->name, f->k->max_threads, hm_now.max_threads);
    return NULL;
  }
  hm_pipeline *p = hm_new(&C_MTLComputePipelineState, sizeof *p);
  p->lib = (hm_library *)objc_retain((id)f->lib);
  p->k = f->k;
  p->max_threads = f->k->max_threads ? f->k->max_threads : hm_now.max_threads;
  if (most && most < p->max_threads) p->max_threads = most;
  return (id)p;
}
id hm_pipeline_new(id d, SEL s, id function, id *err) {
  (void)d; (void)s;
  return make_pipeline(function, 0, err, "newComputePipelineStateWithFunction:");
}
id hm_pipeline_options(id d, SEL s, id function, NSUInteger options, id *reflection, id *err) {
  if (options || reflection) hm_bad("newComputePipelineState: reflection is not modelled");
  return hm_pipeline_new(d, s, function, err);
}
id hm_pipeline_descriptor(id d, SEL s, id descriptor, NSUInteger options, id *reflection, id *err) {
  (void)d; (void)s;
  hm_want(descriptor, &C_MTLComputePipelineDescriptor, "newComputePipelineStateWithDescriptor:");
  if (options || reflection) hm_bad("newComputePipelineState: reflection is not modelled");
  hm_descriptor *from = (hm_descriptor *)descriptor;
  id p = make_pipeline(from->function, from->max_threads, err, "newComputePipelineStateWithDescriptor:");
  if (p && from->o.label) ((hm_object *)p)->label = strdup(from->o.label);
  return p;
}
static NSUInteger pipeline_max_threads(id o, SEL s) { (void)s; return ((hm_pipeline *)o)->max_threads; }
static NSUInteger pipeline_width(id o, SEL s) { (void)o; (void)s; return hm_now.width; }
static NSUInteger pipeline_tgmem(id o, SEL s) { (void)s; return ((hm_pipeline *)o)->k->static_tgmem; }
static void pipeline_dealloc(hm_object *o) { objc_release((id)((hm_pipeline *)o)->lib); }
static hm_method pipeline_methods[] = {{"maxTotalThreadsPerThreadgroup", pipeline_max_threads, 0},
                                       {"threadExecutionWidth", pipeline_width, 0},
                                       {"staticThreadgroupMemoryLength", pipeline_tgmem, 0},
                                       {"label", hm_label, 0}, /* set through the descriptor only */
                                       {"device", hm_get_device, 0},
                                       HM_END};
HM_CLASS(MTLComputePipelineState, pipeline_methods, NULL, pipeline_dealloc)

static id descriptor_new(id c, SEL s) {
  (void)c; (void)s;
  return hm_new(&C_MTLComputePipelineDescriptor, sizeof(hm_descriptor));
}
static id descriptor_function(id o, SEL s) { (void)s; return ((hm_descriptor *)o)->function; }
static void descriptor_set_function(id o, SEL s, id function) {
  (void)s;
  if (function) hm_want(function, &C_MTLFunction, "setComputeFunction:");
  objc_retain(function);
  objc_release(((hm_descriptor *)o)->function);
  ((hm_descriptor *)o)->function = function;
}
static NSUInteger descriptor_max(id o, SEL s) { (void)s; return ((hm_descriptor *)o)->max_threads; }
static void descriptor_set_max(id o, SEL s, NSUInteger n) { (void)s; ((hm_descriptor *)o)->max_threads = n; }
static BOOL descriptor_multiple(id o, SEL s) { (void)s; return ((hm_descriptor *)o)->multiple; }
static void descriptor_set_multiple(id o, SEL s, BOOL b) { (void)s; ((hm_descriptor *)o)->multiple = b; }
static void descriptor_dealloc(hm_object *o) { objc_release(((hm_descriptor *)o)->function); }
static hm_method descriptor_methods[] = {
    {"computeFunction", descriptor_function, 0},
    {"setComputeFunction:", descriptor_set_function, 0},
    {"maxTotalThreadsPerThreadgroup", descriptor_max, 0},
    {"setMaxTotalThreadsPerThreadgroup:", descriptor_set_max, 0},
    {"threadGroupSizeIsMultipleOfThreadExecutionWidth", descriptor_multiple, 0},
    {"setThreadGroupSizeIsMultipleOfThreadExecutionWidth:", descriptor_set_multiple, 0},
    {"label", hm_label, 0},
    {"setLabel:", hm_set_label, 0},
    HM_END};
static hm_method new_descriptor[] = {{"new", descriptor_new, 0}, {"alloc", descriptor_new, 0}, HM_END};
HM_CLASS(MTLComputePipelineDescriptor, descriptor_methods, new_descriptor, descriptor_dealloc)
