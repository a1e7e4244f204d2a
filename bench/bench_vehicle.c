// bench_vehicle.c: vehicles at the papers' size: Newton matrices of a car with 200 positions (S0, table 3), beside IDA; time
// per simulated second; steps in real time of a tractor with semi-trailer; roads.
#include "vehicle.h"

#include <string.h>

int main(int argc, char **argv)
{
    int exit_status;
    if (argc == 4 && strcmp(argv[1], "--steps") == 0) return vehicle_steps(argv[2], argv[3]);
    bench *b = bench_create(argc, argv, "Vehicles at the papers' size: Newton matrices, time, real time, roads.",
                            &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    vehicle_table(b);
    vehicle_ida(b);
    vehicle_seconds(b);
    vehicle_realtime(b);
    vehicle_road(b);
    vehicle_contact(b);
    vehicle_rail(b);
    return bench_end(b);
}
