// hybrid.c: the discrete part of the equations: samples, events, breaks, constraints that come and go (S1 Eq. 31).
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "eom/internal.h"

// without samples the next one is never
double kd_eom_next_sample(kd_eom_data *d)
{
    if (!d) return HUGE_VAL;
    return d->eom->def.next_sample ? d->eom->def.next_sample(&d->x, d->context) : HUGE_VAL;
}

// The first of z that is no number, by its name
static kd_eval fault_of_z(kd_eom_data *d, const char *what, const double *z)
{
    char name[96];
    int  i = 0;
    while (isfinite(z[i])) i++;
    kd_eval answer = kd_fault_not_finite(d, KD_SWITCH, what, NULL, 0);
    kd_text(d->message, sizeof d->message, "%s returned %s for '%s' at t = %.9g", what,
            isnan(z[i]) ? "NaN" : "infinity", kd_eom_name(d->eom, KD_NAME_Z, i, name, sizeof name), d->x.t);
    return answer;
}

kd_eval kd_eom_discrete(kd_eom_data *d, double *z_new)
{
    if (!d) return KD_EVAL_STOP;
    int nz = d->eom->def.dims.nz;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_SWITCH, KD_STAGE_ACCELERATION);
    // z stays as it is where no sample changes it
    if (nz > 0) memmove(z_new, d->x.z, (size_t)nz * sizeof(double));
    if (!d->eom->def.discrete) return KD_EVAL_OK;
    kd_eval answer = d->eom->def.discrete(&d->x, d->context, z_new);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_SWITCH, "discrete update", answer);
    if (!kd_all_finite(z_new, nz)) return fault_of_z(d, "discrete update", z_new);
    return KD_EVAL_OK;
}

double kd_eom_next_break(kd_eom_data *d)
{
    if (!d) return HUGE_VAL;
    return d->eom->def.next_break ? d->eom->def.next_break(&d->x, d->context) : HUGE_VAL;
}

kd_eval kd_eom_event(kd_eom_data *d, const signed char *crossed, kd_jump *jump)
{
    if (!d) return KD_EVAL_STOP;
    const kd_dims *n = &d->eom->def.dims;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_SWITCH, KD_STAGE_ACCELERATION);
    if (!d->eom->def.event) return KD_EVAL_OK;
    kd_eval answer = d->eom->def.event(&d->x, crossed, d->context, jump);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_SWITCH, "event", answer);
    // a state that is no number is told here, where its cause is known
    if (!kd_all_finite(jump->z, n->nz)) return fault_of_z(d, "event", jump->z);
    bool finite = kd_all_finite(jump->p, n->np) && kd_all_finite(jump->v, n->nv) && kd_all_finite(jump->r, n->nr);
    return finite ? KD_EVAL_OK : kd_fault_not_finite(d, KD_SWITCH, "event", NULL, 0);
}

kd_eval kd_eom_completed(kd_eom_data *d, signed char *crossed)
{
    if (!d) return KD_EVAL_STOP;
    if (!d->eom->def.completed) return KD_EVAL_OK;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_SWITCH, KD_STAGE_ACCELERATION);
    const kd_eval answer = d->eom->def.completed(&d->x, d->context, crossed);
    return answer == KD_EVAL_OK ? answer : kd_fault_answer(d, KD_SWITCH, "end of a step", answer);
}

kd_eval kd_eom_switch_bounds(kd_eom_data *d, const kd_point *x0, const kd_point *x1, double *lower, double *upper)
{
    if (!d) return KD_EVAL_STOP;
    // not known until the definition tells
    for (int i = 0; i < d->eom->def.dims.nswitch; i++) {
        lower[i] = -HUGE_VAL;
        upper[i] = HUGE_VAL;
    }
    if (!d->eom->def.switch_bounds) return KD_EVAL_OK;
    kd_eval answer = d->eom->def.switch_bounds(x0, x1, d->context, lower, upper);
    return answer == KD_EVAL_OK ? answer : kd_fault_answer(d, KD_SWITCH, "switch_bounds", answer);
}

kd_eval kd_eom_unseen(kd_eom_data *d, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    if (!d || !x0 || !x1 || !seen || !out) return KD_EVAL_STOP;
    // nothing is found where nothing searches
    *out = (kd_hidden){.part = HUGE_VAL};
    if (!d->eom->def.unseen) return KD_EVAL_OK;
    kd_eval answer = d->eom->def.unseen(x0, x1, seen, d->context, out);
    return answer == KD_EVAL_OK ? answer : kd_fault_answer(d, KD_SWITCH, "unseen", answer);
}

const char *kd_eom_unsearched(const kd_eom *eom, int i)
{
    if (!eom) return NULL;
    if (eom->def.unsearched) return eom->def.unsearched(i, eom->def.context);
    return i == 0 && !eom->def.unseen ? "equations of motion written in C" : NULL;
}

kd_eval kd_eom_breakaway(kd_eom_data *d, double *limit)
{
    if (!d) return KD_EVAL_STOP;
    const int nmu = d->eom->def.dims.nmu;
    if (d->stage < KD_STAGE_ACCELERATION) return kd_fault_stage(d, KD_H, KD_STAGE_ACCELERATION);
    // no limit for rows that always hold, and where the definition gives none
    for (int i = 0; i < nmu; i++) limit[i] = HUGE_VAL;
    if (!d->eom->def.breakaway) return KD_EVAL_OK;
    kd_eval answer = d->eom->def.breakaway(&d->x, d->context, limit);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_H, "breakaway", answer);
    for (int i = 0; i < nmu; i++) {
        if (!kd_eom_is_friction(d->eom, i)) limit[i] = HUGE_VAL;
        if (isnan(limit[i])) return kd_fault_not_finite(d, KD_H, "breakaway", limit, nmu);
    }
    return KD_EVAL_OK;
}

void kd_eom_shift_drives(kd_eom_data *d, const double *shift)
{
    if (d) d->x.drive_shift = shift;
}

kd_eval kd_eom_drives(kd_eom_data *d, double *q, double *dq, double *ddq)
{
    if (!d) return KD_EVAL_STOP;
    const int n = d->eom->def.ndrives;
    if (n == 0) return KD_EVAL_OK;
    if (d->stage < KD_STAGE_TIME) return kd_fault_stage(d, KD_G, KD_STAGE_TIME);
    kd_eval answer = d->eom->def.drives(&d->x, d->context, q, dq, ddq);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_G, "drives", answer);
    // a prescribed motion that is no number is named, with its rates
    for (int i = 0; i < n; i++) {
        char name[96];
        if (isfinite(q[i]) && isfinite(dq[i]) && isfinite(ddq[i])) continue;
        answer = kd_fault_not_finite(d, KD_G, "drives", NULL, 0);
        kd_text(d->message, sizeof d->message, "the prescribed motion of %s is no number at t = %.9g: %g, rates %g, %g",
                kd_eom_name(d->eom, KD_NAME_DRIVE, i, name, sizeof name), d->x.t, q[i], dq[i], ddq[i]);
        return answer;
    }
    return KD_EVAL_OK;
}

// impulses of all coordinates for jumps of v and of the drives; arrays that are NULL count as zero
kd_eval kd_eom_impulses(kd_eom_data *d, const double *dv, const double *dx, const double *Lambda, const double *Pi,
                        double *free, double *driven)
{
    if (!d) return KD_EVAL_STOP;
    const kd_eom_def *def = &d->eom->def;
    if (def->ndrives == 0) return kd_fault_status(d, KD_RESIDUAL, KD_ERR_UNSUPPORTED, "no drives", KD_EVAL_STOP);
    if (d->stage < KD_STAGE_VELOCITY) return kd_fault_stage(d, KD_RESIDUAL, KD_STAGE_VELOCITY);
    kd_eval answer = def->impulses(&d->x, dv ? dv : d->zero, dx, Lambda ? Lambda : d->zero, Pi ? Pi : d->zero,
                                   d->context, free, driven);
    if (answer != KD_EVAL_OK) return kd_fault_answer(d, KD_RESIDUAL, "impulses", answer);
    if (!kd_all_finite(free, def->dims.nv)) return kd_fault_not_finite(d, KD_RESIDUAL, "impulses", free, def->dims.nv);
    return kd_all_finite(driven, def->ndrives) ? KD_EVAL_OK : kd_fault_not_finite(d, KD_RESIDUAL, "impulses", NULL, 0);
}

bool kd_eom_one_sided(const kd_eom *eom, int lambda)
{
    if (!eom) return false;
    return eom->def.restitution && eom->def.restitution[lambda] >= 0;
}

bool kd_eom_is_friction(const kd_eom *eom, int mu)
{
    if (!eom) return false;
    return eom->def.friction && eom->def.friction[mu] >= 0;
}
