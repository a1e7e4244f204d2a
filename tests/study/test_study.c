// Studies: the same bits for any number of threads, after kills and alone; estimates whose intervals hold; wrong files in words.
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

#ifdef KD_WITH_HDF5
#include <hdf5.h>
#endif

#include "core/failing_allocator.h"
#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/study"
#define FILE_NAME KD_SOURCE_DIR "/models/study.yaml" // beside the models, not on disk

static const char CAR[] =
    "study: car\nmodel: quarter-car.yaml\nrun: {t_end: 0.6, intervals: 60}\n"
    "parameters:\n  ks: {range: [1.5e4, 2.5e4]}\n  cs: {normal: [1500, 150]}\n"
    "design: {latin: 24, seed: 4}\n"
    "outputs:\n  comfort: {rms: comfort}\n  high: {max: body.cab.pos.z}\n  both: comfort + 100*high\n";

static kd_study *study_of(const char *text)
{
    kd_study *s;
    char      message[4000];
    if (kd_study_read_text(FILE_NAME, text, strlen(text), &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static void run_well(kd_study *s, const char *folder, int threads)
{
    kd_study_run_options opt = kd_study_run_options_default();
    char                 message[1000];
    opt.folder = folder, opt.threads = threads;
    if (kd_study_run(s, &opt, message, sizeof message) < 0) fail_msg("%s", message);
}

// Are the outputs of all rows the same bits, and all there?
static void check_equal(const kd_study *a, const kd_study *b)
{
    assert_int_equal(kd_study_rows(a), kd_study_rows(b));
    for (int row = 0; row < kd_study_rows(a); row++) {
        const kd_study_row x = kd_study_row_of(a, row), y = kd_study_row_of(b, row);
        assert_true(x.done && y.done);
        assert_int_equal(x.status, y.status);
        assert_memory_equal(x.output, y.output, (size_t)kd_study_outputs(a) * sizeof(double));
    }
}

// 1, 2 and 7 threads, rows alone, and the run of the same model by hand: one answer.
static void same_bits_for_all_threads(void **state)
{
    (void)state;
    kd_study *one = study_of(CAR), *two = study_of(CAR), *seven = study_of(CAR), *alone = study_of(CAR);
    run_well(one, NULL, 1);
    run_well(two, NULL, 2);
    run_well(seven, NULL, 7);
    check_equal(one, two);
    check_equal(one, seven);
    char         message[500];
    kd_study_row row;
    for (int i = 0; i < kd_study_rows(one); i += 5) {
        assert_int_equal(kd_study_repeat(alone, i, NULL, &row, message, sizeof message), KD_OK);
        assert_true(row.clean && isfinite(row.output[0]));
        assert_memory_equal(row.output, kd_study_row_of(one, i).output, 3 * sizeof(double));
        assert_true(row.output[2] == row.output[0] + 100 * row.output[1]);
    }
    assert_int_equal(kd_study_repeat(alone, 24, NULL, &row, message, sizeof message), KD_ERR_ARGUMENT);
    kd_study_destroy(one);
    kd_study_destroy(two);
    kd_study_destroy(seven);
    kd_study_destroy(alone);
}

// A row is the run that reading the model with its values gives, to the last bit.
static void rows_are_runs(void **state)
{
    (void)state;
    kd_study *s = study_of(CAR);
    double    value[2], largest = 0, y;
    char      command[2000], text[2][40];
    run_well(s, NULL, 1);
    assert_int_equal(kd_study_point(s, 7, value), KD_OK);
    snprintf(text[0], 40, "%.17g", value[0]), snprintf(text[1], 40, "%.17g", value[1]);
    snprintf(command, sizeof command,
             "'%s/kardan' simulate '%s/models/quarter-car.yaml' --t-end 0.6 --intervals 60 --set ks=%s --set cs=%s "
             "--channels body.cab.pos.z"
             " --plain --quiet --output '%s/row' && grep -v '^#' '%s/row/quarter-car.csv' > '%s/row/table.csv'",
             KD_BINARY_DIR, KD_SOURCE_DIR, text[0], text[1], FOLDER, FOLDER, FOLDER);
    assert_int_equal(run_command(command).status, 0);
    // the column of the height
    FILE *file = fopen(FOLDER "/row/table.csv", "r");
    assert_non_null(file);
    static char line[20000];
    int         column = 0, rows = 0;
    assert_non_null(fgets(line, sizeof line, file));
    for (char *word = strtok(line, ",\n"); word && strncmp(word, "body.cab.pos.z", 14) != 0; word = strtok(NULL, ",\n"))
        column++;
    while (fgets(line, sizeof line, file)) {
        char *place = line;
        for (int i = 0; i < column; i++) place = strchr(place, ',') + 1;
        y = strtod(place, NULL);
        if (rows++ == 0 || y > largest) largest = y;
    }
    (void)fclose(file);
    assert_int_equal(rows, 61);
    assert_true(kd_study_row_of(s, 7).output[1] == largest);
    kd_study_destroy(s);
}

// Killed again and again at any time, the study has all rows once at the end, those of a run that was left in peace.
static void kills_lose_nothing(void **state)
{
    (void)state;
    kd_study *peace = study_of(CAR);
    run_well(peace, NULL, 2);
    assert_int_equal(run_command("rm -rf '" FOLDER "/kills'").status, 0);
    for (int round = 0; round < 12; round++) {
        const pid_t child = fork();
        if (child == 0) {
            kd_study *s = study_of(CAR);
            run_well(s, FOLDER "/kills", 1 + round % 3);
            _exit(0);
        }
        const struct timespec wait = {0, 3000000 + 7000000 * (round * 37 % 11)};
        (void)nanosleep(&wait, NULL);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    kd_study *s = study_of(CAR);
    run_well(s, FOLDER "/kills", 2);
    check_equal(peace, s);
    // a line that was torn, and rubbish, are passed over
    FILE *file = fopen(FOLDER "/kills/rows.log", "a");
    assert_non_null(file);
    (void)fputs("3\t0\t1\t0.1\t0x1p+0\t0x1p+0\t0x1p+0\t\t0123456789abcdef\n\n99999\tx\n17\t0\t1\t0.", file);
    (void)fclose(file);
    kd_study *again = study_of(CAR);
    run_well(again, FOLDER "/kills", 1);
    check_equal(peace, again);
    // another study does not take over the folder
    kd_study            *other = study_of("parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: x^2}\n");
    kd_study_run_options opt = kd_study_run_options_default();
    char                 message[1000];
    opt.folder = FOLDER "/kills";
    assert_int_equal(kd_study_run(other, &opt, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "--fresh"));
    opt.fresh = true;
    assert_int_equal(kd_study_run(other, &opt, message, sizeof message), KD_OK);
    assert_true(kd_study_row_of(other, 1).output[0] == 0.25);
    kd_study_destroy(peace);
    kd_study_destroy(s);
    kd_study_destroy(again);
    kd_study_destroy(other);
}

// Ranges that the model refuses, or in which runs fail, are rows with their reason; retried where that is asked for.
static void failures_are_rows(void **state)
{
    (void)state;
    kd_study *s = study_of("model: pendulum.yaml\nrun: {t_end: 0.1}\nparameters: {m: {values: [-1, 1, 2]}}\n"
                           "design: {grid: 3}\noutputs:\n  y: {end: x}\n  late: {at: x, time: 5}\n");
    run_well(s, FOLDER "/failures", 2);
    const kd_study_row bad = kd_study_row_of(s, 0), good = kd_study_row_of(s, 1);
    assert_true(bad.done && bad.status < 0 && strstr(bad.reason, "mass"));
    assert_true(good.done && good.status == KD_ERR_NOT_FINITE && strstr(good.reason, "'late'") &&
                isfinite(good.output[0]));
    kd_study_destroy(s);
}

static double ishigami[3][2] = {{0.31390519, 0.55758887}, {0.44241114, 0.44241114}, {0, 0.24368366}};

// Intervals of Sobol's indices of Ishigami's function hold the truth in 930 to 970 of 1000 repetitions, seeds 1 to 1000.
static void intervals_of_indices_hold(void **state)
{
    (void)state;
    int hits[3][2] = {{0}};
    for (int seed = 1; seed <= 1000; seed++) {
        char text[700];
        snprintf(text, sizeof text,
                 "parameters: {x1: {range: [-pi, pi]}, x2: {range: [-pi, pi]}, x3: {range: [-pi, pi]}}\n"
                 "design: {sensitivity: 500, seed: %d}\noutputs: {y: sin(x1) + 7*sin(x2)^2 + 0.1*x3^4*sin(x1)}\n",
                 seed);
        kd_study *s = study_of(text);
        run_well(s, NULL, 1);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 2; k++) {
                const kd_estimate e = kd_study_index(s, 0, i, k == 1);
                hits[i][k] += e.low <= ishigami[i][k] && ishigami[i][k] <= e.high;
            }
        kd_study_destroy(s);
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            if (hits[i][k] < 930 || hits[i][k] > 970) fail_msg("index %d of x%d: %d of 1000", k, i + 1, hits[i][k]);
        }
}

// Mean, deviation, quantiles and shares of a normal output, whose truth is known; intervals hold in about 95 % of 400 repetitions.
static void intervals_of_estimates_hold(void **state)
{
    (void)state;
    int hits[4] = {0};
    for (int seed = 1; seed <= 400; seed++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "parameters: {x: {normal: [3, 2]}}\ndesign: {monte_carlo: 400, seed: %d}\noutputs: {y: x, high: x > 4}\n",
            seed);
        kd_study *s = study_of(text);
        run_well(s, NULL, 1);
        const kd_estimate e[4] = {kd_study_mean(s, 0), kd_study_deviation(s, 0), kd_study_quantile(s, 0, 0.9),
                                  kd_study_probability(s, 1)};
        const double      truth[4] = {3, 2, 3 + 2 * 1.2815515655446004, 0.30853753872598694};
        for (int k = 0; k < 4; k++) hits[k] += e[k].low <= truth[k] && truth[k] <= e[k].high;
        kd_study_destroy(s);
    }
    for (int k = 0; k < 4; k++) assert_in_range(hits[k], 363, 397); // 380, and 4 deviations of a count
}

// What is wrong is told with its line, and what was probably meant.
static void wrong_files(void **state)
{
    (void)state;
    static const char *const WRONG[][2] = {
        {"study: x\n", "'parameters' is missing"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\n", "'outputs' is missing"},
        {"parameters: {x: {range: [0, 1]}}\ndesgin: {grid: 3}\noutputs: {y: x}\n",
         "study.yaml:2:1: there is no key 'desgin'; did you mean 'design'?"},
        {"parameters: {x: {range: [1, 0]}}\ndesign: {grid: 3}\noutputs: {y: x}\n",
         "study.yaml:1:25: a range begins below its end"},
        {"parameters: {x: {rnage: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: x}\n", "did you mean 'range'?"},
        {"parameters: {x: {normal: [0, 0]}}\ndesign: {grid: 3}\noutputs: {y: x}\n", "a deviation is above 0"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 0}\noutputs: {y: x}\n", "a whole number from 1"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3, sobol: 4}\noutputs: {y: x}\n", "one of list, grid"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: z}\n", "study.yaml:3:14"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: {max: z}}\n",
         "without a model there are no channels"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {x: 1}\n", "this name is taken already: 'x'"},
        {"model: nowhere.yaml\nparameters: {x: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: x}\n",
         "study.yaml:1:8: the model cannot be read"},
        {"model: slider-crank.yaml\nparameters: {sped: {range: [0, 1]}}\ndesign: {grid: 3}\noutputs: {y: {max: x}}\n",
         "study.yaml:2:14: the model has no parameter 'sped'; did you mean 'speed'?"},
        {"model: pendulum.yaml\nparameters: {l: {range: [1, 2]}}\ndesign: {grid: 3}\noutputs: {y: {max: xx}}\n",
         "study.yaml:4: "},
        {"model: quarter-car.yaml\nparameters: {ks: {range: [1e4, 2e4]}}\ndesign: {grid: 3}\noutputs:\n  z: {max: "
         "comfrt}\n",
         "study.yaml:5: output 'z': there is no channel 'comfrt'; did you mean 'comfort'?"},
        {"model: quarter-car.yaml\nparameters: {ks: {range: [1e4, 2e4]}}\ndesign: {grid: 3}\noutputs:\n  z: {max: "
         "body.cab.pos.q}\n",
         "did you mean 'pos.x'?"},
        {"model: pendulum.yaml\nparameters: {l: {range: [1, 2]}}\ndesign: {grid: 3}\noutputs: {y: {maxx: x}}\n",
         "did you mean 'max'?"},
        {"model: pendulum.yaml\nrun: {integrator: radua}\nparameters: {l: {range: [1, 2]}}\ndesign: {grid: "
         "3}\noutputs: {y: {max: x}}\n",
         "there is no integrator 'radua'"},
        {"parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\ncorrelations: [[x, y, 1.5]]\ndesign: {latin: "
         "3}\noutputs: {z: x}\n",
         "no parameters can have these correlations"},
        {"parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\ncorrelations: [[x, y, 0.5]]\ndesign: {sensitivity: "
         "3}\noutputs: {z: x}\n",
         "independent parameters"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {grid: 3, seed: -1}\noutputs: {y: x}\n",
         "a seed is a whole number"},
        {"parameters: [1, 2]\ndesign: {grid: 3}\noutputs: {y: 1}\n", "keys and values are expected here"},
        {"parameters: {x: {range: [0, 1]}}\ndesign: {list: [[1], [1, 2]]}\noutputs: {y: x}\n", "a row has 1 numbers"},
        {"\tx", "study.yaml"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        kd_study *s = NULL;
        char      message[4000] = "";
        assert_true(kd_study_read_text(FILE_NAME, WRONG[i][0], strlen(WRONG[i][0]), &s, message, sizeof message) < 0);
        assert_null(s);
        if (!strstr(message, WRONG[i][1])) fail_msg("'%s' is not in '%s'", WRONG[i][1], message);
    }
}

// Every allocation of reading may fail.
static void memory_may_end(void **state)
{
    (void)state;
    kd_status status = KD_ERR_MEMORY;
    for (long at = 1; status < 0; at++) {
        failing_allocator f = {.fail_at = at};
        char              message[1000];
        kd_study         *s = NULL;
        static const char TEXT[] =
            "parameters: {x: {range: [0, 1]}, y: {values: [1, 2]}}\ndesign: {latin: 3}\noutputs: {z: x + y, w: z^2}\n";
        failing_allocator_use(&f);
        status = kd_study_read_text(FILE_NAME, TEXT, strlen(TEXT), &s, message, sizeof message);
        kd_study_destroy(s);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(status == KD_OK || status == KD_ERR_MEMORY);
    }
}

// The command: table, page, a row alone; the same table for one and two threads; processes of a job share the rows.
static void command_of_studies(void **state)
{
    (void)state;
    const char *const kardan = "'" KD_BINARY_DIR "/kardan' study '" KD_SOURCE_DIR
                               "/models/studies/quarter-car.yaml' --quiet --output '" FOLDER "/";
    char text[4000];
    assert_int_equal(run_command("rm -rf '" FOLDER "/a' '" FOLDER "/b' '" FOLDER "/c'").status, 0);
    snprintf(text, sizeof text,
             "%sa' --jobs 1 && %sb' --jobs 2 && cmp '" FOLDER "/a/table.csv' '" FOLDER
             "/b/table.csv' && test -s '" FOLDER "/a/study.html'",
             kardan, kardan);
    assert_int_equal(run_command(text).status, 0);
    snprintf(text, sizeof text,
             "export PMI_SIZE=3 PMI_JOBID=job.1; (PMI_RANK=1 %sc' & "
             "PMI_RANK=2 %sc' & PMI_RANK=0 %sc'; "
             "wait) && cmp '" FOLDER "/a/table.csv' '" FOLDER "/c/table.csv' && test \"$(cat '" FOLDER
             "/c'/rows*.log | grep -c .)\" = 40",
             kardan, kardan, kardan);
    assert_int_equal(run_command(text).status, 0);
    snprintf(text, sizeof text, "%sa' --row 3 && test -s '" FOLDER "/a/row-3.html'", kardan);
    assert_int_equal(run_command(text).status, 0);
    snprintf(text, sizeof text, "%sa' --row 40", kardan);
    assert_int_equal(run_command(text).status, 2);
}

// HDF5 has what the CSV file has, in the same bits; the same bytes for the same study.
static void table_in_hdf5(void **state)
{
    (void)state;
    kd_study *s = study_of(CAR);
    char      message[500];
    run_well(s, NULL, 2);
    const kd_status status = kd_study_save_hdf5(s, FOLDER "/table.h5", message, sizeof message);
#ifdef KD_WITH_HDF5
    assert_int_equal(status, KD_OK);
    const hid_t file = H5Fopen(FOLDER "/table.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    static const char *const NAME[] = {"parameters/ks", "outputs/comfort", "row"};
    for (int k = 0; k < 3; k++) {
        double      column[24], value[2];
        const hid_t set = H5Dopen2(file, NAME[k], H5P_DEFAULT);
        assert_true(set >= 0 && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column) >= 0);
        for (int row = 0; row < 24; row++) {
            assert_int_equal(kd_study_point(s, row, value), KD_OK);
            assert_true(column[row] == (k == 0 ? value[0] : k == 1 ? kd_study_row_of(s, row).output[0] : row));
        }
        H5Dclose(set);
    }
    H5Fclose(file);
    assert_int_equal(kd_study_save_hdf5(s, FOLDER "/again.h5", message, sizeof message), KD_OK);
    assert_int_equal(run_command("cmp '" FOLDER "/table.h5' '" FOLDER "/again.h5'").status, 0);
    assert_int_equal(kd_study_save_hdf5(s, FOLDER "/nowhere/table.h5", message, sizeof message), KD_ERR_FILE);
#else
    assert_int_equal(status, KD_ERR_UNAVAILABLE);
    assert_non_null(strstr(message, "libhdf5-dev"));
#endif
    kd_study_destroy(s);
}

// The page has its parts, and names cannot break out of it.
static void pages(void **state)
{
    (void)state;
    static const struct {
        const char *text, *has[6];
    } PAGE[] = {
        {"study: <b>a&b\nparameters: {x: {range: [0, 1]}, y: {normal: [0, 1]}}\ndesign: {latin: 50}\noutputs: {f: x*y, "
         "bad: x > 0.5}\n",
         {"Parallel coordinates", "Convergence", "main effects", "&lt;b&gt;a&amp;b", "Smallest and largest", "Shares"}},
        {"parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\ndesign: {sensitivity: 50}\noutputs: {f: x*y}\n",
         {"Sensitivity indices", "first order", "<rect", "", "", ""}},
        {"parameters: {x: {range: [0, 1]}, y: {range: [0, 1]}}\ndesign: {morris: 50}\noutputs: {f: x*y}\n",
         {"Elementary effects", "mean size", "<rect", "", "", ""}},
        {"parameters: {x: {range: [-1, 1]}}\ndesign: {grid: 9}\noutputs: {f: sqrt(x)}\n",
         {"Rows that failed", "not finite", "", "", "", ""}},
    };
    for (size_t i = 0; i < sizeof PAGE / sizeof *PAGE; i++) {
        kd_study *s = study_of(PAGE[i].text);
        char      message[500];
        run_well(s, NULL, 1);
        assert_int_equal(kd_study_save_page(s, FOLDER "/page.html", message, sizeof message), KD_OK);
        char *text = read_text(FOLDER "/page.html");
        assert_non_null(text);
        for (int k = 0; k < 6; k++)
            if (!strstr(text, PAGE[i].has[k])) fail_msg("page %d lacks '%s'", (int)i, PAGE[i].has[k]);
        assert_null(strstr(text, "<b>a"));
        assert_null(strstr(text, "nan"));
        free(text);
        kd_study_destroy(s);
    }
}

// A disk that is full in the middle (here: a limit of the size of files, 20 kB): a clear end, what was written stays, and the study goes on from it.
static void full_disk(void **state)
{
    (void)state;
    const char *const kardan = "'" KD_BINARY_DIR "/kardan' study '" FOLDER "/disk.yaml' --quiet --output '" FOLDER "/";
    char              text[3000];
    FILE             *file = fopen(FOLDER "/disk.yaml", "w");
    assert_non_null(file);
    (void)fputs(
        "model: " KD_SOURCE_DIR "/models/pendulum.yaml\nrun: {t_end: 0.05, intervals: 5}\n"
        "parameters: {l: {range: [1, 2]}}\ndesign: {latin: 600, seed: 1}\noutputs: {x: {end: x}, most: {max: x}}\n",
        file);
    (void)fclose(file);
    snprintf(text, sizeof text, "trap '' XFSZ; ulimit -f 40; %sfull' --jobs 1", kardan);
    const command_result full = run_command(text);
    assert_int_equal(full.status, 1);
    if (!strstr(full.text, "rows.log") || !strstr(full.text, "rows that are there stay")) fail_msg("%s", full.text);
    const int kept =
        atoi(run_command("cp '" FOLDER "/full/rows.log' '" FOLDER "/kept.log'; grep -c . '" FOLDER "/kept.log'").text);
    assert_in_range(kept, 20, 599);
    // it goes on: the same table as without, and what was written is at the beginning still
    snprintf(text, sizeof text, "%sfull' && %sroom' && cmp '" FOLDER "/full/table.csv' '" FOLDER "/room/table.csv'",
             kardan, kardan);
    assert_int_equal(run_command(text).status, 0);
    assert_int_equal(
        run_command("head -c $(wc -c <'" FOLDER "/kept.log') '" FOLDER "/full/rows.log' | cmp - '" FOLDER "/kept.log'")
            .status,
        0);
}

int main(void)
{
    if (run_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "/row'").status != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_all_threads),
        cmocka_unit_test(rows_are_runs),
        cmocka_unit_test(kills_lose_nothing),
        cmocka_unit_test(failures_are_rows),
        cmocka_unit_test(intervals_of_indices_hold),
        cmocka_unit_test(intervals_of_estimates_hold),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(table_in_hdf5),
        cmocka_unit_test(pages),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(command_of_studies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
