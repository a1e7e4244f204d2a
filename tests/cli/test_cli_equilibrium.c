// The program kardan: equilibrium and trim, and simulations that start there.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-equilibrium"
#include "cli/run.h"
#define TO " --output '" OUT "' "

// The number behind a key of a JSON object
static double number_of(const command_result *result, const char *key)
{
    char        quoted[100];
    const char *at = NULL;
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(result->text, quoted);
    assert_non_null(at);
    return strtod(at + strlen(quoted), NULL);
}

// Words, the state file, and JSON say the same of the four-bar linkage; a run from the state stays there.
static void equilibrium_and_start(void **state)
{
    (void)state;
    expect("equilibrium " MODELS "four-bar-spring.yaml" TO, 0, "stable equilibrium");
    command_result json =
        expect("equilibrium " MODELS "four-bar-spring.yaml --json --coordinates cartesian" TO, 0, "KD_OK");
    assert_true(fabs(number_of(&json, "phi") - 2.2343310190175859) < 1e-9);
    expect("equilibrium " MODELS "four-bar-spring.yaml --quiet" TO, 0, "");
    expect("simulate " MODELS "four-bar-spring.yaml --t-end 1 --start-state '" OUT
           "/four-bar-spring.equilibrium.state.csv'" TO,
           0, "");
    expect("simulate " MODELS "four-bar-spring.yaml --t-end 1 --from-equilibrium" TO, 0, "");
    command_result last = run_command("tail -n 1 '" OUT "/four-bar-spring.csv'");
    assert_non_null(strstr(last.text, "2.23433101")); // it did not move
    expect("simulate " MODELS "four-bar-spring.yaml --from-equilibrium --start-state x" TO, 1, "choose one");
}

// Stops that are touched at the start carry loads, friction sticks there; an equilibrium behind a stop is none;
// controllers are held, which is told.
static void equilibrium_of_hybrid_models(void **state)
{
    (void)state;
    command_result json =
        expect("equilibrium " MODELS "pendulum-stop.yaml --set stop=0.3 --set theta0=0.3 --json" TO, 0, "KD_OK");
    assert_true(fabs(number_of(&json, "moment") - 9.81 * sin(0.3)) < 1e-9);
    expect("equilibrium " MODELS "pendulum-stop.yaml --set stop=0.3" TO, 1, "lower stop is one-sided");
    expect("equilibrium " MODELS "impact-ball.yaml" TO, 1, "start where they are");
    expect("equilibrium " MODELS "sampled-speed.yaml" TO, 0, "sampled blocks keep the outputs");
    expect("modes " MODELS "sampled-speed.yaml" TO, 0, "sampled blocks keep the outputs");
    command_result modes = expect("modes " MODELS "stick-slip.yaml" TO, 0, "joint.carry.q");
    assert_null(strstr(modes.text, "1.59155")); // it sticks, and does not swing on its spring
}

// Where nothing is free, nothing is said to move: no coordinates at all, and coordinates that constraints hold.
static void equilibrium_without_moves(void **state)
{
    (void)state;
    FILE *file = fopen(OUT "/fixed.yaml", "w");
    assert_non_null(file);
    fputs("kardan: 1\nbodies:\n  a: {mass: 2, inertia: [1, 1, 1]}\njoints:\n  j: {type: fixed, bodies: [ground, a]}\n",
          file);
    fclose(file);
    command_result result = expect("equilibrium '" OUT "/fixed.yaml'" TO, 0, "there is nothing that can move");
    assert_null(strstr(result.text, "p[0]"));
    expect("equilibrium '" OUT "/fixed.yaml' --coordinates cartesian" TO, 0, "equilibrium; nothing moved");
}

// Without equilibrium: exit status 1, and the direction in which a force remains.
static void no_equilibrium(void **state)
{
    (void)state;
    expect("equilibrium " MODELS "satellite.yaml" TO, 1, "remains on 'joint.orbit.w3'");
    expect("equilibrium " MODELS "satellite.yaml --json" TO, 1, "KD_ERR_NO_EQUILIBRIUM");
    expect("simulate " MODELS "satellite.yaml --from-equilibrium" TO, 1, "--from-equilibrium: no equilibrium");
}

// The passenger car drives straight ahead with the wheel at 0; names that are none are refused.
static void trim_steady_motion(void **state)
{
    (void)state;
    expect("trim " MODELS "passenger-car.yaml --moving --adjust steer" TO, 0, "all forces balance");
    command_result json =
        expect("trim " MODELS "passenger-car.yaml --moving --adjust input.steer --json" TO, 0, "KD_OK");
    assert_true(fabs(number_of(&json, "input.steer")) < 1e-9);
    expect("trim " MODELS "passenger-car.yaml --adjust stear" TO, 2, "no 'stear'");
    expect("trim " MODELS "passenger-car.yaml" TO, 2, "--adjust");
    expect("trim " MODELS "passenger-car.yaml --adjust steer --free nothing" TO, 2, "no 'nothing'");
}

// Parameters of a model file are adjusted: the preload of the springs that holds the height, found from a wrong one.
static void trim_parameters(void **state)
{
    (void)state;
    command_result json = expect("trim " MODELS "closed-loop-car.yaml --set push=4000 --set speed=0 --adjust push "
                                 "--hold joint.body.q3 --json" TO,
                                 0, "KD_OK");
    assert_true(fabs(number_of(&json, "push") - 5482.554) < 1e-3);
    expect("trim " MODELS "closed-loop-car.yaml --adjust pusch" TO, 2, "no 'pusch'");
}

// A steady turn: steering angle and torque as parameters; the command that is proposed goes on from there and stays on
// the circle. A model without a free body, or in Cartesian coordinates, has none.
static void trim_turn(void **state)
{
    (void)state;
    command_result result =
        expect("trim " MODELS "closed-loop-car.yaml --set u0=0 --set bump=0 --turn 0.2 --adjust angle,torque" TO, 0,
               "Go on: ");
    char *go = strstr(result.text, "Go on: kardan ");
    char  line[3000];
    snprintf(line, sizeof line, "%s", go + strlen("Go on: kardan "));
    line[strcspn(line, "\n")] = '\0';
    strcat(line, " --t-end 5 --quiet" TO);
    expect(line, 0, "");
    result = run_command("tail -n 1 '" OUT "/closed-loop-car.csv'");
    assert_true(fabs(strtod(strchr(result.text, ',') + 1, NULL) - 75 * sin(1)) < 1e-4);
    expect("trim " MODELS "closed-loop-car.yaml --turn 0.2 --adjust angle,torque --coordinates cartesian" TO, 2,
           "joint coordinates");
    expect("trim " MODELS "truck5.yaml --turn 0.2 --adjust first" TO, 2, "moves freely");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equilibrium_of_hybrid_models),
        cmocka_unit_test(equilibrium_and_start),
        cmocka_unit_test(equilibrium_without_moves),
        cmocka_unit_test(no_equilibrium),
        cmocka_unit_test(trim_steady_motion),
        cmocka_unit_test(trim_parameters),
        cmocka_unit_test(trim_turn),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
