// core/shortest.h: a number with as few digits as bring back the same bits.
#ifndef KD_CORE_SHORTEST_H
#define KD_CORE_SHORTEST_H

enum { KD_SHORTEST_SIZE = 26 }; // of -1.7976931348623157e+308 and its zero byte, with room

// Writes value as printf's %.17g does, with a decimal point in every locale, but with the fewest digits that read back
// as the same number, and among these the nearest. Returns the end, where the zero byte is.
char *kd_shortest(double value, char *out);

// The same; returns out
static inline const char *kd_shortest_text(double value, char *out)
{
    (void)kd_shortest(value, out);
    return out;
}

#endif
