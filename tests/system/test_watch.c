// Paths that are watched become outputs of a system, the model stays as it is; a start that is known is not found twice.
#include <kardan/kardan.h>

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/failing_allocator.h"

enum { MOST = 4000 };

static kd_model *read_model(const char *name)
{
    char      path[600], message[2000] = "";
    kd_model *m = NULL;
    snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s", name);
    if (kd_model_read(path, NULL, 0, &m, message, sizeof message) < 0) print_error("%s\n", message);
    assert_non_null(m);
    return m;
}

// ---- every path of every model --------------------------------------------------------------------------------------

static char paths[MOST][120];

static int list_paths(const kd_model *m)
{
    int n = 0;
    for (int s = 0; s <= KD_SECTION_ENERGY; s++)
        for (int i = 0; i < (s == KD_SECTION_ENERGY ? 1 : kd_model_count(m, (kd_section)s)); i++)
            for (int k = 0; n < MOST && kd_model_path(m, (kd_section)s, i, k, paths[n], sizeof paths[n]) > 0; k++) n++;
    return n;
}

// Every path has a channel of its name, and its unit; those that are states, inputs or sensors are not there twice.
static void check_model(const kd_model *m, kd_coordinates coordinates, int *total)
{
    const char       *list[MOST];
    char              message[1000] = "";
    kd_system        *s = NULL;
    kd_probe         *probe = NULL;
    kd_system_options opt = kd_system_options_default();
    const int         n = list_paths(m), nsensors = kd_model_count(m, KD_SECTION_SENSOR);
    for (int i = 0; i < n; i++) list[i] = paths[i];
    opt.coordinates = coordinates;
    opt.watch = list;
    opt.nwatch = n;
    if (kd_system_create(m, &opt, &s, message, sizeof message) < 0) print_error("%s\n", message);
    assert_non_null(s);
    assert_int_equal(kd_model_count(m, KD_SECTION_SENSOR), nsensors); // nothing grew
    assert_int_equal(kd_probe_of_system(s, NULL, &probe), KD_OK);
    for (int i = 0; i < n; i++) {
        kd_path_info info;
        const int    channel = kd_probe_find(probe, paths[i]);
        if (channel < 0) print_error("no channel %s\n", paths[i]);
        assert_true(channel >= 0);
        assert_int_equal(kd_model_path_about(m, paths[i], &info, NULL, 0), KD_OK);
        if (strncmp(paths[i], "sensor.", 7) != 0 && strncmp(paths[i], "energy.", 7) != 0)
            assert_string_equal(kd_probe_unit(probe, channel), info.unit);
    }
    int first, count;
    kd_probe_group(probe, KD_GROUP_Y, &first, &count);
    for (int i = nsensors; i < count; i++) assert_non_null(kd_system_watched(s, i - nsensors));
    assert_null(kd_system_watched(s, count - nsensors));
    *total += count - nsensors;
    kd_probe_destroy(probe);
    kd_system_destroy(s);
}

static void every_path_can_be_watched(void **state)
{
    (void)state;
    static const char *const names[] = {
        "slider-crank.yaml", "pendulum.yaml",      "quarter-car.yaml", "gear-shift.yaml",
        "satellite.yaml",    "truck5.yaml",        "bicycle.yaml",     "hydraulic-cylinder.yaml",
        "carriage.yaml",     "sampled-speed.yaml", "skate.yaml",       "half-shaft.yaml"};
    int total = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kd_model *m = read_model(names[i]);
        check_model(m, KD_JOINT, &total);
        check_model(m, KD_CARTESIAN, &total);
        kd_model_destroy(m);
    }
    assert_true(total > 3000);
}

// What is watched has the value that a sensor of the same expression has.
static void values_are_those_of_sensors(void **state)
{
    (void)state;
    const char *const list[] = {"body.piston.pos.x", "joint.hinge.v", "joint.slide.force.y", "force.gas.force", "x"};
    const char *const sensor[] = {"x", "speed", "guide", "thrust"};
    kd_model         *m = read_model("slider-crank.yaml");
    kd_system        *s = NULL;
    kd_probe         *probe = NULL;
    kd_state         *x = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.watch = list;
    opt.nwatch = 5;
    assert_true(kd_system_create(m, &opt, &s, NULL, 0) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(s), &x), KD_OK);
    assert_true(kd_system_start(s, x, NULL, 0) >= 0);
    assert_int_equal(kd_probe_of_system(s, NULL, &probe), KD_OK);
    assert_int_equal(kd_probe_set(probe, x), KD_OK);
    for (int i = 0; i < 4; i++)
        assert_true(kd_probe_read(probe, list[i]) == kd_probe_read(probe, sensor[i]) &&
                    isfinite(kd_probe_read(probe, list[i])));
    assert_int_equal(kd_eom_dims(kd_system_eom(s)).ny, 4 + 3); // the hinge is a coordinate of the tree
    kd_probe_destroy(probe);
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(m);
}

// The plots that a model asks for are watched by the options that it gives; coordinates, too.
static void options_of_a_model(void **state)
{
    (void)state;
    static const char text[] = "kardan: 1\n"
                               "bodies: {bob: {mass: 1, inertia: [1, 1, 1], centre: [1, 0, 0]}}\n"
                               "joints: {hinge: {type: revolute, from: {body: ground}, to: {body: bob}}}\n"
                               "sensors: {height: body.bob.com.z}\n"
                               "run: {coordinates: cartesian, plots: [height, joint.hinge.q, body.bob.vel.y]}\n";
    kd_model         *m = NULL;
    kd_system        *s = NULL;
    char              message[500] = "";
    if (kd_model_read_text("t.yaml", text, sizeof text - 1, NULL, 0, &m, message, sizeof message) < 0)
        print_error("%s\n", message);
    const kd_system_options opt = kd_system_options_of(m);
    assert_int_equal(opt.coordinates, KD_CARTESIAN);
    assert_true(kd_system_create(m, &opt, &s, message, sizeof message) >= 0);
    assert_string_equal(kd_system_watched(s, 0), "joint.hinge.q");
    assert_string_equal(kd_system_watched(s, 1), "body.bob.vel.y");
    assert_null(kd_system_watched(s, 2));
    kd_system_destroy(s);

    // what is none of its paths is named, with what it could have been
    const char *const wrong[] = {"joint.hing.q"};
    kd_system_options bad = kd_system_options_default();
    bad.watch = wrong;
    bad.nwatch = 1;
    assert_int_equal(kd_system_create(m, &bad, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(s);
    assert_non_null(strstr(message, "channel 'joint.hing.q': unknown joint 'hing', did you mean 'hinge'?"));
    kd_model_destroy(m);
}

// ---- the start ------------------------------------------------------------------------------------------------------

// The start that was found when a system was made is the one that is answered, to the last bit and with its words, also a
// second time; after a change of parameters and back it is found again and the same.
static void start_is_found_once(void **state)
{
    (void)state;
    DIR           *folder = opendir(KD_SOURCE_DIR "/models");
    struct dirent *entry;
    int            known = 0;
    while ((entry = readdir(folder)) != NULL) {
        const char *ending = strrchr(entry->d_name, '.');
        char        news[3][2000];
        kd_status   status[3];
        kd_system  *s[3] = {NULL};
        kd_state   *x[3] = {NULL};
        if (!ending || strcmp(ending, ".yaml") != 0) continue;
        kd_model *m = read_model(entry->d_name);
        for (int k = 0; k < 2; k++) assert_true(kd_system_create(m, NULL, &s[k], NULL, 0) >= 0);
        s[2] = s[1];
        const int n = kd_model_parameters(m, NULL, 0);
        for (int k = 0; k < 3; k++) {
            double theta[64];
            if (k == 2 && n > 0 && n < 64) { // forgets what it knew
                memcpy(theta, kd_system_parameters(s[k]), (size_t)n * sizeof *theta);
                assert_int_equal(kd_system_set_parameters(s[k], theta, NULL, 0), KD_OK);
            }
            failing_allocator a = {0};
            assert_int_equal(kd_state_create(kd_system_eom(s[k]), &x[k]), KD_OK);
            failing_allocator_use(&a);
            status[k] = kd_system_start(s[k], x[k], news[k], sizeof news[k]);
            kd_set_allocator(NULL);
            known += a.calls == 0;
        }
        for (int k = 1; k < 3; k++) {
            assert_int_equal(status[k], status[0]);
            if (status[0] < 0) continue;
            assert_string_equal(news[k], news[0]);
            assert_memory_equal(x[k]->p, x[0]->p, x[0]->size * sizeof(double));
        }
        for (int k = 0; k < 3; k++) kd_state_destroy(x[k]);
        kd_system_destroy(s[0]);
        kd_system_destroy(s[1]);
        kd_model_destroy(m);
    }
    closedir(folder);
    print_message("%d starts were known\n", known);
    assert_true(known > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_can_be_watched),
        cmocka_unit_test(values_are_those_of_sensors),
        cmocka_unit_test(options_of_a_model),
        cmocka_unit_test(start_is_found_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
