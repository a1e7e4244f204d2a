// unseen_box.c: boxes of the variables of a law in which nothing can hide, so that steps inside are not searched.
// Method: docs/methods/intervals.md
//
// In a box every term of the law is bent no more than a polynomial of low degree (kd_expr_bends: no branch changes,
// each function sees less than its own length), or its whole range has less effect than matters. A step whose variables
// stay in the box is clear. The box is made around a step that was searched, as many steps wide as the law allows.
#include "system/unseen.h"

#include <math.h>

#define BENT_MOST 8.0 // degree of a polynomial that the error control of every method sees, at its nodes or by its past
#define BENT_BLIND 3.0 // the same where only values and slopes at both ends are seen
#define REACH_FIRST 16.0
#define REACH_MOST 64.0 // widths of the step on each side
#define REACH_LEAST 0.5
#define LATER 1.5 // times the reach that was found: the next one
#define TRIES 3
#define TRIES_TIME 5    // the same for functions of time, whose pieces do not depend on the motion
#define LATER_TIME 2.0  // for them
#define BEHIND 0.5      // widths of the step against the direction of the motion
#define MARGIN 10.0     // [tolerances] least width
#define GROWTH 2.0      // of h times mobility, for which small effects are small
#define RATIO 4.0       // of forces of a gap that stays closed
#define WAIT_MOST 16    // steps from try to try
#define FASTER 1.5      // than at the end of the step
#define BRAKED 2.0      // times the last acceleration
#define BENT_AHEAD 0.25 // of the reach: steps in which the box holds with twice the present acceleration
#define AHEAD 32.0      // steps that are foreseen at most
#define STEPS 4.0       // times the step around which a box is made: so far steps in it may go
#define LONGER 2.0      // times its length, at most 1.5 times as fast, is less than that

static kd_interval *boxes_of(const kd_work *w, int i)
{
    return w->unseen.box + w->system->law[i].box;
}

// all of a in the box
static bool is_in(kd_interval a, kd_interval box)
{
    return box.lower <= a.lower && a.upper <= box.upper;
}

// between both ends, wider on both sides by reach times its change
static kd_interval range_of_state(const kd_work *w, int i, double reach)
{
    const int    at = w->system->np + w->system->nv + i;
    const double r0 = w->unseen.end[0].state[at], r1 = w->unseen.end[1].state[at], more = reach * fabs(r1 - r0);
    return (kd_interval){fmin(r0, r1) - more, fmax(r0, r1) + more};
}

// Times stand for inputs that follow their expressions.
static kd_interval range_in_step(kd_work *w, const kd_point *x1, int slot)
{
    if (w->system->slot[slot].kind == KD_SLOT_INPUT && !w->unseen.foreign)
        return (kd_interval){w->unseen.end[0].t, w->unseen.end[1].t};
    return kd_unseen_range(w, x1, slot, 0.0, 1.0);
}

// Outputs of controllers are where what they read and their states are.
static bool is_output(const kd_work *w, int slot)
{
    return w->system->slot[slot].kind == KD_SLOT_OUT;
}

static int state_of(const kd_work *w, const kd_law *law, int k)
{
    return w->system->load[law->pi[k]].state;
}

bool kd_box_holds(kd_work *w, int i, const kd_point *x1, double h)
{
    const kd_law      *law = &w->system->law[i];
    const kd_interval *box = boxes_of(w, i);
    const double       part = h / (w->unseen.end[1].t - w->unseen.end[0].t);
    // small effects were small for a step up to this length only
    if (!(h * w->unseen.mobility[i] <= w->unseen.box_limit[i])) return false;
    // every variable that it reads, then states of controllers
    for (int k = 0; k < law->nslots; k++) {
        if (is_output(w, law->slot[k])) continue;
        const kd_interval way = range_in_step(w, x1, law->slot[k]);
        const double      most = w->unseen.box_share[i] * (box[k].upper - box[k].lower);
        if (!is_in(way, box[k]) || !(part * (way.upper - way.lower) <= most)) return false;
    }
    for (int k = 0; k < law->npi; k++)
        if (!is_in(range_of_state(w, state_of(w, law, k), 0.0), box[law->nslots + k])) return false;
    return true;
}

// Is the end of the step in it?
static bool has_end(const kd_work *w, int i)
{
    const kd_law        *law = &w->system->law[i];
    const kd_interval   *box = boxes_of(w, i);
    const kd_unseen_end *end = &w->unseen.end[1];
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot at = w->system->slot[law->slot[k]];
        if (at.kind != KD_SLOT_MEASURE) continue;
        const double x = at.level == 0 ? end->value[at.index] : end->rate[at.index];
        if (!(box[k].lower <= x && x <= box[k].upper)) return false;
    }
    return true;
}

bool kd_box_rests(const kd_work *w, int i, double h)
{
    const kd_unseen_work *u = &w->unseen;
    return u->end[1].t <= u->until[i] && h <= LONGER * u->box_step[i] && h * u->mobility[i] <= u->box_limit[i] &&
           has_end(w, i);
}

// ---- making one -----------------------------------------------------------------------------------------------------

// 1 or -1: the variable moves one way, and does not change its speed by more than twice; 0: it does not
static int direction_of(const kd_work *w, int slot)
{
    const kd_slot at = w->system->slot[slot];
    if (at.kind != KD_SLOT_MEASURE || at.level != 0) return 0;
    const double v0 = w->unseen.end[0].rate[at.index], v1 = w->unseen.end[1].rate[at.index];
    return v0 > 0.5 * v1 && v1 > 0.5 * v0 ? 1 : v0 < 0.5 * v1 && v1 < 0.5 * v0 ? -1 : 0;
}

// How far a coordinate leaves its straight way in so many times the way between the ends, as kd_box_until sees it
static double bend_in(const kd_work *w, int slot, double steps)
{
    const kd_slot at = w->system->slot[slot];
    if (at.kind != KD_SLOT_MEASURE || at.level != 0) return 0.0;
    const double v0 = w->unseen.end[0].rate[at.index], v1 = w->unseen.end[1].rate[at.index];
    return 0.5 * BRAKED * fabs(v1 - v0) * (w->unseen.end[1].t - w->unseen.end[0].t) * steps * steps;
}

static kd_interval widened(const kd_work *w, int slot, kd_interval a, double reach, const kd_step_seen *seen)
{
    const kd_slot_kind kind = w->system->slot[slot].kind;
    const double       width = a.upper - a.lower;
    // discrete states stay; time only goes on
    if (kind == KD_SLOT_DISCRETE) return a;
    if (kind == KD_SLOT_TIME || (kind == KD_SLOT_INPUT && !w->unseen.foreign))
        return (kd_interval){a.lower, a.upper + reach * width};
    // at least some tolerances, far in the direction of the motion, little against it
    const double least = MARGIN * (seen->rtol * fmax(fabs(a.lower), fabs(a.upper)) + kd_unseen_atol(w, seen, slot));
    const double bend = bend_in(w, slot, BENT_AHEAD * reach);
    const double to[] = {least + fmax(BEHIND * width, bend), least + fmax(reach * width, bend)};
    const int    way = direction_of(w, slot);
    return (kd_interval){a.lower - to[way <= 0], a.upper + to[way >= 0]};
}

// An input is a law of time itself; its range goes where the law reads it.
static bool take_input(kd_work *w, int slot, kd_interval time, double share, double most)
{
    const kd_system *s = w->system;
    const int        input = s->slot[slot].index;
    if (s->slot[slot].kind != KD_SLOT_INPUT || w->unseen.foreign) return true;
    // an input without expression is constant
    if (!s->input[input]) {
        const double start = s->model->input[input].def.start;
        w->enclosure.slot[slot] = (kd_interval){start, start};
        return true;
    }
    const int     last = kd_expr_interval_size(s->input[input]) / 3 - 1;
    const double *degree = kd_expr_bends(s->input[input], &time, share, w->breaks.work);
    w->enclosure.slot[slot] = w->breaks.work[last];
    return degree[last] <= most;
}

static bool is_plain(kd_work *w, const kd_expr *e, double share)
{
    return kd_expr_bends(e, w->enclosure.slot, share, w->breaks.work)[kd_expr_interval_size(e) / 3 - 1] <= BENT_MOST;
}

// Of loads that tell bounds alone: a gap that stays open, or closed with forces that are alike in a step
static bool is_steady(const kd_law *law, kd_interval f, double share, kd_work *w)
{
    const kd_expr *road = law->load->law[0];
    // no change at all; a road that bends; a gap that stays open or closed
    if (f.lower == f.upper || law->on_file) return f.lower == f.upper;
    if (law->load->class->is_even) return law->load->class->is_even(law->load, w->enclosure.slot, share);
    if (road && !is_plain(w, road, share)) return false;
    const double least = f.lower > 0.0 ? f.lower : f.upper < 0.0 ? -f.upper : 0.0;
    return share * (f.upper - f.lower) <= (RATIO - 1.0) * least;
}

// Can nothing hide while the variables are in enclosure.slot, in steps that pass a share of it? limited: since its effect
// is small
static bool is_clear(kd_work *w, int i, const kd_step_seen *seen, double share, bool *limited)
{
    const kd_law *law = &w->system->law[i];
    const double *degree = NULL;
    kd_interval   bounds = {0.0, 0.0};
    bool          steady = false;
    // bends of the expression term by term, or bounds that the class tells
    if (law->expr)
        degree = kd_expr_bends(law->expr, w->enclosure.slot, share, w->breaks.work);
    else {
        bounds = kd_law_bounds(law, w->enclosure.slot, w);
        steady = is_steady(law, bounds, share, w);
    }
    // each term: bent little, or without effect
    for (int k = 0; k < law->nterms; k++) {
        if (degree ? degree[law->term[k].entry] <= BENT_MOST : steady) continue;
        const kd_interval range = degree ? w->breaks.work[law->term[k].entry] : bounds;
        if (!kd_unseen_is_small(w, i, k, seen, range, GROWTH)) return false;
        *limited = true;
    }
    return true;
}

// Within one step, along which the variables are in enclosure.slot: can nothing hide in any term of the law, nor in the
// inputs that it reads? The same question as that of a box, of the least box that there is.
bool kd_box_is_plain_step(kd_work *w, int i, const kd_step_seen *seen)
{
    const kd_law     *law = &w->system->law[i];
    const kd_interval time = {w->unseen.end[0].t, w->unseen.end[1].t};
    const double      most = kd_unseen_is_blind(seen) ? BENT_BLIND : BENT_MOST;
    if (!law->expr || law->npi > 0) return false;
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot at = w->system->slot[law->slot[k]];
        if (at.kind == KD_SLOT_INPUT && w->unseen.foreign) return false;
        if (!take_input(w, law->slot[k], time, 1.0, most)) return false;
    }
    const double *degree = kd_expr_bends(law->expr, w->enclosure.slot, 1.0, w->breaks.work);
    for (int k = 0; k < law->nterms; k++)
        if (!(degree[law->term[k].entry] <= most)) return false;
    return true;
}

// Outputs in the box: kp x + ki r bends as what the controller reads, x
static bool widen_outputs(kd_work *w, int i, double reach, double share)
{
    const kd_law *law = &w->system->law[i];
    kd_interval  *box = boxes_of(w, i);
    for (int k = 0; k < law->npi; k++) {
        const kd_expr *x = w->system->load[law->pi[k]].law[0];
        box[law->nslots + k] = w->enclosure.state[state_of(w, law, k)] = range_of_state(w, state_of(w, law, k), reach);
        kd_range_output(w, law->pi[k], w->enclosure.slot);
        if (!is_plain(w, x, share)) return false;
    }
    return true;
}

// What part of the box a step passes that is a few times longer than this one, which is a part of the way; 1: all of it
static double share_of(kd_interval way, double part, kd_interval box)
{
    const double passed = STEPS * part * (way.upper - way.lower), all = box.upper - box.lower;
    return passed < all ? passed / all : 1.0;
}

// reach: in steps, each of which is a part of what is between the ends
static bool try_box(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, double reach, double part)
{
    const kd_law *law = &w->system->law[i];
    kd_interval  *box = boxes_of(w, i);
    bool          limited = false;
    double        share = 0.0;
    // variables of the motion first, inputs and outputs from them
    for (int k = 0; k < law->nslots; k++) {
        if (is_output(w, law->slot[k])) continue;
        const kd_interval way = range_in_step(w, x1, law->slot[k]);
        box[k] = widened(w, law->slot[k], way, reach * part, seen);
        w->enclosure.slot[law->slot[k]] = box[k];
        share = fmax(share, share_of(way, part, box[k]));
    }
    for (int k = 0; k < law->nslots; k++)
        if (!take_input(w, law->slot[k], box[k], share, BENT_MOST)) return false;
    if (!widen_outputs(w, i, reach * part, share) || !is_clear(w, i, seen, share, &limited)) return false;
    const double h = part * (w->unseen.end[1].t - w->unseen.end[0].t);
    // where smallness was used, only for steps that are not much longer
    w->unseen.box_limit[i] = limited ? GROWTH * h * w->unseen.mobility[i] : INFINITY;
    w->unseen.box_share[i] = share;
    w->unseen.box_step[i] = h;
    return true;
}

bool kd_box_make(kd_work *w, int i, const kd_point *x1, double h, const kd_step_seen *seen)
{
    kd_unseen_work *u = &w->unseen;
    const bool      of_time = w->system->law[i].of_time;
    const double    part = h / (u->end[1].t - u->end[0].t); // one step of what is between the ends
    const double    unit = of_time ? h : 1.0, most = of_time ? INFINITY : REACH_MOST;
    u->box_limit[i] = -1.0;
    // a law that found no box lately is left alone for some steps
    if (u->wait[i] > 0 && u->wait[i]-- > 0) return false;
    // from the width that the last one had; smaller ones until one is clear
    double reach = u->reach[i] > 0.0 ? fmax(u->reach[i] / unit, REACH_LEAST) : REACH_FIRST;
    for (int k = 0; k < (of_time ? TRIES_TIME : TRIES) && reach >= REACH_LEAST; k++, reach *= of_time ? 0.25 : 0.5) {
        if (!try_box(w, i, x1, seen, reach, part)) continue;
        u->reach[i] = fmin((of_time ? LATER_TIME : LATER) * reach, most) * unit;
        u->waited[i] = 0;
        return true;
    }
    // none: next time smaller, and later
    u->box_limit[i] = -1.0;
    u->reach[i] = fmax(reach, 4.0 * REACH_LEAST) * unit;
    u->waited[i] = u->waited[i] < WAIT_MOST ? 2 * u->waited[i] + 1 : WAIT_MOST;
    u->wait[i] = u->waited[i];
    return false;
}

// Is a function of times and inputs plain while these are in enclosure.slot?
static bool is_plain_in_time(kd_work *w, const kd_expr *e)
{
    for (int j = 0; j < kd_expr_slot_count(e); j++) {
        const kd_slot_kind kind = w->system->slot[kd_expr_slot(e, j)].kind;
        if (kind != KD_SLOT_TIME && kind != KD_SLOT_INPUT) return false;
    }
    return is_plain(w, e, 1.0);
}

// Times and inputs in an interval of time; false: one of them is not plain there, or given by a function in C
static bool take_times(kd_work *w, kd_interval time)
{
    const kd_system *s = w->system;
    for (int k = 0; k < s->ntime_slots; k++) {
        const int slot = s->time_slot[k];
        if (s->slot[slot].kind == KD_SLOT_TIME) w->enclosure.slot[slot] = time;
        if (s->slot[slot].kind == KD_SLOT_INPUT && (w->unseen.foreign || !take_input(w, slot, time, 1.0, BENT_MOST)))
            return false;
    }
    return true;
}

double kd_box_smooth(kd_work *w, int n, const kd_expr *(*motion)(const kd_system *s, int i), double h, double *reach)
{
    const double t = w->unseen.end[0].t, from = w->unseen.end[1].t;
    double       length = fmax(*reach, h);
    // from the beginning of the step to some time behind its end; shorter while one bends
    for (int k = 0; k < TRIES_TIME; k++, length *= 0.25) {
        bool plain = take_times(w, (kd_interval){t, from + length});
        for (int i = 0; i < n && plain; i++) plain = !motion(w->system, i) || is_plain_in_time(w, motion(w->system, i));
        if (!plain) continue;
        *reach = LATER_TIME * length;
        return from + length;
    }
    *reach = length;
    return -INFINITY;
}

// ---- how long they hold ---------------------------------------------------------------------------------------------

static kd_interval around(double value, double way)
{
    return (kd_interval){value - way, value + way};
}

static kd_interval state_in(const kd_work *w, int i, double time)
{
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const int            at = w->system->np + w->system->nv + i;
    const double         h = e1->t - e0->t;
    // it may go on BRAKED times as fast
    return around(e1->state[at], BRAKED * fabs(e1->state[at] - e0->state[at]) / h * time);
}

// Where the variable may be within a time, as it moves now
static kd_interval motion_in(const kd_work *w, int slot, double time)
{
    const kd_system     *s = w->system;
    const kd_unseen_end *e0 = &w->unseen.end[0], *e1 = &w->unseen.end[1];
    const kd_slot        at = s->slot[slot];
    const double         h = e1->t - e0->t;
    switch (at.kind) {
    case KD_SLOT_MEASURE: {
        const double v = e1->rate[at.index], a = BRAKED * fabs(v - e0->rate[at.index]) / h;
        if (at.level == 0) {
            // at most FASTER, and as much more as the acceleration BRAKED times gives
            const double bend = 0.5 * a * time * time, way = FASTER * v * time, s1 = e1->value[at.index];
            return (kd_interval){s1 + fmin(way, 0.0) - bend, s1 + fmax(way, 0.0) + bend};
        }
        return around(v, at.level == 1 ? a * time : INFINITY);
    }
    case KD_SLOT_STATE:
        return state_in(w, at.index, time);
    case KD_SLOT_W: // not known ahead
    case KD_SLOT_HOLD:
        return around(0.0, INFINITY);
    case KD_SLOT_INPUT:
        if (w->unseen.foreign) return around(0.0, INFINITY);
        return (kd_interval){e1->t, e1->t + time};
    default:
        return (kd_interval){e1->t, e1->t + time};
    }
}

double kd_box_until(const kd_work *w, int i, double h)
{
    const kd_law      *law = &w->system->law[i];
    const kd_interval *box = boxes_of(w, i);
    const double       t = w->unseen.end[1].t;
    double             time = AHEAD * h;
    if (law->of_time && law->nslots > 0 && !w->unseen.foreign) { // all boxes are the same times
        double until = INFINITY;
        for (int k = 0; k < law->nslots; k++) until = fmin(until, box[k].upper);
        return until;
    }
    if (w->unseen.pieces > 1 && kd_unseen_reads_places(w, law)) return -INFINITY; // they go round
    // the time is halved until all variables stay inside
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot_kind kind = w->system->slot[law->slot[k]].kind;
        if (kind == KD_SLOT_DISCRETE || kind == KD_SLOT_OUT) continue; // until the next start; where its variables are
        while (time >= h && !is_in(motion_in(w, law->slot[k], time), box[k])) time *= 0.5;
    }
    for (int k = 0; k < law->npi; k++)
        while (time >= h && !is_in(state_in(w, state_of(w, law, k), time), box[law->nslots + k])) time *= 0.5;
    return time >= h ? t + time : -INFINITY;
}
