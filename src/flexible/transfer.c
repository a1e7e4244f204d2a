// transfer.c: transfer functions between interfaces of a reduced structure, and the error that is to be expected of them.
//
// With M_r = 1 and natural modes q_j of frequency omega_j, rigid ones among them, and the loss factor eta in K (1 + i eta), loads at the
// interfaces move the interfaces by
//     H(W) = sum_j z_j z_j' / (omega_j^2 (1 + i eta) - W^2),  z_j = V_b q_j
// A reduced response V y leaves forces (K - W^2 M) V y on inner nodes. Whatever W is, they are combinations of the inertia forces M V
// there: K x of a normal mode, of a shape by loads, of an interface shape is inertia, or nothing. So inner nodes answer with
// D = inv(K_ii) (M V)_i, then with inv(K_ii) M_ii D, and so on: one enriched structure for all W, whose H is nearer to the true one by
// several orders. The difference is the error that is told. No mode of the full structure is needed.
#include <complex.h>
#include <math.h>
#include <string.h>

#include "flexible/reduction_parts.h"
#include "math/dense.h"

enum { TERMS = 2 }; // of the series in W^2

// Natural modes of a structure as loads at the interfaces see them
typedef struct seen_modes {
    int     n;
    double *square; // (n) omega^2
    double *z;      // (nb x n)
} seen_modes;

// Turns count as shifts at this distance
static double size_of(const kd_reduction *r)
{
    double largest = 0;
    for (int f = 0; f < r->ninterfaces; f++) {
        const kd_vec3 d = kd_vec_sub(r->interface[f].point, r->centre);
        largest = fmax(largest, sqrt(kd_vec_dot(d, d)));
    }
    return largest > 0 ? largest : 1;
}

// K, M of order n are destroyed; shapes X (nz x n)
static kd_status see_modes(const kd_reduction *r, int n, double *K, double *M, const double *X, seen_modes *out,
                           kd_arena *arena)
{
    const double distance = size_of(r);
    double      *rows = kd_cut_matrix(arena, r->nb, n);
    *out = (seen_modes){n, kd_cut_double(arena, n), kd_cut_matrix(arena, r->nb, n)};
    if (arena->failed) return KD_ERR_MEMORY;
    kd_status status = kd_symmetric_pencil(n, K, M, out->square);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < r->nb; i++)
            rows[(size_t)i + (size_t)j * (size_t)r->nb] =
                X[(size_t)i + (size_t)j * (size_t)r->nz] * (i % 6 < 3 ? 1 : distance);
    if (status == KD_OK) kd_gemm(r->nb, n, n, 1, rows, K, 0, out->z);
    // free: the first six are rigid
    for (int j = 0; status == KD_OK && j < 6 && j < n; j++) out->square[j] = 0;
    return status;
}

// H (nb x nb)
static void respond(const seen_modes *m, int nb, double loss, double W, double complex *H)
{
    memset(H, 0, (size_t)nb * (size_t)nb * sizeof *H);
    for (int j = 0; j < m->n; j++) {
        const double        *z = m->z + (size_t)j * (size_t)nb;
        const double complex by = 1 / (m->square[j] * (1 + I * loss) - W * W);
        for (int b = 0; b < nb; b++)
            for (int a = 0; a < nb; a++) H[(size_t)a + (size_t)b * (size_t)nb] += z[a] * z[b] * by;
    }
}

// max |A - B| / max |B|
static double difference(int n, const double complex *A, const double complex *B)
{
    double most = 0, size = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, cabs(A[i] - B[i]));
        size = fmax(size, cabs(B[i]));
    }
    return size > 0 ? most / size : 0;
}

// ---- what the shapes lack -------------------------------------------------------------------------------------------

// Normal modes with held interfaces answer inertia forces by themselves
static bool answers_itself(const kd_reduction *r, int shape)
{
    return shape >= r->nb && shape < r->nb + r->nmodes && r->kind == KD_REDUCE_FIXED;
}

// [V D D ...] (nz x *count), orthonormal in M; MX is work of the same size
static kd_status enrich(const kd_reduction *r, double *X, double *MX, int *count)
{
    const size_t nz = (size_t)r->nz;
    kd_status    status = KD_OK;
    int          n = r->n;
    memcpy(X, r->V, nz * (size_t)r->n * sizeof *X);
    for (int j = 0; j < r->n && status == KD_OK; j++) {
        if (answers_itself(r, j)) continue;
        const double *from = r->V + nz * (size_t)j;
        for (int k = 0; k < TERMS && status == KD_OK; k++, n++) {
            double *D = X + nz * (size_t)n;
            kd_sparse_apply(&r->M, 1, from, MX);
            memset(D, 0, (size_t)r->nb * sizeof *D);
            memcpy(D + r->nb, MX + r->nb, (size_t)r->ni * sizeof *D);
            status = kd_factor_solve(r->inner, D + r->nb, 1);
            from = D;
        }
    }
    if (status == KD_OK) *count = kd_reduction_orthonormalise(r, n, X, MX);
    return status;
}

static kd_status enriched_modes(const kd_reduction *r, seen_modes *out, kd_arena *arena)
{
    kd_arena scratch = {0};
    int      count = 0, most = r->n;
    for (int j = 0; j < r->n; j++) most += answers_itself(r, j) ? 0 : TERMS;
    double   *X = kd_cut_matrix(&scratch, r->nz, most), *MX = kd_cut_matrix(&scratch, r->nz, most);
    double   *K = kd_cut_matrix(&scratch, most, most), *M = kd_cut_matrix(&scratch, most, most);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : enrich(r, X, MX, &count);
    if (status == KD_OK) {
        kd_gemm_tn(count, count, r->nz, 1, X, MX, 0, M);
        kd_reduction_project(&r->K, count, X, count, X, MX, K);
        status = see_modes(r, count, K, M, X, out, arena);
    }
    kd_arena_release(&scratch);
    return status;
}

static kd_status reduced_modes(const kd_reduction *r, seen_modes *out, kd_arena *arena)
{
    const size_t square = (size_t)r->n * (size_t)r->n;
    double      *K = kd_cut_matrix(arena, r->n, r->n), *M = kd_cut_matrix(arena, r->n, r->n);
    if (arena->failed) return KD_ERR_MEMORY;
    memcpy(K, r->Kr, square * sizeof *K);
    memcpy(M, r->Mr, square * sizeof *M);
    return see_modes(r, r->n, K, M, r->V, out, arena);
}

kd_status kd_reduction_transfer(const kd_reduction *r, double loss, int count, const double *W, double *error)
{
    kd_arena        scratch = {0};
    const int       n = r->nb * r->nb;
    seen_modes      reduced, enriched;
    double complex *H = kd_arena_cut(&scratch, (size_t)n, sizeof *H),
                   *better = kd_arena_cut(&scratch, (size_t)n, sizeof *H);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : reduced_modes(r, &reduced, &scratch);
    if (status == KD_OK) status = enriched_modes(r, &enriched, &scratch);
    for (int k = 0; status == KD_OK && k < count; k++) {
        respond(&reduced, r->nb, loss, W[k], H);
        respond(&enriched, r->nb, loss, W[k], better);
        error[k] = difference(n, H, better);
    }
    kd_arena_release(&scratch);
    return status;
}

// ---- the truth ------------------------------------------------------------------------------------------------------

// Rigid motions (nz x 6) with R' M R = 1, and M R
typedef struct rigid_part {
    double *R, *MR;
} rigid_part;

// x without what A' x has along B: X -= B A' X, of six columns each
static void take_out(const kd_reduction *r, const double *A, const double *B, double *x)
{
    for (int k = 0; k < 6; k++) {
        const size_t at = (size_t)k * (size_t)r->nz;
        kd_axpy(r->nz, -kd_dot(r->nz, A + at, x), B + at, x);
    }
}

// H of the structure that is not reduced, undamped: the first rows of inv(K - W^2 M) [1; 0]. Rigid motions, at low frequencies much larger
// than all others, are -R R'/W^2; loads without them keep the digits of the rest.
static kd_status respond_exactly(const kd_reduction *r, const rigid_part *rigid, double W, double complex *H)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix dynamic;
    kd_factor       *factor = NULL;
    const double     distance = size_of(r);
    double          *X = kd_cut_matrix(&scratch, r->nz, r->nb);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : kd_sparse_sum(1, &r->K, -W * W, &r->M, &scratch, &dynamic);
    if (status == KD_OK) status = kd_factor_create(&dynamic, &factor);
    for (int j = 0; status == KD_OK && j < r->nb; j++) {
        double *x = X + (size_t)j * (size_t)r->nz;
        x[j] = 1;
        take_out(r, rigid->R, rigid->MR, x);
        status = kd_factor_solve(factor, x, 1);
        take_out(r, rigid->MR, rigid->R, x);
        for (int i = 0; i < r->nb; i++) {
            double sum = x[i];
            for (int k = 0; k < 6; k++) {
                const double *R = rigid->R + (size_t)k * (size_t)r->nz;
                sum -= R[i] * R[j] / (W * W);
            }
            H[i + j * r->nb] = sum * (i % 6 < 3 ? 1 : distance) * (j % 6 < 3 ? 1 : distance);
        }
    }
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_reduction_transfer_exact(const kd_reduction *r, int count, const double *W, double *error)
{
    kd_arena        scratch = {0};
    const int       n = r->nb * r->nb;
    seen_modes      reduced;
    double complex *H = kd_arena_cut(&scratch, (size_t)n, sizeof *H),
                   *exact = kd_arena_cut(&scratch, (size_t)n, sizeof *H);
    rigid_part rigid = {kd_cut_matrix(&scratch, r->nz, 6), kd_cut_matrix(&scratch, r->nz, 6)};
    kd_status  status = scratch.failed ? KD_ERR_MEMORY : reduced_modes(r, &reduced, &scratch);
    if (status == KD_OK) memcpy(rigid.R, r->rigid, 6 * (size_t)r->nz * sizeof *rigid.R);
    if (status == KD_OK && kd_reduction_orthonormalise(r, 6, rigid.R, rigid.MR) < 6) status = KD_ERR_DECOMPOSITION;
    for (int k = 0; status == KD_OK && k < count; k++) {
        respond(&reduced, r->nb, 0, W[k], H);
        status = respond_exactly(r, &rigid, W[k], exact);
        if (status == KD_OK) error[k] = difference(n, H, exact);
    }
    kd_arena_release(&scratch);
    return status;
}
