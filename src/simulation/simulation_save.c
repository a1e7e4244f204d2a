// simulation_save.c: a running simulation as a value: saved, restored into another one that was made in the same way.
//
// One walk over all objects of the driver, in a fixed order, writes or reads. First comes what must agree: sizes, names
// and numbers of the equations, options, the state with what the equations say about it. Method: docs/methods/saved.md
#include "simulation/simulation_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/saved.h"
#include "core/text.h"

static const char PART[] = "simulation";

enum { OPTIONS_SIZE = 16000 };

// ---- what must agree ------------------------------------------------------------------------------------------------

static void check_equations(kd_archive *a, const kd_simulation *s)
{
    const kd_dims d = kd_eom_dims(s->eom);
    const int size[] = {d.np, d.nv, d.nr, d.nw, d.ns, d.nlambda, d.nmu, d.nq, d.ne, d.nu, d.nz, d.ntheta, d.nswitch};
    char      name[200];
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        kd_archive_same(a, size[i], "the equations are others: a size");
    for (int i = 0; i < d.nv; i++) {
        char there[200];
        kd_eom_name(s->eom, KD_NAME_V, i, name, sizeof name);
        kd_text(there, sizeof there, "%s", name);
        kd_archive_text(a, there, sizeof there);
        if (kd_archive_good(a) && strcmp(there, name) != 0)
            kd_archive_fail(a, KD_ERR_SAVED, "the equations are others: velocity %d is '%.60s' there, '%.60s' here", i,
                            there, name);
    }
}

// All options of the table as "name=value" lines, made once: co-simulation saves at every macro step. NULL: no memory
static const char *list_options(kd_simulation *s)
{
    if (s->listed) return s->listed;
    char *text = s->listed = kd_alloc(OPTIONS_SIZE), value[200];
    for (int i = 0; text && kd_option_at(i); i++) {
        const char *name = kd_option_at(i)->name;
        if (strcmp(name, "steps.max_steps") == 0) continue; // counted run by run
        if (kd_option_get(&s->given, name, value, sizeof value) >= 0)
            kd_text_append(text, OPTIONS_SIZE, "%s=%s\n", name, value);
    }
    return text;
}

// The first line in which both lists differ
static void tell_option(kd_archive *a, const char *there, const char *here)
{
    size_t at = 0, line = 0;
    for (; there[at] && there[at] == here[at]; at++)
        if (here[at] == '\n') line = at + 1;
    const int m = (int)strcspn(there + line, "\n"), n = (int)strcspn(here + line, "\n");
    kd_archive_fail(a, KD_ERR_SAVED, "options are others: %.*s there, %.*s here", m < 80 ? m : 80, there + line,
                    n < 80 ? n : 80, here + line);
}

static void check_options(kd_archive *a, kd_simulation *s)
{
    const kd_simulation_options *o = &s->given;
    const bool                   open = s->choice != NULL;
    kd_archive_same(a, open, "choice of the method by kardan");
    if (!open) kd_archive_same(a, (long)o->formulation, "formulation");
    if (!open) kd_archive_same(a, (long)o->integrator, "integrator");
    kd_archive_same(a, o->output != NULL, "output function");
    kd_archive_same(a, o->accelerations, "accelerations of states that are shown");
    kd_archive_same(a, o->ntimes > 0, "output at wanted times");
    kd_archive_same(a, o->verify, "checks of accepted steps");
    double tolerance[] = {o->rtol, o->atol};
    kd_archive_doubles(a, tolerance, 2);
    if (kd_archive_good(a) && (tolerance[0] != o->rtol || tolerance[1] != o->atol))
        kd_archive_fail(a, KD_ERR_SAVED, "tolerances are others: %g, %g there, %g, %g here", tolerance[0], tolerance[1],
                        o->rtol, o->atol);
    // the table
    const char *here = list_options(s);
    char       *there = kd_alloc(OPTIONS_SIZE);
    if (!here || !there) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for a list of options");
    } else {
        kd_text(there, OPTIONS_SIZE, "%s", here);
        kd_archive_text(a, there, OPTIONS_SIZE);
        if (kd_archive_good(a) && strcmp(there, here) != 0) tell_option(a, there, here);
    }
    kd_free(there);
}

// The same state must have the same forces: parameters, curves and inputs are those of before
static void check_forces(kd_archive *a, kd_simulation *s)
{
    const int nv = kd_eom_dims(s->eom).nv;
    double   *here = kd_alloc(2 * ((size_t)nv + 1) * sizeof *here), *there = here ? here + nv + 1 : NULL;
    if (!here) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for forces");
        return;
    }
    bool known = kd_archive_good(a) &&
                 kd_eom_at_state(s->data, &s->inputs, s->x, KD_STAGE_ACCELERATION) == KD_EVAL_OK &&
                 kd_eom_eval(s->data, KD_RESIDUAL, here) == KD_EVAL_OK;
    const bool known_here = known;
    if (!known) memset(here, 0, (size_t)nv * sizeof *here);
    memcpy(there, here, (size_t)nv * sizeof *here);
    kd_archive_bool(a, &known);
    kd_archive_doubles(a, there, (size_t)nv);
    if (kd_archive_good(a) && known && !known_here)
        kd_archive_fail(a, KD_ERR_SAVED, "the state has no forces here: %.400s", kd_eom_data_message(s->data));
    for (int i = 0; kd_archive_good(a) && i < nv; i++) {
        char name[100];
        if (known == known_here && memcmp(&here[i], &there[i], sizeof *here) == 0) continue;
        kd_archive_fail(a, KD_ERR_SAVED,
                        "the equations are others: forces on '%.80s' have changed (parameters, inputs, data files?)",
                        kd_eom_name(s->eom, KD_NAME_V, i, name, sizeof name));
    }
    kd_free(here);
}

// ---- the walk -------------------------------------------------------------------------------------------------------

// A choice that took radau in place of bdf goes on with it; there is no way back
static void restore_retreat(kd_archive *a, kd_simulation *s, bool retreated)
{
    const bool has = s->choice && kd_choice_has_retreated(s->choice);
    if (has == retreated) return;
    if (has || !s->choice || !kd_choice_may_retreat(s->choice)) {
        kd_archive_fail(a, KD_ERR_SAVED, "the method is another one");
        return;
    }
    kd_choice_retreat(s->choice);
    if (s->implicit && kd_simulation_switch(s, true) < 0) kd_archive_fail(a, KD_ERR_SAVED, "the method cannot be made");
}

// Forms and integrator: where the simulation chooses its method, the present one and the one before
static void archive_method(kd_archive *a, kd_simulation *s)
{
    bool implicit = s->implicit, form[] = {s->form[0] != NULL, s->form[1] != NULL};
    bool retreated = s->choice && kd_choice_has_retreated(s->choice);
    kd_archive_bool(a, &implicit);
    kd_archive_bool(a, &retreated);
    kd_archive_bools(a, form, 2);
    if (kd_archive_good(a) && a->reads) restore_retreat(a, s, retreated);
    if (kd_archive_good(a) && (!form[implicit] || (!s->choice && implicit != s->implicit)))
        kd_archive_fail(a, KD_ERR_SAVED, "the method is another one");
    if (!kd_archive_good(a)) return;
    if (a->reads) {
        // what is missing is made; the saved one last, so that it is the present one
        for (int k = 0; k < 2; k++) {
            const bool which = k == 0 ? !implicit : implicit;
            if (!form[which] || (s->form[which] && (k == 0 || s->implicit == which))) continue;
            if (kd_simulation_switch(s, which) < 0) {
                kd_archive_fail(a, KD_ERR_SAVED, "the method cannot be made");
                return;
            }
        }
        if (!form[!implicit] && s->form[!implicit]) {
            kd_dae_destroy(s->form[!implicit]);
            s->form[!implicit] = NULL;
        }
    }
    if (s->choice) kd_choice_archive(s->choice, a);
    for (int k = 0; k < 2; k++)
        if (s->form[k]) kd_dae_archive(s->form[k], a);
    kd_integrator_archive(s->integrator, a);
    bool search = s->search != NULL, verify = s->verify != NULL;
    kd_archive_same(a, search, "search inside of steps");
    kd_archive_same(a, verify, "checks of accepted steps");
    if (search) kd_unseen_archive(s->search, a);
    if (verify) kd_verify_archive(s->verify, a);
}

static void archive_watchers(kd_archive *a, kd_simulation *s)
{
    kd_eom_data_archive(s->data, a);
    if (s->least) kd_acceleration_archive(s->least, a);
    if (s->hybrid) kd_hybrid_archive(s->hybrid, a);
    if (s->ranks) kd_rank_watch_archive(s->ranks, a);
    if (s->branches) kd_branch_watch_archive(s->branches, a);
    kd_collapse_archive(s->collapse, a);
}

static void archive_counts(kd_archive *a, kd_simulation *s)
{
    kd_stats        *b = &s->before;
    kd_verification *v = &s->verified;
    KD_ARCHIVE_COUNTS(a, &b->accepted, &b->rejected_error, &b->rejected_newton, &b->retracted, &b->steps, &b->residuals,
                      &b->for_differences, &b->mass, &b->jacobians, &b->selectors, &b->predecompositions,
                      &b->decompositions, &b->solves, &b->newton_updates, &b->updates, &b->pattern_changes, &b->groups,
                      &b->fullest_row, &b->factorizations, &b->refactorizations, &b->projections, &b->accelerations);
    KD_ARCHIVE_COUNTS(a, &v->steps, &v->checked, &v->points, &v->redone, &v->unverified, &s->changes, &s->solved);
    KD_ARCHIVE_REALS(a, &v->worst, &v->t_worst, &v->t_unverified, &v->lost);
    kd_archive_words(a, &v->lost_by, s->lost_by, sizeof s->lost_by);
}

// Where the driver is between steps
static void archive_driver(kd_archive *a, kd_simulation *s)
{
    const kd_dims d = kd_eom_dims(s->eom);
    bool          ended = s->end != NULL;
    double        last = s->next_time > 0 ? s->opt.times[s->next_time - 1] : -INFINITY;
    kd_state_archive(s->origin, a);
    kd_archive_doubles(a, s->vector, 2 * (size_t)s->dae->n);
    kd_archive_flags(a, s->active, (size_t)(d.nlambda + d.nmu));
    KD_ARCHIVE_BOOLS(a, &s->advised, &s->lazy, &s->shown, &s->unseen, &s->stiff, &ended);
    KD_ARCHIVE_REALS(a, &s->begun, &s->t_run, &s->from, &s->passed, &last);
    int started = s->started;
    kd_archive_int(a, &started, 0, KD_LATE);
    kd_archive_text(a, s->news, sizeof s->news);
    if (!a->reads || !kd_archive_good(a)) return;
    s->started = (kd_status)started;
    s->end = ended && s->search ? kd_unseen_ended(s->search) : NULL;
    s->seen = s->x;
    s->version++;
    // wanted times that were shown, or lie before the last step
    s->next_time = 0;
    const double begin = kd_integrator_time_old(s->integrator);
    while (s->next_time < s->opt.ntimes && (s->opt.times[s->next_time] <= last || s->opt.times[s->next_time] < begin))
        s->next_time++;
}

static void archive_all(kd_archive *a, kd_simulation *s)
{
    check_equations(a, s);
    check_options(a, s);
    if (!kd_archive_good(a)) return;
    s->broken = s->broken || a->reads; // from here on it is changed
    kd_state_archive(s->x, a);
    check_forces(a, s);
    if (kd_archive_good(a)) archive_method(a, s);
    if (kd_archive_good(a)) archive_watchers(a, s);
    if (kd_archive_good(a)) archive_counts(a, s);
    if (kd_archive_good(a)) archive_driver(a, s);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

kd_status kd_simulation_save(kd_simulation *s, kd_saved **saved, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (saved) *saved = NULL;
    if (!s || !saved) return KD_ERR_ARGUMENT;
    if (s->busy || s->broken) return KD_ERR_BUSY;
    kd_archive a = kd_archive_writer();
    archive_all(&a, s);
    if (!kd_archive_good(&a)) kd_text(message, size, "%s", a.why);
    kd_status status = kd_saved_create(s->x->t, saved);
    if (status >= 0)
        status = kd_saved_add(*saved, PART, &a);
    else
        kd_archive_release(&a);
    if (status >= 0) return status;
    kd_saved_destroy(*saved);
    *saved = NULL;
    return status;
}

kd_status kd_simulation_restore(kd_simulation *s, const kd_saved *saved, char *message, size_t size)
{
    kd_archive a;
    kd_text(message, size, "%s", "");
    if (!s || !saved) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    if (!kd_saved_part(saved, PART, &a)) {
        kd_text(message, size, "there is no simulation in it");
        return KD_ERR_SAVED;
    }
    archive_all(&a, s);
    kd_status status = kd_saved_end(&a, PART, message, size);
    if (status >= 0) s->broken = false;
    return status;
}
