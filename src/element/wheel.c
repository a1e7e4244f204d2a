// wheel.c: geometry of a wheel on a rail. Equations: wheel.h
#include "element/wheel.h"

#include <math.h>

#include "element/kalker.h"

enum { MOST_ITERATIONS = 30 };
static const double FLAT = 1e6;  // radius of a tread that counts as a cone [m]
static const double REACH = 0.7; // distance from the rolling circle at which the search ends [m]

// ---- profiles -------------------------------------------------------------------------------------------------------
// f and four derivatives
static void profile_at(const kd_profile *p, double x, double f[5])
{
    switch (p->kind) {
    case KD_PROFILE_LINE:
        f[0] = p->slope * x, f[1] = p->slope, f[2] = f[3] = f[4] = 0.0;
        break;
    case KD_PROFILE_ARC: { // T = sqrt(r^2 - u^2): T' = -u/T, T'' = -r^2/T^3, T''' = -3 r^2 u/T^5, ...
        double r2 = p->radius * p->radius, u = x - p->centre, T = sqrt(r2 - u * u), T3 = T * T * T;
        f[0] = -p->sign * x * (x - 2.0 * p->centre) / (T + sqrt(r2 - p->centre * p->centre)); // T - T(0)
        f[1] = -p->sign * u / T;
        f[2] = -p->sign * r2 / T3;
        f[3] = -p->sign * 3.0 * r2 * u / (T3 * T * T);
        f[4] = -p->sign * 3.0 * r2 * (T * T + 5.0 * u * u) / (T3 * T3 * T);
        break;
    }
    case KD_PROFILE_CURVE:
        kd_curve_eval(p->curve, x, f);
        f[4] = 0.0;
        break;
    }
}

// as functions of the coordinate along y: odd derivatives change their sign on the right side
static void turn_side(double side, double f[5])
{
    f[1] *= side;
    f[3] *= side;
}

void kd_wheel_tread(const kd_wheel *w, double xi, double R[5])
{
    profile_at(&w->tread, w->side * xi - w->def->spacing, R);
    turn_side(w->side, R);
    R[0] += w->def->radius;
}

void kd_wheel_head(const kd_wheel *w, double y, double S[5])
{
    profile_at(&w->head, w->side * y - w->def->spacing, S);
    turn_side(w->side, S);
}

static kd_profile arc(double radius, double slope, double sign)
{
    double sine = slope / sqrt(1.0 + slope * slope);
    return (kd_profile){.kind = KD_PROFILE_ARC, .radius = radius, .centre = radius * sine, .sign = sign};
}

void kd_wheel_create(kd_wheel *w, const kd_wheel_rail *def, const kd_curve *tread, const kd_curve *head)
{
    // side, profiles, and where the wheel stands in the middle of the track
    w->def = def;
    w->side = def->side == KD_RAIL_LEFT ? 1.0 : -1.0;
    w->unknown = def->contact == KD_CONTACT_UNKNOWNS;
    w->by_load = def->normal == KD_LOAD_ACTUAL && def->creep != KD_CREEP_NONE;
    w->tread = def->tread_radius >= FLAT ? (kd_profile){.kind = KD_PROFILE_LINE, .slope = -def->conicity}
                                         : arc(def->tread_radius, def->conicity, -1.0);
    w->head = arc(def->rail_radius, def->conicity, 1.0);
    if (tread) w->tread = (kd_profile){.kind = KD_PROFILE_CURVE, .curve = tread};
    if (head) w->head = (kd_profile){.kind = KD_PROFILE_CURVE, .curve = head};
    const double in[KD_WHEEL_INPUTS] = {0.0, def->radius, 0.0, 1.0, 0.0}; // in the middle of the track
    double       xi = kd_wheel_solve(w, in), R[5], S[5];
    kd_wheel_tread(w, xi, R);
    kd_wheel_head(w, xi, S);
    // curvatures along and across at that point: Hertz, then Kalker
    double slope = 1.0 + S[1] * S[1], steep = 1.0 + R[1] * R[1];
    double along = 0.5 / (R[0] * sqrt(steep)); // 1/(2 radius of curvature)
    double across = 0.5 * (-R[2] / (steep * sqrt(steep)) - S[2] / (slope * sqrt(slope)));
    w->a = def->ellipse[0], w->b = def->ellipse[1];
    if (isnan(w->a) || isnan(w->b)) kd_hertz_ellipse(along, across, def->load, def->shear, def->poisson, &w->a, &w->b);
    kd_kalker_coefficients(w->a / w->b, def->poisson, w->kalker);
    for (int k = 0; k < 4; k++)
        if (!isnan(def->kalker[k])) w->kalker[k] = def->kalker[k];
}

double kd_wheel_nominal(const kd_wheel *w)
{
    return w->side * w->def->spacing;
}

// ---- values and first derivatives -----------------------------------------------------------------------------------
// u_y = -A n_y + B n_z,  u_z = -A n_z - B n_y,  A = R' n_x^2/q,  B^2 = 1/q - R'^2 n_x^2/q^2,  q = n_y^2 + n_z^2
void kd_wheel_at(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], double xi, kd_wheel_point *out)
{
    // u, point (Y, Z) of the wheel, normal N there
    double R[5], S[5], nx = in[2], ny = in[3], nz = in[4], q = ny * ny + nz * nz;
    kd_wheel_tread(w, xi, R);
    double A = R[1] * nx * nx / q, B = sqrt(1.0 / q - R[1] * R[1] * nx * nx / (q * q));
    double uy = -A * ny + B * nz, uz = -A * nz - B * ny;
    double Y = in[0] + xi * ny + R[0] * uy, Z = in[1] + xi * nz + R[0] * uz;
    kd_wheel_head(w, Y, S);
    double Ny = uy - R[1] * ny, Nz = uz - R[1] * nz;
    // gap and tangency
    out->g = S[0] - Z;
    out->c = Ny + S[1] * Nz;
    // by d_y, d_z
    out->g_x[0] = S[1], out->g_x[1] = -1.0;
    out->c_x[0] = S[2] * Nz, out->c_x[1] = 0.0;
    // by n_x, n_y, n_z, xi: changes of A and B, then of u
    double B2_q = -1.0 / (q * q) + 2.0 * R[1] * R[1] * nx * nx / (q * q * q);
    double A_x[4] = {2.0 * R[1] * nx / q, -2.0 * A * ny / q, -2.0 * A * nz / q, R[2] * nx * nx / q};
    double B2_x[4] = {-2.0 * R[1] * R[1] * nx / (q * q), 2.0 * B2_q * ny, 2.0 * B2_q * nz,
                      -2.0 * R[1] * R[2] * nx * nx / (q * q)};
    for (int k = 0; k < 4; k++) {
        double dA = A_x[k], dB = 0.5 * B2_x[k] / B, dny = k == 1, dnz = k == 2, dxi = k == 3;
        double duy = -dA * ny - A * dny + dB * nz + B * dnz, duz = -dA * nz - A * dnz - dB * ny - B * dny;
        double dY = xi * dny + R[0] * duy + dxi * (ny + R[1] * uy), dZ = xi * dnz + R[0] * duz + dxi * (nz + R[1] * uz);
        double dNy = duy - R[1] * dny - dxi * R[2] * ny, dNz = duz - R[1] * dnz - dxi * R[2] * nz;
        out->g_x[2 + k] = S[1] * dY - dZ;
        out->c_x[2 + k] = dNy + S[1] * dNz + S[2] * dY * Nz;
    }
}

// ---- the point of contact -------------------------------------------------------------------------------------------
// Of tables: the greatest g on a grid, because there may be several points with c = 0.
static double best_of_grid(const kd_wheel *w, const double *in, double from, double to, int n)
{
    double         best = kd_wheel_nominal(w), greatest = -HUGE_VAL;
    kd_wheel_point at;
    for (int i = 0; i <= n; i++) {
        double xi = w->side * (w->def->spacing + from + (to - from) * i / n);
        kd_wheel_at(w, in, xi, &at);
        if (at.g > greatest) greatest = at.g, best = xi;
    }
    return best;
}

double kd_wheel_solve(const kd_wheel *w, const double in[KD_WHEEL_INPUTS])
{
    bool table = w->tread.kind == KD_PROFILE_CURVE || w->head.kind == KD_PROFILE_CURVE;
    // tables may touch at several points: from the best of a grid, in small steps
    double         xi = table ? best_of_grid(w, in, -0.05, 0.05, 200) : kd_wheel_nominal(w);
    kd_wheel_point at;
    for (int i = 0; i < MOST_ITERATIONS; i++) {
        kd_wheel_at(w, in, xi, &at);
        // Newton for c = 0; too far from the rolling circle there is no contact
        double step = -at.c / at.c_x[KD_WHEEL_INPUTS], most = table ? 1e-3 : 0.02;
        if (!(fabs(step) < HUGE_VAL) || fabs(w->side * xi - w->def->spacing) > REACH) return NAN;
        step = fmax(-most, fmin(most, step));
        xi += step;
        if (fabs(step) < 1e-9) return xi; // converges quadratically: what is left is rounding
    }
    kd_wheel_at(w, in, xi, &at);
    return fabs(at.c) < 1e-12 ? xi : NAN;
}

// ---- jets -----------------------------------------------------------------------------------------------------------
static kd_jet chain(kd_jet x, const double *f) // f and three derivatives
{
    return kd_jet_chain1(x, f[0], f[1], f[2], f[3]);
}

typedef struct jets {
    kd_jet g, c;
} jets;

static jets jets_at(const kd_wheel *w, const kd_jet in[KD_WHEEL_INPUTS], kd_jet xi)
{
    double R[5], S[5];
    // as in kd_wheel_at, on jets
    kd_jet nx = in[2], ny = in[3], nz = in[4];
    kd_jet q = kd_jet_add(kd_jet_mul(ny, ny), kd_jet_mul(nz, nz)), one = kd_jet_const(1.0);
    kd_wheel_tread(w, xi.x, R);
    kd_jet r = chain(xi, R), slope = chain(xi, R + 1), p = kd_jet_div(kd_jet_mul(slope, nx), q); // R' n_x/q
    kd_jet A = kd_jet_mul(p, nx), B = kd_jet_sqrt(kd_jet_sub(kd_jet_div(one, q), kd_jet_mul(p, p)));
    kd_jet uy = kd_jet_sub(kd_jet_mul(B, nz), kd_jet_mul(A, ny));
    kd_jet uz = kd_jet_neg(kd_jet_add(kd_jet_mul(A, nz), kd_jet_mul(B, ny)));
    kd_jet Y = kd_jet_add(in[0], kd_jet_add(kd_jet_mul(xi, ny), kd_jet_mul(r, uy)));
    kd_jet Z = kd_jet_add(in[1], kd_jet_add(kd_jet_mul(xi, nz), kd_jet_mul(r, uz)));
    kd_wheel_head(w, Y.x, S);
    kd_jet Ny = kd_jet_sub(uy, kd_jet_mul(slope, ny)), Nz = kd_jet_sub(uz, kd_jet_mul(slope, nz));
    return (jets){kd_jet_sub(chain(Y, S), Z), kd_jet_add(Ny, kd_jet_mul(chain(Y, S + 1), Nz))};
}

// xi moves so that c stays: each part of its jet enters the same part of c with the factor c_xi. Inside of the element
// g_xi = 0, so that errors of second order in the jet of xi have no effect: first parts suffice.
kd_jet kd_wheel_gap(const kd_wheel *w, const kd_jet in[KD_WHEEL_INPUTS], double xi, double xi_d)
{
    double         value[KD_WHEEL_INPUTS];
    kd_wheel_point at;
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) value[i] = in[i].x;
    // first parts of xi: -c / c_xi by time and tangent
    kd_wheel_at(w, value, xi, &at);
    kd_jet x = {.x = xi};
    double c_xi = at.c_x[KD_WHEEL_INPUTS], c1 = 0.0, cd = 0.0;
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) c1 += at.c_x[i] * in[i].x1, cd += at.c_x[i] * in[i].d;
    x.x1 = -c1 / c_xi;
    if (!w->unknown) {
        x.d = -cd / c_xi;
        return jets_at(w, in, x).g;
    }
    // an unknown xi has its own tangent; its second parts make those of c vanish
    x.d = xi_d;
    kd_jet c = jets_at(w, in, x).c;
    x.x2 = -c.x2 / c_xi;
    x.d1 = -c.d1 / c_xi;
    x.d2 = -jets_at(w, in, x).c.d2 / c_xi;
    return jets_at(w, in, x).g;
}
