/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"swiglu_k0_sigmoid_mul_mul",
     "swiglu: y/silu.y, y", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_128_2048[] = {128, 2048};

/* ---- entry swiglu ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"gate", NVR_CALL, offsetof(swiglu_inputs, gate)},
    {"up", NVR_CALL, offsetof(swiglu_inputs, up)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"y", NVR_CALL, offsetof(swiglu_outputs, y)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 2, 1, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_128_2048, 1048576, 16}, /* gate */
    {NUVEC_FLOAT32, 2, nvr_shape_128_2048, 1048576, 16}, /* up */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 2, nvr_shape_128_2048, 1048576, 16}, /* y */
};
static const nvr_place nvr_0_0_places[] = {
    /* swiglu_k0_sigmoid_mul_mul */
    {NVR_INPUT, 0, 0}, /* gate */
    {NVR_INPUT, 1, 0}, /* up */
    {NVR_OUTPUT, 0, 0}, /* y */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 3, nvr_0_0_places + 0, {65536, 1, 1}}, /* swiglu_k0_sigmoid_mul_mul */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"swiglu", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "swiglu",
    "swiglu_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of swiglu.h ---- */

nuvec_status swiglu_create(const nuvec_options *options, swiglu_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (swiglu_context *)made;
  return status;
}
nuvec_status swiglu_destroy(swiglu_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status swiglu_wait(swiglu_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *swiglu_error(swiglu_context *context) {
  return nvr_error((nvr_context *)context);
}
void swiglu_release(nuvec_array *array) { nvr_release(array); }

nuvec_status swiglu_call(swiglu_context *context, const swiglu_inputs *inputs, swiglu_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status swiglu_call_timed(swiglu_context *context, const swiglu_inputs *inputs, swiglu_outputs *outputs,
    double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status swiglu_call_async(swiglu_context *context, const swiglu_inputs *inputs, swiglu_outputs *outputs,
    nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status swiglu_encode(swiglu_context *context, void *command_buffer, const swiglu_inputs *inputs,
    swiglu_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status swiglu_shapes(swiglu_context *context, const swiglu_inputs *inputs, swiglu_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status swiglu_cache(swiglu_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status swiglu_packed(swiglu_context *context, long signature, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *swiglu_inputs_leaf(swiglu_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *swiglu_outputs_leaf(swiglu_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
