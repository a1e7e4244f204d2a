// point_on_line.c: the origin of `to` stays on the z axis of `from`, d_x = d_y = 0
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)c;
    kd_row_measure(b, kd_row_shift(b, pair, 0), "shift along x");
    kd_row_measure(b, kd_row_shift(b, pair, 1), "shift along y");
}

static int two_rows(const kd_constraint_def *def)
{
    (void)def;
    return 2;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES_OF(KD_IMAGE_KEEPS_XY, KD_IMAGE_KEEPS_XZ),
};
// clang-format on

const kd_constraint_class kd_constraint_point_on_line = {
    .element =
        {
            .kind = {"point_on_line", "the origin of `to` stays on the z axis of `from`"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .rows = two_rows,
            .look = {.between = KD_LOOK_POINTS},
        },
    .make = make,
};
