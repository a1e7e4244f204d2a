// drives.c: jumps of prescribed velocities inside a step.
//
// Coordinates that time prescribes carry masses along: forces hold -M_vx q''. Over a step that is -h M_vx q'', which is
// right only as long as q' changes by h q'': not where it jumps, and not where an input from outside, held over a step,
// moves the drive. What is left of the change of q', dx = q'(t1) - q'(t0) - h q'', acts as impulse -M_vx dx.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "realtime/internal.h"

#define UNEXPLAINED 0.1 // part of the change of q' that q'' does not explain and that counts as a jump
#define LEAP 100.0      // a position that moves so many times as far as velocities and accelerations of both ends jumps
#define ROUNDING 1e-9   // of positions
#define NOISE 1e-14     // of laws whose terms cancel

bool kd_rt_drives_cut(kd_realtime *rt)
{
    const int n = kd_eom_definition(rt->eom)->ndrives;
    rt->drives.n = n;
    for (int k = 0; k < 2; k++) {
        rt->drives.q[k] = kd_cut_double(&rt->arena, n);
        rt->drives.dq[k] = kd_cut_double(&rt->arena, n);
        rt->drives.ddq[k] = kd_cut_double(&rt->arena, n);
    }
    rt->drives.dx = kd_cut_double(&rt->arena, n);
    rt->drives.driven = kd_cut_double(&rt->arena, n);
    rt->drives.free = kd_cut_double(&rt->arena, rt->n.nv);
    return !rt->arena.failed;
}

static kd_eval drives_at(kd_realtime *rt, double t, int k)
{
    kd_eval answer = kd_rt_time(rt, t);
    rt->start_known = false;
    if (answer != KD_EVAL_OK) return answer;
    return kd_eom_drives(rt->data, rt->drives.q[k], rt->drives.dq[k], rt->drives.ddq[k]);
}

kd_eval kd_rt_drives_begin(kd_realtime *rt)
{
    kd_eval answer = KD_EVAL_OK;
    if (rt->drives.n == 0) return KD_EVAL_OK;
    if (!rt->drives.known) answer = drives_at(rt, rt->now->t, 0);
    rt->drives.known = answer == KD_EVAL_OK;
    return answer == KD_EVAL_OK ? drives_at(rt, rt->next->t, 1) : answer;
}

bool kd_rt_drives_leap(kd_realtime *rt)
{
    const double h = rt->opt.h;
    for (int i = 0; i < rt->drives.n; i++) {
        const double q0 = rt->drives.q[0][i], q1 = rt->drives.q[1][i];
        // |q1 - q0| against what q' and q'' of both ends explain
        const double way = h * (fabs(rt->drives.dq[0][i]) + fabs(rt->drives.dq[1][i])) +
                           h * h * (fabs(rt->drives.ddq[0][i]) + fabs(rt->drives.ddq[1][i]));
        if (fabs(q1 - q0) <= LEAP * way + ROUNDING * (fabs(q0) + fabs(q1)) + NOISE * (1 + fabs(rt->next->t))) continue;
        char name[128];
        kd_text(rt->message, sizeof rt->message,
                "step %ld from t = %.9g: the position that time prescribes for %s jumps inside the step, from %.9g to "
                "%.9g, which no force can do; the state is that of t = %.9g",
                rt->steps + 1, rt->now->t, kd_eom_name(rt->eom, KD_NAME_DRIVE, i, name, sizeof name), q0, q1,
                rt->now->t);
        return true;
    }
    return false;
}

kd_eval kd_rt_drives_kick(kd_realtime *rt, double *y)
{
    const int at = rt->opt.ahead ? 1 : 0; // where forces were taken
    bool      jumps = false;
    // dx = q'(t1) - q'(t0) - h q''
    for (int i = 0; i < rt->drives.n; i++) {
        const double change = rt->drives.dq[1][i] - rt->drives.dq[0][i];
        rt->drives.dx[i] = change - rt->opt.h * rt->drives.ddq[at][i];
        jumps = jumps || fabs(rt->drives.dx[i]) > UNEXPLAINED * fabs(change);
    }
    if (!jumps) return KD_EVAL_OK;
    // impulse -M_vx dx
    kd_eval answer = kd_eom_impulses(rt->data, NULL, rt->drives.dx, NULL, NULL, rt->drives.free, rt->drives.driven);
    for (int i = 0; answer == KD_EVAL_OK && i < rt->n.nv; i++) y[i] -= rt->drives.free[i];
    return answer;
}

void kd_rt_drives_accept(kd_realtime *rt)
{
    const size_t size = (size_t)rt->drives.n * sizeof(double);
    memcpy(rt->drives.q[0], rt->drives.q[1], size);
    memcpy(rt->drives.dq[0], rt->drives.dq[1], size);
    memcpy(rt->drives.ddq[0], rt->drives.ddq[1], size);
}
