// scale_growth.c: how the time of a step grows with the number of bodies, what set-up and memory take, and whether
// 10,000 bodies can be simulated at all.
#include "scale.h"

#include <math.h>

#include "common_figure.h"
#include "common_fit.h"
#include "core/text.h"

#define TOLERANCE 1e-6
#define STEPS 40    // attempted, of a mean
#define ENOUGH 8.0  // [s] or so much processor time
#define MOST 6000.0 // megabytes of a process
enum { SIZES = 3 };

typedef struct series {
    scale_kind kind;
    double     most;          // goal of the growth
    int        bodies[SIZES]; // about
    int        quick[SIZES];
} series;

static const series all[] = {
    {SCALE_CHAIN, 1.2, {100, 500, 2000}, {50, 100, 200}},
    {SCALE_CHAIN_CARTESIAN, 1.2, {100, 500, 2000}, {25, 50, 100}},
    {SCALE_LOOPS, 1.2, {101, 501, 2001}, {21, 51, 101}},
    {SCALE_ROPE, 1.2, {100, 500, 2000}, {50, 100, 200}},
    {SCALE_TREE, 1.2, {127, 511, 2047}, {31, 63, 127}},
    {SCALE_LATTICE, 1.2, {125, 512, 1728}, {8, 27, 64}},
    {SCALE_LATTICE_STIFF, 2.0, {125, 343, 1000}, {8, 27, 64}},
    {SCALE_CONVOY, 1.2, {99, 501, 1998}, {30, 60, 120}},
};
enum { SERIES = sizeof all / sizeof *all };

// ms per attempted step, and what it was made with; NaN: it could not be had
static double step_time(bench *b, const series *s, int bodies, scale_outcome *o)
{
    const scale_limits limits = {
        .steps = STEPS, .t_end = 1e3, .enough = ENOUGH, .seconds = bench_quick(b) ? 30 : 120, .megabytes = MOST};
    *o = scale_run(s->kind, scale_size(s->kind, bodies), SCALE_DEFAULT, TOLERANCE, limits);
    const double ms = o->status >= 0 && o->steps > 0 ? 1e3 * o->seconds / (double)o->steps : NAN;
    bench_say(b,
              "  %-16s %6d bodies: %10.4g ms per step (%ld steps, t = %.3g s), assembly %.3g s, set-up %.3g s, %.0f MB "
              "%s %s\n",
              scale_word(s->kind), o->bodies > 0 ? o->bodies : bodies, ms, o->steps, o->t, o->assembly, o->setup,
              o->megabytes, o->method, ms > 0 ? "" : o->message);
    return ms;
}

// Slope between the first and the last size; where the last was not reached, to the last that was, and that is said
static void growth_of(bench *b, const series *s, kd_series figure[2], double *x, double *y, double *memory)
{
    char          note[200] = "";
    scale_outcome o[SIZES];
    int           last = 0;
    for (int i = 0; i < SIZES; i++) {
        const int bodies = bench_quick(b) ? s->quick[i] : s->bodies[i];
        y[i] = step_time(b, s, bodies, &o[i]);
        x[i] = o[i].bodies > 0 ? o[i].bodies : bodies;
        memory[i] = o[i].megabytes;
        if (y[i] > 0) last = i;
        if (!(y[i] > 0)) break;
    }
    const double ends[2] = {x[0], x[last]}, times[2] = {y[0], y[last]};
    kd_text(note, sizeof note, "ms per step: %.3g (%g bodies) to %.3g (%g), %s", y[0], x[0], y[last], x[last],
            o[last].method);
    if (last < SIZES - 1) kd_text_append(note, sizeof note, "; further: %.80s", o[last + 1].message);
    bench_row(b, bench_quick(b) ? bench_no_goal(false) : bench_below(s->most), NAN, bench_slope(2, ends, times), "",
              note, "growth.%s", scale_word(s->kind));
    for (int k = 0; k < 2; k++)
        figure[k] =
            (kd_series){.name = scale_word(s->kind), .x = x, .y = k ? memory : y, .n = last + 1, .markers = true};
}

// n-four-bar with 400 loops: model, system and simulation until the first step
static void setup_row(bench *b)
{
    const int          n = bench_quick(b) ? 50 : 400;
    const scale_limits limits = {.steps = 1, .t_end = 1, .seconds = 60, .megabytes = MOST};
    scale_outcome      o = scale_run(SCALE_LOOPS, n, SCALE_DEFAULT, TOLERANCE, limits);
    char               note[200];
    kd_text(note, sizeof note, "reading and assembly %.3g s, simulation %.3g s, first step %.3g s %.60s", o.assembly,
            o.setup, o.seconds, o.status < 0 ? o.message : "");
    bench_row(b, bench_below(0.1), NAN, o.status < 0 ? NAN : o.assembly + o.setup, "s", note, "setup.loops.%d", n);
}

static void memory_row(bench *b)
{
    const int          n = bench_quick(b) ? 200 : 2000;
    const scale_limits limits = {.steps = 3, .t_end = 1, .seconds = 120, .megabytes = MOST};
    scale_outcome      o = scale_run(SCALE_CHAIN, n, SCALE_DEFAULT, TOLERANCE, limits);
    bench_row(b, bench_below(100), NAN, o.status < 0 ? NAN : o.megabytes, "MB", o.status < 0 ? o.message : o.method,
              "memory.chain.%d", n);
}

void scale_growth(bench *b)
{
    static double x[SERIES][SIZES], y[SERIES][SIZES], memory[SERIES][SIZES];
    kd_series     figure[2], part[2][SERIES];
    int           count = 0;
    for (int i = 0; i < SERIES; i++)
        if (bench_wants(b, "growth.%s", scale_word(all[i].kind))) {
            growth_of(b, &all[i], figure, x[i], y[i], memory[i]);
            for (int k = 0; k < 2; k++) part[k][count] = figure[k];
            count++;
        }
    if (bench_wants(b, "setup.loops")) setup_row(b);
    if (bench_wants(b, "memory.chain")) memory_row(b);
    static const char *const labels[] = {"processor time of a step [ms]", "largest size of the process [MB]"};
    kd_plot                  plots[2];
    for (int k = 0; k < 2; k++)
        plots[k] = (kd_plot){.title = "the default, tolerance 1e-6",
                             .xlabel = "bodies",
                             .ylabel = labels[k],
                             .xlog = true,
                             .ylog = true,
                             .nseries = count,
                             .series = part[k]};
    if (count > 0) bench_figure(b, "scale-growth", plots, 2, 2);
}

void scale_large(bench *b)
{
    static const struct {
        scale_kind  kind;
        int         bodies;
        const char *word;
    } large[] = {{SCALE_CHAIN, 10000, "chain"}, {SCALE_TREE, 10000, "tree"}, {SCALE_LATTICE, 10648, "lattice"}};
    for (int i = 0; i < 3; i++) {
        if (!bench_wants(b, "large.%s", large[i].word)) continue;
        const int          bodies = bench_quick(b) ? large[i].bodies / 10 : large[i].bodies;
        const scale_limits limits = {.t_end = 1, .seconds = 120, .megabytes = MOST};
        scale_outcome      o = scale_run(large[i].kind, scale_size(large[i].kind, bodies), SCALE_DEFAULT, 1e-4, limits);
        char               note[200];
        kd_text(note, sizeof note, "%d bodies, 1 s at 1e-4: assembly %.3g s, set-up %.3g s, %ld steps %s %.80s",
                o.bodies, o.assembly, o.setup, o.steps, o.method, o.status < 0 ? o.message : "");
        bench_row(b, bench_below(60), NAN, o.status < 0 ? NAN : o.assembly + o.setup + o.seconds, "s", note, "large.%s",
                  large[i].word);
        bench_row(b, bench_below(1024), NAN, o.status < 0 ? NAN : o.megabytes, "MB", "", "large.%s.memory",
                  large[i].word);
    }
}
