// verify_correction.c: how far the equations move a point inside of a step, by Newton's method on an implicit Euler step
// to it: what is stiff hardly moves, whatever its forces are. Method: docs/methods/verify.md
#include "simulation/verify_impl.h"

#include <string.h>

static const double GAMMA = 4;    // over h: leading coefficient of the correction
static const double WAY_OFF = 16; // times 1 / h: factors of a step of quite another length
enum { MAX_NEWTON = 6 };
static const double SLOW = 0.5;   // rate of convergence beyond which the correction is none
static const double SOLVED = 0.1; // an increment of so few tolerances is small enough

// part, y at (t, x_mid, d_mid)
static kd_eval reduced_defect(kd_verify *self, double t)
{
    const kd_dae_class *f = self->dae->methods;
    if (f->evaluate) return f->evaluate(self->dae->impl, t, self->x_mid, self->d_mid, self->part, self->y);
    kd_eval answer = f->residual(self->dae->impl, t, self->x_mid, self->d_mid, self->F);
    if (answer == KD_EVAL_OK) f->reduce(self->dae->impl, self->F, self->part, self->y);
    return answer;
}

void kd_verify_take_tolerance(kd_verify *self, const kd_step_ends *e)
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
double kd_verify_correction(kd_verify *self, const kd_step_ends *e, double t)
{
    const double h = e->t1 - e->t0, moved = h * iterate_cheaply(self, t, h);
    return moved <= self->allowed ? moved : h * iterate_here(self, t, h);
}
