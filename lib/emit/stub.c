/* stub.c - NAME.c: the replay engine's text, the tape (tape.c), and the public functions. */
#include "stub.h"
#include "metal.h"

#include <string.h>

/* Files of the engine: what the build embeds, and the line that includes the one before. */
#define NV_ENGINE(name) extern const char nv_embed_##name[]; extern const size_t nv_embed_##name##_size;
NV_ENGINE(replay_types)
NV_ENGINE(context)
NV_ENGINE(match)
NV_ENGINE(sizes)
NV_ENGINE(memory)
NV_ENGINE(replay)
NV_ENGINE(calls)
NV_ENGINE(leaf)
NV_ENGINE(bytes)
NV_ENGINE(bind)
NV_ENGINE(state)
NV_ENGINE(state_encode)
NV_ENGINE(state_file)
NV_ENGINE(data)

/* ---- functions of an entry ---- */

typedef struct writer {
  nv_buf *b;
  const nv_view *v;
  const char *symbol, *name; /* X, NAME */
  const char *owner;         /* whose first parameter and argument: the context, or a function object */
  const char *self;
} writer;

/* nuvec_status X_WHAT(OWNER, EXTRA inputs, outputs, MORE) { return nvr_CALL(self, ARGUMENTS); } */
static void put_call(const writer *w, const char *what, const char *call, const char *before, const char *before_value,
                     const char *after, const char *after_value) {
  const nv_view *v = w->v;
  nv_ctx *c = v->m->c;
  if (!v->flat) {
    nv_put_code(w->b, 0, "nuvec_status %s_%s(%s%s, const %s_inputs *inputs, %s_outputs *outputs%s) {", w->symbol, what,
                w->owner, before, w->symbol, w->symbol, after);
    nv_put_code(w->b, 2, "return nvr_%s(%s%s, nvr_arrays_of(inputs, outputs)%s);", call, w->self, before_value,
                after_value);
  } else {
    const char *statics = v->fields[NV_FROM_STATICS] ? nv_format(c, ", const %s_statics *statics", w->symbol) : "";
    nv_put_code(w->b, 0,
                "nuvec_status %s_%s(%s%s%s, const nuvec_array *inputs, size_t ninputs, nuvec_array *outputs, "
                "size_t noutputs%s) {",
                w->symbol, what, w->owner, before, statics, after);
    nv_puts(w->b, "  nvr_arrays a = nvr_packed(-1, inputs, ninputs, outputs, noutputs);\n  a.packed = 0;\n");
    if (*statics) nv_puts(w->b, "  a.in[NVR_STATICS] = statics;\n");
    nv_put_code(w->b, 2, "return nvr_%s(%s%s, a%s);", call, w->self, before_value, after_value);
  }
  nv_put_code(w->b, 0, "}");
}

static void put_leaf(const writer *w, uint32_t entry, nv_place_of source, bool outputs) {
  const char *name = nv_struct_name(w->v, source, outputs);
  nv_put_code(w->b, 0, "nuvec_array *%s_leaf(%s *tree, const char *path) {", name, name);
  nv_put_code(w->b, 2, "return nvr_leaf(&nvr_entries[%u], tree, %s, %d, path);", (unsigned)entry,
              source == NV_FROM_CALL ? "NVR_CALL" : source == NV_FROM_BOUND ? "NVR_BOUND" : "NVR_STATE", outputs);
  nv_put_code(w->b, 0, "}");
}

static void put_function_object(const writer *w, uint32_t entry) {
  nv_put_code(w->b, 0,
              "nuvec_status %s_function_create(%s_context *context, const size_t *cache_capacity, "
              "const %s_bound *bound, %s_function **function) {",
              w->symbol, w->name, w->symbol, w->symbol);
  nv_puts(w->b, "  nvr_function *made = NULL;\n  nuvec_status status;\n  if (!function) return NUVEC_NULL;\n");
  nv_put_code(w->b, 2,
              "status = nvr_function_create((nvr_context *)context, %u, cache_capacity, bound, sizeof *bound, &made);",
              (unsigned)entry);
  nv_put_code(w->b, 2, "*function = (%s_function *)made;", w->symbol);
  nv_puts(w->b, "  return status;\n}\n");
  nv_put_code(w->b, 0, "nuvec_status %s_function_destroy(%s_function *function) {", w->symbol, w->symbol);
  nv_puts(w->b, "  return nvr_function_destroy((nvr_function *)function);\n}\n");
}

/* Calls of a state. */
static void put_state(const writer *w) {
  const char *s = w->symbol;
  writer of_state = *w;
  of_state.owner = nv_format(w->v->m->c, "%s_state *state", s);
  of_state.self = "(nvr_state *)state";
  nv_put_code(w->b, 0, "nuvec_status %s_state_create(%s, const %s_leaves *leaves, %s_state **state) {", s, w->owner, s,
              s);
  nv_puts(w->b, "  nvr_state *made = NULL;\n  nuvec_status status;\n  if (!state) return NUVEC_NULL;\n");
  nv_put_code(w->b, 2, "status = nvr_state_create(%s, leaves, sizeof *leaves, &made);", w->self);
  nv_put_code(w->b, 2, "*state = (%s_state *)made;", s);
  nv_puts(w->b, "  return status;\n}\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_destroy(%s_state *state) {", s, s);
  nv_puts(w->b, "  return nvr_state_destroy((nvr_state *)state);\n}\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_leaves(%s_state *state, %s_leaves *leaves) {", s, s, s);
  nv_puts(w->b, "  return nvr_state_leaves((nvr_state *)state, leaves);\n}\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_load(%s_state *state, const char *path) {", s, s);
  nv_puts(w->b, "  return nvr_state_load((nvr_state *)state, path);\n}\n");
  nv_put_code(w->b, 0, "nuvec_status %s_state_save(%s_state *state, const char *path) {", s, s);
  nv_puts(w->b, "  return nvr_state_save((nvr_state *)state, path);\n}\n");
  put_call(&of_state, "step", "step", "", "", "", ", NULL");
  put_call(&of_state, "step_timed", "step", "", "", ", double *gpu_seconds", ", gpu_seconds");
  put_call(&of_state, "step_async", "step_async", "", "", ", nuvec_done done, void *user", ", done, user");
  if (nv_is_in_place(w->v->program))
    put_call(&of_state, "encode", "step_encode", ", void *command_buffer", ", command_buffer", "", "");
  put_call(&of_state, "shapes", "state_shapes", "", "", ", size_t *scratch", ", scratch");
}

static void put_calls(const writer *w) {
  put_call(w, "call", "call", "", "", "", ", NULL");
  put_call(w, "call_timed", "call", "", "", ", double *gpu_seconds", ", gpu_seconds");
  put_call(w, "call_async", "call_async", "", "", ", nuvec_done done, void *user", ", done, user");
  put_call(w, "encode", "encode", ", void *command_buffer", ", command_buffer", "", "");
  put_call(w, "shapes", "shapes", "", "", ", size_t *scratch", ", scratch");
}

static void put_entry(nv_buf *b, const nv_module *m, uint32_t entry, uint32_t first) {
  const nv_view *v = nv_view_of(m, first);
  const char *s = v->program->symbol, *name = m->prefix_c;
  const bool mut = v->program->style == NV_STYLE_MUT;
  const writer w = {
      b, v, s, name,
      v->bound ? nv_format(m->c, "%s_function *function", s) : nv_format(m->c, "%s_context *context", name),
      v->bound ? "(nvr_function *)function" : nv_format(m->c, "nvr_default(context, %u)", (unsigned)entry)};
  nv_putc(b, '\n');
  if (v->bound) put_function_object(&w, entry);
  if (mut) put_state(&w);
  else put_calls(&w);
  nv_put_code(b, 0, "nuvec_status %s_cache(%s, const size_t *capacity, nuvec_cache *counts) {", s, w.owner);
  nv_put_code(b, 2, "return nvr_cache(%s, capacity, counts);", w.self);
  nv_put_code(b, 0, "}");
  nv_put_code(b, 0,
              "nuvec_status %s_packed(%s_context *context, long signature, const nuvec_array *inputs, size_t ninputs, "
              "nuvec_array *outputs, size_t noutputs) {",
              s, name);
  nv_put_code(b, 2,
              "return nvr_call(nvr_default(context, %u), nvr_packed(signature, inputs, ninputs, outputs, noutputs), "
              "NULL);",
              (unsigned)entry);
  nv_put_code(b, 0, "}");
  if (!v->flat) put_leaf(&w, entry, NV_FROM_CALL, false);
  if (!v->flat) put_leaf(&w, entry, NV_FROM_CALL, true);
  if (v->bound) put_leaf(&w, entry, NV_FROM_BOUND, false);
  if (mut) put_leaf(&w, entry, NV_FROM_STATE, false);
}

/* The same with the data file in memory. */
static void put_create_with(nv_buf *b, const char *name) {
  nv_put_code(b, 0,
              "nuvec_status %s_create_with(const nuvec_options *options, const void *data, size_t length, "
              "%s_context **context) {",
              name, name);
  nv_puts(b, "  nvr_context *made = NULL;\n  nuvec_status status;\n  if (!context || !data) return NUVEC_NULL;\n");
  nv_put_code(b, 2, "status = nvr_create_data(&nvr_the_tape, &nvr_the_data, options, data, length, &made);");
  nv_put_code(b, 2, "*context = (%s_context *)made;", name);
  nv_puts(b, "  return status;\n}\n");
}

static void put_functions(nv_buf *b, const nv_module *m) {
  const char *name = m->prefix_c;
  nv_puts(b, "\n/* ---- the functions of ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".h ---- */\n\n");
  nv_put_code(b, 0, "nuvec_status %s_create(const nuvec_options *options, %s_context **context) {", name, name);
  nv_puts(b, "  nvr_context *made = NULL;\n  nuvec_status status;\n  if (!context) return NUVEC_NULL;\n");
  nv_put_code(b, 2, m->has_data ? "status = nvr_create_data(&nvr_the_tape, &nvr_the_data, options, NULL, 0, &made);"
                                : "status = nvr_create(&nvr_the_tape, options, &made);");
  nv_put_code(b, 2, "*context = (%s_context *)made;", name);
  nv_puts(b, "  return status;\n}\n");
  if (m->has_data) put_create_with(b, name);
  nv_put_code(b, 0, "nuvec_status %s_destroy(%s_context *context) {", name, name);
  nv_puts(b, "  return nvr_destroy((nvr_context *)context);\n}\n");
  nv_put_code(b, 0, "nuvec_status %s_wait(%s_context *context) {", name, name);
  nv_puts(b, "  return nvr_wait((nvr_context *)context);\n}\n");
  nv_put_code(b, 0, "const char *%s_error(%s_context *context) {", name, name);
  nv_puts(b, "  return nvr_error((nvr_context *)context);\n}\n");
  nv_put_code(b, 0, "void %s_release(nuvec_array *array) { nvr_release(array); }", name);
  for (uint32_t first = 0, entry = 0; first < m->nprograms; first = nv_entry_end(m, first), entry++)
    put_entry(b, m, entry, first);
}

/* ---- the whole ---- */

static bool starts_with(const char *text, const char *start) { return !strncmp(text, start, strlen(start)); }

/* Text with its conditions on NVR_OPEN resolved, no blank line behind another; no others stand inside them. */
static void put_resolved(nv_buf *b, const char *text, const char *end, bool open) {
  bool inside = false, wanted = true;
  for (const char *next; text < end; text = next) {
    next = strchr(text, '\n') + 1;
    const bool begins = starts_with(text, "#if NVR_OPEN\n"), begins_not = starts_with(text, "#if !NVR_OPEN\n");
    if (begins || begins_not) {
      inside = true;
      wanted = begins == open;
    } else if (inside && starts_with(text, "#else\n")) {
      wanted = !wanted;
    } else if (inside && starts_with(text, "#endif\n")) {
      inside = false;
      wanted = true;
    } else if (wanted && !(*text == '\n' && b->n > 1 && !memcmp(b->p + b->n - 2, "\n\n", 2))) {
      nv_put(b, text, (size_t)(next - text));
    }
  }
}

/* A file of the engine without its first comment and the inclusion that ends with it. open: some sizes are. */
static void put_engine(nv_buf *b, nv_ctx *c, const char *text, size_t n, const char *include, bool open) {
  const char *line = nv_format(c, "#include \"%s\"\n\n", include), *from = strstr(text, line);
  if (!from) nv_bug(c, "the replay engine lacks %s", line);
  from += strlen(line);
  if (strcmp(include, "abi.h")) nv_putc(b, '\n');
  put_resolved(b, from, text + n, open);
}

static void put_engines(nv_buf *b, const nv_module *m) {
  bool open = false, calls = false, trees = false, bound = false, states = false, in_place = false;
  for (uint32_t k = 0; k < m->nprograms; k++) {
    calls = calls || m->programs[k].style != NV_STYLE_MUT;
    trees = trees || m->programs[k].style != NV_STYLE_FLAT;
    bound = bound || m->programs[k].entry->nbind;
    states = states || m->programs[k].style == NV_STYLE_MUT;
    open = open || nv_is_open(&m->programs[k]);
    in_place = in_place || (m->programs[k].style == NV_STYLE_MUT && nv_is_in_place(&m->programs[k]));
  }
  put_engine(b, m->c, nv_embed_replay_types, nv_embed_replay_types_size, "abi.h", open);
  put_engine(b, m->c, nv_embed_context, nv_embed_context_size, "replay.h", open);
  put_engine(b, m->c, nv_embed_match, nv_embed_match_size, "context.c", open);
  if (open) put_engine(b, m->c, nv_embed_sizes, nv_embed_sizes_size, "match.c", open);
  put_engine(b, m->c, nv_embed_memory, nv_embed_memory_size, "sizes.c", open);
  put_engine(b, m->c, nv_embed_replay, nv_embed_replay_size, "memory.c", open);
  if (calls) put_engine(b, m->c, nv_embed_calls, nv_embed_calls_size, "replay.c", open);
  if (trees || bound) put_engine(b, m->c, nv_embed_leaf, nv_embed_leaf_size, "calls.c", open);
  if (bound || states) put_engine(b, m->c, nv_embed_bytes, nv_embed_bytes_size, "leaf.c", open);
  if (bound) put_engine(b, m->c, nv_embed_bind, nv_embed_bind_size, "bytes.c", open);
  if (states) put_engine(b, m->c, nv_embed_state, nv_embed_state_size, "bind.c", open);
  if (in_place) put_engine(b, m->c, nv_embed_state_encode, nv_embed_state_encode_size, "state.c", open);
  if (states) put_engine(b, m->c, nv_embed_state_file, nv_embed_state_file_size, "state_encode.c", open);
  if (m->has_data) put_engine(b, m->c, nv_embed_data, nv_embed_data_size, "state_file.c", open);
}

void nv_emit_c(nv_buf *b, const nv_module *m) {
  nv_check_stub(m);
  nv_puts(b, "/* ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".c - made by nuvecc " NUVECC_VERSION " from a spec: don't edit.\n *\n");
  nv_puts(b, " * Replays the graph on Metal: ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".h says how to call it. First comes the replay engine, the same in\n"
             " * every generated file, then the tape: constant tables that say which kernels run on what. All but the\n"
             " * header's functions is static; nothing changes but what a context holds. C99. Link with Metal and\n"
             " * Foundation, and with CoreGraphics for a command-line tool on macOS:\n"
             " *   cc app.c ");
  nv_put_comment(b, m->name);
  nv_puts(b, ".c -framework Metal -framework Foundation -framework CoreGraphics -lobjc\n *\n"
             " * This file is yours: nuvecc's text in it asks for no licence notice, in source or in binaries. */\n");
  nv_printf(b, "#include \"%s.h\"\n\n", m->name);
  put_engines(b, m);
  nv_puts(b, "\n/* ---- the tape ---- */\n\n");
  nv_emit_tape(b, m);
  nv_emit_the_tape(b, m);
  put_functions(b, m);
}
