// Models made of parts of the library: cars against those that were written by hand; every part in a model whose rest or
// steady motion is known.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "gallery_run.h"
#include "model/model.h"

static table result[2];

// ---- cars -----------------------------------------------------------------------------------------------------------

// How much more sensitive than motions a reading is: forces by as much as their springs are stiff, tyres 3e5 N/m, beside
// loads of 4e3 N
static double sensitivity(const char *unit)
{
    const bool motion = unit && (strcmp(unit, "m") == 0 || strcmp(unit, "rad") == 0 || strcmp(unit, "m/s") == 0 ||
                                 strcmp(unit, "rad/s") == 0);
    return motion ? 1.0 : 100.0;
}

// 10 s of every model that is made of subsystems: motions as those of the one by hand, to 10 tolerances, forces and
// accelerations to 100 times that.
static void cars_move_as_those_by_hand(void **state)
{
    static const struct {
        const char *name;
        double      rtol, atol;
    } list[] = {{"closed-loop-car", 1e-6, 1e-7}, {"passenger-car", 1e-6, 1e-7}, {"hmmwv", 1e-6, 1e-7},
                {"car-trailer", 1e-6, 1e-7},     {"carriage", 1e-5, 1e-7},      {"robot6", 1e-7, 1e-8},
                {"truck5", 1e-8, 1e-8},          {"truck7", 1e-8, 1e-8},        {"semi-active-truck", 1e-6, 1e-6}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char by_hand[100];
        snprintf(by_hand, sizeof by_hand, "../tests/models/by-hand/%s.yaml", list[i].name);
        run_model(list[i].name, NULL, KD_JOINT, 10, 50, &result[0]);
        run_model(by_hand, NULL, KD_JOINT, 10, 50, &result[1]);
        assert_int_equal(result[0].columns, result[1].columns);
        kd_model *model = read_gallery(list[i].name, NULL);
        int       compared = 0;
        for (int c = 0; c < result[0].columns; c++) {
            const int sensor = kd_model_find(model, KD_SECTION_SENSOR, result[0].name[c]);
            double    size = 0;
            if (sensor < 0) continue;
            compared++;
            for (int k = 0; k < result[1].rows; k++) size = fmax(size, fabs(result[1].value[k][c]));
            assert_string_equal(result[0].name[c], result[1].name[c]);
            for (int k = 0; k < result[0].rows; k++) {
                const double a = result[0].value[k][c], b = result[1].value[k][c];
                if (!(fabs(a - b) <=
                      10 * sensitivity(model->sensor[sensor].def.unit) * (list[i].atol + list[i].rtol * size)))
                    fail_msg("%s, %s at t = %g: %.12g, by hand %.12g", list[i].name, result[0].name[c], result[0].t[k],
                             a, b);
            }
        }
        assert_true(compared >= 6);
        kd_model_destroy(model);
    }
}

// ---- parts ----------------------------------------------------------------------------------------------------------

static void run_part(const char *name, double t_end)
{
    char path[100];
    snprintf(path, sizeof path, "../docs/guide/library/%s.yaml", name);
    run_model(path, NULL, KD_JOINT, t_end, 10, &result[0]);
}

// A wheel carries what is on it, and is as deep in the road as its spring says.
static void wheel(void **state)
{
    (void)state;
    run_part("wheel", 3);
    const double load = (350 + 22) * GRAVITY;
    assert_close(at(&result[0], -1, "load"), load, 1e-2);
    assert_close(at(&result[0], -1, "height"), 0.33 - load / 220e3 - 0.31, 1e-8);
}

// Axles carry a frame by the lever rule, each itself besides; left and right the same but for the Panhard rods.
static void rigid_axle(void **state)
{
    (void)state;
    run_part("rigid-axle", 10);
    const double axle = (120 + 2 * 22) * GRAVITY, base = 3, a = 1.2, weight = 3200 * GRAVITY;
    assert_close(at(&result[0], -1, "load(1)") + at(&result[0], -1, "load(2)"), weight + 2 * axle, 0.1);
    assert_close(at(&result[0], -1, "load(1)"), weight * (base - a) / base + axle, 0.01 * weight);
    assert_true(fabs(at(&result[0], -1, "tilt")) < 0.02 * weight);
}

// Four wheels carry the bogie, which runs straight on with its speed.
static void bogie(void **state)
{
    (void)state;
    run_part("bogie", 2);
    assert_close(at(&result[0], -1, "load"), (3000 + 2 * 1500) * GRAVITY, 1);
    assert_close(at(&result[0], -1, "way"), 2 * 20, 1e-3);
    assert_true(fabs(at(&result[0], -1, "side")) < 1e-12);
}

// The bend gives way until its drive holds the tool: kp (wanted - q) + m g r cos q = 0.
static void robot_wrist(void **state)
{
    double q = 0.4;
    (void)state;
    run_part("robot-wrist", 3);
    for (int i = 0; i < 30; i++) q = 0.4 + 2.5 * GRAVITY * 0.06 * cos(q) / 400;
    assert_close(at(&result[0], -1, "bend"), q, 1e-8);
    assert_close(at(&result[0], -1, "height"), -0.12 * sin(q), 1e-8);
}

// The valve closes where the length is the wanted one; then the cylinder carries the load.
static void hydraulic_cylinder(void **state)
{
    (void)state;
    run_part("hydraulic-cylinder", 5);
    assert_close(at(&result[0], 1, "length"), 1, 2e-3);
    assert_close(at(&result[0], -1, "length"), 1.15, 1e-6);
    assert_close(at(&result[0], -1, "force"), 1500 * GRAVITY, 0.1);
}

// At its limit the motor speeds up all inertias as seen from the load; in the end its controller gives way to the load by
// torque/(ratio^2 gain).
static void drive(void **state)
{
    const double ratio = 20, J = 4 + 1e-3 + ratio * ratio * 2e-4, limit = 3 * ratio - 30;
    (void)state;
    run_part("drive", 4);
    assert_close(at(&result[0], 2, "speed"), limit / J * 0.8, 0.1);
    assert_close(at(&result[0], 2, "torque"), 30 + 4 * limit / J, 0.5);
    assert_close(at(&result[0], -1, "speed"), 10 - 30 / (ratio * ratio * 0.05), 1e-5);
    assert_close(at(&result[0], -1, "torque"), 30, 1e-3);
}

// ---- all of them ----------------------------------------------------------------------------------------------------

static char *content_of(const char *path)
{
    static char text[200000];
    char        full[400];
    snprintf(full, sizeof full, "%s/%s", KD_SOURCE_DIR, path);
    FILE *file = fopen(full, "r");
    if (!file) fail_msg("%s is missing", full);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

// Every part has its line in the guide, with all that it offers, and an example that is there and uses it.
static void parts_are_described(void **state)
{
    char *page = strdup(content_of("docs/guide/library.md"));
    DIR  *folder = opendir(KD_SOURCE_DIR "/models/library");
    int   count = 0;
    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char  word[300], path[300];
        char *ending = strstr(entry->d_name, ".yaml");
        if (!ending) continue;
        count++;
        snprintf(word, sizeof word, "| `%.*s` |", (int)(ending - entry->d_name), entry->d_name);
        char *line = strstr(page, word);
        if (!line) fail_msg("%s is not described", entry->d_name);
        char *end = strchr(line, '\n'), *example = end;
        while (*--example != '`' || example[1] == ' ') continue;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(example + 1, "`"), example + 1);
        *end = '\0';
        // names of what it offers, in front of colons
        snprintf(word, sizeof word, "models/library/%s", entry->d_name);
        char *offers = strstr(content_of(word), "offers: {");
        assert_non_null(offers);
        for (char *name = offers + 9; name && *name && name[-1] != '}'; name += strcspn(name, ",}") + 1) {
            while (*name == ' ') name++;
            snprintf(word, sizeof word, "`%.*s`", (int)strcspn(name, ":"), name);
            if (!strstr(line, word)) fail_msg("%s: %s is not in its line", entry->d_name, word);
        }
        kd_model *model = NULL;
        char      message[1000];
        snprintf(word, sizeof word, "%s/models/library/%s", KD_SOURCE_DIR, entry->d_name);
        // it can be used alone, or says which body it needs
        if (kd_model_read(word, NULL, 0, &model, message, sizeof message) < 0 &&
            !strstr(message, "is needed from outside"))
            fail_msg("%s", message);
        kd_model_destroy(model);
        snprintf(word, sizeof word, "library/%s", entry->d_name);
        if (!strstr(content_of(path), word)) fail_msg("%s does not use %s", path, word);
        *end = '\n';
    }
    closedir(folder);
    free(page);
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cars_move_as_those_by_hand),
        cmocka_unit_test(wheel),
        cmocka_unit_test(rigid_axle),
        cmocka_unit_test(bogie),
        cmocka_unit_test(robot_wrist),
        cmocka_unit_test(hydraulic_cylinder),
        cmocka_unit_test(drive),
        cmocka_unit_test(parts_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
