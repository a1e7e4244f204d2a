// tests/fuzz/fuzz_table.c: any bytes as a table of results.
//
// Whatever is read: a refusal says the file and why; what is accepted has names, rows, and can be drawn.
#define _GNU_SOURCE
#include "fuzz/fuzz.h"

#include <stdio.h>

#include "fuzz/fuzz_file.h"
#include "report/svg.h"
#include "results/table.h"

static void draw(const kd_table *t)
{
    const kd_series series = {
        .x = t->value, .y = t->value + t->ncolumns - 1, .n = t->nrows, .xstride = t->ncolumns, .ystride = t->ncolumns};
    const kd_plot plot = {.title = t->title, .ylabel = t->name[t->ncolumns - 1], .nseries = 1, .series = &series};
    FILE         *file = fopen("/dev/null", "w");
    demand(file);
    kd_svg_write(file, &plot, 1, 1);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char            message[600] = "";
    kd_table        t;
    const kd_status status = kd_table_read(file_of(data, size), &t, message, sizeof message);
    if (status == KD_OK) {
        demand(t.ncolumns > 0 && t.nrows > 0 && t.title);
        for (int i = 0; i < t.ncolumns; i++) demand(t.name[i][0] && t.unit[i] && kd_table_column(&t, t.name[i]) <= i);
        draw(&t);
        kd_table_release(&t);
    } else {
        demand(status == KD_ERR_FILE && message[0] && !t.value && !t.text);
    }
    return 0;
}
