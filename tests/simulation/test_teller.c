// The teller: everything in its order, samples where they are wanted, counts without limits, a listener that stops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "simulation/teller.h"

typedef struct heard {
    int           n, stop_at;
    kd_event_kind kind[8];
    char          text[8][40];
    double        before, after;
} heard;

static kd_eval listen(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    heard *h = context;
    assert_true(h->n < 8);
    h->kind[h->n] = event->kind;
    strcpy(h->text[h->n], event->text);
    h->before = before->t;
    h->after = after->t;
    assert_true(event->t == after->t);
    return ++h->n == h->stop_at ? KD_EVAL_STOP : KD_EVAL_OK;
}

static kd_teller make(kd_arena *arena, heard *h, bool samples, int room)
{
    kd_teller        t = {0};
    kd_event_options opt = kd_event_options_default();
    opt.listener = h ? listen : NULL;
    opt.context = h;
    opt.samples = samples;
    kd_teller_cut(&t, arena, &opt, room);
    assert_false(arena->failed);
    return t;
}

// What was told is delivered once and in order; samples only to those who want them; all are counted.
static void order_and_samples(void **state)
{
    (void)state;
    const kd_state before = {.t = 1}, after = {.t = 1};
    for (int samples = 0; samples < 2; samples++) {
        kd_arena  arena = {0};
        heard     h = {0};
        kd_teller t = make(&arena, &h, samples, 4);
        assert_int_equal(kd_teller_tells_samples(&t), samples);
        kd_teller_tell(KD_EVENT_IMPACT, 0, 0, "first", &t);
        kd_teller_tell(KD_EVENT_SAMPLE, -1, 0, "second", &t);
        kd_teller_tell(KD_EVENT_REST, 0, 0, "third", &t);
        assert_int_equal(kd_teller_deliver(&t, &before, &after), KD_OK);
        assert_int_equal(kd_teller_deliver(&t, &before, &after), KD_OK); // nothing is left
        assert_int_equal(h.n, 2 + samples);
        assert_string_equal(h.text[0], "first");
        assert_string_equal(h.text[1 + samples], "third");
        assert_int_equal(t.count[KD_EVENT_SAMPLE], 1);
        kd_teller_tell(KD_EVENT_REST, 0, 0, "forgotten", &t);
        kd_teller_forget(&t);
        assert_int_equal(kd_teller_deliver(&t, &before, &after), KD_OK);
        assert_int_equal(h.n, 2 + samples);
        kd_arena_release(&arena);
    }
}

// More than there is room for is counted; a listener that stops hears no more; without a listener nothing happens.
static void bounds_and_stops(void **state)
{
    (void)state;
    const kd_state at = {.t = 2};
    kd_arena       arena = {0};
    heard          h = {.stop_at = 2};
    kd_teller      t = make(&arena, &h, false, 3), deaf = make(&arena, NULL, true, 3);
    for (int i = 0; i < 5; i++) kd_teller_tell(KD_EVENT_SWITCH, i, 1, "crossed", &t);
    assert_int_equal(t.count[KD_EVENT_SWITCH], 5);
    assert_int_equal(t.queued, 3);
    assert_int_equal(kd_teller_deliver(&t, &at, &at), KD_STOPPED);
    assert_int_equal(h.n, 2);
    kd_teller_tell(KD_EVENT_SWITCH, 0, 1, "crossed", &deaf);
    assert_false(kd_teller_tells_samples(&deaf));
    assert_int_equal(kd_teller_deliver(&deaf, &at, &at), KD_OK);
    kd_arena_release(&arena);
}

// Kinds have words; a number that is none has one, too.
static void words_of_kinds(void **state)
{
    (void)state;
    for (int i = 0; i < KD_EVENT_KIND_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(kd_event_word((kd_event_kind)i), kd_event_word((kd_event_kind)j));
    assert_string_equal(kd_event_word(KD_EVENT_IMPACT), "impact");
    assert_string_equal(kd_event_word((kd_event_kind)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_samples),
        cmocka_unit_test(bounds_and_stops),
        cmocka_unit_test(words_of_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
