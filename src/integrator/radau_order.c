// radau_order.c: how many stages Radau IIa takes, and what depends on it: tolerances inside, weights of work.
//
// The terms h^k x^(k) / k! of the last step, in tolerances, tell which step other orders would allow: those up to s are
// differences of the collocation polynomial, that of s + 1 comes from the error estimate, and those beyond fall as the last
// ones did. More or fewer stages are taken where the step over its work gains.
// (RADAU of E. Hairer and G. Wanner looks at the rate of Newton's method alone; here slow or failed iterations are work.)
#include <math.h>

#include "integrator/radau_impl.h"
#include "math/dense.h"

static const double NEWTON_STOP = 0.05; // fnewt = 0.05 sqrt(rtol_i): RADAU5's 1 leaves a Newton error above that of the
                                        // method on the pendulum; it costs 10 % (docs/methods/radau.md)
static const double NEWTON_LOOSE = 1.33; // 1.33 rtol_i^(3/4) where that is larger (rtol above 1e-7): long steps
                                         // converge slowly, and rejections cost more than the Newton error there

// Choice of the order. Work in evaluations of F; measured on the car axis and Andrews' mechanism with psf
static const double LINEARISATION = 3;     // derivatives and real factors
static const double FACTORS = 0.5;         // complex ones, for each stage
static const double MORE_ITERATIONS = 1.5; // of the next higher order
static const double GAIN = 0.1;            // ln of (step over work) that is worth a change
static const double MEMORY = 0.3;          // weight of the last step in means
static const double NEVER = -10;
static const double STEADY_LEAST = 0.6, STEADY_MOST = 1.6; // h_new / h of steps that say something about other orders
static const int    PATIENCE = 5, MOST_PATIENCE = 80;      // steps with an order before another one

// ---- methods --------------------------------------------------------------------------------------------------------

// 5, 9, 13 to 0, 1, 2
static int method_of(int order)
{
    return order / 4 - 1;
}

int kd_radau_highest(const kd_implicit_options *o)
{
    return method_of(o->order_fixed > 0 ? o->order_fixed : o->order_max);
}

int kd_radau_lowest(const kd_implicit_options *o)
{
    return o->order_fixed > 0 ? method_of(o->order_fixed) : 0;
}

void kd_radau_combine_many(int stages, const double *w, double *const *z, int n, double *out)
{
    for (int k = 0; k < n; k++) out[k] = w[0] * z[0][k];
    for (int j = 1; j < stages; j++) kd_axpy(n, w[j], z[j], out);
}

// Inner tolerance: the error of the method falls with a higher order (2 s - 1) than its estimate (s). RADAU takes 0.1
// tol^((s + 1) / 2 s), here 0.1 3 / s (Andrews' mechanism at 1e-10 with 7 stages: 7.7 digits with 0.1), which lets error / tol grow, for s = 3 like tol^(-1/6); below 1e-9, where digits are asked for,
// tol^((s + 1) / (2 s - 1)), 1.585 of it for s = 3, keeps the proportion.
static double inner_tolerance(int stages, double tol)
{
    const double s = stages;
    return fmin(0.1 * (3 / s) * pow(tol, (s + 1) / (2 * s)), 1.585 * pow(tol, (s + 1) / (2 * s - 1)));
}

// rtol_i from rtol, atol_i = rtol_i atol / rtol. The second rule alone would loosen atol_i when only rtol is made
// smaller; what atol itself would give bounds it.
static void set_tolerances(kd_radau *r)
{
    const kd_implicit_options *o = r->s.rule;
    const int                  stages = kd_radau_use(r)->stages;
    double                    *rtol = r->s.base.rtol, *atol = r->s.base.atol, tightest = 1;
    // each component has its own pair; the tightest decides when Newton may stop
    for (int i = 0; i < r->s.n; i++) {
        rtol[i] = inner_tolerance(stages, r->rtol_outer[i]);
        atol[i] = fmin(rtol[i] * (r->atol_outer[i] / r->rtol_outer[i]), inner_tolerance(stages, r->atol_outer[i]));
        tightest = fmin(tightest, rtol[i]);
    }
    // not below rounding, not above 0.03 tolerances
    const double sharp = NEWTON_STOP * pow(tightest, (stages - 1.0) / (stages + 1));
    r->s.newton_stop = o->newton_stop > 0 ? o->newton_stop
                                          : fmax(10 * o->uround / tightest,
                                                 fmin(0.03, fmax(sharp, NEWTON_LOOSE * pow(tightest, 0.75))));
}

void kd_radau_set_method(kd_radau *r, int method)
{
    r->method = method;
    r->s.order = 2 * kd_radau_use(r)->stages - 1;
    r->s.exponent = 1.0 / (kd_radau_use(r)->stages + 1);
    r->s.h_factored = 0;
    set_tolerances(r);
}

// ---- the choice -----------------------------------------------------------------------------------------------------

// Norm of the difference over n + 1 nodes of 0, c_1, .., c_s, from `first` on: h^n x^(n) / n!
static double difference(const kd_radau *r, int first, int n)
{
    const kd_radau_tableau *m = &radau_tableau[r->method_prev];
    double                  w[STAGES] = {0};
    for (int node = first; node <= first + n; node++) {
        if (node == 0) continue; // where Z is 0
        double product = 1;
        for (int k = first; k <= first + n; k++)
            if (k != node) product *= m->c[node - 1] - (k > 0 ? m->c[k - 1] : 0);
        w[node - 1] = 1 / product;
    }
    kd_radau_combine(m->stages, w, r->Zprev, r->s.n, r->s.dx);
    return kd_one_step_error_norm(&r->s, r->s.dx);
}

// Error estimate of s stages over h^(s+1) x^(s+1) / (s+1)!, where nothing is stiff: (s + 1) / g1 times all nodes
static double error_constant(const kd_radau_tableau *m)
{
    double product = 1;
    for (int j = 0; j < m->stages; j++) product *= m->c[j];
    return (m->stages + 1) / m->g1 * product;
}

double kd_radau_work(const kd_radau_tableau *m, double iterations)
{
    return m->stages * iterations + LINEARISATION + FACTORS * m->stages;
}

// ln of (step over work) of another method beside the present one, which wasted some evaluations; size: of the term s' + 1
static double gain(const kd_radau *r, int other, double size, double iterations)
{
    const kd_radau_tableau *m = kd_radau_use(r), *o = &radau_tableau[other];
    const double            rtol = r->rtol_outer[0];
    const double            looser = inner_tolerance(o->stages, rtol) / inner_tolerance(m->stages, rtol);
    const double steps = log(r->err) / (m->stages + 1) - log(error_constant(o) * size / looser) / (o->stages + 1);
    return steps - log(kd_radau_work(o, iterations) / (kd_radau_work(m, r->s.iterations) + r->wasted));
}

// Means over the last steps of what more and fewer stages would gain
static void weigh_orders(kd_radau *r)
{
    const kd_radau_tableau *m = kd_radau_use(r);
    const int               s = m->stages;
    const double            iterations = r->s.iterations, mean = r->since_change == 0 ? 1 : MEMORY;
    double                  up = NEVER, down = NEVER;
    if (r->method < kd_radau_highest(r->s.rule)) {
        // the term of s + 3: two more ratios as that of s + 1 to s, with the factorials of an oscillation
        const double next = r->err / error_constant(m), ratio = next / difference(r, 0, s);
        const double size = next * ratio * ratio * (s + 1) * (s + 1) / ((s + 2.0) * (s + 3));
        up = gain(r, r->method + 1, size, MORE_ITERATIONS * iterations + r->wasted / s);
    }
    if (r->method > kd_radau_lowest(r->s.rule)) {
        const double size = 0.5 * (difference(r, 0, s - 1) + difference(r, 1, s - 1));
        down = gain(r, r->method - 1, size, iterations / MORE_ITERATIONS);
    }
    r->gain_up += mean * (up - r->gain_up);
    r->gain_down += mean * (down - r->gain_down);
    r->since_change++;
    r->wasted = 0;
}

static void change_order(kd_radau *r, int method)
{
    // who came back from an order too high tries it again after twice as many steps
    if (method < r->method) r->patience = 2 * r->patience < MOST_PATIENCE ? 2 * r->patience : MOST_PATIENCE;
    kd_radau_set_method(r, method);
    r->since_change = 0;
    r->gain_up = r->gain_down = 0;
    r->s.accepted_since_start = -1; // the predictive control has nothing to compare with
}

// Steps that grow or shrink much say little about other orders
void kd_radau_choose_order(kd_radau *r)
{
    if (kd_radau_highest(r->s.rule) > 0) r->s.base.stats.order_last = r->s.order;
    if (kd_radau_lowest(r->s.rule) == kd_radau_highest(r->s.rule)) return;
    if (r->s.growth < STEADY_LEAST || r->s.growth > STEADY_MOST || r->s.rejected) return;
    weigh_orders(r);
    if (r->gain_up > GAIN && r->gain_up > r->gain_down && r->since_change >= r->patience)
        change_order(r, r->method + 1);
    else if (r->gain_down > GAIN && r->since_change >= PATIENCE)
        change_order(r, r->method - 1);
}

void kd_radau_forget_order(kd_radau *r)
{
    r->patience = PATIENCE;
    r->since_change = 0;
    r->gain_up = r->gain_down = r->wasted = 0;
    if (r->method != kd_radau_lowest(r->s.rule)) kd_radau_set_method(r, kd_radau_lowest(r->s.rule));
}
