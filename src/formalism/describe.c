// describe.c: what the assembly of a system found, in words.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formalism/system.h"

// Text that goes on being counted when the buffer is full.
typedef struct writer {
    char  *text;
    size_t size, used;
} writer;

static void say(writer *w, const char *format, ...) KD_PRINTF(2, 3);
static void say(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = w->used < w->size ? w->size - w->used : 0;
    int    n = vsnprintf(room > 0 ? w->text + w->used : NULL, room, format, arguments);
    va_end(arguments);
    if (n > 0) w->used += (size_t)n;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

enum { MAX_LISTED = 12 }; // elements named in one line

static void say_tree(writer *w, const kd_system *s)
{
    const kd_system *tree = s->joints ? s->joints : s;
    int              cut = 0;
    say(w, "%d bod%s, %d joint%s", s->info.nbodies, s->info.nbodies == 1 ? "y" : "ies", s->info.njoints,
        plural(s->info.njoints));
    for (int j = 0; j < s->model->njoints; j++) {
        if (tree->edge[j].link > 0 || tree->edge[j].nrows == 0) continue;
        say(w, "%s'%s'",
            cut == 0           ? "; loops are closed by joint "
            : cut < MAX_LISTED ? ", "
                               : "",
            cut < MAX_LISTED ? s->model->joint[j].name : "...");
        if (++cut > MAX_LISTED) break;
    }
    if (s->info.nloops == 0) say(w, "; no loops");
    say(w, "\n");
}

// The rows that follow from others, joint by joint.
static void say_redundant(writer *w, const kd_system *s)
{
    const kd_system *t = s->joints ? s->joints : s;
    int              listed = 0;
    if (!t->keep || t->info.nredundant == 0) return;
    say(w, "%d constraint%s redundant at every position and %s: ", t->info.nredundant,
        t->info.nredundant == 1 ? " is" : "s are", s->options.keep_redundant ? "kept as asked for" : "left out");
    for (int i = 0; i < t->nrows_g && listed <= MAX_LISTED; i++) {
        if (t->keep[i]) continue;
        say(w, "%s%s", listed > 0 ? ", " : "", listed < MAX_LISTED ? t->row_g[i].name : "...");
        listed++;
    }
    say(w, "\n");
    if (!t->redundancy.certain)
        say(w, "  (this was judged at the start position only: the mechanism could not be moved to others)\n");
}

// Joints with a row in a dependency: the force can be shared in many ways.
static void say_not_unique(writer *w, const kd_system *s)
{
    const kd_system *t = s->joints ? s->joints : s;
    int              listed = 0, last = -1;
    if (!t->redundancy.shares || t->info.nredundant == 0) return;
    say(w, "reactions that are not unique (only their sum is): ");
    for (int i = 0; i < t->nrows_g && listed <= MAX_LISTED; i++) {
        if (!t->redundancy.shares[i] || (t->row_g[i].joint >= 0 && t->row_g[i].joint == last)) continue;
        last = t->row_g[i].joint;
        const char *name = last >= 0 ? t->model->joint[last].name : t->row_g[i].name;
        say(w, "%s%s%s%s", listed > 0 ? ", " : "", listed < MAX_LISTED && last >= 0 ? "joint '" : "",
            listed < MAX_LISTED ? name : "...", listed < MAX_LISTED && last >= 0 ? "'" : "");
        listed++;
    }
    say(w, ", and what these loops carry\n");
}

size_t kd_system_describe(const kd_system *s, char *text, size_t size)
{
    writer w = {text, text ? size : 0, 0};
    if (w.size > 0) text[0] = '\0';
    say_tree(&w, s);
    say(&w, "%d degree%s of freedom: %d velocit%s in %s coordinates, %d constraint%s\n", s->info.dof,
        plural(s->info.dof), s->nv, s->nv == 1 ? "y" : "ies", s->joints ? "Cartesian" : "joint", s->nlambda + s->nmu,
        plural(s->nlambda + s->nmu));
    if (!s->info.assembled)
        say(&w, "the loops could not be closed at the start position: redundancy was not examined\n");
    say_redundant(&w, s);
    say_not_unique(&w, s);
    if (s->info.nsingular > 0)
        say(&w, "the start position is singular: %d further constraint%s dependent there, but not elsewhere\n",
            s->info.nsingular, s->info.nsingular == 1 ? " is" : "s are");
    return w.used;
}
