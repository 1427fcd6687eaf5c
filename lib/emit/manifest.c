/* manifest.c - NAME.nuvec.json: what was generated from what, and what it needs to run. */
#include "../ir/data.h"
#include "metal.h"
#include "stub.h"

static const char *const styles[] = {"tree", "flat", "mut"};

/* Least language version: bfloat is new in 3.1, the rest is in 2.3. */
static uint32_t language(const nv_kernel *k) {
  for (uint32_t i = 0; i < k->ninstrs; i++)
    if (k->instrs[i].dtype == NV_BF16) return 310;
  return 230;
}

/* GPU families of which one is needed, the simdgroup's width where its threads exchange values:
 * Metal's feature set tables. */
static void put_kernel(nv_buf *b, nv_ctx *c, const nv_kernel *k) {
  const bool simd = nv_kernel_is_simd(c, k);
  nv_puts(b, "    {\"name\": ");
  nv_put_json_text(b, k->name);
  nv_printf(b, ", \"msl\": %u, \"families\": %s, \"simd_width\": %s, \"buffers\": %u}", (unsigned)language(k),
            simd ? "[\"apple7\", \"mac2\"]" : "[\"apple4\", \"mac1\"]", simd ? "32" : "null",
            (unsigned)(k->noperands - k->ntables));
}

static void put_ports(nv_buf *b, const nv_graph *g, const nv_port *ports, uint32_t n) {
  nv_putc(b, '[');
  for (uint32_t i = 0; i < n; i++) {
    const nv_shape s = nv_shape_at(g, ports[i].value);
    nv_puts(b, i ? ",\n             {\"name\": " : "\n             {\"name\": ");
    nv_put_json_text(b, nv_text(g->c, ports[i].name));
    nv_printf(b, ", \"dtype\": \"%s\", \"shape\": [", nv_dtype_name[nv_dtype_of(g, ports[i].value)]);
    for (uint32_t d = 0; d < nv_shape_rank(g->c, s); d++) {
      nv_puts(b, d ? ", " : "");
      nv_put_json_dim(b, nv_shape_dims(g->c, s)[d]);
    }
    nv_puts(b, "]}");
  }
  nv_puts(b, n ? "\n           ]" : "]");
}

static void put_signature(nv_buf *b, const nv_program *p) {
  nv_printf(b, "        {\"signature\": %u,\n         \"inputs\": ", (unsigned)p->signature);
  put_ports(b, p->traced, p->traced->inputs, p->traced->ninputs);
  nv_puts(b, ",\n         \"outputs\": ");
  put_ports(b, p->traced, p->traced->outputs, p->traced->noutputs);
  nv_puts(b, ",\n         \"launches\": [");
  for (uint32_t i = 0; i < p->plan->nlaunches; i++) {
    nv_puts(b, i ? ", " : "");
    nv_put_json_text(b, p->plan->kernels[p->plan->launches[i].kernel].name);
  }
  nv_puts(b, "],\n         \"scratch_bytes\": ");
  nv_put_amount(b, p->plan->scratch_bytes, true);
  nv_put_json_sizes(b, p->plan, "         ");
  nv_putc(b, '}');
}

static void put_options(nv_buf *b, const nuvecc_options *o) {
  nv_printf(b, "  \"options\": {\"shapeless\": %s, \"simplify\": %s, \"fuse\": %s, \"pow\": \"%s\", \"entry\": ",
            o->shapeless ? "true" : "false", o->no_simplify ? "false" : "true", o->no_fuse ? "false" : "true",
            o->fast_pow ? "fast" : "precise");
  if (o->entry)
    nv_put_json_text(b, o->entry);
  else
    nv_puts(b, "null");
  nv_puts(b, "},\n");
}

/* The constant arrays of NAME.data. */
static void put_data(nv_buf *b, const nv_module *m) {
  uint32_t n = 0;
  nv_printf(b, "  \"data\": {\"bytes\": %lld, \"hash\": \"%016llx\", \"arrays\": [", (long long)m->data_bytes,
            (unsigned long long)m->data_hash);
  for (uint32_t k = 0; k < nv_data_count(m->c); k++) {
    const nv_data *d = nv_data_at(m->c, k);
    if (d->offset < 0) continue;
    nv_puts(b, n++ ? ",\n    {\"name\": " : "\n    {\"name\": ");
    if (d->name) nv_put_json_text(b, nv_text(m->c, d->name));
    else nv_puts(b, "null");
    nv_printf(b, ", \"dtype\": \"%s\", \"shape\": ", nv_dtype_name[d->dtype]);
    nv_put_shape(b, d->shape);
    nv_printf(b, ", \"offset\": %lld}", (long long)d->offset);
  }
  nv_puts(b, n ? "\n  ]},\n" : "]},\n");
}

void nv_emit_manifest(nv_buf *b, const nv_module *m) {
  static const char *const endings[] = {"metal", "c", "h", "mk"};
  const nv_target *t = m->c->target;
  nv_printf(b, "{\n  \"format\": \"nuvec-manifest-1\",\n  \"nuvecc\": \"%s\",\n  \"name\": ", NUVECC_VERSION);
  nv_put_json_text(b, m->name);
  nv_printf(b,
            ",\n  \"target\": {\"name\": \"%s\", \"os\": \"%s\", \"os_version\": \"%u.%u\", \"std\": \"%s\", "
            "\"msl\": %u},\n",
            t->name, t->os, (unsigned)t->os_major, (unsigned)t->os_minor, t->std, (unsigned)t->msl);
  put_options(b, &m->c->options);
  nv_puts(b, "  \"files\": [");
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    nv_printf(b, "%s\"%s.%s\"", i ? ", " : "", m->name, endings[i]);
  if (m->has_data) nv_printf(b, ", \"%s.data\"", m->name);
  nv_puts(b, "],\n  \"tie\": ");
  nv_put_json_text(b, nv_tie_name(m));
  nv_puts(b, ",\n  \"kernels\": [");
  uint32_t next = 0;
  for (uint32_t i = 0; i < m->nprograms; i++)
    for (uint32_t j = 0; j < m->programs[i].plan->nkernels; j++) {
      const nv_kernel *k = &m->programs[i].plan->kernels[j];
      if (k->emitted != next) continue;
      nv_puts(b, next++ ? ",\n" : "\n");
      put_kernel(b, m->c, k);
    }
  nv_puts(b, next ? "\n  ],\n" : "],\n");
  if (m->has_data) put_data(b, m);
  nv_puts(b, "  \"entries\": [");
  for (uint32_t i = 0; i < m->nprograms; i++) {
    const nv_program *p = &m->programs[i];
    const bool first = !i || m->programs[i - 1].entry != p->entry;
    if (first) {
      nv_puts(b, i ? "\n      ]}" : "");
      nv_puts(b, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
      nv_put_json_text(b, nv_text(m->c, p->entry->name));
      nv_puts(b, ", \"symbol\": ");
      nv_put_json_text(b, p->symbol);
      nv_printf(b, ", \"style\": \"%s\", \"signatures\": [\n", styles[p->style]);
    } else {
      nv_puts(b, ",\n");
    }
    put_signature(b, p);
  }
  nv_puts(b, m->nprograms ? "\n      ]}\n  ]\n}\n" : "]\n}\n");
}
