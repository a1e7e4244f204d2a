// andrews.c: Andrews' squeezing mechanism, seven bodies, three loops, index 3.
//
//     p = (beta, Theta, gamma, Phi, delta, Omega, eps),   M(p) v' = f(p, v) - G' lambda,   0 = g(p)
//     M11 = J11 - 2 c1 cos Theta,  M21 = J21 - c1 cos Theta,  M22 = J22,  M33 = J33
//     M44 = J44,  M54 = J44 + c4 sin Phi,    M55 = J55 + 2 c4 sin Phi
//     M66 = J66,  M76 = J66 - c6 sin Omega,  M77 = J77 - 2 c6 sin Omega
//     f1 = mom - c1 Theta' (Theta' + 2 beta') sin Theta     f2 = c1 beta'^2 sin Theta
//     f3 = -d/dgamma [c0 (l - l0)^2 / 2],  l = |D(gamma) - C|,  D the far end of the spring on body BDE
//     f4 = c4 delta'^2 cos Phi                              f5 = -c4 Phi' (Phi' + 2 delta') cos Phi
//     f6 = -c6 eps'^2 cos Omega                             f7 = c6 Omega' (Omega' + 2 eps') cos Omega
//     X = rr cos beta - d cos(beta+Theta),  Y = rr sin beta - d sin(beta+Theta)
//     g1 = X - ss sin gamma - xb                        g2 = Y + ss cos gamma - yb
//     g3 = X - e sin(Phi+delta) - zt cos delta - xa     g4 = Y + e cos(Phi+delta) - zt sin delta - ya
//     g5 = X - zf cos(Omega+eps) - u sin eps - xa       g6 = Y - zf sin(Omega+eps) + u cos eps - ya
//
// Source: W. Schiehlen (ed.), Multibody Systems Handbook (1990); E. Hairer, G. Wanner, Solving ODEs II, section VII.7;
// Test Set for Initial Value Problem Solvers, problem "andrews". Multipliers have the sign of the source.
#include "gallery.h"
#include "support.h"
#include <math.h>

enum { NP = 7, NG = 6 };
enum { BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPS };

// Data, SI units, names of the source.
static const double m1 = 0.04325, m2 = 0.00365, m3 = 0.02373, m4 = 0.00706, m5 = 0.07050, m6 = 0.00706, m7 = 0.05498;
static const double I1 = 2.194e-6, I2 = 4.410e-7, I3 = 5.255e-6, I4 = 5.667e-7, I5 = 1.169e-5, I6 = 5.667e-7,
                    I7 = 1.912e-5;
static const double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072;
static const double d = 0.028, da = 0.0115, e = 0.02, ea = 0.01421, rr = 0.007, ra = 0.00092, ss = 0.035, sa = 0.01874,
                    sb = 0.01043, sc = 0.018, sd = 0.02, ta = 0.02308, tb = 0.00916, u = 0.04, ua = 0.01228,
                    ub = 0.00449, zf = 0.02, zt = 0.04, fa = 0.01421;
static const double c0 = 4530, l0 = 0.07785, mom = 0.033;

#define EE (e - ea)
#define FF (zf - fa)
#define C1 (m2 * da * rr)
#define C4 (m4 * zt * EE)
#define C6 (m6 * u * FF)
#define J11 (m1 * ra * ra + m2 * (rr * rr + da * da) + I1 + I2)
#define J21 (m2 * da * da + I2)
#define J22 (m2 * da * da + I2)
#define J33 (m3 * (sa * sa + sb * sb) + I3)
#define J44 (m4 * EE * EE + I4)
#define J55 (m4 * (zt * zt + EE * EE) + m5 * (ta * ta + tb * tb) + I4 + I5)
#define J66 (m6 * FF * FF + I6)
#define J77 (m6 * (FF * FF + u * u) + m7 * (ua * ua + ub * ub) + I6 + I7)

// What is kept while the position stays.
typedef struct work {
    unsigned long position_stamp;
    double        c_theta, s_theta, c_phi, s_phi, c_omega, s_omega;
    double        rc, rs;                           // rr (cos, sin) beta
    double        dc, ds;                           // d (cos, sin) (beta + Theta)
    double        gc, gs;                           // ss (cos, sin) gamma
    double        ec, es;                           // e (cos, sin) (Phi + delta)
    double        tc, ts;                           // zt (cos, sin) delta
    double        fc, fs;                           // zf (cos, sin) (Omega + eps)
    double        uc, us;                           // u (cos, sin) eps
    double        spring, stretch, spring_by_gamma; // f3, l - l0, df3/dgamma
} work;

static void *make_work(void *context)
{
    (void)context;
    work *k = kd_alloc(sizeof *k);
    if (k) k->position_stamp = KD_NO_STAMP;
    return k;
}

// D - B = (sd cos + sc sin, sd sin - sc cos) gamma;  f3 = F S,  F = -c0 (1 - l0/l),  S = (D - C) . dD/dgamma
static void spring(work *k, double c, double s)
{
    const double bx = sd * c + sc * s, by = sd * s - sc * c; // D - B; dD/dgamma = (-by, bx), d2D/dgamma2 = -(D - B)
    const double x = bx + xb - xc, y = by + yb - yc, l2 = x * x + y * y, l = sqrt(l2);
    const double F = -c0 * (1 - l0 / l), S = y * bx - x * by;
    k->stretch = l - l0;
    k->spring = F * S;
    k->spring_by_gamma = -c0 * l0 / (l2 * l) * S * S + F * (bx * bx + by * by - x * bx - y * by);
}

static const work *at_position(work *k, const kd_point *x)
{
    if (k->position_stamp == x->position_stamp) return k;
    const double *p = x->p;
    const double  cb = cos(p[BETA]), sb_ = sin(p[BETA]), ct = cos(p[THETA]), st = sin(p[THETA]);
    const double  cp = cos(p[PHI]), sp = sin(p[PHI]), cd = cos(p[DELTA]), sd_ = sin(p[DELTA]);
    const double  co = cos(p[OMEGA]), so = sin(p[OMEGA]), ce = cos(p[EPS]), se = sin(p[EPS]);
    const double  cg = cos(p[GAMMA]), sg = sin(p[GAMMA]);
    k->c_theta = ct, k->s_theta = st, k->c_phi = cp, k->s_phi = sp, k->c_omega = co, k->s_omega = so;
    k->rc = rr * cb, k->rs = rr * sb_;
    k->dc = d * (cb * ct - sb_ * st), k->ds = d * (sb_ * ct + cb * st);
    k->gc = ss * cg, k->gs = ss * sg;
    k->ec = e * (cp * cd - sp * sd_), k->es = e * (sp * cd + cp * sd_);
    k->tc = zt * cd, k->ts = zt * sd_;
    k->fc = zf * (co * ce - so * se), k->fs = zf * (so * ce + co * se);
    k->uc = u * ce, k->us = u * se;
    spring(k, cg, sg);
    k->position_stamp = x->position_stamp;
    return k;
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    const work   *k = at_position(context, x);
    const double *a = x->a, *v = x->v, *l = x->lambda;
    const double  lx = l[0] + l[2] + l[4], ly = l[1] + l[3] + l[5];
    const double  c1 = C1 * k->c_theta, s1 = C1 * k->s_theta, c4 = C4 * k->c_phi, s4 = C4 * k->s_phi;
    const double  c6 = C6 * k->c_omega, s6 = C6 * k->s_omega;
    const double  in_theta = k->ds * lx - k->dc * ly; // (G' lambda)_2
    const double  in_phi = -k->ec * l[2] - k->es * l[3], in_omega = k->fs * l[4] - k->fc * l[5];
    out[0] = (J11 - 2 * c1) * a[0] + (J21 - c1) * a[1] - mom + s1 * v[1] * (v[1] + 2 * v[0]) + in_theta - k->rs * lx +
             k->rc * ly;
    out[1] = (J21 - c1) * a[0] + J22 * a[1] - s1 * v[0] * v[0] + in_theta;
    out[2] = J33 * a[2] - k->spring - k->gc * l[0] - k->gs * l[1];
    out[3] = J44 * a[3] + (J44 + s4) * a[4] - c4 * v[4] * v[4] + in_phi;
    out[4] = (J44 + s4) * a[3] + (J55 + 2 * s4) * a[4] + c4 * v[3] * (v[3] + 2 * v[4]) + in_phi + k->ts * l[2] -
             k->tc * l[3];
    out[5] = J66 * a[5] + (J66 - s6) * a[6] + c6 * v[6] * v[6] + in_omega;
    out[6] = (J66 - s6) * a[5] + (J77 - 2 * s6) * a[6] - c6 * v[5] * (v[5] + 2 * v[6]) + in_omega - k->uc * l[4] -
             k->us * l[5];
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const work *k = at_position(context, x);
    memset(out, 0, NP * NP * sizeof *out);
    *kd_entry(out, NP, 0, 0) = J11 - 2 * C1 * k->c_theta;
    *kd_entry(out, NP, 1, 0) = *kd_entry(out, NP, 0, 1) = J21 - C1 * k->c_theta;
    *kd_entry(out, NP, 1, 1) = J22;
    *kd_entry(out, NP, 2, 2) = J33;
    *kd_entry(out, NP, 3, 3) = J44;
    *kd_entry(out, NP, 4, 3) = *kd_entry(out, NP, 3, 4) = J44 + C4 * k->s_phi;
    *kd_entry(out, NP, 4, 4) = J55 + 2 * C4 * k->s_phi;
    *kd_entry(out, NP, 5, 5) = J66;
    *kd_entry(out, NP, 6, 5) = *kd_entry(out, NP, 5, 6) = J66 - C6 * k->s_omega;
    *kd_entry(out, NP, 6, 6) = J77 - 2 * C6 * k->s_omega;
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    const work  *k = at_position(context, x);
    const double X = k->rc - k->dc, Y = k->rs - k->ds;
    out[0] = X - k->gs - xb;
    out[1] = Y + k->gc - yb;
    out[2] = X - k->es - k->tc - xa;
    out[3] = Y + k->ec - k->ts - ya;
    out[4] = X - k->fc - k->us - xa;
    out[5] = Y - k->fs + k->uc - ya;
    return KD_EVAL_OK;
}

// G y for a velocity or acceleration y
static void times_G(const work *k, const double *y, double *out)
{
    const double bt = y[BETA] + y[THETA], pd = y[PHI] + y[DELTA], oe = y[OMEGA] + y[EPS];
    const double X = -k->rs * y[BETA] + k->ds * bt, Y = k->rc * y[BETA] - k->dc * bt;
    out[0] = X - k->gc * y[GAMMA];
    out[1] = Y - k->gs * y[GAMMA];
    out[2] = X - k->ec * pd + k->ts * y[DELTA];
    out[3] = Y - k->es * pd - k->tc * y[DELTA];
    out[4] = X + k->fs * oe - k->uc * y[EPS];
    out[5] = Y - k->fc * oe - k->us * y[EPS];
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    times_G(at_position(context, x), x->v, out);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    const work   *k = at_position(context, x);
    const double *v = x->v;
    const double  bt = v[BETA] + v[THETA], pd = v[PHI] + v[DELTA], oe = v[OMEGA] + v[EPS];
    const double  b2 = v[BETA] * v[BETA], g2 = v[GAMMA] * v[GAMMA], d2 = v[DELTA] * v[DELTA], e2 = v[EPS] * v[EPS];
    const double  bt2 = bt * bt, pd2 = pd * pd, oe2 = oe * oe;
    const double  X = -k->rc * b2 + k->dc * bt2, Y = -k->rs * b2 + k->ds * bt2;
    times_G(k, x->a, out);
    out[0] += X + k->gs * g2;
    out[1] += Y - k->gc * g2;
    out[2] += X + k->es * pd2 + k->tc * d2;
    out[3] += Y - k->ec * pd2 + k->ts * d2;
    out[4] += X + k->fc * oe2 + k->us * e2;
    out[5] += Y + k->fs * oe2 - k->uc * e2;
    return KD_EVAL_OK;
}

static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const work   *k = at_position(context, x);
    const double *v = x->v;
    double        M[NP * NP], twice_kinetic = 0;
    (void)mass(x, context, M); // cannot fail
    for (int j = 0; j < NP; j++)
        for (int i = 0; i < NP; i++) twice_kinetic += v[i] * M[j * NP + i] * v[j];
    *out = (kd_energies){
        .kinetic = 0.5 * twice_kinetic, .potential = 0.5 * c0 * k->stretch * k->stretch, .supplied = mom * v[BETA]};
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// All constraint blocks have one pattern: columns beta and Theta are common to the rows x (1, 3, 5) and y (2, 4, 6).
typedef struct pattern {
    double x_beta, x_theta, y_beta, y_theta; // of X and Y
    double own[NG];                          // gamma, gamma, Phi, Phi, Omega, Omega
    double end[NG];                          // -, -, delta, delta, eps, eps: in addition to own
} pattern;

static void fill(const pattern *q, double *out)
{
    memset(out, 0, NG * NP * sizeof *out);
    for (int i = 0; i < NG; i++) {
        const int own = i < 2 ? GAMMA : i < 4 ? PHI : OMEGA;
        *kd_entry(out, NG, i, BETA) = i % 2 ? q->y_beta : q->x_beta;
        *kd_entry(out, NG, i, THETA) = i % 2 ? q->y_theta : q->x_theta;
        *kd_entry(out, NG, i, own) = q->own[i];
        if (i >= 2) *kd_entry(out, NG, i, own + 1) = q->own[i] + q->end[i];
    }
}

static pattern G_pattern(const work *k)
{
    return (pattern){
        .x_beta = k->ds - k->rs,
        .x_theta = k->ds,
        .y_beta = k->rc - k->dc,
        .y_theta = -k->dc,
        .own = {-k->gc, -k->gs, -k->ec, -k->es, k->fs, -k->fc},
        .end = {0, 0, k->ts, -k->tc, -k->uc, -k->us},
    };
}

// g_pp y as a matrix: derivative of G y by p at fixed y
static pattern G_by_p_times(const work *k, const double *y)
{
    const double b = y[BETA], bt = b + y[THETA], pd = y[PHI] + y[DELTA], oe = y[OMEGA] + y[EPS];
    return (pattern){
        .x_beta = k->dc * bt - k->rc * b,
        .x_theta = k->dc * bt,
        .y_beta = k->ds * bt - k->rs * b,
        .y_theta = k->ds * bt,
        .own = {k->gs * y[GAMMA], -k->gc * y[GAMMA], k->es * pd, -k->ec * pd, k->fc * oe, k->fs * oe},
        .end = {0, 0, k->tc * y[DELTA], k->ts * y[DELTA], k->us * y[EPS], -k->uc * y[EPS]},
    };
}

// gII by p: g_pp a + g_ppp v v
static pattern gII_by_p(const work *k, const double *v, const double *a)
{
    const double bt = v[BETA] + v[THETA], pd = v[PHI] + v[DELTA], oe = v[OMEGA] + v[EPS];
    const double b2 = v[BETA] * v[BETA], g2 = v[GAMMA] * v[GAMMA], d2 = v[DELTA] * v[DELTA], e2 = v[EPS] * v[EPS];
    const double bt2 = bt * bt, pd2 = pd * pd, oe2 = oe * oe;
    pattern      q = G_by_p_times(k, a);
    q.x_beta += k->rs * b2 - k->ds * bt2, q.x_theta -= k->ds * bt2;
    q.y_beta += k->dc * bt2 - k->rc * b2, q.y_theta += k->dc * bt2;
    q.own[0] += k->gc * g2, q.own[1] += k->gs * g2;
    q.own[2] += k->ec * pd2, q.own[3] += k->es * pd2;
    q.own[4] -= k->fs * oe2, q.own[5] += k->fc * oe2;
    q.end[2] -= k->ts * d2, q.end[3] += k->tc * d2;
    q.end[4] += k->uc * e2, q.end[5] += k->us * e2;
    return q;
}

static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    const double *a = x->a, *v = x->v, *l = x->lambda;
    const double  lx = l[0] + l[2] + l[4], ly = l[1] + l[3] + l[5];
    const double  c1 = C1 * k->c_theta, s1 = C1 * k->s_theta, c4 = C4 * k->c_phi, s4 = C4 * k->s_phi;
    const double  c6 = C6 * k->c_omega, s6 = C6 * k->s_omega;
    // second derivatives of lambda' g
    const double tt = k->dc * lx + k->ds * ly, bb = tt - k->rc * lx - k->rs * ly;
    const double pp = k->es * l[2] - k->ec * l[3], dd = pp + k->tc * l[2] + k->ts * l[3];
    const double oo = k->fc * l[4] + k->fs * l[5], ee = oo + k->us * l[4] - k->uc * l[5];
    memset(out, 0, NP * NP * sizeof *out);
    *kd_entry(out, NP, 0, 0) = bb;
    *kd_entry(out, NP, 1, 0) = tt;
    *kd_entry(out, NP, 0, 1) = s1 * (2 * a[0] + a[1]) + c1 * v[1] * (v[1] + 2 * v[0]) + tt;
    *kd_entry(out, NP, 1, 1) = s1 * a[0] - c1 * v[0] * v[0] + tt;
    *kd_entry(out, NP, 2, 2) = -k->spring_by_gamma + k->gs * l[0] - k->gc * l[1];
    *kd_entry(out, NP, 3, 3) = c4 * a[4] + s4 * v[4] * v[4] + pp;
    *kd_entry(out, NP, 4, 3) = c4 * (a[3] + 2 * a[4]) - s4 * v[3] * (v[3] + 2 * v[4]) + pp;
    *kd_entry(out, NP, 3, 4) = pp;
    *kd_entry(out, NP, 4, 4) = dd;
    *kd_entry(out, NP, 5, 5) = -c6 * a[6] - s6 * v[6] * v[6] + oo;
    *kd_entry(out, NP, 6, 5) = -c6 * (a[5] + 2 * a[6]) + s6 * v[5] * (v[5] + 2 * v[6]) + oo;
    *kd_entry(out, NP, 5, 6) = oo;
    *kd_entry(out, NP, 6, 6) = ee;
}

static void residual_by_v(const work *k, const double *v, double *out)
{
    const double s1 = 2 * C1 * k->s_theta, c4 = 2 * C4 * k->c_phi, c6 = 2 * C6 * k->c_omega;
    memset(out, 0, NP * NP * sizeof *out);
    *kd_entry(out, NP, 0, 0) = s1 * v[1];
    *kd_entry(out, NP, 0, 1) = s1 * (v[0] + v[1]);
    *kd_entry(out, NP, 1, 0) = -s1 * v[0];
    *kd_entry(out, NP, 3, 4) = -c4 * v[4];
    *kd_entry(out, NP, 4, 3) = c4 * (v[3] + v[4]);
    *kd_entry(out, NP, 4, 4) = c4 * v[3];
    *kd_entry(out, NP, 5, 6) = c6 * v[6];
    *kd_entry(out, NP, 6, 5) = -c6 * (v[5] + v[6]);
    *kd_entry(out, NP, 6, 6) = -c6 * v[5];
}

static kd_eval residual_derivative(const work *k, const kd_point *x, kd_var var, void *context, double *out)
{
    if (var == KD_A) return mass(x, context, out);
    if (var == KD_P) residual_by_p(k, x, out);
    if (var == KD_V) residual_by_v(k, x->v, out);
    if (var == KD_LAMBDA) {
        const pattern q = G_pattern(k);
        double        G[NG * NP];
        fill(&q, G);
        for (int j = 0; j < NP; j++)
            for (int i = 0; i < NG; i++) *kd_entry(out, NP, j, i) = *kd_entry(G, NG, i, j);
    }
    return KD_EVAL_OK;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const work *k = at_position(context, x);
    pattern     q = {0};
    (void)part; // the only force element counts as stiff
    if (fn == KD_RESIDUAL) return residual_derivative(k, x, var, context, out);
    if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A))
        q = G_pattern(k);
    else if (fn == KD_GII && var == KD_P)
        q = gII_by_p(k, x->v, x->a);
    else // gI by p is g_pp v, gII by v is 2 g_pp v
        q = G_by_p_times(k, x->v);
    fill(&q, out);
    if (fn == KD_GII && var == KD_V)
        for (int i = 0; i < NG * NP; i++) out[i] *= 2;
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"beta (crank)",    "Theta (connecting rod)", "gamma (body BDE)", "Phi (body EG)",
                                    "delta (body GA)", "Omega (body HE)",        "epsilon (body HA)"};
    static const char *const v[] = {"beta rate",  "Theta rate", "gamma rate",  "Phi rate",
                                    "delta rate", "Omega rate", "epsilon rate"};
    static const char *const lambda[] = {"loop through B, x", "loop through B, y", "loop through G, x",
                                         "loop through G, y", "loop through H, x", "loop through H, y"};
    (void)context;
    switch (kind) {
    case KD_NAME_P:
        return KD_NAME_OF(p, i);
    case KD_NAME_V:
        return KD_NAME_OF(v, i);
    case KD_NAME_LAMBDA:
        return KD_NAME_OF(lambda, i);
    default:
        return NULL;
    }
}

// ---- example --------------------------------------------------------------------------------------------------------

// clang-format off
static const double p_start[NP] = {-0.0617138900142764496, 0, 0.455279819163070380, 0.222668390165885885,
                                    0.487364979543842550, -0.222668390165885885, 1.23054744454982119};
static const double a_start[NP] = {14222.4439199541139, -10666.8329399655854};
static const double lambda_start[NG] = {98.5668703962410896, -6.12268834425566266};
// [p v lambda] at t = 0.03: recomputed in quadruple precision with two orders and tolerances, which agree to 18
// digits; the published vector agrees to 10 digits in p, 7 in v and 6 in lambda.
static const double reference[2 * NP + NG] = {
     1.58107711951537071e+01, -1.57563710584118395e+01, 4.08222401196458049e-02, -5.34730116342079594e-01,
     5.24409965879954069e-01,  5.34730116342079594e-01, 1.04808074104193787e+00,
     1.13992030225910606e+03, -1.42437929517754007e+03, 1.10329119106185937e+01,  1.92933741050320408e+01,
     5.73569914829502454e-01, -1.92933741050320408e+01, 3.23179149249130875e-01,
     1.99175348104538628e+02, -2.97553099749717633e+01, 2.30665436116221511e+01,  3.14527252757711371e+01,
     2.26424947863943786e+01,  1.16173923526112559e+01};
// clang-format on

static kd_status create(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    kd_eom_def def = kd_eom_def_default();
    def.title = "Andrews' squeezing mechanism";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = NG};
    def.residual = residual;
    def.M = mass;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.autonomous = true;
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    if (inputs) *inputs = (kd_inputs){0};
    return kd_gallery_create(&def, &(kd_start){.p = p_start, .lambda = lambda_start, .a = a_start}, eom, x);
}

const kd_example kd_example_andrews = {
    .name = "andrews",
    .title = "Andrews' squeezing mechanism",
    .about =
        "Seven bodies in three loops, driven by a constant torque: fast revolution, strong coupling. Source: Test Set "
        "for Initial Value Problem Solvers, problem andrews.",
    .t_end = 0.03,
    .create = create,
    .reference = reference,
    .digits = 15,
};
