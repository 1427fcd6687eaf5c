// run.cu - replays the tapes that prepare.py made on an NVIDIA GPU: GB/s of the lower bound's bytes for the fused kernels,
// and whether fused and unfused kernels give the same bits there. usage: run FOLDER [THREADS]
#include "launch.h"
#include <stdint.h>
#include <algorithm>
#include <string>
#include <vector>

struct bound {
  char kind; // i input, o output, s scratch
  size_t value;
};
struct step {
  msl_function f;
  unsigned grid[3], group; // threads that a threadgroup must have, 0: any
  std::vector<bound> bounds;
};
struct tape {
  size_t lower, moved, scratch;
  std::string dtype;
  std::vector<size_t> in, out;
  std::vector<step> steps;
};

static tape read_tape(const std::string &folder) {
  tape t;
  char word[256], dtype[32];
  size_t n, v;
  FILE *f = fopen((folder + "/tape").c_str(), "r");
  if (!f || fscanf(f, "%zu %zu %zu %31s", &t.lower, &t.moved, &t.scratch, dtype) != 4) exit(1);
  t.dtype = dtype;
  for (int k = 0; k < 2; k++) {
    if (fscanf(f, "%zu", &n) != 1) exit(1);
    for (size_t i = 0; i < n; i++) {
      if (fscanf(f, "%zu", &v) != 1) exit(1);
      (k ? t.out : t.in).push_back(v);
    }
  }
  if (fscanf(f, "%zu", &n) != 1) exit(1);
  for (size_t i = 0; i < n; i++) {
    step s;
    size_t nb;
    if (fscanf(f, "%255s %u %u %u %u %zu", word, &s.grid[0], &s.grid[1], &s.grid[2], &s.group, &nb) != 6) exit(1);
    s.f = load_function((folder + "/k.cubin").c_str(), word);
    for (size_t b = 0; b < nb; b++) {
      if (fscanf(f, " %1s %zu", word, &v) != 2) exit(1);
      s.bounds.push_back({word[0], v});
    }
    t.steps.push_back(s);
  }
  fclose(f);
  return t;
}

static dim3 group_of(unsigned limit, const unsigned grid[3]) { // as the stub's
  dim3 g(1, 1, 1);
  while (g.x < limit && g.x < grid[0]) g.x *= 2;
  while (g.x * g.y < limit && g.y < grid[1]) g.y *= 2;
  while (g.x * g.y * g.z < limit && g.z < grid[2]) g.z *= 2;
  if (g.z > 64) g.z = 64;
  return g;
}

static void replay(const tape &t, std::vector<void *> &in, std::vector<void *> &out, char *scratch, unsigned threads) {
  for (const step &s : t.steps) {
    msl_args a = {};
    for (size_t i = 0; i < s.bounds.size(); i++) {
      const bound &b = s.bounds[i];
      a.buf[i] = b.kind == 'i' ? in[b.value] : b.kind == 'o' ? out[b.value] : scratch + b.value;
    }
    for (int d = 0; d < 3; d++) a.grid[d] = s.grid[d];
    dim3 g = s.group ? dim3(s.group, 1, 1) : group_of(threads, s.grid);
    void *parameters[] = {&a};
    CK(cuLaunchKernel(s.f.f, (s.grid[0] + g.x - 1) / g.x, (s.grid[1] + g.y - 1) / g.y, (s.grid[2] + g.z - 1) / g.z, g.x,
                      g.y, g.z, 0, 0, parameters, 0));
  }
}

static float time_of(const tape &t, std::vector<void *> &in, std::vector<void *> &out, char *scratch, unsigned threads) {
  cudaEvent_t start, end;
  float best = 1e30f;
  CK(cudaEventCreate(&start));
  CK(cudaEventCreate(&end));
  replay(t, in, out, scratch, threads);
  for (int round = 0; round < 3; round++) {
    float ms;
    CK(cudaEventRecord(start));
    for (int i = 0; i < 10; i++) replay(t, in, out, scratch, threads);
    CK(cudaEventRecord(end));
    CK(cudaEventSynchronize(end));
    CK(cudaEventElapsedTime(&ms, start, end));
    best = std::min(best, ms / 10);
  }
  return best;
}

static bool nan_of(const std::string &d, const unsigned char *p) {
  uint32_t u;
  if (d == "float32") {
    memcpy(&u, p, 4);
    return (u & 0x7fffffff) > 0x7f800000;
  }
  uint16_t h;
  memcpy(&h, p, 2);
  return (h & 0x7fff) > (d == "float16" ? 0x7c00 : 0x7f80);
}

int main(int argc, char **argv) {
  unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 256;
  std::vector<std::string> names;
  FILE *list = popen((std::string("ls ") + argv[1]).c_str(), "r");
  char line[256];
  while (list && fgets(line, sizeof line, list)) {
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "run")) names.push_back(line);
  }
  CK(cudaFree(0));
  printf("%-28s %8s %9s %9s %7s  %s\n", "case", "launches", "ms", "GB/s", "x copy", "bits of fused and unfused");
  double copy = 0;
  int bad = 0;
  for (const char *suffix : {"_f32", "_f16", "_bf16"}) {
    std::vector<std::string> mine;
    for (auto &n : names)
      if (n.size() > strlen(suffix) && n.compare(n.size() - strlen(suffix), std::string::npos, suffix) == 0) mine.push_back(n);
    std::stable_sort(mine.begin(), mine.end(), [](const std::string &a, const std::string &b) {
      return (a.compare(0, 4, "copy") == 0) > (b.compare(0, 4, "copy") == 0);
    });
    for (auto &name : mine) {
      tape fused = read_tape(std::string(argv[1]) + "/" + name + "/fused");
      tape unfused = read_tape(std::string(argv[1]) + "/" + name + "/unfused");
      std::vector<void *> in, out, out2;
      for (size_t n : fused.in) { // numbers around one, all different
        std::vector<unsigned char> h(n);
        uint64_t s = 12345 + in.size();
        for (size_t i = 0; i < n; i += fused.dtype == "float32" ? 4 : 2) {
          s = s * 6364136223846793005u + 1442695040888963407u;
          float x = (float)((double)(s >> 40) / (1 << 24) * 8 - 4);
          uint32_t u;
          memcpy(&u, &x, 4);
          if (fused.dtype == "float32") memcpy(&h[i], &u, 4);
          else if (fused.dtype == "bfloat16") h[i] = (unsigned char)(u >> 16), h[i + 1] = (unsigned char)(u >> 24);
          else {
            uint32_t e = u >> 23 & 255;
            uint16_t v = (uint16_t)((u >> 16 & 0x8000) | (e < 114 ? 0 : (e - 112) << 10 | (u >> 13 & 0x3ff)));
            memcpy(&h[i], &v, 2);
          }
        }
        in.push_back(upload(h.data(), n));
      }
      for (size_t n : fused.out) out.push_back(upload(NULL, n)), out2.push_back(upload(NULL, n));
      char *scratch = (char *)upload(NULL, std::max<size_t>(1, std::max(fused.scratch, unfused.scratch)));
      float ms = time_of(fused, in, out, scratch, threads);
      replay(unfused, in, out2, scratch, threads);
      CK(cudaDeviceSynchronize());
      size_t differ = 0;
      for (size_t k = 0; k < out.size(); k++) {
        std::vector<unsigned char> a(fused.out[k]), b(fused.out[k]);
        download(a.data(), out[k], a.size());
        download(b.data(), out2[k], b.size());
        size_t size = fused.dtype == "float32" ? 4 : 2;
        for (size_t i = 0; i < a.size(); i += size)
          differ += memcmp(&a[i], &b[i], size) && !(nan_of(fused.dtype, &a[i]) && nan_of(fused.dtype, &b[i]));
      }
      double rate = (double)fused.lower / ms / 1e6;
      if (name.compare(0, 4, "copy") == 0) copy = rate;
      printf("%-28s %8zu %9.4f %9.1f %7.3f  ", name.c_str(), fused.steps.size(), ms, rate, copy ? rate / copy : 0);
      if (differ) printf("%zu elements differ\n", differ);
      else puts("agree");
      fflush(stdout);
      bad += differ != 0;
      for (void *p : in) CK(cudaFree(p));
      for (void *p : out) CK(cudaFree(p));
      for (void *p : out2) CK(cudaFree(p));
      CK(cudaFree(scratch));
    }
  }
  return bad != 0;
}
