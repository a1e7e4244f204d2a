// Reports: one sound, self-contained page that says how the run ended and what was checked.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "project/command.h"
#include "report/report.h"
#include "report/svg.h"
#include "results/markup.h"
#include "results/oscillator.h"

#define PATH KD_BINARY_DIR "/test-report"

typedef struct fixture {
    kd_eom       *eom;
    kd_state     *x;
    kd_probe     *probe;
    kd_certifier *certifier;
    kd_recording *rec;
    kd_result     result;
} fixture;

static const kd_result_setting settings[] = {{"formulation", "psf"}, {"relative <tolerance>", "1e-6"}};

static fixture make(kd_eom_def def)
{
    fixture f = {0};
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_probe_create(f.eom, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_recording_create(f.probe, 50, &f.rec), KD_OK);
    assert_int_equal(kd_certifier_create(f.eom, NULL, &f.certifier), KD_OK);
    f.result = (kd_result){.title = "A & B",
                           .about = "about <this>",
                           .recording = f.rec,
                           .settings = settings,
                           .nsettings = 2,
                           .message = "",
                           .reference_error = NAN,
                           .plain = true};
    return f;
}

static void unmake(fixture *f)
{
    kd_certifier_destroy(f->certifier);
    kd_recording_destroy(f->rec);
    kd_probe_destroy(f->probe);
    kd_state_destroy(f->x);
    kd_eom_destroy(f->eom);
}

static void add(fixture *f)
{
    assert_int_equal(kd_certifier_see(f->certifier, NULL, f->x), KD_OK);
    kd_findings findings = kd_certifier_findings(f->certifier);
    assert_int_equal(kd_recording_add(f->rec, f->x, &findings), KD_OK);
}

// The page as text; the caller frees it.
static char *page_of(fixture *f)
{
    char      message[300] = "", fault[200];
    kd_status status = f->result.certificate.status;
    kd_limits limits = f->result.certificate.limits;
    f->result.certificate = kd_certifier_certificate(f->certifier);
    f->result.certificate.atol = 1e-6;
    f->result.certificate.stats.accepted = 1234;
    f->result.certificate.status = status;
    if (limits.position > 0) f->result.certificate.limits = limits;
    assert_int_equal(kd_report_save(&f->result, PATH ".html", message, sizeof message), KD_OK);
    char *page = read_text(PATH ".html");
    assert_non_null(page);
    if (!markup_is_sound(page, fault, sizeof fault)) fail_msg("%s", fault);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "src="));
    return page;
}

// Title, text, settings, statistics, plots and energies are there, and everything is escaped.
static void page_is_complete(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    for (int i = 0; i < 50; i++) {
        oscillator_state(0.1 * i, f.x);
        add(&f);
    }
    char                    *page = page_of(&f);
    static const char *const expected[] = {"<title>A &amp; B</title>",
                                           "about &lt;this&gt;",
                                           "relative &lt;tolerance&gt;",
                                           "1234",
                                           "Finished: success; time reached 4.9 s; verdict: ",
                                           "Positions p",
                                           "Velocities v",
                                           "Energy",
                                           "balanced",
                                           "<svg",
                                           "1 positions, 1 velocities",
                                           "check at 50 steps and output points",
                                           "attempted steps"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (!strstr(page, expected[i])) print_error("missing: %s\n", expected[i]);
        assert_non_null(strstr(page, expected[i]));
    }
    assert_null(strstr(page, "constraint violation, position"));
    free(page);
    unmake(&f);
}

// A failed run says so, with its message; a bent rod is called drift; the error against a reference is shown.
static void page_is_honest(void **state)
{
    (void)state;
    fixture f = make(rod());
    f.x->p[0] = 1.01;
    add(&f);
    f.result.certificate.status = KD_ERR_NEWTON;
    f.result.message = "at t = 0.1 in 'rod'";
    f.result.reference_error = 0.5;
    char                    *page = page_of(&f);
    static const char *const expected[] = {
        "Failed: Newton", "at t = 0.1 in &#39;rod&#39;",     ">drift<",         "2.01e-02",
        ">differs<",      "at t = 0 s, &#39;lambda[0]&#39;", "How to read this"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (!strstr(page, expected[i])) print_error("missing: %s\n", expected[i]);
        assert_non_null(strstr(page, expected[i]));
    }
    // position and acceleration level name their worst constraint; the velocity level holds exactly
    int named = 0;
    for (char *c = page; (c = strstr(c, "&#39;lambda[0]&#39;")) != NULL; c++) named++;
    assert_int_equal(named, 2);
    free(page);
    unmake(&f);
}

// Chosen channels: neighbours of the same unit share a plot, the others and all groups are left out.
static void chosen_channels_are_shown(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    for (int i = 0; i < 5; i++) {
        oscillator_state(0.1 * i, f.x);
        add(&f);
    }
    kd_recording_set_unit(f.rec, 0, "m");
    f.result.plots = (const char *const[]){"mass <1>", "kinetic energy", "potential energy", "no such channel"};
    f.result.nplots = 4;
    f.result.model_file = "a<b>.yaml";
    f.result.model_text = "bodies:\n  - <x>\n";
    char *page = page_of(&f);
    assert_non_null(strstr(page, ">mass &lt;1&gt;<"));
    assert_non_null(strstr(page, ">[m]<"));
    assert_non_null(strstr(page, "Channels in J"));
    assert_non_null(strstr(page, ">Energy<"));
    assert_null(strstr(page, "Positions p"));
    assert_null(strstr(page, "no such channel"));
    assert_non_null(strstr(page, "<summary>a&lt;b&gt;.yaml</summary><pre>bodies:\n  - &lt;x&gt;\n</pre>"));
    free(page);
    unmake(&f);
}

// Facts take the place of certificate and statistics; their plots come first.
static void facts_take_the_place(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    oscillator_state(0, f.x);
    add(&f);
    const double            line[] = {1, 2};
    const kd_series         series = {.x = line, .y = line, .n = 2};
    const kd_plot           plot = {.title = "Cost <of> a step", .series = &series, .nseries = 1};
    const kd_result_setting fact[] = {{"median", "3 < 4 us"}};
    const kd_result_facts   facts = {
          .title = "Real & time", .fact = fact, .nfacts = 1, .plot = &plot, .nplots = 1, .reading = "Read it so."};
    f.result.facts = &facts;
    char *page = page_of(&f);
    assert_non_null(strstr(page, "<h2>Real &amp; time</h2>"));
    assert_non_null(strstr(page, "3 &lt; 4 us"));
    assert_non_null(strstr(page, "Read it so."));
    assert_null(strstr(page, "Certificate"));
    assert_null(strstr(page, "Statistics"));
    char *own = strstr(page, "Cost &lt;of&gt; a step"), *other = strstr(page, "Positions p");
    assert_true(own && other && own < other);
    free(page);
    assert_int_equal(kd_result_save_csv(&f.result, PATH ".csv", NULL, 0), KD_OK);
    char *table = read_text(PATH ".csv");
    assert_non_null(table);
    assert_non_null(strstr(table, "\n# median: 3 < 4 us\n"));
    assert_null(strstr(table, "certificate"));
    assert_null(strstr(table, "attempted steps"));
    free(table);
    unmake(&f);
}

// A broken limit and a stop are told on the page.
static void limits_and_stops_are_told(void **state)
{
    (void)state;
    fixture f = make(rod());
    f.x->p[0] = 1.01;
    add(&f);
    f.result.certificate.status = KD_STOPPED;
    f.result.certificate.limits = (kd_limits){.position = 1e-6, .velocity = NAN, .acceleration = NAN, .energy = NAN};
    char *page = page_of(&f);
    assert_non_null(strstr(page, "Stopped: stopped on request"));
    assert_non_null(strstr(page, "the limit of 1e-06 on constraint violation on position level is broken: 0.0201"));
    free(page);
    unmake(&f);
}

// A run without a single state gives a page, too.
static void empty_run_has_a_page(void **state)
{
    (void)state;
    fixture f = make(rod());
    char   *page = page_of(&f);
    assert_non_null(strstr(page, "no data"));
    free(page);
    unmake(&f);
}

// Of many components those that move most are drawn.
enum { MANY = 40 };
static kd_eval many_mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    for (int i = 0; i < MANY; i++) M[i * MANY + i] = 1;
    return KD_EVAL_OK;
}
static kd_eval many_force(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    for (int i = 0; i < MANY; i++) f[i] = 0;
    return KD_EVAL_OK;
}
static void largest_motions_are_drawn(void **state)
{
    (void)state;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = MANY, .nv = MANY};
    def.M = many_mass;
    def.f = many_force;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    fixture f = make(def);
    for (int k = 0; k < 2; k++) {
        f.x->t = k;
        for (int i = 0; i < MANY; i++) f.x->p[i] = k * (i % 4 == 3 ? 10 : 0.001);
        add(&f);
    }
    char *page = page_of(&f);
    assert_non_null(strstr(page, "the 10 of 40 components that move most"));
    assert_non_null(strstr(page, ">p[39]<"));
    assert_null(strstr(page, ">p[0]<"));
    free(page);
    unmake(&f);
}

// A full disk is reported by page and picture.
static void failing_disk_is_reported(void **state)
{
    (void)state;
    fixture f = make(oscillator());
    char    message[300] = "";
    assert_int_equal(kd_report_save(&f.result, "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/dev/full"));
    assert_int_equal(kd_report_save_svg(&f.result, "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_int_equal(kd_report_save_svg(&f.result, "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    assert_int_equal(kd_report_save_svg(&f.result, PATH ".svg", message, sizeof message), KD_OK);
    unmake(&f);
}

// Events: marks in the plots over time, a table of the first 50, and how many there were.
static void events_are_shown(void **state)
{
    (void)state;
    fixture       f = make(oscillator());
    kd_event_log *log;
    for (int i = 0; i < 10; i++) {
        oscillator_state(i, f.x);
        add(&f);
    }
    char *page = page_of(&f);
    assert_null(strstr(page, "class=\"mark\""));
    assert_null(strstr(page, "<h2>Events</h2>"));
    free(page);
    assert_int_equal(kd_event_log_create(f.eom, 100, &log), KD_OK);
    f.result.events = log;
    page = page_of(&f);
    assert_null(strstr(page, "<h2>Events</h2>")); // nothing happened
    free(page);
    for (int i = 0; i < 60; i++) {
        char text[40];
        snprintf(text, sizeof text, "rose & fell, number %d.", i);
        const kd_event event = {.t = i % 2 ? 3 : 4, .kind = KD_EVENT_SWITCH, .index = 0, .text = text};
        assert_int_equal(kd_event_log_hear(&event, f.x, f.x, log), KD_EVAL_OK);
    }
    page = page_of(&f);
    assert_non_null(strstr(page, "<h2>Events</h2>"));
    assert_non_null(strstr(page, "60 changes of sign, first at t = 4 s, last at t = 3 s"));
    assert_non_null(strstr(page, "rose &amp; fell, number 49."));
    assert_null(strstr(page, "number 50."));
    assert_non_null(strstr(page, "The first 50 of 60"));
    assert_non_null(strstr(page, "class=\"mark\""));
    free(page);
    kd_event_log_destroy(log);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_complete),          cmocka_unit_test(page_is_honest),
        cmocka_unit_test(empty_run_has_a_page),      cmocka_unit_test(largest_motions_are_drawn),
        cmocka_unit_test(failing_disk_is_reported),  cmocka_unit_test(chosen_channels_are_shown),
        cmocka_unit_test(limits_and_stops_are_told), cmocka_unit_test(facts_take_the_place),
        cmocka_unit_test(events_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
