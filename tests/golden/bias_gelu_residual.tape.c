/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"bias_gelu_residual_k0_add_div_erf_add_mul_div_add",
     "bias_gelu_residual: h, y/gelu.e, y/gelu.y, y", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_256_1024[] = {256, 1024};
static const int64_t nvr_shape_1024[] = {1024};

/* ---- entry bias_gelu_residual ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(bias_gelu_residual_inputs, x)},
    {"bias", NVR_CALL, offsetof(bias_gelu_residual_inputs, bias)},
    {"residual", NVR_CALL, offsetof(bias_gelu_residual_inputs, residual)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(bias_gelu_residual_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 3, 1, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_256_1024, 1048576, 16}, /* x */
    {NUVEC_FLOAT32, 1, nvr_shape_1024, 4096, 16}, /* bias */
    {NUVEC_FLOAT32, 2, nvr_shape_256_1024, 1048576, 16}, /* residual */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_256_1024, 1048576, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* bias_gelu_residual_k0_add_div_erf_add_mul_div_add */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_INPUT, 1, 0}, /* bias */
    {NVR_INPUT, 2, 0}, /* residual */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 4, nvr_0_0_places + 0, {256, 256, 1}}, /* bias_gelu_residual_k0_add_div_erf_add_mul_div_add */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"bias_gelu_residual", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "bias_gelu_residual",
    "bias_gelu_residual_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of bias_gelu_residual.h ---- */

nuvec_status bias_gelu_residual_create(const nuvec_options *options, bias_gelu_residual_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (bias_gelu_residual_context *)made;
  return status;
}
nuvec_status bias_gelu_residual_destroy(bias_gelu_residual_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status bias_gelu_residual_wait(bias_gelu_residual_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *bias_gelu_residual_error(bias_gelu_residual_context *context) {
  return nvr_error((nvr_context *)context);
}
void bias_gelu_residual_release(nuvec_array *array) { nvr_release(array); }

nuvec_status bias_gelu_residual_call(bias_gelu_residual_context *context,
    const bias_gelu_residual_inputs *inputs, bias_gelu_residual_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status bias_gelu_residual_call_timed(bias_gelu_residual_context *context,
    const bias_gelu_residual_inputs *inputs, bias_gelu_residual_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status bias_gelu_residual_call_async(bias_gelu_residual_context *context,
    const bias_gelu_residual_inputs *inputs, bias_gelu_residual_outputs *outputs, nuvec_done done,
    void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status bias_gelu_residual_encode(bias_gelu_residual_context *context, void *command_buffer,
    const bias_gelu_residual_inputs *inputs, bias_gelu_residual_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status bias_gelu_residual_shapes(bias_gelu_residual_context *context,
    const bias_gelu_residual_inputs *inputs, bias_gelu_residual_outputs *outputs, size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status bias_gelu_residual_cache(bias_gelu_residual_context *context, const size_t *capacity,
    nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status bias_gelu_residual_packed(bias_gelu_residual_context *context, long signature,
    const nuvec_array *inputs, size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *bias_gelu_residual_inputs_leaf(bias_gelu_residual_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *bias_gelu_residual_outputs_leaf(bias_gelu_residual_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
