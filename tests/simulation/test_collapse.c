// Runs whose steps are taken back again and again: ended when they get nowhere and steps are kept that do not stand;
// slow runs that are otherwise healthy are not.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"
#include "simulation/collapse.h"
#include "trust/seeded.h"

static uint64_t seed = 31;

// A mass on a spring: nothing jumps
static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 2;
    return KD_EVAL_OK;
}
static kd_eval spring(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = -3 * x->p[0];
    return KD_EVAL_OK;
}

typedef struct subject {
    kd_eom      *eom;
    kd_eom_data *data;
    kd_state    *x;
    kd_collapse *collapse;
} subject;

static subject make_subject(void)
{
    char       message[300];
    subject    s;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1};
    def.M = mass, def.f = spring;
    assert_int_equal(kd_eom_create(&def, &s.eom, message, sizeof message), KD_OK);
    assert_int_equal(kd_eom_data_create(s.eom, &s.data), KD_OK);
    assert_int_equal(kd_state_create(s.eom, &s.x), KD_OK);
    assert_int_equal(
        kd_collapse_create(s.data, &(kd_inputs){0}, (kd_tolerances){.rtol = 1e-6, .atol = 1e-6}, &s.collapse), KD_OK);
    s.x->p[0] = 1;
    return s;
}

static void release(subject *s)
{
    kd_collapse_destroy(s->collapse);
    kd_state_destroy(s->x);
    kd_eom_data_destroy(s->data);
    kd_eom_destroy(s->eom);
}

#define QUIET 600
#define ALWAYS 1000000

// Steps of the length h towards t = 1, each taken back so many times before it stands; every keep-th (0: none) does not
// stand even then. After so many busy steps there are QUIET ones, of which none is taken back. Attempts until it is ended;
// 0: it is not
static long run(int steps, double h, int back, int keep, int busy)
{
    char      message[900] = "";
    subject   s = make_subject();
    kd_effort effort = {0};
    kd_status status = KD_OK;
    kd_collapse_begin(s.collapse, s.x, effort);
    for (int k = 1; k <= steps && status == KD_OK; k++) {
        const bool quiet = k % (busy + QUIET) >= busy;
        effort.attempts += quiet ? 1 : back + 1;
        effort.retracted += quiet ? 0 : back;
        if (!quiet && keep > 0 && k % keep == 0) effort.unverified++;
        s.x->t += h;
        status = kd_collapse_see(s.collapse, s.x, effort, 1, message, sizeof message);
    }
    if (status < 0) assert_int_equal(status, KD_ERR_STAGNATION);
    if (status < 0 && (!strstr(message, "taken back") || !strstr(message, "however short"))) fail_msg("%s", message);
    release(&s);
    return status < 0 ? effort.attempts : 0;
}

static void steps_taken_back_without_end(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        const double h = pow(10, seeded_between(&seed, -12, -7));
        const int    back = (int)seeded_between(&seed, 2, 40), keep = (int)seeded_between(&seed, 1, 150.0 / (back + 1));
        const long   attempts = run(20000, h, back, keep, ALWAYS);
        if (attempts < 3000 || attempts > 12000) fail_msg("h %g, %d back, %d kept: %ld", h, back, keep, attempts);
    }
}

// Those that get on, those whose steps stand in the end, those that are taken back now and then only
static void others_go_on(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        const double h = pow(10, seeded_between(&seed, -12, -7)), longer = seeded_between(&seed, 2e-4, 1e-3);
        const int    back = (int)seeded_between(&seed, 2, 40);
        assert_int_equal(run(900, longer, back, 1, ALWAYS), 0);
        assert_int_equal(run(20000, h, back, 0, ALWAYS), 0);
        assert_int_equal(run(20000, h, 0, 1, ALWAYS), 0);
        assert_int_equal(run(20000, h, back, 1, 2000 / (back + 1)), 0);
    }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_taken_back_without_end),
        cmocka_unit_test(others_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
