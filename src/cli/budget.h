// cli/budget.h: how much memory the program may take, and what it says when that is not enough.
#ifndef KD_CLI_BUDGET_H
#define KD_CLI_BUDGET_H

#include <kardan/base.h>

// From now on the library gets memory up to a limit: what is free of the machine's memory, of the control group, of
// ulimit. false: there is too little to begin with, which has been told.
bool kd_budget_start(void);
// "--memory 4G": another limit; K, M, G, T are powers of 1024. false: not understood.
bool   kd_budget_set(const char *text);
double kd_budget_left(void); // bytes
// "1.5 GB"; "the limit is 8 GB (--memory)". Return text.
const char *kd_budget_bytes(double bytes, char *text, size_t size);
void        kd_budget_describe(char *text, size_t size);
// Before a run: do matrices of so many velocities and results of so many bytes fit? false: they surely do not, told.
bool kd_budget_fits(const char *name, int velocities, double results);
// If memory was refused: say so, with the numbers and what to do.
void kd_budget_tell(void);

#endif
