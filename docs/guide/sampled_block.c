// sampled_block.c: a cart whose motor is switched by a sampled controller that is written in C.
#include <kardan/kardan.h>
#include <stdio.h>

// Pushes until the speed is above the band, then lets go until it is below.
static kd_eval two_levels(double t, const double *input, double *state, void *context, double *output)
{
    const double *band = context;
    (void)t;
    if (input[0] > band[1]) state[0] = 0;
    if (input[0] < band[0]) state[0] = 1;
    output[0] = 4 * state[0];
    return KD_EVAL_OK;
}

static kd_status build(kd_model *m, double *band)
{
    kd_body_def cart = kd_body_def_default();
    cart.mass = 2;
    for (int i = 0; i < 6; i++) cart.inertia[i] = i < 3 ? 0.1 : 0;
    kd_joint_def slide = kd_joint_def_default(KD_PRISMATIC);
    const double origin[3] = {0, 0, 0}, along[3] = {1, 0, 0};
    slide.from = kd_at_axis("ground", origin, along);
    slide.to = kd_at_axis("cart", origin, along);
    kd_block_def levels = kd_block_def_default(KD_BLOCK_USER);
    levels.period = 0.01;
    levels.ninputs = levels.nstates = levels.noutputs = 1;
    levels.input[0] = "joint.slide.v"; // an expression, as everywhere
    levels.start[0] = 1;
    levels.sample = two_levels, levels.context = band;
    kd_force_def motor = kd_force_def_default(KD_JOINT_SPRING);
    motor.joint = "slide", motor.spring.damping = 1;
    motor.spring.law = "block.levels.out";

    kd_status status = kd_model_add_body(m, "cart", &cart);
    if (status >= 0) status = kd_model_add_joint(m, "slide", &slide);
    if (status >= 0) status = kd_model_add_block(m, "levels", &levels);
    if (status >= 0) status = kd_model_add_force(m, "motor", &motor);
    return status < 0 ? status : kd_model_finish(m);
}

static kd_eval look(const kd_state *x, bool at_time, void *context) // called by the simulation
{
    (void)context;
    if (at_time) printf("%5.2f  %8.5f  %4.1f\n", x->t, x->v[0], x->z[0]); // z: output, state, number of the next sample
    return KD_EVAL_OK;
}

int main(void)
{
    double                band[2] = {0.9, 1.1}, times[10];
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_simulation_options options = kd_simulation_options_default();
    char                  message[1000] = "";
    for (int i = 0; i < 10; i++) times[i] = 0.505 * (i + 1);
    options.times = times, options.ntimes = 10, options.output = look;
    kd_status status = kd_model_create(&model);
    if (status >= 0) status = build(model, band);
    if (status < 0 && model) snprintf(message, sizeof message, "%s", kd_model_message(model));
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0) printf("    t     speed  push\n");
    if (status >= 0)
        status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), &options, x, times[9], NULL, message,
                             sizeof message);
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
