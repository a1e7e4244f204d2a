// Wheels on rails. The carriage: sizes and structure, derivatives, modes of car and bogies, forces on straight track
// and in the curve, both ways to find the contact, energy. Single wheelsets: equations written by hand, laws and
// profiles.
#include <lapacke.h>

#include "core/failing_allocator.h"
#include "gallery_run.h"

static table result, other;

typedef struct loaded {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_eom_data *data;
} loaded;

static loaded load(const char *settings)
{
    char   message[MAX_MODEL_TEXT] = "";
    loaded l = {.model = read_gallery("carriage", settings)};
    must(kd_system_create(l.model, NULL, &l.system, message, sizeof message), "carriage", KD_JOINT, message);
    assert_int_equal(kd_state_create(kd_system_eom(l.system), &l.x), KD_OK);
    must(kd_system_start(l.system, l.x, message, sizeof message), "carriage", KD_JOINT, message);
    assert_int_equal(kd_eom_data_create(kd_system_eom(l.system), &l.data), KD_OK);
    kd_eom_at_time(l.data, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(l.data, l.x->p, l.x->s);
    kd_eom_at_velocity(l.data, l.x->v, l.x->r);
    kd_eom_at_acceleration(l.data, l.x->a, l.x->w, l.x->lambda, l.x->mu);
    return l;
}

static void unload(loaded *l)
{
    kd_eom_data_destroy(l->data);
    kd_state_destroy(l->x);
    kd_system_destroy(l->system);
    kd_model_destroy(l->model);
}

// 41 coordinates, 8 constraints: 98 unknowns with the multipliers of both levels, 106 with contact coordinates; inner
// states of the series dampers.
static void sizes(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        loaded  l = load(k == 0 ? "" : k == 1 ? "unknown_contact=1" : "series=1");
        kd_dims n = kd_eom_dims(kd_system_eom(l.system));
        assert_int_equal(n.np, 41);
        assert_int_equal(n.nv, 41);
        assert_int_equal(n.nlambda, 8);
        assert_int_equal(n.ns, k == 1 ? 8 : 0);
        assert_int_equal(n.nr, k == 2 ? 16 : 0);
        assert_int_equal(n.np + n.nv + n.ns + 2 * n.nlambda, k == 1 ? 106 : 98);
        unload(&l);
    }
}

// The fullest row of a Newton matrix: a bogie feels itself, the car and two wheelsets, by position and velocity.
static void structure(void **state)
{
    (void)state;
    loaded     l = load("");
    kd_pattern p, v;
    int        fullest = 0, rows[2][41] = {{0}};
    assert_true(kd_eom_pattern(kd_system_eom(l.system), KD_RESIDUAL, KD_P, &p));
    assert_true(kd_eom_pattern(kd_system_eom(l.system), KD_RESIDUAL, KD_V, &v));
    for (int k = 0; k < p.column[p.columns]; k++) rows[0][p.row[k]]++;
    for (int k = 0; k < v.column[v.columns]; k++) rows[1][v.row[k]]++;
    for (int i = 0; i < 41; i++) fullest = rows[0][i] + rows[1][i] > fullest ? rows[0][i] + rows[1][i] : fullest;
    assert_int_equal(fullest, 2 * (6 + 5 + 12));
    unload(&l);
}

// All derivatives and levels agree with differences, for all laws and both ways to find the contact.
static void derivatives(void **state)
{
    static const char *const settings[] = {"", "unknown_contact=1", "unknown_contact=1 worn=1 creep=3",
                                           "load_given=1 creep=1 series=1"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        char   report[4000] = "";
        loaded l = load(settings[k]);
        l.x->t = 3.0; // in the curve
        if (kd_eom_check(kd_system_eom(l.system), NULL, l.x, NULL, report, sizeof report) != KD_OK)
            print_error("%s: %s", settings[k], report);
        assert_string_equal(report, "");
        unload(&l);
    }
}

// Eigenvalues of M a + D v + K p = 0 for the first n coordinates.
static void eigenvalues(const loaded *l, int n, double *re, double *im)
{
    enum { NV = 41, MOST = 17 };
    static double K[NV * NV], D[NV * NV], M[NV * NV];
    double        A[4 * MOST * MOST] = {0}, m[MOST * MOST], right[2 * MOST * MOST];
    int           pivot[MOST];
    kd_blocks     blocks = {0};
    blocks.block[KD_RESIDUAL][KD_P] = K;
    blocks.block[KD_RESIDUAL][KD_V] = D;
    blocks.block[KD_RESIDUAL][KD_A] = M;
    assert_int_equal(kd_eom_derivatives(l->data, KD_PART_ALL, &blocks), KD_EVAL_OK);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            m[i + j * n] = M[i + j * NV];
            right[i + j * n] = -K[i + j * NV];
            right[i + (n + j) * n] = -D[i + j * NV];
        }
    assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, n, 2 * n, m, n, pivot, right, n), 0);
    for (int j = 0; j < 2 * n; j++)
        for (int i = 0; i < n; i++) {
            A[i + j * 2 * n] = j == n + i;
            A[n + i + j * 2 * n] = right[i + j * n];
        }
    assert_int_equal(LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', 'N', 2 * n, A, 2 * n, re, im, NULL, 1, NULL, 1), 0);
}

// Car and bogies on wheelsets that are held, without weight: frequencies (damped, Hz) and damping ratios of an
// independent linear program. The weight on the springs, which is not in that program, makes the lower sway slower.
static void modes(void **state)
{
    static const struct {
        double frequency, damping;
    } mode[] = {{0.6308, 0.239}, {0.7392, 0.525}, {1.0703, 0.135}, {1.1145, 0.354}, {1.3372, 0.158}, {7.194, 0.241},
                {7.216, 0.237},  {9.070, 0.318},  {9.116, 0.316},  {11.937, 0.128}, {11.938, 0.128}, {12.531, 0.152},
                {12.564, 0.150}, {35.303, 0.054}, {35.303, 0.054}, {36.066, 0.072}, {36.066, 0.072}};
    enum { MODES = sizeof mode / sizeof *mode };
    double re[2 * MODES], im[2 * MODES], lowest[2] = {1e9, 1e9};
    (void)state;
    for (int weight = 0; weight < 2; weight++) {
        loaded l = load(weight ? "" : "g=1e-6");
        eigenvalues(&l, MODES, re, im);
        for (int i = 0; i < 2 * MODES; i++)
            if (im[i] > 0) lowest[weight] = fmin(lowest[weight], im[i] / (2 * PI));
        for (int k = 0; k < MODES && !weight; k++) {
            int found = -1;
            for (int i = 0; i < 2 * MODES; i++)
                if (im[i] > 0 && fabs(im[i] / (2 * PI) - mode[k].frequency) < 6e-4 &&
                    fabs(-re[i] / hypot(re[i], im[i]) - mode[k].damping) < 6e-4)
                    found = i;
            if (found < 0) print_error("no mode of %g Hz\n", mode[k].frequency);
            assert_true(found >= 0);
        }
        unload(&l);
    }
    assert_true(lowest[1] < lowest[0] - 0.03 && lowest[1] > 0.5);
}

// The change of line at 30 m/s: all eight wheels carry the same load at the start, together the weight at all times;
// the rails push the carriage to the inside by m V^2 kappa; all wheelsets return to the middle; both ways to find the
// contact give the same motion; the balance of energies closes (in run_model).
static void line_change(void **state)
{
    enum { TIMES = 60 };
    const double mass = 32000 + 2 * 2615 + 4 * 1813, kappa0 = 7.068583470577e-4;
    char         name[64];
    (void)state;
    run_model("carriage", "", KD_JOINT, 15, TIMES, &result);
    run_model("carriage", "unknown_contact=1", KD_JOINT, 15, TIMES, &other);
    for (int k = 0; k <= TIMES; k++) {
        double s = 30 * result.t[k] - 50, kappa = s > 0 && s < 200 ? kappa0 * sin(2 * PI * s / 200) : 0;
        assert_close(at(&result, k, "vertical"), mass * GRAVITY, 100);
        assert_close(at(&result, k, "lateral"), mass * 900 * kappa, 0.15 * mass * 900 * kappa0);
        assert_close(at(&result, k, "car_y"), at(&other, k, "car_y"), 2e-6);
    }
    for (int k = 1; k <= 4; k++) {
        snprintf(name, sizeof name, "load_left(%d)", k);
        assert_close(at(&result, 0, name), 54546.0525, 1e-4);
        snprintf(name, sizeof name, "load_right(%d)", k);
        assert_close(at(&result, 0, name), 54546.0525, 1e-4);
        snprintf(name, sizeof name, "wheels_y(%d)", k);
        assert_close(at(&result, -1, name), 0, 5e-4);
        for (int i = 0; i <= TIMES; i++) {
            assert_close(at(&result, i, name), 0, 0.0105); // 8 mm to the flange, which gives way
            assert_close(at(&result, i, name), at(&other, i, name), 2e-6);
        }
    }
}

// Hunting: a carriage that starts beside the middle comes to rest there at 30 m/s, and does not at 130 m/s.
static void hunting(void **state)
{
    (void)state;
    run_model("carriage", "shift=0 offset=0.003", KD_JOINT, 6, 12, &result);
    assert_close(at(&result, 0, "wheels_y(1)"), 0.003, 1e-6);
    for (int i = 8; i <= 12; i++) assert_close(at(&result, i, "wheels_y(1)"), 0, 0.001);
    double most = 0;
    run_model("carriage", "shift=0 offset=0.003 V=130", KD_JOINT, 3, 30, &result);
    for (int i = 20; i <= 30; i++) most = fmax(most, fabs(at(&result, i, "wheels_y(1)")));
    assert_true(most > 0.004);
}

// The wheelset of the hand-written equations: accelerations and multipliers at the start, the motion of the reference
// while both are in step (their creep forces have other axes), the amplitude of the limit cycle; both coordinate sets.
static void hunting_wheelset(void **state)
{
    double row[32], most = 0, wanted = 0;
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("hunting-wheelset", "", BOTH[c], 0.2, 2, &result);
        assert_close(at(&result, 0, "left"), 83.59184, 3e-3);
        assert_close(at(&result, 0, "right"), 74.14553, 3e-3);
        assert_close(at(&result, 0, "roll"), 2.64593458789e-4, 1e-13);
        for (int k = 1; k <= 2; k++) {
            assert_true(reference_row("wheelset", 0.1 * k, row, 32) > 6);
            assert_close(at(&result, k, "y"), row[1], 3e-6);
            assert_close(at(&result, k, "yaw"), row[4], 6e-6);
            assert_close(at(&result, k, "roll"), row[5], 6e-7);
            assert_close(at(&result, k, "contact"), row[14], 3e-6);
        }
    }
    run_model("hunting-wheelset", "unknown_contact=1", KD_JOINT, 10, 100, &result);
    for (int k = 60; k <= 100; k++) {
        assert_true(reference_row("wheelset", 0.1 * k, row, 32) > 6);
        most = fmax(most, fabs(at(&result, k, "y")));
        wanted = fmax(wanted, fabs(row[1]));
    }
    assert_close(most, wanted, 0.04 * wanted);
}

// In a curve the cone runs where its radii roll purely, y = -r l/(R slope); the wheelset without creep where springs
// and the shape of its wheels carry m V^2/R; the one with tabulated profiles further outwards than the cone.
static void wheel_profiles(void **state)
{
    double cone = 0, worn = 0;
    (void)state;
    run_model("wheel-profiles", "", KD_JOINT, 10, 100, &result);
    for (int k = 60; k < 100; k++) cone += at(&result, k, "y_cone") / 40, worn += at(&result, k, "y_worn") / 40;
    assert_close(cone, -0.46 * 0.75 / (6000 * 0.05), 1e-4);
    assert_close(at(&result, -1, "side_smooth") - 2 * 2e4 * at(&result, -1, "y_smooth"), 1500 * 400 / 6000.0, 0.1);
    assert_true(worn < 1.1 * cone && worn > 2.2 * cone);
    assert_close(at(&result, 5, "y_worn"), 0, 1e-5); // straight; the laws of its two wheels differ
}

// Measured profiles through curves of 500, 1000 and 2000 m with the quasi-elastic contact: the runs end with a clean
// certificate. At 500 m the wheelset hunts up to its flange, which then carries (the place of contact lies inside of
// the tread); on average rails, springs and dampers push it with m V^2/R, but for what changes its velocity.
static void flange_contact(void **state)
{
    static const struct {
        const char *settings;
        double      t_end;
    } run[] = {{"radius=500", 5.5}, {"radius=1000", 3.2}, {"radius=2000", 3.2}};
    enum { TIMES = 100, FROM = 64 }; // in the round curve
    (void)state;
    for (int k = 0; k < 3; k++) {
        run_model("wheel-profiles", run[k].settings, KD_JOINT, run[k].t_end, TIMES, &result);
        assert_true(result.t[result.rows - 1] == run[k].t_end);
        if (k > 0) continue;
        double push = 0, furthest = 0, inside = 1;
        for (int i = FROM; i <= TIMES; i++) {
            const double end = i == FROM || i == TIMES ? 0.5 : 1.0; // of the trapezoidal rule
            push += end * (at(&result, i, "side_worn") - 2 * 2e4 * at(&result, i, "y_worn")) / (TIMES - FROM);
            furthest = fmin(furthest, at(&result, i, "y_worn"));
            inside = fmin(inside, -at(&result, i, "contact_worn"));
        }
        const double way = at(&result, TIMES, "y_worn") - at(&result, FROM, "y_worn");
        push -= 2 * 2e4 * way / (result.t[TIMES] - result.t[FROM]);
        assert_close(push, 1500 * 400 / 500.0, 100);
        assert_true(furthest < -7e-3);
        assert_true(inside < 0.75 - 0.03);
    }
}

// Rolling radius difference and angles of contact of a wheelset over its shift, that rolls as its profiles let it, are those of the
// plane figure of both profiles: least gaps on both sides that vanish, found by search in Python with splines of its own. The
// quasi-elastic contact tends to them where the place does not jump.
static void radius_difference(void **state)
{
    static const double own[][4] = {{-0.0075, -0.00429977932, -0.009798758, 0.3680797},
                                    {-0.005, -0.00104581842, -0.008594947, 0.09299982},
                                    {-0.003, -0.00071813962, -0.008957898, 0.07158405},
                                    {-0.001, -5.98763104e-05, -0.01138195, 0.01836074},
                                    {0, 0, -0.01395035, 0.01395035},
                                    {0.0012, 7.44679364e-05, -0.01963252, 0.01100703},
                                    {0.0026, 0.000666357339, -0.06820787, 0.009242425},
                                    {0.004, 0.000865384151, -0.08120265, 0.008582309},
                                    {0.006, 0.0012850298, -0.1087732, 0.008913851},
                                    {0.007, 0.00386964584, -0.31595, 0.009464194}};
    static const double soft[] = {0, 1e-6}, radius[] = {5e-9, 2e-5}, angle[] = {1e-6, 1e-3};
    (void)state;
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        for (int i = 0; i < 2; i++) {
            char settings[60];
            snprintf(settings, sizeof settings, "y0=%g soft=%g", own[k][0], soft[i]);
            run_model("../tests/models/wheelset-shift.yaml", settings, KD_JOINT, 1e-3, 1, &result);
            assert_close(at(&result, 0, "difference"), own[k][1], radius[i]);
            assert_close(atan(at(&result, 0, "left")), own[k][2], angle[i]);
            assert_close(atan(at(&result, 0, "right")), own[k][3], angle[i]);
        }
}

// Memory that runs out while the wheelset is read and made into equations is said, and nothing is lost.
static void out_of_memory(void **state)
{
    (void)state;
    long all = 0;
    for (long fail_at = 0; fail_at <= all; fail_at += 1 + all / 40) {
        failing_allocator f = {.fail_at = fail_at};
        kd_model         *model = NULL;
        kd_system        *system = NULL;
        failing_allocator_use(&f);
        kd_status status = kd_model_read(KD_SOURCE_DIR "/models/wheel-profiles.yaml", NULL, 0, &model, NULL, 0);
        if (status >= 0) status = kd_system_create(model, NULL, &system, NULL, 0);
        kd_system_destroy(system);
        kd_model_destroy(model);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (fail_at == 0) all = f.calls;
        assert_true(fail_at == 0 ? status >= 0 : status == KD_ERR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(structure),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(modes),
        cmocka_unit_test(line_change),
        cmocka_unit_test(hunting),
        cmocka_unit_test(hunting_wheelset),
        cmocka_unit_test(wheel_profiles),
        cmocka_unit_test(flange_contact),
        cmocka_unit_test(radius_difference),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
