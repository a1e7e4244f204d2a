// method.c: a sensible method for everyone who does not want to think about it.
//
// What fits together and which formulation suits an integrator says the library (kd_method_misfit,
// kd_method_formulation). Where the constraints are redundant only the decomposition by singular values works.
#include "cli/method.h"

#include <stddef.h>
#include <string.h>

#include "analysis/rank.h"
#include "core/text.h"

// words in the order of their enumerations
static const char *const DECOMPOSITIONS[] = {"lu", "qr", "svd"};
static const char *const DERIVATIVES[] = {"analytic", "dense", "grouped"};
static const char *const PATTERNS[] = {"topology", "estimated"};
static const char *const UPDATES[] = {"full", "partitioned", "extended"};
static const char *const FORMS[] = {"residual", "explicit"};
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

// All integrators by their words, made once
static const char *integrator_words(void)
{
    static char text[400];
    if (text[0]) return text;
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++)
        kd_text_append(text, sizeof text, "%s, ", kd_integrator_word((kd_integrator_kind)i));
    kd_text_append(text, sizeof text, "default: chosen");
    return text;
}

// Those that are several methods: "of cvode: bdf (default), adams; of ..."
static const char *variant_words(void)
{
    static char text[400];
    if (text[0]) return text;
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) {
        const kd_option *row = kd_integrator_variants((kd_integrator_kind)i);
        if (!row) continue;
        kd_text_append(text, sizeof text, "%sof %s: ", text[0] ? "; " : "", kd_integrator_word((kd_integrator_kind)i));
        for (int k = 0; row->words[k]; k++)
            kd_text_append(text, sizeof text, "%s%s%s", k > 0 ? ", " : "", row->words[k],
                           k == (int)row->standard ? " (default)" : "");
    }
    return text;
}

#define WORDS_OF_LIST(name, word, sentence) word ", "
// words of all options; what fits together is checked later
int kd_method_options(kd_method *m, kd_cli_option *options)
{
    const kd_cli_option list[] = {
        {"--formulation", "F", KD_FORMULATION_LIST(WORDS_OF_LIST) "default: chosen", KD_CLI_TEXT, &m->formulation},
        {"--integrator", "I", integrator_words(), KD_CLI_TEXT, &m->integrator},
        {"--method", "M", variant_words(), KD_CLI_TEXT, &m->family},
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
        {"--option", "NAME=VALUE",
         "any option of a formulation, an integrator, steps, start, events: radau.max_newton=7; kardan help options "
         "lists them; may be given several times",
         KD_CLI_LIST, &m->settings},
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

// all words are looked up before one is taken: a mistake in any of them is told
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
    // only what was given goes over the options of file and --option
    if (m->decomposition) o->constraints = (kd_decomposition)decomposition;
    if (m->derivatives) o->derivatives = (kd_derivatives)derivatives;
    if (m->pattern) o->estimated = pattern == 1;
    if (m->update) o->update = (kd_update)update;
    if (m->form) o->explicit_form = form == 1;
    if (m->projection) o->projection = (kd_projection)projection;
    if (m->parametrisation) o->parametrisation = (kd_parametrisation)parametrisation;
    // a bound alone means: project when it is exceeded
    if (m->projection_bound > 0) {
        o->projection_bound = m->projection_bound;
        if (!m->projection) o->projection = KD_PROJECT_BOUND;
    }
    return true;
}

// --method and --order-max; that they do not belong to the integrator is told by fits_order
static bool read_integrator_options(kd_method *m)
{
    kd_integrator_options *o = &m->options.integrator_options;
    const kd_option       *variants = kd_integrator_variants(m->options.integrator);
    char                   what[60];
    int                    i, count = 0;
    // variants of one integrator: bdf and adams of cvode
    if (m->family && variants) {
        while (variants->words[count]) count++;
        kd_text(what, sizeof what, "method of %s", kd_integrator_word(m->options.integrator));
        if (!choose(what, m->family, variants->words, count, &i)) return false;
        kd_integrator_set_variant(m->options.integrator, i, o);
    }
    // the order has another option with each integrator
    const char *order = kd_integrator_about(m->options.integrator, o)->order_option;
    char        number[20];
    kd_text(number, sizeof number, "%d", m->order_max);
    if (m->order_max > 0 && order) (void)!kd_option_set(&m->options, order, number, NULL, 0); // told by fits_order
    return true;
}

bool kd_method_asks(const kd_method *m, const char *name)
{
    // "radau.max_newton=7" names radau.max_newton
    const size_t n = strlen(name);
    for (int i = 0; i < m->settings.count; i++)
        if (strncmp(m->settings.word[i], name, n) == 0 && m->settings.word[i][n] == '=') return true;
    return false;
}

bool kd_method_sets(const kd_method *m, const char *name)
{
    for (int i = 0; m->run && i < m->run->noptions; i++)
        if (strcmp(m->run->option[i].name, name) == 0) return true;
    return kd_method_asks(m, name);
}

// in the order of the table of options
const char *kd_method_options_set(const kd_method *m, char *text, size_t size)
{
    const kd_option *row;
    char             value[100];
    kd_text(text, size, "%s", "");
    for (int i = 0; (row = kd_option_at(i)); i++)
        if (kd_method_sets(m, row->name) && kd_option_get(&m->options, row->name, value, sizeof value) >= 0)
            kd_text_append(text, size, "%s%s=%s", text[0] ? ", " : "", row->name, value);
    return text;
}

// Options of the model file, run: {radau: {max_newton: 7}}; --option goes over them
static bool read_run(kd_method *m)
{
    char message[500];
    if (!m->run || kd_run_set_options(m->run, &m->options, message, sizeof message) >= 0) return true;
    fprintf(stderr, "kardan: %s\n", message);
    return false;
}

// --option NAME=VALUE, as often as it was given
static bool read_settings(kd_method *m)
{
    char name[80], message[400];
    for (int i = 0; i < m->settings.count; i++) {
        const char *word = m->settings.word[i], *equals = strchr(word, '=');
        if (!equals) {
            fprintf(stderr, "kardan: --option wants NAME=VALUE, like radau.max_newton=7, not '%s'\n", word);
            return false;
        }
        kd_text(name, sizeof name, "%.*s", (int)(equals - word), word);
        if (kd_option_set(&m->options, name, equals + 1, message, sizeof message) >= 0) continue;
        fprintf(stderr, "kardan: --option %s\n", message);
        return false;
    }
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
    for (i = 0; i < KD_INTEGRATOR_COUNT; i++) integrators[i] = kd_integrator_word((kd_integrator_kind)i);
    // in this order: defaults, model file, --option, words of the command line
    m->options = kd_method_named(NULL);
    if (!read_run(m) || !read_settings(m)) return false;
    if (!choose(with_place(m->formulation_place, "formulation", what, sizeof what), m->formulation, formulations,
                KD_FORMULATION_COUNT, &i))
        return false;
    if (m->formulation) m->options.formulation = (kd_formulation)i;
    if (!choose(with_place(m->integrator_place, "integrator", what, sizeof what), m->integrator, integrators,
                KD_INTEGRATOR_COUNT, &i))
        return false;
    if (m->integrator) m->options.integrator = (kd_integrator_kind)i;
    return read_integrator_options(m) && read_formulation_options(m);
}

// what differs from the usual, counted by i
bool kd_method_setting_of(const kd_method *m, int i, kd_method_setting *out, char *buffer, size_t size)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    const bool                    bounded = o->projection == KD_PROJECT_BOUND;
    const kd_integrator_info     *about = kd_integrator_about(m->options.integrator, &m->options.integrator_options);
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
        {about->variant != NULL, {"method", "method", about->variant}, 0},
        {m->order_max > 0, {"order_max", "highest order", NULL}, m->order_max},
    };
    // the i-th that is told
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

// one sentence: what, why, what works
static bool refuse_method(const char *what, const char *why, const char *works)
{
    fprintf(stderr, "kardan: %s: %s; %s works\n", what, why, works);
    return false;
}

// "integrator bdf formulation ggl" as it is typed
static const char *typed(const char *names_and_values, char *text, size_t size)
{
    char        word[40];
    const char *c = names_and_values;
    kd_text(text, size, "%s", "");
    for (int i = 0; *c; i++) {
        // names get their dashes, values stay
        size_t n = strcspn(c, " ");
        kd_text(word, sizeof word, "%.*s", (int)n, c);
        kd_text_append(text, size, "%s%s%s", i > 0 ? " " : "", i % 2 == 0 ? "--" : "", word);
        c += n + strspn(c + n, " ");
    }
    return text;
}

// What the options of the library do not know: pictures, and a decomposition that was not asked for
static bool fits_pictures(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    const kd_formulation_info    *form = kd_formulation_about(m->options.formulation);
    bool                          special =
        o->derivatives != KD_DERIVATIVES_ANALYTIC || o->update != KD_UPDATE_FULL || o->explicit_form || m->shows_matrix;
    // forms whose matrix is not that of a Newton iteration have no picture
    if (m->shows_matrix && !form->strategies)
        return refuse_method("--jacobian-plots with this formulation",
                             form->has_rhs ? "its equations are solved inside"
                                           : "its matrix is reduced by selectors that change",
                             "--formulation ggl");
    // svd was chosen because of the start: then these options cannot be had
    if (o->constraints == KD_DECOMPOSE_SVD && special && !m->decomposition)
        return refuse_method("--derivatives, --update, --form or --jacobian-plots with svd",
                             "the constraints are redundant at the start, which svd alone can solve",
                             "leaving these options out");
    if (o->constraints == KD_DECOMPOSE_SVD && m->shows_matrix)
        return refuse_method("--jacobian-plots with svd", "its rows are combinations that change with the position",
                             "--decomposition lu");
    return true;
}

// Words that were given to a method that has no use for them
static bool fits_words(const kd_method *m)
{
    const kd_formulation_options *o = &m->options.formulation_options;
    if (m->pattern && o->derivatives != KD_DERIVATIVES_GROUPED)
        return refuse_method("--pattern", "only grouped differences have a pattern", "--derivatives grouped");
    if (m->parametrisation && m->options.formulation != KD_STATESPACE)
        return refuse_method("--parametrisation", "only statespace has coordinates of its own",
                             "--formulation statespace");
    if (m->projection_bound > 0 && m->projection && o->projection != KD_PROJECT_BOUND)
        return refuse_method("--projection-bound", "only --projection bound looks at it", "leaving one of the two out");
    if (m->family && !kd_integrator_variants(m->options.integrator))
        return refuse_method("--method", "this integrator is one method only", "--integrator cvode --method adams");
    return true;
}

// --order-max: within the range of the integrator
static bool fits_order(const kd_method *m)
{
    const kd_integrator_options *o = &m->options.integrator_options;
    const kd_integrator_info    *about = kd_integrator_about(m->options.integrator, o);
    if (m->order_max <= 0) return true;
    if (!about->order_option)
        return refuse_method("--order-max", "this integrator has no order that can be chosen", "--integrator bdf");
    // orders between least and highest, but for a gap
    const bool within = m->order_max >= about->order_least && m->order_max <= about->order;
    char       why[120], works[60], gap[20] = "";
    if (within && m->order_max != about->order_gap) return true;
    if (about->order_gap > 0) kd_text(gap, sizeof gap, " without %d", about->order_gap);
    kd_text(why, sizeof why, "%s has the orders %d to %d%s", about->own_word, about->order_least, about->order, gap);
    kd_text(works, sizeof works, "--order-max %d", about->order);
    return refuse_method("--order-max", why, works);
}

// words, order, pictures, then the rules of the library
static bool parts_fit(const kd_method *m)
{
    kd_misfit found;
    char      works[120];
    if (!fits_words(m) || !fits_order(m) || !fits_pictures(m)) return false;
    return !kd_method_misfit(&m->options, &found) ||
           refuse_method(found.what, found.why, typed(found.works, works, sizeof works));
}

// where the model file says so, the places are told
bool kd_method_check(const kd_method *m)
{
    if (parts_fit(m)) return true;
    if (m->formulation_place[0]) fprintf(stderr, "  %sformulation: %s\n", m->formulation_place, m->formulation);
    if (m->integrator_place[0]) fprintf(stderr, "  %sintegrator: %s\n", m->integrator_place, m->integrator);
    return false;
}

void kd_method_take_run(kd_method *m, const kd_subject *s)
{
    const kd_run_def *run = &s->run;
    m->run = run;
    const bool named = !m->automatic; // the words of the file count
    if (named && !m->formulation && run->formulation) {
        m->formulation = run->formulation;
        kd_subject_run_place(s, "formulation", m->formulation_place, sizeof m->formulation_place);
    }
    if (named && !m->integrator && run->integrator) {
        m->integrator = run->integrator;
        kd_subject_run_place(s, "integrator", m->integrator_place, sizeof m->integrator_place);
    }
    if (m->rtol <= 0) { // --rtol alone sets both
        m->rtol = run->rtol;
        if (m->atol <= 0) m->atol = run->atol;
    }
}

// ---- choice ---------------------------------------------------------------------------------------------------------

// --option before --rtol and --atol; rtol alone sets both
static void choose_tolerances(kd_method *m)
{
    const kd_integrator_options *o = &m->options.integrator_options;
    if (kd_method_asks(m, "steps.rtol")) m->rtol = o->rtol; // by --option, which goes first
    if (kd_method_asks(m, "steps.atol")) m->atol = o->atol;
    if (m->atol <= 0) m->atol = m->rtol > 0 ? m->rtol : o->atol;
    if (m->rtol <= 0) m->rtol = o->rtol;
    m->options.rtol = m->rtol;
    m->options.atol = m->atol;
}

// a system has left out what is redundant everywhere: only a singular start remains
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

// coordinates are the first word of the reason
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

// Is the method kardan's choice? Not where a part of it was named; options of one method are looked at by the library
static bool is_open(const kd_method *m)
{
    const char *const words[] = {m->formulation, m->integrator, m->decomposition, m->derivatives,     m->pattern,
                                 m->update,      m->form,       m->projection,    m->parametrisation, m->family};
    bool              open = !m->shows_matrix && m->order_max <= 0 && m->projection_bound <= 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) open = open && !words[i];
    return open;
}

// The method that a run begins with where it is chosen, and why: the simulation's, or found out here
static void take_choice(kd_method *m, const kd_subject *s, const kd_simulation *simulation, char *why, size_t size)
{
    kd_simulation_options open = kd_method_for_run(m);
    if (simulation) {
        open.formulation = kd_simulation_formulation(simulation);
        open.integrator = kd_simulation_integrator(simulation);
        kd_text(why, size, "%s", kd_simulation_choice(simulation));
    } else if (kd_method_automatic(s->eom, kd_subject_inputs(s), s->x, &open, why, size) < 0) {
        m->chosen = false;
        return;
    }
    m->options.formulation = open.formulation;
    m->options.integrator = open.integrator;
}

void kd_method_decide(kd_method *m, const kd_subject *s)
{
    kd_simulation_options *o = &m->options;
    choose_tolerances(m);
    // redundant at the start: only svd can solve
    m->redundant = !m->decomposition && !kd_method_sets(m, "form.constraints") && kd_method_is_redundant(s);
    if (m->redundant) o->formulation_options.constraints = KD_DECOMPOSE_SVD;
    // what suits the equations, and may change on the way, where no method is named
    m->chosen = !m->fixed && is_open(m);
    // a formulation that suits integrator and pictures, where none was asked for
    const kd_formulation suits = m->shows_matrix ? KD_GGL : kd_method_formulation(o);
    m->suited = !m->chosen && !m->formulation && suits != KD_PSF;
    if (m->suited) o->formulation = suits;
}

void kd_method_choose(kd_method *m, const kd_subject *s)
{
    kd_method_decide(m, s);
    kd_method_tell(m, s, NULL);
}

void kd_method_tell(kd_method *m, const kd_subject *s, const kd_simulation *simulation)
{
    const kd_simulation_options *o = &m->options;
    const kd_dims                d = kd_eom_dims(s->eom);
    const bool                   asked = m->formulation && m->integrator, other = m->suited;
    char                         why[200] = "";
    if (m->chosen) take_choice(m, s, simulation, why, sizeof why);
    // the reason in words: coordinates, method, why
    m->reason[0] = '\0';
    tell_coordinates(m, s);
    kd_text_append(m->reason, sizeof m->reason, "%s with %s", kd_formulation_word(o->formulation),
                   kd_integrator_word(o->integrator));
    if (asked)
        kd_text_append(m->reason, sizeof m->reason, ", as asked for");
    else if (other && o->integrator != kd_method_named(NULL).integrator)
        kd_text_append(m->reason, sizeof m->reason, ": a formulation that %s runs on",
                       kd_integrator_word(o->integrator));
    else if (other)
        kd_text_append(m->reason, sizeof m->reason, ": a formulation that has these options");
    else if (!m->chosen || o->formulation == KD_PSF)
        kd_text_append(m->reason, sizeof m->reason, ": %s", praise(m, d));
    if (why[0]) kd_text_append(m->reason, sizeof m->reason, ", %s", why);
    // some methods cannot do better than this tolerance
    double least = kd_integrator_about(o->integrator, &o->integrator_options)->least_rtol;
    if (o->rtol < least)
        kd_text_append(m->reason, sizeof m->reason, "; rtol %g is raised to %g, the least that rounding allows",
                       o->rtol, least);
    if (m->redundant) kd_text_append(m->reason, sizeof m->reason, "; svd, as constraints are redundant at the start");
}

kd_simulation_options kd_method_for_run(const kd_method *m)
{
    kd_simulation_options o = m->options;
    if (!m->chosen) return o;
    const kd_simulation_options open = kd_simulation_options_default();
    o.formulation = open.formulation;
    o.integrator = open.integrator;
    return o;
}
