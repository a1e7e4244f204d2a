// realtime_hitch.c: car with caravan through a double lane change (S4 4.3, figures 10 and 11), steps of 1 ms, J2,
// velocities first as in veDYNA: position defect of the hitch and coupling forces, by constraints with Baumgarte's
// stabilisation (index 1, alpha = 100, beta = 1e4) and by spring-dampers.
//
// J2 is stable for springs of any stiffness that stand in its matrix. veDYNA's did not: car and trailer were modules
// with matrices of their own, and the force of the hook between them came from the start of the step. That has a limit
// of stability; the stiffest spring-damper of this kind is found by bisection over the stiffness k, damping c = k RATE.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common_figure.h"
#include "core/text.h"
#include "realtime.h"

#define STEP 1e-3
#define END 10.0
#define RATE 0.02 // damping over stiffness, that of the model file [s]
#define EXCESS 10 // a motion whose forces are larger by this than those of the constraint counts as unstable
#define HOOK "hook(1)"
#define FLOOR 1e-16 // 0 cannot be shown in a logarithm
enum { SAMPLES = 10000, OUTPUTS = 40, FORCES = 3, SHOWN = 5 };

typedef enum coupling { BY_SPRING = 2, BY_CONSTRAINT = 1 } coupling;

typedef struct hitch {
    coupling                  kind;
    kd_realtime_stabilisation stabilisation;
    int                       index;
    bool                      explicit_hook; // left out of the matrix
    double                    k, c;          // of the spring-damper
} hitch;

typedef struct passage {
    int    n;
    double t[SAMPLES], defect[SAMPLES], force[FORCES][SAMPLES];
    double largest_defect, largest_force, roughness; // sum of second differences of all forces [N]
    char   message[500];                             // why it ended early; ""
} passage;

static void find_ports(const kd_realtime *rt, coupling kind, int port[1 + FORCES])
{
    static const char *const names[2][FORCES] = {{"pull(1)", "side(1)", "weight(1)"},
                                                 {"hook-pull(1)", "hook-side(1)", "hook-weight(1)"}};
    port[0] = kd_realtime_output(rt, "defect");
    for (int i = 0; i < FORCES; i++) port[1 + i] = kd_realtime_output(rt, names[kind == BY_SPRING][i]);
}

static void keep(passage *p, double t, const double *outputs, const int port[1 + FORCES])
{
    const int n = p->n++;
    p->t[n] = t;
    p->defect[n] = fmax(FLOOR, outputs[port[0]]);
    p->largest_defect = fmax(p->largest_defect, p->defect[n]);
    for (int i = 0; i < FORCES; i++) {
        double *f = p->force[i];
        f[n] = outputs[port[1 + i]];
        p->largest_force = fmax(p->largest_force, fabs(f[n]));
        if (n >= 2) p->roughness += fabs(f[n] - 2 * f[n - 1] + f[n - 2]);
    }
}

static kd_realtime_options options_of(const hitch *h)
{
    kd_realtime_options opt = kd_realtime_options_default();
    opt.h = STEP;
    opt.index = h->index;
    opt.stabilisation = h->stabilisation;
    opt.velocities_first = h->stabilisation != KD_REALTIME_GGL;
    opt.alpha = 100, opt.beta = 1e4;
    return opt;
}

static bool open_ride(realtime_ride *ride, const hitch *h, char *message, size_t size)
{
    char                      k[40], c[40], kind[8];
    const kd_setting          settings[] = {{"coupling", kind}, {"hook_k", k}, {"hook_c", c}};
    const kd_realtime_options opt = options_of(h);
    kd_text(kind, sizeof kind, "%d", (int)h->kind);
    kd_text(k, sizeof k, "%.9g", h->k);
    kd_text(c, sizeof c, "%.9g", h->c);
    return realtime_ride_open(ride, "car-trailer", settings, 3, h->explicit_hook ? HOOK : NULL, &opt, message, size);
}

// Car and caravan as modules
static bool drive_modules(const hitch *h, passage *p)
{
    static const int          port[1 + FORCES] = {0, 1, 2, 3};
    const kd_realtime_options opt = options_of(h);
    realtime_train            train;
    p->n = 0;
    p->largest_defect = p->largest_force = p->roughness = 0;
    p->message[0] = '\0';
    bool good = realtime_train_open(&train, &opt, p->message, sizeof p->message);
    for (long i = 0; i < lrint(END / STEP) && good; i++) {
        double d[3], f[3];
        good = realtime_train_step(&train, d, f);
        const double out[1 + FORCES] = {sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), f[0], f[1], -f[2]};
        if (good) keep(p, kd_realtime_state(train.module[0].stepper)->t, out, port);
        if (!good) kd_text(p->message, sizeof p->message, "%s", kd_hook_message(train.hook));
    }
    realtime_train_close(&train);
    return good;
}

// Until the end, or until forces are above the bound
static bool drive(const hitch *h, double end, double bound, passage *p)
{
    realtime_ride ride;
    int           port[1 + FORCES] = {-1, -1, -1, -1};
    double        outputs[OUTPUTS];
    p->n = 0;
    p->largest_defect = p->largest_force = p->roughness = 0;
    p->message[0] = '\0';
    bool good =
        open_ride(&ride, h, p->message, sizeof p->message) && kd_eom_dims(kd_system_eom(ride.system)).ny <= OUTPUTS;
    if (good) find_ports(ride.stepper, h->kind, port);
    for (int i = 0; i <= FORCES; i++) good = good && port[i] >= 0;
    for (long i = 0; i < lrint(end / STEP) && good; i++) {
        good = kd_realtime_step(ride.stepper, NULL, outputs) >= 0;
        if (good) keep(p, kd_realtime_state(ride.stepper)->t, outputs, port);
        if (!good) kd_text(p->message, sizeof p->message, "%s", kd_realtime_message(ride.stepper));
        good = good && p->largest_force < bound;
    }
    realtime_ride_close(&ride);
    return good;
}

static hitch spring_of(double k, bool explicit_hook)
{
    return (hitch){BY_SPRING, KD_REALTIME_BAUMGARTE, 1, explicit_hook, k, RATE * k};
}

// Short runs first; then the whole way, a little softer as long as that is needed.
static double stiffest(bool quick, double bound, passage *p)
{
    const double end = quick ? 0.5 : 3, grain = quick ? 1.05 : 1.01; // straight on [s]
    double       low = 1e5, high = 1e10;
    while (high > grain * low) {
        const double middle = sqrt(low * high);
        const hitch  h = spring_of(middle, true);
        if (drive(&h, end, bound, p))
            low = middle;
        else
            high = middle;
    }
    for (; low > 1e5; low *= 0.98) {
        const hitch h = spring_of(low, true);
        if (drive(&h, END, bound, p)) return low;
    }
    return NAN;
}

// ---- figures 10 and 11 ----------------------------------------------------------------------------------------------

static void draw(bench *b, const passage *p, const char *const *titles, int n)
{
    static const char *const directions[FORCES] = {"pull", "side", "weight"};
    kd_series                defects[SHOWN], forces[FORCES][SHOWN];
    kd_plot                  plots[FORCES];
    for (int k = 0; k < n; k++) {
        defects[k] = (kd_series){.name = titles[k], .x = p[k].t, .y = p[k].defect, .n = p[k].n};
        for (int i = 0; i < FORCES; i++)
            forces[i][k] = (kd_series){.name = titles[k], .x = p[k].t, .y = p[k].force[i], .n = p[k].n};
    }
    const kd_plot defect = {.title = "Car with caravan: position defect of the hitch",
                            .xlabel = "t [s]",
                            .ylabel = "defect [m]",
                            .ylog = true,
                            .width = 800,
                            .nseries = n,
                            .series = defects,
                            .note = "double lane change at 15 m/s, h = 1 ms, J2, velocities first"};
    for (int i = 0; i < FORCES; i++)
        plots[i] = (kd_plot){.title = directions[i],
                             .xlabel = "t [s]",
                             .ylabel = "force of the caravan on the car [N]",
                             .width = 800,
                             .nseries = n,
                             .series = forces[i],
                             .note = "double lane change at 15 m/s, h = 1 ms, J2, velocities first"};
    bench_figure(b, "realtime-hitch-defect", &defect, 1, 1);
    bench_figure(b, "realtime-hitch-force", plots, FORCES, 1);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static void row_of_stiffest(bench *b, const passage *constraint, double k, const passage *spring)
{
    char note[300];
    kd_text(note, sizeof note,
            "stiffest stable one at 1 ms, J2 of all else: k = %.3g N/m, c = k/50 s; %.3g times the constraint's", k,
            spring->largest_defect / constraint->largest_defect);
    bench_row(b, bench_above(100 * constraint->largest_defect), 0.1, isnan(k) ? NAN : spring->largest_defect, "m", note,
              "hitch.spring");
    kd_text(note, sizeof note, "second differences of the forces, spring over constraint (%.4g N, %.4g N)",
            spring->roughness, constraint->roughness);
    bench_row(b, bench_above(1), NAN, isnan(k) ? NAN : spring->roughness / constraint->roughness, "", note,
              "hitch.force_variation");
}

// In the matrix of J2: the stiffest power of ten whose forces stay below twice those of the constraint
static void row_of_inside(bench *b, const passage *constraint, passage *p)
{
    char   note[300] = "none is good";
    double defect = NAN;
    for (double k = 1e6; k < 1e13; k *= 10) {
        const hitch h = spring_of(k, false);
        const bool  stable = drive(&h, END, INFINITY, p);
        bench_say(b, "hook in the matrix, k = %.0e N/m: %s, defect %.2e m, largest force %.4g N\n", k,
                  stable ? "stable" : "unstable", p->largest_defect, p->largest_force);
        if (!stable || p->largest_force > 2 * constraint->largest_force) break;
        defect = p->largest_defect;
        kd_text(note, sizeof note, "hook in the matrix: k = %.0e N/m, stiffer ones are stable, but their forces wrong",
                k);
    }
    bench_row(b, bench_no_goal(false), NAN, defect, "m", note, "hitch.spring_inside");
}

static void row_of(bench *b, const hitch *h, const char *name, const char *note, bench_goal goal, double paper,
                   passage *p)
{
    const bool good = drive(h, END, INFINITY, p);
    bench_row(b, goal, paper, good ? p->largest_defect : NAN, "m", good ? note : p->message, "hitch.%s", name);
}

// S4's hook: vehicle, trailer and hook as modules, each evaluated once per step
static void rows_of_modules(bench *b, const hitch *h, const passage *constraint, passage *p)
{
    char                      note[600];
    const kd_realtime_options opt = options_of(h);
    const bool                good = drive_modules(h, p);
    kd_text(note, sizeof note,
            "car, caravan and hook as modules: largest defect %.3g m, beside that of the assembled system; largest "
            "force %.5g N (%.5g N)",
            p->largest_defect, p->largest_force, constraint->largest_force);
    bench_row(b, bench_below(2), NAN, good ? p->largest_defect / constraint->largest_defect : NAN, "",
              good ? note : p->message, "hitch.modules.defect");
    realtime_train_cost(b, &opt);
}

void realtime_hitch(bench *b)
{
    static passage p[SHOWN + 1];
    char           stiff[80];
    const char    *titles[SHOWN] = {"constraint, Baumgarte", stiff, "modules with a hook", "spring 1e6 N/m",
                                    "constraint, ggl"};
    const hitch    constraint = {BY_CONSTRAINT, KD_REALTIME_BAUMGARTE, 1, false, 0, 0};
    const hitch    regularised = {BY_CONSTRAINT, KD_REALTIME_REGULARISATION, 2, false, 0, 0};
    const hitch    ggl = {BY_CONSTRAINT, KD_REALTIME_GGL, 2, false, 0, 0};
    const hitch    file = {BY_SPRING, KD_REALTIME_BAUMGARTE, 1, false, 1e6, 2e4};
    if (!bench_wants(b, "hitch.")) return;
    row_of(b, &constraint, "constraint", "largest defect; Baumgarte, index 1, alpha = 100, beta = 1e4",
           bench_below(1e-5), 1e-5, &p[0]);
    const double k = stiffest(bench_quick(b), EXCESS * p[0].largest_force, &p[1]);
    row_of_stiffest(b, &p[0], k, &p[1]);
    kd_text(stiff, sizeof stiff, "spring %.2g N/m, in no matrix", k);
    rows_of_modules(b, &constraint, &p[0], &p[2]);
    if (!bench_quick(b)) {
        row_of(b, &file, "spring_soft", "spring-damper of the model file: k = 1e6 N/m, c = 2e4 N s/m",
               bench_no_goal(false), NAN, &p[3]);
        row_of(b, &ggl, "ggl", "kardan's default", bench_no_goal(false), NAN, &p[4]);
        row_of(b, &regularised, "regularisation", "sequential regularisation of order 1, index 2, alpha = 100",
               bench_no_goal(false), NAN, &p[5]);
        row_of_inside(b, &p[0], &p[5]);
    }
    draw(b, p, titles, bench_quick(b) ? 3 : SHOWN);
}
