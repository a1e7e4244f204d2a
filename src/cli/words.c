// words.c: words of a list, and what is said about one that is unknown.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/nearest.h"

enum { LISTED = 40 }; // words of a list that is too long for one line

void kd_cli_unknown(const char *what, const char *word, const char *const *list, int count)
{
    // "place|what": the place stands before the sentence
    const char *nearest = kd_nearest_word(word, list, count), *bar = strrchr(what, '|');
    const char *name = bar ? bar + 1 : what;
    const int   place = bar ? (int)(bar - what) : 0; // characters
    if (nearest) {
        fprintf(stderr, "kardan: %.*sunknown %s '%s', did you mean '%s'?\n", place, what, name, word, nearest);
        return;
    }
    // nothing is near: show what there is
    fprintf(stderr, "kardan: %.*sunknown %s '%s'; known are", place, what, name, word);
    for (int i = 0; i < count && i < LISTED; i++) fprintf(stderr, "%s %s", i > 0 ? "," : "", list[i]);
    fputs(count > LISTED ? ", ...\n" : "\n", stderr);
}

// the index, or -1 after the message
int kd_cli_choose(const char *what, const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return i;
    kd_cli_unknown(what, word, list, count);
    return -1;
}

char *kd_cli_next_word(char **rest)
{
    // blanks and commas before the word; commas in parentheses belong to it
    char *word = *rest + strspn(*rest, ", "), *end = word;
    for (int depth = 0; *end && (*end != ',' || depth > 0); end++) depth += (*end == '(') - (*end == ')');
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word[0] ? word : NULL;
}

void kd_cli_print_lines(const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length + (text[length] != '\0');
    }
}
