// realtime_stability.c: stability on the test equation q'' = -a q - b q' (S4 section 2). The domains of figure 1 are
// computed from the amplification matrices
//
//     A = I + inv(I - J) F,   F = [0 1; -a -b],   h = 1
//
// with J = 0, J1, J2, J3, J exact; the limits are measured by running the stepper, and its step must be A.
#include <complex.h>
#include <math.h>

#include "common_figure.h"
#include "core/text.h"
#include "realtime.h"

#define FAR 1e8      // a motion that has come so far is not
#define BOUNDED 1e4  // start: 1
#define MARGIN 1e-12 // rounding in the spectral radius
#define LEFT (-6.0)  // window of figure 1
#define TOP 4.0      //
#define CELL 0.25    //
enum { METHODS = 5, COLUMNS = 25, ROWS = 33, DOTS = 2 * COLUMNS * ROWS, EDGE = 241 };

typedef struct method {
    const char          *word, *title;
    kd_realtime_jacobian jacobian;
} method;

static const method methods[METHODS] = {
    {"explicit", "explicit", KD_REALTIME_EXPLICIT},
    {"j1", "J1", KD_REALTIME_J1},
    {"j2", "J2", KD_REALTIME_J2},
    {"j3", "J3", KD_REALTIME_J3},
    {"exact", "J exact", KD_REALTIME_EXACT},
};

typedef struct oscillator {
    double a, b;
} oscillator;

// ---- by matrices ----------------------------------------------------------------------------------------------------

typedef struct matrix {
    double m[2][2];
} matrix;

static matrix amplification(oscillator o, kd_realtime_jacobian jacobian)
{
    const bool   by_p = jacobian != KD_REALTIME_EXPLICIT, by_v = by_p && jacobian != KD_REALTIME_J3;
    const double up = jacobian == KD_REALTIME_EXACT ? 1 : 0;
    const double low = by_p ? -o.a : 0, right = (by_v ? -o.b : 0) - (jacobian == KD_REALTIME_J2 ? o.a : 0);
    const double N[2][2] = {{1, -up}, {-low, 1 - right}}, det = N[0][0] * N[1][1] - N[0][1] * N[1][0];
    const double F[2][2] = {{0, 1}, {-o.a, -o.b}};
    matrix       A;
    for (int j = 0; j < 2; j++) {
        A.m[0][j] = (j == 0 ? 1 : 0) + (N[1][1] * F[0][j] - N[0][1] * F[1][j]) / det;
        A.m[1][j] = (j == 1 ? 1 : 0) + (N[0][0] * F[1][j] - N[1][0] * F[0][j]) / det;
    }
    return A;
}

static bool is_stable(oscillator o, kd_realtime_jacobian jacobian)
{
    const matrix         A = amplification(o, jacobian);
    const double         half = (A.m[0][0] + A.m[1][1]) / 2, det = A.m[0][0] * A.m[1][1] - A.m[0][1] * A.m[1][0];
    const double complex root = csqrt(half * half - det);
    return fmax(cabs(half + root), cabs(half - root)) <= 1 + MARGIN;
}

// Eigenvalues e_F = x +- i y of the equation; on the real axis with any partner.
static bool in_domain(double x, double y, kd_realtime_jacobian jacobian)
{
    if (y != 0) return is_stable((oscillator){x * x + y * y, -2 * x}, jacobian);
    for (double partner = 0; partner >= LEFT; partner -= CELL / 4)
        if (is_stable((oscillator){x * partner, -x - partner}, jacobian)) return true;
    return false;
}

typedef struct domain {
    double dots_x[DOTS], dots_y[DOTS];         // stable points, NaN between them
    double edge_x[2 * EDGE], edge_y[2 * EDGE]; // upper and lower limit of complex pairs
} domain;

// Largest y with x +- i y in the domain; NaN: none or no limit
static double edge_at(double x, kd_realtime_jacobian jacobian)
{
    double low = 1e-6, high = 2 * TOP;
    if (!in_domain(x, low, jacobian) || in_domain(x, high, jacobian)) return NAN;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        if (in_domain(x, middle, jacobian))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void find_domain(domain *d, kd_realtime_jacobian jacobian)
{
    int n = 0;
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < ROWS; k++, n += 2) {
            const double x = LEFT + CELL * i, y = -TOP + CELL * k;
            d->dots_x[n] = x;
            d->dots_y[n] = in_domain(x, y, jacobian) ? y : NAN;
            d->dots_x[n + 1] = d->dots_y[n + 1] = NAN;
        }
    for (int i = 0; i < EDGE; i++) {
        const double x = LEFT - LEFT * i / (EDGE - 1), y = edge_at(x, jacobian);
        d->edge_x[i] = x, d->edge_y[i] = y;
        d->edge_x[2 * EDGE - 1 - i] = x, d->edge_y[2 * EDGE - 1 - i] = -y;
    }
}

static void draw_domains(bench *b)
{
    static domain domains[METHODS];
    kd_series     series[METHODS][2];
    kd_plot       plots[METHODS];
    for (int i = 0; i < METHODS; i++) {
        domain *d = &domains[i];
        find_domain(d, methods[i].jacobian);
        series[i][0] = (kd_series){.name = "stable", .x = d->dots_x, .y = d->dots_y, .n = DOTS, .markers = true};
        series[i][1] = (kd_series){.name = "limit", .x = d->edge_x, .y = d->edge_y, .n = 2 * EDGE};
        plots[i] = (kd_plot){.title = methods[i].title,
                             .xlabel = "h Re e",
                             .ylabel = "h Im e",
                             .width = 420,
                             .height = 460,
                             .nseries = 2,
                             .series = series[i],
                             .note = "eigenvalues e of q'' = -a q - b q' with bounded solutions"};
    }
    bench_figure(b, "realtime-stability", plots, METHODS, 3);
}

// ---- by running the stepper -----------------------------------------------------------------------------------------

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const oscillator *o = context;
    out[0] = -o->a * x->p[0] - o->b * x->v[0];
    return KD_EVAL_OK;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const oscillator *o = context;
    (void)x, (void)part, (void)fn;
    out[0] = var == KD_P ? -o->a : -o->b;
    return KD_EVAL_OK;
}

typedef struct subject {
    long       steps; // of a motion; 40000: one that grows by less than 2e-4 in a step counts as bounded
    oscillator o;
    kd_eom    *eom;
    kd_state  *x;
} subject;

static bool subject_open(subject *s)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims.np = def.dims.nv = 1;
    def.context = &s->o;
    def.M = mass;
    def.f = force;
    def.derivative = derivative;
    def.given[KD_FORCE] = KD_BIT(KD_P) | KD_BIT(KD_V);
    return kd_eom_create(&def, &s->eom, NULL, 0) >= 0 && kd_state_create(s->eom, &s->x) >= 0;
}

static kd_realtime *stepper_of(subject *s, oscillator o, kd_realtime_jacobian jacobian, double q, double u)
{
    kd_realtime_options opt = kd_realtime_options_default();
    kd_realtime        *rt = NULL;
    s->o = o;
    s->x->p[0] = q, s->x->v[0] = u;
    opt.h = 1;
    opt.jacobian = jacobian;
    opt.stabilisation = KD_REALTIME_NONE;
    opt.ahead = false;
    if (kd_realtime_create(s->eom, NULL, &opt, s->x, &rt, NULL, 0) < 0) return NULL;
    return rt;
}

static bool is_bounded(subject *s, oscillator o, kd_realtime_jacobian jacobian)
{
    kd_realtime *rt = stepper_of(s, o, jacobian, 1, 0);
    double       most = rt ? 0 : FAR;
    for (long i = 0; i < s->steps && most < FAR; i++)
        most = kd_realtime_step(rt, NULL, NULL) < 0 ? FAR : fmax(most, fabs(kd_realtime_state(rt)->p[0]));
    kd_realtime_destroy(rt);
    return most < BOUNDED;
}

// The bound of h^2 a that S4 gives (explicit Euler: of its eigenvalues)
static double bound_of(kd_realtime_jacobian jacobian, double b)
{
    if (jacobian == KD_REALTIME_J1) return 2 * b + 4;
    return jacobian == KD_REALTIME_J3 ? 4 - 2 * b : b;
}

static double measured_limit(subject *s, kd_realtime_jacobian jacobian, double b)
{
    double low = 0.5 * bound_of(jacobian, b), high = 4 * low;
    if (!is_bounded(s, (oscillator){low, b}, jacobian) || is_bounded(s, (oscillator){high, b}, jacobian)) return NAN;
    while (high > 1.0005 * low) {
        const double middle = sqrt(low * high);
        if (is_bounded(s, (oscillator){middle, b}, jacobian))
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

static void row_of_limit(bench *b, subject *s, const method *m, const char *note)
{
    double worst = 0;
    for (double damping = m->jacobian == KD_REALTIME_EXPLICIT ? 0.4 : 0; damping < 1.9; damping += 0.4) {
        const double bound = bound_of(m->jacobian, damping), limit = measured_limit(s, m->jacobian, damping);
        bench_say(b, "%s, h b = %.1f: stable up to h^2 a = %.4f, bound %.4f\n", m->title, damping, limit, bound);
        worst = isnan(limit) ? NAN : fmax(worst, fabs(limit / bound - 1));
        if (isnan(worst)) break;
    }
    bench_row(b, bench_below(0.01), NAN, worst, "", note, "stability.%s", m->word);
}

// No limit: how many of many pairs are not stable
static void row_without_limit(bench *b, subject *s, const method *m)
{
    int bad = 0;
    for (double a = 0.01; a < 1e9; a *= 20)
        for (double damping = 0; damping < 1e6; damping = damping * 50 + 0.1)
            bad += is_bounded(s, (oscillator){a, damping}, m->jacobian) ? 0 : 1;
    bench_row(b, bench_exactly(0), 0, bad, "", "unstable pairs h^2 a up to 1e9, h b up to 1e6", "stability.%s",
              m->word);
}

// Largest difference of the stepper's step and A
static void row_of_matrix(bench *b, subject *s)
{
    double worst = 0;
    for (int i = 0; i < METHODS; i++)
        for (int j = 0; j < 2; j++) {
            const oscillator o = {1.7, 0.6};
            const matrix     A = amplification(o, methods[i].jacobian);
            kd_realtime     *rt = stepper_of(s, o, methods[i].jacobian, j == 0, j == 1);
            const bool       good = rt && kd_realtime_step(rt, NULL, NULL) >= 0;
            const kd_state  *x = good ? kd_realtime_state(rt) : NULL;
            worst = good ? fmax(worst, fmax(fabs(x->p[0] - A.m[0][j]), fabs(x->v[0] - A.m[1][j]))) : INFINITY;
            kd_realtime_destroy(rt);
        }
    bench_row(b, bench_below(1e-6), NAN, worst, "",
              "steps of all Jacobians against their amplification matrices; J3 by differences", "stability.matrix");
}

void realtime_stability(bench *b)
{
    subject s = {.steps = bench_quick(b) ? 10000 : 40000};
    if (!bench_wants(b, "stability.")) return;
    draw_domains(b);
    if (subject_open(&s)) {
        row_of_limit(b, &s, &methods[0], "measured limit against h^2 a <= h b, largest deviation");
        row_of_limit(b, &s, &methods[1], "measured limit against h^2 a <= 2 h b + 4, largest deviation");
        row_without_limit(b, &s, &methods[2]);
        row_of_limit(b, &s, &methods[3], "measured limit against h^2 a <= 4 - 2 h b, largest deviation");
        row_without_limit(b, &s, &methods[4]);
        row_of_matrix(b, &s);
    }
    kd_state_destroy(s.x);
    kd_eom_destroy(s.eom);
}
