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
#include "formalism/steps.h"

static inline int end_of_block(const kd_pair *pair, int k)
{
    int end = k + 1;
    while (end < pair->nsteps && pair->step[end].block == pair->step[k].block) end++;
    return end;
}

// S and R of all steps
static void fill_steps(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                       const double *dx, int width, double *S, double *R)
{
    const kd_m3 A = kd_m3_load(&rel->RA);
    const kd_v3 rB = kd_v3_load(&rel->rB), omega = kd_v3_load(&rel->omega), dd = kd_v3_load(&rel->dd);
    kd_v6       before = {kd_v3_zero(), kd_v3_zero()}, own[3];
    for (int k = 0, end; k < pair->nsteps; k = end) {
        end = end_of_block(pair, k);
        kd_v6 behind = before;
        for (int l = k; l < end; l++) {
            const kd_v6 s = own[l - k] = kd_step_motion(&pair->step[l], tree, m, &A, rB);
            kd_rows_put(S, width, l, s);
            behind.w = kd_v3_axpy(behind.w, dx[pair->step[l].dof], s.w);
            behind.u = kd_v3_axpy(behind.u, dx[pair->step[l].dof], s.u);
        }
        const kd_v6 *upto = pair->step[k].carried ? &before : &behind;
        const kd_v3  w = kd_v3_sub(omega, upto->w), u = kd_v3_sub(dd, upto->u); // V_K
        for (int l = k; l < end; l++) {
            const kd_v6 s = own[l - k];
            const kd_v3 linear = kd_v3_add(kd_v3_cross(s.w, u), kd_v3_cross(s.u, w));
            kd_rows_put(R, width, l, (kd_v6){kd_v3_cross(s.w, w), kd_v3_add(linear, kd_v3_cross(omega, s.u))});
        }
        before = behind;
    }
}

static inline kd_lanes row_at(const double *rows, int width, int i, int k)
{
    return kd_lanes_at(rows + i * width + k);
}
static inline void put_row(double *rows, int width, int i, int k, kd_lanes a)
{
    *(kd_lanes *)(rows + i * width + k) = a;
}

// Changes of the load along all steps: K S + D R, D S; and what other steps see of them, KD_LANES steps at once
static inline void fill_changes(const kd_path_load *load, const int first, int n, int width, const kd_path_scratch *at)
{
    const double  *S = at->S, *R = at->R, *f = load->load;
    const kd_lanes zero = {0};
    for (int k = 0; k < n; k += KD_LANES) {
        kd_lanes d[6] = {zero, zero, zero, zero, zero, zero};
        for (int i = first; i < 6; i++) {
            kd_lanes by_rate = zero;
            for (int j = first; j < 6; j++) {
                const kd_lanes s = row_at(S, width, j, k);
                by_rate += load->D[j][i] * s;
                d[i] += load->K[j][i] * s + load->D[j][i] * row_at(R, width, j, k);
            }
            put_row(at->by_rate, width, i, k, by_rate);
        }
        for (int i = 0; i < 3; i++) { // N x w + dN, F x w + dF;  u x F + dN, dF
            const int      y = (i + 1) % 3, z = (i + 2) % 3;
            const kd_lanes wy = row_at(S, width, y, k), wz = row_at(S, width, z, k);
            const kd_lanes uy = row_at(S, width, 3 + y, k), uz = row_at(S, width, 3 + z, k);
            put_row(at->before, width, i, k, d[i] + f[y] * wz - f[z] * wy);
            put_row(at->before, width, 3 + i, k, d[3 + i] + f[3 + y] * wz - f[3 + z] * wy);
            put_row(at->other, width, i, k, d[i] + f[3 + z] * uy - f[3 + y] * uz);
            put_row(at->other, width, 3 + i, k, d[3 + i]);
        }
    }
}

// out_k = S_k a, rows `first` to 5, from step k on up to n and a little further; a: column l of rows
static inline void dot_column(const double *restrict S, int width, int first, const double *restrict a, int l, int k,
                              int n, double *restrict out)
{
    const kd_lanes zero = {0};
    const kd_lanes a0 = zero + a[l], a1 = zero + a[width + l], a2 = zero + a[2 * width + l];
    const kd_lanes a3 = zero + a[3 * width + l], a4 = zero + a[4 * width + l], a5 = zero + a[5 * width + l];
    for (; k < n; k += KD_LANES) {
        kd_lanes sum = row_at(S, width, 3, k) * a3 + row_at(S, width, 4, k) * a4 + row_at(S, width, 5, k) * a5;
        if (first == 0) sum += row_at(S, width, 0, k) * a0 + row_at(S, width, 1, k) * a1 + row_at(S, width, 2, k) * a2;
        *(kd_lanes *)(out + k) = sum;
    }
}

// Steps whose places follow each other are one run.
static inline void subtract(const kd_path_load *load, const double *restrict from, const int *place,
                            double *restrict values)
{
    for (int r = 0; r < load->nruns; r++) {
        const int     n = load->run[r + 1] - load->run[r];
        const double *f = from + load->run[r];
        double       *v = values + place[r];
        int           k = 0;
        for (; k + KD_LANES <= n; k += KD_LANES) *(kd_lanes *)(v + k) -= kd_lanes_at(f + k);
        for (; k < n; k++) v[k] -= f[k];
    }
}

// Column l of the derivative by position; its block is first .. end - 1
static inline void position_column(const kd_pair *pair, int width, const kd_path_scratch *at, int first, int l, int end)
{
    const int n = pair->nsteps;
    if (!pair->step[l].carried) {
        dot_column(at->S, width, 0, at->other, l, 0, end, at->column);
        dot_column(at->S, width, 0, at->before, l, end, n, at->column);
        return;
    }
    dot_column(at->S, width, 0, at->other, l, 0, l + 1, at->column); // those of a carried block stand before each other
    const double own = at->column[l];
    dot_column(at->S, width, 0, at->before, l, first, n, at->column);
    at->column[l] = own;
}

void KD_KERNEL(kd_path_product)(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                                const double *dx, const kd_path_load *load, const kd_path_scratch *at, double *p,
                                double *v)
{
    const int n = pair->nsteps, width = kd_path_width(n);
    fill_steps(pair, tree, m, rel, dx, width, at->S, at->R);
    if (load->first == 0) // apart, so that the loops have fixed lengths
        fill_changes(load, 0, n, width, at);
    else
        fill_changes(load, 3, n, width, at);
    for (int k = 0, end; k < n; k = end) {
        end = end_of_block(pair, k);
        for (int l = k; l < end; l++) {
            position_column(pair, width, at, k, l, end);
            subtract(load, at->column, load->place_p + l * load->nruns, p);
            dot_column(at->S, width, load->first, at->by_rate, l, 0, n, at->column);
            subtract(load, at->column, load->place_v + l * load->nruns, v);
        }
    }
}
