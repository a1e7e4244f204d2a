// method.c: a sensible method for everyone who does not want to think about it.
//
// psf with radau keeps the constraints on all levels to rounding, and was the fastest on chains of 10 to 70 bodies in
// Cartesian coordinates, too (70 bodies, 4 steps: psf 5.9 s, ggl 10 s). bdf runs on psf, too, but ggl, whose
// matrix is sparse and may be updated, is chosen there; ida does not.
// Where the constraints are redundant only the decomposition by singular values works.
#include "cli/method.h"

#include <stddef.h>
#include <string.h>

#include "analysis/rank.h"
#include "core/text.h"

static const char *const DECOMPOSITIONS[] = {"lu", "qr", "svd"};
static const char *const DERIVATIVES[] = {"analytic", "dense", "grouped"};
static const char *const PATTERNS[] = {"topology", "estimated"};
static const char *const UPDATES[] = {"full", "partitioned", "extended"};
static const char *const FORMS[] = {"residual", "explicit"};
static const char *const CVODE_METHODS[] = {
#define WORD_OF_LIST(name, word, sentence) [name] = word,
    KD_CVODE_METHOD_LIST(WORD_OF_LIST)};
static const char *const ARKODE_METHODS[] = {KD_ARKODE_METHOD_LIST(WORD_OF_LIST)};
static const char *const SDIRK_METHODS[] = {KD_SDIRK_METHOD_LIST(WORD_OF_LIST)
#undef WORD_OF_LIST
};
static const char *const PROJECTIONS[] = {"never", "bound", "always", "auto"}; // in the order of kd_projection
static const char *const PARAMETRISATIONS[] = {"partition", "tangent"};

const char *kd_method_decomposition(const kd_method *m)
{
    return DECOMPOSITIONS[m->options.formulation_options.constraints];
}

const char *kd_method_coordinates(const kd_subject *s)
{
    return s->coordinates == KD_CARTESIAN ? "cartesian" : "joint";
}

// ---- words ----------------------------------------------------------------------------------------------------------

#define WORDS_OF_LIST(name, word, sentence) word ", "
int kd_method_options(kd_method *m, kd_cli_option *options)
{
    const kd_cli_option list[] = {
        {"--formulation", "F", KD_FORMULATION_LIST(WORDS_OF_LIST) "default: chosen", KD_CLI_TEXT, &m->formulation},
        {"--integrator", "I", KD_INTEGRATOR_LIST(WORDS_OF_LIST) "default: chosen", KD_CLI_TEXT, &m->integrator},
        {"--method", "M",
         "of cvode: bdf (default), adams; of arkode: erk (default), dirk; of sdirk: sdirk (default), esdirk, "
         "rosenbrock",
         KD_CLI_TEXT, &m->family},
        {"--decomposition", "D", "of the constraints: lu, qr, svd (redundant constraints); default: chosen",
         KD_CLI_TEXT, &m->decomposition},
        {"--derivatives", "D", "of the Newton matrix: analytic (default), dense or grouped differences", KD_CLI_TEXT,
         &m->derivatives},
        {"--pattern", "P", "of grouped differences: topology (default), estimated", KD_CLI_TEXT, &m->pattern},
        {"--update", "U", "renewal of the Newton matrix: full (default), partitioned, extended", KD_CLI_TEXT,
         &m->update},
        {"--form", "F", "of the dynamics: residual (default), explicit", KD_CLI_TEXT, &m->form},
        {"--projection", "P",
         "onto the constraints: never, bound (when --projection-bound is exceeded), always; default: always for ode "
         "with "
         "explicit methods, otherwise never",
         KD_CLI_TEXT, &m->projection},
        {"--projection-bound", "B", "largest violation that is left alone; default 1e-8", KD_CLI_POSITIVE,
         &m->projection_bound},
        {"--parametrisation", "P", "of statespace: partition (default), tangent", KD_CLI_TEXT, &m->parametrisation},
        {"--order-max", "K",
         "highest order of bdf, cvode and extrapolation, order of arkode; default: 5, adams 12, extrapolation 18",
         KD_CLI_COUNT, &m->order_max},
        {"--rtol", "R", "relative tolerance, without --atol the absolute one as well; default: the model's",
         KD_CLI_POSITIVE, &m->rtol},
        {"--atol", "A", "absolute tolerance; default: the model's", KD_CLI_POSITIVE, &m->atol},
    };
    memcpy(options, list, sizeof list);
    return (int)(sizeof list / sizeof *list);
}

// Was a projection asked for? KD_PROJECT_AUTO is the simulation's own choice.
static bool projects(const kd_formulation_options *o)
{
    return o->projection == KD_PROJECT_BOUND || o->projection == KD_PROJECT_ALWAYS;
}

// word -> index into list; a missing word is index 0. false: unknown
static bool choose(const char *what, const char *word, const char *const *list, int count, int *index)
{
    *index = word ? kd_cli_choose(what, word, list, count) : 0;
    return *index >= 0;
}

static bool read_formulation_options(kd_method *m)
{
    kd_formulation_options *o = &m->options.formulation_options;
    int                     decomposition, derivatives, pattern, update, form, projection, parametrisation;
    if (!choose("decomposition", m->decomposition, DECOMPOSITIONS, 3, &decomposition) ||
        !choose("word for --derivatives", m->derivatives, DERIVATIVES, 3, &derivatives) ||
        !choose("word for --pattern", m->pattern, PATTERNS, 2, &pattern) ||
        !choose("word for --update", m->update, UPDATES, 3, &update) ||
        !choose("word for --form", m->form, FORMS, 2, &form) ||
        !choose("word for --projection", m->projection, PROJECTIONS, 3, &projection) ||
        !choose("word for --parametrisation", m->parametrisation, PARAMETRISATIONS, 2, &parametrisation))
        return false;
    if (m->decomposition) o->constraints = (kd_decomposition)decomposition;
    if (m->derivatives) o->derivatives = (kd_derivatives)derivatives;
    if (m->pattern) o->estimated = pattern == 1;
    if (m->update) o->update = (kd_update)update;
    if (m->form) o->explicit_form = form == 1;
    if (m->projection) o->projection = (kd_projection)projection;
    if (m->parametrisation) o->parametrisation = (kd_parametrisation)parametrisation;
    if (m->projection_bound > 0) {
        o->projection_bound = m->projection_bound;
        if (!m->projection) o->projection = KD_PROJECT_BOUND;
    }
    return true;
}

// --method and --order-max
static bool read_integrator_options(kd_method *m)
{
    kd_simulation_options *o = &m->options;
    int                    i;
    if (m->family && o->integrator == KD_CVODE) {
        if (!choose("method of cvode", m->family, CVODE_METHODS, KD_CVODE_METHOD_COUNT, &i)) return false;
        o->cvode.method = (kd_cvode_method)i;
    } else if (m->family && o->integrator == KD_ARKODE) {
        if (!choose("method of arkode", m->family, ARKODE_METHODS, KD_ARKODE_METHOD_COUNT, &i)) return false;
        o->arkode.method = (kd_arkode_method)i;
    } else if (m->family && o->integrator == KD_SDIRK) {
        if (!choose("method of sdirk", m->family, SDIRK_METHODS, KD_SDIRK_METHOD_COUNT, &i)) return false;
        o->sdirk.method = (kd_sdirk_method)i;
    }
    if (m->order_max > 0)
        o->bdf.order_max = o->cvode.order_max = o->arkode.order = o->extrapolation.order_max = m->order_max;
    return true;
}

static const char *with_place(const char *place, const char *what, char *text, size_t size)
{
    kd_text(text, size, "%s%s%s", place, place[0] ? "|" : "", what);
    return text;
}

bool kd_method_read(kd_method *m)
{
    const char *formulations[KD_FORMULATION_COUNT], *integrators[KD_INTEGRATOR_COUNT];
    char        what[450];
    int         i;
    for (i = 0; i < KD_FORMULATION_COUNT; i++) formulations[i] = kd_formulation_word((kd_formulation)i);
    for (i = 0; i < KD_INTEGRATOR_COUNT; i++) integrators[i] = kd_integrator_word((kd_integrator)i);
    m->options = kd_simulation_options_default();
    if (!choose(with_place(m->formulation_place, "formulation", what, sizeof what), m->formulation, formulations,
                KD_FORMULATION_COUNT, &i))
        return false;
    if (m->formulation) m->options.formulation = (kd_formulation)i;
    if (!choose(with_place(m->integrator_place, "integrator", what, sizeof what), m->integrator, integrators,
                KD_INTEGRATOR_COUNT, &i))
        return false;
    if (m->integrator) m->options.integrator = (kd_integrator)i;
    return read_integrator_options(m) && read_formulation_options(m);
}

bool kd_method_setting_of(const kd_method *m, int i, kd_method_setting *out, char *buffer, size_t size)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    const bool                    bounded = o->projection == KD_PROJECT_BOUND;
    const struct {
        bool              told;
        kd_method_setting setting;
        double            number; // where there is no word
    } list[] = {
        {o->derivatives != KD_DERIVATIVES_ANALYTIC, {"derivatives", "derivatives", DERIVATIVES[o->derivatives]}, 0},
        {o->derivatives == KD_DERIVATIVES_GROUPED, {"pattern", "pattern", PATTERNS[o->estimated]}, 0},
        {o->update != KD_UPDATE_FULL, {"update", "updates of the Newton matrix", UPDATES[o->update]}, 0},
        {o->explicit_form, {"form", "form of the dynamics", FORMS[o->explicit_form]}, 0},
        {projects(o), {"projection", "projection", PROJECTIONS[o->projection]}, 0},
        {bounded, {"projection_bound", "projection above", NULL}, o->projection_bound},
        {m->parametrisation != NULL, {"parametrisation", "parametrisation", PARAMETRISATIONS[o->parametrisation]}, 0},
        {m->options.integrator == KD_CVODE, {"method", "method", CVODE_METHODS[m->options.cvode.method]}, 0},
        {m->options.integrator == KD_ARKODE, {"method", "method", ARKODE_METHODS[m->options.arkode.method]}, 0},
        {m->options.integrator == KD_SDIRK, {"method", "method", SDIRK_METHODS[m->options.sdirk.method]}, 0},
        {m->order_max > 0, {"order_max", "highest order", NULL}, m->order_max},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        if (!list[k].told || i-- > 0) continue;
        *out = list[k].setting;
        if (!out->value) {
            kd_text(buffer, size, "%g", list[k].number);
            out->value = buffer;
        }
        return true;
    }
    return false;
}

// ---- what fits together ---------------------------------------------------------------------------------------------

static bool refuse(const char *what, const char *why, const char *works)
{
    fprintf(stderr, "kardan: %s: %s; %s works\n", what, why, works);
    return false;
}

static bool is_psf(kd_formulation form)
{
    return form == KD_PSF || form == KD_PSF1;
}

// Methods of sdirk that integrate x' = rhs only: esdirk, rosenbrock
static bool needs_rhs(const kd_method *m)
{
    return m->options.integrator == KD_SDIRK && m->options.sdirk.method != KD_SDIRK_NEWTON;
}

// Is what was asked for possible with psf?
static bool psf_can(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    const bool                    one_step = m->options.integrator == KD_RADAU || m->options.integrator == KD_SDIRK;
    return one_step && !needs_rhs(m) && o->derivatives == KD_DERIVATIVES_ANALYTIC && o->update == KD_UPDATE_FULL &&
           !o->explicit_form && !projects(o) && !m->shows_matrix;
}

// psf differentiates and eliminates level by level
static bool fits_psf(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    if (!is_psf(m->options.formulation)) return true;
    if (m->shows_matrix)
        return refuse("--jacobian-plots with psf", "its matrix is reduced by selectors that change",
                      "--formulation ggl");
    if (o->derivatives != KD_DERIVATIVES_ANALYTIC)
        return refuse("--derivatives with psf", "it needs the derivatives of every level of the constraints",
                      "--formulation ggl");
    if (o->update != KD_UPDATE_FULL)
        return refuse("--update with psf", "its selectors follow the constraint matrices", "--formulation ggl");
    if (o->explicit_form)
        return refuse("--form explicit with psf", "its dynamics are projected, not solved for", "--formulation ggl");
    return true;
}

static bool is_for_ode(kd_integrator integrator)
{
    return integrator == KD_CVODE || integrator == KD_ARKODE || integrator == KD_DOPRI5 || integrator == KD_DOP853 ||
           integrator == KD_HALF_EXPLICIT || integrator == KD_EXTRAPOLATION;
}

static bool has_methods(kd_integrator integrator)
{
    return integrator == KD_CVODE || integrator == KD_ARKODE;
}

// cvode, arkode, dopri5, dop853, half-explicit and extrapolation solve ordinary differential equations, the others
// implicit ones
static bool fits_integrator(const kd_method *m)
{
    const kd_simulation_options *o = &m->options;
    const bool                   ode = o->formulation == KD_ODE || o->formulation == KD_STATESPACE;
    if (is_for_ode(o->integrator) && !ode)
        return refuse("--integrator cvode, arkode, dopri5, dop853, half-explicit or extrapolation",
                      "they integrate ordinary differential equations", "--formulation ode");
    if (o->integrator == KD_HALF_EXPLICIT && o->formulation != KD_ODE)
        return refuse("--integrator half-explicit with statespace",
                      "it imposes the constraints, which that form has eliminated", "--formulation ode");
    if (needs_rhs(m) && !ode)
        return refuse(m->options.sdirk.method == KD_SDIRK_ROSENBROCK ? "--method rosenbrock" : "--method esdirk",
                      "it integrates ordinary differential equations", "--formulation ode");
    if (o->integrator == KD_SDIRK && o->formulation == KD_INDEX3)
        return refuse("--integrator sdirk with index3", "its stages of order 1 leave the multipliers wrong",
                      "--formulation psf");
    if (o->integrator == KD_IDA && projects(&o->formulation_options))
        return refuse("--projection with ida", "it cannot continue from a state that was moved", "--integrator bdf");
    if (ode && (m->derivatives || m->update || m->form || m->shows_matrix))
        return refuse("--derivatives, --update, --form or --jacobian-plots with ode or statespace",
                      "its equations are solved inside",
                      is_for_ode(o->integrator) || needs_rhs(m) ? "--integrator bdf --formulation ggl"
                                                                : "--formulation ggl");
    if (o->integrator == KD_IDA && o->formulation_options.update != KD_UPDATE_FULL)
        return refuse("--update with ida", "it evaluates or keeps its matrix by its own rules", "--integrator bdf");
    return true;
}

// Redundant constraints: rows are combined by singular vectors that change with the point
static bool fits_decomposition(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    bool                          special =
        o->derivatives != KD_DERIVATIVES_ANALYTIC || o->update != KD_UPDATE_FULL || o->explicit_form || m->shows_matrix;
    if (o->constraints != KD_DECOMPOSE_SVD || !special) return true;
    return refuse("--derivatives, --update, --form or --jacobian-plots with svd",
                  m->decomposition ? "its rows are combinations that change with the position"
                                   : "the constraints are redundant at the start, which svd alone can solve",
                  m->decomposition ? "--decomposition lu" : "leaving these options out");
}

static bool fits_projection(const kd_method *m)
{
    static const kd_formulation   drifting[] = {KD_INDEX2, KD_INDEX1, KD_BAUMGARTE2, KD_BAUMGARTE1, KD_ODE};
    const kd_formulation_options *o = &m->options.formulation_options;
    if (m->projection_bound > 0 && m->projection && o->projection != KD_PROJECT_BOUND)
        return refuse("--projection-bound", "only --projection bound looks at it", "leaving one of the two out");
    if (!projects(o)) return true;
    if (o->projection == KD_PROJECT_BOUND && m->options.integrator == KD_CVODE)
        return refuse("--projection bound with cvode", "a projection now and then looks like an error to its history",
                      "--projection always");
    for (size_t i = 0; i < sizeof drifting / sizeof *drifting; i++)
        if (m->options.formulation == drifting[i]) return true;
    return refuse("--projection", "this formulation keeps its positions on the constraints by itself",
                  "--formulation index2");
}

// --method and --order-max
static bool fits_order(const kd_method *m)
{
    kd_integrator integrator = m->options.integrator;
    if (m->family && !has_methods(integrator) && integrator != KD_SDIRK)
        return refuse("--method", "only cvode, arkode and sdirk have more than one",
                      "--integrator cvode --method adams");
    if (m->order_max > 5 && integrator == KD_BDF)
        return refuse("--order-max", "the BDF formulas are stable up to order 5", "--order-max 5");
    if (m->order_max > 5 && integrator == KD_CVODE && m->options.cvode.method == KD_CVODE_BDF)
        return refuse("--order-max", "the BDF formulas are stable up to order 5", "--order-max 5 or --method adams");
    if (m->order_max > 12 && integrator == KD_CVODE)
        return refuse("--order-max", "the formulas of Adams go up to order 12", "--order-max 12");
    bool erk = m->options.arkode.method == KD_ARKODE_ERK;
    if (integrator == KD_ARKODE && m->order_max > 0 &&
        (m->order_max == 1 || m->order_max == 7 || m->order_max > (erk ? 8 : 5)))
        return refuse("--order-max", erk ? "erk has the orders 2 to 6 and 8" : "dirk has the orders 2 to 5",
                      "--order-max 5");
    if (integrator == KD_EXTRAPOLATION && m->order_max > 0 &&
        (m->order_max < 4 || m->order_max > KD_EXTRAPOLATION_ORDER_MAX))
        return refuse("--order-max", "extrapolation has the even orders 4 to 20", "--order-max 12");
    if (m->order_max > 0 && integrator != KD_BDF && integrator != KD_EXTRAPOLATION && !has_methods(integrator))
        return refuse("--order-max", "only bdf, cvode, arkode and extrapolation have an order that can be chosen",
                      "--integrator bdf");
    return true;
}

static bool parts_fit(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    if (m->pattern && o->derivatives != KD_DERIVATIVES_GROUPED)
        return refuse("--pattern", "only grouped differences have a pattern", "--derivatives grouped");
    if (m->parametrisation && m->options.formulation != KD_STATESPACE)
        return refuse("--parametrisation", "only statespace has coordinates of its own", "--formulation statespace");
    return fits_order(m) && fits_integrator(m) && fits_psf(m) && fits_decomposition(m) && fits_projection(m);
}

bool kd_method_fits(const kd_method *m)
{
    if (parts_fit(m)) return true;
    if (m->formulation_place[0]) fprintf(stderr, "  %sformulation: %s\n", m->formulation_place, m->formulation);
    if (m->integrator_place[0]) fprintf(stderr, "  %sintegrator: %s\n", m->integrator_place, m->integrator);
    return false;
}

// ---- choice ---------------------------------------------------------------------------------------------------------

static void choose_tolerances(kd_method *m)
{
    const kd_simulation_options *o = &m->options;
    bool                         is_ida = o->integrator == KD_IDA;
    if (m->atol <= 0) m->atol = m->rtol > 0 ? m->rtol : is_ida ? o->ida.atol : o->radau.atol;
    if (m->rtol <= 0) m->rtol = is_ida ? o->ida.rtol : o->radau.rtol;
    m->options.rtol = m->rtol;
    m->options.atol = m->atol;
}

bool kd_method_is_redundant(const kd_subject *s)
{
    if (s->system) return s->info.nsingular > 0; // what is redundant everywhere is left out
    kd_dims  d = kd_eom_dims(s->eom);
    kd_rank *rank = NULL;
    if (d.nlambda + d.nmu == 0 || kd_rank_create(s->eom, kd_subject_inputs(s), &rank) < 0) return false;
    int found = kd_rank_at(rank, s->x);
    kd_rank_destroy(rank);
    return found >= 0 && found < d.nlambda + d.nmu;
}

static void tell_coordinates(kd_method *m, const kd_subject *s)
{
    if (!s->system) return;
    if (s->coordinates == KD_CARTESIAN)
        kd_text_append(m->reason, sizeof m->reason, "cartesian coordinates (%d bod%s), ", s->info.nbodies,
                       s->info.nbodies == 1 ? "y" : "ies");
    else if (s->info.nloops == 0)
        kd_text_append(m->reason, sizeof m->reason, "joint coordinates (tree without loops), ");
    else
        kd_text_append(m->reason, sizeof m->reason, "joint coordinates (tree with %d loop%s), ", s->info.nloops,
                       s->info.nloops == 1 ? "" : "s");
}

// Why the formulation is good here
static const char *praise(const kd_method *m, kd_dims d)
{
    if (d.nlambda + d.nmu + d.ns == 0) return "no constraints, so that all formulations are the same";
    switch (m->options.formulation) {
    case KD_PSF:
        return "keeps the constraints on all levels to rounding";
    case KD_GGL:
        return "keeps the constraints on position and velocity level";
    default:
        return kd_formulation_sentence(m->options.formulation);
    }
}

// Where psf is not possible
static kd_formulation formulation_for(const kd_method *m)
{
    if (is_for_ode(m->options.integrator) || needs_rhs(m)) return KD_ODE;
    return projects(&m->options.formulation_options) ? KD_INDEX2 : KD_GGL;
}

void kd_method_choose(kd_method *m, const kd_subject *s)
{
    kd_simulation_options *o = &m->options;
    kd_dims                d = kd_eom_dims(s->eom);
    bool                   asked = m->formulation && m->integrator;
    bool                   other = !m->formulation && !psf_can(m);
    if (other) o->formulation = formulation_for(m);
    choose_tolerances(m);
    m->reason[0] = '\0';
    tell_coordinates(m, s);
    kd_text_append(m->reason, sizeof m->reason, "%s with %s", kd_formulation_word(o->formulation),
                   kd_integrator_word(o->integrator));
    if (asked)
        kd_text_append(m->reason, sizeof m->reason, ", as asked for");
    else if (other && o->integrator != KD_RADAU)
        kd_text_append(m->reason, sizeof m->reason, ": a formulation that %s runs on",
                       kd_integrator_word(o->integrator));
    else if (other)
        kd_text_append(m->reason, sizeof m->reason, ": a formulation that has these options");
    else
        kd_text_append(m->reason, sizeof m->reason, ": %s", praise(m, d));
    double least = kd_integrator_least_rtol(o->integrator);
    if (o->rtol < least)
        kd_text_append(m->reason, sizeof m->reason, "; rtol %g is raised to %g, the least that rounding allows",
                       o->rtol, least);
    if (!m->decomposition && kd_method_is_redundant(s)) {
        o->formulation_options.constraints = KD_DECOMPOSE_SVD;
        kd_text_append(m->reason, sizeof m->reason, "; svd, as constraints are redundant at the start");
    }
}
