/* softmax.h - made by nuvecc 0.1.0 from a spec: don't edit.
 *
 * A graph of array functions, compiled to Metal kernels. For example:
 *
 *   softmax_context *context;
 *   if (softmax_create(NULL, &context) != NUVEC_OK) puts(softmax_error(context));
 *   softmax_inputs in = {0};
 *   softmax_outputs out = {0};
 *   const int64_t shape[] = {32, 4096};
 *   in.x = (nuvec_array){.host = data, .bytes = 524288, .shape = shape, .rank = 2,
 *       .dtype = NUVEC_FLOAT32};
 *   if (softmax_call(context, &in, &out) != NUVEC_OK) puts(softmax_error(context));
 *   else use(out.y.host);
 *   softmax_release(&out.y);
 *   softmax_destroy(context);
 *
 * An app adds NAME.c and NAME.h, ships NAME.metallib, and links with Metal and Foundation. Usable from C, C++,
 * Objective-C and Swift. Metal's objects are void * here. Under ARC pass (__bridge void *)buffer and read
 * (__bridge id<MTLBuffer>)array.buffer; in Swift Unmanaged.passUnretained(buffer).toOpaque() and
 * Unmanaged<MTLBuffer>.fromOpaque(pointer).takeUnretainedValue(). The app's objects must live until a call returns.
 *
 * Errors: a function that returns a nuvec_status did all of its work (NUVEC_OK) or nothing that shows: then arrays
 * are as they were, but for what outputs' buffers hold when the GPU gave up. NAME_error has the text. Nothing
 * aborts or prints.
 *
 * Threads: a context may be used from several threads at once; calls on it run side by side, each on memory of its
 * own. Arrays and memory of a call belong to it until it returns; of an asynchronous or encoded one the memory, and
 * an asynchronous one's outputs, until it is over. Function objects are like contexts in this.
 *
 * This file is yours: nuvecc's text in it asks for no licence notice, in source or in binaries. */
#ifndef NUVEC_GRAPH_softmax_H
#define NUVEC_GRAPH_softmax_H

/* the shared types: lib/emit/runtime/abi.h */

#ifndef NUVEC_VERSION
#define NUVEC_VERSION "0.1.0" /* of nuvecc */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Device, queue, metallib, pipelines, and the memory that calls need in between. */
typedef struct softmax_context softmax_context;

/* Makes a context; options NULL: the defaults. Loads the metallib, checks that it is of this graph and that system
 * and GPU can run it, and makes all pipelines: do it once. *context is set whatever the status (to NULL for lack of
 * memory): after a failure softmax_error has the text, and softmax_destroy frees it.
 * NUVEC_METALLIB, NUVEC_WRONG_METALLIB, NUVEC_MISSING_KERNEL, NUVEC_OS_TOO_OLD, NUVEC_GPU_TOO_OLD,
 * NUVEC_OUT_OF_MEMORY; NUVEC_NULL when context is NULL. */
nuvec_status softmax_create(const nuvec_options *options, softmax_context **context);

/* Frees a context; NULL is fine. Outputs' buffers live on. NUVEC_BUSY, and nothing freed, while a call is in flight
 * or a function object or state of the context is still there. */
nuvec_status softmax_destroy(softmax_context *context);

/* Waits until no call on the context is in flight: asynchronous ones have told, encoded ones' command buffers have
 * completed. Not from a callback. */
nuvec_status softmax_wait(softmax_context *context);

/* Text of the calling thread's last failure on this context: what was expected, what came, and where. Never NULL;
 * "" when nothing failed. It stays until the same thread's next failure, the 64th other thread's, or the end of
 * the context. */
const char *softmax_error(softmax_context *context);

/* Gives back the buffer of an output that a call allocated, and clears its memory fields. Needs no context. */
void softmax_release(nuvec_array *array);

/* ---- entry softmax ----
 *   input 0  x: float32[32, 4096], 524288 bytes, offset a multiple of 16
 *   output 0  y: float32[32, 4096], 524288 bytes, offset a multiple of 16
 */
typedef struct softmax_inputs {
  nuvec_array x; /* float32[32, 4096], x */
} softmax_inputs;

typedef struct softmax_outputs {
  nuvec_array y; /* float32[32, 4096], y */
} softmax_outputs;

/* Bytes of device memory that a call of softmax needs for intermediates, at most. */
#define softmax_SCRATCH_BYTES ((size_t)0)

/* Runs the graph and waits for it. Every input's dtype, rank, shape and memory must be set.
 * Outputs start from all zeros: without memory of their own they are allocated; where shape is set, dtype, rank and
 * shape are checked; on success dtype, rank, shape (constants of this library) and strides (NULL) are set. Outputs
 * that a call has filled in may be given to the next one as they are, which then allocates nothing.
 * NUVEC_DTYPE, NUVEC_RANK, NUVEC_SHAPE, NUVEC_STRIDES, NUVEC_NULL,
 * NUVEC_SHORT_BUFFER, NUVEC_MISALIGNED, NUVEC_ALIASING, NUVEC_OUT_OF_MEMORY, NUVEC_BUFFER_LIMIT,
 * NUVEC_GPU_ERROR. */
nuvec_status softmax_call(softmax_context *context, const softmax_inputs *inputs, softmax_outputs *outputs);
/* The same; *gpu_seconds: how long the GPU worked on it. */
nuvec_status softmax_call_timed(softmax_context *context, const softmax_inputs *inputs,
    softmax_outputs *outputs, double *gpu_seconds);

/* The same without waiting. NUVEC_OK: the call is on its way, and done will be called once, on a thread of
 * Metal's own, with what became of it. Only then outputs are set (until then the struct must live); inputs'
 * memory, but not their struct, must live and stay as it is. Another status: nothing happened, and done isn't
 * called. */
nuvec_status softmax_call_async(softmax_context *context, const softmax_inputs *inputs,
    softmax_outputs *outputs, nuvec_done done, void *user);

/* Encodes the graph into the app's own id<MTLCommandBuffer>, which must have no open encoder; commits nothing,
 * waits for nothing. Outputs are set at once; what they hold is there when the command buffer completes. All
 * memory must live until then. What becomes of the command buffer is for the app to see. */
nuvec_status softmax_encode(softmax_context *context, void *command_buffer, const softmax_inputs *inputs,
    softmax_outputs *outputs);

/* What a call with such inputs would make: sets dtype, rank, shape, strides and bytes of every output, leaving
 * its memory alone, and *scratch to the bytes of device memory in between. Of the inputs only dtype, rank, shape
 * and strides count. outputs and scratch may be NULL. Allocates nothing. Errors as those of a call. */
nuvec_status softmax_shapes(softmax_context *context, const softmax_inputs *inputs, softmax_outputs *outputs,
    size_t *scratch);

/* Replays kept for the next calls: sets how many, where capacity isn't NULL (at first 8; 0: none); reads what
 * happened so far, where counts isn't. */
nuvec_status softmax_cache(softmax_context *context, const size_t *capacity, nuvec_cache *counts);

/* The entry for dlopen and foreign functions: 1 input and 1 output as plain
 * arrays, in the order above. signature: its number; -1: dtypes and shapes tell. */
nuvec_status softmax_packed(softmax_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs);

/* The leaf that a path names ("layers[3].w"), or NULL. */
nuvec_array *softmax_inputs_leaf(softmax_inputs *tree, const char *path);
nuvec_array *softmax_outputs_leaf(softmax_outputs *tree, const char *path);

#ifdef __cplusplus
}
#endif
#endif
