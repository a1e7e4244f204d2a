// expr/quantity.h: numbers with a unit, "5 mm", "-3.2e3 N/mm", "90 deg", and what they are in units of the SI.
//
// Units: m, g, t, s, min, h, rad, deg, rev, rpm, Hz, N, Nm, Ns, Pa, bar, J, W, l with the prefixes n u m c d k M G, and
// what is made of them: "kg m^2", "N/mm", "km/h", "m^3/(s Pa)". A blank, '*' or a middle dot multiplies; behind '/'
// more than one factor needs parentheses. Angles are a dimension of their own.
#ifndef KD_EXPR_QUANTITY_H
#define KD_EXPR_QUANTITY_H

#include <kardan/base.h>

typedef struct kd_unit {
    int    decimal; // a number in this unit is number * 10^decimal * factor in the SI
    double factor;
    int    dimension[4]; // exponents of m, kg, s, rad
} kd_unit;

// Words that already mean something else where the quantity stands; they are no units where any unit is possible.
typedef struct kd_taken_words {
    bool (*is_taken)(const char *word, void *context);
    void *context;
} kd_taken_words;

enum { KD_UNIT_WORD = 12 }; // characters of a word of a unit, with the end

// Is this the word of a unit, perhaps with a prefix?
bool kd_unit_is_word(const char *word, size_t length);
// Read a unit, up to the end of text. false: why is a sentence, *column the place from 1 on.
bool kd_unit_parse(const char *text, const kd_taken_words *taken, kd_unit *unit, int *column, char *why, size_t size);

typedef enum kd_quantity_kind {
    KD_QUANTITY_NONE,  // the text is something else: a plain number, an expression
    KD_QUANTITY_GOOD,  // a number with a unit that fits
    KD_QUANTITY_WRONG, // a number with a unit that is wrong here
} kd_quantity_kind;

typedef struct kd_quantity {
    kd_quantity_kind kind;
    double           value;     // in the SI
    int              column;    // of what is wrong, from 1 on
    char             text[300]; // why
} kd_quantity;

// wanted: "N/m"; "m|rad", one of these; "", no unit; NULL, any unit. A unit without angle fits one with, "N m" for
// "N m/rad", but not one of angles and time alone: "1/s" or "Hz" is not "rad/s".
kd_quantity kd_quantity_read(const char *text, const char *wanted, const kd_taken_words *taken);

#endif
