// cross_check.c: is the motion of one run that of an independent method?
//
// A partner differs in integrator, formulation and, for models, coordinates, and runs with the same tolerances. Where
// the two differ by more than 10 times the relative tolerance, both run once more with a hundredth of it. With D the
// distance of the tight runs and c, c' the distances of each from its own loose run:
//
//     D > 10 rtol, c < D / 10 and c' < D / 10    both converge, to different motions: contradiction
//     D > parting, e > 1e-2, c' < e / 10         the partner converges, the run is at a distance e from there
//     D > parting                                they part: the motion is sensitive
//     otherwise                                  the error of the run is its distance from the partner's tight run
//
// Two methods that step over the same thing agree. So all runs but the first have steps that are limited, each to
// another part of the time (1 over a prime, so that no grid is shared): what lasts longer than a few of them is seen.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/compare_internal.h"
#include "core/text.h"

enum { MOST_TIMES = 400 };
static const double EXPECTED = 10;  // times the relative tolerance
static const double TIGHTER = 0.01; // tolerances of the runs that decide
static const double TIGHTEST = 1e-12;
static const double CONVERGED = 0.1; // of the distance of two motions
static const double REFINED = 1e-14; // a smaller change says that the steps were the same
static const double TRUSTED = 1000;  // times the relative tolerance: an error that is called by its name
static const double LEAST_STEPS[] = {0, 509, 337, 1021}; // of OWN (as it is), OTHER, OWN_TIGHT, OTHER_TIGHT
static const double GROSS_ERROR = 1e-2, GROSS_CONTRADICTION = 1e-3;

enum { PARTNERS = 9, ATTEMPTS = 3 };

typedef enum which { OWN, OTHER, OWN_TIGHT, OTHER_TIGHT, TRACKS } which;

struct kd_cross_check {
    kd_arena                arena;
    kd_compare_side         side[KD_COMPARE_SIDES];
    int                     nsides, partner_side;
    kd_simulation_options   own, partner;
    kd_integrator_kind      own_kind; // the integrator of own, or that which a choice begins with
    kd_channels             channels;
    kd_observer            *observer;
    double                 *times, *scale;
    int                     ntimes;
    double                  t_end;
    kd_track_of_run         track[TRACKS];
    const kd_cross_options *opt;
    kd_cross_result        *result;
    bool                    stopped;
};

kd_cross_options kd_cross_options_default(void)
{
    return (kd_cross_options){.rtol = 1e-6, .atol = 1e-6, .parting = 1e-3, .cookie = KD_OPTIONS_COOKIE};
}

const char *kd_cross_verdict_word(kd_cross_verdict verdict)
{
    static const char *const WORD[] = {"agrees", "less accurate", "parts", "contradicts", "differs", "undecided"};
    return verdict >= 0 && verdict < KD_CROSS_VERDICTS ? WORD[verdict] : "unknown";
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// Of too many times every second, third, ... one is used, and the last one
static void choose_times(kd_cross_check *k, const double *times, int ntimes)
{
    int stride = (ntimes + MOST_TIMES - 1) / MOST_TIMES;
    for (int i = ntimes - 1; i >= 0; i -= stride) k->ntimes++;
    for (int i = ntimes - 1, n = k->ntimes; i >= 0; i -= stride) k->times[--n] = times[i];
}

kd_status kd_cross_check_create(const kd_compare_side *sides, int nsides, const kd_simulation_options *method,
                                const double *times, int ntimes, kd_cross_check **check, char *message, size_t size)
{
    if (!check) return KD_ERR_ARGUMENT;
    *check = NULL;
    if (!sides || nsides < 1 || nsides > KD_COMPARE_SIDES || !method || !times || ntimes < 1) {
        kd_text(message, size, "a cross-check needs equations, a method and times");
        return KD_ERR_ARGUMENT;
    }
    kd_cross_check *k = kd_alloc(sizeof *k);
    if (!k) return KD_ERR_MEMORY;
    // sides and the method that is in question, as it would be chosen
    memcpy(k->side, sides, (size_t)nsides * sizeof *sides);
    k->nsides = nsides;
    k->own = *method;
    kd_simulation_options first = *method;
    if (kd_method_automatic(sides[0].eom, sides[0].inputs, sides[0].start, &first, NULL, 0) < 0)
        first.integrator = kd_method_named(NULL).integrator;
    k->own_kind = first.integrator;
    // channels that are compared, and who reads them
    k->times = kd_cut_double(&k->arena, ntimes < MOST_TIMES ? ntimes : MOST_TIMES);
    kd_status status = k->arena.failed ? KD_ERR_MEMORY : kd_channels_create(&k->side[0], &k->channels);
    if (status >= 0) status = kd_observer_create(&k->side[0], &k->observer);
    if (status < 0) goto done;
    // times at which they are compared; one track for each run that is kept
    choose_times(k, times, ntimes);
    k->t_end = times[ntimes - 1];
    k->scale = kd_cut_double(&k->arena, k->channels.count);
    for (int i = 0; i < TRACKS; i++)
        k->track[i] = (kd_track_of_run){.times = k->times,
                                        .ntimes = k->ntimes,
                                        .nvalues = k->channels.nvalues,
                                        .value = kd_cut_matrix(&k->arena, k->ntimes, k->channels.nvalues)};
    if (k->arena.failed) status = KD_ERR_MEMORY;
done:
    if (status < 0)
        kd_cross_check_destroy(k);
    else
        *check = k;
    return status;
}

void kd_cross_check_destroy(kd_cross_check *k)
{
    if (!k) return;
    kd_observer_destroy(k->observer);
    kd_channels_release(&k->channels);
    kd_arena_release(&k->arena);
    kd_free(k);
}

kd_status kd_cross_check_see(kd_cross_check *k, const kd_state *x)
{
    if (!k || !x) return KD_ERR_ARGUMENT;
    kd_track_of_run *track = &k->track[OWN];
    int              row = track->rows;
    double           violation[2];
    if (row > 0 && k->times[row - 1] == x->t) row--; // the limit from the right
    if (row == k->ntimes || k->times[row] != x->t) return KD_OK;
    kd_status status = kd_observer_take(k->observer, x, track->value + (size_t)row * (size_t)track->nvalues, violation);
    if (status >= 0) track->rows = row + 1;
    return status;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

static bool ask(double t, void *context)
{
    kd_cross_check *k = context;
    (void)t;
    if (k->opt->go_on && !k->opt->go_on(k->opt->context)) k->stopped = true;
    return !k->stopped;
}

static void name_run(const kd_cross_check *k, int side, const kd_simulation_options *o, char *text, size_t size)
{
    const bool              chosen = kd_method_is_open(o);
    const kd_compare_method m = {.formulation = o->formulation,
                                 .integrator = o->integrator,
                                 .family = kd_integrator_variant(o->integrator, &o->integrator_options)};
    char                    words[60];
    const char             *word = k->side[side].word ? k->side[side].word : "";
    kd_text(text, size, "%s%s%s", word, word[0] ? " " : "",
            chosen ? "the chosen method" : kd_compare_method_words(&m, words, sizeof words));
}

// One run into a track; true: it reached the end
static bool run_into(kd_cross_check *k, which place, int side, const kd_simulation_options *options, double share,
                     kd_status *status)
{
    kd_cross_result *r = k->result;
    kd_compare_run   out = {0};
    char             words[120];
    // tolerance and largest step of this one
    double rtol = fmax(k->opt->rtol * share, TIGHTEST);
    double h_max = (k->t_end - k->side[0].start->t) / LEAST_STEPS[place];
    if (k->opt->h_max > 0) h_max = fmin(h_max, k->opt->h_max);
    // everything else as it was asked for
    kd_run_request request = {.side = &k->side[side],
                              .options = *options,
                              .rtol = rtol,
                              .atol = k->opt->atol * rtol / k->opt->rtol,
                              .h_max = h_max,
                              .t_end = k->t_end,
                              .limit = k->opt->budget > 0 ? k->opt->budget : INFINITY,
                              .go_on = ask,
                              .context = k};
    if (r->runs == KD_CROSS_RUNS || k->stopped) return false;
    *status = kd_run_once(&request, &k->track[place], &out);
    if (*status < 0) return false;
    // a line of the log
    name_run(k, side, options, words, sizeof words);
    r->seconds += out.seconds;
    kd_text(r->log[r->runs++], sizeof r->log[0], "%s at %.1e: %s%s%s, %ld steps, %.3g s of computing", words, rtol,
            kd_compare_outcome_word(out.outcome), out.message[0] ? ", " : "", out.message, out.stats.accepted,
            out.seconds);
    // the partner tells how fine it looked
    if (place == OTHER) {
        r->partner_steps = out.stats.accepted;
        r->partner_h_max = h_max;
    }
    return out.outcome == KD_COMPARE_DONE && k->track[place].rows == k->ntimes;
}

// Explicit Runge-Kutta methods of one family err alike.
static bool explicit_twins(kd_integrator_kind a, kd_integrator_kind b)
{
    const kd_option *of_a, *of_b;
    const int        own_a = kd_integrator_own_options(a, &of_a), own_b = kd_integrator_own_options(b, &of_b);
    return own_a > 0 && own_b > 0 && of_a == of_b; // one file, one group of options
}

// The methods that check others, in order of preference: implicit ones first, which stiff models need. Their number
static int list_partners(kd_compare_method *partner)
{
    kd_compare_method table[KD_COMPARE_METHODS];
    const int         count = kd_compare_methods(table, KD_COMPARE_METHODS);
    int               n = 0;
    for (int place = 1; place <= PARTNERS; place++)
        for (int m = 0; m < count && n < PARTNERS; m++)
            if (table[m].partner == place) partner[n++] = table[m];
    return n;
}

// Another integrator and, where the table has one, another formulation; the other coordinates first
static bool run_partner(kd_cross_check *k, kd_status *status)
{
    kd_compare_method partner[PARTNERS];
    const int         count = list_partners(partner);
    int               attempts = 0;
    // other coordinates share the least code with the run
    for (int s = k->nsides - 1; s >= 0; s--)
        for (int i = 0; i < count && attempts < ATTEMPTS && *status >= 0; i++) {
            // a method of its own family would make the same errors
            if (partner[i].integrator == k->own_kind) continue;
            if (explicit_twins(k->own_kind, partner[i].integrator)) continue;
            k->partner = kd_compare_method_options(&partner[i]);
            kd_dims d = kd_eom_dims(k->side[s].eom);
            // without constraints there is nothing to project onto
            if (d.nlambda + d.nmu == 0) k->partner.formulation_options.projection = KD_PROJECT_NEVER;
            k->partner_side = s;
            attempts++;
            if (run_into(k, OTHER, s, &k->partner, 1, status)) {
                name_run(k, s, &k->partner, k->result->partner, sizeof k->result->partner);
                return true;
            }
        }
    return false;
}

// ---- judgement ------------------------------------------------------------------------------------------------------

static double at_row(const kd_cross_check *k, which a, which b, int row)
{
    return kd_row_distance(&k->channels, k->scale, &k->track[a], &k->track[b], row, false);
}

static double largest_distance(const kd_cross_check *k, which a, which b, int rows)
{
    return kd_track_distance(&k->channels, k->scale, &k->track[a], &k->track[b], rows, false);
}

// Rows before the two part
static int rows_together(const kd_cross_check *k, which a, which b)
{
    for (int row = 0; row < k->ntimes; row++)
        if (at_row(k, a, b, row) > k->opt->parting) return row;
    return k->ntimes;
}

static double time_before(const kd_cross_check *k, int row)
{
    return row >= k->ntimes ? k->t_end : row > 0 ? k->times[row - 1] : k->side[0].start->t;
}

// Largest absolute differences, those that matter most first
static void list_channels(kd_cross_check *k, int rows)
{
    kd_cross_result *r = k->result;
    r->nchannels = 0;
    for (int i = 0; i < k->channels.count; i++) {
        const kd_channel *c = &k->channels.list[i];
        kd_cross_channel  out = {.is_output = c->is_output, .of_forces = c->of_forces, .scale = k->scale[i]};
        kd_text(out.name, sizeof out.name, "%s", c->name);
        // the largest difference over time
        for (int row = 0; row < rows; row++) {
            double d = kd_channel_distance(c, &k->track[OWN], &k->track[OTHER], row);
            if (d > out.difference) out.difference = d, out.t = k->times[row];
        }
        // insertion by difference/scale; the last one gives way
        int n = r->nchannels < KD_CROSS_CHANNELS ? r->nchannels++ : KD_CROSS_CHANNELS - 1;
        if (n == KD_CROSS_CHANNELS - 1 && i >= KD_CROSS_CHANNELS &&
            out.difference / out.scale <= r->channel[n].difference / r->channel[n].scale)
            continue;
        for (; n > 0 && out.difference / out.scale > r->channel[n - 1].difference / r->channel[n - 1].scale; n--)
            r->channel[n] = r->channel[n - 1];
        r->channel[n] = out;
    }
}

// Do both converge, and not to the same motion? rows: where the tight ones are looked at
static bool contradict(const kd_cross_check *k, int rows)
{
    for (int row = 0; row < rows; row++) {
        double apart = at_row(k, OWN_TIGHT, OTHER_TIGHT, row);
        if (apart <= EXPECTED * k->opt->rtol) continue;
        double own = largest_distance(k, OWN, OWN_TIGHT, row + 1),
               other = largest_distance(k, OTHER, OTHER_TIGHT, row + 1);
        if (fmax(own, other) < CONVERGED * apart && (fmin(own, other) > REFINED || apart > GROSS_CONTRADICTION))
            return true;
        if (apart > k->opt->parting) return false; // beyond, nothing can be said
    }
    return false;
}

// Does the partner converge, but not to where the run is?
static bool is_elsewhere(const kd_cross_check *k)
{
    double apart = largest_distance(k, OWN, OTHER_TIGHT, k->ntimes),
           other = largest_distance(k, OTHER, OTHER_TIGHT, k->ntimes);
    return apart > GROSS_ERROR && other < CONVERGED * apart && other < GROSS_ERROR;
}

// With both tight runs
static void judge_by_tight(kd_cross_check *k)
{
    kd_cross_result *r = k->result;
    // until where the tight runs agree, and the run with the better of them
    int together = rows_together(k, OWN_TIGHT, OTHER_TIGHT);
    if (together < k->ntimes) r->t_part = k->times[together];
    r->t_good = time_before(k, rows_together(k, OWN, OTHER_TIGHT));
    int rows = together > 0 ? together : 1;
    r->error = largest_distance(k, OWN, OTHER_TIGHT, rows);
    r->partner_error = largest_distance(k, OTHER, OWN_TIGHT, rows);
    r->difference = largest_distance(k, OWN, OTHER, rows);
    // both converge, to different motions
    if (contradict(k, k->ntimes)) {
        r->verdict = KD_CROSS_CONTRADICTS;
        r->difference = largest_distance(k, OWN_TIGHT, OTHER_TIGHT, k->ntimes);
        r->gross = r->difference > GROSS_CONTRADICTION;
        list_channels(k, k->ntimes);
        return;
    }
    // the partner converges, the run is elsewhere
    if (together < k->ntimes && is_elsewhere(k)) {
        r->verdict = KD_CROSS_DIFFERS;
        r->error = r->difference = largest_distance(k, OWN, OTHER_TIGHT, k->ntimes);
        r->gross = true;
        list_channels(k, k->ntimes);
        return;
    }
    // they part, or the run is as accurate as it is
    list_channels(k, rows);
    if (together < k->ntimes)
        r->verdict = KD_CROSS_PARTS;
    else
        r->verdict = r->error <= EXPECTED * k->opt->rtol ? KD_CROSS_AGREES : KD_CROSS_LESS_ACCURATE;
    r->gross = r->verdict == KD_CROSS_LESS_ACCURATE && r->error > GROSS_ERROR;
}

// Without them: the difference is all that is known
static void judge_by_difference(kd_cross_check *k)
{
    kd_cross_result *r = k->result;
    int              together = rows_together(k, OWN, OTHER);
    r->error = r->difference = largest_distance(k, OWN, OTHER, k->ntimes);
    r->t_good = time_before(k, together);
    r->verdict = r->difference <= EXPECTED * k->opt->rtol ? KD_CROSS_AGREES : KD_CROSS_LESS_ACCURATE;
    r->gross = r->difference > GROSS_ERROR;
    list_channels(k, k->ntimes);
}

bool kd_cross_is_good(const kd_cross_result *r)
{
    if (!r) return false;
    return r->verdict == KD_CROSS_AGREES || (r->verdict == KD_CROSS_LESS_ACCURATE && r->error <= TRUSTED * r->rtol);
}

// How far the run gets from its first row, relative to the sizes of the channels
static double motion_of(const kd_cross_check *k)
{
    kd_track_of_run first = k->track[OWN];
    double          moved = 0;
    first.nvalues = 0; // every row is the first
    for (int row = 1; row < k->ntimes; row++)
        moved = fmax(moved, kd_row_distance(&k->channels, k->scale, &k->track[OWN], &first, row, false));
    return moved;
}

static void write_sentence(const kd_cross_check *k)
{
    kd_cross_result *r = k->result;
    char            *text = r->sentence;
    size_t           size = sizeof r->sentence;
    double           times = r->error / k->opt->rtol;
    switch (r->verdict) {
    case KD_CROSS_AGREES:
        kd_text(text, size,
                "%s%s differs by at most %.1e, %.2g times the tolerance, in %ld steps, none longer than %.3g s",
                r->moved <= k->opt->rtol ? "nothing moves, neither here nor by another method: " : "the same motion: ",
                r->partner, r->error, times, r->partner_steps, r->partner_h_max);
        break;
    case KD_CROSS_LESS_ACCURATE:
        kd_text(
            text, size,
            times > TRUSTED
                ? "not the motion that it should be: %s differs by %.1e, %.2g times the tolerance, most of all in %s "
                  "at t = %.6g s: something was stepped over, or errors grow; take a tighter tolerance or --max-step"
                : "the motion is the same by %s, but its error is about %.1e, %.2g times the tolerance (most in %s at "
                  "t = %.6g s)",
            r->partner, r->error, times, r->channel[0].name, r->channel[0].t);
        break;
    case KD_CROSS_DIFFERS:
        kd_text(text, size,
                "another motion: %s converges, and this run differs from it by %.1e, most of all in %s at t = %.6g s; "
                "it is good to %.0e until t = %.6g s",
                r->partner, r->difference, r->channel[0].name, r->channel[0].t, k->opt->parting, r->t_good);
        break;
    case KD_CROSS_PARTS:
        kd_text(
            text, size,
            "sensitive motion: this run is good to %.0e until t = %.6g s, the best runs part at t = %.6g s; beyond, "
            "no method can be trusted",
            k->opt->parting, r->t_good, r->t_part);
        break;
    case KD_CROSS_CONTRADICTS:
        kd_text(text, size,
                "CONTRADICTION: this method and %s both converge, but to motions that differ by %.1e: the equations "
                "contradict themselves; run kardan check and kardan compare",
                r->partner, r->difference);
        break;
    default:
        kd_text(text, size, "no other method reached the end: %s", r->runs > 0 ? r->log[r->runs - 1] : "none fits");
    }
}

// A run that an event ended before the last of the times is checked up to the last but one that it saw: events of the
// others may come a little earlier. false: there is no such time.
static bool shorten(kd_cross_check *k)
{
    if (k->track[OWN].rows == k->ntimes) return true;
    if (k->track[OWN].rows < 2) return false;
    k->ntimes = k->track[OWN].rows - 1;
    k->t_end = k->times[k->ntimes - 1];
    for (int i = 0; i < TRACKS; i++) k->track[i].ntimes = k->ntimes;
    k->track[OWN].rows = k->ntimes;
    return true;
}

kd_status kd_cross_check_run(kd_cross_check *k, const kd_cross_options *opt, kd_cross_result *result)
{
    kd_status status = KD_OK;
    if (!k || !opt || !result || !(opt->rtol > 0) || !(opt->atol > 0) || !(opt->parting > 0) ||
        opt->cookie != KD_OPTIONS_COOKIE)
        return KD_ERR_ARGUMENT;
    *result = (kd_cross_result){.verdict = KD_CROSS_UNDECIDED,
                                .difference = NAN,
                                .error = NAN,
                                .partner_error = NAN,
                                .t_part = INFINITY,
                                .t_good = NAN};
    k->opt = opt;
    k->result = result;
    k->stopped = false;
    if (!shorten(k)) {
        kd_text(result->sentence, sizeof result->sentence, "the run itself ended at once");
        return KD_OK;
    }
    // differences relative to the sizes of this run
    kd_channel_scales(&k->channels, &k->track[OWN], k->ntimes, opt->atol / opt->rtol, k->scale);
    if (run_partner(k, &status)) {
        // a first judgement; where it is doubtful two tight runs decide
        judge_by_difference(k);
        bool doubtful = result->difference > EXPECTED * opt->rtol && opt->rtol > TIGHTEST;
        if (doubtful && run_into(k, OTHER_TIGHT, k->partner_side, &k->partner, TIGHTER, &status) &&
            run_into(k, OWN_TIGHT, 0, &k->own, TIGHTER, &status))
            judge_by_tight(k);
    }
    if (status < 0) return status;
    result->rtol = opt->rtol;
    result->moved = motion_of(k);
    write_sentence(k);
    return k->stopped ? KD_STOPPED : KD_OK;
}
