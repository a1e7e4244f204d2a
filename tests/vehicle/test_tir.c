// Tyre property files: what is read, converted and refused, each refusal one sentence with file and line.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vehicle/tir.h"

// A whole file; %s: what stands in [UNITS] and behind everything
static const char whole[] = "$ comment\r\n"
                            "[UNITS]\r\n"
                            "LENGTH = 'meter'\n"
                            "FORCE='newton'  $ a comment behind\r\n"
                            "ANGLE = 'radians'\n"
                            "%s\n"
                            "[MODEL]\n"
                            "PROPERTY_FILE_FORMAT = 'PAC2002'\n"
                            "%s\n"
                            "TYRESIDE = 'RIGHT'\n"
                            "[DIMENSION]\nUNLOADED_RADIUS = 0.3\n"
                            "[VERTICAL]\nVERTICAL_STIFFNESS = 2.0e+005\nFNOMIN = 4000\n"
                            "[LONGITUDINAL_COEFFICIENTS]\nPCX1 = 1.6\nPDX1 = 1\nPKX1 = 20\n"
                            "[LATERAL_COEFFICIENTS]\nPCY1 = 1.3\nPDY1 = 1\nPKY1 = -15\nPKY2 = 1.8\n"
                            "[ALIGNING_COEFFICIENTS]\nQBZ1 = 9\n"
                            "%s";

static kd_status parse(const char *units, const char *model, const char *end, kd_tir *tir, char *message, size_t size)
{
    char text[4000];
    snprintf(text, sizeof text, whole, units, model, end);
    message[0] = '\0';
    return kd_tir_parse("a.tir", text, strlen(text), tir, message, size);
}

static void read_fine(const char *units, const char *model, const char *end, kd_tir *tir)
{
    char message[400];
    if (parse(units, model, end, tir, message, sizeof message) != KD_OK) fail_msg("%s", message);
}

static void refused(const char *units, const char *model, const char *end, const char *sentence)
{
    static kd_tir tir;
    char          message[400];
    if (parse(units, model, end, &tir, message, sizeof message) != KD_ERR_FILE) fail_msg("accepted: %s", sentence);
    assert_string_equal(message, sentence);
}

// Comments, line ends of both kinds, sides, defaults; what is not used is counted.
static void reads(void **state)
{
    static kd_tir t;
    (void)state;
    read_fine("", "", "PTZ9 = 3\n[GOODYEAR]\nTEST = ''\n[SHAPE]\n 1.0 0.0\n", &t);
    assert_int_equal(t.version, KD_TIR_52);
    assert_int_equal(t.side, KD_TIR_RIGHT);
    assert_true(t.c[KD_TIR_VERTICAL_STIFFNESS] == 2e5 && t.c[KD_TIR_LMUX] == 1.0 && t.given[KD_TIR_PKX1]);
    assert_true(!t.given[KD_TIR_PKX2] && t.c[KD_TIR_PKX2] == 0.0 && !t.ellipse);
    assert_int_equal(t.nunknown, 1);
    assert_string_equal(t.unknown, "PTZ9");
    read_fine("", "FITTYP = 61\nFE_METHOD = 'YES'", "", &t);
    assert_true(t.version == KD_TIR_61 && t.ellipse);
    read_fine("", "FITTYP = 6", "[TIRE_CONDITIONS]\nIP = 2.5e5\nIP_NOM = 2e5\n", &t);
    assert_true(t.version == KD_TIR_52 && t.c[KD_TIR_INFLPRES] == 2.5e5 && t.c[KD_TIR_NOMPRES] == 2e5);
    assert_string_equal(kd_tir_name(KD_TIR_PKY1), "PKY1");
}

// Millimetres, kilonewtons, bar: numbers with a dimension become SI, coefficients stay.
static void converts(void **state)
{
    static kd_tir t;
    (void)state;
    read_fine(
        "LENGTH = 'mm'\nFORCE = 'kN'\nPRESSURE = 'bar'", "LONGVL = 16000",
        "[OPERATING_CONDITIONS]\nINFLPRES = 2.5\nNOMPRES = 2\n[DEFLECTION_LOAD_CURVE]\n{pen fz}\n0 0\n10 2\n20 5\n",
        &t);
    assert_true(fabs(t.c[KD_TIR_UNLOADED_RADIUS] - 0.3e-3) < 1e-18 &&
                fabs(t.c[KD_TIR_VERTICAL_STIFFNESS] - 2e11) < 1e-3);
    assert_true(t.c[KD_TIR_FNOMIN] == 4e6 && t.c[KD_TIR_LONGVL] == 16.0 && t.c[KD_TIR_INFLPRES] == 2.5e5);
    assert_true(t.c[KD_TIR_PKY1] == -15.0 && t.deflection.n == 3);
    assert_true(fabs(t.deflection.x[2] - 0.02) < 1e-17 && t.deflection.y[2] == 5000.0);
}

// Inches, pounds and pounds per square inch; words with double quotes or none.
static void other_words(void **state)
{
    static const struct {
        const char *units;
        double      length, force, pressure;
    } list[] = {{"LENGTH = inches\nFORCE = \"pound_force\" ! lbf\nPRESSURE = 'psi'", 0.0254, 4.4482216152605,
                 6894.757293168361},
                {"LENGTH='FEET'\nFORCE='kg_force'\nPRESSURE='kilopascal'", 0.3048, 9.80665, 1e3},
                {"LENGTH='km'\nFORCE='dyne'\nPRESSURE='mpa'", 1e3, 1e-5, 1e6}};
    static kd_tir t;
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        read_fine(list[i].units, "FITTYP = 61\nTYRESIDE = left\nFE_METHOD = \"YES\"",
                  "[OPERATING_CONDITIONS]\nINFLPRES = 3\nNOMPRES = 2\n[MODEL]\nTYRESIDE = \"LEFT\"\n", &t);
        assert_true(fabs(t.c[KD_TIR_UNLOADED_RADIUS] / (0.3 * list[i].length) - 1) < 1e-15);
        assert_true(fabs(t.c[KD_TIR_FNOMIN] / (4000 * list[i].force) - 1) < 1e-14);
        assert_true(fabs(t.c[KD_TIR_VERTICAL_STIFFNESS] / (2e5 * list[i].force / list[i].length) - 1) < 1e-14);
        assert_true(fabs(t.c[KD_TIR_INFLPRES] / (3 * list[i].pressure) - 1) < 1e-14);
        assert_true(t.side == KD_TIR_LEFT && t.ellipse);
    }
    read_fine("", "", "[MODEL]\nTYRESIDE = left $ without quotes\n", &t);
    assert_int_equal(t.side, KD_TIR_LEFT);
}

// A table that comes twice: the last one counts, and is told.
static void second_table(void **state)
{
    static kd_tir t;
    (void)state;
    read_fine("", "", "[BOTTOMING_CURVE]\n0 0\n1 2\n[BOTTOMING_CURVE]\n0 0\n1 3\n2 9\n", &t);
    assert_true(t.bottoming.n == 3 && t.bottoming.y[1] == 3.0 && t.replaced_line > 0);
}

// Each wrong file is refused in one sentence.
static void refuses(void **state)
{
    (void)state;
    refused("ANGLE = 'degree'", "", "", "a.tir:6: coefficients are read for angles in 'radians', not in 'DEGREE'");
    refused("LENGTH = 'furlong'", "", "", "a.tir:6: unknown unit 'FURLONG'");
    refused("", "FITTYP = 21", "",
            "a.tir: the Magic Formula is known for FITTYP 5, 6 (5.2) and 61, 62 (6.1), not for '21'");
    refused("", "PROPERTY_FILE_FORMAT = 'FTIRE'", "",
            "a.tir: PROPERTY_FILE_FORMAT must be PAC2002 or MF_05, where FITTYP is not given, not 'FTIRE'");
    refused("", "", "QBZ2 = much\n", "a.tir:27: a number is expected, not 'much'");
    refused("", "", "QBZ1 = 3\n", "a.tir:27: this number is given twice: 'QBZ1'");
    refused("", "", "[LATERAL\n", "a.tir:27: a section needs its ']' '[LATERAL'");
    refused("", "", "= 3\n", "a.tir:27: there is no name before the '='");
    refused("", "", "[BOTTOMING_CURVE]\n0 0\n1 2\n1 3\n",
            "a.tir:30: deflections of a table must rise, and loads must not fall: '1 3'");
    refused("", "", "[BOTTOMING_CURVE]\n0 zero\n", "a.tir:28: two numbers are expected, not '0 zero'");
    refused("", "", "[BOTTOMING_CURVE]\n0 0\n", "a.tir: a table of loads needs two rows");
    // zeros between the letters
    static kd_tir tir;
    char          message[400];
    assert_int_equal(kd_tir_parse("a.tir", "[\0U\0N\0", 6, &tir, message, sizeof message), KD_ERR_FILE);
    assert_string_equal(message, "a.tir: this is not a text (in UTF-16? it must be saved as UTF-8)");
    refused("", "USE_MODE = 7", "", "a.tir: USE_MODE must be 0 to 5, with 10 or 20 added");
    refused("", "TYRESIDE = 'RIHGT'", "", "a.tir:9: TYRESIDE must be LEFT, RIGHT, SYMMETRIC or UNKNOWN, not 'RIHGT'");
    refused("", "FE_METHOD = 'MAYBE'", "", "a.tir:9: FE_METHOD must be 'YES' or 'NO', not 'MAYBE'");
    refused("", "FITTYP = 61\nINFLPRES = 3", "", "a.tir: with INFLPRES there must be NOMPRES");
    refused("", "", "LKY = -1\n", "a.tir: this number must be given and positive: 'LKY'");
}

// A section that is missing, and numbers that the formula cannot do without.
static void missing(void **state)
{
    static const char *const parts[] = {"[ALIGNING_COEFFICIENTS]", "PKY1 = -15", "FNOMIN = 4000"};
    static const char *const words[] = {"there is no section 'ALIGNING_COEFFICIENTS'",
                                        "this number must be given and not 0: 'PKY1'",
                                        "this number must be given and positive: 'FNOMIN'"};
    static kd_tir            tir;
    char                     text[4000], message[400], expected[200];
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, whole, "", "", "");
        char *at = strstr(text, parts[i]);
        assert_non_null(at);
        memset(at, ' ', strlen(parts[i]));
        assert_int_equal(kd_tir_parse("a.tir", text, strlen(text), &tir, message, sizeof message), KD_ERR_FILE);
        snprintf(expected, sizeof expected, "a.tir: %s", words[i]);
        assert_string_equal(message, expected);
    }
    snprintf(text, sizeof text, whole, "", "", "");
    memcpy(strstr(text, "PKY1 = -15"), "PKY1 = +15", 10);
    assert_int_equal(kd_tir_parse("a.tir", text, strlen(text), &tir, message, sizeof message), KD_ERR_FILE);
    assert_string_equal(message,
                        "a.tir: PKY1 must be negative: a positive slip angle gives a force to the right (W axes, ISO)");
    assert_int_equal(kd_tir_read("/nowhere/a.tir", &tir, message, sizeof message), KD_ERR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads),       cmocka_unit_test(converts),
                                       cmocka_unit_test(other_words), cmocka_unit_test(second_table),
                                       cmocka_unit_test(refuses),     cmocka_unit_test(missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
