/* metal_tables.c - constant arrays in the .metal file: tables in the constant address space, each once a module. */
#include "../ir/data.h"
#include "metal_gen.h"

const char *nv_table_name(nv_ctx *c, const nv_data *d) {
  return nv_format(c, "nv_table_%016llx", (unsigned long long)d->hash);
}

static void put_table(nv_buf *b, const nv_data *d) {
  const size_t n = d->n / nv_dtype_size[d->dtype];
  nv_puts(b, "\n// ");
  if (d->name) nv_printf(b, "%s: ", nv_text(b->c, d->name));
  nv_puts(b, nv_dtype_name[d->dtype]);
  nv_put_shape(b, d->shape);
  nv_printf(b, "\nalignas(16) static constexpr constant %s %s[%zu] = {", nv_msl_type(d->dtype), nv_table_name(b->c, d),
            n);
  uint32_t column = NV_COLUMNS;
  for (size_t i = 0; i < n; i++) {
    nv_buf item;
    nv_buf_init(&item, b->c);
    nv_put_literal(&item, d->dtype, nv_data_bits(d, i));
    if (column + item.n + 2 > NV_COLUMNS) {
      nv_puts(b, "\n   ");
      column = 3;
    }
    nv_putc(b, ' ');
    nv_put(b, item.p, item.n);
    if (i + 1 < n) nv_putc(b, ',');
    column += item.n + 2;
    nv_drop(b->c, item.p);
  }
  nv_puts(b, "};\n");
}

void nv_put_tables(nv_buf *b, const nv_module *m) {
  bool *put = NV_NEW_N(b->c, bool, (size_t)nv_data_count(b->c) + 1);
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_plan *p = m->programs[i].plan;
    for (uint32_t l = 0; p && l < p->nkernels; l++) {
      const nv_kernel *k = &p->kernels[l];
      for (uint32_t o = k->noperands - k->ntables; o < k->noperands; o++) {
        const nv_node_rec *n = nv_node_of(p->graph, k->operands[o].value);
        const uint32_t id = (uint32_t)nv_attr_list(b->c, n->attr)[0];
        if (!put[id]) put_table(b, nv_data_at(b->c, id));
        put[id] = true;
      }
    }
  }
}

void nv_gen_tables(nv_gen *e) {
  const nv_kernel *k = e->k;
  for (uint32_t o = k->noperands - k->ntables; o < k->noperands; o++) {
    const nv_dtype d = (nv_dtype)k->operands[o].dtype;
    const char *table = nv_table_name(e->c, nv_data_of(e->g, k->operands[o].value));
    if (e->vector[o] && !e->tail)
      nv_line(e->b, 2, "const constant %s* %s = (const constant %s*)%s;", nv_gen_vector_type(e, d), e->buffer[o],
              nv_gen_vector_type(e, d), table);
    else
      nv_line(e->b, 2, "const constant %s* %s = %s;", nv_msl_type(d), e->buffer[o], table);
  }
}
