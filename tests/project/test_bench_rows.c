// Rows of benchmarks: exit status with --check, what is said of goals and of peers that are not installed; and that every
// program passes that status on.
#define _XOPEN_SOURCE 700 // popen, fork, dup2
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common_rows.h"
#include "project/command.h"

#define OUTPUT KD_BINARY_DIR "/tests/bench-rows.txt"
#define PROGRAMS KD_BINARY_DIR "/bench"

enum { FAR_TOO_MANY = 1200 };

// What a benchmark does: value of a row with a goal, rows besides
typedef struct made {
    bench_goal goal;
    double     value;
    int        others;  // rows without goal
    bool       without; // a row whose peer is not installed
} made;

static int rows_of(const made *m, int argc, const char *const *argv)
{
    int    status = -1;
    char  *list[10] = {(char *)"bench"};
    bench *b;
    for (int i = 0; i < argc; i++) list[i + 1] = (char *)argv[i];
    b = bench_create(argc + 1, list, "about", &status);
    if (!b) return status;
    for (int i = 0; i < m->others; i++) bench_row(b, bench_no_goal(true), NAN, i, "s", "", "other.%d", i);
    if (m->without) bench_row_without(b, bench_above(1), "MuJoCo", "libmujoco-dev", "ratio.peer");
    bench_row(b, m->goal, NAN, m->value, "s", "a note", "figure.one");
    return bench_end(b);
}

// In a process of its own, whose output is kept
static command_result benchmark(const made *m, int argc, const char *const *argv)
{
    command_result result = {.status = -1};
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen(OUTPUT, "w", stdout) || dup2(fileno(stdout), 2) < 0) _exit(99);
        const int status = rows_of(m, argc, argv);
        fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &result.status, 0), child);
    assert_true(WIFEXITED(result.status));
    result.status = WEXITSTATUS(result.status);
    char *text = read_text(OUTPUT);
    assert_non_null(text);
    snprintf(result.text, sizeof result.text, "%s", text);
    free(text);
    return result;
}

static void assert_says(const command_result *r, const char *words)
{
    if (!strstr(r->text, words)) fail_msg("'%s' is not said:\n%s", words, r->text);
}

// Every kind of goal, from both sides: met, at its bound, missed, failed (NaN). With --check a missed one answers 1, without 0.
static void missed_goals_answer_one(void **state)
{
    static const struct {
        double low, high, value;
        bool   met;
    } list[] = {
        {-INFINITY, 2, 1.9, true},
        {-INFINITY, 2, 2, true},
        {-INFINITY, 2, 2.1, false},
        {-INFINITY, 2, NAN, false},
        {3, INFINITY, 3.1, true},
        {3, INFINITY, 3, true},
        {3, INFINITY, 2.9, false},
        {3, INFINITY, NAN, false},
        {1, 2, 0.9, false},
        {1, 2, 1.5, true},
        {1, 2, 2.1, false},
        {0, 0, 0, true},
        {0, 0, 1e-9, false},
        {0, 0, -1e-9, false},
        {0, 0, NAN, false},
        {-INFINITY, INFINITY, 7, true},
        {-INFINITY, INFINITY, NAN, true},
    };
    const char *const check[] = {"--check"}, *const json[] = {"--check", "--json"};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const bool           none = isinf(list[i].low) && isinf(list[i].high);
        const made           m = {.goal = bench_between(list[i].low, list[i].high, i % 2), .value = list[i].value};
        const command_result plain = benchmark(&m, 0, NULL), checked = benchmark(&m, 1, check),
                             rows = benchmark(&m, 2, json);
        assert_int_equal(plain.status, 0);
        assert_int_equal(checked.status, list[i].met ? 0 : 1);
        assert_int_equal(rows.status, checked.status);
        // the table says which one, the last line how many, the row in JSON whether
        assert_says(&checked, none          ? "goals: 0 met, 0 missed"
                              : list[i].met ? "goals: 1 met, 0 missed"
                                            : "goals: 0 met, 1 missed");
        assert_int_equal(strstr(checked.text, "MISSED") != NULL, !list[i].met);
        assert_says(&rows, none ? "\"met\": null" : list[i].met ? "\"met\": true" : "\"met\": false");
        if (isnan(list[i].value)) assert_says(&rows, "\"value\": null");
    }
}

// A peer that is not installed: its row and its goal are there, said and not missed; other goals count as ever.
static void missing_peers_are_told(void **state)
{
    const char *const check[] = {"--check"}, *const json[] = {"--check", "--json"};
    (void)state;
    for (int missed = 0; missed < 2; missed++) {
        const made           m = {.goal = bench_below(1), .value = missed ? 2 : 0.5, .without = true};
        const command_result table = benchmark(&m, 1, check), rows = benchmark(&m, 2, json);
        assert_int_equal(table.status, missed);
        assert_int_equal(rows.status, missed);
        assert_says(&table, "no peer");
        assert_says(&table, "built without MuJoCo (package libmujoco-dev)");
        assert_says(&table, "1 not measured because the peer is not installed");
        assert_says(&rows, "ratio.peer");
        assert_says(&rows, "built without MuJoCo (package libmujoco-dev)");
    }
}

// A check that looked at nothing is no good one: no row fits, or there was no room for them.
static void nothing_measured_is_no_success(void **state)
{
    const char *const check[] = {"--check", "--only", "nothing-like-it"}, *const one[] = {"--check", "--only",
                                                                                          "figure"};
    made                 m = {.goal = bench_below(1), .value = 0.5};
    const command_result none = benchmark(&m, 3, check), unchecked = benchmark(&m, 2, check + 1);
    (void)state;
    assert_int_equal(none.status, 1);
    assert_int_equal(unchecked.status, 0);
    assert_says(&none, "no row was measured: none fits nothing-like-it");
    assert_int_equal(benchmark(&m, 3, one).status, 0);
    m.value = 2;
    assert_int_equal(benchmark(&m, 3, one).status, 1);
    // the missed goal stands behind those that there is room for
    m.others = FAR_TOO_MANY;
    m.value = 0.5;
    assert_int_equal(benchmark(&m, 0, NULL).status, 0);
    assert_int_equal(benchmark(&m, 1, check).status, 1);
}

// Every benchmark that is built passes the status on: with rows that there are none of it has nothing to measure.
static void programs_pass_it_on(void **state)
{
    int  tried = 0;
    DIR *folder = opendir(PROGRAMS);
    (void)state;
    if (!folder) skip();
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char        command[1000], path[600];
        struct stat about;
        snprintf(path, sizeof path, "%s/%s", PROGRAMS, entry->d_name);
        // the pages in a browser are a program of another language
        if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || access(path, X_OK) != 0 ||
            strchr(entry->d_name, '.') || strcmp(entry->d_name, "viewer") == 0)
            continue;
        snprintf(command, sizeof command, "cd '%s' && timeout 300 '%s' --quick --check --only nothing-like-it",
                 KD_BINARY_DIR, path);
        const command_result run = run_command(command);
        if (run.status != 1 || !strstr(run.text, "no row was measured"))
            fail_msg("%s: status %d\n%s", entry->d_name, run.status, run.text);
        tried++;
    }
    closedir(folder);
    print_message("%d programs\n", tried);
    if (tried == 0) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missed_goals_answer_one),
        cmocka_unit_test(missing_peers_are_told),
        cmocka_unit_test(nothing_measured_is_no_success),
        cmocka_unit_test(programs_pass_it_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
