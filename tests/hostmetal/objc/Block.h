/* Block.h - copying blocks. */
#ifndef HM_BLOCK_H
#define HM_BLOCK_H
#ifdef __cplusplus
extern "C" {
#endif
void *_Block_copy(const void *block);
void _Block_release(const void *block);
#ifdef __cplusplus
}
#endif
#endif
