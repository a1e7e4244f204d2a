// caraxis.c: car axis, index 3, rheonomic: two masses on stiff springs, joined by a bar, over an uneven road.
//
//     p = (xl, yl, xr, yr): left end hangs on a spring from the origin, right end on a spring from the road point
//     b(t) = (xb, yb),   yb = r sin(w t),   xb = sqrt(L^2 - yb^2)
//     k v' = F(p, t) - (0, k gamma, 0, k gamma) - G' lambda,   k = M eps^2 / 2, gamma = 1
//     F_l = (L0 / |l| - 1) l,  l = (xl, yl);   F_r = (L0 / |q| - 1) q,  q = (xr, yr) - b(t)
//     g1 = xl xb + yl yb,   g2 = (xl-xr)^2 + (yl-yr)^2 - L^2
//     G  = [xb yb 0 0; 2(xl-xr) 2(yl-yr) -2(xl-xr) -2(yl-yr)]
//
// All equations are multiplied by eps^2 against newton and metre, as in the source: Test Set for Initial Value Problem
// Solvers (Amsterdam, Bari), problem "caraxis", from S. Schneider. There k v' = ... + G' lambda, so that the
// multipliers here have the opposite sign.
#include "gallery.h"
#include "support.h"
#include <math.h>

#define LENGTH 1.0      // L, bar
#define FREE_LENGTH 0.5 // L0, springs
#define EPS 1e-2        // spring constant 1 / eps^2
#define MASS 10.0       // M, whole axis
#define K (MASS * EPS * EPS / 2)
#define AMPLITUDE 0.1  // r, road
#define FREQUENCY 10.0 // w, road
#define GAMMA 1.0      // gravity

enum { NP = 4, NG = 2 };

// What is kept between calls.
typedef struct work {
    unsigned long time_stamp, position_stamp;
    double        b[2], db[2], ddb[2]; // road point with time derivatives
    double        q[2];                // right spring
    double        fl, fr;              // L0 / |l| - 1, L0 / |q| - 1
    double        cl, cr;              // L0 / |l|^3, L0 / |q|^3
} work;

static void *make_work(void *context)
{
    (void)context;
    work *k = kd_alloc(sizeof *k);
    if (k) k->time_stamp = k->position_stamp = KD_NO_STAMP;
    return k;
}

// Road point: xb xb' = -yb yb',  xb xb'' = -(yb'^2 + yb yb'' + xb'^2)
static void at_time(work *k, const kd_point *x)
{
    if (k->time_stamp == x->time_stamp) return;
    const double sine = sin(FREQUENCY * x->t), cosine = cos(FREQUENCY * x->t);
    const double y = AMPLITUDE * sine, dy = AMPLITUDE * FREQUENCY * cosine, ddy = -FREQUENCY * FREQUENCY * y;
    const double xb = sqrt(LENGTH * LENGTH - y * y), dxb = -y * dy / xb;
    k->b[0] = xb, k->db[0] = dxb, k->ddb[0] = -(dy * dy + y * ddy + dxb * dxb) / xb;
    k->b[1] = y, k->db[1] = dy, k->ddb[1] = ddy;
    k->time_stamp = x->time_stamp;
    k->position_stamp = KD_NO_STAMP;
}

static void at_position(work *k, const kd_point *x)
{
    at_time(k, x);
    if (k->position_stamp == x->position_stamp) return;
    const double *p = x->p;
    k->q[0] = p[2] - k->b[0];
    k->q[1] = p[3] - k->b[1];
    const double l2 = p[0] * p[0] + p[1] * p[1], q2 = k->q[0] * k->q[0] + k->q[1] * k->q[1];
    const double l = FREE_LENGTH / sqrt(l2), q = FREE_LENGTH / sqrt(q2);
    k->fl = l - 1, k->cl = l / l2;
    k->fr = q - 1, k->cr = q / q2;
    k->position_stamp = x->position_stamp;
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    work *k = context;
    at_position(k, x);
    const double *p = x->p, *a = x->a, *lambda = x->lambda;
    const double  bar[2] = {2 * lambda[1] * (p[0] - p[2]), 2 * lambda[1] * (p[1] - p[3])};
    out[0] = K * a[0] - k->fl * p[0] + lambda[0] * k->b[0] + bar[0];
    out[1] = K * (a[1] + GAMMA) - k->fl * p[1] + lambda[0] * k->b[1] + bar[1];
    out[2] = K * a[2] - k->fr * k->q[0] - bar[0];
    out[3] = K * (a[3] + GAMMA) - k->fr * k->q[1] - bar[1];
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NP; i++) out[i * (NP + 1)] = K;
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    work *k = context;
    at_time(k, x);
    const double *p = x->p, dx = p[0] - p[2], dy = p[1] - p[3];
    out[0] = p[0] * k->b[0] + p[1] * k->b[1];
    out[1] = dx * dx + dy * dy - LENGTH * LENGTH;
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    work *k = context;
    at_time(k, x);
    const double *p = x->p, *v = x->v;
    out[0] = v[0] * k->b[0] + v[1] * k->b[1] + p[0] * k->db[0] + p[1] * k->db[1];
    out[1] = 2 * ((p[0] - p[2]) * (v[0] - v[2]) + (p[1] - p[3]) * (v[1] - v[3]));
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    work *k = context;
    at_time(k, x);
    const double *p = x->p, *v = x->v, *a = x->a;
    const double  dvx = v[0] - v[2], dvy = v[1] - v[3];
    out[0] =
        a[0] * k->b[0] + a[1] * k->b[1] + 2 * (v[0] * k->db[0] + v[1] * k->db[1]) + p[0] * k->ddb[0] + p[1] * k->ddb[1];
    out[1] = 2 * ((p[0] - p[2]) * (a[0] - a[2]) + (p[1] - p[3]) * (a[1] - a[3]) + dvx * dvx + dvy * dvy);
    return KD_EVAL_OK;
}

// ---- energies -------------------------------------------------------------------------------------------------------

// lambda1 of the motion at (t, p, v): (G G') lambda = G (F - k gravity) + k gII(a = 0)
static double guide_force(work *k, const kd_point *x)
{
    static const double zero[NP];
    const double       *p = x->p, dx = 2 * (p[0] - p[2]), dy = 2 * (p[1] - p[3]);
    const double force[NP] = {k->fl * p[0], k->fl * p[1] - K * GAMMA, k->fr * k->q[0], k->fr * k->q[1] - K * GAMMA};
    kd_point     still = *x;
    double       rest[NG];
    still.a = zero;
    (void)gII(&still, k, rest); // cannot fail
    const double a11 = LENGTH * LENGTH, a12 = k->b[0] * dx + k->b[1] * dy, a22 = 2 * (dx * dx + dy * dy);
    const double r1 = k->b[0] * force[0] + k->b[1] * force[1] + K * rest[0];
    const double r2 = dx * (force[0] - force[2]) + dy * (force[1] - force[3]) + K * rest[1];
    return (a22 * r1 - a12 * r2) / (a11 * a22 - a12 * a12);
}

// In joule: the equations divided by eps^2. The road supplies power through the spring, F_r . b', and through the
// guide, lambda1 dg1/dt at fixed p.
static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    work *k = context;
    at_position(k, x);
    const double *p = x->p, *v = x->v, joule = 1 / (EPS * EPS);
    const double  left = FREE_LENGTH - FREE_LENGTH / (k->fl + 1), right = FREE_LENGTH - FREE_LENGTH / (k->fr + 1);
    const double  spring = k->fr * (k->q[0] * k->db[0] + k->q[1] * k->db[1]);
    const double  guide = guide_force(k, x) * (p[0] * k->db[0] + p[1] * k->db[1]);
    *out = (kd_energies){
        .kinetic = joule * 0.5 * K * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]),
        .potential = joule * (0.5 * (left * left + right * right) + K * GAMMA * (p[1] + p[3])),
        .supplied = joule * (spring + guide),
    };
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// Row 1 is (y1, y2, 0, 0), row 2 is z (d1, d2, -d1, -d2).
static void rows(const double y[2], double z, double d1, double d2, double *out)
{
    out[0] = y[0], out[2] = y[1], out[4] = 0, out[6] = 0;
    out[1] = z * d1, out[3] = z * d2, out[5] = -out[1], out[7] = -out[3];
}

static void constraint_matrix(const work *k, const kd_point *x, double *out)
{
    rows(k->b, 2, x->p[0] - x->p[2], x->p[1] - x->p[3], out);
}

// Spring block -dF/dy = -f I + c y y'
static void spring_block(double f, double c, const double *y, double block[2][2])
{
    block[0][0] = c * y[0] * y[0] - f;
    block[0][1] = block[1][0] = c * y[0] * y[1];
    block[1][1] = c * y[1] * y[1] - f;
}

static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    const double bar = 2 * x->lambda[1];
    double       left[2][2], right[2][2];
    spring_block(k->fl, k->cl, x->p, left);
    spring_block(k->fr, k->cr, k->q, right);
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            *kd_entry(out, NP, i, j) = left[i][j];
            *kd_entry(out, NP, i + 2, j + 2) = right[i][j];
        }
        *kd_entry(out, NP, i, i) += bar;
        *kd_entry(out, NP, i + 2, i + 2) += bar;
        *kd_entry(out, NP, i, i + 2) = *kd_entry(out, NP, i + 2, i) = -bar;
    }
}

// d/dt at fixed p: q' = -b'
static void residual_by_t(const work *k, const kd_point *x, double *out)
{
    double right[2][2];
    spring_block(k->fr, k->cr, k->q, right);
    for (int i = 0; i < 2; i++) {
        out[i] = x->lambda[0] * k->db[i];
        out[i + 2] = -(right[i][0] * k->db[0] + right[i][1] * k->db[1]);
    }
}

static void residual_by_lambda(const work *k, const kd_point *x, double *out)
{
    double G[NG * NP];
    constraint_matrix(k, x, G);
    for (int j = 0; j < NP; j++) out[j] = G[2 * j], out[j + NP] = G[2 * j + 1];
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    work         *k = context;
    const double *p = x->p, *v = x->v, *a = x->a;
    (void)part; // both springs are stiff
    at_position(k, x);
    switch (fn) {
    case KD_RESIDUAL:
        if (var == KD_P) residual_by_p(k, x, out);
        if (var == KD_A) return mass(x, context, out);
        if (var == KD_LAMBDA) residual_by_lambda(k, x, out);
        if (var == KD_T) residual_by_t(k, x, out);
        return KD_EVAL_OK;
    case KD_G:
        if (var == KD_P) constraint_matrix(k, x, out);
        if (var == KD_T) out[0] = p[0] * k->db[0] + p[1] * k->db[1], out[1] = 0;
        return KD_EVAL_OK;
    case KD_GI:
        if (var == KD_P) rows(k->db, 2, v[0] - v[2], v[1] - v[3], out);
        if (var == KD_V) constraint_matrix(k, x, out);
        if (var == KD_T) {
            out[0] = v[0] * k->db[0] + v[1] * k->db[1] + p[0] * k->ddb[0] + p[1] * k->ddb[1];
            out[1] = 0;
        }
        return KD_EVAL_OK;
    case KD_GII:
        if (var == KD_P) rows(k->ddb, 2, a[0] - a[2], a[1] - a[3], out);
        if (var == KD_V) rows((double[]){2 * k->db[0], 2 * k->db[1]}, 4, v[0] - v[2], v[1] - v[3], out);
        if (var == KD_A) constraint_matrix(k, x, out);
        return KD_EVAL_OK;
    default:
        return KD_EVAL_STOP;
    }
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {"left end x", "left end y", "right end x", "right end y"};
    static const char *const v[] = {"left end velocity x", "left end velocity y", "right end velocity x",
                                    "right end velocity y"};
    static const char *const lambda[] = {"left end guide", "bar length"};
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

static kd_status create(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    static const double p[NP] = {0, 0.5, 1, 0.5}, v[NP] = {-0.5, 0, -0.5, 0}, a[NP] = {0, -1, 0, -1};
    kd_eom_def          def = kd_eom_def_default();
    def.title = "car axis";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = NG};
    def.residual = residual;
    def.M = mass;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.energies = energies;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_P) | KD_BIT(KD_A) | KD_BIT(KD_LAMBDA) | KD_BIT(KD_T);
    def.zero[KD_RESIDUAL] = KD_BIT(KD_V);
    def.given[KD_G] = KD_BIT(KD_P) | KD_BIT(KD_T);
    def.given[KD_GI] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_T);
    def.given[KD_GII] = KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_A);
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    if (inputs) *inputs = (kd_inputs){0};
    return kd_gallery_create(&def, &(kd_start){.p = p, .v = v, .a = a}, eom, x);
}

// clang-format off
// [p v lambda] at t = 3: recomputed in quadruple precision (extrapolation of order 20 on the index-1 form); the
// published vector agrees to 12 digits in p, 9 in v and 7 in lambda. Sign of lambda changed, see above.
static const double reference[2 * NP + NG] = {
     4.93455784275240921e-02, 4.96989460230008107e-01, 1.04174252488542612e+00, 3.73911027265365819e-01,
    -7.70583684035920843e-02, 7.44686659206841649e-03, 1.75568157535417366e-02, 7.70341043779601063e-01,
     4.73688659085332652e-03, 1.10468033125956584e-03};
// clang-format on

const kd_example kd_example_caraxis = {
    .name = "caraxis",
    .title = "car axis over an uneven road",
    .about = "Stiff springs and a constraint that depends on time. Source: Test Set for Initial Value Problem Solvers, "
             "problem caraxis; multipliers have the opposite sign here.",
    .t_end = 3,
    .create = create,
    .reference = reference,
    .digits = 15,
};
