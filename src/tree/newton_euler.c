// newton_euler.c: the residual formalism, tau for given accelerations (recursive Newton-Euler, Fs section 5.3), in
// world axes with the point P_i of each link. docs/methods/tree.md
#include "tree/joint.h"

// F = m dv + dw x h + w x (w x h),  N = J dw + w x (J w) + h x dv,  h = m R c,  J = R I R'; minus the load
static inline kd_v6 inertia_force(const kd_link *l, const kd_link_motion *m, const kd_wrench *load, double kept[16])
{
    const kd_turned turned = kd_turned_of(l, m);
    const kd_m3     J = turned.J;
    const kd_v3     h = turned.h;
    kd_turned_keep(kept, &turned);
    const kd_v3 w = kd_v3_load(&m->w), dw = kd_v3_load(&m->dw), dv = kd_v3_load(&m->dv);
    const kd_v3 N = kd_v3_add(kd_v3_cross(w, kd_m3_vec(&J, &m->w)), kd_v3_cross(h, dv));
    const kd_v3 F = kd_v3_add(kd_v3_cross(dw, h), kd_v3_cross(w, kd_v3_cross(w, h)));
    kd_v6       f = {kd_m3_axpy(N, &J, &m->dw), kd_v3_axpy(F, l->mass, dv)};
    if (load) {
        f.w = kd_v3_sub(f.w, kd_v3_load_exactly(&load->N));
        f.u = kd_v3_sub(f.u, kd_v3_load_exactly(&load->F));
    }
    return f;
}

// the same of a link that deforms; what its modes carry is added to tau
static inline kd_v6 wide_force(const kd_link *l, kd_motion *m, int i, const kd_wrench *load, double *tau)
{
    kd_wide_state *s = &m->work->wide[l->state];
    kd_wrench      own;
    KD_KERNEL(kd_wide_force)(l->wide, s, &m->link[i], s->ddq, &own, s->Q);
    for (int k = 0; k < l->wide->m; k++) tau[l->dof + k] += s->Q[k];
    if (load) own = (kd_wrench){kd_vec_sub(own.N, load->N), kd_vec_sub(own.F, load->F)};
    return (kd_v6){kd_v3_load_exactly(&own.N), kd_v3_load_exactly(&own.F)};
}

// what hangs on a marker acts on the modes: f about the point of the wide link
static inline void load_modes(int m, const double *row, const kd_axis *letter, kd_v6 f, double *tau)
{
    double along[6] = {0};
    for (int a = 0; a < KD_MARKER_LETTERS; a++)
        along[kd_marker_along[a]] +=
            kd_marker_part[a] * kd_v3_dot2(kd_v3_load(&letter[a].w), f.w, kd_v3_load(&letter[a].u), f.u);
    for (int k = 0; k < m; k++)
        for (int a = 0; a < 6; a++) tau[k] += kd_marker_slope(row, a, k) * along[a];
}

// to the point P - d
static inline kd_v6 carry_force(kd_v6 f, kd_v3 d)
{
    return (kd_v6){kd_v3_add(f.w, kd_v3_cross(d, f.u)), f.u};
}

// From the tips to the ground. What a link gives to its parent stays at hand if the parent comes next; otherwise it is
// added up in the parent's reaction, which the last child starts. deforms: as in composite_body.c
__attribute__((always_inline)) static inline void residual_of(const kd_tree *tree, kd_motion *m, const kd_wrench *load,
                                                              const bool deforms, double *tau)
{
    kd_v6 given = {kd_v3_zero(), kd_v3_zero()};
    m->reaction[0] = (kd_wrench){0};
    for (int i = 1; deforms && i < tree->nlinks; i++) // markers come before what they hang on
        for (int k = 0; tree->link[i].wide && k < tree->link[i].wide->m; k++) tau[tree->link[i].dof + k] = 0;
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link        *l = &tree->link[i];
        const kd_link_motion *own = &m->link[i];
        kd_wrench            *reaction = &m->reaction[i], *parent = &m->reaction[l->parent];
        // f = inertia force - load + what the children give
        const kd_wrench *outer = load ? &load[i] : NULL;
        kd_v6            f =
            deforms && l->wide ? wide_force(l, m, i, outer, tau) : inertia_force(l, own, outer, m->work->turned[i]);
        if (l->end > i + 1) {
            f = (kd_v6){kd_v3_add(f.w, given.w), kd_v3_add(f.u, given.u)};
            if (l[1].end < l->end)
                f = (kd_v6){kd_v3_add(f.w, kd_v3_load(&reaction->N)), kd_v3_add(f.u, kd_v3_load(&reaction->F))};
        }
        kd_v3_store(&reaction->N, f.w);
        kd_v3_store(&reaction->F, f.u);
        // tau = S' f
        if (l->form.hinge)
            tau[l->dof] = kd_v3_dot(kd_v3_load(&own->R.z), f.w);
        else if (!deforms || !l->wide)
            for (int k = l->dof; k < l->dof + l->form.ndof; k++)
                tau[k] = kd_v3_dot2(kd_v3_load(&m->axis[k].w), f.w, kd_v3_load(&m->axis[k].u), f.u);
        // to the parent, about its point
        f = carry_force(f, kd_v3_sub(kd_v3_load(&own->P), kd_v3_load(&m->link[l->parent].P)));
        if (deforms && l->marker && !l->marker->still)
            load_modes(l->marker->m, m->work->row[i], m->axis + l->letter, f, tau + tree->link[l->parent].dof);
        if (l->parent == i - 1) {
            given = f;
        } else {
            if (l->end != tree->link[l->parent].end)
                f = (kd_v6){kd_v3_add(f.w, kd_v3_load(&parent->N)), kd_v3_add(f.u, kd_v3_load(&parent->F))};
            kd_v3_store(&parent->N, f.w);
            kd_v3_store(&parent->F, f.u);
        }
    }
    m->work->turned_known = true;
    if (tree->nlinks > 1) { // the first link
        kd_vec3 N, F;
        kd_v3_store(&N, given.w);
        kd_v3_store(&F, given.u);
        m->reaction[0] = (kd_wrench){kd_vec_add(m->reaction[0].N, N), kd_vec_add(m->reaction[0].F, F)};
    }
}

void KD_KERNEL(kd_residual)(const kd_tree *tree, kd_motion *m, const kd_wrench *load, double *tau)
{
    if (tree->nwide > 0)
        residual_of(tree, m, load, true, tau);
    else
        residual_of(tree, m, load, false, tau);
}
