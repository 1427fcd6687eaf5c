/* trace_rehearse.c - tracing: a rehearsal, which finds out beforehand whether a trace would pass its limits.
 *
 * Calls of one function with the same statics and with arrays of the same dtypes and shapes come to the same nodes,
 * calls and kinds of values. In a rehearsal the second of them isn't traced: what the first came to is added, and its
 * value is taken, whose arrays stand for any of their dtypes and shapes. So what doubles from call to call, under
 * conditions that only tracing decides, is counted in as many steps as there are different calls. */
#include "trace.h"

enum { MOST_STEPS = 1 << 19 };  /* of a rehearsal: beyond, it has no result */
enum { MOST_WORDS = 1 << 12 };  /* of a call's key: beyond, it is taken for a new one */

typedef struct act { /* a call */
  const uint64_t *key;
  uint32_t nkey;
  bool done;
  nvt_val value;
  int64_t nodes, steps, calls, iterations; /* at its start; done: what it came to */
} act;

typedef struct nvt_rehearsal {
  act *acts; uint32_t nacts, acts_cap;
  nv_map map;
  uint64_t *words; uint32_t nwords, words_cap; /* of the key that is being made */
  nvt_val *later; uint32_t nlater, later_cap;
} nvt_rehearsal;

void nvt_rehearse(nvt *t) { t->rehearsal = NV_NEW(t->c, nvt_rehearsal); }

void nvt_rehearsed(nvt *t) {
  nvt_rehearsal *r = t->rehearsal;
  nv_drop(t->c, r->acts);
  nv_map_drop(t->c, &r->map);
  nv_drop(t->c, r->words);
  nv_drop(t->c, r->later);
}

void nvt_too_long(nvt *t) {
  if (t->steps - t->skipped.steps > MOST_STEPS) t->stop = true;
}

static void word(nvt *t, uint64_t w) {
  nvt_rehearsal *r = t->rehearsal;
  NV_GROW(t->c, r->words, r->words_cap, (size_t)r->nwords + 1);
  r->words[r->nwords++] = w;
}

static uint64_t bits_of(double f) {
  uint64_t w;
  memcpy(&w, &f, sizeof w);
  return w;
}

/* What a value is to a trace: all but which array of its dtype and shape. */
static void put_value(nvt *t, nvt_val whole) {
  nvt_rehearsal *r = t->rehearsal;
  NV_GROW(t->c, r->later, r->later_cap, 1);
  r->later[0] = whole;
  r->nlater = 1;
  while (r->nlater && r->nwords <= MOST_WORDS) {
    const nvt_val v = r->later[--r->nlater];
    word(t, (uint64_t)v.kind << 32 | v.variant);
    word(t, (uint64_t)v.frozen << 1 | v.fixed);
    switch (v.kind) {
    case NVT_INT: word(t, (uint64_t)v.u.i); break;
    case NVT_FLOAT: word(t, bits_of(v.u.f)); break;
    case NVT_COMPLEX:
      word(t, bits_of(v.u.z[0]));
      word(t, bits_of(v.u.z[1]));
      break;
    case NVT_BOOL: word(t, v.u.b); break;
    case NVT_STRING: word(t, v.u.s); break;
    case NVT_DTYPE: word(t, (uint64_t)v.u.d); break;
    case NVT_ARRAY: word(t, (uint64_t)nv_dtype_of(t->g, v.u.v) << 32 | nv_shape_at(t->g, v.u.v)); break;
    case NVT_SLICE:
    case NVT_LIST:
    case NVT_TREE: {
      const nvt_seq *s = v.u.seq;
      word(t, s->n);
      if (s->n > MOST_WORDS) { /* no key is as long */
        r->nwords = MOST_WORDS + 1;
        break;
      }
      NV_GROW(t->c, r->later, r->later_cap, (size_t)r->nlater + s->n);
      for (uint32_t i = 0; i < s->n; i++) {
        if (v.kind == NVT_TREE) word(t, s->names[i]);
        r->later[r->nlater++] = s->at[i];
      }
      break;
    }
    default: break; /* None, an ellipsis, poison */
    }
  }
}

/* false: the key is too long. */
static bool make_key(nvt *t, const nvt_frame *f) {
  nvt_rehearsal *r = t->rehearsal;
  r->nwords = 0;
  word(t, (uint64_t)(f->fn - t->s->functions));
  for (uint32_t i = t->scopes[t->nscopes - 1]; i < t->nbindings && r->nwords <= MOST_WORDS; i++) {
    word(t, t->bindings[i].name);
    put_value(t, t->bindings[i].value);
  }
  return r->nwords <= MOST_WORDS;
}

bool nvt_seen_call(nvt *t) {
  nvt_rehearsal *r = t->rehearsal;
  nvt_frame *f = nvt_top(t);
  if (!make_key(t, f)) return false;
  const size_t bytes = r->nwords * sizeof *r->words;
  const uint64_t hash = nv_hash(r->words, bytes, 0);
  uint32_t at = 0, k;
  while ((k = nv_map_next(&r->map, hash, &at)) != NV_NONE) {
    const act *a = &r->acts[k];
    if (!a->done || a->nkey != r->nwords || memcmp(a->key, r->words, bytes)) continue;
    if (nvt_affords(t, (nvt_cost){.nodes = a->nodes, .calls = a->calls}, 1, f->call_pos)) {
      t->skipped.nodes += a->nodes;
      t->skipped.steps += a->steps;
      t->calls += a->calls;
      t->iterations += a->iterations;
      nvt_count(t, a->steps);
    }
    nvt_push(t, a->value);
    return true;
  }
  uint64_t *key = NV_NEW_N(t->c, uint64_t, r->nwords);
  memcpy(key, r->words, bytes);
  NV_GROW(t->c, r->acts, r->acts_cap, (size_t)r->nacts + 1);
  r->acts[r->nacts] = (act){.key = key,
                            .nkey = r->nwords,
                            .nodes = t->g->nnodes + t->skipped.nodes,
                            .steps = t->steps,
                            .calls = t->calls,
                            .iterations = t->iterations};
  nv_map_add(t->c, &r->map, hash, r->nacts);
  f->act = r->nacts++;
  return false;
}

void nvt_end_of_call(nvt *t) {
  const nvt_frame *f = nvt_top(t);
  if (!t->rehearsal || f->act == NV_NONE || t->stop) return;
  act *a = &t->rehearsal->acts[f->act];
  a->value = t->vals[t->nvals - 1];
  a->nodes = t->g->nnodes + t->skipped.nodes - a->nodes;
  a->steps = t->steps - a->steps;
  a->calls = t->calls - a->calls;
  a->iterations = t->iterations - a->iterations;
  a->done = true;
}
