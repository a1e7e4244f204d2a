// flexible_spinup.c: spin-up of beams (../shared/benchmarks/flexible.md, section 4): the largest lag with 1 to 4 modes against the
// modal equations of the shared page, and the run without geometric stiffness, which must run away. The lags are those equations
// integrated by scipy (DOP853, 1e-11); the page's own differ from them by up to 1.6e-6.
#include <math.h>
#include <stdio.h>

#include "flexible.h"
#include "flexible/body.h"

enum { TIMES = 8000 };

typedef struct spin {
    const char   *name;
    flexible_beam beam;
    double        speed; // at the end of the run-up of 15 s
    double        lag[4];
} spin;

static const spin CASES[] = {
    {"A", {10, 1.4e4, 1.2, 0, true, 0}, 6, {-0.57826037, -0.57354939, -0.57444275, -0.57433604}},
    {"B", {8, 566.693155, 0.201878377, 0, true, 0}, 4, {-0.53789250, -0.53384713, -0.53447087, -0.53438902}},
};

typedef struct lag {
    const kd_flexible_body *body;
    double                  largest;
} lag;

// the hub is driven: all coordinates are amplitudes
static kd_eval see_lag(const kd_state *x, bool at_time, void *context)
{
    lag   *l = context;
    double u = 0;
    (void)at_time;
    for (int k = 0; k < l->body->nq; k++) u += l->body->frame[1].Phi[1 + 3 * k] * x->p[k];
    if (fabs(u) > fabs(l->largest)) l->largest = u;
    return KD_EVAL_OK;
}

static kd_status run(const kd_system *s, kd_state *x, double t_end, lag *l, char *message, size_t size)
{
    static double         times[TIMES];
    kd_simulation        *sim = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    for (int i = 0; i < TIMES; i++) times[i] = 6 + (t_end - 6) * (i + 1) / TIMES; // it lags most at 6.76 s
    opt.rtol = 1e-10;
    opt.integrator_options.h_max = 5e-3; // between steps the dense output counts
    opt.atol = 1e-12;
    opt.output = see_lag;
    opt.context = l;
    opt.times = times;
    opt.ntimes = TIMES;
    kd_status status = kd_simulation_create(kd_system_eom(s), kd_system_inputs(s), &opt, x, &sim, message, size);
    if (status >= 0) status = kd_simulation_run(sim, t_end);
    kd_simulation_destroy(sim);
    return status;
}

// Largest deflection of the tip across the beam until t_end; NaN: it failed, and message says why
static double largest_lag(const spin *c, int modes, bool stiffened, double t_end, char *message, size_t size)
{
    kd_model     *model = NULL;
    kd_system    *s = NULL;
    kd_state     *x = NULL;
    kd_body_def   def;
    kd_joint_def  hub = kd_joint_def_default(KD_REVOLUTE);
    flexible_beam beam = c->beam;
    char          motion[200];
    lag           l = {NULL, 0};
    beam.modes = modes;
    beam.stiffened = stiffened;
    snprintf(motion, sizeof motion, "%g/15*(t^2/2 + (15/(2*pi))^2*(cos(2*pi*t/15) - 1))", c->speed);
    hub.to = kd_at_node("beam", "root");
    hub.motion[0] = motion;
    bool good = kd_model_create(&model) >= 0 && flexible_read(model, &beam, &def, message, size) &&
                kd_model_add_body(model, "beam", &def) >= 0 && kd_model_add_joint(model, "hub", &hub) >= 0 &&
                kd_model_finish(model) >= 0 && kd_system_create(model, NULL, &s, message, size) >= 0 &&
                kd_state_create(kd_system_eom(s), &x) >= 0 && kd_system_start(s, x, message, size) >= 0;
    l.body = def.read;
    good = good && run(s, x, t_end, &l, message, size) >= 0;
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(model);
    return good ? l.largest : NAN;
}

void flexible_spin_up(bench *b)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const spin *c = &CASES[i];
        char        message[600] = "", note[80];
        for (int m = 1; m <= 4; m++) {
            if (!bench_wants(b, "spinup.%s.%d", c->name, m)) continue;
            const double found = largest_lag(c, m, true, 7.5, message, sizeof message);
            snprintf(note, sizeof note, "lag %.8f m, modal equations %.8f", found, c->lag[m - 1]);
            bench_row(b, bench_below(1e-6), NAN, fabs(found / c->lag[m - 1] - 1), "", isnan(found) ? message : note,
                      "spinup.%s.%d", c->name, m);
        }
        if (!bench_wants(b, "spinup.%s.unstiffened", c->name)) continue;
        // the linear theory of a frame that turns faster than the beam swings
        const double found = largest_lag(c, 4, false, 10, message, sizeof message);
        bench_row(b, bench_above(10 * fabs(c->lag[3])), NAN, fabs(found), "m",
                  isnan(found) ? message : "runs away, as it must", "spinup.%s.unstiffened", c->name);
    }
}
