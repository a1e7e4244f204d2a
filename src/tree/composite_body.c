// composite_body.c: the mass matrix (composite rigid body, Fs section 6.2): M_kl = S_k' Ic_l S_l for k on the way from
// l to the ground. Composite inertias are about P_i; motions and forces are about one point of each tree, so that an
// entry is a dot product of six terms. docs/methods/tree.md
#include "tree/rows.h"

#include <string.h>

// mass, first moment and inertia of a link with all that hangs on it
typedef struct composite {
    kd_m3  J;
    kd_v3  h;
    double m;
} composite;

_Static_assert(sizeof(composite) <= KD_GIVEN_SIZE, "work->given has the room");

static inline composite composite_link(const kd_link *l, const kd_link_motion *m)
{
    const kd_m3 R = kd_m3_load(&m->R);
    return (composite){kd_m3_rotate(&R, &m->R, &l->inertia), kd_v3_scale(l->mass, kd_m3_vec(&R, &l->centre)), l->mass};
}

static inline void composite_add(composite *a, const composite *b)
{
    a->J = kd_m3_add(&a->J, &b->J);
    a->h = kd_v3_add(a->h, b->h);
    a->m += b->m;
}

// from P to P - d: h + m d, J - (d x)(e x) - (e x)(d x) = J + 2 d'e - d e' - e d', e = h + m/2 d
static inline void composite_carry(composite *c, kd_v3 d)
{
    const kd_v3 e = kd_v3_axpy(c->h, 0.5 * c->m, d);
    kd_vec_slot ds, es;
    kd_v3_store_four(&ds.v, d);
    kd_v3_store_four(&es.v, e);
    kd_m3_add_unit(&c->J, 2 * kd_v3_dot(d, e));
    kd_m3_add_product(&c->J, -1, d, &es.v);
    kd_m3_add_product(&c->J, -1, e, &ds.v);
    c->h = kd_v3_axpy(c->h, c->m, d);
}

// Ic S, then about the common point at -r
static inline kd_v6 composite_force(const composite *c, const kd_axis *S, kd_v3 r)
{
    const kd_v3 w = kd_v3_load(&S->w), u = kd_v3_load(&S->u);
    const kd_v3 F = kd_v3_axpy(kd_v3_cross(w, c->h), c->m, u);
    const kd_v3 N = kd_v3_add(kd_m3_vec(&c->J, &S->w), kd_v3_cross(c->h, u));
    return (kd_v6){kd_v3_add(N, kd_v3_cross(r, F)), F};
}

// IS of all dofs in v, from the tips to the ground; sums as in articulated_body.c
static void composite_forces(const kd_tree *tree, kd_motion *m)
{
    struct kd_tree_work *work = m->work;
    composite           *sum = work->given;
    composite            given = {0};
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link *l = &tree->link[i];
        const kd_v3    r = kd_rows_place(m, i);
        // Ic: the link with all that hangs on it
        composite c = composite_link(l, &m->link[i]);
        if (l->end > i + 1) {
            composite_add(&c, &given);
            if (l[1].end < l->end) composite_add(&c, &sum[i]);
        }
        // Ic S of its dofs
        for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++)
            kd_rows_put(work->IS, tree->nv, k, composite_force(&c, &m->axis[tree->v_dof[k]], r));
        // to the point of the parent
        if (l->parent == 0) continue;
        composite_carry(&c, kd_v3_sub(kd_v3_load(&m->link[i].P), kd_v3_load(&m->link[l->parent].P)));
        if (l->parent == i - 1)
            given = c;
        else if (l->end == tree->link[l->parent].end)
            sum[l->parent] = c;
        else
            composite_add(&sum[l->parent], &c);
    }
}

static inline kd_six rows_get(const double *rows, int nv, int k)
{
    const double *r = rows + k;
    return (kd_six){{.v = {r[0], r[nv], r[2 * nv]}}, {.v = {r[3 * nv], r[4 * nv], r[5 * nv]}}};
}

void KD_KERNEL(kd_mass)(const kd_tree *tree, kd_motion *m, double *values)
{
    const struct kd_tree_work *work = m->work;
    kd_rows_motions(tree, m);
    composite_forces(tree, m);
    for (int l = 0; l < tree->nv; l++) {
        const int    i = tree->dof_link[tree->v_dof[l]], own = tree->link_v[i + 1];
        const kd_six S = rows_get(work->S, tree->nv, l), IS = rows_get(work->IS, tree->nv, l);
        double      *out = values + tree->column[l];
        // S_k' (Ic S_l) for k above l, S_l' (Ic S_k) for k below
        out += kd_rows_dot_above(tree, work, i, own, work->S, &IS, out);
        kd_rows_dot(tree->nv, work->IS, &S, own, tree->link_v[tree->link[i].end], out);
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
        const int    i = tree->dof_link[tree->v_dof[l]], own = tree->link_v[i + 1];
        const kd_six S = rows_get(work->S, nv, l), IS = rows_get(work->IS, nv, l);
        double      *out = M + (size_t)l * (size_t)nv;
        // k above l, run by run
        for (int j = i; j != 0; j = tree->link[work->run[j]].parent) {
            const int first = tree->link_v[work->run[j]];
            kd_rows_dot(nv, work->S, &IS, first, tree->link_v[j + 1], out + first);
        }
        // k below
        kd_rows_dot(nv, work->IS, &S, own, tree->link_v[tree->link[i].end], out + own);
    }
}
