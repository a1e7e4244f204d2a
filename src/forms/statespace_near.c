// statespace_near.c: points of the present step with the constraint matrix of their own positions, for small systems.
//
// A step solves the constraints at the same few times again and again, at positions that move less and less. Newton's
// method for the dependent positions starts there from the last solution of that time, with its factors, and needs two
// increments. Dependent velocities follow from the matrix of their own position at once: their equations are linear.
// Nothing of it lives longer than the step, or than a Newton matrix; the first one of a step stands there before it begins, so that they are saved.
//
// While an integrator iterates (kd_dae.slack), the dependent positions are carried along as if they were unknowns of its
// own: from the point of the same time p <- p + e, [S; C] e = (y - S p, -g), where g was found at p when that was asked
// for, so that each right-hand side sets one position. What is left, inv(Phi_u) g, is quadratic in the increment, and the
// next one takes it away. Where it is more than the slack, or falls slowly, positions are solved for to rounding; so they
// are when a step ends.
#include <math.h>
#include <string.h>

#include "forms/statespace_impl.h"
#include "math/dense.h"

#define FALLING 0.1   // increments that become smaller by this factor at least
#define BESIDE 1e-3   // error of a prediction, beside the size of positions, from which on it is none
#define MOST_WEIGHT 2 // of the second one of two points through which N is taken to go on
#define MOST_ROUNDS 3 // increments, each with the matrix of its own position

void kd_near_cut(kd_statespace *self)
{
    const kd_dims d = self->dims;
    kd_arena     *arena = &self->arena;
    self->near.in_use = self->shared && self->opt.parametrisation != KD_PARAMETRISATION_TANGENT && d.nlambda > 0 &&
                        d.nlambda <= KD_NEAR_ROWS && d.ns == 0;
    if (!self->near.in_use) return;
    self->near.GZ = kd_cut_matrix(arena, d.nlambda, d.nv);
    for (int k = 0; k < KD_NEAR_POINTS; k++) {
        kd_near_point *point = &self->near.point[k];
        point->p = kd_cut_double(arena, d.np);
        point->v = kd_cut_double(arena, d.nv);
        point->left = kd_cut_double(arena, d.nlambda);
        point->level.LU = kd_cut_matrix(arena, d.nlambda, d.nlambda);
        point->level.N = kd_cut_matrix(arena, d.nlambda, d.nv);
    }
}

void kd_near_forget(kd_statespace *self)
{
    self->near.count = 0;
}

// Points of accepted times stay, in their order: an attempt may have been on another branch
void kd_near_forget_attempt(kd_statespace *self)
{
    const kd_statespace_point *start = &self->accepted.point, *before = &self->accepted.before;
    int                        count = 0;
    for (int k = 0; k < self->near.count; k++) {
        kd_near_point *point = &self->near.point[k], other = self->near.point[count];
        const bool     accepted = (start->known && point->t == start->t) || (before->known && point->t == before->t);
        if (!accepted || point->chart != self->chart) continue;
        self->near.point[count++] = *point;
        *point = other;
    }
    self->near.count = count;
    self->near.newest = count > 0 ? count - 1 : 0;
}

// ---- saved ----------------------------------------------------------------------------------------------------------

// Levels without what they share with their chart: arrays are saved once, with their owner
void kd_near_part(kd_statespace *self)
{
    for (int k = 0; k < KD_NEAR_POINTS; k++) {
        kd_chart_level *level = &self->near.point[k].level;
        *level = (kd_chart_level){.LU = level->LU, .N = level->N};
    }
}

// That of the chart, with matrices of its own
static void share_level(const kd_chart_level *of, kd_chart_level *level)
{
    double *LU = level->LU, *N = level->N;
    *level = *of;
    level->LU = LU;
    level->N = N;
    level->sparse = NULL;
}

// Behind arrays and charts: which points there are, and their levels as they were
void kd_near_archive(kd_statespace *self, kd_archive *a)
{
    kd_archive_int(a, &self->near.count, 0, self->near.in_use ? KD_NEAR_POINTS : 0);
    kd_archive_int(a, &self->near.newest, 0, KD_NEAR_POINTS - 1);
    for (int k = 0; k < self->near.count && kd_archive_good(a); k++) {
        kd_near_point *point = &self->near.point[k];
        int            which = point->chart == &self->charts[1];
        kd_archive_real(a, &point->t);
        kd_archive_int(a, &which, 0, 1);
        point->chart = &self->charts[which];
        const kd_chart_level *of = &self->charts[which].p;
        if (!of->reduced || of->rank == 0 || of->rank > self->dims.nlambda)
            kd_archive_fail(a, KD_ERR_SAVED, "a point of the step has no coordinates");
        share_level(of, &point->level);
    }
    if (!kd_archive_good(a)) kd_near_forget(self);
}

kd_near_point *kd_near_find(kd_statespace *self, const kd_chart *chart, double t)
{
    for (int k = 0; k < self->near.count; k++)
        if (self->near.point[k].t == t && self->near.point[k].chart == chart) return &self->near.point[k];
    return NULL;
}

const double *kd_near_left(kd_statespace *self, const kd_chart *chart, double t, const double *p)
{
    const kd_near_point *point = kd_near_find(self, chart, t);
    return point && memcmp(point->p, p, (size_t)self->dims.np * sizeof *p) == 0 ? point->left : NULL;
}

// Those of the chart belong to the start of the step
kd_chart_level *kd_near_level(kd_statespace *self, kd_chart *chart, double t)
{
    kd_chart_level *level = &chart->p;
    double          least = self->accepted.point.known ? fabs(t - self->accepted.point.t) : INFINITY;
    for (int k = 0; k < self->near.count; k++) {
        kd_near_point *point = &self->near.point[k];
        if (point->chart != chart || !(fabs(t - point->t) < least)) continue;
        least = fabs(t - point->t);
        level = &point->level;
    }
    return level;
}

// A place for (t, chart): the one that it has, a new one, or that of the oldest point
static kd_near_point *place_for(kd_statespace *self, const kd_chart *chart, double t)
{
    kd_near_point *point = kd_near_find(self, chart, t);
    if (!point) {
        self->near.newest = self->near.count > 0 ? (self->near.newest + 1) % KD_NEAR_POINTS : 0;
        if (self->near.count < KD_NEAR_POINTS) self->near.count++;
        point = &self->near.point[self->near.newest];
    }
    point->t = t;
    point->chart = chart;
    return point;
}

// The level of the chart with inv(Phi_u) and N = -inv(Phi_u) Phi_i of another position, in units as they come; the rows are scaled
// as there before they are eliminated
static bool factor_here(kd_statespace *self, const kd_chart_level *of, kd_chart_level *level)
{
    const int nlambda = self->dims.nlambda, rank = of->rank, nind = of->nind;
    share_level(of, level);
    double    *P = level->LU, *N = level->N;
    const int *dependent = of->independent + nind;
    for (int j = 0; j < rank; j++) {
        const double *column = self->near.GZ + (ptrdiff_t)dependent[j] * nlambda, unit = self->unit_v[dependent[j]];
        for (int i = 0; i < rank; i++) P[i + j * rank] = column[of->rows[i]] * of->row[i] * unit;
    }
    if (!kd_invert(rank, P)) return false;
    for (int j = 0; j < rank; j++)
        for (int i = 0; i < rank; i++) P[i + j * rank] *= self->unit_v[dependent[i]] * of->row[j];
    for (int j = 0; j < nind; j++) {
        const double *column = self->near.GZ + (ptrdiff_t)of->independent[j] * nlambda;
        double       *to = N + j * rank;
        for (int i = 0; i < rank; i++) to[i] = -column[of->rows[i]];
        kd_multiply_few(rank, P, to);
    }
    return true;
}

kd_eval kd_near_place(kd_statespace *self, kd_chart *chart, double t, const double *p, kd_near_point **point)
{
    *point = NULL;
    if (!self->near.in_use || self->looking || !chart->p.reduced || chart->p.rank == 0) return KD_EVAL_OK;
    const kd_eval answer = kd_eom_constraint_matrices(kd_acceleration_data(self->acceleration), self->near.GZ, NULL);
    if (answer != KD_EVAL_OK) return kd_statespace_note_data(self, answer);
    kd_near_point *here = place_for(self, chart, t);
    if (!factor_here(self, &chart->p, &here->level)) {
        kd_near_forget(self); // a singular position: the factors of the step serve as well as any
        return KD_EVAL_OK;
    }
    memcpy(here->p, p, (size_t)self->dims.np * sizeof *p);
    memset(here->left, 0, (size_t)self->dims.nlambda * sizeof *here->left);
    *point = here;
    return KD_EVAL_OK;
}

// ---- while an integrator iterates -----------------------------------------------------------------------------------

// self->e from -g in the rows of a level, y - S p (NULL: 0); its size in natural units
static double increment_by(kd_statespace *self, kd_chart_level *level, const double *rind, const double *g)
{
    for (int i = 0; i < level->rank; i++) self->rc[i] = g ? -g[level->rows[i]] : 0;
    kd_chart_solve(self, level, rind, self->rc, self->e);
    return kd_statespace_move(self, self->e);
}

// e_d = N e_i at the first look at a time, with N on the line through the two points of the chart that are nearest in time
static bool move_between(kd_statespace *self, const kd_chart *chart, double t)
{
    const kd_near_point *a = NULL, *b = NULL;
    for (int k = 0; k < self->near.count; k++) {
        const kd_near_point *point = &self->near.point[k];
        if (point->chart != chart) continue;
        if (!a || fabs(t - point->t) < fabs(t - a->t))
            b = a, a = point;
        else if (!b || fabs(t - point->t) < fabs(t - b->t))
            b = point;
    }
    if (!b) return false;
    const double          weight = (t - a->t) / (b->t - a->t);
    const kd_chart_level *level = &a->level;
    const int             rank = level->rank, *dependent = level->independent + level->nind;
    if (!(fabs(weight) <= MOST_WEIGHT)) return false;
    for (int i = 0; i < rank; i++) self->e[dependent[i]] = 0;
    for (int j = 0; j < level->nind; j++) {
        const double *N = a->level.N + (ptrdiff_t)j * rank, *other = b->level.N + (ptrdiff_t)j * rank;
        self->e[level->independent[j]] = self->rind[j];
        for (int i = 0; i < rank; i++) self->e[dependent[i]] += (N[i] + weight * (other[i] - N[i])) * self->rind[j];
    }
    return true;
}

// To y along the constraints, with what was left over if the guess is a point of the same time
static double move_to(kd_statespace *self, kd_chart *chart, kd_statespace_point *at)
{
    const int       np = self->dims.np;
    kd_chart_level *level = kd_near_level(self, chart, at->t);
    kd_chart_pick(level, at->p, self->rind);
    for (int i = 0; i < level->nind; i++) self->rind[i] = at->x[i] - self->rind[i];
    double size;
    if (!kd_near_find(self, chart, at->t) && move_between(self, chart, at->t))
        size = kd_statespace_move(self, self->e);
    else
        size = increment_by(self, level, self->rind, kd_near_left(self, chart, at->t, at->p));
    for (int i = 0; i < np; i++) at->p[i] += self->e[i];
    for (int i = 0; i < level->nind; i++) at->p[level->independent[i]] = at->x[i];
    return size;
}

// g at p and the matrix there: the size of what is left
static kd_eval look_here(kd_statespace *self, kd_chart *chart, kd_statespace_point *at, kd_near_point **point,
                         double *size)
{
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eom_at_position(data, at->p, at->s);
    kd_eval answer = kd_statespace_note_data(self, kd_eom_eval(data, KD_G, self->values));
    if (answer == KD_EVAL_OK) answer = kd_near_place(self, chart, at->t, at->p, point);
    if (answer != KD_EVAL_OK || !*point) return answer;
    memcpy((*point)->left, self->values, (size_t)self->dims.nlambda * sizeof(double));
    *size = increment_by(self, &(*point)->level, NULL, self->values);
    return KD_EVAL_OK;
}

kd_eval kd_near_positions(kd_statespace *self, kd_chart *chart, kd_statespace_point *at, kd_near_point **here)
{
    const int np = self->dims.np;
    *here = NULL;
    if (!(self->dae->slack > 0) || !self->near.in_use || self->looking || !chart->p.reduced || chart->p.rank == 0)
        return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at_time(self->acceleration, at->t);
    if (answer != KD_EVAL_OK) return kd_statespace_note(self, answer, "");
    const double slack = self->dae->slack * fmax(1, kd_statespace_reach(self, at->p));
    memcpy(self->before, at->p, (size_t)np * sizeof *at->p);
    const bool first = !kd_near_find(self, chart, at->t);
    double     allowed = fmax(FALLING * move_to(self, chart, at), BESIDE * self->scale);
    for (int k = 0; k < MOST_ROUNDS; k++) {
        kd_near_point *point;
        double         size = INFINITY;
        answer = look_here(self, chart, at, &point, &size);
        if (answer != KD_EVAL_OK || !point) break;
        // the first look at a time may leave what the next one takes away: its square is within the slack
        const bool enough = first && k == 0 && self->dae->patient && size <= sqrt(slack);
        if (enough && size > slack) self->dae->unsettled = true;
        if (size <= slack || enough) {
            *here = point;
            return KD_EVAL_OK;
        }
        if (!(size <= allowed)) break;
        for (int i = 0; i < np; i++) at->p[i] += self->e[i];
        allowed = FALLING * size;
    }
    // not so: as if nothing had been tried
    memcpy(at->p, self->before, (size_t)np * sizeof *at->p);
    kd_near_forget(self);
    return answer == KD_EVAL_STOP ? answer : KD_EVAL_OK;
}
