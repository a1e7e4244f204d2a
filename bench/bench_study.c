// bench_study.c: what studies cost: the engine beside the runs themselves, two processes of MPI and two threads beside one, on 10,000 runs of the
// quarter car.
#include <kardan/kardan.h>
#include <kardan/study.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common_rows.h"

#define FOLDER "/tmp/kardan-bench-study"

static double clock_of(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double processor_of_children(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)usage.ru_stime.tv_usec;
}

static void write_study(char *text, size_t size, int rows)
{
    snprintf(text, size,
             "study: quarter car\nmodel: %s/quarter-car.yaml\nrun: {t_end: 1, intervals: 100}\n"
             "parameters: {ks: {range: [1.5e4, 2.5e4]}, cs: {normal: [1500, 150]}}\n"
             "design: {latin: %d, seed: 1}\noutputs: {comfort: {rms: comfort}, lightest: {min: wheel-load}}\n",
             KD_MODELS_DIR, rows);
}

// ---- overhead -------------------------------------------------------------------------------------------------------

// Processor time of all rows by the engine, in one thread, rows kept on disk
static double by_engine(const char *text)
{
    kd_study            *s;
    char                 message[1000];
    kd_study_run_options opt = kd_study_run_options_default();
    if (kd_study_read_text("study", text, strlen(text), &s, message, sizeof message) < 0) return NAN;
    opt.threads = 1, opt.folder = FOLDER "-engine";
    if (system("rm -rf " FOLDER "-engine") != 0) return NAN;
    const double    start = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    const kd_status status = kd_study_run(s, &opt, message, sizeof message);
    const double    time = clock_of(CLOCK_PROCESS_CPUTIME_ID) - start;
    kd_study_destroy(s);
    return status < 0 ? NAN : time;
}

// The same runs without an engine: a system whose parameters change, and a recorder
static double by_hand(const char *text)
{
    kd_study    *s;
    kd_model    *model;
    kd_system   *system;
    kd_recorder *recorder;
    kd_state    *x;
    char         message[1000];
    double       value[2], theta[100];
    if (kd_study_read_text("study", text, strlen(text), &s, message, sizeof message) < 0 ||
        kd_model_read(KD_MODELS_DIR "/quarter-car.yaml", NULL, 0, &model, message, sizeof message) < 0)
        return NAN;
    kd_recorder_options   recording = kd_recorder_options_default();
    kd_simulation_options options;
    recording.intervals = 100;
    const double start = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    kd_status    status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_recorder_create(system, &recording, &recorder, message, sizeof message);
    const int n = kd_model_parameters(model, NULL, 0);
    for (int row = 0; row < kd_study_rows(s) && status >= 0 && n <= 100; row++) {
        memcpy(theta, kd_system_parameters(system), (size_t)n * sizeof *theta);
        status = kd_study_point(s, row, value);
        theta[kd_model_parameter_index(model, "ks")] = value[0],
                                              theta[kd_model_parameter_index(model, "cs")] = value[1];
        if (status >= 0) status = kd_system_set_parameters(system, theta, message, sizeof message);
        if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
        if (status < 0) break;
        status = kd_system_start(system, x, message, sizeof message);
        if (status >= 0) status = kd_system_run_options(system, &options, message, sizeof message);
        if (status >= 0) status = kd_recorder_simulate(recorder, &options, x, 1);
        kd_state_destroy(x);
    }
    const double time = clock_of(CLOCK_PROCESS_CPUTIME_ID) - start;
    kd_recorder_destroy(recorder);
    kd_system_destroy(system);
    kd_model_destroy(model);
    kd_study_destroy(s);
    return status < 0 ? NAN : time;
}

static void measure_overhead(bench *b)
{
    const int rows = bench_quick(b) ? 200 : 1000;
    char      text[1000], note[200];
    double    engine = INFINITY, hand = INFINITY;
    write_study(text, sizeof text, rows);
    for (int i = 0; i < (bench_quick(b) ? 3 : 7); i++)
        engine = fmin(engine, by_engine(text)), hand = fmin(hand, by_hand(text));
    const double each = (engine - hand) / rows;
    snprintf(note, sizeof note, "%.0f us per row beside %.2f ms of its run, processor time", 1e6 * each,
             1e3 * hand / rows);
    bench_row(b, bench_below(1), NAN, 100 * each / 0.01, "%", note, "overhead.10ms");
}

// ---- processes and threads ------------------------------------------------------------------------------------------

typedef struct taken {
    double wall, processor;
} taken;

static taken run_command(const char *command)
{
    const double wall = clock_of(CLOCK_MONOTONIC), processor = processor_of_children();
    const int    status = system(command);
    const taken  t = {clock_of(CLOCK_MONOTONIC) - wall, processor_of_children() - processor};
    return status == 0 ? t : (taken){NAN, NAN};
}

static void measure_speed(bench *b, const char *what, const char *one, const char *two)
{
    taken       best[2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
    const char *command[2] = {one, two};
    char        note[200], text[3000];
    for (int i = 0; i < (bench_quick(b) ? 1 : 3); i++)
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "rm -rf " FOLDER "-rows && %s >/dev/null", command[k]);
            const taken t = run_command(text);
            best[k].wall = fmin(best[k].wall, t.wall), best[k].processor = fmin(best[k].processor, t.processor);
        }
    snprintf(note, sizeof note, "%.1f and %.1f s by the clock of the wall, %.1f and %.1f s of processors", best[0].wall,
             best[1].wall, best[0].processor, best[1].processor);
    bench_row(b, bench_above(1.8), NAN, best[0].wall / best[1].wall, "times", note, "%s.wall", what);
    bench_row(b, bench_above(1.8), NAN, 2 * best[0].processor / best[1].processor, "times",
              "what two idle processors would give, by processor time", "%s.processor", what);
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(
        argc, argv, "What studies cost: overhead of a row, two processes and two threads beside one.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    char text[1000], one[1500], two[1500];
    write_study(text, sizeof text, bench_quick(b) ? 1000 : 10000);
    FILE *file = fopen(FOLDER ".yaml", "w");
    if (file) (void)fputs(text, file), (void)fclose(file);
    if (bench_wants(b, "overhead.")) measure_overhead(b);
    const char *kardan = KD_BINARY_DIR "/kardan study " FOLDER ".yaml --quiet --output " FOLDER "-rows";
    if (bench_wants(b, "threads.2.")) {
        snprintf(one, sizeof one, "%s --jobs 1", kardan), snprintf(two, sizeof two, "%s --jobs 2", kardan);
        measure_speed(b, "threads.2", one, two);
    }
    const char *mpirun = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe";
    if (bench_wants(b, "ranks.2.") &&
        (system("command -v mpirun >/dev/null") != 0 || access(KD_BINARY_DIR "/kardan-mpi.so", R_OK) != 0)) {
        bench_row_without(b, bench_above(1.8), "OpenMPI", "libopenmpi-dev, openmpi-bin", "ranks.2.wall");
    } else if (bench_wants(b, "ranks.2.")) {
        snprintf(one, sizeof one, "%s -n 1 %s --mpi", mpirun, kardan),
            snprintf(two, sizeof two, "%s -n 2 %s --mpi", mpirun, kardan);
        measure_speed(b, "ranks.2", one, two);
    }
    if (system("rm -rf " FOLDER "*") != 0) bench_say(b, "files stay in " FOLDER "\n");
    return bench_end(b);
}
