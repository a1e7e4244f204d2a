// The Magic Formula against tables of two other programs: published ones of eight tyre files, and magic_reference.py with
// random coefficients; derivatives against differences; kinks where they are said to be.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "flexible/published.h"
#include "vehicle/magic_formula.h"

enum { COLUMNS = 8 };

static void read_tir(const char *path, kd_tir *tir)
{
    char message[400] = "";
    if (kd_tir_read(path, tir, message, sizeof message) != KD_OK) fail_msg("%s", message);
}

static void forces_at(const kd_tir *tir, kd_magic_mode mode, const double *row, kd_magic_force *f)
{
    const double in[KD_MAGIC_INPUTS] = {row[0], row[1], row[2], row[3], 1.0};
    kd_magic_formula(tir, mode, in, f);
}

// Largest difference of the rows of a table, in loads; the number of rows
static int compare_table(const kd_tir *tir, const char *path, kd_magic_mode mode, double *worst)
{
    char  line[400];
    int   rows = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        double         x[COLUMNS];
        kd_magic_force f;
        if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7) !=
            COLUMNS)
            fail_msg("%s: %s", path, line);
        forces_at(tir, mode, x, &f);
        const double is[4] = {f.value[KD_MAGIC_FX], f.value[KD_MAGIC_FY], f.value[KD_MAGIC_MX],
                              f.value[KD_MAGIC_MZ_TRAIL] + f.value[KD_MAGIC_MZ_ARM]};
        for (int k = 0; k < 4; k++) *worst = fmax(*worst, fabs(is[k] - x[4 + k]) / x[0]);
        rows++;
    }
    fclose(file);
    return rows;
}

// Every row of every published table, pure and combined, to 1e-8 of the load.
static void published_tables(void **state)
{
    static const char *const names[] = {"mf_185_80R14",
                                        "CityBus_Pac02Tire",
                                        "HMMWV_Pac02Tire",
                                        "UAZBUS_Pac02Tire",
                                        "335_65R22_5_G275MSA_40psi",
                                        "335_65R22_5_G275MSA_60psi",
                                        "own_mf52_full",
                                        "own_mf61_full"};
    static kd_tir            tir;
    char                     path[600], name[200];
    int                      rows = 0;
    (void)state;
    if (!*published_in("vehicle", "tyres/mf_185_80R14.tir", path, sizeof path)) skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "tyres/%s.tir", names[i]);
        read_tir(published_in("vehicle", name, path, sizeof path), &tir);
        for (int mode = KD_MAGIC_PURE; mode <= KD_MAGIC_COMBINED; mode++) {
            double worst = 0.0;
            snprintf(name, sizeof name, "tyres/%s_%s.csv", names[i], mode == KD_MAGIC_PURE ? "pure" : "combined");
            if (*published_in("vehicle", name, path, sizeof path))
                rows += compare_table(&tir, path, (kd_magic_mode)mode, &worst);
            if (!(worst < 1e-8)) fail_msg("%s: differs by %g of the load", name, worst);
        }
    }
    assert_int_equal(rows, 7 * 189 + 6 * 1089);
}

// Random coefficients, none of them neutral, against the same equations in Python.
static void random_coefficients(void **state)
{
    static const char *const versions[] = {"52", "61"};
    static kd_tir            tir;
    char                     path[600];
    (void)state;
    for (int i = 0; i < 2; i++) {
        double worst = 0.0;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/tests/vehicle/data/random%s.tir", versions[i]);
        read_tir(path, &tir);
        assert_int_equal(tir.version, i == 0 ? KD_TIR_52 : KD_TIR_61);
        snprintf(path, sizeof path, KD_SOURCE_DIR "/tests/vehicle/data/random%s.csv", versions[i]);
        assert_int_equal(compare_table(&tir, path, KD_MAGIC_COMBINED, &worst), 300);
        if (!(worst < 1e-13)) fail_msg("random%s: differs by %g of the load", versions[i], worst);
    }
}

// Derivatives by load, slips, camber and friction of the road are those of the values, with weights and with the friction
// ellipse, away from kinks.
static void derivatives(void **state)
{
    static const char *const versions[] = {"52", "61", "52"};
    static kd_tir            tir;
    char                     path[600];
    int                      compared = 0;
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, KD_SOURCE_DIR "/tests/vehicle/data/random%s.tir", versions[i]);
        read_tir(path, &tir);
        tir.ellipse = i == 2;
        for (int n = 0; n < 4000; n++) {
            double         x[KD_MAGIC_INPUTS] = {1000 + 13.1 * (n % 500), 0.4 * sin(1.7 * n), 0.3 * sin(2.3 * n + 1),
                                                 0.1 * sin(3.1 * n + 2), 0.4 + 0.5 * fabs(sin(0.7 * n))};
            const int      k = n % KD_MAGIC_INPUTS;
            const double   h = k == KD_MAGIC_FZ ? 1.0 : 1e-5, kept = x[k];
            double         before[KD_MAGIC_KINKS], behind[KD_MAGIC_KINKS];
            kd_magic_force f, up, down;
            bool           crosses = false;
            kd_magic_formula(&tir, KD_MAGIC_COMBINED, x, &f);
            x[k] = kept + h, kd_magic_formula(&tir, KD_MAGIC_COMBINED, x, &up), kd_magic_kinks(&tir, x, behind);
            x[k] = kept - h, kd_magic_formula(&tir, KD_MAGIC_COMBINED, x, &down), kd_magic_kinks(&tir, x, before);
            for (int j = 0; j < KD_MAGIC_KINKS; j++) crosses = crosses || !(before[j] * behind[j] > 0.0);
            if (crosses) continue;
            for (int j = 0; j < KD_MAGIC_OUTPUTS; j++) {
                const double slope = (up.value[j] - down.value[j]) / (2 * h), size = x[0] * (k == 0 ? 1e-3 : 30.0);
                compared++;
                if (!(fabs(slope - f.by[j][k]) < 3e-7 * (size + fabs(slope))))
                    fail_msg("%d: output %d by %d at %d: %.12g, differences say %.12g", i, j, k, n, f.by[j][k], slope);
            }
        }
    }
    assert_true(compared > 50000);
}

// The friction ellipse: pure slips are not changed, both together are weaker, and never beyond the ellipse of the maxima.
static void friction_ellipse(void **state)
{
    static kd_tir  tir;
    kd_magic_force pure, both;
    (void)state;
    read_tir(KD_SOURCE_DIR "/models/data/car.tir", &tir);
    tir.ellipse = true;
    tir.c[KD_TIR_PHY1] = tir.c[KD_TIR_PVY1] = 0.0; // without shifts
    for (double kappa = -0.5; kappa < 0.51; kappa += 0.05)
        for (double alpha = -0.3; alpha < 0.31; alpha += 0.05) {
            double row[4] = {4000, kappa, 0, 0};
            forces_at(&tir, KD_MAGIC_PURE, row, &pure);
            forces_at(&tir, KD_MAGIC_COMBINED, row, &both);
            assert_true(fabs(pure.value[KD_MAGIC_FX] - both.value[KD_MAGIC_FX]) < 1e-9);
            row[2] = alpha;
            forces_at(&tir, KD_MAGIC_PURE, row, &pure);
            forces_at(&tir, KD_MAGIC_COMBINED, row, &both);
            const double x = both.value[KD_MAGIC_FX] / (1.12 * 4000), y = both.value[KD_MAGIC_FY] / (1.0 * 4000);
            if (!(x * x + y * y < 1.0 + 1e-9)) fail_msg("%g, %g: outside of the ellipse", kappa, alpha);
            if (fabs(kappa) > 0.01) assert_true(fabs(both.value[KD_MAGIC_FY]) <= fabs(pure.value[KD_MAGIC_FY]));
        }
}

// In pure slip the angles of trail and residual moment pass a right angle (by shifts) without a bend.
static void beyond_right_angle(void **state)
{
    static kd_tir tir;
    double        bend = 0.0;
    (void)state;
    read_tir(KD_SOURCE_DIR "/tests/vehicle/data/random52.tir", &tir);
    tir.c[KD_TIR_QHZ1] = 1.5, tir.c[KD_TIR_PHY1] = 1.45;
    tir.c[KD_TIR_QBZ1] = 1.0, tir.c[KD_TIR_QBZ2] = tir.c[KD_TIR_QBZ3] = 0.0;
    for (int n = 0; n < 400; n++) {
        double Mz[3];
        for (int k = 0; k < 3; k++) {
            kd_magic_force f;
            const double   row[4] = {4000, 0, (n + k) * 5e-4, 0};
            forces_at(&tir, KD_MAGIC_PURE, row, &f);
            Mz[k] = f.value[KD_MAGIC_MZ_TRAIL];
        }
        bend = fmax(bend, fabs(Mz[0] - 2 * Mz[1] + Mz[2]));
    }
    if (!(bend < 1e-4)) fail_msg("the moment bends by %g", bend);
}

// |gamma| and sgn alpha_y bend the formula where kd_magic_kinks passes 0, and nowhere else: second differences.
static void kinks(void **state)
{
    static kd_tir tir;
    (void)state;
    read_tir(KD_SOURCE_DIR "/tests/vehicle/data/random52.tir", &tir);
    double largest = 0.0, quiet = 0.0;
    for (int n = -2000; n < 2000; n++) {
        kd_magic_force f[3];
        double         kink[3][KD_MAGIC_KINKS];
        bool           crosses = false;
        for (int k = 0; k < 3; k++) {
            const double x[KD_MAGIC_INPUTS] = {4000, 0.02, 0.03, (n + 0.5 + k) * 1e-5, 1};
            kd_magic_formula(&tir, KD_MAGIC_COMBINED, x, &f[k]);
            kd_magic_kinks(&tir, x, kink[k]);
        }
        for (int j = 0; j < KD_MAGIC_KINKS; j++) crosses = crosses || kink[0][j] * kink[2][j] <= 0.0;
        const double bend = fabs(f[0].value[KD_MAGIC_FY] - 2 * f[1].value[KD_MAGIC_FY] + f[2].value[KD_MAGIC_FY]);
        if (crosses)
            largest = fmax(largest, bend);
        else
            quiet = fmax(quiet, bend);
    }
    if (!(largest > 1e-3 && quiet < 1e-5)) fail_msg("bends: %g at kinks, %g elsewhere", largest, quiet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_tables),
                                       cmocka_unit_test(random_coefficients),
                                       cmocka_unit_test(derivatives),
                                       cmocka_unit_test(friction_ellipse),
                                       cmocka_unit_test(kinks),
                                       cmocka_unit_test(beyond_right_angle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
