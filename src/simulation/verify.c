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
#include "point/acceleration.h"
#include "point/dense_output.h"
#include "simulation/course.h"

static const double GOLDEN = 0.6180339887498949; // (sqrt 5 - 1) / 2
static const double INSIDE = 0.9;                // part of the step, around its middle, that points come from
static const double ALLOWED = 100;               // defect that a step may have, in tolerances
static const double ALLOWED_INSIDE = 10;         // the same for radau, in its inner tolerances
static const double EPSILON = 5e-3;              // of h: distance of points of dense output for its derivative
static const double OWN_ERROR = 0.3;             // times |x_I' - cubic'|: one power of h more than the cubic has
static const double OWN_MOST = 1000;             // tolerances: beyond, the polynomial is no picture of the motion
static const double NOISE = 2;                   // times what was seen before and had no weight
static const double FADES = 0.5;      // that noise at a point at which it is less, squared at each one in a row
enum { MOST_FADES = 8 };              // squares of it: 0.5^256 is nothing
static const double FORGET = 0.97;    // of the length of steps from check to check
static const double COMPARABLE = 0.1; // of a step: one before it that is shorter extrapolates its errors
static const double SHORTER = 0.5;    // of a step that does not stand
static const double GREW = 2;         // times the last step: check it
static const double LONGER = 1.5;     // than all that were checked lately: check it
static const double CALM = 0.01;      // of what is allowed: a defect so small, in a step that is idle,
static const double CALM_LONGER = 4;  // lets steps grow by this before the next check, if laws are searched
static const double LONG = 0.1;       // of the run: steps in which all points are looked at, without searched laws
static const double SHORT = 1e-3;     // of the run: steps that grow up to here are no news
static const double FELL = 0.5;       // of the last step: so short is one only where something happens
static const double IDLE = 30;        // own error of the polynomial up to which accuracy hardly limits h
static const double SUSPECT = 0.3;    // of what is allowed: look at more points of a long step
static const double SUDDEN = 10;      // times what slopes changed in the step before: something has set in
enum { MOST_PAUSE = 64 };             // steps from check to check in stiff motions
enum { CAREFUL = 4 };                 // points in a step before a doubtful time
enum { DENSE = 100 };                 // points in a run with fewer steps, where laws cannot be searched
static const double GAMMA = 4;        // over h: leading coefficient of the correction
static const double WAY_OFF = 16;     // times 1 / h: factors of a step of quite another length
enum { MAX_NEWTON = 6 };
static const double SLOW = 0.5;        // rate of convergence beyond which the correction is none
static const double SOLVED = 0.1;      // an increment of so few tolerances is small enough
static const double AT_A_GLANCE = 0.5; // of what is allowed: with a matrix of about here

enum { MOST_NODES = 4 }; // of the polynomial

typedef struct past { // start of an earlier step
    double  t;
    double *x, *d; // (n)
} past;

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
    bool             identity;            // p' = v
    bool             knows_a;             // x has accelerations
    int              dense;               // points in a run at least, where accuracy does not limit steps
    int              dense_inputs;        // the same for inputs, where only they can have done something
    double           odd;                 // a time in this step at which they have; NaN: none
    double          *u[3];                // (3 nu) u, u', u'' at the ends of the step and inside
    kd_course       *course;              // (nu) inputs along the step
    past             before[2];           // starts of the steps before, the last one first
    int              chained, chain_most; // so many of them are nodes of the polynomial; at most
    double          *x_end;               // (n) end of the last step that was seen
    double          *d0, *d1;             // (n)
    double          *x, *slope, *cubic;   // (n) of the polynomial, x_I, x_I' and that of the cubic
    double          *rate;                // (n) x' by the equations
    double          *noise;               // (n) h |delta| that was seen and had no weight
    int              fading;              // points in a row at which far less was seen
    double          *part, *y, *F, *dx;   // of the correction
    double          *x_mid, *d_mid;       // (n)
    double          *moved;               // (n) by the correction, along the motion
    double          *tolerance;           // (n) of positions, velocities and inner states in this step
    bool             solved;              // slopes of this step are those of the equations
    bool             corrects;            // a correction is possible
    int              period, pause;       // at least every so many steps are checked; at present
    bool             idle;                // accuracy hardly limited the last step that was checked
    bool             calm;                // and its defect was far below what is allowed
    long             sequence;            // number of the point
    int              since;               // steps since the last check
    long             rejected;            // attempts that the integrator has rejected so far
    int              troubled;            // so many steps are still to be checked since it last did
    double           h_known, h_last;     // longest step that was checked lately, last step
    bool             late;                // the method does not evaluate at the start of a step
    double           change, change_last; // of the slopes in this step and in the last one, in tolerances
    double           t_start, span;       // of all runs
    double           doubt; // a time inside a step that did not stand: up to it all steps are checked; NaN: none
    kd_verification  result;
    char             why[200];
};

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void take_tolerances(kd_verify *self, const kd_simulation_options *o, const kd_integrator_info *method)
{
    // a defect is a velocity error: the tolerances of the run are its measure
    self->rtol = o->integrator_options.rtol;
    self->atol = o->integrator_options.atol;
    self->allowed = ALLOWED;
    if (method
            ->loose_inside) { // which is less accurate inside a step than at its end: 0.1 tol^((s + 1) / (2 s)), s stages
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

// ---- the polynomials ------------------------------------------------------------------------------------------------

// Weights of values and slopes at count nodes in Hermite's polynomial at t, and in its derivative
typedef struct hermite {
    double value[MOST_NODES], value_slope[MOST_NODES]; // of x_j in x(t), x'(t)
    double rate[MOST_NODES], rate_slope[MOST_NODES];   // of x'_j
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

// What a node with the values x_j and slopes d_j gives to n components of the polynomial and its derivative
static void add_node(int n, const hermite *w, int j, const double *restrict xj, const double *restrict dj,
                     double *restrict x, double *restrict slope)
{
    const double value = w->value[j], value_slope = w->value_slope[j], rate = w->rate[j], rate_slope = w->rate_slope[j];
    for (int i = 0; i < n; i++) {
        x[i] += value * xj[i] + rate * dj[i];
        slope[i] += value_slope * xj[i] + rate_slope * dj[i];
    }
}

// n components from place i on
static void take_polynomial(kd_verify *self, const kd_step_ends *e, const hermite *w, int i, int n)
{
    double *x = self->x + i, *slope = self->slope + i;
    memset(x, 0, (size_t)n * sizeof *x);
    memset(slope, 0, (size_t)n * sizeof *slope);
    add_node(n, w, 0, e->x0 + i, self->d0 + i, x, slope);
    add_node(n, w, 1, e->x1 + i, self->d1 + i, x, slope);
    for (int j = 0; j < self->chained; j++)
        add_node(n, w, 2 + j, self->before[j].x + i, self->before[j].d + i, x, slope);
}

// More is known about positions with p' = v: the quintic of p, v, a at both ends, s the part of the step
static void take_positions(kd_verify *self, const kd_step_ends *e, double s)
{
    const double  h = e->t1 - e->t0, s3 = s * s * s, q = 1 - s;
    const double  p1 = s3 * (10 - s * (15 - 6 * s)), p0 = 1 - p1;
    const double  v0 = h * s * (1 - s * s * (6 - s * (8 - 3 * s))), v1 = -h * s3 * (4 - s * (7 - 3 * s));
    const double  a0 = 0.5 * h * h * s * s * q * q * q, a1 = 0.5 * h * h * s3 * q * q;
    const double *x0 = e->x0, *x1 = e->x1, *d0 = self->d0 + self->v, *d1 = self->d1 + self->v;
    for (int i = 0; i < self->np; i++)
        self->x[i] = p0 * x0[i] + p1 * x1[i] + v0 * x0[self->v + i] + v1 * x1[self->v + i] + a0 * d0[i] + a1 * d1[i];
    memcpy(self->slope, self->x + self->v, (size_t)self->np * sizeof(double));
}

// x_I, x_I' and the derivative of the cubic at t
static void interpolate(kd_verify *self, const kd_step_ends *e, double t)
{
    // with the starts of the steps before: degree 5 or 7; without: the cubic itself
    const double  node[MOST_NODES] = {e->t0, e->t1, self->before[0].t, self->before[1].t};
    const hermite best = weights(2 + self->chained, node, t), low = weights(2, node, t);
    const double  theta = (t - e->t0) / (e->t1 - e->t0);
    const int     from = self->identity ? self->v : 0, known = self->r + self->nr;
    take_polynomial(self, e, &best, from, known - from);
    if (self->identity) take_positions(self, e, theta);
    for (int i = self->v; i < known; i++)
        self->cubic[i] = low.value_slope[0] * e->x0[i] + low.value_slope[1] * e->x1[i] +
                         low.rate_slope[0] * self->d0[i] + low.rate_slope[1] * self->d1[i];
    // multipliers and the like are only starting values
    for (int i = known; i < self->n; i++) self->x[i] = (1 - theta) * e->x0[i] + theta * e->x1[i];
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

// The same, about, with the matrix of the last point that was solved; *done false: there is none, or it is too far away
static kd_eval glance(kd_verify *self, double t, bool *done)
{
    double *x = self->x, *a = self->rate + self->v;
    *done = false;
    if (!self->acceleration || self->dims.ns > 0) return KD_EVAL_OK;
    kd_eval answer =
        kd_acceleration_difference(self->acceleration, t, x, x + self->s, x + self->v, x + self->r,
                                   self->slope + self->v, x + self->w, x + self->lambda, x + self->mu, a, done);
    for (int i = 0; i < self->nv; i++) a[i] += self->slope[self->v + i];
    if (answer != KD_EVAL_OK || !*done || self->nr == 0) return answer;
    return kd_eom_eval(kd_acceleration_data(self->acceleration), KD_B, self->rate + self->r);
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

static void take_tolerance(kd_verify *self, const kd_step_ends *e)
{
    for (int i = 0; i < self->r + self->nr; i++)
        self->tolerance[i] =
            self->atol * (self->dae->unit ? self->dae->unit[i] : 1) + self->rtol * fmax(fabs(e->x0[i]), fabs(e->x1[i]));
}

// Largest component of dx, positions, velocities and inner states, in tolerances
static double size_of(const kd_verify *self, const double *dx)
{
    double most = 0;
    for (int i = 0; i < self->r + self->nr; i++) {
        double size = fabs(dx[i]) / self->tolerance[i];
        if (!(size <= most)) most = size;
    }
    return most;
}

// One increment of Newton's method with the matrix of x_I; moved: what the differential equations ask for, without the
// way back to the constraints, which the polynomial leaves and which is no error of the step
static double move(kd_verify *self, double gamma)
{
    const kd_dae_class *f = self->dae->methods;
    const int           nd = self->dae->nderivative > 0 ? self->dae->nderivative : self->n;
    f->solve_real(self->dae->impl, self->y);
    f->expand(self->dae->impl, self->part, self->y, self->dx);
    for (int i = 0; i < self->n; i++) self->x_mid[i] += self->dx[i];
    for (int i = 0; i < nd; i++) self->d_mid[i] += gamma * self->dx[i];
    for (int i = 0; i < self->n; i++) self->moved[i] += self->dx[i] - self->part[i];
    return size_of(self, self->dx);
}

// Newton's method from x_I with the factors of gamma F_x' + F_x that the form has. gamma |x - x_I| in tolerances;
// INFINITY: it does not converge
static double iterate(kd_verify *self, double t, double gamma)
{
    double before = INFINITY;
    memcpy(self->x_mid, self->x, (size_t)self->n * sizeof(double));
    memcpy(self->d_mid, self->slope, (size_t)self->n * sizeof(double));
    memset(self->moved, 0, (size_t)self->n * sizeof(double));
    memset(self->part, 0, (size_t)self->n * sizeof(double));
    for (int k = 0; k < MAX_NEWTON && reduced_defect(self, t) == KD_EVAL_OK; k++) {
        double size = move(self, gamma);
        // the second increment must be half of the first: otherwise the iteration tells nothing
        if (!(size < (k == 1 ? SLOW : 1) * before)) break;
        before = size;
        // converged; what counts is the way along the motion
        if (k > 0 && size <= fmax(SOLVED, 0.1 * size_of(self, self->moved))) return gamma * size_of(self, self->moved);
    }
    return INFINITY;
}

// With what the step has left, which costs no derivatives: its factors, or those of the derivatives at its end
static double iterate_cheaply(kd_verify *self, double t, double h)
{
    double gamma = kd_integrator_gamma(self->integrator);
    if (gamma < 0) return INFINITY;
    if (gamma > 0) return gamma * h > 1 / WAY_OFF && gamma * h < WAY_OFF ? iterate(self, t, gamma) : INFINITY;
    gamma = GAMMA / h;
    return self->dae->methods->factor(self->dae->impl, gamma, gamma, 0) < 0 ? INFINITY : iterate(self, t, gamma);
}

// With the matrix of this point, after which the integrator needs a new one of its own
static double iterate_here(kd_verify *self, double t, double h)
{
    // hints of the integrator for its own steps are restored at the end
    kd_dae      *dae = self->dae;
    const double gamma = GAMMA / h, h_kept = dae->h, gamma_kept = dae->gamma;
    dae->h = h;
    dae->gamma = gamma;
    kd_status status = dae->methods->linearize(dae->impl, t, self->x, self->slope, false);
    if (status >= 0) status = dae->methods->factor(dae->impl, gamma, gamma, 0);
    double most = status >= 0 ? iterate(self, t, gamma) : INFINITY;
    dae->h = h_kept;
    dae->gamma = gamma_kept;
    kd_integrator_refresh(self->integrator);
    return most;
}

// How far do the equations move x_I? F(t, x, x_I' + gamma (x - x_I)) = 0 for x, as an implicit Euler step of length
// 1 / gamma to this point: what is stiff hardly moves, whatever its forces are. gamma h |x - x_I| in tolerances;
// INFINITY: no solution close by. Only what does not stand is worth a matrix of its own.
static double correction(kd_verify *self, const kd_step_ends *e, double t)
{
    const double h = e->t1 - e->t0, moved = h * iterate_cheaply(self, t, h);
    return moved <= self->allowed ? moved : h * iterate_here(self, t, h);
}

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
    for (int j = 0; answer == KD_EVAL_OK && j < self->chained; j++)
        answer = solve_slope(self, self->before[j].t, self->before[j].x, self->before[j].d);
    interpolate(self, e, t);
    if (answer == KD_EVAL_OK) answer = evaluate(self, t);
    return answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
}

// The defect at time t inside the step, in tolerances; < 0: a function asked to stop
static double look_at(kd_verify *self, const kd_step_ends *e, double t, int *worst)
{
    bool seen;
    interpolate(self, e, t);
    self->result.points++;
    kd_eval answer = glance(self, t, &seen);
    double  size = answer == KD_EVAL_OK && seen ? defect(self, e, worst) : INFINITY;
    if (size <= AT_A_GLANCE * self->allowed) return size;
    if (answer != KD_EVAL_STOP) answer = evaluate(self, t);
    if (answer == KD_EVAL_STOP) return -1;
    // in the order of their cost: polynomial, slopes of the equations, dense output or correction
    size = answer == KD_EVAL_OK ? defect(self, e, worst) : INFINITY;
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
    take_tolerance(self, e);
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
    // doubt of the method or here, longer than before, long since, after a rejection, long and idle
    return e->doubtful || has_set_in(self, h) || self->doubt > e->t0 || !isnan(self->odd) || grew ||
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
    const bool   careful = self->doubt > e->t0 || has_set_in(self, h);
    const int    count = careful && points_in(self, h) < CAREFUL ? CAREFUL : points_in(self, h);
    const double inside =
        fmax(INSIDE, 1 - 1 / (double)count); // many points leave no more than their distance at the ends
    int    worst = self->v;
    bool   suspect = has_grown(self, h) || is_long(self, h);
    double first = 0; // the others follow it at equal distances
    self->result.checked++;
    take_tolerance(self, e);
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
    const past oldest = self->before[1];
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
