// tests/system/test_reason.c: equations that cannot be evaluated name the load and say why, in both coordinate sets.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <stdio.h>
#include <string.h>

static const char head[] =
    "kardan: 1\n"
    "gravity: [0, 0, 0]\n"
    "bodies: {cart: {position: [2, 0, 0], mass: 2, inertia: [1, 1, 1]}}\n"
    "joints: {s: {type: prismatic, bodies: [ground, cart], point: [2, 0, 0], axis: [1, 0, 0]}}\n";

#define CYLINDER                                                                                                       \
    "type: hydraulic, from: ground, to: cart, area: [0.005, 0.003], stroke: 1, volume: [5e-4, 5e-4], bulk: 1e9, "      \
    "valve: 0, supply: [150e5, 5e5], flow: 1e-3"
#define AIR "type: air_spring, from: ground, to: cart, area: 0.01, volume: 1e-3, pressure: 2e5, ambient: 1e5"

// The message of the start, or of a run to t = 5; *status is what it answered.
static void message_of(const char *forces, kd_coordinates coordinates, kd_status *status, char *message, size_t size)
{
    char              text[2000];
    kd_model         *model = NULL;
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    snprintf(text, sizeof text, "%sforces:\n%s", head, forces);
    if (kd_model_read_text("cart", text, strlen(text), NULL, 0, &model, message, size) < 0) fail_msg("%s", message);
    *status = kd_system_create(model, &opt, &system, message, size);
    if (*status >= 0) *status = kd_state_create(kd_system_eom(system), &x);
    if (*status >= 0) *status = kd_system_start(system, x, message, size);
    if (*status >= 0)
        *status = kd_simulate(kd_system_eom(system), kd_system_inputs(system), NULL, x, 5, NULL, message, size);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

static void must_say(const char *forces, const char *words)
{
    static const kd_coordinates both[] = {KD_JOINT, KD_CARTESIAN};
    for (int c = 0; c < 2; c++) {
        char      message[1000] = "";
        kd_status status;
        message_of(forces, both[c], &status, message, sizeof message);
        if (status >= 0 || !strstr(message, words)) fail_msg("%d: %s\ninstead of: %s", (int)status, message, words);
    }
}

// Wrong lengths at the start: a piston on either side outside of its cylinder, an air spring without volume, points
// that coincide.
static void wrong_lengths(void **state)
{
    (void)state;
    must_say("  ram: {" CYLINDER ", length: 7}\n",
             "force 'ram': the piston is outside of its cylinder, at -5 of a stroke from 0 to 1");
    must_say("  push: {type: joint_spring, joint: s, stiffness: 1}\n  ram: {" CYLINDER ", length: 0.5}\n",
             "force 'ram': the piston is outside of its cylinder, at 1.5 of a stroke from 0 to 1");
    must_say("  bellows: {" AIR ", length: 3}\n", "force 'bellows': no volume is left at the length 2");
    must_say("  bellows: {" AIR ", length: 2}\n"
             "  rope: {type: tsda, from: {body: ground, point: [2, 0, 0]}, to: cart, stiffness: 1, length: 1}\n",
             "force 'rope': its two points coincide");
}

// A force that ceases to be a number on the way: the one that pushes is not named.
static void numbers_end_on_the_way(void **state)
{
    (void)state;
    must_say("  push: {type: applied, body: cart, force: [1, 0, 0]}\n"
             "  root: {type: joint_spring, joint: s, law: sqrt(1 - joint.s.q)}\n",
             "force 'root': it is no number here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_lengths),
        cmocka_unit_test(numbers_end_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
