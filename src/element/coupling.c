// coupling.c: gear, rack, belt: 0 = sum factor_i * coordinate_i - offset - motion(t)
#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    int slot[KD_MAX_TERMS];
    // each term is one coordinate, read by its path
    for (int i = 0; i < c->def.nterms && b->status == KD_OK; i++) {
        kd_expr *expr = NULL;
        b->status = kd_system_compile(b->s, c->def.coordinate[i], c->name, &c->source, false, NULL, 0, &expr,
                                      b->message, b->size);
        if (b->status != KD_OK) return;
        slot[i] = kd_expr_slot_count(expr) == 1 ? kd_expr_slot(expr, 0) : -1;
        if (slot[i] < 0 || b->s->slot[slot[i]].kind != KD_SLOT_MEASURE || b->s->slot[slot[i]].level != 0) {
            kd_text(b->message, b->size, "constraint '%s': '%s' is not a coordinate", c->name, c->def.coordinate[i]);
            b->status = KD_ERR_MODEL;
        }
    }
    kd_row *row = kd_row_linear(b, false, c->def.nterms, slot, c->def.factor, "coupling");
    if (!row) return;
    row->coefficient_of = c->def.factor;
    row->offset_of = &c->def.offset; // NaN: filled in at the start position
    kd_row_set(b->s, row);
    kd_row_move(b, row, c->def.value, c->name, &c->source);
}

static void finish(kd_model *m, int i)
{
    static const char *const field[KD_MAX_TERMS] = {"terms[0]", "terms[1]", "terms[2]", "terms[3]",
                                                    "terms[4]", "terms[5]", "terms[6]", "terms[7]"};
    const kd_constraint_def *def = &m->constraint[i].def;
    if (def->nterms < 1) kd_model_error(m, KD_SECTION_CONSTRAINT, i, "terms", "it couples no coordinates");
    for (int k = 0; k < def->nterms; k++) {
        kd_path path;
        char    why[300] = "";
        if (!def->coordinate[k]) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "coordinate %d is missing", k + 1);
        } else if (!kd_path_parse(m, def->coordinate[k], &path, why, sizeof why)) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "%s", why);
        } else if (path.section != KD_SECTION_JOINT || path.property != KD_PROPERTY_Q) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k],
                           "'%s' cannot be coupled: it is no coordinate of a joint, as joint.NAME.q is%s",
                           def->coordinate[k],
                           path.property == KD_PROPERTY_V ? "; speeds are coupled by 'type: velocity'" : "");
        } else if (def->factor[k] == 0.0) {
            kd_model_error(m, KD_SECTION_CONSTRAINT, i, field[k], "the factor of '%s' is 0", def->coordinate[k]);
        }
    }
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    {"terms", KD_FIELD_TERMS, O(coordinate), KD_MAX_TERMS, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "coordinates with their factors: `{joint.a.q: 1, joint.b.q: -2}`", .length = O(nterms), .second = O(factor)},
    {"offset", KD_FIELD_NUMBER, O(offset), 1, ALL, KD_FIELD_MAYBE, NAN, ANY, "",
     .doc = "value of the sum; not given: as at the start position"},
    {"motion", KD_FIELD_LAW, O(value), 1, ALL, 0, 0, ANY, "",
     .doc = "expression of t and inputs that is added to the offset: a drive between coordinates", .reads = KD_READS_TIME},
};
// clang-format on

const kd_constraint_class kd_constraint_coupling = {
    .element =
        {
            .kind = {"coupling", "the sum of factor * coordinate stays at `offset`: gear, rack, belt"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "",
            .placeless = true,
            .finish = finish,
        },
    .make = make,
};
