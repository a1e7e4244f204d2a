// kardan export fmu as a user runs it: what is written, what is refused.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

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

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// Valid against a schema of FMI 3.0, where there are schemas
static void must_be_valid(const char *schema, const char *path)
{
    static const char schemas[] = KD_SOURCE_DIR "/../shared/fmi/schema/fmi3";
    char              command[900];
    if (access(schemas, R_OK) != 0 || access("/usr/bin/xmllint", X_OK) != 0) return;
    snprintf(command, sizeof command, "xmllint --noout --schema '%s/%s' '" OUT "/%s'", schemas, schema, path);
    const command_result r = run_command(command);
    if (r.status != 0) fail_msg("%s", r.text);
}

// Ports of one subsystem are a terminal; models without such have none
static void subsystems_are_terminals(void **state)
{
    (void)state;
    write_text(OUT "/half.yaml",
               "kardan: 1\ninputs: {F: {start: 0}}\nbodies: {block: {mass: 1, inertia: [1, 1, 1]}}\n"
               "joints: {slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
               "forces: {own: {type: joint_spring, joint: slide, rest: 0, stiffness: 10, law: input.F}}\n"
               "sensors: {x: {value: joint.slide.q, unit: m}}\n");
    write_text(OUT "/halves.yaml", "kardan: 1\nsubsystems: {left: {file: half.yaml}, right: {file: half.yaml}}\n"
                                   "sensors: {sum: sensor.left.x + sensor.right.x}\n");
    expect("export fmu halves.yaml --quiet", 0, "");
    assert_int_equal(run_command("cd '" OUT "' && rm -rf h && mkdir h && cd h && unzip -q ../halves.fmu").status, 0);
    const command_result r = run_command("cat '" OUT "/h/terminalsAndIcons/terminalsAndIcons.xml'");
    must_contain(r.text, "<Terminal name=\"left\" matchingRule=\"bus\">");
    must_contain(r.text, "variableName=\"right.F\" memberName=\"F\"");
    must_contain(r.text, "variableName=\"right.x\" memberName=\"x\"");
    assert_null(strstr(r.text, "sum"));
    must_be_valid("fmi3TerminalsAndIcons.xsd", "h/terminalsAndIcons/terminalsAndIcons.xml");
    expect("export fmu " MODELS "pendulum.yaml --quiet", 0, "");
    assert_int_not_equal(run_command("cd '" OUT "' && unzip -l pendulum.fmu | grep -q terminals").status, 0);
}

// With --sources everything that the build description names is there, and everything that they include
static void sources_are_complete(void **state)
{
    (void)state;
    expect("export fmu " MODELS "pendulum.yaml --sources --output sources.fmu --quiet", 0, "");
    expect("export fmu " MODELS "pendulum.yaml --sources --fmi 2 --output n.fmu", 1, "only FMI 3.0");
    assert_int_equal(run_command("cd '" OUT "' && rm -rf s && mkdir s && cd s && unzip -q ../sources.fmu").status, 0);
    must_be_valid("fmi3BuildDescription.xsd", "s/sources/buildDescription.xml");
    const command_result r = run_command(
        "cd '" OUT "/s/sources' && sed -n 's/.*SourceFile name=\"\\(.*\\)\".*/\\1/p' buildDescription.xml > list && "
        "[ $(wc -l < list) -gt 100 ] && xargs -n 50 cc -std=c17 -M -DKD_RUNTIME=1 -I. < list > made && "
        "! grep -o '[^ ]*[.]h' made | grep -v '^/usr/\\|^[a-zA-Z]' ");
    if (r.status != 0) fail_msg("%s", r.text);
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
        cmocka_unit_test(models_become_archives),          cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(subsystems_are_terminals),        cmocka_unit_test(sources_are_complete),
        cmocka_unit_test(events_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
