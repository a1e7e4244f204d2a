// Linear equations: closed forms, published eigenvalues, both coordinate sets, and the nonlinear equations themselves.
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

#include "analysis/linear_subject.h"
#include "math/dense.h"

// ---- closed forms ---------------------------------------------------------------------------------------------------

static const char OSCILLATOR[] =
    "kardan: 1\n"
    "title: two masses\n"
    "gravity: [0, 0, 0]\n"
    "inputs:\n"
    "  push: {value: 0}\n"
    "bodies:\n"
    "  one: {mass: 2, inertia: [1, 1, 1]}\n"
    "  two: {mass: 3, inertia: [1, 1, 1]}\n"
    "joints:\n"
    "  first: {type: prismatic, bodies: [ground, one], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "  second: {type: prismatic, bodies: [ground, two], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "forces:\n"
    "  wall: {type: applied, body: one, point: [0, 0, 0], force: [-50*joint.first.q - 4*joint.first.v, 0, 0]}\n"
    "  link: {type: applied, body: one, point: [0, 0, 0], force: [70*(joint.second.q - joint.first.q), 0, 0]}\n"
    "  knil: {type: applied, body: two, point: [0, 0, 0],\n"
    "         force: [70*(joint.first.q - joint.second.q) + input.push, 0, 0]}\n"
    "sensors:\n"
    "  place: {value: joint.first.q}\n"
    "  felt: {value: joint.second.a}\n";

// Two masses: all entries of A, B, C, D are those of the equations on paper, and the states have the names of joints.
static void oscillator_is_as_on_paper(void **state)
{
    (void)state;
    static const double A[4][4] = {{0, 0, 1, 0}, {0, 0, 0, 1}, {-60, 35, -2, 0}, {70.0 / 3, -70.0 / 3, 0, 0}};
    subject             s = open_model(OSCILLATOR, NULL, 0, KD_JOINT, false);
    linearize(&s);
    const kd_linear *l = s.linear;
    assert_int_equal(l->nx, 4);
    assert_int_equal(l->nu, 1);
    assert_int_equal(l->ny, 2);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) assert_close(l->A[i + 4 * j], A[i][j], 1e-6);
        assert_close(l->B[i], i == 3 ? 1.0 / 3 : 0, 1e-7);
        assert_close(l->C[0 + 2 * i], i == 0, 1e-7);
        assert_close(l->C[1 + 2 * i], A[3][i], 1e-6);
    }
    assert_close(l->D[0], 0, 1e-12);
    assert_close(l->D[1], 1.0 / 3, 1e-7);
    assert_false(l->moves[0]);
    assert_non_null(strstr(l->state_name[0], "first"));
    assert_non_null(strstr(l->state_name[3], "second"));
    assert_non_null(strstr(l->input_name[0], "push"));
    assert_non_null(strstr(l->output_name[1], "felt"));
    close_model(&s);
}

// A x = eigenvalue x for every mode; the order is by magnitude, pairs stand together; shapes have the largest entry 1.
static void modes_are_eigenvectors(void **state)
{
    (void)state;
    subject s = open_model(OSCILLATOR, NULL, 0, KD_CARTESIAN, false);
    linearize(&s);
    const kd_modes *m = s.modes;
    for (int k = 0; k < m->n; k++) {
        double complex value = CMPLX(m->real[k], m->imaginary[k]);
        if (k > 0) assert_true(m->frequency[k] >= m->frequency[k - 1] * (1 - 1e-12));
        for (int i = 0; i < m->n; i++) {
            double complex sum = -value * CMPLX(m->state_re[i + k * m->n], m->state_im[i + k * m->n]);
            for (int j = 0; j < m->n; j++)
                sum += s.linear->A[i + j * m->n] * CMPLX(m->state_re[j + k * m->n], m->state_im[j + k * m->n]);
            assert_close(cabs(sum), 0, 1e-10);
        }
        double most = 0;
        for (int i = 0; i < m->nv; i++)
            most = fmax(most, hypot(m->shape_re[i + k * m->nv], m->shape_im[i + k * m->nv]));
        assert_close(most, 1, 1e-8);
        assert_close(m->damping[k] * cabs(value), -m->real[k], 1e-12);
        assert_close(m->frequency[k], cabs(value) / 6.283185307179586, 1e-12);
    }
    assert_close(m->imaginary[0] + m->imaginary[1], 0, 1e-12);
    assert_true(m->imaginary[0] > 0);
    close_model(&s);
}

// ---- published eigenvalues ------------------------------------------------------------------------------------------

// The four-bar linkage with a diagonal spring at its equilibrium, in both coordinate sets, also with all redundant
// constraints of the spatial mechanism kept: eigenvalues to the digits of a computation with 30 digits.
static void four_bar_has_published_eigenvalues(void **state)
{
    (void)state;
    static const kd_setting damped[] = {{"phi", "2.2343310190175859114"}};
    static const kd_setting undamped[] = {{"phi", "2.2343310190175859114"}, {"c", "0"}};
    for (int k = 0; k < 3; k++) {
        subject s = open_model("four-bar-spring.yaml", damped, 1, k == 1 ? KD_CARTESIAN : KD_JOINT, k == 2);
        linearize(&s);
        assert_int_equal(s.linear->nx, 2);
        assert_has_pair(s.modes, -0.242385809310505097, 2.1339550283483803, 1e-9);
        assert_has_pair(s.modes, -0.242385809310505097, -2.1339550283483803, 1e-9);
        if (k == 2) assert_true(s.linear->nredundant > 0);
        assert_close(s.linear->force, 0, 1e-9);
        close_model(&s);
        s = open_model("four-bar-spring.yaml", undamped, 2, k == 1 ? KD_CARTESIAN : KD_JOINT, k == 2);
        linearize(&s);
        assert_has_pair(s.modes, 0, 2.1476766385022781381, 1e-9);
        close_model(&s);
    }
}

// Seen from a frame that moves with V. coupling 0: joint coordinates; 1: hitch as two equations.
static const char CARAVAN[] =
    "kardan: 1\n"
    "title: planar car and caravan\n"
    "parameters: {V: 20, coupling: 0}\n"
    "gravity: [0, 0, 0]\n"
    "bodies:\n"
    "  car: {mass: 1600, inertia: [1300, 1300, 2600]}\n"
    "  trailer: {position: [-6.10, 0, 0], mass: 1200, inertia: [1100, 1100, 2200]}\n"
    "frames:\n"
    "  front: {body: car, point: [1.30, 0, 0]}\n"
    "  rear: {body: car, point: [-1.45, 0, 0]}\n"
    "  ball: {body: car, point: [-2.25, 0, 0]}\n"
    "  eye: {body: trailer, point: [3.85, 0, 0]}\n"
    "  axle: {body: trailer, point: [-0.15, 0, 0]}\n"
    "joints:\n"
    "  car: {type: planar, bodies: [ground, car], point: [0, 0, 0], axis: [0, 0, 1], motion: [0, null, null]}\n"
    "  hinge(i): {for: i = 1..1 - coupling, type: revolute, from: ball, to: eye}\n"
    "  trailer(i): {for: i = 1..coupling, type: planar, bodies: [ground, trailer], point: [-6.10, 0, 0],\n"
    "               axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  hitch(i): {for: i = 1..coupling, type: point_on_line, from: ball, to: eye}\n"
    "forces:\n"
    "  front: {type: applied, to: front, force: [null, -120e3*(frame.front.vel.y/V - body.car.yaw), null]}\n"
    "  rear: {type: applied, to: rear, force: [null, -140e3*(frame.rear.vel.y/V - body.car.yaw), null]}\n"
    "  axle: {type: applied, to: axle, force: [null, -100e3*(frame.axle.vel.y/V - body.trailer.yaw), null]}\n";

// Car and caravan at three speeds: sway and yaw of the table, with the hitch as joint and as constraint, in both
// coordinate sets; the other two eigenvalues are zero.
static void caravan_sways_as_tabulated(void **state)
{
    (void)state;
    static const char *const speed[] = {"10", "20", "40"};
    static const double      pairs[][4] = {{-15.5011918544, 1.5065880572, -3.6549601510, 2.4909590199},
                                           {-8.1697351982, 1.9185154221, -1.4083408046, 4.1001955305},
                                           {-4.6584220486, 2.3562981135, -0.1306159528, 4.1429397762}};
    for (int k = 0; k < 12; k++) {
        kd_setting settings[] = {{"V", speed[k / 4]}, {"coupling", k & 1 ? "1" : "0"}};
        subject    s = open_model(CARAVAN, settings, 2, BOTH[(k >> 1) & 1], false);
        linearize(&s);
        assert_int_equal(s.linear->nx, 6);
        assert_has_pair(s.modes, pairs[k / 4][0], pairs[k / 4][1], 1e-6);
        assert_has_pair(s.modes, pairs[k / 4][2], pairs[k / 4][3], 1e-6);
        assert_close(hypot(s.modes->real[1], s.modes->imaginary[1]), 0, 1e-4);
        close_model(&s);
    }
}

// The benchmark bicycle at ten speeds: castering, capsize and weave as published, in both coordinate sets, of which
// the Cartesian ones turn with the wheels.
static void bicycle_has_published_eigenvalues(void **state)
{
    (void)state;
    static const struct {
        const char *speed;
        double      castering, capsize, real, imaginary;
    } table[] = {
        {"1", -7.1100801463744077, -3.1342312506657842, 3.5269617099006942, 0.80774027519931005},
        {"2", -8.6738798483173716, -3.0715864564151425, 2.6823451751274535, 1.6806629659067578},
        {"3", -10.351014672459228, -2.6336613725366530, 1.7067560566397352, 2.3158244738432436},
        {"4", -12.158614265764440, -1.4294442736132575, 0.41325331521124132, 3.0791081860320536},
        {"5", -14.078389692798247, -0.32286642900408708, -0.77534188219584193, 4.4648677137882251},
        {"6", -16.085371230980284, -0.0040669007697033624, -1.5264448658414171, 5.8767306059870840},
        {"7", -18.157884661252021, 0.10268170574766416, -2.1387564425836343, 7.1952591332980426},
        {"8", -20.279408943945663, 0.14327879765712950, -2.6934868358109477, 8.4603797139693359},
        {"9", -22.437885590408591, 0.15790184030917298, -3.2167540225249075, 9.6937735153178220},
        {"10", -24.624596350174000, 0.16105338653171554, -3.7201684043728757, 10.906811394762882},
    };
    for (int k = 0; k < 20; k++) {
        kd_setting settings[] = {{"v", table[k / 2].speed}, {"push", "0"}};
        subject    s = open_model("bicycle.yaml", settings, 2, BOTH[k & 1], false);
        linearize(&s);
        assert_has_pair(s.modes, table[k / 2].castering, 0, 2e-10);
        assert_has_pair(s.modes, table[k / 2].capsize, 0, 2e-10);
        assert_has_pair(s.modes, table[k / 2].real, table[k / 2].imaginary, 2e-10);
        assert_int_equal(s.linear->nvelocity, 3);
        close_model(&s);
    }
}

// ---- against the nonlinear equations --------------------------------------------------------------------------------

// In full motion, with closed loops, nonholonomic constraints and inner states: the rows of A for velocities and inner
// states are difference quotients of the nonlinear accelerations.
static void accelerations_change_as_A_says(void **state)
{
    (void)state;
    static const char *const models[] = {
        "spatial-slider-crank.yaml", "four-bar-spring.yaml",  "slider-crank.yaml", "skate.yaml", "andrews.yaml",
        "speed-control.yaml",        "inverted-pendulum.yaml"}; // outputs of sampled blocks are constants
    for (int m = 0; m < 14; m++) {
        subject s = open_model(models[m / 2], NULL, 0, BOTH[m & 1], false);
        make_consistent(&s);
        linearize(&s);
        const kd_linear *l = s.linear;
        kd_state        *x[2];
        for (int i = 0; i < 2; i++) must(kd_state_create(s.eom, &x[i]), "");
        double scale = kd_norm_max(l->nx * l->nx, l->A);
        for (int k = 0; k < l->nx; k++) {
            const double step = 1e-5;
            for (int side = 0; side < 2; side++) move_state(&s, k, side ? -step : step, x[side]);
            for (int i = 0; i < l->nvelocity; i++) {
                double slope = (x[0]->a[l->velocity[i]] - x[1]->a[l->velocity[i]]) / (2 * step);
                double value = l->A[l->nposition + i + k * l->nx];
                if (fabs(slope - value) > 1e-6 * scale)
                    print_error("%s: %s by %s\n", models[m / 2], l->state_name[l->nposition + i], l->state_name[k]);
                assert_close(value, slope, 1e-6 * scale);
            }
        }
        for (int i = 0; i < 2; i++) kd_state_destroy(x[i]);
        close_model(&s);
    }
}

// Eigenvalues of mechanisms at rest do not depend on the coordinates.
static void coordinates_agree(void **state)
{
    (void)state;
    static const char *const models[] = {"quarter-car.yaml", "stewart.yaml", "bushing-mount.yaml"};
    for (int m = 0; m < 3; m++) {
        subject s[2];
        for (int c = 0; c < 2; c++) {
            s[c] = open_model(models[m], NULL, 0, BOTH[c], false);
            linearize(&s[c]);
        }
        assert_int_equal(s[0].linear->nx, s[1].linear->nx);
        const kd_modes *a = s[0].modes;
        double          scale = 1 + hypot(a->real[a->n - 1], a->imaginary[a->n - 1]);
        for (int i = 0; i < a->n; i++)
            if (hypot(a->real[i], a->imaginary[i]) > 1e-2 * scale)
                assert_has_pair(s[1].modes, a->real[i], a->imaginary[i], 1e-6 * scale);
        for (int c = 0; c < 2; c++) close_model(&s[c]);
    }
}

// ---- inputs, outputs, descriptor form -------------------------------------------------------------------------------

static kd_eval constant_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    u[0] = *(double *)context;
    du[0] = ddu[0] = 0;
    return KD_EVAL_OK;
}

static void outputs_at(const subject *s, double u, double *y, double *a)
{
    kd_inputs    inputs = {constant_input, &u};
    kd_state    *x;
    kd_eom_data *d;
    double       zero = 0;
    must(kd_state_create(s->eom, &x), "");
    kd_state_copy(s->x, x);
    must(kd_initial_consistent(s->eom, &inputs, NULL, x, NULL, 0), "");
    must(kd_eom_data_create(s->eom, &d), "");
    kd_eom_at_time(d, x->t, &u, &zero, &zero, x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(d, KD_Y, y), KD_EVAL_OK);
    memcpy(a, x->a, (size_t)s->n.nv * sizeof *a);
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
}

// The input of the quarter car: columns of B and D are differences of accelerations and sensors, in both coordinate
// sets.
static void input_acts_as_B_and_D_say(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject s = open_model("quarter-car.yaml", NULL, 0, BOTH[c], false);
        make_consistent(&s);
        linearize(&s);
        const kd_linear *l = s.linear;
        double           y[2][16], a[2][32];
        assert_int_equal(l->nu, 1);
        assert_true(l->ny <= 16 && s.n.nv <= 32);
        outputs_at(&s, 5, y[0], a[0]);
        outputs_at(&s, -5, y[1], a[1]);
        for (int i = 0; i < l->ny; i++) assert_close(l->D[i], (y[0][i] - y[1][i]) / 10, 1e-7);
        for (int i = 0; i < l->nvelocity; i++) {
            double slope = (a[0][l->velocity[i]] - a[1][l->velocity[i]]) / 10;
            assert_close(l->B[l->nposition + i], slope, 1e-8);
        }
        close_model(&s);
    }
}

// Response of the descriptor form at one frequency: (i omega E - A) x = B, y = C x + D
static void descriptor_response(const kd_linear *l, double omega, double complex *y)
{
    const size_t    n = (size_t)l->nd;
    double complex *K = calloc(n * n, sizeof *K), *x = calloc(n, sizeof *x);
    int            *pivot = calloc(n, sizeof *pivot);
    for (size_t i = 0; i < n * n; i++) K[i] = CMPLX(-l->A_d[i], omega * l->E[i]);
    for (size_t i = 0; i < n; i++) x[i] = l->B_d[i];
    assert_int_equal(kd_zlu_factor(l->nd, K, pivot), 0);
    kd_zlu_solve(l->nd, K, pivot, x, 1);
    for (int i = 0; i < l->ny; i++) {
        y[i] = l->D_d[i];
        for (size_t j = 0; j < n; j++) y[i] += l->C_d[(size_t)i + j * (size_t)l->ny] * x[j];
    }
    free(K);
    free(x);
    free(pivot);
}

// The frequency response is the same from the minimal form, from the descriptor form, and in both coordinate sets.
static void responses_agree(void **state)
{
    (void)state;
    static const double omega[] = {1, 10, 70};
    double complex      first[3][16];
    for (int c = 0; c < 2; c++) {
        subject s = open_model("quarter-car.yaml", NULL, 0, BOTH[c], false);
        linearize(&s);
        const kd_linear *l = s.linear;
        double           re[3 * 16], im[3 * 16];
        double complex   y[16];
        assert_int_equal(kd_linear_response(l, 3, omega, re, im), KD_OK);
        for (int k = 0; k < 3; k++) {
            descriptor_response(l, omega[k], y);
            for (int i = 0; i < l->ny; i++) {
                double complex minimal = CMPLX(re[i + k * l->ny], im[i + k * l->ny]);
                assert_close(cabs(minimal - y[i]), 0, 1e-9 * (1 + cabs(y[i])));
                if (c == 0) first[k][i] = minimal;
                assert_close(cabs(minimal - first[k][i]), 0, 1e-6 * (1 + cabs(y[i])));
            }
        }
        assert_non_null(l->descriptor_name[l->nd - 1]);
        close_model(&s);
    }
}

// ---- mistakes -------------------------------------------------------------------------------------------------------

// Missing arguments are told; without wish there is no descriptor form; destroying nothing is fine.
static void arguments_are_checked(void **state)
{
    (void)state;
    kd_linear           *l;
    kd_modes            *m;
    kd_linearize_options opt = kd_linearize_options_default();
    subject              s = open_model(OSCILLATOR, NULL, 0, KD_JOINT, false);
    assert_int_equal(kd_linearize(NULL, NULL, NULL, s.x, &l, NULL, 0), KD_ERR_ARGUMENT);
    assert_null(l);
    assert_int_equal(kd_linearize(s.eom, NULL, NULL, NULL, &l, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_modes_create(NULL, &m), KD_ERR_ARGUMENT);
    assert_int_equal(kd_linear_response(NULL, 0, NULL, NULL, NULL), KD_ERR_ARGUMENT);
    opt.descriptor = false;
    must(kd_linearize(s.eom, NULL, &opt, s.x, &l, NULL, 0), "");
    assert_null(l->E);
    assert_int_equal(l->nd, 0);
    kd_linear_destroy(l);
    kd_linear_destroy(NULL);
    kd_modes_destroy(NULL);
    close_model(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oscillator_is_as_on_paper),
        cmocka_unit_test(modes_are_eigenvectors),
        cmocka_unit_test(four_bar_has_published_eigenvalues),
        cmocka_unit_test(caravan_sways_as_tabulated),
        cmocka_unit_test(bicycle_has_published_eigenvalues),
        cmocka_unit_test(accelerations_change_as_A_says),
        cmocka_unit_test(coordinates_agree),
        cmocka_unit_test(input_acts_as_B_and_D_say),
        cmocka_unit_test(responses_agree),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
