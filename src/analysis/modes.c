// modes.c: eigenvalues and mode shapes of A in minimal coordinates, and the frequency response.
#include <complex.h>
#include <float.h>
#include <kardan/linearize.h>
#include <math.h>
#include <string.h>

#include "analysis/internal.h"
#include "core/memory.h"
#include "math/dense.h"

#define TWO_PI 6.28318530717958647692
#define ROUNDING (16 * DBL_EPSILON) // of the largest entry beside: what accelerations solved for leave of a zero

typedef struct modes_work {
    kd_arena arena;
    double  *A, *real, *imaginary, *V, *work;
    int     *order;
} modes_work;

// Is eigenvalue i before j? By magnitude, then by real part; a pair stays as it is.
static bool comes_before(const modes_work *w, int i, int j)
{
    double a = hypot(w->real[i], w->imaginary[i]), b = hypot(w->real[j], w->imaginary[j]);
    return a != b ? a < b : w->real[i] < w->real[j];
}

static void sort(int n, modes_work *w)
{
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && comes_before(w, i, w->order[j - 1]); j--) w->order[j] = w->order[j - 1];
        w->order[j] = i;
    }
}

// Eigenvector k of LAPACK's packed form: a pair has (Re, Im) in two columns.
static double complex component(int n, const modes_work *w, int k, int i)
{
    const size_t rows = (size_t)n, row = (size_t)i;
    if (w->imaginary[k] == 0) return w->V[row + (size_t)k * rows];
    const size_t first = (size_t)(w->imaginary[k] > 0 ? k : k - 1);
    return w->V[row + first * rows] + I * (copysign(1, w->imaginary[k]) * w->V[row + (first + 1) * rows]);
}

static void multiply(int n, double complex factor, double *re, double *im)
{
    for (int i = 0; i < n; i++) {
        double complex x = (re[i] + I * im[i]) * factor;
        re[i] = creal(x), im[i] = cimag(x);
    }
}

static int largest(int n, const double *re, const double *im)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (hypot(re[i], im[i]) > hypot(re[best], im[best]) * (1 + 1e-9)) best = i;
    return best;
}

// The largest increment becomes 1; where nothing moves, the largest state.
static void normalise(int n, int nv, double *state_re, double *state_im, double *shape_re, double *shape_im)
{
    const double   tiny = 1e-9;
    int            k = largest(n, state_re, state_im), i = nv > 0 ? largest(nv, shape_re, shape_im) : 0;
    double         size = hypot(state_re[k], state_im[k]);
    bool           moves = nv > 0 && hypot(shape_re[i], shape_im[i]) > tiny * size;
    double complex by = moves ? (shape_re[i] + I * shape_im[i]) : (state_re[k] + I * state_im[k]);
    if (cabs(by) == 0) return;
    multiply(n, 1 / by, state_re, state_im);
    multiply(nv, 1 / by, shape_re, shape_im);
}

// In order of magnitude: f = |mu|/2 pi, damping = -Re(mu)/|mu|, shape e = T x
static void write_modes(const kd_linear *linear, const modes_work *w, kd_modes *m, kd_arena *arena)
{
    const int    n = m->n, nv = m->nv;
    const size_t rows = (size_t)n, wide = (size_t)nv;
    // room for all of them
    double *real = kd_cut_double(arena, n), *imaginary = kd_cut_double(arena, n);
    double *frequency = kd_cut_double(arena, n), *damping = kd_cut_double(arena, n);
    double *state_re = kd_cut_matrix(arena, n, n), *state_im = kd_cut_matrix(arena, n, n);
    double *shape_re = kd_cut_matrix(arena, nv, n), *shape_im = kd_cut_matrix(arena, nv, n);
    m->increment_name = kd_copy_names(nv, linear->increment_name, arena);
    if (arena->failed) return;
    // value, frequency, damping
    for (int j = 0; j < n; j++) {
        const int k = w->order[j];
        real[j] = w->real[k], imaginary[j] = w->imaginary[k];
        double size = hypot(real[j], imaginary[j]);
        frequency[j] = size / TWO_PI;
        damping[j] = size > 0 ? -real[j] / size : 0;
        // vector in the coordinates of the states, then of the increments
        double *re = state_re + (size_t)j * rows, *im = state_im + (size_t)j * rows;
        for (int i = 0; i < n; i++) {
            double complex x = component(n, w, k, i);
            re[i] = creal(x), im[i] = cimag(x);
        }
        kd_gemv(nv, n, 1, linear->T, re, 0, shape_re + (size_t)j * wide);
        kd_gemv(nv, n, 1, linear->T, im, 0, shape_im + (size_t)j * wide);
        normalise(n, nv, re, im, shape_re + (size_t)j * wide, shape_im + (size_t)j * wide);
    }
    // handed over at once
    m->real = real, m->imaginary = imaginary, m->frequency = frequency, m->damping = damping;
    m->state_re = state_re, m->state_im = state_im, m->shape_re = shape_re, m->shape_im = shape_im;
}

// Square root of the mass that moves with state j, by its column of T or S; 0: none
static double weight(const kd_linear *linear, const double *columns, int j, double *work)
{
    const int     nv = linear->nv;
    const double *x = columns + (size_t)j * (size_t)nv;
    kd_gemv(nv, nv, 1, linear->M, x, 0, work);
    const double mass = kd_dot(nv, x, work);
    return mass > 0 ? sqrt(mass) : 0;
}

// Positions and headings that nothing depends on have eigenvalues 0, several times over, and an entry of 1e-15 in their
// column moves a slow eigenvalue by 1e-9: columns that are rounding in every row become 0, beside the largest entry of the
// row among positions, or among velocities, in units in which all states move the same mass.
static void forget_rounding(const kd_linear *linear, double *A, double *mass, double *largest, double *work)
{
    const int    n = linear->nx, first[] = {0, linear->nposition, linear->nposition + linear->nvelocity};
    const size_t rows = (size_t)n;
    for (int j = 0; j < first[2]; j++) mass[j] = weight(linear, j < first[1] ? linear->T : linear->S, j, work);
    for (int k = 0; k < 2; k++) {
        memset(largest, 0, rows * sizeof *largest);
        for (int j = first[k]; j < first[k + 1]; j++)
            for (int i = 0; i < n && mass[j] > 0; i++)
                largest[i] = fmax(largest[i], fabs(A[(size_t)i + (size_t)j * rows]) / mass[j]);
        for (int j = first[k]; j < first[k + 1]; j++) {
            double *column = A + (size_t)j * rows;
            bool    rounding = true;
            for (int i = 0; i < n && rounding; i++) rounding = fabs(column[i]) <= ROUNDING * largest[i] * mass[j];
            if (rounding) memset(column, 0, rows * sizeof *column);
        }
    }
}

// A x = mu x
static kd_status find_modes(const kd_linear *linear, modes_work *w, kd_modes *m)
{
    const int n = m->n;
    w->A = kd_cut_matrix(&w->arena, n, n);
    w->V = kd_cut_matrix(&w->arena, n, n);
    w->real = kd_cut_double(&w->arena, n);
    w->imaginary = kd_cut_double(&w->arena, n);
    w->work = kd_cut_double(&w->arena, kd_eigen_work(n));
    w->order = kd_cut_int(&w->arena, n);
    double *mass = kd_cut_double(&w->arena, n), *largest_of_row = kd_cut_double(&w->arena, n);
    double *moved = kd_cut_double(&w->arena, m->nv);
    if (w->arena.failed) return KD_ERR_MEMORY;
    if (n > 0) memcpy(w->A, linear->A, (size_t)n * (size_t)n * sizeof(double));
    if (n > 0) forget_rounding(linear, w->A, mass, largest_of_row, moved);
    if (kd_eigen(n, w->A, w->real, w->imaginary, w->V, w->work) != 0) return KD_ERR_DECOMPOSITION;
    sort(n, w);
    write_modes(linear, w, m, m->memory);
    return ((kd_arena *)m->memory)->failed ? KD_ERR_MEMORY : KD_OK;
}

kd_status kd_modes_create(const kd_linear *linear, kd_modes **modes)
{
    if (modes) *modes = NULL;
    if (!linear || !modes) return KD_ERR_ARGUMENT;
    kd_modes *m = kd_alloc(sizeof *m);
    if (!m) return KD_ERR_MEMORY;
    m->n = linear->nx;
    m->nv = linear->nv;
    m->memory = kd_alloc(sizeof(kd_arena));
    modes_work w = {0};
    kd_status  status = m->memory ? find_modes(linear, &w, m) : KD_ERR_MEMORY;
    kd_arena_release(&w.arena);
    if (status < 0) {
        kd_modes_destroy(m);
        return status;
    }
    *modes = m;
    return KD_OK;
}

void kd_modes_destroy(kd_modes *m)
{
    if (!m) return;
    if (m->memory) kd_arena_release(m->memory);
    kd_free(m->memory);
    kd_free(m);
}

// ---- frequency response ---------------------------------------------------------------------------------------------

// u' = i omega u, u'' = -omega^2 u
static double complex with_rates(const double *by_u, const double *by_rate, const double *by_second, size_t i,
                                 double omega)
{
    const double real = by_u[i] - (by_second ? omega * omega * by_second[i] : 0);
    return real + I * (by_rate ? omega * by_rate[i] : 0);
}

// The response at one frequency, ny x nu
static void respond(const kd_linear *l, double omega, double complex *K, double complex *x, int *pivot, double *re,
                    double *im)
{
    const size_t n = (size_t)l->nx;
    // K = i omega I - A
    for (size_t i = 0; i < n * n; i++) K[i] = -l->A[i];
    for (size_t i = 0; i < n; i++) K[i + i * n] += I * omega;
    const bool singular = kd_zlu_factor(l->nx, K, pivot) != 0;
    // y = C (K \ (B + i omega B1 - omega^2 B2)) + D + i omega D1 - omega^2 D2
    for (int j = 0; j < l->nu; j++) {
        for (size_t i = 0; i < n; i++) x[i] = with_rates(l->B, l->B1, l->B2, i + (size_t)j * n, omega);
        if (!singular) kd_zlu_solve(l->nx, K, pivot, x, 1);
        for (int i = 0; i < l->ny; i++) {
            double complex y = with_rates(l->D, l->D1, l->D2, (size_t)(i + j * l->ny), omega);
            for (size_t k = 0; k < n; k++) y += l->C[(size_t)i + k * (size_t)l->ny] * x[k];
            re[i + j * l->ny] = singular ? NAN : creal(y);
            im[i + j * l->ny] = singular ? NAN : cimag(y);
        }
    }
}

kd_status kd_linear_response(const kd_linear *l, int n, const double *omega, double *re, double *im)
{
    if (!l || n < 0 || (n > 0 && (!omega || !re || !im))) return KD_ERR_ARGUMENT;
    kd_arena        arena = {0};
    const size_t    nx = (size_t)l->nx;
    double complex *K = kd_arena_cut(&arena, nx * nx, sizeof *K), *x = kd_arena_cut(&arena, nx, sizeof *x);
    int            *pivot = kd_cut_int(&arena, l->nx);
    const size_t    size = (size_t)l->ny * (size_t)l->nu;
    for (int k = 0; k < n && !arena.failed; k++)
        respond(l, omega[k], K, x, pivot, re + (size_t)k * size, im + (size_t)k * size);
    kd_status status = arena.failed ? KD_ERR_MEMORY : KD_OK;
    kd_arena_release(&arena);
    return status;
}
