// constraint.c: rigid joints between systems: multipliers that the master finds, held over a macro step.
//
// A row says that an output of one system equals that of another one: g = y_1 - y_2 at the levels of position, velocity and acceleration;
// its multiplier lambda acts as a force +lambda on the first and -lambda on the second system. With the Delassus blocks
// D_i = d(acceleration of i)/d(force on i) of the systems:
//
//     index 1:  gII + 2 a gI + a^2 g = 0 at the beginning of the step        (Baumgarte, a = 0.1/H)
//     index 2:  gI + s g/H = 0 at the end of the step, s = 0.2               steps are repeated from the saved start
//
//     lambda <- lambda - P r,    P = inv(D_1 + D_2), index 2: over H (1 + s/2)
//
// Without preconditioning the first system alone answers, P = inv(D_1): it contracts with inv(D_1) D_2 only, the ratio of the masses (Arnold,
// Guenther 2001). That factor is computed from the blocks, and where it is not below 1 all blocks are taken.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "cosim/cosim.h"
#include "math/dense.h"

static const double BAUMGARTE = 0.1, STABILISE = 0.2;
static const double SHIFT = 1;        // [N] of a multiplier for differences, which are exact: forces act linearly
static const double BAD_FACTOR = 0.9; // contraction that is good enough without preconditioning
static const double GROWN = 1e3;      // a residual that has grown by this diverges
enum { MOST_ITERATIONS = 30 };

// ---- forces ---------------------------------------------------------------------------------------------------------

static double *force_on(kd_cosim *c, const kd_cosim_row *row, int side)
{
    return &c->u[row->system[side]][row->force[side]];
}

static void set_forces(kd_cosim *c)
{
    for (int i = 0; i < c->nrows_joined; i++)
        for (int side = 0; side < 2; side++) {
            const kd_cosim_row *row = &c->row[i];
            const double        f = side == 0 ? c->lambda[i] : -c->lambda[i];
            *force_on(c, row, side) = f;
            c->signal[row->system[side]][row->force[side]] = (kd_signal){c->T, {f, 0, 0}};
        }
}

static double level(const kd_cosim *c, const kd_cosim_row *row, int level_of)
{
    return c->y[row->system[0]][row->output[0][level_of]] - c->y[row->system[1]][row->output[1][level_of]];
}

// ---- Delassus blocks ------------------------------------------------------------------------------------------------

// Columns of D_1 and D_2 for multiplier j: accelerations of the rows on one side, with this force changed on that side
static kd_status block_column(kd_cosim *c, int j, int side)
{
    const int        n = c->nrows_joined, s = c->row[j].system[side];
    kd_cosim_system *system = c->system[s];
    double          *f = force_on(c, &c->row[j], side), was = *f, *dy = c->y_other[s];
    const double     sign = side == 0 ? 1 : -1;
    // outputs with the force of multiplier j changed on this side
    *f = was + sign * SHIFT;
    const kd_status status = system->class->outputs(system, c->u[s], dy);
    *f = was;
    if (status < 0) return kd_cosim_fail(c, s, status);
    // g = y_1 - y_2: accelerations of the second side count with the other sign
    for (int i = 0; i < n; i++)
        for (int other = 0; other < 2; other++) {
            const kd_cosim_row *row = &c->row[i];
            if (row->system[other] != s) continue;
            const int a = row->output[other][2];
            c->delassus[side][j * n + i] += (other == 0 ? 1 : -1) * (dy[a] - c->y[s][a]) / SHIFT;
        }
    return KD_OK;
}

static void inverse_times(int n, double *LU, int *pivot, const double *B, double *X)
{
    memcpy(X, B, (size_t)n * (size_t)n * sizeof *X);
    kd_lu_solve(n, LU, pivot, X, n);
}

// A bound of the contraction of lambda <- lambda - inv(D_1) r: the spectral radius of inv(D_1) D_2, by powers of it
static double contraction(kd_cosim *c)
{
    const int n = c->nrows_joined;
    double   *LU = c->row_work, *X = LU + n * n, *v = X + n * n, *w = v + n, radius = 0;
    int       pivot[KD_COSIM_MOST_ROWS];
    // X = inv(D_1) D_2
    memcpy(LU, c->delassus[0], (size_t)n * (size_t)n * sizeof *LU);
    if (kd_lu_factor(n, LU, pivot) != 0) return INFINITY;
    inverse_times(n, LU, pivot, c->delassus[1], X);
    // powers of X on a vector that no symmetry makes orthogonal to the largest eigenvector
    for (int i = 0; i < n; i++) v[i] = 1 + 0.1 * i;
    for (int k = 0; k < 100; k++) {
        double size = 0;
        for (int i = 0; i < n; i++) {
            w[i] = 0;
            for (int j = 0; j < n; j++) w[i] += X[j * n + i] * v[j];
            size = fmax(size, fabs(w[i]));
        }
        if (!(size > 0)) return 0;
        for (int i = 0; i < n; i++) v[i] = w[i] / size;
        radius = size;
    }
    return radius;
}

// D at the present state; P factored
static kd_status make_blocks(kd_cosim *c)
{
    const int n = c->nrows_joined;
    for (int side = 0; side < 2; side++) memset(c->delassus[side], 0, (size_t)n * (size_t)n * sizeof(double));
    for (int j = 0; j < n; j++)
        for (int side = 0; side < 2; side++) {
            const kd_status status = block_column(c, j, side);
            if (status < 0) return status;
        }
    // does the first system alone answer well enough? otherwise, or where it is asked for, P has both blocks
    c->contraction = contraction(c);
    c->preconditioned = c->precondition > 0 || (c->precondition < 0 && !(c->contraction < BAD_FACTOR));
    for (int i = 0; i < n * n; i++) c->P[i] = c->delassus[0][i] + (c->preconditioned ? c->delassus[1][i] : 0);
    if (kd_lu_factor(n, c->P, c->P_pivot) == 0) return KD_OK;
    kd_text(c->why, sizeof c->why,
            "the joints between the systems are redundant, or a force has no effect, at t = %.9g s", c->T);
    return KD_ERR_SINGULAR_MASS;
}

// ---- multipliers ----------------------------------------------------------------------------------------------------

// Accelerations of both sides at a communication point, which residuals are relative to; not of tries, which may diverge
static void note_accelerations(kd_cosim *c)
{
    for (int i = 0; i < c->nrows_joined; i++)
        for (int side = 0; side < 2; side++) {
            const kd_cosim_row *row = &c->row[i];
            c->acceleration_scale = fmax(c->acceleration_scale, fabs(c->y[row->system[side]][row->output[side][2]]));
        }
}

// r, and its size in accelerations beside the largest ones so far
static double residual(kd_cosim *c, double H)
{
    double worst = 0;
    for (int i = 0; i < c->nrows_joined; i++) {
        const kd_cosim_row *row = &c->row[i];
        const double        a = BAUMGARTE / H, g = level(c, row, 0), gI = level(c, row, 1);
        c->row_residual[i] = c->joint_index == 1 ? level(c, row, 2) + 2 * a * gI + a * a * g
                                                 : (gI + STABILISE * g / H) / (H * (1 + 0.5 * STABILISE));
        worst = fmax(worst, fabs(c->row_residual[i]));
    }
    return worst / fmax(c->acceleration_scale, 1e-12);
}

// lambda <- lambda - P r
static void improve(kd_cosim *c)
{
    kd_lu_solve(c->nrows_joined, c->P, c->P_pivot, c->row_residual, 1);
    for (int i = 0; i < c->nrows_joined; i++) c->lambda[i] -= c->row_residual[i];
    set_forces(c);
    c->certificate.iterations++;
}

static kd_status no_convergence(kd_cosim *c, double norm)
{
    kd_text(c->why, sizeof c->why,
            "the multipliers of the joints do not converge at t = %.9g s (residual %.2g); the iteration %s contracts "
            "by %.3g",
            c->T, norm, c->preconditioned ? "with all Delassus blocks" : "without preconditioning",
            c->preconditioned ? 0 : c->contraction);
    return KD_ERR_NEWTON;
}

kd_status kd_cosim_joints_begin(kd_cosim *c, double t_end)
{
    const double H = t_end - c->T;
    // outputs at the beginning, which may be those of a try
    memcpy(c->w, c->w_past[0], (size_t)c->nconnections * sizeof *c->w);
    kd_status status = kd_cosim_communicate(c);
    if (status >= 0) note_accelerations(c);
    if (status >= 0) status = make_blocks(c);
    if (status < 0 || c->joint_index != 1) return status;
    // accelerations follow forces at once: outputs are read again, nothing is stepped
    double norm = INFINITY, first = INFINITY;
    for (int i = 0; i < MOST_ITERATIONS && status >= 0; i++) {
        norm = residual(c, H);
        if (norm <= c->opt.convergence) return KD_OK;
        first = fmin(first, norm);
        if (!isfinite(norm) || norm > GROWN * first) break;
        improve(c);
        status = kd_cosim_communicate(c);
    }
    return status < 0 ? status : no_convergence(c, norm);
}

bool kd_cosim_joints_fit(kd_cosim *c, double t_end, double *norm)
{
    *norm = residual(c, t_end - c->T);
    return c->joint_index == 1 || *norm <= c->opt.convergence;
}

kd_status kd_cosim_joints_improve(kd_cosim *c, int pass, double norm)
{
    if (pass == 0) c->joint_best = norm;
    c->joint_best = fmin(c->joint_best, norm);
    if (pass >= MOST_ITERATIONS || !isfinite(norm) || norm > GROWN * c->joint_best) return no_convergence(c, norm);
    improve(c);
    return KD_OK;
}

void kd_cosim_joints_note(kd_cosim *c)
{
    kd_cosim_certificate *z = &c->certificate;
    for (int i = 0; i < c->nrows_joined; i++) {
        z->joint_position = fmax(z->joint_position, fabs(level(c, &c->row[i], 0)));
        z->joint_velocity = fmax(z->joint_velocity, fabs(level(c, &c->row[i], 1)));
        for (int side = 0; side < 2; side++)
            c->position_scale = fmax(c->position_scale, fabs(c->y[c->row[i].system[side]][c->row[i].output[side][0]]));
    }
}
