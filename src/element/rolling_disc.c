// rolling_disc.c: a disc (centre B, axle z of B, radius R) rolls without slip on the plane z = 0 of A. With n = C e_z,
// s = sqrt(1 - n_z^2) the lowest point is at rho = -R (e_z - n_z n)/s from the centre. It touches: d_z = R s. It does
// not slip: (d' + omega x rho)_(x,y) = 0.
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

// The text of a row: the radius with its motion between two parts
static const char *text_of(kd_row_builder *b, const kd_constraint *c, const char *before, const char *after)
{
    const char  *motion = c->def.motion ? c->def.motion : "0";
    const size_t size = strlen(before) + strlen(motion) + strlen(after) + 20;
    char        *text = kd_arena_cut(&b->s->arena, size, 1);
    if (!text)
        b->status = KD_ERR_MEMORY;
    else
        kd_text(text, size, "%s(" KD_OWN "R + (%s))%s", before, motion, after);
    return text;
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_measure     turn = {KD_MEASURE_TURN, .pair = pair, .dof = -1, .turns = -1};
    int            omega[3];
    const kd_local touch[] = {{KD_OWN "z", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 2), 0)},
                              {KD_OWN "nz", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 2, 2), 0)},
                              {KD_OWN "R", kd_system_number(b->s, &c->def.radius)}};
    kd_row_expression(b, false, text_of(b, c, KD_OWN "z - ", "*sqrt(1 - " KD_OWN "nz^2)"), &c->source, touch, 3,
                      "contact with the plane");
    // omega of `to` in the axes of `from`, which has rates alone
    for (int i = 0; i < 3; i++) {
        turn.i = i;
        omega[i] = kd_system_slot(b->s, KD_SLOT_MEASURE, kd_system_measure(b->s, &turn), 1);
    }
    const kd_local slip[] = {{KD_OWN "vx", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 0), 1)},
                             {KD_OWN "vy", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 1), 1)},
                             {KD_OWN "wx", omega[0]},
                             {KD_OWN "wy", omega[1]},
                             {KD_OWN "wz", omega[2]},
                             {KD_OWN "nx", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 0, 2), 0)},
                             {KD_OWN "ny", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 1, 2), 0)},
                             {KD_OWN "nz", touch[1].slot},
                             {KD_OWN "R", touch[2].slot}};
    // omega x rho, rho = R/s (nz nx, nz ny, nz^2 - 1)
#define S "/sqrt(1 - " KD_OWN "nz^2)*("
    kd_row_expression(
        b, true,
        text_of(b, c, KD_OWN "vx + ", S KD_OWN "wy*(" KD_OWN "nz^2 - 1) - " KD_OWN "wz*" KD_OWN "nz*" KD_OWN "ny)"),
        &c->source, slip, 9, "slip along x");
    kd_row_expression(
        b, true,
        text_of(b, c, KD_OWN "vy + ", S KD_OWN "wz*" KD_OWN "nz*" KD_OWN "nx - " KD_OWN "wx*(" KD_OWN "nz^2 - 1))"),
        &c->source, slip, 9, "slip along y");
#undef S
}

static int three_rows(const kd_constraint_def *def)
{
    (void)def;
    return 3;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES_OF(KD_IMAGE_KEEPS_XZ, KD_IMAGE_KEEPS_XY),
    {"radius", KD_FIELD_NUMBER, O(radius), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius of the disc"},
    {"motion", KD_FIELD_LAW, O(motion), 1, ALL, 0, 0, ANY, "m",
     .doc = "expression of t and inputs that is added to the radius: a tyre that is inflated", .reads = KD_READS_TIME},
};
// clang-format on

const kd_constraint_class kd_constraint_rolling_disc = {
    .element =
        {
            .kind = {"rolling_disc",
                     "a disc (centre and axle z of `to`) rolls without slip on the plane z = 0 of `from`"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .rows = three_rows,
            .look = {.wheel = KD_LOOK_DISC, .floor = KD_LOOK_FLOOR, .radius = offsetof(kd_constraint_def, radius)},
        },
    .make = make,
};
