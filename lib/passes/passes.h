/* passes.h - the pipeline's passes, one file each, one function each. nuvec.c calls them in this order. */
#ifndef NV_PASSES_H
#define NV_PASSES_H

#include "../ir/kernel.h"
#include "../spec/ast.h"
#include "../target.h"

/* One entry under one signature on its way through the pipeline. */
typedef struct nv_program {
  const nv_entry *entry;
  uint32_t signature; /* index */
  nv_style style;
  nv_graph *traced, *simplified;
  nv_plan *plan;
  const char *symbol; /* NAME_ENTRY or NAME, set by emit/names.c */
} nv_program;

typedef struct nv_kernel_text { /* in nv_module.text */
  const nv_kernel *kernel; /* the first that has it */
  uint32_t offset, length;
} nv_kernel_text;

typedef struct nv_module { /* everything that one spec becomes */
  nv_ctx *c;
  nv_spec *spec;
  const char *name;     /* NAME */
  const char *prefix_c; /* NAME as the start of a C identifier */
  nv_program *programs;
  uint32_t nprograms, programs_cap;
  nv_buf text; /* emit/names.c: of all kernels, each once */
  nv_kernel_text *texts;
  uint32_t ntexts;
  struct nv_tie *tie; /* emit/metal.c: made once */
  struct nv_view **views; /* emit/view.c: of each entry, at its first program; NULL: not made yet */
  bool has_data;      /* emit/data.c: there is a NAME.data, of data_bytes */
  int64_t data_bytes;
  uint64_t data_hash; /* of the arrays in it */
} nv_module;

/* trace: needs a parsed entry; makes its graph for signature k, every rule of nuvec-spec(5) applied. NULL when errors
 * were reported. Statics decided, calls inlined, composites expanded, weak values typed, conversions and broadcasts
 * explicit. */
nv_graph *nv_trace(nv_spec *s, const nv_entry *e, uint32_t signature);
/* simplify: needs a traced graph; returns a new one with identity views and conversions gone, equal constants and
 * equal operations merged, constants folded where exact, dead nodes dropped. A second run changes nothing. */
nv_graph *nv_simplify(const nv_graph *g);
/* Dead nodes only (--no-simplify). */
nv_graph *nv_drop_dead(const nv_graph *g);
/* fuse: needs a simplified graph; partitions its nodes into kernels and lowers each to a body with index expressions.
 * fuse = false: one kernel an op (views that are index arithmetic still become loads of their own kernel: a copy). */
nv_graph *nv_split_scans(nv_graph *g);
/* Is a reduction to become one of blocks and one of what they come to? That, added to g: x is the operand there. */
bool nv_reduction_is_split(nv_ctx *c, const nv_graph *g, const nv_node_rec *node);
/* split_folds.c: is this fold of updates by index sorted first? The nodes that it becomes, for its operands in g, to
 * whose origins it adds; last: the keys of the one before, which has the same index often enough. */
typedef struct nv_sorted {
  nv_value index, keys; /* keys NV_NONE: none yet */
  int64_t n, lines;
} nv_sorted;
bool nv_fold_is_split(nv_ctx *c, const nv_graph *g, const nv_node_rec *node);
nv_value nv_split_fold(nv_graph *g, const nv_node_rec *node, const nv_value *operands, nv_sorted *last);
nv_value nv_split_reduction(nv_graph *g, const nv_graph *from, const nv_node_rec *node, nv_value x);
/* Does a scan of n elements, with inner elements between two of them, take a thread a line (else a simdgroup)? */
bool nv_scan_is_columns(int64_t n, int64_t inner);
nv_plan *nv_fuse(nv_graph *g, bool fuse);
/* plan: needs the kernels; gives every value a place, packs scratch by lifetime, sets barriers and byte counts. */
void nv_place_buffers(nv_plan *p);

#endif
