// replay.c: states for the case that a run fails, and the command that replays its last second.
#include "cli/replay.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "results/state_file.h"

enum { KEPT = 4 }; // with a distance of half a second the oldest one lies more than one second back

static const double DISTANCE = 0.5, BACK = 1; // [s]

// states on the way, for a run that fails
struct kd_replay {
    const kd_eom *eom;
    kd_state     *state[KEPT]; // oldest first
    int           count;
};

kd_status kd_replay_create(const kd_eom *eom, kd_replay **result)
{
    *result = NULL;
    kd_replay *r = kd_alloc(sizeof *r);
    if (!r) return KD_ERR_MEMORY;
    // all states now: nothing is allocated while it runs
    kd_status status = KD_OK;
    r->eom = eom;
    for (int i = 0; i < KEPT && status >= 0; i++) status = kd_state_create(eom, &r->state[i]);
    if (status < 0) {
        kd_replay_destroy(r);
        return status;
    }
    *result = r;
    return KD_OK;
}

void kd_replay_destroy(kd_replay *r)
{
    for (int i = 0; r && i < KEPT; i++) kd_state_destroy(r->state[i]);
    kd_free(r);
}

// positions ... discrete states are one block
static bool is_finite(const kd_state *x)
{
    bool finite = isfinite(x->t);
    for (size_t i = 0; finite && i < x->size; i++) finite = isfinite(x->p[i]);
    return finite;
}

void kd_replay_see(kd_replay *r, const kd_state *x)
{
    // about one in half a second of the motion
    if (r->count > 0 && x->t < r->state[r->count - 1]->t + DISTANCE) return;
    if (!is_finite(x)) return;
    if (r->count == KEPT) { // the oldest one makes room
        kd_state *oldest = r->state[0];
        memmove(r->state, r->state + 1, (KEPT - 1) * sizeof *r->state);
        r->state[--r->count] = oldest;
    }
    kd_state_copy(x, r->state[r->count++]);
}

const kd_state *kd_replay_oldest(const kd_replay *r)
{
    return r->count > 0 ? r->state[0] : NULL;
}

const kd_state *kd_replay_good(const kd_replay *r, const kd_state *last)
{
    // one that blew up cannot be started from
    return is_finite(last) || r->count == 0 ? last : r->state[r->count - 1];
}

kd_status kd_replay_save(const kd_replay *r, const kd_state *last, const char *title, const char *path, double *from,
                         char *message, size_t size)
{
    const kd_state *list[KEPT + 1];
    int             n = 0;
    last = kd_replay_good(r, last);
    // all that is kept before the last one; the run begins BACK seconds before it
    for (int i = 0; i < r->count && r->state[i]->t < last->t; i++) list[n++] = r->state[i];
    *from = n > 0 ? list[0]->t : last->t;
    for (int i = 0; i < n; i++)
        if (list[i]->t <= last->t - BACK) *from = list[i]->t;
    list[n++] = last;
    return kd_state_file_save(path, title, r->eom, list, n, message, size);
}

// ---- the command ----------------------------------------------------------------------------------------------------

// characters that no shell looks at
static bool is_plain(const char *word)
{
    return word[0] &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%")] == 0;
}

// Quoted for a shell where it must be
static void append_word(char *text, size_t size, const char *word)
{
    kd_text_append(text, size, " ");
    if (is_plain(word)) {
        kd_text_append(text, size, "%s", word);
        return;
    }
    kd_text_append(text, size, "'");
    // a quote inside of quotes: end, escaped quote, begin again
    for (; *word; word++) kd_text_append(text, size, *word == '\'' ? "'\\''" : "%c", *word);
    kd_text_append(text, size, "'");
}

// An option that the replay sets itself; *alone: its value is the next word
static bool is_replaced(const char *word, const char *end_option, bool *alone)
{
    const char *const list[] = {end_option, "--start-state", "--from", "--output"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const size_t n = strlen(list[i]);
        if (strncmp(word, list[i], n) != 0 || (word[n] != '\0' && word[n] != '=')) continue;
        *alone = word[n] == '\0';
        return true;
    }
    return false;
}

void kd_replay_command(const kd_replay_words *words, char *text, size_t size)
{
    char output[4096];
    // results of the replay beside those of the run
    kd_text(output, sizeof output, "%s/replay", words->folder);
    kd_text(text, size, "kardan %s", words->command);
    // the words of the run, but for those that are replaced
    for (int i = 0; i < words->argc; i++) {
        bool alone = false;
        if (is_replaced(words->argv[i], words->end_option, &alone))
            i += alone;
        else
            append_word(text, size, words->argv[i]);
    }
    append_word(text, size, "--output");
    append_word(text, size, output);
    append_word(text, size, "--start-state");
    append_word(text, size, words->states);
    kd_text_append(text, size, " --from %.17g %s %.17g", words->from, words->end_option, words->end);
}
