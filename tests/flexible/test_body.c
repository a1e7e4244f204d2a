// Moments of modes by sums over the nodes: random trusses with lumped masses, whose shapes the body tells.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flexible/body.h"
#include "math/dense.h"

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

static double last_to_first = 1; // factor of one spring

// Nodes at random places, a spring between any two, lumped masses
static void make_truss(truss *t)
{
    int              row[NODES * NODES * 36], column[NODES * NODES * 36], n = 0, place[ROWS];
    double           value[NODES * NODES * 36], masses[ROWS];
    kd_fe_structure *s = &t->s;
    *s = (kd_fe_structure){.name = "truss", .nnodes = NODES, .n = ROWS};
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
            const double k = 1e4 * (1 + uniform()) * (i == NODES - 1 && j == 0 ? last_to_first : 1);
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
        const kd_interface face[] = {{"low", 3, low, t.s.at[0], false}, {"high", 3, high, t.s.at[8], false}};
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

// ---- averaging interfaces -------------------------------------------------------------------------------------------

enum { FACE = 4, PAIR = ROWS + 6 };

// (d, theta) of the frame that follows the nodes: inv(sum A_i' A_i) sum A_i' u_i as a matrix (6 x ROWS)
static void mean_motion(const kd_fe_structure *s, const kd_interface *face, double *L)
{
    double N[36] = {0};
    int    pivot[6];
    memset(L, 0, 6 * ROWS * sizeof *L);
    for (int i = 0; i < face->n; i++) {
        const kd_vec3 x = kd_vec_sub(s->at[face->node[i]], face->point);
        // rows: three forces at the node give a force and a moment at the frame
        const double At[18] = {1, 0, 0, 0, x.z, -x.y, 0, 1, 0, -x.z, 0, x.x, 0, 0, 1, x.y, -x.x, 0};
        memcpy(L + 18 * face->node[i], At, sizeof At);
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++)
                for (int d = 0; d < 3; d++) N[a + 6 * b] += At[a + 6 * d] * At[b + 6 * d];
    }
    assert_int_equal(kd_lu_factor(6, N, pivot), 0);
    kd_lu_solve(6, N, pivot, L, ROWS);
}

// Frame 1 by unit loads at it, frame 0 held, by multipliers in place of T: K u + L0' m = L1' f, L0 u = 0; out (6 x 6) = L1 u
static void deflect_by_multipliers(const kd_fe_structure *s, const double *L0, const double *L1, double *out)
{
    static double A[PAIR * PAIR], u[PAIR * 6];
    int           pivot[PAIR];
    memset(A, 0, sizeof A);
    memset(u, 0, sizeof u);
    for (int j = 0; j < ROWS; j++) {
        for (int k = s->K.column[j]; k < s->K.column[j + 1]; k++) A[s->K.row[k] + PAIR * j] = s->K.value[k];
        // multipliers in the unit of stiffness
        for (int c = 0; c < 6; c++) A[ROWS + c + PAIR * j] = A[j + PAIR * (ROWS + c)] = 1e4 * L0[c + 6 * j];
        for (int c = 0; c < 6; c++) u[j + PAIR * c] = L1[c + 6 * j];
    }
    assert_int_equal(kd_lu_factor(PAIR, A, pivot), 0);
    kd_lu_solve(PAIR, A, pivot, u, 6);
    for (int c = 0; c < 6; c++)
        for (int a = 0; a < 6; a++) {
            out[a + 6 * c] = 0;
            for (int j = 0; j < ROWS; j++) out[a + 6 * c] += L1[a + 6 * j] * u[j + PAIR * c];
        }
}

// Rigid motions of the frames are those of the structure, and u = T z has the frames as its mean motion
static void check_T(const kd_reduction *r, const double *L0, const double *L1)
{
    double u[ROWS], z[ROWS], R[6 * ROWS];
    assert_int_equal(r->nz, ROWS); // nothing is made stiff
    kd_fe_structure_rigid_motions(r->structure, r->centre, R);
    for (int c = 0; c < 6; c++) {
        kd_sparse_apply(&r->T, 1, r->rigid + c * r->nz, u);
        for (int i = 0; i < ROWS; i++) assert_near(u[i], R[i + ROWS * c]);
    }
    for (int i = 0; i < ROWS; i++) z[i] = uniform() - 0.5;
    kd_sparse_apply(&r->T, 1, z, u);
    for (int a = 0; a < 12; a++) {
        double sum = 0;
        for (int j = 0; j < ROWS; j++) sum += (a < 6 ? L0 : L1)[a % 6 + 6 * j] * u[j];
        assert_near(sum, z[a]);
    }
}

// Frequencies, free and with the first interface held, of averaging and of rigid interfaces
static void check_frequencies(const kd_reduction *averaging, const kd_reduction *rigid)
{
    enum { COUNT = 5 };
    const kd_fe_structure *s = averaging->structure;
    const bool             held[2] = {true, false};
    double                 R[6 * ROWS], Phi[COUNT * ROWS], own[COUNT], soft[COUNT], stiff[COUNT];
    char                   message[300] = "";
    kd_fe_structure_rigid_motions(s, averaging->centre, R);
    assert_int_equal(kd_natural_modes(&s->K, &s->M, R, 6, COUNT, own, Phi, message, sizeof message), KD_OK);
    assert_int_equal(kd_reduction_exact(averaging, NULL, COUNT, soft, message, sizeof message), KD_OK);
    assert_int_equal(kd_reduction_exact(rigid, NULL, COUNT, stiff, message, sizeof message), KD_OK);
    for (int k = 0; k < COUNT; k++) assert_true(fabs(soft[k] / own[k] - 1) < 1e-9 && stiff[k] > soft[k]);
    assert_int_equal(kd_reduction_exact(averaging, held, COUNT, soft, message, sizeof message), KD_OK);
    assert_int_equal(kd_reduction_exact(rigid, held, COUNT, stiff, message, sizeof message), KD_OK);
    for (int k = 0; k < COUNT; k++) assert_true(stiff[k] > soft[k]);
}

// Averaging interfaces: rigid motions pass, frames are the mean of their nodes, loads deflect as they do by multipliers, free frequencies are
// those of the structure, and held ones lie below those of rigid interfaces. With both kinds of reduction.
static void averages_make_nothing_stiff(void **state)
{
    (void)state;
    static const int low[] = {0, 1, 2, 3}, high[] = {6, 7, 8, 9};
    for (int round = 0; round < 10; round++) {
        truss            t;
        kd_reduction     r, rigid;
        kd_flexible_body b;
        char             message[300] = "";
        double           L0[6 * ROWS], L1[6 * ROWS], C[36], F[144], R[144];
        make_truss(&t);
        kd_interface face[] = {{"low", FACE, low, t.s.at[0], true}, {"high", FACE, high, {3, 1, 1}, true}};
        const kd_reduction_options options = {.modes = 3, .kind = round % 2 ? KD_REDUCE_FREE : KD_REDUCE_FIXED};
        mean_motion(&t.s, &face[0], L0);
        mean_motion(&t.s, &face[1], L1);
        if (kd_reduce(&t.s, face, 2, &options, &r, message, sizeof message) != KD_OK) fail_msg("%s", message);
        check_T(&r, L0, L1);
        assert_int_equal(
            kd_flexible_body_make(&r, &(kd_reference){KD_REFERENCE_TANGENT, 0, 0}, 0, 0, &b, message, sizeof message),
            KD_OK);
        assert_int_equal(kd_flexible_body_compliance(&b, b.nq, F, R), KD_OK);
        deflect_by_multipliers(&t.s, L0, L1, C);
        for (int a = 0; a < 6; a++)
            for (int c = 0; c < 6; c++)
                assert_true(fabs(F[6 + a + 12 * (6 + c)] - C[a + 6 * c]) < 1e-8 * sqrt(C[7 * a] * C[7 * c]));
        face[0].averages = face[1].averages = false;
        assert_int_equal(kd_reduce(&t.s, face, 2, &options, &rigid, message, sizeof message), KD_OK);
        check_frequencies(&r, &rigid);
        kd_flexible_body_release(&b);
        kd_reduction_release(&r);
        kd_reduction_release(&rigid);
        kd_fe_structure_release(&t.s);
    }
}

// Two nodes, nodes on a line, and a node of two interfaces are refused by name.
static void averages_need_three_nodes(void **state)
{
    (void)state;
    static const int line[] = {0, 1, 2}, high[] = {7, 8, 9}, both[] = {5, 6, 7};
    truss            t;
    kd_reduction     r;
    char             message[300];
    make_truss(&t);
    t.s.at[2] = kd_vec_add(t.s.at[0], kd_vec_scale(3, kd_vec_sub(t.s.at[1], t.s.at[0])));
    for (int n = 2; n <= 3; n++) {
        const kd_interface face[] = {{"high", 3, high, t.s.at[8], true}, {"line", n, line, t.s.at[0], true}};
        assert_int_equal(kd_reduce(&t.s, face, 2, &(kd_reduction_options){.modes = 3}, &r, message, sizeof message),
                         KD_ERR_MODEL);
        assert_non_null(strstr(message, "'line': its nodes lie on one line"));
    }
    const kd_interface face[] = {{"high", 3, high, t.s.at[8], true}, {"both", 3, both, t.s.at[5], false}};
    assert_int_equal(kd_reduce(&t.s, face, 2, &(kd_reduction_options){.modes = 3}, &r, message, sizeof message),
                     KD_ERR_MODEL);
    assert_non_null(strstr(message, "node 8 belongs to the interfaces 'high' and 'both'"));
    kd_fe_structure_release(&t.s);
}

// The expected error of transfer functions beside the true one, of all kinds of shapes and both kinds of interfaces.
static void transfer_errors_are_expected(void **state)
{
    (void)state;
    enum { LOOKS = 9 };
    static const int low[] = {0, 1, 2}, high[] = {7, 8, 9};
    int              compared = 0;
    for (int round = 0; round < 24; round++) {
        truss        t;
        kd_reduction r;
        char         message[300] = "";
        double       W[LOOKS], expected[LOOKS], truth[LOOKS];
        make_truss(&t);
        const bool                 averages = round % 4 == 3;
        const kd_interface         face[] = {{"low", 3, low, t.s.at[0], averages}, {"high", 3, high, t.s.at[8], false}};
        const kd_reduction_options options = {
            .modes = 3 + round % 3, .kind = round % 2 ? KD_REDUCE_FREE : KD_REDUCE_FIXED, .dynamic = round % 3 == 0};
        if (kd_reduce(&t.s, face, 2, &options, &r, message, sizeof message) != KD_OK) fail_msg("%s", message);
        for (int k = 0; k < LOOKS; k++) W[k] = r.fixed[r.nmodes - 1] / 1.2 * (k + 0.5 + 0.4 * uniform()) / LOOKS;
        assert_int_equal(kd_reduction_transfer(&r, 0, LOOKS, W, expected), KD_OK);
        assert_int_equal(kd_reduction_transfer_exact(&r, LOOKS, W, truth), KD_OK);
        for (int k = 0; k < LOOKS; k++) {
            if (truth[k] < 1e-8) continue;
            assert_true(expected[k] > 0.5 * truth[k] && expected[k] < 2 * truth[k]);
            compared++;
        }
        // damping takes from resonances, not from the rest
        assert_int_equal(kd_reduction_transfer(&r, 1e-9, LOOKS, W, truth), KD_OK);
        for (int k = 0; k < LOOKS; k++) assert_true(fabs(truth[k] - expected[k]) <= 1e-4 * expected[k] + 1e-12);
        kd_reduction_release(&r);
        kd_fe_structure_release(&t.s);
    }
    assert_true(compared > 60);
}

// Shapes of all kinds in one reduction: transfer functions are exact at the frequencies of responses, and so are the normal modes of the
// other kind that were mixed in; shapes of accelerations are among the dynamic ones.
static void shapes_are_mixed(void **state)
{
    (void)state;
    static const int low[] = {0, 1, 2};
    const bool       held[] = {true};
    for (int round = 0; round < 10; round++) {
        truss        t;
        kd_reduction plain, mixed, relief;
        char         message[300] = "";
        double       exact[4], omega[40], without[40], W[2], error[2];
        int          count, n;
        make_truss(&t);
        const kd_interface   face[] = {{"low", 3, low, t.s.at[0], false}};
        const bool           is_free = round % 2;
        kd_reduction_options o = {.modes = 1, .kind = is_free ? KD_REDUCE_FREE : KD_REDUCE_FIXED};
        assert_int_equal(kd_reduce(&t.s, face, 1, &o, &plain, message, sizeof message), KD_OK);
        // the other kind: free frequencies of a part with fixed modes, held ones of a part with free modes
        const bool *hold = is_free ? held : NULL;
        assert_int_equal(kd_reduction_exact(&plain, hold, 4, exact, message, sizeof message), KD_OK);
        o.others = 4;
        o.nresponses = is_free ? 1 : 2; // not so many that they span everything
        W[0] = 0.7 * exact[1], W[1] = 1.3 * exact[3];
        o.response = W;
        assert_int_equal(kd_reduce(&t.s, face, 1, &o, &mixed, message, sizeof message), KD_OK);
        assert_int_equal(kd_reduction_modes(&mixed, hold, omega, NULL, &count), KD_OK);
        assert_int_equal(kd_reduction_modes(&plain, hold, without, NULL, &n), KD_OK);
        for (int k = 0; k < 4; k++) assert_true(fabs(omega[k] / exact[k] - 1) < 1e-9);
        assert_true(n < 4 || without[2] > 1.0001 * exact[2]);
        assert_int_equal(kd_reduction_transfer_exact(&mixed, 2, W, error), KD_OK);
        assert_true(mixed.n < mixed.nz && error[0] < 1e-8 && (is_free || error[1] < 1e-8));
        assert_int_equal(kd_reduction_transfer_exact(&plain, 2, W, error), KD_OK);
        assert_true(error[0] > 1e-6 || error[1] > 1e-6);
        // relief beside dynamic shapes brings nothing, alone it does
        o = (kd_reduction_options){.modes = 1, .dynamic = true};
        assert_int_equal(kd_reduce(&t.s, face, 1, &o, &relief, message, sizeof message), KD_OK);
        n = relief.n;
        kd_reduction_release(&relief);
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            o = (kd_reduction_options){.modes = 1, .dynamic = dynamic, .relief = true};
            assert_int_equal(kd_reduce(&t.s, face, 1, &o, &relief, message, sizeof message), KD_OK);
            assert_int_equal(relief.n, n);
            kd_reduction_release(&relief);
        }
        kd_reduction_release(&plain);
        kd_reduction_release(&mixed);
        kd_fe_structure_release(&t.s);
    }
}

// A spring that pushes between two interfaces, stronger and stronger: with these held the part is stiff, with one of them free it gets a
// negative eigenvalue, before or after an entry of the diagonal. What is made has positive frequencies only.
static void negative_eigenvalues_are_refused(void **state)
{
    (void)state;
    int                first[3] = {0, 1, 2}, last[3] = {NODES - 3, NODES - 2, NODES - 1}, refused = 0, made = 0;
    const kd_interface face[] = {{"first", 3, first, {0, 0, 0}, false}, {"last", 3, last, {1, 2, 1}, false}};
    const kd_reference references[2] = {{KD_REFERENCE_TANGENT, 0, 0}, {KD_REFERENCE_MEAN, 0, 0}};
    for (int i = 0; i < 200; i++) {
        truss            t;
        kd_reduction     r;
        kd_flexible_body b;
        char             message[500] = "";
        last_to_first = 1 - 0.1 * i;
        make_truss(&t);
        last_to_first = 1;
        if (kd_reduce(&t.s, face, 2, &(kd_reduction_options){.modes = 4}, &r, message, sizeof message) < 0) {
            assert_non_null(strstr(message, "negative entry on its diagonal"));
        } else if (kd_flexible_body_make(&r, &references[i % 2], 0, 0, &b, message, sizeof message) < 0) {
            assert_non_null(strstr(message, "negative eigenvalue"));
            refused++;
            kd_reduction_release(&r);
        } else {
            for (int k = 0; k < b.nq; k++) assert_true(b.Ke[k * (b.nq + 1)] > 1);
            made++;
            kd_flexible_body_release(&b);
            kd_reduction_release(&r);
        }
        kd_fe_structure_release(&t.s);
    }
    print_message("%d bodies, %d refused for a negative eigenvalue\n", made, refused);
    assert_true(made > 10 && refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_sums_over_nodes),
        cmocka_unit_test(averages_make_nothing_stiff),
        cmocka_unit_test(averages_need_three_nodes),
        cmocka_unit_test(transfer_errors_are_expected),
        cmocka_unit_test(shapes_are_mixed),
        cmocka_unit_test(negative_eigenvalues_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
