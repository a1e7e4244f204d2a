// cross_words.c: a cross-check in lines of text and as JSON.
#include <kardan/compare.h>

#include "core/json.h"
#include "core/text.h"

size_t kd_cross_describe(const kd_cross_result *r, int most, char *text, size_t size)
{
    if (!r) kd_text(text, size, "%s", "");
    if (!r) return 0;
    kd_writer w = kd_writer_of(text, size);
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
    kd_writer w = kd_writer_of(text, size);
    kd_json   json = {.text = &w, .layout = KD_JSON_ROWS};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "verdict", kd_cross_verdict_word(r->verdict));
    kd_json_bool(&json, "gross", r->gross);
    kd_json_text(&json, "sentence", r->sentence);
    kd_json_text(&json, "partner", r->partner);
    kd_json_number(&json, "difference", r->difference);
    kd_json_number(&json, "error", r->error);
    kd_json_number(&json, "partner_error", r->partner_error);
    kd_json_number(&json, "t_part", r->t_part);
    kd_json_number(&json, "t_good", r->t_good);
    kd_json_number(&json, "seconds", r->seconds);
    // largest differences first
    kd_json_list(&json, "channels");
    for (int i = 0; i < r->nchannels; i++) {
        const kd_cross_channel *c = &r->channel[i];
        kd_json_open(&json, NULL);
        kd_json_text(&json, "name", c->name);
        kd_json_bool(&json, "output", c->is_output);
        kd_json_bool(&json, "of_forces", c->of_forces);
        kd_json_number(&json, "difference", c->difference);
        kd_json_number(&json, "t", c->t);
        kd_json_number(&json, "scale", c->scale);
        kd_json_close(&json);
    }
    kd_json_list_close(&json);
    kd_json_list(&json, "runs");
    for (int i = 0; i < r->runs; i++) kd_json_text(&json, NULL, r->log[i]);
    kd_json_list_close(&json);
    kd_json_close(&json);
    return w.length;
}
