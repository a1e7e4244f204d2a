// subject.c: from the word on the command line to equations of motion.
#include "cli/subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The gallery has no example of this name: guess which was meant
static void tell_unknown(const char *word)
{
    const kd_example *const *gallery = kd_gallery();
    int                      count = 0;
    while (gallery[count]) count++;
    const char **names = malloc((size_t)(count + 1) * sizeof *names);
    if (names) {
        for (int i = 0; i < count; i++) names[i] = gallery[i]->name;
        kd_cli_unknown("example", word, names, count);
    }
    free(names);
    fputs("Type 'kardan examples' for all of them.\n", stderr);
}

static kd_status open_example(kd_subject *s)
{
    const kd_example *example = s->example;
    kd_status         status = example->create(&s->own, &s->x, &s->inputs);
    s->eom = s->own;
    s->title = example->title;
    s->about = example->about;
    s->run = (kd_run_def){
        .t_end = example->t_end, .intervals = 500, .limit_position = NAN, .limit_velocity = NAN, .limit_energy = NAN};
    snprintf(s->name, sizeof s->name, "%s", example->name);
    return status;
}

bool kd_subject_open(kd_subject *s, const char *word, int *exit_status)
{
    *s = (kd_subject){.example = kd_gallery_find(word)};
    *exit_status = KD_EXIT_USAGE;
    if (!s->example) {
        tell_unknown(word);
        return false;
    }
    kd_status status = open_example(s);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s could not be created: %s\n", word, kd_status_sentence(status));
    *exit_status = KD_EXIT_FAILED;
    return false;
}

void kd_subject_close(kd_subject *s)
{
    kd_state_destroy(s->x);
    kd_eom_destroy(s->own);
    *s = (kd_subject){0};
}
