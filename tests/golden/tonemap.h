/* tonemap.h - made by nuvecc 0.1.0 from a spec: don't edit.
 *
 * A graph of array functions, compiled to Metal kernels. For example:
 *
 *   tonemap_context *context;
 *   if (tonemap_create(NULL, &context) != NUVEC_OK) puts(tonemap_error(context));
 *   tonemap_inputs in = {0};
 *   tonemap_outputs out = {0};
 *   const int64_t shape[] = {213, 320, 3};
 *   in.rgb = (nuvec_array){.host = data, .bytes = 817920, .shape = shape, .rank = 3,
 *       .dtype = NUVEC_FLOAT32}; // and the others
 *   if (tonemap_call(context, &in, &out) != NUVEC_OK) puts(tonemap_error(context));
 *   else use(out.y.host);
 *   tonemap_release(&out.y);
 *   tonemap_destroy(context);
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
#ifndef NUVEC_GRAPH_tonemap_H
#define NUVEC_GRAPH_tonemap_H

/* the shared types: lib/emit/runtime/abi.h */

#ifndef NUVEC_VERSION
#define NUVEC_VERSION "0.1.0" /* of nuvecc */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Device, queue, metallib, pipelines, and the memory that calls need in between. */
typedef struct tonemap_context tonemap_context;

/* Makes a context; options NULL: the defaults. Loads the metallib, checks that it is of this graph and that system
 * and GPU can run it, and makes all pipelines: do it once. *context is set whatever the status (to NULL for lack of
 * memory): after a failure tonemap_error has the text, and tonemap_destroy frees it.
 * NUVEC_METALLIB, NUVEC_WRONG_METALLIB, NUVEC_MISSING_KERNEL, NUVEC_OS_TOO_OLD, NUVEC_GPU_TOO_OLD,
 * NUVEC_OUT_OF_MEMORY; NUVEC_NULL when context is NULL. */
nuvec_status tonemap_create(const nuvec_options *options, tonemap_context **context);

/* Frees a context; NULL is fine. Outputs' buffers live on. NUVEC_BUSY, and nothing freed, while a call is in flight
 * or a function object or state of the context is still there. */
nuvec_status tonemap_destroy(tonemap_context *context);

/* Waits until no call on the context is in flight: asynchronous ones have told, encoded ones' command buffers have
 * completed. Not from a callback. */
nuvec_status tonemap_wait(tonemap_context *context);

/* Text of the calling thread's last failure on this context: what was expected, what came, and where. Never NULL;
 * "" when nothing failed. It stays until the same thread's next failure, the 64th other thread's, or the end of
 * the context. */
const char *tonemap_error(tonemap_context *context);

/* Gives back the buffer of an output that a call allocated, and clears its memory fields. Needs no context. */
void tonemap_release(nuvec_array *array);

/* ---- entry tonemap ----
 *   input 0  rgb: float32[213, 320, 3], 817920 bytes, offset a multiple of 16
 *   input 1  exposure: float32, 4 bytes
 *   output 0  y: float32[213, 320, 3], 817920 bytes, offset a multiple of 16
 */
typedef struct tonemap_inputs {
  nuvec_array rgb; /* float32[213, 320, 3], rgb */
  nuvec_array exposure; /* float32, exposure */
} tonemap_inputs;

typedef struct tonemap_outputs {
  nuvec_array y; /* float32[213, 320, 3], y */
} tonemap_outputs;

/* Bytes of device memory that a call of tonemap needs for intermediates, at most. */
#define tonemap_SCRATCH_BYTES ((size_t)0)

/* Runs the graph and waits for it. Every input's dtype, rank, shape and memory must be set.
 * Outputs start from all zeros: without memory of their own they are allocated; where shape is set, dtype, rank and
 * shape are checked; on success dtype, rank, shape (constants of this library) and strides (NULL) are set. Outputs
 * that a call has filled in may be given to the next one as they are, which then allocates nothing.
 * NUVEC_DTYPE, NUVEC_RANK, NUVEC_SHAPE, NUVEC_STRIDES, NUVEC_NULL,
 * NUVEC_SHORT_BUFFER, NUVEC_MISALIGNED, NUVEC_ALIASING, NUVEC_OUT_OF_MEMORY, NUVEC_BUFFER_LIMIT,
 * NUVEC_GPU_ERROR. */
nuvec_status tonemap_call(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs);
/* The same; *gpu_seconds: how long the GPU worked on it. */
nuvec_status tonemap_call_timed(tonemap_context *context, const tonemap_inputs *inputs,
    tonemap_outputs *outputs, double *gpu_seconds);

/* The same without waiting. NUVEC_OK: the call is on its way, and done will be called once, on a thread of
 * Metal's own, with what became of it. Only then outputs are set (until then the struct must live); inputs'
 * memory, but not their struct, must live and stay as it is. Another status: nothing happened, and done isn't
 * called. */
nuvec_status tonemap_call_async(tonemap_context *context, const tonemap_inputs *inputs,
    tonemap_outputs *outputs, nuvec_done done, void *user);

/* Encodes the graph into the app's own id<MTLCommandBuffer>, which must have no open encoder; commits nothing,
 * waits for nothing. Outputs are set at once; what they hold is there when the command buffer completes. All
 * memory must live until then. What becomes of the command buffer is for the app to see. */
nuvec_status tonemap_encode(tonemap_context *context, void *command_buffer, const tonemap_inputs *inputs,
    tonemap_outputs *outputs);

/* What a call with such inputs would make: sets dtype, rank, shape, strides and bytes of every output, leaving
 * its memory alone, and *scratch to the bytes of device memory in between. Of the inputs only dtype, rank, shape
 * and strides count. outputs and scratch may be NULL. Allocates nothing. Errors as those of a call. */
nuvec_status tonemap_shapes(tonemap_context *context, const tonemap_inputs *inputs, tonemap_outputs *outputs,
    size_t *scratch);

/* Replays kept for the next calls: sets how many, where capacity isn't NULL (at first 8; 0: none); reads what
 * happened so far, where counts isn't. */
nuvec_status tonemap_cache(tonemap_context *context, const size_t *capacity, nuvec_cache *counts);

/* The entry for dlopen and foreign functions: 2 inputs and 1 output as plain
 * arrays, in the order above. signature: its number; -1: dtypes and shapes tell. */
nuvec_status tonemap_packed(tonemap_context *context, long signature, const nuvec_array *inputs,
    size_t ninputs, nuvec_array *outputs, size_t noutputs);

/* The leaf that a path names ("layers[3].w"), or NULL. */
nuvec_array *tonemap_inputs_leaf(tonemap_inputs *tree, const char *path);
nuvec_array *tonemap_outputs_leaf(tonemap_outputs *tree, const char *path);

#ifdef __cplusplus
}
#endif
#endif
