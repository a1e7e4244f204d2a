// compare_methods.c: which formulation makes sense with which integrator: what the classes of the integrators tell
// (kd_integrator_info.compared), made a list.
//
// Forms that keep the constraints themselves (psf, ggl, odassl, statespace) run as they are. Forms that drift (index2,
// index1, ode) make sense with a projection after every step, where the integrator can go on from a projected state;
// without it, and with Baumgarte's terms or index 3, they are there for comparison only.
#include <kardan/compare.h>

#include <string.h>

#include "core/text.h"

// ---- the list -------------------------------------------------------------------------------------------------------

// One word of `compared`, "psf*1", as a method of the integrator; false: it names no formulation
static bool read_word(const char *text, size_t n, kd_integrator_kind kind, int family, const kd_integrator_info *about,
                      kd_compare_method *out)
{
    char           word[40];
    kd_formulation form;
    size_t         letters = n;
    // marks stand behind the word, which is the longest that there is: psf1, index1 end with a digit of their own
    for (; letters > 0; letters--) {
        kd_text(word, sizeof word, "%.*s", (int)letters, text);
        if (kd_formulation_parse(word, &form)) break;
    }
    if (letters == 0) return false;
    const char                *marks = text + letters;
    const size_t               nmarks = n - letters;
    const kd_formulation_info *info = kd_formulation_about(form);
    *out = (kd_compare_method){.formulation = form,
                               .integrator = kind,
                               .family = family,
                               .drifts = memchr(marks, '-', nmarks) != NULL,
                               .free = memchr(marks, '*', nmarks) != NULL,
                               .is_explicit = about->is_explicit,
                               .uses_gII = info->uses_gII && about->needs != KD_INTEGRATES_STAGES};
    out->projected = info->drifts && !out->drifts;
    for (size_t i = 0; i < nmarks; i++)
        if (marks[i] >= '1' && marks[i] <= '9') out->partner = marks[i] - '0';
    return true;
}

typedef struct method_list {
    kd_compare_method *list;
    int                size, count;
} method_list;

// The methods of one integrator, with one of its variants, on one formulation
static void add_methods(method_list *all, kd_formulation form, kd_integrator_kind kind, int family, bool drifts)
{
    kd_integrator_options o = kd_integrator_options_default();
    kd_integrator_set_variant(kind, family, &o);
    const kd_integrator_info *about = kd_integrator_about(kind, &o);
    for (const char *c = about && about->compared ? about->compared : ""; *c;) {
        kd_compare_method m;
        const size_t      n = strcspn(c, " ");
        const bool        read = n > 0 && read_word(c, n, kind, family, about, &m);
        c += n + strspn(c + n, " ");
        if (!read || m.formulation != form || (m.drifts && !m.free) != drifts) continue;
        if (all->list && all->count < all->size) all->list[all->count] = m;
        all->count++;
    }
}

int kd_compare_methods(kd_compare_method *list, int size)
{
    method_list all = {list, size, 0};
    // those that keep the constraints first, by formulation, integrator and variant
    for (int drifts = 0; drifts < 2; drifts++)
        for (int form = 0; form < KD_FORMULATION_COUNT; form++)
            for (int kind = 0; kind < KD_INTEGRATOR_COUNT; kind++) {
                const kd_option *variants = kd_integrator_variants((kd_integrator_kind)kind);
                for (int family = 0; variants ? variants->words[family] != NULL : family == 0; family++)
                    add_methods(&all, (kd_formulation)form, (kd_integrator_kind)kind, family, drifts);
            }
    return all.count;
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
            m->drifts && !m->free && kd_formulation_about(m->formulation)->drifts ? ", drifting" : "");
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
    if (!m) return false;
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
