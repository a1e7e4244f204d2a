// dynamics.c: whichever of residual, M and f the definition does not give, from the others:
//
//     residual = M a - f + (GZ)' lambda + (HZ)' mu
//     f        = -residual at a = 0, lambda = mu = 0
//     M e_j    = residual(a = e_j) - residual(a = 0), exact because the residual is linear in a
#include <float.h>
#include <math.h>
#include <string.h>

#include "eom/internal.h"
#include "math/dense.h"

static bool is_diagonal(const kd_eom *eom)
{
    return eom->def.mass_structure == KD_MASS_DIAGONAL || eom->def.mass_structure == KD_MASS_DIAGONAL_CONSTANT;
}

static bool is_constant(const kd_eom *eom)
{
    return eom->def.mass_structure == KD_MASS_FULL_CONSTANT || eom->def.mass_structure == KD_MASS_DIAGONAL_CONSTANT;
}

// M from the definition's function; of a diagonal M only the diagonal counts
static kd_eval call_mass(kd_eom_data *d)
{
    const int nv = d->eom->def.dims.nv;
    memset(d->M, 0, (size_t)nv * (size_t)nv * sizeof(double));
    d->counters.fn[KD_MASS]++;
    d->counters.for_differences += d->depth > 0;
    kd_eval answer = d->eom->def.M(&d->x, d->context, d->M);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_MASS, kd_fn_word(KD_MASS), answer);
    if (is_diagonal(d->eom)) {
        for (int j = 0; j < nv; j++)
            for (int i = 0; i < nv; i++)
                if (i != j) d->M[j * nv + i] = 0.0;
    }
    if (!kd_all_finite(d->M, nv * nv)) return kd_fault_not_finite(d, KD_MASS, kd_fn_word(KD_MASS), d->M, nv * nv);
    return KD_EVAL_OK;
}

// M, kept for the position; a constant one as long as the parameters stay
kd_eval kd_update_M(kd_eom_data *d)
{
    unsigned long stamp = is_constant(d->eom) ? d->theta_stamp : d->x.position_stamp;
    if (d->M_stamp == stamp) return KD_EVAL_OK;
    const int nv = d->eom->def.dims.nv;
    if (!kd_room(d, &d->M, nv, nv)) return kd_fault_memory(d, KD_MASS);
    d->M_stamp = 0;
    kd_eval answer = d->eom->def.M ? call_mass(d) : kd_linear_columns(d, KD_RESIDUAL, KD_A, d->M);
    if (answer == KD_EVAL_OK) d->M_stamp = stamp;
    return answer;
}

kd_eval kd_fallback_mass(kd_eom_data *d, double *out)
{
    kd_eval answer = kd_update_M(d);
    int     nv = d->eom->def.dims.nv;
    if (answer == KD_EVAL_OK) memcpy(out, d->M, (size_t)nv * (size_t)nv * sizeof(double));
    return answer;
}

// sum += (GZ)' lambda + (HZ)' mu; also the part that f gives back where it depends on the multipliers
static kd_eval add_constraint_forces(kd_eom_data *d, double *sum)
{
    const kd_dims *n = &d->eom->def.dims;
    kd_eval        answer = KD_EVAL_OK;
    if (n->nlambda > 0) {
        answer = kd_update_GZ(d);
        if (answer == KD_EVAL_OK) kd_gemv_t(n->nlambda, n->nv, 1.0, d->GZ, d->x.lambda, 1.0, sum);
    }
    if (n->nmu > 0 && answer == KD_EVAL_OK) {
        answer = kd_update_HZ(d);
        if (answer == KD_EVAL_OK) kd_gemv_t(n->nmu, n->nv, 1.0, d->HZ, d->x.mu, 1.0, sum);
    }
    return answer;
}

kd_eval kd_fallback_residual(kd_eom_data *d, double *out)
{
    const int nv = d->eom->def.dims.nv;
    d->counters.fn[KD_RESIDUAL]++;
    kd_eval answer = kd_update_M(d);
    if (answer == KD_EVAL_OK) answer = kd_eom_eval(d, KD_FORCE, d->f);
    if (answer != KD_EVAL_OK) return answer;
    // M a - f, then + (GZ)' lambda + (HZ)' mu
    if (is_diagonal(d->eom)) {
        for (int i = 0; i < nv; i++) out[i] = d->M[i * nv + i] * d->x.a[i] - d->f[i];
    } else {
        for (int i = 0; i < nv; i++) out[i] = -d->f[i];
        kd_gemv(nv, nv, 1.0, d->M, d->x.a, 1.0, out);
    }
    return add_constraint_forces(d, out);
}

kd_eval kd_fallback_force(kd_eom_data *d, double *out)
{
    const kd_eom  *eom = d->eom;
    const kd_dims *n = &eom->def.dims;
    const bool     keep_multipliers = eom->def.force_of_multipliers;
    d->counters.fn[KD_FORCE]++;

    // residual at a = 0; multipliers only where f depends on them
    kd_eom_frame_push(d);
    d->x.a = d->zero;
    if (!keep_multipliers) d->x.lambda = d->x.mu = d->zero;
    kd_restamp(d, KD_STAGE_ACCELERATION);
    kd_eval answer = kd_eom_eval(d, KD_RESIDUAL, d->f);
    kd_eom_frame_pop(d);
    if (answer != KD_EVAL_OK) return answer;

    // f = (GZ)' lambda + (HZ)' mu - residual
    memset(out, 0, (size_t)n->nv * sizeof(double));
    if (keep_multipliers) answer = add_constraint_forces(d, out);
    for (int i = 0; i < n->nv; i++) out[i] -= d->f[i];
    return answer;
}

// The magnitude of e_j that makes F(e_j) - F(0) least sensitive to rounding: a power of two of the size of F(0).
static double linear_scale(const double *F0, int rows)
{
    double size = kd_norm_max(rows, F0);
    int    exponent = 0;
    if (size > 1.0) (void)frexp(size, &exponent);
    return ldexp(1.0, exponent);
}

kd_eval kd_linear_columns(kd_eom_data *d, kd_fn fn, kd_var var, double *out)
{
    const int     nv = d->eom->def.dims.nv, rows = d->entry[fn].rows;
    kd_eom_frame *frame = kd_eom_frame_push(d);
    double       *unit = var == KD_V ? frame->v : frame->a;
    kd_stage      stage = var == KD_V ? KD_STAGE_VELOCITY : KD_STAGE_ACCELERATION;

    // F(0), which is not zero where the function is affine
    memset(unit, 0, (size_t)nv * sizeof(double));
    if (var == KD_V) {
        d->x.v = unit;
    } else {
        d->x.a = unit;
        d->x.lambda = d->x.mu = d->zero;
    }
    // what the caller has not set is zero in the frame, and cancels in F(e_j) - F(0)
    d->stage = KD_STAGE_ACCELERATION;
    kd_restamp(d, stage);
    kd_eval answer = kd_eom_eval(d, fn, d->linear);
    double  scale = answer == KD_EVAL_OK ? linear_scale(d->linear, rows) : 1.0;
    for (int j = 0; j < nv && answer == KD_EVAL_OK; j++) {
        // (F(scale e_j) - F(0)) / scale
        double *column = out + (size_t)j * (size_t)rows;
        unit[j] = scale;
        kd_restamp(d, stage);
        answer = kd_eom_eval(d, fn, column);
        unit[j] = 0.0;
        for (int i = 0; i < rows; i++) column[i] = (column[i] - d->linear[i]) / scale;
    }
    kd_eom_frame_pop(d);
    return answer;
}
