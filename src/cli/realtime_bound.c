// realtime_bound.c: kardan realtime --bound: what a step consists of. All numbers follow from the structure of the
// model and the method; none depends on the state.
#include <stdlib.h>

#include "cli/method.h"
#include "cli/realtime.h"

typedef kd_realtime_task task;

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

static long linear_algebra(const kd_realtime_work *w)
{
    return w->factorisations * w->factor_operations + w->solves * w->solve_operations;
}

static void row(const char *what, long calls, long each)
{
    printf("  %-40s %8ld", what, calls);
    if (each > 0)
        printf(" %12ld %12ld\n", each, calls * each);
    else
        printf(" %12s %12s\n", "", "");
}

// How fast force elements are at the start, and whether they are in the matrix
static void tell_elements(const task *t)
{
    const kd_system *system = t->subject.system;
    const int        n = system ? kd_system_loads_count(system) : 0;
    kd_influence    *speed = n > 0 ? malloc((size_t)n * sizeof *speed) : NULL;
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
    printf("%s: %s\n", t->subject.name, t->subject.title);
    printf("  method: %s\n", t->method);
    printf("  matrix: %d unknowns, %d entries, %d more in its factors\n\n", w->unknowns, w->entries, w->fill);
    printf("  %-40s %8s %12s %12s\n", "a step", "times", "operations", "in all");
    row("factorisation of the matrix", w->factorisations, w->factor_operations);
    row("solution", w->solves, w->solve_operations);
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (w->calls[fn] > 0) row(FUNCTION[fn], w->calls[fn], 0);
    row("derivatives", w->derivatives, 0);
    row("evaluations for differences", w->difference_calls, 0);
    printf("\n  linear algebra: %ld multiplications and additions in each step, whatever the state\n",
           linear_algebra(w));
    tell_elements(t);
}

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
    kd_json_count(&json, "factorisations", w->factorisations);
    kd_json_count(&json, "factor_operations", w->factor_operations);
    kd_json_count(&json, "solves", w->solves);
    kd_json_count(&json, "solve_operations", w->solve_operations);
    kd_json_count(&json, "linear_algebra", linear_algebra(w));
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
    const kd_realtime_work work = kd_realtime_work_of(t->stepper);
    if (t->json)
        tell_as_json(t, &work);
    else
        tell_in_words(t, &work);
}
