// shortest.c: the shortest decimal number that rounds to a given double.
//
// Method: R. Giulietti, The Schubfach way to render doubles (2020). A double c 2^q stands for all numbers between
// (c - 1/2) 2^q and (c + 1/2) 2^q (c - 1/4 below a power of two), the ends included if c is even. k is the largest
// exponent for which 10^k is not above the width of that interval: then one of two neighbours s 10^k lies in it, and at
// most one multiple of 10^(k+1) does, which is shorter. All is compared in units of 10^k / 4, rounded to odd: a bit
// below the point that says "not exact" is enough for every comparison, and 126 bits of 10^-k are enough for it.
#include "core/shortest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <threads.h>

__extension__ typedef unsigned __int128 wide;

typedef struct decimal {
    uint64_t digits;
    int      exponent; // digits * 10^exponent
} decimal;

// ---- powers of ten --------------------------------------------------------------------------------------------------

// g(k) = floor(10^k 2^-r) + 1, r such that g has 126 bits
// 10^-k for k of the least and of the largest double; 38 limbs of 32 bits hold 10^324 (1077 bits) and 2^1215
enum { FIRST = -292, LAST = 324, LIMBS = 38 };
static struct {
    uint64_t high, low; // 63 bits each
} power[LAST - FIRST + 1];

static int top_bit(const uint32_t *x)
{
    int i = LIMBS - 1;
    while (x[i] == 0) i--;
    return 32 * i + 31 - __builtin_clz(x[i]);
}

// 63 bits of x from bit `first` on, which may be negative: bits below the lowest of x are zero, small powers are exact
static uint64_t bits_of(const uint32_t *x, int first)
{
    const int limb = (first + 32 * LIMBS) / 32 - LIMBS, shift = first - 32 * limb; // rounded down
    wide      window = 0;
    for (int i = limb + 2; i >= limb; i--) window = window << 32 | (i >= 0 && i < LIMBS ? x[i] : 0);
    return (uint64_t)(window >> shift) & (UINT64_MAX >> 1);
}

// 126 bits of x from its highest one on, plus 1
static void keep_power(int k, const uint32_t *x)
{
    const int      lowest = top_bit(x) - 125;
    const uint64_t low = bits_of(x, lowest) + 1;
    power[k - FIRST].high = bits_of(x, lowest + 63) + (low >> 63);
    power[k - FIRST].low = low & (UINT64_MAX >> 1);
}

// Exact integers: 10^k grows by factors of ten, 2^1215 / 10^k, rounded down, shrinks by them
static void make_powers(void)
{
    uint32_t x[LIMBS] = {1};
    for (int k = 0; k <= LAST; k++) {
        // x = 10^k; then x = 10 x, limb by limb from below
        keep_power(k, x);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)x[i] * 10;
            x[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    memset(x, 0, sizeof x);
    // x = 2^1215, the highest bit there is; then x = floor(x / 10), limb by limb from above
    x[LIMBS - 1] = 1u << 31;
    for (int k = -1; k >= FIRST; k--) {
        uint64_t rest = 0;
        for (int i = LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | x[i];
            x[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        keep_power(k, x);
    }
}

// floor(log10(2^e)), floor(log10(3/4 2^e)), floor(log2(10^e)) by fixed point, exact in the range of doubles
static int log10_of_2(int e, bool three_quarters)
{
    return (int)((e * INT64_C(661971961083) - (three_quarters ? INT64_C(274743187321) : 0)) >> 41);
}

// floor(log2(10^e)), as above
static int log2_of_10(int e)
{
    return (int)((e * INT64_C(913124641741)) >> 38);
}

// ---- digits ---------------------------------------------------------------------------------------------------------

// g c 2^-127, rounded down, its last bit set where something was lost
static uint64_t round_to_odd(int k, uint64_t c)
{
    const uint64_t high = power[k - FIRST].high, low = power[k - FIRST].low, lost = UINT64_MAX >> 1;
    // 2^63 y_high + z = g c 2^-64 but for its lowest bits: 2^63 of it is the unit, the rest only tells "not exact"
    const uint64_t below = (uint64_t)((wide)low * c >> 64);
    const wide     y = (wide)high * c;
    const uint64_t y_low = (uint64_t)y, y_high = (uint64_t)(y >> 64), z = (y_low >> 1) + below;
    return (y_high + (z >> 63)) | (((z & lost) + lost) >> 63);
}

// s 10^k is nearer than (s + 1) 10^k, or even where both are as near: value, in quarters
static decimal nearer(uint64_t s, int k, uint64_t value)
{
    const uint64_t middle = 4 * s + 2;
    const bool     up = value > middle || (value == middle && s % 2 == 1);
    return (decimal){s + up, k};
}

static decimal shortest_of(uint64_t c, int q)
{
    // the interval in quarters of 2^q, below a power of two half as wide
    const bool narrow = c == UINT64_C(1) << 52 && q > -1074;
    // an odd c: the ends do not belong to the interval, and low, high below step inside by one unit
    const uint64_t odd = c % 2, left = 4 * c - (narrow ? 1 : 2), right = 4 * c + 2;
    // and in quarters of 10^k
    const int      k = log10_of_2(q, narrow), shift = q + log2_of_10(-k) + 2;
    const uint64_t value = round_to_odd(-k, (4 * c) << shift);
    const uint64_t low = round_to_odd(-k, left << shift) + odd, high = round_to_odd(-k, right << shift) - odd;
    const uint64_t s = value / 4;
    // a multiple of 10^(k+1) inside of it?
    if (s >= 10) {
        const uint64_t ten = s / 10;
        const bool     below = low <= 40 * ten, above = 40 * ten + 40 <= high;
        if (below != above) return (decimal){ten + above, k + 1};
    }
    // one neighbour inside: that one, else the nearer
    const bool below = low <= 4 * s, above = 4 * s + 4 <= high;
    return below != above ? (decimal){s + above, k} : nearer(s, k, value);
}

static decimal decimal_of(double value)
{
    static once_flag made = ONCE_FLAG_INIT;
    uint64_t         bits;
    call_once(&made, make_powers);
    memcpy(&bits, &value, sizeof bits);
    // bits of a double: sign, exponent + 1023 (11), fraction (52); biased 0: subnormal, without the leading one
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int      biased = (int)(bits >> 52 & 0x7ff);
    decimal d = biased > 0 ? shortest_of(fraction | UINT64_C(1) << 52, biased - 1075) : shortest_of(fraction, -1074);
    // trailing zeros, as of 1e22, go into the exponent
    while (d.digits % 10 == 0) d.digits /= 10, d.exponent++;
    return d;
}

// ---- text -----------------------------------------------------------------------------------------------------------

// The n digits of x
static int write_digits(uint64_t x, char *out)
{
    char text[20];
    int  n = 0;
    for (; x > 0; x /= 10) text[n++] = (char)('0' + x % 10);
    for (int i = 0; i < n; i++) out[i] = text[n - 1 - i];
    return n;
}

static char *write_zeros(char *out, int n)
{
    memset(out, '0', (size_t)n);
    return out + n;
}

// d.ddde-05
static char *write_scientific(const char *digit, int n, int exponent, char *out)
{
    *out++ = digit[0];
    if (n > 1) {
        *out++ = '.';
        memcpy(out, digit + 1, (size_t)n - 1);
        out += n - 1;
    }
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    const int size = exponent < 0 ? -exponent : exponent;
    if (size < 10) *out++ = '0';
    return out + write_digits((uint64_t)size, out);
}

// 0.00ddd, dd.ddd or dd000; point: digits before it
static char *write_fixed(const char *digit, int n, int point, char *out)
{
    if (point <= 0) {
        *out++ = '0';
        *out++ = '.';
        out = write_zeros(out, -point);
        memcpy(out, digit, (size_t)n);
        return out + n;
    }
    const int before = n < point ? n : point;
    memcpy(out, digit, (size_t)before);
    out += before;
    if (n <= point) return write_zeros(out, point - n);
    *out++ = '.';
    memcpy(out, digit + point, (size_t)(n - point));
    return out + n - point;
}

char *kd_shortest(double value, char *out)
{
    char digit[20];
    if (signbit(value)) *out++ = '-';
    if (!isfinite(value) || value == 0) {
        const char *word = isnan(value) ? "nan" : value == 0 ? "0" : "inf";
        return strcpy(out, word) + strlen(word);
    }
    const decimal d = decimal_of(fabs(value));
    const int     n = write_digits(d.digits, digit), exponent = d.exponent + n - 1;
    // as %.17g: the exponent decides
    if (exponent < -4 || exponent > 16)
        out = write_scientific(digit, n, exponent, out);
    else
        out = write_fixed(digit, n, exponent + 1, out);
    *out = '\0';
    return out;
}
