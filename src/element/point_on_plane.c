// point_on_plane.c: the origin of `to` stays in the plane z = 0 of `from`, or where its motion has it, d_z = motion(t)
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_row *row = kd_row_measure(b, kd_row_shift(b, pair, 2), "distance from the plane");
    if (row) kd_row_move(b, row, c->def.motion, c->name, &c->source);
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"motion", KD_FIELD_LAW, O(motion), 1, ALL, 0, 0, ANY, "m",
     .doc = "expression of t and inputs that shifts the plane along z: a lifting table", .reads = KD_READS_TIME},
};
// clang-format on

const kd_constraint_class kd_constraint_point_on_plane = {
    .element =
        {
            .kind = {"point_on_plane", "the origin of `to` stays in the plane z = 0 of `from`"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .look = {.between = KD_LOOK_POINTS},
        },
    .make = make,
};
