// tops.c: rigid bodies with p = (x, q), centre of mass in the world and unit quaternion (scalar first, body to world),
// and v = (x', omega), omega in the body:  x' = v_x, q' = q (0, omega)/2, norm equation 0 = |q|^2 - 1.
//
// free body:  m x'' = m g,  J omega' = -omega x J omega
// heavy top:  0 = g = x - R X;  m x'' = m g - lambda,  J omega' = -omega x J omega + X x (R' lambda)
//     (G Z = [I, R X~] with X~ b = X x b, so that (G Z)' lambda = (lambda, -X x (R' lambda)))
// Data of the heavy top: M. Geradin, A. Cardona, as used by O. Bruels, A. Cardona, M. Arnold (2012).
//
// Second description: rotation matrix R instead of q, R' = R omega~; for the top Euler's equations about the fixed
// point, (J - m X~ X~) omega' = -omega x (J - m X~ X~) omega + X x R' m g.
#include <string.h>

#include "systems/rotation.h"
#include "systems/systems.h"

static const double field[3] = {0, 0, -9.81};

typedef struct body {
    double m, J[3];
} body;

static const body   free_body = {2, {0.3, 0.5, 0.7}};
static const body   top = {15, {0.234375, 0.46875, 0.234375}};
static const double top_X[3] = {0, 1, 0};

static const double free_v0[6] = {0.5, -0.3, 4, 0.2, 3, 0.4}, top_omega0[3] = {0, 150, -4.61538};

static const body *body_of(void *context)
{
    return context;
}

// ---- kinematics -----------------------------------------------------------------------------------------------------

static kd_eval kinematics(const kd_point *x, void *context, double *out)
{
    (void)context;
    memcpy(out, x->v, 3 * sizeof *out);
    quaternion_rate(x->p + 3, x->v + 3, out + 3);
    return KD_EVAL_OK;
}

static kd_eval Z(const kd_point *x, void *context, double *out)
{
    (void)context;
    memset(out, 0, 42 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        const double unit[3] = {j == 0, j == 1, j == 2};
        out[7 * j + j] = 1;
        quaternion_rate(x->p + 3, unit, out + 7 * (j + 3) + 3);
    }
    return KD_EVAL_OK;
}

static kd_eval oplus(const double *p, const double *e, void *context, double *moved)
{
    (void)context;
    for (int i = 0; i < 3; i++) moved[i] = p[i] + e[i];
    quaternion_turn(p + 3, e + 3, moved + 3);
    return KD_EVAL_OK;
}

static kd_eval norm(const kd_point *x, void *context, double *out)
{
    const double *q = x->p + 3;
    (void)context;
    out[0] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1;
    return KD_EVAL_OK;
}

// ---- dynamics -------------------------------------------------------------------------------------------------------

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const body *b = body_of(context);
    (void)x;
    memset(out, 0, 36 * sizeof *out);
    for (int i = 0; i < 3; i++) out[7 * i] = b->m, out[7 * (i + 3)] = b->J[i];
    return KD_EVAL_OK;
}

// omega x J omega
static void gyroscopic(const body *b, const double *omega, double out[3])
{
    cross(omega, (double[]){b->J[0] * omega[0], b->J[1] * omega[1], b->J[2] * omega[2]}, out);
}

static kd_eval f(const kd_point *x, void *context, double *out)
{
    const body *b = body_of(context);
    for (int i = 0; i < 3; i++) out[i] = b->m * field[i];
    gyroscopic(b, x->v + 3, out + 3);
    for (int i = 3; i < 6; i++) out[i] = -out[i];
    return KD_EVAL_OK;
}

static double kinetic(const body *b, const double *v)
{
    double T = 0.5 * b->m * dot(v, v);
    for (int i = 0; i < 3; i++) T += 0.5 * b->J[i] * v[3 + i] * v[3 + i];
    return T;
}

static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const body *b = body_of(context);
    *out = (kd_energies){.kinetic = kinetic(b, x->v), .potential = -b->m * dot(field, x->p)};
    return KD_EVAL_OK;
}

static kd_eval e(const kd_point *x, void *context, double *out)
{
    const body *b = body_of(context);
    out[0] = kinetic(b, x->v) - b->m * dot(field, x->p) - kinetic(b, free_v0);
    return KD_EVAL_OK;
}

static kd_eom_def body_def(const body *b)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 7, .nv = 6, .nq = 1};
    def.context = (void *)b; // only read
    def.kinematics = kinematics;
    def.Z = Z;
    def.oplus = oplus;
    def.q = norm;
    def.M = mass;
    def.f = f;
    def.energies = energies;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return def;
}

// ---- second description ---------------------------------------------------------------------------------------------

// Quaternion of a rotation matrix, the sign such that it continues near.
static void quaternion_of(double R[3][3], const double near[4], double q[4])
{
    // the largest of the four squares: w^2, x^2, y^2, z^2
    const double trace = R[0][0] + R[1][1] + R[2][2];
    const double square[4] = {1 + trace, 1 - trace + 2 * R[0][0], 1 - trace + 2 * R[1][1], 1 - trace + 2 * R[2][2]};
    int          k = 0;
    for (int i = 1; i < 4; i++)
        if (square[i] > square[k]) k = i;
    const double products[4][4] = {// 4 q_i q_j
                                   {square[0], R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]},
                                   {R[2][1] - R[1][2], square[1], R[1][0] + R[0][1], R[0][2] + R[2][0]},
                                   {R[0][2] - R[2][0], R[1][0] + R[0][1], square[2], R[2][1] + R[1][2]},
                                   {R[1][0] - R[0][1], R[0][2] + R[2][0], R[2][1] + R[1][2], square[3]}};
    double       length = 0, sign = 0;
    for (int i = 0; i < 4; i++) length += products[k][i] * products[k][i];
    for (int i = 0; i < 4; i++) q[i] = products[k][i] / sqrt(length), sign += q[i] * near[i];
    for (int i = 0; i < 4 && sign < 0; i++) q[i] = -q[i];
}

// y = (R by rows, omega): R' = R omega~, rows turn as r' = r x omega
static void turn_rate(const double *y, double *dy)
{
    for (int i = 0; i < 3; i++) cross(y + 3 * i, y + 9, dy + 3 * i);
}

static void free_rhs(double t, const double *y, double *dy)
{
    double moment[3];
    (void)t;
    turn_rate(y, dy);
    gyroscopic(&free_body, y + 9, moment);
    for (int i = 0; i < 3; i++) dy[9 + i] = -moment[i] / free_body.J[i];
}

static void top_rhs(double t, const double *y, double *dy)
{
    // X is the second axis: about the fixed point the first and third inertias grow by m
    const body about = {top.m, {top.J[0] + top.m, top.J[1], top.J[2] + top.m}};
    double     moment[3], weight[3], R[3][3];
    (void)t;
    turn_rate(y, dy);
    memcpy(R, y, sizeof R);
    rotate_back(R, field, weight);
    cross(top_X, weight, weight);
    gyroscopic(&about, y + 9, moment);
    for (int i = 0; i < 3; i++) dy[9 + i] = (top.m * weight[i] - moment[i]) / about.J[i];
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// R and omega at t; the quaternion's sign is followed in pieces of less than half a turn.
static void integrate_body(kd_test_rhs rhs, const double omega0[3], double t, double piece, double y[12], double q[4])
{
    const int pieces = (int)ceil(fabs(t) / piece);
    double    R[3][3];
    memcpy(y, identity, sizeof identity);
    memcpy(y + 9, omega0, 3 * sizeof *y);
    q[0] = 1, q[1] = q[2] = q[3] = 0;
    for (int k = 0; k < pieces; k++) {
        const double near[4] = {q[0], q[1], q[2], q[3]};
        kd_test_integrate(rhs, 12, t / pieces, piece, y);
        memcpy(R, y, sizeof R);
        quaternion_of(R, near, q);
    }
}

// ---- free body ------------------------------------------------------------------------------------------------------

void kd_test_free_body_solution(double t, kd_state *x)
{
    double y[12];
    integrate_body(free_rhs, free_v0 + 3, t, 0.05, y, x->p + 3);
    x->t = t;
    for (int i = 0; i < 3; i++) {
        x->p[i] = (free_v0[i] + 0.5 * field[i] * t) * t;
        x->v[i] = free_v0[i] + field[i] * t;
        x->v[3 + i] = y[9 + i];
    }
}

void kd_test_free_body_constants(const kd_state *x, double out[7])
{
    double       R[3][3];
    const body  *b = &free_body;
    const double spin[3] = {b->J[0] * x->v[3], b->J[1] * x->v[4], b->J[2] * x->v[5]};
    matrix_of(x->p + 3, R);
    rotate(R, spin, out);
    out[3] = kinetic(b, x->v) - b->m * dot(field, x->p);
    for (int i = 0; i < 3; i++) out[4 + i] = b->m * (x->v[i] - field[i] * x->t);
}

kd_status kd_test_free_body_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = body_def(&free_body);
    def.title = "free rigid body";
    return kd_test_create(&def, kd_test_free_body_solution, eom, x);
}

kd_status kd_test_free_body_invariant_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = body_def(&free_body);
    def.title = "free rigid body with invariant energy";
    def.dims.ne = 1;
    def.e = e;
    return kd_test_create(&def, kd_test_free_body_solution, eom, x);
}

// ---- heavy top ------------------------------------------------------------------------------------------------------

// omega x X and alpha x X + omega x (omega x X), in the body
static void arm_rates(const double *omega, const double *alpha, double rate[3], double second[3])
{
    double spin[3];
    cross(omega, top_X, rate);
    cross(omega, rate, spin);
    cross(alpha, top_X, second);
    for (int i = 0; i < 3; i++) second[i] += spin[i];
}

static kd_eval top_residual(const kd_point *x, void *context, double *out)
{
    double R[3][3], arm[3];
    (void)context;
    matrix_of(x->p + 3, R);
    rotate_back(R, x->lambda, arm);
    cross(top_X, arm, arm);
    gyroscopic(&top, x->v + 3, out + 3);
    for (int i = 0; i < 3; i++) {
        out[i] = top.m * (x->a[i] - field[i]) + x->lambda[i];
        out[3 + i] += top.J[i] * x->a[3 + i] - arm[i];
    }
    return KD_EVAL_OK;
}

static kd_eval top_g(const kd_point *x, void *context, double *out)
{
    double R[3][3];
    (void)context;
    matrix_of(x->p + 3, R);
    rotate(R, top_X, out);
    for (int i = 0; i < 3; i++) out[i] = x->p[i] - out[i];
    return KD_EVAL_OK;
}

static kd_eval top_gI(const kd_point *x, void *context, double *out)
{
    double R[3][3], rate[3], second[3];
    (void)context;
    matrix_of(x->p + 3, R);
    arm_rates(x->v + 3, x->v + 3, rate, second);
    rotate(R, rate, out);
    for (int i = 0; i < 3; i++) out[i] = x->v[i] - out[i];
    return KD_EVAL_OK;
}

static kd_eval top_gII(const kd_point *x, void *context, double *out)
{
    double R[3][3], rate[3], second[3];
    (void)context;
    matrix_of(x->p + 3, R);
    arm_rates(x->v + 3, x->a + 3, rate, second);
    rotate(R, second, out);
    for (int i = 0; i < 3; i++) out[i] = x->a[i] - out[i];
    return KD_EVAL_OK;
}

// (3 x 6): s I beside the columns R (b x e_j); the derivative of -R c by an increment of rotation is R c~
static void constraint_block(double R[3][3], double s, const double b[3], double *out)
{
    memset(out, 0, 18 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        double column[3];
        cross(b, (const double[]){j == 0, j == 1, j == 2}, column);
        rotate(R, column, out + 3 * (j + 3));
        out[3 * j + j] = s;
    }
}

// d/d omega of omega x J omega: e x J omega + omega x J e
static void residual_by_v(const double *omega, double *out)
{
    const double spin[3] = {top.J[0] * omega[0], top.J[1] * omega[1], top.J[2] * omega[2]};
    memset(out, 0, 36 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        const double unit[3] = {j == 0, j == 1, j == 2};
        double       first[3], second[3];
        cross(unit, spin, first);
        cross(omega, unit, second);
        for (int i = 0; i < 3; i++) out[6 * (j + 3) + 3 + i] = first[i] + top.J[j] * second[i];
    }
}

// Derivative of -X x (R' lambda): R' lambda turns by (R' lambda) x e
static void residual_by_p(double R[3][3], const double *lambda, double *out)
{
    double arm[3];
    rotate_back(R, lambda, arm);
    memset(out, 0, 36 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        double column[3];
        cross(arm, (const double[]){j == 0, j == 1, j == 2}, column);
        cross(top_X, column, column);
        for (int i = 0; i < 3; i++) out[6 * (j + 3) + 3 + i] = -column[i];
    }
}

// gII by omega: -R (e x (omega x X) + omega x (e x X))
static void gII_by_v(double R[3][3], const double *omega, double *out)
{
    double rate[3];
    cross(omega, top_X, rate);
    memset(out, 0, 18 * sizeof *out);
    for (int j = 0; j < 3; j++) {
        const double unit[3] = {j == 0, j == 1, j == 2};
        double       first[3], second[3];
        cross(unit, rate, first);
        cross(unit, top_X, second);
        cross(omega, second, second);
        for (int i = 0; i < 3; i++) first[i] = -first[i] - second[i];
        rotate(R, first, out + 3 * (j + 3));
    }
}

// Derivatives by p are along increments.
static kd_eval top_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    double R[3][3], rate[3], second[3], G[18];
    (void)part;
    matrix_of(x->p + 3, R);
    arm_rates(x->v + 3, x->a + 3, rate, second);
    if (fn == KD_RESIDUAL && var == KD_A) return mass(x, context, out);
    if (fn == KD_RESIDUAL && var == KD_P) residual_by_p(R, x->lambda, out);
    if (fn == KD_RESIDUAL && var == KD_V) residual_by_v(x->v + 3, out);
    if (fn == KD_RESIDUAL && var == KD_LAMBDA) {
        constraint_block(R, 1, top_X, G);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 6; j++) out[6 * i + j] = G[3 * j + i];
    }
    if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A))
        constraint_block(R, 1, top_X, out);
    if (fn == KD_GI && var == KD_P) constraint_block(R, 0, rate, out);
    if (fn == KD_GII && var == KD_P) constraint_block(R, 0, second, out);
    if (fn == KD_GII && var == KD_V) gII_by_v(R, x->v + 3, out);
    return KD_EVAL_OK;
}

void kd_test_heavy_top_solution(double t, kd_state *x)
{
    double y[12], dy[12], R[3][3], rate[3], second[3];
    integrate_body(top_rhs, top_omega0, t, 0.005, y, x->p + 3);
    top_rhs(t, y, dy);
    memcpy(R, y, sizeof R);
    arm_rates(y + 9, dy + 9, rate, second);
    x->t = t;
    rotate(R, top_X, x->p);
    rotate(R, rate, x->v);
    rotate(R, second, x->lambda); // x''
    for (int i = 0; i < 3; i++) {
        x->v[3 + i] = y[9 + i];
        x->lambda[i] = top.m * (field[i] - x->lambda[i]);
    }
}

kd_status kd_test_heavy_top_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = body_def(&top);
    def.title = "heavy top";
    def.dims.nlambda = 3;
    def.residual = top_residual;
    def.f = NULL;
    def.g = top_g;
    def.gI = top_gI;
    def.gII = top_gII;
    def.derivative = top_derivative;
    def.p_increments = true;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    return kd_test_create(&def, kd_test_heavy_top_solution, eom, x);
}
