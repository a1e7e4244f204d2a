// surface.c: reading by kind of file, closedness, moments, thinning.
//
// Moments by the divergence theorem: a closed surface is a sum of signed tetrahedra from a common point to its triangles, each with
//     V = a (b x c) / 6,   int x = V (a + b + c) / 4,   int x x' = V/20 (a a' + b b' + c c' + s s'),  s = a + b + c.
// The common point is the middle of the box, so that far away surfaces lose no digits.
#include "surface/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/read_number.h"
#include "core/text.h"
#include "surface/file_formats.h"

enum { MOST_BYTES = 600000000 };
static const double LARGEST = 1e30; // of a coordinate: larger ones overflow in products

// ---- lines of text --------------------------------------------------------------------------------------------------
bool kd_surface_numbers(kd_lines *t, const char *words, kd_vec3 *r)
{
    double x[3];
    for (int i = 0; i < 3; i++) {
        char *end;
        x[i] = kd_read_number(words, &end);
        if (end == words || !(fabs(x[i]) <= LARGEST)) {
            kd_lines_refuse(t, "three finite numbers are expected, not", words);
            return false;
        }
        words = end;
    }
    *r = kd_vec_of(x);
    return true;
}

// ---- files ----------------------------------------------------------------------------------------------------------
kd_status kd_surface_parse(const char *path, const char *bytes, size_t length, double scale, kd_surface *s,
                           char *message, size_t size)
{
    kd_lines           text = {.path = path, .at = bytes, .end = bytes + length, .message = message, .size = size};
    kd_surface_builder builder;
    kd_status          status;
    *s = (kd_surface){0};
    kd_surface_begin(&builder, scale);
    if (kd_text_has_ending(path, ".obj")) {
        status = kd_obj_read(&text, &builder);
    } else if (!kd_text_has_ending(path, ".stl")) {
        kd_text(message, size, "%s: surfaces are read from files that end with .stl or .obj", path);
        status = KD_ERR_FILE;
    } else if (kd_stl_is_binary(bytes, length)) {
        status = kd_stl_read_binary(path, bytes, length, &builder, message, size);
    } else {
        status = kd_stl_read_text(&text, &builder);
    }
    const kd_status end = kd_surface_end(&builder, s);
    if (status == KD_OK) status = end;
    if (status == KD_OK && s->ntriangles == 0) {
        kd_text(message, size, "%s: there is no triangle with an area in it", path);
        status = KD_ERR_FILE;
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    if (status < 0) kd_surface_release(s);
    return status;
}

kd_status kd_surface_read(const char *path, double scale, kd_surface *s, char *message, size_t size)
{
    char  *bytes = NULL;
    size_t length;
    *s = (kd_surface){0};
    kd_status status = kd_load_file(path, MOST_BYTES, &bytes, &length, message, size);
    if (status == KD_OK && length > MOST_BYTES) {
        kd_text(message, size, "%s: the file is larger than %d MB", path, MOST_BYTES / 1000000);
        status = KD_ERR_FILE;
    }
    if (status == KD_OK) status = kd_surface_parse(path, bytes, length, scale, s, message, size);
    kd_free(bytes);
    return status;
}

void kd_surface_release(kd_surface *s)
{
    kd_arena_release(&s->arena);
    *s = (kd_surface){0};
}

// ---- closed or not --------------------------------------------------------------------------------------------------
typedef struct edge {
    int low, high; // vertices
    int direction; // 1: from low to high
} edge;

static int by_vertices(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return 0;
}

static edge edge_of(int from, int to)
{
    return from < to ? (edge){from, to, 1} : (edge){to, from, -1};
}

// One edge with all triangles at it: edges e[0 .. n-1]
static void judge(const kd_surface *s, const edge *e, int n, kd_surface_faults *f)
{
    const bool fine = n == 2 && e[0].direction != e[1].direction;
    if (fine) return;
    if (f->open + f->folded + f->flipped == 0)
        f->place = kd_vec_scale(0.5, kd_vec_add(s->vertex[e[0].low], s->vertex[e[0].high]));
    if (n == 1)
        f->open++;
    else if (n == 2)
        f->flipped++;
    else
        f->folded++;
}

kd_status kd_surface_check(const kd_surface *s, kd_surface_faults *f)
{
    const int n = 3 * s->ntriangles;
    edge     *list = kd_alloc(((size_t)n + 1) * sizeof *list);
    *f = (kd_surface_faults){0};
    if (!list) return KD_ERR_MEMORY;

    // edges of all triangles, those between the same vertices side by side
    for (int i = 0; i < s->ntriangles; i++) {
        const kd_triangle *t = &s->triangle[i];
        list[3 * i] = edge_of(t->a, t->b);
        list[3 * i + 1] = edge_of(t->b, t->c);
        list[3 * i + 2] = edge_of(t->c, t->a);
    }
    qsort(list, (size_t)n, sizeof *list, by_vertices);
    for (int first = 0, i = 1; i <= n; i++) {
        if (i < n && by_vertices(&list[first], &list[i]) == 0) continue;
        judge(s, &list[first], i - first, f);
        first = i;
    }
    f->inside_out = kd_surface_is_closed(f) && kd_surface_moments_of(s).volume < 0.0;
    kd_free(list);
    return KD_OK;
}

bool kd_surface_is_closed(const kd_surface_faults *f)
{
    return f->open + f->folded + f->flipped == 0;
}

const char *kd_surface_faults_words(const kd_surface_faults *f, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", f->inside_out ? "all triangles look inwards" : "");
    if (kd_surface_is_closed(f)) return buffer;
    const char *comma = "";
    if (f->open > 0) kd_text_append(buffer, size, "%ld edges are open (a hole)", f->open), comma = ", ";
    if (f->flipped > 0)
        kd_text_append(buffer, size, "%s%ld edges have triangles that look to different sides", comma, f->flipped),
            comma = ", ";
    if (f->folded > 0) kd_text_append(buffer, size, "%s%ld edges have more than two triangles", comma, f->folded);
    kd_text_append(buffer, size, ", the first one at (%.6g, %.6g, %.6g)", f->place.x, f->place.y, f->place.z);
    return buffer;
}

// ---- moments --------------------------------------------------------------------------------------------------------
static void box_of(const kd_surface *s, kd_vec3 *low, kd_vec3 *high)
{
    *low = kd_vec(INFINITY, INFINITY, INFINITY);
    *high = kd_vec(-INFINITY, -INFINITY, -INFINITY);
    for (int i = 0; i < s->nvertices; i++) {
        const kd_vec3 r = s->vertex[i];
        *low = kd_vec(fmin(low->x, r.x), fmin(low->y, r.y), fmin(low->z, r.z));
        *high = kd_vec(fmax(high->x, r.x), fmax(high->y, r.y), fmax(high->z, r.z));
    }
}

static void add_square(kd_sym3 *sum, double factor, kd_vec3 a)
{
    sum->xx += factor * a.x * a.x;
    sum->yy += factor * a.y * a.y;
    sum->zz += factor * a.z * a.z;
    sum->xy += factor * a.x * a.y;
    sum->xz += factor * a.x * a.z;
    sum->yz += factor * a.y * a.z;
}

kd_surface_moments kd_surface_moments_of(const kd_surface *s)
{
    kd_surface_moments m = {0};
    kd_vec3            first = {0, 0, 0};
    kd_sym3            second = {0, 0, 0, 0, 0, 0}; // int x x'
    box_of(s, &m.low, &m.high);
    const kd_vec3 middle = kd_vec_scale(0.5, kd_vec_add(m.low, m.high));
    for (int i = 0; i < s->ntriangles; i++) {
        const kd_triangle *t = &s->triangle[i];
        const kd_vec3      a = kd_vec_sub(s->vertex[t->a], middle), b = kd_vec_sub(s->vertex[t->b], middle),
                      c = kd_vec_sub(s->vertex[t->c], middle), sum = kd_vec_add(a, kd_vec_add(b, c));
        const double volume = kd_vec_dot(a, kd_vec_cross(b, c)) / 6.0;
        m.area += 0.5 * kd_vec_norm(kd_vec_cross(kd_vec_sub(b, a), kd_vec_sub(c, a)));
        m.volume += volume;
        first = kd_vec_axpy(first, volume / 4.0, sum);
        add_square(&second, volume / 20.0, a);
        add_square(&second, volume / 20.0, b);
        add_square(&second, volume / 20.0, c);
        add_square(&second, volume / 20.0, sum);
    }
    // about the centre: int x x' - V c c', then I = trace 1 - that
    const kd_vec3 c = m.volume != 0.0 ? kd_vec_scale(1.0 / m.volume, first) : kd_vec(0, 0, 0);
    add_square(&second, -m.volume, c);
    m.centre = kd_vec_add(middle, c);
    m.inertia = (kd_sym3){
        second.yy + second.zz, second.xx + second.zz, second.xx + second.yy, -second.xy, -second.xz, -second.yz};
    return m;
}

// ---- fewer triangles ------------------------------------------------------------------------------------------------
// Every vertex to the first one of its cell, cells of a grid with n of them along the longest edge of the box
static kd_status cluster(const kd_surface *s, const kd_surface_moments *m, int n, kd_surface *thin)
{
    const kd_vec3      size = kd_vec_sub(m->high, m->low);
    const double       cell = fmax(size.x, fmax(size.y, size.z)) / n;
    int               *place = kd_alloc(((size_t)s->nvertices + 1) * sizeof *place);
    kd_surface_builder builder;
    kd_surface_begin(&builder, 1.0);
    if (!place) builder.failed = true;
    for (int i = 0; place && i < s->nvertices; i++) {
        const kd_vec3 r = kd_vec_scale(1.0 / cell, kd_vec_sub(s->vertex[i], m->low));
        const kd_vec3 middle = {floor(r.x) + 0.5, floor(r.y) + 0.5, floor(r.z) + 0.5};
        place[i] = kd_surface_add_vertex(&builder, kd_vec_axpy(m->low, cell, middle), true);
    }
    for (int i = 0; place && i < s->ntriangles; i++)
        kd_surface_add_triangle(&builder, place[s->triangle[i].a], place[s->triangle[i].b], place[s->triangle[i].c]);
    kd_free(place);
    return kd_surface_end(&builder, thin);
}

kd_status kd_surface_thin(const kd_surface *s, int most, kd_surface *thin)
{
    const kd_surface_moments m = kd_surface_moments_of(s);
    kd_status                status = KD_OK;
    *thin = (kd_surface){0};
    // grids become coarser until few enough triangles remain
    for (int n = 1024; n >= 1; n = n > 8 ? n * 3 / 4 : n - 1) {
        status = cluster(s, &m, n, thin);
        if (status < 0 || thin->ntriangles <= most) return status;
        kd_surface_release(thin);
    }
    return status;
}
