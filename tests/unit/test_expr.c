/* test_expr.c - expressions, statements, blocks and types: the trees they make, and the place and words of errors. */
#include "spec_run.h"

/* A place to parse in: a document of one text, and an empty spec. */
typedef struct parse {
  const char *text;
  char what; /* e: expression, s: statement, b: block, t: type */
  nv_buf out;
} parse;

static void put_stmt(nv_buf *b, const nv_spec *s, const nv_stmt *st) {
  nv_ast t = st->first_target;
  for (uint32_t k = 0; k < st->ntargets; k++, t = nv_ast_at(s, t)->next) {
    if (k) nv_puts(b, ", ");
    spec_put(b, s, t);
  }
  assert_int_equal(t, NV_NONE);
  nv_puts(b, " = ");
  spec_put(b, s, st->expr);
}

static void put_type(nv_buf *b, const nv_spec *s, nv_type t) {
  static const char *const classes[] = {"", "any", "float", "int", "number"};
  const nv_type_node *n = &s->types[t];
  if (n->kind == NV_TYPE_NAMED) {
    nv_printf(b, "named %s", nv_text(s->c, n->name));
    return;
  }
  nv_puts(b, n->dtype >= 0 ? nv_dtype_name[n->dtype] : n->cls ? classes[n->cls] : nv_text(s->c, n->variable));
  for (uint32_t k = 0; k < n->ndims; k++) {
    const nv_type_dim *d = &s->type_dims[n->first_dim + k];
    nv_putc(b, ' ');
    if (d->kind == NV_DIM_EXPR)
      spec_put(b, s, d->expr);
    else
      nv_puts(b, d->kind == NV_DIM_OPEN ? "?" : "...");
  }
}

static void work(nv_ctx *c, void *arg) {
  parse *p = arg;
  nv_spec *s = NV_NEW(c, nv_spec);
  s->c = c;
  nv_buf_init(&p->out, c);
  nv_buf b; /* the text stands in the file from its third byte on, escapes apart */
  nv_buf_init(&b, c);
  nv_put_json(&b, p->text, strlen(p->text));
  char *file = nv_format(c, "[%s]", nv_buf_text(&b));
  nv_doc *d = nv_doc_read(c, "t", NUVECC_FORMAT_JSON, file, strlen(file));
  uint32_t node = nv_doc_at(d, 0)->first;
  const char *text = nv_doc_text(d, node);
  size_t n = nv_doc_at(d, node)->length;
  if (p->what == 'e') {
    nv_ast x = nv_parse_expr(s, node, text, 0, n);
    if (x != NV_NONE)
      spec_put(&p->out, s, x);
    else
      assert_true(c->errors > 0);
  } else if (p->what == 't') {
    nv_type t = nv_parse_type(s, node, text, n);
    if (t != NV_NONE) put_type(&p->out, s, t);
  } else if (p->what == 's') {
    nv_stmt st;
    if (nv_parse_statement(s, node, text, 0, n, &st)) put_stmt(&p->out, s, &st);
  } else {
    nv_stmt_block block = {0};
    bool fine = nv_parse_block(s, node, text, n, &block);
    for (uint32_t k = 0; k < block.n; k++) {
      put_stmt(&p->out, s, &block.stmts[k]);
      nv_putc(&p->out, '\n');
    }
    if (!fine) nv_puts(&p->out, "LOST\n");
  }
}

/* What parsing gives, then what it says; columns from 0, of the text. */
static void check(char what, const char *text, const char *want, const char *errors) {
  parse p = {.text = text, .what = what};
  nv_ctx *c = spec_ctx(NUVECC_FORMAT_JSON);
  spec_guard(c, work, &p);
  char told[4096] = "";
  for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned row, column;
    int n = 0;
    if (sscanf(line, "%u:%u: error: %n", &row, &column, &n) != 2) fail_msg("%s: %s", text, line);
    uint32_t offset = 0; /* of the text: escapes take two bytes of the file */
    for (unsigned at = 3; at < column; offset++) at += strchr("\"\\\n\t", text[offset]) ? 2 : 1;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%u %s\n", offset, line + n);
  }
  if (strcmp(nv_buf_text(&p.out), want))
    fail_msg("%s\n  gives %s\n  not   %s\n  %s", text, nv_buf_text(&p.out), want, told);
  if (strcmp(told, errors)) fail_msg("%s\n  says %s  not  %s", text, told, errors);
  nv_ctx_free(c);
}
static void gives(const char *text, const char *want) { check('e', text, want, ""); }
static void says(const char *text, const char *errors) { check('e', text, "", errors); }

static void precedence(void **state) {
  (void)state;
  gives("-a ** 2 + b", "(+ (- (** a 2)) b)");
  gives("a | b ^ a & b << 1 + 1", "(| a (^ b (& a (<< b (+ 1 1)))))");
  gives("not a == b or p and a < b", "(or (not (== a b)) (and p (< a b)))");
  gives("~a - -b", "(- (~ a) (- b))");
  gives("a - b - 3 - (b - (a - 3))", "(- (- (- a b) 3) (- b (- a 3)))");
  gives("2 ** 3 ** 2 - a", "(- (** 2 (** 3 2)) a)");
  gives("a * -b // 3 % 5 @ c / d", "(/ (@ (% (// (* a (- b)) 3) 5) c) d)");
  gives("a << 1 >> 1", "(>> (<< a 1) 1)");
  gives("- - a + + b", "(+ (- (- a)) (+ b))");
  gives("not not p", "(not (not p))");
  gives("2 ** -x ** 2 * y", "(* (** 2 (- (** x 2))) y)");
  gives("-x.y[0] ** ~z", "(- (** (index (.y x) 0) (~ z)))");
  gives("a<b", "(< a b)");
  gives("(a < b) < c", "(< (< a b) c)");
  gives("a < b <= c + 1 != d", "(cmp a < b <= (+ c 1) != d)");
  gives("a and b < c < d or not e", "(or (and a (cmp b < c < d)) (not e))");
}

static void signs(void **state) {
  (void)state;
  gives("-3", "-3");
  gives("- 3", "(- 3)");
  gives("+3", "3");
  gives("--3", "(- -3)");
  gives("-3 ** 2", "(- (** 3 2))");
  gives("-3**-2", "(- (** 3 -2))");
  gives("(-3) ** 2", "(** -3 2)");
  gives("a -3", "(- a 3)");
  gives("a - -3", "(- a -3)");
  gives("-.5e-3 + -inf - +nan", "(- (+ -.5e-3 -inf) nan)");
  gives("-info", "(- info)");
  gives("-2j", "j -2");
  gives("f(-9223372036854775808)", "(call f -9223372036854775808)");
}

static void literals(void **state) {
  (void)state;
  gives("1_000 + 0xfF_ff + 0b1_0 + 007", "(+ (+ (+ 1000 0xfFff) 0b10) 007)");
  gives("1. + 1.5e+3 + 1E5 + .5 + 1_0.2_5", "(+ (+ (+ (+ 1. 1.5e+3) 1E5) .5) 10.25)");
  gives("3j + 1.5j + 1e2j", "(+ (+ j 3 j 1.5) j 1e2)");
  gives("\"a\\n\\\"\\\\\" == 'b\\''", "(== str a\n\"\\ str b')");
  gives("[true, false, inf, nan, []]", "(list true false inf nan (list))");
  gives("{a: 1, b: [x, {c: y}],}", "(tree (a=1) (b=(list x (tree (c=y)))))");
  gives("18446744073709551616", "18446744073709551616");
}

static void postfix(void **state) {
  (void)state;
  gives("f(x, y, axis=[1, 2], keepdims=true,)", "(call f x y (axis=(list 1 2)) (keepdims=true))");
  gives("f ()", "(call f)");
  gives("g(None, [None], dtype=f32, k=None)", "(call g None (list None) (dtype=float32) (k=None))");
  gives("float16(0.1) + bool(x)", "(+ (cast float16 0.1) (cast bool x))");
  gives("x[1:][::-1][0]", "(index (index (index x (slice 1 None None)) (slice None None -1)) 0)");
  gives("x[..., None, :, a:b, 1:2:3, :4, ::, i + 1,]",
        "(index x ... None (slice None None None) (slice a b None) (slice 1 2 3) (slice None 4 None) (slice "
        "None None None) (+ i 1))");
  gives("x[:, 0].shape[-1]", "(index (.shape (index x (slice None None None) 0)) -1)");
  gives("a.b.c[i][j].d", "(.d (index (index (.c (.b a)) i) j))");
  gives("x[a[0]:b[1]]", "(index x (slice (index a 0) (index b 1) None))");
}

static void operand_errors(void **state) {
  (void)state;
  says("", "0 expected an expression\n");
  says("x +", "2 expected an operand behind '+'\n");
  says("f(x, y + )", "7 expected an operand behind '+'\n");
  says("* x", "0 expected an operand, found '*'\n");
  says("x + / y", "4 expected an operand, found '/'\n");
  says("()", "1 expected an expression before ')'\n");
  says("f(,)", "2 expected an operand, found ','\n");
  says("f(x,, y)", "4 expected an operand, found ','\n");
  says("f(a=)", "4 expected an expression before ')'\n");
  says("a == not b", "5 'not' binds weaker than '==': put it in parentheses\n");
  says("-not b", "1 'not' binds weaker than '-': put it in parentheses\n");
  says("f(*x)", "2 '*' before an argument is not part of the language\n");
  says("f(**x)", "2 '**' before an argument is not part of the language\n");
  says("None", "0 None stands only in an index or as an argument\n");
  says("x + ...", "4 '...' stands only in an index\n");
  says("for", "0 'for' is a reserved word\n");
  says("True", "0 'True': write 'true'\n");
  says("f(x, keepdims=False)", "14 'False': write 'false'\n");
  says("f(x, axis=null)", "10 'null': write 'None'\n");
  says("x[null]", "2 'null': write 'None'\n");
  says("x[]", "1 an empty index\n");
  says("{}", "0 a tree without fields\n");
  says("{1: x}", "1 expected a field's name, found '1'\n");
  says("{a x}", "3 expected ':' behind the field's name, found 'x'\n");
}

static void operator_errors(void **state) {
  (void)state;
  says("a b", "2 expected an operator or the end, found 'b'\n");
  says("f(a b)", "4 expected an operator or ')', found 'b'\n");
  says("x if c else y",
       "2 'if' is no operator: use where(condition, a, b), or an if: node for a static condition\n");
  says("[i for i in x]", "3 'for' is no operator: use a for: node\n");
  says("x is y", "2 'is' is not an operator of the language\n");
  says("x in y", "2 'in' is not an operator of the language\n");
  says("lambda a: a", "0 'lambda' is not part of the language\n");
  says("a ? b : c", "2 '?' is not part of the language: use where(condition, a, b)\n");
  says("a && b", "2 '&&': write 'and'\n");
  says("a || b", "2 '||': write 'or'\n");
  says("!a", "0 '!': write 'not'\n");
  says("a := b", "2 ':=' is not part of the language: a statement is 'name = expression'\n");
  says("a = b", "2 '=' inside an expression: write '==' to compare\n");
  says("(a = b)", "3 '=' inside an expression: write '==' to compare\n");
  says("f(a=b=c)", "5 '=' inside an expression: write '==' to compare\n");
  says("x.sum()", "2 arrays have no methods: write sum(x, …)\n");
  says("f(x)(y)", "4 only a name can be called\n");
  says("x.", "1 expected a field's name behind '.'\n");
  says("x.1", "1 expected an operator or the end, found '.1'\n");
  says("a, b", "1 expected the end, found ',': one expression stands here\n");
  says("(a, b)", "2 expected ')', found ',': there are no tuples, lists are written [a, b]\n");
  says("x: y", "1 ':' has no meaning here\n");
  says("x[1:2:3:4]", "7 a slice has three parts at most\n");
  says("f(a=1, b)", "7 an argument without a name behind one with a name\n");
  says("f(a=1, b=2, a=3)", "12 'a' is given twice\n");
  says("{a: 1, a: 2}", "7 'a' is given twice\n");
}

static void bracket_errors(void **state) {
  (void)state;
  says("(x", "0 '(' is not closed\n");
  says("f(x, [y", "5 '[' is not closed\n");
  says("f(", "1 '(' is not closed\n");
  says("{a: x", "0 '{' is not closed\n");
  says("{a", "2 expected ':' behind the field's name, found the end\n");
  says("x[0", "1 '[' is not closed\n");
  says("x)", "1 ')' closes nothing\n");
  says("f(x]", "3 expected ')', found ']'\n");
  says("[x)", "2 expected ']', found ')'\n");
}

static void token_errors(void **state) {
  (void)state;
  says("2x", "0 '2x' is neither a number nor a name\n");
  says("0o17", "0 '0o17': octal numbers aren't part of the language\n");
  says("0x", "0 '0x' without digits\n");
  says("1__0", "1 '1__0': '_' stands between two digits only\n");
  says("1e", "0 '1e' is neither a number nor a name\n");
  says("\"abc", "0 the string is not closed\n");
  says("'a\\qb'", "2 unknown escape: strings have \\\\ \\' \\\" \\n \\t\n");
  says("x # c", "2 '#': comments stand in block strings only\n");
  says("x; y", "1 ';': one statement a line or list item\n");
  says("x + \xC3\xA9y", "4 '\xC3\xA9' is not part of the language\n");
  says("x $ y", "2 '$' is not part of the language\n");
  char name[300], want[200];
  memset(name, 'a', 255);
  name[255] = 0;
  gives(name, name);
  strcat(name, "b");
  snprintf(want, sizeof want, "0 the name '%.60s…' has 256 bytes: 255 at most\n", name);
  says(name, want);
}

/* 256 levels are fine, one more is an error; a long chain is no level at all. */
static void depth(void **state) {
  (void)state;
  char text[4096] = "";
  for (int i = 0; i < 256; i++) strcat(text, "(");
  strcat(text, "x");
  for (int i = 0; i < 256; i++) strcat(text, ")");
  gives(text, "x");
  memmove(text + 1, text, strlen(text) + 1);
  says(text, "256 nesting deeper than 256\n");
  memset(text, '~', 257);
  strcpy(text + 257, "x");
  says(text, "256 nesting deeper than 256\n");
  text[0] = 0;
  for (int i = 0; i < 258; i++) strcat(text, i < 257 ? "x**" : "x");
  says(text, "769 nesting deeper than 256\n");
  char *chain = malloc(300000), *end = chain + sprintf(chain, "y = x");
  for (int i = 0; i < 20000; i++) end += sprintf(end, i % 2 ? " + x.a" : " - f(x)");
  nv_ctx *c = spec_ctx(NUVECC_FORMAT_JSON);
  c->memory_limit = 1 << 26;
  nv_spec *s = NV_NEW(c, nv_spec);
  s->c = c;
  nv_stmt st;
  assert_true(nv_parse_statement(s, 0, chain, 0, strlen(chain), &st));
  assert_int_equal(s->nast,
                   2 + 20000 + 20000 + 20000); /* y, the first x; 20000 sums of 20000 operands of two nodes */
  nv_ctx_free(c);
  free(chain);
}

static void statements(void **state) {
  (void)state;
  check('s', "y = x", "y = x", "");
  check('s', " a, _ ,b, = f(x)", "a, _, b = (call f x)", "");
  check('s', "a.b[0].c = x", "(.c (index (.b a) 0)) = x", "");
  check('s', "float = half", "float = half", "");
  check('s', "y\n = x\n", "y = x", "");
  check('s', "y = x +", "y = ERROR", "6 expected an operand behind '+'\n");
  check('s', "y =", "y = ERROR", "2 expected an expression behind '='\n");
  check('s', "y = a, b", "y = ERROR", "5 expected the end, found ',': one expression stands here\n");
  check('s', "y = a = b", "y = ERROR", "6 '=' inside an expression: write '==' to compare\n");
  check('s', "", "", "0 expected 'name = expression'\n");
  check('s', "x + 1", "", "0 no '=' in a statement: expected 'name = expression'\n");
  check('s', "y == x", "", "2 '==' compares: a statement is 'name = expression'\n");
  check('s', "= x", "", "0 expected a name before '='\n");
  check('s', "y := x", "", "2 ':=' is not part of the language: a statement is 'name = expression'\n");
  check('s', "y **= x", "", "2 '**=' is not part of the language: write 'new = old ** …'\n");
  check('s', "x + 1 = y", "", "2 a target is a name or a path of a tree\n");
  check('s', "f(x) = y", "", "0 a target is a name or a path of a tree\n");
  check('s', "3 = y", "", "0 a target is a name or a path of a tree\n");
  check('s', "inf = y", "", "0 a reserved word cannot be bound\n");
  check('s', "a, true = y", "", "3 a reserved word cannot be bound\n");
  check('s', "if = y", "", "0 'if' is a reserved word\n");
  check('s', "int32 = y", "", "0 'int32' is a dtype: it cannot be bound\n");
  check('s', "a[1:2] = y", "",
        "1 a target's index is one static value: parts of an array cannot be assigned\n");
  check('s', "a[0, 1] = y", "",
        "1 a target's index is one static value: parts of an array cannot be assigned\n");
}

static void blocks(void **state) {
  (void)state;
  check('b', "", "", "");
  check('b', "# only\n\n   # comments\n", "", "");
  check('b', "a = x  # one\n\n  b = f(a, # two\n    axis=1,\n\n  )\n\tc = b\r\n d = '#'",
        "a = x\nb = (call f a (axis=1))\nc = b\nd = str #\n", "");
  /* One error a statement; the others stay. */
  check('b', "a = x +\nb = a\nc = b c\nd = (b +\n 1\ne = d",
        "a = ERROR\nb = a\nc = ERROR\nd = ERROR\ne = d\n",
        "6 expected an operand behind '+'\n20 expected an operator or the end, found 'c'\n26 '(' is not "
        "closed\n");
  check('b', "a = f(x\nb = 2\nc = )\nd = 1", "a = ERROR\nb = 2\nc = ERROR\nd = 1\n",
        "5 '(' is not closed\n18 expected an operand, found ')'\n");
  check('b', "a = f(x y,\n  z)\nb = 1", "a = ERROR\nb = 1\n", "8 expected an operator or ')', found 'y'\n");
  check('b', "a + 1\nb = 1", "b = 1\nLOST\n", "0 no '=' in a statement: expected 'name = expression'\n");
  check('b', "a = 'x\nb = 1", "a = ERROR\nb = 1\n", "4 the string is not closed\n");
  check('b', "a = (b", "a = ERROR\n", "4 '(' is not closed\n");
}

static void types(void **state) {
  (void)state;
  check('t', "float32", "float32", "");
  check('t', "f16[]", "float16", "");
  check('t', "float32[2, N, 3 * (n + 1) // 2 - m, ?,]", "float32 2 N (- (// (* 3 (+ n 1)) 2) m) ?", "");
  check('t', "any[...]", "any ...", "");
  check('t', "T[..., D]", "T ... D", "");
  check('t', "number", "number", "");
  check('t', " layer ", "named layer", "");
  check('t', "bool[281474976710656, 0]", "bool 281474976710656 0", "");
  check('t', "int[1_0]", "int 10", "");
  check('t', "bool[281474976710657]", "", "5 a size of at most 2^48\n");
  check('t', "", "", "0 expected a type like float32[2, 3], found the end\n");
  check('t', "3", "", "0 expected a type like float32[2, 3], found '3'\n");
  check('t', "float32[", "", "7 '[' is not closed\n");
  check('t', "float32[3", "", "7 '[' is not closed\n");
  check('t', "float32[3,", "", "7 '[' is not closed\n");
  check('t', "float32[3 4]", "", "10 expected ',' or ']' behind a size, found '4'\n");
  check('t', "float32[,]", "", "8 expected an operand, found ','\n");
  check('t', "float32[3] x", "", "11 expected the end of the type, found 'x'\n");
  check('t', "float32(3)", "", "7 sizes stand in [ ], as in float32[2, 3]\n");
  check('t', "float32[-1]", "", "8 a negative number is no size: an open one is written ?\n");
  check('t', "float32[3.5]", "", "8 a size is made of whole numbers, names, + - * //\n");
  check('t', "float32[0x10]", "", "8 a size is a decimal whole number\n");
  check('t', "float32[n / 2]", "", "10 a size is made of whole numbers, names, + - * //\n");
  check('t', "float32[f(n)]", "", "9 a size is made of whole numbers, names, + - * //\n");
  check('t', "float32[2, ...]", "", "11 '...' stands first, once\n");
  check('t', "float32[..., ...]", "", "13 '...' stands first, once\n");
  check('t', "float32[n +]", "", "10 expected an operand behind '+'\n");
  check('t', "int8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "int8 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "");
  check('t', "int8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "", "37 more than 16 dims: the highest rank is 16\n");
}

static void names(void **state) {
  (void)state;
  static const char *const good[] = {"a",   "_",    "_x1",  "A",    "lambda", "float",
                                     "int", "True", "null", "u64x", "struct", "kernel"};
  static const char *const bad[] = {"",     "1a",    "a-b",     "a b", "\xC3\xA9", "and",  "or",   "not",
                                    "true", "false", "inf",     "nan", "None",     "if",   "for",  "in",
                                    "is",   "bool",  "float32", "f32", "c64",      "bf16", "uint8"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(nv_is_ident(good[i], strlen(good[i])));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(nv_is_ident(bad[i], strlen(bad[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(precedence),     cmocka_unit_test(signs),          cmocka_unit_test(literals),
      cmocka_unit_test(postfix),        cmocka_unit_test(operand_errors), cmocka_unit_test(operator_errors),
      cmocka_unit_test(bracket_errors), cmocka_unit_test(token_errors),   cmocka_unit_test(depth),
      cmocka_unit_test(statements),     cmocka_unit_test(blocks),         cmocka_unit_test(types),
      cmocka_unit_test(names)};
  return cmocka_run_group_tests_name("test_expr", tests, NULL, NULL);
}
