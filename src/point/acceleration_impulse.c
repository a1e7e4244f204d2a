// acceleration_impulse.c: what happens at an instant. A jump of z or of an input lets accelerations and multipliers
// jump, a jump of a prescribed velocity or a blow lets velocities jump:
//
//     [M C'; C 0] [da; dlambda] = -[residual; 0],     [M C'; C 0] [dv; Lambda] = -[momentum; gI, h]
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <math.h>
#include <string.h>

kd_eval kd_acceleration_jump(kd_acceleration *self, double t, const double *p, const double *s, const double *v,
                             const double *r, const double *a, const double *w, const double *lambda, const double *mu,
                             double *jump, bool *done)
{
    const int nv = self->dims.nv;
    *done = false;
    if (!self->linear || !kd_acceleration_all_active(self) || kd_acceleration_has_own_solution(self)) return KD_EVAL_OK;
    kd_eval answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_acceleration_reserve(self)) return kd_acceleration_no_room(self, t);
    kd_eom_at_acceleration(self->data, a, w, lambda, mu);

    // a matrix of about here
    if (kd_definite_serves_jump(self, p)) {
        self->definite.jumps++;
    } else {
        bool factored;
        answer = kd_definite_factor(self, t, p, &factored);
        if (answer != KD_EVAL_OK || !factored) return answer;
    }

    // what the jump leaves in the equations of motion
    answer = kd_eom_eval(self->data, KD_RESIDUAL, jump);
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    for (int i = 0; i < nv; i++) jump[i] = -jump[i];
    for (int i = nv; i < self->nk; i++) jump[i] = 0;
    kd_acceleration_apply(self, self->nk, jump);
    *done = isfinite(kd_norm_max(self->nk, jump));
    return KD_EVAL_OK;
}

// At the right-hand limit of an instant
kd_eval kd_acceleration_impulse(kd_acceleration *self, double t, const double *p, const double *s, double *v,
                                const double *r, const double *momentum, double *impulse)
{
    const kd_dims d = self->dims;
    double        far = 0, *y = self->rhs;
    kd_eval       answer = kd_acceleration_at(self, t, p, s, v, r);
    if (answer != KD_EVAL_OK) return answer;
    self->kept.usable = self->definite.known = false; // the matrix of this very point
    answer = kd_project_factor(self, t, p, &far);
    if (answer == KD_EVAL_OK) answer = kd_project_rows(self, momentum);
    if (answer != KD_EVAL_OK) return answer;
    kd_acceleration_apply(self, self->nk, y);
    kd_axpy(d.nv, 1, y, v);
    memcpy(impulse, y + d.nv, (size_t)(d.nlambda + d.nmu) * sizeof *y);
    return KD_EVAL_OK;
}
