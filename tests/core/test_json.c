// test_json.c: JSON in its layouts, to files and to buffers, against what it must read as.
#define _POSIX_C_SOURCE 200809L
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/json.h"

// All kinds of members
static void put_all(kd_json *json)
{
    const double numbers[] = {0.1, -2, NAN};
    const int    counts[] = {3, -4};
    kd_json_open(json, NULL);
    kd_json_text(json, "text", "a \"b\" \\ </script> '&'\n\x01 \xc3\xa9");
    kd_json_text(json, "none", NULL);
    kd_json_number(json, "number", 1.0 / 3);
    kd_json_count(json, "count", -7);
    kd_json_bool(json, "yes", true);
    kd_json_numbers(json, "numbers", numbers, 3);
    kd_json_numbers(json, "empty", numbers, 0);
    kd_json_counts(json, "counts", counts, 2);
    kd_json_bytes(json, "bytes", (const unsigned char *)"kardan!", 7);
    kd_json_list(json, "list");
    for (int i = 0; i < 2; i++) {
        kd_json_open(json, NULL);
        kd_json_count(json, "i", i);
        kd_json_list(json, "inner");
        kd_json_count(json, NULL, 1);
        kd_json_text(json, NULL, "two");
        kd_json_list_close(json);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_raw(json, "raw", "{}");
    kd_json_close(json);
}

#define QUOTED "a \\\"b\\\" \\\\ </script> '&'\\u000a\\u0001 \xc3\xa9"
#define CODED "a \\\"b\\\" \\\\ \\u003c/script\\u003e \\u0027\\u0026\\u0027\\u000a\\u0001 \xc3\xa9"

static const struct {
    kd_json     json; // without where it goes
    const char *text;
} CASES[] = {
    {{.layout = KD_JSON_LINE},
     "{\"text\": \"" QUOTED "\", \"none\": null, \"number\": 0.3333333333333333, \"count\": -7, \"yes\": true, "
     "\"numbers\": [0.1, -2, null], \"empty\": [], \"counts\": [3, -4], \"bytes\": \"a2FyZGFuIQ==\", \"list\": "
     "[{\"i\": 0, \"inner\": [1, \"two\"]}, {\"i\": 1, \"inner\": [1, \"two\"]}], \"raw\": {}}"},
    {{.layout = KD_JSON_ROWS, .digits = "%.3g", .none = "0"},
     "{\n\"text\": \"" QUOTED "\",\n\"none\": null,\n\"number\": 0.333,\n\"count\": -7,\n\"yes\": true,\n"
     "\"numbers\": [0.1, -2, 0],\n\"empty\": [],\n\"counts\": [3, -4],\n\"bytes\": \"a2FyZGFuIQ==\",\n\"list\": "
     "[\n{\"i\": 0, \"inner\": [1, \"two\"]},\n{\"i\": 1, \"inner\": [1, \"two\"]}],\n\"raw\": {}\n}"},
    {{.layout = KD_JSON_DENSE, .digits = "%.3g", .in_page = true},
     "{\n\"text\":\"" CODED "\",\n\"none\":null,\n\"number\":0.333,\n\"count\":-7,\n\"yes\":true,\n"
     "\"numbers\":[0.1,-2,null],\n\"empty\":[],\n\"counts\":[3,-4],\n\"bytes\":\"a2FyZGFuIQ==\",\n\"list\":"
     "[\n{\"i\":0,\"inner\":[1,\"two\"]},\n{\"i\":1,\"inner\":[1,\"two\"]}],\n\"raw\":{}\n}"},
    {{.layout = KD_JSON_LINES},
     "{\n\"text\": \"" QUOTED "\",\n\"none\": null,\n\"number\": 0.3333333333333333,\n\"count\": -7,\n\"yes\": true,\n"
     "\"numbers\": [0.1, -2, null],\n\"empty\": [],\n\"counts\": [3, -4],\n\"bytes\": \"a2FyZGFuIQ==\",\n\"list\": "
     "[\n{\n\"i\": 0,\n\"inner\": [1, \"two\"]\n},\n{\n\"i\": 1,\n\"inner\": [1, \"two\"]\n}],\n\"raw\": {}\n}"},
};

static void layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        // to a file
        char   *text = NULL;
        size_t  length;
        FILE   *file = open_memstream(&text, &length);
        kd_json json = CASES[i].json;
        json.file = file;
        put_all(&json);
        assert_int_equal(fclose(file), 0);
        assert_string_equal(text, CASES[i].text);
        assert_int_equal(json.depth, 0);
        // to a buffer of any size: as much as fits, and the length of all
        char *buffer = malloc(length + 1);
        for (size_t size = 0; size <= length + 1; size++) {
            kd_writer w = kd_writer_of(size > 0 ? buffer : NULL, size);
            json = CASES[i].json;
            json.text = &w;
            put_all(&json);
            assert_int_equal(w.length, length);
            if (size == 0) continue;
            assert_int_equal(strlen(buffer), size - 1);
            assert_memory_equal(buffer, text, size - 1);
        }
        free(buffer);
        free(text);
    }
}

static void same_number_in_every_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE.utf8")) skip();
    char      text[100];
    kd_writer w = kd_writer_of(text, sizeof text);
    kd_json   json = {.text = &w, .layout = KD_JSON_LINE};
    kd_json_list(&json, NULL);
    kd_json_number(&json, NULL, 0.5);
    json.digits = "%.17g";
    kd_json_number(&json, NULL, 0.5);
    kd_json_list_close(&json);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "[0.5, 0.5]");
}

// RFC 4648, section 10
static void base64(void **state)
{
    (void)state;
    static const char *const PAIR[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    char                     digit[20];
    for (size_t i = 0; i < sizeof PAIR / sizeof *PAIR; i++) {
        const size_t n = kd_base64((const unsigned char *)PAIR[i][0], strlen(PAIR[i][0]), digit);
        assert_int_equal(n, strlen(PAIR[i][1]));
        assert_memory_equal(digit, PAIR[i][1], n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),
        cmocka_unit_test(same_number_in_every_locale),
        cmocka_unit_test(base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
