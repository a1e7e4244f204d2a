// Slider crank with a flexible connecting rod as equations in C, against its reference solution, and from its other start by two
// methods.
//
//     p = (phi1 crank angle, phi2 rod angle, x3 slider, q1 q2 lateral modes, q3 q4 longitudinal displacements at middle and end)
//     M(p) v' = f(p, v) - G' lambda
//     g1 = L1 sin phi1 + (L2 + q4) sin phi2,  g2 = x3 - L1 cos phi1 - (L2 + q4) cos phi2,  g3 = phi1 - OMEGA t
//
// Source: B. Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs, Mathematical Modelling of
// Systems 2 (1996) 1-18; Test Set for Initial Value Problem Solvers, problem "crank", without damping and gravity, linear stiffness. Pi
// has seven decimals there. The printed start is consistent to 9 digits only; here positions and velocities are moved onto the
// constraints, which the reference belongs to, too (../shared/benchmarks/slidercrank.md).
#include "gallery_run.h"

#define M2 0.151104
#define M3 0.075552
#define L1 0.15
#define L2 0.30
#define J1 0.002727
#define J2 0.0045339259
#define YOUNG 0.2e12
#define B 0.008 // width and height of the rod
#define H 0.008
#define RHO 7870.0
#define OMEGA 150.0
#define PI7 3.1415927 // as in the source
#define FM (RHO * B * H * L2)
#define FK (YOUNG * B * H / L2)
#define FB (B * H * L2)

enum { NP = 7, NG = 3, NQ = 4 };

// clang-format off
static const double MQ[NQ][NQ] = {{FM / 2, 0, 0, 0}, {0, FM / 2, 0, 0}, {0, 0, 8 * FM, FM}, {0, 0, FM, 2 * FM}};
static const double KQ[NQ][NQ] = {
    {FK * PI7 * PI7 * PI7 * PI7 / 24 * (H / L2) * (H / L2), 0, 0, 0},
    {0, FK * PI7 * PI7 * PI7 * PI7 * 2 / 3 * (H / L2) * (H / L2), 0, 0},
    {0, 0, FK * 16 / 3, -FK * 8 / 3},
    {0, 0, -FK * 8 / 3, FK * 7 / 3}};
#define B13 (-16 * FB / (PI7 * PI7 * PI7))
#define B14 (FB * (8 / (PI7 * PI7 * PI7) - 1 / PI7))
#define B24 (FB / (2 * PI7))
static const double BQ[NQ][NQ] = {{0, 0, B13, B14}, {0, 0, 0, B24}, {-B13, 0, 0, 0}, {-B14, -B24, 0, 0}};
static const double c1[NQ] = {0, 0, FB * 2 / 3, FB / 6}, c2[NQ] = {FB * 2 / PI7, 0, 0, 0};
static const double c12[NQ] = {0, 0, L2 * FB / 3, L2 * FB / 6}, c21[NQ] = {L2 * FB / PI7, -L2 * FB / (2 * PI7), 0, 0};
// clang-format on

// Entry (i, j) of a column-major matrix
static double *entry(double *A, int rows, int i, int j)
{
    return &A[j * rows + i];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

static void times(const double A[NQ][NQ], const double *x, double *out)
{
    for (int i = 0; i < NQ; i++) out[i] = dot(A[i], x);
}

// ---- equations ------------------------------------------------------------------------------------------------------

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, *q = p + 3, s = sin(p[0] - p[1]), c = cos(p[0] - p[1]);
    double        Mq[NQ], Bq[NQ];
    (void)context;
    times(MQ, q, Mq);
    times(BQ, q, Bq);
    memset(out, 0, (size_t)NP * NP * sizeof *out);
    *entry(out, NP, 0, 0) = J1 + M2 * L1 * L1;
    *entry(out, NP, 0, 1) = *entry(out, NP, 1, 0) =
        0.5 * L1 * L2 * M2 * c + RHO * L1 * (s * dot(c2, q) + c * dot(c1, q));
    *entry(out, NP, 1, 1) = J2 + dot(q, Mq) + 2 * RHO * dot(c12, q);
    *entry(out, NP, 2, 2) = M3;
    for (int i = 0; i < NQ; i++) {
        // (q' BQ)_i = -(BQ q)_i: BQ is antisymmetric
        const double first = RHO * L1 * (c * c2[i] - s * c1[i]), second = RHO * (c21[i] - Bq[i]);
        *entry(out, NP, 0, 3 + i) = *entry(out, NP, 3 + i, 0) = first;
        *entry(out, NP, 1, 3 + i) = *entry(out, NP, 3 + i, 1) = second;
        for (int j = 0; j < NQ; j++) *entry(out, NP, 3 + i, 3 + j) = MQ[i][j];
    }
    return KD_EVAL_OK;
}

static void forces(const double *p, const double *v, double *f)
{
    const double *q = p + 3, *dq = v + 3, s = sin(p[0] - p[1]), c = cos(p[0] - p[1]), v1 = v[0], v2 = v[1];
    double        Mq[NQ], Bdq[NQ], Kq[NQ];
    times(MQ, q, Mq);
    times(BQ, dq, Bdq);
    times(KQ, q, Kq);
    f[0] = -0.5 * L1 * L2 * M2 * v2 * v2 * s + RHO * L1 * v2 * v2 * (c * dot(c2, q) - s * dot(c1, q)) -
           2 * RHO * L1 * v2 * (c * dot(c1, dq) + s * dot(c2, dq));
    f[1] = 0.5 * L1 * L2 * M2 * v1 * v1 * s + RHO * L1 * v1 * v1 * (s * dot(c1, q) - c * dot(c2, q)) -
           2 * RHO * v2 * dot(c12, dq) - 2 * v2 * dot(dq, Mq) - RHO * dot(dq, Bdq);
    f[2] = 0;
    for (int i = 0; i < NQ; i++)
        f[3 + i] = v2 * v2 * Mq[i] +
                   RHO * (v2 * v2 * c12[i] + L1 * v1 * v1 * (c * c1[i] + s * c2[i]) + 2 * v2 * Bdq[i]) - Kq[i];
}

// G' lambda
static void constraint_forces(const double *p, const double *lambda, double *out)
{
    const double rod = L2 + p[6], s1 = sin(p[0]), k1 = cos(p[0]), s2 = sin(p[1]), k2 = cos(p[1]);
    memset(out, 0, NP * sizeof *out);
    out[0] = lambda[0] * L1 * k1 + lambda[1] * L1 * s1 + lambda[2];
    out[1] = rod * (lambda[0] * k2 + lambda[1] * s2);
    out[2] = lambda[1];
    out[6] = lambda[0] * s2 - lambda[1] * k2;
}

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    double f[NP], r[NP], M[NP * NP];
    if (mass(x, context, M) != KD_EVAL_OK) return KD_EVAL_STOP;
    forces(x->p, x->v, f);
    constraint_forces(x->p, x->lambda, r);
    for (int i = 0; i < NP; i++) {
        out[i] = r[i] - f[i];
        for (int j = 0; j < NP; j++) out[i] += *entry(M, NP, i, j) * x->a[j];
    }
    return KD_EVAL_OK;
}

static kd_eval g(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, rod = L2 + p[6];
    (void)context;
    out[0] = L1 * sin(p[0]) + rod * sin(p[1]);
    out[1] = p[2] - L1 * cos(p[0]) - rod * cos(p[1]);
    out[2] = p[0] - OMEGA * x->t;
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, *v = x->v, rod = L2 + p[6], s2 = sin(p[1]), k2 = cos(p[1]);
    (void)context;
    out[0] = L1 * cos(p[0]) * v[0] + rod * k2 * v[1] + s2 * v[6];
    out[1] = v[2] + L1 * sin(p[0]) * v[0] + rod * s2 * v[1] - k2 * v[6];
    out[2] = v[0] - OMEGA;
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    const double *p = x->p, *v = x->v, *a = x->a, rod = L2 + p[6];
    const double  s1 = sin(p[0]), k1 = cos(p[0]), s2 = sin(p[1]), k2 = cos(p[1]);
    (void)context;
    out[0] =
        L1 * (k1 * a[0] - s1 * v[0] * v[0]) + rod * (k2 * a[1] - s2 * v[1] * v[1]) + 2 * k2 * v[1] * v[6] + s2 * a[6];
    out[1] = a[2] + L1 * (s1 * a[0] + k1 * v[0] * v[0]) + rod * (s2 * a[1] + k2 * v[1] * v[1]) + 2 * s2 * v[1] * v[6] -
             k2 * a[6];
    out[2] = a[0];
    return KD_EVAL_OK;
}

// ---- derivatives: the constraint matrix; all others are differences -------------------------------------------------

static void constraint_matrix(const double *p, double *out)
{
    static const double unit[NG][NG] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double              row[NP];
    for (int i = 0; i < NG; i++) {
        constraint_forces(p, unit[i], row);
        for (int j = 0; j < NP; j++) *entry(out, NG, i, j) = row[j];
    }
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    double G[NG * NP];
    (void)part;
    if (fn == KD_RESIDUAL && var == KD_A) return mass(x, context, out);
    constraint_matrix(x->p, G);
    if (fn == KD_RESIDUAL) // by lambda
        for (int i = 0; i < NP; i++)
            for (int j = 0; j < NG; j++) *entry(out, NP, i, j) = *entry(G, NG, j, i);
    else
        memcpy(out, G, sizeof G);
    return KD_EVAL_OK;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// close to the smooth motion ("init 1"), and as if the rod were rigid ("init 2")
static const double START[2][2][NP] = {
    {{0, 0, 0.45001693283965788, 0, 0, 1.0333980955263158e-05, 1.6932839657894737e-05},
     {150, -74.995767029006259, -2.6893867200000001e-06, 0.44489611054015549, 0.0046343403399502206, -1.78591076e-06,
      -2.6893867200000001e-06}},
    {{0, 0, L1 + L2}, {OMEGA, -OMEGA / 2}},
};

// clang-format off
// [p v lambda] at t = 0.1 from the first start: quadruple precision, extrapolation
static const double REFERENCE[2 * NP + NG] = {
    15, -0.33117349880536928, 0.16973733265866495, 0.00018931928629604153, 2.3757515537502462e-05, -5.3239016157702193e-06, -8.3632956017458714e-06,
    150, 60.253466993113364, -8.7531168384377427, -0.03005530738555575, -0.0055004717228804142, 0.00049775330665751197, 0.00110507643311704,
    -62.329127878068647, -163.79151606010961, 25.29855317846857};
// clang-format on

// How large positions and velocities become in a turn of the crank
static const double SIZE[2 * NP] = {1, 1, 0.1, 1e-3, 4e-5, 1e-5, 1e-5, 100, 60, 20, 0.4, 5e-3, 2e-3, 3e-3};

static kd_eom *make_equations(void)
{
    kd_eom    *eom = NULL;
    kd_eom_def def = kd_eom_def_default();
    def.title = "slider crank with a flexible rod";
    def.dims = (kd_dims){.np = NP, .nv = NP, .nlambda = NG};
    def.residual = residual;
    def.M = mass;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.derivative = derivative;
    def.given[KD_RESIDUAL] = KD_BIT(KD_A) | KD_BIT(KD_LAMBDA);
    def.given[KD_G] = KD_BIT(KD_P);
    def.given[KD_GI] = KD_BIT(KD_V);
    def.given[KD_GII] = KD_BIT(KD_A);
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    return eom;
}

// Positions and velocities at the end
static void run(int start, kd_formulation formulation, kd_integrator_kind integrator, double rtol, double t_end,
                double *end)
{
    char                  message[500] = "";
    kd_eom               *eom = make_equations();
    kd_state             *x = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    memcpy(x->p, START[start][0], NP * sizeof *x->p);
    memcpy(x->v, START[start][1], NP * sizeof *x->v);
    opt.formulation = formulation;
    opt.integrator = integrator;
    opt.rtol = rtol;
    opt.atol = 1e-6 * rtol;
    opt.integrator_options.max_steps = 1000000;
    const kd_status status = kd_simulate(eom, NULL, &opt, x, t_end, NULL, message, sizeof message);
    if (status < 0) fail_msg("%s", message);
    memcpy(end, x->p, NP * sizeof *end);
    memcpy(end + NP, x->v, NP * sizeof *end);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Eight digits of the reference in positions at the end, beside the size that they have; rates of the stretch, which vibrate with
// 25000 rad/s, have seven.
static void reference(void **state)
{
    double end[2 * NP];
    (void)state;
    run(0, KD_PSF, KD_RADAU, 3e-11, 0.1, end);
    for (int i = 0; i < 2 * NP; i++) {
        const double error = fabs(end[i] - REFERENCE[i]) / SIZE[i];
        if (error > (i < NP ? 1e-8 : 2e-7))
            fail_msg("component %d: %.15g instead of %.15g, %.2g of its size", i, end[i], REFERENCE[i], error);
    }
}

// The rod that starts without deformation vibrates: two methods with nothing in common agree.
static void rigid_start(void **state)
{
    double one[2 * NP], other[2 * NP];
    (void)state;
    run(1, KD_PSF, KD_RADAU, 1e-8, 0.01, one);
    run(1, KD_ODE, KD_DOP853, 1e-10, 0.01, other);
    for (int i = 0; i < 2 * NP; i++) assert_true(fabs(one[i] - other[i]) <= 1e-4 * SIZE[i]);
    assert_true(fabs(one[6]) > 1e-6);
}

// The same as a model file: bending of the rod and the slider beside the reference. Left out are the rod's stretch, which is all of the
// slider's difference, and what the equations leave out: the inertia of turning sections.
static void as_model(void **state)
{
    static table        result;
    static const double rows[][4] = {{0.005, 1.6142237414303869e-03, 2.5336338863120927e-05, 3.9180276434371382e-01},
                                     {0.05, 1.2739426602462165e-03, 4.2086882048834319e-05, 3.1695478650301963e-01},
                                     {0.1, 1.8931928629604152e-04, 2.3757515537502461e-05, 1.6973733265866494e-01}};
    (void)state;
    run_model("../tests/flexible/reference/crank.yaml", NULL, KD_JOINT, 0.1, 20, &result);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int k = (int)lround(rows[i][0] / 0.005);
        assert_close(at(&result, k, "bending1"), rows[i][1], 1e-6);
        assert_close(at(&result, k, "bending2"), rows[i][2], 1.5e-7);
        assert_close(at(&result, k, "slider"), rows[i][3], 2e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference), cmocka_unit_test(rigid_start),
                                       cmocka_unit_test(as_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
