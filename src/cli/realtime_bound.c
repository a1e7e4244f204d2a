// realtime_bound.c: kardan realtime --bound: what a step consists of. All numbers follow from the structure of the
// model and the method; none depends on the state.
#include <stdlib.h>

#include "cli/method.h"
#include "cli/realtime.h"

typedef kd_realtime_task task;

// in words and as keys, by the functions of kd_fn
static const char *const FUNCTION[KD_FN_COUNT] = {
    [KD_KINEMATICS] = "kinematics Z v",
    [KD_RESIDUAL] = "residual M a - f + (GZ)' lambda",
    [KD_B] = "rates of inner states b",
    [KD_D] = "auxiliary equations d",
    [KD_C] = "contact equations c",
    [KD_G] = "constraints g",
    [KD_GI] = "constraint velocities gI",
    [KD_GII] = "constraint accelerations gII",
    [KD_H] = "nonholonomic constraints h",
    [KD_HI] = "their rates hI",
    [KD_Q] = "quaternion norms q",
    [KD_E] = "invariants e",
    [KD_Y] = "outputs y",
    [KD_SWITCH] = "switching functions",
    [KD_FORCE] = "forces f",
    [KD_MASS] = "mass matrix M",
};
static const char *const KEY[KD_FN_COUNT] = {
    [KD_KINEMATICS] = "kinematics",
    [KD_RESIDUAL] = "residual",
    [KD_B] = "b",
    [KD_D] = "d",
    [KD_C] = "c",
    [KD_G] = "g",
    [KD_GI] = "gI",
    [KD_GII] = "gII",
    [KD_H] = "h",
    [KD_HI] = "hI",
    [KD_Q] = "q",
    [KD_E] = "e",
    [KD_Y] = "outputs",
    [KD_SWITCH] = "switching",
    [KD_FORCE] = "force",
    [KD_MASS] = "mass",
};

// ---- items ----------------------------------------------------------------------------------------------------------

enum { ITEMS = 2 + KD_WORK_ITEM_COUNT };

// one kind of work in a step
typedef struct item {
    const char *name, *key;
    long times, operations, functions; // at most so often in a step; of each: multiplications and additions, others
} item;

// How often the work of an item is done in a step, at most
static long times_of(const task *t, const kd_realtime_work *w, kd_work_item which)
{
    const kd_realtime_options *o = &t->options;
    const kd_dims              d = kd_eom_dims(t->subject.eom);
    const bool                 projection = o->stabilisation == KD_REALTIME_PROJECTION && d.nlambda + d.nmu > 0;
    const bool                 moves = d.nlambda > 0 && (projection || o->stabilisation == KD_REALTIME_GGL);
    switch (which) {
    case KD_WORK_POSITION:
        return 1 + moves; // predicted, and projected
    case KD_WORK_VELOCITY:
        return 1 + projection;
    case KD_WORK_RESIDUAL:
        return w->calls[KD_RESIDUAL] + w->calls[KD_FORCE];
    case KD_WORK_MASS:
        return w->factorisations;
    case KD_WORK_CONSTRAINTS:
        return w->calls[KD_G] + w->calls[KD_GI] + w->calls[KD_GII] + w->calls[KD_H] + w->calls[KD_HI];
    case KD_WORK_GZ:
        return d.nlambda + d.nmu > 0 ? w->factorisations : 0;
    case KD_WORK_STIFF:
        return o->jacobian != KD_REALTIME_EXPLICIT && o->jacobian != KD_REALTIME_J3;
    default:
        return 0;
    }
}

static int list_items(const task *t, const kd_realtime_work *w, item *list)
{
    // two rows of linear algebra, then evaluations
    static const char *const key[KD_WORK_ITEM_COUNT] = {
        [KD_WORK_POSITION] = "position", [KD_WORK_VELOCITY] = "velocity",       [KD_WORK_RESIDUAL] = "residual",
        [KD_WORK_MASS] = "mass",         [KD_WORK_CONSTRAINTS] = "constraints", [KD_WORK_GZ] = "GZ",
        [KD_WORK_STIFF] = "stiff",
    };
    int n = 0;
    list[n++] = (item){"factorisation of the matrix", "factorisation", w->factorisations, w->factor_operations, 0};
    list[n++] = (item){"solution", "solution", w->solves, w->solve_operations, 0};
    // evaluations of a model, whose operations are known
    for (int k = 0; t->subject.system && k < KD_WORK_ITEM_COUNT; k++) {
        const kd_operations o = kd_system_operations(t->subject.system, (kd_work_item)k);
        const long          times = times_of(t, w, (kd_work_item)k);
        if (times > 0) list[n++] = (item){o.name, key[k], times, o.operations, o.functions};
    }
    return n;
}

// What the items do not have; NULL: nothing
static const char *not_counted(const task *t, const kd_realtime_work *w)
{
    if (!t->subject.system) return "evaluations of the equations, which are written in C";
    if (w->difference_calls > 0) return "evaluations for differences";
    if (t->options.part == KD_PART_ALL || t->options.jacobian == KD_REALTIME_EXACT)
        return "derivatives of what is not stiff";
    return kd_eom_dims(t->subject.eom).ny > 0 ? "outputs" : NULL;
}

// times each, all together
static item sum_of(const item *list, int n)
{
    item sum = {.name = "in all", .key = "sum", .times = 1};
    for (int i = 0; i < n; i++) {
        sum.operations += list[i].times * list[i].operations;
        sum.functions += list[i].times * list[i].functions;
    }
    return sum;
}

// ---- telling --------------------------------------------------------------------------------------------------------

// How fast force elements are at the start, and whether they are in the matrix
static void tell_elements(const task *t)
{
    const kd_system *system = t->subject.system;
    const int        n = system ? kd_system_loads_count(system) : 0;
    kd_influence    *speed = n > 0 ? malloc((size_t)n * sizeof *speed) : NULL;
    // frequency and rate of decay that each element has alone
    if (speed && kd_system_speeds(system, t->subject.x, speed) >= 0) {
        printf("\n  %-28s %-16s %12s %12s  %s\n", "force element, inner state", "kind", "rad/s", "1/s", "stiff");
        for (int i = 0; i < n; i++)
            printf("  %-28.28s %-16.16s %12.4g %12.4g  %s\n", kd_system_load_name(system, i),
                   kd_system_load_kind(system, i), speed[i].frequency, speed[i].rate,
                   kd_system_stiff(system, i) ? "yes" : "no");
        printf("  A step of %.9g s resolves what is slower than about %.3g rad/s.\n", t->options.h, 0.1 / t->options.h);
    }
    free(speed);
}

static void tell_in_words(const task *t, const kd_realtime_work *w)
{
    item        list[ITEMS];
    const int   n = list_items(t, w, list);
    const item  sum = sum_of(list, n);
    const char *missing = not_counted(t, w);
    printf("%s: %s\n", t->subject.name, t->subject.title);
    printf("  method: %s\n", t->method);
    // sizes of the matrix, work, calls, elements
    printf("  matrix: %d unknowns, %d entries, %d more in its factors\n\n", w->unknowns, w->entries, w->fill);
    printf("  %-44s %6s %12s %12s\n", "a step, whatever the state", "times", "operations", "functions");
    for (int i = 0; i < n; i++)
        printf("  %-44.44s %6ld %12ld %12ld\n", list[i].name, list[i].times, list[i].operations, list[i].functions);
    printf("  %-44s %6s %12ld %12ld\n", "in all, at most", "", sum.operations, sum.functions);
    printf("  (of each: multiplications and additions; divisions, roots, sines and the like%s%s)\n",
           missing ? "; not counted: " : "", missing ? missing : "");
    printf("\n  calls:");
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (w->calls[fn] > 0) printf(" %d x %s,", w->calls[fn], FUNCTION[fn]);
    printf(" %d blocks of derivatives, %d for differences\n", w->derivatives, w->difference_calls);
    tell_elements(t);
}

// the same with the sum as the last one
static void tell_items(const task *t, const kd_realtime_work *w, kd_json *json)
{
    item      list[ITEMS + 1];
    const int n = list_items(t, w, list);
    list[n] = sum_of(list, n);
    for (int i = 0; i <= n; i++) {
        kd_json_open(json, list[i].key);
        if (i < n) kd_json_count(json, "times", list[i].times);
        kd_json_count(json, "operations", list[i].operations);
        kd_json_count(json, "functions", list[i].functions);
        kd_json_close(json);
    }
    kd_json_text(json, "not_counted", not_counted(t, w) ? not_counted(t, w) : "");
}

// all numbers for programs
static void tell_as_json(const task *t, const kd_realtime_work *w)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", t->request.word);
    if (t->subject.model) kd_json_text(&json, "coordinates", kd_method_coordinates(&t->subject));
    kd_subject_tell_settings(&t->request, &json);
    kd_json_text(&json, "method", t->method);
    kd_json_count(&json, "unknowns", w->unknowns);
    kd_json_count(&json, "entries", w->entries);
    kd_json_count(&json, "fill", w->fill);
    tell_items(t, w, &json);
    kd_json_open(&json, "calls");
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (w->calls[fn] > 0) kd_json_count(&json, KEY[fn], w->calls[fn]);
    kd_json_close(&json);
    kd_json_count(&json, "derivatives", w->derivatives);
    kd_json_count(&json, "difference_calls", w->difference_calls);
    kd_json_close(&json);
    printf("\n");
}

void kd_realtime_tell_bound(const task *t)
{
    // from the structure alone: the stepper has not moved
    const kd_realtime_work work = kd_realtime_work_of(t->stepper);
    if (t->json)
        tell_as_json(t, &work);
    else
        tell_in_words(t, &work);
}
