// What errors of positions and velocities make of energies, powers and invariants, against derivatives by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "case.h"
#include "simulation/slopes.h"
#include "trust/seeded.h"

// E = m v^2 / 2 + k p^2 / 2, power c0 v p - c1 v^2, invariant b v p: of one coordinate, so that signs do not matter
typedef struct numbers {
    double m, k, c0, c1, b;
} numbers;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x;
    out[0] = ((const numbers *)context)->m;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    out[0] = -((const numbers *)context)->k * x->p[0];
    return KD_EVAL_OK;
}

static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const numbers *s = context;
    out->kinetic = 0.5 * s->m * x->v[0] * x->v[0];
    out->potential = 0.5 * s->k * x->p[0] * x->p[0];
    out->supplied = s->c0 * x->v[0] * x->p[0];
    out->dissipated = s->c1 * x->v[0] * x->v[0];
    return KD_EVAL_OK;
}

static kd_eval invariant(const kd_point *x, void *context, double *out)
{
    out[0] = ((const numbers *)context)->b * x->v[0] * x->p[0];
    return KD_EVAL_OK;
}

// differences to one side are exact to their step
static void assert_about(double found, double right, double size)
{
    if (!(fabs(found - right) <= 1e-6 * size)) fail_msg("%.12g instead of %.12g", found, right);
}

// Relative errors count with the size of the component, absolute ones in units of 1 or more; energies and invariants keep
// the largest of a run, powers are summed up over the time that has passed.
static void slopes_are_derivatives(void **state)
{
    uint64_t seed = test_seed(8);
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        numbers      s = {seeded_log(&seed, 0.1, 10), seeded_log(&seed, 0.1, 10), seeded_between(&seed, -3, 3),
                          seeded_between(&seed, 0, 3), seeded_between(&seed, -3, 3)};
        kd_eom_def   def = kd_eom_def_default();
        kd_eom      *eom;
        kd_eom_data *data;
        kd_state    *x, *y;
        kd_slopes    found = {0}, right = {0};
        double       e[1], value[2];
        def.dims = (kd_dims){.np = 1, .nv = 1, .ne = 1};
        def.context = &s;
        def.M = mass, def.f = force, def.energies = energies, def.e = invariant;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_int_equal(kd_state_create(eom, &y), KD_OK);
        for (int i = 0; i < 4; i++) {
            const double p = x->p[0] = seeded_between(&seed, -3, 3), v = x->v[0] = seeded_between(&seed, -3, 3);
            const double passed = seeded_log(&seed, 1e-3, 10);
            kd_eom_at_time(data, 0, NULL, NULL, NULL, NULL);
            for (int relative = 0; relative < 2; relative++) {
                const kd_slope_kind kind = {.relative = relative, .passed = passed, .seed = 5};
                assert_true(kd_slopes_widen(data, eom, x, NULL, kind, y, e, value, &found));
            }
            // by v, then by p: of the energy, the power and the invariant
            const double energy[KD_SLOPES] = {fabs(s.m * v), fabs(s.k * p)};
            const double power[KD_SLOPES] = {fabs(s.c0 * p - 2 * s.c1 * v), fabs(s.c0 * v)};
            const double kept[KD_SLOPES] = {fabs(s.b * p), fabs(s.b * v)}, size[KD_SLOPES] = {fabs(v), fabs(p)};
            for (int k = 0; k < KD_SLOPES; k++) {
                right.energy_by_rtol[k] = fmax(right.energy_by_rtol[k], energy[k] * size[k]);
                right.energy_by_atol[k] = fmax(right.energy_by_atol[k], energy[k]);
                right.work_by_rtol += power[k] * size[k] * passed;
                right.work_by_atol += power[k] * passed;
                right.invariant_by_rtol = fmax(right.invariant_by_rtol, kept[k] * size[k]);
                right.invariant_by_atol = fmax(right.invariant_by_atol, kept[k]);
            }
        }
        for (int k = 0; k < KD_SLOPES; k++) {
            assert_about(found.energy_by_rtol[k], right.energy_by_rtol[k], 100);
            assert_about(found.energy_by_atol[k], right.energy_by_atol[k], 100);
        }
        assert_about(found.work_by_rtol, right.work_by_rtol, 100 + right.work_by_rtol);
        assert_about(found.work_by_atol, right.work_by_atol, 100 + right.work_by_atol);
        assert_about(found.invariant_by_rtol, right.invariant_by_rtol, 100);
        assert_about(found.invariant_by_atol, right.invariant_by_atol, 100);
        kd_state_destroy(y);
        kd_state_destroy(x);
        kd_eom_data_destroy(data);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
