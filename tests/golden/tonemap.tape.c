/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"tonemap_k0_mul_exp_mul_mul_add_mul_mul_f3d19a16",
     "tonemap: gain, y, y/aces.out0, y/srgb.curve, y/srgb.y", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_213_320_3[] = {213, 320, 3};
static const int64_t nvr_shape[] = {1}; /* rank 0 */

/* ---- entry tonemap ---- */
static const char *const nvr_0_inputs[] = {
    "rgb",
    "exposure",
};
static const char *const nvr_0_outputs[] = {
    "y",
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_213_320_3, 817920, 16}, /* rgb */
    {NUVEC_FLOAT32, 0, nvr_shape, 4, 4}, /* exposure */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_213_320_3, 817920, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* tonemap_k0_mul_exp_mul_mul_add_mul_mul_f3d19a16 */
    {NVR_INPUT, 0, 0}, /* rgb */
    {NVR_INPUT, 1, 0}, /* exposure */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 3, nvr_0_0_places + 0, {51120, 1, 1}}, /* tonemap_k0_mul_exp_mul_mul_add_mul_mul_f3d19a16 */
};
static const nvr_signature nvr_0_signatures[] = {
    {nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"tonemap", nvr_0_inputs, 2, nvr_0_outputs, 1, nvr_0_signatures, 1, 0},
};

static const nvr_tape nvr_the_tape = {
    "tonemap",
    "tonemap_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1, 1};

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
const char *tonemap_error(tonemap_context *context) {
  return nvr_error((nvr_context *)context);
}
void tonemap_release(nuvec_array *array) { nvr_release(array); }

typedef char nvr_0_inputs_are_arrays[
    sizeof(tonemap_inputs) == 2 * sizeof(nuvec_array) ? 1 : -1];
typedef char nvr_0_outputs_are_arrays[
    sizeof(tonemap_outputs) == 1 * sizeof(nuvec_array) ? 1 : -1];
nuvec_status tonemap_call(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 2,
      (nuvec_array *)(void *)outputs, 1);
}
nuvec_status tonemap_shapes(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 2,
      (nuvec_array *)(void *)outputs, 1, scratch);
}
nuvec_status tonemap_packed(tonemap_context *context, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], inputs, ninputs, outputs, noutputs);
}
