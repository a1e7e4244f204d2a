// runtime_endless.c: FMUs that step for a very long time: no allocation after initialisation, no growth of memory.
// KARDAN_STEPS=10000000 build/tests/test_runtime_endless: the long run of the campaign (tools/run-campaign endless).
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "case.h"
#include "runtime/client.h"

// ---- allocations of the process -------------------------------------------------------------------------------------

static atomic_long allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNTS = 0 }; // sanitizers have an allocator of their own
#else
enum { COUNTS = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

#define SHOWN __attribute__((visibility("default")))
// The program's own come before those of libc, for libraries that are loaded later as well
SHOWN void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

SHOWN void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

SHOWN void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
#endif

// Pages of the process that are in memory
static long resident_pages(void)
{
    char  line[200];
    long  all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fgets(line, sizeof line, file)) (void)sscanf(line, "%ld %ld", &all, &resident);
    fclose(file);
    return resident;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

static long wanted_steps(long usual)
{
    const char *word = getenv("KARDAN_STEPS");
    return word ? atol(word) : usual;
}

// All steps of one instance; the first tenth may touch pages that were reserved before
static void step_on(client *c, long steps, double h)
{
    char resources[400];
    snprintf(resources, sizeof resources, "%s/resources/", c->folder);
    fmi3Boolean  event = false, stop = false, early = false;
    fmi3Float64  last = 0;
    fmi3Instance a =
        c->fmi3InstantiateCoSimulation("a", c->token, resources, false, false, false, false, NULL, 0, NULL, NULL, NULL);
    assert_non_null(a);
    assert_int_equal(c->fmi3EnterInitializationMode(a, false, 0, 0, false, 0), fmi3OK);
    assert_int_equal(c->fmi3ExitInitializationMode(a), fmi3OK);

    long pages = 0;
    assert_true(!COUNTS || allocations > 0); // the counter counts
    const long before = allocations;
    long       counted = before;
    for (long k = 0; k < steps; k++) {
        if (k == steps / 10) {
            counted = allocations;
            assert_int_equal(counted, before);
            pages = resident_pages();
            counted = allocations;
        }
        if (c->fmi3DoStep(a, (double)k * h, h, true, &event, &stop, &early, &last) != fmi3OK) fail_msg("step %ld", k);
    }
    const long made = allocations - counted;
    assert_int_equal(made, 0);
    assert_true(fabs(last - (double)steps * h) <= 1e-9 * (double)steps * h);
    const long more = resident_pages() - pages;
    print_message("%ld steps: %ld allocations, %ld pages more\n", steps, made, more);
    assert_true(more <= 16);
    c->fmi3FreeInstance(a);
}

static void step_model(const char *model, const char *identifier, long steps, double h)
{
    char   path[400];
    client c;
    snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", model);
    assert_true(client_export(&c, path, 3, "--kind cs"));
    assert_true(client_load(&c, identifier));
    step_on(&c, steps, h);
    client_close(&c);
}

// A pendulum swings for ever
static void steps_of_the_pendulum_allocate_nothing(void **state)
{
    (void)state;
    step_model("pendulum", "pendulum", wanted_steps(1000000), 1e-3);
}

// Loops with pivoting, impacts with events
static void loops_and_impacts_allocate_nothing(void **state)
{
    (void)state;
    step_model("slider-crank", "slider_crank", 2000, 1e-3);
    step_model("impact-ball", "impact_ball", 2000, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_the_pendulum_allocate_nothing),
        cmocka_unit_test(loops_and_impacts_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
