// formulation.c: the list of formulations by word, their options, and the way from equations of motion to a kd_dae.
#include "core/option.h"
#include "core/text.h"
#include "forms/assembled.h"
#include "forms/natural.h"
#include "forms/ode.h"
#include "forms/psf.h"
#include "forms/statespace.h"
#include <float.h>
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

// clang-format off
static const kd_formulation_info info_of[KD_FORMULATION_COUNT] = {
    [KD_PSF]        = {.index = 1, .selectors = true, .keeps_acceleration = true, .keeps_invariants = true, .compares_velocity = true, .uses_gII = true},
    [KD_PSF1]       = {.index = 1, .selectors = true, .keeps_invariants = true, .compares_velocity = true},
    [KD_GGL]        = {.index = 2, .strategies = true, .compares_velocity = true},
    [KD_ODASSL]     = {.index = 2, .overdetermined = true, .strategies = true, .compares_velocity = true},
    [KD_INDEX3]     = {.index = 3, .strategies = true},
    [KD_INDEX2]     = {.index = 2, .strategies = true, .drifts = true, .compares_velocity = true},
    [KD_INDEX1]     = {.index = 1, .strategies = true, .drifts = true, .compares_velocity = true, .uses_gII = true},
    [KD_BAUMGARTE2] = {.index = 2, .strategies = true, .drifts = true, .compares_velocity = true},
    [KD_BAUMGARTE1] = {.index = 1, .strategies = true, .drifts = true, .compares_velocity = true, .uses_gII = true},
    [KD_ODE]        = {.index = 1, .has_rhs = true, .has_stages = true, .drifts = true, .compares_velocity = true, .uses_gII = true},
    [KD_STATESPACE] = {.index = 1, .has_rhs = true, .compares_velocity = true, .uses_gII = true},
};
// clang-format on

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

const kd_formulation_info *kd_formulation_about(kd_formulation form)
{
    return is_formulation(form) ? &info_of[form] : NULL;
}

// ---- options --------------------------------------------------------------------------------------------------------

static const char *const DECOMPOSITIONS[] = {"lu", "qr", "svd", NULL};
static const char *const DERIVATIVES[] = {"analytic", "dense", "grouped", NULL};
static const char *const UPDATES[] = {"full", "partitioned", "extended", NULL};
static const char *const PROJECTIONS[] = {"never", "bound", "always", "auto", NULL};
static const char *const PARAMETRISATIONS[] = {"partition", "tangent", NULL};
static const char *const PARTS[] = {"all", "stiff", NULL};

#define O kd_formulation_options
// clang-format off
static const kd_option rows[] = {
    {KD_WORD("form.constraints", O, constraints, KD_DECOMPOSE_LU, DECOMPOSITIONS, "decomposition of the algebraic part: LU with full pivoting, QR with column pivoting, SVD, the only one that treats redundant constraints"), .paper = "DECOMPC"},
    {KD_SWITCH("form.differential_qr", O, differential_qr, 0, "QR instead of LU for the differential part"), .paper = "DECOMPD"},
    {KD_SWITCH("form.selectors_each_step", O, selectors_each_step, 0, "selectors are found anew in every step, not only where the pivoting changes"), .paper = "SELCOMP"},
    {KD_SWITCH("form.invariants", O, invariants, 1, "invariants are imposed, which psf and psf1 can; no: they are watched only")},
    {KD_SWITCH("form.control_multipliers", O, control_multipliers, 0, "multipliers and auxiliary variables count in the error norm")},
    {KD_SWITCH("form.sparse", O, sparse, 0, "KLU whatever the size, not only where it pays; not of psf and psf1")},
    {KD_REAL("form.rank_tolerance", O, rank_tolerance, 1e-8, 0, 1, "SVD: singular values below this times the largest are zero"), .above = true, .below = true},
    {KD_REAL("form.baumgarte_alpha", O, baumgarte_alpha, 10, 0, DBL_MAX, "alpha of baumgarte2 and baumgarte1 [1/s]"), .unit = "1/s"},
    {KD_REAL("form.baumgarte_beta", O, baumgarte_beta, 10, 0, DBL_MAX, "beta of baumgarte1 [1/s]"), .unit = "1/s"},
    {KD_REAL("form.stabilisation", O, stabilisation, 0, 0, DBL_MAX, "gamma of ode, x' = f - gamma F h: violations of the constraints decay at this rate (S2 Eq. 9); 0: none [1/s]"), .unit = "1/s"},
    {KD_WORD("form.derivatives", O, derivatives, KD_DERIVATIVES_ANALYTIC, DERIVATIVES, "of the Newton matrix: of the equations of motion, or differences of the residual column by column or by groups of columns (S0)")},
    {KD_SWITCH("form.estimated", O, estimated, 0, "grouped differences: pattern from difference matrices instead of the topology")},
    {KD_SWITCH("form.estimated_at_start", O, estimated_at_start, 0, "the same, at first from the matrix of the start alone (S0)")},
    {KD_WORD("form.update", O, update, KD_UPDATE_FULL, UPDATES, "renewal of the Newton matrix: all derivatives, a new mass matrix only, or that and what moves with the inputs (S0)")},
    {KD_SWITCH("form.explicit_form", O, explicit_form, 0, "dynamics solved for accelerations (S0 Eq. 10) instead of the residual")},
    {KD_WORD("form.projection", O, projection, KD_PROJECT_AUTO, PROJECTIONS, "onto the constraints after steps; auto: always for ode with explicit methods, otherwise never")},
    {KD_SWITCH("form.project_mass", O, project_mass, 1, "projection in the norm of the mass matrix instead of the Euclidean one")},
    {KD_REAL("form.projection_bound", O, projection_bound, 1e-8, 0, DBL_MAX, "projection bound: largest violation that is left alone"), .above = true},
    {KD_WORD("form.parametrisation", O, parametrisation, KD_PARAMETRISATION_PARTITION, PARAMETRISATIONS, "coordinates of statespace: independent ones among p and v, or along the null space of the constraints")},
    {KD_SWITCH("form.natural", O, natural, 0, "absolute tolerances count in natural units of the model, not in SI")},
    {KD_WORD("form.part", O, part, KD_PART_ALL, PARTS, "derivatives of all elements, or of the stiff ones only")},
};
// clang-format on
#undef O
enum { ROWS = sizeof rows / sizeof *rows };

int kd_formulation_option_rows(const kd_option **options)
{
    if (options) *options = rows;
    return ROWS;
}

kd_formulation_options kd_formulation_options_default(void)
{
    kd_formulation_options o = {.cookie = KD_OPTIONS_COOKIE};
    kd_options_reset(rows, ROWS, &o);
    return o;
}

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status check_options(const kd_formulation_options *opt, char *message, size_t size)
{
    if (opt->cookie != KD_OPTIONS_COOKIE) {
        kd_text(message, size, "kd_formulation_options do not start from kd_formulation_options_default");
        return KD_ERR_ARGUMENT;
    }
    kd_formulation_options looked_at = *opt;
    if (opt->projection != KD_PROJECT_BOUND) looked_at.projection_bound = 1; // nobody looks at it
    return kd_options_check(rows, ROWS, &looked_at, message, size);
}

// Strategies of S0 section 3 belong to forms whose rows are those of the equations of motion
static kd_status check_strategy(kd_formulation form, const kd_formulation_options *opt, char *message, size_t size)
{
    bool standard = opt->derivatives == KD_DERIVATIVES_ANALYTIC && opt->update == KD_UPDATE_FULL && !opt->explicit_form;
    bool combined = !info_of[form].strategies || opt->constraints == KD_DECOMPOSE_SVD;
    if (standard || !combined) return KD_OK;
    kd_text(message, size,
            "the %s form%s has no choice of derivatives, updates or the explicit form; use ggl or odassl with LU",
            word_of[form], opt->constraints == KD_DECOMPOSE_SVD ? " with SVD" : "");
    return KD_ERR_UNSUPPORTED;
}

// x' of the other forms is not found at a point off the constraints
static kd_status check_stabilisation(kd_formulation form, const kd_formulation_options *opt, char *message, size_t size)
{
    if (opt->stabilisation == 0 || form == KD_ODE) return KD_OK;
    kd_text(message, size, "the %s form has no form.stabilisation; ode has", word_of[form]);
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
    // options that make sense for this form
    kd_formulation_options standard = kd_formulation_options_default();
    if (!opt) opt = &standard;
    kd_status status = check_options(opt, message, size);
    if (status >= 0) status = check_strategy(form, opt, message, size);
    if (status >= 0) status = check_stabilisation(form, opt, message, size);
    if (status < 0) return status;
    // the form
    if (form == KD_PSF)
        status = kd_psf_create(eom, inputs, x, opt, dae, message, size);
    else if (form == KD_STATESPACE)
        status = kd_statespace_create(eom, inputs, x, opt, dae, message, size);
    else if (form == KD_ODE)
        status = kd_ode_create(eom, inputs, x, opt, dae, message, size);
    else
        status = kd_assembled_create(eom, inputs, x, form, opt, dae, message, size);
    // natural units of its components
    if (status >= 0) {
        (*dae)->selectors = info_of[form].selectors;
        (*dae)->keeps_acceleration = info_of[form].keeps_acceleration;
    }
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
    return dae->keeps_acceleration && dae->n - dae->nstate == (int)(state->z - state->a);
}

void kd_formulation_pack(const kd_dae *dae, const kd_state *state, double *x)
{
    if (!dae || !state || !x) return;
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
    if (!dae || !x || !state) return;
    state->t = t;
    memcpy(state->p, x, (size_t)dae->nstate * sizeof *x);
    if (keeps_acceleration(dae, state)) memcpy(state->a, x + dae->nstate, (size_t)(dae->n - dae->nstate) * sizeof *x);
    if (dae->methods->complete) (void)dae->methods->complete(dae->impl, t, x, state->p + dae->nstate);
}
