// tests/fuzz/replay.c: a fuzz target as an ordinary test: all files of its corpus, each also cut off at every length
// and with every byte changed once. Needs no fuzzer, so that every compiler runs it.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>

#include "fuzz/fuzz.h"

enum { LONGEST = 1 << 16, VARIED = 400 }; // bytes; longer files are not varied

static size_t read_file(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(data, 1, LONGEST, file);
    fclose(file);
    return size;
}

static void vary(const uint8_t *data, size_t size)
{
    static const uint8_t others[] = {'(', '\n', '9', 0xff};
    uint8_t             *copy = malloc(size + 1);
    assert_non_null(copy);
    for (size_t i = 0; i < size; i++) {
        memcpy(copy, data, size);
        copy[i] = others[i % sizeof others];
        LLVMFuzzerTestOneInput(copy, size);
        LLVMFuzzerTestOneInput(data, i);
    }
    free(copy);
}

// No file of the corpus and nothing near it breaks a demand of the target.
static void test_corpus(void **state)
{
    (void)state;
    static uint8_t data[LONGEST];
    DIR           *folder = opendir(KD_CORPUS);
    int            files = 0;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char path[1000];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", KD_CORPUS, entry->d_name);
        const size_t size = read_file(path, data);
        LLVMFuzzerTestOneInput(data, size);
        if (size <= VARIED) vary(data, size);
        files++;
    }
    closedir(folder);
    assert_true(files > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
