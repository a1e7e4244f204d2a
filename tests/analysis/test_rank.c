// Rank of constraints: redundant rows, singular positions, both told from each other by the rank nearby.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "analysis/rank.h"
#include "core/failing_allocator.h"

// A particle in the plane
static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 2;
    out[1] = out[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 0, out[1] = -20;
    return KD_EVAL_OK;
}

// On the circle, said in two units: 1000 times the first row is the second one
static kd_eval twice_the_circle(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    out[1] = 1000 * out[0];
    return KD_EVAL_OK;
}

// On one of the axes: singular where they cross
static kd_eval the_axes(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0] * x->p[1];
    return KD_EVAL_OK;
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x;
    kd_rank  *rank;
} fixture;

static fixture make(kd_function g, int rows, double p0, double p1)
{
    fixture    f;
    char       message[200];
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = rows};
    def.M = mass;
    def.f = force;
    def.g = g;
    if (kd_eom_create(&def, &f.eom, message, sizeof message) != KD_OK) fail_msg("%s", message);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_rank_create(f.eom, NULL, &f.rank), KD_OK);
    f.x->p[0] = p0, f.x->p[1] = p1;
    return f;
}

static void drop(fixture *f)
{
    kd_rank_destroy(f->rank);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

// The same constraint twice, in other units: rank 1 here and nearby, and one of both rows is behind the other.
static void redundant_rows_are_found(void **state)
{
    (void)state;
    int     found;
    fixture f = make(twice_the_circle, 2, 0.6, -0.8);
    assert_int_equal(kd_rank_at(f.rank, f.x), 1);
    assert_int_equal(kd_rank_order(f.rank)[0] + kd_rank_order(f.rank)[1], 1);
    assert_int_equal(kd_rank_nearby(f.rank, f.x, &found), 1);
    assert_true(found > 0);
    assert_true(f.x->p[0] == 0.6 && f.x->p[1] == -0.8);
    drop(&f);
}

// Where the axes cross the row vanishes; at poses nearby it does not.
static void singular_position_is_found(void **state)
{
    (void)state;
    int     found;
    fixture f = make(the_axes, 1, 0, 0);
    assert_int_equal(kd_rank_at(f.rank, f.x), 0);
    assert_int_equal(kd_rank_nearby(f.rank, f.x, &found), 1);
    assert_true(found > 0);
    drop(&f);
}

// No constraints: rank 0, nothing to evaluate.
static void no_rows_have_rank_0(void **state)
{
    (void)state;
    fixture f = make(NULL, 0, 1, 2);
    assert_int_equal(kd_rank_at(f.rank, f.x), 0);
    drop(&f);
}

// Every allocation that fails is told and leaves nothing behind.
static void memory_failures_are_reported(void **state)
{
    (void)state;
    fixture           f = make(twice_the_circle, 2, 0.6, -0.8);
    failing_allocator allocator = {0};
    kd_status         status = KD_ERR_MEMORY;
    kd_rank          *rank;
    failing_allocator_use(&allocator);
    for (long k = 1; k < 500 && status < 0; k++) {
        allocator = (failing_allocator){.fail_at = k};
        status = kd_rank_create(f.eom, NULL, &rank);
        if (status < 0) assert_null(rank);
        if (status < 0) assert_int_equal(allocator.live, 0);
    }
    assert_true(status >= 0);
    kd_rank_destroy(rank);
    assert_int_equal(allocator.live, 0);
    kd_set_allocator(NULL);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redundant_rows_are_found),
        cmocka_unit_test(singular_position_is_found),
        cmocka_unit_test(no_rows_have_rank_0),
        cmocka_unit_test(memory_failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
