/* metal_point.c - what one point computes, as statements; and the function of one point that kernels of width 4
 * call for the components x, y, z, w of vectors of four neighbours along the innermost dim. */
#include "metal_gen.h"

/* ---- pieces ---- */

const char *nv_gen_literal(nv_gen *e, nv_dtype d, uint64_t bits) {
  nv_buf b;
  nv_buf_init(&b, e->c);
  nv_put_literal(&b, d, bits);
  return nv_keep(&b);
}

/* `float4` of a dtype; bools move as uchar4 (vectors of bool are to be avoided in memory). */
const char *nv_gen_vector_type(nv_gen *e, nv_dtype d) {
  return nv_format(e->c, "%s4", d == NV_BOOL ? "uchar" : d == NV_I8 ? "char" : nv_msl_type(d));
}

/* A comma-separated list in brackets behind what stands in b already, broken between items where a line gets full. */
void nv_put_list(nv_buf *b, uint32_t indent, const char *const *items, uint32_t n, const char *end) {
  uint32_t line = b->n;
  while (line && b->p[line - 1] != '\n') line--;
  size_t all = b->n - line + 1 + strlen(end);
  for (uint32_t i = 0; i < n; i++) all += strlen(items[i]) + (i ? 2 : 0);
  nv_putc(b, '(');
  for (uint32_t i = 0; i < n; i++) {
    if (i) nv_putc(b, ',');
    const size_t width = strlen(items[i]) + 1 + (i + 1 == n ? strlen(end) : 1);
    if (all > NV_COLUMNS && (!i || b->n - line + width > NV_COLUMNS)) {
      nv_putc(b, '\n');
      line = b->n;
      for (uint32_t s = 0; s < indent; s++) nv_putc(b, ' ');
    } else if (i) {
      nv_putc(b, ' ');
    }
    nv_puts(b, items[i]);
  }
  nv_puts(b, end);
  nv_putc(b, '\n');
}

const char *nv_gen_index(nv_gen *e, uint32_t i) {
  return nv_format(e->c, "%s(%s)", nv_msl_type((nv_dtype)e->k->instrs[i].dtype),
                   nv_index_text(&e->index, e->offset[i]));
}

/* The place of an access between brackets: an offset or, by index, offset + index * stride. */
static const char *place_text(nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  if (!nv_picks(p)) return nv_index_text(&e->index, e->offset[i]);
  const bool wide = e->k->operands[p->operand].extent >= NV_NARROW;
  const nv_dim unit = nv_dim_const(e->c, e->width == 4 && e->vector[p->operand] ? 4 : 1);
  const nv_dim stride = nv_dim_floordiv(e->c, p->stride, unit);
  int64_t by;
  const char *index = nv_format(e->c, "%s(%s)", wide ? "ulong" : "uint", e->text[p->arg[0]]);
  if (!nv_dim_is_const(e->c, stride, &by)) {
    index = nv_format(e->c, "%s * %s", index, nv_index_size(&e->index, stride, wide));
    by = 2; /* as a known stride above 1 from here on */
  } else if (by != 1 && by != -1)
    index = nv_format(e->c, "%s * %lld%s", index, (long long)(by < 0 ? -by : by), wide ? "ul" : "u");
  int64_t rest;
  if (by > 0 && nv_dim_is_const(e->c, e->offset[i], &rest) && rest == 0) return index;
  if (by < 0) return nv_format(e->c, "%s - %s", nv_index_term(&e->index, e->offset[i]), index);
  return nv_format(e->c, "%s + %s", index, nv_index_term(&e->index, e->offset[i]));
}

/* The vector that an access names; a kernel with a tail keeps scalar pointers. */
static const char *vector_place(nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  const char *buffer = e->buffer[p->operand], *at = place_text(e, i);
  if (!e->tail) return nv_format(e->c, "%s[%s]", buffer, at);
  return nv_format(e->c, "*reinterpret_cast<device %s%s*>(%s + %s)", p->kind == NV_I_LOAD ? "const " : "",
                   nv_gen_vector_type(e, (nv_dtype)p->dtype), buffer, at);
}

/* What a search in a line of elements in order gives. */
static const char *searched(nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  const char *line = e->buffer[p->operand], *name = nv_format(e->c, "nv_%s", nv_ops[p->op].name);
  int64_t at;
  if (!nv_dim_is_const(e->c, e->offset[i], &at) || at)
    line = nv_format(e->c, "%s + %s", line, nv_index_term(&e->index, e->offset[i]));
  const long long count = (long long)nv_dim_value(e->c, p->count); /* updates are sorted where they are known */
  if (p->op == NV_OP_below) return nv_format(e->c, "%s(%s, %lldu, %s)", name, line, count, e->text[p->arg[0]]);
  const int64_t *list = nv_attr_list(e->c, p->attr), run = list[nv_attr_count(e->c, p->attr) - 1];
  return nv_format(e->c, "%s(%s, %lldu, %lldu, uint(%s))", name, line, count, (long long)run,
                   e->text[p->arg[0]]);
}

const char *nv_gen_read(nv_gen *e, uint32_t i) {
  const nv_instr *p = &e->k->instrs[i];
  if (nv_picks(p) && p->op != NV_OP_pick) return searched(e, i);
  const bool vector = e->width == 4 && e->vector[p->operand];
  const char *read = vector ? vector_place(e, i) : nv_format(e->c, "%s[%s]", e->buffer[p->operand], place_text(e, i));
  if (!nv_picks(p) || !p->checked) return read;
  const nv_dtype d = (nv_dtype)p->dtype;
  const char *zero = nv_gen_literal(e, vector && d == NV_BOOL ? NV_U8 : d, 0);
  if (vector) zero = nv_format(e->c, "%s(%s)", nv_gen_vector_type(e, d), zero);
  int64_t count;
  const bool wide = e->k->instrs[p->arg[0]].dtype == NV_I64 || !nv_dim_is_const(e->c, p->count, &count) ||
                    count >= NV_NARROW;
  return nv_format(e->c, "%s(%s) < %s ? %s : %s", wide ? "ulong" : "uint", e->text[p->arg[0]],
                   nv_index_size(&e->index, p->count, wide), read, zero);
}

void nv_gen_statement(nv_gen *e, uint32_t indent, uint32_t i, const char **text) {
  const nv_instr *p = &e->k->instrs[i];
  nv_dtype dtypes[3];
  const char *operands[3];
  for (uint32_t a = 0; a < p->nargs; a++) {
    operands[a] = text[p->arg[a]];
    dtypes[a] = (nv_dtype)e->k->instrs[p->arg[a]].dtype;
  }
  text[i] = nv_gen_temporary(e, p->value);
  const uint32_t start = e->b->n;
  for (uint32_t s = 0; s < indent; s++) nv_putc(e->b, ' ');
  nv_printf(e->b, "%s %s = ", nv_msl_type((nv_dtype)p->dtype), text[i]);
  (e->noperations > 1 ? nv_put_fused_op : nv_put_op)(e->b, (nv_op)p->op, dtypes, operands, p->nargs,
                                                     (nv_dtype)p->dtype);
  nv_putc(e->b, ';');
  nv_end_line(e->b, start, indent);
}

/* Instructions [from, to) as statements, one point at a time; loads that have a variable already are left out. */
void nv_gen_scalar(nv_gen *e, uint32_t indent, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind == NV_I_LOAD && e->text[i]) continue;
    if (p->kind == NV_I_OP && !e->text[i])
      nv_gen_statement(e, indent, i, e->text);
    else if (p->kind == NV_I_STORE)
      nv_line(e->b, indent, "%s[%s] = %s;", e->buffer[p->operand], nv_index_text(&e->index, e->offset[i]),
              e->text[p->arg[0]]);
    else if (p->kind == NV_I_INDEX && !e->text[i])
      e->text[i] = nv_gen_index(e, i);
    else if (p->kind == NV_I_LOAD) {
      e->text[i] = nv_gen_load_name(e, p->operand);
      nv_line(e->b, indent, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i], nv_gen_read(e, i));
    }
  }
}

/* ---- four elements a thread ---- */

/* Finds the point function's parameters (loads that operations use) and results (operations that are stored or
 * reduced) and prints it. */
void nv_gen_point(nv_gen *e) {
  nv_ctx *c = e->c;
  nv_buf *b = e->b;
  const nv_kernel *k = e->k;
  bool *used = NV_NEW_N(c, bool, k->ninstrs + 1), *wanted = NV_NEW_N(c, bool, k->ninstrs + 1);
  uint32_t *loads = NV_NEW_N(c, uint32_t, k->noperands + 1);
  e->params = NV_NEW_N(c, uint32_t, k->ninstrs + 1);
  e->results = NV_NEW_N(c, uint32_t, k->ninstrs + 1);
  for (uint32_t i = 0; i <= e->inner && i < k->ninstrs; i++) {
    const nv_instr *p = &k->instrs[i];
    if ((p->kind != NV_I_STORE && p->kind != NV_I_REDUCE) || k->instrs[p->arg[0]].kind != NV_I_OP) continue;
    if (e->field[p->arg[0]]) continue;
    e->field[p->arg[0]] = p->kind == NV_I_STORE ? e->buffer[p->operand] : "term";
    e->results[e->nresults++] = p->arg[0];
  }
  if (!e->nresults) return;
  for (uint32_t r = 0; r < e->nresults; r++) wanted[e->results[r]] = true;
  for (uint32_t i = e->inner; i-- > 0;)
    for (uint32_t a = 0; wanted[i] && k->instrs[i].kind == NV_I_OP && a < k->instrs[i].nargs; a++)
      used[k->instrs[i].arg[a]] = wanted[k->instrs[i].arg[a]] = true;
  for (uint32_t i = 0; i < e->inner; i++) {
    if (!used[i]) continue;
    if (k->instrs[i].kind == NV_I_LOAD) e->params[e->nparams++] = i, loads[k->instrs[i].operand]++;
    if (k->instrs[i].kind == NV_I_INDEX || k->instrs[i].kind == NV_I_SIZE) e->params[e->nparams++] = i;
  }

  const char **text = NV_NEW_N(c, const char *, k->ninstrs + 1);
  const char **items = NV_NEW_N(c, const char *, k->ninstrs + 1);
  for (uint32_t i = 0; i < e->inner; i++)
    if (k->instrs[i].kind == NV_I_CONST) text[i] = e->text[i];
  for (uint32_t i = 0; i < e->nparams; i++) {
    const nv_instr *p = &k->instrs[e->params[i]];
    text[e->params[i]] = p->kind == NV_I_LOAD && loads[p->operand] == 1 ? e->buffer[p->operand] : e->text[e->params[i]];
    items[i] = nv_format(c, "%s %s", nv_msl_type((nv_dtype)p->dtype), text[e->params[i]]);
  }
  const bool several = e->nresults > 1;
  if (several) {
    nv_printf(b, "struct %s_values {\n", e->stem);
    for (uint32_t r = 0; r < e->nresults; r++)
      nv_printf(b, "  %s %s;\n", nv_msl_type((nv_dtype)k->instrs[e->results[r]].dtype), e->field[e->results[r]]);
    nv_puts(b, "};\n");
    nv_printf(b, "static inline %s_values %s_point", e->stem, e->stem);
  } else {
    nv_printf(b, "static inline %s %s_point", nv_msl_type((nv_dtype)k->instrs[e->results[0]].dtype), e->stem);
  }
  nv_put_list(b, 4, items, e->nparams, ") {");
  for (uint32_t i = 0; i < e->inner; i++)
    if (k->instrs[i].kind == NV_I_OP && wanted[i]) nv_gen_statement(e, 2, i, text);
  if (several) { /* member by member: aggregate literals are slow to compile */
    const char *values = nv_names_fresh(&e->names, "values");
    nv_printf(b, "  %s_values %s;\n", e->stem, values);
    for (uint32_t r = 0; r < e->nresults; r++)
      nv_line(b, 2, "%s.%s = %s;", values, e->field[e->results[r]], text[e->results[r]]);
    nv_printf(b, "  return %s;\n}\n", values);
  } else {
    nv_printf(b, "  return %s;\n}\n", text[e->results[0]]);
  }
}

const char nv_component_names[] = "xyzw";

/* Component n of an instruction's four values. */
const char *nv_gen_component(nv_gen *e, uint32_t i, uint32_t n) {
  const nv_instr *p = &e->k->instrs[i];
  if (p->kind == NV_I_OP) return e->nresults > 1 ? nv_format(e->c, "%s.%s", e->point[n], e->field[i]) : e->point[n];
  if (p->kind != NV_I_LOAD || !e->vector[p->operand]) return e->text[i];
  return nv_format(e->c, p->dtype == NV_BOOL ? "%s.%c != 0" : "%s.%c", e->text[i], nv_component_names[n]);
}

void nv_gen_leads(nv_gen *e, uint32_t indent) {
  for (uint32_t i = 0; i < e->inner && e->leads; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (e->varies[i]) continue;
    if (p->kind == NV_I_OP && e->leads[i] && !e->text[i]) nv_gen_statement(e, indent, i, e->text);
    if (!nv_picks(p) || e->vector[p->operand]) continue;
    if (!e->text[i]) e->text[i] = nv_gen_load_name(e, p->operand);
    nv_line(e->b, indent, "%s %s = %s;", nv_msl_type((nv_dtype)p->dtype), e->text[i], nv_gen_read(e, i));
  }
}

void nv_gen_vector_loads(nv_gen *e, uint32_t indent) {
  for (uint32_t i = 0; i < e->inner; i++) {
    const nv_instr *p = &e->k->instrs[i];
    if (p->kind == NV_I_LOAD && e->vector[p->operand])
      nv_line(e->b, indent, "%s %s = %s;", nv_gen_vector_type(e, (nv_dtype)p->dtype), e->text[i], nv_gen_read(e, i));
  }
}

/* The point function for each component. Called in place when its one result is wanted once, else kept in
 * variables. */
void nv_gen_calls(nv_gen *e, uint32_t indent, bool once) {
  const char **items = NV_NEW_N(e->c, const char *, e->nparams + 1);
  const char *type = e->nresults > 1 ? nv_format(e->c, "%s_values", e->stem)
                                     : nv_msl_type((nv_dtype)e->k->instrs[e->results[0]].dtype);
  for (uint32_t n = 0; n < 4; n++) {
    for (uint32_t i = 0; i < e->nparams; i++) items[i] = nv_gen_component(e, e->params[i], n);
    if (once) {
      nv_buf call;
      nv_buf_init(&call, e->c);
      nv_printf(&call, "%s_point(", e->stem);
      for (uint32_t i = 0; i < e->nparams; i++) nv_printf(&call, "%s%s", i ? ", " : "", items[i]);
      nv_putc(&call, ')');
      e->point[n] = nv_keep(&call);
    } else {
      e->point[n] = nv_names_fresh(&e->names, nv_format(e->c, "p%c", nv_component_names[n]));
      for (uint32_t s = 0; s < indent; s++) nv_putc(e->b, ' ');
      nv_printf(e->b, "%s %s = %s_point", type, e->point[n], e->stem);
      nv_put_list(e->b, indent + 4, items, e->nparams, ");");
    }
  }
}

void nv_gen_vector_stores(nv_gen *e, uint32_t indent) {
  for (uint32_t i = 0; i < e->inner; i++) {
    const nv_instr *p = &e->k->instrs[i], *from = &e->k->instrs[p->arg[0]];
    if (p->kind != NV_I_STORE) continue;
    if (from->kind == NV_I_LOAD && e->vector[from->operand]) {
      nv_line(e->b, indent, "%s = %s;", vector_place(e, i), e->text[p->arg[0]]);
      continue;
    }
    const char *items[4];
    for (uint32_t n = 0; n < 4; n++) {
      items[n] = nv_gen_component(e, p->arg[0], n);
      if (p->dtype == NV_BOOL) items[n] = nv_format(e->c, "uchar(%s)", items[n]);
    }
    for (uint32_t s = 0; s < indent; s++) nv_putc(e->b, ' ');
    nv_printf(e->b, "%s = %s", vector_place(e, i), nv_gen_vector_type(e, (nv_dtype)p->dtype));
    nv_put_list(e->b, indent + 4, items, 4, ");");
  }
}

/* The last elements of a row whose length is no multiple of 4, one by one. */
