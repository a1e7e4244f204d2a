// rows.h: motions and forces of all dofs in v about one point of each tree (P of its first link), as rows that stand
// work->stride apart,
// and dot products with them along the tree.
#ifndef KARDAN_TREE_ROWS_H
#define KARDAN_TREE_ROWS_H

#include "tree/vector.h"

// ---- columns -------------------------------------------------------------------------------------------------------

static inline void kd_rows_put(double *rows, int stride, int k, kd_v6 a)
{
    kd_v3_scatter(rows + k, stride, a.w);
    kd_v3_scatter(rows + 3 * stride + k, stride, a.u);
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
static inline void kd_rows_motions(const kd_tree *tree, kd_motion *m, const int stride)
{
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_v3 r = kd_rows_place(m, i);
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++)
            kd_rows_put(m->work->S, stride, k, kd_rows_motion(&m->axis[tree->v_dof[k]], r));
    }
}

// For what hangs on marker j: motions of the modes of its parent as it sees them.
static inline void kd_rows_marker(const kd_tree *tree, kd_motion *m, int j)
{
    const kd_link *l = &tree->link[j];
    const kd_v3    r = kd_rows_place(m, l->parent);
    for (int k = tree->link_v[l->parent]; k < tree->link_v[l->parent + 1]; k++) {
        const kd_axis sum[2] = {kd_marker_sum(m->work->row[j], m->axis + l->letter,
                                              tree->v_dof[k] - tree->link[l->parent].dof)}; // one more: see vector.h
        kd_rows_put(m->work->S, m->work->stride, k, kd_rows_motion(sum, r));
    }
}

// ---- dot products --------------------------------------------------------------------------------------------------

// A vector of six whose components are read one by one.
typedef struct kd_six {
    kd_vec_slot w, u;
} kd_six;

static inline void kd_six_put(kd_six *to, kd_v6 a)
{
    kd_v3_store_four(&to->w.v, a.w);
    kd_v3_store_four(&to->u.v, a.u);
}

// out_k = a' rows_k, first <= k < end. The last lanes overlap those before, so that few are left for single steps.
static inline void kd_rows_dot(int stride, const double *rows, const kd_six *a, int first, int end, double *out)
{
    const double *s0 = rows + first, *s1 = s0 + stride, *s2 = s1 + stride, *s3 = s2 + stride, *s4 = s3 + stride,
                 *s5 = s4 + stride;
    const double a0 = a->w.v.x, a1 = a->w.v.y, a2 = a->w.v.z, a3 = a->u.v.x, a4 = a->u.v.y, a5 = a->u.v.z;
    const int    n = end - first, last = n - KD_LANES;
    if (last < 0) {
        for (int k = 0; k < n; k++)
            out[k] = s0[k] * a0 + s1[k] * a1 + s2[k] * a2 + s3[k] * a3 + s4[k] * a4 + s5[k] * a5;
        return;
    }
    for (int k = 0;; k += KD_LANES) {
        if (k > last) k = last;
        *(kd_lanes *)(out + k) = kd_lanes_at(s0 + k) * a0 + kd_lanes_at(s1 + k) * a1 + kd_lanes_at(s2 + k) * a2 +
                                 kd_lanes_at(s3 + k) * a3 + kd_lanes_at(s4 + k) * a4 + kd_lanes_at(s5 + k) * a5;
        if (k == last) return;
    }
}

// out_k = a' rows_k + b' more_k, first <= k < end; more: three further rows
static inline void kd_rows_dot9(int stride, const double *rows, const kd_six *a, const double *more, const kd_vec3 *b,
                                int first, int end, double *out)
{
    const double *s0 = rows + first, *s1 = s0 + stride, *s2 = s1 + stride, *s3 = s2 + stride, *s4 = s3 + stride,
                 *s5 = s4 + stride;
    const double *t0 = more + first, *t1 = t0 + stride, *t2 = t1 + stride;
    const double  a0 = a->w.v.x, a1 = a->w.v.y, a2 = a->w.v.z, a3 = a->u.v.x, a4 = a->u.v.y, a5 = a->u.v.z;
    const double  b0 = b->x, b1 = b->y, b2 = b->z;
    const int     n = end - first, last = n - KD_LANES;
    if (last < 0) {
        for (int k = 0; k < n; k++)
            out[k] = s0[k] * a0 + s1[k] * a1 + s2[k] * a2 + s3[k] * a3 + s4[k] * a4 + s5[k] * a5 +
                     (t0[k] * b0 + t1[k] * b1 + t2[k] * b2);
        return;
    }
    for (int k = 0;; k += KD_LANES) {
        if (k > last) k = last;
        *(kd_lanes *)(out + k) = kd_lanes_at(s0 + k) * a0 + kd_lanes_at(s1 + k) * a1 + kd_lanes_at(s2 + k) * a2 +
                                 kd_lanes_at(s3 + k) * a3 + kd_lanes_at(s4 + k) * a4 + kd_lanes_at(s5 + k) * a5 +
                                 (kd_lanes_at(t0 + k) * b0 + kd_lanes_at(t1 + k) * b1 + kd_lanes_at(t2 + k) * b2);
        if (k == last) return;
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
        const int first = work->run_v[i];
        next -= end - first;
        kd_rows_dot(work->stride, rows, a, first, end, out + next);
        i = work->run_parent[i];
        end = tree->link_v[i + 1];
    }
    return count;
}

#endif
