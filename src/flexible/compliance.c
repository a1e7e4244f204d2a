// compliance.c: deflection of the frames of a body by loads at its frames, and what modes that are left out would add to it.
//
// Slow loads f at all frames (3 forces, 3 moments each) deflect them by F f. With the modes Phi (6 nframes x m) of the frames
//     F = Phi inv(K_e) Phi',    residual R = F of all modes - F of those that are kept
// Both kinds of reduction have the shapes of loads at interfaces, so that F of all of their modes is that of the structure.
#include <string.h>

#include "flexible/body.h"
#include "math/dense.h"

// Displacements and turns of all frames by mode k
static void frames_of_mode(const kd_flexible_body *b, int k, double *out)
{
    for (int f = 0; f < b->nframes; f++) {
        memcpy(out + 6 * f, b->frame[f].Phi + 3 * k, 3 * sizeof *out);
        memcpy(out + 6 * f + 3, b->frame[f].Psi + 3 * k, 3 * sizeof *out);
    }
}

// Phi inv(K_e) Phi' of the first m modes; KD_ERR_DECOMPOSITION: K_e is not positive
static kd_status modal_compliance(const kd_flexible_body *b, int m, double *F)
{
    kd_arena  scratch = {0};
    const int n = 6 * b->nframes;
    double *K = kd_cut_matrix(&scratch, m, m), *Phi = kd_cut_matrix(&scratch, n, m), *X = kd_cut_matrix(&scratch, m, n);
    kd_status status = scratch.failed ? KD_ERR_MEMORY : KD_OK;
    for (int k = 0; status == KD_OK && k < m; k++) {
        frames_of_mode(b, k, Phi + (size_t)k * (size_t)n);
        memcpy(K + (size_t)k * (size_t)m, b->Ke + (size_t)k * (size_t)b->nq, (size_t)m * sizeof *K);
        for (int i = 0; i < n; i++) X[(size_t)k + (size_t)i * (size_t)m] = Phi[(size_t)i + (size_t)k * (size_t)n];
    }
    if (status == KD_OK && kd_cholesky_factor(m, K) != 0) status = KD_ERR_DECOMPOSITION;
    if (status == KD_OK) {
        kd_cholesky_solve(m, K, X, n);
        kd_gemm(n, n, m, 1, Phi, X, 0, F);
    }
    kd_arena_release(&scratch);
    return status;
}

kd_status kd_flexible_body_compliance(const kd_flexible_body *b, int m, double *F, double *R)
{
    const size_t count = 36 * (size_t)b->nframes * (size_t)b->nframes;
    kd_status    status = modal_compliance(b, b->nq, F);
    if (status == KD_OK) status = modal_compliance(b, m, R);
    for (size_t i = 0; status == KD_OK && i < count; i++) {
        if (b->residual) F[i] += b->residual[i];
        R[i] = F[i] - R[i];
    }
    return status;
}
