// run_options.c: how a model wants to be simulated: what its file says under `run`, the rest by the choice of the
// command `kardan simulate`.
#include "results/run_options.h"

#include <kardan/results.h>
#include <limits.h>
#include <string.h>

#include "core/text.h"

enum { DRIVEN_STEPS = 100 }; // at least, of a mechanism without freedom

double kd_driven_step(const kd_system_info *info, double duration)
{
    return info->dof == 0 ? duration / DRIVEN_STEPS : 0;
}

double kd_system_driven_step(const kd_system *system, double duration)
{
    const kd_system_info info = system ? kd_system_info_of(system) : (kd_system_info){.dof = 1};
    return kd_driven_step(&info, duration);
}

// --rtol alone sets both tolerances, and so does that of the file; neither: the integrator's
static void set_tolerances(kd_simulation_options *o, double rtol, double atol)
{
    o->rtol = rtol > 0 ? rtol : o->integrator_options.rtol;
    o->atol = atol > 0 ? atol : rtol > 0 ? rtol : o->integrator_options.atol;
}

static bool run_sets(const kd_run_def *run, const char *name)
{
    for (int i = 0; i < run->noptions; i++)
        if (strcmp(run->option[i].name, name) == 0) return true;
    return false;
}

kd_status kd_run_set_options(const kd_run_def *run, kd_simulation_options *options, char *message, size_t size)
{
    char number[40], why[400];
    kd_text(message, size, "%s", "");
    if (!run || !options) return KD_ERR_ARGUMENT;
    // numbers as text with all digits: options have one reader
    for (int i = 0; i < run->noptions; i++) {
        const kd_run_option *o = &run->option[i];
        kd_text(number, sizeof number, "%.17g", o->value);
        if (kd_option_set(options, o->name, o->word ? o->word : number, why, sizeof why) >= 0) continue;
        kd_text(message, size, "run: %s", why);
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

kd_status kd_system_run_options(const kd_system *system, kd_simulation_options *options, char *message, size_t size)
{
    if (!system || !options) return KD_ERR_ARGUMENT;
    const kd_run_def    *run = kd_model_run(kd_system_model(system));
    const kd_system_info info = kd_system_info_of(system);
    // integrator, its options, formulation, tolerances: each may depend on those before
    *options = kd_simulation_options_default();
    if (run->integrator && !kd_integrator_parse(run->integrator, &options->integrator)) {
        kd_text(message, size, "run: there is no integrator '%s'", run->integrator);
        return KD_ERR_ARGUMENT;
    }
    // its options, on which the choice of a formulation depends
    const kd_status status = kd_run_set_options(run, options, message, size);
    if (status < 0) return status;
    // what is left open as a whole is chosen for the equations, and may change on the way
    if (run->integrator) options->formulation = kd_method_formulation(options);
    if (run->formulation && !kd_formulation_parse(run->formulation, &options->formulation)) {
        kd_text(message, size, "run: there is no formulation '%s'", run->formulation);
        return KD_ERR_ARGUMENT;
    }
    if (run->formulation && !run->integrator) options->integrator = kd_method_named(NULL).integrator;
    set_tolerances(options, run->rtol, run->atol);
    options->integrator_options.h_max = run->max_step > 0 ? run->max_step : kd_driven_step(&info, run->t_end);
    if (!run_sets(run, "steps.max_steps")) options->integrator_options.max_steps = LONG_MAX / 2;
    // constraints that are dependent at the start can be solved by singular values alone
    if (info.nsingular > 0 && !run_sets(run, "form.constraints"))
        options->formulation_options.constraints = KD_DECOMPOSE_SVD;
    return KD_OK;
}
