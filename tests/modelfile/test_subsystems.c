// Subsystems: names, parameters, places, mirror images.
//
// The mirror has a second way: a mechanism and its image at the same coordinates must have poses and velocities of bodies
// that are reflections of each other, as points and as turnings, the same accelerations of the coordinates, and the same
// readings of its sensors.
#define _XOPEN_SOURCE 700
#include "modelfile/subject.h"

#include <time.h>

#include "core/text.h"
#include "math/space.h"
#include "model/build.h"
#include "model/channel.h"

#define CAR KD_SOURCE_DIR "/models/closed-loop-car.yaml"
#define LIBRARY KD_SOURCE_DIR "/models/library"

static kd_model *read_file(const char *path, const kd_setting *settings, int nsettings)
{
    static const char *const library[] = {LIBRARY};
    char                     message[4000];
    kd_model                *m = NULL;
    if (kd_model_read_with(path, settings, nsettings, library, 1, &m, message, sizeof message) < 0)
        fail_msg("%s", message);
    return m;
}

// ---- random texts ----------------------------------------------------------------------------------------------------

static int random_below(int n)
{
    return (int)((random_number() * 0.4999 + 0.5) * n);
}

static char text[60000];
#define PUT(...) kd_text_append(text, sizeof text, __VA_ARGS__)

static void put_vector(const char *key, double size)
{
    PUT("%s: [%.3f, %.3f, %.3f]", key, size * random_number(), size * random_number(), size * random_number());
}

// A place on a body: in its frame or in the world, with axes or without
static bool with_references = true; // universal joints want theirs perpendicular
static void put_place(const char *key, int body)
{
    const bool world = random_below(2);
    PUT("%s: {body: %s", key, body < 0 ? "ground" : "");
    if (body >= 0) PUT("b%d", body);
    PUT(", in: %s, ", world ? "world" : "body");
    put_vector("point", 0.5);
    if (random_below(2)) {
        put_vector(", axis", 1.0);
        if (random_below(2) && with_references) put_vector(", reference", 1.0);
    } else if (random_below(2)) {
        PUT(", orientation: {axis: [%.2f, %.2f, 1], angle: %.2f}", random_number(), random_number(), random_number());
    }
    PUT("}");
}

static void put_places(int n, int body)
{
    int other = random_below(n + 1) - 1;
    if (other == body) other = body == 0 ? -1 : body - 1;
    put_place("from", other);
    PUT(", ");
    put_place("to", body);
}

static void put_matrix(const char *key, double size)
{
    double A[6][6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) A[i][j] = A[j][i] = size * ((i == j ? 5.0 : 0.0) + random_number());
    PUT(", %s: [", key);
    for (int i = 0; i < 6; i++)
        PUT("%s[%.3f, %.3f, %.3f, %.3f, %.3f, %.3f]", i > 0 ? ", " : "", A[i][0], A[i][1], A[i][2], A[i][3], A[i][4],
            A[i][5]);
    PUT("]");
}

// ---- random mechanisms ----------------------------------------------------------------------------------------------

static const char *const joint_kinds[] = {"revolute", "prismatic", "screw", "cylindrical", "universal",
                                          "planar",   "spherical", "free",  "cardan",      "constant_velocity"};

static void put_force(int n, int k)
{
    const int body = random_below(n);
    switch (random_below(9)) {
    case 0:
        PUT("    f%d: {type: tsda, ", k);
        put_places(n, body);
        PUT(", stiffness: k, damping: 3, length: 0.4, law: 2*length + body.b%d.vel.y - "
            "3*body.b%d.pos.x*body.b%d.R.zy}\n",
            body, body, body);
        break;
    case 1:
        PUT("    f%d: {type: bushing, ", k);
        put_places(n, body);
        put_matrix("stiffness", 10);
        put_matrix("damping", 1);
        PUT(", preload: [1, 2, 3, 4, 5, 6], force: [x*y, y^3 - vx, vy*z + body.b%d.omega.x]}\n", body);
        break;
    case 2:
        PUT("    f%d: {type: applied, to: {body: b%d, point: [0.1, 0.2, 0.3], orientation: {roll: 0.3, yaw: 0.5}}, "
            "axes: %s, "
            "force: [1, body.b%d.pos.y, t], torque: [2, null, 3*body.b%d.omega.z]}\n",
            k, body, random_below(2) ? "world" : "body", body, body);
        break;
    case 3:
        PUT("    f%d: {type: contact, ", k);
        put_place("from", -1);
        PUT(", ");
        put_place("to", body);
        PUT(", radius: 2, stiffness: 100, dissipation: 0.1, friction: 0.3}\n");
        break;
    case 4:
        PUT("    f%d: {type: tyre, ", k);
        put_place("from", -1);
        PUT(", ");
        put_place("to", body);
        PUT(", radius: 3, stiffness: 50, damping: 2, friction: 0.8, load: 100, longitudinal: [500, 800], lateral: "
            "[400, 600], "
            "camber: 0.3, rolling_resistance: 0.01, relaxation: %s}\n",
            random_below(2) ? "0.3" : "0");
        break;
    case 5:
        PUT("    f%d: {type: maxwell, ", k);
        put_places(n, body);
        PUT(", stiffness: 4, damping: 2, series: 30, preload: 1}\n");
        break;
    case 6:
        PUT("    f%d: {type: joint_spring, joint: scale, rest: 0.1, stiffness: 5, damping: 1, law: q*v + curve(q)}\n",
            k);
        break;
    case 7:
        PUT("    f%d: {type: joint_stop, joint: turn, coordinate: %d, lower: -0.1, upper: 0.1, stiffness: 50, damping: "
            "1}\n",
            k, 1 + random_below(2));
        break;
    default:
        PUT("    f%d: {type: rsda, joint: scale, angle: 0.1, stiffness: 3, law: rate^3 + angle}\n", k);
    }
}

// A tree of bodies with forces of all kinds, a helical gear between two coordinates, rows of other kinds, readings of
// everything that has components
static void put_mechanism(void)
{
    const int n = 4 + random_below(3);
    PUT("  m:\n    parameters: {k: 7, unused_by_chance: k}\n    curves: {curve: {form: spline, x: [-9, 0, 1, 9], y: "
        "[1, 2, 0, 3]}}\n    bodies:\n");
    for (int i = 0; i < n; i++) {
        PUT("      b%d: {mass: %.2f, inertia: [5, 6, 7, 0.3, 0.2, -0.4], ", i, 1.5 + random_number());
        put_vector("centre", 0.2);
        put_vector(", position", 1.0);
        PUT(", orientation: {axis: [1, %.2f, %.2f], angle: %.2f}}\n", random_number(), random_number(),
            random_number());
    }
    PUT("    joints:\n");
    for (int i = 0; i < n; i++) {
        const char *kind = i == 0 ? "revolute" : i == 1 ? "cylindrical" : joint_kinds[random_below(10)];
        with_references = strcmp(kind, "universal") != 0;
        PUT("      %s%.0d: {type: %s, ", i == 0 ? "scale" : i == 1 ? "turn" : "j", i > 1 ? i : 0, kind);
        put_place("from", random_below(i + 1) - 1);
        PUT(", ");
        put_place("to", i);
        PUT("%s}\n", strcmp(kind, "screw") == 0 ? ", pitch: 0.7" : "");
        with_references = true;
    }
    PUT("    frames: {eye: {body: b1, point: [0.1, 0.2, 0.3], orientation: {roll: 0.3, yaw: 0.5}}, "
        "mark: {body: ground, point: [1, 2, 3], axis: [1, 2, 3]}}\n");
    PUT("    constraints:\n      helix: {type: coupling, terms: {joint.turn.q1: 0.4, joint.turn.q2: 1, joint.scale.q: "
        "k/9}}\n");
    static const char *const rows[] = {"point_on_plane",
                                       "distance",
                                       "knife_edge",
                                       "orientation, angle: 1",
                                       "orientation, angle: 1, motion: 0.2 + t",
                                       "point_on_line, motion: [0.2 + t, 0.3]",
                                       "rolling_disc, radius: 0.3, motion: 0.1 + t",
                                       "rope, over: [eye, b0], motion: 0.1*joint.scale.q"};
    const int                row = random_below(10);
    if (row == 8) PUT("      c: {type: velocity, value: body.b1.vel.x + 2*body.b2.omega.z - joint.turn.v1}\n");
    if (row < 8) {
        PUT("      c: {type: %s, ", rows[row]);
        put_places(n, n - 1);
        PUT("%s}\n", row == 1 ? ", length: 2" : row == 7 ? ", length: 6" : "");
    }
    PUT("    forces:\n");
    for (int k = 0; k < 5; k++) {
        PUT("  ");
        put_force(n, k);
    }
    PUT("    sensors:\n");
    static const char *const readings[] = {"pos.x",   "pos.y", "pos.z", "com.y", "vel.x", "vel.z", "acc.y",  "omega.x",
                                           "alpha.z", "R.xy",  "R.zz",  "R.yx",  "pitch", "vel.y", "omega.z"};
    for (int i = 0; i < 15; i++) PUT("      s%d: body.b%d.%s\n", i, random_below(n), readings[i]);
    PUT("      e1: frame.eye.pos.y\n      e2: frame.eye.R.yz\n      e3: frame.mark.pos.z\n      e4: frame.mark.R.xx\n");
    PUT("      f1: joint.turn.force.x\n      f2: joint.turn.torque.y\n      f3: joint.turn.q2-joint.turn.v1\n");
    PUT("      f4: curve(joint.scale.q) + table(curve, 1) + k\n");
}

// The model of a text with a subsystem at a place, in the field g
static kd_model *model_at(const char *definitions, const char *place, kd_vec3 g)
{
    static char whole[70000];
    snprintf(whole, sizeof whole,
             "kardan: 1\ngravity: [%.17g, %.17g, %.17g]\ndefinitions:\n%ssubsystems:\n  s: {of: m%s}\n", g.x, g.y, g.z,
             definitions, place);
    char      message[4000];
    kd_model *m = NULL;
    if (kd_model_read_text("model", whole, strlen(whole), NULL, 0, &m, message, sizeof message) < 0)
        fail_msg("%s\n%s", message, whole);
    return m;
}

static double largest(const double *a, int n)
{
    double size = 1.0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(a[i]));
    return size;
}

static void assert_same(const char *what, const double *a, const double *b, int n, double tolerance)
{
    const double size = largest(a, n);
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * size)) fail_msg("%s[%d]: %.17g, %.17g\n%s", what, i, a[i], b[i], text);
}

// Poses and rates of b are images of those of a.
static void assert_images(const subject *a, const subject *b, const kd_subsystem *s)
{
    const double det = s->mirrored ? -1.0 : 1.0;
    for (int i = 0; i < a->model->nbodies; i++) {
        const double *pa = a->pose + 7 * i, *pb = b->pose + 7 * i, *ra = a->rate + 6 * i, *rb = b->rate + 6 * i;
        double        image[3];
        kd_vec_to(kd_vec_add(s->c, kd_mat_vec(&s->Q, kd_vec_of(pa))), image);
        assert_same("position", image, pb, 3, 1e-13);
        const kd_mat3 R = kd_quat_matrix(kd_quat_of(pa + 3)), QR = kd_mat_mul(&s->Q, &R), Lt = kd_mat_transpose(&s->L);
        const kd_mat3 wanted = kd_mat_mul(&QR, &Lt), got = kd_quat_matrix(kd_quat_of(pb + 3));
        assert_same("axes", &wanted.x.x, &got.x.x, 9, 1e-13);
        kd_vec_to(kd_mat_vec(&s->Q, kd_vec_of(ra)), image);
        assert_same("velocity", image, rb, 3, 1e-12);
        kd_vec_to(kd_vec_scale(det, kd_mat_vec(&s->Q, kd_vec_of(ra + 3))), image);
        assert_same("angular velocity", image, rb + 3, 3, 1e-12);
    }
}

// false: rows of the mechanism cannot be satisfied
static bool compare_images(const char *place)
{
    const kd_vec3 g = kd_vec(0.3, -0.2, -9.0);
    subject       a = subject_of(model_at(text, "", g), KD_JOINT);
    kd_model     *m = model_at(text, place, g);
    kd_vec3       image = kd_mat_vec(&m->subsystem[0].Q, g);
    kd_model_destroy(m);
    subject b = subject_of(model_at(text, place, image), KD_JOINT);
    if (a.n.np != b.n.np) fail_msg("%d, %d positions\n%s", a.n.np, b.n.np, text);
    bool good = a.assembled;
    if (good) set_random_state(&a, &b);
    good = good && evaluate(&a);
    if (good) assert_true(evaluate(&b));
    if (!good) {
        subject_release(&a);
        subject_release(&b);
        return false;
    }
    assert_images(&a, &b, &b.model->subsystem[0]);
    // springs are relaxed at the start: both starts are the closest ones, to as many digits
    assert_same("acceleration", a.x->a, b.x->a, a.n.nv, 1e-9);
    // reactions are made of accelerations, and as exact as those
    assert_same("sensor", a.y, b.y, a.n.ny, 1e-9 * fmax(1.0, largest(a.x->a, a.n.nv) / largest(a.y, a.n.ny)));
    subject_release(&a);
    subject_release(&b);
    return true;
}

// Random mechanisms, mirrored at random planes, turned and shifted: the same motion of the coordinates, the mirror image
// of the bodies, the same readings inside.
static void random_mechanisms_have_images(void **state)
{
    int compared = 0;
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        char place[400];
        random_word = 1234u + 77u * (unsigned)trial;
        text[0] = '\0';
        put_mechanism();
        snprintf(place, sizeof place, "%s, orientation: {axis: [1, 0.3, %.2f], angle: %.2f}, position: [%.2f, 3, -1]",
                 trial % 3 == 0   ? ""
                 : trial % 3 == 1 ? ", mirror: [0, 1, 0]"
                                  : ", mirror: [1, -0.4, 0.7], through: [0.3, 0.1, 2]",
                 random_number(), 2 * random_number(), random_number());
        if (trial % 5 == 0) snprintf(place, sizeof place, ", mirror: [0, 1, 0]");
        compared += compare_images(place);
    }
    assert_true(compared > 100);
}

// A mirror inside of a mirror, and one that is turned in between: chirality comes back.
static void mirrors_of_mirrors(void **state)
{
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        random_word = 4321u + 99u * (unsigned)trial;
        text[0] = '\0';
        put_mechanism();
        char *inner = strdup(text);
        assert_non_null(inner);
        text[0] = '\0';
        PUT("%s", inner);
        free(inner);
        char *name = strstr(text, "  m:");
        assert_non_null(name);
        name[2] = 'i';
        PUT("  m: {subsystems: {in: {of: i, mirror: [0.2, 1, 0.5], orientation: {yaw: 0.4}, position: [0, 1, 2]}}}\n");
        (void)compare_images(", mirror: [1, 0, 0.1], orientation: {roll: 1}, position: [3, 2, 1]");
    }
}

// ---- a car ----------------------------------------------------------------------------------------------------------

// The body of b that is where body i of a is; both have the axes of the world at the start
static int find_by_hand(const subject *a, const subject *b, int i)
{
    for (int k = 0; k < b->model->nbodies; k++) {
        const kd_body *x = &a->model->body[i], *y = &b->model->body[k];
        if (kd_vec_norm(kd_vec_sub(x->r, y->r)) < 1e-12 && x->def.mass == y->def.mass) return k;
    }
    fail_msg("no body like '%s'", a->model->body[i].name);
    return -1;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// M a - f of every body with the same accelerations, and the violations of all constraints, in rising order
static void compare_residuals(subject *a, subject *b)
{
    double *fa = calloc((size_t)(a->n.nv + a->n.nlambda), sizeof *fa), *ga = fa + a->n.nv;
    double *fb = calloc((size_t)(b->n.nv + b->n.nlambda), sizeof *fb), *gb = fb + b->n.nv;
    assert_non_null(fa);
    assert_non_null(fb);
    assert_int_equal(kd_eom_at_state(a->data, kd_system_inputs(a->system), a->x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_at_state(b->data, kd_system_inputs(b->system), b->x, KD_STAGE_ACCELERATION), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(a->data, KD_RESIDUAL, fa), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(b->data, KD_RESIDUAL, fb), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(a->data, KD_G, ga), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(b->data, KD_G, gb), KD_EVAL_OK);
    double size = 1.0;
    for (int i = 0; i < a->n.nv; i++) size = fmax(size, fabs(fa[i]));
    for (int i = 0; i < a->model->nbodies; i++) {
        const int k = find_by_hand(a, b, i);
        for (int j = 0; j < 6; j++) {
            const double error = fabs(fa[6 * i + j] - fb[6 * k + j]);
            if (!(error <= 1e-13 * size))
                fail_msg("%s, %d: %.17g, %.17g of %g", a->model->body[i].name, j, fa[6 * i + j], fb[6 * k + j], size);
        }
    }
    for (int i = 0; i < a->n.nlambda; i++) {
        ga[i] = fabs(ga[i]);
        gb[i] = fabs(gb[i]);
    }
    qsort(ga, (size_t)a->n.nlambda, sizeof *ga, by_size);
    qsort(gb, (size_t)b->n.nlambda, sizeof *gb, by_size);
    assert_same("violation", ga, gb, a->n.nlambda, 1e-13);
    free(fa);
    free(fb);
}

enum { MOST_FORCES = 1000 };

// A model with all forces and moments of its force elements as outputs
static subject subject_with_forces(kd_model *m)
{
    static char        path[MOST_FORCES][200];
    static const char *watch[MOST_FORCES];
    kd_path_info       info;
    char               why[300];
    int                n = 0;
    for (int i = 0; i < m->nforces; i++)
        for (int k = 0; n < MOST_FORCES && kd_model_path(m, KD_SECTION_FORCE, i, k, path[n], sizeof path[n]) > 0; k++) {
            assert_int_equal(kd_model_path_about(m, path[n], &info, why, sizeof why), KD_OK);
            if (!info.unit || (strcmp(info.unit, "N") != 0 && strcmp(info.unit, "N m") != 0)) continue;
            watch[n] = path[n];
            n++;
        }
    assert_in_range(n, 4, MOST_FORCES - 1);
    return subject_watching(m, KD_CARTESIAN, watch, n);
}

// Their sizes at its state, in rising order, but for those that are rounding of the largest one: loads that are evaluated side by side
// leave 1e-16 N where others leave 0
static int list_forces(subject *s)
{
    int    n = 0;
    double largest = 0;
    assert_int_equal(kd_eom_eval(s->data, KD_Y, s->y), KD_EVAL_OK);
    for (int i = s->model->nsensors; i < s->n.ny; i++) {
        assert_true(isfinite(s->y[i]));
        largest = fmax(largest, fabs(s->y[i]));
    }
    for (int i = s->model->nsensors; i < s->n.ny; i++)
        if (fabs(s->y[i]) > 1e-15 * largest) s->y[n++] = fabs(s->y[i]);
    qsort(s->y, (size_t)n, sizeof *s->y, by_size);
    return n;
}

// Every single force, not their sums alone
static void compare_forces(const char *name, subject *a, subject *b)
{
    const int n = list_forces(a), m = list_forces(b);
    if (n != m) fail_msg("%s: %d forces, by hand %d", name, n, m);
    assert_true(n > 0);
    assert_same(name, a->y, b->y, n, 1e-13);
}

// Cars of the gallery, whose corners are subsystems, half of them mirrored, a carriage, a robot and trucks against those that
// were written by hand: residuals of all bodies, violations of all constraints and all forces at random states.
static void cars_are_those_by_hand(void **state)
{
    static const char *const name[] = {"closed-loop-car", "passenger-car", "hmmwv",  "car-trailer",      "carriage",
                                       "robot6",          "truck5",        "truck7", "semi-active-truck"};
    (void)state;
    for (size_t k = 0; k < sizeof name / sizeof name[0]; k++) {
        char path[2][400];
        snprintf(path[0], sizeof path[0], "%s/models/%s.yaml", KD_SOURCE_DIR, name[k]);
        snprintf(path[1], sizeof path[1], "%s/tests/models/by-hand/%s.yaml", KD_SOURCE_DIR, name[k]);
        subject a = subject_with_forces(read_file(path[0], NULL, 0));
        subject b = subject_with_forces(read_file(path[1], NULL, 0));
        random_word = 5;
        assert_int_equal(a.model->nbodies, b.model->nbodies);
        assert_int_equal(a.n.nv, b.n.nv);
        assert_int_equal(a.n.nlambda, b.n.nlambda);
        for (int trial = 0; trial < 20; trial++) {
            a.x->t = b.x->t = 0.4 * trial;
            // in Cartesian coordinates every body has its own: the same for those that correspond
            for (int i = 0; i < a.model->nbodies; i++) {
                const int    m = find_by_hand(&a, &b, i);
                const double step = trial > 0 ? 1.0 : 0.0;
                for (int j = 0; j < 7; j++) b.x->p[7 * m + j] = a.x->p[7 * i + j] += 0.01 * step * random_number();
                for (int j = 0; j < 6; j++) b.x->a[6 * m + j] = a.x->a[6 * i + j] = random_number();
                for (int j = 0; j < 6; j++) b.x->v[6 * m + j] = a.x->v[6 * i + j] += 0.1 * step * random_number();
            }
            assert_true(kd_eom_normalise(a.data, a.x->p) && kd_eom_normalise(b.data, b.x->p));
            compare_residuals(&a, &b);
            compare_forces(name[k], &a, &b);
        }
        subject_release(&a);
        subject_release(&b);
    }
}

// ---- parameters -----------------------------------------------------------------------------------------------------

// Parameters of subsystems live: changed without reading again, of the subsystem itself and of the model around it, they
// give the equations of the model that is read with these values.
static void assert_lives(const char *model, const char *name, double value)
{
    char       number[40], message[1000];
    kd_setting setting = {name, number};
    kd_model  *other = NULL;
    snprintf(number, sizeof number, "%.17g", value);
    if (kd_model_read_text("test", model, strlen(model), &setting, 1, &other, message, sizeof message) < 0)
        fail_msg("%s", message);
    for (int c = 0; c < 2; c++) {
        subject   a = subject_of(model_of(model), (kd_coordinates)c), b = subject_of(other, (kd_coordinates)c);
        const int i = kd_model_parameter_index(a.model, name), n = kd_model_parameters(a.model, NULL, 0);
        double   *theta = malloc((size_t)n * sizeof *theta);
        assert_true(i >= 0 && theta);
        memcpy(theta, kd_system_parameters(a.system), (size_t)n * sizeof *theta);
        // what it is before must differ, or nothing is shown
        random_word = 11;
        set_random_state(&a, &b);
        a.x->t = b.x->t = 0.35;
        assert_true(evaluate(&a) && evaluate(&b));
        double differs = 0;
        for (int k = 0; k < a.n.nv; k++) differs = fmax(differs, fabs(a.x->a[k] - b.x->a[k]));
        for (int k = 0; k < a.n.ny; k++) differs = fmax(differs, fabs(a.y[k] - b.y[k]));
        if (differs < 1e-6) fail_msg("%s changes nothing", name);
        theta[i] = value;
        if (kd_system_set_parameters(a.system, theta, message, sizeof message) < 0) fail_msg("%s", message);
        assert_true(evaluate(&a) && evaluate(&b));
        assert_same(name, b.x->a, a.x->a, a.n.nv, 1e-12);
        assert_same(name, b.y, a.y, a.n.ny, 1e-12);
        free(theta);
        b.model = c == 0 ? NULL : b.model;
        subject_release(&a);
        subject_release(&b);
    }
}

// They reach curves, lengths, expressions, matrices, pitches and places of elements in mirrors inside of mirrors.
static void parameters_live_in_nested_mirrors(void **state)
{
    static const char model[] =
        "kardan: 1\nparameters: {k: 30, len: 0.7}\ndefinitions:\n"
        "  arm:\n    needs: {base: body, push: {type: signal, default: 0}}\n"
        "    parameters: {k: 10, l: 0.5, lead: 0.1, kr: 3, gain: 2}\n"
        "    curves: {soft: {x: [-2, 0, 1, 3], y: [-2*k, 0, k, 5*k], form: spline}}\n"
        "    expressions: {stretch: gain*(body.nut.pos.y - l)}\n"
        "    bodies:\n      rod: {position: [l, 0.1, 0], mass: 2, inertia: [0.1, 0.2, 0.3]}\n"
        "      nut: {position: [l, 0.3, 0.1], mass: 1, inertia: [0.1, 0.1, 0.1], centre: [0.01, l/10, 0]}\n"
        "      bob: {position: [l, 0.5, -0.4], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
        "    joints:\n      hinge: {type: revolute, bodies: [base, rod], point: [0, 0.1, 0], axis: [0.2, 1, 0.1]}\n"
        "      thread: {type: screw, bodies: [rod, nut], point: [l, 0.1, 0], axis: [1, 0.3, 0], pitch: lead}\n"
        "    forces:\n      spring: {type: joint_spring, joint: hinge, law: -soft(q) + push}\n"
        "      rubber: {type: bushing, bodies: [nut, bob], point: [l, 0.4, l], stiffness: [kr, kr, 2*kr, 0.1, 0.2, "
        "0.3]}\n"
        "      pull: {type: applied, to: bob, force: [stretch, null, k/10]}\n"
        "      line: {type: tsda, bodies: [ground, bob], points: [[0, 1, 1], [l, 0.5, -0.4]], stiffness: kr, length: "
        "2*l}\n"
        "    sensors: {reach: {value: stretch, unit: m}}\n"
        "  pair:\n    needs: {base: body}\n    parameters: {k: 20, turn: 0.3, l: 0.6}\n    subsystems:\n"
        "      a: {of: arm, connect: {base: base}, parameters: {k: 2*k, l: l}, mirror: [1, 2, 0.5], orientation: "
        "{axis: [1, 1, 0], angle: 0.7}}\n"
        "      b: {of: arm, connect: {base: base, push: k*sin(t)}, parameters: {lead: 0.2*l}, position: [0, 0.6, 0]}\n"
        "bodies: {car: {mass: 10, inertia: [1, 2, 3]}}\n"
        "joints: {slide: {type: cylindrical, bodies: [ground, car], point: [0, 0, 0], axis: [1, 0, 0.3]}}\n"
        "subsystems:\n  left: {of: pair, connect: {base: car}, parameters: {k: k, l: len}}\n"
        "  right: {of: pair, connect: {base: car}, parameters: {l: len}, mirror: [0, 1, 0.2], through: [0, 0.1, 0], "
        "orientation: {axis: [0, 0, 1], angle: 0.4}, position: [1, 2, 3]}\n";
    (void)state;
    assert_lives(model, "k", 47);
    assert_lives(model, "right.k", 33);
    assert_lives(model, "len", 0.55);
    assert_lives(model, "right.a.lead", 0.07);
    assert_lives(model, "right.a.kr", 4.5);
    assert_lives(model, "right.b.k", 13);
    assert_lives(model, "left.b.gain", 3.5);
    assert_lives(model, "left.a.kr", 4.5);
}

static void parameters_of_subsystems_live(void **state)
{
    static const char *const name[] = {"corner(1,1).stiffness", "half", "axle", "bump", "corner(2,2).damping", "speed"};
    static const double      value[] = {41e3, 0.8, 1.5, 0.03, 3100, 12};
    (void)state;
    for (size_t k = 0; k < sizeof name / sizeof name[0]; k++) {
        char       number[40], message[1000];
        kd_setting setting = {name[k], number};
        snprintf(number, sizeof number, "%.17g", value[k]);
        subject   a = subject_of(read_file(CAR, NULL, 0), KD_JOINT);
        subject   b = subject_of(read_file(CAR, &setting, 1), KD_JOINT);
        const int i = kd_model_parameter_index(a.model, name[k]), n = kd_model_parameters(a.model, NULL, 0);
        double   *theta = malloc((size_t)n * sizeof *theta);
        assert_true(i >= 0 && theta);
        memcpy(theta, kd_system_parameters(a.system), (size_t)n * sizeof *theta);
        theta[i] = value[k];
        if (kd_system_set_parameters(a.system, theta, message, sizeof message) < 0) fail_msg("%s", message);
        random_word = 3;
        set_random_state(&a, &b);
        assert_true(evaluate(&a) && evaluate(&b));
        assert_same(name[k], b.x->a, a.x->a, a.n.nv, 1e-12);
        assert_same(name[k], b.pose, a.pose, 7 * a.model->nbodies, 1e-13);
        free(theta);
        subject_release(&a);
        subject_release(&b);
    }
}

// Where it is may depend on parameters, though components in the coordinates of the subsystem are read: inside of each
// other, with a mirror whose point is such, repeated.
static void positions_in_expressions_live(void **state)
{
    static const char model[] =
        "kardan: 1\nparameters: {a: 1.3, b: 0.2, d: 0.4}\n"
        "definitions:\n"
        "  ball:\n    parameters: {k: 7}\n"
        "    bodies: {x: {position: [0.1, 0.2, 0.3], mass: 1, inertia: [1, 2, 2.5], centre: [0.03, 0.01, 0.02]}}\n"
        "    frames: {f: {body: x, point: [0.1, 0, 0.2]}}\n"
        "    forces: {pull: {type: applied, to: x, force: [-k*body.x.pos.x, -k*body.x.pos.y*body.x.pos.z, null]}}\n"
        "    sensors: {px: body.x.pos.x, py: body.x.com.y, pz: frame.f.pos.z, v: body.x.vel.y, w: body.x.omega.z,\n"
        "        r: body.x.R.xy, q: body.x.roll}\n"
        "  pair:\n    parameters: {h: 0.7}\n    subsystems:\n"
        "      u(i): {for: i = 1..2, of: ball, position: [i*h, 0.1, -h^2], orientation: {axis: [1, 0, 1], angle: "
        "0.3}}\n"
        "      v: {of: ball, mirror: [1, 2, 0.5], through: [h, 0, 2*h], position: [0, 1, 0]}\n"
        "subsystems:\n"
        "  s: {of: pair, position: [0, a, -b], orientation: {axis: [0, 1, 2], angle: 0.5}}\n"
        "  m: {of: pair, parameters: {h: d}, mirror: [0, 1, 0], through: [0, a + b, 0], position: [d, 0, 1]}\n"
        "  o: {of: ball, position: [a, 2, 3]}\n";
    (void)state;
    assert_lives(model, "a", 2.1);
    assert_lives(model, "b", -0.3);
    assert_lives(model, "d", 0.9);
    assert_lives(model, "s.h", 0.25);
}

// Read with expressions of parameters or with numbers in their place, components are the same.
static void positions_are_those_of_numbers(void **state)
{
    static const char *const place[2][4] = {{"[h, 0.1, -h^2]", "[h, 0, 2*h]", "[0, a, -b]", "[0, a + b, 0]"},
                                            {"[0.7, 0.1, -0.49]", "[0.7, 0, 1.4]", "[0, 1.3, -0.2]", "[0, 1.5, 0]"}};
    subject                  s[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        char written[3000];
        snprintf(written, sizeof written,
                 "kardan: 1\nparameters: {a: 1.3, b: 0.2}\ndefinitions:\n"
                 "  ball:\n    bodies: {x: {position: [0.1, 0.2, 0.3], mass: 1, inertia: [1, 2, 2.5], centre: [0.03, "
                 "0.01, 0.02]}}\n"
                 "    sensors: {x: body.x.pos.x, y: body.x.pos.y, z: body.x.pos.z, c: body.x.com.x}\n"
                 "  pair:\n    parameters: {h: 0.7}\n    subsystems:\n"
                 "      u: {of: ball, position: %s, orientation: {axis: [1, 0, 1], angle: 0.3}}\n"
                 "      v: {of: ball, mirror: [1, 2, 0.5], through: %s, position: [0, 1, 0], orientation: {yaw: 0.4}}\n"
                 "subsystems:\n  s: {of: pair, position: %s, orientation: {axis: [0, 1, 2], angle: 0.5}}\n"
                 "  m: {of: pair, mirror: [0.2, 1, 0], through: %s, position: [0.4, 0, 1]}\n",
                 place[k][0], place[k][1], place[k][2], place[k][3]);
        s[k] = subject_of(model_of(written), KD_JOINT);
    }
    random_word = 21;
    set_random_state(&s[0], &s[1]);
    assert_true(evaluate(&s[0]) && evaluate(&s[1]));
    assert_int_equal(s[0].n.ny, 16);
    assert_same("components", s[1].y, s[0].y, 16, 1e-14);
    for (int k = 0; k < 2; k++) subject_release(&s[k]);
}

// How it is turned may not: that has become part of such expressions, and this is told with parameter and subsystem.
static void turns_in_expressions_are_held(void **state)
{
    static const char model[] = "kardan: 1\nparameters: {a: 1, b: 2}\n"
                                "definitions:\n  d: {bodies: {x: {mass: 1, inertia: [1, 1, 1]}},\n"
                                "      sensors: {y: body.x.pos.y}}\n"
                                "subsystems: {s: {of: d, position: [0, a, b], orientation: {yaw: b}}}\n";
    char              message[1000];
    (void)state;
    subject      s = subject_of(model_of(model), KD_JOINT);
    const double theta[] = {1, 2.5};
    assert_int_equal(kd_system_set_parameters(s.system, theta, message, sizeof message), KD_ERR_MODEL);
    assert_string_equal(message, "test:6:65: parameter 'b' cannot be changed: 'yaw' of subsystem 's' depends on it; "
                                 "read the model again");
    subject_release(&s);
}

// Offers that lead nowhere are warned of, once for all instances, with file and line; those that nobody uses are not, nor
// those through a part that this instance leaves out.
static void offers_that_lead_nowhere_are_told(void **state)
{
    static const char model[] =
        "kardan: 1\ndefinitions:\n"
        "  d: {offers: [x, z], bodies: {x: {mass: 1, inertia: [1, 1, 1]}},\n"
        "      joints: {j: {type: fixed, bodies: [ground, x], point: [0, 0, 0]}}}\n"
        "  w:\n    needs: {hub: {type: body, default: ground}, u: {type: signal, default: 0}}\n"
        "    parameters: {k: 1}\n"
        "    offers:\n"
        "      wheel: body.wheel\n      whel: body.whel\n      point: frame.tip\n      tp: frame.tp\n"
        "      load: k*joint.spin.q + u\n      spn: k*joint.spn.q\n      word: kk*joint.spin.q\n      in: hub\n"
        "      signal: u\n      height: body.wheel.pos.z\n      way: body.wheel.pos.w\n      inner: part.x\n"
        "      other: part.y\n      gone: gone.x\n      time: 2*t\n"
        "    bodies: {wheel: {mass: 1, inertia: [1, 1, 1]}}\n    frames: {tip: {body: wheel, point: [0, 0, 1]}}\n"
        "    joints: {spin: {type: revolute, bodies: [hub, wheel], point: [0, 0, 0], axis: [0, 1, 0]}}\n"
        "    sensors: {p: frame.tip.pos.x}\n"
        "    subsystems: {part: {of: d}, gone: {of: d, enabled: 0}}\n"
        "  e: {offers: {more: body.more}, bodies: {x: {mass: 1, inertia: [1, 1, 1]}, more: {mass: 1, inertia: [1, 1, "
        "1]}},\n"
        "      joints: {j: {type: revolute, bodies: [ground, x], point: [1, 0, 0], axis: [0, 0, 1]}}}\n"
        "subsystems: {a: {of: w}, b: {of: w, position: [1, 0, 0]}, c: {of: e, replace: {more: null}}}\n";
    static const char *const right[] = {
        "test:10:13: the offer 'whel' leads nowhere: unknown body 'a.whel', did you mean 'a.wheel'?",
        "test:12:11: the offer 'tp' leads nowhere: unknown frame 'a.tp', did you mean 'a.tip'?",
        "test:14:12: the offer 'spn' leads nowhere: unknown joint 'a.spn', did you mean 'a.spin'?",
        "test:15:13: the offer 'word' leads nowhere: subsystem 'a': 'offers': unknown name 'kk'",
        "test:19:12: the offer 'way' leads nowhere: body 'a.wheel' has no 'pos.w', did you mean 'pos.x'?",
        ("test:21:14: the offer 'other' leads nowhere: subsystem 'a': subsystem 'a.part' does not offer 'y'; it offers "
         "x, z"),
        "test:3:19: the offer 'z' leads nowhere: there is no body or frame of this name",
    };
    enum { N = sizeof right / sizeof right[0] };
    (void)state;
    kd_model *m = model_of(model);
    for (int i = 0; i < kd_model_warning_count(m); i++) {
        if (i >= N) fail_msg("one more: %s", kd_model_warning(m, i));
        assert_string_equal(kd_model_warning(m, i), right[i]);
    }
    assert_int_equal(kd_model_warning_count(m), N);
    kd_model_destroy(m);
}

// Start velocities of a body in a mirror at y = 0 that is turned by 90 degrees about z afterwards: v = (1, 2, 3) becomes
// (1, -2, 3) and then (2, 1, 3); a turning w = (4, 5, 6) changes the other signs, (-4, 5, -6), and becomes (-5, -4, -6).
static void throws_have_images(void **state)
{
    static const char model[] =
        "kardan: 1\n"
        "definitions:\n  thrown: {bodies: {ball: {mass: 1, inertia: [1, 2, 2.5], position: [0.1, 0.2, 0.3],\n"
        "      velocity: [1, 2, 3], angular_velocity: [4, 5, 6]}}}\n"
        "subsystems: {image: {of: thrown, mirror: [0, 1, 0], orientation: {axis: [0, 0, 1], angle: pi/2},\n"
        "      position: [7, 8, 9]}}\n"
        "sensors: {px: body.image.ball.pos.x, py: body.image.ball.pos.y, pz: body.image.ball.pos.z,\n"
        "      vx: body.image.ball.vel.x, vy: body.image.ball.vel.y, vz: body.image.ball.vel.z,\n"
        "      wx: body.image.ball.omega.x, wy: body.image.ball.omega.y, wz: body.image.ball.omega.z}\n";
    static const char *const name[] = {"px", "py", "pz", "vx", "vy", "vz", "wx", "wy", "wz"};
    static const double      right[] = {7.2, 8.1, 9.3, 2, 1, 3, -5, -4, -6};
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject   s = subject_of(model_of(model), (kd_coordinates)c);
        kd_probe *probe = NULL;
        assert_int_equal(kd_probe_of_system(s.system, NULL, &probe), KD_OK);
        assert_int_equal(kd_probe_set(probe, s.x), KD_OK);
        for (size_t i = 0; i < sizeof right / sizeof *right; i++)
            if (!(fabs(kd_probe_read(probe, name[i]) - right[i]) < 1e-12))
                fail_msg("%s: %.15g, not %g", name[i], kd_probe_read(probe, name[i]), right[i]);
        kd_probe_destroy(probe);
        subject_release(&s);
    }
}

// Invariants in the same mirror: directions of momenta as velocities, those of angular momenta as turnings, points as points;
// and their values at the start are those of the part alone.
static void invariants_have_images(void **state)
{
    static const char model[] =
        "kardan: 1\ngravity: [0, 0, 0]\nparameters: {a: 2}\ndefinitions:\n  thrown:\n"
        "    bodies: {ball: {mass: 2, inertia: [1, 2, 2.5], position: [0.1, 0.2, 0.3], velocity: [1, 2, 3], "
        "angular_velocity: [4, 5, 6]}}\n"
        "    invariants:\n      push: {type: momentum, axis: [1, 2, 2], equals: 22/3}\n"
        "      spin: {type: angular_momentum, axis: [2, 1, 2], point: [0.1, 0.2, 0.3], equals: 16}\n"
        "      own: {type: expression, value: body.ball.vel.x + 2*body.ball.vel.y, equals: 5}\n"
        "subsystems: {image: {of: thrown, mirror: [0, 1, 0], orientation: {axis: [0, 0, 1], angle: pi/a}, "
        "position: [7, 8, 9]}}\n";
    static const double axis[2][3] = {{2, 1, 2}, {-1, -2, -2}}, point[3] = {7.2, 8.1, 9.3};
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject s = subject_of(model_of(model), (kd_coordinates)c);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(s.model->invariant[0].def.axis[i] - axis[0][i]) < 1e-12);
            assert_true(fabs(s.model->invariant[1].def.axis[i] - axis[1][i]) < 1e-12);
            assert_true(fabs(s.model->invariant[1].def.point[i] - point[i]) < 1e-12);
        }
        // what they are equal to is what the part has: (2 4 + 2*5 1 + 2.5*6 2)/3 = 16 and so on, so that nothing is corrected
        char      message[1000];
        kd_status status = kd_system_start(s.system, s.x, message, sizeof message);
        if (status != KD_OK) fail_msg("%s", message);
        subject_release(&s);
    }
}

// Conditions of the start are meant in the coordinates of the part, wherever it is.
static void conditions_have_images(void **state)
{
    static const char model[] =
        "kardan: 1\ndefinitions:\n  arm:\n    bodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {position: [1, 0, 0], "
        "mass: 1, "
        "inertia: [1, 1, 1]}}\n"
        "    joints:\n      j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: -0.8}\n"
        "      k: {type: revolute, bodies: [a, b], point: [1, 0, 0], axis: [0, 1, 0], q: 1}\n"
        "    frames: {tip: {body: b, point: [1, 0, 0]}}\n"
        "    start: {conditions: {height: frame.tip.pos.z - 0.5, reach: frame.tip.pos.x - 1.5, speed: frame.tip.vel.z "
        "- 0.3, "
        "rate: {value: frame.tip.vel.x, equals: 0.2}}}\n"
        "    sensors: {x: frame.tip.pos.x, z: frame.tip.pos.z, vx: frame.tip.vel.x, vz: frame.tip.vel.z}\n"
        "subsystems:\n  plain: {of: arm}\n  image: {of: arm, mirror: [1, 0, 0.4], position: [5, 1, 0], orientation: "
        "{axis: "
        "[0, 1, 0.3], angle: 0.4}}\n";
    static const char *const part[] = {"plain", "image"}, *const name[] = {"x", "z", "vx", "vz"};
    static const double right[] = {1.5, 0.5, 0.2, 0.3};
    (void)state;
    for (int c = 0; c < 2; c++) {
        subject   s = subject_of(model_of(model), (kd_coordinates)c);
        kd_probe *probe = NULL;
        assert_int_equal(kd_probe_of_system(s.system, NULL, &probe), KD_OK);
        assert_int_equal(kd_probe_set(probe, s.x), KD_OK);
        for (int k = 0; k < 8; k++) {
            char full[40];
            snprintf(full, sizeof full, "%s.%s", part[k / 4], name[k % 4]);
            if (!(fabs(kd_probe_read(probe, full) - right[k % 4]) < 1e-10))
                fail_msg("%s: %.15g, not %g", full, kd_probe_read(probe, full), right[k % 4]);
        }
        kd_probe_destroy(probe);
        subject_release(&s);
    }
}

// Angles of more than a turn are told as probable degrees, parameters that laws hide by names of their own as hidden; frames that
// a part offers need not be used.
static void warnings(void **state)
{
    static const char model[] =
        "kardan: 1\nparameters: {v: 3}\ndefinitions:\n  part:\n"
        "    bodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n    frames: {tip: {body: a, point: [1, 0, 0]}}\n"
        "    joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
        "    forces: {brake: {type: joint_spring, joint: j, law: -v}}\n"
        "subsystems: {p: {of: part, orientation: {axis: [0, 0, 1], angle: 90}}}\n";
    static const char *const told[] = {
        "test:9:66: subsystem 'p': angle: 90 rad is 14.3 turns; degrees are written '90 deg'",
        "test:2:17: parameter 'v': it is never used; where laws of elements have a quantity 'v' of their own, that is "
        "meant"};
    kd_model *m = model_of(model);
    (void)state;
    if (kd_model_warning_count(m) != 2) fail_msg("%d warnings", kd_model_warning_count(m));
    for (int i = 0; i < 2; i++) assert_string_equal(kd_model_warning(m, i), told[i]);
    kd_model_destroy(m);
}

// What no instance uses is told once, of the first one; what one of them uses, or a file that is included has, is not.
static void unused_names_are_told_once(void **state)
{
    static const char model[] =
        "kardan: 1\ndefinitions:\n  part:\n    parameters: {k: 1, c: 2}\n"
        "    bodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
        "    joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
        "    forces: {spring: {type: joint_spring, joint: j, stiffness: k}, damper: {type: joint_spring, joint: j, "
        "damping: c, law: input.push}}\n    inputs: {push: 1, u: 3}\n"
        "  other:\n    parameters: {never: 3}\n    bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n"
        "    joints: {j: {type: free, bodies: [ground, b]}}\n"
        "subsystems:\n  p(i): {for: i = 1..3, of: part}\n  q: {of: part, replace: {damper: null}}\n"
        "  r(i): {for: i = 1..3, of: other}\n";
    static const char *const told[] = {"test:8:23: input 'p(1).u': it is never used",
                                       "test:10:25: parameter 'r(1).never': it is never used"};
    kd_model                *m = model_of(model);
    (void)state;
    if (kd_model_warning_count(m) != 2) fail_msg("%d warnings, %s", kd_model_warning_count(m), kd_model_warning(m, 0));
    for (int i = 0; i < 2; i++) assert_string_equal(kd_model_warning(m, i), told[i]);
    kd_model_destroy(m);
}

// Sensors that show one path have its unit, with the other sign of a mirror, too
static void sensors_in_mirrors_have_units(void **state)
{
    static const char model[] =
        "kardan: 1\ndefinitions:\n  part:\n    bodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
        "    joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
        "    sensors: {y: body.a.vel.y, q: joint.j.q, none: body.a.vel.y - body.a.vel.x}\n"
        "subsystems: {p: {of: part}, q: {of: part, mirror: [0, 1, 0], position: [1, 0, 0]}}\n"
        "sensors: {turned: ( - joint.q.j.q ), both: (joint.p.j.q) + (joint.q.j.q)}\n";
    static const char *const expected[][2] = {{"p.y", "m/s"}, {"q.y", "m/s"},    {"q.q", "rad"}, {"p.none", ""},
                                              {"q.none", ""}, {"turned", "rad"}, {"both", ""}};
    kd_model                *m = model_of(model);
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(kd_channel_unit(m, expected[i][0]), expected[i][1]);
    kd_model_destroy(m);
}

// ---- size -----------------------------------------------------------------------------------------------------------

// 1000 subsystems of 10 bodies are read in far less than a second of processor time each 100: no search for names grows
// with their number.
static double seconds_to_read(int count)
{
    char model[2000];
    snprintf(
        model, sizeof model,
        "kardan: 1\ndefinitions:\n  d:\n    needs: {base: body}\n    parameters: {m: 1, l: 2*m}\n    bodies:\n"
        "      b(i): {for: i = 1..10, mass: m, inertia: [1, 1, 1], position: [l*i, 0, 0]}\n    joints:\n"
        "      j(i): {for: i = 2..10, type: revolute, bodies: [b(i-1), b(i)], point: [l*i, 0, 0], axis: [0, 0, 1]}\n"
        "      j(1): {type: revolute, bodies: [base, b(1)], point: [l, 0, 0], axis: [0, 0, 1]}\n"
        "    forces: {d: {type: joint_spring, joint: j(1), rest: 0, stiffness: 1, law: -m*joint.j(2).q}}\n"
        "subsystems: {part(k): {for: k = 1..%d, of: d, connect: {base: ground}, parameters: {m: 1 + k},\n"
        "             mirror: [1, k, 0], position: [k, 0, 0]}}\n",
        count);
    const clock_t begin = clock();
    kd_model     *m = model_of(model);
    const double  seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_int_equal(m->nbodies, 10 * count);
    assert_true(m->body[10 * count - 1].def.mass == 1 + count);
    kd_model_destroy(m);
    return seconds;
}

static void many_subsystems_are_read_quickly(void **state)
{
    (void)state;
    const double hundred = seconds_to_read(100), thousand = seconds_to_read(1000);
    print_message("100 subsystems of 10 bodies in %.3f s, 1000 in %.3f s\n", hundred, thousand);
    assert_true(thousand < 30 * fmax(hundred, 0.01)); // linear; a loaded machine is not the point
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cars_are_those_by_hand),
        cmocka_unit_test(parameters_of_subsystems_live),
        cmocka_unit_test(parameters_live_in_nested_mirrors),
        cmocka_unit_test(positions_in_expressions_live),
        cmocka_unit_test(positions_are_those_of_numbers),
        cmocka_unit_test(turns_in_expressions_are_held),
        cmocka_unit_test(offers_that_lead_nowhere_are_told),
        cmocka_unit_test(many_subsystems_are_read_quickly),
        cmocka_unit_test(random_mechanisms_have_images),
        cmocka_unit_test(mirrors_of_mirrors),
        cmocka_unit_test(throws_have_images),
        cmocka_unit_test(invariants_have_images),
        cmocka_unit_test(conditions_have_images),
        cmocka_unit_test(warnings),
        cmocka_unit_test(unused_names_are_told_once),
        cmocka_unit_test(sensors_in_mirrors_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
