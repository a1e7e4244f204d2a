// names.c: names of channels, all different: the model's name of a component, or that of its group with a number.
#include "probe/probe.h"

#include <string.h>

#include "core/memory.h"
#include "core/text.h"

const char *const KD_ENERGY_WORD[3] = {"kinetic energy", "potential energy", "total energy"};
const char *const KD_VIOLATION_WORD[3] = {"position violation", "velocity violation", "acceleration violation"};

bool kd_channel_names_cut(kd_channel_names *names, kd_arena *arena, int capacity)
{
    // slots are at most half full: a search ends after few steps, and always at an empty slot
    for (names->nslots = 16; names->nslots < 2 * capacity;) names->nslots *= 2;
    names->name = kd_arena_cut(arena, (size_t)capacity, sizeof *names->name);
    names->unit = kd_arena_cut(arena, (size_t)capacity, sizeof *names->unit);
    names->slot = kd_cut_int(arena, names->nslots);
    if (arena->failed) return false;
    for (int i = 0; i < names->nslots; i++) names->slot[i] = -1;
    return true;
}

// First slot of a name
static int slot_of(const kd_channel_names *names, const char *name)
{
    return (int)(kd_text_hash(name) & (unsigned)(names->nslots - 1));
}

int kd_channel_names_find(const kd_channel_names *names, const char *name)
{
    if (!names->slot) return -1;
    // a slot that holds another name: the next one, around the end
    for (int i = slot_of(names, name); names->slot[i] >= 0; i = (i + 1) & (names->nslots - 1))
        if (strcmp(names->name[names->slot[i]], name) == 0) return names->slot[i];
    return -1;
}

void kd_channel_names_add(kd_channel_names *names, const char *word, const char *letter, int i, const char *name)
{
    char *out = names->name[names->n];
    // first the plain name; where that is taken, with letter and index; where even those are, with a number behind
    kd_text(out, KD_CHANNEL_NAME, "%s%s%.80s", word, word[0] ? " " : "", name);
    if (kd_channel_names_find(names, out) >= 0) kd_text(out, KD_CHANNEL_NAME, "%s[%d] %.60s", letter, i, name);
    for (int k = 2; kd_channel_names_find(names, out) >= 0; k++)
        kd_text(out, KD_CHANNEL_NAME, "%s[%d] %.50s (%d)", letter, i, name, k);
    // into the first empty slot from its hash on
    int slot = slot_of(names, out);
    while (names->slot[slot] >= 0) slot = (slot + 1) & (names->nslots - 1);
    names->slot[slot] = names->n++;
}

void kd_channel_names_set_unit(kd_channel_names *names, int channel, const char *unit)
{
    kd_text(names->unit[channel], KD_CHANNEL_UNIT, "%s", unit ? unit : "");
}

// Of a velocity that is a path of a model, joint.hinge.v, the acceleration is a path, too: joint.hinge.a
static bool is_rate_path(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot[1] == 'v' && (dot[2] == '\0' || (dot[2] >= '1' && dot[2] <= '9' && dot[3] == '\0'));
}

void kd_channel_names_of_equations(kd_channel_names *names, const kd_eom *eom)
{
    // lambda and mu are named after their constraint, accelerations after their velocity, which are other things
    static const struct {
        kd_group    group;
        kd_kind     kind;
        const char *letter, *word;
    } list[] = {
        {KD_GROUP_P, KD_NAME_P, "p", ""},      {KD_GROUP_V, KD_NAME_V, "v", ""},
        {KD_GROUP_R, KD_NAME_R, "r", ""},      {KD_GROUP_W, KD_NAME_W, "w", ""},
        {KD_GROUP_S, KD_NAME_S, "s", ""},      {KD_GROUP_LAMBDA, KD_NAME_LAMBDA, "lambda", "lambda"},
        {KD_GROUP_MU, KD_NAME_MU, "mu", "mu"}, {KD_GROUP_A, KD_NAME_V, "acc", "acc"},
        {KD_GROUP_U, KD_NAME_U, "u", ""},      {KD_GROUP_Y, KD_NAME_Y, "y", ""},
    };
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        const int n = kd_group_count(eom, NULL, list[k].group);
        for (int i = 0; i < n; i++) {
            char        own[KD_CHANNEL_NAME], plain[40];
            const char *name = kd_eom_name(eom, list[k].kind, i, own, sizeof own);
            // a name like "lambda[3]" says what it is, and needs no word in front
            kd_text(plain, sizeof plain, "%s[%d]", list[k].letter, i);
            bool stands_alone = strcmp(name, plain) == 0;
            // the acceleration of a path is a path: its last letter changes, and no word stands in front
            if (list[k].group == KD_GROUP_A && is_rate_path(name)) {
                own[strrchr(own, '.') - own + 1] = 'a';
                stands_alone = true;
            }
            kd_channel_names_add(names, stands_alone ? "" : list[k].word, list[k].letter, i, name);
        }
    }
}
