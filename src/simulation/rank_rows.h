// simulation/rank_rows.h: which entries rows of constraints may have.
#ifndef KD_SIMULATION_RANK_ROWS_H
#define KD_SIMULATION_RANK_ROWS_H

#include <kardan/eom.h>

#include "core/memory.h"

typedef struct kd_rank_rows {
    int *column, *start; // of row i of [g; h]: column[start[i]] to column[start[i + 1] - 1]
    bool listed;         // by the equations; false: all columns of velocities
} kd_rank_rows;

// Cut from the arena, whose failure is the caller's to see.
void kd_rank_rows_take(kd_rank_rows *rows, kd_arena *arena, const kd_eom *eom);

static inline const int *kd_rank_rows_at(const kd_rank_rows *rows, int i, int *count)
{
    *count = rows->start[i + 1] - rows->start[i];
    return rows->column + rows->start[i];
}

#endif
