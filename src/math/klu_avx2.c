// klu_avx2.c: the loop of klu_solve.c for processors with AVX2 and FMA; empty elsewhere.
#ifdef KD_AVX2
#define KD_VARIANT kd_klu_avx2
#endif
#include "math/klu_kernels.h"
