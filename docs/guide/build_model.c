// build_model.c: a slider-crank built without a file; the gas in its cylinder is a force element written in C.
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>

static const double CRANK = 0.05, ROD = 0.15; // lengths [m]

// Gas behind the piston: pressure by Boyle's law, which reaches the piston through a first-order lag.
typedef struct gas {
    double force, depth, lag; // force at rest [N], depth of the cylinder at rest [m], time constant [s]
} gas;

static kd_eval gas_force(double t, const double *value, const double *rate, const double *state, void *context,
                         double *force, double *state_rate)
{
    const gas *g = context;
    (void)t, (void)rate;
    if (value[0] >= g->depth) return KD_EVAL_RETRY; // the piston would leave the cylinder: try a smaller step
    force[0] = -state[0];                           // along joint.slide.q, against compression
    state_rate[0] = (g->force * g->depth / (g->depth - value[0]) - state[0]) / g->lag;
    return KD_EVAL_OK;
}

// All bars lie along x at the design position; the mechanism moves in the plane x-z.
static kd_status add_bar(kd_model *m, const char *name, double from, double to)
{
    kd_body_def body = kd_body_def_default();
    body.position[0] = 0.5 * (from + to);
    body.nshapes = 1;
    body.shape[0] = (kd_shape){KD_BOX, {to - from, 0.02, 0.02}, .orientation = {1, 0, 0, 0}, .density = 7800};
    return kd_model_add_body(m, name, &body);
}

static kd_status add_joint(kd_model *m, kd_joint_kind kind, const char *name, const char *from, const char *to,
                           double x)
{
    const double point[3] = {x, 0, 0}, y[3] = {0, 1, 0}, along[3] = {1, 0, 0};
    kd_joint_def joint = kd_joint_def_default(kind);
    joint.from = kd_at_axis(from, point, kind == KD_PRISMATIC ? along : y);
    joint.to = kd_at_axis(to, point, kind == KD_PRISMATIC ? along : y);
    joint.from.reference[2] = joint.to.reference[2] = 1; // x of the joint's frames points up, for the sensor below
    if (kind == KD_REVOLUTE && x == 0) joint.v[0] = 20, joint.hold = true; // so fast; assembly finds the others
    return kd_model_add_joint(m, name, &joint);
}

static kd_status add_sensor(kd_model *m, const char *name, const char *value)
{
    kd_sensor_def sensor = kd_sensor_def_default();
    sensor.value = value;
    return kd_model_add_sensor(m, name, &sensor);
}

static kd_status build(kd_model *m, gas *g)
{
    const double             end = CRANK + ROD;
    static const char *const measures[] = {"joint.slide.q"};
    kd_body_def              piston = kd_body_def_default();
    piston.mass = 0.5, piston.position[0] = end;
    for (int i = 0; i < 3; i++) piston.inertia[i] = 1e-3, piston.inertia[i + 3] = 0;
    kd_user_force_def cylinder = kd_user_force_def_default();
    cylinder.nmeasures = 1, cylinder.measure = measures;
    cylinder.nstates = 1, cylinder.start = &g->force;
    cylinder.eval = gas_force, cylinder.context = g;

    kd_status status = add_bar(m, "crank", 0, CRANK);
    if (status >= 0) status = add_bar(m, "rod", CRANK, end);
    if (status >= 0) status = kd_model_add_body(m, "piston", &piston);
    if (status >= 0) status = add_joint(m, KD_REVOLUTE, "hinge", "ground", "crank", 0);
    if (status >= 0) status = add_joint(m, KD_REVOLUTE, "pin", "crank", "rod", CRANK);
    if (status >= 0) status = add_joint(m, KD_REVOLUTE, "wrist", "rod", "piston", end);
    if (status >= 0) status = add_joint(m, KD_PRISMATIC, "slide", "ground", "piston", end);
    if (status >= 0) status = kd_model_add_user_force(m, "gas", &cylinder);
    if (status >= 0) status = add_sensor(m, "angle", "joint.hinge.q");
    if (status >= 0) status = add_sensor(m, "stroke", "joint.slide.q");
    if (status >= 0) status = add_sensor(m, "wall", "joint.slide.force.x"); // of the guide on the piston
    return status < 0 ? status : kd_model_finish(m);
}

typedef struct observer {
    kd_certifier  *certifier;
    kd_simulation *simulation;
    kd_eom_data   *data;
} observer;

static kd_eval look(const kd_state *x, bool at_time, void *context) // called by the simulation
{
    observer *o = context;
    double    y[3]; // the sensors, in their order
    if (o->simulation && kd_certifier_see(o->certifier, o->simulation, x) < 0) return KD_EVAL_STOP;
    if (!at_time) return KD_EVAL_OK;
    kd_eom_at_time(o->data, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(o->data, x->p, x->s);
    kd_eom_at_velocity(o->data, x->v, x->r);
    kd_eom_at_acceleration(o->data, x->a, x->w, x->lambda, x->mu);
    if (kd_eom_eval(o->data, KD_Y, y) != KD_EVAL_OK) return KD_EVAL_STOP;
    printf("%5.2f  %9.6f  %9.6f  %9.4f\n", x->t, y[0], y[1], y[2]);
    return KD_EVAL_OK;
}

static kd_status simulate(const kd_system *system, kd_state *x, char *message, size_t size)
{
    const double          times[] = {0.05, 0.1, 0.15, 0.2};
    const kd_eom         *eom = kd_system_eom(system);
    observer              o = {NULL, NULL, NULL};
    kd_simulation_options options = kd_simulation_options_default();
    options.rtol = options.atol = 1e-8;
    options.times = times, options.ntimes = 4, options.output = look, options.context = &o;
    kd_status status = kd_certifier_create(eom, kd_system_inputs(system), &o.certifier);
    if (status >= 0) status = kd_eom_data_create(eom, &o.data);
    if (status >= 0)
        status = kd_simulation_create(eom, kd_system_inputs(system), &options, x, &o.simulation, message, size);
    if (status >= 0) {
        printf("    t      angle     stroke       wall\n");
        status = kd_simulation_run(o.simulation, 0.2);
        kd_certificate certificate = kd_certifier_certificate(o.certifier);
        char           text[2000];
        certificate.status = status, certificate.atol = options.atol;
        kd_certificate_describe(&certificate, text, sizeof text);
        printf("%s", text);
        snprintf(message, size, "%s", kd_simulation_message(o.simulation));
    }
    kd_simulation_destroy(o.simulation);
    kd_eom_data_destroy(o.data);
    kd_certifier_destroy(o.certifier);
    return status;
}

int main(void)
{
    gas        g = {.force = 50, .depth = 0.03, .lag = 2e-3};
    kd_model  *model = NULL;
    kd_system *system = NULL;
    kd_state  *x = NULL;
    char       message[1000] = "";
    kd_status  status = kd_model_create(&model);
    if (status >= 0) status = build(model, &g);
    if (status < 0 && model) snprintf(message, sizeof message, "%s", kd_model_message(model));
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message); // joint coordinates
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) status = simulate(system, x, message, sizeof message);
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
