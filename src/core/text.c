// core/text.c: bounded text buffers for messages; hash and end of a text.
#include "core/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- formats --------------------------------------------------------------------------------------------------------
//
// Names and messages are made of %s, %.Ns, %.*s, %c and %d nearly always; whoever links a library that registers printf
// specifiers of its own (libquadmath) pays ten times as much for each call of printf.

typedef struct line {
    char  *at;
    size_t left; // characters that still fit, without the end
} line;

static void put_bytes(line *l, const char *text, size_t n)
{
    if (n > l->left) n = l->left;
    memcpy(l->at, text, n);
    l->at += n;
    l->left -= n;
}

static void put_whole_number(line *l, int value)
{
    char     digits[12], *first = digits + sizeof digits;
    unsigned left = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    do *--first = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0) *--first = '-';
    put_bytes(l, first, (size_t)(digits + sizeof digits - first));
}

// The digits behind "%."; -1: there are none
static int precision_of(const char **format)
{
    int n = -1;
    for (; isdigit((unsigned char)**format) && n < 100000; ++*format) n = 10 * (n < 0 ? 0 : n) + **format - '0';
    return n;
}

// As vsnprintf, for the formats above; false: another one, nothing is said about the buffer
static bool format_plainly(char *buffer, size_t size, const char *format, va_list arguments)
{
    line l = {buffer, size - 1};
    while (*format) {
        const size_t n = strcspn(format, "%");
        put_bytes(&l, format, n);
        format += n;
        if (*format == '\0') break;
        // a number of characters at most
        int most = -1;
        format++;
        if (*format == '.') {
            const bool given = *++format == '*';
            most = given ? va_arg(arguments, int) : precision_of(&format);
            format += given;
            if (most < 0 || *format != 's') return false;
        }
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *);
            if (!text) return false;
            const char *end = most >= 0 ? memchr(text, '\0', (size_t)most) : NULL;
            put_bytes(&l, text, most < 0 ? strlen(text) : end ? (size_t)(end - text) : (size_t)most);
        } else if (*format == 'c') {
            const char c = (char)va_arg(arguments, int);
            put_bytes(&l, &c, 1);
        } else if (*format == 'd') {
            put_whole_number(&l, va_arg(arguments, int));
        } else {
            return false;
        }
        format++;
    }
    *l.at = '\0';
    return true;
}

static void write_text(char *buffer, size_t size, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    if (!format_plainly(buffer, size, format, arguments) && vsnprintf(buffer, size, format, again) < 0)
        buffer[0] = '\0';
    va_end(again);
}

void kd_text(char *buffer, size_t size, const char *format, ...)
{
    if (!buffer || size == 0) return;
    va_list arguments;
    va_start(arguments, format);
    write_text(buffer, size, format, arguments);
    va_end(arguments);
}

kd_status kd_refuse(kd_status status, char *message, size_t size, const char *format, ...)
{
    if (!message || size == 0) return status;
    va_list arguments;
    va_start(arguments, format);
    write_text(message, size, format, arguments);
    va_end(arguments);
    return status;
}

void kd_text_append(char *buffer, size_t size, const char *format, ...)
{
    if (!buffer || size == 0) return;
    const char *end = memchr(buffer, '\0', size);
    if (!end) return; // no text in there to write behind
    const size_t used = (size_t)(end - buffer);
    va_list      arguments;
    va_start(arguments, format);
    write_text(buffer + used, size - used, format, arguments);
    va_end(arguments);
}

unsigned kd_text_hash(const char *text)
{
    unsigned hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

bool kd_text_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool kd_text_has_ending(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    if (n < m) return false;
    for (size_t i = 0; i < m; i++)
        if (tolower((unsigned char)text[n - m + i]) != tolower((unsigned char)end[i])) return false;
    return true;
}
