// The checker passes right definitions and names the entry of every planted error.
#include "systems.h"

static kd_status run_check(const kd_eom_def *def, const place *x, char *report, size_t size)
{
    kd_eom   *eom = make(def);
    kd_state *state;
    kd_dims   n = kd_eom_dims(eom);
    assert_int_equal(kd_state_create(eom, &state), KD_OK);
    state->t = x->t;
    memcpy(state->p, x->p, (size_t)n.np * sizeof(double));
    memcpy(state->v, x->v, (size_t)n.nv * sizeof(double));
    memcpy(state->s, x->s, (size_t)n.ns * sizeof(double));
    memcpy(state->r, x->r, (size_t)n.nr * sizeof(double));
    memcpy(state->w, x->w, (size_t)n.nw * sizeof(double));
    kd_status status = kd_eom_check(eom, NULL, state, NULL, report, size);
    kd_state_destroy(state);
    kd_eom_destroy(eom);
    return status;
}

static void passes(const kd_eom_def *def, const place *x)
{
    char report[2000];
    if (run_check(def, x, report, sizeof report) != KD_OK) fail_msg("%s: %s", def->title, report);
    assert_string_equal(report, "");
}

static void finds(const kd_eom_def *def, const place *x, const char *expected)
{
    char report[4000];
    if (run_check(def, x, report, sizeof report) != KD_ERR_CHECK) fail_msg("not found: %s", expected);
    if (!strstr(report, expected)) fail_msg("expected '%s' in:\n%s", expected, report);
}

// Right definitions pass: all systems, with everything and with parts left out.
static void test_right_definitions(void **state)
{
    (void)state;
    const place contact_x = contact_place();
    struct {
        kd_eom_def   def;
        const place *x;
    } systems[] = {{pendulum(), &pendulum_place},
                   {rod(), &rod_place},
                   {contact(), &contact_x},
                   {body(), &body_place},
                   {skate(), &skate_place}};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        kd_eom_def def = systems[i].def;
        passes(&def, systems[i].x);
        def.gI = NULL;
        passes(&def, systems[i].x);
        def.gII = def.hI = NULL;
        passes(&def, systems[i].x);
    }
    kd_eom_def def = pendulum();
    def.residual = pendulum_residual;
    def.acceleration = pendulum_acceleration;
    passes(&def, &pendulum_place);
    def.M = def.f = NULL;
    passes(&def, &pendulum_place);
}

// ---- planted errors -------------------------------------------------------------------------------------------------

static kd_eval twice_gI(const kd_point *x, void *context, double *g)
{
    pendulum_gI(x, context, g);
    g[0] += x->p[1] * x->v[1];
    return KD_EVAL_OK;
}
// A wrong factor in gI is named by row, constraint and velocity.
static void test_wrong_gI(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.gI = twice_gI;
    finds(&def, &pendulum_place,
          "gI row 0 (constraint 'rod length') by v[1] (rate of 'y'): supplied -2.4, differences say -1.2");
}

static kd_eval wrong_gII(const kd_point *x, void *context, double *g)
{
    pendulum_gII(x, context, g);
    g[0] -= 2.0 * x->v[0] * x->v[0];
    return KD_EVAL_OK;
}
static kd_eval wrong_gII_a(const kd_point *x, void *context, double *g)
{
    pendulum_gII(x, context, g);
    g[0] -= 0.1 * x->a[1];
    return KD_EVAL_OK;
}
static kd_eval wrong_rod_gII(const kd_point *x, void *context, double *g)
{
    rod_gII(x, context, g);
    g[0] -= 0.1 * x->ddu[0];
    return KD_EVAL_OK;
}
// Wrong velocity terms, acceleration terms and input terms of gII.
static void test_wrong_gII(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.gII = wrong_gII;
    finds(&def, &pendulum_place, "gII row 0 (constraint 'rod length'): supplied");
    def.gII = wrong_gII_a;
    finds(&def, &pendulum_place, "gII row 0 (constraint 'rod length') by a[1]");
    def = rod();
    def.gII = wrong_rod_gII;
    finds(&def, &rod_place, "gII row 0 (lambda[0]): supplied");
}

static kd_eval wrong_hI(const kd_point *x, void *context, double *h)
{
    skate_hI(x, context, h);
    h[0] += 0.3 * x->v[1] * x->v[2];
    return KD_EVAL_OK;
}
static kd_eval quadratic_h(const kd_point *x, void *context, double *h)
{
    skate_h(x, context, h);
    h[0] += 0.3 * x->v[1] * x->v[2];
    return KD_EVAL_OK;
}
// hI that is not the derivative of h; h that is not linear in v.
static void test_wrong_h(void **state)
{
    (void)state;
    kd_eom_def def = skate();
    def.hI = wrong_hI;
    finds(&def, &skate_place, "hI row 0 (mu[0]): supplied");
    def = skate();
    def.h = quadratic_h;
    finds(&def, &skate_place, "linear in v it would be");
}

// Every supplied block of the pendulum, one entry wrong at a time.
typedef struct plant {
    kd_fn  fn;
    kd_var var;
    int    entry;
} plant;
static kd_eval planted_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    const plant *wrong = context;
    kd_eval      answer = pendulum_derivative(x, fn, var, part, NULL, D);
    if (fn == wrong->fn && var == wrong->var) D[wrong->entry] += 0.01;
    return answer;
}
static void test_wrong_blocks(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    static const struct {
        plant       wrong;
        const char *expected;
    } cases[] = {
        {{KD_RESIDUAL, KD_P, 2}, "residual row 0 (p 'x') by p[1] ('y'): supplied 0.01, differences say "},
        {{KD_RESIDUAL, KD_V, 3}, "residual row 1 (p 'y') by v[1]"},
        {{KD_RESIDUAL, KD_W, 0}, "residual row 0 (p 'x') by w[0]: supplied 1.01, differences say 1"},
        {{KD_B, KD_P, 1}, "b row 0 (r[0]) by p[1]"},
        {{KD_B, KD_V, 0}, "b row 0 (r[0]) by v[0]"},
        {{KD_B, KD_R, 0}, "b row 0 (r[0]) by r[0]: supplied -1.99, differences say -2"},
        {{KD_D, KD_W, 0}, "d row 0 (w[0]) by w[0]"},
        {{KD_G, KD_P, 0}, "g row 0 (constraint 'rod length') by p[0] ('x'): supplied 0.91, differences say 0.9"},
        {{KD_GI, KD_P, 1}, "gI row 0 (constraint 'rod length') by p[1]"},
        {{KD_GI, KD_V, 1}, "gI row 0 (constraint 'rod length') by v[1]"},
        {{KD_GII, KD_P, 0}, "gII row 0 (constraint 'rod length') by p[0]"},
        {{KD_GII, KD_V, 1}, "gII row 0 (constraint 'rod length') by v[1]"},
        {{KD_GII, KD_A, 0}, "gII row 0 (constraint 'rod length') by a[0] (acceleration to rate of 'x'): "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char  report[1000];
        plant wrong = cases[i].wrong;
        def.context = &wrong;
        def.derivative = planted_derivative;
        finds(&def, &pendulum_place, cases[i].expected);
        // and nothing else
        assert_int_equal(run_check(&def, &pendulum_place, report, sizeof report), KD_ERR_CHECK);
        assert_null(strchr(report, '\n'));
    }
}

// A block that is said to vanish does not.
static void test_wrong_zero(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.given[KD_B] = 0;
    def.zero[KD_B] = KD_BIT(KD_R) | KD_BIT(KD_LAMBDA);
    finds(&def, &pendulum_place, "b row 0 (r[0]) by r[0]: zero[] says 0, differences say -2");
}

static kd_eval wrong_residual(const kd_point *x, void *context, double *out)
{
    pendulum_residual(x, context, out);
    out[1] += 0.5;
    return KD_EVAL_OK;
}
static kd_eval wrong_sign_residual(const kd_point *x, void *context, double *out)
{
    pendulum_residual(x, context, out);
    out[0] -= 2.0 * x->p[0] * x->lambda[0];
    return KD_EVAL_OK;
}
static kd_eval wrong_acceleration(const kd_point *x, void *context, double *a)
{
    pendulum_acceleration(x, context, a);
    a[1] *= 1.01;
    return KD_EVAL_OK;
}
static kd_eval no_acceleration(const kd_point *x, void *context, double *a)
{
    (void)x, (void)context, (void)a;
    return KD_EVAL_RETRY;
}
// Residual against M and f, constraint forces with the wrong sign, explicit formalism, which may have no answer.
static void test_wrong_dynamics(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.given[KD_RESIDUAL] = 0;
    def.residual = wrong_residual;
    finds(&def, &pendulum_place, "residual row 1 (p 'y'): supplied");
    def.residual = wrong_sign_residual;
    def.M = def.f = NULL;
    finds(&def, &pendulum_place,
          "residual row 0 (p 'x') by lambda[0] ('rod length'): supplied -0.9, (GZ)' by differences says 0.9");
    def = pendulum();
    def.acceleration = wrong_acceleration;
    finds(&def, &pendulum_place, "in residual row 1 (p 'y'), should be 0");
    def.acceleration = no_acceleration;
    passes(&def, &pendulum_place);
}

static kd_eval skew_M(const kd_point *x, void *context, double *M)
{
    pendulum_M(x, context, M);
    M[1] = 0.3;
    return KD_EVAL_OK;
}
static kd_eval varying_M(const kd_point *x, void *context, double *M)
{
    pendulum_M(x, context, M);
    M[3] += x->p[0];
    return KD_EVAL_OK;
}
// M that is not symmetric, not diagonal, not constant.
static void test_wrong_mass(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.M = skew_M;
    finds(&def, &pendulum_place, "M[1,0] = 0.3, but mass_structure says diagonal");
    def.mass_structure = KD_MASS_FULL;
    finds(&def, &pendulum_place, "M[1,0] = 0.3 and M[0,1] = 0: M must be symmetric");
    def = pendulum();
    def.M = varying_M;
    def.given[KD_RESIDUAL] = 0;
    finds(&def, &pendulum_place, "but mass_structure says constant");
}

static kd_eval timed_f(const kd_point *x, void *context, double *f)
{
    pendulum_f(x, context, f);
    f[1] += 0.1 * x->t;
    return KD_EVAL_OK;
}
static kd_eval friction_f(const kd_point *x, void *context, double *f)
{
    pendulum_f(x, context, f);
    f[0] -= 0.1 * x->lambda[0];
    return KD_EVAL_OK;
}
// Time in an autonomous system; multipliers in f.
static void test_wrong_promises(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.f = timed_f;
    finds(&def, &pendulum_place, "f row 1 (p 'y') changes with t");
    def = pendulum();
    def.f = friction_f;
    finds(&def, &pendulum_place,
          "f row 0 (p 'x') depends on lambda[0] ('rod length'), but force_of_multipliers is not set");
    def.force_of_multipliers = true;
    passes(&def, &pendulum_place);
}

static kd_eval wrong_Z(const kd_point *x, void *context, double *Z)
{
    body_Z(x, context, Z);
    Z[3 * 7 + 3] *= -1.0;
    return KD_EVAL_OK;
}
static kd_eval wrong_kinematics(const kd_point *x, void *context, double *out)
{
    body_kinematics(x, context, out);
    out[5] *= 2.0;
    return KD_EVAL_OK;
}
static kd_eval wrong_oplus(const double *p, const double *e, void *context, double *out)
{
    double twice[6];
    for (int i = 0; i < 6; i++) twice[i] = i < 3 ? e[i] : 2.0 * e[i];
    return body_oplus(p, twice, context, out);
}
static kd_eval first_order_oplus(const double *p, const double *e, void *context, double *out)
{
    double   Z[42];
    kd_point x = {.p = p};
    body_Z(&x, context, Z);
    for (int i = 0; i < 7; i++) {
        out[i] = p[i];
        for (int j = 0; j < 6; j++) out[i] += Z[j * 7 + i] * e[j];
    }
    return KD_EVAL_OK;
}
// Kinematics: q_p Z, kinematics against Z, oplus to first and second order, derivative of q by all coordinates.
static kd_eval wrong_q_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    kd_eval answer = body_derivative(x, fn, var, part, context, D);
    if (fn == KD_Q) D[5] *= 0.5;
    return answer;
}
static kd_eval wrong_g_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    kd_eval answer = body_derivative(x, fn, var, part, context, D);
    if (fn == KD_G && var == KD_P) D[4 * 3] += 0.5;
    return answer;
}
static const char *body_name(kd_kind kind, int i, void *context)
{
    (void)context;
    if (kind == KD_NAME_P && i == 3) return "quaternion 0";
    return kind == KD_NAME_V && i == 3 ? "spin x" : NULL;
}
static void test_wrong_kinematics(void **state)
{
    (void)state;
    kd_eom_def def = body();
    def.Z = wrong_Z;
    finds(&def, &body_place, "q row 0 (q[0]) changes along v[3]");
    def = body();
    def.kinematics = wrong_kinematics;
    finds(&def, &body_place, "kinematics row 5 (p[5]): supplied");
    def = body();
    def.oplus = wrong_oplus;
    finds(&def, &body_place, "oplus moves p[3] by -0.5 along v[3], Z says -0.25");
    def.oplus = first_order_oplus;
    finds(&def, &body_place, "oplus is not of second order in p[3]");
    def.name = body_name;
    finds(&def, &body_place, "oplus is not of second order in p[3] ('quaternion 0')");
    def.oplus = wrong_oplus;
    finds(&def, &body_place, "oplus moves p[3] ('quaternion 0') by -0.5 along v[3] ('spin x'), Z says -0.25");
    def = body();
    def.name = body_name;
    def.derivative = wrong_g_derivative;
    finds(&def, &body_place, "by p along v[4]: supplied");
    def = body();
    def.derivative = wrong_q_derivative;
    finds(&def, &body_place, "q row 0 (q[0]) by p[5]: supplied -0.5, differences say -1");
}

static kd_eval forgetful_y(const kd_point *x, void *context, double *y)
{
    (void)context;
    y[0] = x->p[0];
    return KD_EVAL_OK;
}
static kd_eval stop_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    (void)context;
    (void)f;
    return KD_EVAL_STOP;
}
// An entry that is never written, and a function that stops, are reported.
static void test_unusable(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.y = forgetful_y;
    finds(&def, &pendulum_place, "output y: row 1 (y[1]) was not set");
    def = pendulum();
    def.f = stop_f;
    finds(&def, &pendulum_place, "force f asked to stop");
}

// Wrong block of a contact equation, in a system where s is solved for.
static kd_eval wrong_contact_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *D)
{
    kd_eval answer = contact_derivative(x, fn, var, part, context, D);
    if (fn == KD_C && var == KD_S) D[1] += 0.1;
    return answer;
}
static void test_wrong_contact(void **state)
{
    (void)state;
    place      x = contact_place();
    kd_eom_def def = contact();
    def.derivative = wrong_contact_derivative;
    finds(&def, &x, "c row 1 (s[1]) by s[0]");
}

// Arguments are checked; a short report is cut off, not overrun; no report is fine.
static void test_arguments(void **state)
{
    (void)state;
    kd_eom_def def = pendulum();
    def.gI = twice_gI;
    kd_eom   *eom = make(&def);
    kd_state *x;
    char      report[8] = "1234567";
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = 0.9, x->p[1] = -1.2;
    assert_int_equal(kd_eom_check(NULL, NULL, x, NULL, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_eom_check(eom, NULL, NULL, NULL, NULL, 0), KD_ERR_ARGUMENT);
    kd_check_options opt = kd_check_options_default();
    opt.tolerance = 0.0;
    assert_int_equal(kd_eom_check(eom, NULL, x, &opt, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_eom_check(eom, NULL, x, NULL, NULL, 0), KD_ERR_CHECK);
    assert_int_equal(kd_eom_check(eom, NULL, x, NULL, report, 5), KD_ERR_CHECK);
    assert_string_equal(report, "gI r");
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_definitions), cmocka_unit_test(test_wrong_gI),
        cmocka_unit_test(test_wrong_gII),         cmocka_unit_test(test_wrong_h),
        cmocka_unit_test(test_wrong_blocks),      cmocka_unit_test(test_wrong_zero),
        cmocka_unit_test(test_wrong_dynamics),    cmocka_unit_test(test_wrong_mass),
        cmocka_unit_test(test_wrong_promises),    cmocka_unit_test(test_wrong_kinematics),
        cmocka_unit_test(test_unusable),          cmocka_unit_test(test_wrong_contact),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
