/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"rms_norm_k0_add_square_mean_add_rsqrt_mul_mul",
     "rms_norm: h, y", 1, 64},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_16_2048[] = {16, 2048};
static const int64_t nvr_shape_2048[] = {2048};

/* ---- entry rms_norm ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(rms_norm_inputs, x)},
    {"r", NVR_CALL, offsetof(rms_norm_inputs, r)},
    {"scale", NVR_CALL, offsetof(rms_norm_inputs, scale)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"h", NVR_CALL, offsetof(rms_norm_outputs, h)},
    {"y", NVR_CALL, offsetof(rms_norm_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 3, 2, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_16_2048, 131072, 16}, /* x */
    {NUVEC_FLOAT32, 2, nvr_shape_16_2048, 131072, 16}, /* r */
    {NUVEC_FLOAT32, 1, nvr_shape_2048, 8192, 16}, /* scale */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_16_2048, 131072, 16}, /* h */
    {NUVEC_FLOAT32, 2, nvr_shape_16_2048, 131072, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* rms_norm_k0_add_square_mean_add_rsqrt_mul_mul */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_INPUT, 1, 0}, /* r */
    {NVR_INPUT, 2, 0}, /* scale */
    {NVR_OUTPUT, 0, 0}, /* h */
    {NVR_OUTPUT, 1, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 5, nvr_0_0_places + 0, {1024, 1, 1}}, /* rms_norm_k0_add_square_mean_add_rsqrt_mul_mul */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"rms_norm", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "rms_norm",
    "rms_norm_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1007, 2002, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of rms_norm.h ---- */

nuvec_status rms_norm_create(const nuvec_options *options, rms_norm_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (rms_norm_context *)made;
  return status;
}
nuvec_status rms_norm_destroy(rms_norm_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status rms_norm_wait(rms_norm_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *rms_norm_error(rms_norm_context *context) {
  return nvr_error((nvr_context *)context);
}
void rms_norm_release(nuvec_array *array) { nvr_release(array); }

nuvec_status rms_norm_call(rms_norm_context *context, const rms_norm_inputs *inputs,
    rms_norm_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status rms_norm_call_timed(rms_norm_context *context, const rms_norm_inputs *inputs,
    rms_norm_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status rms_norm_call_async(rms_norm_context *context, const rms_norm_inputs *inputs,
    rms_norm_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status rms_norm_encode(rms_norm_context *context, void *command_buffer, const rms_norm_inputs *inputs,
    rms_norm_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status rms_norm_shapes(rms_norm_context *context, const rms_norm_inputs *inputs,
    rms_norm_outputs *outputs, size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status rms_norm_cache(rms_norm_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status rms_norm_packed(rms_norm_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *rms_norm_inputs_leaf(rms_norm_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *rms_norm_outputs_leaf(rms_norm_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
