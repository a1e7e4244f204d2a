// path_product.c: the derivatives of the generalised forces of a load between two frames, along the path between them.
//
// The load (N, F) on B at its origin, axes of A (pair.h), changes with the pose and with the relative motion:
//
//     d(N, F) = K (turn, shift) + D d(omega, d'),   step l of the path: (turn, shift) = S_l,  d(omega, d') = R_l
//
// R_l = S_l x V_K + (0, omega x u_l), V_K the motion of the steps behind l. With the changes (dN, dF) = K S_l + D R_l
// the force Q_k = S_k (N, F) changes along l by
//
//     l before k:  w_k (N x w_l + dN) + u_k (F x w_l + dF),     otherwise:  w_k (u_l x F + dN) + u_k dF
//
// and by the rate of l by S_k D S_l. docs/methods/formalism.md
#include "formalism/path_product.h"

#include "formalism/rows.h"

// Motion of one step, change of (omega, d') by it; components are read one by one.
typedef struct step_columns {
    kd_six S, R;
} step_columns;

_Static_assert(sizeof(step_columns) <= KD_STEP_SIZE, "kd_path_scratch has the room");

static inline int end_of_block(const kd_pair *pair, int k)
{
    int end = k + 1;
    while (end < pair->nsteps && pair->step[end].block == pair->step[k].block) end++;
    return end;
}

// S_l, axes of A, about the origin of B
static inline kd_v6 step_motion(const kd_step *step, const kd_tree *tree, const kd_motion *m, const kd_m3 *A, kd_v3 rB)
{
    const kd_axis *axis = &m->axis[step->dof];
    const kd_v3    w = kd_v3_load(&axis->w), arm = kd_v3_sub(rB, kd_v3_load(&m->link[tree->dof_link[step->dof]].P));
    const kd_v3    u = kd_v3_add(kd_v3_load(&axis->u), kd_v3_cross(w, arm));
    return (kd_v6){kd_v3_scale(step->sign, kd_m3_tvec(A, w)), kd_v3_scale(step->sign, kd_m3_tvec(A, u))};
}

// S and R of all steps, S also as rows
static void fill_steps(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                       const double *dx, int width, double *rows, step_columns *step)
{
    const kd_m3 A = kd_m3_load(&rel->RA);
    const kd_v3 rB = kd_v3_load(&rel->rB), omega = kd_v3_load(&rel->omega), dd = kd_v3_load(&rel->dd);
    kd_v6       before = {kd_v3_zero(), kd_v3_zero()};
    for (int k = 0, end; k < pair->nsteps; k = end) {
        end = end_of_block(pair, k);
        kd_v6 behind = before;
        for (int l = k; l < end; l++) {
            const kd_v6 s = step_motion(&pair->step[l], tree, m, &A, rB);
            kd_six_put(&step[l].S, s);
            kd_rows_put(rows, width, l, s);
            behind.w = kd_v3_axpy(behind.w, dx[pair->step[l].dof], s.w);
            behind.u = kd_v3_axpy(behind.u, dx[pair->step[l].dof], s.u);
        }
        const kd_v6 *upto = pair->step[k].carried ? &before : &behind;
        const kd_v3  w = kd_v3_sub(omega, upto->w), u = kd_v3_sub(dd, upto->u); // V_K
        for (int l = k; l < end; l++) {
            const kd_v3 sw = kd_v3_load(&step[l].S.w.v), su = kd_v3_load(&step[l].S.u.v);
            const kd_v3 linear = kd_v3_add(kd_v3_cross(sw, u), kd_v3_cross(su, w));
            kd_six_put(&step[l].R, (kd_v6){kd_v3_cross(sw, w), kd_v3_add(linear, kd_v3_cross(omega, su))});
        }
        before = behind;
    }
}

typedef struct matrix6 { // [NN NF; FN FF]
    kd_m3 NN, NF, FN, FF;
} matrix6;

static inline matrix6 load6(const kd_mat6 *A)
{
    return (matrix6){kd_m3_load(&A->NN), kd_m3_load(&A->NF), kd_m3_load(&A->FN), kd_m3_load(&A->FF)};
}

// a + A b
static inline kd_v6 mat6_axpy(kd_v6 a, const matrix6 *A, const kd_six *b)
{
    return (kd_v6){kd_m3_axpy(kd_m3_axpy(a.w, &A->NN, &b->w.v), &A->NF, &b->u.v),
                   kd_m3_axpy(kd_m3_axpy(a.u, &A->FN, &b->w.v), &A->FF, &b->u.v)};
}

static inline void subtract(int n, const double *out, const int *place, double *values)
{
    for (int k = 0; k < n; k++) values[place[k]] -= out[k];
}

// Column l of the derivative by position; the block of l ends before `end` and starts with `first`
static inline void position_column(const kd_pair *pair, int width, const double *rows, const kd_wrench *load, kd_v6 d,
                                   const kd_six *S, int first, int l, int end, double *out)
{
    const kd_v3 w = kd_v3_load(&S->w.v), u = kd_v3_load(&S->u.v);
    const kd_v3 N = kd_v3_load_exactly(&load->N), F = kd_v3_load_exactly(&load->F);
    kd_six      behind, other;
    kd_six_put(&behind, (kd_v6){kd_v3_add(kd_v3_cross(N, w), d.w), kd_v3_add(kd_v3_cross(F, w), d.u)});
    kd_six_put(&other, (kd_v6){kd_v3_add(kd_v3_cross(u, F), d.w), d.u});
    if (!pair->step[l].carried) {
        kd_rows_dot(width, rows, &other, 0, end, out);
        kd_rows_dot(width, rows, &behind, end, pair->nsteps, out + end);
        return;
    }
    kd_rows_dot(width, rows, &other, 0, l + 1, out); // those of a carried block stand before each other
    const double own = out[l];
    kd_rows_dot(width, rows, &behind, first, pair->nsteps, out + first);
    out[l] = own;
}

void KD_KERNEL(kd_path_product)(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                                const double *dx, const kd_path_load *load, kd_path_scratch *scratch, double *p,
                                double *v)
{
    const int     n = pair->nsteps, width = scratch->width;
    const matrix6 K = load6(&load->K), D = load6(&load->D);
    const kd_v6   zero = {kd_v3_zero(), kd_v3_zero()};
    step_columns *step = scratch->steps;
    fill_steps(pair, tree, m, rel, dx, width, scratch->rows, step);
    for (int k = 0, end; k < n; k = end) {
        end = end_of_block(pair, k);
        for (int l = k; l < end; l++) {
            kd_six by_rate;
            position_column(pair, width, scratch->rows, &load->load,
                            mat6_axpy(mat6_axpy(zero, &K, &step[l].S), &D, &step[l].R), &step[l].S, k, l, end,
                            scratch->column);
            subtract(n, scratch->column, load->place_p + l * n, p);
            kd_six_put(&by_rate, mat6_axpy(zero, &D, &step[l].S));
            kd_rows_dot(width, scratch->rows, &by_rate, 0, n, scratch->column);
            subtract(n, scratch->column, load->place_v + l * n, v);
        }
    }
}
