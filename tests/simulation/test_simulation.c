// The driver: output, stopping, continuing, restarting, threads, memory, and every way to fail with its status and
// words.
#include "simulation/simulation_cases.h"

// ---- output ---------------------------------------------------------------------------------------------------------

enum { CALLS = 3000, NUMBERS = 7 };

// Everything that the output function saw.
typedef struct notes {
    int    n;
    double t[CALLS], x[CALLS][NUMBERS];
    bool   at_time[CALLS];
    int    stop_every;   // stop at every such call; 0: never
    bool   stop_at_time; // stop at wanted times
} notes;

static notes first, second;

static kd_eval take_note(const kd_state *x, bool at_time, void *context)
{
    notes *k = context;
    assert_true(k->n < CALLS);
    k->t[k->n] = x->t;
    for (int i = 0; i < NUMBERS; i++) k->x[k->n][i] = i < (int)x->size ? x->p[i] : 0;
    k->at_time[k->n++] = at_time;
    if (k->stop_every > 0 && k->n % k->stop_every == 0) return KD_EVAL_STOP;
    return at_time && k->stop_at_time ? KD_EVAL_STOP : KD_EVAL_OK;
}

static const double wanted[] = {-1, 0, 1e-9, 0.1, 0.101, 0.102, 0.103, 1, 1.5, 2, 2.5};
enum { WANTED = sizeof wanted / sizeof *wanted };

static kd_simulation_options noting(notes *k)
{
    kd_simulation_options opt = with_tolerance(1e-7);
    memset(k, 0, sizeof *k);
    opt.output = take_note;
    opt.context = k;
    opt.times = wanted;
    opt.ntimes = WANTED;
    return opt;
}

// Output comes in the order of time: the start, each accepted step, and each wanted time exactly; times before the
// start and after the end are left out; the states there are those of the exact motion and satisfy all constraints.
static void output_at_steps_and_times(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x, *at;
    kd_stats  stats;
    make_pendulum(&eom, &x);
    at = make_state(eom);
    kd_simulation_options opt = noting(&first);
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, &stats, NULL, 0), KD_OK);
    int times = 0, steps = 0;
    for (int i = 0; i < first.n; i++) {
        assert_true(i == 0 || first.t[i] >= first.t[i - 1]);
        if (first.at_time[i])
            assert_true(first.t[i] == wanted[++times]);
        else
            steps++;
        double p[2], v[2], lambda;
        kd_pendulum_exact(gravity, false, v10, first.t[i], p, v, &lambda);
        for (int j = 0; j < 2; j++) {
            assert_true(fabs(first.x[i][j] - p[j]) < 1e-6);
            assert_true(fabs(first.x[i][2 + j] - v[j]) < 1e-6);
        }
        assert_true(fabs(first.x[i][4] - lambda) < 1e-5);
        at->t = first.t[i];
        memcpy(at->p, first.x[i], 7 * sizeof(double)); // p v lambda a
        kd_consistency c;
        assert_int_equal(kd_initial_residuals(eom, NULL, at, &c), KD_OK);
        assert_true(c.position < 1e-12 && c.velocity < 1e-12 && c.acceleration < 1e-11 && c.dynamics < 1e-11);
    }
    assert_true(first.t[0] == 0 && !first.at_time[0] && first.at_time[1] && first.t[1] == 0);
    assert_int_equal(times, 9); // 0 .. 2
    assert_int_equal(steps, stats.accepted + 1);
    assert_true(x->t == 2);
    kd_state_destroy(at);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Wanted times and an output function do not change the motion: the same bits as without.
static void output_changes_nothing(void **state)
{
    (void)state;
    kd_state *x[2];
    kd_eom   *eom;
    for (int k = 0; k < 2; k++) {
        make_pendulum(&eom, &x[k]);
        kd_simulation_options opt = k == 0 ? with_tolerance(1e-7) : noting(&first);
        assert_int_equal(kd_simulate(eom, NULL, &opt, x[k], 2, NULL, NULL, 0), KD_OK);
        kd_eom_destroy(eom);
    }
    assert_true(same(x[0], x[1]));
    kd_state_destroy(x[0]);
    kd_state_destroy(x[1]);
}

// Stopping at any call, at wanted times or steps, and running again shows exactly what an uninterrupted run shows.
static void stopped_runs_continue(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        kd_eom   *eom;
        kd_state *x, *y;
        make_pendulum(&eom, &x);
        y = make_state(eom);
        kd_state_copy(x, y);
        kd_simulation_options opt = noting(&first);
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, NULL, NULL, 0), KD_OK);

        opt = noting(&second);
        second.stop_every = k < 3 ? k + 1 : 0;
        second.stop_at_time = k == 3;
        kd_simulation *s = start(eom, &opt, y);
        int            stops = 0;
        kd_status      status;
        while ((status = kd_simulation_run(s, 2)) == KD_STOPPED) {
            stops++;
            assert_true(all_finite(y));
            assert_true(y->t >= second.t[second.n - 1]); // the end of the step in which it was
            assert_non_null(strstr(kd_simulation_message(s), "output function at t = "));
            assert_true(stops < CALLS);
        }
        assert_int_equal(status, KD_OK);
        assert_true(stops >= 9);
        assert_int_equal(second.n, first.n);
        for (int i = 0; i < first.n; i++) {
            assert_true(second.t[i] == first.t[i] && second.at_time[i] == first.at_time[i]);
            assert_memory_equal(second.x[i], first.x[i], sizeof first.x[i]);
        }
        assert_true(same(x, y));
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_state_destroy(y);
        kd_eom_destroy(eom);
    }
}

// An output function that stops at the start leaves the consistent start.
static void stop_at_the_start(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x;
    kd_stats  stats;
    char      message[300] = "";
    make_pendulum(&eom, &x);
    kd_simulation_options opt = noting(&first);
    first.stop_every = 1;
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, &stats, message, sizeof message), KD_STOPPED);
    assert_true(x->t == 0 && x->v[0] == v10);
    assert_int_equal(first.n, 1);
    assert_int_equal(stats.steps, 0);
    assert_true(strlen(message) > 10);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// t_end equal to the present time: values are made consistent, shown, and no step is made.
static void no_time_to_run(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x;
    kd_stats  stats;
    make_pendulum(&eom, &x);
    x->p[0] = 0.3; // not on the circle
    x->lambda[0] = 0;
    kd_simulation_options opt = noting(&first);
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 0, &stats, NULL, 0), KD_CORRECTED);
    assert_true(fabs(hypot(x->p[0], x->p[1]) - 1) < 1e-9);
    assert_true(fabs(x->p[0] * x->v[0] + x->p[1] * x->v[1]) < 1e-12);
    assert_true(x->lambda[0] > 1);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(first.n, 2); // start, and the wanted time 0
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A corrected start is told by creation and by a restart, and stays in the message of the runs that follow; a whole
// run answers it at the end, unless it was stopped or failed.
static void corrected_start(void **state)
{
    (void)state;
    kd_eom        *eom;
    kd_state      *x;
    kd_simulation *s;
    char           message[300];
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(1e-6);
    x->p[1] = -50;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_CORRECTED);
    assert_string_equal(message, "initial position 'bob y' moved by 49 to satisfy the constraints");
    assert_string_equal(kd_simulation_message(s), message);
    assert_int_equal(kd_simulation_run(s, 0.1), KD_OK);
    assert_string_equal(kd_simulation_message(s), message);
    assert_int_equal(kd_simulation_run(s, 0), KD_ERR_TIME);
    assert_non_null(strstr(kd_simulation_message(s), "lies before"));
    assert_int_equal(kd_simulation_run(s, 0.2), KD_OK);
    assert_string_equal(kd_simulation_message(s), message);
    assert_int_equal(kd_simulation_restart(s), KD_OK);
    assert_string_equal(kd_simulation_message(s), "");
    x->v[0] += 1, x->v[1] += 1;
    assert_int_equal(kd_simulation_restart(s), KD_CORRECTED);
    assert_non_null(strstr(kd_simulation_message(s), "initial velocity"));
    kd_simulation_destroy(s);

    x->p[0] *= 2;
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 0.4, NULL, message, sizeof message), KD_CORRECTED);
    assert_non_null(strstr(message, "initial position"));
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 0.5, NULL, message, sizeof message), KD_OK);
    assert_string_equal(message, "");
    x->p[0] *= 2;
    opt.integrator_options.max_steps = 1;
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 9, NULL, message, sizeof message), KD_ERR_TOO_MANY_STEPS);
    assert_null(strstr(message, "initial position"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A start that was assumed to be consistent but is not: a failure, at creation or later, recalls its residuals; a run
// that is lucky, or a start that is consistent, says nothing.
static void wrongly_assumed_start(void **state)
{
    (void)state;
    kd_eom        *eom;
    kd_state      *x;
    kd_simulation *s;
    char           message[800];
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(1e-6);
    opt.initial.assume = true;
    opt.integrator_options.max_steps = 3;
    for (int off = 0; off < 2; off++) {
        x->t = 0, x->p[0] = 0, x->p[1] = off ? -1.1 : -1, x->v[0] = v10, x->v[1] = off ? 0.25 : 0;
        assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_OK);
        assert_int_equal(kd_simulation_run(s, 0), KD_OK);
        assert_string_equal(kd_simulation_message(s), "");
        assert_true(kd_simulation_run(s, 9) < 0);
        const char *told = strstr(kd_simulation_message(s), "assumed to be consistent");
        if (!off) assert_null(told);
        if (off) assert_non_null(told); // g = p'p - 1 = 0.21, gI = 2 p'v = -0.55
        if (off) assert_non_null(strstr(told, "residuals of 0.21 in the constraints of positions and 0.55 in those"));
        kd_simulation_destroy(s);
    }
    x->p[0] = x->p[1] = 0; // no direction of the rod: no accelerations
    assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message) < 0);
    assert_non_null(strstr(message, "assumed to be consistent"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// An end before the present time, NaN or infinity are refused in words; the state stays.
static void end_before_the_start(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x;
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(1e-6);
    kd_simulation        *s = start(eom, &opt, x);
    assert_int_equal(kd_simulation_run(s, 1), KD_OK);
    const double wrong[] = {0.999, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kd_simulation_run(s, wrong[i]), KD_ERR_TIME);
        assert_non_null(strstr(kd_simulation_message(s), "end time"));
        assert_non_null(strstr(kd_simulation_message(s), i < 2 ? "lies before" : "is not a finite number"));
        assert_true(x->t == 1);
    }
    assert_int_equal(kd_simulation_run(s, 1.1), KD_OK);
    assert_string_equal(kd_simulation_message(s), "");
    assert_ptr_equal(kd_simulation_state(s), x);
    kd_simulation_destroy(s);
    kd_simulation_destroy(NULL);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Missing arguments, wanted times that are missing, of negative number or do not increase: refused in words.
static void wrong_arguments(void **state)
{
    (void)state;
    kd_eom        *eom;
    kd_state      *x;
    kd_simulation *s = (kd_simulation *)&first;
    char           message[300] = "";
    make_pendulum(&eom, &x);
    assert_int_equal(kd_simulation_create(NULL, NULL, NULL, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(s);
    assert_string_equal(message, "kd_simulation_create: eom is NULL");
    assert_int_equal(kd_simulation_create(eom, NULL, NULL, NULL, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "kd_simulation_create: x is NULL");
    assert_int_equal(kd_simulation_create(eom, NULL, NULL, x, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "kd_simulation_create: simulation is NULL");
    const double          wrong[][2] = {{1, 1}, {1, 0.5}, {NAN, 1}, {1, INFINITY}};
    kd_simulation_options opt = with_tolerance(1e-6);
    opt.ntimes = 2;
    for (int i = 0; i < 4; i++) {
        opt.times = wrong[i];
        assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
        assert_non_null(strstr(message, "times must increase"));
        assert_null(s);
    }
    opt.times = NULL;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "options.ntimes = 2, but options.times is NULL");
    opt.times = wrong[0];
    opt.ntimes = -1;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "options.ntimes = -1 is negative");
    x->t = NAN;
    assert_int_equal(kd_simulation_create(eom, NULL, NULL, x, &s, message, sizeof message), KD_ERR_TIME);
    assert_non_null(strstr(message, "start time"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A run that could not even start leaves statistics of zeros.
static void statistics_without_a_run(void **state)
{
    (void)state;
    kd_eom        *eom;
    kd_state      *x;
    const kd_stats nothing = {0};
    kd_stats       stats;
    memset(&stats, 0x55, sizeof stats);
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(-1);
    assert_true(kd_simulate(eom, NULL, &opt, x, 1, &stats, NULL, 0) < 0);
    assert_memory_equal(&stats, &nothing, sizeof stats);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// A number that is no formulation or no integrator is refused with the words that are known.
static void unknown_choices(void **state)
{
    (void)state;
    kd_eom        *eom;
    kd_state      *x;
    kd_simulation *s;
    kd_dae        *dae;
    char           message[300] = "";
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(1e-6);
    opt.integrator = (kd_integrator_kind)99;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(
        message,
        "options.integrator = 99 is none of radau, bdf, ida, cvode, arkode, sdirk, dopri5, dop853, half-explicit, "
        "extrapolation, midpoint, adams");
    opt = with_tolerance(1e-6);
    opt.formulation = (kd_formulation)99;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message,
                        "the formulation 99 is none of psf, psf1, ggl, odassl, index3, index2, index1, baumgarte2, "
                        "baumgarte1, ode, statespace");
    assert_int_equal(kd_formulation_create(NULL, NULL, x, KD_PSF, NULL, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_string_equal(message, "kd_formulation_create: eom is NULL");
    assert_int_equal(kd_formulation_create(eom, NULL, NULL, KD_PSF, NULL, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_string_equal(message, "kd_formulation_create: x is NULL");
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_PSF, NULL, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "kd_formulation_create: dae is NULL");
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- continuing, restarting, threads --------------------------------------------------------------------------------

// Too few steps allowed: its own status and words; running again until the end gives the bits of a single run.
static void too_many_steps(void **state)
{
    (void)state;
    kd_eom   *eom;
    kd_state *x, *y;
    make_pendulum(&eom, &x);
    y = make_state(eom);
    kd_state_copy(x, y);
    kd_simulation_options opt = with_tolerance(1e-7);
    kd_stats              stats;
    assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, &stats, NULL, 0), KD_OK);
    opt.integrator_options.max_steps = 7;
    kd_simulation *s = start(eom, &opt, y);
    int            runs = 0;
    kd_status      status;
    double         before = 0;
    while ((status = kd_simulation_run(s, 2)) == KD_ERR_TOO_MANY_STEPS) {
        runs++;
        assert_true(y->t > before && y->t < 2);
        before = y->t;
        assert_non_null(strstr(kd_simulation_message(s), "t = "));
        assert_non_null(strstr(kd_simulation_message(s), "max_steps"));
        assert_true(runs < 1000);
    }
    assert_int_equal(status, KD_OK);
    assert_true(runs >= stats.steps / 9 && runs <= stats.steps / 7);
    assert_true(same(x, y));
    assert_int_equal(kd_simulation_stats(s).accepted, stats.accepted);
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_state_destroy(y);
    kd_eom_destroy(eom);
}

// Back at the start, a restarted simulation repeats its first run bit by bit, whatever happened before, in every form.
static void restart_is_like_new(void **state)
{
    (void)state;
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        const kd_example *example = kd_gallery_find("andrews");
        kd_eom           *eom;
        kd_state         *x, *x0, *x1;
        kd_inputs         inputs;
        assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
        x0 = make_state(eom), x1 = make_state(eom);
        kd_simulation_options opt = with_tolerance(1e-5);
        opt.formulation = (kd_formulation)form;
        kd_state_copy(x, x0);
        kd_simulation *s = start(eom, &opt, x);
        assert_int_equal(kd_simulation_run(s, 0.01), KD_OK);
        kd_state_copy(x, x1);
        assert_int_equal(kd_simulation_run(s, 0.013), KD_OK);
        kd_state_copy(x0, x);
        assert_true(kd_simulation_restart(s) >= 0);
        assert_int_equal(kd_simulation_run(s, 0.01), KD_OK);
        if (!same(x, x1)) fail_msg("%s differs after a restart", kd_formulation_word(opt.formulation));
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_state_destroy(x0);
        kd_state_destroy(x1);
        kd_eom_destroy(eom);
    }
}

// A free flight, then the pendulum again
static void switch_rows(kd_formulation form, kd_integrator_kind integrator)
{
    kd_eom     *eom;
    kd_state   *x;
    const char *word = kd_formulation_word(form), *by = kd_integrator_word(integrator);
    double      bound = integrator == KD_RADAU ? 1e-9 : 1e-7;
    make_pendulum(&eom, &x);
    kd_simulation_options opt = with_tolerance(1e-9);
    opt.formulation = form;
    opt.integrator = integrator;
    kd_simulation *s = start(eom, &opt, x);
    assert_int_equal(kd_simulation_run(s, 0.1), KD_OK);
    double p[2] = {x->p[0], x->p[1]}, v[2] = {x->v[0], x->v[1]};
    x->active_lambda[0] = 0;
    assert_true(kd_simulation_restart(s) >= 0);
    if (kd_simulation_run(s, 0.6) != KD_OK) fail_msg("%s, %s: %s", word, by, kd_simulation_message(s));
    if (!(fabs(x->p[0] - (p[0] + 0.5 * v[0])) < bound))
        fail_msg("%s, %s: free flight off by %.1e", word, by, fabs(x->p[0] - (p[0] + 0.5 * v[0])));
    assert_true(fabs(x->p[1] - (p[1] + 0.5 * v[1] - 0.125 * gravity)) < bound);
    assert_true(fabs(x->lambda[0]) < 1e-12);
    x->p[0] = 0.6, x->p[1] = -0.8;
    x->active_lambda[0] = 1;
    assert_true(kd_simulation_restart(s) >= 0);
    double energy = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]) + gravity * x->p[1];
    if (kd_simulation_run(s, 1.1) != KD_OK) fail_msg("%s, %s: %s", word, by, kd_simulation_message(s));
    double now = 0.5 * (x->v[0] * x->v[0] + x->v[1] * x->v[1]) + gravity * x->p[1];
    if (!(fabs(now - energy) < 1e-3 && fabs(hypot(x->p[0], x->p[1]) - 1) < 1e-5))
        fail_msg("%s, %s: energy %g, length %g", word, by, now - energy, hypot(x->p[0], x->p[1]) - 1);
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Rows switched off and on between runs, in every form, with both of our own integrators.
static void changed_active_rows(void **state)
{
    (void)state;
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        if (form == KD_STATESPACE) continue; // its size is that of the rows at creation
        switch_rows((kd_formulation)form, KD_RADAU);
        switch_rows((kd_formulation)form, KD_BDF);
    }
}

typedef struct job {
    const kd_eom *eom;
    kd_state     *x;
    double        t_end;
    kd_status     status;
} job;

static void *work(void *argument)
{
    job                  *j = argument;
    kd_simulation_options opt = with_tolerance(1e-8);
    j->status = kd_simulate(j->eom, NULL, &opt, j->x, j->t_end, NULL, NULL, 0);
    return NULL;
}

// Two simulations of the same equations in two threads give the bits that each gives alone.
static void two_threads(void **state)
{
    (void)state;
    const char *names[] = {"andrews", "caraxis"};
    for (int k = 0; k < 2; k++) {
        const kd_example *example = kd_gallery_find(names[k]);
        kd_eom           *eom;
        kd_state         *x;
        kd_inputs         inputs;
        job               jobs[3];
        assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
        for (int i = 0; i < 3; i++) {
            jobs[i] = (job){.eom = eom, .x = make_state(eom), .t_end = example->t_end / (i == 1 ? 2 : 1)};
            kd_state_copy(x, jobs[i].x);
        }
        pthread_t thread[2];
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, &jobs[i]), 0);
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
        work(&jobs[2]); // alone
        for (int i = 0; i < 3; i++) assert_int_equal(jobs[i].status, KD_OK);
        assert_true(same(jobs[0].x, jobs[2].x));
        for (int i = 0; i < 3; i++) kd_state_destroy(jobs[i].x);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Steps, output at wanted times and a restart allocate nothing, in every form; all memory is returned at the end.
static void steps_do_not_allocate(void **state)
{
    (void)state;
    const char *names[] = {"pendulum", "andrews"};
    for (int k = 0; k < 2; k++) {
        for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
            const kd_example *example = kd_gallery_find(names[k]);
            failing_allocator count = {0};
            kd_eom           *eom;
            kd_state         *x;
            kd_inputs         inputs;
            failing_allocator_use(&count);
            assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
            double times[20];
            for (int i = 0; i < 20; i++) times[i] = 0.5 * example->t_end * i / 20;
            kd_simulation_options opt = with_tolerance(1e-5);
            opt.formulation = (kd_formulation)form;
            opt.times = times;
            opt.ntimes = 20;
            opt.output = take_note;
            opt.context = &first;
            memset(&first, 0, sizeof first);
            kd_simulation *s = start(eom, &opt, x);
            long           before = count.calls;
            assert_int_equal(kd_simulation_run(s, 0.3 * example->t_end), KD_OK);
            assert_int_equal(count.calls, before);
            assert_true(before > 5);
            assert_true(first.n > 20);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
            kd_set_allocator(NULL);
            assert_int_equal(count.live, 0);
        }
    }
}

// A failing allocation at any place of create and run leaves nothing behind and the state as it was, with its status.
static void failing_allocations(void **state)
{
    (void)state;
    for (int form = 0; form <= KD_GGL; form++) {
        const kd_example *example = kd_gallery_find("caraxis");
        kd_eom           *eom;
        kd_state         *x, *x0;
        kd_inputs         inputs;
        assert_int_equal(example->create(&eom, &x, &inputs), KD_OK);
        x0 = make_state(eom);
        kd_state_copy(x, x0);
        kd_simulation_options opt = with_tolerance(1e-3);
        opt.formulation = (kd_formulation)form;
        long      n = 0;
        kd_status status;
        do {
            failing_allocator count = {.fail_at = ++n};
            char              message[300] = "";
            failing_allocator_use(&count);
            kd_state_copy(x0, x);
            status = kd_simulate(eom, &inputs, &opt, x, 0.05, NULL, message, sizeof message);
            kd_set_allocator(NULL);
            if (count.live != 0) fail_msg("%ld blocks left after failure %ld", count.live, n);
            assert_true(status == KD_OK || status == KD_ERR_MEMORY);
            if (status == KD_ERR_MEMORY) {
                assert_true(same(x, x0));
                if (strlen(message) < 5) fail_msg("no words at allocation %ld", n);
            }
            assert_true(n < 4000); // under sanitizers every array of an arena is a block of its own
        } while (status != KD_OK);
        assert_true(n > 10);
        assert_true(x->t == 0.05);
        kd_state_destroy(x);
        kd_state_destroy(x0);
        kd_eom_destroy(eom);
    }
}

static int made_points;

static void *count_point(void *context)
{
    made_points++;
    return context ? context : &made_points; // NULL would say that there was no memory
}

static void drop_point(void *work)
{
    (void)work;
}

// Evaluation points of a run: one that steps are made with, and one of the driver, which finds a consistent start, watches
// and checks steps, and solves at points between them.
static void evaluation_points(void **state)
{
    (void)state;
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
        int                points;
    } runs[] = {{KD_PSF, KD_RADAU, 2},
                {KD_GGL, KD_BDF, 2},
                {KD_ODE, KD_DOP853, 2},
                {KD_STATESPACE, KD_SDIRK, 2},
                {KD_FORMULATION_CHOSEN, KD_INTEGRATOR_CHOSEN, 2}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        kd_eom   *plain, *eom;
        kd_state *x;
        char      message[400] = "";
        make_pendulum(&plain, &x);
        kd_eom_def def = *kd_eom_definition(plain);
        def.make_work = count_point;
        def.free_work = drop_point;
        assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
        kd_simulation_options opt = with_tolerance(1e-6);
        opt.formulation = runs[k].form;
        opt.integrator = runs[k].integrator;
        made_points = 0;
        if (kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message) < 0) fail_msg("%s", message);
        print_message("%s, %s: %d evaluation points\n", kd_formulation_word(runs[k].form),
                      kd_integrator_word(runs[k].integrator), made_points);
        assert_int_equal(made_points, runs[k].points);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
        kd_eom_destroy(plain);
    }
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

typedef struct pull {
    double  beyond;
    kd_eval answer;
    double  value;
} pull;

static kd_eval pull_at(double t, void *context, double *u, double *du, double *ddu)
{
    pull *k = context;
    u[0] = sin(t);
    du[0] = cos(t);
    ddu[0] = -sin(t);
    if (t <= k->beyond) return KD_EVAL_OK;
    if (k->value != 0) u[0] = k->value;
    return k->answer;
}

static kd_eval cart_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = x->u[0];
    return KD_EVAL_OK;
}

// Inputs drive the motion; an input function that stops or refuses ends the run with the state before it.
static void inputs(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.title = "cart";
    def.dims = (kd_dims){.np = 1, .nv = 1, .nu = 1};
    def.M = cart_M;
    def.f = cart_f;
    kd_eom               *eom = make(&def);
    kd_simulation_options opt = with_tolerance(1e-9);
    for (int k = 0; k < 4; k++) {
        pull      p = {k == 0 ? 9 : 1, k == 1 ? KD_EVAL_STOP : k == 2 ? KD_EVAL_RETRY : KD_EVAL_OK, k == 3 ? NAN : 0};
        kd_inputs in = {pull_at, &p};
        kd_state *x = make_state(eom);
        char      message[600] = "";
        kd_status status = kd_simulate(eom, &in, &opt, x, 2, NULL, message, sizeof message);
        const kd_status expected[] = {KD_OK, KD_ERR_CALLBACK_STOP, KD_ERR_RETRY_FAILED, KD_ERR_NOT_FINITE};
        if (status != expected[k]) fail_msg("case %d: %s, %s", k, kd_status_name(status), message);
        assert_true(all_finite(x));
        assert_true(k == 0 ? x->t == 2 : x->t <= 1);
        assert_true(fabs(x->p[0] - (x->t - sin(x->t))) < 1e-8);
        if (k > 0) assert_true(strlen(message) > 20);
        kd_state_destroy(x);
    }
    kd_eom_destroy(eom);
}

// ---- combinations ---------------------------------------------------------------------------------------------------

static double error_of(const kd_state *x, int np, const double *reference)
{
    double most = 0;
    for (int i = 0; i < np; i++) most = fmax(most, fabs(x->p[i] - reference[i]) / fmax(1e-3, fabs(reference[i])));
    return most;
}

static bool can_integrate(kd_integrator_kind integrator, kd_formulation form)
{
    switch (integrator) {
    case KD_IDA:
        return form != KD_PSF && form != KD_PSF1 && form != KD_ODASSL;
    case KD_CVODE:
    case KD_ARKODE:
    case KD_DOPRI5:
    case KD_DOP853:
    case KD_EXTRAPOLATION:
    case KD_ADAMS:
        return form == KD_ODE || form == KD_STATESPACE;
    case KD_HALF_EXPLICIT:
        return form == KD_ODE;
    case KD_SDIRK:
        return form != KD_INDEX3;
    default:
        return true;
    }
}

static bool has_index_2(kd_formulation form)
{
    return form == KD_PSF1 || form == KD_GGL || form == KD_ODASSL || form == KD_INDEX2 || form == KD_BAUMGARTE2;
}

// Every formulation with every integrator that can take it reaches the reference; others are refused with a sentence
// that names one that works.
static void all_combinations(void **state)
{
    (void)state;
    const char *names[] = {"pendulum", "caraxis"};
    for (int k = 0; k < 2; k++) {
        const kd_example *example = kd_gallery_find(names[k]);
        for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
            for (int integrator = 0; integrator < KD_INTEGRATOR_COUNT; integrator++) {
                kd_eom   *eom;
                kd_state *x;
                kd_inputs in;
                char      message[800] = "";
                if (integrator == KD_MIDPOINT) continue; // of order 2: tests/integrator/test_midpoint.c
                assert_int_equal(example->create(&eom, &x, &in), KD_OK);
                kd_simulation_options opt = with_tolerance(form == KD_INDEX3 ? 1e-9 : 1e-8);
                opt.formulation = (kd_formulation)form;
                opt.integrator = (kd_integrator_kind)integrator;
                bool        peer = integrator == KD_IDA || integrator == KD_CVODE || integrator == KD_ARKODE;
                bool        possible = can_integrate(opt.integrator, opt.formulation);
                kd_status   status = kd_simulate(eom, &in, &opt, x, example->t_end, NULL, message, sizeof message);
                const char *word = kd_formulation_word(opt.formulation);
                if (peer && !kd_integrator_about(KD_IDA, NULL)->available) {
                    assert_int_equal(status, KD_ERR_UNAVAILABLE);
                } else if (!possible) {
                    if (status != KD_ERR_UNSUPPORTED)
                        fail_msg("%s with %s: %s", word, kd_integrator_word(opt.integrator), kd_status_name(status));
                    assert_non_null(strstr(message, integrator == KD_IDA     ? "ggl"
                                                    : integrator == KD_SDIRK ? "psf"
                                                                             : "ode"));
                } else {
                    if (status != KD_OK)
                        fail_msg("%s, %s, %s: %s", names[k], word, kd_integrator_word(opt.integrator), message);
                    double error = error_of(x, kd_eom_dims(eom).np, example->reference);
                    double bound = form == KD_INDEX3 ? 1e-4 : 1e-5;
                    if (!(error < bound))
                        fail_msg("%s, %s, %s: error %.1e", names[k], word, kd_integrator_word(opt.integrator), error);
                    assert_true(all_finite(x));
                    kd_consistency c; // also the accelerations are those of the end
                    assert_true(kd_initial_residuals(eom, &in, x, &c) >= 0);
                    bool low = integrator == KD_SDIRK && has_index_2((kd_formulation)form); // order 1 in lambda
                    if (c.dynamics > (low ? 5e-2 : 1e-3) || c.acceleration > (low ? 1e-1 : 1e-2))
                        fail_msg("%s: a is off by %g, %g", word, c.dynamics, c.acceleration);
                }
                kd_state_destroy(x);
                kd_eom_destroy(eom);
            }
        }
    }
}

// Words of integrators parse back; unknown ones do not.
static void words_of_integrators(void **state)
{
    (void)state;
    kd_integrator_kind found;
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) {
        assert_true(kd_integrator_parse(kd_integrator_word((kd_integrator_kind)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(kd_integrator_parse("euler", &found));
    assert_false(kd_integrator_parse(NULL, &found));
    assert_string_equal(kd_integrator_word((kd_integrator_kind)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_at_steps_and_times),
        cmocka_unit_test(output_changes_nothing),
        cmocka_unit_test(stopped_runs_continue),
        cmocka_unit_test(stop_at_the_start),
        cmocka_unit_test(no_time_to_run),
        cmocka_unit_test(corrected_start),
        cmocka_unit_test(wrongly_assumed_start),
        cmocka_unit_test(end_before_the_start),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(unknown_choices),
        cmocka_unit_test(statistics_without_a_run),
        cmocka_unit_test(too_many_steps),
        cmocka_unit_test(restart_is_like_new),
        cmocka_unit_test(changed_active_rows),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(steps_do_not_allocate),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(evaluation_points),
        cmocka_unit_test(inputs),
        cmocka_unit_test(all_combinations),
        cmocka_unit_test(words_of_integrators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
