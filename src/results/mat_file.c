// mat_file.c: linear equations and results of runs as MAT files of level 5, which Octave and MATLAB read, by the library
// matio: matrices of doubles, names as columns of cells, eigenvalues as complex numbers. Nothing in the file depends on
// when or where it was written.
#include "results/linear_file.h"
#include "results/result.h"

#include "core/text.h"

#ifndef KD_WITH_MATIO

kd_status kd_linear_save_mat(const char *path, const kd_linear *linear, const kd_modes *modes, char *message,
                             size_t size)
{
    (void)linear;
    (void)modes;
    kd_text(message, size, "'%s' was not written: kardan was built without matio (package libmatio-dev)", path);
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_result_save_mat(const kd_result *result, const char *path, char *message, size_t size)
{
    (void)result;
    return kd_linear_save_mat(path, NULL, NULL, message, size);
}

bool kd_linear_has_mat(void)
{
    return false;
}

#else

#include <errno.h>
#include <string.h>

#include "core/matio_late.h"
#include "core/memory.h"
#include "results/file.h"
#include "results/linear_list.h"

enum { COPY = 16384, CERTIFICATE = 32000 };

static const char LAST[] = "kardan"; // version, behind everything else: whoever finds it has a complete file

// Write a variable and free it; NULL: it could not be created.
static bool put_variable(mat_t *mat, matvar_t *variable)
{
    if (!variable) return false;
    bool good = Mat_VarWrite(mat, variable, MAT_COMPRESSION_NONE) == 0;
    Mat_VarFree(variable);
    return good;
}

static matvar_t *text_variable(const char *name, const char *text)
{
    // an empty text has no rows
    size_t dims[2] = {text[0] ? 1 : 0, strlen(text)};
    return Mat_VarCreate(name, MAT_C_CHAR, MAT_T_UTF8, 2, dims, (void *)text, 0);
}

static bool put_matrix(mat_t *mat, const kd_linear_matrix *m)
{
    // matio wants an address even where there are no numbers
    static double nothing;
    size_t        dims[2] = {(size_t)m->rows, (size_t)m->columns};
    void         *data = dims[0] * dims[1] > 0 ? (void *)m->value : &nothing;
    return put_variable(mat, Mat_VarCreate(m->name, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, data, 0));
}

// A column of cells with one line of text each
static bool put_names(mat_t *mat, const char *name, int n, const char *const *lines)
{
    // the cells own their lines: freed together
    size_t    dims[2] = {(size_t)n, 1};
    matvar_t *cells = Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, dims, NULL, 0);
    bool      good = cells != NULL;
    for (int i = 0; i < n && good; i++) {
        matvar_t *line = text_variable(NULL, lines[i]);
        good = line != NULL;
        if (good) Mat_VarSetCell(cells, i, line);
    }
    if (good) return put_variable(mat, cells);
    Mat_VarFree(cells);
    return false;
}

static bool put_modes(mat_t *mat, const kd_modes *m)
{
    // both parts of the eigenvalues stand apart, as matio takes them
    size_t                 dims[2] = {(size_t)m->n, 1};
    mat_complex_split_t    value = {(void *)m->real, (void *)m->imaginary};
    const kd_linear_matrix list[] = {{"frequency", m->frequency, m->n, 1}, {"damping", m->damping, m->n, 1}};
    bool                   good =
        put_variable(mat, Mat_VarCreate("eigenvalues", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims, &value, MAT_F_COMPLEX));
    return good && put_matrix(mat, &list[0]) && put_matrix(mat, &list[1]);
}

static bool put_all(mat_t *mat, const kd_linear *l, const kd_modes *modes)
{
    // time, matrices, names, modes; the version last, which is_complete looks for
    kd_linear_matrix       list[KD_LINEAR_MATRICES];
    const kd_linear_matrix time = {"t", &l->t, 1, 1};
    const int              count = kd_linear_list(l, list);
    bool                   good = put_matrix(mat, &time);
    for (int i = 0; i < count && good; i++) good = put_matrix(mat, &list[i]);
    good = good && put_names(mat, "state_name", l->nx, l->state_name);
    good = good && put_names(mat, "input_name", l->nu, l->input_name);
    good = good && put_names(mat, "output_name", l->ny, l->output_name);
    good = good && put_names(mat, "increment_name", l->nv, l->increment_name);
    if (l->E) good = good && put_names(mat, "unknown_name", l->nd, l->descriptor_name);
    if (modes && modes->n > 0) good = good && put_modes(mat, modes);
    return good && put_variable(mat, text_variable(LAST, kd_version()));
}

// ---- results of a run -----------------------------------------------------------------------------------------------

// Columns of the table as a matrix, column by column
static bool put_values(mat_t *mat, const kd_result *r, const int *column, int n)
{
    const int     rows = kd_recording_length(r->recording), columns = kd_recording_columns(r->recording);
    const double *value = kd_recording_values(r->recording);
    double       *all = kd_alloc((size_t)rows * (size_t)n * sizeof *all + 1);
    if (!all) return false;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < rows; i++)
            all[(size_t)j * (size_t)rows + (size_t)i] = value[(size_t)i * (size_t)columns + (size_t)column[j]];
    const kd_linear_matrix t = {"t", kd_recording_times(r->recording), rows, 1}, values = {"values", all, rows, n};
    const bool             good = put_matrix(mat, &t) && put_matrix(mat, &values);
    kd_free(all);
    return good;
}

// Names and values of settings, or kinds, elements and words of events: columns of cells
static bool put_settings(mat_t *mat, const kd_result *r, const char **words)
{
    for (int i = 0; i < r->nsettings; i++) words[i] = r->settings[i].name;
    if (!put_names(mat, "setting_name", r->nsettings, words)) return false;
    for (int i = 0; i < r->nsettings; i++) words[i] = r->settings[i].value;
    return put_names(mat, "setting_value", r->nsettings, words);
}

static bool put_events(mat_t *mat, const kd_event_log *log, const char **words)
{
    const int n = log ? kd_event_log_length(log) : 0;
    double   *t = kd_alloc((size_t)n * sizeof *t + 1);
    if (!t) return false;
    for (int i = 0; i < n; i++) t[i] = kd_event_log_at(log, i)->t;
    const kd_linear_matrix times = {"event_t", t, n, 1};
    bool                   good = put_matrix(mat, &times);
    // one list of words after the other, in the order of the times
    for (int i = 0; i < n; i++) words[i] = kd_event_word(kd_event_log_at(log, i)->kind);
    good = good && put_names(mat, "event_kind", n, words);
    for (int i = 0; i < n; i++) words[i] = kd_event_log_at(log, i)->element;
    good = good && put_names(mat, "event_element", n, words);
    for (int i = 0; i < n; i++) words[i] = kd_event_log_at(log, i)->text;
    good = good && put_names(mat, "event_text", n, words);
    for (int i = 0; i < n; i++) t[i] = kd_event_log_at(log, i)->direction;
    const kd_linear_matrix directions = {"event_direction", t, n, 1};
    good = good && put_matrix(mat, &directions);
    kd_free(t);
    return good;
}

// How the run ended: status, certificate, statistics
static bool put_outcome(mat_t *mat, const kd_result *r)
{
    static const char empty[] = "";
    char              text[CERTIFICATE];
    const char       *key[KD_STATISTICS];
    double            value[KD_STATISTICS];
    kd_clean          verdict;
    kd_certificate_describe(&r->certificate, text, sizeof text);
    kd_certificate_verdict(&r->certificate, &verdict);
    // texts, one variable each
    bool good = put_variable(mat, text_variable("status", kd_status_name(r->certificate.status))) &&
                put_variable(mat, text_variable("message", r->message ? r->message : empty)) &&
                put_variable(mat, text_variable("model_file", r->model_file ? r->model_file : empty)) &&
                put_variable(mat, text_variable("verdict", verdict.sentence)) &&
                put_variable(mat, text_variable("certificate_kind", kd_certificate_kind_word(r->certificate.kind))) &&
                put_variable(mat, text_variable("certificate", text));
    // statistics as names and values side by side
    for (int i = 0; i < KD_STATISTICS; i++) {
        const kd_statistic s = kd_result_statistic(&r->certificate, i);
        key[i] = s.key;
        value[i] = s.value;
    }
    const kd_linear_matrix values = {"statistic_value", value, KD_STATISTICS, 1};
    return good && put_names(mat, "statistic_name", KD_STATISTICS, key) && put_matrix(mat, &values);
}

static bool put_result(mat_t *mat, const kd_result *r)
{
    const int    all = kd_recording_columns(r->recording), nevents = r->events ? kd_event_log_length(r->events) : 0;
    const int    most = all > nevents ? all : nevents;
    int         *column = kd_alloc((size_t)all * sizeof *column + 1);
    const char **words = kd_alloc((size_t)(most + r->nsettings + 1) * sizeof *words);
    int          n = 0;
    bool         good = column && words;
    // columns that the result shows, and names of the longest list
    for (int i = 0; good && i < all; i++)
        if (kd_result_has_column(r, i)) column[n++] = i;
    // values, then names and units of their columns
    good = good && put_values(mat, r, column, n);
    for (int i = 0; good && i < n; i++) words[i] = kd_recording_name(r->recording, column[i]);
    good = good && put_names(mat, "name", n, words);
    for (int i = 0; good && i < n; i++) words[i] = kd_recording_unit(r->recording, column[i]);
    good = good && put_names(mat, "unit", n, words);
    // the rest in words; the version at last: a file that has it is complete
    good = good && put_variable(mat, text_variable("title", r->title ? r->title : ""));
    good = good && put_settings(mat, r, words) && put_events(mat, r->events, words) && put_outcome(mat, r);
    kd_free(column);
    kd_free(words);
    return good && put_variable(mat, text_variable(LAST, kd_version()));
}

// matio does not tell all failures of the disk: a file whose last variable can be read is complete.
static bool is_complete(const char *path)
{
    // a second reader: the file as others will find it
    mat_t    *mat = Mat_Open(path, MAT_ACC_RDONLY);
    matvar_t *last = mat ? Mat_VarRead(mat, LAST) : NULL;
    bool      good = last && last->data;
    Mat_VarFree(last);
    if (mat) Mat_Close(mat);
    return good;
}

static bool copy(const char *from, FILE *to)
{
    char   buffer[COPY];
    size_t n;
    FILE  *file = fopen(from, "rb");
    if (!file) return false;
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) fwrite(buffer, 1, n, to);
    bool good = !ferror(file);
    fclose(file);
    return good;
}

// What is to be written
typedef struct content {
    const kd_linear *linear;
    const kd_modes  *modes;
    const kd_result *result;
} content;

static bool put_content(mat_t *mat, const content *c)
{
    return c->result ? put_result(mat, c->result) : put_all(mat, c->linear, c->modes);
}

// matio opens files by their names: it gets a draft beside path, which then goes the way of all other files.
static kd_status save(const char *path, const char *head, const content *c, char *message, size_t size)
{
    const size_t length = strlen(path) + 10;
    FILE        *file = NULL;
    char         why[300];
    if (!kd_matio_load(why, sizeof why)) {
        kd_text(message, size, "'%s' was not written: %s", path, why);
        return KD_ERR_UNAVAILABLE;
    }
    char *draft = kd_alloc(length);
    if (!draft) return KD_ERR_MEMORY;
    kd_text(draft, length, "%s.draft", path);
    kd_status status = kd_file_open(path, &file, message, size);
    if (status >= 0) {
        // errno tells what matio does not
        errno = 0;
        mat_t *mat = Mat_CreateVer(draft, head, MAT_FT_MAT5);
        bool   good = mat && put_content(mat, c);
        if (mat) good = Mat_Close(mat) == 0 && good;
        // complete on the disk, then copied to where it belongs
        good = good && is_complete(draft) && copy(draft, file);
        if (!good) {
            kd_text(message, size, "cannot write '%s': %s", path, errno ? strerror(errno) : "matio refused");
            status = KD_ERR_FILE;
        }
        (void)remove(draft);
    }
    if (status >= 0)
        status = kd_file_close(file, path, message, size);
    else
        kd_file_abandon(file, path);
    kd_free(draft);
    return status;
}

kd_status kd_linear_save_mat(const char *path, const kd_linear *linear, const kd_modes *modes, char *message,
                             size_t size)
{
    return save(path, "MATLAB 5.0 MAT-file, linear equations written by kardan", &(content){linear, modes, NULL},
                message, size);
}

kd_status kd_result_save_mat(const kd_result *result, const char *path, char *message, size_t size)
{
    return save(path, "MATLAB 5.0 MAT-file, results written by kardan", &(content){NULL, NULL, result}, message, size);
}

bool kd_linear_has_mat(void)
{
    return true;
}

#endif
