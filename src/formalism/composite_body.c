// composite_body.c: the mass matrix (composite rigid body, Fs section 6.2): M_kl = S_k' Ic_l S_l for k on the way from
// l to the ground. Composite inertias are about P_i; motions and forces are about one point of each tree, so that an
// entry is a dot product of six terms. docs/methods/tree.md
#include "formalism/rows.h"

#include <string.h>

static inline void start_composite(const kd_link *l, const kd_mat3 *R, kd_composite *c)
{
    c->m = l->mass;
    c->h = kd_vec_scale(l->mass, kd_mat_vec(R, l->centre));
    c->J = kd_sym_rotate(R, &l->inertia);
}

// IS = Ic S about the common point, for all dofs in v
static void composite_forces(const kd_tree *tree, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) start_composite(&tree->link[i], &m->link[i].R, &work->composite[i]);
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

void KD_KERNEL(kd_mass)(const kd_tree *tree, kd_motion *m, double *values)
{
    const struct kd_tree_work *work = m->work;
    kd_rows_motions(tree, m);
    composite_forces(tree, m);
    for (int l = 0; l < tree->nv; l++) {
        const int i = tree->dof_link[tree->v_dof[l]], own = tree->link_v[i + 1];
        double    a[6], *out = values + tree->column[l];
        kd_rows_get(work->IS, tree->nv, l, a);
        out += kd_rows_dot_above(tree, work, i, own, work->S, a, out);
        kd_rows_get(work->S, tree->nv, l, a);
        kd_rows_dot(tree->nv, work->IS, a, own, tree->link_v[tree->link[i].end], out);
    }
}

void KD_KERNEL(kd_mass_dense)(const kd_tree *tree, kd_motion *m, double *M)
{
    const struct kd_tree_work *work = m->work;
    const int                  nv = tree->nv;
    kd_rows_motions(tree, m);
    composite_forces(tree, m);
    memset(M, 0, (size_t)nv * (size_t)nv * sizeof *M);
    for (int l = 0; l < nv; l++) {
        const int i = tree->dof_link[tree->v_dof[l]], own = tree->link_v[i + 1];
        double    a[6], *out = M + (size_t)l * (size_t)nv;
        kd_rows_get(work->IS, nv, l, a);
        for (int j = i; j != 0; j = tree->link[work->run[j]].parent) {
            const int first = tree->link_v[work->run[j]];
            kd_rows_dot(nv, work->S, a, first, tree->link_v[j + 1], out + first);
        }
        kd_rows_get(work->S, nv, l, a);
        kd_rows_dot(nv, work->IS, a, own, tree->link_v[tree->link[i].end], out + own);
    }
}
