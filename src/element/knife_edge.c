// knife_edge.c: the origin of `to` has no velocity along y of `to`, relative to `from`: a skate
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)c;
    // the rate along an axis of `to` has no value behind it: nonholonomic
    kd_measure side = {KD_MEASURE_OWN_SHIFT, .pair = pair, .dof = -1, .i = 1, .turns = -1};
    int        measure = kd_system_measure(b->s, &side);
    int        slot = measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 1);
    kd_row_linear(b, true, 1, &slot, (const double[]){1.0}, "sideways velocity");
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES_OF(KD_IMAGE_KEEPS_XY, KD_IMAGE_KEEPS_XY),
};
// clang-format on

const kd_constraint_class kd_constraint_knife_edge = {
    .element =
        {
            .kind = {"knife_edge", "the origin of `to` has no velocity along y of `to`, relative to `from`"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
        },
    .make = make,
};
