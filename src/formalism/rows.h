// rows.h: motions and forces of all dofs in v about one point of each tree (P of its first link), as rows of length nv,
// and dot products with them along the tree.
#ifndef KARDAN_FORMALISM_ROWS_H
#define KARDAN_FORMALISM_ROWS_H

#include "formalism/vector.h"

// ---- columns -------------------------------------------------------------------------------------------------------

static inline void kd_rows_put(double *rows, int nv, int k, kd_v6 a)
{
    kd_v3_scatter(rows + k, nv, a.w);
    kd_v3_scatter(rows + 3 * nv + k, nv, a.u);
}

// P of link i, from the common point
static inline kd_v3 kd_rows_place(const kd_motion *m, int i)
{
    return kd_v3_sub(kd_v3_load(&m->link[i].P), kd_v3_load(&m->link[m->work->root[i]].P));
}

// the motion S about a point at -r from P
static inline kd_v6 kd_rows_motion(const kd_axis *S, kd_v3 r)
{
    const kd_v3 w = kd_v3_load(&S->w);
    return (kd_v6){w, kd_v3_add(kd_v3_load(&S->u), kd_v3_cross(r, w))};
}

// Motions S of all dofs in v about the common point into work; after place.
static inline void kd_rows_motions(const kd_tree *tree, kd_motion *m)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_v3 r = kd_rows_place(m, i);
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++)
            kd_rows_put(m->work->S, tree->nv, k, kd_rows_motion(&m->axis[tree->v_dof[k]], r));
    }
}

// ---- dot products --------------------------------------------------------------------------------------------------

typedef double kd_lanes __attribute__((vector_size(8 * KD_LANES), aligned(8), may_alias));

// A vector of six whose components are read one by one.
typedef struct kd_six {
    kd_slot w, u;
} kd_six;

static inline kd_six kd_six_of(kd_v6 a)
{
    kd_six s;
    kd_v3_store_four(&s.w.v, a.w);
    kd_v3_store_four(&s.u.v, a.u);
    return s;
}

static inline kd_lanes kd_rows_lanes(int nv, const double *s, const kd_six *a)
{
    return *(const kd_lanes *)s * a->w.v.x + *(const kd_lanes *)(s + nv) * a->w.v.y +
           *(const kd_lanes *)(s + 2 * nv) * a->w.v.z + *(const kd_lanes *)(s + 3 * nv) * a->u.v.x +
           *(const kd_lanes *)(s + 4 * nv) * a->u.v.y + *(const kd_lanes *)(s + 5 * nv) * a->u.v.z;
}

static inline double kd_rows_one(int nv, const double *s, const kd_six *a)
{
    return *s * a->w.v.x + s[nv] * a->w.v.y + s[2 * nv] * a->w.v.z + s[3 * nv] * a->u.v.x + s[4 * nv] * a->u.v.y +
           s[5 * nv] * a->u.v.z;
}

// out_k = a' rows_k, first <= k < end. The last lanes overlap those before, so that few are left for single steps.
static inline void kd_rows_dot(int nv, const double *rows, const kd_six *a, int first, int end, double *restrict out)
{
    const double *s = rows + first;
    const int     n = end - first;
    if (n < KD_LANES) {
        for (int k = 0; k < n; k++) out[k] = kd_rows_one(nv, s + k, a);
        return;
    }
    for (int k = 0; k + KD_LANES <= n; k += KD_LANES) *(kd_lanes *)(out + k) = kd_rows_lanes(nv, s + k, a);
    *(kd_lanes *)(out + n - KD_LANES) = kd_rows_lanes(nv, s + n - KD_LANES, a);
}

// out_k = a' rows_k + b' more_k, first <= k < end; more: three further rows
static inline void kd_rows_dot9(int nv, const double *rows, const kd_six *a, const double *more, const kd_vec3 *b,
                                int first, int end, double *restrict out)
{
    const double *s = rows + first, *t = more + first;
    const int     n = end - first;
    if (n < KD_LANES) {
        for (int k = 0; k < n; k++)
            out[k] = kd_rows_one(nv, s + k, a) + (t[k] * b->x + t[k + nv] * b->y + t[k + 2 * nv] * b->z);
        return;
    }
    for (int k = 0;; k += KD_LANES) {
        if (k > n - KD_LANES) k = n - KD_LANES;
        *(kd_lanes *)(out + k) =
            kd_rows_lanes(nv, s + k, a) + (*(const kd_lanes *)(t + k) * b->x + *(const kd_lanes *)(t + k + nv) * b->y +
                                           *(const kd_lanes *)(t + k + 2 * nv) * b->z);
        if (k == n - KD_LANES) return;
    }
}

// out_k = a' rows_k for all k in v on the way from the ground to link i, of its own dofs those before end; the number
// of them
static inline int kd_rows_dot_above(const kd_tree *tree, const struct kd_tree_work *work, int i, int end,
                                    const double *rows, const kd_six *a, double *out)
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

#endif
