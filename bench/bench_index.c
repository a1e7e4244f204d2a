// bench_index.c: index reduction and drift (M. Arnold, Simulation algorithms in vehicle system dynamics, section 4:
// "S1"): the hunting wheelset on index 3 with two bounds of Newton's error (figures 2, 3), drift of index 2 and 1
// (figure 4), digits in all forms that keep the position constraint; slopes of the drift on the circular track.
#include "index.h"
#include <stdlib.h>

typedef struct sampler {
    index_watch watch;
    void       *context;
    int         sample;
} sampler;

static kd_eval at_time(const kd_state *x, bool wanted, void *context)
{
    sampler *s = context;
    if (wanted) s->watch(x, s->sample++, s->context);
    return KD_EVAL_OK;
}

kd_status index_run(const bench_problem *problem, const index_method *method, const double *times, int ntimes,
                    index_watch watch, void *context, kd_state *x, char *message, size_t size)
{
    sampler               s = {.watch = watch, .context = context};
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = method->form;
    o.integrator = method->integrator;
    o.formulation_options.projection = method->projection;
    o.rtol = method->rtol;
    o.atol = method->atol;
    o.integrator_options.max_steps = 10000000;
    o.integrator_options.h_first = o.integrator_options.h_max = method->step;
    o.integrator_options.radau.start_zero = method->start_zero;
    if (method->kappa > 0)
        o.integrator_options.radau.newton_stop = o.integrator_options.bdf.newton_stop = method->kappa;
    o.times = times;
    o.ntimes = ntimes;
    o.output = at_time;
    o.context = &s;
    kd_state_copy(problem->x, x);
    return kd_simulate(problem->eom, &problem->inputs, &o, x, times[ntimes - 1], NULL, message, size);
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "Index reduction and drift: section 4 of S1 made again.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    index_wheelset(b);
    index_track(b);
    return bench_end(b);
}
