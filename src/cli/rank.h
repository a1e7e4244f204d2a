// cli/rank.h: rank of the constraints of equations written in C; models know theirs from their assembly.
#ifndef KD_CLI_RANK_H
#define KD_CLI_RANK_H

#include <kardan/eom.h>

typedef struct kd_rank kd_rank;

kd_status kd_rank_create(const kd_eom *eom, const kd_inputs *inputs, kd_rank **rank) KD_NODISCARD;
void      kd_rank_destroy(kd_rank *rank); // NULL is fine
// Rank of [GZ; HZ] with rows scaled to length 1; -1 if it cannot be evaluated. x need not be consistent.
int kd_rank_at(kd_rank *rank, const kd_state *x);
// (rows) the first rank entries are a largest set of independent rows, those behind follow from them; a row is one of g
// or, behind nlambda, of h
const int   *kd_rank_order(const kd_rank *rank);
kd_eom_data *kd_rank_data(kd_rank *rank); // at the last x
const char  *kd_rank_message(const kd_rank *rank);

#endif
