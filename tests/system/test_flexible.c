// Flexible bodies of models against closed solutions of beams: deflection, frequencies, rotation, free motion, references.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants the four above first
#include <cmocka.h>

#include <kardan/equilibrium.h>
#include <kardan/linearize.h>
#include <kardan/simulation.h>
#include <kardan/system.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flexible/flex_file.h"
#include "model/build.h"
#include "model/part.h"
#include "modelfile/part.h"

// A slender beam along x, soft in y: E I = 14000, rho A = 1.2, length 10; no rotary inertia to speak of
static const double EI = 1.4e4, rhoA = 1.2, L = 10;

static bool        leave_stiffness;   // geometric stiffness is left out
static const char *force_x, *force_z; // further forces at the tip
static double      hung;              // mass of a body that is fixed to the tip, with gravity along z

static void read_part(const char *rest, kd_flexible_body *body)
{
    kd_part_report report;
    char           text[2000], message[2000] = "";
    (void)snprintf(text, sizeof text,
                   "part: beam\n"
                   "points: {root: [0, 0, 0], tip: [10, 0, 0]}\n"
                   "beams: [{from: root, to: tip, elements: 40, E: 2.8e11, nu: 0.3, density: 1.2,"
                   " section: {area: 1, Iz: 5e-8, Iy: 5e-4, torsion: 5e-4}}]\n"
                   "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\n%s\n",
                   rest);
    if (kd_part_read_text("beam.yaml", text, strlen(text), NULL, 1, 1, body, &report, message, sizeof message) != KD_OK)
        fail_msg("%s", message);
}

static void read_beam(kd_model *m, const char *rest, kd_body_def *def)
{
    kd_flexible_body body = {0};
    read_part(rest, &body);
    if (leave_stiffness) body.K0t = body.K0r = body.K0w = body.K0F = NULL;
    *def = kd_body_def_default();
    def->flexible = "beam";
    def->read = kd_model_part_enter(m, "beam", 1, 1, &body);
    assert_non_null(def->read);
}

typedef struct beam {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} beam;

static void hang_weight(kd_model *m)
{
    kd_body_def  body = kd_body_def_default();
    kd_joint_def joint = kd_joint_def_default(KD_FIXED);
    body.mass = hung;
    for (int i = 0; i < 6; i++) body.inertia[i] = i < 3 ? 1e-3 * hung : 0;
    body.position[0] = L;
    assert_int_equal(kd_model_add_body(m, "weight", &body), KD_OK);
    joint.from = kd_at_node("beam", "tip");
    joint.to = kd_at("weight", L, 0, 0);
    assert_int_equal(kd_model_add_joint(m, "hook", &joint), KD_OK);
}

// clamped at its root, or turned about z there; a force at the tip
static beam make_beam(const char *rest, const char *motion, const char *force_y, kd_coordinates coordinates)
{
    beam              b = {0};
    kd_body_def       body;
    kd_joint_def      joint = kd_joint_def_default(motion ? KD_REVOLUTE : KD_FIXED);
    kd_force_def      force = kd_force_def_default(KD_APPLIED);
    kd_frame_def      frame = kd_frame_def_default();
    kd_sensor_def     sensor = kd_sensor_def_default();
    kd_system_options opt = kd_system_options_default();
    char              message[1000] = "";
    assert_int_equal(kd_model_create(&b.model), KD_OK);
    read_beam(b.model, rest, &body);
    assert_int_equal(kd_model_add_body(b.model, "beam", &body), KD_OK);
    joint.to = kd_at_node("beam", "root");
    joint.motion[0] = motion;
    assert_int_equal(kd_model_add_joint(b.model, "hub", &joint), KD_OK);
    frame.at = kd_at_node("beam", "tip");
    assert_int_equal(kd_model_add_frame(b.model, "tip", &frame), KD_OK);
    force.to = kd_at_node("beam", "tip");
    force.applied.in = KD_IN_WORLD;
    force.applied.force[0] = force_x;
    force.applied.force[1] = force_y;
    force.applied.force[2] = force_z;
    if (hung > 0) hang_weight(b.model);
    if (force_x || force_y || force_z) assert_int_equal(kd_model_add_force(b.model, "load", &force), KD_OK);
    sensor.value = "frame.tip.pos.y";
    assert_int_equal(kd_model_add_sensor(b.model, "y", &sensor), KD_OK);
    if (kd_model_finish(b.model) < 0) fail_msg("%s", kd_model_message(b.model));
    opt.coordinates = coordinates;
    if (kd_system_create(b.model, &opt, &b.system, message, sizeof message) < 0) fail_msg("%s", message);
    assert_int_equal(kd_state_create(kd_system_eom(b.system), &b.x), KD_OK);
    if (kd_system_start(b.system, b.x, message, sizeof message) < 0) fail_msg("%s", message);
    return b;
}

static void free_beam(beam *b)
{
    kd_state_destroy(b->x);
    kd_system_destroy(b->system);
    kd_model_destroy(b->model);
}

static double sensor_of(const beam *b)
{
    kd_eom_data *data = NULL;
    double       y = 0;
    assert_int_equal(kd_eom_data_create(kd_system_eom(b->system), &data), KD_OK);
    kd_eom_at_time(data, b->x->t, NULL, NULL, NULL, b->x->z);
    kd_eom_at_position(data, b->x->p, b->x->s);
    kd_eom_at_velocity(data, b->x->v, b->x->r);
    kd_eom_at_acceleration(data, b->x->a, b->x->w, b->x->lambda, b->x->mu);
    assert_int_equal(kd_eom_eval(data, KD_Y, &y), KD_EVAL_OK);
    kd_eom_data_destroy(data);
    return y;
}

static void settle(beam *b)
{
    char message[1000] = "";
    if (kd_equilibrium(kd_system_eom(b->system), kd_system_inputs(b->system), NULL, b->x, NULL, message,
                       sizeof message) < 0)
        fail_msg("%s", message);
}

static double deflection(const char *rest, const char *force, kd_coordinates coordinates)
{
    beam b = make_beam(rest, NULL, force, coordinates);
    settle(&b);
    const double y = sensor_of(&b);
    free_beam(&b);
    return y;
}

static void assert_relative(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b))) fail_msg("%.12g instead of %.12g", a, b);
}

// ---- statics ---------------------------------------------------------------------------------------------------------

// F L^3/(3 E I), in both coordinate sets, with static shapes among the modes
static void test_deflection(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++)
        assert_relative(deflection("reference: {tangent: root}", "0.01", (kd_coordinates)c),
                        0.01 * L * L * L / (3 * EI), 1e-5);
}

// Other references, other bodies: the same in the linear limit, with a difference that grows with the square of the load. The beam
// is clamped, which mean axes and chords do by constraints.
static void test_references(void **state)
{
    static const char *const words[] = {"reference: {chord: [root, tip]}", "reference: mean"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        double difference[2];
        for (int k = 0; k < 2; k++) {
            const char  *load = k == 0 ? "10" : "20";
            const double y = deflection("reference: {tangent: root}", load, KD_JOINT);
            difference[k] = fabs(deflection(words[i], load, KD_JOINT) - y) / y;
        }
        assert_true(difference[0] < 0.02);
        assert_true(difference[1] / difference[0] > 3 && difference[1] / difference[0] < 5);
    }
}

// ---- frequencies -----------------------------------------------------------------------------------------------------

static void frequencies(beam *b, int n, double *omega)
{
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    char       message[1000] = "";
    int        count = 0;
    if (kd_linearize(kd_system_eom(b->system), kd_system_inputs(b->system), NULL, b->x, &linear, message,
                     sizeof message) < 0)
        fail_msg("%s", message);
    assert_int_equal(kd_modes_create(linear, &modes), KD_OK);
    for (int k = 0; k < n; k++) omega[k] = 0;
    // the lowest ones, rising
    double floor = 0;
    while (count < n) {
        double next = INFINITY;
        for (int i = 0; i < modes->n; i++)
            if (modes->imaginary[i] > floor * (1 + 1e-9) && modes->imaginary[i] < next) next = modes->imaginary[i];
        omega[count++] = floor = next;
    }
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
}

// beta L = 1.87510407, 4.69409113, 7.85475744
static void test_clamped_frequencies(void **state)
{
    const double betaL[] = {1.8751040687119611, 4.694091132974174, 7.854757438237613};
    double       omega[3];
    (void)state;
    for (int c = 0; c < 2; c++) {
        beam b = make_beam("reference: {tangent: root}\nmodes: 6", NULL, NULL, (kd_coordinates)c);
        frequencies(&b, 3, omega);
        for (int k = 0; k < 3; k++) assert_relative(omega[k], pow(betaL[k] / L, 2) * sqrt(EI / rhoA), 2e-6);
        free_beam(&b);
    }
}

// In the plane of rotation, Omega* = 2 and 6: Ritz's values of ../shared/flexible/beams.md without Coriolis terms, which a beam
// that does not stretch has none of
static void test_rotating_frequencies(void **state)
{
    static const struct {
        double      speed, first, second;
        const char *modes;
    } rows[] = {{2, 3.62179696, 22.52631117, "modes: 6"}, {6, 4.26322542, 26.12904247, "modes: 9"}};
    const double scale = sqrt(EI / (rhoA * L * L * L * L));
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char   motion[40], rest[100];
        double omega[2];
        (void)snprintf(motion, sizeof motion, "%.17g*t", rows[i].speed * scale);
        (void)snprintf(rest, sizeof rest, "reference: {tangent: root}\n%s", rows[i].modes);
        beam b = make_beam(rest, motion, NULL, KD_JOINT);
        frequencies(&b, 2, omega);
        assert_relative(omega[0], rows[i].first * scale, 1e-4);
        assert_relative(omega[1], rows[i].second * scale, 1e-4);
        free_beam(&b);
    }
}

// ---- spin-up ---------------------------------------------------------------------------------------------------------

typedef struct lag {
    const beam *beam;
    double      largest;
} lag;

// the hub is driven: all coordinates are amplitudes
static kd_eval see_lag(const kd_state *x, bool at_time, void *context)
{
    lag                    *l = context;
    const kd_flexible_body *f = l->beam->model->body[0].def.read;
    double                  u = 0;
    (void)at_time;
    for (int k = 0; k < f->nq; k++) u += f->frame[1].Phi[1 + 3 * k] * x->p[k];
    l->largest = fmin(l->largest, u);
    return KD_EVAL_OK;
}

// Case A of ../shared/benchmarks/flexible.md with two modes: its largest lag by the modal equations. The page has -0.57354867; two methods
// of scipy (DOP853 at 1e-13, Radau at 1e-11), with the page's G and h and with exact ones, agree on -0.573549386 (as they do with each other to
// nine digits in all eight cases), so that the page's own run was 1.3e-6 off
static void test_spin_up(void **state)
{
    (void)state;
    beam b = make_beam("reference: {tangent: root}\nmodes: 2", "6/15*(t^2/2 + (15/(2*pi))^2*(cos(2*pi*t/15) - 1))",
                       NULL, KD_JOINT);
    enum { TIMES = 4000 };
    static double         times[TIMES];
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    kd_simulation *sim = NULL;
    lag            l = {&b, 0};
    char           message[500] = "";
    for (int i = 0; i < TIMES; i++) times[i] = 6 + 2.0 * i / TIMES;
    opt.rtol = 1e-9;
    opt.atol = 1e-11;
    opt.output = see_lag;
    opt.context = &l;
    opt.times = times;
    opt.ntimes = TIMES;
    assert_true(kd_simulation_create(kd_system_eom(b.system), kd_system_inputs(b.system), &opt, b.x, &sim, message,
                                     sizeof message) >= 0);
    assert_true(kd_simulation_run(sim, 8) >= 0);
    assert_relative(l.largest, -0.57354939, 2e-6);
    kd_simulation_destroy(sim);
    free_beam(&b);
}

// ---- warnings --------------------------------------------------------------------------------------------------------

// What the equations warn of at the start with this amplitude of the first mode; "": nothing
static void warning_at(const beam *b, double amplitude, char *text, size_t size)
{
    kd_eom_data *data = NULL;
    assert_int_equal(kd_eom_data_create(kd_system_eom(b->system), &data), KD_OK);
    b->x->p[0] = amplitude;
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(b->system), b->x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    const bool found = kd_eom_caution(data, text, size);
    assert_int_equal(found, text[0] != '\0');
    kd_eom_data_destroy(data);
}

// A beam that turns with half its lowest frequency (3.8 rad/s) is warned of if its part has no geometric stiffness, and only then; one
// that is bent by more than 0.2 rad at its tip in any case.
static void test_warnings(void **state)
{
    static const struct {
        const char *motion;
        bool        stiffened;
        double      amplitude;
        const char *word; // NULL: no warning
    } rows[] = {
        {"2*t", true, 0, NULL},
        {"1*t", false, 0, NULL},
        {"2*t", false, 0, "has no geometric stiffness"},
        {"1*t", true, 1, NULL},
        {"1*t", true, 6, "node 'tip' is turned by"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300] = "";
        leave_stiffness = !rows[i].stiffened;
        beam b = make_beam("reference: {tangent: root}\nmodes: 3", rows[i].motion, NULL, KD_JOINT);
        leave_stiffness = false;
        warning_at(&b, rows[i].amplitude, text, sizeof text);
        if (rows[i].word ? !strstr(text, rows[i].word) : text[0] != '\0') fail_msg("row %d: '%s'", (int)i, text);
        free_beam(&b);
    }
}

// ---- loads that the modes do not carry --------------------------------------------------------------------------------

// A cantilever deflects by F L^3/(3 E I) at its tip, its k-th bending mode takes 4 F L^3/(E I (beta_k L)^4) of that; what modes that the
// part or the model leaves out would add is the rest. It stands in the file of the part.
static void test_left_out(void **state)
{
    static const double beta[] = {1.87510407, 4.69409113, 7.85475744};
    enum { N = 12, Y = 7 }; // tip in y
    kd_flexible_body whole = {0};
    double           F[N * N], R[N * N], rest = 1.0 / 3;
    (void)state;
    read_part("reference: {tangent: root}\nreduction: {modes: 12}", &whole);
    assert_null(whole.residual);
    for (int m = 1; m <= 3; m++) {
        kd_flexible_body part = {0};
        char             text[100];
        (void)snprintf(text, sizeof text, "reference: {tangent: root}\nreduction: {modes: 12}\nmodes: %d", m);
        read_part(text, &part);
        assert_non_null(part.residual);
        rest -= 4 / pow(beta[m - 1], 4);
        assert_int_equal(kd_flexible_body_compliance(&whole, m, F, R), KD_OK);
        assert_relative(F[Y + N * Y], L * L * L / (3 * EI), 1e-5); // axially 1e7 times stiffer: rounding
        assert_true(fabs(R[Y + N * Y] - rest * L * L * L / EI) < 1e-5 * F[Y + N * Y]);
        // the same by both ways to leave them out, and by the truncated part itself
        for (int i = 0; i < N * N; i++) {
            const double size = sqrt(F[i % N * (N + 1)] * F[i / N * (N + 1)]);
            assert_true(fabs(R[i] - part.residual[i]) <= 1e-9 * size);
        }
        double G[N * N], S[N * N];
        assert_int_equal(kd_flexible_body_compliance(&part, m, G, S), KD_OK);
        for (int i = 0; i < N * N; i++) {
            const double size = sqrt(F[i % N * (N + 1)] * F[i / N * (N + 1)]);
            assert_true(fabs(G[i] - F[i]) <= 1e-9 * size && fabs(S[i] - R[i]) <= 1e-9 * size);
        }
#ifdef KD_WITH_HDF5
        kd_flexible_body again;
        char             message[500];
        assert_int_equal(kd_flex_write(&part, KD_BINARY_DIR "/test-flexible.flex", message, sizeof message), KD_OK);
        assert_int_equal(kd_flex_read(KD_BINARY_DIR "/test-flexible.flex", &again, message, sizeof message), KD_OK);
        assert_non_null(again.residual);
        assert_memory_equal(again.residual, part.residual, sizeof R);
        kd_flexible_body_release(&again);
#endif
        kd_flexible_body_release(&part);
    }
    kd_flexible_body_release(&whole);
}

// What the equations warn of at rest under the loads
static void warning_at_rest(const char *rest, const char *force_y, kd_coordinates coordinates, char *text, size_t size)
{
    char         message[1000] = "";
    kd_eom_data *data = NULL;
    beam         b = make_beam(rest, NULL, force_y, coordinates);
    if (kd_equilibrium(kd_system_eom(b.system), kd_system_inputs(b.system), NULL, b.x, NULL, message, sizeof message) <
        0)
        fail_msg("%s", message);
    assert_int_equal(kd_eom_data_create(kd_system_eom(b.system), &data), KD_OK);
    // nothing is said of loads where accelerations and multipliers are not known
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(b.system), b.x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    assert_false(kd_eom_caution(data, text, size));
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(b.system), b.x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    (void)kd_eom_caution(data, text, size);
    kd_eom_data_destroy(data);
    free_beam(&b);
}

// The first modes of the beam bend it in y: a load in z is not carried by one of them, whether it comes from a force or from a body in the
// tree, and whether the root is held by the tree or by multipliers. Loads in y are, and small ones beside large ones do not matter.
static void test_load_warnings(void **state)
{
    static const struct {
        const char *modes, *y, *z;
        double      hung;
        bool        warns;
    } rows[] = {
        {"modes: 1", "10", NULL, 0, false},   {"modes: 1", NULL, "1000", 0, true},
        {"modes: 1", NULL, "10", 0, false},   {"modes: 1", "10", "1000", 0, false},
        {"modes: 1", "0.1", "1000", 0, true}, {"reduction: {modes: 4}", NULL, "1000", 0, false},
        {"modes: 1", NULL, NULL, 200, true},  {"reduction: {modes: 4}", NULL, NULL, 200, false},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        char text[300] = "", rest[100];
        force_z = rows[i / 2].z;
        hung = rows[i / 2].hung;
        (void)snprintf(rest, sizeof rest, "reference: {tangent: root}\n%s", rows[i / 2].modes);
        warning_at_rest(rest, rows[i / 2].y, i % 2 ? KD_CARTESIAN : KD_JOINT, text, sizeof text);
        force_z = NULL;
        hung = 0;
        const bool told = strstr(text, "leave out") && strstr(text, "node 'tip'");
        if (told != rows[i / 2].warns || (text[0] != '\0') != told) fail_msg("row %d: '%s'", (int)i / 2, text);
    }
}

// ---- forces at nodes stiffen or soften --------------------------------------------------------------------------------

// Deflection by F across a cantilever that is pulled by T (pressed: T < 0), k^2 = |T|/(E I): F (k L - tanh k L)/(T k), F (tan k L - k L)/(|T| k)
static double beam_column(double T, double F)
{
    const double k = sqrt(fabs(T) / EI);
    return T > 0 ? F * (k * L - tanh(k * L)) / (T * k) : F * (tan(k * L) - k * L) / (-T * k);
}

// Its frequencies: w = A (cosh a x - cos b x) + B (sinh a x - a/b sin b x) with a^2 - b^2 = T/(E I), a b = omega sqrt(rho A/(E I)), and
// w'' = 0, E I w''' = T w' at the tip: where this determinant changes its sign
static double tip_determinant(double T, double omega)
{
    const double half = T / (2 * EI), root = sqrt(half * half + omega * omega * rhoA / EI);
    const double a = sqrt(root + half), b = sqrt(root - half), ch = cosh(a * L), sh = sinh(a * L), c = cos(b * L),
                 s = sin(b * L);
    return (a * a * ch + b * b * c) * (b * b * ch + a * a * c) - (a * sh + b * s) * (b * sh - a * s) * a * b;
}

static double loaded_frequency(double T, double from)
{
    double low = from, high = from;
    while (tip_determinant(T, low) * tip_determinant(T, high) > 0) high *= 1.01;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (tip_determinant(T, low) * tip_determinant(T, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// A force along the beam, from 0.87 of Euler's load pi^2 E I/(4 L^2) = 345 N to pulling with three times that: deflection and frequencies,
// in both coordinate sets and with all references
static void test_axial_force(void **state)
{
    static const struct {
        const char *text;
        double      force;
    } rows[] = {{"-300", -300}, {"-100", -100}, {"100", 100}, {"1000", 1000}};
    static const char *const references[] = {"reference: {tangent: root}\nreduction: {modes: 12}",
                                             "reference: {chord: [root, tip]}\nreduction: {modes: 12}",
                                             "reference: mean\nreduction: {modes: 12}"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 2; c++) {
                double omega[2];
                force_x = rows[i].text;
                assert_relative(deflection(references[r], "0.001", (kd_coordinates)c),
                                beam_column(rows[i].force, 0.001), 5e-5);
                beam b = make_beam(references[r], NULL, NULL, (kd_coordinates)c);
                force_x = NULL;
                settle(&b);
                frequencies(&b, 2, omega);
                assert_relative(omega[0], loaded_frequency(rows[i].force, 0.1), 5e-5);
                assert_relative(omega[1], loaded_frequency(rows[i].force, 10), 5e-5);
                free_beam(&b);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deflection),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_clamped_frequencies),
        cmocka_unit_test(test_rotating_frequencies),
        cmocka_unit_test(test_spin_up),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_load_warnings),
        cmocka_unit_test(test_axial_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
