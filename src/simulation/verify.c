// verify.c: accepted steps against the equations of motion, at a point inside that the method has not seen.
//
//     delta = x'(t, x_I(t)) - x_I'(t)          x_I: Hermite polynomial through both ends of the step and the start of
//                                              the one before; x': accelerations and r' solved at (t, p, v, r)
//
// h |delta| is the error of the velocities that the step would have if it were like this everywhere. The polynomial has
// an error of its own: |x_I' - cubic'|, the cubic through the ends of the step alone, is more than that. The points
// come from the sequence k / golden ratio, so that every pattern of times is met sooner or later
// (docs/methods/verify.md).
#include "simulation/verify.h"

#include <limits.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "simulation/verify_impl.h"

static const double GOLDEN = 0.6180339887498949; // (sqrt 5 - 1) / 2
static const double INSIDE = 0.9;                // part of the step, around its middle, that points come from
static const double ALLOWED = 100;               // defect that a step may have, in tolerances
static const double ALLOWED_INSIDE = 10;         // the same for radau, in its inner tolerances
static const double OWN_ERROR = 0.3;             // times |x_I' - cubic'|: one power of h more than the cubic has
static const double OWN_MOST = 1000;             // tolerances: beyond, the polynomial is no picture of the motion
static const double NOISE = 2;                   // times what was seen before and had no weight
static const double FADES = 0.5;       // that noise at a point at which it is less, squared at each one in a row
enum { MOST_FADES = 8 };               // squares of it: 0.5^256 is nothing
static const double FORGET = 0.97;     // of the length of steps from check to check
static const double COMPARABLE = 0.1;  // of a step: one before it that is shorter extrapolates its errors
static const double SHORTER = 0.5;     // of a step that does not stand
static const double GREW = 2;          // times the last step: check it
static const double LONGER = 1.5;      // than all that were checked lately: check it
static const double CALM = 0.01;       // of what is allowed: a defect so small, in a step that is idle,
static const double CALM_LONGER = 4;   // lets steps grow by this before the next check, if laws are searched
static const double LONG = 0.1;        // of the run: steps in which all points are looked at, without searched laws
static const double SHORT = 1e-3;      // of the run: steps that grow up to here are no news
static const double FELL = 0.5;        // of the last step: so short is one only where something happens
static const double IDLE = 30;         // own error of the polynomial up to which accuracy hardly limits h
static const double SUSPECT = 0.3;     // of what is allowed: look at more points of a long step
static const double SUDDEN = 10;       // times what slopes changed in the step before: something has set in
enum { MOST_PAUSE = 64 };              // steps from check to check in stiff motions
enum { CAREFUL = 4 };                  // points in a step before a doubtful time
enum { DENSE = 100 };                  // points in a run with fewer steps, where laws cannot be searched
static const double AT_A_GLANCE = 0.5; // of what is allowed: with a matrix of about here

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void take_tolerances(kd_verify *self, const kd_simulation_options *o, const kd_integrator_info *method)
{
    // a defect is a velocity error: the tolerances of the run are its measure
    self->rtol = o->integrator_options.rtol;
    self->atol = o->integrator_options.atol;
    self->allowed = ALLOWED;
    // less accurate inside a step than at its end: 0.1 tol^((s + 1) / (2 s)), s stages
    if (method->loose_inside) {
        const double s = 0.5 * (method->order + 1);
        self->allowed = fmax(ALLOWED, ALLOWED_INSIDE * 0.1 * pow(self->rtol, (s + 1) / (2 * s) - 1));
    }
}

// Where velocities and inner states are in x. State-space forms have their own numbers of them.
static void find_parts(kd_verify *self)
{
    kd_dims d = self->dims;
    self->n = self->dae->n;
    self->np = d.np, self->nv = d.nv, self->nr = d.nr;
    // counts of a state-space form come from its components; it has no parts behind r
    if (self->dae->methods->pack) {
        self->np = self->nv = self->nr = 0;
        for (int i = 0; i < self->n; i++) {
            self->np += self->dae->component[i] == KD_COMPONENT_POSITION;
            self->nv += self->dae->component[i] == KD_COMPONENT_VELOCITY;
            self->nr += self->dae->component[i] == KD_COMPONENT_INNER;
        }
    }
    // places of the parts in x, as in a state
    self->v = self->np;
    self->r = self->v + self->nv;
    self->w = self->r + d.nr;
    self->s = self->w + d.nw;
    self->lambda = self->s + d.ns;
    self->mu = self->lambda + d.nlambda;
    self->a = self->mu + d.nmu;
}

static void cut_arrays(kd_verify *self)
{
    double **vector[] = {&self->before[0].x, &self->before[0].d, &self->before[1].x, &self->before[1].d, &self->x_end,
                         &self->d0,          &self->d1,          &self->x,           &self->slope,       &self->cubic,
                         &self->rate,        &self->noise,       &self->part,        &self->dx,          &self->x_mid,
                         &self->d_mid,       &self->moved,       &self->tolerance};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(&self->arena, self->n);
    self->y = kd_cut_double(&self->arena, self->dae->nreduced_max);
    self->F = kd_cut_double(&self->arena, self->dae->nrows);
    for (int k = 0; k < 3; k++) self->u[k] = kd_cut_double(&self->arena, 3 * self->dims.nu);
    self->course = kd_arena_cut(&self->arena, (size_t)self->dims.nu, sizeof *self->course);
}

kd_status kd_verify_create(kd_eom_data *point, const kd_inputs *inputs, const kd_simulation_options *opt, kd_dae *dae,
                           kd_integrator *integrator, const kd_state *x, kd_verify **verify)
{
    const kd_eom             *eom = kd_eom_data_eom(point);
    const kd_integrator_info *method = kd_integrator_about(opt->integrator, &opt->integrator_options);
    *verify = NULL;
    kd_verify *self = kd_alloc(sizeof *self);
    if (!self) return KD_ERR_MEMORY;
    self->eom = eom;
    self->inputs = *inputs;
    self->dims = kd_eom_dims(eom);
    self->dae = dae;
    self->integrator = integrator;
    // positions follow from velocities alone where p' = v: then a quintic is known for them
    const kd_eom_def *def = kd_eom_definition(eom);
    self->identity = !def->kinematics && !def->Z && !dae->methods->pack;
    self->knows_a = dae->keeps_acceleration;
    self->late = opt->integrator == KD_SDIRK && method->nnodes > 0 && method->nodes[0] > 0;
    // the correction needs a matrix of the form and an integrator that bears a new one
    self->corrects = method->own_matrices && dae->methods->linearize;
    self->chain_most = method->is_explicit ? 2 : 1; // steps of high order want a polynomial of high order
    // where all laws can be searched (unseen.c) long steps need no further points, but for inputs in C
    self->dense = kd_eom_unsearched(eom, 0) ? DENSE : 0;
    // (equations with one-sided rows may search for surfaces alone)
    const bool searched = def->unseen && !def->restitution;
    self->dense_inputs = !self->dense && !searched && self->dims.nu > 0 && inputs->eval ? DENSE : 0;
    self->period = self->pause = method->check_period;
    self->idle = true;
    self->t_start = x->t;
    self->span = INFINITY;
    self->doubt = NAN;
    take_tolerances(self, opt, method);
    find_parts(self);
    cut_arrays(self);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : KD_OK;
    // forms without a right-hand side: accelerations are solved for here
    kd_formulation_options options = opt->formulation_options;
    options.point = point;
    if (status >= 0 && !dae->methods->rhs)
        status = kd_acceleration_create(eom, &self->inputs, x, &options, &self->acceleration);
    if (status < 0) {
        kd_verify_destroy(self);
        return status;
    }
    self->result.searched = true;
    *verify = self;
    return KD_OK;
}

void kd_verify_destroy(kd_verify *self)
{
    if (!self) return;
    kd_acceleration_destroy(self->acceleration);
    kd_arena_release(&self->arena);
    kd_free(self);
}

void kd_verify_run(kd_verify *self, double t_end)
{
    self->span = t_end - self->t_start;
}

void kd_verify_restart(kd_verify *self)
{
    self->chained = 0;
    self->before[0].t = self->before[1].t = NAN;
    self->h_known = self->h_last = 0;
    self->calm = false;
    self->fading = 0;
    memset(self->noise, 0, (size_t)self->n * sizeof(double));
}

void kd_verify_anew(kd_verify *self)
{
    self->sequence = 0;
    self->since = self->troubled = 0;
    self->pause = self->period;
    self->idle = true;
    self->doubt = NAN;
    kd_stats stats = kd_integrator_stats(self->integrator);
    self->rejected = stats.rejected_error + stats.rejected_newton;
}

// ---- the defect -----------------------------------------------------------------------------------------------------

// Largest h |delta| beyond the polynomial's own error and what is known to have no weight, in tolerances
static double defect(kd_verify *self, const kd_step_ends *e, int *worst)
{
    double h = e->t1 - e->t0, most = 0;
    *worst = self->v;
    for (int i = self->v; i < self->r + self->nr; i++) {
        double tolerance = self->tolerance[i];
        // what the polynomial cannot know, and what was seen before to be harmless
        double own = fmin(OWN_ERROR * h * fabs(self->slope[i] - self->cubic[i]), OWN_MOST * tolerance);
        double known = own + NOISE * self->noise[i];
        double size = (h * fabs(self->rate[i] - self->slope[i]) - known) / tolerance;
        if (size <= most) continue;
        *worst = i;
        if (isnan(size)) return INFINITY;
        most = size;
    }
    return most;
}

// The defect of the dense output instead of that of the polynomial
static double dense_defect(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    if (kd_verify_dense(self, e, t) < 0 || kd_verify_evaluate(self, t) != KD_EVAL_OK) return INFINITY;
    return defect(self, e, worst);
}

// ---- the judgement --------------------------------------------------------------------------------------------------

// Slopes of the step that the polynomials use
static void take_slopes(kd_verify *self, const kd_step_ends *e)
{
    size_t bytes = (size_t)self->n * sizeof(double), positions = (size_t)self->nv * sizeof(double);
    // slopes of the integrator, unless the form has better ones: v for p', a for v'
    self->solved = self->knows_a || !self->acceleration;
    memcpy(self->d0, e->d0, bytes);
    memcpy(self->d1, e->d1, bytes);
    if (self->identity) {
        memcpy(self->d0, e->x0 + self->v, positions);
        memcpy(self->d1, e->x1 + self->v, positions);
    }
    if (!self->knows_a) return;
    memcpy(self->d0 + self->v, e->x0 + self->a, positions);
    memcpy(self->d1 + self->v, e->x1 + self->a, positions);
}

static void learn_noise(kd_verify *self, const kd_step_ends *e)
{
    double h = e->t1 - e->t0;
    for (int i = self->v; i < self->r + self->nr; i++)
        self->noise[i] = fmax(self->noise[i], h * fabs(self->rate[i] - self->slope[i]));
    self->fading = 0;
}

// Less was seen at this point: stiffness may have gone, and what it excused is an error again. Noise of stiff forces is
// 1e10 times what a motion without them may have, and steps are long when they have gone: it fades ever faster.
static void fade_noise(kd_verify *self, const kd_step_ends *e)
{
    const double h = e->t1 - e->t0, part = pow(FADES, 1 << self->fading);
    bool         far_less = true;
    for (int i = self->v; i < self->r + self->nr; i++) {
        const double seen = h * fabs(self->rate[i] - self->slope[i]);
        if (seen > FADES * self->noise[i] && self->noise[i] > self->tolerance[i]) far_less = false;
        if (seen < self->noise[i]) self->noise[i] = fmax(seen, part * self->noise[i]);
    }
    self->fading = !far_less ? 0 : self->fading < MOST_FADES ? self->fading + 1 : MOST_FADES;
}

// Slopes of velocities and inner states at (t, x) by the equations
static kd_eval solve_slope(kd_verify *self, double t, const double *x, double *d)
{
    memcpy(self->x, x, (size_t)self->n * sizeof *x);
    kd_eval answer = kd_verify_evaluate(self, t);
    if (answer == KD_EVAL_OK) memcpy(d + self->v, self->rate + self->v, (size_t)(self->nv + self->nr) * sizeof *x);
    return answer;
}

// x' of the integrator has the errors of the multipliers, in forms of index 2 those of a lower order. They would be
// told as a defect across the constraints: once more with the slopes of the equations.
static double defect_of_equations(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    // at both ends of the step and at the start of the one before
    kd_eval answer = solve_slope(self, e->t0, e->x0, self->d0);
    self->solved = true;
    if (answer == KD_EVAL_OK) answer = solve_slope(self, e->t1, e->x1, self->d1);
    for (int j = 0; answer == KD_EVAL_OK && j < self->chained; j++)
        answer = solve_slope(self, self->before[j].t, self->before[j].x, self->before[j].d);
    kd_verify_interpolate(self, e, t);
    if (answer == KD_EVAL_OK) answer = kd_verify_evaluate(self, t);
    return answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
}

// The defect at time t inside the step, in tolerances; < 0: a function asked to stop
static double look_at(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    bool seen;
    kd_verify_interpolate(self, e, t);
    self->result.points++;
    kd_eval answer = kd_verify_glance(self, t, &seen);
    double  size = answer == KD_EVAL_OK && seen ? defect(self, e, worst) : INFINITY;
    if (size <= AT_A_GLANCE * self->allowed) return size;
    if (answer != KD_EVAL_STOP) answer = kd_verify_evaluate(self, t);
    if (answer == KD_EVAL_STOP) return -1;
    // in the order of their cost: polynomial, slopes of the equations, dense output or correction
    size = answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
    if (size <= self->allowed || answer != KD_EVAL_OK) return size;
    if (!self->solved) size = defect_of_equations(self, e, t, worst);
    if (size <= self->allowed) return size;
    if (!self->corrects) return fmin(size, dense_defect(self, e, t, worst));
    double moved = kd_verify_correction(self, e, t);
    // it is the motion that errs; otherwise stiff forces were to blame: their noise is learned
    if (moved > self->allowed) return fmin(size, moved);
    learn_noise(self, e);
    self->pause = self->pause < MOST_PAUSE ? 2 * self->pause : self->pause; // stiff: such checks cost as much as a step
    return moved;
}

// Where nothing happens steps are long, and what begins inside is not foreseen: where laws cannot be searched points
// are at most span / DENSE apart.
static int points_in(const kd_verify *self, double h)
{
    return 1 + (int)fmin(self->dense, self->dense * h / self->span);
}

// A force that has begun to act before the first stage of a method that does not look at the start of its steps: all stages
// agree, and so does its error estimate
static bool has_set_in(const kd_verify *self, double h)
{
    const double part = h / self->h_last;
    return self->late && self->change > self->allowed && self->change > SUDDEN * part * part * self->change_last;
}

// Change of the slopes of velocities and inner states in the step
static double change_in(kd_verify *self, const kd_step_ends *e)
{
    double most = 0;
    kd_verify_take_tolerance(self, e);
    for (int i = self->v; i < self->r + self->nr; i++)
        most = fmax(most, fabs(self->d1[i] - self->d0[i]) * (e->t1 - e->t0) / self->tolerance[i]);
    return most;
}

// Longer than the steps that were checked lately: it is not the motion that limits it, whatever the polynomial says
static bool has_grown(const kd_verify *self, double h)
{
    return h > LONGER * self->h_known || h > GREW * self->h_last;
}

// A tenth of a run is never what accuracy allows, but for slow motions: stages that have met the tails of a pulse look like it.
static bool is_long(const kd_verify *self, double h)
{
    return self->dense > 0 && h > LONG * self->span;
}

static bool is_wanted(const kd_verify *self, const kd_step_ends *e)
{
    const double h = e->t1 - e->t0;
    const double longer = self->calm ? CALM_LONGER : LONGER, more = self->calm ? CALM_LONGER : GREW;
    const bool   grew = h > SHORT * self->span && (h > longer * self->h_known || h > more * self->h_last);
    // doubt of the method or here, past a singular position, longer than before, long since, after a rejection, long and idle
    return e->doubtful || self->singular || has_set_in(self, h) || self->doubt > e->t0 || !isnan(self->odd) || grew ||
           self->since >= self->pause || self->troubled > 0 || is_long(self, h) ||
           (self->idle && points_in(self, h) > 1);
}

// u, u', u'' at t; false: they are not known
static bool take_inputs(kd_verify *self, double t, double *u)
{
    const int nu = self->dims.nu;
    return self->inputs.eval(t, self->inputs.context, u, u + nu, u + 2 * nu) == KD_EVAL_OK;
}

static void take_courses(kd_verify *self, double h)
{
    const int     nu = self->dims.nu;
    const double *u0 = self->u[0], *u1 = self->u[1];
    for (int i = 0; i < nu; i++)
        self->course[i] = kd_course_of(h, (double[]){u0[i], u0[nu + i], u0[2 * nu + i]},
                                       (double[]){u1[i], u1[nu + i], u1[2 * nu + i]});
}

// How far inputs at time t are from their courses, in tolerances
static double oddness(kd_verify *self, const kd_step_ends *e, double t)
{
    const int    nu = self->dims.nu;
    const double h = e->t1 - e->t0, s = (t - e->t0) / h, *u = self->u[2];
    double       most = 0;
    if (!take_inputs(self, t, self->u[2])) return INFINITY;
    for (int i = 0; i < nu; i++)
        most = fmax(most, kd_course_off(&self->course[i], h, s, u[i], u[2 * nu + i], self->rtol, self->atol));
    return most;
}

// Of points at most span / DENSE apart that at which inputs are farthest from smooth; NaN: they are smooth
static double find_odd(kd_verify *self, const kd_step_ends *e)
{
    const double h = e->t1 - e->t0;
    const int    count = (int)fmin(self->dense_inputs, ceil(self->dense_inputs * h / self->span));
    double       most = 1, at = NAN;
    if (count == 0 || !take_inputs(self, e->t0, self->u[0]) || !take_inputs(self, e->t1, self->u[1])) return NAN;
    take_courses(self, h);
    for (int k = 0; k < count; k++) {
        const double t = e->t0 + (k + 0.5) / count * h, size = oddness(self, e, t);
        if (!(size <= most)) most = size, at = t;
    }
    return at;
}

// Does accuracy hardly limit the step? Then its method has seen little of what is inside.
static bool is_idle(const kd_verify *self, const kd_step_ends *e)
{
    for (int i = self->v; i < self->r + self->nr; i++)
        if (fabs(self->slope[i] - self->cubic[i]) * (e->t1 - e->t0) > IDLE * self->tolerance[i]) return false;
    return true;
}

static void describe(kd_verify *self, double t, int worst)
{
    char name[120];
    kd_text(self->why, sizeof self->why, "the equations of motion do not hold inside, at t = %.6g in %s", t,
            self->dae->methods->component_name
                ? self->dae->methods->component_name(self->dae->impl, worst, name, sizeof name)
                : "the velocities");
}

// Points of the sequence, a doubtful time first; one is enough where the motion limits the step
static kd_status check(kd_verify *self, const kd_step_ends *e, kd_step_verdict *verdict)
{
    // a time that was in doubt comes first, then points of the golden sequence
    const double h = e->t1 - e->t0;
    const bool   doubted = self->doubt > e->t0 && self->doubt < e->t1;
    const bool   careful = self->singular || self->doubt > e->t0 || has_set_in(self, h);
    const int    count = careful && points_in(self, h) < CAREFUL ? CAREFUL : points_in(self, h);
    const double inside =
        fmax(INSIDE, 1 - 1 / (double)count); // many points leave no more than their distance at the ends
    int    worst = self->v;
    bool   suspect = has_grown(self, h) || is_long(self, h);
    double first = 0; // the others follow it at equal distances
    self->result.checked++;
    kd_verify_take_tolerance(self, e);
    for (int k = doubted || !isnan(self->odd) ? -1 : 0; k < count; k++) {
        // the sequence goes on over steps; within one step the points are spread evenly
        double theta = fmod((double)++self->sequence * GOLDEN, 1);
        if (k <= 0) first = theta;
        double place = fmod(first + k / (double)count, 1), t = e->t0 + (0.5 + inside * (place - 0.5)) * h;
        if (k < 0) t = doubted ? self->doubt : self->odd;
        double size = look_at(self, e, t, &worst);
        if (size < 0) return KD_ERR_CALLBACK_STOP;
        verdict->size = fmax(verdict->size, size);
        self->idle = is_idle(self, e);
        if (size <= self->allowed) fade_noise(self, e);
        // good: more points only where accuracy does not limit the step, it grew or nearly did not stand, or there is doubt
        suspect = suspect || size > SUSPECT * self->allowed;
        if (size <= self->allowed && (self->idle || careful || suspect)) continue;
        if (size <= self->allowed) break;
        // not good: this time is looked at again in the shorter step
        self->doubt = t;
        describe(self, t, worst);
        verdict->h = SHORTER * h;
        verdict->why = self->why;
        return KD_OK;
    }
    if (doubted) self->doubt = NAN;
    return KD_OK;
}

// Where the method has rejected an attempt and made a much shorter step something happens: this step and the next one
// are checked. Error control that feels its way to the right length rejects mildly, time and again.
static void watch_trouble(kd_verify *self, double h)
{
    kd_stats stats = kd_integrator_stats(self->integrator);
    long     rejected = stats.rejected_error + stats.rejected_newton;
    if (rejected > self->rejected && h < FELL * self->h_last)
        self->troubled = 2;
    else if (self->troubled > 0)
        self->troubled--;
    self->rejected = rejected;
}

// The step is kept: the next one goes on from here.
static void go_on(kd_verify *self, const kd_step_ends *e, const kd_step_verdict *verdict, bool checked)
{
    size_t bytes = (size_t)self->n * sizeof(double);
    double h = e->t1 - e->t0;
    // its start is a node of the next polynomials
    const kd_verify_past oldest = self->before[1];
    self->before[1] = self->before[0];
    self->before[0] = oldest;
    self->before[0].t = e->t0;
    memcpy(self->before[0].x, e->x0, bytes);
    memcpy(self->before[0].d, self->d0, bytes);
    memcpy(self->x_end, e->x1, bytes);
    self->h_last = h;
    self->change_last = self->change;
    self->result.steps++;
    self->since++;
    if (!checked) return;
    self->since = 1;
    // after a check that was dear, checks come back slowly to their period
    if (self->pause > self->period) self->pause--;
    self->h_known = fmax(h, FORGET * self->h_known);
    self->calm = self->dense == 0 && self->idle && verdict->size <= CALM * self->allowed;
    if (!(verdict->size > self->result.worst)) return;
    self->result.worst = verdict->size;
    self->result.t_worst = e->t0;
}

// How many of the steps before are smoothly followed by this one, and long enough?
static int count_nodes_before(const kd_verify *self, const kd_step_ends *e)
{
    const double least = COMPARABLE * (e->t1 - e->t0);
    if (memcmp(self->x_end, e->x0, (size_t)self->n * sizeof(double)) != 0) return 0;
    if (!(e->t0 - self->before[0].t >= least)) return 0;
    return self->before[0].t - self->before[1].t >= least ? self->chain_most : 1;
}

kd_status kd_verify_look(kd_verify *self, bool singular, kd_step_verdict *verdict)
{
    kd_step_ends e;
    kd_status    status = KD_OK;
    *verdict = KD_STANDS;
    // no ends: something happened that the polynomial does not know
    if (!kd_integrator_ends(self->integrator, &e)) {
        kd_verify_restart(self);
        return KD_OK;
    }
    self->singular = singular;
    take_slopes(self, &e);
    // the steps before are of use where they end here and are not much shorter
    self->chained = count_nodes_before(self, &e);
    watch_trouble(self, e.t1 - e.t0);
    self->odd = find_odd(self, &e);
    if (self->late) self->change = change_in(self, &e);
    bool checked = is_wanted(self, &e);
    if (checked) status = check(self, &e, verdict);
    if (status < 0) return status;
    if (verdict->h < e.t1 - e.t0)
        self->result.redone++;
    else
        go_on(self, &e, verdict, checked);
    return KD_OK;
}

void kd_verify_keep(kd_verify *self, const kd_step_verdict *verdict)
{
    kd_step_ends e;
    const bool   has_ends = kd_integrator_ends(self->integrator, &e), own = !isnan(self->doubt);
    if (own) self->result.redone--; // the doubt is the search's otherwise
    if (self->result.unverified++ == 0) self->result.t_unverified = own ? self->doubt : has_ends ? e.t0 : NAN;
    self->doubt = NAN;
    if (has_ends) go_on(self, &e, verdict, true);
}

const kd_verification *kd_verify_result(const kd_verify *self)
{
    return self ? &self->result : NULL;
}

// ---- saved simulations ----------------------------------------------------------------------------------------------

void kd_verify_archive(kd_verify *self, kd_archive *a)
{
    kd_verification *v = &self->result;
    kd_archive_tag(a, "verification");
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    if (self->acceleration) kd_acceleration_archive(self->acceleration, a);
    KD_ARCHIVE_REALS(a, &self->odd, &self->before[0].t, &self->before[1].t, &self->h_known, &self->h_last,
                     &self->t_start, &self->span, &self->doubt, &self->change, &self->change_last);
    kd_archive_int(a, &self->chained, 0, 2);
    kd_archive_int(a, &self->fading, 0, MOST_FADES);
    int *steps[] = {&self->pause, &self->since, &self->troubled};
    for (int k = 0; k < 3; k++) kd_archive_int(a, steps[k], INT_MIN / 2, INT_MAX / 2);
    KD_ARCHIVE_BOOLS(a, &self->solved, &self->corrects, &self->idle, &self->calm);
    KD_ARCHIVE_COUNTS(a, &self->sequence, &self->rejected);
    // what was found
    KD_ARCHIVE_COUNTS(a, &v->steps, &v->checked, &v->points, &v->redone, &v->unverified);
    KD_ARCHIVE_REALS(a, &v->worst, &v->t_worst, &v->t_unverified, &v->lost);
}
