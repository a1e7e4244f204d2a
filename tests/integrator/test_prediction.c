// Starting values of Newton's method in radau and sdirk: the smooth motion through the last step plus the deviation of its
// stages from it, which grows with a power of the step: they are one order better than the stages.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "trust/seeded.h"

// ---- a point under a force of time ----------------------------------------------------------------------------------

typedef struct waves {
    double size[3], rate[3], phase[3];
} waves;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const waves *w = context;
    out[0] = 0;
    for (int k = 0; k < 3; k++) out[0] += w->size[k] * sin(w->rate[k] * x->t + w->phase[k]);
    return KD_EVAL_OK;
}

static double force_at(waves *w, double t)
{
    const kd_point x = {.t = t};
    double         f;
    assert_int_equal(force(&x, w, &f), KD_EVAL_OK);
    return f;
}

// ---- stages by hand -------------------------------------------------------------------------------------------------

// v_i = v_0 + h sum A_ij f(t_0 + c_j h): Radau IIA of three stages, the first stage of SDIRK 4/15
typedef struct method {
    kd_integrator_kind kind;
    int                stages;
    double             order, h; // of the starting values; steps that show it
    double             c[3], A[3][3];
} method;

#define S6 2.449489742783178

static const method methods[] = {{KD_RADAU,
                                  3,
                                  5,
                                  0.004,
                                  {(4 - S6) / 10, (4 + S6) / 10, 1},
                                  {{(88 - 7 * S6) / 360, (296 - 169 * S6) / 1800, (-2 + 3 * S6) / 225},
                                   {(296 + 169 * S6) / 1800, (88 + 7 * S6) / 360, (-2 - 3 * S6) / 225},
                                   {(16 - S6) / 36, (16 + S6) / 36, 1.0 / 9}}},
                                 {KD_SDIRK, 1, 3, 0.004, {4.0 / 15}, {{4.0 / 15}}}};

// ---- what Newton's method begins with -------------------------------------------------------------------------------

enum { MOST_STAGES = 5 };

static struct {
    const kd_dae_class *form;
    int                 n;
    double              t[MOST_STAGES], first[MOST_STAGES]; // velocities of the stages
} seen;

static kd_eval evaluate(void *impl, double t, const double *x, const double *xdot, double *part, double *y)
{
    int k = 0;
    while (k < seen.n && seen.t[k] != t) k++;
    if (k == seen.n && k < MOST_STAGES) {
        seen.t[k] = t;
        seen.first[k] = x[1];
        seen.n++;
    }
    return seen.form->evaluate(impl, t, x, xdot, part, y);
}

// How far the velocities of the stages are from their starting values in a step that is ratio times as long as the one
// before, which has length h
static double miss(waves *w, const method *m, double h, double ratio)
{
    kd_eom_def            def = kd_eom_def_default();
    kd_integrator_options opt = kd_integrator_options_default();
    kd_eom               *eom;
    kd_state             *x;
    kd_dae               *dae;
    kd_integrator        *it;
    double                y[8], most = 0;
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.context = w;
    def.M = mass;
    def.f = force;
    opt.rtol = 0.5, opt.atol = 1;
    opt.h_first = h;
    opt.radau.order_fixed = 5;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, NULL, 0), KD_OK);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_PSF, NULL, &dae, NULL, 0), KD_OK);
    kd_formulation_pack(dae, x, y);
    kd_dae_class watched = *dae->methods;
    seen.form = dae->methods;
    watched.evaluate = evaluate;
    dae->methods = &watched;
    assert_int_equal(kd_integrator_create(dae, m->kind, &opt, &it, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(it, 0, y), KD_OK);
    assert_int_equal(kd_integrator_step(it, h), KD_OK);
    seen.n = 0;
    const double v0 = kd_integrator_x(it)[1];
    assert_int_equal(kd_integrator_step(it, h + ratio * h), KD_OK);
    assert_true(kd_integrator_time(it) == h + ratio * h && seen.n >= m->stages);
    for (int k = 0; k < m->stages; k++) {
        double v = v0;
        for (int j = 0; j < m->stages; j++) v += ratio * h * m->A[k][j] * force_at(w, h + m->c[j] * ratio * h);
        most = fmax(most, fabs(seen.first[k] - v));
    }
    dae->methods = seen.form;
    kd_integrator_destroy(it);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return most;
}

// radau: stages have order 3 and deviate by h^4, starting values miss them by h^5. sdirk: the first stage has order 1 and
// deviates by h^2, its starting value misses it by h^3. In shorter steps than the one before, sdirk in longer ones, too:
// there the error of the smooth continuation hides what radau's stages deviate by.
static void starting_values_have_their_order(void **state)
{
    uint64_t seed = test_seed(4);
    (void)state;
    for (int k = 0; k < 3; k++) {
        const method *m = &methods[k > 0];
        double        coarse = 0, fine = 0; // of many motions, as single ones may be near a zero of their error
        for (int trial = 0; trial < 20; trial++) {
            const double ratio = k < 2 ? seeded_between(&seed, 0.3, 0.5) : seeded_between(&seed, 2, 4);
            waves        w = {0};
            for (int i = 0; i < 3; i++) {
                w.size[i] = seeded_between(&seed, -1, 1);
                w.rate[i] = seeded_between(&seed, 1, 3);
                w.phase[i] = seeded_between(&seed, 0, 6);
            }
            coarse += miss(&w, m, m->h, ratio);
            fine += miss(&w, m, 0.5 * m->h, ratio);
        }
        const double slope = log2(coarse / fine);
        if (!(slope > m->order - 0.2))
            fail_msg("%s: %g, %g, slope %.2f", kd_integrator_word(m->kind), coarse, fine, slope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starting_values_have_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
