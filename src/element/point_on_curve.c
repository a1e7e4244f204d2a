// point_on_curve.c: the origin of `to` stays in the x-z plane of `from` on a curve, d_y = 0, d_z = curve(d_x)
#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    char           text[200];
    const kd_local local[] = {{"x", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 0), 0)},
                              {"z", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 2), 0)}};
    kd_row_measure(b, kd_row_shift(b, pair, 1), "plane of the curve");
    kd_text(text, sizeof text, "z - %s(x)", c->def.value);
    kd_row_expression(b, false, text, &c->source, local, 2, "point on the curve");
}

static void finish(kd_model *m, int i)
{
    (void)kd_finish_constraint_places(m, i);
    m->constraint[i].curve = kd_finish_curve(m, KD_SECTION_CONSTRAINT, i, "curve", m->constraint[i].def.value);
}

static int two_rows(const kd_constraint_def *def)
{
    (void)def;
    return 2;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"curve", KD_FIELD_NAME, O(value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "name of the curve", .refers = KD_SCHEMA_CURVE},
};
// clang-format on

const kd_constraint_class kd_constraint_point_on_curve = {
    .element =
        {
            .kind = {"point_on_curve", "the origin of `to` stays in the x-z plane of `from` on z = curve(x)"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .rows = two_rows,
            .finish = finish,
            .look = {.between = KD_LOOK_POINTS},
        },
    .make = make,
};
