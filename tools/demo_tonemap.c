/* demo_tonemap.c - an app that uses a compiled graph: tone-maps a picture.
 *
 *   demo_tonemap METALLIB IN.ppm OUT.ppm EXPOSURE
 *
 * Reads a binary PPM (8-bit sRGB), makes linear light of it, runs specs/tonemap.yaml's kernel over the pixels through
 * the stub, and writes the result. The picture must have the size that the spec's signature fixes; when it hasn't, the
 * stub says so. Plain C; the same source is built for the test bed and for macOS. */
#include "tonemap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what, const char *why) {
  fprintf(stderr, "demo: %s: %s\n", what, why);
  return 1;
}

static unsigned char *read_ppm(const char *path, int *width, int *height) {
  FILE *f = fopen(path, "rb");
  int maximum;
  if (!f) return NULL;
  if (fscanf(f, "P6 %d %d %d", width, height, &maximum) != 3 || maximum != 255 || *width < 1 || *height < 1 ||
      *width > 32768 || *height > 32768 || getc(f) == EOF) {
    fclose(f);
    return NULL;
  }
  size_t n = 3 * (size_t)*width * (size_t)*height;
  unsigned char *pixels = malloc(n);
  if (pixels && fread(pixels, 1, n, f) != n) {
    free(pixels);
    pixels = NULL;
  }
  fclose(f);
  return pixels;
}

int main(int argc, char **argv) {
  int width, height;
  if (argc != 5) return failed("usage", "demo_tonemap METALLIB IN.ppm OUT.ppm EXPOSURE");
  unsigned char *pixels = read_ppm(argv[2], &width, &height);
  if (!pixels) return failed(argv[2], "no 8-bit binary PPM");
  size_t n = 3 * (size_t)width * (size_t)height;
  float *light = malloc(n * sizeof *light), exposure = strtof(argv[4], NULL);
  if (!light) return failed("memory", "out of it");
  for (size_t i = 0; i < n; i++) { /* the inverse of the sRGB transfer */
    float c = (float)pixels[i] / 255.0f;
    light[i] = c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
  }

  tonemap_context *context;
  nuvec_options options = {.path = argv[1]};
  if (tonemap_create(&options, &context) != NUVEC_OK) return failed("context", tonemap_error(context));
  const int64_t shape[] = {height, width, 3};
  tonemap_inputs in = {
      .rgb = {.host = light, .bytes = n * sizeof *light, .shape = shape, .rank = 3, .dtype = NUVEC_FLOAT32},
      .exposure = {.host = &exposure, .bytes = sizeof exposure, .dtype = NUVEC_FLOAT32}};
  tonemap_outputs out = {0}; /* allocated by the call */
  if (tonemap_call(context, &in, &out) != NUVEC_OK) return failed("call", tonemap_error(context));

  const float *y = out.y.host;
  for (size_t i = 0; i < n; i++) pixels[i] = (unsigned char)(y[i] * 255.0f + 0.5f);
  tonemap_release(&out.y);
  tonemap_destroy(context);
  FILE *f = fopen(argv[3], "wb");
  if (!f || fprintf(f, "P6\n%d %d\n255\n", width, height) < 0 || fwrite(pixels, 1, n, f) != n || fclose(f))
    return failed(argv[3], "cannot be written");
  free(light);
  free(pixels);
  return 0;
}
