/* trace_hint.c - tracing: what people who know NumPy, MLX or PyTorch may have meant. */
#include "trace.h"

typedef struct habit {
  const char *name, *meant;
} habit;

static const char *find(const habit *list, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(list[i].name, name)) return list[i].meant;
  return NULL;
}
#define FIND(list, name) find((list), sizeof(list) / sizeof *(list), (name))

static const habit functions[] = {{"absolute", "abs"},
                                  {"acos", "arccos"},
                                  {"acosh", "arccosh"},
                                  {"amax", "max"},
                                  {"amin", "min"},
                                  {"asin", "arcsin"},
                                  {"asinh", "arcsinh"},
                                  {"atan", "arctan"},
                                  {"atan2", "arctan2"},
                                  {"atanh", "arctanh"},
                                  {"bitwise_not", "bitwise_invert"},
                                  {"bmm", "matmul"},
                                  {"cast", "astype"},
                                  {"cat", "concatenate"},
                                  {"clamp", "clip"},
                                  {"concat", "concatenate"},
                                  {"div", "divide"},
                                  {"dot", "matmul"},
                                  {"eq", "equal"},
                                  {"expand", "broadcast_to"},
                                  {"fabs", "abs"},
                                  {"ge", "greater_equal"},
                                  {"gt", "greater"},
                                  {"invert", "bitwise_invert"},
                                  {"iif", "where"},
                                  {"le", "less_equal"},
                                  {"ln", "log"},
                                  {"lt", "less"},
                                  {"mm", "matmul"},
                                  {"mod", "remainder"},
                                  {"mul", "multiply"},
                                  {"ne", "not_equal"},
                                  {"neg", "negative"},
                                  {"permute", "transpose"},
                                  {"pow", "power"},
                                  {"product", "prod"},
                                  {"rint", "round"},
                                  {"select", "where"},
                                  {"sub", "subtract"},
                                  {"swish", "silu"},
                                  {"true_divide", "divide"},
                                  {"unsqueeze", "expand_dims"},
                                  {"view_as", "reshape"}};

static const habit attributes[] = {
    {"a_max", "max"}, {"a_min", "min"},  {"axes", "axis"},          {"axis", "axes"},        {"correction", "ddof"},
    {"dim", "axis"},  {"dims", "axis"},  {"keep_dims", "keepdims"}, {"keepdim", "keepdims"}, {"newshape", "shape"},
    {"perm", "axes"}, {"size", "shape"}, {"type", "dtype"}};

static const habit names[] = {{"float64", "there is no such type on a Metal GPU: use float32"},
                              {"double", "there is no such type on a Metal GPU: use float32"},
                              {"complex128", "there is no such type on a Metal GPU: use complex64"},
                              {"pi", "write 3.141592653589793"},
                              {"np", "ops have no module: write exp(x), not np.exp(x)"},
                              {"numpy", "ops have no module: write exp(x), not numpy.exp(x)"},
                              {"mx", "ops have no module: write exp(x), not mx.exp(x)"},
                              {"torch", "ops have no module: write exp(x), not torch.exp(x)"},
                              {"jnp", "ops have no module: write exp(x), not jnp.exp(x)"},
                              {"math", "ops have no module: write exp(x), not math.exp(x)"},
                              {"null", "write None"},
                              {"newaxis", "write None"},
                              {"e", "write exp(1)"}};

const char *nvt_meant_function(const char *name) { return FIND(functions, name); }
const char *nvt_meant_attribute(const char *name) { return FIND(attributes, name); }
const char *nvt_meant_name(nvt *t, const char *name) {
  const char *meant = FIND(names, name);
  return meant ? nv_format(t->c, "; %s", meant) : "";
}

const char *nvt_meant_field(nvt *t, nv_str field) {
  const char *text = nv_text(t->c, field), *other = FIND(functions, text);
  if (!strcmp(text, "T") || !strcmp(text, "mT")) return "; write transpose(x)";
  if (!strcmp(text, "at")) return "; arrays aren't changed in place";
  const nvt_slot *s = nvt_slot_of(t, field);
  if (other || nvt_op_of(t, field) != NV_NOPS || s->builtin != NV_NONE || nvt_is_future_op(text))
    return nv_format(t->c, "; arrays have no methods: write %s(x)", other ? other : text);
  static const char *const known[] = {"shape", "size", "ndim", "dtype"};
  const char *near = nvt_suggest(t, field, false, known, 4);
  return *near ? near : "; an array has shape, size, ndim and dtype";
}
