// math/pattern.h: places of a sparse matrix, collected one by one, then sorted into compressed columns.
#ifndef KD_MATH_PATTERN_H
#define KD_MATH_PATTERN_H

#include "core/memory.h"

typedef struct kd_places {
    int  rows, columns;
    int *pair; // (2 * capacity) row, column
    int  count, capacity;
    bool failed; // memory was short; everything else then does nothing
} kd_places;

typedef struct kd_columns {
    int  rows, columns;
    int *column; // (columns + 1) start of each column
    int *row;    // (column[columns]) rising within a column
} kd_columns;

void kd_places_add(kd_places *places, int row, int column);
void kd_places_release(kd_places *places); // also after finishing
// Sorted, each place once; arrays from the arena. KD_ERR_MEMORY also if a place was lost before.
kd_status kd_places_sort(const kd_places *places, kd_columns *out, kd_arena *arena) KD_NODISCARD;

static inline int kd_columns_count(const kd_columns *pattern)
{
    return pattern->column[pattern->columns];
}
// Number of the entry; -1: not in the pattern.
int kd_columns_find(const kd_columns *pattern, int row, int column);

// Connected parts by union and find: the representative of i. parent[i] = i at first; joined by parent[root] = other
// root. Paths are halved on the way.
static inline int kd_root_of(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

#endif
