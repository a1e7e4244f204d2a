// spring.c: the law of springs, dampers and actuators along a measure s with the rate v:
//
//     f = -(k (s - s0) + c v + preload) + sign * law
//
// The law is a tension between points (sign -1) and a torque or force along a joint coordinate (sign +1).
#include "element/spring.h"

static inline double force_of(const kd_load *load, double sign, const double *x, double law)
{
    const kd_spring_def *d = &load->def->spring;
    const double         s = x[load->variable[0]] - load->constant[0], v = x[load->variable[1]];
    return -(d->stiffness * s + d->damping * v + d->preload) + sign * law;
}

static inline kd_eval eval(const kd_load *load, double sign, const double *x, kd_work *w, double *force)
{
    force[0] = force_of(load, sign, x, kd_law_value(load->law[0], x, w));
    return KD_EVAL_OK;
}

// Four laws with the same operations: springs, dampers, brakes of all wheels
static inline kd_eval eval_four(const kd_load *const load[4], double sign, const double *x, kd_work *w,
                                double *const force[4])
{
    const kd_expr *const law[4] = {load[0]->law[0], load[1]->law[0], load[2]->law[0], load[3]->law[0]};
    double               value[4];
    kd_expr_values(law, x, w->expr_work, value);
    for (int i = 0; i < 4; i++) force[i][0] = force_of(load[i], sign, x, value[i]);
    return KD_EVAL_OK;
}

// Without a law there is nothing to gain
static bool is_like(const kd_load *a, const kd_load *b)
{
    return a->law[0] && b->law[0] && kd_expr_is_like(a->law[0], b->law[0]);
}

static inline kd_eval jacobian(const kd_load *load, double sign, const double *x, kd_work *w, double *J)
{
    kd_law_put(load, 0, 0, -load->def->spring.stiffness, J);
    kd_law_put(load, 0, 1, -load->def->spring.damping, J);
    kd_law_gradient(load, 0, load->law[0], sign, x, w, J);
    return KD_EVAL_OK;
}

static inline void energy(const kd_load *load, double sign, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_spring_def *d = &load->def->spring;
    double               s = x[load->variable[0]] - load->constant[0], v = x[load->variable[1]];
    // spring and preload have a potential, the law does work
    sum->potential += 0.5 * d->stiffness * s * s + d->preload * s;
    sum->dissipated += d->damping * v * v;
    sum->supplied += sign * kd_law_value(load->law[0], x, w) * v;
}

// ---- between points -------------------------------------------------------------------------------------------------

static kd_eval tension_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    return eval(load, -1.0, x, w, force);
}

static kd_eval tension_of_four(const kd_load *const load[4], const double *x, kd_work *w, double *const force[4],
                               double *const rate[4])
{
    (void)rate;
    return eval_four(load, -1.0, x, w, force);
}

static kd_eval tension_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    return jacobian(load, -1.0, x, w, J);
}

static void tension_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    energy(load, -1.0, x, w, sum);
}

const kd_load_class kd_spring_tension = {.eval = tension_eval,
                                         .eval_four = tension_of_four,
                                         .is_like = is_like,
                                         .jacobian = tension_jacobian,
                                         .energy = tension_energy,
                                         .reading = kd_read_tension,
                                         .cost = {.operations = 8}};

// ---- along a coordinate ---------------------------------------------------------------------------------------------

static kd_eval along_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    return eval(load, 1.0, x, w, force);
}

static kd_eval along_of_four(const kd_load *const load[4], const double *x, kd_work *w, double *const force[4],
                             double *const rate[4])
{
    (void)rate;
    return eval_four(load, 1.0, x, w, force);
}

static kd_eval along_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    return jacobian(load, 1.0, x, w, J);
}

static void along_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    energy(load, 1.0, x, w, sum);
}

const kd_load_class kd_spring_along = {.eval = along_eval,
                                       .eval_four = along_of_four,
                                       .is_like = is_like,
                                       .jacobian = along_jacobian,
                                       .energy = along_energy,
                                       .cost = {.operations = 8}};

// ---- for their classes ----------------------------------------------------------------------------------------------

bool kd_spring_is_motor(const kd_force_def *d)
{
    return d->spring.stiffness == 0.0 && d->spring.damping == 0.0;
}

double kd_spring_stiffness(const kd_force_def *d)
{
    return d->spring.stiffness;
}

void kd_spring_make(kd_load_builder *b, int force)
{
    kd_load_make_scalar(b, force, &b->s->model->force[force].def.spring.length);
    if (b->status == KD_OK) kd_load_add_law(b, 0, force, "law", 0, b->load->variable);
}
