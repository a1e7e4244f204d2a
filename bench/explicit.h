// explicit.h: the parts of the benchmark "explicit".
#ifndef KD_BENCH_EXPLICIT_H
#define KD_BENCH_EXPLICIT_H

#include "common_rows.h"

// Rows constants.*: step-size constants of dop853 on problems on which they were not chosen.
void explicit_constants(bench *b);

#endif
