// explain_words.c: the explanation of the step sizes in words and as JSON.
#include <kardan/explain.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

enum { LINE = 110 }; // columns of a line

// A paragraph in lines, indented
static void put_paragraph(kd_writer *t, const char *words)
{
    size_t column = 0;
    // word by word; a line begins with four blanks
    while (*words) {
        const size_t n = strcspn(words, " ");
        if (column > 0 && column + 1 + n > LINE) {
            kd_write(t, "\n");
            column = 0;
        }
        kd_write(t, "%s%.*s", column == 0 ? "    " : " ", (int)n, words);
        column += n + (column > 0);
        words += n + (words[n] == ' ');
    }
    kd_write(t, "\n");
}

static void put_percent(kd_writer *t, double part)
{
    if (part >= 0.005)
        kd_write(t, " %7.0f %%", 100 * part);
    else
        kd_write(t, " %9s", "-");
}

static void put_head(kd_writer *t, const kd_explanation *e)
{
    kd_write(
        t,
        "who limits the steps: %ld attempts from t = %.6g s to t = %.6g s, of these rejected by the error test %ld,\n"
        "  by Newton's method %ld, by a function %ld\n",
        e->attempts, e->t_first, e->t_last, e->rejected_error, e->rejected_newton, e->refused);
    if (e->retracted > 0) kd_write(t, "  steps taken back because %s: %ld\n", e->why, e->retracted);
    kd_write(t, "  steps: %.3g s on the whole, smallest %.3g s; not limited by accuracy: %ld of %ld\n", e->h_typical,
             e->h_least, e->unlimited, e->accepted);
}

static void put_table(kd_writer *t, const kd_explanation *e)
{
    kd_write(t, "  %9s %9s %9s %9s   %-28s %s\n", "share", "small", "error", "Newton", "who", "mostly");
    for (int i = 0; i < e->nlimiters; i++) {
        const kd_limiter *l = &e->limiter[i];
        kd_write(t, " ");
        put_percent(t, l->share);
        put_percent(t, l->small);
        put_percent(t, l->error);
        put_percent(t, l->newton);
        kd_write(t, "   %-28s %.4g s to %.4g s\n", l->name, l->from, l->to);
    }
}

// The first few, until most is told
static void put_advice(kd_writer *t, const kd_explanation *e)
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
    kd_writer t = kd_writer_of(buffer, size);
    if (e->attempts == 0) {
        kd_write(&t, "who limits the steps: the integrator tells nothing about its steps; radau and bdf do\n");
        return t.length;
    }
    put_head(&t, e);
    if (e->nlimiters == 0) {
        kd_write(&t, "  no step was limited by accuracy or by Newton's method\n");
        return t.length;
    }
    put_table(&t, e);
    put_advice(&t, e);
    for (int i = 0; i < e->nsteps; i++)
        kd_write(&t, "%s%.3g s at t = %.6g s (%s)%s", i == 0 ? "  smallest steps: " : "", e->step[i].h, e->step[i].t,
                 e->step[i].name,
                 i == e->nsteps - 1 ? "\n"
                 : i % 2 == 1       ? ",\n    "
                                    : ", ");
    return t.length;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void put_json_limiter(kd_json *json, const kd_limiter *l)
{
    kd_json_open(json, NULL);
    // who, how often and when
    kd_json_text(json, "name", l->name);
    kd_json_text(json, "component", l->component);
    kd_json_number(json, "share", l->share);
    kd_json_number(json, "small", l->small);
    kd_json_number(json, "error", l->error);
    kd_json_number(json, "newton", l->newton);
    kd_json_number(json, "from", l->from);
    kd_json_number(json, "to", l->to);
    // forces that may be the cause
    kd_json_bool(json, "local", l->local);
    kd_json_list(json, "forces");
    for (int i = 0; i < l->nsuspects; i++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "name", l->suspect[i].name);
        kd_json_text(json, "kind", l->suspect[i].kind);
        kd_json_number(json, "frequency", l->suspect[i].frequency);
        kd_json_number(json, "rate", l->suspect[i].rate);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_text(json, "advice", l->advice);
    kd_json_close(json);
}

size_t kd_explanation_json(const kd_explanation *e, char *buffer, size_t size)
{
    if (!e) return 0;
    kd_writer w = kd_writer_of(buffer, size);
    kd_json   json = {.text = &w, .layout = KD_JSON_LINE};
    kd_json_open(&json, NULL);
    kd_json_count(&json, "attempts", e->attempts);
    kd_json_count(&json, "accepted", e->accepted);
    kd_json_count(&json, "rejected_error", e->rejected_error);
    kd_json_count(&json, "rejected_newton", e->rejected_newton);
    kd_json_count(&json, "refused", e->refused);
    kd_json_count(&json, "retracted", e->retracted);
    kd_json_count(&json, "unlimited", e->unlimited);
    kd_json_number(&json, "h_typical", e->h_typical);
    kd_json_number(&json, "h_least", e->h_least);
    kd_json_list(&json, "limiters");
    for (int i = 0; i < e->nlimiters; i++) put_json_limiter(&json, &e->limiter[i]);
    kd_json_list_close(&json);
    kd_json_list(&json, "smallest_steps");
    for (int i = 0; i < e->nsteps; i++) {
        kd_json_open(&json, NULL);
        kd_json_number(&json, "t", e->step[i].t);
        kd_json_number(&json, "h", e->step[i].h);
        kd_json_text(&json, "name", e->step[i].name);
        kd_json_close(&json);
    }
    kd_json_list_close(&json);
    kd_json_close(&json);
    return w.length;
}
