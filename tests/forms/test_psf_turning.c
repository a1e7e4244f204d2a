// psf with the energy as invariant, over many swings: Newton's iteration is not given up where the projection onto the
// invariant at the end of a step has made starting values better than usual.
#include "eom/systems.h" // cmocka
#include <kardan/kardan.h>

#include "pendulum.h"

#define GRAVITY 13.75

typedef struct watch {
    double energy, change; // at the start (NaN: not seen yet), its largest change
} watch;

static kd_eval watch_energy(const kd_state *x, bool at_time, void *context)
{
    watch *w = context;
    double energy = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]) + GRAVITY * x->p[1];
    (void)at_time;
    if (isnan(w->energy)) w->energy = energy;
    w->change = fmax(w->change, fabs(energy - w->energy));
    return KD_EVAL_OK;
}

// from the lowest point with a speed, 0: released from the horizontal
static kd_stats swing(double speed, double tolerance, bool invariant, watch *w)
{
    kd_eom      *eom;
    kd_state    *x;
    kd_stats     stats;
    const double p[] = {speed > 0 ? 0 : 1, speed > 0 ? -1 : 0}, v[] = {speed, 0};
    assert_int_equal(kd_pendulum_create(GRAVITY, p, v, true, &eom, &x), KD_OK);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = tolerance;
    opt.formulation_options.invariants = invariant;
    opt.output = watch_energy;
    opt.context = w;
    *w = (watch){.energy = NAN};
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 100, &stats, NULL, 0), KD_OK);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return stats;
}

static void few_rejections(void **state)
{
    (void)state;
    const double speeds[] = {0, 2.8, 5.1, 6, 8}, tolerances[] = {1e-5, 1e-6, 1e-7, 1e-8};
    for (int with = 0; with < 2; with++) {
        long accepted = 0, rejected = 0;
        for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
            for (size_t k = 0; k < sizeof tolerances / sizeof *tolerances; k++) {
                watch    w;
                kd_stats stats = swing(speeds[i], tolerances[k], with == 1, &w);
                accepted += stats.accepted;
                rejected += stats.rejected_newton;
                if (with == 1 && w.change > 1e-10) fail_msg("v = %g: energy %.1e", speeds[i], w.change);
            }
        }
        if (500 * rejected > accepted) fail_msg("%ld rejections by Newton in %ld steps", rejected, accepted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_rejections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
