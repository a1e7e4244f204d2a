// Tests of the state-space form: Newton matrices against differences for every system and model, motions against known
// ones, full turns of mechanisms that need new coordinates against psf, order across these changes, dead ends.
#include "core/failing_allocator.h"
#include "forms/statespace_impl.h"
#include "forms/whole.h"
#include "gallery.h"
#include "pendulum.h"
#include "systems/systems.h"
#include <dirent.h>
#include <kardan/kardan.h>

static const kd_parametrisation both[] = {KD_PARAMETRISATION_PARTITION, KD_PARAMETRISATION_TANGENT};

// ---- points ---------------------------------------------------------------------------------------------------------

static kd_eom_counters counters_of(const kd_dae *dae)
{
    const kd_statespace *form = dae->impl;
    return kd_eom_data_counters(kd_acceleration_data(form->acceleration));
}

// The whole state of a point of dense output is that which another form finds for the same x. The polynomials are a good
// guess of it: the constraints are evaluated a few times only, and not again when it is asked for once more.
static void dense_output_is_found_once(void **state)
{
    (void)state;
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, KD_STATESPACE, NULL), *other = make_dae(eom, NULL, x, KD_STATESPACE, NULL);
    const kd_dae_class *f = dae->methods;
    double              y0[2], y1[2], y[2], ydot[2], whole[8], wanted[8];
    kd_formulation_pack(dae, x, y0);
    kd_formulation_pack(other, x, y1);
    assert_int_equal(f->rhs(dae->impl, 0, y0, ydot), KD_EVAL_OK);
    for (int i = 0; i < 2; i++) y1[i] = y0[i] + 0.01 * ydot[i];
    assert_int_equal(f->rhs(dae->impl, 0.01, y1, ydot), KD_EVAL_OK);
    assert_int_equal(f->interpolate(dae->impl, 0, y0, 0.01, y1, 0.001, y), KD_EVAL_OK); // both ends are known then
    for (double t = 0.002; t < 0.009; t += 0.003) {
        const kd_eom_counters before = counters_of(dae);
        assert_int_equal(f->interpolate(dae->impl, 0, y0, 0.01, y1, t, y), KD_EVAL_OK);
        assert_int_equal(f->complete(dae->impl, t, y, whole), KD_EVAL_OK);
        const kd_eom_counters found = counters_of(dae);
        assert_true(found.fn[KD_G] <= before.fn[KD_G] + 3);
        assert_true(found.fn[KD_GI] <= before.fn[KD_GI] + 3);
        assert_int_equal(f->complete(dae->impl, t, y, whole), KD_EVAL_OK);
        const kd_eom_counters after = counters_of(dae);
        assert_int_equal(after.fn[KD_G], found.fn[KD_G]);
        assert_int_equal(after.fn[KD_GI], found.fn[KD_GI]);
        assert_int_equal(f->complete(other->impl, t, y, wanted), KD_EVAL_OK);
        for (int i = 0; i < 7; i++) assert_true(fabs(whole[i] - wanted[i]) < 1e-12 * (1 + fabs(wanted[i])));
    }
    kd_dae_destroy(dae);
    kd_dae_destroy(other);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- prescribed turns inside a step ---------------------------------------------------------------------------------

#define CRANK 0.11
#define ROD 0.29

// A crank that a drive turns, its piston, and a pendulum that swings slowly beside them and alone decides on the steps
static const char turning[] =
    "kardan: 1\n"
    "title: crank beside a pendulum\n"
    "parameters: {speed: 1, r: 0.11, l: 0.29}\n"
    "gravity: [0, 0, -9.81]\n"
    "bodies:\n"
    "  crank: {mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "  rod: {position: [r + l/2, 0, 0], mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "  piston: {position: [r + l, 0, 0], mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "  bob: {position: [1.3, 0, -0.6], mass: 1, inertia: [0.01, 0.01, 0.01]}\n"
    "joints:\n"
    "  pin: {type: revolute, bodies: [ground, bob], point: [1, 0, 0], axis: [0, 1, 0]}\n"
    "  motor: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, -1, 0],\n"
    "    motion: speed*t}\n"
    "  crank-pin: {type: revolute, bodies: [crank, rod], point: [r, 0, 0], axis: [0, -1, 0]}\n"
    "  piston-pin: {type: spherical, bodies: [rod, piston], point: [r + l, 0, 0]}\n"
    "  slide: {type: prismatic, bodies: [ground, piston], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "run: {t_end: 1}\n";

typedef struct turn_watch {
    kd_probe *probe;
    double    speed, error, last, longest; // of the piston and its velocity; longest step
} turn_watch;

// The piston and its velocity beside x = r cos q + sqrt(l^2 - r^2 sin^2 q), x' = -r q' sin q (1 + r cos q / root)
static kd_eval watch_piston(const kd_state *x, bool at_time, void *context)
{
    turn_watch  *w = context;
    const double q = w->speed * x->t, root = sqrt(ROD * ROD - pow(CRANK * sin(q), 2)), now = CRANK * cos(q) + root;
    const double v = -CRANK * w->speed * sin(q) * (1 + CRANK * cos(q) / root);
    assert_int_equal(kd_probe_set(w->probe, x), KD_OK);
    w->error = fmax(w->error, fabs(kd_probe_read(w->probe, "body.piston.pos.x") - now));
    w->error = fmax(w->error, fabs(kd_probe_read(w->probe, "body.piston.vel.x") - v) / w->speed);
    if (!at_time) {
        w->longest = fmax(w->longest, x->t - w->last);
        w->last = x->t;
    }
    return KD_EVAL_OK;
}

// Where the prescribed part of a mechanism turns far inside a step, which only other coordinates decide on, what is shown
// between steps is the motion and not what polynomials make of it: error of rounding, by closed form.
static void prescribed_turns_inside_a_step(void **state)
{
    (void)state;
    enum { TIMES = 37 };
    const kd_integrator_kind methods[] = {KD_RADAU, KD_SDIRK};
    double                   times[TIMES], most = 0;
    for (int i = 0; i < TIMES; i++) times[i] = 0.7 * (i + 0.31) / TIMES;
    for (int k = 0; k < 8; k++) {
        const kd_setting setting = {.name = "speed", .value = k < 4 ? "70" : "400"};
        turn_watch       w = {.speed = k < 4 ? 70 : 400};
        char             message[800] = "";
        kd_model        *model;
        kd_system       *system;
        kd_state        *x;
        assert_int_equal(
            kd_model_read_text("turning", turning, strlen(turning), &setting, 1, &model, message, sizeof message),
            KD_OK);
        kd_system_options how = kd_system_options_default();
        how.coordinates = KD_CARTESIAN;
        assert_int_equal(kd_system_create(model, &how, &system, message, sizeof message), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        assert_int_equal(kd_probe_of_system(system, kd_system_inputs(system), &w.probe), KD_OK);
        kd_simulation_options o = kd_simulation_options_default();
        o.formulation = KD_STATESPACE;
        o.formulation_options.parametrisation = both[k / 2 % 2];
        o.integrator = methods[k % 2];
        o.rtol = o.atol = 1e-5;
        o.times = times;
        o.ntimes = TIMES;
        o.output = watch_piston;
        o.context = &w;
        if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, 0.7, NULL, message, sizeof message) < 0)
            fail_msg("%s", message);
        most = fmax(most, w.longest * w.speed);
        if (!(w.error < 1e-8)) fail_msg("run %d: piston wrong by %.1e", k, w.error);
        kd_probe_destroy(w.probe);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
    assert_true(most > 2); // radians in one step
}

// ---- motions --------------------------------------------------------------------------------------------------------

// Every test system moves as its solution, by both parametrisations.
static void systems_move_as_known(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k / 2];
        kd_eom               *eom;
        kd_state             *x, *exact;
        assert_int_equal(system->create(&eom, &x), KD_OK);
        assert_int_equal(kd_state_create(eom, &exact), KD_OK);
        system->solution(system->t_end, exact);
        kd_formulation_options opt = kd_formulation_options_default();
        opt.parametrisation = both[k % 2];
        if (system->redundant) opt.constraints = KD_DECOMPOSE_SVD;
        kd_dae *dae = make_dae(eom, NULL, x, KD_STATESPACE, &opt);
        kd_dims d = kd_eom_dims(eom);
        integrate(dae, 1e-9, system->t_end, x, NULL);
        int count = system->multipliers ? x->n : x->n - d.nlambda - d.nmu;
        for (int i = 0; i < count; i++)
            if (!(fabs(x->p[i] - exact->p[i]) <= 2e-5 * fmax(1, fabs(exact->p[i]))))
                fail_msg("%s: component %d is %.12g, not %.12g", system->name, i, x->p[i], exact->p[i]);
        kd_dae_destroy(dae);
        kd_state_destroy(exact);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// The state of a model file at t_end
static kd_state *run_model(kd_system *system, kd_formulation form, kd_parametrisation parametrisation, double t_end)
{
    char                  message[800] = "";
    kd_state             *x;
    kd_simulation_options o = kd_simulation_options_default();
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    o.formulation = form;
    o.formulation_options.parametrisation = parametrisation;
    o.formulation_options.constraints = KD_DECOMPOSE_SVD;
    o.rtol = o.atol = 1e-9;
    if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &o, x, t_end, NULL, message, sizeof message) < 0)
        fail_msg("%s, %s: %s", kd_eom_title(kd_system_eom(system)), kd_formulation_word(form), message);
    return x;
}

// Nonholonomic, redundant and rheonomic constraints, inner states, contact coordinates, sampled control: positions and
// velocities are those of psf, in both kinds of coordinates and by both parametrisations.
static void models_move_as_with_psf(void **state)
{
    (void)state;
    const struct {
        const char *name;
        double      t_end;
    } models[] = {{"skate", 1}, {"rolling-disc", 1},   {"bricard", 0.2},    {"four-bar", 0.3},  {"speed-control", 0.2},
                  {"cam", 0.3}, {"slider-crank", 0.2}, {"gear-train", 0.3}, {"plate-cam", 0.1}, {"stewart", 0.2}};
    for (size_t k = 0; k < sizeof models / sizeof *models; k++)
        for (int c = 0; c < 2; c++) {
            char              message[800] = "", path[400];
            kd_model         *model;
            kd_system        *system;
            kd_system_options opt = kd_system_options_default();
            opt.coordinates = c ? KD_CARTESIAN : KD_JOINT;
            snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", models[k].name);
            assert_true(kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0);
            assert_true(kd_system_create(model, &opt, &system, message, sizeof message) >= 0);
            kd_state *exact = run_model(system, KD_PSF, KD_PARAMETRISATION_PARTITION, models[k].t_end);
            for (int j = 0; j < 2; j++) {
                kd_state *x = run_model(system, KD_STATESPACE, both[j], models[k].t_end);
                kd_dims   d = kd_eom_dims(kd_system_eom(system));
                for (int i = 0; i < d.np + d.nv + d.nr; i++)
                    if (!(fabs(x->p[i] - exact->p[i]) <= 1e-6 * fmax(1, fabs(exact->p[i]))))
                        fail_msg("%s: component %d is %.12g, not %.12g", models[k].name, i, x->p[i], exact->p[i]);
                kd_state_destroy(x);
            }
            kd_state_destroy(exact);
            kd_system_destroy(system);
            kd_model_destroy(model);
        }
}

// ---- mechanisms that turn -------------------------------------------------------------------------------------------

// Four-bar linkage in the coordinates of its pins, p = (P, Q): |P| = a, |Q - P| = b, |Q - D| = c, D = (d, 0).
// Slider-crank: Q moves along the x-axis instead. Point masses, gravity, a damper or spring at Q. In full turns of the
// crank neither x nor y of P can stay independent.
typedef struct mechanism {
    double a, b, c, d;
    bool   slider;
} mechanism;

static kd_eval mechanism_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[5] = 2;
    M[10] = M[15] = 0.5;
    return KD_EVAL_OK;
}
static kd_eval mechanism_f(const kd_point *x, void *context, double *f)
{
    const mechanism *m = context;
    f[0] = 0;
    f[1] = -2;
    f[2] = m->slider ? -(x->p[2] - 2) : -0.1 * x->v[2];
    f[3] = -0.5;
    return KD_EVAL_OK;
}
// squares of the three lengths, with P = (x, y)[0..1], Q = (x, y)[2..3] and the same for rates
static void lengths(const mechanism *m, const double *p, const double *q, double level, double *out)
{
    out[0] = p[0] * q[0] + p[1] * q[1];
    out[1] = (p[2] - p[0]) * (q[2] - q[0]) + (p[3] - p[1]) * (q[3] - q[1]);
    out[2] = m->slider ? (level > 0 ? 0 : p[3]) : (p[2] - (level > 1 ? 0 : m->d)) * q[2] + p[3] * q[3];
}
static kd_eval mechanism_g(const kd_point *x, void *context, double *g)
{
    const mechanism *m = context;
    const double     moved[] = {x->p[0], x->p[1], x->p[2] - m->d, x->p[3]};
    lengths(m, x->p, x->p, 0, g);
    g[0] -= m->a * m->a;
    g[1] -= m->b * m->b;
    if (!m->slider) g[2] = moved[2] * moved[2] + moved[3] * moved[3] - m->c * m->c;
    return KD_EVAL_OK;
}
static kd_eval mechanism_gI(const kd_point *x, void *context, double *g)
{
    const mechanism *m = context;
    lengths(m, x->p, x->v, 1, g);
    for (int i = 0; i < 3; i++) g[i] *= 2;
    if (m->slider) g[2] = x->v[3];
    return KD_EVAL_OK;
}
static kd_eval mechanism_gII(const kd_point *x, void *context, double *g)
{
    const mechanism *m = context;
    double           square[3];
    lengths(m, x->p, x->a, 1, g);
    lengths(m, x->v, x->v, 2, square);
    for (int i = 0; i < 3; i++) g[i] = 2 * (g[i] + square[i]);
    if (m->slider) g[2] = x->a[3];
    return KD_EVAL_OK;
}

static const mechanism four_bar = {.a = 1, .b = 2.5, .c = 2, .d = 2.2};
static const mechanism slider_crank = {.a = 1, .b = 1.6, .slider = true};

static kd_eom *make_mechanism(const mechanism *m, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = m->slider ? "slider-crank" : "four-bar";
    def.dims = (kd_dims){.np = 4, .nv = 4, .nlambda = 3};
    def.context = (void *)(uintptr_t)m;
    def.M = mechanism_M;
    def.f = mechanism_f;
    def.g = mechanism_g;
    def.gI = mechanism_gI;
    def.gII = mechanism_gII;
    kd_eom *eom = make(&def);
    assert_int_equal(kd_state_create(eom, x), KD_OK);
    const double four[] = {0.95, 0.3, 2.1, 2.0}, slider[] = {0.95, 0.3, 2.5, 0};
    memcpy((*x)->p, m->slider ? slider : four, sizeof four);
    (*x)->v[0] = -1.2;
    (*x)->v[1] = 4;
    make_consistent(eom, NULL, *x);
    return eom;
}

static double  worst_residual;
static kd_eval keep_worst(const kd_state *x, bool at_time, void *context)
{
    kd_consistency found;
    (void)at_time;
    assert_true(kd_initial_residuals(context, NULL, x, &found) >= 0);
    worst_residual = fmax(worst_residual, fmax(found.position, found.velocity));
    return KD_EVAL_OK;
}

static kd_stats run(const mechanism *m, kd_formulation form, kd_parametrisation parametrisation,
                    kd_integrator_kind integrator, double tolerance, double t_end, kd_state **x)
{
    char                  message[800] = "";
    double                times[40];
    kd_stats              stats;
    kd_eom               *eom = make_mechanism(m, x);
    kd_simulation_options opt = kd_simulation_options_default();
    for (int i = 0; i < 40; i++) times[i] = t_end * (i + 0.5) / 40;
    opt.formulation = form;
    opt.formulation_options.parametrisation = parametrisation;
    opt.integrator = integrator;
    opt.rtol = opt.atol = tolerance;
    opt.output = keep_worst;
    opt.context = eom;
    opt.times = times;
    opt.ntimes = 40;
    worst_residual = 0;
    kd_status status = kd_simulate(eom, NULL, &opt, *x, t_end, &stats, message, sizeof message);
    if (status < 0) fail_msg("%s: %s", kd_formulation_word(form), message);
    kd_eom_destroy(eom);
    return stats;
}

static const mechanism *const mechanisms[] = {&four_bar, &slider_crank};

// Several full turns: new coordinates again and again, the motion is that of psf and of ggl (whose multipliers are less
// accurate), constraints hold at all times and between steps.
static void full_turns_are_those_of_psf_and_ggl(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++) {
        const mechanism *m = mechanisms[k / 2 % 2];
        kd_state        *x, *exact;
        run(m, k < 4 ? KD_PSF : KD_GGL, KD_PARAMETRISATION_PARTITION, KD_RADAU, 1e-12, 10, &exact);
        kd_stats stats = run(m, KD_STATESPACE, both[k % 2], KD_RADAU, 1e-12, 10, &x);
        assert_true(stats.selectors > 12);
        assert_true(worst_residual < 1e-10);
        for (int i = 0; i < (k < 4 ? exact->n : 8); i++)
            if (!(fabs(x->p[i] - exact->p[i]) <= 1e-8 * fmax(1, fabs(exact->p[i]))))
                fail_msg("mechanism %d: component %d is %.12g, not %.12g", k, i, x->p[i], exact->p[i]);
        for (int i = 0; i < 4 && k < 4; i++) assert_close(x->a[i], exact->a[i], 1e-7 * fmax(1, fabs(exact->a[i])));
        kd_state_destroy(x);
        kd_state_destroy(exact);
    }
}

// Every integrator goes on after a change of coordinates.
static void all_integrators_follow(void **state)
{
    (void)state;
    const kd_integrator_kind all[] = {KD_RADAU, KD_BDF, KD_IDA, KD_CVODE, KD_ARKODE};
    kd_state                *x, *exact;
    run(&four_bar, KD_PSF, KD_PARAMETRISATION_PARTITION, KD_RADAU, 1e-11, 4, &exact);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (all[k] == KD_IDA && !kd_integrator_about(KD_IDA, NULL)->available) continue;
        if (all[k] > KD_IDA && !kd_integrator_about(KD_CVODE, NULL)->available) continue;
        kd_stats stats = run(&four_bar, KD_STATESPACE, KD_PARAMETRISATION_PARTITION, all[k], 1e-8, 4, &x);
        assert_true(stats.selectors > 3);
        assert_true(worst_residual < 1e-10);
        for (int i = 0; i < 8; i++)
            if (!(fabs(x->p[i] - exact->p[i]) <= 1e-4))
                fail_msg("%s: component %d is %.12g, not %.12g", kd_integrator_word(all[k]), i, x->p[i], exact->p[i]);
        kd_state_destroy(x);
    }
    kd_state_destroy(exact);
}

// Positions at which functions of the four-bar are evaluated
typedef struct visits {
    mechanism     m; // first: the functions of the mechanism find it there
    unsigned long last, last_M;
    // calls of g; positions of M and of g, gI, with those of differences and of Newton matrices, those in a row counted once
    long g, M, all;
} visits;

static void visit(visits *c, const kd_point *x)
{
    c->all += c->last != x->position_stamp;
    c->last = x->position_stamp;
}

static kd_eval counted_g(const kd_point *x, void *context, double *out)
{
    visits *c = context;
    visit(c, x);
    c->g++;
    return mechanism_g(x, context, out);
}

static kd_eval counted_gI(const kd_point *x, void *context, double *out)
{
    visit(context, x);
    return mechanism_gI(x, context, out);
}

static kd_eval counted_M(const kd_point *x, void *context, double *out)
{
    visits *c = context;
    c->M += c->last_M != x->position_stamp;
    c->last_M = x->position_stamp;
    return mechanism_M(x, context, out);
}

// Dependent positions are carried along by the iteration of the integrator: a right-hand side sets one position, where it asks for
// g once. Velocities and accelerations are found there, too. Guesses that are too far away need another one.
static void check_visits(kd_integrator_kind integrator, double g, double positions)
{
    visits                c = {.m = four_bar};
    kd_state             *x;
    kd_eom               *plain = make_mechanism(&four_bar, &x), *eom = NULL;
    kd_eom_def            def = *kd_eom_definition(plain);
    kd_simulation_options opt = kd_simulation_options_default();
    kd_stats              stats;
    char                  message[400] = "";
    def.context = &c;
    def.g = counted_g;
    def.gI = counted_gI;
    def.M = counted_M;
    assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
    opt.formulation = KD_STATESPACE;
    opt.integrator = integrator;
    opt.rtol = opt.atol = 1e-7;
    opt.verify = false;
    opt.initial.known = true;
    c.g = c.M = c.all = 0;
    if (kd_simulate(eom, NULL, &opt, x, 4, &stats, message, sizeof message) < 0) fail_msg("%s", message);
    const double rhs = (double)stats.residuals;
    print_message("%.0f right-hand sides: g %.2f, positions of M %.2f, all %.2f\n", rhs, (double)c.g / rhs,
                  (double)c.M / rhs, (double)c.all / rhs);
    assert_true(rhs > 500);
    assert_true((double)c.g < g * rhs && (double)c.M < 2 * rhs && (double)c.all < positions * rhs);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    kd_eom_destroy(plain);
}

static void one_position_for_a_right_hand_side(void **state)
{
    (void)state;
    check_visits(KD_SDIRK, 1.15, 1.35);
    check_visits(KD_RADAU, 1.45, 2.4); // long steps; fewer right-hand sides beside those of derivatives
}

// Constant steps of a method of order 4 across several changes: the error falls with h^4.
static void order_is_kept_across_changes(void **state)
{
    (void)state;
    if (!kd_integrator_about(KD_ARKODE, NULL)->available) skip();
    kd_state *x, *exact;
    double    error[2];
    run(&four_bar, KD_PSF, KD_PARAMETRISATION_PARTITION, KD_RADAU, 1e-12, 4, &exact);
    for (int k = 0; k < 2; k++) {
        char                  message[600] = "";
        kd_stats              stats;
        kd_eom               *eom = make_mechanism(&four_bar, &x);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_STATESPACE;
        opt.integrator = KD_ARKODE;
        opt.integrator_options.arkode.order = 4;
        opt.integrator_options.h_fixed = k ? 0.0025 : 0.005;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 4, &stats, message, sizeof message);
        if (status < 0) fail_msg("%s", message);
        assert_true(stats.selectors > 3);
        error[k] = 0;
        for (int i = 0; i < 8; i++) error[k] = fmax(error[k], fabs(x->p[i] - exact->p[i]));
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    double order = log2(error[0] / error[1]);
    if (!(order > 3.6 && order < 4.6)) fail_msg("order %g, errors %g, %g", order, error[0], error[1]);
    kd_state_destroy(exact);
}

// ---- the history of bdf ---------------------------------------------------------------------------------------------

// A recall that knows a few points only
static bool (*true_recall)(void *impl, double t, double *x);
static int  recalls_left;
static bool short_memory(void *impl, double t, double *x)
{
    return recalls_left-- > 0 && true_recall(impl, t, x);
}
typedef enum memory { ALL, FEW, NOTHING } memory;

typedef struct bdf_run {
    kd_formulation     form;
    kd_parametrisation parametrisation;
    memory             memory;
    double             tolerance, h_fixed;
    int                order_fixed;
} bdf_run;
typedef struct bdf_result {
    kd_stats stats;
    int      low;   // steps of order 1 or 2 after the first ten
    double   error; // of p and v
} bdf_result;

static bdf_result run_bdf(const mechanism *m, bdf_run how, double t_end)
{
    bdf_result             found = {0};
    kd_state              *x, *exact;
    kd_formulation_options opt = kd_formulation_options_default();
    kd_integrator_options  o = kd_integrator_options_default();
    kd_integrator         *b;
    double                 vector[20];
    run(m, KD_PSF, KD_PARAMETRISATION_PARTITION, KD_RADAU, 1e-12, t_end, &exact);
    kd_eom *eom = make_mechanism(m, &x);
    opt.parametrisation = how.parametrisation;
    kd_dae      *dae = make_dae(eom, NULL, x, how.form, &opt);
    kd_dae_class methods = *dae->methods;
    true_recall = methods.recall;
    if (how.memory == FEW) methods.recall = short_memory;
    if (how.memory == NOTHING) methods.recall = NULL;
    dae->methods = &methods;
    o.rtol = o.atol = how.tolerance;
    o.h_fixed = how.h_fixed;
    o.bdf.order_fixed = how.order_fixed;
    if (how.h_fixed > 0) o.bdf.newton_stop = 1e-6;
    assert_true(dae->n <= 20);
    kd_formulation_pack(dae, x, vector);
    assert_int_equal(kd_integrator_create(dae, KD_BDF, &o, &b, NULL, 0), KD_OK);
    assert_int_equal(kd_integrator_start(b, 0, vector), KD_OK);
    while (kd_integrator_time(b) < t_end) {
        recalls_left = 3;
        if (kd_integrator_step(b, t_end) < 0) fail_msg("%s", kd_integrator_message(b));
        found.stats = kd_integrator_stats(b);
        found.low += found.stats.accepted > 10 && found.stats.order_last < 3;
    }
    kd_formulation_unpack(dae, t_end, kd_integrator_x(b), x);
    for (int i = 0; i < 8; i++) found.error = fmax(found.error, fabs(x->p[i] - exact->p[i]));
    kd_integrator_destroy(b);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_state_destroy(exact);
    kd_eom_destroy(eom);
    return found;
}

// New coordinates cost bdf neither order nor step size: no more steps than psf, which keeps its coordinates, needs, and
// far fewer than with a new start after every change. Three points that are known are a history, too.
static void bdf_keeps_its_history(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const mechanism *m = mechanisms[k / 2];
        bdf_run          how = {.form = KD_STATESPACE, .parametrisation = both[k % 2], .tolerance = 1e-6};
        bdf_result       kept = run_bdf(m, how, 10);
        how.memory = FEW;
        bdf_result few = run_bdf(m, how, 10);
        how.memory = NOTHING;
        bdf_result restarted = run_bdf(m, how, 10), psf = run_bdf(m, (bdf_run){.form = KD_PSF, .tolerance = 1e-6}, 10);
        long       changes = kept.stats.selectors;
        assert_true(changes > 25 && kept.low == 0 && restarted.low > 20);
        assert_true(kept.stats.accepted < 1.02 * (double)psf.stats.accepted);
        assert_true(kept.stats.accepted < 0.8 * (double)restarted.stats.accepted);
        assert_true(few.stats.accepted < 0.95 * (double)restarted.stats.accepted);
        assert_true(kept.stats.rejected_error <= changes / 2);
        assert_true(kept.error < 5e-3 && few.error < 5e-3 && restarted.error < 5e-3);
    }
}

// At a tight tolerance the motion of bdf is that of radau and psf to 1e-8.
static void bdf_goes_full_turns(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bdf_run    how = {.form = KD_STATESPACE, .parametrisation = both[k % 2], .tolerance = 1e-12};
        bdf_result found = run_bdf(mechanisms[k / 2], how, 4);
        assert_true(found.stats.selectors > 10 && found.low == 0);
        if (!(found.error < 1e-8)) fail_msg("mechanism %d: error %g", k, found.error);
    }
}

// Fixed steps of fixed order across many changes of coordinates: the order is that of the method.
static void bdf_keeps_its_order(void **state)
{
    (void)state;
    for (int order = 2; order <= 5; order++)
        for (int k = 0; k < 2; k++) {
            bdf_run how = {.form = KD_STATESPACE, .parametrisation = both[k], .tolerance = 1e-8, .order_fixed = order};
            how.h_fixed = 0.002;
            bdf_result coarse = run_bdf(&four_bar, how, 4);
            how.h_fixed = 0.001;
            bdf_result fine = run_bdf(&four_bar, how, 4);
            double     measured = log2(coarse.error / fine.error);
            assert_true(fine.stats.selectors > 10);
            assert_true(fine.stats.accepted < 4200); // 4000 of the grid, and those of a single start
            if (!(fabs(measured - order) < 0.3)) fail_msg("order %g, not %d", measured, order);
        }
}

// ---- coordinates ----------------------------------------------------------------------------------------------------

// A changed x stands for the same state; times before the change keep the coordinates of before.
static void relabelling_keeps_the_state(void **state)
{
    (void)state;
    kd_state *x, *y;
    kd_eom   *eom = make_mechanism(&four_bar, &x);
    kd_dae   *dae = make_dae(eom, NULL, x, KD_STATESPACE, NULL);
    double    vector[2], xdot[2], old[2];
    bool      changed = false;
    char      before[100], after[100];
    assert_int_equal(kd_state_create(eom, &y), KD_OK);
    assert_int_equal(dae->n, 2);
    assert_int_equal(dae->nstate, 0);
    kd_formulation_pack(dae, x, vector);
    double t = 0, h = 1e-3;
    for (int step = 0; step < 5000 && !changed; step++, t += h) { // Heun
        double k[2], end[2];
        assert_int_equal(dae->methods->rhs(dae->impl, t, vector, xdot), KD_EVAL_OK);
        for (int i = 0; i < 2; i++) end[i] = vector[i] + h * xdot[i];
        assert_int_equal(dae->methods->rhs(dae->impl, t + h, end, k), KD_EVAL_OK);
        for (int i = 0; i < 2; i++) vector[i] += 0.5 * h * (xdot[i] + k[i]);
        memcpy(old, vector, sizeof old);
        kd_formulation_unpack(dae, t + h, vector, x);
        dae->methods->component_name(dae->impl, 0, before, sizeof before);
        assert_int_equal(dae->methods->relabel(dae->impl, t + h, vector, &changed), KD_EVAL_OK);
    }
    assert_true(changed);
    dae->methods->component_name(dae->impl, 0, after, sizeof after);
    assert_string_not_equal(before, after);
    kd_formulation_unpack(dae, t, vector, y);
    for (int i = 0; i < x->n; i++) assert_close(y->p[i], x->p[i], 1e-10 * fmax(1, fabs(x->p[i])));
    kd_formulation_unpack(dae, t - 1e-9, old, y);
    for (int i = 0; i < 4; i++) assert_close(y->p[i], x->p[i], 1e-8);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_state_destroy(y);
    kd_eom_destroy(eom);
}

// ---- dead ends ------------------------------------------------------------------------------------------------------

// A slider driven with y = t on a unit circle: no position beyond t = 1; a free oscillator beside it.
static kd_eval driven_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[4] = M[8] = 1;
    return KD_EVAL_OK;
}
static kd_eval driven_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = f[1] = 0;
    f[2] = -x->p[2];
    return KD_EVAL_OK;
}
static kd_eval driven_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    g[1] = x->p[1] - x->t;
    return KD_EVAL_OK;
}
static const char *driven_name(kd_kind kind, int i, void *context)
{
    (void)context;
    return kind == KD_NAME_LAMBDA ? (i ? "joint 'drive'" : "joint 'circle'") : NULL;
}

// It ends with a status, the joint's name, the time, and the last state before it.
static void lock_up_is_told(void **state)
{
    (void)state;
    const kd_integrator_kind all[] = {KD_RADAU, KD_BDF};
    for (int k = 0; k < 2; k++) {
        char       message[800] = "";
        kd_eom_def def = kd_eom_def_default();
        kd_state  *x;
        def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2};
        def.M = driven_M;
        def.f = driven_f;
        def.g = driven_g;
        def.name = driven_name;
        kd_eom *eom = make(&def);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->p[0] = x->v[1] = x->p[2] = 1;
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_STATESPACE;
        opt.integrator = all[k];
        kd_status status = kd_simulate(eom, NULL, &opt, x, 2, NULL, message, sizeof message);
        assert_true(status < 0);
        if (!strstr(message, "joint '")) fail_msg("%s: %s", kd_status_sentence(status), message);
        assert_true(strstr(message, "t = 0.9") || strstr(message, "t = 1"));
        assert_true(x->t > 0.9 && x->t <= 1);
        assert_close(x->p[0] * x->p[0] + x->p[1] * x->p[1], 1, 1e-9);
        assert_close(x->p[1], x->t, 1e-9);
        assert_close(x->p[2], cos(x->t), 1e-4);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A stiff spring between two bodies keeps the order, whatever the units: the coordinates that it acts upon are taken as
// independent. Double pendulum of S2 with quaternions; steps grow by 10^(1/4) for a decade, Newton's method never
// fails.
static void stiff_springs_keep_the_order(void **state)
{
    (void)state;
    kd_system_options coordinates = kd_system_options_default();
    kd_model         *model = NULL;
    kd_system        *system = NULL;
    kd_state         *start = NULL, *x = NULL;
    char              message[400] = "";
    long              before = 0;
    const char       *path = KD_SOURCE_DIR "/models/stiff-double-pendulum.yaml";
    coordinates.coordinates = KD_CARTESIAN;
    assert_true(kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0);
    assert_true(kd_system_create(model, &coordinates, &system, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &start), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, start, message, sizeof message) >= 0);
    for (double tol = 1e-4; tol > 1e-8; tol /= 10) {
        kd_simulation_options opt = kd_simulation_options_default();
        kd_simulation        *simulation = NULL;
        opt.formulation = KD_STATESPACE;
        opt.integrator = KD_SDIRK;
        opt.rtol = opt.atol = tol;
        kd_state_copy(start, x);
        assert_true(kd_simulation_create(eom, NULL, &opt, x, &simulation, message, sizeof message) >= 0);
        assert_true(kd_simulation_run(simulation, 2) >= 0);
        kd_stats s = kd_simulation_stats(simulation);
        assert_int_equal(s.rejected_newton, 0);
        assert_true(before == 0 ? s.accepted < 100 : (double)s.accepted < 1.9 * (double)before);
        before = s.accepted;
        kd_simulation_destroy(simulation);
    }
    kd_state_destroy(x);
    kd_state_destroy(start);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// Trial steps that go too far, to places without solution or to another branch of the constraints, leave no trace:
// afterwards a near point gives what it gives without them.
static void far_points_leave_no_trace(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    kd_model              *model = NULL;
    kd_system             *system = NULL;
    kd_state              *x = NULL;
    char                   message[400] = "";
    double                 y[2][40], moved[40], xdot[2][40], rest[2][300];
    unsigned               seed = 7;
    int                    failures = 0;
    assert_true(kd_model_read(KD_SOURCE_DIR "/models/hmmwv.yaml", NULL, 0, &model, message, sizeof message) >= 0);
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(system);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    kd_dae *dae[2] = {make_dae(eom, NULL, x, KD_STATESPACE, &opt), make_dae(eom, NULL, x, KD_STATESPACE, &opt)};
    assert_true(dae[0]->n <= 40);
    for (int k = 0; k < 2; k++) kd_formulation_pack(dae[k], x, y[k]);
    for (int trial = 0; trial < 40; trial++) {
        for (int i = 0; i < dae[0]->n; i++) moved[i] = y[0][i] + (0.2 + 0.02 * trial) * scatter(&seed);
        failures += dae[0]->methods->rhs(dae[0]->impl, 0, moved, xdot[0]) != KD_EVAL_OK;
        for (int i = 0; i < dae[0]->n; i++) moved[i] = y[0][i] + 1e-3 * scatter(&seed);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(dae[k]->methods->rhs(dae[k]->impl, 0, moved, xdot[k]), KD_EVAL_OK);
            assert_int_equal(dae[k]->methods->complete(dae[k]->impl, 0, moved, rest[k]), KD_EVAL_OK);
        }
        for (int i = 0; i < kd_eom_dims(eom).np; i++) assert_close(rest[0][i], rest[1][i], 1e-10);
        for (int i = 0; i < dae[0]->n; i++) assert_close(xdot[0][i], xdot[1][i], 1e-3 * fmax(1, fabs(xdot[1][i])));
    }
    assert_true(failures > 0);
    for (int k = 0; k < 2; k++) kd_dae_destroy(dae[k]);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// Options without meaning are refused.
static void wrong_options_are_refused(void **state)
{
    (void)state;
    char                   message[200] = "";
    kd_state              *x;
    kd_eom                *eom = make_mechanism(&four_bar, &x);
    kd_dae                *dae;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.parametrisation = (kd_parametrisation)7;
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_STATESPACE, &opt, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "parametrisation"));
    opt = kd_formulation_options_default();
    opt.derivatives = KD_DERIVATIVES_GROUPED;
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_STATESPACE, &opt, &dae, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A quaternion without its norm equation is refused with the reason and a way out.
static void missing_norms_are_refused(void **state)
{
    (void)state;
    char       message[300] = "";
    kd_dae    *dae;
    kd_eom_def def = body();
    def.dims.nq = 0;
    def.q = NULL;
    kd_eom   *eom = make(&def);
    kd_state *x = state_at(eom, &body_place);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_STATESPACE, NULL, &dae, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    if (!strstr(message, "np = 7") || !strstr(message, "norm") || !strstr(message, "psf")) fail_msg("%s", message);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A failed allocation at creation leaves nothing behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    double     y[9], ydot[9];
    make_consistent(eom, &whole_inputs, x);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_dae           *dae;
        failing_allocator_use(&a);
        kd_status status = kd_formulation_create(eom, &whole_inputs, x, KD_STATESPACE, NULL, &dae, NULL, 0);
        if (status >= 0) {
            kd_formulation_pack(dae, x, y);
            assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
            status = dae->methods->linearize(dae->impl, 0, y, ydot, true);
        }
        kd_dae_destroy(dae);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_output_is_found_once),
        cmocka_unit_test(prescribed_turns_inside_a_step),
        cmocka_unit_test(systems_move_as_known),
        cmocka_unit_test(models_move_as_with_psf),
        cmocka_unit_test(full_turns_are_those_of_psf_and_ggl),
        cmocka_unit_test(all_integrators_follow),
        cmocka_unit_test(one_position_for_a_right_hand_side),
        cmocka_unit_test(order_is_kept_across_changes),
        cmocka_unit_test(bdf_keeps_its_history),
        cmocka_unit_test(bdf_goes_full_turns),
        cmocka_unit_test(bdf_keeps_its_order),
        cmocka_unit_test(relabelling_keeps_the_state),
        cmocka_unit_test(lock_up_is_told),
        cmocka_unit_test(stiff_springs_keep_the_order),
        cmocka_unit_test(far_points_leave_no_trace),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(missing_norms_are_refused),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
