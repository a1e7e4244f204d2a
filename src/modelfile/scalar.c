// scalar.c: texts as scalars of YAML, without quotes where they can stand so.
#include "modelfile/scalar.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Can the text stand without quotes, in brackets too?
static bool is_plain(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-*/^()<>= ";
    size_t            n = strlen(text);
    if (n == 0 || strspn(text, safe) != n || text[n - 1] == ' ') return false;
    if (strchr(" *>=", text[0]) || (text[0] == '-' && (n == 1 || text[1] == ' ' || text[1] == '-'))) return false;
    if (strncmp(text, "...", 3) == 0) return false;
    return strcmp(text, "null") != 0;
}

void kd_scalar_write(const char *text, kd_scalar_put *put, void *to)
{
    if (is_plain(text)) {
        put(to, text, strlen(text));
        return;
    }
    // quoted: signs that would end it, or cannot be seen, are escaped
    put(to, "\"", 1);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        char                escape[8];
        int                 n = 1;
        if (c == '"' || c == '\\')
            n = snprintf(escape, sizeof escape, "\\%c", c);
        else if (c < ' ' || c == 127)
            n = snprintf(escape, sizeof escape, "\\x%02X", c);
        else
            escape[0] = *text;
        put(to, escape, (size_t)n);
    }
    put(to, "\"", 1);
}
