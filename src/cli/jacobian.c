// jacobian.c: S0 figures 3, 4, 5 and 7 for any model.
#include "cli/jacobian.h"

#include <stdio.h>

#include "core/memory.h"
#include "core/text.h"

enum { PATH_SIZE = 4096 };

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

static kd_status save_picture(const kd_jacobian *j, const kd_spy *matrix, kd_spy_kind kind, char *message, size_t size)
{
    static const char *const ENDING[] = {"pattern", "groups", "compressed"};
    static const char *const WHAT[] = {"structure of the Newton matrix", "consistent groups of its columns",
                                       "its groups pushed together"};
    char                     path[PATH_SIZE], title[300];
    kd_spy                   spy = *matrix;
    snprintf(path, sizeof path, "%s/%s-%s.svg", j->folder, j->name, ENDING[kind]);
    snprintf(title, sizeof title, "%.200s: %s", j->title, WHAT[kind]);
    spy.title = title;
    return kd_spy_save(&spy, kind, path, message, size);
}

// Kinematic rows are known, not differenced: columns of one group may meet there, and the third picture is without
// them.
static kd_status save_pictures(const kd_jacobian *j, const kd_structure *s, char *message, size_t size)
{
    kd_spy_block rows[KD_STRUCTURE_BLOCKS], columns[KD_STRUCTURE_BLOCKS];
    kd_arena     arena = {0};
    kd_spy       spy = {.pattern = s->pattern,
                        .row_blocks = rows,
                        .column_blocks = columns,
                        .nrow_blocks = KD_STRUCTURE_BLOCKS,
                        .ncolumn_blocks = KD_STRUCTURE_BLOCKS,
                        .group = s->group,
                        .fullest_row = s->fullest_row};
    name_blocks(ROWS, s->block_row, rows);
    name_blocks(COLUMNS, s->block_column, columns);
    kd_status status = save_picture(j, &spy, KD_SPY_PATTERN, message, size);
    if (status >= 0) status = save_picture(j, &spy, KD_SPY_GROUPS, message, size);
    if (status >= 0) status = cut_rows(&s->pattern, s->block_row[1], &arena, &spy.pattern);
    spy.row_blocks++;
    spy.nrow_blocks--;
    if (status >= 0) status = save_picture(j, &spy, KD_SPY_COMPRESSED, message, size);
    kd_arena_release(&arena);
    return status;
}

static kd_status save_instants(const kd_jacobian *j, char *message, size_t size)
{
    const kd_recording *rec = j->recording;
    int                 curve, count;
    char                path[PATH_SIZE], title[300];
    kd_recording_group(rec, KD_GROUP_U, &curve, &count);
    if (count == 0) curve = 0;
    snprintf(path, sizeof path, "%s/%s-instants.svg", j->folder, j->name);
    snprintf(title, sizeof title, "%.200s: evaluations and updates of the Newton matrix", j->title);
    return kd_instants_save(j->instants, title, kd_recording_name(rec, curve), kd_recording_times(rec),
                            kd_recording_values(rec) + curve, kd_recording_length(rec), kd_recording_columns(rec), path,
                            message, size);
}

kd_status kd_jacobian_save(const kd_jacobian *j, char *message, size_t size)
{
    kd_structure *structure;
    kd_status     status = kd_formulation_structure(j->dae, &structure);
    if (status < 0) {
        kd_text(message, size,
                "the %s form has no sparse Newton matrix to show here; --formulation ggl has, with the "
                "decomposition lu",
                j->dae->methods->name);
        return status;
    }
    status = save_pictures(j, structure, message, size);
    if (status >= 0) status = save_instants(j, message, size);
    kd_structure_destroy(structure);
    return status;
}
