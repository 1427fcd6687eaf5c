/* yaml.c - YAML text to the document tree, by libyaml's events.
 *
 * Plain scalars are resolved by YAML 1.2's core schema; their text is kept as written. libyaml counts places in
 * characters, the tree in bytes: a cursor over the source translates, forward only but for errors. An alias is a copy
 * of the node it names that shares its children, so expansion costs nothing here; what it would cost those who walk
 * the tree is bounded. */
#include "build.h"

#include <yaml.h>

enum {
  ALIAS_BUDGET = 4 << 20, /* nodes that aliases may add, beyond the bytes of the source */
  MAX_DIRECTIVES = 64
};

typedef struct anchor {
  nv_str name;
  uint32_t node;
  uint64_t size; /* nodes; 0: still open */
  uint32_t height;
} anchor;

typedef struct reader {
  nv_ctx *c;
  nv_builder b;
  yaml_parser_t parser;
  yaml_event_t event;
  const char *text; /* behind the byte order mark, which libyaml isn't shown */
  size_t n, skipped;
  size_t chars, bytes; /* cursor: character number chars starts at byte bytes */
  anchor *anchors;
  uint32_t nanchors, anchors_cap;
  nv_map by_name;
  uint64_t expanded; /* nodes that aliases stand for */
} reader;

#define FAIL(r, place, ...) (nv_error((r)->c, nv_build_place(&(r)->b, (place)), __VA_ARGS__), false)

static void close_parser(void *arg) {
  reader *r = arg;
  yaml_event_delete(&r->event);
  yaml_parser_delete(&r->parser);
}

/* Byte of the source where libyaml's character number index stands. */
static size_t place_of(reader *r, size_t index) {
  if (index < r->chars) r->chars = r->bytes = 0;
  while (r->chars < index && r->bytes < r->n) {
    r->bytes++;
    while (r->bytes < r->n && ((unsigned char)r->text[r->bytes] & 0xC0) == 0x80) r->bytes++;
    r->chars++;
  }
  return r->bytes + r->skipped;
}

/* ---- plain scalars: the core schema ---- */

static bool is_one_of(const char *p, size_t n, const char *const *words) {
  for (; *words; words++)
    if (strlen(*words) == n && !memcmp(p, *words, n)) return true;
  return false;
}
static size_t digits(const char *p, size_t at, size_t n) {
  while (at < n && p[at] >= '0' && p[at] <= '9') at++;
  return at;
}

static nv_doc_kind resolve(const char *p, size_t n) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
  static const char *const special[] = {".inf", ".Inf", ".INF", NULL}, *const nans[] = {".nan", ".NaN", ".NAN", NULL};
  if (!n || strchr("~nN", p[0])) return is_one_of(p, n, nulls) ? NV_DOC_NULL : NV_DOC_STRING;
  if (strchr("tTfF", p[0])) return is_one_of(p, n, bools) ? NV_DOC_BOOL : NV_DOC_STRING;
  if (!strchr("+-.0123456789", p[0])) return NV_DOC_STRING;
  if (n > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'o')) {
    size_t k = strspn(p + 2, p[1] == 'x' ? "0123456789abcdefABCDEF" : "01234567");
    return k == n - 2 ? NV_DOC_INT : NV_DOC_STRING;
  }
  if (is_one_of(p, n, nans)) return NV_DOC_FLOAT;
  size_t sign = p[0] == '+' || p[0] == '-', whole = digits(p, sign, n), at = whole;
  if (is_one_of(p + sign, n - sign, special)) return NV_DOC_FLOAT;
  if (at == n) return whole > sign ? NV_DOC_INT : NV_DOC_STRING;
  if (p[at] == '.') {
    size_t fraction = digits(p, at + 1, n);
    if (whole == sign && fraction == at + 1) return NV_DOC_STRING;
    at = fraction;
  } else if (whole == sign) {
    return NV_DOC_STRING;
  }
  if (at < n && (p[at] == 'e' || p[at] == 'E')) {
    size_t from = at + 1 + (at + 1 < n && (p[at + 1] == '+' || p[at + 1] == '-'));
    at = digits(p, from, n);
    if (at == from) return NV_DOC_STRING;
  }
  return at == n ? NV_DOC_FLOAT : NV_DOC_STRING;
}

/* ---- anchors ---- */

static uint32_t find_anchor(const reader *r, nv_str name, uint64_t hash) {
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->by_name, hash, &at)) != NV_NONE)
    if (r->anchors[k].name == name) return k;
  return NV_NONE;
}

/* Notes that node is &name; the last one of a name counts. Returns its index, NV_NONE without a name. */
static uint32_t set_anchor(reader *r, const yaml_char_t *text, uint32_t node, uint64_t size) {
  if (!text) return NV_NONE;
  nv_str name = nv_intern_z(r->c, (const char *)text);
  uint64_t hash = nv_hash(&name, sizeof name, 0);
  uint32_t k = find_anchor(r, name, hash);
  if (k == NV_NONE) {
    NV_GROW(r->c, r->anchors, r->anchors_cap, (size_t)r->nanchors + 1);
    k = r->nanchors++;
    nv_map_add(r->c, &r->by_name, hash, k);
  }
  r->anchors[k] = (anchor){name, node, size, 0};
  return k;
}

static void count_in(reader *r, uint64_t size, uint32_t height) {
  if (!r->b.depth) return;
  nv_build_frame *f = &r->b.frames[r->b.depth - 1];
  f->size += size;
  if (f->height < height + 1) f->height = height + 1;
}

static bool read_alias(reader *r, size_t place) {
  const char *text = (const char *)r->event.data.alias.anchor;
  nv_str name = nv_intern_z(r->c, text);
  uint32_t k = find_anchor(r, name, nv_hash(&name, sizeof name, 0));
  if (k == NV_NONE) return FAIL(r, place, "unknown anchor '%s'", nv_shown(r->c, text, strlen(text)));
  anchor a = r->anchors[k];
  if (!a.size) return FAIL(r, place, "alias '%s' stands inside its own anchor", nv_shown(r->c, text, strlen(text)));
  r->expanded += a.size;
  if (r->expanded > ALIAS_BUDGET + (uint64_t)r->n)
    return FAIL(r, place, "aliases expand to more than %llu nodes", (unsigned long long)ALIAS_BUDGET + r->n);
  if (r->b.depth + a.height > NV_MAX_DEPTH) return FAIL(r, place, "nesting deeper than %d", NV_MAX_DEPTH);
  uint32_t node = nv_build_node(&r->b, NV_DOC_NULL, NV_DOC_PLAIN, place);
  nv_doc_node *nodes = r->b.d->nodes;
  const nv_doc_node here = nodes[node];
  nodes[node] = nodes[a.node];
  nodes[node].next = NV_NONE;
  if (nv_build_at_key(&r->b)) { /* a key is told of where it stands, a value where its text does */
    nodes[node].line = here.line;
    nodes[node].column = here.column;
    nodes[node].source = here.source;
    nodes[node].style = NV_DOC_PLAIN;
  }
  if (nv_build_at_key(&r->b) && (nodes[node].kind == NV_DOC_MAP || nodes[node].kind == NV_DOC_LIST))
    return FAIL(r, place, "a key must be text");
  nv_build_link(&r->b, node);
  count_in(r, a.size, a.height);
  return true;
}

/* ---- errors of libyaml, in our words ---- */

/* What libyaml's problem starts with or holds, what we say, and where: at the problem or at its context. */
static const struct problem {
  const char *holds, *text;
  bool at_context;
} problems[] = {
    {"mapping values are not allowed", "YAML sees a key here (':' and a blank in a plain value): quote it", false},
    {"found unexpected ':'", "':' in a plain value of a {…} or […]: quote the value", false},
    {"found unexpected end of stream", "the string is not closed", true},
    {"did not find expected ',' or", "this bracket is not closed", true}, /* at the end of the file */
    {"could not find expected ':'", "expected 'key: value' here", true},
    {"did not find expected '-' indicator", "expected '- ' here: the indentation is a list's", false},
    {"did not find expected alphabetic or numeric",
     "'*' and '&' start an alias or an anchor in YAML: quote the value", true},
    {"block sequence entries are not allowed", "a list cannot start here: '- ' wants a line of its own", false},
    {"unknown escape", "unknown escape in a double-quoted string", false},
    {"did not find expected <document start>", "expected the end of the document here", false},
};

/* A problem inside {…} or […] where a character stands. */
static bool flow_failed(reader *r, size_t place, char ch) {
  const yaml_parser_t *p = &r->parser;
  bool list = strstr(p->problem, "']'"), map = strstr(p->problem, "'}'");
  size_t from = list || map ? place_of(r, p->context_mark.index) - r->skipped : r->n, at = place - r->skipped;
  for (size_t i = from; i + 1 < at; i++) /* a size that is open, not quoted, is a key to YAML */
    if (r->text[i] == '?' && strchr("[,{ ", r->text[i - 1]) && strchr(",]} ", r->text[i + 1]))
      return FAIL(r, i + r->skipped, "'?' is a sign of YAML's here: quote it");
  if (strchr("[{", ch)) return FAIL(r, place, "'%c' inside a value of a {…} or […]: quote the value", ch);
  nv_error(r->c, nv_build_place(&r->b, place), "expected %s here",
           list  ? "',' or ']'"
           : map ? "',' or '}'"
                 : "a value");
  if (list || map) nv_note(r->c, nv_build_place(&r->b, from + r->skipped), "for the bracket here");
  for (size_t i = from + 1; i < at; i++)
    if (r->text[i] == '#' && r->text[i - 1] == ' ') {
      nv_note(r->c, nv_build_place(&r->b, i + r->skipped), "a comment starts here");
      break;
    }
  return false;
}

static bool libyaml_failed(reader *r) {
  const yaml_parser_t *p = &r->parser;
  const char *problem = p->problem ? p->problem : "not YAML";
  if (p->error == YAML_MEMORY_ERROR) nv_raise(r->c, NUVECC_IO, "out of memory while reading YAML");
  if (p->error == YAML_READER_ERROR) {
    size_t place = p->problem_offset + r->skipped;
    bool control = strstr(problem, "control characters");
    return control ? FAIL(r, place, "a control character (0x%02x)", (unsigned)p->problem_value)
                   : FAIL(r, place, "invalid UTF-8");
  }
  size_t place = place_of(r, p->problem_mark.index), at = place - r->skipped, line_start = at;
  char ch = at < r->n ? r->text[at] : 0;
  while (line_start && r->text[line_start - 1] != '\n') line_start--;
  bool indents = at < r->n;
  for (size_t i = line_start; i < at; i++) indents = indents && strchr(" \t", r->text[i]);
  if (strstr(problem, "found a tab character") || (strstr(problem, "cannot start any token") && ch == '\t'))
    return FAIL(r, place, "a tab %s: YAML takes blanks", indents ? "in the indentation" : "here");
  if (strstr(problem, "cannot start any token"))
    return FAIL(r, place, "'%c' cannot start a plain value in YAML: quote it", ch);
  if (strstr(problem, "did not find expected key"))
    return FAIL(r, place, "expected a key here%s", indents ? ": the indentation fits no line above" : "");
  if (ch &&
      (strstr(problem, "did not find expected ',' or") || strstr(problem, "did not find expected node content")))
    return flow_failed(r, place, ch);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    if (strstr(problem, problems[k].holds))
      return FAIL(r, problems[k].at_context ? place_of(r, p->context_mark.index) : place, "%s", problems[k].text);
  static const char expected[] = "did not find expected ";
  size_t n = sizeof expected - 1;
  return strncmp(problem, expected, n) ? FAIL(r, place, "%s", problem)
                                       : FAIL(r, place, "expected %s here", problem + n);
}

/* ---- events ---- */

/* The value's own first byte, behind its anchor and tag. */
static size_t skip_properties(const reader *r, size_t place) {
  size_t at = place - r->skipped;
  const char *s = r->text;
  while (at < r->n && (s[at] == '&' || s[at] == '!')) {
    while (at < r->n && !strchr(" \t\r\n", s[at])) at++;
    size_t stop = at;
    while (at < r->n && (strchr(" \t\r\n", s[at]) || s[at] == '#'))
      if (s[at] == '#')
        while (at < r->n && s[at] != '\n') at++;
      else
        at++;
    if (at == r->n) return stop + r->skipped;
  }
  return at + r->skipped;
}

/* Is tag one that a node of this kind may have? A scalar's tag is checked against what its text says. */
static bool check_tag(reader *r, const yaml_char_t *tag, nv_doc_kind *kind, bool plain, size_t place) {
  if (!tag) return true;
  const char *t = (const char *)tag, *core = "tag:yaml.org,2002:";
  bool scalar = *kind != NV_DOC_LIST && *kind != NV_DOC_MAP;
  static const char *const names[] = {
      [NV_DOC_NULL] = "null",  [NV_DOC_BOOL] = "bool", [NV_DOC_INT] = "int", [NV_DOC_FLOAT] = "float",
      [NV_DOC_STRING] = "str", [NV_DOC_LIST] = "seq",  [NV_DOC_MAP] = "map"};
  if (!strcmp(t, "!")) {
    if (scalar) *kind = NV_DOC_STRING;
    return true;
  }
  if (!strncmp(t, core, strlen(core))) {
    const char *name = t + strlen(core);
    if (!strcmp(name, names[*kind])) return true;
    if (scalar && !strcmp(name, "str")) {
      *kind = NV_DOC_STRING;
      return true;
    }
    if (plain && *kind == NV_DOC_INT && !strcmp(name, "float")) {
      *kind = NV_DOC_FLOAT;
      return true;
    }
    return FAIL(r, place, "tag '!!%s' does not fit this value", nv_shown(r->c, name, strlen(name)));
  }
  return FAIL(r, place, "unknown tag '%s'", nv_shown(r->c, t, strlen(t)));
}

static bool read_scalar(reader *r, size_t place) {
  const char *p = (const char *)r->event.data.scalar.value;
  size_t n = r->event.data.scalar.length;
  yaml_scalar_style_t style = r->event.data.scalar.style;
  bool plain = style == YAML_PLAIN_SCALAR_STYLE;
  nv_doc_kind kind = plain ? resolve(p, n) : NV_DOC_STRING;
  if (!check_tag(r, r->event.data.scalar.tag, &kind, plain, place)) return false;
  if (r->event.data.scalar.anchor || r->event.data.scalar.tag) place = skip_properties(r, place);
  bool block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
  uint32_t node = nv_build_node(&r->b, kind, plain ? NV_DOC_PLAIN : block ? NV_DOC_BLOCK : NV_DOC_QUOTED, place);
  nv_build_text(&r->b, node, p, n);
  r->b.d->nodes[node].plain_scalar = plain;
  nv_build_link(&r->b, node);
  count_in(r, 1, 0);
  set_anchor(r, r->event.data.scalar.anchor, node, 1);
  return true;
}

static bool read_open(reader *r, nv_doc_kind kind, const yaml_char_t *name, const yaml_char_t *tag, bool flow,
                      size_t place) {
  if (nv_build_at_key(&r->b)) return FAIL(r, place, "a key must be text");
  nv_doc_kind k = kind;
  if (!check_tag(r, tag, &k, false, place)) return false;
  if (name || tag) place = skip_properties(r, place);
  uint32_t node = nv_build_node(&r->b, kind, flow ? NV_DOC_FLOW : NV_DOC_PLAIN, place);
  nv_build_link(&r->b, node);
  if (!nv_build_open(&r->b, node)) return false;
  r->b.frames[r->b.depth - 1].anchor = set_anchor(r, name, node, 0);
  return true;
}

static void read_close(reader *r) {
  nv_build_frame f = r->b.frames[r->b.depth - 1];
  nv_build_close(&r->b);
  if (f.anchor != NV_NONE && r->anchors[f.anchor].node == f.node) {
    r->anchors[f.anchor].size = f.size;
    r->anchors[f.anchor].height = f.height;
  }
  count_in(r, f.size, f.height);
}

/* libyaml compares each %TAG directive with all before: a spec has no use for many. */
static bool check_directives(reader *r) {
  static const char tag[] = "%TAG";
  size_t n = sizeof tag - 1, found = 0;
  for (const char *p = r->text, *end = p + r->n; (p = memchr(p, '%', (size_t)(end - p))) != NULL; p++)
    if ((size_t)(end - p) >= n && !memcmp(p, tag, n) && (p == r->text || p[-1] == '\n') &&
        ++found > MAX_DIRECTIVES)
      return FAIL(r, (size_t)(p - r->text) + r->skipped, "more than %d %%TAG directives", MAX_DIRECTIVES);
  return true;
}

static bool read_events(reader *r) {
  uint32_t documents = 0;
  for (;;) {
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) return libyaml_failed(r);
    const yaml_event_t *e = &r->event;
    size_t place = place_of(r, e->start_mark.index);
    bool read = true;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
      if (++documents > 1) return FAIL(r, place, "a second document: a spec is one");
      break;
    case YAML_ALIAS_EVENT: read = read_alias(r, place); break;
    case YAML_SCALAR_EVENT: read = read_scalar(r, place); break;
    case YAML_SEQUENCE_START_EVENT:
      read = read_open(r, NV_DOC_LIST, e->data.sequence_start.anchor, e->data.sequence_start.tag,
                       e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, place);
      break;
    case YAML_MAPPING_START_EVENT:
      read = read_open(r, NV_DOC_MAP, e->data.mapping_start.anchor, e->data.mapping_start.tag,
                       e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, place);
      break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: read_close(r); break;
    case YAML_STREAM_END_EVENT: return documents || FAIL(r, r->skipped, "the file is empty");
    default: break; /* stream start, document end, none */
    }
    if (!read) return false;
  }
}

nv_doc *nv_doc_read_yaml(nv_ctx *c, nv_doc *d) {
  reader *r = NV_NEW(c, reader);
  r->c = c;
  r->skipped = d->source_length >= 3 && !memcmp(d->source, "\xEF\xBB\xBF", 3) ? 3 : 0;
  r->text = d->source + r->skipped;
  r->n = d->source_length - r->skipped;
  nv_build_init(&r->b, d, r->skipped);
  if (!yaml_parser_initialize(&r->parser)) nv_raise(c, NUVECC_IO, "out of memory while reading YAML");
  nv_deferred closing;
  nv_defer(c, &closing, close_parser, r);
  yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->n);
  bool read = check_directives(r) && read_events(r);
  nv_undefer(c);
  close_parser(r);
  nv_drop(c, r->b.keys);
  nv_drop(c, r->anchors);
  nv_map_drop(c, &r->by_name);
  return read ? d : NULL;
}
