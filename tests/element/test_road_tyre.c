// Tyres on roads (magic_tyre, tmeasy_tyre): derivatives, standstill, slips that build up, sides, roads with slopes.
#include "model/build_helpers.h"

#include <stdlib.h>

#include "element/force.h"
#include "element/road_tyre.h"
#include "model/tyre_file.h"

enum { X, Y, Z, VX, VY, VZ, NX, NY, NZ, WX, WY, WZ, U, W, COUNT, ROWS = 8 };

#define R0 0.317

static kd_force_def magic(void)
{
    kd_force_def f = kd_force_def_default(KD_MAGIC_TYRE);
    f.to = kd_in("arm", 0, 0, 0);
    f.to.axis[1] = 1;
    f.magic.tir = KD_SOURCE_DIR "/models/data/car.tir";
    return f;
}

static kd_force_def tmeasy(void)
{
    static const kd_tmeasy_branch along = {{1e5, 1.8e5}, {4000, 7500}, {0.11, 0.12}, {3000, 5500}, {0.5, 0.6}};
    static const kd_tmeasy_branch across = {{7e4, 1.2e5}, {3800, 7000}, {0.2, 0.22}, {3500, 6400}, {0.8, 0.9}};
    kd_force_def                  f = kd_force_def_default(KD_TMEASY_TYRE);
    f.to = kd_in("arm", 0, 0, 0);
    f.to.axis[1] = 1;
    f.tmeasy.radius = R0, f.tmeasy.stiffness = 2e5, f.tmeasy.damping = 180, f.tmeasy.load = 4000;
    f.tmeasy.longitudinal = along, f.tmeasy.lateral = across;
    f.tmeasy.relaxation[0] = 0.3, f.tmeasy.relaxation[1] = 0.5, f.tmeasy.rolling_resistance = 0.01;
    return f;
}

// A load on a desk of its own
typedef struct desk {
    kd_model  *m;
    kd_system *s;
    kd_work   *w;
    double    *x;
    kd_load   *l;
} desk;

static desk desk_of(const kd_force_def *def)
{
    desk d = {.m = arm_model()};
    char message[300] = "";
    if (kd_model_add_force(d.m, "tyre", def) != KD_OK || kd_model_finish(d.m) != KD_OK)
        fail_msg("%s", kd_model_message(d.m));
    if (kd_system_create(d.m, NULL, &d.s, message, sizeof message) < 0) fail_msg("%s", message);
    d.w = kd_work_create(d.s);
    d.x = calloc((size_t)d.s->nslots, sizeof *d.x);
    d.l = &d.s->load[0];
    assert_true(d.w && d.x && d.l->nchannels == 6 && d.l->nvariables == COUNT);
    d.w->jet[0] = (kd_jet){.x1 = 1};
    return d;
}

static void release(desk *d)
{
    free(d->x);
    kd_work_destroy(d->w);
    kd_system_destroy(d->s);
    kd_model_destroy(d->m);
}

static void law(const desk *d, const double *value, double out[ROWS])
{
    for (int i = 0; i < COUNT; i++) d->x[d->l->variable[i]] = value[i];
    assert_int_equal(d->l->class->eval(d->l, d->x, d->w, out, out + 6), KD_EVAL_OK);
}

static double reading(const desk *d, int number)
{
    return d->l->class->reading(d->l, d->w, NULL, number);
}

// an upright wheel 2 cm deep that rolls forward
static void rolling(double x[COUNT], double speed)
{
    memset(x, 0, COUNT * sizeof *x);
    x[Z] = R0 - 0.02;
    x[VX] = speed;
    x[NY] = 1;
    x[WY] = speed / R0;
}

static double random_between(double a, double b, unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return a + (b - a) * (*seed >> 8) / (double)(1 << 24);
}

static void random_state(double x[COUNT], unsigned *seed, double speed)
{
    rolling(x, speed);
    x[X] = random_between(-3, 3, seed), x[Y] = random_between(-1, 1, seed);
    x[Z] += random_between(-0.01, 0.01, seed);
    for (int i = 0; i < 3; i++) x[VX + i] += random_between(-0.5, 0.5, seed) * fmin(1.0, fabs(speed) + 0.2);
    for (int i = 0; i < 3; i++) x[WX + i] += random_between(-2, 2, seed);
    const double lean = random_between(-0.1, 0.1, seed), turn = random_between(-0.4, 0.4, seed);
    x[NX] = -sin(turn) * cos(lean), x[NY] = cos(turn) * cos(lean), x[NZ] = sin(lean);
    x[U] = random_between(-0.1, 0.1, seed), x[W] = random_between(-0.1, 0.1, seed);
}

// What a file was not made for is told: load, slips and camber beyond its ranges, in the axes of the file.
static void test_ranges_are_told(void **state)
{
    static const struct {
        int         variable;
        double      value;
        const char *says;
    } list[] = {{X, 0, NULL},
                {Z, R0 - 1e-4, "its load is"},
                {U, 0.9, "its longitudinal slip is"},
                {W, 0.9, "its slip angle is"},
                {NZ, 0.22, "its camber is"}};
    (void)state;
    for (int side = 0; side < 2; side++) {
        kd_force_def f = magic();
        f.magic.side = side ? KD_TYRE_RIGHT : KD_TYRE_LEFT;
        desk d = desk_of(&f);
        for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
            double x[COUNT];
            char   text[200] = "";
            rolling(x, 20);
            x[list[k].variable] = list[k].value;
            x[NY] = sqrt(1 - x[NZ] * x[NZ]);
            for (int i = 0; i < COUNT; i++) d.x[d.l->variable[i]] = x[i];
            const bool told = d.l->class->notice(d.l, d.x, d.w, text, sizeof text);
            if (told != (list[k].says != NULL) || (told && !strstr(text, list[k].says)))
                fail_msg("state %d, side %d: '%s'", (int)k, side, text);
        }
        release(&d);
    }
}

// A centre below the road and a road that has ended are told; without friction and with an upright axle there is no force.
static void test_wrong_places(void **state)
{
    kd_force_def f = tmeasy();
    char         text[300];
    double       x[COUNT], out[ROWS];
    (void)state;
    f.tmeasy.road.crg = KD_SOURCE_DIR "/models/data/curve.crg", f.tmeasy.road.patch[0] = f.tmeasy.road.patch[1] = 0.05;
    f.tmeasy.road.friction = "0.5 - x/1000";
    desk d = desk_of(&f);
    rolling(x, 10);
    x[X] = 3;
    law(&d, x, out);
    assert_false(d.l->class->notice(d.l, d.x, d.w, text, sizeof text));
    x[Z] = -0.25;
    law(&d, x, out);
    assert_true(d.l->class->notice(d.l, d.x, d.w, text, sizeof text));
    assert_string_equal(text, "its centre is 0.25 m below the road");
    x[X] = -7, x[Z] = R0 - 0.02;
    law(&d, x, out);
    assert_true(d.l->class->notice(d.l, d.x, d.w, text, sizeof text));
    assert_has(text, "it is beyond the end of its road, u from 0 to ");
    x[X] = 3, x[Y] = 40;
    law(&d, x, out);
    assert_true(d.l->class->notice(d.l, d.x, d.w, text, sizeof text));
    assert_has(text, "it is beyond the edge of its road, v from ");
    for (int i = 0; i < 2; i++) {
        rolling(x, 10);
        if (i == 0)
            x[X] = 500;
        else
            x[NY] = 0, x[NZ] = 1;
        for (int k = 0; k < COUNT; k++) d.x[d.l->variable[k]] = x[k];
        assert_int_equal(d.l->class->eval(d.l, d.x, d.w, out, out + 6), KD_EVAL_RETRY);
        text[0] = '\0';
        d.l->class->reason(d.l, d.x, text, sizeof text);
        assert_string_equal(text,
                            i == 0 ? "`grip` must be positive here" : "its axle, z of `to`, is upright on the road");
    }
    release(&d);
}

// The derivatives by all variables are those of the values: on curved roads that rise in time, by the tangent plane and by four
// points, rolling, standing, sliding and in the air.
static void test_jacobians(void **state)
{
    static const char *const roads[] = {NULL, "0.02*sin(2*x + y) + 0.01*x*y",
                                        "0.03*sin(x - 0.3*y)*cos(0.5*t) + 0.1*y^2"};
    static const double      speeds[] = {20, 3, 0.05, 0.0, -0.4, -8};
    unsigned                 seed = 5;
    long                     compared = 0;
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int variant = 0; variant < 9; variant++) {
            kd_force_def f = kind == 0 ? magic() : tmeasy();
            kd_road_def *road = kind == 0 ? &f.magic.road : &f.tmeasy.road;
            road->height = roads[variant % 3];
            if (variant == 6) road->crg = KD_SOURCE_DIR "/models/data/curve.crg"; // level where it has no sill
            road->friction = variant % 2 ? "0.8 + 0.1*sin(x)*cos(y)" : NULL;
            if (variant >= 3) road->patch[0] = 0.06, road->patch[1] = 0.08;
            if (variant >= 7) road->cam[0] = 1.03, road->cam[1] = 0.9, road->cam[2] = variant == 7 ? 1.8 : 2.2;
            if (variant == 8)
                road->height = "0.03*sin(3*x - 0.3*y) + 0.1*y^2"; // rise: at the place of contact as it is
            if (kind == 0 && variant % 2) f.magic.side = KD_TYRE_RIGHT;
            desk d = desk_of(&f);
            for (int n = 0; n < 60; n++) {
                double x[COUNT], J[ROWS * COUNT] = {0}, base[ROWS], up[ROWS], down[ROWS];
                random_state(x, &seed, speeds[n % 6]);
                if (n % 10 == 9) x[Z] += 0.2; // in the air
                law(&d, x, base);
                assert_int_equal(d.l->class->jacobian(d.l, d.x, d.w, J), KD_EVAL_OK);
                for (int j = 0; j < COUNT; j++) {
                    const double h = 1e-6, kept = x[j];
                    x[j] = kept + h, law(&d, x, up);
                    x[j] = kept - h, law(&d, x, down);
                    x[j] = kept;
                    for (int i = 0; i < ROWS; i++) {
                        const double slope = (up[i] - down[i]) / (2 * h), is = J[i + j * ROWS];
                        compared += fabs(is) > 1e-3;
                        if (!(fabs(slope - is) < 3e-6 * (fabs(is) + 1e3 + fabs(base[i]))) &&
                            fabs(up[i] - 2 * base[i] + down[i]) < 1e-6)
                            fail_msg("kind %d, variant %d, state %d: %d by %d is %.9g, differences say %.9g", kind,
                                     variant, n, i, j, is, slope);
                    }
                }
            }
            release(&d);
        }
    assert_true(compared > 10000);
}

// Forces, rates and their first derivatives have no jump at standstill: the largest one over v = 0 is rounding.
static void test_standstill(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        kd_force_def f = kind == 0 ? magic() : tmeasy();
        desk         d = desk_of(&f);
        double       largest = 0.0, size = 0.0;
        unsigned     seed = 3;
        for (int n = 0; n < 50; n++) {
            double x[COUNT], J[2][ROWS * COUNT] = {{0}}, out[2][ROWS];
            random_state(x, &seed, 0.0);
            for (int i = 0; i < 3; i++) x[VX + i] = x[WX + i] = 0.0;
            for (int k = 0; k < 2; k++) {
                x[VX] = k == 0 ? -1e-13 : 1e-13;
                law(&d, x, out[k]);
                assert_int_equal(d.l->class->jacobian(d.l, d.x, d.w, J[k]), KD_EVAL_OK);
            }
            for (int i = 0; i < ROWS * COUNT; i++)
                largest = fmax(largest, fabs(J[1][i] - J[0][i])), size = fmax(size, fabs(J[1][i]));
            for (int i = 0; i < ROWS; i++) assert_true(fabs(out[1][i] - out[0][i]) < 1e-6);
        }
        if (!(largest < 1e-9 * size)) fail_msg("kind %d: derivatives jump by %g of %g", kind, largest, size);
        release(&d);
    }
}

// Deflections come to rest at the slips of steady rolling, and the forces are those of the formula; along, across, both, backwards.
static void test_steady_slip(void **state)
{
    (void)state;
    kd_force_def f = magic();
    desk         d = desk_of(&f);
    for (int n = 0; n < 24; n++) {
        double       x[COUNT], out[ROWS], sigma[2], by[2][2];
        const double speed = n % 2 ? -12 : 15;
        rolling(x, speed);
        x[VY] = 0.1 * speed * sin(1.3 * n), x[WY] *= 1 + 0.2 * sin(0.7 * n);
        law(&d, x, out);
        // V_sx and V_sy are the rates without deflection
        const double kappa = out[6] / fabs(speed), alpha = atan(out[7] / fabs(speed)),
                     Fz = reading(&d, KD_ROAD_TYRE_LOAD);
        const kd_tir *t = &d.m->force[0].def.magic.read->tir;
        kd_magic_relaxation(t, Fz, 0.0, sigma, by);
        x[U] = kappa * sigma[0], x[W] = tan(alpha) * sigma[1];
        law(&d, x, out);
        const double   in[KD_MAGIC_INPUTS] = {Fz, kappa, alpha, 0.0, 1.0};
        kd_magic_force g;
        kd_magic_formula(t, KD_MAGIC_COMBINED, in, &g);
        assert_true(fabs(out[6]) < 1e-12 * 15 && fabs(out[7]) < 1e-12 * 15);
        assert_true(fabs(reading(&d, KD_ROAD_TYRE_FX) - g.value[KD_MAGIC_FX]) < 1e-9 * Fz);
        assert_true(fabs(reading(&d, KD_ROAD_TYRE_FY) - g.value[KD_MAGIC_FY]) < 1e-9 * Fz);
        const double turn = speed < 0 ? -1 : 1, Mz = turn * g.value[KD_MAGIC_MZ_TRAIL] + g.value[KD_MAGIC_MZ_ARM];
        assert_true(fabs(reading(&d, KD_ROAD_TYRE_MZ) - Mz) < 1e-9 * Fz);
        assert_true(fabs(alpha - atan2(x[VY], fabs(speed))) < 1e-12); // to the left is positive
    }
    release(&d);
}

// A tyre of the other side is the mirror image: y, roll and yaw change their signs.
static void test_sides(void **state)
{
    static const int sign[6] = {1, 1, -1, -1, 1, -1}; // Fz, Fx, Fy, Mx, My, Mz
    unsigned         seed = 11;
    (void)state;
    kd_force_def f = magic();
    desk         left = desk_of(&f);
    f.magic.side = KD_TYRE_RIGHT;
    desk right = desk_of(&f);
    for (int n = 0; n < 100; n++) {
        double x[COUNT], a[ROWS], b[ROWS];
        random_state(x, &seed, 10);
        law(&left, x, a);
        x[VY] *= -1, x[NX] *= -1, x[NZ] *= -1, x[WX] *= -1, x[WZ] *= -1, x[Y] *= -1, x[W] *= -1;
        law(&right, x, b);
        for (int i = 0; i < 6; i++)
            if (!(fabs(a[i] - sign[i] * b[i]) < 1e-9 * (1 + fabs(a[i]))))
                fail_msg("%d: force %d is %g and %g", n, i, a[i], b[i]);
        assert_true(fabs(a[6] - b[6]) < 1e-9 && fabs(a[7] + b[7]) < 1e-9);
    }
    release(&left);
    release(&right);
}

// On a plane road of any slope forces are those of the level road, turned with it; the plane of four points or cams is the same.
static void test_slope(void **state)
{
    const double a = 0.2, b = -0.1, c = 1 / sqrt(1 + a * a + b * b);
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        kd_force_def f = magic();
        desk         level = desk_of(&f);
        f.magic.road.height = "0.2*x - 0.1*y";
        if (variant) f.magic.road.patch[0] = 0.05, f.magic.road.patch[1] = 0.07;
        if (variant == 2) f.magic.road.cam[0] = 1.03, f.magic.road.cam[1] = 0.9, f.magic.road.cam[2] = 1.8;
        desk          tilted = desk_of(&f);
        const kd_vec3 N = kd_vec(-a * c, -b * c, c);
        // axes of the slope: x along its line in the plane y = 0
        kd_vec3       ex = kd_vec_scale(1 / sqrt(1 + a * a), kd_vec(1, 0, a)), ey = kd_vec_cross(N, ex);
        unsigned      seed = 2;
        const kd_mat3 Q = {ex, ey, N};
        for (int n = 0; n < 30; n++) {
            double x[COUNT], y[COUNT], F[ROWS], G[ROWS];
            random_state(x, &seed, 8);
            x[X] = x[Y] = 0;
            memcpy(y, x, sizeof x);
            kd_vec_to(kd_mat_vec(&Q, kd_vec_of(x + X)), y + X);
            kd_vec_to(kd_mat_vec(&Q, kd_vec_of(x + VX)), y + VX);
            kd_vec_to(kd_mat_vec(&Q, kd_vec_of(x + NX)), y + NX);
            kd_vec_to(kd_mat_vec(&Q, kd_vec_of(x + WX)), y + WX);
            law(&level, x, F);
            law(&tilted, y, G);
            const kd_vec3 force = kd_mat_vec(&Q, kd_vec(F[1], F[2], F[0])), moment = kd_mat_vec(&Q, kd_vec_of(F + 3));
            const double  expected[6] = {force.z, force.x, force.y, moment.x, moment.y, moment.z};
            for (int i = 0; i < 6; i++)
                if (!(fabs(G[i] - expected[i]) < 1e-8 * (1 + fabs(G[i]))))
                    fail_msg("%d: %g instead of %g", i, G[i], expected[i]);
            assert_true(fabs(F[6] - G[6]) < 1e-10 && fabs(F[7] - G[7]) < 1e-10);
        }
        release(&level);
        release(&tilted);
    }
}

// The damper follows the rate of the deflection, of a wheel that leans, too: rho' against differences along the motion.
static void test_damping(void **state)
{
    unsigned seed = 8;
    (void)state;
    kd_force_def f = tmeasy();
    f.tmeasy.road.height = "0.1*x - 0.05*y + 0.02*t";
    f.tmeasy.damping = 3e4;
    desk d = desk_of(&f);
    for (int n = 0; n < 40; n++) {
        double       x[COUNT], out[ROWS], deflection[2];
        const double h = 1e-6, slant = 1 / sqrt(1 + 0.01 + 0.0025);
        random_state(x, &seed, 1.0);
        x[Z] += 0.1 * x[X] - 0.05 * x[Y] - 0.02;
        law(&d, x, out);
        const double with = reading(&d, KD_ROAD_TYRE_LOAD) * cos(reading(&d, KD_ROAD_TYRE_CAMBER));
        for (int k = 0; k < 2; k++) {
            double        moved[COUNT], step = k == 0 ? h : -h;
            const kd_vec3 axle = kd_vec_of(x + NX),
                          turned = kd_vec_axpy(axle, step, kd_vec_cross(kd_vec_of(x + WX), axle));
            memcpy(moved, x, sizeof x);
            for (int i = 0; i < 3; i++) moved[X + i] += step * x[VX + i];
            kd_vec_to(kd_vec_scale(1 / kd_vec_norm(turned), turned), moved + NX);
            const kd_vec3 N = kd_vec(-0.1 * slant, 0.05 * slant, slant);
            const double  sine = kd_vec_dot(kd_vec_of(moved + NX), N),
                         height = moved[Z] - 0.1 * moved[X] + 0.05 * moved[Y];
            deflection[k] = R0 - (height - 0.02 * step) * slant / sqrt(1 - sine * sine);
        }
        const double rate = (deflection[0] - deflection[1]) / (2 * h), mean = 0.5 * (deflection[0] + deflection[1]);
        if (with > 0) assert_true(fabs(with - 2e5 * mean - 3e4 * rate) < 1e-6 * (fabs(with) + 3e4));
    }
    release(&d);
}

static double tmeasy_force(double Fz, double kappa, double tangent, int i)
{
    kd_force_def f = tmeasy();
    desk         d = desk_of(&f);
    double       x[COUNT], out[ROWS];
    rolling(x, 10);
    x[Z] = R0 - Fz / 2e5;
    x[U] = kappa * 0.3, x[W] = tangent * 0.5;
    law(&d, x, out);
    const double answer = reading(&d, i == 0 ? KD_ROAD_TYRE_FX : KD_ROAD_TYRE_FY);
    release(&d);
    return answer;
}

// TMeasy: slope, maximum and sliding force where they are given, at both loads; beyond, the sliding force stays; in between no more.
static void test_tmeasy(void **state)
{
    (void)state;
    for (int k = 1; k <= 2; k++) {
        const double       Fz = 4000 * k;
        const kd_force_def f = tmeasy();
        for (int i = 0; i < 2; i++) {
            const kd_tmeasy_branch *b = i == 0 ? &f.tmeasy.longitudinal : &f.tmeasy.lateral;
            const double            sM = b->maximum_slip[k - 1], sS = b->sliding_slip[k - 1], FM = b->maximum[k - 1];
#define AT(s) fabs(tmeasy_force(Fz, i == 0 ? (s) : 0, i == 0 ? 0 : (s), i))
            assert_true(fabs(AT(sM) - FM) < 1e-5 * FM);
            assert_true(AT(0.97 * sM) < FM && AT(1.03 * sM) < FM);
            assert_true(fabs(AT(sS) - b->sliding[k - 1]) < 1e-5 * FM &&
                        fabs(AT(1.4 * sS) - b->sliding[k - 1]) < 1e-5 * FM);
            // far enough from the rounding at 0
            const double s = 0.02 * sM,
                         expected = b->slope[k - 1] * s / (1 + 0.02 * (0.02 + b->slope[k - 1] * sM / FM - 2));
            assert_true(fabs(AT(s) - expected) < 2e-3 * expected);
        }
    }
    // to the left a force to the right, driving forward
    assert_true(tmeasy_force(4000, 0, 0.05, 1) < 0 && tmeasy_force(4000, 0.05, 0, 0) > 0);
}

// Files that are wrong and numbers that contradict each other are told with the element.
static void test_refusals(void **state)
{
    kd_force_def f = magic();
    kd_model    *m = arm_model();
    (void)state;
    f.magic.tir = KD_SOURCE_DIR "/models/pendulum.yaml";
    assert_int_equal(kd_model_add_force(m, "tyre", &f), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "force 'tyre': ");
    assert_has(kd_model_message(m), "pendulum.yaml: ");
    kd_model_destroy(m);
    f = tmeasy();
    f.tmeasy.lateral.slope[1] = 1e3;
    m = arm_model();
    CHECK(kd_model_add_force(m, "tyre", &f));
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "the slope lateral must be at least twice the maximum over its slip, 63636.4 N");
    kd_model_destroy(m);
    // cams without area, or with a shape that is none
    for (int i = 0; i < 2; i++) {
        f = magic();
        f.magic.road.cam[0] = f.magic.road.cam[1] = 1, f.magic.road.cam[2] = i == 0 ? 1.8 : 1;
        if (i == 1) f.magic.road.patch[0] = f.magic.road.patch[1] = 0.05;
        m = arm_model();
        CHECK(kd_model_add_force(m, "tyre", &f));
        assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
        assert_has(kd_model_message(m), i == 0 ? "cams stand at the corners of `patch`, which is not given"
                                               : "half length and half height must be positive, the exponent above 1");
        kd_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges_are_told), cmocka_unit_test(test_jacobians),
                                       cmocka_unit_test(test_standstill),      cmocka_unit_test(test_steady_slip),
                                       cmocka_unit_test(test_sides),           cmocka_unit_test(test_slope),
                                       cmocka_unit_test(test_damping),         cmocka_unit_test(test_tmeasy),
                                       cmocka_unit_test(test_wrong_places),    cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
