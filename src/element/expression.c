// expression.c: an expression of t, inputs and positions stays 0, or with `restitution` at 0 or above
#include <math.h>

#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    if (!kd_constraint_lifts_off(&c->def))
        (void)kd_row_expression(b, false, c->def.value, &c->source, NULL, 0, "expression");
}

static void make_one_sided(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    kd_row_lift_off(b, kd_row_expression(b, false, c->def.value, &c->source, NULL, 0, "expression"),
                    &c->def.restitution);
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of t, inputs and positions that stays 0", .reads = KD_READS_POSITIONS},
    KD_CONSTRAINT_RESTITUTION("the expression may be above 0, too (a follower that lifts off its cam); back at 0, impacts reverse its rate by this factor; not given: it stays 0"),
};
// clang-format on

const kd_constraint_class kd_constraint_expression = {
    .element =
        {
            .kind = {"expression", "an expression of t, inputs and positions stays 0"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "",
            .placeless = true,
        },
    .make = make,
    .make_one_sided = make_one_sided,
};
