/* literals.c - constants as the compiler writes them: literals METAL WANT writes a .metal file with a table a dtype and
 * a kernel that copies it, and to WANT the bits: a line "DTYPE BYTES COUNT" a table, then the tables' bytes (WANT.bin).
 * All values of the 8-bit and 16-bit types; of the others edges and a sample. */
#include "../../lib/emit/metal.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLE = 20000 };

static uint64_t draw(uint64_t *state) { /* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* float32 number k: every exponent with mantissas at the ends, both signs; then a sample. */
enum { FLOAT_EDGES = 2 * 256 * 8 };
static uint32_t float_number(size_t k, uint64_t *state) {
  static const uint32_t mantissas[8] = {0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
  if (k >= FLOAT_EDGES) return (uint32_t)draw(state);
  return (uint32_t)(k & 1) << 31 | (uint32_t)(k / 16) << 23 | mantissas[k / 2 % 8];
}

/* Integer k of w bits: what lies within 2 of a power of two and of its negative; then a sample of every length. */
static uint64_t integer(size_t k, unsigned w, uint64_t *state) {
  if (k < 10 * (size_t)w) {
    const uint64_t x = (UINT64_C(1) << (k / 10)) + k % 5 - 2;
    return k / 5 % 2 ? 0 - x : x;
  }
  const uint64_t x = draw(state);
  return x >> (x & 63);
}

int main(int argc, char **argv) {
  nuvecc_options options = {.file = "literals"};
  nv_ctx *c = nv_ctx_new(&options);
  if (argc != 3 || !c || setjmp(c->door)) return 2;
  c->door_open = true;
  FILE *metal = fopen(argv[1], "w"), *want = fopen(argv[2], "w");
  FILE *bytes = fopen(nv_format(c, "%s.bin", argv[2]), "wb");
  if (!metal || !want || !bytes) return 3;
  fputs("#include <metal_stdlib>\nusing namespace metal;\n", metal);
  for (nv_dtype d = NV_BOOL; d < NV_NDTYPES; d++) {
    const unsigned size = nv_dtype_size[d];
    const size_t n = d == NV_BOOL ? 2 : size == 1 ? 256 : size == 2 ? 65536 : SAMPLE;
    uint64_t state = (uint64_t)d;
    const char *type = nv_msl_type(d);
    fprintf(metal, "constant %s table_%s[%zu] = {\n", type, nv_dtype_name[d], n);
    fprintf(want, "%s %u %zu\n", nv_dtype_name[d], size, n);
    nv_buf b;
    nv_buf_init(&b, c);
    for (size_t k = 0; k < n; k++) {
      uint64_t x = k;
      if (d == NV_F32) x = float_number(k, &state);
      if (d == NV_C64) x = float_number(k, &state) | (uint64_t)float_number(k * 7 % FLOAT_EDGES, &state) << 32;
      if (size > 2 && !nv_is(d, NV_BITS_FLOAT) && d != NV_C64) x = integer(k, 8 * size, &state);
      if (size == 4) x &= UINT32_MAX;
      nv_put_literal(&b, d, x);
      nv_puts(&b, ",\n");
      for (unsigned i = 0; i < size; i++) fputc((int)(x >> 8 * i & 0xff), bytes);
    }
    fwrite(b.p, 1, b.n, metal);
    nv_drop(c, b.p);
    fprintf(metal, "};\nkernel void copy_%s(device %s* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n",
            nv_dtype_name[d], type);
    fprintf(metal, "  out[i] = table_%s[i];\n}\n", nv_dtype_name[d]);
  }
  const bool bad = (fclose(metal) | fclose(want) | fclose(bytes)) != 0;
  nv_ctx_free(c);
  return bad ? 3 : 0;
}
