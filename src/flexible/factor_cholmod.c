// factor_cholmod.c: CHOLMOD (Chen, Davis, Hager, Rajamanickam 2008), simplicial: column by column.
#include "flexible/factor_class.h"

#ifdef KD_WITH_CHOLMOD
#include <cholmod.h>
#include <string.h>

typedef struct by_cholmod {
    kd_factor       factor;
    cholmod_common  common;
    cholmod_factor *L;
} by_cholmod;

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

static void destroy(kd_factor *factor)
{
    by_cholmod *f = (by_cholmod *)factor;
    if (f->L) cholmod_free_factor(&f->L, &f->common);
    cholmod_finish(&f->common);
    kd_free(f);
}

static kd_status solve(kd_factor *factor, double *B, int k)
{
    by_cholmod    *f = (by_cholmod *)factor;
    const size_t   n = (size_t)factor->n;
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

static int negative(const kd_factor *factor)
{
    const by_cholmod *f = (const by_cholmod *)factor;
    // the first entry of each column of L is that of D
    const int    *column = f->L->p;
    const double *value = f->L->x;
    int           count = 0;
    for (int j = 0; j < factor->n; j++) count += value[column[j]] < 0;
    return count;
}

static const kd_factor_class CHOLMOD = {solve, negative, destroy};

kd_status kd_factor_by_cholmod(const kd_sparse_matrix *A, kd_factor **factor)
{
    by_cholmod *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    cholmod_sparse view = view_of(A);
    kd_status      status = KD_ERR_DECOMPOSITION;
    f->factor = (kd_factor){&CHOLMOD, A->rows};
    cholmod_start(&f->common);
    f->common.print = 0;
    f->common.supernodal = CHOLMOD_SIMPLICIAL;
    f->common.final_ll = 0; // L D L': also of matrices that are not definite
    f->L = cholmod_analyze(&view, &f->common);
    if (f->L) cholmod_factorize(&view, f->L, &f->common);
    if (f->common.status == CHOLMOD_OK && f->L && f->L->minor == f->L->n) status = KD_OK;
    if (f->common.status == CHOLMOD_OUT_OF_MEMORY || f->common.status == CHOLMOD_TOO_LARGE) status = KD_ERR_MEMORY;
    if (status == KD_OK)
        *factor = &f->factor;
    else
        destroy(&f->factor);
    return status;
}

#else

kd_status kd_factor_by_cholmod(const kd_sparse_matrix *A, kd_factor **factor)
{
    (void)A, (void)factor;
    return KD_ERR_UNAVAILABLE;
}

#endif
