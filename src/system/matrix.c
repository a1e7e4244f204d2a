// matrix.c: recording of assembly patterns. See matrix.h
#include "system/matrix.h"

#include <stdlib.h>
#include <string.h>

void kd_matrix_record(kd_matrix_values *m, int row, int column)
{
    if (m->next == m->capacity) {
        // twice the room
        int  larger = m->capacity > 0 ? 2 * m->capacity : 64;
        int *pair = kd_alloc(2 * (size_t)larger * sizeof(int));
        if (!pair) {
            m->failed = true;
            return;
        }
        if (m->next > 0) memcpy(pair, m->pair, 2 * (size_t)m->next * sizeof(int));
        kd_free(m->pair);
        m->pair = pair;
        m->capacity = larger;
    }
    m->pair[2 * m->next] = row;
    m->pair[2 * m->next + 1] = column;
    m->next++;
}

// Sort additions by column (counting), then by row within a column, and merge equal places.
typedef struct addition {
    int row, number;
} addition;

static int compare(const void *a, const void *b)
{
    const addition *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int merge_column(addition *entry, int n, int at, int *row, int *place)
{
    // by row; additions to the same row share a place
    qsort(entry, (size_t)n, sizeof *entry, compare);
    for (int k = 0; k < n; k++) {
        if (k == 0 || entry[k].row != entry[k - 1].row) row[at++] = entry[k].row;
        place[entry[k].number] = at - 1;
    }
    return at;
}

kd_status kd_matrix_plan_make(kd_matrix_plan *plan, kd_matrix_values *recorded, kd_arena *arena)
{
    int       n = recorded->next;
    kd_status status = KD_ERR_MEMORY;
    addition *entry = kd_alloc((size_t)n * sizeof *entry);
    int      *start = kd_alloc(((size_t)plan->columns + 2) * sizeof *start);
    int      *row = kd_alloc((size_t)n * sizeof *row);
    plan->nplaces = n;
    plan->place = kd_cut_int(arena, n);
    plan->column = kd_cut_int(arena, plan->columns + 1);
    if (!entry || !start || !row || recorded->failed || arena->failed) goto done;

    // count, start of each column, then the additions of each column together
    for (int k = 0; k < n; k++) start[recorded->pair[2 * k + 1] + 2]++;
    for (int j = 0; j < plan->columns; j++) start[j + 2] += start[j + 1];
    for (int k = 0; k < n; k++) entry[start[recorded->pair[2 * k + 1] + 1]++] = (addition){recorded->pair[2 * k], k};
    int at = 0;
    // columns one after the other, rows rising
    for (int j = 0; j < plan->columns; j++) {
        plan->column[j] = at;
        at = merge_column(entry + start[j], start[j + 1] - start[j], at, row, plan->place);
    }
    plan->column[plan->columns] = at;
    plan->row = kd_cut_int(arena, at);
    if (!plan->row) goto done;
    memcpy(plan->row, row, (size_t)at * sizeof *row);
    status = KD_OK;
done:
    kd_free(entry);
    kd_free(start);
    kd_free(row);
    kd_free(recorded->pair);
    *recorded = (kd_matrix_values){.plan = plan};
    return status;
}

// number of an entry; -1: not in the pattern
static int find_entry(const int *column, const int *row, int i, int j)
{
    int low = column[j], high = column[j + 1];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (row[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low < column[j + 1] && row[low] == i ? low : -1;
}

kd_status kd_matrix_plan_within(kd_matrix_plan *plan, kd_matrix_values *recorded, int *column, int *row,
                                kd_arena *arena)
{
    const int n = recorded->next;
    kd_status status = KD_ERR_MEMORY;
    plan->nplaces = n;
    plan->place = kd_cut_int(arena, n);
    plan->column = column;
    plan->row = row;
    if (!recorded->failed && !arena->failed) status = KD_OK;
    for (int k = 0; k < n && status == KD_OK; k++) {
        plan->place[k] = find_entry(column, row, recorded->pair[2 * k], recorded->pair[2 * k + 1]);
        if (plan->place[k] < 0) status = KD_ERR_ARGUMENT;
    }
    kd_free(recorded->pair);
    *recorded = (kd_matrix_values){.plan = plan};
    return status;
}

void kd_matrix_add_dense(const kd_matrix_values *m, double *out)
{
    for (int j = 0; j < m->plan->columns; j++) {
        double *column = out + (size_t)j * (size_t)m->plan->rows;
        for (int k = m->plan->column[j]; k < m->plan->column[j + 1]; k++) column[m->plan->row[k]] += m->value[k];
    }
}
