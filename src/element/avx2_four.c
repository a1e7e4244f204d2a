// avx2_four.c: four tyres side by side, for processors with AVX2 and FMA; see tree/avx2.c.
#ifdef KD_AVX2
#define KD_VARIANT avx2
#define KD_LANES 4

#include "element/tyre_four.c"
#else
typedef int kd_element_avx2_four_is_not_built; // a file must not be empty
#endif
