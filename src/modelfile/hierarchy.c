// hierarchy.c: what a model with subsystems or materials says, as the text of one file, for the writer.
//
// The sections are those that were read; what subsystems are made of, files or definitions, becomes `definitions`; what
// is included stands where it is used; settings from outside stand in place of what they replace. Numbers that were read
// from files and paths of meshes and tyres are left to the writer: they are parts of their own (kd_written).
//
// Subsystems that are made of the same sections share one definition. One that has something inside that was set from
// outside (--set front.left.k=1) has a definition of its own, and one of a repetition stands alone:
// axle(2): {for: [i = 2..2], ...}.
#include <string.h>

#include "core/shortest.h"
#include "core/text.h"
#include "model/build.h"
#include "modelfile/paths.h"
#include "modelfile/reader.h"
#include "modelfile/scalar.h"

typedef struct shared { // a definition
    kd_scope   *first;  // that is made of it; the others follow by next_same
    kd_scope   *last;
    const char *name;
} shared;

typedef struct teller {
    kd_reader        *r;
    const kd_setting *settings;
    int               nsettings;
    // the text since the last part
    char   *text;
    size_t  used, size;
    shared *definition;
    int     ndefinitions, capacity;
} teller;

// ---- text -----------------------------------------------------------------------------------------------------------

static void put_bytes(void *to, const char *text, size_t n)
{
    teller *t = to;
    if (t->r->status != KD_OK) return;
    if (t->used + n + 1 > t->size) {
        const size_t size = 2 * (t->used + n + 1);
        char        *larger = kd_alloc(size);
        if (!larger) {
            kd_reader_short_of_memory(t->r);
            return;
        }
        if (t->used > 0) memcpy(larger, t->text, t->used);
        kd_free(t->text);
        t->text = larger;
        t->size = size;
    }
    memcpy(t->text + t->used, text, n);
    t->used += n;
    t->text[t->used] = '\0';
}

static void put_words(teller *t, const char *text)
{
    put_bytes(t, text, strlen(text));
}

static void put_scalar(teller *t, const char *text)
{
    kd_scalar_write(text, put_bytes, t);
}

static void put_indent(teller *t, int indent)
{
    for (int i = 0; i < indent; i++) put_words(t, " ");
}

// The text so far, then what the writer knows
static void put_part(teller *t, int curve, const char *real, const char *path)
{
    if (t->r->status == KD_OK &&
        kd_model_add_written(t->r->m, &(kd_written){t->used > 0 ? t->text : "", curve, real, path, NULL}) < 0)
        kd_reader_short_of_memory(t->r);
    t->used = 0;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

// Is this the key of a file that an element or a shape reads, and where is that file?
static bool find_file(teller *t, const char *key, const kd_node *node, char path[KD_PATH_LENGTH])
{
    char why[600];
    if (node->type != KD_NODE_SCALAR ||
        (strcmp(key, "mesh") != 0 && strcmp(key, "tir") != 0 && strcmp(key, "crg") != 0))
        return false;
    kd_reader_look_beside(t->r, node->file);
    return kd_reader_data_path(t->r, node->text, path, why, sizeof why) == KD_OK;
}

static void put_node(teller *t, const kd_node *node)
{
    if (node->type == KD_NODE_SCALAR) {
        if (kd_node_is_null(node))
            put_words(t, "null");
        else
            put_scalar(t, node->text);
        return;
    }
    const bool map = node->type == KD_NODE_MAP;
    put_words(t, map ? "{" : "[");
    for (int i = 0; i < node->n; i++) {
        const kd_node *value = map ? &node->item[2 * i + 1] : &node->item[i];
        if (i > 0) put_words(t, ", ");
        if (map) {
            put_scalar(t, node->item[2 * i].text);
            put_words(t, ": ");
        }
        // files that were read keep their place, as the writer tells it
        char path[KD_PATH_LENGTH];
        if (map && find_file(t, node->item[2 * i].text, value, path))
            put_part(t, -1, path, value->text);
        else
            put_node(t, value);
    }
    put_words(t, map ? "}" : "]");
}

// name: value, one line
static void put_item(teller *t, int indent, const char *name, const kd_node *value)
{
    put_indent(t, indent);
    put_scalar(t, name);
    put_words(t, ": ");
    put_node(t, value);
    put_words(t, "\n");
}

static void put_heading(teller *t, int indent, const char *word)
{
    if (indent == 0) put_words(t, "\n");
    put_indent(t, indent);
    put_words(t, word);
    put_words(t, ":\n");
}

static void put_section(teller *t, int indent, const char *word, const kd_node *value)
{
    const bool says =
        value->type != KD_NODE_MAP || strcmp(word, "offers") == 0; // nothing is less than no word about it
    if (value->type != KD_NODE_MAP || value->n == 0) {
        if (says) put_item(t, indent, word, value);
        return;
    }
    put_heading(t, indent, word);
    for (int i = 0; i < value->n; i++) put_item(t, indent + 2, value->item[2 * i].text, &value->item[2 * i + 1]);
}

// ---- settings -------------------------------------------------------------------------------------------------------

// Is something inside of the subsystem, itself included, set from outside?
static bool is_set_inside(const teller *t, const kd_scope *scope)
{
    const size_t n = strlen(scope->name);
    for (int i = 0; i < t->nsettings; i++) {
        const char *name = t->settings[i].name;
        if (name && strncmp(name, scope->name, n) == 0 && name[n] == '.') return true;
    }
    return false;
}

static bool is_set_below(const teller *t, const kd_scope *scope)
{
    for (const kd_scope *part = scope->first_part; part && t->nsettings > 0; part = part->next_part)
        if (is_set_inside(t, part)) return true;
    return false;
}

// The parameter of a scope, if it is set from outside; NULL: it is not
static const kd_file_parameter *find_set(const teller *t, const kd_scope *scope, const char *word)
{
    const kd_reader *r = t->r;
    char             name[KD_MAX_NAME + 1];
    if (t->nsettings == 0) return NULL;
    kd_text(name, sizeof name, "%s%s%s", scope->name, scope->number > 0 ? "." : "", word);
    const int i = kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, name);
    return i >= 0 && r->parameter[i].set ? &r->parameter[i] : NULL;
}

static void put_parameters(teller *t, const kd_scope *scope, int indent, const kd_node *map)
{
    if (map->type != KD_NODE_MAP || map->n == 0) return;
    put_heading(t, indent, "parameters");
    for (int i = 0; i < map->n; i++) {
        const char              *word = map->item[2 * i].text;
        const kd_file_parameter *set = scope->number == 0 ? find_set(t, scope, word) : NULL;
        const kd_node            value = {.type = KD_NODE_SCALAR, .text = set ? set->text : ""};
        put_item(t, indent + 2, word, set ? &value : &map->item[2 * i + 1]);
    }
}

// parameters: {k: 1} of one subsystem: those that were given, and those that were set
static void put_given(teller *t, const kd_scope *scope, const kd_node *given)
{
    const kd_node *own = kd_node_find(scope->root, "parameters");
    int            count = 0;
    for (int i = 0; own && own->type == KD_NODE_MAP && i < own->n; i++) {
        const char              *word = own->item[2 * i].text;
        const kd_file_parameter *set = find_set(t, scope, word);
        const kd_node           *value = given ? kd_node_find(given, word) : NULL;
        char                     number[40];
        if (!set && !value) continue;
        put_words(t, count++ == 0 ? ", parameters: {" : ", ");
        put_scalar(t, word);
        put_words(t, ": ");
        if (set)
            put_words(t, kd_shortest_text(set->value, number));
        else
            put_node(t, value);
    }
    if (count > 0) put_words(t, "}");
}

// ---- curves and signals from files ----------------------------------------------------------------------------------

// Was it made of this element, in this scope?
static bool is_made_of(const teller *t, const kd_source *source, const kd_scope *scope, const kd_node *key)
{
    const char *file = key->file ? key->file : t->r->findings->file;
    return source->subsystem == scope->number && source->line == key->line && source->column == key->column &&
           strcmp(source->file, file) == 0;
}

// All curves that were read from files, for one element or all values of its indices
static int put_read_curves(teller *t, const kd_scope *scope, int indent, const kd_node *map, int count)
{
    const kd_model *m = t->r->m;
    for (int i = 0; map && map->type == KD_NODE_MAP && i < map->n; i++) {
        if (map->item[2 * i + 1].type != KD_NODE_MAP || !kd_reader_is_curve_file(&map->item[2 * i + 1])) continue;
        for (int k = 0; k < m->ncurves; k++) {
            if (!is_made_of(t, &m->curve[k].source, scope, &map->item[2 * i])) continue;
            if (count++ == 0) put_heading(t, indent, "curves");
            put_indent(t, indent + 2);
            put_scalar(t, m->curve[k].name + (scope->number > 0 ? strlen(scope->name) + 1 : 0));
            put_words(t, ": ");
            put_part(t, k, NULL, NULL);
            put_words(t, "\n");
        }
    }
    return count;
}

static void put_curves(teller *t, const kd_scope *scope, int indent)
{
    const kd_node *curves = kd_node_find(scope->root, "curves"), *inputs = kd_node_find(scope->root, "inputs");
    int            count = 0;
    for (int i = 0; curves && curves->type == KD_NODE_MAP && i < curves->n; i++) {
        if (curves->item[2 * i + 1].type == KD_NODE_MAP && kd_reader_is_curve_file(&curves->item[2 * i + 1])) continue;
        if (count++ == 0) put_heading(t, indent, "curves");
        put_item(t, indent + 2, curves->item[2 * i].text, &curves->item[2 * i + 1]);
    }
    count = put_read_curves(t, scope, indent, curves, count);
    (void)put_read_curves(t, scope, indent, inputs, count);
}

// Signals from files are functions of time, by the curve of the same name
static void put_inputs(teller *t, int indent, const kd_node *map)
{
    if (map->type != KD_NODE_MAP || map->n == 0) return;
    put_heading(t, indent, "inputs");
    for (int i = 0; i < map->n; i++) {
        const char *name = map->item[2 * i].text;
        if (map->item[2 * i + 1].type != KD_NODE_MAP || !kd_reader_is_curve_file(&map->item[2 * i + 1])) {
            put_item(t, indent + 2, name, &map->item[2 * i + 1]);
            continue;
        }
        put_indent(t, indent + 2);
        put_scalar(t, name);
        put_words(t, ": {value: ");
        put_words(t, name);
        put_words(t, "(t)}\n");
    }
}

// ---- subsystems -----------------------------------------------------------------------------------------------------

// The number of the subsystem in the section of the one around it
static int place_of(const kd_scope *part)
{
    return (int)(part->key - kd_node_find(part->outer->root, "subsystems")->item) / 2;
}

// One subsystem, or all of a repetition; alone: with what was set from outside
static void put_instance(teller *t, int indent, const char *name, const kd_scope *scope, const kd_node *map, bool alone)
{
    put_indent(t, indent);
    put_scalar(t, name);
    put_words(t, ": {of: ");
    put_scalar(t, t->definition[scope->definition].name);
    // one of a repetition: its indices become loops of one turn
    for (int i = 0; i < scope->nindices && alone; i++) {
        char text[200];
        kd_text(text, sizeof text, "%s%s = %.0f..%.0f", i == 0 ? ", for: [" : ", ", scope->index[i],
                scope->index_value[i], scope->index_value[i]);
        put_words(t, text);
        if (i + 1 == scope->nindices) put_words(t, "]");
    }
    if (alone) put_given(t, scope, kd_node_find(map, "parameters"));
    // the rest as it was written, without what has been made of it
    for (int i = 0; i < map->n; i++) {
        const char *key = map->item[2 * i].text;
        const bool  made = strcmp(key, "file") == 0 || strcmp(key, "of") == 0 || strcmp(key, "replace") == 0;
        if (made || (alone && (strcmp(key, "parameters") == 0 || strcmp(key, "for") == 0))) continue;
        put_words(t, ", ");
        put_scalar(t, key);
        put_words(t, ": ");
        put_node(t, &map->item[2 * i + 1]);
    }
    put_words(t, "}\n");
}

// One that another subsystem of the same definition has at this place; NULL: none has
static const kd_scope *find_same(const kd_scope *scope, int place)
{
    for (const kd_scope *other = scope->next_same; other; other = other->next_same)
        for (const kd_scope *part = other->first_part; part; part = part->next_part)
            if (place_of(part) == place) return part;
    return NULL;
}

// Those that are there; what no subsystem of the definition has is left out
static void put_instances(teller *t, const kd_scope *scope, int indent, const kd_node *map)
{
    const kd_scope *part = scope->first_part;
    int             count = 0;
    for (int i = 0; map->type == KD_NODE_MAP && i < map->n; i++) {
        const char     *name = map->item[2 * i].text;
        const kd_scope *first = part && place_of(part) == i ? part : NULL, *end = first;
        bool            alone = false;
        for (; end && place_of(end) == i; end = end->next_part) alone = alone || is_set_inside(t, end);
        if (first) part = end;
        const kd_scope *like = first ? first : find_same(scope, i);
        if (!like) continue;
        if (count++ == 0) put_heading(t, indent, "subsystems");
        if (!alone) put_instance(t, indent + 2, name, like, &map->item[2 * i + 1], false);
        for (; alone && first != end; first = first->next_part) {
            name = first->name + (scope->number > 0 ? strlen(scope->name) + 1 : 0);
            put_instance(t, indent + 2, name, first, &map->item[2 * i + 1], true);
        }
    }
}

// ---- scopes ---------------------------------------------------------------------------------------------------------

static bool is_one_of(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return true;
    return false;
}

static void put_sections(teller *t, const kd_scope *scope, int indent)
{
    static const char *const elsewhere[] = {"kardan", "include", "definitions", "curves", NULL};
    static const char *const of_files[] = {"title", "gravity", "run", NULL};
    const kd_node           *root = scope->root;
    for (int i = 0; i < root->n; i++) {
        const char    *word = root->item[2 * i].text;
        const kd_node *value = &root->item[2 * i + 1];
        // what others tell, and what only the file at the top may have
        const bool not_here = is_one_of(elsewhere, word) || (scope->number > 0 && is_one_of(of_files, word));
        if (not_here || kd_node_is_null(value)) continue;
        // sections with values of their own first, all others are put as they stand
        if (strcmp(word, "subsystems") == 0)
            put_instances(t, scope, indent, value);
        else if (strcmp(word, "parameters") == 0)
            put_parameters(t, scope, indent, value);
        else if (strcmp(word, "inputs") == 0)
            put_inputs(t, indent, value);
        else
            put_section(t, indent, word, value);
    }
    put_curves(t, scope, indent);
}

// "wheel" of "library/wheel.yaml", with a number if there is one already
static const char *name_definition(teller *t, const char *of)
{
    char        base[KD_MAX_NAME + 1], name[KD_MAX_NAME + 20];
    const char *slash = strrchr(of, '/');
    kd_text(base, sizeof base, "%s", slash ? slash + 1 : of);
    char *point = strrchr(base, '.');
    if (point && point > base && (strcmp(point, ".yaml") == 0 || strcmp(point, ".yml") == 0)) *point = '\0';
    kd_text(name, sizeof name, "%s", base[0] ? base : "part");
    for (int number = 2;; number++) {
        bool taken = false;
        for (int i = 0; i < t->ndefinitions && !taken; i++) taken = strcmp(t->definition[i].name, name) == 0;
        if (!taken) break;
        kd_text(name, sizeof name, "%s_%d", base[0] ? base : "part", number);
    }
    char *copy = kd_arena_cut(&t->r->memory, strlen(name) + 1, 1);
    if (copy) memcpy(copy, name, strlen(name));
    return copy;
}

static bool add_definition(teller *t, kd_scope *scope)
{
    if (t->ndefinitions == t->capacity) {
        const int capacity = t->capacity > 0 ? 2 * t->capacity : 16;
        shared   *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) return kd_reader_short_of_memory(t->r);
        if (t->ndefinitions > 0) memcpy(larger, t->definition, (size_t)t->ndefinitions * sizeof *larger);
        kd_free(t->definition);
        t->definition = larger;
        t->capacity = capacity;
    }
    const char *name = name_definition(t, t->r->m->subsystem[scope->number - 1].of);
    if (!name) return kd_reader_short_of_memory(t->r);
    scope->definition = t->ndefinitions;
    t->definition[t->ndefinitions++] = (shared){scope, scope, name};
    return true;
}

// The definition of each subsystem: that of an earlier one, or a new one
static bool share_definitions(teller *t)
{
    for (int i = 1; i < t->r->nscopes; i++) {
        kd_scope *scope = t->r->scope_list[i];
        int       k = is_set_below(t, scope) ? t->ndefinitions : 0;
        for (; k < t->ndefinitions; k++) {
            const kd_scope *first = t->definition[k].first;
            if (first->made_of == scope->made_of && first->replaced == scope->replaced && !is_set_below(t, first))
                break;
        }
        if (k == t->ndefinitions) {
            if (!add_definition(t, scope)) return false;
            continue;
        }
        scope->definition = k;
        t->definition[k].last->next_same = scope;
        t->definition[k].last = scope;
    }
    return true;
}

static void put_definitions(teller *t)
{
    if (t->ndefinitions == 0) return;
    put_heading(t, 0, "definitions");
    for (int i = 0; i < t->ndefinitions && t->r->status == KD_OK; i++) {
        put_indent(t, 2);
        put_scalar(t, t->definition[i].name);
        put_words(t, ":\n");
        const size_t             before = t->used;
        const struct kd_written *last = t->r->m->private->last_written;
        put_sections(t, t->definition[i].first, 4);
        if (t->used != before || t->r->m->private->last_written != last || t->r->status != KD_OK) continue;
        t->used--; // without the end of the line
        put_words(t, " {}\n");
    }
}

// Materials are names of the file, which the model knows nothing of
static bool has_materials(const kd_scope *scope)
{
    const kd_node *map = kd_node_find(scope->root, "materials");
    return map && map->type == KD_NODE_MAP && map->n > 0;
}

bool kd_reader_keep_hierarchy(kd_reader *r, const kd_setting *settings, int nsettings)
{
    teller t = {.r = r, .settings = settings, .nsettings = nsettings};
    if ((r->nscopes > 1 || has_materials(r->scope_list[0])) && share_definitions(&t)) {
        put_words(&t, "kardan: 1\n");
        put_sections(&t, r->scope_list[0], 0);
        put_definitions(&t);
        put_part(&t, -1, NULL, NULL);
    }
    kd_free(t.text);
    kd_free(t.definition);
    return r->status == KD_OK;
}
