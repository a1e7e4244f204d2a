// tests/fuzz/fuzz.h: what fuzz targets share.
#ifndef KD_FUZZ_H
#define KD_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What libFuzzer, and tests/fuzz/replay.c, call.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A failed demand ends the program, as a crash does.
#define demand(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) abort();                                                                                     \
    } while (0)

// The bytes as text that ends with zero; to be freed.
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    demand(text);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
