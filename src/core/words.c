// core/words.c: the word that was probably meant, by the number of typing mistakes.
#include "core/words.h"

#include <string.h>

enum { LONGEST = 64 };

static int min3(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

// Insertions, deletions, substitutions and swaps of neighbours that make b of a (restricted Damerau-Levenshtein
// distance)
static int distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > LONGEST || lb > LONGEST) return LONGEST;
    int  n = (int)la, m = (int)lb;
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
        int *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[m];
}

// One mistake is allowed, and one more for every four letters.
void kd_nearest_offer(kd_nearest *search, const char *known)
{
    const size_t length = strlen(search->word);
    if (length > LONGEST) return;
    int mistakes = distance(search->word, known);
    // the beginning of a word is near, too
    if (length >= 3 && mistakes > 1 && strncmp(search->word, known, length) == 0) mistakes = 1;
    if (mistakes > 1 + (int)length / 4 || (search->best && mistakes >= search->mistakes)) return;
    search->best = known;
    search->mistakes = mistakes;
}

const char *kd_nearest_word(const char *word, const char *const *list, int count)
{
    kd_nearest search = {.word = word};
    for (int i = 0; i < count; i++) kd_nearest_offer(&search, list[i]);
    return search.best;
}
