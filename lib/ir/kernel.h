/* kernel.h - the lower level of the IR: kernels and their launches, as the passes leave them for the emitters.
 *
 * A kernel runs a short straight-line body once for every point of an iteration space. Every index is a dim
 * expression over iteration symbols (dim.h), in elements; the emitter prints it. Bodies are in SSA: an instruction's
 * arguments are older instructions. */
#ifndef NV_KERNEL_H
#define NV_KERNEL_H

#include "graph.h"

typedef enum nv_kernel_kind {
  NV_K_MAP,    /* one thread a point; rank 0 to 3, outermost first: the last dim is the grid's x */
  NV_K_REDUCE, /* one simdgroup a point of the outer dims (rank 1), which walks the reduced elements in the fixed order
                */
  NV_K_ROWS,   /* simdgroups of their own a point (rank 1), its row: up to NV_LONGEST_ROW reduced elements, held in
                  registers while several reductions and what stands between them work on them */
  NV_K_SCAN    /* one simdgroup or thread a line (rank 1), which walks along the axis; nv_scan says how */
} nv_kernel_kind;
enum { NV_LONGEST_ROW = 8192 };

typedef enum nv_instr_kind {
  NV_I_CONST,  /* bits */
  NV_I_INDEX,  /* offset, as a value of dtype int32 or int64 */
  NV_I_LOAD,   /* operand, offset; with an argument, at offset + arg[0] * stride: op = pick. op = merged, below: what
                  that makes of the count elements from offset on, and arg[0] */
  NV_I_OP,     /* op, arg, attr */
  NV_I_REDUCE, /* arg[0] combined over all reduced elements by op (sum, max, mean, …). REDUCE kernels, once: what stands
                  before it runs once a reduced element, what stands behind it once a point. ROWS kernels: any number of
                  times; nv_kernel_rates says what runs how often */
  NV_I_SCAN,   /* SCAN kernels, once: arg[0] joined along the axis by op; what stands before and behind it runs once an
                  element. Of blocks arg[1] is what stands before the block; of totals what stands behind it runs once a
                  block. Behind it stands nothing that an instruction before it gave */
  NV_I_FOLD,   /* MAP kernels, once: for reduce_symbol = 0, 1, … arg[2] is joined by op (copy: taken) to what there
                  is, arg[0] at first, where arg[1] is true; what depends on that symbol stands before it. arg[1] an
                  int64: from its lower half up to its upper half */
  NV_I_STORE,  /* operand, offset, arg[0] */
  NV_I_SIZE    /* attr: a number that follows from sizes (sizes.h) */
} nv_instr_kind;

typedef struct nv_instr {
  uint8_t kind, dtype; /* of the result; STORE: of the stored value */
  uint16_t op;
  uint8_t nargs;
  bool checked;     /* LOAD by index: false: the index always is in 0 … count - 1 */
  uint32_t arg[3];  /* instructions */
  uint32_t operand; /* index into nv_kernel.operands */
  nv_dim offset;    /* elements from the operand's start; INDEX: the value */
  nv_attr attr;
  nv_value value;        /* of the graph; for comments */
  nv_dim stride, count; /* LOAD by index: elements a step; the value is 0 where the index isn't in 0 … count - 1 */
  uint64_t bits;
} nv_instr;

/* Is its value written where it is used, rather than held? */
static inline bool nv_is_inline(const nv_instr *i) { return i->kind == NV_I_CONST || i->kind == NV_I_SIZE; }

typedef struct nv_operand_rec { /* one buffer binding */
  nv_value value;               /* of the simplified graph */
  uint8_t dtype;
  bool written;
  uint32_t port;    /* written: the graph output that it is, or NV_NONE: scratch */
  int64_t elements; /* distinct elements touched; -1: the sizes say */
  int64_t extent;   /* elements of the whole array, of open sizes at most: decides 32- or 64-bit offsets */
} nv_operand_rec;

/* A number that follows from the sizes of a call and is the same for a whole launch. The stub computes it and hands it
 * over behind the operands, in a struct of 64-bit words: field k in word k. */
enum { NV_MOST_FIELDS = 512 }; /* what Metal's setBytes takes */
typedef struct nv_kernel_field {
  nv_attr expr;  /* sizes.h: a dim or a number */
  uint8_t dtype; /* its bits in this dtype are the word's low ones, the others 0. An index: int64 */
} nv_kernel_field;

enum { NV_SCAN_BLOCK = 128 }; /* elements of a block of the scan's order (nuvec-ops(5)) */
typedef enum nv_scan_part {
  NV_SCAN_WHOLE,  /* lines */
  NV_SCAN_TOTALS, /* what the blocks of lines come to, all but the last */
  NV_SCAN_BLOCKS  /* the blocks of lines, given what stands before each */
} nv_scan_part;
typedef struct nv_scan {
  nv_scan_part part;
  bool reverse, exclusive;
  bool columns;      /* a thread a line, not a simdgroup */
  int64_t blocks;    /* of a line that have an own simdgroup or thread; WHOLE: 0 */
  nv_dim block, before; /* symbols: number of the block in the scan's direction, and of the one before it */
} nv_scan;

typedef struct nv_kernel {
  nv_kernel_kind kind;
  uint32_t rank;               /* MAP: 0..3; REDUCE, ROWS: 1 (points) */
  nv_dim extent[3], symbol[3]; /* each extent at most 2^30; a longer space is cut into two dims */
  bool folds;                  /* MAP: has a FOLD */
  bool guarded;                /* MAP: the grid is larger than the space: points with guard >= limit return */
  nv_dim guard, limit;
  /* REDUCE, ROWS: elements a point, and their number e in row-major order; SCAN: the axis */
  nv_dim reduce_extent, reduce_symbol;
  nv_op reduce_op;                     /* REDUCE; SCAN: cumsum, …; of a MAP kernel that folds: the graph's */
  nv_scan scan;
  nv_instr *instrs;
  uint32_t ninstrs, instrs_cap;
  nv_operand_rec *operands;
  uint32_t noperands, operands_cap; /* inputs first, in order of first use, then outputs, then tables */
  uint32_t ntables;                 /* of those: constant arrays of the .metal file, which aren't bound */
  nv_node *nodes;
  uint32_t nnodes, nodes_cap; /* of the graph, in order: what it computes */
  uint32_t live;              /* most values alive at once */
  const char *name;           /* set by emit/names.c: unique in the module, stable */
  uint32_t emitted;           /* index of the kernel text that it shares (identical kernels are emitted once) */
  nv_kernel_field *fields;    /* set by emit/names.c, in order of first use; of kernels of one text each has its own */
  uint32_t nfields, fields_cap;
} nv_kernel;

/* Where an operand of a launch lies. */
typedef enum nv_place_kind {
  NV_PLACE_INPUT,
  NV_PLACE_OUTPUT,
  NV_PLACE_SCRATCH,
  NV_PLACE_DATA, /* a constant array of the data file */
  NV_PLACE_TABLE /* one of the .metal file: no binding */
} nv_place_kind;
typedef struct nv_place {
  nv_place_kind kind;
  uint32_t index; /* INPUT, OUTPUT: which; DATA, TABLE: its id; SCRATCH of an open plan: the slot */
  int64_t offset; /* SCRATCH: bytes into the arena, a multiple of 256, of an open plan into the slot: 0 */
} nv_place;

typedef struct nv_launch {
  uint32_t kernel;  /* into nv_program.kernels */
  nv_place *places; /* one an operand of the kernel */
  bool barrier;     /* a hazard with an earlier launch: a memory barrier stands before it */
} nv_launch;

/* Why an edge of the simplified graph was not fused. */
typedef struct nv_cut {
  nv_value value;
  nv_node user;
  const char *why;
} nv_cut;

typedef struct nv_plan {
  nv_graph *graph; /* simplified */
  nv_kernel *kernels;
  uint32_t nkernels, kernels_cap; /* in launch order; one launch each */
  nv_launch *launches;
  uint32_t nlaunches;
  nv_cut *cuts;
  uint32_t ncuts, cuts_cap;
  /* An open plan, whose graph has sources: bytes of the pieces of scratch. They lie one behind the other, each from a
   * multiple of 256 on. */
  nv_dim *slots;
  uint32_t nslots;
  int64_t scratch_bytes, scratch_bound; /* arena; largest sum of bytes alive at once. Of an open plan these are -1: */
  int64_t bytes_moved, bytes_lower_bound;
} nv_plan;

/* Of a REDUCE or ROWS kernel: each[i] says whether instruction i runs once a reduced element, else once a point. */
void nv_kernel_rates(nv_ctx *c, const nv_kernel *k, bool *each);

/* Most values alive behind an instruction; constants are part of the statements that use them. */
uint32_t nv_kernel_live(nv_ctx *c, const nv_kernel *k);

/* Text of a plan for --emit-graph=fused and tests: kernels, bodies, operands, launches, places. */
void nv_plan_print(nv_buf *b, const nv_plan *p);
void nv_plan_dot(nv_buf *b, const nv_plan *p);
/* Checks a plan: SSA, operand dtypes, 31 bindings (target), every output written once, no use before its launch. */
void nv_plan_verify(const nv_plan *p);

#endif
