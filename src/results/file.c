// file.c: the few things that every result writer needs: checked files, escaped text.
#define _XOPEN_SOURCE 700
#include "results/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"

typedef struct names {
    char final[PATH_MAX];     // where the file is to be, links resolved
    char temporary[PATH_MAX]; // "" if it is written directly
} names;

// Both names of a file; 0 or the reason why there are none
static int find_names(const char *path, names *n)
{
    // links are followed, so that the file they point to is replaced and not the link
    struct stat found;
    bool        exists = stat(path, &found) == 0;
    n->temporary[0] = '\0';
    if (strlen(path) + 32 > sizeof n->final) return ENAMETOOLONG;
    kd_text(n->final, sizeof n->final, "%s", path);
    // a pipe or a device cannot be replaced: it is written directly
    if (exists && !S_ISREG(found.st_mode)) return 0;
    if (exists && !realpath(path, n->final)) return errno;
    if (strlen(n->final) + 32 > sizeof n->temporary) return ENAMETOOLONG;
    strcpy(n->temporary, n->final);
    // one name for each process: two runs may write to the same path, the last one stays
    kd_text_append(n->temporary, sizeof n->temporary, ".%ld.part", (long)getpid());
    return 0;
}

// Is this the temporary file?
static bool is_temporary(FILE *file, const names *n)
{
    struct stat a, b;
    return n->temporary[0] && fstat(fileno(file), &a) == 0 && stat(n->temporary, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

kd_status kd_file_open(const char *path, FILE **file, char *message, size_t size)
{
    names n;
    *file = NULL;
    int reason = find_names(path, &n);
    if (reason == 0) {
        *file = fopen(n.temporary[0] ? n.temporary : n.final, "w");
        reason = errno;
    }
    if (*file) return KD_OK;
    kd_text(message, size, "cannot open '%s' for writing: %s", path, strerror(reason));
    return KD_ERR_FILE;
}

kd_status kd_file_close(FILE *file, const char *path, char *message, size_t size)
{
    // was it written beside its place? Found out again: a FILE knows no names
    if (!file) return KD_OK;
    names n;
    bool  renames = find_names(path, &n) == 0 && is_temporary(file, &n);
    errno = 0;
    // any write since it was opened counts
    bool failed = ferror(file) != 0;
    failed = fflush(file) != 0 || failed;
    int reason = errno;
    // the content before its name: a crash leaves one or the other
    if (!failed && renames && fsync(fileno(file)) != 0) {
        failed = errno != EINVAL && errno != EROFS; // some file systems cannot
        if (failed) reason = errno;
    }
    failed = fclose(file) != 0 || failed;
    // now the whole file appears under its name, at once
    if (!failed && renames) failed = rename(n.temporary, n.final) != 0;
    if (!failed) return KD_OK;
    if (reason == 0) reason = errno;
    // nothing half written stays
    if (renames) (void)remove(n.temporary);
    kd_text(message, size, "cannot write '%s': %s", path, reason ? strerror(reason) : "an earlier write failed");
    return KD_ERR_FILE;
}

void kd_file_abandon(FILE *file, const char *path)
{
    names n;
    if (!file) return;
    bool removes = find_names(path, &n) == 0 && is_temporary(file, &n);
    (void)fclose(file);
    if (removes) (void)remove(n.temporary);
}

// else: a further byte in UTF-8
static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static void put_escaped(FILE *file, char c)
{
    // five signs have names; others below a blank are not written
    switch (c) {
    case '&':
        fputs("&amp;", file);
        break;
    case '<':
        fputs("&lt;", file);
        break;
    case '>':
        fputs("&gt;", file);
        break;
    case '"':
        fputs("&quot;", file);
        break;
    case '\'':
        fputs("&#39;", file);
        break;
    default:
        if ((unsigned char)c >= 0x20) fputc(c, file);
    }
}

void kd_file_escaped(FILE *file, const char *text, int max_characters)
{
    int length = 0, index = -1;
    // characters, not bytes: a cut must not fall into the middle of one
    for (const char *c = text; *c; c++) length += starts_character(*c);
    // of a text that is too long the middle is dropped: names often differ in their last letters
    int head = length > max_characters ? max_characters / 2 : length;
    int tail = length > max_characters ? max_characters - 1 - head : 0;
    // head, ellipsis, tail
    for (const char *c = text; *c; c++) {
        if (starts_character(*c)) {
            index++;
            if (index == head && length > max_characters) fputs("\xE2\x80\xA6", file);
        }
        if (index < head || index >= length - tail) put_escaped(file, *c);
    }
}

void kd_file_escaped_lines(FILE *file, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\t')
            fputc(*c, file);
        else
            put_escaped(file, *c);
    }
}
