// blame.c: which element of a model keeps a run from getting on: whose force jumps between two points next to each
// other, and who feeds energy at a point.
//
// Looked for only after a run has ended badly, for its message.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/force.h"

// laws of one element; what a message quotes of the text of one
enum { LAWS = 6, LONGEST_LAW = 160 };

// ---- words ----------------------------------------------------------------------------------------------------------

// "force 'motor' (joint_spring)", "state 'filter'"
static void name_load(const kd_load *load, char *text, size_t size)
{
    if (load->state_def)
        kd_text(text, size, "state '%s'", load->name);
    else
        kd_text(text, size, "force '%s' (%s)", load->name, load->user ? "a function in C" : kd_load_kind(load));
}

// ---- jumps ----------------------------------------------------------------------------------------------------------

// Values of the laws of a load, 0 where it has none
static void take_laws(const kd_load *load, kd_work *w, double value[LAWS])
{
    for (int k = 0; k < LAWS; k++) value[k] = kd_law_value(load->law[k], w->slot, w);
}

// Largest change of a force, or of a rate, relative to its size; *from, *to: its values
static double change_of(const double *before, const double *behind, int n, double *from, double *to)
{
    double most = 0;
    for (int k = 0; k < n; k++) {
        const double change = fabs(behind[k] - before[k]) / (fabs(behind[k]) + fabs(before[k]) + 1e-300);
        if (!(change > most)) continue;
        most = change;
        *from = before[k];
        *to = behind[k];
    }
    return most;
}

void kd_work_jumps(const kd_point *x0, const kd_point *x1, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // a change of 1e-6 between points next to each other is motion, not a jump
    double most = 1e-6, before[LAWS], behind[LAWS], from = 0, to = 0;
    int    worst = -1, law = -1;
    for (int i = 0; i < s->nloads; i++) { // by what it exerts, one after the other: jumps are rare
        const kd_load *l = &s->load[i];
        double         force[2][LAWS] = {{0}}, a = 0, b = 0;
        const int      n = l->nchannels < LAWS ? l->nchannels : LAWS, m = l->nstates < LAWS ? l->nstates : LAWS;
        for (int side = 0; side < 2; side++) {
            if (kd_work_loads(w, side == 0 ? x0 : x1) != KD_EVAL_OK) return;
            const double *values = l->nchannels > 0 ? w->force + w->force_at[i] : w->b + l->state;
            memcpy(force[side], values, (size_t)(l->nchannels > 0 ? n : m) * sizeof **force);
        }
        const double change = change_of(force[0], force[1], l->nchannels > 0 ? n : m, &a, &b);
        if (!(change > most)) continue;
        most = change, worst = i, from = a, to = b;
    }
    // whose values, then by which of its laws: the one that moves most
    if (worst < 0) return;
    const kd_load *l = &s->load[worst];
    name_load(l, text, size);
    kd_text_append(text, size, " goes from %.4g to %.4g", from, to);
    if (kd_work_loads(w, x0) != KD_EVAL_OK) return;
    take_laws(l, w, before);
    if (kd_work_loads(w, x1) != KD_EVAL_OK) return;
    take_laws(l, w, behind);
    for (int k = 0; k < LAWS; k++)
        if (l->law[k] && (law < 0 || fabs(behind[k] - before[k]) > fabs(behind[law] - before[law]))) law = k;
    const char *written = law >= 0 ? l->law_text[law] : NULL;
    if (written)
        kd_text_append(text, size, " by its law '%.*s%s'", LONGEST_LAW, written,
                       strlen(written) > LONGEST_LAW ? ".." : "");
}

// ---- energy ---------------------------------------------------------------------------------------------------------

// Power that a load feeds: what it supplies less what it takes away
static double power_of(const kd_load *load, int i, kd_work *w)
{
    kd_energies sum = {0};
    double      power = 0;
    if (load->class->energy) {
        load->class->energy(load, w->slot, w, &sum);
        return sum.supplied - sum.dissipated;
    }
    // a class without energies only supplies: force times rate of its measures
    for (int k = 0; k < load->nchannels; k++) power += w->force[w->force_at[i] + k] * w->slot[load->rate_slot[k]];
    return power;
}

double kd_work_feeds(const kd_point *x, void *context, char *text, size_t size)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    double           most = 0;
    int              worst = -1;
    // the load with the largest power into the system
    if (kd_work_loads(w, x) != KD_EVAL_OK) return 0;
    kd_work_velocity(w, x, KD_FOR_LOADS); // energies of modes read variables, their forces do not
    for (int i = 0; i < s->nloads; i++) {
        const double power = power_of(&s->load[i], i, w);
        if (!(power > most)) continue;
        most = power;
        worst = i;
    }
    if (worst < 0) return 0;
    const kd_load *l = &s->load[worst];
    name_load(l, text, size);
    // negative damping explains it best; otherwise the law as it is written
    const double damping = l->def ? kd_element_number(kd_force_element((int)l->def->kind), l->def, "damping") : 0;
    const char  *written = l->law_text[0];
    if (damping < 0)
        kd_text_append(text, size, " with its negative damping of %.4g", damping);
    else if (written)
        kd_text_append(text, size, " with its law '%.*s%s'", LONGEST_LAW, written,
                       strlen(written) > LONGEST_LAW ? ".." : "");
    return most;
}
