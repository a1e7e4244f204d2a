// lines.c: lines of a text in memory.
#include "core/lines.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"

bool kd_lines_next(kd_lines *t, char *line, size_t size)
{
    while (t->at < t->end) {
        const char *stop = memchr(t->at, '\n', (size_t)(t->end - t->at)), *from = t->at, *to = stop ? stop : t->end;
        t->at = stop ? stop + 1 : t->end;
        t->line++;
        while (from < to && isspace((unsigned char)*from)) from++;
        while (to > from && isspace((unsigned char)to[-1])) to--;
        if (from == to || *from == '#') continue;
        const size_t n = (size_t)(to - from) < size - 1 ? (size_t)(to - from) : size - 1;
        memcpy(line, from, n);
        line[n] = '\0';
        for (size_t i = 0; i < n; i++)
            if (line[i] == '\0') line[i] = '?';
        return true;
    }
    return false;
}

kd_status kd_lines_refuse(kd_lines *t, const char *what, const char *word)
{
    char   shown[40];
    size_t n = 0;
    for (; word[n] && n < sizeof shown - 1; n++) shown[n] = isprint((unsigned char)word[n]) ? word[n] : '?';
    shown[n] = '\0';
    kd_text(t->message, t->size, "%s:%d: %s%s%s%s", t->path, t->line, what, n > 0 ? " '" : "", shown, n > 0 ? "'" : "");
    return KD_ERR_FILE;
}
