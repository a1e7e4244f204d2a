// Recordings: states come back as they were put in; residuals and energy balance are those of the motion.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/oscillator.h"
#include "io/recording.h"

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_recording *rec;
} fixture;

static fixture make(kd_eom_def def, int capacity)
{
    fixture f = {0};
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_recording_create(f.eom, NULL, capacity, &f.rec), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_recording_destroy(f->rec);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// What is added is what is found, in order; times that do not increase and states beyond the capacity are passed over.
static void states_come_back(void **state)
{
    (void)state;
    fixture      f = make(oscillator(), 3);
    const double t[] = {0, 0.1, 0.1, 0.05, 0.2, 0.3};
    for (int i = 0; i < 6; i++) {
        oscillator_state(t[i], f.x);
        assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    }
    assert_int_equal(kd_recording_length(f.rec), 3);
    assert_int_equal(kd_recording_columns(f.rec), 2);
    const double kept[] = {0, 0.1, 0.2};
    assert_memory_equal(kd_recording_times(f.rec), kept, sizeof kept);
    oscillator_state(0.2, f.x);
    assert_memory_equal(kd_recording_values(f.rec) + 4, f.x->p, 2 * sizeof(double));
    int first, count;
    kd_recording_group(f.rec, KD_GROUP_V, &first, &count);
    assert_true(first == 1 && count == 1);
    // the model gives one name for both
    assert_string_equal(kd_recording_name(f.rec, 0), "mass <1>");
    assert_string_equal(kd_recording_name(f.rec, 1), "v[0] mass <1>");
    unmake(&f);
}

// E(t) - E(0) equals the integral of the power of the damper; the error falls with the fourth power of the distance.
static void energy_is_balanced(void **state)
{
    (void)state;
    double error[2];
    for (int k = 0; k < 2; k++) {
        int     n = k == 0 ? 101 : 201;
        fixture f = make(oscillator(), n);
        for (int i = 0; i < n; i++) {
            oscillator_state(20.0 * i / (n - 1), f.x);
            assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
        }
        kd_certificate c = kd_recording_certificate(f.rec);
        assert_true(c.has_energy);
        assert_true(fabs(c.energy_scale - kd_recording_energy(f.rec, KD_ENERGY_POTENTIAL)[0]) < 0.5 * c.energy_scale);
        error[k] = c.energy_error;
        unmake(&f);
    }
    assert_true(error[0] < 1e-3 && error[1] < error[0] / 12 && error[1] > error[0] / 40);
}

// Samples between the recorded states make the balance better, at unequal distances too, and add no rows.
static void samples_help(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 6);
    double  t = 0;
    for (int i = 0; i <= 200; i++) {
        oscillator_state(t, f.x);
        kd_status status = i % 40 == 0 ? kd_recording_add(f.rec, f.x) : kd_recording_sample(f.rec, f.x);
        assert_int_equal(status, KD_OK);
        t += i % 2 ? 0.03 : 0.07;
    }
    assert_int_equal(kd_recording_length(f.rec), 6);
    assert_true(kd_recording_certificate(f.rec).energy_error < 1e-5);
    assert_true(kd_recording_energy(f.rec, KD_ENERGY_BALANCE)[5] != 0.0);
    unmake(&f);
}

// A wrong motion (no damping in the states) is noticed.
static void wrong_energy_is_noticed(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 50);
    for (int i = 0; i < 50; i++) {
        oscillator_state(0.1 * i, f.x);
        f.x->p[0] *= exp(oscillator_damping / 2 * f.x->t);
        f.x->v[0] *= exp(oscillator_damping / 2 * f.x->t);
        assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    }
    kd_certificate c = kd_recording_certificate(f.rec);
    assert_true(c.energy_error > 0.3 * c.energy_scale);
    unmake(&f);
}

// Residuals are those of the constraint: g and d/dt g at the recorded points, with time and name of the largest.
static void residuals_are_recorded(void **state)
{
    (void)state;
    fixture f = make(rod(), 10);
    for (int i = 0; i < 3; i++) {
        f.x->t = i;
        f.x->p[0] = 1 + (i == 1 ? 1e-3 : 0);
        f.x->v[0] = i == 2 ? 2e-3 : 0;
        assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    }
    kd_certificate c = kd_recording_certificate(f.rec);
    assert_true(fabs(c.residual[0] - (1.001 * 1.001 - 1)) < 1e-12 && c.time[0] == 1);
    assert_true(fabs(c.residual[1] - 2 * 2e-3) < 1e-8 && c.time[1] == 2);
    assert_string_equal(c.equation[0], "lambda[0]");
    assert_false(c.has_energy);
    assert_null(kd_recording_energy(f.rec, KD_ENERGY_TOTAL));
    assert_true(kd_recording_residuals(f.rec, 0)[0] > 0); // fit for a logarithmic axis
    unmake(&f);
}

// An acceleration that does not belong to the state is replaced by that of the forces: with the right multiplier the
// acceleration level holds, with a wrong one it does not.
static void stale_accelerations_are_replaced(void **state)
{
    (void)state;
    fixture f = make(rod(), 3);
    f.x->p[0] = 0.6, f.x->p[1] = -0.8;
    f.x->a[0] = 1e3;
    // M a = f - 2 p lambda and p'a = 0 give lambda = p'f / 2
    f.x->lambda[0] = 0.5 * 0.8;
    assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    assert_true(kd_recording_certificate(f.rec).residual[2] < 1e-6);
    assert_true(fabs(kd_recording_accelerations(f.rec)[0] + 2 * 0.6 * 0.4) < 1e-6); // a = f - 2 p lambda
    assert_string_equal(kd_recording_acceleration_name(f.rec, 1), "acc v[1]");
    f.x->t = 1;
    f.x->lambda[0] += 1e-3; // a changes by -2 p 1e-3, gII = 2 p'a by -4e-3
    assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    assert_true(fabs(kd_recording_certificate(f.rec).residual[2] - 4e-3) < 1e-6);
    assert_string_equal(kd_recording_certificate(f.rec).equation[2], "lambda[0]");
    assert_true(kd_recording_certificate(f.rec).scale[2] < 10); // by the accelerations that were used
    assert_true(f.x->a[0] == 1e3);                              // the state itself is left alone
    unmake(&f);
}

// A state with NaN is refused and not kept.
static void nan_is_refused(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 3);
    f.x->v[0] = NAN;
    assert_int_equal(kd_recording_add(f.rec, f.x), KD_ERR_NOT_FINITE);
    assert_int_equal(kd_recording_length(f.rec), 0);
    unmake(&f);
}

// The table has time, all components, the accelerations and the energies; a full disk is reported.
static void table_is_written(void **state)
{
    (void)state;
    fixture f = make(oscillator(), 3);
    char    message[300] = "", line[400];
    for (int i = 0; i < 3; i++) {
        oscillator_state(0.1 * i, f.x);
        assert_int_equal(kd_recording_add(f.rec, f.x), KD_OK);
    }
    const char *path = KD_BINARY_DIR "/test-recording.csv";
    assert_int_equal(kd_recording_save_csv(f.rec, path, message, sizeof message), KD_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(
        line, "t,mass <1>,v[0] mass <1>,acc mass <1>,kinetic energy,potential energy,total energy,energy balance\n");
    for (int i = 0; i < 3; i++) assert_non_null(fgets(line, sizeof line, file));
    double t, p, v, a;
    assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf", &t, &p, &v, &a), 4);
    assert_true(t == f.x->t && p == f.x->p[0] && v == f.x->v[0] && a == f.x->a[0]);
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_int_equal(kd_recording_save_csv(f.rec, "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/dev/full"));
    unmake(&f);
}

typedef struct failing {
    int calls, fail_at, open;
} failing;

static void *allocate(size_t size, void *context)
{
    failing *a = context;
    if (a->calls++ == a->fail_at) return NULL;
    a->open++;
    return malloc(size);
}

static void release(void *memory, void *context)
{
    ((failing *)context)->open--;
    free(memory);
}

// Each failing allocation of create ends in KD_ERR_MEMORY without a leak.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    kd_eom_def def = oscillator();
    kd_eom    *eom;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    for (int n = 0; n < 1000; n++) {
        failing       a = {.fail_at = n};
        kd_allocator  allocator = {.allocate = allocate, .release = release, .context = &a};
        kd_recording *rec;
        kd_set_allocator(&allocator);
        kd_status status = kd_recording_create(eom, NULL, 10, &rec);
        kd_recording_destroy(rec);
        kd_set_allocator(NULL);
        assert_int_equal(a.open, 0);
        if (status == KD_OK) {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(rec);
    }
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_come_back),
        cmocka_unit_test(energy_is_balanced),
        cmocka_unit_test(samples_help),
        cmocka_unit_test(wrong_energy_is_noticed),
        cmocka_unit_test(residuals_are_recorded),
        cmocka_unit_test(stale_accelerations_are_replaced),
        cmocka_unit_test(nan_is_refused),
        cmocka_unit_test(table_is_written),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
