// Point 2: kites (crank and ground of one length, coupler and rocker of another) without forces, of random lengths, masses and
// speeds, that pass the position where the crank's end lies on the rocker's pivot, about which both others could turn. A step
// of a method of high order over such a position may look as easy as those before it; what it loses stays in the energy. Energies are taken from angle and speed of the crank alone, by
// closed forms with derivatives by complex steps.
#include <complex.h>

#include "case.h"
#include "certified_run.h"
#include "seeded.h"

#define WORST 150.0 // errors of one tolerance in velocities and positions; 248 where nobody had looked into such steps

typedef struct rods {
    double r, l, q, v, m[3];
} rods;

static rods random_rods(uint64_t *seed)
{
    rods n = {.r = seeded_log(seed, 0.05, 2), .q = seeded_between(seed, 0.3, 2.8)};
    n.l = n.r * seeded_between(seed, 1.2, 3);
    n.v = seeded_log(seed, 0.5, 30) * (seeded_between(seed, -1, 1) < 0 ? -1 : 1);
    for (int i = 0; i < 3; i++) n.m[i] = seeded_log(seed, 0.2, 5);
    return n;
}

// m |c'|^2 / 2 of a rod from a to b, per q'^2: thin, m l^2 / 12 about the centre. a, b at q + i TINY
#define TINY 1e-30
static double rate(double complex z)
{
    return cimag(z) / TINY;
}

static double energy_of_rod(double m, const double complex *a, const double complex *b)
{
    const double x = rate(a[0] + b[0]) / 2, y = rate(a[1] + b[1]) / 2; // centre
    const double dx = rate(b[0] - a[0]), dy = rate(b[1] - a[1]);       // l^2 w^2
    return m / 2 * (x * x + y * y + (dx * dx + dy * dy) / 12);
}

static double energy(const rods *n, double q, double v, double side)
{
    const double complex z = q + I * TINY, o[2] = {0, 0}, d[2] = {n->r, 0}, a[2] = {n->r * ccos(z), n->r * csin(z)};
    const double complex reach = side * csqrt(n->l * n->l - n->r * n->r * csin(z / 2) * csin(z / 2));
    const double complex b[2] = {(a[0] + d[0]) / 2 + reach * ccos(z / 2), (a[1] + d[1]) / 2 + reach * csin(z / 2)};
    return v * v * (energy_of_rod(n->m[0], o, a) + energy_of_rod(n->m[1], a, b) + energy_of_rod(n->m[2], d, b));
}

static int put_rod(char *text, size_t size, const char *name, const double *a, const double *b, double m)
{
    const double l = hypot(b[0] - a[0], b[1] - a[1]), J = m * l * l / 12;
    return snprintf(text, size,
                    "  %s: {position: [%.17g, %.17g, 0], orientation: {axis: [0, 0, 1], angle: %.17g}, mass: %.17g, "
                    "inertia: [%.17g, %.17g, %.17g]}\n",
                    name, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, atan2(b[1] - a[1], b[0] - a[0]), m, J / 100, J, J);
}

// Where coupler and rocker meet: on the bisector of the crank's angle
static void tip(const rods *n, double q, double side, double *b)
{
    const double reach = side * sqrt(n->l * n->l - pow(n->r * sin(q / 2), 2));
    b[0] = n->r * (1 + cos(q)) / 2 + reach * cos(q / 2);
    b[1] = n->r * sin(q) / 2 + reach * sin(q / 2);
}

// A turn of the crank leads to the other side: the one that fits to the centre of the coupler
static double side_of(const rods *n, double q, double x)
{
    double b[2], off[2];
    for (int k = 0; k < 2; k++) {
        tip(n, q, 1 - 2 * k, b);
        off[k] = fabs((n->r * cos(q) + b[0]) / 2 - x);
    }
    return off[0] < off[1] ? 1 : -1;
}

static void write_rods(const rods *n, char *text, size_t size)
{
    const double o[2] = {0, 0}, d[2] = {n->r, 0}, a[2] = {n->r * cos(n->q), n->r * sin(n->q)};
    double       b[2];
    tip(n, n->q, 1, b);
    int k = snprintf(text, size, "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n");
    k += put_rod(text + k, size - (size_t)k, "crank", o, a, n->m[0]);
    k += put_rod(text + k, size - (size_t)k, "coupler", a, b, n->m[1]);
    k += put_rod(text + k, size - (size_t)k, "rocker", d, b, n->m[2]);
    snprintf(text + k, size - (size_t)k,
             "joints:\n"
             "  a: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1], v: %.17g, hold: true}\n"
             "  b: {type: revolute, bodies: [crank, coupler], point: [%.17g, %.17g, 0], axis: [0, 0, 1]}\n"
             "  c: {type: revolute, bodies: [coupler, rocker], point: [%.17g, %.17g, 0], axis: [0, 0, 1]}\n"
             "  d: {type: revolute, bodies: [ground, rocker], point: [%.17g, 0, 0], axis: [0, 0, 1]}\n",
             n->v, a[0], a[1], b[0], b[1], n->r);
}

static void clean_runs_keep_the_energy(void **state)
{
    static const kd_integrator_kind kinds[] = {KD_DOP853, KD_DOPRI5};
    uint64_t                        seed = test_seed(5);
    int                             judged = 0;
    double                          worst = 0;
    (void)state;
    for (int k = 0; k < 160; k++) {
        char                  text[3000];
        certified             out;
        const rods            n = random_rods(&seed);
        kd_simulation_options o = kd_simulation_options_default();
        write_rods(&n, text, sizeof text);
        o.formulation = KD_STATESPACE;
        o.integrator = kinds[k % 4 == 3];
        o.rtol = o.atol = seeded_log(&seed, 1e-9, 1e-6);
        certify_text(text, KD_CARTESIAN, seeded_between(&seed, 6, 20) / fabs(n.v), o, &out);
        if (out.status < 0 || !out.verdict.clean) continue;
        const double q = atan2(out.p[1], out.p[0]);
        const double before = energy(&n, n.q, n.v, 1), after = energy(&n, q, out.v[5], side_of(&n, q, out.p[7]));
        const double error = fabs(after - before) / kd_certificate_energy_explained(&out.certificate);
        judged++;
        if (error > WORST) print_error("run %d, rtol %g: %g tolerances\n", k, o.rtol, error);
        worst = fmax(worst, error);
    }
    print_message("%d clean runs, energy within %.3g tolerances\n", judged, worst);
    assert_true(judged > 40);
    assert_true(worst < WORST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clean_runs_keep_the_energy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
