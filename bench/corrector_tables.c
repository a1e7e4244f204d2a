// corrector_tables.c: S0 tables 1, 2 and 3 made again, and the same for the axle on the test rig of its section 3.3.
//
// Estimated patterns: "estimated" looks at the start and at two states beside it, "at-start" at the start alone, which
// is S0's rule (section 3.1: Omega = Sigma(J(t0, y0))); both grow where Newton's method is slow with a new matrix. All
// rows are runs of bdf on the form odassl: ggl with G'eta from the matrix's own block, eta inside Newton's method only.
// Those called "dassl" follow DASSL's own rules, which evaluate the matrix anew whenever the leading coefficient leaves
// its bounds or the iteration is slow: the baseline of S0.
#include "core/text.h"
#include "corrector.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VARIANTS = 19, FORMALISMS = 2 };

// The rows of one formalism
static const corrector_method variants[VARIANTS] = {
    {.name = "dense.full.dassl", .derivatives = KD_DERIVATIVES_DENSE, .dassl_rules = true},
    {.name = "estimated.full.dassl", .derivatives = KD_DERIVATIVES_GROUPED, .estimated = true, .dassl_rules = true},
    {.name = "dense.full", .derivatives = KD_DERIVATIVES_DENSE},
    {.name = "dense.partitioned", .derivatives = KD_DERIVATIVES_DENSE, .update = KD_UPDATE_PARTITIONED},
    {.name = "dense.extended", .derivatives = KD_DERIVATIVES_DENSE, .update = KD_UPDATE_EXTENDED},
    {.name = "estimated.full", .derivatives = KD_DERIVATIVES_GROUPED, .estimated = true},
    {.name = "estimated.partitioned",
     .derivatives = KD_DERIVATIVES_GROUPED,
     .estimated = true,
     .update = KD_UPDATE_PARTITIONED},
    {.name = "estimated.extended",
     .derivatives = KD_DERIVATIVES_GROUPED,
     .estimated = true,
     .update = KD_UPDATE_EXTENDED},
    {.name = "grouped.full", .derivatives = KD_DERIVATIVES_GROUPED},
    {.name = "grouped.partitioned", .derivatives = KD_DERIVATIVES_GROUPED, .update = KD_UPDATE_PARTITIONED},
    {.name = "grouped.extended", .derivatives = KD_DERIVATIVES_GROUPED, .update = KD_UPDATE_EXTENDED},
    {.name = "analytic.full.dassl", .derivatives = KD_DERIVATIVES_ANALYTIC, .dassl_rules = true},
    {.name = "analytic.full", .derivatives = KD_DERIVATIVES_ANALYTIC},
    {.name = "analytic.partitioned", .derivatives = KD_DERIVATIVES_ANALYTIC, .update = KD_UPDATE_PARTITIONED},
    {.name = "analytic.extended", .derivatives = KD_DERIVATIVES_ANALYTIC, .update = KD_UPDATE_EXTENDED},
    {.name = "at-start.full.dassl",
     .derivatives = KD_DERIVATIVES_GROUPED,
     .estimated = true,
     .at_start = true,
     .dassl_rules = true},
    {.name = "at-start.full", .derivatives = KD_DERIVATIVES_GROUPED, .estimated = true, .at_start = true},
    {.name = "at-start.partitioned",
     .derivatives = KD_DERIVATIVES_GROUPED,
     .estimated = true,
     .at_start = true,
     .update = KD_UPDATE_PARTITIONED},
    {.name = "at-start.extended",
     .derivatives = KD_DERIVATIVES_GROUPED,
     .estimated = true,
     .at_start = true,
     .update = KD_UPDATE_EXTENDED},
};
enum { BASE = 0 };
#define REFERENCE 1e-9 // tolerance of the solution to which errors are told

static const char *const formalism_names[FORMALISMS] = {"explicit", "residual"};

// A row that S0 printed; 0: not told
typedef struct printed {
    const char *variant;
    double      cpu;
    int         fc, fcw, je, updates;
} printed;

typedef struct table {
    const char       *name, *about;
    const char       *model;   // file, or
    const char       *example; // written in C
    double            t_end, rtol, atol;
    const printed    *paper[FORMALISMS]; // up to an entry without name; NULL: none
    corrector_outcome out[FORMALISMS][VARIANTS];
} table;

// ---- what S0 printed ------------------------------------------------------------------------------------------------

// clang-format off
static const printed carriage_explicit[] = {
    {"dense.full.dassl",      18.86, 9739, 2179,  84, 0}, {"at-start.full.dassl",  14.78, 7178, 2166, 103, 0},
    {"dense.partitioned",     11.03, 4759, 2509,  25, 0}, {"at-start.partitioned", 10.59, 4605, 2288,  43, 0}, {0}};
static const printed carriage_residual[] = {
    {"dense.full.dassl",      18.59, 10473, 2193,  92, 0}, {"at-start.full.dassl", 13.55, 6992, 2152, 100, 0},
    {"dense.partitioned",     10.33,  4739, 2386,  24, 0}, {"at-start.partitioned", 9.63, 4415, 2226,  40, 0}, {0}};
static const printed chain12[] = {
    {"dense.full.dassl",       5.69, 0, 0, 59,  0}, {"at-start.full.dassl", 5.24, 0, 0, 72,  0},
    {"dense.extended",         4.68, 0, 0,  9, 27}, {"at-start.extended",   5.09, 0, 0, 10, 59}, {0}};
static const printed chain14[] = {
    {"dense.full.dassl",       9.03, 0, 0, 96,  0}, {"at-start.full.dassl", 6.76, 0, 0, 70,  0},
    {"dense.extended",         6.78, 0, 0, 12, 62}, {"at-start.extended",   6.16, 0, 0,  8, 16}, {0}};
static const printed chain16[] = {
    {"dense.full.dassl",          0, 0, 0, 43,  0}, {"dense.extended",          0, 0, 0,  6,  0}, {0}};
static const printed car[] = {
    {"dense.full.dassl",     296.86, 0, 0, 2229, 0}, {"at-start.full.dassl", 309.44, 0, 0, 2303, 0},
    {"dense.partitioned",    141.28, 0, 0,  660, 0}, {"dense.extended",       145.75, 0, 0,  668, 0},
    {"at-start.partitioned", 79.66, 0, 0,  410, 0}, {"at-start.extended",    59.45, 0, 0,  317, 0}, {0}};
// clang-format on

static const printed *paper_row(const table *t, int formalism, const char *variant)
{
    static const printed nothing = {0};
    for (const printed *p = t->paper[formalism]; p && p->variant; p++)
        if (strcmp(p->variant, variant) == 0) return p;
    return &nothing;
}

// ---- text -----------------------------------------------------------------------------------------------------------

static const char *number_or_dash(double value, const char *format, char *text, size_t size)
{
    if (value > 0)
        snprintf(text, size, format, value);
    else
        kd_text(text, size, "-");
    return text;
}

static void say_row(const bench *b, const table *t, int f, int v)
{
    const corrector_outcome *o = &t->out[f][v], *base = &t->out[f][BASE];
    const printed           *p = paper_row(t, f, variants[v].name), *p0 = paper_row(t, f, variants[BASE].name);
    char                     fc[20], fcw[20], je[20], updates[20], percent[20];
    bench_say(b, "%-9s %-22s ", v == 0 ? formalism_names[f] : "", variants[v].name);
    if (o->status < 0) {
        bench_say(b, "%s\n", o->message);
        return;
    }
    bench_say(b, "%8.2f %7ld %7ld %6ld %7ld %7ld %6ld %7ld %8.1e %7.1f |", 1e3 * o->seconds,
              o->stats.residuals + o->stats.for_differences, o->stats.residuals, o->stats.jacobians, o->stats.updates,
              o->stats.steps, o->stats.groups, o->stats.pattern_changes, o->error, 100 * o->seconds / base->seconds);
    bench_say(b, " %6s %6s %5s %5s %6s\n", number_or_dash(p->fc, "%.0f", fc, sizeof fc),
              number_or_dash(p->fcw, "%.0f", fcw, sizeof fcw), number_or_dash(p->je, "%.0f", je, sizeof je),
              number_or_dash(p->updates, "%.0f", updates, sizeof updates),
              number_or_dash(100 * p->cpu / p0->cpu, "%.1f", percent, sizeof percent));
}

static void say_table(const bench *b, const table *t)
{
    bench_say(b,
              "\n%s: %s, rtol %g, atol %g\n%-9s %-22s %8s %7s %7s %6s %7s %7s %6s %7s %8s %7s | %6s %6s %5s %5s %6s\n",
              t->name, t->about, t->rtol, t->atol, "", "S0 on the right:", "cpu [ms]", "#fc", "#fcw", "#Je", "#upd",
              "steps", "groups", "grown", "error", "percent", "#fc", "#fcw", "#Je", "#upd", "perc.");
    for (int f = 0; f < FORMALISMS; f++)
        for (int v = 0; v < VARIANTS; v++) say_row(b, t, f, v);
}

// Every number as a row, for programs
static void detail_rows(bench *b, const table *t)
{
    for (int f = 0; f < FORMALISMS && bench_json(b); f++) {
        for (int v = 0; v < VARIANTS; v++) {
            const corrector_outcome *o = &t->out[f][v];
            const printed           *p = paper_row(t, f, variants[v].name);
            const double value[] = {1e3 * o->seconds, (double)(o->stats.residuals + o->stats.for_differences),
                                    (double)o->stats.residuals, (double)o->stats.jacobians, (double)o->stats.updates};
            const double paper[] = {1e3 * p->cpu, p->fc, p->fcw, p->je, p->updates};
            static const char *const names[] = {"cpu", "fc", "fcw", "je", "updates"};
            for (int k = 0; k < 5; k++)
                bench_row(b, bench_no_goal(false), paper[k] > 0 ? paper[k] : NAN, o->status < 0 ? NAN : value[k],
                          k == 0 ? "ms" : "", o->message, "%s.%s.%s.%s", names[k], t->name, formalism_names[f],
                          variants[v].name);
        }
    }
}

// ---- figures of the tables ------------------------------------------------------------------------------------------

typedef double (*quantity)(const corrector_outcome *o);

static double calls(const corrector_outcome *o)
{
    return (double)(o->stats.residuals + o->stats.for_differences);
}
static double evaluations(const corrector_outcome *o)
{
    return (double)o->stats.jacobians;
}
static double seconds(const corrector_outcome *o)
{
    return o->seconds;
}

typedef enum which { DIFFERENCES, ANALYTIC } which;

// Smallest quantity of the variants of a kind that came to the end, with the variant's name
static double best(const table *t, which kind, quantity q, const kd_update *update, char *name, size_t size)
{
    double least = NAN;
    for (int f = 0; f < FORMALISMS; f++) {
        for (int v = 0; v < VARIANTS; v++) {
            bool analytic = variants[v].derivatives == KD_DERIVATIVES_ANALYTIC;
            if (analytic != (kind == ANALYTIC) || t->out[f][v].status < 0) continue;
            if (update && variants[v].update != *update) continue;
            double value = q(&t->out[f][v]);
            if (value >= least) continue;
            least = value;
            kd_text(name, size, "%s %s", formalism_names[f], variants[v].name);
        }
    }
    return least;
}

// The baseline of DASSL, the better of the two formalisms
static double baseline(const table *t, quantity q)
{
    double least = NAN;
    for (int f = 0; f < FORMALISMS; f++)
        if (t->out[f][BASE].status >= 0) least = fmin(least, q(&t->out[f][BASE]));
    return least;
}

static void carriage_figures(bench *b, const table *t)
{
    char   name[80] = "";
    long   groups = 0;
    double fc = best(t, DIFFERENCES, calls, NULL, name, sizeof name);
    bench_row(b, bench_below(48), 100 * 4415.0 / 9739, 100 * fc / baseline(t, calls), "%", name, "percent_fc.carriage");
    for (int f = 0; f < FORMALISMS; f++)
        for (int v = 0; v < VARIANTS; v++)
            if (t->out[f][v].status >= 0 && t->out[f][v].stats.groups > groups) groups = t->out[f][v].stats.groups;
    kd_text(name, sizeof name, "most of all runs; fullest row %ld", t->out[1][9].stats.fullest_row);
    bench_row(b, bench_below(46), 46, groups > 0 ? (double)groups : NAN, "", name, "groups.carriage");
}

static void gain_figures(bench *b, const table *t)
{
    char   own[80] = "", other[80] = "", note[200];
    double analytic = best(t, ANALYTIC, seconds, NULL, own, sizeof own);
    double differences = best(t, DIFFERENCES, seconds, NULL, other, sizeof other);
    bench_row(b, bench_above(3), NAN, baseline(t, seconds) / analytic, "", own, "analytic_gain.%s", t->name);
    kd_text(note, sizeof note, "%s against %s", own, other);
    bench_row(b, bench_above(1.3), NAN, differences / analytic, "", note, "analytic_gain_best.%s", t->name);
}

static void car_figures(bench *b, const table *t)
{
    char   name[80] = "";
    double je = best(t, DIFFERENCES, evaluations, NULL, name, sizeof name);
    bench_row(b, bench_below(15), 100 * 317.0 / 2229, 100 * je / baseline(t, evaluations), "%", name, "percent_je.car");
}

static void drop_figure(bench *b, const table *t, double from, double to, double goal, double paper)
{
    char note[80];
    kd_text(note, sizeof note, "full evaluations: %.0f to %.0f", from, to);
    bench_row(b, bench_above(goal), paper, from / to, "", note, "je_drop.%s", t->name);
}

static void chain_figures(bench *b, const table *t)
{
    char name[80] = "";
    drop_figure(b, t, baseline(t, evaluations), best(t, DIFFERENCES, evaluations, NULL, name, sizeof name), 6,
                43.0 / 6);
}

static void rig_figures(bench *b, const table *t)
{
    const kd_update partitioned = KD_UPDATE_PARTITIONED, extended = KD_UPDATE_EXTENDED;
    char            name[80] = "";
    drop_figure(b, t, best(t, DIFFERENCES, evaluations, &partitioned, name, sizeof name),
                best(t, DIFFERENCES, evaluations, &extended, name, sizeof name), 3, NAN);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// All variants in turn, several times
static bool measure(const bench *b, table *t, char *message, size_t size)
{
    corrector_problem problem;
    bool              open = t->model ? corrector_open_model(&problem, t->model, NULL, KD_JOINT, message, size)
                                      : corrector_open_example(&problem, t->example, message, size);
    problem.t_end = t->t_end;
    if (open) open = corrector_make_reference(&problem, REFERENCE, message, size);
    for (int r = 0; open && r < (bench_quick(b) ? 1 : 3); r++) {
        for (int f = 0; f < FORMALISMS; f++) {
            for (int v = 0; v < VARIANTS; v++) {
                corrector_method m = variants[v];
                m.integrator = KD_BDF;
                m.form = KD_ODASSL;
                m.explicit_form = f == 0;
                corrector_again(&problem, &m, t->rtol, t->atol, 60, r == 0, &t->out[f][v]);
            }
        }
    }
    corrector_close(&problem);
    return open;
}

static bool wants(const bench *b, const char *name)
{
    static const char *const rows[] = {"percent_fc", "percent_je",         "je_drop", "groups", "analytic_gain",
                                       "table",      "analytic_gain_best", "cpu",     "je",     "fc"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bench_wants(b, "%s.%s", rows[i], name)) return true;
    return false;
}

void corrector_tables(bench *b)
{
    static table tables[] = {
        {.name = "carriage",
         .about = "15 s (S0 table 1)",
         .model = "carriage",
         .t_end = 15,
         .rtol = 1e-4,
         .atol = 1e-4,
         .paper = {carriage_explicit, carriage_residual}},
        {.name = "chain12",
         .about = "200 s (S0 table 2)",
         .example = "pendulum-chain12",
         .t_end = 200,
         .rtol = 1e-4,
         .atol = 1e-6,
         .paper = {chain12, NULL}},
        {.name = "chain14",
         .about = "200 s (S0 table 2)",
         .example = "pendulum-chain14",
         .t_end = 200,
         .rtol = 1e-4,
         .atol = 1e-6,
         .paper = {chain14, NULL}},
        {.name = "chain16",
         .about = "200 s (S0 figure 7)",
         .example = "pendulum-chain16",
         .t_end = 200,
         .rtol = 1e-4,
         .atol = 1e-6,
         .paper = {chain16, NULL}},
        {.name = "car",
         .about = "5 s (S0 table 3)",
         .model = "passenger-car",
         .t_end = 5,
         .rtol = 1e-4,
         .atol = 1e-5,
         .paper = {car, NULL}},
        {.name = "testrig",
         .about = "10 s (S0 section 3.3)",
         .model = "axle-test-rig",
         .t_end = 10,
         .rtol = 1e-4,
         .atol = 1e-5},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        table *t = &tables[i];
        char   message[300] = "";
        if (!wants(b, t->name)) continue;
        if (!measure(b, t, message, sizeof message)) {
            bench_say(b, "\n%s: %s\n", t->name, message);
            continue;
        }
        say_table(b, t);
        detail_rows(b, t);
        if (strcmp(t->name, "carriage") == 0) carriage_figures(b, t);
        if (strcmp(t->name, "car") == 0) car_figures(b, t);
        if (strcmp(t->name, "carriage") == 0 || strcmp(t->name, "car") == 0) gain_figures(b, t);
        if (strcmp(t->name, "chain16") == 0) chain_figures(b, t);
        if (strcmp(t->name, "testrig") == 0) rig_figures(b, t);
    }
}
