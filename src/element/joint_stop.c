// joint_stop.c: limits of a joint coordinate q, compliant or rigid.
//
//     f = max(0, k depth - c v) beyond the lower limit, mirrored beyond the upper one
//
// With restitution it is no force: rows q - lower >= 0, upper - q >= 0 with impacts.
#include <math.h>

#include "core/text.h"
#include "element/force.h"
#include "model/fields.h"

static double stop_depth(const kd_load *load, double q, double *side)
{
    *side = q < load->def->stop.lower ? 1.0 : -1.0; // direction of the force
    double depth = q < load->def->stop.lower ? load->def->stop.lower - q : q - load->def->stop.upper;
    return depth > 0.0 ? depth : 0.0;
}

static kd_eval stop_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    // the damper may not pull: push > 0
    double side, depth = stop_depth(load, x[load->variable[0]], &side), v = x[load->variable[1]];
    double push = load->def->stop.stiffness * depth - load->def->stop.damping * side * v;
    force[0] = depth > 0.0 && push > 0.0 ? side * push : 0.0;
    return KD_EVAL_OK;
}

static kd_eval stop_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    double force;
    (void)stop_eval(load, x, w, &force, NULL);
    // only while it pushes; the side drops out
    if (force != 0.0) {
        kd_law_put(load, 0, 0, -load->def->stop.stiffness, J);
        kd_law_put(load, 0, 1, -load->def->stop.damping, J);
    }
    return KD_EVAL_OK;
}

static void stop_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double side, force, depth = stop_depth(load, x[load->variable[0]], &side), v = x[load->variable[1]];
    (void)stop_eval(load, x, w, &force, NULL);
    sum->potential += 0.5 * load->def->stop.stiffness * depth * depth;
    sum->dissipated -= (force - side * load->def->stop.stiffness * depth) * v;
}

static kd_interval stop_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_joint_stop_def *d = &load->def->stop;
    const kd_interval        q = x[load->variable[0]], v = x[load->variable[1]];
    (void)w;
    // either limit pushes by itself; both together is their difference
    const kd_interval below =
        kd_push_bounds(d->stiffness, d->damping, (kd_interval){d->lower - q.upper, d->lower - q.lower},
                       (kd_interval){-v.upper, -v.lower});
    const kd_interval above =
        kd_push_bounds(d->stiffness, d->damping, (kd_interval){q.lower - d->upper, q.upper - d->upper}, v);
    return (kd_interval){below.lower - above.upper, below.upper - above.lower};
}

static const kd_load_class law = {.eval = stop_eval,
                                  .jacobian = stop_jacobian,
                                  .energy = stop_energy,
                                  .bounds = stop_bounds,
                                  .cost = {.operations = 6}};

static bool is_rigid(const kd_force_def *def)
{
    return !isnan(def->stop.restitution);
}

static const kd_load_class *choose(const kd_force_def *def)
{
    return is_rigid(def) ? &kd_load_rigid : &law;
}

static void make(kd_load_builder *b, int force)
{
    if (b->load->class == &law) kd_load_make_scalar(b, force, NULL);
}

static void add_limits(kd_row_builder *b, int force)
{
    const kd_force          *f = &b->s->model->force[force];
    const kd_joint          *j = &b->s->model->joint[f->joint];
    const kd_joint_stop_def *d = &f->def.stop;
    if (!is_rigid(&f->def)) return;
    // "lower stop of q2" where the joint has several coordinates
    bool several = kd_joint_coordinates(j->def.kind) > 1;
    int  measure = kd_force_coordinate(b->s, force);
    char what[2][32];
    for (int i = 0; i < 2; i++) {
        kd_text(what[i], sizeof what[i], "%s stop", i == 0 ? "lower" : "upper");
        if (several) kd_text_append(what[i], sizeof what[i], " of q%d", f->def.coordinate);
    }
    b->kind = "joint", b->element = j->name;
    if (isfinite(d->lower)) kd_row_one_sided(b, force, measure, 1.0, &d->lower, &d->restitution, what[0]);
    if (isfinite(d->upper)) kd_row_one_sided(b, force, measure, -1.0, &d->upper, &d->restitution, what[1]);
}

static void finish(kd_model *m, int i)
{
    static const char *const others[] = {"damping", NULL};
    const kd_joint_stop_def *d = &m->force[i].def.stop;
    kd_finish_restitution(m, i, others);
    if (is_rigid(&m->force[i].def) && !(d->lower < d->upper))
        kd_model_error(m, KD_SECTION_FORCE, i, "lower", "the lower limit %g must be below the upper one, %g", d->lower,
                       d->upper);
    (void)kd_finish_joint(m, i);
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_JOINT,
    {"stiffness", KD_FIELD_NUMBER, O(stop.stiffness), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "N/m|N m/rad",
     .doc = "stiffness; this or `restitution` must be given"},
    {"restitution", KD_FIELD_NUMBER, O(stop.restitution), 1, ALL, KD_FIELD_MAYBE, NAN, BETWEEN(0, 1), "",
     .doc = "rigid, with impacts that reverse the velocity by this factor, in place of `stiffness`, damping and friction"},
    {"damping", KD_FIELD_NUMBER, O(stop.damping), 1, ALL, 0, 0, NOT_NEGATIVE, "N s/m|N m s/rad",
     .doc = "damping while there is contact"},
    {"lower", KD_FIELD_NUMBER, O(stop.lower), 1, ALL, KD_FIELD_INFINITE, -INFINITY, ANY, "m|rad",
     .doc = "lower limit of the coordinate; not given: none"},
    {"upper", KD_FIELD_NUMBER, O(stop.upper), 1, ALL, KD_FIELD_INFINITE, INFINITY, ANY, "m|rad",
     .doc = "upper limit of the coordinate; not given: none"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"q", "m|rad", KD_PROPERTY_Q, 0, NULL}, {"v", "m/s|rad/s", KD_PROPERTY_V, 0, NULL}, {"force", "N|N m", KD_PROPERTY_FORCE, 0, NULL},
};
// clang-format on

const kd_force_class kd_force_joint_stop = {
    .element =
        {
            .kind =
                {"joint_stop",
                 "limits of a joint coordinate: a one-sided spring-damper beyond them, or with `restitution` impacts"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_OF_JOINT,
            .finish = finish,
            .doubt = kd_doubt_spring,
        },
    .law = &law,
    .choose = choose,
    .nchannels = 1,
    .stiff = true,
    .measure = kd_force_coordinate,
    .make = make,
    .rows = add_limits,
};
