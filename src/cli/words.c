// words.c: what is said about a word that is unknown.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/nearest.h"

void kd_cli_unknown(const char *what, const char *word, const char *const *list, int count)
{
    const char *nearest = kd_nearest_of(word, list, count);
    if (nearest) {
        fprintf(stderr, "kardan: unknown %s '%s', did you mean '%s'?\n", what, word, nearest);
        return;
    }
    fprintf(stderr, "kardan: unknown %s '%s'; known are", what, word);
    for (int i = 0; i < count; i++) fprintf(stderr, "%s %s", i > 0 ? "," : "", list[i]);
    fputs("\n", stderr);
}

const kd_example *kd_cli_find_example(const char *name)
{
    const kd_example *example = kd_gallery_find(name);
    if (example) return example;

    const kd_example *const *gallery = kd_gallery();
    int                      count = 0;
    while (gallery[count]) count++;
    const char **names = malloc((size_t)(count + 1) * sizeof *names);
    if (names) {
        for (int i = 0; i < count; i++) names[i] = gallery[i]->name;
        kd_cli_unknown("example", name, names, count);
    }
    free(names);
    fputs("Type 'kardan examples' for all of them.\n", stderr);
    return NULL;
}
