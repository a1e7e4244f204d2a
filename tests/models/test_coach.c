// The railway coach: statics of a canted curve (sums of forces, load transfer with all shifts and the gyroscopic
// moment of the wheelsets), also on measured profiles; critical speed by eigenvalues and by simulation, both coordinate sets.
#include "gallery_run.h"

static table result, other;

static double sum_of_wheels(const table *t, int row, const char *sensor)
{
    char   name[64];
    double sum = 0;
    for (int k = 1; k <= 4; k++) {
        snprintf(name, sizeof name, "%s(%d)", sensor, k);
        sum += at(t, row, name);
    }
    return sum;
}

// ---- statics --------------------------------------------------------------------------------------------------------
static const double CAR = 32000, FRAME = 2615, WHEELSET = 1813, R0 = 0.46, XB = 9.5, XW = 1.28;

// How far the line at the distance x before or behind lies beside its tangent, on a circle
static double beside(double radius, double x)
{
    return radius - sqrt(radius * radius - x * x);
}

// In the steady curve, in the axes of the canted track (y to the inside): the rails push with m a_y and carry m a_z;
// the moment about the middle of the track, (right - left) l, is that of all a_y at their heights, of all a_z at their shifts to the
// outside, and of the wheelsets that are turned round while they roll. Shifts of car and frames are measured from
// their own guides; the rails below their wheels lie further inside.
static void steady_curve(void **state)
{
    static const struct {
        const char *model, *settings;
        double      V, radius, cant, t_end, flange;
    } run[] = {{"coach", "", 25, 500, 0.12, 10, 0.008},
               {"coach", "V=21 radius=420 cant=0.08 s0=15 L=60", 21, 420, 0.08, 10, 0.008},
               {"coach-profiles", "", 25, 500, 0.12, 7, 0.0075}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        const double mass = CAR + 2 * FRAME + 4 * WHEELSET, V = run[k].V, tilt = asin(run[k].cant / 1.5);
        const double turn = V / run[k].radius;
        run_model(run[k].model, run[k].settings, KD_JOINT, run[k].t_end, 20, &result);
        // at the start the weight alone; measured profiles meet 0.1 mm beside their design
        assert_close(at(&result, 0, "vertical"), mass * GRAVITY, k < 2 ? 1e-3 : 5e-3 * mass * GRAVITY);
        assert_close(at(&result, 0, "lateral"), 0, 1e-3);
        // accelerations along and across the track
        const double a_y = V * turn * cos(tilt) - GRAVITY * sin(tilt), a_z = GRAVITY * cos(tilt) + V * turn * sin(tilt);
        assert_close(at(&result, -1, "vertical"), mass * a_z, 1e-4 * mass * a_z);
        assert_close(at(&result, -1, "lateral"), mass * a_y, 5e-3 * mass * a_y);
        // places of car and frames relative to the rails below the wheels
        const double rails = 0.5 * (beside(run[k].radius, XB + XW) + beside(run[k].radius, XB - XW));
        const double car_y = at(&result, -1, "car_y") - rails * cos(tilt);
        const double car_z = 1.8 + at(&result, -1, "car_z") - rails * sin(tilt);
        const double frames_y =
            at(&result, -1, "frame_y(1)") + at(&result, -1, "frame_y(2)") - 2 * beside(run[k].radius, XW) * cos(tilt);
        const double heights = CAR * car_z + 2 * FRAME * 0.6 + 4 * WHEELSET * R0;
        const double shifts = -CAR * car_y - FRAME * frames_y - WHEELSET * sum_of_wheels(&result, -1, "wheels_y");
        const double gyroscopic = 4 * 112 * V / R0 * turn * cos(tilt);
        const double wanted = a_y * heights + a_z * shifts + gyroscopic;
        const double transfer =
            0.75 * (sum_of_wheels(&result, -1, "load_right") - sum_of_wheels(&result, -1, "load_left"));
        // on measured profiles the places of contact move across the rails, by 11 mm on average, which is 11 % of the transfer:
        // there the moment of the rails at the places where they act
        const double moment = k < 2 ? transfer : -sum_of_wheels(&result, -1, "moment");
        assert_close(moment, wanted, (k < 2 ? 3e-3 : 6e-3) * wanted);
        assert_true(gyroscopic > 6e-3 * wanted && a_z * shifts > 0.1 * wanted);
        // the leading wheelsets run on their flanges
        assert_true(at(&result, -1, "wheels_y(1)") < -run[k].flange && at(&result, -1, "wheels_y(3)") < -run[k].flange);
    }
}

// Through the transition up to the first flanges both coordinate sets move alike.
static void both_sets(void **state)
{
    char name[64];
    (void)state;
    run_model("coach", "", KD_JOINT, 2, 20, &result);
    run_model("coach", "", KD_CARTESIAN, 2, 20, &other);
    for (int i = 0; i <= 20; i++) {
        assert_close(at(&result, i, "car_y"), at(&other, i, "car_y"), 5e-6);
        for (int k = 1; k <= 4; k++) {
            snprintf(name, sizeof name, "wheels_y(%d)", k);
            assert_close(at(&result, i, name), at(&other, i, name), 5e-6);
            snprintf(name, sizeof name, "load_right(%d)", k);
            assert_close(at(&result, i, name), at(&other, i, name), 100);
        }
    }
    assert_true(at(&result, -1, "wheels_y(1)") < -0.008);
}

// ---- critical speed -------------------------------------------------------------------------------------------------
// The largest real part of all modes on straight track but the free rolling
static double growth(const char *settings, double V)
{
    char       text[120], message[400] = "";
    kd_system *system = NULL;
    kd_state  *x = NULL;
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    double     largest = -HUGE_VAL;
    snprintf(text, sizeof text, "cant=0 radius=1e9 V=%.15g %s", V, settings);
    kd_model *model = read_gallery("coach", text);
    must(kd_system_create(model, NULL, &system, message, sizeof message), "coach", KD_JOINT, message);
    must(kd_state_create(kd_system_eom(system), &x), "coach", KD_JOINT, "");
    must(kd_system_start(system, x, message, sizeof message), "coach", KD_JOINT, message);
    must(kd_linearize(kd_system_eom(system), kd_system_inputs(system), NULL, x, &linear, message, sizeof message),
         "coach", KD_JOINT, message);
    must(kd_modes_create(linear, &modes), "coach", KD_JOINT, "");
    for (int i = 0; i < modes->n; i++)
        if (modes->frequency[i] > 0.05) largest = fmax(largest, modes->real[i]);
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return largest;
}

// Growth of the swing of the first wheelset from the second to the last third of a run
static double simulated_growth(const char *settings, double V, double t_end)
{
    enum { TIMES = 99, THIRD = 33 };
    char   text[120];
    double square[3] = {0};
    snprintf(text, sizeof text, "cant=0 radius=1e9 offset=2e-4 V=%.15g %s", V, settings);
    run_with("coach", text, KD_JOINT, t_end, TIMES, 0.1, &result);
    for (int i = 1; i <= TIMES; i++) square[(i - 1) / THIRD] += pow(at(&result, i, "wheels_y(1)"), 2);
    return 0.5 * log(square[2] / square[1]) / (t_end / 3);
}

// The speed at which the growth of the eigenvalues changes its sign is what `modes --vary` tells; 5 % below and above it the motion decays and grows
// as they say.
static void critical_speed(void **state)
{
    static const struct {
        const char *settings;
        double      low, high, wanted;
    } run[] = {{"worn=1", 80, 120, 98.974}, {"worn=0", 70, 120, 93.436}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        double low = run[k].low, high = run[k].high;
        assert_true(growth(run[k].settings, low) < 0 && growth(run[k].settings, high) > 0);
        while (high - low > 0.01) {
            const double V = 0.5 * (low + high);
            if (growth(run[k].settings, V) > 0)
                high = V;
            else
                low = V;
        }
        assert_close(low, run[k].wanted, 0.02);
        for (int side = -1; side <= 1 && k == 0; side += 2) {
            const double V = (1 + 0.05 * side) * low, rate = growth(run[k].settings, V);
            assert_true(side * rate > 0.3);
            assert_close(simulated_growth(run[k].settings, V, 4), rate, 0.06 * fabs(rate));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_curve),
        cmocka_unit_test(both_sets),
        cmocka_unit_test(critical_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
