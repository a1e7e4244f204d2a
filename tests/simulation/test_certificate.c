// The certificate: violations are those of the constraints, the energy balance is as accurate as the run, a wrong
// motion is noticed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gallery.h>

#include "core/failing_allocator.h"
#include "results/oscillator.h"
#include "systems/systems.h"
#include "trust/seeded.h"

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_certifier *certifier;
} fixture;

static fixture make(kd_eom_def def)
{
    fixture f = {0};
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_certifier_create(f.eom, NULL, &f.certifier), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_certifier_destroy(f->certifier);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static kd_certificate see(fixture *f)
{
    assert_int_equal(kd_certifier_see(f->certifier, NULL, f->x), KD_OK);
    return kd_certifier_certificate(f->certifier);
}

// ---- a whole run ----------------------------------------------------------------------------------------------------

typedef struct watched {
    kd_certifier  *certifier;
    kd_simulation *simulation;
    bool           steps_only;
    long           seen;
    double         last_balance; // at the last wanted time inside a step
} watched;

static kd_eval output(const kd_state *x, bool at_time, void *context)
{
    watched *w = context;
    if (at_time && w->steps_only) return KD_EVAL_OK;
    w->seen++;
    assert_int_equal(kd_certifier_see(w->certifier, w->simulation, x), KD_OK);
    if (at_time) w->last_balance = kd_certifier_findings(w->certifier).balance;
    return KD_EVAL_OK;
}

static kd_certificate certify(const kd_eom *eom, const kd_inputs *inputs, kd_state *x, double t_end,
                              kd_simulation_options opt, watched *w)
{
    double times[40];
    for (int i = 0; i < 40; i++) times[i] = t_end * (i + 0.37) / 40;
    opt.output = output;
    opt.context = w;
    opt.times = times;
    opt.ntimes = 40;
    assert_int_equal(kd_certifier_create(eom, inputs, &w->certifier), KD_OK);
    assert_true(kd_simulation_create(eom, inputs, &opt, x, &w->simulation, NULL, 0) >= 0);
    assert_true(kd_simulation_run(w->simulation, t_end) >= 0);
    kd_certificate c = kd_certifier_certificate(w->certifier);
    kd_simulation_destroy(w->simulation);
    kd_certifier_destroy(w->certifier);
    assert_true(c.t_start == 0 && c.t_end == t_end && c.states == w->seen);
    return c;
}

// ---- tests ----------------------------------------------------------------------------------------------------------

// A damped oscillator by psf and radau: the error of the balance falls in proportion to the tolerance over six decades,
// so that the integral of the power is as accurate as the run, at steps and between them.
static void balance_is_as_accurate_as_the_run(void **state)
{
    (void)state;
    for (int k = 4; k <= 10; k += 2) {
        kd_simulation_options opt = kd_method_named(NULL);
        opt.rtol = opt.atol = pow(10, -k);
        fixture f = make(oscillator());
        watched w = {0};
        oscillator_state(0, f.x);
        kd_certificate c = certify(f.eom, NULL, f.x, 10, opt, &w);
        assert_true(c.has_energy && !c.has_constraints && !c.has_norms);
        if (c.energy.value > 10 * opt.rtol) print_error("rtol %g: balance %g\n", opt.rtol, c.energy.value);
        assert_true(c.energy.value < 10 * opt.rtol);
        assert_true(w.last_balance != 0 && fabs(w.last_balance) < 10 * opt.rtol);
        // dissipated: what is left of the start, by the exact motion
        oscillator_state(10, f.x);
        double k0 = 1 + oscillator_damping * oscillator_damping / 4;
        double v0 = -oscillator_damping / 2, start = 0.5 * v0 * v0 + 0.5 * k0;
        double end = 0.5 * f.x->v[0] * f.x->v[0] + 0.5 * k0 * f.x->p[0] * f.x->p[0];
        assert_true(fabs(c.dissipated - (start - end)) < 20 * opt.rtol && c.supplied == 0);
        unmake(&f);
    }
}

// All examples that tell their energies are balanced, and with psf and radau all levels hold to rounding; seen at
// steps only the figures are no larger.
static void gallery_is_certified(void **state)
{
    (void)state;
    static const char *const names[] = {"pendulum", "andrews", "truck5", "fekete"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const kd_example *example = kd_gallery_find(names[i]);
        kd_certificate    c[2];
        for (int k = 0; k < 2; k++) {
            kd_eom   *eom;
            kd_state *x;
            kd_inputs inputs = {0};
            watched   w = {.steps_only = k == 1};
            assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
            c[k] = certify(eom, inputs.eval ? &inputs : NULL, x, fmin(example->t_end, 2), kd_method_named(NULL), &w);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        for (int level = 0; level < 3; level++) {
            assert_string_equal(kd_certificate_level(&c[0], (kd_level)level).words, "to rounding");
            assert_true(c[1].level[level].value <= c[0].level[level].value);
        }
        if (c[0].has_energy) {
            if (!kd_certificate_energy(&c[0]).good) print_error("%s\n", names[i]);
            assert_true(kd_certificate_energy(&c[0]).good);
        }
    }
}

// A mass on a prescribed path, 0 = g = p - sin(3 t): nothing is left to integrate, so that steps are as long as they
// like, and all power is that of the drive, -lambda v. Its integral is right all the same.
static kd_eval driven_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 2;
    return KD_EVAL_OK;
}
static kd_eval driven_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}
static kd_eval driven_path(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] - sin(3 * x->t);
    return KD_EVAL_OK;
}
static kd_eval driven_rate(const kd_point *x, void *context, double *gI)
{
    (void)context;
    gI[0] = x->v[0] - 3 * cos(3 * x->t);
    return KD_EVAL_OK;
}
static kd_eval driven_acceleration(const kd_point *x, void *context, double *gII)
{
    (void)context;
    gII[0] = x->a[0] + 9 * sin(3 * x->t);
    return KD_EVAL_OK;
}
static kd_eval driven_energies(const kd_point *x, void *context, kd_energies *out)
{
    if (context) ++*(long *)context;
    out->kinetic = x->v[0] * x->v[0];
    out->supplied = x->lambda ? -x->lambda[0] * x->v[0] : 0;
    return KD_EVAL_OK;
}
// evaluated: counts evaluations of the energies; NULL: nobody counts
static kd_eom_def driven(long *evaluated)
{
    kd_eom_def def = kd_eom_def_default();
    def.context = evaluated;
    def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1};
    def.M = driven_mass;
    def.f = driven_force;
    def.g = driven_path;
    def.gI = driven_rate;
    def.gII = driven_acceleration;
    def.energies = driven_energies;
    return def;
}
static void drives_are_balanced(void **state)
{
    (void)state;
    fixture f = make(driven(NULL));
    watched w = {0};
    f.x->v[0] = 3;
    kd_certificate c = certify(f.eom, NULL, f.x, 10, kd_simulation_options_default(), &w);
    double         v = 3 * cos(30);
    if (kd_certificate_energy_error(&c) > 1e-5) print_error("balance %g of %g\n", c.energy.value, c.energy_scale);
    assert_true(kd_certificate_energy_error(&c) < 1e-5);
    assert_true(fabs(c.supplied - (v * v - 9)) < 1e-4 && c.dissipated == 0);
    assert_true(w.seen < 1000);
    unmake(&f);
}

// The same seen at its steps, which go over most of a turn: formulas of nine and seventeen nodes need few evaluations for the
// whole of a smooth step (halves alone: twice as many), and the work is right.
static void long_steps_take_few_nodes(void **state)
{
    (void)state;
    long    evaluated = 0;
    fixture f = make(driven(&evaluated));
    watched w = {.steps_only = true};
    f.x->v[0] = 3;
    kd_certificate c = certify(f.eom, NULL, f.x, 10, kd_simulation_options_default(), &w);
    double         v = 3 * cos(30);
    print_message("%ld evaluations for %ld states, error of the work %g J\n", evaluated, c.states,
                  c.supplied - (v * v - 9));
    assert_true(fabs(c.supplied - (v * v - 9)) < 1e-4 && c.dissipated == 0);
    assert_true(c.states < 30 && evaluated < 20 * c.states);
    unmake(&f);
}

// Paths of two waves of any frequencies and sizes
typedef struct waves {
    double size[2], w[2], phase[2];
} waves;

// Derivative of that order
static double path_of(const waves *s, double t, int order)
{
    double sum = 0;
    for (int i = 0; i < 2; i++)
        sum += s->size[i] * pow(s->w[i], order) * sin(s->w[i] * t + s->phase[i] + order * 1.5707963267948966);
    return sum;
}
static kd_eval wave_path(const kd_point *x, void *context, double *g)
{
    g[0] = x->p[0] - path_of(context, x->t, 0);
    return KD_EVAL_OK;
}
static kd_eval wave_rate(const kd_point *x, void *context, double *gI)
{
    gI[0] = x->v[0] - path_of(context, x->t, 1);
    return KD_EVAL_OK;
}
static kd_eval wave_acceleration(const kd_point *x, void *context, double *gII)
{
    gII[0] = x->a[0] - path_of(context, x->t, 2);
    return KD_EVAL_OK;
}
static kd_eval wave_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    out->kinetic = x->v[0] * x->v[0];
    out->supplied = x->lambda ? -x->lambda[0] * x->v[0] : 0;
    return KD_EVAL_OK;
}

// Work of drives along steps that are long beside the motion, within a limit of the caller far below the tolerance: what the
// drive has done is what the masses have got.
static void work_of_drives_is_within_limits(void **state)
{
    uint64_t seed = 5;
    double   largest = 0;
    (void)state;
    for (int k = 0; k < 60; k++) {
        waves                 s;
        watched               w = {.steps_only = true};
        const double          limit = pow(10, -6 - k % 3);
        kd_limits             limits = kd_limits_none();
        kd_simulation_options opt = kd_simulation_options_default();
        kd_eom_def            def = driven(NULL);
        for (int i = 0; i < 2; i++) {
            s.size[i] = seeded_log(&seed, 0.05, 1);
            s.w[i] = seeded_log(&seed, 0.5, 12);
            s.phase[i] = seeded_between(&seed, 0, 6);
        }
        def.context = &s;
        def.g = wave_path, def.gI = wave_rate, def.gII = wave_acceleration, def.energies = wave_energies;
        fixture f = make(def);
        f.x->p[0] = path_of(&s, 0, 0), f.x->v[0] = path_of(&s, 0, 1);
        limits.energy = limit;
        opt.output = output, opt.context = &w;
        assert_int_equal(kd_certifier_create(f.eom, NULL, &w.certifier), KD_OK);
        kd_certifier_ask(w.certifier, KD_CERTIFICATE_FULL, &limits);
        assert_true(kd_simulation_create(f.eom, NULL, &opt, f.x, &w.simulation, NULL, 0) >= 0);
        assert_true(kd_simulation_run(w.simulation, 5) >= 0);
        const kd_certificate c = kd_certifier_certificate(w.certifier);
        const double         v0 = path_of(&s, 0, 1), v1 = path_of(&s, 5, 1);
        const double         error = fabs(c.supplied - (v1 * v1 - v0 * v0)) / c.energy_scale;
        largest = fmax(largest, error / limit);
        kd_simulation_destroy(w.simulation);
        kd_certifier_destroy(w.certifier);
        unmake(&f);
    }
    if (!(largest < 1)) fail_msg("%g of the limit", largest);
}

// Kinetic energy that grows between the states whose slopes are looked at: from rest to nearly half of a swing in fewer than
// eight steps. What relative errors of the velocity explain is m v^2, and at least half of that at the end is found.
static void slopes_grow_with_the_energy(void **state)
{
    (void)state;
    kd_simulation_options opt = kd_simulation_options_default();
    fixture               f = make(oscillator());
    watched               w = {.steps_only = true};
    opt.formulation = KD_ODE;
    opt.integrator = KD_DOPRI5;
    opt.rtol = opt.atol = 1e-6;
    f.x->p[0] = 1;
    kd_certificate c = certify(f.eom, NULL, f.x, 1.2, opt, &w);
    // the first four are looked at, and each eighth: all of them come long before the end
    print_message("%ld states, kinetic energy %g J, by relative errors %g J\n", c.states, c.kinetic,
                  c.energy_by_rtol[0]);
    assert_true(c.states > 4 && c.states <= 8 && c.kinetic > 0.2);
    assert_true(c.energy_by_rtol[0] > 0.5 * 2 * c.kinetic && c.energy_by_rtol[0] < 1.01 * 2 * c.kinetic);
    assert_true(kd_certificate_energy(&c).good);
    unmake(&f);
}

// Without a simulation the power is integrated by the trapezoidal rule: second order.
static void states_alone_give_a_balance(void **state)
{
    (void)state;
    double error[2];
    for (int k = 0; k < 2; k++) {
        fixture        f = make(oscillator());
        int            n = k == 0 ? 100 : 200;
        kd_certificate c = {0};
        for (int i = 0; i <= n; i++) {
            oscillator_state(20.0 * i / n, f.x);
            c = see(&f);
        }
        error[k] = c.energy.value;
        unmake(&f);
    }
    assert_true(error[0] < 1e-2 && error[1] < error[0] / 3.5 && error[1] > error[0] / 4.5);
}

// A wrong motion (no damping in the states) is noticed.
static void wrong_energy_is_noticed(void **state)
{
    (void)state;
    fixture        f = make(oscillator());
    kd_certificate c = {0};
    for (int i = 0; i < 50; i++) {
        oscillator_state(0.1 * i, f.x);
        f.x->p[0] *= exp(oscillator_damping / 2 * f.x->t);
        f.x->v[0] *= exp(oscillator_damping / 2 * f.x->t);
        c = see(&f);
    }
    assert_true(c.energy.value > 0.3 * c.energy_scale && c.energy.t > 4);
    unmake(&f);
}

// Violations are those of the constraint: g and d/dt g, with time and name of the largest; rows that are not active do
// not count.
static void violations_are_measured(void **state)
{
    (void)state;
    fixture        f = make(rod());
    kd_certificate c = {0};
    for (int i = 0; i < 4; i++) {
        f.x->t = i;
        f.x->p[0] = 1 + (i == 1 ? 1e-3 : i == 3 ? 0.5 : 0);
        f.x->v[0] = i == 2 ? 2e-3 : 0;
        f.x->active_lambda[0] = i < 3;
        c = see(&f);
    }
    assert_true(fabs(c.level[0].value - (1.001 * 1.001 - 1)) < 1e-12 && c.level[0].t == 1);
    assert_true(fabs(c.level[1].value - 2 * 2e-3) < 1e-8 && c.level[1].t == 2);
    assert_string_equal(c.level[0].name, "lambda[0]");
    assert_true(c.has_constraints && !c.has_energy && c.states == 4 && c.t_end == 3);
    unmake(&f);
}

// An acceleration that does not belong to the state is replaced by that of the forces: with the right multiplier the
// acceleration level holds, with a wrong one it does not.
static void stale_accelerations_are_replaced(void **state)
{
    (void)state;
    fixture f = make(rod());
    f.x->p[0] = 0.6, f.x->p[1] = -0.8;
    f.x->a[0] = 1e3;
    // M a = f - 2 p lambda and p'a = 0 give lambda = p'f / 2
    f.x->lambda[0] = 0.5 * 0.8;
    kd_certificate c = see(&f);
    assert_true(c.level[2].value < 1e-6);
    assert_true(fabs(kd_certifier_findings(f.certifier).a[0] + 2 * 0.6 * 0.4) < 1e-6); // a = f - 2 p lambda
    f.x->t = 1;
    f.x->lambda[0] += 1e-3; // a changes by -2 p 1e-3, gII = 2 p'a by -4e-3
    c = see(&f);
    assert_true(fabs(c.level[2].value - 4e-3) < 1e-6);
    assert_string_equal(c.level[2].name, "lambda[0]");
    assert_true(c.scale[2] < 10);  // by the accelerations that were used
    assert_true(f.x->a[0] == 1e3); // the state itself is left alone
    unmake(&f);
}

// Quaternions: their norm has a figure of its own, and the heavy top keeps it to rounding.
static void norms_are_measured(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x;
    watched   w = {0};
    assert_int_equal(kd_test_heavy_top_create(&eom, &x), KD_OK);
    kd_certificate c = certify(eom, NULL, x, 0.2, kd_simulation_options_default(), &w);
    assert_true(c.has_norms && c.norm.value < 1e-14);
    kd_certifier *certifier;
    assert_int_equal(kd_certifier_create(eom, NULL, &certifier), KD_OK);
    for (int i = 3; i < 7; i++) x->p[i] *= 1.001;
    assert_int_equal(kd_certifier_see(certifier, NULL, x), KD_OK);
    c = kd_certifier_certificate(certifier);
    assert_true(c.norm.value > 1e-4 && c.norm.value < 1e-2 && c.norm.name[0]);
    kd_certifier_destroy(certifier);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Growth that no mechanism has is called by its name.
static void explosion_is_noticed(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    assert_false(see(&f).exploded);
    f.x->t = 1;
    f.x->p[0] = 2e8;
    assert_true(see(&f).exploded);
    unmake(&f);
}

// NaN is refused and leaves the certificate as it was.
static void nan_is_refused(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    see(&f);
    f.x->v[0] = NAN;
    assert_int_equal(kd_certifier_see(f.certifier, NULL, f.x), KD_ERR_NOT_FINITE);
    assert_int_equal(kd_certifier_certificate(f.certifier).states, 1);
    assert_int_equal(kd_certifier_see(NULL, NULL, f.x), KD_ERR_ARGUMENT);
    unmake(&f);
}

// Looking does not allocate; each failing allocation of create ends in KD_ERR_MEMORY without a leak.
static void memory_is_taken_at_creation(void **state)
{
    (void)state;
    fixture           f = make(rod());
    failing_allocator a = {0};
    f.x->p[0] = 1;
    see(&f);
    failing_allocator_use(&a);
    f.x->t = 1;
    see(&f);
    kd_set_allocator(NULL);
    assert_int_equal(a.calls, 0);
    kd_status status = KD_ERR_MEMORY;
    for (int n = 1; n < 2000 && status == KD_ERR_MEMORY; n++) {
        kd_certifier *certifier;
        a = (failing_allocator){.fail_at = n};
        failing_allocator_use(&a);
        status = kd_certifier_create(f.eom, NULL, &certifier);
        assert_int_equal(certifier == NULL, status < 0);
        kd_certifier_destroy(certifier);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
    }
    assert_int_equal(status, KD_OK);
    unmake(&f);
}

// A mass on a spring whose force from outside jumps between runs, shown once more behind every jump as co-simulation does
typedef struct pushed {
    double         force;
    kd_simulation *simulation;
    kd_certifier  *certifier;
} pushed;

static kd_eval give_force(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    u[0] = ((const pushed *)context)->force;
    du[0] = ddu[0] = 0;
    return KD_EVAL_OK;
}

static kd_eval show_pushed(const kd_state *x, bool at_time, void *context)
{
    const pushed *p = context;
    (void)at_time;
    if (!p->simulation || !p->certifier) return KD_EVAL_OK;
    return kd_certifier_see(p->certifier, p->simulation, x) >= 0 ? KD_EVAL_OK : KD_EVAL_STOP;
}

static void inputs_that_jump_are_balanced(void **state)
{
    static const char text[] =
        "kardan: 1\ngravity: [0, 0, 0]\ninputs: {F: {start: 0}}\nbodies:\n"
        "  block: {mass: 1, inertia: [0.01, 0.01, 0.01]}\njoints:\n"
        "  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], q: 1}\nforces:\n"
        "  own: {type: joint_spring, joint: slide, rest: 0, stiffness: 10, damping: 0.1, law: input.F}\n";
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
    } method[] = {{KD_ODE, KD_DOP853}, {KD_PSF, KD_RADAU}, {KD_GGL, KD_BDF}, {KD_STATESPACE, KD_SDIRK}};
    (void)state;
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        pushed                p = {0};
        const kd_inputs       inputs = {give_force, &p};
        kd_simulation_options o = kd_simulation_options_default();
        kd_model             *model;
        kd_system            *system;
        kd_state             *x;
        char                  message[800];
        o = kd_method_named(&o);
        o.formulation = method[i].form, o.integrator = method[i].integrator;
        o.rtol = o.atol = 1e-9;
        o.output = show_pushed, o.context = &p;
        if (kd_model_read_text("pushed", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
            fail_msg("%s", message);
        assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
        const kd_eom *eom = kd_system_eom(system);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
        assert_true(kd_simulation_create(eom, &inputs, &o, x, &p.simulation, message, sizeof message) >= 0);
        assert_int_equal(kd_certifier_create(eom, &inputs, &p.certifier), KD_OK);
        for (int k = 0; k < 30; k++) {
            p.force = 20 * cos(2.0 * k);
            assert_true(kd_simulation_resume(p.simulation) >= 0);
            assert_true(kd_certifier_see(p.certifier, NULL, x) >= 0);
            assert_true(kd_simulation_run(p.simulation, (k + 1) * 0.01) >= 0);
        }
        // energies of 5 J
        const double balance = kd_certifier_certificate(p.certifier).energy.value;
        if (!(balance < 1e-6)) fail_msg("%s: %g J", kd_integrator_word(o.integrator), balance);
        kd_certifier_destroy(p.certifier);
        kd_simulation_destroy(p.simulation);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_is_as_accurate_as_the_run),
        cmocka_unit_test(gallery_is_certified),
        cmocka_unit_test(drives_are_balanced),
        cmocka_unit_test(long_steps_take_few_nodes),
        cmocka_unit_test(work_of_drives_is_within_limits),
        cmocka_unit_test(slopes_grow_with_the_energy),
        cmocka_unit_test(inputs_that_jump_are_balanced),
        cmocka_unit_test(states_alone_give_a_balance),
        cmocka_unit_test(wrong_energy_is_noticed),
        cmocka_unit_test(violations_are_measured),
        cmocka_unit_test(stale_accelerations_are_replaced),
        cmocka_unit_test(norms_are_measured),
        cmocka_unit_test(explosion_is_noticed),
        cmocka_unit_test(nan_is_refused),
        cmocka_unit_test(memory_is_taken_at_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
