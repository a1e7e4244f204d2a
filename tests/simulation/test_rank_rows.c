// rank_rows: entries that rows of constraints may have are all that they have, in both coordinate sets; where the equations
// tell no patterns, rows may have all.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <stdio.h>
#include <stdlib.h>

#include "simulation/rank_rows.h"

static void check_model(const char *path, kd_coordinates coordinates)
{
    char              message[500] = "";
    kd_model         *model;
    kd_system        *system;
    kd_state         *x;
    kd_eom_data      *data;
    kd_arena          arena = {0};
    kd_rank_rows      rows = {0};
    kd_system_options options = kd_system_options_default();
    options.coordinates = coordinates;
    assert_true(kd_model_read(path, NULL, 0, &model, message, sizeof message) >= 0);
    assert_true(kd_system_create(model, &options, &system, message, sizeof message) >= 0);
    const kd_eom *eom = kd_system_eom(system);
    const kd_dims d = kd_eom_dims(eom);
    assert_true(kd_state_create(eom, &x) >= 0);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_true(kd_eom_data_create(eom, &data) >= 0);
    kd_rank_rows_take(&rows, &arena, eom);
    assert_false(arena.failed);
    assert_true(rows.listed);
    double *GZ = calloc((size_t)(d.nlambda * d.nv), sizeof *GZ), *HZ = calloc((size_t)(d.nmu * d.nv + 1), sizeof *HZ);
    assert_int_equal(kd_eom_at_state(data, kd_system_inputs(system), x, KD_STAGE_POSITION), KD_EVAL_OK);
    assert_int_equal(kd_eom_constraint_matrices(data, GZ, d.nmu > 0 ? HZ : NULL), KD_EVAL_OK);
    for (int i = 0; i < d.nlambda + d.nmu; i++) {
        int           count, e = 0;
        const int    *column = kd_rank_rows_at(&rows, i, &count);
        const int     m = i < d.nlambda ? d.nlambda : d.nmu;
        const double *row = i < d.nlambda ? GZ + i : HZ + (i - d.nlambda);
        // in their order, each once, and nothing beside them
        for (int j = 0; j < d.nv; j++) {
            const bool there = e < count && column[e] == j;
            e += there;
            assert_true(there || row[(ptrdiff_t)j * m] == 0);
        }
        assert_int_equal(e, count);
        // few: bodies of one joint
        if (coordinates == KD_CARTESIAN) assert_true(count <= 12);
    }
    free(GZ);
    free(HZ);
    kd_arena_release(&arena);
    kd_eom_data_destroy(data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

static void rows_have_no_other_entries(void **state)
{
    static const char *const models[] = {"four-bar", "andrews", "hmmwv", "chain", "skate"};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s.yaml", KD_SOURCE_DIR "/models", models[k]);
        check_model(path, KD_CARTESIAN);
        if (k < 3) check_model(path, KD_JOINT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_have_no_other_entries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
