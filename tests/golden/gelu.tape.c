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
static const nvr_port nvr_0_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(gelu_inputs, x)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(gelu_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 1, 1, NULL, 0, 0, NULL},
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
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

/* ---- entry small ---- */
static const nvr_port nvr_1_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(gelu_small_inputs, x)},
};
static const nvr_port nvr_1_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(gelu_small_outputs, y)},
};
static const nvr_form nvr_1_forms[] = {
    {nvr_1_form0_inputs, nvr_1_form0_outputs, 1, 1, NULL, 0, 0, NULL},
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
    {&nvr_1_forms[0], NULL, nvr_1_0_inputs, nvr_1_0_outputs, nvr_1_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"gelu", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
    {"gelu_small", nvr_1_forms, sizeof nvr_1_forms / sizeof *nvr_1_forms, nvr_1_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "gelu",
    "gelu_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 2};

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
nuvec_status gelu_wait(gelu_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *gelu_error(gelu_context *context) {
  return nvr_error((nvr_context *)context);
}
void gelu_release(nuvec_array *array) { nvr_release(array); }

nuvec_status gelu_call(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status gelu_call_timed(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs,
    double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status gelu_call_async(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs,
    nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status gelu_encode(gelu_context *context, void *command_buffer, const gelu_inputs *inputs,
    gelu_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status gelu_shapes(gelu_context *context, const gelu_inputs *inputs, gelu_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status gelu_cache(gelu_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status gelu_packed(gelu_context *context, long signature, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *gelu_inputs_leaf(gelu_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *gelu_outputs_leaf(gelu_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}

nuvec_status gelu_small_call(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs) {
  return nvr_call(nvr_default(context, 1), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status gelu_small_call_timed(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 1), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status gelu_small_call_async(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 1), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status gelu_small_encode(gelu_context *context, void *command_buffer, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs) {
  return nvr_encode(nvr_default(context, 1), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status gelu_small_shapes(gelu_context *context, const gelu_small_inputs *inputs,
    gelu_small_outputs *outputs, size_t *scratch) {
  return nvr_shapes(nvr_default(context, 1), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status gelu_small_cache(gelu_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 1), capacity, counts);
}
nuvec_status gelu_small_packed(gelu_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 1), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *gelu_small_inputs_leaf(gelu_small_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[1], tree, NVR_CALL, 0, path);
}
nuvec_array *gelu_small_outputs_leaf(gelu_small_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[1], tree, NVR_CALL, 1, path);
}
