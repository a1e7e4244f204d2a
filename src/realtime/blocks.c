// blocks.c: matrices of the equations of motion with fixed patterns.
#include <string.h>

#include "realtime/internal.h"

static bool cut_full_pattern(kd_pattern *out, int rows, int columns, kd_arena *arena)
{
    int *column = kd_cut_int(arena, columns + 1),
        *row = kd_arena_cut(arena, (size_t)rows * (size_t)columns, sizeof *row);
    if (arena->failed) return false;
    for (int j = 0; j <= columns; j++) column[j] = j * rows;
    for (int k = 0; k < rows * columns; k++) row[k] = k % rows;
    *out = (kd_pattern){rows, columns, column, row};
    return true;
}

// The column of each entry
static bool cut_columns(kd_rt_block *block, kd_arena *arena)
{
    const int *column = block->pattern.column;
    block->column_of = kd_cut_int(arena, kd_rt_block_count(block));
    for (int j = 0; !arena->failed && j < block->pattern.columns; j++)
        for (int k = column[j]; k < column[j + 1]; k++) block->column_of[k] = j;
    return !arena->failed;
}

bool kd_rt_block_cut(kd_rt_block *block, const kd_eom *eom, kd_fn fn, kd_var var, kd_arena *arena)
{
    kd_dims n = kd_eom_dims(eom);
    int rows = fn == KD_MASS ? n.nv : kd_eom_rows(eom, fn), columns = fn == KD_MASS ? n.nv : kd_eom_columns(eom, var);
    *block = (kd_rt_block){.fn = fn, .var = var};
    if (rows == 0 || columns == 0 || (fn != KD_MASS && !kd_eom_depends(eom, fn, var))) return true;
    block->used = true;
    block->sparse = kd_eom_pattern(eom, fn, var, &block->pattern);
    if (!block->sparse && !cut_full_pattern(&block->pattern, rows, columns, arena)) return false;
    block->values = kd_cut_double(arena, kd_rt_block_count(block));
    return cut_columns(block, arena);
}

bool kd_rt_block_part(kd_rt_block *part, const kd_rt_block *whole, const bool *rows, bool marked, kd_arena *arena)
{
    const kd_pattern *from = &whole->pattern;
    int              *column = kd_cut_int(arena, from->columns + 1), *row = kd_cut_int(arena, kd_rt_block_count(whole));
    *part = (kd_rt_block){.fn = whole->fn, .var = whole->var, .used = true};
    part->values = kd_cut_double(arena, kd_rt_block_count(whole));
    if (arena->failed) return false;
    column[0] = 0;
    for (int j = 0, n = 0; j < from->columns; j++, column[j] = n)
        for (int k = from->column[j]; k < from->column[j + 1]; k++)
            if (rows[from->row[k]] == marked) row[n++] = from->row[k];
    part->pattern = (kd_pattern){from->rows, from->columns, column, row};
    return cut_columns(part, arena);
}

void kd_rt_block_take(kd_rt_block *part, const kd_rt_block *whole, const bool *rows, bool marked)
{
    const int *row = whole->pattern.row, count = kd_rt_block_count(whole);
    for (int k = 0, n = 0; k < count; k++)
        if (rows[row[k]] == marked) part->values[n++] = whole->values[k];
}

int kd_rt_block_count(const kd_rt_block *block)
{
    return block->used ? block->pattern.column[block->pattern.columns] : 0;
}

void kd_rt_block_multiply(const kd_rt_block *block, double alpha, const double *x, double *y)
{
    if (!block->used) return;
    const int *column = block->column_of, *row = block->pattern.row, count = kd_rt_block_count(block);
    for (int k = 0; k < count; k++) y[row[k]] += block->values[k] * (alpha * x[column[k]]);
}

void kd_rt_block_multiply_t(const kd_rt_block *block, double alpha, const double *x, double *y)
{
    if (!block->used) return;
    const int *column = block->pattern.column, *row = block->pattern.row;
    for (int j = 0; j < block->pattern.columns; j++) {
        double sum = 0.0;
        for (int k = column[j]; k < column[j + 1]; k++) sum += block->values[k] * x[row[k]];
        y[j] += alpha * sum;
    }
}
