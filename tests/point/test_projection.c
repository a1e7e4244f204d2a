// Tests of coordinate projection: closest points in both norms, constraints to rounding, no drift, orders kept.
#include "core/failing_allocator.h"
#include "forms/whole.h"
#include "gallery.h"
#include "pendulum.h"
#include "point/projection.h"
#include "systems/systems.h"
#include <kardan/integrator.h>

static const kd_formulation forms[] = {KD_INDEX2, KD_INDEX1, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_ODE};
enum { FORMS = sizeof forms / sizeof *forms };

static kd_formulation_options projecting(kd_projection when, bool mass)
{
    kd_formulation_options opt = kd_formulation_options_default();
    opt.projection = when;
    opt.project_mass = mass;
    return opt;
}

// Largest |g|, |gI|, |h| at a state.
static double violation(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x)
{
    kd_dims      d = kd_eom_dims(eom);
    kd_eom_data *data = make_data(eom);
    double       u[4], du[4], ddu[4], rows[40], most = 0;
    const kd_fn  fns[] = {KD_G, KD_GI, KD_H};
    if (inputs && inputs->eval) assert_int_equal(inputs->eval(x->t, inputs->context, u, du, ddu), KD_EVAL_OK);
    assert_true(d.nlambda <= 40 && d.nmu <= 40 && d.nu <= 4);
    kd_eom_at_time(data, x->t, u, du, ddu, x->z);
    kd_eom_at_position(data, x->p, x->s);
    kd_eom_at_velocity(data, x->v, x->r);
    for (int k = 0; k < 3; k++) {
        int count = k < 2 ? d.nlambda : d.nmu;
        if (count > 0) assert_int_equal(kd_eom_eval(data, fns[k], rows), KD_EVAL_OK);
        for (int i = 0; i < count; i++) most = fmax(most, fabs(rows[i]));
    }
    kd_eom_data_destroy(data);
    return most;
}

// ---- one point ------------------------------------------------------------------------------------------------------

// W dp = C' nu: distance of W dp from the range of C' (nv = 4, one or two rows), relative
static double off_normal(const double *W_dp, const double *C, int rows)
{
    double left[4], size = 0, most = 0, basis[2][4];
    memcpy(left, W_dp, sizeof left);
    for (int k = 0; k < rows; k++) { // Gram-Schmidt
        double norm = 0;
        for (int i = 0; i < 4; i++) basis[k][i] = C[k * 4 + i];
        for (int j = 0; j < k; j++) {
            double dot = 0;
            for (int i = 0; i < 4; i++) dot += basis[k][i] * basis[j][i];
            for (int i = 0; i < 4; i++) basis[k][i] -= dot * basis[j][i];
        }
        for (int i = 0; i < 4; i++) norm += basis[k][i] * basis[k][i];
        for (int i = 0; i < 4; i++) basis[k][i] /= sqrt(norm);
        double dot = 0;
        for (int i = 0; i < 4; i++) dot += basis[k][i] * left[i];
        for (int i = 0; i < 4; i++) left[i] -= dot * basis[k][i];
    }
    for (int i = 0; i < 4; i++) {
        size = fmax(size, fabs(W_dp[i]));
        most = fmax(most, fabs(left[i]));
    }
    return most / size;
}

// The move is normal to the constraints in the norm that was asked for, and all levels hold afterwards.
static void nearest_point_in_both_norms(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    for (int mass = 0; mass < 2; mass++) {
        for (int k = 0; k < FORMS; k++) {
            kd_state *x = state_at(eom, &whole_place);
            make_consistent(eom, &whole_inputs, x);
            kd_formulation_options opt = projecting(KD_PROJECT_ALWAYS, mass);
            kd_dae                *dae = make_dae(eom, &whole_inputs, x, forms[k], &opt);
            double                 y[16], moved_p[4], M[16] = {0}, C[8], GZ[4], HZ[4], W[4];
            bool                   moved = false;
            unsigned               seed = 5;
            kd_formulation_pack(dae, x, y);
            for (int i = 0; i < 8; i++) y[i] += 1e-6 * scatter(&seed);
            memcpy(moved_p, y, sizeof moved_p);
            assert_int_equal(dae->methods->project(dae->impl, 0, y, &moved), KD_EVAL_OK);
            assert_true(moved);
            assert_int_equal(dae->methods->counters(dae->impl).projections, 1);
            kd_formulation_unpack(dae, 0, y, x);
            assert_true(violation(eom, &whole_inputs, x) < 1e-14);

            double       u[1], du[1], ddu[1];
            kd_eom_data *data = make_data(eom);
            whole_input(0, NULL, u, du, ddu);
            kd_eom_at_time(data, 0, u, du, ddu, NULL);
            kd_eom_at_position(data, x->p, x->s);
            assert_int_equal(kd_eom_constraint_matrices(data, GZ, HZ), KD_EVAL_OK);
            assert_int_equal(whole_M(kd_eom_point(data), NULL, M), KD_EVAL_OK);
            memcpy(C, GZ, sizeof GZ);
            memcpy(C + 4, HZ, sizeof HZ);
            for (int i = 0; i < 4; i++) {
                W[i] = 0;
                for (int j = 0; j < 4; j++) W[i] += (mass ? M[i + 4 * j] : i == j) * (y[j] - moved_p[j]);
            }
            // positions may move along h as well: K has all rows, with a right-hand side for g only
            assert_true(off_normal(W, C, 2) < 1e-4);
            kd_eom_data_destroy(data);
            kd_dae_destroy(dae);
            kd_state_destroy(x);
        }
    }
    kd_eom_destroy(eom);
}

// Forms that keep the constraints, and equations without any, have nothing to project; the others have unless NEVER.
static void projection_is_there_where_it_is_wanted(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    make_consistent(eom, &whole_inputs, x);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        bool open =
            form == KD_INDEX2 || form == KD_INDEX1 || form == KD_BAUMGARTE2 || form == KD_BAUMGARTE1 || form == KD_ODE;
        for (int when = KD_PROJECT_NEVER; when <= KD_PROJECT_ALWAYS; when++) {
            kd_formulation_options opt = projecting((kd_projection)when, true);
            kd_dae                *dae = make_dae(eom, &whole_inputs, x, (kd_formulation)form, &opt);
            assert_int_equal(dae->methods->project != NULL, open && when != KD_PROJECT_NEVER);
            kd_dae_destroy(dae);
        }
    }
    kd_dae                *dae;
    char                   message[120];
    kd_formulation_options opt = projecting(KD_PROJECT_BOUND, true);
    opt.projection_bound = 0;
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_INDEX1, &opt, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    opt = projecting((kd_projection)9, true);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_INDEX1, &opt, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Rows that are switched off are neither measured nor projected.
static void inactive_rows_are_left_alone(void **state)
{
    (void)state;
    kd_eom_def             def = whole();
    kd_eom                *eom = make(&def);
    kd_state              *x = state_at(eom, &whole_place);
    kd_formulation_options opt = projecting(KD_PROJECT_BOUND, true);
    double                 y[16], before[16];
    bool                   moved = true;
    make_consistent(eom, &whole_inputs, x);
    x->active_lambda[0] = x->active_mu[0] = 0;
    kd_dae *dae = make_dae(eom, &whole_inputs, x, KD_INDEX1, &opt);
    kd_formulation_pack(dae, x, y);
    y[3] += 0.5; // g = 0.5
    memcpy(before, y, sizeof y);
    assert_int_equal(dae->methods->project(dae->impl, 0, y, &moved), KD_EVAL_OK);
    assert_false(moved);
    assert_memory_equal(y, before, (size_t)dae->n * sizeof *y);
    x->active_lambda[0] = 1;
    assert_int_equal(dae->methods->project(dae->impl, 0, y, &moved), KD_EVAL_OK);
    assert_true(moved);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// Radau with constant steps h, Newton solved to rounding
static void constant_steps(kd_dae *dae, double h, double t_end, kd_state *x)
{
    kd_integrator        *radau;
    kd_integrator_options opt = kd_integrator_options_default();
    char                  message[200];
    double                y[40];
    assert_true(dae->n <= 40);
    opt.rtol = 0.5, opt.atol = 1;
    opt.h_first = opt.h_max = h;
    opt.radau.newton_stop = 1e-11;
    opt.radau.max_newton = 20;
    kd_formulation_pack(dae, x, y);
    assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, message, sizeof message), KD_OK);
    assert_int_equal(kd_integrator_start(radau, x->t, y), KD_OK);
    while (kd_integrator_time(radau) < t_end)
        if (kd_integrator_step(radau, t_end) < 0) fail_msg("%s: %s", dae->methods->name, kd_integrator_message(radau));
    assert_true(labs(kd_integrator_stats(radau).accepted - lround(t_end / h)) <= 1);
    kd_formulation_unpack(dae, t_end, kd_integrator_x(radau), x);
    kd_integrator_destroy(radau);
}

// Error of p and v after t_end with n steps; the exact values are given.
static double pendulum_error(kd_formulation form, const kd_formulation_options *opt, int n, double t_end)
{
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0};
    double       exact[4], most = 0;
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    kd_pendulum_exact(13.75, false, 2.9, t_end, exact, exact + 2, NULL);
    kd_dae *dae = make_dae(eom, NULL, x, form, opt);
    constant_steps(dae, t_end / n, t_end, x);
    for (int i = 0; i < 4; i++) most = fmax(most, fabs(x->p[i] - exact[i]));
    if (dae->methods->project) assert_true(violation(eom, NULL, x) < 1e-14);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return most;
}

// Order 5 of Radau IIa on the pendulum is measured with and without projection, in both norms.
static void order_of_radau_is_kept_on_the_pendulum(void **state)
{
    (void)state;
    for (int k = 0; k < FORMS; k++) {
        for (int variant = 0; variant < 3; variant++) {
            kd_formulation_options opt = projecting(variant == 0 ? KD_PROJECT_NEVER : KD_PROJECT_ALWAYS, variant == 1);
            double coarse = pendulum_error(forms[k], &opt, 60, 1.5), fine = pendulum_error(forms[k], &opt, 120, 1.5);
            double order = log2(coarse / fine);
            if (!(order > 4.7 && order < 5.6))
                fail_msg("%s, variant %d: order %.2f (%.2g, %.2g)", kd_formulation_word(forms[k]), variant, order,
                         coarse, fine);
        }
    }
}

// The same on the car axis, which is rheonomic and has masses of 5e-4 beside constraints of size 1.
static void order_of_radau_is_kept_on_the_car_axis(void **state)
{
    (void)state;
    const kd_example *car = kd_gallery_find("caraxis");
    kd_eom           *eom;
    kd_state         *start, *exact, *x;
    kd_inputs         inputs = {0};
    const double      t_end = 0.3;
    assert_int_equal(car->create(&eom, &start, &inputs), KD_OK);
    assert_int_equal(kd_state_create(eom, &exact), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    make_consistent(eom, &inputs, start);
    kd_state_copy(start, exact);
    kd_dae *reference = make_dae(eom, &inputs, exact, KD_PSF, NULL);
    constant_steps(reference, t_end / 2400, t_end, exact);
    kd_dae_destroy(reference);
    for (int k = 0; k < FORMS; k++) {
        for (int projected = 0; projected < 2; projected++) {
            kd_formulation_options opt = projecting(projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER, true);
            double                 error[2] = {0};
            for (int fine = 0; fine < 2; fine++) {
                kd_state_copy(start, x);
                kd_dae *dae = make_dae(eom, &inputs, x, forms[k], &opt);
                constant_steps(dae, t_end / (fine ? 160 : 80), t_end, x);
                for (int i = 0; i < 8; i++) error[fine] = fmax(error[fine], fabs(x->p[i] - exact->p[i]));
                if (projected) assert_true(violation(eom, &inputs, x) < 1e-13);
                kd_dae_destroy(dae);
            }
            double order = log2(error[0] / error[1]);
            if (!(order > 4.6 && order < 6))
                fail_msg("%s, projected %d: order %.2f (%.2g, %.2g)", kd_formulation_word(forms[k]), projected, order,
                         error[0], error[1]);
        }
    }
    kd_state_destroy(x);
    kd_state_destroy(exact);
    kd_state_destroy(start);
    kd_eom_destroy(eom);
}

// A point on a circular track: its speed is controlled to 1, a constant force points outwards. Rotation by t is exact.
static kd_eval track_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}
static kd_eval track_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    double r = hypot(x->p[0], x->p[1]), force = 4 * (1 - (x->p[0] * x->v[1] - x->p[1] * x->v[0]) / r);
    f[0] = (-force * x->p[1] + x->p[0]) / r;
    f[1] = (force * x->p[0] + x->p[1]) / r;
    return KD_EVAL_OK;
}
static kd_eval track_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}
static kd_eval track_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 2 * (x->p[0] * x->v[0] + x->p[1] * x->v[1]);
    return KD_EVAL_OK;
}
static kd_eval track_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    const double *p = x->p, *v = x->v, *a = x->a;
    g[0] = 2 * (p[0] * a[0] + p[1] * a[1] + v[0] * v[0] + v[1] * v[1]);
    return KD_EVAL_OK;
}

// Drift on the track: linear in time, for index 2 on position level, for index 1 and ode on velocity level (so that
// positions drift quadratically in the long run); none projected.
static void drift_has_its_slope_and_goes_away(void **state)
{
    (void)state;
    const struct {
        kd_formulation form;
        kd_function    level;
    } kind[] = {{KD_INDEX2, track_g}, {KD_INDEX1, track_gI}, {KD_ODE, track_gI}};
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.M = track_M;
    def.f = track_f;
    def.g = track_g;
    def.gI = track_gI;
    def.gII = track_gII;
    kd_eom *eom = make(&def);
    for (int k = 0; k < 3; k++) {
        double left[2];
        for (int projected = 0; projected < 2; projected++) {
            kd_formulation_options opt = projecting(projected ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER, true);
            for (int end = 0; end < 2; end++) {
                kd_state *x = state_at(eom, &(place){.p = {1, 0}, .v = {0, 1}});
                make_consistent(eom, NULL, x);
                kd_dae *dae = make_dae(eom, NULL, x, kind[k].form, &opt);
                constant_steps(dae, 0.1, end ? 80 : 20, x);
                assert_int_equal(kind[k].level(&(kd_point){.p = x->p, .v = x->v}, NULL, &left[end]), KD_EVAL_OK);
                if (projected) {
                    assert_true(violation(eom, NULL, x) < 1e-14);
                    assert_close(x->p[0], cos(end ? 80 : 20), 1e-4);
                }
                kd_dae_destroy(dae);
                kd_state_destroy(x);
            }
            double slope = log(left[1] / left[0]) / log(4);
            if (!projected && !(fabs(slope - 1) < 0.05))
                fail_msg("%s: drift has slope %.2f (%.2g, %.2g)", kd_formulation_word(kind[k].form), slope, left[0],
                         left[1]);
        }
    }
    kd_eom_destroy(eom);
}

// With a bound the point is projected now and then, and the violation stays below it.
static void bound_projects_now_and_then(void **state)
{
    (void)state;
    for (int k = 0; k < FORMS; k++) {
        if (forms[k] == KD_BAUMGARTE1 || forms[k] == KD_BAUMGARTE2) continue; // do not drift far
        const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
        kd_formulation_options opt = projecting(KD_PROJECT_BOUND, true);
        kd_integrator_options  radau_opt = kd_integrator_options_default();
        kd_eom                *eom;
        kd_state              *x;
        kd_integrator         *radau;
        char                   message[200];
        double                 y[5];
        opt.projection_bound = 1e-7;
        radau_opt.rtol = radau_opt.atol = 1e-6;
        assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, forms[k], &opt);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KD_RADAU, &radau_opt, &radau, message, sizeof message), KD_OK);
        assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
        while (kd_integrator_time(radau) < 20) {
            assert_int_equal(kd_integrator_step(radau, 20), KD_OK);
            kd_formulation_unpack(dae, kd_integrator_time(radau), kd_integrator_x(radau), x);
            assert_true(violation(eom, NULL, x) <= 1e-7);
        }
        kd_stats stats = kd_integrator_stats(radau);
        if (!(stats.projections > 3 && stats.projections < stats.accepted / 2))
            fail_msg("%s: %ld projections in %ld steps", kd_formulation_word(forms[k]), stats.projections,
                     stats.accepted);
        kd_integrator_destroy(radau);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Quaternions, redundant rows, contact coordinates, nonholonomic rows: all test systems move as known and stay on their
// constraints, also between the steps.
static void systems_stay_on_their_constraints(void **state)
{
    (void)state;
    for (int k = 0; k < KD_TEST_SYSTEM_COUNT; k++) {
        const kd_test_system *system = &kd_test_systems[k];
        for (int form = 0; form < 2; form++) {
            kd_eom               *eom;
            kd_state             *x, *exact;
            kd_integrator        *radau;
            kd_integrator_options radau_opt = kd_integrator_options_default();
            char                  message[200];
            double                y[200];
            radau_opt.rtol = radau_opt.atol = 1e-7;
            assert_int_equal(system->create(&eom, &x), KD_OK);
            assert_int_equal(kd_state_create(eom, &exact), KD_OK);
            kd_dims                d = kd_eom_dims(eom);
            kd_formulation_options opt = projecting(KD_PROJECT_ALWAYS, true);
            if (system->redundant) opt.constraints = KD_DECOMPOSE_SVD;
            kd_dae *dae = make_dae(eom, NULL, x, form ? KD_ODE : KD_INDEX1, &opt);
            assert_true(dae->n <= 200);
            kd_formulation_pack(dae, x, y);
            assert_int_equal(kd_integrator_create(dae, KD_RADAU, &radau_opt, &radau, message, sizeof message), KD_OK);
            assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
            while (kd_integrator_time(radau) < system->t_end) {
                if (kd_integrator_step(radau, system->t_end) < 0)
                    fail_msg("%s: %s", system->name, kd_integrator_message(radau));
                kd_formulation_unpack(dae, kd_integrator_time(radau), kd_integrator_x(radau), x);
                double at_end = violation(eom, NULL, x), t0 = kd_integrator_time_old(radau), inside = 0;
                if (kd_integrator_stats(radau).accepted % 8 == 0) {
                    double t = 0.5 * (t0 + kd_integrator_time(radau));
                    assert_int_equal(kd_integrator_dense(radau, t, y), KD_OK);
                    kd_formulation_unpack(dae, t, y, x);
                    inside = violation(eom, NULL, x);
                }
                if (at_end > 1e-9 || inside > 1e-9)
                    fail_msg("%s, %s: violation %.2g, inside %.2g", system->name, dae->methods->name, at_end, inside);
            }
            kd_formulation_unpack(dae, system->t_end, kd_integrator_x(radau), x);
            system->solution(system->t_end, exact);
            for (int i = 0; i < d.np + d.nv; i++)
                if (fabs(x->p[i] - exact->p[i]) > 1e-3 * fmax(1, fabs(exact->p[i])))
                    fail_msg("%s, %s: component %d is %.12g, not %.12g", system->name, dae->methods->name, i, x->p[i],
                             exact->p[i]);
            kd_integrator_destroy(radau);
            kd_dae_destroy(dae);
            kd_state_destroy(exact);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

// IDA says that it cannot, and who can.
static void ida_refuses(void **state)
{
    (void)state;
    if (!kd_integrator_about(KD_IDA, NULL)->available) skip();
    const double           p0[2] = {0, -1}, v0[2] = {2.9, 0};
    kd_formulation_options opt = projecting(KD_PROJECT_ALWAYS, true);
    kd_eom                *eom;
    kd_state              *x;
    kd_integrator         *ida;
    char                   message[300];
    assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
    kd_dae *dae = make_dae(eom, NULL, x, KD_INDEX2, &opt);
    assert_int_equal(kd_integrator_create(dae, KD_IDA, NULL, &ida, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "bdf"));
    assert_null(ida);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval refusing_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    if (x->t > 0.5) return KD_EVAL_RETRY;
    return whole_g(x, NULL, g);
}

// A constraint that cannot be evaluated is reported as trouble of the projection.
static void failures_have_words(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    def.g = refusing_g;
    kd_eom   *eom = make(&def);
    kd_state *x = state_at(eom, &whole_place);
    for (int form = 0; form < 2; form++) {
        for (int when = KD_PROJECT_BOUND; when <= KD_PROJECT_ALWAYS; when++) {
            kd_formulation_options opt = projecting((kd_projection)when, true);
            kd_dae                *dae = make_dae(eom, &whole_inputs, x, form ? KD_ODE : KD_INDEX2, &opt);
            double                 y[16];
            bool                   moved;
            const char            *message;
            kd_formulation_pack(dae, x, y);
            assert_int_equal(dae->methods->project(dae->impl, 0.6, y, &moved), KD_EVAL_RETRY);
            assert_true(dae->methods->fault(dae->impl, &message) < 0);
            assert_non_null(strstr(message, "projection"));
            kd_dae_destroy(dae);
        }
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_point_in_both_norms),
        cmocka_unit_test(projection_is_there_where_it_is_wanted),
        cmocka_unit_test(inactive_rows_are_left_alone),
        cmocka_unit_test(order_of_radau_is_kept_on_the_pendulum),
        cmocka_unit_test(order_of_radau_is_kept_on_the_car_axis),
        cmocka_unit_test(drift_has_its_slope_and_goes_away),
        cmocka_unit_test(bound_projects_now_and_then),
        cmocka_unit_test(systems_stay_on_their_constraints),
        cmocka_unit_test(ida_refuses),
        cmocka_unit_test(failures_have_words),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
