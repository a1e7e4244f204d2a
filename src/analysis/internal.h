// analysis/internal.h: the linear equations in the making.
#ifndef KD_ANALYSIS_INTERNAL_H
#define KD_ANALYSIS_INTERNAL_H

#include <kardan/linearize.h>

#include "analysis/chart.h"

// By which variable a derivative was differenced; KD_VAR_COUNT: rate j of the inputs, u' first
typedef struct kd_difference_of {
    kd_var var;
    int    j;
} kd_difference_of;

// Derivatives at the state, and what follows from them.
typedef struct kd_linearizer {
    const kd_eom   *eom;
    kd_dims         n;
    kd_arena        work;
    kd_eom_data    *data;
    kd_state       *x;                    // consistent copy
    double         *u;                    // (3 nu)
    kd_blocks       f;                    // NULL: vanishes
    double         *rate[2][KD_FN_COUNT]; // derivatives by u' and u''; NULL: vanishes
    int             level;                // of an input: 0 itself, 1 u', 2 u''
    double         *unit;                 // (nv) natural sizes of the increments
    double         *Z;                    // (np x nv)
    double         *N;                    // (nv x nv) e' = dv + N e
    double         *J;                    // (nlambda + nmu x nv) [GZ; HZ]
    double         *GZ;                   // (nlambda x nv)
    double         *c_s;                  // LU
    int            *c_pivot;
    kd_linear_chart position, velocity;
    unsigned char  *active; // (nlambda + nmu)
    // the worst error of derivatives by differences, relative to its function's largest change, and where
    double            difference_error;
    kd_fn             difference_fn;
    int               difference_row;
    kd_difference_of  difference_by;
    kd_difference_of *worst_var[KD_FN_COUNT];
} kd_linearizer;

static inline double *kd_block(const kd_linearizer *l, kd_fn fn, kd_var var)
{
    return l->f.block[fn][var];
}
// The same, for an input on its level.
static inline double *kd_block_at(const kd_linearizer *l, kd_fn fn, kd_var var)
{
    return var == KD_U && l->level > 0 ? l->rate[l->level - 1][fn] : l->f.block[fn][var];
}

// Better differences for outputs and inputs, where the equations give no derivatives.
kd_status kd_linear_differences(kd_linearizer *l);
// Names of states, inputs, outputs and of all increments; false: no memory.
bool kd_linear_names(const kd_linearizer *l, kd_linear *linear, kd_arena *arena);
// Names of all increments of large equations (nv), by the sparse pattern of Z.
const char *const *kd_increment_names(const kd_eom *eom, kd_arena *arena);
// A copy of names (n); NULL: no memory.
const char *const *kd_copy_names(int n, const char *const *names, kd_arena *arena);
// A, B, C, D, T, S in minimal coordinates. KD_OK, KD_ERR_MEMORY, KD_ERR_SINGULAR_MASS.
kd_status kd_linear_reduce(kd_linearizer *l, kd_linear *linear, kd_arena *arena);

#endif
