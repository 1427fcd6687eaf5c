/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"black_scholes_k0_sqrt_mul_div_log_square_div_779b5ed2",
     "black_scholes: width, d1, d2, discounted, call/cdf.out0, call, put, put/cdf.out0", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_100000[] = {100000};
static const int64_t nvr_shape[] = {1}; /* rank 0 */

/* ---- entry black_scholes ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"spot", NVR_CALL, offsetof(black_scholes_inputs, spot)},
    {"strike", NVR_CALL, offsetof(black_scholes_inputs, strike)},
    {"years", NVR_CALL, offsetof(black_scholes_inputs, years)},
    {"volatility", NVR_CALL, offsetof(black_scholes_inputs, volatility)},
    {"rate", NVR_CALL, offsetof(black_scholes_inputs, rate)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"call", NVR_CALL, offsetof(black_scholes_outputs, call)},
    {"put", NVR_CALL, offsetof(black_scholes_outputs, put)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 5, 2, NULL, 0, 0, NULL},
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
    /* black_scholes_k0_sqrt_mul_div_log_square_div_779b5ed2 */
    {NVR_INPUT, 2, 0}, /* years */
    {NVR_INPUT, 3, 0}, /* volatility */
    {NVR_INPUT, 0, 0}, /* spot */
    {NVR_INPUT, 1, 0}, /* strike */
    {NVR_INPUT, 4, 0}, /* rate */
    {NVR_OUTPUT, 0, 0}, /* call */
    {NVR_OUTPUT, 1, 0}, /* put */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 7, nvr_0_0_places + 0, {25000, 1, 1}}, /* black_scholes_k0_sqrt_mul_div_log_square_div_779b5ed2 */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"black_scholes", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "black_scholes",
    "black_scholes_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

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
nuvec_status black_scholes_wait(black_scholes_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *black_scholes_error(black_scholes_context *context) {
  return nvr_error((nvr_context *)context);
}
void black_scholes_release(nuvec_array *array) { nvr_release(array); }

nuvec_status black_scholes_call(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status black_scholes_call_timed(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status black_scholes_call_async(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status black_scholes_encode(black_scholes_context *context, void *command_buffer,
    const black_scholes_inputs *inputs, black_scholes_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status black_scholes_shapes(black_scholes_context *context, const black_scholes_inputs *inputs,
    black_scholes_outputs *outputs, size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status black_scholes_cache(black_scholes_context *context, const size_t *capacity,
    nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status black_scholes_packed(black_scholes_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *black_scholes_inputs_leaf(black_scholes_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *black_scholes_outputs_leaf(black_scholes_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
