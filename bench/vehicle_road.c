// vehicle_road.c: what a measured road costs: the elevations that four wheels with four points each ask for every millisecond
// along halfround_4in at 20 m/s, beside the time of driving, and beside the step of a car with such tyres.
#include <math.h>

#include "common_run.h"
#include "core/text.h"
#include "vehicle.h"
#include "vehicle/crg.h"

#define ROAD KD_SOURCE_DIR "/../shared/vehicle/roads/halfround_4in.crg"
#define SPEED 20.0
#define STEP 1e-3
#define WAY 95.0

void vehicle_road(bench *b)
{
    kd_crg *crg = NULL;
    char    message[500] = "";
    if (!bench_wants(b, "road.share")) return;
    if (kd_crg_read(ROAD, &crg, message, sizeof message) < 0) {
        bench_row(b, bench_below(0.01), NAN, NAN, "", message, "road.share");
        return;
    }
    const long          steps = lrint(WAY / SPEED / STEP);
    double              best = INFINITY, sum = 0;
    static const double at[4][2] = {{1.35, 0.75}, {1.35, -0.75}, {-1.35, 0.75}, {-1.35, -0.75}};
    static const double patch[4][2] = {{0.06, 0}, {-0.06, 0}, {0, 0.08}, {0, -0.08}};
    for (int round = 0; round < (bench_quick(b) ? 3 : 10); round++) {
        const double start = bench_cpu_seconds();
        for (long i = 0; i < steps; i++)
            for (int k = 0; k < 16; k++) {
                double z[3];
                kd_crg_at(crg, 2 + SPEED * STEP * (double)i + at[k / 4][0] + patch[k % 4][0],
                          at[k / 4][1] + patch[k % 4][1], z, NULL);
                sum += z[0];
            }
        best = fmin(best, bench_cpu_seconds() - start);
    }
    kd_text(message, sizeof message, "%.3g ms for %.3g s of driving, 16 elevations each millisecond (sum %.3g m)",
            1e3 * best, WAY / SPEED, sum);
    bench_row(b, bench_below(0.01), NAN, best / (WAY / SPEED), "", message, "road.share");
    kd_crg_destroy(crg);
}
