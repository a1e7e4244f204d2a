// Structures of finite-element programs: published matrices have the published mass, inertia and frequencies; small ones by hand
// have closed forms; wrong files are refused with file and line.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    assert_non_null(strstr(message, "rigid motions meet forces"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_parts_have_their_frequencies),
        cmocka_unit_test(nodes_in_another_order_are_noticed),
        cmocka_unit_test(surfaces_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
