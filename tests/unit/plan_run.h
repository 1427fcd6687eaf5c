/* plan_run.h - runs a plan on the CPU, point by point, for the tests of the passes: what the kernels say, without
 * Metal.
 *
 * Each output byte must be written exactly once, offsets must lie inside their arrays, and scratch lies where the plan
 * says, so a wrong lifetime shows. Sums are made in index order: use values whose sums are exact. */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "ir/eval.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- fixture: a context a test, whose door fails the test ---- */

static nv_ctx *c;
static nv_target target; /* macos14, limits of which a test may change */

static int setup(void **state) {
  (void)state;
  c = nv_ctx_new(NULL);
  if (!c) return -1;
  target = *nv_target_find("macos14");
  c->target = &target;
  nv_dims_init(c);
  nv_graph_tables_init(c);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  nv_ctx_free(c);
  return 0;
}
#define TEST(name)                                   \
  static void name##_body(void);                     \
  static void name(void **state) {                   \
    (void)state;                                     \
    c->door_open = true;                             \
    if (setjmp(c->door)) fail_msg("%s", c->fault);   \
    name##_body();                                   \
  }                                                  \
  static void name##_body(void)

/* The graph that text says, verified. */
static nv_graph *graph_of(const char *text) {
  const char *why = "";
  uint32_t line = 0;
  nv_graph *g = nv_graph_read(c, text, strlen(text), &why, &line);
  if (!g) fail_msg("line %u: %s", (unsigned)line, why);
  nv_verify(g, NV_STAGE_TRACED);
  return g;
}

/* ---- running a plan ---- */

typedef struct plan_buffer {
  unsigned char *data;
  bool *touched; /* an element: written, or read */
} plan_buffer;

static uint64_t plan_get(const unsigned char *p, nv_dtype d, int64_t at) {
  uint64_t bits = 0;
  memcpy(&bits, p + at * nv_dtype_size[d], nv_dtype_size[d]);
  return bits;
}

static uint64_t plan_op(const nv_kernel *k, const nv_instr *i, const uint64_t *values) {
  nv_dtype dtypes[3];
  uint64_t args[3];
  for (uint32_t a = 0; a < i->nargs; a++) {
    dtypes[a] = (nv_dtype)k->instrs[i->arg[a]].dtype;
    args[a] = values[i->arg[a]];
  }
  if (i->op == NV_OP_astype) return nv_convert(dtypes[0], (nv_dtype)i->dtype, args[0], false);
  if (i->nargs == 0) nv_bug(c, "an instruction without arguments");
  return nv_eval_scalar((nv_op)i->op, dtypes, (nv_dtype)i->dtype, args, i->nargs, false);
}

/* Runs instructions [from, to) at one point. */
static void plan_instrs(const nv_kernel *k, const plan_buffer *b, uint32_t from, uint32_t to, const nv_dim *symbols,
                        const int64_t *at, uint32_t nsymbols, uint64_t *values) {
  for (uint32_t n = from; n < to; n++) {
    const nv_instr *i = &k->instrs[n];
    int64_t offset = 0;
    if (i->kind == NV_I_LOAD || i->kind == NV_I_STORE) {
      if (!nv_dim_eval(c, i->offset, symbols, at, nsymbols, &offset)) nv_bug(c, "an offset has no value");
      if (offset < 0 || offset >= k->operands[i->operand].extent) nv_bug(c, "an offset of %lld", (long long)offset);
    }
    switch (i->kind) {
    case NV_I_CONST: values[n] = i->bits; break;
    case NV_I_LOAD:
      values[n] = plan_get(b[i->operand].data, (nv_dtype)i->dtype, offset);
      b[i->operand].touched[offset] = true;
      break;
    case NV_I_OP: values[n] = plan_op(k, i, values); break;
    case NV_I_STORE:
      memcpy(b[i->operand].data + offset * nv_dtype_size[i->dtype], &values[i->arg[0]], nv_dtype_size[i->dtype]);
      if (b[i->operand].touched[offset]) nv_bug(c, "element %lld is written twice", (long long)offset);
      b[i->operand].touched[offset] = true;
      break;
    default: nv_bug(c, "a reduction where none is expected");
    }
  }
}

static uint64_t plan_join(nv_op op, nv_dtype d, uint64_t a, uint64_t b) {
  nv_dtype dtypes[2] = {d, d};
  uint64_t args[2] = {a, b};
  nv_op join = op == NV_OP_sum || op == NV_OP_mean ? NV_OP_add : op == NV_OP_prod ? NV_OP_multiply
               : op == NV_OP_max ? NV_OP_maximum : op == NV_OP_min ? NV_OP_minimum
               : op == NV_OP_any ? NV_OP_logical_or : NV_OP_logical_and;
  return nv_eval_scalar(join, dtypes, d, args, 2, false);
}

/* What is left to do for a mean over n elements. */
static uint64_t plan_scale(nv_op op, uint64_t sum, int64_t n) {
  nv_dtype dtypes[2] = {NV_F32, NV_F32};
  uint64_t args[2] = {sum, nv_f32_to_bits(NV_F32, nv_reciprocal_of(n))};
  return op == NV_OP_mean ? nv_eval_scalar(NV_OP_multiply, dtypes, NV_F32, args, 2, false) : sum;
}

/* A row of a ROWS kernel: instruction by instruction, each for all its elements. */
static void plan_row(const nv_kernel *k, const plan_buffer *b, nv_dim *symbols, int64_t *at, uint64_t *values) {
  const int64_t n = nv_dim_value(c, k->reduce_extent);
  uint64_t *all = calloc((size_t)(k->ninstrs * n) + 1, sizeof *all);
  bool *each = calloc((size_t)k->ninstrs + 1, sizeof *each);
  nv_kernel_rates(c, k, each);
  symbols[1] = k->reduce_symbol;
  for (uint32_t i = 0; i < k->ninstrs; i++) {
    const nv_instr *x = &k->instrs[i];
    uint64_t sum = 0;
    for (at[1] = 0; at[1] < n && (at[1] == 0 || each[i] || x->kind == NV_I_REDUCE); at[1]++) {
      for (uint32_t a = 0; a < x->nargs; a++) values[x->arg[a]] = all[x->arg[a] * n + at[1]];
      if (x->kind != NV_I_REDUCE) {
        plan_instrs(k, b, i, i + 1, symbols, at, 2, values);
        all[i * n + at[1]] = values[i];
        continue;
      }
      const uint64_t v = values[x->arg[0]];
      sum = at[1] == 0 ? v : plan_join((nv_op)x->op, (nv_dtype)x->dtype, sum, v);
    }
    if (x->kind == NV_I_REDUCE) all[i * n] = plan_scale((nv_op)x->op, sum, n);
    for (int64_t e = 1; e < n && !each[i]; e++) all[i * n + e] = all[i * n];
  }
  at[1] = 0;
  free(all);
  free(each);
}

static void plan_kernel(const nv_kernel *k, const plan_buffer *b) {
  uint64_t *values = calloc((size_t)k->ninstrs + 1, sizeof *values);
  nv_dim symbols[4] = {0};
  int64_t at[4] = {0}, extent[3] = {1, 1, 1};
  for (uint32_t d = 0; d < k->rank; d++) {
    symbols[d] = k->symbol[d];
    extent[d] = nv_dim_value(c, k->extent[d]);
  }
  uint32_t reduction = k->ninstrs;
  for (uint32_t n = 0; n < k->ninstrs; n++)
    if (k->instrs[n].kind == NV_I_REDUCE) reduction = n;
  for (at[0] = 0; at[0] < extent[0]; at[0]++)
    for (at[1] = 0; at[1] < extent[1]; at[1]++)
      for (at[2] = 0; at[2] < extent[2]; at[2]++) {
        int64_t guard = 0;
        if (k->guarded) {
          nv_dim_eval(c, k->guard, symbols, at, k->rank, &guard);
          if (guard >= nv_dim_value(c, k->limit)) continue;
        }
        if (k->kind == NV_K_MAP) {
          plan_instrs(k, b, 0, k->ninstrs, symbols, at, k->rank, values);
          continue;
        }
        if (k->kind == NV_K_ROWS) {
          plan_row(k, b, symbols, at, values);
          continue;
        }
        int64_t n = nv_dim_value(c, k->reduce_extent);
        uint64_t sum = 0;
        const nv_instr *r = &k->instrs[reduction];
        symbols[1] = k->reduce_symbol;
        for (at[1] = 0; at[1] < n; at[1]++) {
          plan_instrs(k, b, 0, reduction, symbols, at, 2, values);
          uint64_t v = values[r->arg[0]];
          sum = at[1] == 0 ? v : plan_join((nv_op)r->op, (nv_dtype)r->dtype, sum, v);
        }
        at[1] = 0;
        values[reduction] = plan_scale((nv_op)r->op, sum, n);
        plan_instrs(k, b, reduction + 1, k->ninstrs, symbols, at, 1, values);
      }
  free(values);
}

static uint32_t plan_reads, plan_loose_reads; /* operands read so far; of which fewer elements than they claim */

/* Do the kernel's operands touch the elements that they claim? */
static void plan_claims(const nv_kernel *k, const plan_buffer *b) {
  for (uint32_t i = 0; i < k->noperands; i++) {
    int64_t n = 0;
    for (int64_t e = 0; e < k->operands[i].extent; e++) n += b[i].touched[e];
    if (k->operands[i].written && n != k->operands[i].extent)
      nv_bug(c, "%lld elements of operand %u are never written", (long long)(k->operands[i].extent - n), (unsigned)i);
    if (n > k->operands[i].elements)
      nv_bug(c, "operand %u: %lld elements are read, not %lld", (unsigned)i, (long long)n,
             (long long)k->operands[i].elements);
    plan_reads += !k->operands[i].written;
    plan_loose_reads += n < k->operands[i].elements;
    free(b[i].touched);
  }
}

/* out[i].data has room for output i. */
static void plan_run(const nv_plan *p, const nuvecc_tensor *in, nuvecc_tensor *out) {
  unsigned char *arena = malloc((size_t)p->scratch_bytes + 1);
  memset(arena, 0x5a, (size_t)p->scratch_bytes + 1);
  for (uint32_t l = 0; l < p->nlaunches; l++) {
    const nv_kernel *k = &p->kernels[p->launches[l].kernel];
    plan_buffer b[64] = {{NULL, NULL}};
    for (uint32_t i = 0; i < k->noperands; i++) {
      const nv_place *at = &p->launches[l].places[i];
      b[i].data = at->kind == NV_PLACE_INPUT ? in[at->index].data : at->kind == NV_PLACE_OUTPUT ? out[at->index].data
                  : arena + at->offset;
      b[i].touched = calloc((size_t)k->operands[i].extent + 1, 1);
    }
    plan_kernel(k, b);
    plan_claims(k, b);
  }
  free(arena);
}

/* Tensors for a graph's ports; outputs filled with a pattern that no test expects. */
static nuvecc_tensor *plan_tensors(const nv_graph *g, bool outputs) {
  uint32_t n = outputs ? g->noutputs : g->ninputs;
  const nv_port *ports = outputs ? g->outputs : g->inputs;
  nuvecc_tensor *t = calloc((size_t)n + 1, sizeof *t);
  for (uint32_t k = 0; k < n; k++) {
    nv_shape s = nv_shape_at(g, ports[k].value);
    nv_dtype d = nv_dtype_of(g, ports[k].value);
    int64_t count = nv_shape_count(g->c, s);
    t[k] = (nuvecc_tensor){.dtype = (nuvecc_dtype)d, .rank = (int32_t)nv_shape_rank(g->c, s),
                           .bytes = (size_t)count * nv_dtype_size[d], .data = malloc((size_t)count * 8 + 1)};
    for (int32_t a = 0; a < t[k].rank; a++) t[k].shape[a] = nv_dim_value(g->c, nv_shape_dims(g->c, s)[a]);
    memset(t[k].data, 0xa5, (size_t)count * 8 + 1);
    for (int64_t e = 0; !outputs && e < count; e++) { /* small integers: all sums and most products are exact */
      int64_t v = (e * 7 + (int64_t)k * 5 + e / 3) % 9 - 4;
      uint64_t bits = d == NV_BOOL ? (uint64_t)(v & 1) : nv_is(d, NV_BITS_INT) ? nv_int_to_bits(d, v)
                      : nv_f32_to_bits(d, (float)v);
      memcpy((unsigned char *)t[k].data + e * nv_dtype_size[d], &bits, nv_dtype_size[d]);
    }
  }
  return t;
}

static void plan_tensors_free(nuvecc_tensor *t, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) free(t[k].data);
  free(t);
}

/* Runs the plan and the evaluator on the graph it came from; NULL when all bits agree (NaNs being equal), else where
 * not. */
static const char *plan_compare(const nv_graph *g, const nv_plan *p) {
  nuvecc_tensor *in = plan_tensors(g, false), *got = plan_tensors(g, true), *want = plan_tensors(g, true);
  const char *why = NULL;
  nv_eval(g, in, want, false);
  plan_run(p, in, got);
  for (uint32_t k = 0; k < g->noutputs && !why; k++) {
    nv_dtype d = (nv_dtype)want[k].dtype;
    for (int64_t e = 0; e < (int64_t)(want[k].bytes / nv_dtype_size[d]) && !why; e++) {
      uint64_t x = plan_get(got[k].data, d, e), y = plan_get(want[k].data, d, e);
      float a = nv_bits_to_f32(d, x), b = nv_bits_to_f32(d, y);
      if (x != y && (a == a || b == b))
        why = nv_format(g->c, "output %u element %lld: got %g (%llx), want %g (%llx)", (unsigned)k, (long long)e,
                        (double)a, (unsigned long long)x, (double)b, (unsigned long long)y);
    }
  }
  plan_tensors_free(in, g->ninputs);
  plan_tensors_free(got, g->noutputs);
  plan_tensors_free(want, g->noutputs);
  return why;
}

#endif
