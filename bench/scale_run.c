// scale_run.c: one run of one model in a process of its own, bounded in processor time and memory.
#include "scale.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common_run.h"
#include "core/text.h"

const scale_method SCALE_DEFAULT = {.chosen = true, .formulation = KD_PSF, .integrator = KD_RADAU};

const char *scale_method_word(scale_method m, char *text, size_t size)
{
    kd_text(text, size, m.chosen ? "default" : "%s + %s", kd_formulation_word(m.formulation),
            kd_integrator_word(m.integrator));
    return text;
}

kd_simulation_options scale_options(const scale_subject *s, scale_method m, double tolerance)
{
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = m.chosen ? KD_FORMULATION_CHOSEN : m.formulation;
    o.integrator = m.chosen ? KD_INTEGRATOR_CHOSEN : m.integrator;
    o.rtol = o.atol = tolerance;
    o.integrator_options.h_max = s->h_max;
    return o;
}

typedef struct watch {
    const scale_limits *limits;
    double              started;
} watch;

// After an accepted step: enough processor time for a mean?
static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    const watch *w = context;
    (void)x;
    (void)at_time;
    return w->limits->enough > 0 && bench_cpu_seconds() - w->started > w->limits->enough ? KD_EVAL_STOP : KD_EVAL_OK;
}

static void simulate(const scale_subject *s, scale_method m, double tolerance, const scale_limits *limits,
                     scale_outcome *o)
{
    watch                 w = {.limits = limits};
    kd_simulation        *simulation = NULL;
    kd_simulation_options options = scale_options(s, m, tolerance);
    kd_state             *x;
    if (limits->steps > 0) options.integrator_options.max_steps = limits->steps;
    options.output = limits->enough > 0 ? look : NULL;
    options.context = &w;
    options.accelerations = false;
    o->status = kd_state_create(s->eom, &x);
    if (o->status < 0) return;
    kd_state_copy(s->start, x);
    double started = bench_cpu_seconds();
    o->status = kd_simulation_create(s->eom, kd_system_inputs(s->system), &options, x, &simulation, o->message,
                                     sizeof o->message);
    o->setup = bench_cpu_seconds() - started;
    if (o->status >= 0) {
        w.started = started = bench_cpu_seconds();
        o->status = kd_simulation_run(simulation, limits->t_end > 0 ? limits->t_end : s->t_end);
        o->seconds = bench_cpu_seconds() - started;
        o->steps = kd_simulation_stats(simulation).steps;
        o->t = x->t;
        kd_text(o->method, sizeof o->method, "%s + %s", kd_formulation_word(kd_simulation_formulation(simulation)),
                kd_integrator_word(kd_simulation_integrator(simulation)));
        kd_text(o->message, sizeof o->message, "%s", kd_simulation_message(simulation));
        if (o->status == KD_ERR_TOO_MANY_STEPS && limits->steps > 0) o->status = KD_STOPPED;
    }
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
}

static scale_outcome run_here(scale_kind kind, int n, scale_method m, double tolerance, const scale_limits *limits)
{
    scale_outcome o = {0};
    scale_subject s;
    struct rusage usage;
    const double  started = bench_cpu_seconds();
    const bool    good = scale_open(&s, kind, n, o.message, sizeof o.message);
    o.assembly = bench_cpu_seconds() - started;
    o.status = good ? KD_OK : KD_ERR_ARGUMENT;
    if (good) o.bodies = kd_system_info_of(s.system).nbodies;
    if (good) simulate(&s, m, tolerance, limits, &o);
    scale_close(&s);
    getrusage(RUSAGE_SELF, &usage);
    o.megabytes = (double)usage.ru_maxrss / 1024;
    return o;
}

scale_outcome scale_run(scale_kind kind, int n, scale_method m, double tolerance, scale_limits limits)
{
    scale_outcome o = {.status = KD_ERR_MEMORY, .killed = true};
    int           ends[2], how = 0;
    if (pipe(ends) != 0) return o;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const rlim_t  seconds = (rlim_t)limits.seconds + 1, bytes = (rlim_t)(limits.megabytes * 1048576);
        struct rlimit time = {seconds, seconds}, memory = {bytes, bytes};
        close(ends[0]);
        setrlimit(RLIMIT_CPU, &time);
        if (limits.megabytes > 0) setrlimit(RLIMIT_AS, &memory);
        o = run_here(kind, n, m, tolerance, &limits);
        const ssize_t written = write(ends[1], &o, sizeof o);
        _exit(written == (ssize_t)sizeof o ? 0 : 1);
    }
    close(ends[1]);
    const bool told = child > 0 && read(ends[0], &o, sizeof o) == (ssize_t)sizeof o;
    close(ends[0]);
    if (child > 0) waitpid(child, &how, 0);
    if (!told) kd_text(o.message, sizeof o.message, "not in %g s and %g MB", limits.seconds, limits.megabytes);
    return o;
}
