// Point 12 of "never wrong in silence": what a run has found is not lost, whoever ends it, and files say what they are.
// Real processes with real signals, limits and full disks.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "case.h"
#include "core/load.h"
#include "core/memory.h"
#include "project/command.h"
#include "report/svg.h"
#include "results/table.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan' "
#define OUT KD_BINARY_DIR "/test-point12"
#define MODEL "'" KD_SOURCE_DIR "/models/slider-crank.yaml' "
#define LONG_RUN "--t-end 1e6 --intervals 900000 --quiet "

static unsigned long long seed = 12;

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

static void expect(const char *line, int status, const char *part)
{
    command_result result = run_command(line);
    if (result.status != status || !strstr(result.text, part))
        fail_msg("%s\nstatus %d, wanted %d with '%s':\n%s", line, result.status, status, part, result.text);
}

static int clean(void **state)
{
    (void)state;
    return run("rm -rf '" OUT "' && mkdir -p '" OUT "'").status;
}

// Rows of a table that is read as kardan plot reads it; its times rise and its first column is t.
static int whole_rows(const char *path)
{
    kd_table table;
    char     message[400] = "";
    if (kd_table_read(path, &table, message, sizeof message) < 0) fail_msg("%s", message);
    const int rows = table.nrows;
    assert_string_equal(table.name[0], "t");
    for (int i = 0; i < rows * table.ncolumns; i++) assert_true(isfinite(table.value[i]));
    for (int i = 1; i < rows; i++) assert_true(table.value[i * table.ncolumns] > table.value[(i - 1) * table.ncolumns]);
    kd_table_release(&table);
    return rows;
}

static void start(const char *folder, const char *options, pid_t *child)
{
    char path[1000], *arguments[40], copy[1000];
    int  n = 0;
    snprintf(path, sizeof path, "%s/%s", OUT, folder);
    snprintf(copy, sizeof copy, "%s", options);
    arguments[n++] = (char[]){"kardan"};
    arguments[n++] = (char[]){"simulate"};
    arguments[n++] = (char[]){KD_SOURCE_DIR "/models/slider-crank.yaml"};
    arguments[n++] = (char[]){"--output"};
    arguments[n++] = path;
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) arguments[n++] = word;
    arguments[n] = NULL;
    fflush(NULL);
    *child = fork();
    assert_true(*child >= 0);
    if (*child > 0) return;
    (void)!freopen("/dev/null", "w", stderr);
    execv(KD_BINARY_DIR "/kardan", arguments);
    _exit(127);
}

static void wait_seconds(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&t, NULL);
}

// Wait until the run has written rows, then some time more.
static void wait_for(const char *path, double longer)
{
    struct stat found;
    for (int i = 0; i < 1000 && (stat(path, &found) != 0 || found.st_size < 20000); i++) wait_seconds(0.01);
    wait_seconds(longer);
}

static int end_of(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// kill -9 at any moment leaves a table that is whole up to its last row, and no file with the name of the results.
static void a_killed_run_leaves_its_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pid_t child;
        run("rm -rf '" OUT "/killed'");
        start("killed", i == 2 ? LONG_RUN "--format hdf5" : LONG_RUN, &child);
        wait_for(OUT "/killed/slider-crank.partial.csv", uniform(0, 0.3));
        kill(child, SIGKILL);
        assert_int_equal(end_of(child), 128 + SIGKILL);
        assert_true(whole_rows(OUT "/killed/slider-crank.partial.csv") > 20);
        assert_true(access(OUT "/killed/slider-crank.csv", F_OK) != 0);
        expect(KARDAN "plot '" OUT "/killed/slider-crank.partial.csv' --channels joint.hinge.q --output '" OUT
                      "/k.svg'",
               0, "plot:");
    }
}

// A line that was cut anywhere, even inside of its last number, is left out; tables from elsewhere may end without a
// line break.
static void a_cut_line_is_left_out(void **state)
{
    (void)state;
    const char *ours = "# kardan: 1\nt,a,b\n0,1,2\n1,3,4.5\n2,5,6.75\n";
    const int   length = (int)strlen(ours), first = length - 9; // behind the line break of the second row
    for (int cut = first; cut <= length; cut++) {
        FILE *file = fopen(OUT "/cut.csv", "w");
        fwrite(ours, 1, (size_t)cut, file);
        fclose(file);
        assert_int_equal(whole_rows(OUT "/cut.csv"), cut == length ? 3 : 2);
    }
    FILE *file = fopen(OUT "/other.csv", "w");
    fputs("t,a\n0,1\n1,2", file);
    fclose(file);
    assert_int_equal(whole_rows(OUT "/other.csv"), 2);
    expect(KARDAN "plot '" OUT "/cut.csv' --channels a --output '" OUT "/c.svg'", 0, "plot:");
    run("printf '# kardan: 1\\nt,a\\n0,1\\n1,' > '" OUT "/cut.csv'");
    expect(KARDAN "plot '" OUT "/cut.csv' --channels a --output '" OUT "/c.svg'", 0, "the last line is cut off");
}

// Two signals in one instant, as timeout(1) sends them, end the run with its results; a later one ends it at once.
static void two_signals_within_a_second_are_one(void **state)
{
    (void)state;
    const int kind[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        pid_t child;
        run("rm -rf '" OUT "/two'");
        start("two", LONG_RUN, &child);
        wait_for(OUT "/two/slider-crank.partial.csv", uniform(0, 0.2));
        kill(child, kind[i]);
        wait_seconds(uniform(0, 0.05));
        kill(child, kind[i]);
        kill(child, kind[1 - i]);
        assert_int_equal(end_of(child), 130);
        assert_true(whole_rows(OUT "/two/slider-crank.csv") > 20);
        assert_true(access(OUT "/two/slider-crank.partial.csv", F_OK) != 0);
    }
    expect("timeout 4 " KARDAN "simulate " MODEL LONG_RUN "--output '" OUT "/timeout'", 124,
           "the results so far are kept");
    assert_true(whole_rows(OUT "/timeout/slider-crank.csv") > 20);
}

// A limit of the file size is an error in words, with what could be written; so is a full disk.
static void limits_of_the_disk_are_told(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const int blocks = (int)uniform(60, 900); // of 1024 bytes
        run("rm -rf '" OUT "/small'");
        command_result result = run("ulimit -f %d; " KARDAN "simulate " MODEL "--t-end 100 --intervals 100000 --quiet "
                                    "--output '" OUT "/small'",
                                    blocks);
        assert_int_equal(result.status, 1);
        assert_non_null(strstr(result.text, "File too large"));
        assert_non_null(strstr(result.text, "rows so far: "));
        assert_true(whole_rows(OUT "/small/slider-crank.partial.csv") > 20);
    }
    run("rm -rf '" OUT "/full' && mkdir '" OUT "/full' && ln -s /dev/full '" OUT "/full/slider-crank.csv'");
    expect(KARDAN "simulate " MODEL "--output '" OUT "/full'", 1, "No space left on device; rows so far: ");
    assert_int_equal(whole_rows(OUT "/full/slider-crank.partial.csv"), 501);
}

// Two runs with one name at the same time do not write into each other's rows.
static void two_runs_of_one_name(void **state)
{
    (void)state;
    pid_t a, b;
    start("same", "--t-end 2 --intervals 3000 --quiet", &a);
    start("same", "--t-end 2 --intervals 3000 --quiet --rtol 1e-6", &b);
    assert_int_equal(end_of(a), 0);
    assert_int_equal(end_of(b), 0);
    assert_int_equal(whole_rows(OUT "/same/slider-crank.csv"), 3001);
    expect("ls '" OUT "/same' | grep -c partial", 1, "0");
}

// The final table has the bytes that the rows in memory have.
static void rows_are_the_same(void **state)
{
    (void)state;
    expect(KARDAN "simulate " MODEL "--output '" OUT "/rows' --quiet --intervals 777 --format both", 0, "");
    assert_int_equal(whole_rows(OUT "/rows/slider-crank.csv"), 778);
    expect("ls '" OUT "/rows'", 0, "slider-crank.csv");
    assert_true(access(OUT "/rows/slider-crank.partial.csv", F_OK) != 0);
}

// plot does not overwrite what it draws, under whatever name.
static void plot_spares_its_input(void **state)
{
    (void)state;
    run("printf 't,a\\n0,1\\n1,2\\n' > '" OUT "/in.csv'; ln -sf in.csv '" OUT "/link.csv'; cp '" OUT "/in.csv' '" OUT
        "/in2.csv'");
    const char *output[] = {OUT "/in.csv", OUT "/../test-point12/in.csv", OUT "/link.csv", OUT "/in2.csv"};
    for (int i = 0; i < 4; i++) {
        char line[2000];
        snprintf(line, sizeof line, KARDAN "plot '" OUT "/in.csv' --with '" OUT "/in2.csv' --channels a --output '%s'",
                 output[i]);
        expect(line, 2, "would overwrite it");
        assert_int_equal(whole_rows(output[i]), 2);
    }
}

// A million rows make a picture of some kilobytes in which every peak of one point is there.
static void plots_are_thinned(void **state)
{
    (void)state;
    const int n = 1000000;
    double   *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    assert_true(x && y);
    for (int shape = 0; shape < 2; shape++) {
        int peak[3];
        for (int i = 0; i < n; i++) {
            x[i] = shape == 0 ? 1e-3 * i : cos(1e-4 * i); // forwards; back and forth
            y[i] = sin(0.37 * i);
        }
        for (int k = 0; k < 3; k++) {
            peak[k] = (int)uniform(1000, n - 1000);
            y[peak[k]] = 10 + 5 * k;
        }
        const kd_series series = {.x = x, .y = y, .n = n};
        const kd_plot   plot = {.nseries = 1, .series = &series};
        assert_int_equal(kd_svg_save(OUT "/many.svg", &plot, 1, 1, NULL, 0), KD_OK);
        char *text = read_text(OUT "/many.svg");
        assert_non_null(text);
        assert_true(strlen(text) < (shape == 0 ? 120000 : 500000));
        // heights of all points of the line, from the top: the three peaks are the highest
        double      top[3] = {1e9, 1e9, 1e9};
        const char *last = text; // the line is the longest path
        for (const char *c = strstr(text, "<path d=\""); c; c = strstr(c + 1, "<path d=\"")) {
            if (strcspn(c + 9, "\"") > strcspn(last + 9, "\"") || last == text) last = c;
        }
        const char *end = last + 9 + strcspn(last + 9, "\"");
        for (const char *c = last + 9; c < end; c++) {
            double px, py;
            if ((*c != 'L' && *c != 'M') || sscanf(c + 1, "%lf %lf", &px, &py) != 2) continue;
            for (int k = 0; k < 3; k++)
                if (py < top[k]) {
                    memmove(top + k + 1, top + k, (size_t)(2 - k) * sizeof *top);
                    top[k] = py;
                    break;
                }
        }
        // 20, 15, 10: equal distances, far above 1
        assert_true(fabs((top[2] - top[1]) - (top[1] - top[0])) < 0.05 && top[1] - top[0] > 20);
        free(text);
    }
    free(x);
    free(y);
}

// Pipes, devices and folders in place of files are refused by what they are, and nobody waits for them.
static void pipes_are_refused(void **state)
{
    (void)state;
    run("mkfifo '" OUT "/pipe.yaml' '" OUT "/pipe.urdf'");
    const char *kind[] = {"a pipe", "a device", "a folder"}, *path[] = {OUT "/pipe.yaml", "/dev/zero", OUT "/"};
    for (int i = 0; i < 3; i++) {
        const char *format[] = {"timeout 10 " KARDAN "check '%s'", "timeout 10 " KARDAN "plot '%s' --channels a",
                                "timeout 10 " KARDAN "simulate " MODEL "--start-state '%s'"};
        for (int k = 0; k < 3; k++) {
            command_result result = run(format[k], path[i]);
            if ((result.status != 1 && result.status != 2) || !strstr(result.text, kind[i]))
                fail_msg("%s %s: %d\n%s", format[k], path[i], result.status, result.text);
        }
    }
    expect("timeout 10 " KARDAN "check '" OUT "/pipe.urdf'", 1, "a pipe");
}

// A zero byte in a file of states or in a table is refused with its place.
static void zero_bytes_are_refused(void **state)
{
    (void)state;
    kd_text_place place;
    assert_false(kd_find_zero_byte("ab\ncd", 5, &place));
    assert_true(kd_find_zero_byte("ab\nc\0d", 6, &place));
    assert_int_equal(place.line, 2);
    assert_int_equal(place.column, 2);
    expect(KARDAN "equilibrium '" KD_SOURCE_DIR "/models/quarter-car.yaml' --output '" OUT "/rest'", 0, "");
    run("cp '" OUT "/rest/'*.state.csv '" OUT "/rest.csv'");
    char *text = read_text(OUT "/rest.csv");
    assert_non_null(text);
    const size_t length = strlen(text);
    for (int i = 0; i < 5; i++) {
        const size_t at = (size_t)uniform(0, (double)length);
        const char   kept = text[at];
        int          line = 1, column = 1;
        char         wanted[60];
        for (size_t k = 0; k < at; k++) {
            column++;
            if (text[k] == '\n') line++, column = 1;
        }
        text[at] = '\0';
        FILE *file = fopen(OUT "/zero.csv", "w");
        fwrite(text, 1, length, file);
        fclose(file);
        text[at] = kept;
        snprintf(wanted, sizeof wanted, "line %d, column %d: a zero byte", line, column);
        expect(KARDAN "simulate '" KD_SOURCE_DIR "/models/quarter-car.yaml' --start-state '" OUT
                      "/zero.csv' --output '" OUT "/z'",
               1, wanted);
    }
    free(text);
}

// A run that blows up leaves a state that is finite and that a replay starts from.
static void a_blown_up_run_can_be_replayed(void **state)
{
    (void)state;
    const char *law[] = {"%.3g*v", "%.3g*q", "%.3g*v^3", "-%.3g*(1 + v^2)^8"},
               *method[] = {"radau", "bdf", "dop853", "sdirk"};
    for (int i = 0; i < 4; i++) {
        char force[100];
        snprintf(force, sizeof force, law[i], uniform(20, 900));
        FILE *file = fopen(OUT "/boom.yaml", "w");
        fprintf(file,
                "kardan: 1\nbodies: {m: {mass: 1}}\n"
                "joints: {s: {type: prismatic, bodies: [ground, m], point: [0, 0, 0], axis: [1, 0, 0], q: 0.1, v: 1}}\n"
                "forces: {f: {type: joint_spring, joint: s, law: \"%s\"}}\nrun: {t_end: 1000}\n",
                force);
        fclose(file);
        run("rm -rf '" OUT "/boom'");
        command_result result =
            run(KARDAN "simulate '" OUT "/boom.yaml' --output '" OUT "/boom' --quiet --integrator %s", method[i]);
        assert_int_equal(result.status, 1);
        assert_true(whole_rows(OUT "/boom/boom.state.csv") >= 1);
        expect("sed -n '/last good state/,$p' '" OUT "/boom/boom.post-mortem.txt' | grep -Eqwi 'nan|inf' # '" OUT
               "/boom/boom.post-mortem.txt'",
               1, "");
        result = run("cd '" OUT "' && PATH='" KD_BINARY_DIR "':$PATH && "
                     "line=$(grep '^  kardan simulate ' boom/boom.post-mortem.txt) && eval \"timeout 20 $line\"");
        assert_int_equal(result.status, 1); // it runs into it again
        assert_null(strstr(result.text, "--start-state:"));
    }
}

int main(void)
{
    seed += test_seed(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_run_leaves_its_rows),
        cmocka_unit_test(a_cut_line_is_left_out),
        cmocka_unit_test(two_signals_within_a_second_are_one),
        cmocka_unit_test(limits_of_the_disk_are_told),
        cmocka_unit_test(two_runs_of_one_name),
        cmocka_unit_test(rows_are_the_same),
        cmocka_unit_test(plot_spares_its_input),
        cmocka_unit_test(plots_are_thinned),
        cmocka_unit_test(pipes_are_refused),
        cmocka_unit_test(zero_bytes_are_refused),
        cmocka_unit_test(a_blown_up_run_can_be_replayed),
    };
    return cmocka_run_group_tests(tests, clean, NULL);
}
