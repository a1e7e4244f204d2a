// core/memory.c: allocation through the hooks of kd_set_allocator, and arenas.
//
// A block is [padding | header | payload]; the payload is aligned to ALIGNMENT (a cache line, so that the arrays of an
// object neither share lines nor straddle vector loads). The header keeps the start of the raw memory for release and
// the payload size for realloc, which SuiteSparse asks for and the hooks do not offer.
#include "core/memory.h"

#include <SuiteSparse_config.h>
#include <limits.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define KD_CHECKED_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KD_CHECKED_BUILD 1
#endif
#endif

// Under the address sanitizer no slack is left behind a block and every array of an arena is a block of its own, so
// that each write beyond an array is seen.
#ifdef KD_CHECKED_BUILD
#define ALIGNMENT alignof(max_align_t)
#define CHUNK_FIRST ((size_t)0)
#else
#define ALIGNMENT ((size_t)64)
#define CHUNK_FIRST ((size_t)512) // bytes; each further chunk is twice as large as the one before
#endif

#define CHUNK_LAST ((size_t)1 << 20)

// ---- hooks ----------------------------------------------------------------------------------------------------------

// Zeros: pages of large arrays that nobody touches cost nothing then
static void *default_allocate(size_t size, void *context)
{
    (void)context;
    return calloc(1, size);
}

static void default_release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

// The one piece of process-wide state: see kd_set_allocator in kardan/base.h.
static kd_allocator hooks = {default_allocate, default_release, NULL};
static bool         hooks_zero = true; // they fill what they allocate with zeros

// ---- blocks ---------------------------------------------------------------------------------------------------------

typedef struct header {
    void  *raw;  // what the hook returned
    size_t size; // bytes of the payload
} header;

static header *header_of(void *memory)
{
    return (header *)memory - 1;
}

// size bytes of undefined content, aligned; NULL on failure
static void *block_allocate(size_t size)
{
    const size_t slack = sizeof(header) + ALIGNMENT - alignof(max_align_t); // the hooks align as malloc does
    if (size > PTRDIFF_MAX - slack) return NULL;
    char *raw = hooks.allocate(size + slack, hooks.context);
    if (!raw) return NULL;
    // the payload begins at the first aligned address that leaves room for the header
    const size_t misalignment = ((uintptr_t)raw + sizeof(header)) % ALIGNMENT;
    char        *memory = raw + sizeof(header) + (misalignment ? ALIGNMENT - misalignment : 0);
    *header_of(memory) = (header){raw, size};
    return memory;
}

void *kd_alloc(size_t size)
{
    void *memory = block_allocate(size);
    if (memory && !hooks_zero) memset(memory, 0, size);
    return memory;
}

// Asks the hook itself, without header and without a memory that is kept
bool kd_memory_offers(size_t size)
{
    void *memory = size <= PTRDIFF_MAX ? hooks.allocate(size, hooks.context) : NULL;
    if (memory) hooks.release(memory, hooks.context);
    return memory != NULL;
}

void kd_free(void *memory)
{
    if (memory) hooks.release(header_of(memory)->raw, hooks.context);
}

// ---- SuiteSparse ----------------------------------------------------------------------------------------------------

static void *suitesparse_calloc(size_t count, size_t size)
{
    return size > 0 && count > SIZE_MAX / size ? NULL : kd_alloc(count * size);
}

// As realloc: the old block survives a failure. Shrinking stays in place and cannot fail, which KLU counts on.
static void *suitesparse_realloc(void *memory, size_t size)
{
    const size_t old = memory ? header_of(memory)->size : 0;
    if (memory && size <= old) return memory;
    void *larger = block_allocate(size);
    if (memory && larger) {
        memcpy(larger, memory, old);
        kd_free(memory);
    }
    return larger;
}

void kd_trust_zeros(void)
{
    hooks_zero = true;
}

// SuiteSparse allocates by the same hooks: what KLU takes is counted, and may fail, like all the rest
void kd_set_allocator(const kd_allocator *allocator)
{
    hooks_zero = !allocator;
    if (allocator) {
        hooks = *allocator;
        SuiteSparse_config.malloc_func = block_allocate;
        SuiteSparse_config.calloc_func = suitesparse_calloc;
        SuiteSparse_config.realloc_func = suitesparse_realloc;
        SuiteSparse_config.free_func = kd_free;
    } else {
        hooks = (kd_allocator){default_allocate, default_release, NULL};
        SuiteSparse_config.malloc_func = malloc;
        SuiteSparse_config.calloc_func = calloc;
        SuiteSparse_config.realloc_func = realloc;
        SuiteSparse_config.free_func = free;
    }
}

// ---- arenas ---------------------------------------------------------------------------------------------------------

typedef struct kd_chunk {
    struct kd_chunk *next;
    size_t           size; // bytes behind this header, without the padding
    size_t           used; // of them
} chunk;

// bytes from the start of a chunk to its first array
static size_t chunk_offset(void)
{
    return (sizeof(chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// A chunk of at least need bytes. Doubling keeps the number of chunks logarithmic; CHUNK_LAST limits what may be left
// unused at the end of the last one.
static bool chunk_add(kd_arena *arena, size_t need)
{
    const chunk *last = arena->chunks;
    size_t       size = last ? 2 * last->size : CHUNK_FIRST;
    if (size > CHUNK_LAST) size = CHUNK_LAST;
    if (CHUNK_FIRST == 0 || size < need) size = need;
    chunk *added = size > PTRDIFF_MAX / 2 ? NULL : kd_alloc(chunk_offset() + size);
    if (!added) return false;
    *added = (chunk){arena->chunks, size, 0};
    arena->chunks = added;
    return true;
}

void *kd_arena_cut(kd_arena *arena, size_t count, size_t size)
{
    // entries count in an int, so that products of two sizes in code that has a full matrix never overflow
    if (size > 0 && (count > PTRDIFF_MAX / 4 / size || (size > 1 && count > INT_MAX))) {
        arena->failed = true;
        return NULL;
    }
    // padded: the next array begins at an aligned address, too
    const size_t bytes = count * size;
    const size_t padded = CHUNK_FIRST == 0 ? bytes : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const chunk *last = arena->chunks;
    // what is left of a chunk is given up when it is too small for this array
    if (!last || CHUNK_FIRST == 0 || last->size - last->used < padded) {
        if (!chunk_add(arena, padded)) {
            arena->failed = true;
            return NULL;
        }
    }
    chunk *from = arena->chunks;
    void  *array = (char *)from + chunk_offset() + from->used;
    from->used += padded;
    return array;
}

// bytes from a record to its array: the array is aligned as all are
static size_t numbers_offset(void)
{
    return (sizeof(kd_numbers) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

double *kd_numbers_values(kd_numbers *numbers)
{
    return (double *)(void *)((char *)numbers + numbers_offset());
}

double *kd_cut_numbers(kd_arena *arena, size_t count)
{
    // too many: the cut fails, and says so
    if (count > INT_MAX) arena->failed = true;
    kd_numbers *record = count > INT_MAX ? NULL : kd_arena_cut(arena, 1, numbers_offset() + count * sizeof(double));
    if (!record) return NULL;
    *record = (kd_numbers){arena->numbers, count};
    arena->numbers = record;
    return kd_numbers_values(record);
}

void kd_arena_release(kd_arena *arena)
{
    chunk *next = NULL;
    for (chunk *c = arena->chunks; c; c = next) {
        next = c->next;
        kd_free(c);
    }
    *arena = (kd_arena){0};
}
