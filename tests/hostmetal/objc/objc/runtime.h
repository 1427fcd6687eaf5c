/* objc/runtime.h - the functions of the Objective-C runtime that Apple's public headers declare. objc_retain,
 * objc_autoreleasePoolPush and their like are in none of them: a stub declares those by itself. */
#ifndef HM_OBJC_RUNTIME_H
#define HM_OBJC_RUNTIME_H
#include "objc.h"
#ifdef __cplusplus
extern "C" {
#endif
Class objc_getClass(const char *name);
Class objc_lookUpClass(const char *name);
Class object_getClass(id obj);
const char *class_getName(Class cls);
BOOL class_respondsToSelector(Class cls, SEL sel);
#ifdef __cplusplus
}
#endif
#endif
