// budget.c: memory is asked for only as far as there is some.
//
// The system hands out more memory than it has and ends programs that then use it. So all memory of the library is
// counted here; what would go beyond the limit is refused, and the command ends with KD_ERR_MEMORY and the number.
// Blocks come zero-filled from the system and untouched, so that a run that does not fit is refused before it takes
// anything.
//
// OpenBLAS takes a buffer at its first call and, where it gets none, tries again for ever. Under a limit of the address
// space (ulimit -v) a child process tries that first.
#define _DEFAULT_SOURCE
#include "cli/budget.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/memory.h"
#include "core/text.h"
#include "results/recording.h"

enum { PROBE_SECONDS = 1, HEADER = 16 /* keeps the alignment of malloc */ };

static const double GIGA = 1024.0 * 1024 * 1024;

// Of the whole program, as the allocator is
static struct {
    atomic_size_t used;   // bytes now
    atomic_size_t wanted; // of the first request that was refused; 0: none was
    size_t        then;   // bytes that were used at that time
    size_t        limit;
    const char   *source; // of the limit
} budget = {.limit = SIZE_MAX};

// ---- counting -------------------------------------------------------------------------------------------------------

// allocator of the library
static void *take(size_t size, void *context)
{
    (void)context;
    // the header must still fit
    if (size > SIZE_MAX - HEADER) return NULL;
    // counted first, so that two threads cannot both get the last of it
    const size_t before = atomic_fetch_add(&budget.used, size);
    char        *memory = size <= budget.limit && before <= budget.limit - size ? calloc(1, size + HEADER) : NULL;
    // refused: the first request that was is remembered for the message
    if (!memory) {
        size_t none = 0;
        atomic_fetch_sub(&budget.used, size);
        if (atomic_compare_exchange_strong(&budget.wanted, &none, size > 0 ? size : 1)) budget.then = before;
        return NULL;
    }
    // the size stands in front of the block
    memcpy(memory, &size, sizeof size);
    return memory + HEADER;
}

// the size stands in front
static void give_back(void *memory, void *context)
{
    size_t size;
    char  *start = (char *)memory - HEADER;
    (void)context;
    memcpy(&size, start, sizeof size);
    atomic_fetch_sub(&budget.used, size);
    free(start);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

// another limit counts only if it is lower
static void lower(double bytes, const char *source)
{
    if (!(bytes >= 0) || bytes >= (double)budget.limit) return;
    budget.limit = (size_t)bytes;
    budget.source = source;
}

// The number behind a word of a file, NaN if there is none; word "": the first one
static double number_in(const char *path, const char *word)
{
    char   line[200];
    double value = NAN;
    FILE  *file = fopen(path, "r");
    while (file && isnan(value) && fgets(line, sizeof line, file)) {
        char *end;
        // the number right behind the word
        if (strncmp(line, word, strlen(word)) != 0) continue;
        value = strtod(line + strlen(word), &end);
        if (end == line + strlen(word)) value = NAN;
    }
    if (file) fclose(file);
    return value;
}

// NaN: there is no such limit
static double limit_of(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (double)limit.rlim_cur : NAN;
}

// ---- the buffer of OpenBLAS -----------------------------------------------------------------------------------------

static void call_blas(void)
{
    const double a[4] = {1, 2, 3, 4};
    double       c[4] = {0};
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1.0, a, 2, a, 2, 0.0, c, 2);
}

// Does a call of BLAS come back?
static bool blas_answers(void)
{
    int status = 0;
    // a child may hang in BLAS; the alarm ends it
    const pid_t child = fork();
    if (child < 0) return true; // not known; go on
    if (child == 0) {
        alarm(PROBE_SECONDS);
        call_blas();
        _exit(0);
    }
    return waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool reserve_blas(void)
{
    // without a limit of the address space OpenBLAS gets what it wants
    if (isnan(limit_of(RLIMIT_AS)) && isnan(limit_of(RLIMIT_DATA))) return true;
    if (!blas_answers()) return false;
    call_blas(); // it keeps the buffer from now on
    return true;
}

// ---- exported -------------------------------------------------------------------------------------------------------

bool kd_budget_start(void)
{
    static const kd_allocator allocator = {take, give_back, NULL};
    // before all else: a call of BLAS later would not come back
    if (!reserve_blas()) {
        fputs("kardan: the limit of memory (ulimit -v) is too small: OpenBLAS gets no room for its buffers; about 300 "
              "MB are needed, ulimit -v 400000\n",
              stderr);
        return false;
    }
    // the smallest of all limits
    lower(1024 * number_in("/proc/meminfo", "MemAvailable:"), "what is free of the machine's memory");
    lower(number_in("/sys/fs/cgroup/memory.max", ""), "the limit of this control group");
    lower(number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""), "the limit of this control group");
    lower(limit_of(RLIMIT_AS), "ulimit -v");
    lower(limit_of(RLIMIT_DATA), "ulimit -d");
    kd_set_allocator(&allocator);
    kd_trust_zeros();
    return true;
}

bool kd_budget_set(const char *text)
{
    static const char letters[] = "KMGT";
    char             *end;
    double            bytes = strtod(text, &end);
    // a letter in either case, then perhaps "iB" or "B"
    const char *letter = *end ? strchr(letters, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (end == text || !(bytes > 0)) return false;
    // 1024^1 .. 1024^4
    if (letter) bytes *= pow(1024, (double)(letter - letters) + 1), end++;
    if (letter && *end == 'i') end++;
    if (*end == 'B') end++;
    if (*end != '\0') return false;
    budget.limit = bytes < 1e18 ? (size_t)bytes : SIZE_MAX;
    budget.source = "--memory";
    return true;
}

double kd_budget_left(void)
{
    // what is left of it; never below 0
    const size_t used = atomic_load(&budget.used);
    return budget.limit > used ? (double)(budget.limit - used) : 0;
}

const char *kd_budget_bytes(double bytes, char *text, size_t size)
{
    if (bytes >= 0.1 * GIGA)
        kd_text(text, size, "%.3g GB", bytes / GIGA);
    else
        kd_text(text, size, "%.3g MB", bytes / GIGA * 1024);
    return text;
}

void kd_budget_describe(char *text, size_t size)
{
    char limit[40];
    kd_text(text, size, "the limit is %s (%s)", kd_budget_bytes((double)budget.limit, limit, sizeof limit),
            budget.source ? budget.source : "none");
}

bool kd_budget_fits(const char *name, int velocities, double results)
{
    // about what full matrices of a run take
    const double matrices = kd_run_bytes(velocities);
    char         total[40], part[2][40], text[200];
    // half of the estimate: refuse only what surely does not fit
    if (0.5 * matrices + results <= kd_budget_left()) return true;
    kd_budget_describe(text, sizeof text);
    fprintf(
        stderr,
        "kardan: %s: this needs about %s of memory: matrices of %d velocities %s, results %s; %s. Fewer --intervals, "
        "channels or bodies need less; --memory SIZE (4G) sets another limit\n",
        name, kd_budget_bytes(matrices + results, total, sizeof total), velocities,
        kd_budget_bytes(matrices, part[0], sizeof part[0]), kd_budget_bytes(results, part[1], sizeof part[1]), text);
    return false;
}

void kd_budget_tell(void)
{
    const double wanted = (double)atomic_load(&budget.wanted);
    char         own[40], more[40], text[200];
    if (wanted == 0) return;
    kd_budget_describe(text, sizeof text);
    fprintf(
        stderr,
        "kardan: memory: %s in use, %s more were wanted; %s. Fewer --intervals, bodies or channels need less; --memory "
        "SIZE (4G) sets another limit\n",
        kd_budget_bytes((double)budget.then, own, sizeof own), kd_budget_bytes(wanted, more, sizeof more), text);
}
