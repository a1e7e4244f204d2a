// composite_body.c: the mass matrix (composite rigid body, Fs section 6.2): M_kl = S_k' Ic_l S_l for k on the way from
// l to the ground. Composite inertias are about P_i; motions and forces are about one point of each tree, so that an
// entry is a dot product of six terms. docs/methods/tree.md
#include "formalism/work.h"

#include <string.h>

// ---- motions about the common point
// ----------------------------------------------------------------------------------

void kd_rows_put(double *rows, int nv, int k, kd_vec3 a, kd_vec3 b)
{
    double *r = rows + k;
    r[0] = a.x;
    r[nv] = a.y;
    r[2 * nv] = a.z;
    r[3 * nv] = b.x;
    r[4 * nv] = b.y;
    r[5 * nv] = b.z;
}

void kd_tree_common_axes(const kd_tree *tree, kd_motion *m)
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

void kd_tree_dots(int nv, const double *S, const double a[6], int first, int end, double *out)
{
    const double *s0 = S, *s1 = S + nv, *s2 = s1 + nv, *s3 = s2 + nv, *s4 = s3 + nv, *s5 = s4 + nv;
    for (int k = first; k < end; k++)
        out[k - first] = a[0] * s0[k] + a[1] * s1[k] + a[2] * s2[k] + a[3] * s3[k] + a[4] * s4[k] + a[5] * s5[k];
}

int kd_tree_climb(const kd_tree *tree, const struct kd_tree_work *work, int i, int end, const double *S,
                  const double a[6], double *out)
{
    const int count = work->above[i] + end - tree->link_v[i];
    int       next = count;
    while (i != 0) {
        const int first = tree->link_v[work->run[i]];
        next -= end - first;
        kd_tree_dots(tree->nv, S, a, first, end, out + next);
        i = tree->link[work->run[i]].parent;
        end = tree->link_v[i + 1];
    }
    return count;
}

// ---- composite inertia
// -----------------------------------------------------------------------------------------------

// mass, first moment and inertia about P - d, added
void kd_composite_add(const kd_composite *c, kd_vec3 d, kd_composite *parent)
{
    // J - (d x)(h x) - (h x)(d x) - m (d x)(d x) = J - (d x)(e x) - (e x)(d x),  e = h + m/2 d
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

// IS = Ic S about the common point, for all dofs in v
static void composite_forces(const kd_tree *tree, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        const kd_mat3 *R = &m->link[i].R;
        work->composite[i] =
            (kd_composite){l->mass, kd_vec_scale(l->mass, kd_mat_vec(R, l->centre)), kd_sym_rotate(R, &l->inertia)};
    }
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_composite *c = &work->composite[i];
        const kd_vec3       P = m->link[i].P, r = kd_vec_sub(P, work->origin[i]);
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++) {
            const kd_axis *S = &m->axis[tree->v_dof[k]];
            const kd_vec3  F = kd_vec_axpy(kd_vec_cross(S->w, c->h), c->m, S->u);
            const kd_vec3  N = kd_vec_add(kd_sym_vec(&c->J, S->w), kd_vec_cross(c->h, S->u));
            kd_rows_put(work->IS, tree->nv, k, kd_vec_add(N, kd_vec_cross(r, F)), F);
        }
        const int parent = tree->link[i].parent;
        if (parent != 0) kd_composite_add(c, kd_vec_sub(P, m->link[parent].P), &work->composite[parent]);
    }
}

static inline void get6(const double *rows, int nv, int k, double a[6])
{
    for (int r = 0; r < 6; r++) a[r] = rows[r * nv + k];
}

// ---- the matrix
// ------------------------------------------------------------------------------------------------------

void kd_tree_mass(const kd_tree *tree, kd_motion *m, double *values)
{
    const struct kd_tree_work *work = m->work;
    kd_tree_common_axes(tree, m);
    composite_forces(tree, m);
    for (int l = 0; l < tree->nv; l++) {
        const int i = tree->dof_link[tree->v_dof[l]], end = tree->link_v[tree->link[i].end];
        double    a[6], *out = values + tree->column[l];
        get6(work->IS, tree->nv, l, a);
        out += kd_tree_climb(tree, work, i, tree->link_v[i + 1], work->S, a, out);
        get6(work->S, tree->nv, l, a);
        kd_tree_dots(tree->nv, work->IS, a, tree->link_v[i + 1], end, out);
    }
}

void kd_tree_mass_dense(const kd_tree *tree, kd_motion *m, double *M)
{
    const struct kd_tree_work *work = m->work;
    const int                  nv = tree->nv;
    kd_tree_common_axes(tree, m);
    composite_forces(tree, m);
    memset(M, 0, (size_t)nv * (size_t)nv * sizeof *M);
    for (int l = 0; l < nv; l++) {
        const int i = tree->dof_link[tree->v_dof[l]], end = tree->link_v[tree->link[i].end];
        double    a[6], *out = M + (size_t)l * (size_t)nv;
        get6(work->IS, nv, l, a);
        for (int j = i; j != 0; j = tree->link[work->run[j]].parent) {
            const int first = tree->link_v[work->run[j]];
            kd_tree_dots(nv, work->S, a, first, tree->link_v[j + 1], out + first);
        }
        get6(work->S, nv, l, a);
        kd_tree_dots(nv, work->IS, a, tree->link_v[i + 1], end, out + tree->link_v[i + 1]);
    }
}
