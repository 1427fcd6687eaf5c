/* hand.h - a hand-written tape: what nuvecc would write for y = x * w + 1 and s = sum(y, -1) on rows of 100, in two
 * signatures, and for b = -a with an empty second input. */
#ifndef HAND_H
#define HAND_H
#include "../../lib/emit/runtime/bind.c"

#if NVR_OPEN /* what says of rows that all their sizes are known */
#define LAUNCH , NULL, NULL
#define SIGNATURE , NULL
#define ENTRY NULL, 0,
#else
#define LAUNCH
#define SIGNATURE
#define ENTRY
#endif

static const nvr_kernel hand_kernels[] = {{"hand_k0_multiply", "hand.t", 0, 0},
                                          {"hand_k1_add", "hand.y", 0, 0},
                                          {"hand_k2_sum", "hand.s", 1, 0},
                                          {"hand_k3_negative", "negate.b", 0, 0}};
static const int64_t shape_4_100[] = {4, 100}, shape_8_100[] = {8, 100}, shape_100[] = {100}, shape_4[] = {4},
                     shape_8[] = {8}, shape_5[] = {5}, shape_0[] = {0}, shape_scalar[] = {1};

#define AT(k) NVR_CALL, (k) * sizeof(nuvec_array)
static const nvr_port hand_inputs[] = {{"x", AT(0)}, {"p.w", AT(1)}}, hand_outputs[] = {{"y", AT(0)}, {"s", AT(1)}};
static const nvr_form hand_form[] = {{hand_inputs, hand_outputs, 2, 2, NULL, 0, 0, NULL}};
static const nvr_type hand_0_inputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4},
                                         {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type hand_0_outputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4}, {NUVEC_FLOAT32, 1, shape_4, 16, 4}};
static const nvr_type hand_1_inputs[] = {{NUVEC_FLOAT32, 2, shape_8_100, 3200, 4},
                                         {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type hand_1_outputs[] = {{NUVEC_FLOAT32, 2, shape_8_100, 3200, 4}, {NUVEC_FLOAT32, 1, shape_8, 32, 4}};
static const nvr_place hand_places[] = {{NVR_INPUT, 0, 0},     {NVR_INPUT, 1, 0},  {NVR_SCRATCH, 0, 256},
                                        {NVR_SCRATCH, 0, 256}, {NVR_OUTPUT, 0, 0}, {NVR_OUTPUT, 0, 0},
                                        {NVR_OUTPUT, 1, 0}};
static const nvr_launch hand_0_launches[] = {{0, 0, 3, hand_places, {100, 4, 1} LAUNCH},
                                             {1, 1, 2, hand_places + 3, {100, 4, 1} LAUNCH},
                                             {2, 1, 2, hand_places + 5, {128, 1, 1} LAUNCH}};
static const nvr_launch hand_1_launches[] = {{0, 0, 3, hand_places, {100, 8, 1} LAUNCH},
                                             {1, 1, 2, hand_places + 3, {100, 8, 1} LAUNCH},
                                             {2, 1, 2, hand_places + 5, {256, 1, 1} LAUNCH}};
static const nvr_signature hand_signatures[] = {
    {hand_form, NULL, hand_0_inputs, hand_0_outputs, hand_0_launches, 3, 1856 SIGNATURE},
    {hand_form, NULL, hand_1_inputs, hand_1_outputs, hand_1_launches, 3, 3456 SIGNATURE}};
static unsigned short hand_table[4]; /* filled in by main: the compiler's own are tested on what it writes */

static const nvr_port negate_inputs[] = {{"a", AT(0)}, {"none", AT(1)}};
static const nvr_port negate_outputs[] = {{"b", AT(0)}, {"c", AT(1)}};
static const nvr_form negate_form[] = {{negate_inputs, negate_outputs, 2, 2, NULL, 0, 0, NULL}};
static const nvr_type negate_0_inputs[] = {{NUVEC_INT32, 1, shape_5, 20, 4}, {NUVEC_INT32, 1, shape_0, 0, 4}};
static const nvr_type negate_0_outputs[] = {{NUVEC_INT32, 1, shape_5, 20, 4}, {NUVEC_INT32, 1, shape_0, 0, 4}};
static const nvr_place negate_places[] = {{NVR_INPUT, 0, 0}, {NVR_INPUT, 1, 0}, {NVR_OUTPUT, 0, 0},
                                          {NVR_INPUT, 1, 0}, {NVR_INPUT, 1, 0}, {NVR_OUTPUT, 1, 0}};
static const nvr_launch negate_launches[] = {{3, 0, 3, negate_places, {5, 1, 1} LAUNCH},
                                             {3, 1, 3, negate_places + 3, {0, 1, 1} LAUNCH}};
static const nvr_signature negate_signatures[] = {
    {negate_form, NULL, negate_0_inputs, negate_0_outputs, negate_launches, 2, 16 SIGNATURE}};

/* One input, one output of rank 0, and nothing to launch: the smallest entry. */
static const nvr_type nothing_inputs[] = {{NUVEC_BOOL, 0, shape_scalar, 1, 1}};
static const nvr_form nothing_form[] = {{negate_inputs, NULL, 1, 0, NULL, 0, 0, NULL}};
static const nvr_signature nothing_signatures[] = {{nothing_form, NULL, nothing_inputs, NULL, NULL, 0, 0 SIGNATURE}};

/* The fourth has the first's signatures, with p.w bound. */
typedef struct bound_inputs {
  nuvec_array w;
} bound_inputs;
static const nvr_port bound_ports[] = {{"x", AT(0)}, {"p.w", NVR_BOUND, 0}};
static const nvr_form bound_form[] = {{bound_ports, hand_outputs, 2, 2, NULL, 0, 0, NULL}};
static const nvr_signature bound_signatures[] = {
    {bound_form, NULL, hand_0_inputs, hand_0_outputs, hand_0_launches, 3, 1856 SIGNATURE}};

static const nvr_entry hand_entries[] = {{"hand", hand_form, 1, hand_signatures, 2, hand_table, 3, ENTRY 8, 0},
                                         {"negate", negate_form, 1, negate_signatures, 1, NULL, 0, ENTRY 8, 0},
                                         {"nothing", nothing_form, 1, nothing_signatures, 1, NULL, 0, ENTRY 8, 0},
                                         {"bound", bound_form, 1, bound_signatures, 1, NULL, 0, ENTRY 2, 0}};
static const nvr_tape hand_tape = {"hand", "hand_tie_1", "macOS", 14,           0, 1007,
                                   2002,   hand_kernels, 4,       hand_entries, 4};
#endif
