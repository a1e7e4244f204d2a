// table_hdf5.c: the table of a study in HDF5.
//
//     /                 attributes: title, version, hash, rows (of the study)
//     /row              (n) numbers of the rows that are done
//     /parameters/NAME  (n)
//     /outputs/NAME     (n); attribute: expression or channel
//     /clean            (n) 1, 0
//     /status, /reason  (n) texts
//     /channels/..      of all rows that did not fail, one behind the other: row, time, NAME of each channel that was kept
//
// Nothing in the file depends on when or where it was written.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "results/hdf5_writer.h"
#include "study/study.h"

#ifndef KD_WITH_HDF5

kd_status kd_study_save_hdf5(const kd_study *s, const char *path, char *message, size_t size)
{
    if (!s || !path) return KD_ERR_ARGUMENT;
    kd_text(message, size, "'%s' was not written: kardan was built without HDF5 (package libhdf5-dev)", path);
    return KD_ERR_UNAVAILABLE;
}

#else

enum { OVERHEAD = 4096 /* bytes per column: headers and attributes */ };

// Rows that are done
typedef struct rows {
    const kd_study *study;
    int            *row; // (n)
    int             n;
} rows;

static const char *status_of(const void *of, int i)
{
    const rows *r = of;
    return kd_status_name(r->study->cell[r->row[i]].status);
}

static const char *reason_of(const void *of, int i)
{
    const rows *r = of;
    const char *reason = r->study->cell[r->row[i]].reason;
    return reason ? reason : "";
}

// The column of the writer as a dataset, with a text at it
static void put_column(kd_h5_writer *w, hid_t parent, const char *name, const rows *r, const char *text)
{
    char  link[300];
    hid_t set = kd_h5_numbers(w, parent, kd_h5_link_name(name, link, sizeof link), w->column, r->n);
    if (set < 0) return;
    if (text) kd_h5_text(w, set, "of", text);
    kd_h5_check(w, H5Dclose(set));
}

static void put_parameters(kd_h5_writer *w, const rows *r)
{
    double      value[KD_STUDY_MOST];
    const hid_t group = kd_h5_open_group(w, "parameters");
    for (int j = 0; j < r->study->nparameters && !w->failed; j++) {
        for (int i = 0; i < r->n; i++) {
            kd_design_row(&r->study->design, r->row[i], value);
            w->column[i] = value[j];
        }
        put_column(w, group, r->study->parameter[j], r, NULL);
    }
    kd_h5_close_group(w, group);
}

static void put_outputs(kd_h5_writer *w, const rows *r)
{
    const kd_study *s = r->study;
    const hid_t     group = kd_h5_open_group(w, "outputs");
    for (int j = 0; j < s->noutputs && !w->failed; j++) {
        for (int i = 0; i < r->n; i++) w->column[i] = s->values[(size_t)r->row[i] * (size_t)s->noutputs + (size_t)j];
        put_column(w, group, s->output[j].name, r, s->output[j].channel ? s->output[j].channel : s->output[j].text);
    }
    kd_h5_close_group(w, group);
}

// How many places the channels of all rows have together; -1: they cannot be read
static long count_places(const rows *r, char *message, size_t size)
{
    long all = 0;
    int  n;
    for (int i = 0; i < r->n && r->study->folder[0] && r->study->nkept > 0; i++) {
        if (r->study->cell[r->row[i]].status < 0) continue;
        if (kd_study_channel_of(r->study, r->row[i], 0, NULL, NULL, 0, &n, message, size) < 0) return -1;
        all += n;
    }
    return all;
}

// Channel j of all rows into the column, times behind it; number: the rows that they are of, where that is asked for
static void gather_channel(kd_h5_writer *w, const rows *r, int j, long places, double *number)
{
    long at = 0;
    int  n;
    for (int i = 0; i < r->n && !w->failed; i++) {
        if (r->study->cell[r->row[i]].status < 0) continue;
        const kd_status status = kd_study_channel_of(r->study, r->row[i], j, w->column + places + at, w->column + at,
                                                     (int)(places - at), &n, NULL, 0);
        if (status < 0 || n > places - at) w->failed = true;
        for (int k = 0; number && k < n && !w->failed; k++) number[at + k] = r->row[i];
        at += n;
    }
}

// The channels as one long table
static void put_channels(kd_h5_writer *w, const rows *r, long places)
{
    double *kept = w->column, *memory = places > 0 ? kd_alloc(3 * (size_t)places * sizeof *memory) : NULL;
    if (places == 0) return;
    if (!memory) {
        w->failed = true;
        return;
    }
    // as many places as all rows have samples
    const rows  all = {.study = r->study, .n = (int)places};
    const hid_t group = kd_h5_open_group(w, "channels");
    // a column for each channel; the first one brings time and row
    for (int j = 0; j < r->study->nkept && !w->failed; j++) {
        w->column = memory;
        gather_channel(w, r, j, places, j == 0 ? memory + 2 * places : NULL);
        if (!w->failed) put_column(w, group, r->study->kept[j], &all, NULL);
        for (int k = 0; j == 0 && k < 2 && !w->failed; k++) {
            w->column = memory + (k + 1) * places;
            put_column(w, group, k == 0 ? "time" : "row", &all, NULL);
        }
    }
    kd_h5_close_group(w, group);
    w->column = kept;
    kd_free(memory);
}

static void put_rows(kd_h5_writer *w, const rows *r)
{
    char hash[20];
    kd_text(hash, sizeof hash, "%016lx", r->study->hash);
    kd_h5_text(w, w->file, "title", r->study->title);
    kd_h5_text(w, w->file, "version", kd_version());
    kd_h5_text(w, w->file, "hash", hash);
    kd_h5_count(w, w->file, "rows", r->study->design.nrows);
    // numbers of the rows, what they are of and what came out
    for (int i = 0; i < r->n; i++) w->column[i] = r->row[i];
    put_column(w, w->file, "row", r, NULL);
    put_parameters(w, r);
    put_outputs(w, r);
    for (int i = 0; i < r->n; i++) w->column[i] = r->study->cell[r->row[i]].clean;
    put_column(w, w->file, "clean", r, NULL);
    kd_h5_texts(w, w->file, "status", r->n, status_of, r);
    kd_h5_texts(w, w->file, "reason", r->n, reason_of, r);
}

kd_status kd_study_save_hdf5(const kd_study *s, const char *path, char *message, size_t size)
{
    H5E_auto2_t  handler = NULL;
    void        *context = NULL, *image = NULL;
    size_t       length = 0;
    kd_h5_writer w = {.file = -1, .creation = -1};
    kd_status    status = KD_ERR_MEMORY;
    char         why[300];
    if (!s || !path) return KD_ERR_ARGUMENT;
    if (!kd_hdf5_load(why, sizeof why)) {
        kd_text(message, size, "'%s' was not written: %s", path, why);
        return KD_ERR_UNAVAILABLE;
    }
    rows r = {.study = s};
    // the library prints its errors unless it is told not to; they are told by message here
    (void)H5Eget_auto2(H5E_DEFAULT, &handler, &context);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    // rows that are there
    r.row = kd_alloc((size_t)s->design.nrows * sizeof *r.row);
    w.column = kd_alloc((size_t)s->design.nrows * sizeof *w.column);
    for (int i = 0; r.row && i < s->design.nrows; i++)
        if (s->cell[i].done) r.row[r.n++] = i;
    const long places = r.row ? count_places(&r, message, size) : 0;
    if (places < 0 || places > INT_MAX / 4) {
        status = KD_ERR_FILE;
        if (places > 0) kd_text(message, size, "'%s' was not written: the channels have %ld places", path, places);
        goto done;
    }
    // the whole file is made in memory: its size, roughly, must be there before
    const size_t bytes = (size_t)(s->nparameters + s->noutputs + 4) * ((size_t)r.n * sizeof(double) + OVERHEAD) +
                         (size_t)r.n * (KD_STUDY_REASON + 40) +
                         (size_t)(s->nkept + 2) * ((size_t)places * sizeof(double) + OVERHEAD);
    if (!r.row || !w.column || !kd_memory_offers(2 * bytes)) goto done;
    // rows, then channels, then to the disk at once
    kd_h5_open_file(&w, bytes);
    if (!w.failed) put_rows(&w, &r);
    if (!w.failed) put_channels(&w, &r, places);
    if (!w.failed) image = kd_h5_take_image(&w, &length);
    status = w.failed ? KD_ERR_MEMORY : kd_h5_write_image(image, length, path, message, size);
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "no memory for the HDF5 file '%s'", path);
    kd_free(image);
    kd_free(w.column);
    kd_free(r.row);
    if (w.creation >= 0) (void)H5Pclose(w.creation);
    if (w.file >= 0) (void)H5Fclose(w.file);
    (void)H5Eset_auto2(H5E_DEFAULT, handler, context);
    return status;
}

#endif
