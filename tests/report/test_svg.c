// The plot writer: ticks at round numbers that cover the data, sound XML for any data, every point where it belongs.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/svg.h"
#include "results/markup.h"

// The picture as text; the caller frees it.
static char *draw(const kd_plot *plots, int nplots, int columns)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *file = open_memstream(&text, &size);
    kd_svg_write(file, plots, nplots, columns);
    fclose(file);
    must_be_a_picture(text);
    return text;
}

// Ticks are multiples of 1, 2 or 5 times a power of ten, lie inside the axis, and are neither few nor many.
static void ticks_are_round_numbers(void **state)
{
    (void)state;
    const double range[][2] = {{0, 1},         {-3, 17},       {0.03, 0.0301}, {1e-9, 3e-9},   {-1e12, 5e12},
                               {99.99, 100.1}, {-7e-5, -2e-5}, {0, 6.283},     {1e6, 1e6 + 3}, {-1e300, 1e300}};
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        kd_plot_axis axis = kd_svg_axis(range[i][0], range[i][1], false, 7);
        double       lead = axis.step / pow(10.0, floor(log10(axis.step) + 1e-9));
        assert_true(fabs(lead - 1) < 1e-6 || fabs(lead - 2) < 1e-6 || fabs(lead - 5) < 1e-6);
        assert_true(fabs(remainder(axis.first, axis.step)) < 1e-6 * axis.step);
        assert_in_range(axis.nticks, 3, 9);
        double room = 1e-5 * axis.step;
        assert_true(axis.first >= axis.low - room && axis.first + (axis.nticks - 1) * axis.step <= axis.high + room);
        assert_true(axis.low <= range[i][0] && range[i][1] <= axis.high);
    }
}

// Logarithmic axes have whole powers of ten as ends and ticks, also when the data spans less than one.
static void log_ticks_are_powers_of_ten(void **state)
{
    (void)state;
    const double range[][2] = {{1e-3, 1e4}, {2, 3}, {1, 1}, {1e-17, 1e-2}, {1e-300, 1e300}};
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        kd_plot_axis axis = kd_svg_axis(range[i][0], range[i][1], true, 7);
        assert_true(axis.low == floor(axis.low) && axis.high == floor(axis.high) && axis.step == floor(axis.step));
        assert_true(axis.low <= log10(range[i][0]) + 1e-9 && axis.high >= log10(range[i][1]) - 1e-9);
        assert_in_range(axis.nticks, 2, 8);
        assert_true(axis.high > axis.low);
    }
}

// Constant data, up to rounding, gets an axis around it.
static void constant_data_has_an_axis(void **state)
{
    (void)state;
    const double constants[] = {0, 1, -1e-9, 1e9, 5e-324, 1e300};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        double       c = constants[i];
        kd_plot_axis axis = kd_svg_axis(c, c + 1e-15 * fabs(c), false, 7);
        assert_true(axis.low < c && c < axis.high);
        assert_in_range(axis.nticks, 2, 12);
    }
}

// Nothing, NaN, infinity, negative values on a logarithmic axis, a single point: a sound picture in each case.
static void odd_data_is_drawn(void **state)
{
    (void)state;
    const double x[] = {0, 1, NAN, 3, INFINITY, 5}, y[] = {NAN, -1, 2, 0, 3, 1e308}, bad[] = {NAN, NAN};
    kd_series    series[] = {{.name = "a", .x = x, .y = y, .n = 6},
                             {.name = "b", .x = y, .y = x, .n = 6, .markers = true},
                             {.name = NULL, .x = bad, .y = bad, .n = 2},
                             {.name = "one", .x = x, .y = x, .n = 1}};
    for (int k = 0; k < 16; k++) {
        kd_plot plot = {.title = "odd", .xlog = k & 1, .ylog = k & 2, .nseries = k & 4 ? 4 : 0, .series = series};
        if (k & 8) plot.xlabel = "x", plot.ylabel = "y", plot.note = "note";
        free(draw(&plot, 1, 1));
    }
    kd_plot empty = {0};
    char   *text = draw(&empty, 1, 1);
    assert_non_null(strstr(text, "no data"));
    free(text);
    free(draw(NULL, 0, 2));
}

// Points fall where the axes say: the corners of the data are the ends of the line.
static void points_are_where_they_belong(void **state)
{
    (void)state;
    const double x[] = {0, 10}, y[] = {0, 1};
    kd_series    series = {.name = "a", .x = x, .y = y, .n = 2};
    kd_plot      plot = {.nseries = 1, .series = &series, .width = 400, .height = 300};
    char        *text = draw(&plot, 1, 1);
    double       x0, y0, x1, y1, left, top, right, bottom;
    const char  *line = strstr(text, "h0L"); // the only path with points
    assert_non_null(line);
    while (*line != 'M') line--;
    assert_int_equal(sscanf(line, "M%lf %lfh0L%lf %lf", &x0, &y0, &x1, &y1), 4);
    // the axes are the two darker lines: bottom from left to right, then left from top to bottom
    const char *axes = strstr(text, "stroke=\"#9aa1ab\"");
    while (*axes != 'M') axes--;
    assert_int_equal(sscanf(axes, "M%lf %lfL%lf %lf", &left, &bottom, &right, &top), 4);
    assert_true(fabs(x0 - left) < 0.011 && fabs(x1 - right) < 0.011);
    axes = strstr(strstr(axes, "\n"), "M");
    assert_int_equal(sscanf(axes, "M%lf %lfL", &left, &top), 2);
    // 4 % air below and above: y = 0 lies at 0.04 / 1.08 of the height
    assert_true(fabs(y0 - (bottom - (bottom - top) * 0.04 / 1.08)) < 0.011);
    assert_true(fabs(y1 - (top + (bottom - top) * 0.04 / 1.08)) < 0.011);
    free(text);
}

// NaN interrupts a line: two pieces, and none of them bridges the gap.
static void gaps_stay_open(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4}, y[] = {0, 1, NAN, 1, 2};
    kd_series    series = {.name = "a", .x = x, .y = y, .n = 5};
    kd_plot      plot = {.nseries = 1, .series = &series};
    char        *text = draw(&plot, 1, 1);
    assert_int_equal(count_words(text, "h0"), 2);
    free(text);
}

// Names are escaped, long ones cut, many ones counted; colours and dashes tell all lines of a legend apart.
static void legends_hold(void **state)
{
    (void)state;
    const double x[] = {0, 1};
    kd_series    series[20];
    for (int k = 0; k < 20; k++)
        series[k] = (kd_series){.name = "<b> & \"a very long name indeed\"", .x = x, .y = x, .n = 2};
    kd_plot plot = {.title = "a < b", .nseries = 20, .series = series};
    char   *text = draw(&plot, 1, 1);
    assert_non_null(strstr(text, "a &lt; b"));
    assert_non_null(strstr(text, "&lt;b&gt; &amp; &quot;a ver\xE2\x80\xA6"
                                 "ame indeed&quot;"));
    assert_non_null(strstr(text, "and 6 more"));
    free(text);
}

// Several plots share one picture; a long series of equal points costs no space.
static void pictures_are_small(void **state)
{
    (void)state;
    enum { N = 100000 };
    double *x = malloc(2 * N * sizeof *x);
    for (int i = 0; i < N; i++) {
        x[2 * i] = i * 1e-5;
        x[2 * i + 1] = x[2 * i] * x[2 * i];
    }
    kd_series series = {.name = "a", .x = x, .y = x + 1, .n = N, .xstride = 2, .ystride = 2};
    kd_plot   plots[3] = {{.nseries = 1, .series = &series}, {.nseries = 1, .series = &series}, {.nseries = 0}};
    char     *text = draw(plots, 3, 2);
    assert_non_null(strstr(text, "viewBox=\"0 0 1280 680\""));
    assert_true(strlen(text) < 400000);
    free(text);
    free(x);
}

// Saving writes an XML file; a full disk is reported.
static void saving_is_checked(void **state)
{
    (void)state;
    kd_plot plot = {.title = "empty"};
    char    message[200] = "";
    assert_int_equal(kd_svg_save(KD_BINARY_DIR "/test.svg", &plot, 1, 1, message, sizeof message), KD_OK);
    FILE *file = fopen(KD_BINARY_DIR "/test.svg", "r");
    char  start[6] = "";
    assert_non_null(file);
    assert_int_equal(fread(start, 1, 5, file), 5);
    fclose(file);
    assert_string_equal(start, "<?xml");
    assert_int_equal(kd_svg_save("/dev/full", &plot, 1, 1, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/dev/full"));
    assert_int_equal(kd_svg_save("/no/such/folder/a.svg", &plot, 1, 1, message, sizeof message), KD_ERR_FILE);
}

// Faint series are drawn first and in grey, whatever their place in the list; the others keep their colours.
static void faint_series_are_below(void **state)
{
    (void)state;
    const double    x[] = {1, 2}, y[] = {1, 3};
    const kd_series series[] = {{.name = "best", .x = x, .y = y, .n = 2}, {.x = x, .y = y, .n = 2, .faint = true}};
    const kd_plot   plot = {.nseries = 2, .series = series};
    char           *text = draw(&plot, 1, 1), *grey = strstr(text, "#cfd4da"), *blue = strstr(text, "#0072B2");
    assert_true(grey && blue && grey < blue);
    assert_int_equal(count_words(text, "#cfd4da"), 1);
    free(text);
}

// Marks are vertical lines over the whole height; those outside are left out, close ones are one, too many are none.
static void marks_do_not_hide(void **state)
{
    (void)state;
    const double x[] = {0, 10}, y[] = {0, 1}, few[] = {-1, 0, 5, 5 + 1e-9, 5 + 1e-6, 10, 11, NAN};
    double       many[1000];
    kd_series    series = {.x = x, .y = y, .n = 2};
    kd_plot      plot = {.nseries = 1, .series = &series, .mark = few, .nmarks = 8};
    char        *text = draw(&plot, 1, 1);
    assert_int_equal(count_words(text, "class=\"mark\""), 3);
    double      x0, y0, x1, y1, left, bottom, right, top;
    const char *axes = strstr(text, "stroke=\"#9aa1ab\""), *mark = strstr(text, "class=\"mark\"");
    while (*axes != 'M') axes--;
    while (*mark != 'M') mark--;
    assert_int_equal(sscanf(axes, "M%lf %lfL%lf %lf", &left, &bottom, &right, &top), 4);
    assert_int_equal(sscanf(mark, "M%lf %lfL%lf %lf", &x0, &y0, &x1, &y1), 4);
    assert_true(x0 == x1 && fabs(x0 - left) < 0.011 && y1 == bottom && y0 < bottom - 100);
    free(text);
    for (int i = 0; i < 1000; i++) many[i] = 4 + 1e-3 * i; // one after the other: a tenth of the axis
    plot.mark = many;
    plot.nmarks = 1000;
    text = draw(&plot, 1, 1);
    assert_in_range(count_words(text, "class=\"mark\""), 5, 30);
    free(text);
    for (int i = 0; i < 1000; i++) many[i] = 0.01 * i; // everywhere
    text = draw(&plot, 1, 1);
    assert_int_equal(count_words(text, "class=\"mark\""), 0);
    free(text);
    plot.nseries = 0;
    free(draw(&plot, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(log_ticks_are_powers_of_ten),
        cmocka_unit_test(constant_data_has_an_axis),
        cmocka_unit_test(odd_data_is_drawn),
        cmocka_unit_test(points_are_where_they_belong),
        cmocka_unit_test(gaps_stay_open),
        cmocka_unit_test(legends_hold),
        cmocka_unit_test(pictures_are_small),
        cmocka_unit_test(saving_is_checked),
        cmocka_unit_test(faint_series_are_below),
        cmocka_unit_test(marks_do_not_hide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
