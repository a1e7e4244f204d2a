// base64.c: see base64.h.
#include "core/base64.h"

enum { PART = 3 * 256 }; // bytes at once

size_t kd_base64(const unsigned char *bytes, size_t n, char *digit)
{
    static const char DIGIT[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char       *start = digit;
    // 24 bits, six to a digit
    for (size_t i = 0; i < n; i += 3) {
        const unsigned bits = (unsigned)bytes[i] << 16 | (i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0u) |
                              (i + 2 < n ? (unsigned)bytes[i + 2] : 0u);
        *digit++ = DIGIT[bits >> 18 & 63u];
        *digit++ = DIGIT[bits >> 12 & 63u];
        *digit++ = i + 1 < n ? DIGIT[bits >> 6 & 63u] : '=';
        *digit++ = i + 2 < n ? DIGIT[bits & 63u] : '=';
    }
    return (size_t)(digit - start);
}

void kd_base64_write(FILE *file, const unsigned char *bytes, size_t n)
{
    char digit[4 * (PART / 3)];
    for (size_t i = 0; i < n; i += PART) {
        const size_t count = kd_base64(bytes + i, n - i < PART ? n - i : PART, digit);
        (void)fwrite(digit, 1, count, file);
    }
}
