// math/kernel_vector.c: the own kernels as the vectoriser makes them, for small orders that are no longer tiny.
#include "math/kernel.h"

#define KERNEL(name) kd_vector_##name
#include "math/kernel_body.h"
