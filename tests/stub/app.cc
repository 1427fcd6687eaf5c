// app.cc - the headers as C++: the example of their first comment.
#include "forms.h"
#include "second.h"
#include <cstdio>

int main() {
  second_context *context;
  if (second_create(nullptr, &context) != NUVEC_OK) return std::puts(second_error(context)), 1;
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t shape[] = {2, 4};
  second_inputs in = {};
  second_outputs out = {};
  in.x.host = data;
  in.x.bytes = sizeof data;
  in.x.shape = shape;
  in.x.rank = 2;
  in.x.dtype = NUVEC_FLOAT32;
  if (second_call(context, &in, &out) != NUVEC_OK) return std::puts(second_error(context)), 1;
  bool right = static_cast<float *>(out.out0.host)[7] == -7;
  second_release(&out.out0);
  second_destroy(context);
  forms_inputs unused = {};
  return right && !unused.class_.layers[1].w.buffer ? 0 : 1;
}
