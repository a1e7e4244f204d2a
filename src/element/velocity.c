// velocity.c: an expression that is linear in velocities stays 0, h(p, v, t) = A(p, t) v + b(p, t): a gear whose ratio
// changes on the way (the coordinates of which are not coupled then), a wheel on a cone, a pursuit.
#include <math.h>

#include "core/memory.h"
#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

// ---- linear? --------------------------------------------------------------------------------------------------------
enum { SAMPLES = 8 };
static const double BEND =
    1e-9; // slopes by velocities that differ by more than this part of the largest are not those of a line

static bool is_rate(const kd_system *s, int slot)
{
    return s->slot[slot].kind == KD_SLOT_MEASURE && s->slot[slot].level == 1;
}

// Numbers between -1 and 1, the same in every run
static double next_number(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

// Slopes by velocities at one place, with two sets of velocities: equal if it is linear. Where it is not defined nothing
// is seen
static bool is_bent_at(const kd_system *s, const kd_expr *expr, unsigned *seed, double *x, double *one, double *two,
                       double *work)
{
    double largest = 0.0, difference = 0.0;
    for (int i = 0; i < s->nslots; i++) x[i] = next_number(seed);
    (void)kd_expr_gradient(expr, x, one, work);
    for (int i = 0; i < s->nslots; i++)
        if (is_rate(s, i)) x[i] = 3.0 * next_number(seed);
    (void)kd_expr_gradient(expr, x, two, work);
    for (int i = 0; i < kd_expr_slot_count(expr); i++) {
        if (!isfinite(one[i]) || !isfinite(two[i])) return false;
        if (!is_rate(s, kd_expr_slot(expr, i))) continue;
        largest = fmax(largest, fabs(one[i]));
        difference = fmax(difference, fabs(two[i] - one[i]));
    }
    return difference > BEND * largest;
}

static kd_status check_linear(const kd_system *s, const kd_expr *expr, bool *bent)
{
    const int n = kd_expr_slot_count(expr);
    double   *room = kd_alloc((size_t)(s->nslots + 2 * n + kd_expr_work_size(expr)) * sizeof *room);
    unsigned  seed = 1;
    *bent = false;
    if (!room) return KD_ERR_MEMORY;
    for (int k = 0; k < SAMPLES && !*bent; k++)
        *bent = is_bent_at(s, expr, &seed, room, room + s->nslots, room + s->nslots + n, room + s->nslots + 2 * n);
    kd_free(room);
    return KD_OK;
}

// ---- the row --------------------------------------------------------------------------------------------------------
static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    (void)pair;
    bool    bent = false;
    kd_row *row = kd_row_expression(b, true, c->def.value, &c->source, NULL, 0, "velocity");
    if (!row) return;
    bool any = false;
    for (int i = 0; i < row->nterms; i++) any = any || is_rate(b->s, row->slot[i]);
    b->status = any ? check_linear(b->s, row->expr, &bent) : KD_OK;
    if (b->status != KD_OK || (any && !bent)) return;
    char where[80] = "";
    if (c->source.file) kd_text(where, sizeof where, "%.60s:%d: ", c->source.file, c->source.line);
    kd_text(b->message, b->size, "%sconstraint '%s': '%s' %s", where, c->name, c->def.value,
            any ? "is not linear in the velocities, so that there is no one direction of its force"
                : "reads no velocity; 'type: expression' holds positions");
    b->status = KD_ERR_MODEL;
}

// clang-format off
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    {"value", KD_FIELD_LAW, O(value), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expression of t, inputs, positions and velocities that stays 0, linear in velocities: `joint.a.v - (1 + input.shift)*joint.b.v`",
     .reads = KD_READS_VELOCITIES},
};
// clang-format on

const kd_constraint_class kd_constraint_velocity = {
    .element =
        {
            .kind = {"velocity", "an expression that is linear in velocities stays 0: a gear whose ratio changes on "
                                 "the way"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "",
            .placeless = true,
        },
    .make = make,
};
