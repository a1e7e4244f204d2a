// choice.c: which method suits the equations, by what is known at the start and by counts along the motion.
//
// Two methods are candidates: dop853 on the underlying ordinary differential equation for motions that are not stiff, and
// an implicit one, psf with radau where the dense matrices of psf are small, otherwise bdf on ggl, whose matrix is sparse.
// Stiff is what stability limits: the product of the step h with the spectral radius rho of f_x, x' = f(t, x). rho comes
// from the power method on differences of f (Sommeijer, Shampine, Verwer, RKC: An explicit solver for parabolic PDEs,
// 1997), for the pair of largest eigenvalues (Wilkinson, The Algebraic Eigenvalue Problem, 9.10), as those of damped
// oscillations are complex and lengths of vectors then turn with no end: p and v have other units,
//
//     f_x^2 y = alpha f_x y + beta y by least squares,    rho = largest |z| of z^2 = alpha z + beta
//
// explicit -> implicit   h rho stays near the border of stability of dop853 (6.1 along the negative real axis), or, with
//                        more patience, far beyond what its accuracy would allow if the fastest motion took part: an
//                        oscillation of amplitude 1 has the error (h rho)^9 / 9! in a step
// implicit -> explicit   explicit steps H could be made at less cost: h < R H, R the ratio of the costs of a step of both.
//                        Stability allows H = STABLE / rho, accuracy H = Q h: motions of frequency omega have local errors
//                        (omega h)^9 / 9! with dop853 and 10 / 137 (omega h)^6 with bdf of order 5, whose error of the
//                        whole motion is about 30 times as large at the same tolerance; or H is what explicit steps were
//                        before they were left: the change has not paid
//
// R is a function of dimensions alone, measured once on gallery and chains (docs/methods/choice.md), so that a run gives
// the same bits on every machine. A method that was left at once is tried again later and later.
#include "simulation/choice.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/archive.h"
#include "core/text.h"
#include "simulation/fits.h"
#include "simulation/options.h"

static const double NEAR_BORDER = 3.5; // h rho from which stability, not accuracy, is taken to limit a step of dop853
static const double IMPOSSIBLE = 12;   // h rho that no step of dop853 stands: rho is wrong there (f_x far from normal)
static const double FASTER = 2.5;      // times what accuracy allows: the fastest motion is not in the solution
static const double PAID = 0.9;    // of R times the explicit steps: a mean implicit step below was not worth the change
static const double GROWING = 1.3; // last step over the mean: it has not found its length
static const double STABLE = 5;    // h rho that dop853 keeps where stability limits its steps
static const double LOOSER = 30;   // times the error of dop853 that bdf has at the same tolerance
static const double HOPELESS = 2e4;     // [1/s] rho beyond which explicit steps are not even tried at the start
static const double SPARSE_COST = 0.35; // R of bdf on ggl with a sparse matrix, and part of that of radau on psf,
static const double FULL_SIZE = 165;    // entries in a column of M that add 1 to it
static const double LOOPED_ENTRIES = 8; // entries by which a step of dop853 with constraints is twice as dear
static const double DENSE_SIZE = 10;    // nv beyond which steps of bdf with sparse matrices are cheaper than of radau
static const double PROJECTED_SIZE = 5; // the same where both take psf
static const double FULL_PROJECTED_SIZE = 25; // and up to which, where forces depend on multipliers
static const double CUT_SIZE = 42;            // the same where events start methods again, without constraints
static const double CUT_LOOPED = 155;         // and with them
static const double TREE_SIZE = 14;           // nv of equations without constraints at which R is 2
static const double LOOPED_SIZE = 110;        // the same with constraints, whose right-hand side is dearer
static const double SETTLED = 0.05;           // relative change of rho between two iterations that is none
static const double PARALLEL = 1e-8;          // square of the sine of the angle between two directions that are one
static const double SAFETY = 1.1;             // of rho, which the power method finds from below
static const double SMALLEST_RTOL = 1e-14;    // where estimates of dop853 are rounding
enum { ITERATIONS = 24, FEWER = 8 };          // of the power method, at first and with a known direction
enum { NEAR = 4, HITS = 5 * NEAR, HITS_MOST = 640 * NEAR }; // steps near the border before a change count so much
enum { PAUSE = 8, PAUSE_MULTISTEP = 48, PAUSE_MOST = 256 }; // steps of the implicit method before rho is looked at
enum { REFRESHED = 25 };                                    // explicit steps until rho is found anew
enum { LATELY = 16 };                                       // explicit steps of a mean

struct kd_choice {
    kd_arena       arena;
    kd_inputs      inputs;
    kd_method_pair explicit_method, implicit_method;
    kd_method_pair retreat;       // what takes the place of implicit_method where that gets no further; itself: nothing
    bool           retreated;     // it has
    kd_dae        *flow;          // x' = f(t, x) of the equations; NULL: there is no explicit method
    kd_state      *state;         // discrete states and active rows of flow
    int            n;             // of x
    double        *x, *y, *f, *g; // (n) point, direction, f(x), f(x + y)
    double        *y1, *y2;       // (n) the two directions before y
    bool           directed;      // y is known from the last time
    double         cost;          // R
    double         worth;         // R Q; below 1 implicit steps cost less even where accuracy limits both
    double         radius;        // rho; NaN: not known
    double         border;        // h rho of explicit steps from which an implicit method is worth a look
    bool           stiff;         // the present method
    bool           starts_stiff;
    int            hits, needed; // steps near the border, in a row; until a change
    int            since, pause; // steps since the last look at rho
    double         longest;      // step of the implicit method since then
    double         passed;       // [s] in the second half of its steps since then
    double         pace;         // [s] mean of the last steps of the explicit method,
    double         left_radius;  // and rho when it was left; NaN: it was not
    char           reason[160];
};

// ---- what fits ------------------------------------------------------------------------------------------------------

// Does an option differ from its default that belongs to one integrator, or to how a form is solved?
static bool has_own_options(const kd_simulation_options *opt)
{
    static const char *const    common[] = {"steps.",           "start.",          "events.", "check.",
                                            "form.constraints", "form.invariants", NULL};
    const kd_simulation_options usual = kd_simulation_options_default();
    return kd_options_difference(opt, &usual, common) != NULL;
}

// Does this method run with the options?
static bool is_possible(const kd_simulation_options *opt, kd_method_pair method)
{
    kd_simulation_options tried = *opt;
    tried.formulation = method.formulation;
    tried.integrator = method.integrator;
    return !kd_method_misfit(&tried, NULL);
}

// Why a form is wanted that solves for forces and accelerations at every point, as where constraints are kept by multipliers
// errors of tolerance/h in both would show; NULL: it need not be one
static const char *why_projected(const kd_eom *eom, const kd_simulation_options *opt)
{
    const kd_dims d = kd_eom_dims(eom);
    if (d.nw > 0) return "which solves for auxiliary variables with the motion";
    if (kd_eom_definition(eom)->force_of_multipliers) return "as friction depends on reactions";
    // its steps are short
    if (opt->integrator_options.h_max > 0 && d.nlambda + d.nmu > 0) return "as steps have a largest size";
    return NULL;
}

// Why a one-step method is wanted, too, even where steps of bdf would cost less, as it begins with order 1 behind every
// event, or has errors where constraints leave none; NULL: it need not be one
static const char *why_radau(const kd_eom *eom, const kd_simulation_options *opt)
{
    const kd_dims                 d = kd_eom_dims(eom);
    const kd_eom_def             *def = kd_eom_definition(eom);
    const kd_formulation_options *f = &opt->formulation_options;
    const double                  rtol = opt->rtol > 0 ? opt->rtol : opt->integrator_options.rtol;
    if (rtol < SMALLEST_RTOL) return "as the tolerance is one of rounding";
    if (d.ne > 0 && f->invariants) return "which keeps the invariants";
    if (d.ns > 0) return "which solves for contact points with the motion";
    if (d.nswitch > 0 || def->restitution || def->friction) return "as events cut the motion in short pieces";
    if (def->discrete) return "as samples cut the motion in short steps";
    if (opt->integrator_options.h_fixed > 0) return "as steps have a fixed size";
    if (d.nv <= d.nlambda + d.nmu) return "as the motion is prescribed";
    return f->control_multipliers ? "which controls the errors of multipliers" : NULL;
}

// Why no explicit method is thought of; NULL: one may be
static const char *why_not_explicit(const kd_eom *eom, const kd_simulation_options *opt)
{
    const kd_dims d = kd_eom_dims(eom);
    const char   *why = why_radau(eom, opt);
    if (why) return why;
    if (d.nw > 0 || kd_eom_definition(eom)->force_of_multipliers) return why_projected(eom, opt);
    // implicit steps of that size take fewer evaluations, but for few velocities with constraints
    if (opt->integrator_options.h_max > 0 && (d.nlambda + d.nmu == 0 || d.nv > PROJECTED_SIZE))
        return "as steps have a largest size";
    return !is_possible(opt, (kd_method_pair){KD_ODE, KD_DOP853}) || has_own_options(opt) ? "which has the options"
                                                                                          : NULL;
}

static double tolerance_of(const kd_simulation_options *opt)
{
    return fmax(SMALLEST_RTOL, opt->rtol > 0 ? opt->rtol : opt->integrator_options.rtol);
}

// h omega that accuracy allows of dop853 where a motion with amplitude 1 takes part, with this error in a step
static double accurate_reach(double error)
{
    const double factorial = 362880, order = 9; // of the local error
    return pow(factorial * error, 1 / order);
}

// Q: how many times as long such a step is as one of the implicit method, for the same error of the motion
static double accurate_ratio(const kd_simulation_options *opt, kd_integrator_kind implicit)
{
    const double order = 6, constant = 10.0 / 137, rtol = tolerance_of(opt); // of bdf of order 5
    return implicit != KD_BDF ? INFINITY : accurate_reach(LOOSER * rtol) / pow(rtol / constant, 1 / order);
}

// Cost of a step of psf with radau over that of one of dop853
static double dense_cost(const kd_eom *eom)
{
    const kd_dims d = kd_eom_dims(eom);
    const double  size = d.nlambda + d.nmu > 0 ? LOOPED_SIZE : TREE_SIZE, part = (d.nv + d.nr) / size;
    return 1 + part * part;
}

// Entries in a column of M, a mean of some columns: many in the joint coordinates of long chains. 0: not known
static double column_entries(kd_eom_data *data, const kd_inputs *inputs, const kd_state *x)
{
    enum { COLUMNS = 3 };
    const kd_dims d = kd_eom_dims(kd_eom_data_eom(data));
    double *a = kd_alloc(3 * (size_t)d.nv * sizeof *a), *rest = a ? a + d.nv : NULL, *moved = a ? a + 2 * d.nv : NULL;
    double  count = 0;
    bool    good = a && kd_eom_at_state(data, inputs, x, KD_STAGE_VELOCITY) == KD_EVAL_OK;
    // residuals with one acceleration more differ by a column
    for (int k = -1; k < COLUMNS && good; k++) {
        const int j = k < 0 ? -1 : (int)((double)(2 * k + 1) / (2 * COLUMNS) * d.nv);
        if (j >= 0) a[j] = 1;
        kd_eom_at_acceleration(data, a, x->w, x->lambda, x->mu);
        good = kd_eom_eval(data, KD_RESIDUAL, j < 0 ? rest : moved) == KD_EVAL_OK;
        if (j >= 0) a[j] = 0;
        for (int i = 0; j >= 0 && good && i < d.nv; i++) count += moved[i] != rest[i];
    }
    kd_free(a);
    return good ? count / COLUMNS : 0;
}

// Are the dense matrices of psf with radau small? wanted: for another reason
static bool is_small(const kd_eom *eom, bool wanted)
{
    const kd_dims d = kd_eom_dims(eom);
    const bool    looped = d.nlambda + d.nmu > 0;
    return d.nv + d.nr <= (!wanted ? DENSE_SIZE : looped ? CUT_LOOPED : CUT_SIZE);
}

// Does bdf on psf take less work than radau? Where forces depend on multipliers psf factors a matrix of all unknowns, and
// bdf does so more often
static bool is_projected_size(const kd_eom *eom)
{
    const kd_dims d = kd_eom_dims(eom);
    const bool    full = d.nw > 0 || kd_eom_definition(eom)->force_of_multipliers;
    return d.nv > PROJECTED_SIZE && (!full || d.nv <= FULL_PROJECTED_SIZE);
}

// psf with radau, or, where its dense matrices would be large, bdf, later where modes swing that it is not stable for: on
// ode where the Newton matrix is eliminated along
// the tree in O(N), else on ggl, whose matrix is sparse
static kd_method_pair implicit_of(kd_eom_data *point, const kd_inputs *inputs, const kd_state *x,
                                  const kd_simulation_options *opt, double *cost)
{
    const kd_eom               *eom = kd_eom_data_eom(point);
    const kd_method_pair        along_tree = {KD_ODE, KD_BDF}, sparse = {KD_GGL, KD_BDF};
    const kd_method_pair        projected = {KD_PSF, KD_BDF};
    const kd_simulation_options usual = kd_method_named(opt);
    const bool                  kept = kd_eom_dims(eom).ne > 0 && opt->formulation_options.invariants;
    *cost = dense_cost(eom);
    // as accurate as radau there, at less cost; modes that hardly damp are none for bdf
    const bool one_step = why_radau(eom, opt) != NULL, strict = why_projected(eom, opt) != NULL;
    const bool swings = kd_eom_definition(eom)->lightly_damped;
    const bool few = is_small(eom, one_step || strict || swings) || kept;
    if (few && strict && !one_step && !swings && is_projected_size(eom) && is_possible(opt, projected) &&
        !has_own_options(opt)) {
        *cost *= SPARSE_COST;
        return projected;
    }
    if (few || has_own_options(opt)) return (kd_method_pair){usual.formulation, usual.integrator};
    if (kd_eom_definition(eom)->implicit_set && is_possible(opt, along_tree)) {
        *cost = SPARSE_COST;
        return along_tree;
    }
    if (!is_possible(opt, sparse)) return (kd_method_pair){usual.formulation, usual.integrator};
    // with constraints explicit steps factor M, too, whose columns are as full: they are dearer by as much
    const bool   looped = kd_eom_dims(eom).nlambda + kd_eom_dims(eom).nmu > 0;
    const double entries = column_entries(point, inputs, x), part = entries / FULL_SIZE;
    *cost = (SPARSE_COST + part * part) / (looped ? 1 + entries / LOOPED_ENTRIES : 1);
    return sparse;
}

// ---- the spectral radius --------------------------------------------------------------------------------------------

static double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

// f_x times the direction y of length 1, to y; its length, NaN: f cannot be evaluated there
static double multiply(kd_choice *self, double t)
{
    const double step = sqrt(DBL_EPSILON) * fmax(1, norm(self->n, self->x));
    for (int i = 0; i < self->n; i++) self->g[i] = self->x[i] + step * self->y[i];
    memcpy(self->y, self->g, (size_t)self->n * sizeof *self->y);
    if (self->flow->methods->rhs(self->flow->impl, t, self->y, self->g) != KD_EVAL_OK) return NAN;
    for (int i = 0; i < self->n; i++) self->y[i] = (self->g[i] - self->f[i]) / step;
    const double length = norm(self->n, self->y);
    for (int i = 0; i < self->n && length > 0; i++) self->y[i] /= length;
    return length;
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

// Largest |eigenvalue| of the pair that directions y2, y1, y of length 1 tell, f_x y2 = first y1 and f_x y1 = second y
static double largest_of_pair(const kd_choice *self, double first, double second)
{
    const double c12 = dot(self->n, self->y1, self->y2), c1 = dot(self->n, self->y, self->y1);
    const double c2 = dot(self->n, self->y, self->y2), sine = 1 - c12 * c12;
    // one direction: it is an eigenvector
    if (!(sine > PARALLEL)) return second;
    const double alpha = second * (c1 - c12 * c2) / sine, beta = first * second * (c2 - c12 * c1) / sine;
    const double square = alpha * alpha / 4 + beta;
    return square < 0 ? sqrt(-beta) : fabs(alpha) / 2 + sqrt(square);
}

// Signs without a pattern: no motion of a mechanism is orthogonal to them
static void start_direction(kd_choice *self)
{
    unsigned state = 12345;
    for (int i = 0; i < self->n; i++) {
        state = 1664525u * state + 1013904223u;
        self->y[i] = (state >> 31 ? 1 : -1) / sqrt(self->n);
    }
    self->directed = true;
}

// rho at x; NaN: not to be had
static double find_radius(kd_choice *self, const kd_state *x)
{
    const int most = self->directed ? FEWER : ITERATIONS;
    double    before = NAN, last = NAN, rho = NAN;
    kd_state_copy(x, self->state);
    memcpy(self->x, x->p, (size_t)self->n * sizeof *self->x);
    if (self->flow->methods->rhs(self->flow->impl, x->t, self->x, self->f) != KD_EVAL_OK) return NAN;
    if (!self->directed) start_direction(self);
    // two multiplications make one estimate
    for (int k = 0; k < most; k++) {
        double *oldest = self->y2;
        self->y2 = self->y1;
        self->y1 = oldest;
        memcpy(self->y1, self->y, (size_t)self->n * sizeof *self->y);
        const double length = multiply(self, x->t);
        if (isnan(length)) self->directed = false;
        if (!(length > 0)) return length;
        const double found = k > 0 ? largest_of_pair(self, last, length) : NAN;
        const bool   settled = fabs(found - before) <= SETTLED * found && fabs(found - rho) <= SETTLED * found;
        before = rho;
        rho = found;
        last = length;
        if (settled) break;
    }
    return SAFETY * fmax(rho, before);
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static kd_status create_flow(kd_choice *self, kd_eom_data *point, const kd_state *x, const kd_simulation_options *opt)
{
    const kd_eom          *eom = kd_eom_data_eom(point);
    const kd_dims          d = kd_eom_dims(eom);
    kd_formulation_options form = opt->formulation_options;
    self->n = d.np + d.nv + d.nr;
    for (double **vector[] = {&self->x, &self->y, &self->f, &self->g, &self->y1, &self->y2, NULL}, ***v = vector; *v;
         v++)
        **v = kd_cut_double(&self->arena, self->n);
    kd_status status = self->arena.failed ? KD_ERR_MEMORY : kd_state_create(eom, &self->state);
    if (status < 0) return status;
    kd_state_copy(x, self->state);
    form.projection = KD_PROJECT_NEVER;
    form.without_matrices = true;
    form.point = point; // nothing of it is kept there
    return kd_formulation_create(eom, &self->inputs, self->state, KD_ODE, &form, &self->flow, NULL, 0);
}

static void give_reason(kd_choice *self, const char *why_not)
{
    const bool dense = self->implicit_method.formulation == KD_PSF;
    if (why_not)
        kd_text(self->reason, sizeof self->reason, "%s", why_not);
    else if (isnan(self->radius))
        kd_text(self->reason, sizeof self->reason, "as accelerations cannot be solved for at the start");
    else if (self->starts_stiff)
        kd_text(self->reason, sizeof self->reason, "as the fastest motion, %.2g 1/s, is stiff", self->radius);
    else
        kd_text(self->reason, sizeof self->reason,
                "as the fastest motion at the start, %.2g 1/s, is not stiff; where it becomes so, %s with %s",
                self->radius, kd_formulation_word(self->implicit_method.formulation),
                kd_integrator_word(self->implicit_method.integrator));
    if (self->starts_stiff && !dense) kd_text_append(self->reason, sizeof self->reason, "; its matrices are sparse");
}

kd_status kd_choice_create(kd_eom_data *point, const kd_inputs *inputs, const kd_state *x,
                           const kd_simulation_options *opt, kd_choice **choice)
{
    kd_choice *self = kd_alloc(sizeof *self);
    *choice = NULL;
    if (!self) return KD_ERR_MEMORY;
    const char *why_not = why_not_explicit(kd_eom_data_eom(point), opt);
    if (inputs) self->inputs = *inputs;
    self->explicit_method = (kd_method_pair){KD_ODE, KD_DOP853};
    self->implicit_method = self->retreat = implicit_of(point, &self->inputs, x, opt, &self->cost);
    // both take the same form, so that the motion goes on from where it is
    if (self->implicit_method.formulation == KD_PSF) self->retreat.integrator = KD_RADAU;
    self->radius = self->left_radius = NAN;
    self->worth = self->cost * accurate_ratio(opt, self->implicit_method.integrator);
    // h rho that stability allows, or that is beyond what accuracy does where the fastest motion takes part; where implicit
    // steps are much cheaper, a try costs little and may pay long before
    self->border = fmin(NEAR_BORDER, FASTER * accurate_reach(tolerance_of(opt))) * fmin(1, self->worth);
    self->needed = HITS;
    kd_status status = why_not ? KD_OK : create_flow(self, point, x, opt);
    // a form that cannot be made is no candidate; without memory nothing is
    if (status < 0 && status != KD_ERR_MEMORY) status = KD_OK;
    if (status < 0) {
        kd_choice_destroy(self);
        return status;
    }
    if (self->flow) self->radius = find_radius(self, x);
    // of equations that cannot be solved for accelerations nothing explicit is thought of
    if (isnan(self->radius)) {
        kd_dae_destroy(self->flow);
        self->flow = NULL;
    }
    self->starts_stiff = !self->flow || self->radius > HOPELESS;
    give_reason(self, why_not);
    *choice = self;
    return KD_OK;
}

void kd_choice_destroy(kd_choice *self)
{
    if (!self) return;
    kd_dae_destroy(self->flow);
    kd_state_destroy(self->state);
    kd_arena_release(&self->arena);
    kd_free(self);
}

kd_method_pair kd_choice_method(const kd_choice *self, bool stiff)
{
    return stiff ? self->implicit_method : self->explicit_method;
}

bool kd_choice_starts_stiff(const kd_choice *self)
{
    return self->starts_stiff;
}

bool kd_choice_may_change(const kd_choice *self)
{
    return self->flow != NULL;
}

const char *kd_choice_reason(const kd_choice *self)
{
    return self->reason;
}

double kd_choice_radius(const kd_choice *self)
{
    return self->radius;
}

double kd_choice_stable_step(const kd_choice *self)
{
    return NEAR_BORDER / self->radius;
}

double kd_choice_cost(const kd_choice *self)
{
    return self->cost;
}

bool kd_choice_may_retreat(const kd_choice *self)
{
    return self->implicit_method.integrator != self->retreat.integrator;
}

bool kd_choice_has_retreated(const kd_choice *self)
{
    return self->retreated;
}

void kd_choice_retreat(kd_choice *self)
{
    if (!kd_choice_may_retreat(self)) return;
    self->implicit_method = self->retreat;
    self->retreated = true;
    // its steps cost what they cost, and are as exact as explicit ones
    self->cost /= SPARSE_COST;
    self->worth = INFINITY;
}

// ---- along the motion -----------------------------------------------------------------------------------------------

// Steps of the implicit method until it is first judged
static int first_pause(const kd_choice *self)
{
    return kd_integrator_about(self->implicit_method.integrator, NULL)->one_step ? PAUSE : PAUSE_MULTISTEP;
}

void kd_choice_begin(kd_choice *self, bool stiff)
{
    self->stiff = stiff;
    self->hits = self->since = 0;
    self->longest = self->passed = 0;
    if (!stiff) self->pace = 0;
    // methods with a memory begin with low order and short steps
    self->pause = first_pause(self);
}

// A new rho, where it is to be had
static void refresh(kd_choice *self, const kd_state *x)
{
    const double found = find_radius(self, x);
    if (!isnan(found)) self->radius = found;
    self->since = 0;
}

// Explicit steps near the border of stability, one after the other
static bool is_too_stiff(kd_choice *self, const kd_state *x, double h, bool advised)
{
    self->pace += self->pace > 0 ? (h - self->pace) / LATELY : h;
    if (self->since >= REFRESHED) refresh(self, x);
    const double reach = h * self->radius;
    const int    doubtful = self->worth < 1 ? NEAR : 1; // steps between both borders
    if (reach < IMPOSSIBLE) self->hits += reach > NEAR_BORDER ? NEAR : reach > self->border ? doubtful : -NEAR;
    if (self->hits < 0) self->hits = 0;
    if (!advised && self->hits < self->needed) return false;
    // rho may have fallen meanwhile
    if (self->since > 0) refresh(self, x);
    self->hits = 0;
    return advised || (h * self->radius > self->border && h * self->radius < IMPOSSIBLE);
}

// Has the change to implicit steps of this length not paid? Explicit ones were as long as that when they were left; a
// fastest motion that is faster now makes them shorter
static bool is_dearer(const kd_choice *self, double step)
{
    if (!(self->left_radius > 0 && self->pace > 0)) return false;
    return step < PAID * self->cost * self->pace * fmin(1, self->left_radius / self->radius);
}

// Implicit steps that explicit ones could make at less cost: by rho the longest counts, as behind a kick all steps are
// short, beside the explicit ones of before the mean, but for those after which the method has found its order
static bool is_too_smooth(kd_choice *self, const kd_state *x, double h)
{
    const int half = self->pause / 2;
    self->longest = fmax(self->longest, h);
    if (self->since > half) self->passed += h;
    if (self->since < self->pause) return false;
    const double longest = self->longest, mean = self->passed / (self->since - half);
    self->longest = self->passed = 0;
    // steps that still grow say nothing yet
    if (h > GROWING * mean) {
        self->since = 0;
        return false;
    }
    const double radius_before = self->radius;
    refresh(self, x);
    self->pause = self->pause < PAUSE_MOST ? 2 * self->pause : PAUSE_MOST;
    // a few steps of a one-step method have not found their length: the longest counts
    const bool few = kd_integrator_about(self->implicit_method.integrator, NULL)->one_step;
    if (is_dearer(self, few ? longest : mean)) return true;
    // stiffness that comes and goes: where it was is where it may be soon
    const double radius = fmax(self->radius, radius_before);
    return self->worth > 1 && longest * radius < STABLE * self->cost;
}

bool kd_choice_look(kd_choice *self, const kd_state *x, double h, bool advised)
{
    if (!self->flow) return false;
    self->since++;
    const bool change = self->stiff ? is_too_smooth(self, x, h) : is_too_stiff(self, x, h, advised);
    if (change && !self->stiff) self->left_radius = self->radius;
    // who comes back from an implicit method must have better reasons the next time: a try costs first_pause steps of R
    if (change && self->stiff && self->needed < HITS_MOST)
        self->needed = (int)fmax(4 * self->needed, 2 * NEAR * first_pause(self) * self->cost);
    return change;
}

kd_status kd_method_automatic(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_simulation_options *opt,
                              char *why, size_t size)
{
    kd_choice *choice;
    kd_text(why, size, "%s", "");
    if (!eom || !opt || !kd_state_fits(eom, x)) return KD_ERR_ARGUMENT;
    // one that was named has no choice
    if (!kd_method_is_free(opt)) {
        *opt = kd_method_named(opt);
        return KD_OK;
    }
    kd_eom_data *point;
    kd_status    status = kd_eom_data_create(eom, &point);
    if (status >= 0) status = kd_choice_create(point, inputs, x, opt, &choice);
    if (status < 0) {
        kd_eom_data_destroy(point);
        return status;
    }
    const kd_method_pair first = kd_choice_method(choice, kd_choice_starts_stiff(choice));
    opt->formulation = first.formulation;
    opt->integrator = first.integrator;
    kd_text(why, size, "%s", kd_choice_reason(choice));
    kd_choice_destroy(choice);
    kd_eom_data_destroy(point);
    return KD_OK;
}

void kd_choice_archive(kd_choice *self, kd_archive *a)
{
    bool flow = self->flow != NULL;
    kd_archive_tag(a, "choice");
    kd_archive_bool(a, &flow);
    if (kd_archive_good(a) && flow != (self->flow != NULL))
        kd_archive_fail(a, KD_ERR_SAVED, "other methods come into question");
    if (!kd_archive_good(a)) return;
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    if (self->state) kd_state_archive(self->state, a);
    if (self->flow) kd_dae_archive(self->flow, a);
    KD_ARCHIVE_BOOLS(a, &self->directed, &self->stiff, &self->starts_stiff);
    KD_ARCHIVE_REALS(a, &self->cost, &self->radius, &self->longest, &self->passed, &self->pace, &self->left_radius);
    int *steps[] = {&self->hits, &self->needed, &self->since, &self->pause};
    for (int k = 0; k < 4; k++) kd_archive_int(a, steps[k], 0, INT_MAX / 2);
}
