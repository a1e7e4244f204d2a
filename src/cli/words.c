// words.c: the word that was probably meant, by the number of typing mistakes.
#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 64 };

static int min3(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

// Insertions, deletions, substitutions and swaps of neighbours that make b of a (restricted Damerau-Levenshtein
// distance)
static int distance(const char *a, const char *b)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
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

const char *kd_cli_nearest(const char *word, const char *const *list, int count)
{
    const char *best = NULL;
    int         allowed = 1 + (int)strlen(word) / 4, fewest = allowed + 1;
    for (int i = 0; i < count; i++) {
        int mistakes = distance(word, list[i]);
        // the beginning of exactly one word is near, too
        if (strlen(word) >= 3 && strncmp(word, list[i], strlen(word)) == 0 && mistakes > 1) mistakes = 1;
        if (mistakes < fewest) {
            fewest = mistakes;
            best = list[i];
        }
    }
    return best;
}

void kd_cli_unknown(const char *what, const char *word, const char *const *list, int count)
{
    const char *nearest = kd_cli_nearest(word, list, count);
    if (nearest) {
        fprintf(stderr, "kardan: unknown %s '%s', did you mean '%s'?\n", what, word, nearest);
        return;
    }
    fprintf(stderr, "kardan: unknown %s '%s'; known are", what, word);
    for (int i = 0; i < count; i++) fprintf(stderr, "%s %s", i > 0 ? "," : "", list[i]);
    fputs("\n", stderr);
}

int kd_cli_choose(const char *what, const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return i;
    kd_cli_unknown(what, word, list, count);
    return -1;
}
