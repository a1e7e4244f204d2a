// stability.c: static stability: the sign of the stiffness in the directions that constraints allow.
//
// With N a base of the null space of GZ and HZ, and r, w, s following quasi-statically from 0 = b, d, c and from what
// closed elements keep,
//     K = N' (residual_p - residual_y inv(k_y) k_p) N,   y = (r, w, s), k = (b, d, c),
// is statically stable if its symmetric part is positive definite, all in natural units of motion. Divergence only: damping that feeds energy in shows
// in the eigenvalues.
#include <math.h>
#include <string.h>

#include "analysis/balance.h"
#include "math/dense.h"

#define ZERO 1e-8 // singular values below this share of the largest are 0

typedef struct workspace {
    double  *K, *inner, *right, *Y, *C, *sigma, *Vt, *U, *work, *N, *KN, *reduced;
    int     *pivot;
    kd_arena arena;
} workspace;

static const double *block_of(const kd_balance *b, int row, int var)
{
    return b->block[row][var];
}

// indices of b, d, c among the rows, and of p, r, w, s, lambda, mu among the variables, in kd_balance
static const int INNER_ROW[3] = {1, 2, 3}, INNER_VAR[3] = {2, 3, 4};

static int inner_size(const kd_balance *b, int k)
{
    const int size[3] = {b->n.nr, b->n.nw, b->n.ns};
    return size[k];
}

static void place_block(double *to, int ld, int row, int column, const double *from, int rows, int columns)
{
    for (int j = 0; from && j < columns; j++)
        memcpy(to + (size_t)(column + j) * (size_t)ld + row, from + (size_t)j * (size_t)rows,
               (size_t)rows * sizeof(double));
}

// Rates that say nothing here give way to what their elements keep: n'W (dr - b_v dp) = 0
static void follow_kept(const kd_balance *b, workspace *s, int ny)
{
    const kd_kept *k = &b->kept;
    const double  *b_v = block_of(b, 1, 1);
    for (int m = 0; m < k->count; m++) {
        const double *n = k->N + (size_t)m * (size_t)k->nr;
        const int     row = k->row[m];
        // k_y: n'W by r
        for (int j = 0; j < ny; j++) s->inner[(size_t)j * (size_t)ny + (size_t)row] = j < k->nr ? n[j] * k->W[j] : 0;
        // k_p: -n'W b_v
        for (int j = 0; j < b->n.nv; j++) {
            double *to = s->right + (size_t)j * (size_t)ny + row;
            *to = 0;
            for (int i = 0; i < k->nr && b_v; i++) *to -= n[i] * k->W[i] * b_v[(size_t)j * (size_t)k->nr + (size_t)i];
        }
    }
}

// K -= residual_y inv(k_y) k_p. False: r, w, s are not determined
static bool follow_inner(const kd_balance *b, workspace *s, int ny)
{
    const int nv = b->n.nv;
    int       row = 0;
    // k_y = [b; d; c] by (r, w, s), k_p by p, residual_y
    for (int i = 0; i < 3; row += inner_size(b, i), i++) {
        int column = 0;
        for (int k = 0; k < 3; column += inner_size(b, k), k++)
            place_block(s->inner, ny, row, column, block_of(b, INNER_ROW[i], INNER_VAR[k]), inner_size(b, i),
                        inner_size(b, k));
        place_block(s->right, ny, row, 0, block_of(b, INNER_ROW[i], 0), inner_size(b, i), nv);
        place_block(s->Y, nv, 0, row, block_of(b, 0, INNER_VAR[i]), nv, inner_size(b, i));
    }
    if (ny == 0) return true;
    follow_kept(b, s, ny);
    if (kd_lu_factor(ny, s->inner, s->pivot) != 0) return false;
    // K -= residual_y (k_y \ k_p)
    kd_lu_solve(ny, s->inner, s->pivot, s->right, nv);
    kd_gemm(nv, nv, ny, -1, s->Y, s->right, 1, s->K);
    return true;
}

static void cut_workspace(const kd_balance *b, workspace *s, int ny, int nc)
{
    const int nv = b->n.nv, most = nc > nv ? nc : nv;
    s->K = kd_cut_matrix(&s->arena, nv, nv);
    s->KN = kd_cut_matrix(&s->arena, nv, nv);
    s->N = kd_cut_matrix(&s->arena, nv, nv);
    s->reduced = kd_cut_matrix(&s->arena, nv, nv);
    s->Vt = kd_cut_matrix(&s->arena, nv, nv);
    s->U = kd_cut_matrix(&s->arena, most, most);
    s->C = kd_cut_matrix(&s->arena, most, nv);
    s->sigma = kd_cut_double(&s->arena, most);
    s->work = kd_cut_double(&s->arena, kd_svd_work(most, nv) + kd_svd_work(nv, nv));
    s->inner = kd_cut_matrix(&s->arena, ny, ny);
    s->right = kd_cut_matrix(&s->arena, ny, nv);
    s->Y = kd_cut_matrix(&s->arena, nv, ny);
    s->pivot = kd_cut_int(&s->arena, ny);
}

// Rows of length 1: what a constraint is measured in does not matter
static void scale_rows(double *C, int rows, int columns)
{
    for (int k = 0; k < rows; k++) {
        double sum = 0;
        for (int i = 0; i < columns; i++) sum = hypot(sum, C[(size_t)i * (size_t)rows + (size_t)k]);
        for (int i = 0; i < columns && sum > 0; i++) C[(size_t)i * (size_t)rows + (size_t)k] /= sum;
    }
}

// N (nv x free): the null space of the constraints, in natural units; -1: no convergence
static int null_space(kd_balance *b, workspace *s, int nc)
{
    const int nv = b->n.nv, least = nc < nv ? nc : nv;
    int       rank = 0;
    for (int i = 0; i < nv; i++) s->Vt[(size_t)i * (size_t)nv + (size_t)i] = 1;
    // C = [GZ; HZ] = U Sigma V': V of the singular values that vanish spans the null space
    if (nc > 0) {
        for (int i = 0; i < nv; i++) { // residual by lambda and mu, transposed
            for (int k = 0; k < b->n.nlambda; k++)
                s->C[(size_t)i * (size_t)nc + (size_t)k] =
                    b->unit[i] * b->block[0][5][(size_t)k * (size_t)nv + (size_t)i];
            for (int k = 0; k < b->n.nmu; k++)
                s->C[(size_t)i * (size_t)nc + (size_t)(b->n.nlambda + k)] =
                    b->unit[i] * b->block[0][6][(size_t)k * (size_t)nv + (size_t)i];
        }
        scale_rows(s->C, nc, nv);
        if (kd_svd(nc, nv, s->C, s->U, s->sigma, s->Vt, s->work) != 0) return -1;
        while (rank < least && s->sigma[rank] > ZERO * s->sigma[0]) rank++;
    }
    for (int j = rank; j < nv; j++)
        for (int i = 0; i < nv; i++)
            s->N[(size_t)(j - rank) * (size_t)nv + (size_t)i] = s->Vt[(size_t)i * (size_t)nv + (size_t)j];
    return nv - rank;
}

// The symmetric part of the stiffness; what is 0 beside it
static double reduce_stiffness(const kd_balance *b, workspace *s, int n)
{
    const int    nv = b->n.nv;
    const size_t size = (size_t)n;
    // N' K N
    kd_gemm(nv, n, nv, 1, s->K, s->N, 0, s->KN);
    kd_gemm_tn(n, n, nv, 1, s->N, s->KN, 0, s->reduced);
    double largest = 0;
    // (K + K') / 2
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) {
            double *one = s->reduced + (size_t)j * size + (size_t)i, *other = s->reduced + (size_t)i * size + (size_t)j;
            *one = *other = 0.5 * (*one + *other);
            largest = fmax(largest, fabs(*one));
        }
    // forces that are small beside the others count as none
    return fmax(1e-9 * largest, 1e-7 * b->work_scale);
}

// Its definiteness, and the number of its zero directions
static kd_stability judge_stiffness(const kd_balance *b, workspace *s, int n, int *free_directions)
{
    const size_t size = (size_t)n;
    const double zero = reduce_stiffness(b, s, n);
    // zero directions by singular values, definiteness by Cholesky's factors, moved by what counts as 0
    memcpy(s->KN, s->reduced, size * size * sizeof(double));
    if (kd_svd(n, n, s->KN, NULL, s->sigma, NULL, s->work) != 0) return KD_STABILITY_UNKNOWN;
    *free_directions = 0;
    for (int i = 0; i < n; i++)
        if (s->sigma[i] <= zero) ++*free_directions;
    for (int i = 0; i < n; i++) s->reduced[(size_t)i * size + (size_t)i] += 2 * zero;
    if (n > 0 && kd_cholesky_factor(n, s->reduced) != 0) return KD_UNSTABLE;
    return *free_directions > 0 ? KD_INDIFFERENT : KD_STABLE;
}

// The stiffness and the directions that constraints allow; how many, -1: not known
static int open_directions(kd_balance *b, workspace *s)
{
    const int nc = b->n.nlambda + b->n.nmu, ny = b->n.nr + b->n.nw + b->n.ns, nv = b->n.nv;
    cut_workspace(b, s, ny, nc);
    if (s->arena.failed || kd_balance_differentiate(b) != KD_EVAL_OK) return -1;
    if (b->block[0][0]) memcpy(s->K, b->block[0][0], (size_t)nv * (size_t)nv * sizeof(double));
    if (!follow_inner(b, s, ny)) return -1;
    // work per unit of motion
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < nv; i++) s->K[(size_t)j * (size_t)nv + (size_t)i] *= b->unit[i] * b->unit[j];
    return null_space(b, s, nc);
}

kd_stability kd_balance_stability(kd_balance *b, int *free_directions)
{
    kd_stability answer = KD_STABILITY_UNKNOWN;
    workspace    s = {0};
    *free_directions = 0;
    const int n = open_directions(b, &s);
    if (n >= 0) answer = judge_stiffness(b, &s, n, free_directions);
    kd_arena_release(&s.arena);
    return answer;
}

// ---- free motion ----------------------------------------------------------------------------------------------------

// D (nv x count), in KN: the directions without stiffness; how many
static int free_directions_of(const kd_balance *b, workspace *s, int n)
{
    const int    nv = b->n.nv;
    const double zero = reduce_stiffness(b, s, n);
    if (n == 0 || kd_svd(n, n, s->reduced, s->U, s->sigma, s->Vt, s->work) != 0) return 0;
    int count = 0;
    while (count < n && s->sigma[n - 1 - count] <= zero) count++;
    for (int j = 0; j < count; j++) { // rows of Vt, last ones first
        double *to = s->KN + (size_t)j * (size_t)nv;
        memset(to, 0, (size_t)nv * sizeof(double));
        for (int i = 0; i < n; i++)
            kd_axpy(nv, s->Vt[(size_t)i * (size_t)n + (size_t)(n - 1 - j)], s->N + (size_t)i * (size_t)nv, to);
        for (int i = 0; i < nv; i++) to[i] *= b->unit[i];
    }
    return count;
}

bool kd_balance_free_motion(kd_balance *b, const double *v, double *kept)
{
    const int nv = b->n.nv;
    workspace s = {0};
    const int n = open_directions(b, &s), count = n > 0 ? free_directions_of(b, &s, n) : 0;
    double   *D = s.KN, *MD = s.K, *DMD = s.reduced, *z = s.sigma;
    memset(kept, 0, (size_t)nv * sizeof(double));
    if (count > 0) { // min |v - D z|_M
        kd_gemm(nv, count, nv, 1, b->M, D, 0, MD);
        kd_gemm_tn(count, count, nv, 1, D, MD, 0, DMD);
        kd_gemm_tn(count, 1, nv, 1, MD, v, 0, z);
        if (kd_cholesky_factor(count, DMD) == 0) {
            kd_cholesky_solve(count, DMD, z, 1);
            for (int j = 0; j < count; j++) kd_axpy(nv, z[j], D + (size_t)j * (size_t)nv, kept);
        }
    }
    kd_arena_release(&s.arena);
    const double most = kd_norm_max(nv, v);
    for (int i = 0; i < nv; i++) // rounding of the projection
        if (fabs(kept[i]) < 1e-12 * most) kept[i] = 0;
    return kd_norm_max(nv, kept) > 0;
}
