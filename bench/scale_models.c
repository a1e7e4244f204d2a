// scale_models.c: models of many bodies: from the gallery with other parameters, written here as text, or random.
#include "scale.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

// clang-format off
static const char *const gallery[] = {
    "slider-crank", "stewart", "robot6", "hmmwv", "quarter-car", "four-bar-spring", "passenger-car",
    "double-pendulum", "bouncing-ball", "bushing-mount", "gyroscope", "crane",
    "air-suspension", "andrews", "axle-test-rig", "ball-row", "bead", "bicycle", "bricard", "cam", "car-trailer",
    "cardan-shaft", "carriage", "chain", "closed-loop-car", "clutch", "damper-test", "delta-robot", "dice", "door",
    "four-bar", "friction-slider", "gear-pendulum", "gear-shift", "gear-train", "governor", "half-shaft", "heavy-top",
    "hunting-wheelset", "hydraulic-cylinder", "impact-ball", "inverted-pendulum", "ladder", "n-four-bar",
    "pendulum-stop", "pendulum", "plate-cam", "position-control", "robot6-torques", "rolling-disc", "sampled-speed",
    "satellite", "screw-jack", "semi-active-truck", "skate", "spatial-slider-crank", "speed-control", "stick-slip",
    "stiff-double-pendulum", "tennis-racket", "trammel", "truck5", "truck7", "wheel-profiles", "winch", "wings",
};
// clang-format on

int scale_gallery_count(void)
{
    return (int)(sizeof gallery / sizeof *gallery);
}

const char *scale_gallery_name(int i)
{
    return gallery[i];
}

const char *scale_word(scale_kind kind)
{
    static const char *const words[SCALE_KIND_COUNT] = {"chain.joint", "chain.cartesian", "loops",         "rope",
                                                        "tree",        "lattice",         "lattice.stiff", "convoy",
                                                        "generated",   "gallery"};
    return words[kind];
}

int scale_size(scale_kind kind, int bodies)
{
    switch (kind) {
    case SCALE_LOOPS:
        return (bodies - 1) / 2;
    case SCALE_LATTICE:
    case SCALE_LATTICE_STIFF:
        return (int)floor(cbrt(bodies) + 1e-9);
    case SCALE_CONVOY:
        return bodies / 3;
    default:
        return bodies;
    }
}

// ---- regular models -------------------------------------------------------------------------------------------------

// A rope that hangs from one end and is kicked at the other
static void write_rope(FILE *f, int n)
{
    fprintf(f,
            "kardan: 1\ngravity: [0, 0, -9.81]\nparameters: {l: 0.1, m: 0.05, J: m*l^2/12}\nbodies:\n"
            "  link(i): {for: i = 1..%d, position: [l*(i - 1/2), 0, 0], mass: m, inertia: [1e-6, J, J]}\njoints:\n"
            "  hinge(1): {type: revolute, bodies: [ground, link(1)], point: [0, 0, 0], axis: [0, 1, 0]}\n"
            "  hinge(i): {for: i = 2..%d, type: revolute, bodies: [link(i-1), link(i)], point: [l*(i - 1), 0, 0], "
            "axis: [0, 1, 0]}\nforces:\n"
            "  bend(i): {for: i = 1..%d, type: joint_spring, joint: hinge(i), stiffness: 10, damping: 0.1}\n"
            "run: {t_end: 1}\n",
            n, n, n);
}

// Bodies of 1 m along x and y in turn; body i hangs from body i / 2
static void write_tree(FILE *f, int n)
{
    fputs("kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n", f);
    for (int i = 1; i <= n; i++)
        fprintf(f, "  b%d: {position: [%.9g, %.9g, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n", i,
                cos(1.7 * i) * i * 0.01, sin(1.7 * i) * i * 0.01);
    fputs("joints:\n", f);
    for (int i = 1; i <= n; i++) {
        const double at = i == 1 ? 0 : i / 2;
        char         parent[20] = "ground";
        if (i > 1) kd_text(parent, sizeof parent, "b%d", i / 2);
        fprintf(f, "  j%d: {type: revolute, bodies: [%s, b%d], point: [%.9g, %.9g, 0.1], axis: [%s], v: 0.1}\n", i,
                parent, i, cos(1.7 * at) * at * 0.01, sin(1.7 * at) * at * 0.01, i % 2 ? "0, 1, 0" : "1, 0, 0");
    }
    fputs("run: {t_end: 1}\n", f);
}

// n x n x n free bodies at distances of 1 m, springs between points on their surfaces
static void write_lattice(FILE *f, int n, double stiffness, double damping)
{
    static const char *const from[] = {"0.2, 0, 0", "0, 0.2, 0", "0, 0, 0.2"};
    static const char *const to[] = {"-0.2, 0, 0", "0, -0.2, 0", "0, 0, -0.2"};
    const int                step[] = {1, n, n * n};
    fputs("kardan: 1\ngravity: [0, 0, 0]\nbodies:\n", f);
    for (int i = 0; i < n * n * n; i++)
        fprintf(f, "  b%d: {position: [%d, %d, %d], mass: 1, inertia: [0.1, 0.1, 0.1], velocity: [%.4g, %.4g, %.4g]}\n",
                i, i % n, i / n % n, i / n / n, 0.3 * sin(1.0 + i), 0.3 * sin(2.0 + 3.0 * i), 0.3 * sin(5.0 * i));
    fputs("forces:\n", f);
    for (int i = 0; i < n * n * n; i++) {
        const int place[] = {i % n, i / n % n, i / n / n};
        for (int k = 0; k < 3; k++)
            if (place[k] + 1 < n)
                fprintf(
                    f,
                    "  s%d_%d: {type: tsda, from: {body: b%d, point: [%s]}, to: {body: b%d, point: [%s]}, stiffness: "
                    "%g, damping: %g, length: 0.6}\n",
                    i, k, i, from[k], i + step[k], to[k], stiffness, damping);
    }
    fputs("run: {t_end: 1}\n", f);
}

// Cars at distances of 20 m: a planar body and two wheels on a wavy road
static void write_convoy(FILE *f, int n)
{
    fprintf(
        f,
        "kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
        "  car(i): {for: i = 1..%d, position: [20*i, 0, 0.8], mass: 600, inertia: [300, 900, 900]}\n"
        "  front(i): {for: i = 1..%d, position: [20*i + 1.2, 0, 0.3], mass: 40, inertia: [1, 1, 1]}\n"
        "  rear(i): {for: i = 1..%d, position: [20*i - 1.4, 0, 0.3], mass: 40, inertia: [1, 1, 1]}\njoints:\n"
        "  car(i): {for: i = 1..%d, type: planar, bodies: [ground, car(i)], point: [20*i, 0, 0.8], axis: [0, -1, 0], "
        "reference: [1, 0, 0], v: [20, 0, 0]}\n"
        "  front(i): {for: i = 1..%d, type: prismatic, bodies: [car(i), front(i)], point: [20*i + 1.2, 0, 0.3], axis: "
        "[0, 0, 1]}\n"
        "  rear(i): {for: i = 1..%d, type: prismatic, bodies: [car(i), rear(i)], point: [20*i - 1.4, 0, 0.3], axis: "
        "[0, 0, 1]}\nforces:\n"
        "  strut-f(i): {for: i = 1..%d, type: joint_spring, joint: front(i), stiffness: 2e4, damping: 1500, preload: "
        "-2900}\n"
        "  strut-r(i): {for: i = 1..%d, type: joint_spring, joint: rear(i), stiffness: 2e4, damping: 1500, preload: "
        "-2900}\n"
        "  tyre-f(i): {for: i = 1..%d, type: tyre, body: front(i), radius: 0.3, stiffness: 1.8e5, damping: 100, road: "
        "0.02*sin(x), lifts_off: false}\n"
        "  tyre-r(i): {for: i = 1..%d, type: tyre, body: rear(i), radius: 0.3, stiffness: 1.8e5, damping: 100, road: "
        "0.02*sin(x), lifts_off: false}\n"
        "run: {t_end: 1}\n",
        n, n, n, n, n, n, n, n, n, n);
}

// ---- random models --------------------------------------------------------------------------------------------------

// splitmix64, the same on every machine
static double uniform(uint64_t *state, double low, double high)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + (high - low) * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double decades(uint64_t *state, double low, double high)
{
    return exp(uniform(state, log(low), log(high)));
}

typedef struct place {
    double x[3];
} place;

// Where body i hangs, what between them acts; springs from soft to very stiff, damping ratios from none to strong
static void write_link(FILE *joints, FILE *forces, uint64_t *dice, int i, int parent, const place *at, double mass,
                       double size)
{
    static const char *const types[] = {"revolute", "revolute", "revolute", "universal", "spherical", "prismatic"};
    const char              *type = types[(int)uniform(dice, 0, 6)];
    char                     body[20] = "ground";
    double                   axis[3], v = uniform(dice, -1, 1);
    if (parent >= 0) kd_text(body, sizeof body, "b%d", parent);
    for (int k = 0; k < 3; k++) axis[k] = uniform(dice, -1, 1);
    fprintf(joints, "  j%d: {type: %s, bodies: [%s, b%d], point: [%.6g, %.6g, %.6g]", i, type, body, i, at->x[0],
            at->x[1], at->x[2]);
    if (type[0] != 's' && type[0] != 'u')
        fprintf(joints, ", axis: [%.6g, %.6g, %.6g], v: %.3g", axis[0], axis[1], axis[2], v);
    if (type[0] == 'u') fprintf(joints, ", axis: [1, 0, 0], reference: [0, 1, 0]");
    fputs("}\n", joints);
    const bool   one = type[0] == 'r' || type[0] == 'p';
    const double inertia = type[0] == 'r' ? mass * size * size : mass, w = decades(dice, 0.5, 3000);
    const double ratio = decades(dice, 0.003, 3);
    if (one && uniform(dice, 0, 1) < (type[0] == 'p' ? 1 : 0.5))
        fprintf(forces, "  k%d: {type: joint_spring, joint: j%d, stiffness: %.6g, damping: %.6g}\n", i, i,
                inertia * w * w, 2 * ratio * inertia * w);
}

static void write_generated(FILE *f, int seed)
{
    char        *text[2];
    size_t       length[2];
    uint64_t     dice = 7919u * (uint64_t)seed + 40503u;
    FILE        *joints = open_memstream(&text[0], &length[0]), *forces = open_memstream(&text[1], &length[1]);
    const int    n = (int)decades(&dice, 1, 60);
    const double size = decades(&dice, 0.1, 2), mass = decades(&dice, 0.1, 50);
    place        at[64];
    fputs("kardan: 1\ngravity: [0, 0, -9.81]\nbodies:\n", f);
    for (int i = 0; i < n; i++) {
        const int    back = 1 + (int)(uniform(&dice, 0, 1) < 0.6 ? 0 : uniform(&dice, 0, 4));
        const int    parent = i - back < 0 ? -1 : i - back;
        const double m = mass * decades(&dice, 0.3, 3), J = m * size * size / 6;
        for (int k = 0; k < 3; k++) at[i].x[k] = (parent < 0 ? 0 : at[parent].x[k]) + uniform(&dice, -size, size);
        fprintf(f, "  b%d: {position: [%.6g, %.6g, %.6g], mass: %.6g, inertia: [%.6g, %.6g, %.6g]}\n", i, at[i].x[0],
                at[i].x[1], at[i].x[2], m, J, J, J);
        place hinge = {{0}};
        for (int k = 0; k < 3; k++)
            hinge.x[k] = at[i].x[k] - uniform(&dice, 0.2, 0.8) * (at[i].x[k] - (parent < 0 ? 0 : at[parent].x[k]));
        write_link(joints, forces, &dice, i, parent, &hinge, m, size);
        // springs to the ground here and there
        const double w = decades(&dice, 0.5, 300), ratio = decades(&dice, 0.003, 1);
        if (uniform(&dice, 0, 1) < 0.2)
            fprintf(forces,
                    "  g%d: {type: tsda, from: {body: ground, point: [%.6g, %.6g, %.6g]}, to: b%d, stiffness: "
                    "%.6g, damping: %.6g, length: %.6g}\n",
                    i, at[i].x[0], at[i].x[1], at[i].x[2] + 2 * size, i, m * w * w, 2 * ratio * m * w, 2 * size);
    }
    fclose(joints);
    fclose(forces);
    fprintf(f, "joints:\n%s", text[0]);
    if (length[1] > 0) fprintf(f, "forces:\n%s", text[1]);
    // loops: rods between distant bodies
    const int loops = n < 6 ? 0 : (int)uniform(&dice, 0, 3);
    if (loops > 0) fputs("constraints:\n", f);
    for (int k = 0; k < loops; k++)
        fprintf(f, "  rod%d: {type: distance, from: b%d, to: b%d}\n", k, k * n / 3, n - 1 - k);
    fprintf(f, "run: {t_end: %.3g}\n", 2 * sqrt(size));
    free(text[0]);
    free(text[1]);
}

char *scale_text(scale_kind kind, int n)
{
    char  *text = NULL;
    size_t length;
    FILE  *f = open_memstream(&text, &length);
    if (!f) return NULL;
    switch (kind) {
    case SCALE_ROPE:
        write_rope(f, n);
        break;
    case SCALE_TREE:
        write_tree(f, n);
        break;
    case SCALE_LATTICE:
        write_lattice(f, n, 100, 1);
        break;
    case SCALE_LATTICE_STIFF:
        write_lattice(f, n, 1e5, 1e3);
        break;
    case SCALE_CONVOY:
        write_convoy(f, n);
        break;
    default:
        write_generated(f, n);
        break;
    }
    fclose(f);
    return text;
}

// ---- from texts to equations ----------------------------------------------------------------------------------------

static kd_status read_model(scale_subject *s, scale_kind kind, int n, char *message, size_t size)
{
    char             value[20], path[BENCH_PATH];
    const kd_setting setting = {"N", value};
    const char      *file = kind == SCALE_GALLERY ? gallery[n] : kind == SCALE_LOOPS ? "n-four-bar" : "chain";
    kd_text(value, sizeof value, "%d", n);
    kd_text(s->name, sizeof s->name, kind == SCALE_GALLERY ? "%s" : "%s.%d",
            kind == SCALE_GALLERY ? gallery[n] : scale_word(kind), n);
    if (kind <= SCALE_LOOPS || kind == SCALE_GALLERY) {
        kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, file);
        return kd_model_read(path, kind == SCALE_GALLERY ? NULL : &setting, kind != SCALE_GALLERY, &s->model, message,
                             size);
    }
    char     *text = scale_text(kind, n);
    kd_status status = KD_ERR_MEMORY;
    if (text) status = kd_model_read_text(s->name, text, strlen(text), NULL, 0, &s->model, message, size);
    free(text);
    return status;
}

bool scale_open(scale_subject *s, scale_kind kind, int n, char *message, size_t size)
{
    kd_system_options options = kd_system_options_default();
    *s = (scale_subject){0};
    kd_status status = read_model(s, kind, n, message, size);
    if (status < 0) return false;
    const kd_run_def *run = kd_model_run(s->model);
    s->t_end = run->t_end;
    s->h_max = run->max_step > 0 ? run->max_step : 0;
    options.coordinates = kind == SCALE_CHAIN_CARTESIAN ? KD_CARTESIAN : KD_JOINT;
    if (kind == SCALE_GALLERY && run->coordinates && strcmp(run->coordinates, "cartesian") == 0)
        options.coordinates = KD_CARTESIAN;
    status = kd_system_create(s->model, &options, &s->system, message, size);
    if (status >= 0) s->eom = kd_system_eom(s->system);
    if (status >= 0) status = kd_state_create(s->eom, &s->start);
    if (status >= 0) status = kd_system_start(s->system, s->start, message, size);
    return status >= 0;
}

void scale_close(scale_subject *s)
{
    kd_state_destroy(s->start);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
    *s = (scale_subject){0};
}
