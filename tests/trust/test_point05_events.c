// Issue point 5: events at one instant come in the order of the file, each sees what the one before left; then
// conditions are looked at again, and an endless loop ends with names. In models and in equations written in C, in
// simulations and in real time.
#include "case.h"
#include "models/gallery_run.h"
#include "seeded.h"

enum { MOST_EVENTS = 7 };

typedef struct method {
    kd_integrator_kind integrator;
    kd_formulation     formulation;
} method;
static const method METHODS[] = {
    {KD_RADAU, KD_PSF}, {KD_BDF, KD_GGL}, {KD_SDIRK, KD_PSF}, {KD_DOPRI5, KD_ODE}, {KD_DOP853, KD_ODE}};
enum { NMETHODS = sizeof METHODS / sizeof *METHODS };

// ---- models ---------------------------------------------------------------------------------------------------------

typedef struct subject {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
    char       message[2000];
} subject;

// A cart with a constant speed v, and what is given
static subject open_cart(double v, const char *rest, kd_coordinates c)
{
    char              text[4000];
    subject           s = {0};
    kd_system_options options = kd_system_options_default();
    options.coordinates = c;
    snprintf(text, sizeof text,
             "kardan: 1\ntitle: cart\ngravity: [0, 0, 0]\nbodies:\n  cart: {mass: 2, inertia: [1, 1, 1]}\n"
             "joints:\n  slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], q: 0, "
             "v: %.17g}\n%s",
             v, rest);
    must(kd_model_read_text("cart", text, strlen(text), NULL, 0, &s.model, s.message, sizeof s.message), "read", c,
         s.message);
    must(kd_system_create(s.model, &options, &s.system, s.message, sizeof s.message), "system", c, s.message);
    must(kd_state_create(kd_system_eom(s.system), &s.x), "state", c, "");
    must(kd_system_start(s.system, s.x, s.message, sizeof s.message), "start", c, s.message);
    return s;
}

static void close_cart(subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

static kd_status simulate(subject *s, const method *m, double t_end)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.integrator = m->integrator;
    opt.formulation = m->formulation;
    return kd_simulate(kd_system_eom(s->system), kd_system_inputs(s->system), &opt, s->x, t_end, NULL, s->message,
                       sizeof s->message);
}

// Steps of 1/200 s to t_end; x is then the state there
static kd_status step(subject *s, double t_end)
{
    kd_realtime_options opt = kd_realtime_options_default();
    kd_realtime        *rt = NULL;
    opt.h = 0.005;
    kd_status status = kd_realtime_create(kd_system_eom(s->system), kd_system_inputs(s->system), &opt, s->x, &rt,
                                          s->message, sizeof s->message);
    for (int i = 0; status >= 0 && i < lround(t_end / opt.h); i++) {
        status = kd_realtime_step(rt, NULL, NULL);
        if (status < 0) snprintf(s->message, sizeof s->message, "%s", kd_realtime_message(rt));
    }
    if (status >= 0) kd_state_copy(kd_realtime_state(rt), s->x);
    kd_realtime_destroy(rt);
    return status;
}

// With every method, and in real time (the last one)
static kd_status run(subject *s, int way, double t_end)
{
    return way < NMETHODS ? simulate(s, &METHODS[way], t_end) : step(s, t_end);
}

// The example of the issue: 1 + 10 + 100, not the last one alone.
static void three_sums(void **state)
{
    (void)state;
    for (int way = 0; way <= NMETHODS; way++)
        for (int c = 0; c < 2; c++) {
            subject s = open_cart(1,
                                  "variables: {x: 0}\nevents:\n"
                                  "  a: {when: t - 1, set: {variable.x: variable.x + 1}}\n"
                                  "  b: {when: t - 1, set: {variable.x: variable.x + 10}}\n"
                                  "  c: {when: joint.slide.q - 1, set: {variable.x: variable.x + 100}}\n",
                                  BOTH[c]);
            must(run(&s, way, 2), "run", BOTH[c], s.message);
            assert_close(s.x->z[0], 111, 0);
            close_cart(&s);
        }
}

// Random operations that do not commute, at random times, in random numbers.
static void random_operations(void **state)
{
    (void)state;
    uint64_t seed = test_seed(55);
    for (int k = 0; k < 24; k++) {
        char   rest[3000] = "";
        int    n = (int)seeded_between(&seed, 2, MOST_EVENTS + 0.999);
        double time = round(seeded_between(&seed, 20, 300)) * 0.005, x = seeded_between(&seed, -2, 2);
        size_t at = (size_t)snprintf(rest, sizeof rest, "variables: {x: %.17g}\nevents:\n", x);
        for (int i = 0; i < n; i++) {
            double      a = seeded_between(&seed, 0.5, 2);
            const int   kind = (int)seeded_between(&seed, 0, 3);
            const char *form = kind == 0   ? "variable.x + %.17g"
                               : kind == 1 ? "%.17g*variable.x"
                                           : "%.17g - variable.x^2/4";
            char        value[100];
            snprintf(value, sizeof value, form, a);
            at += (size_t)snprintf(rest + at, sizeof rest - at,
                                   "  e%d: {when: '%.17g*(t - %.17g)', set: {variable.x: '%s'}}\n", i,
                                   seeded_between(&seed, 0.1, 10), time, value);
            x = kind == 0 ? x + a : kind == 1 ? a * x : a - x * x / 4;
        }
        subject s = open_cart(1, rest, BOTH[k % 2]);
        must(run(&s, k % (NMETHODS + 1), 2), "run", BOTH[k % 2], s.message);
        assert_close(s.x->z[0], x, 1e-13 * (1 + fabs(x)));
        close_cart(&s);
    }
}

// An event sees the velocity that the one before has set, and the state that follows from it.
static void velocities_are_seen(void **state)
{
    (void)state;
    for (int way = 0; way <= NMETHODS; way++) {
        subject s = open_cart(2,
                              "variables: {seen: 0, energy: 0}\nevents:\n"
                              "  brake: {when: t - 0.5, set: {joint.slide.v: 0.5*joint.slide.v}}\n"
                              "  look: {when: t - 0.5, set: {variable.seen: joint.slide.v}}\n"
                              "  again: {when: t - 0.5, set: {joint.slide.v: joint.slide.v + variable.seen}}\n",
                              KD_JOINT);
        must(run(&s, way, 1), "run", KD_JOINT, s.message);
        assert_close(s.x->z[0], 1, 1e-9);
        assert_close(s.x->v[0], 2, 1e-9);
        close_cart(&s);
    }
}

// A condition that an event makes true has its event at the same instant, also the condition of an event that was
// before.
static void conditions_again(void **state)
{
    (void)state;
    for (int way = 0; way <= NMETHODS; way++) {
        subject s = open_cart(1,
                              "variables: {a: 0, b: 0, c: 0, time: 0}\nevents:\n"
                              "  third: {when: variable.b - 0.5, set: {variable.c: variable.c + 1, variable.time: t}}\n"
                              "  second: {when: variable.a - 0.5, set: {variable.b: 1}}\n"
                              "  first: {when: t - 0.5, set: {variable.a: 1}}\n",
                              KD_JOINT);
        must(run(&s, way, 1), "run", KD_JOINT, s.message);
        assert_close(s.x->z[2], 1, 0);
        assert_close(s.x->z[3], 0.5, 1e-9);
        close_cart(&s);
    }
    // first crosses at the instant; second, which comes behind it there, sends its condition back: it comes once more
    for (int way = 0; way <= NMETHODS; way++) {
        subject s = open_cart(1,
                              "variables: {shift: 0.5, count: 0}\nevents:\n"
                              "  first: {when: t - variable.shift, set: {variable.count: variable.count + 1}}\n"
                              "  second: {when: t - 0.5, set: {variable.shift: 0.9}}\n",
                              KD_JOINT);
        must(run(&s, way, 1), "run", KD_JOINT, s.message);
        assert_close(s.x->z[1], 3, 0); // at 0.5 up, at 0.5 down by second, at 0.9 up
        close_cart(&s);
    }
}

// Events that call each other without end are named.
static void endless(void **state)
{
    (void)state;
    for (int way = 0; way <= NMETHODS; way++) {
        subject   s = open_cart(1,
                                "variables: {a: 0, b: 0}\nevents:\n"
                                  "  start: {when: t - 0.5, set: {variable.a: 1}}\n"
                                  "  ping: {when: variable.a - 0.5, set: {variable.b: 1 - variable.b}}\n"
                                  "  pong: {when: variable.b - 0.5, set: {variable.a: 1 - variable.a}}\n",
                                KD_JOINT);
        kd_status status = run(&s, way, 1);
        assert_int_equal(status, KD_ERR_CHATTER);
        assert_true(strstr(s.message, "ping") || strstr(s.message, "pong"));
        if (way < NMETHODS) assert_true(strstr(s.message, "ping") && strstr(s.message, "pong"));
        close_cart(&s);
    }
}

// ---- equations in C -------------------------------------------------------------------------------------------------

static kd_eval mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval no_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}

// All pass through zero at t = 0.5, where p = 0.5; the last one follows from z
static kd_eval switching(const kd_point *x, void *context, double *s)
{
    (void)context;
    s[0] = x->t - 0.5;
    s[1] = 3 * (x->p[0] - 0.5);
    s[2] = 0.25 - x->t * x->t;
    s[3] = x->z[0] - 5;
    return KD_EVAL_OK;
}

// x, which is handed to the event, has what the one before left
static kd_eval operate(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    int *calls = context;
    int  which = -1, many = 0;
    for (int i = 0; i < 4; i++)
        if (crossed[i]) which = i, many++;
    assert_int_equal(many, 1); // one after the other
    calls[0]++;
    assert_true(memcmp(x->z, jump->z, 2 * sizeof(double)) == 0);
    jump->z[0] = which == 0 ? x->z[0] + 2 : which == 1 ? 3 * x->z[0] : which == 2 ? x->z[0] + 4 : x->z[0];
    if (which == 3) jump->z[1] = x->z[0];
    return KD_EVAL_OK;
}

static void equations_in_c(void **state)
{
    (void)state;
    for (int way = 0; way <= NMETHODS; way++) {
        int        calls = 0;
        char       message[1000] = "";
        kd_eom    *eom;
        kd_state  *x;
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 2, .nswitch = 4};
        def.M = mass, def.f = no_force, def.switching = switching, def.event = operate, def.context = &calls;
        assert_int_equal(kd_eom_create(&def, &eom, message, sizeof message), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        x->v[0] = x->z[0] = 1;
        if (way < NMETHODS) {
            kd_simulation_options opt = kd_simulation_options_default();
            opt.integrator = METHODS[way].integrator;
            opt.formulation = METHODS[way].formulation;
            must(kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message), "run", KD_JOINT, message);
        } else {
            kd_realtime_options opt = kd_realtime_options_default();
            kd_realtime        *rt;
            opt.h = 1.0 / 128; // 0.5 is a step
            must(kd_realtime_create(eom, NULL, &opt, x, &rt, message, sizeof message), "create", KD_JOINT, message);
            calls = 0;
            for (int i = 0; i < 128; i++) assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_OK);
            kd_state_copy(kd_realtime_state(rt), x);
            kd_realtime_destroy(rt);
        }
        assert_close(x->z[0], (1 + 2) * 3 + 4, 0);
        assert_close(x->z[1], 13, 0); // its condition became true by the others
        assert_int_equal(calls, 4);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_sums),       cmocka_unit_test(random_operations), cmocka_unit_test(velocities_are_seen),
        cmocka_unit_test(conditions_again), cmocka_unit_test(endless),           cmocka_unit_test(equations_in_c)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
