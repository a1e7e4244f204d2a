// trust_run.c: one random model with one method, in a process of its own.
#include "trust.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common_run.h"
#include "core/text.h"

typedef struct run {
    const trust_case *c;
    double            rtol, atol;
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_poses         *poses;
    double           *pose;
    kd_certifier     *certifier;
    kd_simulation    *simulation;
    int               seen; // wanted times so far
    kd_status         told; // of the certifier: a failure ends the run
    trust_outcome     outcome;
} run;

// Distance from the reference in units of what the tolerance allows, times what the motion makes of an error
static void judge(run *r, int i)
{
    const double *at = r->pose + 7 * r->c->body, *right = r->c->r[i];
    double        off = hypot(at[0] - right[0], hypot(at[1] - right[1], at[2] - right[2]));
    double        unit = r->rtol * r->c->length + r->atol, grown = unit * r->c->condition[i];
    if (!(off / unit <= r->outcome.plain)) r->outcome.plain = off / unit;
    if (!(off / grown <= r->outcome.error)) r->outcome.error = off / grown;
}

static kd_eval output(const kd_state *x, bool at_time, void *context)
{
    run *r = context;
    r->told = kd_certifier_see(r->certifier, r->simulation, x);
    if (r->told < 0) return KD_EVAL_STOP;
    if (!at_time) return KD_EVAL_OK;
    if (kd_poses_at(r->poses, x, r->pose) != KD_EVAL_OK) return KD_EVAL_STOP;
    if (r->seen < TRUST_TIMES) judge(r, r->seen++);
    return KD_EVAL_OK;
}

// The verdict, and in words what made it
static bool is_clean(const kd_certificate *c, char *words, size_t size)
{
    kd_clean verdict;
    kd_certificate_verdict(c, &verdict);
    for (int i = 0; i < verdict.nchecks; i++)
        if (verdict.check[i].verdict == KD_CHECK_BAD)
            kd_text(words, size, "%s: %s", verdict.check[i].name, verdict.check[i].sentence);
    return verdict.clean;
}

static bool prepare(run *r, kd_coordinates coordinates)
{
    trust_outcome    *o = &r->outcome;
    kd_system_options options = kd_system_options_default();
    options.coordinates = coordinates;
    o->ending = TRUST_BROKEN;
    o->status =
        kd_model_read_text("trust", r->c->text, strlen(r->c->text), NULL, 0, &r->model, o->message, sizeof o->message);
    if (o->status < 0) return false;
    o->ending = TRUST_REFUSED;
    o->status = kd_system_create(r->model, &options, &r->system, o->message, sizeof o->message);
    if (o->status >= 0) o->status = kd_state_create(kd_system_eom(r->system), &r->x);
    if (o->status >= 0) o->status = kd_system_start(r->system, r->x, o->message, sizeof o->message);
    if (o->status >= 0) o->status = kd_poses_create(r->system, &r->poses);
    if (o->status >= 0)
        o->status = kd_certifier_create(kd_system_eom(r->system), kd_system_inputs(r->system), &r->certifier);
    return o->status >= 0;
}

static void simulate(run *r, trust_method method)
{
    trust_outcome        *o = &r->outcome;
    double                pose[7 * 8];
    kd_simulation_options options = kd_simulation_options_default();
    options.formulation = method.formulation;
    options.integrator = method.integrator;
    if (method.chosen) options.formulation = KD_FORMULATION_CHOSEN, options.integrator = KD_INTEGRATOR_CHOSEN;
    options.rtol = r->rtol;
    options.atol = r->atol;
    options.output = output;
    options.context = r;
    options.times = r->c->times;
    options.ntimes = TRUST_TIMES;
    r->pose = pose;
    o->status = kd_simulation_create(kd_system_eom(r->system), kd_system_inputs(r->system), &options, r->x,
                                     &r->simulation, o->message, sizeof o->message);
    if (o->status < 0) return;
    o->integrator = kd_simulation_integrator(r->simulation);
    o->status = kd_simulation_run(r->simulation, r->c->times[TRUST_TIMES - 1]);
    snprintf(o->message, sizeof o->message, "%s", kd_simulation_message(r->simulation));
    o->steps = kd_simulation_stats(r->simulation).accepted;
    if (o->status >= 0 && r->told < 0) o->status = r->told;
    if (o->status < 0) return;
    kd_certificate certificate = kd_certifier_certificate(r->certifier);
    certificate.status = o->status;
    kd_certificate_take(&certificate, r->simulation);
    o->ending = TRUST_DONE;
    o->clean = is_clean(&certificate, o->message, sizeof o->message);
    if (r->seen < TRUST_TIMES) o->error = HUGE_VAL; // it ended, but the wanted times were not shown
}

static trust_outcome run_here(const trust_case *c, trust_method method, kd_coordinates coordinates, double rtol)
{
    run    r = {.c = c, .rtol = rtol, .atol = rtol * (c->atol_scale > 0 ? c->atol_scale : 1)};
    double started = bench_cpu_seconds();
    if (prepare(&r, coordinates)) simulate(&r, method);
    r.outcome.seconds = bench_cpu_seconds() - started;
    kd_simulation_destroy(r.simulation);
    kd_certifier_destroy(r.certifier);
    kd_poses_destroy(r.poses);
    kd_state_destroy(r.x);
    kd_system_destroy(r.system);
    kd_model_destroy(r.model);
    return r.outcome;
}

// The child: bounded in processor time, tells its outcome through the pipe
static void run_in_child(int out, const trust_case *c, trust_method method, kd_coordinates coordinates, double rtol)
{
    struct rlimit limit = {TRUST_SECONDS, TRUST_SECONDS};
    setrlimit(RLIMIT_CPU, &limit);
    trust_outcome o = run_here(c, method, coordinates, rtol);
    ssize_t       written = write(out, &o, sizeof o);
    _exit(written == (ssize_t)sizeof o ? 0 : 1);
}

trust_outcome trust_run(const trust_case *c, trust_method method, kd_coordinates coordinates, double rtol)
{
    trust_outcome o = {.ending = TRUST_BROKEN};
    int           ends[2], how = 0;
    if (pipe(ends) != 0) return o;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_in_child(ends[1], c, method, coordinates, rtol);
    }
    close(ends[1]);
    bool told = child > 0 && read(ends[0], &o, sizeof o) == (ssize_t)sizeof o;
    close(ends[0]);
    if (child > 0) waitpid(child, &how, 0);
    if (told) return o;
    bool late = child > 0 && WIFSIGNALED(how) && (WTERMSIG(how) == SIGKILL || WTERMSIG(how) == SIGXCPU);
    o = (trust_outcome){.ending = child < 0 ? TRUST_BROKEN
                                  : late    ? TRUST_NEVER_ENDS
                                            : TRUST_CRASHED,
                        .seconds = TRUST_SECONDS};
    return o;
}
