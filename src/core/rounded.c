// rounded.c: a number with a given number of digits, correctly rounded.
//
// v 10^k, with an exact power of ten, is p + rest: p rounded, the sign of rest exact by one fused multiplication. The fraction of
// p decides unless it is 1/2; then rest does, and where that is zero, too, the even neighbour is taken, as printf does.
#include "core/rounded.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { MOST = sizeof TEN / sizeof *TEN - 1 }; // powers of ten that are exact
static const double LARGEST = 4e15;           // below 2^52: one half is a number beside it

// v 10^k to the nearest whole number; false: out of range
static bool scale(double v, int k, uint64_t *n)
{
    if (k > MOST || k < -MOST) return false;
    const double p = k >= 0 ? v * TEN[k] : v / TEN[-k];
    if (!(p < LARGEST)) return false;
    const double rest = k >= 0 ? fma(v, TEN[k], -p) : fma(-p, TEN[-k], v);
    const double whole = floor(p), part = p - whole;
    *n = (uint64_t)whole;
    *n += part > 0.5 || (part == 0.5 && (rest > 0 || (rest == 0 && *n % 2 == 1)));
    return true;
}

// The last n digits of x, with leading zeros
static void put_digits(uint64_t x, int n, char *out)
{
    for (int i = n - 1; i >= 0; i--, x /= 10) out[i] = (char)('0' + x % 10);
}

static int count_digits(uint64_t x)
{
    int n = 1;
    while (x >= 10) x /= 10, n++;
    return n;
}

static bool fixed(double v, int decimals, char *out)
{
    uint64_t n;
    if (!scale(v, decimals, &n)) return false;
    const uint64_t unit = (uint64_t)TEN[decimals], whole = n / unit;
    const int      before = count_digits(whole);
    put_digits(whole, before, out);
    if (decimals > 0) {
        out[before] = '.';
        put_digits(n % unit, decimals, out + before + 1);
    }
    out[before + (decimals > 0) + decimals] = '\0';
    return true;
}

// v as digits d.ddd 10^exponent; the exponent is that of the rounded number
static bool find_digits(double v, int digits, uint64_t *n, int *exponent)
{
    int binary;
    (void)frexp(v, &binary);
    *exponent = (int)floor((binary - 1) * 0.30102999566398120);
    for (int tries = 0; tries < 3; tries++) {
        if (!scale(v, digits - 1 - *exponent, n)) return false;
        if (*n >= (uint64_t)TEN[digits])
            ++*exponent;
        else if (*n < (uint64_t)TEN[digits - 1])
            --*exponent;
        else
            return true;
    }
    return false;
}

static bool general(double v, int digits, char *out)
{
    uint64_t n;
    int      exponent, last = digits;
    char     d[KD_ROUNDED_DIGITS + 1];
    if (!find_digits(v, digits, &n, &exponent)) return false;
    put_digits(n, digits, d);
    while (last > 1 && d[last - 1] == '0') last--; // trailing zeros are not written
    const bool scientific = exponent < -4 || exponent >= digits;
    const int  before = scientific ? 1 : exponent + 1; // digits before the point
    // 0.000ddd, ddd.ddd or ddd000
    if (before <= 0) {
        memcpy(out, "0.0000", (size_t)(2 - before));
        out += 2 - before;
    }
    for (int i = 0; i < last || i < before; i++) {
        if (i == before && before > 0) *out++ = '.';
        *out++ = i < last ? d[i] : '0';
    }
    if (scientific) {
        const int size = exponent < 0 ? -exponent : exponent;
        *out++ = 'e';
        *out++ = exponent < 0 ? '-' : '+';
        put_digits((uint64_t)size, 2, out); // two digits: larger exponents are out of range
        out += 2;
    }
    *out = '\0';
    return true;
}

bool kd_rounded(double value, int digits, char style, char *out)
{
    const bool   general_style = style == 'g';
    const double v = fabs(value);
    if (!isfinite(value) || digits > KD_ROUNDED_DIGITS || digits < general_style || (!general_style && style != 'f'))
        return false;
    char *start = out + (signbit(value) ? 1 : 0);
    if (v == 0 && general_style)
        strcpy(start, "0");
    else if (!(general_style ? general(v, digits, start) : fixed(v, digits, start)))
        return false;
    if (start > out) *out = '-';
    return true;
}

// "%.9g" and "%.2f" without printf, which takes longer than all else where tables and pictures are written
static bool is_quick(double value, const char *format, char *buffer, size_t size)
{
    char *end;
    if (size < KD_ROUNDED_SIZE || format[0] != '%' || format[1] != '.' || format[2] < '0' || format[2] > '9')
        return false;
    const long digits = strtol(format + 2, &end, 10);
    return digits <= KD_ROUNDED_DIGITS && end[0] && !end[1] && kd_rounded(value, (int)digits, end[0], buffer);
}

const char *kd_rounded_text(double value, const char *format, char *buffer, size_t size)
{
    if (is_quick(value, format, buffer, size)) return buffer;
    // the decimal comma of some locales
    snprintf(buffer, size, format, value);
    char *comma = strchr(buffer, ',');
    if (comma) *comma = '.';
    return buffer;
}
