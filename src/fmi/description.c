// description.c: modelDescription.xml of FMI 2.0 and 3.0 from the list of variables of a plant.
//
// All variables are real numbers. States and outputs are calculated at the start, so that both they and the derivatives are
// initial unknowns; what depends on what is left open, which means: on everything.
#include "fmi/description.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "expr/quantity.h"

typedef struct text {
    char  *bytes;
    size_t size, room;
    bool   failed;
} text;

typedef struct page {
    text                      out;
    const kd_plant           *plant;
    const kd_description_def *def;
    const kd_plant_variable  *variable;
    int                       count;
} page;

// ---- text -----------------------------------------------------------------------------------------------------------

static void write_bytes(text *t, const char *bytes, size_t n)
{
    if (t->failed) return;
    // room doubles, so that a long description is not copied at every word
    if (t->size + n + 1 > t->room) {
        const size_t room = 2 * (t->size + n) + 4096;
        char        *larger = kd_alloc(room);
        if (!larger) {
            t->failed = true;
            return;
        }
        if (t->size > 0) memcpy(larger, t->bytes, t->size);
        kd_free(t->bytes);
        t->bytes = larger;
        t->room = room;
    }
    memcpy(t->bytes + t->size, bytes, n);
    t->size += n;
    t->bytes[t->size] = '\0';
}

static void put_xml(page *p, const char *format, ...) KD_PRINTF(2, 3);
static void put_xml(page *p, const char *format, ...)
{
    char    line[2000];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    write_bytes(&p->out, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

// name="value", with what XML reads otherwise
static void attribute(page *p, const char *name, const char *value)
{
    put_xml(p, " %s=\"", name);
    for (; *value; value++) {
        const unsigned char c = (unsigned char)*value;
        // signs that XML would read; those that it cannot hold become spaces
        if (c == '&')
            put_xml(p, "&amp;");
        else if (c == '<')
            put_xml(p, "&lt;");
        else if (c == '>')
            put_xml(p, "&gt;");
        else if (c == '"')
            put_xml(p, "&quot;");
        else if (c < 32)
            put_xml(p, " ");
        else
            write_bytes(&p->out, value, 1);
    }
    put_xml(p, "\"");
}

static void number(page *p, const char *name, double value)
{
    char digits[KD_SHORTEST_SIZE];
    attribute(p, name, kd_shortest_text(value, digits));
}

static bool is_version_2(const page *p)
{
    return p->def->version == 2;
}

// ---- units ----------------------------------------------------------------------------------------------------------

static bool is_first_of_unit(const page *p, int i)
{
    const char *unit = p->variable[i].unit;
    if (!*unit) return false;
    for (int j = 0; j < i; j++)
        if (strcmp(p->variable[j].unit, unit) == 0) return false;
    return true;
}

static void write_unit(page *p, const char *name)
{
    static const char *const BASE[] = {"m", "kg", "s", "rad"};
    kd_unit                  unit;
    char                     why[200];
    int                      column;
    put_xml(p, "    <Unit");
    attribute(p, "name", name);
    if (!kd_unit_parse(name, NULL, &unit, &column, why, sizeof why)) { // a unit of the user's own
        put_xml(p, "/>\n");
        return;
    }
    // SI exponents of the four units that mechanics knows, and the factor to them
    put_xml(p, "><BaseUnit");
    for (int k = 0; k < 4; k++)
        if (unit.dimension[k] != 0) put_xml(p, " %s=\"%d\"", BASE[k], unit.dimension[k]);
    const double factor = unit.factor * pow(10, unit.decimal);
    if (factor != 1) number(p, "factor", factor);
    put_xml(p, "/></Unit>\n");
}

static void write_units(page *p)
{
    bool any = false;
    for (int i = 0; i < p->count; i++) {
        if (!is_first_of_unit(p, i)) continue;
        if (!any) put_xml(p, "  <UnitDefinitions>\n");
        any = true;
        write_unit(p, p->variable[i].unit);
    }
    if (any) put_xml(p, "  </UnitDefinitions>\n");
}

// ---- head -----------------------------------------------------------------------------------------------------------

static void write_abilities(page *p)
{
    const bool two = is_version_2(p);
    // names of abilities differ between the versions in case and plural
    if (p->def->kind & KD_FMU_EXCHANGE) {
        put_xml(p, "  <ModelExchange");
        attribute(p, "modelIdentifier", p->def->identifier);
        put_xml(
            p,
            two ? " completedIntegratorStepNotNeeded=\"false\" canNotUseMemoryManagementFunctions=\"true\""
                  " canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\" "
                  "providesDirectionalDerivative=\"true\"/>\n"
                : " needsCompletedIntegratorStep=\"true\" canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\""
                  " providesDirectionalDerivatives=\"true\" providesAdjointDerivatives=\"true\"/>\n");
    }
    // co-simulation: steps of any length, events and intermediate values
    if (p->def->kind & KD_FMU_COSIMULATION) {
        put_xml(p, "  <CoSimulation");
        attribute(p, "modelIdentifier", p->def->identifier);
        put_xml(p,
                two ? " canHandleVariableCommunicationStepSize=\"true\" canInterpolateInputs=\"true\""
                      " maxOutputDerivativeOrder=\"0\" canNotUseMemoryManagementFunctions=\"true\""
                      " canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\" "
                      "providesDirectionalDerivative=\"true\"/>\n"
                    : " canHandleVariableCommunicationStepSize=\"true\" hasEventMode=\"true\""
                      " mightReturnEarlyFromDoStep=\"true\" canReturnEarlyAfterIntermediateUpdate=\"true\""
                      " providesIntermediateUpdate=\"true\" canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\""
                      " providesDirectionalDerivatives=\"true\" providesAdjointDerivatives=\"true\"/>\n");
    }
}

static void write_head(page *p)
{
    int indicators;
    (void)kd_plant_first(p->plant, KD_PLANT_INDICATOR, &indicators);
    // identity: a binary and a description that do not belong together must not meet
    put_xml(p, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription");
    attribute(p, "fmiVersion", is_version_2(p) ? "2.0" : "3.0");
    attribute(p, "modelName", p->def->identifier);
    attribute(p, is_version_2(p) ? "guid" : "instantiationToken", p->def->token);
    if (p->def->title && *p->def->title) attribute(p, "description", p->def->title);
    put_xml(p, " generationTool=\"kardan %s\" variableNamingConvention=\"structured\"", kd_version());
    if (is_version_2(p)) put_xml(p, " numberOfEventIndicators=\"%d\"", indicators);
    put_xml(p, ">\n");
    write_abilities(p);
    write_units(p);
    put_xml(p, "  <LogCategories>\n");
    put_xml(p, "    <Category name=\"logStatusError\" description=\"what went wrong\"/>\n");
    put_xml(p, "    <Category name=\"logStatusDiscard\" description=\"the model asks for the end\"/>\n");
    put_xml(p, "    <Category name=\"logEvents\" description=\"what happens in the model\"/>\n");
    put_xml(p, "  </LogCategories>\n");
    // the run of the model file, which importers may change
    put_xml(p, "  <DefaultExperiment startTime=\"0\"");
    number(p, "stopTime", p->def->t_end);
    number(p, "tolerance", p->def->tolerance);
    number(p, "stepSize", p->def->step);
    put_xml(p, "/>\n");
}

// ---- variables ------------------------------------------------------------------------------------------------------

static const char *causality(kd_plant_kind kind)
{
    switch (kind) {
    case KD_PLANT_TIME:
        return "independent";
    case KD_PLANT_INPUT:
        return "input";
    case KD_PLANT_PARAMETER:
        return "parameter";
    case KD_PLANT_OUTPUT:
        return "output";
    default:
        return "local";
    }
}

static const char *variability(const page *p, int i)
{
    const int first = kd_plant_first(p->plant, KD_PLANT_PARAMETER, NULL);
    if (p->variable[i].kind != KD_PLANT_PARAMETER) return "continuous";
    return p->def->tunable[i - first] ? "tunable" : "fixed";
}

static bool has_start(const kd_plant_variable *v)
{
    return v->kind == KD_PLANT_INPUT || v->kind == KD_PLANT_PARAMETER;
}

// The place of the state whose derivative this is
static int state_of(const page *p, const kd_plant_variable *v)
{
    return kd_plant_first(p->plant, KD_PLANT_STATE, NULL) + v->index;
}

static void write_numbers(page *p, const kd_plant_variable *v, const double *nominal)
{
    if (*v->unit) attribute(p, "unit", v->unit);
    if (v->kind == KD_PLANT_STATE && nominal[v->index] != 1 && nominal[v->index] > 0)
        number(p, "nominal", nominal[v->index]);
    if (has_start(v)) number(p, "start", v->start);
    // FMI 2.0 counts variables from 1, FMI 3.0 names references
    if (v->kind == KD_PLANT_DERIVATIVE) put_xml(p, " derivative=\"%d\"", state_of(p, v) + (is_version_2(p) ? 1 : 0));
}

static void write_variable(page *p, int i, const double *nominal)
{
    const kd_plant_variable *v = p->variable + i;
    put_xml(p, is_version_2(p) ? "    <ScalarVariable" : "    <Float64");
    attribute(p, "name", v->name);
    put_xml(p, " valueReference=\"%d\"", i);
    if (strcmp(v->own, v->name) != 0 && v->kind != KD_PLANT_DERIVATIVE) attribute(p, "description", v->own);
    attribute(p, "causality", causality(v->kind));
    attribute(p, "variability", variability(p, i));
    if (v->kind == KD_PLANT_PARAMETER) put_xml(p, " initial=\"exact\"");
    if (v->kind >= KD_PLANT_OUTPUT) put_xml(p, " initial=\"calculated\"");
    if (is_version_2(p)) put_xml(p, "><Real");
    write_numbers(p, v, nominal);
    put_xml(p, is_version_2(p) ? "/></ScalarVariable>\n" : "/>\n");
}

static void write_variables(page *p)
{
    double *nominal = kd_alloc(((size_t)kd_plant_states(p->plant) + 1) * sizeof *nominal);
    p->out.failed = p->out.failed || !nominal;
    put_xml(p, "  <ModelVariables>\n");
    if (nominal) kd_plant_nominals(p->plant, nominal);
    for (int i = 0; i < p->count && nominal; i++) write_variable(p, i, nominal);
    put_xml(p, "  </ModelVariables>\n");
    kd_free(nominal);
}

// ---- structure ------------------------------------------------------------------------------------------------------

static void write_unknowns(page *p, kd_plant_kind kind, const char *word)
{
    int       count;
    const int first = kd_plant_first(p->plant, kind, &count);
    for (int i = first; i < first + count; i++) {
        if (is_version_2(p))
            put_xml(p, "      <Unknown index=\"%d\"/>\n", i + 1);
        else
            put_xml(p, "    <%s valueReference=\"%d\"/>\n", word, i);
    }
}

static int count_of(const page *p, kd_plant_kind kind)
{
    int count;
    (void)kd_plant_first(p->plant, kind, &count);
    return count;
}

// FMI 2.0: a list that would be empty is left out
static void write_list(page *p, const char *name, const kd_plant_kind *kind, int nkinds, const char *word)
{
    int total = 0;
    for (int k = 0; k < nkinds; k++) total += count_of(p, kind[k]);
    if (total == 0) return;
    if (is_version_2(p)) put_xml(p, "    <%s>\n", name);
    for (int k = 0; k < nkinds; k++) write_unknowns(p, kind[k], word);
    if (is_version_2(p)) put_xml(p, "    </%s>\n", name);
}

static void write_structure(page *p)
{
    static const kd_plant_kind OUTPUTS[] = {KD_PLANT_OUTPUT}, RATES[] = {KD_PLANT_DERIVATIVE};
    static const kd_plant_kind INITIAL[] = {KD_PLANT_OUTPUT, KD_PLANT_STATE, KD_PLANT_DERIVATIVE};
    put_xml(p, "  <ModelStructure>\n");
    write_list(p, "Outputs", OUTPUTS, 1, "Output");
    write_list(p, "Derivatives", RATES, 1, "ContinuousStateDerivative");
    write_list(p, "InitialUnknowns", INITIAL, 3, "InitialUnknown");
    if (!is_version_2(p)) write_unknowns(p, KD_PLANT_INDICATOR, "EventIndicator");
    put_xml(p, "  </ModelStructure>\n</fmiModelDescription>\n");
}

char *kd_description_write(const kd_plant *plant, const kd_description_def *def)
{
    page p = {.plant = plant, .def = def};
    p.variable = kd_plant_variables(plant, &p.count);
    write_head(&p);
    write_variables(&p);
    write_structure(&p);
    if (!p.out.failed) return p.out.bytes;
    kd_free(p.out.bytes);
    return NULL;
}

// ---- terminals ------------------------------------------------------------------------------------------------------

static bool is_port(const kd_plant_variable *v)
{
    return v->kind == KD_PLANT_INPUT || v->kind == KD_PLANT_OUTPUT;
}

// Letters of a name in front of its last part, points inside of quotation marks aside; 0: it has one part
static size_t stem(const char *name)
{
    size_t at = 0;
    bool   quoted = false;
    for (size_t i = 0; name[i]; i++) {
        if (name[i] == '\'') quoted = !quoted;
        if (name[i] == '.' && !quoted) at = i;
    }
    return at;
}

static bool has_stem(const kd_plant_variable *v, const char *name, size_t n)
{
    return is_port(v) && stem(v->name) == n && strncmp(v->name, name, n) == 0;
}

static void write_terminal(page *p, int first)
{
    const char  *name = p->variable[first].name;
    const size_t n = stem(name);
    char         own[400];
    snprintf(own, sizeof own, "%.*s", (int)n, name);
    put_xml(p, "    <Terminal");
    attribute(p, "name", own);
    put_xml(p, " matchingRule=\"bus\">\n");
    for (int i = first; i < p->count; i++) {
        if (!has_stem(&p->variable[i], name, n)) continue;
        put_xml(p, "      <TerminalMemberVariable variableKind=\"signal\"");
        attribute(p, "variableName", p->variable[i].name);
        attribute(p, "memberName", p->variable[i].name + n + 1);
        put_xml(p, "/>\n");
    }
    put_xml(p, "    </Terminal>\n");
}

kd_status kd_terminals_write(const kd_plant *plant, char **out)
{
    page p = {.plant = plant};
    int  terminals = 0;
    *out = NULL;
    p.variable = kd_plant_variables(plant, &p.count);
    put_xml(&p,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiTerminalsAndIcons fmiVersion=\"3.0\">\n  <Terminals>\n");
    // one terminal for each stem of names, where its first variable stands
    for (int i = 0; i < p.count; i++) {
        const kd_plant_variable *v = &p.variable[i];
        const size_t             n = is_port(v) ? stem(v->name) : 0;
        bool                     is_first = n > 0;
        for (int k = 0; k < i && is_first; k++) is_first = !has_stem(&p.variable[k], v->name, n);
        if (is_first) write_terminal(&p, i);
        terminals += is_first;
    }
    put_xml(&p, "  </Terminals>\n</fmiTerminalsAndIcons>\n");
    // a plant without ports has no such file
    if (p.out.failed || terminals == 0) {
        kd_free(p.out.bytes);
        return p.out.failed ? KD_ERR_MEMORY : KD_OK;
    }
    *out = p.out.bytes;
    return KD_OK;
}
