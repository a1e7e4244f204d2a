// factor.c: CHOLMOD (Chen, Davis, Hager, Rajamanickam 2008) or KLU behind one set of calls.
#include "flexible/factor.h"

#include <math.h>
#include <string.h>

#ifdef KD_WITH_CHOLMOD

#include <cholmod.h>

struct kd_factor {
    cholmod_common  common;
    cholmod_factor *L;
    int             n;
};

// A as CHOLMOD sees it: of a symmetric matrix the lower triangle is read
static cholmod_sparse view_of(const kd_sparse_matrix *A)
{
    return (cholmod_sparse){.nrow = (size_t)A->rows,
                            .ncol = (size_t)A->columns,
                            .nzmax = (size_t)kd_sparse_count(A),
                            .p = A->column,
                            .i = A->row,
                            .x = A->value,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

kd_status kd_factor_create(const kd_sparse_matrix *A, kd_factor **factor)
{
    *factor = NULL;
    kd_factor *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    cholmod_sparse view = view_of(A);
    kd_status      status = KD_ERR_DECOMPOSITION;
    f->n = A->rows;
    cholmod_start(&f->common);
    if (A->rows == 0) {
        *factor = f;
        return KD_OK;
    }
    f->common.print = 0;
    f->common.supernodal = CHOLMOD_SIMPLICIAL;
    f->common.final_ll = 0; // L D L': also of matrices that are not definite
    f->L = cholmod_analyze(&view, &f->common);
    if (f->L) cholmod_factorize(&view, f->L, &f->common);
    if (f->common.status == CHOLMOD_OK && f->L && f->L->minor == f->L->n) status = KD_OK;
    if (f->common.status == CHOLMOD_OUT_OF_MEMORY || f->common.status == CHOLMOD_TOO_LARGE) status = KD_ERR_MEMORY;
    if (status == KD_OK)
        *factor = f;
    else
        kd_factor_destroy(f);
    return status;
}

void kd_factor_destroy(kd_factor *f)
{
    if (!f) return;
    if (f->L) cholmod_free_factor(&f->L, &f->common);
    cholmod_finish(&f->common);
    kd_free(f);
}

kd_status kd_factor_solve(kd_factor *f, double *B, int k)
{
    if (!f || f->n == 0 || k == 0) return KD_OK;
    const size_t   n = (size_t)f->n;
    cholmod_dense  view = {.nrow = n,
                           .ncol = (size_t)k,
                           .nzmax = n * (size_t)k,
                           .d = n,
                           .x = B,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE};
    cholmod_dense *X = cholmod_solve(CHOLMOD_A, f->L, &view, &f->common);
    if (!X) return KD_ERR_MEMORY;
    memcpy(B, X->x, n * (size_t)k * sizeof *B);
    cholmod_free_dense(&X, &f->common);
    return KD_OK;
}

int kd_factor_negative(const kd_factor *f)
{
    if (f->n == 0) return 0;
    // the first entry of each column of L is that of D
    const int    *column = f->L->p;
    const double *value = f->L->x;
    int           count = 0;
    for (int j = 0; j < f->n; j++) count += value[column[j]] < 0;
    return count;
}

#else

#include "math/linsolve.h"

struct kd_factor {
    kd_sparse_lu *lu;
};

kd_status kd_factor_create(const kd_sparse_matrix *A, kd_factor **factor)
{
    *factor = NULL;
    kd_factor *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    kd_status status = kd_sparse_lu_create(A->rows, A->column, A->row, &f->lu);
    if (status == KD_OK) status = kd_sparse_lu_factor(f->lu, A->value);
    if (status == KD_OK)
        *factor = f;
    else
        kd_factor_destroy(f);
    return status;
}

void kd_factor_destroy(kd_factor *f)
{
    if (!f) return;
    kd_sparse_lu_destroy(f->lu);
    kd_free(f);
}

kd_status kd_factor_solve(kd_factor *f, double *B, int k)
{
    if (f && k > 0) kd_sparse_lu_solve(f->lu, B, k);
    return KD_OK;
}

int kd_factor_negative(const kd_factor *f)
{
    (void)f;
    return -1;
}

#endif
