// Rows that need few links place those alone; whoever asks for more afterwards gets what a complete evaluation has.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kardan/kardan.h>

// A closed four-bar, and a chain of hinges that no row needs, before and behind it
static const char TEXT[] =
    "kardan: 1\ngravity: [0, -9.81, 0]\nbodies:\n"
    "  a(i): {for: i = 1..5, position: [0, -i, 0], mass: i, inertia: [0.1, 0.2, 0.3]}\n"
    "  crank: {position: [3.5, 0.5, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "  rod: {position: [4.5, 1, 0], mass: 2, inertia: [0.1, 0.1, 0.2]}\n"
    "  b(i): {for: i = 1..5, position: [-2, -i, 0], mass: 2, inertia: [0.3, 0.2, 0.1]}\n"
    "joints:\n"
    "  top: {type: revolute, bodies: [ground, a(1)], point: [0, 0, 0], axis: [0, 0, 1]}\n"
    "  next(i): {for: i = 1..4, type: revolute, bodies: [a(i), a(i + 1)], point: [0, -i - 0.5, 0], axis: [0, 1, 1]}\n"
    "  o: {type: revolute, bodies: [ground, crank], point: [3, 0, 0], axis: [0, 0, 1]}\n"
    "  p: {type: revolute, bodies: [crank, rod], point: [4, 1, 0], axis: [0, 0, 1]}\n"
    "  last: {type: revolute, bodies: [ground, b(1)], point: [-2, 0, 0], axis: [1, 0, 0]}\n"
    "  more(i): {for: i = 1..4, type: revolute, bodies: [b(i), b(i + 1)], point: [-2, -i - 0.5, 0], axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  link: {type: distance, from: {body: ground, point: [5, 0, 0]}, to: {body: rod, point: [5, 1, 0]}}\n";

// The residual at a place, rows asked for before it or not (a point keeps no copy of what it is set to)
static void residual(kd_eom_data *d, const kd_state *x, double shift, bool rows_first, double *r)
{
    double        p[40], v[40], g[4];
    const kd_dims n = kd_eom_dims(kd_eom_data_eom(d));
    for (int i = 0; i < n.np; i++) p[i] = x->p[i] + shift * sin(i + 1.0);
    for (int i = 0; i < n.nv; i++) v[i] = cos(3.0 * i);
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, p, NULL);
    if (rows_first) assert_int_equal(kd_eom_eval(d, KD_G, g), KD_EVAL_OK);
    kd_eom_at_velocity(d, v, NULL);
    kd_eom_at_acceleration(d, v, NULL, v, v);
    assert_int_equal(kd_eom_eval(d, KD_RESIDUAL, r), KD_EVAL_OK);
}

static void rows_first_or_all_at_once(void **state)
{
    (void)state;
    char         message[400] = "";
    kd_model    *m = NULL;
    kd_system   *s = NULL;
    kd_state    *x = NULL;
    kd_eom_data *d[2];
    double       r[2][40] = {{0}};
    if (kd_model_read_text("x", TEXT, strlen(TEXT), NULL, 0, &m, message, sizeof message) < 0) fail_msg("%s", message);
    assert_true(kd_system_create(m, NULL, &s, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(s);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_true(kd_system_start(s, x, message, sizeof message) >= 0);
    assert_true(kd_eom_dims(eom).nv <= 40 && kd_eom_dims(eom).nlambda == 1);
    for (int k = 0; k < 2; k++) assert_int_equal(kd_eom_data_create(eom, &d[k]), KD_OK);
    // several positions, so that what is left of one before is noticed
    for (int i = 1; i <= 5; i++) {
        for (int k = 0; k < 2; k++) residual(d[k], x, 0.1 * i, k == 0, r[k]);
        assert_memory_equal(r[0], r[1], sizeof r[0]);
    }
    for (int k = 0; k < 2; k++) kd_eom_data_destroy(d[k]);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_first_or_all_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
