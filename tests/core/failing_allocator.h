// tests/core/failing_allocator.h: hooks that count, and that fail from the n-th allocation on or at it alone.
#ifndef KD_TEST_FAILING_ALLOCATOR_H
#define KD_TEST_FAILING_ALLOCATOR_H

#include <kardan/base.h>
#include <stdlib.h>

typedef struct failing_allocator {
    long calls;   // allocations asked for
    long live;    // blocks not released
    long fail_at; // this call fails (1-based); 0: none
} failing_allocator;

static inline void *failing_allocate(size_t size, void *context)
{
    failing_allocator *f = context;
    if (++f->calls == f->fail_at) return NULL;
    void *memory = malloc(size);
    if (memory) f->live++;
    return memory;
}

static inline void failing_release(void *memory, void *context)
{
    ((failing_allocator *)context)->live--;
    free(memory);
}

// Take over all allocation; kd_set_allocator(NULL) ends it.
static inline void failing_allocator_use(failing_allocator *f)
{
    kd_set_allocator(&(kd_allocator){failing_allocate, failing_release, f});
}

#endif
