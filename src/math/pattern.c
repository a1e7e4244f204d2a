// math/pattern.c: places of a sparse matrix, sorted by two passes of counting: by rows, then stably by columns.
#include "math/pattern.h"

#include <limits.h>
#include <string.h>

static void grow(kd_places *places)
{
    if (places->failed) return;
    int  capacity = places->capacity > 0 ? places->capacity : 256;
    int *pair = capacity < INT_MAX / 4 ? kd_alloc(4 * (size_t)capacity * sizeof *pair) : NULL;
    if (!pair) {
        places->failed = true;
        return;
    }
    if (places->count > 0) memcpy(pair, places->pair, 2 * (size_t)places->count * sizeof *pair);
    kd_free(places->pair);
    places->pair = pair;
    places->capacity = 2 * capacity;
}

void kd_places_add(kd_places *places, int row, int column)
{
    if (places->count == places->capacity) grow(places);
    if (places->failed) return;
    places->pair[2 * places->count] = row;
    places->pair[2 * places->count + 1] = column;
    places->count++;
}

void kd_places_release(kd_places *places)
{
    kd_free(places->pair);
    places->pair = NULL;
    places->count = places->capacity = 0;
}

// order[] = numbers of the pairs, stably sorted by component (0: row, 1: column) from the order given
static void sort_by(const kd_places *places, int component, int classes, const int *from, int *order, int *start)
{
    // members of each class, then where it starts
    memset(start, 0, ((size_t)classes + 1) * sizeof *start);
    for (int k = 0; k < places->count; k++) start[places->pair[2 * k + component] + 1]++;
    for (int c = 0; c < classes; c++) start[c + 1] += start[c];
    // in the order given: stable
    for (int k = 0; k < places->count; k++) {
        int pair = from ? from[k] : k;
        order[start[places->pair[2 * pair + component]]++] = pair;
    }
}

// Compressed columns of the sorted pairs, each place once
static int without_repetitions(const kd_places *places, const int *order, kd_columns *out)
{
    int count = 0, last_row = -1, last_column = -1;
    for (int k = 0; k < places->count; k++) {
        int row = places->pair[2 * order[k]], column = places->pair[2 * order[k] + 1];
        if (row == last_row && column == last_column) continue;
        while (last_column < column) out->column[++last_column] = count;
        last_row = row;
        out->row[count++] = row;
    }
    while (last_column < out->columns) out->column[++last_column] = count;
    return count;
}

kd_status kd_places_sort(const kd_places *places, kd_columns *out, kd_arena *arena)
{
    kd_arena scratch = {0};
    int      classes = places->rows > places->columns ? places->rows : places->columns;
    int     *by_row = kd_cut_int(&scratch, places->count), *order = kd_cut_int(&scratch, places->count);
    int     *start = kd_cut_int(&scratch, classes + 1);
    out->rows = places->rows;
    out->columns = places->columns;
    out->column = kd_cut_int(arena, places->columns + 1);
    out->row = kd_cut_int(arena, places->count);
    bool failed = places->failed || scratch.failed || arena->failed;
    // stable sorting twice: by row, then by column, gives columns with rising rows
    if (!failed) {
        sort_by(places, 0, places->rows, NULL, by_row, start);
        sort_by(places, 1, places->columns, by_row, order, start);
        without_repetitions(places, order, out);
    }
    kd_arena_release(&scratch);
    return failed ? KD_ERR_MEMORY : KD_OK;
}

int kd_columns_find(const kd_columns *pattern, int row, int column)
{
    int low = pattern->column[column], high = pattern->column[column + 1] - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (pattern->row[middle] == row) return middle;
        if (pattern->row[middle] < row)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}
