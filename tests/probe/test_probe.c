// The reader of states answers what the equations answer at that state, only as far as it is asked, once for each state.
#include <dirent.h>
#include <math.h>
#include <pthread.h>

#include "core/failing_allocator.h"
#include "core/text.h"
#include "modelfile/files.h"
#include "probe/probe.h"
#include <kardan/simulation.h>

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
    kd_probe  *probe;
} fixture;

// false: the model has no start in these coordinates
static bool make(kd_model *model, kd_coordinates coordinates, fixture *f)
{
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    *f = (fixture){.model = model};
    assert_true(kd_system_create(model, &opt, &f->system, NULL, 0) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(f->system), &f->x), KD_OK);
    assert_int_equal(kd_probe_of_system(f->system, NULL, &f->probe), KD_OK);
    return kd_system_start(f->system, f->x, NULL, 0) >= 0;
}

static void unmake(fixture *f)
{
    kd_probe_destroy(f->probe);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
}

static const char ARM[] =
    "kardan: 1\n"
    "bodies:\n  arm: {position: [0.5, 0, 0], mass: 2, inertia: [0.1, 0.2, 0.3]}\n"
    "  rod: {position: [1.5, 0, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "inputs:\n  push: 2 + t\n"
    "joints:\n  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0], v: 1}\n"
    "  elbow: {type: revolute, bodies: [arm, rod], point: [1, 0, 0], axis: [0, 1, 0], q: 0.3}\n"
    "sensors:\n  load: {value: joint.hinge.force.x}\n  height: body.rod.pos.z\n";

// ---- against the equations themselves -------------------------------------------------------------------------------

static bool is_close(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * (1 + fmax(fabs(a), fabs(b)));
}

static void compare_group(kd_probe *probe, kd_group group, const double *value)
{
    int           first, count;
    const double *found = kd_probe_values(probe, group);
    kd_probe_group(probe, group, &first, &count);
    if (count == 0) return;
    assert_non_null(found);
    for (int i = 0; i < count; i++) {
        assert_true(kd_probe_value(probe, first + i) == found[i]);
        if (!is_close(found[i], value[i]))
            fail_msg("%s: %.17g, %.17g", kd_probe_name(probe, first + i), found[i], value[i]);
    }
}

// All groups by the long way: inputs, stages one after the other, functions
static void compare_all(fixture *f)
{
    const kd_eom    *eom = kd_system_eom(f->system);
    const kd_inputs *inputs = kd_system_inputs(f->system);
    const kd_dims    d = kd_eom_dims(eom);
    const kd_state  *x = f->x;
    const int        nbodies = f->model->nbodies;
    kd_eom_data     *data;
    kd_poses        *poses;
    kd_energies      e;
    double *u = calloc((size_t)(3 * d.nu + d.ny + 13 * nbodies) + 1, sizeof *u), *y = u + 3 * d.nu, *pose = y + d.ny;
    assert_non_null(u);
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    assert_int_equal(inputs->eval(x->t, inputs->context, u, u + d.nu, u + 2 * d.nu), KD_EVAL_OK);
    kd_eom_at_parameters(data, x->theta);
    kd_eom_at_time(data, x->t, u, u + d.nu, u + 2 * d.nu, x->z);
    kd_eom_at_position(data, x->p, x->s);
    kd_eom_at_velocity(data, x->v, x->r);
    kd_eom_at_acceleration(data, kd_probe_values(f->probe, KD_GROUP_A), x->w, x->lambda, x->mu);
    compare_group(f->probe, KD_GROUP_P, x->p);
    compare_group(f->probe, KD_GROUP_V, x->v);
    compare_group(f->probe, KD_GROUP_R, x->r);
    compare_group(f->probe, KD_GROUP_S, x->s);
    compare_group(f->probe, KD_GROUP_LAMBDA, x->lambda);
    compare_group(f->probe, KD_GROUP_MU, x->mu);
    compare_group(f->probe, KD_GROUP_Z, x->z);
    compare_group(f->probe, KD_GROUP_U, u);
    if (d.ny > 0) assert_int_equal(kd_eom_eval(data, KD_Y, y), KD_EVAL_OK);
    compare_group(f->probe, KD_GROUP_Y, y);
    assert_int_equal(kd_eom_energies(data, &e), KD_EVAL_OK);
    compare_group(f->probe, KD_GROUP_ENERGY, (double[]){e.kinetic, e.potential, e.kinetic + e.potential});
    compare_group(f->probe, KD_GROUP_POWER, (double[]){e.dissipated, e.supplied});
    assert_int_equal(kd_poses_create(f->system, &poses), KD_OK);
    assert_int_equal(kd_poses_at(poses, x, pose), KD_EVAL_OK);
    compare_group(f->probe, KD_GROUP_POSE, pose);
    assert_int_equal(kd_poses_rates(poses, x, pose), KD_EVAL_OK);
    compare_group(f->probe, KD_GROUP_RATE, pose);
    kd_poses_destroy(poses);
    kd_eom_data_destroy(data);
    free(u);
}

// The accelerations of a probe satisfy the equations of motion with the multipliers of the state, but where M is singular
// and does not determine them
static void judge_accelerations(fixture *f)
{
    const kd_eom *eom = kd_system_eom(f->system);
    const kd_dims d = kd_eom_dims(eom);
    kd_eom_data  *data;
    double       *residual = calloc(2 * (size_t)d.nv + 1, sizeof *residual), *force = residual + d.nv, size = 0;
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(f->system), f->x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    kd_eom_at_acceleration(data, NULL, f->x->w, f->x->lambda, f->x->mu);
    if (d.nv > 0) assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, force), KD_EVAL_OK);
    kd_eom_at_acceleration(data, kd_probe_values(f->probe, KD_GROUP_A), f->x->w, f->x->lambda, f->x->mu);
    if (d.nv > 0) assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, residual), KD_EVAL_OK);
    for (int i = 0; i < d.nv; i++) size = fmax(size, fabs(force[i]));
    if (kd_eom_acceleration(data, force) != KD_EVAL_OK) size = INFINITY;
    for (int i = 0; i < d.nv; i++)
        if (!(fabs(residual[i]) <= 1e-8 * (1 + size)))
            fail_msg("%s: residual %g of forces %g", kd_model_title(f->model), residual[i], size);
    kd_eom_data_destroy(data);
    free(residual);
}

static void names_lead_back(const kd_probe *probe)
{
    for (int i = 0; i < kd_probe_count(probe); i++) {
        assert_true(kd_probe_name(probe, i)[0] != '\0');
        assert_int_equal(kd_probe_find(probe, kd_probe_name(probe, i)), i);
    }
}

static void try_model(const char *path)
{
    char      message[4000];
    kd_model *model = NULL;
    assert_true(kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0);
    for (int k = 0; k < 2; k++) {
        fixture f;
        if (make(model, (kd_coordinates)k, &f)) {
            names_lead_back(f.probe);
            assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
            compare_all(&f);
            // another motion: accelerations of the state no longer belong to it
            for (int i = 0; i < kd_eom_dims(kd_system_eom(f.system)).nv; i++) f.x->v[i] += 0.01 * (1 + i % 3);
            assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
            if (kd_probe_values(f.probe, KD_GROUP_A)) {
                judge_accelerations(&f);
                compare_all(&f);
            }
        }
        unmake(&f);
    }
    kd_model_destroy(model);
}

// Every model of the gallery, in both coordinate sets, at its start and beside it: the probe says what the equations do.
static void gallery_is_read_as_by_hand(void **state)
{
    (void)state;
    DIR *folder = opendir(KD_SOURCE_DIR "/models");
    int  count = 0;
    assert_non_null(folder);
    for (const struct dirent *file; (file = readdir(folder)) != NULL;) {
        char        path[1000];
        const char *dot = strrchr(file->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s", file->d_name);
        try_model(path);
        count++;
    }
    closedir(folder);
    assert_true(count > 40);
}

// ---- units ----------------------------------------------------------------------------------------------------------

// A machine c times as long, with inertias and stiffnesses that fit: the same motion in time
static kd_model *machine(double c)
{
    static const char FORM[] =
        "kardan: 1\n"
        "parameters: {c: %.17g}\n"
        "gravity: [0.3*c, 0.2*c, -9.81*c]\n"
        "bodies:\n"
        "  crank: {position: [0, 0, 0], centre: [0.1*c, 0, 0], mass: 2, inertia: [0.1*c^2, 0.2*c^2, 0.3*c^2]}\n"
        "  rod: {position: [0.3*c, 0, 0], centre: [0.4*c, 0, 0], mass: 1, inertia: [0.1*c^2, 0.1*c^2, 0.1*c^2]}\n"
        "  piston: {position: [1.1*c, 0, 0], mass: 3, inertia: [0.1*c^2, 0.1*c^2, 0.1*c^2]}\n"
        "  nut: {position: [0, 2*c, 0], mass: 1, inertia: [0.1*c^2, 0.1*c^2, 0.1*c^2]}\n"
        "  stone: {position: [0, 0, 3*c], velocity: [c, 0, 0.5*c], angular_velocity: [1, 2, 3], mass: 1, "
        "inertia: [0.1*c^2, 0.2*c^2, 0.25*c^2]}\n"
        "joints:\n"
        "  main: {type: revolute, from: {body: ground, axis: [0, 1, 0]}, to: {body: crank, axis: [0, 1, 0]}, q: 0.4, "
        "v: 2}\n"
        "  pin: {type: revolute, from: {body: crank, point: [0.3*c, 0, 0], axis: [0, 1, 0]}, "
        "to: {body: rod, axis: [0, 1, 0]}}\n"
        "  eye: {type: universal, from: {body: rod, point: [0.8*c, 0, 0]}, to: piston}\n"
        "  bore: {type: cylindrical, from: {body: ground, axis: [1, 0, 0]}, to: {body: piston, axis: [1, 0, 0]}}\n"
        "  thread: {type: screw, from: {body: ground, point: [0, 2*c, 0]}, to: nut, pitch: 0.01*c, v: 3}\n"
        "forces:\n"
        "  strut: {type: maxwell, from: ground, to: stone, stiffness: 100, series: 300, damping: 20, length: 2*c}\n";
    char      text[3000], message[600];
    kd_model *m = NULL;
    snprintf(text, sizeof text, FORM, c);
    if (kd_model_read_text("machine.yaml", text, strlen(text), NULL, 0, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    return m;
}

// Powers of lengths in a unit; -1: it says nothing
static int lengths_in(const char *unit)
{
    static const struct {
        const char *unit;
        int         power;
    } list[] = {{"m", 1},       {"m/s", 1}, {"m/s^2", 1}, {"rad", 0}, {"rad/s", 0},
                {"rad/s^2", 0}, {"N", 1},   {"N m", 2},   {"J", 2},   {"W", 2}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(unit, list[i].unit) == 0) return list[i].power;
    return -1;
}

// Units are right if every number grows with the machine as its unit says: positions, velocities, accelerations, inner states,
// multipliers, energies, in both coordinate sets.
static void numbers_grow_as_their_units(void **state)
{
    (void)state;
    const double c = 4;
    for (int k = 0; k < 2; k++) {
        fixture small, large;
        int     first, count, told = 0;
        assert_true(make(machine(1), (kd_coordinates)k, &small));
        assert_true(make(machine(c), (kd_coordinates)k, &large));
        assert_int_equal(kd_probe_set(small.probe, small.x), KD_OK);
        assert_int_equal(kd_probe_set(large.probe, large.x), KD_OK);
        for (int group = 0; group < KD_GROUP_COUNT; group++) {
            kd_probe_group(small.probe, (kd_group)group, &first, &count);
            if (group == KD_GROUP_VIOLATION) continue;
            for (int i = first; i < first + count; i++) {
                const char  *unit = kd_probe_unit(small.probe, i), *name = kd_probe_name(small.probe, i);
                const int    power = lengths_in(unit);
                const double a = kd_probe_value(small.probe, i), b = kd_probe_value(large.probe, i);
                assert_string_equal(unit, kd_probe_unit(large.probe, i));
                // quaternions have none; all other components have one
                if (power < 0 && !strstr(name, ".e") && !strstr(name, ".quat")) fail_msg("%s: unit '%s'", name, unit);
                if (power < 0) continue;
                if (fabs(b - a * pow(c, power)) > 1e-6 * (fabs(b) + 1))
                    fail_msg("%s: %.9g, %.9g, unit '%s'", name, a, b, unit);
                told++;
            }
        }
        assert_true(told > 60);
        unmake(&small);
        unmake(&large);
        kd_model_destroy(small.model);
        kd_model_destroy(large.model);
    }
}

// Names are those of sensors, paths of coordinates and of bodies; each has its unit.
static void quantities_have_names_and_units(void **state)
{
    (void)state;
    static const char *const unit[][2] = {
        {"joint.hinge.q", "rad"}, {"joint.elbow.v", "rad/s"}, {"joint.hinge.a", "rad/s^2"},  {"load", "N"},
        {"sensor.height", "m"},   {"kinetic energy", "J"},    {"energy.total", "J"},         {"supplied power", "W"},
        {"body.arm.pos.x", "m"},  {"body.rod.vel.z", "m/s"},  {"body.rod.omega.y", "rad/s"}, {"input.push", ""},
    };
    fixture f;
    assert_true(make(model_of(ARM), KD_JOINT, &f));
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        const int channel = kd_probe_find(f.probe, unit[i][0]);
        assert_true(channel >= 0);
        assert_string_equal(kd_probe_unit(f.probe, channel), unit[i][1]);
    }
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
    assert_true(kd_probe_read(f.probe, "joint.hinge.v") == 1);
    assert_true(kd_probe_read(f.probe, "input.push") == 2);
    assert_true(fabs(kd_probe_read(f.probe, "height") + 0.5 * sin(0.3)) < 1e-14);
    assert_true(fabs(kd_probe_read(f.probe, "height") - kd_probe_read(f.probe, "body.rod.pos.z")) < 1e-15);
    kd_model *m = f.model;
    unmake(&f);
    kd_model_destroy(m);
}

// ---- once, and only as far as it is asked ---------------------------------------------------------------------------

static long evaluations(const fixture *f)
{
    return kd_probe_counters_of(f->probe).evaluations;
}

// Coordinates cost nothing, poses and energies one evaluation without accelerations, and a second question nothing.
static void answers_are_remembered(void **state)
{
    (void)state;
    fixture f;
    assert_true(make(model_of(ARM), KD_JOINT, &f));
    kd_model *m = f.model;
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
    (void)kd_probe_read(f.probe, "joint.hinge.q");
    assert_int_equal(evaluations(&f), 0);
    (void)kd_probe_read(f.probe, "body.arm.pos.x");
    (void)kd_probe_read(f.probe, "body.rod.pos.x");
    assert_int_equal(evaluations(&f), 1);
    (void)kd_probe_read(f.probe, "kinetic energy");
    (void)kd_probe_read(f.probe, "potential energy");
    assert_int_equal(evaluations(&f), 2);
    assert_int_equal(kd_eom_data_stage(kd_probe_data(f.probe)), KD_STAGE_VELOCITY);
    (void)kd_probe_read(f.probe, "load"); // two residuals, with a and with 0, say that a belongs to the state
    assert_int_equal(evaluations(&f), 5);
    assert_int_equal(kd_probe_counters_of(f.probe).accelerations, 0);
    const double load = kd_probe_read(f.probe, "load");
    assert_int_equal(evaluations(&f), 5);
    // who moves the point in between does not change the answers
    kd_eom_at_time(kd_probe_data(f.probe), 100, NULL, NULL, NULL, NULL);
    assert_true(kd_probe_read(f.probe, "load") == load);
    assert_true(kd_probe_read(f.probe, "body.arm.vel.z") == -0.5);
    assert_true(kd_probe_read(f.probe, "supplied power") == 0);
    const long before = evaluations(&f);
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK); // a new state, as far as it knows
    assert_true(kd_probe_read(f.probe, "load") == load);
    assert_int_equal(kd_probe_counters_of(f.probe).states, 2);
    assert_int_equal(evaluations(&f), before + 2); // one residual, as the size of the forces is known, and the sensor
    unmake(&f);
    kd_model_destroy(m);
}

// Accelerations that do not belong to the forces are found out whatever the sizes of the model are: the same arm of
// masses from nanograms to kilotons, with a wrong by a thousandth.
static void stale_accelerations_are_found_at_any_size(void **state)
{
    (void)state;
    const double factor[] = {1e-15, 1e-9, 1e-3, 1, 1e3, 1e6};
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        char text[700];
        kd_text(text, sizeof text,
                "kardan: 1\n"
                "parameters: {m: %g}\n"
                "bodies:\n  arm: {position: [0.5, 0, 0], mass: 2*m, inertia: [0.1*m, 0.2*m, 0.3*m]}\n"
                "  rod: {position: [1.5, 0, 0], mass: m, inertia: [0.1*m, 0.1*m, 0.1*m]}\n"
                "joints:\n  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0], v: 1}\n"
                "  elbow: {type: revolute, bodies: [arm, rod], point: [1, 0, 0], axis: [0, 1, 0], q: 0.3}\n",
                factor[i]);
        fixture f;
        assert_true(make(model_of(text), KD_JOINT, &f));
        kd_model *m = f.model;
        double    a[2];
        assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
        memcpy(a, kd_probe_values(f.probe, KD_GROUP_A), sizeof a);
        assert_int_equal(kd_probe_counters_of(f.probe).accelerations, 0); // those of the start belong to it
        for (int k = 0; k < 2; k++) f.x->a[k] *= 1.001;
        assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
        for (int k = 0; k < 2; k++)
            assert_true(fabs(kd_probe_values(f.probe, KD_GROUP_A)[k] - a[k]) < 1e-12 * fabs(a[k]));
        assert_int_equal(kd_probe_counters_of(f.probe).accelerations, 1);
        unmake(&f);
        kd_model_destroy(m);
    }
}

// A state whose accelerations nobody has solved for has those that its forces give, whatever stands in a.
static void missing_accelerations_are_solved(void **state)
{
    (void)state;
    fixture f;
    assert_true(make(model_of(ARM), KD_JOINT, &f));
    kd_model *m = f.model;
    double    a[2];
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
    memcpy(a, kd_probe_values(f.probe, KD_GROUP_A), sizeof a);
    f.x->unsolved = true;
    f.x->a[0] = NAN;
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
    for (int i = 0; i < 2; i++) assert_true(fabs(kd_probe_values(f.probe, KD_GROUP_A)[i] - a[i]) < 1e-12);
    assert_int_equal(kd_probe_counters_of(f.probe).accelerations, 1);
    unmake(&f);
    kd_model_destroy(m);
}

typedef struct watched {
    kd_simulation *simulation;
    kd_probe      *probe;
    long           seen;
} watched;

// What the simulation tells by name is what a probe of the model tells about the state that is shown
static kd_eval watch(const kd_state *x, bool at_time, void *context)
{
    static const char *const name[] = {"body.arm.com.x", "load", "height", "total energy"};
    watched                 *w = context;
    (void)at_time;
    assert_int_equal(kd_probe_set(w->probe, x), KD_OK);
    for (int i = 0; i < 4; i++)
        assert_true(kd_simulation_output(w->simulation, name[i]) == kd_probe_read(w->probe, name[i]));
    w->seen++;
    return KD_EVAL_OK;
}

// Accelerations that nobody reads are not solved for: one system at the end instead of one for each state that is shown,
// and the probe finds the same ones.
static void accelerations_are_solved_on_demand(void **state)
{
    (void)state;
    double    end[2];
    kd_model *m = model_of(ARM);
    for (int lazy = 0; lazy < 2; lazy++) {
        fixture               f;
        const double          times[] = {0.011, 0.05, 0.099};
        kd_simulation_options opt = kd_simulation_options_default();
        assert_true(make(m, KD_CARTESIAN, &f));
        watched w = {.probe = f.probe};
        opt.formulation = KD_GGL;
        opt.integrator = KD_BDF;
        opt.output = watch;
        opt.context = &w;
        opt.times = times;
        opt.ntimes = 3;
        opt.accelerations = !lazy;
        assert_true(kd_simulation_create(kd_system_eom(f.system), kd_system_inputs(f.system), &opt, f.x, &w.simulation,
                                         NULL, 0) >= 0);
        assert_true(kd_simulation_run(w.simulation, 0.1) >= 0);
        assert_true(w.seen > 10);
        if (lazy)
            assert_int_equal(kd_simulation_stats(w.simulation).accelerations, 1);
        else
            assert_true(kd_simulation_stats(w.simulation).accelerations > 10);
        assert_int_equal(f.x->unsolved, false);
        end[lazy] = f.x->a[0];
        kd_simulation_destroy(w.simulation);
        unmake(&f);
    }
    assert_true(end[0] == end[1]);
    kd_model_destroy(m);
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// After creation nothing is allocated, whatever is asked.
static void questions_do_not_allocate(void **state)
{
    (void)state;
    fixture           f;
    failing_allocator count = {0};
    assert_true(make(model_of(ARM), KD_CARTESIAN, &f));
    kd_model *m = f.model;
    failing_allocator_use(&count);
    for (int k = 0; k < 3; k++) {
        f.x->unsolved = k == 2;
        assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
        for (int i = 0; i < kd_probe_count(f.probe); i++)
            assert_true(isfinite(kd_probe_read(f.probe, kd_probe_name(f.probe, i))));
    }
    kd_set_allocator(NULL);
    assert_int_equal(count.calls, 0);
    unmake(&f);
    kd_model_destroy(m);
}

// Each failing allocation of create ends in KD_ERR_MEMORY without a leak.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    fixture f;
    assert_true(make(model_of(ARM), KD_JOINT, &f));
    kd_model *m = f.model;
    for (int n = 1;; n++) {
        failing_allocator a = {.fail_at = n};
        kd_probe         *probe;
        failing_allocator_use(&a);
        const kd_status status = kd_probe_of_system(f.system, NULL, &probe);
        kd_probe_destroy(probe);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(probe);
    }
    unmake(&f);
    kd_model_destroy(m);
}

static kd_eval refuse(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t, (void)context, (void)u, (void)du, (void)ddu;
    return KD_EVAL_STOP;
}

// Without a state, with a state of other equations, with unknown names and with inputs that refuse, the answer is NaN and
// a sentence; the next question is answered again.
static void misuse_is_told(void **state)
{
    (void)state;
    fixture f, other;
    assert_true(make(model_of(ARM), KD_JOINT, &f));
    assert_true(make(f.model, KD_CARTESIAN, &other));
    assert_true(isnan(kd_probe_read(f.probe, "load")));
    assert_int_equal(kd_probe_status(f.probe), KD_ERR_STAGE);
    assert_string_equal(kd_probe_message(f.probe), "no state has been set");
    assert_int_equal(kd_probe_set(f.probe, other.x), KD_ERR_ARGUMENT);
    assert_true(isnan(kd_probe_value(f.probe, 0)));
    assert_int_equal(kd_probe_set(f.probe, f.x), KD_OK);
    assert_true(isnan(kd_probe_read(f.probe, "laod")));
    assert_string_equal(kd_probe_message(f.probe), "there is no channel 'laod'");
    assert_true(isnan(kd_probe_value(f.probe, -1)) && isnan(kd_probe_value(f.probe, 1000)));
    assert_int_equal(kd_probe_status(f.probe), KD_ERR_ARGUMENT);
    assert_true(isfinite(kd_probe_read(f.probe, "load")));
    assert_string_equal(kd_probe_message(f.probe), "");
    kd_probe *probe;
    assert_int_equal(kd_probe_of_system(f.system, &(kd_inputs){.eval = refuse}, &probe), KD_OK);
    assert_int_equal(kd_probe_set(probe, f.x), KD_OK);
    assert_true(isnan(kd_probe_read(probe, "load")));
    assert_int_equal(kd_probe_status(probe), KD_ERR_CALLBACK_STOP);
    assert_non_null(strstr(kd_probe_message(probe), "the inputs asked to stop"));
    assert_true(kd_probe_read(probe, "joint.hinge.v") == 1); // needs no inputs
    kd_probe_destroy(probe);
    unmake(&other);
    kd_model *m = f.model;
    unmake(&f);
    kd_model_destroy(m);
}

typedef struct reader {
    const kd_system *system;
    const kd_state  *x;
    double           sum;
} reader;

static void *read_often(void *context)
{
    reader   *r = context;
    kd_probe *probe;
    if (kd_probe_of_system(r->system, NULL, &probe) < 0) return NULL;
    for (int k = 0; k < 200; k++) {
        if (kd_probe_set(probe, r->x) < 0) break;
        for (int i = 0; i < kd_probe_count(probe); i++) r->sum += kd_probe_value(probe, i);
    }
    kd_probe_destroy(probe);
    return NULL;
}

// Two threads with a probe each read the same state of one system without disturbing each other.
static void threads_are_independent(void **state)
{
    (void)state;
    fixture f;
    assert_true(make(model_of(ARM), KD_CARTESIAN, &f));
    kd_model *m = f.model;
    reader    r[2] = {{f.system, f.x, 0}, {f.system, f.x, 0}}, alone = {f.system, f.x, 0};
    pthread_t thread[2];
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&thread[k], NULL, read_often, &r[k]), 0);
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_join(thread[k], NULL), 0);
    (void)read_often(&alone);
    assert_true(r[0].sum == alone.sum && r[1].sum == alone.sum && alone.sum != 0);
    unmake(&f);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery_is_read_as_by_hand),
        cmocka_unit_test(quantities_have_names_and_units),
        cmocka_unit_test(numbers_grow_as_their_units),
        cmocka_unit_test(answers_are_remembered),
        cmocka_unit_test(stale_accelerations_are_found_at_any_size),
        cmocka_unit_test(missing_accelerations_are_solved),
        cmocka_unit_test(accelerations_are_solved_on_demand),
        cmocka_unit_test(questions_do_not_allocate),
        cmocka_unit_test(failing_memory_is_reported),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(threads_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
