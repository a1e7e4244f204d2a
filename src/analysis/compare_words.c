// compare_words.c: a comparison as table, as advice in sentences, and as JSON.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/compare_internal.h"
#include "core/json.h"
#include "core/text.h"

static const double CLOSE = 1.5;  // the usual method is as good as the fastest within this factor
static const double MANY = 1000;  // errors so many times the tolerance are told
static const double ROUGH = 1e-6; // a spread of independent methods above this is explained

// ---- table ----------------------------------------------------------------------------------------------------------

static const char *number(double value, const char *format, char *buffer, size_t size)
{
    if (isfinite(value))
        snprintf(buffer, size, format, value);
    else
        kd_text(buffer, size, "-");
    return buffer;
}

static void put_run(kd_writer *w, const kd_comparison *c, const kd_compare_run *r)
{
    const kd_stats *s = &r->stats;
    char            method[60], seconds[24], error[24], output[24], level[24];
    bool            began = s->steps > 0 || s->accepted > 0;
    kd_write(w, "  %-9s %-28s %6.0e ", c->side[r->side],
             kd_compare_method_words(&c->method[r->method], method, sizeof method), r->tolerance);
    // counts only of runs that began
    if (began)
        kd_write(w, "%8ld %6ld %9ld %7ld ", s->accepted, s->rejected_error + s->rejected_newton,
                 s->residuals + s->for_differences, s->jacobians);
    else
        kd_write(w, "%8s %6s %9s %7s ", "-", "-", "-", "-");
    kd_write(w, "%10s %8s %8s %8s  %s", number(began ? 1e3 * r->seconds : NAN, "%.3f", seconds, sizeof seconds),
             number(r->error, "%.1e", error, sizeof error), number(r->output_error, "%.1e", output, sizeof output),
             number(began ? fmax(r->position_level, r->velocity_level) : NAN, "%.0e", level, sizeof level),
             r->is_reference ? "reference" : kd_compare_outcome_word(r->outcome));
    // why it did not end, or how far it can be trusted
    if (r->outcome != KD_COMPARE_DONE && r->message[0] && r->outcome != KD_COMPARE_CUT) kd_write(w, ": %s", r->message);
    if (r->outcome == KD_COMPARE_CUT) kd_write(w, " at t = %.4g s", r->t);
    if (r->outcome == KD_COMPARE_DONE && r->t_good < c->t_end) kd_write(w, ", good to t = %.4g s", r->t_good);
    kd_write(w, "\n");
}

size_t kd_comparison_table(const kd_comparison *c, char *text, size_t size)
{
    if (!c) kd_text(text, size, "%s", "");
    if (!c) return 0;
    kd_writer w = kd_writer_of(text, size);
    kd_write(&w, "  %-9s %-28s %6s %8s %6s %9s %7s %10s %8s %8s %8s  %s\n", "coord.", "formulation + integrator", "tol",
             "steps", "reject", "evals", "Jacob.", "CPU [ms]", "error", "outputs", "constr.", "status");
    for (int i = 0; i < c->nruns; i++) {
        const kd_compare_run *r = &c->run[i];
        bool                  first = i % c->tolerances == 0;
        // what is refused once, or not run for the same reason as before, is told once
        if (!first && (r->outcome == KD_COMPARE_REFUSED || r->outcome == KD_COMPARE_SKIPPED) &&
            (r[-1].outcome == r->outcome || r[-1].outcome == KD_COMPARE_CUT))
            continue;
        if (r->outcome != KD_COMPARE_LEFT_OUT) put_run(&w, c, r);
    }
    return w.length;
}

// ---- advice ---------------------------------------------------------------------------------------------------------

static void put_reference(kd_writer *w, const kd_comparison *c)
{
    char a[120], b[120];
    if (c->reference < 0) {
        kd_write(w, "No run reached the end: there is nothing to compare.\n");
        return;
    }
    const kd_compare_run *r = &c->run[c->reference];
    kd_write(w, "Reference: %s at %.0e. ", kd_compare_run_words(c, r, a, sizeof a), r->tolerance);
    if (c->companion < 0) {
        kd_write(w, "No other run can confirm it: the errors are differences from it, not more.\n");
        return;
    }
    // how much the word of the second best is worth: only another method is a witness
    const kd_compare_run *other = &c->run[c->companion];
    bool                  independent = kd_are_independent(c, r, other);
    kd_write(w, "%s %s at %.0e differs from it by %.1e%s: smaller errors are not resolved.\n",
             independent ? "The independent" : "The nearest other run", kd_compare_run_words(c, other, b, sizeof b),
             other->tolerance, c->uncertainty, independent ? "" : " (not independent: take it with care)");
}

static void put_choices(kd_writer *w, const kd_comparison *c)
{
    char words[120];
    if (c->reference < 0 || c->split) return; // nobody knows who is right
    kd_write(w, "Fastest for an accuracy of\n");
    // for each accuracy: the fastest run that reaches it
    for (int k = 0; k < KD_COMPARE_ACCURACIES; k++) {
        const kd_compare_choice *choice = &c->choice[k];
        kd_write(w, "  %.0e  ", choice->accuracy);
        if (choice->run < 0) {
            kd_write(w, "no run reaches it%s\n",
                     c->uncertainty > choice->accuracy ? ", as far as the spread of the methods can tell" : "");
            continue;
        }
        // how long the usual choice takes beside it
        const kd_compare_run *r = &c->run[choice->run];
        double                factor = choice->usual_seconds / choice->seconds;
        kd_write(w, "%s, tolerance %.1e: %.3g ms", kd_compare_run_words(c, r, words, sizeof words), choice->tolerance,
                 1e3 * choice->seconds);
        if (r->side == c->usual_side && r->method == c->usual_method)
            kd_write(w, " (the usual choice)");
        else if (c->usual_method >= 0 && isnan(factor))
            kd_write(w, "; the usual choice does not reach it");
        else if (c->usual_method >= 0)
            kd_write(w, "; the usual choice takes %.2g times as long%s", factor,
                     factor <= CLOSE ? ", which is as good" : "");
        kd_write(w, "\n");
    }
}

// Channels in which reference and companion differ most
static void put_channels(kd_writer *w, const kd_comparison *c, bool outputs)
{
    int worst = -1;
    for (int k = 0; k < c->nchannels; k++)
        if (c->channel[k].is_output == outputs && (worst < 0 || c->channel[k].spread > c->channel[worst].spread))
            worst = k;
    if (worst < 0 || !(c->channel[worst].spread > ROUGH)) return;
    kd_write(w, "Most uncertain %s '%s'%s: %.1e of its size at t = %.4g s.\n", outputs ? "output:" : "is",
             c->channel[worst].name, c->channel[worst].of_forces ? " (depends on forces)" : "",
             c->channel[worst].spread, c->channel[worst].t);
}

static void put_parting(kd_writer *w, const kd_comparison *c)
{
    if (c->split) {
        kd_write(
            w,
            "WARNING: the methods contradict each other. Two groups agree inside and differ by %.1e: %s. Run kardan "
            "check; errors in the table are those against the larger group.\n",
            c->split_distance, c->split_words);
        return;
    }
    if (!isfinite(c->t_part)) return;
    kd_write(
        w,
        "The methods part at t = %.4g s, where the best two of them differ by more than %.0e: beyond, no result can "
        "be trusted (a chaotic or unstable motion, or events that are missed or met by rounding). Errors are those "
        "until then.\n",
        c->t_part, c->parting);
}

// Stiff: explicit methods were cut off, others were not
static void put_stiffness(kd_writer *w, const kd_comparison *c)
{
    int cut[2] = {0}, done[2] = {0};
    for (int i = 0; i < c->nruns; i++) {
        int kind = c->method[c->run[i].method].is_explicit;
        cut[kind] += c->run[i].outcome == KD_COMPARE_CUT;
        done[kind] += c->run[i].outcome == KD_COMPARE_DONE;
    }
    if (cut[1] > 0 && done[0] > 0 && cut[1] >= done[1])
        kd_write(w, "Explicit methods were cut off: the equations are stiff for them, take an implicit one.\n");
}

// Errors against tolerances, by their median
static void put_amplification(kd_writer *w, const kd_comparison *c)
{
    int above = 0, all = 0;
    for (int i = 0; i < c->nruns; i++) {
        const kd_compare_run *r = &c->run[i];
        if (r->outcome != KD_COMPARE_DONE || !(r->error > c->uncertainty)) continue;
        all++;
        above += r->error > MANY * r->tolerance;
    }
    if (all > 0 && 2 * above > all && !c->split)
        kd_write(w,
                 "Most errors are more than %.0f times the tolerance: errors grow along this motion; choose tolerances "
                 "by the table, not by the accuracy that you want.\n",
                 MANY);
}

size_t kd_comparison_advice(const kd_comparison *c, char *text, size_t size)
{
    if (!c) kd_text(text, size, "%s", "");
    if (!c) return 0;
    kd_writer w = kd_writer_of(text, size);
    put_reference(&w, c);
    put_parting(&w, c);
    put_choices(&w, c);
    put_stiffness(&w, c);
    put_amplification(&w, c);
    if (c->reference >= 0 && !c->split) {
        put_channels(&w, c, false);
        put_channels(&w, c, true);
    }
    if (c->over_budget) kd_write(&w, "The time for all runs was used up: a larger --budget runs the rest.\n");
    if (c->stopped) kd_write(&w, "Stopped: what was done until then is told.\n");
    return w.length;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void put_json_run(kd_json *json, const kd_comparison *c, const kd_compare_run *r)
{
    const kd_compare_method *m = &c->method[r->method];
    const kd_stats          *s = &r->stats;
    char                     words[60];
    kd_json_open(json, NULL);
    // what was run
    kd_json_text(json, "coordinates", c->side[r->side]);
    kd_json_text(json, "formulation", kd_formulation_word(m->formulation));
    kd_json_text(json, "integrator", kd_integrator_word(m->integrator));
    kd_json_text(json, "method", kd_compare_method_words(m, words, sizeof words));
    kd_json_bool(json, "projection", m->projected);
    kd_json_number(json, "tolerance", r->tolerance);
    // how it ended, what it cost
    kd_json_text(json, "outcome", kd_compare_outcome_word(r->outcome));
    kd_json_text(json, "status", kd_status_name(r->status));
    kd_json_text(json, "message", r->message);
    kd_json_count(json, "steps", s->accepted);
    kd_json_count(json, "rejected", s->rejected_error + s->rejected_newton);
    kd_json_count(json, "evaluations", s->residuals + s->for_differences);
    kd_json_count(json, "jacobians", s->jacobians);
    kd_json_number(json, "seconds", r->seconds);
    // how good it is
    kd_json_number(json, "t", r->t);
    kd_json_number(json, "error", r->error);
    kd_json_number(json, "output_error", r->output_error);
    kd_json_number(json, "t_good", r->t_good);
    kd_json_number(json, "position_level", r->position_level);
    kd_json_number(json, "velocity_level", r->velocity_level);
    kd_json_bool(json, "reference", r->is_reference);
    kd_json_close(json);
}

// The words of a run; NULL: there is none
static void put_json_words(kd_json *json, const char *key, const kd_comparison *c, int run)
{
    char words[120];
    kd_json_text(json, key, run >= 0 ? kd_compare_run_words(c, &c->run[run], words, sizeof words) : NULL);
}

static void put_json_choices(kd_json *json, const kd_comparison *c)
{
    kd_json_list(json, "recommended");
    for (int k = 0; k < KD_COMPARE_ACCURACIES; k++) {
        const kd_compare_choice *choice = &c->choice[k];
        kd_json_open(json, NULL);
        kd_json_number(json, "accuracy", choice->accuracy);
        put_json_words(json, "method", c, choice->run);
        kd_json_number(json, "tolerance", choice->run >= 0 ? choice->tolerance : NAN);
        kd_json_number(json, "seconds", choice->seconds);
        kd_json_number(json, "usual_seconds", choice->usual_seconds);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

static void put_json_channels(kd_json *json, const kd_comparison *c)
{
    kd_json_list(json, "channels");
    for (int k = 0; k < c->nchannels; k++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "name", c->channel[k].name);
        kd_json_bool(json, "output", c->channel[k].is_output);
        kd_json_bool(json, "of_forces", c->channel[k].of_forces);
        kd_json_number(json, "spread", c->channel[k].spread);
        kd_json_number(json, "t", c->channel[k].t);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

size_t kd_comparison_json(const kd_comparison *c, char *text, size_t size)
{
    if (!c) kd_text(text, size, "%s", "");
    if (!c) return 0;
    kd_writer w = kd_writer_of(text, size);
    kd_json   json = {.text = &w, .layout = KD_JSON_ROWS};
    // what was compared, and what it is measured by
    kd_json_open(&json, NULL);
    kd_json_number(&json, "t_start", c->t_start);
    kd_json_number(&json, "t_end", c->t_end);
    put_json_words(&json, "reference", c, c->reference);
    put_json_words(&json, "confirmed_by", c, c->companion);
    // how sure that is
    kd_json_number(&json, "uncertainty", c->uncertainty);
    kd_json_number(&json, "t_part", c->t_part);
    kd_json_bool(&json, "contradiction", c->split);
    kd_json_text(&json, "contradiction_words", c->split_words);
    kd_json_bool(&json, "stopped", c->stopped);
    kd_json_bool(&json, "over_budget", c->over_budget);
    kd_json_number(&json, "seconds", c->seconds);
    // choices, channels, then every run
    put_json_choices(&json, c);
    put_json_channels(&json, c);
    kd_json_list(&json, "runs");
    for (int i = 0; i < c->nruns; i++) put_json_run(&json, c, &c->run[i]);
    kd_json_list_close(&json);
    kd_json_close(&json);
    return w.length;
}
