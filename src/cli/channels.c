// channels.c: from the words of --plots, or of the model, to channels of a recording.
#include "cli/channels.h"

#include <stdlib.h>
#include <string.h>

// channels to plot must be recorded
bool kd_plot_channels_split(kd_plot_channels *c, kd_cli_list *watch)
{
    if (!c->words) return true;
    // cut in a copy: the words point into it
    snprintf(c->list, sizeof c->list, "%s", c->words);
    for (char *rest = c->list, *word; (word = kd_cli_next_word(&rest)) != NULL;) {
        if (c->nplots == KD_CHANNELS_PLOTS) {
            fprintf(stderr, "kardan: --plots has more than %d channels\n", KD_CHANNELS_PLOTS);
            return false;
        }
        watch->word[watch->count++] = word;
        c->plot[c->nplots++] = word;
    }
    return true;
}

// what: "channel", perhaps with its place in front
static void tell_unknown(const kd_recording *rec, const char *what, const char *word)
{
    int          count = kd_recording_columns(rec);
    const char **names = malloc((size_t)(count + 1) * sizeof *names);
    if (names) {
        for (int j = 0; j < count; j++) names[j] = kd_recording_name(rec, j);
        kd_cli_unknown(what, word, names, count);
    }
    free(names);
}

bool kd_plot_channels_choose(kd_plot_channels *c, const kd_recording *rec, const kd_subject *subject)
{
    const kd_run_def *run = &subject->run;
    int               first, count;
    // asked for on the command line, or by the model
    for (int i = 0; c->nplots == 0 && i < run->nplots; i++) c->plot[i] = run->plots[i];
    if (c->nplots == 0) c->nplots = run->nplots;
    for (int i = 0; i < c->nplots; i++) {
        // sensors are recorded under their plain names
        bool is_sensor = strncmp(c->plot[i], "sensor.", 7) == 0;
        if (kd_recording_find(rec, c->plot[i]) < 0 && is_sensor) c->plot[i] += 7;
        if (kd_recording_find(rec, c->plot[i]) >= 0) continue;
        // unknown: with the place in the model file, if it came from there
        char what[420], field[20], place[400] = "";
        snprintf(field, sizeof field, "plots[%d]", i);
        if (!c->words) kd_subject_run_place(subject, field, place, sizeof place);
        snprintf(what, sizeof what, "%s%schannel", place, place[0] ? "|" : "");
        tell_unknown(rec, what, c->plot[i]);
        return false;
    }
    // nothing was asked for: all sensors
    if (!subject->model || c->words || run->nplots > 0) return true;
    kd_recording_group(rec, KD_GROUP_Y, &first, &count);
    for (int i = 0; c->nplots < KD_CHANNELS_PLOTS && i < count; i++)
        c->plot[c->nplots++] = kd_recording_name(rec, first + i);
    return true;
}
