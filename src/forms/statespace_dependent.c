// statespace_dependent.c: the way back from independent coordinates: dependent positions by Newton's method with the factors of
// the step's start, whatever the tolerance of the integrator is, to rounding, directly or along a path; dependent velocities
// likewise, their equations are linear. Slow convergence renews the factors.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "forms/statespace_impl.h"
#include "math/dense.h"

#define CONVERGED 1e-14   // estimated error of dependent coordinates beside the largest coordinate
#define STAGNATED 1e-11   // accepted when increments no longer fall
#define MAX_ITERATIONS 25 // with one matrix
#define FIRST_RATE 0.3    // assumed before it is known
#define SLOW 0.1          // rate of convergence from which on the matrix is renewed
#define MAX_RENEWALS 8    // matrices of one solution: the later ones are those of Newton's method itself
#define FAR 10.0          // increments may grow by this factor over the smallest one
#define CURVED 0.25       // what later increments may do beside the first one, without leaving its branch
#define NEARBY 1e-3       // the same beside the size of the coordinates at the start
#define PATH_FIRST 0.5    // part of a path that is tried first

// Progress of a simplified Newton iteration
typedef struct progress {
    double last, rate, least;
    int    iteration, renewals;
} progress;
typedef enum verdict { GO_ON, DONE, RENEW, GIVE_UP } verdict;

// What does an increment of this size beside a solution of size scale say?
static verdict judge_increment(progress *now, double size, double scale)
{
    if (!isfinite(size)) return GIVE_UP;
    bool first = now->iteration++ == 0, wild = !first && now->last > FAR * now->least; // its rate says nothing
    // rate theta of convergence; what is left, theta / (1 - theta) |e|
    now->rate = first ? FIRST_RATE : now->last > 0 ? size / now->last : 0;
    bool   falls = now->rate < 1;
    double left = falls ? size * now->rate / (1 - now->rate) : size;
    now->last = size;
    now->least = first && now->renewals == 0 ? size : fmin(now->least, size);
    // converged, rounding, hopeless, slow, or on the way
    if ((!wild && left <= CONVERGED * scale) || size <= DBL_EPSILON * scale) return DONE;
    if (!first && now->rate > 0.5 && size <= STAGNATED * scale) return DONE; // rounding
    if (size > FAR * now->least && now->renewals >= MAX_RENEWALS) return GIVE_UP;
    if (!first && now->rate > SLOW && now->renewals < MAX_RENEWALS) return RENEW;
    return falls && now->iteration < MAX_ITERATIONS ? GO_ON : GIVE_UP;
}

// The constraint that is violated most, in words
static kd_eval no_solution(kd_statespace *self, const kd_chart_level *level, double t, const char *what)
{
    int    worst = -1, nlambda = self->dims.nlambda;
    double most = -1;
    char   name[96] = "the constraints";
    for (int i = 0; i < level->rank; i++) {
        double size = fabs(self->values[level->rows[i]] * level->row[kd_chart_order(self, level) - level->rank + i]);
        if (size > most || isnan(size)) {
            most = size;
            worst = level->rows[i];
        }
        if (isnan(size)) break;
    }
    if (worst >= 0)
        kd_eom_name(self->eom, worst < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, worst < nlambda ? worst : worst - nlambda,
                    name, sizeof name);
    kd_form_fail(&self->fault, KD_ERR_RANK_CHANGE,
                 "t = %.9g: no dependent %s satisfy %s; the mechanism locks or is near "
                 "a singular position",
                 t, what, name);
    return KD_EVAL_RETRY;
}

// New matrix at the present iterate. data is left at the position stage there.
static kd_eval renew_factors(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s,
                             bool *regular)
{
    return kd_chart_factor(self, chart, t, p, s, regular);
}

// g at the iterate (p, s)
static kd_eval position_values(kd_statespace *self, double t, const double *p, double *s)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    if (self->dims.ns > 0) {
        kd_eval answer = kd_statespace_note(self, kd_acceleration_contacts(self->acceleration, t, p, s), "");
        if (answer != KD_EVAL_OK) return answer;
        answer = kd_acceleration_at(self->acceleration, t, p, s, self->zero, self->zero);
        if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    } else {
        kd_eom_at_position(data, p, s);
    }
    return self->dims.nlambda > 0 ? kd_statespace_note_data(self, kd_eom_eval(data, KD_G, self->values)) : KD_EVAL_OK;
}

// p <- p oplus e; the data are at p
kd_eval kd_chart_move(kd_statespace *self, double *p)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    if (self->identity) {
        for (int j = 0; j < self->dims.nv; j++) p[j] += self->e[j];
        return KD_EVAL_OK;
    }
    kd_eval answer = kd_eom_oplus(data, p, self->e, self->moved);
    if (answer == KD_EVAL_OK) memcpy(p, self->moved, (size_t)self->dims.np * sizeof *p);
    return kd_statespace_note_data(self, answer);
}

// Have later increments moved p far away from where the first one led? That may be the way to another
// branch or to nowhere.
static bool astray(const kd_statespace *self, const double *p, double first)
{
    double far = 0;
    for (int i = 0; i < self->dims.np; i++) {
        const double part = fabs(p[i] - self->aim[i]) * self->per_p[i];
        far = part > far ? part : far;
    }
    return far > fmax(CURVED * first, NEARBY * self->scale);
}

// Is y met exactly, and the increment no more than rounding?
static bool is_rounding(const kd_statespace *self, const kd_chart_level *level, const double *y, const double *p,
                        double size, double scale)
{
    if (!self->identity || !(size <= DBL_EPSILON * scale)) return false;
    for (int i = 0; i < level->nind; i++)
        if (p[level->independent[i]] != y[i]) return false;
    return true;
}

kd_eval kd_chart_positions(kd_statespace *self, kd_chart *chart, double t, const double *y, double near, double *p,
                           double *s)
{
    kd_chart_level *level = kd_near_level(self, chart, t);
    progress        now = {0};
    double          scale = fmax(1, kd_statespace_reach(self, p)), first = -1;
    const double   *left = kd_near_left(self, chart, t, p);
    kd_eval         answer = kd_acceleration_at_time(self->acceleration, t);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    self->there = false;
    for (;;) {
        // [S Z; C] e = (y - S p, -g); g may be known at the guess
        if (left && first < 0)
            memcpy(self->values, left, (size_t)self->dims.nlambda * sizeof *left);
        else
            answer = position_values(self, t, p, s);
        if (answer != KD_EVAL_OK) return answer;
        kd_chart_pick(level, p, self->rind);
        for (int i = 0; i < level->nind; i++) self->rind[i] = y[i] - self->rind[i];
        for (int i = 0; i < level->rank; i++) self->rc[i] = -self->values[level->rows[i]];
        kd_chart_solve(self, level, self->rind, self->rc, self->e);
        // p <- p oplus e
        verdict next = judge_increment(&now, kd_statespace_move(self, self->e), scale);
        if (next == GIVE_UP) return no_solution(self, level, t, "positions");
        // an increment that is rounding is not made: the position that was looked at is the solution
        self->there =
            first >= 0 && level->reduced && self->dims.ns == 0 && is_rounding(self, level, y, p, now.last, scale);
        if (self->there) return KD_EVAL_OK;
        answer = kd_chart_move(self, p);
        if (answer != KD_EVAL_OK) return answer;
        // where the first increment led; later ones stay near
        if (first < 0) {
            for (int i = 0; i < level->nind && level->reduced; i++) p[level->independent[i]] = y[i];
            memcpy(self->aim, p, (size_t)self->dims.np * sizeof *p);
            first = now.last;
        }
        if (first > near || astray(self, p, first)) return no_solution(self, level, t, "positions");
        // slow: factors of the iterate, and its rate is unknown again
        if (next == RENEW) {
            bool regular;
            answer = renew_factors(self, chart, t, p, s, &regular);
            level = &chart->p;
            if (answer == KD_EVAL_OK && !regular) return no_solution(self, level, t, "positions");
            if (answer != KD_EVAL_OK) return answer;
            now = (progress){.least = now.least, .renewals = now.renewals + 1, .last = now.last};
        }
        if (next == DONE) break;
    }
    if (level->reduced) // exactly, so that x is not changed by a way through the whole state
        for (int i = 0; i < level->nind; i++) p[level->independent[i]] = y[i];
    return self->dims.ns > 0 ? kd_statespace_note(self, kd_acceleration_contacts(self->acceleration, t, p, s), "")
                             : KD_EVAL_OK;
}

// One part of the path: to (t, y) from the present p, s, which stay after a failure, with new factors there
static kd_eval next_on_path(kd_statespace *self, kd_chart *chart, double t_now, double t, const double *y, double *p,
                            double *s)
{
    kd_dims d = self->dims;
    bool    regular;
    memcpy(self->before, p, (size_t)d.np * sizeof *p);
    memcpy(self->before + d.np, s, (size_t)d.ns * sizeof *s);
    kd_eval answer = kd_chart_positions(self, chart, t, y, INFINITY, p, s);
    if (answer != KD_EVAL_RETRY) return answer;
    memcpy(p, self->before, (size_t)d.np * sizeof *p);
    memcpy(s, self->before + d.np, (size_t)d.ns * sizeof *s);
    (void)!kd_chart_factor(self, chart, t_now, p, s, &regular);
    return answer;
}

kd_eval kd_chart_follow(kd_statespace *self, kd_chart *chart, double t_from, double t, const double *y, double *p,
                        double *s, double least, double most)
{
    int     nind = chart->p.nind;
    double  done = 0, part = fmin(PATH_FIRST, most), *y_from = self->path, *y_next = self->path + nind, t_now = t_from;
    kd_eval answer = KD_EVAL_OK;
    kd_chart_pick(&chart->p, p, y_from);
    while (done < 1) {
        // next point on the line from (t_from, y_from) to (t, y)
        double next = fmin(1, done + part), t_next = next < 1 ? t_from + next * (t - t_from) : t;
        for (int i = 0; i < nind; i++) y_next[i] = next < 1 ? y_from[i] + next * (y[i] - y_from[i]) : y[i];
        answer = next_on_path(self, chart, t_now, t_next, y_next, p, s);
        if (answer == KD_EVAL_STOP || (answer != KD_EVAL_OK && part <= least)) return answer;
        // twice as far after a success, half as far after a failure
        part = answer == KD_EVAL_OK ? fmin(2 * part, most) : 0.5 * part;
        if (answer != KD_EVAL_OK) continue;
        done = next;
        t_now = t_next;
    }
    return answer;
}

kd_eval kd_chart_velocities(kd_statespace *self, kd_chart *chart, double t, const double *v_ind, const double *p,
                            const double *s, const double *r, double *v, kd_near_point *here)
{
    kd_chart_level *level = kd_chart_velocity_level(self, chart);
    kd_eom_data    *data = kd_acceleration_data(self->acceleration);
    kd_dims         d = self->dims;
    progress        now = {0};
    kd_eval         answer = KD_EVAL_OK;
    if (!here) {
        if (!self->there) kd_eom_at_position(data, p, s);
        answer = kd_near_place(self, chart, t, p, &here);
    }
    if (answer != KD_EVAL_OK) return answer;
    if (here) level = &here->level;
    for (;;) {
        // [S; C] e = (v_ind - S v, -(gI, h))
        kd_eom_at_velocity(data, v, r);
        if (d.nlambda > 0) answer = kd_eom_eval(data, KD_GI, self->values);
        if (answer == KD_EVAL_OK && d.nmu > 0) answer = kd_eom_eval(data, KD_H, self->values + d.nlambda);
        if (answer != KD_EVAL_OK) return kd_statespace_note_data(self, answer);
        kd_chart_pick(level, v, self->rind);
        for (int i = 0; i < level->nind; i++) self->rind[i] = v_ind[i] - self->rind[i];
        for (int i = 0; i < level->rank; i++) self->rc[i] = -self->values[level->rows[i]];
        kd_chart_solve(self, level, self->rind, self->rc, self->e);
        // v <- v + e
        double     scale = fmax(1 / kd_eom_time(self->eom), kd_statespace_move(self, v));
        const bool exact = here && level == &here->level; // the matrix of this very position: one increment is enough
        verdict    next = judge_increment(&now, kd_statespace_move(self, self->e), scale);
        if (exact && next != GIVE_UP && DBL_EPSILON * chart->p.condition * now.last <= CONVERGED * scale) next = DONE;
        if (next == GIVE_UP) return no_solution(self, level, t, "velocities");
        for (int j = 0; j < d.nv; j++) v[j] += self->e[j];
        if (next == RENEW) {
            bool regular;
            answer = renew_factors(self, chart, t, p, s, &regular);
            level = kd_chart_velocity_level(self, chart);
            if (answer == KD_EVAL_OK && !regular) return no_solution(self, level, t, "velocities");
            if (answer != KD_EVAL_OK) return answer;
            now = (progress){.least = now.least, .renewals = now.renewals + 1, .last = now.last};
        }
        if (next == DONE) break;
    }
    if (!level->S)
        for (int i = 0; i < level->nind; i++) v[level->independent[i]] = v_ind[i];
    if (here) memcpy(here->v, v, (size_t)d.nv * sizeof *v);
    kd_eom_at_velocity(data, v, r);
    return KD_EVAL_OK;
}
