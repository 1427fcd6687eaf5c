/* region.h - which elements of an array are touched: boxes of evenly spaced runs, one an axis (private to the passes).
 */
#ifndef NV_REGION_H
#define NV_REGION_H

#include "../ir/graph.h"

/* Along one axis: elements first, first + step, …, n of them; n > 0, step > 0. A box is an array of rank runs. */
typedef struct nv_run {
  int64_t first, step, n;
} nv_run;

/* Are all elements of b in a? */
bool nv_box_holds(const nv_run *a, const nv_run *b, uint32_t rank);
int64_t nv_box_count(const nv_run *box, uint32_t rank);
/* Elements of the union of n boxes that lie one behind the other: *least <= it <= *most, equal where it can be told. */
void nv_boxes_count(nv_ctx *c, const nv_run *boxes, uint32_t n, uint32_t rank, int64_t *least, int64_t *most);
/* What an array of shape from needs of itself so that the box of it, reshaped to shape to, can be read: a box that
 * holds no element too many. false: there is none. */
bool nv_box_reshape(nv_ctx *c, const nv_run *box, nv_shape to, nv_shape from, nv_run *out);
/* Of an array of shape s, read at noffsets offsets over symbols (symbol[k] from 0 below extent[k]): an upper bound of
 * the elements that are read, exact in most cases. */
int64_t nv_count_touched(nv_ctx *c, nv_shape s, const nv_dim *offsets, uint32_t noffsets, const nv_dim *symbols,
                         const int64_t *extents, uint32_t nsymbols);

#endif
