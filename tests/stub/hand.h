/* hand.h - a hand-written tape: what nuvecc would write for y = x * w + 1 and s = sum(y, -1) on rows of 100, in two
 * signatures, and for b = -a with an empty second input. */
#ifndef HAND_H
#define HAND_H
#include "../../lib/emit/runtime/replay.c"

static const nvr_kernel hand_kernels[] = {{"hand_k0_multiply", "hand.t", 0, 0},
                                          {"hand_k1_add", "hand.y", 0, 0},
                                          {"hand_k2_sum", "hand.s", 1, 0},
                                          {"hand_k3_negative", "negate.b", 0, 0}};
static const int64_t shape_4_100[] = {4, 100}, shape_8_100[] = {8, 100}, shape_100[] = {100}, shape_4[] = {4},
                     shape_8[] = {8}, shape_5[] = {5}, shape_0[] = {0}, shape_scalar[] = {1};

static const char *const hand_inputs[] = {"x", "p.w"}, *const hand_outputs[] = {"y", "s"};
static const nvr_type hand_0_inputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4},
                                         {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type hand_0_outputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4}, {NUVEC_FLOAT32, 1, shape_4, 16, 4}};
static const nvr_type hand_1_inputs[] = {{NUVEC_FLOAT32, 2, shape_8_100, 3200, 4},
                                         {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type hand_1_outputs[] = {{NUVEC_FLOAT32, 2, shape_8_100, 3200, 4}, {NUVEC_FLOAT32, 1, shape_8, 32, 4}};
static const nvr_place hand_places[] = {{NVR_INPUT, 0, 0},     {NVR_INPUT, 1, 0},  {NVR_SCRATCH, 0, 256},
                                        {NVR_SCRATCH, 0, 256}, {NVR_OUTPUT, 0, 0}, {NVR_OUTPUT, 0, 0},
                                        {NVR_OUTPUT, 1, 0}};
static const nvr_launch hand_0_launches[] = {{0, 0, 3, hand_places, {100, 4, 1}},
                                             {1, 1, 2, hand_places + 3, {100, 4, 1}},
                                             {2, 1, 2, hand_places + 5, {128, 1, 1}}};
static const nvr_launch hand_1_launches[] = {{0, 0, 3, hand_places, {100, 8, 1}},
                                             {1, 1, 2, hand_places + 3, {100, 8, 1}},
                                             {2, 1, 2, hand_places + 5, {256, 1, 1}}};
static const nvr_signature hand_signatures[] = {{hand_0_inputs, hand_0_outputs, hand_0_launches, 3, 1856},
                                                {hand_1_inputs, hand_1_outputs, hand_1_launches, 3, 3456}};

static const char *const negate_inputs[] = {"a", "none"}, *const negate_outputs[] = {"b", "c"};
static const nvr_type negate_0_inputs[] = {{NUVEC_INT32, 1, shape_5, 20, 4}, {NUVEC_INT32, 1, shape_0, 0, 4}};
static const nvr_type negate_0_outputs[] = {{NUVEC_INT32, 1, shape_5, 20, 4}, {NUVEC_INT32, 1, shape_0, 0, 4}};
static const nvr_place negate_places[] = {{NVR_INPUT, 0, 0}, {NVR_INPUT, 1, 0}, {NVR_OUTPUT, 0, 0},
                                          {NVR_INPUT, 1, 0}, {NVR_INPUT, 1, 0}, {NVR_OUTPUT, 1, 0}};
static const nvr_launch negate_launches[] = {{3, 0, 3, negate_places, {5, 1, 1}},
                                             {3, 1, 3, negate_places + 3, {0, 1, 1}}};
static const nvr_signature negate_signatures[] = {{negate_0_inputs, negate_0_outputs, negate_launches, 2, 16}};

/* One input, one output of rank 0, and nothing to launch: the smallest entry. */
static const nvr_type nothing_inputs[] = {{NUVEC_BOOL, 0, shape_scalar, 1, 1}};
static const nvr_signature nothing_signatures[] = {{nothing_inputs, NULL, NULL, 0, 0}};

static const nvr_entry hand_entries[] = {{"hand", hand_inputs, 2, hand_outputs, 2, hand_signatures, 2, 0},
                                         {"negate", negate_inputs, 2, negate_outputs, 2, negate_signatures, 1, 2},
                                         {"nothing", negate_inputs, 1, NULL, 0, nothing_signatures, 1, 3}};
static const nvr_tape hand_tape = {"hand", "hand_tie_1", "macOS", 14,           0, 1007,
                                   2002,   hand_kernels, 4,       hand_entries, 3, 4};
#endif
