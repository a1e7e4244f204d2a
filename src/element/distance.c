// distance.c: a massless rod or rope: the origins of `from` and `to` keep a distance, |d| = length + motion(t);
// with `restitution` a rope that can be slack, length + motion(t) - |d| >= 0
#include <math.h>
#include <string.h>

#include "core/text.h"

#include "element/constraint.h"
#include "model/fields.h"

static int length_of(kd_row_builder *b, int pair)
{
    return kd_system_measure(b->s, &(kd_measure){KD_MEASURE_LENGTH, .pair = pair, .dof = -1, .turns = -1});
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    if (kd_constraint_lifts_off(&c->def)) return;
    kd_row *row = kd_row_measure(b, length_of(b, pair), "length");
    if (!row) return;
    row->offset_of = &c->def.length; // NaN: filled in at the design position
    kd_row_set(b->s, row);
    kd_row_move(b, row, c->def.value, c->name, &c->source);
}

static void make_one_sided(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_row *row = kd_row_one_sided(b, -1, length_of(b, pair), -1.0, &c->def.length, &c->def.restitution, "length");
    if (row) row->reversed = true;
    if (!row || !c->def.value) return;
    // 0 <= -|d| + length + motion: what is subtracted is -motion
    const size_t size = strlen(c->def.value) + 4;
    char        *text = kd_arena_cut(&b->s->arena, size, 1);
    if (!text) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    kd_text(text, size, "-(%s)", c->def.value);
    kd_row_move(b, row, text, c->name, &c->source);
}

static void finish(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    if (!kd_finish_constraint_places(m, i)) return;
    // taken from the design position; a distance of 0 has no direction
    if (isnan(c->def.length)) {
        c->def.length = kd_vec_norm(kd_vec_sub(kd_anchor_point(m, &c->to), kd_anchor_point(m, &c->from)));
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
    KD_CONSTRAINT_RESTITUTION("a rope: the distance may be shorter, too; where it becomes taut, impacts reverse its rate by this factor; not given: a rod"),
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
    .make_one_sided = make_one_sided,
};
