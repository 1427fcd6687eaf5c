/* ops_page.c - prints nuvec-ops(5) from the op table. `make man/nuvec-ops.5` writes it; a test holds it against the
 * table. */
#include "../lib/ir/op.h"

#include <stdio.h>

/* Text for mdoc: no line starts with a control character, backslashes are spelt out. */
static void put(const char *text) {
  if (*text == '.' || *text == '\'') fputs("\\&", stdout);
  for (; *text; text++) {
    if (*text == '\\')
      fputs("\\e", stdout);
    else if (*text == '-')
      fputs("\\-", stdout);
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

int main(void) {
  static const struct {
    nv_op_class cls;
    const char *title, *text;
  } parts[] = {
      {NV_ELEM, "ELEMENT-WISE OPERATIONS",
       "Operands are promoted to one dtype and broadcast.\nThe dtypes are those of the operands after promotion; "
       "where an\n"
       "operation is for floats, integers and bool become float32 first.\nIntegers wrap."},
      {NV_EXPAND, "EXPANDED WHILE TRACING", "These become the operations above."},
      {NV_VIEW, "VIEWS", "Index arithmetic only: inside a kernel they cost nothing."},
      {NV_REDUCE, "REDUCTIONS",
       "Over any set of axes, counted from the end where negative; all axes by default.\nFloating-point sums add in "
       "a "
       "fixed\n"
       "order: blocks of 1024 elements."},
      {NV_COPY, "COPIES", "Asked for explicitly, so they stay."},
  };
  puts(".\\\" made from lib/ops.def by tools/ops_page.c\n.Dd December 1, 2026\n.Dt NUVEC-OPS 5\n.Os\n.Sh NAME\n.Nm "
       "nuvec-ops\n"
       ".Nd the operations of nuvecc's graphs\n.Sh DESCRIPTION\nThe operations that a spec\n.Pq Xr nuvec-spec 5\nmay "
       "use: "
       "operands, then attributes with their defaults.\nAn operand with a question mark may be left out.");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    bool any = false;
    for (int k = 0; k < NV_NOPS; k++) {
      const nv_op_info *o = &nv_ops[k];
      if (!o->name || !o->params || o->cls != parts[i].cls) continue;
      if (!any) printf(".Sh %s\n%s\n.Bl -tag -width Ds\n", parts[i].title, parts[i].text);
      any = true;
      fputs(".It ", stdout);
      put_call(o);
      putchar('\n');
      put(o->doc);
      if (o->aliases) {
        fputs("\nAlso named ", stdout);
        put(o->aliases);
        putchar('.');
      }
      fputs("\nFor ", stdout);
      put_dtypes(o->domain);
      fputs(".\n", stdout);
    }
    if (any) puts(".El");
  }
  puts(".Sh SEE ALSO\n.Xr nuvecc 1 ,\n.Xr nuvec-spec 5");
  return 0;
}
