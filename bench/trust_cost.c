// trust_cost.c: what the verification of steps costs: processor time of whole runs with it over those without, for
// models of the gallery, one method of each kind.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common_run.h"
#include "core/text.h"
#include "trust.h"

#define ROUNDS 5
#define QUICK_ROUNDS 2
#define LEAST_SECONDS 0.02 // of one measurement: shorter runs are repeated
#define MOST_SECONDS 0.3   // longer runs are cut off there: explicit methods on stiff models
#define TOLERANCE 1e-6

typedef struct subject {
    bench_problem problem;
    kd_model     *model; // NULL: an example in C
    kd_system    *system;
} subject;

static const char *const examples[] = {"pendulum", "caraxis", "andrews", "truck7", "pendulum-chain12"};
static const char *const models[] = {"slider-crank",  "stewart",         "robot6",        "hmmwv",
                                     "quarter-car",   "four-bar-spring", "passenger-car", "double-pendulum",
                                     "bouncing-ball", "bushing-mount",   "gyroscope",     "crane"};
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

// ---- times ----------------------------------------------------------------------------------------------------------

// Output function of the first run: stop where the time is over
static kd_eval watch_clock(const kd_state *x, bool at_time, void *context)
{
    (void)x, (void)at_time;
    return bench_cpu_seconds() > *(const double *)context ? KD_EVAL_STOP : KD_EVAL_OK;
}

// One run to t_end; NaN: it failed
static double run_once(const subject *s, const struct kind *kind, bool verify, double t_end, kd_state *x)
{
    char                  message[300];
    kd_simulation        *simulation;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = kind->formulation;
    opt.integrator = kind->integrator;
    opt.rtol = opt.atol = TOLERANCE;
    opt.verify = verify;
    double until = bench_cpu_seconds() + MOST_SECONDS;
    if (t_end == s->problem.t_end) {
        opt.output = watch_clock;
        opt.context = &until;
    }
    kd_state_copy(s->problem.x, x);
    if (kd_simulation_create(s->problem.eom, &s->problem.inputs, &opt, x, &simulation, message, sizeof message) < 0)
        return NAN;
    double    started = bench_cpu_seconds();
    kd_status status = kd_simulation_run(simulation, t_end);
    double    seconds = bench_cpu_seconds() - started;
    kd_simulation_destroy(simulation);
    return status < 0 ? NAN : seconds;
}

// Least times without and with verification, measured in turn
static bool measure(const subject *s, const struct kind *kind, int rounds, double least[2])
{
    kd_state *x;
    least[0] = least[1] = INFINITY;
    if (kd_state_create(s->problem.eom, &x) < 0) return false;
    double first = run_once(s, kind, false, s->problem.t_end, x),
           t_end = nextafter(x->t, -INFINITY); // as far as it came
    int repetitions = isnan(first) || first > LEAST_SECONDS ? 1 : (int)(LEAST_SECONDS / fmax(first, 1e-5)) + 1;
    for (int k = 0; k < rounds && !isnan(first); k++) {
        for (int verify = 0; verify < 2; verify++) {
            double sum = 0;
            for (int i = 0; i < repetitions; i++) sum += run_once(s, kind, verify, t_end, x);
            least[verify] = fmin(least[verify], sum / repetitions);
            if (isnan(sum)) first = NAN;
        }
    }
    kd_state_destroy(x);
    return !isnan(first);
}

// Models count alike, whatever time they take: the mean of the logarithms of their ratios
static void measure_kind(bench *b, const struct kind *kind)
{
    double sum = 0, worst = 0;
    int    count = 0;
    char   note[200], worst_name[64] = "";
    for (int i = 0; i < EXAMPLES + MODELS; i++) {
        char    message[300] = "";
        subject s;
        double  least[2];
        if (!open_subject(&s, i, message, sizeof message)) {
            bench_say(b, "  %s: %s\n", kind->word, message);
        } else if (measure(&s, kind, bench_quick(b) ? QUICK_ROUNDS : ROUNDS, least)) {
            double percent = 100 * (least[1] / least[0] - 1);
            bench_say(b, "  %-8s %-18s %10.3f ms %6.1f %%\n", kind->word, s.problem.name, 1e3 * least[0], percent);
            sum += log(least[1] / least[0]);
            count++;
            if (percent > worst) {
                worst = percent;
                kd_text(worst_name, sizeof worst_name, "%s", s.problem.name);
            }
        }
        close_subject(&s);
    }
    kd_text(note, sizeof note, "mean of %d models; most: %s %.1f %%", count, worst_name, worst);
    bench_row(b, bench_below(kind->most), NAN, count > 0 ? 100 * (exp(sum / count) - 1) : NAN, "%", note,
              "defect_cost.%s", kind->word);
}

void trust_cost(bench *b)
{
    bench_say(b, "\ncost of verification: time without, and how much more with it\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bench_wants(b, "defect_cost.%s", kinds[i].word)) measure_kind(b, &kinds[i]);
}
