// Searches for the best parameters: known minima and fronts, the same bits for all threads and after kills, wrong files in words; Morris' paths
// against closed forms; samples that end when means are known.
#define _POSIX_C_SOURCE 200809L
#include <kardan/study.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/search"
#define FILE_NAME KD_SOURCE_DIR "/models/search.yaml" // beside the models, not on disk

static kd_study *study_of(const char *text)
{
    kd_study *s;
    char      message[4000];
    if (kd_study_read_text(FILE_NAME, text, strlen(text), &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

// Without NLopt searches say so, once and in words
static bool run_well(kd_study *s, const char *folder, int threads)
{
    kd_study_run_options opt = kd_study_run_options_default();
    char                 message[1000];
    opt.folder = folder, opt.threads = threads;
    const kd_status status = kd_study_run(s, &opt, message, sizeof message);
    if (status == KD_ERR_UNAVAILABLE) {
        assert_non_null(strstr(message, "libnlopt-dev"));
        return false;
    }
    if (status < 0) fail_msg("%s", message);
    return true;
}

#define NEEDS_NLOPT(s)                                                                                                 \
    if (!run_well(s, NULL, 2)) {                                                                                       \
        print_message("built without NLopt: skipped\n");                                                               \
        kd_study_destroy(s);                                                                                           \
        skip();                                                                                                        \
    }

static double best_value(const kd_study *s, int output)
{
    const int row = kd_study_best(s, 0);
    assert_true(row >= 0 && kd_study_feasible(s, row));
    return kd_study_row_of(s, row).output[output];
}

// Rosenbrock's valley cut off by a circle: x^2 + y^2 <= 1.5. On the circle x = sqrt(1.5) cos a the least of f is that of one variable, found here
// by a fine search of its own. Methods with and without gradients, local and global, come to it.
static void constrained_minimum(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        double      tolerance;
    } METHOD[] = {{"cobyla", 1e-6},
                  {"slsqp", 1e-6},
                  {"mma", 1e-6},
                  {"isres, polish: cobyla", 1e-6},
                  {"direct, polish: slsqp", 1e-6}};
    double least = INFINITY;
    for (int i = 0; i <= 2000000; i++) {
        const double a = i * 1e-6, x = sqrt(1.5) * cos(a), y = sqrt(1.5) * sin(a);
        least = fmin(least, (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x));
    }
    for (size_t i = 0; i < sizeof METHOD / sizeof *METHOD; i++) {
        char text[700];
        snprintf(text, sizeof text,
                 "parameters: {x: {range: [-2, 2]}, y: {range: [-1, 3]}}\noutputs: {f: (1 - x)^2 + 100*(y - x^2)^2}\n"
                 "optimise: {minimise: f, constraints: [x^2 + y^2 <= 1.5], method: %s, starts: 3, runs: 3000, "
                 "tolerance: 1e-7}\n",
                 METHOD[i].method);
        kd_study *s = study_of(text);
        NEEDS_NLOPT(s);
        const double found = best_value(s, 0);
        if (!(fabs(found - least) < METHOD[i].tolerance))
            fail_msg("%s: %.10g in place of %.10g", METHOD[i].method, found, least);
        kd_study_destroy(s);
    }
}

// Without constraints, with a maximum, with an equation, with limits by >= and by the end of a range: closed forms.
static void closed_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      x[2], tolerance;
    } CASE[] = {
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: bobyqa, tolerance: 1e-7}",
         {0.3, 0.7},
         1e-5},
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: sbplx, runs: 2000, tolerance: "
         "1e-7}",
         {0.3, 0.7},
         1e-5},
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: nelder_mead, runs: 2000, "
         "tolerance: 1e-7}",
         {0.3, 0.7},
         1e-5},
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: lbfgs, tolerance: 1e-7}",
         {0.3, 0.7},
         1e-5},
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: crs, runs: 4000, polish: "
         "bobyqa, tolerance: 1e-7}",
         {0.3, 0.7},
         1e-4},
        {"outputs: {f: (x - 0.3)^2 + 2*(y - 0.7)^2 + 5}\noptimise: {minimise: f, method: esch, runs: 2000, tolerance: "
         "1e-7}",
         {0.3, 0.7},
         0.05},
        {"outputs: {f: x*y}\noptimise: {maximise: f, constraints: [x + 2*y <= 1], tolerance: 1e-7}", {0.5, 0.25}, 1e-4},
        {"outputs: {f: x^2 + y^2}\noptimise: {minimise: f, constraints: [x + y == 1], method: slsqp, tolerance: 1e-7}",
         {0.5, 0.5},
         1e-4},
        {"outputs: {f: x + y}\noptimise: {minimise: f + 1, constraints: [x*y >= 0.04, x >= 0.4], tolerance: 1e-7}",
         {0.4, 0.1},
         1e-4},
        {"outputs: {f: x - y}\noptimise: {minimise: f}", {0, 1}, 1e-9},
        // two valleys, the deeper one away from the start: starts beyond the first find it
        {"outputs: {f: min(60*(x - 0.45)^2, 60*(x - 0.9)^2 - 1) + (y - 0.5)^2}\noptimise: {minimise: f, starts: 8, "
         "runs: 1000, tolerance: 1e-7}",
         {0.9, 0.5},
         1e-4},
    };
    for (size_t i = 0; i < sizeof CASE / sizeof *CASE; i++) {
        char text[700];
        snprintf(text, sizeof text, "parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\n%s\n", CASE[i].text);
        kd_study *s = study_of(text);
        double    value[2];
        NEEDS_NLOPT(s);
        assert_int_equal(kd_study_point(s, kd_study_best(s, 0), value), KD_OK);
        for (int j = 0; j < 2; j++)
            if (!(fabs(value[j] - CASE[i].x[j]) < CASE[i].tolerance))
                fail_msg("%s: (%.8g, %.8g)", CASE[i].text, value[0], value[1]);
        kd_study_destroy(s);
    }
}

// Fronts with closed forms, one convex (f2 = (1 - sqrt f1)^2), one not (f2 = 1 - f1^2, where sums of weights find the ends only): every search of
// the front ends on it, and the points are spread evenly.
static void known_fronts(void **state)
{
    (void)state;
    static const char *const SECOND[] = {"(1 - sqrt(x))^2 + 5*(y - 0.3)^2", "1 - x^2 + 5*(y - 0.3)^2"};
    for (int which = 0; which < 2; which++) {
        char text[700];
        snprintf(text, sizeof text,
                 "parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\noutputs: {f1: x + (y - 0.3)^2, f2: %s}\n"
                 "optimise: {minimise: [f1, f2], front: 9, runs: 1000, tolerance: 1e-6}\n",
                 SECOND[which]);
        kd_study *s = study_of(text);
        NEEDS_NLOPT(s);
        assert_int_equal(kd_study_searches(s), 11);
        for (int k = 2; k < 11; k++) {
            const kd_study_search q = kd_study_search_of(s, k);
            assert_true(q.done && q.best >= 0 && q.objective == -1);
            const double *f = kd_study_row_of(s, q.best).output;
            const double  on = which == 0 ? pow(1 - sqrt(f[0]), 2) : 1 - f[0] * f[0];
            if (!(fabs(f[1] - on) < 1e-4)) fail_msg("front %d, search %d: (%.8g, %.8g)", which, k, f[0], f[1]);
            // the ray from its place c on the line between the ends: f1 - c = f2 - (1 - c)
            const double c = (k - 1) / 10.0;
            if (!(fabs((f[0] - c) - (f[1] - 1 + c)) < 1e-3)) fail_msg("front %d, search %d: off its ray", which, k);
        }
        char message[500];
        assert_int_equal(kd_study_save_page(s, FOLDER "/front.html", message, sizeof message), KD_OK);
        char *page = read_text(FOLDER "/front.html");
        assert_true(page && strstr(page, "Front</h2>") && strstr(page, "Searches</h2>") &&
                    strstr(page, "Convergence</h2>"));
        free(page);
        // no row of the front is beaten, by the definition
        int       row[500];
        const int n = kd_study_front(s, row, 500);
        assert_true(n >= 9);
        for (int i = 0; i < n && i < 500; i++)
            for (int r = 0; r < kd_study_rows(s); r++) {
                if (!kd_study_feasible(s, r)) continue;
                const double *a = kd_study_row_of(s, row[i]).output, *b = kd_study_row_of(s, r).output;
                assert_false(b[0] <= a[0] && b[1] <= a[1] && (b[0] < a[0] || b[1] < a[1]));
            }
        kd_study_destroy(s);
    }
}

// Three objectives, each the distance from a corner of a triangle: the front is the triangle.
static void triangle(void **state)
{
    (void)state;
    kd_study *s = study_of("parameters: {x: {range: [-1, 2]}, y: {range: [-1, 2]}}\n"
                           "outputs: {a: x^2 + y^2, b: (x - 1)^2 + y^2, c: x^2 + (y - 1)^2}\n"
                           "optimise: {minimise: [a, b, c], front: 12, runs: 500, tolerance: 1e-6}\n");
    NEEDS_NLOPT(s);
    for (int k = 3; k < 15; k++) {
        double                value[2];
        const kd_study_search q = kd_study_search_of(s, k);
        assert_true(q.best >= 0);
        assert_int_equal(kd_study_point(s, q.best, value), KD_OK);
        if (!(value[0] > -1e-3 && value[1] > -1e-3 && value[0] + value[1] < 1 + 1e-3))
            fail_msg("search %d: (%g, %g)", k, value[0], value[1]);
    }
    kd_study_destroy(s);
}

// ---- a model --------------------------------------------------------------------------------------------------------

static const char CAR[] = "model: quarter-car.yaml\nrun: {t_end: 0.5, intervals: 50}\n"
                          "parameters:\n  ks: {range: [1e4, 3e4]}\n  cs: {range: [500, 4000]}\n"
                          "outputs:\n  comfort: {rms: comfort}\n  load: {rms: wheel-load}\n"
                          "optimise: {minimise: [comfort, load], starts: 2, front: 3, runs: 12}\n";

static void check_equal(const kd_study *a, const kd_study *b)
{
    assert_int_equal(kd_study_rows(a), kd_study_rows(b));
    for (int row = 0; row < kd_study_rows(a); row++) {
        const kd_study_row x = kd_study_row_of(a, row), y = kd_study_row_of(b, row);
        double             p[2] = {0}, q[2] = {0};
        assert_int_equal(x.done, y.done);
        if (!x.done) continue;
        assert_int_equal(x.status, y.status);
        assert_memory_equal(x.output, y.output, (size_t)kd_study_outputs(a) * sizeof(double));
        assert_int_equal(kd_study_point(a, row, p), KD_OK);
        assert_int_equal(kd_study_point(b, row, q), KD_OK);
        assert_memory_equal(p, q, sizeof p);
    }
    for (int k = 0; k < kd_study_searches(a); k++) {
        const kd_study_search x = kd_study_search_of(a, k), y = kd_study_search_of(b, k);
        assert_true(x.done && y.done && x.best == y.best && x.runs == y.runs);
    }
}

// One thread, two and seven; killed a dozen times at any time and gone on with: the same searches to the last bit, and each row made once.
static void same_bits(void **state)
{
    (void)state;
    kd_study *one = study_of(CAR), *two = study_of(CAR), *seven = study_of(CAR), *killed = study_of(CAR);
    if (!run_well(one, NULL, 1)) {
        print_message("built without NLopt: skipped\n");
        skip();
    }
    run_well(two, NULL, 2);
    run_well(seven, NULL, 7);
    check_equal(one, two);
    check_equal(one, seven);
    for (int round = 0; round < 12; round++) {
        const pid_t child = fork();
        if (child == 0) {
            kd_study *s = study_of(CAR);
            run_well(s, FOLDER "/kills", 1 + round % 3);
            _exit(0);
        }
        const struct timespec wait = {0, 3000000 + 6000000 * (round * 37 % 11)};
        (void)nanosleep(&wait, NULL);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    run_well(killed, FOLDER "/kills", 2);
    check_equal(one, killed);
    // another process reads what is there, and a row of it alone is the same
    kd_study    *loaded = study_of(CAR);
    kd_study_row row;
    char         message[500];
    assert_int_equal(kd_study_repeat(loaded, 3, NULL, &row, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_study_load(loaded, FOLDER "/kills", message, sizeof message), KD_OK);
    check_equal(one, loaded);
    assert_int_equal(kd_study_repeat(loaded, 3, NULL, &row, message, sizeof message), KD_OK);
    assert_memory_equal(row.output, kd_study_row_of(one, 3).output, 2 * sizeof(double));
    assert_int_equal(kd_study_load(loaded, FOLDER "/nowhere", message, sizeof message), KD_ERR_FILE);
    kd_study_destroy(one);
    kd_study_destroy(two);
    kd_study_destroy(seven);
    kd_study_destroy(killed);
    kd_study_destroy(loaded);
}

// Runs that fail are worse than all others: the search goes around them, and rows tell why.
static void failures_on_the_way(void **state)
{
    (void)state;
    kd_study *s = study_of("parameters: {x: {range: [-1, 1]}, y: {range: [-1, 1]}}\n"
                           "outputs: {f: (x - 0.2)^2 + y^2 + 0*sqrt(x - 0.1)}\n"
                           "optimise: {minimise: f, start: {x: 0.9, y: 0.9}, runs: 500, tolerance: 1e-6}\n");
    double    value[2];
    int       failed = 0;
    NEEDS_NLOPT(s);
    for (int i = 0; i < kd_study_rows(s); i++) failed += kd_study_row_of(s, i).done && kd_study_row_of(s, i).status < 0;
    assert_int_equal(kd_study_point(s, kd_study_best(s, 0), value), KD_OK);
    assert_true(fabs(value[0] - 0.2) < 1e-3 && fabs(value[1]) < 1e-3);
    assert_true(failed > 0);
    kd_study_destroy(s);
}

// ---- files ----------------------------------------------------------------------------------------------------------

static void wrong_files(void **state)
{
    (void)state;
    static const char *const WRONG[][2] = {
        {"optimise: {minimise: f, metod: cobyla}", "search.yaml:3:25: there is no key 'metod'; did you mean 'method'?"},
        {"optimise: {minimise: f, method: cobila}",
         "search.yaml:3:33: there is no method 'cobila'; did you mean 'cobyla'?"},
        {"optimise: {method: cobyla}", "search.yaml:3:11: optimise needs minimise or maximise"},
        {"optimise: {minimise: ff}", "search.yaml:3:22"},
        {"optimise: {minimise: f, constraints: [f]}", "search.yaml:3:39: a constraint compares two expressions"},
        {"optimise: {minimise: f, constraints: [f < 1 < 2]}",
         "search.yaml:3:39: a constraint compares two expressions"},
        {"optimise: {minimise: f, constraints: [f == x]}", "search.yaml:3:39: an equation has a number other than 0"},
        {"optimise: {minimise: f, constraints: [f <= 1], method: bobyqa}",
         "search.yaml:3:56: method 'bobyqa' knows no constraints"},
        {"optimise: {minimise: [f, x], method: crs}", "which a front needs"},
        {"optimise: {minimise: f, constraints: [f == 1], method: mma}", "knows no equations as constraints"},
        {"optimise: {minimise: f, start: {x: 7}}", "search.yaml:3:36: the start lies outside of the parameter's range"},
        {"optimise: {minimise: f, start: {y: 7}}", "there is no key 'y'"},
        {"optimise: {minimise: f, tolerance: 2}", "a tolerance lies between 0 and 1"},
        {"optimise: {minimise: f, runs: 0}", "a whole number from 1"},
        {"optimise: {minimise: f, starts: 10000, runs: 1000000}", "more than ten million"},
        {"optimise: {minimise: f}\ndesign: {grid: 3}", "a study has one of design, identify"},
        {"design: {latin: 100, until: {f: 0.1}}", "until belongs to monte_carlo and sobol"},
        {"design: {sobol: 100, until: {g: 0.1}}", "there is no key 'g'"},
        {"design: {sobol: 100, until: {f: -1}}", "a width is above 0"},
        {"design: {morris: 0}", "a whole number from 1"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        kd_study *s = NULL;
        char      text[600], message[4000] = "";
        snprintf(text, sizeof text, "parameters: {x: {range: [0, 1]}}\noutputs: {f: x^2}\n%s\n", WRONG[i][0]);
        if (kd_study_read_text(FILE_NAME, text, strlen(text), &s, message, sizeof message) >= 0)
            fail_msg("%s is taken", text);
        assert_null(s);
        if (!strstr(message, WRONG[i][1])) fail_msg("'%s' is not in '%s'", WRONG[i][1], message);
    }
    kd_study  *s = NULL;
    char       message[2000];
    const char normal[] = "parameters: {x: {normal: [0, 1]}}\noutputs: {f: x}\noptimise: {minimise: f}\n";
    assert_int_equal(kd_study_read_text(FILE_NAME, normal, strlen(normal), &s, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, "have a range"));
}

static void memory_may_end(void **state)
{
    (void)state;
    kd_status status = KD_ERR_MEMORY;
    for (long at = 1; status < 0; at++) {
        failing_allocator f = {.fail_at = at};
        char              message[1000];
        kd_study         *s = NULL;
        static const char TEXT[] = "parameters: {x: {range: [0, 1]}, y: {range: [1, 2]}}\noutputs: {z: x + y}\n"
                                   "optimise: {minimise: [z, z + x], constraints: [x*y <= 1], starts: 3}\n";
        failing_allocator_use(&f);
        status = kd_study_read_text(FILE_NAME, TEXT, strlen(TEXT), &s, message, sizeof message);
        kd_study_destroy(s);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(status == KD_OK || status == KD_ERR_MEMORY);
    }
}

// ---- paths and samples ----------------------------------------------------------------------------------------------

// Morris: of a sum the effect of a parameter is its factor times its range, in every path, whatever the others are; a product with another varies.
static void effects_of_paths(void **state)
{
    (void)state;
    kd_study *s =
        study_of("parameters: {x: {range: [0, 2]}, y: {range: [-1, 3]}, z: {values: [1, 2, 4]}, w: {normal: [0, 1]}}\n"
                 "design: {morris: 40, seed: 3}\noutputs: {f: 3*x - 5*y + 0*z, g: x*y}\n");
    run_well(s, NULL, 2);
    assert_int_equal(kd_study_rows(s), 200);
    assert_true(fabs(kd_study_effect(s, 0, 0).value - 6) < 1e-12 &&
                fabs(kd_study_effect_deviation(s, 0, 0).value) < 1e-6);
    assert_true(fabs(kd_study_effect(s, 0, 1).value - 20) < 1e-12 &&
                fabs(kd_study_effect_deviation(s, 0, 1).value) < 1e-6);
    assert_true(kd_study_effect(s, 0, 2).value == 0 && kd_study_effect(s, 0, 3).value == 0);
    // of x y: by x its range times y, which is -1, 1/3, 5/3 or 3 alike: sizes 2, 2/3, 10/3, 6; deviation of 2 y
    const kd_estimate e = kd_study_effect(s, 1, 0);
    assert_true(e.low < 3 && 3 < e.high && e.high - e.low < 2.5);
    assert_true(fabs(kd_study_effect_deviation(s, 1, 0).value - 2 * sqrt(20.0 / 9)) < 0.8);
    // neighbours of a path differ in one parameter
    for (int row = 0; row < 200; row++) {
        double a[4], b[4];
        int    differ = 0;
        if (row % 5 == 0) continue;
        assert_int_equal(kd_study_point(s, row - 1, a), KD_OK);
        assert_int_equal(kd_study_point(s, row, b), KD_OK);
        for (int i = 0; i < 4; i++) differ += a[i] != b[i];
        assert_int_equal(differ, 1);
    }
    assert_true(isnan(kd_study_index(s, 0, 0, false).value));
    kd_study_destroy(s);
}

// A sample that ends when its mean is known: the width is kept, the number of rows is the same for all threads, and narrower ones need more.
static void samples_end(void **state)
{
    (void)state;
    int before = 0;
    for (int k = 0; k < 3; k++) {
        const double width = 0.2 / (1 << k);
        char         text[300];
        snprintf(text, sizeof text,
                 "parameters: {x: {normal: [3, 2]}}\ndesign: {monte_carlo: 100000, seed: 5, until: {y: %g}}\noutputs: "
                 "{y: x}\n",
                 width);
        kd_study *a = study_of(text), *b = study_of(text);
        run_well(a, NULL, 1), run_well(b, NULL, 3);
        int done[2] = {0, 0};
        for (int i = 0; i < kd_study_rows(a); i++)
            done[0] += kd_study_row_of(a, i).done, done[1] += kd_study_row_of(b, i).done;
        const kd_estimate e = kd_study_mean(a, 0), other = kd_study_mean(b, 0);
        assert_true(done[0] == done[1] || (done[1] > done[0] && done[1] < done[0] + 3)); // rows that were under way
        assert_true(fabs(e.high - e.value) <= width * 1.001 && fabs(e.value - 3) < 3 * width &&
                    fabs(other.value - e.value) < width);
        assert_true(done[0] > before);
        // 64, 128, .. rows
        assert_int_equal(done[0] & (done[0] - 1), 0);
        before = done[0];
        kd_study_destroy(a), kd_study_destroy(b);
    }
}

int main(void)
{
    if (run_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'").status != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constrained_minimum), cmocka_unit_test(closed_forms),
        cmocka_unit_test(known_fronts),        cmocka_unit_test(triangle),
        cmocka_unit_test(same_bits),           cmocka_unit_test(failures_on_the_way),
        cmocka_unit_test(wrong_files),         cmocka_unit_test(memory_may_end),
        cmocka_unit_test(effects_of_paths),    cmocka_unit_test(samples_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
