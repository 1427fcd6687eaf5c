/* hm_string.c - NSString and NSURL, both a UTF-8 text of their own; a URL is always that of a file. */
#define _GNU_SOURCE
#include "hm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASCII = 1, UTF8 = 4 }; /* NSStringEncoding */

id hm_new_string(Class c, const char *s) {
  hm_string *o = hm_new(c, sizeof *o);
  o->s = strdup(s ? s : "");
  return (id)o;
}
id hm_string_of(const char *s) { return s ? objc_autorelease(hm_new_string(&C_NSString, s)) : NULL; }
const char *hm_text(id o, const char *where) {
  hm_want(o, &C_NSString, where);
  return ((hm_string *)o)->s;
}
static char *text_of(id o) { return ((hm_string *)o)->s; }
static void string_dealloc(hm_object *o) { free(((hm_string *)o)->s); }
static id set_text(id o, char *s) { /* takes s */
  free(((hm_string *)o)->s);
  ((hm_string *)o)->s = s;
  return o;
}
static id own(Class c, char *s) { /* autoreleased, of a text it takes */
  return objc_autorelease(set_text(hm_new_string(c, ""), s));
}
static void check_encoding(NSUInteger e) {
  if (e != ASCII && e != UTF8) hm_bad("NSString: encoding %lu is not modelled", e);
}

/* ---- NSString ---- */
static id string_alloc(id c, SEL s) { (void)c; (void)s; return hm_new_string(&C_NSString, ""); }
static id string_with_utf8(id c, SEL s, const char *u) {
  (void)c; (void)s;
  if (!u) hm_bad("stringWithUTF8String: NULL");
  return hm_string_of(u);
}
static id string_with_encoding(id c, SEL s, const char *u, NSUInteger e) {
  check_encoding(e);
  return string_with_utf8(c, s, u);
}
static id string_init(id o, SEL s, const char *u) {
  (void)s;
  if (!u) hm_bad("initWithUTF8String: NULL");
  return set_text(o, strdup(u));
}
static id string_init_bytes(id o, SEL s, const void *p, NSUInteger n, NSUInteger e) {
  (void)s;
  check_encoding(e);
  return set_text(o, strndup(p, n));
}
static id string_init_no_copy(id o, SEL s, void *p, NSUInteger n, NSUInteger e, BOOL free_it) {
  string_init_bytes(o, s, p, n, e);
  if (free_it) free(p);
  return o;
}
static const char *string_utf8(id o, SEL s) { (void)s; return text_of(o); }
static const char *string_encoded(id o, SEL s, NSUInteger e) {
  check_encoding(e);
  return string_utf8(o, s);
}
static NSUInteger string_length(id o, SEL s) { /* UTF-16 units */
  (void)s;
  NSUInteger n = 0;
  for (const unsigned char *p = (void *)text_of(o); *p; p++) n += (*p & 0xC0) != 0x80 ? 1 + (*p >= 0xF0) : 0;
  return n;
}
static NSUInteger string_bytes(id o, SEL s, NSUInteger e) {
  (void)s;
  check_encoding(e);
  return strlen(text_of(o));
}
static BOOL copy_out(const char *t, char *out, NSUInteger n) {
  if (strlen(t) >= n) return 0;
  strcpy(out, t);
  return 1;
}
static BOOL string_get(id o, SEL s, char *out, NSUInteger n, NSUInteger e) {
  (void)s;
  check_encoding(e);
  return copy_out(text_of(o), out, n);
}
static BOOL get_path(id o, SEL s, char *out, NSUInteger n) { (void)s; return copy_out(text_of(o), out, n); }
static BOOL string_equal(id o, SEL s, id other) {
  (void)s;
  return !strcmp(text_of(o), hm_text(other, "isEqualToString:"));
}
static BOOL string_has_prefix(id o, SEL s, id prefix) {
  (void)s;
  const char *p = hm_text(prefix, "hasPrefix:");
  return !strncmp(text_of(o), p, strlen(p));
}
static char *join(const char *a, const char *between, const char *b) {
  char *r = NULL;
  if (asprintf(&r, "%s%s%s", a, between, b) < 0) abort();
  return r;
}
static const char *slash(const char *path) {
  size_t n = strlen(path);
  return n && path[n - 1] == '/' ? "" : n ? "/" : "";
}
static char *parent(const char *path) {
  const char *end = strrchr(path, '/');
  return end == path ? strdup("/") : strndup(path, end ? (size_t)(end - path) : 0);
}
static id string_append(id o, SEL s, id other) {
  (void)s;
  return own(&C_NSString, join(text_of(o), "", hm_text(other, "stringByAppendingString:")));
}
static id append_component(id o, SEL s, id part) {
  (void)s;
  return own(o->isa, join(text_of(o), slash(text_of(o)), hm_text(part, "…ByAppendingPathComponent:")));
}
static id delete_component(id o, SEL s) { (void)s; return own(o->isa, parent(text_of(o))); }
static id last_component(id o, SEL s) {
  (void)s;
  const char *end = strrchr(text_of(o), '/');
  return hm_string_of(end ? end + 1 : text_of(o));
}
static id string_copy(id o, SEL s) { (void)s; return objc_retain(o); }

static hm_method string_methods[] = {{"UTF8String", string_utf8, 0},
                                     {"cStringUsingEncoding:", string_encoded, 0},
                                     {"length", string_length, 0},
                                     {"lengthOfBytesUsingEncoding:", string_bytes, 0},
                                     {"getCString:maxLength:encoding:", string_get, 0},
                                     {"fileSystemRepresentation", string_utf8, 0},
                                     {"getFileSystemRepresentation:maxLength:", get_path, 0},
                                     {"initWithUTF8String:", string_init, 0},
                                     {"initWithBytes:length:encoding:", string_init_bytes, 0},
                                     {"initWithBytesNoCopy:length:encoding:freeWhenDone:", string_init_no_copy, 0},
                                     {"isEqualToString:", string_equal, 0},
                                     {"hasPrefix:", string_has_prefix, 0},
                                     {"stringByAppendingString:", string_append, 0},
                                     {"stringByAppendingPathComponent:", append_component, 0},
                                     {"stringByDeletingLastPathComponent", delete_component, 0},
                                     {"copy", string_copy, 0},
                                     HM_END};
static hm_method string_class_methods[] = {{"stringWithUTF8String:", string_with_utf8, 0},
                                           {"stringWithCString:encoding:", string_with_encoding, 0},
                                           {"alloc", string_alloc, 0},
                                           HM_END};
HM_CLASS(NSString, string_methods, string_class_methods, string_dealloc)

/* ---- NSURL ---- */
static id url_alloc(id c, SEL s) { (void)c; (void)s; return hm_new_string(&C_NSURL, ""); }
static id url_file(id c, SEL s, id path) {
  (void)c; (void)s;
  return objc_autorelease(hm_new_string(&C_NSURL, hm_text(path, "fileURLWithPath:")));
}
static id url_file_directory(id c, SEL s, id path, BOOL directory) { (void)directory; return url_file(c, s, path); }
static id url_representation(id c, SEL s, const char *path, BOOL directory, id base) {
  (void)c; (void)s; (void)directory;
  if (base) hm_bad("fileURLWithFileSystemRepresentation: a base URL is not modelled");
  return objc_autorelease(hm_new_string(&C_NSURL, path));
}
static id url_init(id o, SEL s, id path) {
  (void)s;
  return set_text(o, strdup(hm_text(path, "initFileURLWithPath:")));
}
static id url_path(id o, SEL s) { (void)s; return hm_string_of(text_of(o)); }
static id url_absolute(id o, SEL s) { (void)s; return own(&C_NSString, join("file://", "", text_of(o))); }
static BOOL url_is_file(id o, SEL s) { (void)o; (void)s; return 1; }
static hm_method url_methods[] = {{"path", url_path, 0},
                                  {"fileSystemRepresentation", string_utf8, 0},
                                  {"getFileSystemRepresentation:maxLength:", get_path, 0},
                                  {"absoluteString", url_absolute, 0},
                                  {"isFileURL", url_is_file, 0},
                                  {"lastPathComponent", last_component, 0},
                                  {"URLByAppendingPathComponent:", append_component, 0},
                                  {"URLByDeletingLastPathComponent", delete_component, 0},
                                  {"initFileURLWithPath:", url_init, 0},
                                  HM_END};
static hm_method url_class_methods[] = {
    {"fileURLWithPath:", url_file, 0},
    {"fileURLWithPath:isDirectory:", url_file_directory, 0},
    {"fileURLWithFileSystemRepresentation:isDirectory:relativeToURL:", url_representation, 0},
    {"alloc", url_alloc, 0},
    HM_END};
HM_CLASS(NSURL, url_methods, url_class_methods, string_dealloc)
