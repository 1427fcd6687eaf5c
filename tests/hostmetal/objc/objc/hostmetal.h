/* objc/hostmetal.h - only in the test bed: what a send macro needs so that its casts are checked.
 *   HM_SEND("v@:@QQ", void, (id, SEL, id, unsigned long, unsigned long))(receiver, selector, ...)
 * is the cast objc_msgSend plus its type string. The bed holds the string against metal-selectors.json and, in C11,
 * the cast against it too; C99 and C++ know no _Generic, so there the cast goes unchecked.
 * Structs are named by the includer: #define HM_STRUCTS , MTLSize *: "{?=QQQ}" */
#ifndef HM_OBJC_HOSTMETAL_H
#define HM_OBJC_HOSTMETAL_H
#include "runtime.h"
#ifdef __cplusplus
extern "C" {
#endif
IMP hm_entry(const char *types, const char *const *cast);
IMP hm_entry_stret(const char *types, const char *const *cast);
#ifdef __cplusplus
}
#endif
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#ifndef HM_STRUCTS
#define HM_STRUCTS
#endif
/* _Generic on a pointer to T, so that void and struct types work */
#define HM_TYPE(T)                                                                                           \
  _Generic((T *)0, void *: "v", _Bool *: "B", char *: "c", signed char *: "c", unsigned char *: "C",         \
           short *: "s", unsigned short *: "S", int *: "i", unsigned *: "I", long *: "q",                    \
           unsigned long *: "Q", long long *: "q", unsigned long long *: "Q", float *: "f", double *: "d",   \
           id *: "@", SEL *: ":", Class *: "#" HM_STRUCTS, default: "^v")
#define HM_PICK(_1, _2, _3, _4, _5, _6, _7, _8, n, ...) n
#define HM_T2(a, b) HM_TYPE(a), HM_TYPE(b)
#define HM_T3(a, ...) HM_TYPE(a), HM_T2(__VA_ARGS__)
#define HM_T4(a, ...) HM_TYPE(a), HM_T3(__VA_ARGS__)
#define HM_T5(a, ...) HM_TYPE(a), HM_T4(__VA_ARGS__)
#define HM_T6(a, ...) HM_TYPE(a), HM_T5(__VA_ARGS__)
#define HM_T7(a, ...) HM_TYPE(a), HM_T6(__VA_ARGS__)
#define HM_T8(a, ...) HM_TYPE(a), HM_T7(__VA_ARGS__)
#define HM_LIST(...) HM_PICK(__VA_ARGS__, HM_T8, HM_T7, HM_T6, HM_T5, HM_T4, HM_T3, HM_T2, 0, 0)(__VA_ARGS__)
#define HM_CAST(R, args) ((const char *const[]){HM_TYPE(R), HM_LIST args, (const char *)0})
#else
#define HM_CAST(R, args) ((const char *const *)0)
#endif
#define HM_SEND(types, R, args) ((R(*) args)hm_entry(types, HM_CAST(R, args)))
#define HM_SEND_STRET(types, R, args) ((R(*) args)hm_entry_stret(types, HM_CAST(R, args)))
#endif
