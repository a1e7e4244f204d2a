// Hydraulic cylinders and air springs: derivatives, energies, closed solutions of small motions and steady ones.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <kardan/kardan.h>

typedef struct fixture {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} fixture;

static const kd_coordinates BOTH[] = {KD_JOINT, KD_CARTESIAN};

static fixture make(const char *text, kd_coordinates coordinates)
{
    fixture           f = {0};
    char              message[1000] = "";
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    kd_status status = kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &f.model, message, sizeof message);
    if (status >= 0) status = kd_system_create(f.model, &opt, &f.system, message, sizeof message);
    if (status >= 0) status = kd_state_create(kd_system_eom(f.system), &f.x);
    if (status >= 0) status = kd_system_start(f.system, f.x, message, sizeof message);
    if (status < 0) print_error("%s\n", message);
    assert_true(status >= 0);
    return f;
}

static void unmake(fixture *f)
{
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static void run_to(fixture *f, kd_integrator_kind integrator, kd_formulation formulation, double tolerance,
                   double t_end)
{
    char                  message[1000] = "";
    kd_simulation_options opt = kd_simulation_options_default();
    opt.integrator = integrator;
    opt.formulation = formulation;
    opt.rtol = opt.atol = tolerance;
    kd_status status = kd_simulate(kd_system_eom(f->system), kd_system_inputs(f->system), &opt, f->x, t_end, NULL,
                                   message, sizeof message);
    if (status < 0) print_error("%s: %s\n", kd_integrator_word(integrator), message);
    assert_true(status >= 0);
}

// Sensor number i at the state
static double sensor(const fixture *f, int i)
{
    const kd_eom *eom = kd_system_eom(f->system);
    const kd_dims n = kd_eom_dims(eom);
    kd_eom_data  *data = NULL;
    double        y[20], u[30] = {0};
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    const kd_inputs *in = kd_system_inputs(f->system);
    assert_int_equal(in->eval(f->x->t, in->context, u, u + n.nu, u + 2 * n.nu), KD_EVAL_OK);
    kd_eom_at_time(data, f->x->t, u, u + n.nu, u + 2 * n.nu, f->x->z);
    kd_eom_at_position(data, f->x->p, f->x->s);
    kd_eom_at_velocity(data, f->x->v, f->x->r);
    kd_eom_at_acceleration(data, f->x->a, f->x->w, f->x->lambda, f->x->mu);
    assert_int_equal(kd_eom_eval(data, KD_Y, y), KD_EVAL_OK);
    kd_eom_data_destroy(data);
    return y[i];
}

#define assert_close(a, b, tolerance) close_or_fail((a), (b), (tolerance), __LINE__)
static void close_or_fail(double a, double b, double tolerance, int line)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("line %d: %.15g instead of %.15g", line, a, b);
}

// ---- derivatives and energies ---------------------------------------------------------------------------------------

// An arm with a slanted cylinder, another one that reads its pressures, a slanted air spring
static const char arm[] =
    "kardan: 1\n"
    "curves: {bag: {form: spline, x: [0.2, 0.6, 1, 1.4, 2], y: [0.004, 0.009, 0.016, 0.02, 0.023]}}\n"
    "inputs: {open: %s}\n"
    "bodies:\n"
    "  boom: {position: [1, 0, 1], mass: 300, inertia: [10, 40, 40]}\n"
    "  stick: {position: [2.5, 0, 1], mass: 100, inertia: [5, 10, 10]}\n"
    "joints:\n"
    "  foot: {type: revolute, bodies: [ground, boom], point: [0, 0, 1], axis: [0, -1, 0], v: 0.2}\n"
    "  elbow: {type: revolute, bodies: [boom, stick], point: [2, 0, 1], axis: [0, -1, 0], q: -0.3, v: -0.4}\n"
    "states: {slow: {type: pi, input: 0.4 - joint.elbow.q, kp: 0.7, ki: 0.2}}\n"
    "forces:\n"
    "  lift: {type: hydraulic, from: {body: ground, point: [0.3, 0, 0.2]}, to: {body: boom, point: [0, 0, -0.1]},\n"
    "         area: [0.004, 0.003], stroke: 0.8, volume: [4e-4, 3e-4], length: 0.7, leakage: 1e-12, viscous: 300,\n"
    "         ends: 1e6, valve: \"input.open + 0.3*(0.9 - length) - 0.05*rate\", supply: [2e7, 3e5], flow: 4e-4,\n"
    "         pressure: [9e6, 2e6]%s}\n"
    "  curl: {type: hydraulic, from: boom, to: {body: stick, point: [0, 0, 0.3]}, area: [0.002, 0.001], stroke: 1,\n"
    "         volume: [2e-4, 2e-4], length: 0.9, valve: \"0.1*state.slow.out + 1e-8*force.lift.pressure_a\",\n"
    "         supply: [1.5e7, 2e5], flow: 2e-4, pressure: [3e6, 4e6]}\n"
    "  bag: {type: air_spring, from: {body: ground, point: [1.5, 0, 0.1]}, to: boom, volumes: bag, auxiliary: 0.01,\n"
    "        flow: 5e-3, drop: 2e4, pressure: 4e5, inflow: \"0.01*(1 - length) - 0.002*rate + 1e-3*joint.elbow.v\"%s}\n"
    "  pad: {type: air_spring, from: {body: ground, point: [2.5, 0, 0.2]}, to: stick, area: 0.01, volume: 0.004,\n"
    "        pressure: 2e5}\n"
    "sensors: {p: force.bag.pressure, q: force.bag.auxiliary_pressure}\n";

static void make_arm(char *text, size_t size, int which)
{
    static const char *const open[] = {"0.4", "-0.5", "0.2", "3"};
    static const char *const lag[] = {"", ", lag: 0.05", ", lag: 0.05", ""};
    static const char *const exponent[] = {"", ", exponent: 1", ", exponent: 1.2", ""};
    snprintf(text, size, arm, open[which], lag[which], exponent[which]);
}

// Derivatives by everything against differences: valve to both sides, saturated, with and without lag.
static void derivatives_are_right(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++)
        for (int c = 0; c < 2; c++) {
            char text[4000], report[4000] = "";
            make_arm(text, sizeof text, which);
            fixture          f = make(text, BOTH[c]);
            kd_check_options opt = kd_check_options_default();
            opt.spread = 0.002;
            opt.tolerance = 2e-5;
            if (kd_eom_check(kd_system_eom(f.system), kd_system_inputs(f.system), f.x, &opt, report, sizeof report) !=
                KD_OK)
                fail_msg("case %d, coordinates %d:\n%s", which, c, report);
            unmake(&f);
        }
}

typedef struct watch {
    kd_certifier  *certifier;
    kd_simulation *simulation;
} watch;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    watch *w = context;
    (void)at_time;
    return kd_certifier_see(w->certifier, w->simulation, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// Energies: what is kept, lost and supplied adds up, also for air that takes up heat.
static void energies_add_up(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        char text[4000], message[400] = "";
        make_arm(text, sizeof text, which);
        fixture               f = make(text, KD_JOINT);
        watch                 w = {0};
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        const kd_eom *eom = kd_system_eom(f.system);
        opt.rtol = opt.atol = 1e-9;
        opt.output = see;
        opt.context = &w;
        assert_int_equal(kd_certifier_create(eom, kd_system_inputs(f.system), &w.certifier), KD_OK);
        assert_true(kd_simulation_create(eom, kd_system_inputs(f.system), &opt, f.x, &w.simulation, message,
                                         sizeof message) >= 0);
        assert_true(kd_simulation_run(w.simulation, 0.3) >= 0);
        const kd_certificate r = kd_certifier_certificate(w.certifier);
        assert_true(r.dissipated > 10.0 && fabs(r.supplied) > 10.0);
        assert_true(r.energy.value < 1e-6 * r.energy_scale);
        kd_simulation_destroy(w.simulation);
        kd_certifier_destroy(w.certifier);
        unmake(&f);
    }
}

// Coordinates, formulations and integrators agree.
static void all_ways_agree(void **state)
{
    static const struct {
        kd_coordinates     coordinates;
        kd_formulation     formulation;
        kd_integrator_kind integrator;
        double             tolerance;
    } ways[] = {{KD_JOINT, KD_PSF, KD_RADAU, 1e-9},
                {KD_CARTESIAN, KD_PSF, KD_RADAU, 1e-9},
                {KD_CARTESIAN, KD_GGL, KD_BDF, 1e-9},
                {KD_CARTESIAN, KD_STATESPACE, KD_SDIRK, 1e-8},
                {KD_JOINT, KD_ODE, KD_DOPRI5, 1e-8},
                {KD_JOINT, KD_PSF, KD_BDF, 1e-9},
                {KD_CARTESIAN, KD_ODE, KD_HALF_EXPLICIT, 1e-8}};
    char   text[4000];
    double first[6] = {0};
    (void)state;
    make_arm(text, sizeof text, 1);
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        fixture f = make(text, ways[k].coordinates);
        run_to(&f, ways[k].integrator, ways[k].formulation, ways[k].tolerance, 0.2);
        const double now[6] = {f.x->r[1], f.x->r[2], f.x->r[3], f.x->r[4], sensor(&f, 0), sensor(&f, 1)};
        for (int i = 0; i < 6; i++) {
            if (k == 0) first[i] = now[i];
            assert_close(now[i], first[i], 2e-5 * (1.0 + fabs(first[i])));
        }
        unmake(&f);
    }
}

// ---- hydraulic cylinder ---------------------------------------------------------------------------------------------

// A mass on a slide; %s: more of the cylinder
static const char slide[] =
    "kardan: 1\n"
    "gravity: [0, 0, 0]\n"
    "bodies: {block: {position: [0, 0, 2], mass: 500, inertia: [1, 1, 1]}}\n"
    "joints: {guide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [0, 0, 1]%s}}\n"
    "forces:\n"
    "  ram: {type: hydraulic, from: ground, to: block, length: 1.7, stroke: 1, volume: [2e-4, 4e-4],\n"
    "        area: [0.004, 0.003]%s}\n"
    "sensors: {x: joint.guide.q, v: joint.guide.v, a: force.ram.pressure_a, b: force.ram.pressure_b, f: "
    "force.ram.force}\n";

// A closed valve: small motions with w^2 = E (A^2/V_A + B^2/V_B)/m.
static void oil_is_a_spring(void **state)
{
    char text[2000];
    (void)state;
    snprintf(text, sizeof text, slide, ", v: 1e-4", ", pressure: [3e6, 4e6], bulk: 1.2e9");
    fixture      f = make(text, KD_JOINT);
    const double VA = 2e-4 + 0.004 * 0.3, VB = 4e-4 + 0.003 * 0.7;
    const double w = sqrt(1.2e9 * (0.004 * 0.004 / VA + 0.003 * 0.003 / VB) / 500.0);
    kd_linear   *linear = NULL;
    kd_modes    *modes = NULL;
    assert_true(kd_linearize(kd_system_eom(f.system), kd_system_inputs(f.system), NULL, f.x, &linear, NULL, 0) >= 0);
    assert_int_equal(kd_modes_create(linear, &modes), KD_OK);
    double highest = 0.0;
    for (int i = 0; i < modes->n; i++) highest = fmax(highest, modes->imaginary[i]);
    assert_close(highest, w, 1e-3 * w); // V changes with v, a little
    run_to(&f, KD_RADAU, KD_PSF, 1e-11, 1.25 * 2.0 * 3.14159265358979324 / w);
    assert_close(f.x->p[0], 1e-4 / w, 1e-5 * 1e-4 / w); // a quarter of a period behind a whole one
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    unmake(&f);
}

// The flow of an edge by the regularised law
static double edge(double flow, double drop)
{
    return flow / sqrt(1e6) * drop / pow(drop * drop + 4e8, 0.25);
}

// An open valve: the speed at which flows and forces balance, out and in; and the flow of the nominal edge.
static void an_open_valve_gives_a_speed(void **state)
{
    static const double openings[] = {0.4, -0.6};
    (void)state;
    for (int k = 0; k < 2; k++) {
        char         text[2000], more[300];
        const double y = openings[k], side = y > 0.0 ? 1.0 : -1.0;
        snprintf(more, sizeof more, ", viscous: 2000, valve: %g, supply: [1e7, 5e5], flow: 2e-4, pressure: [4e6, 5e6]",
                 y);
        snprintf(text, sizeof text, slide, "", more);
        fixture f = make(text, KD_CARTESIAN);
        run_to(&f, KD_RADAU, KD_PSF, 1e-9, 0.8);
        const double v = sensor(&f, 1), a = sensor(&f, 2), b = sensor(&f, 3);
        const double in_a = y * edge(2e-4, y > 0.0 ? 1e7 - a : a - 5e5);
        const double in_b = -y * edge(2e-4, y > 0.0 ? b - 5e5 : 1e7 - b);
        assert_true(side * v > 0.05);
        assert_close(in_a, 0.004 * v, 2e-5 * 0.004);
        assert_close(in_b, -0.003 * v, 2e-5 * 0.003);
        assert_close(0.004 * a - 0.003 * b, 2000.0 * v, 10.0);
        assert_close(sensor(&f, 4), 0.0, 10.0);
        unmake(&f);
    }
    assert_close(edge(2e-4, 1e6), 2e-4, 2e-8);
}

// The spool follows a step with its lag; leakage brings the pressures together; the ends of the stroke hold.
static void spool_leakage_and_ends(void **state)
{
    char text[2000];
    (void)state;
    snprintf(text, sizeof text, slide, "",
             ", valve: step(t - 0.01), lag: 0.02, supply: [1e7, 5e5], flow: 4e-4, viscous: 5000, ends: 1e8");
    fixture f = make(text, KD_JOINT);
    run_to(&f, KD_RADAU, KD_PSF, 1e-10, 0.05);
    assert_close(f.x->r[2], 1.0 - exp(-0.04 / 0.02), 1e-9);
    run_to(&f, KD_RADAU, KD_PSF, 1e-8, 10.0);
    assert_close(sensor(&f, 2), 1e7, 1e3); // at the end of the stroke: full pressures, held by the end
    assert_close(sensor(&f, 3), 5e5, 1e3);
    assert_close(sensor(&f, 0), 0.7 + (0.004 * 1e7 - 0.003 * 5e5) / 1e8, 1e-6);
    unmake(&f);
    snprintf(text, sizeof text, slide, ", motion: 0", ", pressure: [8e6, 2e6], leakage: 1e-11");
    f = make(text, KD_JOINT);
    const double VA = 2e-4 + 0.004 * 0.3, VB = 4e-4 + 0.003 * 0.7, rate = 1.4e9 * 1e-11 * (1.0 / VA + 1.0 / VB);
    run_to(&f, KD_RADAU, KD_PSF, 1e-10, 0.1);
    assert_close(f.x->r[0] - f.x->r[1], 6e6 * exp(-0.1 * rate), 1.0);
    assert_close(VA * f.x->r[0] + VB * f.x->r[1], VA * 8e6 + VB * 2e6, 1e-3); // no oil is lost
    unmake(&f);
}

// ---- air spring -----------------------------------------------------------------------------------------------------

static const char lift[] =
    "kardan: 1\n"
    "gravity: [0, 0, -10]\n"
    "bodies: {body: {position: [0, 0, 0.25], mass: 400, inertia: [1, 1, 1]}}\n"
    "joints: {guide: {type: prismatic, bodies: [ground, body], point: [0, 0, 0], axis: [0, 0, 1]%s}}\n"
    "forces: {bag: {type: air_spring, from: ground, to: body, length: 0.25, area: 0.01, volume: 2.5e-3,\n"
    "         pressure: 501325%s}}\n"
    "sensors: {p: force.bag.pressure, V: force.bag.volume, f: force.bag.force, c: force.bag.air}\n";

static double frequency(fixture *f)
{
    kd_linear *linear = NULL;
    kd_modes  *modes = NULL;
    double     highest = 0.0;
    assert_true(kd_linearize(kd_system_eom(f->system), kd_system_inputs(f->system), NULL, f->x, &linear, NULL, 0) >= 0);
    assert_int_equal(kd_modes_create(linear, &modes), KD_OK);
    for (int i = 0; i < modes->n; i++) highest = fmax(highest, modes->imaginary[i]);
    kd_modes_destroy(modes);
    kd_linear_destroy(linear);
    return highest;
}

// Small motions: stiffness n p A^2/V, without exchange that of the bellows, with a wide throttle that of both volumes.
static void air_is_a_spring(void **state)
{
    char         text[2000];
    const double A = 0.01, p = 501325.0, V = 2.5e-3, m = 400.0;
    (void)state;
    snprintf(text, sizeof text, lift, "", "");
    fixture f = make(text, KD_JOINT);
    assert_close(sensor(&f, 2), 4000.0, 1e-6); // carries the body
    assert_close(frequency(&f), sqrt(1.4 * p * A * A / V / m), 1e-6);
    unmake(&f);
    snprintf(text, sizeof text, lift, "", ", exponent: 1, auxiliary: 5e-3, flow: 1e-9");
    f = make(text, KD_CARTESIAN);
    assert_close(frequency(&f), sqrt(p * A * A / V / m), 1e-5);
    unmake(&f);
    snprintf(text, sizeof text, lift, "", ", auxiliary: 5e-3, flow: 1e3, drop: 1e4");
    f = make(text, KD_JOINT);
    assert_close(frequency(&f), sqrt(1.4 * p * A * A / (V + 5e-3) / m), 1e-4);
    unmake(&f);
}

// A sealed bellows keeps p V^n through large motions, also with its volume from a curve.
static void sealed_air_is_polytropic(void **state)
{
    char text[2000];
    (void)state;
    snprintf(text, sizeof text, lift, ", v: -2", "");
    fixture      f = make(text, KD_JOINT);
    const double start = 501325.0 * pow(2.5e-3, 1.4);
    double       least = 1.0;
    for (int k = 1; k <= 20; k++) {
        run_to(&f, KD_DOPRI5, KD_ODE, 1e-10, 0.05 * k);
        assert_close(sensor(&f, 0) * pow(sensor(&f, 1), 1.4), start, 1e-12 * start);
        least = fmin(least, sensor(&f, 1));
    }
    assert_true(least < 1.5e-3);
    unmake(&f);
}

// A prescribed inflow Q at constant volume and temperature raises the pressure by ambient Q t/V.
static void inflow_fills(void **state)
{
    char text[2000];
    (void)state;
    snprintf(text, sizeof text, lift, ", motion: 0", ", exponent: 1, inflow: 1e-3");
    fixture f = make(text, KD_JOINT);
    run_to(&f, KD_RADAU, KD_PSF, 1e-10, 2.0);
    assert_close(sensor(&f, 0), 501325.0 + 101325.0 * 1e-3 * 2.0 / 2.5e-3, 1e-3);
    unmake(&f);
}

// ---- wrong models ---------------------------------------------------------------------------------------------------

static void wrong_models_say_why(void **state)
{
    static const struct {
        const char *ram, *bag, *says;
    } cases[] = {
        {", valve: 0.5", "", "the valve needs its 'flow'"},
        {", valve: 0.5, flow: 1e-4", "", "the pressure of the pump"},
        {", lag: 0.1", "", "no meaning without 'valve'"},
        {", valve: \"force.ram.force\", flow: 1e-4, supply: [1, 0]", "", "cannot be read here"},
        {", valve: \"force.ram.spool\", flow: 1e-4, supply: [1, 0]", "", "spool"},
        {"", ", auxiliary: 1e-3", "needs its 'flow'"},
        {"", ", volumes: nothing", "no meaning beside 'volumes'"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char      text[2000], message[1000] = "";
        kd_model *model = NULL;
        snprintf(text, sizeof text, cases[k].bag[0] ? lift : slide, "", cases[k].bag[0] ? cases[k].bag : cases[k].ram);
        assert_true(kd_model_read_text("test.yaml", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0);
        if (!strstr(message, cases[k].says)) fail_msg("%s%s: %s", cases[k].ram, cases[k].bag, message);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_are_right),
        cmocka_unit_test(energies_add_up),
        cmocka_unit_test(all_ways_agree),
        cmocka_unit_test(oil_is_a_spring),
        cmocka_unit_test(an_open_valve_gives_a_speed),
        cmocka_unit_test(spool_leakage_and_ends),
        cmocka_unit_test(air_is_a_spring),
        cmocka_unit_test(sealed_air_is_polytropic),
        cmocka_unit_test(inflow_fills),
        cmocka_unit_test(wrong_models_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
