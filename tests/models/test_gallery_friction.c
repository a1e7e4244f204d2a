// Model files of the gallery with friction: joints that rub with the forces in them.
#include "gallery_run.h"

static table result; // of the last run

// ---- slider-crank with friction of constraint forces: Newton and Euler in the plane x-z -----------------------------

static const double fs_r = 0.1, fs_l = 0.3, fs_mc = 2, fs_mr = 1, fs_mp = 1.5, fs_Jc = 0.02, fs_Jr = 0.008;

typedef struct slider_forces {
    double across, load;     // on the guide, on the bearing
    double friction, torque; // of both
} slider_forces;

// What is left of the crank's equation at angle q, rate v, acceleration a, with given friction; the forces that follow
static double crank_residual(double q, double v, double a, double friction, double torque, slider_forces *out)
{
    double r = fs_r, l = fs_l, beta = asin(r / l * sin(q)), s = sin(beta), c = cos(beta);
    double beta1 = r * cos(q) * v / (l * c),
           beta2 = (r * cos(q) * a - r * sin(q) * v * v + l * s * beta1 * beta1) / (l * c);
    double pin_x = -r * (sin(q) * a + cos(q) * v * v), pin_z = r * (cos(q) * a - sin(q) * v * v);
    double rod_x = -l * (s * beta2 + c * beta1 * beta1),
           rod_z = -l * (c * beta2 - s * beta1 * beta1); // over its length
    double centre_x = pin_x + 0.5 * rod_x, centre_z = pin_z + 0.5 * rod_z, x2 = pin_x + rod_x;
    double arm_x = -0.5 * l * c, arm_z = 0.5 * l * s; // crank pin from the centre of the rod
    double Bx = fs_mp * x2 - friction;                // on the crosshead
    // Euler of the rod, turning with -beta: arm x (A + B), A = m a + B + m g the force of the crank on the rod
    double Bz = 0.5 * ((-fs_Jr * beta2 + arm_z * (fs_mr * centre_x + 2 * Bx)) / arm_x - fs_mr * (centre_z + GRAVITY));
    double Ax = fs_mr * centre_x + Bx, Az = fs_mr * (centre_z + GRAVITY) + Bz;
    out->across = fabs(fs_mp * GRAVITY - Bz);
    out->load = hypot(Ax, Az + fs_mc * GRAVITY);
    return fs_Jc * a - 4 - torque + r * (cos(q) * Az - sin(q) * Ax);
}

// The acceleration of the crank: linear for given friction, which is found by iteration
static double crank_acceleration(double q, double v, slider_forces *f)
{
    double beta = asin(fs_r / fs_l * sin(q)), beta1 = fs_r * cos(q) * v / (fs_l * cos(beta)), a = 0;
    double x1 = -fs_r * sin(q) * v - fs_l * sin(beta) * beta1;
    *f = (slider_forces){0};
    for (int i = 0; i < 200; i++) {
        f->friction = -f->across * (0.15 + 0.05 * exp(-pow(x1 / 0.05, 2))) * tanh(x1 / 0.01);
        f->torque = -(0.1 + 0.1 * 0.02 * f->load) * tanh(v / 0.1);
        double zero = crank_residual(q, v, 0, f->friction, f->torque, f);
        double one = crank_residual(q, v, 1, f->friction, f->torque, f);
        a = zero / (zero - one);
        (void)crank_residual(q, v, a, f->friction, f->torque, f);
    }
    return a;
}

// Crank, guide and bearing move and carry as Newton's and Euler's equations with friction say.
static void friction_slider(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("friction-slider", NULL, BOTH[c], 2.0, 40, &result);
        assert_int_equal(result.info.dof, 1);
        for (int i = 0; i < result.rows; i++) {
            slider_forces f;
            double        a = crank_acceleration(at(&result, i, "angle"), at(&result, i, "speed"), &f);
            assert_close(at(&result, i, "acceleration"), a, 1e-5 * (1 + fabs(a)));
            assert_close(at(&result, i, "across"), f.across, 1e-5 * (1 + f.across));
            assert_close(at(&result, i, "load"), f.load, 1e-5 * (1 + f.load));
            assert_close(at(&result, i, "friction"), f.friction, 1e-5 * (1 + f.across));
            assert_close(at(&result, i, "torque"), f.torque, 1e-5 * (1 + f.load));
        }
        assert_true(at(&result, -1, "speed") > 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(friction_slider)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
