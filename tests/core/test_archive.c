// Archives: what is written comes back; what does not fit is refused with a reason, and nothing is read behind it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/saved.h"

typedef struct thing {
    kd_arena    arena;
    double      t, h, scale;
    int         order, pivot[3];
    bool        known;
    long        steps;
    signed char side[2];
    char        text[20];
    const char *name;
    char        kept[20];
    double     *x, *x_old, *inside; // (3), (3), in x
} thing;

static void make(thing *o)
{
    *o = (thing){.t = 1.5,
                 .h = -0.0,
                 .scale = 2,
                 .order = 3,
                 .pivot = {2, 2, 3},
                 .known = true,
                 .steps = 1234567890123,
                 .side = {-1, 1}};
    strcpy(o->text, "abc");
    o->name = "spring";
    o->x = kd_cut_double(&o->arena, 3);
    o->x_old = kd_cut_double(&o->arena, 3);
    o->inside = o->x + 1;
    for (int i = 0; i < 3; i++) o->x[i] = i + 1, o->x_old[i] = -i - 1;
}

static void walk(thing *o, kd_archive *a)
{
    kd_archive_tag(a, "thing");
    KD_ARCHIVE_REALS(a, &o->t, &o->h);
    kd_archive_least(a, &o->scale, 1);
    kd_archive_int(a, &o->order, 1, 5);
    kd_archive_pivots(a, o->pivot, 3);
    kd_archive_bool(a, &o->known);
    kd_archive_count(a, &o->steps);
    kd_archive_signs(a, o->side, 2);
    kd_archive_text(a, o->text, sizeof o->text);
    kd_archive_words(a, &o->name, o->kept, sizeof o->kept);
    kd_archive_arrays(a, &o->arena, o, sizeof *o);
}

// All kinds of fields come back; arrays that were exchanged are exchanged on the other side, too.
static void fields_come_back(void **state)
{
    (void)state;
    thing one, other;
    make(&one);
    make(&other);
    // as methods do: the end of a step becomes the start of the next one
    double *x = one.x;
    one.x = one.x_old, one.x_old = x, one.inside = one.x + 1;
    one.x[1] = 7;
    one.order = 5, one.known = false, one.h = 0.25, one.name = NULL;
    kd_archive w = kd_archive_writer();
    walk(&one, &w);
    assert_true(kd_archive_good(&w));
    kd_archive r = kd_archive_reader(w.bytes, w.size);
    walk(&other, &r);
    assert_true(kd_archive_good(&r));
    assert_int_equal(r.at, r.size);
    assert_true(other.h == 0.25 && other.order == 5 && !other.known && !other.name && other.steps == 1234567890123);
    assert_true(other.x[0] == -1 && other.x[1] == 7 && other.x_old[0] == 1);
    assert_ptr_equal(other.inside, other.x + 1);
    assert_int_equal(other.side[0], -1);
    kd_archive_release(&w);
    kd_arena_release(&one.arena);
    kd_arena_release(&other.arena);
}

// Every byte changed, and the end cut off anywhere: refused, or fields within their bounds.
static void any_bytes_are_harmless(void **state)
{
    (void)state;
    thing one, other;
    make(&one);
    kd_archive w = kd_archive_writer();
    walk(&one, &w);
    for (size_t i = 0; i < w.size; i++) {
        for (int k = 0; k < 3; k++) {
            static const unsigned char odd[] = {0xff, 0x80, 0x01};
            const unsigned char        kept = w.bytes[i];
            make(&other);
            if (k < 2) w.bytes[i] ^= odd[k];
            kd_archive r = kd_archive_reader(w.bytes, k < 2 ? w.size : i);
            walk(&other, &r);
            if (!kd_archive_good(&r)) assert_true(r.why[0] && r.status == KD_ERR_SAVED);
            assert_true(other.order >= 1 && other.order <= 5 && other.scale >= 1);
            for (int j = 0; j < 3; j++) assert_true(other.pivot[j] >= 1 && other.pivot[j] <= 3);
            assert_true(memchr(other.text, '\0', sizeof other.text) && other.steps >= 0);
            // pointers lie in the arena
            assert_true(isnan(other.x[2]) || other.x[2] == other.x[2]);
            if (k == 2) assert_false(kd_archive_good(&r));
            w.bytes[i] = kept;
            kd_arena_release(&other.arena);
        }
    }
    kd_archive_release(&w);
    kd_arena_release(&one.arena);
}

// Objects of other sizes do not fit.
static void other_sizes_are_refused(void **state)
{
    (void)state;
    thing one, other;
    make(&one);
    make(&other);
    kd_cut_double(&one.arena, 4);
    kd_archive w = kd_archive_writer();
    walk(&one, &w);
    kd_archive r = kd_archive_reader(w.bytes, w.size);
    walk(&other, &r);
    assert_int_equal(r.status, KD_ERR_SAVED); // one array more there
    kd_archive_release(&w);
    kd_arena_release(&one.arena);
    kd_arena_release(&other.arena);
}

static kd_saved *saved_text(const char *text)
{
    kd_saved  *s = NULL;
    char       copy[100];
    kd_archive a = kd_archive_writer();
    snprintf(copy, sizeof copy, "%s", text);
    kd_archive_text(&a, copy, sizeof copy);
    assert_int_equal(kd_saved_create(2.5, &s), KD_OK);
    assert_int_equal(kd_saved_add(s, "words", &a), KD_OK);
    return s;
}

// Parts are found by name, in memory and in a file; head and checksum notice every changed byte.
static void parts_and_files(void **state)
{
    (void)state;
    kd_saved  *s = saved_text("hello"), *again = NULL;
    kd_archive part;
    char       message[300] = "", text[100] = "", path[1000];
    size_t     size;
    assert_true(kd_saved_time(s) == 2.5 && kd_saved_has(s, "words") && !kd_saved_has(s, "word"));
    snprintf(path, sizeof path, "%s/test_archive.saved", KD_BINARY_DIR);
    assert_int_equal(kd_saved_write(s, path, message, sizeof message), KD_OK);
    assert_int_equal(kd_saved_read(path, &again, message, sizeof message), KD_OK);
    assert_true(kd_saved_part(again, "words", &part));
    kd_archive_text(&part, text, sizeof text);
    assert_string_equal(text, "hello");
    assert_int_equal(kd_saved_end(&part, "words", message, sizeof message), KD_OK);
    kd_saved_destroy(again);
    remove(path);
    assert_int_equal(kd_saved_read(path, &again, message, sizeof message), KD_ERR_FILE);
    // any byte
    unsigned char        bytes[500];
    const unsigned char *from = kd_saved_bytes(s, &size);
    assert_true(size < sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        memcpy(bytes, from, size);
        bytes[i] ^= 0x10;
        assert_int_equal(kd_saved_of_bytes(bytes, size, &again, message, sizeof message), KD_ERR_SAVED);
        assert_true(message[0] && !again);
        assert_int_equal(kd_saved_of_bytes(from, i, &again, message, sizeof message), KD_ERR_SAVED);
    }
    kd_saved_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_back),
        cmocka_unit_test(any_bytes_are_harmless),
        cmocka_unit_test(other_sizes_are_refused),
        cmocka_unit_test(parts_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
