// explicit_constants.c: safety and beta of dop853's step control were chosen on the car axis and on Andrews' squeezer
// (docs/methods/explicit.md). Here they meet Hairer's values, 0.9 and 0, on problems that had no part in the choice.
//
// Cost of a pair of constants: evaluations, scaled to an error of 1e-6 with order 8, mean over many tolerances: single
// errors depend on luck. No times: the result is the same on any machine. References: dop853 at 1e-13.
#include "common_run.h"
#include "core/memory.h"
#include "core/text.h"
#include "explicit.h"
#include "gallery.h"
#include <math.h>
#include <string.h>

#define TARGET 1e-6
#define ERROR_FLOOR 1e-3
#define TIGHT 1e-13
enum { TOLERANCES = 33, FEW = 9 }; // from 1e-5 to 1e-9

typedef struct constants {
    double safety, beta;
} constants;
static const constants standard = {0.9, 0}, own = {0, -1}; // own: the method's

typedef struct test_problem {
    const char      *name, *file, *example; // model file, or equations written in C
    kd_coordinates   coordinates;
    double           t_end;
    kd_model        *model;
    kd_system       *system;
    kd_eom          *written;
    const kd_eom    *eom;
    kd_inputs        inputs;
    const kd_inputs *in;
    kd_state        *start, *x, *reference;
} test_problem;

// ---- problems -------------------------------------------------------------------------------------------------------

static bool open_problem(test_problem *p, char *message, size_t size)
{
    char path[400];
    if (p->example) {
        const kd_example *example = kd_gallery_find(p->example);
        if (!example || example->create(&p->written, &p->start, &p->inputs) < 0) return false;
        p->eom = p->written;
        p->in = &p->inputs;
        if (kd_initial_consistent(p->eom, p->in, NULL, p->start, message, size) < 0) return false;
    } else {
        kd_system_options options = kd_system_options_default();
        options.coordinates = p->coordinates;
        kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, p->file);
        if (kd_model_read(path, NULL, 0, &p->model, message, size) < 0 ||
            kd_system_create(p->model, &options, &p->system, message, size) < 0)
            return false;
        p->eom = kd_system_eom(p->system);
        p->in = kd_system_inputs(p->system);
        if (kd_state_create(p->eom, &p->start) < 0 || kd_system_start(p->system, p->start, message, size) < 0)
            return false;
    }
    return kd_state_create(p->eom, &p->x) >= 0 && kd_state_create(p->eom, &p->reference) >= 0;
}

static void close_problem(test_problem *p)
{
    kd_state_destroy(p->start);
    kd_state_destroy(p->x);
    kd_state_destroy(p->reference);
    kd_system_destroy(p->system);
    kd_model_destroy(p->model);
    kd_eom_destroy(p->written);
}

// ---- cost -----------------------------------------------------------------------------------------------------------

// Evaluations of one run to the state x; 0: it failed
static long run(const test_problem *p, constants c, double tol, kd_state *x, char *message, size_t size)
{
    kd_simulation_options o = kd_simulation_options_default();
    kd_simulation        *simulation = NULL;
    o.formulation = KD_ODE;
    o.integrator = KD_DOP853;
    o.rtol = o.atol = tol;
    o.integrator_options.explicit_rk.safety = c.safety;
    o.integrator_options.explicit_rk.beta = c.beta;
    kd_state_copy(p->start, x);
    long      evaluations = 0;
    kd_status status = kd_simulation_create(p->eom, p->in, &o, x, &simulation, message, size);
    if (status >= 0) {
        status = kd_simulation_run(simulation, p->t_end);
        evaluations = kd_simulation_stats(simulation).residuals;
        if (status < 0) kd_text(message, size, "%s", kd_simulation_message(simulation));
    }
    kd_simulation_destroy(simulation);
    return status < 0 ? 0 : evaluations;
}

static double error_of(const test_problem *p)
{
    double worst = 0;
    for (int i = 0; i < kd_eom_dims(p->eom).np; i++)
        worst = fmax(worst, fabs(p->x->p[i] - p->reference->p[i]) / fmax(ERROR_FLOOR, fabs(p->reference->p[i])));
    return worst;
}

// Mean of evaluations (error / target)^(1/8); NaN: a run failed
static double cost(const test_problem *p, constants c, int ntol, char *message, size_t size)
{
    double sum = 0;
    for (int k = 0; k < ntol; k++) {
        const long evaluations = run(p, c, pow(10, -5 - 4.0 * k / (ntol - 1)), p->x, message, size);
        if (evaluations == 0) return NAN;
        sum += (double)evaluations * pow(error_of(p) / TARGET, 0.125);
    }
    return sum / ntol;
}

void explicit_constants(bench *b)
{
    static const test_problem problems[] = {
        {.name = "slider-crank", .file = "slider-crank", .t_end = 10},
        {.name = "spatial-slider-crank", .file = "spatial-slider-crank", .t_end = 5},
        {.name = "double-pendulum", .file = "double-pendulum", .t_end = 5},
        {.name = "double-pendulum-cartesian", .file = "double-pendulum", .coordinates = KD_CARTESIAN, .t_end = 5},
        {.name = "heavy-top", .file = "heavy-top", .t_end = 2},
        {.name = "gyroscope", .file = "gyroscope", .t_end = 2},
        {.name = "satellite", .file = "satellite", .t_end = 20},
        {.name = "bricard", .file = "bricard", .t_end = 5},
        {.name = "pendulum", .example = "pendulum", .t_end = 20},
        {.name = "fekete", .example = "fekete", .t_end = 2},
        {.name = "circulartrack", .example = "circulartrack", .t_end = 10},
    };
    double product = 0;
    int    count = 0;
    if (!bench_wants(b, "constants*")) return;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        test_problem p = problems[i];
        char         message[300] = "", note[400];
        double       ratio = NAN;
        if (open_problem(&p, message, sizeof message) &&
            run(&p, standard, TIGHT, p.reference, message, sizeof message) > 0) {
            const int    ntol = bench_quick(b) ? FEW : TOLERANCES;
            const double hairer = cost(&p, standard, ntol, message, sizeof message);
            const double ours = cost(&p, own, ntol, message, sizeof message);
            ratio = hairer / ours;
            kd_text(note, sizeof note, "evaluations at error 1e-6: %.0f with 0.9 and 0, %.0f with ours %s", hairer,
                    ours, isnan(ratio) ? message : "");
        } else {
            kd_text(note, sizeof note, "%s", message);
        }
        bench_row(b, bench_no_goal(true), NAN, ratio, "", note, "constants.dop853.%s", p.name);
        if (isfinite(ratio)) product += log(ratio), count++;
        close_problem(&p);
    }
    bench_row(b, bench_above(1), NAN, count > 0 ? exp(product / count) : NAN, "",
              "geometric mean of these problems, on which the constants were not chosen", "constants.dop853");
}
