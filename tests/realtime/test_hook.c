// Modules with a hook between them move as the assembled system does, but for rounding; what cannot be is refused, and a step that fails
// moves nobody.
#include <stdio.h>
#include <stdlib.h>

#include "stepping.h"

enum { MOST = 3, TEXT = 6000, STEPS = 500 };

typedef struct ride {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_realtime *stepper;
} ride;

// ---- systems by text ------------------------------------------------------------------------------------------------
// A chain of arms: module 0 hangs at the ground by a hinge and carries a four-bar loop of its own, the others are free bodies with arms on
// springs. Module i ends at the eye of module i + 1. All begin at rest.

typedef struct numbers {
    double mass[MOST], inertia[MOST], stiffness[MOST], place[MOST + 1][3];
} numbers;

static double random_between(double low, double high)
{
    return low + (high - low) * ((double)rand() / RAND_MAX);
}

static numbers draw(unsigned seed)
{
    numbers n;
    srand(seed);
    for (int i = 0; i < MOST; i++) {
        n.mass[i] = random_between(0.5, 20);
        n.inertia[i] = random_between(0.2, 1) * n.mass[i];
        n.stiffness[i] = random_between(10, 2e4);
    }
    for (int i = 0; i <= MOST; i++)
        for (int k = 0; k < 3; k++) n.place[i][k] = (k == 0 ? 1.2 * i : 0) + random_between(-0.2, 0.2);
    return n;
}

static void say(char *text, const char *format, ...)
{
    va_list      a;
    const size_t n = strlen(text);
    va_start(a, format);
    vsnprintf(text + n, TEXT - n, format, a);
    va_end(a);
}

static void say_bodies(char *t, const numbers *n, int i)
{
    const double *p = n->place[i], m = n->mass[i], I = n->inertia[i];
    say(t, "  trunk%d: {mass: %.17g, inertia: [%.17g, %.17g, %.17g], position: [%.17g, %.17g, %.17g]}\n", i, m, I,
        1.1 * I, 1.2 * I, p[0], p[1], p[2]);
    say(t, "  arm%d: {mass: 1, inertia: [0.01, 0.01, 0.01], position: [%.17g, %.17g, %.17g]}\n", i, p[0], p[1],
        p[2] - 0.5);
    if (i == 0)
        say(t, "  coupler: {mass: 0.5, inertia: [0.01, 0.01, 0.01], position: [%.17g, %.17g, %.17g]}\n", p[0] + 0.5,
            p[1], p[2] - 0.5);
    if (i == 0)
        say(t, "  rocker: {mass: 0.5, inertia: [0.01, 0.01, 0.01], position: [%.17g, %.17g, %.17g]}\n", p[0] + 0.5,
            p[1], p[2] - 0.2);
}

static void say_joints(char *t, const numbers *n, int i)
{
    const double *p = n->place[i];
    if (i == 0)
        say(t,
            "  base: {type: revolute, bodies: [ground, trunk0], point: [%.17g, %.17g, %.17g], axis: [0.1, 1, 0.2]}\n",
            p[0], p[1], p[2]);
    else
        say(t, "  base%d: {type: free, from: {body: ground, point: [%.17g, %.17g, %.17g]}, to: trunk%d}\n", i, p[0],
            p[1], p[2], i);
    say(t, "  hang%d: {type: revolute, bodies: [trunk%d, arm%d], point: [%.17g, %.17g, %.17g], axis: [0, 1, 0]}\n", i,
        i, i, p[0], p[1], p[2] - 0.3);
    if (i > 0) return;
    say(t, "  joined: {type: spherical, bodies: [arm0, coupler], point: [%.17g, %.17g, %.17g], cut: no}\n", p[0], p[1],
        p[2] - 0.5);
    say(t, "  turned: {type: revolute, bodies: [trunk0, rocker], point: [%.17g, %.17g, %.17g], axis: [0, 1, 0]}\n",
        p[0] + 0.5, p[1], p[2] - 0.2);
    say(t, "  closed: {type: spherical, bodies: [coupler, rocker], point: [%.17g, %.17g, %.17g], cut: yes}\n",
        p[0] + 0.5, p[1], p[2] - 0.5);
}

static void say_forces(char *t, const numbers *n, int i)
{
    say(t,
        "  spring%d: {type: joint_spring, joint: hang%d, rest: 0.2, stiffness: %.17g, damping: %.17g, stiff: true}\n",
        i, i, n->stiffness[i], 0.01 * n->stiffness[i]);
    say(t, "  push%d: {type: applied, to: {body: arm%d}, axes: world, force: [input.push%d, 0, 2*input.push%d]}\n", i,
        i, i, i);
}

// The frame where a module ends, and its eye
static void say_frames(char *t, const numbers *n, int i)
{
    const double *q = n->place[i + 1], *p = n->place[i];
    say(t, "  end%d: {body: trunk%d, in: world, point: [%.17g, %.17g, %.17g]}\n", i, i, q[0], q[1], q[2]);
    say(t, "  eye%d: {body: trunk%d, in: world, point: [%.17g, %.17g, %.17g]}\n", i, i, p[0], p[1], p[2]);
}

// Modules from first to last as one model; open: with ends
static void say_model(char *t, const numbers *n, int first, int last, int modules)
{
    t[0] = '\0';
    say(t, "kardan: 1\ninputs: {");
    for (int i = first; i <= last; i++) say(t, "%spush%d: {start: 0}", i > first ? ", " : "", i);
    say(t, "}\nbodies:\n");
    for (int i = first; i <= last; i++) say_bodies(t, n, i);
    say(t, "frames:\n");
    for (int i = first; i <= last; i++) say_frames(t, n, i);
    say(t, "joints:\n");
    for (int i = first; i <= last; i++) say_joints(t, n, i);
    if (last - first + 1 < modules) {
        if (first > 0) say(t, "  ahead: {type: spherical, from: {body: ground}, to: eye%d, cut: yes}\n", first);
        if (last + 1 < modules)
            say(t, "  behind: {type: spherical, from: {body: ground}, to: end%d, cut: yes}\n", last);
    } else {
        say(t, "constraints:\n");
        for (int i = first; i < last; i++)
            for (int k = 0; k < 3; k++)
                say(t, "  hold%d%c: {type: expression, value: frame.end%d.pos.%c - frame.eye%d.pos.%c}\n", i, 'x' + k,
                    i, 'x' + k, i + 1, 'x' + k);
    }
    say(t, "forces:\n");
    for (int i = first; i <= last; i++) say_forces(t, n, i);
    say(t, "sensors:\n");
    for (int i = first; i <= last; i++)
        for (int k = 0; k < 3; k++) say(t, "  at%d%c: {value: body.arm%d.pos.%c}\n", i, 'x' + k, i, 'x' + k);
}

static void open_ride(ride *r, const char *text, const kd_realtime_options *opt, const char *const *ends, int nends)
{
    char message[2000] = "";
    *r = (ride){0};
    if (kd_model_read_text("module.yaml", text, strlen(text), NULL, 0, &r->model, message, sizeof message) < 0)
        fail_msg("%s\n%s", message, text);
    if (kd_system_create(r->model, NULL, &r->system, message, sizeof message) < 0) fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(r->system);
    assert_int_equal(kd_state_create(eom, &r->x), KD_OK);
    for (int i = 0; i < nends; i++) assert_int_equal(kd_state_open(eom, ends[i], r->x), 3);
    if (kd_system_start(r->system, r->x, message, sizeof message) < 0) fail_msg("start: %s", message);
    if (kd_realtime_create(eom, kd_system_inputs(r->system), opt, r->x, &r->stepper, message, sizeof message) < 0)
        fail_msg("stepper: %s", message);
}

static void close_ride(ride *r)
{
    kd_realtime_destroy(r->stepper);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
}

static kd_realtime_options hook_options(void)
{
    kd_realtime_options opt = kd_realtime_options_default();
    opt.index = 1, opt.stabilisation = KD_REALTIME_BAUMGARTE, opt.open = true;
    return opt;
}

// Modules of one set of numbers, with their hook
typedef struct train {
    int      n;
    ride     module[MOST];
    kd_hook *hook;
} train;

static const char *const BOTH[] = {"ahead", "behind"};

static void open_train(train *t, const numbers *n, int modules, const kd_realtime_options *opt)
{
    char          text[TEXT], message[1000];
    kd_realtime  *stepper[MOST];
    kd_hook_joint joint[MOST];
    t->n = modules;
    for (int i = 0; i < modules; i++) {
        const bool last = i + 1 == modules, first = i == 0;
        say_model(text, n, i, i, modules);
        open_ride(&t->module[i], text, opt, first ? BOTH + 1 : BOTH, first || last ? 1 : 2);
        stepper[i] = t->module[i].stepper;
        joint[i] = (kd_hook_joint){i, i + 1, "behind", "ahead"};
    }
    if (kd_hook_create(stepper, modules, joint, modules - 1, &t->hook, message, sizeof message) < 0)
        fail_msg("%s", message);
}

static void close_train(train *t)
{
    kd_hook_destroy(t->hook);
    for (int i = 0; i < t->n; i++) close_ride(&t->module[i]);
}

// ---- tests ----------------------------------------------------------------------------------------------------------

static double push_at(int module, int step)
{
    return 5 * sin(0.02 * step + module);
}

// Largest difference of all sensors over a run of modules and of the assembled system
static double compare(unsigned seed, int modules, const kd_realtime_options *opt)
{
    const numbers       n = draw(seed);
    kd_realtime_options alone = *opt;
    char                text[TEXT];
    train               t;
    ride                whole;
    double              worst = 0, u[MOST], out[3 * MOST], part[MOST][3], v[MOST];
    const double       *inputs[MOST];
    double             *outputs[MOST];
    alone.open = false;
    open_train(&t, &n, modules, opt);
    say_model(text, &n, 0, modules - 1, modules);
    open_ride(&whole, text, &alone, NULL, 0);
    for (int i = 0; i < modules; i++) inputs[i] = &v[i], outputs[i] = part[i];
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < modules; i++) u[i] = v[i] = push_at(i, k);
        if (kd_realtime_step(whole.stepper, u, out) != KD_OK) fail_msg("%s", kd_realtime_message(whole.stepper));
        if (kd_hook_step(t.hook, inputs, outputs) != KD_OK) fail_msg("%s", kd_hook_message(t.hook));
        for (int i = 0; i < modules; i++) worst = fmax(worst, distance(out + 3 * i, part[i], 3));
    }
    // the ends are as near to each other as those of the assembled system
    kd_realtime_defect ends, kept;
    assert_int_equal(kd_hook_defects(t.hook, &ends), KD_OK);
    assert_int_equal(kd_realtime_defects(whole.stepper, &kept), KD_OK);
    assert_true(ends.position <= 1.0001 * kept.position + 1e-13);
    close_ride(&whole);
    close_train(&t);
    return worst;
}

static void modules_move_as_the_assembled_system(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 24; seed++) {
        kd_realtime_options opt = hook_options();
        opt.jacobian = seed % 3 == 0 ? KD_REALTIME_J1 : KD_REALTIME_J2;
        opt.velocities_first = seed % 2 == 0;
        opt.ahead = seed % 4 < 2;
        if (seed % 5 == 0) opt.stabilisation = KD_REALTIME_NONE;
        const double worst = compare(seed, 2 + (int)(seed % 2), &opt);
        if (!(worst < 1e-12)) fail_msg("seed %u: %g", seed, worst);
    }
}

// An input that is no number, of the second module: nobody has moved, and what comes is as if nothing had been
static void a_step_that_fails_moves_nobody(void **state)
{
    const numbers             n = draw(7);
    const kd_realtime_options opt = hook_options();
    train                     a, b;
    double                    good = 1, bad = NAN;
    const double             *fine[2] = {&good, &good}, *wrong[2] = {&good, &bad};
    (void)state;
    open_train(&a, &n, 2, &opt);
    open_train(&b, &n, 2, &opt);
    for (int k = 0; k < 20; k++) {
        if (k == 10) {
            const double t = kd_realtime_state(a.module[0].stepper)->t;
            assert_int_equal(kd_hook_step(a.hook, wrong, NULL), KD_ERR_NOT_FINITE);
            assert_non_null(strstr(kd_hook_message(a.hook), "module 2"));
            assert_true(kd_realtime_state(a.module[0].stepper)->t == t);
            assert_int_equal(kd_realtime_steps(a.module[0].stepper), 10);
        }
        assert_int_equal(kd_hook_step(a.hook, fine, NULL), KD_OK);
        assert_int_equal(kd_hook_step(b.hook, fine, NULL), KD_OK);
    }
    for (int i = 0; i < 2; i++) {
        const kd_state *x = kd_realtime_state(a.module[i].stepper), *y = kd_realtime_state(b.module[i].stepper);
        assert_true(distance(x->p, y->p, x->n) < 1e-13);
    }
    close_train(&a);
    close_train(&b);
}

static void what_cannot_be_is_refused(void **state)
{
    const numbers       n = draw(3);
    kd_realtime_options opt = hook_options();
    train               t;
    kd_hook            *hook;
    char                message[1000] = "", text[TEXT];
    kd_realtime        *other;
    (void)state;
    open_train(&t, &n, 2, &opt);
    kd_realtime        *both[] = {t.module[0].stepper, t.module[1].stepper}, *twice[] = {both[0], both[0]};
    const kd_hook_joint joint[] = {{0, 1, "behind", "ahead"}, {0, 1, "behind", "ahead"}},
                        wrong = {0, 1, "behind", "eye"}, self = {0, 0, "behind", "behind"};
    assert_int_equal(kd_hook_create(twice, 2, joint, 1, &hook, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_hook_create(both, 2, &wrong, 1, &hook, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "eye"));
    assert_int_equal(kd_hook_create(both, 2, &self, 1, &hook, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_hook_create(both, 2, joint, 2, &hook, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(hook);
    // methods that would look at positions twice, rows that nobody keeps
    const kd_eom *eom = kd_system_eom(t.module[1].system);
    opt.index = 2;
    assert_int_equal(kd_realtime_create(eom, NULL, &opt, t.module[1].x, &other, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    opt = hook_options(), opt.jacobian = KD_REALTIME_EXACT;
    assert_int_equal(kd_realtime_create(eom, NULL, &opt, t.module[1].x, &other, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    opt = hook_options(), opt.open = false;
    assert_int_equal(kd_realtime_create(eom, NULL, &opt, t.module[1].x, &other, message, sizeof message),
                     KD_ERR_UNSUPPORTED);
    // other steps
    ride long_one;
    opt = hook_options(), opt.h = 2e-3;
    say_model(text, &n, 1, 1, 2);
    open_ride(&long_one, text, &opt, BOTH, 1);
    kd_realtime *mixed[] = {both[0], long_one.stepper};
    assert_int_equal(kd_hook_create(mixed, 2, joint, 1, &hook, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "same"));
    close_ride(&long_one);
    close_train(&t);
}

// A module alone is one whose end is free
static void a_module_alone_has_a_free_end(void **state)
{
    const numbers             n = draw(11);
    const kd_realtime_options opt = hook_options();
    train                     t;
    (void)state;
    open_train(&t, &n, 2, &opt);
    kd_realtime *free_one = t.module[1].stepper;
    const double z = kd_realtime_state(free_one)->p[2];
    make_steps(free_one, 100);
    // 0.1 s of free fall of a body with an arm on a spring: the whole falls by g t^2/2 = 0.049 m
    assert_true(fabs(kd_realtime_state(free_one)->p[2] - z + 0.049) < 0.02);
    close_train(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_move_as_the_assembled_system),
        cmocka_unit_test(a_step_that_fails_moves_nobody),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_module_alone_has_a_free_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
