// Moments of modes by sums over the nodes: random trusses with lumped masses, whose shapes the body tells.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flexible/body.h"

enum { NODES = 10, ROWS = 3 * NODES, MODES = 7 };

static uint64_t seed = 3;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

typedef struct truss {
    kd_fe_structure s;
    double          mass[NODES];
} truss;

// Nodes at random places, a spring between any two, lumped masses
static void make_truss(truss *t)
{
    int              row[NODES * NODES * 36], column[NODES * NODES * 36], n = 0, place[ROWS];
    double           value[NODES * NODES * 36], masses[ROWS];
    kd_fe_structure *s = &t->s;
    *s = (kd_fe_structure){.name = "truss", .nnodes = NODES, .n = ROWS, .spin_axis = -1};
    s->id = kd_cut_int(&s->arena, NODES);
    s->at = kd_arena_cut(&s->arena, NODES, sizeof *s->at);
    s->node = kd_cut_int(&s->arena, ROWS);
    s->direction = kd_cut_int(&s->arena, ROWS);
    s->first = kd_cut_int(&s->arena, 6 * NODES);
    for (int i = 0; i < NODES; i++) {
        s->id[i] = i + 1;
        s->at[i] = kd_vec(uniform(), 2 * uniform(), uniform() - 0.3);
        t->mass[i] = 0.5 + uniform();
        for (int d = 0; d < 6; d++) s->first[6 * i + d] = d < 3 ? 3 * i + d : -1;
    }
    for (int i = 0; i < ROWS; i++) {
        s->node[i] = i / 3;
        s->direction[i] = i % 3;
        masses[i] = t->mass[i / 3];
        place[i] = i;
    }
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < i; j++) {
            double        e[3];
            const kd_vec3 line = kd_vec_sub(s->at[i], s->at[j]);
            kd_vec_to(kd_vec_scale(1 / kd_vec_norm(line), line), e);
            const double k = 1e4 * (1 + uniform());
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 6; b++) {
                    row[n] = 3 * (a < 3 ? i : j) + a % 3;
                    column[n] = 3 * (b < 3 ? i : j) + b % 3;
                    value[n++] = ((a < 3) == (b < 3) ? k : -k) * e[a % 3] * e[b % 3];
                }
        }
    assert_int_equal(kd_sparse_of_entries(ROWS, ROWS, n, row, column, value, &s->arena, &s->K), KD_OK);
    assert_int_equal(kd_sparse_of_entries(ROWS, ROWS, ROWS, place, place, masses, &s->arena, &s->M), KD_OK);
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) < 1e-9)) print_error("%.12g instead of %.12g\n", a, b);
    assert_true(fabs(a - b) < 1e-9);
}

// C, A, B, Cr, Me of the body are the sums over the nodes, component by component.
static void moments_are_sums_over_nodes(void **state)
{
    (void)state;
    static const int   low[] = {0, 1, 2}, high[] = {7, 8, 9};
    const kd_reference references[] = {
        {KD_REFERENCE_TANGENT, 0, 0}, {KD_REFERENCE_CHORD, 1, 0}, {KD_REFERENCE_MEAN, 0, 0}};
    for (int round = 0; round < 12; round++) {
        truss            t;
        kd_reduction     r;
        kd_flexible_body b;
        char             message[300] = "";
        make_truss(&t);
        const kd_interface face[] = {{"low", 3, low, t.s.at[0]}, {"high", 3, high, t.s.at[8]}};
        assert_int_equal(kd_reduce(&t.s, face, 2, &(kd_reduction_options){.modes = 3}, &r, message, sizeof message),
                         KD_OK);
        assert_int_equal(kd_flexible_body_make(&r, &references[round % 3], MODES, 0, &b, message, sizeof message),
                         KD_OK);
        for (int k = 0; k < MODES; k++)
            for (int a = 0; a < 3; a++) {
                double        C = 0, Cr = 0;
                const double *phi = b.shape + 3 * NODES * k;
                for (int i = 0; i < NODES; i++) {
                    const double *x = b.node + 3 * i, *u = phi + 3 * i;
                    C += t.mass[i] * u[a];
                    Cr += t.mass[i] * (x[(a + 1) % 3] * u[(a + 2) % 3] - x[(a + 2) % 3] * u[(a + 1) % 3]);
                }
                assert_near(b.C[a + 3 * k], C);
                assert_near(b.Cr[a + 3 * k], Cr);
                for (int c = 0; c < 3; c++) {
                    double A = 0;
                    for (int i = 0; i < NODES; i++) A += t.mass[i] * b.node[3 * i + a] * phi[3 * i + c];
                    assert_near(b.A[a + 3 * c + 9 * k], A);
                    for (int l = 0; l < MODES; l++) {
                        double        B = 0;
                        const double *other = b.shape + 3 * NODES * l;
                        for (int i = 0; i < NODES; i++) B += t.mass[i] * phi[3 * i + a] * other[3 * i + c];
                        assert_near(b.B[a + 3 * c + 9 * (k + MODES * l)], B);
                    }
                }
            }
        // the frames go with their nodes: u = Phi + Psi x (x - p)
        for (int f = 0; f < 2; f++)
            for (int k = 0; k < MODES; k++)
                for (int i = 0; i < 3; i++) {
                    const int     node = face[f].node[i];
                    const kd_vec3 turned =
                        kd_vec_cross(kd_vec_of(b.frame[f].Psi + 3 * k), kd_vec_sub(t.s.at[node], face[f].point));
                    const kd_vec3 u = kd_vec_add(kd_vec_of(b.frame[f].Phi + 3 * k), turned);
                    assert_true(kd_vec_norm(kd_vec_sub(u, kd_vec_of(b.shape + 3 * NODES * k + 3 * node))) < 1e-9);
                }
        kd_flexible_body_release(&b);
        kd_reduction_release(&r);
        kd_fe_structure_release(&t.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moments_are_sums_over_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
