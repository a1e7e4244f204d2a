// Point 11 of "never wrong in silence": what does not fit into memory is refused in words, with the number and what to
// do, and nothing hangs or dies where memory is short. Real processes with real limits.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case.h"
#include "core/memory.h"
#include "project/command.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan' "
#define OUT KD_BINARY_DIR "/test-point11"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true; // it needs terabytes of addresses, and brings its own malloc
#else
static const bool sanitized = false;
#endif

static unsigned long long seed = 11;

static double uniform(double low, double high)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(seed >> 11) / 9007199254740992.0;
}

static command_result run(const char *format, ...)
{
    char    line[3000];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return run_command(line);
}

static void must_say(const command_result *result, int status, const char *part)
{
    if (result->status != status || !strstr(result->text, part))
        fail_msg("status %d, wanted %d with '%s':\n%s", result->status, status, part, result->text);
}

static int prepare(void **state)
{
    (void)state;
    FILE *file;
    if (run("rm -rf '" OUT "' && mkdir -p '" OUT "'").status != 0) return 1;
    file = fopen(OUT "/chain.yaml", "w");
    if (!file) return 1;
    fputs("kardan: 1\nparameters: {N: 10}\n"
          "bodies:\n  \"b(i)\": {for: i = 1..N, mass: 1, inertia: [0.1, 0.1, 0.1], position: [i, 0, 0]}\n"
          "run: {t_end: 0.01, intervals: 2}\n",
          file);
    return fclose(file);
}

// Results that do not fit are refused before the run, with their size; the limit is the one that was given.
static void results_are_estimated(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const int      intervals = (int)uniform(200000, 1000000), megabytes = (int)uniform(1, 20);
        const double   wanted = (intervals + 2) * 18.0 * 8 / 1048576; // t and 17 channels of the pendulum, at least
        command_result result = run(KARDAN "simulate pendulum --intervals %d --memory %dM --quiet --output '" OUT "'",
                                    intervals, megabytes);
        char           limit[60];
        snprintf(limit, sizeof limit, "the limit is %d MB (--memory)", megabytes);
        must_say(&result, 1, limit);
        must_say(&result, 1, "Fewer --intervals");
        const char *results = strstr(result.text, "results ");
        assert_non_null(results);
        const double told = atof(results + 8) * (strstr(results, "GB;") ? 1024 : 1);
        assert_true(told > 0.5 * wanted && told < 3 * wanted);
    }
    command_result result = run(KARDAN "simulate pendulum --memory 100M --t-end 0.1 --quiet --output '" OUT "'");
    assert_int_equal(result.status, 0);
}

// Models whose matrices do not fit are refused wherever they come to the limit, in joint and Cartesian coordinates, by
// all commands.
static void models_are_estimated(void **state)
{
    (void)state;
    static const char *const commands[] = {"simulate", "check", "modes", "equilibrium", "info", "linearize"};
    for (int i = 0; i < 6; i++) {
        const int      n = (int)uniform(60, 200);
        command_result result = run(KARDAN "%s '" OUT "/chain.yaml' --set N=%d --memory %dK --coordinates %s",
                                    commands[i], n, (int)uniform(100, 900), i % 2 ? "joint" : "cartesian");
        must_say(&result, 1, "kardan: ");
        must_say(&result, 1, "(--memory)");
        must_say(&result, 1, "--memory SIZE (4G)");
    }
    // dense matrices of six times 2000 velocities: told before they are made
    command_result result =
        run("timeout 60 " KARDAN "simulate '" OUT "/chain.yaml' --set N=400 --memory 200M --quiet --output '" OUT "'");
    must_say(&result, 1, "matrices of 2400 velocities");
}

// Sizes are read with their letters; others are refused.
static void sizes_are_read(void **state)
{
    (void)state;
    static const char *const good[] = {"500M", "4G", "4GiB", "1e9", "2T", "300000K", "0.5g"}, *const wrong[] = {
                                                                                                  "",   "-1G", "4X",
                                                                                                  "G",  "4Gx", "0",
                                                                                                  "nan"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(run(KARDAN "info pendulum --memory %s", good[i]).status, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        command_result result = run(KARDAN "info pendulum --memory '%s'", wrong[i]);
        must_say(&result, 2, "--memory wants a size");
    }
}

// Under a limit of the address space every command either works or says that it is too small; nothing hangs.
static void small_address_spaces(void **state)
{
    (void)state;
    int refused = 0, done = 0;
    if (sanitized) skip();
    for (int kilobytes = 120000; kilobytes <= 480000; kilobytes += (int)uniform(20000, 60000)) {
        // one that needs little more than the program, and one that needs 20 MB to 1.3 GB
        for (int large = 0; large < 2; large++) {
            char model[200] = "pendulum --t-end 0.1 --intervals 5";
            if (large) snprintf(model, sizeof model, "'" OUT "/chain.yaml' --set N=%d", (int)uniform(25, 200));
            command_result result =
                run("ulimit -v %d; timeout 20 " KARDAN "simulate %s --quiet --output '" OUT "' 2>&1", kilobytes, model);
            if (result.status == 0)
                done++;
            else if (result.status == 127 || strstr(result.text, "shared object"))
                continue; // the loader itself had no room
            else if (result.status == 1 && strstr(result.text, "memory"))
                refused++;
            else
                fail_msg("ulimit -v %d, %s: %d\n%s", kilobytes, model, result.status, result.text);
        }
    }
    assert_true(done > 0 && refused > 0);
}

// Any allocation of the process may fail: with kardan's own parts and integrators it ends with a status, not a signal.
static void single_failures_of_the_process(void **state)
{
    (void)state;
    if (sanitized) skip();
    must_say(&(command_result){.status = run("cc -shared -fPIC -o '" OUT "/fail.so' '" KD_SOURCE_DIR
                                             "/tests/campaign/failing_malloc.c' -ldl")
                                             .status,
                               .text = "built"},
             0, "built");
    const char *commands[] = {"simulate '" KD_SOURCE_DIR "/models/slider-crank.yaml' --t-end 0.02 --intervals 3",
                              "check '" KD_SOURCE_DIR "/models/quarter-car.yaml'"};
    for (int i = 0; i < 2; i++) {
        const char *out = i == 0 ? " --output '" OUT "/f' --quiet" : "";
        run("KARDAN_FAIL_COUNT='" OUT "/count' LD_PRELOAD='" OUT "/fail.so' " KARDAN "%s%s", commands[i], out);
        char *text = read_text(OUT "/count");
        assert_non_null(text);
        const int total = atoi(text);
        free(text);
        assert_true(total > 100);
        for (int k = 0; k < 25; k++) {
            const int      n = (int)uniform(1, total);
            command_result result =
                run("KARDAN_FAIL_AT=%d LD_PRELOAD='" OUT "/fail.so' timeout 20 " KARDAN "%s%s", n, commands[i], out);
            if (result.status > 3) fail_msg("allocation %d of %d: %d\n%s", n, total, result.status, result.text);
        }
    }
}

// ---- the allocator --------------------------------------------------------------------------------------------------

static void *dirty(size_t size, void *context)
{
    char *memory = malloc(size);
    ++*(int *)context;
    if (memory) memset(memory, 0x5a, size);
    return memory;
}

static void *zeroed(size_t size, void *context)
{
    ++*(int *)context;
    return calloc(1, size);
}

static void give_back(void *memory, void *context)
{
    (void)context;
    free(memory);
}

// kd_alloc is zero-filled whether the allocator is or not; an offer is asked for and given back.
static void allocators_with_and_without_zeros(void **state)
{
    (void)state;
    int calls = 0;
    for (int i = 0; i < 2; i++) {
        kd_set_allocator(&(kd_allocator){i ? zeroed : dirty, give_back, &calls});
        if (i) kd_trust_zeros();
        char *memory = kd_alloc(1000);
        assert_non_null(memory);
        for (int k = 0; k < 1000; k++) assert_int_equal(memory[k], 0);
        kd_free(memory);
        assert_true(kd_memory_offers(1 << 20));
        assert_false(kd_memory_offers(SIZE_MAX));
    }
    assert_int_equal(calls, 4);
    kd_set_allocator(NULL);
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_estimated),
        cmocka_unit_test(models_are_estimated),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(small_address_spaces),
        cmocka_unit_test(single_failures_of_the_process),
        cmocka_unit_test(allocators_with_and_without_zeros),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
