// Words of a certificate: verdicts, limits, description and JSON; none of them praises a failed run.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kardan/certificate.h>

static void must_be(kd_verdict verdict, const char *words, bool good)
{
    assert_string_equal(verdict.words, words);
    assert_int_equal(verdict.good, good);
}

static void must_contain(const char *text, const char *part)
{
    if (!strstr(text, part)) print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

static kd_certificate certificate(double violation, double scale)
{
    kd_certificate c = {.states = 5, .has_constraints = true, .atol = 1e-6, .limits = kd_limits_none()};
    for (int level = 0; level < KD_LEVEL_COUNT; level++) {
        c.level[level] = (kd_largest){.value = violation, .t = 0.5, .name = "rod \"a\""};
        c.scale[level] = scale;
    }
    return c;
}

// Violations are judged relative to the size of the values: rounding, ten times the tolerance, more, NaN.
static void violations_have_words(void **state)
{
    (void)state;
    kd_certificate c = certificate(1e-12, 1);
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "to rounding", true);
    c = certificate(1e-9, 1e3);
    must_be(kd_certificate_level(&c, KD_LEVEL_VELOCITY), "to rounding", true);
    c = certificate(9e-6, 1);
    must_be(kd_certificate_level(&c, KD_LEVEL_ACCELERATION), "within tolerance", true);
    c = certificate(11e-6, 1);
    must_be(kd_certificate_level(&c, KD_LEVEL_ACCELERATION), "loose", true);
    c = certificate(101e-6, 1);
    must_be(kd_certificate_level(&c, KD_LEVEL_ACCELERATION), "drift", false);
    c = certificate(101e-6, 1); // the same beside positions and a relative tolerance that explain it
    c.rtol = 1e-6;
    c.position_size = 9;
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "loose", true);
    c = certificate(NAN, 1);
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "drift", false);
    c.norm.value = 1e-13;
    must_be(kd_certificate_norm(&c), "to rounding", true);
}

// Energies relative to their size, absolute if that is 0; NaN if there are none.
static void energies_have_words(void **state)
{
    (void)state;
    kd_certificate c = {.has_energy = true, .energy = {.value = 1}, .energy_scale = 1000};
    assert_true(kd_certificate_energy_error(&c) == 1e-3);
    must_be(kd_certificate_energy(&c), "balanced", true);
    c.energy_scale = 500;
    must_be(kd_certificate_energy(&c), "not balanced", false);
    c.energy_scale = 0;
    assert_true(kd_certificate_energy_error(&c) == 1);
    c.energy.value = NAN;
    must_be(kd_certificate_energy(&c), "not balanced", false);
    c.has_energy = false;
    assert_true(isnan(kd_certificate_energy_error(&c)));
}

// A failed run is not praised for the part before its failure, an exploded one for nothing; blame stays.
static void failed_run_is_not_praised(void **state)
{
    (void)state;
    kd_certificate c = certificate(1e-13, 1);
    c.status = KD_ERR_NEWTON;
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "run failed", false);
    must_be(kd_certificate_reference(&c, 1e-9), "run failed", false);
    must_be(kd_certificate_reference(&c, 1), "differs", false);
    c = certificate(1, 1);
    c.status = KD_ERR_NEWTON;
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "drift", false);
    c.exploded = true;
    must_be(kd_certificate_level(&c, KD_LEVEL_POSITION), "exploded", false);
    must_be(kd_certificate_energy(&c), "exploded", false);
    c = certificate(0, 1);
    must_be(kd_certificate_reference(&c, 1e-9), "agrees", true);
    must_be(kd_certificate_reference(&c, NAN), "differs", false);
}

// Limits: none by default; kept, broken with a sentence for each, and NaN breaks every limit.
static void limits_are_watched(void **state)
{
    (void)state;
    char           sentence[600] = "old";
    kd_certificate c = certificate(1e-4, 1);
    assert_int_equal(kd_certificate_broken(&c, sentence, sizeof sentence), 0);
    assert_string_equal(sentence, "");
    c.limits.position = 1e-4;
    assert_int_equal(kd_certificate_broken(&c, sentence, sizeof sentence), 0);
    c.limits.position = 0.9e-4;
    c.limits.acceleration = 0;
    assert_int_equal(kd_certificate_broken(&c, sentence, sizeof sentence), 2);
    assert_string_equal(sentence, "the limit of 9e-05 on constraint violation on position level is broken: 0.0001 at "
                                  "t = 0.5 s in 'rod \"a\"'; the limit of 0 on constraint violation on acceleration "
                                  "level is broken: 0.0001 at t = 0.5 s in 'rod \"a\"'");
    assert_int_equal(kd_certificate_broken(&c, NULL, 0), 2);
    c.limits = kd_limits_none();
    c.limits.energy = 1e-6;
    assert_int_equal(kd_certificate_broken(&c, NULL, 0), 0); // no energies
    c.has_energy = true;
    c.energy = (kd_largest){.value = 3, .t = 2};
    c.energy_scale = 100;
    assert_int_equal(kd_certificate_broken(&c, sentence, sizeof sentence), 1);
    must_contain(sentence, "relative error of the energy balance is broken: 0.03 at t = 2 s");
    c.energy.value = NAN;
    assert_int_equal(kd_certificate_broken(&c, NULL, 0), 1);
}

// The description has a line for everything that the equations have and none for what they have not; it tells its own
// length and is cut off, not overrun.
static void description_is_complete(void **state)
{
    (void)state;
    char           text[3000], small[50];
    kd_certificate c = certificate(1e-4, 1);
    kd_certificate_describe(&c, text, sizeof text);
    must_contain(text,
                 "constraints on velocity level: largest violation 1.0e-04 at t = 0.5 s in 'rod \"a\"' (drift)\n");
    assert_null(strstr(text, "energy balance: largest"));
    must_contain(text, "verdict: not clean: constraints on position level, constraints on velocity level, ");
    must_contain(text, "; not searched: energy balance\n");
    assert_null(strstr(text, "quaternion"));
    c.has_norms = c.has_energy = c.has_invariants = true;
    c.limits.velocity = 1e-9;
    c.supplied = 12.5;
    size_t length = kd_certificate_describe(&c, text, sizeof text);
    assert_int_equal(length, strlen(text));
    must_contain(text, "quaternion norms: largest error 0.0e+00 (to rounding)\n");
    must_contain(text, "supplied 12.5 J\n");
    must_contain(text, "invariants: ");
    must_contain(text, "the limit of 1e-09 on constraint violation on velocity level is broken");
    assert_int_equal(kd_certificate_describe(&c, small, sizeof small), length);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_int_equal(strncmp(small, text, sizeof small - 1), 0);
    assert_int_equal(kd_certificate_describe(&c, NULL, 0), length);
    c = (kd_certificate){.limits = kd_limits_none()};
    kd_certificate_describe(&c, text, sizeof text);
    must_contain(text, "constraints: none\n");
}

// JSON: numbers with all digits, null for what is not known, names escaped.
static void json_is_exact(void **state)
{
    (void)state;
    char           text[3000];
    kd_certificate c = certificate(0.1, 1);
    size_t         length = kd_certificate_json(&c, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_true(text[0] == '{' && text[strlen(text) - 1] == '}');
    must_contain(text, "\"position_residual\": 0.1, ");
    must_contain(text, "\"position_equation\": \"rod \\\"a\\\"\"");
    must_contain(text, "\"energy_error\": null");
    must_contain(text, "\"norm_residual\": null");
    must_contain(text, "\"limits_broken\": 0, \"limits_sentence\": \"\"");
    c.limits.position = 1e-3;
    kd_certificate_json(&c, text, sizeof text);
    must_contain(text, "\"limits_broken\": 1, \"limits_sentence\": \"the limit");
    c.states = 0; // a run that could not start
    kd_certificate_json(&c, text, sizeof text);
    must_contain(text, "\"position_residual\": null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violations_have_words),     cmocka_unit_test(energies_have_words),
        cmocka_unit_test(failed_run_is_not_praised), cmocka_unit_test(limits_are_watched),
        cmocka_unit_test(description_is_complete),   cmocka_unit_test(json_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
