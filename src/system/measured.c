// measured.c: measures from the motion of pairs. Most are one number of it (a shift, an entry of C, a rate): these are
// copied by lists that were made once, and forces along shifts and turns are added by such a list.
#include "system/measured.h"

#include <math.h>

#include "system/system.h"

// ---- lists ----------------------------------------------------------------------------------------------------------
static bool cut_list(kd_filled *f, int n, kd_arena *arena)
{
    f->slot = kd_cut_int(arena, n);
    f->index = kd_cut_int(arena, n);
    f->before = kd_cut_int(arena, n + 1);
    return !arena->failed;
}

// Numbers that a pair has
enum { PER_PAIR = sizeof(kd_relative) / sizeof(double), PER_LOAD = sizeof(kd_wrench) / sizeof(double) };
_Static_assert(sizeof(kd_relative) % sizeof(double) == 0, "pairs are numbers in a row");

static void list_level(kd_system *s, int level)
{
    kd_filled *plain = &s->measured.plain[level], *other = &s->measured.other[level];
    int        n = 0, rest = 0;
    for (int i = 0; i < s->nmeasures; i++) {
        const kd_measure *m = &s->measure[i];
        const int         place = m->kind == KD_MEASURE_DOF ? -1 : kd_measure_place(m, level);
        plain->before[i] = n;
        other->before[i] = rest;
        if (place >= 0)
            plain->slot[n] = i, plain->index[n++] = PER_PAIR * m->pair + place;
        else if (level == 1 || kd_measure_has_value(m))
            other->slot[rest++] = i;
    }
    plain->before[s->nmeasures] = n;
    other->before[s->nmeasures] = rest;
}

static kd_status list_channels(kd_system *s)
{
    kd_measured *l = &s->measured;
    int          n = 0;
    for (int i = 0; i < s->nplain; i++) l->nchannels += s->load[i].nchannels;
    l->channel = kd_cut_int(&s->arena, l->nchannels);
    l->place = kd_cut_int(&s->arena, l->nchannels);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nplain; i++)
        for (int k = 0; k < s->load[i].nchannels; k++, n++) {
            const kd_measure *m = &s->measure[s->load[i].channel[k]];
            const int         place = m->kind == KD_MEASURE_DOF ? -1 : kd_measure_component(m);
            l->channel[n] = s->load[i].channel[k];
            l->place[n] = place < 0 ? -1 : PER_LOAD * m->pair + place;
        }
    return KD_OK;
}

kd_status kd_system_list_measures(kd_system *s)
{
    for (int level = 0; level < 2; level++) {
        if (!cut_list(&s->measured.plain[level], s->nmeasures, &s->arena) ||
            !cut_list(&s->measured.other[level], s->nmeasures, &s->arena))
            return KD_ERR_MEMORY;
        list_level(s, level);
    }
    return list_channels(s);
}

// ---- values and rates -----------------------------------------------------------------------------------------------
static void fill_plain(const kd_work *w, const kd_filled *f, int first, int end, double *out)
{
    const double *pairs = (const double *)w->rel;
    for (int k = f->before[first]; k < f->before[end]; k++) out[f->slot[k]] = pairs[f->index[k]];
}

double kd_work_dof_value(const kd_work *w, int dof)
{
    const kd_link *link = &w->system->tree.link[w->system->tree.dof_link[dof]];
    return w->x[link->position + dof - link->dof];
}

// NAN: the principal value; otherwise the turn that is closest to the coordinate in p
static double turns_near(const kd_work *w, const kd_measure *m, const double *p)
{
    return m->turns < 0 ? NAN : p[w->system->np - w->system->nturns + m->turns];
}

void kd_work_fill_values(kd_work *w, const double *p, int first, int end)
{
    const kd_system *s = w->system;
    const kd_filled *other = &s->measured.other[0];
    if (first >= end) return;
    fill_plain(w, &s->measured.plain[0], first, end, w->value);
    for (int k = other->before[first]; k < other->before[end]; k++) {
        const kd_measure *m = &s->measure[other->slot[k]];
        w->value[other->slot[k]] = m->kind == KD_MEASURE_DOF
                                       ? kd_work_dof_value(w, m->dof)
                                       : kd_measure_value(m, &w->rel[m->pair], turns_near(w, m, p));
    }
}

// (omega x c)_i of column c of C, d'.n of a distance, at once; the rest by its kind
static inline double rate_of(const kd_measure *m, const kd_relative *rel)
{
    static const int next[] = {1, 2, 0, 1};
    if (m->kind == KD_MEASURE_LENGTH) return kd_vec_dot(rel->n, rel->dd);
    if (m->kind != KD_MEASURE_COSINE) return kd_measure_rate(m, rel);
    const double *omega = &rel->omega.x, *c = &rel->C.x.x + 3 * m->j;
    const int     y = next[m->i], z = next[m->i + 1];
    return omega[y] * c[z] - omega[z] * c[y];
}

void kd_work_fill_rates(kd_work *w, int first, int end)
{
    const kd_system *s = w->system;
    const kd_filled *other = &s->measured.other[1];
    if (first >= end) return;
    fill_plain(w, &s->measured.plain[1], first, end, w->rate);
    for (int k = other->before[first]; k < other->before[end]; k++) {
        const kd_measure *m = &s->measure[other->slot[k]];
        w->rate[other->slot[k]] = m->kind == KD_MEASURE_DOF ? w->dx[m->dof] : rate_of(m, &w->rel[m->pair]);
    }
}

// ---- forces ---------------------------------------------------------------------------------------------------------
void kd_work_apply_channels(kd_work *w)
{
    const kd_measured *l = &w->system->measured;
    double            *loads = (double *)w->pair_load;
    for (int k = 0; k < l->nchannels; k++) {
        if (l->place[k] >= 0)
            loads[l->place[k]] += w->force[k];
        else
            kd_work_apply(w, l->channel[k], w->force[k]);
    }
}
