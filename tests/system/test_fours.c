// tests/system/test_fours.c: loads that are evaluated four at a time give what each of them gives alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/system.h"
#include "systems/random_model.h"
#include "tree/work.h"

// Six equal wheels of a cart, each with its own numbers: some in the air, some behind the largest slope of their force
static const char *const cart =
    "kardan: 1\n"
    "title: six wheels\n"
    "bodies:\n"
    "  wheel(i): {for: i = 1..6, position: [i, 0, 0.25 + 0.02*i], mass: 10, inertia: [1, 2, 1]}\n"
    "joints:\n"
    "  hold(i): {for: i = 1..6, type: free, bodies: [ground, wheel(i)]}\n"
    "forces:\n"
    "  tyre(i): {for: i = 1..6, type: tyre, to: {body: wheel(i), axis: [0, 1, 0]}, radius: 0.3 + 0.01*i, stiffness: "
    "1e5*i,\n"
    "            damping: 100*i, friction: 0.5 + 0.1*i, load: 3000 + 100*i, longitudinal: [1e5, 1.2e5 + 1e4*i],\n"
    "            lateral: [8e4, 1e5], camber: 0.1*i, relaxation: %s, rolling_resistance: 0.01*i,\n"
    "            road: 0.01*i + 0.02*sin(x/i)}\n"
    "  pull(i): {for: i = 1..6, type: tsda, bodies: [ground, wheel(i)], stiffness: 10*i, length: 0.1,\n"
    "            law: 3*i*abs(rate) + ramp(length - 0.1*i)/hypot(rate, i)}\n";

// Forces and rates of all loads, alone and as the system has them, at random variables
static int wrong_loads(kd_system *s, uint64_t seed, bool plain)
{
    kd_work *w = kd_work_create(s);
    double   force[12], rate[4];
    int      wrong = 0;
    assert_non_null(w);
    if (plain) w->motion.work->avx2 = false;
    w->position_stamp = w->velocity_stamp = 7;
    for (int i = 0; i < s->nslots; i++) w->slot[i] = 0.4 + 0.5 * mechanism_random(&seed);
    if (kd_work_eval_loads(w) != KD_EVAL_OK) fail_msg("no value");
    w->position_stamp = w->velocity_stamp = 8; // roads are found again
    for (int i = 0; i < s->nplain; i++) {
        const kd_load *l = &s->load[i];
        const double  *got = w->force + w->force_at[i];
        assert_true(l->nchannels <= 12 && l->nstates <= 4);
        assert_int_equal(l->class->eval(l, w->slot, w, force, rate), KD_EVAL_OK);
        double largest = 1.0;
        for (int k = 0; k < l->nchannels; k++) largest = fmax(largest, fabs(force[k]));
        for (int k = 0; k < l->nchannels; k++) wrong += !(fabs(force[k] - got[k]) <= 1e-13 * largest);
        for (int k = 0; k < l->nstates; k++)
            wrong += !(fabs(rate[k] - w->b[l->state + k]) <= 1e-13 * (1.0 + fabs(rate[k])));
    }
    kd_work_destroy(w);
    return wrong;
}

static void check_model(kd_model *model, const char *name, int fours)
{
    char       message[400];
    kd_system *s = NULL;
    if (kd_system_create(model, NULL, &s, message, sizeof message) < 0) fail_msg("%s: %s", name, message);
    // all loads are in exactly one list
    assert_int_equal(4 * s->nfours + s->nsingles, s->nplain);
    assert_int_equal(s->nfours, fours);
    int *seen = calloc((size_t)s->nplain + 1, sizeof *seen);
    for (int i = 0; i < 4 * s->nfours; i++) seen[s->four[i]]++;
    for (int i = 0; i < s->nsingles; i++) seen[s->single[i]]++;
    for (int i = 0; i < s->nplain; i++) assert_int_equal(seen[i], 1);
    free(seen);
    for (uint64_t seed = 1; seed < 60; seed++)
        if (wrong_loads(s, seed, seed % 2 == 0) > 0) fail_msg("%s, %d", name, (int)seed);
    kd_system_destroy(s);
}

static void wheels_of_a_cart(void **unused)
{
    (void)unused;
    for (int k = 0; k < 2; k++) {
        char      text[4000], message[400] = "";
        kd_model *model = NULL;
        (void)snprintf(text, sizeof text, cart, k == 0 ? "0" : "0.1*i");
        if (kd_model_read_text("cart", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
            fail_msg("%s", message);
        check_model(model, k == 0 ? "cart" : "cart with relaxation", 2);
        kd_model_destroy(model);
    }
}

static void vehicles(void **unused)
{
    static const struct {
        const char *name;
        int         fours;
    } list[] = {{"tractor-semitrailer", 12}, {"closed-loop-car", 1}};
    (void)unused;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char      path[300], message[400];
        kd_model *model = NULL;
        (void)snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", list[i].name);
        assert_int_equal(kd_model_read(path, NULL, 0, &model, message, sizeof message), KD_OK);
        check_model(model, list[i].name, list[i].fours);
        kd_model_destroy(model);
    }
}

// An axle that stands upright has no value, alone and beside others
static void upright(void **unused)
{
    char       text[4000], message[400] = "";
    kd_model  *model = NULL;
    kd_system *s = NULL;
    (void)unused;
    (void)snprintf(text, sizeof text, cart, "0");
    assert_true(kd_model_read_text("cart", text, strlen(text), NULL, 0, &model, message, sizeof message) >= 0);
    assert_int_equal(kd_system_create(model, NULL, &s, message, sizeof message), KD_OK);
    for (int k = 0; k < 4; k++) {
        kd_work *w = kd_work_create(s);
        assert_non_null(w);
        for (int i = 0; i < s->nslots; i++) w->slot[i] = 0.5;
        assert_int_equal(kd_work_eval_loads(w), KD_EVAL_OK);
        for (int i = 5; i < 8; i++) w->slot[s->load[s->four[k]].variable[i]] = i == 7; // n = e_z
        assert_int_equal(kd_work_eval_loads(w), KD_EVAL_RETRY);
        kd_work_destroy(w);
    }
    kd_system_destroy(s);
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wheels_of_a_cart), cmocka_unit_test(vehicles),
                                       cmocka_unit_test(upright)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
