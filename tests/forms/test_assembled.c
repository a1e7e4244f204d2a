// Tests of the assembled forms: Newton matrices against differences of the residual, motions against each other and
// against known solutions, selectors, inactive and redundant rows, failures.
#include "core/failing_allocator.h"
#include "forms/assembled_impl.h"
#include "forms/whole.h"
#include "gallery.h"
#include "math/dense.h"
#include "pendulum.h"
#include <complex.h>

static const kd_formulation forms[] = {KD_INDEX3, KD_INDEX2, KD_INDEX1, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_GGL, KD_PSF1};
enum { FORMS = sizeof forms / sizeof *forms };

// ---- Newton matrices ------------------------------------------------------------------------------------------------

// out = d/de F(t, x + e dx, xdot + e dxdot), central
static void directional(kd_dae *dae, double t, const double *x, const double *xdot, const double *dx,
                        const double *dxdot, double *out)
{
    size_t n = (size_t)dae->n;
    double e = 1e-5, *y = calloc(4 * n, sizeof *y), *ydot = y + n, *plus = y + 2 * n, *minus = y + 3 * n;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (size_t i = 0; i < n; i++) {
            y[i] = x[i] + sign * e * dx[i];
            ydot[i] = xdot[i] + sign * e * dxdot[i];
        }
        assert_int_equal(dae->methods->residual(dae->impl, t, y, ydot, sign > 0 ? plus : minus), KD_EVAL_OK);
    }
    for (size_t i = 0; i < n; i++) out[i] = (plus[i] - minus[i]) / (2 * e);
    free(y);
}

// The positions of dx replaced by factor Z e, e their first nv numbers
static void make_tangent(const kd_eom *eom, const double *p, double factor, double *dx)
{
    kd_dims      d = kd_eom_dims(eom);
    kd_eom_data *data;
    double      *Z = calloc((size_t)(d.np * d.nv + d.np), sizeof *Z), *moved = Z + d.np * d.nv;
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    kd_eom_at_time(data, 0.4, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, p, NULL);
    assert_int_equal(kd_eom_Z(data, Z), KD_EVAL_OK);
    kd_gemv(d.np, d.nv, factor, Z, dx, 0, moved);
    memcpy(dx, moved, (size_t)d.np * sizeof *dx);
    kd_eom_data_destroy(data);
    free(Z);
}

// Solving with the right-hand side A dx, A dx from differences of the residual, gives dx again. With quaternions the
// sparse matrix is meant for increments along the unit sphere and leaves out terms smaller by 1 / gamma^2.
static void check_newton(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_formulation form,
                         const kd_formulation_options *opt, double gamma)
{
    kd_dae             *dae = make_dae(eom, inputs, x, form, opt);
    const kd_dae_class *f = dae->methods;
    size_t              n = (size_t)dae->n;
    double             *w = calloc(8 * n, sizeof *w), t = 0.4;
    double             *y = w, *ydot = w + n, *re = w + 2 * n, *im = w + 3 * n, *scaled = w + 4 * n, *Fre = w + 5 * n;
    double             *Fim = w + 6 * n, *part = w + 7 * n;
    unsigned            seed = 7;
    double complex      gamma_complex = gamma * (0.7 + 0.8 * I);
    bool                cut_off = ((const kd_assembled *)dae->impl)->newton && kd_eom_dims(eom).nq > 0;
    double              tolerance = cut_off ? 2 / (gamma * gamma) : 2e-5;

    kd_formulation_pack(dae, x, y);
    assert_int_equal(f->start(dae->impl, t, y, ydot), KD_EVAL_OK);
    for (size_t i = 0; i < n; i++) ydot[i] += 0.3 * scatter(&seed);
    assert_true(f->linearize(dae->impl, t, y, ydot, true) >= 0);
    if (f->update) assert_int_equal(f->update(dae->impl, t, y, ydot), KD_OK); // changes nothing at the same point
    assert_int_equal(f->factor(dae->impl, gamma, creal(gamma_complex), cimag(gamma_complex)), KD_OK);

    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < n; i++) re[i] = scatter(&seed), im[i] = scatter(&seed);
        if (cut_off) make_tangent(eom, y, 1 / gamma, re), make_tangent(eom, y, 1 / gamma, im);
        // real: A dx = d/de F(x + e dx, x' + e gamma dx)
        for (size_t i = 0; i < n; i++) scaled[i] = gamma * re[i];
        directional(dae, t, y, ydot, re, scaled, Fre);
        for (size_t i = 0; i < n; i++) Fre[i] = -Fre[i];
        f->reduce(dae->impl, Fre, part, Fim);
        f->solve_real(dae->impl, Fim);
        f->expand(dae->impl, part, Fim, scaled);
        for (size_t i = 0; i < n; i++) {
            char name[64];
            if (fabs(scaled[i] - re[i]) >
                tolerance * (cut_off && dae->component[i] == KD_COMPONENT_MULTIPLIER ? gamma : 1))
                f->component_name(dae->impl, (int)i, name, sizeof name);
            if (fabs(scaled[i] - re[i]) >
                tolerance * (cut_off && dae->component[i] == KD_COMPONENT_MULTIPLIER ? gamma : 1))
                fail_msg("%s, %s, real: %s %g, not %g", kd_eom_title(eom), f->name, name, scaled[i], re[i]);
        }
        // complex: A (re + i im) = K re + E Re(gamma z) + i (K im + E Im(gamma z))
        for (size_t i = 0; i < n; i++) scaled[i] = creal(gamma_complex * (re[i] + I * im[i]));
        directional(dae, t, y, ydot, re, scaled, Fre);
        for (size_t i = 0; i < n; i++) scaled[i] = cimag(gamma_complex * (re[i] + I * im[i]));
        directional(dae, t, y, ydot, im, scaled, Fim);
        f->solve_complex(dae->impl, Fre, Fim);
        for (size_t i = 0; i < n; i++) {
            double scale = cut_off && dae->component[i] == KD_COMPONENT_MULTIPLIER ? gamma : 1;
            if (fabs(Fre[i] - re[i]) + fabs(Fim[i] - im[i]) > 2 * tolerance * scale)
                fail_msg("%s, %s, complex: component %zu", kd_eom_title(eom), f->name, i);
        }
    }
    free(w);
    kd_dae_destroy(dae);
}

static void check_all_forms(kd_eom_def def, const kd_inputs *inputs, const place *x, const kd_formulation_options *opt)
{
    kd_eom   *eom = make(&def);
    kd_state *state = state_at(eom, x);
    state->t = 0.4;
    make_consistent(eom, inputs, state);
    bool strategy = opt->derivatives != KD_DERIVATIVES_ANALYTIC || opt->explicit_form || opt->update;
    for (int k = 0; k < FORMS; k++) {
        if (strategy && forms[k] == KD_PSF1) continue; // has analytic derivatives of the residual only
        for (double gamma = kd_eom_dims(eom).nq > 0 ? 10 : 3; gamma < 1e3; gamma *= 20)
            check_newton(eom, inputs, state, forms[k], opt, gamma);
    }
    kd_state_destroy(state);
    kd_eom_destroy(eom);
}

// The Newton matrices of all forms are derivatives of their residuals, in all variables of the equations.
static void newton_matrix_is_derivative(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    check_all_forms(whole(), &whole_inputs, &whole_place, &opt);
    check_all_forms(pendulum(), NULL, &pendulum_place, &opt);
    check_all_forms(skate(), NULL, &skate_place, &opt);
}

// The same with QR and SVD selectors, with sparse factors, and with quaternions.
static void newton_matrix_is_derivative_with_options(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    opt.sparse = true;
    check_all_forms(whole(), &whole_inputs, &whole_place, &opt);
    opt.sparse = false;
    opt.differential_qr = true;
    check_all_forms(whole(), &whole_inputs, &whole_place, &opt);
    opt.differential_qr = false;
    for (int k = KD_DECOMPOSE_LU; k <= KD_DECOMPOSE_SVD; k++) {
        opt.constraints = (kd_decomposition)k;
        check_all_forms(body(), NULL, &body_place, &opt);
        check_all_forms(whole(), &whole_inputs, &whole_place, &opt);
    }
}

// Differences of F give the same matrices: dense, in groups by the topology or by an estimated pattern, of the
// residual and of the explicit form.
static void newton_matrix_by_differences(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        opt.derivatives = k < 2 ? KD_DERIVATIVES_DENSE : KD_DERIVATIVES_GROUPED;
        opt.estimated = k >= 4;
        opt.explicit_form = k % 2;
        opt.update = k < 2 ? KD_UPDATE_FULL : k < 4 ? KD_UPDATE_PARTITIONED : KD_UPDATE_EXTENDED;
        check_all_forms(whole(), &whole_inputs, &whole_place, &opt);
        check_all_forms(pendulum(), NULL, &pendulum_place, &opt);
        check_all_forms(skate(), NULL, &skate_place, &opt);
        check_all_forms(body(), NULL, &body_place, &opt);
    }
}

// An inactive row reads multiplier = 0, in the residual and in the Newton matrix.
static void inactive_rows_read_zero(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    x->t = 0.4;
    x->active_lambda[0] = 0;
    for (int round = 0; round < 2; round++) {
        make_consistent(eom, &whole_inputs, x);
        assert_close(x->lambda[0], 0, 1e-14);
        if (round) assert_close(x->mu[0], 0, 1e-14);
        for (int k = 0; k < FORMS; k++) {
            kd_formulation_options opt = kd_formulation_options_default();
            check_newton(eom, &whole_inputs, x, forms[k], &opt, 50);
            opt.constraints = KD_DECOMPOSE_SVD;
            check_newton(eom, &whole_inputs, x, forms[k], &opt, 50);
            if (forms[k] == KD_PSF1) continue;
            opt = kd_formulation_options_default();
            opt.update = KD_UPDATE_EXTENDED;
            check_newton(eom, &whole_inputs, x, forms[k], &opt, 50);
        }
        x->active_mu[0] = 0;
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// b = A dx for p' = v - (GZ)' D eta, in long arithmetic
static void multiply(const kd_assembled *form, double gamma, const double *dx, double *b)
{
    int              n = form->n, np = form->dims.np;
    long double      sum[64] = {0};
    const kd_newton *newton = form->newton;
    for (int j = 0; j < n && !newton; j++)
        for (int i = 0; i < n; i++) sum[i] += (gamma * (long double)form->E[i + j * n] + form->K[i + j * n]) * dx[j];
    for (int j = 0; newton && j < newton->F.columns; j++)
        for (int e = newton->F.column[j]; e < newton->F.column[j + 1]; e++)
            sum[np + newton->F.row[e]] += (gamma * (long double)newton->E[e] + newton->K[e]) * dx[j];
    for (int j = 0; newton && j < np; j++) sum[j] = gamma * (long double)dx[j] - dx[np + j];
    for (int j = 0; newton && newton->has_eta && j < np; j++) {
        const kd_pattern *G = &newton->source[newton->gz].pattern;
        for (int k = G->column[j]; k < G->column[j + 1]; k++)
            sum[j] += newton->GZ[k] * (long double)form->scale_eta[G->row[k]] * dx[form->xe + G->row[k]];
    }
    for (int i = 0; i < n; i++) b[i] = (double)sum[i];
}

// Steps as small as 1e-10 s and multipliers of 1e4 leave the scaled factors accurate: solving A dx = b gives dx
// again for increments in the proportions that occur together (positions h, velocities 1, multipliers 1/h).
static void factors_are_accurate_for_small_steps(void **state)
{
    (void)state;
    const kd_example *truck = kd_gallery_find("truck5");
    assert_non_null(truck);
    for (int k = 0; k < FORMS; k++) {
        kd_eom   *eom;
        kd_state *x;
        kd_inputs inputs = {0};
        assert_int_equal(truck->create(&eom, &x, &inputs), KD_OK);
        kd_dae             *dae = make_dae(eom, &inputs, x, forms[k], NULL);
        const kd_assembled *inside = dae->impl;
        const kd_dae_class *f = dae->methods;
        int                 n = dae->n;
        double              y[64], ydot[64], dx[64], b[64], gamma = 1e10;
        unsigned            seed = 3;
        assert_true(n <= 64);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(f->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
        assert_true(f->linearize(dae->impl, 0, y, ydot, true) >= 0);
        assert_int_equal(f->factor(dae->impl, gamma, 0, 0), KD_OK);
        for (int i = 0; i < n; i++) {
            int power = i < inside->xv   ? -1
                        : inside->newton ? inside->newton->power[i - inside->xv]
                                         : inside->column_power[i];
            dx[i] = (0.5 + fabs(scatter(&seed))) * pow(gamma, power);
        }
        multiply(inside, gamma, dx, b);
        f->solve_real(dae->impl, b);
        for (int i = 0; i < n; i++) {
            if (fabs(b[i] - dx[i]) > 1e-7 * fabs(dx[i]))
                fail_msg("%s: component %d is %g, not %g", f->name, i, b[i], dx[i]);
        }
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- motions --------------------------------------------------------------------------------------------------------

// All forms move the pendulum as its exact solution does.
static void pendulum_moves_exactly(void **state)
{
    (void)state;
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0}, t_end = 2;
    double       p[2], v[2], lambda;
    kd_pendulum_exact(13.75, false, v0[0], t_end, p, v, &lambda);
    for (int k = 0; k < FORMS; k++) {
        kd_eom   *eom;
        kd_state *x;
        assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, forms[k], NULL);
        integrate(dae, 1e-9, t_end, x, NULL);
        double tolerance = forms[k] == KD_INDEX3 ? 1e-6 : 2e-7;
        for (int i = 0; i < 2; i++) {
            assert_close(x->p[i], p[i], tolerance);
            assert_close(x->v[i], v[i], 10 * tolerance);
        }
        assert_close(x->lambda[0], lambda, forms[k] == KD_INDEX3 ? 1e-3 : 1e-5);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// All forms reach the published reference of the car axis.
static void car_axis_reaches_reference(void **state)
{
    (void)state;
    const kd_example *car = kd_gallery_find("caraxis");
    assert_non_null(car);
    for (int k = 0; k < FORMS; k++) {
        kd_eom   *eom;
        kd_state *x;
        kd_inputs inputs = {0};
        assert_int_equal(car->create(&eom, &x, &inputs), KD_OK);
        kd_dae *dae = make_dae(eom, &inputs, x, forms[k], NULL);
        integrate(dae, 1e-8, car->t_end, x, NULL);
        for (int i = 0; i < kd_eom_dims(eom).np; i++)
            assert_true(fabs(x->p[i] - car->reference[i]) < (forms[k] == KD_INDEX3 ? 1e-5 : 2e-7));
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Classical Runge-Kutta on p' = v, v' = a, r' = b, s from c: an integration that knows no formulation.
static void explicit_motion(const kd_eom *eom, const kd_inputs *inputs, kd_state *x, double t_end, int steps)
{
    kd_formulation_options opt = kd_formulation_options_default();
    kd_acceleration       *acceleration;
    kd_dims                d = kd_eom_dims(eom);
    double                 h = (t_end - x->t) / steps, stage[4][32], y0[32], y[32];
    static const double    at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    int                    n = d.np + d.nv + d.nr;
    assert_int_equal(kd_acceleration_create(eom, inputs, x, &opt, &acceleration), KD_OK);
    for (int step = 0; step < steps; step++) {
        memcpy(y0, x->p, (size_t)n * sizeof *y); // p, v, r are contiguous
        for (int k = 0; k < 4; k++) {
            double t = x->t + at[k] * h;
            for (int i = 0; i < n; i++) y[i] = y0[i] + (k ? at[k] * h * stage[k - 1][i] : 0);
            assert_int_equal(kd_acceleration_contacts(acceleration, t, y, x->s), KD_EVAL_OK);
            assert_int_equal(kd_acceleration_solve(acceleration, t, y, x->s, y + d.np, y + d.np + d.nv, x->a, x->w,
                                                   x->lambda, x->mu),
                             KD_EVAL_OK);
            kd_eom_data *data = kd_acceleration_data(acceleration);
            kd_eom_at_acceleration(data, x->a, x->w, x->lambda, x->mu);
            assert_int_equal(kd_eom_eval(data, KD_KINEMATICS, stage[k]), KD_EVAL_OK);
            memcpy(stage[k] + d.np, x->a, (size_t)d.nv * sizeof *y);
            if (d.nr > 0) assert_int_equal(kd_eom_eval(data, KD_B, stage[k] + d.np + d.nv), KD_EVAL_OK);
        }
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < 4; k++) y0[i] += h * weight[k] * stage[k][i];
        }
        memcpy(x->p, y0, (size_t)n * sizeof *y);
        x->t += h;
    }
    assert_int_equal(kd_acceleration_contacts(acceleration, t_end, x->p, x->s), KD_EVAL_OK);
    assert_int_equal(kd_acceleration_solve(acceleration, t_end, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu),
                     KD_EVAL_OK);
    kd_acceleration_destroy(acceleration);
}

static void check_motion(kd_eom_def def, const kd_inputs *inputs, const place *at, double t_end,
                         const kd_formulation_options *opt)
{
    kd_eom   *eom = make(&def);
    kd_state *start = state_at(eom, at), *exact = state_at(eom, at), *x = state_at(eom, at);
    kd_dims   d = kd_eom_dims(eom);
    make_consistent(eom, inputs, start);
    kd_state_copy(start, exact);
    explicit_motion(eom, inputs, exact, t_end, 2000);
    for (int k = 0; k < FORMS; k++) {
        kd_state_copy(start, x);
        kd_dae *dae = make_dae(eom, inputs, x, forms[k], opt);
        integrate(dae, 1e-9, t_end, x, NULL);
        for (int i = 0; i < x->n; i++) {
            bool multiplier =
                i >= d.np + d.nv + d.nr && !(i >= d.np + d.nv + d.nr + d.nw && i < x->n - d.nlambda - d.nmu);
            double tolerance = multiplier ? (forms[k] == KD_INDEX3 ? 3e-3 : 1e-4) : forms[k] == KD_INDEX3 ? 2e-5 : 1e-7;
            if (fabs(x->p[i] - exact->p[i]) > tolerance * fmax(1, fabs(exact->p[i])))
                fail_msg("%s, %s: component %d is %.12g, not %.12g", def.title, dae->methods->name, i, x->p[i],
                         exact->p[i]);
        }
        kd_dae_destroy(dae);
    }
    kd_state_destroy(x);
    kd_state_destroy(exact);
    kd_state_destroy(start);
    kd_eom_destroy(eom);
}

// All forms give the same motion as an explicit integration: everything at once, quaternions, nonholonomic,
// contact.
static void forms_agree_with_explicit_integration(void **state)
{
    (void)state;
    kd_formulation_options opt = kd_formulation_options_default();
    check_motion(whole(), &whole_inputs, &whole_place, 1, &opt);
    opt.invariants = false; // the e of this pendulum is none
    check_motion(pendulum(), NULL, &pendulum_place, 1, &opt);
    check_motion(body(), NULL, &body_place, 0.5, &opt);
    opt.constraints = KD_DECOMPOSE_QR;
    check_motion(body(), NULL, &body_place, 0.5, &opt);
    opt.constraints = KD_DECOMPOSE_SVD;
    check_motion(body(), NULL, &body_place, 0.5, &opt);
    check_motion(whole(), &whole_inputs, &whole_place, 1, &opt);
}

// ---- psf1 -----------------------------------------------------------------------------------------------------------

// Accepted points of psf1 meet position and velocity constraints and quaternion norms to rounding.
static void psf1_keeps_constraints_to_rounding(void **state)
{
    (void)state;
    kd_eom_def def = body();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &body_place);
    make_consistent(eom, NULL, x);
    kd_dae *dae = make_dae(eom, NULL, x, KD_PSF1, NULL);
    integrate(dae, 1e-5, 1, x, NULL);
    kd_eom_data *data = make_data(eom);
    double       g[3], q[1];
    kd_eom_at_time(data, 1, NULL, NULL, NULL, NULL);
    kd_eom_at_position(data, x->p, NULL);
    kd_eom_at_velocity(data, x->v, NULL);
    assert_int_equal(kd_eom_eval(data, KD_G, g), KD_EVAL_OK);
    for (int i = 0; i < 3; i++) assert_true(fabs(g[i]) < 1e-13);
    assert_int_equal(kd_eom_eval(data, KD_GI, g), KD_EVAL_OK);
    for (int i = 0; i < 3; i++) assert_true(fabs(g[i]) < 1e-12);
    assert_int_equal(kd_eom_eval(data, KD_Q, q), KD_EVAL_OK);
    assert_true(fabs(q[0]) < 1e-14);
    kd_eom_data_destroy(data);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// S3 tables 3 and 4: below 45 degrees selectors are computed once, plus once for each Newton failure; above, once
// more at each of the 12 passages. Good starting values leave no Newton failures at turning points.
static void psf1_selectors_follow_pivots(void **state)
{
    (void)state;
    const double p0[2] = {0, -1};
    for (int k = 0; k < 2; k++) {
        for (int digits = 5; digits <= 8; digits++) {
            double    v0[2] = {k ? 2.9 : 2.8, 0};
            kd_eom   *eom;
            kd_state *x;
            kd_stats  stats;
            assert_int_equal(kd_pendulum_create(13.75, p0, v0, false, &eom, &x), KD_OK);
            kd_dae *dae = make_dae(eom, NULL, x, KD_PSF1, NULL);
            integrate(dae, pow(10, -digits), 5, x, &stats);
            assert_int_equal(stats.selectors - stats.rejected_newton, k ? 13 : 1);
            assert_true(stats.rejected_newton <= 1);
            kd_dae_destroy(dae);
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
    }
}

// With the energy as invariant every accepted point has it to rounding, also at the turning points where e_v
// vanishes and for a start at rest; the motion is the exact one.
static void psf1_keeps_the_energy(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const double   p0[2] = {k ? 1 : 0, k ? 0 : -1}, v0[2] = {k ? 0 : 2.9, 0}, g = 13.75, t_end = 20;
        double         p[2], y[5], e0 = 0.5 * v0[0] * v0[0] + g * p0[1];
        kd_eom        *eom;
        kd_state      *x;
        kd_integrator *radau;
        assert_int_equal(kd_pendulum_create(g, p0, v0, true, &eom, &x), KD_OK);
        kd_dae *dae = make_dae(eom, NULL, x, KD_PSF1, NULL);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KD_RADAU, NULL, &radau, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
        while (kd_integrator_time(radau) < t_end) {
            assert_int_equal(kd_integrator_step(radau, t_end), KD_OK);
            const double *z = kd_integrator_x(radau);
            kd_pendulum_exact(g, k, v0[0], kd_integrator_time(radau), p, NULL, NULL);
            assert_true(fabs(0.5 * (z[2] * z[2] + z[3] * z[3]) + g * z[1] - e0) < 1e-13);
            assert_true(fabs(hypot(z[0], z[1]) - 1) < 1e-14);
            assert_true(fabs(z[0] - p[0]) < 1e-4 && fabs(z[1] - p[1]) < 1e-4);
        }
        kd_stats stats = kd_integrator_stats(radau);
        assert_true(stats.rejected_newton < stats.accepted / 10);
        kd_integrator_destroy(radau);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- starting values ------------------------------------------------------------------------------------------------

// The smooth continuation of exact accepted points has an error of order 6 in p, 5 in v; without accepted points at
// those times nothing is changed.
static void continuation_is_smooth(void **state)
{
    (void)state;
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0}, g = 13.75;
    double       error[2][2] = {{0}};
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(g, p0, v0, false, &eom, &x), KD_OK);
    for (int k = 0; k < 2; k++) {
        kd_dae             *dae = make_dae(eom, NULL, x, KD_INDEX2, NULL);
        const kd_dae_class *f = dae->methods;
        double t[3] = {1, 1 + (k ? 0.01 : 0.02), 1 + (k ? 0.015 : 0.03)}, y[3][5], ydot[5], out[5] = {7, 7, 7};
        for (int i = 0; i < 3; i++) kd_pendulum_exact(g, false, v0[0], t[i], y[i], y[i] + 2, y[i] + 4);
        f->extrapolate(dae->impl, t[0], y[0], t[1], y[1], t[2], out);
        assert_true(out[0] == 7 && out[2] == 7);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(f->start(dae->impl, t[i], y[i], ydot), KD_EVAL_OK);
            assert_int_equal(f->correct(dae->impl, t[i], y[i], ydot), KD_EVAL_OK);
        }
        f->extrapolate(dae->impl, t[0], y[0], t[1], y[1], t[2], out);
        for (int i = 0; i < 4; i++) error[k][i / 2] = fmax(error[k][i / 2], fabs(out[i] - y[2][i]));
        kd_dae_destroy(dae);
    }
    assert_true(error[0][0] < 1e-6 && error[0][1] < 1e-4);
    assert_true(error[1][0] < error[0][0] / 50 && error[1][1] < error[0][1] / 25);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static long residuals_of(const kd_dae *dae)
{
    const kd_assembled *form = dae->impl;
    return kd_eom_data_counters(kd_acceleration_data(form->acceleration)).fn[KD_RESIDUAL];
}

// The acceleration of a point inside a step is that of the equations there and costs nothing; that of another point, or
// of the same one after anything else has been evaluated, is solved for.
static void acceleration_inside_a_step_is_known(void **state)
{
    (void)state;
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0}, g = 13.75;
    double       y[6] = {0}, ydot[6], F[6], a[3][2];
    kd_eom      *eom;
    kd_state    *x;
    assert_int_equal(kd_pendulum_create(g, p0, v0, false, &eom, &x), KD_OK);
    kd_dae             *dae = make_dae(eom, NULL, x, KD_GGL, NULL);
    const kd_dae_class *f = dae->methods;
    assert_int_equal(dae->n, 6);
    kd_pendulum_exact(g, false, v0[0], 1.3, y, y + 2, y + 4);
    y[0] += 1e-4; // off the constraint: between brings it back
    assert_int_equal(f->between(dae->impl, 1.3, y), KD_EVAL_OK);
    assert_true(fabs(hypot(y[0], y[1]) - 1) < 1e-14);
    long before = residuals_of(dae);
    assert_int_equal(f->acceleration(dae->impl, 1.3, y, a[0]), KD_EVAL_OK);
    assert_int_equal(residuals_of(dae), before);
    assert_int_equal(f->residual(dae->impl, 1.3, y, ydot, F), KD_EVAL_OK);
    assert_int_equal(f->acceleration(dae->impl, 1.3, y, a[1]), KD_EVAL_OK);
    assert_true(residuals_of(dae) > before);
    assert_int_equal(f->start(dae->impl, 1.3, y, ydot), KD_EVAL_OK);
    assert_int_equal(f->between(dae->impl, 1.3, y), KD_EVAL_OK);
    y[2] += 0.1;
    assert_int_equal(f->acceleration(dae->impl, 1.3, y, a[2]), KD_EVAL_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(a[0][i] == a[1][i] && fabs(a[1][i] - ydot[2 + i]) < 1e-12);
        assert_true(fabs(a[2][i] - a[0][i]) > 1e-3);
    }
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Multipliers of index 3 converge with order 2 when steps are equal; this is all that theory promises.
static void index3_multipliers_have_order_2(void **state)
{
    (void)state;
    const double p0[2] = {0, -1}, v0[2] = {2.9, 0}, g = 13.75, t_end = 0.7;
    double       lambda, error[2];
    kd_eom      *eom;
    kd_state    *x;
    kd_pendulum_exact(g, false, v0[0], t_end, NULL, NULL, &lambda);
    assert_int_equal(kd_pendulum_create(g, p0, v0, false, &eom, &x), KD_OK);
    for (int k = 0; k < 2; k++) {
        kd_dae               *dae = make_dae(eom, NULL, x, KD_INDEX3, NULL);
        kd_integrator        *radau;
        kd_integrator_options opt = kd_integrator_options_default();
        double                y[5];
        opt.rtol = opt.atol = 0.1; // accepts every step
        opt.radau.newton_stop = 1e-11;
        opt.h_first = opt.h_max = t_end / (k ? 256 : 128);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KD_RADAU, &opt, &radau, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
        while (kd_integrator_time(radau) < t_end) assert_int_equal(kd_integrator_step(radau, t_end), KD_OK);
        error[k] = fabs(kd_integrator_x(radau)[4] - lambda);
        kd_integrator_destroy(radau);
        kd_dae_destroy(dae);
    }
    assert_true(error[0] < 1e-4 * lambda);
    assert_true(error[0] / error[1] > 3.6 && error[0] / error[1] < 4.4);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- redundant constraints ------------------------------------------------------------------------------------------

static kd_eval twice_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    g[1] = g[0];
    return KD_EVAL_OK;
}
static kd_eval twice_gI(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = g[1] = x->p[0] * x->v[0] + x->p[1] * x->v[1];
    return KD_EVAL_OK;
}
static kd_eval twice_gII(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = g[1] = x->p[0] * x->a[0] + x->p[1] * x->a[1] + x->v[0] * x->v[0] + x->v[1] * x->v[1];
    return KD_EVAL_OK;
}
static kd_eval unit_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[3] = 1;
    M[1] = M[2] = 0;
    return KD_EVAL_OK;
}
static kd_eval gravity(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    f[1] = -13.75;
    return KD_EVAL_OK;
}

// Relative error of multipliers at the end of the last two steps h[0], h[1]. Index 3 (Hairer, Lubich & Roche 1989):
// with 3 stages Radau IIa gives lambda with order 2, here 0.7 h^2, and v with a defect c h^3 off gI = 0, which the
// next step takes away by a force of the order c h^3 / h_next: a short last step shows it, here 0.3 h[0]^3 / h[1].
static double multiplier_tolerance(kd_formulation form, const double h[2])
{
    return form == KD_INDEX3 ? h[1] * h[1] + 0.5 * h[0] * h[0] * h[0] / h[1] : 1e-4;
}

// A constraint given twice: with SVD all forms move as with one, and both multipliers are half of the single one.
static void redundant_rows_need_svd(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.title = "pendulum with its rod twice";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 2};
    def.M = unit_mass;
    def.f = gravity;
    def.g = twice_g;
    def.gI = twice_gI;
    def.gII = twice_gII;
    kd_eom                *eom = make(&def);
    kd_formulation_options opt = kd_formulation_options_default();
    double                 p[2], lambda, h[2], t_end = 0.7;
    place                  at = {.p = {0, -1}, .v = {2.9, 0}};
    kd_pendulum_exact(13.75, false, 2.9, t_end, p, NULL, &lambda); // its g is |p|^2 - 1, twice ours
    for (int k = 0; k < FORMS; k++) {
        kd_state *x = state_at(eom, &at);
        make_consistent(eom, NULL, x);
        assert_close(x->lambda[0], x->lambda[1], 1e-12);
        opt.constraints = KD_DECOMPOSE_SVD;
        kd_dae *dae = make_dae(eom, NULL, x, forms[k], &opt);
        integrate_all(dae, 1e-8, t_end, x, NULL, h);
        assert_close(x->p[0], p[0], 1e-6);
        assert_close(x->lambda[0], lambda, multiplier_tolerance(forms[k], h));
        assert_close(x->lambda[1], x->lambda[0], 1e-10);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
    }
    // LU says so, in words
    kd_state *x = state_at(eom, &at);
    kd_dae   *dae = make_dae(eom, NULL, x, KD_PSF1, NULL);
    double    y[6] = {0, -1, 2.9, 0, 0, 0}, ydot[6] = {2.9};
    assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, true), KD_ERR_REDUNDANT);
    const char *message;
    assert_int_equal(dae->methods->fault(dae->impl, &message), KD_ERR_REDUNDANT);
    assert_non_null(strstr(message, "redundant"));
    kd_dae_destroy(dae);
    dae = make_dae(eom, NULL, x, KD_INDEX2, NULL);
    assert_int_equal(dae->methods->linearize(dae->impl, 0, y, ydot, true), KD_ERR_REDUNDANT);
    assert_int_equal(dae->methods->fault(dae->impl, &message), KD_ERR_REDUNDANT);
    assert_non_null(strstr(message, "SVD"));
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- contracts ------------------------------------------------------------------------------------------------------

// Components have names, kinds, an index and a place in the error norm.
static void components_are_described(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place);
    kd_dae    *dae = make_dae(eom, &whole_inputs, x, KD_GGL, NULL);
    char       name[64];
    static const struct {
        int          i;
        const char  *name;
        kd_component kind;
        int          index;
        bool         controlled;
    } wanted[] = {
        {0, "position 'x'", KD_COMPONENT_POSITION, 1, true},
        {3, "position joint 'lift' height", KD_COMPONENT_POSITION, 1, true},
        {4, "velocity rate of 'x'", KD_COMPONENT_VELOCITY, 1, true},
        {8, "inner state 'r[0]'", KD_COMPONENT_INNER, 1, true},
        {9, "auxiliary variable 'w[0]'", KD_COMPONENT_AUXILIARY, 2, false},
        {10, "contact coordinate 's[0]'", KD_COMPONENT_CONTACT, 1, true},
        {11, "multiplier of 'track'", KD_COMPONENT_MULTIPLIER, 2, false},
        {12, "multiplier of 'rolling'", KD_COMPONENT_MULTIPLIER, 2, false},
        {13, "eta of 'track'", KD_COMPONENT_INTERNAL, 2, false},
    };
    assert_int_equal(dae->n, 14);
    assert_int_equal(dae->nstate, 13);
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        int i = wanted[k].i;
        assert_string_equal(dae->methods->component_name(dae->impl, i, name, sizeof name), wanted[k].name);
        assert_int_equal(dae->component[i], wanted[k].kind);
        assert_int_equal(dae->index[i], wanted[k].index);
        assert_int_equal(dae->controlled[i], wanted[k].controlled);
    }
    kd_dae_destroy(dae);
    kd_formulation_options opt = kd_formulation_options_default();
    opt.control_multipliers = true;
    dae = make_dae(eom, &whole_inputs, x, KD_INDEX3, &opt);
    assert_int_equal(dae->index[4], 2);
    assert_int_equal(dae->index[11], 3);
    assert_true(dae->controlled[11]);
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static kd_eval speed_of_whole(const kd_point *x, void *context, double *e)
{
    (void)context;
    e[0] = x->v[0] * x->v[0] + x->v[2] * x->v[2] + x->p[1] - 1; // no invariant: every step is projected
    return KD_EVAL_OK;
}

// Functions count what they did; a step allocates nothing, whatever the decomposition and with invariants.
static void steps_count_and_do_not_allocate(void **state)
{
    (void)state;
    failing_allocator counter = {0};
    failing_allocator_use(&counter);
    kd_eom_def def = whole();
    def.dims.ne = 1;
    def.e = speed_of_whole;
    kd_eom   *eom = make(&def);
    kd_state *x = state_at(eom, &whole_place);
    make_consistent(eom, &whole_inputs, x);
    for (int k = 0; k < 3 * FORMS; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        opt.constraints = (kd_decomposition)(k / FORMS);
        kd_dae        *dae = make_dae(eom, &whole_inputs, x, forms[k % FORMS], &opt);
        kd_integrator *radau;
        double         y[16], out[16];
        kd_formulation_pack(dae, x, y);
        assert_int_equal(kd_integrator_create(dae, KD_RADAU, NULL, &radau, NULL, 0), KD_OK);
        assert_int_equal(kd_integrator_start(radau, 0, y), KD_OK);
        long before = counter.calls;
        for (int step = 0; step < 5; step++) {
            assert_int_equal(kd_integrator_step(radau, 1), KD_OK);
            assert_int_equal(
                kd_integrator_dense(radau, 0.5 * (kd_integrator_time(radau) + kd_integrator_time_old(radau)), out),
                KD_OK);
        }
        assert_int_equal(counter.calls, before);
        kd_dae_counters c = dae->methods->counters(dae->impl);
        assert_true(c.residuals >= 5 * 4 && c.jacobians > 0 && c.mass == c.jacobians && c.decompositions > 0);
        assert_true(c.solves > 0 && c.for_differences > 0);
        kd_integrator_destroy(radau);
        kd_dae_destroy(dae);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    assert_int_equal(counter.live, 0);
    kd_set_allocator(NULL);
}

// Every allocation may fail: the answer is KD_ERR_MEMORY and nothing is left behind.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    kd_eom_def             def = whole();
    kd_eom                *eom = make(&def);
    kd_state              *x = state_at(eom, &whole_place);
    kd_formulation_options opt = kd_formulation_options_default();
    for (int k = 0; k < 4; k++) {
        opt.constraints = k == 1 ? KD_DECOMPOSE_SVD : KD_DECOMPOSE_LU;
        opt.sparse = k == 2;
        for (long fail_at = 1;; fail_at++) {
            failing_allocator f = {.fail_at = fail_at};
            kd_dae           *dae;
            failing_allocator_use(&f);
            kd_status status =
                kd_formulation_create(eom, &whole_inputs, x, k == 3 ? KD_GGL : KD_PSF1, &opt, &dae, NULL, 0);
            if (status == KD_OK) kd_dae_destroy(dae);
            kd_set_allocator(NULL);
            assert_int_equal(f.live, 0);
            if (status == KD_OK) break;
            assert_int_equal(status, KD_ERR_MEMORY);
            assert_null(dae);
        }
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

typedef struct trap {
    int     calls, at;
    kd_eval answer;
    bool    nan;
} trap;

static kd_eval trapped_f(const kd_point *x, void *context, double *f)
{
    trap *t = context;
    gravity(x, NULL, f);
    if (++t->calls < t->at) return KD_EVAL_OK;
    if (t->nan) f[1] = NAN;
    return t->nan ? KD_EVAL_OK : t->answer;
}
static kd_eval single_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = 0.5 * (x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1);
    return KD_EVAL_OK;
}

// STOP and NaN in the equations come out as answers of residual and linearize, with words.
static void failures_have_words(void **state)
{
    (void)state;
    trap       t = {.at = 1000000};
    kd_eom_def def = kd_eom_def_default();
    def.title = "trap";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.M = unit_mass;
    def.f = trapped_f;
    def.g = single_g;
    def.context = &t;
    kd_eom   *eom = make(&def);
    place     at = {.p = {0, -1}, .v = {1, 0}};
    kd_state *x = state_at(eom, &at);
    for (int k = 0; k < FORMS; k++) {
        kd_dae             *dae = make_dae(eom, NULL, x, forms[k], NULL);
        const kd_dae_class *f = dae->methods;
        double              y[6] = {0, -1, 1, 0, 0, 0}, ydot[6] = {1}, F[6];
        const char         *message;
        t = (trap){.at = 1, .answer = KD_EVAL_STOP};
        assert_int_equal(f->residual(dae->impl, 0, y, ydot, F), KD_EVAL_STOP);
        assert_int_equal(f->fault(dae->impl, &message), KD_ERR_CALLBACK_STOP);
        assert_true(strlen(message) > 10);
        assert_int_equal(f->linearize(dae->impl, 0, y, ydot, true), KD_ERR_CALLBACK_STOP);
        assert_int_equal(f->start(dae->impl, 0, y, ydot), KD_EVAL_STOP);
        t = (trap){.at = 1, .nan = true};
        assert_int_equal(f->residual(dae->impl, 0, y, ydot, F), KD_EVAL_RETRY);
        assert_int_equal(f->fault(dae->impl, &message), KD_ERR_NOT_FINITE);
        t = (trap){.at = 1000000};
        assert_int_equal(f->residual(dae->impl, 0, y, ydot, F), KD_EVAL_OK);
        kd_dae_destroy(dae);
    }
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton_matrix_is_derivative),
        cmocka_unit_test(newton_matrix_is_derivative_with_options),
        cmocka_unit_test(inactive_rows_read_zero),
        cmocka_unit_test(newton_matrix_by_differences),
        cmocka_unit_test(factors_are_accurate_for_small_steps),
        cmocka_unit_test(pendulum_moves_exactly),
        cmocka_unit_test(car_axis_reaches_reference),
        cmocka_unit_test(forms_agree_with_explicit_integration),
        cmocka_unit_test(psf1_keeps_constraints_to_rounding),
        cmocka_unit_test(psf1_selectors_follow_pivots),
        cmocka_unit_test(psf1_keeps_the_energy),
        cmocka_unit_test(continuation_is_smooth),
        cmocka_unit_test(acceleration_inside_a_step_is_known),
        cmocka_unit_test(index3_multipliers_have_order_2),
        cmocka_unit_test(redundant_rows_need_svd),
        cmocka_unit_test(components_are_described),
        cmocka_unit_test(steps_count_and_do_not_allocate),
        cmocka_unit_test(failed_allocation_leaves_nothing),
        cmocka_unit_test(failures_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
