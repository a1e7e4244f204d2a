// fekete.c: elliptic Fekete points: 20 particles on the unit sphere repel each other and come to rest.
//
//     p_i' = v_i,   v_i' = -v_i/2 + sum_{j != i} (p_i - p_j) / |p_i - p_j|^2 - 2 p_i lambda_i,   0 = |p_i|^2 - 1
//     gI_i = 2 p_i.v_i,   gII_i = 2 p_i.a_i + 2 |v_i|^2,   potential -sum_{i<j} log |p_i - p_j|
//
// Source: Test Set for Initial Value Problem Solvers, problem "fekete". The source has the stabilised index-2 form with
// a second multiplier (zero on the solution), which is a matter of the formulation here, and + 2 p_i lambda_i: the
// multipliers have the opposite sign here.
#include "gallery.h"
#include "support.h"
#include <math.h>

enum { N = 20, NP = 3 * N, NPAIR = N * (N - 1) / 2 };

#define PI 3.14159265358979323846

typedef struct work {
    unsigned long position_stamp;
    double        delta[NPAIR][3]; // p_i - p_j, j < i
    double        inverse[NPAIR];  // 1 / |p_i - p_j|^2
    double        force[NP];
} work;

static void *make_work(void *context)
{
    (void)context;
    work *k = kd_alloc(sizeof *k);
    if (k) k->position_stamp = KD_NO_STAMP;
    return k;
}

static const work *at_position(work *k, const kd_point *x)
{
    if (k->position_stamp == x->position_stamp) return k;
    memset(k->force, 0, sizeof k->force);
    for (int i = 1, pair = 0; i < N; i++) {
        const double *pi = x->p + 3 * i;
        double        sum[3] = {0};
        for (int j = 0; j < i; j++, pair++) {
            const double *pj = x->p + 3 * j;
            double       *d = k->delta[pair], *fj = k->force + 3 * j;
            d[0] = pi[0] - pj[0], d[1] = pi[1] - pj[1], d[2] = pi[2] - pj[2];
            const double inverse = 1 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            const double f0 = d[0] * inverse, f1 = d[1] * inverse, f2 = d[2] * inverse;
            k->inverse[pair] = inverse;
            sum[0] += f0, sum[1] += f1, sum[2] += f2;
            fj[0] -= f0, fj[1] -= f1, fj[2] -= f2;
        }
        for (int m = 0; m < 3; m++) k->force[3 * i + m] += sum[m];
    }
    k->position_stamp = x->position_stamp;
    return k;
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    const work *k = at_position(context, x);
    for (int i = 0; i < N; i++) {
        const double twice = 2 * x->lambda[i];
        for (int m = 3 * i; m < 3 * i + 3; m++) out[m] = x->a[m] + 0.5 * x->v[m] - k->force[m] + twice * x->p[m];
    }
    return KD_EVAL_OK;
}

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 0; i < NP; i++) *kd_entry(out, NP, i, i) = 1;
    return KD_EVAL_OK;
}

static double dot(const double *y, const double *z)
{
    return y[0] * z[0] + y[1] * z[1] + y[2] * z[2];
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < N; i++) out[i] = dot(x->p + 3 * i, x->p + 3 * i) - 1;
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < N; i++) out[i] = 2 * dot(x->p + 3 * i, x->v + 3 * i);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < N; i++) out[i] = 2 * (dot(x->p + 3 * i, x->a + 3 * i) + dot(x->v + 3 * i, x->v + 3 * i));
    return KD_EVAL_OK;
}

static kd_eval energies(const kd_point *x, void *context, kd_energies *out)
{
    const work *k = at_position(context, x);
    double      twice_kinetic = 0, potential = 0;
    for (int i = 0; i < NP; i++) twice_kinetic += x->v[i] * x->v[i];
    for (int i = 0; i < NPAIR; i++) potential += 0.5 * log(k->inverse[i]);
    *out = (kd_energies){.kinetic = 0.5 * twice_kinetic, .potential = potential, .dissipated = 0.5 * twice_kinetic};
    return KD_EVAL_OK;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

// Pair block B = d/dp_i of the force on i from j = I/r^2 - 2 d d'/r^4; the residual has -B at (i,i), (j,j), +B at
// (i,j), (j,i)
static void residual_by_p(const work *k, const kd_point *x, double *out)
{
    memset(out, 0, NP * NP * sizeof *out);
    for (int i = 1, pair = 0; i < N; i++)
        for (int j = 0; j < i; j++, pair++) {
            const double *d = k->delta[pair], inverse = k->inverse[pair], twice = 2 * inverse * inverse;
            for (int n = 0; n < 3; n++)
                for (int m = 0; m < 3; m++) {
                    const double B = (m == n ? inverse : 0) - twice * d[m] * d[n];
                    *kd_entry(out, NP, 3 * i + m, 3 * i + n) -= B;
                    *kd_entry(out, NP, 3 * j + m, 3 * j + n) -= B;
                    *kd_entry(out, NP, 3 * i + m, 3 * j + n) = B;
                    *kd_entry(out, NP, 3 * j + m, 3 * i + n) = B;
                }
        }
    for (int i = 0; i < NP; i++) *kd_entry(out, NP, i, i) += 2 * x->lambda[i / 3];
}

// N x NP matrix with the row blocks factor y_i' on its diagonal
static void block_rows(double factor, const double *y, double *out)
{
    memset(out, 0, N * NP * sizeof *out);
    for (int m = 0; m < NP; m++) *kd_entry(out, N, m / 3, m) = factor * y[m];
}

static kd_eval residual_derivative(const kd_point *x, kd_var var, void *context, double *out)
{
    if (var == KD_A) return mass(x, context, out);
    if (var == KD_P) residual_by_p(at_position(context, x), x, out);
    if (var == KD_V) {
        memset(out, 0, NP * NP * sizeof *out);
        for (int i = 0; i < NP; i++) *kd_entry(out, NP, i, i) = 0.5;
    }
    if (var == KD_LAMBDA) {
        memset(out, 0, NP * N * sizeof *out);
        for (int m = 0; m < NP; m++) *kd_entry(out, NP, m, m / 3) = 2 * x->p[m];
    }
    return KD_EVAL_OK;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    (void)part; // all forces count as stiff
    if (fn == KD_RESIDUAL) return residual_derivative(x, var, context, out);
    if ((fn == KD_G && var == KD_P) || (fn == KD_GI && var == KD_V) || (fn == KD_GII && var == KD_A))
        block_rows(2, x->p, out);
    else if (fn == KD_GI)
        block_rows(2, x->v, out);
    else
        block_rows(var == KD_P ? 2 : 4, var == KD_P ? x->a : x->v, out);
    return KD_EVAL_OK;
}

#define COORDINATES(i) "point " #i " x", "point " #i " y", "point " #i " z"
#define VELOCITIES(i) "point " #i " velocity x", "point " #i " velocity y", "point " #i " velocity z"
#define ON_SPHERE(i) "point " #i " on the sphere"
#define TWENTY(X)                                                                                                      \
    X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15), X(16), X(17),      \
        X(18), X(19), X(20)

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const p[] = {TWENTY(COORDINATES)}, *const v[] = {TWENTY(VELOCITIES)};
    static const char *const lambda[] = {TWENTY(ON_SPHERE)};
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

// Four rings of points: count, longitude of the ring's offset, latitude (longitudes 2 pi n / count + offset).
static void initial_points(double *p)
{
    static const struct ring {
        int    count, first;
        double offset, latitude;
    } rings[] = {{3, 1, PI / 13, 3 * PI / 8},
                 {7, 1, PI / 29, PI / 8},
                 {6, 1, PI / 7, -2 * PI / 15},
                 {4, 0, PI / 17, -3 * PI / 10}};
    for (size_t r = 0; r < sizeof rings / sizeof *rings; r++)
        for (int n = rings[r].first; n < rings[r].first + rings[r].count; n++, p += 3) {
            const double a = 2 * PI * n / rings[r].count + rings[r].offset, b = rings[r].latitude;
            p[0] = cos(a) * cos(b);
            p[1] = sin(a) * cos(b);
            p[2] = sin(b);
        }
}

static kd_status create(kd_eom **eom, kd_state **x, kd_inputs *inputs)
{
    double p[NP], lambda[N];
    initial_points(p);
    for (int i = 0; i < N; i++) lambda[i] = 0.25 * (N - 1); // p_i . force_i = (N - 1)/2 on the sphere
    kd_eom_def def = kd_eom_def_default();
    def.title = "Fekete points on the sphere";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = N};
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
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;
    def.name = name;
    def.make_work = make_work;
    def.free_work = kd_free;
    if (inputs) *inputs = (kd_inputs){0};
    return kd_gallery_create(&def, &(kd_start){.p = p, .lambda = lambda}, eom, x);
}

// clang-format off
// [p v lambda] at t = 1000: recomputed in quadruple precision, confirmed in another arithmetic to 3e-14; the
// published vector agrees to 2.5e-12
static const double reference[2 * NP + N] = {
    -4.0702633803312869e-01, 3.4637587728172029e-01, 8.4519424500209412e-01,
    7.7529347524638217e-02, -2.6286627199499434e-01, 9.6171228718357214e-01,
    7.1005778333431518e-01, 1.2129480555943527e-01, 6.9361770051712024e-01,
    2.3482677445649464e-01, 7.4492779769356092e-01, 6.2445092859389662e-01,
    -4.3411147387728025e-01, 8.7854304422729528e-01, 1.9927204442151971e-01,
    -9.5150596003105066e-01, 2.2035087628037146e-01, 2.1466694982661179e-01,
    -6.3851916436167997e-01, -4.3108332593675323e-01, 6.3754250277308485e-01,
    -1.4641750879265169e-01, -9.3808716352194934e-01, 3.1393372987670065e-01,
    5.6669740650605156e-01, -6.7392218850719042e-01, 4.7400731354800197e-01,
    9.8432595384383731e-01, -1.6969953578330544e-01, -4.8005042905412606e-02,
    1.4641750879265169e-01, 9.3808716352194934e-01, -3.1393372987670065e-01,
    -7.0927575499713873e-01, 5.2640626371368277e-01, -4.6885429388695963e-01,
    -8.6657318192899515e-01, -4.8138780597487248e-01, -1.3159293529728411e-01,
    -2.3478977787097117e-01, -8.5943404080212911e-01, -4.5414412879373911e-01,
    5.5309769400657230e-01, -7.6743702656296606e-01, -3.2422731400177475e-01,
    7.7110509699045129e-01, 6.3570418165685808e-01, 3.5736855196436830e-02,
    7.1039512093842872e-01, 2.4035704312558919e-01, -6.6148867259145027e-01,
    -3.0382087386571449e-02, 4.5019232936191940e-01, -8.9241458714530424e-01,
    -5.7729961581070862e-01, -1.7667634149841486e-01, -7.9718920209668151e-01,
    2.4144817669673547e-01, -3.4164568183980673e-01, -9.0828465034373203e-01,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    0, 0, 0,
    4.75, 4.75, 4.75,
    4.75, 4.75, 4.75,
    4.75, 4.75, 4.75,
    4.75, 4.75, 4.75,
    4.75, 4.75, 4.75,
    4.75, 4.75, 4.75,
    4.75, 4.75,
};
// clang-format on

const kd_example kd_example_fekete = {
    .name = "fekete",
    .title = "Fekete points: 20 particles on a sphere",
    .about = "Sixty coordinates, twenty constraints, long smooth approach to rest. Source: Test Set for Initial Value "
             "Problem Solvers, problem fekete; multipliers have the opposite sign here.",
    .t_end = 1000,
    .create = create,
    .reference = reference,
    .digits = 13,
};
