// Recordings: channels come back as they were added, with names that are all different; what is not finite is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "results/oscillator.h"
#include "results/recording.h"

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_probe     *probe;
    kd_certifier *certifier;
    kd_recording *rec;
} fixture;

static fixture make(kd_eom_def def, int capacity)
{
    fixture f = {0};
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_certifier_create(f.eom, NULL, &f.certifier), KD_OK);
    assert_int_equal(kd_probe_create(f.eom, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_recording_create(f.probe, capacity, &f.rec), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_recording_destroy(f->rec);
    kd_probe_destroy(f->probe);
    kd_certifier_destroy(f->certifier);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static kd_status add(fixture *f)
{
    kd_status status = kd_certifier_see(f->certifier, NULL, f->x);
    assert_int_equal(status, KD_OK);
    kd_findings findings = kd_certifier_findings(f->certifier);
    return kd_recording_add(f->rec, f->x, &findings);
}

// What is added is what is found, in order; times that do not increase and states beyond the capacity are passed over.
static void states_come_back(void **state)
{
    (void)state;
    fixture      f = make(oscillator(), 3);
    const double t[] = {0, 0.1, 0.1, 0.2, 0.3};
    for (int i = 0; i < 5; i++) {
        oscillator_state(t[i], f.x);
        assert_int_equal(add(&f), KD_OK);
    }
    assert_int_equal(kd_recording_length(f.rec), 3);
    assert_int_equal(kd_recording_columns(f.rec), 3 + KD_ENERGY_CHANNELS);
    const double kept[] = {0, 0.1, 0.2};
    assert_memory_equal(kd_recording_times(f.rec), kept, sizeof kept);
    oscillator_state(0.2, f.x);
    const double *row = kd_recording_values(f.rec) + 2 * kd_recording_columns(f.rec);
    assert_memory_equal(row, f.x->p, 2 * sizeof(double));
    assert_true(row[2] == f.x->a[0]);
    int first, count;
    kd_recording_group(f.rec, KD_GROUP_V, &first, &count);
    assert_true(first == 1 && count == 1);
    kd_recording_group(f.rec, KD_GROUP_VIOLATION, &first, &count);
    assert_int_equal(count, 0);
    unmake(&f);
}

// Names are the model's; where two are the same, the letter tells them apart. Every name leads to its column.
static void names_are_all_different(void **state)
{
    (void)state;
    fixture                  f = make(oscillator(), 1);
    static const char *const expected[] = {"mass <1>", "v[0] mass <1>", "acc mass <1>", "kinetic energy"};
    for (int j = 0; j < 4; j++) assert_string_equal(kd_recording_name(f.rec, j), expected[j]);
    for (int j = 0; j < kd_recording_columns(f.rec); j++)
        assert_int_equal(kd_recording_find(f.rec, kd_recording_name(f.rec, j)), j);
    assert_int_equal(kd_recording_find(f.rec, "mass"), -1);
    assert_string_equal(kd_recording_unit(f.rec, 0), "");
    assert_string_equal(kd_recording_unit(f.rec, 3), "J");
    kd_recording_set_unit(f.rec, 0, "a unit that is much too long");
    assert_string_equal(kd_recording_unit(f.rec, 0), "a unit that is ");
    unmake(&f);
}

// Energies are those of the state, and the sum of kinetic and potential energy is what the damper leaves.
static void energies_are_recorded(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 1001);
    for (int i = 0; i <= 1000; i++) {
        oscillator_state(0.01 * i, f.x);
        assert_int_equal(add(&f), KD_OK);
    }
    const double *row = kd_recording_values(f.rec) + 1000 * kd_recording_columns(f.rec) + 3;
    const double *start = kd_recording_values(f.rec) + 3;
    assert_true(row[0] == 0.5 * f.x->v[0] * f.x->v[0] && row[2] == row[0] + row[1]);
    assert_true(fabs(row[2] + row[3] - start[2]) < 1e-5 && row[3] > 0.9 * start[2]); // dissipated
    assert_true(row[4] == 0 && fabs(row[5]) < 1e-5);                                 // supplied, balance
    unmake(&f);
}

// Outputs are evaluated at the recorded states; one that is not finite is refused by name, and the state is not kept.
static kd_eval square(const kd_point *x, void *context, double *y)
{
    (void)context;
    y[0] = x->p[0] * x->p[0] + x->a[0];
    return KD_EVAL_OK;
}
static void outputs_are_recorded(void **state)
{
    (void)state;
    kd_eom_def def = oscillator();
    def.dims.ny = 1;
    def.y = square;
    fixture f = make(def, 3);
    oscillator_state(0.3, f.x);
    assert_int_equal(add(&f), KD_OK);
    int column = kd_recording_find(f.rec, "y[0]");
    assert_int_equal(column, 3);
    assert_true(kd_recording_values(f.rec)[column] == f.x->p[0] * f.x->p[0] + f.x->a[0]);
    kd_findings findings = kd_certifier_findings(f.certifier);
    f.x->t = 1;
    f.x->p[0] = 1e200;
    assert_true(kd_recording_add(f.rec, f.x, &findings) < 0);
    assert_non_null(strstr(kd_recording_message(f.rec), "y[0]"));
    assert_int_equal(kd_recording_length(f.rec), 1);
    unmake(&f);
}

// Violations of the constraints have their channels.
static void violations_are_recorded(void **state)
{
    (void)state;
    fixture f = make(rod(), 10);
    f.x->p[0] = 1.001;
    f.x->v[0] = 2e-3;
    assert_int_equal(add(&f), KD_OK);
    int column = kd_recording_find(f.rec, "position violation");
    assert_true(column > 0);
    assert_true(fabs(kd_recording_values(f.rec)[column] - (1.001 * 1.001 - 1)) < 1e-12);
    assert_true(fabs(kd_recording_values(f.rec)[column + 1] - 2 * 1.001 * 2e-3) < 1e-8);
    assert_int_equal(kd_recording_find(f.rec, "kinetic energy"), -1);
    unmake(&f);
}

// A state with NaN is refused and not kept.
static void nan_is_refused(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 3);
    assert_int_equal(add(&f), KD_OK);
    kd_findings findings = kd_certifier_findings(f.certifier);
    f.x->t = 1;
    f.x->v[0] = NAN;
    assert_int_equal(kd_recording_add(f.rec, f.x, &findings), KD_ERR_NOT_FINITE);
    assert_non_null(strstr(kd_recording_message(f.rec), "'v[0] mass <1>' is not a finite number at t = 1"));
    assert_int_equal(kd_recording_length(f.rec), 1);
    unmake(&f);
}

// Each failing allocation of create ends in KD_ERR_MEMORY without a leak.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    kd_eom_def def = oscillator();
    kd_eom    *eom;
    kd_probe  *probe;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_probe_create(eom, NULL, &probe), KD_OK);
    for (int n = 1; n < 1000; n++) {
        failing_allocator a = {.fail_at = n};
        kd_recording     *rec;
        failing_allocator_use(&a);
        kd_status status = kd_recording_create(probe, 10, &rec);
        kd_recording_destroy(rec);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) {
            assert_true(n > 2);
            break;
        }
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(rec);
    }
    kd_probe_destroy(probe);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_come_back),           cmocka_unit_test(names_are_all_different),
        cmocka_unit_test(energies_are_recorded),      cmocka_unit_test(outputs_are_recorded),
        cmocka_unit_test(violations_are_recorded),    cmocka_unit_test(nan_is_refused),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
