// Libraries that are loaded when they are first used, where they are missing at run time: runs that need them are refused with a
// sentence that names the library, others go on. dlopen of this program stands in for a system without them.
#define _GNU_SOURCE // RTLD_NEXT
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <string.h>

#include "results/oscillator.h"

static int refused; // libraries that were asked for

void *dlopen(const char *file, int mode)
{
    void *(*real)(const char *, int) = NULL;
    void *found = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &found, sizeof real);
    if (file && (strstr(file, "sundials") || strstr(file, "arpack"))) return refused++, NULL;
    return real ? real(file, mode) : NULL;
}

// Is it linked as usual? Then it cannot be missing
static bool is_linked(const char *function)
{
    return dlsym(RTLD_DEFAULT, function) != NULL;
}

static void missing_sundials_is_named(void **state)
{
    (void)state;
    static const kd_integrator_kind methods[] = {KD_IDA, KD_CVODE, KD_ARKODE, KD_DOPRI5};
    kd_eom_def                      def = oscillator();
    kd_eom                         *eom;
    kd_state                       *x;
    if (is_linked("IDACreate") || !kd_integrator_about(KD_IDA, NULL)->available) skip();
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char                  message[600] = "";
        kd_simulation        *simulation;
        kd_simulation_options o = kd_simulation_options_default();
        o.formulation = methods[i] == KD_IDA ? KD_GGL : KD_ODE;
        o.integrator = methods[i];
        oscillator_state(0, x);
        kd_status status = kd_simulation_create(eom, NULL, &o, x, &simulation, message, sizeof message);
        if (methods[i] == KD_DOPRI5) {
            assert_true(status >= 0);
            assert_int_equal(kd_simulation_run(simulation, 1), KD_OK);
        } else {
            assert_int_equal(status, KD_ERR_UNAVAILABLE);
            if (!strstr(message, "libsundials_ida") || !strstr(message, "install SUNDIALS")) fail_msg("%s", message);
        }
        kd_simulation_destroy(simulation);
    }
    assert_true(refused >= 2); // by path and by name, once
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static void missing_arpack_is_named(void **state)
{
    (void)state;
#ifdef KD_WITH_ARPACK
    char       message[600] = "";
    kd_eom_def def = oscillator();
    kd_eom    *eom;
    kd_state  *x;
    kd_modes  *modes;
    if (is_linked("znaupd_c")) skip();
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    assert_int_equal(kd_modes_near(eom, NULL, x, 1, 1, &modes, message, sizeof message), KD_ERR_UNAVAILABLE);
    if (!strstr(message, "libarpack")) fail_msg("%s", message);
    assert_null(modes);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_sundials_is_named),
                                       cmocka_unit_test(missing_arpack_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
