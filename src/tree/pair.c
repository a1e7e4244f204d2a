// pair.c: paths, relative accelerations of two frames and derivatives along the path between them (the rest:
// pair_motion.c). Equations: pair.h
#include "tree/pair.h"

#include <string.h>

// ---- the path -------------------------------------------------------------------------------------------------------

static int common_ancestor(const kd_tree *tree, int a, int b)
{
    while (a != b) { // parents have smaller numbers
        if (a > b)
            a = tree->link[a].parent;
        else
            b = tree->link[b].parent;
    }
    return a;
}

// over a marker: letter by letter, mode by mode; amplitudes do not move the wide link itself
static int steps_of(const kd_link *link)
{
    if (link->marker) return link->marker->nsteps;
    if (link->wide) return 0;
    return link->form.folds ? link->form.nletters : link->form.ndof;
}

static int count_steps(const kd_tree *tree, int link, int ancestor)
{
    int n = 0;
    for (; link != ancestor; link = tree->link[link].parent) n += steps_of(&tree->link[link]);
    return n;
}

// step k of a joint, from its parent on
static kd_step step_over(const kd_tree *tree, const kd_link *link, int k, int sign)
{
    const kd_joint_form *f = &link->form;
    const kd_marker     *marker = link->marker;
    const int            letter = marker ? marker->letter[k] : 0;
    if (marker && kd_marker_bends(marker, letter))
        return (kd_step){.dof = tree->link[link->parent].dof + marker->mode[k],
                         .axis = link->letter + letter,
                         .rate = sign,
                         .marker = (int)(link - tree->link)};
    if (marker)
        return (kd_step){.dof = tree->link[link->parent].dof + marker->mode[k],
                         .axis = link->letter + letter,
                         .rate = sign * kd_marker_part[letter] *
                                 marker->Phi[6 * marker->mode[k] + kd_marker_along[letter]]};
    if (f->folds) return (kd_step){.dof = link->dof + f->word[k].coordinate, .axis = link->letter + k, .rate = sign};
    return (kd_step){.dof = link->dof + k,
                     .axis = link->dof + k,
                     .bend = f->curved ? link->letter : 0,
                     .rate = sign,
                     .carried = sign > 0 && k >= f->nscalars};
}

// Does a dof belong to the quaternion of its joint?
static bool is_rotation(const kd_tree *tree, int dof)
{
    const kd_link *link = &tree->link[tree->dof_link[dof]];
    return dof >= link->dof + link->form.nscalars;
}

static bool same_block(const kd_tree *tree, int dof1, int dof2)
{
    return tree->dof_link[dof1] == tree->dof_link[dof2] && is_rotation(tree, dof1) && is_rotation(tree, dof2);
}

bool kd_pair_path(const kd_tree *tree, kd_pair *pair, kd_arena *arena)
{
    int ancestor = common_ancestor(tree, pair->a, pair->b);
    int na = count_steps(tree, pair->a, ancestor), nb = count_steps(tree, pair->b, ancestor);
    pair->nsteps = na + nb;
    pair->step = kd_arena_cut(arena, (size_t)(na + nb), sizeof *pair->step);
    if (!pair->step) return false;

    int at = 0;
    for (int i = pair->a; i != ancestor; i = tree->link[i].parent) // up: the last dof of each joint comes first
        for (int k = steps_of(&tree->link[i]) - 1; k >= 0; k--)
            pair->step[at++] = step_over(tree, &tree->link[i], k, -1);
    at = na + nb;
    for (int i = pair->b; i != ancestor; i = tree->link[i].parent) // down, filled from the end
        for (int k = steps_of(&tree->link[i]) - 1; k >= 0; k--)
            pair->step[--at] = step_over(tree, &tree->link[i], k, 1);
    // places in v; dofs of one quaternion share a block
    for (int k = 0, block = 0; k < pair->nsteps; k++) {
        pair->step[k].v = tree->dof_v[pair->step[k].dof];
        if (k > 0 && !same_block(tree, pair->step[k - 1].dof, pair->step[k].dof)) block++;
        pair->step[k].block = block;
    }
    return true;
}

// ---- relative motion ------------------------------------------------------------------------------------------------
// acceleration of the point of a link that is now at r
static kd_vec3 point_acceleration(const kd_link_motion *l, kd_vec3 r)
{
    kd_vec3 s = kd_vec_sub(r, l->P);
    return kd_vec_add(l->dv, kd_vec_add(kd_vec_cross(l->dw, s), kd_vec_cross(l->w, kd_vec_cross(l->w, s))));
}

// alpha = R_A' (dw_b - dw_a - w_a x w_b),  d'' = R_A' (a_b - a_a - 2 w_a x (R_A d')), both points at r_B
void kd_pair_accelerate(const kd_pair *pair, const kd_motion *m, kd_relative *rel)
{
    const kd_link_motion *a = &m->link[pair->a], *b = &m->link[pair->b];
    kd_vec3               alpha = kd_vec_sub(kd_vec_sub(b->dw, a->dw), kd_vec_cross(a->w, b->w));
    kd_vec3               relative = kd_vec_sub(point_acceleration(b, rel->rB), point_acceleration(a, rel->rB));
    kd_vec3               coriolis = kd_vec_scale(2.0, kd_vec_cross(a->w, kd_mat_vec(&rel->RA, rel->dd)));
    rel->alpha = kd_mat_tvec(&rel->RA, alpha);
    rel->ddd = kd_mat_tvec(&rel->RA, kd_vec_sub(relative, coriolis));
}

// ---- derivatives along the path -------------------------------------------------------------------------------------
typedef struct kd_spatial { // angular and linear part at one fixed point
    kd_vec3 w, u;
} kd_spatial;

static inline kd_spatial add6(kd_spatial a, kd_spatial b)
{
    return (kd_spatial){kd_vec_add(a.w, b.w), kd_vec_add(a.u, b.u)};
}
static kd_spatial sub6(kd_spatial a, kd_spatial b)
{
    return (kd_spatial){kd_vec_sub(a.w, b.w), kd_vec_sub(a.u, b.u)};
}
static kd_spatial scale6(double s, kd_spatial a)
{
    return (kd_spatial){kd_vec_scale(s, a.w), kd_vec_scale(s, a.u)};
}
// a x b of spatial motion vectors
static kd_spatial cross6(kd_spatial a, kd_spatial b)
{
    return (kd_spatial){kd_vec_cross(a.w, b.w), kd_vec_add(kd_vec_cross(a.w, b.u), kd_vec_cross(a.u, b.w))};
}

static kd_spatial axis_of(const kd_change *c)
{
    return (kd_spatial){c->w, c->u};
}

// ---- curved joints, letters that bend -------------------------------------------------------------------------------

// a motion of a link as the path sees it: at the origin of B, axes of A
static kd_spatial seen(const kd_axis *axis, double rate, const kd_relative *rel, kd_vec3 arm)
{
    const kd_vec3 u = kd_vec_add(axis->u, kd_vec_cross(axis->w, arm));
    return scale6(rate, (kd_spatial){kd_mat_tvec(&rel->RA, axis->w), kd_mat_tvec(&rel->RA, u)});
}

// S', S'' of a curved joint, at that arm
static void bend_of_joint(const kd_step *step, const kd_motion *m, const kd_relative *rel, kd_vec3 arm,
                          kd_spatial bend[2])
{
    bend[0] = seen(&m->axis[step->bend], step->rate, rel, arm);
    bend[1] = seen(&m->axis[step->bend + 1], step->rate, rel, arm);
    if (step->rate < 0)
        bend[1] = add6(bend[1], cross6(seen(&m->axis[step->axis], 1.0, rel, arm), scale6(-1.0, bend[0])));
}

bool kd_pair_bend(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, int l,
                  const double *dx, const double *ddx, kd_axis bend[2])
{
    const kd_step *step = &pair->step[l];
    if (!step->bend && !step->marker) return false;
    const kd_vec3 arm = kd_vec_sub(rel->rB, m->link[tree->dof_link[step->dof]].P);
    kd_spatial    X[2];
    if (step->marker) { // L times what all modes do to the part that this one has
        const kd_link   *link = &tree->link[step->marker];
        const int        first = tree->link[link->parent].dof, along = step->axis - link->letter;
        const kd_spatial L = seen(&m->axis[step->axis], step->rate, rel, arm);
        X[0] = scale6(kd_marker_bend_rate(link->marker, along, step->dof - first, dx + first), L);
        X[1] = scale6(ddx ? kd_marker_bend_rate(link->marker, along, step->dof - first, ddx + first) : 0, L);
    } else { // S' v, S' a + S'' v^2
        const double v = dx[step->dof], a = ddx ? ddx[step->dof] : 0;
        bend_of_joint(step, m, rel, arm, X);
        X[1] = add6(scale6(a, X[0]), scale6(v * v, X[1]));
        X[0] = scale6(v, X[0]);
    }
    for (int i = 0; i < 2; i++) bend[i] = (kd_axis){X[i].w, X[i].u};
    return true;
}

bool kd_pair_bend_by(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel, int k, int l,
                     kd_axis *bend)
{
    const kd_step *step = &pair->step[l], *other = &pair->step[k];
    const bool     joint = step->bend && k == l,
               letter = step->marker > 0 && step->marker == other->marker && step->axis == other->axis;
    kd_spatial X[2];
    if (!joint && !letter) return false;
    const kd_vec3 arm = kd_vec_sub(rel->rB, m->link[tree->dof_link[step->dof]].P);
    if (joint) {
        bend_of_joint(step, m, rel, arm, X);
    } else {
        const kd_link *link = &tree->link[step->marker];
        const int      first = tree->link[link->parent].dof;
        const double   by =
            link->marker
                ->bend[step->axis - link->letter + 3 * (other->dof - first + link->marker->m * (step->dof - first))];
        X[0] = seen(&m->axis[step->axis], step->rate * by, rel, arm);
    }
    *bend = (kd_axis){X[0].w, X[0].u};
    return true;
}

static kd_spatial spatial_of(const kd_axis *a)
{
    return (kd_spatial){a->w, a->u};
}

// Last step of the block that starts at k.
static int block_end(const kd_pair *pair, int k)
{
    int end = k + 1;
    while (end < pair->nsteps && pair->step[end].block == pair->step[k].block) end++;
    return end;
}

// One column: with the motion up to those dofs that do not follow l (V_B, A_B) and the motion V, A of B,
//     V_q = S_l x V_K,  A_q = (V_B x S_l) x V_K + S_l x A_K,  A_v = S_l x V_K + V_< x S_l,   K = behind l = all - B,
// then from the fixed point to the moving origin of B: d' = V_u,  d'' = A_u + omega x d'.
// A curved joint moves S_l by S' as well, with its rate v and acceleration a; X_0 = S' v, X_1 = S' a + S'' v^2 of kd_pair_bend:
//     V_q += X_0,  A_q += X_1 + V_< x X_0 + X_0 x V_K,  A_v += 2 X_0
typedef struct own_change {
    bool    curved;
    kd_axis bend[2];
} own_change;

static void add_own_change(const own_change *own, kd_spatial V_before, kd_spatial V_K, kd_spatial *V_q, kd_spatial *A_q,
                           kd_spatial *A_v)
{
    const kd_spatial X0 = spatial_of(&own->bend[0]), X1 = spatial_of(&own->bend[1]);
    *V_q = add6(*V_q, X0);
    *A_q = add6(add6(*A_q, X1), add6(cross6(V_before, X0), cross6(X0, V_K)));
    *A_v = add6(*A_v, scale6(2.0, X0));
}

static void fill_column(const kd_relative *rel, kd_spatial V, kd_spatial A, kd_spatial V_before, kd_spatial V_B,
                        kd_spatial A_B, const own_change *own, kd_change *c)
{
    kd_spatial S = axis_of(c), V_K = sub6(V, V_B), A_K = sub6(A, A_B);
    kd_spatial V_q = cross6(S, V_K);
    kd_spatial A_q = add6(cross6(cross6(V_B, S), V_K), cross6(S, A_K));
    kd_spatial A_v = add6(V_q, cross6(V_before, S));
    if (own->curved) add_own_change(own, V_before, V_K, &V_q, &A_q, &A_v);
    c->omega_q = V_q.w;
    c->dd_q = kd_vec_add(V_q.u, kd_vec_cross(rel->omega, c->u));
    c->alpha_q = A_q.w;
    c->ddd_q = kd_vec_add(kd_vec_add(A_q.u, kd_vec_cross(rel->alpha, c->u)),
                          kd_vec_add(kd_vec_cross(c->omega_q, rel->dd), kd_vec_cross(rel->omega, c->dd_q)));
    c->alpha_v = A_v.w;
    c->ddd_v = kd_vec_add(A_v.u, kd_vec_add(kd_vec_cross(c->w, rel->dd), kd_vec_cross(rel->omega, c->u)));
}

void kd_pair_rates(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                   const double *dx, kd_change *out)
{
    kd_axis    bend[2];
    kd_spatial V = {rel->omega, rel->dd}, V_prev = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0, end; k < pair->nsteps; k = end) {
        end = block_end(pair, k);
        // V up to the end of the block
        kd_spatial V_next = V_prev;
        for (int l = k; l < end; l++) V_next = add6(V_next, scale6(dx[pair->step[l].dof], axis_of(&out[l])));
        // V_q = S_l x V_K, d' with the moving origin of B
        kd_spatial V_K = sub6(V, pair->step[k].carried ? V_prev : V_next);
        for (int l = k; l < end; l++) {
            kd_spatial V_q = cross6(axis_of(&out[l]), V_K);
            if (kd_pair_bend(pair, tree, m, rel, l, dx, NULL, bend)) V_q = add6(V_q, spatial_of(bend));
            out[l].omega_q = V_q.w;
            out[l].dd_q = kd_vec_add(V_q.u, kd_vec_cross(rel->omega, out[l].u));
        }
        V_prev = V_next;
    }
}

void kd_pair_changes(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                     const double *dx, const double *ddx, kd_change *out)
{
    kd_spatial V = {rel->omega, rel->dd};
    kd_spatial A = {rel->alpha, kd_vec_sub(rel->ddd, kd_vec_cross(rel->omega, rel->dd))};
    kd_spatial V_prev = {{0, 0, 0}, {0, 0, 0}}, A_prev = V_prev;
    for (int k = 0, end; k < pair->nsteps; k = end) {
        end = block_end(pair, k);
        // V and A of the block: sum S dx, sum S ddx + V_< x S dx
        bool       carried = pair->step[k].carried;
        kd_spatial V_block = {{0, 0, 0}, {0, 0, 0}}, A_block = V_block;
        for (int l = k; l < end; l++) V_block = add6(V_block, scale6(dx[pair->step[l].dof], axis_of(&out[l])));
        kd_spatial V_before = carried ? add6(V_prev, V_block) : V_prev;
        for (int l = k; l < end; l++) {
            kd_spatial S = axis_of(&out[l]);
            A_block = add6(A_block,
                           add6(scale6(ddx[pair->step[l].dof], S), scale6(dx[pair->step[l].dof], cross6(V_before, S))));
        }
        // curved joints and letters that bend, which are blocks of their own, add X_0 dx
        own_change own;
        own.curved = kd_pair_bend(pair, tree, m, rel, k, dx, ddx, own.bend);
        if (own.curved) A_block = add6(A_block, scale6(dx[pair->step[k].dof], spatial_of(own.bend)));
        // columns of its dofs
        kd_spatial V_next = add6(V_prev, V_block), A_next = add6(A_prev, A_block);
        for (int l = k; l < end; l++)
            fill_column(rel, V, A, V_before, carried ? V_prev : V_next, carried ? A_prev : A_next, &own, &out[l]);
        V_prev = V_next;
        A_prev = A_next;
    }
}
