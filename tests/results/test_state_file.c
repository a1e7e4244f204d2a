// States in files: they read back to the last bit, the wanted one is found, files of other models are refused by
// column.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "results/oscillator.h"
#include "results/state_file.h"

#define PATH KD_BINARY_DIR "/test-states.csv"

static const char *awkward_name(kd_kind kind, int i, void *context)
{
    (void)context;
    static const char *const name[] = {"shift, \"across\"", "angle"};
    return kind == KD_NAME_P ? name[i] : NULL;
}

static kd_eom *make_rod(bool named)
{
    kd_eom    *eom;
    kd_eom_def def = rod();
    if (named) def.name = awkward_name;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    return eom;
}

static void save(const kd_eom *eom, const double *times, int count)
{
    kd_state       *x[8];
    const kd_state *list[8];
    char            message[300] = "";
    for (int k = 0; k < count; k++) {
        assert_int_equal(kd_state_create(eom, &x[k]), KD_OK);
        list[k] = x[k];
        x[k]->t = times[k];
        for (size_t i = 0; i < x[k]->size; i++)
            x[k]->p[i] = sin(1e5 * (double)(i + 1) + k) * pow(10, (double)i * 40 - 150);
        x[k]->active_lambda[0] = k != 1;
    }
    assert_int_equal(kd_state_file_save(PATH, "a rod", eom, list, count, message, sizeof message), KD_OK);
    for (int k = 0; k < count; k++) kd_state_destroy(x[k]);
}

// Every number and flag of every state comes back as it was; the time picks the state.
static void round_trip(void **state)
{
    (void)state;
    const double times[] = {0.1, 1.0 / 3, 2.5};
    kd_eom      *eom = make_rod(true);
    kd_state    *x;
    char         message[300] = "";
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    save(eom, times, 3);
    const struct {
        double t;
        int    expected;
    } ask[] = {{NAN, 2}, {2.5, 2}, {99, 2}, {2.4999, 1}, {1.0 / 3, 1}, {0.3, 0}, {0.1, 0}};
    for (size_t k = 0; k < sizeof ask / sizeof *ask; k++) {
        assert_int_equal(kd_state_file_load(PATH, ask[k].t, eom, NULL, x, message, sizeof message), KD_OK);
        assert_true(x->t == times[ask[k].expected]);
        for (size_t i = 0; i < x->size; i++)
            assert_true(x->p[i] == sin(1e5 * (double)(i + 1) + ask[k].expected) * pow(10, (double)i * 40 - 150));
        assert_int_equal(x->active_lambda[0], ask[k].expected != 1);
    }
    assert_int_equal(kd_state_file_load(PATH, 0.05, eom, NULL, x, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "no state up to t = 0.05"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static void write_text(const char *text)
{
    FILE *file = fopen(PATH, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// Other columns, too few, too many, no numbers, no file: refused with the reason, and the state stays as it was.
static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"", "column 1 is missing"},
        {"t\n1\n", "column 2 is missing"},
        {"t,position p[0]\n", "column 3 is missing"},
        {"t,position x\n", "column 2 is 'position x', not 'position p[0]'"},
        {"t,position p[0],velocity v[0],acceleration v[0],more\n", "more than 4 columns"},
        {"t,position p[0],velocity v[0],acceleration v[0]\n", "holds no state"},
        {"t,position p[0],velocity v[0],acceleration v[0]\n1,2,3\n", "state 1 is not a row of 4 numbers"},
        {"t,position p[0],velocity v[0],acceleration v[0]\n1,2,3,4,5\n", "not a row"},
        {"t,position p[0],velocity v[0],acceleration v[0]\n1,2,nan,4\n", "not a row"},
        {"t,position p[0],velocity v[0],acceleration v[0]\n1,2,x,4\n", "not a row"},
    };
    kd_eom    *eom;
    kd_state  *x;
    char       message[300] = "";
    kd_eom_def def = oscillator();
    def.name = NULL;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->t = x->p[0] = 7;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        write_text(wrong[k].text);
        assert_int_equal(kd_state_file_load(PATH, NAN, eom, NULL, x, message, sizeof message), KD_ERR_FILE);
        if (!strstr(message, wrong[k].part)) print_error("%s\n%s\n", wrong[k].text, message);
        assert_non_null(strstr(message, wrong[k].part));
        assert_true(x->t == 7 && x->p[0] == 7);
    }
    assert_int_equal(kd_state_file_load("/no/such/file", NAN, eom, NULL, x, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "No such file"));
    write_text("# comment\nt,position p[0],velocity v[0],acceleration v[0]\r\n1,2,3,4\r\n");
    assert_int_equal(kd_state_file_load(PATH, NAN, eom, NULL, x, message, sizeof message), KD_OK);
    assert_true(x->t == 1 && x->p[0] == 2 && x->v[0] == 3 && x->a[0] == 4);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// NaN is not written, a full disk is told.
static void not_written(void **state)
{
    (void)state;
    kd_eom   *eom = make_rod(false);
    kd_state *x;
    char      message[300] = "";
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    const kd_state *list[] = {x};
    remove(PATH);
    assert_int_equal(kd_state_file_save("/dev/full", "", eom, list, 1, message, sizeof message), KD_ERR_FILE);
    x->v[1] = NAN;
    assert_int_equal(kd_state_file_save(PATH, "", eom, list, 1, message, sizeof message), KD_ERR_NOT_FINITE);
    assert_null(fopen(PATH, "r"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(refused),
        cmocka_unit_test(not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
