// Saved simulations over the gallery: a run that is stopped, saved and goes on in a simulation that was made anew gives the
// same bits as one that was not stopped, for all integrators and forms. A few models here; SAVED_ALL=1 takes the whole
// gallery and more methods, for hours (TEST_TIMEOUT).
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

enum { STOPS = 3, TIMES = 40, MOST_STEPS = 150, MOST_STEPS_ALL = 400, MOST_MODELS = 200 };

typedef struct method {
    kd_formulation     form;
    kd_integrator_kind integrator;
    int                variant;
    double             h_fixed; // of the end time
    bool               automatic, svd, differences;
    int                order_max; // of radau; 0: as it comes
} method;

static const method METHODS[] = {
    {KD_PSF, KD_RADAU, 0, 0, false, false, false, 0},
    {KD_GGL, KD_BDF, 0, 0, false, false, false, 0},
    {KD_ODE, KD_DOP853, 0, 0, false, false, false, 0},
    {KD_ODE, KD_DOPRI5, 0, 0, false, false, false, 0},
    {KD_ODE, KD_HALF_EXPLICIT, 0, 0, false, false, false, 0},
    {KD_ODE, KD_EXTRAPOLATION, 0, 0, false, false, false, 0},
    {KD_ODE, KD_ADAMS, 0, 0, false, false, false, 0},
    {KD_PSF, KD_SDIRK, KD_SDIRK_NEWTON, 0, false, false, false, 0},
    {KD_ODE, KD_MIDPOINT, 0, 1.0 / 200, false, false, false, 0},
    {KD_STATESPACE, KD_RADAU, 0, 0, false, false, false, 0},
    {KD_STATESPACE, KD_BDF, 0, 0, false, false, false, 0},
    {KD_ODE, KD_RADAU, 0, 0, false, false, false, 0},
    {KD_PSF, KD_RADAU, 0, 0, true, false, false, 0},
    {KD_PSF, KD_RADAU, 0, 0, false, false, false, 13},
    {KD_GGL, KD_RADAU, 0, 0, false, false, false, 13},
    {KD_STATESPACE, KD_RADAU, 0, 0, false, false, false, 13},
    {KD_ODE, KD_RADAU, 0, 0, false, false, false, 13},
    {KD_STATESPACE, KD_DOP853, 0, 0, false, false, false, 0},
    // the rest with SAVED_ALL
    {KD_PSF, KD_SDIRK, KD_SDIRK_STAGE_ORDER_2, 0, false, false, false, 0},
    {KD_ODE, KD_SDIRK, KD_SDIRK_ROSENBROCK, 0, false, false, false, 0},
    {KD_PSF, KD_RADAU, 0, 0, false, true, false, 0},
    {KD_PSF1, KD_RADAU, 0, 0, false, false, false, 0},
    {KD_INDEX1, KD_BDF, 0, 0, false, false, false, 0},
    {KD_INDEX2, KD_RADAU, 0, 0, false, false, false, 0},
    {KD_BAUMGARTE1, KD_BDF, 0, 0, false, false, false, 0},
    {KD_GGL, KD_BDF, 0, 0, false, false, true, 0},
    {KD_GGL, KD_BDF, 0, 1.0 / 200, false, false, false, 0},
    {KD_STATESPACE, KD_ADAMS, 0, 0, false, false, false, 0},
    {KD_ODASSL, KD_BDF, 0, 0, false, false, false, 0},
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS, METHODS_SHORT = 18 };

// What a run shows, as one number per state that was shown
typedef struct trace {
    kd_model      *model;
    kd_system     *system;
    kd_state      *x;
    kd_simulation *simulation;
    uint64_t       sum[4 * MOST_STEPS_ALL];
    int            n, stop, most;
    double         time[TIMES]; // of rows that are wanted
    long           max_steps;   // attempts of a run; 0: as it comes
} trace;

static uint64_t mixed(uint64_t sum, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return sum;
}

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    trace   *t = context;
    uint64_t sum = mixed(14695981039346656037u, &x->t, sizeof x->t);
    (void)at_time;
    sum = mixed(sum, x->p, x->size * sizeof *x->p);
    if (t->n < 4 * MOST_STEPS_ALL) t->sum[t->n] = sum;
    t->n++;
    return t->n == t->stop || t->n >= t->most ? KD_EVAL_STOP : KD_EVAL_OK;
}

static void shut(trace *t)
{
    kd_simulation_destroy(t->simulation);
    kd_state_destroy(t->x);
    kd_system_destroy(t->system);
    kd_model_destroy(t->model);
}

// A simulation of a model with a method; false: they do not go together, or the run does not start
static bool open(const char *path, const method *m, trace *t, double *t_end)
{
    char                  message[1000] = "";
    kd_simulation_options o = kd_simulation_options_default();
    t->model = NULL, t->system = NULL, t->x = NULL, t->simulation = NULL;
    t->n = 0;
    if (kd_model_read(path, NULL, 0, &t->model, message, sizeof message) < 0) return false;
    const kd_system_options options = kd_system_options_of(t->model);
    const kd_run_def       *run = kd_model_run(t->model);
    bool                    good = kd_system_create(t->model, &options, &t->system, message, sizeof message) >= 0;
    good = good && kd_state_create(kd_system_eom(t->system), &t->x) >= 0;
    good = good && kd_system_start(t->system, t->x, message, sizeof message) >= 0;
    if (good) {
        *t_end = run->t_end > 0 ? run->t_end : 1;
        o.formulation = m->form;
        o.integrator = m->integrator;
        if (m->automatic) o.formulation = KD_FORMULATION_CHOSEN, o.integrator = KD_INTEGRATOR_CHOSEN;
        o.rtol = o.atol = 1e-5;
        kd_integrator_set_variant(m->integrator, m->variant, &o.integrator_options);
        o.integrator_options.h_fixed = m->h_fixed * *t_end;
        if (m->order_max > 0) o.integrator_options.radau.order_max = m->order_max;
        if (m->svd) o.formulation_options.constraints = KD_DECOMPOSE_SVD;
        if (m->differences) o.formulation_options.derivatives = KD_DERIVATIVES_GROUPED;
        if (m->differences) o.formulation_options.estimated = true;
        if (t->max_steps > 0) o.integrator_options.max_steps = t->max_steps;
        for (int i = 0; i < TIMES; i++) t->time[i] = (i + 1) * *t_end / TIMES;
        o.times = t->time;
        o.ntimes = TIMES;
        o.output = see;
        o.context = t;
        good = kd_simulation_create(kd_system_eom(t->system), kd_system_inputs(t->system), &o, t->x, &t->simulation,
                                    message, sizeof message) >= 0;
    }
    if (!good) shut(t);
    return good;
}

static unsigned next_random(unsigned *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

// Stopped behind its n-th state, or after n attempts, when the next step has been prepared; saved, and made anew from the bytes: all
// states agree with those of the whole run
static void stop_and_go_on(const char *path, const method *m, const trace *whole, int n, bool attempts, kd_status ended)
{
    static trace first, second;
    kd_saved    *saved = NULL, *again = NULL;
    char         message[1000] = "";
    double       t_end;
    size_t       size;
    first.stop = attempts ? 0 : n, first.most = whole->most;
    first.max_steps = attempts ? n : 0;
    assert_true(open(path, m, &first, &t_end));
    kd_status status = kd_simulation_run(first.simulation, t_end);
    if (attempts ? status != KD_ERR_TOO_MANY_STEPS : first.n < n) { // another reason came first
        shut(&first);
        return;
    }
    if (!attempts) assert_int_equal(status, KD_STOPPED);
    n = first.n;
    status = kd_simulation_save(first.simulation, &saved, message, sizeof message);
    if (status < 0) fail_msg("%s: %s", path, message);
    const void *bytes = kd_saved_bytes(saved, &size);
    assert_int_equal(kd_saved_of_bytes(bytes, size, &again, message, sizeof message), KD_OK);
    // made anew, from the start of the model
    second.stop = 0, second.most = whole->most, second.max_steps = 0;
    assert_true(open(path, m, &second, &t_end));
    status = kd_simulation_restore(second.simulation, again, message, sizeof message);
    if (status < 0)
        fail_msg("%s, %s with %s: %s", path, kd_formulation_word(m->form), kd_integrator_word(m->integrator), message);
    second.n = n;
    status = kd_simulation_run(second.simulation, t_end);
    // the one that was saved goes on as well, with as many attempts again each time
    first.stop = 0;
    kd_status other;
    do {
        other = kd_simulation_run(first.simulation, t_end);
    } while (other == KD_ERR_TOO_MANY_STEPS && attempts && first.n < first.most);
    for (int i = n; i < whole->n && i < 4 * MOST_STEPS_ALL; i++) {
        if (i < first.n && whole->sum[i] != first.sum[i])
            fail_msg("%s, %s with %s: stopped behind state %d of %d, state %d differs after going on", path,
                     kd_formulation_word(m->form), kd_integrator_word(m->integrator), n, whole->n, i);
        if (i >= second.n || whole->sum[i] != second.sum[i])
            fail_msg("%s, %s with %s: saved behind state %d of %d, state %d differs (t = %g)", path,
                     kd_formulation_word(m->form), kd_integrator_word(m->integrator), n, whole->n, i, second.x->t);
    }
    assert_int_equal(second.n, whole->n);
    // advice on stiffness comes once per run: here it may belong to the first part
    assert_int_equal(status == KD_STIFF ? KD_OK : status, ended == KD_STIFF ? KD_OK : ended);
    assert_int_equal(other == KD_STIFF ? KD_OK : other, ended == KD_STIFF ? KD_OK : ended);
    const kd_stats a = kd_simulation_stats(whole->simulation), b = kd_simulation_stats(second.simulation);
    assert_int_equal(a.accepted, b.accepted);
    assert_int_equal(a.steps, b.steps);
    kd_saved_destroy(saved);
    kd_saved_destroy(again);
    shut(&first);
    shut(&second);
}

static int run_model(const char *path, int methods, int most, unsigned *seed)
{
    static trace whole;
    int          done = 0;
    for (int k = 0; k < methods; k++) {
        const method *m = &METHODS[k];
        double        t_end;
        whole.stop = 0, whole.most = most;
        if (!open(path, m, &whole, &t_end)) continue;
        const kd_status ended = kd_simulation_run(whole.simulation, t_end);
        if (getenv("SAVED_VERBOSE"))
            print_message("%s %s %s %d\n", path, kd_formulation_word(m->form), kd_integrator_word(m->integrator),
                          whole.n);
        for (int i = 0; i < STOPS && whole.n > 2; i++)
            stop_and_go_on(path, m, &whole, 1 + (int)(next_random(seed) % (unsigned)(whole.n - 1)), i == 0, ended);
        shut(&whole);
        done++;
    }
    return done;
}

// Three random stops: bit for bit the motion that was not stopped.
static void stopped_runs_go_on_bit_for_bit(void **state)
{
    (void)state;
    static const char *const models[] = {"pendulum",     "four-bar",         "slider-crank",  "bouncing-ball",
                                         "stick-slip",   "sampled-speed",    "quarter-car",   "damper-valves",
                                         "cam-lift-off", "rolling-disc",     "measured-road", "dice",
                                         "gear-shift",   "hunting-wheelset", "cardan-shaft"};
    unsigned                 seed = 1;
    char                     path[1000];
    if (getenv("SAVED_ALL")) return;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, models[i]);
        assert_true(run_model(path, METHODS_SHORT, MOST_STEPS, &seed) >= 2);
    }
}

// A run that has chosen another method on its way goes on with that one.
static void runs_that_changed_their_method_go_on(void **state)
{
    (void)state;
    static trace whole;
    const char  *path = KD_SOURCE_DIR "/models/closed-loop-car.yaml";
    method       m = METHODS[0];
    double       t_end;
    m.automatic = true;
    whole.stop = 0, whole.most = MOST_STEPS_ALL, whole.max_steps = 0;
    assert_true(open(path, &m, &whole, &t_end));
    const kd_status ended = kd_simulation_run(whole.simulation, t_end);
    assert_true(kd_simulation_changes(whole.simulation) > 0);
    // before the change and behind it
    for (int n = 20; n < whole.n; n += 60) {
        stop_and_go_on(path, &m, &whole, n, false, ended);
        stop_and_go_on(path, &m, &whole, n, true, ended);
    }
    shut(&whole);
}

// The same for every model of the gallery and all methods, where that is asked for.
static void the_whole_gallery(void **state)
{
    (void)state;
    const char *only = getenv("SAVED_MODEL");
    unsigned    seed = 2;
    int         done = 0;
    if (!getenv("SAVED_ALL")) skip();
    DIR *folder = opendir(KD_SOURCE_DIR "/models");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *ending = strrchr(entry->d_name, '.');
        char        path[1000];
        if (!ending || strcmp(ending, ".yaml") != 0 || (only && strncmp(entry->d_name, only, strlen(only)) != 0))
            continue;
        snprintf(path, sizeof path, "%s/models/%s", KD_SOURCE_DIR, entry->d_name);
        done += run_model(path, METHOD_COUNT, MOST_STEPS_ALL, &seed);
        print_message("%s: %d\n", entry->d_name, done);
    }
    closedir(folder);
    assert_true(done > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_runs_go_on_bit_for_bit),
        cmocka_unit_test(runs_that_changed_their_method_go_on),
        cmocka_unit_test(the_whole_gallery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
