// SID files: published ones have their frequencies and norms, what is read and written is the same, wrong files are refused by line.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/pi.h"
#include "flexible/beams.h"
#include "flexible/sid.h"
#include "published.h"

// A body as a text, for free()
static char *written(const kd_flexible_body *b, size_t *length)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(kd_sid_write(b, file));
    *length = (size_t)ftell(file);
    char *text = calloc(*length + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}

static kd_status parse(const char *text, kd_flexible_body *b, char *message, size_t size)
{
    kd_lines lines = {.path = "a.SID_FEM", .at = text, .end = text + strlen(text), .message = message, .size = size};
    return kd_sid_parse(&lines, b);
}

static double norm(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static void assert_same(size_t n, const double *a, const double *b, double scale)
{
    for (size_t i = 0; i < n; i++) assert_true(fabs(a[i] - b[i]) <= 1e-13 * scale + 1e-13 * fabs(a[i]));
}

static void assert_same_bodies(const kd_flexible_body *a, const kd_flexible_body *b)
{
    const size_t nq = (size_t)a->nq;
    assert_int_equal(a->nq, b->nq);
    assert_int_equal(a->nframes, b->nframes);
    assert_true(a->mass == b->mass);
    assert_same(3, a->first, b->first, a->mass);
    assert_same(9, a->second, b->second, norm(9, a->second));
    assert_same(3 * nq, a->C, b->C, norm(3 * nq, a->C));
    assert_same(9 * nq, a->A, b->A, norm(9 * nq, a->A));
    assert_same(3 * nq, a->Cr, b->Cr, norm(3 * nq, a->Cr));
    assert_same(9 * nq * nq, a->B, b->B, norm(9 * nq * nq, a->B));
    assert_same(nq * nq, a->Me, b->Me, 1);
    assert_same(nq * nq, a->Ke, b->Ke, norm(nq * nq, a->Ke));
    assert_same(nq * nq, a->De, b->De, norm(nq * nq, a->De));
    for (int f = 0; f < a->nframes; f++) {
        assert_string_equal(a->frame[f].name, b->frame[f].name);
        assert_same(3 * nq, a->frame[f].Phi, b->frame[f].Phi, 1);
        assert_same(3 * nq, a->frame[f].Psi, b->frame[f].Psi, 1);
    }
}

// ---- files entry by entry -------------------------------------------------------------------------------------------

enum { NAMES = 10, ROWS = 12, COLUMNS = 40 };
static const char *const MATRIX[NAMES] = {"mdCM", "J", "Ct", "Cr", "Me", "Gr", "Ge", "Oe", "Ke", "De"};

// m0 at [.][0], m1(row, q, column) at [.][q], as they stand in a file; those of nodes are left out
typedef struct entries {
    double value[NAMES][ROWS][ROWS][COLUMNS];
} entries;

static void scan(const char *text, int nq, entries *e)
{
    char line[400], word[60], number[60];
    int  which = -1, inside = 0;
    memset(e, 0, sizeof *e);
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
        end = strchr(at, '\n') ? strchr(at, '\n') : at + strlen(at);
        snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
        int row = 0, q = 0, column = 0;
        if (strstr(line, "new node")) inside = 1;
        if (strstr(line, "end node")) inside = 0;
        if (inside || sscanf(line, " %59s", word) != 1) continue;
        for (int i = 0; i < NAMES; i++)
            if (strcmp(word, MATRIX[i]) == 0) which = i;
        if (strcmp(word, "end") == 0) which = -1;
        // a unit matrix has no entries
        if (which >= 0 && sscanf(line, " structure = %d", &row) == 1 && row == 4)
            for (int i = 1; i <= nq; i++) e->value[which][0][i][i] = 1;
        const bool first = which >= 0 && sscanf(line, " m1( %d, %d, %d) =%59s", &row, &q, &column, number) == 4;
        if (!first && (which < 0 || sscanf(line, " m0( %d, %d) =%59s", &row, &column, number) != 3)) continue;
        if (!first) q = 0;
        assert_true(row > 0 && row < ROWS && q >= 0 && q < ROWS && column > 0 && column < COLUMNS);
        for (char *c = number; *c; c++)
            if (*c == 'D') *c = 'E';
        e->value[which][q][row][column] = atof(number);
    }
}

// All matrices of both files agree: most of those that are written follow from others that were read
static void assert_same_entries(const char *name, const entries *a, const entries *b)
{
    for (int i = 0; i < NAMES; i++)
        for (int order = 0; order < 2; order++) {
            const double *x = &a->value[i][order][0][0], *y = &b->value[i][order][0][0];
            const size_t  n = (order ? ROWS - 1 : 1) * ROWS * COLUMNS;
            const double  scale = norm(n, x);
            for (size_t k = 0; k < n; k++) {
                if (fabs(x[k] - y[k]) <= 1e-10 * scale + 1e-14) continue;
                fail_msg("%s: %s, order %d, entry %zu: %.12g in the file, %.12g written", name, MATRIX[i], order, k,
                         x[k], y[k]);
            }
        }
}

static char *load(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t length = (size_t)ftell(file);
    char        *text = calloc(length + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, length, file), length);
    fclose(file);
    return text;
}

// Files of github.com/vwaurich/EMBS_ModelicaLib: mass, frequencies by scipy, norms of stored entries; read, written and read again.
static void published_files_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double      mass;
        int         modes, nodes;
        double      hertz, last; // first and last
        double      Ct, Gr, Ke, De;
    } files[] = {
        {"sid/balken1m.SID_FEM", 0.784999999999, 1, 3, 8.35971380, 8.35971380, 1.3143262994, 0.93408948865,
         2758.9419062, 0},
        {"sid/Beam_3m.SID_FEM", 706.5, 4, 21, 9.08868257, 146.31560814, 31.151047437, 129.12193341, 855092.12184,
         36.866041667},
        {"sid/beam.SID_FEM", 12.5604, 11, 6, 51.62622487, 1932.96676333, 0, 6.3201454664, 233696202.37, 2336962.0237},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char             path[500], message[500] = "";
        double           omega[20];
        kd_flexible_body b, again;
        if (!published(files[i].name, path, sizeof path)[0]) skip();
        const kd_status status = kd_sid_read(path, &b, message, sizeof message);
        if (status < 0) print_error("%s\n", message);
        assert_int_equal(status, KD_OK);
        assert_true(fabs(b.mass - files[i].mass) < 1e-12 * b.mass);
        assert_int_equal(b.nq, files[i].modes);
        assert_int_equal(b.nframes, files[i].nodes);
        assert_int_equal(kd_flexible_body_frequencies(&b, omega), KD_OK);
        assert_true(fabs(omega[0] / (2 * KD_PI) - files[i].hertz) < 1e-8 * files[i].hertz);
        assert_true(fabs(omega[b.nq - 1] / (2 * KD_PI) - files[i].last) < 1e-8 * files[i].last);
        assert_true(fabs(norm((size_t)(3 * b.nq), b.C) - files[i].Ct) < 1e-10 * (1 + files[i].Ct));
        assert_true(fabs(norm((size_t)(b.nq * b.nq), b.Ke) - files[i].Ke) < 1e-10 * files[i].Ke);
        assert_true(fabs(norm((size_t)(b.nq * b.nq), b.De) - files[i].De) < 1e-10 * (1 + files[i].De));
        double Gr = 0;
        for (int k = 0; k < b.nq; k++) {
            const double *A = b.A + 9 * k, t = A[0] + A[4] + A[8];
            for (int j = 0; j < 9; j++) Gr += pow(2 * ((j % 4 == 0 ? t : 0) - A[j]), 2);
        }
        assert_true(fabs(sqrt(Gr) - files[i].Gr) < 1e-10 * files[i].Gr);
        size_t length;
        char  *text = written(&b, &length), *theirs = load(path);
        assert_int_equal(parse(text, &again, message, sizeof message), KD_OK);
        assert_same_bodies(&b, &again);
        static entries file, own; // large
        scan(theirs, b.nq, &file);
        scan(text, b.nq, &own);
        assert_same_entries(files[i].name, &file, &own);
        free(text);
        free(theirs);
        kd_flexible_body_release(&again);
        kd_flexible_body_release(&b);
    }
}

// A beam, or two of them at an angle
static kd_flexible_body make_body(int nbeams)
{
    static const char    *names[] = {"root", "tip", "end"};
    const kd_vec3         points[] = {{0, 0, 0}, {1, 0.2, -0.1}, {1.2, 0.9, 0.3}};
    const kd_beam_section section = {.area = 1e-4, .Iy = 8e-10, .Iz = 9e-10, .torsion = 1.5e-9};
    const kd_beam         beam[] = {{0, 1, 4, 7e10, 2.7e10, 2700, section, section, {0, 0, 1}},
                                    {1, 2, 3, 7e10, 2.7e10, 2700, section, section, {0, 0, 1}}};
    kd_fe_structure       s;
    kd_reduction          r;
    kd_flexible_body      b;
    char                  message[300];
    assert_int_equal(kd_beams_make(names, points, nbeams + 1, beam, nbeams, NULL, 0, &s, message, sizeof message),
                     KD_OK);
    const kd_interface face[] = {{"root", 1, s.set[0].node, points[0], false},
                                 {"tip", 1, s.set[1].node, points[1], false}};
    assert_int_equal(kd_reduce(&s, face, 2, &(kd_reduction_options){.modes = 2}, &r, message, sizeof message), KD_OK);
    assert_int_equal(
        kd_flexible_body_make(&r, &(kd_reference){KD_REFERENCE_TANGENT, 0, 0}, 5, 0.02, &b, message, sizeof message),
        KD_OK);
    kd_reduction_release(&r);
    kd_fe_structure_release(&s);
    return b;
}

// A body of beams goes through a file unchanged, its moments of second order too.
static void own_bodies_go_through_a_file(void **state)
{
    (void)state;
    kd_flexible_body b = make_body(1), again;
    char             message[300];
    size_t           length;
    b.K0t = b.K0r = b.K0w = b.K0F = NULL; // the next test
    char *text = written(&b, &length);
    assert_int_equal(parse(text, &again, message, sizeof message), KD_OK);
    assert_same_bodies(&b, &again);
    free(text);
    kd_flexible_body_release(&again);
    kd_flexible_body_release(&b);
}

// What Oe says of q_l: w' (D - tr D) w by products of angular velocities, D of second moments and geometric stiffness
static double centrifugal_entry(const kd_flexible_body *b, int k, int l, int product)
{
    const size_t  nq = (size_t)b->nq, at = (size_t)k + nq * (size_t)l;
    const double *B = b->B + 9 * at, tr = B[0] + B[4] + B[8];
    const double  o[6] = {B[0] - tr, B[4] - tr, B[8] - tr, B[1] + B[3], B[5] + B[7], B[2] + B[6]};
    return o[product] + b->K0w[(size_t)product * nq * nq + at];
}

// Geometric stiffness goes through a file: every matrix of it, and what is written again is the same. Files do not say what in Oe is
// geometric stiffness and what second moments are; the equations have the sum.
static void geometric_stiffness_goes_through_a_file(void **state)
{
    (void)state;
    kd_flexible_body b = make_body(2), again;
    char             message[300];
    size_t           length, nq = (size_t)b.nq;
    char            *text = written(&b, &length);
    assert_non_null(b.K0t && b.K0r && b.K0w && b.K0F ? b.K0F : NULL);
    assert_true(norm(3 * nq * nq, b.K0t) > 0 && norm(3 * nq * nq, b.K0r) > 0 && norm(6 * nq * nq, b.K0F) > 0);
    assert_non_null(strstr(text, "with geometric stiffness"));
    assert_int_equal(parse(text, &again, message, sizeof message), KD_OK);
    assert_non_null(again.K0t && again.K0r && again.K0w && again.K0F ? again.K0F : NULL);
    assert_same(3 * nq * nq, b.K0t, again.K0t, norm(3 * nq * nq, b.K0t));
    assert_same(3 * nq * nq, b.K0r, again.K0r, norm(3 * nq * nq, b.K0r));
    assert_same(6 * nq * nq, b.K0F, again.K0F, norm(6 * nq * nq, b.K0F));
    double largest = 0;
    for (size_t i = 0; i < 6 * nq * nq; i++) largest = fmax(largest, fabs(b.K0w[i]));
    for (int k = 0; k < b.nq; k++)
        for (int l = 0; l < b.nq; l++) {
            for (int i = 0; i < 6; i++)
                assert_true(fabs(centrifugal_entry(&b, k, l, i) - centrifugal_entry(&again, k, l, i)) <
                            1e-12 * largest);
            // gyroscopic terms: the antisymmetric part alone
            const double *B = b.B + 9 * (k + b.nq * l), *C = again.B + 9 * (k + b.nq * l);
            assert_true(fabs(B[5] - B[7] - C[5] + C[7]) < 1e-13 && fabs(B[6] - B[2] - C[6] + C[2]) < 1e-13);
        }
    static entries first, second; // large
    char          *next = written(&again, &length);
    scan(text, b.nq, &first);
    scan(next, b.nq, &second);
    assert_same_entries("written again", &first, &second);
    free(text);
    free(next);
    kd_flexible_body_release(&again);
    kd_flexible_body_release(&b);
}

// m1 of phi of a node: value[row - 1][q - 1][column - 1] for up to 8 coordinates
static void scan_phi(const char *text, const char *node, double value[3][8][8])
{
    char        line[400], number[60];
    const char *at = strstr(text, node);
    memset(value, 0, 3 * sizeof *value);
    assert_non_null(at);
    at = strstr(at, "phi");
    const char *last = at ? strstr(at, "end phi") : NULL;
    if (!last && at) last = strstr(at, "psi");
    assert_true(at && last);
    for (; at < last; at = strchr(at, '\n') + 1) {
        int row = 0, q = 0, column = 0;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (sscanf(line, " m1( %d, %d, %d) =%59s", &row, &q, &column, number) != 4) continue;
        assert_true(row >= 1 && row <= 3 && q >= 1 && q <= 8 && column >= 1 && column <= 8);
        for (char *c = number; *c; c++)
            if (*c == 'D') *c = 'E';
        value[row - 1][q - 1][column - 1] = atof(number);
    }
}

// The tip of a beam that bends comes nearer to its root, by half of the integral of w'^2: m1 of phi along the beam is
// -int w'^2, which is at most -w^2/L with the deflection w of the tip. A wrong sign in reader and writer alike would go
// through a file unchanged.
static void tips_come_nearer(void **state)
{
    (void)state;
    kd_flexible_body b = make_body(1);
    size_t           length;
    char            *text = written(&b, &length);
    const double     L = sqrt(1 + 0.2 * 0.2 + 0.1 * 0.1), along[3] = {1 / L, 0.2 / L, -0.1 / L};
    double           m1[3][8][8];
    int              bending = 0, tip = 0;
    while (tip < b.nframes && strcmp(b.frame[tip].name, "tip") != 0) tip++;
    assert_true(tip < b.nframes && b.nq <= 8);
    scan_phi(text, "= tip", m1);
    for (int q = 0; q < b.nq; q++) {
        const double *u = b.frame[tip].Phi + 3 * q;
        const double  axial = u[0] * along[0] + u[1] * along[1] + u[2] * along[2];
        const double  w2 = u[0] * u[0] + u[1] * u[1] + u[2] * u[2] - axial * axial;
        const double  nearer = along[0] * m1[0][q][q] + along[1] * m1[1][q][q] + along[2] * m1[2][q][q];
        if (w2 < 1e-6 * (w2 + axial * axial)) continue;
        bending++;
        if (!(nearer <= -w2 / L * (1 - 1e-9))) fail_msg("mode %d: %.12g, at most %.12g", q, nearer, -w2 / L);
    }
    assert_true(bending >= 2);
    free(text);
    kd_flexible_body_release(&b);
}

// Wrong files: what is wrong is named with its line; every cut of a file is refused.
static void wrong_files_are_refused(void **state)
{
    (void)state;
    kd_flexible_body b = make_body(1), other;
    char             message[300];
    size_t           length;
    char            *text = written(&b, &length);
    static const struct {
        const char *from, *to, *why;
    } wrong[] = {
        {"nelastq", "nelastx", "mass or nelastq is missing"},
        {"nelastq                         =     5", "nelastq                         =    -5",
         "the number of modes is expected"},
        {"           mdCM", "           mdXX", "this matrix is not known: 'mdXX'"},
        {"           Ct\n", "           Cr\n", "Cr has"},
        {"structure", "structurX", "'structure = number' is expected"},
        {"m0( 1, 1)", "m0( 9, 1)", "an entry inside of the matrix is expected"},
        {"           refmod", "           rubbish", "this is no SID file"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *copy = test_malloc(length + 100), *at = strstr(text, wrong[i].from);
        assert_non_null(at);
        memcpy(copy, text, (size_t)(at - text));
        strcpy(copy + (at - text), wrong[i].to);
        strcat(copy, at + strlen(wrong[i].from));
        const kd_status status = parse(copy, &other, message, sizeof message);
        if (i != 3) {
            assert_int_equal(status, KD_ERR_FILE);
            if (!strstr(message, wrong[i].why)) print_error("%zu: %s\n", i, message);
            assert_non_null(strstr(message, wrong[i].why));
            assert_memory_equal(message, "a.SID_FEM:", 10);
        } else {
            assert_int_equal(status, KD_ERR_FILE);
        }
        test_free(copy);
    }
    for (size_t cut = 0; cut + 60 < length; cut += length / 37) {
        char *copy = test_malloc(cut + 1);
        memcpy(copy, text, cut);
        copy[cut] = '\0';
        assert_int_equal(parse(copy, &other, message, sizeof message), KD_ERR_FILE);
        test_free(copy);
    }
    free(text);
    kd_flexible_body_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_files_are_read),
        cmocka_unit_test(own_bodies_go_through_a_file),
        cmocka_unit_test(geometric_stiffness_goes_through_a_file),
        cmocka_unit_test(tips_come_nearer),
        cmocka_unit_test(wrong_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
