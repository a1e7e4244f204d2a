// Steady turns: a car on a circle by trim, which then stays on it, and a bicycle that leans into its turn.
#include <math.h>

#include "analysis/linear_subject.h"

typedef struct drive {
    double u[2]; // steer, drive
} drive;

static kd_eval held(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    for (int i = 0; i < 2; i++) {
        u[i] = ((const drive *)context)->u[i];
        du[i] = ddu[i] = 0;
    }
    return KD_EVAL_OK;
}

// Coordinates but the place, and the velocities of the wheels, are free
static void release(const subject *s, bool *free_p, bool *free_v)
{
    for (int i = 0; i < s->n.nv; i++) {
        free_p[i] = i > 1;
        free_v[i] = i > 5 && s->x->v[i] != 0;
    }
}

enum { MOST = 64 };

static drive find_turn(subject *s, double rate, kd_equilibrium_result *result)
{
    char            message[1000] = "";
    bool            free_p[MOST] = {0}, free_v[MOST] = {0};
    const kd_turn   turn = {.v = 0, .p = 0, .rate = rate};
    kd_trim_options opt = kd_trim_options_default();
    kd_adjustable   list[] = {{KD_U, 0, 0}, {KD_U, 1, 0}};
    assert_true(s->n.nv <= MOST);
    release(s, free_p, free_v);
    opt.free_p = free_p, opt.free_v = free_v, opt.turn = &turn;
    memset(s->x->a, 0, (size_t)s->n.nv * sizeof(double));
    must(kd_trim(s->eom, kd_system_inputs(s->system), &opt, s->x, list, 2, result, message, sizeof message), message);
    return (drive){{list[0].value, list[1].value}};
}

static const kd_setting NO_BUMP[] = {{"bump", "0"}, {"u0", "0"}};

// The car with closed loops at 15 m/s: for slow turns the steering angle is that of the wheelbase on the circle, 2.7 m
// over its radius (the car is neutral), and the forces give the centripetal acceleration.
static void steering_angle_of_a_neutral_car(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        const double          rate = k == 0 ? 1e-3 : 0.02;
        kd_equilibrium_result result;
        subject               s = open_model("closed-loop-car.yaml", NO_BUMP, 2, KD_JOINT, false);
        const drive           found = find_turn(&s, rate, &result);
        assert_true(result.residual < 1e-9 * result.force_scale);
        assert_close(found.u[0] / (2.7 * rate / 15), 1, 2e-3);
        assert_close(s.x->a[1], 15 * rate, 1e-12);
        close_model(&s);
    }
}

// A turn of 3 m/s^2: forces balance, the car leans out, and a simulation with the inputs held stays on the circle with
// the same speed, rate and attitude for 5 s.
static void car_stays_on_its_circle(void **state)
{
    (void)state;
    const double          rate = 0.2, speed = 15, t = 5;
    char                  message[1000] = "";
    kd_equilibrium_result result;
    subject               s = open_model("closed-loop-car.yaml", NO_BUMP, 2, KD_JOINT, false);
    drive                 found = find_turn(&s, rate, &result);
    const kd_inputs       inputs = {held, &found};
    kd_simulation_options opt = kd_simulation_options_default();
    kd_state             *start;
    must(kd_state_create(s.eom, &start), "");
    kd_state_copy(s.x, start);
    opt.rtol = opt.atol = 1e-9;
    must(kd_simulate(s.eom, &inputs, &opt, s.x, t, NULL, message, sizeof message), message);
    // from (0, 0) along x: the centre is at (0, speed/rate)
    assert_close(s.x->p[0], speed / rate * sin(rate * t), 1e-5);
    assert_close(s.x->p[1], speed / rate * (1 - cos(rate * t)), 1e-5);
    assert_close(s.x->p[2], start->p[2], 1e-7);
    assert_close(s.x->v[0], speed * cos(rate * t), 1e-6);
    assert_close(s.x->v[1], speed * sin(rate * t), 1e-6);
    for (int i = 2; i < s.n.nv; i++) assert_close(s.x->v[i], start->v[i], 1e-5);
    assert_true(found.u[1] > 5);                          // tyres at an angle brake
    assert_true(hypot(start->v[3], start->v[4]) > 0.005); // the car body is not upright: its axes see the turn
    kd_state_destroy(start);
    close_model(&s);
}

// ---- bicycle --------------------------------------------------------------------------------------------------------

static subject open_bicycle(double torque)
{
    char             text[40];
    const kd_setting settings[] = {{"push", "0"}, {"torque", text}};
    snprintf(text, sizeof text, "%.17g", torque);
    return open_model("bicycle.yaml", settings, 2, KD_JOINT, false);
}

// The model for another torque of the hands
static kd_status make_bicycle(const double *value, void *context, const kd_eom **eom, const kd_inputs **inputs)
{
    subject *s = context;
    close_model(s);
    *s = open_bicycle(value[0]);
    *eom = s->eom;
    *inputs = kd_system_inputs(s->system);
    return KD_OK;
}

// The bicycle leans by atan(v rate/g), but for the wheels that spin, steers to the inside, and the torque of the hands
// keeps it: simulated for 5 s, lean and steer stay.
static void bicycle_leans_into_its_turn(void **state)
{
    (void)state;
    const double    rate = 0.3;
    char            message[1000] = "";
    bool            free_p[MOST] = {0}, free_v[MOST] = {0};
    subject         s = open_bicycle(0), made = {0};
    const kd_turn   turn = {.v = 0, .p = 0, .rate = rate};
    const kd_family family = {1, make_bicycle, &made};
    kd_trim_options opt = kd_trim_options_default();
    kd_adjustable   torque = {KD_VAR_COUNT, 0, 0};
    release(&s, free_p, free_v);
    opt.free_p = free_p, opt.free_v = free_v, opt.turn = &turn, opt.family = &family;
    memset(s.x->a, 0, (size_t)s.n.nv * sizeof(double));
    must(kd_trim(s.eom, NULL, &opt, s.x, &torque, 1, NULL, message, sizeof message), message);
    const double lean = 2 * asin(hypot(s.x->p[4], s.x->p[5])), steer = s.x->p[7]; // half an angle is in e1, e2
    assert_close(lean, atan(5 * rate / 9.81), 0.01);
    assert_true(steer > 0.05 && steer < 0.08); // about wheelbase over radius
    assert_true(fabs(torque.value) > 0.05 && fabs(torque.value) < 0.5);
    subject               turning = open_bicycle(torque.value);
    kd_simulation_options sim = kd_simulation_options_default();
    sim.rtol = sim.atol = 1e-9;
    must(kd_simulate(turning.eom, NULL, &sim, s.x, 5, NULL, message, sizeof message), message);
    assert_close(2 * asin(hypot(s.x->p[4], s.x->p[5])), lean, 1e-6);
    assert_close(s.x->p[7], steer, 1e-6);
    assert_close(hypot(s.x->v[0], s.x->v[1]), 5, 1e-6);
    assert_close(atan2(s.x->v[1], s.x->v[0]), rate * 5, 1e-6);
    close_model(&turning);
    close_model(&made);
    close_model(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steering_angle_of_a_neutral_car),
        cmocka_unit_test(car_stays_on_its_circle),
        cmocka_unit_test(bicycle_leans_into_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
