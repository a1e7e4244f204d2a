// channels.c: channels that a study keeps of its rows.
//
//     FOLDER/channels/row-17.csv   a line with the hash of the study, the names, then times and values with all their digits
//
// The file of a row is whole on the disk before the row is in rows.log: a study that was killed makes it again with its row. Rows that
// failed have none.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/load.h"
#include "core/shortest.h"
#include "core/text.h"
#include "modelfile/csv.h"
#include "results/file.h"
#include "study/study.h"

static void path_of(const char *folder, int row, char path[KD_STUDY_PATH])
{
    kd_text(path, KD_STUDY_PATH, "%.3900s/channels/row-%d.csv", folder, row);
}

// What the file of a row begins with: whose it is
static void write_head(const kd_study *s, int row, char head[100])
{
    kd_text(head, 100, "# study %016lx, row %d\n", s->hash, row);
}

bool kd_channels_are_there(const kd_study *s, const char *folder, int row)
{
    char path[KD_STUDY_PATH];
    if (s->nkept == 0 || !folder) return true;
    path_of(folder, row, path);
    return access(path, R_OK) == 0;
}

kd_status kd_channels_open_folder(const kd_study *s, const char *folder, char *message, size_t size)
{
    char path[KD_STUDY_PATH];
    if (s->nkept == 0) return KD_OK;
    kd_text(path, sizeof path, "%.3900s/channels", folder);
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return KD_OK;
    kd_text(message, size, "'%s': %s", path, strerror(errno));
    return KD_ERR_FILE;
}

void kd_channels_remove(const char *folder)
{
    char           path[KD_STUDY_PATH];
    struct dirent *entry;
    kd_text(path, sizeof path, "%.3900s/channels", folder);
    DIR *channels = opendir(path);
    while (channels && (entry = readdir(channels))) {
        char *end;
        if (strncmp(entry->d_name, "row-", 4) != 0) continue;
        const long row = strtol(entry->d_name + 4, &end, 10);
        if (strcmp(end, ".csv") != 0 || row < 0 || row >= KD_DESIGN_MOST_ROWS) continue;
        path_of(folder, (int)row, path);
        (void)unlink(path);
    }
    if (channels) (void)closedir(channels);
}

kd_status kd_channels_save(kd_row_maker *m, const kd_study *s, const char *folder, int row, char *message, size_t size)
{
    char               path[KD_STUDY_PATH], head[100], text[KD_SHORTEST_SIZE];
    int                column[KD_STUDY_MOST];
    FILE              *file;
    const kd_recorder *recorder = kd_row_recorder(m);
    if (s->nkept == 0) return KD_OK;
    path_of(folder, row, path);
    const kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    // the head tells which study and row, so that no other one takes the file for its own
    write_head(s, row, head);
    (void)fprintf(file, "%stime", head);
    for (int i = 0; i < s->nkept; i++) {
        column[i] = kd_recorder_find(recorder, s->kept[i]);
        (void)fprintf(file, ",%s", s->kept[i]);
    }
    // numbers with as many digits as they need to come back
    for (int k = 0; k < kd_recorder_rows(recorder); k++) {
        (void)fprintf(file, "\n%s", kd_shortest_text(kd_recorder_times(recorder)[k], text));
        for (int i = 0; i < s->nkept; i++)
            (void)fprintf(file, ",%s", kd_shortest_text(kd_recorder_value(recorder, k, column[i]), text));
    }
    (void)fputs("\n", file);
    return kd_file_close(file, path, message, size);
}

// ---- reading --------------------------------------------------------------------------------------------------------

// The file of a row, which is the study's own and has its channels
static kd_status read_table(const kd_study *s, int row, kd_csv_table *table, char *message, size_t size)
{
    char   path[KD_STUDY_PATH], head[100], *text = NULL;
    size_t length = 0;
    path_of(s->folder, row, path);
    write_head(s, row, head);
    // a file of another study, or one with other channels, is not taken
    kd_status status = kd_load_file(path, KD_CSV_MAX_BYTES, &text, &length, message, size);
    if (status >= 0 && strncmp(text, head, strlen(head)) != 0) {
        kd_text(message, size, "'%s' belongs to another study", path);
        status = KD_ERR_FILE;
    }
    if (status >= 0) status = kd_csv_parse(path, text, length, false, table, message, size);
    kd_free(text);
    if (status >= 0 && table->columns != s->nkept + 1) {
        kd_text(message, size, "'%s': %d channels are expected, there are %d", path, s->nkept, table->columns - 1);
        kd_csv_release(table);
        status = KD_ERR_FILE;
    }
    return status;
}

int kd_study_channels(const kd_study *s)
{
    return s ? s->nkept : 0;
}

const char *kd_study_channel(const kd_study *s, int i)
{
    return s && i >= 0 && i < s->nkept ? s->kept[i] : "";
}

kd_status kd_study_channel_of(const kd_study *s, int row, int channel, double *t, double *y, int room, int *n,
                              char *message, size_t size)
{
    kd_csv_table table = {0};
    kd_text(message, size, "%s", "");
    if (n) *n = 0;
    if (!s || !n || room < 0 || (room > 0 && (!t || !y)) || row < 0 || row >= kd_study_rows(s) || channel < 0 ||
        channel >= s->nkept)
        return KD_ERR_ARGUMENT;
    // rows without a file are told by their reason
    if (!s->folder[0] || !s->cell[row].done || s->cell[row].status < 0) {
        kd_text(message, size, "row %d %s", row,
                !s->folder[0]       ? "was not kept: the study has no folder"
                : s->cell[row].done ? "failed, and has no channels"
                                    : "is not done");
        return KD_ERR_ARGUMENT;
    }
    const kd_status status = read_table(s, row, &table, message, size);
    if (status < 0) return status;
    *n = table.rows;
    for (int k = 0; k < table.rows && k < room; k++) {
        t[k] = table.number[(size_t)k * (size_t)table.columns];
        y[k] = table.number[(size_t)k * (size_t)table.columns + 1 + (size_t)channel];
    }
    kd_csv_release(&table);
    return KD_OK;
}
