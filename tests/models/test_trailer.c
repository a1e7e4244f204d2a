// Car and caravan: eigenvalues of the planar linear model with three kinds of hitch against tabulated ones, and the
// spatial model of the gallery: loads, straight driving, equal motion by constraints, coordinates and stiff springs.
#include <complex.h>

#include "gallery_run.h"

static table result[3];

// ---- planar, linear: eigenvalues ------------------------------------------------------------------------------------

// Seen from a frame that moves with V, so that V is only in the slip angles. coupling 0: joint coordinates, 1: two
// equations, 2: spring of stiffness k.
static const char PLANAR[] =
    "kardan: 1\n"
    "title: planar car and caravan\n"
    "parameters: {V: 20, coupling: 0, k: 1e8}\n"
    "gravity: [0, 0, 0]\n"
    "bodies:\n"
    "  car: {mass: 1600, inertia: [1300, 1300, 2600]}\n"
    "  trailer: {position: [-6.10, 0, 0], mass: 1200, inertia: [1100, 1100, 2200]}\n"
    "frames:\n"
    "  front: {body: car, point: [1.30, 0, 0]}\n"
    "  rear: {body: car, point: [-1.45, 0, 0]}\n"
    "  ball: {body: car, point: [-2.25, 0, 0]}\n"
    "  eye: {body: trailer, point: [3.85, 0, 0]}\n"
    "  axle: {body: trailer, point: [-0.15, 0, 0]}\n"
    "joints:\n"
    "  car: {type: planar, bodies: [ground, car], point: [0, 0, 0], axis: [0, 0, 1], motion: [0, null, null]}\n"
    "  hinge(i): {for: i = 1..1 - min(coupling, 1), type: revolute, from: ball, to: eye}\n"
    "  trailer(i): {for: i = 1..min(coupling, 1), type: planar, bodies: [ground, trailer], point: [-6.10, 0, 0],\n"
    "               axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  hitch(i): {for: i = 1..if(coupling == 1, 1, 0), type: point_on_line, from: ball, to: eye}\n"
    "forces:\n"
    "  hook(i): {for: i = 1..if(coupling == 2, 1, 0), type: bushing, from: ball, to: eye,\n"
    "            stiffness: [k, k, 0, 0, 0, 0]}\n"
    "  front: {type: applied, to: front, force: [null, -120e3*(frame.front.vel.y/V - body.car.yaw), null]}\n"
    "  rear: {type: applied, to: rear, force: [null, -140e3*(frame.rear.vel.y/V - body.car.yaw), null]}\n"
    "  axle: {type: applied, to: axle, force: [null, -100e3*(frame.axle.vel.y/V - body.trailer.yaw), null]}\n";

enum { MOST = 10 };

// The pencil x^2 M + x R_v + R_p, bordered by G where there are constraints.
typedef struct pencil {
    int    nv, nlambda;
    double M[MOST * MOST], R_v[MOST * MOST], R_p[MOST * MOST], G[MOST * MOST];
} pencil;

static pencil planar_pencil(double V, int coupling, double k)
{
    char       message[MAX_MODEL_TEXT] = "", value[3][40];
    kd_setting settings[3] = {{"V", value[0]}, {"coupling", value[1]}, {"k", value[2]}};
    snprintf(value[0], sizeof value[0], "%.17g", V);
    snprintf(value[1], sizeof value[1], "%d", coupling);
    snprintf(value[2], sizeof value[2], "%.17g", k);
    kd_model    *model = NULL;
    kd_system   *system = NULL;
    kd_state    *x = NULL;
    kd_eom_data *d = NULL;
    must(kd_model_read_text("planar", PLANAR, strlen(PLANAR), settings, 3, &model, message, sizeof message), "planar",
         KD_JOINT, message);
    must(kd_system_create(model, NULL, &system, message, sizeof message), "planar", KD_JOINT, message);
    const kd_eom *eom = kd_system_eom(system);
    must(kd_state_create(eom, &x), "planar", KD_JOINT, "");
    must(kd_system_start(system, x, message, sizeof message), "planar", KD_JOINT, message);
    must(kd_eom_data_create(eom, &d), "planar", KD_JOINT, "");
    kd_dims n = kd_eom_dims(eom);
    pencil  out = {.nv = n.nv, .nlambda = n.nlambda};
    assert_true(n.nv + n.nlambda <= MOST);
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
    kd_blocks blocks = {0};
    blocks.block[KD_RESIDUAL][KD_P] = out.R_p;
    blocks.block[KD_RESIDUAL][KD_V] = out.R_v;
    assert_int_equal(kd_eom_eval(d, KD_MASS, out.M), KD_EVAL_OK);
    assert_int_equal(kd_eom_derivatives(d, KD_PART_ALL, &blocks), KD_EVAL_OK);
    if (n.nlambda > 0) assert_int_equal(kd_eom_constraint_matrices(d, out.G, NULL), KD_EVAL_OK);
    kd_eom_data_destroy(d);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return out;
}

// Determinant by elimination with pivots; rows and columns are scaled for numbers of moderate size.
static double complex determinant(const pencil *p, double complex x)
{
    const int      n = p->nv + p->nlambda;
    double complex A[MOST][MOST] = {{0}}, det = 1;
    for (int i = 0; i < p->nv; i++)
        for (int j = 0; j < p->nv; j++) {
            int k = i + j * p->nv;
            A[i][j] = (x * x * p->M[k] + x * p->R_v[k] + p->R_p[k]) / 1e4;
        }
    for (int i = 0; i < p->nlambda; i++)
        for (int j = 0; j < p->nv; j++) A[p->nv + i][j] = A[j][p->nv + i] = p->G[i + j * p->nlambda];
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (cabs(A[i][k]) > cabs(A[best][k])) best = i;
        for (int j = 0; j < n && best != k; j++) {
            double complex kept = A[k][j];
            A[k][j] = A[best][j], A[best][j] = kept;
        }
        if (best != k) det = -det;
        det *= A[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--) A[i][j] -= A[i][k] / A[k][k] * A[k][j];
    }
    return det;
}

// The eigenvalue near a guess: secants on the determinant.
static double complex eigenvalue_near(const pencil *p, double complex guess)
{
    double complex a = guess, b = guess * (1 + 1e-4), fa = determinant(p, a), fb = determinant(p, b);
    for (int i = 0; i < 30 && cabs(b - a) > 1e-13 * cabs(b) && fa != fb; i++) {
        double complex c = b - fb * (b - a) / (fb - fa);
        a = b, fa = fb;
        b = c, fb = determinant(p, b);
    }
    return b;
}

static const double sway[][5] = {
    {10, -15.5011918544, 1.5065880572, -3.6549601510, 2.4909590199},
    {20, -8.1697351982, 1.9185154221, -1.4083408046, 4.1001955305},
    {30, -5.8108723612, 2.1774968849, -0.5745116406, 4.1938785665},
    {40, -4.6584220486, 2.3562981135, -0.1306159528, 4.1429397762},
};

// Car and sway have the tabulated eigenvalues, with the hitch as a joint of the tree and as two constraints.
static void hard_hitch_sways_as_computed(void **state)
{
    (void)state;
    for (int coupling = 0; coupling < 2; coupling++)
        for (size_t i = 0; i < sizeof sway / sizeof *sway; i++) {
            pencil p = planar_pencil(sway[i][0], coupling, 0);
            assert_int_equal(p.nv, coupling == 0 ? 3 : 5);
            assert_int_equal(p.nlambda, coupling == 0 ? 0 : 2);
            for (int pair = 0; pair < 2; pair++) {
                double complex wanted = sway[i][1 + 2 * pair] + sway[i][2 + 2 * pair] * I;
                double complex found = eigenvalue_near(&p, wanted * (1 + 1e-3));
                assert_close(cabs(found - wanted), 0, 3e-9);
            }
        }
}

// Sway begins at 44.18 m/s.
static void sway_begins_at_critical_speed(void **state)
{
    (void)state;
    pencil         p = planar_pencil(44.18271029034, 1, 0);
    double complex found = eigenvalue_near(&p, 0.01 + 4.1 * I);
    assert_close(creal(found), 0, 1e-9);
    assert_close(cimag(found), 4.113240002209, 1e-9);
}

// A spring in place of the joint comes near these values, with an error that falls like 1/k.
static void spring_tends_to_joint(void **state)
{
    const double complex wanted = sway[1][3] + sway[1][4] * I;
    double               error[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        pencil p = planar_pencil(sway[1][0], 2, pow(10, 6 + i));
        error[i] = cabs(eigenvalue_near(&p, wanted) - wanted);
    }
    assert_close(error[0] / error[1], 10, 0.5);
    assert_close(error[1] / error[2], 10, 0.1);
    assert_true(error[2] < 1e-3 && error[2] > 1e-7);
}

// ---- the model of the gallery ---------------------------------------------------------------------------------------

// Rolls straight on without transient: hitch load from the caravan's centre of mass, axle loads from the balance of the
// car (its mass and centre, hitch 0.5 m behind the rear axle, rolling resistance), forces along the hitch vanish.
static void caravan_follows_straight_on(void **state)
{
    const double hitch = 1150 * GRAVITY * 0.15 / 4, weight = 1804.283 * GRAVITY, base = 2.75717;
    const double shift = 0.010 * (weight + hitch) * 0.305 / base;
    const double rear = (weight * 1.40802 + hitch * 3.25) / base + shift, front = weight + hitch - rear;
    (void)state;
    run_model("car-trailer", NULL, KD_JOINT, 3, 3, &result[0]);
    assert_int_equal(result[0].info.dof, 20);
    for (int k = 0; k <= 3; k++) {
        assert_close(at(&result[0], k, "weight(1)"), hitch, 0.01);
        assert_close(at(&result[0], k, "pull(1)"), 0, 0.1);
        assert_close(at(&result[0], k, "caravan-load(1)"), (1200 * GRAVITY - hitch) / 2, 0.01);
        assert_close(at(&result[0], k, "front-load(1)"), front / 2, 1);
        assert_close(at(&result[0], k, "rear-load(2)"), rear / 2, 1);
        assert_close(at(&result[0], k, "front-load(1)"), at(&result[0], 0, "front-load(2)"), 1e-4);
        assert_close(at(&result[0], k, "y"), 0, 1e-9);
        assert_close(at(&result[0], k, "x") - at(&result[0], 0, "x"), 15 * k, 1e-5);
    }
}

static void assert_same(const char *const *sensors, const table *a, const table *b, double tolerance)
{
    for (; *sensors; sensors++)
        for (int k = 0; k < a->rows; k++) {
            double size = 0;
            for (int row = 0; row < a->rows; row++) size = fmax(size, fabs(at(a, row, *sensors)));
            if (!(fabs(at(a, k, *sensors) - at(b, k, *sensors)) <= tolerance * (1e-3 + size)))
                fail_msg("%s at t = %g: %.12g and %.12g", *sensors, a->t[k], at(a, k, *sensors), at(b, k, *sensors));
        }
}

static const char *const MOTION[] = {"x", "y", "yaw", "roll", "lateral", "caravan-y", "caravan-yaw", "wanted", NULL};

// Through the double lane change the hitch by constraints and by coordinates gives one motion, which ends in the lane
// where it began.
static void lane_change_is_the_same_by_constraints_and_coordinates(void **state)
{
    (void)state;
    run_model("car-trailer", NULL, KD_JOINT, 14, 56, &result[0]);
    run_model("car-trailer", "coupling=0", KD_JOINT, 14, 56, &result[1]);
    assert_same(MOTION, &result[0], &result[1], 2e-4);
    double top = 0;
    for (int k = 0; k <= 56; k++) {
        top = fmax(top, at(&result[0], k, "y"));
        assert_close(at(&result[0], k, "defect"), 0, 1e-12);
        assert_true(at(&result[0], k, "caravan-load(1)") > 1000); // all wheels stay on the road
        assert_true(at(&result[0], k, "caravan-load(2)") > 1000);
    }
    assert_close(top, 3.5, 0.1);
    assert_close(at(&result[0], 56, "y"), 0, 0.01);
    assert_close(at(&result[0], 56, "caravan-yaw"), 0, 1e-3);
}

// The stiffer the spring of the hitch, the smaller its defect, and the nearer the motion.
static void hook_tends_to_ball(void **state)
{
    static const char *const settings[2] = {"coupling=2 hook_k=1e6", "coupling=2 hook_k=1e8 hook_c=2e5"};
    double                   defect[2] = {0};
    (void)state;
    run_model("car-trailer", NULL, KD_JOINT, 5, 20, &result[0]);
    for (int i = 0; i < 2; i++) {
        run_model("car-trailer", settings[i], KD_JOINT, 5, 20, &result[1]);
        assert_int_equal(result[1].info.dof, 23);
        assert_same(MOTION, &result[0], &result[1], i == 0 ? 0.03 : 1e-3);
        for (int k = 0; k <= 20; k++) defect[i] = fmax(defect[i], at(&result[1], k, "defect"));
    }
    assert_true(defect[0] > 1e-4 && defect[0] < 1e-3);
    assert_close(defect[0] / defect[1], 100, 15);
}

// In Cartesian coordinates the same motion, into the first bend of the figure eight.
static void caravan_is_the_same_in_both(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_model("car-trailer", "course=2 speed=10", BOTH[c], 1, 2, &result[c]);
    assert_true(at(&result[0], 2, "yaw") < -3e-3);
    assert_same(MOTION, &result[0], &result[1], 1e-4);
}

// Round the figure eight and back to its middle: both loops to the sides that they should, within a lane of the line
// x = A sin w, y = B/2 sin 2w, which is turned by atan(B/A).
static void figure_eight_is_followed(void **state)
{
    const double A = 100, B = 60, c = A / hypot(A, B), s = B / hypot(A, B);
    (void)state;
    run_model("car-trailer", "course=2 speed=10", KD_JOINT, 50, 100, &result[0]);
    for (int k = 0; k <= 100; k++) {
        double x = at(&result[0], k, "x"), y = at(&result[0], k, "y"), nearest = INFINITY;
        for (int i = 0; i < 2000; i++) {
            double w = 2 * PI * i / 2000, ex = A * sin(w), ey = B / 2 * sin(2 * w);
            nearest = fmin(nearest, hypot(c * ex + s * ey - x, c * ey - s * ex - y));
        }
        assert_true(nearest < 1.75);
    }
}

// Derivatives and constraint levels agree with differences, for each kind of hitch, in both coordinate sets.
static void checker_accepts_caravan(void **state)
{
    static const char *const settings[] = {"degressive=0", "degressive=0 coupling=2",
                                           "degressive=0 coupling=0 course=2"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        char              message[MAX_MODEL_TEXT] = "", report[4000] = "";
        const int         c = k == 3 ? 1 : 0;
        kd_model         *model = read_gallery("car-trailer", settings[k % 3]);
        kd_system        *system = NULL;
        kd_state         *x = NULL;
        kd_system_options options = kd_system_options_default();
        options.coordinates = BOTH[c];
        must(kd_system_create(model, &options, &system, message, sizeof message), "car-trailer", BOTH[c], message);
        must(kd_state_create(kd_system_eom(system), &x), "car-trailer", BOTH[c], "");
        must(kd_system_start(system, x, message, sizeof message), "car-trailer", BOTH[c], message);
        kd_check_options opt = kd_check_options_default();
        opt.spread = 0.01; // wheels stay on the road
        kd_status status =
            kd_eom_check(kd_system_eom(system), kd_system_inputs(system), x, &opt, report, sizeof report);
        if (status != KD_OK) fail_msg("%s: %s", settings[k % 3], report);
        kd_state_destroy(x);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_hitch_sways_as_computed),
        cmocka_unit_test(sway_begins_at_critical_speed),
        cmocka_unit_test(spring_tends_to_joint),
        cmocka_unit_test(caravan_follows_straight_on),
        cmocka_unit_test(lane_change_is_the_same_by_constraints_and_coordinates),
        cmocka_unit_test(hook_tends_to_ball),
        cmocka_unit_test(caravan_is_the_same_in_both),
        cmocka_unit_test(figure_eight_is_followed),
        cmocka_unit_test(checker_accepts_caravan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
