// compare.c: all sensible methods on one motion, from loose to tight tolerances.
//
// At each tolerance the methods run in the order of their times at the one before, so that the fastest set the limit
// for the others: an explicit method on stiff equations is cut off when it has taken `patience` times the time of the
// fastest. What was cut off or refused is not tried again at tighter tolerances. The methods of one tolerance may run in several threads,
// each by the clock of its own thread.
#include <kardan/compare.h>
#include <kardan/option.h>

#include <math.h>
#include <string.h>

#include "analysis/compare_internal.h"
#include "core/crew.h"
#include "core/option.h"
#include "core/text.h"

enum { MOST_TIMES = 100000 };
static const double MOST_MEMORY = 4e8; // bytes of all motions together; more: fewer times
static const double GROWTH = 4;        // of the time of a run with the next tolerance, until one is known
// Times that are compared are no round numbers: there samples and impacts would be seen from either side
static const double OFFSET = 0.6180339887498949;
static const double TOLERANCES[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};

typedef struct holder { // what the caller sees comes first
    kd_comparison result;
    kd_arena      arena;
} holder;

typedef struct plan {
    const kd_compare_side    *sides;
    const kd_compare_options *opt;
    const double             *tolerances;
    int                       ntolerances, nseries; // a series: one side and method
    kd_comparison            *c;
    kd_channels               channels;
    kd_track_of_run          *track; // (nruns)
    kd_arena                  arena;
    double                   *times;
    int                       ntimes;
    int                      *order; // (nseries)
    double                   *last;  // (nseries) time of the last run
    double                    best, best_before;
    int                       level;  // of the tolerances
    kd_status                 status; // the first failure of memory
    int                       begun;  // runs
    pthread_mutex_t
        lock; // of what the threads share: best, last, status, begun, stopped, seconds, and the caller's go_on
} plan;

typedef struct present_run { // one of those that are going on
    plan               *plan;
    kd_compare_progress progress;
    char                words[120];
} present_run;

kd_compare_options kd_compare_options_default(void)
{
    const kd_simulation_options usual = kd_method_named(NULL);
    return (kd_compare_options){.atol = 1,
                                .jobs = 1,
                                .times = 50,
                                .budget = 120,
                                .patience = 20,
                                .least = 0.2,
                                .repetitions = 8,
                                .parting = 1e-3,
                                .cookie = KD_OPTIONS_COOKIE,
                                .usual = {.formulation = usual.formulation, .integrator = usual.integrator}};
}

const char *kd_compare_outcome_word(kd_compare_outcome outcome)
{
    static const char *const WORD[] = {"done", "cut off", "failed", "refused", "not run", "stopped", "left out"};
    return outcome >= 0 && outcome < KD_COMPARE_OUTCOMES ? WORD[outcome] : "unknown";
}

const char *kd_compare_run_words(const kd_comparison *c, const kd_compare_run *run, char *buffer, size_t size)
{
    char method[60];
    kd_text(buffer, size, "%s%s%s", c->side[run->side], c->side[run->side][0] ? " " : "",
            kd_compare_method_words(&c->method[run->method], method, sizeof method));
    return buffer;
}

// ---- preparation ----------------------------------------------------------------------------------------------------

static bool are_arguments_good(const kd_compare_side *sides, int nsides, const kd_compare_options *o, char *message,
                               size_t size)
{
    if (nsides < 1 || nsides > KD_COMPARE_SIDES) {
        kd_text(message, size, "%d sets of equations; 1 to %d can be compared", nsides, (int)KD_COMPARE_SIDES);
        return false;
    }
    // a comparison needs some time to look at
    for (int i = 0; i < nsides; i++)
        if (!(o->t_end > sides[i].start->t)) {
            kd_text(message, size, "the end t = %g s does not lie behind the start", o->t_end);
            return false;
        }
    // accuracies from loose to tight, so that a run can be judged by the next one
    bool falls = o->ntolerances >= 0 && o->ntolerances <= KD_COMPARE_TOLERANCES;
    for (int i = 0; falls && o->tolerances && i < o->ntolerances; i++)
        falls = o->tolerances[i] > 0 && o->tolerances[i] < 1 && (i == 0 || o->tolerances[i] < o->tolerances[i - 1]);
    if (!falls) {
        kd_text(message, size, "tolerances must fall and lie between 0 and 1, at most %d of them",
                (int)KD_COMPARE_TOLERANCES);
        return false;
    }
    if (!(o->atol > 0) || o->times < 2 || o->times > MOST_TIMES || !(o->patience > 1) || !(o->parting > 0)) {
        kd_text(message, size, "an option of the comparison is out of range");
        return false;
    }
    return true;
}

// Without constraints most formulations are the same
static bool is_free(const kd_compare_side *side)
{
    kd_dims d = kd_eom_dims(side->eom);
    return d.nlambda + d.nmu == 0;
}

static bool is_same(const kd_compare_method *a, const kd_compare_method *b)
{
    return a->formulation == b->formulation && a->integrator == b->integrator && a->family == b->family &&
           a->projected == b->projected;
}

static bool is_wanted(const kd_compare_method *m, const kd_compare_options *o, const kd_compare_side *side)
{
    if (!kd_compare_method_matches(m, o->only)) return false;
    return is_free(side) ? m->free : !m->drifts || o->all;
}

// Those that are wanted for one of the sides; out NULL: their number only
static int choose_methods(plan *p, kd_compare_method *out)
{
    kd_compare_method table[KD_COMPARE_METHODS];
    const int         count = kd_compare_methods(table, KD_COMPARE_METHODS);
    int               n = 0;
    for (int i = 0; i < count; i++) {
        bool wanted = false;
        for (int side = 0; side < p->c->nsides; side++)
            wanted = wanted || is_wanted(&table[i], p->opt, &p->sides[side]);
        if (!wanted) continue;
        if (out) out[n] = table[i];
        if (out && is_same(&table[i], &p->opt->usual)) p->c->usual_method = n;
        n++;
    }
    return n;
}

static kd_status make_times(plan *p)
{
    double t0 = p->sides[0].start->t, t1 = p->opt->t_end;
    // as many times as memory allows
    double bytes = (double)p->c->nruns * (double)p->channels.nvalues * sizeof(double);
    int    n = p->opt->times;
    if (bytes * n > MOST_MEMORY) n = (int)fmax(2, MOST_MEMORY / bytes);
    p->times = kd_cut_double(&p->arena, n);
    if (!p->times) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) p->times[i] = t0 + (t1 - t0) * (i + OFFSET) / n;
    p->times[n - 1] = t1;
    p->ntimes = n;
    return KD_OK;
}

static kd_status prepare_plan(plan *p, holder *h, int nsides, char *message, size_t size)
{
    const kd_compare_options *o = p->opt;
    kd_comparison            *c = p->c = &h->result;
    p->tolerances = o->tolerances ? o->tolerances : TOLERANCES;
    p->ntolerances = o->tolerances ? o->ntolerances : (int)(sizeof TOLERANCES / sizeof *TOLERANCES);
    c->reference = c->companion = c->usual_method = -1;
    c->nsides = nsides;
    for (int i = 0; i < nsides; i++)
        kd_text(c->side[i], sizeof c->side[i], "%s", p->sides[i].word ? p->sides[i].word : "");
    // how many runs: methods that fit, each with all tolerances, for every set of equations
    c->nmethods = choose_methods(p, NULL);
    if (c->nmethods == 0) {
        kd_text(message, size, "no method is called '%s'; words are those of formulations and integrators", o->only);
        return KD_ERR_ARGUMENT;
    }
    c->tolerances = p->ntolerances;
    p->nseries = nsides * c->nmethods;
    c->nruns = p->nseries * p->ntolerances;
    // what is compared: channels that all sets of equations have
    kd_status status = kd_channels_create(&p->sides[0], &p->channels);
    for (int i = 1; status >= 0 && i < nsides; i++) {
        kd_channels other;
        status = kd_channels_create(&p->sides[i], &other);
        if (status >= 0 && (other.nvalues != p->channels.nvalues || other.count != p->channels.count)) {
            kd_text(message, size, "the sets of equations have different channels: %d and %d values",
                    p->channels.nvalues, other.nvalues);
            status = KD_ERR_ARGUMENT;
        }
        kd_channels_release(&other);
    }
    if (status < 0) return status;
    c->nchannels = p->channels.count;
    // memory: of the result, which stays, and of the plan
    c->method = kd_arena_cut(&h->arena, (size_t)c->nmethods, sizeof *c->method);
    c->run = kd_arena_cut(&h->arena, (size_t)c->nruns, sizeof *c->run);
    c->channel = kd_arena_cut(&h->arena, (size_t)c->nchannels, sizeof *c->channel);
    p->track = kd_arena_cut(&p->arena, (size_t)c->nruns, sizeof *p->track);
    p->order = kd_cut_int(&p->arena, p->nseries);
    p->last = kd_cut_double(&p->arena, p->nseries);
    if (h->arena.failed || p->arena.failed) return KD_ERR_MEMORY;
    (void)choose_methods(p, c->method);
    c->t_start = p->sides[0].start->t;
    c->t_end = o->t_end;
    c->parting = o->parting;
    c->usual_side = o->usual_side;
    return make_times(p);
}

// All runs before they are made, the usual method first
static void fill_in(plan *p)
{
    kd_comparison *c = p->c;
    for (int i = 0; i < c->nruns; i++) {
        int series = i / p->ntolerances;
        c->run[i] = (kd_compare_run){.side = series / c->nmethods,
                                     .method = series % c->nmethods,
                                     .tolerance = p->tolerances[i % p->ntolerances],
                                     .outcome = KD_COMPARE_SKIPPED,
                                     .error = NAN,
                                     .output_error = NAN,
                                     .t = c->t_start,
                                     .t_good = NAN};
        if (!is_wanted(&c->method[c->run[i].method], p->opt, &p->sides[c->run[i].side]))
            c->run[i].outcome = KD_COMPARE_LEFT_OUT;
        p->track[i] = (kd_track_of_run){.times = p->times, .ntimes = p->ntimes, .nvalues = p->channels.nvalues};
    }
    for (int i = 0; i < c->nchannels; i++) {
        kd_text(c->channel[i].name, sizeof c->channel[i].name, "%s", p->channels.list[i].name);
        c->channel[i].is_output = p->channels.list[i].is_output;
        c->channel[i].of_forces = p->channels.list[i].of_forces;
        c->channel[i].scale = c->channel[i].spread = NAN;
    }
    // the usual method first, it sets the limit for the others
    int usual = c->usual_method >= 0 ? c->usual_side * c->nmethods + c->usual_method : 0;
    p->order[0] = usual;
    for (int i = 0, n = 1; i < p->nseries; i++)
        if (i != usual) p->order[n++] = i;
}

// ---- running --------------------------------------------------------------------------------------------------------

static bool ask(double t, void *context)
{
    present_run *r = context;
    plan        *p = r->plan;
    r->progress.t = t;
    pthread_mutex_lock(&p->lock);
    if (!p->c->stopped && p->opt->go_on && !p->opt->go_on(&r->progress, p->opt->context)) p->c->stopped = true;
    const bool stopped = p->c->stopped;
    pthread_mutex_unlock(&p->lock);
    return !stopped;
}

// Is it of no use to run this one? Then the run says why
static bool is_hopeless(plan *p, kd_compare_run *run, int level)
{
    if (p->c->seconds > p->opt->budget) {
        p->c->over_budget = true;
        kd_text(run->message, sizeof run->message, "the time for all runs was used up");
        return true;
    }
    if (level == 0) return false;
    // what was cut off or refused, or failed twice, stays so with a tighter tolerance
    const kd_compare_run *looser = run - 1;
    bool                  failed_twice =
        looser->outcome == KD_COMPARE_FAILED && (level == 1 ? false : looser[-1].outcome == KD_COMPARE_FAILED);
    if (looser->outcome == KD_COMPARE_DONE || (looser->outcome == KD_COMPARE_FAILED && !failed_twice)) return false;
    if (looser->outcome == KD_COMPARE_REFUSED) {
        run->outcome = KD_COMPARE_REFUSED;
        run->status = looser->status;
    }
    kd_text(run->message, sizeof run->message, "%s", looser->message);
    return true;
}

// Seconds that a run gets: patience times the fastest one, within the budget
static double limit_of(const plan *p)
{
    double most = fmax(p->opt->budget - p->c->seconds, p->opt->least);
    double best = isfinite(p->best) ? p->best : GROWTH * p->best_before;
    return fmin(most, fmax(p->opt->least, p->opt->patience * best));
}

// A run that is worth while: its place among all, its limit. Under the lock
static bool begin_run(present_run *r, kd_run_request *request, int index)
{
    plan           *p = r->plan;
    kd_compare_run *run = &p->c->run[index];
    char            method[120];
    r->progress = (kd_compare_progress){.run = p->begun++, .runs = p->c->nruns, .words = r->words};
    // left out, stopped, or of no use: the time is up, or looser tolerances have shown that it ends no better
    if (run->outcome == KD_COMPARE_LEFT_OUT || p->c->stopped || p->status < 0 || is_hopeless(p, run, p->level))
        return false;
    kd_text(r->words, sizeof r->words, "%s, tolerance %.0e", kd_compare_run_words(p->c, run, method, sizeof method),
            run->tolerance);
    *request = (kd_run_request){
        .side = &p->sides[run->side],
        .options = kd_compare_method_options(&p->c->method[run->method]),
        .rtol = run->tolerance,
        .atol = run->tolerance * p->opt->atol,
        .h_max = p->opt->h_max,
        .t_end = p->c->t_end,
        .limit = limit_of(p),
        .repetitions = p->opt->repetitions,
        .go_on = ask,
        .context = r,
    };
    return true;
}

// What a run that has ended means for the others. Under the lock
static void end_run(plan *p, int series, int index, double seconds, kd_status status)
{
    kd_compare_run  *run = &p->c->run[index];
    kd_track_of_run *track = &p->track[index];
    p->c->seconds += seconds;
    p->last[series] = run->seconds;
    if (status < 0) p->status = status;
    if (run->outcome == KD_COMPARE_DONE) {
        p->best = fmin(p->best, run->seconds);
        return;
    }
    // its motion is kept for the judgement only if it reaches the end
    p->last[series] = INFINITY;
    kd_free(track->value);
    track->value = NULL;
    track->rows = 0;
}

// One method with one tolerance, unless that is hopeless
static bool run_one(int worker, int place, void *context)
{
    plan            *p = context;
    const int        series = p->order[place], index = series * p->ntolerances + p->level;
    kd_track_of_run *track = &p->track[index];
    present_run      r = {.plan = p};
    kd_run_request   request;
    (void)worker;
    pthread_mutex_lock(&p->lock);
    const bool begins = begin_run(&r, &request, index);
    pthread_mutex_unlock(&p->lock);
    if (!begins) return true;
    // cost of the run, repetitions included, from the budget
    const double begun = kd_thread_seconds();
    track->value = kd_alloc((size_t)p->ntimes * (size_t)track->nvalues * sizeof(double));
    const kd_status status = track->value ? kd_run_once(&request, track, &p->c->run[index]) : KD_ERR_MEMORY;
    const double    seconds = kd_thread_seconds() - begun;
    pthread_mutex_lock(&p->lock);
    end_run(p, series, index, seconds, status);
    const bool good = p->status >= 0 && !p->c->stopped;
    pthread_mutex_unlock(&p->lock);
    return good;
}

// Fastest first, by the times of the last tolerance; the rest stays in order
static void sort_series(plan *p)
{
    for (int i = 1; i < p->nseries; i++) {
        int k = p->order[i], j = i;
        for (; j > 0 && p->last[k] < p->last[p->order[j - 1]]; j--) p->order[j] = p->order[j - 1];
        p->order[j] = k;
    }
}

// From loose to tight tolerances
static kd_status run_all(plan *p)
{
    const int threads = kd_crew_size(p->opt->jobs, p->nseries);
    p->best_before = INFINITY;
    for (p->level = 0; p->level < p->ntolerances && p->status >= 0 && !p->c->stopped; p->level++) {
        // all series at one tolerance; the fastest, which comes first, limits the others
        p->best = INFINITY;
        kd_crew_run(threads, p->nseries, run_one, p);
        if (isfinite(p->best)) p->best_before = p->best;
        sort_series(p);
    }
    for (int i = 0; p->c->stopped && i < p->c->nruns; i++)
        if (p->c->run[i].outcome == KD_COMPARE_SKIPPED && !p->c->run[i].message[0])
            kd_text(p->c->run[i].message, sizeof p->c->run[i].message, "stopped before");
    return p->status;
}

// ---- exported -------------------------------------------------------------------------------------------------------

static void release(plan *p)
{
    for (int i = 0; p->track && i < p->c->nruns; i++) kd_free(p->track[i].value);
    kd_channels_release(&p->channels);
    kd_arena_release(&p->arena);
    pthread_mutex_destroy(&p->lock);
}

kd_status kd_compare(const kd_compare_side *sides, int nsides, const kd_compare_options *opt,
                     kd_comparison **comparison, char *message, size_t size)
{
    // arguments and options
    if (!comparison) return KD_ERR_ARGUMENT;
    *comparison = NULL;
    kd_text(message, size, "%s", "");
    if (!sides || !opt || !kd_options_made(opt, opt->cookie, "kd_compare_options", message, size))
        return KD_ERR_ARGUMENT;
    if (!are_arguments_good(sides, nsides, opt, message, size)) return KD_ERR_ARGUMENT;
    // what will be handed out, and what is needed until then
    holder *h = kd_alloc(sizeof *h);
    if (!h) return KD_ERR_MEMORY;
    plan      p = {.sides = sides, .opt = opt, .lock = PTHREAD_MUTEX_INITIALIZER};
    kd_status status = prepare_plan(&p, h, nsides, message, size);
    // all sides run, each with its methods
    if (status >= 0) {
        fill_in(&p);
        status = run_all(&p);
    }
    // what differs, and where it begins to
    if (status >= 0) {
        const kd_judgement j = {p.c, &p.channels, p.track, opt->atol};
        status = kd_compare_judge(&j);
    }
    release(&p);
    if (status < 0) {
        kd_comparison_destroy(&h->result);
        return status;
    }
    *comparison = &h->result;
    return h->result.stopped ? KD_STOPPED : KD_OK;
}

void kd_comparison_destroy(kd_comparison *c)
{
    holder *h = (holder *)c;
    if (!h) return;
    kd_arena_release(&h->arena);
    kd_free(h);
}
