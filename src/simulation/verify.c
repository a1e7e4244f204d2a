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

#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "point/acceleration.h"
#include "point/dense_output.h"

static const double GOLDEN = 0.6180339887498949; // (sqrt 5 - 1) / 2
static const double INSIDE = 0.9;                // part of the step, around its middle, that points come from
static const double ALLOWED = 100;               // defect that a step may have, in tolerances
static const double ALLOWED_INSIDE = 10;         // the same for radau, in its inner tolerances
static const double EPSILON = 5e-3;              // of h: distance of points of dense output for its derivative
static const double OWN_ERROR = 0.3;             // times |x_I' - cubic'|: one power of h more than the cubic has
static const double OWN_MOST = 1000;             // tolerances: beyond, the polynomial is no picture of the motion
static const double NOISE = 2;                   // times what was seen before and had no weight
static const double FORGET = 0.97;               // of that noise from check to check
static const double COMPARABLE = 0.1;            // of a step: one before it that is shorter extrapolates its errors
static const double SHORTER = 0.5;               // of a step that does not stand
static const double GREW = 2;                    // times the last step: check it
static const double LONGER = 1.5;                // than all that were checked lately: check it
static const double IDLE = 30;                   // own error of the polynomial up to which accuracy hardly limits h
enum { MOST_PAUSE = 64 };                        // steps from check to check in stiff motions
enum { CAREFUL = 4 };                            // points in a step before a doubtful time
enum { DENSE = 100 };                            // points in a run with fewer steps, where laws cannot be searched
static const double GAMMA = 4;                   // over h: leading coefficient of the correction
enum { MAX_NEWTON = 6 };
static const double SLOW = 0.5;   // rate of convergence beyond which the correction is none
static const double SOLVED = 0.1; // an increment of so few tolerances is small enough

struct kd_verify {
    kd_arena         arena;
    const kd_eom    *eom;
    kd_inputs        inputs;
    kd_dims          dims;
    kd_dae          *dae;
    kd_integrator   *integrator;
    kd_acceleration *acceleration; // forms without right-hand side
    double           rtol, atol, allowed;
    int              n, np, nv, nr; // of x; where positions, velocities and inner states begin
    int              v, r, w, s, lambda, mu, a;
    bool             identity; // p' = v
    bool             knows_a;  // x has accelerations
    int              dense;    // points in a run at least, where accuracy does not limit steps
    // the start of the step before
    bool            chained;
    double          t_before;
    double         *x_before, *d_before; // (n)
    double         *x_end;               // (n) end of the last step that was seen
    double         *d0, *d1;             // (n)
    double         *x, *slope, *cubic;   // (n) of the polynomial, x_I, x_I' and that of the cubic
    double         *rate;                // (n) x' by the equations
    double         *noise;               // (n) h |delta| that was seen and had no weight
    double         *part, *y, *F, *dx;   // of the correction
    double         *x_mid, *d_mid;       // (n)
    double         *moved;               // (n) by the correction, along the motion
    bool            solved;              // slopes of this step are those of the equations
    bool            corrects;            // a correction is possible
    int             period, pause;       // at least every so many steps are checked; at present
    bool            idle;                // accuracy hardly limited the last step that was checked
    long            sequence;            // number of the point
    int             since;               // steps since the last check
    long            rejected;            // attempts that the integrator has rejected so far
    int             troubled;            // so many steps are still to be checked since it last did
    double          h_known, h_last;     // longest step that was checked lately, last step
    double          t_start, span;       // of all runs
    double          doubt; // a time inside a step that did not stand: up to it all steps are checked; NaN: none
    kd_verification result;
    char            why[200];
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void take_tolerances(kd_verify *self, const kd_simulation_options *o, const kd_integrator_info *method)
{
    // a defect is a velocity error: the tolerances of the run are its measure
    self->rtol = o->integrator_options.rtol;
    self->atol = o->integrator_options.atol;
    self->allowed = ALLOWED;
    if (method->loose_inside) // which is less accurate inside a step than at its end: 0.1 tol^(2/3)
        self->allowed = fmax(ALLOWED, ALLOWED_INSIDE * 0.1 * pow(self->rtol, -1.0 / 3));
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
    double **vector[] = {&self->x_before, &self->d_before, &self->x_end, &self->d0,    &self->d1,
                         &self->x,        &self->slope,    &self->cubic, &self->rate,  &self->noise,
                         &self->part,     &self->dx,       &self->x_mid, &self->d_mid, &self->moved};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++) *vector[k] = kd_cut_double(&self->arena, self->n);
    self->y = kd_cut_double(&self->arena, self->dae->nreduced_max);
    self->F = kd_cut_double(&self->arena, self->dae->nrows);
}

kd_status kd_verify_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt, kd_dae *dae,
                           kd_integrator *integrator, const kd_state *x, kd_verify **verify)
{
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
    // the correction needs a matrix of the form and an integrator that bears a new one
    self->corrects = method->own_matrices && dae->methods->linearize;
    // where all laws can be searched (unseen.c) long steps need no further points
    self->dense = def->unseen && !kd_eom_unsearched(eom, 0) ? 0 : DENSE;
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
    if (status >= 0 && !dae->methods->rhs)
        status = kd_acceleration_create(eom, &self->inputs, x, &opt->formulation_options, &self->acceleration);
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
    self->chained = false;
    self->t_before = NAN;
    self->h_known = self->h_last = 0;
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

// ---- the polynomials ------------------------------------------------------------------------------------------------

// Weights of values and slopes at count nodes in Hermite's polynomial at t, and in its derivative
typedef struct hermite {
    double value[3], value_slope[3]; // of x_j in x(t), x'(t)
    double rate[3], rate_slope[3];   // of x'_j
} hermite;

// With Lagrange's l_j: value (1 - 2 l_j'(t_j) (t - t_j)) l_j^2, rate (t - t_j) l_j^2
static hermite weights(int count, const double *node, double t)
{
    hermite w = {0};
    // l = l_j(t), dl = l_j'(t), own = l_j'(t_j)
    for (int j = 0; j < count; j++) {
        double l = 1, dl = 0, own = 0;
        for (int k = 0; k < count; k++) {
            if (k == j) continue;
            double product = 1 / (node[j] - node[k]);
            own += 1 / (node[j] - node[k]);
            for (int m = 0; m < count; m++)
                if (m != j && m != k) product *= (t - node[m]) / (node[j] - node[m]);
            dl += product;
            l *= (t - node[k]) / (node[j] - node[k]);
        }
        double u = t - node[j], c = 1 - 2 * own * u;
        w.value[j] = c * l * l;
        w.value_slope[j] = -2 * own * l * l + 2 * c * l * dl;
        w.rate[j] = u * l * l;
        w.rate_slope[j] = l * l + 2 * u * l * dl;
    }
    return w;
}

// x_I, x_I' and the derivative of the cubic at t
static void interpolate(kd_verify *self, const kd_step_ends *e, double t)
{
    // with the start of the step before: degree 5; without: the cubic itself
    const double  node[3] = {e->t0, e->t1, self->t_before};
    const int     count = self->chained ? 3 : 2;
    const hermite best = weights(count, node, t), low = weights(2, node, t);
    const double  h = e->t1 - e->t0, theta = (t - e->t0) / h;
    for (int i = 0; i < self->r + self->nr; i++) {
        double x = best.value[0] * e->x0[i] + best.value[1] * e->x1[i];
        double slope = best.value_slope[0] * e->x0[i] + best.value_slope[1] * e->x1[i];
        x += best.rate[0] * self->d0[i] + best.rate[1] * self->d1[i];
        slope += best.rate_slope[0] * self->d0[i] + best.rate_slope[1] * self->d1[i];
        if (count == 3) {
            x += best.value[2] * self->x_before[i] + best.rate[2] * self->d_before[i];
            slope += best.value_slope[2] * self->x_before[i] + best.rate_slope[2] * self->d_before[i];
        }
        self->x[i] = x;
        self->slope[i] = slope;
        self->cubic[i] = low.value_slope[0] * e->x0[i] + low.value_slope[1] * e->x1[i] +
                         low.rate_slope[0] * self->d0[i] + low.rate_slope[1] * self->d1[i];
    }
    for (int i = 0; self->identity && i < self->np; i++) { // more is known about positions: p'' = a
        double rate;
        kd_quintic(e->t0, e->t1, t, e->x0[i], e->x0[self->v + i], self->d0[self->v + i], e->x1[i], e->x1[self->v + i],
                   self->d1[self->v + i], &self->x[i], &rate);
    }
    // multipliers and the like are only starting values
    for (int i = self->r + self->nr; i < self->n; i++) self->x[i] = (1 - theta) * e->x0[i] + theta * e->x1[i];
}

// ---- the equations --------------------------------------------------------------------------------------------------

// x' at (t, x) of velocities and inner states
static kd_eval evaluate(kd_verify *self, double t)
{
    double *x = self->x, *a = self->rate + self->v;
    if (self->dae->methods->rhs) return self->dae->methods->rhs(self->dae->impl, t, x, self->rate);
    kd_eval answer = KD_EVAL_OK;
    // contact coordinates, then accelerations with multipliers, then r' at them
    if (self->dims.ns > 0) answer = kd_acceleration_contacts(self->acceleration, t, x, x + self->s);
    if (answer == KD_EVAL_OK)
        answer = kd_acceleration_solve(self->acceleration, t, x, x + self->s, x + self->v, x + self->r, a, x + self->w,
                                       x + self->lambda, x + self->mu);
    if (answer != KD_EVAL_OK || self->nr == 0) return answer;
    kd_eom_data *data = kd_acceleration_data(self->acceleration);
    kd_eom_at_acceleration(data, a, x + self->w, x + self->lambda, x + self->mu);
    return kd_eom_eval(data, KD_B, self->rate + self->r);
}

// ---- the correction -------------------------------------------------------------------------------------------------

// part, y at (t, x_mid, d_mid)
static kd_eval reduced_defect(kd_verify *self, double t)
{
    const kd_dae_class *f = self->dae->methods;
    if (f->evaluate) return f->evaluate(self->dae->impl, t, self->x_mid, self->d_mid, self->part, self->y);
    kd_eval answer = f->residual(self->dae->impl, t, self->x_mid, self->d_mid, self->F);
    if (answer == KD_EVAL_OK) f->reduce(self->dae->impl, self->F, self->part, self->y);
    return answer;
}

static double tolerance_of(const kd_verify *self, const kd_step_ends *e, int i)
{
    return self->atol * (self->dae->unit ? self->dae->unit[i] : 1) + self->rtol * fmax(fabs(e->x0[i]), fabs(e->x1[i]));
}

// Largest component of dx, positions, velocities and inner states, in tolerances
static double size_of(const kd_verify *self, const kd_step_ends *e, const double *dx)
{
    double most = 0;
    for (int i = 0; i < self->r + self->nr; i++) {
        double size = fabs(dx[i]) / tolerance_of(self, e, i);
        if (!(size <= most)) most = size;
    }
    return most;
}

// One increment of Newton's method with the matrix of x_I; moved: what the differential equations ask for, without the
// way back to the constraints, which the polynomial leaves and which is no error of the step
static double move(kd_verify *self, const kd_step_ends *e, double gamma)
{
    const kd_dae_class *f = self->dae->methods;
    const int           nd = self->dae->nderivative > 0 ? self->dae->nderivative : self->n;
    f->solve_real(self->dae->impl, self->y);
    f->expand(self->dae->impl, self->part, self->y, self->dx);
    for (int i = 0; i < self->n; i++) self->x_mid[i] += self->dx[i];
    for (int i = 0; i < nd; i++) self->d_mid[i] += gamma * self->dx[i];
    for (int i = 0; i < self->n; i++) self->moved[i] += self->dx[i] - self->part[i];
    return size_of(self, e, self->dx);
}

// How far do the equations move x_I? F(t, x, x_I' + gamma (x - x_I)) = 0 for x: what is stiff hardly moves, whatever
// its forces are. gamma h |x - x_I| in tolerances; INFINITY: no solution close by
static double correction(kd_verify *self, const kd_step_ends *e, double t)
{
    // x' = x_I' + gamma (x - x_I): as an implicit Euler step of length h / 4 to this point
    kd_dae      *dae = self->dae;
    const double h = e->t1 - e->t0, gamma = GAMMA / h, h_kept = dae->h, gamma_kept = dae->gamma;
    double       before = INFINITY, most = INFINITY;
    memcpy(self->x_mid, self->x, (size_t)self->n * sizeof(double));
    memcpy(self->d_mid, self->slope, (size_t)self->n * sizeof(double));
    memset(self->moved, 0, (size_t)self->n * sizeof(double));
    memset(self->part, 0, (size_t)self->n * sizeof(double));
    // hints of the integrator for its own steps are restored at the end
    dae->h = h;
    dae->gamma = gamma;
    kd_status status = dae->methods->linearize(dae->impl, t, self->x_mid, self->d_mid, false);
    if (status >= 0) status = dae->methods->factor(dae->impl, gamma, gamma, 0);
    for (int k = 0; status >= 0 && k < MAX_NEWTON; k++) {
        if (reduced_defect(self, t) != KD_EVAL_OK) break;
        double size = move(self, e, gamma);
        // the second increment must be half of the first: otherwise the iteration tells nothing
        if (!(size < (k == 1 ? SLOW : 1) * before)) break;
        before = size;
        // converged; what counts is the way along the motion
        if (k > 0 && size <= fmax(SOLVED, 0.1 * size_of(self, e, self->moved))) {
            most = gamma * h * size_of(self, e, self->moved);
            break;
        }
    }
    dae->h = h_kept;
    dae->gamma = gamma_kept;
    // the integrator's matrix was used for another point
    kd_integrator_refresh(self->integrator);
    return most;
}

// Largest h |delta| beyond the polynomial's own error and what is known to have no weight, in tolerances
static double defect(kd_verify *self, const kd_step_ends *e, int *worst)
{
    double h = e->t1 - e->t0, most = 0;
    *worst = self->v;
    for (int i = self->v; i < self->r + self->nr; i++) {
        // what the polynomial cannot know, and what was seen before to be harmless
        double own = fmin(OWN_ERROR * h * fabs(self->slope[i] - self->cubic[i]), OWN_MOST * tolerance_of(self, e, i));
        double known = own + NOISE * self->noise[i];
        double size = (h * fabs(self->rate[i] - self->slope[i]) - known) / tolerance_of(self, e, i);
        if (size <= most) continue;
        *worst = i;
        if (isnan(size)) return INFINITY;
        most = size;
    }
    return most;
}

// ---- dense output ---------------------------------------------------------------------------------------------------

// Methods of higher order than the polynomial have dense output of their order: its derivative by differences over the
// five points t + k epsilon h, which leaves (epsilon h)^4 x^(5) / 30
// f'(t) = (f_-2 - 8 f_-1 + 8 f_1 - f_2) / (12 step)
static kd_status dense_motion(kd_verify *self, const kd_step_ends *e, double t)
{
    static const double weight[5] = {1.0 / 12, -2.0 / 3, 0, 2.0 / 3, -1.0 / 12};
    const double        h = e->t1 - e->t0, step = EPSILON * h;
    const size_t        bytes = (size_t)self->n * sizeof(double);
    memset(self->slope, 0, bytes);
    for (int k = 0; k < 5; k++) {
        kd_status status = kd_integrator_dense(self->integrator, t + (k - 2) * step, self->x_mid);
        if (status < 0) return status;
        if (k == 2) memcpy(self->x, self->x_mid, bytes);
        for (int i = 0; i < self->n; i++) self->slope[i] += weight[k] / step * self->x_mid[i];
    }
    // dense output has no polynomial of lower order beside it: its own error counts as zero
    memcpy(self->cubic, self->slope, bytes);
    return KD_OK;
}

// The defect of the dense output instead of that of the polynomial
static double dense_defect(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    if (dense_motion(self, e, t) < 0 || evaluate(self, t) != KD_EVAL_OK) return INFINITY;
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
}

// Slopes of velocities and inner states at (t, x) by the equations
static kd_eval solve_slope(kd_verify *self, double t, const double *x, double *d)
{
    memcpy(self->x, x, (size_t)self->n * sizeof *x);
    kd_eval answer = evaluate(self, t);
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
    if (answer == KD_EVAL_OK && self->chained)
        answer = solve_slope(self, self->t_before, self->x_before, self->d_before);
    interpolate(self, e, t);
    if (answer == KD_EVAL_OK) answer = evaluate(self, t);
    return answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
}

// The defect at time t inside the step, in tolerances; < 0: a function asked to stop
static double look_at(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    interpolate(self, e, t);
    kd_eval answer = evaluate(self, t);
    self->result.points++;
    if (answer == KD_EVAL_STOP) return -1;
    // in the order of their cost: polynomial, slopes of the equations, dense output or correction
    double size = answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
    if (size <= self->allowed || answer != KD_EVAL_OK) return size;
    if (!self->solved) size = defect_of_equations(self, e, t, worst);
    if (size <= self->allowed) return size;
    if (!self->corrects) return fmin(size, dense_defect(self, e, t, worst));
    double moved = correction(self, e, t);
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

static bool is_wanted(const kd_verify *self, const kd_step_ends *e)
{
    double h = e->t1 - e->t0;
    // doubt, longer than what was checked, longer than the last, long since, after a rejection, long and idle
    return self->doubt > e->t0 || h > LONGER * self->h_known || h > GREW * self->h_last || self->since >= self->pause ||
           self->troubled > 0 || (self->idle && points_in(self, h) > 1);
}

// Does accuracy hardly limit the step? Then its method has seen little of what is inside.
static bool is_idle(const kd_verify *self, const kd_step_ends *e)
{
    for (int i = self->v; i < self->r + self->nr; i++)
        if (fabs(self->slope[i] - self->cubic[i]) * (e->t1 - e->t0) > IDLE * tolerance_of(self, e, i)) return false;
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
    const bool   careful = self->doubt > e->t0;
    const int    count = careful && points_in(self, h) < CAREFUL ? CAREFUL : points_in(self, h);
    int          worst = self->v;
    double       first = 0; // the others follow it at equal distances
    self->result.checked++;
    for (int k = doubted ? -1 : 0; k < count; k++) {
        // the sequence goes on over steps; within one step the points are spread evenly
        double theta = fmod((double)++self->sequence * GOLDEN, 1);
        if (k <= 0) first = theta;
        double place = fmod(first + k / (double)count, 1), t = e->t0 + (0.5 + INSIDE * (place - 0.5)) * h;
        if (k < 0) t = self->doubt;
        double size = look_at(self, e, t, &worst);
        if (size < 0) return KD_ERR_CALLBACK_STOP;
        verdict->size = fmax(verdict->size, size);
        self->idle = is_idle(self, e);
        // good: more points only where accuracy does not limit the step, or there is doubt
        if (size <= self->allowed && (self->idle || careful)) continue;
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

// Where the method has rejected an attempt something happens: this step and the next one are checked.
static void watch_trouble(kd_verify *self)
{
    kd_stats stats = kd_integrator_stats(self->integrator);
    long     rejected = stats.rejected_error + stats.rejected_newton;
    if (rejected > self->rejected)
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
    // its start is a node of the next polynomial
    self->t_before = e->t0;
    memcpy(self->x_before, e->x0, bytes);
    memcpy(self->d_before, self->d0, bytes);
    memcpy(self->x_end, e->x1, bytes);
    self->h_last = h;
    self->result.steps++;
    self->since++;
    if (!checked) return;
    self->since = 1;
    // after a check that was dear, checks come back slowly to their period
    if (self->pause > self->period) self->pause--;
    self->h_known = fmax(h, FORGET * self->h_known);
    for (int i = 0; i < self->n; i++) self->noise[i] *= FORGET;
    if (!(verdict->size > self->result.worst)) return;
    self->result.worst = verdict->size;
    self->result.t_worst = e->t0;
}

kd_status kd_verify_look(kd_verify *self, kd_step_verdict *verdict)
{
    kd_step_ends e;
    kd_status    status = KD_OK;
    *verdict = KD_STANDS;
    // no ends: something happened that the polynomial does not know
    if (!kd_integrator_ends(self->integrator, &e)) {
        kd_verify_restart(self);
        return KD_OK;
    }
    take_slopes(self, &e);
    // the step before is of use where it ends here and is not much shorter
    self->chained = e.t0 - self->t_before >= COMPARABLE * (e.t1 - e.t0) &&
                    memcmp(self->x_end, e.x0, (size_t)self->n * sizeof(double)) == 0;
    watch_trouble(self);
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
