// statespace_run.c: problems from model files and single runs.
#include "core/text.h"
#include "statespace.h"
#include <math.h>
#include <string.h>

enum { MAX_ROWS = 128 };
#define MAX_STEPS 50000000L

bool statespace_open(statespace_problem *problem, const char *file, const kd_setting *settings, int nsettings,
                     kd_coordinates coordinates, char *message, size_t size)
{
    char              path[400];
    kd_system_options options = kd_system_options_default();
    *problem = (statespace_problem){0};
    options.coordinates = coordinates;
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, file);
    if (kd_model_read(path, settings, nsettings, &problem->model, message, size) < 0) return false;
    if (kd_system_create(problem->model, &options, &problem->system, message, size) < 0) return false;
    problem->eom = kd_system_eom(problem->system);
    return kd_state_create(problem->eom, &problem->start) >= 0 &&
           kd_eom_data_create(problem->eom, &problem->data) >= 0 &&
           kd_system_start(problem->system, problem->start, message, size) >= 0;
}

bool statespace_open_planar(statespace_problem *problem, char *message, size_t size)
{
    *problem = (statespace_problem){0};
    if (statespace_planar(&problem->written, &problem->start, message, size) < 0) return false;
    problem->eom = problem->written;
    return kd_eom_data_create(problem->eom, &problem->data) >= 0;
}

void statespace_close(statespace_problem *problem)
{
    kd_eom_data_destroy(problem->data);
    kd_state_destroy(problem->start);
    kd_system_destroy(problem->system);
    kd_eom_destroy(problem->written);
    kd_model_destroy(problem->model);
    *problem = (statespace_problem){0};
}

static void place(const statespace_problem *problem, const kd_state *x)
{
    kd_eom_at_time(problem->data, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(problem->data, x->p, x->s);
    kd_eom_at_velocity(problem->data, x->v, x->r);
}

bool statespace_outputs(const statespace_problem *problem, const kd_state *x, double *y)
{
    place(problem, x);
    kd_eom_at_acceleration(problem->data, x->a, x->w, x->lambda, x->mu);
    return kd_eom_eval(problem->data, KD_Y, y) == KD_EVAL_OK;
}

int statespace_output(const statespace_problem *problem, const char *wanted)
{
    for (int i = 0; i < kd_eom_dims(problem->eom).ny; i++) {
        char name[64];
        kd_eom_name(problem->eom, KD_NAME_Y, i, name, sizeof name);
        if (strcmp(name, wanted) == 0) return i;
    }
    return -1;
}

static double largest(const statespace_problem *problem, kd_fn fn)
{
    double    row[MAX_ROWS], worst = 0;
    const int n = kd_eom_dims(problem->eom).nlambda;
    if (n > MAX_ROWS || (n > 0 && kd_eom_eval(problem->data, fn, row) != KD_EVAL_OK)) return NAN;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(row[i]));
    return worst;
}

void statespace_residuals(const statespace_problem *problem, const kd_state *x, double *position, double *velocity)
{
    place(problem, x);
    *position = largest(problem, KD_G);
    *velocity = largest(problem, KD_GI);
}

const char *statespace_form(void)
{
    kd_formulation form;
    return kd_formulation_parse("statespace", &form) ? "statespace" : "psf";
}

bool statespace_known(const statespace_method *method)
{
    kd_formulation     form;
    kd_integrator_kind integrator;
    return kd_formulation_parse(method->form, &form) && kd_integrator_parse(method->integrator, &integrator);
}

statespace_outcome statespace_simulate(const statespace_problem *problem, const statespace_method *method,
                                       const statespace_run *run, kd_state *x)
{
    statespace_outcome    out = {.status = KD_ERR_UNAVAILABLE, .seconds = NAN};
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = KD_PSF;
    o.integrator = KD_RADAU;
    kd_simulation *simulation = NULL;
    kd_state      *own = NULL;
    kd_text(out.message, sizeof out.message, "%s on %s is not built", method->integrator, method->form);
    if (!kd_formulation_parse(method->form, &o.formulation) || !kd_integrator_parse(method->integrator, &o.integrator))
        return out;
    o.rtol = o.atol = run->tol;
    o.integrator_options.cvode.method = method->adams ? KD_CVODE_ADAMS : KD_CVODE_BDF;
    o.integrator_options.max_steps = MAX_STEPS;
    o.integrator_options.arkode.method = method->dirk ? KD_ARKODE_DIRK : KD_ARKODE_ERK;
    o.integrator_options.arkode.own_linear_algebra = method->dirk;
    o.integrator_options.arkode.order = method->dirk ? 4 : method->order > 0 ? method->order : 5;
    o.integrator_options.max_steps = MAX_STEPS;
    o.integrator_options.arkode.table = method->table;
    o.integrator_options.arkode.extrapolate = method->extrapolate;
    o.integrator_options.sdirk.method = method->sdirk;
    o.output = run->output;
    o.context = run->context;
    o.times = run->times;
    o.ntimes = run->ntimes;
    if (!x) {
        if ((out.status = kd_state_create(problem->eom, &own)) < 0) return out;
        x = own;
    }
    kd_state_copy(problem->start, x);
    out.status = kd_simulation_create(problem->eom, NULL, &o, x, &simulation, out.message, sizeof out.message);
    if (out.status >= 0) {
        const double start = bench_cpu_seconds();
        for (int i = 0; i < run->nstops && out.status >= 0; i++) {
            out.status = kd_simulation_run(simulation, run->stops[i]);
            if (run->seconds) run->seconds[i] = out.status < 0 ? NAN : bench_cpu_seconds() - start;
        }
        if (out.status >= 0) out.seconds = bench_cpu_seconds() - start;
        out.stats = kd_simulation_stats(simulation);
        if (out.status < 0) kd_text(out.message, sizeof out.message, "%s", kd_simulation_message(simulation));
    }
    kd_simulation_destroy(simulation);
    kd_state_destroy(own);
    return out;
}
