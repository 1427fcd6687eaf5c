/* hm_hooks.h - what a test may ask of the stand-in, and do to it, from inside its own process. */
#ifndef HM_HOOKS_H
#define HM_HOOKS_H
#ifdef __cplusplus
extern "C" {
#endif

/* ---- calls that fail as Metal's do; in the environment HOSTMETAL_FAIL=alloc:3,commit:1 ---- */
enum hm_fail_kind {
  HM_FAIL_DEVICE,   /* MTLCreateSystemDefaultDevice gives NULL */
  HM_FAIL_QUEUE,    /* newCommandQueue gives nil */
  HM_FAIL_ALLOC,    /* newBuffer... gives nil */
  HM_FAIL_LIBRARY,  /* newLibrary... gives nil and an NSError */
  HM_FAIL_PIPELINE, /* newComputePipelineState... gives nil and an NSError */
  HM_FAIL_COMMAND,  /* commandBuffer gives nil */
  HM_FAIL_ENCODER,  /* computeCommandEncoder... gives nil */
  HM_FAIL_COMMIT,   /* the command buffer ends with status 5 and an NSError, half of its dispatches done */
  HM_FAIL_KINDS
};
void hm_fail(enum hm_fail_kind kind, unsigned long nth); /* the nth such call from here on; 0: none */
unsigned long hm_calls(enum hm_fail_kind kind);          /* such calls so far */

/* ---- what happened so far in this process ---- */
typedef struct hm_stats {
  unsigned long messages;   /* objc_msgSend */
  unsigned long selectors;  /* look-ups by name: sel_registerName */
  unsigned long classes;    /* look-ups by name: objc_getClass */
  unsigned long objects;    /* objects made, of whatever class */
  unsigned long buffers;    /* MTLBuffers made */
  unsigned long commits, encoders, dispatches, barriers;
  unsigned long live;       /* objects not deallocated (those in a pool not popped too) */
  unsigned long allocated;  /* bytes of the buffers that live */
} hm_stats;
hm_stats hm_get_stats(void);

/* ---- what the device and the system are said to be; also by environment ---- */
typedef struct hm_system {
  unsigned long max_threads;      /* HOSTMETAL_MAXTHREADS: maxTotalThreadsPerThreadgroup, 1024 */
  unsigned long width;            /* HOSTMETAL_WIDTH: threadExecutionWidth, 32 (kernels still run 32 wide) */
  unsigned long max_buffer;       /* HOSTMETAL_MAXBUFFER: maxBufferLength, 16 GiB */
  unsigned long page;             /* HOSTMETAL_PAGE: what memory is wrapped in, 16384 as on Apple silicon */
} hm_system;
extern hm_system hm_now;
int hm_set_os(const char *version);      /* HOSTMETAL_OS: "14.0"; 0 when it is no version */
int hm_set_family(const char *families); /* HOSTMETAL_FAMILY: "apple6", "apple9,mac2,metal3"; 0 when unknown */
#ifdef __cplusplus
}
#endif
#endif
