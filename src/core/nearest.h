// core/nearest.h: the word that was probably meant.
#ifndef KD_CORE_NEAREST_H
#define KD_CORE_NEAREST_H

// Typing mistakes that make b of a: insertions, deletions, substitutions and swaps of neighbours (restricted
// Damerau-Levenshtein distance). Words of more than 64 characters are far from everything.
int kd_word_distance(const char *a, const char *b);

// A search through candidates in any order: start with {word}, offer each, then best is the nearest one that is near
// enough to be meant, or NULL.
typedef struct kd_nearest {
    const char *word;
    const char *best;
    int         mistakes; // of best
} kd_nearest;

kd_nearest  kd_nearest_start(const char *word);
void        kd_nearest_offer(kd_nearest *nearest, const char *candidate); // NULL is passed over
const char *kd_nearest_word(const char *word, const char *const *list, int count);

#endif
