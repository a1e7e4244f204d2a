// factor_mumps.c: MUMPS (Amestoy, Duff, L'Excellent, Koster 2001), multifrontal: L D L' in dense blocks, with pivots where the matrix
// is not definite. Its build for one process, loaded when it is first used.
#include "flexible/factor_class.h"

#ifdef KD_WITH_MUMPS
#include <dmumps_c.h>
#include <string.h>
#include <threads.h>

#include "core/late_library.h"
#include "math/blas.h"

#ifdef KD_MUMPS_LIBRARY
static void (*call_mumps)(DMUMPS_STRUC_C *);

static bool is_there(void)
{
    static const kd_late_symbol symbol[] = {{"dmumps_c", (void *)&call_mumps}};
    static kd_late_library library = {.path = KD_MUMPS_LIBRARY, .name = KD_MUMPS_NAME, .symbol = symbol, .count = 1};
    char                   why[300];
    return kd_library_load_once(&library, why, sizeof why);
}
#else
#define call_mumps dmumps_c
static bool is_there(void)
{
    return true;
}
#endif

// Numbers of the manual begin with 1
#define ICNTL(i) icntl[(i)-1]
#define INFOG(i) infog[(i)-1]

enum { INITIALISE = -1, FINISH = -2, ANALYSE = 1, FACTOR = 2, SOLVE = 3 };
enum { SYMMETRIC = 2, ONE_PROCESS = -987654 };
enum { SINGULAR = -10, WORK_SPACE = -9, WORK_SPACE_TOO = -8, NO_MEMORY = -13 };
enum { TRIES = 6 }; // each with twice the room for pivots

typedef struct by_mumps {
    kd_factor      factor;
    DMUMPS_STRUC_C mumps;
} by_mumps;

// It keeps variables of its own between calls: one at a time
static mtx_t lock;
static void  make_lock(void)
{
    (void)mtx_init(&lock, mtx_plain);
}

static kd_status run(by_mumps *f, int job)
{
    static once_flag made = ONCE_FLAG_INIT;
    call_once(&made, make_lock);
    f->mumps.job = job;
    (void)mtx_lock(&lock);
    KD_BLAS_DO(call_mumps(&f->mumps));
    (void)mtx_unlock(&lock);
    const int info = f->mumps.INFOG(1);
    return info >= 0 ? KD_OK : info == SINGULAR ? KD_ERR_DECOMPOSITION : KD_ERR_MEMORY;
}

static void destroy(kd_factor *factor)
{
    by_mumps *f = (by_mumps *)factor;
    (void)run(f, FINISH);
    kd_free(f);
}

static kd_status solve(kd_factor *factor, double *B, int k)
{
    by_mumps *f = (by_mumps *)factor;
    f->mumps.rhs = B;
    f->mumps.nrhs = k;
    f->mumps.lrhs = factor->n;
    return run(f, SOLVE);
}

static int negative(const kd_factor *factor)
{
    return ((const by_mumps *)factor)->mumps.INFOG(12);
}

static const kd_factor_class MUMPS = {solve, negative, destroy};

// The lower triangle by entries, from 1 on; lists for as long as the matrix is read
typedef struct entries {
    int     n, *row, *column;
    double *value;
} entries;

static kd_status lower_entries(const kd_sparse_matrix *A, kd_arena *arena, entries *e)
{
    int most = 0;
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++) most += A->row[k] >= j;
    *e = (entries){0, kd_cut_int(arena, most), kd_cut_int(arena, most), kd_cut_double(arena, most)};
    if (arena->failed) return KD_ERR_MEMORY;
    for (int j = 0; j < A->columns; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++)
            if (A->row[k] >= j) e->row[e->n] = A->row[k] + 1, e->column[e->n] = j + 1, e->value[e->n++] = A->value[k];
    return KD_OK;
}

static kd_status factorise(by_mumps *f, const entries *e)
{
    DMUMPS_STRUC_C *m = &f->mumps;
    m->n = f->factor.n;
    m->nnz = e->n;
    m->irn = e->row, m->jcn = e->column, m->a = e->value;
    kd_status status = run(f, ANALYSE);
    if (status == KD_OK) status = run(f, FACTOR);
    // pivots that moved need more room than the analysis has foreseen
    for (int i = 1; i < TRIES && (m->INFOG(1) == WORK_SPACE || m->INFOG(1) == WORK_SPACE_TOO); i++) {
        m->ICNTL(14) *= 2;
        status = run(f, FACTOR);
    }
    m->irn = m->jcn = NULL, m->a = NULL;
    return status;
}

kd_status kd_factor_by_mumps(const kd_sparse_matrix *A, kd_factor **factor)
{
    kd_arena scratch = {0};
    entries  e = {0};
    if (!is_there()) return KD_ERR_UNAVAILABLE;
    by_mumps *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    f->factor = (kd_factor){&MUMPS, A->rows};
    f->mumps.par = 1, f->mumps.sym = SYMMETRIC, f->mumps.comm_fortran = ONE_PROCESS;
    kd_status status = run(f, INITIALISE);
    if (status < 0) {
        kd_free(f);
        return status;
    }
    // it prints nothing
    f->mumps.ICNTL(1) = f->mumps.ICNTL(2) = f->mumps.ICNTL(3) = -1, f->mumps.ICNTL(4) = 0;
    f->mumps.ICNTL(14) = 30; // per cent of room beyond the analysis
    status = lower_entries(A, &scratch, &e);
    if (status == KD_OK) status = factorise(f, &e);
    kd_arena_release(&scratch);
    if (status == KD_OK)
        *factor = &f->factor;
    else
        destroy(&f->factor);
    return status;
}

#else

kd_status kd_factor_by_mumps(const kd_sparse_matrix *A, kd_factor **factor)
{
    (void)A, (void)factor;
    return KD_ERR_UNAVAILABLE;
}

#endif
