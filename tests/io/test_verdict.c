// Verdicts: the words for residuals, energies and references, and that none of them praises a failed run.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/oscillator.h"
#include "io/verdict.h"

static const double ATOL = 1e-6;

static void must_be(kd_verdict verdict, const char *words, bool good)
{
    assert_string_equal(verdict.words, words);
    assert_int_equal(verdict.good, good);
}

static kd_certificate certificate(double residual, double scale)
{
    return (kd_certificate){.residual = {residual, residual, residual}, .scale = {scale, scale, scale}};
}

// Residuals are judged relative to the size of the values: rounding, ten times the tolerance, more, NaN.
static void residuals_have_words(void **state)
{
    (void)state;
    kd_certificate c = certificate(1e-12, 1);
    must_be(kd_verdict_residual(&c, 0, ATOL, KD_OK), "to rounding", true);
    c = certificate(1e-9, 1e3);
    must_be(kd_verdict_residual(&c, 1, ATOL, KD_OK), "to rounding", true);
    c = certificate(9e-6, 1);
    must_be(kd_verdict_residual(&c, 2, ATOL, KD_REDUNDANT), "within tolerance", true);
    c = certificate(11e-6, 1);
    must_be(kd_verdict_residual(&c, 2, ATOL, KD_OK), "drift", false);
    c = certificate(NAN, 1);
    must_be(kd_verdict_residual(&c, 0, ATOL, KD_OK), "drift", false);
}

// Energies relative to their size, absolute if that is 0; NaN if there are none.
static void energies_have_words(void **state)
{
    (void)state;
    kd_certificate c = {.has_energy = true, .energy_error = 1, .energy_scale = 1000};
    assert_true(kd_verdict_energy_error(&c) == 1e-3);
    must_be(kd_verdict_energy(&c, KD_OK), "balanced", true);
    c.energy_scale = 50;
    must_be(kd_verdict_energy(&c, KD_OK), "not balanced", false);
    c.energy_scale = 0;
    assert_true(kd_verdict_energy_error(&c) == 1);
    c.energy_error = NAN;
    must_be(kd_verdict_energy(&c, KD_OK), "not balanced", false);
    c.has_energy = false;
    assert_true(isnan(kd_verdict_energy_error(&c)));
}

// A failed run is not praised for the part before its failure; blame stays.
static void failed_run_is_not_praised(void **state)
{
    (void)state;
    kd_certificate c = certificate(0, 1);
    c.has_energy = true, c.energy_scale = 1;
    must_be(kd_verdict_residual(&c, 0, ATOL, KD_ERR_NEWTON), "run failed", false);
    must_be(kd_verdict_energy(&c, KD_ERR_NEWTON), "run failed", false);
    must_be(kd_verdict_reference(&c, 1e-9, KD_ERR_FILE), "run failed", false);
    c = certificate(1, 1);
    must_be(kd_verdict_residual(&c, 0, ATOL, KD_ERR_NEWTON), "drift", false);
}

// An end that agrees with the reference, or not.
static void references_have_words(void **state)
{
    (void)state;
    kd_certificate c = certificate(0, 1);
    must_be(kd_verdict_reference(&c, 1e-3, KD_OK), "agrees", true);
    must_be(kd_verdict_reference(&c, 0.5, KD_OK), "differs", false);
}

// A rod that flies off to 1e15: its residual is small relative to that, and it is called exploded all the same. A rod
// that is merely fast is not.
static void explosion_is_no_success(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kd_eom_def    def = rod();
        kd_eom       *eom;
        kd_state     *x;
        kd_recording *rec;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        assert_int_equal(kd_recording_create(eom, NULL, 2, &rec), KD_OK);
        x->p[0] = 1;
        assert_int_equal(kd_recording_add(rec, x), KD_OK);
        x->t = 1;
        x->v[1] = k == 0 ? 1e15 : 1e5; // 0 = gI = 2 p'v holds exactly
        assert_int_equal(kd_recording_add(rec, x), KD_OK);
        kd_certificate c = kd_recording_certificate(rec);
        must_be(kd_verdict_residual(&c, 1, ATOL, KD_OK), k == 0 ? "exploded" : "to rounding", k == 1);
        kd_recording_destroy(rec);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_have_words),      cmocka_unit_test(energies_have_words),
        cmocka_unit_test(failed_run_is_not_praised), cmocka_unit_test(references_have_words),
        cmocka_unit_test(explosion_is_no_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
