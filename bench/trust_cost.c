// trust_cost.c: what the verification of steps costs: instructions of runs with it over those without, for the models of
// the gallery, one method of each kind. They are counted by callgrind, in a process of its own for each pair of runs: the
// same figures on an idle machine and on a busy one. Where valgrind is not installed processor times are compared.
//
// Two things make steps longer: the defect of the equations inside of them (kd_verify_look), and the search of laws for what
// steps do not see (kd_unseen_end, kd_unseen_look). Each has what is counted in its functions and its part of the further
// steps, by the number of steps that it has taken back.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_run.h"
#include "core/text.h"
#include "trust.h"

#define ROUNDS 5
#define QUICK_ROUNDS 2
#define LEAST_SECONDS 0.02 // of one measurement: shorter runs are repeated
#define STEPS 300          // of one run: longer ones are cut off there
#define TOLERANCE 1e-6

typedef struct subject {
    bench_problem problem;
    kd_model     *model; // NULL: an example in C
    kd_system    *system;
} subject;

static const char *const examples[] = {"pendulum", "caraxis", "andrews", "truck7", "pendulum-chain12"};
// clang-format off
static const char *const models[] = { // with --quick those of the first lines
    "slider-crank", "stewart", "robot6", "hmmwv", "quarter-car", "four-bar-spring", "passenger-car",
    "double-pendulum", "bouncing-ball", "bushing-mount", "gyroscope", "crane",
    "air-suspension", "andrews", "axle-test-rig", "ball-row", "bicycle", "bricard", "cam", "car-trailer",
    "cardan-shaft", "carriage", "chain", "closed-loop-car", "damper-test", "delta-robot", "dice", "door",
    "four-bar", "friction-slider", "gear-shift", "gear-train", "governor", "heavy-top", "hunting-wheelset",
    "hydraulic-cylinder", "impact-ball", "inverted-pendulum", "ladder", "n-four-bar", "pendulum-stop",
    "pendulum", "plate-cam", "position-control", "robot6-torques", "rolling-disc", "sampled-speed", "satellite",
    "screw-jack", "semi-active-truck", "skate", "spatial-slider-crank", "speed-control", "stick-slip",
    "stiff-double-pendulum", "trammel", "truck5", "truck7",
};
// clang-format on
#define QUICK_MODELS 12
#define EXAMPLES ((int)(sizeof examples / sizeof *examples))
#define MODELS ((int)(sizeof models / sizeof *models))

static const struct kind {
    const char        *word;
    kd_formulation     formulation;
    kd_integrator_kind integrator;
    double             most; // [%]
} kinds[] = {
    {"radau", KD_PSF, KD_RADAU, 5},    {"sdirk", KD_STATESPACE, KD_SDIRK, 5}, {"bdf", KD_ODASSL, KD_BDF, 20},
    {"dopri5", KD_ODE, KD_DOPRI5, 15}, {"dop853", KD_ODE, KD_DOP853, 15},
};

static const char *trust_program; // this one; NULL: no callgrind

// ---- problems -------------------------------------------------------------------------------------------------------

static bool open_model(subject *s, const char *name, char *message, size_t size)
{
    char path[BENCH_PATH];
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, name);
    if (kd_model_read(path, NULL, 0, &s->model, message, size) < 0) return false;
    if (kd_system_create(s->model, NULL, &s->system, message, size) < 0) return false;
    s->problem.name = name;
    s->problem.eom = (kd_eom *)(uintptr_t)kd_system_eom(s->system); // stays the system's
    s->problem.inputs = *kd_system_inputs(s->system);
    s->problem.t_end = kd_model_run(s->model)->t_end;
    if (kd_state_create(s->problem.eom, &s->problem.x) < 0) return false;
    return kd_system_start(s->system, s->problem.x, message, size) >= 0;
}

static bool open_subject(subject *s, int i, char *message, size_t size)
{
    *s = (subject){0};
    return i < EXAMPLES ? bench_problem_open(&s->problem, examples[i], message, size)
                        : open_model(s, models[i - EXAMPLES], message, size);
}

static void close_subject(subject *s)
{
    if (!s->system) {
        bench_problem_close(&s->problem);
        return;
    }
    kd_state_destroy(s->problem.x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

typedef struct step_count {
    long   left; // accepted steps
    double t;    // of the last one
} step_count;

// Output function of the first run: stop after so many steps
static kd_eval count_steps(const kd_state *x, bool at_time, void *context)
{
    step_count *c = context;
    c->t = x->t;
    return at_time || c->left-- > 0 ? KD_EVAL_OK : KD_EVAL_STOP;
}

typedef struct taken_back { // steps
    long by_defect, all;
} taken_back;

// One run to t_end; NaN: it failed, otherwise its processor time
static double run_once(const subject *s, const struct kind *kind, bool verify, double t_end, step_count *c, kd_state *x,
                       taken_back *back)
{
    char                  message[300];
    kd_simulation        *simulation;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = kind->formulation;
    opt.integrator = kind->integrator;
    opt.rtol = opt.atol = TOLERANCE;
    opt.verify = verify;
    const double longest = s->model ? kd_model_run(s->model)->max_step : 0;
    if (longest > 0) opt.integrator_options.h_max = longest;
    if (c) {
        opt.output = count_steps;
        opt.context = c;
    }
    kd_state_copy(s->problem.x, x);
    if (kd_simulation_create(s->problem.eom, &s->problem.inputs, &opt, x, &simulation, message, sizeof message) < 0)
        return NAN;
    double    started = bench_cpu_seconds();
    kd_status status = kd_simulation_run(simulation, t_end);
    double    seconds = bench_cpu_seconds() - started;
    if (back)
        *back = (taken_back){kd_simulation_verification(simulation).redone, kd_simulation_stats(simulation).retracted};
    kd_simulation_destroy(simulation);
    return status < 0 ? NAN : seconds;
}

// ---- instructions ---------------------------------------------------------------------------------------------------

// What runs under callgrind: how far the first steps go, then so far without and with verification
int trust_cost_child(const char *subject_number, const char *kind_number)
{
    char               message[300];
    subject            s;
    kd_state          *x;
    step_count         c = {STEPS, 0};
    const struct kind *kind = &kinds[atoi(kind_number)];
    if (!open_subject(&s, atoi(subject_number), message, sizeof message)) return 1;
    if (kd_state_create(s.problem.eom, &x) < 0) return 1;
    taken_back back = {0, 0};
    bool       good = !isnan(run_once(&s, kind, false, s.problem.t_end, &c, x, NULL));
    for (int verify = 0; verify < 2 && good; verify++) good = !isnan(run_once(&s, kind, verify, c.t, NULL, x, &back));
    printf("%ld %ld\n", back.by_defect, back.all);
    kd_state_destroy(x);
    close_subject(&s);
    return good ? 0 : 1;
}

typedef struct cost { // instructions, or seconds
    double without, with;
    double defect, search; // in their functions; NaN: not known
    double by_defect;      // part of the further steps
} cost;

static double *function_of(const char *name, cost *c)
{
    if (strcmp(name, "kd_verify_look\n") == 0) return &c->defect;
    return strcmp(name, "kd_unseen_look\n") == 0 || strcmp(name, "kd_unseen_end\n") == 0 ? &c->search : NULL;
}

// Callgrind's file: the number behind "totals:", and what calls of the functions took. A name is written once, "(12) name",
// and is "(12)" from there on; the line behind "calls=" ends with the cost. NaN: there are no totals
static double total_of(const char *path, cost *c)
{
    static double *known[20000]; // where the cost of function 12 goes; larger numbers are of no interest
    char           line[2000];
    double         total = NAN, **callee = &known[0];
    bool           called = false;
    FILE          *file = fopen(path, "r");
    memset(known, 0, sizeof known);
    while (file && fgets(line, sizeof line, file)) {
        const bool is_callee = strncmp(line, "cfn=(", 5) == 0;
        if (strncmp(line, "totals:", 7) == 0) total = strtod(line + 7, NULL);
        if (called && *callee && strrchr(line, ' ')) **callee += strtod(strrchr(line, ' '), NULL);
        called = strncmp(line, "calls=", 6) == 0;
        if (!is_callee && strncmp(line, "fn=(", 4) != 0) continue;
        char      *end;
        const long number = strtol(line + (is_callee ? 5 : 4), &end, 10);
        if (number <= 0 || number >= (long)(sizeof known / sizeof *known)) continue;
        if (end[0] == ')' && end[1] == ' ') known[number] = function_of(end + 2, c);
        if (is_callee) callee = &known[number];
    }
    if (file) fclose(file);
    return total;
}

// Part of the further steps that the defect is to blame for, from what the run has told
static double part_of_defect(const char *path)
{
    taken_back back = {0, 0};
    FILE      *file = fopen(path, "r");
    bool       good = file && fscanf(file, "%ld %ld", &back.by_defect, &back.all) == 2;
    if (file) fclose(file);
    return !good ? 1 : back.all > 0 ? (double)back.by_defect / (double)back.all : 0;
}

// Instructions of the second and the third run; false: one failed
static bool count_instructions(int number, int kind, cost *c)
{
    char folder[] = "/tmp/kardan-trust-XXXXXX", command[2 * BENCH_PATH], path[BENCH_PATH];
    cost unused = {0};
    *c = unused;
    if (!mkdtemp(folder)) return false;
    kd_text(command, sizeof command,
            "valgrind --tool=callgrind --toggle-collect=kd_simulation_run --dump-after=kd_simulation_run "
            "--callgrind-out-file=%s/out %s --count %d %d >%s/told 2>/dev/null",
            folder, trust_program, number, kind, folder);
    bool good = system(command) == 0;
    kd_text(path, sizeof path, "%s/out.2", folder);
    if (good) c->without = total_of(path, &unused);
    kd_text(path, sizeof path, "%s/out.3", folder);
    if (good) c->with = total_of(path, c);
    good = good && c->without > 0 && c->with > 0;
    kd_text(path, sizeof path, "%s/told", folder);
    if (good) c->by_defect = part_of_defect(path);
    (void)remove(path);
    for (int i = 0; i < 5; i++) {
        kd_text(path, sizeof path, i > 0 ? "%s/out.%d" : "%s/out", folder, i);
        (void)remove(path);
    }
    (void)remove(folder);
    return good;
}

// ---- times, where callgrind is not installed ------------------------------------------------------------------------

// Least times without and with verification, measured in turn
static bool measure_times(const subject *s, const struct kind *kind, int rounds, cost *result)
{
    kd_state  *x;
    step_count c = {STEPS, 0};
    double     least[2] = {INFINITY, INFINITY};
    if (kd_state_create(s->problem.eom, &x) < 0) return false;
    double first = run_once(s, kind, false, s->problem.t_end, &c, x, NULL);
    int    repetitions = isnan(first) || first > LEAST_SECONDS ? 1 : (int)(LEAST_SECONDS / fmax(first, 1e-5)) + 1;
    for (int k = 0; k < rounds && !isnan(first); k++) {
        for (int verify = 0; verify < 2; verify++) {
            double sum = 0;
            for (int i = 0; i < repetitions; i++) sum += run_once(s, kind, verify, c.t, NULL, x, NULL);
            least[verify] = fmin(least[verify], sum / repetitions);
            if (isnan(sum)) first = NAN;
        }
    }
    kd_state_destroy(x);
    *result = (cost){least[0], least[1], NAN, NAN, 1};
    return !isnan(first);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

static bool measure(const bench *b, int number, int kind, const subject *s, cost *c)
{
    if (trust_program) return count_instructions(number, kind, c);
    return measure_times(s, &kinds[kind], bench_quick(b) ? QUICK_ROUNDS : ROUNDS, c);
}

// Per cent of the run without verification: all of it, the defect's part, the search's
typedef struct shares {
    double all, defect, search;
} shares;

static shares shares_of(const cost *c)
{
    shares s = {100 * (c->with / c->without - 1), NAN, NAN};
    if (isnan(c->defect)) return s.defect = s.all, s;
    const double further = c->with - c->without - c->defect - c->search;
    s.defect = 100 * (c->defect + fmax(c->by_defect * further, 0)) / c->without;
    s.search = s.all - s.defect;
    return s;
}

typedef struct mean { // of the logarithms of ratios: models count alike, whatever they take
    double sum, worst;
    int    count, beyond;
    char   name[64]; // of the worst
} mean;

static void add(mean *m, const char *name, double percent, double most)
{
    if (isnan(percent)) return;
    m->sum += log1p(percent / 100);
    m->count++;
    m->beyond += percent > most;
    if (!(percent > m->worst)) return;
    m->worst = percent;
    kd_text(m->name, sizeof m->name, "%s", name);
}

static void mean_row(bench *b, const mean *m, bench_goal goal, const char *row, const char *word)
{
    char note[200];
    if (m->count == 0) return;
    kd_text(note, sizeof note, "mean of %d models, %s; %d of them are beyond the limit, most: %s %.1f %%", m->count,
            trust_program ? "instructions" : "processor time, all together", m->beyond, m->name, m->worst);
    bench_row(b, goal, NAN, 100 * expm1(m->sum / m->count), "%", note, "%s.%s", row, word);
}

static void measure_kind(bench *b, int k)
{
    const struct kind *kind = &kinds[k];
    const double       unit = trust_program ? 1e-6 : 1e3;
    mean               defect = {0}, search = {0}, all = {0};
    for (int i = 0; i < EXAMPLES + (bench_quick(b) ? QUICK_MODELS : MODELS); i++) {
        char    message[300] = "";
        subject s;
        cost    c;
        if (!open_subject(&s, i, message, sizeof message)) {
            bench_say(b, "  %s: %s\n", kind->word, message);
        } else if (measure(b, i, k, &s, &c)) {
            const shares percent = shares_of(&c);
            bench_say(b, "  %-8s %-22s %10.3f %s %6.1f %% = defects %5.1f + search %5.1f\n", kind->word, s.problem.name,
                      unit * c.without, trust_program ? "M" : "ms", percent.all, percent.defect, percent.search);
            fflush(stdout);
            add(&defect, s.problem.name, percent.defect, kind->most);
            add(&search, s.problem.name, percent.search, kind->most);
            add(&all, s.problem.name, percent.all, kind->most);
        }
        close_subject(&s);
    }
    mean_row(b, &defect, bench_below(kind->most), "defect_cost", kind->word);
    mean_row(b, &search, bench_no_goal(false), "search_cost", kind->word);
    mean_row(b, &all, bench_no_goal(false), "verify_cost", kind->word);
}

void trust_cost(bench *b, const char *program)
{
    trust_program = system("valgrind --version >/dev/null 2>&1") == 0 ? program : NULL;
    bench_say(b, "\ncost of verification: %s without, and how much more with it\n",
              trust_program ? "instructions (callgrind)" : "processor time (valgrind is not installed)");
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (bench_wants(b, "defect_cost.%s", kinds[i].word)) measure_kind(b, i);
}
