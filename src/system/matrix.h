// matrix.h: sparse matrices that are assembled by adding entries in an order that never changes.
//
// A first run of the assembly records the places (row, column) of all additions; the plan sorts them into compressed
// columns and remembers for each addition where it goes. Later runs add numbers at these places one after the other.
#ifndef KARDAN_SYSTEM_MATRIX_H
#define KARDAN_SYSTEM_MATRIX_H

#include <kardan/base.h>

#include "core/memory.h"

typedef struct kd_matrix_plan {
    int  rows, columns;
    int *column; // (columns + 1) start of each column
    int *row;    // (column[columns]) rising within a column
    int *place;  // (nplaces) for each addition, its place in the values
    int  nplaces;
} kd_matrix_plan;

typedef struct kd_matrix_values {
    const kd_matrix_plan *plan;
    double               *value; // (plan->column[columns])
    int                   next;  // number of the next addition
    // recording: the pairs so far
    bool recording, failed;
    int *pair; // (2 * capacity) row, column
    int  capacity;
} kd_matrix_values;

static inline void kd_matrix_start(kd_matrix_values *m)
{
    m->next = 0;
    if (!m->recording)
        for (int i = 0, n = m->plan->column[m->plan->columns]; i < n; i++) m->value[i] = 0.0;
}

void kd_matrix_record(kd_matrix_values *m, int row, int column);

static inline void kd_matrix_add(kd_matrix_values *m, int row, int column, double value)
{
    if (m->recording)
        kd_matrix_record(m, row, column);
    else
        m->value[m->plan->place[m->next++]] += value;
}

// The plan of what was recorded; the recording is released. rows, columns of the plan are given.
kd_status kd_matrix_plan_make(kd_matrix_plan *plan, kd_matrix_values *recorded, kd_arena *arena) KD_NODISCARD;

// The same within a larger pattern, which is shared and not copied: column, row as in the plan. KD_ERR_ARGUMENT: a place
// is not in it
kd_status kd_matrix_plan_within(kd_matrix_plan *plan, kd_matrix_values *recorded, int *column, int *row,
                                kd_arena *arena) KD_NODISCARD;

// out (rows x columns, column-major) += the matrix
void kd_matrix_add_dense(const kd_matrix_values *m, double *out);

#endif
