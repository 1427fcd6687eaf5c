/* objc/objc.h - the types of the Objective-C runtime, as Apple's SDK has them. */
#ifndef HM_OBJC_OBJC_H
#define HM_OBJC_OBJC_H
#include <stdbool.h>
#include <stddef.h>
typedef struct objc_class *Class;
typedef struct objc_object {
  Class isa;
} *id;
typedef struct objc_selector *SEL;
typedef void (*IMP)(void);
#if defined(__x86_64__)
typedef signed char BOOL; /* as on macOS x86-64; bool on arm64 */
#else
typedef bool BOOL;
#endif
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#define nil ((id)0)
#define Nil ((Class)0)
#ifdef __cplusplus
extern "C" {
#endif
SEL sel_registerName(const char *name);
const char *sel_getName(SEL sel);
#ifdef __cplusplus
}
#endif
#endif
