/* hm_fail.c - calls that are made to fail, each kind by its own count. HOSTMETAL_FAIL=alloc:3,commit:1 */
#include "hm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[HM_FAIL_KINDS] = {"device",   "queue",   "alloc",   "library",
                                                 "pipeline", "command", "encoder", "commit"};
static unsigned long calls[HM_FAIL_KINDS], failing[HM_FAIL_KINDS]; /* failing: the number of the call; 0: none */

int hm_fails(enum hm_fail_kind kind) {
  unsigned long n = __atomic_add_fetch(&calls[kind], 1, __ATOMIC_SEQ_CST);
  return n == __atomic_load_n(&failing[kind], __ATOMIC_SEQ_CST);
}
void hm_fail(enum hm_fail_kind kind, unsigned long nth) {
  __atomic_store_n(&failing[kind], nth ? hm_calls(kind) + nth : 0, __ATOMIC_SEQ_CST);
}
unsigned long hm_calls(enum hm_fail_kind kind) { return __atomic_load_n(&calls[kind], __ATOMIC_SEQ_CST); }

__attribute__((constructor)) static void read_environment(void) {
  const char *p = getenv("HOSTMETAL_FAIL");
  while (p && *p) {
    int kind = 0, used = 0;
    unsigned long n;
    size_t length = strcspn(p, ":");
    while (kind < HM_FAIL_KINDS && (strlen(names[kind]) != length || strncmp(names[kind], p, length))) kind++;
    if (kind == HM_FAIL_KINDS || sscanf(p + length, ":%lu%n", &n, &used) != 1)
      hm_bad("HOSTMETAL_FAIL: '%s': expected device, queue, alloc, library, pipeline, command, encoder or "
             "commit, and :N",
             p);
    failing[kind] = n;
    p += length + used;
    if (*p == ',') p++;
  }
}
