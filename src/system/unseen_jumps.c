// unseen_jumps.c: kinks and jumps of laws inside of a step. Method: docs/methods/intervals.md
//
// Where a law takes another branch inside of the step, methods are wrong by parts of its jump, or of the jump of its
// slope, and their error estimates know little of that. Such a place is stepped to, and passed in a short step.
//
//     lost <= 0.3 J h mobility   at a jump J,    0.06 K h mobility   at a jump K of the slope per step
//
// ten times that for methods with a memory, which take what they know of before along.
#include "system/unseen.h"

#include <math.h>

#define PROBES 8
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

// Which branch, and the value
static unsigned long long branch_at(kd_work *w, const kd_law *law, const kd_point *x1, double at, double *value)
{
    double term[KD_LAW_TERMS];
    kd_unseen_values(w, law, x1, at, term);
    if (law->expr && law->npi == 0) {
        *value = w->expr_work[kd_expr_interval_size(law->expr) / 3 - 1];
        return kd_expr_branches(law->expr, w->expr_work);
    }
    *value = term[0];
    return law->expr ? 0 : term[0] == 0.0 ? 0 : term[0] > 0.0 ? 1 : 2; // of loads that tell bounds alone: open, closed
}

// Does the law take one branch in the whole step, along which it has the range given?
bool kd_unseen_one_branch(kd_work *w, const kd_law *law, kd_interval range)
{
    if (!law->expr) return range.lower > 0.0 || range.upper < 0.0 || range.lower == range.upper;
    if (law->npi > 0) return false;
    return isfinite(
        kd_expr_bends(law->expr, w->enclosure.slot, 1.0, w->breaks.work)[kd_expr_interval_size(law->expr) / 3 - 1]);
}

// The place between a and b, where branches differ, to a width
static void close_in(kd_work *w, const kd_law *law, const kd_point *x1, double width, double *a, double *b)
{
    double                   value;
    const unsigned long long first = branch_at(w, law, x1, *a, &value);
    while (*b - *a > width) {
        const double m = 0.5 * (*a + *b);
        *(branch_at(w, law, x1, m, &value) == first ? a : b) = m;
    }
}

// Place before which the branch is that of the start, or the next one that differs from it; false: there is none
static bool first_branch(kd_work *w, const kd_law *law, const kd_point *x1, double *a, double *b)
{
    double                   value;
    const unsigned long long first = branch_at(w, law, x1, BESIDE_ENDS, &value);
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
bool kd_unseen_jumps(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
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

bool kd_unseen_is_abrupt(const kd_law *law)
{
    for (int k = 0; k < law->nterms; k++)
        if (law->term[k].abrupt) return true;
    return false;
}

// A box may be clear since a law has little effect in so short a step. But a method with a memory takes what it knows of
// before along: a jump that was passed must be told, however short the step.
bool kd_unseen_hides_jumps(const kd_work *w, int i, const kd_step_seen *seen)
{
    const kd_law *law = &w->system->law[i];
    return seen->nnodes == 1 && isfinite(w->unseen.box_limit[i]) && law->effect != KD_EFFECT_VALUE &&
           kd_unseen_is_abrupt(law);
}

void kd_unseen_brief_jumps(kd_work *w, int i, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    kd_interval *whole = w->unseen.term;
    kd_unseen_ranges(w, &w->system->law[i], x1, 0.0, 1.0, whole);
    if (!kd_unseen_one_branch(w, &w->system->law[i], whole[0])) (void)kd_unseen_jumps(w, i, x1, seen, out);
}
