// analysis/words.h: equilibria and what is missing from them, in words with the names of the model.
#ifndef KD_ANALYSIS_WORDS_H
#define KD_ANALYSIS_WORDS_H

#include "analysis/balance.h"

void kd_describe_equilibrium(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size);
// What became of the velocities of the start, appended.
void kd_describe_motion(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size);
// What closed elements keep, by the names of their states.
void kd_describe_kept(const kd_balance *b, kd_equilibrium_result *r);
void kd_describe_failure(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size);
// Why the equations could not be evaluated at the start.
void kd_describe_refusal(const kd_balance *b, kd_status status, char *message, size_t size);

#endif
