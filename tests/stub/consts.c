/* consts.c - the data file of constant arrays: found beside the metallib and mapped, given in memory, missing, cut, of
 * another stub, and what is left when Metal has no memory. Runs in the test bed. */
#include "consts.h"
#include <fcntl.h>
#include <hm_hooks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int failures;
static void check(int ok, const char *what, int line) {
  if (ok) return;
  failures++;
  fprintf(stderr, "consts.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x) != 0, #x, __LINE__)
enum { ROWS = 1024, N = 4 * ROWS, PAGE = 16384 };
static const int64_t shape[] = {ROWS, 4};
static float x[N], w[N];

static void copy(const char *from, const char *to, size_t cut, int spoil) {
  static char bytes[1 << 18];
  FILE *f = fopen(from, "rb");
  size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  CHECK(f && n && n < sizeof bytes && !fclose(f));
  if (spoil) bytes[20] ^= 1;
  f = fopen(to, "wb");
  CHECK(f && fwrite(bytes, 1, n - cut, f) == n - cut && !fclose(f));
}

static void values(consts_context *context) {
  consts_inputs in = {0};
  consts_outputs out = {0};
  int k;
  in.x.host = x;
  in.x.bytes = sizeof x;
  in.x.shape = shape;
  in.x.rank = 2;
  in.x.dtype = NUVEC_FLOAT32;
  check(consts_call(context, &in, &out) == NUVEC_OK, consts_error(context), __LINE__);
  for (k = 0; out.y.host && k < N; k++)
    if (((float *)out.y.host)[k] != x[k] * w[k] + (float)(k % 4 + 1)) break;
  CHECK(k == N);
  consts_release(&out.y);
}

static void fails(const char *path, nuvec_status status, const char *words, int line) {
  nuvec_options o = {0};
  consts_context *context;
  consts_inputs in = {0};
  consts_outputs out = {0};
  o.path = path;
  check(consts_create(&o, &context) == status, "status", line);
  check(strstr(consts_error(context), words) != NULL, consts_error(context), line);
  check(consts_call(context, &in, &out) == status, "a call on a context that wasn't made", line);
  check(consts_destroy(context) == NUVEC_OK, "destroy", line);
}

int main(void) {
  nuvec_options o = {0};
  consts_context *context;
  hm_stats before;
  char *bytes = (char *)aligned_alloc(PAGE, 1 << 18), *odd = (char *)malloc(1 << 18);
  size_t n;
  unsigned long nth;
  int k;
  FILE *f;
  for (k = 0; k < N; k++) x[k] = (float)(k % 7 - 3), w[k] = (float)(k % 13) * 0.5f; /* as run_tests.sh writes them */

  /* beside the metallib, mapped: no memory of Metal's own */
  o.path = "consts.metallib";
  before = hm_get_stats();
  CHECK(consts_create(&o, &context) == NUVEC_OK);
  CHECK(hm_get_stats().buffers - before.buffers == 2); /* the test of the arithmetic, and the wrapped file */
  values(context);
  CHECK(consts_destroy(context) == NUVEC_OK);

  /* in memory: wrapped where it starts at a page, else copied */
  f = fopen("consts.data", "rb");
  n = f ? fread(bytes, 1, 1 << 18, f) : 0;
  CHECK(f && n && n % PAGE == 0 && !fclose(f));
  memcpy(odd + 4, bytes, n);
  CHECK(consts_create_with(&o, bytes, n, &context) == NUVEC_OK);
  bytes[256] ^= 1; /* seen, as nothing was copied */
  w[0] = 0;
  memcpy(&w[0], bytes + 256, sizeof w[0]);
  values(context);
  bytes[256] ^= 1;
  w[0] = 0;
  CHECK(consts_destroy(context) == NUVEC_OK);
  CHECK(consts_create_with(&o, odd + 4, n, &context) == NUVEC_OK);
  memset(odd, 0xff, n + 4); /* not seen */
  values(context);
  CHECK(consts_destroy(context) == NUVEC_OK);
  CHECK(consts_create_with(&o, NULL, n, &context) == NUVEC_NULL);
  CHECK(consts_create_with(&o, bytes, n, NULL) == NUVEC_NULL);
  CHECK(consts_create_with(&o, bytes, n - 1, &context) == NUVEC_FILE && consts_destroy(context) == NUVEC_OK);

  /* files that aren't it */
  mkdir("consts_dir", 0777);
  remove("consts_dir/a.data");
  copy("consts.metallib", "consts_dir/a.metallib", 0, 0);
  fails("consts_dir/a.metallib", NUVEC_FILE, "data file consts_dir/a.data can't be opened", __LINE__);
  copy("consts.data", "consts_dir/a.data", 1, 0);
  fails("consts_dir/a.metallib", NUVEC_FILE, "not the 32768 that this stub came with", __LINE__);
  copy("consts.data", "consts_dir/a.data", 0, 1);
  fails("consts_dir/a.metallib", NUVEC_FILE, "isn't the data file that came with this stub", __LINE__);
  copy("consts.data", "consts_dir/a.data", 0, 0);
  hm_now.max_buffer = PAGE;
  fails("consts_dir/a.metallib", NUVEC_BUFFER_LIMIT, "the data file has 32768 bytes", __LINE__);
  hm_now.max_buffer = 1ul << 34;

  /* Metal has no memory: at every allocation in turn (wrapping fails: then it is copied) */
  for (nth = 1; nth <= 3; nth++) {
    hm_fail(HM_FAIL_ALLOC, nth);
    CHECK(consts_create(&o, &context) == (nth == 1 ? NUVEC_OUT_OF_MEMORY : NUVEC_OK));
    hm_fail(HM_FAIL_ALLOC, 0);
    if (nth > 1) values(context);
    CHECK(consts_destroy(context) == NUVEC_OK);
  }
  free(bytes);
  free(odd);
  return failures != 0;
}
