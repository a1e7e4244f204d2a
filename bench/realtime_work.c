// realtime_work.c: does the work of a step depend on the motion? Instructions of steps of the HMMWV on a smooth road
// and over its bump, counted by callgrind inside kd_realtime_step: the program starts itself under valgrind.
#include <math.h>
#include <stdlib.h>

#include "common_count.h"
#include "core/text.h"
#include "realtime.h"

#define ON_BUMP "0.05"     // time at which the front wheels meet the bump [s]; the rear ones 0.74 s later
#define BEFORE_BUMP "1000" // never

int realtime_work_steps(const char *reach, const char *count)
{
    const kd_setting    setting = {"reach", reach};
    kd_realtime_options opt = kd_realtime_options_default();
    realtime_ride       ride;
    char                message[500] = "";
    bool                good = realtime_ride_open(&ride, "hmmwv", &setting, 1, NULL, &opt, message, sizeof message);
    for (long i = strtol(count, NULL, 10); i > 0 && good; i--) good = kd_realtime_step(ride.stepper, NULL, NULL) >= 0;
    realtime_ride_close(&ride);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void realtime_work(bench *b)
{
    const char *steps = bench_quick(b) ? "100" : "1000";
    char        note[200] = "valgrind is missing, or does not run this program";
    bench_count counts[2];
    if (!bench_wants(b, "work.variation") && !bench_wants(b, "work.instructions")) return;
    const char *const on[] = {"--steps", ON_BUMP, steps, NULL}, *const before[] = {"--steps", BEFORE_BUMP, steps, NULL};
    bench_count_start(&counts[0], b, "kd_realtime_step", "bump", on);
    bench_count_start(&counts[1], b, "kd_realtime_step", "smooth", before);
    const double bump = bench_count_end(&counts[0]), smooth = bench_count_end(&counts[1]);
    if (isfinite(bump) && isfinite(smooth))
        kd_text(note, sizeof note, "%s steps of the HMMWV: %.0f instructions over the bump, %.0f on a smooth road",
                steps, bump, smooth);
    bench_row(b, bench_below(0.01), NAN, fabs(bump / smooth - 1), "", note, "work.variation");
    bench_row(b, bench_no_goal(false), NAN, smooth / strtod(steps, NULL), "",
              isfinite(smooth) ? "of one step of the HMMWV" : note, "work.instructions");
}
