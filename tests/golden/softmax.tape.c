/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"softmax_k0_max_sub_exp_sum_div",
     "softmax: e, y", 1, 128},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_32_4096[] = {32, 4096};

/* ---- entry softmax ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"x", NVR_CALL, offsetof(softmax_inputs, x)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(softmax_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 1, 1, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_32_4096, 524288, 16}, /* x */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_32_4096, 524288, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* softmax_k0_max_sub_exp_sum_div */
    {NVR_INPUT, 0, 0}, /* x */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 2, nvr_0_0_places + 0, {4096, 1, 1}}, /* softmax_k0_max_sub_exp_sum_div */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"softmax", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "softmax",
    "softmax_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1007, 2002, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of softmax.h ---- */

nuvec_status softmax_create(const nuvec_options *options, softmax_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (softmax_context *)made;
  return status;
}
nuvec_status softmax_destroy(softmax_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status softmax_wait(softmax_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *softmax_error(softmax_context *context) {
  return nvr_error((nvr_context *)context);
}
void softmax_release(nuvec_array *array) { nvr_release(array); }

nuvec_status softmax_call(softmax_context *context, const softmax_inputs *inputs, softmax_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status softmax_call_timed(softmax_context *context, const softmax_inputs *inputs,
    softmax_outputs *outputs, double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status softmax_call_async(softmax_context *context, const softmax_inputs *inputs,
    softmax_outputs *outputs, nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status softmax_encode(softmax_context *context, void *command_buffer, const softmax_inputs *inputs,
    softmax_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status softmax_shapes(softmax_context *context, const softmax_inputs *inputs, softmax_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status softmax_cache(softmax_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status softmax_packed(softmax_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *softmax_inputs_leaf(softmax_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *softmax_outputs_leaf(softmax_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
