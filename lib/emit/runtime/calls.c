/* calls.c - the replay engine: calls that don't wait, and calls in the app's command buffer. For entries without a
 * state. */
#include "replay.c"

/* Puts what was begun into the app's command buffer. */
static nuvec_status nvr_insert(nvr_slot *slot, id command) {
  nvr_context *c = slot->function->context;
  nuvec_status status = nvr_encode_slot(slot, command);
  if (status == NUVEC_OK) {
    nvr_hand_over(slot);
    nvr_when_completed(slot, command);
  } else {
    nvr_end(slot, status);
    nvr_over(c);
  }
  return status;
}

/* NUVEC_OK: done will be called. */
static nuvec_status nvr_call_async(nvr_function *f, nvr_arrays a, nuvec_done done, void *user) {
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!f) return NUVEC_NULL;
  if (!done) return nvr_fail(f->context, NUVEC_NULL, "%s: the callback is NULL", f->entry->name);
  a.in[NVR_BOUND] = f->bound;
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin(f, &a, &status);
  if (slot) status = nvr_dispatch(slot, done, user);
  objc_autoreleasePoolPop(pool);
  return status;
}

/* Into the app's command buffer, which the app commits. The outputs' arrays are set at once. */
static nuvec_status nvr_encode(nvr_function *f, void *command, nvr_arrays a) {
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!f) return NUVEC_NULL;
  if (!command) return nvr_fail(f->context, NUVEC_NULL, "%s: the command buffer is NULL", f->entry->name);
  a.in[NVR_BOUND] = f->bound;
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin(f, &a, &status);
  if (slot) status = nvr_insert(slot, (id)command);
  objc_autoreleasePoolPop(pool);
  return status;
}
