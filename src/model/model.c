// model.c: a model while it is built: definitions are copied with their strings, elements get their names.
//
// Elements live in one growing array per section (doubled when full), strings and tables in the arena of the model.
#include "model/model.h"

#include <kardan/option.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"
#include "model/element.h"
#include "model/mesh_shape.h"
#include "model/part.h"
#include "model/schema.h"
#include "model/tyre_file.h"

// ---- sections -------------------------------------------------------------------------------------------------------

// what is the same for all sections: elements are found, named and counted by this table
typedef struct section_info {
    const char *word;
    size_t      array, count; // offsets in kd_model
    size_t      size;         // of an element; its first member is the name
    size_t      source;       // offset in the element
} section_info;

// where a section is in kd_model: array and count by their offsets
#define SECTION(word, type, array, count)                                                                              \
    {                                                                                                                  \
        word, offsetof(kd_model, array), offsetof(kd_model, count), sizeof(type), offsetof(type, source)               \
    }

static const section_info sections[KD_SECTION_COUNT] = {
    [KD_SECTION_BODY] = SECTION("body", kd_body, body, nbodies),
    [KD_SECTION_FRAME] = SECTION("frame", kd_frame, frame, nframes),
    [KD_SECTION_JOINT] = SECTION("joint", kd_joint, joint, njoints),
    [KD_SECTION_FORCE] = SECTION("force", kd_force, force, nforces),
    [KD_SECTION_CONSTRAINT] = SECTION("constraint", kd_constraint, constraint, nconstraints),
    [KD_SECTION_STATE] = SECTION("state", kd_state_element, state, nstates),
    [KD_SECTION_INPUT] = SECTION("input", kd_input, input, ninputs),
    [KD_SECTION_SENSOR] = SECTION("sensor", kd_sensor, sensor, nsensors),
    [KD_SECTION_BLOCK] = SECTION("block", kd_block, block, nblocks),
    [KD_SECTION_VARIABLE] = SECTION("variable", kd_variable, variable, nvariables),
    [KD_SECTION_ALGEBRAIC] = SECTION("algebraic", kd_algebraic, algebraic, nalgebraic),
    [KD_SECTION_ENERGY] = {"energy", 0, 0, 0, 0},
    [KD_SECTION_USER_FORCE] = SECTION("user force", kd_user_force, user_force, nuser_forces),
    [KD_SECTION_PARAMETER] = SECTION("parameter", kd_parameter, parameter, nparameters),
    [KD_SECTION_CURVE] = SECTION("curve", kd_model_curve, curve, ncurves),
    [KD_SECTION_TRACK] = SECTION("track", kd_model_track, track, ntracks),
    [KD_SECTION_EVENT] = SECTION("event", kd_model_event, event, nevents),
    [KD_SECTION_SUBSYSTEM] = SECTION("subsystem", kd_subsystem, subsystem, nsubsystems),
    [KD_SECTION_INVARIANT] = SECTION("invariant", kd_invariant, invariant, ninvariants),
    [KD_SECTION_CONDITION] = SECTION("condition", kd_condition, condition, nconditions),
};

// the word of paths and messages
const char *kd_section_word(kd_section section)
{
    return section >= 0 && section < KD_SECTION_COUNT ? sections[section].word : "";
}

int kd_section_count(const kd_model *m, kd_section section)
{
    int n = 0;
    if (sections[section].size) memcpy(&n, (const char *)m + sections[section].count, sizeof n);
    return n;
}

// addresses by memcpy: sections have arrays of different types
static char *array_of(const kd_model *m, kd_section section)
{
    char *array;
    memcpy(&array, (const char *)m + sections[section].array, sizeof array);
    return array;
}

static char *element_of(const kd_model *m, kd_section section, int element)
{
    return array_of(m, section) + (size_t)element * sections[section].size;
}

// the name is the first member of every element
const char *kd_element_name(const kd_model *m, kd_section section, int element)
{
    const char *name;
    memcpy(&name, element_of(m, section, element), sizeof name);
    return name;
}

kd_source kd_element_source(const kd_model *m, kd_section section, int element)
{
    kd_source source;
    memcpy(&source, element_of(m, section, element) + sections[section].source, sizeof source);
    return source;
}

const void *kd_element(const kd_model *m, kd_section section, int element)
{
    return element_of(m, section, element);
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

kd_status kd_model_create(kd_model **model)
{
    if (!model) return KD_ERR_ARGUMENT;
    *model = NULL;
    // the model and its private part; nothing else is allocated until something is added
    kd_model                *m = kd_alloc(sizeof *m);
    struct kd_model_private *p = kd_alloc(sizeof *p);
    if (!m || !p) {
        kd_free(m);
        kd_free(p);
        return KD_ERR_MEMORY;
    }
    m->private = p;
    m->title = "";
    m->gravity[2] = -9.81;
    m->run = kd_run_def_default();
    *model = m;
    return KD_OK;
}

void kd_model_destroy(kd_model *m)
{
    if (!m) return;
    for (int i = 0; i < m->ncurves; i++) kd_curve_destroy(m->curve[i].curve);
    for (int i = 0; i < m->ntracks; i++) {
        for (int k = 0; k < KD_TRACK_PARTS; k++) kd_curve_destroy(m->track[i].curve[k]);
        kd_track_destroy(m->track[i].track);
        kd_expr_destroy(m->track[i].expr);
        kd_free(m->track[i].work);
    }
    // a copy borrows names, positions and bindings of its model
    if (!m->private->borrowed) {
        kd_bindings_release(m);
        kd_names_release(&m->private->names);
        kd_free(m->private->field);
        kd_free(m->private->number);
        kd_model_meshes_release(m->private->meshes);
        kd_model_parts_release(m->private->parts);
        kd_model_tyres_release(m->private->tyres);
        kd_model_roads_release(m->private->roads);
    }
    for (int s = 0; s < KD_SECTION_COUNT; s++) {
        if (sections[s].size) kd_free(array_of(m, (kd_section)s));
    }
    kd_arena_release(&m->private->arena);
    kd_free(m->private);
    kd_free(m);
}

kd_status kd_model_copy_sections(kd_model *copy, const kd_model *m)
{
    kd_status status = KD_OK;
    // arrays alone; texts, names and positions stay shared
    for (int s = 0; s < KD_SECTION_COUNT; s++) {
        const size_t size = (size_t)kd_section_count(m, (kd_section)s) * sections[s].size;
        if (!sections[s].size) continue;
        char *array = size > 0 ? kd_alloc(size) : NULL;
        if (array) memcpy(array, array_of(m, (kd_section)s), size);
        if (size > 0 && !array) status = KD_ERR_MEMORY;
        memcpy((char *)copy + sections[s].array, &array, sizeof array);
        if (size > 0 && !array) memset((char *)copy + sections[s].count, 0, sizeof(int));
    }
    return status;
}

// what the copy of a track must make for itself
void kd_model_forget_track(kd_model_track *t)
{
    t->track = NULL;
    t->expr = NULL;
    t->work = NULL;
    for (int k = 0; k < KD_TRACK_PARTS; k++) t->curve[k] = NULL;
}

// texts live as long as the model
const char *kd_model_text(kd_model *m, const char *text)
{
    if (!text) return NULL;
    const size_t size = strlen(text) + 1;
    char        *copy = kd_arena_cut(&m->private->arena, size, 1);
    if (copy) memcpy(copy, text, size);
    return copy;
}

const double *kd_model_numbers(kd_model *m, const double *x, int n)
{
    double *copy = kd_cut_double(&m->private->arena, n);
    if (copy && n > 0) memcpy(copy, x, (size_t)n * sizeof *x);
    return copy;
}

// ---- positions ------------------------------------------------------------------------------------------------------

void kd_model_use_frame(kd_model *m, int frame)
{
    m->frame[frame].used = true;
}

// ---- messages -------------------------------------------------------------------------------------------------------

const char *kd_model_title(const kd_model *m)
{
    return m ? m->title : "";
}

const kd_run_def *kd_model_run(const kd_model *m)
{
    return m ? &m->run : NULL;
}

// ---- settings -------------------------------------------------------------------------------------------------------

// texts that could not be copied show here
static kd_status memory_status(const kd_model *m)
{
    return m->private->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// nothing is added behind kd_model_finish
static bool is_open(kd_model *m)
{
    if (m->private->checked) kd_text(m->private->message, sizeof m->private->message, "the model is finished");
    return !m->private->checked;
}

kd_status kd_model_set_title(kd_model *m, const char *title)
{
    if (!m || !title || !is_open(m)) return KD_ERR_ARGUMENT;
    const char *copy = kd_model_text(m, title);
    if (!copy) return KD_ERR_MEMORY;
    m->title = copy;
    return KD_OK;
}

kd_status kd_model_set_gravity(kd_model *m, const double g[3])
{
    if (!m || !g || !is_open(m)) return KD_ERR_ARGUMENT;
    if (!isfinite(g[0]) || !isfinite(g[1]) || !isfinite(g[2])) {
        kd_model_error_at(m, &m->private->source, "gravity is not a number");
        return KD_ERR_MODEL;
    }
    memcpy(m->gravity, g, sizeof m->gravity);
    return KD_OK;
}

// Check a definition by the schema; a fault is written as an error of an element that is not there yet.
static bool passes_schema(kd_model *m, kd_schema_id id, const char *name, const void *def)
{
    char text[KD_MODEL_LINE];
    // the first fault of the definition, at the field that has it
    const kd_field *fault = kd_schema_check(kd_schema_of(id), def, text, sizeof text);
    if (!fault) return true;
    const kd_source source = kd_model_source_waiting(m, fault->key);
    if (name) {
        kd_model_error_at(m, &source, "%s '%s': %s", kd_schema_of(id)->singular, name, text);
    } else {
        kd_model_error_at(m, &source, "%s: %s", kd_schema_of(id)->word, text);
    }
    return false;
}

bool kd_model_is_made(kd_model *m, const char *singular, const char *name, unsigned cookie)
{
    if (cookie == KD_OPTIONS_COOKIE) return true;
    const int n = (int)strcspn(singular, " "); // "algebraic variable": kd_algebraic_def
    kd_model_error_at(m, &m->private->source, "%s '%s': kd_%.*s_def does not start from kd_%.*s_def_default", singular,
                      name, n, singular, n, singular);
    return false;
}

// The same by the schema, which knows where the cookie is
static bool is_made(kd_model *m, kd_schema_id id, const char *name, const void *def)
{
    const kd_schema *schema = kd_schema_of(id);
    unsigned         cookie;
    if (schema->cookie == 0) return true; // not for the public: it has none
    memcpy(&cookie, (const char *)def + schema->cookie, sizeof cookie);
    return kd_model_is_made(m, schema->singular, name, cookie);
}

// As many as there is room for, each with a name
static bool has_options(const kd_run_def *run)
{
    if (run->noptions < 0 || run->noptions > KD_RUN_OPTIONS_MAX) return false;
    for (int i = 0; i < run->noptions; i++)
        if (!run->option[i].name) return false;
    return true;
}

kd_status kd_model_set_run(kd_model *m, const kd_run_def *run)
{
    if (!m || !run || !is_open(m) || !is_made(m, KD_SCHEMA_RUN, "run", run) || !has_options(run))
        return KD_ERR_ARGUMENT;
    if (!passes_schema(m, KD_SCHEMA_RUN, NULL, run)) return KD_ERR_MODEL;
    // a copy with texts of the model's own
    kd_run_def copy = *run;
    copy.coordinates = kd_model_text(m, run->coordinates);
    copy.formulation = kd_model_text(m, run->formulation);
    copy.integrator = kd_model_text(m, run->integrator);
    for (int i = 0; i < copy.nplots; i++) copy.plots[i] = kd_model_text(m, run->plots[i]);
    for (int i = 0; i < copy.noptions; i++) {
        copy.option[i].name = kd_model_text(m, run->option[i].name);
        copy.option[i].word = kd_model_text(m, run->option[i].word);
    }
    m->run = copy;
    m->private->run_source = m->private->source;
    kd_model_claim_fields(m, KD_SECTION_COUNT, 0); // the run has no section of its own
    return memory_status(m);
}

// ---- elements -------------------------------------------------------------------------------------------------------

// room for one more element in its array
static kd_status make_room(kd_model *m, kd_section section)
{
    const int n = kd_section_count(m, section);
    int      *capacity = &m->private->capacity[section];
    // doubled, so that adding is linear over all
    if (n < *capacity) return KD_OK;
    const int    wanted = *capacity ? 2 * *capacity : 16;
    const size_t size = sections[section].size;
    char        *old = array_of(m, section);
    char        *larger = kd_alloc((size_t)wanted * size);
    if (!larger) return KD_ERR_MEMORY;
    if (n > 0) memcpy(larger, old, (size_t)n * size);
    kd_free(old);
    memcpy((char *)m + sections[section].array, &larger, sizeof larger);
    *capacity = wanted;
    return KD_OK;
}

// May an element of this name be added? An error has been written if not.
static kd_status check_name(kd_model *m, kd_section section, const char *name)
{
    char text[KD_MODEL_LINE];
    // letters, words that mean something else, names that are there, then the number of elements
    if (!kd_name_check_parts(name, text, sizeof text)) {
        kd_model_error_at(m, &m->private->source, "%s '%.200s': %s", kd_section_word(section), name, text);
        return KD_ERR_MODEL;
    }
    // names with a meaning of their own
    if (section == KD_SECTION_BODY && strcmp(name, "ground") == 0) {
        kd_model_error_at(m, &m->private->source, "body 'ground': the ground is there already and does not move");
        return KD_ERR_MODEL;
    }
    const bool in_expressions = section == KD_SECTION_PARAMETER || section == KD_SECTION_CURVE;
    if (in_expressions && (kd_expr_is_reserved(name) || strcmp(name, "t") == 0)) {
        kd_model_error_at(m, &m->private->source, "%s '%s': the name is a word of the expression language",
                          kd_section_word(section), name);
        return KD_ERR_MODEL;
    }
    // once per section
    const int known = kd_model_find(m, section, name);
    if (known >= 0) {
        const kd_source first = kd_model_source_of(m, section, known, NULL);
        char            where[80] = "";
        if (first.file) kd_text(where, sizeof where, ", first in line %d", first.line);
        kd_model_error_at(m, &m->private->source, "%s '%s': the name is used twice%s", kd_section_word(section), name,
                          where);
        return KD_ERR_MODEL;
    }
    // bounded, as numbers of elements are ints
    if (kd_section_count(m, section) >= KD_MODEL_MAX_ELEMENTS) {
        kd_model_error_at(m, &m->private->source, "%s '%s': there are too many", kd_section_word(section), name);
        return KD_ERR_MODEL;
    }
    return KD_OK;
}

// Count the element in that has been written behind the last one of its section.
kd_status kd_model_enter(kd_model *m, kd_section section, const char *name)
{
    // the name is entered before the element counts: out of memory leaves the model as it was
    const int n = kd_section_count(m, section), more = n + 1;
    if (memory_status(m) < 0) return KD_ERR_MEMORY;
    const kd_status status = kd_names_add(&m->private->names, section, name, n);
    if (status < 0) return status;
    memcpy((char *)m + sections[section].count, &more, sizeof more);
    kd_model_claim_fields(m, section, n);
    return KD_OK;
}

// Name and definition are acceptable and there is room: then the caller writes the element.
kd_status kd_model_prepare(kd_model *m, kd_section section, kd_schema_id schema, const char *name, const void *def)
{
    if (!m || !name || !def || !is_open(m)) return KD_ERR_ARGUMENT;
    // on failure nothing waits for this element any more
    const bool checked = schema != KD_SCHEMA_COUNT;
    kd_status  status = checked && !is_made(m, schema, name, def) ? KD_ERR_ARGUMENT : check_name(m, section, name);
    if (status >= 0 && checked && !passes_schema(m, schema, name, def)) status = KD_ERR_MODEL;
    if (status >= 0) status = make_room(m, section);
    if (status < 0) kd_model_drop_fields(m);
    return status;
}

static void copy_place(kd_model *m, kd_place *place)
{
    place->body = kd_model_text(m, place->body);
    place->node = kd_model_text(m, place->node);
}

static void copy_places(kd_model *m, const kd_field *field, void *def)
{
    kd_place *place = (kd_place *)(void *)((char *)def + field->offset);
    int       n;
    memcpy(&n, (char *)def + field->length, sizeof n);
    for (int i = 0; i < n; i++) copy_place(m, &place[i]);
}

// The texts of a definition, by its fields; those of other kinds are not looked at
static void copy_texts(kd_model *m, const kd_schema *schema, void *def)
{
    // which fields are texts, how many of them: a table knows
    const int kind = kd_schema_kind_of(schema, def);
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        void           *at = (char *)def + field->offset;
        const char    **text = at;
        int             n = field->type == KD_FIELD_TEXT || field->type == KD_FIELD_NAME || field->type == KD_FIELD_LAW
                                ? field->count
                                : 0;
        // places, lists of them, sums of terms have their own sizes
        if (field->type == KD_FIELD_PLACE) copy_place(m, at);
        if (field->type == KD_FIELD_PLACES) copy_places(m, field, def);
        if (field->type == KD_FIELD_TERMS) memcpy(&n, (char *)def + field->length, sizeof n);
        for (int k = 0; k < n; k++) text[k] = kd_model_text(m, text[k]);
        // a file has a path beside its name
        if (field->flags & KD_FIELD_FILE) {
            const char **path = (const char **)(void *)((char *)def + field->second);
            *path = kd_model_text(m, *path);
        }
    }
}

kd_status kd_model_add_parameter(kd_model *m, const char *name, double value)
{
    // a parameter is no definition: only its name is checked
    kd_status status = kd_model_prepare(m, KD_SECTION_PARAMETER, KD_SCHEMA_COUNT, name, &value);
    if (status < 0) return status;
    if (!isfinite(value)) {
        kd_model_error_at(m, &m->private->source, "parameter '%s': the value is not a number", name);
        kd_model_drop_fields(m);
        return KD_ERR_MODEL;
    }
    kd_parameter *p = &m->parameter[m->nparameters];
    *p = (kd_parameter){.name = kd_model_text(m, name), .value = value, .source = m->private->source};
    return kd_model_enter(m, KD_SECTION_PARAMETER, p->name);
}

kd_status kd_model_set_parameter_text(kd_model *m, const char *name, const char *text)
{
    const int i = kd_model_find(m, KD_SECTION_PARAMETER, name);
    if (i < 0) return KD_ERR_ARGUMENT;
    m->parameter[i].text = kd_model_text(m, text);
    return memory_status(m);
}

// readers mark parameters as used, so that the rest can be warned of
bool kd_model_use_parameter(kd_model *m, const char *name, double *value)
{
    const int i = kd_model_find(m, KD_SECTION_PARAMETER, name);
    if (i < 0) return false;
    m->parameter[i].used = true;
    *value = m->parameter[i].value;
    return true;
}

kd_status kd_model_add_curve(kd_model *m, const char *name, const kd_curve_def *def)
{
    kd_curve_def whole = def ? *def : (kd_curve_def){0};
    // one argument: y belongs to x, number by number; two (z given): x by y is a grid, and z has n * ny numbers
    if (whole.ny == 0) whole.ny = whole.n;
    kd_status status = kd_model_prepare(m, KD_SECTION_CURVE, KD_SCHEMA_CURVE, name, def ? &whole : NULL);
    if (status < 0) return status;
    if (!whole.z && whole.ny != whole.n) {
        kd_model_error_at(m, &m->private->source,
                          "curve '%s': 'x' and 'y' must have as many numbers as each other, but one has %d, the other "
                          "%d",
                          name, whole.n, whole.ny);
        kd_model_drop_fields(m);
        return KD_ERR_MODEL;
    }
    kd_model_curve *c = &m->curve[m->ncurves];
    // own copies: the definition belongs to the caller
    *c = (kd_model_curve){kd_model_text(m, name), m->private->source, whole, NULL};
    c->def.x = kd_model_numbers(m, whole.x, whole.n);
    c->def.y = kd_model_numbers(m, whole.y, whole.ny);
    if (whole.z) c->def.z = kd_model_numbers(m, whole.z, whole.n * whole.ny);
    return kd_model_enter(m, KD_SECTION_CURVE, c->name);
}

kd_status kd_model_add_track(kd_model *m, const char *name, const kd_track_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_TRACK, KD_SCHEMA_TRACK, name, def);
    if (status < 0) return status;
    kd_model_track *t = &m->track[m->ntracks];
    *t = (kd_model_track){.name = kd_model_text(m, name), .source = m->private->source, .def = *def};
    t->def.curvature = kd_model_text(m, def->curvature);
    return kd_model_enter(m, KD_SECTION_TRACK, t->name);
}

// also where the track itself was wrong: *track tells it, the answer is NULL
const kd_curve *kd_model_track_function(const kd_model *m, const char *name, int *track)
{
    // NAME_heading: the name of a track and one of its functions
    static const char *const part[KD_TRACK_PARTS] = {"_x", "_y", "_heading", "_curvature"};
    for (int i = 0; i < m->ntracks; i++) {
        size_t length = strlen(m->track[i].name);
        // one name may be the beginning of another: all tracks are tried
        if (strncmp(name, m->track[i].name, length) != 0) continue;
        for (int k = 0; k < KD_TRACK_PARTS; k++) {
            if (strcmp(name + length, part[k]) != 0) continue;
            if (track) *track = i;
            return m->track[i].curve[k];
        }
    }
    return NULL;
}

kd_status kd_model_add_input(kd_model *m, const char *name, const kd_input_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_INPUT, KD_SCHEMA_INPUT, name, def);
    if (status < 0) return status;
    kd_input *u = &m->input[m->ninputs];
    *u = (kd_input){kd_model_text(m, name), m->private->source, *def};
    u->def.value = kd_model_text(m, def->value);
    return kd_model_enter(m, KD_SECTION_INPUT, u->name);
}

// Files that nobody has read yet
static kd_status take_meshes(kd_model *m, const char *name, kd_body_def *def)
{
    char      why[500];
    kd_status status = KD_OK;
    for (int k = 0; k < def->nshapes && status >= 0; k++) {
        kd_shape *s = &def->shape[k];
        if (s->kind != KD_MESH) continue;
        if (!s->read) status = kd_model_mesh_read(m, s->mesh, &s->read, why, sizeof why);
        if (status == KD_ERR_MODEL) kd_model_error_at(m, &m->private->source, "body '%s': %s", name, why);
        s->mesh = kd_model_text(m, s->mesh);
    }
    if (status < 0) kd_model_drop_fields(m);
    return status;
}

// The same of a flexible body
static kd_status take_part(kd_model *m, const char *name, kd_body_def *def)
{
    char      why[600];
    kd_status status = KD_OK;
    if (!def->flexible) return KD_OK;
    if (!def->read) status = kd_model_part_read(m, def->flexible, &def->read, why, sizeof why);
    if (status == KD_ERR_MODEL) kd_model_error_at(m, &m->private->source, "body '%s': %s", name, why);
    def->flexible = kd_model_text(m, def->flexible);
    if (status < 0) kd_model_drop_fields(m);
    return status;
}

kd_status kd_model_add_body(kd_model *m, const char *name, const kd_body_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_BODY, KD_SCHEMA_BODY, name, def);
    if (status < 0) return status;
    kd_body *b = &m->body[m->nbodies];
    *b = (kd_body){.name = kd_model_text(m, name), .source = m->private->source, .def = *def};
    status = take_meshes(m, name, &b->def);
    if (status >= 0) status = take_part(m, name, &b->def);
    if (status < 0) return status;
    return kd_model_enter(m, KD_SECTION_BODY, b->name);
}

kd_status kd_model_add_frame(kd_model *m, const char *name, const kd_frame_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_FRAME, KD_SCHEMA_FRAME, name, def);
    if (status < 0) return status;
    kd_frame *f = &m->frame[m->nframes];
    *f = (kd_frame){.name = kd_model_text(m, name), .source = m->private->source, .def = *def};
    copy_place(m, &f->def.at);
    return kd_model_enter(m, KD_SECTION_FRAME, f->name);
}

kd_status kd_model_add_joint(kd_model *m, const char *name, const kd_joint_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_JOINT, KD_SCHEMA_JOINT, name, def);
    if (status < 0) return status;
    kd_joint *j = &m->joint[m->njoints];
    *j = (kd_joint){.name = kd_model_text(m, name), .source = m->private->source, .def = *def};
    copy_place(m, &j->def.from);
    copy_place(m, &j->def.to);
    // motion[] is by coordinates
    for (int i = 0; i < 6; i++) j->def.motion[i] = kd_model_text(m, def->motion[i]);
    for (int i = 0; i < KD_TABLE_COLUMNS; i++) {
        j->def.curve[i] = kd_model_text(m, def->curve[i]);
        j->curve[i] = -1;
    }
    return kd_model_enter(m, KD_SECTION_JOINT, j->name);
}

kd_status kd_model_add_end(kd_model *m, const char *name, const char *frame)
{
    kd_joint_def def = kd_joint_def_default(KD_SPHERICAL);
    const int    i = m && frame ? kd_model_find(m, KD_SECTION_FRAME, frame) : -1;
    if (!m || !frame) return KD_ERR_ARGUMENT;
    if (i < 0) {
        kd_model_error_at(m, &m->private->source, "end '%s': there is no frame '%s'", name ? name : "", frame);
        return KD_ERR_MODEL;
    }
    def.from = kd_in("ground", 0, 0, 0);
    def.to = m->frame[i].def.at;
    def.cut = KD_CUT_YES;
    return kd_model_add_joint(m, name, &def);
}

kd_status kd_model_add_constraint(kd_model *m, const char *name, const kd_constraint_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_CONSTRAINT, KD_SCHEMA_CONSTRAINT, name, def);
    if (status < 0) return status;
    kd_constraint *c = &m->constraint[m->nconstraints];
    *c = (kd_constraint){.name = kd_model_text(m, name), .source = m->private->source, .def = *def, .curve = -1};
    copy_texts(m, kd_schema_of(KD_SCHEMA_CONSTRAINT), &c->def);
    return kd_model_enter(m, KD_SECTION_CONSTRAINT, c->name);
}

// The files of an element; f is not entered yet
static kd_status take_files(kd_model *m, const char *name, const kd_element_class *class, kd_force_def *def)
{
    char      why[600] = "";
    kd_status status = class->take ? class->take(m, def, why, sizeof why) : KD_OK;
    if (status == KD_ERR_MODEL) kd_model_error_at(m, &m->private->source, "force '%s': %s", name, why);
    if (status < 0) kd_model_drop_fields(m);
    return status;
}

kd_status kd_model_add_force(kd_model *m, const char *name, const kd_force_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_FORCE, KD_SCHEMA_FORCE, name, def);
    if (status < 0) return status;
    kd_force *f = &m->force[m->nforces];
    *f = (kd_force){.name = kd_model_text(m, name), .source = m->private->source, .def = *def, .joint = -1};
    copy_texts(m, kd_schema_of(KD_SCHEMA_FORCE), &f->def);
    status = take_files(m, name, kd_force_element((int)def->kind), &f->def);
    if (status < 0) return status;
    return kd_model_enter(m, KD_SECTION_FORCE, f->name);
}

kd_status kd_model_add_user_force(kd_model *m, const char *name, const kd_user_force_def *def)
{
    // of functions in C only what kardan itself reads can be checked
    if (m && name && def && !kd_model_is_made(m, "user_force", name, def->cookie)) return KD_ERR_ARGUMENT;
    if (def && (!def->eval || def->nmeasures < 1 || !def->measure || def->nstates < 0)) return KD_ERR_ARGUMENT;
    kd_status status = kd_model_prepare(m, KD_SECTION_USER_FORCE, KD_SCHEMA_COUNT, name, def);
    if (status < 0) return status;
    kd_user_force *f = &m->user_force[m->nuser_forces];
    // texts and numbers of the definition become those of the model
    const char **measure = kd_arena_cut(&m->private->arena, (size_t)def->nmeasures, sizeof *measure);
    for (int i = 0; measure && i < def->nmeasures; i++) measure[i] = kd_model_text(m, def->measure[i]);
    *f = (kd_user_force){kd_model_text(m, name), m->private->source, *def};
    f->def.measure = measure;
    f->def.start = def->start ? kd_model_numbers(m, def->start, def->nstates) : NULL;
    return kd_model_enter(m, KD_SECTION_USER_FORCE, f->name);
}

kd_status kd_model_attach(kd_model *m, const char *name, const kd_user_force_def *def)
{
    if (!m || !m->finished) return KD_ERR_ARGUMENT;
    // at most one is attached, always the last
    if (m->private->attached) m->nuser_forces--;
    m->private->attached = false;
    if (!def) return KD_OK;
    kd_status status = make_room(m, KD_SECTION_USER_FORCE);
    if (status < 0) return status;
    m->user_force[m->nuser_forces++] = (kd_user_force){.name = name, .def = *def};
    m->private->attached = true;
    return KD_OK;
}

kd_status kd_model_add_state(kd_model *m, const char *name, const kd_state_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_STATE, KD_SCHEMA_STATE, name, def);
    if (status < 0) return status;
    kd_state_element *s = &m->state[m->nstates];
    *s = (kd_state_element){kd_model_text(m, name), m->private->source, *def};
    copy_texts(m, kd_schema_of(KD_SCHEMA_STATE), &s->def);
    return kd_model_enter(m, KD_SECTION_STATE, s->name);
}

kd_status kd_model_add_algebraic(kd_model *m, const char *name, const kd_algebraic_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_ALGEBRAIC, KD_SCHEMA_ALGEBRAIC, name, def);
    if (status < 0) return status;
    kd_algebraic *a = &m->algebraic[m->nalgebraic];
    *a = (kd_algebraic){kd_model_text(m, name), m->private->source, *def};
    copy_texts(m, kd_schema_of(KD_SCHEMA_ALGEBRAIC), &a->def);
    return kd_model_enter(m, KD_SECTION_ALGEBRAIC, a->name);
}

kd_status kd_model_add_sensor(kd_model *m, const char *name, const kd_sensor_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_SENSOR, KD_SCHEMA_SENSOR, name, def);
    if (status < 0) return status;
    kd_sensor *s = &m->sensor[m->nsensors];
    *s = (kd_sensor){kd_model_text(m, name), m->private->source, *def};
    s->def.value = kd_model_text(m, def->value);
    s->def.unit = kd_model_text(m, def->unit);
    return kd_model_enter(m, KD_SECTION_SENSOR, s->name);
}

kd_status kd_model_add_invariant(kd_model *m, const char *name, const kd_invariant_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_INVARIANT, KD_SCHEMA_INVARIANT, name, def);
    if (status < 0) return status;
    kd_invariant *e = &m->invariant[m->ninvariants];
    *e = (kd_invariant){kd_model_text(m, name), m->private->source, *def};
    e->def.value = kd_model_text(m, def->value);
    return kd_model_enter(m, KD_SECTION_INVARIANT, e->name);
}

kd_status kd_model_add_condition(kd_model *m, const char *name, const kd_condition_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_CONDITION, KD_SCHEMA_CONDITION, name, def);
    if (status < 0) return status;
    kd_condition *c = &m->condition[m->nconditions];
    *c = (kd_condition){kd_model_text(m, name), m->private->source, *def};
    c->def.value = kd_model_text(m, def->value);
    return kd_model_enter(m, KD_SECTION_CONDITION, c->name);
}
