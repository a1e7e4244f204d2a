// realtime_work.c: does the work of a step depend on the motion? Instructions of steps of the HMMWV on a smooth road
// and over its bump, counted by callgrind inside kd_realtime_step: the program starts itself under valgrind.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"
#include "realtime.h"

extern char **environ;

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

// Exit status of valgrind with this program; -1: it could not be started
static int run_callgrind(const char *file, const char *reach, const char *count)
{
    posix_spawn_file_actions_t actions;
    char                       self[BENCH_PATH] = "", out[BENCH_PATH + 50];
    pid_t                      child = 0;
    int                        status = -1;
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return -1;
    kd_text(out, sizeof out, "--callgrind-out-file=%s", file);
    // clang-format off
    const char *arguments[] = {"valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=kd_realtime_step",
                               out, self, "--steps", reach, count, NULL};
    // clang-format on
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, "valgrind", &actions, NULL, (char *const *)arguments, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static double total_in(const char *path)
{
    FILE  *file = fopen(path, "r");
    char   line[1000];
    double total = NAN;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "summary: %lf", &total) == 1 || sscanf(line, "totals: %lf", &total) == 1) break;
    if (file) fclose(file);
    return total;
}

static double instructions(const bench *b, const char *reach, const char *count)
{
    char path[BENCH_PATH + 50];
    if (!bench_plots(b)) return NAN;
    kd_text(path, sizeof path, "%s/realtime-work.%ld.callgrind", bench_plots(b), (long)getpid());
    const double total = run_callgrind(path, reach, count) == 0 ? total_in(path) : NAN;
    (void)remove(path);
    return total;
}

void realtime_work(bench *b)
{
    const char *count = bench_quick(b) ? "200" : "1000";
    char        note[200];
    if (!bench_wants(b, "work.variation") && !bench_wants(b, "work.instructions")) return;
    const double bump = instructions(b, ON_BUMP, count),
                 smooth = isnan(bump) ? NAN : instructions(b, BEFORE_BUMP, count);
    if (isnan(bump) || isnan(smooth))
        kd_text(note, sizeof note, "valgrind is missing, or does not run this program");
    else
        kd_text(note, sizeof note, "%s steps of the HMMWV: %.0f instructions over the bump, %.0f on a smooth road",
                count, bump, smooth);
    bench_row(b, bench_below(0.01), NAN, fabs(bump / smooth - 1), "", note, "work.variation");
    bench_row(b, bench_no_goal(false), NAN, smooth / strtod(count, NULL), "", "of one step of the HMMWV",
              "work.instructions");
}
