// redundant.c: mechanisms with more constraints than their motion needs.
#include <string.h>

#include "systems/rotation.h"
#include "systems/systems.h"

static const double gravity = 9.81;

// ---- parallelogram --------------------------------------------------------------------------------------------------
//
// Mass points P1, P2, P3 in space (p = their coordinates) form a rigid triangle that hangs on three parallel links of
// length L from the anchors A_i = corner_i, gravity along -y; z_i = 0 holds it in the plane.
//     g = (|P_i - A_i|^2 - L^2) three times, (|P_i - P_j|^2 - side^2) three times, z_i three times
// In the plane the triangle has three freedoms and three links, but P_i = corner_i + L (sin phi, -cos phi) fits all:
// rank 8 of 9.
//
// Second description: phi'' = -(gravity / L) sin phi, whatever the masses.

enum { NPOINT = 3, NXYZ = 9, NROW = 9 };

static const double corner[NPOINT][3] = {{0, 0, 0}, {1, 0, 0}, {0.4, 0.7, 0}};
static const double point_mass[NPOINT] = {1, 2, 0.5}, link_length = 1;

// Distance rows: between point i and anchor i (j < 0) or point j.
static const struct {
    int i, j;
} distances[6] = {{0, -1}, {1, -1}, {2, -1}, {0, 1}, {1, 2}, {2, 0}};

static kd_eval plate_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    memset(out, 0, NXYZ * NXYZ * sizeof *out);
    for (int i = 0; i < NXYZ; i++) out[i * (NXYZ + 1)] = point_mass[i / 3];
    return KD_EVAL_OK;
}

// y_i - y_j for positions, velocities or accelerations y; for positions anchors count
static void difference(int row, const double *y, const double anchors[][3], double out[3])
{
    const int i = distances[row].i, j = distances[row].j;
    for (int k = 0; k < 3; k++) out[k] = y[3 * i + k] - (j >= 0 ? y[3 * j + k] : anchors ? anchors[i][k] : 0);
}

static double squared_length(int row)
{
    double d[3];
    if (distances[row].j < 0) return link_length * link_length;
    difference(row, corner[0], NULL, d);
    return dot(d, d);
}

static kd_eval plate_g(const kd_point *x, void *context, double *out)
{
    double d[3];
    (void)context;
    for (int row = 0; row < 6; row++) {
        difference(row, x->p, corner, d);
        out[row] = dot(d, d) - squared_length(row);
    }
    for (int i = 0; i < NPOINT; i++) out[6 + i] = x->p[3 * i + 2];
    return KD_EVAL_OK;
}

static kd_eval plate_gI(const kd_point *x, void *context, double *out)
{
    double d[3], v[3];
    (void)context;
    for (int row = 0; row < 6; row++) {
        difference(row, x->p, corner, d);
        difference(row, x->v, NULL, v);
        out[row] = 2 * dot(d, v);
    }
    for (int i = 0; i < NPOINT; i++) out[6 + i] = x->v[3 * i + 2];
    return KD_EVAL_OK;
}

static kd_eval plate_gII(const kd_point *x, void *context, double *out)
{
    double d[3], v[3], a[3];
    (void)context;
    for (int row = 0; row < 6; row++) {
        difference(row, x->p, corner, d);
        difference(row, x->v, NULL, v);
        difference(row, x->a, NULL, a);
        out[row] = 2 * (dot(d, a) + dot(v, v));
    }
    for (int i = 0; i < NPOINT; i++) out[6 + i] = x->a[3 * i + 2];
    return KD_EVAL_OK;
}

// Rows factor (y_i - y_j)' at the columns of P_i, with the other sign at P_j; the last three rows are unit rows or
// zero.
static void plate_rows(double factor, const double *y, const double anchors[][3], double unit, double *out)
{
    double d[3];
    memset(out, 0, NROW * NXYZ * sizeof *out);
    for (int row = 0; row < 6; row++) {
        difference(row, y, anchors, d);
        for (int k = 0; k < 3; k++) {
            out[NROW * (3 * distances[row].i + k) + row] = factor * d[k];
            if (distances[row].j >= 0) out[NROW * (3 * distances[row].j + k) + row] = -factor * d[k];
        }
    }
    for (int i = 0; i < NPOINT; i++) out[NROW * (3 * i + 2) + 6 + i] = unit;
}

static kd_eval plate_residual(const kd_point *x, void *context, double *out)
{
    double G[NROW * NXYZ];
    (void)context;
    plate_rows(2, x->p, corner, 1, G);
    for (int j = 0; j < NXYZ; j++) {
        out[j] = point_mass[j / 3] * (x->a[j] + (j % 3 == 1 ? gravity : 0));
        for (int i = 0; i < NROW; i++) out[j] += G[NROW * j + i] * x->lambda[i];
    }
    return KD_EVAL_OK;
}

static void plate_residual_by_p(const double *lambda, double *out)
{
    memset(out, 0, NXYZ * NXYZ * sizeof *out);
    for (int row = 0; row < 6; row++)
        for (int k = 0; k < 3; k++) {
            const int i = 3 * distances[row].i + k, j = 3 * distances[row].j + k;
            out[NXYZ * i + i] += 2 * lambda[row];
            if (distances[row].j < 0) continue;
            out[NXYZ * j + j] += 2 * lambda[row];
            out[NXYZ * i + j] -= 2 * lambda[row];
            out[NXYZ * j + i] -= 2 * lambda[row];
        }
}

static kd_eval plate_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    double G[NROW * NXYZ];
    (void)part;
    if (fn == KD_RESIDUAL && var == KD_A) return plate_mass(x, context, out);
    if (fn == KD_RESIDUAL && var == KD_P) plate_residual_by_p(x->lambda, out);
    if (fn == KD_RESIDUAL && var == KD_LAMBDA) {
        plate_rows(2, x->p, corner, 1, G);
        for (int i = 0; i < NROW; i++)
            for (int j = 0; j < NXYZ; j++) out[NXYZ * i + j] = G[NROW * j + i];
    }
    if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A))
        plate_rows(2, x->p, corner, 1, out);
    if (fn == KD_GI && var == KD_P) plate_rows(2, x->v, NULL, 0, out);
    if (fn == KD_GII && var == KD_P) plate_rows(2, x->a, NULL, 0, out);
    if (fn == KD_GII && var == KD_V) plate_rows(4, x->v, NULL, 0, out);
    return KD_EVAL_OK;
}

static void plate_rhs(double t, const double *y, double *dy)
{
    (void)t;
    dy[0] = y[1];
    dy[1] = -gravity / link_length * sin(y[0]);
}

void kd_test_parallelogram_solution(double t, kd_state *x)
{
    double y[2] = {0.4, 2.0};
    kd_test_integrate(plate_rhs, 2, t, 0.1, y);
    x->t = t;
    for (int i = 0; i < NPOINT; i++) {
        const double s = sin(y[0]), c = cos(y[0]);
        x->p[3 * i] = corner[i][0] + link_length * s;
        x->p[3 * i + 1] = corner[i][1] - link_length * c;
        x->p[3 * i + 2] = 0;
        x->v[3 * i] = link_length * y[1] * c;
        x->v[3 * i + 1] = link_length * y[1] * s;
        x->v[3 * i + 2] = 0;
    }
}

kd_status kd_test_parallelogram_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "parallelogram with a redundant link";
    def.dims = (kd_dims){.np = NXYZ, .nv = NXYZ, .nlambda = NROW};
    def.residual = plate_residual;
    def.M = plate_mass;
    def.g = plate_g;
    def.gI = plate_gI;
    def.gII = plate_gII;
    def.derivative = plate_derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_parallelogram_solution, eom, x);
}

// ---- Bricard mechanism ----------------------------------------------------------------------------------------------
//
// Five rods of 1 m and 1 kg (cross section 0.1 m square) in a chain P1 .. P6, joined to each other and at both ends to
// the ground by revolute joints with axes y, z, x, y, z, x; gravity along -y. IFToMM library of benchmarks, problem
// A04. Each rod has p = (centre of mass, unit quaternion), v = (velocity, omega in the body); body frames are parallel
// to the world at t = 0.
//     joint: 0 = P_b - P_a, 0 = (R_a u).(R_b n1), 0 = (R_a u).(R_b n2), axis u, n1 and n2 normal to it
//
// Second description: joint angles (alpha, beta, alpha, beta, alpha), beta = -asin(sin(alpha) / (1 + sin(alpha))),
// kinetic energy I(alpha) alpha'^2 / 2, potential V(alpha), from rest at alpha = 0:
//     I alpha'' + I' alpha'^2 / 2 + V' = 0

enum { NROD = 5, NJOINT = 6, GROUND = -1 };

static const double rod_mass = 1, rod_width = 0.1;
static const double chain[NJOINT][3] = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}};
static const int    axis_of[NJOINT] = {1, 2, 0, 1, 2, 0};

static void unit(int k, double out[3])
{
    out[0] = k == 0, out[1] = k == 1, out[2] = k == 2;
}

// From the start of rod i to its end, at alpha = 0
static void rod_vector(int i, double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = chain[i + 1][k] - chain[i][k];
}

// Inertia about axis k of rod i: m w^2/6 along the rod, m (L^2 + w^2)/12 across
static double rod_inertia(int i, int k)
{
    double along[3];
    rod_vector(i, along);
    return along[k] != 0 ? rod_mass * rod_width * rod_width / 6 : rod_mass * (1 + rod_width * rod_width) / 12;
}

static kd_eval rods_kinematics(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < NROD; i++) {
        memcpy(out + 7 * i, x->v + 6 * i, 3 * sizeof *out);
        quaternion_rate(x->p + 7 * i + 3, x->v + 6 * i + 3, out + 7 * i + 3);
    }
    return KD_EVAL_OK;
}

static kd_eval rods_oplus(const double *p, const double *e, void *context, double *moved)
{
    (void)context;
    for (int i = 0; i < NROD; i++) {
        for (int k = 0; k < 3; k++) moved[7 * i + k] = p[7 * i + k] + e[6 * i + k];
        quaternion_turn(p + 7 * i + 3, e + 6 * i + 3, moved + 7 * i + 3);
    }
    return KD_EVAL_OK;
}

static kd_eval rods_norm(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < NROD; i++) {
        const double *q = x->p + 7 * i + 3;
        out[i] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1;
    }
    return KD_EVAL_OK;
}

static kd_eval rods_mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    memset(out, 0, 36 * NROD * NROD * sizeof *out);
    for (int i = 0; i < NROD; i++)
        for (int k = 0; k < 3; k++) {
            out[(6 * i + k) * (6 * NROD + 1)] = rod_mass;
            out[(6 * i + 3 + k) * (6 * NROD + 1)] = rod_inertia(i, k);
        }
    return KD_EVAL_OK;
}

static kd_eval rods_f(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < NROD; i++) {
        const double *omega = x->v + 6 * i + 3;
        double        spin[3];
        for (int k = 0; k < 3; k++) spin[k] = rod_inertia(i, k) * omega[k];
        cross(spin, omega, out + 6 * i + 3);
        out[6 * i] = out[6 * i + 2] = 0;
        out[6 * i + 1] = -rod_mass * gravity;
    }
    return KD_EVAL_OK;
}

// World vector R r with its first and second time derivatives R (omega x r), R (alpha x r + omega x (omega x r))
static void moving_vector(const kd_point *x, int i, const double r[3], int level, double out[3])
{
    double R[3][3], turn[3], spin[3];
    if (i == GROUND) {
        for (int k = 0; k < 3; k++) out[k] = level == 0 ? r[k] : 0;
        return;
    }
    matrix_of(x->p + 7 * i + 3, R);
    if (level == 0) {
        rotate(R, r, out);
        return;
    }
    cross(x->v + 6 * i + 3, r, turn);
    if (level == 2) {
        cross(x->v + 6 * i + 3, turn, spin);
        cross(x->a + 6 * i + 3, r, turn);
        for (int k = 0; k < 3; k++) turn[k] += spin[k];
    }
    rotate(R, turn, out);
}

// Point of rod i that is joint j (or the ground's), its velocity or acceleration
static void joint_point(const kd_point *x, int i, int j, int level, double out[3])
{
    double r[3];
    if (i == GROUND) {
        for (int k = 0; k < 3; k++) out[k] = level == 0 ? chain[j][k] : 0;
        return;
    }
    rod_vector(i, r);
    for (int k = 0; k < 3; k++) r[k] *= j == i ? -0.5 : 0.5; // seen from the centre
    moving_vector(x, i, r, level, out);
    const double *centre = level == 0 ? x->p + 7 * i : level == 1 ? x->v + 6 * i : x->a + 6 * i;
    for (int k = 0; k < 3; k++) out[k] += centre[k];
}

// Derivative of order level of (R_a u).(R_b n)
static double axis_row(const kd_point *x, int a, int b, const double u[3], const double n[3], int level)
{
    static const double binomial[3][3] = {{1, 0, 0}, {1, 1, 0}, {1, 2, 1}};
    double              sum = 0;
    for (int m = 0; m <= level; m++) {
        double left[3], right[3];
        moving_vector(x, a, u, m, left);
        moving_vector(x, b, n, level - m, right);
        sum += binomial[level][m] * dot(left, right);
    }
    return sum;
}

static void joints(const kd_point *x, int level, double *out)
{
    for (int j = 0; j < NJOINT; j++) {
        const int a = j - 1, b = j < NROD ? j : GROUND; // a is GROUND for the first joint
        double    from[3], to[3], u[3], n1[3], n2[3];
        joint_point(x, a, j, level, from);
        joint_point(x, b, j, level, to);
        for (int k = 0; k < 3; k++) out[5 * j + k] = to[k] - from[k];
        unit(axis_of[j], u);
        unit((axis_of[j] + 1) % 3, n1);
        unit((axis_of[j] + 2) % 3, n2);
        out[5 * j + 3] = axis_row(x, a, b, u, n1, level);
        out[5 * j + 4] = axis_row(x, a, b, u, n2, level);
    }
}

static kd_eval rods_g(const kd_point *x, void *context, double *out)
{
    (void)context;
    joints(x, 0, out);
    return KD_EVAL_OK;
}

static kd_eval rods_gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    joints(x, 1, out);
    return KD_EVAL_OK;
}

static kd_eval rods_gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    joints(x, 2, out);
    return KD_EVAL_OK;
}

static kd_eval rods_energies(const kd_point *x, void *context, kd_energies *out)
{
    (void)context;
    *out = (kd_energies){0};
    for (int i = 0; i < NROD; i++) {
        const double *v = x->v + 6 * i;
        out->kinetic += 0.5 * rod_mass * dot(v, v);
        for (int k = 0; k < 3; k++) out->kinetic += 0.5 * rod_inertia(i, k) * v[3 + k] * v[3 + k];
        out->potential += rod_mass * gravity * x->p[7 * i + 1];
    }
    return KD_EVAL_OK;
}

// p and v (for alpha' = rate) of the chain
static void chain_at(double alpha, double rate, double *p, double *v)
{
    const double s = sin(alpha), beta = -asin(s / (1 + s));
    const double by_alpha = -cos(alpha) / ((1 + s) * (1 + s) * cos(beta));
    double       q[4] = {1, 0, 0, 0}, omega[3] = {0}, P[3] = {0}, dP[3] = {0};
    for (int i = 0; i < NROD; i++) {
        const double angle = i % 2 ? beta : alpha, speed = i % 2 ? by_alpha * rate : rate;
        double       R[3][3], turn[3], r[3], u[3], arm[3], move[3];
        // the frame turns about its own joint axis; the rate before, seen from the new frame, plus that of the joint
        unit(axis_of[i], u);
        for (int k = 0; k < 3; k++) turn[k] = u[k] * angle;
        quaternion_turn((double[]){1, 0, 0, 0}, turn, p + 7 * i + 3);
        matrix_of(p + 7 * i + 3, R);
        rotate_back(R, omega, omega);
        for (int k = 0; k < 3; k++) omega[k] += u[k] * speed;
        quaternion_turn(q, turn, q);
        matrix_of(q, R);
        rod_vector(i, r);
        rotate(R, r, arm);
        cross(omega, r, move);
        rotate(R, move, move);
        for (int k = 0; k < 3; k++) {
            p[7 * i + k] = P[k] + 0.5 * arm[k];
            v[6 * i + k] = dP[k] + 0.5 * move[k];
            v[6 * i + 3 + k] = omega[k];
            P[k] += arm[k];
            dP[k] += move[k];
        }
        memcpy(p + 7 * i + 3, q, sizeof q);
    }
}

// I(alpha) and V(alpha)
static void reduced(double alpha, double *I, double *V)
{
    double         p[7 * NROD], v[6 * NROD];
    const kd_point x = {.p = p, .v = v};
    kd_energies    e;
    chain_at(alpha, 1, p, v);
    (void)rods_energies(&x, NULL, &e); // cannot fail
    *I = 2 * e.kinetic;
    *V = e.potential;
}

// I' and V' by differences of order six
static void rods_rhs(double t, const double *y, double *dy)
{
    static const double weight[3] = {45.0 / 60, -9.0 / 60, 1.0 / 60}, h = 5e-3;
    double              I, V, dI = 0, dV = 0;
    (void)t;
    for (int m = 1; m <= 3; m++) {
        double right, left, up, down;
        reduced(y[0] + m * h, &right, &up);
        reduced(y[0] - m * h, &left, &down);
        dI += weight[m - 1] * (right - left) / h;
        dV += weight[m - 1] * (up - down) / h;
    }
    reduced(y[0], &I, &V);
    dy[0] = y[1];
    dy[1] = -(0.5 * dI * y[1] * y[1] + dV) / I;
}

void kd_test_bricard_solution(double t, kd_state *x)
{
    double y[2] = {0, 0};
    kd_test_integrate(rods_rhs, 2, t, 0.05, y);
    x->t = t;
    chain_at(y[0], y[1], x->p, x->v);
}

kd_status kd_test_bricard_create(kd_eom **eom, kd_state **x)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "Bricard mechanism";
    def.dims = (kd_dims){.np = 7 * NROD, .nv = 6 * NROD, .nq = NROD, .nlambda = 5 * NJOINT};
    def.kinematics = rods_kinematics;
    def.oplus = rods_oplus;
    def.q = rods_norm;
    def.M = rods_mass;
    def.f = rods_f;
    def.g = rods_g;
    def.gI = rods_gI;
    def.gII = rods_gII;
    def.energies = rods_energies;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    return kd_test_create(&def, kd_test_bricard_solution, eom, x);
}
