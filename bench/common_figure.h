// common_figure.h: a figure as NAME.svg and its numbers as NAME.csv in the folder of plots.
#ifndef KD_BENCH_FIGURE_H
#define KD_BENCH_FIGURE_H

#include "common_rows.h"
#include "report/svg.h"

// Columns of the table: panel (title of the plot), series, x, y under the axis labels of the first plot. What cannot be
// written is reported on stderr; the benchmark goes on.
void bench_figure(const bench *b, const char *name, const kd_plot *plots, int nplots, int columns);

#endif
