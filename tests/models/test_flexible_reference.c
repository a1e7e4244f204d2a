// Flexible bodies against tests/flexible/reference/reference.py, which knows points of mass and modes only and forms no
// inertia integrals: a chain of two bodies with tangent frames, and a body with mean axes held by constraints.
#include "gallery_run.h"

enum { ROWS = 16 };

static double reference[ROWS][4]; // t, x, y, z of the load
static table  result;

static void read_reference(const char *name)
{
    char path[400], line[400];
    snprintf(path, sizeof path, "%s/tests/flexible/reference/%s.csv", KD_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (int k = 0; k < ROWS; k++) {
        double *r = reference[k];
        assert_int_equal(fscanf(file, "%lf,%lf,%lf,%lf", r, r + 1, r + 2, r + 3), 4);
    }
    fclose(file);
}

static void compare(const char *name, kd_coordinates c)
{
    static const char *const sensors[] = {"x", "y", "z"};
    char                     path[100];
    snprintf(path, sizeof path, "../tests/flexible/reference/%s.yaml", name);
    read_reference(name);
    run_model(path, NULL, c, reference[ROWS - 1][0], ROWS - 1, &result);
    for (int k = 0; k < ROWS; k++)
        for (int d = 0; d < 3; d++) assert_close(at(&result, k, sensors[d]), reference[k][1 + d], 1e-9);
}

// The load moves by 2.7 m, and with it by 1e-9 what another program says.
static void chain(void **state)
{
    (void)state;
    compare("chain", KD_JOINT);
    compare("chain", KD_CARTESIAN);
}

static void floating(void **state)
{
    (void)state;
    compare("floating", KD_JOINT);
    compare("floating", KD_CARTESIAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chain), cmocka_unit_test(floating)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
