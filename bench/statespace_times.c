// statespace_times.c: the HMMWV over a bump: times of implicit and explicit integration (S2 tables V and VI), in joint
// coordinates and in the Cartesian ones of S2. The explicit peer of S2 is an Adams code: CVODE's Adams methods on the
// state-space form, and kardan's own; beside them stand the fastest explicit methods of kardan and of ARKODE. Every figure is
// that of a run over the whole time, which takes minutes: stability allows steps of about 1e-5 s, whatever the
// tolerance.
#include "core/text.h"
#include "statespace.h"
#include <math.h>

enum { TOLERANCES = 4, SPANS = 4, MIDDLE = 1 };
#define SHORT_SPAN 0.02 // [s] on the bump: a quick run, and the choice of the fastest method

static const double paper_implicit[SPANS][TOLERANCES] = {
    {10.1, 21, 33, 57}, {25.3, 49, 78, 139}, {29.5, 58, 92, 166}, {30, 61, 94, 184}};
static const double paper_explicit[SPANS][TOLERANCES] = {
    {3618, 3641, 3667, 3663}, {7276, 7348, 7287, 7276}, {10865, 11122, 10949, 10965}, {14480, 14771, 14630, 14592}};

// One model in one kind of coordinates
typedef struct vehicle {
    const char        *coordinates, *dot;   // word in the names of rows; "" and "" for joint coordinates
    statespace_problem whole, on_bump;      // on the bump: it begins where the front wheels meet it
    kd_state          *implicit, *adams;    // at the end
    double             seconds[TOLERANCES]; // of sdirk over the whole time
} vehicle;

typedef struct explicit_method {
    const char       *name;
    statespace_method method;
} explicit_method;

static const explicit_method own_methods[] = {
    {"dopri5 on ode", {.form = "ode", .integrator = "dopri5"}},
    {"dop853 on ode", {.form = "ode", .integrator = "dop853"}},
    {"half-explicit", {.form = "ode", .integrator = "half-explicit"}},
    {"dopri5 on statespace", {.form = "statespace", .integrator = "dopri5"}},
    {"adams on statespace", {.form = "statespace", .integrator = "adams"}},
};
static const explicit_method peer_methods[] = {
    {"ARKODE, order 2", {.form = "ode", .integrator = "arkode", .order = 2}},
    {"ARKODE, order 3", {.form = "ode", .integrator = "arkode", .order = 3}},
    {"ARKODE, order 4", {.form = "ode", .integrator = "arkode", .order = 4}},
    {"ARKODE, order 5", {.form = "ode", .integrator = "arkode", .order = 5}},
    {"ARKODE, order 8", {.form = "ode", .integrator = "arkode", .order = 8}},
};
enum { OWN = sizeof own_methods / sizeof *own_methods, PEERS = sizeof peer_methods / sizeof *peer_methods };

static const statespace_method adams = {.form = "statespace", .integrator = "cvode", .adams = true};

static bool vehicle_open(vehicle *v, kd_coordinates coordinates, char *message, size_t size)
{
    const kd_setting reach = {"reach", "0"};
    const bool       joint = coordinates == KD_JOINT;
    *v = (vehicle){.coordinates = joint ? "" : "cartesian", .dot = joint ? "" : "."};
    return statespace_open(&v->whole, "hmmwv", NULL, 0, coordinates, message, size) &&
           statespace_open(&v->on_bump, "hmmwv", &reach, 1, coordinates, message, size) &&
           kd_state_create(v->whole.eom, &v->implicit) >= 0 && kd_state_create(v->whole.eom, &v->adams) >= 0;
}

static void vehicle_close(vehicle *v)
{
    kd_state_destroy(v->implicit);
    kd_state_destroy(v->adams);
    statespace_close(&v->whole);
    statespace_close(&v->on_bump);
}

// ---- implicit: table V ----------------------------------------------------------------------------------------------

static void implicit_rows(bench *b, vehicle *v, int first, int last)
{
    const statespace_method sdirk = {.form = statespace_form(), .integrator = "sdirk"};
    for (int span = 1; span <= SPANS; span++)
        for (int k = first; k <= last; k++) {
            const int          rounds = bench_quick(b) || span < SPANS ? 1 : 3;
            statespace_outcome o = statespace_drive(&v->whole, &sdirk, pow(10, -2 - k), span, rounds,
                                                    span == SPANS && k == MIDDLE ? v->implicit : NULL);
            char               note[340];
            kd_text(note, sizeof note, "sdirk on %s, %ld steps%s%s", sdirk.form, o.stats.accepted,
                    o.status < 0 ? ": " : "", o.status < 0 ? o.message : "");
            bench_row(b, bench_no_goal(false), paper_implicit[span - 1][k], o.seconds, "s", note,
                      "time.implicit%s%s.%ds.1e%d", v->dot, v->coordinates, span, -2 - k);
            if (span == SPANS) v->seconds[k] = o.seconds;
        }
}

// ---- explicit: table VI ---------------------------------------------------------------------------------------------

// The instants at the bump and all whole seconds, in their order
static int stops_with_seconds(double stops[STATESPACE_STOPS])
{
    int n = statespace_stops(SPANS, stops);
    for (int second = 1; second < SPANS; second++) {
        int i = n++;
        for (; i > 0 && stops[i - 1] > second; i--) stops[i] = stops[i - 1];
        stops[i] = second;
    }
    return n;
}

// One run over the whole time; seconds: CPU time after 1, 2, 3 and 4 s of motion
static statespace_outcome drive_explicitly(const vehicle *v, const statespace_method *method, double tol, kd_state *x,
                                           double seconds[SPANS])
{
    double             stops[STATESPACE_STOPS], at[STATESPACE_STOPS];
    statespace_run     run = {.tol = tol, .stops = stops, .nstops = stops_with_seconds(stops), .seconds = at};
    statespace_outcome o = statespace_simulate(&v->whole, method, &run, x);
    for (int i = 0; i < run.nstops; i++)
        for (int second = 1; second <= SPANS; second++)
            if (stops[i] == second) seconds[second - 1] = o.status < 0 ? NAN : at[i];
    return o;
}

static statespace_outcome drive_shortly(const vehicle *v, const statespace_method *method, double tol)
{
    static const double span = SHORT_SPAN;
    statespace_run      run = {.tol = tol, .stops = &span, .nstops = 1};
    return statespace_simulate(&v->on_bump, method, &run, NULL);
}

static void note_of(char *note, size_t size, const char *name, const statespace_outcome *o)
{
    kd_text(note, size, "%s, %ld steps%s%s", name, o->stats.accepted, o->status < 0 ? ": " : "",
            o->status < 0 ? o->message : "");
}

static bench_goal ratio_goal(int k)
{
    return k == 0 ? bench_above(150) : k == MIDDLE ? bench_above(100) : bench_no_goal(true);
}

// The Adams methods at one tolerance; the positions at the end of the middle one are kept
static void adams_rows(bench *b, vehicle *v, int k, bool *complete)
{
    double             seconds[SPANS];
    char               note[340];
    statespace_outcome o = drive_explicitly(v, &adams, pow(10, -2 - k), k == MIDDLE ? v->adams : NULL, seconds);
    note_of(note, sizeof note, "CVODE Adams on statespace", &o);
    for (int end = 1; end <= SPANS; end++)
        bench_row(b, bench_no_goal(false), paper_explicit[end - 1][k], seconds[end - 1], "s", note,
                  "time.explicit%s%s.%ds.1e%d", v->dot, v->coordinates, end, -2 - k);
    bench_row(b, ratio_goal(k), paper_explicit[SPANS - 1][k] / paper_implicit[SPANS - 1][k],
              seconds[SPANS - 1] / v->seconds[k], "", "CVODE Adams / sdirk, both over the whole 4 s",
              "ratio.explicit_over_implicit%s%s.1e%d", v->dot, v->coordinates, -2 - k);
    if (k == MIDDLE) *complete = o.status >= 0;
}

// The same with kardan's own predicted and corrected Adams methods, the kind that S2 compares with in table IV
static void own_adams_rows(bench *b, const vehicle *v)
{
    static const statespace_method own = {.form = "statespace", .integrator = "adams"};
    double                         seconds[SPANS];
    char                           note[340];
    statespace_outcome             o = drive_explicitly(v, &own, pow(10, -2 - MIDDLE), NULL, seconds);
    note_of(note, sizeof note, "adams on statespace", &o);
    bench_row(b, bench_no_goal(false), paper_explicit[SPANS - 1][MIDDLE], seconds[SPANS - 1], "s", note,
              "time.explicit_adams%s%s.4s.1e-3", v->dot, v->coordinates);
    bench_row(b, bench_no_goal(true), paper_explicit[SPANS - 1][MIDDLE] / paper_implicit[SPANS - 1][MIDDLE],
              seconds[SPANS - 1] / v->seconds[MIDDLE], "", "adams / sdirk, both over the whole 4 s",
              "ratio.explicit_adams_over_implicit%s%s.1e-3", v->dot, v->coordinates);
}

// The fastest one over a short time on the bump; NULL: none reaches its end
static const explicit_method *fastest(const bench *b, const vehicle *v, const explicit_method *methods, int n)
{
    const explicit_method *best = NULL;
    double                 least = INFINITY;
    for (int i = 0; i < n; i++) {
        statespace_outcome o = drive_shortly(v, &methods[i].method, 1e-3);
        bench_say(b, "%-9s %-21s %7.3f s for %g s on the bump, %ld steps %s\n",
                  v->coordinates[0] ? v->coordinates : "joint", methods[i].name, o.seconds, SHORT_SPAN,
                  o.stats.accepted, o.status < 0 ? o.message : "");
        if (o.status >= 0 && o.seconds < least) least = o.seconds, best = &methods[i];
    }
    return best;
}

// whose: of kardan or of the peer
static void best_rows(bench *b, const vehicle *v, const char *whose, const explicit_method *methods, int n)
{
    double                 seconds[SPANS];
    char                   note[340], longer[400];
    const explicit_method *best = fastest(b, v, methods, n);
    if (!best) return;
    statespace_outcome o = drive_explicitly(v, &best->method, 1e-3, NULL, seconds);
    note_of(note, sizeof note, best->name, &o);
    bench_row(b, bench_no_goal(false), NAN, seconds[SPANS - 1], "s", note, "time.explicit_%s%s%s.4s.1e-3", whose,
              v->dot, v->coordinates);
    kd_text(longer, sizeof longer, "%s / sdirk, both over the whole 4 s", best->name);
    bench_row(b, bench_no_goal(true), NAN, seconds[SPANS - 1] / v->seconds[MIDDLE], "", longer,
              "ratio.explicit_%s_over_implicit%s%s.1e-3", whose, v->dot, v->coordinates);
}

// ---- do both move alike? --------------------------------------------------------------------------------------------

// In the norm of equal absolute and relative tolerances
static double scaled_difference(const statespace_problem *problem, const kd_state *a, const kd_state *b)
{
    double worst = 0;
    for (int i = 0; i < kd_eom_dims(problem->eom).np; i++)
        worst = fmax(worst, fabs(a->p[i] - b->p[i]) / (1 + fabs(b->p[i])));
    return worst;
}

static void motion_rows(bench *b, vehicle *v)
{
    const statespace_method sdirk = {.form = statespace_form(), .integrator = "sdirk"};
    bench_row(b, bench_below(1e-3), NAN, scaled_difference(&v->whole, v->implicit, v->adams), "",
              "positions at 4 s, both at tolerance 1e-3: |difference| / (1 + |p|)", "same_motion%s%s.1e-3", v->dot,
              v->coordinates);
    // small positions count more in the norm of the errors: a tighter tolerance
    if (v->dot[0] == '\0' && statespace_drive(&v->whole, &sdirk, 1e-4, SPANS, 1, v->implicit).status >= 0)
        bench_row(b, bench_below(1e-2), NAN, statespace_difference(&v->whole, v->implicit, v->adams), "",
                  "the same with sdirk at 1e-4: |difference| / max(1e-3, |p|)", "same_motion.1e-4");
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// A short time on the bump for both, so that nothing is extrapolated; not the figure of the full run
static void quick_rows(bench *b, const vehicle *v)
{
    const statespace_method sdirk = {.form = statespace_form(), .integrator = "sdirk"};
    statespace_outcome      one = drive_shortly(v, &sdirk, 1e-3), other = drive_shortly(v, &adams, 1e-3);
    char                    note[340];
    kd_text(note, sizeof note, "QUICK: CVODE Adams / sdirk over %g s on the bump %s", SHORT_SPAN,
            other.status < 0 ? other.message : "");
    bench_row(b, bench_no_goal(true), NAN, other.seconds / one.seconds, "", note,
              "ratio.explicit_over_implicit%s%s.short", v->dot, v->coordinates);
}

static void explicit_rows(bench *b, vehicle *v, int first, int last)
{
    bool complete = false;
    for (int k = first; k <= last; k++) adams_rows(b, v, k, &complete);
    if (complete) motion_rows(b, v);
    best_rows(b, v, "arkode", peer_methods, PEERS);
}

static void rows_without_peer(bench *b, const vehicle *v, int first, int last)
{
    for (int k = first; k <= last; k++)
        bench_row_without(b, ratio_goal(k), "SUNDIALS", "libsundials-dev", "ratio.explicit_over_implicit%s%s.1e%d",
                          v->dot, v->coordinates, -2 - k);
    bench_row_without(b, bench_below(1e-3), "SUNDIALS", "libsundials-dev", "same_motion%s%s.1e-3", v->dot,
                      v->coordinates);
}

// All tolerances in joint coordinates, the middle one in those of S2
static void vehicle_rows(bench *b, kd_coordinates coordinates)
{
    const bool joint = coordinates == KD_JOINT;
    const int  first = joint ? 0 : MIDDLE, last = joint ? TOLERANCES - 1 : MIDDLE;
    vehicle    v;
    char       message[300] = "";
    if (vehicle_open(&v, coordinates, message, sizeof message)) {
        implicit_rows(b, &v, first, last);
        if (!kd_integrator_about(KD_CVODE, NULL)->available)
            rows_without_peer(b, &v, first, last);
        else if (bench_quick(b))
            quick_rows(b, &v);
        else
            explicit_rows(b, &v, first, last);
        if (!bench_quick(b)) own_adams_rows(b, &v);
        if (!bench_quick(b)) best_rows(b, &v, "kardan", own_methods, OWN);
    } else {
        bench_say(b, "%s\n", message);
    }
    vehicle_close(&v);
}

void statespace_times(bench *b)
{
    if (!bench_wants(b, "time*") && !bench_wants(b, "ratio.explicit*") && !bench_wants(b, "same_motion*")) return;
    vehicle_rows(b, KD_JOINT);
    vehicle_rows(b, KD_CARTESIAN); // 98 coordinates, as in S2
}
