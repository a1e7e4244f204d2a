// fits.c: what fits together: formulation, integrator and their options. The one place of these rules, which ask for
// properties (kd_formulation_about, kd_integrator_about), not for names.
#include "simulation/fits.h"

#include "core/text.h"

// what: with: "update with ida"; with NULL: what alone
static bool refuse_pair(kd_misfit *out, const char *what, const char *with, const char *why, const char *works)
{
    kd_text(out->what, sizeof out->what, "%s%s%s", what, with ? " with " : "", with ? with : "");
    out->why = why;
    out->works = works;
    return false;
}

// Was a projection asked for? KD_PROJECT_AUTO is the simulation's own choice.
static bool projects(const kd_formulation_options *o)
{
    return o->projection == KD_PROJECT_BOUND || o->projection == KD_PROJECT_ALWAYS;
}

static bool is_ode(const kd_integrator_info *m)
{
    return m->needs != KD_INTEGRATES_RESIDUAL;
}

// The equations that the integrator needs, and those that the form is
static bool equations_fit(const kd_simulation_options *o, const kd_formulation_info *form, const kd_integrator_info *m,
                          kd_misfit *out)
{
    // right-hand side, stages, index, selectors, shape: what the one needs against what the other is
    const char *word = kd_formulation_word(o->formulation);
    if (is_ode(m) && !form->has_rhs)
        return refuse_pair(out, m->own_word, word, "it integrates ordinary differential equations", "formulation ode");
    if (m->needs == KD_INTEGRATES_STAGES && !form->has_stages)
        return refuse_pair(out, m->own_word, word, "it imposes the constraints, which that form has eliminated",
                           "formulation ode");
    if (form->index > m->index_max && !is_ode(m))
        return refuse_pair(out, m->own_word, word, "its stages of order 1 leave the multipliers wrong",
                           "formulation psf");
    if (form->selectors && !m->selectors)
        return refuse_pair(out, m->own_word, word, "selectors change between steps, which it cannot see",
                           "formulation ggl");
    if (form->overdetermined && !m->own_matrices)
        return refuse_pair(out, m->own_word, word, "it has more rows than unknowns, which its own matrices alone solve",
                           "formulation ggl");
    return true;
}

// Derivatives, updates and the explicit form belong to forms whose rows are those of the equations of motion.
static bool strategies_fit(const kd_simulation_options *o, const kd_formulation_info *form, const kd_integrator_info *m,
                           kd_misfit *out)
{
    // the first strategy that was chosen names the refusal
    const kd_formulation_options *f = &o->formulation_options;
    const char                   *what = f->derivatives != KD_DERIVATIVES_ANALYTIC ? "derivatives"
                                         : f->update != KD_UPDATE_FULL             ? "update"
                                         : f->explicit_form                        ? "form explicit"
                                                                                   : NULL;
    if (f->estimated && f->derivatives != KD_DERIVATIVES_GROUPED)
        return refuse_pair(out, "pattern", NULL, "only grouped differences have a pattern", "derivatives grouped");
    if (!what) return true;
    if (!form->strategies)
        return refuse_pair(out, what, kd_formulation_word(o->formulation),
                           form->has_rhs
                               ? "its equations are solved inside"
                               : "it needs the derivatives of every level of the constraints, which its selectors "
                                 "follow",
                           is_ode(m) ? "integrator bdf formulation ggl" : "formulation ggl");
    if (f->constraints == KD_DECOMPOSE_SVD)
        return refuse_pair(out, what, "svd", "its rows are combinations that change with the position",
                           "decomposition lu");
    if (f->update != KD_UPDATE_FULL && !m->updates)
        return refuse_pair(out, what, m->own_word, "it evaluates or keeps its matrix by its own rules",
                           "integrator bdf");
    return true;
}

static bool projection_fits(const kd_simulation_options *o, const kd_formulation_info *form,
                            const kd_integrator_info *m, kd_misfit *out)
{
    const kd_formulation_options *f = &o->formulation_options;
    if (!projects(f)) return true;
    // methods with a past cannot go on from a moved state; some can if every state is moved
    if (m->projected == KD_CONTINUES_NEVER)
        return refuse_pair(out, "projection", m->own_word, "it cannot continue from a state that was moved",
                           is_ode(m) ? "integrator arkode" : "integrator bdf");
    if (f->projection == KD_PROJECT_BOUND && m->projected == KD_CONTINUES_ALWAYS)
        return refuse_pair(out, "projection bound", m->own_word,
                           "a projection now and then looks like an error to its history", "projection always");
    if (!form->drifts)
        return refuse_pair(out, "projection", kd_formulation_word(o->formulation),
                           "this formulation keeps its positions on the constraints by itself", "formulation index2");
    return true;
}

bool kd_method_misfit(const kd_simulation_options *given, kd_misfit *out)
{
    kd_misfit             place;
    kd_simulation_options named;
    if (!out) out = &place;
    *out = (kd_misfit){.why = "", .works = ""};
    const kd_simulation_options *o = given;
    // what was left open is completed first
    if (kd_method_is_open(given)) named = kd_method_named(given), o = &named;
    const kd_formulation_info *form = o ? kd_formulation_about(o->formulation) : NULL;
    const kd_integrator_info  *m = o ? kd_integrator_about(o->integrator, &o->integrator_options) : NULL;
    if (!form) return !refuse_pair(out, "formulation", NULL, "it is none of the list", "formulation psf");
    if (!m) return !refuse_pair(out, "integrator", NULL, "it is none of the list", "integrator radau");
    return !(equations_fit(o, form, m, out) && strategies_fit(o, form, m, out) && projection_fits(o, form, m, out));
}

bool kd_method_fits(const kd_simulation_options *o, char *why, size_t size)
{
    kd_misfit found;
    kd_text(why, size, "%s", "");
    if (!kd_method_misfit(o, &found)) return true;
    kd_text(why, size, "%s: %s; %s works", found.what, found.why, found.works);
    return false;
}

// psf with radau keeps the constraints on all levels to rounding, and was the fastest on chains of 10 to 70 bodies in
// Cartesian coordinates, too (70 bodies, 4 steps: psf 5.9 s, ggl 10 s). bdf runs on psf, too, but ggl, whose matrix is
// sparse and may be updated, is chosen there.
kd_formulation kd_method_formulation(const kd_simulation_options *o)
{
    if (!o) return KD_PSF;
    kd_simulation_options tried = *o;
    if (tried.integrator == KD_INTEGRATOR_CHOSEN) tried.integrator = KD_RADAU;
    const kd_integrator_info *m = kd_integrator_about(tried.integrator, &o->integrator_options);
    // one-step methods take psf, others the form that suits their matrix
    tried.formulation = KD_PSF;
    if (m && m->one_step && !kd_method_misfit(&tried, NULL)) return KD_PSF;
    if (m && is_ode(m)) return KD_ODE;
    return projects(&o->formulation_options) ? KD_INDEX2 : KD_GGL;
}

// ---- what was left open ---------------------------------------------------------------------------------------------

bool kd_method_is_open(const kd_simulation_options *o)
{
    return o && (o->formulation == KD_FORMULATION_CHOSEN || o->integrator == KD_INTEGRATOR_CHOSEN);
}

bool kd_method_is_free(const kd_simulation_options *o)
{
    return o->formulation == KD_FORMULATION_CHOSEN && o->integrator == KD_INTEGRATOR_CHOSEN;
}

void kd_method_free(kd_simulation_options *o)
{
    o->formulation = KD_FORMULATION_CHOSEN;
    o->integrator = KD_INTEGRATOR_CHOSEN;
}

kd_simulation_options kd_method_named(const kd_simulation_options *o)
{
    const kd_simulation_options usual = kd_simulation_options_default();
    if (!o) o = &usual;
    kd_simulation_options named = *o;
    if (o->integrator == KD_INTEGRATOR_CHOSEN) named.integrator = KD_RADAU;
    if (o->formulation != KD_FORMULATION_CHOSEN) return named;
    // psf wherever it fits
    named.formulation = KD_PSF;
    if (kd_method_misfit(&named, NULL)) named.formulation = kd_method_formulation(&named);
    return named;
}
