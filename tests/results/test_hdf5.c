// Results in HDF5, read back with the HDF5 library.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#ifdef KD_WITH_HDF5
#include <hdf5.h>
#endif

#include "project/command.h"
#include "results/oscillator.h"
#include "results/result.h"

#define PATH KD_BINARY_DIR "/test-result.h5"

enum { N = 7 };

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_probe     *probe;
    kd_certifier *certifier;
    kd_recording *rec;
    kd_result     result;
} fixture;

static const kd_result_setting settings[] = {{"formulation", "psf"}, {"empty", ""}};

static const char *slash_name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_P ? "a/b" : kind == KD_NAME_V ? "." : NULL;
}

static fixture make(void)
{
    fixture    f = {0};
    kd_eom_def def = oscillator();
    def.name = slash_name;
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_certifier_create(f.eom, NULL, &f.certifier), KD_OK);
    assert_int_equal(kd_probe_create(f.eom, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_recording_create(f.probe, N, &f.rec), KD_OK);
    for (int i = 0; i < N; i++) {
        oscillator_state(0.1 * i, f.x);
        assert_int_equal(kd_certifier_see(f.certifier, NULL, f.x), KD_OK);
        kd_findings findings = kd_certifier_findings(f.certifier);
        assert_int_equal(kd_recording_add(f.rec, f.x, &findings), KD_OK);
    }
    kd_recording_set_unit(f.rec, 0, "m");
    f.result = (kd_result){.title = "Title",
                           .model_file = "a.yaml",
                           .model_text = "bodies:\n",
                           .recording = f.rec,
                           .settings = settings,
                           .nsettings = 2,
                           .certificate = kd_certifier_certificate(f.certifier),
                           .reference_error = NAN};
    f.result.certificate.stats.accepted = 17;
    return f;
}

static void unmake(fixture *f)
{
    kd_recording_destroy(f->rec);
    kd_probe_destroy(f->probe);
    kd_certifier_destroy(f->certifier);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

#ifdef KD_WITH_HDF5

static void must_be_text(hid_t object, const char *name, const char *expected)
{
    char  text[4000] = "";
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    assert_true(attribute >= 0);
    hid_t type = H5Aget_type(attribute);
    assert_true(H5Tget_class(type) == H5T_STRING && H5Tget_size(type) < sizeof text);
    assert_true(H5Aread(attribute, type, text) >= 0);
    if (expected) assert_string_equal(text, expected);
    H5Tclose(type);
    H5Aclose(attribute);
}

static double number_of(hid_t object, const char *name)
{
    double value = 0;
    hid_t  attribute = H5Aopen(object, name, H5P_DEFAULT);
    assert_true(attribute >= 0);
    assert_true(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) >= 0);
    H5Aclose(attribute);
    return value;
}

// The numbers of a dataset
static hid_t read_numbers(hid_t file, const char *path, double *values)
{
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    assert_true(set >= 0);
    hid_t space = H5Dget_space(set);
    assert_int_equal(H5Sget_simple_extent_npoints(space), N);
    H5Sclose(space);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    return set;
}

// Time and channels read back to the same bits, with names and units; a name that HDF5 cannot have is changed.
static void channels_read_back(void **state)
{
    (void)state;
    fixture f = make();
    char    message[300] = "";
    double  values[N];
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, message, sizeof message), KD_OK);
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t set = read_numbers(file, "/time", values);
    assert_memory_equal(values, kd_recording_times(f.rec), sizeof values);
    must_be_text(set, "unit", "s");
    H5Dclose(set);
    static const char *const path[] = {"/channels/a|b", "/channels/_", "/channels/acc .", "/channels/kinetic energy"};
    for (int j = 0; j < 4; j++) {
        set = read_numbers(file, path[j], values);
        for (int i = 0; i < N; i++)
            assert_true(values[i] == kd_recording_values(f.rec)[i * kd_recording_columns(f.rec) + j]);
        must_be_text(set, "name", kd_recording_name(f.rec, j));
        must_be_text(set, "unit", kd_recording_unit(f.rec, j));
        assert_true(number_of(set, "column") == j);
        H5Dclose(set);
    }
    H5G_info_t info;
    assert_true(H5Gget_info_by_name(file, "/channels", &info, H5P_DEFAULT) >= 0);
    assert_int_equal(info.nlinks, kd_recording_columns(f.rec));
    H5Fclose(file);
    unmake(&f);
}

// Settings, statistics, certificate, version and the model's text are in the file.
static void facts_read_back(void **state)
{
    (void)state;
    fixture f = make();
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, NULL, 0), KD_OK);
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    must_be_text(file, "title", "Title");
    must_be_text(file, "version", KD_PROJECT_VERSION);
    must_be_text(file, "status", "KD_OK");
    must_be_text(file, "model_file", "a.yaml");
    assert_true(isnan(number_of(file, "reference_error")));
    hid_t group = H5Gopen2(file, "settings", H5P_DEFAULT);
    must_be_text(group, "formulation", "psf");
    must_be_text(group, "empty", "");
    H5Gclose(group);
    group = H5Gopen2(file, "statistics", H5P_DEFAULT);
    assert_true(number_of(group, "accepted") == 17);
    H5Gclose(group);
    group = H5Gopen2(file, "certificate", H5P_DEFAULT);
    char text[4000];
    kd_certificate_describe(&f.result.certificate, text, sizeof text);
    must_be_text(group, "text", text);
    kd_certificate_json(&f.result.certificate, text, sizeof text);
    must_be_text(group, "json", text);
    H5Gclose(group);
    hid_t set = H5Dopen2(file, "model", H5P_DEFAULT), type = H5Dget_type(set);
    memset(text, 0, sizeof text);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    assert_string_equal(text, "bodies:\n");
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
    unmake(&f);
}

static void must_be_texts(hid_t file, const char *path, const char *first, const char *second)
{
    char  all[200] = "";
    hid_t set = H5Dopen2(file, path, H5P_DEFAULT), type = H5Dget_type(set);
    assert_true(set >= 0);
    size_t width = H5Tget_size(type);
    assert_true(2 * width < sizeof all);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
    assert_true(strncmp(all, first, width) == 0 && strncmp(all + width, second, width) == 0);
    H5Tclose(type);
    H5Dclose(set);
}

// Events: times, kinds, texts in their order, counts of all kinds; an empty log is a group with empty datasets.
static void events_read_back(void **state)
{
    (void)state;
    fixture       f = make();
    kd_event_log *log;
    double        t[2] = {0}, direction[2] = {0};
    assert_int_equal(kd_event_log_create(f.eom, 2, &log), KD_OK);
    f.result.events = log;
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, NULL, 0), KD_OK);
    const kd_event first = {1.0 / 3.0, KD_EVENT_SLIDE, 0, -1, "slides", 0, 0},
                   second = {2, KD_EVENT_BREAK, -1, 0, "", 0, 0};
    assert_int_equal(kd_event_log_hear(&first, f.x, f.x, log), KD_EVAL_OK);
    assert_int_equal(kd_event_log_hear(&second, f.x, f.x, log), KD_EVAL_OK);
    kd_event_log_set_samples(log, 12);
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, NULL, 0), KD_OK);
    hid_t file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT), group = H5Gopen2(file, "events", H5P_DEFAULT);
    assert_true(number_of(group, "slide") == 1 && number_of(group, "sample") == 12 && number_of(group, "impact") == 0);
    hid_t set = H5Dopen2(file, "events/t", H5P_DEFAULT);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t) >= 0);
    H5Dclose(set);
    set = H5Dopen2(file, "events/direction", H5P_DEFAULT);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, direction) >= 0);
    H5Dclose(set);
    assert_true(t[0] == 1.0 / 3.0 && t[1] == 2 && direction[0] == -1 && direction[1] == 0);
    must_be_texts(file, "events/kind", "slide", "break");
    must_be_texts(file, "events/text", "slides", "");
    must_be_texts(file, "events/element", "mu[0]", "");
    H5Gclose(group);
    H5Fclose(file);
    kd_event_log_destroy(log);
    unmake(&f);
}

// The same result gives the same bytes.
static void bytes_are_the_same(void **state)
{
    (void)state;
    fixture f = make();
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, NULL, 0), KD_OK);
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH ".2", NULL, 0), KD_OK);
    assert_int_equal(run_command("sleep 1.1; cmp '" PATH "' '" PATH ".2'").status, 0);
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH ".2", NULL, 0), KD_OK);
    assert_int_equal(run_command("cmp '" PATH "' '" PATH ".2'").status, 0);
    unmake(&f);
}

// A full disk and a missing folder are reported; the library's own words are not printed.
static void failing_disk_is_reported(void **state)
{
    (void)state;
    fixture f = make();
    char    message[300] = "";
    assert_int_equal(kd_result_save_hdf5(&f.result, "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "'/dev/full': No space left"));
    assert_int_equal(kd_result_save_hdf5(&f.result, "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "No such file"));
    unmake(&f);
}

// Many channels and no states are no trouble.
static kd_eval many_residual(const kd_point *x, void *context, double *out)
{
    (void)context;
    for (int i = 0; i < 2000; i++) out[i] = x->a[i];
    return KD_EVAL_OK;
}
static void sizes_are_no_trouble(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2000, .nv = 2000};
    def.residual = many_residual;
    kd_eom       *eom;
    kd_probe     *probe;
    kd_recording *rec;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_probe_create(eom, NULL, &probe), KD_OK);
    assert_int_equal(kd_recording_create(probe, 10, &rec), KD_OK);
    kd_result result = {.title = "", .recording = rec};
    assert_int_equal(kd_result_save_hdf5(&result, PATH, NULL, 0), KD_OK);
    hid_t      file = H5Fopen(PATH, H5F_ACC_RDONLY, H5P_DEFAULT);
    H5G_info_t info;
    assert_true(H5Gget_info_by_name(file, "/channels", &info, H5P_DEFAULT) >= 0);
    assert_int_equal(info.nlinks, 6000);
    H5Fclose(file);
    kd_recording_destroy(rec);
    kd_probe_destroy(probe);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_read_back),       cmocka_unit_test(facts_read_back),
        cmocka_unit_test(events_read_back),         cmocka_unit_test(bytes_are_the_same),
        cmocka_unit_test(failing_disk_is_reported), cmocka_unit_test(sizes_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

// Without the library the answer is KD_ERR_UNAVAILABLE, with the package to install, and no file.
static void absence_is_told(void **state)
{
    (void)state;
    fixture f = make();
    char    message[300] = "";
    (void)remove(PATH);
    assert_int_equal(kd_result_save_hdf5(&f.result, PATH, message, sizeof message), KD_ERR_UNAVAILABLE);
    assert_non_null(strstr(message, "libhdf5-dev"));
    assert_null(read_text(PATH));
    assert_false(kd_result_has_hdf5());
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(absence_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
