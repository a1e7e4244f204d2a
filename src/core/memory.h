// core/memory.h: allocation through the hooks of kd_set_allocator; arenas that cut one object's arrays.
#ifndef KD_CORE_MEMORY_H
#define KD_CORE_MEMORY_H

#include <kardan/base.h>

void *kd_alloc(size_t size); // zero-filled; NULL on failure or for overflow; size 0 gives a valid pointer
void  kd_free(void *memory); // NULL is fine
// Behind kd_set_allocator: that allocator fills with zeros, as calloc does; kd_alloc need not, and untouched pages cost
// nothing.
void kd_trust_zeros(void);
// Would there be so much at once? For libraries that take memory of their own and do not bear a failure.
bool kd_memory_offers(size_t size);

// An arena: arrays are cut from chunks and released together. A failed cut is remembered, so that a create function
// cuts all its arrays and asks once.
typedef struct kd_arena {
    struct kd_chunk   *chunks;
    struct kd_numbers *numbers; // arrays of doubles, the newest first
    bool               failed;
} kd_arena;

// Stands before every array of doubles, so that whoever keeps an object finds its numbers (core/archive.h)
typedef struct kd_numbers {
    struct kd_numbers *next;
    size_t             count;
} kd_numbers;

void   *kd_arena_cut(kd_arena *arena, size_t count, size_t size); // zero-filled, aligned for any type; NULL on failure
void    kd_arena_release(kd_arena *arena);
double *kd_cut_numbers(kd_arena *arena, size_t count); // an array of doubles
double *kd_numbers_values(kd_numbers *numbers);        // (count) the array behind its record

static inline double *kd_cut_double(kd_arena *arena, int count)
{
    return kd_cut_numbers(arena, count > 0 ? (size_t)count : 0);
}
static inline double *kd_cut_matrix(kd_arena *arena, int rows, int columns) // no overflow for any sizes
{
    return kd_cut_numbers(arena, (size_t)(rows > 0 ? rows : 0) * (size_t)(columns > 0 ? columns : 0));
}
static inline int *kd_cut_int(kd_arena *arena, int count)
{
    return kd_arena_cut(arena, count > 0 ? (size_t)count : 0, sizeof(int));
}
static inline bool *kd_cut_bool(kd_arena *arena, int count)
{
    return kd_arena_cut(arena, count > 0 ? (size_t)count : 0, sizeof(bool));
}

#endif
