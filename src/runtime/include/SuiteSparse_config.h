// SuiteSparse_config.h of the runtime: own code takes its memory by kd_alloc, and nobody reads these hooks.
#ifndef KD_RUNTIME_SUITESPARSE_CONFIG_H
#define KD_RUNTIME_SUITESPARSE_CONFIG_H

#include <stddef.h>

typedef struct kd_rt_hooks {
    void *(*malloc_func)(size_t);
    void *(*calloc_func)(size_t, size_t);
    void *(*realloc_func)(void *, size_t);
    void (*free_func)(void *);
} kd_rt_hooks;

static kd_rt_hooks SuiteSparse_config;

#endif
