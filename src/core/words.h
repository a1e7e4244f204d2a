// core/words.h: the word that was probably meant, by the number of typing mistakes.
#ifndef KD_CORE_WORDS_H
#define KD_CORE_WORDS_H

#include <kardan/base.h>

// A search for the known word nearest to one that is unknown: set word, offer all known words, read best.
typedef struct kd_nearest {
    const char *word;     // what was typed
    const char *best;     // nearest word offered so far; NULL: none is near
    int         mistakes; // between the two
} kd_nearest;

void kd_nearest_offer(kd_nearest *search, const char *known);

// The nearest of a list, or NULL.
const char *kd_nearest_word(const char *word, const char *const *list, int count);

#endif
