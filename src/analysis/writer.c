// writer.c: text that is cut off at the end of its buffer and counted on.
#include "analysis/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void kd_write(kd_writer *w, const char *format, ...)
{
    va_list list;
    bool    fits = w->length < w->size;
    va_start(list, format);
    int n = vsnprintf(fits ? w->text + w->length : NULL, fits ? w->size - w->length : 0, format, list);
    va_end(list);
    if (n > 0) w->length += (size_t)n;
}

void kd_write_string(kd_writer *w, const char *text)
{
    kd_write(w, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            kd_write(w, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            kd_write(w, "\\u%04x", (unsigned)*c);
        else
            kd_write(w, "%c", *c);
    }
    kd_write(w, "\"");
}

void kd_write_number(kd_writer *w, const char *before, double value)
{
    kd_write(w, "%s", before);
    if (isfinite(value))
        kd_write(w, "%.9g", value);
    else
        kd_write(w, "null");
}
