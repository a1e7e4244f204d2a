// matrices.c: the constraint matrices GZ and HZ, with contact coordinates eliminated.
//
// 0 = c(p,s) makes s a function of p, so that d/dp g(p, s(p)) = G = g_p - g_s inv(c_s) c_p (S1 Eq. 30 ff.).
// H Z = h_v.  Sources, best first: supplied derivatives; unit velocities, exact since gI and h are linear in v;
// differences of g and c, of order 6 because the residual and gII are differenced once more.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "eom/internal.h"
#include "math/dense.h"

#define PRECISE_STEP 2e-3 // order 6: truncation (step/length)^6 / 140 and rounding eps / step stay below 1e-12

kd_eval kd_supplied_block(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *out)
{
    const kd_eom *eom = d->eom;
    const int     rows = d->entry[fn].rows, np = eom->def.dims.np, nv = eom->def.dims.nv;
    // norm equations are always differentiated by the coordinates
    bool times_Z = var == KD_P && eom->kinematics != KD_Z_IDENTITY && (!eom->def.p_increments || fn == KD_Q);
    int  count = rows * (times_Z ? np : eom->columns[var]);
    char what[64];
    if (times_Z && !kd_room_block(d)) return kd_fault_memory(d, fn);

    // F_var as supplied; by coordinates p: F_p Z
    double *block = times_Z ? d->block : out;
    d->counters.derivative++;
    memset(block, 0, (size_t)count * sizeof(double));
    kd_eval answer = eom->def.derivative(&d->x, fn, var, part, d->context, block);
    if (answer == KD_EVAL_OK && kd_all_finite(block, count)) {
        if (!times_Z) return KD_EVAL_OK;
        answer = kd_update_Z(d);
        if (answer == KD_EVAL_OK) kd_gemm(rows, nv, np, 1.0, block, d->Z, 0.0, out); // F_p Z
        return answer;
    }
    // a block that failed or has a NaN: named by function and variable
    kd_text(what, sizeof what, "derivative of %s by %s", kd_fn_word(fn), kd_var_letter(var));
    return answer == KD_EVAL_OK ? kd_fault_not_finite(d, fn, what, block, count) : kd_fault_answer(d, fn, what, answer);
}

// Differences of order 6 of g or c by p (along increments) or s.
static kd_eval precise_differences(kd_eom_data *d, kd_fn fn, kd_var var, double *out)
{
    static const double weight[3] = {45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0};

    const kd_eom *eom = d->eom;
    const int     np = eom->def.dims.np, ns = eom->def.dims.ns, rows = d->entry[fn].rows;
    const bool    by_p = var == KD_P;
    kd_eval       answer = by_p ? kd_update_Z(d) : KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;

    // x moves in an array of its own, by a step relative to its size
    kd_eom_frame *frame = kd_eom_frame_push(d);
    const double *x0 = by_p ? frame->saved.p : frame->saved.s;
    double       *x = by_p ? frame->p : frame->s;
    const int     n = by_p ? np : ns;
    // between 0.1 and 1: units of length and angle alike, whatever p is
    double typical = fmin(fmax(kd_norm_max(n, x0), 0.1), 1.0);
    double h = PRECISE_STEP * typical;
    if (by_p)
        d->x.p = x;
    else
        d->x.s = x;
    memset(out, 0, (size_t)rows * (size_t)eom->columns[var] * sizeof(double));
    for (int j = 0; j < eom->columns[var] && answer == KD_EVAL_OK; j++) {
        for (int k = -3; k <= 3 && answer == KD_EVAL_OK; k++) {
            if (k == 0) continue;
            // x + k h e_j, along Z for p; sum of weight_k F / h
            memcpy(x, x0, (size_t)n * sizeof(double));
            if (by_p)
                kd_axpy(np, k * h, d->Z + j * np, x);
            else
                x[j] += k * h;
            kd_restamp(d, KD_STAGE_POSITION);
            answer = kd_eom_eval(d, fn, d->stencil);
            kd_axpy(rows, (k > 0 ? weight[k - 1] : -weight[-k - 1]) / h, d->stencil, out + j * rows);
        }
    }
    kd_eom_frame_pop(d);
    return answer;
}

kd_eval kd_precise_block(kd_eom_data *d, kd_fn fn, kd_var var, double *out)
{
    // zero by the definition, supplied, or differences
    if (!(d->eom->depends[fn] & KD_BIT(var))) {
        memset(out, 0, (size_t)d->entry[fn].rows * (size_t)d->eom->columns[var] * sizeof(double));
        return KD_EVAL_OK;
    }
    if (kd_is_given(d->eom, fn, var)) return kd_supplied_block(d, fn, var, KD_PART_ALL, out);
    return precise_differences(d, fn, var, out);
}

kd_eval kd_factor_c_s(kd_eom_data *d, double *c_s, int *pivot)
{
    const int ns = d->eom->def.dims.ns;
    double    smallest = HUGE_VAL, greatest = 0.0;
    // LU; a pivot that is rounding beside the largest one means that s is not determined
    bool singular = kd_lu_factor(ns, c_s, pivot) != 0;
    for (int i = 0; i < ns; i++) {
        smallest = fmin(smallest, fabs(c_s[i * ns + i]));
        greatest = fmax(greatest, fabs(c_s[i * ns + i]));
    }
    if (singular || smallest <= 10.0 * ns * DBL_EPSILON * greatest)
        return kd_fault_status(d, KD_C, KD_ERR_SINGULAR_CS, "c_s is singular: 0 = c does not determine s",
                               KD_EVAL_RETRY);
    return KD_EVAL_OK;
}

// GZ = (g_p - g_s inv(c_s) c_p) Z
static kd_eval eliminate_contact(kd_eom_data *d)
{
    const kd_dims *n = &d->eom->def.dims;
    kd_eval        answer = kd_precise_block(d, KD_G, KD_P, d->GZ);
    if (!kd_room(d, &d->g_s, n->nlambda, n->ns) || !kd_room(d, &d->c_p, n->ns, n->nv) ||
        !kd_room(d, &d->c_s, n->ns, n->ns))
        return kd_fault_memory(d, KD_C);
    if (n->ns == 0 || answer != KD_EVAL_OK) return answer;
    // g_s, c_p, c_s
    answer = kd_precise_block(d, KD_G, KD_S, d->g_s);
    if (answer == KD_EVAL_OK) answer = kd_precise_block(d, KD_C, KD_P, d->c_p);
    if (answer == KD_EVAL_OK) answer = kd_precise_block(d, KD_C, KD_S, d->c_s);
    if (answer == KD_EVAL_OK) answer = kd_factor_c_s(d, d->c_s, d->pivot);
    if (answer != KD_EVAL_OK) return answer;
    // GZ -= g_s (c_s \ c_p)
    kd_lu_solve(n->ns, d->c_s, d->pivot, d->c_p, n->nv);
    kd_gemm(n->nlambda, n->nv, n->ns, -1.0, d->g_s, d->c_p, 1.0, d->GZ);
    return KD_EVAL_OK;
}

// gI_v with only the position set: any velocity will do, gI is linear in it.
static kd_eval supplied_at_rest(kd_eom_data *d, kd_fn fn, double *out)
{
    // at the velocity stage as it is; before that with the zeros of a frame
    if (d->stage >= KD_STAGE_VELOCITY) return kd_supplied_block(d, fn, KD_V, KD_PART_ALL, out);
    kd_eom_frame_push(d);
    d->stage = KD_STAGE_VELOCITY;
    kd_restamp(d, KD_STAGE_VELOCITY);
    kd_eval answer = kd_supplied_block(d, fn, KD_V, KD_PART_ALL, out);
    kd_eom_frame_pop(d);
    return answer;
}

kd_eval kd_update_GZ(kd_eom_data *d)
{
    if (d->GZ_stamp == d->x.position_stamp || d->eom->GZ == KD_GZ_NONE) return KD_EVAL_OK;
    kd_eval answer = KD_EVAL_OK;
    if (!kd_room(d, &d->GZ, d->eom->def.dims.nlambda, d->eom->def.dims.nv)) return kd_fault_memory(d, KD_G);
    d->GZ_stamp = 0;
    // gI_v as supplied, gI(e_j) - gI(0), or g_p Z with s eliminated
    switch (d->eom->GZ) {
    case KD_GZ_NONE:
        break;
    case KD_GZ_FROM_GI_V:
        answer = supplied_at_rest(d, KD_GI, d->GZ);
        break;
    case KD_GZ_FROM_GI:
        answer = kd_linear_columns(d, KD_GI, KD_V, d->GZ);
        break;
    case KD_GZ_FROM_G_P:
    case KD_GZ_DIFFERENCES:
        answer = eliminate_contact(d);
        break;
    }
    if (answer == KD_EVAL_OK) d->GZ_stamp = d->x.position_stamp;
    return answer;
}

kd_eval kd_update_HZ(kd_eom_data *d)
{
    if (d->HZ_stamp == d->x.position_stamp || d->eom->def.dims.nmu == 0) return KD_EVAL_OK;
    if (!kd_room(d, &d->HZ, d->eom->def.dims.nmu, d->eom->def.dims.nv)) return kd_fault_memory(d, KD_H);
    d->HZ_stamp = 0;
    // h_v as supplied, or h(e_j) - h(0)
    kd_eval answer =
        kd_is_given(d->eom, KD_H, KD_V) ? supplied_at_rest(d, KD_H, d->HZ) : kd_linear_columns(d, KD_H, KD_V, d->HZ);
    if (answer == KD_EVAL_OK) d->HZ_stamp = d->x.position_stamp;
    return answer;
}

kd_eval kd_eom_constraint_matrices(kd_eom_data *d, double *GZ, double *HZ)
{
    if (!d) return KD_EVAL_STOP;
    const kd_dims *n = &d->eom->def.dims;
    kd_eval        answer = KD_EVAL_OK;
    if (d->stage < KD_STAGE_POSITION) return kd_fault_stage(d, KD_G, KD_STAGE_POSITION);
    if (GZ && n->nlambda > 0) {
        answer = kd_update_GZ(d);
        if (answer == KD_EVAL_OK) memcpy(GZ, d->GZ, (size_t)n->nlambda * (size_t)n->nv * sizeof(double));
    }
    if (HZ && n->nmu > 0 && answer == KD_EVAL_OK) {
        answer = kd_update_HZ(d);
        if (answer == KD_EVAL_OK) memcpy(HZ, d->HZ, (size_t)n->nmu * (size_t)n->nv * sizeof(double));
    }
    return answer;
}
