// core/nearest.c: the word that was probably meant, by the number of typing mistakes.
#include "core/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 64 }; // characters; rows of the distance table are on the stack

static int min3(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

// d(i, j): mistakes between the first i letters of a and the first j of b, row by row; d(0, j) = j, d(i, 0) = i,
//   d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + (a_i != b_j), d(i-2, j-2) + 1 if swapped)
int kd_word_distance(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > LONGEST || length_b > LONGEST) return LONGEST;
    int  n = (int)length_a, m = (int)length_b;
    int  rows[3][LONGEST + 1]; // the last two rows and the new one
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= m; j++) last[j] = j;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
        }
        // the oldest row gets the room of the next one
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

static bool is_same_but_for_case(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

kd_nearest kd_nearest_start(const char *word)
{
    return (kd_nearest){.word = word};
}

void kd_nearest_offer(kd_nearest *nearest, const char *candidate)
{
    if (!candidate) return;
    size_t length = strlen(nearest->word), other = strlen(candidate);
    // nothing is nearer than the same letters
    if (length > 0 && is_same_but_for_case(nearest->word, candidate)) {
        nearest->mistakes = 0;
        nearest->best = candidate;
        return;
    }
    // each letter that one word has more is a mistake: sorts out most candidates without a table
    size_t difference = length > other ? length - other : other - length;
    bool   begins = length >= 3 && other > length && strncmp(nearest->word, candidate, length) == 0;
    // one mistake is allowed, and one more for every four letters
    int fewer = nearest->best ? nearest->mistakes : length <= LONGEST ? 2 + (int)length / 4 : 0;
    if (!begins && difference >= (size_t)fewer) return; // cannot be nearer
    int mistakes = kd_word_distance(nearest->word, candidate);
    if (begins && mistakes > 1) mistakes = 1;                // the beginning of a word is near, too
    if (mistakes >= fewer || mistakes >= (int)other) return; // a word of which no letter stays is not meant
    nearest->mistakes = mistakes;
    nearest->best = candidate;
}

const char *kd_nearest_word(const char *word, const char *const *list, int count)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; i < count; i++) kd_nearest_offer(&nearest, list[i]);
    return nearest.best;
}
