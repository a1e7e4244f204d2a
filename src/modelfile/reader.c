// reader.c: a model from a YAML file, as the schema says. docs/guide/models.md
//
// The file becomes a tree with positions (document.c); then parameters are computed, and each section is read element
// by element into definitions, which are added to a model. All errors are collected, up to a limit.
#include "modelfile/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/load.h"
#include "core/option.h"
#include "core/text.h"

// ---- what all parts use ---------------------------------------------------------------------------------------------

void kd_reader_complain(kd_reader *r, const kd_node *node, const char *format, ...)
{
    char    text[KD_FINDING_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    const char *const at = r->findings->at;
    char              part[KD_MAX_NAME + 20] = "";
    if (node->file) r->findings->at = node->file;
    if (!r->element[0] && r->scope && r->scope->number > 0)
        kd_text(part, sizeof part, "subsystem '%s': ", r->scope->name);
    kd_file_findings_add(r->findings, node->line, node->column, "%s%s%s", part, r->element, text);
    r->findings->at = at;
}

bool kd_reader_short_of_memory(kd_reader *r)
{
    r->status = KD_ERR_MEMORY;
    return false;
}

bool kd_reader_is_tired(const kd_reader *r)
{
    return r->findings->count >= 2 * KD_FINDINGS_KEPT || kd_model_error_count(r->m) >= 2 * KD_FINDINGS_KEPT;
}

char *kd_reader_copy(kd_reader *r, const char *text, size_t length)
{
    char *copy = kd_arena_cut(&r->scratch, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    else
        kd_reader_short_of_memory(r);
    return copy;
}

// ---- elements -------------------------------------------------------------------------------------------------------

typedef union definition {
    kd_curve_def      curve;
    kd_track_def      track;
    kd_input_def      input;
    kd_body_def       body;
    kd_frame_def      frame;
    kd_joint_def      joint;
    kd_constraint_def constraint;
    kd_force_def      force;
    kd_state_def      state;
    kd_algebraic_def  algebraic;
    kd_block_def      block;
    kd_variable_def   variable;
    kd_event_def      event;
    kd_sensor_def     sensor;
    kd_invariant_def  invariant;
    kd_condition_def  condition;
} definition;

typedef struct element {
    kd_schema_id id;
    kd_node     *key, *value;
    definition   def;
} element;

static kd_status add_element(kd_model *m, kd_schema_id id, const char *name, const definition *def)
{
    switch (id) {
    case KD_SCHEMA_CURVE:
        return kd_model_add_curve(m, name, &def->curve);
    case KD_SCHEMA_TRACK:
        return kd_model_add_track(m, name, &def->track);
    case KD_SCHEMA_INPUT:
        return kd_model_add_input(m, name, &def->input);
    case KD_SCHEMA_BODY:
        return kd_model_add_body(m, name, &def->body);
    case KD_SCHEMA_FRAME:
        return kd_model_add_frame(m, name, &def->frame);
    case KD_SCHEMA_JOINT:
        return kd_model_add_joint(m, name, &def->joint);
    case KD_SCHEMA_CONSTRAINT:
        return kd_model_add_constraint(m, name, &def->constraint);
    case KD_SCHEMA_FORCE:
        return kd_model_add_force(m, name, &def->force);
    case KD_SCHEMA_STATE:
        return kd_model_add_state(m, name, &def->state);
    case KD_SCHEMA_ALGEBRAIC:
        return kd_model_add_algebraic(m, name, &def->algebraic);
    case KD_SCHEMA_BLOCK:
        return kd_model_add_block(m, name, &def->block);
    case KD_SCHEMA_VARIABLE:
        return kd_model_add_variable(m, name, &def->variable);
    case KD_SCHEMA_EVENT:
        return kd_model_add_event(m, name, &def->event);
    case KD_SCHEMA_SENSOR:
        return kd_model_add_sensor(m, name, &def->sensor);
    case KD_SCHEMA_INVARIANT:
        return kd_model_add_invariant(m, name, &def->invariant);
    case KD_SCHEMA_CONDITION:
        return kd_model_add_condition(m, name, &def->condition);
    default:
        return KD_ERR_ARGUMENT;
    }
}

// Missing, misspelt or unknown
static bool complain_type(kd_reader *r, const kd_schema *schema, const kd_node *map, const kd_node *type)
{
    char        list[300] = "";
    const char *near = type && type->type == KD_NODE_SCALAR ? kd_schema_suggest_kind(schema, type->text) : NULL;
    // the words of all kinds of this section
    for (int k = 0; k < schema->nkinds; k++) {
        const char *word = kd_schema_word(schema, k)->word;
        if (word) kd_text_append(list, sizeof list, "%s%s", k > 0 ? ", " : "", word);
    }
    // which of the four it is decides about the sentence
    if (type && type->type != KD_NODE_SCALAR) {
        kd_reader_complain(r, type, "'type' must be one word; possible are %s", list);
    } else if (!type) {
        kd_reader_complain(r, map, "'type' is missing; possible are %s", list);
    } else if (near) {
        kd_reader_complain(r, type, "unknown type '%s', did you mean '%s'?", type->text, near);
    } else {
        kd_reader_complain(r, type, "unknown type '%.60s'; possible are %s", type->text, list);
    }
    return false;
}

static bool read_kind(kd_reader *r, const kd_schema *schema, const kd_node *map, int *kind)
{
    *kind = 0;
    if (!kd_schema_has_kinds(schema)) return true;
    const kd_node *type = kd_node_find(map, "type");
    *kind = type && type->type == KD_NODE_SCALAR ? kd_schema_kind(schema, type->text) : -1;
    return *kind >= 0 || complain_type(r, schema, map, type);
}

// name: text, in place of name: {value: text}
static bool read_short(kd_reader *r, const kd_schema *schema, kd_node *node, definition *def)
{
    if (!schema->short_key || node->type != KD_NODE_SCALAR || kd_node_is_null(node)) {
        kd_reader_complain(r, node, "a %s is a map of fields, like {%s: ...}", schema->singular,
                           kd_schema_has_kinds(schema) ? "type" : schema->fields[0].key);
        return false;
    }
    kd_schema_default(schema, 0, def);
    return kd_reader_value(r, kd_schema_field(schema, 0, schema->short_key), 0, node, def);
}

static bool read_curve(kd_reader *r, kd_node *node, kd_curve_def *def)
{
    if (kd_reader_is_curve_file(node)) return kd_reader_curve_file(r, node, def);
    if (kd_node_find(node, "iso8608")) return kd_reader_curve_road(r, node, def);
    if (!kd_reader_fields(r, kd_schema_of(KD_SCHEMA_CURVE), 0, node, def)) return false;
    if (def->z || def->n == def->ny) return true;
    kd_reader_complain(r, kd_node_find(node, "y"),
                       "'x' and 'y' must have as many numbers as each other, but one has %d, the other %d", def->n,
                       def->ny);
    return false;
}

// An input that is a measured signal: a curve of its name, read at t. The curve is added first, the input behind it.
static bool read_signal(kd_reader *r, kd_node *node, kd_input_def *def)
{
    kd_curve_def curve = kd_curve_def_default();
    char         law[300];
    // the name will be the word of a function
    if (strpbrk(r->name, "(-")) {
        kd_reader_complain(r, node, "a signal from a file needs a plain name of letters, digits and '_'");
        return false;
    }
    // the file becomes a curve of one argument
    if (!kd_reader_curve_file(r, node, &curve)) return false;
    if (curve.z) {
        kd_reader_complain(r, node, "an input is a function of time, but a 'grid' has two arguments");
        return false;
    }
    // both share a name, in the scope of the element
    const char     *full;
    const kd_status status =
        kd_reader_full_name(r, node, r->name, &full) ? kd_model_add_curve(r->m, full, &curve) : KD_ERR_MODEL;
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    // the law reads the curve at t
    kd_text(law, sizeof law, "%s%s(t)", r->scope->number > 0 ? "curve." : "", full);
    def->value = kd_reader_copy(r, law, strlen(law) + 1);
    return status >= 0 && def->value;
}

// The fields of an element, or its short form
static bool read_definition(kd_reader *r, kd_schema_id id, kd_node *node, definition *def)
{
    const kd_schema *schema = kd_schema_of(id);
    int              kind;
    if (node->type != KD_NODE_MAP) return read_short(r, schema, node, def);
    if (!read_kind(r, schema, node, &kind)) return false;
    kd_schema_default(schema, kind, def);
    if (id == KD_SCHEMA_CURVE) return read_curve(r, node, &def->curve);
    if (id == KD_SCHEMA_INPUT && kd_reader_is_curve_file(node)) return read_signal(r, node, &def->input);
    if (id != KD_SCHEMA_FRAME) return kd_reader_fields(r, schema, kind, node, def);
    return kd_reader_note(r, "at", node) && kd_reader_place_map(r, node, &def->frame.at);
}

// one element, for the present values of the indices
static bool read_element(kd_reader *r, void *context)
{
    element    *e = context;
    const char *singular = kd_schema_of(e->id)->singular, *name = e->key->text;
    int         complaints = r->findings->count;
    kd_text(r->element, sizeof r->element, "%s '%.100s': ", singular, e->key->text);
    if (++r->elements > KD_READER_MAX_ELEMENTS) {
        kd_reader_complain(r, e->key, "more than %d elements", KD_READER_MAX_ELEMENTS);
        return false;
    }
    // its name, with the values of the indices
    kd_arena_release(&r->scratch);
    if (!kd_reader_name(r, e->key, &name)) return false;
    kd_text(r->element, sizeof r->element, "%s '%s%s%.100s': ", singular, r->scope->name,
            r->scope->number > 0 ? "." : "", name);
    r->name = name;
    char why[300];
    if (!kd_name_check_parts(name, why, sizeof why)) {
        kd_reader_complain(r, e->key, "%s%s", why, strchr(name, ':') ? "; write a blank behind the colon" : "");
        return false;
    }
    if (!kd_reader_full_name(r, e->key, name, &name)) return false;
    // where it stands, for messages of the model
    r->findings->at = e->key->file;
    kd_reader_look_beside(r, e->key->file);
    kd_status status =
        kd_model_at(r->m, r->findings->at ? r->findings->at : r->findings->file, e->key->line, e->key->column);
    if (status < 0) return kd_reader_short_of_memory(r);
    kd_model_drop_fields(r->m); // of an element that was wrong
    // elements whose numbers may have any unit
    r->any_units = e->id == KD_SCHEMA_CURVE || e->id == KD_SCHEMA_INPUT || e->id == KD_SCHEMA_STATE ||
                   e->id == KD_SCHEMA_BLOCK || e->id == KD_SCHEMA_VARIABLE || e->id == KD_SCHEMA_ALGEBRAIC ||
                   e->id == KD_SCHEMA_EVENT || e->id == KD_SCHEMA_CONSTRAINT || e->id == KD_SCHEMA_INVARIANT ||
                   e->id == KD_SCHEMA_CONDITION;
    // fields to the definition, expressions of parameters bound to it, then into the model
    r->npending = r->narrays = 0;
    r->definition = &e->def;
    r->definition_size = sizeof e->def;
    r->map = e->value;
    bool fine = read_definition(r, e->id, e->value, &e->def) && r->findings->count == complaints;
    r->definition = NULL;
    // numbers that several bodies share do not live
    const bool pieces = fine && e->id == KD_SCHEMA_BODY && kd_reader_has_pieces(e->value, &e->def.body);
    if (!fine || r->status != KD_OK || (pieces && !kd_reader_hold(r, 0))) return false;
    if (!kd_reader_bind(r, &e->def, sizeof e->def)) return false;
    if (e->id == KD_SCHEMA_BODY && !kd_reader_flexible(r, e->value, &e->def.body)) return false;
    status = add_element(r->m, e->id, name, &e->def);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    return status >= 0 && (!pieces || kd_reader_add_pieces(r, e->value, name, &e->def.body));
}

// An element once, or for all values of its indices
static void read_repeated(kd_reader *r, element *e)
{
    const kd_node *loops = e->value->type == KD_NODE_MAP ? kd_node_find(e->value, "for") : NULL;
    kd_text(r->element, sizeof r->element, "%s '%.100s': ", kd_schema_of(e->id)->singular, e->key->text);
    if (loops && !strchr(e->key->text, '(')) {
        kd_reader_complain(r, e->key, "it is repeated, so its name needs an index, like %.60s(i)", e->key->text);
    } else {
        kd_reader_repeat(r, loops, read_element, e); // stops at the first element that is wrong
    }
    r->element[0] = '\0';
}

static void read_section(kd_reader *r, kd_schema_id id, const kd_node *map)
{
    const kd_schema *schema = kd_schema_of(id);
    if (kd_node_is_null(map)) return;
    if (map->type != KD_NODE_MAP) {
        kd_reader_complain(r, map, "'%s' must be a map, like %s: {name: ...}", schema->word, schema->word);
        return;
    }
    for (int i = 0; i < map->n && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        element e = {id, &map->item[2 * i], &map->item[2 * i + 1], {.curve = {0}}};
        read_repeated(r, &e);
    }
}

// ---- the rest of the file -------------------------------------------------------------------------------------------

static void read_title(kd_reader *r, const kd_node *node)
{
    if (node->type != KD_NODE_SCALAR)
        kd_reader_complain(r, node, "'title' must be a text");
    else if (kd_model_set_title(r->m, node->text) < 0)
        kd_reader_short_of_memory(r);
}

static void read_gravity(kd_reader *r, kd_node *node)
{
    double    g[3];
    const int mark = r->npending;
    r->unit = "m/s^2";
    if (!kd_reader_numbers(r, node, "gravity", 3, false, g) || !kd_reader_pend_gravity(r, mark, g)) return;
    if (kd_model_set_gravity(r->m, g) < 0) {
        kd_reader_complain(r, node, "'gravity' must be three finite numbers");
    }
}

// The word of a section at the top of the file
const char *kd_reader_top_word(kd_schema_id id)
{
    return id == KD_SCHEMA_CONDITION ? "start" : kd_schema_of(id)->word;
}

// The map of a section; conditions stand alone inside of `start`
static const kd_node *section_of(kd_reader *r, const kd_node *root, kd_schema_id id)
{
    const kd_node *node = kd_node_find(root, kd_reader_top_word(id));
    if (id != KD_SCHEMA_CONDITION || !node || kd_node_is_null(node)) return node;
    if (node->type != KD_NODE_MAP) {
        kd_reader_complain(r, node, "'start' must be a map, like start: {conditions: {name: ...}}");
        return NULL;
    }
    for (int i = 0; i < node->n; i++)
        if (strcmp(node->item[2 * i].text, "conditions") != 0)
            kd_reader_complain(r, &node->item[2 * i], "unknown key '%.60s' in start; possible is conditions",
                               node->item[2 * i].text);
    return kd_node_find(node, "conditions");
}

static bool check_version(kd_reader *r, const kd_node *root)
{
    const kd_node *version = root->type == KD_NODE_MAP ? kd_node_find(root, "kardan") : NULL;
    if (!version) {
        kd_reader_complain(r, root, "this is not a model file: it must begin with 'kardan: 1'");
        return false;
    }
    if (version->type == KD_NODE_SCALAR && strcmp(version->text, "1") == 0) return true;
    kd_reader_complain(r, version, "unknown version '%.20s' of the format; this program reads 'kardan: 1'",
                       version->type == KD_NODE_SCALAR ? version->text : "...");
    return false;
}

// A section of all scopes. What is wrong in one subsystem is not said again for others of the same file.
static void read_sections(kd_reader *r, kd_schema_id id)
{
    // all scopes in the order of the file, unless they are wrong already
    for (int i = 0; i < r->nscopes && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        kd_scope      *scope = r->scope_list[i];
        const kd_node *section = section_of(r, scope->root, id);
        const int      complaints = r->findings->count + kd_model_error_count(r->m);
        if (!section || scope->root->owner < 0 || scope->wrong) continue;
        kd_reader_enter_scope(r, scope);
        read_section(r, id, section);
        if (r->findings->count + kd_model_error_count(r->m) > complaints) scope->root->owner = -1;
    }
    // frames of the section are known: points that were handed in can become frames
    for (int i = 0; i < r->nscopes && r->status == KD_OK && id == KD_SCHEMA_FRAME; i++) {
        if (!r->scope_list[i]->wrong && r->scope_list[i]->root->owner >= 0 &&
            !kd_reader_hand_points(r, r->scope_list[i]))
            break;
    }
    // bodies are known: what was handed in as a body must be one
    if (id == KD_SCHEMA_BODY && r->status == KD_OK) kd_reader_check_bodies(r);
    kd_reader_enter_scope(r, r->scope_list[0]);
}

static void read_root(kd_reader *r, const kd_setting *settings, int nsettings)
{
    kd_node *root = r->document.root;
    if (!check_version(r, root) || !kd_reader_expand(r, root, settings, nsettings)) return;
    kd_node *title = kd_node_find(root, "title"), *gravity = kd_node_find(root, "gravity");
    if (title) read_title(r, title);
    if (gravity) read_gravity(r, gravity);
    for (int k = 0; k < KD_SCHEMA_RUN; k++) {
        read_sections(r, (kd_schema_id)k);
        if (k == KD_SCHEMA_FRAME) r->bodies_known = r->findings->count == 0 && kd_model_error_count(r->m) == 0;
    }
    const kd_node *run = kd_node_find(root, "run");
    if (run) kd_reader_run(r, run);
    kd_reader_check_offers(r);
    if (r->status == KD_OK && r->findings->count == 0 && kd_model_error_count(r->m) == 0)
        kd_reader_keep_hierarchy(r, settings, nsettings);
}

// Another element has been found wrong at the same position: they come from one `for`.
static bool is_repeated(const kd_file_findings *findings, int line, int column, const char *text)
{
    size_t head = strcspn(text, ":");
    for (int i = 0; line > 0 && i < findings->count && i < KD_FINDINGS_KEPT; i++) {
        const kd_finding *f = &findings->item[i];
        if (strcmp(f->file, findings->at ? findings->at : findings->file) != 0) continue;
        if (f->line == line && f->column == column && strncmp(f->text, text, head + 1) != 0) return true;
    }
    return false;
}

// The file that a line begins with, "file:"; NULL: none that was read
static const char *file_of_line(const kd_reader *r, const char *line)
{
    for (int i = -1; i < r->nfiles; i++) {
        const char  *file = i < 0 ? r->findings->file : r->file[i]->shown;
        const size_t length = strlen(file);
        if (strncmp(line, file, length) == 0 && line[length] == ':') return file;
    }
    return NULL;
}

// What the model found wrong, line by line: "file:line:column: text"
static void take_model_message(kd_reader *r)
{
    kd_file_findings *findings = r->findings;
    for (const char *line = kd_model_message(r->m); *line;) {
        // the file and the place that the message begins with become fields of the finding
        size_t      n = strcspn(line, "\n");
        const char *text = line, *file = file_of_line(r, line);
        size_t      length = file ? strlen(file) : 0;
        int         row = 0, column = 0, used = 0;
        findings->at = file;
        if (file && sscanf(line + length, ":%d:%d: %n", &row, &column, &used) == 2) {
            text = line + length + used;
        } else if (file && strncmp(line + length, ": ", 2) == 0) {
            text = line + length + 2;
        }
        // models from the same file say the same: once is enough
        if (!is_repeated(findings, row, column, text)) {
            kd_file_findings_add(findings, row, column, "%.*s", (int)(n - (size_t)(text - line)), text);
        }
        line += n + (line[n] == '\n');
    }
}

// The whole: read, and finish if nothing was wrong.
static kd_status read_model(kd_reader *r, const kd_model_source *q)
{
    kd_status status = kd_document_read(q->text, q->length, &r->document, r->findings);
    if (status < 0) return status;
    read_root(r, q->settings, q->nsettings);
    if (r->status >= 0 && r->findings->count == 0) kd_reader_warn_named(r);
    kd_reader_scope_release(r);
    if (r->status < 0) return r->status;
    if (r->findings->count > 0 || kd_model_error_count(r->m) > 0) return KD_ERR_MODEL;
    // what no file can hold, and so has no place in one
    if (q->complete) status = kd_model_at(r->m, NULL, 0, 0);
    if (status >= 0 && q->complete) status = q->complete(r->m, q->context);
    return status < 0 ? status : kd_model_finish(r->m);
}

// files: in place of those on disk; may be NULL
static kd_status read_all(const kd_model_source *q, const kd_file_source *files, kd_model **model, char *message,
                          size_t size)
{
    const char       *name = q->name ? q->name : q->path ? q->path : "model";
    kd_reader        *r = kd_alloc(sizeof *r);
    kd_file_findings *findings = kd_alloc(sizeof *findings);
    kd_model         *m = NULL;
    kd_status         status = r && findings ? kd_model_create(&m) : KD_ERR_MEMORY;
    if (status < 0) goto done;
    // a reader begins at no place, in no element
    findings->file = name;
    r->m = m;
    r->findings = findings;
    r->turns = KD_TURNS_UNKNOWN;
    r->joint = -1;
    r->files_given = files;
    // where files are looked for, then everything
    status = kd_reader_set_folders(r, q->path, q->libraries, q->nlibraries);
    if (status >= 0) status = read_model(r, q);
    // what the model itself found joins what the reader found
    if (status == KD_ERR_MODEL) take_model_message(r);
    kd_file_findings_write(findings, message, size);
    if (status >= 0) {
        // the model belongs to the caller, or nobody
        *model = m;
        m = NULL;
    }

done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", name);
    if (r) {
        kd_reader_subsystems_release(r);
        kd_document_release(&r->document);
    }
    kd_model_destroy(m);
    kd_free(findings);
    kd_free(r);
    return status;
}

// ---- public ---------------------------------------------------------------------------------------------------------

kd_model_source kd_model_source_default(void)
{
    return (kd_model_source){.cookie = KD_OPTIONS_COOKIE};
}

static bool is_wrong_source(const kd_model_source *q)
{
    return (!q->path && !q->text) || q->nsettings < 0 || (q->nsettings > 0 && !q->settings) || q->nlibraries < 0 ||
           (q->nlibraries > 0 && !q->libraries);
}

kd_status kd_model_read_by(const kd_model_source *source, kd_model **model, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (!model || !source) return KD_ERR_ARGUMENT;
    *model = NULL;
    if (!kd_options_made(source, source->cookie, "kd_model_source", message, size) || is_wrong_source(source))
        return KD_ERR_ARGUMENT;
    // a file is loaded first
    kd_model_source q = *source;
    char           *text = NULL;
    kd_status       status = KD_OK;
    if (q.path) {
        status = kd_load_file(q.path, KD_DOCUMENT_MAX_BYTES, &text, &q.length, message, size);
        q.text = text;
    }
    if (status >= 0) status = read_all(&q, NULL, model, message, size);
    kd_free(text);
    return status;
}

kd_status kd_model_read_files(const kd_file_source *files, kd_model **model, char *message, size_t size)
{
    kd_model_source q = kd_model_source_default();
    q.name = files->name[0], q.text = files->text[0], q.length = files->length[0];
    *model = NULL;
    return read_all(&q, files, model, message, size);
}

kd_status kd_model_read_text(const char *name, const char *text, size_t length, const kd_setting *settings,
                             int nsettings, kd_model **model, char *message, size_t size)
{
    kd_model_source q = kd_model_source_default();
    q.name = name, q.text = text, q.length = length;
    q.settings = settings, q.nsettings = nsettings;
    return kd_model_read_by(&q, model, message, size);
}

kd_status kd_model_read_with(const char *path, const kd_setting *settings, int nsettings, const char *const *library,
                             int nlibraries, kd_model **model, char *message, size_t size)
{
    kd_model_source q = kd_model_source_default();
    q.path = path;
    q.settings = settings, q.nsettings = nsettings;
    q.libraries = library, q.nlibraries = nlibraries;
    return kd_model_read_by(&q, model, message, size);
}

kd_status kd_model_read(const char *path, const kd_setting *settings, int nsettings, kd_model **model, char *message,
                        size_t size)
{
    return kd_model_read_with(path, settings, nsettings, NULL, 0, model, message, size);
}
