// wheel.c: geometry of a wheel on a rail. Equations: wheel.h
#include "element/wheel.h"

#include <math.h>

#include "element/kalker.h"

enum { MOST_ITERATIONS = 30 };
// Lengths of a wheel of USUAL radius; those of others are larger or smaller by the same factor
static const double USUAL = 0.46;              // [m]
static const double FLAT = 1e6;                // radius of a tread that counts as a cone [m]
static const double REACH = 0.7;               // distance from the rolling circle at which the search ends [m]
static const double WIDE = 0.05;               // half width in which it begins with a grid [m]
static const double LONG = 0.02, SHORT = 1e-3; // longest step of the search, in tables [m]
static const double ARRIVED = 1e-9;            // last step: it converges quadratically, what is left is rounding [m]

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

static double size_of(const kd_wheel *w)
{
    return w->def->radius / USUAL;
}

static kd_profile arc(double radius, double slope, double sign)
{
    double sine = slope / sqrt(1.0 + slope * slope);
    return (kd_profile){.kind = KD_PROFILE_ARC, .radius = radius, .centre = radius * sine, .sign = sign};
}

// Nodes of the quasi-elastic contact: over the rows of a table, otherwise beside the rolling circle. The load is spread
// over a way that falls with (1 + R'^2)^(3/4) where the tread is steep: so does the distance of nodes.
static void place_nodes(kd_wheel *w)
{
    static const double HALF = 0.05, STEEP = 0.3; // [m], slope of the tread from which it is flange
    enum { FINE = 4000 };
    double first = -HALF * size_of(w), last = HALF * size_of(w), R[5], sum = 0.0, passed = 0.0;
    int    k = 0;
    w->elastic = w->def->elastic > 0.0;
    w->length = 0.0;
    if (!w->elastic) return;
    if (w->tread.kind == KD_PROFILE_CURVE) kd_curve_ends(w->tread.curve, &first, &last);
    w->split = -HUGE_VAL;
    // the density summed up along the profile, then nodes at equal parts of it
    const double step = (last - first) / FINE;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < FINE; i++) {
            const double x = first + (i + 0.5) * step;
            kd_wheel_tread(w, w->side * (w->def->spacing + x), R);
            const double density = pow(1.0 + R[1] * R[1], 0.75) * step;
            if (pass == 0) {
                sum += density;
                if (x < 0.0 && -w->side * R[1] > STEEP) w->split = x;
                continue;
            }
            passed += density;
            for (; k < KD_WHEEL_NODES && passed >= sum * (k + 0.5) / KD_WHEEL_NODES; k++) {
                // inside of this piece
                const double back = (passed - sum * (k + 0.5) / KD_WHEEL_NODES) / density;
                w->node[k] = w->side * (w->def->spacing + first + (i + 1 - back) * step);
                w->part[k] = step / density;
            }
        }
    for (; k > 0 && k < KD_WHEEL_NODES; k++) w->node[k] = w->node[k - 1], w->part[k] = 0.0; // by rounding
    // the nodes are fixed on the wheel, so is the tread there
    for (k = 0; k < KD_WHEEL_NODES; k++) {
        kd_wheel_tread(w, w->node[k], R);
        w->R[k] = R[0], w->R1[k] = R[1];
    }
}

void kd_wheel_create(kd_wheel *w, const kd_wheel_rail *def, const kd_curve *tread, const kd_curve *head)
{
    // side, profiles, and where the wheel stands in the middle of the track
    w->def = def;
    w->side = def->side == KD_RAIL_LEFT ? 1.0 : -1.0;
    w->unknown = def->contact == KD_CONTACT_UNKNOWNS;
    w->by_load = def->normal == KD_LOAD_ACTUAL && def->creep != KD_CREEP_NONE;
    w->tread = def->tread_radius >= FLAT * size_of(w) ? (kd_profile){.kind = KD_PROFILE_LINE, .slope = -def->conicity}
                                                      : arc(def->tread_radius, def->conicity, -1.0);
    w->head = arc(def->rail_radius, def->conicity, 1.0);
    if (tread) w->tread = (kd_profile){.kind = KD_PROFILE_CURVE, .curve = tread};
    if (head) w->head = (kd_profile){.kind = KD_PROFILE_CURVE, .curve = head};
    place_nodes(w);
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
    // the quasi-elastic gap of that place is the rigid one
    if (!w->elastic || isnan(xi)) return;
    kd_wheel_point  at;
    kd_wheel_spread spread;
    kd_wheel_at(w, in, xi, &at);
    kd_wheel_spread_at(w, in, &spread);
    w->length = (spread.g - at.g) / def->elastic;
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

// ---- quasi-elastic contact ------------------------------------------------------------------------------------------
static const double REACH_OF_LOAD = 25.0; // overlaps that are smaller by so many lengths carry nothing: exp(-25)

// The overlap at node k alone, as in kd_wheel_at
static double overlap(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], double q, int k)
{
    const double R = w->R[k], p = w->R1[k] * in[2] / q, A = p * in[2], B = sqrt(1.0 / q - p * p);
    double       S[5];
    kd_wheel_head(w, in[0] + w->node[k] * in[3] + R * (B * in[4] - A * in[3]), S);
    return S[0] - (in[1] + w->node[k] * in[4] - R * (A * in[4] + B * in[3]));
}

void kd_wheel_spread_at(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], kd_wheel_spread *out)
{
    const double e = w->def->elastic, q = in[3] * in[3] + in[4] * in[4];
    double       g[KD_WHEEL_NODES], most = -HUGE_VAL, sum = 0.0;
    // overlaps of all nodes, then weights of those that carry
    for (int k = 0; k < KD_WHEEL_NODES; k++) {
        g[k] = overlap(w, in, q, k);
        most = fmax(most, g[k]);
    }
    out->n = 0;
    out->mean = 0.0;
    for (int k = 0; k < KD_WHEEL_NODES; k++) {
        if (!(g[k] > most - REACH_OF_LOAD * e)) continue;
        out->node[out->n] = k;
        sum += out->weight[out->n++] = w->part[k] * exp((g[k] - most) / e);
    }
    out->g = most + e * (log(sum) - w->length);
    for (int k = 0; k < out->n; k++) {
        out->weight[k] /= sum;
        out->mean += out->weight[k] * w->node[out->node[k]];
    }
}

// One node: rho from the centre, slope S' of the rail there, and first derivatives; rho depends on n alone
typedef struct node_point {
    double rho[3], rho_n[3][3];
    double slope, slope_x[KD_WHEEL_INPUTS];
    double g_x[KD_WHEEL_INPUTS];
} node_point;

static void node_at(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], int k, node_point *out)
{
    const double xi = w->node[k], R = w->R[k], R1 = w->R1[k], nx = in[2], ny = in[3], nz = in[4];
    const double q = ny * ny + nz * nz, p = R1 * nx / q, A = p * nx, B = sqrt(1.0 / q - p * p);
    // rho = xi n + R u
    out->rho[0] = (xi + R * R1) * nx;
    out->rho[1] = xi * ny + R * (B * nz - A * ny);
    out->rho[2] = xi * nz - R * (A * nz + B * ny);
    // by n: changes of A and B, then of u
    const double p_n[3] = {R1 / q, -2.0 * p * ny / q, -2.0 * p * nz / q}, q_n[3] = {0.0, 2.0 * ny, 2.0 * nz};
    for (int i = 0; i < 3; i++) {
        const double dx = i == 0, dy = i == 1, dz = i == 2;
        const double dA = p_n[i] * nx + p * dx, dB = -(0.5 * q_n[i] / (q * q) + p * p_n[i]) / B;
        out->rho_n[0][i] = (xi + R * R1) * dx;
        out->rho_n[1][i] = xi * dy + R * (dB * nz + B * dz - dA * ny - A * dy);
        out->rho_n[2][i] = xi * dz - R * (dA * nz + A * dz + dB * ny + B * dy);
    }
    // the rail below: g = S(Y) - Z, Y = d_y + rho_y, Z = d_z + rho_z
    double S[5];
    kd_wheel_head(w, in[0] + out->rho[1], S);
    out->slope = S[1];
    out->slope_x[0] = S[2], out->slope_x[1] = 0.0;
    out->g_x[0] = S[1], out->g_x[1] = -1.0;
    for (int i = 0; i < 3; i++) {
        out->slope_x[2 + i] = S[2] * out->rho_n[1][i];
        out->g_x[2 + i] = S[1] * out->rho_n[1][i] - out->rho_n[2][i];
    }
}

void kd_wheel_soft_at(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread,
                      kd_wheel_point *out)
{
    node_point at;
    *out = (kd_wheel_point){.g = spread->g};
    for (int k = 0; k < spread->n; k++) {
        node_at(w, in, spread->node[k], &at);
        for (int i = 0; i < KD_WHEEL_INPUTS; i++) out->g_x[i] += spread->weight[k] * at.g_x[i];
    }
    out->c_x[KD_WHEEL_INPUTS] = 1.0;
}

// Sums of weights and of weighted places over the nodes of a patch; log w_k changes with g_k/e
static void add_node(const node_point *at, double weight, double e, kd_wheel_patch *sum)
{
    sum->share += weight;
    sum->slope += weight * at->slope;
    for (int l = 0; l < 3; l++) sum->rho[l] += weight * at->rho[l];
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) {
        const double change = weight * at->g_x[i] / e;
        sum->share_x[i] += change;
        sum->slope_x[i] += change * at->slope + weight * at->slope_x[i];
        for (int l = 0; l < 3; l++)
            sum->rho_x[l][i] += change * at->rho[l] + (i < 2 ? 0.0 : weight * at->rho_n[l][i - 2]);
    }
}

// From sums to means: m = s/share, m_x = (s_x - m share_x)/share
static void make_mean(const kd_wheel_patch *sum, double *mean, double *mean_x)
{
    *mean /= sum->share;
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) mean_x[i] = (mean_x[i] - *mean * sum->share_x[i]) / sum->share;
}

void kd_wheel_patches_at(const kd_wheel *w, const double in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread,
                         kd_wheel_patch patch[2])
{
    node_point at;
    patch[0] = patch[1] = (kd_wheel_patch){.share = 0.0};
    for (int k = 0; k < spread->n; k++) {
        const int node = spread->node[k], flange = w->side * w->node[node] - w->def->spacing <= w->split;
        node_at(w, in, node, &at);
        add_node(&at, spread->weight[k], w->def->elastic, &patch[flange]);
    }
    // weights w_k = exp(g_k/e)/sum: the sum of all changes, too
    double all_x[KD_WHEEL_INPUTS];
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) all_x[i] = patch[0].share_x[i] + patch[1].share_x[i];
    for (int side = 0; side < 2; side++) {
        kd_wheel_patch *p = &patch[side];
        if (!(p->share > 0.0)) continue;
        make_mean(p, &p->slope, p->slope_x);
        for (int l = 0; l < 3; l++) make_mean(p, &p->rho[l], p->rho_x[l]);
        for (int i = 0; i < KD_WHEEL_INPUTS; i++) p->share_x[i] -= p->share * all_x[i];
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
    const double   size = table ? 1 : size_of(w), most = table ? SHORT : LONG * size; // tables are as large as they are
    double         xi = table ? best_of_grid(w, in, -WIDE * size, WIDE * size, 200) : kd_wheel_nominal(w);
    kd_wheel_point at;
    for (int i = 0; i < MOST_ITERATIONS; i++) {
        kd_wheel_at(w, in, xi, &at);
        // Newton for c = 0; too far from the rolling circle there is no contact
        double step = -at.c / at.c_x[KD_WHEEL_INPUTS];
        if (!(fabs(step) < HUGE_VAL) || fabs(w->side * xi - w->def->spacing) > REACH * size) return NAN;
        step = fmax(-most, fmin(most, step));
        xi += step;
        if (fabs(step) < ARRIVED * size) return xi;
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

// What all nodes have in common: 1/q, (n_x/q)^2, n_x^2/q (n_y, n_z)
typedef struct axle_jets {
    kd_jet per_q, a2, by, bz;
} axle_jets;

static axle_jets axle_of(const kd_jet in[KD_WHEEL_INPUTS])
{
    const kd_jet nx = in[2], ny = in[3], nz = in[4];
    const kd_jet per_q = kd_jet_div(kd_jet_const(1.0), kd_jet_add(kd_jet_mul(ny, ny), kd_jet_mul(nz, nz)));
    const kd_jet a = kd_jet_mul(nx, per_q), b = kd_jet_mul(a, nx);
    return (axle_jets){per_q, kd_jet_mul(a, a), kd_jet_mul(b, ny), kd_jet_mul(b, nz)};
}

// g of node k: xi, R and R' do not move
static kd_jet node_gap(const kd_wheel *w, const kd_jet in[KD_WHEEL_INPUTS], const axle_jets *x, int k)
{
    const double xi = w->node[k], R = w->R[k], R1 = w->R1[k];
    const kd_jet ny = in[3], nz = in[4];
    // B = sqrt(1/q - R'^2 (n_x/q)^2), R u_y = R (B n_z - R' n_x^2 n_y/q), R u_z = -R (B n_y + R' n_x^2 n_z/q)
    const kd_jet B = kd_jet_scale(R, kd_jet_sqrt(kd_jet_sub(x->per_q, kd_jet_scale(R1 * R1, x->a2))));
    const kd_jet uy = kd_jet_sub(kd_jet_mul(B, nz), kd_jet_scale(R * R1, x->by));
    const kd_jet uz = kd_jet_add(kd_jet_mul(B, ny), kd_jet_scale(R * R1, x->bz)); // downwards
    const kd_jet Y = kd_jet_add(in[0], kd_jet_add(kd_jet_scale(xi, ny), uy));
    const kd_jet Z = kd_jet_add(in[1], kd_jet_sub(kd_jet_scale(xi, nz), uz));
    double       S[5];
    kd_wheel_head(w, Y.x, S);
    return kd_jet_sub(chain(Y, S), Z);
}

// e log(sum w exp((g_k - g_k0)/e)) + g: the weights are those of the values
kd_jet kd_wheel_soft_gap(const kd_wheel *w, const kd_jet in[KD_WHEEL_INPUTS], const kd_wheel_spread *spread)
{
    const double    e = w->def->elastic;
    const axle_jets axle = axle_of(in);
    kd_jet          sum = kd_jet_const(0.0);
    for (int k = 0; k < spread->n; k++) {
        kd_jet g = kd_jet_scale(1.0 / e, node_gap(w, in, &axle, spread->node[k]));
        g.x = 0.0;
        sum = kd_jet_add(sum, kd_jet_scale(spread->weight[k], kd_jet_chain1(g, 1.0, 1.0, 1.0, 1.0)));
    }
    kd_jet out = kd_jet_scale(e, kd_jet_chain1(sum, 0.0, 1.0, -1.0, 2.0)); // log at 1
    out.x = spread->g;
    return out;
}
