// Pictures of motions: sound SVG inside its frame, escaped, bounded, the nearest thing drawn last.
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "core/failing_allocator.h"
#include "core/pi.h"
#include "drawing/camera.h"
#include "drawing/film.h"
#include "drawing/picture.h"
#include "project/command.h"
#include "results/markup.h"

#define PATH KD_BINARY_DIR "/test-picture.svg"

static char *picture_of(test_film *f, const char *title)
{
    kd_scene s;
    FILE    *file = fopen(PATH, "wb");
    assert_non_null(file);
    assert_int_equal(kd_scene_build(&f->film, &s), KD_OK);
    assert_int_equal(kd_picture_write(file, &s, title), KD_OK);
    assert_int_equal(fclose(file), 0);
    kd_scene_release(&s);
    char *text = read_text(PATH);
    assert_non_null(text);
    must_be_a_picture(text);
    return text;
}

static const char EVERYTHING[] =
    "kardan: 1\nbodies:\n  a: {position: [0, 0, 1], mass: 1, shape: {sphere: 0.1}}\n"
    "  b: {position: [1, 0, 1], mass: 1, shape: [{box: [0.1, 0.2, 0.3]}, {tube: [0.2, 0.1, 0.1], position: [0, 0, "
    "0.4]}]}\n"
    "  c: {position: [2, 0, 1], mass: 1, inertia: [1, 1, 1]}\n"
    "joints:\n  j: {type: revolute, bodies: [ground, a], point: [0, 0, 1.5], axis: [0, 1, 0]}\n"
    "  k: {type: spherical, bodies: [a, b], point: [0.5, 0, 1]}\n"
    "  l: {type: prismatic, bodies: [ground, c], point: [2, 0, 1], axis: [0, 0, 1]}\n"
    "forces:\n  s: {type: tsda, from: b, to: c, stiffness: 1}\n"
    "constraints:\n  d: {type: distance, from: a, to: c}\n";

// All kinds of parts are there, the title is escaped, instants from the start on are shown faintly.
static void picture_is_complete(void **state)
{
    (void)state;
    test_film f = film_of(EVERYTHING, 20);
    for (int i = 0; i < 20; i++) pose_of(&f, i, 2)[2] = 1 + 0.05 * i;
    char *text = picture_of(&f, "a <b> & \"c\"");
    assert_non_null(strstr(text, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert_int_equal(count_words(text, "<g opacity=\".13\">"), 5);
    assert_int_equal(count_words(text, "<circle "), 5);          // bodies a and c, ball joint, both ends of the rod
    assert_true(count_words(text, "stroke-width=\"1.8\"") >= 8); // windings
    assert_int_equal(count_words(text, "stroke-width=\"3\""), 1);
    assert_true(count_words(text, "<path color=") > 30);
    assert_true(strlen(text) < 60000);
    char *again = picture_of(&f, "a <b> & \"c\"");
    assert_string_equal(text, again);
    free(again);
    free(text);
    close_film(&f);
}

// One frame, and a body that is only a point, make a picture as well.
static void smallest_motion_has_a_picture(void **state)
{
    (void)state;
    test_film f = film_of("kardan: 1\nbodies:\n  b: {mass: 1, inertia: [1, 1, 1]}\n", 1);
    char     *text = picture_of(&f, "");
    assert_int_equal(count_words(text, "<circle "), 1);
    free(text);
    close_film(&f);
}

// Of two balls in a row the nearer one is drawn behind the other.
static void near_things_are_drawn_last(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        test_film f = film_of(
            "kardan: 1\nbodies:\n  a: {mass: 1, shape: {sphere: 0.5}}\n  b: {mass: 1, shape: {sphere: 0.5}}\n", 1);
        pose_of(&f, 0, k)[1] = -3; // the front
        char *text = picture_of(&f, ""), *last = text, *c = text;
        while ((c = strstr(c + 1, "<circle "))) last = c;
        last = strstr(last, "kd-ball-");
        assert_non_null(last);
        assert_int_equal(last[8] - '0', k);
        free(text);
        close_film(&f);
    }
}

// Many bodies are drawn as outlines: the picture stays small.
static void many_bodies_stay_small(void **state)
{
    (void)state;
    test_film f = film_of(
        "kardan: 1\nbodies:\n  b(i): {for: i = 1..500, position: [i, 0, 0], mass: 1, shape: {cylinder: [0.2, 3]}}\n",
        3);
    char *text = picture_of(&f, "");
    assert_true(strlen(text) > 50000 && strlen(text) < 400000);
    free(text);
    close_film(&f);
}

// The viewer's first picture: a ball stands where its camera puts it, whatever comes after the first frame.
static void first_picture_has_the_viewers_camera(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        test_film f = film_of(
            "kardan: 1\nbodies:\n  a: {mass: 1, shape: {sphere: 0.5}}\n  b: {mass: 1, shape: {sphere: 0.25}}\n", 3);
        for (int i = 0; i < 3; i++) pose_of(&f, i, 1)[k % 3] = 2 + k + 0.3 * i;
        kd_scene s;
        kd_vec3  u, v, w;
        FILE    *file = fopen(PATH, "wb");
        assert_int_equal(kd_scene_build(&f.film, &s), KD_OK);
        assert_int_equal(kd_picture_write_first(file, &s, "<t>"), KD_OK);
        fclose(file);
        char *text = read_text(PATH);
        must_be_a_picture(text);
        assert_non_null(strstr(text, "<title>&lt;t&gt;</title>"));
        // 32 degrees over 600 pixels, the eye 1.05 radius/sin(16 degrees) away
        kd_camera_axes(&s.camera, &u, &v, &w);
        double       d = 1.05 * s.radius / sin(16 * KD_PI / 180), pixel = 300 / tan(16 * KD_PI / 180);
        const double radius[] = {0.5, 0.25};
        for (int b = 0; b < 2; b++) {
            kd_vec3 q = kd_vec_sub(kd_vec_of(pose_of(&f, 0, b)), s.camera.centre);
            double  z = d - kd_vec_dot(q, w);
            char    wanted[100], *at = text;
            snprintf(wanted, sizeof wanted, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"url(#kd-ball-%d)\"",
                     300 + pixel * kd_vec_dot(q, u) / z, 300 - pixel * kd_vec_dot(q, v) / z, pixel * radius[b] / z, b);
            assert_non_null(strstr(at, wanted));
        }
        free(text);
        kd_scene_release(&s);
        close_film(&f);
    }
}

// Failing memory is reported.
static void failing_memory_is_reported(void **state)
{
    (void)state;
    test_film f = film_of(EVERYTHING, 2);
    kd_scene  s;
    FILE     *file = fopen("/dev/null", "wb");
    assert_int_equal(kd_scene_build(&f.film, &s), KD_OK);
    failing_allocator a = {.fail_at = 1};
    failing_allocator_use(&a);
    kd_status status = kd_picture_write(file, &s, "");
    a = (failing_allocator){.fail_at = 1};
    kd_status first = kd_picture_write_first(file, &s, "");
    kd_set_allocator(NULL);
    assert_int_equal(status, KD_ERR_MEMORY);
    assert_int_equal(first, KD_ERR_MEMORY);
    fclose(file);
    kd_scene_release(&s);
    close_film(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picture_is_complete),
        cmocka_unit_test(smallest_motion_has_a_picture),
        cmocka_unit_test(near_things_are_drawn_last),
        cmocka_unit_test(many_bodies_stay_small),
        cmocka_unit_test(first_picture_has_the_viewers_camera),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
