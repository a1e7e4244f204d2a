// simulate_tell.c: what a run has found, in words or as JSON.
#include <math.h>
#include <stdio.h>

#include "cli/simulate_task.h"

// what verification has found, in numbers
static void print_verification(const kd_verification *v)
{
    if (!v->searched) {
        printf("  steps were not checked inside: %s\n", v->why_not);
        return;
    }
    printf("  %-46s %12ld\n  %-46s %12ld\n  %-46s %12ld\n  %-46s %12.3g\n", "steps checked inside", v->checked,
           "steps that did not stand, made again", v->redone, "steps that could not be verified", v->unverified,
           "largest defect that was kept [tolerances]", v->worst);
}

// from the method to the files, in the order of interest
void kd_simulate_tell_words(const kd_simulate_task *t, bool written)
{
    const kd_stats *s = &t->certificate.stats;
    static char     text[KD_SIMULATE_CERTIFICATE_SIZE]; // large
    printf("%s: %s\n", t->subject.name, t->subject.title);
    printf("  method: %s\n", t->method.reason);
    printf("  %ld steps and %ld rejected to t = %.9g s, %.3g s of computing\n", s->accepted,
           s->rejected_error + s->rejected_newton, t->subject.x->t, t->certificate.wall_seconds);
    if (t->subject.news[0]) printf("  start: %s\n", t->subject.news);
    if (t->subject.rest[0]) printf("  from equilibrium: %s\n", t->subject.rest);
    for (int i = 0; i < t->nwarnings; i++) printf("  warning: %s\n", t->warnings[i]);
    if (t->status >= 0 && t->message[0]) printf("  note: %s\n", t->message);
    kd_cli_events_print(&t->events);
    kd_cli_hot_spots_print(&t->hot_spots);
    kd_certificate_describe(&t->certificate, text, sizeof text);
    kd_cli_print_lines(text);
    if (!isnan(t->reference_error))
        printf("  reference solution: error of the positions %.1e (%s)\n", t->reference_error,
               kd_certificate_reference(&t->certificate, t->reference_error).words);
    // rows that only some methods have are left out while they are 0
    for (int i = 0; t->stats && i < KD_STATISTICS; i++) {
        kd_statistic statistic = kd_result_statistic(&t->certificate, i);
        if (statistic.special && statistic.value == 0) continue;
        printf("  %-46s %12.6g\n", statistic.label, statistic.value);
    }
    if (t->stats) print_verification(&t->verification);
    if (t->explain) {
        static char words[KD_SIMULATE_EXPLANATION_SIZE]; // large
        kd_explanation_describe(&t->explanation, words, sizeof words);
        kd_cli_print_lines(words);
        if (t->advice[0]) printf("  %s\n", t->advice);
    }
    kd_cross_tell(&t->cross);
    if (!written) return;
    if (t->with_csv) printf("table:  %s\n", t->csv);
    if (t->with_hdf5) printf("data:   %s\n", t->hdf5);
    if (t->with_mat) printf("data:   %s\n", t->mat);
    if (t->events.has_file) printf("events: %s\n", t->events.path);
    printf("plots:  %s\n", t->svg);
    if (kd_simulate_has_picture(t)) printf("motion: %s\n", t->picture);
    printf("report: %s  (open it in a browser)\n", t->html);
    if (t->cross.done) printf("cross-check: %s\n", t->crossed);
    if (t->instants)
        printf("matrix: %s/%s-pattern.svg, -groups, -compressed, -instants\n", t->jacobian_plots, t->subject.name);
}

static void tell_verification(const kd_verification *v, kd_json *json)
{
    kd_json_open(json, "verification");
    kd_json_bool(json, "searched", v->searched);
    kd_json_text(json, "why_not", v->why_not ? v->why_not : "");
    kd_json_count(json, "steps", v->steps);
    kd_json_count(json, "checked", v->checked);
    kd_json_count(json, "points", v->points);
    kd_json_count(json, "redone", v->redone);
    kd_json_count(json, "unverified", v->unverified);
    kd_json_number(json, "worst", v->worst);
    kd_json_number(json, "t_worst", v->t_worst);
    kd_json_close(json);
}

// counts as whole numbers
static void tell_statistics(const kd_simulate_task *t, kd_json *json)
{
    kd_json_open(json, "statistics");
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&t->certificate, i);
        if (s.is_count)
            kd_json_count(json, s.key, (long)s.value);
        else
            kd_json_number(json, s.key, s.value);
    }
    kd_json_close(json);
    tell_verification(&t->verification, json);
}

// only files that were written
static void tell_files(const kd_simulate_task *t, kd_json *json)
{
    kd_json_open(json, "files");
    if (t->with_csv) kd_json_text(json, "table", t->csv);
    if (t->with_hdf5) kd_json_text(json, "data", t->hdf5);
    if (t->with_mat) kd_json_text(json, "data", t->mat);
    if (t->events.has_file) kd_json_text(json, "events", t->events.path);
    kd_json_text(json, "plots", t->svg);
    if (kd_simulate_has_picture(t)) kd_json_text(json, "motion", t->picture);
    kd_json_text(json, "report", t->html);
    if (t->instants) kd_json_text(json, "jacobian_plots", t->jacobian_plots);
    if (t->cross.done) kd_json_text(json, "cross_check", t->crossed);
    kd_json_close(json);
}

// something that was not searched is not clean either
bool kd_simulate_is_unclean(const kd_simulate_task *t)
{
    return t->must_be_clean && (!t->verdict.clean || t->verdict.nnot_searched > 0);
}

// Everything that is needed to make the run again, then what came out
void kd_simulate_tell_json(const kd_simulate_task *t, bool written)
{
    kd_json     json = {.file = stdout};
    static char text[KD_SIMULATE_CERTIFICATE_SIZE]; // large
    // the model and how it was set
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", t->request.word);
    if (t->subject.model) kd_json_text(&json, "coordinates", kd_method_coordinates(&t->subject));
    kd_subject_tell_settings(&t->request, &json);
    kd_json_number(&json, "t_end", t->t_end);
    // the method with all that was chosen
    kd_json_text(&json, "formulation", kd_formulation_word(t->method.options.formulation));
    kd_json_text(&json, "integrator", kd_integrator_word(t->method.options.integrator));
    kd_json_text(&json, "decomposition", kd_method_decomposition(&t->method));
    kd_method_setting setting;
    for (int i = 0; kd_method_setting_of(&t->method, i, &setting, text, sizeof text); i++)
        kd_json_text(&json, setting.key, setting.value);
    if (kd_method_options_set(&t->method, text, sizeof text)[0]) kd_json_text(&json, "options", text);
    kd_json_text(&json, "method", t->method.reason);
    kd_json_number(&json, "rtol", t->method.rtol);
    kd_json_number(&json, "atol", t->method.atol);
    if (t->max_step > 0) kd_json_number(&json, "max_step", t->max_step);
    kd_json_count(&json, "intervals", t->intervals);
    // ok is what exit status 0 says
    kd_json_bool(&json, "ok",
                 t->status >= 0 && t->status != KD_STOPPED && written && !t->broken[0] && !t->cross.result.gross &&
                     !kd_simulate_is_unclean(t));
    kd_json_text(&json, "status", kd_status_name(t->status));
    kd_json_text(&json, "sentence", kd_status_sentence(t->status));
    kd_json_text(&json, "message", t->message);
    // what holds for it
    if (t->subject.rest[0]) kd_json_text(&json, "from_equilibrium", t->subject.rest);
    kd_json_bool(&json, "clean", t->verdict.clean);
    kd_json_text(&json, "verdict", t->verdict.sentence);
    kd_json_texts(&json, "warnings", t->warnings, t->nwarnings);
    // counters, events, certificate
    kd_json_number(&json, "t", t->subject.x->t);
    tell_statistics(t, &json);
    kd_cli_events_tell(&t->events, &json);
    kd_cli_hot_spots_tell(&t->hot_spots, &json);
    kd_certificate_json(&t->certificate, text, sizeof text);
    kd_json_raw(&json, "certificate", text);
    kd_json_number(&json, "reference_error", t->reference_error);
    // who limits the steps
    if (t->explain) {
        static char words[KD_SIMULATE_EXPLANATION_SIZE]; // large
        kd_explanation_json(&t->explanation, words, sizeof words);
        kd_json_raw(&json, "explanation", words);
        if (t->advice[0]) kd_json_text(&json, "advice", t->advice);
    }
    // where to look after a failure
    if (t->has_postmortem) {
        kd_json_text(&json, "post_mortem", t->postmortem);
        if (t->command[0]) kd_json_text(&json, "replay", t->command);
    }
    kd_cross_tell_json(&t->cross, &json);
    if (written) tell_files(t, &json);
    kd_json_close(&json);
    printf("\n");
}
