// Model files of the gallery with friction: joints that rub with the forces in them; dry friction by events.
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

// ---- stick-slip on a belt -------------------------------------------------------------------------------------------

enum { MAX_EVENTS = 16 };

typedef struct event_log {
    int           n;
    double        t[MAX_EVENTS];
    kd_event_kind kind[MAX_EVENTS];
    double        lowest; // body.mass.pos.x at the wanted time
    kd_eom_data  *data;
} event_log;

static kd_eval note_event(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    event_log *log = context;
    (void)before, (void)after;
    if (event->kind != KD_EVENT_STICK && event->kind != KD_EVENT_SLIDE) return KD_EVAL_OK;
    assert_true(log->n < MAX_EVENTS);
    log->t[log->n] = event->t;
    log->kind[log->n++] = event->kind;
    return KD_EVAL_OK;
}

static kd_eval note_lowest(const kd_state *x, bool at_time, void *context)
{
    event_log *log = context;
    double     y[MAX_SENSORS];
    if (!at_time) return KD_EVAL_OK;
    kd_eom_at_time(log->data, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(log->data, x->p, x->s);
    kd_eom_at_velocity(log->data, x->v, x->r);
    kd_eom_at_acceleration(log->data, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_eom_eval(log->data, KD_Y, y), KD_EVAL_OK);
    log->lowest = y[0];
    return KD_EVAL_OK;
}

// The events of a run to t_end, and the first sensor at `lowest`
static void run_events(const char *name, kd_coordinates c, kd_formulation form, double t_end, double lowest,
                       event_log *log)
{
    char                  message[1000] = "";
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_model             *model = read_gallery(name, NULL);
    kd_system_options     options = kd_system_options_default();
    kd_simulation_options opt = kd_simulation_options_default();
    *log = (event_log){0};
    options.coordinates = c;
    must(kd_system_create(model, &options, &system, message, sizeof message), name, c, message);
    const kd_eom *eom = kd_system_eom(system);
    must(kd_state_create(eom, &x), name, c, "");
    must(kd_eom_data_create(eom, &log->data), name, c, "");
    must(kd_system_start(system, x, message, sizeof message), name, c, message);
    opt.formulation = form;
    opt.rtol = kd_model_run(model)->rtol, opt.atol = kd_model_run(model)->atol;
    opt.events.listener = note_event;
    opt.output = note_lowest;
    opt.events.context = opt.context = log;
    opt.times = &lowest;
    opt.ntimes = 1;
    must(kd_simulate(eom, kd_system_inputs(system), &opt, x, t_end, NULL, message, sizeof message), name, c, message);
    kd_eom_data_destroy(log->data);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

static void assert_stick_slip(kd_coordinates c, kd_formulation form)
{
    // m = 1, k = 100, vb = 0.1, Fs = 10, Fd = 6: w = 10, xs = 0.1, xd = 0.06
    const double slip = (2 * PI - 2 * atan(10 * 0.04 / 0.1)) / 10, stick = 0.8;
    const double times[] = {1, 1 + slip, 1 + slip + stick, 1 + 2 * slip + stick};
    event_log    log;
    run_events("stick-slip", c, form, 3, 1 + (PI + atan(0.01 / 0.04)) / 10, &log); // lowest of the first cycle
    assert_int_equal(log.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_close(log.t[i], times[i], 1e-10);
        assert_int_equal(log.kind[i], i % 2 == 0 ? KD_EVENT_SLIDE : KD_EVENT_STICK);
    }
    assert_close(log.lowest, 0.018768943743823388, 1e-10);
}

// The mass tears loose, slides and sticks at the exact times, in every form and in both coordinate sets.
static void stick_slip(void **state)
{
    static const kd_formulation form[] = {KD_PSF, KD_GGL, KD_INDEX1, KD_STATESPACE, KD_ODE};
    (void)state;
    assert_close((2 * PI - 2 * atan(4)) / 10, 0.3631549979843521, 1e-15);
    for (int c = 0; c < 2; c++)
        for (size_t k = 0; k < sizeof form / sizeof *form; k++) assert_stick_slip(BOTH[c], form[k]);
}

// The run keeps its balance of energy across events; friction while it sticks is what the spring asks for.
static void stick_slip_balance(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("stick-slip", NULL, BOTH[c], 3.0, 59, &result);
        assert_int_equal(result.info.dof, 1);
        for (int i = 0; i < result.rows; i++) {
            bool sticks = fabs(at(&result, i, "slip")) < 1e-9;
            assert_close(at(&result, i, "friction"), sticks ? 100 * at(&result, i, "x") : 6, 1e-8);
        }
    }
}

// ---- clutch: two inertias that are spun together --------------------------------------------------------------------

static const double cl_J1 = 0.4, cl_J2 = 0.6, cl_w0 = 10, cl_C = 6, cl_B = 1.25, cl_t1 = 0.5, cl_t2 = 1, cl_k = 100;

// Times of lock-up and of letting go, speed in between and at that
static double lock_up(void)
{
    return cl_t1 + cl_w0 / (cl_C * (1 / cl_J1 + 1 / cl_J2));
}
static double lets_go(void)
{
    return cl_t2 + cl_B * cl_C * (cl_J1 + cl_J2) / (cl_J1 * cl_k);
}
static double common_speed(double t)
{
    const double braked = t > cl_t2 ? 0.5 * cl_k * (t - cl_t2) * (t - cl_t2) : 0;
    return (cl_J1 * cl_w0 - braked) / (cl_J1 + cl_J2);
}

// Speeds of flywheel and load, and the torque on the load, in closed form
static void clutch_motion(double t, double speed[2], double *torque)
{
    const double slipped = fmin(t, lock_up()) - cl_t1, behind = t - lets_go();
    *torque = t < cl_t1 ? 0 : cl_C;
    speed[0] = cl_w0 - (t < cl_t1 ? 0 : cl_C / cl_J1 * slipped);
    speed[1] = t < cl_t1 ? 0 : cl_C / cl_J2 * slipped;
    if (t < lock_up()) return;
    speed[0] = speed[1] = common_speed(fmin(t, lets_go()));
    *torque = t > cl_t2 ? cl_J1 / (cl_J1 + cl_J2) * cl_k * (t - cl_t2) : 0;
    if (behind < 0) return;
    *torque = cl_C;
    speed[0] -= cl_C / cl_J1 * behind;
    speed[1] += (cl_C * behind - 0.5 * cl_k * (pow(t - cl_t2, 2) - pow(lets_go() - cl_t2, 2))) / cl_J2;
}

// The clutch locks, holds and lets go at the times of the closed form, in every form and in both coordinate sets.
static void clutch_events(void **state)
{
    static const kd_formulation form[] = {KD_PSF, KD_GGL, KD_INDEX1, KD_STATESPACE, KD_ODE};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
            event_log log;
            if (c == 1 && form[k] == KD_STATESPACE) continue; // its steps of many turns have no dense output there
            run_events("clutch", BOTH[c], form[k], 1.25, 0.95, &log);
            assert_int_equal(log.n, 2);
            assert_int_equal(log.kind[0], KD_EVENT_STICK);
            assert_int_equal(log.kind[1], KD_EVENT_SLIDE);
            assert_close(log.t[0], lock_up(), c == 0 ? 1e-10 : 2e-8);
            assert_close(log.t[1], lets_go(), c == 0 ? 1e-10 : 2e-8);
            assert_close(log.lowest, 4.0, c == 0 ? 1e-10 : 1e-7); // the flywheel, while both turn together
        }
}

// Speeds, the torque that it carries and the energy that it loses are those of the closed form.
static void clutch_speeds(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("clutch", NULL, BOTH[c], 1.25, 48, &result);
        for (int i = 0; i < result.rows; i++) {
            const double tolerance = c == 0 ? 1e-9 : 2e-5; // Cartesian: turns of a quaternion, to the tolerances
            double       speed[2], torque;
            clutch_motion(result.t[i], speed, &torque);
            assert_close(at(&result, i, "flywheel"), speed[0], tolerance);
            assert_close(at(&result, i, "load"), speed[1], tolerance);
            if (fabs(result.t[i] - cl_t1) > 1e-9) assert_close(at(&result, i, "torque"), torque, 1e-4);
            if (result.t[i] > lock_up() && result.t[i] < cl_t2) // J1 J2 w0^2 / (2 (J1 + J2)) are lost
                assert_close(at(&result, 0, "energy") - at(&result, i, "energy"), 12.0, 1e-4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(friction_slider), cmocka_unit_test(stick_slip),
                                       cmocka_unit_test(stick_slip_balance), cmocka_unit_test(clutch_events),
                                       cmocka_unit_test(clutch_speeds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
