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

typedef struct count {
    char  path[BENCH_PATH + 50]; // what callgrind writes
    pid_t child;                 // <= 0: not started
} count;

// Starts valgrind with this program.
static void count_start(count *c, const bench *b, const char *reach, const char *steps)
{
    posix_spawn_file_actions_t actions;
    char                       self[BENCH_PATH] = "", out[BENCH_PATH + 80];
    c->child = 0;
    if (!bench_plots(b) || readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return;
    kd_text(c->path, sizeof c->path, "%s/realtime-work.%ld.%s.callgrind", bench_plots(b), (long)getpid(), reach);
    kd_text(out, sizeof out, "--callgrind-out-file=%s", c->path);
    // clang-format off
    const char *arguments[] = {"valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=kd_realtime_step",
                               out, self, "--steps", reach, steps, NULL};
    // clang-format on
    if (posix_spawn_file_actions_init(&actions) != 0) return;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&c->child, "valgrind", &actions, NULL, (char *const *)arguments, environ) != 0) c->child = 0;
    posix_spawn_file_actions_destroy(&actions);
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

// Instructions; NaN: it did not run to its end
static double count_end(const count *c)
{
    int status = -1;
    if (c->child <= 0) return NAN;
    while (waitpid(c->child, &status, 0) < 0 && errno == EINTR) {
    }
    const double total = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? total_in(c->path) : NAN;
    (void)remove(c->path);
    return total;
}

void realtime_work(bench *b)
{
    const char *steps = bench_quick(b) ? "100" : "1000";
    char        note[200] = "valgrind is missing, or does not run this program";
    count       counts[2];
    if (!bench_wants(b, "work.variation") && !bench_wants(b, "work.instructions")) return;
    count_start(&counts[0], b, ON_BUMP, steps);
    count_start(&counts[1], b, BEFORE_BUMP, steps);
    const double bump = count_end(&counts[0]), smooth = count_end(&counts[1]);
    if (isfinite(bump) && isfinite(smooth))
        kd_text(note, sizeof note, "%s steps of the HMMWV: %.0f instructions over the bump, %.0f on a smooth road",
                steps, bump, smooth);
    bench_row(b, bench_below(0.01), NAN, fabs(bump / smooth - 1), "", note, "work.variation");
    bench_row(b, bench_no_goal(false), NAN, smooth / strtod(steps, NULL), "",
              isfinite(smooth) ? "of one step of the HMMWV" : note, "work.instructions");
}
