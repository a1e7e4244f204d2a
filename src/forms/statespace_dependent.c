// statespace_dependent.c: dependent positions and velocities of the form statespace, from the independent ones.
//
//     [ S Z ] e = [ y - S p ]      p <- p oplus e          [ S ] e = [ v_ind - S v ]      v <- v + e
//     [ C   ]     [ -g      ]                              [ C ]     [ -gI, -h     ]
//
// Newton's method with the factors A of the step's start, to rounding whatever the tolerance of the integrator is. What
// counts is how often a position is set: each g costs one, and so does the result, for velocities and accelerations.
// - From a solution at the same time g = 0 is known, and the first increment needs no evaluation. At other times the
//   prediction is first moved along the constraints, so that y is met.
// - Broyden's good method makes the old factors better: with increments s_k, z = -inv(B_k) F(p_k+1) and
//       s_k+1 = z / (1 - s_k'z / s_k's_k),   inv(B_k+1) = (I + s_k+1 s_k' / s_k's_k) inv(B_k),   inv(B_0) = inv(A)
//   (C. T. Kelley, Iterative Methods for Linear and Nonlinear Equations, section 7.3). It is kept as long as A is, since the
//   next right-hand side is asked for nearby. Increments count in natural units.
// - An increment that is rounding is not made: the position that was evaluated is the result.
// Slow convergence renews the factors.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "forms/statespace_impl.h"
#include "math/dense.h"

#define CONVERGED 1e-14           // estimated error of dependent coordinates beside the largest coordinate
#define STAGNATED 1e-11           // accepted when increments no longer fall
#define MAX_ITERATIONS 25         // with one matrix
#define FIRST_RATE 0.3            // assumed before it is known
#define SLOW 0.1                  // rate of convergence from which on the matrix is renewed
#define MAX_RENEWALS 8            // matrices of one solution: the later ones are those of Newton's method itself
#define FAR 10.0                  // increments may grow by this factor over the smallest one
#define CURVED 0.25               // what later increments may do beside the first one, without leaving its branch
#define NEARBY 1e-3               // the same beside the size of the coordinates at the start
#define PATH_FIRST 0.5            // part of a path that is tried first
#define NOTHING (4 * DBL_EPSILON) // an increment that is not made: rounding
#define NEXT_TO 0.02              // part of the size of positions that a solution nearby is away at most
#define LEARNT_FROM 1e-9          // increments beside the largest coordinate below which differences of g are rounding
#define LEARNT_AT 0.25 // largest part of an increment that its successor may have, if something is learnt from it

// ---- dependent positions and velocities -----------------------------------------------------------------------------

static kd_chart_level *velocity_level(const kd_statespace *self, kd_chart *chart)
{
    return self->shared ? &chart->p : &chart->v;
}

// ---- what is learnt about the factors -------------------------------------------------------------------------------

// e = inv(A) b becomes inv(B) b
static void improve(const kd_statespace *self, const kd_chart_secants *secants, double *e)
{
    for (int k = 0; k < secants->count; k++) {
        const double part = kd_dot(self->dims.nv, secants->s[k], e);
        if (part != 0) kd_axpy(self->dims.nv, part, secants->w[k], e);
    }
}

// e = z becomes s_k+1 and is learnt from, where s_k was a whole increment of the same equations
static void learn(const kd_statespace *self, kd_chart_secants *secants, const double *s, double scale, double *e)
{
    const int    nv = self->dims.nv;
    const double least = LEARNT_FROM * scale, *weight = self->weight;
    double       ss = 0, sz = 0, zz = 0;
    for (int j = 0; j < nv; j++) {
        ss += weight[j] * s[j] * s[j];
        sz += weight[j] * s[j] * e[j];
        zz += weight[j] * e[j] * e[j];
    }
    if (!(ss > least * least) || !(zz <= LEARNT_AT * LEARNT_AT * ss)) return;
    const double longer = 1 / (1 - sz / ss);
    for (int j = 0; j < nv; j++) e[j] *= longer;
    // the oldest have been learnt far away: begin anew
    if (secants->count == KD_CHART_SECANTS) secants->count = 0;
    double *row = secants->s[secants->count], *column = secants->w[secants->count];
    for (int j = 0; j < nv; j++) {
        row[j] = weight[j] * s[j];
        column[j] = e[j] / ss;
    }
    secants->count++;
}

// ---- iterations -----------------------------------------------------------------------------------------------------

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
    self->fault = KD_ERR_RANK_CHANGE;
    kd_text(self->message, sizeof self->message,
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

double kd_statespace_reach(const kd_statespace *self, const double *p)
{
    double most = 0;
    for (int i = 0; i < self->dims.np; i++) {
        const double part = fabs(p[i]) * self->per_p[i];
        most = part > most ? part : most;
    }
    return most;
}

double kd_statespace_move(const kd_statespace *self, const double *e)
{
    double most = 0;
    for (int j = 0; j < self->dims.nv; j++) { // NaN stays NaN
        const double part = fabs(e[j]) * self->per_v[j];
        if (!(part <= most)) most = part;
    }
    return most;
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

// e = inv(B) (y - S p, -g); g NULL: 0
static void position_increment(kd_statespace *self, kd_chart *chart, kd_chart_level *level, const double *y,
                               const double *p, const double *g)
{
    kd_chart_pick(level, p, self->rind);
    for (int i = 0; i < level->nind; i++) self->rind[i] = y[i] - self->rind[i];
    for (int i = 0; i < level->rank; i++) self->rc[i] = g ? -g[level->rows[i]] : 0;
    kd_chart_solve(self, level, self->rind, self->rc, self->e);
    if (level == &chart->p) improve(self, &chart->secants, self->e);
}

// p <- p oplus e; where S picks coordinates they are y exactly, so that x is not changed by a way through the whole state
static kd_eval make_increment(kd_statespace *self, const kd_chart_level *level, const double *y, double *p)
{
    kd_eval answer = kd_chart_move(self, p);
    if (answer == KD_EVAL_OK && level->reduced)
        for (int i = 0; i < level->nind; i++) p[level->independent[i]] = y[i];
    return answer;
}

// Along the constraints to y, without a look at g. known: it is 0 at p, and the increment is one of Newton's method.
// *way: how far; NAN: too far for that, nothing was done, and what was learnt is forgotten. DONE: nothing is left to do.
static kd_eval meet_independent(kd_statespace *self, kd_chart *chart, kd_chart_level *level, const double *y,
                                bool known, double scale, double *p, const double *s, progress *now, double *way,
                                verdict *next)
{
    *next = GO_ON;
    position_increment(self, chart, level, y, p, NULL);
    *way = kd_statespace_move(self, self->e);
    if (!(*way <= NEXT_TO * self->scale)) {
        *way = NAN;
        chart->secants.count = 0;
        return KD_EVAL_OK;
    }
    if (known) *next = judge_increment(now, *way, scale);
    if (*way == 0) return KD_EVAL_OK;
    memcpy(self->step, self->e, (size_t)self->dims.nv * sizeof *self->e);
    if (!self->identity) kd_eom_at_position(kd_acceleration_data(self->acceleration), p, s);
    return make_increment(self, level, y, p);
}

kd_eval kd_chart_positions(kd_statespace *self, kd_chart *chart, double t, const double *y, bool known, double near,
                           double *p, double *s)
{
    kd_chart_level *level = kd_near_level(self, chart, t);
    progress        now = {0};
    verdict         next;
    double          scale = fmax(1, kd_statespace_reach(self, p)), way, first = -1;
    self->placed = false;
    kd_eval answer = kd_acceleration_at_time(self->acceleration, t);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    answer = meet_independent(self, chart, level, y, known, scale, p, s, &now, &way, &next);
    if (answer != KD_EVAL_OK) return answer;
    // nearby: self->step is an increment of these equations if it began at a solution; far away plain Newton steps, of which
    // nothing is learnt, so that they lead to the branch that they always did
    const bool near_by = !isnan(way);
    bool       learns = near_by && known;
    // where the first increment led; later ones stay near
    if (learns) {
        memcpy(self->aim, p, (size_t)self->dims.np * sizeof *p);
        first = way;
    }
    while (next != DONE) {
        // [S Z; C] e = (y - S p, -g)
        answer = position_values(self, t, p, s);
        if (answer != KD_EVAL_OK) return answer;
        position_increment(self, chart, level, y, p, self->values);
        if (learns && level == &chart->p) learn(self, &chart->secants, self->step, scale, self->e);
        // small enough: p as it stands is the result, and the data are there
        const double size = kd_statespace_move(self, self->e);
        next = judge_increment(&now, size, scale);
        self->placed = next == DONE && size <= NOTHING * scale;
        if (self->placed) break;
        if (next == GIVE_UP) return no_solution(self, level, t, "positions");
        // p <- p oplus e
        answer = make_increment(self, level, y, p);
        if (answer != KD_EVAL_OK) return answer;
        memcpy(self->step, self->e, (size_t)self->dims.nv * sizeof *self->e);
        learns = near_by;
        if (first < 0) {
            memcpy(self->aim, p, (size_t)self->dims.np * sizeof *p);
            first = near_by ? way + size : size;
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
            learns = false;
        }
    }
    if (self->dims.ns == 0) return KD_EVAL_OK;
    self->placed = false;
    return kd_statespace_note(self, kd_acceleration_contacts(self->acceleration, t, p, s), "");
}

// One part of the path: to (t, y) from the present p, s, which stay after a failure, with new factors there
static kd_eval next_on_path(kd_statespace *self, kd_chart *chart, double t_now, double t, const double *y, double *p,
                            double *s)
{
    kd_dims d = self->dims;
    bool    regular;
    memcpy(self->before, p, (size_t)d.np * sizeof *p);
    memcpy(self->before + d.np, s, (size_t)d.ns * sizeof *s);
    kd_eval answer = kd_chart_positions(self, chart, t, y, false, INFINITY, p, s);
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
                            const double *s, const double *r, double *v)
{
    kd_chart_level *level = velocity_level(self, chart);
    kd_eom_data    *data = kd_acceleration_data(self->acceleration);
    kd_dims         d = self->dims;
    progress        now = {0};
    kd_near_point  *here;
    if (!self->placed) kd_eom_at_position(data, p, s);
    self->placed = false;
    kd_eval answer = kd_near_place(self, chart, t, p, &here);
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
        const bool exact = here && level == &here->level; // the matrix of this very position: one increment is enough
        if (self->shared && !exact) improve(self, &chart->secants, self->e);
        // v <- v + e
        double  scale = fmax(1 / kd_eom_time(self->eom), kd_statespace_move(self, v));
        verdict next = judge_increment(&now, kd_statespace_move(self, self->e), scale);
        if (exact && next != GIVE_UP && DBL_EPSILON * chart->p.condition * now.last <= CONVERGED * scale) next = DONE;
        if (next == GIVE_UP) return no_solution(self, level, t, "velocities");
        for (int j = 0; j < d.nv; j++) v[j] += self->e[j];
        if (next == RENEW) {
            bool regular;
            answer = renew_factors(self, chart, t, p, s, &regular);
            level = velocity_level(self, chart);
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
