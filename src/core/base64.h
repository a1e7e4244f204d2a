// core/base64.h: bytes as letters, digits, + and /, six bits each.
#ifndef KD_CORE_BASE64_H
#define KD_CORE_BASE64_H

#include <stddef.h>
#include <stdio.h>

// Three bytes become four digits; the end is filled up with '='. digit: 4 ((n + 2) / 3) of them, no zero byte. Answers how many.
size_t kd_base64(const unsigned char *bytes, size_t n, char *digit);
void   kd_base64_write(FILE *file, const unsigned char *bytes, size_t n);

#endif
