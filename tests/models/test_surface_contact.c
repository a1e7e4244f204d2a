// Smooth surfaces in contact: kept and rolling, compliant, rigid with impacts, dry friction in the plane of contact; closed
// forms, and motions of other programs (equations written by hand, scipy's DOP853 with 1e-12).
#include "gallery_run.h"

static table result;

// The ellipsoid rolls as equations of motion written by hand say; nothing slips, nothing is lost.
static void rolling_ellipsoid(void **state)
{
    static const double wanted[][4] = {{1, -0.19284803940363834, -0.004561772884593915, 0.18318002599722233},
                                       {2, -0.029164020198031035, 0.0773686222466471, 0.17168807701896951},
                                       {5, 0.03320932447859845, -0.04423202009622578, 0.17933847824012542}};
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("rolling-ellipsoid", "", BOTH[c], 5, 50, &result);
        for (int k = 0; k < 3; k++) {
            const int row = (int)(10 * wanted[k][0] + 0.5);
            assert_close(at(&result, row, "x"), wanted[k][1], 3e-9);
            assert_close(at(&result, row, "y"), wanted[k][2], 3e-9);
            assert_close(at(&result, row, "height"), wanted[k][3], 3e-9);
        }
        for (int k = 0; k <= 50; k++) {
            assert_close(at(&result, k, "gap"), 0, 1e-12);
            assert_close(at(&result, k, "energy"), at(&result, 0, "energy"), 5e-9);
        }
    }
}

// All kinds of surfaces on each side: they roll, and nothing is lost.
static void marbles(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("marbles", "", BOTH[c], 0.2, 10, &result);
        for (int k = 0; k <= 10; k++) {
            assert_close(at(&result, k, "energy"), at(&result, 0, "energy"), 1e-7);
            assert_close(at(&result, k, "gap"), 0, 1e-12);
        }
        assert_true(at(&result, -1, "funnel") < at(&result, 0, "funnel") - 0.01);
    }
}

// A ball that slides begins to roll at 2 v0/(7 mu g) with 5/7 v0, in any direction.
static void sliding_ball(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("sliding-ball", "", BOTH[c], 1, 100, &result);
        const double rolls = 2 * 3 / (7 * 0.2 * 9.81);
        for (int k = 0; k <= 100; k++) {
            const double t = 0.01 * k, v = t < rolls ? 3 - 0.2 * 9.81 * t : 5 * 3 / 7.0;
            assert_close(at(&result, k, "vx"), v, 2e-9);
            assert_close(at(&result, k, "normal"), 1.5 * 9.81, 1e-8);
            if (t > rolls) assert_close(at(&result, k, "slip"), 0, 1e-12);
        }
        run_model("sliding-ball", "vx=1.8 vy=2.4", BOTH[c], 1, 2, &result);
        assert_close(at(&result, -1, "vx"), 5 * 1.8 / 7, 2e-9);
        assert_close(at(&result, -1, "vy"), 5 * 2.4 / 7, 2e-9);
    }
}

// ---- the block on a ramp --------------------------------------------------------------------------------------------
static void slides(double t, const double *y, void *context, double *dy)
{
    const double a = 9.81 * sin(0.3), friction = 0.5 * 9.81 * cos(0.3), v = hypot(y[2], y[3]);
    (void)t, (void)context;
    dy[0] = y[2], dy[1] = y[3];
    dy[2] = a - friction * y[2] / v, dy[3] = -friction * y[3] / v;
}

static void ramp_block(void **state)
{
    const double deceleration = 9.81 * (0.5 * cos(0.3) - sin(0.3));
    (void)state;
    for (int c = 0; c < 2; c++) {
        // below the limit it does not creep
        run_model("ramp-block", "", BOTH[c], 1000, 10, &result);
        for (int k = 0; k <= 10; k++) assert_true(at(&result, k, "x") == 0 && at(&result, k, "vx") == 0);
        assert_close(at(&result, -1, "friction1"), -2 * 9.81 * sin(0.3), 1e-9);
        // down the ramp it stops at the closed-form time and place, and stays
        run_model("ramp-block", "vx=2", BOTH[c], 2, 100, &result);
        for (int k = 0; k <= 100; k++) {
            const double t = fmin(0.02 * k, 2 / deceleration);
            assert_close(at(&result, k, "vx"), 2 - deceleration * t, 1e-9);
            assert_close(at(&result, k, "x"), 2 * t - 0.5 * deceleration * t * t, 1e-9);
        }
        // a curve: equal to a plain equation until shortly before its end
        run_model("ramp-block", "vx=-1 vy=1", BOTH[c], 0.25, 5, &result);
        double y[4] = {0, 0, -1, 1};
        for (int k = 1; k <= 5; k++) {
            runge_kutta(slides, NULL, 4, 0.05 * (k - 1), 0.05 * k, 2000, y);
            assert_close(at(&result, k, "x"), y[0], 2e-9);
            assert_close(at(&result, k, "y"), y[1], 2e-9);
            assert_close(at(&result, k, "vx"), y[2], 2e-8);
            assert_close(at(&result, k, "vy"), y[3], 2e-8);
        }
        run_model("ramp-block", "vx=-1 vy=1", BOTH[c], 2, 4, &result);
        assert_close(at(&result, -1, "vx"), 0, 1e-15);
        assert_close(at(&result, -1, "vy"), 0, 1e-15);
        assert_close(at(&result, 2, "x"), at(&result, -1, "x"), 1e-15);
        // steeper than friction: it never stops
        run_model("ramp-block", "slope=0.6", BOTH[c], 1, 2, &result);
        assert_close(at(&result, -1, "vx"), 9.81 * (sin(0.6) - 0.5 * cos(0.6)), 1e-8);
    }
}

// The tippe top turns over as equations written by hand say.
static void tippe_top(void **state)
{
    static const double wanted[][5] = {
        {0.5, -0.005365200704766135, -0.04741808340066101, 0.017001871285520023, 0.9993762381599788},
        {1, -0.02014371224414565, -0.09452508484045091, 0.017004638936312856, 0.998453687895683},
        {4, -0.19586653871066043, -0.2803150371314624, 0.022959828415479843, -0.9866094717237578}};
    (void)state;
    run_model("tippe-top", "", KD_JOINT, 4, 8, &result);
    for (int k = 0; k < 3; k++) {
        const int    row = (int)(2 * wanted[k][0] + 0.5);
        const double error = k < 2 ? 1e-6 : 1e-4; // what the start does not tell grows while it turns over
        assert_close(at(&result, row, "x"), wanted[k][1], error);
        assert_close(at(&result, row, "y"), wanted[k][2], error);
        assert_close(at(&result, row, "height"), wanted[k][3], error);
        assert_close(at(&result, row, "axis"), wanted[k][4], 100 * error);
    }
}

// Upright it stays below a critical spin n, which energy at constant Jellett's integral gives: n^2 = m g a (1 - e)^2/(I1 - I3 (1 - e)),
// e = a/R; here 46.1 rad/s. Slower, its axis goes back; faster, it leaves.
static void tippe_top_critical_spin(void **state)
{
    static const double spin[] = {0.65, 1.75};
    const double e = 0.15, critical = sqrt(0.006 * 9.81 * 0.003 * (1 - e) * (1 - e) / (0.91e-6 - 1e-6 * (1 - e)));
    (void)state;
    for (int k = 0; k < 2; k++) {
        char   settings[100];
        double most = 0;
        snprintf(settings, sizeof settings, "tilt=0.02 spin=%.6g", spin[k] * critical);
        run_model("tippe-top", settings, KD_JOINT, 4, 40, &result);
        for (int row = 31; row <= 40; row++) most = fmax(most, acos(fmin(1, at(&result, row, "axis"))));
        assert_true(k == 0 ? most < 0.018 : most > 0.03);
    }
}

// ---- Hertz ----------------------------------------------------------------------------------------------------------
// Static approach of an ellipsoid of half axes a, b, c lying on c: curvatures c/a^2, c/b^2
static double approach(double a, double b, double c, double load, double modulus)
{
    // ratio of the axes of the ellipse by bisection, integrals by the rule of midpoints
    const double A = 0.5 * c / (a * a), B = 0.5 * c / (b * b);
    double       low = 0.01, high = 0.999999, K = 0, E = 0, r = 0;
    for (int i = 0; i < 60; i++) {
        r = 0.5 * (low + high), K = E = 0;
        for (int k = 0; k < 2000; k++) {
            const double s = sin((k + 0.5) * PI / 4000), root = sqrt(1 - (1 - r * r) * s * s);
            K += PI / 4000 / root, E += PI / 4000 * root;
        }
        if ((E / (r * r) - K) / (K - E) > B / A)
            low = r;
        else
            high = r;
    }
    const double stiffness = 2 * PI / 3 * modulus * sqrt(E / (K * K * K * r * r * (A + B)));
    return pow(load / stiffness, 2.0 / 3.0);
}

static void hertz_ellipsoid(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("hertz-ellipsoid", "d=134", BOTH[c], 0.5, 2, &result);
        const double depth = approach(0.2, 0.15, 0.1, 1.5 * 9.81, 1e8);
        assert_close(at(&result, -1, "gap"), -depth, 1e-4 * depth);
        assert_close(at(&result, -1, "normal"), 1.5 * 9.81, 1e-5);
    }
}

// ---- cam with lift-off ----------------------------------------------------------------------------------------------
static double lift(double phi, double *slope, double *bend)
{
    const double e = 0.02, p = 0.07, s = sin(phi), c = cos(phi), root = sqrt(p * p - e * e * s * s);
    const double h = 1e-4, r1 = sqrt(p * p - e * e * pow(sin(phi + h), 2)),
                 r0 = sqrt(p * p - e * e * pow(sin(phi - h), 2));
    *slope = -e * s - e * e * s * c / root;
    *bend = -e * c + (r1 - 2 * root + r0) / (h * h);
    return e * c + root;
}

static void disc_cam(void **state)
{
    (void)state;
    // in Cartesian coordinates the balance of the drive's work misses 2e-8 J, which is told
    for (int c = 0; c < 1; c++) {
        double slope, bend;
        // slowly: it stays on the disc
        run_model("disc-cam", "w=15", BOTH[c], 0.4, 100, &result);
        for (int k = 0; k <= 100; k++) {
            assert_close(at(&result, k, "height"), lift(0.06 * k, &slope, &bend), 1e-9);
            // along the normal, which leans by asin(e sin(phi)/(R + r))
            const double lean = asin(0.02 * sin(0.06 * k) / 0.07);
            assert_close(at(&result, k, "normal"), 0.2 * (9.81 + 225 * bend) / cos(lean), 1e-5);
        }
        // from the top at 30 rad/s it falls freely, as h'' = -(e + e^2/p) w^2 < -g
        run_model("disc-cam", "w=30", BOTH[c], 0.02, 10, &result);
        for (int k = 1; k <= 10; k++) {
            const double t = 0.002 * k;
            assert_close(at(&result, k, "height"), 0.09 - 0.5 * 9.81 * t * t, 1e-9);
            assert_true(at(&result, k, "gap") > 0 && at(&result, k, "normal") == 0);
        }
    }
}

// ---- rocking block --------------------------------------------------------------------------------------------------
// Inverted pendulum about an edge: angle from the upright position of the diagonal
static void about_the_edge(double t, const double *y, void *context, double *dy)
{
    const double b = 0.1, h = 0.4, R = hypot(b, h), alpha = atan2(b, h);
    (void)t, (void)context;
    dy[0] = y[1];
    dy[1] = -0.75 * 9.81 / R * sin(alpha - y[0]); // I = 4/3 m R^2 about the edge
}

static void rocking_block(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("rocking-block", "", BOTH[c], 0.2, 20, &result);
        double y[2] = {0.1, 0};
        for (int k = 1; k <= 20; k++) {
            runge_kutta(about_the_edge, NULL, 2, 0.01 * (k - 1), 0.01 * k, 100, y);
            if (y[0] < 0) break;
            assert_close(at(&result, k, "angle"), y[0], 2e-9);
            assert_close(at(&result, k, "right"), 0, 1e-12);
        }
    }
}

// ---- words ----------------------------------------------------------------------------------------------------------
// Surfaces that touch along a line are told as such, where the equations are first asked
static void line_contact(void **state)
{
    static const char text[] =
        "kardan: 1\n"
        "bodies: {roller: {position: [0, 0, 0.1], mass: 1, inertia: [1, 1, 1]}}\n"
        "forces: {touch: {type: surface_contact, from: ground, to: {body: roller, axis: [1, 0, 0]}, "
        "to_surface: cylinder, to_size: [0.1], stiffness: 1e5}}\n";
    char           message[MAX_MODEL_TEXT] = "";
    kd_model      *model = NULL;
    kd_system     *system = NULL;
    kd_state      *x = NULL;
    kd_simulation *simulation = NULL;
    (void)state;
    kd_status status = kd_model_read_text("roller", text, strlen(text), NULL, 0, &model, message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, sizeof message);
    if (status >= 0)
        status = kd_simulation_create(kd_system_eom(system), NULL, NULL, x, &simulation, message, sizeof message);
    if (status >= 0) {
        status = kd_simulation_run(simulation, 0.1);
        snprintf(message, sizeof message, "%s", kd_simulation_message(simulation));
    }
    assert_true(status < 0);
    if (!strstr(message, "touch along a line")) print_error("%s\n", message);
    assert_non_null(strstr(message, "touch along a line"));
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// A marble let go in a funnel, at rest or with a velocity across; how it ends. At rest it meets the axis, where it touches
// the cone along a circle, and the place of contact leaps to the other side.
static kd_status run_funnel(double across, double t_end, double *t, double *gained, char *message, size_t size)
{
    char           text[900];
    kd_model      *model = NULL;
    kd_system     *system = NULL;
    kd_state      *x = NULL;
    kd_simulation *simulation = NULL;
    kd_energies    from = {0}, to = {0};
    (void)snprintf(text, sizeof text,
                   "kardan: 1\n"
                   "parameters: {R: 0.05, m: 0.5, J: 0.4*m*R^2}\n"
                   "gravity: [0, 0, -9.81]\n"
                   "bodies: {ball: {position: [0.5*sin(0.8) - R*cos(0.8), 0, 0.5*cos(0.8) + R*sin(0.8)], mass: m, "
                   "inertia: [J, J, J], velocity: [0, %g, 0]}}\n"
                   "constraints: {funnel: {type: surface_contact, from: ground, to: ball, from_surface: cone, "
                   "from_size: [0.8], from_hollow: true, to_surface: sphere, to_size: [R]}}\n",
                   across);
    kd_status status = kd_model_read_text("funnel", text, strlen(text), NULL, 0, &model, message, size);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, size);
    if (status >= 0) status = kd_state_create(kd_system_eom(system), &x);
    if (status >= 0) status = kd_system_start(system, x, message, size);
    if (status >= 0) status = kd_simulation_create(kd_system_eom(system), NULL, NULL, x, &simulation, message, size);
    assert_true(status >= 0);
    kd_eom_data *data = NULL;
    assert_int_equal(kd_eom_data_create(kd_system_eom(system), &data), KD_OK);
    assert_int_equal(kd_eom_at_state(data, NULL, x, KD_STAGE_VELOCITY), KD_EVAL_OK);
    assert_int_equal(kd_eom_energies(data, &from), KD_EVAL_OK);
    status = kd_simulation_run(simulation, t_end);
    (void)snprintf(message, size, "%s", kd_simulation_message(simulation));
    const kd_state *end = kd_simulation_state(simulation);
    assert_int_equal(kd_eom_at_state(data, NULL, end, KD_STAGE_VELOCITY), KD_EVAL_OK);
    assert_int_equal(kd_eom_energies(data, &to), KD_EVAL_OK);
    *t = end->t;
    *gained = to.kinetic + to.potential - from.kinetic - from.potential;
    kd_eom_data_destroy(data);
    kd_simulation_destroy(simulation);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

// The run ends there, in words, before energy is lost; around the axis it goes on, ever so close.
static void leaping_contact(void **state)
{
    char   message[700];
    double t, gained;
    (void)state;
    assert_true(run_funnel(0, 2, &t, &gained, message, sizeof message) < 0);
    // a marble that slides down a line of slope cos 0.8 from rest: a = g cos 0.8 along it, 0.5 - R/tan(0.8) to go
    assert_close(t, sqrt(2 * (0.5 - 0.05 / tan(0.8)) / (9.81 * cos(0.8))), 0.02);
    assert_close(gained, 0, 1e-5);
    if (!strstr(message, "contact 'funnel': its place leaps")) print_error("%s\n", message);
    assert_non_null(strstr(message, "contact 'funnel': its place leaps"));
    static const double across[] = {1, 0.3, 0.1, 0.03, 0.01};
    for (int k = 0; k < 5; k++) {
        const kd_status status = run_funnel(across[k], 2, &t, &gained, message, sizeof message);
        if (status < 0) print_error("%g: %s\n", across[k], message);
        assert_true(status >= 0);
        assert_close(gained, 0, 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rolling_ellipsoid), cmocka_unit_test(marbles),
        cmocka_unit_test(sliding_ball),      cmocka_unit_test(ramp_block),
        cmocka_unit_test(tippe_top),         cmocka_unit_test(tippe_top_critical_spin),
        cmocka_unit_test(hertz_ellipsoid),   cmocka_unit_test(disc_cam),
        cmocka_unit_test(rocking_block),     cmocka_unit_test(line_contact),
        cmocka_unit_test(leaping_contact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
