// avx2.c: the tree algorithms once more, for processors with AVX2 and FMA. The build compiles this file with -mavx2
// -mfma, allows it to contract a b + c into one operation, and defines KD_AVX2; see work.h.
#ifdef KD_AVX2
#define KD_VARIANT avx2
#define KD_LANES 4

#include "formalism/sine_cosine.c"

#include "formalism/motion.c"

#include "formalism/newton_euler.c"

#include "formalism/articulated_body.c"

#include "formalism/composite_body.c"

#include "formalism/newton_euler_derivatives.c"

#include "formalism/pair_motion.c"

#include "formalism/path_product.c"

#include "formalism/tyre_slopes.c"
#else
typedef int kd_avx2_is_not_built; // a file must not be empty
#endif
