// Nodes inside of elements (C3D8I): matrices in which they are amplitudes become those of nodes that move with their element.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "flexible/fe_files.h"
#include "flexible/structure.h"

#define OUT KD_BINARY_DIR "/test-inner"
// eight corners, and two nodes in the mean of their places
enum { CORNERS = 8, INSIDE = 2, NODES = CORNERS + INSIDE, ROWS = 3 * NODES, FIRST_ID = 5 };

typedef struct brick {
    kd_vec3 at[NODES];
    double  K[ROWS][ROWS], M[ROWS][ROWS];
} brick;

static double between(double low, double high)
{
    return low + (high - low) * (double)(rand() % 30001) / 30000;
}

// Springs between all pairs of nodes, a full mass matrix that is the same for all directions
static brick random_brick(void)
{
    brick  b = {0};
    double L[NODES][NODES] = {{0}};
    for (int i = 0; i < CORNERS; i++) {
        b.at[i] =
            kd_vec((i & 1) + between(-0.2, 0.2), (i >> 1 & 1) + between(-0.2, 0.2), (i >> 2) + between(-0.2, 0.2));
        for (int k = CORNERS; k < NODES; k++) b.at[k] = kd_vec_axpy(b.at[k], 1.0 / CORNERS, b.at[i]);
    }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < i; j++) {
            const kd_vec3 r = kd_vec_sub(b.at[i], b.at[j]);
            const double  n[3] = {r.x, r.y, r.z}, k = between(1, 2);
            for (int c = 0; c < 3; c++)
                for (int d = 0; d < 3; d++) {
                    b.K[3 * i + c][3 * i + d] += k * n[c] * n[d], b.K[3 * j + c][3 * j + d] += k * n[c] * n[d];
                    b.K[3 * i + c][3 * j + d] -= k * n[c] * n[d], b.K[3 * j + c][3 * i + d] -= k * n[c] * n[d];
                }
        }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j <= i; j++) L[i][j] = between(0.1, 1);
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++)
            for (int k = 0; k < NODES; k++)
                for (int d = 0; d < 3; d++) b.M[3 * i + d][3 * j + d] += L[i][k] * L[j][k];
    return b;
}

// The matrix of u = T [corners, amplitudes], amplitude = u of an inner node less the mean of the corners: T' A T
static void by_amplitudes(double A[ROWS][ROWS], double out[ROWS][ROWS])
{
    double T[ROWS][ROWS] = {{0}}, AT[ROWS][ROWS] = {{0}};
    for (int i = 0; i < ROWS; i++) T[i][i] = 1;
    for (int i = 3 * CORNERS; i < ROWS; i++)
        for (int k = 0; k < CORNERS; k++) T[i][3 * k + i % 3] = 1.0 / CORNERS;
    memset(out, 0, sizeof(double[ROWS][ROWS]));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            for (int k = 0; k < ROWS; k++) AT[i][j] += A[i][k] * T[k][j];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            for (int k = 0; k < ROWS; k++) out[i][j] += T[k][i] * AT[k][j];
}

static void write_matrix(const char *path, double A[ROWS][ROWS])
{
    double B[ROWS][ROWS];
    FILE  *file = fopen(path, "w");
    assert_non_null(file);
    by_amplitudes(A, B);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j <= i; j++) fprintf(file, "%d %d %.17g\n", j + 1, i + 1, B[i][j]);
    assert_int_equal(fclose(file), 0);
}

// As CalculiX leaves it; type: of the element
static void write_files(brick *b, const char *type)
{
    FILE *deck = fopen(OUT "/brick.inp", "w"), *dofs = fopen(OUT "/brick.dof", "w");
    assert_true(deck && dofs);
    fprintf(deck, "*NODE, NSET=ALL\n");
    for (int i = 0; i < CORNERS; i++)
        fprintf(deck, "%d, %.17g, %.17g, %.17g\n", FIRST_ID + i, b->at[i].x, b->at[i].y, b->at[i].z);
    fprintf(deck, "*ELEMENT, TYPE=%s\n1, 5, 6, 8, 7, 9, 10, 12, 11\n", type);
    for (int i = 0; i < ROWS; i++) fprintf(dofs, "%d.%d\n", FIRST_ID + i / 3, i % 3 + 1);
    assert_int_equal(fclose(deck) | fclose(dofs), 0);
    write_matrix(OUT "/brick.sti", b->K);
    write_matrix(OUT "/brick.mas", b->M);
}

static const kd_fe_structure_files FILES = {.stiffness = OUT "/brick.sti",
                                            .mass = OUT "/brick.mas",
                                            .nodes = OUT "/brick.inp",
                                            .dofs = OUT "/brick.dof",
                                            .length = 1e-3};

static void must_be(const kd_sparse_matrix *A, double exact[ROWS][ROWS])
{
    double full[ROWS][ROWS] = {{0}};
    assert_int_equal(A->rows, ROWS);
    for (int j = 0; j < ROWS; j++)
        for (int k = A->column[j]; k < A->column[j + 1]; k++) full[A->row[k]][j] = A->value[k];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            if (!(fabs(full[i][j] - exact[i][j]) < 1e-12)) fail_msg("%d %d: %g, %g", i, j, full[i][j], exact[i][j]);
}

// Matrices, places and mass are those of the nodes that the amplitudes were made of; in millimetres, places are in metres. Forces
// go back to the corners with the same sum and moment.
static void inner_nodes_move_with_their_element(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        brick                 b = random_brick();
        kd_fe_structure       s;
        kd_fe_structure_facts f;
        char                  message[400] = "";
        double                mass = 0, force[ROWS], sum[3] = {0}, all[3] = {0};
        write_files(&b, trial % 2 ? "C3D8I" : "c3d8i");
        if (kd_fe_structure_read(&FILES, &s, message, sizeof message) != KD_OK) fail_msg("%s", message);
        assert_int_equal(s.ninner, INSIDE);
        assert_int_equal(s.nnodes, NODES);
        must_be(&s.K, b.K);
        must_be(&s.M, b.M);
        for (int i = 0; i < NODES; i++) assert_true(kd_vec_norm(kd_vec_axpy(s.at[i], -1e-3, b.at[i])) < 1e-15 * NODES);
        if (kd_fe_structure_check(&s, &f, message, sizeof message) != KD_OK) fail_msg("%s", message);
        for (int i = 0; i < ROWS; i += 3)
            for (int j = 0; j < ROWS; j += 3) mass += b.M[i][j];
        assert_true(f.isotropic && fabs(f.mass - mass) < 1e-12 * mass && f.rigid_force < 1e-12);
        for (int i = 0; i < ROWS; i++) force[i] = between(-1, 1), all[i % 3] += force[i];
        kd_fe_share_inner(&s, force);
        for (int i = 0; i < ROWS; i++) {
            sum[i % 3] += force[i];
            if (i >= 3 * CORNERS) assert_true(force[i] == 0);
        }
        for (int d = 0; d < 3; d++) assert_true(fabs(sum[d] - all[d]) < 1e-12);
        kd_fe_structure_release(&s);
    }
}

// Nodes that no element explains are refused by name: other elements have none inside, and a brick has three.
static void other_nodes_without_place_are_refused(void **state)
{
    (void)state;
    brick           b = random_brick();
    kd_fe_structure s;
    char            message[400] = "";
    write_files(&b, "C3D8");
    assert_int_equal(kd_fe_structure_read(&FILES, &s, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "brick.dof: node 13 has no place"));
    // a node in between
    write_files(&b, "C3D8I");
    assert_int_equal(system("sed -i 's/^13\\./4./' '" OUT "/brick.dof'"), 0);
    assert_int_equal(kd_fe_structure_read(&FILES, &s, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "node 4 has no place"));
    // six of them in one brick
    assert_int_equal(system("cd '" OUT "' && awk -F. '{ print (NR > 18 ? $1 + NR : $1) \".\" $2 }' brick.dof > x && "
                            "mv x brick.dof"),
                     0);
    assert_int_equal(kd_fe_structure_read(&FILES, &s, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "has no place"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inner_nodes_move_with_their_element),
                                       cmocka_unit_test(other_nodes_without_place_are_refused)};
    mkdir(OUT, 0777);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
