// hybrid_look.c: the switching functions along a step: whether one crosses zero, and where the first one does. Their values come from the
// dense output of the step, their bounds from the definition. Method: docs/methods/events.md
#include <math.h>
#include <string.h>

#include "simulation/hybrid_parts.h"

#define SHORT_PART 1e-4 // of the last step, for slopes at its end
#define NEARLY 1e4      // a function so many times its change in the tolerance away from zero is not about to cross

static kd_status state_inside(kd_hybrid *self, double t, kd_state *x, bool accelerations)
{
    // dense output gives p, v, r; forces and accelerations are solved for where functions look at them
    kd_status status = self->motion(t, x, self->motion_context);
    if (status >= 0 && accelerations) status = kd_hybrid_failed(self, kd_limit_solve(self->limit, x), "inside a step");
    return status;
}

static kd_status values_inside(double t, void *context, double *out)
{
    kd_hybrid *self = context;
    kd_status  status = state_inside(self, t, self->inside, kd_limit_needs_accelerations(self->limit, self->x));
    return status < 0 ? status
                      : kd_hybrid_failed(self, kd_limit_values(self->limit, self->inside, out), "switching functions");
}

// end[k] at time t, with its point
static kd_status bound_end(kd_hybrid *self, double t, int k, kd_point *point)
{
    const int    nu = self->dims.nu;
    double      *u = self->inputs + 3 * nu * k;
    kd_eom_data *data;
    kd_status    status = state_inside(self, t, self->end[k], true);
    if (status >= 0) status = kd_hybrid_failed(self, kd_limit_at(self->limit, self->end[k], &data), "bounds");
    if (status < 0) return status;
    // the point refers to inputs of data, which moves on to the other end: they are copied
    *point = *kd_eom_point(data);
    if (nu == 0) return KD_OK;
    const double *const from[] = {point->u, point->du, point->ddu};
    for (int j = 0; j < 3; j++) memcpy(u + j * nu, from[j], (size_t)nu * sizeof *u);
    point->u = u;
    point->du = u + nu;
    point->ddu = u + 2 * nu;
    return KD_OK;
}

// Bounds of the definition; those of the rows are not known.
static kd_status bounds_inside(double t0, double t1, void *context, double *lower, double *upper)
{
    kd_hybrid   *self = context;
    kd_point     x0, x1;
    kd_eom_data *data;
    kd_status    status = bound_end(self, t0, 0, &x0);
    if (status >= 0) status = bound_end(self, t1, 1, &x1);
    if (status >= 0) status = kd_limit_at(self->limit, self->end[1], &data);
    if (status < 0) return status;
    // rows have no bounds: minima are searched instead
    for (int i = self->dims.nswitch; i < self->crossing.n; i++) {
        lower[i] = -HUGE_VAL;
        upper[i] = HUGE_VAL;
    }
    kd_eval answer = kd_eom_switch_bounds(data, &x0, &x1, lower, upper);
    return kd_hybrid_failed(self, kd_limit_fault(self->limit, answer), "bounds of switching functions");
}

// Functions that are about to cross within the tolerance behind an instant do so there: its actions have one order,
// whichever comes first by rounding.
static kd_status find_about_to(kd_hybrid *self, double t0, double tolerance)
{
    kd_crossing *c = &self->crossing;
    // change over a short part in front of the end, for the slope there
    const double h = self->x->t - t0, back = SHORT_PART * h;
    bool         any = false;
    // most steps are far from any crossing: their functions are not evaluated again
    for (int i = 0; i < c->n; i++)
        any = any || fabs(c->end[i]) * h <= NEARLY * tolerance * fabs(c->end[i] - c->start[i]);
    if (!any) return KD_OK;
    kd_status status = values_inside(self->x->t - back, self, c->middle);
    for (int i = 0; i < c->n && status >= 0; i++) {
        double slope = (c->end[i] - c->middle[i]) / back;
        // known side, left zero, and beyond zero within the tolerance
        if (c->side[i] == 0 || c->band[i] > 0 || c->side[i] * (c->end[i] + slope * tolerance) > 0) continue;
        c->crossed[i] = (signed char)-c->side[i];
        self->has_crossed = true;
    }
    return status;
}

// A crossing in the step from t0 to x; the state goes back to it.
static kd_status find_crossing(kd_hybrid *self, double t0)
{
    kd_state         *x = self->x;
    const double      t1 = x->t, tolerance = fmax(self->opt.accuracy * (t1 - t0), kd_hybrid_ulps(t1, 4));
    const bool        has_bounds = kd_eom_definition(self->eom)->switch_bounds != NULL;
    double            t = t1;
    kd_step_functions f = {values_inside, has_bounds ? bounds_inside : NULL, self};
    kd_status         status =
        kd_hybrid_failed(self, kd_limit_values(self->limit, x, self->crossing.end), "switching functions");
    // values at the end, then the earliest root in the step
    if (status >= 0) status = kd_crossing_find(&self->crossing, &f, t0, t1, tolerance, &self->has_crossed, &t);
    if (status < 0) return status;
    self->from = t0;
    self->tolerance = tolerance;
    // nothing crossed: those about to do so at a break or sample still join it
    if (!self->has_crossed) return self->at_break || self->at_sample ? find_about_to(self, t0, tolerance) : KD_OK;
    // a crossing at the same instant as the break or sample: they are passed together
    if ((self->at_break || self->at_sample) && t1 - t <= tolerance) // at the same instant
        return kd_hybrid_failed(self, kd_limit_values(self->limit, x, self->crossing.end), "switching functions");
    // it comes before them: they stay for later
    self->at_break = self->at_sample = false;
    if (t == t1) return KD_OK;
    // back to the crossing; p and v onto the constraints there, as dense output leaves them
    status = self->motion(t, x, self->motion_context);
    return status < 0 ? status : kd_hybrid_failed(self, kd_limit_project(self->limit, x, false), "state at an event");
}

// The limit from the left at the end of a step. A controller that looks at the motion only needs no forces there.
static kd_status complete_left(kd_hybrid *self)
{
    kd_state *x = self->x;
    bool      of_motion = kd_eom_definition(self->eom)->discrete_of_motion && !self->has_crossed && !self->at_break &&
                     !kd_teller_tells_samples(&self->teller);
    // a sample of a controller that looks at the motion only: p, v, r are enough
    kd_status status = self->motion(x->t, x, self->motion_context);
    return status < 0 || of_motion ? status : kd_hybrid_failed(self, kd_limit_solve(self->limit, x), "state");
}

// The definition hears of every step, and may ask for an event at its end
static kd_status ask_at_end(kd_hybrid *self, bool *solved)
{
    kd_eom_data *data;
    if (!kd_eom_definition(self->eom)->completed) return KD_OK;
    // behind looks at the middle of the step: the end again
    kd_status status = self->motion(self->x->t, self->x, self->motion_context);
    if (status >= 0) status = kd_limit_solve(self->limit, self->x);
    if (status >= 0) status = kd_limit_at(self->limit, self->x, &data);
    *solved = true;
    memset(self->alone, 0, (size_t)self->dims.nswitch);
    if (status >= 0) status = kd_limit_fault(self->limit, kd_eom_completed(data, self->alone));
    if (status < 0) return kd_hybrid_failed(self, status, "end of a step");
    for (int i = 0; i < self->dims.nswitch; i++) {
        if (!self->alone[i]) continue;
        self->crossing.crossed[i] = self->alone[i];
        self->has_crossed = true;
    }
    return KD_OK;
}

kd_status kd_hybrid_look(kd_hybrid *self, double t0, bool solved)
{
    kd_state    *x = self->x;
    const double t1 = x->t;
    kd_status    status = KD_OK;
    self->message[0] = '\0';
    self->has_crossed = false;
    // breaks and samples that end this step
    kd_hybrid_find_due(self, t1);
    // functions of rows may look at multipliers and accelerations
    if (self->crossing.n > 0) {
        if (!solved && kd_limit_needs_accelerations(self->limit, self->x)) {
            status = kd_hybrid_failed(self, kd_limit_solve(self->limit, x), "state");
            solved = true;
        }
        if (status >= 0 && t1 > t0) status = find_crossing(self, t0);
        if (status < 0) return status;
    }
    if (!self->has_crossed && t1 > t0) status = ask_at_end(self, &solved);
    if (status < 0) return status;
    self->pending = self->has_crossed || self->at_break || self->at_sample;
    // nothing happened: the end of this step is the start of the next, and rates tell the strides
    if (!self->pending) {
        for (int i = 0; i < self->crossing.n; i++)
            self->fall[i] = t1 > t0 ? (self->crossing.start[i] - self->crossing.end[i]) / (t1 - t0) : 0;
        if (self->crossing.n > 0)
            memcpy(self->crossing.start, self->crossing.end, (size_t)self->crossing.n * sizeof(double));
        return KD_OK;
    }
    return x->t == t1 && !solved ? complete_left(self) : status;
}
