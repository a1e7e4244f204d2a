// body.c: reference conditions and moments of modes.
//
// Six conditions take the rigid motions out of the shapes: those of the frame of an interface are zero (tangent), the shifts of one
// interface, the shifts of another one across the line between them, and the turn of the first about it (chord), or the
// momentum of every mode is zero (mean axes). Natural modes under these conditions are the coordinates q.
#include "flexible/body.h"

#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "core/text.h"
#include "flexible/reduction_parts.h"
#include "flexible/stress.h"
#include "math/dense.h"

static const double ROUNDING = 1e-7; // of the highest frequency
static const double TWINS = 1e-6;    // of a frequency: two of them are one

void kd_flexible_body_release(kd_flexible_body *b)
{
    kd_arena_release(&b->arena);
    *b = (kd_flexible_body){0};
}

// ---- reference conditions -------------------------------------------------------------------------------------------

// The six conditions of a chord on the coordinates of the interfaces: rows of (6 x nb)
static kd_status chord_conditions(const kd_reduction *r, int from, int to, double *rows, char *message, size_t size)
{
    const kd_vec3 line = kd_vec_sub(r->interface[to].point, r->interface[from].point);
    const double  length = kd_vec_norm(line);
    if (from == to || !(length > 0)) {
        kd_text(message, size, "a chord needs two interfaces at different places");
        return KD_ERR_MODEL;
    }
    const kd_vec3 e = kd_vec_scale(1 / length, line);
    const kd_vec3 aside = fabs(e.x) < 0.6 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
    kd_vec3       across = kd_vec_cross(e, aside);
    across = kd_vec_scale(1 / kd_vec_norm(across), across);
    const kd_vec3 other = kd_vec_cross(e, across);
    const kd_vec3 direction[2] = {across, other};
    for (int d = 0; d < 3; d++) rows[d + 6 * (6 * from + d)] = 1;
    for (int k = 0; k < 2; k++) {
        double v[3];
        kd_vec_to(direction[k], v);
        for (int d = 0; d < 3; d++) rows[3 + k + 6 * (6 * to + d)] = v[d];
    }
    double v[3];
    kd_vec_to(e, v);
    for (int d = 0; d < 3; d++) rows[5 + 6 * (6 * from + 3 + d)] = v[d];
    return KD_OK;
}

// Natural modes (n x count) of the shapes under six conditions on the interfaces (6 x nb)
static kd_status modes_under(const kd_reduction *r, const double *conditions, double *omega, double *q, int *count)
{
    kd_arena  scratch = {0};
    const int n = r->n;
    double   *Bt = kd_cut_matrix(&scratch, n, 6), *Vb = kd_cut_matrix(&scratch, r->nb, n),
           *tau = kd_cut_double(&scratch, 6);
    double   *N = kd_cut_matrix(&scratch, n, n), *work = kd_cut_double(&scratch, kd_qr_work(n, 6) + n * n);
    double   *K = kd_cut_matrix(&scratch, n, n), *M = kd_cut_matrix(&scratch, n, n);
    int       order[6];
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        // what the conditions say of the shapes, (conditions V_b)' = Q R; the columns of Q behind the sixth obey them
        for (int j = 0; j < n; j++)
            for (int i = 0; i < r->nb; i++)
                Vb[(size_t)i + (size_t)j * (size_t)r->nb] = r->V[(size_t)i + (size_t)j * (size_t)r->nz];
        for (int c = 0; c < 6; c++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < r->nb; i++)
                    Bt[(size_t)j + (size_t)c * (size_t)n] +=
                        conditions[c + 6 * i] * Vb[(size_t)i + (size_t)j * (size_t)r->nb];
        if (kd_qr_pivot(n, 6, Bt, order, tau, 1e-10, work) < 6) status = KD_ERR_MODEL;
    }
    if (status == KD_OK) {
        const int m = n - 6;
        for (int j = 0; j < m; j++) N[(size_t)(6 + j) + (size_t)j * (size_t)n] = 1;
        kd_qr_apply(n, 6, Bt, tau, N, m, work);
        kd_gemm(n, m, n, 1, r->Kr, N, 0, work);
        kd_gemm_tn(m, m, n, 1, N, work, 0, K);
        kd_gemm(n, m, n, 1, r->Mr, N, 0, work);
        kd_gemm_tn(m, m, n, 1, N, work, 0, M);
        status = kd_symmetric_pencil(m, K, M, omega);
        for (int k = 0; status == KD_OK && k < m; k++) omega[k] = sqrt(fmax(omega[k], 0));
        if (status == KD_OK) kd_gemm(n, m, m, 1, N, K, 0, q);
        *count = m;
    }
    kd_arena_release(&scratch);
    return status;
}

static kd_status choose_modes(const kd_reduction *r, const kd_reference *reference, double *omega, double *q,
                              int *count, char *message, size_t size)
{
    if (reference->kind == KD_REFERENCE_MEAN) return kd_reduction_modes(r, NULL, omega, q, count);
    kd_arena  scratch = {0};
    double   *rows = kd_cut_matrix(&scratch, 6, r->nb);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK && reference->kind == KD_REFERENCE_CHORD)
        status = chord_conditions(r, reference->from, reference->to, rows, message, size);
    for (int d = 0; status == KD_OK && reference->kind == KD_REFERENCE_TANGENT && d < 6; d++)
        rows[d + 6 * (6 * reference->from + d)] = 1;
    if (status == KD_OK) status = modes_under(r, rows, omega, q, count);
    if (status == KD_ERR_MODEL && message && !message[0])
        kd_text(message, size, "the reference does not hold the body");
    kd_arena_release(&scratch);
    return status;
}

// ---- moments --------------------------------------------------------------------------------------------------------

typedef struct stations {
    int              n;
    const kd_vec3   *at;
    kd_sparse_matrix mass;
    double          *field; // (3 n x nq): displacements of the modes, station by station
} stations;

// Nodes as stations: the mass of the first direction is that of all
static kd_status nodes_as_stations(const kd_fe_structure *s, kd_arena *arena, kd_sparse_matrix *mass)
{
    kd_arena  scratch = {0};
    int      *place = kd_cut_int(&scratch, s->n);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    int       count = 0;
    for (int i = 0; status == KD_OK && i < s->n; i++) place[i] = s->direction[i] == 0 ? count++ : -1;
    if (status == KD_OK) status = kd_sparse_part(&s->M, place, count, place, count, arena, mass);
    kd_arena_release(&scratch);
    return status;
}

// Fields of the modes at the stations
static kd_status lift_modes(const kd_fe_structure *s, int nq, const double *U, stations *st, kd_arena *arena)
{
    kd_status status = KD_OK;
    if (s->nstations > 0) {
        st->n = s->nstations;
        st->at = s->station;
        st->mass = s->station_mass;
        st->field = kd_cut_matrix(arena, 3 * st->n, nq);
        if (arena->failed) return KD_ERR_MEMORY;
        kd_sparse_apply(&s->lift, nq, U, st->field);
        return KD_OK;
    }
    status = nodes_as_stations(s, arena, &st->mass);
    st->n = st->mass.rows;
    kd_vec3 *at = kd_arena_cut(arena, (size_t)st->n, sizeof *at);
    st->field = kd_cut_matrix(arena, 3 * st->n, nq);
    if (arena->failed) return KD_ERR_MEMORY;
    for (int i = 0, k = 0; i < s->n; i++) {
        if (s->direction[i] != 0) continue;
        at[k] = s->at[s->node[i]];
        for (int q = 0; q < nq; q++)
            for (int d = 0; d < 3; d++)
                st->field[(size_t)(3 * k + d) + (size_t)q * 3 * (size_t)st->n] =
                    U[(size_t)s->first[6 * s->node[i] + d] + (size_t)q * (size_t)s->n];
        k++;
    }
    st->at = at;
    return status;
}

// Component d of mode q at all stations
static void component(const stations *st, int q, int d, double *out)
{
    const double *field = st->field + (size_t)q * 3 * (size_t)st->n;
    for (int i = 0; i < st->n; i++) out[i] = field[3 * (size_t)i + (size_t)d];
}

static double coordinate(kd_vec3 r, int d)
{
    return d == 0 ? r.x : d == 1 ? r.y : r.z;
}

static kd_status take_moments(const stations *st, kd_flexible_body *b)
{
    kd_arena     scratch = {0};
    const size_t n = (size_t)st->n;
    const int    N = st->n, nq = b->nq;
    // 1, x, y, z, then the components of the modes; and the mass times them
    const int fields = 4 + 3 * nq;
    double   *F = kd_cut_matrix(&scratch, N, fields), *MF = kd_cut_matrix(&scratch, N, fields),
           *G = kd_cut_matrix(&scratch, fields, fields);
    if (scratch.failed) {
        kd_arena_release(&scratch);
        return KD_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        F[i] = 1;
        for (int d = 0; d < 3; d++) F[i + n * (size_t)(1 + d)] = coordinate(st->at[i], d);
    }
    for (int q = 0; q < nq; q++)
        for (int d = 0; d < 3; d++) component(st, q, d, F + n * (size_t)(4 + 3 * q + d));
    kd_sparse_apply(&st->mass, fields, F, MF);
    kd_gemm_tn(fields, fields, N, 1, F, MF, 0, G);
    // all moments are products of two of these fields
    b->mass = G[0];
    for (int a = 0; a < 3; a++) {
        b->first[a] = G[(size_t)(1 + a)];
        for (int c = 0; c < 3; c++) b->second[a + 3 * c] = G[(size_t)(1 + a) + (size_t)(1 + c) * (size_t)fields];
        for (int k = 0; k < nq; k++) {
            b->C[a + 3 * k] = G[(size_t)(4 + 3 * k + a)];
            for (int c = 0; c < 3; c++) {
                b->A[a + 3 * c + 9 * k] = G[(size_t)(1 + a) + (size_t)(4 + 3 * k + c) * (size_t)fields];
                for (int l = 0; l < nq; l++)
                    b->B[(size_t)(a + 3 * c) + 9 * ((size_t)k + (size_t)nq * (size_t)l)] =
                        G[(size_t)(4 + 3 * k + a) + (size_t)(4 + 3 * l + c) * (size_t)fields];
            }
        }
    }
    for (int k = 0; k < nq; k++) {
        const double *A = b->A + 9 * k, Cr[3] = {A[7] - A[5], A[2] - A[6], A[3] - A[1]};
        memcpy(b->Cr + 3 * k, Cr, sizeof Cr);
    }
    for (size_t i = 0; i < (size_t)nq * (size_t)nq; i++) b->Me[i] = b->B[9 * i] + b->B[9 * i + 4] + b->B[9 * i + 8];
    kd_arena_release(&scratch);
    return KD_OK;
}

// ---- the body -------------------------------------------------------------------------------------------------------

bool kd_flexible_body_cut(kd_flexible_body *b, int nq, int nframes, int nnodes)
{
    b->nq = nq;
    b->C = kd_cut_matrix(&b->arena, 3, nq);
    b->A = kd_cut_matrix(&b->arena, 9, nq);
    b->B = kd_cut_matrix(&b->arena, 9 * nq, nq);
    b->Cr = kd_cut_matrix(&b->arena, 3, nq);
    b->Me = kd_cut_matrix(&b->arena, nq, nq);
    b->Ke = kd_cut_matrix(&b->arena, nq, nq);
    b->De = kd_cut_matrix(&b->arena, nq, nq);
    b->nframes = nframes;
    b->frame = kd_arena_cut(&b->arena, (size_t)nframes, sizeof *b->frame);
    b->nnodes = nnodes;
    b->node = kd_cut_matrix(&b->arena, 3, nnodes);
    b->shape = kd_cut_matrix(&b->arena, 3 * nnodes, nq);
    for (int f = 0; f < nframes && !b->arena.failed; f++) {
        b->frame[f].Phi = kd_cut_matrix(&b->arena, 3, nq);
        b->frame[f].Psi = kd_cut_matrix(&b->arena, 3, nq);
    }
    return !b->arena.failed;
}

static bool name_frames(const kd_reduction *r, kd_flexible_body *b)
{
    for (int f = 0; f < b->nframes; f++) {
        char *name = kd_arena_cut(&b->arena, strlen(r->interface[f].name) + 1, 1);
        if (!name) return false;
        strcpy(name, r->interface[f].name);
        b->frame[f].name = name;
        b->frame[f].at = r->interface[f].point;
    }
    return true;
}

// Nodes and frames with the modes Z = V q (nz x nq), U = T Z (n x nq)
static void keep_places(const kd_reduction *r, const double *Z, const double *U, kd_flexible_body *b)
{
    const kd_fe_structure *s = r->structure;
    for (int i = 0; i < s->nnodes; i++) {
        kd_vec_to(s->at[i], b->node + 3 * i);
        for (int k = 0; k < b->nq; k++)
            for (int d = 0; d < 3; d++) {
                const int row = s->first[6 * i + d];
                if (row >= 0)
                    b->shape[(size_t)(3 * i + d) + (size_t)k * 3 * (size_t)s->nnodes] =
                        U[(size_t)row + (size_t)k * (size_t)s->n];
            }
    }
    for (int f = 0; f < b->nframes; f++)
        for (int k = 0; k < b->nq; k++)
            for (int d = 0; d < 3; d++) {
                b->frame[f].Phi[d + 3 * k] = Z[(size_t)(6 * f + d) + (size_t)k * (size_t)r->nz];
                b->frame[f].Psi[d + 3 * k] = Z[(size_t)(6 * f + 3 + d) + (size_t)k * (size_t)r->nz];
            }
}

// Surface and lines between the nodes
static bool keep_skin(const kd_fe_structure *s, kd_flexible_body *b)
{
    b->ntriangles = s->ntriangles;
    b->nlines = s->nelements;
    b->triangle = kd_arena_cut(&b->arena, 3 * (size_t)s->ntriangles, sizeof *b->triangle);
    b->line = kd_arena_cut(&b->arena, 2 * (size_t)s->nelements, sizeof *b->line);
    if (b->arena.failed) return false;
    if (s->ntriangles > 0) memcpy(b->triangle, s->triangle, 3 * (size_t)s->ntriangles * sizeof *b->triangle);
    for (int i = 0; i < s->nelements; i++) memcpy(b->line + 2 * (size_t)i, s->element[i].node, 2 * sizeof *b->line);
    return true;
}

// What the modes behind the nq-th would add to the deflection by loads at the frames: sum z z'/omega^2, z = V_b q
static bool keep_residual(const kd_reduction *r, const double *q, const double *omega, int there, kd_flexible_body *b)
{
    kd_arena  scratch = {0};
    const int nb = r->nb, left = there - b->nq;
    if (left <= 0) return true;
    double *z = kd_cut_double(&scratch, nb);
    b->residual = kd_cut_matrix(&b->arena, nb, nb);
    const bool good = z && b->residual;
    for (int k = b->nq; good && k < there; k++) {
        const double *shape = q + (size_t)k * (size_t)r->n;
        memset(z, 0, (size_t)nb * sizeof *z);
        for (int j = 0; j < r->n; j++) kd_axpy(nb, shape[j], r->V + (size_t)j * (size_t)r->nz, z);
        for (int i = 0; i < nb; i++) kd_axpy(nb, z[i] / (omega[k] * omega[k]), z, b->residual + (size_t)i * (size_t)nb);
    }
    kd_arena_release(&scratch);
    return good;
}

static void name_reference(const kd_reduction *r, const kd_reference *reference, kd_flexible_body *b)
{
    const char              *from = reference->kind == KD_REFERENCE_MEAN ? "" : r->interface[reference->from].name;
    const char              *to = reference->kind == KD_REFERENCE_CHORD ? r->interface[reference->to].name : "";
    static const char *const words[] = {"tangent ", "chord ", "mean"};
    kd_text(b->reference, sizeof b->reference, "%s%s%s%s", words[reference->kind], from, *to ? " " : "", to);
}

kd_status kd_flexible_body_make(const kd_reduction *r, const kd_reference *reference, int count, double damping,
                                kd_flexible_body *b, char *message, size_t size)
{
    kd_arena               scratch = {0};
    const kd_fe_structure *s = r->structure;
    double                *omega = kd_cut_double(&scratch, r->n), *q = kd_cut_matrix(&scratch, r->n, r->n);
    int                    there = 0;
    *b = (kd_flexible_body){0};
    kd_text(message, size, "%s", "");
    kd_status status = scratch.failed ? KD_ERR_MEMORY : choose_modes(r, reference, omega, q, &there, message, size);
    if (status == KD_OK && count > there) {
        kd_text(message, size, "%d modes are wanted, the reduced structure has %d", count, there);
        status = KD_ERR_MODEL;
    }
    // held by its reference, a structure resists every deformation; what is below is rounding of the highest
    if (status == KD_OK && there > 0 && !(omega[0] > ROUNDING * omega[there - 1])) {
        kd_text(message, size,
                "%s: a deformation meets no resistance, or one below zero: the stiffness matrix has a negative "
                "eigenvalue, or the part is a mechanism",
                s->name);
        status = KD_ERR_MODEL;
    }
    if (status < 0) goto done;
    const int nq = count > 0 ? count : there;
    double   *Z = kd_cut_matrix(&scratch, r->nz, nq), *U = kd_cut_matrix(&scratch, s->n, nq);
    stations  st = {0};
    status = scratch.failed || !kd_flexible_body_cut(b, nq, r->ninterfaces, s->nnodes) || !name_frames(r, b)
                 ? KD_ERR_MEMORY
                 : KD_OK;
    if (status < 0) goto done;
    kd_gemm(r->nz, b->nq, r->n, 1, r->V, q, 0, Z);
    kd_sparse_apply(&r->T, b->nq, Z, U);
    status = lift_modes(s, b->nq, U, &st, &scratch);
    if (status == KD_OK) status = take_moments(&st, b);
    if (status < 0) goto done;
    for (int k = 0; k < b->nq; k++) {
        // natural modes with q' M q = 1
        b->Ke[(size_t)k * (size_t)(b->nq + 1)] = omega[k] * omega[k];
        b->De[(size_t)k * (size_t)(b->nq + 1)] = 2 * damping * omega[k];
    }
    keep_places(r, Z, U, b);
    if (!keep_skin(s, b) || !keep_residual(r, q, omega, there, b)) status = KD_ERR_MEMORY;
    if (status == KD_OK && s->nelements > 0) status = kd_flexible_body_stiffen(r, reference, Z, b);
    if (status == KD_OK && s->npreloads > 0) status = kd_flexible_body_preload(r, U, b, message, size);
    if (status == KD_OK && s->stress) status = kd_flexible_body_stress(s, U, b, message, size);
    if (status < 0) goto done;
    // of two modes of one frequency any two combinations are modes: one alone stands for a direction that nobody chose
    if (nq < there && omega[nq] <= omega[nq - 1] * (1 + TWINS))
        kd_text(message, size,
                "modes %d and %d have the same frequency, %.6g Hz, and only one of them is taken: take both or none",
                nq, nq + 1, omega[nq] / (2 * KD_PI));
    name_reference(r, reference, b);
    b->expected = r->expected;
    b->transfer = r->transfer;
    b->band = r->band;
done:
    kd_arena_release(&scratch);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory");
    if (status < 0) kd_flexible_body_release(b);
    return status;
}

kd_status kd_flexible_body_frequencies(const kd_flexible_body *b, double *omega)
{
    kd_arena  scratch = {0};
    double   *K = kd_cut_matrix(&scratch, b->nq, b->nq), *M = kd_cut_matrix(&scratch, b->nq, b->nq);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    if (status == KD_OK) {
        memcpy(K, b->Ke, (size_t)b->nq * (size_t)b->nq * sizeof *K);
        memcpy(M, b->Me, (size_t)b->nq * (size_t)b->nq * sizeof *M);
        status = kd_symmetric_pencil(b->nq, K, M, omega);
        for (int k = 0; status == KD_OK && k < b->nq; k++) omega[k] = sqrt(fmax(omega[k], 0));
    }
    kd_arena_release(&scratch);
    return status;
}
