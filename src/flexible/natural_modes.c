// natural_modes.c: the lowest natural frequencies of K - omega^2 M.
//
// Large: Lanczos' method (ARPACK) with shift and inversion, OP = inv(K - sigma M) M, in the inner product of M; rigid motions are
// projected out of every vector. sigma = 0 where nothing is rigid, otherwise -rho/2 with rho a Rayleigh quotient near the lowest
// elastic one: not far from what is wanted, and K - sigma M is definite. That none was missed (double values!) is counted
// by Sylvester's law: K - s M has as many negative eigenvalues as there are values below s.
// Small: all of them from M x = nu (K - sigma M) x, which also bears a singular M.
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef KD_WITH_ARPACK
#include "core/arpack_late.h"
#endif

#include "core/text.h"
#include "flexible/factor.h"
#include "flexible/reduction_parts.h"
#include "flexible/structure.h"
#include "math/blas.h"
#include "math/dense.h"

#ifdef KD_RUNTIME
enum { SMALL = 1000 }; // without ARPACK full matrices have to do
#else
enum { SMALL = 120 };
#endif
enum { RESTARTS = 3000, EXTRA = 4, TRIES = 3 };
static const double ZERO = 1e-14; // of the largest k/m: a motion without stiffness

typedef struct search {
    const kd_sparse_matrix *K, *M;
    int                     n, nrigid;
    double                 *rigid, *Mrigid; // (n x nrigid), rigid' M rigid = 1
    double                  stiffest;       // largest k/m of a row
    double                  sigma;
    kd_factor              *factor; // of K - sigma M
    kd_factor              *given;  // of K, somebody else's; NULL: none
    double                 *work;
    char                   *message;
    size_t                  size;
    kd_arena                arena;
} search;

// ---- vectors --------------------------------------------------------------------------------------------------------

// x without rigid motions
static void project(const search *s, double *x)
{
    for (int j = 0; j < s->nrigid; j++) {
        const size_t at = (size_t)j * (size_t)s->n;
        kd_axpy(s->n, -kd_dot(s->n, s->Mrigid + at, x), s->rigid + at, x);
    }
}

// Gram and Schmidt in the inner product of M, twice
static kd_status orthonormalise_rigid(search *s)
{
    for (int j = 0; j < s->nrigid; j++) {
        double *x = s->rigid + (size_t)j * (size_t)s->n, *Mx = s->Mrigid + (size_t)j * (size_t)s->n;
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < j; i++) {
                const size_t at = (size_t)i * (size_t)s->n;
                kd_axpy(s->n, -kd_dot(s->n, s->Mrigid + at, x), s->rigid + at, x);
            }
        kd_sparse_apply(s->M, 1, x, Mx);
        const double square = kd_dot(s->n, x, Mx);
        if (!(square > 0)) {
            kd_text(s->message, s->size, "a rigid motion has no kinetic energy: the mass matrix lacks something");
            return KD_ERR_MODEL;
        }
        const double scale = 1 / sqrt(square);
        for (int i = 0; i < s->n; i++) {
            x[i] *= scale;
            Mx[i] *= scale;
        }
    }
    return KD_OK;
}

static double rayleigh_quotient(const search *s, const double *x)
{
    kd_sparse_apply(s->K, 1, x, s->work);
    const double k = kd_dot(s->n, x, s->work);
    kd_sparse_apply(s->M, 1, x, s->work);
    return k / kd_dot(s->n, x, s->work);
}

static void random_vector(int n, uint64_t seed, double *x) // the same in every run
{
    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(int64_t)seed / 9223372036854775808.0;
    }
}

static double stiffest_row(const kd_sparse_matrix *K, const kd_sparse_matrix *M)
{
    double most = 0;
    for (int j = 0; j < K->columns; j++) {
        double k = 0, m = 0;
        for (int l = K->column[j]; l < K->column[j + 1]; l++)
            if (K->row[l] == j) k = K->value[l];
        for (int l = M->column[j]; l < M->column[j + 1]; l++)
            if (M->row[l] == j) m = M->value[l];
        if (m > 0 && k / m > most) most = k / m;
    }
    return most;
}

// ---- the shift ------------------------------------------------------------------------------------------------------

static kd_status shift_to(search *s, double sigma)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix shifted;
    if (s->factor != s->given) kd_factor_destroy(s->factor);
    s->factor = sigma == 0 ? s->given : NULL;
    s->sigma = sigma;
    if (s->factor) return KD_OK;
    kd_status status = kd_sparse_sum(1, s->K, -sigma, s->M, &scratch, &shifted);
    if (status == KD_OK) status = kd_factor_create(&shifted, &s->factor);
    kd_arena_release(&scratch);
    if (status == KD_OK && kd_factor_negative(s->factor) > 0) status = KD_ERR_DECOMPOSITION;
    return status;
}

static kd_status refuse_mechanism(search *s)
{
    kd_text(s->message, s->size,
            s->nrigid > 0
                ? "there are motions without stiffness beside the %d rigid ones: this is a mechanism, not a structure"
                : "there are motions without stiffness: it is not supported, or a mechanism",
            s->nrigid);
    return KD_ERR_MODEL;
}

static kd_status choose_shift(search *s)
{
    kd_status status = shift_to(s, s->nrigid > 0 ? -1e-9 * s->stiffest : 0.0);
    if (status == KD_ERR_DECOMPOSITION) return refuse_mechanism(s);
    double *x = s->work + s->n;
    random_vector(s->n, 1, x);
    // a few steps of inverse iteration tell the size of the lowest value
    for (int k = 0; k < 4 && status == KD_OK; k++) {
        project(s, x);
        kd_sparse_apply(s->M, 1, x, s->work);
        memcpy(x, s->work, (size_t)s->n * sizeof *x);
        status = kd_factor_solve(s->factor, x, 1);
        const double size = kd_norm_max(s->n, x);
        for (int i = 0; i < s->n; i++) x[i] /= size;
    }
    if (status < 0) return status;
    project(s, x);
    const double rho = rayleigh_quotient(s, x);
    if (!(rho > ZERO * s->stiffest)) return refuse_mechanism(s);
    if (s->nrigid > 0) status = shift_to(s, -rho / 2);
    return status;
}

// ---- small ----------------------------------------------------------------------------------------------------------

static void spread(const kd_sparse_matrix *A, double factor, double *dense)
{
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++)
            dense[(size_t)A->row[k] + (size_t)j * (size_t)A->rows] += factor * A->value[k];
}

static kd_status solve_dense(search *s, int count, double *omega, double *Phi)
{
    const int n = s->n;
    double *A = kd_cut_matrix(&s->arena, n, n), *B = kd_cut_matrix(&s->arena, n, n), *nu = kd_cut_double(&s->arena, n);
    double *work = kd_cut_double(&s->arena, 40 * n);
    if (s->arena.failed) return KD_ERR_MEMORY;
    spread(s->M, 1, A);
    spread(s->K, 1, B);
    spread(s->M, -s->sigma, B);
    // rigid motions are made stiffer than everything else
    for (int r = 0; r < s->nrigid; r++) {
        const double *m = s->Mrigid + (size_t)r * (size_t)n;
        for (int j = 0; j < n; j++) kd_axpy(n, 100 * s->stiffest * m[j], m, B + (size_t)j * (size_t)n);
    }
    if (KD_BLAS(LAPACKE_dsygv_work(LAPACK_COL_MAJOR, 1, 'V', 'L', n, A, n, B, n, nu, work, 40 * n)) != 0)
        return refuse_mechanism(s);
    kd_settle_modes(n, nu, A);
    for (int k = 0; k < count; k++) {
        // the largest nu = 1/(lambda - sigma) first; vectors have x' (K - sigma M) x = 1, so x' M x = nu
        const double value = nu[n - 1 - k];
        if (!(value > 0)) {
            kd_text(s->message, s->size, "only %d natural frequencies are finite: the mass matrix is singular", k);
            return KD_ERR_MODEL;
        }
        omega[k] = 1 / value + s->sigma;
        for (int i = 0; i < n; i++)
            Phi[(size_t)i + (size_t)k * (size_t)n] = A[(size_t)i + (size_t)(n - 1 - k) * (size_t)n] / sqrt(value);
    }
    return KD_OK;
}

// ---- large ----------------------------------------------------------------------------------------------------------

#ifdef KD_WITH_ARPACK

// y = inv(K - sigma M) b without rigid motions
static kd_status invert(search *s, const double *b, double *y)
{
    memmove(y, b, (size_t)s->n * sizeof *y);
    const kd_status status = kd_factor_solve(s->factor, y, 1);
    project(s, y);
    return status;
}

// wanted values (as lambda, rising) and vectors in V, with Lanczos spaces of `room` vectors
static kd_status iterate_lanczos(search *s, int wanted, int room, uint64_t seed, double *value, double *V)
{
    kd_arena  scratch = {0};
    const int n = s->n, lengths = room * (room + 8);
    int       task = 0, info = 1, parameter[11] = {0}, place[11] = {0};
    double   *residual = kd_cut_double(&scratch, n), *work = kd_cut_double(&scratch, 3 * n),
           *inner = kd_cut_double(&scratch, lengths);
    int      *chosen = kd_cut_int(&scratch, room);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        random_vector(n, seed, residual);
        project(s, residual);
    }
    parameter[0] = 1;        // exact shifts
    parameter[2] = RESTARTS; // most
    parameter[6] = 3;        // shift and inversion
    while (status == KD_OK) {
        KD_BLAS_DO(dsaupd_c(&task, "G", n, "LM", wanted, 0, residual, room, V, n, parameter, place, work, inner,
                            lengths, &info));
        double *x = work + place[0] - 1, *y = work + place[1] - 1;
        if (task == -1) { // y = OP x
            kd_sparse_apply(s->M, 1, x, s->work);
            status = invert(s, s->work, y);
        } else if (task == 1) { // M x is known
            status = invert(s, work + place[2] - 1, y);
        } else if (task == 2) {
            kd_sparse_apply(s->M, 1, x, y);
        } else {
            break;
        }
    }
    if (status == KD_OK && (info < 0 || parameter[4] < wanted)) status = KD_ERR_DECOMPOSITION;
    if (status == KD_OK) {
        KD_BLAS_DO(dseupd_c(1, "A", chosen, value, V, n, s->sigma, "G", n, "LM", wanted, 0, residual, room, V, n,
                            parameter, place, work, inner, lengths, &info));
        if (info != 0) status = KD_ERR_DECOMPOSITION;
    }
    kd_arena_release(&scratch);
    return status;
}

// Are there, by Sylvester's law, as many values below the first gap behind the wanted ones as were found?
static kd_status count_values(search *s, int count, int found, const double *value, bool *complete)
{
    *complete = true;
    int last = count - 1;
    while (last + 1 < found && value[last + 1] - value[last] < 1e-6 * value[last]) last++;
    if (last + 1 >= found) {
        *complete = false; // no gap in sight: with more values
        return KD_OK;
    }
    kd_arena         scratch = {0};
    kd_sparse_matrix shifted;
    kd_factor       *factor = NULL;
    kd_status        status = kd_sparse_sum(1, s->K, -0.5 * (value[last] + value[last + 1]), s->M, &scratch, &shifted);
    if (status == KD_OK) status = kd_factor_create(&shifted, &factor);
    if (status == KD_OK && kd_factor_negative(factor) >= 0)
        *complete = kd_factor_negative(factor) == last + 1 + s->nrigid;
    if (status == KD_ERR_DECOMPOSITION) status = KD_OK; // an unlucky place; nothing is known
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return status;
}

static kd_status solve_sparse(search *s, int count, double *omega, double *Phi)
{
    kd_status status = KD_OK;
    bool      complete = false;
    char      why[300];
    if (!kd_arpack_load(why, sizeof why)) {
        kd_text(s->message, s->size, "modes of more than %d unknowns: %s", SMALL, why);
        return KD_ERR_UNAVAILABLE;
    }
    for (int attempt = 0; attempt < TRIES && status == KD_OK && !complete; attempt++) {
        kd_arena  scratch = {0};
        const int wanted = count + EXTRA * (1 + 2 * attempt), room = 2 * wanted + 20 < s->n ? 2 * wanted + 20 : s->n;
        double   *V = kd_cut_matrix(&scratch, s->n, room), *value = kd_cut_double(&scratch, room);
        kd_arpack_enter();
        status = scratch.failed ? KD_ERR_MEMORY : iterate_lanczos(s, wanted, room, (uint64_t)attempt + 1, value, V);
        kd_arpack_leave();
        if (status == KD_OK) status = count_values(s, count, wanted, value, &complete);
        if (status == KD_OK && complete) {
            memcpy(omega, value, (size_t)count * sizeof *omega);
            memcpy(Phi, V, (size_t)count * (size_t)s->n * sizeof *Phi);
        }
        kd_arena_release(&scratch);
    }
    if (status == KD_OK && !complete) status = KD_ERR_DECOMPOSITION;
    if (status == KD_ERR_DECOMPOSITION)
        kd_text(s->message, s->size, "Lanczos' method does not find all natural frequencies: ask for fewer or more");
    return status;
}

#else

static kd_status solve_sparse(search *s, int count, double *omega, double *Phi)
{
    (void)count;
    (void)omega;
    (void)Phi;
    kd_text(s->message, s->size,
            "modes of more than %d unknowns: kardan was built without ARPACK (package libarpack2-dev)", SMALL);
    return KD_ERR_UNAVAILABLE;
}

#endif

kd_status kd_natural_modes(const kd_sparse_matrix *K, const kd_sparse_matrix *M, const double *rigid, int nrigid,
                           int count, double *omega, double *Phi, char *message, size_t size)
{
    return kd_natural_modes_by(K, M, NULL, rigid, nrigid, count, omega, Phi, message, size);
}

int kd_natural_modes_below(const kd_sparse_matrix *K, const kd_sparse_matrix *M, double omega)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix shifted;
    kd_factor       *factor = NULL;
    int              count = -1;
    if (kd_sparse_sum(1, K, -omega * omega, M, &scratch, &shifted) == KD_OK &&
        kd_factor_create(&shifted, &factor) == KD_OK)
        count = kd_factor_negative(factor);
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return count;
}

kd_status kd_natural_modes_by(const kd_sparse_matrix *K, const kd_sparse_matrix *M, kd_factor *factor,
                              const double *rigid, int nrigid, int count, double *omega, double *Phi, char *message,
                              size_t size)
{
    search s = {.K = K, .M = M, .n = K->rows, .nrigid = rigid ? nrigid : 0, .message = message, .size = size};
    s.given = factor;
    kd_text(message, size, "%s", "");
    if (count < 0 || count > s.n - s.nrigid) {
        kd_text(message, size, "%d modes are wanted of a structure that has %d", count, s.n - s.nrigid);
        return KD_ERR_MODEL;
    }
    if (count == 0) return KD_OK;
    s.rigid = kd_cut_matrix(&s.arena, s.n, s.nrigid);
    s.Mrigid = kd_cut_matrix(&s.arena, s.n, s.nrigid);
    s.work = kd_cut_double(&s.arena, 2 * s.n);
    kd_status status = s.arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        if (s.nrigid > 0) memcpy(s.rigid, rigid, (size_t)s.n * (size_t)s.nrigid * sizeof *rigid);
        s.stiffest = stiffest_row(K, M);
        status = orthonormalise_rigid(&s);
    }
    if (status == KD_OK) status = choose_shift(&s);
    const bool small = s.n <= SMALL || count + EXTRA > s.n - s.nrigid - 2;
    if (status == KD_OK) status = small ? solve_dense(&s, count, omega, Phi) : solve_sparse(&s, count, omega, Phi);
    // Rayleigh quotients have twice the digits of their vectors
    for (int k = 0; status == KD_OK && k < count; k++) {
        const double value = rayleigh_quotient(&s, Phi + (size_t)k * (size_t)s.n);
        if (!(value > ZERO * s.stiffest)) status = refuse_mechanism(&s);
        omega[k] = sqrt(value);
    }
    if (s.factor != s.given) kd_factor_destroy(s.factor);
    kd_arena_release(&s.arena);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    return status;
}
