// Stress of flexible bodies: closed solutions of beams, a frame by statics (reference/stress.py), cases of other programs, files, mirrors, hot
// spots, and refusals.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/pi.h"
#include "core/text.h"
#include "flexible/beams.h"
#include "flexible/flex_file.h"
#include "flexible/stress.h"
#include "math/blas.h"
#include "math/dense.h"
#include "math/random.h"
#include "modelfile/part.h"

typedef struct chance {
    uint64_t seed, n;
} chance;

static double next_normal(chance *c)
{
    return kd_normal_quantile(kd_uniform(c->seed, 0, c->n++));
}

static kd_status read_part(const char *text, int piece, int pieces, kd_flexible_body *body, char *message, size_t size)
{
    kd_part_report report;
    return kd_part_read_text("part.yaml", text, strlen(text), NULL, piece, pieces, body, &report, message, size);
}

static kd_flexible_body make_part(const char *text)
{
    char             message[2000] = "";
    kd_flexible_body b;
    if (read_part(text, 1, 1, &b, message, sizeof message) != KD_OK) fail_msg("%s", message);
    return b;
}

// Amplitudes at rest under generalised forces: K q = f
static void rest(const kd_flexible_body *b, const double *f, double *q)
{
    for (int k = 0; k < b->nq; k++) q[k] = f[k] / b->Ke[k * (b->nq + 1)];
}

// Of a force and a moment at a frame
static void load_frame(const kd_flexible_body *b, int frame, const double F[6], double *f)
{
    const kd_flexible_frame *at = &b->frame[frame];
    for (int k = 0; k < b->nq; k++) {
        f[k] = 0;
        for (int d = 0; d < 3; d++) f[k] += F[d] * at->Phi[d + 3 * k] + F[3 + d] * at->Psi[d + 3 * k];
    }
}

#define BAR(elements, more)                                                                                            \
    "points: {root: [0, 0, 0], tip: [2, 0, 0]}\n"                                                                      \
    "beams: [{from: root, to: tip, elements: " #elements                                                               \
    ", E: 210 GPa, nu: 0.3, density: 7850, section: {round: 0.02}}]\n"                                                 \
    "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\nreference: {tangent: root}\nstress: true\n" more

// A cantilever has F (L - x) c/I along it, T r/J and N/A everywhere, and 4/3 V/A on the neutral axis.
static void cantilevers_have_the_stress_of_the_book(void **state)
{
    (void)state;
    kd_flexible_body b = make_part(BAR(7, ""));
    double           f[100], q[100], s[6];
    const double     F = 150, T = 40, pull = 700, r = 0.02, A = KD_PI * r * r, inertia = KD_PI * pow(r, 4) / 4;
    load_frame(&b, 1, (double[6]){pull, 0, F, T, 0, 0}, f);
    rest(&b, f, q);
    assert_int_equal(b.nplaces, 16 * 8);
    for (int i = 0; i < b.nplaces; i++) {
        const double *x = b.place + 3 * i, size = F * 2 * r / inertia;
        kd_stress_at(&b, i, b.nq, q, s);
        assert_true(fabs(s[0] - (pull / A - F * (2 - x[0]) * x[2] / inertia)) < 1e-8 * size);
        // twist about x, and shear along the rim
        const double rim = F * r * x[1] / (3 * inertia);
        assert_true(fabs(s[3] - (-T * x[2] / (2 * inertia) - rim * x[2] / r)) < 1e-8 * size);
        assert_true(fabs(s[5] - (T * x[1] / (2 * inertia) + rim * x[1] / r)) < 1e-8 * size);
        assert_true(fabs(s[1]) + fabs(s[2]) + fabs(s[4]) < 1e-8 * size);
    }
    kd_flexible_body_release(&b);
}

// A frame of a tube and a box, bent in space, has the stress that statics give it.
static void frames_have_the_stress_of_statics(void **state)
{
    (void)state;
    kd_flexible_body b = make_part(
        "points: {a: [0, 0, 0], b: [0.9, 0.3, 0.1], c: [1.2, 0.3, 0.9]}\n"
        "beams: [{from: a, to: b, elements: 4, E: 70 GPa, density: 2700, section: {tube: [0.03, 0.005]}},\n"
        "        {from: b, to: c, elements: 4, E: 70 GPa, density: 2700, section: {box: [0.05, 0.02], shear: true}}]\n"
        "interfaces: {a: {nodes: a}, c: {nodes: c}}\nreference: {tangent: a}\nstress: true\n");
    double f[100], q[100], s[6], worst = 0;
    int    n = 0;
    char   line[400];
    load_frame(&b, 1, (double[6]){30, -50, 70, 11, 5, -8}, f);
    rest(&b, f, q);
    FILE *file = fopen(KD_SOURCE_DIR "/tests/flexible/reference/stress.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); // names
    for (; fgets(line, sizeof line, file); n++) {
        double r[9];
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", r, r + 1, r + 2, r + 3, r + 4, r + 5,
                                r + 6, r + 7, r + 8),
                         9);
        assert_true(n < b.nplaces);
        for (int d = 0; d < 3; d++) assert_true(fabs(b.place[3 * n + d] - r[d]) < 1e-10);
        kd_stress_at(&b, n, b.nq, q, s);
        for (int i = 0; i < 6; i++) worst = fmax(worst, fabs(s[i] - r[3 + i]));
    }
    fclose(file);
    assert_int_equal(n, b.nplaces);
    print_message("frame: largest difference %.1e Pa\n", worst);
    assert_true(worst < 1e-3); // of some 1e7 Pa
    kd_flexible_body_release(&b);
}

static double error_of_rotation(const char *text)
{
    kd_flexible_body b = make_part(text);
    double           f[100], q[100], s[6], worst = 0;
    const double     omega = 100, density = 7850, most = density * omega * omega * 4 / 2;
    // about z: omega^2 int (x phi_x + y phi_y)
    for (int k = 0; k < b.nq; k++) f[k] = omega * omega * (b.A[9 * k] + b.A[9 * k + 4]);
    rest(&b, f, q);
    for (int i = 0; i < b.nplaces; i++) {
        const double x = b.place[3 * i], exact = density * omega * omega * (4 - x * x) / 2;
        kd_stress_at(&b, i, b.nq, q, s);
        worst = fmax(worst, fabs(s[0] - exact) / most);
    }
    kd_flexible_body_release(&b);
    return worst;
}

// A rod that rotates has rho omega^2 (L^2 - x^2)/2, also at its ends.
static void rods_that_rotate_pull(void **state)
{
    (void)state;
    const double coarse = error_of_rotation(BAR(10, "reduction: {modes: 20, relief: true}\n")),
                 fine = error_of_rotation(BAR(20, "reduction: {modes: 40, relief: true}\n"));
    print_message("rotating rod: %.1e with 10, %.1e with 20 elements\n", coarse, fine);
    assert_true(coarse < 1e-6 && fine < 1e-6);
}

// Under its own weight a cantilever has q (L - x)^2/2 c/I, which the change of the shear force in an element brings.
static void cantilevers_bear_their_weight(void **state)
{
    (void)state;
    kd_flexible_body b = make_part(BAR(10, "reduction: {modes: 20, relief: true}\n"));
    double           f[100], q[100], s[6];
    const double     r = 0.02, inertia = KD_PI * pow(r, 4) / 4, line = 7850 * 9.81 * KD_PI * r * r;
    // along y and along z
    for (int d = 1; d < 3; d++) {
        for (int k = 0; k < b.nq; k++) f[k] = -9.81 * b.C[d + 3 * k];
        rest(&b, f, q);
        for (int i = 0; i < b.nplaces; i++) {
            const double *x = b.place + 3 * i, exact = line * pow(2 - x[0], 2) / 2 * x[d] / inertia;
            kd_stress_at(&b, i, b.nq, q, s);
            assert_true(fabs(s[0] - exact) < 1e-4 * line * 2 * r / inertia);
        }
    }
    kd_flexible_body_release(&b);
}

// Principal stresses are eigenvalues; von Mises by them and by components; the sign is that of the largest.
static void values_belong_to_the_tensor(void **state)
{
    (void)state;
    chance random = {7, 0};
    for (int trial = 0; trial < 1000; trial++) {
        double s[6], p[3], w[3], work[64];
        for (int i = 0; i < 6; i++) s[i] = next_normal(&random);
        if (trial % 10 == 0) s[1] = s[2] = s[0], s[3] = s[4] = s[5] = 0; // equal ones
        double A[9] = {s[0], s[3], s[5], s[3], s[1], s[4], s[5], s[4], s[2]};
        assert_int_equal(KD_BLAS(LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', 3, A, 3, w, work, 64)), 0);
        for (int i = 0; i < 3; i++) {
            p[i] = kd_stress_value(s, (kd_stress_kind)(KD_STRESS_P1 + i));
            assert_true(fabs(p[i] - w[2 - i]) < 1e-7);
        }
        const double mises = sqrt((pow(p[0] - p[1], 2) + pow(p[1] - p[2], 2) + pow(p[2] - p[0], 2)) / 2);
        assert_true(fabs(kd_stress_value(s, KD_STRESS_MISES) - mises) < 1e-7);
        const double sign = fabs(p[2]) > fabs(p[0]) ? -1 : 1;
        assert_true(fabs(kd_stress_value(s, KD_STRESS_SIGNED) - sign * mises) < 1e-7);
        for (int i = 0; i < 6; i++) assert_true(kd_stress_value(s, (kd_stress_kind)i) == s[i]);
    }
    // pure shear has the sign of neither, whatever rounding says
    assert_true(kd_stress_value((double[6]){0, 0, 0, 1e7, 0, 0}, KD_STRESS_SIGNED) > 0);
    assert_true(kd_stress_value((double[6]){0, 0, 0, -1e7, 0, 0}, KD_STRESS_SIGNED) > 0);
}

// Names stand at their places; a file gives back what was written; a mirror turns the tensor.
static void files_and_mirrors_keep_it(void **state)
{
    (void)state;
    kd_flexible_body b = make_part(
                         "points: {root: [0, 0, 0], tip: [2, 0, 0]}\n"
                         "beams: [{from: root, to: tip, elements: 3, E: 210 GPa, density: 7850, section: "
                         "{area: 1e-3, Iy: 2e-7, Iz: 1e-7, torsion: 1e-7, outer: [0.02, 0.03], twist_modulus: 1e-5}}]\n"
                         "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\n"
                         "stress: {places: {low: [2, 0.02, -30 mm], high: [0, -20 mm, 0.03]}}\n"),
                     read, image;
    char message[300];
    assert_int_equal(b.nspots, 2);
    assert_int_equal(kd_stress_find(&b, "high", 4), 1);
    assert_int_equal(kd_stress_find(&b, "hig", 3), -1);
    const kd_stress_spot *low = &b.spot[kd_stress_find(&b, "low", 3)];
    assert_true(fabs(b.place[3 * low->place] - 2) + fabs(b.place[3 * low->place + 2] + 0.03) < 1e-12);
    assert_int_equal(kd_flex_write(&b, KD_BINARY_DIR "/stress.flex", message, sizeof message), KD_OK);
    assert_int_equal(kd_flex_read(KD_BINARY_DIR "/stress.flex", &read, message, sizeof message), KD_OK);
    assert_int_equal(read.nplaces, b.nplaces);
    assert_int_equal(read.nspots, 2);
    assert_string_equal(read.spot[1].name, "high");
    assert_int_equal(read.spot[1].place, b.spot[1].place);
    assert_memory_equal(read.place, b.place, 3 * (size_t)b.nplaces * sizeof *b.place);
    assert_memory_equal(read.stress, b.stress, 6 * (size_t)b.nplaces * (size_t)b.nq * sizeof *b.stress);
    // a mirror at y = 0, and a turn about z by a right angle
    const kd_mat3 L = {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}};
    assert_int_equal(kd_flexible_body_image(&b, &L, &image), KD_OK);
    for (int i = 0; i < b.nplaces * b.nq; i++) {
        const double *s = b.stress + 6 * i, *t = image.stress + 6 * i;
        const double  turned[6] = {s[1], s[0], s[2], s[3], s[5], s[4]}, most = kd_norm_max(6, s);
        for (int k = 0; k < 6; k++) assert_true(fabs(t[k] - turned[k]) <= 1e-14 * most);
    }
    assert_true(image.place[3 * low->place + 1] == b.place[3 * low->place]);
    assert_string_equal(image.spot[1].name, "high");
    kd_flexible_body_release(&b);
    kd_flexible_body_release(&read);
    kd_flexible_body_release(&image);
}

// Pieces of a strip have their own stress: that of the piece at the root is that of the part.
static void pieces_have_stress(void **state)
{
    (void)state;
    char             message[2000] = "";
    kd_flexible_body piece;
    const char      *text = BAR(8, "");
    assert_int_equal(read_part(text, 2, 4, &piece, message, sizeof message), KD_OK);
    assert_int_equal(piece.nplaces, 16 * 3);
    assert_true(fabs(piece.place[0] - 0.5) < 1e-12);
    kd_flexible_body_release(&piece);
}

// ---- cases ----------------------------------------------------------------------------------------------------------

enum { NODES = 12, CASES = 5 };

// Nodes in space without matrices: all that cases need
static kd_fe_structure make_nodes(chance *random)
{
    kd_fe_structure s = {.nnodes = NODES, .n = 3 * NODES, .unit_length = 1e-3, .unit_force = 1e3};
    s.id = kd_cut_int(&s.arena, NODES);
    s.at = kd_arena_cut(&s.arena, NODES, sizeof *s.at);
    s.node = kd_cut_int(&s.arena, s.n);
    s.direction = kd_cut_int(&s.arena, s.n);
    s.first = kd_cut_int(&s.arena, 6 * NODES);
    assert_false(s.arena.failed);
    for (int i = 0; i < NODES; i++) {
        s.id[i] = 10 * (i + 1);
        s.at[i] = kd_vec(next_normal(random), next_normal(random), next_normal(random));
        for (int d = 0; d < 6; d++) s.first[6 * i + d] = d < 3 ? 3 * i + d : -1;
        for (int d = 0; d < 3; d++) s.node[3 * i + d] = i, s.direction[3 * i + d] = d;
    }
    return s;
}

static kd_status parse(const char *text, bool frd, kd_fe_structure *s, char *message, size_t size)
{
    kd_lines lines = {.path = "x", .at = text, .end = text + strlen(text), .message = message, .size = size};
    message[0] = '\0';
    return frd ? kd_stress_parse_frd(&lines, s) : kd_stress_parse_table(&lines, s);
}

// Cases as text: displacements in mm and stress in kN/mm^2 = 1e9 Pa, the stress of node i being u_i (first three) and -u_i
static void write_cases(const double *D, int cases, bool frd, char *text, size_t size)
{
    kd_text(text, size, "%s", frd ? "    1C\n" : "szx,case,node,ux,uy,uz,sxx,syy,szz,sxy,syz\n");
    for (int c = 0; c < cases; c++)
        for (int block = 0; block < 2; block++) {
            if (frd)
                kd_text_append(text, size,
                               "  100CL  101 1.000000000          12                     0    1           1\n"
                               " -4  %s    1\n -5  D1          1    2    1    0\n",
                               block ? "STRESS      6" : "DISP        4");
            for (int i = 0; i < NODES; i++) {
                const double *u = D + 3 * NODES * c + 3 * i;
                if (!frd && block == 0)
                    kd_text_append(text, size, "%.12g,%d,%d,%.12g,%.12g,%.12g,%.12g,%.12g,%.12g,%.12g,%.12g\n", -u[2],
                                   c + 1, 10 * (i + 1), u[0], u[1], u[2], u[0], u[1], u[2], -u[0], -u[1]);
                if (frd && block == 0)
                    kd_text_append(text, size, " -1%10d%12.5E%12.5E%12.5E\n", 10 * (i + 1), u[0], u[1], u[2]);
                if (frd && block == 1)
                    kd_text_append(text, size, " -1%10d%12.5E%12.5E%12.5E%12.5E%12.5E%12.5E\n", 10 * (i + 1), u[0],
                                   u[1], u[2], -u[0], -u[1], -u[2]);
            }
            if (frd) kd_text_append(text, size, " -3\n");
        }
}

// Modes that are combinations of cases and rigid motions have the same combinations of stress; others are refused.
static void modes_are_combinations_of_cases(void **state)
{
    (void)state;
    static char text[200000];
    char        message[400];
    for (int frd = 0; frd < 2; frd++) {
        chance          random = {11, 0};
        kd_fe_structure s = make_nodes(&random);
        double          D[CASES * 3 * NODES], R[6 * 3 * NODES], U[2 * 3 * NODES] = {0}, c[2][CASES];
        for (int i = 0; i < CASES * 3 * NODES; i++) D[i] = next_normal(&random);
        write_cases(D, CASES, frd, text, sizeof text);
        assert_int_equal(parse(text, frd, &s, message, sizeof message), KD_OK);
        assert_int_equal(s.cases->n, CASES);
        assert_int_equal(s.cases->nplaces, NODES);
        kd_fe_structure_rigid_motions(&s, kd_vec(1, 2, 3), R);
        kd_flexible_body b = {.nq = 2};
        for (int k = 0; k < 2; k++) {
            for (int j = 0; j < CASES; j++) {
                c[k][j] = next_normal(&random);
                kd_axpy(3 * NODES, 1e-3 * c[k][j], D + 3 * NODES * j, U + 3 * NODES * k); // of mm
            }
            for (int j = 0; j < 6; j++)
                kd_axpy(3 * NODES, 1e-3 * next_normal(&random), R + 3 * NODES * j, U + 3 * NODES * k);
        }
        message[0] = '\0';
        assert_int_equal(kd_flexible_body_stress(&s, U, &b, message, sizeof message), KD_OK);
        assert_string_equal(message, "");
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < NODES; i++)
                for (int d = 0; d < 3; d++) {
                    double exact = 0;
                    for (int j = 0; j < CASES; j++) exact += 1e9 * c[k][j] * D[3 * NODES * j + 3 * i + d];
                    const double *sigma = b.stress + 6 * (k * NODES + i);
                    assert_true(fabs(sigma[d] - exact) < (frd ? 1e-4 : 1e-8) * 1e9);
                    assert_true(fabs(sigma[3 + d] + exact) < (frd ? 1e-4 : 1e-8) * 1e9);
                }
        // some nodes alone
        const int some[] = {1, 7};
        kd_stress_cases_keep(s.cases, some, 2);
        kd_flexible_body few = {.nq = 2};
        assert_int_equal(kd_flexible_body_stress(&s, U, &few, message, sizeof message), KD_OK);
        assert_int_equal(few.nplaces, 2);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 2; i++)
                assert_memory_equal(few.stress + 6 * (2 * k + i), b.stress + 6 * (NODES * k + some[i]),
                                    6 * sizeof(double));
        kd_flexible_body_release(&few);
        kd_flexible_body_release(&b);
        // a little of another displacement is told, much of it refused
        b = (kd_flexible_body){.nq = 2};
        U[5] += 0.003 * sqrt(kd_dot(3 * NODES, U, U));
        assert_int_equal(kd_flexible_body_stress(&s, U, &b, message, sizeof message), KD_OK);
        assert_non_null(strstr(message, "of mode 1"));
        kd_flexible_body_release(&b);
        b = (kd_flexible_body){.nq = 2};
        for (int i = 0; i < 3 * NODES; i++) U[3 * NODES + i] += 1e-3 * next_normal(&random);
        assert_int_equal(kd_flexible_body_stress(&s, U, &b, message, sizeof message), KD_ERR_MODEL);
        assert_non_null(strstr(message, "of mode 2 is left"));
        kd_flexible_body_release(&b);
        kd_fe_structure_release(&s);
    }
}

// Wrong files of results: one sentence each, with its line.
static void wrong_results_are_refused(void **state)
{
    (void)state;
#define NAMES_LINE "case,node,ux,uy,uz,sxx,syy,szz,sxy,syz,szx\n"
#define FRD_HEAD "  100CL  101 1.000000000          12                     0    1           1\n"
    static const struct {
        bool        frd;
        const char *text, *say;
    } wrong[] = {
        {false, "", "x:0: the table is empty"},
        {false, "case,node,ux\n", "x:1: the first line must name the column 'uy'"},
        {false, NAMES_LINE, "x:1: there are no displacements in it"},
        {false, NAMES_LINE "1,10,0,0\n", "x:2: eleven numbers are expected"},
        {false, NAMES_LINE "0,10,0,0,0,0,0,0,0,0,0\n", "x:2: cases are counted from 1 on, not '0'"},
        {false, NAMES_LINE "1,11,0,0,0,0,0,0,0,0,0\n", "x:2: the structure has no node '11'"},
        {false, NAMES_LINE "1,10,nan,0,0,0,0,0,0,0,0\n", "x:2: "},
        {false, NAMES_LINE "1,10,0,0,0,0,0,0,0,0,0\n1,10,0,0,0,0,0,0,0,0,0\n", "x:3: this node was there before"},
        {false, NAMES_LINE "1,10,0,0,0,0,0,0,0,0,0\n", "x:2: node 20 has no displacement in case 1"},
        {true, "", "x:0: there are no displacements in it"},
        {true, FRD_HEAD " -4  STRESS      6    1\n", "x:2: stress comes before displacements"},
        {true, "  100CL  101 1.000000000          12                     0    1           2\n",
         "x:1: results must be text in the long form"},
        {true, FRD_HEAD " -4  DISP        4    1\n -1        1x 0.00000E+00\n",
         "x:3: the number of a node is expected"},
        {true, FRD_HEAD " -4  DISP        4    1\n -1        10 0.00000E+00 0.00000E+00\n",
         "x:3: a number is expected in each 12 columns"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        chance          random = {3, 0};
        kd_fe_structure s = make_nodes(&random);
        char            message[400];
        assert_int_equal(parse(wrong[i].text, wrong[i].frd, &s, message, sizeof message), KD_ERR_FILE);
        if (strncmp(message, wrong[i].say, strlen(wrong[i].say)) != 0)
            fail_msg("'%s' instead of '%s'", message, wrong[i].say);
        kd_fe_structure_release(&s);
    }
}

// Wrong parts: one sentence each.
static void wrong_parts_are_refused(void **state)
{
    (void)state;
#define ROD(section, stress)                                                                                           \
    "points: {root: [0, 0, 0], tip: [1, 0, 0]}\nbeams: [{from: root, to: tip, E: 1e9, density: 1000, section: "        \
    "{" section "}}]\ninterfaces: {root: {nodes: root}}\nstress: " stress "\n"
    static const struct {
        const char *text, *say;
    } wrong[] = {
        {ROD("round: 0.01", "maybe"), "true or false is expected for 'stress'"},
        {ROD("area: 1, Iy: 1, Iz: 1, torsion: 1", "true"), "stress of beam 1: its section must be round"},
        {ROD("area: 1, Iy: 1, Iz: 1, torsion: 1, outer: [1, 1]", "true"),
         "'outer' and 'twist_modulus' belong together"},
        {ROD("area: 1, Iy: 1, Iz: 1, torsion: 1, outer: [-1, 1], twist_modulus: 1", "true"), "must be positive"},
        {ROD("round: 0.01", "{results: x.frd}"), "beams have their stress from kardan"},
        {ROD("round: 0.01", "{places: {top: [0.5, 0, 0.2]}}"), "the nearest place is at (0.5, "},
        {ROD("round: 0.01", "{places: {top: 3}}"), "top needs 3 numbers"},
        {ROD("round: 0.01", "{places: {a.b: [0, 0, 0.01]}}"), "a name without points and signs, not 'a.b'"},
        {ROD("round: 0.01", "{place: {}}"), "did you mean 'places'"},
        {ROD("round: 0.01", "{places: 3}"), "places are like {root: [x, y, z]}"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kd_flexible_body b;
        char             message[2000] = "";
        const kd_status  status = read_part(wrong[i].text, 1, 1, &b, message, sizeof message);
        if (status != KD_ERR_MODEL || !strstr(message, wrong[i].say))
            fail_msg("%d '%s' instead of '%s'", status, message, wrong[i].say);
    }
}

// ---- hot spots ------------------------------------------------------------------------------------------------------

// A cantilever that swings is hottest at its root, when it is bent most; the next spots lie apart.
static void hot_spots_are_found(void **state)
{
    (void)state;
    kd_flexible_body b = make_part(BAR(40, "modes: 4\n"));
    kd_arena         arena = {0};
    kd_hot_spots     h;
    int              place[3];
    char             words[100];
    assert_true(kd_hot_spots_cut(&b, b.nq, &arena, &h));
    double f[4], q[4], s[6];
    load_frame(&b, 1, (double[6]){0, 0, 100, 0, 0, 0}, f);
    for (int i = 0; i <= 100; i++) {
        rest(&b, f, q);
        for (int k = 0; k < 4; k++) q[k] *= sin(0.0314 * i) - 0.1; // largest at i = 50
        kd_hot_spots_see(&h, i, q);
    }
    assert_int_equal(kd_hot_spots_rank(&h, 3, place), 3);
    assert_true(b.place[3 * place[0]] < 1e-12 && fabs(fabs(b.place[3 * place[0] + 2]) - 0.02) < 1e-12);
    assert_true(h.t[place[0]] == 50);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++)
            assert_true(kd_vec_norm(kd_vec_sub(kd_vec_of(b.place + 3 * place[i]), kd_vec_of(b.place + 3 * place[k]))) >
                        0.04);
    rest(&b, f, q);
    for (int k = 0; k < 4; k++) q[k] *= sin(0.0314 * 50) - 0.1;
    kd_stress_at(&b, place[0], 4, q, s);
    assert_true(fabs(h.mises[place[0]] - kd_stress_value(s, KD_STRESS_MISES)) < 1e-6 * h.mises[place[0]]);
    for (int i = 0; i < b.nplaces; i++) assert_true(h.mises[i] <= h.mises[place[0]]);
    kd_stress_place_words(&b, place[0], words, sizeof words);
    assert_true(strcmp(words, "(0, 0, 0.02) m") == 0 || strcmp(words, "(0, 0, -0.02) m") == 0);
    kd_arena_release(&arena);
    kd_flexible_body_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cantilevers_have_the_stress_of_the_book),
        cmocka_unit_test(frames_have_the_stress_of_statics),
        cmocka_unit_test(rods_that_rotate_pull),
        cmocka_unit_test(cantilevers_bear_their_weight),
        cmocka_unit_test(values_belong_to_the_tensor),
        cmocka_unit_test(files_and_mirrors_keep_it),
        cmocka_unit_test(pieces_have_stress),
        cmocka_unit_test(modes_are_combinations_of_cases),
        cmocka_unit_test(wrong_results_are_refused),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(hot_spots_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
