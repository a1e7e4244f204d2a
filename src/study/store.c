// store.c: rows of a study on disk, so that a killed study goes on.
//
//     FOLDER/study.txt   what rows depend on: hash of study, model and version
//     FOLDER/rows.log    row TAB status TAB clean TAB seconds TAB outputs.. TAB reason TAB check sum
//
// A row is one write at the end of the file: threads and processes may share it. Lines whose check sum is wrong (the process was killed in the
// middle of one, the disk was full) are passed over, and their rows are made again. Numbers are written with all their bits.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/load.h"
#include "core/text.h"
#include "results/file.h"
#include "study/study.h"

enum { LINE = 16384 };

// A file of rows, and how far it was read
typedef struct row_log {
    struct row_log *next;
    off_t           seen;
    char            name[300];
} row_log;

struct kd_row_store {
    kd_study *study;
    char      folder[KD_STUDY_PATH - 400];
    char      own[300]; // the file that this process appends to
    int       file;
    row_log  *logs;
};

unsigned long kd_study_hash_bytes(unsigned long hash, const void *bytes, size_t length)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < length; i++) hash = (hash ^ b[i]) * 0x100000001b3ul;
    return hash;
}

static kd_status tell_file_error(char *message, size_t size, const char *path)
{
    kd_text(message, size, "'%s': %s", path, strerror(errno));
    return KD_ERR_FILE;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

// A check sum behind n bytes; false: the line is too long
static bool end_line(const kd_study *s, char line[LINE], int n)
{
    const unsigned long sum = kd_study_hash_bytes(s->hash, line, (size_t)n);
    n += snprintf(line + n, (size_t)(LINE - n), "\t%016lx\n", sum);
    return n < LINE;
}

// Everything of a row; false: it is too long
static bool write_line(const kd_study *s, int row, const kd_study_cell *cell, const double *value, char line[LINE])
{
    int n = snprintf(line, LINE, "%d\t%d\t%d\t%.4g", row, (int)cell->status, cell->clean, cell->seconds);
    // points of a search are nowhere else
    const double *point = s->search.point + (size_t)row * (size_t)s->nparameters * (s->search.nobjectives > 0);
    for (int i = 0; s->search.nobjectives > 0 && i < s->nparameters && n < LINE; i++)
        n += snprintf(line + n, (size_t)(LINE - n), "\t%a", point[i]);
    for (int i = 0; i < s->noutputs && n < LINE; i++) n += snprintf(line + n, (size_t)(LINE - n), "\t%a", value[i]);
    if (n < LINE) n += snprintf(line + n, (size_t)(LINE - n), "\t%s", cell->reason ? cell->reason : "");
    if (n >= LINE) return false;
    return end_line(s, line, n);
}

// "end SEARCH ROWS CODE ERROR": a search that has ended
static kd_status read_end(kd_study *s, char *line)
{
    char         *next;
    const long    k = strtol(line + 3, &next, 10);
    kd_search_end end = {.done = true};
    end.used = (int)strtol(next, &next, 10);
    end.code = (int)strtol(next, &next, 10);
    end.gradient_error = strtod(next, &next);
    if (k >= 0 && k < s->search.nsearches) s->search.end[k] = end;
    return KD_OK;
}

// A whole line (without its end) into the study; lines that are not right are passed over
static kd_status read_line(kd_study *s, char *line)
{
    char  *sum = strrchr(line, '\t'), *next, *reason;
    double value[KD_STUDY_MOST], point[KD_STUDY_MOST];
    if (!sum || strtoul(sum + 1, &next, 16) != kd_study_hash_bytes(s->hash, line, (size_t)(sum - line)) || *next)
        return KD_OK;
    *sum = '\0';
    if (line[0] == 'e') return read_end(s, line);
    kd_study_cell cell = {.done = true};
    const long    row = strtol(line, &next, 10);
    cell.status = (kd_status)strtol(next, &next, 10);
    cell.clean = strtol(next, &next, 10) != 0;
    cell.seconds = strtod(next, &next);
    const int npoint = s->search.nobjectives > 0 ? s->nparameters : 0;
    for (int i = 0; i < npoint; i++) point[i] = strtod(next, &next);
    for (int i = 0; i < s->noutputs; i++) value[i] = strtod(next, &next);
    reason = *next == '\t' ? next + 1 : next;
    cell.reason = reason;
    // a row that is there stays, unless it had failed: files of several processes are read in any order
    if (row < 0 || row >= s->design.nrows || (s->cell[row].done && s->cell[row].status >= 0)) return KD_OK;
    if (npoint > 0) memcpy(s->search.point + (size_t)row * (size_t)npoint, point, (size_t)npoint * sizeof *point);
    return kd_study_keep(s, (int)row, &cell, value);
}

// Whole lines behind what was read already; the rest is looked at next time
static kd_status read_log(kd_row_store *store, row_log *l)
{
    char      path[KD_STUDY_PATH], buffer[65536];
    size_t    kept = 0;
    ssize_t   got;
    kd_status status = KD_OK;
    kd_text(path, sizeof path, "%s/%s", store->folder, l->name);
    // from where the last look ended
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || lseek(file, l->seen, SEEK_SET) < 0) {
        if (file >= 0) (void)close(file);
        return KD_ERR_FILE;
    }
    // pieces of the file; a line that is cut in two waits for the next piece
    while (status >= 0 && (got = read(file, buffer + kept, sizeof buffer - 1 - kept)) > 0) {
        char  *line = buffer, *end;
        size_t all = kept + (size_t)got;
        buffer[all] = '\0';
        while (status >= 0 && (end = memchr(line, '\n', all - (size_t)(line - buffer)))) {
            *end = '\0';
            status = read_line(store->study, line);
            l->seen += end + 1 - line;
            line = end + 1;
        }
        kept = all - (size_t)(line - buffer);
        memmove(buffer, line, kept);
        if (kept == sizeof buffer - 1) l->seen += (off_t)kept, kept = 0; // no line of ours is so long
    }
    (void)close(file);
    return status < 0 ? status : got < 0 ? KD_ERR_FILE : KD_OK;
}

// Is this a file of rows: rows.log of the first process, rows-3.log of another?
static bool is_log(const char *name)
{
    const size_t n = strlen(name);
    return strncmp(name, "rows", 4) == 0 && n > 7 && n < 300 && strcmp(name + n - 4, ".log") == 0;
}

static row_log *log_of(kd_row_store *store, const char *name)
{
    for (row_log *l = store->logs; l; l = l->next)
        if (strcmp(l->name, name) == 0) return l;
    row_log *l = kd_alloc(sizeof *l);
    if (!l) return NULL;
    kd_text(l->name, sizeof l->name, "%s", name);
    l->next = store->logs, store->logs = l;
    return l;
}

kd_status kd_row_store_refresh(kd_row_store *store)
{
    DIR           *folder = opendir(store->folder);
    struct dirent *entry;
    kd_status      status = folder ? KD_OK : KD_ERR_FILE;
    while (status >= 0 && (entry = readdir(folder))) {
        if (!is_log(entry->d_name)) continue;
        row_log *l = log_of(store, entry->d_name);
        status = l ? read_log(store, l) : KD_ERR_MEMORY;
    }
    if (folder) (void)closedir(folder);
    return status;
}

static kd_status append(kd_row_store *store, const char *line, char *message, size_t size)
{
    const size_t  length = strlen(line);
    const ssize_t done = write(store->file, line, length);
    if (done == (ssize_t)length) return KD_OK;
    if (done >= 0) errno = ENOSPC;
    kd_text(message, size,
            "'%s/%s': %s; rows that are there stay, and the study goes on from them when it is called again",
            store->folder, store->own, strerror(errno));
    return KD_ERR_FILE;
}

kd_status kd_row_store_append(kd_row_store *store, int row, const kd_study_cell *cell, const double *value,
                              char *message, size_t size)
{
    char line[LINE + 1];
    line[0] = '\n'; // ends what somebody else may have left unfinished; empty lines say nothing
    if (write_line(store->study, row, cell, value, line + 1)) return append(store, line, message, size);
    kd_text(message, size, "row %d has too many outputs", row);
    return KD_ERR_ARGUMENT;
}

kd_status kd_row_store_append_end(kd_row_store *store, int search, const kd_search_end *end, char *message, size_t size)
{
    char line[LINE + 1];
    line[0] = '\n';
    const int n = snprintf(line + 1, LINE, "end\t%d\t%d\t%d\t%.6g", search, end->used, end->code, end->gradient_error);
    if (!end_line(store->study, line + 1, n)) return KD_ERR_ARGUMENT;
    return append(store, line, message, size);
}

// ---- the folder -----------------------------------------------------------------------------------------------------

// What another study has left
static kd_status remove_rows(const kd_row_store *store, char *message, size_t size)
{
    DIR           *folder = opendir(store->folder);
    struct dirent *entry;
    char           path[KD_STUDY_PATH];
    kd_status      status = folder ? KD_OK : KD_ERR_FILE;
    while (status >= 0 && (entry = readdir(folder))) {
        if (!is_log(entry->d_name) && strncmp(entry->d_name, "taken-", 6) != 0) continue;
        kd_text(path, sizeof path, "%s/%.300s", store->folder, entry->d_name);
        if (unlink(path) != 0 && errno != ENOENT) status = tell_file_error(message, size, path);
    }
    if (folder) (void)closedir(folder);
    kd_channels_remove(store->folder);
    return status;
}

// Does the folder belong to this study? 1: yes, 0: there is none yet, -1: to another
static int compare_manifest(const char *path, const char *wanted)
{
    char  *text = NULL, message[200];
    size_t length = 0;
    if (access(path, F_OK) != 0) return 0;
    if (kd_load_file(path, 10000, &text, &length, message, sizeof message) < 0) return -1;
    const bool same = strcmp(text, wanted) == 0;
    kd_free(text);
    return same ? 1 : -1;
}

// The study that the folder belongs to; made where there is none, by the first process: others wait for it
static kd_status check_manifest(kd_row_store *store, bool fresh, int rank, char *message, size_t size)
{
    char path[KD_STUDY_PATH], wanted[200];
    kd_text(path, sizeof path, "%s/study.txt", store->folder);
    // what the folder must hold to go on in it
    kd_text(wanted, sizeof wanted, "kardan %s\nhash %016lx\nrows %d\n", kd_version(), store->study->hash,
            store->study->design.nrows);
    int found = compare_manifest(path, wanted);
    // others than the first process wait until that has written it
    for (int tries = 0; rank > 0 && found < 1 && tries < 1000; tries++) {
        const struct timespec wait = {0, 20000000};
        (void)nanosleep(&wait, NULL);
        found = compare_manifest(path, wanted);
    }
    if (found == 1) return KD_OK;
    if (rank > 0 || (found < 0 && !fresh)) {
        kd_text(
            message, size,
            "'%s' holds rows of another study, model or version; --fresh removes them, --output names another folder",
            store->folder);
        return KD_ERR_FILE;
    }
    // another study begins
    FILE     *file;
    kd_status status = remove_rows(store, message, size);
    if (status >= 0) status = kd_file_open(path, &file, message, size);
    if (status >= 0) {
        (void)fputs(wanted, file);
        status = kd_file_close(file, path, message, size);
    }
    return status;
}

kd_status kd_row_store_open(kd_study *study, const char *folder, bool fresh, int rank, kd_row_store **store,
                            char *message, size_t size)
{
    char path[KD_STUDY_PATH];
    *store = NULL;
    kd_row_store *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->study = study, s->file = -1;
    kd_status status = KD_OK;
    // the folder, made if it is not there
    kd_text(study->folder, sizeof study->folder, "%s", folder);
    if (snprintf(s->folder, sizeof s->folder, "%s", folder) >= (int)sizeof s->folder) {
        kd_text(message, size, "the name of the folder is too long");
        status = KD_ERR_FILE;
    } else if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        status = tell_file_error(message, size, folder);
    }
    if (status >= 0) status = check_manifest(s, fresh, rank, message, size);
    if (status >= 0) status = kd_channels_open_folder(study, folder, message, size);
    // each process writes a log of its own; all are read
    if (status >= 0) {
        rank > 0 ? kd_text(s->own, sizeof s->own, "rows-%d.log", rank) : kd_text(s->own, sizeof s->own, "rows.log");
        kd_text(path, sizeof path, "%s/%s", folder, s->own);
        s->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (s->file < 0) status = tell_file_error(message, size, path);
    }
    if (status >= 0 && (status = kd_row_store_refresh(s)) < 0) kd_text(message, size, "'%s' cannot be read", path);
    if (status < 0) {
        kd_row_store_close(s);
        return status;
    }
    *store = s;
    return KD_OK;
}

void kd_row_store_finish(kd_row_store *s)
{
    if (!s || s->file < 0) return;
    (void)fsync(s->file);
    (void)close(s->file);
    s->file = -1;
}

void kd_row_store_close(kd_row_store *s)
{
    if (!s) return;
    kd_row_store_finish(s);
    for (row_log *l = s->logs, *next; l; l = next) {
        next = l->next;
        kd_free(l);
    }
    kd_free(s);
}
