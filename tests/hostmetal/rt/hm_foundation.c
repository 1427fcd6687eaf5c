/* hm_foundation.c - the rest of Foundation that a Metal stub touches: NSError, NSArray, NSDictionary,
 * NSAutoreleasePool, NSBundle, NSProcessInfo. */
#define _GNU_SOURCE
#include "hm.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- NSError ---- */
typedef struct hm_error {
  hm_object o;
  char *message, *domain;
  long code;
} hm_error;
void hm_set_error(id *e, const char *domain, long code, const char *format, ...) {
  va_list a;
  char *message = NULL;
  va_start(a, format);
  if (vasprintf(&message, format, a) < 0) abort();
  va_end(a);
  if (!e) {
    free(message);
    return;
  }
  hm_error *o = hm_new(&C_NSError, sizeof *o);
  o->message = message;
  o->domain = strdup(domain);
  o->code = code;
  *e = objc_autorelease((id)o);
}
static id error_description(id o, SEL s) { (void)s; return hm_string_of(((hm_error *)o)->message); }
static id error_domain(id o, SEL s) { (void)s; return hm_string_of(((hm_error *)o)->domain); }
static long error_code(id o, SEL s) { (void)s; return ((hm_error *)o)->code; }
static id error_info(id o, SEL s) {
  (void)o; (void)s;
  return objc_autorelease(hm_new(&C_NSDictionary, sizeof(hm_object)));
}
static id error_no_reason(id o, SEL s) { (void)o; (void)s; return NULL; }
static void error_dealloc(hm_object *o) {
  free(((hm_error *)o)->message);
  free(((hm_error *)o)->domain);
}
static hm_method error_methods[] = {{"localizedDescription", error_description, 0},
                                    {"localizedFailureReason", error_no_reason, 0},
                                    {"localizedRecoverySuggestion", error_no_reason, 0},
                                    {"domain", error_domain, 0},
                                    {"code", error_code, 0},
                                    {"userInfo", error_info, 0},
                                    HM_END};
HM_CLASS(NSError, error_methods, NULL, error_dealloc)

#define CONSTANT(name, text)                                                                                 \
  static hm_string text_of_##name = {{.isa = &C_NSString, .retain_count = 1, .single = 1}, (char *)text};    \
  const id name = (id)&text_of_##name;
CONSTANT(MTLCommandBufferErrorDomain, "MTLCommandBufferErrorDomain")
CONSTANT(MTLLibraryErrorDomain, "MTLLibraryErrorDomain")
CONSTANT(NSLocalizedDescriptionKey, "NSLocalizedDescription")

/* ---- NSDictionary: an empty one, for userInfo ---- */
static NSUInteger dictionary_count(id o, SEL s) { (void)o; (void)s; return 0; }
static id dictionary_get(id o, SEL s, id key) { (void)o; (void)s; (void)key; return NULL; }
static hm_method dictionary_methods[] = {{"count", dictionary_count, 0}, {"objectForKey:", dictionary_get, 0}, HM_END};
HM_CLASS(NSDictionary, dictionary_methods, NULL, NULL)

/* ---- NSArray ---- */
typedef struct hm_array {
  hm_object o;
  NSUInteger n;
  id *v;
} hm_array;
id hm_new_array(NSUInteger n, id *items) {
  hm_array *a = hm_new(&C_NSArray, sizeof *a);
  a->n = n;
  a->v = items;
  return (id)a;
}
static id array_of(id c, SEL s, const id *items, NSUInteger n) {
  (void)c; (void)s;
  id *v = calloc(n + 1, sizeof *v);
  for (NSUInteger i = 0; i < n; i++) v[i] = objc_retain(items[i]);
  return objc_autorelease(hm_new_array(n, v));
}
static id array_of_one(id c, SEL s, id item) { return array_of(c, s, &item, 1); }
static id array_empty(id c, SEL s) { return array_of(c, s, NULL, 0); }
static NSUInteger array_count(id o, SEL s) { (void)s; return ((hm_array *)o)->n; }
static id array_at(id o, SEL s, NSUInteger i) {
  (void)s;
  hm_array *a = (hm_array *)o;
  if (i >= a->n) hm_bad("objectAtIndex: %lu beyond %lu", i, a->n);
  return a->v[i];
}
static id array_first(id o, SEL s) { (void)s; return ((hm_array *)o)->n ? ((hm_array *)o)->v[0] : NULL; }
static void array_dealloc(hm_object *o) {
  hm_array *a = (hm_array *)o;
  for (NSUInteger i = 0; i < a->n; i++) objc_release(a->v[i]);
  free(a->v);
}
static hm_method array_methods[] = {
    {"count", array_count, 0}, {"objectAtIndex:", array_at, 0}, {"firstObject", array_first, 0}, HM_END};
static hm_method array_class_methods[] = {{"arrayWithObjects:count:", array_of, 0},
                                          {"arrayWithObject:", array_of_one, 0},
                                          {"array", array_empty, 0},
                                          HM_END};
HM_CLASS(NSArray, array_methods, array_class_methods, array_dealloc)

/* ---- NSAutoreleasePool ---- */
typedef struct hm_pool {
  hm_object o;
  void *p;
} hm_pool;
static id pool_new(id c, SEL s) {
  (void)c; (void)s;
  hm_pool *p = hm_new(&C_NSAutoreleasePool, sizeof *p);
  p->p = objc_autoreleasePoolPush();
  return (id)p;
}
static void pool_drain(id o, SEL s) { (void)s; objc_release(o); }
static void pool_dealloc(hm_object *o) { objc_autoreleasePoolPop(((hm_pool *)o)->p); }
static hm_method pool_methods[] = {{"drain", pool_drain, 0}, HM_END};
static hm_method pool_class_methods[] = {{"new", pool_new, 0}, {"alloc", pool_new, 0}, HM_END};
HM_CLASS(NSAutoreleasePool, pool_methods, pool_class_methods, pool_dealloc)

/* ---- NSBundle: the executable's own folder, or HOSTMETAL_BUNDLE ---- */
static hm_object bundle;
static void executable(char path[PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
  path[n < 0 ? 0 : n] = 0;
}
static void folder(char path[PATH_MAX]) {
  const char *e = getenv("HOSTMETAL_BUNDLE");
  if (e) {
    snprintf(path, PATH_MAX, "%s", e);
    return;
  }
  executable(path);
  char *end = strrchr(path, '/');
  if (end) *end = 0;
}
static id bundle_main(id c, SEL s) { (void)c; (void)s; return hm_single(&bundle, &C_NSBundle); }
static id bundle_path(id o, SEL s) {
  (void)o; (void)s;
  char path[PATH_MAX];
  folder(path);
  return hm_string_of(path);
}
static id bundle_executable(id o, SEL s) {
  (void)o; (void)s;
  char path[PATH_MAX];
  executable(path);
  return hm_string_of(path);
}
static int find_resource(char path[PATH_MAX + 512], id name, id type) {
  char in[PATH_MAX];
  const char *n = hm_text(name, "pathForResource:ofType:"), *t = type ? hm_text(type, "pathForResource:ofType:") : "";
  folder(in);
  snprintf(path, PATH_MAX + 512, "%s/%s%s%s", in, n, *t ? "." : "", t);
  return access(path, F_OK) == 0;
}
static id bundle_find(id o, SEL s, id name, id type) {
  (void)o; (void)s;
  char path[PATH_MAX + 512];
  return find_resource(path, name, type) ? hm_string_of(path) : NULL;
}
static id bundle_find_url(id o, SEL s, id name, id type) {
  (void)o; (void)s;
  char path[PATH_MAX + 512];
  return find_resource(path, name, type) ? objc_autorelease(hm_new_string(&C_NSURL, path)) : NULL;
}
static id bundle_url(id o, SEL s) {
  (void)o; (void)s;
  char path[PATH_MAX];
  folder(path);
  return objc_autorelease(hm_new_string(&C_NSURL, path));
}
static id bundle_identifier(id o, SEL s) { (void)o; (void)s; return NULL; }
static hm_method bundle_methods[] = {{"pathForResource:ofType:", bundle_find, 0},
                                     {"URLForResource:withExtension:", bundle_find_url, 0},
                                     {"bundlePath", bundle_path, 0},
                                     {"resourcePath", bundle_path, 0},
                                     {"executablePath", bundle_executable, 0},
                                     {"bundleURL", bundle_url, 0},
                                     {"resourceURL", bundle_url, 0},
                                     {"bundleIdentifier", bundle_identifier, 0},
                                     HM_END};
static hm_method bundle_class_methods[] = {{"mainBundle", bundle_main, 0}, HM_END};
HM_CLASS(NSBundle, bundle_methods, bundle_class_methods, NULL)

/* ---- NSProcessInfo ---- */
static hm_object process_info;
int hm_os = 2600;
int hm_set_os(const char *version) {
  int major = 0, minor = 0;
  if (sscanf(version, "%d.%d", &major, &minor) < 1 || major < 10 || minor < 0 || minor > 99) return 0;
  hm_os = 100 * major + minor;
  return 1;
}
static id info_shared(id c, SEL s) { (void)c; (void)s; return hm_single(&process_info, &C_NSProcessInfo); }
static NSOperatingSystemVersion info_version(id o, SEL s) {
  (void)o; (void)s;
  return (NSOperatingSystemVersion){hm_os / 100, hm_os % 100, 0};
}
static BOOL info_at_least(id o, SEL s, NSOperatingSystemVersion v) {
  (void)o; (void)s;
  return 100 * v.major + v.minor < hm_os || (100 * v.major + v.minor == hm_os && v.patch <= 0);
}
static id info_version_text(id o, SEL s) {
  (void)o; (void)s;
  char text[64];
  snprintf(text, sizeof text, "Version %d.%d (hostmetal)", hm_os / 100, hm_os % 100);
  return hm_string_of(text);
}
static id info_name(id o, SEL s) { (void)o; (void)s; return hm_string_of(program_invocation_short_name); }
static hm_method info_methods[] = {{"operatingSystemVersion", info_version, 0},
                                   {"isOperatingSystemAtLeastVersion:", info_at_least, 0},
                                   {"operatingSystemVersionString", info_version_text, 0},
                                   {"processName", info_name, 0},
                                   HM_END};
static hm_method info_class_methods[] = {{"processInfo", info_shared, 0}, HM_END};
HM_CLASS(NSProcessInfo, info_methods, info_class_methods, NULL)
