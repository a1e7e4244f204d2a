// common_count.h: instructions inside one function, counted by callgrind: the program starts itself under valgrind.
#ifndef KD_BENCH_COUNT_H
#define KD_BENCH_COUNT_H

#include <sys/types.h>

#include "common_rows.h"

enum { BENCH_COUNT_ARGUMENTS = 6 };

typedef struct bench_count {
    char  path[BENCH_PATH + 80]; // what callgrind writes
    pid_t child;                 // <= 0: not started
} bench_count;

// Start this program under callgrind with arguments (up to NULL), counting inside of a function only. word: in the name
// of its file, of letters and digits.
void bench_count_start(bench_count *c, const bench *b, const char *function, const char *word,
                       const char *const *arguments);
// Instructions; NaN: it did not run to its end, or valgrind is missing
double bench_count_end(const bench_count *c);

#endif
