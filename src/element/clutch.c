// clutch.c: dry friction torque about a common axis, between two places (z of `from`) or along a coordinate of a joint.
//
// With the relative angular velocity v of `to`, the capacity C = max(0, capacity(t, ..)), which a pedal, a pressure or
// a controller gives, and the direction z of sliding, a discrete state that events change:
//
//     z = 1, -1:  it slides,  f = -z C (1 + (breakaway - 1) exp(-(v/stribeck)^2))
//     z = 0:      it sticks,  the row v = 0 holds with |mu| <= breakaway C
//
// Variables v, then those of the capacity. docs/methods/friction.md
#include <math.h>

#include "element/force.h"
#include "model/channel.h"
#include "model/fields.h"

typedef struct clutch_state {
    double capacity, level, level_v; // per capacity: factor of the torque while sliding, and its derivative by v
} clutch_state;

static clutch_state clutch_at(const kd_load *load, const double *x, kd_work *w)
{
    const kd_clutch_def *d = &load->def->clutch;
    const double         v = x[load->variable[0]], s2 = d->stribeck * d->stribeck;
    // factor 1 + (breakaway - 1) exp(-(v/stribeck)^2) and its slope
    const double fall = s2 > 0.0 ? exp(-v * v / s2) : 0.0;
    clutch_state c = {.capacity = fmax(kd_law_value(load->law[0], x, w), 0.0)};
    c.level = 1.0 + (d->breakaway - 1.0) * fall;
    c.level_v = s2 > 0.0 ? -2.0 * v / s2 * (d->breakaway - 1.0) * fall : 0.0;
    return c;
}

// Before rows are made there is nothing that it could act by
static double side(const kd_load *load, const double *x)
{
    return load->direction >= 0 ? x[load->direction] : 0.0;
}

static kd_eval eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const clutch_state c = clutch_at(load, x, w);
    (void)rate;
    force[0] = -side(load, x) * c.capacity * c.level;
    return KD_EVAL_OK;
}

static kd_eval jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const clutch_state c = clutch_at(load, x, w);
    const double       z = side(load, x);
    kd_law_put(load, 0, 0, -z * c.capacity * c.level_v, J);
    // an open clutch (capacity cut off at 0) has no slope
    if (c.capacity > 0.0) kd_law_gradient(load, 0, load->law[0], -z * c.level, x, w, J);
    return KD_EVAL_OK;
}

static void energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double force;
    (void)eval(load, x, w, &force, NULL);
    sum->dissipated -= force * x[load->variable[0]];
}

static double limit(const kd_load *load, const double *x, kd_work *w)
{
    return load->def->clutch.breakaway * clutch_at(load, x, w).capacity;
}

static const kd_load_class law = {.eval = eval,
                                  .jacobian = jacobian,
                                  .energy = energy,
                                  .reading = kd_read_sticking,
                                  .limit = limit,
                                  .cost = {.operations = 12, .functions = 1, .slopes = 10, .slope_functions = 1}};

// ---- in models ------------------------------------------------------------------------------------------------------
static int measure(kd_system *s, int force)
{
    if (s->model->force[force].joint >= 0) return kd_force_coordinate(s, force);
    return kd_plain_measure(s, kd_force_pair(s, force), KD_MEASURE_TURN, 2);
}

static void make(kd_load_builder *b, int force)
{
    // along the relative angular velocity; the row of sticking has been made before
    const int along = measure(b->s, force);
    kd_load_add_channel(b, along);
    kd_load_add_measured(b, along, 1);
    if (b->status == KD_OK) kd_load_add_law(b, 0, force, "capacity", 0, b->load->variable);
    if (b->status == KD_OK) kd_load_find_direction(b, force);
}

static void add_sticking(kd_row_builder *b, int force)
{
    kd_row_sticking(b, force, measure(b->s, force), &b->s->model->force[force].def.clutch.stribeck);
}

static void finish(kd_model *m, int i)
{
    const kd_force *f = &m->force[i];
    if (!f->def.joint) {
        kd_finish_two_places(m, i);
        return;
    }
    if (!kd_finish_joint(m, i)) return;
    const kd_joint *j = &m->joint[f->joint];
    if (!kd_joint_turns(j->def.kind, f->def.coordinate - 1))
        kd_model_error(m, KD_SECTION_FORCE, i, "coordinate", "coordinate %d of joint '%s' is no angle",
                       f->def.coordinate, j->name);
    if (j->def.motion[f->def.coordinate - 1])
        kd_model_error(m, KD_SECTION_FORCE, i, "joint", "the motion of joint '%s' is prescribed: it cannot stick",
                       j->name);
}

static const char *const locals[] = {"rate", NULL};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES_OF(KD_IMAGE_KEEPS_XY, KD_IMAGE_KEEPS_XY),
    {"joint", KD_FIELD_NAME, O(joint), 1, ALL, 0, 0, ANY, "",
     .doc = "the joint that it acts in, in place of `from` and `to`", .refers = KD_SCHEMA_JOINT},
    {"coordinate", KD_FIELD_INTEGER, O(coordinate), 1, ALL, 0, 1, BETWEEN(1, 6), "",
     .doc = "which coordinate of the joint, an angle"},
    {"capacity", KD_FIELD_LAW, O(clutch.capacity), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "N m",
     .doc = "largest torque while sliding, an expression of rate and of paths; below 0 the clutch is open", .locals = locals},
    {"breakaway", KD_FIELD_NUMBER, O(clutch.breakaway), 1, ALL, 0, 1, {1, 1000, false}, "",
     .doc = "largest torque while it sticks, in capacities"},
    {"stribeck", KD_FIELD_NUMBER, O(clutch.stribeck), 1, ALL, 0, 0, NOT_NEGATIVE, "rad/s",
     .doc = "velocity at which the surplus of `breakaway` has fallen to 1/e; 0: there is none while it slides"},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"rate", "rad/s", KD_PROPERTY_V, 0, NULL}, {"torque", "N m", KD_PROPERTY_FORCE, 0, NULL},
};
// clang-format on

const kd_force_class kd_force_clutch = {
    .element =
        {
            .kind = {"clutch",
                     "dry friction about z between two frames, or along an angle of a joint, with a capacity that "
                     "is given from outside; it sticks and slides by events"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_OF_TURN,
            .finish = finish,
        },
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .measure = measure,
    .make = make,
    .rows = add_sticking,
};
