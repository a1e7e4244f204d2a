// compare_methods.c: which formulation makes sense with which integrator: the one table of it.
//
// Forms that keep the constraints themselves (psf, ggl, odassl, statespace) run as they are. Forms that drift (index2,
// index1, ode) make sense with a projection after every step, where the integrator can go on from a projected state;
// without it, and with Baumgarte's terms or index 3, they are there for comparison only.
#include <kardan/compare.h>

#include <string.h>

#include "core/text.h"

#define DRIFTS .drifts = true
#define FREE .free = true
#define PROJECTED .projected = true
#define EXPLICIT .is_explicit = true
#define GII .uses_gII = true

// clang-format off
static const kd_compare_method METHOD[] = {
    {KD_PSF,        KD_RADAU,         0, FREE, GII},
    {KD_PSF,        KD_SDIRK,         KD_SDIRK_NEWTON, FREE, GII},
    {KD_GGL,        KD_RADAU,         0, .drifts = false},
    {KD_GGL,        KD_BDF,           0, FREE},
    {KD_GGL,        KD_IDA,           0, FREE},
    {KD_ODASSL,     KD_BDF,           0, .drifts = false},
    {KD_INDEX2,     KD_RADAU,         0, PROJECTED},
    {KD_INDEX1,     KD_RADAU,         0, PROJECTED, GII},
    {KD_INDEX1,     KD_BDF,           0, PROJECTED, GII},
    {KD_ODE,        KD_DOPRI5,        0, PROJECTED, FREE, EXPLICIT, GII},
    {KD_ODE,        KD_DOP853,        0, PROJECTED, FREE, EXPLICIT, GII},
    {KD_ODE,        KD_HALF_EXPLICIT, 0, PROJECTED, EXPLICIT},
    {KD_ODE,        KD_EXTRAPOLATION, 0, PROJECTED, FREE, EXPLICIT, GII},
    {KD_ODE,        KD_ARKODE,        KD_ARKODE_ERK, PROJECTED, FREE, EXPLICIT, GII},
    {KD_ODE,        KD_ARKODE,        KD_ARKODE_DIRK, PROJECTED, FREE, GII},
    {KD_ODE,        KD_CVODE,         KD_CVODE_BDF, PROJECTED, FREE, GII},
    {KD_ODE,        KD_CVODE,         KD_CVODE_ADAMS, FREE, DRIFTS, EXPLICIT, GII},
    {KD_ODE,        KD_SDIRK,         KD_SDIRK_NEWTON, PROJECTED, GII},
    {KD_ODE,        KD_SDIRK,         KD_SDIRK_STAGE_ORDER_2, PROJECTED, FREE, GII},
    {KD_ODE,        KD_SDIRK,         KD_SDIRK_ROSENBROCK, PROJECTED, FREE, GII},
    {KD_STATESPACE, KD_RADAU,         0, GII},
    {KD_STATESPACE, KD_BDF,           0, GII},
    {KD_STATESPACE, KD_SDIRK,         KD_SDIRK_NEWTON, GII},
    {KD_STATESPACE, KD_SDIRK,         KD_SDIRK_STAGE_ORDER_2, GII},
    {KD_STATESPACE, KD_DOPRI5,        0, EXPLICIT, GII},
    {KD_STATESPACE, KD_DOP853,        0, EXPLICIT, GII},
    {KD_STATESPACE, KD_EXTRAPOLATION, 0, EXPLICIT, GII},
    {KD_STATESPACE, KD_CVODE,         KD_CVODE_ADAMS, EXPLICIT, GII},
    {KD_STATESPACE, KD_CVODE,         KD_CVODE_BDF, GII},
    {KD_PSF1,       KD_RADAU,         0, DRIFTS},
    {KD_INDEX3,     KD_RADAU,         0, DRIFTS},
    {KD_INDEX3,     KD_BDF,           0, DRIFTS},
    {KD_INDEX2,     KD_RADAU,         0, DRIFTS},
    {KD_INDEX1,     KD_RADAU,         0, DRIFTS, GII},
    {KD_BAUMGARTE2, KD_RADAU,         0, DRIFTS},
    {KD_BAUMGARTE1, KD_RADAU,         0, DRIFTS, GII},
    {KD_ODE,        KD_DOPRI5,        0, DRIFTS, EXPLICIT, GII},
    {KD_ODE,        KD_DOP853,        0, DRIFTS, EXPLICIT, GII},
};
// clang-format on

const kd_compare_method *kd_compare_methods(int *count)
{
    if (count) *count = (int)(sizeof METHOD / sizeof *METHOD);
    return METHOD;
}

// ---- words ----------------------------------------------------------------------------------------------------------

// "cvode-adams"; "esdirk" and "rosenbrock" speak for themselves
static const char *integrator_words(const kd_compare_method *m)
{
    kd_integrator_options o = kd_integrator_options_default();
    kd_integrator_set_variant(m->integrator, m->family, &o);
    const kd_integrator_info *about = kd_integrator_about(m->integrator, &o);
    return about ? about->own_word : "unknown";
}

const char *kd_compare_method_words(const kd_compare_method *m, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", "");
    if (!m) return buffer ? buffer : "";
    kd_text(buffer, size, "%s + %s%s", kd_formulation_word(m->formulation), integrator_words(m),
            m->drifts && !m->free && m->formulation != KD_PSF1 && m->formulation != KD_INDEX3 ? ", drifting" : "");
    return buffer;
}

// Is one of the words a..b (length n) this one?
static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(text, word, n) == 0;
}

static bool names_integrator(const kd_compare_method *m, const char *text, size_t n)
{
    return is_word(text, n, integrator_words(m)) || is_word(text, n, kd_integrator_word(m->integrator));
}

bool kd_compare_method_matches(const kd_compare_method *m, const char *words)
{
    if (!words) return true;
    for (const char *c = words; *c;) {
        c += strspn(c, ", ");
        size_t      n = strcspn(c, ", ");
        const char *plus = memchr(c, '+', n), *form = kd_formulation_word(m->formulation);
        if (plus && is_word(c, (size_t)(plus - c), form) && names_integrator(m, plus + 1, n - 1 - (size_t)(plus - c)))
            return true;
        if (!plus && n > 0 && (is_word(c, n, form) || names_integrator(m, c, n))) return true;
        c += n;
    }
    return false;
}

// ---- options --------------------------------------------------------------------------------------------------------

kd_simulation_options kd_compare_method_options(const kd_compare_method *m)
{
    if (!m) return (kd_simulation_options){0};
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = m->formulation;
    o.integrator = m->integrator;
    kd_integrator_set_variant(m->integrator, m->family, &o.integrator_options);
    if (m->projected) o.formulation_options.projection = KD_PROJECT_ALWAYS;
    o.formulation_options.invariants = kd_formulation_about(m->formulation)->keeps_invariants; // others watch them
    return o;
}
