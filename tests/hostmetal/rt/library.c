/* library.c - linked into every metallib: the list of kernels that its .air files put into one section. */
#include "msl_rt.h"
extern const msl_kernel *const __start_msl_kernels[] __attribute__((visibility("hidden")));
extern const msl_kernel *const __stop_msl_kernels[] __attribute__((visibility("hidden")));
__attribute__((visibility("default"))) const msl_library msl_library_v3 = {
    MSL_LIBRARY_VERSION, __start_msl_kernels, __stop_msl_kernels};
