// bench_loops.c: the hanging ladder of N four-bar loops (cranks and couplers of 1 m and 1 kg, tips started at 1 m/s, 10
// s): one degree of freedom, N closed loops, exact motion of a pendulum. kardan's methods beside MuJoCo and Simbody,
// times at the same error of the angles.
#define _GNU_SOURCE // RTLD_DEEPBIND
#include "common_figure.h"
#include "common_fit.h"
#include "common_run.h"
#include "core/text.h"
#include "loops.h"
#include "pendulum.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_LEVELS = 16, MAX_SIZES = 6, NPEERS = 2 };
#define WANTED 1e-6 // [rad]

// phi'' = -w2 sin phi with w2 = g (3N + 1)/2 / ((4N + 1)/3)
static double exact_angle(int n)
{
    const double w2 = LOOPS_GRAVITY * (3 * n + 1) / 2 / ((4 * n + 1) / 3.0);
    double       p[2];
    kd_pendulum_exact(w2, false, 1, LOOPS_END, p, NULL, NULL);
    return atan2(p[0], -p[1]);
}

// ---- kardan ---------------------------------------------------------------------------------------------------------

typedef struct ladder {
    kd_model     *model;
    kd_system    *system;
    const kd_eom *eom;
    kd_state     *start;
    int           n;
    int           crank[LOOPS_LARGEST + 1]; // places of their angles in p
} ladder;

static bool find_cranks(ladder *l)
{
    int found = 0;
    for (int i = 0; i < kd_eom_dims(l->eom).np; i++) {
        char name[80];
        int  k;
        kd_eom_name(l->eom, KD_NAME_P, i, name, sizeof name);
        if (sscanf(name, "joint.pivot(%d)", &k) == 1 && k >= 0 && k <= l->n) l->crank[k] = i, found++;
    }
    return found == l->n + 1;
}

static bool ladder_open(ladder *l, int n, char *message, size_t size)
{
    char       value[20];
    kd_setting settings[3] = {{"N", value}, {"guard", "0"}, {"side", "-1"}};
    kd_text(value, sizeof value, "%d", n);
    *l = (ladder){.n = n};
    if (kd_model_read(KD_MODELS_DIR "/n-four-bar.yaml", settings, 3, &l->model, message, size) < 0) return false;
    if (kd_system_create(l->model, NULL, &l->system, message, size) < 0) return false;
    l->eom = kd_system_eom(l->system);
    return kd_state_create(l->eom, &l->start) >= 0 && kd_system_start(l->system, l->start, message, size) >= 0 &&
           find_cranks(l);
}

static void ladder_close(ladder *l)
{
    kd_state_destroy(l->start);
    kd_system_destroy(l->system);
    kd_model_destroy(l->model);
}

typedef struct method {
    const char    *name;
    kd_formulation formulation;
    const char    *integrator; // its word; an unknown one is left out
    int            order;      // of arkode
    kd_projection  projection;
    int            largest; // ladders beyond which it is not tried
    double         loosest; // tolerance
} method;

static const method methods[] = {
    {"radau psf", KD_PSF, "radau", 0, KD_PROJECT_NEVER, 10, 1e-5},
    {"bdf odassl", KD_ODASSL, "bdf", 0, KD_PROJECT_NEVER, LOOPS_LARGEST, 1e-7},
    {"arkode 5", KD_ODE, "arkode", 5, KD_PROJECT_NEVER, LOOPS_LARGEST, 1e-5},
    {"arkode 8", KD_ODE, "arkode", 8, KD_PROJECT_NEVER, LOOPS_LARGEST, 1e-4},
    {"arkode 8 projected", KD_ODE, "arkode", 8, KD_PROJECT_ALWAYS, LOOPS_LARGEST, 1e-4},
    {"dopri5 projected", KD_ODE, "dopri5", 0, KD_PROJECT_ALWAYS, LOOPS_LARGEST, 1e-5},
    {"dop853", KD_ODE, "dop853", 0, KD_PROJECT_NEVER, LOOPS_LARGEST, 1e-4},
    {"dop853 projected", KD_ODE, "dop853", 0, KD_PROJECT_ALWAYS, LOOPS_LARGEST, 1e-4},
    {"extrapolation projected", KD_ODE, "extrapolation", 0, KD_PROJECT_ALWAYS, LOOPS_LARGEST, 1e-4},
};
enum { NMETHODS = sizeof methods / sizeof *methods };

static bool options_of(const method *m, double tol, kd_simulation_options *options)
{
    kd_simulation_options o = kd_simulation_options_default();
    if (!kd_integrator_parse(m->integrator, &o.integrator)) return false;
    o.formulation = m->formulation;
    o.formulation_options.projection = m->projection;
    if (m->order > 0) o.integrator_options.arkode.order = m->order;
    o.rtol = o.atol = tol;
    *options = o;
    return true;
}

static loops_outcome ladder_run(const ladder *l, const method *m, double tol)
{
    loops_outcome         out = {.seconds = NAN, .error = NAN};
    kd_simulation_options o;
    kd_simulation        *simulation = NULL;
    kd_state             *x = NULL;
    char                  message[300];
    if (!options_of(m, tol, &o) || kd_state_create(l->eom, &x) < 0) return out;
    kd_state_copy(l->start, x);
    if (kd_simulation_create(l->eom, NULL, &o, x, &simulation, message, sizeof message) >= 0) {
        const double start = bench_cpu_seconds();
        if (kd_simulation_run(simulation, LOOPS_END) >= 0) {
            out.seconds = bench_cpu_seconds() - start;
            out.error = 0;
            for (int i = 0; i <= l->n; i++) out.error = fmax(out.error, fabs(x->p[l->crank[i]] - exact_angle(l->n)));
        }
        out.steps = kd_simulation_stats(simulation).steps;
    }
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    return out;
}

// ---- work against precision -----------------------------------------------------------------------------------------

typedef struct curve {
    const char *name;
    int         count;
    double      error[MAX_LEVELS], seconds[MAX_LEVELS];
    double      at_wanted; // seconds at the wanted error, NaN: not reached
} curve;

static void take(curve *c, int level, loops_outcome o, bool first)
{
    if (first) {
        c->error[level] = o.error;
        c->seconds[level] = o.seconds;
        c->count = level + 1;
    } else if (o.seconds < c->seconds[level]) {
        c->seconds[level] = o.seconds;
    }
}

static void finish(const bench *b, int n, curve *c)
{
    c->at_wanted = bench_crossing(c->count, c->error, c->seconds, WANTED);
    bench_say(b, "%5d %-20s", n, c->name);
    for (int k = 0; k < c->count; k++)
        if (isfinite(c->error[k])) bench_say(b, " %.1e:%.3g", c->error[k], 1e3 * c->seconds[k]);
    bench_say(b, "\n%27s%.4g ms at %.0e\n", "", 1e3 * c->at_wanted, WANTED);
}

static double best_of(const curve *curves, int n, const char **name)
{
    double best = NAN;
    for (int i = 0; i < n; i++)
        if (!(curves[i].at_wanted >= best) && isfinite(curves[i].at_wanted))
            best = curves[i].at_wanted, *name = curves[i].name;
    return best;
}

typedef struct comparison {
    int         n;
    double      own, peer; // seconds at the wanted error
    const char *own_name, *peer_name;
} comparison;

static void measure_own(const ladder *l, int rounds, curve *curves)
{
    enum { TOLERANCES = 5 };
    for (int r = 0; r < rounds; r++)
        for (int m = 0; m < NMETHODS; m++) {
            curves[m].name = methods[m].name;
            curves[m].at_wanted = NAN;
            kd_integrator_kind known;
            if (l->n > methods[m].largest || !kd_integrator_parse(methods[m].integrator, &known)) continue;
            for (int k = 0; k < TOLERANCES; k++)
                take(&curves[m], k, ladder_run(l, &methods[m], methods[m].loosest * pow(10, -0.5 * k)), r == 0);
        }
}

#define SLOW 0.3 // [s] runs that are not repeated

// The module of Simbody, NULL: not built, or not to be loaded. It stays until the end of the benchmark. Its libraries
// must find their own functions first: they bring an old part of SUNDIALS.
static const loops_program *find_simbody(void)
{
#ifdef KD_SIMBODY_MODULE
    void *module = dlopen(KD_SIMBODY_MODULE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    return module ? dlsym(module, "loops_simbody") : NULL;
#else
    return NULL;
#endif
}

static bool is_there(const loops_program *peer)
{
    return peer && peer->version();
}

static void measure_peer(const bench *b, const loops_program *p, int n, int rounds, curve *c)
{
    char        message[300] = "";
    const int   from = p->first[n <= 1 ? 0 : n <= 10 ? 1 : 2];
    loops_peer *peer = p->create(n, message, sizeof message);
    c->name = p->method;
    c->at_wanted = NAN;
    if (!peer) bench_say(b, "%s: %s\n", p->name, message);
    for (int r = 0; peer && r < rounds && (r == 0 || c->seconds[0] < SLOW); r++)
        for (int k = 0; k < p->levels; k++)
            take(c, k, p->run(peer, from + k, exact_angle(n), bench_cpu_seconds), r == 0);
    p->destroy(peer);
}

// peers: NULL where none is asked for
static comparison compare(const bench *b, int n, const loops_program *const *peers)
{
    comparison out = {.n = n, .own = NAN, .peer = NAN, .own_name = "none", .peer_name = "none"};
    ladder     l;
    curve      own[NMETHODS] = {0}, peer[NPEERS] = {0};
    char       message[600] = "";
    const int  rounds = bench_quick(b) ? 1 : 3;
    if (ladder_open(&l, n, message, sizeof message)) {
        measure_own(&l, rounds, own);
        for (int m = 0; m < NMETHODS; m++)
            if (own[m].count > 0) finish(b, n, &own[m]);
        out.own = best_of(own, NMETHODS, &out.own_name);
    } else {
        bench_say(b, "%s\n", message);
    }
    ladder_close(&l);
    if (!peers) return out;
    for (int i = 0; i < NPEERS; i++) {
        peer[i].at_wanted = NAN;
        if (is_there(peers[i])) measure_peer(b, peers[i], n, rounds, &peer[i]);
        if (peer[i].count > 0) finish(b, n, &peer[i]);
    }
    out.peer = best_of(peer, NPEERS, &out.peer_name);
    return out;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static bench_goal ratio_goal(int n)
{
    return n == 10 ? bench_above(4) : n == 40 ? bench_above(8) : bench_no_goal(true);
}

// The best of the peers that are installed; the note names one that is not.
static void peer_rows(bench *b, const comparison *c, const loops_program *const *peers)
{
    const bool mujoco = is_there(peers[0]), simbody = is_there(peers[1]);
    char       note[160];
    if (!mujoco && !simbody) {
        bench_row_without(b, ratio_goal(c->n), "MuJoCo and Simbody", "libmujoco-dev or libsimbody-dev",
                          "ratio.best_peer.N%d", c->n);
        return;
    }
    bench_row(b, bench_no_goal(false), NAN, 1e3 * c->peer, "ms", c->peer_name, "time.best_peer.N%d", c->n);
    kd_text(note, sizeof note, "%s / %s, at %.0e rad%s", c->peer_name, c->own_name, WANTED,
            !mujoco    ? "; MuJoCo is not installed"
            : !simbody ? "; Simbody is not installed"
                       : "");
    bench_row(b, ratio_goal(c->n), NAN, c->peer / c->own, "", note, "ratio.best_peer.N%d", c->n);
}

static void rows(bench *b, const loops_program *const *peers)
{
    static const int sizes[MAX_SIZES] = {1, 10, 20, 40, 80, 160};
    const int        count = bench_quick(b) ? 2 : MAX_SIZES;
    double           n[MAX_SIZES], seconds[MAX_SIZES];
    bench_say(b, "error of the angles [rad] : CPU time [ms]\n");
    for (int i = 0; i < count; i++) {
        const bool compared = sizes[i] == 1 || sizes[i] == 10 || sizes[i] == 40;
        comparison c = compare(b, sizes[i], compared ? peers : NULL);
        char       note[120];
        n[i] = sizes[i];
        seconds[i] = c.own;
        kd_text(note, sizeof note, "kardan: %s", c.own_name);
        bench_row(b, bench_no_goal(false), NAN, 1e3 * c.own, "ms", note, "time.kardan.N%d", c.n);
        if (compared) peer_rows(b, &c, peers);
    }
    if (count < MAX_SIZES) return;
    bench_row(b, bench_below(1.2), NAN, bench_slope(count - 1, n + 1, seconds + 1), "",
              "time ~ N^x, 10 to 160 loops, at the same error", "growth.loops");
    kd_series series = {.name = "kardan", .x = n, .y = seconds, .n = count, .markers = true};
    kd_plot   plot = {.title = "hanging ladder, 10 s, error of the angles 1e-6 rad",
                      .xlabel = "loops",
                      .ylabel = "CPU time [s]",
                      .xlog = true,
                      .ylog = true,
                      .nseries = 1,
                      .series = &series};
    bench_figure(b, "loops-growth", &plot, 1, 1);
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "The hanging ladder of N four-bar loops.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    const loops_program *peers[NPEERS] = {&loops_mujoco, find_simbody()};
    for (int i = 0; i < NPEERS; i++)
        if (is_there(peers[i])) bench_say(b, "%s %s\n", peers[i]->name, peers[i]->version());
    if (!is_there(peers[0])) bench_say(b, "MuJoCo is not installed (package libmujoco-dev)\n");
    if (!is_there(peers[1])) bench_say(b, "Simbody is not installed (packages libsimbody-dev, g++)\n");
    rows(b, peers);
    return bench_end(b);
}
