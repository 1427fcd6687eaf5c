/* simplify.h - what the simplifier's files share (simplify.c, simplify_view.c). */
#ifndef NV_SIMPLIFY_H
#define NV_SIMPLIFY_H

#include "passes.h"

typedef struct nv_simplifier {
  nv_ctx *c;
  nv_graph *g; /* the new graph */
  nv_map seen; /* its nodes by meaning */
} nv_simplifier;

typedef struct nv_form { /* a node before it exists */
  nv_op op;
  nv_value operands[NV_MAX_OPERANDS];
  uint32_t n;
  nv_attr attr;
  nv_dtype dtype;
  nv_shape shape;
  uint32_t origin;
} nv_form;

/* ---- simplify.c ---- */
/* The value that f describes, every rule applied. */
nv_value nv_simplify_make(nv_simplifier *w, nv_form *f);

/* ---- simplify_view.c ---- */
/* One rewriting of a view. True: f changed, or *v is the result. */
bool nv_simplify_view(nv_simplifier *w, nv_form *f, nv_value *v);
/* The constant that v is, or repeats; NV_NONE. */
nv_value nv_repeated_const(const nv_graph *g, nv_value v);
void nv_form_become(nv_form *f, nv_op op, nv_value operand);
bool nv_is_one(nv_ctx *c, nv_dim d);

#endif
