// simulation_state.c: vectors of the DAE as states: at the ends of steps, inside of them, and for who asks. What has to
// be solved for is solved for only when someone looks.
#include "simulation/simulation_impl.h"

#include <string.h>

#include "core/text.h"
#include "point/acceleration.h"

kd_status kd_simulation_dense(kd_simulation *s, double t)
{
    kd_status status = kd_integrator_dense(s->integrator, t, s->vector);
    if (status < 0)
        kd_text(s->message, sizeof s->message, "the state at t = %.9g between two steps could not be determined: %s", t,
                kd_integrator_message(s->integrator));
    return status;
}

// Does the form carry accelerations along, or solve for them with the rest of a state?
bool kd_simulation_keeps_accelerations(const kd_simulation *s)
{
    return s->dae->keeps_acceleration || s->dae->methods->complete;
}

// Accelerations of a state for forms that do not keep them
kd_status kd_simulation_set_acceleration(kd_simulation *s, double t, const double *x, kd_state *state)
{
    state->unsolved = false;
    if (s->dae->keeps_acceleration) return KD_OK;
    kd_dims D = kd_eom_dims(s->eom);
    s->solved += !s->dae->methods->complete;
    // three ways to them: with the rest of the state, by a function of their own, out of x' of a start
    if (s->dae->methods->complete) { // gives what x does not have, accelerations among it
        if (s->dae->methods->complete(s->dae->impl, t, x, state->p + s->dae->nstate) == KD_EVAL_OK) return KD_OK;
    } else if (s->dae->methods->acceleration) {
        if (s->dae->methods->acceleration(s->dae->impl, t, x, state->a) == KD_EVAL_OK) return KD_OK;
    } else if (s->dae->methods->start(s->dae->impl, t, x, s->xdot) == KD_EVAL_OK) {
        memcpy(state->a, s->xdot + D.np, (size_t)D.nv * sizeof(double));
        return KD_OK;
    }
    const char *text = "";
    kd_status   status = s->dae->methods->fault(s->dae->impl, &text);
    kd_text(s->message, sizeof s->message, "no accelerations at t = %.9g: %s", t, text);
    return status;
}

// Does someone look at the state after each step?
bool kd_simulation_is_watched(const kd_simulation *s)
{
    const bool packs = s->dae->methods->pack; // x has no p, v, s: who needs them?
    const bool ranks = s->ranks && (packs || kd_eom_dims(s->eom).ns > 0), search = s->search && packs;
    return s->opt.output || ranks || search || s->branches || (s->hybrid && kd_hybrid_watch(s->hybrid));
}

// Multipliers of redundant rows are not unique: whatever a form carries along, those of least norm are shown.
static kd_status set_least_norm(kd_simulation *s, kd_state *x)
{
    if (!s->least ||
        kd_acceleration_least_norm(s->least, x->t, x->p, x->s, x->v, x->r, x->a, x->w, x->lambda, x->mu) == KD_EVAL_OK)
        return KD_OK;
    const char *text = "";
    kd_status   status = kd_acceleration_fault(s->least, &text);
    kd_text(s->message, sizeof s->message, "no multipliers at t = %.9g: %s", x->t, text);
    return status < 0 ? status : KD_ERR_RETRY_FAILED;
}

// A vector of the DAE to a state; what has to be solved for only when someone looks.
kd_status kd_simulation_unpack(kd_simulation *s, double t, const double *x, kd_state *state)
{
    // nobody looks: what x has is enough
    if (!kd_simulation_is_watched(s) && s->dae->methods->complete) {
        state->t = t;
        memcpy(state->p, x, (size_t)s->dae->nstate * sizeof *x);
        return KD_OK;
    }
    if (state == s->x && s->end && s->end->t == t)
        kd_state_copy(s->end, state); // the search has solved for it
    else
        kd_formulation_unpack(s->dae, t, x, state);
    state->unsolved = !kd_simulation_keeps_accelerations(s);
    kd_status status = s->opt.output && !s->lazy ? kd_simulation_set_acceleration(s, t, x, state) : KD_OK;
    return status < 0 || !kd_simulation_is_watched(s) ? status : set_least_norm(s, state);
}

const double *kd_simulation_vector(const kd_simulation *s, double *t)
{
    *t = kd_integrator_time(s->integrator);
    return kd_integrator_x(s->integrator);
}

kd_status kd_simulation_take_state(kd_simulation *s)
{
    double        t;
    const double *x = kd_simulation_vector(s, &t);
    return kd_simulation_unpack(s, t, x, s->x);
}

// The end of a run: accelerations for the caller if nobody looked on the way. A function that asked to stop is left
// alone.
kd_status kd_simulation_finish(kd_simulation *s, kd_status status)
{
    double        t;
    const double *x = kd_simulation_vector(s, &t);
    // accelerations are there, or must not be asked for, or x is not the end of a step
    if ((s->opt.output && !s->lazy) || status == KD_ERR_CALLBACK_STOP || t != s->x->t) return status;
    char      kept[sizeof s->message];
    kd_status last;
    memcpy(kept, s->message, sizeof kept);
    kd_formulation_unpack(s->dae, t, x, s->x);
    last = kd_simulation_set_acceleration(s, t, x, s->x);
    if (last >= 0) last = set_least_norm(s, s->x);
    // after a failure its own message stays; that there are no accelerations either is no news
    if (status >= 0) return last < 0 ? last : status;
    memcpy(s->message, kept, sizeof kept);
    return status;
}

// The motion inside the last step, without accelerations for forms that do not have them
kd_status kd_simulation_state_inside(double t, kd_state *x, void *context)
{
    kd_simulation *s = context;
    // who asks behind a run must not change what the run has told
    kd_status status = s->busy ? kd_simulation_dense(s, t) : kd_integrator_dense(s->integrator, t, s->vector);
    if (status < 0) return status;
    // rows and discrete states of the simulation, the rest from dense output
    kd_state_copy(s->x, x);
    kd_formulation_unpack(s->dae, t, s->vector, x);
    x->unsolved = !kd_simulation_keeps_accelerations(s);
    return set_least_norm(s, x);
}

// ---- who asks -------------------------------------------------------------------------------------------------------

kd_status kd_simulation_inside(kd_simulation *s, double t, kd_state *x)
{
    if (!s || !kd_state_fits(s->eom, x) || !(t >= kd_simulation_step_start(s) && t <= s->x->t)) return KD_ERR_ARGUMENT;
    if (s->inside) return KD_ERR_BUSY;
    return kd_simulation_state_inside(t, x, s);
}

kd_status kd_simulation_accelerations(kd_simulation *s, const kd_state *x, double *a)
{
    if (!s || !a || !kd_state_fits(s->eom, x)) return KD_ERR_ARGUMENT;
    if (s->inside) return KD_ERR_BUSY;
    const size_t size = (size_t)kd_eom_dims(s->eom).nv * sizeof *a;
    // known, or carried along by the form
    if (!x->unsolved || kd_simulation_keeps_accelerations(s)) {
        memcpy(a, x->a, size);
        return KD_OK;
    }
    // x' of a start at this state has them
    kd_formulation_pack(s->dae, x, s->vector);
    s->solved++;
    if (s->dae->methods->start(s->dae->impl, x->t, s->vector, s->xdot) == KD_EVAL_OK) {
        memcpy(a, s->xdot + kd_eom_dims(s->eom).np, size);
        return KD_OK;
    }
    const char *text = "";
    return s->dae->methods->fault(s->dae->impl, &text);
}

kd_probe *kd_simulation_probe(kd_simulation *s)
{
    if (!s) return NULL;
    // made for the first who asks; set to a state only when that changed
    if (!s->probe && kd_probe_create(s->eom, &s->inputs, &s->probe) < 0) return NULL;
    if (s->read != s->version && kd_probe_set(s->probe, s->seen) >= 0) s->read = s->version;
    return s->probe;
}

double kd_simulation_output(kd_simulation *s, const char *name)
{
    return kd_probe_read(kd_simulation_probe(s), name);
}
