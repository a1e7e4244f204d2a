// Tables of results: comments with everything that belongs to the run, units, then numbers that read back exactly.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"
#include "results/oscillator.h"
#include "results/result.h"

#define PATH KD_BINARY_DIR "/test-result.csv"

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_probe     *probe;
    kd_certifier *certifier;
    kd_recording *rec;
    kd_result     result;
} fixture;

static const kd_result_setting settings[] = {{"formulation", "psf"}, {"relative tolerance", "1e-6"}};

static fixture make(void)
{
    fixture    f = {0};
    kd_eom_def def = oscillator();
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_certifier_create(f.eom, NULL, &f.certifier), KD_OK);
    assert_int_equal(kd_probe_create(f.eom, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_recording_create(f.probe, 3, &f.rec), KD_OK);
    for (int i = 0; i < 3; i++) {
        oscillator_state(0.1 * i, f.x);
        assert_int_equal(kd_certifier_see(f.certifier, NULL, f.x), KD_OK);
        kd_findings findings = kd_certifier_findings(f.certifier);
        assert_int_equal(kd_recording_add(f.rec, f.x, &findings), KD_OK);
    }
    kd_recording_set_unit(f.rec, 0, "m");
    f.result = (kd_result){.title = "A, \"B\"",
                           .model_file = "a.yaml",
                           .recording = f.rec,
                           .settings = settings,
                           .nsettings = 2,
                           .certificate = kd_certifier_certificate(f.certifier),
                           .message = "all\nwell"};
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

// Comment lines have version, title, settings, statistics, certificate and units; the table follows, time first.
static void table_is_complete(void **state)
{
    (void)state;
    fixture f = make();
    char    message[300] = "";
    assert_int_equal(kd_result_save_csv(&f.result, PATH, message, sizeof message), KD_OK);
    char                    *text = read_text(PATH), *line = text;
    static const char *const expected[] = {"# kardan: " KD_PROJECT_VERSION "\n",
                                           "# title: A, \"B\"\n",
                                           "# model file: a.yaml\n",
                                           "# formulation: psf\n",
                                           "# ended: success\n",
                                           "# message: all well\n",
                                           "# accepted steps: 17\n",
                                           "# certificate: energy balance: largest error",
                                           "# units: s,m,,,J,J,J,J,J,J\n"};
    assert_non_null(text);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (!strstr(text, expected[i])) print_error("missing: %s\n", expected[i]);
        assert_non_null(strstr(text, expected[i]));
    }
    while (*line == '#') line = strchr(line, '\n') + 1;
    assert_int_equal(strncmp(line, "t,mass <1>,v[0] mass <1>,acc mass <1>,kinetic energy,", 53), 0);
    for (int i = 0; i < 3; i++) {
        line = strchr(line, '\n') + 1;
        double t, p, v, a;
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf", &t, &p, &v, &a), 4);
        oscillator_state(0.1 * i, f.x);
        assert_true(t == f.x->t && p == f.x->p[0] && v == f.x->v[0] && a == f.x->a[0]);
    }
    assert_string_equal(strchr(line, '\n'), "\n");
    free(text);
    unmake(&f);
}

// A full disk and a missing folder are reported.
static void failing_disk_is_reported(void **state)
{
    (void)state;
    fixture f = make();
    char    message[300] = "";
    assert_int_equal(kd_result_save_csv(&f.result, "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "'/dev/full': No space left"));
    assert_int_equal(kd_result_save_csv(&f.result, "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    unmake(&f);
}

// Statistics are those of the run, each with its own key and label.
static void statistics_are_those_of_the_run(void **state)
{
    (void)state;
    kd_certificate c = {.stats = {.accepted = 3, .rejected_error = 4, .h_last = 0.5}, .wall_seconds = 0.25};
    for (int i = 0; i < KD_STATISTICS; i++) {
        kd_statistic s = kd_result_statistic(&c, i);
        double       expected = strcmp(s.key, "accepted") == 0         ? 3
                                : strcmp(s.key, "rejected_error") == 0 ? 4
                                : strcmp(s.key, "h_last") == 0         ? 0.5
                                : strcmp(s.key, "wall_seconds") == 0   ? 0.25
                                                                       : 0;
        assert_true(s.value == expected && s.label[0]);
        assert_int_equal(s.is_count, strcmp(s.key, "h_last") != 0 && strcmp(s.key, "wall_seconds") != 0);
        for (int k = 0; k < i; k++) assert_string_not_equal(kd_result_statistic(&c, k).key, s.key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(failing_disk_is_reported),
        cmocka_unit_test(statistics_are_those_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
