/* fields.c - the leaves of a tree, given as paths, as members of nested C structs and unions.
 *
 * Every node is a member (name) or an element (index) of its parent, which is older: walks from the back see children
 * before parents, so that no recursion is needed. Two nodes have the same form when what they hold is spelt alike;
 * forms are numbered, equal form, equal number. */
#include "metal.h"
#include "stub.h"

#include <stdlib.h>

typedef struct node {
  const char *name;                   /* C member, NULL for an element; "" is the root */
  uint32_t parent, first, last, next; /* children in order */
  uint32_t count;                     /* children */
  uint32_t index;                     /* of an element */
  nv_str path;                        /* the component as written; NV_NONE for an element */
  uint32_t form;                      /* of leaves of one type, of nodes that hold the same */
  const char *type;                   /* of a leaf; NULL: not one */
  bool is_array;                      /* children are elements of one form */
  bool is_union;                      /* children are of different variants */
  const char *what, *tree_path;       /* of a leaf, for a comment, as nv_item has them */
} node;

struct nv_fields {
  nv_ctx *c;
  node *nodes;
  uint32_t nnodes, nodes_cap;
  uint32_t *leaf; /* of each item */
};

/* Types of leaves by number: forms below this are theirs. */
static const char *const leaf_types[] = {"nuvec_array", "int64_t", "double", "int"};
enum { LEAF_TYPES = sizeof leaf_types / sizeof *leaf_types };

/* Keywords of C, C++, Objective-C and Swift, and macros without arguments of the headers that a stub's user includes
 * (and of gcc's GNU dialects). Sorted by strcmp. */
/* clang-format off */
static const char *const words[] = {
    "Any", "BUFSIZ", "EOF", "FALSE", "I", "INFINITY", "MAXFLOAT", "NAN", "NO", "NULL", "Nil", "Protocol",
    "SIZE_MAX", "Self", "TRUE", "Type", "YES", "alignas", "alignof", "and", "and_eq", "as", "asm",
    "associatedtype", "auto", "await", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "complex",
    "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "defer", "deinit", "delete", "do", "double", "dynamic_cast", "else", "enum", "errno",
    "explicit", "export", "extension", "extern", "fallthrough", "false", "fileprivate", "float", "for",
    "friend", "func", "goto", "guard", "i386", "if", "imaginary", "import", "in", "init", "inline", "inout",
    "int", "internal", "is", "let", "linux", "long", "mutable", "namespace", "new", "nil", "noexcept",
    "noreturn", "not", "not_eq", "nullptr", "open", "operator", "or", "or_eq", "precedencegroup", "private",
    "protected", "protocol", "public", "register", "reinterpret_cast", "repeat", "requires", "restrict",
    "rethrows", "return", "self", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "stderr", "stdin", "stdout", "struct", "subscript", "super", "switch", "template", "this", "thread_local",
    "throw", "throws", "true", "try", "typealias", "typedef", "typeid", "typename", "typeof", "typeof_unqual",
    "union", "unix", "unsigned", "using", "var", "virtual", "void", "volatile", "wchar_t", "where", "while",
    "xor", "xor_eq"};
/* clang-format on */

static int compare_words(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

/* Taken by C, or in the name space that C keeps for itself. */
static bool is_reserved(const char *name) {
  if (name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'))) return true;
  return bsearch(name, words, sizeof words / sizeof *words, sizeof *words, compare_words) != NULL;
}

/* The member name of component path under parent, unique there. */
static const char *member_name(nv_fields *f, nv_map *taken, uint32_t parent, nv_str path) {
  nv_ctx *c = f->c;
  const char *text = nv_text(c, path);
  char *name = nv_format(c, "%s", text + (*text == NV_FIELD_UNION));
  for (char *p = name; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
  if (!*name || (*name >= '0' && *name <= '9')) name = nv_format(c, "_%s", name);
  for (bool again = is_reserved(name);;) {
    if (again) name = nv_format(c, "%s_", name);
    const uint64_t h = nv_hash(name, strlen(name), parent);
    uint32_t at = 0, other;
    again = false;
    while (!again && (other = nv_map_next(taken, h, &at)) != NV_NONE)
      again = f->nodes[other].parent == parent && !strcmp(f->nodes[other].name, name);
    if (again) continue;
    nv_map_add(c, taken, h, f->nnodes);
    return name;
  }
}

/* The child of parent for one component: the one that is there, else a new one. A leaf and a node of one name, of
 * different variants, are two. */
static uint32_t child(nv_fields *f, nv_map *taken, nv_map *known, uint32_t parent, nv_str path, uint32_t index,
                      const char *type) {
  const uint32_t key[4] = {parent, path, index, type != NULL};
  const uint64_t h = nv_hash(key, sizeof key, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(known, h, &at)) != NV_NONE) {
    const node *n = &f->nodes[k];
    if (n->parent == parent && n->path == path && n->index == index && !n->type == !type) return k;
  }
  const uint32_t last = f->nodes[parent].last;
  const char *name = path == NV_NONE ? NULL : member_name(f, taken, parent, path);
  NV_GROW(f->c, f->nodes, f->nodes_cap, (size_t)f->nnodes + 1);
  f->nodes[f->nnodes] = (node){.name = name,
                               .parent = parent,
                               .first = NV_NONE,
                               .last = NV_NONE,
                               .next = NV_NONE,
                               .index = index,
                               .path = path,
                               .type = type,
                               .is_union = path != NV_NONE && nv_text(f->c, path)[0] == NV_FIELD_UNION};
  node *p = &f->nodes[parent];
  if (last == NV_NONE) p->first = f->nnodes;
  else f->nodes[last].next = f->nnodes;
  p->last = f->nnodes;
  p->count++;
  nv_map_add(f->c, known, h, f->nnodes);
  return f->nnodes++;
}

/* The leaf that a path names: components "name", ".name" and "[digits]". */
static uint32_t add_path(nv_fields *f, nv_map *taken, nv_map *known, const nv_item *item) {
  const char *path = item->path;
  uint32_t at = 0;
  while (*path) {
    if (*path == '[') {
      char *end;
      const unsigned long index = strtoul(path + 1, &end, 10);
      path = *end == ']' ? end + 1 : end;
      at = child(f, taken, known, at, NV_NONE, (uint32_t)index, *path ? NULL : item->type);
    } else {
      if (*path == '.') path++;
      const size_t n = strcspn(path, ".[");
      const nv_str name = nv_intern(f->c, path, n);
      path += n;
      at = child(f, taken, known, at, name, 0, *path ? NULL : item->type);
    }
  }
  return at;
}

static bool same_form(const nv_fields *f, const node *a, const node *b) {
  if (a->count != b->count || a->is_array != b->is_array || a->is_union != b->is_union) return false;
  uint32_t i = a->first, j = b->first;
  for (; i != NV_NONE; i = f->nodes[i].next, j = f->nodes[j].next) {
    const node *x = &f->nodes[i], *y = &f->nodes[j];
    if (x->form != y->form || !x->name != !y->name || (x->name && strcmp(x->name, y->name))) return false;
  }
  return true;
}

static uint32_t leaf_form(const char *type) {
  uint32_t k = 0;
  while (k < LEAF_TYPES - 1 && strcmp(leaf_types[k], type)) k++;
  return k;
}

/* Numbers the forms; the number of what has children is that of the node seen first, behind those of the leaves. */
static void find_forms(nv_fields *f) {
  nv_map forms = {0};
  for (uint32_t k = f->nnodes; k-- > 0;) {
    node *n = &f->nodes[k];
    if (n->type) n->form = leaf_form(n->type);
    if (n->first == NV_NONE) continue;
    uint64_t h = n->count;
    n->is_array = !f->nodes[n->first].name;
    for (uint32_t i = n->first; i != NV_NONE; i = f->nodes[i].next) {
      const node *x = &f->nodes[i];
      if (x->name || x->form != f->nodes[n->first].form) n->is_array = false;
      h = nv_hash(&x->form, sizeof x->form, h);
      if (x->name) h = nv_hash(x->name, strlen(x->name), h);
    }
    uint32_t at = 0, other;
    while ((other = nv_map_next(&forms, h, &at)) != NV_NONE)
      if (same_form(f, n, &f->nodes[other])) break;
    n->form = (other == NV_NONE ? k : other) + LEAF_TYPES;
    if (other == NV_NONE) nv_map_add(f->c, &forms, h, k);
  }
  nv_map_drop(f->c, &forms);
}

/* ---- comments ---- */

/* Two paths as one: numbers that differ become i. */
static const char *merged_path(nv_ctx *c, const char *a, const char *b) {
  nv_buf to;
  if (!strcmp(a, b)) return a;
  nv_buf_init(&to, c);
  while (*a && *b) {
    const size_t n = strspn(a, "0123456789i"), m = strspn(b, "0123456789i");
    const bool index = to.n && to.p[to.n - 1] == '[' && a[n] == ']' && b[m] == ']';
    if (!index && *a != *b) break;
    if (index && (n != m || strncmp(a, b, n))) nv_putc(&to, 'i');
    else nv_put(&to, a, index ? n : 1);
    a += index ? n : 1;
    b += index ? m : 1;
  }
  return nv_format(c, "%s", nv_buf_text(&to));
}

/* What stands once for all elements of an array says what all have in common. */
static void find_comments(nv_fields *f, const nv_item *items, uint32_t n) {
  uint32_t *shown = NV_NEW_N(f->c, uint32_t, f->nnodes); /* the node that is printed for it */
  for (uint32_t k = 0; k < f->nnodes; k++) {
    const node *from = &f->nodes[shown[k]];
    uint32_t j = from->first;
    for (uint32_t i = f->nodes[k].first; i != NV_NONE; i = f->nodes[i].next) {
      shown[i] = j;
      if (!from->is_array) j = f->nodes[j].next;
    }
  }
  for (uint32_t k = 0; k < n; k++) {
    node *to = &f->nodes[shown[f->leaf[k]]];
    if (!items[k].what) continue;
    to->tree_path = to->what ? merged_path(f->c, to->tree_path, items[k].name) : items[k].name;
    to->what = to->what && strcmp(to->what, items[k].what) ? "" : items[k].what;
  }
}

nv_fields *nv_fields_make(nv_ctx *c, const nv_item *items, uint32_t n) {
  nv_fields *f = NV_NEW(c, nv_fields);
  nv_map taken = {0}, known = {0};
  f->c = c;
  f->leaf = NV_NEW_N(c, uint32_t, (size_t)n + 1);
  NV_GROW(c, f->nodes, f->nodes_cap, 1);
  f->nodes[f->nnodes++] =
      (node){.name = "", .parent = NV_NONE, .first = NV_NONE, .last = NV_NONE, .next = NV_NONE, .path = NV_NONE};
  for (uint32_t k = 0; k < n; k++) f->leaf[k] = add_path(f, &taken, &known, &items[k]);
  nv_map_drop(c, &taken);
  nv_map_drop(c, &known);
  find_forms(f);
  find_comments(f, items, n);
  return f;
}

static void put_what(nv_buf *b, const node *n, uint32_t start) {
  nv_buf text;
  if (!n->what) return;
  nv_buf_init(&text, b->c);
  nv_put_comment(&text, n->what);
  if (text.n) nv_puts(&text, ", ");
  nv_put_comment(&text, n->tree_path);
  if (b->n - start + text.n + 7 <= NV_COLUMNS) nv_printf(b, " /* %s */", nv_buf_text(&text));
  nv_drop(b->c, text.p);
}

/* The elements of an array under n, dimension by dimension, until members or a leaf; and how many of each. */
static uint32_t element(const nv_fields *f, uint32_t n, nv_buf *dims) {
  while (f->nodes[n].is_array) {
    nv_printf(dims, "[%u]", (unsigned)f->nodes[n].count);
    n = f->nodes[n].first;
  }
  return n;
}

static void indent(nv_buf *b, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++) nv_puts(b, "  ");
}
static void put_name(nv_buf *b, const node *n) {
  if (n->name) nv_puts(b, n->name);
  else nv_printf(b, "_%u", (unsigned)n->index);
}

/* Depth-first, with a stack of the structs that are open: the member and where its dims are in one text. */
void nv_put_fields(nv_buf *b, const nv_fields *f) {
  struct open {
    uint32_t member, next; /* next: the child to print */
    const char *dims;
  } *stack = NULL;
  uint32_t depth = 0, cap = 0;
  NV_GROW(f->c, stack, cap, 1);
  stack[depth++] = (struct open){0, f->nodes[0].first, ""};
  while (depth) {
    struct open *top = &stack[depth - 1];
    if (top->next == NV_NONE) {
      if (--depth) {
        indent(b, depth);
        nv_puts(b, "} ");
        put_name(b, &f->nodes[stack[depth].member]);
        nv_printf(b, "%s;\n", stack[depth].dims);
      }
      continue;
    }
    const uint32_t member = top->next;
    nv_buf dims;
    nv_buf_init(&dims, f->c);
    const uint32_t n = element(f, member, &dims);
    top->next = f->nodes[member].next;
    indent(b, depth);
    if (f->nodes[n].first != NV_NONE) {
      nv_puts(b, f->nodes[n].is_union ? "union {\n" : "struct {\n");
      NV_GROW(f->c, stack, cap, (size_t)depth + 1);
      stack[depth++] = (struct open){member, f->nodes[n].first, nv_buf_text(&dims)};
    } else {
      const uint32_t start = b->n - 2 * depth;
      nv_printf(b, "%s ", f->nodes[n].type);
      put_name(b, &f->nodes[member]);
      nv_printf(b, "%s;", nv_buf_text(&dims));
      put_what(b, &f->nodes[n], start);
      nv_putc(b, '\n');
    }
  }
  nv_drop(f->c, stack);
}

void nv_put_field(nv_buf *b, const nv_fields *f, uint32_t k) {
  uint32_t *chain = NULL, n = 0, cap = 0;
  for (uint32_t at = f->leaf[k]; at; at = f->nodes[at].parent) {
    NV_GROW(f->c, chain, cap, (size_t)n + 1);
    chain[n++] = at;
  }
  for (uint32_t i = n; i-- > 0;) {
    const node *x = &f->nodes[chain[i]];
    if (!x->name && f->nodes[x->parent].is_array) {
      nv_printf(b, "[%u]", (unsigned)x->index);
    } else {
      if (i + 1 < n) nv_putc(b, '.');
      put_name(b, x);
    }
  }
  nv_drop(f->c, chain);
}
