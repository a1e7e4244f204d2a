// study/design.h: which values the parameters of a study have in each of its rows.
#ifndef KD_STUDY_DESIGN_H
#define KD_STUDY_DESIGN_H

#include <stdint.h>

#include "core/memory.h"
#include "study/distribution.h"

typedef enum kd_design_kind {
    KD_DESIGN_LIST,        // rows as given
    KD_DESIGN_GRID,        // all combinations of levels, the last parameter changes fastest
    KD_DESIGN_LATIN,       // Latin hypercube: every parameter once in each of n equal shares
    KD_DESIGN_SOBOL,       // Sobol's sequence, shifted digit by digit at random unless seed is 0
    KD_DESIGN_MONTE_CARLO, // independent
    KD_DESIGN_SENSITIVITY, // n pairs of independent rows A, B and, for each parameter i, A with i of B: n (2 + parameters) rows
    KD_DESIGN_MORRIS, // n paths, each from a point through all parameters, one step of one parameter at a time: n (1 + parameters)
    KD_DESIGN_COUNT,
    KD_DESIGN_SEARCH = KD_DESIGN_COUNT // rows that a search finds: nrows and list are its own
} kd_design_kind;

typedef struct kd_design {
    kd_design_kind         kind;
    int                    nparameters;
    const kd_distribution *distribution; // (nparameters)
    const double *correlation; // lower Cholesky factor (nparameters^2, row by row) of the normal scores; NULL: none
    int           n;           // points; of a sensitivity design pairs
    const int    *levels;      // grid: (nparameters)
    const double *list;        // list: (n nparameters) row by row
    uint64_t      seed;
    // made by kd_design_prepare
    int       nrows;
    uint32_t *order; // Latin hypercube: (nparameters n) permutations
} kd_design;

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { KD_DESIGN_MOST_ROWS = 2000, KD_MORRIS_LEVELS = 4 };
#else
enum { KD_DESIGN_MOST_ROWS = 10000000, KD_MORRIS_LEVELS = 4 };
#endif

// How many rows, and what is computed once. KD_ERR_ARGUMENT: why (a sentence) says what is not possible.
kd_status kd_design_prepare(kd_design *design, kd_arena *arena, char *why, size_t size) KD_NODISCARD;
// Values of the parameters (nparameters) in a row, 0 <= row < nrows. Several threads may ask.
void kd_design_row(const kd_design *design, int row, double *value);
// Morris' paths: the parameter that row takes a step of (-1: it begins a path), and the step in shares of its levels.
int kd_design_step(const kd_design *design, int row, double *share);
// A Cholesky factor in place of a correlation matrix (n^2, row by row); false: it is none of positive variances.
bool kd_correlation_factor(int n, double *matrix);

#endif
