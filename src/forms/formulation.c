// formulation.c: the list of formulations by word, their options, and the way from equations of motion to a kd_dae.
#include "core/text.h"
#include "forms/assembled.h"
#include "forms/natural.h"
#include "forms/ode.h"
#include "forms/psf.h"
#include "forms/statespace.h"
#include <math.h>
#include <string.h>

static const char *const word_of[KD_FORMULATION_COUNT] = {
#define KD_FORMULATION_WORD(name, word, sentence) [name] = word,
    KD_FORMULATION_LIST(KD_FORMULATION_WORD)
#undef KD_FORMULATION_WORD
};

static const char *const sentence_of[KD_FORMULATION_COUNT] = {
#define KD_FORMULATION_SENTENCE(name, word, sentence) [name] = sentence,
    KD_FORMULATION_LIST(KD_FORMULATION_SENTENCE)
#undef KD_FORMULATION_SENTENCE
};

static bool is_formulation(kd_formulation form)
{
    return (int)form >= 0 && (int)form < KD_FORMULATION_COUNT;
}

const char *kd_formulation_word(kd_formulation form)
{
    return is_formulation(form) ? word_of[form] : "unknown";
}

const char *kd_formulation_sentence(kd_formulation form)
{
    return is_formulation(form) ? sentence_of[form] : "unknown formulation";
}

bool kd_formulation_parse(const char *word, kd_formulation *form)
{
    if (!word || !form) return false;
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) {
        if (strcmp(word, word_of[i]) == 0) {
            *form = (kd_formulation)i;
            return true;
        }
    }
    return false;
}

kd_formulation_options kd_formulation_options_default(void)
{
    return (kd_formulation_options){
        .constraints = KD_DECOMPOSE_LU,
        .invariants = true,
        .rank_tolerance = 1e-8,
        .baumgarte_alpha = 10,
        .baumgarte_beta = 10,
        .part = KD_PART_ALL,
        .project_mass = true,
        .projection = KD_PROJECT_AUTO,
        .projection_bound = 1e-8,
    };
}

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status check_options(const kd_formulation_options *opt, char *message, size_t size)
{
    if ((int)opt->constraints < KD_DECOMPOSE_LU || opt->constraints > KD_DECOMPOSE_SVD) {
        kd_text(message, size, "the decomposition %d of the constraints is none of LU, QR, SVD", (int)opt->constraints);
        return KD_ERR_ARGUMENT;
    }
    if (!(opt->rank_tolerance > 0) || !(opt->rank_tolerance < 1)) {
        kd_text(message, size, "the rank tolerance must lie between 0 and 1");
        return KD_ERR_TOLERANCE;
    }
    if (!(opt->baumgarte_alpha >= 0) || !(opt->baumgarte_beta >= 0) || !isfinite(opt->baumgarte_alpha) ||
        !isfinite(opt->baumgarte_beta)) {
        kd_text(message, size, "the coefficients of Baumgarte must be finite and not negative");
        return KD_ERR_ARGUMENT;
    }
    if ((int)opt->projection < KD_PROJECT_NEVER || opt->projection > KD_PROJECT_AUTO) {
        kd_text(message, size, "the projection %d is none of never, bound, always, auto", (int)opt->projection);
        return KD_ERR_ARGUMENT;
    }
    if ((int)opt->parametrisation < KD_PARAMETRISATION_PARTITION || opt->parametrisation > KD_PARAMETRISATION_TANGENT) {
        kd_text(message, size, "the parametrisation %d is none of partition, tangent", (int)opt->parametrisation);
        return KD_ERR_ARGUMENT;
    }
    if (opt->projection == KD_PROJECT_BOUND && !(opt->projection_bound > 0 && isfinite(opt->projection_bound))) {
        kd_text(message, size, "the bound of projection must be positive and finite");
        return KD_ERR_TOLERANCE;
    }
    return KD_OK;
}

// Strategies of S0 section 3 belong to forms whose rows are those of the equations of motion
static kd_status check_strategy(kd_formulation form, const kd_formulation_options *opt, char *message, size_t size)
{
    if ((int)opt->derivatives < KD_DERIVATIVES_ANALYTIC || opt->derivatives > KD_DERIVATIVES_GROUPED ||
        (int)opt->update < KD_UPDATE_FULL || opt->update > KD_UPDATE_EXTENDED) {
        kd_text(message, size, "derivatives %d with update %d are unknown", (int)opt->derivatives, (int)opt->update);
        return KD_ERR_ARGUMENT;
    }
    bool standard = opt->derivatives == KD_DERIVATIVES_ANALYTIC && opt->update == KD_UPDATE_FULL && !opt->explicit_form;
    bool combined = form == KD_PSF || form == KD_PSF1 || form == KD_ODE || form == KD_STATESPACE ||
                    opt->constraints == KD_DECOMPOSE_SVD;
    if (standard || !combined) return KD_OK;
    kd_text(message, size,
            "the %s form%s has no choice of derivatives, updates or the explicit form; use ggl or odassl with LU",
            word_of[form], opt->constraints == KD_DECOMPOSE_SVD ? " with SVD" : "");
    return KD_ERR_UNSUPPORTED;
}

kd_status kd_formulation_create(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, kd_formulation form,
                                const kd_formulation_options *opt, kd_dae **dae, char *message, size_t size)
{
    if (dae) *dae = NULL;
    if (!eom || !x || !dae) {
        kd_text(message, size, "kd_formulation_create: %s is NULL", !eom ? "eom" : (!x ? "x" : "dae"));
        return KD_ERR_ARGUMENT;
    }
    if (!kd_state_fits(eom, x)) {
        kd_text(message, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
        return KD_ERR_ARGUMENT;
    }
    if (!is_formulation(form)) {
        kd_text(message, size, "the formulation %d is none of", (int)form);
        for (int i = 0; i < KD_FORMULATION_COUNT; i++)
            kd_text_append(message, size, "%s %s", i > 0 ? "," : "", word_of[i]);
        return KD_ERR_ARGUMENT;
    }
    kd_formulation_options standard = kd_formulation_options_default();
    if (!opt) opt = &standard;
    kd_status status = check_options(opt, message, size);
    if (status >= 0) status = check_strategy(form, opt, message, size);
    if (status < 0) return status;
    if (form == KD_PSF)
        status = kd_psf_create(eom, inputs, x, opt, dae, message, size);
    else if (form == KD_STATESPACE)
        status = kd_statespace_create(eom, inputs, x, opt, dae, message, size);
    else if (form == KD_ODE)
        status = kd_ode_create(eom, inputs, x, opt, dae, message, size);
    else
        status = kd_assembled_create(eom, inputs, x, form, opt, dae, message, size);
    if (status < 0 || !opt->natural) return status;
    const kd_status unsized = kd_natural_units(eom, form, inputs, x, *dae);
    if (unsized >= 0) return status;
    kd_dae_destroy(*dae);
    *dae = NULL;
    return unsized;
}

// ---- states ---------------------------------------------------------------------------------------------------------

// Are the internal components of this form the accelerations?
static bool keeps_acceleration(const kd_dae *dae, const kd_state *state)
{
    return strcmp(dae->methods->name, word_of[KD_PSF]) == 0 && dae->n - dae->nstate == (int)(state->z - state->a);
}

void kd_formulation_pack(const kd_dae *dae, const kd_state *state, double *x)
{
    if (!dae) return;
    if (dae->methods->pack) {
        (void)dae->methods->pack(dae->impl, state->t, state->p, x); // start tells what was wrong
        return;
    }
    memcpy(x, state->p, (size_t)dae->nstate * sizeof *x);
    size_t inside = (size_t)(dae->n - dae->nstate);
    if (keeps_acceleration(dae, state))
        memcpy(x + dae->nstate, state->a, inside * sizeof *x);
    else
        memset(x + dae->nstate, 0, inside * sizeof *x);
}

void kd_formulation_unpack(const kd_dae *dae, double t, const double *x, kd_state *state)
{
    if (!dae) return;
    state->t = t;
    memcpy(state->p, x, (size_t)dae->nstate * sizeof *x);
    if (keeps_acceleration(dae, state)) memcpy(state->a, x + dae->nstate, (size_t)(dae->n - dae->nstate) * sizeof *x);
    if (dae->methods->complete) (void)dae->methods->complete(dae->impl, t, x, state->p + dae->nstate);
}
