// bench_realtime.c: steps of fixed work (B. Burgermeister, M. Arnold, B. Esterl, DAE time integration for real-time
// applications in multi-body dynamics: "S4"): stability, drift and global error of the linear-implicit Euler methods,
// cost of a step beside MuJoCo, long drives.
#include "realtime.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int exit_status;
    if (argc == 4 && strcmp(argv[1], "--steps") == 0) return realtime_work_steps(argv[2], argv[3]);
    bench *b =
        bench_create(argc, argv, "Steps in real time: the experiments of S4 made again, and vehicles.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    realtime_stability(b);
    realtime_track(b);
    realtime_axis(b);
    realtime_hitch(b);
    realtime_work(b);
    realtime_cost(b);
    realtime_vehicle(b);
    realtime_long(b);
    return bench_end(b);
}
