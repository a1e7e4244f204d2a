// Vehicles of the gallery: passenger car and rear axle on a test rig. Sizes, masses, loads, kinematics of the
// suspensions against an independent solution of their loops, equal motion in both coordinate sets.
#include "gallery_run.h"

#include "model/model.h"

enum { MAX_FILE = 1 << 16 };

static table result[2];

// ---- passenger car: statics -----------------------------------------------------------------------------------------

// Mass of the car: all bodies of the data, tie rods and halves of the anti-roll bars among them.
static void car_has_its_mass(void **state)
{
    kd_model *m = read_gallery("passenger-car", NULL);
    double    mass = 0, moment = 0;
    (void)state;
    for (int i = 0; i < m->nbodies; i++) {
        mass += m->body[i].def.mass;
        moment += m->body[i].def.mass * m->body[i].def.position[0];
    }
    assert_close(mass, 1804.283, 1e-3);
    assert_close(moment / mass, -1.40802, 1e-5);
    kd_model_destroy(m);
}

// 14 degrees of freedom; straight on nothing moves but the car as a whole. Loads: the weight, by the centre of mass,
// less what the moments of rolling resistance shift from front to rear.
static void car_drives_straight_on(void **state)
{
    const double weight = 1804.283 * GRAVITY, base = 2.75717, rear = weight * 1.40802 / base / 2;
    (void)state;
    run_model("passenger-car", NULL, KD_JOINT, 0.9, 3, &result[0]);
    assert_int_equal(result[0].info.dof, 14);
    double shift = 0.010 * weight * 0.305 / base / 2;
    for (int k = 0; k <= 3; k++)
        for (int i = 0; i < 2; i++) {
            const char *front = i == 0 ? "front-load(1)" : "front-load(2)";
            assert_close(at(&result[0], k, front), weight / 2 - rear - shift, 0.5);
            assert_close(at(&result[0], k, i == 0 ? "rear-load(1)" : "rear-load(2)"), rear + shift, 0.5);
            assert_close(at(&result[0], k, front), at(&result[0], 0, front), 1e-4);
            assert_close(at(&result[0], k, "y"), 0, 1e-9);
            assert_close(at(&result[0], k, "speed"), 80 / 3.6, 1e-5);
        }
    assert_close(at(&result[0], 3, "x") - at(&result[0], 0, "x"), 20, 1e-5);
}

// ---- passenger car: kinematics of the suspensions -------------------------------------------------------------------

static void replace(char *text, const char *from, const char *to, const char *with)
{
    char *start = strstr(text, from), *end = start ? strstr(start, to) : NULL;
    if (!end) print_error("'%s' .. '%s' is not in the file\n", from, to);
    assert_non_null(end);
    end += strlen(to);
    assert_true(strlen(text) + strlen(with) < MAX_FILE);
    size_t n = strlen(with);
    memmove(start + n, end, strlen(end) + 1);
    memcpy(start, with, n);
}

// The car in a vice, as it was written by hand (the one of the gallery is the same: test_subsystems.c, test_library.c):
// body clamped, one wheel lifted by a given travel, rack where it is wanted.
static char *clamped_car(const char *wheel, char *text)
{
    char  sensors[1000], constraint[200];
    FILE *file = fopen(KD_SOURCE_DIR "/tests/models/by-hand/passenger-car.yaml", "r");
    assert_non_null(file);
    text[fread(text, 1, MAX_FILE / 2, file)] = '\0';
    fclose(file);
    snprintf(constraint, sizeof constraint,
             "\nconstraints:\n  travel: {type: expression, value: body.%s(1).pos.z - travel}\n", wheel);
    snprintf(sensors, sizeof sensors,
             "\nsensors:\n  steer: \"atan2(-body.%s(1).R.xy, body.%s(1).R.yy)*180/pi\"\n  elevation: "
             "asin(body.%s(1).R.zy)*180/pi\n  dx: body.%s(1).pos.x\n  dy: body.%s(1).pos.y\n  strut: "
             "force.front-spring(1).length\n  spring: force.rear-spring(1).length\n  damper: "
             "force.rear-damper(1).length\n",
             wheel, wheel, wheel, wheel, wheel);
    replace(text, "\nparameters:", ":\n", "\nparameters:\n  travel: 0\n  rack_at: 0\n");
    replace(text, "  steer: \"", "))\"", "  steer: rack_at");
    replace(text, "velocity: [speed, 0,", " 0],", "");
    replace(text, "  body: {type: free", "sin(nose/2), 0]}", "  body: {type: fixed, bodies: [ground, chassis]}");
    replace(text, "\nconstraints:", ":\n", constraint);
    replace(text, "\nsensors:", ":\n", sensors);
    return text;
}

// Sensors of the assembled mechanism: steer, elevation, dx, dy, lengths of strut, spring and damper.
static void assembled(const char *text, double travel, double rack, double out[7])
{
    char       message[MAX_MODEL_TEXT] = "", value[2][40];
    kd_setting settings[2] = {{"travel", value[0]}, {"rack_at", value[1]}};
    snprintf(value[0], sizeof value[0], "%.17g", travel);
    snprintf(value[1], sizeof value[1], "%.17g", rack);
    kd_model    *model = NULL;
    kd_system   *system = NULL;
    kd_state    *x = NULL;
    kd_eom_data *d = NULL;
    must(kd_model_read_text("clamped", text, strlen(text), settings, 2, &model, message, sizeof message), "clamped",
         KD_JOINT, message);
    must(kd_system_create(model, NULL, &system, message, sizeof message), "clamped", KD_JOINT, message);
    const kd_eom *eom = kd_system_eom(system);
    must(kd_state_create(eom, &x), "clamped", KD_JOINT, "");
    must(kd_system_start(system, x, message, sizeof message), "clamped", KD_JOINT, message);
    must(kd_eom_data_create(eom, &d), "clamped", KD_JOINT, "");
    double y[40], u[3] = {rack, 0, 0};
    assert_true(kd_eom_dims(eom).ny <= 40);
    kd_eom_at_time(d, 0, u, u + 1, u + 2, NULL);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    memcpy(out, y, 7 * sizeof *out);
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// Steer, camber and shift of a front wheel over its travel; length of the strut.
static void front_axle_moves_as_computed(void **state)
{
    static const double rows[][6] = {
        {-0.06, -1.46980557, -1.00273506, -2.254336, 14.274127, 0.540643007},
        {-0.04, -0.93226933, -0.58364555, -0.327962, 9.550405, 0.521759205},
        {-0.02, -0.44809595, -0.24547405, 0.420459, 4.804007, 0.502531564},
        {0.02, 0.43056088, 0.13700654, -1.598658, -4.901839, 0.462853451},
        {0.04, 0.86495614, 0.14429455, -4.405899, -9.950684, 0.442286210},
        {0.06, 1.32974603, -0.00725770, -8.478950, -15.210361, 0.421133792},
    };
    static char text[MAX_FILE];
    (void)state;
    clamped_car("front-wheel", text);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double out[7];
        assembled(text, rows[k][0], 0, out);
        assert_close(out[0], rows[k][1], 2e-8);
        assert_close(out[1], rows[k][2], 2e-8);
        assert_close(1e3 * (out[3] - 0.750062), rows[k][3], 2e-6);
        assert_close(1e3 * out[2], rows[k][4], 2e-6);
        assert_close(out[4], rows[k][5], 2e-9);
    }
}

// The same of a rear wheel; lengths of spring and damper.
static void rear_axle_moves_as_computed(void **state)
{
    static const double rows[][7] = {
        {-0.06, -0.65417178, 0.38834208, -11.145221, -1.894983, 0.309154419, 0.546904581},
        {-0.02, -0.31376671, -0.03128389, -1.987691, -0.946034, 0.286687441, 0.513006054},
        {0.02, 0.39782674, 0.18261129, 0.403988, 1.239362, 0.263944030, 0.479326941},
        {0.06, 1.40474732, 1.01188875, -3.347491, 4.605224, 0.240733643, 0.445736943},
    };
    static char text[MAX_FILE];
    (void)state;
    clamped_car("rear-wheel", text);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double out[7];
        assembled(text, rows[k][0], 0, out);
        assert_close(out[0], rows[k][1], 2e-8);
        assert_close(out[1], rows[k][2], 2e-8);
        assert_close(1e3 * (out[3] - 0.7493), rows[k][3], 2e-6);
        assert_close(1e3 * (out[2] + 2.75717), rows[k][4], 2e-6);
        assert_close(out[5], rows[k][5], 2e-9);
        assert_close(out[6], rows[k][6], 2e-9);
    }
}

// Steer and camber of the left front wheel over the travel of the rack, which an input drives.
static void rack_steers_as_computed(void **state)
{
    static const double rows[][3] = {
        {-0.08, 25.01846441, -5.78015615}, {-0.04, 11.41016076, -2.39636257}, {-0.02, 5.55735131, -1.11044099},
        {0.02, -5.38263233, 0.96461929},   {0.04, -10.67170175, 1.79969228},  {0.08, -21.19446800, 3.10849363},
    };
    static char text[MAX_FILE];
    (void)state;
    clamped_car("front-wheel", text);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double out[7];
        assembled(text, 0, rows[k][0], out);
        assert_close(out[0], rows[k][1], 2e-8);
        assert_close(out[1], rows[k][2], 2e-8);
    }
}

// ---- motion ---------------------------------------------------------------------------------------------------------

static void assert_same_motion(const table *a, const table *b, double tolerance)
{
    assert_int_equal(a->rows, b->rows);
    for (int k = 0; k < a->rows; k++)
        for (int i = 0; i < a->columns; i++) {
            double size = 0;
            for (int row = 0; row < a->rows; row++) size = fmax(size, fabs(a->value[row][i]));
            if (!(fabs(a->value[k][i] - b->value[k][i]) <= tolerance * (1e-3 + size)))
                fail_msg("%s at t = %g: %.12g and %.12g", a->name[i], a->t[k], a->value[k][i], b->value[k][i]);
        }
}

// A pulse of the rack shifts the car by 3.5 m (linear single-track model), and leaves it straight.
static void car_changes_lane(void **state)
{
    (void)state;
    run_model("passenger-car", NULL, KD_JOINT, 10, 100, &result[0]);
    double top = 0;
    for (int k = 0; k <= 100; k++) top = fmax(top, fabs(at(&result[0], k, "lateral")));
    assert_close(at(&result[0], 50, "y"), 3.5, 0.15);
    assert_close(at(&result[0], 50, "yaw"), 0, 1e-3);
    assert_close(top, 3.83, 0.4); // peak of the lateral acceleration
    assert_close(at(&result[0], 100, "y"), 0, 0.05);
    assert_close(at(&result[0], 100, "speed"), 80 / 3.6, 1e-3);
    for (int k = 0; k <= 100; k++) // inputs drive the rack
        assert_close(at(&result[0], k, "rack"),
                     k <= 10 || (k >= 40 && k <= 60) || k >= 90 ? 0 : at(&result[0], k, "rack"), 1e-15);
}

// The car is the same in joint and in Cartesian coordinates, with and without relaxation of the tyres.
static void car_is_the_same_in_both(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2; variant++) {
        for (int c = 0; c < 2; c++)
            run_with("passenger-car", variant == 0 ? NULL : "relaxation=0.3 camber=0.1", BOTH[c], 1.5, 3, 0.1,
                     &result[c]);
        assert_true(at(&result[0], 3, "lateral") > 0.3);
        assert_same_motion(&result[0], &result[1], 1e-4);
    }
}

// 7 degrees of freedom; the stamp carries what the wheel weighs in the car and its own piston; equal motion in joint
// and in Cartesian coordinates.
static void axle_on_test_rig(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_model("axle-test-rig", "f0=2", BOTH[c], 0.5, 10, &result[c]);
    assert_int_equal(result[0].info.dof, 7);
    assert_same_motion(&result[0], &result[1], 3e-5);
    for (int k = 0; k <= 10; k++) assert_close(at(&result[0], k, "stamp"), 0.02 * sin(4 * PI * 0.05 * k), 1e-12);
    run_model("axle-test-rig", "stroke=0", KD_JOINT, 3, 1, &result[0]);
    assert_close(at(&result[0], 1, "force"), 4519.5 + 6 * GRAVITY, 60);
    assert_close(at(&result[0], 1, "plate"), 4519.5, 60);
}

// Full evaluations of the Jacobian, bdf on the equations of Gear, Gupta and Leimkuhler or radau; positions after 5 s.
static long run_with_update(const char *name, kd_update update, kd_integrator_kind integrator, double p[40])
{
    char       message[MAX_MODEL_TEXT] = "";
    kd_model  *model = read_gallery(name, NULL);
    kd_system *system = NULL;
    kd_state  *x = NULL;
    kd_stats   stats;
    must(kd_system_create(model, NULL, &system, message, sizeof message), name, KD_JOINT, message);
    const kd_eom *eom = kd_system_eom(system);
    must(kd_state_create(eom, &x), name, KD_JOINT, "");
    must(kd_system_start(system, x, message, sizeof message), name, KD_JOINT, message);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.integrator = integrator;
    if (integrator == KD_BDF) opt.formulation = KD_GGL;
    opt.formulation_options.update = update;
    opt.rtol = 1e-4, opt.atol = 1e-5;
    must(kd_simulate(eom, kd_system_inputs(system), &opt, x, 5, &stats, message, sizeof message), name, KD_JOINT,
         message);
    assert_true(kd_eom_dims(eom).np <= 40);
    memcpy(p, x->p, (size_t)kd_eom_dims(eom).np * sizeof *p);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return stats.jacobians;
}

// On the rig the Jacobian follows the stamp: a new mass matrix alone saves hardly an evaluation, derivatives that are
// moved with the input save most of them.
static void stamp_asks_for_extended_update(void **state)
{
    double p[40];
    (void)state;
    long full = run_with_update("axle-test-rig", KD_UPDATE_FULL, KD_BDF, p);
    long partitioned = run_with_update("axle-test-rig", KD_UPDATE_PARTITIONED, KD_BDF, p);
    long extended = run_with_update("axle-test-rig", KD_UPDATE_EXTENDED, KD_BDF, p);
    if (!(2 * extended <= full && 2 * extended <= partitioned))
        fail_msg("evaluations: full %ld, partitioned %ld, extended %ld", full, partitioned, extended);
}

// The car rests in its motion until the first pulse: no integrator jumps over that.
static void pulse_is_not_missed(void **state)
{
    double radau[40], bdf[40];
    (void)state;
    (void)run_with_update("passenger-car", KD_UPDATE_FULL, KD_RADAU, radau);
    for (int update = 0; update < 3; update++) {
        (void)run_with_update("passenger-car", (kd_update)update, KD_BDF, bdf);
        assert_close(bdf[0], radau[0], 0.02);
        assert_close(bdf[1], radau[1], 0.02);
        assert_true(bdf[1] > 3);
    }
}

// Derivatives and constraint levels of both models agree with differences, in both coordinate sets. Dampers without the
// kink in their slope, which differences would see.
static void checker_accepts_vehicles(void **state)
{
    static const char *const name[] = {"passenger-car", "passenger-car", "axle-test-rig"};
    static const char *const settings[] = {"degressive=0", "degressive=0 relaxation=0.3 camber=0.1", NULL};
    (void)state;
    for (int k = 0; k < 6; k++) {
        char              message[MAX_MODEL_TEXT] = "", report[4000] = "";
        kd_model         *model = read_gallery(name[k / 2], settings[k / 2]);
        kd_system        *system = NULL;
        kd_state         *x = NULL;
        kd_system_options options = kd_system_options_default();
        options.coordinates = BOTH[k % 2];
        must(kd_system_create(model, &options, &system, message, sizeof message), name[k / 2], BOTH[k % 2], message);
        must(kd_state_create(kd_system_eom(system), &x), name[k / 2], BOTH[k % 2], "");
        must(kd_system_start(system, x, message, sizeof message), name[k / 2], BOTH[k % 2], message);
        kd_check_options opt = kd_check_options_default();
        opt.spread = 0.01; // wheels stay on the road
        kd_status status =
            kd_eom_check(kd_system_eom(system), kd_system_inputs(system), x, &opt, report, sizeof report);
        if (status != KD_OK) fail_msg("%s: %s", name[k / 2], report);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(car_has_its_mass),
        cmocka_unit_test(car_drives_straight_on),
        cmocka_unit_test(front_axle_moves_as_computed),
        cmocka_unit_test(rear_axle_moves_as_computed),
        cmocka_unit_test(rack_steers_as_computed),
        cmocka_unit_test(car_changes_lane),
        cmocka_unit_test(car_is_the_same_in_both),
        cmocka_unit_test(axle_on_test_rig),
        cmocka_unit_test(stamp_asks_for_extended_update),
        cmocka_unit_test(pulse_is_not_missed),
        cmocka_unit_test(checker_accepts_vehicles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
