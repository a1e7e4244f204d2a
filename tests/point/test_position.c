// Tests of plain coordinates: pseudo-inverse of Z, normal directions, norm equations.
#include "case.h"
#include "forms/whole.h"
#include "point/position.h"
#include "trust/seeded.h"

typedef struct fixture {
    kd_arena     arena;
    kd_eom      *eom;
    kd_eom_data *data;
    kd_position  position;
} fixture;

static fixture make_fixture(kd_eom_def def)
{
    fixture f = {.eom = make(&def)};
    f.data = make_data(f.eom);
    kd_position_cut(&f.position, &f.arena, f.eom);
    assert_false(f.arena.failed);
    return f;
}

static void drop_fixture(fixture *f)
{
    kd_arena_release(&f->arena);
    kd_eom_data_destroy(f->data);
    kd_eom_destroy(f->eom);
}

// Z+ Z = I, Z' N = 0, N' N = I for a body with a quaternion.
static void pseudo_inverse_and_normals(void **state)
{
    (void)state;
    fixture      f = make_fixture(body());
    kd_position *s = &f.position;
    go_to(f.data, &body_place);
    assert_int_equal(kd_position_update(s, f.data), KD_EVAL_OK);
    assert_int_equal(s->nn, 1);
    for (int i = 0; i < 6; i++) {
        double normal = 0;
        for (int j = 0; j < 6; j++) {
            double sum = 0;
            for (int k = 0; k < 7; k++) sum += s->Zplus[i + 6 * k] * s->Z[k + 7 * j];
            assert_close(sum, i == j ? 1 : 0, 1e-13);
        }
        for (int k = 0; k < 7; k++) normal += s->Z[k + 7 * i] * s->N[k];
        assert_close(normal, 0, 1e-14);
    }
    double size = 0;
    for (int k = 0; k < 7; k++) size += s->N[k] * s->N[k];
    assert_close(size, 1, 1e-14);
    drop_fixture(&f);
}

// Derivatives along increments times Z+ are the plain derivatives along tangent changes dp = Z e.
static void plain_derivative_along_tangents(void **state)
{
    (void)state;
    fixture      f = make_fixture(body());
    kd_position *s = &f.position;
    place        x = body_place, y = body_place;
    double       D[7 * 6], plain[7 * 7] = {0}, plus[7], minus[7], e[6] = {0.3, -0.2, 0.5, 0.7, -0.4, 0.1}, dp[7] = {0};
    kd_blocks    blocks = {0};
    blocks.block[KD_KINEMATICS][KD_P] = D;
    go_to(f.data, &x);
    assert_int_equal(kd_position_update(s, f.data), KD_EVAL_OK);
    assert_int_equal(kd_eom_derivatives(f.data, KD_PART_ALL, &blocks), KD_EVAL_OK);
    kd_position_plain(s, 7, 1, D, plain, 7);
    for (int j = 0; j < 6; j++)
        for (int i = 0; i < 7; i++) dp[i] += s->Z[i + 7 * j] * e[j];
    for (int i = 0; i < 7; i++) y.p[i] = x.p[i] + 1e-5 * dp[i];
    go_to(f.data, &y);
    assert_int_equal(kd_eom_eval(f.data, KD_KINEMATICS, plus), KD_EVAL_OK);
    for (int i = 0; i < 7; i++) y.p[i] = x.p[i] - 1e-5 * dp[i];
    go_to(f.data, &y);
    assert_int_equal(kd_eom_eval(f.data, KD_KINEMATICS, minus), KD_EVAL_OK);
    for (int i = 0; i < 7; i++) {
        double sum = 0;
        for (int j = 0; j < 7; j++) sum += plain[i + 7 * j] * dp[j];
        assert_close(sum, (plus[i] - minus[i]) / 2e-5, 1e-7);
    }
    drop_fixture(&f);
}

// Normalising brings a quaternion of length 1.2 to length 1 without turning it, and leaves a unit one alone.
static void normalise_keeps_direction(void **state)
{
    (void)state;
    fixture f = make_fixture(body());
    double  p[7];
    for (int i = 0; i < 7; i++) p[i] = body_place.p[i] * (i < 3 ? 1 : 1.02);
    go_to(f.data, &body_place);
    assert_int_equal(kd_position_normalise(&f.position, f.data, NULL, p), KD_EVAL_OK);
    for (int i = 0; i < 7; i++) assert_close(p[i], body_place.p[i], 1e-12);
    double q[7];
    memcpy(q, body_place.p, sizeof q);
    assert_int_equal(kd_position_normalise(&f.position, f.data, NULL, q), KD_EVAL_OK);
    assert_memory_equal(q, body_place.p, sizeof q);
    drop_fixture(&f);
}

// Without own kinematics nothing happens and plain derivatives are copies.
static void identity_is_free(void **state)
{
    (void)state;
    fixture f = make_fixture(skate());
    double  D[3] = {1, 2, 3}, out[3] = {10, 10, 10};
    assert_true(f.position.identity);
    go_to(f.data, &skate_place);
    assert_int_equal(kd_position_update(&f.position, f.data), KD_EVAL_OK);
    kd_position_plain(&f.position, 1, -2, D, out, 1);
    for (int i = 0; i < 3; i++) assert_close(out[i], 10 - 2 * D[i], 0);
    drop_fixture(&f);
}

// ---- columns without rank -------------------------------------------------------------------------------------------

enum { MOST = 4 };
static const double UNTOUCHED = 1234;

typedef struct columns {
    int    np, nv;
    double Z[MOST * MOST]; // (np x nv)
} columns;

static kd_eval columns_Z(const kd_point *x, void *context, double *Z)
{
    const columns *c = context;
    (void)x;
    memcpy(Z, c->Z, (size_t)(c->np * c->nv) * sizeof *Z);
    return KD_EVAL_OK;
}

static kd_eval columns_kinematics(const kd_point *x, void *context, double *rate)
{
    const columns *c = context;
    for (int i = 0; i < c->np; i++) {
        rate[i] = 0;
        for (int j = 0; j < c->nv; j++) rate[i] += c->Z[i + j * c->np] * x->v[j];
    }
    return KD_EVAL_OK;
}

static kd_eval columns_M(const kd_point *x, void *context, double *M)
{
    const columns *c = context;
    (void)x;
    for (int j = 0; j < c->nv; j++)
        for (int i = 0; i < c->nv; i++) M[i + j * c->nv] = i == j;
    return KD_EVAL_OK;
}

static kd_eval columns_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    memset(f, 0, (size_t)((const columns *)context)->nv * sizeof *f);
    return KD_EVAL_OK;
}

// Answer of the update for these columns; *wrong: largest entry of Z+ Z - I, where it is good, otherwise the number of
// entries of Z+ that were written in spite of it
static kd_eval update_columns(columns *c, double *wrong)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = c->np, .nv = c->nv};
    def.context = c;
    def.Z = columns_Z;
    def.kinematics = columns_kinematics;
    def.M = columns_M;
    def.f = columns_f;
    fixture     f = make_fixture(def);
    const place at = {0};
    go_to(f.data, &at);
    for (int i = 0; i < c->nv * c->np; i++) f.position.Zplus[i] = UNTOUCHED;
    kd_eval answer = kd_position_update(&f.position, f.data);
    *wrong = 0;
    for (int i = 0; i < c->nv * c->np && answer != KD_EVAL_OK; i++) *wrong += f.position.Zplus[i] != UNTOUCHED;
    for (int i = 0; i < c->nv && answer == KD_EVAL_OK; i++)
        for (int j = 0; j < c->nv; j++) {
            double sum = i == j ? -1 : 0;
            for (int k = 0; k < c->np; k++) sum += f.position.Zplus[i + c->nv * k] * c->Z[k + c->np * j];
            *wrong = fmax(*wrong, fabs(sum));
        }
    drop_fixture(&f);
    return answer;
}

// Columns that depend on each other have no pseudo-inverse that gives v: told, for full columns, single entries and parts
// that lend each other rows. Columns at an angle of 1e-8 have one.
static void columns_without_rank_are_told(void **state)
{
    uint64_t seed = test_seed(9);
    (void)state;
    for (int k = 0; k < 40; k++) {
        const double size = pow(10, seeded_between(&seed, -6, 6)), ratio = seeded_between(&seed, 0.5, 2);
        double       wrong;
        columns      c = {.np = 3 + k % 2, .nv = 2};
        for (int i = 0; i < c.np; i++) {
            c.Z[i] = size * seeded_between(&seed, 0.2, 1);
            c.Z[i + c.np] = ratio * c.Z[i];
        }
        assert_int_equal(update_columns(&c, &wrong), KD_EVAL_RETRY);
        c.Z[0] *= 1 + 1e-8;
        assert_int_equal(update_columns(&c, &wrong), KD_EVAL_OK);
        assert_true(wrong < 1e-6);
        // one coordinate that does not move at all
        columns single = {.np = 2, .nv = 2, .Z = {size, 0, 0, 0}};
        assert_int_equal(update_columns(&single, &wrong), KD_EVAL_RETRY);
        single.Z[3] = ratio;
        assert_int_equal(update_columns(&single, &wrong), KD_EVAL_OK);
        assert_true(wrong < 1e-14);
        // three coordinates, three increments, but two increments move one coordinate and one increment the others: it has
        // a normal for which there is no room, so nothing may be written
        columns   parts = {.np = 3, .nv = 3};
        const int alone = k % 3;
        parts.Z[alone + 3 * ((k / 3) % 3)] = size;
        parts.Z[alone + 3 * ((k / 3 + 1) % 3)] = ratio;
        parts.Z[(alone + 1) % 3 + 3 * ((k / 3 + 2) % 3)] = ratio;
        parts.Z[(alone + 2) % 3 + 3 * ((k / 3 + 2) % 3)] = size;
        assert_int_equal(update_columns(&parts, &wrong), KD_EVAL_RETRY);
        assert_int_equal((int)wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pseudo_inverse_and_normals),    cmocka_unit_test(plain_derivative_along_tangents),
        cmocka_unit_test(normalise_keeps_direction),     cmocka_unit_test(identity_is_free),
        cmocka_unit_test(columns_without_rank_are_told),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
