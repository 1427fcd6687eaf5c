/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"gelu_k0_div_erf_add_mul_div",
     "gelu: e, y", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_32_1000_4096[] = {32, 1000, 4096};
static const int64_t nvr_shape_1_1000_4096[] = {1, 1000, 4096};

/* ---- entry gelu ---- */
static const char *const nvr_0_inputs[] = {
    "x",
};
static const char *const nvr_0_outputs[] = {
    "y",
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_32_1000_4096, 524288000, 16}, /* x */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_32_1000_4096, 524288000, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* gelu_k0_div_erf_add_mul_div */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 2, nvr_0_0_places + 0, {32768000, 1, 1}}, /* gelu_k0_div_erf_add_mul_div */
};
static const nvr_signature nvr_0_signatures[] = {
    {nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

/* ---- entry small ---- */
static const char *const nvr_1_inputs[] = {
    "x",
};
static const char *const nvr_1_outputs[] = {
    "y",
};
static const nvr_type nvr_1_0_inputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_1_1000_4096, 16384000, 16}, /* x */
};
static const nvr_type nvr_1_0_outputs[] = {
    {NUVEC_FLOAT32, 3, nvr_shape_1_1000_4096, 16384000, 16}, /* y */
};
static const nvr_place nvr_1_0_places[] = {
    /* gelu_k0_div_erf_add_mul_div */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_1_0_launches[] = {
    {0, 0, 2, nvr_1_0_places + 0, {1024000, 1, 1}}, /* gelu_k0_div_erf_add_mul_div */
};
static const nvr_signature nvr_1_signatures[] = {
    {nvr_1_0_inputs, nvr_1_0_outputs, nvr_1_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"gelu", nvr_0_inputs, 1, nvr_0_outputs, 1, nvr_0_signatures, 1, 0},
    {"gelu_small", nvr_1_inputs, 1, nvr_1_outputs, 1, nvr_1_signatures, 1, 1},
};

static const nvr_tape nvr_the_tape = {
    "gelu",
    "gelu_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 2, 2};

/* ---- the functions of gelu.h ---- */

nuvec_status gelu_create(const nuvec_options *options, gelu_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (gelu_context *)made;
  return status;
}
nuvec_status gelu_destroy(gelu_context *context) {
  return nvr_destroy((nvr_context *)context);
}
const char *gelu_error(gelu_context *context) {
  return nvr_error((nvr_context *)context);
}
void gelu_release(nuvec_array *array) { nvr_release(array); }

typedef char nvr_0_inputs_are_arrays[
    sizeof(gelu_inputs) == 1 * sizeof(nuvec_array) ? 1 : -1];
typedef char nvr_0_outputs_are_arrays[
    sizeof(gelu_outputs) == 1 * sizeof(nuvec_array) ? 1 : -1];
nuvec_status gelu_call(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 1,
      (nuvec_array *)(void *)outputs, 1);
}
nuvec_status gelu_shapes(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes((nvr_context *)context, &nvr_entries[0], (const nuvec_array *)(const void *)inputs, 1,
      (nuvec_array *)(void *)outputs, 1, scratch);
}
nuvec_status gelu_packed(gelu_context *context, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[0], inputs, ninputs, outputs, noutputs);
}

typedef char nvr_1_inputs_are_arrays[
    sizeof(gelu_small_inputs) == 1 * sizeof(nuvec_array) ? 1 : -1];
typedef char nvr_1_outputs_are_arrays[
    sizeof(gelu_small_outputs) == 1 * sizeof(nuvec_array) ? 1 : -1];
nuvec_status gelu_small_call(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[1], (const nuvec_array *)(const void *)inputs, 1,
      (nuvec_array *)(void *)outputs, 1);
}
nuvec_status gelu_small_shapes(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs, size_t *scratch) {
  return nvr_shapes((nvr_context *)context, &nvr_entries[1], (const nuvec_array *)(const void *)inputs, 1,
      (nuvec_array *)(void *)outputs, 1, scratch);
}
nuvec_status gelu_small_packed(gelu_context *context, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call((nvr_context *)context, &nvr_entries[1], inputs, ninputs, outputs, noutputs);
}
