// orientation.c: the z axes of `from` and `to` keep an angle, C_zz = cos(angle); 0: they stay parallel,
// C_xz = C_yz = 0
#include <math.h>

#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    // parallel: two rows, since C_zz = 1 alone would be singular
    if (c->def.angle == 0.0) {
        kd_row_measure(b, kd_row_cosine(b, pair, 0, 2), "turn about y");
        kd_row_measure(b, kd_row_cosine(b, pair, 1, 2), "turn about x");
        return;
    }
    kd_row *row = kd_row_measure(b, kd_row_cosine(b, pair, 2, 2), "angle between the axes");
    if (!row) return;
    row->offset_of = &c->def.angle;
    row->cosine = true;
    kd_row_set(b->s, row);
}

static int rows(const kd_constraint_def *def)
{
    return def->angle == 0.0 ? 2 : 1;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"angle", KD_FIELD_NUMBER, O(angle), 1, ALL, 0, 0, ANY, "rad",
     .doc = "angle between the z axes"},
};
// clang-format on

const kd_constraint_class kd_constraint_orientation = {
    .element =
        {
            .kind = {"orientation", "the z axes of `from` and `to` keep an angle; 0: they stay parallel"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N m",
            .rows = rows,
        },
    .make = make,
};
