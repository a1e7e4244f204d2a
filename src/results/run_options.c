// run_options.c: how a model wants to be simulated: what its file says under `run`, the rest by the choice of `kardan
// simulate`.
#include <kardan/results.h>
#include <limits.h>

#include "core/text.h"

enum { DRIVEN_STEPS = 100 }; // at least, of a mechanism without freedom

// The form that an integrator runs on, where the model does not say
static kd_formulation formulation_for(kd_integrator integrator)
{
    switch (integrator) {
    case KD_RADAU:
    case KD_SDIRK:
        return KD_PSF;
    case KD_BDF:
    case KD_IDA:
        return KD_GGL;
    default:
        return KD_ODE;
    }
}

static void set_largest_step(kd_simulation_options *o, double h)
{
    o->radau.h_max = o->bdf.h_max = o->ida.h_max = o->cvode.h_max = o->arkode.h_max = o->sdirk.h_max =
        o->explicit_rk.h_max = o->extrapolation.h_max = h;
}

static void set_most_steps(kd_simulation_options *o, long n)
{
    o->radau.max_steps = o->bdf.max_steps = o->ida.max_steps = o->cvode.max_steps = o->arkode.max_steps =
        o->sdirk.max_steps = o->explicit_rk.max_steps = o->extrapolation.max_steps = n;
}

// --rtol alone sets both tolerances, and so does that of the file; neither: the integrator's
static void set_tolerances(kd_simulation_options *o, double rtol, double atol)
{
    const bool is_ida = o->integrator == KD_IDA;
    o->rtol = rtol > 0 ? rtol : is_ida ? o->ida.rtol : o->radau.rtol;
    o->atol = atol > 0 ? atol : rtol > 0 ? rtol : is_ida ? o->ida.atol : o->radau.atol;
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
    options->formulation = formulation_for(options->integrator);
    if (run->formulation && !kd_formulation_parse(run->formulation, &options->formulation)) {
        kd_text(message, size, "run: there is no formulation '%s'", run->formulation);
        return KD_ERR_ARGUMENT;
    }
    set_tolerances(options, run->rtol, run->atol);
    // nothing limits the steps of a mechanism without freedom
    if (run->max_step > 0)
        set_largest_step(options, run->max_step);
    else
        set_largest_step(options, info.dof == 0 ? run->t_end / DRIVEN_STEPS : 0);
    set_most_steps(options, LONG_MAX / 2);
    // constraints that are dependent at the start can be solved by singular values alone
    if (info.nsingular > 0) options->formulation_options.constraints = KD_DECOMPOSE_SVD;
    return KD_OK;
}
