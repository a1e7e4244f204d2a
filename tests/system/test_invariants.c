// Invariants of model files: energy, momentum, expressions: gradients against differences, kept by psf where motions
// without them drift, against a motion that is integrated here; what is none or cannot be kept is refused by name.
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

typedef struct subject {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
    kd_status  status;
    char       message[800];
} subject;

static void read_text(subject *s, const char *text)
{
    if (kd_model_read_text("file", text, strlen(text), NULL, 0, &s->model, s->message, sizeof s->message) < 0)
        fail_msg("%s", s->message);
}

// status: of the first step that fails
static subject open_text(const char *text, kd_coordinates coordinates)
{
    subject           s = {0};
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    read_text(&s, text);
    s.status = kd_system_create(s.model, &opt, &s.system, s.message, sizeof s.message);
    if (s.status < 0) return s;
    assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
    s.status = kd_system_start(s.system, s.x, s.message, sizeof s.message);
    return s;
}

static void close_subject(subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

static kd_status run(subject *s, kd_simulation_options *opt, double rtol, double t_end)
{
    opt->rtol = opt->atol = rtol;
    return kd_simulate(kd_system_eom(s->system), kd_system_inputs(s->system), opt, s->x, t_end, NULL, s->message,
                       sizeof s->message);
}

// ---- gradients ------------------------------------------------------------------------------------------------------

#define MECHANISM                                                                                                      \
    "kardan: 1\nbodies:\n  cart: {mass: 2, inertia: [1, 1, 1]}\n"                                                      \
    "  rod: {mass: 1, inertia: [0.1, 0.2, 0.3], centre: [0.1, 0.2, 0], position: [0.5, 0, 0]}\n"                       \
    "  tip: {mass: 0.5, inertia: [0.1, 0.2, 0.3], position: [1, 0, 0]}\njoints:\n"                                     \
    "  slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], v: 1}\n"                    \
    "  hinge: {type: revolute, bodies: [cart, rod], point: [0, 0, 0], axis: [0, 1, 0], q: 0.3, v: 2}\n"                \
    "  ball: {type: spherical, bodies: [rod, tip], point: [1, 0, 0], v: [1, 2, 3]}\n"                                  \
    "forces: {spring: {type: tsda, bodies: [ground, tip], points: [[0, 0, 1], [1, 0.1, 0]], stiffness: 100, length: "  \
    "0.3}}\n"

// Gradients of all kinds are those of differences, in both coordinate sets.
static void gradients_are_exact(void **state)
{
    (void)state;
    static const char INVARIANTS[] =
        MECHANISM "invariants:\n  all: {type: energy}\n  push: {type: momentum, axis: [1, 2, 0.5]}\n"
                  "  turn: {type: angular_momentum, axis: [0.2, -1, 0.5], point: [1, 2, 3]}\n"
                  "  own: {type: expression, value: joint.slide.v^2 * sin(joint.hinge.q) + body.tip.pos.z * "
                  "body.tip.vel.x^2 + t * "
                  "joint.hinge.v}\n";
    for (int k = 0; k < 2; k++) {
        subject plain = open_text(MECHANISM, k ? KD_CARTESIAN : KD_JOINT);
        subject s = {0};
        char    report[2000] = "";
        assert_true(plain.status >= 0);
        read_text(&s, INVARIANTS);
        kd_system_options opt = kd_system_options_default();
        opt.coordinates = k ? KD_CARTESIAN : KD_JOINT;
        assert_int_equal(kd_system_create(s.model, &opt, &s.system, s.message, sizeof s.message), KD_OK);
        const kd_dims n = kd_eom_dims(kd_system_eom(s.system));
        assert_int_equal(n.ne, 4);
        assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
        memcpy(s.x->p, plain.x->p, (size_t)n.np * sizeof(double));
        memcpy(s.x->v, plain.x->v, (size_t)n.nv * sizeof(double));
        s.x->t = 0.7;
        if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s", report);
        close_subject(&s);
        close_subject(&plain);
    }
}

// ---- a motion ---------------------------------------------------------------------------------------------------------

static const double INERTIA[3] = {0.001, 0.016, 0.015};

// Euler's equations and q' = q omega / 2
static void free_body(const double y[7], double dy[7])
{
    const double *q = y, *w = y + 4;
    dy[0] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    dy[1] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    dy[2] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    dy[3] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        dy[4 + i] = (INERTIA[j] - INERTIA[k]) * w[j] * w[k] / INERTIA[i];
    }
}

// The classical method of order 4 in small steps: component z of the body's z axis at t_end
static double reference(double t_end)
{
    static const double c[4] = {0, 0.5, 0.5, 1}, b[4] = {1 / 6.0, 1 / 3.0, 1 / 3.0, 1 / 6.0};
    const int           steps = 100000;
    const double        h = t_end / steps;
    double              y[7] = {1, 0, 0, 0, 0.01, 0.01, 5}, at[7], k[5][7] = {{0}};
    for (int n = 0; n < steps; n++) {
        for (int s = 0; s < 4; s++) {
            for (int i = 0; i < 7; i++) at[i] = y[i] + c[s] * h * k[s][i];
            free_body(at, k[s + 1]);
        }
        for (int s = 0; s < 4; s++)
            for (int i = 0; i < 7; i++) y[i] += h * b[s] * k[s + 1][i];
    }
    return 1 - 2 * (y[1] * y[1] + y[2] * y[2]);
}

// The tennis racket turns over as the motion that is integrated here does. With its invariants energy and angular
// momentum stay to rounding at a coarse tolerance; without them they drift.
static void racket_keeps_its_invariants(void **state)
{
    (void)state;
    double drift[2][5];
    for (int k = 0; k < 3; k++) {
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        subject s = {0};
        double  e[5];
        assert_int_equal(kd_model_read(KD_SOURCE_DIR "/models/"
                                                     "tennis-racket"
                                                     ".yaml",
                                       NULL, 0, &s.model, s.message, sizeof s.message),
                         KD_OK);
        assert_int_equal(kd_system_create(s.model, NULL, &s.system, s.message, sizeof s.message), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(s.system), &s.x), KD_OK);
        assert_true(kd_system_start(s.system, s.x, s.message, sizeof s.message) >= 0);
        opt.formulation_options.invariants = k != 1;
        if (run(&s, &opt, k == 2 ? 1e-9 : 1e-4, k == 2 ? 20 : 100) < 0) fail_msg("%s", s.message);
        kd_eom_data *data = NULL;
        assert_int_equal(kd_eom_data_create(kd_system_eom(s.system), &data), KD_OK);
        kd_eom_at_time(data, s.x->t, NULL, NULL, NULL, s.x->z);
        kd_eom_at_position(data, s.x->p, s.x->s);
        kd_eom_at_velocity(data, s.x->v, s.x->r);
        assert_int_equal(kd_eom_eval(data, KD_E, e), KD_EVAL_OK);
        kd_eom_data_destroy(data);
        for (int i = 0; i < 5 && k < 2; i++) drift[k][i] = fabs(e[i]);
        if (k == 2) {
            kd_probe *probe = NULL;
            assert_int_equal(kd_probe_of_system(s.system, NULL, &probe), KD_OK);
            assert_int_equal(kd_probe_set(probe, s.x), KD_OK);
            assert_true(fabs(kd_probe_read(probe, "side") - reference(20)) < 1e-6);
            kd_probe_destroy(probe);
        }
        close_subject(&s);
    }
    // energies of 0.1875 J, momenta of 0.075 N m s
    for (int i = 0; i < 5; i++) assert_true(drift[0][i] < 1e-13);
    assert_true(drift[1][0] > 1e-6 && drift[1][3] > 1e-6);
}

// ---- refusals ---------------------------------------------------------------------------------------------------------

static void refused(const char *text, kd_status status, const char *words)
{
    subject s = open_text(text, KD_JOINT);
    if (s.status != status || !strstr(s.message, words)) fail_msg("%d: %s", s.status, s.message);
    close_subject(&s);
}

// Energies that dampers take, momenta that the ground changes, expressions that change, and states are refused by name.
static void what_changes_is_refused(void **state)
{
    (void)state;
#define SLIDER                                                                                                         \
    "kardan: 1\nbodies: {cart: {mass: 2, inertia: [1, 1, 1]}}\n"                                                       \
    "joints: {slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [0, 0, 1], q: 1, v: 3}}\n"
    refused(SLIDER "forces: {foot: {type: joint_spring, joint: slide, stiffness: 5, damping: 1}}\n"
                   "invariants: {all: {type: energy}}\n",
            KD_ERR_MODEL, "invariant 'all': the energy of this model changes: 'foot' gives or takes power");
    refused(SLIDER "invariants: {push: {type: momentum, axis: [0, 0, 1]}}\n", KD_ERR_IV_CONTRADICTORY,
            "'push' is no invariant of these equations");
    refused(SLIDER "invariants: {own: {type: expression, value: joint.slide.v}}\n", KD_ERR_IV_CONTRADICTORY,
            "'own' is no invariant");
    refused(SLIDER "inputs: {u: 1}\ninvariants: {own: {type: expression, value: joint.slide.v + input.u}}\n",
            KD_ERR_MODEL, "reads more than coordinates, velocities and t");
    // an energy below that of the height of its start
    refused(SLIDER "invariants: {all: {type: energy, equals: 1}}\n", KD_ERR_IV_CONTRADICTORY, "all");
}

// A given value corrects the start, and formulations that cannot keep it are refused, unless it is watched only.
static void value_and_formulation(void **state)
{
    (void)state;
    subject s = open_text(SLIDER "invariants: {all: {type: energy, equals: 50}}\n", KD_JOINT);
    assert_int_equal(s.status, KD_CORRECTED);
    // m v^2/2 = 50 - m g
    assert_true(fabs(s.x->v[0] - sqrt(50 - 2 * 9.81)) < 1e-9);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_GGL;
    assert_int_equal(run(&s, &opt, 1e-6, 0.1), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(s.message, "formulation ggl cannot keep invariant 'all'"));
    opt.formulation_options.invariants = false;
    assert_true(run(&s, &opt, 1e-6, 0.1) >= 0);
    close_subject(&s);
}

// Impacts change the energy: what it is behind one holds from then on. Ball from 1 m, restitution 1/2.
static void energy_behind_impacts(void **state)
{
    (void)state;
    static const char BALL[] =
        "kardan: 1\nbodies: {ball: {mass: 1, inertia: [1, 1, 1]}}\n"
        "joints: {fall: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0], axis: [0, 0, 1], q: 1}}\n"
        "forces: {floor: {type: joint_stop, joint: fall, lower: 0, restitution: 0.5}}\n"
        "invariants: {all: {type: energy}}\n";
    subject               s = open_text(BALL, KD_JOINT);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    if (s.status < 0) fail_msg("%s", s.message);
    const double hit = sqrt(2 / 9.81), v = 0.5 * sqrt(2 * 9.81), t = 0.6 - hit;
    if (run(&s, &opt, 1e-4, 0.6) < 0) fail_msg("%s", s.message);
    assert_true(fabs(s.x->p[0] - (v * t - 0.5 * 9.81 * t * t)) < 1e-9);
    assert_true(fabs(0.5 * s.x->v[0] * s.x->v[0] + 9.81 * s.x->p[0] - 0.5 * v * v) < 1e-12);
    close_subject(&s);
}

// ---- drives ---------------------------------------------------------------------------------------------------------

// Powers depend on accelerations and multipliers where a coordinate is moved, or a row reads the time; not where a coordinate
// is held at a place, and not by a row of positions alone. The energy of such a model may be kept as an invariant.
static void what_stands_brings_no_power(void **state)
{
    (void)state;
    static const struct {
        const char *motion, *row;
        bool        of_motion;
    } cases[] = {
        {"0.2", NULL, true},
        {"place", NULL, true},
        {"0.2*t", NULL, false},
        {"0.2", "joint.b.q - 2*joint.c.q", true},
        {"0.2", "joint.b.q - 2*joint.c.q - 0.1*t", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1200], row[200] = "";
        if (cases[i].row)
            snprintf(row, sizeof row, "constraints:\n  row: {type: expression, value: \"%s\"}\n", cases[i].row);
        snprintf(text, sizeof text,
                 "kardan: 1\nparameters: {place: 0.2}\nbodies:\n  one: {mass: 2, inertia: [1, 1, 1]}\n"
                 "  two: {mass: 1, inertia: [1, 1, 1]}\n  three: {mass: 1, inertia: [1, 1, 1]}\njoints:\n"
                 "  a: {type: prismatic, bodies: [ground, one], point: [0, 0, 0], axis: [1, 0, 0], motion: %s}\n"
                 "  b: {type: revolute, bodies: [one, two], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                 "  c: {type: revolute, bodies: [ground, three], point: [0, 1, 0], axis: [0, 1, 0]}\n"
                 "%sinvariants:\n  energy: {type: energy}\n",
                 cases[i].motion, row);
        subject s = open_text(text, KD_JOINT);
        if ((s.status >= 0) != cases[i].of_motion) print_error("%s, %s: %s\n", cases[i].motion, text, s.message);
        assert_true((s.status >= 0) == cases[i].of_motion);
        if (s.system) assert_true(kd_eom_definition(kd_system_eom(s.system))->energies_of_motion);
        close_subject(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_exact),     cmocka_unit_test(racket_keeps_its_invariants),
        cmocka_unit_test(what_changes_is_refused), cmocka_unit_test(value_and_formulation),
        cmocka_unit_test(energy_behind_impacts),   cmocka_unit_test(what_stands_brings_no_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
