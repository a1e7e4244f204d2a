// Singular positions: mechanisms that lock end with a status, the joint, the time and the last good state, whatever the
// formulation and the integrator; the singular values themselves.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "simulation/singular.h"

// A rod shorter than its crank, which is driven with 2 rad/s: it locks where r sin(2 t) = l.
static const char slider_crank[] =
    "kardan: 1\n"
    "title: Slider-crank\n"
    "parameters: {r: 0.3, l: 0.2, speed: 2}\n"
    "gravity: [0, 0, -9.81]\n"
    "bodies:\n"
    "  crank: {position: [r/2, 0, 0], mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "  rod: {position: [r + l/2, 0, 0], mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "  piston: {position: [r + l, 0, 0], mass: 0.5, inertia: [5e-4, 5e-4, 5e-4]}\n"
    "  weight: {mass: 1}\n"
    "joints:\n"
    "  motor: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, -1, 0], "
    "motion: speed*t}\n"
    "  crank-pin: {type: revolute, bodies: [crank, rod], point: [r, 0, 0], axis: [0, -1, 0]}\n"
    "  piston-pin: {type: revolute, bodies: [rod, piston], point: [r + l, 0, 0], axis: "
    "[0, -1, 0]}\n"
    "  slide: {type: prismatic, bodies: [ground, piston], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "  rail: {type: prismatic, bodies: [ground, weight], point: [0, 0, 0], axis: [1, 0, 0], "
    "q: 0.1}\n"
    "forces:\n"
    "  spring: {type: joint_spring, joint: rail, stiffness: 10}\n";

typedef struct mechanism {
    const char *name;
    kd_model   *model;
    double      t; // when it locks
} mechanism;

static mechanism read_slider_crank(void)
{
    mechanism m = {.name = "slider-crank", .t = 0.5 * asin(0.2 / 0.3)};
    char      message[400] = "";
    if (kd_model_read_text("text", slider_crank, strlen(slider_crank), NULL, 0, &m.model, message, sizeof message) < 0)
        fail_msg("%s", message);
    return m;
}

// The four-bar of the gallery with other lengths: the crank cannot turn beyond the point where coupler and rocker are
// in line, a^2 + d^2 - 2 a d cos(2 pi t) = (b + c)^2.
static mechanism read_four_bar(void)
{
    const kd_setting settings[] = {{"a", "0.25"}, {"b", "0.2"}, {"c", "0.2"}};
    mechanism        m = {.name = "four-bar"};
    char             message[400] = "";
    if (kd_model_read(KD_SOURCE_DIR "/models/four-bar.yaml", settings, 3, &m.model, message, sizeof message) < 0)
        fail_msg("%s", message);
    m.t = acos((0.25 * 0.25 + 0.3 * 0.3 - 0.16) / (2 * 0.25 * 0.3)) / (2 * acos(-1));
    return m;
}

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    (void)x, (void)at_time, (void)context;
    return KD_EVAL_OK;
}

// One run into the lock
static void run_into_it(const mechanism *m, kd_coordinates coordinates, kd_formulation form,
                        kd_integrator_kind integrator, kd_parametrisation parametrisation)
{
    char                  message[1000] = "", what[100];
    double                times[100];
    kd_system            *system;
    kd_state             *x;
    kd_consistency        found;
    kd_system_options     opt = kd_system_options_default();
    kd_simulation_options o = kd_simulation_options_default();
    snprintf(what, sizeof what, "%s, %s, %s, %s", m->name, coordinates == KD_JOINT ? "joint" : "cartesian",
             kd_formulation_word(form), kd_integrator_word(integrator));
    for (int i = 0; i < 100; i++) times[i] = 0.005 * i;
    opt.coordinates = coordinates;
    assert_true(kd_system_create(m->model, &opt, &system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    o.formulation = form;
    o.integrator = integrator;
    o.formulation_options.constraints = KD_DECOMPOSE_SVD;
    o.formulation_options.parametrisation = parametrisation;
    o.rtol = o.atol = 1e-6;
    o.output = look;
    o.times = times;
    o.ntimes = 100;
    kd_status status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 1, NULL, message, sizeof message);
    // IDA may give up a little before the rank tells
    bool early = integrator == KD_IDA && status == KD_ERR_NEWTON;
    if (status != KD_ERR_RANK_CHANGE && !early) fail_msg("%s: %s: %s", what, kd_status_sentence(status), message);
    if (!early && (!strstr(message, "joint '") || !strstr(message, "locks")))
        fail_msg("%s: no joint in: %s", what, message);
    if (!(x->t > m->t - 1e-3 && x->t < m->t + 1e-4)) fail_msg("%s: t = %.9g, not %.9g", what, x->t, m->t);
    assert_true(kd_initial_residuals(kd_system_eom(system), kd_system_inputs(system), x, &found) >= 0);
    if (!(found.position < 1e-5)) fail_msg("%s: residual %g in the last good state", what, found.position);
    kd_state_destroy(x);
    kd_system_destroy(system);
}

// Every form that holds the positions, with every integrator that takes it; the state-space form with both kinds of
// coordinates.
static void lock_ups_are_told(void **state)
{
    (void)state;
    const kd_formulation forms[] = {KD_PSF, KD_GGL, KD_STATESPACE};
    mechanism            mechanisms[] = {read_slider_crank(), read_four_bar()};
    for (int k = 0; k < 3; k++) // the four-bar in both kinds of coordinates
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) {
                kd_formulation form = forms[f];
                bool           ode = form == KD_STATESPACE;
                bool           sundials = i == KD_IDA || i == KD_CVODE || i == KD_ARKODE;
                if (!ode && i != KD_RADAU && i != KD_BDF && i != KD_SDIRK && i != KD_IDA) continue;
                if ((i == KD_IDA && form == KD_PSF) || i == KD_HALF_EXPLICIT) continue;
                if (sundials && !kd_integrator_about(KD_CVODE, NULL)->available) continue;
                for (int tangent = 0; tangent < (ode ? 2 : 1); tangent++)
                    run_into_it(&mechanisms[k > 0], k > 1 ? KD_CARTESIAN : KD_JOINT, form, (kd_integrator_kind)i,
                                tangent ? KD_PARAMETRISATION_TANGENT : KD_PARAMETRISATION_PARTITION);
            }
    for (int k = 0; k < 2; k++) kd_model_destroy(mechanisms[k].model);
}

// The gallery's four-bar, whose crank turns once in a second, to t = 5
static kd_state *turn(kd_system *system, kd_formulation form, kd_integrator_kind integrator)
{
    char                  message[800] = "";
    double                times[50];
    kd_state             *x;
    kd_simulation_options o = kd_simulation_options_default();
    for (int i = 0; i < 50; i++) times[i] = 0.1 * i + 0.03;
    o.formulation = form;
    o.integrator = integrator;
    o.formulation_options.constraints = KD_DECOMPOSE_SVD;
    o.output = look;
    o.times = times;
    o.ntimes = 50;
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 5, NULL, message, sizeof message) < 0)
        fail_msg("%s: %s", kd_integrator_word(integrator), message);
    return x;
}

// A driven mechanism without a degree of freedom is followed by every integrator without a jump: angles grow as those
// of ggl over several turns.
static void prescribed_motions_are_followed(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        char              message[800] = "";
        kd_model         *model;
        kd_system        *system;
        kd_system_options opt = kd_system_options_default();
        opt.coordinates = k ? KD_CARTESIAN : KD_JOINT;
        assert_true(kd_model_read(KD_SOURCE_DIR "/models/four-bar.yaml", NULL, 0, &model, message, sizeof message) >=
                    0);
        assert_true(kd_system_create(model, &opt, &system, message, sizeof message) >= 0);
        kd_state *exact = turn(system, KD_GGL, KD_RADAU);
        for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) {
            bool sundials = i == KD_IDA || i == KD_CVODE || i == KD_ARKODE;
            if ((sundials && !kd_integrator_about(KD_CVODE, NULL)->available) || i == KD_HALF_EXPLICIT) continue;
            kd_state *x = turn(system, KD_STATESPACE, (kd_integrator_kind)i);
            for (int j = 0; j < kd_eom_dims(kd_system_eom(system)).np; j++)
                if (!(fabs(x->p[j] - exact->p[j]) < 1e-4))
                    fail_msg("%s: coordinate %d is %g, not %g", kd_integrator_word((kd_integrator_kind)i), j, x->p[j],
                             exact->p[j]);
            kd_state_destroy(x);
        }
        kd_state_destroy(exact);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

// ---- singular values ------------------------------------------------------------------------------------------------

// A point that is held to a circle and to a line, twice: rank 2 of 3 rows, singular where the line touches the circle
static kd_eval touching_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval touching_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = f[1] = 0;
    return KD_EVAL_OK;
}
static kd_eval touching_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    g[1] = x->p[1] - x->t;
    g[2] = 3 * (x->p[1] - x->t);
    return KD_EVAL_OK;
}

static kd_eom *make_touching(kd_state **before, kd_state **now)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 3};
    def.M = touching_M;
    def.f = touching_f;
    def.g = touching_g;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, before), KD_OK);
    assert_int_equal(kd_state_create(eom, now), KD_OK);
    (*before)->p[0] = 1;
    (*now)->t = (*now)->p[1] = 1;
    return eom;
}

// Rows [p0 p1; 0 1; 0 1] of length 1, so that sigma^2 are the eigenvalues of [p0^2 p0 p1; p0 p1 2 + p1^2]: 1 and 2 at
// the start. The redundant row is none of its signs; inactive rows do not count.
static void singular_values(void **state)
{
    (void)state;
    kd_state      *before, *now;
    kd_eom        *eom = make_touching(&before, &now);
    kd_singularity found;
    now->p[0] = 1e-4;
    assert_true(kd_singularity_find(eom, NULL, before, now, &found));
    assert_true(fabs(found.before - sqrt(0.5)) < 1e-6);
    double product = 1e-8 * 3 - 1e-8, least = sqrt(product / 3); // det / trace = sigma^2 of the small one, nearly
    assert_true(fabs(found.now - least / sqrt(3.0)) < 1e-3 * found.now);
    assert_true(found.nrows > 0);
    now->active_lambda[1] = now->active_lambda[2] = 0;
    assert_true(kd_singularity_find(eom, NULL, before, now, &found));
    assert_true(found.now > 0.9 && found.nrows == 1 && found.row[0] == 0);
    now->active_lambda[0] = 0;
    assert_false(kd_singularity_find(eom, NULL, before, now, &found));
    kd_state_destroy(before);
    kd_state_destroy(now);
    kd_eom_destroy(eom);
}

// Without memory there is no answer, and nothing is left behind.
static void no_memory(void **state)
{
    (void)state;
    kd_state *before, *now;
    kd_eom   *eom = make_touching(&before, &now);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_singularity    found;
        failing_allocator_use(&a);
        bool good = kd_singularity_find(eom, NULL, before, now, &found);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (good) break;
        assert_true(fail_at < 1000); // with sanitizers every array is a block of its own
    }
    kd_state_destroy(before);
    kd_state_destroy(now);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_ups_are_told),
        cmocka_unit_test(prescribed_motions_are_followed),
        cmocka_unit_test(singular_values),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
