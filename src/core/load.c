// load.c: the content of a file in memory.
#define _POSIX_C_SOURCE 200809L
#include "core/load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/text.h"

// What stands there instead of a file, for the message
static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

// Open what is an ordinary file, and tell its present size. -1: message says why. A pipe without a writer would make
// an ordinary open wait for ever.
static int open_ordinary(const char *path, size_t *bytes, char *message, size_t size)
{
    struct stat found;
    errno = 0;
    // O_NONBLOCK: opening a pipe returns at once, and fstat then tells what it is
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        kd_text(message, size, "%s: the file cannot be opened%s%s", path, errno ? ": " : "",
                errno ? strerror(errno) : "");
    } else if (fstat(file, &found) != 0) {
        kd_text(message, size, "%s: the file cannot be read: %s", path, strerror(errno));
        (void)close(file);
        return -1;
    } else if (!S_ISREG(found.st_mode)) {
        kd_text(message, size, "%s: this is %s, not a file; what it gives must be kept in a file first", path,
                kind_of(found.st_mode));
        (void)close(file);
        return -1;
    } else {
        *bytes = found.st_size > 0 ? (size_t)found.st_size : 0;
    }
    return file;
}

// As many bytes as there are, at most room; < 0: failed
static ssize_t read_some(int file, char *to, size_t room)
{
    ssize_t got;
    // a signal may interrupt a read before its first byte: ask again
    do {
        got = read(file, to, room < SSIZE_MAX ? room : SSIZE_MAX);
    } while (got < 0 && errno == EINTR);
    return got;
}

kd_status kd_load_file(const char *path, size_t limit, char **text, size_t *length, char *message, size_t size)
{
    size_t    bytes = 0, room;
    kd_status status = KD_ERR_FILE;
    char     *content = NULL;
    *text = NULL;
    *length = 0;
    const int file = open_ordinary(path, &bytes, message, size);
    if (file < 0) return KD_ERR_FILE;

    // one byte more than the file has: its end is seen without a second round
    room = (bytes < limit ? bytes : limit) + 2;
    content = kd_alloc(room + 1);
    while (content) {
        const ssize_t got = read_some(file, content + *length, room - *length);
        if (got < 0) {
            kd_text(message, size, "%s: the file cannot be read: %s", path, strerror(errno));
            goto done;
        }
        *length += (size_t)got;
        if (got == 0 || *length > limit) { // the rest of what is too large is not needed
            status = KD_OK;
            goto done;
        }
        // the room is used up: twice as much, so that a file of n bytes is copied log2(n) times at most
        if (*length < room) continue;
        char *larger = kd_alloc(2 * room + 1); // the file grows, or has no size (/proc)
        if (larger) memcpy(larger, content, *length);
        kd_free(content);
        content = larger;
        room *= 2;
    }
    status = KD_ERR_MEMORY;
    kd_text(message, size, "%s: out of memory", path);
done:
    (void)close(file);
    if (status < 0) kd_free(content);
    if (status >= 0) *text = content;
    return status;
}

bool kd_find_zero_byte(const char *text, size_t length, kd_text_place *place)
{
    const char *zero = length > 0 ? memchr(text, '\0', length) : NULL;
    *place = (kd_text_place){1, 1};
    // lines are counted only where there is a zero byte: a good text costs one memchr
    for (const char *c = text; zero && c < zero; c++) {
        place->column++;
        if (*c == '\n') *place = (kd_text_place){place->line + 1, 1};
    }
    return zero != NULL;
}
