// cross.c: kardan simulate --cross-check.
#include "cli/cross.h"

#include <math.h>
#include <stdlib.h>

#include "results/file.h"

enum { CHANNELS_TOLD = 12 };
static const double PATIENCE = 30, LEAST = 10; // a run may take so many times that of the user's, at least so long [s]

kd_status kd_cross_open(kd_cross *c, const kd_subject *s, const kd_method *m, bool has_start, char *message,
                        size_t size)
{
    *c = (kd_cross){0};
    // before the run: the start of the others is that of the run
    if (m->options.ntimes < 1) return KD_OK; // nothing moves
    c->nsides = kd_sides_of(s, has_start ? KD_SIDES_OWN : KD_SIDES_BOTH, &c->other, c->side);
    if (c->nsides == 0) return KD_ERR_MEMORY;
    const kd_simulation_options options = kd_method_for_run(m);
    return kd_cross_check_create(c->side, c->nsides, &options, m->options.times, m->options.ntimes, &c->check, message,
                                 size);
}

static bool go_on(void *context)
{
    (void)context;
    return !kd_cli_is_interrupted();
}

// tolerances of the run, time in proportion to it
kd_status kd_cross_run(kd_cross *c, const kd_method *m, double seconds)
{
    kd_cross_options o = kd_cross_options_default();
    if (!c->check) return KD_OK;
    o.rtol = m->rtol;
    o.atol = m->atol;
    o.h_max = m->options.integrator_options.h_max;
    o.budget = fmax(LEAST, PATIENCE * seconds);
    o.go_on = go_on;
    kd_status status = kd_cross_check_run(c->check, &o, &c->result);
    c->done = status >= 0;
    return status;
}

// The text of the result, to be freed; NULL: no memory
static char *text_of(const kd_cross *c, int channels)
{
    size_t size = kd_cross_describe(&c->result, channels, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text) kd_cross_describe(&c->result, channels, text, size);
    return text;
}

void kd_cross_tell(const kd_cross *c)
{
    // indented as the rest of the summary
    char *text = c->done ? text_of(c, CHANNELS_TOLD) : NULL;
    for (const char *line = text; line && *line; line++) {
        if (line == text || line[-1] == '\n') fputs("  ", stdout);
        fputc(*line, stdout);
    }
    if (c->done && c->nsides == 1 && c->other.why[0]) printf("  not in the other coordinates: %s\n", c->other.why);
    free(text);
}

void kd_cross_tell_json(const kd_cross *c, kd_json *json)
{
    if (!c->done) return;
    size_t size = kd_cross_json(&c->result, NULL, 0) + 1;
    char  *text = malloc(size);
    if (!text) return;
    kd_cross_json(&c->result, text, size);
    kd_json_raw(json, "cross_check", text);
    free(text);
}

// all channels, not only those that are told
kd_status kd_cross_save(const kd_cross *c, const char *title, const char *path, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    char *text = text_of(c, KD_CROSS_CHANNELS);
    fprintf(file, "%s\n%s", title, text ? text : c->result.sentence);
    free(text);
    return kd_file_close(file, path, message, size);
}

void kd_cross_close(kd_cross *c)
{
    kd_cross_check_destroy(c->check);
    kd_sides_close(&c->other);
    *c = (kd_cross){0};
}
