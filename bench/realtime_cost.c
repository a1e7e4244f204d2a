// realtime_cost.c: CPU time of a step of 1 ms of larger models in joint coordinates, with ggl, the default, and with
// sequential regularisation of order 1 (S4 3.4, 4.3). The smallest time of each piece of the run counts.
#include <math.h>

#include "common_run.h"
#include "core/text.h"
#include "realtime.h"

enum { PIECES = 10, PIECE = 150 }; // steps of a piece

typedef struct piece_times {
    double seconds[PIECES];
    double defect; // largest |g|
} piece_times;

static bool one_round(realtime_ride *r, int pieces, piece_times *t)
{
    bool good = kd_realtime_restore(r->stepper, r->x) >= 0;
    for (int i = 0; i < pieces && good; i++) {
        kd_realtime_defect defect = {.position = NAN, .velocity = NAN};
        const double       start = bench_cpu_seconds();
        for (int k = 0; k < PIECE && good; k++) good = kd_realtime_step(r->stepper, NULL, NULL) >= 0;
        t->seconds[i] = fmin(t->seconds[i], bench_cpu_seconds() - start);
        good = good && kd_realtime_defects(r->stepper, &defect) >= 0;
        t->defect = fmax(t->defect, defect.position);
    }
    return good;
}

static void measure(bench *b, const char *name, kd_realtime_stabilisation stabilisation, const char *word)
{
    kd_realtime_options opt = kd_realtime_options_default();
    realtime_ride       ride;
    piece_times         t = {.defect = 0};
    char                message[500] = "";
    double              sum = 0;
    const int           pieces = bench_quick(b) ? 3 : PIECES, rounds = bench_quick(b) ? 1 : 10;
    if (!bench_wants(b, "cost.%s.%s", name, word)) return;
    opt.stabilisation = stabilisation;
    for (int i = 0; i < PIECES; i++) t.seconds[i] = INFINITY;
    bool good = realtime_ride_open(&ride, name, NULL, 0, NULL, &opt, message, sizeof message);
    for (int r = 0; r < rounds && good; r++)
        if (!(good = one_round(&ride, pieces, &t)))
            kd_text(message, sizeof message, "%s", kd_realtime_message(ride.stepper));
    for (int i = 0; i < pieces; i++) sum += t.seconds[i];
    if (good) kd_text(message, sizeof message, "steps of 1 ms; largest |g| %.1e", t.defect);
    bench_row(b, bench_no_goal(false), NAN, good ? 1e6 * sum / (pieces * PIECE) : NAN, "us", message, "cost.%s.%s",
              name, word);
    realtime_ride_close(&ride);
}

void realtime_cost(bench *b)
{
    static const char *const models[] = {"hmmwv", "carriage"};
    for (int i = 0; i < 2; i++) {
        measure(b, models[i], KD_REALTIME_GGL, "ggl");
        measure(b, models[i], KD_REALTIME_REGULARISATION, "regularisation");
    }
}
