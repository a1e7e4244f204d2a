// avx2.c: the tree algorithms once more, for processors with AVX2 and FMA. The build compiles this file with -mavx2
// -mfma, allows it to contract a b + c into one operation, and defines KD_AVX2; see work.h.
#ifdef KD_AVX2
#define KD_VARIANT avx2
#define KD_LANES 4
#define KD_AVX2_VARIANT

#include "tree/sine_cosine.c"

#include "tree/wide.c"

#include "tree/wide_body.c"

#include "tree/motion.c"

#include "tree/newton_euler.c"

#include "tree/articulated_body.c"

#include "tree/composite_body.c"

#include "tree/newton_euler_derivatives.c"

#include "tree/pair_motion.c"

#include "tree/path_product.c"
#else
typedef int kd_avx2_is_not_built; // a file must not be empty
#endif
