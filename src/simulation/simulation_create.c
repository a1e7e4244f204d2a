// simulation_create.c: a simulation is made: options checked, formulation and integrator, watchers, the first start.
#include "simulation/simulation_impl.h"

#include <limits.h>
#include <math.h>

#include "core/memory.h"
#include "core/text.h"
#include "point/acceleration.h"
#include "simulation/fits.h"
#include "simulation/options.h"

// ---- options --------------------------------------------------------------------------------------------------------

static kd_status check_times(const kd_simulation_options *o, double start, char *message, size_t size)
{
    // a finite start, an array where there are times, strictly increasing ones
    if (!isfinite(start)) {
        kd_text(message, size, "the start time %g is not a finite number", start);
        return KD_ERR_TIME;
    }
    if (o->ntimes < 0 || (o->ntimes > 0 && !o->times)) {
        kd_text(message, size,
                o->ntimes < 0 ? "options.ntimes = %d is negative" : "options.ntimes = %d, but options.times is NULL",
                o->ntimes);
        return KD_ERR_ARGUMENT;
    }
    for (int i = 0; i < o->ntimes; i++) {
        if (isfinite(o->times[i]) && (i == 0 || o->times[i] > o->times[i - 1])) continue;
        kd_text(message, size, "wanted times must increase; number %d is %g", i, o->times[i]);
        return KD_ERR_ARGUMENT;
    }
    return KD_OK;
}

kd_tolerances kd_simulation_tolerances_of(const kd_simulation_options *o)
{
    return (kd_tolerances){o->integrator_options.rtol, o->integrator_options.atol, o->integrator_options.h_fixed};
}

// Invariants that the formulation cannot keep are refused, unless they are to be watched only.
static kd_status check_invariants(const kd_eom *eom, const kd_simulation_options *opt, char *message, size_t size)
{
    const kd_formulation_info *form = kd_formulation_about(opt->formulation);
    char                       name[100];
    if (kd_eom_dims(eom).ne == 0 || !opt->formulation_options.invariants || !form || form->keeps_invariants)
        return KD_OK;
    kd_text(message, size,
            "formulation %s cannot keep invariant '%s': formulation psf (with radau) and psf1 do; option "
            "form.invariants=no only watches it",
            kd_formulation_word(opt->formulation), kd_eom_name(eom, KD_NAME_E, 0, name, sizeof name));
    return KD_ERR_UNSUPPORTED;
}

static kd_status check_integrator(kd_integrator_kind integrator, char *message, size_t size)
{
    if (kd_integrator_about(integrator, NULL)) return KD_OK;
    kd_text(message, size, "options.integrator = %d is none of", (int)integrator);
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++)
        kd_text_append(message, size, "%s %s", i > 0 ? "," : "", kd_integrator_word((kd_integrator_kind)i));
    return KD_ERR_ARGUMENT;
}

// Explicit methods on the form ode drift: they project unless they were told not to
static void choose_projection(const kd_integrator_info *method, kd_simulation_options *o)
{
    const kd_formulation_info *form = kd_formulation_about(o->formulation);
    if (o->formulation_options.projection == KD_PROJECT_AUTO)
        o->formulation_options.projection =
            form && form->has_rhs && form->drifts && method->projects ? KD_PROJECT_ALWAYS : KD_PROJECT_NEVER;
}

// Are checks wanted, and steps not of a fixed size?
bool kd_simulation_may_take_back(const kd_simulation *s)
{
    return s->opt.verify && !(s->opt.integrator_options.h_fixed > 0);
}

// Steps of a fixed size cannot be taken back. NULL: accepted steps are checked
const char *kd_simulation_why_not_verified(const kd_simulation *s)
{
    const kd_simulation_options *o = &s->opt;
    const bool                   fixed = o->integrator_options.h_fixed > 0;
    // reasons in the order in which they exclude a check
    if (o->formulation == KD_INDEX3) return "velocities of index 3 have no derivatives to compare with";
    return !o->verify ? "it was not wanted" : fixed ? "steps of a fixed size are not taken back" : NULL;
}

// ---- the method -----------------------------------------------------------------------------------------------------

// The integrator with the tolerances of the simulation, where they are given; what rounding does not allow is raised.
// The driver counts the steps of a run.
static kd_status create_integrator(kd_simulation *s, char *message, size_t size)
{
    kd_integrator_options *o = &s->opt.integrator_options;
    const double           least = s->method->least_rtol, rtol = s->opt.rtol;
    // tolerances of the simulation come before those of the integrator
    if (rtol != 0) o->rtol = rtol;
    if (s->opt.atol != 0) o->atol = s->opt.atol;
    if (rtol > 0 && rtol < least) {
        o->atol *= least / rtol; // the balance of the two is the user's
        o->rtol = least;
    }
    if (s->opt.ntimes > 0) o->dense_often = true;
    // h and order are the integrator's, the number of steps is the driver's
    kd_integrator_options own = *o;
    s->max_steps = o->max_steps;
    if (own.max_steps > 0) own.max_steps = LONG_MAX / 2; // counted run by run
    return kd_integrator_create(s->dae, s->opt.integrator, &own, &s->integrator, message, size);
}

// Are accelerations left to who asks for them? Where M determines them from forces and multipliers, and nothing here
// needs them
bool kd_simulation_leaves_accelerations(kd_simulation *s)
{
    double *a = s->xdot;
    // asked for, carried along anyway, of least norm, or not determined by M: then they are solved for
    return !s->opt.accelerations && !kd_simulation_keeps_accelerations(s) && !s->least &&
           kd_eom_definition(s->eom)->acceleration &&
           kd_eom_at_state(s->data, &s->inputs, s->x, KD_STAGE_ACCELERATION) == KD_EVAL_OK &&
           kd_eom_acceleration(s->data, a) == KD_EVAL_OK;
}

static kd_status create_search(kd_simulation *s)
{
    const kd_integrator_options *o = &s->opt.integrator_options;
    return kd_unseen_create(s->data, &s->inputs, s->x, s->method, o->rtol, o->atol, s->dae, &s->search);
}

// Checks of accepted steps belong to a method
kd_status kd_simulation_create_checks(kd_simulation *s)
{
    kd_status status = kd_simulation_may_take_back(s) ? create_search(s) : KD_OK;
    if (status < 0 || kd_simulation_why_not_verified(s)) return status;
    return kd_verify_create(s->data, &s->inputs, &s->opt, s->dae, s->integrator, s->x, &s->verify);
}

// Formulation and integrator for s->x: those that were named, or the choice for motions that are stiff or not
kd_status kd_simulation_create_method(kd_simulation *s, bool implicit, char *message, size_t size)
{
    // options as they were given, then what follows from the method
    s->opt = s->given;
    s->implicit = implicit;
    if (s->choice) {
        const kd_method_pair chosen = kd_choice_method(s->choice, implicit);
        s->opt.formulation = chosen.formulation;
        s->opt.integrator = chosen.integrator;
        kd_choice_begin(s->choice, implicit);
    }
    s->method = kd_integrator_about(s->opt.integrator, &s->opt.integrator_options);
    choose_projection(s->method, &s->opt);
    s->opt.formulation_options.without_matrices = s->method->is_explicit;
    // those with a right-hand side count what they evaluate, at a point of their own
    const kd_formulation_info *about = kd_formulation_about(s->opt.formulation); // NULL: none of this number
    s->opt.formulation_options.point = about && !about->has_rhs ? s->data : NULL;
    // x in the form's own coordinates, then the integrator that has to fit
    kd_dae  **form = &s->form[implicit];
    kd_status status = *form ? KD_OK
                             : kd_formulation_create(s->eom, &s->inputs, s->x, s->opt.formulation,
                                                     &s->opt.formulation_options, form, message, size);
    s->dae = *form;
    if (status >= 0 && s->method->available && !kd_method_fits(&s->opt, message, size)) status = KD_ERR_UNSUPPORTED;
    if (status >= 0) status = create_integrator(s, message, size);
    if (status < 0) return status;
    s->vector = kd_alloc(2 * (size_t)s->dae->n * sizeof(double));
    s->xdot = s->vector ? s->vector + s->dae->n : NULL;
    return s->vector ? KD_OK : KD_ERR_MEMORY;
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// What a simulation cannot do without; false: told
static bool is_complete(const kd_eom *eom, const kd_state *x, kd_simulation **simulation, char *message, size_t size)
{
    if (!eom || !x || !simulation) {
        kd_text(message, size, "kd_simulation_create: %s is NULL", !eom ? "eom" : (!x ? "x" : "simulation"));
        return false;
    }
    if (!kd_state_fits(eom, x)) {
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
        return false;
    }
    return true;
}

kd_status kd_simulation_create(const kd_eom *eom, const kd_inputs *inputs, const kd_simulation_options *opt,
                               kd_state *x, kd_simulation **simulation, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (simulation) *simulation = NULL;
    if (!is_complete(eom, x, simulation, message, size)) return KD_ERR_ARGUMENT;
    kd_status      status = KD_ERR_MEMORY;
    kd_simulation *s = kd_alloc(sizeof *s);
    if (!s) goto failed;
    // options first: everything that follows reads them
    s->eom = eom;
    s->x = x;
    s->opt = opt ? *opt : kd_simulation_options_default();
    s->passed = NAN;
    s->begun = x->t;
    if (inputs) s->inputs = *inputs;
    const bool open = kd_method_is_free(&s->opt);
    if (!open) s->opt = kd_method_named(&s->opt);
    status = kd_simulation_check_options(&s->opt, message, size);
    if (status == KD_OK) status = check_times(&s->opt, x->t, message, size);
    if (status == KD_OK && !open) status = check_integrator(s->opt.integrator, message, size);
    if (status == KD_OK) status = check_invariants(eom, &s->opt, message, size);
    if (status < 0) goto failed;
    s->given = s->opt;
    // one evaluation point for all that looks at the motion, beside that of the form
    status = kd_eom_data_create(eom, &s->data);
    if (status >= 0 && open) status = kd_choice_create(s->data, &s->inputs, x, &s->opt, &s->choice);
    if (status >= 0)
        status = kd_simulation_create_method(s, s->choice && kd_choice_starts_stiff(s->choice), message, size);
    if (status < 0) goto failed;
    // states of the driver
    status = kd_state_create(eom, &s->at);
    if (status >= 0) status = kd_state_create(eom, &s->origin);
    if (status < 0) goto failed;
    s->active = kd_alloc((size_t)(kd_eom_dims(eom).nlambda + kd_eom_dims(eom).nmu));
    status = s->active ? KD_OK : KD_ERR_MEMORY;
    // redundant rows; events; ranks, collapse; checks of accepted steps come with the method
    kd_formulation_options options = s->opt.formulation_options;
    options.point = s->data;
    if (status >= 0 && options.constraints == KD_DECOMPOSE_SVD)
        status = kd_acceleration_create(eom, &s->inputs, x, &options, &s->least);
    if (status >= 0)
        status = kd_hybrid_create(s->data, &s->inputs, &s->opt, x, kd_simulation_state_inside, s, &s->hybrid);
    if (status >= 0)
        status =
            kd_rank_watch_create(s->data, &s->inputs, kd_simulation_tolerances_of(&s->opt), &s->ranks, &s->unwatched);
    if (status >= 0) status = kd_branch_watch_create(s->data, &s->inputs, &s->branches);
    if (status >= 0)
        status = kd_collapse_create(s->data, &s->inputs, kd_simulation_tolerances_of(&s->opt), &s->collapse);
    if (status >= 0) status = kd_simulation_create_checks(s);
    // consistent values and the first start; what friction does to them is news or a failure
    if (status >= 0) status = kd_simulation_begin(s, true);
    if (status >= 0) status = kd_simulation_tell_friction(s, status);
    kd_text(message, size, "%s", s->message);
    if (status < 0) goto failed;
    s->lazy = kd_simulation_leaves_accelerations(s);
    *simulation = s;
    return status;
failed:
    if (message && size > 0 && message[0] == '\0') kd_text(message, size, "%s", kd_status_sentence(status));
    kd_simulation_destroy(s);
    return status;
}

void kd_simulation_destroy(kd_simulation *s)
{
    if (!s || s->busy) return;
    kd_hybrid_destroy(s->hybrid);
    kd_branch_watch_destroy(s->branches);
    kd_rank_watch_destroy(s->ranks);
    kd_collapse_destroy(s->collapse);
    kd_unseen_destroy(s->search);
    kd_verify_destroy(s->verify);
    kd_probe_destroy(s->probe);
    kd_integrator_destroy(s->integrator);
    for (int k = 0; k < 2; k++) kd_dae_destroy(s->form[k]);
    kd_choice_destroy(s->choice);
    kd_acceleration_destroy(s->least);
    kd_eom_data_destroy(s->data);
    kd_state_destroy(s->at);
    kd_state_destroy(s->origin);
    kd_free(s->vector);
    kd_free(s->active);
    kd_free(s->listed);
    kd_free(s);
}
