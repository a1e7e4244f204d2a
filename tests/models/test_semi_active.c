// The truck with semi-active dampers: comfort and loads of tyres against the passive truck, equal motion in both
// coordinate sets with samples at 200 Hz.
#include "gallery_run.h"

static table passive, active, other;

// Skyhook and groundhook: less than 60 % of the cabin's acceleration, and tyres whose loads vary less.
static void comfort(void **state)
{
    (void)state;
    run_model("semi-active-truck", "control=0", KD_JOINT, 10, 20, &passive);
    run_model("semi-active-truck", NULL, KD_JOINT, 10, 20, &active);
    assert_true(at(&active, -1, "rms") < 0.6 * at(&passive, -1, "rms"));
    assert_true(at(&active, -1, "front-variation") < 0.98 * at(&passive, -1, "front-variation"));
    assert_true(at(&active, -1, "rear-variation") < 0.98 * at(&passive, -1, "rear-variation"));
}

// Without control the blocks are there, but their outputs are constant: the truck of a run without them.
static void passive_is_passive(void **state)
{
    (void)state;
    run_model("semi-active-truck", "control=0", KD_JOINT, 1, 20, &passive);
    for (int k = 0; k <= 20; k++) assert_close(at(&passive, k, "front-damper"), 38537, 1e-6);
}

// The laws divide by rates that pass through zero: samples see the same motion to their accuracy only. In both sets
// dampers and accelerations stay together over 300 samples.
static void same_in_both_sets(void **state)
{
    (void)state;
    run_with("semi-active-truck", NULL, KD_JOINT, 1.5, 30, 1e-3, &active);
    run_with("semi-active-truck", NULL, KD_CARTESIAN, 1.5, 30, 1e-3, &other);
    for (int k = 0; k <= 30; k++) {
        assert_close(at(&active, k, "comfort"), at(&other, k, "comfort"), 1e-4);
        assert_close(at(&active, k, "front-damper") / 38537, at(&other, k, "front-damper") / 38537, 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comfort),
        cmocka_unit_test(passive_is_passive),
        cmocka_unit_test(same_in_both_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
