/* hm_types.c - typed messages. The stub's send macro names the selector's type string; in the test bed it also
 * hands over what the cast's C types are (objc/hostmetal.h), and gets an entry point of its own to call through:
 * hm_entry() gives each (type string, cast) pair a number and the address of the stub in msgsend.S that carries it.
 * So nested sends cannot be mixed up and arguments are never touched.
 * HOSTMETAL_TYPES=0: no checks; =require: a message without a type string is a misuse too. */
#include "hm.h"
#include <objc/hostmetal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 256, STUB_SIZE = 16, MAX_TYPES = 160 }; /* as in msgsend.S */
extern char hm_entry_stubs[], hm_entry_stret_stubs[];
static struct entry {
  char types[MAX_TYPES], cast[MAX_TYPES];
} entries[ENTRIES];
static int nentries;
static enum { OFF, ALLOW_UNTYPED, REQUIRE } mode = ALLOW_UNTYPED;

__attribute__((constructor)) static void read_mode(void) {
  const char *e = getenv("HOSTMETAL_TYPES");
  if (e) mode = !strcmp(e, "0") ? OFF : !strcmp(e, "require") ? REQUIRE : ALLOW_UNTYPED;
}

static int struct_result_over_16(const char *types) { /* every member of the structs in question has 8 bytes */
  int members = 0;
  if (*types != '{') return 0;
  for (const char *p = types; *p && *p != '}'; p++) members += strchr("Qqd", *p) != NULL;
  return members > 2;
}

static IMP find_entry(const char *types, const char *const *cast, char *stubs) {
  char joined[MAX_TYPES] = "";
#if defined(__x86_64__) /* before the call: it would take the result's address for the receiver */
  int large = struct_result_over_16(types) || (cast && struct_result_over_16(*cast));
  if (mode != OFF && large != (stubs == hm_entry_stret_stubs))
    hm_bad("a message of type %s: results over 16 bytes, and no others, come through objc_msgSend_stret on x86-64",
           types);
#else
  (void)struct_result_over_16;
#endif
  for (; cast && *cast; cast++)
    if (strlen(joined) + strlen(*cast) < sizeof joined) strcat(joined, *cast);
  hm_lock();
  int i = 0;
  while (i < nentries && (strcmp(entries[i].types, types) || strcmp(entries[i].cast, joined))) i++;
  if (i == ENTRIES || strlen(types) >= MAX_TYPES) hm_bad("too many different type strings");
  if (i == nentries) {
    strcpy(entries[i].types, types);
    strcpy(entries[i].cast, joined);
    nentries++;
  }
  hm_unlock();
  return (IMP)(void *)(stubs + i * STUB_SIZE);
}
IMP hm_entry(const char *types, const char *const *cast) { return find_entry(types, cast, hm_entry_stubs); }
IMP hm_entry_stret(const char *types, const char *const *cast) {
  return find_entry(types, cast, hm_entry_stret_stubs);
}

/* ---- comparing encodings ---- */
static const char *skip_qualifiers(const char *e) {
  while (*e && strchr("rnNoORV", *e)) e++;
  return e;
}
static const char *skip_type(const char *e) {
  e = skip_qualifiers(e);
  while (*e == '^') e = skip_qualifiers(e + 1);
  if (*e == '{') {
    int depth = 0;
    do depth += (*e == '{') - (*e == '}');
    while (*e++ && depth);
    return e;
  }
  if (*e == '@' && e[1] == '?') return e + 2;
  return *e ? e + 1 : e;
}
static int is_bool(char c) {
#if defined(__x86_64__)
  return c == 'B' || c == 'c'; /* BOOL is signed char on x86-64 macOS */
#else
  return c == 'B';
#endif
}
static int is_pointer(const char *e) { return *e && strchr("^@#:*", *e) != NULL; }
/* pointers_alike: pointers of any kind are equal, which is what a C cast can be held to */
static int same_types(const char *a, const char *b, int pointers_alike) {
  while (*a && *b) {
    const char *p = skip_qualifiers(a), *q = skip_qualifiers(b);
    a = skip_type(a);
    b = skip_type(b);
    if (pointers_alike && is_pointer(p) && is_pointer(q)) continue;
    if (is_bool(*p) && is_bool(*q)) continue;
    if (a - p != b - q || strncmp(p, q, a - p)) return 0;
  }
  return !*a && !*b;
}

/* ---- the table ---- */
static int first_row(const char *selector) {
  int low = 0, high = hm_nrows;
  while (low < high) {
    int mid = (low + high) / 2;
    if (strcmp(hm_rows[mid].selector, selector) < 0) low = mid + 1;
    else high = mid;
  }
  return low;
}
const struct hm_row *hm_row_of(Class c, const char *selector) {
  int first = first_row(selector), end = first;
  while (end < hm_nrows && !strcmp(hm_rows[end].selector, selector)) end++;
  if (first == end) return NULL;
  int is_class_method = c && c->name[0] == '+';
  for (; c; c = c->super)
    for (int i = first; i < end; i++)
      if (hm_rows[i].is_class_method == is_class_method && !strcmp(hm_rows[i].class_name, c->name + is_class_method))
        return &hm_rows[i];
  return &hm_rows[first]; /* nil, or declared in a class or protocol that is not modelled here */
}
int hm_too_new(Class c, const char *selector) {
  const struct hm_row *r = hm_row_of(c, selector);
  return r && r->since > hm_os;
}

static const char *message_name(id self, SEL s) {
  static __thread char text[200];
  const char *name = self ? self->isa->name : "nil";
  int is_class = *name == '+';
  snprintf(text, sizeof text, "%c[%s %s]", is_class ? '+' : '-', name + is_class, sel_getName(s));
  return text;
}

void hm_check_types(id self, SEL s, int entry, int stret) {
  (void)stret;
  if (mode == OFF || (entry < 0 && mode == ALLOW_UNTYPED)) return;
  if (entry < 0) hm_bad("%s: sent without a type string", message_name(self, s));
  const struct entry *e = &entries[entry];
  const struct hm_row *r = hm_row_of(self ? self->isa : NULL, sel_getName(s));
  if (!r) hm_bad("%s: not in metal-selectors.json", message_name(self, s));
  if (self && r->since > hm_os)
    hm_bad("%s: unrecognized selector before macOS %d.%d", message_name(self, s), r->since / 100, r->since % 100);
  if (!same_types(r->encoding, e->types, 0))
    hm_bad("%s: type string: expected %s, got %s", message_name(self, s), r->encoding, e->types);
  if (*e->cast && !same_types(r->encoding, e->cast, 1))
    hm_bad("%s: cast: expected %s, got %s", message_name(self, s), r->encoding, e->cast);
#if defined(__x86_64__)
  if (r->stret != stret)
    hm_bad("%s: its result %s be returned through objc_msgSend_stret on x86-64", message_name(self, s),
           r->stret ? "must" : "must not");
#endif
}
