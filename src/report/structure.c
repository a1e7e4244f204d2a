// structure.c: the structure of a Newton matrix as pictures, S0 figures 3, 4 and 5: where its entries are, which
// columns can be differenced together as they meet in no row, and what those groups look like side by side.
#include "report/structure.h"

#include <stdio.h>

#include "core/memory.h"
#include "report/spy.h"

enum { PATH_SIZE = 4096 };

typedef struct place {
    const char *title, *folder, *name;
} place;

static const char *const ROWS[KD_STRUCTURE_BLOCKS] = {"kinematics", "dynamics",    "inner states", "auxiliary",
                                                      "contact",    "constraints", "positions"};
static const char *const COLUMNS[KD_STRUCTURE_BLOCKS] = {"p", "v", "r", "w", "s", "lambda, mu", "eta"};

static void name_blocks(const char *const *name, const int *start, kd_spy_block *blocks)
{
    for (int k = 0; k < KD_STRUCTURE_BLOCKS; k++) blocks[k] = (kd_spy_block){name[k], start[k + 1] - start[k]};
}

// The pattern without its first rows
static kd_status cut_rows(const kd_pattern *from, int first, kd_arena *arena, kd_pattern *out)
{
    // rows that remain are numbered from 0
    int *column = kd_cut_int(arena, from->columns + 1), *row = kd_cut_int(arena, from->column[from->columns]);
    int  count = 0;
    if (arena->failed) return KD_ERR_MEMORY;
    for (int j = 0; j < from->columns; j++) {
        for (int k = from->column[j]; k < from->column[j + 1]; k++)
            if (from->row[k] >= first) row[count++] = from->row[k] - first;
        column[j + 1] = count;
    }
    *out = (kd_pattern){from->rows - first, from->columns, column, row};
    return KD_OK;
}

static kd_status save_picture(const place *to, const kd_spy *matrix, kd_spy_kind kind, char *message, size_t size)
{
    static const char *const ENDING[] = {"pattern", "groups", "compressed"};
    // one word for the file, one sentence for the title
    static const char *const WHAT[] = {"structure of the Newton matrix", "consistent groups of its columns",
                                       "its groups pushed together"};
    char                     path[PATH_SIZE], title[300];
    kd_spy                   spy = *matrix;
    snprintf(path, sizeof path, "%s/%s-%s.svg", to->folder, to->name, ENDING[kind]);
    snprintf(title, sizeof title, "%.200s: %s", to->title, WHAT[kind]);
    spy.title = title;
    return kd_spy_save(&spy, kind, path, message, size);
}

// Kinematic rows are known, not differenced: columns of one group may meet there, and the third picture is without
// them.
kd_status kd_structure_save(const kd_structure *s, const char *title, const char *folder, const char *name,
                            char *message, size_t size)
{
    const place  to = {title, folder, name};
    kd_spy_block rows[KD_STRUCTURE_BLOCKS], columns[KD_STRUCTURE_BLOCKS];
    kd_arena     arena = {0};
    kd_spy       spy = {.pattern = s->pattern,
                        .row_blocks = rows,
                        .column_blocks = columns,
                        .nrow_blocks = KD_STRUCTURE_BLOCKS,
                        .ncolumn_blocks = KD_STRUCTURE_BLOCKS,
                        .group = s->group,
                        .fullest_row = s->fullest_row};
    // pattern, groups of columns, groups pushed together
    name_blocks(ROWS, s->block_row, rows);
    name_blocks(COLUMNS, s->block_column, columns);
    kd_status status = save_picture(&to, &spy, KD_SPY_PATTERN, message, size);
    if (status >= 0) status = save_picture(&to, &spy, KD_SPY_GROUPS, message, size);
    // the third picture needs the rows that are differenced only
    if (status >= 0) status = cut_rows(&s->pattern, s->block_row[1], &arena, &spy.pattern);
    spy.row_blocks++;
    spy.nrow_blocks--;
    if (status >= 0) status = save_picture(&to, &spy, KD_SPY_COMPRESSED, message, size);
    kd_arena_release(&arena);
    return status;
}
