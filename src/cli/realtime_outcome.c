// realtime_outcome.c: what a run against the clock leaves behind: words, JSON, table, report, post-mortem.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/method.h"
#include "cli/realtime.h"
#include "core/text.h"
#include "report/report.h"
#include "results/postmortem.h"

typedef kd_realtime_task task;

// room for histograms, facts and settings
enum {
    BARS = 32,
    OUTLINE_BARS = 48,
    OUTLINE = 2 * OUTLINE_BARS + 2,
    WIDEST_BAR = 40,
    FACTS = 24,
    VALUE = 160,
    SETTINGS = 16
};

static const double PER_MILLE = 0.999; // the quantile that is told beside the median
static const double DOUBTFUL = 0.5;    // error of the energy balance, in parts of the energies involved

// Simulated time for each second of computing; 0: nothing was computed
static double real_time_factor(const task *t)
{
    return t->cost.sum > 0 ? (double)t->cost.count * t->options.h / t->cost.sum : 0;
}

// ---- facts: the same in words, table and report ---------------------------------------------------------------------

// rows of the outcome, with room for their texts
typedef struct facts {
    kd_result_setting list[FACTS];
    char              value[FACTS][VALUE];
    int               n;
} facts;

// A row with an empty value, to be written
static char *add_fact(facts *f, const char *name)
{
    f->list[f->n] = (kd_result_setting){name, f->value[f->n]};
    return f->value[f->n++];
}

// A part of something: "0.35 %", "1600 %"
static const char *percent(double part, char *buffer, size_t size)
{
    snprintf(buffer, size, 100 * part < 10 ? "%.2g %%" : "%.0f %%", 100 * part);
    return buffer;
}

// a time and its part of the step length
static void add_time(facts *f, const task *t, const char *name, double seconds)
{
    char words[40], part[40];
    kd_text(add_fact(f, name), VALUE, "%s (%s of the step length)", kd_timing_words(seconds, words, sizeof words),
            percent(seconds / t->options.h, part, sizeof part));
}

// largest value with its time, and the last one
static void add_watched(facts *f, const char *name, const kd_watched *w)
{
    kd_text(add_fact(f, name), VALUE, "at most %.2e at t = %.6g s, at the end %.2e", w->most, w->most_at, w->last);
}

// what one projection per step leaves, from constants along the motion
static void add_bound(facts *f, const task *t)
{
    const kd_realtime_limit limit = t->below ? kd_realtime_bound_limit(t->below) : (kd_realtime_limit){.states = 0};
    if (limit.states == 0) return;
    char *value = add_fact(f, "bound of the position error");
    if (isfinite(limit.limit))
        kd_text(value, VALUE,
                "%.2e besides rounding, with the constants of %ld state%s before largest errors (S4 Eq. 13)",
                limit.limit, limit.states, limit.states == 1 ? "" : "s");
    else
        kd_text(value, VALUE, "none: the step is too long for the estimate (S4 Eq. 13: h C1 = %.2g)",
                t->options.h * limit.C1);
}

static bool has_constraints(const task *t)
{
    const kd_dims d = kd_eom_dims(t->subject.eom);
    return d.nlambda + d.nmu + d.ns > 0;
}

// the balance is relative to the energies that took part
static void add_energy(facts *f, const task *t)
{
    char part[40];
    if (!t->has_energy) return;
    kd_text(add_fact(f, "kinetic + potential energy"), VALUE, "%.6g J at the start, %.6g J at the end", t->energy_start,
            t->energy_end);
    kd_text(add_fact(f, "energy balance"), VALUE, "within %.2e J, %s of the energies involved, largest at t = %.6g s",
            t->balance.most, percent(t->balance.most / fmax(t->energy_scale, 1e-300), part, sizeof part),
            t->balance.most_at);
}

// how late steps began, by the scheduler or by the step before
static void add_pace(facts *f, const task *t)
{
    char a[40], b[40];
    if (t->lateness.count == 0) return;
    kd_text(add_fact(f, "start of a step"), VALUE, "99.9 %% at most %s late, worst %s late at t = %.6g s",
            kd_timing_words(kd_timing_quantile(&t->lateness, PER_MILLE), a, sizeof a),
            kd_timing_words(t->lateness.most, b, sizeof b), t->lateness.most_at);
}

// all facts in the order of the report; what was not measured is left out
static void collect(facts *f, const task *t)
{
    char words[40];
    f->n = 0;
    // times of steps against the step length
    if (t->cost.count > 0) {
        add_time(f, t, "cost of a step, minimum", t->cost.least);
        add_time(f, t, "cost of a step, median", kd_timing_quantile(&t->cost, 0.5));
        add_time(f, t, "cost of a step, 99.9 %", kd_timing_quantile(&t->cost, PER_MILLE));
        add_time(f, t, "cost of a step, worst", t->cost.most);
        kd_text_append(f->value[f->n - 1], VALUE, " at t = %.6g s", t->cost.most_at);
        kd_text(add_fact(f, "real-time factor"), VALUE, "%.3g simulated seconds per second of computing",
                real_time_factor(t));
        add_pace(f, t);
        char *value = add_fact(f, "deadline");
        kd_text(value, VALUE, "%s, missed by %ld of %ld steps",
                kd_timing_words(t->options.deadline, words, sizeof words), t->misses, t->cost.count);
        if (t->misses > 0) kd_text_append(value, VALUE, ", first at t = %.6g s", t->first_miss);
    }
    // the controller
    if (t->line) {
        const kd_realtime_answers a = kd_realtime_answers_of(t);
        char                     *value = add_fact(f, "answers of the controller");
        kd_text(value, VALUE, "%ld in time, %ld missing, %ld too late", a.in_time, a.missing, a.too_late);
        if (a.wrong > 0) kd_text_append(value, VALUE, ", %ld not finite (held)", a.wrong);
        if (a.strange + a.forged + a.refused > 0)
            kd_text(add_fact(f, "other words"), VALUE, "%ld strange, %ld without the key, %ld controllers refused",
                    a.strange, a.forged, a.refused);
    }
    // accuracy
    if (has_constraints(t)) {
        add_watched(f, "position error", &t->position);
        add_bound(f, t);
        add_watched(f, "velocity error", &t->velocity);
    }
    if (kd_eom_dims(t->subject.eom).nw > 0) add_watched(f, "auxiliary variables, relative", &t->auxiliary);
    add_energy(f, t);
    kd_text(add_fact(f, "states that were looked at"), VALUE, "%ld", t->checks);
}

// Is this still the motion of the model? NULL: nothing speaks against it
static const char *doubt(const task *t)
{
    if (t->exploded) return "positions or velocities grew beyond all bounds: the steps are not stable";
    if (t->has_energy && t->balance.most > DOUBTFUL * t->energy_scale)
        return "energy comes from nowhere: the steps are too long, or not stable";
    return NULL;
}

// Steps that are stable where these are not
static const char *steadier(const task *t)
{
    const kd_realtime_options *o = &t->options;
    // the method first, then what of it, then the step
    if (o->jacobian != KD_REALTIME_J2 && o->jacobian != KD_REALTIME_EXACT)
        return "--jacobian j2, which is stable for all stiff springs and dampers, or a smaller --step";
    if (o->part == KD_PART_STIFF && t->subject.system && o->jacobian != KD_REALTIME_EXACT)
        return "--stiff all, for fast rotation and for elements that do not say that they are stiff, or a smaller "
               "--step";
    return "a smaller --step; 'kardan simulate' shows what the motion is like";
}

// ---- files ----------------------------------------------------------------------------------------------------------

// Everything that is needed to make the run again
typedef struct settings {
    kd_result_setting list[SETTINGS + KD_CLI_LONGEST_LIST];
    char              number[3][60], name[KD_CLI_LONGEST_LIST][100];
    int               n;
} settings;

static void list_settings(settings *s, const task *t)
{
    // in the order in which somebody would type them
    s->n = 0;
    kd_text(s->number[0], sizeof s->number[0], "%.9g s", t->options.h);
    kd_text(s->number[1], sizeof s->number[1], "%.9g s", t->duration);
    kd_text(s->number[2], sizeof s->number[2], "%d", t->intervals);
    s->list[s->n++] = (kd_result_setting){"model", t->request.word};
    if (t->subject.model) s->list[s->n++] = (kd_result_setting){"coordinates", kd_method_coordinates(&t->subject)};
    s->list[s->n++] = (kd_result_setting){"method", t->method};
    s->list[s->n++] = (kd_result_setting){"step length", s->number[0]};
    s->list[s->n++] = (kd_result_setting){"duration", s->number[1]};
    s->list[s->n++] = (kd_result_setting){"pace", t->fast ? "as fast as possible" : "of the clock"};
    s->list[s->n++] = (kd_result_setting){"output intervals", s->number[2]};
    if (t->start_state) s->list[s->n++] = (kd_result_setting){"start", t->start_state};
    for (int i = 0; i < t->request.settings.count; i++) {
        const char *value = kd_subject_setting(&t->request, i, "parameter ", s->name[i], sizeof s->name[i]);
        s->list[s->n++] = (kd_result_setting){s->name[i], value};
    }
}

// The histogram as an outline, times in microseconds; the base line is half a step
static int outline(const task *t, double *x, double *y)
{
    static kd_timing_bar bar[OUTLINE_BARS]; // of this one command
    int                  n = kd_timing_histogram(&t->cost, bar, OUTLINE_BARS), k = 0;
    // up, along the tops, down
    if (n > 0) x[k] = 1e6 * bar[0].low, y[k++] = 0.5;
    // each class a step of the stairs
    for (int i = 0; i < n; i++) {
        const double height = fmax(0.5, (double)bar[i].count);
        x[k] = 1e6 * bar[i].low, y[k++] = height;
        x[k] = 1e6 * bar[i].high, y[k++] = height;
    }
    if (n > 0) x[k] = 1e6 * bar[n - 1].high, y[k++] = 0.5;
    return k;
}

static const char READING[] =
    "How to read this. The cost of a step is the time of the step function alone: forces, derivatives, matrix, "
    "solution, projection, outputs; results and checks are made between steps. It should stay well below the step "
    "length, also in the worst step: what is left is for input, output and everything else that the computer does. "
    "Position and velocity error are the largest residuals of the constraints, in their own units; that of auxiliary "
    "variables is what their equations ask of them, beside their size. The energy balance is kinetic + potential + "
    "dissipated - supplied energy against the start; its error is of the order of the step "
    "length.";

static kd_status write_files(task *t, char *message, size_t size)
{
    static facts    f; // large, of this one command
    static settings s;
    static double   x[OUTLINE], y[OUTLINE], us[2], bound[2], span[2];
    collect(&f, t);
    list_settings(&s, t);
    // histogram of costs, worst cost over time, both with the deadline
    const int n = outline(t, x, y);
    us[0] = us[1] = 1e6 * t->options.deadline;
    bound[0] = 0.5, bound[1] = fmax(1, (double)t->cost.count);
    span[0] = t->peak_time[0], span[1] = t->nsampled > 0 ? t->peak_time[t->nsampled - 1] : span[0];
    // outputs between which no step was made have no cost
    for (int i = 0; i < t->nsampled; i++) t->peak[i] = t->peak[i] > 0 ? 1e6 * t->peak[i] : NAN;
    const kd_series       histogram[] = {{.name = "steps", .x = x, .y = y, .n = n},
                                         {.name = "deadline", .x = us, .y = bound, .n = 2, .dashed = true}};
    const kd_series       peaks[] = {{.name = "worst step", .x = t->peak_time, .y = t->peak, .n = t->nsampled},
                                     {.name = "deadline", .x = span, .y = us, .n = 2, .dashed = true}};
    const kd_plot         plots[] = {{.title = "Cost of a step",
                                      .xlabel = "cost [us]",
                                      .ylabel = "steps",
                                      .xlog = true,
                                      .ylog = true,
                                      .series = histogram,
                                      .nseries = 2},
                                     {.title = "Worst cost of a step between outputs",
                                      .xlabel = "time [s]",
                                      .ylabel = "[us]",
                                      .ylog = true,
                                      .series = peaks,
                                      .nseries = 2}};
    const kd_result_facts about = {.title = "Real time",
                                   .fact = f.list,
                                   .nfacts = f.n,
                                   .plot = plots,
                                   .nplots = t->cost.count > 0 ? 2 : 0,
                                   .reading = READING};
    // the same result as that of a simulation, with facts in place of the certificate
    kd_result result = {
        .title = t->subject.title,
        .about = t->subject.about,
        .model_file = t->subject.path,
        .model_text = t->subject.text,
        .recording = t->recording,
        .settings = s.list,
        .nsettings = s.n,
        .certificate = {.status = t->status, .limits = kd_limits_none()},
        .message = t->message,
        .reference_error = NAN,
        .plots = t->channels.plot,
        .nplots = t->channels.nplots,
        .drawing = t->drawing,
        .plain = t->plain,
        .facts = &about,
    };
    // table, report, plots; the first that fails ends it
    kd_status status = kd_result_save_csv(&result, t->csv, message, size);
    if (status >= 0) status = kd_report_save(&result, t->html, message, size);
    if (status >= 0) status = kd_report_save_svg(&result, t->svg, message, size);
    return status;
}

// see realtime.h: what a failure to write does to the status
bool kd_realtime_write(task *t)
{
    char      problem[KD_REALTIME_MESSAGE] = "";
    kd_status status = write_files(t, problem, sizeof problem);
    if (status >= 0) return true;
    if (t->status < 0) {
        kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
    } else {
        t->status = status;
        kd_text(t->message, sizeof t->message, "%s", problem);
    }
    return false;
}

// ---- failures -------------------------------------------------------------------------------------------------------

const char *kd_realtime_advice(const task *t)
{
    const kd_realtime_options *o = &t->options;
    // by what kind of failure it was
    switch (t->status) {
    case KD_ERR_NOT_FINITE:
    case KD_ERR_RETRY_FAILED:
    case KD_ERR_CALLBACK_STOP:
        return steadier(t);
    case KD_ERR_REDUNDANT:
    case KD_ERR_RANK_CHANGE:
    case KD_ERR_SINGULAR_MASS:
    case KD_ERR_DECOMPOSITION:
        return o->stabilisation == KD_REALTIME_REGULARISATION
                   ? "'kardan check', which names dependent constraints"
                   : "--stabilisation regularisation, which allows dependent constraints; 'kardan check' names them";
    default:
        return "";
    }
}

void kd_realtime_write_postmortem(task *t)
{
    char   problem[KD_REALTIME_MESSAGE] = "", words[KD_REALTIME_MESSAGE];
    double from = 0;
    // files and connections have no motion to look into
    if (t->status >= 0 || t->status == KD_ERR_FILE || t->status == KD_ERR_CONNECTION || !t->replay || !t->stepper ||
        t->cost.count == 0)
        return;
    // states of the last second, and the command that starts from there
    const kd_state *x = kd_replay_good(t->replay, kd_realtime_state(t->stepper));
    if (kd_replay_save(t->replay, x, t->subject.title, t->states, &from, problem, sizeof problem) >= 0) {
        const kd_replay_words replay = {
            "realtime", "--duration", t->argc, t->argv,
            t->folder,  t->states,    from,    fmax(t->options.h, t->duration - (from - t->peak_time[0]))};
        kd_replay_command(&replay, t->command, sizeof t->command);
    }
    kd_text(words, sizeof words, "%ld steps of %.9g s were made (%s).\n", t->cost.count, t->options.h, t->method);
    const char *advice = kd_realtime_advice(t);
    if (advice[0]) kd_text_append(words, sizeof words, "Try %s.\n", advice);
    const kd_postmortem why = {
        .title = t->subject.title,
        .eom = t->subject.eom,
        .inputs = &t->held,
        .x = x,
        .before = kd_replay_oldest(t->replay),
        .h = t->options.h,
        .status = t->status,
        .message = t->message,
        .explanation = words,
        .replay = t->command[0] ? t->command : NULL,
    };
    t->has_postmortem = kd_postmortem_save(&why, t->postmortem, problem, sizeof problem) >= 0;
    if (problem[0]) kd_text_append(t->message, sizeof t->message, "%s%s", t->message[0] ? "; " : "", problem);
}

// ---- words ----------------------------------------------------------------------------------------------------------

// One line per class; bars grow with the logarithm of their count, so that a single slow step is seen
static void print_histogram(const task *t)
{
    kd_timing_bar bar[BARS];
    int           n = kd_timing_histogram(&t->cost, bar, BARS);
    double        most = 1;
    for (int i = 0; i < n; i++) most = fmax(most, (double)bar[i].count);
    for (int i = 0; i < n; i++) {
        if (bar[i].count == 0) { // a gap is one line
            if (bar[i - 1].count > 0) printf("    %8s\n", "...");
            continue;
        }
        // log(1 + count) / log(1 + most)
        char   low[40], high[40], line[WIDEST_BAR + 1];
        double share = log(1 + (double)bar[i].count) / log(1 + most);
        int    length = (int)ceil(WIDEST_BAR * share);
        memset(line, '#', (size_t)length);
        line[length] = '\0';
        printf("    %8s .. %8s  %-*s %ld\n", kd_timing_words(bar[i].low, low, sizeof low),
               kd_timing_words(bar[i].high, high, sizeof high), WIDEST_BAR, line, bar[i].count);
    }
}

// head, news, facts, doubts, histogram, files
void kd_realtime_tell(const task *t, bool written)
{
    static facts f; // large, of this one command
    collect(&f, t);
    printf("%s: %s\n", t->subject.name, t->subject.title);
    printf("  method: %s\n", t->method);
    printf("  %ld steps of %.9g s to t = %.9g s, %s, %.3g s\n", t->cost.count, t->options.h,
           kd_realtime_state(t->stepper)->t, t->fast ? "as fast as possible" : "with the clock", t->wall_seconds);
    if (t->subject.news[0]) printf("  start: %s\n", t->subject.news);
    if (t->news[0]) printf("  note: %s\n", t->news);
    if (t->ended) printf("  %s\n", t->message);
    for (int i = 0; i < f.n; i++) printf("  %-28s %s\n", f.list[i].name, f.list[i].value);
    if (doubt(t)) printf("  note: %s; try %s\n", doubt(t), steadier(t));
    print_histogram(t);
    if (!written) return;
    printf("table:  %s\n", t->csv);
    printf("plots:  %s\n", t->svg);
    printf("report: %s  (open it in a browser)\n", t->html);
}

static void tell_watched(kd_json *json, const char *key, const kd_watched *w)
{
    kd_json_open(json, key);
    kd_json_number(json, "largest", w->most);
    kd_json_number(json, "largest_at", w->most_at);
    kd_json_number(json, "end", w->last);
    kd_json_close(json);
}

static void tell_timing(kd_json *json, const char *key, const kd_timing *timing)
{
    kd_json_open(json, key);
    kd_json_number(json, "minimum", timing->least);
    kd_json_number(json, "median", kd_timing_quantile(timing, 0.5));
    kd_json_number(json, "quantile_99_9", kd_timing_quantile(timing, PER_MILLE));
    kd_json_number(json, "worst", timing->most);
    kd_json_number(json, "worst_at", timing->most_at);
    kd_json_number(json, "sum", timing->sum);
    kd_json_close(json);
}

// members of the run; those that were not measured are left out
static void tell_run(const task *t, kd_json *json)
{
    // how far, and how fast
    kd_json_count(json, "steps", t->cost.count);
    kd_json_number(json, "t", t->stepper ? kd_realtime_state(t->stepper)->t : NAN);
    kd_json_number(json, "wall_seconds", t->wall_seconds);
    kd_json_number(json, "real_time_factor", real_time_factor(t));
    tell_timing(json, "cost", &t->cost);
    if (t->lateness.count > 0) tell_timing(json, "lateness", &t->lateness);
    // late steps, checks, answers of the controller
    kd_json_count(json, "misses", t->misses);
    kd_json_count(json, "checks", t->checks);
    if (t->line) {
        const kd_realtime_answers a = kd_realtime_answers_of(t);
        kd_json_open(json, "answers");
        kd_json_count(json, "in_time", a.in_time);
        kd_json_count(json, "missing", a.missing);
        kd_json_count(json, "too_late", a.too_late);
        kd_json_count(json, "not_finite", a.wrong);
        kd_json_count(json, "strange", a.strange);
        kd_json_count(json, "forged", a.forged);
        kd_json_count(json, "refused", a.refused);
        kd_json_close(json);
    }
    // how well constraints hold
    if (has_constraints(t)) {
        tell_watched(json, "position_error", &t->position);
        const kd_realtime_limit limit = t->below ? kd_realtime_bound_limit(t->below) : (kd_realtime_limit){.states = 0};
        if (limit.states > 0) {
            kd_json_number(json, "position_bound", limit.limit);
            kd_json_count(json, "position_bound_states", limit.states);
            kd_json_count(json, "position_bound_matrices", limit.matrices);
        }
        tell_watched(json, "velocity_error", &t->velocity);
    }
    if (kd_eom_dims(t->subject.eom).nw > 0) tell_watched(json, "auxiliary_error", &t->auxiliary);
    // energy
    if (!t->has_energy) return;
    kd_json_number(json, "energy_start", t->energy_start);
    kd_json_number(json, "energy_end", t->energy_end);
    tell_watched(json, "energy_balance", &t->balance);
}

void kd_realtime_tell_json(const task *t, bool written)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", t->request.word);
    if (t->subject.model) kd_json_text(&json, "coordinates", kd_method_coordinates(&t->subject));
    kd_subject_tell_settings(&t->request, &json);
    kd_json_text(&json, "method", t->method);
    kd_json_number(&json, "step", t->options.h);
    kd_json_number(&json, "duration", t->duration);
    kd_json_bool(&json, "paced", !t->fast);
    kd_json_number(&json, "deadline", t->options.deadline);
    // ok: reached the end, wrote all, kept the deadline as often as asked
    kd_json_bool(&json, "ok",
                 t->status >= 0 && t->status != KD_STOPPED && written && !((double)t->misses > t->max_misses));
    kd_json_text(&json, "status", kd_status_name(t->status));
    kd_json_text(&json, "sentence", kd_status_sentence(t->status));
    kd_json_text(&json, "message", t->message);
    kd_json_text(&json, "advice", kd_realtime_advice(t));
    kd_json_text(&json, "doubt", doubt(t) ? doubt(t) : "");
    tell_run(t, &json);
    if (t->has_postmortem) {
        kd_json_text(&json, "post_mortem", t->postmortem);
        if (t->command[0]) kd_json_text(&json, "replay", t->command);
    }
    if (written) {
        kd_json_open(&json, "files");
        kd_json_text(&json, "table", t->csv);
        kd_json_text(&json, "plots", t->svg);
        kd_json_text(&json, "report", t->html);
        kd_json_close(&json);
    }
    kd_json_close(&json);
    printf("\n");
}
