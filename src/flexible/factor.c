// factor.c: the library that suits a matrix.
#include "flexible/factor_class.h"

// From here on dense blocks pay: 28,000 rows of a block of bricks take MUMPS 0.9 s, CHOLMOD without its supernodal part 13.5 s;
// 1000 rows take both some milliseconds
enum { MANY = 2000 };

// The empty matrix
static kd_status solve_nothing(kd_factor *factor, double *B, int k)
{
    (void)factor, (void)B, (void)k;
    return KD_OK;
}

static int none_negative(const kd_factor *factor)
{
    (void)factor;
    return 0;
}

static void destroy_nothing(kd_factor *factor)
{
    kd_free(factor);
}

static const kd_factor_class NOTHING = {solve_nothing, none_negative, destroy_nothing};

static kd_status factor_nothing(kd_factor **factor)
{
    *factor = kd_alloc(sizeof **factor);
    if (!*factor) return KD_ERR_MEMORY;
    **factor = (kd_factor){&NOTHING, 0};
    return KD_OK;
}

kd_status kd_factor_create(const kd_sparse_matrix *A, kd_factor **factor)
{
    *factor = NULL;
    if (A->rows == 0) return factor_nothing(factor);
    kd_status status = A->rows >= MANY ? kd_factor_by_mumps(A, factor) : KD_ERR_UNAVAILABLE;
    if (status == KD_ERR_UNAVAILABLE) status = kd_factor_by_cholmod(A, factor);
    if (status == KD_ERR_UNAVAILABLE) status = kd_factor_by_klu(A, factor);
    return status;
}

void kd_factor_destroy(kd_factor *factor)
{
    if (factor) factor->class->destroy(factor);
}

kd_status kd_factor_solve(kd_factor *factor, double *B, int k)
{
    return factor && k > 0 ? factor->class->solve(factor, B, k) : KD_OK;
}

int kd_factor_negative(const kd_factor *factor)
{
    return factor->class->negative(factor);
}
