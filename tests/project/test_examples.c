// The example of docs/guide/realtime.md: a plant and its controller in two programs that talk over the loopback
// interface.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/test-examples"
#define PLANT "'" KD_BINARY_DIR "/examples/realtime/plant' "
#define CONTROLLER "'" KD_BINARY_DIR "/examples/realtime/controller' "
#define PRESS "'" KD_SOURCE_DIR "/examples/realtime/press.yaml' "

static int start_afresh(void **state)
{
    (void)state;
    return run_command("rm -rf '" FOLDER "' && mkdir '" FOLDER "'").status;
}

#define KARDAN "'" KD_BINARY_DIR "/kardan' realtime "

// Start the plant, wait for its port, do what is to be done before, start the controller, wait for both. What they
// print is in rows, plant and controller; their exit statuses are the answer.
static const char *run_programs(const char *program, const char *plant, const char *before, const char *controller)
{
    static command_result result;
    char                  line[4000];
    snprintf(line, sizeof line,
             "cd '" FOLDER "' && rm -f rows plant controller; %s%s > rows 2> plant & pid=$!\n"
             "cd '" FOLDER "'; i=0; until grep -q 'port' rows plant 2>/dev/null || [ $i -ge 1000 ]; do sleep 0.02; "
             "i=$((i+1)); done\n"
             "port=$(sed -n 's/.*port //p' rows plant); %s\n" CONTROLLER "$port %s > controller 2>&1; status=$?\n"
             "wait $pid; echo \"plant $? controller $status\"",
             program, plant, before, controller);
    result = run_command(line);
    return result.text;
}

static const char *run_both(const char *plant, const char *before, const char *controller)
{
    return run_programs(PLANT, plant, before, controller);
}

static char *text_of(const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    char *text = read_text(path);
    assert_non_null(text);
    return text;
}

static void answers(long *in_time, long *missing, long *too_late)
{
    char *text = text_of("plant"), *found = strstr(text, "answers:");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "answers: %ld in time, %ld missing, %ld too late", in_time, missing, too_late), 3);
    free(text);
}

static void must_say(const char *name, const char *part)
{
    char *text = text_of(name);
    if (!strstr(text, part)) print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(strstr(text, part));
    free(text);
}

// Two programs in lockstep do the same, to the last bit, as the same controller inside the plant.
static void two_programs_equal_one(void **state)
{
    (void)state;
    long in_time, missing, too_late;
    assert_string_equal(run_both(PRESS "--steps 600 --timeout 20", "", ""), "plant 0 controller 0\n");
    answers(&in_time, &missing, &too_late);
    assert_int_equal(in_time, 600);
    assert_int_equal(missing + too_late, 0);
    command_result one = run_command(PLANT PRESS "--steps 600 --inside 2>/dev/null");
    assert_int_equal(one.status, 0);
    char *two = text_of("rows");
    assert_string_equal(strchr(two, '\n') + 1, one.text); // behind the port
    double t, speed, torque;
    assert_int_equal(sscanf(strstr(one.text, "0.600000"), "%lf %lf %lf", &t, &speed, &torque), 3);
    assert_true(speed > 8 && speed < 15 && torque != 0); // the controller does its work
    free(two);
}

// Answers that do not come are counted, the last input holds, and the run goes on to its end.
static void lost_answers_are_held(void **state)
{
    (void)state;
    long in_time, missing, too_late;
    assert_string_equal(run_both(PRESS "--steps 100 --timeout 0.05", "", "--drop 7"), "plant 0 controller 0\n");
    answers(&in_time, &missing, &too_late);
    assert_true(missing >= 14);
    assert_int_equal(in_time + missing, 100);
}

// Answers that come too late are told from fresh ones by their number, and dropped.
static void late_answers_are_dropped(void **state)
{
    (void)state;
    long in_time, missing, too_late;
    assert_string_equal(run_both(PRESS "--steps 100 --timeout 0.1", "", "--late 9"), "plant 0 controller 0\n");
    answers(&in_time, &missing, &too_late);
    assert_true(missing >= 10);
    assert_true(too_late >= 10);
    assert_int_equal(in_time + missing, 100);
}

// A controller that never answers ends the run with a status, not with a hang.
static void silence_ends_the_run(void **state)
{
    (void)state;
    assert_string_equal(run_both(PRESS "--timeout 0.02 --give-up 5", "", "--drop 1"), "plant 3 controller 0\n");
    must_say("plant", "the controller is lost at t = 0.005 s");
    must_say("plant", "5 missing");
}

// Nobody there: both sides say so and end.
static void nobody_there(void **state)
{
    (void)state;
    command_result plant = run_command(PLANT PRESS "--patience 0.1");
    assert_int_equal(plant.status, 1);
    assert_non_null(strstr(plant.text, "no controller within 0.1 s"));
    command_result controller = run_command(CONTROLLER "9 --patience 0.1");
    assert_int_equal(controller.status, 1);
    assert_non_null(strstr(controller.text, "no plant on port 9 within 0.1 s"));
}

// A model without the wanted ports refuses the controller by name.
static void missing_ports_are_named(void **state)
{
    (void)state;
    assert_string_equal(run_both("'" KD_SOURCE_DIR "/models/slider-crank.yaml' --patience 0.5", "", ""),
                        "plant 1 controller 1\n");
    must_say("controller", "the plant refuses: the model has no input 'input.torque'");
    must_say("plant", "the model has no input 'input.torque'");
}

// Datagrams of others are passed over.
static void strangers_are_ignored(void **state)
{
    (void)state;
    assert_string_equal(run_both(PRESS "--steps 50 --timeout 20",
                                 "bash -c \"for i in 1 2 3; do echo nonsense > /dev/udp/127.0.0.1/$port; done\"", ""),
                        "plant 0 controller 0\n");
    must_say("plant", "50 in time, 0 missing, 0 too late");
}

// The value of a channel in the last row of the table of kardan realtime
static double last_value(const char *channel)
{
    char *table = text_of("results/press.realtime.csv"), *line = table;
    while (*line == '#') line = strchr(line, '\n') + 1;
    int column = 0;
    for (char *c = line;; column++) {
        size_t length = strcspn(c, ",\n");
        if (length == strlen(channel) && strncmp(c, channel, length) == 0) break;
        if (c[length] != ',') fail_msg("no channel %s", channel);
        c += length + 1;
    }
    table[strlen(table) - 1] = '\0';
    line = strrchr(table, '\n') + 1;
    for (int i = 0; i < column; i++) line = strchr(line, ',') + 1;
    double value = strtod(line, NULL);
    free(table);
    return value;
}

// kardan realtime --listen with the controller comes to the same state, to the last bit, as the program of the example.
static void command_line_takes_part(void **state)
{
    (void)state;
    assert_string_equal(
        run_programs(KARDAN, PRESS "--listen 0 --as-fast-as-possible --timeout 20 --duration 0.6", "", ""),
        "plant 0 controller 0\n");
    must_say("rows", "answers of the controller    600 in time, 0 missing, 0 too late");
    command_result one = run_command(PLANT PRESS "--steps 600 --inside 2>/dev/null");
    double         t, speed, torque;
    assert_int_equal(sscanf(strstr(one.text, "0.600000"), "%lf %lf %lf", &t, &speed, &torque), 3);
    assert_true(last_value("speed") == speed);
    assert_true(last_value("input.torque") != 0); // the one that acted, not the model's
}

// The same with the clock, where answers are due before the next step, and with answers that do not come.
static void command_line_holds_inputs(void **state)
{
    (void)state;
    assert_string_equal(run_programs(KARDAN, PRESS "--listen 0 --duration 0.1 --json", "", ""),
                        "plant 0 controller 0\n");
    must_say("rows", "\"answers\": {");
    assert_string_equal(
        run_programs(KARDAN, PRESS "--listen 0 --duration 0.05 --as-fast-as-possible --timeout 0.05", "", "--drop 7"),
        "plant 0 controller 0\n");
    must_say("rows", " in time, ");
    assert_string_equal(
        run_programs(KARDAN, PRESS "--listen 0 --timeout 0.02 --give-up 5 --as-fast-as-possible", "", "--drop 1"),
        "plant 1 controller 0\n");
    must_say("plant", "the controller is lost at t = 0.005 s");
}

// Nobody there, an unknown port of the model, a port that is taken or is none: status and words.
static void command_line_refuses(void **state)
{
    (void)state;
    command_result result = run_command("cd '" FOLDER "' && " KARDAN PRESS "--listen 0 --patience 0.2");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "no controller within 0.2 s"));
    assert_string_equal(
        run_programs(KARDAN, "'" KD_SOURCE_DIR "/models/slider-crank.yaml' --listen 0 --patience 0.5", "", ""),
        "plant 1 controller 1\n");
    must_say("controller", "the plant refuses: the model has no input 'input.torque'");
    must_say("plant", "another program that takes part does not answer");
    result = run_command(KARDAN PRESS "--listen 70000");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.text, "--listen wants a port from 0 to 65535"));
}

// With the clock the same rows come out.
static void paced_run_is_the_same(void **state)
{
    (void)state;
    command_result paced = run_command(PLANT PRESS "--steps 60 --inside --paced 2>/dev/null"),
                   free_run = run_command(PLANT PRESS "--steps 60 --inside 2>/dev/null");
    assert_int_equal(paced.status, 0);
    assert_string_equal(paced.text, free_run.text);
}

// What is not understood gets the usage; a file that is not there its message.
static void mistakes_are_told(void **state)
{
    (void)state;
    command_result result = run_command(PLANT);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.text, "usage: plant MODEL"));
    assert_int_equal(run_command(PLANT PRESS "--steps 0").status, 2);
    assert_int_equal(run_command(CONTROLLER "70000").status, 2);
    result = run_command(PLANT "nothing.yaml");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.text, "nothing.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_programs_equal_one),
        cmocka_unit_test(lost_answers_are_held),
        cmocka_unit_test(late_answers_are_dropped),
        cmocka_unit_test(silence_ends_the_run),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(missing_ports_are_named),
        cmocka_unit_test(strangers_are_ignored),
        cmocka_unit_test(command_line_takes_part),
        cmocka_unit_test(command_line_holds_inputs),
        cmocka_unit_test(command_line_refuses),
        cmocka_unit_test(paced_run_is_the_same),
        cmocka_unit_test(mistakes_are_told),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
