// Sensors bring from a point only what they read: each path that is watched alone has the value that it has among all
// others, which read accelerations, forces of elements, reactions, multipliers and energies.
#include <kardan/kardan.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1000, OUTPUTS = 2000 };

static char paths[MOST][120];

static int list_paths(const kd_model *m)
{
    int n = 0;
    for (int s = 0; s <= KD_SECTION_ENERGY; s++)
        for (int i = 0; i < (s == KD_SECTION_ENERGY ? 1 : kd_model_count(m, (kd_section)s)); i++)
            for (int k = 0; n < MOST && kd_model_path(m, (kd_section)s, i, k, paths[n], sizeof paths[n]) > 0; k++) n++;
    return n;
}

// Numbers that no rule has made, in place of accelerations and multipliers
static void shake(int n, double size, double *x)
{
    for (int i = 0; i < n; i++) x[i] += size * sin(3.0 + 7.7 * i);
}

typedef struct readings {
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
    int          n;
    double       value[OUTPUTS];
} readings;

// All outputs of the model while these paths are watched, at its start with other velocities. They are read twice: what
// the first reading leaves behind must not be taken for the second one.
static void open_readings(readings *r, const kd_model *m, const char **list, int n, kd_coordinates coordinates)
{
    char              message[1000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    opt.watch = list;
    opt.nwatch = n;
    if (kd_system_create(m, &opt, &r->system, message, sizeof message) < 0) fail_msg("%s", message);
    const kd_eom *eom = kd_system_eom(r->system);
    const kd_dims d = kd_eom_dims(eom);
    assert_in_range(d.ny, 0, OUTPUTS);
    r->n = d.ny;
    assert_int_equal(kd_state_create(eom, &r->x), KD_OK);
    if (kd_system_start(r->system, r->x, message, sizeof message) < 0) fail_msg("%s", message);
    assert_int_equal(kd_eom_data_create(eom, &r->data), KD_OK);
    for (int round = 0; round < 2; round++) {
        shake(d.nv, 0.1, r->x->v);
        shake(d.nv, 3.0, r->x->a);
        shake(d.nlambda, 20.0, r->x->lambda);
        shake(d.nmu, 20.0, r->x->mu);
        assert_int_equal(kd_eom_at_state(r->data, kd_system_inputs(r->system), r->x, KD_STAGE_ACCELERATION),
                         KD_EVAL_OK);
        assert_int_equal(kd_eom_eval(r->data, KD_Y, r->value), KD_EVAL_OK);
    }
}

static void close_readings(readings *r)
{
    kd_eom_data_destroy(r->data);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
}

static int output_named(const readings *r, const char *path)
{
    char name[200];
    for (int i = 0; i < r->n; i++) {
        kd_eom_name(kd_system_eom(r->system), KD_NAME_Y, i, name, sizeof name);
        if (strcmp(name, path) == 0) return i;
    }
    return -1; // a state, an input: no output of its own
}

static void check_model(const char *name, int stride, kd_coordinates coordinates, int *seen)
{
    static readings all, one;
    const char     *list[MOST];
    char            path[600], message[2000] = "";
    kd_model       *m = NULL;
    snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", name);
    if (kd_model_read(path, NULL, 0, &m, message, sizeof message) < 0) fail_msg("%s", message);
    const int n = list_paths(m);
    for (int i = 0; i < n; i++) list[i] = paths[i];
    open_readings(&all, m, list, n, coordinates);
    for (int i = 0; i < n; i += stride) {
        const int among = output_named(&all, paths[i]);
        if (among < 0) continue;
        open_readings(&one, m, list + i, 1, coordinates);
        const int    alone = output_named(&one, paths[i]);
        const double a = all.value[among], b = alone < 0 ? NAN : one.value[alone];
        if (!(fabs(a - b) <= 1e-12 * (1.0 + fabs(a))))
            fail_msg("%s: %s is %.17g among others, alone %.17g", name, paths[i], a, b);
        (*seen)++;
        close_readings(&one);
    }
    close_readings(&all);
    kd_model_destroy(m);
}

static void test_each_alone(void **state)
{
    static const struct {
        const char *name;
        int         stride;
    } models[] = {{"four-bar", 1}, {"friction-slider", 1}, {"hoop", 1}, {"quarter-car", 1}, {"closed-loop-car", 23}};
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int c = 0; c < 2; c++)
            check_model(models[i].name, models[i].stride, c == 0 ? KD_JOINT : KD_CARTESIAN, &seen);
    assert_true(seen > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
