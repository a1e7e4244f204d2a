// surface_kept.c: two surfaces stay in contact, gap = 0, and with `rolling` do not slip: both velocities of sliding
// vanish. Where they touch: touch.h (S1 Eq. 24 to 28)
#include "element/constraint.h"
#include "element/surfaces.h"

static int plain(kd_row_builder *b, int pair, kd_measure_kind kind, int i)
{
    return kd_system_measure(b->s, &(kd_measure){kind, .pair = pair, .dof = -1, .i = i, .turns = -1});
}

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    static const char *const slip[] = {"slip along the first tangent", "slip along the second tangent"};
    kd_system_touch(b->s, pair, c->name, c->def.surface, c->wheel_curve, c->rail_curve);
    for (int i = 0; i < b->s->ntouches; i++)
        if (b->s->touch[i].pair == pair) b->s->touch[i].kept = true;
    kd_row_measure(b, plain(b, pair, KD_MEASURE_GAP, 0), "contact of the surfaces");
    for (int i = 0; i < 2 && c->def.rolling; i++) {
        const int measure = plain(b, pair, KD_MEASURE_SLIP, i);
        const int rate = measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 1);
        kd_row_linear(b, true, 1, &rate, (const double[]){1.0}, slip[i]);
    }
}

static int row_count(const kd_constraint_def *def)
{
    return def->rolling ? 3 : 1;
}

static void finish(kd_model *m, int i)
{
    kd_constraint *c = &m->constraint[i];
    (void)kd_finish_constraint_places(m, i);
    c->wheel_curve = kd_finish_surface(m, KD_SECTION_CONSTRAINT, i, "from", &c->def.surface[0]);
    c->rail_curve = kd_finish_surface(m, KD_SECTION_CONSTRAINT, i, "to", &c->def.surface[1]);
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    KD_SURFACE_FIELDS("from", O(surface)),
    KD_SURFACE_FIELDS("to", O(surface) + sizeof(kd_surface_def)),
    {"rolling", KD_FIELD_BOOLEAN, O(rolling), 1, ALL, 0, 0, ANY, "",
     .doc = "the surfaces do not slip: two nonholonomic rows"},
};
// clang-format on

static const kd_readable readings[] = {KD_TOUCH_READINGS(KD_PROPERTY_WRENCH)};

const kd_constraint_class kd_constraint_surface_contact = {
    .element =
        {
            .kind = {"surface_contact",
                     "smooth surfaces on `from` and `to` stay in contact, and may roll on each other without slip"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .readings = readings,
            .nreadings = COUNT(readings),
            .rows = row_count,
            .finish = finish,
            .look = {.between = KD_LOOK_POINTS},
        },
    .make = make,
};
