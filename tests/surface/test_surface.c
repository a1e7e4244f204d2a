// Surfaces from STL and OBJ files: moments against closed forms with their order in the mesh size, faults with their places,
// and files that are wrong.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "surface/surface.h"

// ---- meshes that are made here --------------------------------------------------------------------------------------
typedef struct soup {
    double (*triangle)[9];
    int n, room;
} soup;

static void put(soup *s, kd_vec3 a, kd_vec3 b, kd_vec3 c)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->triangle = realloc(s->triangle, (size_t)s->room * sizeof *s->triangle);
        assert_non_null(s->triangle);
    }
    double *t = s->triangle[s->n++];
    kd_vec_to(a, t);
    kd_vec_to(b, t + 3);
    kd_vec_to(c, t + 6);
}

static void put_quad(soup *s, kd_vec3 a, kd_vec3 b, kd_vec3 c, kd_vec3 d)
{
    put(s, a, b, c);
    put(s, a, c, d);
}

typedef kd_vec3 (*chart)(double u, double v, const double *size);

// n x m quads of a surface over the unit square, periodic in u and v, or closed to points at v = 0 and 1
static soup from_chart(chart at, const double *size, int n, int m)
{
    soup s = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) {
            const double u0 = (double)i / n, u1 = (double)((i + 1) % n) / n, v0 = (double)k / m,
                         v1 = (double)(k + 1) / m;
            put_quad(&s, at(u0, v0, size), at(u1, v0, size), at(u1, v1, size), at(u0, v1, size));
        }
    return s;
}

static kd_vec3 on_ball(double u, double v, const double *size)
{
    if (v == 0.0 || v == 1.0) return kd_vec(0, 0, v == 0.0 ? -size[0] : size[0]); // the same point for all u
    const double r = size[0] * sin(KD_PI * v);
    return kd_vec(r * cos(2 * KD_PI * u), r * sin(2 * KD_PI * u), -size[0] * cos(KD_PI * v));
}

static kd_vec3 on_torus(double u, double v, const double *size)
{
    const double angle = 2 * KD_PI * (v == 1.0 ? 0.0 : v), r = size[0] + size[1] * cos(angle);
    return kd_vec(r * cos(2 * KD_PI * u), r * sin(2 * KD_PI * u), size[1] * sin(angle));
}

// A prism over a polygon that is star-shaped about the origin or, with `fan` given, triangulated by it
static soup prism(const double (*corner)[2], int n, const int (*fan)[3], int nfan, double height)
{
    soup s = {0};
    for (int i = 0; i < n; i++) {
        const double *a = corner[i], *b = corner[(i + 1) % n];
        put_quad(&s, kd_vec(a[0], a[1], 0), kd_vec(b[0], b[1], 0), kd_vec(b[0], b[1], height),
                 kd_vec(a[0], a[1], height));
    }
    for (int i = 0; i < nfan; i++) {
        const double *a = corner[fan[i][0]], *b = corner[fan[i][1]], *c = corner[fan[i][2]];
        put(&s, kd_vec(a[0], a[1], height), kd_vec(b[0], b[1], height), kd_vec(c[0], c[1], height));
        put(&s, kd_vec(c[0], c[1], 0), kd_vec(b[0], b[1], 0), kd_vec(a[0], a[1], 0));
    }
    return s;
}

// ---- files ----------------------------------------------------------------------------------------------------------
typedef struct bytes {
    char  *text;
    size_t length, room;
} bytes;

static void append(bytes *b, const void *data, size_t n)
{
    if (b->length + n + 1 > b->room) {
        b->room = 2 * (b->length + n + 1);
        b->text = realloc(b->text, b->room);
        assert_non_null(b->text);
    }
    memcpy(b->text + b->length, data, n);
    b->length += n;
    b->text[b->length] = '\0';
}

static void print(bytes *b, const char *format, ...)
{
    char    line[300];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    append(b, line, (size_t)n);
}

static bytes as_text(const soup *s)
{
    bytes b = {0};
    print(&b, "solid part\n");
    for (int i = 0; i < s->n; i++) {
        print(&b, "  facet normal 0 0 0\n    outer loop\n");
        for (int k = 0; k < 3; k++)
            print(&b, "      vertex %.17g %.17g %.17g\n", s->triangle[i][3 * k], s->triangle[i][3 * k + 1],
                  s->triangle[i][3 * k + 2]);
        print(&b, "    endloop\n  endfacet\n");
    }
    print(&b, "endsolid part\n");
    return b;
}

static bytes as_binary(const soup *s)
{
    bytes    b = {0};
    char     head[80] = "solid is how some binary files begin as well";
    uint32_t n = (uint32_t)s->n;
    append(&b, head, sizeof head);
    append(&b, &n, 4);
    for (int i = 0; i < s->n; i++) {
        float x[12] = {0};
        for (int k = 0; k < 9; k++) x[3 + k] = (float)s->triangle[i][k];
        append(&b, x, sizeof x);
        append(&b, "\0\0", 2);
    }
    return b;
}

static bytes as_obj(const soup *s)
{
    bytes b = {0};
    print(&b, "# a comment\no part\n");
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < 3; k++)
            print(&b, "v %.17g %.17g %.17g\n", s->triangle[i][3 * k], s->triangle[i][3 * k + 1],
                  s->triangle[i][3 * k + 2]);
        if (i % 2)
            print(&b, "f -3/1/1 -2//7 -1\n");
        else
            print(&b, "f %d %d %d\n", 3 * i + 1, 3 * i + 2, 3 * i + 3);
    }
    return b;
}

static kd_surface surface_of(bytes b, const char *path, double scale)
{
    kd_surface s;
    char       message[300] = "";
    const int  status = kd_surface_parse(path, b.text, b.length, scale, &s, message, sizeof message);
    if (status != KD_OK) print_error("%s\n", message);
    assert_int_equal(status, KD_OK);
    free(b.text);
    return s;
}

static kd_surface_moments moments_of(soup s)
{
    kd_surface        surface = surface_of(as_text(&s), "a.stl", 1.0);
    kd_surface_faults faults;
    char              words[200];
    assert_int_equal(kd_surface_check(&surface, &faults), KD_OK);
    assert_string_equal(kd_surface_faults_words(&faults, words, sizeof words), "");
    const kd_surface_moments m = kd_surface_moments_of(&surface);
    kd_surface_release(&surface);
    free(s.triangle);
    return m;
}

static void assert_near(double value, double expected, double relative, const char *what)
{
    if (fabs(value - expected) <= relative * fabs(expected)) return;
    print_error("%s: %.15g instead of %.15g\n", what, value, expected);
    fail();
}

// ---- moments --------------------------------------------------------------------------------------------------------
// Ball and torus: volume, centre and inertia go to the closed forms with the square of the mesh size.
static void round_bodies_converge_with_order_two(void **state)
{
    (void)state;
    const double ball[] = {0.7}, torus[] = {1.1, 0.3};
    const double ball_volume = 4.0 / 3.0 * KD_PI * pow(ball[0], 3),
                 ball_inertia = 0.4 * ball_volume * ball[0] * ball[0];
    const double R = torus[0], r = torus[1], torus_volume = 2 * KD_PI * KD_PI * R * r * r;
    const double about_axis = torus_volume * (R * R + 0.75 * r * r),
                 across = torus_volume * (0.5 * R * R + 0.625 * r * r);
    double error[2][3][2];
    for (int level = 0; level < 2; level++) {
        const int                n = 40 << level;
        const kd_surface_moments b = moments_of(from_chart(on_ball, ball, 2 * n, n)),
                                 t = moments_of(from_chart(on_torus, torus, 2 * n, n));
        error[0][0][level] = b.volume / ball_volume - 1;
        error[0][1][level] = b.inertia.xx / ball_inertia - 1;
        error[0][2][level] = b.inertia.zz / ball_inertia - 1;
        error[1][0][level] = t.volume / torus_volume - 1;
        error[1][1][level] = t.inertia.xx / across - 1;
        error[1][2][level] = t.inertia.zz / about_axis - 1;
        assert_true(kd_vec_norm(b.centre) < 1e-12 && kd_vec_norm(t.centre) < 1e-12);
        assert_true(fabs(b.inertia.xy) + fabs(b.inertia.xz) + fabs(t.inertia.yz) < 1e-12);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            const double slope = log2(error[i][k][0] / error[i][k][1]);
            assert_true(fabs(error[i][k][1]) < 5e-3 && slope > 1.95 && slope < 2.05);
        }
}

// A profile of two plates is a polyhedron: its moments are those of two boxes, to rounding, also far from the origin.
static void profile_is_exact(void **state)
{
    (void)state;
    static const double corner[][2] = {{0, 0}, {4, 0}, {4, 1}, {1, 1}, {1, 3}, {0, 3}};
    static const int    fan[][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 4}, {0, 4, 5}};
    const double        h = 2.0, m1 = 4 * 1 * h, m2 = 1 * 2 * h, m = m1 + m2;
    const kd_vec3       c1 = {2, 0.5, 1}, c2 = {0.5, 2, 1},
                  c = kd_vec_scale(1 / m, kd_vec_add(kd_vec_scale(m1, c1), kd_vec_scale(m2, c2)));
    const double xx = m1 * ((1 + h * h) / 12 + pow(c1.y - c.y, 2)) + m2 * ((4 + h * h) / 12 + pow(c2.y - c.y, 2));
    const double zz = m1 * ((16 + 1) / 12.0 + pow(c1.x - c.x, 2) + pow(c1.y - c.y, 2)) +
                      m2 * ((1 + 4) / 12.0 + pow(c2.x - c.x, 2) + pow(c2.y - c.y, 2));
    const double xy = -m1 * (c1.x - c.x) * (c1.y - c.y) - m2 * (c2.x - c.x) * (c2.y - c.y);
    for (int far = 0; far < 2; far++) {
        soup s = prism(corner, 6, fan, 4, h);
        for (int i = 0; i < s.n; i++)
            for (int k = 0; k < 3; k++) s.triangle[i][3 * k] += 1024.0 * far;
        const kd_surface_moments a = moments_of(s);
        assert_near(a.volume, m, 1e-13, "volume");
        assert_near(a.centre.x - 1024.0 * far, c.x, 1e-12, "centre");
        assert_near(a.inertia.xx, xx, 1e-12, "Ixx");
        assert_near(a.inertia.zz, zz, 1e-12, "Izz");
        assert_near(a.inertia.xy, xy, 1e-12, "Ixy");
        assert_near(a.area, 2 * 6 + h * 14, 1e-13, "area");
    }
}

// A gear with square teeth: area and polar moment of its polygon by Green's theorem, by another formula than the code's.
static void gear_is_that_of_its_outline(void **state)
{
    (void)state;
    enum { TEETH = 24, N = 4 * TEETH };
    double corner[N][2], area = 0, polar = 0;
    int    fan[N][3];
    for (int i = 0; i < N; i++) {
        const double r = i % 4 < 2 ? 1.0 : 0.85, angle = 2 * KD_PI * (i + 0.2 * (i % 2)) / N;
        corner[i][0] = r * cos(angle);
        corner[i][1] = r * sin(angle);
    }
    for (int i = 0; i < N; i++) {
        const double *a = corner[i], *b = corner[(i + 1) % N], cross = a[0] * b[1] - a[1] * b[0];
        area += 0.5 * cross;
        polar += cross / 12 * (a[0] * a[0] + a[0] * b[0] + b[0] * b[0] + a[1] * a[1] + a[1] * b[1] + b[1] * b[1]);
    }
    // the outline is star-shaped: triangles from its middle, as a surface of its own
    const double h = 0.2;
    soup         s = prism((const double(*)[2])corner, N, (const int(*)[3])fan, 0, h);
    for (int i = 0; i < N; i++) {
        const double *a = corner[i], *b = corner[(i + 1) % N];
        put(&s, kd_vec(0, 0, h), kd_vec(a[0], a[1], h), kd_vec(b[0], b[1], h));
        put(&s, kd_vec(0, 0, 0), kd_vec(b[0], b[1], 0), kd_vec(a[0], a[1], 0));
    }
    const kd_surface_moments m = moments_of(s);
    assert_near(m.volume, area * h, 1e-12, "volume");
    assert_near(m.inertia.zz + m.volume * (m.centre.x * m.centre.x + m.centre.y * m.centre.y), polar * h, 1e-12, "Izz");
}

// Text, binary and OBJ of one mesh give the same surface; a scale multiplies lengths.
static void formats_agree(void **state)
{
    (void)state;
    const double torus[] = {1.0, 0.25};
    soup         s = from_chart(on_torus, torus, 24, 12);
    kd_surface   text = surface_of(as_text(&s), "a.stl", 1.0), obj = surface_of(as_obj(&s), "A.OBJ", 1.0),
               binary = surface_of(as_binary(&s), "b.STL", 1e-3);
    assert_int_equal(text.nvertices, 24 * 12);
    assert_int_equal(obj.nvertices, 24 * 12);
    assert_int_equal(binary.nvertices, 24 * 12);
    assert_int_equal(text.ntriangles, 2 * 24 * 12);
    const kd_surface_moments a = kd_surface_moments_of(&text), b = kd_surface_moments_of(&obj),
                             c = kd_surface_moments_of(&binary);
    assert_near(b.volume, a.volume, 1e-15, "volume");
    assert_near(b.inertia.yy, a.inertia.yy, 1e-15, "inertia");
    assert_near(1e9 * c.volume, a.volume, 1e-6, "volume in mm");
    kd_surface_release(&text);
    kd_surface_release(&obj);
    kd_surface_release(&binary);
    free(s.triangle);
}

// ---- faults ---------------------------------------------------------------------------------------------------------
static const char *faults_of(soup *s, char *words, size_t size)
{
    kd_surface_faults f;
    kd_surface        surface = surface_of(as_text(s), "a.stl", 1.0);
    assert_int_equal(kd_surface_check(&surface, &f), KD_OK);
    kd_surface_release(&surface);
    return kd_surface_faults_words(&f, words, size);
}

static void swap_corners(double *t)
{
    for (int k = 0; k < 3; k++) {
        const double kept = t[3 + k];
        t[3 + k] = t[6 + k];
        t[6 + k] = kept;
    }
}

// A hole, a flipped and a doubled triangle, and a surface that is inside out are told, with their place.
static void faults_have_words(void **state)
{
    (void)state;
    static const double corner[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    static const int    fan[][3] = {{0, 1, 2}, {0, 2, 3}};
    char                words[200];
    soup                s = prism(corner, 4, fan, 2, 1.0);
    assert_string_equal(faults_of(&s, words, sizeof words), "");
    s.n--; // the last triangle, at the bottom
    assert_string_equal(faults_of(&s, words, sizeof words),
                        "3 edges are open (a hole), the first one at (0.5, 0.5, 0)");
    s.n++;
    swap_corners(s.triangle[s.n - 1]);
    assert_non_null(strstr(faults_of(&s, words, sizeof words), "3 edges have triangles that look to different sides"));
    swap_corners(s.triangle[s.n - 1]);
    put(&s, kd_vec_of(s.triangle[0]), kd_vec_of(s.triangle[0] + 3), kd_vec_of(s.triangle[0] + 6));
    assert_non_null(strstr(faults_of(&s, words, sizeof words), "3 edges have more than two triangles"));
    s.n--;
    for (int i = 0; i < s.n; i++) swap_corners(s.triangle[i]);
    assert_string_equal(faults_of(&s, words, sizeof words), "all triangles look inwards");
    free(s.triangle);
}

// Triangles without area are dropped and counted; the rest stays closed.
static void flat_triangles_are_dropped(void **state)
{
    (void)state;
    static const double corner[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    static const int    fan[][3] = {{0, 1, 2}, {0, 2, 3}};
    soup                s = prism(corner, 4, fan, 2, 1.0);
    put(&s, kd_vec(0, 0, 0), kd_vec(0, 0, 0), kd_vec(1, 0, 0));
    put(&s, kd_vec(0, 0, 0), kd_vec(0.5, 0, 0), kd_vec(1, 0, 0));
    kd_surface        surface = surface_of(as_text(&s), "a.stl", 1.0);
    kd_surface_faults f;
    assert_int_equal(surface.ndropped, 2);
    assert_int_equal(kd_surface_check(&surface, &f), KD_OK);
    assert_true(kd_surface_is_closed(&f));
    kd_surface_release(&surface);
    free(s.triangle);
}

// Files that are wrong: one sentence each, with file and line.
static void wrong_files_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *message;
    } wrong[] = {
        {"a.stl", "", "a.stl:0: this is no STL file: text begins with 'solid', and as binary file its length is wrong"},
        {"a.stl",
         "\x7f"
         "ELF rubbish",
         "a.stl:1: this is no STL file: text begins with 'solid', and as binary file its length is wrong"},
        {"a.stl", "solid\nendsolid\n", "a.stl: there is no triangle with an area in it"},
        {"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 1 2\n",
         "a.stl:4: three finite numbers are expected, not"},
        {"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 1 2 nan\n",
         "a.stl:4: three finite numbers are expected, not ' nan'"},
        {"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 1 2 1e31\n",
         "a.stl:4: three finite numbers are expected, not ' 1e31'"},
        {"a.stl", "solid\nvertex 1 2 3\n", "a.stl:2: a vertex that belongs to no triangle"},
        {"a.stl", "solid\nfacet\nouter loop\nvertex 1 2 3\nendloop\nendfacet\n",
         "a.stl:6: a facet needs three vertices"},
        {"a.stl", "solid\nfacet\nfacet\n", "a.stl:3: a facet begins before the one above has ended"},
        {"a.stl", "solid\nfacet\n", "a.stl:2: the file ends inside of a facet"},
        {"a.stl", "solid\nface normal\n", "a.stl:2: unknown word 'face normal'"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "a.obj:3: a face needs three corners"},
        {"a.obj", "v 0 0 0\nv 1 0 0\nf 1 2 3\n", "a.obj:3: no such vertex '3'"},
        {"a.obj", "v 0 0 0\nf 1 1 x\n", "a.obj:2: no such vertex 'x'"},
        {"a.obj", "v 0 0 0\nf -1 -1 -99999999999999999999\n", "a.obj:2: no such vertex '-99999999999999999999'"},
        {"a.obj", "v 0 zero 0\n", "a.obj:1: three finite numbers are expected, not ' zero 0'"},
        {"a.obj", "v 0 0 0\n", "a.obj: there is no triangle with an area in it"},
        {"a.ply", "ply", "a.ply: surfaces are read from files that end with .stl or .obj"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kd_surface s;
        char       message[300] = "";
        assert_int_equal(
            kd_surface_parse(wrong[i].path, wrong[i].text, strlen(wrong[i].text), 1.0, &s, message, sizeof message),
            KD_ERR_FILE);
        if (strcmp(message, wrong[i].message) != 0)
            print_error("case %zu: %s\ninstead of: %s\n", i, message, wrong[i].message);
        assert_string_equal(message, wrong[i].message);
        assert_null(s.vertex);
    }
    kd_surface s;
    char       message[300] = "";
    assert_int_equal(kd_surface_read("no such file.stl", 1.0, &s, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "no such file.stl"));
}

// Thinning leaves few triangles near the old surface; memory that fails is told.
static void thinning_keeps_the_form(void **state)
{
    (void)state;
    const double ball[] = {1.0};
    soup         s = from_chart(on_ball, ball, 200, 100);
    kd_surface   surface = surface_of(as_text(&s), "a.stl", 1.0), thin;
    assert_int_equal(kd_surface_thin(&surface, 2000, &thin), KD_OK);
    assert_true(thin.ntriangles > 500 && thin.ntriangles <= 2000);
    for (int i = 0; i < thin.nvertices; i++) assert_true(fabs(kd_vec_norm(thin.vertex[i]) - 1.0) < 0.15);
    kd_surface_release(&thin);
    kd_surface_release(&surface);
    free(s.triangle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_bodies_converge_with_order_two),
        cmocka_unit_test(profile_is_exact),
        cmocka_unit_test(gear_is_that_of_its_outline),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(faults_have_words),
        cmocka_unit_test(flat_triangles_are_dropped),
        cmocka_unit_test(wrong_files_are_told),
        cmocka_unit_test(thinning_keeps_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
