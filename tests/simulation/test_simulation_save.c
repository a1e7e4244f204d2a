// Saved simulations of the driver: what is refused and why, what a restore leaves behind, certificates that go on.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "gallery.h"

typedef struct run {
    kd_eom        *eom;
    kd_state      *x;
    kd_inputs      inputs;
    kd_simulation *simulation;
    kd_certifier  *certifier;
    int            shown, stop;
} run;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    run *r = context;
    (void)at_time;
    assert_true(kd_certifier_see(r->certifier, r->simulation, x) >= 0);
    return ++r->shown == r->stop ? KD_EVAL_STOP : KD_EVAL_OK;
}

static void open(const char *name, kd_simulation_options *o, run *r)
{
    char              message[1000] = "";
    const kd_example *example = kd_gallery_find(name);
    *r = (run){0};
    assert_non_null(example);
    assert_int_equal(example->create(&r->eom, &r->x, &r->inputs), KD_OK);
    assert_int_equal(kd_certifier_create(r->eom, &r->inputs, &r->certifier), KD_OK);
    o->output = see;
    o->context = r;
    assert_true(kd_simulation_create(r->eom, &r->inputs, o, r->x, &r->simulation, message, sizeof message) >= 0);
}

static void shut(run *r)
{
    kd_simulation_destroy(r->simulation);
    kd_certifier_destroy(r->certifier);
    kd_state_destroy(r->x);
    kd_eom_destroy(r->eom);
}

static kd_saved *save(run *r)
{
    char      message[1000] = "";
    kd_saved *saved = NULL;
    if (kd_simulation_save(r->simulation, &saved, message, sizeof message) < 0) fail_msg("%s", message);
    return saved;
}

static void refused(run *r, const kd_saved *saved, const char *words)
{
    char message[1000] = "";
    assert_int_equal(kd_simulation_restore(r->simulation, saved, message, sizeof message), KD_ERR_SAVED);
    if (!strstr(message, words)) fail_msg("'%s' does not say '%s'", message, words);
}

// Another model, method, option or tolerance is told; the simulation still runs from where it was.
static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    kd_simulation_options o = kd_method_named(NULL), other;
    run                   r, s;
    open("pendulum", &o, &r);
    assert_int_equal(kd_simulation_run(r.simulation, 0.1), KD_OK);
    kd_saved *saved = save(&r);
    other = kd_method_named(NULL);
    open("caraxis", &other, &s);
    refused(&s, saved, "the equations are others");
    assert_int_equal(kd_simulation_run(s.simulation, 0.01), KD_OK);
    shut(&s);
    other.integrator = KD_SDIRK;
    open("pendulum", &other, &s);
    refused(&s, saved, "integrator");
    shut(&s);
    other.integrator = KD_RADAU;
    other.integrator_options.radau.safety = 0.8;
    open("pendulum", &other, &s);
    refused(&s, saved, "radau.safety=0.9 there, radau.safety=0.8 here");
    shut(&s);
    other = kd_method_named(NULL);
    other.rtol = other.atol = 1e-3;
    open("pendulum", &other, &s);
    refused(&s, saved, "tolerances are others");
    shut(&s);
    kd_saved_destroy(saved);
    shut(&r);
}

// SUNDIALS keeps its past to itself: said, with the name.
static void sundials_is_not_saved(void **state)
{
    (void)state;
    kd_simulation_options o = kd_method_named(NULL);
    kd_saved             *saved = NULL;
    char                  message[1000] = "";
    run                   r;
    if (!kd_integrator_about(KD_CVODE, NULL)->available) skip();
    o.formulation = KD_ODE;
    o.integrator = KD_CVODE;
    open("pendulum", &o, &r);
    assert_int_equal(kd_simulation_run(r.simulation, 0.1), KD_OK);
    assert_int_equal(kd_simulation_save(r.simulation, &saved, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "CVODE keeps its past to itself"));
    assert_null(saved);
    shut(&r);
}

// A file that ends half-way leaves a simulation that does not run, but can be restored.
static void half_a_restore_is_no_simulation(void **state)
{
    (void)state;
    kd_simulation_options o = kd_simulation_options_default();
    run                   r, s;
    open("pendulum", &o, &r);
    assert_int_equal(kd_simulation_run(r.simulation, 0.1), KD_OK);
    kd_saved *saved = save(&r);
    // the same bytes with a part of them missing, in a head of their own
    size_t      size;
    const char *bytes = kd_saved_bytes(saved, &size);
    char        copy[200000], message[1000];
    assert_true(size < sizeof copy);
    memcpy(copy, bytes, size);
    open("pendulum", &o, &s);
    o.context = &s;
    kd_saved *again = NULL;
    assert_int_equal(kd_saved_of_bytes(copy, size - 1, &again, message, sizeof message), KD_ERR_SAVED);
    assert_null(again);
    assert_int_equal(kd_simulation_restore(s.simulation, saved, message, sizeof message), KD_OK);
    assert_int_equal(kd_simulation_run(s.simulation, 0.2), KD_OK);
    assert_int_equal(kd_simulation_run(r.simulation, 0.2), KD_OK);
    assert_memory_equal(r.x->p, s.x->p, r.x->size * sizeof *r.x->p);
    kd_saved_destroy(saved);
    shut(&r);
    shut(&s);
}

// The certificate of a run in two parts is that of the whole run, number by number.
static void certificates_go_on(void **state)
{
    (void)state;
    kd_simulation_options o = kd_simulation_options_default(), o1 = o, o2 = o;
    run                   whole, first, second;
    char                  message[1000] = "";
    open("caraxis", &o, &whole);
    assert_true(kd_simulation_run(whole.simulation, 0.5) >= 0);
    open("caraxis", &o1, &first);
    first.stop = 20;
    assert_int_equal(kd_simulation_run(first.simulation, 0.5), KD_STOPPED);
    kd_saved *saved = save(&first);
    assert_int_equal(kd_certifier_save(first.certifier, saved), KD_OK);
    open("caraxis", &o2, &second);
    assert_int_equal(kd_simulation_restore(second.simulation, saved, message, sizeof message), KD_OK);
    assert_int_equal(kd_certifier_restore(second.certifier, saved, message, sizeof message), KD_OK);
    second.shown = 20;
    assert_true(kd_simulation_run(second.simulation, 0.5) >= 0);
    assert_int_equal(second.shown, whole.shown);
    const kd_certificate a = kd_certifier_certificate(whole.certifier), b = kd_certifier_certificate(second.certifier);
    assert_true(a.states == b.states && a.t_start == b.t_start && a.t_end == b.t_end);
    for (int k = 0; k < KD_LEVEL_COUNT; k++)
        assert_true(a.level[k].value == b.level[k].value && a.scale[k] == b.scale[k]);
    assert_true(a.energy.value == b.energy.value && a.energy_scale == b.energy_scale);
    assert_true(a.dissipated == b.dissipated && a.supplied == b.supplied && a.kinetic == b.kinetic);
    kd_saved_destroy(saved);
    shut(&whole);
    shut(&first);
    shut(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(sundials_is_not_saved),
        cmocka_unit_test(half_a_restore_is_no_simulation),
        cmocka_unit_test(certificates_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
