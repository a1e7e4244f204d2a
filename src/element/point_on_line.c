// point_on_line.c: the origin of `to` stays on the z axis of `from`, d_x = motion_x(t), d_y = motion_y(t)
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    static const char *const what[2] = {"shift along x", "shift along y"};
    for (int i = 0; i < 2; i++) {
        kd_row *row = kd_row_measure(b, kd_row_shift(b, pair, i), what[i]);
        if (row) kd_row_move(b, row, c->def.shift[i], c->name, &c->source);
    }
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
    {"motion", KD_FIELD_LAW, O(shift), 2, ALL, 0, 0, ANY, "m",
     .doc = "expressions of t and inputs that shift the line along x and y of `from`; null: not", .reads = KD_READS_TIME},
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
