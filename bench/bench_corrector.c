// bench_corrector.c: the corrector iteration of bdf: S0 tables 1, 2 and 3 (evaluations and updates of the Newton
// matrix by differences and analytic), work against SUNDIALS IDA on the same GGL equations, growth of the time per step
// with the length of a chain; S0 figures 3, 4, 5 and 7.
#include "corrector.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "The corrector iteration of bdf: the experiments of S0, and IDA beside it.",
                            &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    corrector_tables(b);
    corrector_ratios(b);
    corrector_growth(b);
    corrector_pictures(b);
    return bench_end(b);
}
