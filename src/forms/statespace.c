// statespace.c: state-space form of the equations of motion (S2 sections 1 to 4), x = [y v_ind r]:
//
//     y' = S_p Z v,   v_ind' = S_v a,   r' = b       y = S_p p,  v_ind = S_v v
//
// with all of p, v from g = 0, gI = 0, h = 0 (statespace_chart.c) and a from the accelerations of the whole system
// (acceleration.c). An ordinary differential equation for any integrator; constraints hold to rounding. S_p, S_v pick
// independent coordinates and are chosen anew (relabel) when the condition number of their matrix has grown by a
// quarter. Newton matrices: statespace_newton.c. Method: docs/methods/statespace.md
#include "forms/statespace.h"
#include "core/archive.h"
#include "core/text.h"
#include "forms/archive.h"
#include "forms/statespace_impl.h"
#include "math/dense.h"
#include <kardan/initial.h>
#include <math.h>
#include <string.h>

#define RESERVED 600        // size of x up to which Newton matrices are allocated at creation
#define FORGOTTEN_ROWS 1e-6 // violation of a row that was left out as redundant

// ---- faults ---------------------------------------------------------------------------------------------------------

kd_status kd_statespace_fail(kd_statespace *self, kd_status status, const char *what)
{
    return kd_form_fail(&self->fault, status, "%s", what);
}

kd_eval kd_statespace_note(kd_statespace *self, kd_eval answer, const char *what)
{
    return kd_form_note(&self->fault, self->acceleration, answer, what);
}

kd_eval kd_statespace_note_data(kd_statespace *self, kd_eval answer)
{
    return kd_form_note_data(&self->fault, kd_acceleration_data(self->acceleration), answer);
}

static kd_status statespace_fault(void *impl, const char **message)
{
    kd_statespace *self = impl;
    if (message) *message = self->fault.message;
    return self->fault.status;
}

// ---- right-hand side ------------------------------------------------------------------------------------------------

static kd_eval plain_rhs(kd_statespace *self, double t, const double *x, double *xdot)
{
    kd_eval answer = kd_statespace_solve(self, t, x);
    if (answer == KD_EVAL_OK)
        kd_statespace_encode(self, self->last.chart, self->last.pdot, self->last.a, self->last.rdot, xdot);
    return answer;
}

static kd_eval statespace_rhs(void *impl, double t, const double *x, double *xdot)
{
    kd_statespace *self = impl;
    self->counters.residuals++;
    return plain_rhs(self, t, x, xdot);
}

static kd_eval statespace_residual(void *impl, double t, const double *x, const double *xdot, double *F)
{
    kd_statespace *self = impl;
    self->counters.residuals++;
    kd_eval answer = plain_rhs(self, t, x, F);
    for (int i = 0; i < self->dae->n && answer == KD_EVAL_OK; i++) F[i] = xdot[i] - F[i];
    return answer;
}

// x' of the accepted point was found when the step ended
static void keep_accepted(kd_statespace *self, double t, const double *x)
{
    kd_statespace_point *point = &self->accepted.point, *before = &self->accepted.before;
    const bool           goes_on = self->accepted.count > 0 && point->t != t;
    self->accepted.count = goes_on ? 2 : self->accepted.count > 0 ? self->accepted.count : 1;
    if (goes_on) {
        const kd_statespace_point other = *before;
        *before = *point;
        *point = other;
    }
    kd_statespace_set_point(self, point, t, x);
    memcpy(point->p, self->last.p, (size_t)(self->nwhole + self->dims.nv) * sizeof *x);
    point->known = true;
    kd_statespace_encode(self, self->last.chart, self->last.pdot, self->last.a, self->last.rdot, self->accepted.xdot);
}

static kd_eval statespace_evaluate_accepted(void *impl, double t, const double *x, const double *xdot, double *part,
                                            double *y)
{
    kd_statespace *self = impl;
    kd_eval        answer = KD_EVAL_OK;
    double        *F = self->accepted.F;
    if (kd_statespace_same_point(self, &self->accepted.point, t, x))
        for (int i = 0; i < self->dae->n; i++) F[i] = xdot[i] - self->accepted.xdot[i];
    else
        answer = statespace_residual(impl, t, x, xdot, F);
    if (answer == KD_EVAL_OK) kd_statespace_reduce(impl, F, part, y);
    return answer;
}

static kd_eval statespace_start(void *impl, double t, const double *x, double *xdot)
{
    return plain_rhs(impl, t, x, xdot);
}

static void statespace_forget(void *impl)
{
    kd_statespace *self = impl;
    self->last.known = self->kept.known = self->ends[0].known = self->ends[1].known = false;
    self->last.inside = self->kept.inside = self->accepted.point.known = false;
    kd_near_forget(self);
    kd_dense_output_forget(self->dense);
}

// Nothing but x' changes. The rates of independent positions are velocities, which do not; where they are the
// independent velocities themselves, p'' changes by as much as v'.
static kd_eval statespace_resolve(void *impl, double t, double *x, double *xdot, double *jump, double *bend)
{
    kd_statespace  *self = impl;
    const kd_chart *chart = kd_statespace_chart_at(self, t);
    const int       nip = chart->p.nind, n = self->dae->n;
    self->accepted.point.known = false;
    for (int i = 0; i < n; i++) jump[i] = -xdot[i];
    memset(bend, 0, (size_t)n * sizeof *bend);
    kd_eval answer = statespace_rhs(impl, t, x, xdot);
    for (int i = 0; i < n; i++) jump[i] = i < nip ? 0 : jump[i] + xdot[i];
    if (self->shared && self->identity) memcpy(bend, jump + nip, (size_t)nip * sizeof *bend);
    return answer;
}

static kd_eval statespace_complete(void *impl, double t, const double *x, double *rest)
{
    kd_statespace *self = impl;
    kd_eval        answer = kd_statespace_look_at(self, t, x);
    if (answer == KD_EVAL_OK) memcpy(rest, self->last.p, (size_t)(self->nwhole + self->dims.nv) * sizeof *rest);
    return answer;
}

// ---- coordinates ----------------------------------------------------------------------------------------------------

static kd_eval tell_singular(kd_statespace *self, double t)
{
    kd_form_fail(&self->fault, KD_ERR_RANK_CHANGE,
                 "t = %.9g: the constraints do not determine the dependent coordinates: singular position", t);
    return KD_EVAL_RETRY;
}

// New coordinates at a position, with factors
static kd_eval choose_and_factor(kd_statespace *self, kd_chart *chart, double t, const double *p, const double *s)
{
    bool    regular;
    kd_eval answer = kd_chart_choose(self, chart, t, p, s);
    if (answer == KD_EVAL_OK) answer = kd_chart_factor(self, chart, t, p, s, &regular);
    if (answer != KD_EVAL_OK) return answer;
    if (!regular) return tell_singular(self, t);
    (void)kd_chart_serves(self, chart, true);
    return KD_EVAL_OK;
}

// Natural sizes of the independent coordinates; inner states keep theirs
static void size_components(kd_statespace *self, int nip, int niv)
{
    const kd_chart_level *p = &self->chart->p, *v = kd_chart_velocity(self, self->chart);
    double               *unit = self->dae->unit;
    memmove(unit + nip + niv, unit + self->inner, (size_t)self->dims.nr * sizeof *unit);
    for (int i = nip + niv + self->dims.nr; i < self->dae->n; i++) unit[i] = 1;
    for (int i = 0; i < nip; i++) unit[i] = 1;
    for (int i = 0; i < nip && !p->S; i++) unit[i] = kd_eom_position_unit(self->eom, p->independent[i]);
    for (int i = 0; i < niv; i++)
        unit[nip + i] = (v->S ? 1 : kd_eom_unit(self->eom, v->independent[i])) / self->dae->time;
}

// Kinds of the components, and the ones behind r that stand for coordinates which the present rows do not leave free
static void describe_components(kd_statespace *self)
{
    int nip = self->chart->p.nind, niv = kd_chart_velocity(self, self->chart)->nind;
    for (int i = 0; i < self->dae->n; i++) {
        self->component[i] = i < nip                         ? KD_COMPONENT_POSITION
                             : i < nip + niv                 ? KD_COMPONENT_VELOCITY
                             : i < nip + niv + self->dims.nr ? KD_COMPONENT_INNER
                                                             : KD_COMPONENT_INTERNAL;
        self->index[i] = 1;
        self->controlled[i] = true;
    }
    if (self->dae->unit) size_components(self, nip, niv);
    self->inner = nip + niv;
}

// Size of x in the coordinates of a chart
static int size_of_x(const kd_statespace *self, const kd_chart *chart)
{
    return chart->p.nind + kd_chart_velocity(self, chart)->nind + self->dims.nr;
}

// A start: coordinates anew, nothing of before counts
static kd_eval start_chart(kd_statespace *self, double t, const double *p, const double *s)
{
    self->previous->valid = self->chart->valid = false;
    self->accepted.point.known = self->accepted.before.known = false;
    self->accepted.count = 0;
    kd_near_forget(self);
    self->rank_p = self->rank_v = -1;
    return choose_and_factor(self, self->chart, t, p, s);
}

static kd_eval statespace_pack(void *impl, double t, const double *whole, double *x)
{
    kd_statespace *self = impl;
    kd_dims        d = self->dims;
    // the whole state is the point; nothing of before is known
    memcpy(self->last.p, whole, (size_t)(self->nwhole + d.nv) * sizeof *x);
    memcpy(self->guess, self->last.w, (size_t)(self->nwhole - d.np - d.nv - d.nr) * sizeof *x);
    self->last.known = self->kept.known = self->ends[0].known = self->ends[1].known = false;
    memset(x, 0, (size_t)self->dae->n * sizeof *x);
    // coordinates anew
    kd_eval answer = start_chart(self, t, self->last.p, self->last.s);
    if (answer != KD_EVAL_OK) return answer;
    if (size_of_x(self, self->chart) > self->dae->n) {
        kd_form_fail(
            &self->fault, KD_ERR_RANK_CHANGE,
            "t = %.9g: the constraints leave more degrees of freedom than at the creation of the state-space form", t);
        return KD_EVAL_RETRY;
    }
    // x in these coordinates; the point is the first of the past
    self->chart->valid = true;
    self->chart->t = t;
    self->last.t = self->guess_t = t;
    self->scale = fmax(1, kd_statespace_reach(self, self->last.p));
    self->past.count = 0;
    kd_statespace_remember(self, &self->last);
    describe_components(self);
    kd_statespace_encode(self, self->chart, self->last.p, self->last.v, self->last.r, x);
    return KD_EVAL_OK;
}

// Rows that were left out as redundant must hold as well
static kd_eval check_redundant(kd_statespace *self, const kd_statespace_point *at)
{
    kd_dims      d = self->dims;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    char         name[96];
    if (d.nlambda == self->chart->p.rank) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at(self->acceleration, at->t, at->p, at->s, at->v, at->r);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    answer = kd_eom_eval(data, KD_G, self->values);
    if (answer != KD_EVAL_OK) return kd_statespace_note_data(self, answer);
    for (int i = 0; i < d.nlambda; i++) {
        if (!self->state->active_lambda[i] || fabs(self->values[i]) <= FORGOTTEN_ROWS) continue;
        kd_form_fail(&self->fault, KD_ERR_RANK_CHANGE, "t = %.9g: %s was redundant at the start and no longer is",
                     at->t, kd_eom_name(self->eom, KD_NAME_LAMBDA, i, name, sizeof name));
        return KD_EVAL_RETRY;
    }
    return KD_EVAL_OK;
}

static kd_eval statespace_relabel(void *impl, double t, double *x, bool *changed)
{
    kd_statespace *self = impl;
    bool           regular = true;
    *changed = false;
    // the whole state at the end of the step
    kd_eval answer = kd_statespace_solve(self, t, x);
    if (answer == KD_EVAL_OK) answer = check_redundant(self, &self->last);
    if (answer != KD_EVAL_OK || self->last.chart != self->chart) return answer;
    const kd_statespace_point *at = &self->last;
    kd_statespace_remember(self, at);
    keep_accepted(self, t, x);
    kd_near_forget_attempt(self);
    // do the coordinates still serve?
    answer = kd_chart_factor(self, self->chart, t, at->p, at->s, &regular);
    if (answer != KD_EVAL_OK || (regular && kd_chart_serves(self, self->chart, false))) return answer;
    // others, if there are better ones
    answer = choose_and_factor(self, self->previous, t, at->p, at->s);
    if (answer != KD_EVAL_OK) return answer;
    kd_chart *chosen = self->previous;
    if (kd_chart_same(self, self->chart, chosen)) { // the best there is: a new reference
        self->previous->valid = false;
        (void)kd_chart_serves(self, self->chart, true);
        return KD_EVAL_OK;
    }
    // x in the new ones; the old ones serve times before t
    self->previous = self->chart;
    self->chart = chosen;
    self->kept.known = false;
    chosen->valid = true;
    chosen->t = t;
    kd_statespace_encode(self, chosen, at->p, at->v, at->r, x);
    memcpy(self->last.x, x, (size_t)self->dae->n * sizeof *x);
    self->last.chart = chosen;
    keep_accepted(self, t, x);
    *changed = true;
    return KD_EVAL_OK;
}

// ---- between steps --------------------------------------------------------------------------------------------------

// ends[k] = (t, x) with all that belongs to it
static kd_eval set_end(kd_statespace *self, kd_statespace_point *end, double t, const double *x)
{
    if (kd_statespace_same_point(self, end, t, x)) return KD_EVAL_OK;
    kd_eval answer = kd_statespace_look_at(self, t, x);
    if (answer != KD_EVAL_OK) return answer;
    kd_statespace_set_point(self, end, t, x);
    memcpy(end->p, self->last.p, (size_t)(self->nwhole + self->dims.nv) * sizeof *x);
    end->known = true;
    return KD_EVAL_OK;
}

static kd_eval statespace_interpolate(void *impl, double t0, const double *x0, double t1, const double *x1, double t,
                                      double *x)
{
    kd_statespace *self = impl;
    kd_dims        d = self->dims;
    // whole states at both ends, dense output between them
    kd_eval answer = set_end(self, &self->ends[0], t0, x0);
    if (answer == KD_EVAL_OK) answer = set_end(self, &self->ends[1], t1, x1);
    if (answer == KD_EVAL_OK)
        answer = kd_statespace_note(
            self, kd_dense_output_motion(self->dense, t0, self->ends[0].p, t1, self->ends[1].p, t, self->whole), "");
    if (answer != KD_EVAL_OK) return answer;
    // x in the coordinates of its time; the dependent ones follow from it
    kd_statespace_encode(self, kd_statespace_chart_at(self, t), self->whole, self->whole + d.np,
                         self->whole + d.np + d.nv, x);
    // what follows will ask for this state: the polynomials are a guess of p, s, v
    kd_statespace_step_aside(self);
    kd_statespace_set_point(self, &self->last, t, x);
    self->last.inside = true;
    self->guess_t = t;
    memcpy(self->last.p, self->whole, (size_t)(d.np + d.nv) * sizeof *x);
    memcpy(self->last.s, self->whole + d.np + d.nv + d.nr + d.nw, (size_t)d.ns * sizeof *x);
    return KD_EVAL_OK;
}

// ---- names and numbers ----------------------------------------------------------------------------------------------

static const char *statespace_component_name(void *impl, int i, char *buffer, size_t size)
{
    kd_statespace        *self = impl;
    const kd_chart_level *p = &self->chart->p, *v = kd_chart_velocity(self, self->chart);
    int                   nip = p->nind, niv = v->nind;
    bool                  tangent = p->S;
    const char           *word = i < nip ? "position" : i < nip + niv ? "velocity" : "inner state";
    kd_kind               kind = i < nip ? KD_NAME_P : i < nip + niv ? KD_NAME_V : KD_NAME_R;
    if ((tangent && i < nip + niv) || i >= nip + niv + self->dims.nr) {
        kd_text(buffer, size, "independent %s %d", word, i < nip ? i : i - nip);
        return buffer;
    }
    int k = i < nip ? p->independent[i] : i < nip + niv ? v->independent[i - nip] : i - nip - niv;
    return kd_form_component(self->eom, word, kind, k, buffer, size);
}

static kd_dae_counters statespace_counters(void *impl)
{
    kd_statespace  *self = impl;
    kd_dae_counters counters = self->counters;
    counters.for_differences += kd_eom_data_counters(kd_acceleration_data(self->acceleration)).for_differences;
    return counters;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// Charts are known by their place: 0, 1; 2: none
static void archive_chart_pointer(kd_archive *a, kd_statespace *self, const kd_chart **chart)
{
    int which = *chart == &self->charts[0] ? 0 : *chart == &self->charts[1] ? 1 : 2;
    kd_archive_int(a, &which, 0, 2);
    if (a->reads && kd_archive_good(a)) *chart = which < 2 ? &self->charts[which] : NULL;
}

static void archive_point(kd_archive *a, kd_statespace *self, kd_statespace_point *point)
{
    KD_ARCHIVE_BOOLS(a, &point->known, &point->looked_at, &point->inside, &point->rough, &point->unsettled);
    kd_archive_real(a, &point->t);
    archive_chart_pointer(a, self, &point->chart);
    kd_archive_flags(a, point->active, (size_t)(self->dims.nlambda + self->dims.nmu));
}

static void statespace_archive(void *impl, kd_archive *a)
{
    kd_statespace *self = impl;
    kd_acceleration_archive(self->acceleration, a);
    kd_dense_output_archive(self->dense, a);
    kd_position_archive(&self->position, a);
    kd_near_part(self);
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    // coordinates; one of the two charts is the present one
    int present = self->chart == &self->charts[1];
    kd_archive_int(a, &present, 0, 1);
    if (a->reads) self->chart = &self->charts[present], self->previous = &self->charts[!present];
    for (int k = 0; k < 2; k++) kd_chart_archive(self, &self->charts[k], a);
    kd_near_archive(self, a);
    const int most = self->dims.np + self->dims.nv + self->dims.nlambda + self->dims.nmu;
    kd_archive_int(a, &self->rank_p, -1, most);
    kd_archive_int(a, &self->rank_v, -1, most);
    if (kd_archive_good(a) && self->chart->valid && size_of_x(self, self->chart) > self->dae->n)
        kd_archive_fail(a, KD_ERR_SAVED, "coordinates are more than components");
    // points
    kd_statespace_point *point[] = {&self->last,    &self->kept,           &self->ends[0],
                                    &self->ends[1], &self->accepted.point, &self->accepted.before};
    for (int k = 0; k < 6; k++) archive_point(a, self, point[k]);
    kd_archive_int(a, &self->accepted.count, 0, 2);
    kd_archive_int(a, &self->past.count, 0, KD_STATESPACE_PAST);
    kd_archive_int(a, &self->past.newest, 0, KD_STATESPACE_PAST - 1);
    kd_archive_doubles(a, self->past.t, KD_STATESPACE_PAST);
    KD_ARCHIVE_REALS(a, &self->scale, &self->guess_t, &self->reached);
    kd_archive_bools(a, self->stiff, (size_t)(self->dims.np > self->dims.nv ? self->dims.np : self->dims.nv));
    kd_statespace_newton_archive(self, a);
    kd_counters_archive(&self->counters, a);
    if (a->reads && kd_archive_good(a) && self->chart->valid) describe_components(self);
}

static void statespace_destroy(void *impl)
{
    kd_statespace *self = impl;
    if (!self) return;
    kd_statespace_newton_release(&self->newton);
    for (int k = 0; k < 2; k++) kd_chart_release(&self->charts[k]);
    kd_dense_output_destroy(self->dense);
    kd_acceleration_destroy(self->acceleration);
    kd_arena_release(&self->arena);
    kd_free(self);
}

static const kd_dae_class statespace_class = {
    .name = "statespace",
    .residual = statespace_residual,
    .linearize = kd_statespace_linearize,
    .factor = kd_statespace_factor,
    .reduce = kd_statespace_reduce,
    .evaluate_accepted = statespace_evaluate_accepted,
    .solve_real = kd_statespace_solve_real,
    .pair = kd_statespace_pair,
    .solve_complex = kd_statespace_solve_complex,
    .expand = kd_statespace_expand,
    .relabel = statespace_relabel,
    .recall = kd_statespace_recall,
    .interpolate = statespace_interpolate,
    .rhs = statespace_rhs,
    .pack = statespace_pack,
    .complete = statespace_complete,
    .start = statespace_start,
    .resolve = statespace_resolve,
    .forget = statespace_forget,
    .component_name = statespace_component_name,
    .fault = statespace_fault,
    .counters = statespace_counters,
    .archive = statespace_archive,
    .destroy = statespace_destroy,
};

static void cut_point(kd_statespace *self, kd_statespace_point *point)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    point->x = kd_cut_double(arena, self->nx_max);
    point->p = kd_cut_double(arena, self->nwhole + d.nv);
    point->pdot = kd_cut_double(arena, d.np);
    point->rdot = kd_cut_double(arena, d.nr);
    point->z = kd_cut_double(arena, d.nz);
    point->active = kd_arena_cut(arena, (size_t)(d.nlambda + d.nmu), 1);
    if (arena->failed) return;
    point->v = point->p + d.np;
    point->r = point->v + d.nv;
    point->w = point->r + d.nr;
    point->s = point->w + d.nw;
    point->lambda = point->s + d.ns;
    point->mu = point->lambda + d.nlambda;
    point->a = point->mu + d.nmu;
}

// Workspace of the choice of coordinates
static void cut_pivoting(kd_statespace *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    bool      tangent = self->opt.parametrisation == KD_PARAMETRISATION_TANGENT;
    int       m = d.nlambda + d.nmu + d.nq, n = d.np > d.nv ? d.np : d.nv;
    self->GZ = kd_cut_matrix(arena, d.nlambda, d.nv);
    self->HZ = kd_cut_matrix(arena, d.nmu, d.nv);
    self->full = kd_cut_matrix(arena, m, tangent ? 2 * n : n);
    self->row = kd_cut_int(arena, m);
    self->column = kd_cut_int(arena, n);
    self->stiff = kd_cut_bool(arena, n);
    self->ease = kd_cut_double(arena, d.nv);
    self->most = kd_cut_double(arena, n);
    if (!tangent) return;
    int work = kd_svd_work(m, n);
    self->U = kd_cut_matrix(arena, m, m);
    self->Vt = kd_cut_matrix(arena, n, n);
    self->sigma = kd_cut_double(arena, m < n ? m : n);
    self->svd_work = kd_cut_double(arena, work);
}

static void cut_arrays(kd_statespace *self)
{
    kd_dims   d = self->dims;
    kd_arena *arena = &self->arena;
    int       most = d.np > d.nv ? d.np : d.nv, rows = d.nlambda > d.nmu ? d.nlambda : d.nmu;
    int wide = most > d.nr ? most : d.nr; // also of multipliers, of which there may be more where rows are redundant
    if (rows > wide) wide = rows;
    // points, coordinates, the past
    cut_point(self, &self->last);
    cut_point(self, &self->kept);
    for (int k = 0; k < 2; k++) {
        cut_point(self, &self->ends[k]);
        kd_chart_cut(self, &self->charts[k]);
    }
    for (int k = 0; k < KD_STATESPACE_PAST; k++)
        self->past.point[k] = kd_cut_double(arena, d.np + d.nv + d.nr + d.nw + d.ns);
    // guesses and workspace of the choice of coordinates
    self->guess = kd_cut_double(arena, self->nwhole - d.np - d.nv - d.nr);
    self->whole = kd_cut_double(arena, self->nwhole);
    self->zero = kd_cut_double(arena, wide);
    cut_pivoting(self);
    // workspace of dependent coordinates
    self->rind = kd_cut_double(arena, most);
    self->rc = kd_cut_double(arena, d.nlambda + d.nmu);
    self->e = kd_cut_double(arena, d.nv);
    self->aim = kd_cut_double(arena, d.np);
    self->before = kd_cut_double(arena, d.np + d.ns);
    self->path = kd_cut_double(arena, 2 * d.np);
    self->moved = kd_cut_double(arena, d.np);
    self->values = kd_cut_double(arena, d.nlambda + d.nmu);
    self->work = kd_cut_double(arena, 4 * d.nv);
    self->iwork = kd_cut_int(arena, d.nv);
    // what the integrator is told
    self->component = kd_arena_cut(arena, (size_t)self->nx_max, sizeof *self->component);
    self->index = kd_cut_int(arena, self->nx_max);
    self->controlled = kd_cut_bool(arena, self->nx_max);
    // derivatives of positions, points of a step, its start
    kd_position_cut(&self->position, arena, self->eom);
    kd_near_cut(self);
    kd_along_cut(self);
    cut_point(self, &self->accepted.point);
    cut_point(self, &self->accepted.before);
    self->accepted.xdot = kd_cut_double(arena, self->nx_max);
    self->accepted.F = kd_cut_double(arena, self->nx_max);
    // natural units
    self->per_p = kd_cut_double(arena, d.np);
    self->per_v = kd_cut_double(arena, d.nv);
    self->unit_v = kd_cut_double(arena, d.nv);
    if (arena->failed) return;
    for (int i = 0; i < d.np; i++) self->per_p[i] = 1 / kd_eom_position_unit(self->eom, i);
    for (int j = 0; j < d.nv; j++) self->per_v[j] = 1 / (self->unit_v[j] = kd_eom_unit(self->eom, j));
}

// Do the given positions satisfy the constraints, as those of a start do that was made consistent?
static bool is_assembled(kd_statespace *self, double tolerance)
{
    const kd_state *x = self->state;
    kd_eom_data    *data = kd_acceleration_data(self->acceleration);
    const kd_dims   d = self->dims;
    double          most = 0;
    if (kd_acceleration_at(self->acceleration, x->t, x->p, x->s, x->v, x->r) != KD_EVAL_OK) return false;
    if (d.nlambda > 0 && kd_eom_eval(data, KD_G, self->values) != KD_EVAL_OK) return false;
    for (int i = 0; i < d.nlambda; i++) most = fmax(most, x->active_lambda[i] ? fabs(self->values[i]) : 0);
    return d.ns == 0 && d.nq == 0 && most <= tolerance; // contact coordinates and norms have rows of their own
}

// The number of degrees of freedom at a consistent state near the given one fixes the size of x.
static kd_status measure_size(kd_statespace *self, const kd_inputs *inputs)
{
    kd_state          *near = NULL;
    kd_initial_options opt = kd_initial_options_default();
    kd_status          status = kd_state_create(self->eom, &near);
    if (status < 0) return status;
    opt.point = kd_acceleration_data(self->acceleration);
    kd_state_copy(self->state, near);
    if (!is_assembled(self, opt.tolerance)) status = kd_initial_consistent(self->eom, inputs, &opt, near, NULL, 0);
    if (status < 0) kd_state_copy(self->state, near);
    self->dae->n = self->nx_max;
    if (status != KD_ERR_MEMORY) {
        kd_eval answer = start_chart(self, near->t, near->p, near->s);
        status = answer == KD_EVAL_OK ? KD_OK : self->fault.status < 0 ? self->fault.status : KD_ERR_RETRY_FAILED;
    }
    if (status >= 0) self->dae->n = size_of_x(self, self->chart);
    kd_state_destroy(near);
    return status;
}

static kd_status create_parts(kd_statespace *self, const kd_inputs *inputs)
{
    cut_arrays(self);
    if (self->arena.failed) return KD_ERR_MEMORY;
    self->chart = &self->charts[0];
    self->previous = &self->charts[1];
    self->opt.point = NULL; // charts and matrices stay at its own
    kd_status status = kd_acceleration_create(self->eom, inputs, self->state, &self->opt, &self->acceleration);
    if (status >= 0) status = kd_dense_output_create(self->acceleration, false, &self->dense);
    if (status >= 0) status = measure_size(self, inputs);
    if (status >= 0 && self->dae->n <= RESERVED && !self->opt.without_matrices)
        status = kd_statespace_newton_ready(self);
    return status;
}

static kd_status set_layout(kd_statespace *self, char *message, size_t size)
{
    kd_dims           d = self->dims;
    const kd_eom_def *def = kd_eom_definition(self->eom);
    self->identity = !def->kinematics && !def->Z;
    self->shared = self->identity && d.nmu == 0;
    self->direct = d.nw + d.nlambda + d.nmu == 0 && def->acceleration;
    self->nwhole = d.np + d.nv + d.nr + d.nw + d.ns + d.nlambda + d.nmu;
    self->nx_max = d.np + d.nv + d.nr;
    self->rank_p = self->rank_v = -1;
    self->methods = statespace_class;
    if (d.np - d.nq == d.nv) return KD_OK;
    kd_text(
        message, size,
        "the state-space form needs as many norm equations q(p) as there are more positions than velocities, but np = "
        "%d, nq = %d, nv = %d; give all of q, or use psf or ggl",
        d.np, d.nq, d.nv);
    return KD_ERR_UNSUPPORTED;
}

kd_status kd_statespace_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x,
                               const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size)
{
    kd_status      status = KD_ERR_MEMORY;
    kd_statespace *self = kd_alloc(sizeof *self);
    kd_dae        *object = kd_alloc(sizeof *object);
    *dae = NULL;
    kd_text(message, size, "%s", "");
    if (!self || !object) goto done;
    // what it is made of
    self->eom = eom;
    self->state = x;
    self->opt = *opt;
    self->dims = kd_eom_dims(eom);
    self->dae = object;
    // sizes; coordinates at the start tell the size of x
    status = set_layout(self, message, size);
    if (status >= 0) status = create_parts(self, inputs);
    if (status < 0) goto done;
    // what the integrator sees
    int n = object->n;
    *object = (kd_dae){
        .methods = &self->methods,
        .impl = self,
        .n = n,
        .nrows = n,
        .nreduced = n,
        .nreduced_max = n,
        .component = self->component,
        .index = self->index,
        .controlled = self->controlled,
        .ndifferential = n,
        .nstate = 0,
    };
    describe_components(self);
    self->chart->valid = false; // chosen by pack
    self->counters = (kd_dae_counters){0};
    *dae = object;
done:
    if (status < 0) {
        if (message && size > 0 && message[0] == '\0')
            kd_text(message, size, "the state-space form: %s",
                    self && self->fault.message[0] ? self->fault.message : kd_status_sentence(status));
        statespace_destroy(self);
        kd_free(object);
    }
    return status;
}
