// initial_invariants.c: do known invariants hold at a start, and are they independent?
//
// An invariant holds when |e_i| is below the tolerance times sum |e_i,p| |p| + sum |e_i,v| |v|, its own terms. It
// depends on others when its gradient by (p, v) is a combination of theirs and of those of the constraints,
//     [ GZ       0  ]
//     [ gI_p     GZ ]     which follow from g = 0 and gI = 0, h = 0.
//     [ h_p      HZ ]
// A gradient that vanishes, as that of the energy at an equilibrium, tells nothing.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "start/initial_system.h"

#define STAYS 1e-5   // rate of an invariant, relative to its terms, that is none
#define DEPENDS 1e-8 // part of a unit gradient that may be independent of the others

// Gradients (rows x columns, row by row), columns: nv of p, nv of v
typedef struct gradients {
    kd_arena arena;
    int      nv, rows, count; // rows of constraints; basis so far
    double  *e_p, *e_v, *GZ, *HZ, *gI_p, *h_p;
    double  *value;
    double  *basis; // (2 nv x rows + ne)
    double  *row;   // (2 nv)
} gradients;

static bool cut_gradients(gradients *g, const kd_iv *iv)
{
    const kd_dims n = iv->n;
    g->nv = n.nv;
    g->rows = 2 * n.nlambda + n.nmu;
    g->e_p = kd_cut_matrix(&g->arena, n.ne, n.nv);
    g->e_v = kd_cut_matrix(&g->arena, n.ne, n.nv);
    g->GZ = kd_cut_matrix(&g->arena, n.nlambda, n.nv);
    g->HZ = kd_cut_matrix(&g->arena, n.nmu, n.nv);
    g->gI_p = kd_cut_matrix(&g->arena, n.nlambda, n.nv);
    g->h_p = kd_cut_matrix(&g->arena, n.nmu, n.nv);
    g->value = kd_cut_double(&g->arena, n.ne);
    g->basis = kd_cut_matrix(&g->arena, 2 * n.nv, g->rows + n.ne);
    g->row = kd_cut_double(&g->arena, 2 * n.nv);
    return !g->arena.failed;
}

static kd_status tell_fault(kd_iv *iv)
{
    kd_text(iv->message, iv->size, "%s", kd_eom_data_message(iv->data));
    return kd_eom_data_fault(iv->data).status;
}

static kd_status evaluate_gradients(kd_iv *iv, gradients *g, bool constraints)
{
    const kd_dims n = iv->n;
    kd_blocks     blocks = {0};
    kd_iv_set_point(iv);
    kd_eval answer = kd_iv_evaluate(iv, KD_E, g->value);
    blocks.block[KD_E][KD_P] = g->e_p;
    blocks.block[KD_E][KD_V] = g->e_v;
    if (constraints && n.nlambda > 0) blocks.block[KD_GI][KD_P] = g->gI_p;
    if (constraints && n.nmu > 0) blocks.block[KD_H][KD_P] = g->h_p;
    if (answer != KD_EVAL_OK) return iv->fault;
    answer = kd_eom_derivatives(iv->data, KD_PART_ALL, &blocks);
    if (answer == KD_EVAL_OK && constraints && n.nlambda + n.nmu > 0)
        answer = kd_eom_constraint_matrices(iv->data, g->GZ, g->HZ);
    return answer == KD_EVAL_OK ? KD_OK : tell_fault(iv);
}

static double largest_or_one(const double *x, int n)
{
    return fmax(1.0, kd_norm_max(n, x));
}

kd_status kd_iv_invariants_hold(kd_iv *iv, bool *hold)
{
    gradients    g = {0};
    const double p = largest_or_one(iv->now->p, iv->n.np), v = largest_or_one(iv->now->v, iv->n.nv);
    kd_status    st = cut_gradients(&g, iv) ? evaluate_gradients(iv, &g, false) : KD_ERR_MEMORY;
    *hold = true;
    for (int i = 0; i < iv->n.ne && st == KD_OK; i++) {
        // |e_i| against sum |e_i,p| |p| + sum |e_i,v| |v|
        double terms = 0.0;
        for (int j = 0; j < g.nv; j++) terms += p * fabs(g.e_p[i + j * iv->n.ne]) + v * fabs(g.e_v[i + j * iv->n.ne]);
        *hold = *hold && fabs(g.value[i]) <= iv->opt->tolerance * terms;
    }
    kd_arena_release(&g.arena);
    return st;
}

// g->row less its part along the basis, twice; a new member of the basis unless nothing is left. false: it depends
static bool take_into_basis(gradients *g)
{
    const int n = 2 * g->nv;
    double    before = sqrt(kd_dot(n, g->row, g->row));
    if (before == 0.0) return true; // tells nothing
    // row -= Q Q' row
    for (int b = 0; b < 2 * g->count; b++) {
        const double *q = g->basis + (size_t)n * (size_t)(b % g->count);
        kd_axpy(n, -kd_dot(n, q, g->row), q, g->row);
    }
    // what is left is a new direction, or nothing
    double left = sqrt(kd_dot(n, g->row, g->row));
    if (left <= DEPENDS * before || g->count == n) return false;
    for (int j = 0; j < n; j++) g->basis[j + n * g->count] = g->row[j] / left;
    g->count++;
    return true;
}

// row = (by_p, by_v) of one function; NULL: 0
static void put_gradient(gradients *g, int row, int rows, const double *by_p, const double *by_v)
{
    for (int j = 0; j < g->nv; j++) {
        g->row[j] = by_p ? by_p[row + j * rows] : 0.0;
        g->row[g->nv + j] = by_v ? by_v[row + j * rows] : 0.0;
    }
}

static void take_constraints(gradients *g, const kd_iv *iv)
{
    for (int i = 0; i < iv->n.nlambda; i++) {
        if (!iv->now->active_lambda[i]) continue;
        // (GZ, 0), (gI_p, GZ)
        put_gradient(g, i, iv->n.nlambda, g->GZ, NULL);
        (void)take_into_basis(g);
        put_gradient(g, i, iv->n.nlambda, g->gI_p, g->GZ);
        (void)take_into_basis(g);
    }
    for (int i = 0; i < iv->n.nmu; i++) {
        if (!iv->now->active_mu[i]) continue;
        // (h_p, HZ)
        put_gradient(g, i, iv->n.nmu, g->h_p, g->HZ);
        (void)take_into_basis(g);
    }
}

kd_status kd_iv_invariants_rank(kd_iv *iv)
{
    gradients g = {0};
    kd_status st = cut_gradients(&g, iv) ? evaluate_gradients(iv, &g, true) : KD_ERR_MEMORY;
    int       count = 0;
    char      name[96], names[160] = "";
    // constraints first, then one invariant after the other
    if (st == KD_OK) take_constraints(&g, iv);
    for (int i = 0; i < iv->n.ne && st == KD_OK; i++) {
        put_gradient(&g, i, iv->n.ne, g.e_p, g.e_v);
        if (take_into_basis(&g)) continue;
        kd_text_append(names, sizeof names, "%s'%s'", count++ ? ", " : "",
                       kd_eom_name(iv->eom, KD_NAME_E, i, name, sizeof name));
    }
    if (count > 0)
        kd_text(iv->dependent, sizeof iv->dependent, "invariant%s %s depend%s on the others or on constraints",
                count > 1 ? "s" : "", names, count > 1 ? "" : "s");
    kd_arena_release(&g.arena);
    return st;
}

kd_status kd_iv_invariants_stay(kd_iv *iv)
{
    const kd_dims n = iv->n;
    gradients     g = {0};
    kd_blocks     by_t = {0};
    char          name[96];
    if (n.ne == 0) return KD_OK;
    kd_status st = cut_gradients(&g, iv) ? evaluate_gradients(iv, &g, false) : KD_ERR_MEMORY;
    double   *e_t = kd_cut_double(&g.arena, n.ne);
    if (st == KD_OK && !e_t) st = KD_ERR_MEMORY;
    by_t.block[KD_E][KD_T] = e_t;
    if (st == KD_OK && kd_eom_derivatives(iv->data, KD_PART_ALL, &by_t) != KD_EVAL_OK) st = tell_fault(iv);
    for (int i = 0; i < n.ne && st == KD_OK; i++) {
        // e' = e_t + e_p v + e_v a
        double rate = e_t[i], terms = fabs(e_t[i]);
        for (int j = 0; j < n.nv; j++) {
            const double by_p = g.e_p[i + j * n.ne] * iv->now->v[j], by_v = g.e_v[i + j * n.ne] * iv->now->a[j];
            rate += by_p + by_v;
            terms += fabs(by_p) + fabs(by_v);
        }
        if (fabs(rate) <= STAYS * terms) continue;
        kd_text(
            iv->message, iv->size,
            "'%s' is no invariant of these equations: at t = %g it changes by %.3g per second; forces, joints to the "
            "ground or motions change it",
            kd_eom_name(iv->eom, KD_NAME_E, i, name, sizeof name), iv->now->t, rate);
        st = KD_ERR_IV_CONTRADICTORY;
    }
    kd_arena_release(&g.arena);
    return st;
}
