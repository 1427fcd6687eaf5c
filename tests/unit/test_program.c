/* test_program.c - documents to specs: every form of the grammar, and the place and words of errors. */
#include "spec_run.h"

/* ---- what a spec says, as text ---- */

static void put_type(nv_buf *b, const nv_spec *s, nv_type t) {
  static const char *const classes[] = {"", "any", "float", "int", "number"};
  const nv_type_node *n = &s->types[t];
  switch (n->kind) {
  case NV_TYPE_ARRAY:
    nv_puts(b, n->dtype >= 0 ? nv_dtype_name[n->dtype]
               : n->cls      ? classes[n->cls]
                             : nv_text(s->c, n->variable));
    nv_putc(b, '[');
    for (uint32_t k = 0; k < n->ndims; k++) {
      const nv_type_dim *d = &s->type_dims[n->first_dim + k];
      if (k) nv_putc(b, ',');
      if (d->kind == NV_DIM_EXPR)
        spec_put(b, s, d->expr);
      else
        nv_puts(b, d->kind == NV_DIM_OPEN ? "?" : "...");
    }
    nv_putc(b, ']');
    if (!n->trainable) nv_puts(b, " fixed");
    if (n->strides_any) nv_puts(b, " strided");
    for (uint32_t k = 0; n->strides && k < n->ndims; k++) nv_printf(b, " %lld", (long long)n->strides[k]);
    break;
  case NV_TYPE_NAMED: nv_puts(b, nv_text(s->c, n->name)); break;
  case NV_TYPE_LIST:
    spec_put(b, s, n->count);
    nv_puts(b, " of ");
    put_type(b, s, n->of);
    break;
  case NV_TYPE_STATIC: nv_printf(b, "static %d", (int)s->statics[n->static_].kind); break;
  default:
    nv_puts(b, n->kind == NV_TYPE_ENUM ? "enum{" : "{");
    for (uint32_t k = 0; k < n->nfields; k++) {
      const nv_field *f = &s->fields[n->first_field + k];
      if (k) nv_puts(b, ", ");
      if (f->name != NV_NONE) nv_printf(b, "%s: ", nv_text(s->c, f->name));
      put_type(b, s, f->type);
    }
    nv_putc(b, '}');
    if (n->default_variant != NV_NONE) nv_printf(b, " = %s", nv_text(s->c, n->default_variant));
  }
}

static void put_block(nv_buf *b, const nv_spec *s, const nv_stmt_block *block, int indent) {
  for (uint32_t k = 0; block && k < block->n; k++) {
    const nv_stmt *st = &block->stmts[k];
    static const char *const words[] = {"", "if ", "for ", "map "};
    nv_printf(b, "%*s%s", indent, "", words[st->kind]);
    uint32_t n = 0;
    for (nv_ast t = st->first_target; t != NV_NONE; t = nv_ast_at(s, t)->next) {
      if (n++) nv_putc(b, ' ');
      spec_put(b, s, t);
    }
    assert_int_equal(n, st->ntargets);
    if (st->kind == NV_STMT_FOR)
      nv_printf(b, "%s in ", nv_text(s->c, st->name));
    else if (st->kind == NV_STMT_ASSIGN)
      nv_puts(b, " = ");
    for (nv_ast t = st->bindings; t != NV_NONE; t = nv_ast_at(s, t)->next) spec_put(b, s, t), nv_putc(b, ' ');
    if (st->expr != NV_NONE) spec_put(b, s, st->expr);
    for (uint32_t i = 0; i < st->ncarry; i++) nv_printf(b, " %s", nv_text(s->c, st->carry[i]));
    for (nv_ast t = st->yields; t != NV_NONE; t = nv_ast_at(s, t)->next)
      nv_puts(b, " yield "), spec_put(b, s, t);
    nv_putc(b, '\n');
    put_block(b, s, st->then_, indent + 2);
    if (st->else_ && st->else_->n) nv_printf(b, "%*selse\n", indent, "");
    put_block(b, s, st->else_, indent + 2);
  }
}

static void put_function(nv_buf *b, const nv_spec *s, const nv_function *f) {
  static const char *const kinds[] = {"int", "float", "bool", "string", "enum"};
  nv_printf(b, "%s%s\n", nv_text(s->c, f->name), f->called ? " called" : "");
  for (uint32_t k = 0; k < f->ndtypes; k++)
    nv_printf(b, " dtype %s %x\n", nv_text(s->c, f->dtypes[k].name), f->dtypes[k].allowed);
  for (uint32_t k = 0; k < f->ndims; k++)
    nv_printf(b, " dim %s %lld %lld %lld %lld\n", nv_text(s->c, f->dims[k].name), (long long)f->dims[k].value,
              (long long)f->dims[k].min, (long long)f->dims[k].max, (long long)f->dims[k].multiple_of);
  for (uint32_t k = 0; k < f->nstatics; k++) {
    nv_printf(b, " static %s %s", nv_text(s->c, f->statics[k].name), kinds[f->statics[k].kind]);
    for (uint32_t i = 0; i < f->statics[k].nchoices; i++)
      nv_printf(b, " %s", nv_text(s->c, f->statics[k].choices[i]));
    nv_puts(b, " = ");
    if (f->statics[k].default_ != NV_NONE) spec_put(b, s, f->statics[k].default_);
    nv_putc(b, '\n');
  }
  for (uint32_t k = 0; k < f->ninputs; k++) {
    nv_printf(b, " %s: ", nv_text(s->c, f->inputs[k].name));
    put_type(b, s, f->inputs[k].type);
    nv_putc(b, '\n');
  }
  put_block(b, s, &f->body, 2);
  static const char *const outs[] = {"out", "outs", "tree"};
  nv_printf(b, " %s ", outs[f->outputs_kind]);
  spec_put(b, s, f->outputs);
  nv_putc(b, '\n');
}

static void put_entry(nv_buf *b, const nv_spec *s, const nv_entry *e) {
  static const char *const styles[] = {"tree", "flat", "mut"};
  nv_printf(b, "entry %s of %s, %s%s%s %lld", nv_text(s->c, e->name), nv_text(s->c, e->function),
            styles[e->style], e->shapeless ? " shapeless" : "", e->in_place ? " in-place" : "",
            (long long)e->cache_capacity);
  for (uint32_t k = 0; k < e->nstate; k++) nv_printf(b, " state %s", nv_text(s->c, e->state[k]));
  for (uint32_t k = 0; k < e->ndonate; k++) nv_printf(b, " donate %s", nv_text(s->c, e->donate[k]));
  for (uint32_t k = 0; k < e->nbind; k++) nv_printf(b, " bind %s", nv_text(s->c, e->bind[k]));
  nv_putc(b, '\n');
  for (uint32_t k = 0; k < e->nsignatures; k++) {
    nv_puts(b, " {");
    for (uint32_t i = 0; i < e->signatures[k].nbindings; i++) {
      const nv_binding *x = &e->signatures[k].bindings[i];
      nv_printf(b, "%s%s: ", i ? ", " : "", nv_text(s->c, x->key));
      if (x->value != NV_NONE) spec_put(b, s, x->value);
      if (x->type != NV_NONE) nv_puts(b, " type "), put_type(b, s, x->type);
    }
    nv_puts(b, "}\n");
  }
}

static const char *shown; /* of the last spec that was read */
static nv_ctx *last;

static int done(void **state) {
  (void)state;
  if (last) nv_ctx_free(last);
  last = NULL;
  return 0;
}

static const char *show(const char *text, nuvecc_format format) {
  spec_text t;
  done(NULL);
  nv_ctx *c = last = spec_read(&t, text, strlen(text), format, true);
  if (!t.spec) fail_msg("%s\nsays %s", text, said);
  static nv_buf b;
  nv_buf_init(&b, c);
  if (t.spec->name != NV_NONE) nv_printf(&b, "name %s\n", nv_text(c, t.spec->name));
  for (uint32_t k = 0; k < t.spec->nnamed_types; k++) {
    nv_printf(&b, "type %s: ", nv_text(c, t.spec->named_types[k].name));
    put_type(&b, t.spec, t.spec->named_types[k].type);
    nv_putc(&b, '\n');
  }
  for (uint32_t k = 0; k < t.spec->nconstants; k++) {
    const nv_constant *x = &t.spec->constants[k];
    nv_printf(&b, "constant %s ", nv_text(c, x->name));
    if (x->value != NV_NONE) spec_put(&b, t.spec, x->value);
    if (x->file != NV_NONE)
      nv_printf(&b, "%s %s %d", nv_text(c, x->file), x->tensor == NV_NONE ? "-" : nv_text(c, x->tensor),
                x->dtype);
    nv_putc(&b, '\n');
  }
  for (uint32_t k = 0; k < t.spec->nfunctions; k++)
    if (!t.spec->functions[k].builtin) put_function(&b, t.spec, &t.spec->functions[k]);
  for (uint32_t k = 0; k < t.spec->nentries; k++) put_entry(&b, t.spec, &t.spec->entries[k]);
  return shown = nv_buf_text(&b);
}

#define SHOWS(text, want)                                        \
  do {                                                           \
    show((text), NUVECC_FORMAT_YAML);                            \
    if (strcmp(said, "")) fail_msg("%s\nsays %s", (text), said); \
    assert_string_equal(shown, (want));                          \
  } while (0)
#define SAYS(text, want)                                                                            \
  do {                                                                                              \
    const char *spec_ = (text);                                                                     \
    spec_says(spec_, strlen(spec_), *spec_ == '{' ? NUVECC_FORMAT_JSON : NUVECC_FORMAT_YAML, true); \
    if (strcmp(said, (want))) fail_msg("%s\nsays %s not  %s", spec_, said, (want));                 \
  } while (0)

/* A spec of one function f of x; nodes from line 5, column 7. */
static const char *nodes(const char *text) {
  static char spec[4096];
  snprintf(spec, sizeof spec,
           "nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32, p: {w: float32, l: [float32, int8]}}\n%s\n  "
           "  outputs: x\n",
           text);
  return spec;
}

/* ---- forms ---- */

static void whole(void **state) {
  (void)state;
  SHOWS("nuvec: 1\n"
        "name: 1e3\n"
        "doc: yes\n"
        "x-tool: {anything: [1, {2: 3}]}\n"
        "types:\n"
        "  layer: {w: \"float32[N, 3]\", b: {type: \"float32[3]\", trainable: false, strides: any}, x-note: "
        "1}\n"
        "  model: {layers: {list: N + 1, of: layer}, act: {enum: {relu: {}, leaky: {k: float32}}, default: "
        "relu},\n"
        "          steps: {static: {int: 3}}, pair: [ \"int8[?]\", {dtype: bool, shape: [2, null, \"?\", "
        "\"N*2\"]} ]}\n"
        "  r: {dtype: f16, rank: 3}\n"
        "  s: {type: \"u8[2, 2]\", strides: [1, -2]}\n"
        "constants:\n"
        "  table: {value: [[1, 2], [\"18446744073709551615\", -3]], dtype: uint64}\n"
        "  k: {value: 0x10, dtype: f32}\n"
        "  w: {file: w.safetensors, tensor: w0, dtype: float16}\n"
        "functions:\n"
        "  f:\n"
        "    doc: all declarations\n"
        "    dtypes: {T: [float16, f32]}\n"
        "    dims: {N: {min: 1, max: 8, multiple_of: 2}, M: 4}\n"
        "    static: {n: 3, e: 1.5, b: true, m: edge, i: {int: null}, g: {float: 2}, act: {enum: [gelu, "
        "relu], default: relu}, q: {enum: [a]}, s: {string: \"\"}}\n"
        "    inputs:\n"
        "      - x: T[..., N]\n"
        "      - y: any[...]\n"
        "      - z: model\n"
        "      - lr: T\n"
        "      - c: number\n"
        "    outputs: {a: x, b: [x + 1, {c: y}], x-c: 1}\n"
        "entries:\n"
        "  f: {shapeless: true, cache_capacity: 2, donate: [y], bind: [z], signatures: [{T: float16, N: 2, "
        "i: 3, act: gelu, q: a, y: \"float32[3]\"},\n"
        "      {N: \"?\", T: f32, i: 4, q: a, 'z.layers[0].w': {type: f16, trainable: false}, z.act: leaky, "
        "z.steps: 4, y: f32, c: f32}]}\n",
        "name 1e3\n"
        "type layer: {w: float32[N,3], b: float32[3] fixed strided}\n"
        "type model: {layers: (+ N 1) of layer, act: enum{relu: {}, leaky: {k: float32[]}} = relu, steps: "
        "static 0, pair: {int8[?], bool[2,?,?,(* N 2)]}}\n"
        "type r: float16[?,?,?]\n"
        "type s: uint8[2,2] 1 -2\n"
        "constant table (const uint64 (list (list 1 2) (list 18446744073709551615 -3)))\n"
        "constant k (const float32 0x10)\n"
        "constant w w.safetensors w0 9\n"
        "f\n"
        " dtype T a00\n"
        " dim N -1 1 8 2\n"
        " dim M 4 0 281474976710656 1\n"
        " static n int = 3\n"
        " static e float = 1.5\n"
        " static b bool = true\n"
        " static m string = str edge\n"
        " static i int = \n"
        " static g float = 2\n"
        " static act enum gelu relu = str relu\n"
        " static q enum a = \n"
        " static s string = str \n"
        " x: T[...,N]\n"
        " y: any[...]\n"
        " z: model\n"
        " lr: T[]\n"
        " c: number[]\n"
        " tree (tree (a=x) (b=(list (+ x 1) (tree (c=y)))))\n"
        "entry f of f, tree shapeless 2 donate y bind z\n"
        " {T: float16, N: 2, i: 3, act: str gelu, q: str a, y: str float32[3] type float32[3]}\n"
        " {N: str ?, T: float32, i: 4, q: str a, z.layers[0].w:  type float16[] fixed, z.act: str leaky, "
        "z.steps: 4, y: float32 type float32[], c: float32 type float32[]}\n");
}

static void programs(void **state) {
  (void)state;
  SHOWS(nodes("    static: {deep: true, n: 3}\n"
              "    nodes:\n"
              "      - y = x + 1\n"
              "      - {name: z, op: sum, inputs: [y], axis: [0, -1], keepdims: true, x-id: 7}\n"
              "      - {names: [a, _], call: g, inputs: [\"p.l[0]\", [x, y], 1, -2.5, true, {const: [[1, "
              "nan]], dtype: f16}], k: n + 1, m: edge}\n"
              "      - {name: \"/a/0\", op: astype, inputs: [x], dtype: f16}\n"
              "      - {name: 0x10, op: reshape, inputs: [/a/0], shape: [n, 3, \"n*2\"]}\n"
              "      - {name: \"~\", op: add, inputs: [\"0x10\", 0x10]}\n"
              "      - {name: u, op: exp, inputs: [\"~\"], axis: null}\n"
              "      - if: deep\n"
              "        then:\n"
              "          - for: i\n"
              "            in: range(n)\n"
              "            carry: [y, z]\n"
              "            do: |\n"
              "              y = y * i  # twice\n"
              "              z = f2(y,\n"
              "                z)\n"
              "        else: [w = x, v = w]\n"
              "      - for: c\n"
              "        in: [1, -2.5, true, relu]\n"
              "        carry: []\n"
              "        do: \"t = c\"\n"
              "      - map: {a: p, b: p}\n"
              "        where: trainable\n"
              "        do: r = a\n"
              "        yield: {p: r, p.l: r}\n"
              "      - p.l[1] = x\n"),
        "f\n"
        " static deep bool = true\n"
        " static n int = 3\n"
        " x: float32[]\n"
        " p: {w: float32[], l: {float32[], int8[]}}\n"
        "  y = (+ x 1)\n"
        "  z = (call sum y (axis=(list 0 -1)) (keepdims=true))\n"
        "  a _ = (call g (index (.l p) 0) (list x y) 1 -2.5 true (const float16 (list (list 1 nan))) (k=str "
        "n + 1) (m=str edge))\n"
        "  /a/0 = (call astype x (dtype=float16))\n"
        "  0x10 = (call reshape /a/0 (shape=(list n 3 (* n 2))))\n"
        "  ~ = (call add 0x10 0x10)\n"
        "  u = (call exp ~ (axis=None))\n"
        "  if deep\n"
        "    for i in (call range n) y z\n"
        "      y = (* y i)\n"
        "      z = (call f2 y z)\n"
        "  else\n"
        "    w = x\n"
        "    v = w\n"
        "  for c in (list 1 -2.5 true str relu)\n"
        "    t = c\n"
        "  map (a=p) (b=p) trainable yield (p=r p) yield (p.l=r (.l p))\n"
        "    r = a\n"
        "  (index (.l p) 1) = x\n"
        " out x\n"
        "entry f of f, tree 8\n"
        " {}\n");
  /* A text given to a numeric static of a called function is an expression. */
  SHOWS("nuvec: 1\nfunctions:\n  f: {inputs: {x: float32}, nodes: [{name: y, call: g, inputs: [x], k: n + 1, "
        "m: n}], outputs: y}\n"
        "  g: {static: {k: 3, m: edge}, inputs: {x: float32}, outputs: x}\n",
        "f\n x: float32[]\n  y = (call g x (k=(+ n 1)) (m=str n))\n out y\n"
        "g called\n static k int = 3\n static m string = str edge\n x: float32[]\n out x\nentry f of f, tree "
        "8\n {}\n");
}

/* Both forms of a node, both formats of a document: the same spec. */
static void same(void **state) {
  (void)state;
  char *text =
      strdup(show("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: \"float32[3, N]\", c: bool}\n    nodes: |\n   "
                  "   y = where(c, x, -1.5)\n      z = sum(y, axis=[0, 1], keepdims=true)\n"
                  "      a, b = divmod(z, 3)\n      d = astype(a, dtype=f16)\n    outputs: [d, b]\n",
                  NUVECC_FORMAT_YAML));
  assert_string_equal(said, "");
  show("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: \"float32[3, N]\", c: bool}\n    nodes:\n      - "
       "{inputs: [c, x, -1.5], name: y, op: where}\n"
       "      - {name: z, op: sum, inputs: [y], axis: [0, 1], keepdims: true}\n      - {names: [a, b], op: "
       "divmod, inputs: [z, 3]}\n      - {name: d, op: astype, inputs: [a], dtype: float16}\n"
       "    outputs: [d, b]\n",
       NUVECC_FORMAT_YAML);
  assert_string_equal(said, "");
  assert_string_equal(shown, text);
  show("{\"functions\": {\"f\": {\"outputs\": [\"d\", \"b\"], \"nodes\": \"y = where(c, x, -1.5)\\nz = "
       "sum(y, axis=[0, 1], keepdims=true)\\na, b = divmod(z, 3)\\nd = astype(a, dtype=f16)\", "
       "\"inputs\": [{\"x\": \"float32[3, N]\"}, {\"c\": \"bool\"}]}}, \"nuvec\": 1}",
       NUVECC_FORMAT_JSON);
  assert_string_equal(said, "");
  assert_string_equal(shown, text);
  show("{\"nuvec\": 1, \"functions\": {\"f\": {\"inputs\": {\"x\": {\"dtype\": \"float32\", \"shape\": [3, "
       "\"N\"]}, \"c\": \"bool\"}, \"nodes\": ["
       "{\"op\": \"where\", \"inputs\": [\"c\", \"x\", -1.5], \"name\": \"y\"}, \"z = sum(y, axis=[0, 1], "
       "keepdims=true)\", {\"names\": [\"a\", \"b\"], \"op\": \"divmod\", \"inputs\": [\"z\", 3]}, "
       "\"d = astype(a, dtype=f16)\"], \"outputs\": [\"d\", \"b\"]}}}",
       NUVECC_FORMAT_JSON);
  assert_string_equal(said, "");
  assert_string_equal(shown, text);
  free(text);
}

static void default_entries(void **state) {
  (void)state;
  SHOWS("nuvec: 1\nfunctions:\n  a: {inputs: {x: float32}, outputs: b(x)}\n  b: {inputs: {x: "
        "\"float[...]\"}, outputs: [x * 2]}\n  c: {inputs: {}, outputs: 1.5}\n",
        "a\n x: float32[]\n out (call b x)\nb called\n x: float[...]\n out (* x 2)\nc\n out 1.5\nentry a of "
        "a, tree 8\n {}\nentry c of c, tree 8\n {}\n");
  SAYS("nuvec: 1\nfunctions:\n  a: {inputs: {x: float32}, outputs: x}\n  b: {inputs: {x: \"float[2]\"}, "
       "outputs: x}\n",
       "4:16: error: 'x' is of class float, so 'b' can't be an entry: give it a fixed type, or list the "
       "entries under entries:\n");
  SAYS("nuvec: 1\ntypes: {t: {u: \"int8[..., 2]\"}}\nfunctions:\n  a: {inputs: {x: {list: 2, of: t}}, "
       "outputs: x}\n",
       "4:16: error: 'x' is of any rank, so 'a' can't be an entry: give it a fixed type, or list the entries "
       "under entries:\n");
  SAYS("nuvec: 1\nfunctions:\n  a: {static: {n: {int: null}}, inputs: {x: float32}, outputs: x}\n",
       "3:3: error: static 'n' has no value: give it in a signature\n3:16: note: declared here, without a "
       "default\n");
}

/* ---- errors of the document ---- */

static void document_errors(void **state) {
  (void)state;
  SAYS("- 1\n", "1:1: error: a spec is a map (nuvec: 1, functions: …), found a list\n");
  SAYS("nuvec: 2\nfunctions: {f: {inputs: {x: \"float32[3]\"}, outputs: x + 1}}\n",
       "1:8: error: nuvec: version 2 is not known: this compiler reads version 1\n");
  SAYS("nuvec: '1'\n", "1:8: error: nuvec: expected the version, 1, found the text '1'\n");
  SAYS("functions: {f: {inputs: {x: float32}, outputs: x}}\n",
       "1:1: error: a spec without 'nuvec: 1', its version\n");
  SAYS("nuvec: 1\n", "1:1: error: a spec without functions\n");
  SAYS("nuvec: 1\nfunctions: {}\n", "2:12: error: a spec without functions\n");
  SAYS("nuvec: 1\nfunctons: {}\n", "2:1: error: unknown key 'functons' in a spec; did you mean 'functions'?\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: \"float32[3]\"}\n    outptus: x\n    outputs: x + 1\n",
       "5:5: error: unknown key 'outptus' in a function; did you mean 'outputs'?\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n",
       "3:3: error: function 'f' without outputs\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    outputs: 1\n", "3:3: error: function 'f' without inputs\n");
  SAYS("nuvec: 1\nfunctions:\n  f: 3\n", "3:6: error: a function: expected a map, found '3'\n");
  SAYS("nuvec: 1\nfunctions:\n  in: {inputs: {x: float32}, outputs: x}\n",
       "3:3: error: 'in' is a reserved word, no function name\n");
  SAYS("nuvec: 1\nfunctions:\n  f-g: {inputs: {x: float32}, outputs: x}\n",
       "3:3: error: 'f-g' is no function name: letters, digits and '_' only\n");
  SAYS("nuvec: 1\nfunctions:\n  sqrt: {inputs: {x: float32}, outputs: x}\n",
       "3:3: warning: function 'sqrt' hides the built-in of that name\n");
  SAYS("nuvec: 1\nx-base: &base {x: \"float32[3]\"}\nfunctions:\n  f:\n    inputs:\n      <<: *base\n      "
       "z: float32[3]\n    outputs: z * 2\n",
       "6:7: error: unknown key '<<': merge keys aren't part of YAML 1.2\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: \"float32[3]\"}\n    inputs: {z: \"float32[3]\"}\n    "
       "outputs: x\n",
       "5:5: error: duplicate key 'inputs'\n4:5: note: first set here\n");
  SAYS(
      "{\"nuvec\": 1,\n \"functions\": {\"f\": {\"inputs\": {\"x\": \"float32[3]\"},\n   \"nodes\": "
      "[{\"name\": \"y\", \"op\": \"exp\", \"op\": \"log\", \"inputs\": [\"x\"]}],\n   \"outputs\": \"y\"}}}",
      "3:41: error: duplicate key 'op'\n3:28: note: first set here\n");
  SAYS("nuvec: 1\nname: ''\nfunctions: {f: {inputs: {x: float32}, outputs: x}}\n",
       "2:7: error: name: expected a text, found an empty one\n");
  SAYS("nuvec: 1\nconstants: {k: {value: [1, x], dtype: f32}, l: {dtype: f32}, m: {value: 1}, n: {value: 1, "
       "dtype: f33}}\nfunctions: {f: {inputs: {x: float32}, outputs: x}}\n",
       "2:28: error: a constant: expected a number, found 'x'\n2:48: error: a constant has either a value or "
       "a file\n"
       "2:65: error: a constant with a value needs a dtype\n2:98: error: unknown dtype 'f33'\n");
}

static void declaration_errors(void **state) {
  (void)state;
  SAYS("nuvec: 1\nconstants: {pi: {value: 3, dtype: f32}}\nfunctions:\n  f:\n    dtypes: {T: [float16]}\n    "
       "dims: {n: 3}\n    static: {T: 3}\n    inputs: {n: float32, y: \"float32[y]\", pi: float32}\n    "
       "outputs: y\n",
       "7:14: error: 'T' is declared already (dtype variable)\n5:14: note: declared here\n"
       "8:14: error: 'n' is declared already (dim)\n6:12: note: declared here\n"
       "8:38: error: 'y' is a size here, but declared as something else (input)\n"
       "8:43: error: 'pi' is declared already (constant)\n2:13: note: declared here\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs:\n      x: float64[3]\n    outputs: x\n",
       "5:10: error: there is no float64 on a Metal GPU: use float32\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: flaot32, y: layr}\n    outputs: x\ntypes: {layer: {w: "
       "float32}, double: {w: laye}}\n",
       "4:17: error: unknown type 'flaot32'; did you mean 'float32'?\n4:29: error: unknown type 'layr'; did "
       "you mean 'layer'?\n"
       "6:42: error: unknown type 'laye'; did you mean 'layer'?\n");
  SAYS("nuvec: 1\ntypes: {float: {w: int8}, f32: {w: int8}, t: {w: int8}}\nfunctions:\n  f:\n    inputs: {x: "
       "\"t[3]\"}\n    outputs: x\n",
       "2:9: error: 'float' is a class of dtypes, no type name\n2:27: error: 'f32' is a reserved word, no "
       "type name\n"
       "5:18: error: 't' is a tree type: it takes no sizes\n");
  SAYS("nuvec: 1\ntypes: {a: {x: b}, b: {y: c}, c: {z: a, w: b}, d: a, e: {v: int8}}\nfunctions:\n  f:\n    "
       "inputs: {x: a, y: d, z: e}\n    outputs: z\n",
       "2:38: error: type 'a' holds itself\n2:44: error: type 'b' holds itself\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs:\n      x: float32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
       "1, 1, 1]\n    outputs: x\n",
       "5:66: error: more than 16 dims: the highest rank is 16\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    dims: {A: -1, B: {min: 3, max: 2}, C: {minn: 1}, D: x}\n    static: "
       "{a: null, b: {int: 1.5}, c: {enum: [x, x]}, d: {enum: [x], default: y}, e: {int: 1, float: 2}, g: "
       "{}}\n    inputs: {x: {type: float32, trainble: true}, y: {dtype: f32}, z: {list: 2}, w: {enum: {a: "
       "int8}, default: b}, u: 3, v: {dtype: f32, shape: [-1]}}\n    outputs: x\n",
       "4:15: error: a dim: expected a whole number from 0 to 281474976710656, found '-1'\n4:36: error: min is above "
       "max\n"
       "4:44: error: unknown key 'minn' in a dim; did you mean 'min'?\n4:57: error: a dim: expected a whole "
       "number from 0 to 281474976710656, found the text 'x'\n"
       "5:17: error: a static: expected its default, or {int: …}, {float: …}, {bool: …}, {string: …}, {enum: "
       "[…]}\n"
       "5:32: error: a static's default: expected a whole number, found '1.5'\n5:52: error: choice 'x' stands "
       "twice\n"
       "5:81: error: 'y' is none of the choices\n5:88: error: a static is one of {int: …}, {float: …}, {bool: "
       "…}, {string: …}, {enum: […], default: …}\n"
       "5:111: error: a static is one of {int: …}, {float: …}, {bool: …}, {string: …}, {enum: […], default: "
       "…}\n"
       "6:33: error: unknown key 'trainble' in a type; did you mean 'trainable'?\n6:53: error: an array type "
       "takes either shape or rank beside dtype\n"
       "6:70: error: a list type needs both list: (how many) and of: (the type)\n6:111: error: 'b' is none of "
       "the variants\n"
       "6:118: error: expected a type like float32[2, 3], found '3'\n6:145: error: a negative number is no size: an "
       "open one is "
       "written ?\n");
}

static void node_errors(void **state) {
  (void)state;
  SAYS(nodes("    nodes: [y = max(x, axis=1), z = y, w = f(a, b, c), v = g(a)]"),
       "5:13: error: YAML split this at a comma: quote it, or use |\n5:40: error: YAML split this at a "
       "comma: quote it, or use |\n");
  SAYS(nodes("    nodes:\n      - y = x[a: b]\n      - {names: y, op: exp, inputs: [x]}\n      - z = x"),
       "6:9: error: YAML sees a key here: quote it\n7:17: error: names: expected a list, found the text 'y'\n");
  SAYS(nodes("    nodes:\n      - {name: y, opp: exp, inputs: [x]}\n      - {op: exp, inputs: [x]}\n      - "
             "{name: y, op: exp}\n      - {name: y, op: exp, call: f, inputs: [x]}\n      - {name: '', op: "
             "exp, inputs: [x]}\n      - {name: y, op: 3x, inputs: [x]}\n      - 3\n      - [x]"),
       "6:19: error: unknown key 'opp' in a node; did you mean 'op'?\n7:9: error: a node without a "
       "name\n8:9: error: a node without inputs\n"
       "9:34: error: a node takes either op or call\n10:16: error: an empty name\n11:23: error: '3x' is no "
       "op name: letters, digits and '_' only\n"
       "12:9: error: a node: expected a statement or a map, found '3'\n13:9: error: a node: expected a "
       "statement or a map, found a list\n");
  SAYS(nodes("    nodes:\n      - {name: y, op: exp, inputs: [x + 1]}\n      - {name: z, op: exp, inputs: "
             "[\"/a\", null, {cnst: 1}, {const: 1}, {const: a, dtype: f32}]}\n      - {name: w, op: sum, "
             "inputs: x, axis: {a: 1}}\n      - {name: v, op: max, inputs: [f(x, 1)]}"),
       "6:37: error: unknown operand 'x + 1': neither a path nor the name of a node above (no operators "
       "here: write the node as text, 'y = …')\n"
       "7:37: error: unknown operand '/a': neither a path nor the name of a node above (no operators here: "
       "write the node as text, 'y = …')\n"
       "7:43: error: an operand: expected a path or a number, found null\n7:50: error: YAML sees a key here: "
       "quote it\n"
       "7:60: error: a constant needs a dtype\n7:80: error: a constant: expected a number, found 'a'\n"
       "8:36: error: inputs: expected a list, found the text 'x'\n8:46: error: YAML sees a key here: quote "
       "it\n9:37: error: YAML split this at a comma: quote it, or use |\n");
  SAYS(nodes(
           "    nodes:\n      - if: x >\n        then: [y = x]\n        els: []\n      - for: 1\n        in: "
           "range(3)\n        do: []\n      - for: for\n        in: {a: b}\n        carry: [1, x]\n        "
           "do: 3\n      - {map: {a: x + 1}, do: [], yield: {a b: r}}\n      - {map: [], do: [], yield: {}}"),
       "6:15: error: expected an operand behind '>'\n8:9: error: unknown key 'els' in an if node; did you "
       "mean 'else'?\n9:9: error: a for node without 'carry'\n"
       "12:14: error: 'for' is a reserved word, no loop name\n13:14: error: YAML sees a key here: quote it\n"
       "14:17: error: '1' is no carried value name: letters, digits and '_' only\n15:13: error: expected a "
       "list of nodes or a block of statements, found '3'\n"
       "16:19: error: map: expected a path like p.layers[0], found 'x + 1'\n16:43: error: yield: expected a "
       "path like p.layers[0], found 'a b'\n"
       "17:15: error: map: expected a map, found a list\n");
  SAYS(nodes("    nodes:\n"),
       "5:11: error: expected a list of nodes or a block of statements, found nothing\n");
  char name[300] = {0}, spec[600];
  memset(name, 'a', 276);
  snprintf(spec, sizeof spec, "    nodes: |\n      %s = x", name);
  SAYS(nodes(spec), "6:7: error: the name 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…' "
                    "has 276 bytes: 255 at most\n");
  /* One error a cause: the statement's targets stay known. */
  SAYS(nodes("    nodes: |\n      a = x +\n      b = a * 2\n      c = b )"),
       "6:13: error: expected an operand behind '+'\n8:13: error: ')' closes nothing\n");
}

static void output_errors(void **state) {
  (void)state;
  static const char head[] = "nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n    outputs: ";
  static const struct {
    const char *text, *want;
  } rows[] = {
      {"[]", "5:14: error: a function has at least one output\n"},
      {"{}", "5:14: error: a function has at least one output\n"},
      {"", "5:13: error: expected an expression, found nothing\n"},
      {"[x, max(x, axis=1), x]", "5:18: error: YAML split this at a comma: quote it, or use |\n"},
      {"{y: max(x, axis=1), z: x}", "5:18: error: YAML split this at a comma: quote it\n"},
      {"{y: x, in: x, 2: x}", "5:21: error: 'in' is a reserved word, no field name\n5:28: error: '2' is no "
                              "field name: letters, digits and '_' only\n"},
      {"[x +, {a: }]",
       "5:17: error: expected an operand behind '+'\n5:24: error: expected an expression, found nothing\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char spec[400];
    snprintf(spec, sizeof spec, "%s%s\n", head, rows[i].text);
    SAYS(spec, rows[i].want);
  }
}

/* ---- calls and entries ---- */

static void cycles(void **state) {
  (void)state;
  SAYS("nuvec: 1\nfunctions:\n  f:\n    inputs: {x: \"float32[3]\"}\n    nodes:\n      - y = g(x)\n    "
       "outputs: y\n  g:\n    inputs: {x: \"float32[3]\"}\n    nodes:\n      - y = f(x)\n    outputs: "
       "y\nentries: {f: {}}\n",
       "11:13: error: functions call each other in a circle: 'f' calls 'g' calls 'f'\n");
  SAYS("nuvec: 1\nfunctions:\n  f: {inputs: {x: float32}, nodes: [{name: y, call: f, inputs: [x]}], outputs: "
       "y}\n",
       "3:53: error: function 'f' calls itself\n");
  /* By its own name in its own body, the built-in is meant. */
  SAYS("nuvec: 1\nfunctions:\n  exp: {inputs: {x: float32}, outputs: exp(x)}\n",
       "3:3: warning: function 'exp' hides the built-in of that name\n");
  SAYS("nuvec: 1\nfunctions:\n  a: {inputs: {x: float32}, outputs: b(x)}\n  b: {inputs: {x: float32}, "
       "outputs: c(x) + b2(x)}\n  b2: {inputs: {x: float32}, outputs: b(x)}\n  c: {inputs: {x: float32}, "
       "outputs: b(x)}\n  d: {inputs: {x: float32}, outputs: x}\n",
       "5:39: error: functions call each other in a circle: 'b' calls 'b2' calls 'b'\n6:38: error: functions "
       "call each other in a circle: 'b' calls 'c' calls 'b'\n");
  SAYS("nuvec: 1\nfunctions:\n  a: {inputs: {x: \"any[...]\"}, outputs: b(x)}\n  b: {inputs: {x: "
       "\"any[...]\"}, outputs: x}\n  c: {inputs: {x: \"float32\"}, outputs: a(x)}\nentries: {}\n",
       "6:10: error: entries: expected at least one\n");
}

/* Calls 256 deep are fine; one more is an error, and only one. */
static void deep_calls(void **state) {
  (void)state;
  for (int depth = 256; depth <= 300; depth += depth == 256 ? 1 : 43) {
    char *text = malloc(40000), *end = text + sprintf(text, "nuvec: 1\nfunctions:\n");
    for (int i = 0; i < depth; i++)
      end += i + 1 < depth ? sprintf(end, "  g%d: {inputs: {x: float32}, outputs: g%d(x)}\n", i, i + 1)
                           : sprintf(end, "  g%d: {inputs: {x: float32}, outputs: x}\n", i);
    char want[100] = "";
    if (depth > 256)
      snprintf(want, sizeof want, "%d:%d: error: calls nest deeper than 256\n", depth - 256 + 2,
               depth - 257 < 10 ? 39 : 40);
    SAYS(text, want);
    free(text);
  }
}

static void entry_errors(void **state) {
  (void)state;
  SAYS("nuvec: 1\nfunctions:\n  forward:\n    inputs: {x: \"float32[3]\"}\n    outputs: x * 2\nentries:\n  "
       "run: {function: foward}\n  back: {}\n",
       "7:19: error: no function is named 'foward'; did you mean 'forward'?\n8:3: error: no function is "
       "named 'back'\n");
  SAYS(
      "nuvec: 1\nfunctions:\n  stp:\n    inputs: {p: \"float32[3]\", g: \"float32[3]\", m: \"float32[3]\"}\n "
      "   nodes:\n      - m2 = m * 0.9 + g\n      - p2 = p - m2\n    outputs: {p: p2, m_next: m2}\n"
      "entries:\n  stp: {style: mut, state: [p, m]}\n",
      "10:32: error: state 'm' has no output of that name: its next value\n8:14: note: outputs of 'stp'\n");
  SAYS("nuvec: 1\nfunctions:\n  f:\n    static: {steps: {int: null}}\n    inputs: {x: \"float32[3]\"}\n    "
       "outputs: x * steps\nentries:\n  f: {signatures: [{steps: 2}, {}]}\n",
       "8:32: error: static 'steps' has no value in this signature\n4:14: note: declared here, without a "
       "default\n");
  static const char head[] =
      "nuvec: 1\nfunctions:\n  f:\n    dims: {B: {min: 2, max: 8, multiple_of: 2}, C: 3}\n    dtypes: {T: "
      "[float16]}\n    static: {n: 1, act: {enum: [gelu, relu], default: gelu}, on: true}\n"
      "    inputs: {x: \"T[B, C, D]\", p: {w: float32}}\n    outputs: x\nentries:\n  f: ";
  static const struct {
    const char *text, *want;
  } rows[] = {
      {"{styl: flat}", "10:7: error: unknown key 'styl' in an entry; did you mean 'style'?\n"},
      {"{style: flt}",
       "10:14: error: style: expected tree, flat or mut, found 'flt'; did you mean 'flat'?\n"},
      {"{style: mut}", "10:14: error: an entry of style mut needs state: (inputs that it replaces)\n"},
      {"{state: [x]}", "10:14: error: state: stands in an entry of style mut only\n"},
      {"{state_mode: commit}", "10:19: error: state_mode: stands in an entry of style mut only\n"},
      {"{style: mut, state: [x], state_mode: inplace}",
       "10:27: error: state 'x' has no output of that name: its next value (outputs must be a map)\n8:14: "
       "note: outputs of 'f'\n"
       "10:43: error: state_mode: expected commit or in-place, found 'inplace'; did you mean 'in-place'?\n"},
      {"{shapeless: 1}", "10:18: error: shapeless: expected true or false, found '1'\n"},
      {"{cache_capacity: -1}", "10:23: error: cache_capacity: expected a whole number from 0 to 1048576, found '-1'\n"},
      {"{donate: [y], bind: x}",
       "10:16: error: donate: 'y' is no input of 'f'\n10:26: error: bind: expected a list, found the text 'x'\n"},
      {"{donate: [x], bind: [x]}", "10:27: error: bind: 'x' stands in state, donate or bind already\n"},
      {"{signatures: []}", "10:19: error: signatures: expected at least one\n"},
      {"{signatures: [{B: 3}, {B: 10}, {B: 1}, {C: 4}, {D: -1}, {D: 4, B: 4, C: 3}]}",
       "10:24: error: size 'B' is 3, not a multiple of 2\n10:32: error: size 'B' is 10, above its max 8\n"
       "10:41: error: size 'B' is 1, below its min 2\n"
       "10:49: error: size 'C' is 3, not 4\n10:57: error: size 'D': expected a whole number from 0 to "
       "281474976710656, found '-1'\n"},
      {"{signatures: [{actt: gelu, act: gel, on: 1, n: x, T: float32, p.w: 'flot32[2]', q: 3}]}",
       "10:21: error: 'actt' is no dim, static, dtype variable or input of 'f'; did you mean 'act'?\n"
       "10:38: error: static 'act': expected one of its choices, found 'gel'; did you mean 'gelu'?\n"
       "10:47: error: static 'on': expected true or false, found '1'\n10:53: error: static 'n': expected a "
       "whole number, found 'x'\n"
       "10:59: error: float32 is none of the dtypes of 'T'\n"
       "10:74: error: unknown type 'flot32'; did you mean 'float32'?\n10:86: error: 'q' is no dim, static, "
       "dtype variable or input of 'f'\n"},
      {"3", "10:6: error: an entry: expected a map, found '3'\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char spec[1000];
    snprintf(spec, sizeof spec, "%s%s\n", head, rows[i].text);
    SAYS(spec, rows[i].want);
  }
}

/* The composites parse, and a place in them is told as theirs. */
static void builtins(void **state) {
  (void)state;
  spec_text t;
  static const char text[] = "nuvec: 1\nfunctions: {f: {inputs: {x: float32}, outputs: gelu(x)}}\n";
  nv_ctx *c = spec_read(&t, text, sizeof text - 1, NUVECC_FORMAT_YAML, true);
  assert_string_equal(said, "");
  uint32_t k = 0, line, column;
  while (k < t.spec->nfunctions && strcmp(nv_text(c, t.spec->functions[k].name), "gelu")) k++;
  assert_true(k < t.spec->nfunctions);
  assert_true(t.spec->functions[k].builtin);
  const char *source;
  size_t length;
  assert_true(nv_doc_locate(c, t.spec->functions[k].pos, &line, &column, &source, &length));
  assert_int_equal(column, 3);
  assert_memory_equal(source, "  gelu:", 7);
  assert_false(t.spec->functions[t.spec->nfunctions - 1].builtin);
  nv_ctx_free(c);
}

/* No more than 20 errors, and quickly: a file of nonsense is no reason to look at all of it. */
static void many_errors(void **state) {
  (void)state;
  char *text = malloc(2000000),
       *end = text + sprintf(text, "nuvec: 1\nfunctions:\n  f:\n    inputs: {x: float32}\n    nodes: |\n");
  for (int i = 0; i < 50000; i++) end += sprintf(end, "      y%d = (x + %d\n", i, i);
  sprintf(end, "    outputs: x\n");
  spec_says(text, strlen(text), NUVECC_FORMAT_YAML, true);
  size_t lines = 0;
  for (const char *p = said; *p; p++) lines += *p == '\n';
  assert_int_equal(lines, 20);
  assert_memory_equal(said, "6:12: error: '(' is not closed\n", 31);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole),
                                     cmocka_unit_test(programs),
                                     cmocka_unit_test(same),
                                     cmocka_unit_test(default_entries),
                                     cmocka_unit_test(document_errors),
                                     cmocka_unit_test(declaration_errors),
                                     cmocka_unit_test(node_errors),
                                     cmocka_unit_test(output_errors),
                                     cmocka_unit_test(cycles),
                                     cmocka_unit_test(deep_calls),
                                     cmocka_unit_test(entry_errors),
                                     cmocka_unit_test(builtins),
                                     cmocka_unit_test(many_errors)};
  return cmocka_run_group_tests_name("test_program", tests, NULL, done);
}
