// writer.c: text that is cut off at the end of its buffer and counted on.
#include "core/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kd_writer kd_writer_of(char *text, size_t size)
{
    if (text && size > 0) text[0] = '\0';
    return (kd_writer){text, text ? size : 0, 0};
}

void kd_write(kd_writer *w, const char *format, ...)
{
    va_list list;
    bool    fits = w->length < w->size;
    va_start(list, format);
    int n = vsnprintf(fits ? w->text + w->length : NULL, fits ? w->size - w->length : 0, format, list);
    va_end(list);
    if (n > 0) w->length += (size_t)n;
}

void kd_write_bytes(kd_writer *w, const char *text, size_t length)
{
    // as much as fits before the zero byte
    if (w->length + 1 < w->size) {
        const size_t room = w->size - w->length - 1, n = length < room ? length : room;
        memcpy(w->text + w->length, text, n);
        w->text[w->length + n] = '\0';
    }
    w->length += length;
}
