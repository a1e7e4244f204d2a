// bench_coupling.c: co-simulation: limits of stability and orders of the masters for two masses, a truck in two halves, threads.
#include "coupling.h"

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "Coupling of systems that run side by side.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    coupling_limits(b);
    coupling_orders(b);
    coupling_rigid(b);
    coupling_truck(b);
    coupling_semi_active(b);
    coupling_threads(b);
    return bench_end(b);
}
