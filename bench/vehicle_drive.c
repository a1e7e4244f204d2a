// vehicle_drive.c: thread CPU time per simulated second with the default method; the tractor with semi-trailer in steps of
// 1 ms beside the car on closed loops, and whether the work of a step depends on the motion.
#include <math.h>
#include <stdlib.h>

#include "common_count.h"
#include "common_run.h"
#include "core/text.h"
#include "realtime.h"
#include "vehicle.h"

// ---- per simulated second -------------------------------------------------------------------------------------------

static void one_drive(bench *b, const char *name, double t_end)
{
    char                  path[BENCH_PATH], message[500] = "";
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_PSF;
    opt.integrator = KD_RADAU;
    kd_stats stats = {0};
    double   seconds = NAN;
    if (!bench_wants(b, "seconds.%s", name)) return;
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, name);
    if (kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0 &&
        kd_system_create(model, NULL, &system, message, sizeof message) >= 0 &&
        kd_state_create(kd_system_eom(system), &x) >= 0 && kd_system_start(system, x, message, sizeof message) >= 0) {
        opt.rtol = kd_model_run(model)->rtol;
        opt.atol = kd_model_run(model)->atol;
        if (isfinite(kd_model_run(model)->max_step)) opt.integrator_options.h_max = kd_model_run(model)->max_step;
        const double start = bench_cpu_seconds();
        if (kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, t_end, &stats, message,
                        sizeof message) >= 0) {
            seconds = (bench_cpu_seconds() - start) / t_end;
            kd_text(message, sizeof message, "%ld steps in %g s; rtol %g", stats.steps, t_end, opt.rtol);
        }
    }
    bench_row(b, bench_no_goal(false), NAN, seconds, "s", message, "seconds.%s", name);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

void vehicle_seconds(bench *b)
{
    const double share = bench_quick(b) ? 0.3 : 1;
    one_drive(b, "truck-41", 3 * share);
    one_drive(b, "passenger-car-bushings", 5 * share);
    one_drive(b, "tractor-semitrailer", 14 * share);
    one_drive(b, "coach", 10 * share);
    one_drive(b, "coach-profiles", 7 * share);
}

// ---- real time ------------------------------------------------------------------------------------------------------

enum { PIECES = 8, PIECE = 150 };

// As the row of the car in bench/realtime: stiff derivatives are renewed in this many parts
enum { PARTS = 4 };

static bool open_train(realtime_ride *r, const char *angle, int parts, char *message, size_t size)
{
    const kd_setting    set[] = {{"manoeuvre", "2"}, {"driver.at", "0.05"}, {"angle", angle}};
    kd_realtime_options opt = kd_realtime_options_default();
    opt.refresh = parts;
    return realtime_ride_open(r, "tractor-semitrailer", set, 3, NULL, &opt, message, size);
}

int vehicle_steps(const char *angle, const char *count)
{
    realtime_ride ride;
    char          message[500] = "";
    bool          good = open_train(&ride, angle, PARTS, message, sizeof message);
    for (long i = strtol(count, NULL, 10); i > 0 && good; i--) good = kd_realtime_step(ride.stepper, NULL, NULL) >= 0;
    realtime_ride_close(&ride);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Smallest time of each piece of a ride, taken in turns
static bool one_round(realtime_ride *r, double best[PIECES])
{
    bool good = kd_realtime_restore(r->stepper, r->x) >= 0;
    for (int i = 0; i < PIECES && good; i++) {
        const double start = bench_cpu_seconds();
        for (int k = 0; k < PIECE && good; k++) good = kd_realtime_step(r->stepper, NULL, NULL) >= 0;
        best[i] = fmin(best[i], bench_cpu_seconds() - start);
    }
    return good;
}

static double step_of(const double best[PIECES])
{
    double sum = 0;
    for (int i = 0; i < PIECES; i++) sum += best[i];
    return 1e6 * sum / (PIECES * PIECE);
}

static void cost_of_a_step(bench *b, int parts, const char *word)
{
    realtime_ride       ride[2];
    double              best[2][PIECES];
    char                message[500] = "";
    kd_realtime_options opt = kd_realtime_options_default();
    if (!bench_wants(b, "step.")) return;
    opt.refresh = parts;
    for (int i = 0; i < 2 * PIECES; i++) best[i / PIECES][i % PIECES] = INFINITY;
    bool       good = open_train(&ride[0], "0.03", parts, message, sizeof message);
    const bool car = realtime_ride_open(&ride[1], "closed-loop-car", NULL, 0, NULL, &opt, message, sizeof message);
    good = good && car;
    for (int r = 0; r < (bench_quick(b) ? 3 : 12) && good; r++)
        for (int k = 0; k < 2 && good; k++) good = one_round(&ride[k], best[k]);
    const double train = good ? step_of(best[0]) : NAN, other = good ? step_of(best[1]) : NAN;
    int          bodies[2] = {1, 1}, forces[2] = {0, 0};
    for (int k = 0; k < 2 && good; k++) {
        bodies[k] = kd_system_info_of(ride[k].system).nbodies;
        forces[k] = kd_system_loads_count(ride[k].system);
    }
    char each[200], note[200];
    kd_text(each, sizeof each, "steps of 1 ms, derivatives renewed in %d parts", parts);
    kd_text(note, sizeof note, "per body: %d of the train with %d forces, %d of the car with %d", bodies[0], forces[0],
            bodies[1], forces[1]);
    bench_row(b, bench_no_goal(false), NAN, train, "us", good ? each : message, "step.tractor-semitrailer%s", word);
    bench_row(b, bench_no_goal(false), NAN, other, "us", good ? each : message, "step.closed-loop-car%s", word);
    bench_row(b, parts > 1 ? bench_below(1.2) : bench_no_goal(false), NAN, (train / bodies[0]) / (other / bodies[1]),
              "", good ? note : message, "step.ratio%s", word);
    realtime_ride_close(&ride[0]);
    realtime_ride_close(&ride[1]);
}

static void work_of_a_step(bench *b)
{
    const char *steps = bench_quick(b) ? "100" : "1000";
    bench_count counts[2];
    char        note[200] = "valgrind is missing, or does not run this program";
    if (!bench_wants(b, "work.variation")) return;
    const char *const straight[] = {"--steps", "0", steps, NULL}, *const turning[] = {"--steps", "0.05", steps, NULL};
    bench_count_start(&counts[0], b, "kd_realtime_step", "straight", straight);
    bench_count_start(&counts[1], b, "kd_realtime_step", "turning", turning);
    const double a = bench_count_end(&counts[0]), t = bench_count_end(&counts[1]);
    if (isfinite(a) && isfinite(t))
        kd_text(note, sizeof note, "%s steps of the train: %.0f instructions straight on, %.0f in a turn", steps, a, t);
    bench_row(b, bench_below(0.01), NAN, fabs(t / a - 1), "", note, "work.variation");
}

void vehicle_realtime(bench *b)
{
    cost_of_a_step(b, PARTS, "");
    cost_of_a_step(b, 1, "-all");
    work_of_a_step(b);
}
