// compare_judge.c: who is right, without a reference solution.
//
// The tightest good run of every method is a candidate. Distances D(i, j) are the largest over time and channels.
//
//  1. Split: do the candidates fall into groups that agree inside, and not with each other? Edges of the minimal
//     spanning tree of D are taken away, longest first; two groups of two or more that lie far apart compared with
//     their inner distances are a contradiction, if both groups have converged: their runs are nearer to their own runs
//     with the next looser tolerance than the groups are to each other. Merely inaccurate runs fail this test.
//  2. Reference: the candidate that moved least by its last refinements. Companions: the three that moved least among
//     those independent of it. The middle one of the distances between them and the reference is the uncertainty:
//     errors below are not resolved. (The closest pair of all would be a worse judge: where errors grow along one
//     direction, two of many runs are close by chance.)
//  3. Parting: where the reference and that companion differ by more than `parting`, all later times are left out, and
//     both are chosen again by what remains.
//  4. The error of a run is its distance from the reference, and not less than the uncertainty.
#include <math.h>
#include <stdlib.h>

#include "analysis/compare_internal.h"
#include "core/text.h"

static const double APART = 30;         // distance of groups against distances inside them
static const double LEAST_SPLIT = 1e-6; // smaller differences are no contradiction
static const double CONVERGED = 10;     // distance of groups against the last change of their runs
enum { MOST_PARTINGS = 20, COMPANIONS = 3 };

typedef struct jury {
    const kd_judgement *j;
    kd_arena            arena;
    int                *candidate; // (n) runs
    int                 n, rows;
    double             *D;      // (n x n)
    double             *scale;  // (channels)
    double             *one;    // (channels) scratch
    int                *group;  // (n) 1, 2: of a split; 0: neither
    int                *part;   // (n) scratch
    double             *edge;   // (n) scratch
    double             *change; // (n) by the last refinements
} jury;

// ---- candidates and distances ---------------------------------------------------------------------------------------

static bool is_good(const jury *u, int run)
{
    const kd_judgement *j = u->j;
    return j->result->run[run].outcome == KD_COMPARE_DONE && j->track[run].rows == j->track[run].ntimes;
}

// Of each series the run with the tightest tolerance that reached the end
static void find_candidates(jury *u)
{
    const kd_comparison *c = u->j->result;
    for (int first = 0; first < c->nruns; first += c->tolerances)
        for (int k = c->tolerances - 1; k >= 0; k--)
            if (is_good(u, first + k)) {
                u->candidate[u->n++] = first + k;
                break;
            }
}

// Of an exploded run everything is large: the smallest scale of all candidates counts
static void find_scales(jury *u)
{
    const kd_judgement *j = u->j;
    for (int k = 0; k < j->channels->count; k++) u->scale[k] = INFINITY;
    for (int i = 0; i < u->n; i++) {
        kd_channel_scales(j->channels, &j->track[u->candidate[i]], u->rows, j->floor, u->one);
        for (int k = 0; k < j->channels->count; k++) u->scale[k] = fmin(u->scale[k], u->one[k]);
    }
}

static double between(const jury *u, int run, int other, bool outputs)
{
    return kd_track_distance(u->j->channels, u->scale, &u->j->track[run], &u->j->track[other], u->rows, outputs);
}

static void find_distances(jury *u)
{
    for (int i = 0; i < u->n; i++)
        for (int k = 0; k <= i; k++)
            u->D[i * u->n + k] = u->D[k * u->n + i] = i == k ? 0 : between(u, u->candidate[i], u->candidate[k], false);
}

bool kd_are_independent(const kd_comparison *c, const kd_compare_run *a, const kd_compare_run *b)
{
    const kd_compare_method *m = &c->method[a->method], *n = &c->method[b->method];
    bool                     other_integrator = m->integrator != n->integrator || m->family != n->family;
    return other_integrator && (c->nsides > 1 ? a->side != b->side : m->formulation != n->formulation);
}

// Strictness 2: as above, 1: another integrator, 0: anyone else
static bool are_apart(const jury *u, int i, int k, int strictness)
{
    const kd_comparison  *c = u->j->result;
    const kd_compare_run *a = &c->run[u->candidate[i]], *b = &c->run[u->candidate[k]];
    if (i == k) return false;
    if (strictness == 2) return kd_are_independent(c, a, b);
    return strictness == 0 || c->method[a->method].integrator != c->method[b->method].integrator;
}

// ---- 1. split -------------------------------------------------------------------------------------------------------

static int root_of(const int *part, int i)
{
    while (part[i] != i) i = part[i];
    return i;
}

// Components of the graph with edges below bound, in part; the two largest in largest[]; returns the size of the second
static int components(jury *u, double bound, int largest[2])
{
    int n = u->n, size[2] = {0, 0};
    // union of all that are nearer than bound
    for (int i = 0; i < n; i++) u->part[i] = i;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (u->D[i * n + k] < bound) u->part[root_of(u->part, i)] = root_of(u->part, k);
    for (int i = 0; i < n; i++) {
        // the two largest of them
        int members = 0;
        if (root_of(u->part, i) != i) continue;
        for (int k = 0; k < n; k++) members += root_of(u->part, k) == i;
        if (members > size[0]) {
            size[1] = size[0], largest[1] = largest[0];
            size[0] = members, largest[0] = i;
        } else if (members > size[1]) {
            size[1] = members, largest[1] = i;
        }
    }
    return size[1];
}

// Smallest distance between two components
static double distance_between(const jury *u, int a, int b)
{
    double least = INFINITY;
    for (int i = 0; i < u->n; i++)
        for (int k = 0; k < u->n; k++)
            if (root_of(u->part, i) == a && root_of(u->part, k) == b) least = fmin(least, u->D[i * u->n + k]);
    return least;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

// Middle value of the distances of the members of a component to their nearest fellow
static double distance_inside(const jury *u, int component)
{
    int n = 0;
    for (int i = 0; i < u->n; i++) {
        if (root_of(u->part, i) != component) continue;
        double least = INFINITY;
        for (int k = 0; k < u->n; k++)
            if (k != i && root_of(u->part, k) == component) least = fmin(least, u->D[i * u->n + k]);
        u->one[n++] = least;
    }
    return median(u->one, n);
}

// Distance of a run from that with a tolerance looser by so many levels; NaN: there is none, or the tighter run took no
// more steps, so that nothing was refined and nothing is known (a trivial motion, between the ends of whose long steps
// dense output decides)
static double refinement(const jury *u, int run, int levels)
{
    const kd_comparison *c = u->j->result;
    if (run % c->tolerances < levels || !is_good(u, run - levels)) return NAN;
    if (c->run[run].stats.accepted <= c->run[run - levels].stats.accepted) return NAN;
    return between(u, run, run - levels, false);
}

// Middle value of the changes of its runs from the next looser tolerance to their own
static double last_change(const jury *u, int component)
{
    int n = 0;
    for (int i = 0; i < u->n; i++) {
        if (root_of(u->part, i) != component) continue;
        double change = refinement(u, u->candidate[i], 1);
        u->one[n++] = isnan(change) ? INFINITY : change;
    }
    return median(u->one, n);
}

// Lengths of the edges of the minimal spanning tree, falling, in edge (n - 1); Prim
static void spanning_tree(jury *u)
{
    int n = u->n;
    // one[i]: distance of i from the tree, which begins with candidate 0; part: is it inside?
    for (int i = 0; i < n; i++) u->one[i] = i == 0 ? NAN : u->D[i], u->part[i] = i == 0;
    for (int step = 0; step < n - 1; step++) {
        // the nearest one outside joins
        int next = -1;
        for (int i = 0; i < n; i++)
            if (!u->part[i] && (next < 0 || u->one[i] < u->one[next])) next = i;
        u->edge[step] = u->one[next];
        u->part[next] = 1;
        for (int i = 0; i < n; i++)
            if (!u->part[i]) u->one[i] = fmin(u->one[i], u->D[next * n + i]);
    }
    qsort(u->edge, (size_t)(n - 1), sizeof *u->edge, by_size);
}

// Two groups that contradict each other, in group[]
static bool find_split(jury *u)
{
    kd_comparison *c = u->j->result;
    if (u->n < 4) return false;
    spanning_tree(u);
    for (int e = 0; e < u->n - 1 && u->edge[e] > LEAST_SPLIT; e++) {
        // without the edges from this length on: two groups of two or more?
        int group[2] = {0, 0};
        if (components(u, u->edge[e], group) < 2) continue;
        // far apart compared with the distances inside, and with what the last refinement changed?
        double apart = distance_between(u, group[0], group[1]);
        double within = fmax(distance_inside(u, group[0]), distance_inside(u, group[1]));
        double change = fmax(last_change(u, group[0]), last_change(u, group[1]));
        if (apart < APART * within || apart < CONVERGED * change) continue;
        for (int i = 0; i < u->n; i++) {
            int root = root_of(u->part, i);
            u->group[i] = root == group[0] ? 1 : root == group[1] ? 2 : 0;
        }
        c->split_distance = apart;
        return true;
    }
    return false;
}

// What one property says about the two groups: 1 if all of group 1 have it and none of group 2, -1 the other way round
static int separates(const jury *u, bool (*has)(const kd_comparison *c, const kd_compare_run *r, int what), int what)
{
    int count[3][2] = {{0}};
    for (int i = 0; i < u->n; i++) count[u->group[i]][has(u->j->result, &u->j->result->run[u->candidate[i]], what)]++;
    if (count[1][0] == 0 && count[2][1] == 0) return 1;
    return count[1][1] == 0 && count[2][0] == 0 ? -1 : 0;
}

static bool is_of_side(const kd_comparison *c, const kd_compare_run *r, int side)
{
    (void)c;
    return r->side == side;
}
static bool has_gII(const kd_comparison *c, const kd_compare_run *r, int what)
{
    (void)what;
    return c->method[r->method].uses_gII;
}
static bool has_explicit(const kd_comparison *c, const kd_compare_run *r, int what)
{
    (void)what;
    return c->method[r->method].is_explicit;
}
static bool has_formulation(const kd_comparison *c, const kd_compare_run *r, int form)
{
    return c->method[r->method].formulation == (kd_formulation)form;
}

// What the members of each group have in common
static void name_split(jury *u)
{
    kd_comparison *c = u->j->result;
    char          *text = c->split_words;
    size_t         size = sizeof c->split_words;
    text[0] = '\0';
    // the first property that tells the groups apart is named: equations, gII, explicit, formulation
    for (int side = 0; side < c->nsides && c->nsides > 1; side++)
        if (separates(u, is_of_side, side)) {
            kd_text(text, size, "%s coordinates against the others: the two sets of equations differ", c->side[side]);
            return;
        }
    // second derivatives that contradict the constraints
    if (separates(u, has_gII, 0)) {
        kd_text(text, size,
                "formulations that use the second derivative gII of the constraints against those that do not: the "
                "levels g, gI, gII contradict each other");
        return;
    }
    // kinds of methods, then single formulations
    if (separates(u, has_explicit, 0)) kd_text(text, size, "explicit methods against implicit ones");
    for (int form = 0; form < KD_FORMULATION_COUNT && !text[0]; form++)
        if (separates(u, has_formulation, form))
            kd_text(text, size, "%s against the other formulations", kd_formulation_word((kd_formulation)form));
    for (int i = 0, told = 0; !text[0] || told > 0; i++) { // else the smaller group by its members
        if (i == u->n) break;
        if (u->group[i] != 2 || told == 4) continue;
        char words[100];
        kd_text_append(text, size, "%s%s", told > 0 ? ", " : "",
                       kd_compare_run_words(c, &c->run[u->candidate[i]], words, sizeof words));
        told++;
    }
}

// ---- 2. reference, 3. parting ---------------------------------------------------------------------------------------

// How far a candidate moved by its last refinements: two of them, as one may be small by chance. Without a looser run
// the middle distance from the others stands for it
static double change_of(const jury *u, int i)
{
    double change = fmax(refinement(u, u->candidate[i], 1), 0.1 * refinement(u, u->candidate[i], 2)); // NaN is ignored
    if (!isnan(change)) return change;
    for (int k = 0; k < u->n; k++) u->one[k] = u->D[i * u->n + k];
    return median(u->one, u->n);
}

static bool is_eligible(const jury *u, int i)
{
    return !u->j->result->split || u->group[i] == 1;
}

// The candidate that moved least, and the independent ones that moved least: at most COMPANIONS, their number returned
static int find_pairs(jury *u, int strictness, int *reference, int companion[COMPANIONS])
{
    int n = 0;
    *reference = -1;
    for (int i = 0; i < u->n; i++)
        if (is_eligible(u, i) && (*reference < 0 || u->change[i] < u->change[*reference])) *reference = i;
    // insertion into the short list by what the last refinements changed
    for (int i = 0; i < u->n; i++) {
        if (!is_eligible(u, i) || !are_apart(u, i, *reference, strictness)) continue;
        int k = n < COMPANIONS ? n++ : COMPANIONS;
        for (; k > 0 && u->change[i] < u->change[companion[k - 1]]; k--)
            if (k < COMPANIONS) companion[k] = companion[k - 1];
        if (k < COMPANIONS) companion[k] = i;
    }
    return n;
}

// pair: the reference and, of its companions, the one in the middle
static bool find_reference(jury *u, int pair[2])
{
    kd_comparison *c = u->j->result;
    int            companion[COMPANIONS], n = 0;
    find_scales(u);
    find_distances(u);
    for (int i = 0; i < u->n; i++) u->change[i] = change_of(u, i);
    // as independent as there are any
    for (int strictness = c->split ? 1 : 2; strictness >= 0 && n == 0; strictness--)
        n = find_pairs(u, strictness, &pair[0], companion);
    for (int i = 1; i < n; i++) { // by distance
        int other = companion[i], k = i;
        for (; k > 0 && u->D[pair[0] * u->n + other] < u->D[pair[0] * u->n + companion[k - 1]]; k--)
            companion[k] = companion[k - 1];
        companion[k] = other;
    }
    if (n > 0) pair[1] = companion[n / 2];
    return n > 0;
}

// Rows before the two part; all of them if they do not
static int rows_together(const jury *u, const int pair[2])
{
    const kd_track_of_run *a = &u->j->track[u->candidate[pair[0]]], *b = &u->j->track[u->candidate[pair[1]]];
    for (int row = 0; row < u->rows; row++)
        if (kd_row_distance(u->j->channels, u->scale, a, b, row, false) > u->j->result->parting) return row;
    return u->rows;
}

// false: there is nothing to compare with
static bool choose_reference(jury *u)
{
    kd_comparison *c = u->j->result;
    const double  *times = u->j->track[u->candidate[0]].times;
    int            pair[2] = {0, 0};
    for (int i = 0; i < MOST_PARTINGS; i++) {
        // where reference and companion part, later times are dropped and both are chosen again
        if (!find_reference(u, pair)) return false;
        int rows = rows_together(u, pair);
        if (rows == u->rows) break;
        c->t_part = times[rows];
        if (rows == 0) break;
        u->rows = rows;
    }
    c->reference = u->candidate[pair[0]];
    c->companion = u->candidate[pair[1]];
    c->uncertainty = u->D[pair[0] * u->n + pair[1]];
    return true;
}

// A single method has only its own looser run to be judged by
static void judge_alone(jury *u)
{
    kd_comparison *c = u->j->result;
    int            run = u->candidate[0];
    find_scales(u);
    c->reference = run;
    if (run % c->tolerances > 0 && is_good(u, run - 1)) {
        c->companion = run - 1;
        c->uncertainty = between(u, run, run - 1, false);
    }
}

// ---- 4. errors ------------------------------------------------------------------------------------------------------

static void find_errors(jury *u)
{
    const kd_judgement    *j = u->j;
    kd_comparison         *c = j->result;
    const kd_track_of_run *ref = &j->track[c->reference];
    bool                   has_outputs = false;
    for (int k = 0; k < j->channels->count; k++) has_outputs = has_outputs || j->channels->list[k].is_output;
    c->run[c->reference].is_reference = true;
    for (int i = 0; i < c->nruns; i++) {
        kd_compare_run *run = &c->run[i];
        if (!is_good(u, i)) continue;
        // e = max(distance from the reference, uncertainty)
        run->error = between(u, i, c->reference, false);
        if (!(run->error > c->uncertainty)) run->error = c->uncertainty;
        if (has_outputs)
            run->output_error =
                between(u, i == c->reference && c->companion >= 0 ? c->companion : i, c->reference, true);
        // the last time before it leaves the reference
        run->t_good = c->t_end;
        for (int row = 0; row < ref->rows && run->t_good == c->t_end; row++)
            if (ref->times[row] >= c->t_part ||
                kd_row_distance(j->channels, u->scale, &j->track[i], ref, row, false) > c->parting)
                run->t_good = row > 0 ? ref->times[row - 1] : c->t_start;
    }
}

// Of each channel the largest difference of reference and companion, relative to its size
static void find_spreads(jury *u)
{
    const kd_judgement *j = u->j;
    kd_comparison      *c = j->result;
    for (int k = 0; k < c->nchannels; k++) {
        kd_compare_channel *channel = &c->channel[k];
        // without a companion nothing is known about the reference itself
        channel->scale = u->scale[k];
        channel->spread = c->companion >= 0 ? 0 : NAN;
        for (int row = 0; c->companion >= 0 && row < u->rows; row++) {
            double d =
                kd_channel_distance(&j->channels->list[k], &j->track[c->reference], &j->track[c->companion], row);
            if (d / u->scale[k] <= channel->spread) continue;
            channel->spread = d / u->scale[k];
            channel->t = j->track[c->reference].times[row];
        }
    }
}

// ---- choices --------------------------------------------------------------------------------------------------------

// Time of a series to an accuracy, log-log between the runs on either side; infinity: it does not get there
static double time_to(const kd_comparison *c, int first, double accuracy, int *run, double *tolerance)
{
    for (int i = first; i < first + c->tolerances; i++) {
        const kd_compare_run *r = &c->run[i], *looser = r - 1;
        if (r->outcome != KD_COMPARE_DONE || !(r->error <= accuracy)) continue;
        *run = i;
        *tolerance = r->tolerance;
        if (i == first || looser->outcome != KD_COMPARE_DONE || !(looser->error > accuracy) || !(r->error > 0) ||
            !(looser->seconds > 0))
            return r->seconds;
        // t(e) along the straight line between (log e, log t) of both runs
        double share = log(looser->error / accuracy) / log(looser->error / r->error);
        *tolerance = looser->tolerance * pow(r->tolerance / looser->tolerance, share);
        return looser->seconds * pow(r->seconds / looser->seconds, share);
    }
    return INFINITY;
}

double kd_comparison_time_to(const kd_comparison *c, int side, int method, double accuracy)
{
    if (!c) return NAN;
    int    run;
    double tolerance;
    return time_to(c, (side * c->nmethods + method) * c->tolerances, accuracy, &run, &tolerance);
}

// The fastest method for each accuracy
static void choose_methods(kd_comparison *c)
{
    static const double ACCURACY[KD_COMPARE_ACCURACIES] = {1e-3, 1e-5, 1e-7};
    for (int k = 0; k < KD_COMPARE_ACCURACIES; k++) {
        kd_compare_choice *choice = &c->choice[k];
        *choice = (kd_compare_choice){.accuracy = ACCURACY[k], .run = -1, .seconds = NAN, .usual_seconds = NAN};
        double best = INFINITY;
        for (int first = 0; first < c->nruns; first += c->tolerances) {
            // the fastest series to this accuracy, and the usual one beside it
            int    run;
            double tolerance, seconds = time_to(c, first, ACCURACY[k], &run, &tolerance);
            if (!isfinite(seconds)) continue;
            if (c->run[first].side == c->usual_side && c->run[first].method == c->usual_method)
                choice->usual_seconds = seconds;
            if (seconds >= best) continue;
            best = choice->seconds = seconds;
            choice->run = run;
            choice->tolerance = tolerance;
        }
    }
}

// ---- exported -------------------------------------------------------------------------------------------------------

kd_status kd_compare_judge(const kd_judgement *j)
{
    jury           u = {.j = j};
    kd_comparison *c = j->result;
    int            series = c->nruns / c->tolerances, room = series > j->channels->count ? series : j->channels->count;
    u.candidate = kd_cut_int(&u.arena, series);
    u.group = kd_cut_int(&u.arena, series);
    u.part = kd_cut_int(&u.arena, series);
    u.edge = kd_cut_double(&u.arena, series);
    u.change = kd_cut_double(&u.arena, series);
    u.D = kd_cut_matrix(&u.arena, series, series);
    u.scale = kd_cut_double(&u.arena, j->channels->count);
    u.one = kd_cut_double(&u.arena, room);
    kd_status status = u.arena.failed ? KD_ERR_MEMORY : KD_OK;
    c->t_part = INFINITY;
    c->uncertainty = NAN;
    if (status < 0) goto done;
    // 1. split, 2. reference and 3. parting, 4. errors
    find_candidates(&u);
    if (u.n > 0) {
        u.rows = j->track[u.candidate[0]].ntimes;
        find_scales(&u);
        find_distances(&u);
        c->split = find_split(&u);
        if (c->split) name_split(&u);
        if (!choose_reference(&u)) judge_alone(&u);
        find_errors(&u);
        find_spreads(&u);
    }
    choose_methods(c);
done:
    kd_arena_release(&u.arena);
    return status;
}
