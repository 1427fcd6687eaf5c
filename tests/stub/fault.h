/* fault.h - in front of a generated stub: its memory comes from states.c, which makes the nth request fail. */
#ifndef FAULT_H
#define FAULT_H
#include <stdlib.h>
void *fault_malloc(size_t n);
void *fault_calloc(size_t n, size_t size);
#define malloc fault_malloc
#define calloc fault_calloc
#endif
