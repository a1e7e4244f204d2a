// test_initial_systems.c: consistent initial values of loops, contacts, quaternions, skates and friction, against closed
// solutions and independent minimisation.
#include "start/initial_cases.h"

// ---- loops, redundancy, inactive rows -------------------------------------------------------------------------------

typedef struct loop {
    double l[3], d;
    int    copies; // how often the closure is written down
} loop;

static kd_eval loop_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 9 * sizeof *M);
    M[0] = 2.0, M[4] = 0.5, M[8] = 1.0;
    return KD_EVAL_OK;
}

static kd_eval loop_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    for (int i = 0; i < 3; i++) f[i] = -GRAVITY * cos(x->p[i]);
    return KD_EVAL_OK;
}

static kd_eval loop_g(const kd_point *x, void *context, double *g)
{
    const loop *c = context;
    for (int k = 0; k < c->copies; k++) {
        g[2 * k] = (k + 1.0) * (c->l[0] * cos(x->p[0]) + c->l[1] * cos(x->p[1]) - c->l[2] * cos(x->p[2]) - c->d);
        g[2 * k + 1] = (k + 1.0) * (c->l[0] * sin(x->p[0]) + c->l[1] * sin(x->p[1]) - c->l[2] * sin(x->p[2]));
    }
    return KD_EVAL_OK;
}

static kd_eom *loop_eom(loop *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2 * c->copies};
    def.context = c;
    def.M = loop_M;
    def.f = loop_f;
    def.g = loop_g;
    return make(&def);
}

static const double loop_start[] = {1.2, 0.1, 1.4};

// Distance of the pose with crank angle p0 from the start, in the M-norm; the branch near the start.
static double loop_distance(double crank, const void *context)
{
    const loop *c = context;
    double      dx = c->l[0] * cos(crank) - c->d, dy = c->l[0] * sin(crank), r = hypot(dx, dy);
    // l1 (cos, sin)(p1) = l2 (cos, sin)(p2) - (dx, dy)
    double base = atan2(dy, dx), u = (c->l[2] * c->l[2] + r * r - c->l[1] * c->l[1]) / (2.0 * c->l[2] * r);
    double p2 = base - acos(u), p1 = atan2(c->l[2] * sin(p2) - dy, c->l[2] * cos(p2) - dx);
    double e0 = crank - loop_start[0], e1 = p1 - loop_start[1], e2 = p2 - loop_start[2];
    return 2.0 * e0 * e0 + 0.5 * e1 * e1 + e2 * e2;
}

// Four-bar loop: the pose is the closest of the one-parameter family of closed poses.
static void test_four_bar(void **unused)
{
    (void)unused;
    loop      c = {{1.0, 2.0, 1.5}, 2.2, 1};
    kd_eom   *eom = loop_eom(&c);
    kd_state *x = state_of(eom);
    memcpy(x->p, loop_start, sizeof loop_start);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-10);
    double crank = minimise(loop_distance, &c, 0.8, 1.6);
    CHECK(x->p[0], crank, 1e-6);
    finish(eom, x);
}

// Redundant closures change neither the motion nor the status; the multipliers are those of least norm.
static void test_redundant(void **unused)
{
    (void)unused;
    loop      one = {{1.0, 2.0, 1.5}, 2.2, 1}, two = {{1.0, 2.0, 1.5}, 2.2, 2};
    kd_eom   *eom1 = loop_eom(&one), *eom2 = loop_eom(&two);
    kd_state *x1 = state_of(eom1), *x2 = state_of(eom2);
    memcpy(x1->p, loop_start, sizeof loop_start);
    memcpy(x2->p, loop_start, sizeof loop_start);
    x1->v[0] = x2->v[0] = 1.0;
    for (int i = 0; i < 4; i++) x2->lambda[i] = 100.0 * i; // must not show in the result
    assert_int_equal(solve(eom1, NULL, x1), KD_CORRECTED);
    assert_int_equal(solve(eom2, NULL, x2), KD_CORRECTED);
    for (int i = 0; i < 3; i++) {
        CHECK(x2->p[i], x1->p[i], 1e-8);
        CHECK(x2->v[i], x1->v[i], 1e-8);
        CHECK(x2->a[i], x1->a[i], 1e-5);
    }
    for (int i = 0; i < 2; i++) { // lambda + 2 lambda2 = lambda1, least norm: (1, 2) lambda1 / 5
        CHECK(x2->lambda[i], x1->lambda[i] / 5.0, 1e-5);
        CHECK(x2->lambda[i + 2], 2.0 * x1->lambda[i] / 5.0, 1e-5);
    }
    assert_non_null(strstr(message, "2 of 4 constraints are redundant")); // beside what moved
    assert_int_equal(solve(eom2, NULL, x2), KD_REDUNDANT);
    assert_true(strncmp(message, "2 of 4 constraints are redundant", 32) == 0);
    assert_int_equal(solve(eom1, NULL, x1), KD_OK);
    assert_string_equal(message, "");
    finish(eom1, x1);
    finish(eom2, x2);
}

// An inactive row is no equation, and its multiplier is 0.
static void test_inactive_row(void **unused)
{
    (void)unused;
    pendulum  c = unit_pendulum();
    kd_eom   *eom = pendulum_eom(&c);
    kd_state *x = state_of(eom);
    x->p[0] = 9.0, x->lambda[0] = 3.0, x->active_lambda[0] = 0;
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_true(x->p[0] == 9.0 && x->lambda[0] == 0.0);
    CHECK(x->a[1], -GRAVITY, 1e-12);
    finish(eom, x);
}

// ---- contact coordinates --------------------------------------------------------------------------------------------

typedef struct parabola {
    double curvature;
    bool   singular; // c does not contain s
} parabola;

static kd_eval contact_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 1.0, M[1] = M[2] = 0.0, M[3] = 3.0;
    return KD_EVAL_OK;
}

static kd_eval contact_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0.0, f[1] = -3.0 * GRAVITY;
    return KD_EVAL_OK;
}

// (p - X(s)) . X'(s) = 0,  X(s) = (s, k s^2 / 2)
static kd_eval contact_c(const kd_point *x, void *context, double *c)
{
    const parabola *k = context;
    double          s = x->s[0], n = x->p[1] - 0.5 * k->curvature * s * s;
    c[0] = k->singular ? x->p[0] : x->p[0] - s + n * k->curvature * s;
    return KD_EVAL_OK;
}

// distance along the normal
static kd_eval contact_g(const kd_point *x, void *context, double *g)
{
    const parabola *k = context;
    double          s = x->s[0], n = x->p[1] - 0.5 * k->curvature * s * s;
    g[0] = n - k->curvature * s * (x->p[0] - s);
    return KD_EVAL_OK;
}

static const char *contact_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_S ? "foot" : kind == KD_NAME_LAMBDA ? "touch" : NULL;
}

static kd_eom *contact_eom(parabola *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .ns = 1, .nlambda = 1};
    def.context = c;
    def.M = contact_M;
    def.f = contact_f;
    def.c = contact_c;
    def.g = contact_g;
    def.name = contact_name;
    return make(&def);
}

static double parabola_distance(double s, const void *context)
{
    const double *at = context; // x, y, curvature
    double        dx = s - at[0], dy = 0.5 * at[2] * s * s - at[1];
    return dx * dx + 3.0 * dy * dy;
}

// A point on a curve whose parameter s is a contact coordinate: closest point of the curve, s = its parameter, and the
// multiplier of a bead on a wire.
static void test_contact_coordinates(void **unused)
{
    (void)unused;
    parabola  c = {.curvature = 0.8};
    kd_eom   *eom = contact_eom(&c);
    kd_state *x = state_of(eom);
    double    at[] = {0.9, 1.6, c.curvature}, s = minimise(parabola_distance, at, 0.0, 4.0);
    x->p[0] = at[0], x->p[1] = at[1], x->s[0] = 0.2, x->v[0] = 1.0;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->p[0], s, 1e-7);
    CHECK(x->p[1], 0.5 * c.curvature * s * s, 1e-7);
    CHECK(x->s[0], x->p[0], 1e-9);
    CHECK(x->v[1], c.curvature * s * x->v[0], 1e-6);
    check_consistent(eom, x, 1e-8);
    CHECK(x->a[1], c.curvature * (x->v[0] * x->v[0] + s * x->a[0]), 1e-4); // y'' of y = k x^2 / 2
    double p[] = {x->p[0], x->p[1]};
    x->s[0] += 0.3; // s alone is wrong: p stays where it is, to the tolerance
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->s[0], p[0], 1e-9);
    CHECK(x->p[0], p[0], 1e-9);
    finish(eom, x);

    parabola flat = {.curvature = 0.8, .singular = true};
    eom = contact_eom(&flat);
    x = state_of(eom);
    x->p[0] = 0.1, x->p[1] = 0.5, x->s[0] = 0.5;
    check_failure(eom, NULL, x, KD_ERR_SINGULAR_CS, "foot", NULL);
    finish(eom, x);
}

// ---- quaternions ----------------------------------------------------------------------------------------------------

// Body with centre r (world) and orientation q (scalar first), v = (r', omega in the body). One body point is fixed.
static const double lever[] = {0.3, -0.2, 0.5}, inertia[] = {2.0, 2.0, 2.0, 0.3, 0.5, 0.1};

static void rotate(const double *q, const double *a, double *out)
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    double w[] = {q[2] * a[2] - q[3] * a[1], q[3] * a[0] - q[1] * a[2], q[1] * a[1] - q[2] * a[0]};
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = a[i] + 2.0 / n * (q[0] * w[i] + q[j + 1] * w[k] - q[k + 1] * w[j]);
    }
}

static kd_eval body_Z(const kd_point *x, void *context, double *Z)
{
    (void)context;
    const double *q = x->p + 3;
    memset(Z, 0, 42 * sizeof *Z);
    for (int i = 0; i < 3; i++) Z[i + 7 * i] = 1.0;
    const double E[4][3] = {{-q[1], -q[2], -q[3]}, {q[0], -q[3], q[2]}, {q[3], q[0], -q[1]}, {-q[2], q[1], q[0]}};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++) Z[3 + i + 7 * (3 + j)] = 0.5 * E[i][j];
    return KD_EVAL_OK;
}

// q <- q exp(e / 2)
static kd_eval body_oplus(const double *p, const double *e, void *context, double *out)
{
    (void)context;
    double angle = sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5]), k = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    double d[] = {cos(0.5 * angle), k * e[3], k * e[4], k * e[5]}, q[4];
    memcpy(q, p + 3, sizeof q);
    for (int i = 0; i < 3; i++) out[i] = p[i] + e[i];
    out[3] = q[0] * d[0] - q[1] * d[1] - q[2] * d[2] - q[3] * d[3];
    out[4] = q[0] * d[1] + q[1] * d[0] + q[2] * d[3] - q[3] * d[2];
    out[5] = q[0] * d[2] - q[1] * d[3] + q[2] * d[0] + q[3] * d[1];
    out[6] = q[0] * d[3] + q[1] * d[2] - q[2] * d[1] + q[3] * d[0];
    return KD_EVAL_OK;
}

static kd_eval body_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 36 * sizeof *M);
    for (int i = 0; i < 6; i++) M[i + 6 * i] = inertia[i];
    return KD_EVAL_OK;
}

static kd_eval body_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    const double *o = x->v + 3, *J = inertia + 3;
    memset(f, 0, 6 * sizeof *f);
    f[2] = -2.0 * GRAVITY;
    f[3] = (J[1] - J[2]) * o[1] * o[2];
    f[4] = (J[2] - J[0]) * o[2] * o[0];
    f[5] = (J[0] - J[1]) * o[0] * o[1];
    return KD_EVAL_OK;
}

static kd_eval body_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    rotate(x->p + 3, lever, g);
    for (int i = 0; i < 3; i++) g[i] += x->p[i];
    return KD_EVAL_OK;
}

static kd_eval body_q(const kd_point *x, void *context, double *out)
{
    (void)context;
    const double *q = x->p + 3;
    out[0] = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0;
    return KD_EVAL_OK;
}

static kd_eom *body_eom(bool own_oplus)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 7, .nv = 6, .nlambda = 3, .nq = 1};
    def.Z = body_Z;
    def.M = body_M;
    def.f = body_f;
    def.g = body_g;
    def.q = body_q;
    if (own_oplus) def.oplus = body_oplus;
    return make(&def);
}

static const double body_start[] = {-0.1, 0.3, -0.9, 0.8, 0.2, -0.4, 0.4};

// Distance |e|_M of the pose with rotation increment phi and the body point at the origin.
static double body_distance(const double *start, const double *phi, double *p)
{
    double e[6] = {0, 0, 0, phi[0], phi[1], phi[2]}, arm[3], sum = 0.0;
    (void)body_oplus(start, e, NULL, p);
    rotate(p + 3, lever, arm);
    for (int i = 0; i < 3; i++) e[i] = -arm[i] - start[i];
    memcpy(p, (double[]){-arm[0], -arm[1], -arm[2]}, 3 * sizeof *p);
    for (int i = 0; i < 6; i++) sum += inertia[i] * e[i] * e[i];
    return sum;
}

// Body hinged at a point: closest pose against a pattern search over the three rotation increments; the quaternion of
// the guess is not normalised. The built-in move of positions finds a consistent pose nearby as well.
static void test_quaternion_body(void **unused)
{
    (void)unused;
    kd_eom   *eom = body_eom(true);
    kd_state *x = state_of(eom);
    memcpy(x->p, body_start, sizeof body_start);
    for (int i = 0; i < 6; i++) x->v[i] = 0.3 * i - 0.5;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-9);

    double start[7], norm = 0.0, phi[3] = {0}, best, p[7];
    memcpy(start, body_start, sizeof start);
    for (int i = 3; i < 7; i++) norm += start[i] * start[i];
    for (int i = 3; i < 7; i++) start[i] /= sqrt(norm);
    best = body_distance(start, phi, p);
    for (double step = 0.1; step > 1e-10; step *= 0.5)
        for (bool better = true; better;) {
            better = false;
            for (int k = 0; k < 6; k++) {
                double old = phi[k / 2];
                phi[k / 2] += k % 2 ? step : -step;
                double d = body_distance(start, phi, p);
                if (d < best - 1e-16)
                    best = d, better = true;
                else
                    phi[k / 2] = old;
            }
        }
    (void)body_distance(start, phi, p);
    for (int i = 0; i < 7; i++) CHECK(x->p[i], p[i], 2e-6);
    assert_true(fabs(phi[0]) + fabs(phi[1]) + fabs(phi[2]) > 0.1); // far enough that the turning chart matters
    finish(eom, x);

    eom = body_eom(false);
    x = state_of(eom);
    memcpy(x->p, body_start, sizeof body_start);
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    check_consistent(eom, x, 1e-9);
    for (int i = 0; i < 7; i++) CHECK(x->p[i], p[i], 0.1);
    memset(x->p + 3, 0, 4 * sizeof(double)); // no rotation at all
    check_failure(eom, NULL, x, KD_ERR_IV_NO_CONVERGENCE, "norm equation", NULL);
    finish(eom, x);
}

// ---- skate, friction ------------------------------------------------------------------------------------------------

static kd_eval skate_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    memset(M, 0, 9 * sizeof *M);
    M[0] = M[4] = 2.0, M[8] = 0.3;
    return KD_EVAL_OK;
}

static kd_eval skate_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 1.0, f[1] = -2.0, f[2] = 0.1;
    return KD_EVAL_OK;
}

static kd_eval skate_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = -sin(x->p[2]) * x->v[0] + cos(x->p[2]) * x->v[1];
    return KD_EVAL_OK;
}

// A skate does not slide sideways: the sideways velocity is removed, the rest kept; a and mu of the closed solution.
static void test_skate(void **unused)
{
    (void)unused;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nmu = 1};
    def.M = skate_M;
    def.f = skate_f;
    def.h = skate_h;
    kd_eom   *eom = make(&def);
    kd_state *x = state_of(eom);
    double    angle = 0.7, along[] = {cos(angle), sin(angle)}, side[] = {-sin(angle), cos(angle)};
    x->p[2] = angle;
    x->v[0] = 3.0 * along[0] + 0.5 * side[0], x->v[1] = 3.0 * along[1] + 0.5 * side[1], x->v[2] = 0.4;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    CHECK(x->v[0], 3.0 * along[0], 1e-10);
    CHECK(x->v[1], 3.0 * along[1], 1e-10);
    CHECK(x->v[2], 0.4, 1e-12);
    // hI = side . a - omega (along . v) = 0;  m side . a = side . f - mu
    CHECK(x->mu[0], side[0] - 2.0 * side[1] - 2.0 * 0.4 * 3.0, 1e-6);
    CHECK(side[0] * x->a[0] + side[1] * x->a[1], 0.4 * 3.0, 1e-6);
    x->active_mu[0] = 0;
    x->v[1] += 1.0;
    assert_int_equal(solve(eom, NULL, x), KD_OK);
    assert_true(x->mu[0] == 0.0);
    finish(eom, x);
}

typedef struct block {
    double friction, force;
    bool   singular; // d does not contain w
} block;

static kd_eval block_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 2.0, M[1] = M[2] = 0.0;
    return KD_EVAL_OK;
}

static kd_eval block_f(const kd_point *x, void *context, double *f)
{
    const block *c = context;
    f[0] = c->force - x->w[0];
    f[1] = -2.0 * GRAVITY + 0.3 * c->force;
    return KD_EVAL_OK;
}

static kd_eval block_d(const kd_point *x, void *context, double *d)
{
    const block *c = context;
    d[0] = (c->singular ? 0.0 : x->w[0]) - c->friction * sqrt(1e-12 + x->lambda[0] * x->lambda[0]);
    return KD_EVAL_OK;
}

static kd_eval block_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1];
    return KD_EVAL_OK;
}

static const char *block_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_W ? "dry friction" : NULL;
}

static kd_eom *block_eom(block *c)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nw = 1, .nlambda = 1};
    def.context = c;
    def.M = block_M;
    def.f = block_f;
    def.d = block_d;
    def.g = block_g;
    def.name = block_name;
    return make(&def);
}

// Block sliding on the ground: lambda = -(weight - lift), friction w = coefficient |lambda|, nonlinear in lambda.
static void test_friction(void **unused)
{
    (void)unused;
    block     c = {.friction = 0.4, .force = 30.0};
    kd_eom   *eom = block_eom(&c);
    kd_state *x = state_of(eom);
    x->p[1] = 0.2, x->v[0] = 1.0, x->v[1] = -0.3;
    assert_int_equal(solve(eom, NULL, x), KD_CORRECTED);
    double normal = 2.0 * GRAVITY - 9.0;
    CHECK(x->lambda[0], -normal, 1e-9);
    CHECK(x->w[0], 0.4 * normal, 1e-9);
    CHECK(x->a[0], (30.0 - 0.4 * normal) / 2.0, 1e-9);
    kd_initial_options opt = kd_initial_options_default();
    opt.compute_multipliers = false;
    x->w[0] = 77.0;
    assert_int_equal(solve(eom, &opt, x), KD_OK);
    assert_true(x->w[0] == 77.0);
    finish(eom, x);

    block without = {.friction = 0.4, .force = 30.0, .singular = true};
    eom = block_eom(&without);
    x = state_of(eom);
    check_failure(eom, NULL, x, KD_ERR_SINGULAR_DW, "dry friction", NULL);
    finish(eom, x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_bar),        cmocka_unit_test(test_redundant),
        cmocka_unit_test(test_inactive_row),    cmocka_unit_test(test_contact_coordinates),
        cmocka_unit_test(test_quaternion_body), cmocka_unit_test(test_skate),
        cmocka_unit_test(test_friction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
