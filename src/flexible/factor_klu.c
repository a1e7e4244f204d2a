// factor_klu.c: KLU (Davis, Natarajan 2010), which factors A = L U and does not know the signs of its eigenvalues.
#include "flexible/factor_class.h"
#include "math/linsolve.h"

typedef struct by_klu {
    kd_factor     factor;
    kd_sparse_lu *lu;
} by_klu;

static void destroy(kd_factor *factor)
{
    by_klu *f = (by_klu *)factor;
    kd_sparse_lu_destroy(f->lu);
    kd_free(f);
}

static kd_status solve(kd_factor *factor, double *B, int k)
{
    kd_sparse_lu_solve(((by_klu *)factor)->lu, B, k);
    return KD_OK;
}

static int negative(const kd_factor *factor)
{
    (void)factor;
    return -1;
}

static const kd_factor_class KLU = {solve, negative, destroy};

kd_status kd_factor_by_klu(const kd_sparse_matrix *A, kd_factor **factor)
{
    by_klu *f = kd_alloc(sizeof *f);
    if (!f) return KD_ERR_MEMORY;
    f->factor = (kd_factor){&KLU, A->rows};
    kd_status status = kd_sparse_lu_create(A->rows, A->column, A->row, &f->lu);
    if (status == KD_OK) status = kd_sparse_lu_factor(f->lu, A->value);
    if (status == KD_OK)
        *factor = &f->factor;
    else
        destroy(&f->factor);
    return status;
}
