// plant_names.c: the variables of a model for another tool, in the order of their references: time, inputs, parameters,
// outputs, states, derivatives, indicators, then everything else that a probe reads.
//
// Names are structured as FMI says: parts that are no identifiers in quotation marks, indices in brackets, der(x).
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "fmi/plant_impl.h"

enum { LONGEST = 600 };

// ---- names ----------------------------------------------------------------------------------------------------------

static bool is_identifier(const char *text, size_t length)
{
    if (length == 0 || !(isalpha((unsigned char)text[0]) || text[0] == '_')) return false;
    for (size_t i = 0; i < length; i++)
        if (!(isalnum((unsigned char)text[i]) || text[i] == '_')) return false;
    return true;
}

// "(1,2)" with nothing but numbers
static bool is_index(const char *text, size_t length)
{
    if (length < 3 || text[0] != '(' || text[length - 1] != ')') return false;
    for (size_t i = 1; i + 1 < length; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] == ',' && isdigit((unsigned char)text[i - 1]))) return false;
    return text[length - 2] != ',';
}

// One part of a name: wheel, wheel(2) as wheel[2], 'left-arm'
static void add_part(char *out, size_t size, const char *part, size_t length)
{
    size_t base = 0;
    while (base < length && part[base] != '(') base++;
    const bool   indexed = base < length && is_index(part + base, length - base);
    const size_t plain = indexed ? base : length;
    if (is_identifier(part, plain))
        kd_text_append(out, size, "%.*s", (int)plain, part);
    else {
        kd_text_append(out, size, "'");
        for (size_t i = 0; i < plain; i++) // a quotation mark ends the name: it needs its backslash
            kd_text_append(out, size, part[i] == '\'' || part[i] == '\\' ? "\\%c" : "%c", part[i]);
        kd_text_append(out, size, "'");
    }
    if (indexed) kd_text_append(out, size, "[%.*s]", (int)(length - base - 2), part + base + 1);
}

// "kinetic energy" of results is energy.kinetic, as paths say it
static bool is_of_whole(const char *name, char *out, size_t size)
{
    const char *space = strchr(name, ' ');
    if (!space || (strcmp(space, " energy") != 0 && strcmp(space, " power") != 0)) return false;
    kd_text(out, size, "%s.%.*s", space + 1, (int)(space - name), name);
    return true;
}

// Parts end at points outside of parentheses
static void structure(const char *name, char *out, size_t size)
{
    if (is_of_whole(name, out, size)) return;
    kd_text(out, size, "%s", "");
    for (const char *part = name; *part;) {
        // a part ends at a point, but not inside of an index
        int    open = 0;
        size_t length = 0;
        while (part[length] && (open > 0 || part[length] != '.')) {
            open += (part[length] == '(') - (part[length] == ')');
            length++;
        }
        // its index in brackets, then the point between parts
        add_part(out, size, part, length);
        part += length;
        if (*part == '.') {
            kd_text_append(out, size, ".");
            part++;
        }
    }
}

static const char *keep(kd_plant *p, const char *text)
{
    const size_t length = strlen(text) + 1;
    char        *copy = kd_arena_cut(&p->arena, length, 1);
    if (copy) memcpy(copy, text, length);
    return copy ? copy : "";
}

static bool is_taken(const kd_plant *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->variable[i].name, name) == 0) return true;
    return false;
}

// ---- the list -------------------------------------------------------------------------------------------------------

// One more; a name that is taken gets the word of its kind in front
static void add(kd_plant *p, kd_plant_kind kind, int index, const char *own, const char *word, const char *unit,
                double start)
{
    char name[LONGEST], full[LONGEST];
    structure(own, name, sizeof name);
    if (kind == KD_PLANT_DERIVATIVE)
        kd_text(full, sizeof full, "der(%s)", name);
    else if (kind == KD_PLANT_PARAMETER || is_taken(p, name))
        kd_text(full, sizeof full, "%s.%s", word, name);
    else
        kd_text(full, sizeof full, "%s", name);
    p->variable[p->count++] = (kd_plant_variable){kind, index, keep(p, full), keep(p, own), keep(p, unit), start};
}

static const kd_group OTHERS[] = {KD_GROUP_W, KD_GROUP_S,      KD_GROUP_LAMBDA, KD_GROUP_MU,   KD_GROUP_U,
                                  KD_GROUP_Z, KD_GROUP_ENERGY, KD_GROUP_POWER,  KD_GROUP_POSE, KD_GROUP_RATE};

static int group_count(const kd_plant *p, kd_group group, int *first)
{
    int count;
    kd_probe_group(p->probe, group, first, &count);
    return count;
}

static void add_group(kd_plant *p, kd_group group)
{
    int       first;
    const int count = group_count(p, group, &first);
    for (int i = 0; i < count; i++)
        if (group != KD_GROUP_U || !p->outside[i]) // those from outside are there already
            add(p, KD_PLANT_LOCAL, first + i, kd_probe_name(p->probe, first + i), "channel",
                kd_probe_unit(p->probe, first + i), 0);
}

// Unit of the rate of a quantity; "": not known
static void rate_unit(const char *unit, char *out, size_t size)
{
    if (strchr(unit, '/') || strchr(unit, '^'))
        kd_text(out, size, "%s", "");
    else
        kd_text(out, size, "%s/s", *unit ? unit : "1");
}

// p, v, r or their rates; those of v have the unit of accelerations
static void add_motion(kd_plant *p, kd_plant_kind kind)
{
    static const kd_group GROUPS[] = {KD_GROUP_P, KD_GROUP_V, KD_GROUP_R};
    int                   at = 0, first, first_a;
    char                  unit[80];
    const int             na = group_count(p, KD_GROUP_A, &first_a);
    for (int g = 0; g < 3; g++) {
        const int count = group_count(p, GROUPS[g], &first);
        for (int i = 0; i < count; i++) {
            const char *own = kd_probe_unit(p->probe, first + i);
            rate_unit(own, unit, sizeof unit);
            if (g == 1 && i < na) kd_text(unit, sizeof unit, "%s", kd_probe_unit(p->probe, first_a + i));
            add(p, kind, at++, kd_probe_name(p->probe, first + i), "state", kind == KD_PLANT_STATE ? own : unit, 0);
        }
    }
}

// Names of inputs and outputs without the word of their group
static const char *plain(const char *name, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(name, word, n) == 0 ? name + n : name;
}

static void add_inputs(kd_plant *p)
{
    int       first;
    const int count = group_count(p, KD_GROUP_U, &first);
    for (int i = 0; i < count; i++)
        if (p->outside[i])
            add(p, KD_PLANT_INPUT, i, plain(kd_probe_name(p->probe, first + i), "input."), "input",
                kd_probe_unit(p->probe, first + i), p->u[i]);
}

static kd_status add_parameters(kd_plant *p)
{
    kd_parameter_info *list = kd_alloc((size_t)(p->ntheta + 1) * sizeof *list);
    if (!list) return KD_ERR_MEMORY;
    kd_model_parameters(p->model, list, p->ntheta);
    for (int i = 0; i < p->ntheta; i++)
        if (list[i].independent) add(p, KD_PLANT_PARAMETER, i, list[i].name, "parameter", "", p->theta[i]);
    kd_free(list);
    return KD_OK;
}

static void add_outputs(kd_plant *p)
{
    int       first;
    const int count = group_count(p, KD_GROUP_Y, &first);
    for (int i = 0; i < count; i++)
        add(p, KD_PLANT_OUTPUT, first + i, plain(kd_probe_name(p->probe, first + i), "sensor."), "sensor",
            kd_probe_unit(p->probe, first + i), 0);
}

kd_status kd_plant_list(kd_plant *p)
{
    // room: everything that a probe knows, states once more, parameters, time, functions
    const int nindicators = kd_plant_indicators(p);
    const int room = kd_probe_count(p->probe) + p->dims.np + p->dims.nv + p->dims.nr + p->ntheta + nindicators + 1;
    char      name[40];
    p->variable = kd_arena_cut(&p->arena, (size_t)room, sizeof *p->variable);
    if (!p->variable) return KD_ERR_MEMORY;
    // kinds in the order of their references, so that each has a first one
    p->count = 0;
    for (int kind = KD_PLANT_TIME; kind <= KD_PLANT_LOCAL; kind++) {
        p->first[kind] = p->count;
        if (kind == KD_PLANT_TIME) add(p, KD_PLANT_TIME, 0, "time", "", "s", 0);
        if (kind == KD_PLANT_INPUT) add_inputs(p);
        if (kind == KD_PLANT_PARAMETER && add_parameters(p) < 0) return KD_ERR_MEMORY;
        if (kind == KD_PLANT_OUTPUT) add_outputs(p);
        if (kind == KD_PLANT_STATE) add_motion(p, KD_PLANT_STATE);
        if (kind == KD_PLANT_DERIVATIVE) add_motion(p, KD_PLANT_DERIVATIVE);
        for (int i = 0; i < nindicators && kind == KD_PLANT_INDICATOR; i++) {
            kd_text(name, sizeof name, "event.indicator(%d)", i + 1);
            add(p, KD_PLANT_INDICATOR, i, name, "", "", 0);
        }
        if (kind == KD_PLANT_LOCAL)
            for (size_t g = 0; g < sizeof OTHERS / sizeof *OTHERS; g++) add_group(p, OTHERS[g]);
    }
    p->first[KD_PLANT_LOCAL + 1] = p->count;
    return p->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

int kd_plant_first(const kd_plant *p, kd_plant_kind kind, int *count)
{
    if (count) *count = p->first[kind + 1] - p->first[kind];
    return p->first[kind];
}

const kd_plant_variable *kd_plant_variables(const kd_plant *p, int *count)
{
    *count = p->count;
    return p->variable;
}
