// common_count.c: see common_count.h.
#include "common_count.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

extern char **environ;

void bench_count_start(bench_count *c, const bench *b, const char *function, const char *word,
                       const char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    char                       self[BENCH_PATH] = "", out[BENCH_PATH + 110], toggle[200];
    c->child = 0;
    if (!bench_plots(b) || readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return;
    kd_text(c->path, sizeof c->path, "%s/work.%ld.%s.callgrind", bench_plots(b), (long)getpid(), word);
    kd_text(out, sizeof out, "--callgrind-out-file=%s", c->path);
    kd_text(toggle, sizeof toggle, "--toggle-collect=%s", function);
    const char *command[6 + BENCH_COUNT_ARGUMENTS + 1] = {
        "valgrind", "--tool=callgrind", "--collect-atstart=no", toggle, out, self};
    for (int i = 0; i < BENCH_COUNT_ARGUMENTS && arguments[i]; i++) command[6 + i] = arguments[i];
    if (posix_spawn_file_actions_init(&actions) != 0) return;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&c->child, "valgrind", &actions, NULL, (char *const *)command, environ) != 0) c->child = 0;
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

double bench_count_end(const bench_count *c)
{
    int status = -1;
    if (c->child <= 0) return NAN;
    while (waitpid(c->child, &status, 0) < 0 && errno == EINTR) {
    }
    const double total = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? total_in(c->path) : NAN;
    (void)remove(c->path);
    return total;
}
