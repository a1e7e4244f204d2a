// cross_words.c: a cross-check in lines of text and as JSON.
#include <kardan/compare.h>
#include <math.h>

#include "analysis/writer.h"
#include "core/text.h"

size_t kd_cross_describe(const kd_cross_result *r, int most, char *text, size_t size)
{
    if (!r) kd_text(text, size, "%s", "");
    if (!r) return 0;
    kd_writer w = {text, size, 0};
    kd_write(&w, "cross-check: %s\n", r->sentence);
    if (r->nchannels > 0) kd_write(&w, "largest differences from %s:\n", r->partner);
    for (int i = 0; i < r->nchannels && i < most; i++) {
        const kd_cross_channel *c = &r->channel[i];
        if (i > 0 && c->difference == 0) break;
        kd_write(&w, "  %-36s %.2e at t = %.6g s (%.1e of its size%s)\n", c->name, c->difference, c->t,
                 c->difference / c->scale,
                 c->of_forces   ? ", output of forces"
                 : c->is_output ? ", output"
                                : "");
    }
    if (r->nchannels > most) kd_write(&w, "  and %d more\n", r->nchannels - most);
    for (int i = 0; i < r->runs; i++) kd_write(&w, "run: %s\n", r->log[i]);
    return w.length;
}

size_t kd_cross_json(const kd_cross_result *r, char *text, size_t size)
{
    if (!r) kd_text(text, size, "%s", "");
    if (!r) return 0;
    kd_writer w = {text, size, 0};
    kd_write(&w, "{\n\"verdict\": \"%s\",\n\"gross\": %s,\n\"sentence\": ", kd_cross_verdict_word(r->verdict),
             r->gross ? "true" : "false");
    kd_write_string(&w, r->sentence);
    kd_write(&w, ",\n\"partner\": ");
    kd_write_string(&w, r->partner);
    kd_write_number(&w, ",\n\"difference\": ", r->difference);
    kd_write_number(&w, ",\n\"error\": ", r->error);
    kd_write_number(&w, ",\n\"partner_error\": ", r->partner_error);
    kd_write_number(&w, ",\n\"t_part\": ", r->t_part);
    kd_write_number(&w, ",\n\"t_good\": ", r->t_good);
    kd_write_number(&w, ",\n\"seconds\": ", r->seconds);
    kd_write(&w, ",\n\"channels\": [");
    for (int i = 0; i < r->nchannels; i++) {
        const kd_cross_channel *c = &r->channel[i];
        kd_write(&w, "%s\n{\"name\": ", i > 0 ? "," : "");
        kd_write_string(&w, c->name);
        kd_write(&w, ", \"output\": %s, \"of_forces\": %s", c->is_output ? "true" : "false",
                 c->of_forces ? "true" : "false");
        kd_write_number(&w, ", \"difference\": ", c->difference);
        kd_write_number(&w, ", \"t\": ", c->t);
        kd_write_number(&w, ", \"scale\": ", c->scale);
        kd_write(&w, "}");
    }
    kd_write(&w, "],\n\"runs\": [");
    for (int i = 0; i < r->runs; i++) {
        kd_write(&w, i > 0 ? ",\n" : "\n");
        kd_write_string(&w, r->log[i]);
    }
    kd_write(&w, "]\n}");
    return w.length;
}
