/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"black_scholes_k0_sqrt_mul_div_log_square_div_72cc6d5f",
     "black_scholes: width, d1, d2, discounted, call/cdf.out0, call, put, put/cdf.out0", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_100000[] = {100000};
static const int64_t nvr_shape[] = {1}; /* rank 0 */

/* ---- entry black_scholes ---- */
static const char *const nvr_0_inputs[] = {
    "spot",
    "strike",
    "years",
    "volatility",
    "rate",
};
static const char *const nvr_0_outputs[] = {
    "call",
    "put",
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* spot */
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* strike */
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* years */
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* volatility */
    {NUVEC_FLOAT32, 0, nvr_shape, 4, 4}, /* rate */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* call */
    {NUVEC_FLOAT32, 1, nvr_shape_100000, 400000, 16}, /* put */
};
static const nvr_place nvr_0_0_places[] = {
    /* black_scholes_k0_sqrt_mul_div_log_square_div_72cc6d5f */
    {NVR_INPUT, 2, 0}, /* years */
    {NVR_INPUT, 3, 0}, /* volatility */
    {NVR_INPUT, 0, 0}, /* spot */
    {NVR_INPUT, 1, 0}, /* strike */
    {NVR_INPUT, 4, 0}, /* rate */
    {NVR_OUTPUT, 0, 0}, /* call */
    {NVR_OUTPUT, 1, 0}, /* put */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 7, nvr_0_0_places + 0, {25000, 1, 1}}, /* black_scholes_k0_sqrt_mul_div_log_square_div_72cc6d5f */
};
static const nvr_signature nvr_0_signatures[] = {
    {nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"black_scholes", nvr_0_inputs, 5, nvr_0_outputs, 2, nvr_0_signatures, 1, 0},
};

static const nvr_tape nvr_the_tape = {
    "black_scholes",
    "black_scholes_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1, 1};

/* ---- the functions of black_scholes.h ---- */

nuvec_status black_scholes_create(const nuvec_options *options, black_scholes_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (black_scholes_context *)made;
  return status;
}
nuvec_status black_scholes_destroy(black_scholes_context *context) {
  return nvr_destroy((nvr_context *)context);
}
const char *black_scholes_error(black_scholes_context *context) {
  return nvr_error((nvr_context *)context);
}
void black_scholes_release(nuvec_array *array) { nvr_release(array); }

typedef char nvr_0_inputs_are_arrays[
    sizeof(black_scholes_inputs) == 5 * sizeof(nuvec_array) ? 1 : -1];
typedef char nvr_0_outputs_are_arrays[
    sizeof(black_scholes_outputs) == 2 * sizeof(nuvec_array) ? 1 : -1];
nuvec_status black_scholes_call(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 5,
      (nuvec_array *)(void *)outputs, 2);
}
nuvec_status black_scholes_shapes(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs, size_t *scratch) {
  return nvr_shapes((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 5,
      (nuvec_array *)(void *)outputs, 2, scratch);
}
nuvec_status black_scholes_packed(black_scholes_context *context, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], inputs, ninputs, outputs, noutputs);
}
