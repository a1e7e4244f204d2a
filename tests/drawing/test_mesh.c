// Meshes: closed surfaces that look outwards, of unit size.
#include <math.h>

#include "drawing/film.h"

static int find_edge(const kd_mesh *m, int from, int to)
{
    int count = 0;
    for (int i = 0; i < m->nfaces; i++)
        for (int k = m->first[i]; k < m->first[i + 1]; k++) {
            int next = k + 1 < m->first[i + 1] ? k + 1 : m->first[i];
            count += m->corner[k] == from && m->corner[next] == to;
        }
    return count;
}

// Every edge of every mesh belongs to two faces that run along it in opposite directions.
static void meshes_are_closed(void **state)
{
    (void)state;
    kd_arena arena = {0};
    kd_mesh *mesh = kd_meshes_create(&arena, 12);
    assert_non_null(mesh);
    for (int j = 0; j < KD_MESHES; j++) {
        const kd_mesh *m = &mesh[j];
        assert_true(m->nfaces >= 5 && m->nmarked < m->nfaces);
        for (int i = 0; i < m->nfaces; i++) {
            assert_true(m->first[i + 1] - m->first[i] >= 3);
            for (int k = m->first[i]; k < m->first[i + 1]; k++) {
                int next = k + 1 < m->first[i + 1] ? k + 1 : m->first[i];
                assert_in_range(m->corner[k], 0, m->nvertices - 1);
                assert_int_equal(find_edge(m, m->corner[k], m->corner[next]), 1);
                assert_int_equal(find_edge(m, m->corner[next], m->corner[k]), 1);
            }
        }
    }
    kd_arena_release(&arena);
}

// The volumes are those of the bodies, so that all faces look outwards and the size is one.
static void volumes_are_known(void **state)
{
    (void)state;
    kd_arena     arena = {0};
    int          n = 64;
    kd_mesh     *mesh = kd_meshes_create(&arena, n);
    const double circle = 0.5 * n * sin(2 * KD_PI / n), finer = n * sin(KD_PI / n); // of n and of 2 n sides
    assert_near(mesh_volume(&mesh[KD_MESH_BOX]), 1);
    assert_near(mesh_volume(&mesh[KD_MESH_BAR]), 1);
    assert_true(fabs(mesh_volume(&mesh[KD_MESH_CYLINDER]) - circle) < 1e-12);
    assert_true(fabs(mesh_volume(&mesh[KD_MESH_LONG]) - circle) < 1e-12);
    assert_true(fabs(mesh_volume(&mesh[KD_MESH_DISC]) - finer) < 1e-12);
    assert_near(mesh_volume(&mesh[KD_MESH_PYRAMID]), 4.0 / 3);
    for (int i = 0; i < KD_MESH_TUBES; i++) {
        double inner = (i + 1) / 10.0;
        assert_int_equal(kd_mesh_of_tube(inner), KD_MESH_TUBE + i);
        assert_true(mesh[KD_MESH_TUBE + i].hollow);
        assert_true(fabs(mesh_volume(&mesh[KD_MESH_TUBE + i]) - circle * (1 - inner * inner)) < 1e-12);
    }
    assert_int_equal(kd_mesh_of_tube(0), KD_MESH_TUBE);
    assert_int_equal(kd_mesh_of_tube(1), KD_MESH_TUBE + KD_MESH_TUBES - 1);
    kd_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_are_closed),
        cmocka_unit_test(volumes_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
