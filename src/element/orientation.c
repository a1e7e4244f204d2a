// orientation.c: the z axes of `from` and `to` keep an angle, C_zz = cos(angle + motion(t)); 0: they stay parallel,
// C_xz = C_yz = 0
#include <math.h>
#include <string.h>

#include "core/text.h"

#include "element/constraint.h"
#include "model/fields.h"

static const char *const ANGLE = "angle between the axes";

static void make_moved(kd_row_builder *b, const kd_constraint *c, int pair)
{
    const size_t   size = strlen(c->def.motion) + 60;
    char          *text = kd_arena_cut(&b->s->arena, size, 1);
    const kd_local local[] = {{KD_OWN "c", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 2, 2), 0)},
                              {KD_OWN "angle", kd_system_number(b->s, &c->def.angle)}};
    if (!text) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    kd_text(text, size, "%sc - cos(%sangle + (%s))", KD_OWN, KD_OWN, c->def.motion);
    (void)kd_row_expression(b, false, text, &c->source, local, 2, ANGLE);
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    if (c->def.motion) {
        make_moved(b, c, pair);
        return;
    }
    // parallel: two rows, since C_zz = 1 alone would be singular
    if (c->def.angle == 0.0) {
        kd_row_measure(b, kd_row_cosine(b, pair, 0, 2), "turn about y");
        kd_row_measure(b, kd_row_cosine(b, pair, 1, 2), "turn about x");
        return;
    }
    kd_row *row = kd_row_measure(b, kd_row_cosine(b, pair, 2, 2), ANGLE);
    if (!row) return;
    row->offset_of = &c->def.angle;
    row->cosine = true;
    kd_row_set(b->s, row);
}

static int rows(const kd_constraint_def *def)
{
    return def->angle == 0.0 && !def->motion ? 2 : 1;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"angle", KD_FIELD_NUMBER, O(angle), 1, ALL, 0, 0, ANY, "rad",
     .doc = "angle between the z axes"},
    {"motion", KD_FIELD_LAW, O(motion), 1, ALL, 0, 0, ANY, "rad",
     .doc = "expression of t and inputs that is added to the angle; together they stay away from 0, where the axes are parallel",
     .reads = KD_READS_TIME},
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
