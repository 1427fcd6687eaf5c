/* dispatch/dispatch.h - the part of libdispatch that a Metal stub may use. Blocks are pointers to block literals laid
 * out by hand, as no compiler here has blocks. */
#ifndef HM_DISPATCH_H
#define HM_DISPATCH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_data_s *dispatch_data_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef void *dispatch_object_t;
typedef void *dispatch_block_t;
typedef uint64_t dispatch_time_t;
#define DISPATCH_TIME_NOW ((dispatch_time_t)0)
#define DISPATCH_TIME_FOREVER (~(dispatch_time_t)0)
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0) /* the bytes are copied */
extern const void *const _dispatch_data_destructor_free;
#define DISPATCH_DATA_DESTRUCTOR_FREE ((dispatch_block_t)_dispatch_data_destructor_free)
dispatch_data_t dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor);
size_t dispatch_data_get_size(dispatch_data_t data);
void dispatch_retain(dispatch_object_t object);
void dispatch_release(dispatch_object_t object);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t timeout);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
#ifdef __cplusplus
}
#endif
#endif
