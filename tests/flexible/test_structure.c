// Structures of finite-element programs: published matrices have the published mass, inertia and frequencies; small ones by hand
// have closed forms; wrong files are refused with file and line.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/pi.h"
#include "flexible/fe_files.h"
#include "flexible/structure.h"
#include "published.h"

// ---- published parts ------------------------------------------------------------------------------------------------

typedef struct part {
    const char *stiffness, *mass, *nodes, *dofs, *mapping;
    double      kg, centre[3], inertia[6]; // about the origin: xx yy zz xy xz yz
    double      hertz[8];                  // free
    double      relative;                  // digits of the published frequencies
} part;

// github.com/jgerstmayr/EXUDYN (Abaqus, ANSYS), CalculiX 2.20; numbers: scipy's eigenvalues of the same matrices
static const part PARTS[] = {
    {"abaqus/blockC3D8_STIF1.mtx",
     "abaqus/blockC3D8_MASS1.mtx",
     "abaqus/blockC3D8.inp",
     NULL,
     NULL,
     11600,
     {2, 0.5, 0.5},
     {8162.962963, 66257.48148, 66257.48148, -11600, -11600, -2900},
     {438.775166430, 438.775166430, 555.888156627, 967.040273329, 967.040273329, 1028.046299378, 1097.338136195,
      1538.473139816},
     1e-10},
    {"abaqus/blockC3D10_STIF1.mtx",
     "abaqus/blockC3D10_MASS1.mtx",
     "abaqus/blockC3D10.inp",
     NULL,
     NULL,
     11600,
     {2, 0.5, 0.5},
     {7733.333333, 65733.33333, 65733.33333, -11600, -11600, -2900},
     {451.333340552, 452.009850690, 607.870197093, 1026.459418679, 1026.741581338, 1033.259119036, 1242.649369690,
      1703.112173003},
     1e-10},
    {"abaqus/blockC3D20_STIF1.mtx",
     "abaqus/blockC3D20_MASS1.mtx",
     "abaqus/blockC3D20.inp",
     NULL,
     NULL,
     11600,
     {2, 0.5, 0.5},
     {7733.333333, 65733.33333, 65733.33333, -11600, -11600, -2900},
     {449.764466414, 449.764466414, 595.756940360, 1011.616014678, 1011.616014678, 1033.231978880, 1194.520825934,
      1661.040349846},
     1e-10},
    {"abaqus/rotorDiscTestSTIF1.mtx",
     "abaqus/rotorDiscTestMASS1.mtx",
     "abaqus/rotorDiscTest.inp",
     NULL,
     NULL,
     77.9660510949,
     {0, 0, 0.1879280335},
     {4.431623253, 4.431623253, 1.03059962, 0, 0, 0},
     {1046.370132606, 1046.370132606, 1878.240901672, 2123.297029962, 2245.521147323, 2386.879289724, 2842.047262456,
      2842.047262456},
     1e-10},
    {"ansys/rotorAnsysStiffnessMatrixSparse.txt",
     "ansys/rotorAnsysMassMatrixSparse.txt",
     "ansys/rotorAnsysNodalCoordinates.txt",
     NULL,
     "ansys/rotorAnsysMatrixDofMappingVector.txt",
     77.9660470458,
     {0, 0, 0.1879280332},
     {4.431623045, 4.431623045, 1.030599561, 0, 0, 0},
     {104.637010551, 104.637010551, 187.824087005, 212.329701244, 224.552105934, 238.687912494, 284.204716530,
      284.204716530},
     1e-10},
    {"calculix/rod_free_matrices.sti.gz",
     "calculix/rod_free_matrices.mas.gz",
     "calculix/rod_free_matrices.inp",
     "calculix/rod_free_matrices.dof",
     NULL,
     2.355,
     {0.25, 0, 0},
     {0.000255125, 0.196426625, 0.1963285, 0, 0, 0},
     {423.0410798, 630.0175410, 1155.083712, 1698.526385, 2234.360272, 2779.614919, 3230.419525, 3629.197744},
     5e-10},
};

typedef struct paths {
    char                  text[5][500];
    kd_fe_structure_files files;
} paths;

static bool find_files(const part *p, paths *found)
{
    const char *const  names[] = {p->stiffness, p->mass, p->nodes, p->dofs, p->mapping};
    const char **const to[] = {&found->files.stiffness, &found->files.mass, &found->files.nodes, &found->files.dofs,
                               &found->files.mapping};
    found->files = (kd_fe_structure_files){0};
    for (int i = 0; i < 5; i++) {
        if (!names[i]) continue;
        *to[i] = published(names[i], found->text[i], sizeof found->text[i]);
        if (!found->text[i][0]) return false;
    }
    return true;
}

static kd_fe_structure read_part(const part *p)
{
    paths           found;
    kd_fe_structure s;
    char            message[500] = "";
    if (!find_files(p, &found)) {
        print_message("published data is not there: skipped\n");
        skip();
    }
    const kd_status status = kd_fe_structure_read(&found.files, &s, message, sizeof message);
    if (status != KD_OK) print_error("%s\n", message);
    assert_int_equal(status, KD_OK);
    return s;
}

// Mass, centre, inertia and the eight lowest free frequencies of every published part are the published ones.
static void published_parts_have_their_frequencies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        const part           *p = &PARTS[i];
        kd_fe_structure       s = read_part(p);
        kd_fe_structure_facts f;
        char                  message[500] = "";
        assert_int_equal(kd_fe_structure_check(&s, &f, message, sizeof message), KD_OK);
        const double centre[] = {f.centre.x, f.centre.y, f.centre.z};
        const double inertia[] = {f.inertia.xx, f.inertia.yy, f.inertia.zz, f.inertia.xy, f.inertia.xz, f.inertia.yz};
        assert_true(fabs(f.mass - p->kg) < 2e-12 * p->kg * 100);
        for (int k = 0; k < 3; k++) assert_true(fabs(centre[k] - p->centre[k]) < 1e-9);
        for (int k = 0; k < 6; k++) assert_true(fabs(inertia[k] - p->inertia[k]) < 1e-9 * (p->inertia[1] + 1) * 10);
        assert_true(f.isotropic);
        assert_int_equal(f.lumped, i == 0 || i == 3 || i == 4);
        assert_true(f.rigid_force < 1e-11 && f.speed > 100 && f.speed < 30000);
        double *R = test_calloc((size_t)s.n * 6, sizeof *R), *Phi = test_calloc((size_t)s.n * 8, sizeof *Phi), omega[8];
        kd_fe_structure_rigid_motions(&s, f.centre, R);
        const kd_status status = kd_natural_modes(&s.K, &s.M, R, 6, 8, omega, Phi, message, sizeof message);
        if (status != KD_OK) print_error("%s: %s\n", p->stiffness, message);
        assert_int_equal(status, KD_OK);
        for (int k = 0; k < 8; k++) {
            const double hertz = omega[k] / (2 * KD_PI);
            if (!(fabs(hertz - p->hertz[k]) < p->relative * p->hertz[k]))
                print_error("%s %d: %.12g instead of %.12g\n", p->stiffness, k, hertz, p->hertz[k]);
            assert_true(fabs(hertz - p->hertz[k]) < p->relative * p->hertz[k]);
        }
        test_free(R);
        test_free(Phi);
        kd_fe_structure_release(&s);
    }
}

// Without the mapping vector of ANSYS the nodes are in another order: rigid motions meet forces, and that is said.
static void nodes_in_another_order_are_noticed(void **state)
{
    (void)state;
    part wrong = PARTS[4];
    wrong.mapping = NULL;
    kd_fe_structure       s = read_part(&wrong);
    kd_fe_structure_facts f;
    char                  message[500] = "";
    assert_int_equal(kd_fe_structure_check(&s, &f, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "turns of the whole part meet forces"));
    assert_non_null(strstr(message, "most at node "));
    kd_fe_structure_release(&s);
}

// The surface of elements is closed and looks outward: its volume is that of the elements. Faces between them are left out, shells stay.
static void surfaces_are_closed(void **state)
{
    (void)state;
    static const char deck[] =
        "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n"
        "9,2,0,0\n10,2,1,0\n11,2,0,1\n12,2,1,1\n13,3,0,0\n14,3,1,0\n15,5,5,5\n16,6,5,5\n17,5,6,5\n18,5,5,6\n19,7,7,7\n"
        "*ELEMENT, TYPE=C3D8I, ELSET=E\n1,1,2,3,4,5,\n6,7,8\n2,2,9,10,3,6,11,12,7\n"
        "*Element, type=C3D6\n3,9,11,13,10,12,14\n" // against the second brick
        "*ELEMENT,TYPE=C3D4\n4,15,16,17,18\n*ELEMENT,TYPE=B31\n5,1,15\n";
    static const char shells[] = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n*ELEMENT,TYPE=S4\n1,1,2,3,4\n2,1,2,3,4\n";
    for (int which = 0; which < 2; which++) {
        const char     *text = which ? shells : deck;
        char            message[300] = "";
        kd_lines        lines = {.path = "x", .at = text, .end = text + strlen(text), .message = message, .size = 300};
        kd_fe_nodes     nodes = {0};
        kd_fe_structure s = {0};
        double          volume = 0;
        assert_int_equal(kd_fe_parse_deck(&lines, NULL, &nodes), KD_OK);
        s.nnodes = nodes.n, s.id = nodes.id, s.at = nodes.at;
        assert_int_equal(kd_fe_skin(&nodes, &s), KD_OK);
        for (int i = 0; i < s.ntriangles; i++) {
            const kd_vec3 a = s.at[s.triangle[3 * i]], b = s.at[s.triangle[3 * i + 1]], c = s.at[s.triangle[3 * i + 2]];
            volume += kd_vec_dot(a, kd_vec_cross(b, c)) / 6;
        }
        // 2 bricks, half a brick, a sixth; five faces of bricks twice less the shared ones, 4 of the wedge, 4 of the tetrahedron
        assert_int_equal(s.ntriangles, which ? 4 : 2 * (5 + 4) + 2 * 2 + 2 + 4);
        if (!which) assert_true(fabs(volume - (2 + 0.5 + 1.0 / 6)) < 1e-12);
        kd_arena_release(&s.arena);
        kd_fe_nodes_release(&nodes);
    }
}

static kd_status read_matrix_text(const char *text, kd_sparse_matrix *A, kd_arena *arena, char *message, size_t size)
{
    kd_lines lines = {.path = "k", .at = text, .end = text + strlen(text), .message = message, .size = size};
    return kd_fe_parse_matrix(&lines, arena, A);
}

// Entries that come twice are no sums, a head that promises one triangle is held to it, in whatever case it is written.
static void matrices_keep_their_word(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; // NULL: right
    } files[] = {
        {"1 1 2\n2 1 -1\n2 2 2\n", NULL},
        {"1 1 2\n1 2 -1\n2 1 -1\n2 2 2\n", NULL},
        {"1 1 2\n2 1 -1\n2 2 2\n2 1 -1\n", "k: the entry of row 2 and column 1 is there twice"},
        {"1 1 2\n2 2 2\n1 1 2\n", "k: the entry of row 1 and column 1 is there twice"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n", NULL},
        {"%%MatrixMarket MATRIX Coordinate Real Symmetric\n% c\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n", NULL},
        {"%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n2 1 -1\n1 2 -1\n2 2 2\n", NULL},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 2 4\n1 1 2\n2 1 -1\n1 2 -1\n2 2 2\n", "is there twice"},
        {"%%MatrixMarket matrix coordinate real Skew-Symmetric\n2 2 1\n2 1 -1\n", "symmetric or general"},
        {"%%MatrixMarket matrix coordinate Complex Hermitian\n2 2 1\n2 1 -1 0\n", "only real or integer"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char             message[300] = "";
        kd_arena         arena = {0};
        kd_sparse_matrix A;
        const kd_status  status = read_matrix_text(files[i].text, &A, &arena, message, sizeof message);
        assert_int_equal(status, files[i].message ? KD_ERR_FILE : KD_OK);
        if (files[i].message) {
            if (!strstr(message, files[i].message)) print_error("%zu: %s\n", i, message);
            assert_non_null(strstr(message, files[i].message));
        } else {
            // 2 -1; -1 2 by columns
            const double value[] = {2, -1, -1, 2};
            assert_int_equal(kd_sparse_count(&A), 4);
            assert_memory_equal(A.value, value, sizeof value);
        }
        kd_arena_release(&arena);
    }
}

// Ranges of numbers take the nodes that there are; a number that is listed must be a node.
static void ranges_leave_out_what_is_not_there(void **state)
{
    (void)state;
    char              message[300] = "", path[3][500];
    static const char deck[] =
        "*NSET, NSET=ROW, GENERATE\n10, 40, 5\n*NSET,NSET=MORE\nROW, 7\n*NODE\n40,1,0,0\n10,0,0,0\n30,1,1,0\n7,0,0,1\n";
    for (int wrong = 0; wrong < 2; wrong++) {
        const char *text[3] = {"1 1 1\n12 12 1\n", "1 1 1\n12 12 1\n", deck};
        for (int i = 0; i < 3; i++) {
            snprintf(path[i], sizeof path[i], KD_BINARY_DIR "/ranges-%d%s", i, i == 2 ? ".inp" : ".mtx");
            FILE *file = fopen(path[i], "w");
            assert_non_null(file);
            fputs(text[i], file);
            if (i == 2 && wrong) fputs("*NSET,NSET=LIST\n10,15\n", file);
            assert_int_equal(fclose(file), 0);
        }
        const kd_fe_structure_files files = {.stiffness = path[0], .mass = path[1], .nodes = path[2]};
        kd_fe_structure             s;
        const kd_status             status = kd_fe_structure_read(&files, &s, message, sizeof message);
        assert_int_equal(status, wrong ? KD_ERR_FILE : KD_OK);
        if (wrong) {
            assert_non_null(strstr(message, "ranges-2.inp: a set of nodes has node 15, which does not exist"));
            continue;
        }
        const kd_node_set *row = kd_fe_structure_set(&s, "row"), *more = kd_fe_structure_set(&s, "MORE");
        static const int   want_row[] = {1, 2, 3}, want_more[] = {0, 1, 2, 3}; // places of 10, 30, 40 and of 7
        assert_int_equal(row->n, 3);
        assert_memory_equal(row->node, want_row, sizeof want_row);
        assert_int_equal(more->n, 4);
        assert_memory_equal(more->node, want_more, sizeof want_more);
        kd_fe_structure_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_parts_have_their_frequencies),
        cmocka_unit_test(nodes_in_another_order_are_noticed),
        cmocka_unit_test(surfaces_are_closed),
        cmocka_unit_test(matrices_keep_their_word),
        cmocka_unit_test(ranges_leave_out_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
