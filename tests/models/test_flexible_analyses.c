// Flexible bodies in subsystems, with impacts, in real time, their derivatives as a whole, and the method that is chosen for them.
#include "gallery_run.h"

#include <kardan/realtime.h>

#include "simulation/choice.h"

static table result[2];

// Two arms that strike a stop are the same however they stand, in both coordinate sets.
static void subsystems_and_impacts(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++)
        run_with("../tests/flexible/reference/two-arms.yaml", NULL, BOTH[c], 0.4, 20, 0.1, &result[c]);
    for (int k = 0; k <= 20; k++) {
        assert_close(at(&result[0], k, "left"), at(&result[0], k, "right"), 1e-9);
        assert_close(at(&result[0], k, "left"), at(&result[1], k, "left"), 1e-7);
    }
    assert_true(at(&result[0], 20, "left") > -0.4); // a rigid arm would rest at sin 0.3 m below
}

// What is mirrored moves as the image does: modes, loads at nodes, geometric stiffness; two mirrors are a turn.
static void mirrors(void **state)
{
    static const char *const pairs[][2] = {
        {"x", "right_x"}, {"y", "right_y"},  {"z", "right_z"}, {"q", "right_q"},         {"along", "odd_along"},
        {"q", "odd_q"},   {"x", "twice_x"},  {"y", "twice_y"}, {"across", "odd_across"}, {"z", "twice_z"},
        {"q", "twice_q"}, {"q", "turned_q"}, {"x", "turned_x"}};
    double q = 0;
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_with("../tests/flexible/reference/mirrored-brackets.yaml", NULL, BOTH[c], 0.3, 10, 0.1, &result[c]);
        for (int k = 0; k <= 10; k++)
            for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
                assert_close(at(&result[c], k, pairs[i][0]), at(&result[c], k, pairs[i][1]),
                             pairs[i][0][0] == 'q' ? 1e-3 : 1e-6);
        q = fmax(q, fabs(at(&result[c], 5, "q")));
        assert_close(at(&result[0], 10, "along"), at(&result[c], 10, "along"), 1e-6);
    }
    assert_true(q > 0.1); // mm: it bends
}

typedef struct subject {
    kd_model  *model;
    kd_system *system;
    kd_state  *x;
} subject;

static subject open_subject(const char *name, kd_coordinates c)
{
    char              message[MAX_MODEL_TEXT] = "";
    kd_system_options options = kd_system_options_default();
    subject           s = {.model = read_gallery(name, NULL)};
    options.coordinates = c;
    must(kd_system_create(s.model, &options, &s.system, message, sizeof message), name, c, message);
    must(kd_state_create(kd_system_eom(s.system), &s.x), name, c, "");
    must(kd_system_start(s.system, s.x, message, sizeof message), name, c, message);
    return s;
}

static void close_subject(subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    kd_model_destroy(s->model);
}

// Height of the load after t_end by steps of fixed length
static double height_by_steps(double h, double t_end)
{
    char                message[MAX_MODEL_TEXT] = "";
    kd_realtime        *steps = NULL;
    kd_realtime_options opt = kd_realtime_options_default();
    subject             s = open_subject("flexible-robot-arm", KD_JOINT);
    double              y = NAN;
    opt.h = h;
    must(kd_realtime_create(kd_system_eom(s.system), kd_system_inputs(s.system), &opt, s.x, &steps, message,
                            sizeof message),
         "arm", KD_JOINT, message);
    for (int i = 0; i < (int)lround(t_end / h); i++)
        must(kd_realtime_step(steps, NULL, &y), "arm", KD_JOINT, kd_realtime_message(steps));
    kd_realtime_destroy(steps);
    close_subject(&s);
    return y;
}

// Steps of 1 ms bear modes of several kilohertz, which belong to the stiff part; the motion is that of an integrator with error
// control, and shorter steps are nearer to it.
static void real_time(void **state)
{
    (void)state;
    run_model("flexible-robot-arm", NULL, KD_JOINT, 0.5, 1, &result[0]);
    const double exact = at(&result[0], 1, "height");
    const double coarse = fabs(height_by_steps(1e-3, 0.5) - exact), fine = fabs(height_by_steps(2.5e-4, 0.5) - exact);
    assert_true(coarse < 2e-3);
    assert_true(fine < 0.4 * coarse);
}

// Derivatives and constraint levels of all flexible models of the gallery agree with differences. Not the arm in Cartesian coordinates:
// second differences of an angle that is counted are too coarse for amplitudes of which 1 turns the tip by many rad.
static void checker_accepts_models(void **state)
{
    static const char *const names[] = {"flexible-slider-crank", "flexible-rotor", "helicopter-blade",
                                        "flexible-robot-arm"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int c = 0; c < (i == 3 ? 1 : 2); c++) {
            char             report[4000] = "";
            subject          s = open_subject(names[i], BOTH[c]);
            kd_check_options opt = kd_check_options_default();
            opt.spread = 1e-2; // amplitudes are small
            if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, &opt, report, sizeof report) !=
                KD_OK)
                fail_msg("%s: %s", names[i], report);
            close_subject(&s);
        }
}

// The implicit method that is chosen for the two arms with this damping ratio
static kd_method_pair implicit_method(const char *settings)
{
    kd_simulation_options opt = kd_simulation_options_default();
    kd_eom_data          *point = NULL;
    kd_choice            *choice = NULL;
    subject               s = {.model = read_gallery("../tests/flexible/reference/damped-arms.yaml", settings)};
    char                  message[MAX_MODEL_TEXT] = "";
    must(kd_system_create(s.model, NULL, &s.system, message, sizeof message), settings, KD_JOINT, message);
    must(kd_state_create(kd_system_eom(s.system), &s.x), settings, KD_JOINT, "");
    must(kd_system_start(s.system, s.x, message, sizeof message), settings, KD_JOINT, message);
    must(kd_eom_data_create(kd_system_eom(s.system), &point), settings, KD_JOINT, "");
    must(kd_choice_create(point, kd_system_inputs(s.system), s.x, &opt, &choice), settings, KD_JOINT, "");
    const kd_method_pair method = kd_choice_method(choice, true);
    kd_choice_destroy(choice);
    kd_eom_data_destroy(point);
    close_subject(&s);
    return method;
}

// Modes with little damping, which BDF of higher order is not stable for, are left to radau, also where its matrices are larger; modes
// that creep are not.
static void light_damping_is_no_case_for_bdf(void **state)
{
    (void)state;
    assert_int_equal(implicit_method("zeta=0.01").integrator, KD_RADAU);
    assert_int_equal(implicit_method("zeta=0.25").integrator, KD_RADAU);
    assert_int_equal(implicit_method("zeta=0.3").integrator, KD_BDF);
    assert_int_equal(implicit_method("zeta=1").integrator, KD_BDF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(subsystems_and_impacts), cmocka_unit_test(real_time),
                                       cmocka_unit_test(mirrors), cmocka_unit_test(checker_accepts_models),
                                       cmocka_unit_test(light_damping_is_no_case_for_bdf)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
