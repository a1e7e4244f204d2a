// Systems as a whole: start values, names, what is said about them, running out of memory, threads.
#include "model/build_helpers.h"

#include <pthread.h>
#include <stdlib.h>

#include <kardan/initial.h>
#include <kardan/simulation.h>
#include <kardan/system.h>

#include "core/failing_allocator.h"
#include "systems/random_model.h"

#define assert_close(a, b, tolerance) close_or_fail((a), (b), (tolerance), __LINE__)
static void close_or_fail(double a, double b, double tolerance, int line)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("line %d: %.15g and %.15g", line, a, b);
}

static kd_system *system_of(const kd_model *m, kd_coordinates coordinates)
{
    kd_system_options opt = kd_system_options_default();
    kd_system        *s = NULL;
    char              message[400] = "";
    opt.coordinates = coordinates;
    if (kd_system_create(m, &opt, &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static kd_state *start_of(const kd_system *s, kd_status expected, char *message, size_t size)
{
    kd_state *x = NULL;
    CHECK(kd_state_create(kd_system_eom(s), &x));
    assert_int_equal(kd_system_start(s, x, message, size), expected);
    return x;
}

static void add_sensor(kd_model *m, const char *name, const char *value)
{
    kd_sensor_def sensor = kd_sensor_def_default();
    sensor.value = value;
    CHECK(kd_model_add_sensor(m, name, &sensor));
}

// Sensor number i at a state.
static double sensor_at(const kd_system *s, const kd_state *x, int i)
{
    kd_dims          n = kd_eom_dims(kd_system_eom(s));
    kd_eom_data     *data = NULL;
    double           y[40], u[30] = {0};
    const kd_inputs *inputs = kd_system_inputs(s);
    CHECK(kd_eom_data_create(kd_system_eom(s), &data));
    assert_true(n.ny <= 40 && n.nu <= 10 && i < n.ny);
    assert_int_equal(inputs->eval(x->t, inputs->context, u, u + n.nu, u + 2 * n.nu), KD_EVAL_OK);
    kd_eom_at_time(data, x->t, u, u + n.nu, u + 2 * n.nu, NULL);
    kd_eom_at_position(data, x->p, NULL);
    kd_eom_at_velocity(data, x->v, x->r);
    kd_eom_at_acceleration(data, x->a, NULL, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(data, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(data);
    return y[i];
}

// Four bars in the x-y plane, lengths 1, 2, 2, 2: A (0,0), B (0,1), C, D (2,0); bars ab, bc, dc; joints at A, B, C, D.
static kd_joint_def bar_joint(const char *from, const char *to, double x, double y)
{
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.from = kd_at(from, x, y, 0);
    j.to = kd_at(to, x, y, 0);
    return j;
}

enum { JOINT_A, JOINT_B, JOINT_C, JOINT_D };

static kd_model *four_bar(kd_joint_def j[4])
{
    static const char *const bars[] = {"ab", "bc", "dc"}, *const names[] = {"a", "b", "c", "d"};
    kd_model *m = new_model();
    for (int i = 0; i < 3; i++) add_ball(m, bars[i]);
    for (int i = 0; i < 4; i++) CHECK(kd_model_add_joint(m, names[i], &j[i]));
    for (int i = 0; i < 4; i++) {
        char text[2][16];
        (void)snprintf(text[0], sizeof text[0], "joint.%s.q", names[i]);
        (void)snprintf(text[1], sizeof text[1], "joint.%s.v", names[i]);
        add_sensor(m, (const char *[]){"qa", "qb", "qc", "qd"}[i], text[0]);
        add_sensor(m, (const char *[]){"va", "vb", "vc", "vd"}[i], text[1]);
    }
    return m;
}

static void four_bar_joints(kd_joint_def j[4])
{
    double C[2] = {1.0 + sqrt(2.75) / sqrt(5.0), 0.5 + 2.0 * sqrt(2.75) / sqrt(5.0)}; // 2 away from B and from D
    j[JOINT_A] = bar_joint("ground", "ab", 0, 0);
    j[JOINT_B] = bar_joint("ab", "bc", 0, 1);
    j[JOINT_C] = bar_joint("dc", "bc", C[0], C[1]);
    j[JOINT_D] = bar_joint("ground", "dc", 2, 0);
}

// Coordinates that joints give are kept where the loop lets them be; the others follow.
static void test_start_is_kept(void **state)
{
    kd_joint_def j[4];
    (void)state;
    for (int given = 0; given < 4; given++) { // whichever joint it is: it is not the one that is cut
        four_bar_joints(j);
        j[given].q[0] = 0.2;
        j[given].v[0] = 1.5;
        kd_model *m = four_bar(j);
        CHECK(kd_model_finish(m));
        for (int k = 0; k < 2; k++) {
            char       message[300];
            kd_system *s = system_of(m, (kd_coordinates)k);
            kd_state  *x = start_of(s, KD_CORRECTED, message, sizeof message);
            assert_close(sensor_at(s, x, 2 * given), 0.2, 1e-12);
            assert_close(sensor_at(s, x, 2 * given + 1), 1.5, 1e-12);
            assert_true(fabs(sensor_at(s, x, 2 * ((given + 1) % 4) + 1)) > 0.1);
            assert_int_equal(kd_system_info_of(s).dof, 1);
            kd_state_destroy(x);
            kd_system_destroy(s);
        }
        kd_model_destroy(m);
    }
}

// Start values that contradict each other are said to be so, and the closest motion is taken; held ones are an error.
static void test_start_that_contradicts(void **state)
{
    kd_joint_def j[4];
    (void)state;
    for (int hold = 0; hold < 2; hold++) {
        char message[500] = "";
        four_bar_joints(j);
        j[JOINT_A].q[0] = 0.3;
        j[JOINT_D].q[0] = -0.4;
        j[JOINT_A].hold = j[JOINT_D].hold = hold;
        kd_model *m = four_bar(j);
        CHECK(kd_model_finish(m));
        kd_system *s = system_of(m, KD_JOINT);
        kd_state  *x = NULL;
        CHECK(kd_state_create(kd_system_eom(s), &x));
        kd_status status = kd_system_start(s, x, message, sizeof message);
        if (hold) {
            assert_true(status < 0);
            assert_false(kd_system_info_of(s).assembled);
        } else {
            assert_int_equal(status, KD_CORRECTED);
            assert_has(message, "cannot all be kept");
        }
        assert_true(strlen(message) > 20);
        kd_state_destroy(x);
        kd_system_destroy(s);
        kd_model_destroy(m);
    }
}

// Every kind of joint takes its start coordinates and velocities, whichever side of it carries the other.
static void test_start_of_all_kinds(void **state)
{
    static const int    coordinates[KD_JOINT_KIND_COUNT] = {0, 1, 1, 1, 2, 2, 3, 0, 3, 6, 2, 2, 3, 6, 1, 1};
    static const int    rates[KD_JOINT_KIND_COUNT] = {0, 1, 1, 1, 2, 2, 3, 3, 6, 6, 2, 2, 6, 6, 1, 1};
    static const double rows[5] = {-1, -0.4, 0, 0.7, 1.2}, shift[5] = {0.1, 0.2, 0.15, 0.3, 0.1};
    (void)state;
    for (int kind = KD_REVOLUTE; kind < KD_JOINT_KIND_COUNT; kind++)
        for (int k = 0; k < 4; k++) { // both directions, both coordinate sets
            bool         backwards = k % 2 == 1;
            kd_model    *m = new_model();
            kd_joint_def j = kd_joint_def_default((kd_joint_kind)kind);
            kd_body_def  b = ball();
            uint64_t     seed = (uint64_t)(kind + 10);
            kd_vec_to(mechanism_vec(1, &seed), b.position);
            CHECK(kd_model_add_body(m, "arm", &b));
            j.from = kd_at(backwards ? "arm" : "ground", 0.1, 0.2, 0.3);
            j.to = kd_at(backwards ? "ground" : "arm", 0.1, 0.2, 0.3);
            kd_quat_to(mechanism_quat(&seed), j.from.orientation);
            memcpy(j.to.orientation, j.from.orientation, sizeof j.to.orientation);
            j.pitch = 0.5;
            kd_curve_def curve = kd_curve_def_default(); // of joints by tables
            curve.form = KD_CURVE_SPLINE, curve.n = 5, curve.x = curve.y = rows;
            if (kind >= KD_TABLE) CHECK(kd_model_add_curve(m, "same", &curve));
            curve.y = shift;
            if (kind >= KD_TABLE) CHECK(kd_model_add_curve(m, "shift", &curve));
            j.curve[kind == KD_TABLE ? KD_TABLE_Z : KD_TABLE_TURN_Z] = "same";
            j.curve[KD_TABLE_X] = "shift";
            for (int i = 0; i < coordinates[kind]; i++) j.q[i] = 0.3 - 0.2 * i;
            kd_quat q = mechanism_quat(&seed);
            if (kind == KD_SPHERICAL || kind == KD_FREE) kd_quat_to(q, j.q + (kind == KD_FREE ? 3 : 0));
            for (int i = 0; i < rates[kind]; i++) j.v[i] = 0.7 - 0.3 * i;
            CHECK(kd_model_add_joint(m, "j", &j));
            // sensors: coordinates and rates, then axes of `to` in `from` and omega through two named frames
            kd_frame_def from = kd_frame_def_default(), to = kd_frame_def_default();
            from.at = j.from, to.at = j.to;
            CHECK(kd_model_add_frame(m, "from", &from));
            CHECK(kd_model_add_frame(m, "to", &to));
            for (int i = 0; i < coordinates[kind]; i++) {
                char name[2][16], text[2][32], number[16] = "";
                if (coordinates[kind] > 1) (void)snprintf(number, sizeof number, "%d", i + 1);
                (void)snprintf(name[0], sizeof name[0], "q%d", i),
                    (void)snprintf(text[0], sizeof text[0], "joint.j.q%s", number);
                (void)snprintf(name[1], sizeof name[1], "v%d", i),
                    (void)snprintf(text[1], sizeof text[1], "joint.j.v%s", number);
                for (int l = 0; l < 2; l++) add_sensor(m, name[l], text[l]);
            }
            add_sensor(m, "cosine",
                       "frame.from.R.xx*frame.to.R.xy + frame.from.R.yx*frame.to.R.yy + "
                       "frame.from.R.zx*frame.to.R.zy");
            add_sensor(m, "omega",
                       "(frame.to.omega.x - frame.from.omega.x)*frame.to.R.xz + (frame.to.omega.y - "
                       "frame.from.omega.y)*frame.to.R.yz + (frame.to.omega.z - "
                       "frame.from.omega.z)*frame.to.R.zz");
            CHECK(kd_model_finish(m));
            kd_system *s = system_of(m, k < 2 ? KD_JOINT : KD_CARTESIAN);
            kd_state  *x = start_of(s, KD_OK, NULL, 0);
            int        n = coordinates[kind];
            for (int i = 0; i < n; i++) {
                assert_close(sensor_at(s, x, 2 * i), j.q[i], 1e-12);
                assert_close(sensor_at(s, x, 2 * i + 1), j.v[i], 1e-12);
            }
            if (kind == KD_SPHERICAL || kind == KD_FREE) {
                assert_close(sensor_at(s, x, 2 * n), kd_quat_matrix(q).y.x, 1e-12);
                assert_close(sensor_at(s, x, 2 * n + 1), j.v[rates[kind] - 1], 1e-12);
            }
            kd_state_destroy(x);
            kd_system_destroy(s);
            kd_model_destroy(m);
        }
}

// A body's own start velocity is that of the motion where its joint allows it, and the nearest to it where not.
static void test_velocities_of_bodies(void **state)
{
    kd_model   *m = new_model();
    kd_body_def b = ball();
    (void)state;
    for (int i = 0; i < 3; i++) b.velocity[i] = 1.0 + i, b.angular_velocity[i] = 0.5 - i, b.position[i] = 1.0;
    CHECK(kd_model_add_body(m, "free", &b));
    kd_vec_to(kd_vec(0, 2, 0), b.position); // on a hinge about z at the origin: 2 m of arm
    for (int i = 0; i < 3; i++) b.velocity[i] = i == 0 ? -3.0 : 1.0, b.angular_velocity[i] = NAN;
    CHECK(kd_model_add_body(m, "arm", &b));
    add_joint(m, "hinge", KD_REVOLUTE, "ground", "arm");
    kd_vec_to(kd_vec(0, 4, 0), b.position); // on the arm
    kd_vec_to(kd_vec(-6, 0, 5), b.velocity);
    CHECK(kd_model_add_body(m, "slide", &b));
    add_joint(m, "guide", KD_PRISMATIC, "slide", "arm"); // along z
    static const char *const wanted[] = {"body.free.vel.x",   "body.free.vel.y", "body.free.vel.z", "body.free.omega.x",
                                         "body.free.omega.z", "joint.hinge.v",   "joint.guide.v",   "body.slide.vel.z"};
    const double             value[] = {1, 2, 3, 0.5, -1.5, 1.5, -5, 5};
    for (int i = 0; i < 8; i++) add_sensor(m, (const char *[]){"a", "b", "c", "d", "e", "f", "g", "h"}[i], wanted[i]);
    CHECK(kd_model_finish(m));
    for (int k = 0; k < 2; k++) {
        kd_system *s = system_of(m, (kd_coordinates)k);
        kd_state  *x = start_of(s, KD_OK, NULL, 0);
        for (int i = 0; i < 8; i++) assert_close(sensor_at(s, x, i), value[i], 1e-10);
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// Angles are counted over many turns in both coordinate sets: a wound-up spring, a screw, a drive, also of joints that
// close loops.
static void test_many_turns(void **state)
{
    double end[3][8] = {{0}};
    (void)state;
    for (int k = 0; k < 3; k++) { // joint coordinates, Cartesian, joint coordinates with all joints cut
        kd_model    *m = new_model();
        kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
        const double axis[3] = {0.3, -0.5, 0.8}, point[3] = {0.2, 0.1, 0};
        for (int i = 0; i < 4; i++) add_ball(m, (const char *[]){"wound", "nut", "wheel", "gear"}[i]);
        j.cut = k == 2 ? KD_CUT_YES : KD_CUT_AUTO;
        j.from = kd_at_axis("ground", point, axis), j.to = kd_at_axis("wound", point, axis);
        j.q[0] = k == 2 ? NAN : 4 * KD_PI;
        CHECK(kd_model_add_joint(m, "spindle", &j));
        j.q[0] = NAN;
        j.to.body = "wheel";
        j.motion[0] = "25*t";
        CHECK(kd_model_add_joint(m, "drive", &j));
        j.motion[0] = NULL;
        j.from.body = "gear", j.to.body = "ground";
        CHECK(kd_model_add_joint(m, "gear", &j));
        j = kd_joint_def_default(KD_SCREW);
        j.cut = k == 2 ? KD_CUT_YES : KD_CUT_AUTO;
        j.from = kd_at_axis("nut", point, axis), j.to = kd_at_axis("ground", point, axis);
        j.pitch = 0.2;
        CHECK(kd_model_add_joint(m, "screw", &j));
        kd_force_def spring = kd_force_def_default(KD_JOINT_SPRING);
        spring.joint = "spindle", spring.coordinate = 1, spring.spring.stiffness = 3,
        spring.spring.length = k == 2 ? -4 * KD_PI : 0.0;
        CHECK(kd_model_add_force(m, "spring", &spring));
        spring.joint = "screw", spring.spring.stiffness = 0, spring.spring.length = 0, spring.spring.law = "1.5";
        CHECK(kd_model_add_force(m, "motor", &spring));
        kd_constraint_def pair = kd_constraint_def_default(KD_COUPLING);
        pair.nterms = 2, pair.coordinate[0] = "joint.drive.q", pair.coordinate[1] = "joint.gear.q";
        pair.factor[0] = 1, pair.factor[1] = 2;
        CHECK(kd_model_add_constraint(m, "teeth", &pair));
        static const char *const wanted[] = {"joint.spindle.q", "joint.drive.q", "joint.gear.q",   "joint.screw.q",
                                             "body.nut.pos.z",  "body.nut.R.xy", "body.gear.R.zx", "joint.spindle.v"};
        for (int i = 0; i < 8; i++)
            add_sensor(m, (const char *[]){"a", "b", "c", "d", "e", "f", "g", "h"}[i], wanted[i]);
        CHECK(kd_model_finish(m));
        kd_system            *s = system_of(m, k == 1 ? KD_CARTESIAN : KD_JOINT);
        kd_state             *x = NULL;
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        char message[300];
        CHECK(kd_state_create(kd_system_eom(s), &x));
        assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
        opt.rtol = 1e-10, opt.atol = 1e-11;
        if (kd_simulate(kd_system_eom(s), kd_system_inputs(s), &opt, x, 2.0, NULL, message, sizeof message) < 0)
            fail_msg("%s", message);
        for (int i = 0; i < 8; i++) end[k][i] = sensor_at(s, x, i);
        if (k == 2) end[k][0] += 4 * KD_PI; // its start is the design position, and the spring is wound up instead
        kd_state_destroy(x);
        kd_system_destroy(s);
        kd_model_destroy(m);
    }
    assert_close(end[0][1], 50.0, 1e-9);
    assert_close(end[0][2], -25.0, 1e-8);
    assert_true(fabs(end[0][3]) > 4 * KD_PI); // the screw has made turns
    for (int i = 0; i < 8; i++) {
        assert_close(end[1][i], end[0][i], 1e-7);
        assert_close(end[2][i], end[0][i], 1e-7);
    }
}

// Sensors may read others that stand behind them in the model.
static void test_sensors_of_sensors(void **state)
{
    kd_model *m = arm_model();
    (void)state;
    add_sensor(m, "a", "2*sensor.b + sensor.d");
    add_sensor(m, "b", "sensor.c + 1");
    add_sensor(m, "c", "3*sensor.d");
    add_sensor(m, "d", "cos(joint.hinge.q) + energy.total - energy.kinetic - energy.potential");
    CHECK(kd_model_finish(m));
    kd_system   *s = system_of(m, KD_JOINT);
    kd_state    *x = start_of(s, KD_OK, NULL, 0);
    const double wanted[] = {9, 4, 3, 1};
    for (int i = 0; i < 4; i++) assert_close(sensor_at(s, x, i), wanted[i], 1e-14);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(m);
}

// Components have the names of the elements that they belong to, in both coordinate sets.
static void test_names(void **state)
{
    kd_joint_def j[4];
    char         name[80];
    (void)state;
    four_bar_joints(j);
    kd_model *m = four_bar(j);
    CHECK(kd_model_finish(m));
    kd_system    *s = system_of(m, KD_JOINT);
    const kd_eom *eom = kd_system_eom(s);
    assert_string_equal(kd_eom_name(eom, KD_NAME_P, 0, name, sizeof name), "joint.a.q");
    assert_string_equal(kd_eom_name(eom, KD_NAME_V, 0, name, sizeof name), "joint.a.v");
    assert_string_equal(kd_eom_name(eom, KD_NAME_Y, 1, name, sizeof name), "va");
    assert_has(kd_eom_name(eom, KD_NAME_LAMBDA, 0, name, sizeof name), "joint '");
    assert_ptr_equal(kd_system_model(s), m);
    kd_system_destroy(s);
    s = system_of(m, KD_CARTESIAN);
    eom = kd_system_eom(s);
    assert_string_equal(kd_eom_name(eom, KD_NAME_P, 0, name, sizeof name), "body.ab.com.x");
    assert_string_equal(kd_eom_name(eom, KD_NAME_P, 3, name, sizeof name), "body.ab.e0");
    assert_has(kd_eom_name(eom, KD_NAME_Q, 0, name, sizeof name), "body.ab");
    assert_string_equal(kd_eom_name(eom, KD_NAME_P, 21, name, sizeof name), "joint.a.q"); // counted, for the sensor
    kd_system_destroy(s);
    kd_model_destroy(m);
}

// A plane four-bar linkage has three redundant rows; the description says so, and counts what it did not write.
static void test_description(void **state)
{
    kd_joint_def j[4];
    char         text[2000], little[20];
    (void)state;
    four_bar_joints(j);
    kd_model *m = four_bar(j);
    CHECK(kd_model_finish(m));
    for (int k = 0; k < 2; k++) {
        kd_system     *s = system_of(m, (kd_coordinates)k);
        kd_system_info info = kd_system_info_of(s);
        assert_int_equal(info.nbodies, 3);
        assert_int_equal(info.njoints, 4);
        assert_int_equal(info.nloops, 1);
        assert_int_equal(info.dof, 1);
        assert_int_equal(info.nredundant, 3);
        assert_int_equal(info.nconstraints, k == 0 ? 2 : 17);
        size_t size = kd_system_describe(s, text, sizeof text);
        assert_int_equal(size, strlen(text));
        assert_has(text, "1 degree of freedom");
        assert_has(text, "3 constraints are redundant");
        assert_int_equal(kd_system_describe(s, little, sizeof little), size);
        assert_int_equal(strlen(little), sizeof little - 1);
        assert_int_equal(kd_system_describe(s, NULL, 0), size);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// What cannot be is refused with a reason.
static void test_refused(void **state)
{
    kd_joint_def j[4];
    kd_system   *s = NULL;
    char         message[300];
    (void)state;
    kd_model *m = arm_model();
    assert_int_equal(kd_system_create(m, NULL, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_has(message, "not finished");
    assert_int_equal(kd_system_create(NULL, NULL, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_system_create(m, NULL, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    kd_model_destroy(m);
    kd_system_destroy(NULL);
    four_bar_joints(j);
    for (int i = 0; i < 4; i++) j[i].cut = KD_CUT_NO;
    m = four_bar(j);
    CHECK(kd_model_finish(m));
    assert_int_equal(kd_system_create(m, NULL, &s, message, sizeof message), KD_ERR_MODEL);
    assert_has(message, "must not be cut");
    assert_null(s);
    kd_model_destroy(m);
}

#if defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 7 }; // of the allocations that are tried: slow there
#else
enum { STRIDE = 1 };
#endif

// ---- memory ---------------------------------------------------------------------------------------------------------
static bool same_info(kd_system_info a, kd_system_info b)
{
    return a.dof == b.dof && a.nconstraints == b.nconstraints && a.nredundant == b.nredundant &&
           a.nsingular == b.nsingular && a.assembled == b.assembled;
}

// Create, start, release with one allocation that fails; its number was reached? Where creation has another way without
// that memory, the result is the same.
static bool try_with(const kd_model *model, kd_coordinates coordinates, long fail_at, kd_system_info *info)
{
    kd_system_options opt = kd_system_options_default();
    failing_allocator f = {.fail_at = fail_at};
    kd_system        *s = NULL;
    kd_state         *x = NULL;
    opt.coordinates = coordinates;
    failing_allocator_use(&f);
    kd_status created = kd_system_create(model, &opt, &s, NULL, 0), status = created;
    long      calls = f.calls, left = s ? 0 : f.live;

    kd_system_info found = s ? kd_system_info_of(s) : *info;
    if (status >= 0) status = kd_state_create(kd_system_eom(s), &x);
    if (status >= 0) status = kd_system_start(s, x, NULL, 0);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_set_allocator(NULL);
    if (created < 0 ? created != KD_ERR_MEMORY : info->nbodies > 0 && !same_info(found, *info))
        fail_msg("allocation %ld of %ld failed, creation answered %d", fail_at, calls, (int)created);
    *info = found;
    if (status < 0 && status != KD_ERR_MEMORY) fail_msg("allocation %ld: the start answered %d", fail_at, (int)status);
    if (left + f.live != 0) fail_msg("allocation %ld failed, %ld blocks stay behind", fail_at, left + f.live);
    return f.calls >= fail_at;
}

static void try_all(const kd_model *model)
{
    for (int k = 0; k < 2; k++) {
        long           n = 1;
        kd_system_info info = {0};
        (void)try_with(model, (kd_coordinates)k, 0, &info);
        while (try_with(model, (kd_coordinates)k, n, &info)) n += STRIDE;
        assert_true(n > 60);
    }
}

// Whichever allocation fails: creation answers KD_ERR_MEMORY, and nothing stays behind.
static void test_memory(void **state)
{
    static mechanism        m;
    const mechanism_options opt = {
        .bodies = 3, .loops = 1, .constraints = 2, .forces = 6, .states = true, .driven = true};
    kd_joint_def j[4];
    kd_model    *model;
    (void)state;
    for (uint64_t seed = 21; seed < 23; seed++) {
        mechanism_make(&m, seed, &opt);
        model = mechanism_build(&m, &(mechanism_variant){.sensors = seed == 21 ? 2 : 1});
        assert_non_null(model);
        try_all(model);
        kd_model_destroy(model);
    }
    four_bar_joints(j); // with redundant rows
    model = four_bar(j);
    CHECK(kd_model_finish(model));
    try_all(model);
    kd_model_destroy(model);
}

// ---- energies -------------------------------------------------------------------------------------------------------

// The point at x with these accelerations; energies there, behind the residual if residual is not NULL
static kd_energies energies_at(kd_eom_data *data, const kd_system *s, const kd_state *x, const double *a,
                               double *residual)
{
    kd_energies e = {0};
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(s), x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    kd_eom_at_acceleration(data, a, x->w, x->lambda, x->mu);
    if (residual) assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, residual), KD_EVAL_OK);
    assert_int_equal(kd_eom_energies(data, &e), KD_EVAL_OK);
    return e;
}

// Powers of drives take forces that the residual has left there: the same bits as without it, behind impulses, which
// leave others, and at other accelerations. *most: how much those change them
static void compare_energies(const kd_system *s, const kd_state *x, double *most)
{
    kd_eom_data *data = NULL, *fresh = NULL;
    double       residual[80], a[80], dv[80] = {0}, dx[30] = {0}, lambda[80] = {0}, free[80], driven[30];
    CHECK(kd_eom_data_create(kd_system_eom(s), &data));
    CHECK(kd_eom_data_create(kd_system_eom(s), &fresh));
    const kd_dims n = kd_eom_dims(kd_system_eom(s));
    const bool    drives = kd_eom_definition(kd_system_eom(s))->ndrives > 0; // prescribed coordinates; others are rows
    assert_true(n.nv <= 80 && n.nlambda + n.nmu <= 80);
    for (int i = 0; i < n.nv; i++) a[i] = x->a[i] + 1 + i;
    for (int i = 0; i < 30; i++) dx[i] = 1;
    const kd_energies plain[2] = {energies_at(fresh, s, x, x->a, NULL), energies_at(fresh, s, x, a, NULL)};
    for (int k = 0; k < 4; k++) {
        const kd_energies e = energies_at(data, s, x, k % 2 ? a : x->a, residual);
        assert_memory_equal(&e, &plain[k % 2], sizeof e);
        // other accelerations at the same velocity, then impulses, at the same point
        kd_energies other = {0}, again = {0};
        kd_eom_at_acceleration(data, k % 2 ? x->a : a, x->w, x->lambda, x->mu);
        assert_int_equal(kd_eom_energies(data, &other), KD_EVAL_OK);
        assert_memory_equal(&other, &plain[1 - k % 2], sizeof e);
        assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, residual), KD_EVAL_OK);
        if (drives) assert_int_equal(kd_eom_impulses(data, dv, dx, lambda, lambda, free, driven), KD_EVAL_OK);
        assert_int_equal(kd_eom_energies(data, &again), KD_EVAL_OK);
        assert_memory_equal(&again, &other, sizeof e);
        if (drives) *most = fmax(*most, fabs(other.supplied - e.supplied));
    }
    kd_eom_data_destroy(data);
    kd_eom_data_destroy(fresh);
}

static void test_energies_of_drives(void **state)
{
    static mechanism        m;
    const mechanism_options opt = {
        .bodies = 4, .loops = 1, .constraints = 1, .forces = 8, .states = true, .driven = true};
    double most = 0;
    (void)state;
    for (uint64_t seed = 5; seed < 25; seed++) {
        mechanism_make(&m, seed, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 2});
        assert_non_null(model);
        for (int k = 0; k < 2; k++) {
            kd_system *s = system_of(model, (kd_coordinates)k);
            kd_state  *x = NULL;
            CHECK(kd_state_create(kd_system_eom(s), &x));
            assert_true(kd_system_start(s, x, NULL, 0) >= 0);
            compare_energies(s, x, &most);
            kd_state_destroy(x);
            kd_system_destroy(s);
        }
        kd_model_destroy(model);
    }
    assert_true(most > 1e-3);
}

// ---- threads --------------------------------------------------------------------------------------------------------
typedef struct worker {
    const kd_system *system;
    const kd_state  *x;
    double           residual[80], y[400];
    double           t;
    int              wrong;
} worker;

static void evaluate(worker *w, kd_eom_data *data, double *residual, double *y)
{
    kd_dims n = kd_eom_dims(kd_system_eom(w->system));
    double  u[30];
    (void)kd_system_inputs(w->system)->eval(w->t, kd_system_inputs(w->system)->context, u, u + n.nu, u + 2 * n.nu);
    kd_eom_at_time(data, w->t, u, u + n.nu, u + 2 * n.nu, NULL);
    kd_eom_at_position(data, w->x->p, NULL);
    kd_eom_at_velocity(data, w->x->v, w->x->r);
    kd_eom_at_acceleration(data, w->x->a, NULL, w->x->lambda, w->x->mu);
    w->wrong += kd_eom_eval(data, KD_RESIDUAL, residual) != KD_EVAL_OK;
    w->wrong += kd_eom_eval(data, KD_Y, y) != KD_EVAL_OK;
}

static void *work_hard(void *context)
{
    worker      *w = context;
    kd_dims      n = kd_eom_dims(kd_system_eom(w->system));
    kd_eom_data *data = NULL;
    double       residual[80], y[400];
    if (kd_eom_data_create(kd_system_eom(w->system), &data) != KD_OK) return NULL;
    evaluate(w, data, w->residual, w->y);
    for (int i = 0; i < 200; i++) {
        evaluate(w, data, residual, y);
        w->wrong += memcmp(residual, w->residual, (size_t)n.nv * sizeof *y) != 0;
        w->wrong += memcmp(y, w->y, (size_t)n.ny * sizeof *y) != 0;
    }
    kd_eom_data_destroy(data);
    return NULL;
}

// Two threads that work with one system at different times do not disturb each other.
static void test_threads(void **state)
{
    static mechanism        m;
    static worker           w[2], alone[2];
    const mechanism_options opt = {
        .bodies = 4, .loops = 1, .constraints = 1, .forces = 8, .states = true, .driven = true};
    (void)state;
    mechanism_make(&m, 5, &opt);
    kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 2});
    assert_non_null(model);
    for (int k = 0; k < 2; k++) {
        kd_system *s = system_of(model, (kd_coordinates)k);
        kd_state  *x = NULL;
        pthread_t  thread[2];
        CHECK(kd_state_create(kd_system_eom(s), &x));
        assert_true(kd_system_start(s, x, NULL, 0) >= 0);
        kd_dims n = kd_eom_dims(kd_system_eom(s));
        assert_true(n.nv <= 80 && n.ny <= 400);
        for (int i = 0; i < 2; i++) w[i] = alone[i] = (worker){.system = s, .x = x, .t = 0.4 * i};
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, work_hard, &w[i]), 0);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < 2; i++) {
            (void)work_hard(&alone[i]);
            assert_int_equal(w[i].wrong, 0);
            assert_memory_equal(w[i].y, alone[i].y, (size_t)n.ny * sizeof(double));
        }
        assert_memory_not_equal(w[0].y, w[1].y, (size_t)n.ny * sizeof(double));
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(model);
}

// Springs without free length and dampers of Maxwell elements start without force where assembly puts the bodies, not
// where they were drawn.
static void test_relaxed_after_assembly(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\n"
        "bodies:\n"
        "  a: {position: [0, 0, 0.5], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "  b: {position: [0.5, 0, 1], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "  c: {position: [1.1, 0, 0.5], mass: 1, inertia: [0.1, 0.1, 0.1]}\n" // 0.1 too far out
        "joints:\n"
        "  j1: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]}\n"
        "  j2: {type: revolute, bodies: [a, b], point: [0, 0, 1], axis: [0, 1, 0]}\n"
        "  j3: {type: revolute, from: {body: b, point: [0.5, 0, 0], axis: [0, 1, 0]},\n"
        "       to: {body: c, point: [0, 0, 0.5], axis: [0, 1, 0]}}\n"
        "  j4: {type: revolute, from: {body: ground, point: [1.1, 0, 0], axis: [0, 1, 0]},\n"
        "       to: {body: c, point: [0, 0, -0.5], axis: [0, 1, 0]}}\n"
        "forces:\n"
        "  spring: {type: tsda, from: a, to: c, stiffness: 1000}\n"
        "  damper: {type: maxwell, from: b, to: ground, series: 1000, damping: 10, length: 0.9}\n"
        "sensors: {spring: force.spring.force, damper: force.damper.force, length: force.spring.length}\n";
    kd_model *m = NULL;
    char      message[400] = "";
    if (kd_model_read_text("bars", text, strlen(text), NULL, 0, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    for (int c = 0; c < 2; c++) {
        kd_system *s = system_of(m, (kd_coordinates)c);
        kd_state  *x = start_of(s, KD_CORRECTED, message, sizeof message);
        assert_close(sensor_at(s, x, 0), 0.0, 1e-10);
        assert_close(sensor_at(s, x, 1), 0.0, 1e-10);
        assert_true(fabs(sensor_at(s, x, 2) - 1.1) > 1e-3); // it was moved
        kd_state_destroy(x);
        kd_system_destroy(s);
    }
    kd_model_destroy(m);
}

// The start of a mechanism with a loop and redundant rows is found once, while the system is made: who asks for it gets
// a copy, for which nothing is computed or allocated. It is that of the equations without the redundant rows.
static void starts_are_found_once(void **state)
{
    (void)state;
    static const char *const names[] = {"slider-crank", "stewart", "spatial-slider-crank"};
    for (int k = 0; k < 3; k++) {
        kd_model         *model = NULL;
        failing_allocator counter = {0};
        char              path[300], message[600] = "";
        kd_consistency    found;
        snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, names[k]);
        if (kd_model_read(path, NULL, 0, &model, message, sizeof message) < 0) fail_msg("%s", message);
        kd_system *s = system_of(model, KD_JOINT);
        kd_state  *x = NULL;
        CHECK(kd_state_create(kd_system_eom(s), &x));
        failing_allocator_use(&counter);
        const kd_status status = kd_system_start(s, x, message, sizeof message);
        kd_set_allocator(NULL);
        assert_true(status >= 0);
        assert_int_equal(counter.calls, 0);
        assert_true(kd_initial_residuals(kd_system_eom(s), kd_system_inputs(s), x, &found) >= 0);
        assert_true(found.position < 1e-9 && found.velocity < 1e-8 && found.acceleration < 1e-6);
        assert_true(found.dynamics < 1e-8);
        kd_state_destroy(x);
        kd_system_destroy(s);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_is_kept),
        cmocka_unit_test(test_start_that_contradicts),
        cmocka_unit_test(test_start_of_all_kinds),
        cmocka_unit_test(test_velocities_of_bodies),
        cmocka_unit_test(test_many_turns),
        cmocka_unit_test(test_relaxed_after_assembly),
        cmocka_unit_test(test_sensors_of_sensors),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_energies_of_drives),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(starts_are_found_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
