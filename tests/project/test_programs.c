// The programs of examples/ run, and what they print is what theory says.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "project/command.h"

#define RUN(name) "'" KD_BINARY_DIR "/examples/" name "' "
#define MODEL(name) "'" KD_SOURCE_DIR "/models/" name ".yaml' "

static command_result must_run(const char *command)
{
    command_result result = run_command(command);
    if (result.status != 0) print_error("%s\n%s\n", command, result.text);
    assert_int_equal(result.status, 0);
    return result;
}

// A pendulum that falls from the horizontal is at the bottom after a quarter of its period, where the rod carries three
// weights; every step has a row, and the pull only grows until then.
static void sensor_is_read_at_every_step(void **state)
{
    (void)state;
    command_result result = must_run(RUN("first") MODEL("pendulum") "tension 0.591960475");
    double         t = -1, tension = -1, last_t, last_tension;
    int            rows = 0, used;
    for (char *row = result.text; *row; row += used, rows++) {
        last_t = t, last_tension = tension;
        assert_int_equal(sscanf(row, "%lf %lf %n", &t, &tension, &used), 2);
        assert_true(t >= last_t && tension > last_tension - 1e-6);
    }
    assert_true(rows > 5);
    assert_true(fabs(tension - 3 * 9.81) < 1e-5);
}

static double end_of(const char *text, const char *value)
{
    char   head[40];
    double end = NAN;
    snprintf(head, sizeof head, "l = %s ", value);
    const char *found = strstr(text, head);
    assert_non_null(found);
    assert_int_equal(sscanf(found + strlen(head), "%lf", &end), 1);
    return end;
}

// A pendulum four times as long takes twice the time for the same angle; what one thread computes does not depend on
// what the other one does.
static void study_gives_the_same_in_any_thread(void **state)
{
    (void)state;
    command_result all = must_run(RUN("study") MODEL("pendulum") "l 2 4 1 0.5 2"), one;
    const char    *values[] = {"4", "1", "0.5", "2"};
    for (int i = 0; i < 4; i++) {
        char command[1000];
        snprintf(command, sizeof command, RUN("study") MODEL("pendulum") "l 2 %s", values[i]);
        one = must_run(command);
        assert_true(end_of(all.text, values[i]) == end_of(one.text, values[i]));
    }
    one = must_run(RUN("study") MODEL("pendulum") "l 1 1");
    assert_true(fabs(end_of(all.text, "4") - end_of(one.text, "1")) < 1e-4);
    assert_true(fabs(end_of(all.text, "4") - end_of(all.text, "1")) > 0.1);
}

// A value that the model refuses is told, with the exit status.
static void study_tells_what_failed(void **state)
{
    (void)state;
    command_result result = run_command(RUN("study") MODEL("pendulum") "mass 2 1 2");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "mass"));
}

// The loop does not run ahead of the clock, makes every step, and brings the press near its speed.
static void loop_keeps_pace(void **state)
{
    (void)state;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    command_result result = must_run(RUN("realtime_loop") "'" KD_SOURCE_DIR "/examples/realtime/press.yaml' 0.6");
    clock_gettime(CLOCK_MONOTONIC, &to);
    long   steps;
    double t, speed;
    assert_int_equal(sscanf(result.text, "%ld steps, t = %lf s, speed %lf", &steps, &t, &speed), 3);
    assert_int_equal(steps, 600);
    assert_true(fabs(speed - 12) < 1);
    assert_true((double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec) >= 0.6);
}

// An engine on its mount has six modes; those of heave and yaw are sqrt(kz/m) and sqrt(kt/Jz).
static void modes_are_those_of_the_mount(void **state)
{
    (void)state;
    command_result result = must_run(RUN("linearise") MODEL("bushing-mount"));
    const double   wanted[] = {sqrt(8e5 / 120) / (2 * acos(-1)), sqrt(2e4 / 5) / (2 * acos(-1))};
    bool           found[2] = {false, false};
    char          *row = strstr(result.text, "damping\n");
    int            rows = 0, used;
    assert_non_null(row);
    for (row += 8; *row; row += used, rows++) {
        double frequency, damping;
        assert_int_equal(sscanf(row, "%lf %lf %n", &frequency, &damping, &used), 2);
        for (int i = 0; i < 2; i++) found[i] = found[i] || fabs(frequency - wanted[i]) < 1e-3;
    }
    assert_int_equal(rows, 6);
    assert_true(found[0] && found[1]);
}

// The magnet lifts the ball to the height where it floats, with the current that carries its weight.
static void ball_floats(void **state)
{
    (void)state;
    command_result result = must_run(RUN("own_force"));
    double         height, current;
    assert_non_null(strstr(result.text, "0.5 s"));
    assert_int_equal(sscanf(strstr(result.text, "0.5 s"), "0.5 s height %lf m current %lf", &height, &current), 2);
    assert_true(fabs(height) < 1e-5);
    assert_true(fabs(current - 0.01 * sqrt(0.1 * 9.81 / 1e-4)) < 1e-4);
}

// Table and page are written, the largest speed is the largest of the table, and energy is kept.
static void table_and_page_are_written(void **state)
{
    (void)state;
    command_result result = must_run(
        "rm -f '" KD_BINARY_DIR "/examples/run.csv' '" KD_BINARY_DIR "/examples/run.html'; " RUN("results")
            MODEL("slider-crank") "speed '" KD_BINARY_DIR "/examples/run.csv' '" KD_BINARY_DIR "/examples/run.html'");
    int    rows;
    double speed, balance;
    char   unit[20];
    assert_int_equal(
        sscanf(result.text, "%d rows, largest speed %lf %19s energy balance within %lf", &rows, &speed, unit, &balance),
        4);
    assert_int_equal(rows, 501);
    assert_string_equal(unit, "rad/s,");
    assert_true(balance < 1e-3);
    result =
        must_run("awk -F, '/^#/ { next } !column { for (i = 1; i <= NF; i++) if ($i == \"speed\") column = i; next } "
                 "$column > largest { largest = $column } END { printf \"%.9g\", largest }' '" KD_BINARY_DIR
                 "/examples/run.csv'");
    assert_true(speed > 1 && fabs(atof(result.text) - speed) < 1e-8 * speed);
    char *table = read_text(KD_BINARY_DIR "/examples/run.csv"), *page = read_text(KD_BINARY_DIR "/examples/run.html");
    assert_true(table && strstr(table, "# certificate:"));
    assert_true(page && strstr(page, "<h2>Certificate</h2>"));
    free(table);
    free(page);
}

// The slider crank as its file says it, and what can be read of its hinge.
static void inspection_lists_the_model(void **state)
{
    (void)state;
    command_result result = must_run(RUN("inspect") MODEL("slider-crank") "hinge");
    assert_non_null(strstr(result.text, "body rod: 0.936 kg on crank-pin, 1 shapes\n"));
    assert_non_null(strstr(result.text, "joint slide: prismatic, q in m\n"));
    assert_non_null(strstr(result.text, "parameter: 5, first r\n"));
    assert_non_null(strstr(result.text, "joint.hinge.torque.x [N m]\n"));
}

// examples/README.md has a row for every program.
static void page_lists_all(void **state)
{
    (void)state;
    command_result result = run_command("cd '" KD_SOURCE_DIR "/examples' && for file in *.c; do "
                                        "grep -q \"^| \\[$file\\]($file) |\" README.md || echo \"$file\"; done");
    assert_string_equal(result.text, "");
}

// README.md shows the first program as it is.
static void readme_shows_the_first(void **state)
{
    (void)state;
    char *page = read_text(KD_SOURCE_DIR "/README.md"), *program = read_text(KD_SOURCE_DIR "/examples/first.c");
    assert_true(page && program && strstr(page, program));
    free(page);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inspection_lists_the_model),
        cmocka_unit_test(sensor_is_read_at_every_step),
        cmocka_unit_test(study_gives_the_same_in_any_thread),
        cmocka_unit_test(study_tells_what_failed),
        cmocka_unit_test(loop_keeps_pace),
        cmocka_unit_test(modes_are_those_of_the_mount),
        cmocka_unit_test(ball_floats),
        cmocka_unit_test(table_and_page_are_written),
        cmocka_unit_test(page_lists_all),
        cmocka_unit_test(readme_shows_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
