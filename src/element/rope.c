// rope.c: a rope without mass and stretch from `from` over pulleys that are small against its length to `to`:
//
//     0 = |r_1 - r_0| + |r_2 - r_1| + .. - length - motion(t, positions)
//
// It runs through the points freely, so that its tension is the same everywhere. `motion` is what a winch pays out:
// -R q of a drum, or any function of positions where the layers on it count. With `restitution` it can be slack:
// length + motion - |..| >= 0.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

static const kd_anchor *point_of(const kd_constraint *c, int i)
{
    return i == 0 ? &c->from : i > c->def.nover ? &c->to : &c->over[i - 1];
}

// "-L - (motion) + s0 + s1", or the negative of it: names that no text of a user can have
static kd_row *along(kd_row_builder *b, const kd_constraint *c, bool slack)
{
    static const char *const name[KD_MAX_OVER + 1] = {KD_OWN "s0", KD_OWN "s1", KD_OWN "s2", KD_OWN "s3",
                                                      KD_OWN "s4", KD_OWN "s5", KD_OWN "s6"};
    const char              *motion = c->def.motion ? c->def.motion : "0";
    const int                n = c->def.nover + 1;
    const size_t             size = strlen(motion) + 20 * (KD_MAX_OVER + 4);
    char                    *text = kd_arena_cut(&b->s->arena, size, 1);
    kd_local                 local[KD_MAX_OVER + 2];
    if (!text) {
        b->status = KD_ERR_MEMORY;
        return NULL;
    }
    // one expression for the whole length: each straight part has a name in it
    kd_text(text, size, slack ? "%sL + (%s)" : "-%sL - (%s)", KD_OWN, motion);
    for (int i = 0; i < n; i++) {
        const int pair = kd_system_pair(b->s, point_of(c, i), point_of(c, i + 1));
        const int length =
            pair < 0 ? -1
                     : kd_system_measure(b->s, &(kd_measure){KD_MEASURE_LENGTH, .pair = pair, .dof = -1, .turns = -1});
        local[i] = (kd_local){name[i], length < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, length, 0)};
        kd_text_append(text, size, "%c %s", slack ? '-' : '+', name[i]);
    }
    local[n] = (kd_local){KD_OWN "L", kd_system_number(b->s, &c->def.length)};
    return kd_row_expression(b, false, text, &c->source, local, n + 1, "length");
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    if (!kd_constraint_lifts_off(&c->def)) (void)along(b, c, false);
}

static void make_one_sided(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    kd_row *row = along(b, c, true);
    if (row) row->reversed = true;
    kd_row_lift_off(b, row, &c->def.restitution);
}

static bool resolve(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    bool           fine = kd_place_resolve(m, KD_SECTION_CONSTRAINT, i, "from", &c->def.from, &c->from);
    for (int k = 0; k < c->def.nover; k++)
        fine = kd_place_resolve(m, KD_SECTION_CONSTRAINT, i, "over", &c->def.over[k], &c->over[k]) && fine;
    return kd_place_resolve(m, KD_SECTION_CONSTRAINT, i, "to", &c->def.to, &c->to) && fine;
}

static void finish(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    double         length = 0.0;
    bool           moves = false;
    if (!resolve(m, i)) return;
    // spans at the design position; one of no length has no direction
    for (int k = 0; k <= c->def.nover; k++) {
        const kd_anchor *a = point_of(c, k), *b = point_of(c, k + 1);
        const double     span = kd_vec_norm(kd_vec_sub(kd_anchor_point(m, b), kd_anchor_point(m, a)));
        moves = moves || a->body != b->body;
        length += span;
        if (!(span > 0.0)) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, c->def.nover > 0 ? "over" : "to",
                           "points %d and %d of the rope are at the same place, so that it has no direction there",
                           k + 1, k + 2);
            return;
        }
    }
    if (!moves) {
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "to", "all points of the rope are on the same body");
    }
    if (isnan(c->def.length)) c->def.length = length;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    {"from", KD_FIELD_PLACE, O(from), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "", .image = KD_IMAGE_KEEPS_XZ, .doc = "where it begins"},
    {"over", KD_FIELD_PLACES, O(over), KD_MAX_OVER, ALL, 0, 0, ANY, "", .image = KD_IMAGE_KEEPS_XZ, .length = O(nover),
     .doc = "a point or a list of points that it runs through: pulleys, eyes, blocks; one may come several times"},
    {"to", KD_FIELD_PLACE, O(to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "", .image = KD_IMAGE_KEEPS_XZ, .doc = "where it ends"},
    {"length", KD_FIELD_NUMBER, O(length), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m",
     .doc = "of all spans together; not given: as at the design position"},
    {"motion", KD_FIELD_LAW, O(motion), 1, ALL, 0, 0, ANY, "m",
     .doc = "expression of t, inputs and positions that is added to the length: `-0.2*joint.drum.q` is a winch", .reads = KD_READS_POSITIONS},
    KD_CONSTRAINT_RESTITUTION("it may be slack; where it becomes taut, impacts reverse the rate of its length by this factor; not given: it is always taut, and carries pressure, too"),
};
// clang-format on

const kd_constraint_class kd_constraint_rope = {
    .element =
        {
            .kind = {"rope", "the way from `from` over points to `to` keeps its length, which a `motion` may change: "
                             "a rope over pulleys, a tackle, a winch"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .placeless = true,
            .finish = finish,
            .look = {.between = KD_LOOK_ROPE},
        },
    .make = make,
    .make_one_sided = make_one_sided,
};
