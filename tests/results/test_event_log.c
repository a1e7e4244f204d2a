// The log of events: order, names, counts beyond its room, words, and a table that reads back.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "project/command.h"
#include "results/event_log.h"
#include "results/oscillator.h"

#define PATH KD_BINARY_DIR "/test-events.csv"

static kd_eval level(const kd_point *x, void *context, double *out)
{
    (void)context;
    out[0] = x->p[0];
    return KD_EVAL_OK;
}

static kd_eval nothing(const kd_point *x, const signed char *crossed, void *context, kd_jump *jump)
{
    (void)x, (void)crossed, (void)context, (void)jump;
    return KD_EVAL_OK;
}

static kd_eval same_z(const kd_point *x, void *context, double *z_new)
{
    (void)context;
    z_new[0] = x->z[0];
    return KD_EVAL_OK;
}

static double never(const kd_point *x, void *context)
{
    (void)x, (void)context;
    return HUGE_VAL;
}

static const char *names(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_SWITCH ? "level, \"high\"" : kind == KD_NAME_LAMBDA ? "floor" : NULL;
}

static kd_eom *make(kd_eom_def def)
{
    kd_eom *eom;
    def.name = names;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    return eom;
}

static kd_eom_def with_level(void)
{
    kd_eom_def def = oscillator();
    def.dims.nswitch = 1;
    def.switching = level;
    def.event = nothing;
    return def;
}

static void hear(kd_event_log *log, double t, kd_event_kind kind, int direction, const char *text)
{
    const kd_event event = {t, kind, kind == KD_EVENT_BREAK ? -1 : 0, direction, text, 0, 0};
    assert_int_equal(kd_event_log_hear(&event, NULL, NULL, log), KD_EVAL_OK);
}

// Switching functions and one-sided rows make a log due; samples and breaks where they are asked for.
static void logs_are_due(void **state)
{
    (void)state;
    static const double restitution[] = {0.5};
    kd_eom_def          plain = oscillator(), sampled = oscillator(), broken = oscillator(), floor = rod();
    sampled.dims.nz = 1;
    sampled.discrete = same_z;
    sampled.next_sample = never;
    broken.next_break = never;
    floor.restitution = restitution;
    const struct {
        kd_eom_def def;
        bool       due, due_with_samples;
    } list[] = {{plain, false, false},
                {with_level(), true, true},
                {sampled, false, true},
                {broken, false, true},
                {floor, true, true}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        kd_eom *eom = make(list[i].def);
        assert_int_equal(kd_event_log_is_due(eom, false), list[i].due);
        assert_int_equal(kd_event_log_is_due(eom, true), list[i].due_with_samples);
        kd_eom_destroy(eom);
    }
}

// Events keep their order and names; those beyond the room are counted; words have first and last times.
static void events_are_kept(void **state)
{
    (void)state;
    kd_eom       *eom = make(with_level());
    kd_event_log *log;
    char          text[400];
    double        marks[3];
    assert_int_equal(kd_event_log_create(eom, 3, &log), KD_OK);
    assert_string_equal(kd_event_log_describe(log, text, sizeof text), "");
    hear(log, 0.5, KD_EVENT_SWITCH, 1, "up");
    hear(log, 0.75, KD_EVENT_BREAK, 0, "kink");
    hear(log, 1.5, KD_EVENT_SWITCH, -1, NULL);
    hear(log, 2.5, KD_EVENT_SWITCH, 1, "lost");
    kd_event_log_set_samples(log, 40);
    assert_int_equal(kd_event_log_length(log), 3);
    assert_int_equal(kd_event_log_count(log, KD_EVENT_SWITCH), 3);
    assert_int_equal(kd_event_log_total(log), 4);
    assert_string_equal(kd_event_log_at(log, 0)->text, "up");
    assert_non_null(strstr(kd_event_log_at(log, 0)->element, "level"));
    assert_string_equal(kd_event_log_at(log, 1)->element, "");
    assert_string_equal(kd_event_log_at(log, 2)->text, "");
    assert_string_equal(kd_event_log_describe(log, text, sizeof text),
                        "3 changes of sign, first at t = 0.5 s, last at t = 2.5 s\n40 samples\n"
                        "1 break of a function of time, at t = 0.75 s");
    assert_int_equal(kd_event_log_marks(log, marks), 2); // not the break
    assert_true(marks[0] == 0.5 && marks[1] == 1.5);
    kd_event_log_destroy(log);
    kd_eom_destroy(eom);
}

// Times read back to the same bits; text with commas and quotes is one cell.
static void table_reads_back(void **state)
{
    (void)state;
    const double  t[] = {0.1, 1.0 / 3.0};
    kd_eom       *eom = make(with_level());
    kd_event_log *log;
    char          message[300] = "";
    assert_int_equal(kd_event_log_create(eom, 2, &log), KD_OK);
    hear(log, t[0], KD_EVENT_SWITCH, -1, "fell, so to say");
    hear(log, t[1], KD_EVENT_BREAK, 0, "plain");
    assert_int_equal(kd_event_log_save_csv(log, "two\nlines", PATH, message, sizeof message), KD_OK);
    char *text = read_text(PATH);
    assert_non_null(text);
    assert_non_null(strstr(text, "# title: two lines\n# the first 2 events\nt,kind,element,direction,text\n"));
    assert_non_null(strstr(text, ",switch,\"level, \"\"high\"\"\",-1,\"fell, so to say\"\n"));
    assert_non_null(strstr(text, ",break,,0,plain\n"));
    char *row = strstr(text, "text\n") + 5;
    assert_true(strtod(row, NULL) == t[0]);
    assert_true(strtod(strchr(row, '\n') + 1, NULL) == t[1]);
    free(text);
    assert_int_equal(kd_event_log_save_csv(log, "title", "/dev/full", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/dev/full"));
    assert_int_equal(kd_event_log_save_csv(log, "title", "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    kd_event_log_destroy(log);
    kd_eom_destroy(eom);
}

// A failed allocation leaves nothing behind; hearing takes no memory.
static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    kd_eom *eom = make(with_level());
    for (long fail_at = 1; fail_at <= 3; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_event_log     *log;
        failing_allocator_use(&a);
        kd_status  status = kd_event_log_create(eom, 100, &log);
        const long calls = a.calls;
        if (status == KD_OK) hear(log, 1, KD_EVENT_SWITCH, 1, "heard");
        assert_true(status == (fail_at < 3 ? KD_ERR_MEMORY : KD_OK) && (status == KD_OK || !log) && a.calls == calls);
        kd_event_log_destroy(log);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
    }
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_are_due),
        cmocka_unit_test(events_are_kept),
        cmocka_unit_test(table_reads_back),
        cmocka_unit_test(failed_allocation_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
