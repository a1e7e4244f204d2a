// running.c: rows of a recording in a file, while the run goes on.
#define _DEFAULT_SOURCE // flock
#include "results/running.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "core/text.h"
#include "results/file.h"
#include "results/result.h"

enum {
    BUFFER = 1 << 16,          // bytes that are collected, at least
    NUMBER = KD_SHORTEST_SIZE, // of a number with its comma
    ATTEMPTS = 8               // to get the file
};

static const double EVERY = 0.25; // [s] rows are handed over to the system
static const double SHORT = 1;    // [s] a run that ends earlier leaves nothing, if lazy

struct kd_running {
    const kd_recording *recording;
    char               *path; // with the number of the process where the name was taken
    int                 file; // -1: not yet
    char               *head; // lines in front of the rows
    size_t              head_length;
    off_t               rows_at, end;         // of the file: where the header line is, where the last whole row ends
    char               *buffer;               // (room) whole rows that are not in the file yet
    size_t              used, room, longest;  // longest: bytes of a row
    int                 written;              // rows, in the file or in the buffer
    double              started, handed_over; // [s] by the caller's clock
    bool                has_file, lazy;       // it has been opened; short runs leave none
    char                message[PATH_MAX + 200];
};

// ---- the file -------------------------------------------------------------------------------------------------------

static bool is_named(int file, const char *path)
{
    struct stat a, b;
    return fstat(file, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The file of this name for us alone; -1: another run has it (errno EWOULDBLOCK), or it cannot be opened
static int open_alone(const char *path)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0) return -1;
        // one run has the file, others take another name
        if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { // file systems without locks go on
            (void)close(file);
            errno = EWOULDBLOCK;
            return -1;
        }
        if (is_named(file, path) && ftruncate(file, 0) == 0) return file;
        (void)close(file); // another run has removed it in between
    }
    errno = EWOULDBLOCK;
    return -1;
}

// "x.partial.csv" -> "x.partial-1234.csv"
static void name_apart(char *path, size_t size)
{
    char *dot = strrchr(path, '.');
    if (dot) *dot = '\0';
    kd_text_append(path, size, "-%ld.csv", (long)getpid());
}

static kd_status tell_unwritten(kd_running *r, const char *path, int reason)
{
    kd_text(r->message, sizeof r->message, "cannot write '%s': %s", path, strerror(reason));
    return KD_ERR_FILE;
}

// All bytes behind the last whole row; what could be written in part is taken back
static kd_status append(kd_running *r, const char *bytes, size_t length)
{
    // behind the last whole row, wherever an earlier attempt ended
    size_t done = 0;
    while (done < length) {
        const ssize_t n = pwrite(r->file, bytes + done, length - done, r->end + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int reason = n < 0 ? errno : ENOSPC;
            // whole rows may stay
            while (done > 0 && bytes[done - 1] != '\n') done--;
            r->end += (off_t)done;
            (void)!ftruncate(r->file, r->end);
            return tell_unwritten(r, r->path, reason);
        }
        done += (size_t)n;
    }
    r->end += (off_t)length;
    return KD_OK;
}

// The file, or one of another name where another run has it; its head
static kd_status open_file(kd_running *r)
{
    // the name may be taken by a run that is still alive
    r->file = open_alone(r->path);
    if (r->file < 0 && errno == EWOULDBLOCK) {
        name_apart(r->path, strlen(r->path) + 24);
        r->file = open_alone(r->path);
    }
    if (r->file < 0) return tell_unwritten(r, r->path, errno);
    r->has_file = true;
    return append(r, r->head, r->head_length);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void format_row(kd_running *r, int i)
{
    const int     columns = kd_recording_columns(r->recording);
    const double *value = kd_recording_values(r->recording) + (size_t)i * (size_t)columns;
    char         *to = r->buffer + r->used;
    // t, then all channels, with the digits that bring them back
    for (int j = -1; j < columns; j++) {
        to = kd_shortest(j < 0 ? kd_recording_times(r->recording)[i] : value[j], to);
        *to++ = j + 1 < columns ? ',' : '\n';
    }
    r->used = (size_t)(to - r->buffer);
}

static kd_status hand_over(kd_running *r, double now)
{
    const size_t used = r->used;
    r->handed_over = now;
    r->used = 0;
    return used > 0 ? append(r, r->buffer, used) : KD_OK;
}

// Rows that are new in the recording
static kd_status take_rows(kd_running *r, double now)
{
    // a lazy file is opened with its first rows
    kd_status status = r->has_file ? KD_OK : open_file(r);
    for (; status >= 0 && r->written < kd_recording_length(r->recording); r->written++) {
        // the buffer is full: to the system; then there is room for one more
        if (r->room - r->used < r->longest) status = hand_over(r, now);
        if (status >= 0) format_row(r, r->written);
    }
    return status;
}

kd_status kd_running_follow(kd_running *r, double now)
{
    // short runs leave no file behind
    if (r->lazy && now - r->started < SHORT) return KD_OK;
    kd_status status = take_rows(r, now);
    // collected for a quarter of a second: a killed run loses no more
    if (status >= 0 && now - r->handed_over >= EVERY) status = hand_over(r, now);
    return status;
}

kd_status kd_running_copy(kd_running *r, FILE *to, const char *path)
{
    // all rows, also those of the last quarter of a second
    kd_status status = take_rows(r, r->handed_over);
    if (status >= 0) status = hand_over(r, r->handed_over);
    // rows go from file to file, as they were written
    for (off_t at = r->rows_at; status >= 0 && at < r->end;) {
        const ssize_t n = pread(r->file, r->buffer, r->room, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return tell_unwritten(r, r->path, n < 0 ? errno : EIO);
        if (fwrite(r->buffer, 1, (size_t)n, to) != (size_t)n) return tell_unwritten(r, path, errno);
        at += n;
    }
    return status;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_status kd_running_create(const kd_result *result, const char *path, bool lazy, double now, kd_running **running,
                            char *message, size_t size)
{
    size_t      rows_at = 0;
    kd_running *r = kd_alloc(sizeof *r);
    kd_status   status = KD_ERR_MEMORY;
    *running = NULL;
    if (!r) goto done;
    r->recording = result->recording;
    r->file = -1;
    r->lazy = lazy;
    r->started = r->handed_over = now;
    // a buffer that holds two rows at least
    r->longest = NUMBER * ((size_t)kd_recording_columns(r->recording) + 1) + 1;
    r->room = r->longest > BUFFER / 2 ? 2 * r->longest : BUFFER;
    r->path = kd_alloc(strlen(path) + 24); // room for the number of a process
    r->buffer = kd_alloc(r->room);
    if (!r->path || !r->buffer) goto done;
    strcpy(r->path, path);
    r->head = kd_result_head(result, &r->head_length, &rows_at);
    if (!r->head) goto done;
    r->rows_at = (off_t)rows_at;
    status = lazy ? KD_OK : open_file(r);
    if (status < 0) kd_text(message, size, "%s", r->message);
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory while creating '%s'", path);
    if (status < 0)
        kd_running_destroy(r, false);
    else
        *running = r;
    return status;
}

void kd_running_destroy(kd_running *r, bool stays)
{
    if (!r) return;
    // what is still in the buffer belongs to a file that stays
    if (r->has_file && stays) (void)!hand_over(r, r->handed_over);
    // only if it is still ours: another run may have taken the name
    if (r->has_file && !stays && is_named(r->file, r->path)) (void)remove(r->path);
    if (r->file >= 0) (void)close(r->file);
    kd_free(r->head);
    kd_free(r->buffer);
    kd_free(r->path);
    kd_free(r);
}

const char *kd_running_path(const kd_running *r)
{
    return r->has_file ? r->path : "";
}

const char *kd_running_message(const kd_running *r)
{
    return r ? r->message : "";
}
