/* oplist.c - prints the op table as JSON, for the generator of random graphs and other tests. */
#include "../lib/ir/op.h"

#include <stdio.h>

static void put(const char *key, const char *text) {
  printf("\"%s\": ", key);
  if (!text) {
    printf("null");
    return;
  }
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    putchar(*text);
  }
  putchar('"');
}

int main(void) {
  static const char *const classes[] = {"leaf", "elem", "view", "reduce", "copy", "scan", "expand", "index"};
  static const char *const rules[] = {"same",    "float",  "promote", "promote_float", "compare",
                                      "logical", "select", "attr",    "sum",           "cumsum",
                                      "mean",    "real",   "shift",   "pick",          "int32",
                                      "uint32"};
  static const char *const kinds[] = {"end",  "axis", "axes",   "perm",  "shape",
                                      "bool", "int",  "number", "dtype", "slice",  "value"};
  puts("[");
  bool first = true;
  for (int k = 0; k < NV_NOPS; k++) {
    const nv_op_info *o = &nv_ops[k];
    if (!o->name || o->cls == NV_LEAF || o->flags & NV_INNER) continue;
    printf("%s{", first ? "" : ",\n");
    first = false;
    put("name", o->name);
    printf(", ");
    put("params", o->params);
    printf(", \"class\": \"%s\", \"dtype\": \"%s\", \"results\": %u, \"exact\": %s, \"domain\": [", classes[o->cls],
           (size_t)o->dtype < sizeof rules / sizeof *rules ? rules[o->dtype] : "other",
           (unsigned)nv_op_results((nv_op)k), o->flags & NV_EXACT ? "true" : "false");
    bool comma = false;
    for (int d = 0; d < NV_NDTYPES; d++)
      if (o->domain & NV_BIT(d)) printf("%s\"%s\"", comma ? ", " : "", nv_dtype_name[d]), comma = true;
    printf("], \"attrs\": [");
    for (const nv_attr_info *a = o->attrs; a->kind != NV_AT_END; a++) {
      printf("%s{", a == o->attrs ? "" : ", ");
      put("name", a->name);
      printf(", \"kind\": \"%s\", ", (size_t)a->kind < sizeof kinds / sizeof *kinds ? kinds[a->kind] : "other");
      put("default", a->default_);
      putchar('}');
    }
    printf("], ");
    put("doc", o->doc);
    putchar('}');
  }
  puts("\n]");
  return 0;
}
