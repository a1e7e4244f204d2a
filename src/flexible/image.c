// image.c: a flexible body in a mirror: its vectors are multiplied by L, an orthogonal matrix with determinant 1 or -1.
//
// With x -> L x, phi -> L phi the amplitudes, masses and stiffness of the modes stay what they are. Moments int a b' become L int a b' L';
// what is axial (small rotations, angular velocities, moments of force) gets the determinant beside L.
#include <math.h>
#include <string.h>

#include "flexible/body.h"

static double entry(const kd_mat3 *A, int i, int j)
{
    const kd_vec3 *c = j == 0 ? &A->x : j == 1 ? &A->y : &A->z;
    return i == 0 ? c->x : i == 1 ? c->y : c->z;
}

static double determinant(const kd_mat3 *A)
{
    return kd_vec_dot(A->x, kd_vec_cross(A->y, A->z));
}

// n vectors, one behind the other
static void turn_vectors(const kd_mat3 *L, double factor, size_t n, double *x)
{
    for (size_t k = 0; k < n; k++) kd_vec_to(kd_vec_scale(factor, kd_mat_vec(L, kd_vec_of(x + 3 * k))), x + 3 * k);
}

// n matrices, L A L'
static void turn_matrices(const kd_mat3 *L, size_t n, double *x)
{
    const kd_mat3 Lt = kd_mat_transpose(L);
    for (size_t k = 0; k < n; k++) {
        double       *a = x + 9 * k;
        const kd_mat3 A = {kd_vec_of(a), kd_vec_of(a + 3), kd_vec_of(a + 6)}, LA = kd_mat_mul(L, &A),
                      new = kd_mat_mul(&LA, &Lt);
        kd_vec_to(new.x, a), kd_vec_to(new.y, a + 3), kd_vec_to(new.z, a + 6);
    }
}

// Three matrices (n numbers each), one for each direction of a load; NULL: there are none
static void turn_directions(const kd_mat3 *L, double factor, size_t n, double *K)
{
    for (size_t i = 0; K && i < n; i++) {
        const kd_vec3 turned = kd_mat_vec(L, kd_vec(K[i], K[i + n], K[i + 2 * n]));
        K[i] = factor * turned.x, K[i + n] = factor * turned.y, K[i + 2 * n] = factor * turned.z;
    }
}

// Six matrices for the products xx yy zz xy yz xz of angular velocities
static void turn_products(const kd_mat3 *L, size_t n, double *K)
{
    for (size_t i = 0; K && i < n; i++) {
        double      *k = K + i;
        const double xy = k[3 * n] / 2, yz = k[4 * n] / 2, xz = k[5 * n] / 2;
        double       T[9] = {k[0], xy, xz, xy, k[n], yz, xz, yz, k[2 * n]};
        turn_matrices(L, 1, T);
        k[0] = T[0], k[n] = T[4], k[2 * n] = T[8];
        k[3 * n] = 2 * T[1], k[4 * n] = 2 * T[5], k[5 * n] = 2 * T[2];
    }
}

// Deflections by loads at the frames: both have six components
static void turn_residual(const kd_mat3 *L, double axial, int nframes, double *R)
{
    const size_t n = 6 * (size_t)nframes;
    if (!R) return;
    for (size_t j = 0; j < n; j++)
        for (int f = 0; f < nframes; f++) {
            turn_vectors(L, 1, 1, R + j * n + 6 * (size_t)f);
            turn_vectors(L, axial, 1, R + j * n + 6 * (size_t)f + 3);
        }
    for (size_t i = 0; i < n; i++)
        for (int f = 0; f < 2 * nframes; f++) {
            double *row = R + i + 3 * (size_t)f * n, v[3] = {row[0], row[n], row[2 * n]};
            turn_vectors(L, f % 2 ? axial : 1, 1, v);
            row[0] = v[0], row[n] = v[1], row[2 * n] = v[2];
        }
}

// The axis that one axis becomes; false: none
static bool turn_axis(const kd_mat3 *L, char *axis)
{
    static const char names[] = "xyz";
    if (!*axis) return true;
    for (int i = 0; i < 3; i++)
        if (fabs(fabs(entry(L, i, *axis - 'x')) - 1) < 1e-12) {
            *axis = names[i];
            return true;
        }
    return false;
}

static double *copy(kd_arena *arena, const double *from, size_t n)
{
    double *to = from ? kd_arena_cut(arena, n, sizeof *to) : NULL;
    if (to) memcpy(to, from, n * sizeof *to);
    return to;
}

static bool copy_frames(const kd_flexible_body *b, kd_flexible_body *out)
{
    const size_t three = 3 * (size_t)b->nq;
    out->frame = kd_arena_cut(&out->arena, (size_t)b->nframes, sizeof *out->frame);
    for (int f = 0; f < b->nframes && !out->arena.failed; f++) {
        char *name = kd_arena_cut(&out->arena, strlen(b->frame[f].name) + 1, 1);
        if (name) strcpy(name, b->frame[f].name);
        out->frame[f] = (kd_flexible_frame){.name = name,
                                            .at = b->frame[f].at,
                                            .Phi = copy(&out->arena, b->frame[f].Phi, three),
                                            .Psi = copy(&out->arena, b->frame[f].Psi, three)};
    }
    return !out->arena.failed;
}

static bool copy_spots(const kd_flexible_body *b, kd_flexible_body *out)
{
    out->spot = b->nspots > 0 ? kd_arena_cut(&out->arena, (size_t)b->nspots, sizeof *out->spot) : NULL;
    for (int i = 0; i < b->nspots && !out->arena.failed; i++) {
        char *name = kd_arena_cut(&out->arena, strlen(b->spot[i].name) + 1, 1);
        if (name) strcpy(name, b->spot[i].name);
        out->spot[i] = (kd_stress_spot){name, b->spot[i].place};
    }
    return !out->arena.failed;
}

// A mirror turns triangles round: outside stays outside
static bool copy_skin(const kd_flexible_body *b, double axial, kd_flexible_body *out)
{
    const size_t corners = 3 * (size_t)b->ntriangles, ends = 2 * (size_t)b->nlines;
    out->triangle = kd_arena_cut(&out->arena, corners, sizeof *out->triangle);
    out->line = kd_arena_cut(&out->arena, ends, sizeof *out->line);
    if (out->arena.failed) return false;
    if (ends > 0) memcpy(out->line, b->line, ends * sizeof *out->line);
    for (size_t i = 0; i < corners; i++) out->triangle[i] = b->triangle[axial < 0 && i % 3 ? i - i % 3 + 3 - i % 3 : i];
    return true;
}

// Stress L sigma L' of n places, six components each
static void turn_stress(const kd_mat3 *L, size_t n, double *stress)
{
    for (size_t i = 0; stress && i < n; i++, stress += 6) {
        double m[9] = {stress[0], stress[3], stress[5], stress[3], stress[1],
                       stress[4], stress[5], stress[4], stress[2]};
        turn_matrices(L, 1, m);
        const double turned[6] = {m[0], m[4], m[8], m[1], m[5], m[2]};
        memcpy(stress, turned, sizeof turned);
    }
}

kd_status kd_flexible_body_image(const kd_flexible_body *b, const kd_mat3 *L, kd_flexible_body *out)
{
    const size_t nq = (size_t)b->nq, square = nq * nq, nodes = (size_t)b->nnodes, frames = (size_t)b->nframes;
    const double axial = determinant(L) < 0 ? -1 : 1;
    *out = *b;
    out->arena = (kd_arena){0};
    const struct {
        double **to;
        size_t   n;
    } all[] = {{&out->C, 3 * nq},
               {&out->A, 9 * nq},
               {&out->B, 9 * square},
               {&out->Cr, 3 * nq},
               {&out->Me, square},
               {&out->Ke, square},
               {&out->De, square},
               {&out->K0t, 3 * square},
               {&out->K0r, 3 * square},
               {&out->K0w, 6 * square},
               {&out->K0F, 3 * frames * square},
               {&out->residual, 36 * frames * frames},
               {&out->place, 3 * (size_t)b->nplaces},
               {&out->stress, 6 * (size_t)b->nplaces * nq},
               {&out->node, 3 * nodes},
               {&out->shape, 3 * nodes * nq}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i].to = copy(&out->arena, *all[i].to, all[i].n);
    const bool there = copy_frames(b, out) && copy_spots(b, out) && copy_skin(b, axial, out) && !out->arena.failed;
    if (!there || !turn_axis(L, &out->spin_axis)) {
        kd_flexible_body_release(out);
        return there ? KD_ERR_MODEL : KD_ERR_MEMORY;
    }
    // moments
    turn_vectors(L, 1, 1, out->first);
    turn_matrices(L, 1, out->second);
    turn_vectors(L, 1, nq, out->C);
    turn_matrices(L, nq, out->A);
    turn_matrices(L, square, out->B);
    turn_vectors(L, axial, nq, out->Cr);
    // stiffness by loads
    turn_directions(L, 1, square, out->K0t);
    turn_directions(L, axial, square, out->K0r);
    turn_products(L, square, out->K0w);
    for (size_t f = 0; out->K0F && f < frames; f++) turn_directions(L, 1, square, out->K0F + 3 * f * square);
    // places
    turn_residual(L, axial, b->nframes, out->residual);
    turn_stress(L, (size_t)b->nplaces * nq, out->stress);
    if (out->place) turn_vectors(L, 1, (size_t)b->nplaces, out->place);
    turn_vectors(L, 1, nodes, out->node);
    turn_vectors(L, 1, nodes * nq, out->shape);
    for (size_t f = 0; f < frames; f++) {
        out->frame[f].at = kd_mat_vec(L, b->frame[f].at);
        turn_vectors(L, 1, nq, out->frame[f].Phi);
        turn_vectors(L, axial, nq, out->frame[f].Psi);
    }
    return KD_OK;
}
