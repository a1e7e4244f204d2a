// psf: corrections of positions that no longer fall are accepted where the rounding of positions and rows explains them,
// and only there.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <float.h>
#include <kardan/kardan.h>
#include <math.h>

#include "case.h"
#include "trust/seeded.h"

static uint64_t seed;

// A point of mass 1 on a circle of the radius L around (X, Y); a bystander at p[2] moves freely.
typedef struct circle {
    double X, Y, L;
    double noise; // of the row, which rounding does not explain
    double most;  // largest violation that an accepted step had
} circle;

static kd_eval mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[4] = M[8] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0, f[1] = -9.81, f[2] = 0;
    return KD_EVAL_OK;
}

// noise: a saw whose steps are far below the size of positions, but above their rounding: it has slopes of its own, which
// no matrix knows
static kd_eval on_circle(const kd_point *x, void *context, double *g)
{
    const circle *c = context;
    const double  dx = x->p[0] - c->X, dy = x->p[1] - c->Y;
    g[0] = 0.5 * (dx * dx + dy * dy - c->L * c->L) / c->L;
    if (c->noise > 0) g[0] += 2.5 * c->noise * (fabs(remainder(g[0] / c->noise, 1)) - 0.25);
    return KD_EVAL_OK;
}

// gI and gII of the circle itself
static kd_eval radial_speed(const kd_point *x, void *context, double *gI)
{
    const circle *c = context;
    gI[0] = ((x->p[0] - c->X) * x->v[0] + (x->p[1] - c->Y) * x->v[1]) / c->L;
    return KD_EVAL_OK;
}

static kd_eval radial_acceleration(const kd_point *x, void *context, double *gII)
{
    const circle *c = context;
    gII[0] = ((x->p[0] - c->X) * x->a[0] + (x->p[1] - c->Y) * x->a[1] + x->v[0] * x->v[0] + x->v[1] * x->v[1]) / c->L;
    return KD_EVAL_OK;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const circle *c = context;
    (void)part;
    if (fn == KD_GI && var == KD_P)
        out[0] = x->v[0] / c->L, out[1] = x->v[1] / c->L;
    else
        out[0] = (x->p[0] - c->X) / c->L, out[1] = (x->p[1] - c->Y) / c->L;
    return KD_EVAL_OK;
}

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    circle        *c = context;
    const kd_point here = {.p = x->p};
    double         g;
    if (x->t > 0 && !at_time && on_circle(&here, c, &g) == KD_EVAL_OK) c->most = fmax(c->most, fabs(g));
    return KD_EVAL_OK;
}

static kd_status run(circle *c, double bystander, double phi)
{
    char                  message[800] = "";
    kd_eom_def            def = kd_eom_def_default();
    kd_simulation_options opt = kd_simulation_options_default();
    kd_eom               *eom;
    kd_state             *x;
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 1};
    def.context = c;
    def.M = mass, def.f = force, def.g = on_circle, def.gI = radial_speed, def.gII = radial_acceleration;
    def.derivative = derivative;
    def.given[KD_G] = KD_BIT(KD_P), def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = c->X + c->L * cos(phi), x->p[1] = c->Y + c->L * sin(phi), x->p[2] = bystander;
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    opt.rtol = opt.atol = 1e-6;
    opt.output = see, opt.context = c;
    opt.integrator_options.max_steps = 2000;
    c->most = 0;
    kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return status;
}

// Far from the origin positions are known to their rounding only: the run goes on, and they are held to it.
static void rounding_is_accepted(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        circle c = {.X = seeded_log(&seed, 1e2, 1e7), .L = seeded_log(&seed, 0.1, 1)};
        c.Y = k % 2 ? 0 : -seeded_log(&seed, 1e2, 1e7);
        const kd_status status = run(&c, 0, seeded_between(&seed, 0, 3));
        const double    rounding = DBL_EPSILON * (c.X + fabs(c.Y));
        if (status < 0 || !(c.most <= 100 * rounding))
            fail_msg("circle of %g m around (%g, %g) m: status %d, violated by %g, rounding %g", c.L, c.X, c.Y,
                     (int)status, c.most, rounding);
    }
}

// A body that is far away does not make the others worse, and what rounding does not explain is no success.
static void failures_are_told(void **state)
{
    (void)state;
    int told = 0;
    for (int k = 0; k < 20; k++) {
        circle c = {.X = seeded_between(&seed, -1, 1), .L = seeded_log(&seed, 0.1, 1)};
        c.noise = seeded_log(&seed, 5e-7, 3e-6); // above the first correction that is believed to be the last, 1e-8
        const kd_status status = run(&c, seeded_log(&seed, 1e8, 1e9), seeded_between(&seed, 0, 3));
        if (c.most > 0.2 * c.noise)
            fail_msg("noise %g of the row: status %d, a step that violates it by %g", c.noise, (int)status, c.most);
        told += status < 0;
    }
    assert_true(told > 10);
}

int main(void)
{
    seed = test_seed(143);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_accepted),
        cmocka_unit_test(failures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
