// report/svg.h: line plots as SVG: linear and logarithmic axes, legend, several series, several plots in one picture.
#ifndef KD_REPORT_SVG_H
#define KD_REPORT_SVG_H

#include <kardan/base.h>
#include <stdio.h>

typedef struct kd_series {
    const char   *name;  // in the legend; NULL: not listed
    const double *x, *y; // (n) NaN and infinity interrupt the line, as do values <= 0 on a logarithmic axis
    int           n;
    int           xstride; // distance of values in memory; 0 means 1
    int           ystride;
    bool          markers; // a dot at each point
    bool          dashed;
    bool          dotted;
    bool          faint; // thin and grey, below the others; put it behind them in the list
} kd_series;

typedef struct kd_plot {
    const char      *title;
    const char      *xlabel, *ylabel; // may be NULL, as the title
    bool             xlog, ylog;
    int              width, height; // [px]; 0: 640 x 340
    int              nseries;
    const kd_series *series;
    const char      *note; // small line below the title; may be NULL
    const double *mark; // (nmarks) thin vertical lines at these x, rising; close ones are drawn once, very many are not
    int           nmarks;
} kd_plot;

// Write nplots plots, arranged in columns, as one <svg> element. The stream's error flag tells whether all was written.
void kd_svg_write(FILE *file, const kd_plot *plots, int nplots, int columns);
// The same as a file of its own.
kd_status kd_svg_save(const char *path, const kd_plot *plots, int nplots, int columns, char *message,
                      size_t size) KD_NODISCARD;

// The ends of an axis and its ticks: first, first + step, ... (on a logarithmic axis these are powers of ten).
typedef struct kd_plot_axis {
    bool   log;
    double low, high;   // ends; decimal logarithms if log
    double first, step; // of the ticks
    int    nticks;
    int    exponent; // linear: labels are value / 10^exponent
    int    decimals; // of the labels
} kd_plot_axis;

// A good axis for data between low and high (low > high: no data).
kd_plot_axis kd_svg_axis(double low, double high, bool log, int max_ticks);

#endif
