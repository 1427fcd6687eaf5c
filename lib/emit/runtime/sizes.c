/* sizes.c - the replay engine: signatures with open sizes at the sizes of a call. For graphs with open sizes.
 *
 * A signature at given sizes is a signature whose sizes are all known, in memory of its own: what works on those works
 * on it. Replays keep theirs, so that a second call at the same sizes computes none of this again. */
#include "match.c"

#if NVR_OPEN
/* ---- numbers ---- */

typedef struct nvr_number {
  int64_t whole;
  double real;
  int known;
} nvr_number;

static nvr_number nvr_whole(int64_t value) {
  nvr_number n = {0, 0, 1};
  n.whole = value;
  return n;
}
static nvr_number nvr_real(double value) {
  nvr_number n = {0, 0, 1};
  n.real = value;
  return n;
}

/* x to the power n by squaring, from the lowest bit up; below 0, 1 over that. */
static double nvr_power(double x, int64_t n) {
  uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  double r = 1;
  for (; left; left >>= 1) {
    if (left & 1) r *= x;
    if (left > 1) x *= x;
  }
  return n < 0 ? 1 / r : r;
}

/* m * 2^exponent rounded to nearest, ties to even, in a format of so many bits of exponent and of mantissa. */
static uint64_t nvr_round(int ebits, int mbits, int negative, uint64_t m, int exponent) {
  const int least = 2 - (1 << (ebits - 1)) - mbits; /* exponent of a subnormal's last bit */
  const uint64_t infinity = (((uint64_t)1 << ebits) - 1) << mbits, sign = (uint64_t)(negative != 0) << (ebits + mbits);
  uint64_t rest, half;
  int drop = 63;
  if (!m) return sign;
  while (!(m >> drop)) drop--;
  drop -= mbits;
  if (exponent + drop < least) drop = least - exponent;
  if (exponent + drop - least >= 1 << ebits) return sign | infinity;
  if (drop > 63) {
    m = drop == 64 && m > (uint64_t)1 << 63;
  } else if (drop > 0) {
    rest = m & (((uint64_t)1 << drop) - 1);
    half = (uint64_t)1 << (drop - 1);
    m >>= drop;
    m += rest > half || (rest == half && (m & 1));
  } else {
    m <<= -drop;
  }
  m += (uint64_t)(exponent + drop - least) << mbits; /* the leading bit of m is one more */
  return sign | (m < infinity ? m : infinity);
}

static uint64_t nvr_round_double(int ebits, int mbits, double x) {
  const uint64_t infinity = (((uint64_t)1 << ebits) - 1) << mbits, one = (uint64_t)1 << 52;
  uint64_t u, mantissa;
  int exponent, negative;
  memcpy(&u, &x, sizeof u);
  negative = (int)(u >> 63);
  exponent = (int)(u >> 52 & 2047);
  mantissa = u & (one - 1);
  if (exponent == 2047)
    return (uint64_t)negative << (ebits + mbits) | infinity | (mantissa ? (uint64_t)1 << (mbits - 1) : 0);
  return nvr_round(ebits, mbits, negative, exponent ? mantissa | one : mantissa, exponent ? exponent - 1075 : -1074);
}

/* 1 / n, n from 1 to 2^30, rounded once to float32. */
static nvr_number nvr_reciprocal(int64_t n) {
  const uint64_t one = (uint64_t)1 << 62;
  nvr_number r = nvr_real(0);
  uint32_t bits;
  float x;
  r.known = n >= 1 && n <= (int64_t)1 << 30;
  if (!r.known) return r;
  bits = (uint32_t)nvr_round(8, 23, 0, one / (uint64_t)n << 1 | (one % (uint64_t)n != 0), -63);
  memcpy(&x, &bits, sizeof x);
  r.real = (double)x;
  return r;
}

static nvr_number nvr_of_wholes(unsigned op, int64_t a, int64_t b) {
  nvr_number n = nvr_whole(0);
  switch (op) {
  case NVR_ADD: n.known = !__builtin_add_overflow(a, b, &n.whole); break;
  case NVR_MUL: n.known = !__builtin_mul_overflow(a, b, &n.whole); break;
  case NVR_DIV:
  case NVR_MOD:
    n.known = b != 0 && !(a == INT64_MIN && b == -1);
    if (!n.known) break;
    if (op == NVR_DIV) n.whole = a / b - (a % b != 0 && (a < 0) != (b < 0));
    else n.whole = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    break;
  case NVR_MIN: n.whole = a < b ? a : b; break;
  case NVR_MAX: n.whole = a > b ? a : b; break;
  default: /* BCAST */
    n.whole = a == 1 ? b : a;
    n.known = a == b || a == 1 || b == 1;
    break;
  }
  return n;
}

/* One rounded operation a step: nothing here may be joined to another. */
static nvr_number nvr_of_reals(unsigned op, double a, double b, int64_t power) {
  nvr_number n;
  switch (op) {
  case NVR_PLUS: return nvr_real(a + b);
  case NVR_MINUS: return nvr_real(a - b);
  case NVR_TIMES: return nvr_real(a * b);
  case NVR_NEGATIVE: return nvr_real(-a);
  case NVR_ABSOLUTE: return nvr_real(fabs(a));
  case NVR_OVER:
    n = nvr_real(b != 0 ? a / b : 0);
    n.known = b != 0;
    return n;
  case NVR_ROOT:
    n = nvr_real(a >= 0 ? sqrt(a) : 0);
    n.known = a >= 0;
    return n;
  default: /* POWER */
    n = nvr_real(nvr_power(a, power));
    n.known = power >= 0 || a != 0;
    return n;
  }
}

static void nvr_take_steps(const nvr_open_sizes *o, nvr_number *numbers) {
  size_t k;
  for (k = 0; k < o->nsteps; k++) {
    const nvr_operation *s = &o->steps[k];
    nvr_number *n = &numbers[o->nsources + k];
    const uint64_t bits = (uint64_t)s->b << 32 | s->a;
    if (s->op == NVR_WHOLE || s->op == NVR_REAL) {
      *n = nvr_whole(0);
      memcpy(s->op == NVR_WHOLE ? (void *)&n->whole : (void *)&n->real, &bits, sizeof bits);
    } else {
      const nvr_number *a = &numbers[s->a], *b = &numbers[s->b];
      int given = a->known && b->known;
      if (s->op == NVR_TO_REAL) *n = nvr_real((double)a->whole);
      else if (s->op == NVR_RECIPROCAL) *n = nvr_reciprocal(a->whole);
      else if (s->op < NVR_REAL) *n = nvr_of_wholes(s->op, a->whole, b->whole);
      else *n = nvr_of_reals(s->op, a->real, b->real, b->whole);
      n->known = n->known && given;
    }
  }
}

/* ---- what a call says ---- */

typedef struct nvr_why { /* what is wrong */
  nuvec_status status;
  char text[NVR_TEXT - 200];
} nvr_why;

static int nvr_wrong(nvr_why *why, nuvec_status status, const char *format, ...) NVR_PRINTF(3, 4);
static int nvr_wrong(nvr_why *why, nuvec_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why->text, sizeof why->text, format, arguments);
  va_end(arguments);
  why->status = status;
  return 0;
}

static int nvr_read_sources(const nvr_signature *s, const nvr_arrays *a, nvr_number *numbers, nvr_why *why) {
  const nvr_open_sizes *o = s->open;
  size_t k;
  for (k = 0; k < o->nsources; k++) {
    const nvr_source *from = &o->sources[k];
    const char *input = s->form->inputs[from->input].name;
    int64_t size = nvr_in(a, s->form, from->input)->shape[from->axis], value = size;
    if (size < 0)
      return nvr_wrong(why, NUVEC_SHAPE, "input %s: axis %u has size %lld", input, from->axis, (long long)size);
    if (from->factor != 1 || from->offset != 0) {
      if (__builtin_sub_overflow(size, from->offset, &value) || value % from->factor)
        return nvr_wrong(why, NUVEC_GUARD, "input %s: axis %u has size %lld, which no %s gives", input, from->axis,
                         (long long)size, from->name);
      value /= from->factor;
    }
    if (value < from->least || value > from->most)
      return nvr_wrong(why, NUVEC_GUARD, "size %s is %lld, %s %lld (axis %u of input %s)", from->name, (long long)value,
                       value < from->least ? "below its min" : "above its max",
                       (long long)(value < from->least ? from->least : from->most), from->axis, input);
    numbers[k] = nvr_whole(value);
  }
  return 1;
}

static int nvr_check_axes(const nvr_signature *s, const nvr_arrays *a, const nvr_number *numbers, nvr_why *why) {
  const nvr_open_sizes *o = s->open;
  size_t k;
  for (k = 0; k < o->ninputs; k++) {
    const nvr_axis *x = &o->inputs[k];
    const nvr_source *from = &o->sources[x->source];
    const nvr_number *n = &numbers[x->number];
    const char *input = s->form->inputs[x->array].name, *symbol = strcmp(x->text, from->name) ? from->name : "";
    int64_t size = nvr_in(a, s->form, x->array)->shape[x->axis];
    if (!n->known)
      return nvr_wrong(why, NUVEC_GUARD, "input %s: axis %u has size %lld, but %s has no value", input, x->axis,
                       (long long)size, x->text);
    if (n->whole != size)
      return nvr_wrong(why, NUVEC_SHAPE, "input %s: axis %u has size %lld, but %s is %lld (%s%saxis %u of input %s)",
                       input, x->axis, (long long)size, x->text, (long long)n->whole, symbol, *symbol ? ": " : "",
                       from->axis, s->form->inputs[from->input].name);
    if (size < 0)
      return nvr_wrong(why, NUVEC_SHAPE, "input %s: axis %u has size %lld", input, x->axis, (long long)size);
  }
  return 1;
}

static int nvr_check_guard(const nvr_guard *g, const nvr_number *a, const nvr_number *b, nvr_why *why) {
  static const char *const relations[] = {", but ", ", which doesn't broadcast with ", ", which doesn't broadcast to ",
                                          ", above "};
  const char *at = g->node ? " (" : "", *node = g->node ? g->node : "", *end = g->node ? ")" : "";
  if (!a->known || !b->known)
    return nvr_wrong(why, NUVEC_GUARD, "%s has no value%s%s%s", a->known ? g->b_text : g->a_text, at, node, end);
  if (g->relation == NVR_AT_MOST ? a->whole <= b->whole : a->whole == b->whole) return 1;
  if (g->relation == NVR_BROADCASTS && (a->whole == 1 || b->whole == 1)) return 1;
  if (g->relation == NVR_REPEATS && a->whole == 1) return 1;
  return nvr_wrong(why, NUVEC_GUARD, "%s%s%lld%s%s%s%lld%s%s%s", g->a_text ? g->a_text : "", g->a_text ? " is " : "",
                   (long long)a->whole, relations[g->relation], g->b_text ? g->b_text : "", g->b_text ? " is " : "",
                   (long long)b->whole, at, node, end);
}

/* Everything that must hold; numbers has room for all. */
static int nvr_read_sizes(const nvr_signature *s, const nvr_arrays *a, nvr_number *numbers, nvr_why *why) {
  const nvr_open_sizes *o = s->open;
  size_t k;
  if (!nvr_read_sources(s, a, numbers, why)) return 0;
  nvr_take_steps(o, numbers);
  if (!nvr_check_axes(s, a, numbers, why)) return 0;
  for (k = 0; k < o->nguards; k++)
    if (!nvr_check_guard(&o->guards[k], &numbers[o->guards[k].a], &numbers[o->guards[k].b], why)) return 0;
  return 1;
}

/* ---- a signature at given sizes ---- */

/* A shape as long as the context lives: outputs' arrays point to it, whatever becomes of the replay. NULL: no memory.
 */
static const int64_t *nvr_keep_shape(nvr_context *c, const int64_t *sizes, int32_t rank) {
  nvr_kept_shape **at = &c->shapes, *shape;
  uint64_t h = (uint64_t)rank;
  int32_t k;
  for (k = 0; k < rank; k++) h = nvr_mix(h, (uint64_t)sizes[k]);
  pthread_mutex_lock(&c->lock);
  for (; (shape = *at) != NULL; at = &shape->child[h >> 62], h <<= 2)
    if (shape->rank == rank && !memcmp(shape->sizes, sizes, (size_t)rank * sizeof *sizes)) break;
  if (!shape) {
    shape = (nvr_kept_shape *)calloc(1, sizeof *shape + (size_t)rank * sizeof *sizes);
    if (shape) {
      shape->rank = rank;
      memcpy(shape->sizes, sizes, (size_t)rank * sizeof *sizes);
      shape->next = c->all_shapes;
      c->all_shapes = *at = shape;
    }
  }
  pthread_mutex_unlock(&c->lock);
  return shape ? shape->sizes : NULL;
}

/* The memory of a signature at given sizes; parts behind it are taken by nvr_part. */
typedef struct nvr_known {
  nvr_signature signature;
  size_t taken;
} nvr_known;

static void *nvr_part(nvr_known *k, size_t n) {
  void *part = (char *)k + k->taken;
  k->taken += (n + 15) & ~(size_t)15;
  return part;
}

static nvr_known *nvr_new_known(const nvr_signature *s) {
  const nvr_form *f = s->form;
  size_t k, n = sizeof(nvr_known) + 16 + (f->ninputs + f->noutputs) * sizeof(nvr_type) + 4 * 16;
  nvr_known *known;
  for (k = 0; k < f->ninputs; k++) n += (size_t)s->inputs[k].rank * sizeof(int64_t);
  for (k = 0; k < s->nlaunches; k++) {
    const nvr_launch *l = &s->launches[k];
    n += sizeof *l + l->nplaces * sizeof *l->places + 32 + (l->sizes ? l->sizes->nfields * sizeof *l->words : 0);
  }
  known = (nvr_known *)calloc(1, n);
  if (!known) return NULL;
  known->taken = (sizeof *known + 15) & ~(size_t)15;
  known->signature = *s;
  known->signature.open = NULL;
  return known;
}

/* Elements of a shape; -1: more than 2^48, or a size is below 0. */
static int64_t nvr_elements(const int64_t *sizes, int32_t rank) {
  const int64_t most = (int64_t)1 << 48;
  int64_t n = 1;
  int32_t k;
  for (k = 0; k < rank; k++)
    if (!sizes[k]) return 0;
  for (k = 0; k < rank; k++) {
    if (sizes[k] < 0 || sizes[k] > most / n) return -1;
    n *= sizes[k];
  }
  return n;
}

/* A type of the signature where its sizes are these. */
static int nvr_set_type(nvr_type *t, const nvr_type *open, const int64_t *sizes, const char *what, const char *name,
                        nvr_why *why) {
  nvr_type_text text;
  int64_t n = nvr_elements(sizes, open->rank);
  int32_t k;
  *t = *open;
  t->shape = sizes;
  if (n < 0)
    return nvr_wrong(why, NUVEC_GUARD, "%s %s: %s has more than 2^48 elements", what, name,
                     nvr_print_type(text, sizeof text, t->dtype, t->rank, sizes));
  for (k = 0; k < t->rank && open->shape[k] >= 0;) k++;
  if (k < t->rank) t->bytes = (size_t)n * open->bytes;
  return 1;
}

static int nvr_set_inputs(nvr_known *known, const nvr_signature *s, const nvr_arrays *a, nvr_why *why) {
  const nvr_form *f = s->form;
  nvr_type *types = (nvr_type *)nvr_part(known, f->ninputs * sizeof *types);
  int64_t *sizes;
  size_t k, n = 0;
  for (k = 0; k < f->ninputs; k++) n += (size_t)s->inputs[k].rank;
  sizes = (int64_t *)nvr_part(known, n * sizeof *sizes);
  known->signature.inputs = types;
  for (k = 0; k < f->ninputs; k++) {
    const size_t rank = (size_t)s->inputs[k].rank;
    if (rank) memcpy(sizes, nvr_in(a, f, k)->shape, rank * sizeof *sizes);
    if (!nvr_set_type(&types[k], &s->inputs[k], sizes, "input", f->inputs[k].name, why)) return 0;
    sizes += rank;
  }
  return 1;
}

static int nvr_set_outputs(nvr_context *c, nvr_known *known, const nvr_signature *s, const nvr_number *numbers,
                           nvr_why *why) {
  const nvr_form *f = s->form;
  const nvr_open_sizes *o = s->open;
  nvr_type *types = (nvr_type *)nvr_part(known, f->noutputs * sizeof *types);
  size_t k, at = 0;
  known->signature.outputs = types;
  for (k = 0; k < f->noutputs; k++) {
    const nvr_type *t = &s->outputs[k];
    const size_t first = at;
    int64_t sizes[NVR_MAX_RANK];
    types[k] = *t;
    if (t->rank) memcpy(sizes, t->shape, (size_t)t->rank * sizeof *sizes);
    for (; at < o->noutputs && o->outputs[at].array == k; at++) {
      const nvr_axis *x = &o->outputs[at];
      if (!numbers[x->number].known)
        return nvr_wrong(why, NUVEC_GUARD, "output %s: %s has no value", f->outputs[k].name, x->text);
      sizes[x->axis] = numbers[x->number].whole;
      if (sizes[x->axis] < 0)
        return nvr_wrong(why, NUVEC_GUARD, "output %s: %s is %lld", f->outputs[k].name, x->text,
                         (long long)sizes[x->axis]);
    }
    if (at == first) continue;
    if (!nvr_set_type(&types[k], t, sizes, "output", f->outputs[k].name, why)) return 0;
    types[k].shape = nvr_keep_shape(c, sizes, t->rank);
    if (!types[k].shape) return nvr_wrong(why, NUVEC_OUT_OF_MEMORY, "no memory for the shape of an output");
  }
  return 1;
}

/* Where the slots of the arena begin; the arena's bytes. */
static int nvr_set_scratch(nvr_known *known, const nvr_signature *s, const nvr_number *numbers, size_t *starts,
                           nvr_why *why) {
  enum { ALIGN = 256 };
  const nvr_open_sizes *o = s->open;
  const nvr_form *f = s->form;
  size_t k, total = 0, empty = 0;
  for (k = 0; k < o->nslots; k++) {
    const nvr_number *n = &numbers[o->slots[k]];
    if (!n->known || n->whole < 0 || n->whole > (int64_t)1 << 52)
      return nvr_wrong(why, NUVEC_GUARD, "the bytes between kernels have no value");
    starts[k] = n->whole ? total : 0; /* an offset stands before the buffer's end */
    empty += !n->whole;
    total += ((size_t)n->whole + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (total > SIZE_MAX / 2) return nvr_wrong(why, NUVEC_BUFFER_LIMIT, "too many bytes between kernels");
  }
  for (k = 0; !total && k < f->ninputs + f->noutputs; k++) /* what is empty must be bound to some memory */
    if (!(k < f->ninputs ? &known->signature.inputs[k] : &known->signature.outputs[k - f->ninputs])->bytes) total = 16;
  known->signature.scratch = total || !empty ? total : 16;
  return 1;
}

/* A number in its dtype. 0: it has no value, or doesn't fit. */
static int nvr_set_word(const nvr_field *f, const nvr_number *n, uint64_t *word) {
  static const struct {
    int is_signed, width, ebits, mbits; /* width: of an integer; 0: a float */
  } formats[NVR_NDTYPES] = {{0, 1, 0, 0},  {0, 8, 0, 0},  {0, 16, 0, 0}, {0, 32, 0, 0}, {0, 64, 0, 0},
                            {1, 8, 0, 0},  {1, 16, 0, 0}, {1, 32, 0, 0}, {1, 64, 0, 0}, {1, 0, 5, 10},
                            {1, 0, 8, 7},  {1, 0, 8, 23}, {1, 0, 8, 23}};
  const int width = formats[f->dtype].width, ebits = formats[f->dtype].ebits, mbits = formats[f->dtype].mbits;
  const int64_t i = n->whole;
  if (!n->known) return 0;
  if (f->dtype == NUVEC_BOOL) {
    *word = f->real ? n->real != 0 : i != 0;
  } else if (!width) {
    *word = f->real ? nvr_round_double(ebits, mbits, n->real)
                    : nvr_round(ebits, mbits, i < 0, i < 0 ? 0 - (uint64_t)i : (uint64_t)i, 0);
  } else {
    if (f->real || (i < 0 && !formats[f->dtype].is_signed)) return 0;
    *word = width == 64 ? (uint64_t)i : (uint64_t)i & (((uint64_t)1 << width) - 1);
    if (width < 64 && (i < 0 ? i < -((int64_t)1 << (width - 1)) : i >> (width - formats[f->dtype].is_signed) != 0))
      return 0;
  }
  return 1;
}

static int nvr_set_launches(nvr_context *c, nvr_known *known, const nvr_signature *s, const nvr_number *numbers,
                            const size_t *starts, nvr_why *why) {
  nvr_launch *launches = (nvr_launch *)nvr_part(known, s->nlaunches * sizeof *launches);
  size_t k, i;
  known->signature.launches = launches;
  for (k = 0; k < s->nlaunches; k++) {
    nvr_launch *l = &launches[k];
    const nvr_sizes *sizes = s->launches[k].sizes;
    const char *name = c->tape->kernels[s->launches[k].kernel].name;
    nvr_place *places;
    uint64_t *words;
    *l = s->launches[k];
    places = (nvr_place *)nvr_part(known, l->nplaces * sizeof *places);
    memcpy(places, l->places, l->nplaces * sizeof *places);
    for (i = 0; i < l->nplaces; i++)
      if (places[i].space == NVR_SCRATCH) places[i].offset = starts[places[i].index];
    l->places = places;
    if (!sizes) continue;
    for (i = 0; i < 3; i++) {
      const nvr_number *n = &numbers[sizes->grid[i]];
      if (!n->known || n->whole < 0 || n->whole > UINT32_MAX)
        return nvr_wrong(why, NUVEC_GUARD, "kernel %s: its grid is too large", name);
      l->grid[i] = (size_t)n->whole;
    }
    if (!sizes->nfields) continue;
    words = (uint64_t *)nvr_part(known, sizes->nfields * sizeof *words);
    l->words = words;
    for (i = 0; i < sizes->nfields; i++)
      if (!nvr_set_word(&sizes->fields[i], &numbers[sizes->fields[i].number], &words[i]))
        return nvr_wrong(why, NUVEC_GUARD,
                         "a number that follows from the sizes has no value, or is out of range for %s (kernel %s, "
                         "which computes %s)",
                         nvr_dtypes[sizes->fields[i].dtype], name, c->tape->kernels[s->launches[k].kernel].nodes);
  }
  return 1;
}

/* The signature at the sizes of a call, to be freed; NULL: why. */
static nvr_known *nvr_at_sizes(nvr_context *c, const nvr_signature *s, const nvr_arrays *a, nvr_why *why) {
  const nvr_open_sizes *o = s->open;
  nvr_number *numbers = (nvr_number *)malloc((o->nsources + o->nsteps + 1) * sizeof *numbers);
  size_t *starts = (size_t *)malloc((o->nslots + 1) * sizeof *starts);
  nvr_known *known = nvr_new_known(s);
  int good = numbers && starts && known;
  if (!good) nvr_wrong(why, NUVEC_OUT_OF_MEMORY, "no memory for the sizes of a call");
  good = good && nvr_read_sizes(s, a, numbers, why) && nvr_set_inputs(known, s, a, why) &&
         nvr_set_outputs(c, known, s, numbers, why) && nvr_set_scratch(known, s, numbers, starts, why) &&
         nvr_set_launches(c, known, s, numbers, starts, why);
  free(numbers);
  free(starts);
  if (good) return known;
  free(known);
  return NULL;
}

/* ---- which signature? ---- */

/* The first signature that fits at the sizes of the call, to be freed; s: the first that fits but for sizes. */
static nvr_known *nvr_fit(nvr_context *c, const nvr_entry *e, const nvr_signature *s, const nvr_arrays *a,
                          nuvec_status *status) {
  nvr_why first, next, *why = &first;
  const nvr_signature *nearest = s;
  nvr_known *known;
  size_t at = SIZE_MAX, tried = 1;
  known = nvr_at_sizes(c, s, a, why);
  if (!known && !(a->packed && a->signature >= 0)) {
    (void)nvr_find_open(e, s->form, a, &at); /* s */
    for (why = &next; !known && (s = nvr_find_open(e, nearest->form, a, &at)) != NULL; tried++)
      known = nvr_at_sizes(c, s, a, why);
  }
  if (known) return known;
  *status = tried > 1 ? NUVEC_SIGNATURE : first.status;
  if (tried == 1) *status = nvr_fail(c, *status, "%s: %s", e->name, first.text);
  else
    *status = nvr_fail(c, *status, "%s: none of %zu signatures fits; in the nearest, number %zu, %s", e->name,
                       e->nsignatures, (size_t)(nearest - e->signatures), first.text);
  return NULL;
}

/* Shapes of the outputs and bytes of scratch for inputs of these types; allocates no memory of the device. */
static nuvec_status nvr_shapes(nvr_function *f, nvr_arrays a, size_t *scratch) {
  const nvr_signature *s;
  nvr_known *known = NULL;
  nuvec_status status;
  size_t k;
  if (!f) return NUVEC_NULL;
  a.in[NVR_BOUND] = f->bound;
  s = nvr_match(f->context, f->entry, &a, &status);
  if (s && s->open) {
    known = nvr_fit(f->context, f->entry, s, &a, &status);
    s = known ? &known->signature : NULL;
  }
  for (k = 0; s && status == NUVEC_OK && k < s->form->ninputs; k++)
    status = nvr_check_strides(f->context, f->entry, "input", s->form->inputs[k].name, &s->inputs[k],
                               nvr_in(&a, s->form, k));
  for (k = 0; s && status == NUVEC_OK && k < s->form->noutputs; k++) {
    nuvec_array *x;
    if (!a.out[a.packed ? NVR_CALL : s->form->outputs[k].from]) continue;
    x = nvr_out(&a, s->form, k);
    nvr_describe(&s->outputs[k], x);
    x->bytes = s->outputs[k].bytes;
  }
  if (s && status == NUVEC_OK && scratch) *scratch = s->scratch;
  free(known);
  return status;
}
#endif
