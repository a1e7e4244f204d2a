// The data that a page gives to the viewer, where it is built in: names escaped, numbers of the poses read back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/block.h"

// Bytes come in planes, deflated and in base64: "AAAA...", of which the head of zlib's format is known.
static void block_is_marked(void **state)
{
    (void)state;
    if (!kd_block_is_available()) skip();
    char                text[500] = "";
    const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    FILE               *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(kd_block_write(file, "pose", bytes, 4, 2), KD_OK);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    // 0x78 0x9c and a deflated block
    const char *head = "<script type=\"text/plain\" data-kardan=\"pose\">eJ";
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_non_null(strstr(text, "</script>\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(block_is_marked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
