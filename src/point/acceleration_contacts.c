// acceleration_contacts.c: contact coordinates s from 0 = c(p, s) by Newton's method, at first with the matrix c_s of an
// earlier point: often there is little to do.
#include "math/dense.h"
#include "point/acceleration_impl.h"
#include <math.h>
#include <string.h>

#define SMALL 1e-3 // added to the size of s

// LU of c_s at the point that the data are at
static kd_eval factor_contacts(kd_acceleration *self, double t)
{
    const int          ns = self->dims.ns;
    kd_contact_matrix *m = &self->contact;
    const double      *c_s = self->block.c_s;
    kd_eval            answer = kd_eom_derivatives(self->data, KD_PART_ALL, &self->wanted_c);
    m->known = false;
    if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
    if (c_s) memcpy(m->LU, c_s, (size_t)ns * (size_t)ns * sizeof(double));
    m->known = c_s && kd_lu_factor(ns, m->LU, m->pivot) == 0;
    return m->known ? KD_EVAL_OK
                    : kd_acceleration_no_solution(self, KD_ERR_SINGULAR_CS, t, kd_status_sentence(KD_ERR_SINGULAR_CS));
}

kd_eval kd_acceleration_contacts(kd_acceleration *self, double t, const double *p, double *s)
{
    const int ns = self->dims.ns;
    if (ns == 0) return KD_EVAL_OK;
    kd_contact_matrix *m = &self->contact;
    double            *c = m->c, last = INFINITY;
    kd_eval            answer = kd_acceleration_at_time(self, t);
    if (answer != KD_EVAL_OK) return answer;
    for (int k = 0; k < KD_ACCELERATION_ITERATIONS; k++) {
        // c at the iterate; the first increment with an older c_s
        kd_eom_at_position(self->data, p, s);
        answer = kd_eom_eval(self->data, KD_C, c);
        if (answer != KD_EVAL_OK) return kd_acceleration_note(self, answer);
        if (k > 0 || !m->known) {
            answer = factor_contacts(self, t);
            if (answer != KD_EVAL_OK) return answer;
        }
        // s <- s - c_s \ c
        kd_lu_solve(ns, m->LU, m->pivot, c, 1);
        kd_axpy(ns, -1, c, s);
        // converged, or rounding
        const double step = kd_norm_max(ns, c), size = kd_norm_max(ns, s) + SMALL;
        if (step <= KD_ACCELERATION_CONVERGED * size ||
            (step >= 0.5 * last && step <= KD_ACCELERATION_STAGNATED * size)) {
            kd_eom_at_position(self->data, p, s);
            return KD_EVAL_OK;
        }
        last = step;
    }
    return kd_acceleration_no_solution(self, KD_ERR_SINGULAR_CS, t, "Newton's method finds no contact coordinates");
}
