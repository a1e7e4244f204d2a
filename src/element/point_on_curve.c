// point_on_curve.c: the origin of `to` stays in the x-z plane of `from` on a curve, d_y = 0, d_z = curve(d_x) + motion(t);
// with `restitution` on it or above
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

// d_z - curve(d_x) - motion
static kd_row *on_curve(kd_row_builder *b, const kd_constraint *c, int pair)
{
    const char    *motion = c->def.motion ? c->def.motion : "0";
    const size_t   size = strlen(c->def.value) + strlen(motion) + 40;
    char          *text = kd_arena_cut(&b->s->arena, size, 1);
    const kd_local local[] = {{KD_OWN "x", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 0), 0)},
                              {KD_OWN "z", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 2), 0)}};
    if (!text) b->status = KD_ERR_MEMORY;
    kd_text(text, size, "%sz - %s(%sx) - (%s)", KD_OWN, c->def.value, KD_OWN, motion);
    return kd_row_expression(b, false, text, &c->source, local, 2, "point on the curve");
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_row_measure(b, kd_row_shift(b, pair, 1), "plane of the curve");
    if (!kd_constraint_lifts_off(&c->def)) (void)on_curve(b, c, pair);
}

static void make_one_sided(kd_row_builder *b, const kd_constraint *c, int pair)
{
    b->component = 1;
    kd_row_lift_off(b, on_curve(b, c, pair), &c->def.restitution);
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
    {"motion", KD_FIELD_LAW, O(motion), 1, ALL, 0, 0, ANY, "m",
     .doc = "expression of t and inputs that shifts the curve along z", .reads = KD_READS_TIME},
    KD_CONSTRAINT_RESTITUTION("the point may be above the curve, too; where it comes back, impacts reverse its speed towards the curve by this factor; not given: it stays on the curve"),
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
    .make_one_sided = make_one_sided,
};
