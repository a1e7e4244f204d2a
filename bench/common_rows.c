// common_rows.c: options, rows, table and JSON of the benchmarks.
#include "common_rows.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/text.h"
#include "results/file.h"
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if __has_include(<sundials/sundials_config.h>)
#include <sundials/sundials_config.h>
#endif

#define NAME_SIZE 96
#define NOTE_SIZE 240
#define MAX_ROWS 1000

char *openblas_get_config(void); // of the linked BLAS; its header is not everywhere on the include path

typedef struct row {
    char        name[NAME_SIZE], note[NOTE_SIZE];
    const char *unit;
    double      value, paper;
    bench_goal  goal;
    bool        without; // its peer is not installed
} row;

struct bench {
    bool        json, quick, check;
    const char *only; // NULL: all
    char        plots[BENCH_PATH];
    int         nrows, lost;
    row         rows[MAX_ROWS];
};

// ---- goals ----------------------------------------------------------------------------------------------------------

bench_goal bench_below(double high)
{
    return (bench_goal){-INFINITY, high, false};
}

bench_goal bench_above(double low)
{
    return (bench_goal){low, INFINITY, true};
}

bench_goal bench_between(double low, double high, bool higher)
{
    return (bench_goal){low, high, higher};
}

bench_goal bench_exactly(double value)
{
    return (bench_goal){value, value, false};
}

bench_goal bench_no_goal(bool higher)
{
    return (bench_goal){-INFINITY, INFINITY, higher};
}

static bool has_goal(const bench_goal *goal)
{
    return isfinite(goal->low) || isfinite(goal->high);
}

static bool is_met(const row *r)
{
    return r->value >= r->goal.low && r->value <= r->goal.high; // false for NaN
}

// ---- options --------------------------------------------------------------------------------------------------------

// Plots go to the folder "plots" beside the folder of the program: build/bench/NAME -> build/plots.
static void default_plots(const char *program, char *plots)
{
    const char *slash = strrchr(program, '/');
    int         length = slash ? (int)(slash - program) : 1;
    kd_text(plots, BENCH_PATH, "%.*s/../plots", length, slash ? program : ".");
}

static int usage(const char *program, const char *about, bool wanted)
{
    fprintf(wanted ? stdout : stderr,
            "usage: %s [--json] [--quick] [--check] [--only PATTERN] [--plots DIR]\n%s\n\n"
            "  --json          one array of rows instead of the table\n"
            "  --quick         fewer repetitions, shorter time spans\n"
            "  --check         answer 1 if a goal is missed or nothing was measured; a goal whose peer is not "
            "installed does not count\n"
            "  --only PATTERN  only rows whose name contains PATTERN or matches it (* and ? allowed)\n"
            "  --plots DIR     folder for plots; default: plots/ beside the folder of the program\n",
            program, about);
    return wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}

bench *bench_create(int argc, char **argv, const char *about, int *exit_status)
{
    *exit_status = EXIT_FAILURE;
    bench *b = kd_alloc(sizeof *b);
    if (!b) return NULL;
    default_plots(argv[0], b->plots);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            b->json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            b->quick = true;
        } else if (strcmp(argv[i], "--check") == 0) {
            b->check = true;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            b->only = argv[++i];
        } else if (strcmp(argv[i], "--plots") == 0 && i + 1 < argc) {
            kd_text(b->plots, sizeof b->plots, "%s", argv[++i]);
        } else {
            *exit_status = usage(argv[0], about, strcmp(argv[i], "--help") == 0);
            bench_destroy(b);
            return NULL;
        }
    }
    return b;
}

void bench_destroy(bench *b)
{
    kd_free(b);
}

bool bench_quick(const bench *b)
{
    return b->quick;
}

bool bench_json(const bench *b)
{
    return b->json;
}

const char *bench_plots(const bench *b)
{
    return mkdir(b->plots, 0777) == 0 || errno == EEXIST ? b->plots : NULL;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// The pattern fits the name, or could fit names that begin with it (prefix).
static bool fits(const char *pattern, const char *name, bool prefix)
{
    if (strstr(name, pattern) || fnmatch(pattern, name, 0) == 0) return true;
    size_t length = strlen(name), plain = strcspn(pattern, "*?[");
    if (!prefix) return false;
    return strncmp(pattern, name, length < plain ? length : plain) == 0;
}

bool bench_wants(const bench *b, const char *format, ...)
{
    char    name[NAME_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    size_t length = strlen(name);
    bool   prefix = length > 0 && (name[length - 1] == '.' || name[length - 1] == '*');
    if (prefix && name[length - 1] == '*') name[length - 1] = '\0';
    return !b->only || fits(b->only, name, prefix);
}

// Rows for which there is no room are counted: a goal among them must not pass in silence.
static void add_row(bench *b, const row *r)
{
    if (b->only && !fits(b->only, r->name, false)) return;
    if (b->nrows < MAX_ROWS)
        b->rows[b->nrows++] = *r;
    else
        b->lost++;
}

void bench_row(bench *b, bench_goal goal, double paper, double value, const char *unit, const char *note,
               const char *name_format, ...)
{
    row r = {.unit = unit, .value = value, .paper = paper, .goal = goal};
    kd_text(r.note, sizeof r.note, "%s", note);
    va_list list;
    va_start(list, name_format);
    vsnprintf(r.name, sizeof r.name, name_format, list);
    va_end(list);
    add_row(b, &r);
}

void bench_row_without(bench *b, bench_goal goal, const char *peer, const char *package, const char *name_format, ...)
{
    row     r = {.unit = "", .value = NAN, .paper = NAN, .goal = goal, .without = true};
    va_list list;
    kd_text(r.note, sizeof r.note, "built without %s (package %s)", peer, package);
    va_start(list, name_format);
    vsnprintf(r.name, sizeof r.name, name_format, list);
    va_end(list);
    add_row(b, &r);
}

// ---- output ---------------------------------------------------------------------------------------------------------

void bench_say(const bench *b, const char *format, ...)
{
    va_list list;
    if (b->json) return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    fflush(stdout);
}

static void processor(char *model, size_t size)
{
    char  line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    kd_text(model, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        kd_text(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file) fclose(file);
}

void bench_head(const bench *b)
{
    char model[128];
    processor(model, sizeof model);
    bench_say(b, "kardan %s; %s, one thread; compiler %s", kd_version(), model, __VERSION__);
#ifdef __AVX2__
    bench_say(b, ", all instructions of this machine");
#endif
    bench_say(b, "\nBLAS: %s", openblas_get_config());
#ifdef SUNDIALS_VERSION
    bench_say(b, "; SUNDIALS %s", SUNDIALS_VERSION);
#endif
    bench_say(b, "%s\n", b->quick ? "\nQUICK: shorter spans and fewer repetitions, figures are not the full ones" : "");
}

// "goal" is the bound that counts: the lower one if more is better. A goal with two sides has "range" as well.
static void put_row_json(kd_json *json, const row *r)
{
    const double range[2] = {r->goal.low, r->goal.high};
    kd_json_open(json, NULL);
    kd_json_text(json, "name", r->name);
    kd_json_number(json, "value", r->value);
    kd_json_text(json, "unit", r->unit);
    kd_json_number(json, "goal", r->goal.higher ? r->goal.low : r->goal.high);
    kd_json_text(json, "better", r->goal.higher ? "higher" : "lower");
    kd_json_number(json, "paper", r->paper);
    if (isfinite(r->goal.low) && isfinite(r->goal.high)) kd_json_numbers(json, "range", range, 2);
    kd_json_raw(json, "met", !has_goal(&r->goal) || r->without ? "null" : is_met(r) ? "true" : "false");
    if (r->note[0]) kd_json_text(json, "note", r->note);
    kd_json_close(json);
}

static const char *goal_text(const bench_goal *goal, char *text, size_t size)
{
    if (!has_goal(goal))
        kd_text(text, size, "-");
    else if (goal->low == goal->high)
        kd_text(text, size, "= %.6g", goal->low);
    else if (!isfinite(goal->low))
        kd_text(text, size, "<= %.6g", goal->high);
    else if (!isfinite(goal->high))
        kd_text(text, size, ">= %.6g", goal->low);
    else
        kd_text(text, size, "%.4g .. %.4g", goal->low, goal->high);
    return text;
}

static void put_row_text(const row *r)
{
    char goal[40], value[40] = "failed", paper[40] = "-";
    if (r->without) kd_text(value, sizeof value, "no peer");
    if (isfinite(r->value)) kd_text(value, sizeof value, "%.6g", r->value);
    if (isfinite(r->paper)) kd_text(paper, sizeof paper, "%.6g", r->paper);
    printf("%-42s %12s %-8s %-18s %8s  %-6s %s\n", r->name, value, r->unit, goal_text(&r->goal, goal, sizeof goal),
           paper,
           !has_goal(&r->goal) ? ""
           : is_met(r)         ? "met"
           : r->without        ? "-"
                               : "MISSED",
           r->note);
}

static void report_json(const bench *b)
{
    kd_json json = {.file = stdout, .layout = KD_JSON_ROWS, .digits = "%.9g"};
    kd_json_list(&json, NULL);
    for (int i = 0; i < b->nrows; i++) put_row_json(&json, &b->rows[i]);
    kd_json_list_close(&json);
    printf("\n");
}

static void report(const bench *b)
{
    if (b->json) {
        report_json(b);
    } else {
        printf("\n%-42s %12s %-8s %-18s %8s\n", "name", "value", "unit", "goal", "paper");
        for (int i = 0; i < b->nrows; i++) put_row_text(&b->rows[i]);
    }
    fflush(stdout);
}

// Goals that were met, missed and not measured, in one line of the readable output
static int count_missed(const bench *b)
{
    int met = 0, missed = 0, without = 0;
    for (int i = 0; i < b->nrows; i++) {
        const row *r = &b->rows[i];
        if (!has_goal(&r->goal)) continue;
        if (r->without)
            without++;
        else if (is_met(r))
            met++;
        else
            missed++;
    }
    bench_say(b, "\ngoals: %d met, %d missed", met, missed);
    if (without > 0) bench_say(b, ", %d not measured because the peer is not installed", without);
    bench_say(b, "\n");
    return missed;
}

// What was to be checked and was not: nothing fits --only, or there was no room
static bool is_incomplete(const bench *b)
{
    if (b->nrows == 0)
        fprintf(stderr, "no row was measured%s%s\n", b->only ? ": none fits " : "", b->only ? b->only : "");
    if (b->lost > 0) fprintf(stderr, "%d rows are left out: there is room for %d\n", b->lost, MAX_ROWS);
    return b->nrows == 0 || b->lost > 0;
}

int bench_end(bench *b)
{
    report(b);
    const int  missed = count_missed(b);
    const bool incomplete = is_incomplete(b), failed = b->check && (missed > 0 || incomplete);
    bench_destroy(b);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
