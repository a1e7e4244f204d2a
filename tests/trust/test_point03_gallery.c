// Point 3: sizes. Models of the gallery with surfaces, rolling and friction, a wheelset on rails, a wheel with a tyre and a
// flexible arm, each again with lengths, masses and times that are other powers of two: the same decisions, the same steps.
#define _POSIX_C_SOURCE 200809L // mkdtemp
#include "trust/scaled_text.h"

#include "case.h"
#include "modelfile/own_folder.h"

static unsigned long long seed = 5;

static int exponent(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((seed >> 33) % 41) - 20;
}

static const char *const gallery[] = {"gyroscope",     "stick-slip",        "bouncing-ball", "sliding-ball",
                                      "rolling-disc",  "rolling-ellipsoid", "rocking-block", "tippe-top",
                                      "disc-cam",      "hertz-ellipsoid",   "pendulum-stop", "bricard",
                                      "tennis-racket", "governor",          "half-shaft",    "slider-crank"};

static kd_model *read_model(const char *name)
{
    char      path[400], message[600];
    kd_model *m;
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    if (kd_model_read(path, NULL, 0, &m, message, sizeof message) < 0) fail_msg("%s", message);
    return m;
}

static void alike(const char *name, const way *ways, int count, double t_end)
{
    const scaling none = {0, 0, 0};
    kd_model     *source = read_model(name);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < count; i++) {
            char          what[200];
            const scaling s = {exponent(), exponent(), exponent()};
            const motion  one = move(source, none, (kd_coordinates)c, ways[i].form, ways[i].integrator, t_end);
            const motion  two = move(source, s, (kd_coordinates)c, ways[i].form, ways[i].integrator, t_end);
            snprintf(what, sizeof what, "%s %s %s %s 2^(%d %d %d)", name, c ? "cartesian" : "joint",
                     kd_formulation_word(ways[i].form), kd_integrator_word(ways[i].integrator), s.length, s.mass,
                     s.time);
            assert_alike(what, &one, &two);
        }
    kd_model_destroy(source);
}

// Auxiliary variables (normal forces of friction) have the size that their equations give them.
static void gallery_models_step_alike(void **state)
{
    static const way ways[] = {
        {KD_PSF, KD_RADAU}, {KD_GGL, KD_RADAU}, {KD_INDEX2, KD_RADAU}, {KD_ODASSL, KD_RADAU}, {KD_ODE, KD_DOP853}};
    (void)state;
    for (size_t k = 0; k < sizeof gallery / sizeof *gallery; k++) alike(gallery[k], ways, 5, 0.05);
}

// "at t = .." of the message that says that equations are stiff, in the time of the model as it was
static double told_at(const motion *m, int time)
{
    const char *at = strstr(m->message, "at t = ");
    return m->status == KD_STIFF && at ? ldexp(strtod(at + 7, NULL), -time) : -1;
}

// The test of stiffness is a ratio of norms: of metres, radians and seconds only where each has its own scale.
static void stiffness_is_seen_alike(void **state)
{
    static const way ways[] = {{KD_ODE, KD_DOPRI5}, {KD_ODE, KD_DOP853}};
    (void)state;
    kd_model     *source = read_model("stiff-double-pendulum");
    const scaling none = {0, 0, 0};
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < 2; i++)
            for (int trial = 0; trial < 3; trial++) {
                const scaling s = {exponent(), exponent(), exponent()};
                const motion  one = move(source, none, (kd_coordinates)c, ways[i].form, ways[i].integrator, 0.05);
                const motion  two = move(source, s, (kd_coordinates)c, ways[i].form, ways[i].integrator, 0.05);
                const double  t = told_at(&one, 0);
                assert_true(t > 0);
                if (!(fabs(told_at(&two, s.time) - t) <= 1e-5 * t)) // in nine digits
                    fail_msg("%s 2^(%d %d %d): stiff at %g, not %g", kd_integrator_word(ways[i].integrator), s.length,
                             s.mass, s.time, told_at(&two, s.time), t);
                assert_alike("stiff-double-pendulum", &one, &two);
            }
    kd_model_destroy(source);
}

// ---- models whose numbers are written in units L, M, T ------------------------------------------------------------------

// models/hunting-wheelset.yaml
static const char wheelset[] =
    "kardan: 1\n"
    "parameters: {L: 1, M: 1, T: 1, F: M*L/T^2, g: 9.81*L/T^2, V: 30*L/T, m: 16.08*M, r0: 0.1*L, gauge: 0.1506*L,\n"
    "  delta: 0.0262, rail: 0.06*L, c: 6400*F/L, xl: 0.19*L, G: 7.92e10*F/L^2, sigma: 0.28, load: m*g/2,\n"
    "  contact: (3*load*(1 - sigma)*1.3537956/(2*pi*(cos(delta)/(2*r0) + 1/(2*rail))*G*sqrt(0.7115218)))^(1/3)}\n"
    "gravity: [0, 0, -g]\n"
    "bodies:\n"
    "  frame: {position: [0, 0, r0], mass: M, inertia: [M*L^2, M*L^2, M*L^2]}\n"
    "  wheelset: {position: [0, 0, r0], mass: m, inertia: [0.366*M*L^2, 0.0605*M*L^2, 0.366*M*L^2]}\n"
    "joints:\n"
    "  drive: {type: prismatic, bodies: [ground, frame], point: [0, 0, r0], axis: [1, 0, 0], motion: V*t}\n"
    "  wheelset: {type: cardan, from: frame, to: wheelset, q: [1.1241e-6*L, 1.4941e-3*L, null, -2.8573e-4, null, 0],\n"
    "    v: [0, 0, null, 0, null, V/r0]}\n"
    "constraints:\n"
    "  left: {type: wheel_rail, from: {body: frame, point: [0, 0, -r0]}, to: wheelset, side: left, radius: r0,\n"
    "    spacing: gauge, conicity: tan(delta), rail_radius: rail, load: load, ellipse: [contact, contact],\n"
    "    kalker: [4.72772197, 4.27526987, 1.97203505, 0], shear: G, poisson: sigma, friction: 0.12, moment: false}\n"
    "  right: {type: wheel_rail, from: {body: frame, point: [0, 0, -r0]}, to: wheelset, side: right, radius: r0,\n"
    "    spacing: gauge, conicity: tan(delta), rail_radius: rail, load: load, ellipse: [contact, contact],\n"
    "    kalker: [4.72772197, 4.27526987, 1.97203505, 0], shear: G, poisson: sigma, friction: 0.12, moment: false}\n"
    "forces:\n"
    "  one: {type: bushing, from: {body: frame, point: [0, xl, 0]}, to: {body: wheelset, point: [0, xl, 0]},\n"
    "    stiffness: [c, c, 0, 0, 0, 0]}\n"
    "  two: {type: bushing, from: {body: frame, point: [0, -xl, 0]}, to: {body: wheelset, point: [0, -xl, 0]},\n"
    "    stiffness: [c, c, 0, 0, 0, 0]}\n"
    "sensors:\n  y: {value: joint.wheelset.q2/L}\n  z: {value: joint.wheelset.q4}\n";

// A wheel that slips a little in both directions
static const char wheel[] =
    "kardan: 1\n"
    "parameters: {L: 1, M: 1, T: 1, F: M*L/T^2}\n"
    "gravity: [0, 0, -9.81*L/T^2]\n"
    "bodies:\n"
    "  wheel: {position: [0, 0, 0.28*L], mass: 400*M, inertia: [10*M*L^2, 16*M*L^2, 10*M*L^2],\n"
    "    velocity: [10*L/T, 0.2*L/T, 0], angular_velocity: [0, 35/T, 0.1/T]}\n"
    "forces:\n"
    "  tyre: {type: tyre, to: {body: wheel, axis: [0, 1, 0]}, radius: 0.3*L, stiffness: 2e5*F/L, damping: 800*F*T/L,\n"
    "    friction: 0.9, slip: 0.1*L/T, load: 4000*F, longitudinal: [100e3*F, 180e3*F], lateral: [75e3*F, 130e3*F], "
    "road: 0}\n"
    "sensors:\n  y: {value: body.wheel.pos.x/L}\n  z: {value: body.wheel.pos.z/L}\n";

// models/flexible-robot-arm.yaml with one arm; %d: number of its part
static const char arm[] = "kardan: 1\n"
                          "parameters: {L: 1, M: 1, T: 1, k: 4000*M*L^2/T^2}\n"
                          "gravity: [0, 0, -9.81*L/T^2]\n"
                          "bodies:\n"
                          "  arm: {flexible: part%d.yaml}\n"
                          "  load: {mass: 2*M, inertia: [0.001*M*L^2, 0.001*M*L^2, 0.001*M*L^2], position: [L, 0, 0]}\n"
                          "joints:\n"
                          "  shoulder: {type: revolute, from: {body: ground, axis: [0, 1, 0]}, to: {body: arm, node: "
                          "root, axis: [0, 1, 0]}}\n"
                          "  hand: {type: fixed, from: {body: arm, node: tip}, to: load}\n"
                          "forces:\n"
                          "  drive: {type: joint_spring, joint: shoulder, rest: 0.3, stiffness: k, damping: k*T/20}\n"
                          "sensors:\n  y: {value: body.load.pos.z/L}\n  z: {value: joint.shoulder.q}\n";

static const way ways_of_texts[] = {
    {KD_PSF, KD_RADAU}, {KD_GGL, KD_RADAU}, {KD_ODE, KD_RADAU}, {KD_STATESPACE, KD_RADAU}, {KD_ODE, KD_DOP853}};

static void wheels_on_rails_step_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int c = 0; c < 2; c++)
            texts_alike("wheelset", wheelset, wheelset, (scaling){exponent(), exponent(), exponent()}, ways_of_texts[i],
                        (kd_coordinates)c, 0.1, EXACT);
}

static void tyres_step_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int c = 0; c < 2; c++)
            texts_alike("tyre", wheel, wheel, (scaling){exponent(), exponent(), exponent()}, ways_of_texts[i],
                        (kd_coordinates)c, 0.3, EXACT);
}

// A tube of aluminium in other units
static void write_part(const char *path, scaling s)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(
        f,
        "part: arm\npoints: {root: [0, 0, 0], tip: [%.17g, 0, 0]}\nbeams:\n"
        "  - {from: root, to: tip, elements: 10, E: %.17g, nu: 0.33, density: %.17g, section: {tube: [%.17g, %.17g]}}\n"
        "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\nreference: {tangent: root}\nmodes: 4\n"
        "damping: 0.01\n",
        ldexp(1, s.length), ldexp(70e9, s.mass - s.length - 2 * s.time), ldexp(2700, s.mass - 3 * s.length),
        ldexp(0.025, s.length), ldexp(0.002, s.length));
    fclose(f);
}

static void flexible_bodies_step_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        const scaling s[2] = {{0, 0, 0}, {exponent() / 2, exponent() / 2, exponent() / 2}};
        char          path[2][300], part[300];
        for (int k = 0; k < 2; k++) {
            snprintf(part, sizeof part, "%s/part%d.yaml", folder, k);
            snprintf(path[k], sizeof path[k], "%s/arm%d.yaml", folder, k);
            write_part(part, s[k]);
            FILE *f = fopen(path[k], "w");
            assert_non_null(f);
            fprintf(f, arm, k);
            fclose(f);
        }
        texts_alike("arm", path[0], path[1], s[1], ways_of_texts[i], KD_JOINT, 0.05, ROUNDED);
    }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gallery_models_step_alike),  cmocka_unit_test(stiffness_is_seen_alike),
        cmocka_unit_test(wheels_on_rails_step_alike), cmocka_unit_test(tyres_step_alike),
        cmocka_unit_test(flexible_bodies_step_alike),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
