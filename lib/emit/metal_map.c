/* metal_map.c - MAP kernels: a thread a point, or four points along the innermost dim. */
#include "metal_gen.h"

/* How often results of the point function are wanted. */
static uint32_t result_uses(const nv_gen *e) {
  uint32_t n = 0;
  for (uint32_t i = 0; i <= e->inner && i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    n += (p->kind == NV_I_STORE || p->kind == NV_I_REDUCE) && e->k->instrs[p->arg[0]].kind == NV_I_OP;
  }
  return n;
}

static void put_tail(nv_gen *e, uint32_t indent) {
  nv_ctx *c = e->c;
  const char **at = NV_NEW_N(c, const char *, e->k->ninstrs + 1), **items = NV_NEW_N(c, const char *, e->nparams + 1);
  const char *variable = e->index.variables[0];
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i];
    int64_t coefficient;
    nv_dim rest;
    if (!nv_moves(p)) continue;
    at[i] = nv_format(c, "%s[%s]", e->buffer[p->operand], variable);
    if (nv_dim_linear(c, p->offset, e->k->symbol[0], &coefficient, &rest) && nv_dim_value(c, rest))
      at[i] = nv_format(c, "%s[%s + %lldu]", e->buffer[p->operand], variable, (long long)nv_dim_value(c, rest));
  }
  const char *values = NULL;
  if (e->nresults) {
    for (uint32_t i = 0; i < e->nparams; i++)
      items[i] = at[e->params[i]] && e->vector[e->k->instrs[e->params[i]].operand] ? at[e->params[i]]
                                                                                   : e->text[e->params[i]];
    values = nv_names_fresh(&e->names, "p");
    for (uint32_t s = 0; s < indent; s++) nv_putc(e->b, ' ');
    if (e->nresults > 1)
      nv_printf(e->b, "%s_values", e->stem);
    else
      nv_puts(e->b, nv_msl_type((nv_dtype)e->k->instrs[e->results[0]].dtype));
    nv_printf(e->b, " %s = %s_point", values, e->stem);
    nv_put_list(e->b, indent + 4, items, e->nparams, ");");
  }
  for (uint32_t i = 0; i < e->k->ninstrs; i++) {
    const nv_instr *p = &e->k->instrs[i], *from = &e->k->instrs[p->arg[0]];
    if (p->kind != NV_I_STORE) continue;
    if (from->kind == NV_I_OP && e->nresults > 1)
      nv_line(e->b, indent, "%s = %s.%s;", at[i], values, e->field[p->arg[0]]);
    else
      nv_line(e->b, indent, "%s = %s;", at[i],
              from->kind == NV_I_OP                                 ? values
              : from->kind == NV_I_LOAD && e->vector[from->operand] ? at[p->arg[0]]
                                                                    : e->text[p->arg[0]]);
  }
}

void nv_gen_map(nv_gen *e) {
  const nv_kernel *k = e->k;
  nv_buf *b = e->b;
  for (uint32_t d = 0; d < k->rank; d++)
    if (nv_index_uses(&e->index, e->index.symbols[d]))
      nv_printf(b, "  uint %s = pos.%c%s;\n", e->index.variables[d], nv_component_names[k->rank - 1 - d],
                e->tail ? " * 4u" : "");
  nv_index_declare(&e->index, b, 2, k->folds ? k->reduce_symbol : NV_NONE);
  if (k->guarded) {
    nv_line(b, 2, "if (%s >= %lld%s) {", nv_index_text(&e->index, e->guard), (long long)e->limit,
            e->limit < NV_NARROW ? "u" : "ul");
    nv_puts(b, "    return;\n  }\n");
  }
  if (k->folds) {
    nv_gen_fold(e);
    return;
  }
  if (e->width == 1) {
    nv_gen_scalar(e, 2, 0, k->ninstrs);
    return;
  }
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_LOAD && !e->vector[k->instrs[i].operand] && !nv_picks(&k->instrs[i]))
      nv_line(b, 2, "%s %s = %s[%s];", nv_msl_type((nv_dtype)k->instrs[i].dtype), e->text[i],
              e->buffer[k->instrs[i].operand], nv_index_text(&e->index, e->offset[i]));
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].kind == NV_I_INDEX)
      nv_line(b, 2, "%s %s = %s;", nv_msl_type((nv_dtype)k->instrs[i].dtype), e->text[i], nv_gen_index(e, i));
  nv_gen_leads(e, 2);
  const char *extent = nv_index_size(&e->index, k->extent[k->rank - 1], false);
  const uint32_t indent = e->tail ? 4 : 2;
  if (e->tail) nv_printf(b, "  if (%s + 4u <= %s) {\n", e->index.variables[0], extent);
  nv_gen_vector_loads(e, indent);
  if (e->nresults) nv_gen_calls(e, indent, result_uses(e) == 1);
  nv_gen_vector_stores(e, indent);
  if (e->tail) {
    nv_printf(b, "  } else {\n    for (; %s < %s; ++%s) {\n", e->index.variables[0], extent,
              e->index.variables[0]);
    put_tail(e, 6);
    nv_puts(b, "    }\n  }\n");
  }
}
