// unseen.c: what laws hold between the ends of a step that the step has not seen.
// Method: docs/methods/intervals.md
//
// A method sees a law at its nodes. Between them the law may rise and fall again: a pulse in time, a band of a
// coordinate, a gap that closes and opens. The variables of a law move along cubics between the ends of the step (value
// and rate known at both), so that ranges of the law are known for every part of it. Each law is taken apart into the
// terms of its sum; of a term
//
//     seen      hull of the values at the nodes and of the cubic by values and slopes at the ends, widened by a quarter
//     over(I)   how far its range on a part I of the step reaches beyond that, sure(I): how far all of it does
//     effect    sum over(I) |I| h times the mobility: change of velocity in tolerances (forces), the largest of them
//               (prescribed positions)
//
// Parts are halved until the effect is below the threshold, or what is surely beyond it is above: then the step is too
// long, and should end where that begins.
//
// Prescribed motions act by their accelerations, too, which the range of their values does not tell: their velocities
// and positions at the end must follow from their accelerations inside of the step.
#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "element/force.h"

#define THRESHOLD 5.0   // [tolerances] effects that matter
#define WIDER 0.25      // part of what was seen by which a smooth curve may leave it
#define SLOPE 1e-5      // part of the step for slopes at its ends
#define FOLLOWED 0.0625 // part of the step along which a slope must hold to count
#define BENT 0.3        // of a change: so far from a straight line is smooth
#define PARTS 64        // of one step, for one term
#define NARROW 1e-13    // a part that is not halved
#define MARGIN 0.1      // of the bend of a cubic: the motion is none
#define RENEWED 16      // looks after which mobilities are found anew
#define BESIDE 0.02     // of the threshold: effect of a part that belongs to what was found
#define BEGUN 4.0       // of the threshold: effect of what has begun where the step ends
#define SMALL 0.01      // part of the velocity: the same
#define DOUBLINGS 40    // of the length from its foot
#define ABRUPT 100.0    // [tolerances] most effect of what sets in or ends within a step
#define ABRUPT_WANTED 25.0
#define LEAST_CONSTANT 1e-3 // part of the step, at its ends
#define HARMLESS 100.0      // [tolerances] an effect that is not decided, but cannot be more
#define QUIET 10.0          // [tolerances] variables that move less leave a law at rest
#define PAUSE 16            // steps in which a law that bounds could not decide is left alone
#define QUICK_PARTS 8       // of the first look
#define PROBES 8
#define DRIVE_WAIT 16 // steps in which a prescribed motion is looked at without a piece of it being tried
#define EDGE 1e-6     // of the step: so well are edges known
#define EDGE_DOUBLINGS 20
#define BESIDE_ENDS 1e-6 // of the step: what is so close to its ends has been landed on
#define CLOSE 1e-9       // of the step: a place that is known
#define ABOUT 1e-3       // the same, where little is lost
#define WELL 0.05        // of the step that passes, the same
#define SLOPE_PART 1e-3  // of the step: for slopes beside it
#define LOST_JUMP 0.3    // of a jump, at most: by weights of nodes on the wrong side
#define LOST_KINK 0.06   // of a change of slope, the same
#define LATER_TOO 10.0   // times that for methods with a memory: later steps lose, too
#define AIMED 0.5        // of what may be lost: the step that passes
#define SOON 8.0         // steps
#define LEAST_CUT 1e-9   // of the step
#define INSIDE 0.25      // of what was found: length of the step into it where that is not known
#define LONGEST 0.8      // part of the step that is left at most

enum { SLOT_TIME = 0 }; // as system.c makes it

static const kd_interval all = {-INFINITY, INFINITY};

// ---- the list of laws -----------------------------------------------------------------------------------------------

// Times, coordinates and states move smoothly; inputs and outputs of controllers have laws of their own.
static bool is_smooth(int slot, const void *context)
{
    const kd_system *s = context;
    switch (s->slot[slot].kind) {
    case KD_SLOT_INPUT:
    case KD_SLOT_OUT:
        return false;
    default:
        return true;
    }
}

static bool has_slot(const kd_law *law, int slot)
{
    for (int i = 0; i < law->nslots; i++)
        if (law->slot[i] == slot) return true;
    return false;
}

static void add_slot(kd_law *law, int slot)
{
    if (!has_slot(law, slot)) law->slot[law->nslots++] = slot;
}

static void add_slots_of(kd_law *law, const kd_expr *e)
{
    for (int i = 0; e && i < kd_expr_slot_count(e); i++) add_slot(law, kd_expr_slot(e, i));
}

static bool reads_output(const kd_system *s, const kd_law *law, int load)
{
    for (int slot = s->out_slot ? s->out_slot[load] : -1; slot >= 0; slot = s->next_slot[slot])
        if (has_slot(law, slot)) return true;
    return false;
}

// Controllers whose outputs it reads, and what they read: from the last of their order to the first
static void add_controllers(const kd_system *s, kd_law *law)
{
    for (int k = s->model->nstates - 1; k >= 0; k--) {
        const int load = s->state_order[k];
        if (!reads_output(s, law, load)) continue;
        law->pi[law->npi++] = load;
        add_slots_of(law, s->load[load].law[0]);
    }
    for (int k = 0; k < law->npi / 2; k++) { // those first that others read
        const int kept = law->pi[k];
        law->pi[k] = law->pi[law->npi - 1 - k];
        law->pi[law->npi - 1 - k] = kept;
    }
}

// The variables of a law, those of controllers that it reads among them
static bool add_slots(kd_system *s, kd_law *law, const kd_expr *e, const kd_load *load)
{
    int n = (e ? kd_expr_slot_count(e) : 0) + (load ? load->nvariables : 0);
    for (int k = 0; k < s->model->nstates; k++)
        if (s->load[k].law[0]) n += kd_expr_slot_count(s->load[k].law[0]);
    law->slot = kd_cut_int(&s->arena, n);
    law->pi = kd_cut_int(&s->arena, s->model->nstates);
    if (s->arena.failed) return false;
    add_slots_of(law, e);
    for (int i = 0; load && i < load->nvariables; i++) add_slot(law, load->variable[i]);
    add_controllers(s, law);
    law->of_time = true;
    for (int i = 0; i < law->nslots; i++) {
        const kd_slot at = s->slot[law->slot[i]];
        law->of_time = law->of_time && (at.kind == KD_SLOT_TIME || at.kind == KD_SLOT_INPUT);
        if (at.kind != KD_SLOT_MEASURE) continue;
        s->laws_of_motion = true;
        s->laws_of_places = s->laws_of_places || s->measure[at.index].kind != KD_MEASURE_DOF;
    }
    return true;
}

// Constraints are 0 along the motion, however their terms move: ranges of several variables together say nothing.
static int keep_single(kd_expr_term *term, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (term[i].single) term[kept++] = term[i];
    return kept;
}

static kd_status add_law(kd_system *s, int *capacity, kd_law law, const kd_load *of_bounds, double *work)
{
    const bool   is_even = of_bounds && of_bounds->class->is_even;
    kd_expr_term term[KD_LAW_TERMS] = {{0, 1.0, !is_even, false, false}};
    int          n = law.expr ? kd_expr_terms(law.expr, is_smooth, s, work, term, KD_LAW_TERMS) : 1;
    if (law.effect == KD_EFFECT_VALUE) n = keep_single(term, n);
    if (n == 0 && !(law.expr && kd_expr_has_parameters(law.expr))) return KD_OK;
    law.nterms = n;
    law.room = law.expr && kd_expr_has_parameters(law.expr) ? KD_LAW_TERMS : n;
    law.term = kd_arena_cut(&s->arena, (size_t)law.room, sizeof *law.term);
    if (!law.term || !add_slots(s, &law, law.expr ? law.expr : of_bounds->law[0], of_bounds)) return KD_ERR_MEMORY;
    for (int i = 0; i < n; i++) law.term[i] = term[i];
    kd_law *grown = kd_grow(s->law, s->nlaws, capacity, sizeof *grown);
    if (!grown) return KD_ERR_MEMORY;
    s->law = grown;
    law.box = s->nlaws > 0 ? s->law[s->nlaws - 1].box + s->law[s->nlaws - 1].nboxes : 0;
    law.nboxes = law.nslots + law.npi;
    s->law[s->nlaws++] = law;
    return KD_OK;
}

// Factors and terms again, for other values of parameters
void kd_system_set_laws(kd_system *s)
{
    kd_expr_term term[KD_LAW_TERMS];
    for (int i = 0; i < s->nlaws; i++) {
        kd_law *law = &s->law[i];
        if (!law->expr) continue;
        if (law->load && law->load->class->factor) law->factor = law->load->class->factor(law->load);
        int n = kd_expr_terms(law->expr, is_smooth, s, s->expr_work, term, KD_LAW_TERMS);
        if (law->effect == KD_EFFECT_VALUE) n = keep_single(term, n);
        law->nterms = n < law->room ? n : law->room;
        for (int k = 0; k < law->nterms; k++) law->term[k] = term[k];
    }
}

// What a law of a load does: a force along a channel, the rate of a state, or (valve, inflow) more than is known
static kd_law law_of_load(const kd_load *load, int i)
{
    kd_law law = {.name = load->name, .expr = load->law[i], .load = load, .factor = 1.0};
    law.effect = load->class->effect;
    if (law.effect == KD_EFFECT_RATE)
        law.state = load->state;
    else if (load->nchannels == 0)
        law.effect = KD_EFFECT_VALUE;
    else if (law.effect == KD_EFFECT_FORCE)
        law.measure = load->channel[i < load->nchannels ? i : 0];
    if (load->class->factor) law.factor = load->class->factor(load);
    return law;
}

static kd_status add_load(kd_system *s, const kd_load *load, int *capacity, double *work)
{
    kd_status status = KD_OK;
    if (load->class->bounds)
        status =
            add_law(s, capacity, (kd_law){.name = load->name, .load = load, .measure = load->channel[0], .factor = 1.0},
                    load, work);
    for (int i = 0; i < 6 && status == KD_OK; i++)
        if (load->law[i]) status = add_law(s, capacity, law_of_load(load, i), NULL, work);
    return status;
}

static kd_status add_rows(kd_system *s, const kd_row *row, int n, int *capacity, double *work)
{
    kd_status status = KD_OK;
    for (int i = 0; i < n && status == KD_OK; i++) {
        const kd_expr *const of[] = {row[i].target, row[i].expr};
        for (int k = 0; k < 2 && status == KD_OK; k++)
            if (of[k])
                status = add_law(s, capacity,
                                 (kd_law){.name = row[i].name, .expr = of[k], .effect = KD_EFFECT_VALUE, .factor = 1.0},
                                 NULL, work);
    }
    return status;
}

static const char *name_of_motion(const kd_system *s, int dof)
{
    for (int j = 0; j < s->model->njoints; j++)
        if (s->edge[j].link == s->tree.dof_link[dof]) return s->model->joint[j].name;
    return "motion";
}

static kd_status add_all(kd_system *s, int *capacity, double *work)
{
    kd_status status = KD_OK;
    for (int i = 0; i < s->nloads && status == KD_OK; i++) status = add_load(s, &s->load[i], capacity, work);
    for (int i = 0; i < s->nalgebraic && status == KD_OK; i++) {
        const kd_load *e = &s->equation[i];
        status =
            add_law(s, capacity, (kd_law){.name = e->name, .expr = e->law[0], .effect = KD_EFFECT_VALUE, .factor = 1.0},
                    NULL, work);
    }
    if (status == KD_OK) status = add_rows(s, s->row_g, s->nrows_g, capacity, work);
    if (status == KD_OK) status = add_rows(s, s->row_h, s->nrows_h, capacity, work);
    for (int i = 0; s->motion && i < s->tree.ndof && status == KD_OK; i++)
        if (s->motion[i])
            status = add_law(
                s, capacity,
                (kd_law){.name = name_of_motion(s, i), .expr = s->motion[i], .effect = KD_EFFECT_VALUE, .factor = 1.0},
                NULL, work);
    return status;
}

kd_status kd_system_list_laws(kd_system *s)
{
    int size = 0, capacity = 0;
    for (int i = 0; i < s->nexprs; i++)
        size = kd_expr_work_size(s->expr[i]) > size ? kd_expr_work_size(s->expr[i]) : size;
    double *work = kd_alloc((size_t)(size > 0 ? size : 1) * sizeof *work);
    if (!work) return KD_ERR_MEMORY;
    kd_status status = s->for_start ? KD_OK : add_all(s, &capacity, work);
    kd_free(work);
    return status;
}

// Elements written in C tell nothing about their laws.
const char *kd_system_unsearched(int i, void *context)
{
    const kd_system *s = context;
    for (int k = 0; k < s->nloads; k++)
        if (s->load[k].user && i-- == 0) return s->load[k].name;
    return NULL;
}

// Nothing is known about the motion from here on.
static void forget_boxes(const kd_system *s, kd_unseen_work *u)
{
    for (int i = 0; i < s->nlaws; i++) u->box_limit[i] = -1.0, u->until[i] = -INFINITY;
    u->drive_until = -INFINITY;
}

bool kd_unseen_cut(const kd_system *s, kd_arena *arena, kd_unseen_work *u)
{
    for (int i = 0; i < 2 && s->nlaws > 0; i++) {
        u->end[i].state = kd_cut_double(arena, s->np + s->nv + s->nr);
        u->end[i].value = kd_cut_double(arena, s->nmeasures);
        u->end[i].rate = kd_cut_double(arena, s->nmeasures);
        u->end[i].u = kd_cut_double(arena, 2 * s->model->ninputs);
    }
    u->mobility = kd_cut_double(arena, s->nlaws);
    u->speed = kd_cut_double(arena, s->nlaws);
    u->pause = kd_cut_int(arena, s->nlaws);
    u->term = kd_arena_cut(arena, 2 * KD_LAW_TERMS, sizeof *u->term);
    const int boxes = s->nlaws > 0 ? s->law[s->nlaws - 1].box + s->law[s->nlaws - 1].nboxes : 0;
    u->box = kd_arena_cut(arena, (size_t)boxes + 1, sizeof *u->box);
    u->box_limit = kd_cut_double(arena, s->nlaws);
    u->box_share = kd_cut_double(arena, s->nlaws);
    u->box_step = kd_cut_double(arena, s->nlaws);
    u->crossed = kd_arena_cut(arena, 2 * (size_t)s->nlaws, sizeof *u->crossed);
    u->until = kd_cut_double(arena, s->nlaws);
    u->reach = kd_cut_double(arena, s->nlaws);
    u->drive_jet = kd_arena_cut(arena, (size_t)(KD_DRIVE_NODES * (s->ndrives + s->nrows_g)), sizeof *u->drive_jet);
    u->wait = kd_cut_int(arena, s->nlaws);
    u->waited = kd_cut_int(arena, s->nlaws);
    if (!arena->failed) forget_boxes(s, u);
    u->mass = kd_cut_double(arena, s->nlaws > 0 && s->tree.column ? s->tree.column[s->nv] : 0);
    return !arena->failed;
}

// ---- the ends of a step ---------------------------------------------------------------------------------------------

static bool is_end(const kd_system *s, const kd_unseen_end *e, const kd_point *x)
{
    const size_t p = (size_t)s->np, v = (size_t)s->nv, r = (size_t)s->nr, d = sizeof(double);
    return e->t == x->t && memcmp(e->state, x->p, p * d) == 0 && memcmp(e->state + p, x->v, v * d) == 0 &&
           (r == 0 || memcmp(e->state + p + v, x->r, r * d) == 0);
}

static void take_end(kd_work *w, const kd_point *x, kd_unseen_end *e)
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
        const double tolerance = seen->rtol * fmax(fabs(v0[i]), fabs(v1[i])) + seen->atol;
        if (!(inertia > 0.0) || fabs(slope) / (inertia * tolerance) <= most) continue;
        most = fabs(slope) / (inertia * tolerance);
        *speed = fabs(v0[i]) / tolerance;
    }
    return most;
}

// At the end of the step, which the work object has just been at
static void find_mobilities(kd_work *w, const kd_step_seen *seen, const kd_point *x1)
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
        w->unseen.speed[i] = 0.0;
        w->unseen.mobility[i] = law->effect == KD_EFFECT_FORCE
                                    ? mobility_along(w, law->measure, seen, &w->unseen.speed[i])
                                : law->effect == KD_EFFECT_RATE ? 1.0 / (seen->rtol * fabs(r[law->state]) + seen->atol)
                                                                : 1.0;
    }
    w->unseen.age = 0;
}

// ---- variables along the step ---------------------------------------------------------------------------------------

static double middle(kd_interval a)
{
    return 0.5 * (a.lower + a.upper);
}

// A cubic over 0 .. 1 with the slopes v
typedef struct cubic {
    double s[2], v[2];
} cubic;

static double cubic_at(const cubic *c, double x, double *slope, double *bend)
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
static kd_interval cubic_range(const cubic *c, double a, double b, int level)
{
    double       va, vb, ba, bb;
    const double w = b - a, sa = cubic_at(c, a, &va, &ba), sb = cubic_at(c, b, &vb, &bb);
    const double bend = MARGIN * w * fabs(vb - va);
    if (level == 0) return hull((double[]){sa, sa + w / 3.0 * va, sb - w / 3.0 * vb, sb}, 4, 0.125 * bend);
    return hull((double[]){va, va + 0.5 * w * ba, vb}, 3, 0.0);
}

static kd_interval range_of_measure(const kd_work *w, kd_slot at, double h, double a, double b)
{
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const kd_measure    *m = &w->system->measure[at.index];
    const double         pi = KD_PI, v0 = e0->rate[at.index], v1 = e1->rate[at.index];
    if (at.level > 1) return all;
    if (!kd_measure_has_value(m)) // rates alone: straight
        return hull((double[]){v0 + a * (v1 - v0), v0 + b * (v1 - v0)}, 2, 0.0);
    const cubic c = {{e0->value[at.index], e1->value[at.index]}, {h * v0, h * v1}};
    if (m->kind == KD_MEASURE_ANGLE && m->turns < 0 && fabs(c.s[1] - c.s[0] - 0.5 * (c.v[0] + c.v[1])) > pi)
        return at.level == 0 ? (kd_interval){-pi, pi} : hull((double[]){v0, v1}, 2, 0.0); // jumped over pi
    kd_interval range = cubic_range(&c, a, b, at.level);
    if (at.level == 1) range = (kd_interval){range.lower / h, range.upper / h};
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
    const cubic c = {{e0->u[k], e1->u[k]}, {h * e0->u[nu + k], h * e1->u[nu + k]}};
    return cubic_range(&c, a, b, 0);
}

// Do inputs follow their expressions? If not, a function in C gives them.
static void check_inputs(kd_work *w, const kd_unseen_end *e)
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
    if (at.kind == KD_SLOT_MEASURE && at.level <= 1) {
        const kd_measure *m = &s->measure[at.index];
        const double      v0 = e0->rate[at.index], v1 = e1->rate[at.index];
        const bool        wraps = m->kind == KD_MEASURE_ANGLE && m->turns < 0;
        if (!kd_measure_has_value(m)) return v0 + part * (v1 - v0);
        if (!wraps) {
            const cubic  c = {{e0->value[at.index], e1->value[at.index]}, {h * v0, h * v1}};
            const double value = cubic_at(&c, part, &slope, &bend);
            return at.level == 0 ? value : slope / h;
        }
    }
    return middle(kd_unseen_range(w, x1, i, part, part));
}

// Ranges of the terms of a law between the parts a and b of the step
static void ranges_of(kd_work *w, const kd_law *law, const kd_point *x1, double a, double b, kd_interval *out)
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
        out[0] = law->load->class->bounds(law->load, slot, w);
        return;
    }
    (void)kd_expr_bounds(law->expr, slot, w->breaks.work);
    for (int k = 0; k < law->nterms; k++) out[k] = w->breaks.work[law->term[k].entry];
}

// ---- what was seen --------------------------------------------------------------------------------------------------

static void widen(kd_interval *band, double value)
{
    if (!isfinite(value)) return;
    band->lower = fmin(band->lower, value);
    band->upper = fmax(band->upper, value);
}

// The values of all terms at a part of the step; the variables of the work object are overwritten
static void values_at(kd_work *w, const kd_law *law, const kd_point *x1, double part, double *out)
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
        out[0] = middle(law->load->class->bounds(law->load, w->enclosure.slot, w));
    } else {
        ranges_of(w, law, x1, part, part, term);
        for (int k = 0; k < law->nterms; k++) out[k] = middle(term[k]);
    }
}

static double term_at(kd_work *w, const kd_law *law, int k, const kd_point *x1, double part)
{
    double value[KD_LAW_TERMS];
    values_at(w, law, x1, part, value);
    return value[k];
}

// The slope at an end where the term has the value f, inward along direction; 0 where the term does not follow it even
// for a short way: a jump, or the foot of a pulse
static double slope_at(kd_work *w, const kd_law *law, int k, const kd_point *x1, double end, double f, double direction)
{
    const double slope = (term_at(w, law, k, x1, end + direction * SLOPE) - f) / SLOPE;
    if (slope == 0.0) return 0.0;
    const double rest = term_at(w, law, k, x1, end + direction * FOLLOWED) - (f + slope * FOLLOWED);
    return fabs(rest) <= 0.5 * fabs(slope) * FOLLOWED ? direction * slope : 0.0;
}

// A method that does not evaluate at the start of a step knows the law there as far as it goes smoothly to the first
// node, compared with what it sees.
static bool is_start_seen(kd_work *w, const kd_law *law, int k, const kd_point *x1, const kd_step_seen *seen, double f0,
                          kd_interval band)
{
    double first = 1.0;
    for (int i = 0; i < seen->nnodes; i++) first = fmin(first, seen->node[i]);
    if (first == 0.0) return true;
    const double f = term_at(w, law, k, x1, first), m = term_at(w, law, k, x1, 0.5 * first);
    return fabs(m - 0.5 * (f0 + f)) <= BENT * fmax(fabs(f - f0), band.upper - band.lower);
}

// Values at the nodes, and the cubic by values and slopes at the ends
static kd_interval seen_of(kd_work *w, const kd_law *law, int k, const kd_point *x1, const kd_step_seen *seen,
                           double f0, double f1)
{
    const cubic c = {{f0, f1}, {slope_at(w, law, k, x1, 0.0, f0, 1.0), slope_at(w, law, k, x1, 1.0, f1, -1.0)}};
    kd_interval band = {INFINITY, -INFINITY};
    double      slope, bend;
    widen(&band, f1);
    for (int i = 0; i < seen->nnodes; i++)
        if (seen->node[i] > 0.0) widen(&band, term_at(w, law, k, x1, seen->node[i]));
    if (is_start_seen(w, law, k, x1, seen, f0, band))
        for (int i = 0; i < 8; i++) widen(&band, cubic_at(&c, 0.125 * i, &slope, &bend));
    const double wider = WIDER * (band.upper - band.lower);
    return band.lower <= band.upper ? (kd_interval){band.lower - wider, band.upper + wider} : all;
}

// ---- the search -----------------------------------------------------------------------------------------------------

typedef struct part {
    double a, b, over, sure;
} part;

typedef struct hunt {
    const kd_law   *law;
    int             term;
    const kd_point *x1;
    kd_interval     band;    // what was seen
    double          unit;    // effect of a unit of the term over the whole step, in tolerances
    double          speed;   // velocity that it changes, the same
    double          ends[2]; // values of the term there
    int             n;
    part            part[PARTS];
} hunt;

static part judged(const hunt *f, kd_interval range, double a, double b)
{
    const kd_interval band = f->band;
    part              p = {a, b, fmax(fmax(range.upper - band.upper, band.lower - range.lower), 0.0), 0.0};
    p.sure = fmax(fmax(range.lower - band.upper, band.lower - range.upper), 0.0);
    return p;
}

static part look(kd_work *w, const hunt *f, double a, double b)
{
    kd_interval term[KD_LAW_TERMS];
    ranges_of(w, f->law, f->x1, a, b, term);
    return judged(f, term[f->term], a, b);
}

// All together: sums over the step, or the largest
static void sum_up(const hunt *f, double *over, double *sure, int *worst)
{
    const bool of_values = f->law->effect == KD_EFFECT_VALUE;
    double     most = -1.0;
    *over = *sure = 0.0;
    *worst = -1;
    for (int i = 0; i < f->n; i++) {
        const part  *p = &f->part[i];
        const double width = p->b - p->a, share = of_values ? p->over : p->over * width;
        *over = of_values ? fmax(*over, share) : *over + share;
        *sure = of_values ? fmax(*sure, p->sure) : *sure + p->sure * width;
        if (share > most && width > NARROW) most = share, *worst = i;
    }
}

// Where it begins, and how long it lasts
static void place_of(const hunt *f, double *from, double *to)
{
    *from = 1.0;
    for (int i = 0; i < f->n; i++)
        if (f->part[i].sure > 0.0) *from = fmin(*from, f->part[i].a);
    *to = *from;
    for (bool more = true; more;) { // what touches it and matters
        more = false;
        for (int i = 0; i < f->n; i++) {
            const part *p = &f->part[i];
            if (!(f->unit * p->over * (p->b - p->a) > BESIDE * THRESHOLD) && !(p->sure > 0.0)) continue;
            if (p->b == *from) *from = p->a, more = true;
            if (p->a == *to) *to = p->b, more = true;
        }
    }
}

// Where the step should end: not before what it has not seen, or the next one would not see it either, but so little
// behind its foot that the effect is a few tolerances, or a small part of the velocity: the end sees it then, and the
// error control takes over.
static double end_inside(kd_work *w, const hunt *f, double from, double to)
{
    const double wanted = fmax(BEGUN * THRESHOLD, SMALL * f->speed), length = to - from;
    double       effect = 0.0, last = 0.0;
    if (f->law->effect == KD_EFFECT_VALUE) return from + INSIDE * length;
    for (int j = DOUBLINGS; j >= 0; j--) { // lengths that double
        const double next = ldexp(length, -j), m = from + 0.5 * (last + next);
        effect += f->unit * look(w, f, m, m).sure * (next - last);
        if (effect > wanted) return from + next;
        last = next;
    }
    return from + INSIDE * length;
}

static void tell(kd_work *w, const hunt *f, double size, kd_hidden *out)
{
    double from, to;
    place_of(f, &from, &to);
    const double cut = fmin(end_inside(w, f, from, to), LONGEST);
    if (!(cut < out->part)) return;
    out->part = cut;
    out->size = size / THRESHOLD;
    out->name = f->law->name;
}

typedef enum finding { CLEAN, HIDDEN, OPEN } finding;

// Parts are halved until it is clear, at most `most` of them; size: effect of what is hidden
static finding search(kd_work *w, hunt *f, kd_interval whole, int most, double *size)
{
    f->n = 1;
    f->part[0] = judged(f, whole, 0.0, 1.0);
    for (;;) {
        double over, sure;
        int    worst;
        sum_up(f, &over, &sure, &worst);
        *size = f->unit * sure;
        if (*size > THRESHOLD) return HIDDEN;
        if (!(f->unit * over > THRESHOLD)) return CLEAN;
        if (f->n >= most || worst < 0) return OPEN;
        const part   p = f->part[worst];
        const double m = 0.5 * (p.a + p.b);
        f->part[worst] = look(w, f, p.a, m);
        f->part[f->n++] = look(w, f, m, p.b);
    }
}

// ---- where a law sets in or ends ------------------------------------------------------------------------------------

// A term that is constant up to a place and not behind it (a gap that closes, a band that is entered) has a kink or a
// jump there, of which error estimates know little. Such a step may not have much effect: it should end near this
// place.

// Seen from an end: the part of the step behind (direction 1) or before it
static double part_from(double end, double direction, double length)
{
    return end + direction * length;
}

// Length of the constant part at an end, where the term has the value f; 0: there is none, 1: all of it
static double constant_part(kd_work *w, const hunt *f, double end, double direction, double value)
{
    double a = LEAST_CONSTANT, b = 1.0;
    if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, a)) != value) return 0.0;
    for (int i = 1; i <= PROBES; i++) {
        b = (double)i / PROBES;
        if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, b)) != value) break;
        a = b;
    }
    while (b - a > EDGE) {
        const double m = 0.5 * (a + b);
        if (term_at(w, f->law, f->term, f->x1, part_from(end, direction, m)) != value)
            b = m;
        else
            a = m;
    }
    return a;
}

// How far beyond the constant part the effect has grown to what is wanted; INFINITY: it stays below most
static double effect_reach(kd_work *w, const hunt *f, double end, double direction, double value, double constant)
{
    double effect = 0.0, last = 0.0, reach = INFINITY;
    for (int j = EDGE_DOUBLINGS; j >= 0; j--) {
        const double next = ldexp(1.0 - constant, -j), m = constant + 0.5 * (last + next);
        effect +=
            f->unit * fabs(term_at(w, f->law, f->term, f->x1, part_from(end, direction, m)) - value) * (next - last);
        if (effect > ABRUPT_WANTED && reach == INFINITY) reach = next;
        last = next;
    }
    return effect > ABRUPT ? reach : INFINITY;
}

static void look_at_edge(kd_work *w, const hunt *f, double end, double direction, kd_hidden *out)
{
    const double value = f->ends[end > 0.0];
    const double constant = constant_part(w, f, end, direction, value);
    if (!(constant > 0.0 && constant < 1.0)) return;
    const double reach = effect_reach(w, f, end, direction, value, constant);
    const double cut = part_from(end, direction, constant + reach); // towards the start: what is left of it then
    if (!(reach < INFINITY) || !(cut > 0.0 && cut < fmin(out->part, LONGEST))) return;
    out->part = cut;
    out->size = ABRUPT;
    out->name = f->law->name;
}

// ---- kinks and jumps inside -----------------------------------------------------------------------------------------

// Where a law takes another branch inside of the step, methods are wrong by parts of its jump, or of the jump of its
// slope, and their error estimates know little of that. Such a place is stepped to, and passed in a short step.

// Which branch, and the value
static unsigned long branch_at(kd_work *w, const kd_law *law, const kd_point *x1, double at, double *value)
{
    double term[KD_LAW_TERMS];
    values_at(w, law, x1, at, term);
    if (law->expr && law->npi == 0) {
        *value = w->expr_work[kd_expr_interval_size(law->expr) / 3 - 1];
        return kd_expr_branches(law->expr, w->expr_work);
    }
    *value = term[0];
    return law->expr ? 0 : term[0] == 0.0 ? 0 : term[0] > 0.0 ? 1 : 2; // of loads that tell bounds alone: open, closed
}

// Does the law take one branch in the whole step, along which it has the range given?
static bool has_one_branch(kd_work *w, const kd_law *law, kd_interval range)
{
    if (!law->expr) return range.lower > 0.0 || range.upper < 0.0 || range.lower == range.upper;
    if (law->npi > 0) return false;
    return isfinite(
        kd_expr_bends(law->expr, w->enclosure.slot, 1.0, w->breaks.work)[kd_expr_interval_size(law->expr) / 3 - 1]);
}

// The place between a and b, where branches differ, to a width
static void close_in(kd_work *w, const kd_law *law, const kd_point *x1, double width, double *a, double *b)
{
    double              value;
    const unsigned long first = branch_at(w, law, x1, *a, &value);
    while (*b - *a > width) {
        const double m = 0.5 * (*a + *b);
        *(branch_at(w, law, x1, m, &value) == first ? a : b) = m;
    }
}

// Place before which the branch is that of the start, or the next one that differs from it; false: there is none
static bool first_branch(kd_work *w, const kd_law *law, const kd_point *x1, double *a, double *b)
{
    double              value;
    const unsigned long first = branch_at(w, law, x1, BESIDE_ENDS, &value);
    *a = BESIDE_ENDS;
    for (int i = 1; i <= PROBES; i++) {
        *b = i < PROBES ? (double)i / PROBES : 1.0 - BESIDE_ENDS;
        if (branch_at(w, law, x1, *b, &value) != first) {
            close_in(w, law, x1, ABOUT, a, b);
            return true;
        }
        *a = *b;
    }
    return false;
}

// What the step may lose there, in tolerances; *power: of the length of the step in that
static double lost_at(kd_work *w, const kd_law *law, const kd_point *x1, double unit, int nnodes, double a, double b,
                      double *power)
{
    double       fa, fb, before, behind;
    const double d = fmin(SLOPE_PART, 0.5 * fmin(a, 1.0 - b)), da = d > CLOSE ? d : CLOSE;
    (void)branch_at(w, law, x1, a, &fa);
    (void)branch_at(w, law, x1, b, &fb);
    (void)branch_at(w, law, x1, fmax(a - da, 0.0), &before);
    (void)branch_at(w, law, x1, fmin(b + da, 1.0), &behind);
    const double sa = (fa - before) / da, sb = (behind - fb) / da;
    const double jump = fabs(fb - fa) - (b - a) * fmax(fabs(sa), fabs(sb)), kink = fabs(sb - sa);
    unit *= nnodes == 1 ? LATER_TOO : 1.0;
    const double by_jump = jump > 0.0 ? LOST_JUMP * unit * jump : 0.0;
    const double by_kink = fmin(LOST_KINK, 0.5 * fmin(a, 1.0 - b)) * unit * kink; // what nodes beyond it see
    *power = by_jump > by_kink ? 1.0 : 2.0;
    return fmax(by_jump, by_kink);
}

static void lose(const kd_law *law, double lost, kd_hidden *out)
{
    out->lost += lost;
    if (!(out->part < INFINITY)) out->name = law->name;
}

static bool reads_rates(const kd_system *s, const kd_law *law)
{
    for (int k = 0; k < law->nslots; k++)
        if (s->slot[law->slot[k]].kind == KD_SLOT_MEASURE && s->slot[law->slot[k]].level == 1) return true;
    return false;
}

// Does the motion come back at once over what it has just passed? Then it stays near it, and so do its errors: they do not
// sum up. Of velocities, which a law may hold, several crossings in one step count, too.
static bool is_chatter(kd_work *w, int i, const kd_point *x1, double a, double b)
{
    double           value;
    kd_crossed      *last = &w->unseen.crossed[2 * i];
    const double     t0 = w->unseen.end[0].t, t1 = w->unseen.end[1].t;
    const kd_crossed now = {t1, branch_at(w, &w->system->law[i], x1, a, &value),
                            branch_at(w, &w->system->law[i], x1, b, &value)};
    if (last[1].t <= t0) last[0] = last[1];
    last[1] = now;
    const bool back = last->from == now.to && last->to == now.from;
    return t0 - last->t <= SOON * (t1 - t0) && (back || reads_rates(w->system, &w->system->law[i]));
}

// false: the law takes one branch in the whole step
static bool look_at_branches(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    const kd_law *law = &w->system->law[i];
    const double  unit = fabs(law->factor) * (w->unseen.end[1].t - w->unseen.end[0].t) * w->unseen.mobility[i];
    double        a, b, power;
    if (!first_branch(w, law, x1, &a, &b)) return false;
    if (is_chatter(w, i, x1, a, b)) return true;
    double lost = lost_at(w, law, x1, unit, seen->nnodes, a, b, &power);
    double brief = pow(AIMED * seen->land / lost, 1.0 / power); // what it loses depends on where it ends, too
    if (lost > seen->land && b - a > WELL * brief) {
        close_in(w, law, x1, fmax(WELL * brief, CLOSE), &a, &b);
        lost = lost_at(w, law, x1, unit, seen->nnodes, a, b, &power);
        brief = pow(AIMED * seen->land / lost, 1.0 / power);
    }
    if (!isfinite(lost)) return true;
    lose(law, lost, out); // unless the step is taken back
    const double cut = a > brief ? a - 0.5 * brief : fmax(brief, LEAST_CUT);
    if (lost <= seen->land || !(cut < fmin(out->part, 1.0 - BESIDE_ENDS))) return true;
    out->part = cut;
    out->size = lost;
    out->name = law->name;
    return true;
}

// ---- all laws -------------------------------------------------------------------------------------------------------

static double unit_of(const kd_work *w, int i, int term, const kd_step_seen *seen, kd_interval range)
{
    const kd_law *law = &w->system->law[i];
    const double  factor = fabs(law->factor * law->term[term].factor), h = w->unseen.end[1].t - w->unseen.end[0].t;
    if (law->effect != KD_EFFECT_VALUE) return factor * h * w->unseen.mobility[i];
    const double size = fmin(fabs(range.lower), fabs(range.upper));
    return factor / (seen->rtol * (isfinite(size) ? size : 0.0) + seen->atol);
}

bool kd_unseen_is_small(const kd_work *w, int law, int term, const kd_step_seen *seen, kd_interval range, double longer)
{
    return longer * unit_of(w, law, term, seen, range) * (range.upper - range.lower) <= THRESHOLD;
}

// Most steps: the law goes from one end to the other, through the first node where the start is not seen.
static bool is_between_ends(kd_work *w, hunt *f, kd_interval whole, const kd_step_seen *seen)
{
    const double f0 = f->ends[0], f1 = f->ends[1];
    kd_interval  band = {f1, f1};
    double       size;
    if (seen->node[0] > 0.0) widen(&band, term_at(w, f->law, f->term, f->x1, seen->node[0]));
    if (!is_start_seen(w, f->law, f->term, f->x1, seen, f0, band)) return false;
    widen(&band, f0);
    const double wider = WIDER * (band.upper - band.lower);
    f->band = (kd_interval){band.lower - wider, band.upper + wider};
    return search(w, f, whole, QUICK_PARTS, &size) == CLEAN;
}

static void look_closely(kd_work *w, hunt *f, kd_interval whole, const kd_step_seen *seen, kd_hidden *out)
{
    double size, over;
    int    worst;
    f->band = seen_of(w, f->law, f->term, f->x1, seen, f->ends[0], f->ends[1]);
    const finding answer = search(w, f, whole, PARTS, &size);
    if (answer == HIDDEN) tell(w, f, size, out);
    if (answer != OPEN || f->law->term[f->term].sum) return; // the terms of a sum have been looked at themselves
    sum_up(f, &over, &size, &worst);
    if (f->unit * over <= HARMLESS) return;
    w->unseen.pause[f->law - w->system->law] = PAUSE;
    out->undecided = f->law->name;
}

// Do the variables of a law move by no more than their errors? A stiff law at rest changes by that alone.
static bool is_at_rest(const kd_work *w, const kd_law *law, const kd_step_seen *seen)
{
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot_kind kind = w->system->slot[law->slot[k]].kind;
        const kd_interval  range = w->enclosure.slot[law->slot[k]];
        if (kind != KD_SLOT_MEASURE && kind != KD_SLOT_STATE && kind != KD_SLOT_DISCRETE) return false;
        const double size = fmax(fabs(range.lower), fabs(range.upper));
        if (!(range.upper - range.lower <= QUIET * (seen->rtol * size + seen->atol))) return false;
    }
    return true;
}

static bool abrupt_law(const kd_law *law)
{
    for (int k = 0; k < law->nterms; k++)
        if (law->term[k].abrupt) return true;
    return false;
}

static void look_at_law(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    const kd_law *law = &w->system->law[i];
    kd_interval  *whole = w->unseen.term;
    double        ends[2][KD_LAW_TERMS];
    bool          known = false;
    ranges_of(w, law, x1, 0.0, 1.0, whole);
    const bool rests = is_at_rest(w, law, seen);
    const bool crossed = law->effect != KD_EFFECT_VALUE && abrupt_law(law) && !has_one_branch(w, law, whole[0]) &&
                         look_at_branches(w, i, x1, seen, out);
    if ((w->unseen.pause[i] > 0 && w->unseen.pause[i]-- > 0) || rests) return;
    for (int k = 0; k < law->nterms; k++) {
        const double unit = unit_of(w, i, k, seen, whole[k]);
        if (unit * (whole[k].upper - whole[k].lower) <= THRESHOLD) continue;
        hunt f;
        if (!known) {
            values_at(w, law, x1, 0.0, ends[0]);
            values_at(w, law, x1, 1.0, ends[1]);
            known = true;
        }
        f.ends[0] = ends[0][k], f.ends[1] = ends[1][k];
        f.law = law, f.term = k, f.x1 = x1, f.unit = unit, f.speed = w->unseen.speed[i];
        if (!is_between_ends(w, &f, whole[k], seen)) look_closely(w, &f, whole[k], seen, out);
        if (!crossed || !law->term[k].abrupt || law->term[k].sum ||
            !(unit * (whole[k].upper - whole[k].lower) > ABRUPT))
            continue;
        look_at_edge(w, &f, 0.0, 1.0, out);
        look_at_edge(w, &f, 1.0, -1.0, out);
    }
}

// ---- prescribed motions ---------------------------------------------------------------------------------------------

// Gauss-Lobatto's rule with five nodes, exact for degree 7
static const double lobatto_node[KD_DRIVE_NODES] = {0.0, 0.17267316464601146, 0.5, 0.82732683535398854, 1.0};
static const double lobatto_weight[KD_DRIVE_NODES] = {0.05, 49.0 / 180, 16.0 / 45, 49.0 / 180, 0.05};

// t and inputs at a part of the step, with their rates; false: a function in C gives inputs
static bool take_time(kd_work *w, double at_part)
{
    const kd_system *s = w->system;
    const double     t0 = w->unseen.end[0].t, t1 = w->unseen.end[1].t;
    const kd_jet     t = {.x = at_part < 1.0 ? t0 + at_part * (t1 - t0) : t1, .x1 = 1.0};
    for (int k = 0; k < s->ntime_slots; k++) {
        const kd_slot at = s->slot[s->time_slot[k]];
        if (at.kind == KD_SLOT_INPUT && (w->unseen.foreign || !s->input[at.index])) return false;
        w->jet[s->time_slot[k]] = at.kind == KD_SLOT_TIME ? t : kd_expr_jet(s->input[at.index], &t, w->expr_work);
    }
    return true;
}

// How far the end of the motion is from what this rule makes of its accelerations, in tolerances:
// u(1) - u(0) - h u'(0) = h^2 int (1 - x) u'' dx,  u'(1) - u'(0) = h int u'' dx
static double missed_by(const kd_jet u[KD_DRIVE_NODES], double h, const kd_step_seen *seen)
{
    double way = u[4].x - u[0].x - h * u[0].x1, rise = u[4].x1 - u[0].x1;
    for (int i = 0; i < KD_DRIVE_NODES; i++) {
        way -= h * h * lobatto_weight[i] * (1.0 - lobatto_node[i]) * u[i].x2;
        rise -= h * lobatto_weight[i] * u[i].x2;
    }
    return fmax(fabs(way) / (seen->rtol * fmax(fabs(u[0].x), fabs(u[4].x)) + seen->atol),
                fabs(rise) / (seen->rtol * fmax(fabs(u[0].x1), fabs(u[4].x1)) + seen->atol));
}

static const kd_expr *motion_of(const kd_system *s, int i)
{
    return i >= s->ndrives ? s->row_g[i - s->ndrives].target : s->nv > 0 ? s->motion[s->drive[i]] : NULL;
}

// Is there anything to be looked at? Where a piece of the functions was not smooth the next ones are not tried.
static bool are_drives_due(kd_work *w, double h)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    if (u->end[1].t <= u->drive_until) return false;
    if (u->drive_wait > 0 && u->drive_wait-- > 0) return true;
    u->drive_until = kd_box_smooth(w, s->ndrives + s->nrows_g, motion_of, h, &u->drive_reach);
    const bool due = !(u->end[1].t <= u->drive_until);
    u->drive_waited = !due ? 0 : u->drive_waited < DRIVE_WAIT ? 2 * u->drive_waited + 1 : DRIVE_WAIT;
    u->drive_wait = u->drive_waited;
    return due;
}

// All motions at the nodes, times and inputs once for all of them; false: inputs are not known there
static bool take_motions(kd_work *w)
{
    const kd_system *s = w->system;
    for (int k = 0; k < KD_DRIVE_NODES; k++) {
        if (!take_time(w, lobatto_node[k])) return false;
        for (int i = 0; i < s->ndrives + s->nrows_g; i++)
            if (motion_of(s, i))
                w->unseen.drive_jet[i * KD_DRIVE_NODES + k] = kd_expr_jet(motion_of(s, i), w->jet, w->expr_work);
    }
    return true;
}

// A steep rise between two rests has no acceleration at any node: the load would be carried along. The step is halved;
// the next one is looked at as well.
static void look_at_drives(kd_work *w, const kd_point *x0, const kd_step_seen *seen, double h, kd_hidden *out)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    if (!are_drives_due(w, h)) return;
    if (u->end[0].t != x0->t) take_end(w, x0, &u->end[0]);
    if (!take_motions(w)) return;
    for (int i = 0; i < s->ndrives + s->nrows_g; i++) {
        if (!motion_of(s, i)) continue;
        const double missed = missed_by(&u->drive_jet[i * KD_DRIVE_NODES], u->end[1].t - u->end[0].t, seen);
        if (!(missed > HARMLESS && isfinite(missed) && out->part > 0.5)) continue;
        const char *name = i >= s->ndrives ? s->row_g[i - s->ndrives].name : name_of_motion(s, s->drive[i]);
        *out = (kd_hidden){0.5, missed / HARMLESS, name, out->undecided, 0.0, 0.0};
    }
}

static bool has_drives(const kd_system *s)
{
    for (int i = 0; i < s->ndrives + s->nrows_g; i++)
        if (motion_of(s, i)) return true;
    return false;
}

// Both ends: the start is that of the step, or the end of the last one that was looked at, which the motion has
// smoothly come from.
static void take_ends(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    if (u->known && (is_end(s, &u->end[1], x0) || (seen->follows && u->end[1].t < x0->t))) {
        const kd_unseen_end kept = u->end[0];
        u->end[0] = u->end[1];
        u->end[1] = kept;
    } else {
        forget_boxes(s, u);
        if (!u->known || !is_end(s, &u->end[0], x0)) take_end(w, x0, &u->end[0]);
    }
    take_end(w, x1, &u->end[1]);
    if (!u->known || ++u->age >= RENEWED) {
        check_inputs(w, &u->end[1]);
        find_mobilities(w, seen, x1);
    }
    u->known = true;
}

kd_eval kd_work_unseen(const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, void *context, kd_hidden *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    const double     h = x1->t - x0->t;
    double           until = INFINITY;
    if (s->nlaws == 0 || !(h > 0.0)) return KD_EVAL_OK;
    take_ends(w, x0, x1, seen);
    for (int i = 0; i < s->nlaws; i++) {
        const bool rests = kd_box_rests(w, i, h);
        if (rests || kd_box_holds(w, i, x1, h) || kd_box_make(w, i, x1, h, seen)) {
            if (!rests) u->until[i] = kd_box_until(w, i, h);
        } else {
            u->until[i] = -INFINITY;
            if (u->end[0].t != x0->t) take_end(w, x0, &u->end[0]); // steps in between were not looked at
            look_at_law(w, i, x1, seen, out);
        }
        until = fmin(until, u->until[i]);
    }
    if (has_drives(s)) {
        look_at_drives(w, x0, seen, h, out);
        until = fmin(until, u->drive_until);
    }
    out->clear = out->part < INFINITY ? 0.0 : fmax(until - x1->t, 0.0);
    if (u->foreign) out->undecided = u->foreign;
    return KD_EVAL_OK;
}
