// topological.h: accelerations and multipliers together, by elimination along the topology.  S1 section 3
#ifndef KARDAN_SYSTEM_TOPOLOGICAL_H
#define KARDAN_SYSTEM_TOPOLOGICAL_H

#include <kardan/eom.h>

#include "core/memory.h"

struct kd_system;
struct kd_work;

// Order of elimination and pattern of the factor; constant.
typedef struct kd_topological {
    int  n;        // nv + nlambda + nmu
    int *place;    // (n) unknown (v, lambda, mu) -> place in the order
    int *parent;   // (n) elimination tree
    int *L_column; // (n + 1) start of the columns of L
    // K in the new order, upper triangle by columns: where each number comes from
    int *K_column; // (n + 1)
    int *K_row;    // row of an entry, <= column
    int *source;   // number in M (>= 0), or in G: -1 - number, or in H: -1 - numbers of G - number
    // Bodies without inertia in some direction leave no pivot of their own: then all of K by sparse LU
    bool pivoting;
    int *full_column, *full_row, *full_source;
} kd_topological;

kd_status kd_topological_plan(struct kd_system *s) KD_NODISCARD;

// The factorisation at the position of x, and a solution with it, unknowns in the order (v, lambda, mu).
kd_eval kd_topological_factor(struct kd_work *w, const kd_point *x);
void    kd_topological_backsolve(struct kd_work *w, double *y);

// a, lambda, mu at the velocity stage of w. KD_EVAL_RETRY: constraints depend on each other here.
kd_eval kd_topological_solve(struct kd_work *w, const kd_point *x, double *a, double *lambda, double *mu);

#endif
