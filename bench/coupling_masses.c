// coupling_masses.c: two masses (m = 1 kg, k = 10 N/m, d = 0.1 N s/m each, coupling 100 N/m, 1 N s/m): limits of stability of the macro
// step and slopes of the error.
//
// The motion is linear, and so is the map that kardan's own master makes of it from one communication point to the next: it is measured
// by runs from independent starts, and the limit is where its spectral radius passes 1. tests/cosim/stability_limits.py has the same limits
// without kardan.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coupling.h"
#include "coupling_map.h"

kd_cosim *coupling_two_masses(const kd_cosim_options *opt)
{
    kd_cosim *c;
    char      message[2000], text[2000];
    snprintf(text, sizeof text, MAP_FORCE_DISPLACEMENT, 1.0, 0.0, 0.0, 0.0);
    if (kd_cosim_read_text(KD_SOURCE_DIR "/models/systems/bench.yaml", text, strlen(text), &c, message,
                           sizeof message) >= 0 &&
        kd_cosim_set_options(c, opt, message, sizeof message) >= 0)
        return c;
    fprintf(stderr, "%s\n", message);
    return NULL;
}

// ---- stability ------------------------------------------------------------------------------------------------------

typedef struct scheme {
    const char     *text;
    kd_cosim_master master;
    bool            held;
} scheme;

static double radius_of(const scheme *s, double H)
{
    kd_cosim_options opt = kd_cosim_options_default();
    opt.master = s->master, opt.held = s->held, opt.degree = 0, opt.step = H, opt.threads = 1, opt.convergence = 1e-7;
    return map_radius(s->text, &opt, s->held);
}

static double limit_of(const scheme *s, double low, double high)
{
    if (!(radius_of(s, low) < 1 && radius_of(s, high) > 1)) return NAN;
    while (high > 1.0002 * low) {
        const double middle = 0.5 * (low + high);
        if (radius_of(s, middle) > 1)
            high = middle;
        else
            low = middle;
    }
    return 0.5 * (low + high);
}

// Stable all the way from small macro steps to the limit: the first loss of stability
static bool is_first(const scheme *s, double limit)
{
    for (int i = 1; i < 10; i++)
        if (!(radius_of(s, 0.099 * i * limit) < 1)) return false;
    return true;
}

static void row_of_limit(bench *b, const char *name, scheme s, double wanted, const char *note)
{
    if (!bench_wants(b, "limit.%s", name)) return;
    const double limit = limit_of(&s, 0.8 * wanted, 1.25 * wanted);
    bench_row(b, bench_between(0.99 * wanted, 1.01 * wanted, true), wanted, is_first(&s, limit) ? limit : NAN, "s",
              note, "limit.%s", name);
}

// Converged force/force coupling with the force of the end of the step: the largest spectral radius over all macro steps that were tried
static void row_of_force_force(bench *b)
{
    const scheme s = {MAP_FORCES, KD_COSIM_ITERATION, false};
    const double jacobi = 0.02802;
    double       largest = 0;
    int          tried = 0;
    char         note[200];
    if (!bench_wants(b, "force_force.stable")) return;
    for (double H = 0.1 * jacobi; H <= 100 * jacobi * 1.0001; H *= bench_quick(b) ? 1.9953 : 1.0715, tried++)
        largest = fmax(largest, radius_of(&s, H));
    snprintf(note, sizeof note, "largest spectral radius of %d macro steps from 0.1 to 100 times the limit of Jacobi",
             tried);
    bench_row(b, bench_below(1), NAN, largest, "", note, "force_force.stable");
}

void coupling_limits(bench *b)
{
    row_of_limit(b, "force_displacement.jacobi", (scheme){MAP_FORCE_DISPLACEMENT, KD_COSIM_JACOBI, false}, 0.02802,
                 "force formed from both states at the communication point");
    row_of_limit(b, "force_displacement.jacobi_held", (scheme){MAP_FORCE_DISPLACEMENT, KD_COSIM_JACOBI, true}, 0.0040,
                 "force read with the held input");
    row_of_limit(b, "force_displacement.gauss_seidel", (scheme){MAP_FORCE_DISPLACEMENT, KD_COSIM_GAUSS_SEIDEL, false},
                 0.004003, "degree 0");
    row_of_limit(b, "displacement_displacement.jacobi", (scheme){MAP_DISPLACEMENTS, KD_COSIM_JACOBI, false}, 0.04237,
                 "degree 0");
    row_of_force_force(b);
}

// ---- orders ---------------------------------------------------------------------------------------------------------

// x1, v1, x2, v2 at t of the coupled system, by modes: sum and difference of both masses are oscillators of their own
static void exact(double t, double x[4])
{
    double mode[2][2];
    for (int i = 0; i < 2; i++) { // sum: k, d; difference: k + 2 kc, d + 2 dc; both begin with 1, 0
        const double k = i == 0 ? 10 : 210, d = i == 0 ? 0.1 : 2.1, a = d / 2, w = sqrt(k - a * a), e = exp(-a * t);
        mode[i][0] = e * (cos(w * t) + a / w * sin(w * t));
        mode[i][1] = -e * k / w * sin(w * t);
    }
    for (int j = 0; j < 2; j++) {
        x[j] = 0.5 * (mode[0][j] + mode[1][j]);
        x[2 + j] = 0.5 * (mode[0][j] - mode[1][j]);
    }
}

static double error_of(const kd_cosim_options *opt, long *steps)
{
    char                 message[1000];
    double               x[4], error = 0;
    kd_cosim_certificate z;
    static const char   *names[4] = {"left.x", "left.v", "right.x", "right.v"};
    kd_cosim            *c = coupling_two_masses(opt);
    exact(opt->t_end, x);
    if (!c || kd_cosim_run(c, message, sizeof message) < 0) {
        fprintf(stderr, "%s\n", c ? message : "");
        kd_cosim_destroy(c);
        return NAN;
    }
    for (int i = 0; i < 4; i++) error = fmax(error, fabs(kd_cosim_read_value(c, names[i]) - x[i]));
    kd_cosim_certify(c, &z);
    *steps = z.steps;
    kd_cosim_destroy(c);
    return error;
}

static double slope_of(int n, const double *x, const double *y)
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (int i = 0; i < n; i++) mx += log(x[i]) / n, my += log(y[i]) / n;
    for (int i = 0; i < n; i++) xy += (log(x[i]) - mx) * (log(y[i]) - my), xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    return xy / xx;
}

static void row_of_degree(bench *b, int degree)
{
    enum { MOST = 6 };
    double           H[MOST], error[MOST];
    const int        n = bench_quick(b) ? 3 : 5;
    kd_cosim_options opt = kd_cosim_options_default();
    char             note[200];
    long             steps;
    if (!bench_wants(b, "slope.degree%d", degree)) return;
    opt.degree = degree, opt.t_end = 1, opt.threads = 1, opt.intervals = 1;
    for (int i = 0; i < n; i++) {
        opt.step = H[i] = (degree == 0 ? 1e-3 : 4e-3) * pow(0.5, i);
        error[i] = error_of(&opt, &steps);
        bench_say(b, "degree %d, H = %.3g s: error %.3e\n", degree, H[i], error[i]);
    }
    snprintf(note, sizeof note, "Jacobi, H from %.3g to %.3g s, error at 1 s from %.2e to %.2e", H[0], H[n - 1],
             error[0], error[n - 1]);
    bench_row(b, bench_between(degree + 0.8, degree + 1.2, true), degree + 1, slope_of(n, H, error), "", note,
              "slope.degree%d", degree);
}

static void row_of_tolerance(bench *b, kd_cosim_control control, int degree)
{
    double           tol[5], error[5];
    const int        n = bench_quick(b) ? 3 : 5;
    kd_cosim_options opt = kd_cosim_options_default();
    char             note[300];
    long             steps[5];
    if (!bench_wants(b, "tolerance.%s", kd_cosim_control_word(control))) return;
    opt.degree = degree, opt.t_end = 1, opt.threads = 1, opt.intervals = 1, opt.control = control;
    for (int i = 0; i < n; i++) {
        opt.rtol = tol[i] = 1e-2 * pow(10, -0.5 * i);
        error[i] = error_of(&opt, &steps[i]);
        bench_say(b, "%s, degree %d, tolerance %.1e: error %.3e, %ld steps\n", kd_cosim_control_word(control), degree,
                  tol[i], error[i], steps[i]);
    }
    snprintf(note, sizeof note, "degree %d, tolerances %.0e to %.0e: error at 1 s %.2e to %.2e, %ld to %ld steps",
             degree, tol[0], tol[n - 1], error[0], error[n - 1], steps[0], steps[n - 1]);
    bench_row(b, bench_between(0.7, 1.3, true), 1, slope_of(n, tol, error), "", note, "tolerance.%s.degree%d",
              kd_cosim_control_word(control), degree);
}

void coupling_orders(bench *b)
{
    for (int degree = 0; degree <= 2; degree++) row_of_degree(b, degree);
    for (int degree = 1; degree <= 2; degree++) {
        row_of_tolerance(b, KD_COSIM_EXTRAPOLATION, degree);
        row_of_tolerance(b, KD_COSIM_HALVES, degree);
    }
}
