// core/rounded.h: a number with a given number of digits, as printf writes it, about five times faster.
#ifndef KD_CORE_ROUNDED_H
#define KD_CORE_ROUNDED_H

#include <stdbool.h>

enum { KD_ROUNDED_SIZE = 40, KD_ROUNDED_DIGITS = 15 };

// value as by %.*g (style 'g', 1 to 15 digits) or %.*f (style 'f', 0 to 15 decimals) of the C locale, bit for bit. false: this
// is left to printf (numbers that are very large or small, or not finite), and out is untouched.
bool kd_rounded(double value, int digits, char style, char *out);

#endif
