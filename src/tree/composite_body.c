// composite_body.c: the mass matrix (composite rigid body, Fs section 6.2): M_kl = S_k' Ic_l S_l for k on the way from
// l to the ground. Composite inertias are about P_i; motions and forces are about one point of each tree, so that an
// entry is a dot product of six terms. docs/methods/tree.md
#include "tree/fours.h"
#include "tree/rows.h"

#include <string.h>

// mass, first moment and inertia of a link with all that hangs on it
typedef struct composite {
    kd_m3  J;
    kd_v3  h;
    double m;
} composite;

_Static_assert(sizeof(composite) <= KD_GIVEN_SIZE, "work->given has the room");

static inline composite composite_link(const kd_link *l, const kd_link_motion *m, const struct kd_tree_work *work,
                                       int i)
{
    const kd_turned a = work->turned_known ? kd_turned_kept(work->turned[i]) : kd_turned_of(l, m);
    return (composite){a.J, a.h, l->mass};
}

// the same of a link that deforms, as it stands now
static inline composite composite_wide(const kd_link *l, const kd_wide_state *s, const kd_link_motion *m)
{
    const kd_m3 R = kd_m3_load(&m->R);
    return (composite){kd_m3_rotate(&R, &m->R, &s->J), kd_m3_vec(&R, &s->h), l->wide->mass};
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

// ---- modes ---------------------------------------------------------------------------------------------------------
// Of a wide link U_l = forces of unit q_l'' about P and W = modes by modes: what hangs on the markers, then the link itself

static void start_composite_modes(const kd_tree *tree, kd_motion *m)
{
    for (int i = 1; tree->nwide > 0 && i < tree->nlinks; i++) {
        const kd_link *l = &tree->link[i];
        if (!l->wide) continue;
        kd_wide_state *s = &m->work->wide[l->state];
        memset(s->U, 0, (size_t)(6 * l->wide->m) * sizeof *s->U);
        memcpy(s->W, l->wide->M, (size_t)(l->wide->m * l->wide->m) * sizeof *s->W);
    }
}

// c about the point of the wide link: U += Ic S, W += S' Ic S
static void add_composite_marker(const kd_tree *tree, kd_motion *m, int i, const composite *c)
{
    const kd_link *l = &tree->link[i];
    const double  *row = m->work->row[i];
    const int      n = l->marker->m;
    const kd_axis *letter = m->axis + l->letter;
    kd_wide_state *s = &m->work->wide[tree->link[l->parent].state];
    // each mode moves the marker along its letters, and what hangs on it with them
    for (int b = 0; b < n; b++) {
        const kd_axis sum[2] = {kd_marker_sum(row, letter, b)}; // one more: see vector.h
        const kd_v6   f = composite_force(c, sum, kd_v3_zero());
        kd_vec_slot   N, F;
        kd_v3_store_four(&N.v, f.w);
        kd_v3_store_four(&F.v, f.u);
        double along[6] = {0}; // W = Phi' times what it does along shifts and turns
        for (int a = 0; a < KD_MARKER_LETTERS; a++)
            along[kd_marker_along[a]] +=
                kd_marker_part[a] * (kd_vec_dot(letter[a].w, N.v) + kd_vec_dot(letter[a].u, F.v));
        for (int a = 0; a < n; a++)
            for (int d = 0; d < 6; d++) s->W[a + n * b] += kd_marker_slope(row, d, a) * along[d];
        double *U = s->U + 6 * b;
        U[0] += N.v.x, U[1] += N.v.y, U[2] += N.v.z, U[3] += F.v.x, U[4] += F.v.y, U[5] += F.v.z;
    }
}

// U of the link itself, then IS of its dofs
static void put_modes(const kd_tree *tree, kd_motion *m, int i, kd_v3 r)
{
    const kd_link       *l = &tree->link[i];
    const kd_wide_state *s = &m->work->wide[l->state];
    const kd_mat3       *R = &m->link[i].R;
    for (int k = tree->link_v[i]; k < tree->link_v[i + 1]; k++) {
        const int     b = tree->v_dof[k] - l->dof;
        const double *U = s->U + 6 * b;
        const kd_vec3 N = kd_vec_add(kd_mat_vec(R, kd_wide_b(s, b)), kd_vec_of(U));
        const kd_vec3 F = kd_vec_add(kd_mat_vec(R, kd_wide_C(s, b)), kd_vec_of(U + 3));
        const kd_v3   f = kd_v3_load_exactly(&F);
        kd_rows_put(m->work->IS, m->work->stride, k, (kd_v6){kd_v3_add(kd_v3_load_exactly(&N), kd_v3_cross(r, f)), f});
    }
}

// IS of all dofs in v, from the tips to the ground, of rigid bodies with their motions S; sums as in articulated_body.c. deforms:
// known to the compiler, so that trees of rigid bodies do not ask at every link (15 % of the instructions)
__attribute__((always_inline)) static inline void composite_forces_of(const kd_tree *tree, kd_motion *m,
                                                                      const bool deforms, const int stride)
{
    struct kd_tree_work *work = m->work;
    composite           *sum = work->given;
    composite            given = {0};
    if (deforms) start_composite_modes(tree, m);
    for (int i = tree->nlinks - 1; i > 0; i--) {
        const kd_link *l = &tree->link[i];
        const kd_v3    r = kd_rows_place(m, i);
        // Ic: the link with all that hangs on it
        const bool wide = deforms && l->wide;
        composite  c =
            wide ? composite_wide(l, &work->wide[l->state], &m->link[i]) : composite_link(l, &m->link[i], work, i);
        if (l->end > i + 1) {
            composite_add(&c, &given);
            if (l[1].end < l->end) composite_add(&c, &sum[i]);
        }
        // Ic S of its dofs
        for (int k = tree->link_v[i]; !wide && k < tree->link_v[i + 1]; k++) {
            const kd_axis *S = &m->axis[tree->v_dof[k]];
            if (!deforms) kd_rows_put(work->S, stride, k, kd_rows_motion(S, r));
            kd_rows_put(work->IS, stride, k, composite_force(&c, S, r));
        }
        if (wide) put_modes(tree, m, i, r);
        // to the point of the parent
        if (l->parent == 0) continue;
        composite_carry(&c, kd_v3_sub(kd_v3_load(&m->link[i].P), kd_v3_load(&m->link[l->parent].P)));
        if (deforms && l->marker && !l->marker->still) add_composite_marker(tree, m, i, &c);
        if (l->parent == i - 1)
            given = c;
        else if (l->end == tree->link[l->parent].end)
            sum[l->parent] = c;
        else
            composite_add(&sum[l->parent], &c);
    }
}

static void composite_forces(const kd_tree *tree, kd_motion *m)
{
    if (tree->nwide > 0) {
        kd_rows_motions(tree, m, m->work->stride);
        composite_forces_of(tree, m, true, m->work->stride);
    } else {
        composite_forces_of(tree, m, false, m->work->stride);
    }
}

static inline kd_six rows_get(const double *rows, int stride, int k)
{
    const double *r = rows + k;
    return (kd_six){{.v = {r[0], r[stride], r[2 * stride]}}, {.v = {r[3 * stride], r[4 * stride], r[5 * stride]}}};
}

// Column l of a wide link i, its own rows and those behind its markers; out: from the own rows on
static void write_mode(const kd_tree *tree, const kd_motion *m, int i, int l, double *out)
{
    const kd_link       *link = &tree->link[i];
    const kd_wide_state *s = &m->work->wide[link->state];
    const int            n = link->wide->m, b = tree->v_dof[l] - link->dof, first = tree->link_v[i];
    for (int k = first; k < tree->link_v[i + 1]; k++) out[k - first] = s->W[tree->v_dof[k] - link->dof + n * b];
    for (int j = i + 1; j < link->end; j = tree->link[j].end) {
        kd_six        S;
        const kd_axis sum[2] = {
            kd_marker_sum(m->work->row[j], m->axis + tree->link[j].letter, b)}; // one more: see vector.h
        kd_six_put(&S, kd_rows_motion(sum, kd_rows_place(m, i)));
        const int at = tree->link_v[j];
        kd_rows_dot(m->work->stride, m->work->IS, &S, at, tree->link_v[tree->link[j].end], out + at - first);
    }
}

// n <= 4 of the numbers
KD_INLINE void put_some(double *out, const int n, const four *a)
{
    if (n == 4) {
        PUT(out) = *a;
        return;
    }
    if (n >= 2) *(kd_two *)out = (kd_two){(*a)[0], (*a)[1]};
    if (n % 2 == 1) out[n - 1] = (*a)[n - 1];
}

// out_i = S_i' (Ic S_l), i < g, four l side by side
KD_INLINE void dot_four(const double *S, const double *IS, const int stride, const int g, four out[4])
{
    for (int i = 0; i < g; i++) out[i] = ALL(S[i]) * AT(IS);
#pragma GCC unroll 8
    for (int r = 1; r < 6; r++) {
        const four force = AT(IS + r * stride);
        for (int i = 0; i < g; i++) out[i] += ALL(S[i + r * stride]) * force;
    }
}

// Entries of the g dofs from a on with n <= 4 others from l on: M_kl to column k and, transposed, to column l. own: l = a, where those
// of the g among each other are taken from one side
KD_INLINE void put_entries(const int *column, double *values, int a, int l, const int g, const int n, const bool own,
                           four M[4])
{
    for (int i = g; i < 4; i++) M[i] = M[0];
    four T[4] = {M[0], M[1], M[2], M[3]};
    if (g > 1) TRANSPOSE(T[0], T[1], T[2], T[3]);
    for (int i = 1; own && i < g; i++)
        for (int k = 0; k < i; k++) M[i][k] = T[i][k];
    for (int i = 0; i < g; i++) put_some(values + column[a + i] + l, n, &M[i]);
    for (int i = own ? g : 0; i < n; i++) {
        if (g == 1)
            values[column[l + i] + a] = M[0][i];
        else
            put_some(values + column[l + i] + a, g, &T[i]);
    }
}

// The same number by number: of large trees these are few, and one piece of code will do
__attribute__((noinline)) static void put_plainly(const int *column, double *values, int a, int l, int g, int n,
                                                  bool own, const double (*M)[4])
{
    for (int i = 0; i < g; i++)
        for (int k = own ? i : 0; k < n; k++) values[column[a + i] + l + k] = values[column[l + k] + a + i] = M[i][k];
}

// n is known to the compiler, but for large trees
KD_INLINE void put_up_to_four(const int *column, double *values, int a, int l, const int g, int n, const bool own,
                              const bool large, four M[4])
{
    if (large)
        put_plainly(column, values, a, l, g, n < 4 ? n : 4, own, (const double(*)[4])M);
    else if (n >= 4)
        put_entries(column, values, a, l, g, 4, own, M);
    else if (n == 3)
        put_entries(column, values, a, l, g, 3, own, M);
    else if (n == 2)
        put_entries(column, values, a, l, g, 2, own, M);
    else
        put_entries(column, values, a, l, g, 1, own, M);
}

// g dofs of a chain from a on, with all behind them
KD_INLINE void fill_some(const kd_tree *tree, const struct kd_tree_work *work, const kd_chain *chain, int a,
                         const int g, const int stride, double *values)
{
    const double *S = work->S + a, *IS = work->IS;
    const bool    large = stride != KD_ROWS_STRIDE;
    four          M[4];
    // the entry of row k stands in column l at column[l] + place + k
    double *from = values + chain->place;
    dot_four(S, IS + a, stride, g, M);
    put_up_to_four(tree->column, from, a, a, g, chain->end - a, true, large, M);
    int l = a + 4;
    for (; l + 4 <= chain->end; l += 4) {
        dot_four(S, IS + l, stride, g, M);
        put_entries(tree->column, from, a, l, g, 4, false, M);
    }
    if (l >= chain->end) return;
    dot_four(S, IS + l, stride, g, M);
    put_up_to_four(tree->column, from, a, l, g, chain->end - l, false, large, M);
}

// Columns of M in the pattern, of rigid bodies: chain by chain (kd_chain), both triangles from S_k' (Ic S_l), l at or behind k
KD_INLINE void rigid_columns(const kd_tree *tree, const kd_motion *m, double *values, const int stride)
{
    const struct kd_tree_work *work = m->work;
    for (int c = 0; c < work->nchains; c++) {
        const kd_chain *chain = &work->chain[c];
        int             a = chain->first;
        for (; a + 4 <= chain->own; a += 4) fill_some(tree, work, chain, a, 4, stride, values);
        if (chain->own - a == 3)
            fill_some(tree, work, chain, a, 3, stride, values);
        else if (chain->own - a == 2)
            fill_some(tree, work, chain, a, 2, stride, values);
        else if (chain->own - a == 1)
            fill_some(tree, work, chain, a, 1, stride, values);
    }
}

// The same where bodies deform
static void mass_columns(const kd_tree *tree, kd_motion *m, double *values)
{
    const struct kd_tree_work *work = m->work;
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *link = &tree->link[i];
        const int      own = tree->link_v[i + 1];
        if (link->marker) kd_rows_marker(tree, m, i);
        for (int l = tree->link_v[i]; l < own; l++) {
            const kd_six S = rows_get(work->S, work->stride, l), IS = rows_get(work->IS, work->stride, l);
            double      *out = values + tree->column[l];
            // S_k' (Ic S_l) for k above l, S_l' (Ic S_k) for k below
            out += kd_rows_dot_above(tree, work, i, own, work->S, &IS, out);
            if (link->wide)
                write_mode(tree, m, i, l, out - (own - tree->link_v[i]));
            else
                kd_rows_dot(m->work->stride, work->IS, &S, own, tree->link_v[link->end], out);
        }
    }
}

__attribute__((always_inline)) static inline void rigid_mass(const kd_tree *tree, kd_motion *m, double *values,
                                                             const int stride)
{
    composite_forces_of(tree, m, false, stride);
    rigid_columns(tree, m, values, stride);
}

void KD_KERNEL(kd_mass)(const kd_tree *tree, kd_motion *m, double *values)
{
    if (tree->nwide == 0 && m->work->stride == KD_ROWS_STRIDE) {
        rigid_mass(tree, m, values, KD_ROWS_STRIDE);
    } else if (tree->nwide == 0) {
        rigid_mass(tree, m, values, m->work->stride);
    } else {
        composite_forces(tree, m);
        mass_columns(tree, m, values);
    }
}

void KD_KERNEL(kd_mass_dense)(const kd_tree *tree, kd_motion *m, double *M)
{
    const struct kd_tree_work *work = m->work;
    const int                  nv = tree->nv;
    composite_forces(tree, m);
    memset(M, 0, (size_t)nv * (size_t)nv * sizeof *M);
    for (int i = 1; i < tree->nlinks; i++) {
        const kd_link *link = &tree->link[i];
        const int      own = tree->link_v[i + 1];
        if (link->marker) kd_rows_marker(tree, m, i);
        for (int l = tree->link_v[i]; l < own; l++) {
            const kd_six S = rows_get(work->S, work->stride, l), IS = rows_get(work->IS, work->stride, l);
            double      *out = M + (size_t)l * (size_t)nv;
            // k above l, run by run
            for (int j = i; j != 0; j = work->run_parent[j]) {
                const int first = work->run_v[j];
                kd_rows_dot(work->stride, work->S, &IS, first, tree->link_v[j + 1], out + first);
            }
            // k below
            if (link->wide)
                write_mode(tree, m, i, l, out + tree->link_v[i]);
            else
                kd_rows_dot(work->stride, work->IS, &S, own, tree->link_v[link->end], out + own);
        }
    }
}
