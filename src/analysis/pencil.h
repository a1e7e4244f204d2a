// analysis/pencil.h: the descriptor form E x' = A x of linear equations, sparse, for large models; x = (e, dv, r, a, w,
// s, lambda, mu), E = diag(I, I, I, 0, ...).
#ifndef KD_ANALYSIS_PENCIL_H
#define KD_ANALYSIS_PENCIL_H

#include <complex.h>
#include <kardan/linearize.h>

#include "math/linsolve.h"
#include "math/pattern.h"

enum { KD_PENCIL_BLOCKS = 64 };

// A block of A: values in the order of its pattern.
typedef struct kd_pencil_block {
    kd_fn      fn;
    kd_var     var;
    kd_pattern pattern;
    double    *value;
    int        row, column; // of its first entry in A; transposed: of the transposed block
    bool       sparse, transposed;
} kd_pencil_block;

typedef struct kd_pencil {
    const kd_eom   *eom;
    kd_dims         n;
    int             order, dynamic; // of A; of its part with E = I
    kd_eom_data    *data;
    kd_state       *x; // consistent copy
    double         *u; // (3 nu)
    kd_pencil_block block[KD_PENCIL_BLOCKS];
    int             nblocks;
    kd_blocks       wanted; // those that are not given sparse
    kd_columns      pattern;
    double         *A;        // values
    int            *diagonal; // (dynamic) places of the entries that the shift moves
    double complex *shifted;  // values of A - sigma E
    double complex *rhs;      // (order)
    kd_sparse_lu   *lu;
    kd_arena        arena;
} kd_pencil;

// A at x. Released by kd_pencil_release, also after a failure.
kd_status kd_pencil_create(kd_pencil *p, const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, char *message,
                           size_t size) KD_NODISCARD;
void      kd_pencil_release(kd_pencil *p);
// Factor A - sigma E; KD_ERR_DECOMPOSITION: singular.
kd_status kd_pencil_shift(kd_pencil *p, double complex sigma) KD_NODISCARD;
// to = the dynamic part of inv(A - sigma E) E (from, ...), both (dynamic); may be the same.
void kd_pencil_apply(kd_pencil *p, const double complex *from, double complex *to);

#endif
