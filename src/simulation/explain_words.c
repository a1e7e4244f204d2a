// explain_words.c: the explanation of the step sizes in words and as JSON.
#include <kardan/explain.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/shortest.h"

enum { LINE = 110 }; // columns of a line

typedef struct text {
    char  *buffer;
    size_t size, length;
} text;

KD_PRINTF(2, 3) static void put(text *t, const char *format, ...)
{
    // length goes on beyond the buffer, so that callers learn the size they need
    va_list arguments;
    size_t  room = t->buffer && t->length < t->size ? t->size - t->length : 0;
    va_start(arguments, format);
    const int n = vsnprintf(room ? t->buffer + t->length : NULL, room, format, arguments);
    va_end(arguments);
    if (n > 0) t->length += (size_t)n;
}

// A paragraph in lines, indented
static void put_paragraph(text *t, const char *words)
{
    size_t column = 0;
    // word by word; a line begins with four blanks
    while (*words) {
        const size_t n = strcspn(words, " ");
        if (column > 0 && column + 1 + n > LINE) {
            put(t, "\n");
            column = 0;
        }
        put(t, "%s%.*s", column == 0 ? "    " : " ", (int)n, words);
        column += n + (column > 0);
        words += n + (words[n] == ' ');
    }
    put(t, "\n");
}

static void put_percent(text *t, double part)
{
    if (part >= 0.005)
        put(t, " %7.0f %%", 100 * part);
    else
        put(t, " %9s", "-");
}

static void put_head(text *t, const kd_explanation *e)
{
    put(t,
        "who limits the steps: %ld attempts from t = %.6g s to t = %.6g s, of these rejected by the error test %ld,\n"
        "  by Newton's method %ld, by a function %ld\n",
        e->attempts, e->t_first, e->t_last, e->rejected_error, e->rejected_newton, e->refused);
    if (e->retracted > 0) put(t, "  steps taken back because %s: %ld\n", e->why, e->retracted);
    put(t, "  steps: %.3g s on the whole, smallest %.3g s; not limited by accuracy: %ld of %ld\n", e->h_typical,
        e->h_least, e->unlimited, e->accepted);
}

static void put_table(text *t, const kd_explanation *e)
{
    put(t, "  %9s %9s %9s %9s   %-28s %s\n", "share", "small", "error", "Newton", "who", "mostly");
    for (int i = 0; i < e->nlimiters; i++) {
        const kd_limiter *l = &e->limiter[i];
        put(t, " ");
        put_percent(t, l->share);
        put_percent(t, l->small);
        put_percent(t, l->error);
        put_percent(t, l->newton);
        put(t, "   %-28s %.4g s to %.4g s\n", l->name, l->from, l->to);
    }
}

// The first few, until most is told
static void put_advice(text *t, const kd_explanation *e)
{
    double told = 0;
    for (int i = 0; i < e->nlimiters && i < 3 && told < 0.8; i++) {
        char words[800];
        told += e->limiter[i].share;
        snprintf(words, sizeof words, "%s (%s): %s.", e->limiter[i].name, e->limiter[i].component,
                 e->limiter[i].advice);
        put_paragraph(t, words);
    }
}

size_t kd_explanation_describe(const kd_explanation *e, char *buffer, size_t size)
{
    if (!e) return 0;
    text t = {buffer, size, 0};
    if (buffer && size > 0) buffer[0] = '\0';
    if (e->attempts == 0) {
        put(&t, "who limits the steps: the integrator tells nothing about its steps; radau and bdf do\n");
        return t.length;
    }
    put_head(&t, e);
    if (e->nlimiters == 0) {
        put(&t, "  no step was limited by accuracy or by Newton's method\n");
        return t.length;
    }
    put_table(&t, e);
    put_advice(&t, e);
    for (int i = 0; i < e->nsteps; i++)
        put(&t, "%s%.3g s at t = %.6g s (%s)%s", i == 0 ? "  smallest steps: " : "", e->step[i].h, e->step[i].t,
            e->step[i].name,
            i == e->nsteps - 1 ? "\n"
            : i % 2 == 1       ? ",\n    "
                               : ", ");
    return t.length;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void put_string(text *t, const char *s)
{
    put(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') put(t, "\\");
        if ((unsigned char)*s < 0x20)
            put(t, "\\u%04x", *s);
        else
            put(t, "%c", *s);
    }
    put(t, "\"");
}

static void put_number(text *t, const char *key, double value)
{
    char number[KD_SHORTEST_SIZE];
    put(t, "\"%s\": %s", key, isfinite(value) ? kd_shortest_text(value, number) : "null");
}

static void put_limiter(text *t, const kd_limiter *l)
{
    put(t, "{\"name\": ");
    put_string(t, l->name);
    put(t, ", \"component\": ");
    put_string(t, l->component);
    const struct {
        const char *key;
        double      value;
    } number[] = {{"share", l->share},   {"small", l->small}, {"error", l->error},
                  {"newton", l->newton}, {"from", l->from},   {"to", l->to}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        put(t, ", ");
        put_number(t, number[i].key, number[i].value);
    }
    put(t, ", \"local\": %s, \"forces\": [", l->local ? "true" : "false");
    for (int i = 0; i < l->nsuspects; i++) {
        put(t, "%s{\"name\": ", i > 0 ? ", " : "");
        put_string(t, l->suspect[i].name);
        put(t, ", \"kind\": ");
        put_string(t, l->suspect[i].kind);
        put(t, ", ");
        put_number(t, "frequency", l->suspect[i].frequency);
        put(t, ", ");
        put_number(t, "rate", l->suspect[i].rate);
        put(t, "}");
    }
    put(t, "], \"advice\": ");
    put_string(t, l->advice);
    put(t, "}");
}

size_t kd_explanation_json(const kd_explanation *e, char *buffer, size_t size)
{
    if (!e) return 0;
    text t = {buffer, size, 0};
    if (buffer && size > 0) buffer[0] = '\0';
    put(&t,
        "{\"attempts\": %ld, \"accepted\": %ld, \"rejected_error\": %ld, \"rejected_newton\": %ld, \"refused\": %ld, "
        "\"retracted\": %ld, \"unlimited\": %ld, ",
        e->attempts, e->accepted, e->rejected_error, e->rejected_newton, e->refused, e->retracted, e->unlimited);
    put_number(&t, "h_typical", e->h_typical);
    put(&t, ", ");
    put_number(&t, "h_least", e->h_least);
    put(&t, ", \"limiters\": [");
    for (int i = 0; i < e->nlimiters; i++) {
        if (i > 0) put(&t, ", ");
        put_limiter(&t, &e->limiter[i]);
    }
    put(&t, "], \"smallest_steps\": [");
    for (int i = 0; i < e->nsteps; i++) {
        put(&t, "%s{", i > 0 ? ", " : "");
        put_number(&t, "t", e->step[i].t);
        put(&t, ", ");
        put_number(&t, "h", e->step[i].h);
        put(&t, ", \"name\": ");
        put_string(&t, e->step[i].name);
        put(&t, "}");
    }
    put(&t, "]}");
    return t.length;
}
