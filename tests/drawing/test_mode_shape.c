// Poses of a mode: the swing of the shape about the pose of linearisation.
#include "drawing/mode_shape.h"

#include <math.h>

#include "core/pi.h"
#include "modelfile/files.h"

static const char ARM[] = "kardan: 1\nbodies:\n  arm: {position: [1, 0, 0], mass: 1, shape: {box: [2, 0.1, 0.1]}}\n"
                          "joints:\n  a: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 0, 1]}\n";

// A pendulum at q = 0.5 with the shape (0.6 + 0.8 i) is at q + scale (0.6 cos(phi) - 0.8 sin(phi)) in each frame.
static void frames_follow_the_shape(void **state)
{
    (void)state;
    double      re[] = {9, 0.6}, im[] = {9, 0.8}; // of two modes; the second one is drawn
    kd_modes    modes = {.nv = 1, .shape_re = re, .shape_im = im};
    kd_model   *model = model_of(ARM);
    kd_system  *system;
    kd_state   *x;
    kd_drawing *drawing;
    assert_int_equal(kd_system_create(model, NULL, &system, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, NULL, 0) >= 0);
    assert_int_equal(kd_drawing_create(system, KD_MODE_FRAMES, &drawing), KD_OK);
    x->p[0] = 0.5;
    assert_int_equal(kd_mode_shape_draw(&(kd_mode_place){system, NULL, x}, &modes, 1, 0.3, drawing), KD_OK);
    assert_int_equal(kd_drawing_length(drawing), KD_MODE_FRAMES);
    assert_true(x->p[0] == 0.5);
    const kd_film *film = kd_drawing_film(drawing);
    for (int k = 0; k < KD_MODE_FRAMES; k++) {
        const double phi = KD_PI * k / (KD_MODE_FRAMES - 1), q = 0.5 + 0.3 * (0.6 * cos(phi) - 0.8 * sin(phi));
        assert_true(fabs(film->pose[7 * k] - cos(q)) < 1e-6); // the middle of the arm, 1 m from the axis
        assert_true(fabs(film->pose[7 * k + 1] - sin(q)) < 1e-6);
    }
    kd_drawing_destroy(drawing);
    // a film goes on to the end of the period, in its time
    assert_int_equal(kd_drawing_create(system, KD_MODE_FILM, &drawing), KD_OK);
    assert_int_equal(kd_mode_shape_film(&(kd_mode_place){system, NULL, x}, &modes, 1, 0.3, 2.5, drawing), KD_OK);
    film = kd_drawing_film(drawing);
    assert_int_equal(film->nframes, KD_MODE_FILM);
    assert_true(film->t[KD_MODE_FILM - 1] == 2.5);
    for (int k = 0; k < KD_MODE_FILM; k++) {
        const double phi = 2 * KD_PI * k / (KD_MODE_FILM - 1), q = 0.5 + 0.3 * (0.6 * cos(phi) - 0.8 * sin(phi));
        assert_true(fabs(film->pose[7 * k] - cos(q)) < 1e-6);
    }
    kd_drawing_destroy(drawing);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_follow_the_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
