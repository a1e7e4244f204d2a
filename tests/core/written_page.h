// written_page.h: a page of the documentation that is made of a table: the committed one must be what the table gives.
// KARDAN_WRITE_REFERENCE=1 writes it.
#ifndef KD_TESTS_WRITTEN_PAGE_H
#define KD_TESTS_WRITTEN_PAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// page: what the table gives; program: the test that writes it
static void assert_page(const char *path, const char *page, const char *program)
{
    const size_t length = strlen(page);
    FILE        *file;
    if (getenv("KARDAN_WRITE_REFERENCE")) {
        file = fopen(path, "wb");
        assert_non_null(file);
        fputs(page, file);
        assert_int_equal(fclose(file), 0);
    }
    char *committed = calloc(length + 2, 1);
    assert_non_null(committed);
    file = fopen(path, "rb");
    assert_non_null(file);
    const size_t read = fread(committed, 1, length + 1, file);
    fclose(file);
    const bool same = read == length && strcmp(page, committed) == 0;
    free(committed);
    if (!same) fail_msg("%s is old: KARDAN_WRITE_REFERENCE=1 build/tests/%s", path, program);
}

#endif
