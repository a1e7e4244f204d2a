// analysis/rank.h: rank of the constraints of equations written in C; models know theirs from their assembly.
#ifndef KD_ANALYSIS_RANK_H
#define KD_ANALYSIS_RANK_H

#include <kardan/eom.h>

typedef struct kd_rank kd_rank;

// inputs may be NULL: all zero. The equations must outlive it. On failure *rank is NULL.
kd_status kd_rank_create(const kd_eom *eom, const kd_inputs *inputs, kd_rank **rank) KD_NODISCARD;
void      kd_rank_destroy(kd_rank *rank); // NULL is fine
// Rank of [GZ; HZ] with rows scaled to length 1; -1 if it cannot be evaluated. x need not be consistent.
int kd_rank_at(kd_rank *rank, const kd_state *x);
// Largest rank at poses near x that satisfy the constraints; *found counts the poses that could be reached. A rank that
// is larger there than at x tells a singular position from redundant constraints.
int kd_rank_nearby(kd_rank *rank, const kd_state *x, int *found);
// (rows) the first rank entries are a largest set of independent rows, those behind follow from them; a row is one of g
// or, behind nlambda, of h
const int  *kd_rank_order(const kd_rank *rank);
const char *kd_rank_message(const kd_rank *rank);

#endif
