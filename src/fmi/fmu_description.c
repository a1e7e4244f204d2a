// fmu_description.c: modelDescription.xml of FMI 2.0 and 3.0 read, and held against the rules of the standard.
//
// Rules: FMI 2.0.5 section 2.2, FMI 3.0.2 section 2.4: which variables need a start, which initial goes with which causality and
// variability, what ModelStructure must list. What the schemas say about elements is not repeated, but what a client needs.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "fmi/fmu_file.h"
#include "modelfile/xml.h"

typedef struct reader {
    kd_fmi_description   *d;
    kd_arena             *arena;
    kd_fmu_finding        tell;
    void                 *context;
    const kd_xml_element *root;
    const char          **unit; // (nunits) that are defined
    int                   nunits;
    bool                  failed;
} reader;

static const char *const CAUSALITY[] = {"parameter", "calculatedParameter", "structuralParameter", "input", "output",
                                        "local",     "independent"};
static const char *const VARIABILITY[] = {"constant", "fixed", "tunable", "discrete", "continuous"};
static const char *const INITIAL[] = {"", "exact", "approx", "calculated"};
#define TYPE_WORD(name, word) word,
static const char *const TYPE[] = {KD_FMI_TYPE_LIST(TYPE_WORD)};
#undef TYPE_WORD

const char *kd_fmi_type_word(kd_fmi_type type)
{
    return TYPE[type];
}

const char *kd_causality_word(kd_causality causality)
{
    return CAUSALITY[causality];
}

const char *kd_variability_word(kd_variability variability)
{
    return VARIABILITY[variability];
}

static void note_finding(reader *r, int line, bool fatal, const char *format, ...) KD_PRINTF(4, 5);
static void note_finding(reader *r, int line, bool fatal, const char *format, ...)
{
    char    text[600];
    va_list arguments;
    r->failed = r->failed || fatal;
    if (!r->tell) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->tell(line, fatal, text, r->context);
}

// ---- attributes -----------------------------------------------------------------------------------------------------

static const char *attribute(const kd_xml_element *e, const char *name)
{
    return e ? kd_xml_attribute_of(e, name) : NULL;
}

static bool is_true(const kd_xml_element *e, const char *name)
{
    const char *value = attribute(e, name);
    return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

static bool read_double(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static bool number(reader *r, const kd_xml_element *e, const char *name, double *value)
{
    const char *text = attribute(e, name);
    if (!text) return false;
    if (read_double(text, value) && isfinite(*value)) return true;
    note_finding(r, e->line, false, "%s=\"%.60s\" is no finite number", name, text);
    return false;
}

static int word_of(const char *text, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0) return i;
    return -1;
}

// A whole number that is not negative; -1: none
static long whole(const char *text)
{
    char      *end;
    const long value = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return value >= 0 && *end == '\0' && value <= 0xffffffffL ? value : -1;
}

static bool is_identifier(const char *text)
{
    for (const char *c = text; *c; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && !(c > text && *c >= '0' && *c <= '9')) return false;
    }
    return *text != '\0';
}

// ---- head -----------------------------------------------------------------------------------------------------------

static void read_interface(reader *r, const char *name, kd_fmi_interface *out)
{
    const kd_xml_element *e = kd_xml_child(r->root, name);
    if (!e) return;
    const bool two = r->d->version == 2;
    out->line = e->line;
    out->identifier = attribute(e, "modelIdentifier");
    if (!out->identifier || !is_identifier(out->identifier)) {
        note_finding(r, e->line, true, "%s has %s: it must be an identifier of C", name,
                     out->identifier ? "a wrong modelIdentifier" : "no modelIdentifier");
        out->identifier = out->identifier ? out->identifier : "";
    }
    // abilities, whose names differ between the versions
    out->saves = is_true(e, two ? "canGetAndSetFMUstate" : "canGetAndSetFMUState");
    out->serialises = is_true(e, two ? "canSerializeFMUstate" : "canSerializeFMUState");
    out->directional = is_true(e, two ? "providesDirectionalDerivative" : "providesDirectionalDerivatives");
    out->adjoint = is_true(e, "providesAdjointDerivatives");
    out->event_mode = is_true(e, "hasEventMode");
    out->variable_step = is_true(e, "canHandleVariableCommunicationStepSize");
    out->needs_completed_step =
        two ? !is_true(e, "completedIntegratorStepNotNeeded") : is_true(e, "needsCompletedIntegratorStep");
    if (out->serialises && !out->saves)
        note_finding(r, e->line, false, "%s serialises states that it cannot save", name);
}

static void read_head(reader *r)
{
    kd_fmi_description *d = r->d;
    const char         *version = attribute(r->root, "fmiVersion");
    if (strcmp(r->root->name, "fmiModelDescription") != 0)
        note_finding(r, r->root->line, true, "the description begins with <%.60s>, not with <fmiModelDescription>",
                     r->root->name);
    // rules of reading follow from the version
    if (version && strcmp(version, "2.0") == 0)
        d->version = 2;
    else if (version && version[0] == '3' && version[1] == '.')
        d->version = 3;
    else
        note_finding(r, r->root->line, true, "fmiVersion=\"%.40s\": 2.0 and 3.0 are known", version ? version : "");
    d->name = attribute(r->root, "modelName");
    d->token = attribute(r->root, d->version == 2 ? "guid" : "instantiationToken");
    d->about = attribute(r->root, "description");
    d->tool = attribute(r->root, "generationTool");
    if (!d->name || !*d->name) note_finding(r, r->root->line, false, "there is no modelName");
    if (!d->token || !*d->token)
        note_finding(r, r->root->line, true, "there is no %s", d->version == 2 ? "guid" : "instantiationToken");
    // at least one way of running it
    read_interface(r, "ModelExchange", &d->exchange);
    read_interface(r, "CoSimulation", &d->cosimulation);
    d->scheduled = kd_xml_child(r->root, "ScheduledExecution") != NULL;
    if (!d->exchange.identifier && !d->cosimulation.identifier && !d->scheduled)
        note_finding(r, r->root->line, true, "there is neither ModelExchange nor CoSimulation");
    // what the exporter proposes; nonsense is told, not refused
    const kd_xml_element *e = kd_xml_child(r->root, "DefaultExperiment");
    d->has_start = e && number(r, e, "startTime", &d->t_start);
    d->has_stop = e && number(r, e, "stopTime", &d->t_stop);
    d->has_step = e && number(r, e, "stepSize", &d->step);
    d->has_tolerance = e && number(r, e, "tolerance", &d->tolerance);
    if (d->has_stop && d->t_stop < d->t_start) note_finding(r, e->line, false, "stopTime is before startTime");
    if (d->has_step && !(d->step > 0)) note_finding(r, e->line, false, "stepSize is not positive");
    if (d->has_tolerance && !(d->tolerance > 0)) note_finding(r, e->line, false, "tolerance is not positive");
}

// ---- units ----------------------------------------------------------------------------------------------------------

static const kd_xml_element *first_child(const kd_xml_element *e)
{
    return e && e->ninside > 0 ? e->child : NULL;
}

static bool read_units(reader *r)
{
    const kd_xml_element *list = kd_xml_child(r->root, "UnitDefinitions");
    int                   count = 0;
    for (const kd_xml_element *e = first_child(list); e; e = e->next) count++;
    r->unit = kd_arena_cut(r->arena, (size_t)count + 1, sizeof *r->unit);
    if (!r->unit) return false;
    for (const kd_xml_element *e = first_child(list); e; e = e->next) {
        const char *name = attribute(e, "name");
        if (!name)
            note_finding(r, e->line, false, "a unit has no name");
        else
            r->unit[r->nunits++] = name;
    }
    return true;
}

static void check_unit(reader *r, const kd_fmi_variable *v)
{
    for (int i = 0; v->unit && i < r->nunits; i++)
        if (strcmp(r->unit[i], v->unit) == 0) return;
    if (v->unit) note_finding(r, v->line, false, "%.100s: its unit %.40s is not defined", v->name, v->unit);
}

// ---- variables ------------------------------------------------------------------------------------------------------

// FMI 2.0 names types otherwise, inside of <ScalarVariable>
static const kd_xml_element *typed_element(const reader *r, const kd_xml_element *e, kd_fmi_type *type)
{
    static const struct {
        const char *word;
        kd_fmi_type type;
    } TWO[] = {{"Real", KD_FMI_FLOAT64},
               {"Integer", KD_FMI_INT32},
               {"Boolean", KD_FMI_BOOLEAN},
               {"String", KD_FMI_STRING},
               {"Enumeration", KD_FMI_ENUMERATION}};
    if (r->d->version == 3) {
        const int k = word_of(e->name, TYPE, KD_FMI_TYPE_COUNT);
        *type = (kd_fmi_type)(k < 0 ? 0 : k);
        return k < 0 ? NULL : e;
    }
    // the type is an element of its own inside of the variable
    for (const kd_xml_element *inner = first_child(e); inner; inner = inner->next)
        for (size_t i = 0; i < sizeof TWO / sizeof *TWO; i++)
            if (strcmp(inner->name, TWO[i].word) == 0) {
                *type = TWO[i].type;
                return inner;
            }
    return NULL;
}

static bool is_float(kd_fmi_type type)
{
    return type == KD_FMI_FLOAT64 || type == KD_FMI_FLOAT32;
}

// The standard's default of initial for causality and variability
static kd_initial usual_initial(const kd_fmi_variable *v)
{
    if (v->causality == KD_CAUSALITY_INPUT || v->causality == KD_CAUSALITY_INDEPENDENT) return KD_INITIAL_NONE;
    if (v->causality == KD_CAUSALITY_PARAMETER || v->causality == KD_CAUSALITY_STRUCTURAL) return KD_INITIAL_EXACT;
    return v->variability == KD_VARIABILITY_CONSTANT ? KD_INITIAL_EXACT : KD_INITIAL_CALCULATED;
}

// Tables of 2.2.7 and 2.4.7.4: which belong together
static bool fits(const kd_fmi_variable *v)
{
    switch (v->causality) {
    case KD_CAUSALITY_PARAMETER:
    case KD_CAUSALITY_CALCULATED:
    case KD_CAUSALITY_STRUCTURAL:
        return v->variability == KD_VARIABILITY_FIXED || v->variability == KD_VARIABILITY_TUNABLE;
    case KD_CAUSALITY_INPUT:
        return v->variability == KD_VARIABILITY_DISCRETE || v->variability == KD_VARIABILITY_CONTINUOUS;
    case KD_CAUSALITY_OUTPUT:
        return v->variability == KD_VARIABILITY_CONSTANT || v->variability >= KD_VARIABILITY_DISCRETE;
    case KD_CAUSALITY_INDEPENDENT:
        return v->variability == KD_VARIABILITY_CONTINUOUS;
    default:
        return true;
    }
}

static void check_words(reader *r, const kd_fmi_variable *v, bool initial_given)
{
    if (!fits(v))
        note_finding(r, v->line, false, "%.100s: a variable that is %s cannot be %s", v->name, CAUSALITY[v->causality],
                     VARIABILITY[v->variability]);
    if (v->variability == KD_VARIABILITY_CONTINUOUS && !is_float(v->type))
        note_finding(r, v->line, false, "%.100s: a variable of type %s cannot be continuous", v->name, TYPE[v->type]);
    const bool may = r->d->version == 3 && v->causality == KD_CAUSALITY_INPUT && v->initial == KD_INITIAL_EXACT;
    if (initial_given && usual_initial(v) == KD_INITIAL_NONE && !may)
        note_finding(r, v->line, false, "%.100s: a variable that is %s must not have initial", v->name,
                     CAUSALITY[v->causality]);
    const bool needs = v->type != KD_FMI_CLOCK && (v->causality == KD_CAUSALITY_INPUT ||
                                                   v->initial == KD_INITIAL_EXACT || v->initial == KD_INITIAL_APPROX);
    if (needs && !v->start) note_finding(r, v->line, false, "%.100s: it needs a start value", v->name);
    if (v->start && (v->initial == KD_INITIAL_CALCULATED || v->causality == KD_CAUSALITY_INDEPENDENT))
        note_finding(r, v->line, false, "%.100s: it must not have a start value, as it is %s", v->name,
                     v->causality == KD_CAUSALITY_INDEPENDENT ? "the time" : "calculated");
}

static void check_numbers(reader *r, const kd_fmi_variable *v, const kd_xml_element *e)
{
    double start, least = -HUGE_VAL, most = HUGE_VAL, nominal = 1;
    if (!is_float(v->type) || v->is_array) return;
    if (attribute(e, "min")) (void)number(r, e, "min", &least);
    if (attribute(e, "max")) (void)number(r, e, "max", &most);
    if (attribute(e, "nominal") && number(r, e, "nominal", &nominal) && nominal == 0)
        note_finding(r, v->line, false, "%.100s: nominal must not be 0", v->name);
    if (least > most) note_finding(r, v->line, false, "%.100s: min is above max", v->name);
    if (!v->start) return;
    if (!read_double(v->start, &start))
        note_finding(r, v->line, false, "%.100s: start=\"%.40s\" is no number", v->name, v->start);
    else if (start < least || start > most)
        note_finding(r, v->line, false, "%.100s: its start is outside of min and max", v->name);
}

static void read_variable(reader *r, const kd_xml_element *e, kd_fmi_variable *v)
{
    const kd_xml_element *typed = typed_element(r, e, &v->type);
    const char           *causality = attribute(e, "causality"), *variability = attribute(e, "variability");
    const char           *initial = attribute(e, "initial");
    const long            reference = whole(attribute(e, "valueReference"));
    v->line = e->line;
    v->derivative = -1;
    v->name = attribute(e, "name");
    if (!v->name || !*v->name) note_finding(r, e->line, true, "a variable has no name");
    if (!v->name) v->name = "";
    if (!typed) note_finding(r, e->line, true, "%.100s: its type <%.60s> is not known", v->name, e->name);
    if (reference < 0) note_finding(r, e->line, true, "%.100s: its valueReference is missing or no number", v->name);
    v->reference = reference < 0 ? 0 : (unsigned)reference;
    // words that are missing have defaults, which depend on version, causality and type
    int k = causality ? word_of(causality, CAUSALITY, KD_CAUSALITY_COUNT) : KD_CAUSALITY_LOCAL;
    if (k < 0) note_finding(r, e->line, true, "%.100s: causality \"%.40s\" is not known", v->name, causality);
    v->causality = (kd_causality)(k < 0 ? KD_CAUSALITY_LOCAL : k);
    const bool parameter = v->causality <= KD_CAUSALITY_STRUCTURAL;
    k = variability         ? word_of(variability, VARIABILITY, KD_VARIABILITY_COUNT)
        : parameter         ? (r->d->version == 3 ? KD_VARIABILITY_FIXED : KD_VARIABILITY_CONTINUOUS)
        : is_float(v->type) ? KD_VARIABILITY_CONTINUOUS
                            : KD_VARIABILITY_DISCRETE;
    if (k < 0) note_finding(r, e->line, true, "%.100s: variability \"%.40s\" is not known", v->name, variability);
    v->variability = (kd_variability)(k < 0 ? KD_VARIABILITY_CONTINUOUS : k);
    k = initial ? word_of(initial, INITIAL, 4) : (int)usual_initial(v);
    if (k <= 0 && initial) note_finding(r, e->line, false, "%.100s: initial \"%.40s\" is not known", v->name, initial);
    v->initial = (kd_initial)(k < 0 ? 0 : k);
    // start values of texts are elements of their own in 3.0
    v->start = attribute(typed, "start");
    if (!v->start && r->d->version == 3 && (v->type == KD_FMI_STRING || v->type == KD_FMI_BINARY))
        v->start = attribute(kd_xml_child(e, "Start"), "value");
    v->unit = attribute(typed, "unit");
    v->is_array = r->d->version == 3 && kd_xml_child(e, "Dimension") != NULL;
    check_words(r, v, initial != NULL);
    if (typed) check_numbers(r, v, typed);
    check_unit(r, v);
}

// Which variable has this derivative attribute: a place from 1 on, or a reference
static int target_of(const reader *r, const char *text)
{
    const long value = whole(text);
    if (r->d->version == 2) return value >= 1 && value <= r->d->nvariables ? (int)value - 1 : -1;
    for (int i = 0; i < r->d->nvariables && value >= 0; i++)
        if (r->d->variable[i].reference == (unsigned)value) return i;
    return -1;
}

static void link_derivatives(reader *r, const kd_xml_element *list)
{
    int i = 0;
    // each variable that names another one as its integral
    for (const kd_xml_element *e = first_child(list); e; e = e->next, i++) {
        kd_fmi_type           type;
        kd_fmi_variable      *v = r->d->variable + i;
        const kd_xml_element *typed = typed_element(r, e, &type);
        const char           *text = attribute(typed, "derivative");
        if (!text) continue;
        // it must be there, be another one, and be continuous
        v->derivative = target_of(r, text);
        if (v->derivative < 0)
            note_finding(r, v->line, false, "%.100s: it is the derivative of a variable that is not there", v->name);
        else if (v->derivative == i)
            note_finding(r, v->line, false, "%.100s: it is its own derivative", v->name);
        else if (!is_float(r->d->variable[v->derivative].type) ||
                 r->d->variable[v->derivative].variability != KD_VARIABILITY_CONTINUOUS)
            note_finding(r, v->line, false, "%.100s: it is the derivative of a variable that is not continuous",
                         v->name);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(kd_fmi_variable *const *)a)->name, (*(kd_fmi_variable *const *)b)->name);
}

static int by_reference(const void *a, const void *b)
{
    const kd_fmi_variable *x = *(kd_fmi_variable *const *)a, *y = *(kd_fmi_variable *const *)b;
    return (x->reference > y->reference) - (x->reference < y->reference);
}

// Names are there once, in FMI 3.0 references, too
static void check_unique(reader *r)
{
    const int         n = r->d->nvariables;
    kd_fmi_variable **sorted = kd_arena_cut(r->arena, (size_t)n + 1, sizeof *sorted);
    if (!sorted) return;
    for (int i = 0; i < n; i++) sorted[i] = r->d->variable + i;
    qsort(sorted, (size_t)n, sizeof(kd_fmi_variable *), by_name);
    for (int i = 0; i + 1 < n; i++)
        if (strcmp(sorted[i]->name, sorted[i + 1]->name) == 0)
            note_finding(r, sorted[i + 1]->line, false, "%.100s: there are two variables of this name",
                         sorted[i]->name);
    if (r->d->version == 2) return;
    qsort(sorted, (size_t)n, sizeof(kd_fmi_variable *), by_reference);
    for (int i = 0; i + 1 < n; i++)
        if (sorted[i]->reference == sorted[i + 1]->reference)
            note_finding(r, sorted[i + 1]->line, false, "%.100s: its valueReference %u is that of %.100s, too",
                         sorted[i + 1]->name, sorted[i]->reference, sorted[i]->name);
}

static bool read_variables(reader *r)
{
    const kd_xml_element *list = kd_xml_child(r->root, "ModelVariables");
    int                   count = 0, times = 0;
    if (!list) {
        note_finding(r, r->root->line, true, "there are no ModelVariables");
        return true;
    }
    // counted first: references among variables are places in one array
    for (const kd_xml_element *e = first_child(list); e; e = e->next) count++;
    r->d->variable = kd_arena_cut(r->arena, (size_t)count + 1, sizeof *r->d->variable);
    if (!r->d->variable) return false;
    for (const kd_xml_element *e = first_child(list); e; e = e->next) {
        read_variable(r, e, r->d->variable + r->d->nvariables);
        times += r->d->variable[r->d->nvariables++].causality == KD_CAUSALITY_INDEPENDENT;
    }
    // links between variables, when all are there
    if (times > 1)
        note_finding(r, list->line, false, "there are %d independent variables; there is one time only", times);
    link_derivatives(r, list);
    check_unique(r);
    return true;
}

// ---- structure ------------------------------------------------------------------------------------------------------

// One unknown of a list; -1 after a finding
static int unknown_of(reader *r, const kd_xml_element *e, const char *list)
{
    const char *text = attribute(e, r->d->version == 2 ? "index" : "valueReference");
    const int   i = text ? target_of(r, text) : -1;
    if (i < 0)
        note_finding(r, e->line, false, "ModelStructure: %s lists %.40s, which is no variable", list,
                     text ? text : "nothing");
    // dependencies are variables, and have as many kinds
    int         ndependencies = 0, nkinds = 0;
    const char *words = attribute(e, "dependencies"), *kinds = attribute(e, "dependenciesKind");
    char        word[24];
    for (int used = 0; words && sscanf(words, "%23s%n", word, &used) == 1; words += used) {
        if (target_of(r, word) < 0)
            note_finding(r, e->line, false, "ModelStructure: an unknown of %s depends on %.20s, which is no variable",
                         list, word);
        ndependencies++;
    }
    for (int used = 0; kinds && sscanf(kinds, "%23s%n", word, &used) == 1; kinds += used) nkinds++;
    if (nkinds > 0 && nkinds != ndependencies)
        note_finding(r, e->line, false, "ModelStructure: an unknown of %s has %d dependencies and %d kinds", list,
                     ndependencies, nkinds);
    return i;
}

enum { OUTPUT = 1, RATE = 2, INITIAL_UNKNOWN = 4, INDICATOR = 8 };

// Marks the unknowns of a list (FMI 2.0) or with a name (3.0); answers how many there are
static int mark(reader *r, const kd_xml_element *structure, const char *two, const char *three, unsigned char *marks,
                unsigned char bit)
{
    const bool            is_two = r->d->version == 2;
    const kd_xml_element *list = is_two ? kd_xml_child(structure, two) : structure;
    int                   count = 0;
    for (const kd_xml_element *e = first_child(list); e; e = e->next) {
        if (strcmp(e->name, is_two ? "Unknown" : three) != 0) continue;
        const int i = unknown_of(r, e, is_two ? two : three);
        if (i >= 0 && marks[i] & bit)
            note_finding(r, e->line, false, "ModelStructure: %.100s is listed twice", r->d->variable[i].name);
        if (i >= 0) marks[i] |= bit;
        if (bit == RATE && r->d->rate && count < r->d->nvariables) r->d->rate[count] = i;
        count++;
    }
    return count;
}

// What must be listed is, and nothing else
static void check_marks(reader *r, const unsigned char *marks, const kd_xml_element *structure)
{
    unsigned char *is_state = kd_arena_cut(r->arena, (size_t)r->d->nvariables + 1, 1);
    if (!is_state) return;
    // a state is what a listed derivative is the derivative of
    for (int i = 0; i < r->d->nvariables; i++)
        if (marks[i] & RATE && r->d->variable[i].derivative >= 0) is_state[r->d->variable[i].derivative] = 1;
    for (int i = 0; i < r->d->nvariables; i++) {
        const kd_fmi_variable *v = r->d->variable + i;
        const bool             output = v->causality == KD_CAUSALITY_OUTPUT;
        // outputs are listed, and nothing else among them
        if (output != ((marks[i] & OUTPUT) != 0) && v->type != KD_FMI_CLOCK)
            note_finding(r, structure->line, false, "ModelStructure: %.100s is %s", v->name,
                         output ? "an output, but not listed among them" : "listed among the outputs, but none");
        if (marks[i] & RATE && v->derivative < 0)
            note_finding(r, structure->line, false, "ModelStructure: %.100s is listed as a derivative, but of nothing",
                         v->name);
        // what the start computes: outputs, states and rates without a given value
        const bool unknown = v->initial >= KD_INITIAL_APPROX &&
                             (output || v->causality == KD_CAUSALITY_CALCULATED || is_state[i] || marks[i] & RATE);
        if (unknown && !(marks[i] & INITIAL_UNKNOWN) && v->type != KD_FMI_CLOCK)
            note_finding(r, structure->line, false,
                         "ModelStructure: %.100s is unknown at the start, but not among the initial unknowns", v->name);
    }
}

static bool read_structure(reader *r)
{
    const kd_xml_element *structure = kd_xml_child(r->root, "ModelStructure");
    unsigned char        *marks = kd_arena_cut(r->arena, (size_t)r->d->nvariables + 1, 1);
    r->d->rate = kd_cut_int(r->arena, r->d->nvariables + 1);
    if (!marks || !r->d->rate) return false;
    // nothing works without it
    if (!structure) {
        note_finding(r, r->root->line, true, "there is no ModelStructure");
        return true;
    }
    // marks by list; rates in the order of the states
    (void)mark(r, structure, "Outputs", "Output", marks, OUTPUT);
    r->d->nstates = mark(r, structure, "Derivatives", "ContinuousStateDerivative", marks, RATE);
    (void)mark(r, structure, "InitialUnknowns", "InitialUnknown", marks, INITIAL_UNKNOWN);
    // a number in version 2, a list in version 3
    const char *indicators = attribute(r->root, "numberOfEventIndicators");
    const long  n = indicators ? whole(indicators) : 0;
    if (r->d->version == 2 && (n < 0 || n > 1000000))
        note_finding(r, r->root->line, true, "numberOfEventIndicators=\"%.30s\" is no sensible number", indicators);
    r->d->nindicators = r->d->version == 2 ? (int)(n < 0 || n > 1000000 ? 0 : n)
                                           : mark(r, structure, "", "EventIndicator", marks, INDICATOR);
    check_marks(r, marks, structure);
    return true;
}

kd_status kd_fmi_description_read(const char *text, size_t length, kd_arena *arena, kd_fmi_description *about,
                                  kd_fmu_finding tell, void *context, char *message, size_t size)
{
    kd_xml_element *root;
    int             line = 0;
    char            why[400] = "";
    *about = (kd_fmi_description){0};
    // the tree, then its parts in the order in which they refer to each other
    kd_status status = kd_xml_read(text, length, arena, &root, &line, why, sizeof why);
    if (status < 0) {
        kd_text(message, size, "modelDescription.xml:%d: %s", line, *why ? why : kd_status_sentence(status));
        return status;
    }
    reader r = {.d = about, .arena = arena, .tell = tell, .context = context, .root = root};
    read_head(&r);
    if (about->version == 0 || !read_units(&r) || !read_variables(&r) || !read_structure(&r)) {
        if (arena->failed) return KD_ERR_MEMORY;
    }
    // what breaks the rules was told one by one
    if (r.failed) kd_text(message, size, "its description breaks the rules of the standard");
    return r.failed ? KD_ERR_FILE : KD_OK;
}
