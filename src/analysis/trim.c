// trim.c: nominal forces and trim (S1 Eq. 4): inputs and parameters that hold a given position or steady motion.
#include <math.h>
#include <string.h>

#include "analysis/balance.h"
#include "analysis/words.h"
#include "core/option.h"
#include "core/text.h"

kd_trim_options kd_trim_options_default(void)
{
    return (kd_trim_options){.tolerance = 1e-9, .max_iterations = 200, .cookie = KD_OPTIONS_COOKIE};
}

// Does everything exist that is to be adjusted?
static bool is_wanted(const kd_eom *eom, const kd_dims *n, const kd_family *family, const kd_adjustable *adjust,
                      int nadjust)
{
    const int ntheta = kd_eom_definition(eom)->theta_held ? 0 : n->ntheta; // those of models: by a family
    for (int i = 0; i < nadjust; i++) {
        const kd_var kind = adjust[i].kind;
        const int    outer = kind == KD_VAR_COUNT && family ? family->n : 0;
        const int    count = kind == KD_U ? n->nu : kind == KD_THETA ? ntheta : outer;
        if (adjust[i].index < 0 || adjust[i].index >= count || !isfinite(adjust[i].value)) return false;
    }
    return true;
}

static bool is_turn(const kd_dims *n, const kd_turn *turn)
{
    const int nv = turn && turn->planar ? 3 : 6, np = turn && turn->planar ? 3 : 7;
    return !turn || (turn->v >= 0 && turn->v + nv <= n->nv && turn->p >= 0 && turn->p + np <= n->np);
}

// State and adjusted values of the balance to the caller
static void keep_solution(kd_balance *b, kd_state *x, kd_adjustable *adjust, int nadjust, kd_equilibrium_result *found)
{
    const double *theta = x->theta;
    kd_state_copy(b->x, x);
    x->theta = theta;
    for (int i = 0; i < nadjust; i++) adjust[i].value = *kd_balance_adjusted(b, &adjust[i]);
    kd_balance_report(b, found);
}

kd_status kd_trim(const kd_eom *eom, const kd_inputs *inputs, const kd_trim_options *opt, kd_state *x,
                  kd_adjustable *adjust, int nadjust, kd_equilibrium_result *result, char *message, size_t size)
{
    const kd_trim_options  standard = kd_trim_options_default();
    const kd_trim_options *o = opt ? opt : &standard;
    if (message && size > 0) message[0] = '\0';
    if (eom && !kd_state_fits(eom, x))
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x) || nadjust < 0 || (nadjust > 0 && !adjust) || !(o->tolerance > 0))
        return KD_ERR_ARGUMENT;
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_trim_options", message, size)) return KD_ERR_ARGUMENT;
    const kd_dims n = kd_eom_dims(eom);
    if (!is_wanted(eom, &n, o->family, adjust, nadjust) || !is_turn(&n, o->turn)) return KD_ERR_ARGUMENT;
    // unknowns: the adjusted quantities, free positions and velocities, multipliers; all else is held
    kd_balance               b;
    kd_equilibrium_result    found = {.attempts = 1};
    const kd_balance_request request = {.free_p = o->free_p,
                                        .free_v = o->free_v,
                                        .hold_p = true,
                                        .adjust = adjust,
                                        .nadjust = nadjust,
                                        .moving = true,
                                        .turn = o->turn,
                                        .family = o->family};
    kd_status                status = kd_balance_create(&b, eom, inputs, x, &request);
    if (status < 0) {
        kd_describe_refusal(&b, status, message, size);
    } else if (kd_balance_newton(&b, o->tolerance, o->max_iterations)) {
        // any solution first; with more than one adjusted quantity the one that changes them least
        keep_solution(&b, x, adjust, nadjust, &found);
        if (nadjust > 1 && kd_balance_least_change(&b, o->tolerance)) keep_solution(&b, x, adjust, nadjust, &found);
        kd_text(message, size, "all forces balance to %.2g of %.4g", found.residual, found.force_scale);
        if (found.kept > 0)
            kd_text_append(message, size, "; kept from the start: the amounts behind %s", found.kept_states);
    } else {
        status = KD_ERR_NO_EQUILIBRIUM;
        kd_balance_report(&b, &found);
        kd_describe_failure(eom, &found, message, size);
    }
    if (result) *result = found;
    kd_balance_release(&b);
    return status;
}
