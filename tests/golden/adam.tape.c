/* ---- the tape ---- */

/* Kernels: name, the spec's statements that it computes, do its threads work in simdgroups,
 * and in threadgroups of how many (0: any). */
static const nvr_kernel nvr_kernels[] = {
    {"adam_k0_mul_mul_add_mul_square_mul_0d884d41",
     "adam: m2, v2, step, p2", 0, 0},
};

/* Shapes of inputs and outputs. */
static const int64_t nvr_shape_1000000[] = {1000000};
static const int64_t nvr_shape[] = {1}; /* rank 0 */

/* ---- entry adam ---- */
static const nvr_port nvr_0_form0_inputs[] = {
    {"p", NVR_CALL, offsetof(adam_inputs, p)},
    {"g", NVR_CALL, offsetof(adam_inputs, g)},
    {"m", NVR_CALL, offsetof(adam_inputs, m)},
    {"v", NVR_CALL, offsetof(adam_inputs, v)},
    {"c1", NVR_CALL, offsetof(adam_inputs, c1)},
    {"c2", NVR_CALL, offsetof(adam_inputs, c2)},
};
static const nvr_port nvr_0_form0_outputs[] = {
    {"p", NVR_CALL, offsetof(adam_outputs, p)},
    {"m", NVR_CALL, offsetof(adam_outputs, m)},
    {"v", NVR_CALL, offsetof(adam_outputs, v)},
};
static const nvr_form nvr_0_forms[] = {
    {nvr_0_form0_inputs, nvr_0_form0_outputs, 6, 3, NULL, 0, 0, NULL},
};
static const nvr_type nvr_0_0_inputs[] = {
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* p */
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* g */
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* m */
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* v */
    {NUVEC_FLOAT32, 0, nvr_shape, 4, 4}, /* c1 */
    {NUVEC_FLOAT32, 0, nvr_shape, 4, 4}, /* c2 */
};
static const nvr_type nvr_0_0_outputs[] = {
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* p */
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* m */
    {NUVEC_FLOAT32, 1, nvr_shape_1000000, 4000000, 16}, /* v */
};
static const nvr_place nvr_0_0_places[] = {
    /* adam_k0_mul_mul_add_mul_square_mul_0d884d41 */
    {NVR_INPUT, 2, 0}, /* m */
    {NVR_INPUT, 1, 0}, /* g */
    {NVR_INPUT, 3, 0}, /* v */
    {NVR_INPUT, 4, 0}, /* c1 */
    {NVR_INPUT, 5, 0}, /* c2 */
    {NVR_INPUT, 0, 0}, /* p */
    {NVR_OUTPUT, 0, 0}, /* p */
    {NVR_OUTPUT, 1, 0}, /* m */
    {NVR_OUTPUT, 2, 0}, /* v */
};
static const nvr_launch nvr_0_0_launches[] = {
    {0, 0, 9, nvr_0_0_places + 0, {250000, 1, 1}}, /* adam_k0_mul_mul_add_mul_square_mul_0d884d41 */
};
static const nvr_signature nvr_0_signatures[] = {
    {&nvr_0_forms[0], NULL, nvr_0_0_inputs, nvr_0_0_outputs, nvr_0_0_launches, 1, 0},
};

static const nvr_entry nvr_entries[] = {
    {"adam", nvr_0_forms, sizeof nvr_0_forms / sizeof *nvr_0_forms, nvr_0_signatures, 1,
     NULL, 0, 8, 0},
};

static const nvr_tape nvr_the_tape = {
    "adam",
    "adam_tie_HASH",
    "macOS", 14, 0, /* the oldest system */
    1004, 2001, /* GPU families, of which one is needed */
    nvr_kernels, 1, nvr_entries, 1};

/* ---- the functions of adam.h ---- */

nuvec_status adam_create(const nuvec_options *options, adam_context **context) {
  nvr_context *made = NULL;
  nuvec_status status;
  if (!context) return NUVEC_NULL;
  status = nvr_create(&nvr_the_tape, options, &made);
  *context = (adam_context *)made;
  return status;
}
nuvec_status adam_destroy(adam_context *context) {
  return nvr_destroy((nvr_context *)context);
}
nuvec_status adam_wait(adam_context *context) {
  return nvr_wait((nvr_context *)context);
}
const char *adam_error(adam_context *context) {
  return nvr_error((nvr_context *)context);
}
void adam_release(nuvec_array *array) { nvr_release(array); }

nuvec_status adam_call(adam_context *context, const adam_inputs *inputs, adam_outputs *outputs) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), NULL);
}
nuvec_status adam_call_timed(adam_context *context, const adam_inputs *inputs, adam_outputs *outputs,
    double *gpu_seconds) {
  return nvr_call(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), gpu_seconds);
}
nuvec_status adam_call_async(adam_context *context, const adam_inputs *inputs, adam_outputs *outputs,
    nuvec_done done, void *user) {
  return nvr_call_async(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), done, user);
}
nuvec_status adam_encode(adam_context *context, void *command_buffer, const adam_inputs *inputs,
    adam_outputs *outputs) {
  return nvr_encode(nvr_default(context, 0), command_buffer, nvr_arrays_of(inputs, outputs));
}
nuvec_status adam_shapes(adam_context *context, const adam_inputs *inputs, adam_outputs *outputs,
    size_t *scratch) {
  return nvr_shapes(nvr_default(context, 0), nvr_arrays_of(inputs, outputs), scratch);
}
nuvec_status adam_cache(adam_context *context, const size_t *capacity, nuvec_cache *counts) {
  return nvr_cache(nvr_default(context, 0), capacity, counts);
}
nuvec_status adam_packed(adam_context *context, long signature, const nuvec_array *inputs, size_t ninputs,
    nuvec_array *outputs, size_t noutputs) {
  return nvr_call(nvr_default(context, 0), nvr_packed(signature, inputs, ninputs, outputs, noutputs), NULL);
}
nuvec_array *adam_inputs_leaf(adam_inputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 0, path);
}
nuvec_array *adam_outputs_leaf(adam_outputs *tree, const char *path) {
  return nvr_leaf(&nvr_entries[0], tree, NVR_CALL, 1, path);
}
