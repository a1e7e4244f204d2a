// What the documentation says is true: every status is explained, programs of the guide run and are printed as they
// are.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kardan/kardan.h>

#include "project/command.h"

#define GUIDE KD_SOURCE_DIR "/docs/guide/"

// docs/guide/messages.md has a row for every status, with its number and its sentence, and advice behind it.
static void every_status_is_explained(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int         value;
        const char *sentence;
    } list[] = {
#define KD_STATUS_ROW(name, value, sentence) {#name, value, sentence},
        KD_STATUS_LIST(KD_STATUS_ROW)
#undef KD_STATUS_ROW
    };
    char *page = read_text(GUIDE "messages.md");
    assert_non_null(page);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char row[400];
        snprintf(row, sizeof row, "| `%s` | %d | %s | ", list[i].name, list[i].value, list[i].sentence);
        char *found = strstr(page, row);
        if (!found) print_error("missing in docs/guide/messages.md: %s\n", row);
        assert_non_null(found);
        assert_true(strcspn(found + strlen(row), "|\n") > 5); // some advice
    }
    free(page);
}

// docs/guide/formulations.md explains every formulation.
static void every_formulation_is_explained(void **state)
{
    (void)state;
    char *page = read_text(GUIDE "formulations.md");
    assert_non_null(page);
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) {
        char row[100];
        snprintf(row, sizeof row, "\n| `%s` |", kd_formulation_word((kd_formulation)i));
        assert_non_null(strstr(page, row));
    }
    free(page);
}

// The programs that pages print are the files that are compiled.
static void printed_programs_are_the_files(void **state)
{
    (void)state;
    static const char *const names[][2] = {{GUIDE "own-equations.md", GUIDE "own_equations.c"},
                                           {GUIDE "build-model.md", GUIDE "build_model.c"},
                                           {GUIDE "realtime.md", GUIDE "realtime_loop.c"},
                                           {GUIDE "controllers.md", GUIDE "sampled_block.c"},
                                           {GUIDE "events.md", GUIDE "event_hooks.c"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *page = read_text(names[i][0]), *file = read_text(names[i][1]);
        assert_non_null(page);
        assert_non_null(file);
        char *start = strstr(page, "```c\n");
        assert_non_null(start);
        start += strlen("```c\n");
        char *end = strstr(start, "```\n");
        assert_non_null(end);
        *end = '\0';
        assert_string_equal(start, file);
        free(page);
        free(file);
    }
}

// The program with equations runs: four rows in which the rod has its length, and energy is kept.
static void program_of_the_guide_runs(void **state)
{
    (void)state;
    command_result result = run_command("'" KD_BINARY_DIR "/guide/own_equations'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    char *line = strchr(result.text, '\n');
    for (int i = 1; i <= 4; i++) {
        double t, x, bx, by, lambda;
        assert_non_null(line);
        assert_int_equal(sscanf(line + 1, "%lf %lf %lf %lf %lf", &t, &x, &bx, &by, &lambda), 5);
        assert_true(fabs(t - 0.5 * i) < 1e-9);
        assert_true(fabs(hypot(bx - x, by) - 1) < 3e-6); // six printed decimals
        line = strchr(line + 1, '\n');
    }
    double change = 1;
    assert_int_equal(sscanf(line + 1, "energy changed by %lf J", &change), 1);
    assert_true(change < 1e-6);
}

// The program that builds a model runs: at the stroke of each row the crank has the angle that the lengths give, and
// the certificate is clean.
static void program_with_model_runs(void **state)
{
    (void)state;
    command_result result = run_command("'" KD_BINARY_DIR "/guide/build_model'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    char *line = strchr(result.text, '\n');
    for (int i = 1; i <= 4; i++) {
        double t, angle, stroke, wall, crank = 0.05, rod = 0.15;
        assert_non_null(line);
        assert_int_equal(sscanf(line + 1, "%lf %lf %lf %lf", &t, &angle, &stroke, &wall), 4);
        double height = crank * sin(angle), reach = crank * cos(angle) + sqrt(rod * rod - height * height);
        assert_true(fabs(reach - (crank + rod) - stroke) < 2e-6); // six printed decimals
        assert_true(fabs(angle) > 0.1 && wall != 0);
        line = strchr(line + 1, '\n');
    }
    assert_null(strstr(line, "drift"));
    assert_non_null(strstr(line, "(balanced)"));
}

// The program with a loop of its own runs: the trolley comes to its place, the load hardly swings, the rope holds.
static void program_with_loop_runs(void **state)
{
    (void)state;
    command_result result = run_command("'" KD_BINARY_DIR "/guide/realtime_loop' 2>/dev/null");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    double t, place, angle, position, velocity;
    char  *last = strstr(result.text, " 20.0 ");
    assert_non_null(last);
    assert_int_equal(sscanf(last, "%lf %lf %lf", &t, &place, &angle), 3);
    assert_true(fabs(place - 5) < 0.05 && fabs(angle) < 0.01);
    assert_int_equal(
        sscanf(strstr(last, "rope:"), "rope: position error %lf, velocity error %lf", &position, &velocity), 2);
    assert_true(position < 1e-8 && velocity < 1e-10);
}

// The program with a sampled block runs: once it is there, the speed stays in its band up to what a period brings.
static void program_with_block_runs(void **state)
{
    (void)state;
    command_result result = run_command("'" KD_BINARY_DIR "/guide/sampled_block'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    char *line = strchr(result.text, '\n');
    int   pushes = 0;
    for (int i = 1; i <= 10; i++) {
        double t, speed, push;
        assert_non_null(line);
        assert_int_equal(sscanf(line + 1, "%lf %lf %lf", &t, &speed, &push), 3);
        assert_true(i < 2 || (speed > 0.9 - 0.01 && speed < 1.1 + 0.02));
        pushes += push == 4;
        line = strchr(line + 1, '\n');
    }
    assert_true(pushes > 0 && pushes < 10);
}

// The program with events runs: the pump is switched at the two levels of its band, in turn.
static void program_with_events_runs(void **state)
{
    (void)state;
    command_result result = run_command("'" KD_BINARY_DIR "/guide/event_hooks'");
    if (result.status != 0) print_error("%s\n", result.text);
    assert_int_equal(result.status, 0);
    int    events = 0;
    double last = 0;
    for (char *line = strchr(result.text, '\n'); line && line[1]; line = strchr(line + 1, '\n'), events++) {
        double t, level;
        char   word[8];
        assert_int_equal(sscanf(line + 1, "%lf %lf pump %7s", &t, &level, word), 3);
        assert_true(t > last && fabs(level - (events % 2 == 0 ? 1.2 : 1.0)) < 1e-9);
        assert_string_equal(word, events % 2 == 0 ? "off" : "on");
        last = t;
    }
    assert_int_equal(events, 5);
}

// docs/guide/realtime.md explains every Jacobian and every stabilisation.
static void every_realtime_method_is_explained(void **state)
{
    (void)state;
    static const char *const words[] = {
#define KD_WORD(name, word, sentence) word,
        KD_REALTIME_JACOBIAN_LIST(KD_WORD) KD_REALTIME_STABILISATION_LIST(KD_WORD)
#undef KD_WORD
    };
    char *page = read_text(GUIDE "realtime.md");
    assert_non_null(page);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char row[100];
        snprintf(row, sizeof row, "\n| `%s` |", words[i]);
        if (!strstr(page, row)) print_error("missing: %s\n", row);
        assert_non_null(strstr(page, row));
    }
    free(page);
}

// Relative links between pages lead somewhere.
static void links_lead_somewhere(void **state)
{
    (void)state;
    static const char *const pages[] = {"README.md",
                                        "CONTRIBUTING.md",
                                        "docs/README.md",
                                        "docs/guide/first-simulation.md",
                                        "docs/guide/command-line.md",
                                        "docs/guide/certificate.md",
                                        "docs/guide/results.md",
                                        "docs/guide/own-equations.md",
                                        "docs/guide/build-model.md",
                                        "docs/guide/formulations.md",
                                        "docs/guide/models.md",
                                        "docs/guide/sensors.md",
                                        "docs/guide/controllers.md",
                                        "docs/guide/events.md",
                                        "docs/methods/events.md",
                                        "docs/guide/expressions.md",
                                        "docs/guide/urdf.md",
                                        "docs/guide/vehicles.md",
                                        "docs/guide/realtime.md",
                                        "docs/guide/linearisation.md",
                                        "docs/methods/linearize.md",
                                        "docs/guide/equilibrium.md",
                                        "docs/guide/compare.md",
                                        "docs/methods/compare.md",
                                        "docs/reference/model-file.md",
                                        "docs/guide/messages.md",
                                        "docs/guide/benchmarks.md",
                                        "docs/methods/README.md",
                                        "docs/methods/formalism.md",
                                        "bench/README.md"};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char path[1000], folder[1000];
        snprintf(path, sizeof path, "%s/%s", KD_SOURCE_DIR, pages[i]);
        snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = '\0';
        char *page = read_text(path);
        assert_non_null(page);
        for (char *link = strstr(page, "]("); link; link = strstr(link + 1, "](")) {
            char   target[1500];
            size_t length = strcspn(link + 2, ")#");
            if (strncmp(link + 2, "http", 4) == 0 || length == 0) continue;
            snprintf(target, sizeof target, "test -e '%.600s/%.*s'", folder, (int)length, link + 2);
            command_result result = run_command(target);
            if (result.status != 0) print_error("%s: %s\n", pages[i], target);
            assert_int_equal(result.status, 0);
        }
        free(page);
    }
}

// Every page of the guide is in the index.
static void index_has_every_page(void **state)
{
    (void)state;
    command_result missing = run_command("cd '" KD_SOURCE_DIR "/docs' && for page in guide/*.md reference/*.md; do "
                                         "grep -qF \"($page)\" README.md || echo \"$page\"; done");
    assert_string_equal(missing.text, "");
}

// Pages that C files mention are there: each path below the folder of the documentation exists.
static void mentioned_pages_exist(void **state)
{
    (void)state;
#define MENTIONED                                                                                                      \
    "cd '" KD_SOURCE_DIR                                                                                               \
    "' && grep -rnoE --include='*.[ch]' 'docs/[A-Za-z0-9_./-]+' include src models bench tests | "                     \
    "sed 's/[.]*$//'"
    command_result all = run_command(MENTIONED);
    assert_int_equal(all.status, 0);
    assert_non_null(strstr(all.text, "include/kardan/eom.h:")); // it does look into the headers
    assert_non_null(strstr(all.text, ":docs/guide/own-equations.md\n"));
    command_result missing = run_command(MENTIONED " | while IFS=: read -r file line page; do "
                                                   "test -e \"$page\" || echo \"$file:$line: no page $page\"; done");
#undef MENTIONED
    assert_string_equal(missing.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_is_explained),
        cmocka_unit_test(every_formulation_is_explained),
        cmocka_unit_test(printed_programs_are_the_files),
        cmocka_unit_test(program_of_the_guide_runs),
        cmocka_unit_test(program_with_model_runs),
        cmocka_unit_test(program_with_loop_runs),
        cmocka_unit_test(program_with_block_runs),
        cmocka_unit_test(program_with_events_runs),
        cmocka_unit_test(every_realtime_method_is_explained),
        cmocka_unit_test(links_lead_somewhere),
        cmocka_unit_test(index_has_every_page),
        cmocka_unit_test(mentioned_pages_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
