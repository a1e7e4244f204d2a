// subsystem.c: the subsystems of a model: which there are, what they are made of, their parameters and places.
//
// A scope is a model or subsystem with its own names. They are found breadth first, those around others before them;
// then every section is read once for each scope (reader.c), with names that are those of the scope (qualify.c). What a
// subsystem is made of stays one tree of nodes, however often it is used.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/reader.h"

static const char *const instance_keys[] = {"file",        "of",       "parameters", "connect", "mirror", "through",
                                            "orientation", "position", "enabled",    "replace", "for",    NULL};
static const char *const need_words[KD_NEED_COUNT] = {"body", "point", "signal"};

// ---- keys -----------------------------------------------------------------------------------------------------------

static void complain_unknown(kd_reader *r, const kd_node *key, const char *what, const char *const *words)
{
    kd_nearest nearest = kd_nearest_start(key->text);
    char       list[400] = "";
    for (int i = 0; words[i]; i++) {
        kd_nearest_offer(&nearest, words[i]);
        kd_text_append(list, sizeof list, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    if (nearest.best)
        kd_reader_complain(r, key, "unknown %s '%.60s', did you mean '%s'?", what, key->text, nearest.best);
    else
        kd_reader_complain(r, key, "unknown %s '%.60s'; possible are %s", what, key->text, list);
}

static bool is_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) return true;
    return false;
}

bool kd_reader_check_keys(kd_reader *r, const kd_node *root, bool whole)
{
    static const char *const of_files[] = {"kardan", "title", "gravity", NULL};
    static const char *const own[] = {"parameters", "expressions", "materials",   "include",
                                      "needs",      "offers",      "definitions", "subsystems"};
    const char              *words[KD_SCHEMA_SECTION_COUNT + 14];
    int                      n = 0;
    bool                     fine = true;
    // those of files, then what all have, then sections of elements
    for (int i = 0; whole && of_files[i]; i++) words[n++] = of_files[i];
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) words[n++] = own[i];
    for (int k = 0; k < KD_SCHEMA_SECTION_COUNT; k++)
        if (whole || k != KD_SCHEMA_RUN) words[n++] = kd_reader_top_word((kd_schema_id)k);
    words[n] = NULL;
    for (int i = 0; i < root->n && !kd_reader_is_tired(r); i++) {
        if (is_word(words, root->item[2 * i].text)) continue;
        complain_unknown(r, &root->item[2 * i], "section", words);
        fine = false;
    }
    return fine;
}

// A part of the root that must be a map; NULL: it is not there, or empty, or wrong, which has been told
static kd_node *map_of(kd_reader *r, const kd_node *root, const char *key, const char *like, bool *fine)
{
    kd_node *map = kd_node_find(root, key);
    if (!map || kd_node_is_null(map)) return NULL;
    if (map->type == KD_NODE_MAP) return map;
    kd_reader_complain(r, map, "'%s' must be a map, like %s", key, like);
    *fine = false;
    return NULL;
}

// ---- scopes ---------------------------------------------------------------------------------------------------------

static void *keep(kd_reader *r, size_t count, size_t size)
{
    void *memory = kd_arena_cut(&r->memory, count, size);
    if (!memory) kd_reader_short_of_memory(r);
    return memory;
}

static const char *keep_text(kd_reader *r, const char *text)
{
    char *copy = keep(r, strlen(text) + 1, 1);
    if (copy) memcpy(copy, text, strlen(text));
    return copy;
}

static bool append_scope(kd_reader *r, kd_scope *scope)
{
    if (r->nscopes == r->scopes_capacity) {
        const int  capacity = r->scopes_capacity > 0 ? 2 * r->scopes_capacity : 16;
        kd_scope **larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) return kd_reader_short_of_memory(r);
        if (r->nscopes > 0) memcpy(larger, r->scope_list, (size_t)r->nscopes * sizeof *larger);
        kd_free(r->scope_list);
        r->scope_list = larger;
        r->scopes_capacity = capacity;
    }
    if (kd_names_add(&r->scope_names, KD_SECTION_SUBSYSTEM, scope->name, r->nscopes) < 0)
        return kd_reader_short_of_memory(r);
    r->scope_list[r->nscopes++] = scope;
    return true;
}

kd_scope *kd_reader_find_scope(const kd_reader *r, const char *name)
{
    const int i = kd_names_find(&r->scope_names, KD_SECTION_SUBSYSTEM, name);
    return i >= 0 ? r->scope_list[i] : NULL;
}

bool kd_reader_has_scopes(const kd_reader *r)
{
    return r->nscopes > 1 || r->scope_list[0]->nhanded > 0 || r->scope_list[0]->has_parts;
}

void kd_reader_enter_scope(kd_reader *r, kd_scope *scope)
{
    r->scope = scope;
    r->findings->at = scope->root->file;
    r->named = scope->named;
    r->nnamed = scope->nnamed;
    kd_model_within(r->m, scope->number);
}

void kd_reader_subsystems_release(kd_reader *r)
{
    for (int i = 0; i < r->nfiles; i++) {
        kd_document_release(&r->file[i]->document);
        kd_free(r->file[i]);
    }
    for (int i = 0; i < r->nscopes; i++) kd_free(r->scope_list[i]->named);
    kd_free(r->file);
    kd_free(r->scope_list);
    kd_names_release(&r->scope_names);
    kd_arena_release(&r->memory);
}

// ---- what a subsystem needs -----------------------------------------------------------------------------------------

// kind, or {type: kind, default: value}
static bool read_need(kd_reader *r, const kd_node *key, const kd_node *value, kd_handed *h)
{
    const kd_node *type = value->type == KD_NODE_MAP ? kd_node_find(value, "type") : value;
    char           why[300];
    // the word of the kind, and what is taken if nothing is handed in
    h->name = key->text;
    h->kind = KD_NEED_COUNT;
    h->node = value->type == KD_NODE_MAP ? kd_node_find(value, "default") : NULL;
    for (int k = 0; type && type->type == KD_NODE_SCALAR && k < KD_NEED_COUNT; k++)
        if (strcmp(need_words[k], type->text) == 0) h->kind = (kd_need_kind)k;
    // the name is one in expressions
    if (!kd_name_check(key->text, why, sizeof why) || strpbrk(key->text, "-(")) {
        kd_reader_complain(r, key, "needs: the name '%.60s' must consist of letters, digits and '_'", key->text);
        return false;
    }
    // a map has two keys
    if (value->type == KD_NODE_MAP)
        for (int i = 0; i < value->n; i++)
            if (strcmp(value->item[2 * i].text, "type") != 0 && strcmp(value->item[2 * i].text, "default") != 0) {
                kd_reader_complain(r, &value->item[2 * i], "needs: unknown key '%.60s'; possible are type and default",
                                   value->item[2 * i].text);
                return false;
            }
    if (h->kind < KD_NEED_COUNT) return true;
    kd_reader_complain(r, type ? type : value, "needs: '%s' is a body, a point or a signal, like %s: body", key->text,
                       key->text);
    return false;
}

// The value in words, with the indices of the repetition put in
static bool take_value(kd_reader *r, kd_handed *h)
{
    // a point may be a place, which is read when frames are
    const char *name;
    if (h->kind == KD_NEED_POINT && h->node->type == KD_NODE_MAP) return true;
    if (h->node->type != KD_NODE_SCALAR || kd_node_is_null(h->node)) {
        kd_reader_complain(r, h->node, "'%s' needs %s", h->name,
                           h->kind == KD_NEED_BODY ? "the name of a body"
                           : h->kind == KD_NEED_POINT
                               ? "the name of a frame or body, or like {body: a, point: [0, 0, 0]}"
                               : "an expression");
        return false;
    }
    // a signal is a text with indices put in, names are read
    if (h->kind == KD_NEED_SIGNAL) {
        h->text = kd_reader_text_with_indices(r, h->node);
        return h->text != NULL;
    }
    if (!kd_reader_name(r, h->node, &name)) return false;
    h->text = keep_text(r, name);
    return h->text != NULL;
}

// Names of what is handed in, each with its value: of `connect`, or its default
static bool read_needs(kd_reader *r, kd_scope *scope, const kd_node *connect)
{
    bool fine = true;
    // as many as the file of the subsystem asks for
    kd_node *needs = map_of(r, scope->root, "needs", "needs: {chassis: body, steer: signal}", &fine);
    scope->nhanded = needs ? needs->n : 0;
    scope->handed = keep(r, (size_t)scope->nhanded, sizeof *scope->handed);
    if (!scope->handed || !fine) return false;
    for (int i = 0; i < scope->nhanded; i++) {
        kd_handed *h = &scope->handed[i];
        kd_node   *given = connect ? kd_node_find(connect, needs->item[2 * i].text) : NULL;
        if (!read_need(r, &needs->item[2 * i], &needs->item[2 * i + 1], h)) {
            scope->nhanded = i; // those behind it have no names yet
            return false;
        }
        // what is given is written in words of the scope around, a default in its own
        h->scope = given ? scope->outer : scope;
        if (given) h->node = given;
        if (h->node) {
            // names mean what they mean there
            kd_scope *const before = r->scope;
            if (!given) r->scope = scope;
            if (!take_value(r, h)) { // it has been told
                h->node = NULL;
                fine = false;
            }
            r->scope = before;
            continue;
        }
        // nothing given and no default
        if (scope->number > 0)
            kd_reader_complain(r, scope->key, "it needs the %s '%s'; hand it in: 'connect: {%s: ...}'",
                               need_words[h->kind], h->name, h->name);
        else
            kd_reader_complain(r, &needs->item[2 * i],
                               "the %s '%s' is needed from outside; give it a 'default' to use the file alone",
                               need_words[h->kind], h->name);
        fine = false;
    }
    // what is handed in must be needed
    for (int i = 0; connect && i < connect->n; i++) {
        kd_nearest nearest = kd_nearest_start(connect->item[2 * i].text);
        bool       known = false;
        for (int k = 0; k < scope->nhanded; k++) {
            known = known || strcmp(scope->handed[k].name, connect->item[2 * i].text) == 0;
            kd_nearest_offer(&nearest, scope->handed[k].name);
        }
        if (known) continue;
        kd_reader_complain(r, &connect->item[2 * i], "it does not need '%.60s'%s%s%s", connect->item[2 * i].text,
                           nearest.best ? ", did you mean '" : "", nearest.best ? nearest.best : "",
                           nearest.best ? "'?" : "");
        fine = false;
    }
    return fine;
}

// The frame of a point that was handed in is a part of the scope that it comes from, with the name of the need.
static bool hand_point(kd_reader *r, kd_scope *scope, const kd_handed *h)
{
    kd_frame_def def = kd_frame_def_default();
    kd_field     at = *kd_schema_field(kd_schema_of(KD_SCHEMA_FRAME), 0, "at");
    const char  *full;
    r->npending = r->narrays = 0;
    kd_reader_enter_scope(r, scope);
    if (!kd_reader_full_name(r, h->node, h->name, &full)) return false;
    kd_reader_enter_scope(r, h->scope);
    // its value, with the indices of the subsystem that it is handed to
    kd_node value = *h->node;
    if (h->text) {
        // the value as it was taken, not as it stands
        value.text = h->text;
        value.first = 0;
    }
    // indices of the repetition that made the subsystem
    r->nindices = h->scope == scope ? 0 : scope->nindices;
    memcpy(r->index, scope->index, sizeof r->index);
    memcpy(r->index_value, scope->index_value, sizeof r->index_value);
    // read like a frame of the file, with its parameters bound
    kd_text(r->element, sizeof r->element, "subsystem '%s': '%s': ", scope->name, h->name);
    r->definition = NULL;
    kd_model_drop_fields(r->m);
    r->findings->at = h->node->file;
    bool fine = kd_reader_place(r, &at, &value, &def.at) && kd_reader_bind(r, &def, sizeof def);
    r->nindices = 0;
    r->element[0] = '\0';
    if (!fine) return false;
    // it gets its place in the file, and counts as used
    const char *file = h->node->file ? h->node->file : r->findings->file;
    kd_status   status = kd_model_at(r->m, file, h->node->line, h->node->column);
    if (status >= 0) status = kd_model_add_frame(r->m, full, &def);
    if (status >= 0) kd_model_use_frame(r->m, r->m->nframes - 1);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    return status >= 0;
}

bool kd_reader_hand_points(kd_reader *r, kd_scope *scope)
{
    bool fine = true;
    for (int i = 0; i < scope->nhanded && fine && r->status == KD_OK; i++)
        if (scope->handed[i].kind == KD_NEED_POINT && scope->handed[i].node)
            fine = hand_point(r, scope, &scope->handed[i]);
    return r->status == KD_OK;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

// All of a scope: values from outside in place of those of the file
static bool enter_parameters(kd_reader *r, kd_scope *scope, const kd_node *given)
{
    bool     fine = true;
    kd_node *own = map_of(r, scope->root, "parameters", "parameters: {l: 0.3}", &fine);
    // own parameters, each with the value from outside if there is one
    for (int i = 0; own && i < own->n && !kd_reader_is_tired(r); i++) {
        const kd_node *key = &own->item[2 * i], *value = given ? kd_node_find(given, key->text) : NULL;
        kd_reader_enter_parameter(r, scope, key, value ? value : &own->item[2 * i + 1], value ? scope->outer : scope,
                                  value ? scope : NULL);
    }
    // what is given must be a parameter of it
    for (int i = 0; given && i < given->n; i++) {
        const kd_node *key = &given->item[2 * i];
        kd_nearest     nearest = kd_nearest_start(key->text);
        if (own && kd_node_find(own, key->text)) continue;
        // some of those there are, or the nearest one
        char list[300] = "";
        for (int k = 0; own && k < own->n; k++) {
            kd_nearest_offer(&nearest, own->item[2 * k].text);
            if (k < 10) kd_text_append(list, sizeof list, "%s%.30s", k > 0 ? ", " : "; it has ", own->item[2 * k].text);
            if (k == 10) kd_text_append(list, sizeof list, ", ..");
        }
        if (nearest.best) kd_text(list, sizeof list, ", did you mean '%s'?", nearest.best);
        kd_reader_complain(r, key, "it has no parameter '%.60s'%s", key->text, list);
        fine = false;
    }
    return fine && r->status == KD_OK;
}

// ---- replacing parts ------------------------------------------------------------------------------------------------

// The section of the root whose element the key names, "spring" or "forces.spring"; NULL: it has been told why not
static kd_node *find_replaced(kd_reader *r, const kd_node *key, kd_node *root, const char **name)
{
    const char *point = strchr(key->text, '.');
    kd_node    *found = NULL;
    kd_nearest  nearest = kd_nearest_start(point ? point + 1 : key->text);
    *name = point ? point + 1 : key->text;
    // sections of elements, and this one if it was named
    for (int i = 0; i < root->n; i++) {
        const kd_node *section = &root->item[2 * i];
        kd_node       *map = &root->item[2 * i + 1];
        bool           elements = strcmp(section->text, "subsystems") == 0 || strcmp(section->text, "materials") == 0;
        for (int k = 0; k < KD_SCHEMA_RUN; k++)
            elements = elements || strcmp(section->text, kd_schema_of((kd_schema_id)k)->word) == 0;
        if (!elements || map->type != KD_NODE_MAP) continue;
        if (point && (strlen(section->text) != (size_t)(point - key->text) ||
                      strncmp(section->text, key->text, (size_t)(point - key->text)) != 0))
            continue;
        // its own element of that name; two are not clear
        for (int k = 0; k < map->n; k++) kd_nearest_offer(&nearest, map->item[2 * k].text);
        if (!kd_node_find(map, *name)) continue;
        if (found) {
            kd_reader_complain(r, key, "replace: '%s' is in several sections; write %s.%s", *name, section->text,
                               *name);
            return NULL;
        }
        found = map;
    }
    // a parameter is replaced elsewhere
    const kd_node *parameters = kd_node_find(root, "parameters");
    const bool     parameter = parameters && parameters->type == KD_NODE_MAP && kd_node_find(parameters, key->text);
    if (!found && parameter)
        kd_reader_complain(r, key, "replace: '%.60s' is a parameter; write 'parameters: {%.60s: ..}'", key->text,
                           key->text);
    else if (!found)
        kd_reader_complain(r, key, "replace: there is no '%.60s'%s%s%s", key->text,
                           nearest.best ? ", did you mean '" : "", nearest.best ? nearest.best : "",
                           nearest.best ? "'?" : "");
    return found;
}

// A copy of the root with other elements in place of those that `replace` names; null takes them away
static kd_node *replace_parts(kd_reader *r, kd_node *root, const kd_node *replace)
{
    kd_node *copy = keep(r, 1, sizeof *copy);
    kd_node *item = keep(r, 2 * (size_t)root->n, sizeof *item);
    if (!copy || !item) return NULL;
    // the list of sections is copied, sections only where something changes
    *copy = *root;
    copy->owner = 0;
    memcpy(item, root->item, 2 * (size_t)root->n * sizeof *item);
    copy->item = item;
    for (int i = 0; i < replace->n; i++) {
        const char *name;
        kd_node    *map = find_replaced(r, &replace->item[2 * i], copy, &name), *value = &replace->item[2 * i + 1];
        if (!map) return NULL;
        // the section with the element replaced, or left out
        kd_node *inner = keep(r, 2 * (size_t)map->n, sizeof *inner);
        int      n = 0;
        if (!inner) return NULL;
        for (int k = 0; k < map->n; k++) {
            const bool this = strcmp(map->item[2 * k].text, name) == 0;
            if (this && kd_node_is_null(value)) continue;
            inner[2 * n] = map->item[2 * k];
            inner[2 * n + 1] = this ? *value : map->item[2 * k + 1];
            // messages about the new element stand where it was written
            if (this)
                inner[2 * n].file = value->file, inner[2 * n].line = value->line, inner[2 * n].column = value->column;
            n++;
        }
        map->item = inner;
        map->n = n;
    }
    return copy;
}

// ---- one subsystem --------------------------------------------------------------------------------------------------

typedef struct instance {
    kd_node          *key, *value;
    const kd_setting *settings;
    int               nsettings;
} instance;

// Its sections: a file, a definition of the same file, or of another one
static kd_node *find_sections(kd_reader *r, const kd_scope *outer, const instance *e, kd_node **home, const char **of)
{
    kd_node *file = kd_node_find(e->value, "file"), *name = kd_node_find(e->value, "of");
    *home = outer->home;
    if (!file && !name) {
        kd_reader_complain(r, e->key, "'file' or 'of' is missing: what is it made of?");
        return NULL;
    }
    // another file brings its own definitions
    if (file) {
        *home = kd_reader_file(r, file);
        *of = file->text;
        if (!*home) return NULL;
    }
    // without a name it is the file as a whole
    if (!name) return *home;
    bool     fine = true;
    kd_node *definitions = map_of(r, *home, "definitions", "definitions: {wheel: {bodies: ...}}", &fine);
    kd_node *found = definitions && name->type == KD_NODE_SCALAR ? kd_node_find(definitions, name->text) : NULL;
    *of = name->type == KD_NODE_SCALAR ? name->text : "";
    if (found && found->type == KD_NODE_MAP) return kd_reader_check_keys(r, found, false) ? found : NULL;
    // no such definition: the nearest name
    kd_nearest nearest = kd_nearest_start(*of);
    for (int i = 0; definitions && i < definitions->n; i++) kd_nearest_offer(&nearest, definitions->item[2 * i].text);
    if (fine)
        kd_reader_complain(r, name, "there is no definition '%.60s'%s%s%s", *of, nearest.best ? ", did you mean '" : "",
                           nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
    return NULL;
}

// Would it be a part of itself?
static bool check_depth(kd_reader *r, const kd_scope *outer, const kd_node *sections, const kd_node *key)
{
    for (const kd_scope *s = outer; s; s = s->outer) {
        if (s->root->item != sections->item) continue;
        kd_reader_complain(r, key, "it is a part of itself");
        return false;
    }
    if (outer->depth < KD_READER_MAX_DEPTH) return true;
    kd_reader_complain(r, key, "subsystems inside each other, more than %d deep", KD_READER_MAX_DEPTH);
    return false;
}

// Mirror, orientation and position, into the model
static bool read_place(kd_reader *r, kd_scope *scope, const instance *e, const char *of)
{
    const kd_schema *schema = kd_schema_of(KD_SCHEMA_SUBSYSTEM);
    kd_subsystem_def def;
    kd_schema_default(schema, 0, &def);
    r->npending = r->narrays = 0;
    r->any_units = false;
    r->turns = KD_TURNS_UNKNOWN;
    r->joint = -1;
    // fields of the place, as the schema lists them
    for (int i = 0; i < schema->nfields; i++) {
        kd_node *node = kd_node_find(e->value, schema->fields[i].key);
        if (node && !kd_node_is_null(node) && !kd_reader_value(r, &schema->fields[i], 0, node, &def)) return false;
    }
    // the model learns it with the bindings of its numbers, so that it can move when parameters change
    const char *file = e->key->file ? e->key->file : r->findings->file;
    kd_status   status = kd_model_at(r->m, file, e->key->line, e->key->column);
    kd_model_within(r->m, scope->outer->number);
    scope->first_binding = r->m->private->bindings.nbindings;
    if (status >= 0 && !kd_reader_bind(r, &def, sizeof def)) return false;
    scope->end_binding = r->m->private->bindings.nbindings;
    if (status >= 0) status = kd_model_add_subsystem(r->m, scope->name, of, &def);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    if (status < 0) return false;
    // where it stands in the world
    scope->number = r->m->nsubsystems;
    kd_subsystem_place(r->m, scope->number - 1);
    // one that stands as it is written needs no change of its expressions
    const kd_subsystem *s = &r->m->subsystem[scope->number - 1];
    const bool          still = s->c.x == 0.0 && s->c.y == 0.0 && s->c.z == 0.0 && s->Q.x.x == 1.0 && s->Q.y.y == 1.0 &&
                       s->Q.z.z == 1.0 && scope->first_binding == scope->end_binding;
    scope->placed = !still;
    return kd_reader_tell_origin(r, scope, e->value);
}

static bool is_enabled(kd_reader *r, const instance *e, bool *enabled)
{
    kd_node  *node = kd_node_find(e->value, "enabled");
    const int mark = r->npending;
    double    value = 1.0;
    *enabled = true;
    if (!node) return true;
    if (node->type == KD_NODE_SCALAR && (strcmp(node->text, "true") == 0 || strcmp(node->text, "yes") == 0))
        return true;
    *enabled = false;
    if (node->type == KD_NODE_SCALAR && (strcmp(node->text, "false") == 0 || strcmp(node->text, "no") == 0))
        return true;
    r->unit = "";
    if (!kd_reader_number(r, node, "enabled", &value) || !kd_reader_hold(r, mark)) return false;
    *enabled = value != 0.0;
    return true;
}

static bool check_instance_keys(kd_reader *r, const instance *e)
{
    for (int i = 0; i < e->value->n; i++) {
        if (is_word(instance_keys, e->value->item[2 * i].text)) continue;
        complain_unknown(r, &e->value->item[2 * i], "key", instance_keys);
        return false;
    }
    const kd_node *through = kd_node_find(e->value, "through");
    if (!through || kd_node_find(e->value, "mirror")) return true;
    kd_reader_complain(r, through, "'through' is a point of the plane of a mirror, but 'mirror' is not given");
    return false;
}

// Words that paths begin with, and that bodies are called by
static bool is_taken(const char *name)
{
    for (int s = 0; s < KD_SECTION_USER_FORCE; s++)
        if (strcmp(name, kd_section_word((kd_section)s)) == 0) return true;
    return strcmp(name, "ground") == 0 || strcmp(name, "parameter") == 0 || strcmp(name, "curve") == 0;
}

// One subsystem, for the present values of the indices
static bool add_instance(kd_reader *r, void *context)
{
    const instance *e = context;
    kd_scope       *outer = r->scope, *scope;
    const char     *name, *full, *of = "";
    char            why[300];
    bool            enabled, fine = true;
    kd_text(r->element, sizeof r->element, "subsystem '%.100s': ", e->key->text);
    if (++r->elements > KD_READER_MAX_ELEMENTS) {
        kd_reader_complain(r, e->key, "more than %d elements", KD_READER_MAX_ELEMENTS);
        return false;
    }
    // its name
    if (!kd_reader_name(r, e->key, &name)) return false;
    if (!kd_name_check(name, why, sizeof why)) {
        kd_reader_complain(r, e->key, "%s", why);
        return false;
    }
    if (kd_expr_is_reserved(name) || strcmp(name, "t") == 0 || is_taken(name)) {
        kd_reader_complain(r, e->key, "the name is a word of the expression language");
        return false;
    }
    if (!kd_reader_full_name(r, e->key, name, &full)) return false;
    full = keep_text(r, full);
    if (!full) return false;
    kd_text(r->element, sizeof r->element, "subsystem '%s': ", full);
    if (kd_reader_find_scope(r, full)) {
        kd_reader_complain(r, e->key, "the name is used twice");
        return false;
    }
    outer->has_parts = true; // also if there are none: whoever reads them is told why not
    if (!is_enabled(r, e, &enabled) || !enabled) return r->status == KD_OK;
    // what it is made of
    scope = keep(r, 1, sizeof *scope);
    if (!scope) return false;
    *scope = (kd_scope){.name = full, .depth = outer->depth + 1, .outer = outer, .key = e->key};
    // indices keep their values for what is read later
    scope->nindices = r->nindices;
    memcpy(scope->index, r->index, sizeof scope->index);
    memcpy(scope->index_value, r->index_value, sizeof scope->index_value);
    kd_node *sections = find_sections(r, outer, e, &scope->home, &of);
    if (!sections || !check_depth(r, outer, sections, e->key)) return false;
    // what is said of it beside its place
    kd_node *replace = map_of(r, e->value, "replace", "replace: {spring: {type: tsda}}", &fine);
    kd_node *given = map_of(r, e->value, "parameters", "parameters: {k: 1}", &fine);
    kd_node *connect = map_of(r, e->value, "connect", "connect: {chassis: body}", &fine);
    if (!fine || !kd_reader_include(r, sections)) return false;
    scope->root = replace ? replace_parts(r, sections, replace) : sections;
    // where it is, its parameters, what it was given
    if (!scope->root || !read_place(r, scope, e, of) || !append_scope(r, scope)) return false;
    scope->made_of = sections;
    scope->replaced = replace;
    // in the order of the file, which is that of messages
    if (outer->last_part)
        outer->last_part->next_part = scope;
    else
        outer->first_part = scope;
    outer->last_part = scope;
    const int first = r->nparameters;
    scope->wrong = !enter_parameters(r, scope, given);
    // what was replaced may have used them
    for (int i = first; replace && i < r->nparameters; i++) r->parameter[i].used = true;
    // values of the command line come last, then all are computed
    kd_reader_override(r, e->settings, e->nsettings, first);
    scope->wrong = !kd_reader_compute_parameters(r, first) || scope->wrong;
    scope->wrong = !read_needs(r, scope, connect) || scope->wrong;
    return !scope->wrong;
}

static void expand_scope(kd_reader *r, kd_scope *scope, const kd_setting *settings, int nsettings)
{
    bool     fine = true;
    kd_node *map = map_of(r, scope->root, "subsystems", "subsystems: {left: {file: wheel.yaml}}", &fine);
    for (int i = 0; map && i < map->n && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        instance e = {&map->item[2 * i], &map->item[2 * i + 1], settings, nsettings};
        kd_reader_enter_scope(r, scope);
        r->npending = 0;
        kd_text(r->element, sizeof r->element, "subsystem '%.100s': ", e.key->text);
        // one, or as many as 'for' says
        if (e.value->type != KD_NODE_MAP) {
            kd_reader_complain(r, e.value, "a subsystem is a map, like {file: wheel.yaml}");
        } else if (check_instance_keys(r, &e)) {
            const kd_node *loops = kd_node_find(e.value, "for");
            if (loops && !strchr(e.key->text, '('))
                kd_reader_complain(r, e.key, "it is repeated, so its name needs an index, like %.60s(i)", e.key->text);
            else
                kd_reader_repeat(r, loops, add_instance, &e);
        }
        r->element[0] = '\0';
        r->nindices = 0;
    }
}

// ---- offers ---------------------------------------------------------------------------------------------------------

static bool check_offers(kd_reader *r, const kd_scope *scope)
{
    const kd_node *offers = kd_node_find(scope->root, "offers");
    if (!offers || kd_node_is_null(offers)) return true;
    bool fine = offers->type != KD_NODE_SCALAR;
    for (int i = 0; fine && i < offers->n; i++) {
        const kd_node *value = offers->type == KD_NODE_MAP ? &offers->item[2 * i + 1] : &offers->item[i];
        fine = value->type == KD_NODE_SCALAR;
    }
    if (!fine)
        kd_reader_complain(r, offers,
                           "'offers' must be a list of names, or like {hub: body.upright, travel: joint.arm.q}");
    return fine;
}

// ---- all ------------------------------------------------------------------------------------------------------------

bool kd_reader_expand(kd_reader *r, kd_node *root, const kd_setting *settings, int nsettings)
{
    kd_scope *whole = keep(r, 1, sizeof *whole);
    if (!whole) return false;
    *whole = (kd_scope){.name = "", .root = root, .home = root, .key = root};
    r->scope = whole;
    if (!append_scope(r, whole)) return false;
    if (!kd_reader_include(r, root) && r->status != KD_OK) return false;
    kd_reader_check_keys(r, root, true);
    // parameters of the model itself, then subsystem after subsystem
    enter_parameters(r, whole, NULL);
    kd_reader_override(r, settings, nsettings, 0);
    if (!kd_reader_compute_parameters(r, 0)) return false;
    read_needs(r, whole, NULL);
    for (int i = 0; i < r->nscopes && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        kd_scope *scope = r->scope_list[i];
        kd_reader_enter_scope(r, scope);
        if (!scope->wrong && scope->root->owner >= 0 && check_offers(r, scope))
            expand_scope(r, scope, settings, nsettings);
    }
    if (r->status != KD_OK) return false;
    // expressions with names, now that those of parameters are known
    for (int i = 0; i < r->nscopes && r->status == KD_OK; i++) {
        kd_scope *scope = r->scope_list[i];
        kd_reader_enter_scope(r, scope);
        if (!scope->wrong) kd_reader_named(r, kd_node_find(scope->root, "expressions"));
        scope->named = r->named;
        scope->nnamed = r->nnamed;
        if (!scope->wrong && scope->root->owner >= 0) kd_reader_check_materials(r);
    }
    if (r->status != KD_OK) return false;
    kd_reader_enter_scope(r, whole);
    kd_reader_check_settings(r, settings, nsettings);
    return kd_reader_add_parameters(r);
}
