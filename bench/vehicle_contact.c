// vehicle_contact.c: smooth surfaces in contact: closed forms, energy, what they cost.
#include <math.h>

#include "vehicle_gallery.h"

static vehicle_run run;

static double largest(const char *sensor, double wanted)
{
    double most = 0.0;
    for (int k = 0; k < run.rows; k++) most = fmax(most, fabs(vehicle_sensor(&run, k, sensor) - wanted));
    return run.rows > 0 ? most : NAN;
}

void vehicle_contact(bench *b)
{
    const double stop = 2.0 / (9.81 * (0.5 * cos(0.3) - sin(0.3)));
    if (!bench_wants(b, "contact.")) return;
    vehicle_simulate("rolling-ellipsoid", "", bench_quick(b) ? 1.0 : 5.0, 50, &run);
    bench_row(b, bench_below(1e-8), NAN, largest("energy", vehicle_sensor(&run, 0, "energy")), "J", run.message,
              "contact.ellipsoid_energy");
    bench_row(b, bench_below(1e-9), NAN, largest("gap", 0.0), "m", "rolling constraint", "contact.ellipsoid_gap");
    vehicle_simulate("sliding-ball", "", 1.0, 50, &run);
    bench_row(b, bench_below(1e-8), NAN, fabs(vehicle_sensor(&run, -1, "vx") - 15.0 / 7.0), "m/s", "5/7 v0",
              "contact.sliding_to_rolling");
    vehicle_simulate("ramp-block", "", 1000.0, 10, &run);
    bench_row(b, bench_below(0.0), NAN, largest("x", 0.0), "m", "1000 s", "contact.ramp_creep");
    vehicle_simulate("ramp-block", "vx=2", 2.0, 10, &run);
    bench_row(b, bench_below(1e-9), NAN, fabs(vehicle_sensor(&run, -1, "x") - stop), "m", "where it stops (2 stop/2)",
              "contact.ramp_stop");
}
