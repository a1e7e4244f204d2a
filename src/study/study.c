// study.c: questions to a study, its table.
#define _POSIX_C_SOURCE 200809L
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load.h"
#include "core/shortest.h"
#include "core/text.h"
#include "results/file.h"

void kd_study_destroy(kd_study *s)
{
    if (!s) return;
    for (int i = 0; i < s->noutputs; i++) kd_expr_destroy(s->output[i].expr);
    for (int i = 0; s->cell && i < s->design.nrows; i++) kd_free(s->cell[i].reason);
    kd_model_destroy(s->model);
    kd_arena_release(&s->arena);
    kd_free(s);
}

const char *kd_study_title(const kd_study *s)
{
    return s ? s->title : "";
}
int kd_study_rows(const kd_study *s)
{
    return s ? s->design.nrows : 0;
}
int kd_study_parameters(const kd_study *s)
{
    return s ? s->nparameters : 0;
}
const char *kd_study_parameter(const kd_study *s, int i)
{
    return i >= 0 && i < kd_study_parameters(s) ? s->parameter[i] : "";
}
int kd_study_outputs(const kd_study *s)
{
    return s ? s->noutputs : 0;
}
const char *kd_study_output(const kd_study *s, int i)
{
    return i >= 0 && i < kd_study_outputs(s) ? s->output[i].name : "";
}

bool kd_study_identifies(const kd_study *s)
{
    return s && s->nfits > 0;
}

kd_status kd_study_point(const kd_study *s, int row, double *value)
{
    if (!value || row < 0 || row >= kd_study_rows(s)) return KD_ERR_ARGUMENT;
    kd_design_row(&s->design, row, value);
    return KD_OK;
}

kd_study_row kd_study_row_of(const kd_study *s, int row)
{
    if (row < 0 || row >= kd_study_rows(s) || !s->cell[row].done) return (kd_study_row){.reason = ""};
    const kd_study_cell *c = &s->cell[row];
    return (kd_study_row){true, c->status, c->clean, s->values + (size_t)row * (size_t)s->noutputs,
                          c->reason ? c->reason : ""};
}

kd_status kd_study_keep(kd_study *s, int row, const kd_study_cell *cell, const double *value)
{
    kd_study_cell *c = &s->cell[row];
    char          *reason = NULL;
    if (cell->reason && cell->reason[0]) {
        reason = kd_alloc(strlen(cell->reason) + 1);
        if (!reason) return KD_ERR_MEMORY;
        strcpy(reason, cell->reason);
    }
    kd_free(c->reason);
    *c = *cell;
    c->reason = reason;
    memcpy(s->values + (size_t)row * (size_t)s->noutputs, value, (size_t)s->noutputs * sizeof *value);
    return KD_OK;
}

// ---- what rows depend on --------------------------------------------------------------------------------------------

// The model as one file, with all that it reads: written beside nothing, under a name of its own
static kd_status hash_model(kd_study *s, char *message, size_t size)
{
    char        path[KD_STUDY_PATH], *text = NULL;
    size_t      length;
    const char *folder = getenv("TMPDIR");
    kd_text(path, sizeof path, "%s/kardan-study-XXXXXX", folder && folder[0] ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) {
        kd_text(message, size, "'%s': no file can be made there", path);
        return KD_ERR_FILE;
    }
    (void)close(file);
    kd_status status = kd_model_write_flat(s->model, path, message, size);
    if (status >= 0) status = kd_load_file(path, (size_t)1 << 30, &text, &length, message, size);
    if (status >= 0) s->hash = kd_study_hash_bytes(s->hash, text, length);
    kd_free(text);
    (void)unlink(path);
    return status;
}

kd_status kd_study_set_hash(kd_study *s, const char *text, size_t length, char *message, size_t size)
{
    s->hash = kd_study_hash_bytes(0xcbf29ce484222325ul, kd_version(), strlen(kd_version()));
    s->hash = kd_study_hash_bytes(s->hash, text, length);
    if (s->search.nobjectives > 0) s->hash = kd_search_hash(s->hash);
    return s->model ? hash_model(s, message, size) : KD_OK;
}

// ---- rows of a folder -----------------------------------------------------------------------------------------------

kd_status kd_study_load(kd_study *s, const char *folder, char *message, size_t size)
{
    char          path[KD_STUDY_PATH];
    kd_row_store *store;
    kd_text(message, size, "%s", "");
    if (!s || !folder) return KD_ERR_ARGUMENT;
    kd_text(path, sizeof path, "%s/study.txt", folder);
    if (access(path, F_OK) != 0) {
        kd_text(message, size, "'%s' holds no rows of a study", folder);
        return KD_ERR_FILE;
    }
    const kd_status status = kd_row_store_open(s, folder, false, 0, &store, message, size);
    if (status >= 0) kd_row_store_close(store);
    return status;
}

// ---- one row alone --------------------------------------------------------------------------------------------------

kd_status kd_study_repeat(kd_study *s, int row, const char *report, kd_study_row *result, char *message, size_t size)
{
    kd_row_maker *maker = NULL;
    char          reason[KD_STUDY_REASON] = "";
    kd_study_cell cell = {.reason = reason};
    kd_text(message, size, "%s", "");
    // rows that there are; those of a search exist when it has made them
    if (!result || row < 0 || row >= kd_study_rows(s)) {
        kd_text(message, size, "the study has rows 0 to %d", kd_study_rows(s) - 1);
        return KD_ERR_ARGUMENT;
    }
    if (kd_study_objectives(s) > 0 && !s->cell[row].done) {
        kd_text(message, size, "row %d of a search is known when it was made (kd_study_load)", row);
        return KD_ERR_ARGUMENT;
    }
    // the same maker as in a study, for one row
    double   *value = kd_alloc((size_t)s->noutputs * sizeof *value);
    kd_status status = value ? kd_row_maker_create(s, 0, NULL, &maker, message, size) : KD_ERR_MEMORY;
    if (status >= 0) {
        (void)kd_row_make(maker, row, &cell, value);
        status = kd_study_keep(s, row, &cell, value);
    }
    // its recording is still there
    if (status >= 0 && report && kd_row_recorder(maker))
        status = kd_recorder_save_report(kd_row_recorder(maker), report, message, size);
    kd_row_maker_destroy(maker);
    kd_free(value);
    if (status >= 0) *result = kd_study_row_of(s, row);
    return status;
}

// ---- the table ------------------------------------------------------------------------------------------------------

static void write_number(FILE *file, double value)
{
    char text[KD_SHORTEST_SIZE];
    (void)fprintf(file, ",%s", isfinite(value) ? kd_shortest_text(value, text) : "");
}

// A text in quotes, with those inside doubled
static void write_text(FILE *file, const char *text)
{
    (void)fputs(",\"", file);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', file);
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

kd_status kd_study_save_csv(const kd_study *s, const char *path, char *message, size_t size)
{
    FILE     *file;
    double    value[KD_STUDY_MOST];
    kd_status status = s && path ? kd_file_open(path, &file, message, size) : KD_ERR_ARGUMENT;
    if (status < 0) return status;
    // what it is of, then a line for each row that is there
    (void)fprintf(file, "# study: %s\n# kardan %s, hash %016lx\nrow", s->title, kd_version(), s->hash);
    for (int i = 0; i < s->nparameters; i++) (void)fprintf(file, ",%s", s->parameter[i]);
    for (int i = 0; i < s->noutputs; i++) (void)fprintf(file, ",%s", s->output[i].name);
    (void)fputs(",status,clean,reason\n", file);
    for (int row = 0; row < s->design.nrows; row++) {
        const kd_study_cell *c = &s->cell[row];
        if (!c->done) continue;
        (void)fprintf(file, "%d", row);
        kd_design_row(&s->design, row, value);
        for (int i = 0; i < s->nparameters; i++) write_number(file, value[i]);
        for (int i = 0; i < s->noutputs; i++)
            write_number(file, s->values[(size_t)row * (size_t)s->noutputs + (size_t)i]);
        (void)fprintf(file, ",%s,%d", kd_status_name(c->status), c->clean);
        write_text(file, c->reason ? c->reason : "");
        (void)fputc('\n', file);
    }
    return kd_file_close(file, path, message, size);
}
