// kinematics.c: Z(p), Z(p) v, and positions moved by increments.
//
// Z comes from the definition, column by column from Z(p) v, or is I. The move p oplus e is the definition's; p + e for
// Z = I; otherwise the midpoint rule p + Z(p + Z(p) e / 2) e, which has the right second derivative, followed by
// Gauss-Newton steps p -= q_p' inv(q_p q_p') q back to q = 0.
#include <float.h>
#include <math.h>
#include <string.h>

#include "eom/internal.h"
#include "math/dense.h"

#define NORM_STEPS 5   // Gauss-Newton is quadratic: from an error of 0.1, three suffice
#define NORM_STEP 1e-3 // central differences of order 4 for q_p; q is a quadratic function of unit size as a rule

kd_eval kd_update_Z(kd_eom_data *d)
{
    const kd_eom *eom = d->eom;
    const int     np = eom->def.dims.np, nv = eom->def.dims.nv;
    // kept as long as the position stays
    if (d->Z_stamp == d->x.position_stamp) return KD_EVAL_OK;
    if (!kd_room(d, &d->Z, np, nv)) return kd_fault_memory(d, KD_KINEMATICS);
    // not valid while it is made: an answer that is not OK must leave nothing behind
    d->Z_stamp = 0;
    kd_eval answer = KD_EVAL_OK;
    // I, the definition's matrix, or Z e_j from kinematics
    switch (eom->kinematics) {
    case KD_Z_IDENTITY:
        memset(d->Z, 0, (size_t)np * (size_t)nv * sizeof(double));
        for (int j = 0; j < nv; j++) d->Z[j * np + j] = 1.0;
        break;
    case KD_Z_GIVEN:
        d->counters.fn[KD_KINEMATICS]++;
        d->counters.for_differences += d->depth > 0;
        memset(d->Z, 0, (size_t)np * (size_t)nv * sizeof(double));
        answer = eom->def.Z(&d->x, d->context, d->Z);
        if (answer != KD_EVAL_OK)
            answer = kd_fault_answer(d, KD_KINEMATICS, "kinematics Z", answer);
        else if (!kd_all_finite(d->Z, np * nv))
            answer = kd_fault_not_finite(d, KD_KINEMATICS, "kinematics Z", d->Z, np * nv);
        break;
    case KD_Z_FROM_KINEMATICS:
        answer = kd_linear_columns(d, KD_KINEMATICS, KD_V, d->Z);
        break;
    }
    if (answer == KD_EVAL_OK) d->Z_stamp = d->x.position_stamp;
    return answer;
}

kd_eval kd_eom_Z(kd_eom_data *d, double *Z)
{
    if (!d) return KD_EVAL_STOP;
    if (d->stage < KD_STAGE_POSITION) return kd_fault_stage(d, KD_KINEMATICS, KD_STAGE_POSITION);
    kd_eval answer = kd_update_Z(d);
    if (answer == KD_EVAL_OK)
        memcpy(Z, d->Z, (size_t)d->eom->def.dims.np * (size_t)d->eom->def.dims.nv * sizeof(double));
    return answer;
}

kd_eval kd_fallback_identity(kd_eom_data *d, double *out)
{
    memcpy(out, d->x.v, (size_t)d->eom->def.dims.nv * sizeof(double));
    return KD_EVAL_OK;
}

kd_eval kd_fallback_kinematics(kd_eom_data *d, double *out)
{
    kd_eval answer = kd_update_Z(d);
    if (answer == KD_EVAL_OK) kd_gemv(d->eom->def.dims.np, d->eom->def.dims.nv, 1.0, d->Z, d->x.v, 0.0, out);
    return answer;
}

// ---- moves ----------------------------------------------------------------------------------------------------------

// Z of another position, in a frame: what is kept for the point stays
kd_eval kd_kinematics_product(kd_eom_data *d, const double *p, const double *e, double *out)
{
    kd_eom_frame_push(d);
    d->x.p = p;
    d->x.v = e;
    d->stage = KD_STAGE_VELOCITY;
    kd_restamp(d, KD_STAGE_POSITION);
    // with Z given, kinematics may have more than Z v
    kd_eval answer = d->eom->def.Z ? kd_fallback_kinematics(d, out) : kd_eom_eval(d, KD_KINEMATICS, out);
    kd_eom_frame_pop(d);
    return answer;
}

kd_eval kd_move_midpoint(kd_eom_data *d, const double *p, const double *e, double *p_moved)
{
    const int np = d->eom->def.dims.np;
    if (d->eom->kinematics == KD_Z_IDENTITY) {
        for (int i = 0; i < np; i++) p_moved[i] = p[i] + e[i];
        return KD_EVAL_OK;
    }
    // p + Z(p) e / 2
    kd_eval answer = kd_kinematics_product(d, p, e, d->move_z);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < np; i++) d->move_p[i] = p[i] + 0.5 * d->move_z[i];
    // p + Z(p + Z(p) e / 2) e
    answer = kd_kinematics_product(d, d->move_p, e, d->move_z);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < np; i++) p_moved[i] = p[i] + d->move_z[i];
    return KD_EVAL_OK;
}

// q at an iterate of Gauss-Newton or of its differences; d->x is that of a frame
static kd_eval norm_at(kd_eom_data *d, const double *p, double *q)
{
    d->x.p = p;
    kd_restamp(d, KD_STAGE_POSITION);
    return kd_eom_eval(d, KD_Q, q);
}

// q_p (nq x np) at d->norm_p, supplied or by differences of order 4 in every coordinate.
static kd_eval norm_jacobian(kd_eom_data *d)
{
    const int np = d->eom->def.dims.np, nq = d->eom->def.dims.nq;
    kd_eval   answer = KD_EVAL_OK;
    if (!kd_room(d, &d->norm_J, nq, np)) return kd_fault_memory(d, KD_Q);
    // supplied
    if (kd_is_given(d->eom, KD_Q, KD_P)) {
        d->counters.derivative++;
        memset(d->norm_J, 0, (size_t)nq * (size_t)np * sizeof(double));
        answer = d->eom->def.derivative(&d->x, KD_Q, KD_P, KD_PART_ALL, d->context, d->norm_J);
        if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_Q, "derivative of q by p", answer);
        if (!kd_all_finite(d->norm_J, nq * np))
            return kd_fault_not_finite(d, KD_Q, "derivative of q by p", d->norm_J, nq * np);
        return KD_EVAL_OK;
    }
    // order 4: (8 (q(+1) - q(-1)) - (q(+2) - q(-2))) / (12 step)
    static const struct {
        double at, weight;
    } stencil[] = {{1.0, 8.0 / 12.0}, {-1.0, -8.0 / 12.0}, {2.0, -1.0 / 12.0}, {-2.0, 1.0 / 12.0}};
    memset(d->norm_J, 0, (size_t)nq * (size_t)np * sizeof(double));
    for (int j = 0; j < np; j++) {
        const double kept = d->norm_p[j];
        for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
            d->norm_p[j] = kept + stencil[k].at * NORM_STEP;
            answer = norm_at(d, d->norm_p, d->norm_left);
            kd_axpy(nq, stencil[k].weight / NORM_STEP, d->norm_left, d->norm_J + j * nq);
        }
        d->norm_p[j] = kept;
        if (answer != KD_EVAL_OK) return answer;
    }
    return KD_EVAL_OK;
}

// Gauss-Newton back to q = 0, on d->norm_p.
static kd_eval normalise(kd_eom_data *d)
{
    const int np = d->eom->def.dims.np, nq = d->eom->def.dims.nq;
    for (int step = 0; step < NORM_STEPS; step++) {
        // q at the iterate
        kd_eval answer = norm_at(d, d->norm_p, d->norm_q);
        if (answer != KD_EVAL_OK) return answer;
        if (kd_norm_max(nq, d->norm_q) <= 2.0 * DBL_EPSILON) return KD_EVAL_OK;
        answer = norm_jacobian(d);
        if (answer != KD_EVAL_OK) return answer;
        if (!kd_room(d, &d->norm_A, nq, nq)) return kd_fault_memory(d, KD_Q);
        for (int i = 0; i < nq; i++) // q_p q_p'
            for (int j = 0; j < nq; j++) {
                double sum = 0.0;
                for (int k = 0; k < np; k++) sum += d->norm_J[k * nq + i] * d->norm_J[k * nq + j];
                d->norm_A[j * nq + i] = sum;
            }
        // p -= q_p' inv(q_p q_p') q
        if (kd_lu_factor(nq, d->norm_A, d->norm_pivot) != 0)
            return kd_fault_status(d, KD_Q, KD_ERR_DECOMPOSITION, "norm equations q are dependent", KD_EVAL_RETRY);
        kd_lu_solve(nq, d->norm_A, d->norm_pivot, d->norm_q, 1);
        kd_gemv_t(nq, np, -1.0, d->norm_J, d->norm_q, 1.0, d->norm_p);
    }
    return KD_EVAL_OK;
}

kd_eval kd_eom_oplus(kd_eom_data *d, const double *p, const double *e, double *p_moved)
{
    if (!d || !p || !e || !p_moved) return KD_EVAL_STOP;
    const kd_eom *eom = d->eom;
    const int     np = eom->def.dims.np;
    // flat coordinates: p + e, nothing to go back to
    if (!eom->def.oplus && eom->kinematics == KD_Z_IDENTITY && eom->def.dims.nq == 0)
        return kd_move_midpoint(d, p, e, p_moved);
    kd_eval answer;
    // the definition's move, or the midpoint rule and back to q = 0
    if (eom->def.oplus) {
        answer = eom->def.oplus(p, e, d->context, d->norm_p);
        if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_KINEMATICS, "oplus", answer);
        if (!kd_all_finite(d->norm_p, np)) return kd_fault_not_finite(d, KD_KINEMATICS, "oplus", d->norm_p, np);
    } else {
        answer = kd_move_midpoint(d, p, e, d->norm_p);
        if (answer == KD_EVAL_OK && eom->def.dims.nq > 0) {
            kd_eom_frame_push(d);
            d->stage = KD_STAGE_POSITION;
            answer = normalise(d);
            kd_eom_frame_pop(d);
        }
    }
    if (answer == KD_EVAL_OK) memcpy(p_moved, d->norm_p, (size_t)np * sizeof(double));
    return answer;
}

kd_eval kd_eom_q_p(kd_eom_data *d, double *q_p)
{
    if (!d) return KD_EVAL_STOP;
    const kd_dims *n = &d->eom->def.dims;
    if (d->stage < KD_STAGE_POSITION) return kd_fault_stage(d, KD_Q, KD_STAGE_POSITION);
    // differences move norm_p: a copy, the point's own array is not ours
    memcpy(d->norm_p, d->x.p, (size_t)n->np * sizeof(double));
    kd_eom_frame_push(d);
    kd_eval answer = norm_jacobian(d);
    kd_eom_frame_pop(d);
    if (answer == KD_EVAL_OK) memcpy(q_p, d->norm_J, (size_t)n->nq * (size_t)n->np * sizeof(double));
    return answer;
}
