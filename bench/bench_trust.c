// bench_trust.c: is a run that ends with success and a clean certificate right? Random models with something planted
// that is easy to miss, all methods, tolerances from 1e-4 to 1e-9, judged by references that kardan had no part in.
#include "trust.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG 1000.0 // errors of so many tolerances are wrong
#define RIGHT 10.0   // and of less than these right
#define FORK 10.0    // errors of so many tolerances may take another way where two part
#define SHOWN 100    // failures that are told one by one
#define FULL 3000
#define QUICK 300
#define PASSAGES 500000 // number of the first one
#define MORE 10         // one tenth of them more: families that came later, so that the earlier runs stay the same

static const trust_family families[] = {trust_pulse,  trust_bump,  trust_impact,  trust_singular,
                                        trust_scaled, trust_kink,  trust_chatter, trust_innocent,
                                        trust_teeth,  trust_stops, trust_mixed,   trust_passage};
#define FIRST 8     // families of the first runs
#define FAMILIES 10 // of all but the last two
#define MIXED 10    // by --mixed only
#define PASSAGE 11  // by --passages, and one tenth more
#define ALL 12

static const trust_method methods[] = {
    {KD_PSF, KD_RADAU, false},         {KD_PSF1, KD_RADAU, false},        {KD_GGL, KD_RADAU, false},
    {KD_GGL, KD_BDF, false},           {KD_ODASSL, KD_BDF, false},        {KD_ODASSL, KD_RADAU, false},
    {KD_STATESPACE, KD_RADAU, false},  {KD_STATESPACE, KD_BDF, false},    {KD_STATESPACE, KD_SDIRK, false},
    {KD_STATESPACE, KD_DOPRI5, false}, {KD_STATESPACE, KD_DOP853, false}, {KD_ODE, KD_RADAU, false},
    {KD_ODE, KD_BDF, false},           {KD_ODE, KD_SDIRK, false},         {KD_ODE, KD_DOPRI5, false},
    {KD_ODE, KD_DOP853, false},
};
#define METHODS ((int)(sizeof methods / sizeof *methods))

// The rest, on the forms that they fit (--others)
static const trust_method others[] = {
    {KD_ODE, KD_MIDPOINT, false},      {KD_STATESPACE, KD_MIDPOINT, false},
    {KD_ODE, KD_EXTRAPOLATION, false}, {KD_STATESPACE, KD_EXTRAPOLATION, false},
    {KD_ODE, KD_ADAMS, false},         {KD_STATESPACE, KD_ADAMS, false},
    {KD_ODE, KD_HALF_EXPLICIT, false}, {KD_ODE, KD_ARKODE, false},
    {KD_STATESPACE, KD_ARKODE, false}, {KD_ODE, KD_CVODE, false},
    {KD_GGL, KD_IDA, false},           {KD_INDEX2, KD_IDA, false},
    {KD_INDEX1, KD_IDA, false},        {KD_ODE, KD_IDA, false},
    {KD_STATESPACE, KD_IDA, false},    {KD_INDEX1, KD_RADAU, false},
    {KD_INDEX2, KD_RADAU, false},      {KD_PSF, KD_SDIRK, false},
    {KD_PSF, KD_BDF, false},           {KD_BAUMGARTE1, KD_RADAU, false},
    {KD_BAUMGARTE2, KD_RADAU, false},
};
#define OTHERS ((int)(sizeof others / sizeof *others))

typedef struct tally {
    const char *family;
    int         runs, done, clean, silent, alarm, late, crashed, refused, broken, right, forks;
    double      worst, seconds;
    int         plain;
} tally;

static const char *word_of(const trust_outcome *o)
{
    switch (o->ending) {
    case TRUST_DONE:
        return o->clean ? "silently wrong" : "false alarm";
    case TRUST_NEVER_ENDS:
        return "does not end";
    case TRUST_CRASHED:
        return "crashed";
    default:
        return "not a model";
    }
}

// Keep the model file of a failure, so that it can be looked at with the command line
static void keep(const bench *b, int number, const trust_case *c)
{
    char        path[BENCH_PATH + 60];
    const char *folder = bench_plots(b);
    if (!folder) return;
    snprintf(path, sizeof path, "%s/trust-%04d.yaml", folder, number);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(c->text, file);
    fclose(file);
}

static void tell(const bench *b, int number, const trust_case *c, trust_method m, kd_coordinates coordinates,
                 double rtol, const trust_outcome *o)
{
    keep(b, number, c);
    bench_say(b,
              "  %4d %-9s %-15s %s + %s, %s, --rtol %.17g --atol %.17g: error %.2g tolerances, %ld steps, %.1f s %s\n",
              number, c->family, word_of(o), m.chosen ? "chosen" : kd_formulation_word(m.formulation),
              kd_integrator_word(o->integrator), coordinates == KD_JOINT ? "joint" : "cartesian", rtol,
              rtol * (c->atol_scale > 0 ? c->atol_scale : 1), o->error, o->steps, o->seconds, o->message);
}

static bool is_silent(const trust_outcome *o)
{
    return o->ending == TRUST_DONE && o->clean && !(o->error <= WRONG);
}

// true: worth a line
static bool count(tally *t, const trust_outcome *o)
{
    bool silent = is_silent(o);
    bool alarm = o->ending == TRUST_DONE && !o->clean && o->error <= RIGHT;
    t->runs++;
    t->done += o->ending == TRUST_DONE;
    t->clean += o->ending == TRUST_DONE && o->clean;
    t->right += o->ending == TRUST_DONE && o->error <= RIGHT;
    t->silent += silent;
    t->plain += o->ending == TRUST_DONE && o->clean && !(o->plain <= WRONG);
    t->alarm += alarm;
    t->late += o->ending == TRUST_NEVER_ENDS;
    t->crashed += o->ending == TRUST_CRASHED;
    t->refused += o->ending == TRUST_REFUSED;
    t->broken += o->ending == TRUST_BROKEN;
    t->seconds += o->seconds;
    if (o->ending == TRUST_DONE && o->clean) t->worst = fmax(t->worst, o->error);
    return silent || alarm || o->ending == TRUST_NEVER_ENDS || o->ending == TRUST_CRASHED || o->ending == TRUST_BROKEN;
}

static bool chosen = false;   // all models with the method that kardan chooses, in place of all methods
static bool rest = false;     // with those of the second list
static bool mixed = false;    // several traps in each model
static bool passages = false; // linkages through singular positions

// A motion that comes to where two ways part may take the other one by an error of some tolerances: once more with a condition
// that knows what such errors become
static trust_outcome judged_by_forks(int number, int family, trust_method method, kd_coordinates coordinates,
                                     double rtol)
{
    static trust_case c;
    trust_dice        dice = {1000003u * (uint64_t)number + 17};
    c = (trust_case){0};
    trust_fork = FORK * rtol;
    families[family](&dice, &c);
    trust_fork = 0;
    return trust_run(&c, method, coordinates, rtol);
}

static void one_run(bench *b, int number, int family, tally *t, int *shown)
{
    static trust_case c; // a large text
    trust_dice        dice = {1000003u * (uint64_t)number + 17};
    c = (trust_case){0};
    families[family](&dice, &c);
    trust_method method = rest ? others[trust_choice(&dice, OTHERS)] : methods[trust_choice(&dice, METHODS)];
    method.chosen = chosen;
    kd_coordinates coordinates = trust_choice(&dice, 2) ? KD_JOINT : KD_CARTESIAN;
    double         rtol = trust_decades(&dice, 1e-9, 1e-4);
    trust_outcome  o = trust_run(&c, method, coordinates, rtol);
    if (is_silent(&o)) {
        const double by_tangent = o.error;
        o = judged_by_forks(number, family, method, coordinates, rtol);
        bench_say(b, "  %4d %-9s two ways part: %.2g tolerances by the tangent, %.2g by errors of %g\n", number,
                  c.family, by_tangent, o.error, FORK);
        t[family].forks++;
    }
    t[family].family = c.family;
    if (count(&t[family], &o) && (*shown)++ < SHOWN) tell(b, number, &c, method, coordinates, rtol, &o);
}

static void rows(bench *b, const tally *t)
{
    tally all = {.family = "all"};
    bench_say(b, "\n  %-9s %5s %5s %5s %5s %7s %6s %6s %5s %8s %10s %8s\n", "family", "runs", "done", "clean", "right",
              "refused", "silent", "alarm", "late", "crashed", "worst/tol", "CPU s");
    for (int i = 0; i < ALL; i++) {
        if (t[i].runs == 0) continue;
        bench_say(b, "  %-9s %5d %5d %5d %5d %7d %6d %6d %5d %8d %10.3g %8.1f\n", t[i].family, t[i].runs, t[i].done,
                  t[i].clean, t[i].right, t[i].refused, t[i].silent, t[i].alarm, t[i].late, t[i].crashed + t[i].broken,
                  t[i].worst, t[i].seconds);
        all.runs += t[i].runs;
        all.done += t[i].done;
        all.silent += t[i].silent;
        all.alarm += t[i].alarm;
        all.late += t[i].late;
        all.refused += t[i].refused;
        all.forks += t[i].forks;
        all.plain += t[i].plain;
        all.crashed += t[i].crashed + t[i].broken;
    }
    bench_say(b, "\n");
    bench_row(b, bench_no_goal(true), NAN, all.runs, "", "random models", "runs");
    bench_row(b, bench_exactly(0), NAN, all.silent, "", "success, clean, error above 1000 tolerances", "silent_wrong");
    bench_row(b, bench_no_goal(false), NAN, all.forks, "", "of them wrong but for ways that part within 10 tolerances",
              "forks");
    bench_row(b, bench_no_goal(false), NAN, all.plain, "", "the same, not divided by what the motion makes of errors",
              "silent_plain");
    bench_row(b, bench_below(1), NAN, 100.0 * all.alarm / all.runs, "%",
              "success, not clean, error below 10 tolerances", "false_alarm");
    bench_row(b, bench_exactly(0), NAN, all.late, "", "more than 20 s of processor time", "never_ends");
    bench_row(b, bench_exactly(0), NAN, all.crashed, "", "", "crashed");
    for (int i = 0; i < ALL; i++)
        if (t[i].runs > 0)
            bench_row(b, bench_no_goal(false), NAN, 100.0 * t[i].refused / t[i].runs, "%",
                      "ended with a failure and a reason", "refused.%s", t[i].family);
}

static void random_runs(bench *b)
{
    tally t[ALL] = {{0}};
    int   shown = 0, runs = bench_quick(b) ? QUICK : FULL;
    for (int i = 0; i < runs; i++) one_run(b, i, i % FIRST, t, &shown);
    for (int i = runs; i < runs + runs / MORE; i++) one_run(b, i, FIRST + i % (FAMILIES - FIRST), t, &shown);
    for (int i = PASSAGES; i < PASSAGES + runs / MORE; i++) one_run(b, i, PASSAGE, t, &shown);
    if (shown > SHOWN) bench_say(b, "  ... and %d more\n", shown - SHOWN);
    rows(b, t);
}

// Models with these numbers: some of those of always again, or further ones, of all families in turn
static void some_runs(bench *b, int first, int count, bool further)
{
    tally t[ALL] = {{0}};
    int   shown = 0;
    for (int i = first; i < first + count; i++)
        one_run(b, i,
                mixed      ? MIXED
                : passages ? PASSAGE
                : further  ? i % FAMILIES
                : i < FULL ? i % FIRST
                           : FIRST + i % (FAMILIES - FIRST),
                t, &shown);
    rows(b, t);
}

int main(int argc, char **argv)
{
    int exit_status;
    if (argc == 4 && strcmp(argv[1], "--count") == 0) return trust_cost_child(argv[2], argv[3]);
    // --chosen: the method that kardan chooses, in place of all methods; --others: those that are not in the list
    if (argc > 1 && strcmp(argv[1], "--chosen") == 0) chosen = true, argv[1] = argv[0], argv++, argc--;
    if (argc > 1 && strcmp(argv[1], "--others") == 0) rest = true, argv[1] = argv[0], argv++, argc--;
    // --mixed: several traps in each model
    if (argc > 1 && strcmp(argv[1], "--mixed") == 0) mixed = true, argv[1] = argv[0], argv++, argc--;
    // --passages: linkages through singular positions
    if (argc > 1 && strcmp(argv[1], "--passages") == 0) passages = true, argv[1] = argv[0], argv++, argc--;
    // FIRST COUNT: other models than those of always, or some of those
    const bool further = argc >= 4 && strcmp(argv[1], "--further") == 0;
    const bool some = further || (argc >= 4 && strcmp(argv[1], "--again") == 0);
    const int  first = some ? atoi(argv[2]) : 0, count = some ? atoi(argv[3]) : 0;
    if (some) argv[3] = argv[0], argv += 3, argc -= 3;
    bench *b = bench_create(argc, argv, "Is a clean run right? Random models with planted traps.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    if (some) {
        some_runs(b, first, count, further);
        return bench_end(b);
    }
    if (bench_wants(b, "silent_wrong")) random_runs(b);
    if (bench_wants(b, "defect_cost.")) trust_cost(b, argv[0]);
    return bench_end(b);
}
