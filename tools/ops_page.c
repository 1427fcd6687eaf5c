/* ops_page.c - `ops_page FILE SPECS` prints FILE, nuvec-ops(5) in mdoc(7), with the lists between its marks made anew:
 * of operations from the op table, of composites from the file SPECS. `make man/nuvec-ops.5` writes it; a test holds
 * the page against the table. */
#include "../lib/ir/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text for mdoc: no line starts with a control character, backslashes are spelt out. */
static void put(const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", stdout);
  for (; *text; text++) {
    if (*text == '\\')
      fputs("\\e", stdout);
    else if (*text == '-')
      fputs("\\-", stdout);
    else if (*text == ' ' && text[-1] == '.') /* a sentence starts a line */
      putchar('\n');
    else
      putchar(*text);
  }
}

static void put_call(const nv_op_info *o) {
  const char *comma = "";
  put(o->name);
  putchar('(');
  for (const char *p = o->params; *p;) { /* "x min? max?" */
    fputs(comma, stdout);
    for (; *p && *p != ' '; p++) putchar(*p);
    for (; *p == ' '; p++) {}
    comma = ", ";
  }
  for (const nv_attr_info *a = o->attrs; a->kind != NV_AT_END; a++) {
    printf("%s%s", comma, a->name);
    if (a->default_) putchar('='), put(a->default_);
    comma = ", ";
  }
  putchar(')');
}

static void put_dtypes(uint32_t domain) {
  static const struct {
    uint32_t bits;
    const char *text;
  } sets[] = {{NV_BITS_ALL, "all dtypes"},
              {NV_BITS_ALL & ~NV_BIT(NV_C64), "all but complex64"},
              {NV_BITS_ALL & ~NV_BIT(NV_BOOL), "all but bool"},
              {NV_BITS_ALL & ~NV_BIT(NV_BOOL) & ~NV_BIT(NV_C64), "integers and floats"},
              {NV_BITS_FLOAT | NV_BIT(NV_C64), "floats and complex64"},
              {NV_BITS_FLOAT, "floats"},
              {NV_BITS_INT | NV_BIT(NV_BOOL), "integers and bool"},
              {NV_BITS_INT, "integers"}};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (domain == sets[i].bits) {
      fputs(sets[i].text, stdout);
      return;
    }
  const char *comma = "";
  for (int d = 0; d < NV_NDTYPES; d++)
    if (domain & NV_BIT(d)) {
      printf("%s%s", comma, nv_dtype_name[d]);
      comma = ", ";
    }
}

static const char *rule_text(nv_dtype_rule rule) {
  switch (rule) {
  case NV_DT_FLOAT:
  case NV_DT_PROMOTE_FLOAT:
  case NV_DT_MEAN: return "at least float";
  case NV_DT_COMPARE:
  case NV_DT_LOGICAL: return "bool";
  case NV_DT_SELECT: return "that of x and y, promoted";
  case NV_DT_ATTR: return "the attribute's dtype";
  case NV_DT_SHIFT: return "promoted, uint8 for bool";
  case NV_DT_UINT32: return "uint32";
  case NV_DT_SUM: return "int32 for bool and narrower signed integers, uint32 for narrower unsigned ones";
  default: return NULL; /* the operands' */
  }
}

/* An op with helpers has its own function, the same on every device. */
static void put_error(const char *ulp, const char *helpers) {
  char *end;
  const double bound = strtod(ulp, &end);
  if (*end)
    printf("Error: %s.\n", ulp);
  else if (bound == 0.5)
    puts("Error: correctly rounded, by Metal's promise.");
  else if (helpers)
    printf("Error: %s ulp at most, measured.\n", ulp);
  else
    printf("Error: %s ulp at most on the GPU.\n", ulp);
}

static void put_ops(nv_op_class cls) {
  puts(".Bl -tag -width Ds");
  for (int k = 0; k < NV_NOPS; k++) {
    const nv_op_info *o = &nv_ops[k];
    if (!o->name || !o->params || o->cls != cls || o->flags & NV_INNER) continue;
    fputs(".It ", stdout);
    put_call(o);
    putchar('\n');
    put(o->doc);
    if (o->edges) putchar('\n'), put(o->edges);
    if (o->aliases) {
      fputs("\nAlso named ", stdout);
      put(o->aliases);
      putchar('.');
    }
    fputs("\nFor ", stdout);
    put_dtypes(o->domain);
    if (rule_text(o->dtype)) printf("; result: %s", rule_text(o->dtype));
    puts(".");
    if (o->ulp) put_error(o->ulp, o->helpers);
  }
  puts(".El");
}

/* The names in a flow map of YAML, {x: "any[...]", alpha: 1.0}; values as defaults where asked for. */
static const char *put_names(const char *map, bool values, const char *comma) {
  for (const char *p = map + 1; *p && *p != '}';) {
    p += strspn(p, " ,");
    const size_t name = strcspn(p, ":"), value = name + 1 + strspn(p + name + 1, " ");
    const size_t end = value + (p[value] == '"' ? 1 + strcspn(p + value + 1, "\"") + 1 : strcspn(p + value, ",}"));
    printf("%s%.*s", comma, (int)name, p);
    if (values) printf("=%.*s", (int)(end - value), p + value);
    comma = ", ";
    p += end;
  }
  return comma;
}

/* SPECS is ours: two blanks before a function's name, four before doc:, static: and inputs:, a line each. */
static int put_composites(const char *path) {
  char line[512], name[64] = "", doc[256] = "", statics[256] = "";
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return 1;
  }
  puts(".Bl -tag -width Ds");
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "  ", 2) && line[2] != ' ') {
      snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 2, ":"), line + 2);
      doc[0] = statics[0] = 0;
    } else if (!strncmp(line, "    doc: ", 9)) {
      snprintf(doc, sizeof doc, "%.255s", line + 9);
    } else if (!strncmp(line, "    static: ", 12)) {
      snprintf(statics, sizeof statics, "%.255s", line + 12);
    } else if (!strncmp(line, "    inputs: ", 12)) {
      printf(".It %s(", name);
      const char *comma = put_names(line + 12, false, "");
      if (*statics) put_names(statics, true, comma);
      puts(")");
      put(doc);
      puts(".");
    }
  }
  puts(".El");
  fclose(f);
  return 0;
}

int main(int argc, char **argv) {
  static const struct {
    const char *mark;
    nv_op_class cls;
  } lists[] = {{"element-wise", NV_ELEM}, {"expanded", NV_EXPAND}, {"views", NV_VIEW},
               {"reductions", NV_REDUCE}, {"scans", NV_SCAN}, {"copies", NV_COPY},     {"composites", NV_LEAF}};
  const size_t nlists = sizeof lists / sizeof *lists;
  char line[1024];
  bool copying = true;
  size_t found = 0;
  FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
  if (!f) {
    fputs("usage: ops_page FILE SPECS\n", stderr);
    return 2;
  }
  while (fgets(line, sizeof line, f)) {
    if (!strcmp(line, ".\\\" end\n")) copying = true;
    if (copying) fputs(line, stdout);
    for (size_t k = 0; k < nlists && copying; k++) {
      const size_t n = strlen(lists[k].mark);
      if (strncmp(line, ".\\\" ", 4) || strncmp(line + 4, lists[k].mark, n) || line[4 + n] != ':') continue;
      copying = false;
      found++;
      if (lists[k].cls != NV_LEAF)
        put_ops(lists[k].cls);
      else if (put_composites(argv[2]))
        return 1;
    }
  }
  fclose(f);
  if (found == nlists && copying) return 0;
  fprintf(stderr, "%s: a mark is missing\n", argv[1]);
  return 1;
}
