// math/colouring.c: consistent groups of columns by greedy colouring of the column intersection graph.
//
// Two columns are neighbours if a row has entries in both. The graph is never stored: the neighbours of a column are
// found through its rows, so that one pass over all neighbours costs the sum of the squares of the row counts. Columns
// are coloured one after the other with the first colour that no neighbour has. Three orders (Coleman, More 1983):
// - largest-first: by falling number of neighbours;
// - smallest-last: the column with the fewest neighbours among those not yet placed goes to the end;
// - incidence degree: next the column with the most neighbours already placed.
// Then iterated greedy (Culberson 1992): colouring again with the groups of before one after the other, in any order of
// the groups, never takes more groups and may take fewer. All stops as soon as the lower bound is reached: the columns
// of the fullest row are pairwise neighbours.
#include "math/colouring.h"

#include "core/memory.h"

#include <string.h>

#define REPEATS 8 // rounds of iterated greedy; most of what it gains comes in the first few

struct kd_colouring {
    kd_arena arena;
    int      rows, columns, max_entries;
    int     *group; // (columns) result
    int      groups, fullest_row;
    // workspace
    const int *column, *row;    // the pattern of this update
    int       *start, *entry;   // (rows + 1), (max_entries) its rows: columns that take part
    bool      *copy;            // (rows) the same columns as the row before: adds no neighbours
    int       *mark, *taken;    // (columns) last column or colour seen from
    int       *degree, *key;    // (columns) neighbours; present key in the buckets
    int       *order, *trial;   // (columns) columns in the order of colouring; their groups
    int       *head;            // (columns + 1) first of each bucket, -1: empty
    int       *next, *previous; // (columns) links of the buckets
    int        n;               // columns that take part
};

kd_status kd_colouring_create(int rows, int columns, int max_entries, kd_colouring **result)
{
    *result = NULL;
    if (rows < 0 || columns < 0 || max_entries < 0) return KD_ERR_ARGUMENT;
    kd_colouring *c = kd_alloc(sizeof *c);
    if (!c) return KD_ERR_MEMORY;
    c->rows = rows;
    c->columns = columns;
    c->max_entries = max_entries;
    c->start = kd_cut_int(&c->arena, rows + 1);
    c->entry = kd_cut_int(&c->arena, max_entries);
    c->copy = kd_cut_bool(&c->arena, rows);
    int **each[] = {&c->group, &c->mark, &c->taken, &c->degree, &c->key, &c->order, &c->trial, &c->next, &c->previous};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) *each[i] = kd_cut_int(&c->arena, columns);
    c->head = kd_cut_int(&c->arena, columns + 1);
    if (c->arena.failed) {
        kd_colouring_destroy(c);
        return KD_ERR_MEMORY;
    }
    for (int j = 0; j < columns; j++) c->group[j] = -1;
    *result = c;
    return KD_OK;
}

void kd_colouring_destroy(kd_colouring *c)
{
    if (!c) return;
    kd_arena_release(&c->arena);
    kd_free(c);
}

const int *kd_colouring_group(const kd_colouring *c)
{
    return c ? c->group : NULL;
}

int kd_colouring_groups(const kd_colouring *c)
{
    return c->groups;
}

int kd_colouring_fullest_row(const kd_colouring *c)
{
    return c->fullest_row;
}

// ---- the graph ------------------------------------------------------------------------------------------------------

static bool pattern_fits(const kd_colouring *c, const int *column, const int *row)
{
    if (column[0] != 0 || column[c->columns] > c->max_entries) return false;
    for (int j = 0; j < c->columns; j++)
        if (column[j + 1] < column[j]) return false;
    for (int k = 0; k < column[c->columns]; k++)
        if (row[k] < 0 || row[k] >= c->rows) return false;
    return true;
}

// rows of the pattern: start, entry, fullest_row
static void transpose(kd_colouring *c, const bool *mask)
{
    memset(c->start, 0, (size_t)(c->rows + 1) * sizeof *c->start);
    // entries per row
    for (int j = 0; j < c->columns; j++)
        for (int k = c->column[j]; k < c->column[j + 1] && (!mask || mask[j]); k++) c->start[c->row[k] + 1]++;
    // where each row starts
    c->fullest_row = 0;
    for (int i = 0; i < c->rows; i++) {
        if (c->start[i + 1] > c->fullest_row) c->fullest_row = c->start[i + 1];
        c->start[i + 1] += c->start[i];
    }
    // start[i] runs to the end of row i while it is filled, then is moved back
    for (int j = 0; j < c->columns; j++)
        for (int k = c->column[j]; k < c->column[j + 1] && (!mask || mask[j]); k++) c->entry[c->start[c->row[k]]++] = j;
    for (int i = c->rows; i > 0; i--) c->start[i] = c->start[i - 1];
    if (c->rows > 0) c->start[0] = 0;
    // rows of one body have the same columns as a rule
    for (int i = 0; i < c->rows; i++) {
        const int count = c->start[i + 1] - c->start[i];
        c->copy[i] = i > 0 && count == c->start[i] - c->start[i - 1] &&
                     memcmp(c->entry + c->start[i], c->entry + c->start[i - 1], (size_t)count * sizeof *c->entry) == 0;
    }
}

// Neighbours of column j into list, each once; their number. mark must not hold j.
static int list_neighbours(kd_colouring *c, int j, int *list)
{
    int count = 0;
    c->mark[j] = j;
    for (int k = c->column[j]; k < c->column[j + 1]; k++)
        for (int m = c->start[c->row[k]]; m < c->start[c->row[k] + 1] && !c->copy[c->row[k]]; m++) {
            const int i = c->entry[m];
            if (c->mark[i] == j) continue;
            c->mark[i] = j;
            list[count++] = i;
        }
    return count;
}

static void forget_marks(kd_colouring *c)
{
    for (int j = 0; j < c->columns; j++) c->mark[j] = -1;
}

// ---- buckets of columns by key --------------------------------------------------------------------------------------

static void put_in_bucket(kd_colouring *c, int j, int key)
{
    c->key[j] = key;
    c->previous[j] = -1;
    c->next[j] = c->head[key];
    if (c->next[j] >= 0) c->previous[c->next[j]] = j;
    c->head[key] = j;
}

static void take_from_bucket(kd_colouring *c, int j)
{
    if (c->next[j] >= 0) c->previous[c->next[j]] = c->previous[j];
    if (c->previous[j] >= 0) {
        c->next[c->previous[j]] = c->next[j];
    } else {
        c->head[c->key[j]] = c->next[j];
    }
}

static void empty_buckets(kd_colouring *c)
{
    for (int k = 0; k <= c->columns; k++) c->head[k] = -1;
}

// ---- orders ---------------------------------------------------------------------------------------------------------

// by falling degree, equal ones from the left
static void order_largest_first(kd_colouring *c)
{
    empty_buckets(c);
    for (int j = c->columns - 1; j >= 0; j--)
        if (c->group[j] >= 0) put_in_bucket(c, j, c->degree[j]);
    int count = 0;
    for (int key = c->columns; key >= 0; key--)
        for (int j = c->head[key]; j >= 0; j = c->next[j]) c->order[count++] = j;
}

// from the end: the column with the fewest neighbours among those left
static void order_smallest_last(kd_colouring *c)
{
    empty_buckets(c);
    forget_marks(c);
    for (int j = 0; j < c->columns; j++)
        if (c->group[j] >= 0) put_in_bucket(c, j, c->degree[j]);
    int key = 0;
    for (int count = c->n - 1; count >= 0; count--) {
        while (c->head[key] < 0) key++;
        // fewest neighbours left: the last place that is free
        const int j = c->head[key];
        take_from_bucket(c, j);
        c->order[count] = j;
        c->key[j] = -1; // placed
        // they have one neighbour less
        const int found = list_neighbours(c, j, c->taken);
        for (int k = 0; k < found; k++) {
            const int i = c->taken[k];
            if (c->key[i] < 0) continue;
            take_from_bucket(c, i);
            put_in_bucket(c, i, c->key[i] - 1);
        }
        if (key > 0) key--; // degrees fall by one at most
    }
}

// Needs the order largest-first in c->order: it decides between equals at the start.
static void order_incidence(kd_colouring *c)
{
    empty_buckets(c);
    forget_marks(c);
    for (int k = c->n - 1; k >= 0; k--) put_in_bucket(c, c->order[k], 0);
    int key = 0;
    for (int count = 0; count < c->n; count++) {
        while (c->head[key] < 0) key--;
        // most neighbours placed: the next place
        const int j = c->head[key];
        take_from_bucket(c, j);
        c->order[count] = j;
        c->key[j] = -1;
        // they have one more placed
        const int found = list_neighbours(c, j, c->taken);
        for (int k = 0; k < found; k++) {
            const int i = c->taken[k];
            if (c->key[i] < 0) continue;
            take_from_bucket(c, i);
            put_in_bucket(c, i, c->key[i] + 1);
        }
        if (found > 0) key++; // keys rise by one at most
    }
}

// The groups found so far, one after the other: the last first, or the largest first.
static void order_groups(kd_colouring *c, bool largest)
{
    int *size = c->taken;
    memset(size, 0, (size_t)c->columns * sizeof *size);
    // sizes and members of the groups
    for (int j = 0; j < c->columns; j++)
        if (c->group[j] >= 0) size[c->group[j]]++;
    empty_buckets(c);
    for (int j = c->columns - 1; j >= 0; j--)
        if (c->group[j] >= 0) put_in_bucket(c, j, c->group[j]);
    int count = 0;
    // one group after the other
    for (int done = 0; done < c->groups; done++) {
        int pick = c->groups - 1 - done;
        for (int k = 0; largest && k < c->groups; k++)
            if (k == 0 || size[k] > size[pick]) pick = k;
        for (int j = c->head[pick]; j >= 0; j = c->next[j]) c->order[count++] = j;
        size[pick] = -1;
    }
}

// ---- colouring ------------------------------------------------------------------------------------------------------

// First colour that no neighbour has, in the present order; keeps the result if it is not worse.
static void colour_in_order(kd_colouring *c)
{
    int groups = 0;
    for (int j = 0; j < c->columns; j++) c->trial[j] = c->taken[j] = -1;
    for (int count = 0; count < c->n; count++) {
        // colours of the neighbours
        const int j = c->order[count];
        for (int k = c->column[j]; k < c->column[j + 1]; k++)
            for (int m = c->start[c->row[k]]; m < c->start[c->row[k] + 1] && !c->copy[c->row[k]]; m++) {
                const int used = c->trial[c->entry[m]];
                if (used >= 0) c->taken[used] = j;
            }
        // the first that is free
        int colour = 0;
        while (colour < groups && c->taken[colour] == j) colour++;
        c->trial[j] = colour;
        if (colour == groups) groups++;
    }
    if (c->groups >= 0 && groups > c->groups) return;
    c->groups = groups;
    memcpy(c->group, c->trial, (size_t)c->columns * sizeof *c->group);
}

// group[j] = 0 for those that take part, -1 for the others; their number
static int take_part(kd_colouring *c, const bool *mask)
{
    int n = 0;
    for (int j = 0; j < c->columns; j++) {
        const bool in = !mask || mask[j];
        c->group[j] = in ? 0 : -1;
        n += in;
    }
    return n;
}

static bool is_optimal(const kd_colouring *c)
{
    return c->groups >= 0 && c->groups <= c->fullest_row;
}

kd_status kd_colouring_update(kd_colouring *c, const int *column, const int *row, const bool *mask)
{
    if (!pattern_fits(c, column, row)) return KD_ERR_ARGUMENT;
    c->column = column;
    c->row = row;
    // rows of the pattern
    c->n = take_part(c, mask);
    transpose(c, mask);
    if (c->fullest_row == c->n) { // a full row: every column for itself (also: no column at all)
        c->groups = 0;
        for (int j = 0; j < c->columns; j++)
            if (c->group[j] >= 0) c->group[j] = c->groups++;
        return KD_OK;
    }
    // number of neighbours of each column
    forget_marks(c);
    for (int j = 0; j < c->columns; j++)
        if (c->group[j] >= 0) c->degree[j] = list_neighbours(c, j, c->taken);
    // three orders, then again along the groups, until the lower bound is met
    c->groups = -1; // none yet
    order_largest_first(c);
    colour_in_order(c);
    if (!is_optimal(c)) {
        order_incidence(c); // refines the order that is there
        colour_in_order(c);
    }
    if (!is_optimal(c)) {
        order_smallest_last(c);
        colour_in_order(c);
    }
    // two rounds that gain nothing, one of each kind: the rest would not either, as a rule
    for (int k = 0, idle = 0; k < REPEATS && idle < 2 && !is_optimal(c); k++) {
        const int before = c->groups;
        order_groups(c, k % 2 == 1);
        colour_in_order(c);
        idle = c->groups < before ? 0 : idle + 1;
    }
    return KD_OK;
}
