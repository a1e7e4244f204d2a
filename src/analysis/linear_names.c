// linear_names.c: names of the quantities of linear equations, as the equations of motion have them.
#include <stdio.h>
#include <string.h>

#include "analysis/internal.h"
#include "core/text.h"

enum { LONGEST = 200 };

static const char *keep_text(kd_arena *arena, const char *text)
{
    size_t length = strlen(text) + 1;
    char  *out = kd_arena_cut(arena, length, 1);
    if (out) memcpy(out, text, length);
    return out;
}

static const char **list_of(kd_arena *arena, int n)
{
    return kd_arena_cut(arena, n > 0 ? (size_t)n : 0, sizeof(const char *));
}

static const char *name(const kd_linearizer *l, kd_arena *arena, kd_kind kind, int i)
{
    char text[LONGEST];
    return keep_text(arena, kd_eom_name(l->eom, kind, i, text, sizeof text));
}

// An increment that moves one coordinate alone has its name; one of a rotation is named after its velocity.
static const char *increment(const kd_linearizer *l, kd_arena *arena, int j)
{
    int           found = 0, place = -1;
    const double *column = l->Z + (size_t)j * (size_t)l->n.np;
    for (int i = 0; i < l->n.np; i++)
        if (column[i] != 0) found++, place = i;
    if (found == 1 && column[place] == 1) return name(l, arena, KD_NAME_P, place);
    char velocity[LONGEST], text[LONGEST + 30];
    kd_eom_name(l->eom, KD_NAME_V, j, velocity, sizeof velocity);
    kd_text(text, sizeof text, "integral of %s", velocity);
    return keep_text(arena, text);
}

static const char *acceleration(const kd_linearizer *l, kd_arena *arena, int j)
{
    char velocity[LONGEST], text[LONGEST + 30];
    kd_eom_name(l->eom, KD_NAME_V, j, velocity, sizeof velocity);
    kd_text(text, sizeof text, "derivative of %s", velocity);
    return keep_text(arena, text);
}

// x = (x_p, x_v, r)
static void name_states(const kd_linearizer *l, kd_linear *x, kd_arena *arena)
{
    const char **increments = list_of(arena, l->n.nv), **states = list_of(arena, x->nx);
    if (arena->failed) return;
    for (int j = 0; j < l->n.nv; j++) increments[j] = increment(l, arena, j);
    int k = 0;
    for (int i = 0; i < x->nposition; i++) states[k++] = increments[x->position[i]];
    for (int i = 0; i < x->nvelocity; i++) states[k++] = name(l, arena, KD_NAME_V, x->velocity[i]);
    for (int i = 0; i < x->ninner; i++) states[k++] = name(l, arena, KD_NAME_R, i);
    x->increment_name = increments;
    x->state_name = states;
}

// (e, dv, r, a, w, s, lambda, mu)
static void name_descriptor(const kd_linearizer *l, kd_linear *x, kd_arena *arena)
{
    const kd_dims n = l->n;
    const char  **list = list_of(arena, x->nd);
    if (arena->failed) return;
    int k = 0;
    for (int i = 0; i < n.nv; i++) list[k++] = x->increment_name[i];
    for (int i = 0; i < n.nv; i++) list[k++] = name(l, arena, KD_NAME_V, i);
    for (int i = 0; i < n.nr; i++) list[k++] = name(l, arena, KD_NAME_R, i);
    for (int i = 0; i < n.nv; i++) list[k++] = acceleration(l, arena, i);
    for (int i = 0; i < n.nw; i++) list[k++] = name(l, arena, KD_NAME_W, i);
    for (int i = 0; i < n.ns; i++) list[k++] = name(l, arena, KD_NAME_S, i);
    for (int i = 0; i < n.nlambda; i++) list[k++] = name(l, arena, KD_NAME_LAMBDA, i);
    for (int i = 0; i < n.nmu; i++) list[k++] = name(l, arena, KD_NAME_MU, i);
    x->descriptor_name = list;
}

static kd_kind kind_of(kd_var var)
{
    static const kd_kind KIND[KD_VAR_COUNT] = {
        [KD_P] = KD_NAME_V, [KD_V] = KD_NAME_V, [KD_A] = KD_NAME_V,           [KD_R] = KD_NAME_R,   [KD_W] = KD_NAME_W,
        [KD_S] = KD_NAME_S, [KD_U] = KD_NAME_U, [KD_LAMBDA] = KD_NAME_LAMBDA, [KD_MU] = KD_NAME_MU,
    };
    return KIND[var];
}

// "sensor z by the input u"
static void name_difference(const kd_linearizer *l, kd_linear *x, kd_arena *arena)
{
    static const char *const WORD[KD_VAR_COUNT] = {
        [KD_P] = "the increment of ", [KD_A] = "the acceleration of ", [KD_U] = "the input "};
    // which row of which function
    const kd_difference_of by = l->difference_by;
    const bool             rate = by.var == KD_VAR_COUNT;
    char                   of[LONGEST], what[LONGEST], text[2 * LONGEST + 60];
    const kd_fn            fn = l->difference_fn;
    const kd_kind          kind = fn == KD_Y                  ? KD_NAME_Y
                                  : fn == KD_B                ? KD_NAME_R
                                  : fn == KD_D                ? KD_NAME_W
                                  : fn == KD_RESIDUAL         ? KD_NAME_V
                                  : fn == KD_H || fn == KD_HI ? KD_NAME_MU
                                                              : KD_NAME_LAMBDA;
    // by what it was differentiated
    x->difference_error = l->difference_error;
    x->difference_name = "";
    if (!(l->difference_error > 0)) return;
    kd_eom_name(l->eom, kind, l->difference_row, of, sizeof of);
    kd_eom_name(l->eom, rate ? KD_NAME_U : kind_of(by.var), rate ? by.j % l->n.nu : by.j, what, sizeof what);
    kd_text(text, sizeof text, "%s by %s%s", of,
            rate           ? "a rate of the input "
            : WORD[by.var] ? WORD[by.var]
                           : "",
            what);
    x->difference_name = keep_text(arena, text);
}

bool kd_linear_names(const kd_linearizer *l, kd_linear *x, kd_arena *arena)
{
    const char **inputs = list_of(arena, x->nu), **outputs = list_of(arena, x->ny);
    if (arena->failed) return false;
    for (int i = 0; i < x->nu; i++) inputs[i] = name(l, arena, KD_NAME_U, i);
    for (int i = 0; i < x->ny; i++) outputs[i] = name(l, arena, KD_NAME_Y, i);
    x->input_name = inputs;
    x->output_name = outputs;
    name_states(l, x, arena);
    name_difference(l, x, arena);
    if (x->nd > 0 && !arena->failed) name_descriptor(l, x, arena);
    return !arena->failed;
}

const char *const *kd_copy_names(int n, const char *const *names, kd_arena *arena)
{
    const char **list = list_of(arena, n);
    for (int i = 0; i < n && list; i++) list[i] = keep_text(arena, names[i]);
    return list;
}

// The coordinate that increment j alone moves; -1: none
static int coordinate_of(const kd_eom *eom, const kd_pattern *Z, int j)
{
    if (kd_eom_dims(eom).np == kd_eom_dims(eom).nv && !kd_eom_definition(eom)->Z) return j;
    return Z && Z->column[j + 1] == Z->column[j] + 1 ? Z->row[Z->column[j]] : -1;
}

const char *const *kd_increment_names(const kd_eom *eom, kd_arena *arena)
{
    const int    nv = kd_eom_dims(eom).nv;
    const char **list = list_of(arena, nv);
    kd_pattern   Z;
    const bool   known = kd_eom_pattern(eom, KD_KINEMATICS, KD_V, &Z);
    char         text[LONGEST + 30], velocity[LONGEST];
    for (int j = 0; j < nv && list; j++) {
        const int i = coordinate_of(eom, known ? &Z : NULL, j);
        kd_text(text, sizeof text, "integral of %s", kd_eom_name(eom, KD_NAME_V, j, velocity, sizeof velocity));
        list[j] = keep_text(arena, i >= 0 ? kd_eom_name(eom, KD_NAME_P, i, velocity, sizeof velocity) : text);
    }
    return list;
}
