// Poses of bodies: what sensors read, in both coordinate sets, along a motion with a prescribed joint and a closed
// loop.
#include <math.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "modelfile/files.h"
#include "results/recording.h"
#include <kardan/simulation.h>
#include <kardan/system.h>

// Spatial slider-crank with a driven crank, its body frames away from joints and centres, and a ball joint beside it.
static const char MODEL[] =
    "kardan: 1\n"
    "inputs: {wind: {value: sin(t)}}\n"
    "bodies:\n"
    "  crank: {position: [0.1, 0.02, -0.03], orientation: {axis: [1, 2, 3], angle: 0.7}, centre: [0.01, 0.02, 0.03], "
    "mass: 1, "
    "inertia: [0.01, 0.02, 0.03]}\n"
    "  rod: {position: [0.3, 0, 0.05], orientation: {axis: [0, 1, 1], angle: 2.1}, mass: 0.5, inertia: [0.01, 0.02, "
    "0.02]}\n"
    "  slider: {position: [0.5, 0.1, 0.2], mass: 2, inertia: [0.1, 0.1, 0.1]}\n"
    "  top: {position: [0, 1, 0.3], centre: [0, 0, 0.1], mass: 1, inertia: [0.1, 0.1, 0.05], angular_velocity: [1, 2, "
    "9]}\n"
    "joints:\n"
    "  motor: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], motion: 2*t + "
    "0.3*sin(5*t)}\n"
    "  a: {type: spherical, bodies: [crank, rod], point: [0.1, 0, 0]}\n"
    "  b: {type: universal, bodies: [rod, slider], point: [0.5, 0, 0], axis: [0, 1, 0], reference: [0, 0, 1]}\n"
    "  guide: {type: prismatic, bodies: [ground, slider], point: [0.5, 0, 0], axis: [1, 0, 0]}\n"
    "  ball: {type: spherical, bodies: [top, ground], point: [0, 1, 0]}\n"
    "sensors:\n"
    "  crank.x: {value: body.crank.pos.x}\n";

enum { BODIES = 4, EACH = 18, MOST_SENSORS = BODIES * EACH };
static const char *const BODY[BODIES] = {"crank", "rod", "slider", "top"};

// The model with one sensor for each component of position, axes, velocity and angular velocity of each body.
static kd_model *read_model(void)
{
    static char text[8000];
    char       *end = text + sizeof text, *c = strstr(strcpy(text, MODEL), "  crank.x:");
    for (int b = 0; b < BODIES; b++)
        for (int i = 0; i < EACH; i++) {
            char axes[] = "xyz", path[40];
            if (i < 3)
                snprintf(path, sizeof path, "pos.%c", axes[i]);
            else if (i >= 12)
                snprintf(path, sizeof path, "%s.%c", i < 15 ? "vel" : "omega", axes[i % 3]);
            else
                snprintf(path, sizeof path, "R.%c%c", axes[(i - 3) % 3], axes[i / 3 - 1]);
            c += snprintf(c, (size_t)(end - c), "  s%d-%d: {value: body.%s.%s}\n", b, i, BODY[b], path);
        }
    return model_of(text);
}

// Position, axes and velocities as the sensors say, 18 numbers per body.
static void read_sensors(kd_recording *rec, kd_certifier *certifier, const kd_state *x, double *out)
{
    assert_true(kd_certifier_see(certifier, NULL, x) >= 0);
    kd_findings findings = kd_certifier_findings(certifier);
    assert_int_equal(kd_recording_add(rec, x, &findings), KD_OK);
    int           row = kd_recording_length(rec) - 1, columns = kd_recording_columns(rec);
    const double *values = kd_recording_values(rec) + row * columns;
    for (int i = 0; i < MOST_SENSORS; i++) {
        char name[20];
        snprintf(name, sizeof name, "s%d-%d", i / EACH, i % EACH);
        assert_true(kd_recording_find(rec, name) >= 0);
        out[i] = values[kd_recording_find(rec, name)];
    }
}

typedef struct watch {
    kd_poses     *poses;
    kd_probe     *probe;
    kd_recording *rec;
    kd_certifier *certifier;
    double        last[7 * BODIES];
    int           seen;
} watch;

// The poses of a state and their rates are those that the sensors tell.
static kd_eval compare(const kd_state *x, bool at_time, void *context)
{
    (void)at_time;
    watch *w = context;
    double sensors[MOST_SENSORS], rate[6 * BODIES];
    assert_int_equal(kd_poses_at(w->poses, x, w->last), KD_EVAL_OK);
    assert_int_equal(kd_poses_rates(w->poses, x, rate), KD_EVAL_OK);
    read_sensors(w->rec, w->certifier, x, sensors);
    for (int b = 0; b < BODIES; b++) {
        const double *pose = w->last + 7 * b, *s = sensors + EACH * b;
        kd_mat3       R = kd_quat_matrix(kd_quat_of(pose + 3));
        double        axes[9];
        kd_vec_to(R.x, axes), kd_vec_to(R.y, axes + 3), kd_vec_to(R.z, axes + 6);
        assert_true(fabs(kd_quat_norm2(kd_quat_of(pose + 3)) - 1) < 1e-14 && pose[3] >= 0);
        for (int i = 0; i < 3; i++) assert_true(fabs(pose[i] - s[i]) < 1e-14);
        for (int i = 0; i < 9; i++) assert_true(fabs(axes[i] - s[3 + i]) < 1e-13);
        for (int i = 0; i < 6; i++) assert_true(fabs(rate[6 * b + i] - s[12 + i]) < 1e-12);
    }
    w->seen++;
    return KD_EVAL_OK;
}

static void simulate(const kd_model *m, kd_coordinates coordinates, double *last)
{
    kd_system_options     opt = kd_system_options_default();
    kd_system            *system;
    kd_state             *x;
    kd_simulation        *simulation;
    watch                 w = {0};
    kd_simulation_options run = kd_simulation_options_default();
    run.formulation = KD_PSF;
    run.integrator = KD_RADAU;
    char message[500] = "";
    opt.coordinates = coordinates;
    assert_int_equal(kd_system_create(m, &opt, &system, message, sizeof message), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_int_equal(kd_poses_create(system, &w.poses), KD_OK);
    assert_int_equal(kd_probe_of_system(system, NULL, &w.probe), KD_OK);
    assert_int_equal(kd_recording_create(w.probe, 4000, &w.rec), KD_OK);
    assert_int_equal(kd_certifier_create_by(w.probe, &w.certifier), KD_OK);
    run.output = compare;
    run.context = &w;
    run.integrator_options.rtol = run.integrator_options.atol = 1e-10;
    assert_true(kd_simulation_create(kd_system_eom(system), kd_system_inputs(system), &run, x, &simulation, message,
                                     sizeof message) >= 0);
    assert_int_equal(kd_simulation_run(simulation, 0.5), KD_OK);
    (void)compare(x, true, &w);
    assert_true(w.seen > 5);
    memcpy(last, w.last, sizeof w.last);
    kd_simulation_destroy(simulation);
    kd_recording_destroy(w.rec);
    kd_certifier_destroy(w.certifier);
    kd_probe_destroy(w.probe);
    kd_poses_destroy(w.poses);
    kd_state_destroy(x);
    kd_system_destroy(system);
}

// Poses agree with sensors at every step, and with those of the other coordinate set at the end of the motion.
static void poses_are_what_sensors_read(void **state)
{
    (void)state;
    kd_model *m = read_model();
    double    joint[7 * BODIES], cartesian[7 * BODIES];
    simulate(m, KD_JOINT, joint);
    simulate(m, KD_CARTESIAN, cartesian);
    for (int i = 0; i < 7 * BODIES; i++) assert_true(fabs(joint[i] - cartesian[i]) < 1e-7);
    assert_true(fabs(joint[7] - 0.3) > 0.01); // it moved
    kd_model_destroy(m);
}

// At the design position of a tree each body is where the model puts it.
static void design_position_is_found_again(void **state)
{
    (void)state;
    kd_model  *m = model_of("kardan: 1\nbodies:\n  b: {position: [1, 2, 3], orientation: {axis: [1, 1, 0], angle: 1}, "
                             "centre: [1, 0, 0], mass: 1, inertia: [1, 1, 1]}\n"
                             "joints:\n  j: {type: free, bodies: [ground, b], point: [5, 4, 3]}\n");
    kd_system *system;
    kd_state  *x;
    kd_poses  *poses;
    double     pose[7];
    for (int k = 0; k < 2; k++) {
        kd_system_options options = kd_system_options_default();
        options.coordinates = (kd_coordinates)k;
        assert_int_equal(kd_system_create(m, &options, &system, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
        assert_int_equal(kd_system_start(system, x, NULL, 0), KD_OK);
        assert_int_equal(kd_poses_create(system, &poses), KD_OK);
        failing_allocator count = {0};
        failing_allocator_use(&count);
        assert_int_equal(kd_poses_at(poses, x, pose), KD_EVAL_OK);
        kd_set_allocator(NULL);
        assert_int_equal(count.calls, 0);
        for (int i = 0; i < 3; i++) assert_true(fabs(pose[i] - (i + 1)) < 1e-14);
        assert_true(fabs(pose[3] - cos(0.5)) < 1e-14 && fabs(pose[4] - sin(0.5) / sqrt(2)) < 1e-14);
        kd_poses_destroy(poses);
        kd_state_destroy(x);
        kd_system_destroy(system);
    }
    kd_model_destroy(m);
}

// Wrong arguments and each failing allocation are reported, and nothing is leaked.
static void failures_are_reported(void **state)
{
    (void)state;
    kd_model  *m = read_model();
    kd_system *system;
    kd_poses  *poses = (kd_poses *)&poses;
    assert_int_equal(kd_system_create(m, NULL, &system, NULL, 0), KD_OK);
    assert_int_equal(kd_poses_create(NULL, &poses), KD_ERR_ARGUMENT);
    assert_null(poses);
    assert_int_equal(kd_poses_create(system, NULL), KD_ERR_ARGUMENT);
    for (long fail_at = 1;; fail_at++) {
        failing_allocator f = {.fail_at = fail_at};
        failing_allocator_use(&f);
        kd_status status = kd_poses_create(system, &poses);
        kd_poses_destroy(poses);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_true(fail_at < 1000);
    }
    kd_poses_destroy(NULL);
    kd_system_destroy(system);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_are_what_sensors_read),
        cmocka_unit_test(design_position_is_found_again),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
