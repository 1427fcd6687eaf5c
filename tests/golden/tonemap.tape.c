/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"tonemap_k0_mul_exp_mul_mul_add_mul_mul_51de4e57",
     "tonemap: gain, y, y/aces.out0, y/srgb.curve, y/srgb.y", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_213_320_3[] = {213, 320, 3};
static const int64_t nvr_shape[] = {1}; /* rank 0 */

/* ---- entry tonemap ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"rgb", NVR_CALL, offsetof(tonemap_inputs, rgb)},
    {"exposure", NVR_CALL, offsetof(tonemap_inputs, exposure)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(tonemap_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 2, 1, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_213_320_3, 817920, 16}, /* rgb */
    {NUVEC_FLOAT32, 0, nvr_shape, 4, 4}, /* exposure */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_213_320_3, 817920, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* tonemap_k0_mul_exp_mul_mul_add_mul_mul_51de4e57 */
    {NVR_INPUT, 0, 0}, /* rgb */
    {NVR_INPUT, 1, 0}, /* exposure */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 3, nvr_0_0_places + 0, {51120, 1, 1}}, /* tonemap_k0_mul_exp_mul_mul_add_mul_mul_51de4e57 */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"tonemap", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "tonemap",
    "tonemap_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of tonemap.h ---- */

nuvec_status tonemap_create(const nuvec_options *options, tonemap_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (tonemap_context *)made;
  return status;
}
nuvec_status tonemap_destroy(tonemap_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status tonemap_wait(tonemap_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *tonemap_error(tonemap_context *context) {
  return nvr_error((nvr_context *)context);
}
void tonemap_release(nuvec_array *array) { nvr_release(array); }

nuvec_status tonemap_call(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status tonemap_call_timed(tonemap_context *context, const tonemap_inputs *inputs,
    tonemap_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status tonemap_call_async(tonemap_context *context, const tonemap_inputs *inputs,
    tonemap_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status tonemap_encode(tonemap_context *context, void *command_buffer, const tonemap_inputs *inputs,
    tonemap_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status tonemap_shapes(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status tonemap_cache(tonemap_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status tonemap_packed(tonemap_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *tonemap_inputs_leaf(tonemap_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *tonemap_outputs_leaf(tonemap_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
