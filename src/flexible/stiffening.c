// stiffening.c: the stiffness that axial forces give to beams (geometric stiffness), for every load that rigid motion and
// interfaces bring.
//
// A load f is carried by the body, held by its reference: K u = f. Beams get the axial forces N = EA/L (u_2 - u_1) e_x, which
// bend back what leaves their line: int N (v'^2 + w'^2)/2 dx, with cubic shapes in both planes; N falls along an element by the
// load on it. What N does to twist is left out. K_G is linear in f, so one matrix Z' K_G Z for each unit load will do:
//     accelerations a of the frame:          f = -M (shift along a)
//     angular accelerations:                 f = -M (turn)
//     products of angular velocities:        f = -M (w~ w~ x),   for w_x^2 w_y^2 w_z^2 w_x w_y w_y w_z w_x w_z
//     forces at the frames
// Mean axes carry nothing: inertia forces of rigid motion are in balance with what the reference would hold, and are taken off.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "flexible/body.h"
#include "flexible/reduction_parts.h"
#include "math/dense.h"

typedef struct stiffener {
    const kd_reduction *r;
    kd_flexible_body   *b;
    double             *U;    // (n x nq) the modes on all nodes
    kd_factor          *held; // of K, without the coordinates that the reference holds
    bool               *keep; // (nz)
    double             *g;    // (3 nstations) loads at the stations
    double             *z, *u, *f, *part;
    kd_arena            arena;
} stiffener;

// ---- loads ----------------------------------------------------------------------------------------------------------

// The acceleration field w~ w~ x of a product of angular velocities: xx yy zz xy yz xz
static kd_vec3 centrifugal(int product, kd_vec3 x)
{
    switch (product) {
    case 0:
        return kd_vec(0, -x.y, -x.z);
    case 1:
        return kd_vec(-x.x, 0, -x.z);
    case 2:
        return kd_vec(-x.x, -x.y, 0);
    case 3:
        return kd_vec(x.y, x.x, 0);
    case 4:
        return kd_vec(0, x.z, x.y);
    default:
        return kd_vec(x.z, 0, x.x);
    }
}

// Inertia loads -m a at the stations for a field of accelerations: shifts, turns, products of angular velocities
static void inertia_load(stiffener *s, int kind, int which)
{
    const kd_fe_structure *st = s->r->structure;
    const kd_vec3          e = kd_vec(which == 0, which == 1, which == 2);
    for (int i = 0; i < st->nstations; i++) {
        const kd_vec3 x = st->station[i];
        const kd_vec3 a = kind == 0 ? e : kind == 1 ? kd_vec_cross(e, x) : centrifugal(which, x);
        kd_vec_to(kd_vec_scale(-st->station_mass.value[i], a), s->g + 3 * i);
    }
}

// f += loads of the stations on the coordinates z
static void add_station_loads(stiffener *s)
{
    kd_sparse_apply_t(&s->r->structure->lift, 1, s->g, s->u);
    kd_sparse_apply_t(&s->r->T, 1, s->u, s->part);
    kd_axpy(s->r->nz, 1, s->part, s->f);
}

// ---- what it does to the modes --------------------------------------------------------------------------------------

// For mean axes: the inertia loads of the rigid motion that f brings are added, so that it is in balance. f: at the interfaces only
static void balance(stiffener *s)
{
    const kd_reduction    *r = s->r;
    const kd_fe_structure *st = r->structure;
    double                 A[36], b[6];
    int                    pivot[6];
    const double          *R = r->rigid;
    const size_t           nz = (size_t)r->nz;
    // the rigid acceleration by f and the loads of the stations
    memcpy(s->z, s->f, nz * sizeof *s->z);
    add_station_loads(s);
    for (size_t j = 0; j < 6; j++) {
        kd_sparse_apply(&r->M, 1, R + j * nz, s->part);
        for (size_t i = 0; i < 6; i++) A[i + 6 * j] = kd_dot(r->nz, R + i * nz, s->part);
        b[j] = kd_dot(r->nz, R + j * nz, s->f);
    }
    memcpy(s->f, s->z, nz * sizeof *s->f);
    if (kd_lu_factor(6, A, pivot) != 0) return;
    kd_lu_solve(6, A, pivot, b, 1);
    for (int i = 0; i < st->nstations; i++) {
        const kd_vec3 a =
            kd_vec_add(kd_vec_of(b), kd_vec_cross(kd_vec_of(b + 3), kd_vec_sub(st->station[i], r->centre)));
        kd_vec_to(kd_vec_axpy(kd_vec_of(s->g + 3 * i), -st->station_mass.value[i], a), s->g + 3 * i);
    }
}

// u under the load f, held by the reference
static kd_status deform(stiffener *s)
{
    const kd_reduction *r = s->r;
    int                 n = 0;
    for (int i = 0; i < r->nz; i++)
        if (s->keep[i]) s->part[n++] = s->f[i];
    kd_status status = kd_factor_solve(s->held, s->part, 1);
    n = 0;
    for (int i = 0; i < r->nz; i++) s->z[i] = s->keep[i] ? s->part[n++] : 0;
    kd_sparse_apply(&r->T, 1, s->z, s->u);
    return status;
}

static kd_vec3 at_node(const double *u, int node)
{
    return kd_vec_of(u + 6 * node);
}

// Local bending coordinates (deflection, turn at both ends) of a vector of nodes in one plane
static void bending(const kd_beam_element *e, const double *u, int plane, double q[4])
{
    const kd_vec3 across = plane == 0 ? e->axes.y : e->axes.z, about = plane == 0 ? e->axes.z : e->axes.y;
    const double  sign = plane == 0 ? 1 : -1;
    for (int end = 0; end < 2; end++) {
        q[2 * end] = kd_vec_dot(across, at_node(u, e->node[end]));
        q[2 * end + 1] = sign * kd_vec_dot(about, kd_vec_of(u + 6 * e->node[end] + 3));
    }
}

// The load on an element along it; its stations stand side by side
static double load_along(const stiffener *s, int element)
{
    const kd_beam_element *e = &s->r->structure->element[element];
    double                 sum = 0;
    for (int i = e->station; i < e->station + e->nstations; i++) sum += kd_vec_dot(e->axes.x, kd_vec_of(s->g + 3 * i));
    return sum;
}

// int N v' v' dx over the cubic shapes of one plane; N falls from its mean by the load, linearly
static void bending_by_force(double L, double N, double load, double K[4][4])
{
    static const double at[3] = {0.11270166537925831148, 0.5, 0.88729833462074168852},
                        weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    memset(K, 0, 4 * sizeof *K);
    for (int g = 0; g < 3; g++) {
        const double x = at[g], force = N - load * (x - 0.5);
        const double slope[4] = {6 * (x * x - x) / L, 1 - 4 * x + 3 * x * x, 6 * (x - x * x) / L, 3 * x * x - 2 * x};
        for (int a = 0; a < 4; a++)
            for (int c = 0; c < 4; c++) K[a][c] += weight[g] * L * force * slope[a] * slope[c];
    }
}

// K0 (nq x nq) += U' K_G U of all elements under the deformation s->u
static void add_geometric(stiffener *s, double *K0)
{
    const kd_fe_structure *st = s->r->structure;
    const int              nq = s->b->nq;
    for (int i = 0; i < st->nelements; i++) {
        const kd_beam_element *e = &st->element[i];
        const kd_vec3          stretch = kd_vec_sub(at_node(s->u, e->node[1]), at_node(s->u, e->node[0]));
        double                 K[4][4];
        bending_by_force(e->length, e->EA / e->length * kd_vec_dot(e->axes.x, stretch), load_along(s, i), K);
        for (int plane = 0; plane < 2; plane++)
            for (int l = 0; l < nq; l++) {
                double p[4], Kp[4] = {0};
                bending(e, s->U + (size_t)l * (size_t)st->n, plane, p);
                for (int a = 0; a < 4; a++)
                    for (int c = 0; c < 4; c++) Kp[a] += K[a][c] * p[c];
                for (int k = 0; k < nq; k++) {
                    double q[4];
                    bending(e, s->U + (size_t)k * (size_t)st->n, plane, q);
                    K0[(size_t)k + (size_t)l * (size_t)nq] += q[0] * Kp[0] + q[1] * Kp[1] + q[2] * Kp[2] + q[3] * Kp[3];
                }
            }
    }
}

static kd_status stiffen(stiffener *s, bool mean, double *K0)
{
    if (mean) balance(s);
    add_station_loads(s);
    const kd_status status = deform(s);
    if (status == KD_OK) add_geometric(s, K0);
    return status;
}

// ---- all loads ------------------------------------------------------------------------------------------------------

// The coordinates that the reference holds: those of its interface; for a chord and mean axes those of the first one, which take no
// load of their own where the load is in balance
static kd_status hold(stiffener *s, const kd_reference *reference)
{
    const kd_reduction *r = s->r;
    kd_sparse_matrix    K;
    const int           from = reference->kind == KD_REFERENCE_MEAN ? 0 : reference->from;
    for (int i = 0; i < r->nz; i++) s->keep[i] = i < 6 * from || i >= 6 * from + 6;
    kd_status status = kd_reduction_part(r, &r->K, s->keep, s->keep, &s->arena, &K);
    if (status == KD_OK) status = kd_factor_create(&K, &s->held);
    return status;
}

static kd_status all_loads(stiffener *s, bool mean)
{
    static const int  count[3] = {3, 3, 6};
    kd_flexible_body *b = s->b;
    const size_t      square = (size_t)b->nq * (size_t)b->nq;
    double *const     to[3] = {b->K0t, b->K0r, b->K0w};
    kd_status         status = KD_OK;
    for (int kind = 0; kind < 3; kind++)
        for (int which = 0; status == KD_OK && which < count[kind]; which++) {
            memset(s->f, 0, (size_t)s->r->nz * sizeof *s->f);
            inertia_load(s, kind, which);
            status = stiffen(s, mean, to[kind] + (size_t)which * square);
        }
    for (int i = 0; status == KD_OK && i < 3 * b->nframes; i++) {
        memset(s->f, 0, (size_t)s->r->nz * sizeof *s->f);
        memset(s->g, 0, 3 * (size_t)s->r->structure->nstations * sizeof *s->g);
        s->f[6 * (i / 3) + i % 3] = 1;
        status = stiffen(s, mean, b->K0F + (size_t)i * square);
    }
    return status;
}

kd_status kd_flexible_body_stiffen(const kd_reduction *r, const kd_reference *reference, const double *Z,
                                   kd_flexible_body *b)
{
    const kd_fe_structure *st = r->structure;
    stiffener              s = {.r = r, .b = b};
    s.U = kd_cut_matrix(&s.arena, st->n, b->nq);
    s.keep = kd_cut_bool(&s.arena, r->nz);
    s.z = kd_cut_double(&s.arena, r->nz);
    s.f = kd_cut_double(&s.arena, r->nz);
    s.u = kd_cut_double(&s.arena, st->n);
    s.g = kd_cut_double(&s.arena, 3 * st->nstations);
    s.part = kd_cut_double(&s.arena, r->nz > st->n ? r->nz : st->n);
    b->K0t = kd_cut_matrix(&b->arena, b->nq, 3 * b->nq);
    b->K0r = kd_cut_matrix(&b->arena, b->nq, 3 * b->nq);
    b->K0w = kd_cut_matrix(&b->arena, b->nq, 6 * b->nq);
    b->K0F = kd_cut_matrix(&b->arena, b->nq, 3 * b->nframes * b->nq);
    kd_status status = s.arena.failed || b->arena.failed ? KD_ERR_MEMORY : hold(&s, reference);
    if (status == KD_OK) {
        kd_sparse_apply(&r->T, b->nq, Z, s.U);
        status = all_loads(&s, reference->kind == KD_REFERENCE_MEAN);
    }
    kd_factor_destroy(s.held);
    kd_arena_release(&s.arena);
    return status;
}

// ---- from matrices of another program -------------------------------------------------------------------------------

// The modes must not move what was held there
static kd_status check_held(const kd_fe_structure *s, const kd_fe_preload *preload, int nq, const double *U,
                            char *message, size_t size)
{
    double most = 0, held = 0;
    for (int k = 0; k < nq; k++)
        for (int i = 0; i < s->n; i++) {
            const double u = fabs(U[(size_t)i + (size_t)k * (size_t)s->n]);
            most = fmax(most, u);
            if (preload->held[i]) held = fmax(held, u);
        }
    if (!(held > 1e-6 * most)) return KD_OK;
    kd_text(message, size,
            "the stiffness under %s was computed with nodes held that move here: 'reference' must be tangent to them",
            preload->interface ? "load" : "rotation");
    return KD_ERR_MODEL;
}

// Where the stiffness by a load stands in the body; NULL: there is no such interface, or memory is short
static double *place_of(const kd_fe_preload *preload, kd_flexible_body *b)
{
    static const char axes[] = "xyz";
    const size_t      square = (size_t)b->nq * (size_t)b->nq;
    int               frame = 0;
    if (!preload->interface) {
        if (!b->K0w) b->K0w = kd_cut_matrix(&b->arena, b->nq, 6 * b->nq);
        b->spin_axis = axes[preload->axis];
        return b->K0w ? b->K0w + (size_t)preload->axis * square : NULL;
    }
    while (frame < b->nframes && strcmp(b->frame[frame].name, preload->interface) != 0) frame++;
    if (frame == b->nframes) return NULL;
    if (!b->K0F) b->K0F = kd_cut_matrix(&b->arena, b->nq, 3 * b->nframes * b->nq);
    return b->K0F ? b->K0F + (size_t)(3 * frame + preload->axis) * square : NULL;
}

kd_status kd_flexible_body_preload(const kd_reduction *r, const double *U, kd_flexible_body *b, char *message,
                                   size_t size)
{
    const kd_fe_structure *s = r->structure;
    kd_arena               scratch = {0};
    double                *KU = kd_cut_matrix(&scratch, s->n, b->nq);
    kd_status              status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int i = 0; i < s->npreloads && status == KD_OK; i++) {
        const kd_fe_preload *preload = &s->preload[i];
        double              *K0 = place_of(preload, b);
        status = b->arena.failed ? KD_ERR_MEMORY : check_held(s, preload, b->nq, U, message, size);
        if (status == KD_OK && !K0) {
            kd_text(message, size, "loaded: there is no interface '%s'", preload->interface);
            status = KD_ERR_MODEL;
        }
        if (status < 0) break;
        kd_sparse_apply(&preload->K, b->nq, U, KU);
        kd_gemm_tn(b->nq, b->nq, s->n, 1, U, KU, 0, K0);
    }
    kd_arena_release(&scratch);
    return status;
}
