// expression.c: an expression of t, inputs and positions stays 0
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    kd_row_expression(b, false, c->def.value, &c->source, NULL, 0, "expression");
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of t, inputs and positions that stays 0", .reads = KD_READS_POSITIONS},
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
};
