// The classical mechanisms of the gallery as model files, in joint and in Cartesian coordinates: certificates are
// clean, motions are those of closed solutions, published references or equations of motion that are integrated on
// their own.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "gallery_run.h"
#include "math/space.h"
#include "model/schema.h"

static table result; // of the last run

// ---- pendulums ------------------------------------------------------------------------------------------------------

// IFToMM A01: x, y at 10 s, exact by Jacobi functions; the tension of the bar is 3 m g sin of the fall angle.
static void pendulum(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("pendulum", NULL, BOTH[c], 10, 10, &result);
        assert_close(at(&result, -1, "x"), 0.2750874625761169, 3e-7);
        assert_close(at(&result, -1, "y"), -0.9614192050991251, 3e-7);
        for (int k = 0; k <= 10; k++) assert_close(at(&result, k, "tension"), -3 * GRAVITY * at(&result, k, "y"), 3e-6);
        assert_int_equal(result.info.dof, 1);
    }
}

// Lagrange's equations of two equal rods, angles from the x axis.
static void double_pendulum_rate(double t, const double *y, void *context, double *dy)
{
    (void)t, (void)context;
    double a = y[0], b = y[1], da = y[2], db = y[3];
    double m11 = 4.0 / 3, m22 = 1.0 / 3, m12 = 0.5 * cos(a - b);
    double f1 = -0.5 * sin(a - b) * db * db - 1.5 * GRAVITY * cos(a);
    double f2 = 0.5 * sin(a - b) * da * da - 0.5 * GRAVITY * cos(b);
    double det = m11 * m22 - m12 * m12;
    dy[0] = da;
    dy[1] = db;
    dy[2] = (m22 * f1 - m12 * f2) / det;
    dy[3] = (m11 * f2 - m12 * f1) / det;
}

static void double_pendulum(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[4] = {0, PI / 2, 0, 0};
        run_model("double-pendulum", NULL, BOTH[c], 3, 6, &result);
        for (int k = 0; k <= 6; k++) {
            if (k > 0) runge_kutta(double_pendulum_rate, NULL, 4, 0, 0.5, 2000, y);
            assert_close(at(&result, k, "x"), cos(y[0]) + cos(y[1]), 3e-7);
            assert_close(at(&result, k, "y"), sin(y[0]) + sin(y[1]), 3e-7);
        }
    }
}

// The double pendulum of S2: reference at 2 s in quadruple precision (13 digits).
static void stiff_double_pendulum(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("stiff-double-pendulum", NULL, BOTH[c], 2, 2, &result);
        assert_close(at(&result, -1, "theta1"), 4.64047818322133113, 1e-7);
        assert_close(at(&result, -1, "theta2"), 4.6404967016885317, 1e-7);
        assert_close(at(&result, -1, "rate1"), -1.629892454084, 1e-6);
        assert_close(at(&result, -1, "rate2"), -1.630252715380, 1e-6);
    }
}

// The chain of pendulums at 20 s, quadruple precision: first and last angle.
static void chain(void **state)
{
    static const struct {
        const char *settings;
        double      first, last;
    } list[] = {{"N=4", 3.2654221686566022e-04, 7.1860534351678390e-04},
                {"N=12", -4.0395554361366495e-04, -1.3647766202940946e-03}};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < (i == 0 ? 2 : 1); c++) {
            run_model("chain", list[i].settings, BOTH[c], 20, 1, &result);
            assert_close(at(&result, -1, "first"), list[i].first, 5e-9);
            assert_close(at(&result, -1, "last"), list[i].last, 5e-9);
        }
}

// A chain of 8 rods in Cartesian coordinates by bdf; x is the state at 2 s. Returns the evaluations of F.
static long chain_by_bdf(kd_formulation form, kd_state **x)
{
    char                  message[MAX_MODEL_TEXT] = "";
    kd_model             *model = read_gallery("chain", "N=8");
    kd_system_options     options = kd_system_options_default();
    kd_simulation_options run = kd_simulation_options_default();
    kd_system            *system = NULL;
    kd_stats              stats;
    options.coordinates = KD_CARTESIAN;
    run.formulation = form;
    run.integrator = KD_BDF;
    run.rtol = run.atol = 1e-8;
    must(kd_system_create(model, &options, &system, message, sizeof message), "chain", KD_CARTESIAN, message);
    must(kd_state_create(kd_system_eom(system), x), "chain", KD_CARTESIAN, "");
    must(kd_system_start(system, *x, message, sizeof message), "chain", KD_CARTESIAN, message);
    must(kd_simulate(kd_system_eom(system), kd_system_inputs(system), &run, *x, 2, &stats, message, sizeof message),
         "chain", KD_CARTESIAN, message);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return stats.residuals;
}

// Large Newton matrices of odassl leave eta out of the rows of dynamics and velocities: the same motion as with ggl,
// the same constraints, and not more iterations.
static void chain_without_eta_in_dynamics(void **state)
{
    kd_state *ggl, *odassl;
    (void)state;
    long   with = chain_by_bdf(KD_GGL, &ggl), without = chain_by_bdf(KD_ODASSL, &odassl);
    double most = 0;
    for (int i = 0; i < (int)(ggl->v - ggl->p); i++) most = fmax(most, fabs(ggl->p[i] - odassl->p[i]));
    assert_true(most < 1e-6);
    assert_true(without <= 1.2 * (double)with);
    kd_state_destroy(ggl);
    kd_state_destroy(odassl);
}

// ---- gyroscopes -----------------------------------------------------------------------------------------------------

// The heavy top against the reference in quadruple precision.
static void heavy_top(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double row[16];
        run_model("heavy-top", NULL, BOTH[c], 1, 1, &result);
        assert_int_equal(reference_row("heavytop", 1, row, 16), 11);
        assert_close(at(&result, -1, "x"), row[8], 5e-7);
        assert_close(at(&result, -1, "y"), row[9], 5e-7);
        assert_close(at(&result, -1, "z"), row[10], 5e-7);
        assert_close(at(&result, -1, "spin"), 150, 1e-9);
    }
}

// y = (beta, beta', alpha): nutation with the momenta about the rotor axis (C spin) and about the vertical.
static const double gyro_m = 0.05, gyro_l = 0.12, gyro_A = 7e-4, gyro_outer = 9e-4, gyro_spin = 1.2e-3 * 300;

static void gyroscope_rate(double t, const double *y, void *context, double *dy)
{
    (void)t, (void)context;
    double s = sin(y[0]), c = cos(y[0]), ml2 = gyro_m * gyro_l * gyro_l, p = gyro_spin;
    double Bx = 4e-4 + ml2 + gyro_A, By = 4e-4, Bz = 8e-4 + ml2 + gyro_A; // inner ring with overweight and rotor
    double alpha = -p * s / (gyro_outer + By * s * s + Bz * c * c);       // momentum about the vertical: 0
    dy[0] = y[1];
    dy[1] = (alpha * alpha * (By - Bz) * s * c + p * alpha * c - gyro_m * GRAVITY * gyro_l * c) / Bx;
    dy[2] = alpha;
}

static void gyroscope(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[3] = {0};
        run_model("gyroscope", NULL, BOTH[c], 1, 4, &result);
        for (int k = 0; k <= 4; k++) {
            if (k > 0) runge_kutta(gyroscope_rate, NULL, 3, 0, 0.25, 4000, y);
            assert_close(at(&result, k, "elevation"), y[0], 1e-7);
            assert_close(at(&result, k, "turned"), y[2], 1e-7);
        }
    }
}

// ---- flyball governor -----------------------------------------------------------------------------------------------

// y = (beta, s, beta', s'), beta of the rods from the downward vertical; IFToMM A05, symmetric form.
static double governor_inertia(double beta)
{
    double m = 0.3, w = 0.01, a = 0.1, Il = m * w * w / 6, It = m * (1 + w * w) / 12;
    double sb = sin(beta), cb = cos(beta), rc = 0.05 + sb / 2, rb = 0.05 + sb;
    return m * w * w / 6 + 3 * a * a / 6 + 2 * (Il * cb * cb + It * sb * sb + m * rc * rc) + 2 * 5 * rb * rb;
}

static void governor_rate(double t, const double *y, void *context, double *dy)
{
    (void)t, (void)context;
    double m = 0.3, w = 0.01, It = m * (1 + w * w) / 12, momentum = governor_inertia(PI / 3) * 2 * PI;
    double sb = sin(y[0]), cb = cos(y[0]), psi = momentum / governor_inertia(y[0]);
    double dx = sb / 2, dz = 1 - cb / 2 - y[1], D = hypot(dx, dz);
    double by_beta = (dx * cb / 2 + dz * sb / 2) / D, by_s = -dz / D;
    double F = 8e5 * (D - 0.5) + 4e4 * (by_beta * y[2] + by_s * y[3]);
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = (slope(governor_inertia, y[0]) * psi * psi / 2 - (m + 10) * GRAVITY * sb - 2 * F * by_beta) /
            (2 * (It + m / 4 + 5));
    dy[3] = -GRAVITY - 2 * F * by_s / 3;
}

static void governor(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[4] = {PI / 3, 0.5, 0, 0};
        run_model("governor", NULL, BOTH[c], 1.5, 3, &result);
        for (int k = 0; k <= 3; k++) {
            if (k > 0) runge_kutta(governor_rate, NULL, 4, 0, 0.5, 5000, y);
            assert_close(at(&result, k, "height"), y[1], 1e-7);
            assert_close(at(&result, k, "lift"), y[0] - PI / 3, 1e-7);
            assert_close(at(&result, k, "speed"), 2 * PI * governor_inertia(PI / 3) / governor_inertia(y[0]), 1e-6);
        }
    }
}

// ---- planar loops ---------------------------------------------------------------------------------------------------

// Slider-crank: lengths r, l; masses of crank, flywheel, rod and piston from the dimensions in the file.
static const double sc_r = 0.1, sc_l = 0.3, sc_b = 0.02, sc_rho = 7800, sc_piston = 0.5;

static double sc_x(double q)
{
    double y = sc_r * sin(q);
    return sc_r * cos(q) + sqrt(sc_l * sc_l - y * y);
}

static double sc_J(double q)
{
    double crank = sc_rho * sc_r * sc_b * sc_b, rod = sc_rho * sc_l * sc_b * sc_b,
           wheel = sc_rho * PI * 0.08 * 0.08 * 0.02;
    double phi = -asin(sc_r * sin(q) / sc_l), dphi = -sc_r * cos(q) / (sc_l * cos(phi));
    double cx = -sc_r * sin(q) - sc_l / 2 * sin(phi) * dphi, cy = sc_r * cos(q) / 2;
    double dx = -sc_r * sin(q) - sc_l * sin(phi) * dphi;
    return crank * (sc_r * sc_r / 3 + sc_b * sc_b / 12) + wheel * 0.08 * 0.08 / 2 + rod * (cx * cx + cy * cy) +
           rod * (sc_l * sc_l + sc_b * sc_b) / 12 * dphi * dphi + sc_piston * dx * dx;
}

static double sc_V(double q)
{
    double crank = sc_rho * sc_r * sc_b * sc_b, rod = sc_rho * sc_l * sc_b * sc_b, s = sc_x(q) - sc_l;
    return GRAVITY * (crank + rod) * sc_r / 2 * sin(q) + 500 * s * s / 2;
}

static void slider_crank(void **state)
{
    one_dof m = {sc_J, sc_V, NULL};
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[2] = {0, 20};
        run_model("slider-crank", NULL, BOTH[c], 1, 10, &result);
        assert_int_equal(result.info.nredundant, 3);
        for (int k = 0; k <= 10; k++) {
            if (k > 0) runge_kutta(one_dof_rate, &m, 2, 0, 0.1, 500, y);
            assert_close(at(&result, k, "x"), sc_x(y[0]), 1e-7);
            assert_close(at(&result, k, "speed"), y[1], 1e-5);
        }
    }
}

// Crank-rocker: rocker angle and joint positions in closed form, energy at unit speed of the crank.
static const double fb_a = 0.1, fb_b = 0.35, fb_c = 0.25, fb_d = 0.3, fb_w = 0.02, fb_rho = 2700;

static double fb_rocker(double q)
{
    double px = fb_a * cos(q), py = fb_a * sin(q), s = hypot(px - fb_d, py), alpha = atan2(py, px - fb_d);
    if (alpha < 0) alpha += 2 * PI;
    return alpha - acos((fb_c * fb_c + s * s - fb_b * fb_b) / (2 * fb_c * s));
}

static double fb_coupler_x(double q)
{
    return (fb_a * cos(q) + fb_d + fb_c * cos(fb_rocker(q))) / 2;
}

static double fb_coupler_y(double q)
{
    return (fb_a * sin(q) + fb_c * sin(fb_rocker(q))) / 2;
}

static double fb_coupler_angle(double q)
{
    return atan2(fb_c * sin(fb_rocker(q)) - fb_a * sin(q), fb_d + fb_c * cos(fb_rocker(q)) - fb_a * cos(q));
}

static double fb_energy(double q)
{
    double ma = fb_rho * fb_w * fb_w * fb_a, mb = fb_rho * fb_w * fb_w * fb_b, mc = fb_rho * fb_w * fb_w * fb_c;
    double vx = slope(fb_coupler_x, q), vy = slope(fb_coupler_y, q), turn = slope(fb_coupler_angle, q);
    double rocker = slope(fb_rocker, q), w2 = fb_w * fb_w / 12, speed = 2 * PI;
    double J = ma * (fb_a * fb_a / 3 + w2) + mb * (vx * vx + vy * vy + (fb_b * fb_b / 12 + w2) * turn * turn) +
               mc * (fb_c * fb_c / 3 + w2) * rocker * rocker;
    double height = ma * fb_a / 2 * sin(q) + mb * fb_coupler_y(q) + mc * fb_c / 2 * sin(fb_rocker(q));
    return J * speed * speed / 2 + GRAVITY * height;
}

static void four_bar(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("four-bar", NULL, BOTH[c], 2, 37, &result);
        assert_int_equal(result.info.nredundant, 3);
        assert_int_equal(result.info.dof, 0);
        for (int k = 0; k <= 37; k++) {
            double q = 2 * PI * result.t[k];
            assert_close(at(&result, k, "rocker"), fb_rocker(q), 1e-12);
            assert_close(at(&result, k, "torque"), slope(fb_energy, q), 1e-7);
        }
    }
}

// Parallelogram with a diagonal spring: equilibrium and decay of small vibrations (fourbar_spring: 30 digits).
static double fbs_J(double q)
{
    (void)q;
    return 5.0 / 3;
}

static double fbs_V(double q)
{
    double stretch = 2 * cos(q / 2) - sqrt(2);
    return 2 * GRAVITY * sin(q) + 25 * stretch * stretch / 2;
}

static double fbs_damping(double q)
{
    return sin(q / 2) * sin(q / 2);
}

static void four_bar_spring(void **state)
{
    one_dof m = {fbs_J, fbs_V, fbs_damping};
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[2] = {1.8, 0};
        run_model("four-bar-spring", NULL, BOTH[c], 80, 4, &result);
        runge_kutta(one_dof_rate, &m, 2, 0, 20, 20000, y);
        assert_close(at(&result, 1, "phi"), y[0], 1e-6);
        assert_close(at(&result, -1, "phi"), 2.2343310190175859, 1e-7);
        assert_close(at(&result, -1, "length"), 0.876464037592681483, 1e-7);
        assert_close(at(&result, -1, "force"), -13.4437381195103391, 1e-5);
    }
}

// IFToMM A02: phi'' = w2 sin phi, phi from the upright position.
static void a02_rate(double t, const double *y, void *context, double *dy)
{
    double N = *(double *)context;
    (void)t;
    dy[0] = y[1];
    dy[1] = GRAVITY * ((N + 1) / 2 + N) / ((N + 1) / 3 + N) * sin(y[0]);
}

static void assert_a02(const char *settings, double N, kd_coordinates c, double t)
{
    double y[2] = {0, 1};
    runge_kutta(a02_rate, &N, 2, 0, t, 20000, y);
    run_model("n-four-bar", settings, c, t, 1, &result);
    assert_close(at(&result, -1, "x"), sin(y[0]), 5e-6);
    assert_close(at(&result, -1, "y"), cos(y[0]), 5e-6);
    assert_close(at(&result, -1, "vx"), y[1] * cos(y[0]), 2e-5);
    assert_close(at(&result, -1, "vy"), -y[1] * sin(y[0]), 2e-5);
}

// Five turns for N = 2 (published end: 0.3284581115408154, 0.9445185381786010), one for N = 40, and the bare mechanism
// before it is singular.
static void n_four_bar(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        assert_a02(NULL, 2, BOTH[c], 10);
        assert_int_equal(result.info.nredundant, 2);
        assert_close(at(&result, -1, "x"), 0.3284581115408154, 5e-6);
        assert_close(at(&result, -1, "y"), 0.9445185381786010, 5e-6);
        assert_a02("guard=0 N=3", 3, BOTH[c], 0.7);
        assert_int_equal(result.info.nredundant, 0);
    }
    assert_a02("N=40", 40, KD_JOINT, 2);
}

// The same cranks hanging, without gears: phi'' = -w2 sin phi from the hanging position.
static void hanging_ladder(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        double N = 10, y[2] = {PI, 1};
        runge_kutta(a02_rate, &N, 2, 0, 2, 20000, y);
        run_model("n-four-bar", "side=-1 guard=0 N=10", BOTH[c], 2, 1, &result);
        assert_int_equal(result.info.dof, 1);
        assert_close(at(&result, -1, "x"), sin(y[0]), 1e-6);
        assert_close(at(&result, -1, "y"), cos(y[0]), 1e-6);
        assert_close(at(&result, -1, "vx"), y[1] * cos(y[0]), 1e-5);
    }
}

// Andrews' squeezer at 30 ms, all seven angles, and IFToMM A03: another start of the crank, held during assembly.
static void andrews(void **state)
{
    static const char *const name[] = {"beta", "Theta", "gamma", "Phi", "delta", "Omega", "eps"};
    (void)state;
    for (int c = 0; c < 2; c++) {
        double row[32];
        run_model("andrews", NULL, BOTH[c], 0.03, 1, &result);
        assert_int_equal(result.info.nredundant, 9);
        assert_int_equal(reference_row("andrews", 0.03, row, 32), 28);
        for (int i = 0; i < 7; i++) assert_close(at(&result, -1, name[i]), row[1 + i], 5e-7);
    }
    run_model("andrews", "beta=-0.0620", KD_JOINT, 0.05, 1, &result);
    assert_close(at(&result, 0, "beta"), -0.0620, 1e-15);
    assert_close(at(&result, 0, "Theta"), 2.14586853799515e-4, 1e-12);
    assert_close(at(&result, -1, "beta"), 33.8153407213602, 2e-6);
}

// ---- spatial loops --------------------------------------------------------------------------------------------------

// Bricard's loop: angles from the first one, rods by forward kinematics.
typedef struct bricard_pose {
    kd_vec3 centre[5];
    kd_mat3 R[5];
} bricard_pose;

static bricard_pose bricard_at(double q)
{
    static const double axis[5][3] = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const double along[5][3] = {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, 1, 0}};
    double              second = asin(-sin(q) / (1 + sin(q)));
    bricard_pose        pose;
    kd_vec3             point = {0, 0, 0};
    kd_mat3             R = kd_mat_identity();
    for (int i = 0; i < 5; i++) {
        double  half = 0.5 * (i % 2 == 0 ? q : second);
        kd_quat turn = {cos(half), sin(half) * axis[i][0], sin(half) * axis[i][1], sin(half) * axis[i][2]};
        kd_mat3 step = kd_quat_matrix(turn);
        R = kd_mat_mul(&R, &step);
        kd_vec3 rod = kd_mat_vec(&R, kd_vec_of(along[i]));
        pose.R[i] = R;
        pose.centre[i] = kd_vec_axpy(point, 0.5, rod);
        point = kd_vec_add(point, rod);
    }
    return pose;
}

static double bricard_V(double q)
{
    bricard_pose pose = bricard_at(q);
    double       height = 0;
    for (int i = 0; i < 5; i++) height += pose.centre[i].y;
    return GRAVITY * height;
}

// Kinetic energy at unit speed by differences: |c'|^2, and |R e'|^2 of points on the axes of each rod
static double bricard_J(double q)
{
    const double h = 1e-4, w = 0.1, It = (1 + w * w) / 12, Il = w * w / 6;
    bricard_pose right = bricard_at(q + h), left = bricard_at(q - h);
    double       J = 0;
    for (int i = 0; i < 5; i++) {
        kd_vec3 v = kd_vec_sub(right.centre[i], left.centre[i]);
        J += kd_vec_dot(v, v);
        // integral of r r' dm is diagonal: along the rod It - Il/2, across Il/2 each
        const double  along = It - Il / 2, across = Il / 2;
        const kd_vec3 column[3] = {kd_vec_sub(right.R[i].x, left.R[i].x), kd_vec_sub(right.R[i].y, left.R[i].y),
                                   kd_vec_sub(right.R[i].z, left.R[i].z)};
        const int     rod[5] = {0, 1, 2, 0, 1};
        for (int k = 0; k < 3; k++) J += (k == rod[i] ? along : across) * kd_vec_dot(column[k], column[k]);
    }
    return J / (4 * h * h);
}

static void bricard(void **state)
{
    one_dof m = {bricard_J, bricard_V, NULL};
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[2] = {0};
        run_model("bricard", NULL, BOTH[c], 2, 8, &result);
        assert_int_equal(result.info.nredundant, 1);
        assert_int_equal(result.info.dof, 1);
        for (int k = 0; k <= 8; k++) {
            double a = at(&result, k, "theta(1)"), b = at(&result, k, "theta(2)");
            if (k > 0) runge_kutta(one_dof_rate, &m, 2, 0, 0.25, 250, y);
            assert_close(at(&result, k, "theta(3)"), a, 1e-11);
            assert_close(at(&result, k, "theta(5)"), a, 1e-11);
            assert_close(at(&result, k, "theta(4)"), b, 1e-11);
            assert_close(sin(a) * sin(b) + sin(a) + sin(b), 0, 1e-11);
            assert_close(a, y[0], 1e-7);
        }
    }
}

// Spatial slider-crank: crank end at (0, y0 + r sin, z0 + r cos) about x; rod slender.
static const double ssc_r = 0.08, ssc_l = 0.3, ssc_y = 0.1, ssc_z = 0.12;

static double ssc_end_y(double q)
{
    return ssc_y - ssc_r * sin(q);
}

static double ssc_end_z(double q)
{
    return ssc_z + ssc_r * cos(q);
}

static double ssc_x(double q)
{
    double y = ssc_end_y(q), z = ssc_end_z(q);
    return sqrt(ssc_l * ssc_l - y * y - z * z);
}

static double ssc_J(double q)
{
    double dx = slope(ssc_x, q), dy = slope(ssc_end_y, q), dz = slope(ssc_end_z, q);
    double centre = (dx * dx + dy * dy + dz * dz) / 4, turn = (dx * dx + dy * dy + dz * dz) / (ssc_l * ssc_l);
    return 1e-4 + 0.12 * 0.04 * 0.04 + 0.5 * centre + 0.5 * ssc_l * ssc_l / 12 * turn + 2 * dx * dx;
}

static double ssc_V(double q)
{
    return GRAVITY * (0.5 * ssc_end_z(q) / 2 + 0.12 * 0.04 * cos(q));
}

static void spatial_slider_crank(void **state)
{
    one_dof m = {ssc_J, ssc_V, NULL};
    (void)state;
    for (int c = 0; c < 2; c++) {
        double y[2] = {0, 6};
        run_model("spatial-slider-crank", NULL, BOTH[c], 1, 10, &result);
        assert_int_equal(result.info.nredundant, 0);
        for (int k = 0; k <= 10; k++) {
            if (k > 0) runge_kutta(one_dof_rate, &m, 2, 0, 0.1, 200, y);
            assert_close(at(&result, k, "x"), ssc_x(at(&result, k, "angle")), 1e-12);
            assert_close(at(&result, k, "angle"), y[0], 1e-5);
        }
    }
}

// Stewart platform: the plate is where it is wanted; the power of the drives is the change of the energy.
static void stewart(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("stewart", NULL, BOTH[c], 5, 20, &result);
        assert_int_equal(result.info.dof, 0);
        for (int k = 0; k <= 20; k++) {
            double phase = 2 * PI / 5 * result.t[k];
            assert_close(at(&result, k, "x"), 0.2 * sin(phase), 1e-11);
            assert_close(at(&result, k, "y"), 0.2 * (1 - cos(phase)), 1e-11);
            assert_close(at(&result, k, "z"), 1.3 + 0.1 * sin(2 * phase), 1e-11);
            assert_close(at(&result, k, "yaw"), 20 * PI / 180 * sin(phase), 1e-11);
            assert_close(at(&result, k, "tilt"), 0, 1e-11);
        }
    }
}

// ---- trucks ---------------------------------------------------------------------------------------------------------

// All coordinates against the reference trajectories, which the trucks written in C meet as well.
static void assert_truck(const char *name, const char *settings, const char *reference, int n, double t, int first)
{
    for (int c = first; c < 2; c++) {
        double row[32];
        run_model(name, settings, BOTH[c], t, 1, &result);
        reference_row(reference, t, row, 32);
        for (int i = 1; i <= n; i++) {
            char sensor[8];
            snprintf(sensor, sizeof sensor, "p%d", i);
            assert_close(at(&result, -1, sensor), row[i], 3e-7);
        }
    }
}

static void trucks(void **state)
{
    (void)state;
    assert_truck("truck5", NULL, "truck5", 9, 5, 0);
    assert_truck("truck5", NULL, "truck5", 9, 20, 1);
    assert_truck("truck7", NULL, "truck7_hump", 11, 5, 0);
    assert_truck("truck7", NULL, "truck7_hump", 11, 20, 1);
    assert_truck("truck7", "bump=1", "truck7_bump", 11, 1, 0);
}

// ---- robot ----------------------------------------------------------------------------------------------------------

// Axes and parts of the robot: pivot in the part before, centre of mass in the own frame, end angle in degrees.
static const struct {
    double axis[3], pivot[3], mass, centre[3], angle;
} robot[] = {
    {{0, 0, 1}, {0, 0, 0.4}, 95, {0.06, -0.01, 0.02}, 60}, {{0, 1, 0}, {0.16, 0, 0.19}, 48, {0.01, 0.05, 0.3}, 40},
    {{0, 1, 0}, {0, 0, 0.68}, 62, {0.02, 0.01, 0.1}, -10}, {{1, 0, 0}, {0.1, 0, 0.13}, 24, {0.34, 0, 0}, 90},
    {{0, 1, 0}, {0.67, 0, 0}, 7.5, {0.02, 0, 0}, 60},      {{1, 0, 0}, {0.115, 0, 0}, 1.2, {0.012, 0, 0}, -45},
    {{1, 0, 0}, {0.03, 0, 0}, 20, {0.1, 0, 0}, 0},
};
enum { ROBOT_PARTS = sizeof robot / sizeof robot[0] };

// All coordinates are prescribed: at the end the grip is where the angles put it, and each drive carries the weights
// beyond its axis.
static void robot6_torques(void **state)
{
    kd_vec3 pivot[ROBOT_PARTS], axis[ROBOT_PARTS], centre[ROBOT_PARTS], point = {0, 0, 0};
    kd_mat3 R = kd_mat_identity();
    (void)state;
    for (int i = 0; i < ROBOT_PARTS; i++) {
        const double *a = robot[i].axis, half = robot[i].angle * PI / 360;
        kd_mat3       turn = kd_quat_matrix((kd_quat){cos(half), sin(half) * a[0], sin(half) * a[1], sin(half) * a[2]});
        point = pivot[i] = kd_vec_add(point, kd_mat_vec(&R, kd_vec_of(robot[i].pivot)));
        axis[i] = kd_mat_vec(&R, kd_vec_of(a));
        R = kd_mat_mul(&R, &turn);
        centre[i] = kd_vec_add(point, kd_mat_vec(&R, kd_vec_of(robot[i].centre)));
    }
    kd_vec3 grip = kd_vec_add(point, kd_mat_vec(&R, kd_vec(0.2, 0, 0)));
    for (int c = 0; c < 2; c++) {
        run_model("robot6-torques", NULL, BOTH[c], 2.5, 1, &result);
        assert_int_equal(result.info.dof, 0);
        assert_close(at(&result, -1, "x"), grip.x, 1e-11);
        assert_close(at(&result, -1, "y"), grip.y, 1e-11);
        assert_close(at(&result, -1, "z"), grip.z, 1e-11);
        for (int i = 0; i < 6; i++) {
            char   name[32];
            double torque = 0;
            snprintf(name, sizeof name, "torque(%d)", i + 1);
            for (int k = i; k < ROBOT_PARTS; k++)
                torque += kd_vec_dot(
                    axis[i], kd_vec_cross(kd_vec_sub(centre[k], pivot[i]), kd_vec(0, 0, robot[k].mass * GRAVITY)));
            assert_close(at(&result, -1, name), torque, 1e-7);
        }
    }
}

// ---- the gallery as a whole -----------------------------------------------------------------------------------------

enum { MAX_TEXT = 1 << 20 };

static char *text_of(const char *name, char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", KD_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    if (!file) print_error("%s is missing\n", path);
    assert_non_null(file);
    size_t n = fread(text, 1, MAX_TEXT - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void for_all_files(void (*look)(const char *name, void *context), void *context)
{
    int  count = 0;
    DIR *folder = opendir(KD_SOURCE_DIR "/models");
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char *ending = strstr(entry->d_name, ".yaml");
        if (!ending) continue;
        *ending = '\0';
        look(entry->d_name, context);
        count++;
    }
    closedir(folder);
    assert_true(count > 30);
}

enum { TESTS = 23, PAGES = TESTS + 2 }; // files that test models, and those that list them

static void is_complete(const char *name, void *context)
{
    const char *const *page = context;
    char               word[300];
    kd_model          *model = read_gallery(name, NULL);
    const kd_run_def  *run = kd_model_run(model);
    if (!kd_model_title(model)[0] || run->nplots == 0 || kd_model_warning_count(model) > 0)
        print_error("%s: title '%s', %d plots, %s\n", name, kd_model_title(model), run->nplots,
                    kd_model_warning_count(model) > 0 ? kd_model_warning(model, 0) : "");
    assert_true(kd_model_title(model)[0] && run->nplots > 0 && kd_model_warning_count(model) == 0);
    kd_model_destroy(model);
    snprintf(word, sizeof word, "\"%s\"", name); // as tests name it
    bool tested = false;
    for (int i = 0; i < TESTS; i++) tested = tested || strstr(page[i], word);
    if (!tested) print_error("%s is not tested\n", name);
    assert_true(tested);
    snprintf(word, sizeof word, "`%s`", name);
    for (int i = TESTS; i < PAGES; i++) {
        if (!strstr(page[i], word)) print_error("%s is not described\n", name);
        assert_non_null(strstr(page[i], word));
    }
}

// Every model file has a title and plots, no warnings, a test, and a place in the guide and in the list.
static void all_are_complete(void **state)
{
    static const char *const name[] = {"tests/models/test_gallery_files.c",
                                       "tests/models/test_gallery_features.c",
                                       "tests/models/test_vehicles.c",
                                       "tests/models/test_rail.c",
                                       "tests/models/test_coach.c",
                                       "tests/models/test_hmmwv.c",
                                       "tests/models/test_trailer.c",
                                       "tests/models/test_realtime_vehicles.c",
                                       "tests/models/test_impacts.c",
                                       "tests/models/test_surface_contact.c",
                                       "tests/models/test_semi_active.c",
                                       "tests/models/test_controllers.c",
                                       "tests/models/test_gallery_friction.c",
                                       "tests/models/test_door.c",
                                       "tests/models/test_fluid_models.c",
                                       "tests/models/test_from_files.c",
                                       "tests/models/test_winch.c",
                                       "tests/models/test_road_vehicles.c",
                                       "tests/models/test_large_vehicles.c",
                                       "tests/models/test_long_swing.c",
                                       "tests/models/test_flexible_models.c",
                                       "tests/models/test_pieces.c",
                                       "tests/system/test_invariants.c",
                                       "docs/guide/gallery.md",
                                       "models/README.md"};
    static char              text[PAGES][MAX_TEXT];
    const char              *page[PAGES];
    (void)state;
    for (int i = 0; i < PAGES; i++) page[i] = text_of(name[i], text[i]);
    for_all_files(is_complete, page);
}

static void append_file(const char *name, void *context)
{
    static char part[MAX_TEXT];
    char        path[300], *all = context;
    snprintf(path, sizeof path, "models/%s.yaml", name);
    size_t used = strlen(all), n = strlen(text_of(path, part));
    assert_true(used + n < MAX_TEXT);
    memcpy(all + used, part, n + 1);
}

static void assert_shown(const char *text, const char *before, const char *word, const char *after)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%s%s%s", before, word, after);
    if (!strstr(text, wanted)) print_error("no model of the gallery has '%s'\n", wanted);
    assert_non_null(strstr(text, wanted));
}

// Whatever a model file can say, some model of the gallery says, or the wheel of its library, or those with code of others; but for the joints that are
// images of others in a mirror.
static void every_feature_is_shown(void **state)
{
    static char all[MAX_TEXT];
    (void)state;
    all[0] = '\0';
    for_all_files(append_file, all);
    append_file("library/wheel", all);
    append_file("foreign/truck-fmu", all);
    append_file("foreign/mass-fmu", all);
    append_file("foreign/cart-library", all);
    for (int id = 0; id < KD_SCHEMA_COUNT; id++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)id);
        for (int i = 0; i < schema->nkinds && kd_schema_has_kinds(schema); i++)
            if (kd_schema_word(schema, i)->word && strncmp(kd_schema_word(schema, i)->word, "left_", 5) != 0)
                assert_shown(all, schema->kind_by_key ? "" : "type: ", kd_schema_word(schema, i)->word,
                             schema->kind_by_key ? ":" : "");
        for (int i = 0; i < kd_schema_field_count(schema, -1); i++) {
            const char *key = kd_schema_field_at(schema, -1, i)->key;
            // what code of others needs depends on that code: tests/fmi/test_foreign.c
            if (id == KD_SCHEMA_BLOCK && (strcmp(key, "kind") == 0 || strcmp(key, "tolerance") == 0)) continue;
            if (id == KD_SCHEMA_BODY && strcmp(key, "image") == 0) continue; // of models that were written
            assert_shown(all, "", key, ":");
        }
    }
    for (const char *const *form = kd_schema_field(kd_schema_of(KD_SCHEMA_CURVE), 0, "form")->words; *form; form++)
        assert_shown(all, "form: ", *form, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulum),
        cmocka_unit_test(double_pendulum),
        cmocka_unit_test(stiff_double_pendulum),
        cmocka_unit_test(chain),
        cmocka_unit_test(chain_without_eta_in_dynamics),
        cmocka_unit_test(heavy_top),
        cmocka_unit_test(gyroscope),
        cmocka_unit_test(governor),
        cmocka_unit_test(slider_crank),
        cmocka_unit_test(four_bar),
        cmocka_unit_test(four_bar_spring),
        cmocka_unit_test(n_four_bar),
        cmocka_unit_test(hanging_ladder),
        cmocka_unit_test(andrews),
        cmocka_unit_test(bricard),
        cmocka_unit_test(spatial_slider_crank),
        cmocka_unit_test(stewart),
        cmocka_unit_test(trucks),
        cmocka_unit_test(robot6_torques),
        cmocka_unit_test(all_are_complete),
        cmocka_unit_test(every_feature_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
