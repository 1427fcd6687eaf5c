/* trace_const.c - tracing: constant arrays, from lists of the spec and from files. */
#include "trace.h"

#include "../ir/data.h"

/* The array as a value. An empty one holds nothing: a constant of that shape, repeated no times. */
static nvt_val array_of(nvt *t, nv_dtype d, const int64_t *dims, uint32_t rank, const uint8_t *bytes, size_t n,
                        nv_str name, nv_pos pos, bool root) {
  const nv_shape shape = nv_shape_of_ints(t->c, dims, rank);
  uint64_t bits = 0;
  if (!nvt_check_shape(t, shape, pos)) return nvt_poison();
  for (unsigned k = 0; !rank && k < nv_dtype_size[d]; k++) bits |= (uint64_t)bytes[k] << 8 * k;
  if (!rank || !n) {
    const nvt_val one = nvt_constant(t, d, bits, pos, root);
    if (!rank) return one;
    const nv_value in = one.u.v, v = nvt_emit(t, NV_OP_broadcast_to, &in, 1, NV_NO_ATTR, shape, pos);
    return v == NV_NONE ? nvt_poison() : nvt_array(v);
  }
  const int64_t id = nv_data_add(t->c, d, shape, bytes, n, name);
  nvt_origin(t, pos, root);
  return nvt_array(nv_graph_add(t->g, NV_OP_DATA, NULL, 0, nv_attr_make(t->c, &id, 1), d, shape, t->origin));
}

nvt_val nvt_file_constant(nvt *t, const nv_constant *k, nv_pos pos, bool root) {
  if (k->broken) return nvt_poison();
  return array_of(t, (nv_dtype)k->dtype, k->dims, k->rank, k->bytes, k->nbytes, k->name, pos, root);
}

/* ---- lists ---- */

/* A number of the list, of dtype d. */
static bool number_bits(nvt *t, nv_ast a, nv_dtype d, uint64_t *bits) {
  const nv_ast_node *n = nvt_at(t, a);
  if (n->kind == NV_AST_LIST) {
    nvt_error(t, n->pos, "expected a number: the lists beside it are not so deep");
    return false;
  }
  const bool literal = n->kind == NV_AST_INT || n->kind == NV_AST_FLOAT;
  const char *text = n->text == NV_NONE ? "" : nv_text(t->c, n->text);
  return nvt_strong_bits(t, d, literal ? (nv_ast_kind)n->kind : NV_AST_NONE, text,
                         literal ? nvt_none() : nvt_literal(t, a), n->pos, bits);
}

/* A complex number: [re, im]. */
static bool complex_bits(nvt *t, nv_ast a, uint64_t *bits) {
  const nv_ast_node *n = nvt_at(t, a);
  uint64_t re, im;
  if (n->kind != NV_AST_LIST || n->count != 2) {
    nvt_error(t, n->pos, "expected [re, im] (complex64)");
    return false;
  }
  const nv_ast second = nvt_at(t, n->first)->next;
  if (!number_bits(t, n->first, NV_F32, &re) || !number_bits(t, second, NV_F32, &im)) return false;
  *bits = im << 32 | re;
  return true;
}

/* The lengths of the first list of every dimension, down to the elements. */
static bool find_dims(nvt *t, nv_ast list, nv_dtype d, int64_t *dims, uint32_t *rank) {
  uint32_t n = 0;
  nv_ast a = list;
  while (a != NV_NONE && nvt_at(t, a)->kind == NV_AST_LIST) {
    const nv_ast_node *x = nvt_at(t, a);
    const bool inner = x->first == NV_NONE || nvt_at(t, x->first)->kind != NV_AST_LIST;
    if (d == NV_C64 && inner && x->first != NV_NONE) break; /* [re, im] */
    if (n == NV_MAX_RANK) {
      nvt_error(t, nvt_at(t, list)->pos, "a constant of more than %d dimensions", NV_MAX_RANK);
      return false;
    }
    dims[n++] = x->count;
    a = x->first;
  }
  *rank = n;
  return true;
}

nvt_val nvt_list_constant(nvt *t, nv_ast a, nv_str name) {
  const nv_ast_node *n = nvt_at(t, a);
  const nv_dtype d = (nv_dtype)n->op;
  const unsigned size = nv_dtype_size[d];
  nv_ast at[NV_MAX_RANK + 1];
  int64_t dims[NV_MAX_RANK];
  uint32_t rank, level = 0, cap = 0;
  uint8_t *bytes = NULL;
  size_t used = 0;
  if (!find_dims(t, n->first, d, dims, &rank)) return nvt_poison();
  at[0] = n->first;
  for (;;) { /* a stack of one position a dimension */
    const bool up = at[level] == NV_NONE;
    if (!up && level < rank) {
      const nv_ast_node *x = nvt_at(t, at[level]);
      if (x->kind != NV_AST_LIST || x->count != dims[level]) {
        nvt_error(t, x->pos, "expected a list of %lld, as the first is", (long long)dims[level]);
        return nvt_poison();
      }
      at[++level] = x->first;
      continue;
    }
    if (up) {
      level--;
    } else {
      uint64_t bits;
      if (!(d == NV_C64 ? complex_bits(t, at[level], &bits) : number_bits(t, at[level], d, &bits))) return nvt_poison();
      NV_GROW(t->c, bytes, cap, used + size);
      for (unsigned k = 0; k < size; k++) bytes[used++] = (uint8_t)(bits >> 8 * k);
    }
    if (!level) break;
    at[level] = nvt_at(t, at[level])->next;
  }
  return array_of(t, d, dims, rank, bytes, used, name, n->pos, nvt_top(t)->root == a);
}
