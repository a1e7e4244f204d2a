// path.c: names of quantities in expressions, "joint.hinge.q", and what they stand for. The list is in model.h.
#include <string.h>

#include "core/text.h"
#include "expr/expr.h"
#include "flexible/stress.h"
#include "model/element.h"

// One property of an element by the text behind its name.
typedef struct property {
    const char *text;
    kd_property property;
    int         i, j;
} property;

// clang-format off
static const property of_frame[] = {
    {"pos.x", KD_PROPERTY_POS, 0, 0},     {"pos.y", KD_PROPERTY_POS, 1, 0},     {"pos.z", KD_PROPERTY_POS, 2, 0},
    {"vel.x", KD_PROPERTY_VEL, 0, 0},     {"vel.y", KD_PROPERTY_VEL, 1, 0},     {"vel.z", KD_PROPERTY_VEL, 2, 0},
    {"acc.x", KD_PROPERTY_ACC, 0, 0},     {"acc.y", KD_PROPERTY_ACC, 1, 0},     {"acc.z", KD_PROPERTY_ACC, 2, 0},
    {"omega.x", KD_PROPERTY_OMEGA, 0, 0}, {"omega.y", KD_PROPERTY_OMEGA, 1, 0}, {"omega.z", KD_PROPERTY_OMEGA, 2, 0},
    {"alpha.x", KD_PROPERTY_ALPHA, 0, 0}, {"alpha.y", KD_PROPERTY_ALPHA, 1, 0}, {"alpha.z", KD_PROPERTY_ALPHA, 2, 0},
    {"roll", KD_PROPERTY_ANGLE, 0, 0},    {"pitch", KD_PROPERTY_ANGLE, 1, 0},   {"yaw", KD_PROPERTY_ANGLE, 2, 0},
    {"R.xx", KD_PROPERTY_R, 0, 0},        {"R.xy", KD_PROPERTY_R, 0, 1},        {"R.xz", KD_PROPERTY_R, 0, 2},
    {"R.yx", KD_PROPERTY_R, 1, 0},        {"R.yy", KD_PROPERTY_R, 1, 1},        {"R.yz", KD_PROPERTY_R, 1, 2},
    {"R.zx", KD_PROPERTY_R, 2, 0},        {"R.zy", KD_PROPERTY_R, 2, 1},        {"R.zz", KD_PROPERTY_R, 2, 2},
    // of bodies only
    {"com.x", KD_PROPERTY_COM, 0, 0},     {"com.y", KD_PROPERTY_COM, 1, 0},     {"com.z", KD_PROPERTY_COM, 2, 0},
};
static const property of_joint[] = {
    // by the number of coordinates
    {"q", KD_PROPERTY_Q, 0, 0},           {"v", KD_PROPERTY_V, 0, 0},           {"a", KD_PROPERTY_A, 0, 0},
    {"q1", KD_PROPERTY_Q, 0, 0},          {"v1", KD_PROPERTY_V, 0, 0},          {"a1", KD_PROPERTY_A, 0, 0},
    {"q2", KD_PROPERTY_Q, 1, 0},          {"v2", KD_PROPERTY_V, 1, 0},          {"a2", KD_PROPERTY_A, 1, 0},
    {"q3", KD_PROPERTY_Q, 2, 0},          {"v3", KD_PROPERTY_V, 2, 0},          {"a3", KD_PROPERTY_A, 2, 0},
    {"q4", KD_PROPERTY_Q, 3, 0},          {"v4", KD_PROPERTY_V, 3, 0},          {"a4", KD_PROPERTY_A, 3, 0},
    {"q5", KD_PROPERTY_Q, 4, 0},          {"v5", KD_PROPERTY_V, 4, 0},          {"a5", KD_PROPERTY_A, 4, 0},
    {"q6", KD_PROPERTY_Q, 5, 0},          {"v6", KD_PROPERTY_V, 5, 0},          {"a6", KD_PROPERTY_A, 5, 0},
};
static const property of_reaction[] = {
    {"force.x", KD_PROPERTY_FORCE, 0, 0}, {"force.y", KD_PROPERTY_FORCE, 1, 0}, {"force.z", KD_PROPERTY_FORCE, 2, 0},
    {"torque.x", KD_PROPERTY_FORCE, 3, 0}, {"torque.y", KD_PROPERTY_FORCE, 4, 0}, {"torque.z", KD_PROPERTY_FORCE, 5, 0},
};
static const property of_constraint[] = {
    // by the number of rows
    {"force", KD_PROPERTY_FORCE, 0, 0},  {"force1", KD_PROPERTY_FORCE, 0, 0},
    {"force2", KD_PROPERTY_FORCE, 1, 0}, {"force3", KD_PROPERTY_FORCE, 2, 0},
};
static const property of_signal[] = { // input, sensor, variable, algebraic
    {"", KD_PROPERTY_VALUE, 0, 0},
};
static const property of_energy[] = {
    {"kinetic", KD_PROPERTY_VALUE, 0, 0}, {"potential", KD_PROPERTY_VALUE, 1, 0}, {"total", KD_PROPERTY_VALUE, 2, 0},
};
// clang-format on

enum { KD_MAX_PARTS = 24 }; // of a path between points

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

// a table of properties and how much of it counts
typedef struct properties {
    const property *list;
    int             n;
} properties;

// a kind that does not exist has none: models are checked for that
int kd_joint_coordinates(kd_joint_kind kind)
{
    return kind >= 0 && kind < KD_JOINT_KIND_COUNT ? kd_joint_form_of(kind).nscalars : 0;
}

int kd_constraint_rows(const kd_constraint_def *def)
{
    const kd_element_class *class = kd_constraint_element((int)def->kind);
    return class->rows ? class->rows(def) : 1;
}

// The class of an element, and its definition; NULL: the section has no classes
static const kd_element_class *class_of(const kd_model *m, kd_section section, int element, const void **def)
{
    switch (section) {
    case KD_SECTION_FORCE:
        *def = &m->force[element].def;
        return kd_force_element((int)m->force[element].def.kind);
    case KD_SECTION_CONSTRAINT:
        *def = &m->constraint[element].def;
        return kd_constraint_element((int)m->constraint[element].def.kind);
    case KD_SECTION_STATE:
        *def = &m->state[element].def;
        return kd_state_element_class((int)m->state[element].def.kind);
    default:
        *def = NULL;
        return NULL;
    }
}

// What can be read of an element, besides the readings of its class: one or two tables.
static int tables_of(kd_section section, properties table[2])
{
    switch (section) {
    case KD_SECTION_BODY:
        table[0] = (properties){of_frame, LENGTH(of_frame)};
        return 1;
    case KD_SECTION_FRAME:
        table[0] = (properties){of_frame, LENGTH(of_frame) - 3};
        return 1;
    case KD_SECTION_JOINT:
        table[0] = (properties){of_joint, LENGTH(of_joint)};
        table[1] = (properties){of_reaction, LENGTH(of_reaction)};
        return 2;
    case KD_SECTION_CONSTRAINT:
        table[0] = (properties){of_constraint, LENGTH(of_constraint)};
        return 1;
    case KD_SECTION_INPUT:
    case KD_SECTION_SENSOR:
    case KD_SECTION_VARIABLE:
    case KD_SECTION_ALGEBRAIC:
        table[0] = (properties){of_signal, 1};
        return 1;
    case KD_SECTION_ENERGY:
        table[0] = (properties){of_energy, LENGTH(of_energy)};
        return 1;
    default:
        return 0;
    }
}

// Coordinates of a joint, rows of a constraint: their names are counted. -1: those of this table are not
static int count_of(const kd_model *m, kd_section section, int element, const property *p)
{
    if (section == KD_SECTION_JOINT && p->property != KD_PROPERTY_FORCE)
        return kd_joint_coordinates(m->joint[element].def.kind);
    return section == KD_SECTION_CONSTRAINT ? kd_constraint_rows(&m->constraint[element].def) : -1;
}

// q1, force2
static bool is_counted(const property *p)
{
    const char last = p->text[0] != '\0' ? p->text[strlen(p->text) - 1] : '\0';
    return last >= '1' && last <= '9';
}

// Does an element have this one: coordinates and rows beyond its number are left out, the short form needs exactly one
static bool is_there(const kd_model *m, kd_section section, int element, const property *p)
{
    const int n = count_of(m, section, element, p);
    if (n < 0) return true;
    return is_counted(p) ? p->i < n : n == 1;
}

// ---- blocks: outputs, then states -----------------------------------------------------------------------------------

// What signal i of a block is called behind its name
static const char *block_signal(const kd_block_def *def, int i, char buffer[KD_SIGNAL_NAME])
{
    if (i >= def->noutputs) return kd_block_state_name(def, i - def->noutputs, buffer);
    if (def->noutputs == 1) return "out";
    kd_text(buffer, KD_SIGNAL_NAME, "out%d", i + 1);
    return buffer;
}

static bool find_block_signal(const kd_block_def *def, const char *text, int *number)
{
    char buffer[KD_SIGNAL_NAME];
    // names as paths show them; a single output may also be called out1
    for (*number = 0; *number < def->noutputs + def->nstates; ++*number) {
        if (strcmp(block_signal(def, *number, buffer), text) == 0) return true;
    }
    *number = 0;
    return def->noutputs == 1 && strcmp(text, "out1") == 0;
}

// ---- lists ----------------------------------------------------------------------------------------------------------

// The longer name of something that has a shorter one: q1 of a single coordinate
static bool is_second_name(const kd_model *m, kd_section section, int element, const property *p)
{
    return is_counted(p) && count_of(m, section, element, p) == 1;
}

const char *kd_path_word(const kd_model *m, kd_section section, int element, int k, char buffer[KD_SIGNAL_NAME])
{
    const void *def;
    const kd_element_class *class = class_of(m, section, element, &def);
    // readings of the class, then tables of the section, then signals of a block, all in one count
    for (int i = 0; class && i < class->nreadings; i++) {
        const kd_readable *r = &class->readings[i];
        if ((!r->given || r->given(def)) && k-- == 0) return r->word;
    }
    properties table[2];
    const int  ntables = tables_of(section, table);
    for (int t = 0; t < ntables; t++) {
        for (int i = 0; i < table[t].n; i++) {
            const property *p = &table[t].list[i];
            if (!is_there(m, section, element, p) || is_second_name(m, section, element, p)) continue;
            if (k-- == 0) return p->text;
        }
    }
    const kd_block_def *block = section == KD_SECTION_BLOCK ? &m->block[element].def : NULL;
    return block && k < block->noutputs + block->nstates ? block_signal(block, k, buffer) : NULL;
}

// ---- messages -------------------------------------------------------------------------------------------------------

// the kind helps where it decides what can be read
static const char *kind_word(const kd_model *m, kd_section section, int element)
{
    const void *def;
    const kd_element_class *class = class_of(m, section, element, &def);
    if (section == KD_SECTION_JOINT)
        return kd_schema_word(kd_schema_of(KD_SCHEMA_JOINT), (int)m->joint[element].def.kind)->word;
    return section == KD_SECTION_FORCE ? class->kind.word : NULL;
}

// What an element has, as far as it is known by now: a suggestion, or the first ones as a list
typedef struct offer {
    kd_nearest nearest;
    char       list[120];
    int        n;
} offer;

static void offer_property(offer *o, const char *text)
{
    // six are shown, all take part in the suggestion
    kd_nearest_offer(&o->nearest, text);
    o->n++;
    if (o->n <= 6) kd_text_append(o->list, sizeof o->list, "%s%s", o->n > 1 ? ", " : "", text);
    if (o->n == 7) kd_text_append(o->list, sizeof o->list, ", ..");
}

// stress of a place that the part does not name, or a word that is none. false: something else was wanted
static bool say_no_stress(const kd_model *m, kd_section section, int element, const char *wanted, char *why,
                          size_t size)
{
    const kd_flexible_body *f = section == KD_SECTION_BODY ? m->body[element].def.read : NULL;
    if (strncmp(wanted, "stress", 6) != 0 || section != KD_SECTION_BODY) return false;
    kd_text(why, size, "body '%s' has no '%s'; ", m->body[element].name, wanted);
    if (!f || f->nspots == 0) {
        kd_text_append(why, size, "no place of stress is named in its part ('stress: {places: ..}')");
        return true;
    }
    kd_text_append(why, size, "stress.PLACE.mises, signed, p1, p2, p3, xx, yy, zz, xy, yz or zx, PLACE:");
    for (int i = 0; i < f->nspots && i < 6; i++) kd_text_append(why, size, "%s %s", i > 0 ? "," : "", f->spot[i].name);
    return true;
}

// "joint 'ball' (spherical) has no 'q'; it has force.x .."
static void say_no_property(const kd_model *m, kd_section section, int element, const char *wanted, char *why,
                            size_t size)
{
    if (!why || size == 0 || say_no_stress(m, section, element, wanted, why, size)) return;
    if (section == KD_SECTION_ENERGY) {
        kd_text(why, size, "energy has no '%s'", wanted);
    } else {
        const char *kind = kind_word(m, section, element);
        kd_text(why, size, "%s '%s'%s%s%s has no '%s'", kd_section_word(section), kd_element_name(m, section, element),
                kind ? " (" : "", kind ? kind : "", kind ? ")" : "", wanted);
    }
    // what it has instead: a suggestion, or a list
    offer o = {.nearest = kd_nearest_start(wanted)};
    char  buffer[2 * KD_MAX_SIGNALS][KD_SIGNAL_NAME]; // the nearest one stays there
    for (int k = 0; k < 2 * KD_MAX_SIGNALS; k++) {
        const char *word = kd_path_word(m, section, element, k, buffer[k]);
        if (!word) break;
        if (word[0] != '\0') offer_property(&o, word);
    }
    if (o.nearest.best) {
        kd_text_append(why, size, ", did you mean '%s'?", o.nearest.best);
    } else if (o.n > 0) {
        kd_text_append(why, size, "; it has %s", o.list);
    }
}

// sections up to energy are the first words of paths
static void say_unknown_section(const char *word, char *why, size_t size)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int s = 0; s <= KD_SECTION_ENERGY; s++) kd_nearest_offer(&nearest, kd_section_word((kd_section)s));
    kd_text(why, size, "unknown name '%s'", word);
    if (nearest.best) {
        kd_text_append(why, size, ", did you mean '%s'?", nearest.best);
    } else {
        kd_text_append(why, size,
                       ": a path starts with body, frame, joint, force, constraint, state, input, sensor, block, "
                       "variable, algebraic or energy");
    }
}

// ---- parsing --------------------------------------------------------------------------------------------------------

// The part up to the next '.' into word (cut off beyond size); the text behind the '.', or its end.
static const char *next_part(const char *text, char *word, size_t size)
{
    const size_t n = strcspn(text, ".");
    const size_t kept = n < size ? n : size - 1;
    memcpy(word, text, kept);
    word[kept] = '\0';
    return text[n] == '.' ? text + n + 1 : text + n;
}

// q3, v3, a3 of a flexible body: the third of its modes
static bool find_mode(const kd_body *body, kd_path *path, const char *text)
{
    static const char word[] = "qva";
    const char       *letter = text[0] != '\0' ? strchr(word, text[0]) : NULL;
    int               number = 0;
    if (!letter || text[1] < '1' || text[1] > '9') return false;
    for (text++; *text >= '0' && *text <= '9' && number < 100000; text++) number = 10 * number + (*text - '0');
    if (*text != '\0' || number > body->nmodes) return false;
    path->property = letter[0] == 'q' ? KD_PROPERTY_Q : letter[0] == 'v' ? KD_PROPERTY_V : KD_PROPERTY_A;
    path->i = number - 1;
    return true;
}

// stress.PLACE.KIND of a flexible body, PLACE one of its part
static bool find_stress(const kd_body *body, kd_path *path, const char *text)
{
    static const char       front[] = "stress.";
    const kd_flexible_body *f = body->def.read;
    if (!f || strncmp(text, front, strlen(front)) != 0) return false;
    const char *name = text + strlen(front), *dot = strchr(name, '.');
    path->property = KD_PROPERTY_STRESS;
    path->i = dot ? kd_stress_find(f, name, (size_t)(dot - name)) : -1;
    for (path->j = 0; path->i >= 0 && path->j < KD_STRESS_KINDS; path->j++)
        if (strcmp(kd_stress_word((kd_stress_kind)path->j), dot + 1) == 0) return true;
    return false;
}

static bool find_property(const kd_model *m, kd_path *path, const char *text)
{
    // a block by its signals, elements by the readings of their classes, others by tables
    if (path->section == KD_SECTION_BLOCK) {
        path->property = KD_PROPERTY_VALUE;
        return find_block_signal(&m->block[path->element].def, text, &path->i);
    }
    if (path->section == KD_SECTION_BODY && find_mode(&m->body[path->element], path, text)) return true;
    if (path->section == KD_SECTION_BODY && find_stress(&m->body[path->element], path, text)) return true;
    // readings of the class
    const void *def;
    const kd_element_class *class = class_of(m, path->section, path->element, &def);
    for (int i = 0; class && i < class->nreadings; i++) {
        const kd_readable *r = &class->readings[i];
        if (strcmp(r->word, text) != 0 || (r->given && !r->given(def))) continue;
        path->reading = r;
        path->property = r->property;
        path->i = r->i;
        return true;
    }
    // properties that all elements of the section have
    properties table[2];
    const int  ntables = tables_of(path->section, table);
    for (int k = 0; k < ntables; k++) {
        for (int i = 0; i < table[k].n; i++) {
            const property *p = &table[k].list[i];
            if (strcmp(p->text, text) != 0 || !is_there(m, path->section, path->element, p)) continue;
            path->property = p->property;
            path->i = p->i;
            path->j = p->j;
            return true;
        }
    }
    return false;
}

// The element whose name begins at rest, and the property behind it. Names of parts of subsystems have points: the
// longest name that there is, and that has the property. false: there is none; *known: an element, but not the property
static bool find_element(const kd_model *m, kd_path *path, const char *rest, int *known, const char **behind)
{
    char   name[KD_EXPR_MAX_NAME + 1];
    size_t end[KD_MAX_PARTS], n = 0;
    int    parts = 0;
    // where the parts of the name end
    do {
        n += strcspn(rest + n, ".");
        end[parts++] = n;
    } while (rest[n++] == '.' && parts < KD_MAX_PARTS && n < sizeof name);
    *known = -1;
    // the longest name first
    while (--parts >= 0) {
        if (end[parts] >= sizeof name) continue;
        memcpy(name, rest, end[parts]);
        name[end[parts]] = '\0';
        path->element = kd_model_find(m, path->section, name);
        if (path->element < 0) continue;
        // an element: has it what stands behind?
        const char *tail = rest + end[parts] + (rest[end[parts]] == '.');
        if (*known < 0) {
            *known = path->element;
            *behind = tail;
        }
        if (find_property(m, path, tail)) return true;
    }
    return false;
}

// What was probably meant for the name: parts as long as there are subsystems of that name, and one more
static void cut_name(const kd_model *m, const char *rest, char *name, size_t size)
{
    size_t n = 0;
    do {
        n += strcspn(rest + n, ".");
        kd_text(name, size, "%.*s", (int)n, rest);
    } while (rest[n++] == '.' && kd_model_find(m, KD_SECTION_SUBSYSTEM, name) >= 0);
}

bool kd_path_parse(const kd_model *m, const char *text, kd_path *path, char *why, size_t size)
{
    char        word[KD_EXPR_MAX_NAME + 1], name[KD_EXPR_MAX_NAME + 1];
    const char *rest = next_part(text, word, sizeof word);
    // first word: the section
    *path = (kd_path){0};
    int section = 0;
    while (section <= KD_SECTION_ENERGY && strcmp(word, kd_section_word((kd_section)section)) != 0) section++;
    if (section > KD_SECTION_ENERGY) {
        say_unknown_section(word, why, size);
        return false;
    }
    path->section = (kd_section)section;
    // second word: the element; a name that was cut off is unknown
    if (section != KD_SECTION_ENERGY) {
        const char *behind = rest;
        int         known;
        if (find_element(m, path, rest, &known, &behind)) return true;
        cut_name(m, rest, name, sizeof name);
        if (name[0] == '\0') {
            kd_text(why, size, "the name of a %s is missing behind '%s'", word, text);
            return false;
        }
        path->element = known;
        if (known < 0) {
            kd_model_say_unknown(m, path->section, name, why, size);
            return false;
        }
        rest = behind;
    } else if (find_property(m, path, rest)) {
        return true;
    }
    // without a rest, say what is missing
    if (rest[0] == '\0') {
        kd_text(why, size, "'%s' is no number: what of it is meant, as in '%s%s'?", text, text,
                section == KD_SECTION_JOINT        ? ".q"
                : section == KD_SECTION_FORCE      ? ".force"
                : section == KD_SECTION_CONSTRAINT ? ".force1"
                : section == KD_SECTION_ENERGY     ? ".kinetic"
                : section == KD_SECTION_BLOCK      ? ".out"
                                                   : ".pos.x");
    } else {
        // the element is known, but has no such property
        say_no_property(m, path->section, path->element, rest, why, size);
    }
    return false;
}

// what laws may read: nothing that follows from accelerations or forces
bool kd_path_is_kinematic(const kd_path *path)
{
    switch (path->property) {
    case KD_PROPERTY_ACC:
    case KD_PROPERTY_ALPHA:
    case KD_PROPERTY_A:
    case KD_PROPERTY_WRENCH:
    case KD_PROPERTY_STRESS:
    case KD_PROPERTY_FORCE: // values of forces are outputs: a law that reads another law would be an algebraic loop
        return false;
    case KD_PROPERTY_VALUE:
        return path->section != KD_SECTION_SENSOR && path->section != KD_SECTION_ENERGY;
    default:
        return true;
    }
}
