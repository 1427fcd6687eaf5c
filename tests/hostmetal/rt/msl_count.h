/* msl_count.h - private: counting the bytes a launch touches. */
#ifndef MSL_COUNT_H
#define MSL_COUNT_H
#include "msl_rt.h"
int msl_count_overlaps(const msl_launch *l); /* two bindings share memory and one may be written */
/* From here on msl_count() marks; seen: the kernel's buffers, of which those that overlap others become copies. */
void msl_count_begin(const msl_launch *l, void *seen[MSL_BUFFERS]);
/* Puts the copies back, sums up, frees the maps; why: what was wrong, or "". */
void msl_count_end(const msl_launch *l, msl_traffic out[MSL_BUFFERS + 1], char *why, size_t size);
void msl_count_report(const msl_launch *l, const msl_traffic t[MSL_BUFFERS + 1]); /* observer and MSL_BYTES */
#endif
