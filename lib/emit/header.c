/* header.c - NAME.h: the shared types, the structs of arrays of every entry, and the documented functions. */
#include "stub.h"

#include <inttypes.h>
#include <string.h>

extern const char nv_embed_abi[];
extern const size_t nv_embed_abi_size;

/* ---- the head ---- */

/* The first input filled in, as a line of the example. */
static void put_example_input(nv_buf *b, const nv_graph *g, const char *access) {
  const nv_port *port = &g->inputs[0];
  const nv_shape shape = nv_shape_at(g, port->value);
  const uint32_t rank = nv_shape_rank(g->c, shape);
  if (rank) {
    nv_puts(b, " *   const int64_t shape[] = {");
    for (uint32_t k = 0; k < rank; k++)
      nv_printf(b, "%s%" PRId64, k ? ", " : "", nv_dim_value(g->c, nv_shape_dims(g->c, shape)[k]));
    nv_puts(b, "};\n");
  }
  nv_printf(b, " *   %s = (nuvec_array){.host = data, .bytes = %" PRId64 ", .shape = %s, .rank = %u,\n"
            " *       .dtype = %s};%s\n", access, nv_value_bytes(g, port->value), rank ? "shape" : "NULL",
            (unsigned)rank, nv_dtype_constant[nv_dtype_of(g, port->value)], g->ninputs > 1 ? " // and the others" : "");
}

/* A way to call the first entry, as a comment. */
static void put_example(nv_buf *b, const nv_module *m, const nv_fields *in, const nv_fields *out) {
  const nv_program *p = &m->programs[0];
  const nv_graph *g = p->plan->graph;
  const char *s = p->symbol, *name = m->prefix_c;
  const bool tree = p->style == NV_STYLE_TREE;
  nv_buf input, output;
  nv_buf_init(&input, m->c);
  nv_buf_init(&output, m->c);
  nv_puts(&input, tree ? "in." : "in[0]");
  nv_puts(&output, tree ? "out." : "out[0]");
  if (tree && g->ninputs) nv_put_field(&input, in, 0);
  if (tree && g->noutputs) nv_put_field(&output, out, 0);
  nv_printf(b, " *   %s_context *context;\n", name);
  nv_printf(b, " *   if (%s_create(NULL, &context) != NUVEC_OK)%sputs(%s_error(context));\n", name,
            strlen(name) > 28 ? "\n *     " : " ", name);
  if (tree) nv_printf(b, " *   %s_inputs in = {0};\n *   %s_outputs out = {0};\n", s, s);
  else nv_printf(b, " *   nuvec_array in[%u] = {0}, out[%u] = {0};\n", (unsigned)g->ninputs + !g->ninputs,
                 (unsigned)g->noutputs + !g->noutputs);
  if (g->ninputs) put_example_input(b, g, nv_buf_text(&input));
  const char *arguments = "&in, &out";
  if (!tree) arguments = nv_format(m->c, "in, %u, out, %u", (unsigned)g->ninputs, (unsigned)g->noutputs);
  const char *call = nv_format(m->c, " *   if (%s_call(context, %s) != NUVEC_OK)", s, arguments);
  nv_printf(b, "%s%sputs(%s_error(context));\n", call, strlen(call) + strlen(name) > 90 ? "\n *     " : " ", name);
  if (g->noutputs)
    nv_printf(b, " *   else use(%s.host);\n *   %s_release(&%s);\n", nv_buf_text(&output), name, nv_buf_text(&output));
  nv_printf(b, " *   %s_destroy(context);\n", name);
}

static void put_head(nv_buf *b, const nv_module *m, const nv_fields *in, const nv_fields *out) {
  const char *name = m->prefix_c;
  nv_printf(b, "/* %s.h - made by nuvecc " NUVECC_VERSION " from a spec: don't edit.\n *\n", name);
  nv_puts(b, " * A graph of array functions, compiled to Metal kernels. For example:\n *\n");
  if (m->nprograms) put_example(b, m, in, out);
  nv_puts(b, " *\n"
" * An app adds NAME.c and NAME.h, ships NAME.metallib, and links with Metal and Foundation. Usable from C, C++,\n"
" * Objective-C and Swift. Metal's objects are void * here. Under ARC pass (__bridge void *)buffer and read\n"
" * (__bridge id<MTLBuffer>)array.buffer; in Swift Unmanaged.passUnretained(buffer).toOpaque() and\n"
" * Unmanaged<MTLBuffer>.fromOpaque(pointer).takeUnretainedValue(). The app's objects must live until a call returns.\n"
" *\n"
" * Errors: a function that returns a nuvec_status did all of its work (NUVEC_OK) or nothing that shows: then arrays\n"
" * are as they were, but for what outputs' buffers hold when the GPU gave up. NAME_error has the text. Nothing\n"
" * aborts or prints.\n"
" *\n"
" * Threads: a context may be used from several threads at once; calls on it run side by side, each on memory of its\n"
" * own. Arrays of a call belong to it until it returns.\n"
" *\n"
" * This file is yours: nuvecc's text in it asks for no licence notice, in source or in binaries. */\n");
  nv_printf(b, "#ifndef NUVEC_GRAPH_%s_H\n#define NUVEC_GRAPH_%s_H\n\n", name, name);
  nv_put(b, nv_embed_abi, nv_embed_abi_size);
}

/* ---- the context ---- */

static void put_context(nv_buf *b, const nv_module *m) {
  const char *name = m->prefix_c;
  nv_puts(b, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  nv_printf(b, "/* Device, queue, metallib, pipelines, and the memory that calls need in between. */\n"
               "typedef struct %s_context %s_context;\n\n", name, name);
  nv_printf(b,
"/* Makes a context; options NULL: the defaults. Loads the metallib, checks that it is of this graph and that system\n"
" * and GPU can run it, and makes all pipelines: do it once. *context is set whatever the status (to NULL for lack of\n"
" * memory): after a failure %s_error has the text, and %s_destroy frees it.\n"
" * NUVEC_METALLIB, NUVEC_WRONG_METALLIB, NUVEC_MISSING_KERNEL, NUVEC_OS_TOO_OLD, NUVEC_GPU_TOO_OLD,\n"
" * NUVEC_OUT_OF_MEMORY; NUVEC_NULL when context is NULL. */\n"
"nuvec_status %s_create(const nuvec_options *options, %s_context **context);\n\n", name, name, name, name);
  nv_printf(b,
"/* Frees a context; NULL is fine. Outputs' buffers live on. NUVEC_BUSY, and nothing freed, while a call runs. */\n"
"nuvec_status %s_destroy(%s_context *context);\n\n", name, name);
  nv_printf(b,
"/* Text of the calling thread's last failure on this context: what was expected, what came, and where. Never NULL;\n"
" * \"\" when nothing failed. It stays until the same thread's next failure, the 64th other thread's, or the end of\n"
" * the context. */\n"
"const char *%s_error(%s_context *context);\n\n", name, name);
  nv_printf(b,
"/* Gives back the buffer of an output that a call allocated, and clears its memory fields. Needs no context. */\n"
"void %s_release(nuvec_array *array);\n", name);
}

/* ---- entries ---- */

static void put_ports(nv_buf *b, const nv_graph *g, const char *what, const nv_port *ports, uint32_t n,
                      const uint32_t *align) {
  for (uint32_t k = 0; k < n; k++) {
    nv_printf(b, " *   %s %u  ", what, (unsigned)k);
    nv_put_comment(b, nv_text(g->c, ports[k].name));
    nv_puts(b, ": ");
    nv_put_value_type(b, g, ports[k].value);
    nv_printf(b, ", %" PRId64 " bytes", nv_value_bytes(g, ports[k].value));
    if (align[k] > nv_dtype_size[nv_dtype_of(g, ports[k].value)])
      nv_printf(b, ", offset a multiple of %u", (unsigned)align[k]);
    nv_putc(b, '\n');
  }
}

static void put_signatures(nv_buf *b, const nv_module *m, uint32_t first, uint32_t end) {
  for (uint32_t k = first; k < end; k++) {
    const nv_plan *p = m->programs[k].plan;
    const uint32_t *align = nv_port_aligns(p);
    if (end - first > 1) nv_printf(b, " * Signature %u:\n", (unsigned)(k - first));
    put_ports(b, p->graph, "input", p->graph->inputs, p->graph->ninputs, align);
    put_ports(b, p->graph, "output", p->graph->outputs, p->graph->noutputs, align + p->graph->ninputs);
  }
}

static void put_struct(nv_buf *b, const char *symbol, const char *what, const nv_fields *f, uint32_t n) {
  nv_printf(b, "typedef struct %s_%s {\n", symbol, what);
  if (n) nv_put_fields(b, f);
  else nv_puts(b, "  int none; /* C has no empty structs */\n");
  nv_printf(b, "} %s_%s;\n\n", symbol, what);
}

static void put_entry(nv_buf *b, const nv_module *m, uint32_t first, uint32_t end, const nv_fields *in,
                      const nv_fields *out) {
  const nv_program *p = &m->programs[first];
  const nv_graph *g = p->plan->graph;
  const char *s = p->symbol, *name = m->prefix_c;
  const bool tree = p->style == NV_STYLE_TREE;
  const char *arguments = tree ? nv_format(m->c, "const %s_inputs *inputs, %s_outputs *outputs", s, s)
                               : "const nuvec_array *inputs, size_t ninputs, nuvec_array *outputs, size_t noutputs";
  int64_t scratch = 0;
  for (uint32_t k = first; k < end; k++)
    if (nv_scratch_bytes(m->programs[k].plan) > scratch) scratch = nv_scratch_bytes(m->programs[k].plan);
  nv_printf(b, "\n/* ---- entry %s ----\n", nv_text(m->c, p->entry->name));
  put_signatures(b, m, first, end);
  nv_puts(b, " */\n");
  if (tree) {
    put_struct(b, s, "inputs", in, g->ninputs);
    put_struct(b, s, "outputs", out, g->noutputs);
  }
  nv_printf(b, "/* Bytes of device memory that a call of %s needs for intermediates, at most. */\n"
               "#define %s_SCRATCH_BYTES ((size_t)%" PRId64 ")\n\n", s, s, scratch);
  nv_printf(b,
"/* Runs the graph and waits for it. Every input's dtype, rank, shape and memory must be set%s.\n"
" * Outputs start from all zeros: without memory of their own they are allocated; where shape is set, dtype, rank and\n"
" * shape are checked; on success dtype, rank, shape (constants of this library) and strides (NULL) are set. Outputs\n"
" * that a call has filled in may be given to the next one as they are, which then allocates nothing.\n"
" * NUVEC_DTYPE, NUVEC_RANK, NUVEC_SHAPE%s, NUVEC_STRIDES, NUVEC_NULL,\n"
" * NUVEC_SHORT_BUFFER, NUVEC_MISALIGNED, NUVEC_ALIASING, NUVEC_OUT_OF_MEMORY, NUVEC_BUFFER_LIMIT,\n"
" * NUVEC_GPU_ERROR. */\n",
            end - first > 1 ? ": they select the signature" : "",
            end - first > 1 ? ", NUVEC_SIGNATURE (none fits)"
            : tree          ? ""
                            : ", NUVEC_SIGNATURE (wrong numbers of arrays)");
  nv_put_code(b, 0, "nuvec_status %s_call(%s_context *context, %s);", s, name, arguments);
  nv_printf(b,
"\n/* What a call with such inputs would make: sets dtype, rank, shape, strides and bytes of every output, leaving\n"
" * its memory alone, and *scratch to the bytes of device memory in between. Of the inputs only dtype, rank, shape\n"
" * and strides count. outputs and scratch may be NULL. Allocates nothing. Errors as those of a call. */\n");
  nv_put_code(b, 0, "nuvec_status %s_shapes(%s_context *context, %s, size_t *scratch);", s, name, arguments);
  nv_printf(b,
"\n/* %s_call for dlopen and foreign functions: %u input%s and %u output%s as plain\n"
" * arrays, in the order above. */\n",
            s, (unsigned)g->ninputs, g->ninputs == 1 ? "" : "s", (unsigned)g->noutputs, g->noutputs == 1 ? "" : "s");
  nv_put_code(b, 0, "nuvec_status %s_packed(%s_context *context, const nuvec_array *inputs, size_t ninputs, "
          "nuvec_array *outputs, size_t noutputs);", s, name);
}

void nv_emit_header(nv_buf *b, const nv_module *m) {
  nv_check_stub(m);
  for (uint32_t first = 0, end; first < m->nprograms; first = end) {
    const nv_graph *g = m->programs[first].plan->graph;
    const nv_fields *in = nv_fields_make(m->c, g->inputs, g->ninputs);
    const nv_fields *out = nv_fields_make(m->c, g->outputs, g->noutputs);
    if (!first) {
      put_head(b, m, in, out);
      put_context(b, m);
    }
    end = nv_entry_end(m, first);
    put_entry(b, m, first, end, in, out);
  }
  nv_puts(b, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
