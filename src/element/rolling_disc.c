// rolling_disc.c: a disc (centre B, axle z of B, radius R) rolls without slip on the plane z = 0 of A. With n = C e_z,
// s = sqrt(1 - n_z^2) the lowest point is at rho = -R (e_z - n_z n)/s from the centre. It touches: d_z = R s. It does
// not slip: (d' + omega x rho)_(x,y) = 0.
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    kd_measure     turn = {KD_MEASURE_TURN, .pair = pair, .dof = -1, .turns = -1};
    int            omega[3];
    const kd_local touch[] = {{"z", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 2), 0)},
                              {"nz", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 2, 2), 0)},
                              {"R", kd_system_number(b->s, &c->def.radius)}};
    kd_row_expression(b, false, "z - R*sqrt(1 - nz^2)", &c->source, touch, 3, "contact with the plane");
    // omega of `to` in the axes of `from`, which has rates alone
    for (int i = 0; i < 3; i++) {
        turn.i = i;
        omega[i] = kd_system_slot(b->s, KD_SLOT_MEASURE, kd_system_measure(b->s, &turn), 1);
    }
    const kd_local slip[] = {{"vx", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 0), 1)},
                             {"vy", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_shift(b, pair, 1), 1)},
                             {"wx", omega[0]},
                             {"wy", omega[1]},
                             {"wz", omega[2]},
                             {"nx", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 0, 2), 0)},
                             {"ny", kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, 1, 2), 0)},
                             {"nz", touch[1].slot},
                             {"R", touch[2].slot}};
    // omega x rho, rho = R/s (nz nx, nz ny, nz^2 - 1)
    kd_row_expression(b, true, "vx + R/sqrt(1 - nz^2)*(wy*(nz^2 - 1) - wz*nz*ny)", &c->source, slip, 9, "slip along x");
    kd_row_expression(b, true, "vy + R/sqrt(1 - nz^2)*(wz*nz*nx - wx*(nz^2 - 1))", &c->source, slip, 9, "slip along y");
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
