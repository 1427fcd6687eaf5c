/* null.h - in front of a generated stub: null.c counts what it asks for. */
#ifndef NULL_H
#define NULL_H
#include <stdlib.h>
#include <string.h>
void *null_calloc(size_t n, size_t size);
void *null_malloc(size_t n);
int null_strcmp(const char *a, const char *b);
#define calloc null_calloc
#define malloc null_malloc
#define strcmp null_strcmp
#endif
