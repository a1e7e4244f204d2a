// closest.c: the closest point of a system of equations (see closest.h).
//
// Phase 1 finds a point with F = 0. Each iteration has a new matrix, scaled as A = R J D = U S V', where D contains
// L^-T (W = L L'), so that |D^-1 dy| is the weighted norm, and R makes all rows of length 1. The step
//     dy = -D V S (S^2 + nu)^-1 U' R F                                        nu = 0: Gauss-Newton, least W-norm
// is tried with growing nu until |R F| decreases enough (Levenberg-Marquardt).
// Phase 2 moves along F = 0 until the Lagrange condition holds,  W (x - x_ref) + J' lambda = 0:  Newton in the null
// space N of J with the reduced Hessian  N' (W + sum_i lambda_i F_i'') N,  every trial made feasible again by phase 1.
#include "start/closest.h"

#include "math/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SUFFICIENT 1e-4       // part of the predicted decrease that must be reached (Armijo)
#define DAMPING_FIRST 1e-4    // first nu after the undamped step; singular values are of order 1
#define DAMPING_GROWTH 10.0   //
#define DAMPING_LAST 1e16     // steps are below rounding then
#define STEP_NEGLIGIBLE 1e-11 // relative step below which the iteration stands still
#define GRADIENT_ZERO 1e-8    // |A' R F| / |R F| of a stationary point
#define POLISH 4              // iterations below the tolerance, towards rounding
#define EQUILIBRATE 5         // sweeps of row and column scaling
#define ROUNDING 1e-13        // entries of a block below this part of its largest one
#define NEWTON_LIMIT 12       // iterations of the LU path
#define APPROACH_LIMIT 200    // iterations of phase 2; far guesses in curved valleys take 30
#define LONGEST 5.0           // increment of a position beside its size: beyond, the linear model says nothing
#define HALVINGS 12           // of a step of phase 2
#define UNSEEN 1e-11 // part of the objective that a step must gain for its values to tell: sums of rounding below
#define CURVATURE_STEP 1e-4  // relative difference of J for the reduced Hessian
#define CONTRACTION 0.1      // slower than this without F'': form the reduced Hessian,
#define CONTRACTION_MANY 0.4 // with many free directions, where 2 (n - rank) Jacobians are dear
#define MANY 10

static int smaller(int a, int b)
{
    return a < b ? a : b;
}
static int larger(int a, int b)
{
    return a > b ? a : b;
}

void kd_closest_cut(kd_closest *c, kd_arena *arena)
{
    int m = c->m, n = c->n, nx = c->nx, order = larger(m, n);
    // unknowns and what they should be near to, with weights
    c->y = kd_cut_double(arena, n);
    c->y_ref = kd_cut_double(arena, n);
    c->W = kd_cut_matrix(arena, nx, nx);
    c->L = kd_cut_matrix(arena, nx, nx);
    // equations, derivatives, sizes
    c->F = kd_cut_double(arena, m);
    c->J = kd_cut_matrix(arena, m, n);
    c->size = kd_cut_double(arena, n);
    c->bound = kd_cut_double(arena, m);
    // singular values of the scaled Jacobian
    c->A = kd_cut_matrix(arena, m, n);
    c->U = kd_cut_matrix(arena, m, m);
    c->sigma = kd_cut_double(arena, order);
    c->Vt = kd_cut_matrix(arena, n, n);
    // scaling, and what cannot be met
    c->row = kd_cut_double(arena, m);
    c->column = kd_cut_double(arena, n);
    c->work = kd_cut_double(arena, larger(kd_svd_work(m, n), 4 * n));
    c->projection = kd_cut_double(arena, m);
    c->over = kd_cut_double(arena, m);
    // trial steps
    c->dy = kd_cut_double(arena, n);
    c->y_old = kd_cut_double(arena, n);
    c->F_new = kd_cut_double(arena, m);
    c->pivot = kd_cut_int(arena, 2 * order);
    // the second phase: multipliers, tangents, null space
    c->grad = kd_cut_double(arena, n);
    c->multiplier = kd_cut_double(arena, m);
    c->z = kd_cut_double(arena, 2 * n);
    c->tangent = kd_cut_double(arena, n);
    c->F_near = kd_cut_double(arena, m);
    c->N = kd_cut_matrix(arena, n, n);
    if (nx == 0) return; // no second phase
    c->reduced = kd_cut_matrix(arena, 2 * n, n);
    c->hessian = kd_cut_matrix(arena, n, n);
    c->J_near = kd_cut_matrix(arena, m, n);
}

bool kd_closest_factor_weight(kd_closest *c)
{
    memcpy(c->L, c->W, (size_t)c->nx * (size_t)c->nx * sizeof(double));
    return c->nx == 0 || kd_cholesky_factor(c->nx, c->L) == 0;
}

// ---- linearisation and decomposition --------------------------------------------------------------------------------

// bound_i = tolerance * sum_j |J_ij| size_j, at least tolerance^2: where a row of J vanishes like the distance, F
// vanishes like its square.
static void set_bounds(kd_closest *c)
{
    c->ratio = 0.0;
    for (int i = 0; i < c->m; i++) {
        // terms of row i: sum_j |J_ij| size_j
        double terms = 0.0, constant = c->F[i];
        for (int j = 0; j < c->n; j++) {
            double Jij = c->J[i + c->m * j];
            terms += fabs(Jij) * c->size[j];
            constant -= Jij * c->y[j];
        }
        if (c->affine && c->affine[i]) terms += fabs(constant);
        c->bound[i] = c->tolerance * fmax(terms, c->tolerance);
        c->ratio = fmax(c->ratio, fabs(c->F[i]) / c->bound[i]);
    }
}

// A function that asked to stop is not called again.
static kd_eval evaluate_jacobian(kd_closest *c, double *F, double *J, double *size)
{
    kd_eval e = c->stopped ? KD_EVAL_STOP : c->jacobian(c->owner, c->y, F, J, size);
    c->stopped = e == KD_EVAL_STOP;
    return e;
}

static kd_eval evaluate_residual(kd_closest *c, double *F)
{
    kd_eval e = c->stopped ? KD_EVAL_STOP : c->residual(c->owner, c->y, F);
    c->stopped = e == KD_EVAL_STOP;
    return e;
}

kd_eval kd_closest_linearise(kd_closest *c)
{
    kd_eval e = evaluate_jacobian(c, c->F, c->J, c->size);
    if (e == KD_EVAL_OK) set_bounds(c);
    return e;
}

// A = J L^-T in the columns with weight: A L' = J, column by column
static void weight_columns(kd_closest *c)
{
    for (int j = 0; j < c->nx; j++) {
        double *a = c->A + (size_t)c->m * (size_t)j;
        for (int k = 0; k < j; k++) kd_axpy(c->m, -c->L[j + c->nx * k], c->A + (size_t)c->m * (size_t)k, a);
        for (int i = 0; i < c->m; i++) a[i] /= c->L[j + c->nx * j];
    }
}

static double row_norm(const kd_closest *c, int i, bool largest)
{
    double sum = 0.0, top = 0.0;
    for (int j = 0; j < c->n; j++) {
        double a = fabs(c->A[i + c->m * j]);
        sum += a * a;
        top = fmax(top, a);
    }
    return largest ? top : sqrt(sum);
}

static void scale_row(kd_closest *c, int i, double factor)
{
    c->row[i] *= factor;
    for (int j = 0; j < c->n; j++) c->A[i + c->m * j] *= factor;
}

static void scale_free_columns(kd_closest *c)
{
    for (int j = c->nx; j < c->n; j++) {
        double *a = c->A + (size_t)c->m * (size_t)j;
        double  top = kd_norm_max(c->m, a);
        if (top == 0.0) continue;
        double factor = 1.0 / sqrt(top);
        c->column[j] *= factor;
        for (int i = 0; i < c->m; i++) a[i] *= factor;
    }
}

// Entries of J that are rounding beside the others of their block: equilibration would make rows of them
static void clean_matrix(kd_closest *c)
{
    double top[KD_CLOSEST_BLOCKS] = {0.0};
    if (!c->block) return;
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < c->n; j++)
            for (int i = 0; i < c->m; i++) {
                double *a = &c->A[i + c->m * j];
                int     k = *a != 0.0 ? c->block(c->owner, i, j) : 0;
                double  size = fabs(*a) * c->row_unit[i] * c->column_unit[j];
                if (k > 0 && pass == 0) top[k] = fmax(top[k], size);
                if (k > 0 && pass == 1 && size <= ROUNDING * top[k]) *a = 0.0;
            }
}

// The owner knows scales that equilibration would not find: [M G'; G 0] with a small M is in balance for it
static void prescale(kd_closest *c)
{
    c->prescale(c->owner, c->A, c->row, c->column);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) c->A[i + c->m * j] *= c->row[i] * c->column[j];
}

// A = R J D: alternate scaling of rows and of columns without weight, then rows of length 1
static void scale_matrix(kd_closest *c)
{
    // J without rounding, scales of the owner, columns L^-T
    memcpy(c->A, c->J, (size_t)c->m * (size_t)c->n * sizeof(double));
    for (int i = 0; i < c->m; i++) c->row[i] = 1.0;
    for (int j = 0; j < c->n; j++) c->column[j] = 1.0;
    clean_matrix(c);
    if (c->prescale) prescale(c);
    weight_columns(c);
    // rows and free columns by turns towards maximum 1
    for (int sweep = 0; sweep < EQUILIBRATE && c->nx < c->n; sweep++) {
        for (int i = 0; i < c->m; i++) {
            double top = row_norm(c, i, true);
            if (top > 0.0) scale_row(c, i, 1.0 / sqrt(top));
        }
        scale_free_columns(c);
    }
    // rows of length 1
    for (int i = 0; i < c->m; i++) {
        double norm = row_norm(c, i, false);
        if (norm > 0.0) scale_row(c, i, 1.0 / norm);
    }
}

static double scaled_merit(const kd_closest *c, const double *F)
{
    double sum = 0.0;
    for (int i = 0; i < c->m; i++) sum += c->row[i] * F[i] * c->row[i] * F[i];
    return sum;
}

// projection = U' R F, over = R F - U_r U_r' R F
static void project_residual(kd_closest *c)
{
    for (int i = 0; i < c->m; i++) c->over[i] = c->row[i] * c->F[i];
    kd_gemv_t(c->m, c->m, 1.0, c->U, c->over, 0.0, c->projection);
    for (int k = 0; k < c->rank; k++) kd_axpy(c->m, -c->projection[k], c->U + (size_t)c->m * (size_t)k, c->over);
}

kd_closest_end kd_closest_decompose(kd_closest *c)
{
    // R J D = U S V'
    scale_matrix(c);
    if (kd_svd(c->m, c->n, c->A, c->U, c->sigma, c->Vt, c->work) != 0) return KD_CLOSEST_SVD;
    // rank, |R F|^2, U' R F
    c->rank = 0;
    for (int k = 0; k < smaller(c->m, c->n); k++)
        if (c->sigma[k] > c->rank_tolerance * c->sigma[0]) c->rank = k + 1;
    c->merit = scaled_merit(c, c->F);
    project_residual(c);
    return KD_CLOSEST_DONE;
}

// x <- D x
static void unscale(const kd_closest *c, double *x)
{
    for (int j = c->nx - 1; j >= 0; j--) { // L' x_new = x
        for (int k = j + 1; k < c->nx; k++) x[j] -= c->L[k + c->nx * j] * x[k];
        x[j] /= c->L[j + c->nx * j];
    }
    for (int j = c->nx; j < c->n; j++) x[j] *= c->column[j];
}

int kd_closest_null_space(kd_closest *c, double *N)
{
    int k = c->n - c->rank;
    for (int l = 0; l < k; l++) {
        double *column = N + (size_t)c->n * (size_t)l;
        for (int j = 0; j < c->n; j++) column[j] = c->Vt[(c->rank + l) + c->n * j];
        unscale(c, column);
    }
    return k;
}

// ---- phase 1 --------------------------------------------------------------------------------------------------------

// dy for damping nu; returns the decrease of |R F|^2 that the linear model predicts
static double damped_step(kd_closest *c, double nu)
{
    double predicted = 0.0;
    memset(c->dy, 0, (size_t)c->n * sizeof(double));
    for (int k = 0; k < c->rank; k++) {
        // -s / (s^2 + nu) u_k' R F along v_k
        double s = c->sigma[k], keep = nu / (s * s + nu), coefficient = -s / (s * s + nu) * c->projection[k];
        if (nu == 0.0) keep = 0.0;
        predicted += c->projection[k] * c->projection[k] * (1.0 - keep * keep);
        for (int j = 0; j < c->n; j++) c->dy[j] += coefficient * c->Vt[k + c->n * j];
    }
    unscale(c, c->dy);
    return predicted;
}

static double relative_size(const kd_closest *c, const double *dy, int n)
{
    double top = 0.0;
    for (int j = 0; j < n; j++)
        if (dy[j] != 0.0) top = fmax(top, fabs(dy[j]) / c->size[j]);
    return top;
}

typedef enum step_end { STEP_ACCEPTED, STEP_NONE, STEP_STOP } step_end;

// Move y by the first step that decreases |R F| enough. merit_new: |R F|^2 there, with the scaling of here.
static step_end take_step(kd_closest *c, double *merit_new)
{
    memcpy(c->y_old, c->y, (size_t)c->n * sizeof(double));
    for (double nu = 0.0; nu <= DAMPING_LAST; nu = nu > 0.0 ? nu * DAMPING_GROWTH : DAMPING_FIRST) {
        // y + dy(nu)
        double predicted = damped_step(c, nu);
        if (relative_size(c, c->dy, c->nmoved) > LONGEST) continue;
        for (int j = 0; j < c->n; j++) c->y[j] = c->y_old[j] + c->dy[j];
        kd_eval e = evaluate_residual(c, c->F_new);
        if (e == KD_EVAL_STOP) return STEP_STOP;
        if (e != KD_EVAL_OK) continue;
        // Armijo: does |R F|^2 fall by a part of what the linear model says?
        *merit_new = scaled_merit(c, c->F_new);
        if (c->merit - *merit_new >= SUFFICIENT * predicted && *merit_new < c->merit) return STEP_ACCEPTED;
    }
    memcpy(c->y, c->y_old, (size_t)c->n * sizeof(double));
    return STEP_NONE;
}

static bool is_stationary(const kd_closest *c)
{
    double sum = 0.0;
    for (int k = 0; k < smaller(c->m, c->n); k++) sum += pow(c->sigma[k] * c->projection[k], 2);
    return sqrt(sum) <= GRADIENT_ZERO * sqrt(c->merit);
}

// Is what lies outside the range of J below the bounds? Rows of full rank leave nothing over.
static bool leaves_nothing(const kd_closest *c)
{
    for (int i = 0; i < c->m; i++)
        if (fabs(c->over[i]) > c->slack * c->row[i] * c->bound[i]) return false;
    return true;
}

// F vanishes, or stands at rounding: the undamped step is negligible and what remains is rounding of large terms
static bool is_solved(kd_closest *c)
{
    if (c->ratio <= 1.0) return true;
    (void)damped_step(c, 0.0);
    return relative_size(c, c->dy, c->n) <= STEP_NEGLIGIBLE && leaves_nothing(c);
}

kd_closest_end kd_closest_feasible(kd_closest *c)
{
    int    polish = 0, slow = 0;
    double decrease = 0.0; // of the logarithm of |R F|^2 in about the last ten steps
    for (int iteration = 0;; iteration++) {
        // F, J and their decomposition at y
        if (kd_closest_linearise(c) != KD_EVAL_OK) return KD_CLOSEST_REFUSED;
        kd_closest_end end = kd_closest_decompose(c);
        if (end != KD_CLOSEST_DONE) return end;
        // solved, stuck, or out of iterations?
        bool solved = is_solved(c);
        if (solved && (c->merit == 0.0 || polish++ >= POLISH)) return KD_CLOSEST_DONE;
        if (!solved && (is_stationary(c) || slow >= 3)) return KD_CLOSEST_STUCK;
        if (!solved && iteration >= c->max_iterations) return decrease < 0.1 ? KD_CLOSEST_STUCK : KD_CLOSEST_LIMIT;
        // the next y; how fast does it go?
        double   merit_new = 0.0;
        step_end step = take_step(c, &merit_new);
        if (step == STEP_STOP) return KD_CLOSEST_REFUSED;
        if (step == STEP_NONE) return solved ? KD_CLOSEST_DONE : KD_CLOSEST_STUCK;
        if (solved && merit_new > 0.25 * c->merit) polish = POLISH; // at rounding: look at the new point, then end
        slow = merit_new > (1.0 - 1e-6) * c->merit ? slow + 1 : 0;
        decrease = 0.9 * decrease + log(c->merit / fmax(merit_new, DBL_MIN));
    }
}

// ---- Newton with LU -------------------------------------------------------------------------------------------------

// 1-norm of the scaled matrix
static double norm_one(const kd_closest *c)
{
    double top = 0.0;
    for (int j = 0; j < c->n; j++) {
        double sum = 0.0;
        for (int i = 0; i < c->m; i++) sum += fabs(c->A[i + c->m * j]);
        top = fmax(top, sum);
    }
    return top;
}

static bool newton_step(kd_closest *c)
{
    // R J D (D \ dy) = -R F
    scale_matrix(c);
    double norm = norm_one(c);
    if (kd_lu_factor(c->n, c->A, c->pivot) != 0) return false;
    if (!(kd_lu_rcond(c->n, c->A, c->pivot, norm, c->work, c->pivot + c->n) > c->rank_tolerance)) return false;
    for (int i = 0; i < c->n; i++) c->dy[i] = -c->row[i] * c->F[i];
    kd_lu_solve(c->n, c->A, c->pivot, c->dy, 1);
    unscale(c, c->dy);
    return true;
}

bool kd_closest_newton(kd_closest *c)
{
    memcpy(c->tangent, c->y, (size_t)c->n * sizeof(double)); // start, for the case of failure
    bool solved = false;
    for (int iteration = 0; iteration < NEWTON_LIMIT && !solved; iteration++) {
        // y += dy
        if (kd_closest_linearise(c) != KD_EVAL_OK || !newton_step(c)) break;
        kd_axpy(c->n, 1.0, c->dy, c->y);
        solved = relative_size(c, c->dy, c->n) <= STEP_NEGLIGIBLE || (iteration > 0 && c->ratio <= 1.0);
    }
    if (!solved) memcpy(c->y, c->tangent, (size_t)c->n * sizeof(double));
    c->rank = c->n;
    return solved;
}

// ---- phase 2 --------------------------------------------------------------------------------------------------------

// grad = W (x - x_ref); returns 1/2 (x - x_ref)' W (x - x_ref)
static double objective(const kd_closest *c, double *grad)
{
    double sum = 0.0;
    memset(grad, 0, (size_t)c->n * sizeof(double));
    // grad = W (x - x_ref)
    for (int j = 0; j < c->nx; j++) {
        double dx = c->y[j] - c->y_ref[j];
        kd_axpy(c->nx, dx, c->W + (size_t)c->nx * (size_t)j, grad);
    }
    for (int j = 0; j < c->nx; j++) sum += 0.5 * grad[j] * (c->y[j] - c->y_ref[j]);
    return sum;
}

// lambda of  grad + J' lambda = 0  in the range of J:  lambda = -R U S^-1 V' D' grad
static void set_multipliers(kd_closest *c)
{
    double *g = c->tangent; // D' grad: L^-1 grad in the weighted part, grad is zero elsewhere
    memset(g, 0, (size_t)c->n * sizeof(double));
    for (int j = 0; j < c->nx; j++) {
        g[j] = c->grad[j];
        for (int k = 0; k < j; k++) g[j] -= c->L[j + c->nx * k] * g[k];
        g[j] /= c->L[j + c->nx * j];
    }
    // -R U S^-1 V' g
    memset(c->multiplier, 0, (size_t)c->m * sizeof(double));
    for (int k = 0; k < c->rank; k++) {
        double along = 0.0;
        for (int j = 0; j < c->n; j++) along += c->Vt[k + c->n * j] * g[j];
        kd_axpy(c->m, -along / c->sigma[k], c->U + (size_t)c->m * (size_t)k, c->multiplier);
    }
    for (int i = 0; i < c->m; i++) c->multiplier[i] *= c->row[i];
}

// reduced = N' W N; null vectors without weighted part (multipliers of redundant constraints) get a small diagonal
static void reduce_weight(kd_closest *c, int k)
{
    double top = 0.0;
    for (int l = 0; l < k; l++) {
        // column l: N' (W N_l)
        const double *Nl = c->N + (size_t)c->n * (size_t)l;
        kd_gemv(c->nx, c->nx, 1.0, c->W, Nl, 0.0, c->tangent);
        for (int i = 0; i < k; i++) c->reduced[i + k * l] = kd_dot(c->nx, c->N + (size_t)c->n * (size_t)i, c->tangent);
        top = fmax(top, c->reduced[l + k * l]);
    }
    for (int l = 0; l < k; l++) c->reduced[l + k * l] += 1e-12 * top;
}

// hessian += N' (sum_i lambda_i F_i'') N, by differences of J' lambda along the null vectors
static bool add_curvature(kd_closest *c, int k)
{
    set_multipliers(c);
    memcpy(c->y_old, c->y, (size_t)c->n * sizeof(double));
    bool ok = true;
    for (int l = 0; l < k && ok; l++) {
        const double *Nl = c->N + (size_t)c->n * (size_t)l;
        double        delta = CURVATURE_STEP / fmax(relative_size(c, Nl, c->n), DBL_MIN);
        memset(c->tangent, 0, (size_t)c->n * sizeof(double)); // J'(y + delta N_l) lambda - J'(y - delta N_l) lambda
        for (int side = 1; side >= -1 && ok; side -= 2) {
            for (int j = 0; j < c->n; j++) c->y[j] = c->y_old[j] + side * delta * Nl[j];
            ok = evaluate_jacobian(c, c->F_near, c->J_near, c->z + c->n) == KD_EVAL_OK;
            if (ok) kd_gemv_t(c->m, c->n, side / (2.0 * delta), c->J_near, c->multiplier, 1.0, c->tangent);
        }
        // N' of it
        for (int i = 0; i < k && ok; i++)
            c->hessian[i + k * l] += kd_dot(c->n, c->N + (size_t)c->n * (size_t)i, c->tangent);
    }
    // symmetric, as F'' is
    memcpy(c->y, c->y_old, (size_t)c->n * sizeof(double));
    for (int i = 0; i < k; i++)
        for (int l = 0; l < i; l++)
            c->hessian[i + k * l] = c->hessian[l + k * i] = 0.5 * (c->hessian[i + k * l] + c->hessian[l + k * i]);
    return ok;
}

// tangent = N z with  (matrix) z = -N' grad; false: matrix is not positive definite
static bool tangent_step(kd_closest *c, double *matrix, int k)
{
    for (int l = 0; l < k; l++) c->z[l] = -kd_dot(c->nx, c->N + (size_t)c->n * (size_t)l, c->grad);
    if (kd_cholesky_factor(k, matrix) != 0) return false;
    kd_cholesky_solve(k, matrix, c->z, 1);
    kd_gemv(c->n, k, 1.0, c->N, c->z, 0.0, c->tangent);
    return true;
}

// The step of phase 2 into tangent: Gauss-Newton; where that contracts slowly, Newton with the curvature of F, if the
// Hessian is positive definite there. Returns its size, < 0: none. curved: the curvature has been looked at.
static double choose_tangent(kd_closest *c, int k, double size_old, bool *curved)
{
    size_t  order = (size_t)k * (size_t)k;
    double *copy = c->reduced + order;
    // N' W N z = -N' grad
    memcpy(copy, c->reduced, order * sizeof(double));
    double size = tangent_step(c, copy, k) ? relative_size(c, c->tangent, c->nx) : -1.0;
    *curved = !(size >= 0.0 && size <= (k > MANY ? CONTRACTION_MANY : CONTRACTION) * size_old);
    if (!*curved) return size;
    // N' (W + sum lambda F'') N z = -N' grad
    memcpy(c->hessian, c->reduced, order * sizeof(double));
    if (add_curvature(c, k) && tangent_step(c, c->hessian, k)) return relative_size(c, c->tangent, c->nx);
    memcpy(copy, c->reduced, order * sizeof(double));
    return tangent_step(c, copy, k) ? size : -1.0;
}

// Move along the tangent, back to F = 0, with halved steps until the objective decreases. The tangent is kept in z.
// The objective is a square: it sees moves of no less than the root of rounding. A step that promises less is taken whole;
// whether it was good, the size of the next one tells.
static bool move_tangent(kd_closest *c, double before)
{
    double    *start = c->z + c->n, slope = kd_dot(c->n, c->grad, c->tangent);
    const bool unseen = fabs(slope) <= UNSEEN * before;
    memcpy(start, c->y, (size_t)c->n * sizeof(double));
    memcpy(c->z, c->tangent, (size_t)c->n * sizeof(double));
    // y = start + alpha tangent, back onto F = 0
    double alpha = 1.0;
    for (int halving = 0; halving < HALVINGS; halving++, alpha *= 0.5) {
        for (int j = 0; j < c->n; j++) c->y[j] = start[j] + alpha * c->z[j];
        if (kd_closest_feasible(c) != KD_CLOSEST_DONE) continue;
        if (unseen || objective(c, c->grad) <= before + SUFFICIENT * alpha * slope) return true;
    }
    memcpy(c->y, start, (size_t)c->n * sizeof(double));
    return false;
}

kd_closest_end kd_closest_approach(kd_closest *c)
{
    double size_old = DBL_MAX;
    bool   curved = false, curved_old = false;
    for (int iteration = 0; iteration < APPROACH_LIMIT; iteration++) {
        // gradient of the distance, directions along F = 0
        double before = objective(c, c->grad);
        int    k = kd_closest_null_space(c, c->N);
        if (k == 0 || before == 0.0) return KD_CLOSEST_DONE;
        // Newton step along them; the end where it is negligible
        reduce_weight(c, k);
        double size = choose_tangent(c, k, size_old, &curved);
        if (size <= 0.1 * c->tolerance) {
            if (size > 0.0) kd_axpy(c->n, 1.0, c->tangent, c->y); // F stays 0: it changes by the square
            return KD_CLOSEST_DONE;
        }
        if (curved_old && size < 1e-6 && size > 0.5 * size_old) return KD_CLOSEST_DONE; // noise of differences
        if (!move_tangent(c, before)) break;
        size_old = size;
        curved_old = curved;
    }
    return kd_closest_feasible(c); // decomposed at y again
}
