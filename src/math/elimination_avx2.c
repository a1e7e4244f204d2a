// elimination_avx2.c: the loops of elimination.c for processors with AVX2 and FMA; empty elsewhere.
#ifdef KD_AVX2
#define KD_VARIANT kd_elimination_avx2
#endif
#include "math/elimination_kernels.h"
