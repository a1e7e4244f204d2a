// late_blas.c: kardan in a library that is loaded behind OpenBLAS, as Python's interpreter does behind numpy (blas_client.c)
#include "math/blas.h"
#include "math/products.h"

long late_wrong_products(int *guard);

__attribute__((visibility("default"))) long late_wrong_products(int *guard)
{
    const long wrong = wrong_products();
    *guard = (int)kd_blas_guard_now();
    return wrong;
}
