/* nuvec.h - libnuvec: the nuvecc compiler as a library.
 *
 * One call compiles one spec: nuvecc_compile() reads the bytes of a spec and returns a unit, from which every
 * artifact is asked for as text, whose entries can be listed and which can be evaluated on the CPU. The library opens
 * no file, prints nothing and keeps no global state: two threads may compile two specs at once; one unit belongs to
 * one thread at a time. Everything that a unit returns is owned by the unit and lives until nuvecc_free().
 *
 * Names start with nuvecc_ so that this header and a generated one (whose shared types start with nuvec_) can be
 * included together. */
#ifndef NUVEC_H
#define NUVEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NUVECC_VERSION "0.1.0"
#define NUVECC_MAX_RANK 16

/* What a call came to. The values are the command's exit statuses. */
typedef enum nuvecc_status {
  NUVECC_OK = 0,
  NUVECC_SPEC = 1,     /* the spec is wrong: diagnostics say where */
  NUVECC_USAGE = 2,    /* an option is wrong */
  NUVECC_IO = 3,       /* a file could not be read or written, or memory ran out */
  NUVECC_INTERNAL = 70 /* a fault of the compiler */
} nuvecc_status;

typedef enum nuvecc_format { NUVECC_FORMAT_JSON, NUVECC_FORMAT_YAML } nuvecc_format;

typedef enum nuvecc_severity { NUVECC_ERROR, NUVECC_WARNING, NUVECC_NOTE } nuvecc_severity;

/* One diagnostic, already resolved. line and column count from 1, columns in bytes; line 0: no place (an option,
 * say). source is the text of that line without its end (NULL without a place). A note belongs to what came before
 * it. */
typedef struct nuvecc_diagnostic {
  nuvecc_severity severity;
  const char *file;
  uint32_t line, column;
  const char *text;
  const char *source;
  size_t source_length;
} nuvecc_diagnostic;

typedef struct nuvecc_options {
  const char *file;     /* name shown in diagnostics; its base name is the default NAME */
  nuvecc_format format; /* how to read the bytes */
  const char *prefix;   /* --prefix: NAME, or NULL */
  const char *entry;    /* --entry: only this entry, or NULL */
  const char *target;   /* --target, NULL for macos14 */
  bool shapeless, no_simplify, no_fuse, werror;
  bool verify; /* --verify-each: check the graph behind every pass; what it finds is a bug of nuvecc */
  bool fast_pow; /* --pow=fast: power of floats by metal::fast::pow in kernels of several operations */
  bool syntax_only;                                       /* stop after tracing: no artifact can be asked for */
  bool graphs_only; /* stop before kernels: only the traced and simplified graphs, and evaluation */
  size_t memory_limit; /* bytes that the unit may hold, beside what libyaml does; 0: no limit. Beyond: NUVECC_IO */
  void (*report)(void *user, const nuvecc_diagnostic *d); /* called in source order; may be NULL */
  void *user;
  /* The bytes of a file that the spec names (constants), path as it stands there; asked for once a path. They must live
   * as long as the unit. NULL: *why says why not. Where it is NULL itself, no file can be named. */
  const void *(*read)(void *reader, const char *path, size_t *n, const char **why);
  void *reader;
} nuvecc_options;

typedef struct nuvecc_unit nuvecc_unit;

/* Compiles the spec of n bytes. *unit is set in every case but NUVECC_IO for lack of memory, also when the status is
 * not NUVECC_OK: then nuvecc_error() has the text of an internal fault. Free it with nuvecc_free(). */
nuvecc_status nuvecc_compile(const nuvecc_options *options, const void *bytes, size_t n, nuvecc_unit **unit);
void nuvecc_free(nuvecc_unit *unit);
/* Text of a status that isn't NUVECC_SPEC (which speaks through report). Never NULL. */
const char *nuvecc_error(const nuvecc_unit *unit);
/* The status that this text belongs to: where nuvecc_text() gave NULL, NUVECC_IO (memory) or NUVECC_INTERNAL. */
nuvecc_status nuvecc_failure(const nuvecc_unit *unit);
/* NAME: the stem of all files and symbols. */
const char *nuvecc_name(const nuvecc_unit *unit);

/* Are there constant arrays that stand in a file beside the metallib? */
bool nuvecc_has_data(const nuvecc_unit *unit);

typedef enum nuvecc_artifact {
  NUVECC_METAL,
  NUVECC_C,
  NUVECC_HEADER,
  NUVECC_MK,
  NUVECC_DATA, /* bytes: NAME.data, where nuvecc_has_data() */
  NUVECC_MANIFEST,
  NUVECC_GRAPH_TRACED,
  NUVECC_GRAPH_SIMPLIFIED,
  NUVECC_GRAPH_FUSED,
  NUVECC_DOT_TRACED,
  NUVECC_DOT_SIMPLIFIED,
  NUVECC_DOT_FUSED,
  NUVECC_EXPLAIN,
  NUVECC_EXPLAIN_JSON,
  NUVECC_EXPLAIN_HTML,
  NUVECC_STATS,
  NUVECC_STATS_JSON,
  NUVECC_PASS_TIMES /* seconds a pass, text; the one artifact that differs from run to run */
} nuvecc_artifact;

/* The text of an artifact (length in *n, a NUL after it), or NULL with nuvecc_error() set. Made on first request. */
const char *nuvecc_text(nuvecc_unit *unit, nuvecc_artifact what, size_t *n);

/* Element types, in the order of the generated header's nuvec_dtype. */
typedef enum nuvecc_dtype {
  NUVECC_BOOL,
  NUVECC_UINT8,
  NUVECC_UINT16,
  NUVECC_UINT32,
  NUVECC_UINT64,
  NUVECC_INT8,
  NUVECC_INT16,
  NUVECC_INT32,
  NUVECC_INT64,
  NUVECC_FLOAT16,
  NUVECC_BFLOAT16,
  NUVECC_FLOAT32,
  NUVECC_COMPLEX64
} nuvecc_dtype;

/* A dense row-major array. data is little-endian as in memory, bool one byte. */
typedef struct nuvecc_tensor {
  const char *name; /* path of an input, name of an output */
  nuvecc_dtype dtype;
  int32_t rank;
  int64_t shape[NUVECC_MAX_RANK]; /* -1, in descriptions: known at run time only */
  size_t bytes;                   /* 0 where a size isn't known */
  void *data; /* NULL in descriptions */
} nuvecc_tensor;

/* A size that is known at run time only: its name ("B"; "x.axis1" where it has none), and its bounds. */
typedef struct nuvecc_size {
  const char *name;
  int64_t min, max;
} nuvecc_size;

/* One entry under one signature, as the stub will offer it. symbol is the C name (NAME_ENTRY, or NAME). */
typedef struct nuvecc_program {
  const char *entry, *symbol;
  uint32_t signature;                    /* index into the entry's list */
  const nuvecc_tensor *inputs, *outputs; /* descriptions: name, dtype, shape */
  size_t ninputs, noutputs;
  const nuvecc_size *sizes;
  size_t nsizes;
} nuvecc_program;

size_t nuvecc_nprograms(const nuvecc_unit *unit);
const nuvecc_program *nuvecc_get_program(const nuvecc_unit *unit, size_t k);

/* Descriptions of program k's inputs where size i of the program is values[i]; data of in is left alone. NUVECC_SPEC,
 * without a text: a shape has no value there. Bounds and guards are not looked at. */
nuvecc_status nuvecc_inputs_at(nuvecc_unit *unit, size_t k, const int64_t *values, nuvecc_tensor *in);
/* The outputs' shapes and bytes where the inputs have those of in (its data isn't read). NUVECC_SPEC: they don't fit
 * what the program declares, or a guard fails; nuvecc_error says which. */
nuvecc_status nuvecc_shapes(nuvecc_unit *unit, size_t k, const nuvecc_tensor *in, nuvecc_tensor *out);
/* Evaluates program k on the CPU, op by op, unfused. in: one tensor an input, in order, dtype and shape as described.
 * out: data of out[i] must point at as many bytes as outputs[i], or nuvecc_shapes, says.
 * flush: float32 and bfloat16 subnormals flushed as Apple's
 * GPUs do (nuvec-ops(5), Subnormals). */
nuvecc_status nuvecc_eval(nuvecc_unit *unit, size_t k, const nuvecc_tensor *in, nuvecc_tensor *out, bool flush);

/* ---- tensors in files ---- */
typedef enum nuvecc_tensor_format {
  NUVECC_TENSORS_JSON, /* name to nested lists: "nan", "inf", "-inf" and integers beyond 2^53 as strings, complex
                          as [re, im]; rank 0 is a bare value; an empty list takes its shape from the type */
  NUVECC_TENSORS_SAFETENSORS
} nuvecc_tensor_format;

/* Finds want[i] (by name; dtype and shape must agree) in the n bytes of a file and copies its elements to
 * out[i].data, which points at want[i].bytes bytes; the rest of out[i] is filled too. What is missing, left over or
 * doesn't fit is reported through options (of which file, report and user are read): then NUVECC_SPEC. */
nuvecc_status nuvecc_read_tensors(const nuvecc_options *options, nuvecc_tensor_format format, const void *bytes,
                                  size_t n, const nuvecc_tensor *want, size_t nwant, nuvecc_tensor *out);
/* Sizes of want[i] below 0 (open) as the file has them: out[i] is want[i] with all sizes and bytes known. What is wrong
 * with the file is left to nuvecc_read_tensors, which then takes out as want. */
nuvecc_status nuvecc_read_shapes(const nuvecc_options *options, nuvecc_tensor_format format, const void *bytes,
                                 size_t n, const nuvecc_tensor *want, size_t nwant, nuvecc_tensor *out);
/* The file's bytes, from malloc (the caller frees them), length in *n; NULL for lack of memory. JSON floats are
 * written with the fewest digits that read back. */
char *nuvecc_write_tensors(nuvecc_tensor_format format, const nuvecc_tensor *tensors, size_t ntensors, size_t *n);

/* Bytes of one element. */
size_t nuvecc_dtype_size(nuvecc_dtype dtype);
/* Canonical name, "float32". */
const char *nuvecc_dtype_name(nuvecc_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
