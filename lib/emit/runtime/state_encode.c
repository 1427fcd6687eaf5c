/* state_encode.c - the replay engine: steps in the app's command buffer. For entries of style mut, in place. */
#include "state.c"

static nuvec_status nvr_step_encode(nvr_state *s, void *command, nvr_arrays a) {
  nvr_context *c;
  nuvec_status status;
  nvr_slot *slot;
  void *pool;
  if (!s) return NUVEC_NULL;
  c = s->function->context;
  if (!command) return nvr_fail(c, NUVEC_NULL, "%s: the command buffer is NULL", s->function->entry->name);
  pool = objc_autoreleasePoolPush();
  slot = nvr_begin_step(s, &a, 1, &status);
  if (slot) {
    status = nvr_encode_slot(slot, (id)command);
    if (status == NUVEC_OK) {
      nvr_hand_over(slot);
      pthread_mutex_lock(&c->lock);
      nvr_exchange(s);
      pthread_mutex_unlock(&c->lock);
      nvr_when_completed(slot, (id)command);
    } else {
      slot->settle = nvr_step_over; /* nothing happened */
      nvr_end(slot, status);
      nvr_over(c);
    }
  }
  objc_autoreleasePoolPop(pool);
  return status;
}
