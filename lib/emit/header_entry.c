/* header_entry.c - NAME.h: the structs of an entry and its documented functions. */
#include "metal.h"
#include "stub.h"

#include "../ir/sizes.h"

#include <inttypes.h>
#include <string.h>

/* ---- signatures ---- */

static void put_ports(nv_buf *b, const nv_graph *g, const char *what, const nv_port *ports, uint32_t n,
                      const nv_spot *spots, const uint32_t *align) {
  enum { LONGEST_TYPE = 60 }; /* of open sizes, before the size in bytes */
  int64_t known;
  for (uint32_t k = 0; k < n; k++) {
    nv_printf(b, " *   %s %u  ", what, (unsigned)k);
    nv_put_comment(b, nv_text(g->c, ports[k].name));
    nv_puts(b, ": ");
    nv_buf type;
    nv_buf_init(&type, g->c);
    nv_put_value_type(&type, g, ports[k].value);
    const nv_dim bytes = nv_value_size(g, ports[k].value);
    if (type.n + nv_dim_size(g->c, bytes) < LONGEST_TYPE || nv_dim_is_const(g->c, bytes, &known)) {
      nv_put_comment(b, nv_buf_text(&type));
      nv_puts(b, ", ");
      nv_put_size_comment(b, bytes);
      nv_puts(b, " bytes");
    } else {
      nv_printf(b, "%s, rank %u", nv_dtype_name[nv_dtype_of(g, ports[k].value)],
                (unsigned)nv_shape_rank(g->c, nv_shape_at(g, ports[k].value)));
    }
    nv_drop(g->c, type.p);
    if (align[k] > nv_dtype_size[nv_dtype_of(g, ports[k].value)])
      nv_printf(b, ", offset a multiple of %u", (unsigned)align[k]);
    if (spots[k].source == NV_FROM_BOUND) nv_puts(b, " (bound)");
    if (spots[k].source == NV_FROM_STATE) nv_puts(b, " (state)");
    nv_putc(b, '\n');
  }
}

static void put_float(nv_buf *b, int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  nv_put_double(b, x);
}

/* "steps 14, act relu": what the call says beside its arrays. */
static void put_key_values(nv_buf *b, const nv_view *v, uint32_t i) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < v->nkeys; k++) {
    const nv_view_key *key = &v->keys[k];
    if (!key->has[i]) continue;
    nv_puts(b, n++ ? ", " : " ");
    nv_put_comment(b, nv_text(v->m->c, key->path));
    nv_putc(b, ' ');
    if (key->kind == NV_KEY_CHOICE || key->kind == NV_KEY_VARIANT)
      nv_put_comment(b, nv_text(v->m->c, key->choices[key->values[i]]));
    else if (key->kind == NV_KEY_FLOAT) put_float(b, key->values[i]);
    else nv_printf(b, "%" PRId64, key->values[i]);
  }
}

/* Sizes that a call says, and what they must keep to. */
static void put_sizes(nv_buf *b, const nv_graph *g) {
  enum { LONGEST_GUARD = 100 };
  for (uint32_t k = 0; k < g->nsources; k++) {
    int64_t least, most;
    nv_dim_bounds(g->c, g->sources[k].symbol, &least, &most);
    nv_puts(b, " *   size ");
    nv_put_size_comment(b, g->sources[k].symbol);
    nv_printf(b, ": from %" PRId64, least);
    if (most < NV_NO_MOST) nv_printf(b, " to %" PRId64, most);
    nv_putc(b, '\n');
  }
  for (uint32_t k = 0; k < g->nguards; k++) {
    nv_buf text;
    nv_buf_init(&text, g->c);
    nv_put_guard(&text, &g->guards[k]);
    nv_puts(b, " *   must hold: ");
    if (text.n > LONGEST_GUARD) text.n = LONGEST_GUARD;
    nv_put_comment(b, nv_buf_text(&text));
    nv_putc(b, '\n');
    nv_drop(g->c, text.p);
  }
}

static void put_signatures(nv_buf *b, const nv_view *v) {
  for (uint32_t k = 0; k < v->n; k++) {
    const nv_plan *p = v->program[k].plan;
    const uint32_t *align = nv_port_aligns(p);
    if (v->n > 1) {
      nv_printf(b, " * Signature %u:", (unsigned)k);
      put_key_values(b, v, k);
      nv_putc(b, '\n');
    }
    put_sizes(b, p->graph);
    put_ports(b, p->graph, "input", p->graph->inputs, p->graph->ninputs, v->inputs[k], align);
    put_ports(b, p->graph, "output", p->graph->outputs, p->graph->noutputs, v->outputs[k],
              align + p->graph->ninputs);
  }
}

/* ---- structs ---- */

static void put_choices(nv_buf *b, const nv_view *v) {
  bool any = false;
  nv_names seen;
  nv_names_init(&seen, v->m->c);
  for (uint32_t k = 0; k < v->nkeys; k++) {
    const nv_view_key *key = &v->keys[k];
    if (key->kind != NV_KEY_CHOICE && key->kind != NV_KEY_VARIANT) continue;
    nv_puts(b, "/* Values of ");
    nv_put_comment(b, nv_text(v->m->c, key->path));
    nv_puts(b, key->kind == NV_KEY_VARIANT ? ".variant. */\nenum {\n" : ". */\nenum {\n");
    for (uint32_t i = 0; i < key->nchoices; i++)
      nv_printf(b, "  %s = %u%s\n", nv_names_fresh(&seen, nv_choice_name(v, key, i)), (unsigned)i,
                i + 1 < key->nchoices ? "," : "");
    nv_puts(b, "};\n");
    any = true;
  }
  if (any) nv_putc(b, '\n');
  nv_names_drop(&seen);
}

static void put_struct(nv_buf *b, const char *name, const nv_fields *f) {
  nv_printf(b, "typedef struct %s {\n", name);
  if (f) nv_put_fields(b, f);
  else nv_puts(b, "  int none; /* C has no empty structs */\n");
  nv_printf(b, "} %s;\n\n", name);
}

static void put_structs(nv_buf *b, const nv_view *v) {
  const char *s = v->program->symbol;
  put_choices(b, v);
  if (!v->flat) {
    put_struct(b, nv_struct_name(v, NV_FROM_CALL, false), v->fields[NV_FROM_CALL]);
    put_struct(b, nv_struct_name(v, NV_FROM_CALL, true), v->out_fields);
  }
  if (v->fields[NV_FROM_STATICS])
    put_struct(b, nv_struct_name(v, NV_FROM_STATICS, false), v->fields[NV_FROM_STATICS]);
  if (v->program->style == NV_STYLE_MUT) {
    nv_puts(b, "/* Leaves of a state. */\n");
    put_struct(b, nv_struct_name(v, NV_FROM_STATE, false), v->fields[NV_FROM_STATE]);
    nv_printf(b, "/* A state: its leaves in memory of its own, which each step replaces. */\n"
                 "typedef struct %s_state %s_state;\n\n", s, s);
  }
  if (!v->bound) return;
  nv_puts(b, "/* Inputs that are given once, when a function object is made. */\n");
  put_struct(b, nv_struct_name(v, NV_FROM_BOUND, false), v->fields[NV_FROM_BOUND]);
  nv_printf(b, "/* The entry with its bound inputs. */\ntypedef struct %s_function %s_function;\n\n", s, s);
}

/* ---- functions ---- */

typedef struct writer {
  nv_buf *b;
  const nv_view *v;
  const char *s, *name;
  const char *owner; /* first parameter of calls */
  const char *in_out;
} writer;

static void put_way(const writer *w, const char *what, const char *after) {
  nv_put_code(w->b, 0, "nuvec_status %s_%s(%s%s%s);", w->s, what, w->owner, w->in_out, after);
}

/* Has a signature open sizes? */
static bool is_open(const nv_view *v) {
  uint32_t k = 0;
  while (k < v->n && !nv_is_open(&v->program[k])) k++;
  return k < v->n;
}

static void put_call(const writer *w, bool step) {
  const nv_view *v = w->v;
  const bool several = v->n > 1;
  const char *what = step ? "step" : "call";
  nv_printf(w->b,
"/* %s and waits for it. Every input's dtype, rank, shape and memory must be set%s.\n"
" * Outputs start from all zeros: without memory of their own they are allocated; where shape is set, dtype, rank and\n"
" * shape are checked; on success dtype, rank, shape (%s) and strides (NULL) are set. Outputs\n"
" * that a call has filled in may be given to the next one as they are, which then allocates nothing.\n"
" * NUVEC_DTYPE, NUVEC_RANK, NUVEC_SHAPE%s%s, NUVEC_STRIDES, NUVEC_NULL,\n"
" * NUVEC_SHORT_BUFFER, NUVEC_MISALIGNED, NUVEC_ALIASING, NUVEC_OUT_OF_MEMORY, NUVEC_BUFFER_LIMIT,\n"
" * NUVEC_GPU_ERROR%s. */\n",
            step ? "Replaces the state by its next value" : "Runs the graph",
            !several    ? ""
            : v->nkeys ? ",\n * and the other members: they select the signature"
                       : ":\n * they select the signature",
            is_open(v) ? "memory of the context" : "constants of this library",
            is_open(v) ? ",\n * NUVEC_GUARD" : "",
            several     ? ", NUVEC_SIGNATURE (none fits)"
            : !v->flat ? ""
                       : ", NUVEC_SIGNATURE (wrong numbers of arrays)",
            step ? ", NUVEC_BUSY (a step on this state is in flight), NUVEC_LOST" : "");
  put_way(w, what, "");
  nv_puts(w->b, "/* The same; *gpu_seconds: how long the GPU worked on it. */\n");
  put_way(w, nv_format(v->m->c, "%s_timed", what), ", double *gpu_seconds");
  nv_puts(w->b,
"\n/* The same without waiting. NUVEC_OK: the call is on its way, and done will be called once, on a thread of\n"
" * Metal's own, with what became of it. Only then outputs are set (until then the struct must live); inputs'\n"
" * memory, but not their struct, must live and stay as it is. Another status: nothing happened, and done isn't\n"
" * called. */\n");
  put_way(w, nv_format(v->m->c, "%s_async", what), ", nuvec_done done, void *user");
  if (step && !nv_is_in_place(v->program)) return;
  nv_puts(w->b,
"\n/* Encodes the graph into the app's own id<MTLCommandBuffer>, which must have no open encoder; commits nothing,\n"
" * waits for nothing. Outputs are set at once; what they hold is there when the command buffer completes. All\n"
" * memory must live until then. What becomes of the command buffer is for the app to see. */\n");
  if (step)
    nv_puts(w->b, "/* More steps may be encoded behind it. When the command buffer fails, or is never committed, the\n"
                  " * state is lost. */\n");
  nv_put_code(w->b, 0, "nuvec_status %s_encode(%s, void *command_buffer%s);", w->s, w->owner, w->in_out);
}

static void put_shapes(const writer *w) {
  nv_printf(w->b,
"\n/* What a call with such inputs would make: sets dtype, rank, shape, strides and bytes of every output, leaving\n"
" * its memory alone, and *scratch to the bytes of device memory in between. Of the inputs only dtype, rank, shape\n"
" * and strides count. outputs and scratch may be NULL. Allocates nothing%s. Errors as those of a call. */\n",
            is_open(w->v) ? " on the device" : "");
  put_way(w, "shapes", ", size_t *scratch");
}

static void put_state(const writer *w) {
  const char *s = w->s, *name = w->name;
  writer of_state = *w;
  of_state.owner = nv_format(w->v->m->c, "%s_state *state", s);
  nv_printf(w->b,
"/* Makes a state. leaves NULL: all zeros. Each leaf that has memory is copied, the others are zeros; dtype, rank and\n"
" * shape must be set. *state is NULL after a failure; the text is that of %s_error. */\n", name);
  nv_put_code(w->b, 0, "nuvec_status %s_state_create(%s, const %s_leaves *leaves, %s_state **state);", s, w->owner, s,
              s);
  nv_puts(w->b, "/* NULL is fine. NUVEC_BUSY, and nothing freed, while a step is in flight. */\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_destroy(%s_state *state);", s, s);
  nv_puts(w->b,
"/* The leaves as they are, in the state's own memory: to be read until the next step. NUVEC_BUSY, NUVEC_LOST. */\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_leaves(%s_state *state, %s_leaves *leaves);", s, s, s);
  nv_puts(w->b,
"/* From and to a .safetensors file with an array a leaf, named by its path. A state that can't be loaded stays as it\n"
" * is, a file that can't be written too. NUVEC_FILE, NUVEC_SIGNATURE (no step takes these shapes),\n"
" * NUVEC_OUT_OF_MEMORY, NUVEC_BUSY; save: NUVEC_LOST. */\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_load(%s_state *state, const char *path);", s, s);
  nv_put_code(w->b, 0, "nuvec_status %s_state_save(%s_state *state, const char *path);\n", s, s);
  nv_puts(w->b, nv_is_in_place(w->v->program)
? "/* One step at a time. One that the GPU gives up on loses the state: every later one is NUVEC_LOST until it is\n"
  " * loaded. One that fails before leaves it as it was. */\n"
: "/* One step at a time, which happens whole or, when it fails, leaves the state as it was. */\n");
  put_call(&of_state, true);
  put_shapes(&of_state);
}

static void put_rest(const writer *w) {
  const nv_graph *g = w->v->program->plan->graph;
  nv_printf(w->b,
"\n/* Replays kept for the next calls: sets how many, where capacity isn't NULL (at first %" PRId64
"; 0: none); reads what\n * happened so far, where counts isn't. */\n", w->v->program->entry->cache_capacity);
  nv_put_code(w->b, 0, "nuvec_status %s_cache(%s, const size_t *capacity, nuvec_cache *counts);", w->s, w->owner);
  nv_printf(w->b,
"\n/* The entry for dlopen and foreign functions: %u input%s and %u output%s%s as plain\n"
" * arrays, in the order above. signature: its number; -1: dtypes and shapes tell. */\n",
            (unsigned)g->ninputs, g->ninputs == 1 ? "" : "s", (unsigned)g->noutputs, g->noutputs == 1 ? "" : "s",
            w->v->program->style == NV_STYLE_MUT ? ", those of the state too,"
            : w->v->bound                        ? ", bound ones too,"
                                                 : "");
  nv_put_code(w->b, 0, "nuvec_status %s_packed(%s_context *context, long signature, const nuvec_array *inputs, "
              "size_t ninputs, nuvec_array *outputs, size_t noutputs);", w->s, w->name);
}

static void put_leaf(const writer *w, nv_place_of source, bool output) {
  const char *name = nv_struct_name(w->v, source, output);
  nv_put_code(w->b, 0, "nuvec_array *%s_leaf(%s *tree, const char *path);", name, name);
}

static void put_function_object(const writer *w) {
  nv_printf(w->b,
"/* Makes a function object. Buffers of bound inputs are held, host memory is copied; nothing of bound need live on.\n"
" * cache_capacity: how many replays are kept, NULL: as the spec says. *function is NULL after a failure; the text is\n"
" * that of %s_error. Errors as those of a call, in so far as they are known without its inputs. */\n", w->name);
  nv_put_code(w->b, 0, "nuvec_status %s_function_create(%s_context *context, const size_t *cache_capacity, "
              "const %s_bound *bound, %s_function **function);", w->s, w->name, w->s, w->s);
  nv_puts(w->b, "/* NULL is fine. NUVEC_BUSY, and nothing freed, while a call is in flight. */\n");
  nv_put_code(w->b, 0, "nuvec_status %s_function_destroy(%s_function *function);\n", w->s, w->s);
}

void nv_put_entry_header(nv_buf *b, const nv_view *v) {
  nv_ctx *c = v->m->c;
  const char *s = v->program->symbol, *name = v->m->prefix_c;
  int64_t scratch = 0;
  for (uint32_t k = 0; k < v->n; k++)
    if (nv_scratch_bytes(v->program[k].plan) > scratch) scratch = nv_scratch_bytes(v->program[k].plan);
  const char *statics = v->fields[NV_FROM_STATICS] ? nv_format(c, ", const %s_statics *statics", s) : "";
  const bool mut = v->program->style == NV_STYLE_MUT;
  const writer w = {b, v, s, name,
                    v->bound ? nv_format(c, "%s_function *function", s) : nv_format(c, "%s_context *context", name),
                    v->flat ? nv_format(c, "%s, const nuvec_array *inputs, size_t ninputs, nuvec_array *outputs, "
                                        "size_t noutputs", statics)
                            : nv_format(c, ", const %s_inputs *inputs, %s_outputs *outputs", s, s)};
  nv_printf(b, "\n/* ---- entry %s ----\n", nv_text(c, v->program->entry->name));
  put_signatures(b, v);
  nv_puts(b, " */\n");
  put_structs(b, v);
  if (!is_open(v))
    nv_printf(b, "/* Bytes of device memory that a call of %s needs for intermediates, at most. */\n"
                 "#define %s_SCRATCH_BYTES ((size_t)%" PRId64 ")\n\n", s, s, scratch);
  if (v->bound) put_function_object(&w);
  if (mut) {
    put_state(&w);
  } else {
    put_call(&w, false);
    put_shapes(&w);
  }
  put_rest(&w);
  if (!v->flat || v->bound) nv_puts(b, "\n/* The leaf that a path names (\"layers[3].w\"), or NULL. */\n");
  if (!v->flat) put_leaf(&w, NV_FROM_CALL, false);
  if (!v->flat) put_leaf(&w, NV_FROM_CALL, true);
  if (v->bound) put_leaf(&w, NV_FROM_BOUND, false);
  if (mut) put_leaf(&w, NV_FROM_STATE, false);
}
