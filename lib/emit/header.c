/* header.c - NAME.h: the shared types and the context; header_entry.c has what is there for each entry. */
#include "metal.h"
#include "stub.h"

#include <inttypes.h>
#include <string.h>

extern const char nv_embed_abi[];
extern const size_t nv_embed_abi_size;

/* ---- the head ---- */

/* The first input of a call filled in, as lines of the example. */
static void put_example_input(nv_buf *b, const nv_view *v, uint32_t k, const char *access) {
  const nv_graph *g = v->program->plan->graph;
  const nv_port *port = &g->inputs[k];
  const nv_shape shape = nv_shape_at(g, port->value);
  const uint32_t rank = nv_shape_rank(g->c, shape);
  uint32_t more = 0;
  for (uint32_t i = 0; i < g->ninputs; i++) more += i != k && v->inputs[0][i].source == NV_FROM_CALL;
  if (rank) {
    nv_puts(b, " *   const int64_t shape[] = {");
    for (uint32_t d = 0; d < rank; d++) {
      nv_puts(b, d ? ", " : "");
      nv_put_size_comment(b, nv_shape_dims(g->c, shape)[d]);
    }
    nv_puts(b, nv_shape_is_static(g->c, shape) ? "};\n" : "}; // open sizes: as the call has them\n");
  }
  nv_printf(b, " *   %s = (nuvec_array){.host = data, .bytes = ", access);
  nv_put_size_comment(b, nv_value_size(g, port->value));
  nv_printf(b, ", .shape = %s, .rank = %u,\n *       .dtype = %s};%s\n", rank ? "shape" : "NULL", (unsigned)rank,
            nv_dtype_constant[nv_dtype_of(g, port->value)], more || v->nkeys ? " // and the others" : "");
}

static const char *access_of(const nv_view *v, const char *base, nv_spot s, bool output) {
  if (v->flat) return nv_format(v->m->c, "%s[%u]", base, (unsigned)s.item);
  nv_buf b;
  nv_buf_init(&b, v->m->c);
  nv_printf(&b, "%s.", base);
  nv_put_spot(&b, v, s, output);
  return nv_keep(&b);
}

/* A way to call the first entry, as a comment. */
static void put_example(nv_buf *b, const nv_view *v) {
  const nv_graph *g = v->program->plan->graph;
  const char *s = v->program->symbol, *name = v->m->prefix_c, *owner = v->bound ? "function" : "context";
  uint32_t in = 0, out = 0;
  while (in < g->ninputs && v->inputs[0][in].source != NV_FROM_CALL) in++;
  while (out < g->noutputs && v->outputs[0][out].source != NV_FROM_CALL) out++;
  nv_printf(b, " *   %s_context *context;\n", name);
  nv_printf(b, " *   if (%s_create(NULL, &context) != NUVEC_OK)%sputs(%s_error(context));\n", name,
            strlen(name) > 28 ? "\n *     " : " ", name);
  if (v->bound)
    nv_printf(b, " *   %s_bound bound = {0}; // the inputs that are given once, filled in as those of a call\n"
              " *   %s_function *function;\n *   %s_function_create(context, NULL, &bound, &function);\n", s, s, s);
  if (v->program->style == NV_STYLE_MUT)
    nv_printf(b, " *   %s_state *state;\n *   %s_state_create(%s, NULL, &state); // zeros\n", s, s, owner);
  if (v->fields[NV_FROM_STATICS]) nv_printf(b, " *   %s_statics statics = {0}; // filled in\n", s);
  if (!v->flat) nv_printf(b, " *   %s_inputs in = {0};\n *   %s_outputs out = {0};\n", s, s);
  else nv_printf(b, " *   nuvec_array in[%u] = {0}, out[%u] = {0};\n", (unsigned)g->ninputs + !g->ninputs,
                 (unsigned)g->noutputs + !g->noutputs);
  if (in < g->ninputs) put_example_input(b, v, in, access_of(v, "in", v->inputs[0][in], false));
  const char *arguments = "&in, &out";
  if (v->flat)
    arguments = nv_format(v->m->c, "%sin, %u, out, %u", v->fields[NV_FROM_STATICS] ? "&statics, " : "",
                          (unsigned)g->ninputs, (unsigned)g->noutputs);
  const bool mut = v->program->style == NV_STYLE_MUT;
  const char *call = nv_format(v->m->c, " *   if (%s_%s(%s, %s) != NUVEC_OK)", s, mut ? "step" : "call",
                               mut ? "state" : owner, arguments);
  nv_printf(b, "%s%sputs(%s_error(context));\n", call, strlen(call) + strlen(name) > 90 ? "\n *     " : " ", name);
  if (out < g->noutputs) {
    const char *result = access_of(v, "out", v->outputs[0][out], true);
    nv_printf(b, " *   else use(%s.host);\n *   %s_release(&%s);\n", result, name, result);
  }
  if (mut) nv_printf(b, " *   %s_state_destroy(state);\n", s);
  if (v->bound) nv_printf(b, " *   %s_function_destroy(function);\n", s);
  nv_printf(b, " *   %s_destroy(context);\n", name);
}

static void put_head(nv_buf *b, const nv_module *m, const nv_view *v) {
  const char *name = m->prefix_c;
  nv_printf(b, "/* %s.h - made by nuvecc " NUVECC_VERSION " from a spec: don't edit.\n *\n", name);
  nv_puts(b, " * A graph of array functions, compiled to Metal kernels. For example:\n *\n");
  put_example(b, v);
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
" * own. Arrays and memory of a call belong to it until it returns; of an asynchronous or encoded one the memory, and\n"
" * an asynchronous one's outputs, until it is over. Function objects are like contexts in this.\n"
" *\n"
" * This file is yours: nuvecc's text in it asks for no licence notice, in source or in binaries. */\n");
  nv_printf(b, "#ifndef NUVEC_GRAPH_%s_H\n#define NUVEC_GRAPH_%s_H\n\n", name, name);
  nv_put(b, nv_embed_abi, nv_embed_abi_size);
  nv_puts(b, "\n#ifndef NUVEC_VERSION\n#define NUVEC_VERSION \"" NUVECC_VERSION "\" /* of nuvecc */\n#endif\n");
}

/* ---- the context ---- */

static void put_create_with(nv_buf *b, const char *name) {
  nv_printf(b,
"/* The constant arrays stand in %s.data, which must come with the metallib.\n"
" * %s_create maps the file beside the metallib that the options name, else in the\n"
" * app's bundle or beside the executable; NUVEC_FILE: it isn't there, or came with another stub. This function takes\n"
" * its bytes from memory instead: not copied where they start at a multiple of 16384, and then they must live as\n"
" * long as the context. */\n", name, name);
  nv_put_code(b, 0, "nuvec_status %s_create_with(const nuvec_options *options, const void *data, size_t length, "
                    "%s_context **context);", name, name);
  nv_putc(b, '\n');
}

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
  if (m->has_data) put_create_with(b, name);
  nv_printf(b,
"/* Frees a context; NULL is fine. Outputs' buffers live on. NUVEC_BUSY, and nothing freed, while a call is in flight\n"
" * or a function object or state of the context is still there. */\n"
"nuvec_status %s_destroy(%s_context *context);\n\n", name, name);
  nv_printf(b,
"/* Waits until no call on the context is in flight: asynchronous ones have told, encoded ones' command buffers have\n"
" * completed. Not from a callback. */\n"
"nuvec_status %s_wait(%s_context *context);\n\n", name, name);
  nv_printf(b,
"/* Text of the calling thread's last failure on this context: what was expected, what came, and where. Never NULL;\n"
" * \"\" when nothing failed. It stays until the same thread's next failure, the 64th other thread's, or the end of\n"
" * the context. */\n"
"const char *%s_error(%s_context *context);\n\n", name, name);
  nv_printf(b,
"/* Gives back the buffer of an output that a call allocated, and clears its memory fields%s Needs no context. */\n"
"void %s_release(nuvec_array *array);\n", nv_any_open(m) ? "\n * and its shape." : ".", name);
}

void nv_emit_header(nv_buf *b, const nv_module *m) {
  nv_check_stub(m);
  for (uint32_t first = 0; first < m->nprograms; first = nv_entry_end(m, first)) {
    const nv_view *v = nv_view_of(m, first);
    if (!first) {
      put_head(b, m, v);
      put_context(b, m);
    }
    nv_put_entry_header(b, v);
  }
  nv_puts(b, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
