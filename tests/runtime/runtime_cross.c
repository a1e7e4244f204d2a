// runtime_cross.c: FMUs on machines that this one emulates (tools/cross-fmu): aarch64-linux under qemu, x86_64-windows under wine.
// Without its binary or the emulator there is nothing to be tested, which is said.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "case.h"
#include "runtime/client.h"

static const double BOUND = 1e-10;

// Numbers of a run of the client, to a file; false: it failed. The folder of the resources has a name that is not ASCII: clients speak UTF-8
static bool print_run(const client *c, const char *emulator, const char *program, const char *binary, const char *drive,
                      const char *to)
{
    char command[3000];
    // references of the outputs from the description
    snprintf(command, sizeof command,
             "cd '%s' && rm -rf 'a ä' && cp -r resources 'a ä' && %s %s '%s' '%s' '%s%s/a ä/' 20 0.02 $(grep -o "
             "'valueReference=\"[0-9]*\" causality=\"output\"' "
             "modelDescription.xml | grep -o '[0-9]*') > '%s' 2> errors.txt",
             c->folder, emulator, program, binary, c->token, drive, c->folder, to);
    return run_command(command) == 0;
}

// Largest difference of two files of numbers, relative to the largest number; infinity: their counts differ
static double difference(const client *c, const char *one, const char *other)
{
    char   path[2][500];
    double a, b, worst = 0, size = 1e-6;
    snprintf(path[0], sizeof path[0], "%s/%s", c->folder, one);
    snprintf(path[1], sizeof path[1], "%s/%s", c->folder, other);
    FILE *first = fopen(path[0], "r"), *second = fopen(path[1], "r");
    assert_true(first && second);
    int n = 0;
    for (;; n++) {
        const int x = fscanf(first, "%lf", &a), y = fscanf(second, "%lf", &b);
        if (x != y) worst = INFINITY;
        if (x != 1 || y != 1) break;
        size = fmax(size, fabs(a));
        worst = fmax(worst, fabs(a - b) / size);
    }
    fclose(first);
    fclose(second);
    return n > 0 ? worst : INFINITY;
}

static void compare(const char *platform, const char *ending, const char *emulator, const char *program,
                    const char *drive)
{
    static const char *const MODELS[] = {"pendulum", "slider-crank", "quarter-car", "impact-ball", "closed-loop-car"};
    static const char *const NAMES[] = {"pendulum", "slider_crank", "quarter_car", "impact_ball", "closed_loop_car"};
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++) {
        char   model[400], binary[400];
        client c;
        snprintf(model, sizeof model, KD_SOURCE_DIR "/models/%s.yaml", MODELS[m]);
        assert_true(client_export(&c, model, 3, ""));
        snprintf(binary, sizeof binary, "binaries/x86_64-linux/%s.so", NAMES[m]);
        if (!print_run(&c, "", KD_BINARY_DIR "/tests/cross_client", binary, "", "here")) fail_msg("%s here", MODELS[m]);
        snprintf(binary, sizeof binary, "binaries/%s/%s.%s", platform, NAMES[m], ending);
        if (!print_run(&c, emulator, program, binary, drive, "there")) fail_msg("%s on %s", MODELS[m], platform);
        const double e = difference(&c, "here", "there");
        print_message("%s on %s: %.1e\n", MODELS[m], platform, e);
        assert_true(e <= BOUND);
        client_close(&c);
    }
}

static bool can_run(const char *binary, const char *emulator, const char *program)
{
    char command[600];
    snprintf(command, sizeof command, "command -v '%s' > /dev/null", emulator);
    if (access(binary, R_OK) == 0 && access(program, R_OK) == 0 && run_command(command) == 0) return true;
    print_message("skipped: no %s (tools/cross-fmu), or no %s\n", binary, emulator);
    return false;
}

static void aarch64_agrees(void **state)
{
    (void)state;
    const char *program = KD_BINARY_DIR "/cross/aarch64-linux/client";
    if (!can_run(KD_BINARY_DIR "/kardan-fmu.aarch64-linux.so", "qemu-aarch64", program)) return;
    compare("aarch64-linux", "so", "qemu-aarch64 -L /usr/aarch64-linux-gnu", program, "");
}

// Wine keeps its settings in the folder of the build; made there at the first call, which takes seconds
static void windows_agrees(void **state)
{
    (void)state;
    const char *program = KD_BINARY_DIR "/cross/x86_64-windows/client.exe";
    if (!can_run(KD_BINARY_DIR "/kardan-fmu.x86_64-windows.dll", "wine", program)) return;
    compare("x86_64-windows", "dll", "LC_ALL=C.UTF-8 WINEDEBUG=-all WINEPREFIX=" KD_BINARY_DIR "/cross/wine wine",
            program, "Z:");
}

// FMUs of both versions have the binaries under the names that clients look for
static void folders_are_those_of_the_standard(void **state)
{
    (void)state;
    static const struct {
        const char *file, *folder[2];
    } WHAT[] = {
        {KD_BINARY_DIR "/kardan-fmu.aarch64-linux.so", {"aarch64-linux/pendulum.so", "aarch64-linux/pendulum.so"}},
        {KD_BINARY_DIR "/kardan-fmu.x86_64-windows.dll", {"win64/pendulum.dll", "x86_64-windows/pendulum.dll"}}};
    for (int version = 2; version <= 3; version++) {
        client c;
        assert_true(client_export(&c, KD_SOURCE_DIR "/models/pendulum.yaml", version, ""));
        for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT; i++) {
            char path[600];
            snprintf(path, sizeof path, "%s/binaries/%s", c.folder, WHAT[i].folder[version - 2]);
            assert_int_equal(access(path, R_OK), access(WHAT[i].file, R_OK));
        }
        client_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aarch64_agrees),
        cmocka_unit_test(windows_agrees),
        cmocka_unit_test(folders_are_those_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
