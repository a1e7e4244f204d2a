// common_rows.h: what every benchmark shares: options, rows with goals, the readable table and the JSON array.
#ifndef KD_BENCH_ROWS_H
#define KD_BENCH_ROWS_H

#include <kardan/base.h>

#define BENCH_PATH 512

// What a value should be: low <= value <= high; an infinite bound is open. Both infinite: no goal.
typedef struct bench_goal {
    double low, high;
    bool   higher; // more is better
} bench_goal;

bench_goal bench_below(double high);
bench_goal bench_above(double low);
bench_goal bench_between(double low, double high, bool higher);
bench_goal bench_exactly(double value);
bench_goal bench_no_goal(bool higher);

typedef struct bench bench;

// Options of the command line: --json, --quick, --check, --only PATTERN, --plots DIR, --help. NULL: the program ends
// with *exit_status (help was printed, or an option is wrong).
bench      *bench_create(int argc, char **argv, const char *about, int *exit_status);
void        bench_destroy(bench *b);
bool        bench_quick(const bench *b);
bool        bench_json(const bench *b);
const char *bench_plots(const bench *b); // folder for plots, made on first use; NULL: cannot be made

// Does --only allow rows of this name? A name that ends with a dot or star stands for all that begin with it.
bool bench_wants(const bench *b, const char *format, ...) KD_PRINTF(2, 3);

// One measured value. value NaN: not measured, the note says why. paper NaN: no such number. note may be "".
void bench_row(bench *b, bench_goal goal, double paper, double value, const char *unit, const char *note,
               const char *name_format, ...) KD_PRINTF(7, 8);

// Text of the readable output, silent with --json.
void bench_say(const bench *b, const char *format, ...) KD_PRINTF(2, 3);
// Processor, compiler, libraries.
void bench_head(const bench *b);
// A row that cannot be measured because its peer is not installed: no goal is missed by that, but it is said.
void bench_row_without(bench *b, bench_goal goal, const char *peer, const char *package, const char *name_format, ...)
    KD_PRINTF(5, 6);
// The table of all rows, or the JSON array; how many goals were missed. Destroys b and answers the exit status of the
// program: with --check 1 if a goal was missed or no row was measured, 0 otherwise.
int bench_end(bench *b);

#endif
