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
// with S_l' (N, F) more for k = l and S_l' v_l in R_l where the joint is curved,
// and by the rate of l by S_k D S_l. docs/methods/formalism.md
#include "tree/path_product.h"

#include "tree/rows.h"
#include "tree/steps.h"

static inline int end_of_block(const kd_pair *pair, int k)
{
    int end = k + 1;
    while (end < pair->nsteps && pair->step[end].block == pair->step[k].block) end++;
    return end;
}

// S and R of all steps
static inline void fill_steps(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                              const double *dx, int width, double *S, double *R)
{
    const kd_m3 RA = kd_m3_load(&rel->RA), to_A = kd_m3_transposed(&RA);
    const kd_v3 rB = kd_v3_load(&rel->rB), omega = kd_v3_load(&rel->omega), dd = kd_v3_load(&rel->dd);
    kd_v6       before = {kd_v3_zero(), kd_v3_zero()}, own[3];
    for (int k = 0, end; k < pair->nsteps; k = end) {
        end = end_of_block(pair, k);
        // S_l, and the motion up to the end of the block
        kd_v6 behind = before;
        for (int l = k; l < end; l++) {
            const kd_v6 s = own[l - k] = kd_step_motion(&pair->step[l], tree, m, &to_A, rB);
            kd_rows_put(S, width, l, s);
            behind.w = kd_v3_axpy(behind.w, dx[pair->step[l].dof], s.w);
            behind.u = kd_v3_axpy(behind.u, dx[pair->step[l].dof], s.u);
        }
        // R_l = S_l x V_K + (0, omega x u_l)
        const kd_v6 *upto = pair->step[k].carried ? &before : &behind;
        const kd_v3  w = kd_v3_sub(omega, upto->w), u = kd_v3_sub(dd, upto->u); // V_K
        for (int l = k; l < end; l++) {
            const kd_v6 s = own[l - k];
            const kd_v3 linear = kd_v3_add(kd_v3_cross(s.w, u), kd_v3_cross(s.u, w));
            kd_v6       rate = {kd_v3_cross(s.w, w), kd_v3_add(linear, kd_v3_cross(omega, s.u))};
            kd_axis     bend[2];
            if ((pair->step[l].bend || pair->step[l].marker) && kd_pair_bend(pair, tree, m, rel, l, dx, NULL, bend)) {
                rate.w = kd_v3_add(rate.w, kd_v3_load(&bend->w));
                rate.u = kd_v3_add(rate.u, kd_v3_load(&bend->u));
            }
            kd_rows_put(R, width, l, rate);
        }
        before = behind;
    }
}

// Rows of the scratch memory, six each: motion of B by each step; change of (omega, d') by it; change of the load along
// step l as steps behind it see it, and all others; change of the load by the rate of step l. Then a block of entries.
enum { ROWS_S = 0, ROWS_R = 6, ROWS_BEHIND = 12, ROWS_OTHER = 18, ROWS_RATE = 24, BLOCK = 30 };

static inline kd_lanes row_at(const double *rows, int width, int i, int k)
{
    return kd_lanes_at(rows + i * width + k);
}
static inline void put_row(double *rows, int width, int i, int k, kd_lanes a)
{
    *(kd_lanes *)(rows + i * width + k) = a;
}

// Changes of the load along all steps: K S + D R, D S; and what other steps see of them, KD_LANES steps at once
__attribute__((always_inline)) static inline void fill_changes(const kd_path_load *load, const int first, int n,
                                                               const int width, double *rows)
{
    const double  *f = load->load;
    const kd_lanes zero = {0};
    for (int k = 0; k < n; k += KD_LANES) {
        kd_lanes d[6] = {zero, zero, zero, zero, zero, zero};
        // by turns and shifts: K S + D R, and D S for the rates
        for (int i = first; i < 6; i++) {
            kd_lanes by_rate = zero;
            for (int j = first; j < 6; j++) {
                const kd_lanes s = row_at(rows, width, ROWS_S + j, k);
                by_rate += load->D[j][i] * s;
                d[i] += load->K[j][i] * s + load->D[j][i] * row_at(rows, width, ROWS_R + j, k);
            }
            put_row(rows, width, ROWS_RATE + i, k, by_rate);
        }
        for (int i = 0; i < 3; i++) { // N x w + dN, F x w + dF;  u x F + dN, dF
            const int      y = (i + 1) % 3, z = (i + 2) % 3;
            const kd_lanes wy = row_at(rows, width, ROWS_S + y, k), wz = row_at(rows, width, ROWS_S + z, k);
            const kd_lanes uy = row_at(rows, width, ROWS_S + 3 + y, k), uz = row_at(rows, width, ROWS_S + 3 + z, k);
            put_row(rows, width, ROWS_BEHIND + i, k, d[i] + f[y] * wz - f[z] * wy);
            put_row(rows, width, ROWS_BEHIND + 3 + i, k, d[3 + i] + f[3 + y] * wz - f[3 + z] * wy);
            put_row(rows, width, ROWS_OTHER + i, k, d[i] + f[3 + z] * uy - f[3 + y] * uz);
            put_row(rows, width, ROWS_OTHER + 3 + i, k, d[3 + i]);
        }
    }
}

// out_k = S_k a from step k on up to n and a little further; a: column l of the six rows from `of` on, of which those
// before `first` are zero
__attribute__((always_inline)) static inline void dot_column(const double *rows, const int width, const int first,
                                                             const int of, int l, int k, int n, double *out)
{
    const kd_lanes zero = {0};
    const double  *a = rows + of * width + l;
    const kd_lanes a0 = a[0] - zero, a1 = a[width] - zero, a2 = a[2 * width] - zero; // in all lanes
    const kd_lanes a3 = a[3 * width] - zero, a4 = a[4 * width] - zero, a5 = a[5 * width] - zero;
    for (; k < n; k += KD_LANES) {
        kd_lanes sum = row_at(rows, width, 3, k) * a3 + row_at(rows, width, 4, k) * a4 + row_at(rows, width, 5, k) * a5;
        if (first == 0)
            sum += row_at(rows, width, 0, k) * a0 + row_at(rows, width, 1, k) * a1 + row_at(rows, width, 2, k) * a2;
        *(kd_lanes *)(out + k) = sum;
    }
}

static inline void subtract(int n, const double *from, const int *place, double *values)
{
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        values[place[k]] -= from[k];
        values[place[k + 1]] -= from[k + 1];
        values[place[k + 2]] -= from[k + 2];
        values[place[k + 3]] -= from[k + 3];
    }
    for (; k < n; k++) values[place[k]] -= from[k];
}

// Column l of the derivative by position; its block is first .. end - 1. What is written behind its end, the next
// column overwrites.
__attribute__((always_inline)) static inline void
position_column(int n, bool carried, const int width, const double *rows, int first, int l, int end, double *out)
{
    if (!carried) {
        dot_column(rows, width, 0, ROWS_OTHER, l, 0, end, out);
        dot_column(rows, width, 0, ROWS_BEHIND, l, end, n, out);
        return;
    }
    dot_column(rows, width, 0, ROWS_OTHER, l, 0, l + 1, out); // those of a carried block stand before each other
    const double own = out[l];
    dot_column(rows, width, 0, ROWS_BEHIND, l, first, n, out);
    out[l] = own;
}

// Inlined always: with constants in place of width and first it is half as long.
__attribute__((always_inline)) static inline void path_product(const kd_pair *pair, const kd_path_load *load,
                                                               const int width, const int first, double *rows,
                                                               double *p, double *v)
{
    const int     n = pair->nsteps;
    double *const block = rows + BLOCK * width;
    // by position: Q_k along l
    fill_changes(load, first, n, width, rows);
    for (int k = 0, end; k < n; k = end) {
        const bool carried = pair->step[k].carried;
        end = end_of_block(pair, k);
        for (int l = k; l < end; l++) position_column(n, carried, width, rows, k, l, end, block + l * n);
    }
    subtract(n * n, block, load->place_p, p);
    // by velocity: S_k D S_l
    for (int l = 0; l < n; l++) dot_column(rows, width, first, ROWS_RATE, l, 0, n, block + l * n);
    subtract(n * n, block, load->place_v, v);
}

// curved joints: p_ll -= S_l' (N, F); letters that bend: p_kl -= L bend_kl (N, F)
static void add_bends(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                      const kd_path_load *load, double *p)
{
    kd_axis   bend;
    const int n = pair->nsteps;
    for (int l = 0; l < n; l++) {
        if (!pair->step[l].bend && !pair->step[l].marker) continue;
        for (int k = 0; k < n; k++)
            if (kd_pair_bend_by(pair, tree, m, rel, k, l, &bend))
                p[load->place_p[k + l * n]] -=
                    kd_vec_dot(bend.w, kd_vec_of(load->load)) + kd_vec_dot(bend.u, kd_vec_of(load->load + 3));
    }
}

// Short paths apart, so that the compiler knows the distance of the rows.
void KD_KERNEL(kd_path_product)(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                                const double *dx, const kd_path_load *load, double *rows, double *p, double *v)
{
    const int width = kd_path_width(pair->nsteps), usual = KD_PATH_SHORT + 4;
    fill_steps(pair, tree, m, rel, dx, width, rows + ROWS_S * width, rows + ROWS_R * width);
    add_bends(pair, tree, m, rel, load, p);
    if (width != usual)
        path_product(pair, load, width, load->first, rows, p, v);
    else if (load->first == 0)
        path_product(pair, load, usual, 0, rows, p, v);
    else
        path_product(pair, load, usual, 3, rows, p, v);
}

// ---- stiffness and damping alone ------------------------------------------------------------------------------------
static inline void fill_motions(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                                int width, double *S)
{
    const kd_m3 RA = kd_m3_load(&rel->RA), to_A = kd_m3_transposed(&RA);
    const kd_v3 rB = kd_v3_load(&rel->rB);
    for (int l = 0; l < pair->nsteps; l++)
        kd_rows_put(S, width, l,
                    pair->straight ? kd_step_in_world(&pair->step[l], tree, m, rB)
                                   : kd_step_motion(&pair->step[l], tree, m, &to_A, rB));
}

__attribute__((always_inline)) static inline void path_congruence(const kd_path_load *load, int n, const int width,
                                                                  const int first, double *rows, double *block)
{
    // K S
    for (int k = 0; k < n; k += KD_LANES)
        for (int i = first; i < 6; i++) {
            kd_lanes sum = {0};
            for (int j = first; j < 6; j++) sum += load->K[j][i] * row_at(rows, width, ROWS_S + j, k);
            put_row(rows, width, ROWS_RATE + i, k, sum);
        }
    // S' K S
    for (int l = 0; l < n; l++) dot_column(rows, width, first, ROWS_RATE, l, 0, n, block + l * n);
}

void KD_KERNEL(kd_path_congruence)(const kd_pair *pair, const kd_tree *tree, const kd_motion *m, const kd_relative *rel,
                                   const kd_path_load *load, double *rows, double *block)
{
    const int n = pair->nsteps, width = kd_path_width(n), usual = KD_PATH_SHORT + 4;
    fill_motions(pair, tree, m, rel, width, rows + ROWS_S * width);
    if (width != usual)
        path_congruence(load, n, width, load->first, rows, block);
    else if (load->first == 0)
        path_congruence(load, n, usual, 0, rows, block);
    else
        path_congruence(load, n, usual, 3, rows, block);
}

// whole vectors, then what is left: at most three numbers
void KD_KERNEL(kd_path_subtract)(int nruns, const kd_path_run *run, const double *block, double *values)
{
    for (const kd_path_run *end = run + nruns; run < end; run++) {
        const double *restrict from = block + run->from;
        double *restrict to = values + run->to;
        const int n = run->n;
        int       k = 0;
        for (; k + KD_LANES <= n; k += KD_LANES) *(kd_lanes *)(to + k) -= kd_lanes_at(from + k);
        if (k + 2 <= n) {
            *(kd_two *)(to + k) -= *(const kd_two *)(from + k);
            k += 2;
        }
        if (k < n) to[k] -= from[k];
    }
}

void KD_KERNEL(kd_path_add)(int n, const double *const from[4], double *values)
{
    const double *restrict a = from[0], *restrict b = from[1], *restrict c = from[2], *restrict d = from[3];
    double *restrict to = values;
    int k = 0;
    for (; k + KD_LANES <= n; k += KD_LANES)
        *(kd_lanes *)(to + k) += (kd_lanes_at(a + k) + kd_lanes_at(b + k)) + (kd_lanes_at(c + k) + kd_lanes_at(d + k));
    for (; k < n; k++) to[k] += (a[k] + b[k]) + (c[k] + d[k]);
}
