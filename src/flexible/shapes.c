// shapes.c: the shapes of a reduction.
//
// Craig and Bampton: Psi, normal modes with held interfaces; then the next terms of the motion of the inner nodes when interfaces move
// with frequency W,
//     u_i = -inv(K_ii - W^2 M_ii) (K_ib - W^2 M_ib) b = Psi b + W^2 inv(K_ii) (M_ii Psi + M_ib) b + ...
// either by the series (dynamic) or at chosen W (response).
// Rubin: free modes, and the deformation by unit loads at the interfaces while inertia forces of rigid motion keep balance.
// Both may be mixed: free modes beside fixed ones, x_i - Psi x_b, and fixed ones beside free ones.
// Shapes beside Psi are orthonormalised in K_ii (fixed) or K (free), and left out where they bring nothing new.
#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "core/text.h"
#include "flexible/reduction_parts.h"
#include "math/dense.h"

static const double NOTHING_NEW = 1e-7; // of a shape, behind what the others have

// Vectors of order n, orthonormal in A, that grow
typedef struct family {
    const kd_sparse_matrix *A;
    int                     n, count, room;
    double                 *X, *AX;
    double                 *work;
} family;

// Add a vector, if it brings anything new
static void take_in(family *f, const double *x)
{
    if (f->count == f->room) return;
    const size_t n = (size_t)f->n;
    double      *to = f->X + n * (size_t)f->count, *Ato = f->AX + n * (size_t)f->count;
    memcpy(to, x, n * sizeof *to);
    kd_sparse_apply(f->A, 1, to, Ato);
    const double before = kd_dot(f->n, to, Ato);
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < f->count; j++)
            kd_axpy(f->n, -kd_dot(f->n, f->AX + n * (size_t)j, to), f->X + n * (size_t)j, to);
    kd_sparse_apply(f->A, 1, to, Ato);
    const double square = kd_dot(f->n, to, Ato);
    if (!(square > NOTHING_NEW * NOTHING_NEW * before) || !(square > 0)) return;
    const double scale = 1 / sqrt(square);
    for (size_t i = 0; i < n; i++) {
        to[i] *= scale;
        Ato[i] *= scale;
    }
    f->count++;
}

static bool begin_family(family *f, const kd_sparse_matrix *A, int room, kd_arena *arena)
{
    *f = (family){.A = A, .n = A->rows, .room = room};
    f->X = kd_cut_matrix(arena, f->n, room);
    f->AX = kd_cut_matrix(arena, f->n, room);
    f->work = kd_cut_matrix(arena, f->n, 1);
    return !arena->failed;
}

// ---- fixed interfaces -----------------------------------------------------------------------------------------------

// Psi = -inv(K_ii) K_ib
static kd_status interface_shapes(const kd_reduction *r, double *Psi)
{
    for (int j = 0; j < r->nb; j++)
        for (int k = r->Kib.column[j]; k < r->Kib.column[j + 1]; k++)
            Psi[(size_t)r->Kib.row[k] + (size_t)j * (size_t)r->ni] = -r->Kib.value[k];
    return kd_factor_solve(r->inner, Psi, r->nb);
}

// inv(K_ii) (M_ii Psi + M_ib)
static kd_status dynamic_shapes(const kd_reduction *r, const double *Psi, double *X)
{
    kd_sparse_apply(&r->Mii, r->nb, Psi, X);
    for (int j = 0; j < r->nb; j++)
        for (int k = r->Mib.column[j]; k < r->Mib.column[j + 1]; k++)
            X[(size_t)r->Mib.row[k] + (size_t)j * (size_t)r->ni] += r->Mib.value[k];
    return kd_factor_solve(r->inner, X, r->nb);
}

// -inv(K_ii - W^2 M_ii) (K_ib - W^2 M_ib) - Psi: what inner nodes do beside following slowly
static kd_status response_shapes(const kd_reduction *r, const double *Psi, double W, double *X, char *message,
                                 size_t size)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix dynamic;
    kd_factor       *factor = NULL;
    kd_status        status = kd_sparse_sum(1, &r->Kii, -W * W, &r->Mii, &scratch, &dynamic);
    memset(X, 0, (size_t)r->ni * (size_t)r->nb * sizeof *X);
    for (int j = 0; j < r->nb; j++) {
        double *x = X + (size_t)j * (size_t)r->ni;
        for (int k = r->Kib.column[j]; k < r->Kib.column[j + 1]; k++) x[r->Kib.row[k]] -= r->Kib.value[k];
        for (int k = r->Mib.column[j]; k < r->Mib.column[j + 1]; k++) x[r->Mib.row[k]] += W * W * r->Mib.value[k];
    }
    if (status == KD_OK) status = kd_factor_create(&dynamic, &factor);
    if (status == KD_OK) status = kd_factor_solve(factor, X, r->nb);
    if (status == KD_OK)
        for (size_t i = 0; i < (size_t)r->ni * (size_t)r->nb; i++) X[i] -= Psi[i];
    if (status == KD_ERR_DECOMPOSITION) {
        kd_text(message, size, "a response at %g Hz: a natural frequency with held interfaces lies there",
                W / (2 * KD_PI));
        status = KD_ERR_MODEL;
    }
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return status;
}

// inv(K_ii) times the inertia forces of the inner nodes while the body is accelerated as a whole, (ni x 6)
static kd_status relief_shapes(const kd_reduction *r, double *X)
{
    for (size_t j = 0; j < 6; j++) {
        const double *R = r->rigid + j * (size_t)r->nz;
        double       *x = X + j * (size_t)r->ni;
        kd_sparse_apply(&r->Mii, 1, R + r->nb, x);
        for (int c = 0; c < r->nb; c++)
            for (int k = r->Mib.column[c]; k < r->Mib.column[c + 1]; k++) x[r->Mib.row[k]] += r->Mib.value[k] * R[c];
    }
    return kd_factor_solve(r->inner, X, 6);
}

static void take_in_all(family *f, int count, const double *X)
{
    for (int k = 0; k < count; k++) take_in(f, X + (size_t)k * (size_t)f->n);
}

// Free modes, as far as the inner nodes do not follow the interfaces
static kd_status take_in_free_modes(const kd_reduction *r, int count, const double *Psi, family *inner, char *message,
                                    size_t size)
{
    kd_arena  scratch = {0};
    double   *Z = kd_cut_matrix(&scratch, r->nz, count), *omega = kd_cut_double(&scratch, count);
    kd_status status =
        scratch.failed ? KD_ERR_MEMORY : kd_natural_modes(&r->K, &r->M, r->rigid, 6, count, omega, Z, message, size);
    for (int k = 0; status == KD_OK && k < count; k++) {
        double *z = Z + (size_t)k * (size_t)r->nz;
        for (int b = 0; b < r->nb; b++) kd_axpy(r->ni, -z[b], Psi + (size_t)b * (size_t)r->ni, z + r->nb);
        take_in(inner, z + r->nb);
    }
    kd_arena_release(&scratch);
    return status;
}

static kd_status fixed_shapes(kd_reduction *r, const kd_reduction_options *o, int modes, char *message, size_t size)
{
    kd_arena  scratch = {0};
    const int ni = r->ni, extra = r->nb * ((o->dynamic ? 1 : 0) + o->nresponses) + o->others + (o->relief ? 6 : 0);
    double   *Psi = kd_cut_matrix(&scratch, ni, r->nb), *X = kd_cut_matrix(&scratch, ni, r->nb > modes ? r->nb : modes);
    family    inner = {0};
    kd_status status = KD_ERR_MEMORY;
    r->fixed = kd_cut_double(&r->shapes, modes);
    if (!begin_family(&inner, &r->Kii, modes + extra, &scratch) || r->shapes.failed) goto done;
    status = interface_shapes(r, Psi);
    // normal modes first: they stay what they are
    if (status == KD_OK)
        status = kd_natural_modes_by(&r->Kii, &r->Mii, r->inner, NULL, 0, modes, r->fixed, X, message, size);
    if (status == KD_OK) take_in_all(&inner, modes, X);
    r->nmodes = inner.count;
    if (status == KD_OK && o->others > 0) status = take_in_free_modes(r, o->others, Psi, &inner, message, size);
    if (status == KD_OK && o->relief) status = relief_shapes(r, X);
    if (status == KD_OK && o->relief) take_in_all(&inner, 6, X);
    if (status == KD_OK && o->dynamic) status = dynamic_shapes(r, Psi, X);
    if (status == KD_OK && o->dynamic) take_in_all(&inner, r->nb, X);
    for (int l = 0; status == KD_OK && l < o->nresponses; l++) {
        status = response_shapes(r, Psi, o->response[l], X, message, size);
        if (status == KD_OK) take_in_all(&inner, r->nb, X);
    }
    if (status < 0) goto done;
    // V = [I 0; Psi X]
    r->n = r->nb + inner.count;
    r->V = kd_cut_matrix(&r->shapes, r->nz, r->n);
    if (r->shapes.failed) {
        status = KD_ERR_MEMORY;
        goto done;
    }
    for (int k = 0; k < r->n; k++) {
        double       *v = r->V + (size_t)k * (size_t)r->nz;
        const double *from = k < r->nb ? Psi + (size_t)k * (size_t)ni : inner.X + (size_t)(k - r->nb) * (size_t)ni;
        if (k < r->nb) v[k] = 1;
        memcpy(v + r->nb, from, (size_t)ni * sizeof *v);
    }
done:
    kd_arena_release(&scratch);
    return status;
}

// ---- free -----------------------------------------------------------------------------------------------------------

// Without rigid motions: x - R R' M x, R orthonormal in M (MR = M R)
static void without_rigid(int n, const double *R, const double *MR, double *x)
{
    for (int j = 0; j < 6; j++) kd_axpy(n, -kd_dot(n, MR + (size_t)j * (size_t)n, x), R + (size_t)j * (size_t)n, x);
}

// Deformation by unit loads at all interfaces, (nz x nb), then by the inertia forces of these shapes (dynamic, (nz x 2 nb)). Inertia forces
// of rigid motion keep balance, so any six coordinates that hold the structure take no load: those of the first interface.
static kd_status attachment_shapes(const kd_reduction *r, const double *R, const double *MR, bool dynamic, double *X)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix held;
    kd_factor       *factor = NULL;
    const int        nz = r->nz, rest = nz - 6, count = dynamic ? 2 * r->nb : r->nb;
    bool            *keep = kd_cut_bool(&scratch, nz);
    double          *f = kd_cut_double(&scratch, nz);
    kd_status        status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int i = 6; status == KD_OK && i < nz; i++) keep[i] = true;
    if (status == KD_OK) status = kd_reduction_part(r, &r->K, keep, keep, &scratch, &held);
    if (status == KD_OK) status = kd_factor_create(&held, &factor);
    for (int k = 0; status == KD_OK && k < count; k++) {
        double *x = X + (size_t)k * (size_t)nz;
        memset(f, 0, (size_t)nz * sizeof *f);
        if (k < r->nb)
            f[k] = 1;
        else
            kd_sparse_apply(&r->M, 1, X + (size_t)(k - r->nb) * (size_t)nz, f);
        // f - M R R' f
        for (int j = 0; j < 6; j++) {
            const double part = kd_dot(nz, R + (size_t)j * (size_t)nz, f);
            kd_axpy(nz, -part, MR + (size_t)j * (size_t)nz, f);
        }
        status = kd_factor_solve(factor, f + 6, 1);
        memset(x, 0, 6 * sizeof *x);
        memcpy(x + 6, f + 6, (size_t)rest * sizeof *x);
        without_rigid(nz, R, MR, x);
    }
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return status;
}

// Orthonormal in M
static void orthonormalise(int n, const kd_sparse_matrix *M, double *R, double *MR)
{
    for (int j = 0; j < 6; j++) {
        double *x = R + (size_t)j * (size_t)n, *Mx = MR + (size_t)j * (size_t)n;
        for (int i = 0; i < j; i++) kd_axpy(n, -kd_dot(n, MR + (size_t)i * (size_t)n, x), R + (size_t)i * (size_t)n, x);
        kd_sparse_apply(M, 1, x, Mx);
        const double scale = 1 / sqrt(kd_dot(n, x, Mx));
        for (int i = 0; i < n; i++) {
            x[i] *= scale;
            Mx[i] *= scale;
        }
    }
}

// inv(K - W^2 M) times unit loads at all interfaces, (nz x nb), without rigid motions
static kd_status load_responses(const kd_reduction *r, const double *R, const double *MR, double W, double *X,
                                char *message, size_t size)
{
    kd_arena         scratch = {0};
    kd_sparse_matrix dynamic;
    kd_factor       *factor = NULL;
    kd_status        status = kd_sparse_sum(1, &r->K, -W * W, &r->M, &scratch, &dynamic);
    if (status == KD_OK) status = kd_factor_create(&dynamic, &factor);
    memset(X, 0, (size_t)r->nz * (size_t)r->nb * sizeof *X);
    for (int k = 0; k < r->nb; k++) X[(size_t)k * (size_t)(r->nz + 1)] = 1;
    if (status == KD_OK) status = kd_factor_solve(factor, X, r->nb);
    for (int k = 0; status == KD_OK && k < r->nb; k++) without_rigid(r->nz, R, MR, X + (size_t)k * (size_t)r->nz);
    if (status == KD_ERR_DECOMPOSITION) {
        kd_text(message, size, "a response at %g Hz: a natural frequency of the free part lies there", W / (2 * KD_PI));
        status = KD_ERR_MODEL;
    }
    kd_factor_destroy(factor);
    kd_arena_release(&scratch);
    return status;
}

// Normal modes with held interfaces beside free ones
static kd_status take_in_fixed_modes(const kd_reduction *r, const double *R, const double *MR, int count,
                                     family *elastic, char *message, size_t size)
{
    kd_arena scratch = {0};
    double  *X = kd_cut_matrix(&scratch, r->ni, count), *omega = kd_cut_double(&scratch, count),
           *z = kd_cut_double(&scratch, r->nz);
    kd_status status = scratch.failed
                           ? KD_ERR_MEMORY
                           : kd_natural_modes_by(&r->Kii, &r->Mii, r->inner, NULL, 0, count, omega, X, message, size);
    for (int k = 0; status == KD_OK && k < count; k++) {
        memset(z, 0, (size_t)r->nb * sizeof *z);
        memcpy(z + r->nb, X + (size_t)k * (size_t)r->ni, (size_t)r->ni * sizeof *z);
        without_rigid(r->nz, R, MR, z);
        take_in(elastic, z);
    }
    kd_arena_release(&scratch);
    return status;
}

static kd_status free_shapes(kd_reduction *r, const kd_reduction_options *o, int modes, char *message, size_t size)
{
    kd_arena     scratch = {0};
    const int    nz = r->nz, loads = o->dynamic ? 2 * r->nb : r->nb;
    const size_t column = (size_t)nz;
    double      *R = kd_cut_matrix(&scratch, nz, 6), *MR = kd_cut_matrix(&scratch, nz, 6);
    double      *X = kd_cut_matrix(&scratch, nz, modes > loads ? modes : loads);
    family       elastic = {0};
    kd_status    status = KD_ERR_MEMORY;
    r->fixed = kd_cut_double(&r->shapes, modes);
    if (!begin_family(&elastic, &r->K, modes + loads + o->others + o->nresponses * r->nb, &scratch) || r->shapes.failed)
        goto done;
    memcpy(R, r->rigid, 6 * column * sizeof *R);
    orthonormalise(nz, &r->M, R, MR);
    status = kd_natural_modes(&r->K, &r->M, R, 6, modes, r->fixed, X, message, size);
    if (status == KD_OK) take_in_all(&elastic, modes, X);
    r->nmodes = elastic.count;
    if (status == KD_OK && o->others > 0) status = take_in_fixed_modes(r, R, MR, o->others, &elastic, message, size);
    if (status == KD_OK) status = attachment_shapes(r, R, MR, o->dynamic, X);
    if (status == KD_OK) take_in_all(&elastic, loads, X);
    for (int l = 0; status == KD_OK && l < o->nresponses; l++) {
        status = load_responses(r, R, MR, o->response[l], X, message, size);
        if (status == KD_OK) take_in_all(&elastic, r->nb, X);
    }
    if (status < 0) goto done;
    r->n = 6 + elastic.count;
    r->V = kd_cut_matrix(&r->shapes, nz, r->n);
    if (r->shapes.failed) {
        status = KD_ERR_MEMORY;
        goto done;
    }
    memcpy(r->V, R, 6 * column * sizeof *R);
    memcpy(r->V + 6 * column, elastic.X, (size_t)elastic.count * column * sizeof *R);
done:
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_reduction_shapes(kd_reduction *r, const kd_reduction_options *o, int modes, char *message, size_t size)
{
    kd_arena_release(&r->shapes);
    r->kind = o->kind;
    kd_status status =
        o->kind == KD_REDUCE_FREE ? free_shapes(r, o, modes, message, size) : fixed_shapes(r, o, modes, message, size);
    if (status < 0) return status;
    kd_arena scratch = {0};
    double  *work = kd_cut_matrix(&scratch, r->nz, r->n);
    r->Kr = kd_cut_matrix(&r->shapes, r->n, r->n);
    r->Mr = kd_cut_matrix(&r->shapes, r->n, r->n);
    if (scratch.failed || r->shapes.failed) {
        status = KD_ERR_MEMORY;
    } else {
        kd_reduction_project(&r->K, r->n, r->V, r->n, r->V, work, r->Kr);
        kd_reduction_project(&r->M, r->n, r->V, r->n, r->V, work, r->Mr);
    }
    kd_arena_release(&scratch);
    return status;
}
