// unseen_drives.c: prescribed motions inside of a step. Method: docs/methods/intervals.md
//
// They act by their accelerations, which the range of their values does not tell: their velocities and positions at the
// end must follow from their accelerations inside of the step.
#include "system/unseen.h"

#include <math.h>

#define DRIVE_WAIT 16 // steps in which a prescribed motion is looked at without a piece of it being tried

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
static double missed_by(const kd_jet u[KD_DRIVE_NODES], double h, const kd_step_seen *seen, double unit, double time)
{
    double way = u[4].x - u[0].x - h * u[0].x1, rise = u[4].x1 - u[0].x1;
    for (int i = 0; i < KD_DRIVE_NODES; i++) {
        way -= h * h * lobatto_weight[i] * (1.0 - lobatto_node[i]) * u[i].x2;
        rise -= h * lobatto_weight[i] * u[i].x2;
    }
    return fmax(fabs(way) / (seen->rtol * fmax(fabs(u[0].x), fabs(u[4].x)) + seen->atol * unit),
                fabs(rise) / (seen->rtol * fmax(fabs(u[0].x1), fabs(u[4].x1)) + seen->atol * unit / time));
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
void kd_unseen_drives(kd_work *w, const kd_point *x0, const kd_step_seen *seen, double h, kd_hidden *out)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    if (!are_drives_due(w, h)) return;
    if (u->end[0].t != x0->t) kd_unseen_take_end(w, x0, &u->end[0]);
    if (!take_motions(w)) return;
    for (int i = 0; i < s->ndrives + s->nrows_g; i++) {
        if (!motion_of(s, i)) continue;
        const double unit = seen->unit && i < s->ndrives ? kd_system_dof_unit(s, s->drive[i], u->length) : 1.0;
        const double missed = missed_by(&u->drive_jet[i * KD_DRIVE_NODES], u->end[1].t - u->end[0].t, seen, unit,
                                        seen->unit ? u->time : 1.0);
        if (!(missed > KD_HARMLESS && isfinite(missed) && out->part > 0.5)) continue;
        const char *name = i >= s->ndrives ? s->row_g[i - s->ndrives].name : kd_unseen_motion_name(s, s->drive[i]);
        *out = (kd_hidden){0.5, missed / KD_HARMLESS, name, out->undecided, 0.0, 0.0};
    }
}

bool kd_unseen_has_drives(const kd_system *s)
{
    for (int i = 0; i < s->ndrives + s->nrows_g; i++)
        if (motion_of(s, i)) return true;
    return false;
}
