// Point 4, starts: invariants that a start violates are corrected or refused in words, dependent ones are told, and
// multipliers of redundant constraints are those of least norm wherever they are shown.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "point/acceleration.h"

static double random_between(uint32_t *seed, double low, double high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (high - low) * (double)(*seed >> 8) / 16777216.0;
}

// ---- a planar pendulum with known energies --------------------------------------------------------------------------

typedef struct pendulum {
    double m, l, g, energy[3], factor[3]; // e_i = factor_i (T + V - energy_i)
} pendulum;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x;
    out[0] = out[3] = ((const pendulum *)context)->m;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    const pendulum *c = context;
    (void)x;
    out[0] = 0;
    out[1] = -c->m * c->g;
    return KD_EVAL_OK;
}

static kd_eval rod(const kd_point *x, void *context, double *out)
{
    const pendulum *c = context;
    out[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - c->l * c->l;
    return KD_EVAL_OK;
}

static double total(const pendulum *c, const double *p, const double *v)
{
    return 0.5 * c->m * (v[0] * v[0] + v[1] * v[1]) + c->m * c->g * p[1];
}

static kd_eval energies_of(const kd_point *x, void *context, double *out, int n)
{
    const pendulum *c = context;
    for (int i = 0; i < n; i++) out[i] = c->factor[i] * (total(c, x->p, x->v) - c->energy[i]);
    return KD_EVAL_OK;
}

static kd_eval one(const kd_point *x, void *context, double *out)
{
    return energies_of(x, context, out, 1);
}

static kd_eval two(const kd_point *x, void *context, double *out)
{
    return energies_of(x, context, out, 2);
}

static const char *name(kd_kind kind, int i, void *context)
{
    static const char *const invariant[] = {"energy", "same energy", "third"};
    (void)context;
    return kind == KD_NAME_E ? invariant[i] : kind == KD_NAME_LAMBDA ? "rod" : NULL;
}

static kd_eom *pendulum_of(pendulum *c, int ne)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .ne = ne};
    def.context = c;
    def.M = mass;
    def.f = force;
    def.g = rod;
    def.e = ne == 2 ? two : one;
    def.name = name;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    return eom;
}

// At the angle phi with the speed w
static kd_state *start_of(const kd_eom *eom, const pendulum *c, double phi, double w)
{
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = c->l * sin(phi);
    x->p[1] = -c->l * cos(phi);
    x->v[0] = w * cos(phi);
    x->v[1] = w * sin(phi);
    return x;
}

// A violated invariant is brought about by the closest velocities and said; the run then keeps what the start said.
static void violated_invariant_is_corrected(void **state)
{
    uint32_t seed = test_seed(4);
    (void)state;
    for (int k = 0; k < 12; k++) {
        pendulum  c = {.m = random_between(&seed, 0.01, 50),
                       .l = random_between(&seed, 0.2, 4),
                       .g = random_between(&seed, 1, 20),
                       .factor = {random_between(&seed, 0.1, 10)}};
        double    phi = random_between(&seed, -1, 1), w = random_between(&seed, 0.5, 4), before[2];
        char      message[800];
        kd_eom   *eom = pendulum_of(&c, 1);
        kd_state *x = start_of(eom, &c, phi, w);
        memcpy(before, x->v, sizeof before);
        double kinetic = 0.5 * c.m * w * w, wanted = kinetic * random_between(&seed, 0.3, 1.9);
        c.energy[0] = total(&c, x->p, x->v) - kinetic + wanted;
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, message, sizeof message), KD_CORRECTED);
        assert_non_null(strstr(message, "invariant"));
        double scale = sqrt(wanted / kinetic); // along the circle: the direction is kept
        for (int i = 0; i < 2; i++) assert_true(fabs(x->v[i] - scale * before[i]) < 1e-8 * w);
        memcpy(before, x->v, sizeof before);
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, message, sizeof message), KD_OK);
        assert_memory_equal(before, x->v, sizeof before); // what holds stays to the last bit
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        opt.formulation_options.invariants = true;
        opt.rtol = opt.atol = 1e-8;
        assert_true(kd_simulate(eom, NULL, &opt, x, 0.5, NULL, message, sizeof message) == KD_OK);
        assert_true(fabs(total(&c, x->p, x->v) - c.energy[0]) < 1e-9 * (wanted + c.m * c.g * c.l));
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// An energy below the potential cannot be had by any velocity: refused by name.
static void impossible_invariant_is_refused(void **state)
{
    pendulum c = {.m = 1, .l = 1, .g = 9.81, .factor = {1}};
    char     message[800];
    (void)state;
    kd_eom   *eom = pendulum_of(&c, 1);
    kd_state *x = start_of(eom, &c, 0.3, 2.9);
    c.energy[0] = -9.81 * cos(0.3) - 1;
    kd_status status = kd_initial_consistent(eom, NULL, NULL, x, message, sizeof message);
    assert_true(status < 0);
    assert_non_null(strstr(message, "energy"));
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Equal invariants: said by name, and the energy is kept all the same. Contradictory ones are refused by name.
static void dependent_invariants_are_told(void **state)
{
    uint32_t seed = test_seed(9);
    (void)state;
    for (int k = 0; k < 6; k++) {
        pendulum  c = {.m = random_between(&seed, 0.1, 5),
                       .l = random_between(&seed, 0.5, 2),
                       .g = 9.81,
                       .factor = {1, random_between(&seed, 0.1, 10)}};
        char      message[800];
        kd_eom   *eom = pendulum_of(&c, 2);
        kd_state *x = start_of(eom, &c, random_between(&seed, -1, 1), random_between(&seed, 1, 2));
        c.energy[0] = c.energy[1] = total(&c, x->p, x->v);
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, message, sizeof message), KD_REDUNDANT);
        assert_non_null(strstr(message, "'same energy'"));
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        opt.formulation_options.invariants = true;
        opt.rtol = opt.atol = 1e-5;
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, NULL, message, sizeof message), KD_REDUNDANT);
        assert_true(fabs(total(&c, x->p, x->v) - c.energy[0]) < 1e-10 * c.m * c.g * c.l);
        c.energy[1] += 0.1 * c.m;
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, message, sizeof message), KD_ERR_IV_CONTRADICTORY);
        assert_non_null(strstr(message, "'energy'"));
        assert_non_null(strstr(message, "'same energy'"));
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- redundant rows -------------------------------------------------------------------------------------------------

enum { ROWS = 5 };

// A point on a circle in a tilted plane, g = B (|p|^2 - l^2, n.p), so that lambda of least norm is B (B'B)^-1 lambda0
typedef struct circle {
    double m, l, n[3], B[ROWS][2];
} circle;

static kd_eval circle_mass(const kd_point *x, void *context, double *out)
{
    (void)x;
    for (int i = 0; i < 3; i++) out[4 * i] = ((const circle *)context)->m;
    return KD_EVAL_OK;
}

static kd_eval circle_force(const kd_point *x, void *context, double *out)
{
    out[0] = out[1] = 0;
    out[2] = -9.81 * ((const circle *)context)->m;
    (void)x;
    return KD_EVAL_OK;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static kd_eval circle_g(const kd_point *x, void *context, double *out)
{
    const circle *c = context;
    for (int i = 0; i < ROWS; i++) out[i] = c->B[i][0] * (dot(x->p, x->p) - c->l * c->l) + c->B[i][1] * dot(c->n, x->p);
    return KD_EVAL_OK;
}

// By hand: the multipliers of the two independent rows, which are orthogonal to each other on the circle
static void independent(const circle *c, const kd_state *x, double *base)
{
    const double f[3] = {0, 0, -9.81 * c->m};
    base[0] = (2 * dot(x->p, f) / c->m + 2 * dot(x->v, x->v)) / (4 * dot(x->p, x->p) / c->m);
    base[1] = dot(c->n, f) / dot(c->n, c->n);
}

// The shortest lambda with B' lambda = base
static void least_norm(const circle *c, const double *base, double *lambda)
{
    double BB[2][2] = {{0}};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) BB[j][k] += c->B[i][j] * c->B[i][k];
    const double det = BB[0][0] * BB[1][1] - BB[0][1] * BB[1][0];
    const double y[2] = {(BB[1][1] * base[0] - BB[0][1] * base[1]) / det,
                         (BB[0][0] * base[1] - BB[1][0] * base[0]) / det};
    for (int i = 0; i < ROWS; i++) lambda[i] = c->B[i][0] * y[0] + c->B[i][1] * y[1];
}

typedef struct watcher {
    const circle *c;
    double        worst, longer; // errors of the forces; parts of lambda that give no force
    int           seen;
} watcher;

static kd_eval watch(const kd_state *x, bool at_time, void *context)
{
    watcher *w = context;
    double   right[2], base[2] = {0}, lambda[ROWS], size = 0, longer = 0;
    (void)at_time;
    independent(w->c, x, right);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 2; j++) base[j] += w->c->B[i][j] * x->lambda[i];
    for (int j = 0; j < 2; j++) w->worst = fmax(w->worst, fabs(base[j] - right[j]) / (fabs(right[0]) + fabs(right[1])));
    least_norm(w->c, base, lambda);
    for (int i = 0; i < ROWS; i++) {
        size = fmax(size, fabs(lambda[i]));
        longer = fmax(longer, fabs(lambda[i] - x->lambda[i]));
    }
    w->longer = fmax(w->longer, longer / size);
    w->seen++;
    return KD_EVAL_OK;
}

static void multipliers_have_least_norm(void **state)
{
    static const struct {
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU},    {KD_PSF1, KD_RADAU},      {KD_GGL, KD_BDF},    {KD_INDEX2, KD_BDF},
               {KD_INDEX1, KD_RADAU}, {KD_BAUMGARTE1, KD_BDF},  {KD_ODE, KD_DOPRI5}, {KD_ODE, KD_DOP853},
               {KD_ODASSL, KD_BDF},   {KD_STATESPACE, KD_SDIRK}};
    uint32_t seed = test_seed(77);
    (void)state;
    for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
        circle c = {.m = random_between(&seed, 0.1, 10), .l = random_between(&seed, 0.3, 3)};
        double times[7];
        for (int i = 0; i < 3; i++) c.n[i] = random_between(&seed, -1, 1);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < 2; j++) c.B[i][j] = random_between(&seed, -3, 3);
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = ROWS};
        def.context = &c;
        def.M = circle_mass;
        def.f = circle_force;
        def.g = circle_g;
        kd_eom   *eom;
        kd_state *x;
        char      message[800];
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        // a direction in the plane, and the tangent
        double e[3] = {c.n[1], -c.n[0], 0}, t[3];
        double length = sqrt(dot(e, e)), speed = random_between(&seed, 1, 3);
        for (int i = 0; i < 3; i++) x->p[i] = c.l * e[i] / length;
        t[0] = c.n[1] * e[2] - c.n[2] * e[1], t[1] = c.n[2] * e[0] - c.n[0] * e[2],
        t[2] = c.n[0] * e[1] - c.n[1] * e[0];
        length = sqrt(dot(t, t));
        for (int i = 0; i < 3; i++) x->v[i] = speed * t[i] / length;
        for (int i = 0; i < 7; i++) times[i] = 0.0371 * (i + 1);
        watcher               w = {.c = &c};
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = way[k].formulation;
        opt.integrator = way[k].integrator;
        opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
        opt.rtol = opt.atol = 1e-8;
        opt.output = watch;
        opt.context = &w;
        opt.times = times;
        opt.ntimes = 7;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 0.3, NULL, message, sizeof message);
        if (status != KD_REDUNDANT || w.worst > 1e-4 || w.longer > 1e-7)
            print_message("%s %s: status %d, %g, %g, %s\n", kd_formulation_word(way[k].formulation),
                          kd_integrator_word(way[k].integrator), status, w.worst, w.longer, message);
        assert_int_equal(status, KD_REDUNDANT);
        assert_non_null(strstr(message, "least norm"));
        assert_true(w.seen > 8);
        assert_true(w.worst < 1e-4);
        assert_true(w.longer < 1e-7);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- redundant rows of positions and velocities ---------------------------------------------------------------------

enum { POSITION_ROWS = 2 };

// A point on a spring that moves along a line: n0.p = 0 and n0.v = n1.v = 0, each row of them a combination. Rows of
// positions are B_i0 n0, those of velocities B_i0 n0 + B_i1 n1: B' (lambda, mu) are the two forces
typedef struct rail {
    circle c;
    double k, n[2][3];
    int    sensors;
    double C[2][ROWS]; // w = C (lambda, mu): sensors, which give no force
} rail;

static kd_eval rail_force(const kd_point *x, void *context, double *out)
{
    const rail *r = context;
    for (int i = 0; i < 3; i++) out[i] = -r->k * x->p[i] - (i == 2 ? 9.81 * r->c.m : 0);
    return KD_EVAL_OK;
}

static kd_eval rail_g(const kd_point *x, void *context, double *out)
{
    const rail *r = context;
    for (int i = 0; i < POSITION_ROWS; i++) out[i] = r->c.B[i][0] * dot(r->n[0], x->p);
    return KD_EVAL_OK;
}

static kd_eval rail_h(const kd_point *x, void *context, double *out)
{
    const rail *r = context;
    for (int i = POSITION_ROWS; i < ROWS; i++)
        out[i - POSITION_ROWS] = r->c.B[i][0] * dot(r->n[0], x->v) + r->c.B[i][1] * dot(r->n[1], x->v);
    return KD_EVAL_OK;
}

static kd_eval rail_d(const kd_point *x, void *context, double *out)
{
    const rail *r = context;
    for (int j = 0; j < r->sensors; j++) {
        out[j] = x->w[j];
        for (int i = 0; i < ROWS; i++)
            out[j] -= r->C[j][i] * (i < POSITION_ROWS ? x->lambda[i] : x->mu[i - POSITION_ROWS]);
    }
    return KD_EVAL_OK;
}

// How far (lambda, mu) are from the shortest ones with the right forces, relative to their size
static double off_least_norm(const rail *r, const kd_state *x)
{
    const double f[3] = {-r->k * x->p[0], -r->k * x->p[1], -r->k * x->p[2] - 9.81 * r->c.m};
    const double a = dot(r->n[0], r->n[0]), b = dot(r->n[0], r->n[1]), c = dot(r->n[1], r->n[1]), det = a * c - b * b;
    const double y[2] = {dot(r->n[0], f), dot(r->n[1], f)};
    const double base[2] = {(c * y[0] - b * y[1]) / det, (a * y[1] - b * y[0]) / det};
    double       right[ROWS], size = 0, off = 0;
    least_norm(&r->c, base, right);
    for (int i = 0; i < ROWS; i++) {
        const double shown = i < POSITION_ROWS ? x->lambda[i] : x->mu[i - POSITION_ROWS];
        size = fmax(size, fabs(right[i]));
        off = fmax(off, fabs(shown - right[i]));
    }
    return off / size;
}

typedef struct rail_watcher {
    const rail *r;
    double      worst;
} rail_watcher;

static kd_eval watch_rail(const kd_state *x, bool at_time, void *context)
{
    rail_watcher *w = context;
    (void)at_time;
    w->worst = fmax(w->worst, off_least_norm(w->r, x));
    return KD_EVAL_OK;
}

static rail random_rail(uint32_t *seed)
{
    rail r = {.c = {.m = random_between(seed, 0.1, 10)}, .k = random_between(seed, 1, 30)};
    for (int i = 0; i < 6; i++) r.n[i / 3][i % 3] = random_between(seed, -1, 1) + (i % 4 == 0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < (i < POSITION_ROWS ? 1 : 2); j++) r.c.B[i][j] = random_between(seed, -3, 3);
    return r;
}

// With a state on the line, moving along it
static kd_eom *rail_of(rail *r, double speed, kd_state **x)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nw = r->sensors, .nlambda = POSITION_ROWS, .nmu = ROWS - POSITION_ROWS};
    def.context = r;
    def.M = circle_mass;
    def.f = rail_force;
    if (r->sensors > 0) def.d = rail_d;
    def.g = rail_g;
    def.h = rail_h;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, x), KD_OK);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        (*x)->v[i] = speed * (r->n[0][j] * r->n[1][l] - r->n[0][l] * r->n[1][j]);
        (*x)->p[i] = 0.3 * (*x)->v[i];
    }
    return eom;
}

// Whatever lambda and mu come: those of least norm with the same forces go. With sensors multipliers that give no force
// change w, so that null vectors of all unknowns are not orthogonal in lambda and mu; rows of other sizes do the same.
static void any_multipliers_become_the_shortest(void **state)
{
    uint32_t seed = test_seed(79);
    (void)state;
    for (int k = 0; k < 80; k++) {
        kd_formulation_options opt = kd_formulation_options_default();
        rail                   r = random_rail(&seed);
        if (k >= 20 && k < 40) r.sensors = 1 + k % 2;
        // rows in other units: scaled null vectors become nearly the same ones
        const double unit = k < 40 ? 1 : pow(10, random_between(&seed, 3.5, 5));
        for (int i = 0; i < ROWS; i += 2)
            for (int j = 0; j < 2; j++) r.c.B[i][j] *= unit;
        for (int i = 0; i < r.sensors * ROWS; i++) r.C[i / ROWS][i % ROWS] = random_between(&seed, -3, 3);
        kd_state        *x;
        kd_eom          *eom = rail_of(&r, 1, &x);
        kd_acceleration *acceleration;
        double           base[2] = {0}, any[ROWS], right[ROWS], *lambda = any, *mu = any + POSITION_ROWS;
        opt.constraints = KD_DECOMPOSE_SVD;
        for (int i = 0; i < ROWS; i++) {
            any[i] = random_between(&seed, -10, 10);
            for (int j = 0; j < 2; j++) base[j] += r.c.B[i][j] * any[i];
        }
        least_norm(&r.c, base, right);
        assert_int_equal(kd_acceleration_create(eom, NULL, x, &opt, &acceleration), KD_OK);
        assert_int_equal(kd_acceleration_least_norm(acceleration, 0, x->p, x->s, x->v, x->r, x->a, x->w, lambda, mu),
                         KD_EVAL_OK);
        for (int i = 0; i < ROWS; i++)
            assert_true(fabs(any[i] - right[i]) < 1e-9 * fmax(1, fabs(base[0]) + fabs(base[1])));
        kd_acceleration_destroy(acceleration);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// Rows of velocities that repeat each other and rows of positions: mu and lambda together are the shortest ones.
static void multipliers_of_velocities_have_least_norm(void **state)
{
    static const struct {
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU}, {KD_GGL, KD_BDF}, {KD_INDEX1, KD_RADAU}, {KD_ODE, KD_DOPRI5}};
    uint32_t seed = test_seed(78);
    (void)state;
    for (size_t k = 0; k < 2 * sizeof way / sizeof *way; k++) {
        rail                  r = random_rail(&seed);
        kd_state             *x;
        kd_eom               *eom = rail_of(&r, random_between(&seed, 0.5, 2), &x);
        char                  message[800] = "";
        rail_watcher          w = {&r, 0};
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = way[k / 2].formulation;
        opt.integrator = way[k / 2].integrator;
        opt.formulation_options.constraints = KD_DECOMPOSE_SVD;
        opt.rtol = opt.atol = 1e-8;
        opt.output = watch_rail;
        opt.context = &w;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 0.3, NULL, message, sizeof message);
        if (status < 0 || !(w.worst < 1e-5))
            fail_msg("%s: status %d, %g, %s", kd_formulation_word(way[k / 2].formulation), status, w.worst, message);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violated_invariant_is_corrected),
        cmocka_unit_test(impossible_invariant_is_refused),
        cmocka_unit_test(dependent_invariants_are_told),
        cmocka_unit_test(multipliers_have_least_norm),
        cmocka_unit_test(any_multipliers_become_the_shortest),
        cmocka_unit_test(multipliers_of_velocities_have_least_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
