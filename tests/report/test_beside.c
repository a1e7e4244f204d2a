// The data of another report: found, copied as they are, and refused where they could be more than data.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// after those
#include <cmocka.h>

#include "report/beside.h"

#define PATH KD_BINARY_DIR "/tests/beside.html"

#define JSON "<script type=\"application/json\" data-kardan=\"scene\">{\"a\":\"\\u003c\"}</script>\n"
#define BLOCK(name) "<script type=\"text/plain\" data-kardan=\"" name "\">QUJD</script>\n"
#define GOOD "<html>\n" JSON BLOCK("rows") BLOCK("channels") BLOCK("times") BLOCK("pose") "</html>\n"

static kd_beside *read_text(const char *text, char *message, size_t size)
{
    kd_beside *b;
    FILE      *file = fopen(PATH, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const kd_status status = kd_beside_read(PATH, &b, message, size);
    assert_true((status >= 0) == (b != NULL));
    return b;
}

// the blocks come out with other names and the same content
static void test_copy(void **state)
{
    char       message[400] = "", *text = NULL;
    size_t     length;
    kd_beside *b = read_text(GOOD, message, sizeof message);
    FILE      *file = tmpfile();
    (void)state;
    assert_non_null(b);
    assert_non_null(file);
    kd_beside_write(b, file);
    length = (size_t)ftell(file);
    rewind(file);
    text = calloc(length + 1, 1);
    assert_int_equal(fread(text, 1, length, file), length);
    assert_non_null(strstr(text, "data-kardan=\"beside-scene\">{\"a\":\"\\u003c\"}</script>"));
    assert_non_null(strstr(text, "data-kardan=\"beside-pose\">QUJD</script>"));
    assert_null(strstr(text, "data-kardan=\"pose\""));
    free(text);
    fclose(file);
    kd_beside_destroy(b);
}

// a page without one of the blocks, or with a block that holds markup, is refused with words
static void test_refused(void **state)
{
    static const char *const WRONG[] = {
        "",
        "<html></html>",
        JSON BLOCK("rows") BLOCK("channels") BLOCK("times"),
        JSON BLOCK("rows") BLOCK("channels")
            BLOCK("times") "<script type=\"text/plain\" data-kardan=\"pose\">QU<b></script>",
        JSON BLOCK("rows") BLOCK("channels") BLOCK("times") "<script type=\"text/plain\" data-kardan=\"pose\">QU",
        JSON BLOCK("rows") BLOCK("channels")
            BLOCK("times") "<script type=\"text/javascript\" data-kardan=\"pose\">QU</script>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        char message[400] = "";
        assert_null(read_text(WRONG[i], message, sizeof message));
        assert_non_null(strstr(message, "is no report"));
    }
    kd_beside *b;
    char       message[400] = "";
    assert_int_equal(kd_beside_read(KD_BINARY_DIR "/tests/no-such.html", &b, message, sizeof message), KD_ERR_FILE);
    assert_null(b);
    assert_true(strlen(message) > 0);
    kd_beside_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
