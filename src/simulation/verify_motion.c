// verify_motion.c: the motion inside of an accepted step, as a polynomial through its ends or as dense output, and what the
// equations say about it. Method: docs/methods/verify.md
#include "simulation/verify_impl.h"

#include <string.h>

static const double EPSILON = 5e-3; // of h: distance of points of dense output for its derivative
enum { MOST_NODES = 4 };            // of the polynomial

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
void kd_verify_interpolate(kd_verify *self, const kd_step_ends *e, double t)
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
kd_eval kd_verify_evaluate(kd_verify *self, double t)
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
kd_eval kd_verify_glance(kd_verify *self, double t, bool *done)
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

// Methods of higher order than the polynomial have dense output of their order: its derivative by differences over the
// five points t + k epsilon h, which leaves (epsilon h)^4 x^(5) / 30
// f'(t) = (f_-2 - 8 f_-1 + 8 f_1 - f_2) / (12 step)
kd_status kd_verify_dense(kd_verify *self, const kd_step_ends *e, double t)
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
