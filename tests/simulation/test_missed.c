// What quadratures may have missed together: one sign adds up, any sign goes like a root, and a certifier keeps its account.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "results/oscillator.h"
#include "simulation/certificate_impl.h"

// 1000 errors of one sign are 1000 times one, of changing signs the root of 1000; what is more than the quadrature can be the
// reason for does not count, nor does its sign get lost.
static void signs_count(void **state)
{
    (void)state;
    kd_missed same = {0}, changing = {0}, clipped = {0};
    for (int i = 0; i < 1000; i++) {
        kd_missed_add(&same, -1e-3, INFINITY);
        kd_missed_add(&changing, i % 2 == 0 ? 1e-3 : -1e-3, INFINITY);
        kd_missed_add(&clipped, -5, 1e-3);
    }
    assert_true(fabs(kd_missed_total(&same) - 1) < 1e-12 && same.sum < 0);
    assert_true(fabs(kd_missed_total(&changing) - 1e-3 * sqrt(1000)) < 1e-12);
    assert_true(fabs(clipped.sum + 1) < 1e-12);
}

typedef struct watched {
    kd_certifier  *certifier;
    kd_simulation *simulation;
    long           looks; // states at which something was missed
    double         before;
} watched;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    watched *w = context;
    (void)at_time;
    if (kd_certifier_see(w->certifier, w->simulation, x) < 0) return KD_EVAL_STOP;
    const double squares = w->certifier->missed.squares;
    w->looks += squares > w->before;
    w->before = squares;
    // never more than all that may be missed
    return kd_missed_total(&w->certifier->missed) <= w->certifier->most ? KD_EVAL_OK : KD_EVAL_STOP;
}

// A damped oscillator: nearly every step misses something, and the account stays below what it may miss.
static void certifier_keeps_account(void **state)
{
    (void)state;
    watched               w = {0};
    kd_eom_def            def = oscillator();
    kd_simulation_options o = kd_simulation_options_default();
    kd_eom               *eom;
    kd_state             *x;
    o.formulation = KD_ODE;
    o.integrator = KD_DOPRI5;
    o.rtol = o.atol = 1e-6;
    o.output = see;
    o.context = &w;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    oscillator_state(0, x);
    assert_int_equal(kd_certifier_create(eom, NULL, &w.certifier), KD_OK);
    assert_true(kd_simulation_create(eom, NULL, &o, x, &w.simulation, NULL, 0) >= 0);
    assert_int_equal(kd_simulation_run(w.simulation, 10), KD_OK);
    const long states = kd_certifier_certificate(w.certifier).states;
    print_message("%ld of %ld steps have missed something, %g J of %g J\n", w.looks, states - 1,
                  kd_missed_total(&w.certifier->missed), w.certifier->most);
    assert_true(w.looks > states / 2 && w.certifier->missed.sum != 0);
    kd_simulation_destroy(w.simulation);
    kd_certifier_destroy(w.certifier);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signs_count), cmocka_unit_test(certifier_keeps_account)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
