// own_force.c: a force element written in C: a magnet that holds an iron ball in the air, with the lag of its coil.
//
//   force = k i^2 / gap^2 upwards,   T i' = wanted current - i,   wanted = i0 + a (gap - gap0) + b gap'
#include <kardan/kardan.h>
#include <stdio.h>

typedef struct magnet {
    double k, T;     // [N m^2/A^2], [s]
    double i0, gap0; // current and gap at which the ball floats [A], [m]
    double a, b;     // of the controller [A/m], [A s/m]
} magnet;

// value: what it measures, here the height of the ball below the magnet; force: along that measure, by virtual work
static kd_eval pull(double t, const double *value, const double *rate, const double *state, void *context,
                    double *force, double *state_rate)
{
    const magnet *m = context;
    const double  gap = m->gap0 - value[0], wanted = m->i0 + m->a * (gap - m->gap0) - m->b * rate[0];
    (void)t;
    if (gap <= 0) return KD_EVAL_RETRY; // the ball would be inside of the magnet: try a smaller step
    force[0] = m->k * state[0] * state[0] / (gap * gap);
    state_rate[0] = (wanted - state[0]) / m->T;
    return KD_EVAL_OK;
}

// A ball that moves up and down only, 4 mm below the place where it floats
static kd_status build(kd_model *model, magnet *m)
{
    static const char *const measure[] = {"joint.way.q"};
    kd_body_def              ball = kd_body_def_default();
    kd_joint_def             way = kd_joint_def_default(KD_PRISMATIC);
    kd_user_force_def        coil = kd_user_force_def_default();
    ball.mass = 0.1;
    for (int i = 0; i < 3; i++) ball.inertia[i] = 1e-5, ball.inertia[i + 3] = 0;
    way.from = kd_at_axis("ground", (const double[]){0, 0, 0}, (const double[]){0, 0, 1});
    way.to = kd_at_axis("ball", (const double[]){0, 0, 0}, (const double[]){0, 0, 1});
    way.q[0] = -0.004;
    coil.nmeasures = 1, coil.measure = measure;
    coil.nstates = 1, coil.start = &m->i0; // one inner state, the current
    coil.eval = pull, coil.context = m;
    kd_status status = kd_model_add_body(model, "ball", &ball);
    if (status >= 0) status = kd_model_add_joint(model, "way", &way);
    if (status >= 0) status = kd_model_add_user_force(model, "coil", &coil);
    return status < 0 ? status : kd_model_finish(model);
}

int main(void)
{
    magnet     m = {.k = 1e-4, .T = 2e-3, .gap0 = 0.01, .i0 = 0.990454, .a = 250, .b = 4};
    kd_model  *model = NULL;
    kd_system *system = NULL;
    kd_state  *x = NULL;
    char       message[1000] = "";
    kd_status  status = kd_model_create(&model);
    if (status >= 0) status = build(model, &m);
    if (status < 0 && model) snprintf(message, sizeof message, "%s", kd_model_message(model));
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    for (int i = 1; status >= 0 && i <= 5; i++) {
        status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), NULL, x, 0.1 * i, NULL, message,
                             sizeof message);
        if (status >= 0) printf("%.1f s  height %9.6f m  current %8.6f A\n", x->t, x->p[0], x->r[0]);
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
