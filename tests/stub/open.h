/* open.h - a hand-written tape of open sizes: x [B, N], w [N] to y = x * w + number and s = 0, 1, ... of B + N
 * elements. The number tells which signature it was: 1 where B is 4 and N is 100, 4 / N where N is 100, else 2 / N. */
#ifndef OPEN_H
#define OPEN_H
#include "hand.h"

static const nvr_kernel open_kernels[] = {{"open_k0_times", "open.t", 0, 0},
                                          {"open_k1_plus", "open.y", 0, 0},
                                          {"open_k2_count", "open.s", 0, 0},
                                          {"hand_k0_multiply", "open.t", 0, 0},
                                          {"hand_k1_add", "open.y", 0, 0}};
static const nvr_port open_inputs[] = {{"x", AT(0)}, {"w", AT(1)}}, open_outputs[] = {{"y", AT(0)}, {"s", AT(1)}};
static const nvr_form open_form[] = {{open_inputs, open_outputs, 2, 2, NULL, 0, 0, NULL}};
static const nvr_place open_places[] = {{NVR_INPUT, 0, 0},  {NVR_INPUT, 1, 0},  {NVR_SCRATCH, 1, 0},
                                        {NVR_SCRATCH, 1, 0}, {NVR_OUTPUT, 0, 0}, {NVR_OUTPUT, 1, 0}};

/* 0: all are known. */
static const int64_t shape_104[] = {104};
static const nvr_type open_0_inputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4},
                                         {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type open_0_outputs[] = {{NUVEC_FLOAT32, 2, shape_4_100, 1600, 4},
                                          {NUVEC_FLOAT32, 1, shape_104, 416, 4}};
static const nvr_place open_0_places[] = {{NVR_INPUT, 0, 0},    {NVR_INPUT, 1, 0},  {NVR_SCRATCH, 0, 256},
                                          {NVR_SCRATCH, 0, 256}, {NVR_OUTPUT, 0, 0}, {NVR_OUTPUT, 1, 0}};
static const nvr_launch open_0_launches[] = {{3, 0, 3, open_0_places, {100, 4, 1}, NULL, NULL},
                                             {4, 1, 2, open_0_places + 3, {100, 4, 1}, NULL, NULL},
                                             {2, 0, 1, open_0_places + 5, {104, 1, 1}, NULL, NULL}};

/* 1: N is 100. Numbers: 0 B, 1 400, 2 100, 3 1, 4 400 B, 5 100 B, 6 B + 100, 7 4.0, 8 100.0, 9 4.0 / 100.0. */
static const int64_t shape_B_100[] = {-1, 100}, shape_open[] = {-1, -1};
static const nvr_type open_1_inputs[] = {{NUVEC_FLOAT32, 2, shape_B_100, 4, 4}, {NUVEC_FLOAT32, 1, shape_100, 400, 4}};
static const nvr_type open_1_outputs[] = {{NUVEC_FLOAT32, 2, shape_B_100, 4, 4}, {NUVEC_FLOAT32, 1, shape_open, 4, 4}};
static const nvr_source open_1_sources[] = {{"B", 0, 0, 1, 0, 0, 1000}};
static const nvr_operation open_1_steps[] = {{NVR_WHOLE, 400, 0},       {NVR_WHOLE, 100, 0},  {NVR_WHOLE, 1, 0},
                                             {NVR_MUL, 1, 0},           {NVR_MUL, 2, 0},      {NVR_ADD, 2, 0},
                                             {NVR_REAL, 0, 0x40100000}, {NVR_TO_REAL, 2, 0},  {NVR_OVER, 7, 8}};
static const nvr_axis open_1_in[] = {{0, 0, 0, 0, "B"}};
static const nvr_axis open_1_out[] = {{0, 0, 0, 0, "B"}, {1, 0, 6, 0, "B + 100"}};
static const unsigned open_1_slots[] = {3, 4};
static const nvr_field open_1_fields[] = {{2, 0, NUVEC_INT64}, {9, 1, NUVEC_FLOAT32}};
static const nvr_sizes open_1_sizes[] = {{{5, 3, 3}, 1, open_1_fields}, {{5, 3, 3}, 1, open_1_fields + 1},
                                         {{6, 3, 3}, 0, NULL}};
static const nvr_launch open_1_launches[] = {{0, 0, 3, open_places, {0, 0, 0}, &open_1_sizes[0], NULL},
                                             {1, 1, 2, open_places + 3, {0, 0, 0}, &open_1_sizes[1], NULL},
                                             {2, 0, 1, open_places + 5, {0, 0, 0}, &open_1_sizes[2], NULL}};
static const nvr_open_sizes open_1 = {open_1_sources, open_1_steps, open_1_in, open_1_out, NULL, open_1_slots,
                                1,              9,            1,         2,          0,    2};

/* 2: numbers: 0 B, 1 N, 2 1, 3 4, 4 4000, 5 B N, 6 4 B N, 7 B + N, 8 2.0, 9 N as a double, 10 2.0 / N, 11 2^62, 12 900,
 * 13 B // 900, 14 2^62 (B // 900), 15 four times that. */
static const nvr_type open_2_inputs[] = {{NUVEC_FLOAT32, 2, shape_open, 4, 4}, {NUVEC_FLOAT32, 1, shape_open, 4, 4}};
static const nvr_type open_2_outputs[] = {{NUVEC_FLOAT32, 2, shape_open, 4, 4}, {NUVEC_FLOAT32, 1, shape_open, 4, 4}};
static const nvr_source open_2_sources[] = {{"B", 0, 0, 1, 0, 0, 1000}, {"N", 0, 1, 1, 0, 0, 200}};
static const nvr_operation open_2_steps[] = {
    {NVR_WHOLE, 1, 0},   {NVR_WHOLE, 4, 0}, {NVR_WHOLE, 4000, 0},       {NVR_MUL, 0, 1},   {NVR_MUL, 3, 5},
    {NVR_ADD, 0, 1},     {NVR_REAL, 0, 0x40000000}, {NVR_TO_REAL, 1, 0}, {NVR_OVER, 8, 9}, {NVR_WHOLE, 0, 0x40000000},
    {NVR_WHOLE, 900, 0}, {NVR_DIV, 0, 12},  {NVR_MUL, 11, 13},          {NVR_MUL, 14, 3}};
static const nvr_axis open_2_in[] = {{0, 0, 0, 0, "B"}, {0, 1, 1, 1, "N"}, {1, 0, 1, 1, "N"}};
static const nvr_axis open_2_out[] = {{0, 0, 0, 0, "B"}, {0, 1, 1, 1, "N"}, {1, 0, 7, 0, "B + N"}};
static const nvr_guard open_2_guards[] = {{NVR_AT_MOST, 5, 4, "B*N", NULL, "open.y"},
                                          {NVR_AT_MOST, 15, 4, "2^64*(B//900)", NULL, NULL}};
static const unsigned open_2_slots[] = {2, 6};
static const nvr_field open_2_fields[] = {{1, 0, NUVEC_INT64}, {10, 1, NUVEC_FLOAT32}};
static const nvr_sizes open_2_sizes[] = {{{5, 2, 2}, 1, open_2_fields}, {{5, 2, 2}, 1, open_2_fields + 1},
                                         {{7, 2, 2}, 0, NULL}};
static const nvr_launch open_2_launches[] = {{0, 0, 3, open_places, {0, 0, 0}, &open_2_sizes[0], NULL},
                                             {1, 1, 2, open_places + 3, {0, 0, 0}, &open_2_sizes[1], NULL},
                                             {2, 0, 1, open_places + 5, {0, 0, 0}, &open_2_sizes[2], NULL}};
static const nvr_open_sizes open_2 = {open_2_sources, open_2_steps, open_2_in, open_2_out, open_2_guards, open_2_slots,
                                2,              14,           3,         3,          2,             2};

static const nvr_signature open_signatures[] = {
    {open_form, NULL, open_0_inputs, open_0_outputs, open_0_launches, 3, 1856, NULL},
    {open_form, NULL, open_1_inputs, open_1_outputs, open_1_launches, 3, 0, &open_1},
    {open_form, NULL, open_2_inputs, open_2_outputs, open_2_launches, 3, 0, &open_2}};
static unsigned short open_table[4], open_open_table[4]; /* filled in by main */

/* The last signature alone, with w bound. */
static const nvr_port open_bound_ports[] = {{"x", AT(0)}, {"w", NVR_BOUND, 0}};
static const nvr_form open_bound_form[] = {{open_bound_ports, open_outputs, 2, 2, NULL, 0, 0, NULL}};
static const nvr_signature open_bound_signatures[] = {
    {open_bound_form, NULL, open_2_inputs, open_2_outputs, open_2_launches, 3, 0, &open_2}};

static const nvr_entry open_entries[] = {
    {"open", open_form, 1, open_signatures, 3, open_table, 3, open_open_table, 3, 8, 0},
    {"held", open_bound_form, 1, open_bound_signatures, 1, NULL, 0, NULL, 0, 8, 0}};
static const nvr_tape open_tape = {"hand", "hand_tie_1", "macOS", 14,           0, 1007,
                                   2002,   open_kernels, 5,       open_entries, 2};
#endif
