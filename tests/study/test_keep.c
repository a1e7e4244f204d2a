// What studies keep of their runs: channels of all rows, the same as those of single runs; pages of chosen rows; what is wrong in words.
#define _POSIX_C_SOURCE 200809L
#include <kardan/kardan.h>
#include <kardan/study.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef KD_WITH_HDF5
#include <hdf5.h>
#endif

#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/keep"
#define FILE_NAME KD_SOURCE_DIR "/models/study.yaml" // beside the models, not on disk

enum { ROWS = 7, PLACES = 41 };

#define HEAD                                                                                                           \
    "study: kept\nmodel: quarter-car.yaml\nrun: {t_end: 0.4, intervals: 40, rtol: 1e-7, integrator: radau}\n"          \
    "parameters: {ks: {range: [1.5e4, 2.5e4]}, cs: {range: [500, 3000]}}\ndesign: {latin: 7, seed: 3}\n"               \
    "outputs: {comfort: {rms: comfort}}\n"

static kd_study *study_of(const char *text)
{
    kd_study *s;
    char      message[4000];
    if (kd_study_read_text(FILE_NAME, text, strlen(text), &s, message, sizeof message) < 0) fail_msg("%s", message);
    return s;
}

static void run_well(kd_study *s, const char *folder)
{
    kd_study_run_options opt = kd_study_run_options_default();
    char                 message[1000];
    opt.folder = folder, opt.threads = 2, opt.fresh = true;
    if (kd_study_run(s, &opt, message, sizeof message) < 0) fail_msg("%s", message);
}

static void begin_anew(const char *folder)
{
    char command[2000];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '" FOLDER "'", folder);
    assert_int_equal(run_command(command).status, 0);
}

// A row by hand: the model read with its parameters, one run
static void run_alone(const kd_study *s, int row, const char *channel, double *t, double *y)
{
    char         number[2][40], message[1000];
    double       value[2];
    kd_model    *model;
    kd_system   *system;
    kd_recorder *recorder;
    kd_state    *x;
    assert_int_equal(kd_study_point(s, row, value), KD_OK);
    for (int i = 0; i < 2; i++) snprintf(number[i], sizeof number[i], "%.17g", value[i]);
    const kd_setting      set[] = {{"ks", number[0]}, {"cs", number[1]}};
    kd_recorder_options   recording = kd_recorder_options_default();
    kd_simulation_options options = kd_simulation_options_default();
    assert_int_equal(kd_model_read(KD_SOURCE_DIR "/models/quarter-car.yaml", set, 2, &model, message, sizeof message),
                     KD_OK);
    kd_system_options of = kd_system_options_of(model);
    of.watch = &channel, of.nwatch = 1;
    assert_true(kd_system_create(model, &of, &system, message, sizeof message) >= 0);
    recording.intervals = PLACES - 1;
    assert_true(kd_recorder_create(system, &recording, &recorder, message, sizeof message) >= 0);
    assert_true(kd_system_run_options(system, &options, message, sizeof message) >= 0);
    assert_true(kd_integrator_parse("radau", &options.integrator));
    options.formulation = kd_method_formulation(&options), options.rtol = options.atol = 1e-7;
    assert_int_equal(kd_state_create(kd_system_eom(system), &x), KD_OK);
    assert_true(kd_system_start(system, x, message, sizeof message) >= 0);
    assert_true(kd_recorder_simulate(recorder, &options, x, 0.4) >= 0);
    assert_int_equal(kd_recorder_rows(recorder), PLACES);
    memcpy(t, kd_recorder_times(recorder), PLACES * sizeof *t);
    assert_int_equal(kd_recorder_column(recorder, kd_recorder_find(recorder, channel), y), KD_OK);
    kd_state_destroy(x);
    kd_recorder_destroy(recorder);
    kd_system_destroy(system);
    kd_model_destroy(model);
}

static void read_channel(const kd_study *s, int row, int channel, double *t, double *y)
{
    char message[1000];
    int  n;
    if (kd_study_channel_of(s, row, channel, t, y, PLACES, &n, message, sizeof message) < 0) fail_msg("%s", message);
    assert_int_equal(n, PLACES);
}

// Channels of all rows are those of single runs, bit for bit, a sensor and a path alike.
static void channels_are_those_of_runs(void **state)
{
    (void)state;
    double t[PLACES], y[PLACES], alone_t[PLACES], alone[PLACES];
    begin_anew(FOLDER "/runs");
    kd_study *s = study_of(HEAD "keep: {channels: [wheel-load, body.cab.pos.z]}\n");
    run_well(s, FOLDER "/runs");
    assert_int_equal(kd_study_channels(s), 2);
    assert_string_equal(kd_study_channel(s, 1), "body.cab.pos.z");
    assert_string_equal(kd_study_channel(s, 2), "");
    for (int row = 0; row < ROWS; row += 3)
        for (int i = 0; i < 2; i++) {
            read_channel(s, row, i, t, y);
            run_alone(s, row, kd_study_channel(s, i), alone_t, alone);
            assert_memory_equal(t, alone_t, sizeof t);
            assert_memory_equal(y, alone, sizeof y);
        }
    kd_study_destroy(s);
}

// Files that are gone are made again with their rows; those of another study are refused, and removed where it begins afresh.
static void files_come_back(void **state)
{
    (void)state;
    double t[PLACES], y[PLACES], again[PLACES];
    char   message[1000];
    int    n;
    begin_anew(FOLDER "/back");
    kd_study *s = study_of(HEAD "keep: {channels: [wheel-load]}\n");
    run_well(s, FOLDER "/back");
    read_channel(s, 4, 0, t, y);
    kd_study_destroy(s);
    assert_int_equal(unlink(FOLDER "/back/channels/row-4.csv"), 0);
    s = study_of(HEAD "keep: {channels: [wheel-load]}\n");
    run_well(s, FOLDER "/back");
    read_channel(s, 4, 0, t, again);
    assert_memory_equal(y, again, sizeof y);
    // what somebody else wrote there
    assert_int_equal(run_command("sed -i 's/^# study ./# study x/' '" FOLDER "/back/channels/row-2.csv'").status, 0);
    assert_int_equal(kd_study_channel_of(s, 2, 0, t, y, PLACES, &n, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "belongs to another study"));
    assert_int_equal(run_command("printf '1,2\\n3' >> '" FOLDER "/back/channels/row-3.csv'").status, 0);
    assert_true(kd_study_channel_of(s, 3, 0, t, y, PLACES, &n, message, sizeof message) < 0);
    assert_non_null(strstr(message, "row-3.csv:"));
    kd_study_destroy(s);
    // another study in the same folder
    s = study_of("parameters: {a: {range: [0, 1]}}\ndesign: {latin: 3}\noutputs: {b: a}\n");
    run_well(s, FOLDER "/back");
    assert_int_not_equal(access(FOLDER "/back/channels/row-0.csv", F_OK), 0);
    kd_study_destroy(s);
}

// Rows that failed have no channels, and say so; rows that are not there neither.
static void failed_rows_have_none(void **state)
{
    (void)state;
    char message[1000];
    int  n;
    begin_anew(FOLDER "/failed");
    kd_study *s = study_of("model: quarter-car.yaml\nrun: {t_end: 0.2, intervals: 20}\nparameters: {ks: {values: [2e4, "
                           "1e4]}, m: {values: [300, -1]}}\n"
                           "design: {list: [[2e4, 300], [2e4, -1]]}\noutputs: {comfort: {rms: comfort}}\n"
                           "keep: {channels: [comfort], reports: [failed]}\n");
    assert_int_equal(kd_study_channel_of(s, 0, 0, NULL, NULL, 0, &n, message, sizeof message), KD_ERR_ARGUMENT);
    run_well(s, FOLDER "/failed");
    assert_int_equal(kd_study_channel_of(s, 0, 0, NULL, NULL, 0, &n, message, sizeof message), KD_OK);
    assert_int_equal(n, 21);
    assert_true(kd_study_row_of(s, 1).status < 0);
    assert_int_equal(kd_study_channel_of(s, 1, 0, NULL, NULL, 0, &n, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "failed"));
    assert_int_not_equal(access(FOLDER "/failed/channels/row-1.csv", F_OK), 0);
    int row[3];
    assert_int_equal(kd_study_reports(s, row, 3), 1);
    assert_int_equal(row[0], 1);
    kd_study_destroy(s);
}

// Rows that get pages: by number, by their first output, or as ever.
static void reports_are_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *keep;
        int         best, worst, number; // are they among them?
    } CASE[] = {{"", 1, 1, 0},
                {"keep: {reports: [5, 5]}\n", 0, 0, 1},
                {"keep: {reports: [worst, 5]}\n", 0, 1, 1},
                {"keep: {reports: [best, 1000]}\n", 1, 0, 0},
                {"keep: {reports: [failed]}\n", 0, 0, 0}};
    for (int k = 0; k < 5; k++) {
        char text[2000];
        int  best = 0, worst = 0, wanted[ROWS] = {0}, row[ROWS], count = 0;
        snprintf(text, sizeof text, HEAD "%s", CASE[k].keep);
        kd_study *s = study_of(text);
        run_well(s, NULL);
        for (int i = 1; i < ROWS; i++) {
            if (kd_study_row_of(s, i).output[0] < kd_study_row_of(s, best).output[0]) best = i;
            if (kd_study_row_of(s, i).output[0] > kd_study_row_of(s, worst).output[0]) worst = i;
        }
        if (CASE[k].best) wanted[best] = 1;
        if (CASE[k].worst) wanted[worst] = 1;
        if (CASE[k].number) wanted[5] = 1;
        const int n = kd_study_reports(s, row, ROWS);
        for (int i = 0; i < ROWS; i++)
            if (wanted[i]) assert_int_equal(row[count++], i);
        assert_int_equal(n, count);
        kd_study_destroy(s);
    }
}

// The channels of all rows as one long table in HDF5, and as bands in the page.
static void tables_and_pages(void **state)
{
    (void)state;
    char message[1000];
    begin_anew(FOLDER "/tables");
    kd_study *s = study_of(HEAD "keep: {channels: [wheel-load], reports: [2]}\n");
    run_well(s, FOLDER "/tables");
    assert_int_equal(kd_study_save_page(s, FOLDER "/tables/study.html", message, sizeof message), KD_OK);
    char *page = read_text(FOLDER "/tables/study.html");
    assert_non_null(page);
    assert_non_null(strstr(page, "Channels over time"));
    assert_non_null(strstr(page, "Median of 7 rows"));
    assert_non_null(strstr(page, "<a href=\"row-2.html\">2</a>"));
    free(page);
#ifdef KD_WITH_HDF5
    static double column[3][ROWS * PLACES];
    double        t[PLACES], y[PLACES];
    if (kd_study_save_hdf5(s, FOLDER "/tables/table.h5", message, sizeof message) < 0) fail_msg("%s", message);
    const hid_t file = H5Fopen(FOLDER "/tables/table.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    static const char *const NAME[] = {"channels/row", "channels/time", "channels/wheel-load"};
    for (int k = 0; k < 3; k++) {
        const hid_t set = H5Dopen2(file, NAME[k], H5P_DEFAULT);
        assert_true(set >= 0 && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column[k]) >= 0);
        H5Dclose(set);
    }
    for (int row = 0; row < ROWS; row++) {
        read_channel(s, row, 0, t, y);
        for (int k = 0; k < PLACES; k++) {
            assert_true(column[0][row * PLACES + k] == row);
            assert_true(column[1][row * PLACES + k] == t[k] && column[2][row * PLACES + k] == y[k]);
        }
    }
    H5Fclose(file);
#endif
    kd_study_destroy(s);
}

// What is wrong is told with its line.
static void wrong_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } WRONG[] = {
        {HEAD "keep: {channels: [weel-load]}\n",
         "study.yaml:7: keep: there is no channel 'weel-load'; did you mean 'wheel-load'?"},
        {HEAD "keep: {channels: wheel-load}\n", "study.yaml:7:18: a list is expected here"},
        {HEAD "keep: {channels: [wheel-load, wheel-load]}\n", "study.yaml:7:31: this channel is kept already"},
        {HEAD "keep: {reports: [wost]}\n", "study.yaml:7:18: the number of a row, best, worst, front or failed"},
        {HEAD "keep: {reports: [-1]}\n", "study.yaml:7:18: rows count from 0 on"},
        {HEAD "keep: {reports: [front]}\n", "study.yaml:7:18: only optimise with several objectives has a front"},
        {HEAD "keep: {chanels: [a]}\n", "study.yaml:7:8: "},
        {"parameters: {a: {range: [0, 1]}}\ndesign: {latin: 3}\noutputs: {b: a}\nkeep: {channels: [a]}\n",
         "study.yaml:4:18: there are no channels without a model"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        kd_study *s = NULL;
        char      message[4000];
        assert_true(kd_study_read_text(FILE_NAME, WRONG[i].text, strlen(WRONG[i].text), &s, message, sizeof message) <
                    0);
        if (!strstr(message, WRONG[i].message)) fail_msg("%s\n%s", WRONG[i].text, message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_those_of_runs), cmocka_unit_test(files_come_back),
        cmocka_unit_test(failed_rows_have_none),      cmocka_unit_test(reports_are_chosen),
        cmocka_unit_test(tables_and_pages),           cmocka_unit_test(wrong_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
