// kardan export fmu as a user runs it: what is written, what is refused.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define OUT KD_BINARY_DIR "/test-cli-fmu"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"

// The same model gives the same bytes; versions and kinds differ.
static void models_become_archives(void **state)
{
    (void)state;
    expect("export fmu " MODELS "pendulum.yaml", 0, "pendulum.fmu: FMI 3.0, model exchange and co-simulation");
    expect("export fmu " MODELS "pendulum.yaml --output again.fmu --quiet", 0, "");
    assert_int_equal(run_command("cd '" OUT "' && cmp pendulum.fmu again.fmu").status, 0);
    expect("export fmu " MODELS "pendulum.yaml --fmi 2 --kind cs --output two.fmu", 0,
           "two.fmu: FMI 2.0, co-simulation");
    assert_int_not_equal(run_command("cd '" OUT "' && cmp pendulum.fmu two.fmu").status, 0);
    expect("export fmu " MODELS "quarter-car.yaml --inputs luggage --output car.fmu", 0, "car.fmu");
    // files that the model refers to travel with it
    expect("export fmu " MODELS "gear-pendulum.yaml --output gear.fmu", 0, "gear.fmu");
    expect("export fmu " MODELS "flexible-rotor.yaml --output rotor.fmu", 0, "rotor.fmu");
}

// What cannot be done is told, and nothing is written.
static void mistakes_are_told(void **state)
{
    (void)state;
    expect("export fmu " MODELS "quarter-car.yaml --inputs nobody --output n.fmu", 1,
           "nobody: the model has no input of this name");
    expect("export fmu " MODELS "pendulum.yaml --fmi 4", 2, "--fmi wants 2 or 3, not '4'");
    expect("export fmu " MODELS "pendulum.yaml --kind x", 2, "unknown kind 'x'");
    expect("export ssp " MODELS "pendulum.yaml", 2, "export knows fmu only");
    expect("export fmu pendulum", 2, "not a model file");
    expect("export fmu " MODELS "pendulum.yaml --binary nowhere.so --output n.fmu", 1, "nowhere.so: No such file");
    expect("export fmu " MODELS "pendulum.yaml --output nowhere/n.fmu", 1, "nowhere/n.fmu: cannot be written");
    assert_int_not_equal(run_command("test -e '" OUT "/n.fmu'").status, 0);
    expect("export --help", 0, "kardan export fmu models/pendulum.yaml");
}

// The last row of a table: time and numbers; answers how many
static int last_row(const char *path, double *x, int most)
{
    char  line[4000], last[4000] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) memcpy(last, line, sizeof last);
    fclose(file);
    int n = 0;
    for (char *at = last, *end; n < most && *at && *at != '\n'; at = *end == ',' ? end + 1 : end) {
        x[n++] = strtod(at, &end);
        if (end == at) break;
    }
    return n;
}

// Impacts, dry friction and samples: events of model exchange lead to the motion of co-simulation
static void events_are_those_of_the_library(void **state)
{
    static const char *const MODEL[] = {"impact-ball", "stick-slip", "sampled-speed"};
    (void)state;
    for (size_t i = 0; i < sizeof MODEL / sizeof *MODEL; i++) {
        char   command[400];
        double cs[40], me[40];
        snprintf(command, sizeof command, "export fmu " MODELS "%s.yaml --fmi %d --output e.fmu --quiet", MODEL[i],
                 i == 1 ? 2 : 3);
        expect(command, 0, "");
        expect("fmu simulate e.fmu --kind cs --tolerance 1e-9 --stop 1.5 --step 0.5 --output e-cs.csv", 0, "");
        expect("fmu simulate e.fmu --kind me --tolerance 1e-9 --stop 1.5 --step 0.5 --output e-me.csv", 0, "");
        const int n = last_row(OUT "/e-cs.csv", cs, 40);
        assert_true(n > 1 && n == last_row(OUT "/e-me.csv", me, 40));
        for (int k = 0; k < n; k++)
            if (fabs(cs[k] - me[k]) > 1e-6 * (1 + fabs(cs[k])))
                fail_msg("%s, column %d: %g, %g", MODEL[i], k, cs[k], me[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_become_archives),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(events_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
