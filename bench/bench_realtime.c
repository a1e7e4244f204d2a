// bench_realtime.c: steps of fixed work (B. Burgermeister, M. Arnold, B. Esterl, DAE time integration for real-time
// applications in multi-body dynamics: "S4"): stability, drift and global error of the linear-implicit Euler methods,
// cost of a step beside MuJoCo, long drives.
#include "realtime.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b =
        bench_create(argc, argv, "Steps in real time: the experiments of S4 made again, and vehicles.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    realtime_vehicle(b);
    realtime_long(b);
    bench_report(b);
    bench_destroy(b);
    return EXIT_SUCCESS;
}
