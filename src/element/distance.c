// distance.c: a massless rod or rope: the origins of `from` and `to` keep a distance, |d| = length + motion(t)
#include <math.h>

#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_measure length = {KD_MEASURE_LENGTH, .pair = pair, .dof = -1, .turns = -1};
    kd_row    *row = kd_row_measure(b, kd_system_measure(b->s, &length), "length");
    if (!row) return;
    row->offset_of = &c->def.length; // NaN: filled in at the design position
    kd_row_set(b->s, row);
    kd_row_move(b, row, c->def.value, c->name, &c->source);
}

static kd_vec3 world_point(const kd_model *m, const kd_anchor *a)
{
    return a->body < 0 ? a->r : kd_vec_add(m->body[a->body].r, kd_mat_vec(&m->body[a->body].R, a->r));
}

static void finish(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    if (!kd_finish_constraint_places(m, i)) return;
    // taken from the design position; a distance of 0 has no direction
    if (isnan(c->def.length)) {
        c->def.length = kd_vec_norm(kd_vec_sub(world_point(m, &c->to), world_point(m, &c->from)));
    }
    if (!(c->def.length > 0.0)) {
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "length",
                       "the distance is 0, and so has no direction; a spherical joint holds two points together");
    }
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"length", KD_FIELD_NUMBER, O(length), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m",
     .doc = "distance; not given: as at the design position"},
    {"motion", KD_FIELD_LAW, O(value), 1, ALL, 0, 0, ANY, "m",
     .doc = "expression of t and inputs that is added to the length: a winch, a telescope", .reads = KD_READS_TIME},
};
// clang-format on

const kd_constraint_class kd_constraint_distance = {
    .element =
        {
            .kind = {"distance", "the origins of `from` and `to` keep a distance, which a `motion` may change: a "
                                 "massless rod, a rope on a winch"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .finish = finish,
            .look = {.between = KD_LOOK_ROD},
        },
    .make = make,
};
