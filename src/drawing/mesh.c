// mesh.c: boxes, cylinders, tubes and a pyramid of unit size.
#include "drawing/mesh.h"

enum { PIECES = 4 }; // of long meshes

// ---- building -------------------------------------------------------------------------------------------------------
static bool start_mesh(kd_mesh *m, kd_arena *arena, int nvertices, int nfaces, int ncorners)
{
    m->vertex = kd_arena_cut(arena, (size_t)nvertices, sizeof *m->vertex);
    m->first = kd_cut_int(arena, nfaces + 1);
    m->corner = kd_cut_int(arena, ncorners);
    return !arena->failed;
}

static void add_corner(kd_mesh *m, int vertex)
{
    m->corner[m->first[m->nfaces]++] = vertex;
}

// Close the face whose corners were added; the next one begins there.
static void end_face(kd_mesh *m)
{
    m->nfaces++;
    m->first[m->nfaces] = m->first[m->nfaces - 1];
}

static void add_quad(kd_mesh *m, int a, int b, int c, int d)
{
    add_corner(m, a);
    add_corner(m, b);
    add_corner(m, c);
    add_corner(m, d);
    end_face(m);
}

static void add_triangle(kd_mesh *m, int a, int b, int c)
{
    add_corner(m, a);
    add_corner(m, b);
    add_corner(m, c);
    end_face(m);
}

// While a mesh is built, first[i] is the end of face i; shift so that it is the beginning.
static void finish_mesh(kd_mesh *m)
{
    for (int i = m->nfaces; i > 0; i--) m->first[i] = m->first[i - 1];
    m->first[0] = 0;
}

// A ring of n vertices at height z
static void add_ring(kd_mesh *m, int n, double radius, double phase, double z)
{
    for (int i = 0; i < n; i++) {
        double angle = 2.0 * KD_PI * (i + phase) / n;
        m->vertex[m->nvertices++] = kd_vec(radius * cos(angle), radius * sin(angle), z);
    }
}

// Quads between the ring of n vertices that begins at a and the one above it at b, seen from outside
static void add_wall(kd_mesh *m, int n, int a, int b)
{
    for (int i = 0; i < n; i++) {
        int next = (i + 1) % n;
        add_quad(m, a + i, a + next, b + next, b + i);
    }
}

// ---- meshes ---------------------------------------------------------------------------------------------------------
// Prism of n sides in pieces along z; sectors: in one piece, its ends cut into triangles, one sector marked
static bool make_prism(kd_mesh *m, kd_arena *arena, int n, double radius, int pieces, bool sectors)
{
    int rings = pieces + 1;
    if (!start_mesh(m, arena, rings * n + 2, pieces * n + 2 * n, 4 * pieces * n + 6 * n)) return false;
    // rings from the lower to the upper end
    for (int k = 0; k < rings; k++) add_ring(m, n, radius, n == 4 ? 0.5 : 0.0, (double)k / pieces - 0.5);
    int top = pieces * n, middle = m->nvertices;
    // wall and both ends by sectors; the first twelfth is marked, so that rotation is seen
    if (sectors) {
        m->vertex[m->nvertices++] = kd_vec(0, 0, -0.5);
        m->vertex[m->nvertices++] = kd_vec(0, 0, 0.5);
        for (int i = 0; i < n; i++) {
            int next = (i + 1) % n;
            add_quad(m, i, next, top + next, top + i);
            add_triangle(m, middle, next, i);
            add_triangle(m, middle + 1, top + i, top + next);
            if (i < n / 12) m->nmarked = m->nfaces;
        }
    } else {
        // walls piece by piece, then the lower and the upper end, both seen from outside
        for (int k = 0; k < pieces; k++) add_wall(m, n, k * n, (k + 1) * n);
        for (int i = 0; i < n; i++) add_corner(m, n - 1 - i);
        end_face(m);
        for (int i = 0; i < n; i++) add_corner(m, top + i);
        end_face(m);
    }
    finish_mesh(m);
    return true;
}

static bool make_tube(kd_mesh *m, kd_arena *arena, int n, double inner)
{
    if (!start_mesh(m, arena, 4 * n, 4 * n, 16 * n)) return false;
    add_ring(m, n, 1.0, 0.0, -0.5);
    add_ring(m, n, 1.0, 0.0, 0.5);
    add_ring(m, n, inner, 0.0, -0.5);
    add_ring(m, n, inner, 0.0, 0.5);
    add_wall(m, n, 0, n);
    add_wall(m, n, 3 * n, 2 * n); // inside
    add_wall(m, n, n, 3 * n);     // upper end
    add_wall(m, n, 2 * n, 0);     // lower end
    m->hollow = true;
    finish_mesh(m);
    return true;
}

static bool make_pyramid(kd_mesh *m, kd_arena *arena)
{
    if (!start_mesh(m, arena, 5, 5, 16)) return false;
    add_ring(m, 4, sqrt(2.0), 0.5, -1.0);
    m->vertex[m->nvertices++] = kd_vec(0, 0, 0);
    for (int i = 0; i < 4; i++) add_triangle(m, i, (i + 1) % 4, 4);
    add_quad(m, 3, 2, 1, 0);
    finish_mesh(m);
    return true;
}

static double tube_ratio(int i)
{
    return (i + 1.0) / (KD_MESH_TUBES + 1.0);
}

int kd_mesh_of_tube(double ratio)
{
    int i = (int)lround(ratio * (KD_MESH_TUBES + 1)) - 1;
    return KD_MESH_TUBE + (i < 0 ? 0 : i >= KD_MESH_TUBES ? KD_MESH_TUBES - 1 : i);
}

double kd_mesh_tube_ratio(int mesh)
{
    return (double)(mesh - KD_MESH_TUBE + 1) / (KD_MESH_TUBES + 1);
}

kd_mesh *kd_meshes_create(kd_arena *arena, int sides)
{
    kd_mesh *m = kd_arena_cut(arena, KD_MESHES, sizeof *m);
    if (!m) return NULL;
    const double half_diagonal = sqrt(0.5);
    bool         made = make_prism(&m[KD_MESH_BOX], arena, 4, half_diagonal, 1, false) &&
                make_prism(&m[KD_MESH_BAR], arena, 4, half_diagonal, PIECES, false) &&
                make_prism(&m[KD_MESH_CYLINDER], arena, sides, 1.0, 1, false) &&
                make_prism(&m[KD_MESH_LONG], arena, sides, 1.0, PIECES, false) &&
                make_prism(&m[KD_MESH_DISC], arena, 2 * sides, 1.0, 1, true) &&
                make_pyramid(&m[KD_MESH_PYRAMID], arena);
    for (int i = 0; made && i < KD_MESH_TUBES; i++) made = make_tube(&m[KD_MESH_TUBE + i], arena, sides, tube_ratio(i));
    return made ? m : NULL;
}

// ---- surfaces from files --------------------------------------------------------------------------------------------

// The box of a surface as a box with edges 1 about its middle; a flat one stays flat
static void fit(const kd_surface *s, kd_vec3 *vertex)
{
    const kd_surface_moments box = kd_surface_moments_of(s);
    const kd_vec3 e = kd_vec_sub(box.high, box.low), middle = kd_vec_scale(0.5, kd_vec_add(box.low, box.high));
    for (int i = 0; i < s->nvertices; i++) {
        const kd_vec3 d = kd_vec_sub(s->vertex[i], middle);
        vertex[i] = kd_vec(e.x > 0.0 ? d.x / e.x : 0.0, e.y > 0.0 ? d.y / e.y : 0.0, e.z > 0.0 ? d.z / e.z : 0.0);
    }
}

bool kd_mesh_of_surface(kd_arena *arena, const kd_surface *surface, int most, kd_mesh *mesh)
{
    // as many triangles as a picture holds
    kd_surface thin;
    if (kd_surface_thin(surface, most, &thin) < 0) return false;
    *mesh = (kd_mesh){.nvertices = thin.nvertices, .nfaces = thin.ntriangles, .hollow = true};
    mesh->vertex = kd_arena_cut(arena, (size_t)thin.nvertices, sizeof *mesh->vertex);
    mesh->first = kd_cut_int(arena, thin.ntriangles + 1);
    mesh->corner = kd_cut_int(arena, 3 * thin.ntriangles);
    // every face is a triangle
    if (!arena->failed) {
        fit(&thin, mesh->vertex);
        for (int i = 0; i <= thin.ntriangles; i++) mesh->first[i] = 3 * i;
        for (int i = 0; i < thin.ntriangles; i++) {
            mesh->corner[3 * i] = thin.triangle[i].a;
            mesh->corner[3 * i + 1] = thin.triangle[i].b;
            mesh->corner[3 * i + 2] = thin.triangle[i].c;
        }
    }
    kd_surface_release(&thin);
    return !arena->failed;
}

void kd_mesh_invert(kd_mesh *mesh)
{
    for (int i = 0; i < mesh->nvertices; i++) mesh->vertex[i] = kd_vec_scale(-1.0, mesh->vertex[i]);
    // corners the other way round
    for (int f = 0; f < mesh->nfaces; f++)
        for (int a = mesh->first[f], b = mesh->first[f + 1] - 1; a < b; a++, b--) {
            const int corner = mesh->corner[a];
            mesh->corner[a] = mesh->corner[b];
            mesh->corner[b] = corner;
        }
}
