// Wanted times and ends of runs that differ from instants by rounding only: 0.3 is not 3 times 0.1.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <kardan/kardan.h>

// ---- a mass that is pushed by the number of samples so far ----------------------------------------------------------

static const double PERIOD = 0.1;

static kd_eval unit_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval push(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = x->z[0];
    return KD_EVAL_OK;
}

static double next(const kd_point *x, void *context)
{
    (void)context;
    return x->z[0] * PERIOD;
}

static kd_eval count(const kd_point *x, void *context, double *z)
{
    (void)context;
    z[0] = x->z[0] + 1;
    return KD_EVAL_OK;
}

static kd_eom *make(void)
{
    kd_eom    *eom = NULL;
    kd_eom_def def = kd_eom_def_default();
    char       message[300];
    def.dims = (kd_dims){.np = 1, .nv = 1, .nz = 1};
    def.M = unit_mass, def.f = push;
    def.next_sample = next, def.discrete = count;
    if (kd_eom_create(&def, &eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return eom;
}

typedef struct seen {
    int    n;
    double t[20], z[20], v[20];
} seen;

static kd_eval look(const kd_state *x, bool at_time, void *context)
{
    seen *s = context;
    if (!at_time) return KD_EVAL_OK;
    assert_true(s->n < 20);
    s->t[s->n] = x->t, s->z[s->n] = x->z[0], s->v[s->n] = x->v[0];
    s->n++;
    return KD_EVAL_OK;
}

typedef struct combination {
    kd_formulation     form;
    kd_integrator_kind integrator;
} combination;

static const combination all_methods[] = {
    {KD_PSF, KD_RADAU},  {KD_GGL, KD_BDF},    {KD_GGL, KD_IDA},    {KD_PSF, KD_SDIRK},         {KD_ODE, KD_CVODE},
    {KD_ODE, KD_ARKODE}, {KD_ODE, KD_DOPRI5}, {KD_ODE, KD_DOP853}, {KD_ODE, KD_EXTRAPOLATION}, {KD_ODE, KD_ADAMS},
};

static kd_simulation_options options_of(combination c, const double *times, int n, seen *s)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.rtol = opt.atol = 1e-8;
    opt.formulation = c.form;
    opt.integrator = c.integrator;
    opt.times = times, opt.ntimes = n;
    opt.output = look, opt.context = s;
    return opt;
}

static bool is_there(kd_integrator_kind integrator)
{
    return kd_integrator_about(integrator, NULL)->available;
}

// A wanted time that is an instant but for rounding shows the state from the right, inside of a run and at its end,
// with the time that was asked for; a run to the same end once more does nothing.
static void wanted_times_are_instants(void **state)
{
    (void)state;
    const double times[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.7 * 6 / 7, 0.7};
    const double ends[] = {0.3, 0.7}; // samples come at 0.30000000000000004 and 0.70000000000000007
    assert_true(3 * PERIOD > 0.3 && 7 * PERIOD > 0.7);
    for (size_t k = 0; k < sizeof all_methods / sizeof *all_methods; k++) {
        kd_eom        *eom = make();
        kd_state      *x = NULL;
        kd_simulation *s = NULL;
        seen           got = {0};
        if (is_there(all_methods[k].integrator)) {
            kd_simulation_options opt = options_of(all_methods[k], times, 7, &got);
            assert_int_equal(kd_state_create(eom, &x), KD_OK);
            assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0) >= 0);
            for (int i = 0; i < 4; i++) {
                kd_status status = kd_simulation_run(s, ends[i / 2]);
                if (status < 0) print_error("%s: %s\n", kd_integrator_word(opt.integrator), kd_simulation_message(s));
                assert_int_equal(status, KD_OK);
                assert_true(fabs(x->t - ends[i / 2]) < 1e-15);
            }
            assert_int_equal(got.n, 7);
            for (int i = 0; i < 7; i++) {
                assert_true(got.t[i] == times[i]);
                assert_true(got.z[i] == i + 2);                                      // samples at 0, .., i + 1
                assert_true(fabs(got.v[i] - PERIOD * (i + 1) * (i + 2) / 2) < 1e-6); // sum of 1 .. i + 1
            }
            assert_int_equal(kd_simulation_events(s, KD_EVENT_SAMPLE), 8); // 0, .., 7
        }
        kd_simulation_destroy(s);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// An end of a run some ulp beside a sample, on either side, is reached, and the run goes on from there.
static void ends_beside_samples(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof all_methods / sizeof *all_methods; k++) {
        for (int ulp = -12; ulp <= 12; ulp++) {
            kd_eom        *eom = make();
            kd_state      *x = NULL;
            kd_simulation *s = NULL;
            double         end = 0.4, times[2] = {0.4, 0.45};
            seen           got = {0};
            if (is_there(all_methods[k].integrator)) {
                for (int i = 0; i < (ulp < 0 ? -ulp : ulp); i++) end = nextafter(end, ulp);
                times[0] = end;
                kd_simulation_options opt = options_of(all_methods[k], times, 2, &got);
                assert_int_equal(kd_state_create(eom, &x), KD_OK);
                assert_true(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0) >= 0);
                kd_status status = kd_simulation_run(s, end);
                if (status == KD_OK) status = kd_simulation_run(s, 0.45);
                if (status != KD_OK)
                    print_error("%s, %d ulp: %s\n", kd_integrator_word(opt.integrator), ulp, kd_simulation_message(s));
                assert_int_equal(status, KD_OK);
                assert_true(got.n == 2 && got.t[0] == end && got.t[1] == 0.45 && x->t == 0.45);
                assert_true(fabs(got.v[1] - 1.25) < 1e-6 && x->z[0] == 5);
            }
            kd_simulation_destroy(s);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted_times_are_instants),
        cmocka_unit_test(ends_beside_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
