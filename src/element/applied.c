// applied.c: force and torque on a body at a point, each component an expression.
#include "element/force.h"
#include "model/fields.h"

static kd_eval applied_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    for (int i = 0; i < load->nchannels; i++) force[i] = kd_law_value(load->law[i], x, w);
    return KD_EVAL_OK;
}

static kd_eval applied_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    for (int i = 0; i < load->nchannels; i++) kd_law_gradient(load, i, load->law[i], 1.0, x, w, J);
    return KD_EVAL_OK;
}

static const kd_load_class law = {.eval = applied_eval, .jacobian = applied_jacobian, .reading = kd_read_wrench};

static void make(kd_load_builder *b, int force)
{
    const kd_applied_def *d = &b->s->model->force[force].def.applied;
    // axes of the world, or those of the place that move with the body
    bool own = d->in == KD_IN_BODY;
    int  pair = kd_force_pair(b->s, force);
    for (int i = 0; i < 6; i++) {
        // components that are not given have no channel
        if (!(i < 3 ? d->force[i] : d->torque[i - 3])) continue;
        kd_measure_kind kind =
            i < 3 ? (own ? KD_MEASURE_OWN_SHIFT : KD_MEASURE_SHIFT) : (own ? KD_MEASURE_OWN_TURN : KD_MEASURE_TURN);
        int n = b->load->nchannels;
        kd_load_add_channel(b, kd_plain_measure(b->s, pair, kind, i % 3));
        kd_load_add_law(b, n, force, i < 3 ? "force" : "torque", i % 3, NULL);
    }
}

// A point in the world without axes of its own: a force along the axes of its body does not take those of the world.
static bool is_point_of_world(const kd_place *p)
{
    const bool axes = p->axis[0] != 0.0 || p->axis[1] != 0.0 || p->axis[2] != 0.0 || p->orientation[1] != 0.0 ||
                      p->orientation[2] != 0.0 || p->orientation[3] != 0.0;
    return p->in == KD_IN_WORLD && !axes;
}

static void finish(kd_model *m, int i)
{
    kd_force *f = &m->force[i];
    if (kd_place_resolve(m, KD_SECTION_FORCE, i, "to", &f->def.to, &f->to) && f->to.body < 0)
        kd_model_error(m, KD_SECTION_FORCE, i, "to", "it acts on the ground, which does not move");
    if (f->def.applied.in == KD_IN_BODY && is_point_of_world(&f->def.to)) f->to.R = kd_mat_identity();
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    {"to", KD_FIELD_PLACE, O(to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "", .image = KD_IMAGE_FRAME,
     .doc = "point of action"},
    {"force", KD_FIELD_LAW, O(applied.force), 3, ALL, 0, 0, ANY, "N", .image = KD_IMAGE_FORCE,
     .doc = "components of the force, three expressions; null: 0"},
    {"torque", KD_FIELD_LAW, O(applied.torque), 3, ALL, 0, 0, ANY, "N m", .image = KD_IMAGE_MOMENT,
     .doc = "components of the torque, three expressions; null: 0"},
    {"axes", KD_FIELD_WORD, O(applied.in), 1, ALL, 0, KD_IN_WORLD, ANY, "",
     .doc = "whether components are along the axes of the world or of the body (of the place, where that has axes)", .words = kd_words_in},
    KD_FORCE_STIFF("it does not"),
};
static const kd_readable readings[] = {
    {"fx", "N", KD_PROPERTY_FORCE, 0, NULL},   {"fy", "N", KD_PROPERTY_FORCE, 1, NULL},   {"fz", "N", KD_PROPERTY_FORCE, 2, NULL},
    {"tx", "N m", KD_PROPERTY_FORCE, 3, NULL}, {"ty", "N m", KD_PROPERTY_FORCE, 4, NULL}, {"tz", "N m", KD_PROPERTY_FORCE, 5, NULL},
};
// clang-format on

const kd_force_class kd_force_applied = {
    .element =
        {
            .kind = {"applied", "force and torque on a body at a point"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
        },
    .law = &law,
    .nchannels = 6,
    .make = make,
};
