/* op.h - the op table's types. The table itself is lib/ops.def: one row an op, and everything per-op reads the row.
 */
#ifndef NV_OP_H
#define NV_OP_H

#include "dtype.h"

typedef enum nv_op {
  NV_OP_INPUT, /* placeholder: attr {index} */
  NV_OP_CONST, /* rank-0 constant: attr {bits}, the value's dtype says how to read them */
  NV_OP_SIZE,  /* rank-0 number that follows from sizes known at run time only: attr as sizes.h says */
  NV_OP_DATA,  /* constant array: attr {id} of data.h */
#define OP(name, ...) NV_OP_##name,
#include "../ops.def"
#undef OP
  NV_NOPS
} nv_op;

/* Which pass may touch a node, which emitter handles it. */
typedef enum nv_op_class {
  NV_LEAF,   /* input, const */
  NV_ELEM,   /* element-wise: operands and result of one shape */
  NV_VIEW,   /* index arithmetic only: the result's elements are the operand's */
  NV_REDUCE, /* over axes */
  NV_COPY,   /* copy, depends: kept */
  NV_SCAN,   /* along one axis: every element joined with all before it */
  NV_EXPAND, /* no node of its own: trace expands it (clip) */
  NV_INDEX,  /* iota: no operands, an element's value follows from its place */
  NV_PICK,   /* elements of the first operand, chosen by the values of the second */
  NV_FOLD    /* the third operand's elements joined, in order, to those of the first that the second says */
} nv_op_class;

typedef enum nv_dtype_rule {
  NV_DT_SAME,          /* result as the operand */
  NV_DT_FLOAT,         /* operand to at-least-float first, result the same */
  NV_DT_PROMOTE,       /* operands promoted, result the same */
  NV_DT_PROMOTE_FLOAT, /* promoted, then at least float */
  NV_DT_COMPARE,       /* operands promoted, result bool */
  NV_DT_LOGICAL,       /* operands to bool, result bool */
  NV_DT_SELECT,        /* first operand to bool, the others promoted, result those */
  NV_DT_ATTR,          /* attribute dtype (astype) */
  NV_DT_SUM,           /* bool and small ints to int32/uint32 (nuvec-ops(5), Reductions) */
  NV_DT_CUMSUM,        /* bool to int32; result the same */
  NV_DT_MEAN,          /* at least float */
  NV_DT_REAL,          /* the operand's; float32 for complex64 */
  NV_DT_SHIFT,         /* promoted, bool becoming uint8; result the same */
  NV_DT_PICK,          /* result as the first operand (and the third), the second is int32 or int64 */
  NV_DT_INT32,         /* int32 */
  NV_DT_UINT32         /* uint32 */
} nv_dtype_rule;

typedef enum nv_shape_rule {
  NV_SH_ELEM, /* broadcast of the operands; in the graph they are equal already */
  NV_SH_RESHAPE,
  NV_SH_BROADCAST_TO,
  NV_SH_TRANSPOSE,
  NV_SH_EXPAND_DIMS,
  NV_SH_SQUEEZE,
  NV_SH_SLICE,
  NV_SH_PAD_EDGE,
  NV_SH_IOTA,
  NV_SH_REDUCE,
  NV_SH_PICK,
  NV_SH_SCAN,
  NV_SH_FOLD,
  NV_SH_NONE
} nv_shape_rule;

/* Attributes as the spec writes them, in order (positional after the operands). In the graph they are canonical:
 * a node's attr is an interned list of int64 (graph.h says what each op's holds). */
typedef enum nv_attr_kind {
  NV_AT_END,   /* ends a row's list */
  NV_AT_AXIS,  /* one int; negative counts from the end; None: of the flattened array */
  NV_AT_AXES,  /* None (all), an int, or a list of distinct ints */
  NV_AT_PERM,  /* None (reversed) or a permutation */
  NV_AT_SHAPE, /* list of sizes; reshape takes one -1 */
  NV_AT_BOOL,
  NV_AT_INT,
  NV_AT_NUMBER, /* a static number, or None; trace expands by it, the graph doesn't have it */
  NV_AT_DTYPE,
  NV_AT_SLICE, /* None, or a list of ints and Nones, one a leading axis; slice has three of them */
  NV_AT_VALUE  /* whatever the op's expansion takes */
} nv_attr_kind;
typedef struct nv_attr_info {
  const char *name;
  nv_attr_kind kind;
  const char *default_; /* text; NULL: required */
} nv_attr_info;

enum {                  /* nv_op_info.flags */
       NV_COMMUTES = 1, /* exactly: a∘b and b∘a have the same bits for every dtype (NaNs being equal) */
       NV_EXACT = 2,  /* every device rounds it alike: constants may be folded through it (no subnormals involved) */
       NV_NO_CSE = 4, /* never merged */
       NV_KEPT = 8,   /* asked for explicitly: stays on the way to an output */
       NV_INNER = 16  /* no name of the language: other ops are made of it */
};

typedef enum nv_kind { NV_KIND_BOOL, NV_KIND_UINT, NV_KIND_INT, NV_KIND_FLOAT, NV_KIND_COMPLEX, NV_NKINDS } nv_kind;
static inline nv_kind nv_kind_of(nv_dtype d) {
  return d == NV_BOOL                 ? NV_KIND_BOOL
         : nv_is(d, NV_BITS_UNSIGNED) ? NV_KIND_UINT
         : nv_is(d, NV_BITS_SIGNED)   ? NV_KIND_INT
         : d == NV_C64                ? NV_KIND_COMPLEX
                                      : NV_KIND_FLOAT;
}

#define NV_MAX_OPERANDS 8
#define NV_MAX_ATTRS 6

/* What a reduction of no elements gives. */
typedef enum nv_nothing { NV_NOTHING_ERROR, NV_NOTHING_ZERO, NV_NOTHING_ONE, NV_NOTHING_NAN } nv_nothing;

typedef struct nv_op_info {
  const char *name;
  const char *aliases; /* space-separated, or NULL */
  const char *params;  /* operand names; "?" behind one: may be left out. "x min? max?" */
  uint8_t results;     /* 0 means 1 */
  nv_attr_info attrs[NV_MAX_ATTRS + 1];
  nv_op_class cls;
  nv_dtype_rule dtype;
  nv_shape_rule shape;
  nv_nothing nothing; /* reductions */
  uint32_t domain; /* dtypes that operands may have after conversion by the rule: NV_BIT mask */
  uint32_t flags;
  /* Metal text by the kind of the (converted) operand dtype: $0 $1 $2 operands (names or literals), $T the result's
     type, $O the operand's type, $U the operand's type made unsigned. Everything else is copied. NULL: no form. One
     operation; float text is for float32: 16-bit floats wrap it. */
  const char *msl[NV_NKINDS];
  const char *msl_fast; /* float text under --pow=fast in kernels of several operations, or NULL */
  const char *helpers; /* space-separated helper functions that the float text calls (lib/ir/math.inc), or NULL */
  const char *doc;     /* one sentence for the manual */
  const char *edges;   /* what it adds on zeros, infinities, NaN and the like; NULL: nothing to say */
  /* Largest error of the float form, in units in the last place of float32: a number, with helpers as tests/ulp
     measured it over all inputs (the same bits on every device), else Metal's promise for its function (Metal Shading
     Language Specification 4, table 8.1); or words. NULL: exact or correctly rounded. */
  const char *ulp;
} nv_op_info;

extern const nv_op_info nv_ops[NV_NOPS];
/* By name or alias; NV_NOPS: unknown. */
nv_op nv_op_find(const char *name);
/* Bits in dtype d of what a scan joins nothing to: 0 and 1, the least and the greatest number, -inf. */
uint64_t nv_scan_identity(nv_op op, nv_dtype d);
/* Operand counts, from params. */
void nv_op_arity(nv_op op, uint32_t *min, uint32_t *max);
/* Bits in the result's dtype of a reduction of no elements. */
uint64_t nv_value_of_nothing(nv_ctx *c, nv_op op, nv_dtype d);
/* Of class NV_FOLD: the element-wise op that joins an element and an update; NV_OP_copy: the update itself. */
nv_op nv_fold_joins(nv_op op);
static inline uint32_t nv_op_results(nv_op op) { return nv_ops[op].results ? nv_ops[op].results : 1; }

#endif
