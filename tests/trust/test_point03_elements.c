// Point 3: sizes. Elements whose numbers have units of their own, which the schema cannot scale: tyres by slope and maximum
// and by a file, hydraulics, air springs, gears, friction that sticks, elastic surfaces, curves, events. Numbers of each
// model are random; in other units of length, mass and time it decides and steps alike.
#define _POSIX_C_SOURCE 200809L // mkdtemp
#include "trust/scaled_text.h"

#include "case.h"
#include "modelfile/own_folder.h"
#include "trust/seeded.h"

static uint64_t seed = 7;

static int exponent(void)
{
    return (int)seeded_between(&seed, 0, 41) - 20;
}

static scaling units(void)
{
    return (scaling){exponent(), exponent(), exponent()};
}

#define UNITS "L: 1, M: 1, T: 1, F: M*L/T^2, g: 9.81*L/T^2, P: F/L^2, J: M*L^2"

// ---- models; r1 to r4 are random, 0.5 to 2 --------------------------------------------------------------------------

static const char tmeasy[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  wheel: {position: [0, 0, 0.29*L], mass: 400*M*r1, inertia: [10*J, 16*J, 10*J], velocity: [10*L/T*r2, "
    "0.2*L/T*r3, "
    "0],\n"
    "    angular_velocity: [0, 35/T, 0.1/T]}\n"
    "forces:\n"
    "  tyre: {type: tmeasy_tyre, to: {body: wheel, axis: [0, 1, 0]}, radius: 0.3*L, stiffness: 2e5*F/L, damping: "
    "800*F*T/L,\n"
    "    load: 4000*F, longitudinal: [1e5*F, 1.8e5*F], longitudinal_maximum: [4000*F, 7500*F],\n"
    "    longitudinal_maximum_slip: [0.11, 0.12], longitudinal_sliding: [3000*F, 5500*F], longitudinal_sliding_slip: "
    "[0.5, "
    "0.6],\n"
    "    lateral: [7e4*F, 1.2e5*F], lateral_maximum: [3800*F, 7000*F], lateral_maximum_slip: [0.2, 0.22],\n"
    "    lateral_sliding: [3500*F, 6400*F], lateral_sliding_slip: [0.8, 0.9], relaxation: [0.3*L*r4, 0.5*L], "
    "rolling_resistance: 0.01,\n"
    "    slip: 0.1*L/T, settling: 0}\n"
    "sensors:\n  y: {value: body.wheel.pos.x/L}\n  z: {value: body.wheel.pos.z/L}\n";

static const char hydraulics[] =
    "kardan: 1\n"
    "parameters: {" UNITS
    ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g, m: 2000*M*r1, aa: 0.005*L^2, ab: 0.003*L^2*r2}\n"
    "gravity: [0, 0, -g]\n"
    "inputs: {spool: \"0.4*pulse(t, 0.02*T, 0.05*T)\"}\n"
    "bodies:\n"
    "  load: {position: [0, 0, 2*L], mass: m, inertia: [200*J, 200*J, 200*J]}\n"
    "joints:\n"
    "  guide: {type: prismatic, bodies: [ground, load], point: [0, 0, 2*L], axis: [0, 0, 1]}\n"
    "forces:\n"
    "  ram: {type: hydraulic, from: ground, to: load, length: 1.7*L, area: [aa, ab], stroke: L, volume: [5e-4*L^3, "
    "5e-4*L^3*r3],\n"
    "    bulk: 1.4e9*P, vapour: -0.9e5*P, leakage: 2e-13*L^3/(T*P), viscous: 8000*F*T/L*r4, ends: 5e7*F/L, valve: "
    "input.spool,\n"
    "    lag: 0.01*T, supply: [150e5*P, 5e5*P], flow: 1e-3*L^3/T, drop: 1e6*P, smooth: 2e4*P,\n"
    "    pressure: [(m*g + ab*40e5*P)/aa, 40e5*P]}\n"
    "sensors:\n  y: {value: joint.guide.q/L}\n  z: {value: force.ram.pressure_a/(1e6*P)}\n";

static const char air[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g, m: 400*M*r1, pa: 101325*P}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  body: {position: [0, 0, 0.25*L], mass: m, inertia: [40*J, 40*J, 40*J]}\n"
    "joints:\n"
    "  guide: {type: prismatic, bodies: [ground, body], point: [0, 0, 0], axis: [0, 0, 1], v: 0.3*L/T}\n"
    "forces:\n"
    "  bellows: {type: air_spring, from: ground, to: body, length: 0.25*L, area: 0.01*L^2, volume: 2.5e-3*L^3*r2,\n"
    "    auxiliary: 4e-3*L^3*r3, flow: 2e-3*L^3/T*r4, drop: 1e4*P, smooth: 2e3*P, pressure: pa + m*g/(0.01*L^2), "
    "ambient: "
    "pa, exponent: 1.4}\n"
    "  damper: {type: tsda, from: ground, to: body, damping: 1500*F*T/L, length: 0.25*L}\n"
    "sensors:\n  y: {value: joint.guide.q/L}\n  z: {value: force.bellows.pressure/(1e5*P)}\n";

static const char gears[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g, R: 0.15*L*r1}\n"
    "gravity: [0, 0, -g]\n"
    "curves:\n"
    "  drag: {form: linear, x: [-10/T, 0, 10/T], y: [20*F*L, 0, -20*F*L]}\n"
    "bodies:\n"
    "  sun: {mass: 2*M, inertia: [0.01*J, 0.02*J*r2, 0.01*J]}\n"
    "  ring: {mass: 8*M, inertia: [0.1*J, 0.2*J, 0.1*J]}\n"
    "  carrier: {mass: 20*M, inertia: [0.3*J, 0.5*J, 0.3*J]}\n"
    "  hook: {position: [R, 0, -3*L], mass: 200*M*r3, inertia: [5*J, 5*J, 5*J]}\n"
    "joints:\n"
    "  motor: {type: revolute, bodies: [ground, sun], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  ring-bearing: {type: revolute, bodies: [ground, ring], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  drum: {type: revolute, bodies: [ground, carrier], point: [0, 0, 0], axis: [0, 1, 0]}\n"
    "  rope: {type: prismatic, bodies: [ground, hook], point: [R, 0, -3*L], axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  planets: {type: coupling, terms: {joint.motor.q: 18, joint.ring-bearing.q: 54, joint.drum.q: -72}}\n"
    "  winding: {type: coupling, terms: {joint.rope.q: 1, joint.drum.q: -R}, offset: 0}\n"
    "forces:\n"
    "  drive: {type: joint_spring, joint: motor, law: 150*F*L*(1 - v*T/60)}\n"
    "  band-brake: {type: joint_spring, joint: ring-bearing, damping: 40*F*L*T*r4}\n"
    "  drag: {type: rsda, joint: drum, law: drag(rate)}\n"
    "sensors:\n  y: {value: joint.rope.v*T/L}\n  z: {value: joint.motor.q}\n";

static const char sticks[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g, belt: 0.1*L/T*r1}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  pull: {mass: M, inertia: [J, J, J]}\n"
    "  block: {mass: M*r2, inertia: [J, J, J]}\n"
    "joints:\n"
    "  pull: {type: prismatic, bodies: [ground, pull], point: [0, 0, 0], axis: [1, 0, 0], motion: belt*t}\n"
    "  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "forces:\n"
    "  spring: {type: joint_spring, joint: slide, law: 400*F/L*r3*(belt*t - q)}\n"
    "  rub: {type: joint_friction, joint: slide, coulomb: 2.3*F, breakaway: 3.5*F, stribeck: 0.05*L/T*r4, stick: "
    "true}\n"
    "sensors:\n  y: {value: joint.slide.q/L}\n  z: {value: joint.slide.v*T/L}\n";

static const char surfaces[] =
    "kardan: 1\n"
    "parameters: {" UNITS
    ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g, a: 0.2*L, b: 0.15*L*r1, c: 0.1*L, m: 1.5*M*r2}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  egg: {position: [0, 0, c + 1e-3*L], mass: m, inertia: [m*(b^2 + c^2)/5, m*(a^2 + c^2)/5, m*(a^2 + b^2)/5],\n"
    "    velocity: [0.3*L/T*r3, 0, 0], angular_velocity: [0.5/T, 1/T, 0]}\n"
    "forces:\n"
    "  ground: {type: surface_contact, from: ground, to: egg, to_surface: ellipsoid, to_size: [a, b, c], modulus: "
    "1e8*P,\n"
    "    dissipation: 0.5*T/L*r4, friction: 0.3, slip: 0.01*L/T}\n"
    "sensors:\n  y: {value: body.egg.pos.x/L}\n  z: {value: body.egg.pos.z/L}\n";

// an event by a position that reverses a push, a state of its own, a stop
static const char events[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g}\n"
    "gravity: [0, 0, -g]\n"
    "variables: {push: 30*F*r1}\n"
    "bodies:\n"
    "  one: {mass: 2*M*r2, inertia: [J, J, J]}\n"
    "joints:\n"
    "  slide: {type: prismatic, bodies: [ground, one], point: [0, 0, 0], axis: [1, 0, 0]}\n"
    "forces:\n"
    "  push: {type: joint_spring, joint: slide, law: variable.push - 3*F*T/L*r3*v}\n"
    "events:\n"
    "  there: {when: joint.slide.q - 0.02*L*r4, crossing: rising, set: {variable.push: -40*F*r1}}\n"
    "  back: {when: joint.slide.q + 0.02*L, crossing: falling, set: {variable.push: 50*F*r1}}\n"
    "sensors:\n  y: {value: joint.slide.q/L}\n  z: {value: joint.slide.v*T/L}\n";

// a push by time through two lags: the first one acts on the second alone, and nothing of the motion acts on it
static const char lags[] = "kardan: 1\n"
                           "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g}\n"
                           "gravity: [0, 0, -g]\n"
                           "bodies:\n"
                           "  one: {mass: 2*M*r1, inertia: [J, J, J]}\n"
                           "joints:\n"
                           "  slide: {type: prismatic, bodies: [ground, one], point: [0, 0, 0], axis: [1, 0, 0]}\n"
                           "states:\n"
                           "  first: {type: lag, time_constant: 0.05*T*r2, input: 3*F*r3*sin(20*t/T)}\n"
                           "  second: {type: lag, time_constant: 0.03*T*r4, input: state.first}\n"
                           "forces:\n"
                           "  push: {type: joint_spring, joint: slide, law: state.second - 40*F/L*q}\n"
                           "sensors:\n  y: {value: joint.slide.q/L}\n  z: {value: state.first/F}\n";

// A tyre file in other units
static void write_tyre(const char *path, scaling s)
{
    const struct {
        const char *key;
        int         size;
    } sized[] = {{"LONGVL", s.length - s.time},
                 {"VXLOW", s.length - s.time},
                 {"UNLOADED_RADIUS", s.length},
                 {"WIDTH", s.length},
                 {"RIM_RADIUS", s.length},
                 {"RIM_WIDTH", s.length},
                 {"VERTICAL_STIFFNESS", s.mass - 2 * s.time},
                 {"VERTICAL_DAMPING", s.mass - s.time},
                 {"FNOMIN", s.mass + s.length - 2 * s.time},
                 {"FZMIN", s.mass + s.length - 2 * s.time},
                 {"FZMAX", s.mass + s.length - 2 * s.time}};
    char  line[300];
    FILE *from = fopen(KD_SOURCE_DIR "/models/data/car.tir", "r"), *to = fopen(path, "w");
    assert_true(from && to);
    while (fgets(line, sizeof line, from)) {
        const size_t size = strcspn(line, " =");
        const char  *value = strchr(line, '=');
        for (size_t i = 0; i < sizeof sized / sizeof *sized && value; i++)
            if (strlen(sized[i].key) == size && strncmp(line, sized[i].key, size) == 0) {
                fprintf(to, "%s = %.17g\n", sized[i].key, ldexp(strtod(value + 1, NULL), sized[i].size));
                value = NULL;
            }
        if (value || !strchr(line, '=')) fputs(line, to);
    }
    fclose(from);
    fclose(to);
}

static const char magic[] =
    "kardan: 1\n"
    "parameters: {" UNITS ", r1: %.17g, r2: %.17g, r3: %.17g, r4: %.17g}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  wheel: {position: [0, 0, 0.3*L], mass: 400*M*r1, inertia: [10*J, 16*J*r4, 10*J], velocity: [10*L/T*r2, "
    "0.2*L/T*r3, "
    "0],\n"
    "    angular_velocity: [0, 35/T, 0.1/T]}\n"
    "forces:\n"
    "  tyre: {type: magic_tyre, to: {body: wheel, axis: [0, 1, 0]}, tir: car%%d.tir, slip: 0.1*L/T, settling: 0.01*T}\n"
    "sensors:\n  y: {value: body.wheel.pos.x/L}\n  z: {value: body.wheel.pos.z/L}\n";

// ---- tests ----------------------------------------------------------------------------------------------------------

static const way ways[] = {{KD_PSF, KD_RADAU},        {KD_GGL, KD_RADAU},  {KD_ODE, KD_RADAU},
                           {KD_STATESPACE, KD_RADAU}, {KD_ODE, KD_DOP853}, {KD_ODE, KD_DOPRI5},
                           {KD_STATESPACE, KD_SDIRK}, {KD_PSF, KD_BDF}};
enum { WAYS = (int)(sizeof ways / sizeof *ways), ROUNDS = 2 };

static void numbered(const char *text, char *out, size_t size)
{
    double r[4];
    for (int i = 0; i < 4; i++) r[i] = seeded_log(&seed, 0.5, 2);
    snprintf(out, size, text, r[0], r[1], r[2], r[3]);
}

static void element_steps_alike(const char *name, const char *text, double t_end, rounded how)
{
    char own[4000];
    for (int i = 0; i < WAYS * ROUNDS; i++)
        for (int c = 0; c < 2; c++) {
            numbered(text, own, sizeof own);
            // bdf turns rounding into other steps at times
            const way w = ways[i % WAYS];
            texts_alike(name, own, own, units(), w, (kd_coordinates)c, t_end, w.integrator == KD_BDF ? AMPLIFIED : how);
        }
}

static void tmeasy_tyres_step_alike(void **state)
{
    (void)state;
    element_steps_alike("tmeasy", tmeasy, 0.2, EXACT);
}

static void cylinders_step_alike(void **state)
{
    (void)state;
    element_steps_alike("hydraulics", hydraulics, 0.1, EXACT);
}

static void air_springs_step_alike(void **state)
{
    (void)state;
    element_steps_alike("air", air, 0.3, EXACT);
}

static void gears_step_alike(void **state)
{
    (void)state;
    element_steps_alike("gears", gears, 0.3, ROUNDED);
}

static void sticking_steps_alike(void **state)
{
    (void)state;
    element_steps_alike("sticks", sticks, 0.5, EXACT);
}

static void elastic_surfaces_step_alike(void **state)
{
    (void)state;
    element_steps_alike("surfaces", surfaces, 0.1, AMPLIFIED);
}

static void events_step_alike(void **state)
{
    (void)state;
    element_steps_alike("events", events, 0.5, EXACT);
}

static void lags_step_alike(void **state)
{
    (void)state;
    element_steps_alike("lags", lags, 0.5, ROUNDED);
}

static void tyres_of_files_step_alike(void **state)
{
    (void)state;
    for (int i = 0; i < WAYS; i++)
        for (int c = 0; c < 2; c++) {
            const scaling s[2] = {{0, 0, 0}, units()};
            char          path[2][300], tyre[300], own[4000];
            numbered(magic, own, sizeof own);
            for (int k = 0; k < 2; k++) {
                snprintf(tyre, sizeof tyre, "%s/car%d.tir", folder, k);
                snprintf(path[k], sizeof path[k], "%s/wheel%d.yaml", folder, k);
                write_tyre(tyre, s[k]);
                FILE *f = fopen(path[k], "w");
                assert_non_null(f);
                char *at = strstr(own, "car%d");
                fprintf(f, "%.*scar%d%s", (int)(at - own), own, k, at + 5);
                fclose(f);
            }
            texts_alike("magic", path[0], path[1], s[1], ways[i], (kd_coordinates)c, 0.2,
                        ways[i].integrator == KD_BDF ? AMPLIFIED : EXACT);
        }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tmeasy_tyres_step_alike),
        cmocka_unit_test(tyres_of_files_step_alike),
        cmocka_unit_test(cylinders_step_alike),
        cmocka_unit_test(air_springs_step_alike),
        cmocka_unit_test(gears_step_alike),
        cmocka_unit_test(sticking_steps_alike),
        cmocka_unit_test(elastic_surfaces_step_alike),
        cmocka_unit_test(events_step_alike),
        cmocka_unit_test(lags_step_alike),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
