// file.c: the few things that every result writer needs: checked files, numbers, escaped text.
#include "io/file.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

kd_status kd_file_open(const char *path, FILE **file, char *message, size_t size)
{
    *file = fopen(path, "w");
    if (*file) return KD_OK;
    kd_text(message, size, "cannot open '%s' for writing: %s", path, strerror(errno));
    return KD_ERR_FILE;
}

kd_status kd_file_close(FILE *file, const char *path, char *message, size_t size)
{
    if (!file) return KD_OK;
    errno = 0;
    bool failed = ferror(file) != 0;
    failed = fflush(file) != 0 || failed;
    int reason = errno;
    failed = fclose(file) != 0 || failed;
    if (!failed) return KD_OK;
    if (reason == 0) reason = errno;
    kd_text(message, size, "cannot write '%s': %s", path, reason ? strerror(reason) : "an earlier write failed");
    return KD_ERR_FILE;
}

const char *kd_file_number(double value, const char *format, char *buffer, size_t size)
{
    kd_text(buffer, size, format, value);
    char *comma = strchr(buffer, ',');
    if (comma) *comma = '.';
    return buffer;
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
} // else: a further byte in UTF-8

static void put_escaped(FILE *file, char c)
{
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
    for (const char *c = text; *c; c++) length += starts_character(*c);
    // of a text that is too long the middle is dropped: names often differ in their last letters
    int head = length > max_characters ? max_characters / 2 : length;
    int tail = length > max_characters ? max_characters - 1 - head : 0;
    for (const char *c = text; *c; c++) {
        if (starts_character(*c)) {
            index++;
            if (index == head && length > max_characters) fputs("\xE2\x80\xA6", file);
        }
        if (index < head || index >= length - tail) put_escaped(file, *c);
    }
}
