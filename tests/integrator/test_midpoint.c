// Tests of the implicit midpoint rule: order 2 on systems of several kinds, symmetry in time, energies of conservative
// motions over a long time, constraints after projection, variable steps. Method: docs/methods/midpoint.md
#include <kardan/kardan.h>
#include <math.h>

#include "forms/whole.h"
#include "pendulum.h"
#include "systems/systems.h"

// ---- order ----------------------------------------------------------------------------------------------------------

static void run_fixed(const kd_test_system *system, kd_formulation form, double h, double t_end, double *p)
{
    kd_eom               *eom;
    kd_state             *x;
    char                  message[600] = "";
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = form;
    o.formulation_options.invariants = false;
    o.integrator = KD_MIDPOINT;
    o.integrator_options.h_fixed = h;
    o.integrator_options.max_steps = 10000000;
    o.integrator_options.rtol = o.integrator_options.atol = 1e-8;
    assert_int_equal(system->create(&eom, &x), KD_OK);
    if (kd_simulate(eom, NULL, &o, x, t_end, NULL, message, sizeof message) < 0)
        fail_msg("%s: %s", system->name, message);
    memcpy(p, x->p, (size_t)kd_eom_dims(eom).np * sizeof *p);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// The slope of the error over constant steps is 2, on every test system, projected and in independent coordinates.
static void order_is_two(void **state)
{
    (void)state;
    const double t_end = 0.25;
    int          seen = 0;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        for (int form = 0; form < 2; form++) {
            const kd_test_system *system = &kd_test_systems[k];
            const kd_formulation  f = form ? KD_STATESPACE : KD_ODE;
            double                p[4][64];
            kd_eom               *eom;
            kd_state             *x;
            assert_int_equal(system->create(&eom, &x), KD_OK);
            const kd_dims d = kd_eom_dims(eom);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
            if (d.np > 64 || d.nswitch > 0 || system->redundant) continue;
            for (int i = 0; i < 3; i++) run_fixed(system, f, 0.0025 / (1 << i), t_end, p[i]);
            double e[2] = {0};
            for (int i = 0; i < d.np; i++) {
                e[0] = fmax(e[0], fabs(p[0][i] - p[1][i]));
                e[1] = fmax(e[1], fabs(p[1][i] - p[2][i]));
            }
            if (e[1] < 1e-10) continue; // at rest
            const double order = log2(e[0] / e[1]);
            if (!(order > 1.7 && order < 2.3))
                fail_msg("%s, %s: order %.2f (%.2g, %.2g)", system->name, kd_formulation_word(f), order, e[0], e[1]);
            seen++;
        }
    }
    assert_true(seen >= 4);
}

// ---- long times -----------------------------------------------------------------------------------------------------

typedef struct planar {
    kd_eom   *eom;
    kd_state *x;
    kd_dae   *dae;
    double    y[8];
} planar;

static planar make_planar(kd_formulation form, kd_projection projection)
{
    planar                 f = {0};
    kd_formulation_options o = kd_formulation_options_default();
    o.projection = projection;
    assert_int_equal(kd_pendulum_create(9.81, (double[]){0, -1}, (double[]){2.5, 0}, false, &f.eom, &f.x), KD_OK);
    f.dae = make_dae(f.eom, NULL, f.x, form, &o);
    kd_formulation_pack(f.dae, f.x, f.y);
    return f;
}

static void drop_planar(planar *f)
{
    kd_dae_destroy(f->dae);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static double energy_of(const kd_state *x)
{
    return 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]) + 9.81 * x->p[1];
}

// Largest error of the energy in each of `parts` equal parts of the time
static void energies(kd_integrator_kind kind, double h, double t_end, int parts, double *worst)
{
    planar                f = make_planar(KD_ODE, KD_PROJECT_ALWAYS);
    kd_integrator_options o = kd_integrator_options_default();
    kd_integrator        *self;
    o.h_fixed = h;
    assert_int_equal(kd_integrator_create(f.dae, kind, &o, &self, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(self, 0, f.y), KD_OK);
    const double start = energy_of(f.x);
    for (int k = 0; k < parts; k++) worst[k] = 0;
    while (kd_integrator_time(self) < t_end) {
        assert_int_equal(kd_integrator_step(self, t_end), KD_OK);
        const double *y = kd_integrator_x(self);
        int           k = (int)(parts * kd_integrator_time(self) / t_end * (1 - 1e-12));
        memcpy(f.x->p, y, 2 * sizeof *y);
        memcpy(f.x->v, y + 2, 2 * sizeof *y);
        worst[k] = fmax(worst[k], fabs(energy_of(f.x) - start));
        // constraints on both levels to rounding
        assert_true(fabs(y[0] * y[0] + y[1] * y[1] - 1) < 1e-13 && fabs(y[0] * y[2] + y[1] * y[3]) < 1e-12);
    }
    kd_integrator_destroy(self);
    drop_planar(&f);
}

// phi'' = -sin phi
static kd_eval unit_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval gravity(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -sin(x->p[0]);
    return KD_EVAL_OK;
}

// Largest error of the energy of a free pendulum with an amplitude of 2 rad in each quarter of the time
static void free_energies(kd_integrator_kind kind, double h, double t_end, double *worst)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.M = unit_mass;
    def.f = gravity;
    kd_eom   *eom = make(&def);
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    kd_dae               *dae = make_dae(eom, NULL, x, KD_ODE, NULL);
    kd_integrator_options o = kd_integrator_options_default();
    kd_integrator        *self;
    const double          y[2] = {2, 0};
    o.h_fixed = h;
    assert_int_equal(kd_integrator_create(dae, kind, &o, &self, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(self, 0, y), KD_OK);
    for (int k = 0; k < 4; k++) worst[k] = 0;
    while (kd_integrator_time(self) < t_end) {
        assert_int_equal(kd_integrator_step(self, t_end), KD_OK);
        const double *z = kd_integrator_x(self), energy = 0.5 * z[1] * z[1] - cos(z[0]);
        int           k = (int)(4 * kd_integrator_time(self) / t_end * (1 - 1e-12));
        worst[k] = fmax(worst[k], fabs(energy + cos(2.0)));
    }
    kd_integrator_destroy(self);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A pendulum without constraints for 10000 s, some 1200 swings, in 40 steps each: the error of the energy is that of
// its first swings. dopri5 in steps three times as long, for as many evaluations, loses energy without end.
static void energy_stays(void **state)
{
    (void)state;
    double mid[4], other[4];
    free_energies(KD_MIDPOINT, 0.2, 10000, mid);
    free_energies(KD_DOPRI5, 0.6, 10000, other);
    print_message("energy errors, midpoint %.2g %.2g %.2g %.2g, dopri5 %.2g %.2g %.2g %.2g\n", mid[0], mid[1], mid[2],
                  mid[3], other[0], other[1], other[2], other[3]);
    assert_true(mid[3] < 1.1 * mid[0]);
    assert_true(other[3] > 2 * other[0]);
}

// With constraints, which hold to rounding after every step (energies looks at them): for 1000 s, some 470 swings, the
// error of the energy is that of the first ones, and falls with h^2. The same with a projection at the end of the step
// alone (dopri5 in steps of three times the size) loses energy.
static void constraints_take_no_energy(void **state)
{
    (void)state;
    double coarse[4], fine[4], other[4];
    energies(KD_MIDPOINT, 0.04, 1000, 4, coarse);
    energies(KD_MIDPOINT, 0.02, 1000, 4, fine);
    energies(KD_DOPRI5, 0.12, 1000, 4, other);
    print_message("energy errors with constraints %.3g .. %.3g, half the step %.3g .. %.3g, dopri5 %.3g .. %.3g\n",
                  coarse[0], coarse[3], fine[0], fine[3], other[0], other[3]);
    assert_true(coarse[3] < 1.01 * coarse[0] && fine[3] < 1.01 * fine[0]);
    assert_true(coarse[0] / fine[0] > 3.5 && coarse[0] / fine[0] < 4.5);
    assert_true(other[3] > 2 * other[0]);
}

// A slider-crank in Cartesian coordinates, all of its joints constraints, quaternions among the coordinates: forth for 1 s
// and, with reversed velocities, back to the start.
static void constrained_motion_is_reversible(void **state)
{
    (void)state;
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x;
    char                  message[2000] = "";
    kd_system_options     so = kd_system_options_default();
    kd_simulation_options o = kd_simulation_options_default();
    so.coordinates = KD_CARTESIAN;
    o.formulation = KD_ODE;
    o.integrator = KD_MIDPOINT;
    o.integrator_options.h_fixed = 0.01;
    if (kd_model_read(KD_SOURCE_DIR "/models/slider-crank.yaml", NULL, 0, &model, message, sizeof message) < 0 ||
        kd_system_create(model, &so, &system, message, sizeof message) < 0)
        fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    const kd_dims d = kd_eom_dims(eom);
    double        start[64], moved = 0, off = 0;
    assert_true(d.np <= 64 && d.nlambda > 10);
    memcpy(start, x->p, (size_t)d.np * sizeof *start);
    for (int way = 0; way < 2; way++) {
        x->t = 0;
        if (kd_simulate(eom, kd_system_inputs(system), &o, x, 1, NULL, message, sizeof message) < 0)
            fail_msg("%s", message);
        for (int i = 0; i < d.np && way == 0; i++) moved = fmax(moved, fabs(x->p[i] - start[i]));
        for (int i = 0; i < d.nv; i++) x->v[i] = -x->v[i];
    }
    for (int i = 0; i < d.np; i++) off = fmax(off, fabs(x->p[i] - start[i]));
    print_message("slider-crank, Cartesian, moved by %.3g and back: off by %.2g\n", moved, off);
    assert_true(moved > 0.1 && off < 1e-10);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// A double pendulum in joint coordinates forth for 3 s and, with reversed velocities, back: the start is met again to
// the error of Newton's method; dopri5 with the same steps is off by its error.
static void motion_is_reversible(void **state)
{
    (void)state;
    double off[2];
    for (int k = 0; k < 2; k++) {
        kd_model             *model = NULL;
        kd_system            *system = NULL;
        kd_state             *x;
        char                  message[2000] = "";
        kd_simulation_options o = kd_simulation_options_default();
        o.formulation = KD_ODE;
        o.integrator = k ? KD_DOPRI5 : KD_MIDPOINT;
        o.integrator_options.h_fixed = 0.01;
        if (kd_model_read(KD_SOURCE_DIR "/models/double-pendulum.yaml", NULL, 0, &model, message, sizeof message) < 0 ||
            kd_system_create(model, NULL, &system, message, sizeof message) < 0)
            fail_msg("%s", message);
        const kd_eom *eom = kd_system_eom(system);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        const int n = kd_eom_dims(eom).np;
        double    start[8];
        assert_true(n <= 8);
        memcpy(start, x->p, (size_t)n * sizeof *start);
        for (int way = 0; way < 2; way++) {
            x->t = 0;
            if (kd_simulate(eom, kd_system_inputs(system), &o, x, 3, NULL, message, sizeof message) < 0)
                fail_msg("%s", message);
            for (int i = 0; i < n; i++) x->v[i] = -x->v[i];
        }
        off[k] = 0;
        for (int i = 0; i < n; i++) off[k] = fmax(off[k], fabs(x->p[i] - start[i]));
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
    print_message("forth and back: midpoint %.2g, dopri5 %.2g off\n", off[0], off[1]);
    assert_true(off[0] < 1e-8);
    assert_true(off[1] > 10 * off[0]);
}

// ---- variable steps -------------------------------------------------------------------------------------------------

// Errors follow the tolerance, and a step that is asked to be taken back is.
static void variable_steps(void **state)
{
    (void)state;
    double error[2];
    for (int k = 0; k < 2; k++) {
        planar                f = make_planar(KD_ODE, KD_PROJECT_ALWAYS);
        kd_integrator_options o = kd_integrator_options_default();
        kd_integrator        *self;
        double                exact[4];
        o.rtol = o.atol = k ? 1e-7 : 1e-5;
        assert_int_equal(kd_integrator_create(f.dae, KD_MIDPOINT, &o, &self, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(self, 0, f.y), KD_OK);
        while (kd_integrator_time(self) < 2) assert_int_equal(kd_integrator_step(self, 2), KD_OK);
        kd_pendulum_exact(9.81, false, 2.5, 2, exact, exact + 2, NULL);
        error[k] = 0;
        for (int i = 0; i < 4; i++) error[k] = fmax(error[k], fabs(kd_integrator_x(self)[i] - exact[i]));
        assert_int_equal(kd_integrator_retract(self, 1e-3), KD_OK);
        assert_true(kd_integrator_time(self) < 2);
        kd_integrator_destroy(self);
        drop_planar(&f);
    }
    assert_true(error[0] < 0.05 && error[1] < error[0] / 5);
}

// Oscillators q'' = -k q - c q' + u cos(w t): where the equations are linear the midpoint rule is the trapezoidal rule,
// and an estimate by their distance sees nothing.
typedef struct oscillator {
    double k, c, u, w;
} oscillator;

static kd_eval pull(const kd_point *x, void *context, double *f)
{
    const oscillator *o = context;
    f[0] = -o->k * x->p[0] - o->c * x->v[0] + o->u * cos(o->w * x->t);
    return KD_EVAL_OK;
}

// q(t) from q(0) = 1, q'(0) = 0
static double swing_of(const oscillator *o, double t)
{
    // driven part A cos(w t) + B sin(w t), and what is left of the start dies out
    const double r = o->k - o->w * o->w, d = r * r + o->c * o->c * o->w * o->w;
    const double A = o->u * r / d, B = o->u * o->c * o->w / d;
    const double a = o->c / 2, e = sqrt(o->k - a * a), P = 1 - A, Q = (a * P - B * o->w) / e;
    return A * cos(o->w * t) + B * sin(o->w * t) + exp(-a * t) * (P * cos(e * t) + Q * sin(e * t));
}

static double random_in(unsigned *seed, double low, double high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (high - low) * (*seed >> 8) / 16777216.0;
}

// Linear motions of five to ten swings are right to some tolerances, whatever their numbers, and not by steps that are much
// shorter than they have to be.
static void variable_steps_of_linear_motions(void **state)
{
    unsigned seed = 11;
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        oscillator            o = {.k = random_in(&seed, 1, 40), .w = random_in(&seed, 0.5, 3)};
        kd_simulation_options so = kd_simulation_options_default();
        kd_eom_def            def = kd_eom_def_default();
        kd_stats              stats;
        kd_state             *x;
        char                  message[600] = "";
        const double          t_end = 2 * 3.141592653589793 / sqrt(o.k) * random_in(&seed, 5, 10);
        o.c = random_in(&seed, 0, 0.3) * sqrt(o.k);
        o.u = trial % 2 ? random_in(&seed, 0, 1) * o.k : 0;
        def.dims = (kd_dims){.np = 1, .nv = 1};
        def.M = unit_mass;
        def.f = pull;
        def.context = &o;
        kd_eom *eom = make(&def);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = 1;
        so.formulation = KD_ODE;
        so.integrator = KD_MIDPOINT;
        so.rtol = so.atol = pow(10, random_in(&seed, -8, -4));
        if (kd_simulate(eom, NULL, &so, x, t_end, &stats, message, sizeof message) < 0) fail_msg("%s", message);
        const double error = fabs(x->p[0] - swing_of(&o, t_end)) / so.rtol;
        // a step of h / T of a swing is wrong by (2 pi h / T)^3 / 12 of the amplitude
        const double inner = so.rtol * fmin(1, 30 * sqrt(so.rtol)), steps = t_end * sqrt(o.k) / cbrt(12 * inner);
        // what all steps together may be wrong by
        const double most = 10 + (double)stats.accepted * inner / so.rtol;
        if (!(error < fmin(most, 500)) || !((double)stats.accepted < 1.4 * steps))
            fail_msg("k %g c %g u %g w %g, rtol %g: error %.3g tolerances, %ld steps, %.0f expected", o.k, o.c, o.u,
                     o.w, so.rtol, error, stats.accepted, steps);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// r' = cos(w t) beside a mass at rest: the chord of the motion is the motion, and f alone is curved
static kd_eval wave(const kd_point *x, void *context, double *b)
{
    b[0] = cos(*(const double *)context * x->t);
    return KD_EVAL_OK;
}
static kd_eval no_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}

// Integrals of laws of time are right to some tolerances as well: a step of h is wrong by h^3 w^2 / 24.
static void variable_steps_of_integrals(void **state)
{
    unsigned seed = 13;
    (void)state;
    for (int trial = 0; trial < 30; trial++) {
        double                w = random_in(&seed, 1, 30);
        kd_simulation_options so = kd_simulation_options_default();
        kd_eom_def            def = kd_eom_def_default();
        kd_stats              stats;
        kd_state             *x;
        const double          t_end = random_in(&seed, 20, 60) / w;
        def.dims = (kd_dims){.np = 1, .nv = 1, .nr = 1};
        def.M = unit_mass;
        def.f = no_force;
        def.b = wave;
        def.context = &w;
        kd_eom *eom = make(&def);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        so.formulation = KD_ODE;
        so.integrator = KD_MIDPOINT;
        so.rtol = so.atol = pow(10, random_in(&seed, -8, -4));
        assert_int_equal(kd_simulate(eom, NULL, &so, x, t_end, &stats, NULL, 0), KD_OK);
        const double error = fabs(x->r[0] - sin(w * t_end) / w) / so.rtol,
                     inner = so.rtol * fmin(1, 30 * sqrt(so.rtol));
        const double steps = t_end * cbrt(w * w / (24 * inner));
        if (!(error < fmin(10 + (double)stats.accepted * inner / so.rtol, 500)) ||
            !((double)stats.accepted < 2 * steps))
            fail_msg("w %g, rtol %g: error %.3g tolerances, %ld steps, %.0f expected", w, so.rtol, error,
                     stats.accepted, steps);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A spring of 1e10 N/m beside a soft one, with and without damping: what is stiff and at rest does not shorten the steps.
static void stiff_parts_do_not_limit_steps(void **state)
{
    (void)state;
    for (int damped = 0; damped < 2; damped++) {
        char text[600], message[600] = "";
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  a: {mass: 1, inertia: [1, 1, 1]}\n  b: {mass: 1, inertia: "
                 "[1, 1, 1]}\njoints:\n  j: {type: prismatic, bodies: [ground, a], point: [0, 0, 0], axis: [1, 0, 0], "
                 "q: 1}\n  i: {type: prismatic, bodies: [a, b], point: [0, 0, 0], axis: [0, 1, 0], q: 1e-12}\nforces:\n"
                 "  soft: {type: joint_spring, joint: j, stiffness: 9, rest: 0}\n"
                 "  hard: {type: joint_spring, joint: i, stiffness: 1e10, rest: 0, damping: %g}\n",
                 damped ? 1e5 : 0);
        kd_model             *model;
        kd_system            *system;
        kd_state             *x;
        kd_stats              stats;
        kd_simulation_options so = kd_simulation_options_default();
        assert_true(kd_model_read_text("stiff", text, strlen(text), NULL, 0, &model, message, sizeof message) >= 0);
        assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
        assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        so.formulation = KD_ODE;
        so.integrator = KD_MIDPOINT;
        so.rtol = so.atol = 1e-5;
        if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &so, x, 3, &stats, message, sizeof message) <
            0)
            fail_msg("%s", message);
        // two masses along x: omega = 3 / sqrt 2
        if (!(fabs(x->p[0] - cos(9 / sqrt(2))) < 1e-3) || stats.accepted > 400)
            fail_msg("q = %.9g, %ld steps", x->p[0], stats.accepted);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_two),
        cmocka_unit_test(energy_stays),
        cmocka_unit_test(constraints_take_no_energy),
        cmocka_unit_test(constrained_motion_is_reversible),
        cmocka_unit_test(motion_is_reversible),
        cmocka_unit_test(variable_steps),
        cmocka_unit_test(variable_steps_of_linear_motions),
        cmocka_unit_test(variable_steps_of_integrals),
        cmocka_unit_test(stiff_parts_do_not_limit_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
