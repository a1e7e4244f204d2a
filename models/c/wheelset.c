// wheelset.c: rigid wheelset on a straight track, index 3: hunting motion between rails of circular profile.
//
//     p = (x lateral, y vertical, z longitudinal, theta yaw, phi roll, gamma pitch), all relative to a frame that moves
//     with the speed V, gamma relative to the angle (V / r0) t; om = V / r0 + gamma'
//     s = (psiL, xiL, psiR, xiR): angle and lateral coordinate of each contact point on its wheel
//     wheel R(xi) = r0 + tan(delta0) (ar - |xi|),   rail S(x) = T(x) - r0 - rs cos(delta0),
//     T = sqrt(rs^2 - (|x| - ar - rs sin(delta0))^2),   x_c = x + xi ct cp + R (ct sp cs - st ss)
//     g  = S(x_c) - y - xi sp + R cp cs                                 the wheel touches the rail,
//     c1 = S' (R' sp + cp cs) + R' ct cp - ct sp cs + st ss             in a point where both have one tangent plane
//     c2 = R' st cp - st sp cs - ct ss
//     (st, ct: theta; sp, cp: phi; ss, cs: psi)
//
// Linear springs, creep forces of both contacts with Kalker's coefficients, saturated by tanh and by mu N. They depend
// on the normal forces N, and these on the multipliers: f = f(.., lambda).
//
// Source: Test Set for Initial Value Problem Solvers (Amsterdam, Bari), problem "wheel", from C. Fuehrer; B. Simeon,
// C. Fuehrer, P. Rentrop, Surv. Math. Ind. 1 (1991) 1-37. Differences in writing:
// - The source has the pitch rate beta = gamma' as a state of its own whose equation contains theta''. Here the angle
//   gamma is a sixth coordinate on which nothing depends: beta is then a velocity, the coupling stands in the mass
//   matrix, and the wheelset has its six coordinates (S1 section 4). As inner state r with r' = b it would need theta''
//   solved for in b.
// - Yaw and pitch rows are combined to Lagrange's form, cp (yaw) + sp (pitch), which makes M symmetric.
// - Multipliers are forces in newton with kardan's sign: lambda = -1e4 of the source's.
// - The source leaves out a factor 1 / cos(phi) of the constraint moment in the yaw row (1e-6 of it). So do we, to have
//   the same motion; the difference is a part of f(lambda).
//
// Derivatives are those of the same code in dual numbers (dual.h); gI and gII are coefficients of Taylor series along
// the motion, with s following 0 = c.
#include "dual.h"
#include "gallery.h"
#include "support.h"
#include <math.h>

#define MASS 16.08   // mR [kg]
#define GRAVITY 9.81 // [m/s^2]
#define SPEED 30.0   // V [m/s]
#define RADIUS 0.1   // r0, nominal rolling radius [m]
#define PITCH_INERTIA 0.0605
#define INERTIA 0.366    // roll and yaw [kg m^2]
#define FRICTION 0.12    // mu
#define HALF_BASE 0.19   // xl: springs, from the middle of the axle [m]
#define STIFFNESS 6400.0 // cx = cz [N/m], one side
#define ELLIPSE_E 1.3537956
#define ELLIPSE_G 0.7115218
#define POISSON 0.28
#define SHEAR 7.92e10 // modulus [N/m^2]
#define C11 4.72772197
#define C22 4.27526987
#define C23 1.97203505
#define CONICITY 0.0262 // delta0
#define HALF_GAUGE 0.1506
#define RAIL 0.06    // rs, radius of the rail's profile [m]
#define PI 3.1415926 // as the source has it

enum { NP = 6, NS = 4, NG = 2, ORDER = 2 };
enum { X, Y, Z, THETA, PHI, GAMMA };

typedef kd_dual number;

// A point with one variable moved.
typedef struct point {
    number p[NP], v[NP], a[NP], s[NS], lambda[NG];
} point;

// ---- Taylor series c0 + c1 tau + c2 tau^2, up to an order; the rest of the coefficients means nothing ---------------

typedef struct series {
    number c[ORDER + 1];
} series;

static inline series sum(int order, series a, double factor, series b) // a + factor b
{
    for (int k = 0; k <= order; k++) a.c[k] += factor * b.c[k];
    return a;
}

static inline series product(int order, series a, series b)
{
    series y;
    y.c[0] = a.c[0] * b.c[0];
    if (order > 0) y.c[1] = a.c[0] * b.c[1] + a.c[1] * b.c[0];
    if (order > 1) y.c[2] = a.c[0] * b.c[2] + a.c[1] * b.c[1] + a.c[2] * b.c[0];
    return y;
}

// f(a) with f, f', f'' at a0 known
static inline series compose(int order, series a, number f, number df, number ddf)
{
    series y;
    y.c[0] = f;
    if (order > 0) y.c[1] = df * a.c[1];
    if (order > 1) y.c[2] = df * a.c[2] + 0.5 * ddf * a.c[1] * a.c[1];
    return y;
}

static inline void sine_cosine(int order, series a, series *sine, series *cosine)
{
    const double value = sin(creal(a.c[0])), slope = cos(creal(a.c[0]));
    const number s = kd_dual_lift(a.c[0], value, slope), c = kd_dual_lift(a.c[0], slope, -value);
    *sine = compose(order, a, s, c, -s);
    *cosine = compose(order, a, c, -s, -c);
}

// ---- contact geometry -----------------------------------------------------------------------------------------------

enum { LEFT, RIGHT, SIDES };
static const double side_sign[SIDES] = {1, -1}; // of xi and of x at the contact

// Rail profile and its first three derivatives
typedef struct rail {
    number S, dS, ddS, dddS;
} rail;

static rail rail_at(double side, number x)
{
    const number u = side * x - HALF_GAUGE - RAIL * sin(CONICITY), T = kd_dual_sqrt(RAIL * RAIL - u * u);
    const number ddS = -RAIL * RAIL / (T * T * T);
    return (rail){
        .S = T - RADIUS - RAIL * cos(CONICITY), .dS = -side * u / T, .ddS = ddS, .dddS = 3 * ddS * side * u / (T * T)};
}

// g, c1, c2 as series of q = (x, y, theta, phi, psi, xi)
static inline void contact(int n, int k, const series q[6], series out[3])
{
    const double side = side_sign[k], slope = -side * tan(CONICITY);
    const series zero = {{0}};
    series       st, ct, sp, cp, ss, cs, R = {{RADIUS + tan(CONICITY) * HALF_GAUGE}};
    sine_cosine(n, q[2], &st, &ct);
    sine_cosine(n, q[3], &sp, &cp);
    sine_cosine(n, q[4], &ss, &cs);
    R = sum(n, R, slope, q[5]);
    const series spcs = product(n, sp, cs), cpcs = product(n, cp, cs), stss = product(n, st, ss);
    const series turned = sum(n, product(n, ct, spcs), -1, stss);  // ct sp cs - st ss
    const series tilt = sum(n, sum(n, zero, -1, spcs), slope, cp); // R' cp - sp cs
    const series lateral = sum(n, product(n, q[5], product(n, ct, cp)), 1, product(n, R, turned));
    const series x = sum(n, q[0], 1, lateral);
    const rail   r = rail_at(side, x.c[0]);
    const series S = compose(n, x, r.S, r.dS, r.ddS), dS = compose(n, x, r.dS, r.ddS, r.dddS);
    out[0] = sum(n, sum(n, sum(n, S, -1, q[1]), -1, product(n, q[5], sp)), 1, product(n, R, cpcs));
    out[1] = sum(n, sum(n, product(n, dS, sum(n, cpcs, slope, sp)), 1, product(n, ct, tilt)), 1, stss);
    out[2] = sum(n, product(n, st, tilt), -1, product(n, ct, ss));
}

// The same with orders that the compiler knows
static void contact_point(int k, const series q[6], series out[3])
{
    contact(0, k, q, out);
}

static void contact_rate(int k, const series q[6], series out[3])
{
    contact(1, k, q, out);
}

static void contact_curve(int k, const series q[6], series out[3])
{
    contact(2, k, q, out);
}

static void start_series(const point *x, int k, series q[6])
{
    const number at[6] = {x->p[X], x->p[Y], x->p[THETA], x->p[PHI], x->s[2 * k], x->s[2 * k + 1]};
    for (int i = 0; i < 6; i++) q[i] = (series){{at[i]}};
}

// Solution of (J y)_i = -c_i, J = c_s
static void solve2(number J[2][2], const number c[2], number y[2])
{
    const number det = J[0][0] * J[1][1] - J[0][1] * J[1][0];
    y[0] = (J[0][1] * c[1] - J[1][1] * c[0]) / det;
    y[1] = (J[1][0] * c[0] - J[0][0] * c[1]) / det;
}

// gI (level 1) or gII (level 2) of one side: g along the motion, s by c(p(tau), s(tau)) = constant
static number level_of(int level, const point *x, int k)
{
    static const int index[4] = {X, Y, THETA, PHI};
    series           q[6], out[3];
    number           J[2][2], g_s[2], ds[2], value = 0;
    for (int j = 0; j < 2; j++) {
        start_series(x, k, q);
        q[4 + j].c[1] = 1;
        contact_rate(k, q, out);
        g_s[j] = out[0].c[1];
        J[0][j] = out[1].c[1];
        J[1][j] = out[2].c[1];
    }
    start_series(x, k, q);
    for (int i = 0; i < 4; i++) q[i].c[1] = x->v[index[i]], q[i].c[2] = level == 2 ? 0.5 * x->a[index[i]] : 0;
    for (int n = 1; n <= level; n++) {
        if (n == 1) contact_rate(k, q, out);
        if (n == 2) contact_curve(k, q, out);
        solve2(J, (number[]){out[1].c[n], out[2].c[n]}, ds);
        value = out[0].c[n] + g_s[0] * ds[0] + g_s[1] * ds[1];
        q[4].c[n] = ds[0];
        q[5].c[n] = ds[1];
    }
    return level == 2 ? 2 * value : value;
}

// ---- forces ---------------------------------------------------------------------------------------------------------

typedef struct wheel {
    double side, slope;
    number ss, cs, xi, R, dS, ddS;
    number Q[5];       // g by x, y, z, theta, phi at c = 0
    number cosd, sind; // contact angle
} wheel;

typedef struct angles {
    number st, ct, sp, cp;
} angles;

static wheel wheel_at(const point *x, const angles *q, int k)
{
    wheel w = {.side = side_sign[k], .slope = -side_sign[k] * tan(CONICITY), .xi = x->s[2 * k + 1]};
    w.ss = kd_dual_sin(x->s[2 * k]);
    w.cs = kd_dual_cos(x->s[2 * k]);
    w.R = RADIUS + tan(CONICITY) * HALF_GAUGE + w.slope * w.xi;
    const number st = q->st, ct = q->ct, sp = q->sp, cp = q->cp;
    const rail   r = rail_at(w.side, x->p[X] + w.xi * ct * cp + w.R * (ct * sp * w.cs - st * w.ss));
    w.dS = r.dS, w.ddS = r.ddS;
    w.Q[0] = r.dS;
    w.Q[1] = -1;
    w.Q[2] = 0;
    w.Q[3] = r.dS * (-w.R * (ct * w.ss + w.cs * sp * st) - cp * st * w.xi);
    w.Q[4] = -w.cs * w.R * sp - cp * w.xi + r.dS * (cp * w.cs * ct * w.R - ct * sp * w.xi);
    const number tangent = -w.side * ((w.slope * cp - sp * w.cs) * ct + w.ss * st) / (w.slope * sp + w.cs * cp);
    w.cosd = 1 / kd_dual_sqrt(1 + tangent * tangent);
    w.sind = tangent * w.cosd;
    return w;
}

// N of both sides from the constraint force W = -(Q' lambda) in x and y
static void normal_forces(const wheel w[SIDES], const number W[5], number N[SIDES])
{
    const number D = -w[LEFT].sind * w[RIGHT].cosd - w[RIGHT].sind * w[LEFT].cosd;
    N[LEFT] = (w[RIGHT].cosd * W[0] - w[RIGHT].sind * W[1]) / D;
    N[RIGHT] = (-w[LEFT].cosd * W[0] - w[LEFT].sind * W[1]) / D;
}

// Semi-axis of the contact ellipse (geometric mean), Hertz
static number contact_size(const wheel *w, number N)
{
    const number a = 1 / (2 * w->R * sqrt(1 + w->slope * w->slope)), steep = 1 + w->dS * w->dS;
    const number b = -w->ddS / (2 * steep * kd_dual_sqrt(steep));
    return kd_dual_cbrt(3 * kd_dual_abs(N) * (1 - POISSON) * ELLIPSE_E / (2 * PI * (a + b) * SHEAR * sqrt(ELLIPSE_G)));
}

// Longitudinal, lateral and spin creepage
static void creepages(const point *x, const angles *q, const wheel *w, number sn, number cn, number nu[3])
{
    const number *v = x->v, om = SPEED / RADIUS + v[GAMMA], sp = q->sp, cp = q->cp, xi = w->xi, R = w->R;
    const number  lift = xi * sp - R * cp * w->cs;
    const number  w1 = -om * R * (sn * w->cs + cn * sp * w->ss) + v[X] -
                      v[THETA] * (R * (sn * sp * w->cs + cn * w->ss) + xi * sn * cp) - v[PHI] * cn * lift;
    const number w2 = om * R * cp * w->ss + v[Y] + v[PHI] * (xi * cp + R * sp * w->cs);
    const number w3 = -om * R * (cn * w->cs - sn * sp * w->ss) + SPEED + v[Z] -
                      v[THETA] * (xi * cn * cp + R * (cn * sp * w->cs - sn * w->ss)) + v[PHI] * sn * lift;
    const number u1 = w1 - 2 * v[X], u2 = w2 - 2 * v[Y], u3 = w3 - 2 * v[Z] - 2 * SPEED;
    const number vr = 0.5 * kd_dual_sqrt(u1 * u1 + u2 * u2 + u3 * u3);
    nu[0] = (sn * w1 + cn * w3) / vr;
    nu[1] = (cn * w->cosd * w1 + w->side * w->sind * w2 - sn * w->cosd * w3) / vr;
    nu[2] = (-w->side * w->sind * om + w->cosd * v[THETA]) / vr;
}

// Creep force T in x, y, z; none without normal force
static void creep_force(const point *x, const angles *q, const wheel *w, number N, number T[3])
{
    number nu[3];
    T[0] = T[1] = T[2] = 0;
    if (creal(N) == 0) return;
    const number turn = x->p[THETA] / w->cosd, sn = kd_dual_sin(turn), cn = kd_dual_cos(turn);
    const number c = contact_size(w, N), limit = FRICTION * N;
    creepages(x, q, w, sn, cn, nu);
    number       tx = -limit * kd_dual_tanh(SHEAR * c * c * C11 * nu[0] / limit);
    number       ty = -limit * kd_dual_tanh(SHEAR * c * c * (C22 * nu[1] + c * C23 * nu[2]) / limit);
    const number square = tx * tx + ty * ty, most = limit * limit;
    if (creal(square) > creal(most)) { // a kink: no more than mu N together
        const number factor = kd_dual_sqrt(most / square);
        tx *= factor, ty *= factor;
    }
    T[0] = sn * tx + cn * w->cosd * ty;
    T[1] = w->side * w->sind * ty;
    T[2] = cn * tx - sn * w->cosd * ty;
}

// Forces and moments (roll, and along the source's yaw and pitch axes) of one creep force
static void add_creep(const wheel *w, const angles *q, const number T[3], number f[NP])
{
    const number st = q->st, ct = q->ct, sp = q->sp, cp = q->cp, ss = w->ss, cs = w->cs, xi = w->xi, R = w->R;
    for (int i = 0; i < 3; i++) f[i] += T[i];
    f[THETA] += -(xi * st + R * ss * ct * cp) * T[0] - R * ss * sp * T[1] + (-xi * ct + R * ss * st * cp) * T[2];
    f[PHI] += -(xi * ct * sp - R * cs * ct * cp) * T[0] + (xi * cp + R * cs * sp) * T[1] +
              (xi * st * sp - R * cs * st * cp) * T[2];
    f[GAMMA] += -R * (cs * st + ss * ct * sp) * T[0] + R * ss * cp * T[1] - R * (cs * ct - ss * st * sp) * T[2];
}

// M a - f + G' lambda in six rows
static void residual_of(const point *x, number out[NP])
{
    const angles  q = {.st = kd_dual_sin(x->p[THETA]),
                       .ct = kd_dual_cos(x->p[THETA]),
                       .sp = kd_dual_sin(x->p[PHI]),
                       .cp = kd_dual_cos(x->p[PHI])};
    const number *p = x->p, *v = x->v, *a = x->a, om = SPEED / RADIUS + v[GAMMA];
    const number  springs = -2 * HALF_BASE * HALF_BASE * STIFFNESS * p[THETA]; // moment about the vertical axis
    const wheel   w[SIDES] = {wheel_at(x, &q, LEFT), wheel_at(x, &q, RIGHT)};
    number        W[5], N[SIDES], T[3], f[NP];
    for (int i = 0; i < 5; i++) W[i] = -(w[LEFT].Q[i] * x->lambda[LEFT] + w[RIGHT].Q[i] * x->lambda[RIGHT]);
    normal_forces(w, W, N);
    f[X] = W[0] - 2 * STIFFNESS * p[X];
    f[Y] = W[1] - MASS * GRAVITY;
    f[Z] = W[2] - 2 * STIFFNESS * p[Z];
    f[THETA] =
        W[3] + q.cp * springs + (2 * INERTIA - PITCH_INERTIA) * v[THETA] * v[PHI] * q.sp - PITCH_INERTIA * om * v[PHI];
    f[PHI] =
        W[4] + PITCH_INERTIA * om * v[THETA] * q.cp + (PITCH_INERTIA - INERTIA) * v[THETA] * v[THETA] * q.sp * q.cp;
    f[GAMMA] = q.sp * springs - PITCH_INERTIA * v[THETA] * v[PHI] * q.cp;
    for (int k = 0; k < SIDES; k++) {
        creep_force(x, &q, &w[k], N[k], T);
        add_creep(&w[k], &q, T, f);
    }
    for (int i = 0; i < 3; i++) out[i] = MASS * a[i] - f[i];
    out[PHI] = INERTIA * a[PHI] - f[PHI];
    out[GAMMA] = PITCH_INERTIA * (a[GAMMA] + q.sp * a[THETA]) - f[GAMMA];
    out[THETA] = q.cp * (INERTIA * q.cp * a[THETA] - f[THETA]) + q.sp * out[GAMMA];
}

// ---- equations ------------------------------------------------------------------------------------------------------

static int rows_of(kd_fn fn)
{
    return fn == KD_RESIDUAL ? NP : fn == KD_C ? NS : NG;
}

static void evaluate(kd_fn fn, const point *x, number *out)
{
    if (fn == KD_RESIDUAL) {
        residual_of(x, out);
        return;
    }
    for (int k = 0; k < SIDES; k++) {
        series q[6], value[3];
        if (fn == KD_GI || fn == KD_GII) {
            out[k] = level_of(fn == KD_GI ? 1 : 2, x, k);
            continue;
        }
        start_series(x, k, q);
        contact_point(k, q, value);
        if (fn == KD_G) out[k] = value[0].c[0];
        if (fn == KD_C) out[2 * k] = value[1].c[0], out[2 * k + 1] = value[2].c[0];
    }
}

static void take(int n, const double *from, number *to)
{
    for (int i = 0; i < n; i++) to[i] = from ? from[i] : 0;
}

// Only what the stage of fn has is read.
static point point_of(const kd_point *x, kd_fn fn)
{
    point y = {0};
    take(NP, x->p, y.p);
    take(NS, x->s, y.s);
    if (fn == KD_GI || fn == KD_GII || fn == KD_RESIDUAL) take(NP, x->v, y.v);
    if (fn == KD_GII || fn == KD_RESIDUAL) take(NP, x->a, y.a);
    if (fn == KD_RESIDUAL) take(NG, x->lambda, y.lambda);
    return y;
}

static kd_eval value(const kd_point *x, kd_fn fn, double *out)
{
    const point y = point_of(x, fn);
    number      f[NP];
    evaluate(fn, &y, f);
    for (int i = 0; i < rows_of(fn); i++) out[i] = creal(f[i]);
    return KD_EVAL_OK;
}

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    (void)context;
    return value(x, KD_RESIDUAL, out);
}

static kd_eval c(const kd_point *x, void *context, double *out)
{
    (void)context;
    return value(x, KD_C, out);
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    (void)context;
    return value(x, KD_G, out);
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    return value(x, KD_GI, out);
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    return value(x, KD_GII, out);
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const double sp = sin(x->p[PHI]), cp = cos(x->p[PHI]);
    (void)context;
    for (int i = 0; i < 3; i++) *kd_entry(out, NP, i, i) = MASS;
    *kd_entry(out, NP, THETA, THETA) = INERTIA * cp * cp + PITCH_INERTIA * sp * sp;
    *kd_entry(out, NP, PHI, PHI) = INERTIA;
    *kd_entry(out, NP, GAMMA, GAMMA) = PITCH_INERTIA;
    *kd_entry(out, NP, THETA, GAMMA) = *kd_entry(out, NP, GAMMA, THETA) = PITCH_INERTIA * sp;
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// Columns without entries: nothing depends on gamma; contacts do not know z and gamma', forces not the height y.
static bool is_empty(kd_fn fn, kd_var var, int j)
{
    if (var == KD_S || var == KD_LAMBDA) return false;
    if (fn == KD_RESIDUAL) return var == KD_P && (j == GAMMA || j == Y);
    return j == Z || j == GAMMA;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    if (fn == KD_RESIDUAL && var == KD_A) return mass(x, context, out);
    if (fn == KD_GII && var == KD_A) fn = KD_GI, var = KD_V; // both are G
    point     y = point_of(x, fn);
    number    f[NP], *moved = var == KD_P        ? y.p
                              : var == KD_V      ? y.v
                              : var == KD_A      ? y.a
                              : var == KD_S      ? y.s
                              : var == KD_LAMBDA ? y.lambda
                                                 : NULL;
    const int columns = var == KD_S ? NS : var == KD_LAMBDA ? NG : NP, rows = rows_of(fn);
    (void)part; // everything is stiff
    if (!moved) return KD_EVAL_STOP;
    for (int j = 0; j < columns; j++) {
        const number kept = moved[j];
        if (is_empty(fn, var, j)) continue;
        moved[j] = kd_dual_of(creal(kept), KD_DUAL_STEP);
        evaluate(fn, &y, f);
        moved[j] = kept;
        for (int i = 0; i < rows; i++) *kd_entry(out, rows, i, j) = cimag(f[i]) / KD_DUAL_STEP;
    }
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"lateral displacement", "height", "lag", "yaw", "roll", "pitch deviation"};
    static const char *const v[] = {"lateral velocity", "vertical velocity", "lag rate",
                                    "yaw rate",         "roll rate",         "pitch rate deviation"};
    static const char *const s[] = {"left contact angle", "left contact position", "right contact angle",
                                    "right contact position"};
    static const char *const lambda[] = {"left wheel on rail", "right wheel on rail"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_V:
        return KD_NAME_OF(v, i);
    case KD_NAME_S:
        return KD_NAME_OF(s, i);
    case KD_NAME_LAMBDA:
        return KD_NAME_OF(lambda, i);
    default:
        return NULL;
    }
}

// ---- example --------------------------------------------------------------------------------------------------------

// The published start satisfies g = 0 to 5e-10; y and phi are moved to satisfy it, s to satisfy c = 0.
static kd_status create(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const double   p[NP] = {1.4941e-3, 4.0091045968125794e-07, 1.1241e-6, -2.8573e-4, 2.6459345878908289e-04, 0};
    static const double   s[NS] = {7.5634416277902384e-06, 0.14906357092004156, -7.4122370474800642e-06,
                                   -0.1521364301654574};
    static const double   lambda[NG] = {83.591840262554356, 74.145528261581347};
    static const double   a[NP] = {-1.9752571620323243, -0.0010665870311165424, 0.078839408598220556,
                                   -5.5333732383847192, -0.34980266155469825,   -2.1325521144284476};
    static const unsigned pvs = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_S);
    kd_eom_def            def = kd_eom_def_default();
    def.title = "rigid wheelset on a straight track";
    def.dims = (kd_dims){.np = NP, .nv = NP, .ns = NS, .nlambda = NG};
    def.residual = residual;
    def.M = mass;
    def.c = c;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = pvs | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.given[KD_C] = KD_BIT(KD_P) | KD_BIT(KD_S);
    def.given[KD_G] = KD_BIT(KD_P) | KD_BIT(KD_S);
    def.given[KD_GI] = pvs;
    def.given[KD_GII] = pvs | KD_BIT(KD_A);
    def.force_of_multipliers = true;
    def.autonomous = true;
    def.name = name;
    if (inputs) *inputs = (kd_inputs){0};
    return kd_gallery_create(&def, &(kd_start){.p = p, .s = s, .lambda = lambda, .a = a}, eom, x);
}

// clang-format off
// [p v s lambda] at t = 10 from this start: index-1 form with projection in 64-bit-mantissa arithmetic, explicit
// Runge-Kutta method of order 5, local errors of 2e-14 and 1e-12 of the amplitudes agree to 1e-9 everywhere. From the
// published start the same program gives the published end to 5 to 8 digits, that is, to the accuracy of the latter.
static const double reference[2 * NP + NS + NG] = {
    0.0086355409092038517, 1.303839567634665e-05, -9.3635936216399931e-05,
    -0.013642287797328075, 0.0015292933506490022, -1.7727087009379794,
    -0.07698496352256691, -0.00025151013952919547, 0.0020541071878082896,
    -0.23904884896797676, -0.013633395745847208, -0.24421352089811249,
    0.0003783958633532646, 0.14173214679502566, -0.00033666717082238555, -0.15949425964400402,
    101.24047853894984, 56.285599742960358,
};
// clang-format on

const kd_example kd_example_wheelset = {
    .name = "wheelset",
    .title = "rigid wheelset hunting on a straight track",
    .about =
        "Contact coordinates, creep forces that depend on multipliers, the example of S1 section 4. Source: Test "
        "Set for Initial Value Problem Solvers, problem wheel; multipliers here are forces with the opposite sign.",
    .t_end = 10,
    .create = create,
    .reference = reference,
    .digits = 9,
};
