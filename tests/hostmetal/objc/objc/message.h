/* objc/message.h - objc_msgSend. As with OBJC_OLD_DISPATCH_PROTOTYPES=0, callers must cast, or they do not compile. */
#ifndef HM_OBJC_MESSAGE_H
#define HM_OBJC_MESSAGE_H
#include "objc.h"
#ifdef __cplusplus
extern "C" {
#endif
void objc_msgSend(void);
#if defined(__x86_64__)
void objc_msgSend_stret(void); /* results over 16 bytes; arm64 has no such function */
#endif
#ifdef __cplusplus
}
#endif
#endif
