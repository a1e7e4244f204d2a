// math/kernel_scalar.c: the own kernels as scalar code, for tiny orders (the build turns the vectoriser off here).
#include "math/kernel.h"

#define KERNEL(name) kd_scalar_##name
#include "math/kernel_body.h"
