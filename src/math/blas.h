// math/blas.h: CBLAS, LAPACK and ARPACK for several threads at once. Every call of them goes through here.
//
// OpenBLAS in its build without threads (0.3.21 as of Debian) hands out its work space without a lock: two threads that multiply at
// the same time may get the same piece, and both results are wrong, in silence. ARPACK keeps its state between two calls in
// variables of its own, of which there is one set for all threads.
#ifndef KD_MATH_BLAS_H
#define KD_MATH_BLAS_H

#include <cblas.h>
#include <lapacke.h>

#ifdef KD_RUNTIME // own kernels stand behind these names, and share nothing
#define KD_BLAS(call) (call)
#define KD_BLAS_DO(call) (call)
#else
#include <stdbool.h>

// Around a call: alone, if two at the same time could be wrong
void kd_blas_enter(void);
int  kd_blas_leave(int answer); // gives `answer` back

#define KD_BLAS(call) (kd_blas_enter(), kd_blas_leave(call))               // that answers an int
#define KD_BLAS_DO(call) (kd_blas_enter(), (call), (void)kd_blas_leave(0)) // that answers nothing

// What keeps threads apart, for tests
typedef enum kd_blas_guard {
    KD_BLAS_SAFE,  // by itself: another BLAS, or OpenBLAS with threads
    KD_BLAS_SPACE, // a lock before the work space
    KD_BLAS_ALONE  // a lock around each call: nobody has asked for work space here yet, or it is out of reach
} kd_blas_guard;

kd_blas_guard kd_blas_guard_now(void);

// From the first to the last call of one search of ARPACK
void kd_arpack_enter(void);
void kd_arpack_leave(void);
#endif
#endif
