// Vehicles of the papers' size: tractor with semi-trailer, passenger car in rubber, truck of 41 bodies. Counts, statics by
// published numbers and by the lever rule, the same motion in both coordinate sets; the library parts that they are made of.
#include "gallery_run.h"

static table result[2];

// Largest difference of two runs at all times, over the largest value, of a sensor
static double differs(const char *sensor)
{
    double most = 0, size = 1e-12;
    for (int k = 0; k < result[0].rows; k++) {
        size = fmax(size, fabs(at(&result[0], k, sensor)));
        most = fmax(most, fabs(at(&result[0], k, sensor) - at(&result[1], k, sensor)));
    }
    return most / size;
}

// ---- tractor with semi-trailer --------------------------------------------------------------------------------------

// At small angles (gravity and spring preload a thousandth) kingpin and axles carry the published loads: springs and tyres
// in series, frictionless coupling; tests/vehicle/trailer_statics.py computes the same numbers on its own.
static void tractor_carries_published_loads(void **state)
{
    static const struct {
        const char *sensor;
        double      load;
    } published[] = {{"kingpin", 43041.838},      {"front-load", 65375.852},   {"rear-load(1)", 64066.283},
                     {"rear-load(2)", 45536.649}, {"axle-load(1)", 55567.952}, {"axle-load(2)", 58194.499},
                     {"axle-load(3)", 60821.045}};
    const double small = 1e-3;
    double       sum = 0;
    (void)state;
    // from the design position, without speed, rolling and pitman arm
    run_model("tractor-semitrailer",
              "g=9.81e-3 free=0.200062122551 speed=0 manoeuvre=0 pitman=1e-9 drag=0 heave=0 nose=0 tail=0 up_front=0 "
              "up_rear=0 up_rear2=0 up_axle=0 up_axle2=0 up_axle3=0",
              KD_JOINT, 12, 1, &result[0]);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        assert_close(at(&result[0], -1, published[i].sensor) / small, published[i].load, 3e-4 * published[i].load);
        if (i > 0) sum += at(&result[0], -1, published[i].sensor) / small;
    }
    assert_close(sum, 349562.28, 1);
    assert_int_equal(result[0].info.dof, 33);
}

// Both coordinate sets give the same lane change; the driver ends in his lane, the trailer behind him.
static void tractor_changes_lanes(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++)
        run_model("tractor-semitrailer", "manoeuvre=2 driver.at=0.1", BOTH[c], 0.5, 5, &result[c]);
    static const char *const compared[] = {"x", "y", "yaw", "fold", "swing", "front-load"};
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (!(differs(compared[i]) < 2e-4)) fail_msg("%s differs by %.1e", compared[i], differs(compared[i]));
    run_model("tractor-semitrailer", NULL, KD_JOINT, 14, 14, &result[0]);
    // steady at the start: the kingpin carries what the axles leave of the trailer's weight, turned by the pitch
    double axles = 0;
    axles += at(&result[0], 0, "axle-load(1)") + at(&result[0], 0, "axle-load(2)") + at(&result[0], 0, "axle-load(3)");
    assert_close(at(&result[0], 0, "kingpin"), 9.81 * (20000 + 3 * (500 + 2 * 114.005)) - axles, 40);
    assert_close(at(&result[0], 7, "y"), 3.5, 0.15); // in the other lane
    assert_close(at(&result[0], -1, "y"), 0, 0.05);
    assert_close(at(&result[0], -1, "swing"), 0, 0.1);
    assert_close(at(&result[0], -1, "speed"), 15, 0.2);
}

// Braking in a turn: the trailer pushes, the train stops and stands.
static void tractor_brakes_in_a_turn(void **state)
{
    (void)state;
    run_model("tractor-semitrailer", "manoeuvre=3", KD_JOINT, 13, 13, &result[0]);
    assert_close(at(&result[0], -1, "speed"), 0, 1e-3);
    assert_true(fabs(at(&result[0], -1, "fold")) < 0.06 && at(&result[0], -1, "y") > 10);
    // deceleration by the brake torques: 12 wheels, 0.4 of 8000 N m, and rolling resistance
    const double force = 0.4 * 8000 * (6 / 0.53 + 6 / 0.513) + 0.015 * 349578;
    assert_close((at(&result[0], 6, "speed") - at(&result[0], 8, "speed")) / 2, force / 35635, 0.1);
}

// ---- passenger car in rubber ----------------------------------------------------------------------------------------

// n_p of S0's full vehicles; weight, and axle loads by the lever rule with the masses of the file.
static void car_in_rubber(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_model("passenger-car-bushings", NULL, BOTH[c], 0.01, 2, &result[c]);
    assert_int_equal(result[0].info.nbodies, 33);
    assert_int_equal(result[0].info.dof, 144);
    static const char *const compared[] = {"x", "speed", "engine", "front-load(1)", "rear-load(2)"};
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (!(differs(compared[i]) < 2e-3)) fail_msg("%s differs by %.1e", compared[i], differs(compared[i]));
    run_model("passenger-car-bushings", NULL, KD_JOINT, 0.7, 1, &result[0]);
    const double front = at(&result[0], -1, "front-load(1)") + at(&result[0], -1, "front-load(2)");
    const double rear = at(&result[0], -1, "rear-load(1)") + at(&result[0], -1, "rear-load(2)");
    // as passenger-car: 2 (4320.8 + 4529.2) N
    assert_close(front + rear, 17700.0, 40);
    assert_close(front, 2 * 4320.85, 120);
}

// ---- truck of 41 bodies ---------------------------------------------------------------------------------------------

// Counts of S1, Fig. 8; the start is the equilibrium of the lever rule, so that nothing moves much on a level road.
static void truck_41_stands(void **state)
{
    const double mass = 700 + 900 + 1100 + 950 + 9000 + 30 + 80 + 150 + 250 + 60 + 110 + 50 + 15 + 8 + 4 + 30 + 40 +
                        450 + 4 * 20 + 2 * 4 + 2 * 60 + 2 * 110 + 6 + 7 + 800 + 4 * 20 + 2 * 4 + 2 * 220 + 24;
    (void)state;
    run_model("truck-41", "rough=0 control=0", KD_JOINT, 0.1, 4, &result[0]);
    assert_int_equal(result[0].info.nbodies, 41);
    assert_int_equal(result[0].info.dof, 64);
    assert_close(at(&result[0], 0, "front-load") + at(&result[0], 0, "rear-load"), mass * GRAVITY, 0.5);
    for (int k = 0; k < result[0].rows; k++) {
        assert_close(at(&result[0], k, "front-load"), at(&result[0], 0, "front-load"), 600);
        assert_close(at(&result[0], k, "rear-load"), at(&result[0], 0, "rear-load"), 900);
        assert_close(at(&result[0], k, "height"), 0.55, 3e-3);
    }
}

// With controllers: the same in both coordinate sets, as far as seconds of computing go. (Comfort against road load: models/studies/truck-41.yaml.)
static void truck_41_rides(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_model("truck-41", NULL, BOTH[c], 0.03, 1, &result[c]);
    static const char *const compared[] = {"x", "front-load", "rear-load", "height", "cabin-damper"};
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (!(differs(compared[i]) < 2e-3)) fail_msg("%s differs by %.1e", compared[i], differs(compared[i]));
}

// ---- HMMWV on a tyre file -------------------------------------------------------------------------------------------

// Weight; steady turning a little below V delta/L of wheels that follow their direction; both coordinate sets.
static void hmmwv_on_a_tyre_file(void **state)
{
    const double mass = 2086.52 + 9.072 + 4 * (5.813 + 23.965 + 34.155 + 58.8);
    (void)state;
    for (int c = 0; c < 2; c++) run_model("hmmwv-tir", "turn=0.1 at=-50", BOTH[c], 0.25, 5, &result[c]);
    static const char *const compared[] = {"x", "y", "yaw", "height", "load(1,1)", "side(1,1)"};
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (!(differs(compared[i]) < 1e-3)) fail_msg("%s differs by %.1e", compared[i], differs(compared[i]));
    run_model("hmmwv-tir", NULL, KD_JOINT, 4.8, 8, &result[0]);
    double sum = 0;
    for (int i = 1; i <= 2; i++)
        for (int j = 1; j <= 2; j++) {
            char name[40];
            snprintf(name, sizeof name, "load(%d,%d)", i, j);
            sum += at(&result[0], 4, name); // behind the bump, before it steers
        }
    assert_close(sum, mass * GRAVITY, 10);
    assert_close(at(&result[0], 4, "yaw-rate"), 0, 1e-6);
    const double straight = at(&result[0], -1, "speed") * at(&result[0], -1, "angle") / (2 * 1.688965 - 0.076);
    assert_true(at(&result[0], -1, "yaw-rate") > 0.85 * straight && at(&result[0], -1, "yaw-rate") < straight);
    assert_int_equal(result[0].info.dof, 22);
}

// ---- parts ----------------------------------------------------------------------------------------------------------

// A link gives way by F (2/k), its two rubbers in series.
static void rubber_link(void **state)
{
    (void)state;
    run_model("../docs/guide/library/rubber-link.yaml", NULL, KD_JOINT, 2, 1, &result[0]);
    assert_close(at(&result[0], -1, "give"), 500 * 2 / 1e6, 1e-7);
}

// Behind the locked clutch of a drive line the momentum of engine, shafts and two rollers grows by the torque of the map
// times the ratios; with one roller held the other turns twice as fast.
static void drive_line(void **state)
{
    const double i = 2 * 3.4, torque = 215; // of the map between 300 and 400 rad/s
    const double J = 2 * 0.02 + 0.03 * 3.4 * 3.4 + (0.2 + 0.02) * i * i;
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_model("../docs/guide/library/drive-line.yaml", NULL, BOTH[c], 2, 20, &result[0]);
        assert_close(at(&result[0], 17, "slip"), 0, 1e-9);
        const double rollers = at(&result[0], 17, "left") - at(&result[0], 14, "left");
        const double shafts = (at(&result[0], 17, "engine") - at(&result[0], 14, "engine")) / i;
        assert_close(2 * 20 * rollers + J * shafts, torque * i * 0.3, 1e-3 * torque * i);
    }
    run_model("../docs/guide/library/drive-line.yaml", "lock=1e6", KD_JOINT, 3, 3, &result[0]);
    assert_close(at(&result[0], -1, "engine"), i * at(&result[0], -1, "left") / 2, 1.5);
    assert_close(at(&result[0], -1, "right"), 0, 0.05);
}

// ISO 2631-1, table 3: factors of Wk and Wd at five frequencies; tests/vehicle/iso2631_reference.py has the same from the
// analogue transfer functions.
static void weightings(void **state)
{
    static const struct {
        const char *settings;
        double      factor;
    } list[] = {{"f=1", 0.482},
                {"f=4", 0.967},
                {"f=8", 1.036},
                {"f=16", 0.768},
                {"f=2 ride.weighting=2", 0.890},
                {"f=8 ride.weighting=2", 0.253}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        run_model("../docs/guide/library/iso2631.yaml", list[i].settings, KD_JOINT, 6, 1, &result[0]);
        assert_close(sqrt(2) * at(&result[0], -1, "rms"), list[i].factor, 2e-3 * list[i].factor);
    }
}

// Opposite lifts of the ends of an anti-roll bar are answered by 2 k z/a^2 each, equal ones by its bearings alone; a leaf
// spring by k z.
static void bar_and_leaf(void **state)
{
    (void)state;
    run_model("../tests/models/bar-and-leaf.yaml", NULL, KD_JOINT, 3, 3, &result[0]);
    // z = 1 mm, k = 1500 N m/rad, a = 0.25 m
    assert_close(at(&result[0], -1, "left"), -2 * 1500 * 1e-3 / (0.25 * 0.25), 0.02 * 48);
    assert_close(at(&result[0], -1, "right"), 48, 0.02 * 48);
    // leaf: 2e5 N/m, 1000 N
    assert_close(at(&result[0], -1, "sink"), -1000 / 2e5, 0.01 * 5e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tractor_carries_published_loads),
        cmocka_unit_test(tractor_changes_lanes),
        cmocka_unit_test(tractor_brakes_in_a_turn),
        cmocka_unit_test(car_in_rubber),
        cmocka_unit_test(truck_41_stands),
        cmocka_unit_test(truck_41_rides),
        cmocka_unit_test(hmmwv_on_a_tyre_file),
        cmocka_unit_test(rubber_link),
        cmocka_unit_test(drive_line),
        cmocka_unit_test(weightings),
        cmocka_unit_test(bar_and_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
