// rows.h: motions and forces of all dofs in v about one point of each tree, as six rows of length nv, and dot products
// with them along the tree.
#ifndef KARDAN_FORMALISM_ROWS_H
#define KARDAN_FORMALISM_ROWS_H

#include "formalism/work.h"

// ---- columns
// ---------------------------------------------------------------------------------------------------------

static inline void kd_rows_put(double *rows, int nv, int k, kd_vec3 a, kd_vec3 b)
{
    double *r = rows + k;
    r[0] = a.x;
    r[nv] = a.y;
    r[2 * nv] = a.z;
    r[3 * nv] = b.x;
    r[4 * nv] = b.y;
    r[5 * nv] = b.z;
}

static inline void kd_rows_get(const double *rows, int nv, int k, double a[6])
{
    for (int r = 0; r < 6; r++) a[r] = rows[r * nv + k];
}

// Motions S of all dofs in v about the common point, and that point, into work; after place.
static inline void kd_rows_motions(const kd_tree *tree, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const int parent = tree->link[i].parent;
        work->origin[i] = parent == 0 ? m->link[i].P : work->origin[parent];
        const kd_vec3 d = kd_vec_sub(m->link[i].P, work->origin[i]);
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++) {
            const kd_axis *S = &m->axis[tree->v_dof[k]];
            kd_rows_put(work->S, tree->nv, k, S->w, kd_vec_add(S->u, kd_vec_cross(d, S->w)));
        }
    }
}

// ---- dot products
// ----------------------------------------------------------------------------------------------------

typedef double kd_lanes __attribute__((vector_size(8 * KD_LANES), aligned(8), may_alias));

// out_k = a' rows_k, first <= k < end
static inline void kd_rows_dot(int nv, const double *rows, const double a[6], int first, int end, double *restrict out)
{
    const double *s = rows + first, *const stop = rows + end;
    for (; s + KD_LANES <= stop; s += KD_LANES, out += KD_LANES) {
        kd_lanes sum = *(const kd_lanes *)s * a[0];
        for (int r = 1; r < 6; r++) sum += *(const kd_lanes *)(s + r * nv) * a[r];
        *(kd_lanes *)out = sum;
    }
    for (; s < stop; s++) {
        double sum = *s * a[0];
        for (int r = 1; r < 6; r++) sum += s[r * nv] * a[r];
        *out++ = sum;
    }
}

// out_k = a' rows_k + b' more_k (three further rows), first <= k < end
static inline void kd_rows_dot9(int nv, const double *rows, const double a[6], const double *more, const double b[3],
                                int first, int end, double *restrict out)
{
    const double *s = rows + first, *t = more + first, *const stop = rows + end;
    for (; s + KD_LANES <= stop; s += KD_LANES, t += KD_LANES, out += KD_LANES) {
        kd_lanes sum = *(const kd_lanes *)s * a[0];
        for (int r = 1; r < 6; r++) sum += *(const kd_lanes *)(s + r * nv) * a[r];
        for (int r = 0; r < 3; r++) sum += *(const kd_lanes *)(t + r * nv) * b[r];
        *(kd_lanes *)out = sum;
    }
    for (; s < stop; s++, t++) {
        double sum = *s * a[0];
        for (int r = 1; r < 6; r++) sum += s[r * nv] * a[r];
        for (int r = 0; r < 3; r++) sum += t[r * nv] * b[r];
        *out++ = sum;
    }
}

// out_k = a' rows_k for all k in v on the way from the ground to link i, of its own dofs those before end; the number
// of them
static inline int kd_rows_dot_above(const kd_tree *tree, const struct kd_tree_work *work, int i, int end,
                                    const double *rows, const double a[6], double *out)
{
    const int count = work->above[i] + end - tree->link_v[i];
    int       next = count;
    while (i != 0) {
        const int first = tree->link_v[work->run[i]];
        next -= end - first;
        kd_rows_dot(tree->nv, rows, a, first, end, out + next);
        i = tree->link[work->run[i]].parent;
        end = tree->link_v[i + 1];
    }
    return count;
}

// ---- composite inertia
// -----------------------------------------------------------------------------------------------

// parent + c carried from P to P - d: J - (d x)(e x) - (e x)(d x), e = h + m/2 d
static inline void kd_composite_add(const kd_composite *c, kd_vec3 d, kd_composite *parent)
{
    const kd_vec3 e = kd_vec_axpy(c->h, 0.5 * c->m, d);
    const double  x = d.x * e.x, y = d.y * e.y, z = d.z * e.z;
    parent->m += c->m;
    parent->h = kd_vec_add(parent->h, kd_vec_axpy(c->h, c->m, d));
    parent->J.xx += c->J.xx + 2 * (y + z);
    parent->J.yy += c->J.yy + 2 * (x + z);
    parent->J.zz += c->J.zz + 2 * (x + y);
    parent->J.xy += c->J.xy - (d.x * e.y + e.x * d.y);
    parent->J.xz += c->J.xz - (d.x * e.z + e.x * d.z);
    parent->J.yz += c->J.yz - (d.y * e.z + e.y * d.z);
}

#endif
