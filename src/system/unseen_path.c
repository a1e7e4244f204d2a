// unseen_path.c: the path of a step as laws see it: both ends, and what variables and laws are in between.
// Method: docs/methods/intervals.md
//
// Measured quantities move along the cubic of their values and rates at both ends, inputs by their expressions, inner
// states straight. Ranges come from Bernstein's coefficients on a part of the step, and by interval arithmetic from there.
#include "system/unseen.h"

#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "element/force.h"

#define MARGIN 0.1 // of the bend of a cubic: the motion is none

static const kd_interval all = {-INFINITY, INFINITY};

// ---- the ends of a step ---------------------------------------------------------------------------------------------

bool kd_unseen_is_end(const kd_system *s, const kd_unseen_end *e, const kd_point *x)
{
    const size_t p = (size_t)s->np, v = (size_t)s->nv, r = (size_t)s->nr, d = sizeof(double);
    return e->t == x->t && memcmp(e->state, x->p, p * d) == 0 && memcmp(e->state + p, x->v, v * d) == 0 &&
           (r == 0 || memcmp(e->state + p + v, x->r, r * d) == 0);
}

void kd_unseen_take_end(kd_work *w, const kd_point *x, kd_unseen_end *e)
{
    const kd_system *s = w->system;
    const size_t p = (size_t)s->np, v = (size_t)s->nv, d = sizeof(double), n = (size_t)s->upto[KD_FOR_LOADS].measures;
    kd_point     own = *x; // stamps are those of its owner
    own.time_stamp = own.position_stamp = own.velocity_stamp = own.acceleration_stamp = --w->enclosure.stamp;
    kd_work_forget(w);
    if (s->laws_of_places)
        kd_work_velocity(w, &own, KD_FOR_LOADS);
    else if (s->laws_of_motion)
        kd_work_dofs(w, &own);
    e->t = x->t;
    memcpy(e->state, x->p, p * d);
    memcpy(e->state + p, x->v, v * d);
    if (s->nr > 0) memcpy(e->state + p + v, x->r, (size_t)s->nr * d);
    if (s->laws_of_motion) {
        memcpy(e->value, w->value, n * d);
        memcpy(e->rate, w->rate, n * d);
    }
    for (int i = 0; s->laws_of_places && i < (int)n; i++)
        if (kd_unseen_is_length(w, i)) kd_unseen_take_way(w, i, e->way);
    for (int k = 0; k < s->model->ninputs; k++) e->u[k] = x->u[k], e->u[s->model->ninputs + k] = x->du[k];
}

// Effect of a unit of each law per time, by the inertia M_ii of the velocities that it acts on
static double inertia_of(const kd_work *w, int velocity)
{
    const kd_tree *tree = &w->system->tree;
    if (!tree->column) { // a large model: of the link alone
        const kd_link *link = &tree->link[tree->dof_link[tree->v_dof[velocity]]];
        return link->mass > 0.0 ? link->mass : 1.0;
    }
    for (int k = tree->column[velocity]; k < tree->column[velocity + 1]; k++)
        if (tree->row[k] == velocity) return w->unseen.mass[k];
    return 0.0;
}

static double state_atol(const kd_system *s, const kd_step_seen *seen, int state)
{
    return seen->atol * (seen->unit ? seen->unit[s->np + s->nv + state] : 1.0);
}

double kd_unseen_measure_atol(const kd_work *w, const kd_step_seen *seen, int measure, int level)
{
    const kd_measure *m = &w->system->measure[measure];
    double            unit = 1.0;
    if (!seen->unit) return seen->atol;
    switch (m->kind) {
    case KD_MEASURE_DOF:
        unit = kd_system_dof_unit(w->system, m->dof, w->unseen.length);
        break;
    case KD_MEASURE_SHIFT:
    case KD_MEASURE_LENGTH:
    case KD_MEASURE_GAP:
    case KD_MEASURE_OWN_SHIFT:
    case KD_MEASURE_SLIP:
        unit = w->unseen.length;
        break;
    default:
        break;
    }
    for (int k = 0; k < level; k++) unit /= w->unseen.time;
    return seen->atol * unit;
}

double kd_unseen_atol(const kd_work *w, const kd_step_seen *seen, int slot)
{
    const kd_slot at = w->system->slot[slot];
    return at.kind == KD_SLOT_MEASURE ? kd_unseen_measure_atol(w, seen, at.index, at.level)
           : at.kind == KD_SLOT_STATE ? state_atol(w->system, seen, at.index)
                                      : seen->atol;
}

// speed: of the velocity that answers most, in tolerances
static double mobility_along(const kd_work *w, int measure, const kd_step_seen *seen, double *speed)
{
    const kd_system  *s = w->system;
    const kd_measure *m = &s->measure[measure];
    const double     *v0 = w->unseen.end[0].state + s->np, *v1 = w->unseen.end[1].state + s->np;
    const int         n = m->kind == KD_MEASURE_DOF ? 1 : s->pair[m->pair].nsteps;
    double            most = 0.0;
    for (int l = 0; l < n; l++) {
        const int dof = m->kind == KD_MEASURE_DOF ? m->dof : s->pair[m->pair].step[l].dof, i = s->tree.dof_v[dof];
        if (i < 0) continue;
        const double slope = w->slope[w->slope_at[measure] + l], inertia = inertia_of(w, i);
        const double tolerance =
            seen->rtol * fmax(fabs(v0[i]), fabs(v1[i])) + seen->atol * (seen->unit ? seen->unit[s->np + i] : 1.0);
        if (!(inertia > 0.0) || fabs(slope) / (inertia * tolerance) <= most) continue;
        most = fabs(slope) / (inertia * tolerance);
        *speed = fabs(v0[i]) / tolerance;
    }
    return most;
}

// At the end of the step, which the work object has just been at
void kd_unseen_mobilities(kd_work *w, const kd_step_seen *seen, const kd_point *x1, bool also)
{
    const kd_system *s = w->system;
    kd_point         own = *x1;
    own.time_stamp = own.position_stamp = own.velocity_stamp = own.acceleration_stamp = --w->enclosure.stamp;
    kd_work_forget(w);
    kd_work_axes(w, &own, KD_FOR_LOADS);
    if (s->tree.column) kd_tree_mass(&s->tree, &w->motion, w->unseen.mass);
    for (int i = 0; i < s->nlaws; i++) {
        const kd_law *law = &s->law[i];
        const double *r = w->unseen.end[1].state + s->np + s->nv;
        double        speed = 0.0;
        const double  mobility = law->effect == KD_EFFECT_FORCE ? mobility_along(w, law->measure, seen, &speed)
                                 : law->effect == KD_EFFECT_RATE
                                     ? 1.0 / (seen->rtol * fabs(r[law->state]) + state_atol(s, seen, law->state))
                                     : 1.0;
        if (also && !(mobility > w->unseen.mobility[i])) continue;
        w->unseen.mobility[i] = mobility;
        w->unseen.speed[i] = speed;
    }
    w->unseen.age = 0;
}

// ---- variables along the step ---------------------------------------------------------------------------------------

static double middle(kd_interval a)
{
    return 0.5 * (a.lower + a.upper);
}

double kd_cubic_at(const kd_cubic *c, double x, double *slope, double *bend)
{
    const double y = 1.0 - x, rise = c->s[1] - c->s[0];
    *slope = y * (y - 2.0 * x) * c->v[0] + x * (x - 2.0 * y) * c->v[1] + 6.0 * x * y * rise;
    *bend = (6.0 * x - 4.0) * c->v[0] + (6.0 * x - 2.0) * c->v[1] + 6.0 * (y - x) * rise;
    return x < 0.5 ? c->s[0] + x * (y * y * c->v[0] - x * y * c->v[1] + x * (3.0 - 2.0 * x) * rise)
                   : c->s[1] - y * (y * (3.0 - 2.0 * y) * rise + x * x * c->v[1] - x * y * c->v[0]);
}

static kd_interval hull(const double *c, int n, double margin)
{
    kd_interval range = {c[0], c[0]};
    for (int i = 1; i < n; i++) range = (kd_interval){fmin(range.lower, c[i]), fmax(range.upper, c[i])};
    range = (kd_interval){range.lower - margin, range.upper + margin};
    return range.lower <= range.upper ? range : all;
}

// Value (level 0) or slope (level 1) between a and b, by Bernstein's coefficients of this part
kd_interval kd_cubic_range(const kd_cubic *c, double a, double b, int level)
{
    double       va, vb, ba, bb;
    const double w = b - a, sa = kd_cubic_at(c, a, &va, &ba), sb = kd_cubic_at(c, b, &vb, &bb);
    const double bend = MARGIN * w * fabs(vb - va);
    if (level == 0) return hull((double[]){sa, sa + w / 3.0 * va, sb - w / 3.0 * vb, sb}, 4, 0.125 * bend);
    return hull((double[]){va, va + 0.5 * w * ba, vb}, 3, 0.0);
}

// Between the parts a and b of one piece of the path, h long
static kd_interval range_in_piece(const kd_measure *m, const kd_cubic *c, double h, double a, double b, int level)
{
    const double pi = KD_PI;
    if (!kd_measure_has_value(m)) // rates alone: straight
        return hull((double[]){(c->v[0] + a * (c->v[1] - c->v[0])) / h, (c->v[0] + b * (c->v[1] - c->v[0])) / h}, 2,
                    0.0);
    if (m->kind == KD_MEASURE_ANGLE && m->turns < 0 && fabs(c->s[1] - c->s[0] - 0.5 * (c->v[0] + c->v[1])) > pi)
        return level == 0 ? (kd_interval){-pi, pi}
                          : hull((double[]){c->v[0] / h, c->v[1] / h}, 2, 0.0); // jumped over pi
    const kd_interval range = kd_cubic_range(c, a, b, level);
    return level == 1 ? (kd_interval){range.lower / h, range.upper / h} : range;
}

static kd_interval range_of_measure(const kd_work *w, kd_slot at, double h, double a, double b)
{
    const kd_measure *m = &w->system->measure[at.index];
    const int         pieces = w->unseen.place[at.index] >= 0 ? w->unseen.pieces : 1;
    kd_interval       range = {INFINITY, -INFINITY};
    double            first, last;
    if (at.level > 1) return all;
    // all pieces that have a part of it
    const int end = (int)fmin(fmax(ceil(b * pieces), floor(a * pieces) + 1.0), pieces);
    for (int k = (int)fmin(floor(a * pieces), pieces - 1); k < end; k++) {
        const kd_cubic c = kd_unseen_piece(w, at.index, (k + 0.5) / pieces, &first);
        first = fmax(a * pieces - k, 0.0), last = fmin(b * pieces - k, 1.0);
        const kd_interval more = kd_unseen_is_length(w, at.index)
                                     ? kd_unseen_lengths(w, at.index, k, first, fmax(last, first), at.level)
                                     : range_in_piece(m, &c, h / pieces, first, fmax(last, first), at.level);
        range = (kd_interval){fmin(range.lower, more.lower), fmax(range.upper, more.upper)};
    }
    return range;
}

// Inputs by their expressions, those of the caller by what is known at the ends
static kd_interval range_of_input(kd_work *w, int k, double h, double a, double b)
{
    const kd_system     *s = w->system;
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const int            nu = s->model->ninputs;
    const kd_interval    time = {a > 0.0 ? e0->t + a * h : e0->t, b < 1.0 ? e0->t + b * h : e1->t};
    if (!w->unseen.foreign && s->input[k]) return kd_expr_bounds(s->input[k], &time, w->breaks.work);
    const kd_cubic c = {{e0->u[k], e1->u[k]}, {h * e0->u[nu + k], h * e1->u[nu + k]}};
    return kd_cubic_range(&c, a, b, 0);
}

// Do inputs follow their expressions? If not, a function in C gives them.
void kd_unseen_check_inputs(kd_work *w, const kd_unseen_end *e)
{
    const kd_system  *s = w->system;
    const kd_interval t = {e->t, e->t};
    for (int k = 0; k < s->model->ninputs && !w->unseen.foreign; k++) {
        const double      start = s->model->input[k].def.start;
        const kd_interval u =
            s->input[k] ? kd_expr_bounds(s->input[k], &t, w->breaks.work) : (kd_interval){start, start};
        if (!(u.lower <= e->u[k] && e->u[k] <= u.upper)) w->unseen.foreign = s->model->input[k].name;
    }
}

kd_interval kd_unseen_range(kd_work *w, const kd_point *x1, int i, double a, double b)
{
    const kd_system     *s = w->system;
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const kd_slot        at = s->slot[i];
    const double         h = e1->t - e0->t;
    switch (at.kind) {
    case KD_SLOT_TIME:
        return (kd_interval){a > 0.0 ? e0->t + a * h : e0->t, b < 1.0 ? e0->t + b * h : e1->t};
    case KD_SLOT_INPUT:
        return range_of_input(w, at.index, h, a, b);
    case KD_SLOT_STATE: {
        const double r0 = e0->state[s->np + s->nv + at.index], r1 = e1->state[s->np + s->nv + at.index];
        return w->enclosure.state[at.index] = hull((double[]){r0 + a * (r1 - r0), r0 + b * (r1 - r0)}, 2, 0.0);
    }
    case KD_SLOT_DISCRETE:
        return (kd_interval){x1->z[at.index], x1->z[at.index]};
    case KD_SLOT_MEASURE:
        return range_of_measure(w, at, h, a, b);
    default:
        return all;
    }
}

// The same at one part of the step
static double value_of(kd_work *w, const kd_point *x1, int i, double part)
{
    const kd_system     *s = w->system;
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const kd_slot        at = s->slot[i];
    const double         h = e1->t - e0->t;
    double               slope, bend;
    if (at.kind == KD_SLOT_INPUT && !w->unseen.foreign && s->input[at.index]) {
        const double t = part < 1.0 ? e0->t + part * h : e1->t;
        return kd_expr_value(s->input[at.index], &t, w->expr_work);
    }
    if (at.kind == KD_SLOT_MEASURE && at.level <= 1) {
        const kd_measure *m = &s->measure[at.index];
        const bool        wraps = m->kind == KD_MEASURE_ANGLE && m->turns < 0;
        const double      length = w->unseen.place[at.index] >= 0 ? h / w->unseen.pieces : h; // of a piece
        double            inside;
        if (kd_unseen_is_length(w, at.index)) {
            const int piece = kd_unseen_piece_of(w, at.index, part, &inside);
            return kd_unseen_length(w, at.index, piece, inside, at.level);
        }
        const kd_cubic c = kd_unseen_piece(w, at.index, part, &inside);
        if (!kd_measure_has_value(m)) return (c.v[0] + inside * (c.v[1] - c.v[0])) / length;
        if (!wraps) {
            const double value = kd_cubic_at(&c, inside, &slope, &bend);
            return at.level == 0 ? value : slope / length;
        }
    }
    return middle(kd_unseen_range(w, x1, i, part, part));
}

// Ranges of the terms of a law between the parts a and b of the step
void kd_unseen_ranges(kd_work *w, const kd_law *law, const kd_point *x1, double a, double b, kd_interval *out)
{
    const kd_system *s = w->system;
    kd_interval     *slot = w->enclosure.slot;
    for (int k = 0; k < law->nslots; k++) slot[law->slot[k]] = kd_unseen_range(w, x1, law->slot[k], a, b);
    for (int k = 0; k < law->npi; k++) {
        const int    r = s->load[law->pi[k]].state, at = s->np + s->nv + r;
        const double r0 = w->unseen.end[0].state[at], r1 = w->unseen.end[1].state[at];
        w->enclosure.state[r] = hull((double[]){r0 + a * (r1 - r0), r0 + b * (r1 - r0)}, 2, 0.0);
        kd_range_output(w, law->pi[k], slot);
    }
    if (!law->expr) {
        out[0] = kd_law_bounds(law, slot, w);
        return;
    }
    (void)kd_expr_bounds(law->expr, slot, w->breaks.work);
    for (int k = 0; k < law->nterms; k++) out[k] = w->breaks.work[law->term[k].entry];
}

// The values of all terms at a part of the step; the variables of the work object are overwritten
void kd_unseen_values(kd_work *w, const kd_law *law, const kd_point *x1, double part, double *out)
{
    kd_interval term[KD_LAW_TERMS];
    if (law->expr && law->npi == 0) {
        for (int i = 0; i < law->nslots; i++) w->slot[law->slot[i]] = value_of(w, x1, law->slot[i], part);
        (void)kd_expr_value(law->expr, w->slot, w->expr_work);
        for (int k = 0; k < law->nterms; k++) out[k] = w->expr_work[law->term[k].entry];
    } else if (law->npi == 0) {
        for (int i = 0; i < law->nslots; i++) {
            const double value = value_of(w, x1, law->slot[i], part);
            w->enclosure.slot[law->slot[i]] = (kd_interval){value, value};
        }
        out[0] = middle(kd_law_bounds(law, w->enclosure.slot, w));
    } else {
        kd_unseen_ranges(w, law, x1, part, part, term);
        for (int k = 0; k < law->nterms; k++) out[k] = middle(term[k]);
    }
}
