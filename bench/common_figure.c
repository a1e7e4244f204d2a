// common_figure.c: figures as SVG, with the numbers that they show as CSV.
#include "common_figure.h"
#include "core/rounded.h"
#include "core/text.h"
#include "results/file.h"
#include <math.h>

static int stride(int given)
{
    return given ? given : 1;
}

static void write_series(FILE *file, const char *panel, const kd_series *s)
{
    char x[40], y[40];
    for (int i = 0; i < s->n; i++) {
        double xi = s->x[i * stride(s->xstride)], yi = s->y[i * stride(s->ystride)];
        if (!isfinite(xi) || !isfinite(yi)) continue;
        fprintf(file, "\"%s\",\"%s\",%s,%s\n", panel, s->name, kd_rounded_text(xi, "%.9g", x, sizeof x),
                kd_rounded_text(yi, "%.9g", y, sizeof y));
    }
}

static kd_status write_numbers(const char *path, const kd_plot *plots, int nplots, char *message, size_t size)
{
    FILE     *file;
    kd_status status = kd_file_open(path, &file, message, size);
    if (status < 0) return status;
    fprintf(file, "panel,series,\"%s\",\"%s\"\n", plots[0].xlabel, plots[0].ylabel);
    for (int i = 0; i < nplots; i++)
        for (int k = 0; k < plots[i].nseries; k++) write_series(file, plots[i].title, &plots[i].series[k]);
    return kd_file_close(file, path, message, size);
}

void bench_figure(const bench *b, const char *name, const kd_plot *plots, int nplots, int columns)
{
    const char *folder = bench_plots(b);
    char        path[BENCH_PATH + 100], message[BENCH_PATH + 200] = "the folder for plots cannot be made";
    kd_status   status = KD_ERR_FILE;
    if (folder) {
        kd_text(path, sizeof path, "%s/%s.svg", folder, name);
        status = kd_svg_save(path, plots, nplots, columns, message, sizeof message);
    }
    if (status >= 0) {
        kd_text(path, sizeof path, "%s/%s.csv", folder, name);
        status = write_numbers(path, plots, nplots, message, sizeof message);
    }
    if (status < 0) fprintf(stderr, "figure %s: %s\n", name, message);
}
