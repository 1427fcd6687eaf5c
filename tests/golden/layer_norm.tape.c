/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"layer_norm_k0_mean_sub_square_mean_add_006e8d78",
     "layer_norm: mean, c, rstd, y", 1, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_64_768[] = {64, 768};
static const int64_t nvr_shape_768[] = {768};
static const int64_t nvr_shape_64_1[] = {64, 1};

/* ---- entry layer_norm ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(layer_norm_inputs, x)},
    {"scale", NVR_CALL, offsetof(layer_norm_inputs, scale)},
    {"shift", NVR_CALL, offsetof(layer_norm_inputs, shift)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(layer_norm_outputs, y)},
    {"mean", NVR_CALL, offsetof(layer_norm_outputs, mean)},
    {"rstd", NVR_CALL, offsetof(layer_norm_outputs, rstd)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 3, 3, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_64_768, 196608, 16}, /* x */
    {NUVEC_FLOAT32, 1, nvr_shape_768, 3072, 16}, /* scale */
    {NUVEC_FLOAT32, 1, nvr_shape_768, 3072, 16}, /* shift */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_64_768, 196608, 16}, /* y */
    {NUVEC_FLOAT32, 2, nvr_shape_64_1, 256, 4}, /* mean */
    {NUVEC_FLOAT32, 2, nvr_shape_64_1, 256, 4}, /* rstd */
};
static const nvr_place nvr_0_0_places[] = {
    /* layer_norm_k0_mean_sub_square_mean_add_006e8d78 */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_INPUT, 1, 0}, /* scale */
    {NVR_INPUT, 2, 0}, /* shift */
    {NVR_OUTPUT, 0, 0}, /* y */
    {NVR_OUTPUT, 1, 0}, /* mean */
    {NVR_OUTPUT, 2, 0}, /* rstd */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 6, nvr_0_0_places + 0, {2048, 1, 1}}, /* layer_norm_k0_mean_sub_square_mean_add_006e8d78 */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"layer_norm", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "layer_norm",
    "layer_norm_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1007, 2002, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of layer_norm.h ---- */

nuvec_status layer_norm_create(const nuvec_options *options, layer_norm_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (layer_norm_context *)made;
  return status;
}
nuvec_status layer_norm_destroy(layer_norm_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status layer_norm_wait(layer_norm_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *layer_norm_error(layer_norm_context *context) {
  return nvr_error((nvr_context *)context);
}
void layer_norm_release(nuvec_array *array) { nvr_release(array); }

nuvec_status layer_norm_call(layer_norm_context *context, const layer_norm_inputs *inputs,
    layer_norm_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status layer_norm_call_timed(layer_norm_context *context, const layer_norm_inputs *inputs,
    layer_norm_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status layer_norm_call_async(layer_norm_context *context, const layer_norm_inputs *inputs,
    layer_norm_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status layer_norm_encode(layer_norm_context *context, void *command_buffer,
    const layer_norm_inputs *inputs, layer_norm_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status layer_norm_shapes(layer_norm_context *context, const layer_norm_inputs *inputs,
    layer_norm_outputs *outputs, size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status layer_norm_cache(layer_norm_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status layer_norm_packed(layer_norm_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *layer_norm_inputs_leaf(layer_norm_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *layer_norm_outputs_leaf(layer_norm_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
