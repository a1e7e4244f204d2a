// vehicle_rail.c: wheels on measured profiles in curves: do the runs end.
#include <math.h>
#include <stdio.h>

#include "vehicle_gallery.h"

static vehicle_run run;

void vehicle_rail(bench *b)
{
    static const int radius[] = {6000, 2000, 1000, 500};
    for (int k = 0; k < 4; k++) {
        char settings[40];
        if (!bench_wants(b, "rail.profiles_%d", radius[k])) continue;
        snprintf(settings, sizeof settings, "radius=%d", radius[k]);
        const double t_end = bench_quick(b) ? 4.0 : 10.0;
        vehicle_simulate("wheel-profiles", settings, t_end, 10, &run);
        bench_row(b, bench_above(t_end - 1e-9), NAN, run.t, "s", run.message, "rail.profiles_%d", radius[k]);
    }
}
