// bench_statespace.c: the experiments of S2 (D. Negrut, E. J. Haug, H. C. German) made again: double pendulum with two
// rotational spring-dampers (tables II and III), HMMWV over a bump (tables V and VI, figure 5).
#include "statespace.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "State-space form and SDIRK 4/15: the experiments of S2.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    statespace_pendulum(b);
    statespace_hmmwv(b);
    statespace_times(b);
    return bench_end(b);
}
