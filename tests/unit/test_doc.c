/* test_doc.c - documents: what JSON and YAML readers accept, the trees they make, and the places they tell. */
#include "spec_run.h"

#include <jansson.h>

/* ---- a tree as text: kinds and texts, without places ---- */

static void put_tree(nv_buf *b, const nv_doc *d, uint32_t node) { /* documents of the tests are shallow */
  const nv_doc_node *n = nv_doc_at(d, node);
  static const char *const marks = "nbifs";
  if (n->kind < NV_DOC_LIST) {
    nv_printf(b, "%c:%.*s", marks[n->kind], (int)n->length, nv_doc_text(d, node));
    return;
  }
  bool map = n->kind == NV_DOC_MAP;
  nv_putc(b, map ? '{' : '[');
  uint32_t k = 0;
  for (uint32_t child = n->first; child != NV_NONE; child = nv_doc_at(d, child)->next, k++) {
    if (k) nv_putc(b, map && k % 2 ? '=' : ' ');
    put_tree(b, d, child);
  }
  assert_int_equal(k, n->count);
  nv_putc(b, map ? '}' : ']');
}

static void check_tree(const char *text, size_t n, nuvecc_format format, const char *want) {
  spec_text t;
  nv_ctx *c = spec_read(&t, text, n, format, false);
  if (!t.doc) fail_msg("%s: %s", text, said);
  nv_buf b;
  nv_buf_init(&b, c);
  put_tree(&b, t.doc, 0);
  if (strcmp(nv_buf_text(&b), want)) fail_msg("%s\n  gives %s\n  not   %s", text, nv_buf_text(&b), want);
  nv_ctx_free(c);
}
static void json_tree(const char *text, const char *want) {
  check_tree(text, strlen(text), NUVECC_FORMAT_JSON, want);
}
static void yaml_tree(const char *text, const char *want) {
  check_tree(text, strlen(text), NUVECC_FORMAT_YAML, want);
}

static void says(const char *text, nuvecc_format format, const char *want) {
  const char *got = spec_says(text, strlen(text), format, false);
  if (strcmp(got, want)) fail_msg("%s\n  says %s  not  %s", text, got, want);
}
static void json_says(const char *text, const char *want) { says(text, NUVECC_FORMAT_JSON, want); }
static void yaml_says(const char *text, const char *want) { says(text, NUVECC_FORMAT_YAML, want); }

/* ---- JSON ---- */

/* Everything that Jansson takes is taken, and nothing else: but integers and floats of any size, whose text is kept. */
static void json_as_jansson(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      " ",
                                      "null",
                                      "true",
                                      "false",
                                      "nul",
                                      "nulll",
                                      "True",
                                      "tru",
                                      "0",
                                      "-0",
                                      "00",
                                      "01",
                                      "-01",
                                      "1",
                                      "-1",
                                      "+1",
                                      "--1",
                                      "-",
                                      "1.",
                                      "1.0",
                                      ".5",
                                      "-.5",
                                      "1.e1",
                                      "1e1",
                                      "1E1",
                                      "1e+1",
                                      "1e-1",
                                      "1e",
                                      "1e+",
                                      "1e1.5",
                                      "1.5e3",
                                      "0e0",
                                      "0.0",
                                      "0x10",
                                      "1_0",
                                      "1 2",
                                      "1,",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "inf",
                                      "nan",
                                      "\"\"",
                                      "\"a\"",
                                      "\"a",
                                      "a\"",
                                      "'a'",
                                      "\"\\\"\"",
                                      "\"\\\\\"",
                                      "\"\\/\"",
                                      "\"\\b\\f\\n\\r\\t\"",
                                      "\"\\a\"",
                                      "\"\\x41\"",
                                      "\"\\u0041\"",
                                      "\"\\u00e9\"",
                                      "\"\\u20ac\"",
                                      "\"\\u004\"",
                                      "\"\\u004g\"",
                                      "\"\\uD83D\\uDE00\"",
                                      "\"\\uD83D\"",
                                      "\"\\uD83D\\u0041\"",
                                      "\"\\uDE00\"",
                                      "\"\\uDE00\\uD83D\"",
                                      "\"\\uD83Dx\"",
                                      "\"\\u0000\"",
                                      "\"\\U0041\"",
                                      "\"\\\"",
                                      "\"\t\"",
                                      "\"\n\"",
                                      "\"\x01\"",
                                      "\"\x7f\"",
                                      "\"\xC3\xA9\"",
                                      "\"\xC3\"",
                                      "\"\xC3(\"",
                                      "\"\xE2\x82\xAC\"",
                                      "\"\xE2\x82\"",
                                      "\"\xF0\x9F\x98\x80\"",
                                      "\"\xF8\x88\x80\x80\x80\"",
                                      "\"\xC0\x80\"",
                                      "\"\xC1\xBF\"",
                                      "\"\xE0\x80\x80\"",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xED\x9F\xBF\"",
                                      "\"\xF4\x8F\xBF\xBF\"",
                                      "\"\xF4\x90\x80\x80\"",
                                      "\"\x80\"",
                                      "\"\xFF\"",
                                      "\"\xEF\xBB\xBF\"",
                                      "\xEF\xBB\xBF[1]",
                                      "[]",
                                      "[ ]",
                                      "[1]",
                                      "[1,]",
                                      "[,]",
                                      "[,1]",
                                      "[1,,2]",
                                      "[1 2]",
                                      "[1,2]",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[[]]",
                                      "[[]",
                                      "[]]",
                                      "[}",
                                      "{]",
                                      "{}",
                                      "{ }",
                                      "{\"a\":1}",
                                      "{\"a\":1,}",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\",1}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{null:1}",
                                      "{\"a\":1 \"b\":2}",
                                      "{\"a\":1,\"b\":2}",
                                      "{\"a\":1,\"a\":2}",
                                      "{\"a\":{\"a\":1}}",
                                      "{\"\":1}",
                                      "{:1}",
                                      "{\"a\"::1}",
                                      "{",
                                      "}",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "\t\r\n[\t\r\n1\t\r\n,\t\r\n2\t\r\n]\t\r\n",
                                      "[1]\f",
                                      "\v1",
                                      "[1]\xC2\xA0",
                                      "[1] x",
                                      "{} {}",
                                      "[1] // c",
                                      "/* c */ 1",
                                      "# c\n1",
                                      "[true,false,null]",
                                      "[truefalse]",
                                      "[1true]",
                                      "\"a\"\"b\"",
                                      "[\"a\" \"b\"]",
                                      "[1]1",
                                      "-a",
                                      "1a",
                                      "1.5.5",
                                      "[-]",
                                      "[1e]",
                                      "{\"a\":01}",
                                      "{\"\\u0061\":1,\"a\":2}",
                                      "{\"a\":\"\\ud800\"}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    json_error_t error;
    json_t *theirs = json_loadb(texts[i], strlen(texts[i]), JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    spec_text t;
    nv_ctx *c = spec_read(&t, texts[i], strlen(texts[i]), NUVECC_FORMAT_JSON, false);
    bool ours = t.doc && !c->errors;
    if (ours != (theirs != NULL))
      fail_msg("'%s': Jansson says %s, we say %s", texts[i], theirs ? "yes" : error.text,
               ours ? "yes" : said);
    if (!ours) assert_non_null(strstr(said, ": error: "));
    if (ours && json_is_string(theirs)) {
      assert_int_equal(nv_doc_at(t.doc, 0)->length, json_string_length(theirs));
      assert_memory_equal(nv_doc_text(t.doc, 0), json_string_value(theirs), json_string_length(theirs));
    }
    json_decref(theirs);
    nv_ctx_free(c);
  }
}

static void json_nul(void **state) {
  (void)state;
  const char *got = spec_says("[1\0]", 4, NUVECC_FORMAT_JSON, false);
  assert_non_null(strstr(got, "1:3: error: expected ',' or ']'"));
}

static void json_trees(void **state) {
  (void)state;
  json_tree("{\"a\": [1, -2.50, 1e400, 18446744073709551616, true, null, \"x\"], \"b\": {}}",
            "{s:a=[i:1 f:-2.50 f:1e400 i:18446744073709551616 b:true n:null s:x] s:b={}}");
  json_tree("[\"\\u00e9\\ud83d\\ude00\\n\", \"\xC3\xA9\"]", "[s:\xC3\xA9\xF0\x9F\x98\x80\n s:\xC3\xA9]");
}

static void json_errors(void **state) {
  (void)state;
  json_says("", "1:1: error: expected a value, the file ends here\n");
  json_says("[1,\n 2", "2:3: error: the file ends inside a list\n1:1: note: opened here\n");
  json_says("{\"a\": 1\n \"b\": 2}", "2:2: error: expected ',' or '}', found '\"'\n");
  json_says("[1, ]", "1:5: error: expected a value, found ']'\n");
  json_says("{\"a\": 1, }", "1:10: error: expected a key behind ','\n");
  json_says("{\"a\": 'b'}", "1:7: error: JSON strings take double quotes\n");
  json_says("{\"a\": \"b}", "1:7: error: the string is not closed\n");
  json_says("[1] // c", "1:5: error: expected the end of the file, found '/'\n");
  json_says("[// c\n1]", "1:2: error: JSON has no comments (keys that start with x- are ignored)\n");
  json_says(
      "{\"a\": True}",
      "1:7: error: 'True' is no JSON value: texts take double quotes, constants are true, false, null\n");
  json_says("[\"ab\\qc\"]", "1:5: error: unknown escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u\n");
  json_says("[\"ab\\u12\"]", "1:5: error: \\u takes four hexadecimal digits\n");
  json_says("[\"\\ud800\"]", "1:2: error: a \\u escape of half a surrogate pair\n");
  json_says("[\"ab\xC3(\"]", "1:5: error: invalid UTF-8\n");
  json_says("[\"a\tb\"]", "1:4: error: a control character (0x09) in a string: write \\u0009\n");
  json_says("[01]", "1:2: error: a number with a leading zero\n");
  json_says("[0x10]", "1:2: error: '0x' is no JSON number (decimal only)\n");
  json_says("\xEF\xBB\xBF{}", "1:1: error: a byte order mark: JSON is UTF-8 without one\n");
  json_says("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}",
            "3:2: error: duplicate key 'a'\n1:2: note: first set here\n");
}

/* Many keys: hashed, not compared with each other. The second of two equal ones is left out. */
static void duplicates(void **state) {
  (void)state;
  nv_ctx *c = spec_ctx(NUVECC_FORMAT_JSON);
  nv_buf b;
  nv_buf_init(&b, c);
  for (int i = 0; i < 20000; i++) nv_printf(&b, "%s\"k%d\":%d", i ? ",\n" : "{", i, i);
  nv_puts(&b, ",\n\"k77\":0,\n\"\\u006b777\":1}");
  char *text = strdup(nv_buf_text(&b));
  nv_ctx_free(c);
  spec_text t;
  c = spec_read(&t, text, strlen(text), NUVECC_FORMAT_JSON, false);
  assert_string_equal(said, "20001:1: error: duplicate key 'k77'\n78:1: note: first set here\n"
                            "20002:1: error: duplicate key 'k777'\n778:1: note: first set here\n");
  assert_int_equal(nv_doc_at(t.doc, 0)->count, 40000);
  assert_string_equal(nv_doc_text(t.doc, nv_doc_get(t.doc, 0, "k77")), "77");
  nv_ctx_free(c);
  free(text);
}

/* ---- nesting ---- */

static void nest(nuvecc_format format, int depth, const char *want) {
  char *text = malloc((size_t)depth * 2 + 1);
  memset(text, '[', (size_t)depth);
  memset(text + depth, ']', (size_t)depth);
  text[2 * depth] = 0;
  says(text, format, want);
  free(text);
}
static void nesting(void **state) {
  (void)state;
  for (int f = 0; f < 2; f++) {
    nest(f ? NUVECC_FORMAT_YAML : NUVECC_FORMAT_JSON, 256, "");
    nest(f ? NUVECC_FORMAT_YAML : NUVECC_FORMAT_JSON, 257, "1:257: error: nesting deeper than 256\n");
    nest(f ? NUVECC_FORMAT_YAML : NUVECC_FORMAT_JSON, 100000, "1:257: error: nesting deeper than 256\n");
  }
}

/* ---- YAML ---- */

static void yaml_scalars(void **state) {
  (void)state;
  yaml_tree(
      "[null, Null, NULL, ~, nULL, true, True, TRUE, tRUE, false, False, FALSE, yes, no, on, off, y, n]",
      "[n:null n:Null n:NULL n:~ s:nULL b:true b:True b:TRUE s:tRUE b:false b:False b:FALSE s:yes s:no s:on "
      "s:off s:y s:n]");
  yaml_tree("- \n- a", "[n: s:a]");
  yaml_tree("[0, 007, +5, -5, 0x1F, 0xg, 0o17, 0o8, 0b1, 1_000, -0x1, 12e03, 12e, 1., .5, ., +.5, -1.5e+3, "
            "1.5e, +, -, 1.2.3]",
            "[i:0 i:007 i:+5 i:-5 i:0x1F s:0xg i:0o17 s:0o8 s:0b1 s:1_000 s:-0x1 f:12e03 s:12e f:1. f:.5 s:. "
            "f:+.5 f:-1.5e+3 s:1.5e s:+ "
            "s:- s:1.2.3]");
  yaml_tree("[.inf, .Inf, .INF, .iNF, -.inf, +.INF, .nan, .NaN, .NAN, -.nan, inf, nan, 1:30, 2001-01-01, "
            "'true', \"1\"]",
            "[f:.inf f:.Inf f:.INF s:.iNF f:-.inf f:+.INF f:.nan f:.NaN f:.NAN s:-.nan s:inf s:nan s:1:30 "
            "s:2001-01-01 s:true s:1]");
  yaml_tree("[!!str 1, !!str true, ! 2, !!float 3, !!int 4, !!null ~, !!str ]",
            "[s:1 s:true s:2 f:3 i:4 n:~ s:]");
  yaml_tree("a: |\n  x\n   y\n\nb: >-\n  p\n  q\n", "{s:a=s:x\n y\n s:b=s:p q}");
}

static void yaml_documents(void **state) {
  (void)state;
  yaml_tree("\xEF\xBB\xBF"
            "a: 1\n",
            "{s:a=i:1}");
  yaml_tree("a: 1\r\nb:\r\n  - x\r\n  - y\r\n", "{s:a=i:1 s:b=[s:x s:y]}");
  yaml_tree("%YAML 1.2\n---\na: 1\n...\n", "{s:a=i:1}");
  yaml_tree("x: &a {p: [1, 2]}\ny: *a\nz: [*a, &b q, *b]\n&c k: *c\n",
            "{s:x={s:p=[i:1 i:2]} s:y={s:p=[i:1 i:2]} s:z=[{s:p=[i:1 i:2]} s:q s:q] s:k=s:k}");
  yaml_tree("a: &x 1\nb: &x 2\nc: *x", "{s:a=i:1 s:b=i:2 s:c=i:2}"); /* the last one counts */
  yaml_says("", "1:1: error: the file is empty\n");
  yaml_says("a: 1\n---\nb: 2\n", "2:1: error: a second document: a spec is one\n");
}

static void yaml_errors(void **state) {
  (void)state;
  yaml_says("a: 1\nb: 2\na: 3\n", "3:1: error: duplicate key 'a'\n1:1: note: first set here\n");
  yaml_says("a: *x\n", "1:4: error: unknown anchor 'x'\n");
  yaml_says("a: &x [1, *x]\n", "1:11: error: alias 'x' stands inside its own anchor\n");
  yaml_says("[a]: 1\n", "1:1: error: a key must be text\n");
  yaml_says("a: &x [1]\n? *x\n: 2\n", "2:3: error: a key must be text\n");
  yaml_says("a: !foo 1\n", "1:4: error: unknown tag '!foo'\n");
  yaml_says("a: !!int x\n", "1:4: error: tag '!!int' does not fit this value\n");
  yaml_says("a:\n\tb: 1\n", "2:1: error: a tab in the indentation: YAML takes blanks\n");
  yaml_says("a:\n  - x\n\t- y\n", "3:1: error: a tab in the indentation: YAML takes blanks\n");
  yaml_says("a: @x\n", "1:4: error: '@' cannot start a plain value in YAML: quote it\n");
  yaml_says("a: `x`\n", "1:4: error: '`' cannot start a plain value in YAML: quote it\n");
  yaml_says("a: b: c\n", "1:5: error: YAML sees a key here (':' and a blank in a plain value): quote it\n");
  yaml_says("a: \"x\n", "1:4: error: the string is not closed\n");
  yaml_says("a: 'x\n\nb: 1\n", "1:4: error: the string is not closed\n");
  yaml_says("i: {x: float32[3, 4]}\n", "1:15: error: '[' inside a value of a {…} or […]: quote the value\n");
  yaml_says("i: [1, 2\nb: 3\n", "2:2: error: expected ',' or ']' here\n1:4: note: for the bracket here\n");
  yaml_says("i: [1, 2", "1:4: error: this bracket is not closed\n");
  yaml_says("a: 1\n  b: 2\n",
            "2:4: error: YAML sees a key here (':' and a blank in a plain value): quote it\n");
  yaml_says("a:\n  b: 1\n c: 2\n", "3:2: error: expected a key here: the indentation fits no line above\n");
  yaml_says("a: 1\nb\nc: 2\n", "2:1: error: expected 'key: value' here\n");
  yaml_says("- a\nb: 1\n", "2:1: error: expected '- ' here: the indentation is a list's\n");
  yaml_says("a: *\n", "1:4: error: '*' and '&' start an alias or an anchor in YAML: quote the value\n");
  yaml_says("a: \"\\q\"\n", "1:5: error: unknown escape in a double-quoted string\n");
  yaml_says("a: \xFFz\n", "1:4: error: invalid UTF-8\n");
  yaml_says("\xC3\xA9: \x01\n", "1:5: error: a control character (0x01)\n");
  yaml_says("\xFF\xFE"
            "a\0",
            "1:1: error: invalid UTF-8\n");
}

/* Expansion is bounded, and costs nothing before the bound is met. */
static void aliases(void **state) {
  (void)state;
  char text[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; i++) {
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1,
             i - 1);
  }
  const char *got = spec_says(text, strlen(text), NUVECC_FORMAT_YAML, false);
  assert_non_null(strstr(got, ": error: aliases expand to more than "));
  /* Nesting through aliases counts too. */
  char *deep = malloc(20000);
  size_t n = (size_t)sprintf(deep, "a0: &a0 [x]\n");
  for (int i = 1; i < 300; i++) n += (size_t)sprintf(deep + n, "a%d: &a%d [*a%d]\n", i, i, i - 1);
  got = spec_says(deep, n, NUVECC_FORMAT_YAML, false);
  assert_string_equal(got, "256:14: error: nesting deeper than 256\n");
  free(deep);
}

/* libyaml's handles go when memory runs out on the way (the leak checker sees it). */
static void yaml_out_of_memory(void **state) {
  (void)state;
  char *text = malloc(300000);
  size_t n = 0;
  for (int i = 0; i < 10000; i++) n += (size_t)sprintf(text + n, "- name%d: value\n", i);
  for (size_t limit = 20000; limit < 400000; limit += 60000) {
    spec_text t = {text, n, NUVECC_FORMAT_YAML, false, NULL, NULL};
    nv_ctx *c = spec_ctx(NUVECC_FORMAT_YAML);
    c->memory_limit = limit;
    spec_guard(c, spec_work, &t);
    assert_non_null(strstr(said, "raised 3: out of memory"));
    nv_ctx_free(c);
  }
  free(text);
}

/* ---- places ---- */

/* Every capital letter stands once in the file: where a text has one, its place must be the letter's. Asked in rising
 * order, and in falling order, which starts afresh. */
static void places_of(const char *text, nuvecc_format format, const char *want) {
  spec_text t;
  size_t length = strlen(text);
  nv_ctx *c = spec_read(&t, text, length, format, false);
  if (!t.doc) fail_msg("%s: %s", text, said);
  char seen[64];
  size_t nseen = 0;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t node = 0; node < t.doc->nnodes; node++) {
      const nv_doc_node *n = nv_doc_at(t.doc, node);
      for (uint32_t k = 0; k < n->length && n->kind < NV_DOC_LIST; k++) {
        uint32_t at = pass ? n->length - 1 - k : k, line, column;
        char letter = nv_doc_text(t.doc, node)[at];
        if (letter < 'A' || letter > 'Z') continue;
        if (!pass) seen[nseen++] = letter;
        const char *source, *real = strchr(text, letter), *start = real;
        size_t source_length;
        assert_true(nv_doc_locate(c, nv_text_pos(node, at), &line, &column, &source, &source_length));
        while (start > text && start[-1] != '\n' && !(start[-1] == '\r' && *start != '\n')) start--;
        uint32_t real_line = 1;
        for (const char *p = text; p < start; p++) real_line += *p == '\n' || (*p == '\r' && p[1] != '\n');
        if (line != real_line || column != (uint32_t)(real - start) + 1)
          fail_msg("%s\n%c: %u:%u, not %u:%u", text, letter, line, column, real_line,
                   (unsigned)(real - start) + 1);
        assert_ptr_equal(source, start);
        assert_int_equal(source_length, strcspn(start, "\r\n"));
      }
    }
  seen[nseen] = 0;
  assert_string_equal(seen, want);
  nv_ctx_free(c);
}

static void places(void **state) {
  (void)state;
  places_of("[\"A\",\n  \"bB\\n\\\"C\\u00e9D\\u20acE\\ud83d\\ude00F\xC3\xA9G\\\\H\"]", NUVECC_FORMAT_JSON,
            "ABCDEFGH");
  places_of("a: x = A\nb: 'it''s B'\n\"c\": \"\\tC\\x61\\u00e9D\\U0001f600E\\_F\\LG\"\n", NUVECC_FORMAT_YAML,
            "ABCDEFG");
}
static void places_folded(void **state) {
  (void)state;
  places_of("a: A b\n   B\n\n   C  D   \n\n\n    E\nb: x\n", NUVECC_FORMAT_YAML, "ABCDE");
  places_of("a: \"A b \n   B\n\n   C\\\n  D \\\n\n  E\\n\n  F\"\n", NUVECC_FORMAT_YAML, "ABCDEF");
  places_of("a: 'A b \n   B\n\n\n   C''\n  D'\n", NUVECC_FORMAT_YAML, "ABCD");
  places_of("[ \"A\r\n  B\r\n\r\n  C\" ]", NUVECC_FORMAT_YAML, "ABC");
  places_of("- !!str &x A\n  B\n- &y # no\n  'C'\n- !!str\n  |\n   D\n", NUVECC_FORMAT_YAML, "ABCD");
}
static void places_in_blocks(void **state) {
  (void)state;
  places_of("a: |\n  A b\n    B\n\n  C\n \n\n  D\nb: |-\n\n\n  E\n   F\n", NUVECC_FORMAT_YAML, "ABCDEF");
  places_of("a: |2\n    A\n  B\nb: |+  # c\n     C\n     D\n\n\nc: x\n", NUVECC_FORMAT_YAML, "ABCD");
  places_of("a: >\n  A b\n  B\n\n  C\n\n\n    D\n    E\n\n  F\n  G\nb: x", NUVECC_FORMAT_YAML, "ABCDEFG");
  places_of("a: >\n\n\n   A\n    B\n   C\n", NUVECC_FORMAT_YAML, "ABC");
  places_of("a: |\r\n  A\r\n\r\n  bB\r\nc: >-\r\n    C\r\n    D\r\n", NUVECC_FORMAT_YAML, "ABCD");
  places_of("- |\n A \xC3\xA9 B\n  \n  C\n \n D", NUVECC_FORMAT_YAML, "ABCD");
  places_of("\xEF\xBB\xBF"
            "a: |\n  A\n",
            NUVECC_FORMAT_YAML, "A");
}

/* Nodes themselves: the quote, the indicator, the bracket. */
static void node_places(void **state) {
  (void)state;
  spec_text t;
  static const char text[] = "\xEF\xBB\xBFk: \"q\"\nb: |\n  x\nl: [1,\n  &a {c: d}]\n";
  nv_ctx *c = spec_read(&t, text, sizeof text - 1, NUVECC_FORMAT_YAML, false);
  static const struct {
    const char *key;
    uint32_t line, column;
  } want[] = {{"k", 1, 4}, {"b", 2, 4}, {"l", 4, 4}};
  for (size_t i = 0; i < 3; i++) {
    const nv_doc_node *n = nv_doc_at(t.doc, nv_doc_get(t.doc, 0, want[i].key));
    assert_int_equal(n->line, want[i].line);
    assert_int_equal(n->column, want[i].column);
  }
  uint32_t map = nv_doc_at(t.doc, nv_doc_at(t.doc, nv_doc_get(t.doc, 0, "l"))->first)->next, line, column;
  assert_true(nv_doc_locate(c, (nv_pos){map, 0}, &line, &column, NULL, NULL));
  assert_int_equal(line, 5);
  assert_int_equal(column, 6);
  assert_false(nv_doc_locate(c, NV_NOWHERE, &line, &column, NULL, NULL));
  nv_ctx_free(c);
}

static void too_large(void **state) {
  (void)state;
  /* refused before a byte is read */
  assert_string_equal(spec_says("x", (size_t)NV_MAX_SOURCE + 1, NUVECC_FORMAT_YAML, false),
                      "0:0: error: a spec of 1073741825 bytes: 1073741824 at most (1 GiB)\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_as_jansson), cmocka_unit_test(json_nul),           cmocka_unit_test(json_trees),
      cmocka_unit_test(json_errors),     cmocka_unit_test(duplicates),         cmocka_unit_test(nesting),
      cmocka_unit_test(yaml_scalars),    cmocka_unit_test(yaml_documents),     cmocka_unit_test(yaml_errors),
      cmocka_unit_test(aliases),         cmocka_unit_test(yaml_out_of_memory), cmocka_unit_test(places),
      cmocka_unit_test(places_folded),   cmocka_unit_test(places_in_blocks),   cmocka_unit_test(node_places),
      cmocka_unit_test(too_large)};
  return cmocka_run_group_tests_name("test_doc", tests, NULL, NULL);
}
