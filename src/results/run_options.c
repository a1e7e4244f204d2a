// run_options.c: how a model wants to be simulated: what its file says under `run`, the rest by the choice of `kardan
// simulate`.
#include <kardan/results.h>
#include <limits.h>

#include "core/text.h"

enum { DRIVEN_STEPS = 100 }; // at least, of a mechanism without freedom

// --rtol alone sets both tolerances, and so does that of the file; neither: the integrator's
static void set_tolerances(kd_simulation_options *o, double rtol, double atol)
{
    o->rtol = rtol > 0 ? rtol : o->integrator_options.rtol;
    o->atol = atol > 0 ? atol : rtol > 0 ? rtol : o->integrator_options.atol;
}

kd_status kd_system_run_options(const kd_system *system, kd_simulation_options *options, char *message, size_t size)
{
    if (!system || !options) return KD_ERR_ARGUMENT;
    const kd_run_def    *run = kd_model_run(kd_system_model(system));
    const kd_system_info info = kd_system_info_of(system);
    *options = kd_simulation_options_default();
    if (run->integrator && !kd_integrator_parse(run->integrator, &options->integrator)) {
        kd_text(message, size, "run: there is no integrator '%s'", run->integrator);
        return KD_ERR_ARGUMENT;
    }
    options->formulation = kd_method_formulation(options);
    if (run->formulation && !kd_formulation_parse(run->formulation, &options->formulation)) {
        kd_text(message, size, "run: there is no formulation '%s'", run->formulation);
        return KD_ERR_ARGUMENT;
    }
    set_tolerances(options, run->rtol, run->atol);
    // nothing limits the steps of a mechanism without freedom
    options->integrator_options.h_max = run->max_step > 0 ? run->max_step
                                        : info.dof == 0   ? run->t_end / DRIVEN_STEPS
                                                          : 0;
    options->integrator_options.max_steps = LONG_MAX / 2;
    // constraints that are dependent at the start can be solved by singular values alone
    if (info.nsingular > 0) options->formulation_options.constraints = KD_DECOMPOSE_SVD;
    return KD_OK;
}
