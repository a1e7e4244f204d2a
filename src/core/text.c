// core/text.c: bounded text buffers for messages; hash and end of a text.
#include "core/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kd_text(char *buffer, size_t size, const char *format, ...)
{
    if (!buffer || size == 0) return;
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(buffer, size, format, arguments) < 0) buffer[0] = '\0';
    va_end(arguments);
}

void kd_text_append(char *buffer, size_t size, const char *format, ...)
{
    if (!buffer || size == 0) return;
    const char *end = memchr(buffer, '\0', size);
    if (!end) return; // no text in there to write behind
    const size_t used = (size_t)(end - buffer);
    va_list      arguments;
    va_start(arguments, format);
    if (vsnprintf(buffer + used, size - used, format, arguments) < 0) buffer[used] = '\0';
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
