// core/rounded.h: a number with a given number of digits, as printf writes it, about five times faster.
#ifndef KD_CORE_ROUNDED_H
#define KD_CORE_ROUNDED_H

#include <stdbool.h>
#include <stddef.h>

enum { KD_ROUNDED_SIZE = 40, KD_ROUNDED_DIGITS = 15 };

// value as by %.*g (style 'g', 1 to 15 digits) or %.*f (style 'f', 0 to 15 decimals) of the C locale, bit for bit. false: this
// is left to printf (numbers that are very large or small, or not finite), and out is untouched.
bool kd_rounded(double value, int digits, char style, char *out);

// A number as printf writes it by the format ("%.9g"), with a decimal point in every locale. Returns buffer.
const char *kd_rounded_text(double value, const char *format, char *buffer, size_t size);

#endif
