// auxiliary.c: auxiliary variables w, 0 = d(p,v,r,w,lambda,..), in steps of fixed work.
//
// Two corrections with one matrix, from the w of the last step and at the last multipliers:
//
//     w1 = w0 - d_w \ d(w0),   w2 = w1 - d_w \ d(w1)
//
// Where equations lose their solution two of them meet: d_w is singular there, and behind it Newton's method finds none, or
// another one. That is seen by the sign of det d_w, which does not change along one solution, or by a second
// correction that is larger than the first. What jumps (events, samples, a new start) may change the solution.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "realtime/internal.h"

static const double MATTERS = 1e-3; // first corrections below this part of w are no reason to look at the second one

static int sign_of_determinant(int n, const double *LU, const int *pivot)
{
    const int first = pivot[n - 1] - (n - 1); // rows are counted from 0, those of large matrices from 1
    int       sign = 1;
    for (int k = 0; k < n; k++) {
        if (pivot[k] != k + first) sign = -sign;
        if (LU[k * n + k] < 0.0) sign = -sign;
    }
    return sign;
}

// The largest correction beside the largest w so far, and whose it is
static double part_of(const kd_realtime *rt, const double *correction, int *whose)
{
    double most = 0.0;
    for (int k = 0; k < rt->n.nw; k++) {
        const double size = rt->auxiliary.size[k], part = fabs(correction[k]) / (size > 0.0 ? size : 1.0);
        if (!(part > most) && !isnan(part)) continue;
        most = part;
        if (whose) *whose = k;
    }
    return most;
}

// d_w \ d at w; the matrix is made where that is asked for
static kd_eval correct(kd_realtime *rt, const double *w, bool matrix, double *out)
{
    kd_blocks blocks = {0};
    blocks.block[KD_D][KD_W] = rt->d_w;
    kd_eom_at_acceleration(rt->data, rt->now->a, w, rt->now->lambda, rt->now->mu);
    kd_eval answer = kd_eom_eval(rt->data, KD_D, out);
    if (matrix && answer == KD_EVAL_OK) answer = kd_eom_derivatives(rt->data, KD_PART_ALL, &blocks);
    if (answer != KD_EVAL_OK) return answer;
    if (matrix && (rt->auxiliary.bad = kd_lu_factor(rt->n.nw, rt->d_w, rt->pivot)) != 0) return KD_EVAL_RETRY;
    kd_lu_solve(rt->n.nw, rt->d_w, rt->pivot, out, 1);
    return KD_EVAL_OK;
}

kd_eval kd_rt_find_auxiliary(kd_realtime *rt)
{
    kd_rt_auxiliary *a = &rt->auxiliary;
    const int        n = rt->n.nw;
    double          *w = rt->next->w;
    int              whose = 0;
    // both corrections, with the matrix of the first
    a->bad = 0;
    kd_eval answer = correct(rt, rt->now->w, true, rt->small);
    if (answer != KD_EVAL_OK) return answer;
    for (int k = 0; k < n; k++) {
        w[k] = rt->now->w[k] - rt->small[k];
        a->size[k] = fmax(a->size[k], fabs(w[k]));
    }
    const double first = part_of(rt, rt->small, &whose);
    answer = correct(rt, w, false, rt->small);
    if (answer != KD_EVAL_OK) return answer;
    for (int k = 0; k < n; k++) w[k] -= rt->small[k];
    // is it still the same solution?
    const double second = part_of(rt, rt->small, NULL);
    const int    side = sign_of_determinant(n, rt->d_w, rt->pivot);
    const bool   turned = a->side != 0 && side != a->side, away = first > MATTERS && !(second < first);
    a->side = side;
    if (!a->follows || (!turned && !away)) {
        a->follows = true;
        return KD_EVAL_OK;
    }
    a->bad = whose + 1;
    return KD_EVAL_RETRY;
}

void kd_rt_auxiliary_begin(kd_realtime *rt)
{
    rt->auxiliary.side = rt->auxiliary.bad = 0;
    rt->auxiliary.follows = false;
    for (int k = 0; k < rt->n.nw; k++) rt->auxiliary.size[k] = fabs(rt->now->w[k]);
}

bool kd_rt_auxiliary_lost(const kd_realtime *rt, char *words, size_t size)
{
    char name[128] = "";
    if (rt->auxiliary.bad == 0) return false;
    kd_eom_name(rt->eom, KD_NAME_W, rt->auxiliary.bad - 1, name, sizeof name);
    kd_text(
        words, size,
        "the equations of %s lose the solution that the motion has followed (d_w is singular), or change too much in a "
        "step of %.3g s",
        name, rt->opt.h);
    return true;
}

kd_eval kd_rt_auxiliary_defect(kd_realtime *rt, double *part)
{
    const int bad = rt->auxiliary.bad;
    *part = 0.0;
    if (rt->n.nw == 0) return KD_EVAL_OK;
    kd_eval answer = correct(rt, rt->now->w, true, rt->small);
    if (answer == KD_EVAL_OK) *part = part_of(rt, rt->small, NULL);
    if (rt->auxiliary.bad != 0) *part = INFINITY, answer = KD_EVAL_OK;
    rt->auxiliary.bad = bad;
    return answer;
}
