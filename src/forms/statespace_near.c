// statespace_near.c: points of the present step with the constraint matrix of their own positions, for small systems.
//
// A step solves the constraints at the same few times again and again, at positions that move less and less. Newton's
// method for the dependent positions starts there from the last solution of that time, with its factors, and needs two
// increments. Dependent velocities follow from the matrix of their own position at once: their equations are linear.
// Nothing of it lives longer than the step, or than a Newton matrix.
#include <math.h>
#include <string.h>

#include "forms/statespace_impl.h"
#include "math/dense.h"

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
        point->level.C = kd_cut_matrix(arena, d.nlambda, d.nv);
        point->level.LU = kd_cut_matrix(arena, d.nlambda, d.nlambda);
        point->level.pivot = kd_cut_int(arena, d.nlambda);
    }
}

void kd_near_forget(kd_statespace *self)
{
    self->near.count = 0;
}

void kd_near_clear(kd_statespace *self)
{
    kd_near_forget(self);
    for (int k = 0; k < KD_NEAR_POINTS; k++) {
        kd_chart_level *level = &self->near.point[k].level;
        *level = (kd_chart_level){.C = level->C, .LU = level->LU, .pivot = level->pivot};
    }
}

kd_near_point *kd_near_find(kd_statespace *self, const kd_chart *chart, double t)
{
    for (int k = 0; k < self->near.count; k++)
        if (self->near.point[k].t == t && self->near.point[k].chart == chart) return &self->near.point[k];
    return NULL;
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

// The level of the chart with C and Phi_u of another position, rows scaled as there
static bool factor_here(kd_statespace *self, const kd_chart_level *of, kd_chart_level *level)
{
    const int nv = self->dims.nv, nlambda = self->dims.nlambda, rank = of->rank;
    double   *C = level->C, *LU = level->LU;
    int      *pivot = level->pivot;
    *level = *of;
    level->C = C;
    level->LU = LU;
    level->pivot = pivot;
    level->sparse = NULL;
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < rank; i++)
            C[i + (ptrdiff_t)j * rank] = self->near.GZ[of->rows[i] + (ptrdiff_t)j * nlambda] * of->row[i];
    for (int j = 0; j < rank; j++) {
        const int     dependent = of->independent[of->nind + j];
        const double *column = C + (ptrdiff_t)dependent * rank, unit = self->unit_v[dependent];
        for (int i = 0; i < rank; i++) LU[i + (ptrdiff_t)j * rank] = column[i] * unit;
    }
    return kd_lu_factor(rank, LU, pivot) == 0;
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
    *point = here;
    return KD_EVAL_OK;
}
