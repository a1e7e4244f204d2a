// point_on_plane.c: the origin of `to` stays in the plane z = 0 of `from`, d_z = 0
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)c;
    kd_row_measure(b, kd_row_shift(b, pair, 2), "distance from the plane");
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
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
