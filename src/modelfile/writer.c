// writer.c: a model as a YAML file, as the schema says: only what differs from defaults, numbers with as many digits as
// bring the same bits back. One with subsystems is written as it was read (hierarchy.c), or flat.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortest.h"
#include "core/text.h"
#include "math/space.h"
#include "model/build.h"
#include "model/element.h"
#include "model/mesh_shape.h"
#include "model/parameters.h"
#include "model/part.h"
#include "model/schema.h"
#include "modelfile/paths.h"
#include "modelfile/scalar.h"

typedef struct writer {
    FILE                 *file;
    const kd_model       *model;
    const void           *definition; // that is being written
    const void           *given;      // the same before finish filled it in; NULL: as written
    kd_section            section;    // of it
    int                   element;
    const kd_number_text *text; // (own) expressions of its numbers
    int                   own;
    bool                  placed; // it is a part of a subsystem that is not where it was written: numbers are images
    const kd_anchor      *from, *over, *to; // where its places are
    const char           *folder;           // of the file, without links; NULL: it is not known
} writer;

// ---- scalars --------------------------------------------------------------------------------------------------------

static void put_bytes(void *to, const char *text, size_t n)
{
    fwrite(text, 1, n, to);
}

static void put_text(FILE *file, const char *text)
{
    kd_scalar_write(text, put_bytes, file);
}

// The expression that the number was computed from; NULL: none.
static const char *expression_of(const writer *w, const double *value)
{
    uintptr_t at = (uintptr_t)value, base = (uintptr_t)w->definition;
    for (int i = 0; w->definition && i < w->own; i++) {
        if (base + w->text[i].offset == at) return w->text[i].text;
    }
    return NULL;
}

// The shortest text that gives the same number; the decimal sign is a point whatever the locale says.
static void put_number(const writer *w, const double *value)
{
    char        text[40];
    const char *expression = expression_of(w, value);
    if (expression) {
        put_text(w->file, expression);
        return;
    }
    if (isnan(*value)) {
        fputs("null", w->file);
        return;
    }
    fputs(kd_shortest_text(*value, text), w->file);
}

static void put_numbers(const writer *w, const double *value, int n)
{
    fputc('[', w->file);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", w->file);
        put_number(w, &value[i]);
    }
    fputc(']', w->file);
}

// those up to the last one that is given
static int count_given(const double *value, int n)
{
    while (n > 0 && isnan(value[n - 1])) n--;
    return n;
}

static void put_texts(FILE *file, const char *const *text, int n)
{
    fputc('[', file);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", file);
        if (text[i])
            put_text(file, text[i]);
        else
            fputs("null", file);
    }
    fputc(']', file);
}

// ---- fields ---------------------------------------------------------------------------------------------------------

static const void *at(const void *def, size_t offset)
{
    return (const char *)def + offset;
}

static int length_of(const kd_field *field, const void *def)
{
    int n = 0;
    if (field->length) memcpy(&n, at(def, field->length), sizeof n);
    return n;
}

static bool same_numbers(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) return false;
    }
    return true;
}

static bool is_default(const kd_field *field, int kind, const void *def, const void *defaults)
{
    const void *value = at(def, field->offset), *other = at(defaults, field->offset);
    int         n = kd_field_count(field, kind);
    switch (field->type) {
    case KD_FIELD_NUMBER:
    case KD_FIELD_INERTIA:
    case KD_FIELD_MATRIX:
    case KD_FIELD_ORIENTATION:
        return same_numbers(value, other, n);
    case KD_FIELD_INTEGER:
    case KD_FIELD_WORD:
        return memcmp(value, other, sizeof(int)) == 0;
    case KD_FIELD_BOOLEAN:
        return memcmp(value, other, sizeof(bool)) == 0;
    case KD_FIELD_TEXT:
    case KD_FIELD_NAME:
    case KD_FIELD_LAW: {
        const char *const *text = value;
        for (int i = 0; i < n; i++) {
            if (text[i]) return false;
        }
        return true;
    }
    case KD_FIELD_PLACE:
        return kd_place_is_default(value);
    case KD_FIELD_STARTS:
        return same_numbers(value, other, length_of(field, def));
    case KD_FIELD_ROWS:
        return *(const double *const *)value == NULL;
    case KD_FIELD_NEXT:
        for (int i = 0; i < length_of(field, def); i++) {
            if (((const char *const *)value)[i]) return false;
        }
        return true;
    default:
        return length_of(field, def) == 0;
    }
}

// Where a shape is
static bool is_place_of_shape(size_t offset)
{
    const size_t first = offsetof(kd_body_def, shape);
    if (offset < first) return false;
    const size_t in_shape = (offset - first) % sizeof(kd_shape);
    return in_shape >= offsetof(kd_shape, position) && in_shape < offsetof(kd_shape, density);
}

// Shapes whose ends or angles parameters give, and places of shapes in images, are written as numbers: the mass is to
// stay with them.
static bool has_fixed_shapes(const writer *w)
{
    const struct kd_bindings *all = &w->model->private->bindings;
    if (w->section != KD_SECTION_BODY) return false;
    for (int i = 0; i < all->nsteps; i++) {
        const kd_binding_step *s = &all->step[i];
        if (s->section == w->section && s->element == w->element && s->offset >= offsetof(kd_body_def, shape))
            return true;
    }
    for (int i = 0; w->placed && i < all->nbindings; i++) {
        const kd_binding *b = &all->binding[i];
        if (b->target == KD_BIND_DEFINITION && b->section == w->section && b->element == w->element &&
            is_place_of_shape(b->offset))
            return true;
    }
    return false;
}

// A number that was found from others, as mass and inertia from shapes: the file that is written is to do so again,
// also with other parameters.
static bool is_found(const writer *w, const kd_field *field, const void *def)
{
    const bool number = field->type == KD_FIELD_NUMBER || field->type == KD_FIELD_INERTIA;
    if (!number || !w->given || def != w->definition || has_fixed_shapes(w)) return false;
    return isnan(*(const double *)at(w->given, field->offset)) && !isnan(*(const double *)at(def, field->offset));
}

static void put_map(const writer *w, const kd_schema *schema, const void *def);

// The diagonal alone where there is nothing beside it
static void put_matrix(const writer *w, const double *value)
{
    bool full = false;
    for (int i = 0; i < 36; i++) full = full || (i % 7 != 0 && value[i] != 0.0);
    for (int i = 0; i < 6; i++) {
        fputs(i == 0 ? "[" : ", ", w->file);
        if (full)
            put_numbers(w, value + 6 * i, 6);
        else
            put_number(w, &value[7 * i]);
    }
    fputc(']', w->file);
}

static void put_terms(const writer *w, const char *const *path, const double *factor, int n)
{
    for (int i = 0; i < n; i++) {
        fputs(i == 0 ? "{" : ", ", w->file);
        put_text(w->file, path[i]);
        fputs(": ", w->file);
        put_number(w, &factor[i]);
    }
    fputc('}', w->file);
}

// {name: expression}, of those that are there
static void put_named(FILE *file, const char *const *name, const char *const *text, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (!text[i]) continue;
        fputs(count++ == 0 ? "{" : ", ", file);
        put_text(file, name[i]);
        fputs(": ", file);
        put_text(file, text[i]);
    }
    fputs(count > 0 ? "}" : "{}", file);
}

static void put_signals(FILE *file, const char *const *name, const char *const *text, int n)
{
    if (name && name[0])
        put_named(file, name, text, n);
    else if (n == 1)
        put_text(file, text[0]);
    else
        put_texts(file, text, n);
}

static void put_rows(const writer *w, const double *A, int rows, int columns)
{
    fputc('[', w->file);
    for (int i = 0; i < rows; i++) {
        if (i > 0) fputs(", ", w->file);
        put_numbers(w, A + i * columns, columns);
    }
    fputc(']', w->file);
}

// The path of a file that was read, from the folder of the one that is written; one that is not inside stays as it was
static void put_path(const writer *w, const char *path, const char *written)
{
    char       *place = w->folder && path ? kd_real_path(path) : NULL;
    const char *inside = place ? kd_path_inside(w->folder, place) : NULL;
    put_text(w->file, inside ? inside : written);
    free(place); // of the C library
}

// A place in the frame of its body, as kd_model_finish found it: of a part of a subsystem, which was written elsewhere
static void put_anchor(const writer *w, const kd_place *place, const kd_anchor *a, const char *before)
{
    const kd_mat3 *R = &a->R;
    double         q[4], r[3];
    const bool     turned = R->x.x != 1.0 || R->y.y != 1.0 || R->z.z != 1.0;
    const kd_body *body = a->node > 0 ? &w->model->body[a->body] : NULL;
    kd_vec_to(body ? kd_vec_sub(a->r, body->def.read->frame[a->node - 1].at) : a->r, r);
    kd_quat_to(kd_quat_of_matrix(R), q);
    fputs("body: ", w->file);
    put_text(w->file, place->body);
    if (body) {
        fprintf(w->file, "%snode: ", before);
        put_text(w->file, body->def.read->frame[a->node - 1].name);
    }
    if (r[0] != 0.0 || r[1] != 0.0 || r[2] != 0.0) {
        fprintf(w->file, "%spoint: ", before);
        put_numbers(w, r, 3);
    }
    if (!turned) return;
    fprintf(w->file, "%sorientation: ", before);
    put_numbers(w, q, 4);
}

static bool is_image(const writer *w, const kd_place *place)
{
    return w->from && (w->placed || place->frame > 0);
}

static bool is_same_place(const kd_place *a, const kd_place *b)
{
    if (strcmp(a->body, b->body) != 0 || a->in != b->in || a->frame != b->frame || a->node != b->node) return false;
    return same_numbers(a->position, b->position, 3) && same_numbers(a->axis, b->axis, 3) &&
           same_numbers(a->reference, b->reference, 3) && same_numbers(a->orientation, b->orientation, 4);
}

// The frame that a place was taken from, if parameters move it: the place is to follow; NULL: none
static const char *frame_of(const writer *w, const kd_place *place)
{
    for (int i = 0; w->from && i < w->model->nframes; i++)
        if (w->model->frame[i].lives && is_same_place(place, &w->model->frame[i].def.at))
            return w->model->frame[i].name;
    return NULL;
}

static void put_place(const writer *w, const kd_place *place, const kd_anchor *anchor)
{
    const char *frame = is_image(w, place) ? NULL : frame_of(w, place);
    if (frame) {
        put_text(w->file, frame);
    } else if (is_image(w, place)) {
        fputc('{', w->file);
        put_anchor(w, place, anchor, ", ");
        fputc('}', w->file);
    } else {
        put_map(w, kd_schema_of(KD_SCHEMA_PLACE), place);
    }
}

// The file of a flexible body as it was opened; NULL: it was not read from one
static const char *path_of_part(const kd_model *m, const kd_flexible_body *body)
{
    for (const kd_model_part *part = m->private->parts; part; part = part->next)
        if (&part->body == body) return part->path;
    return NULL;
}

// Mass, centre and inertia of a flexible body are in its file
static bool is_in_part(const kd_schema *schema, const kd_field *field, const void *def)
{
    if (schema != kd_schema_of(KD_SCHEMA_BODY) || !((const kd_body_def *)def)->read) return false;
    return field->offset == offsetof(kd_body_def, mass) || field->offset == offsetof(kd_body_def, centre) ||
           field->offset == offsetof(kd_body_def, inertia);
}

static void put_number_field(const writer *w, const kd_field *field, int n, const double *value)
{
    if (field->flags & KD_FIELD_FEWER)
        put_numbers(w, value, count_given(value, n));
    else if (n == 1)
        put_number(w, value);
    else
        put_numbers(w, value, n);
}

// moments alone where there are no products
static void put_inertia(const writer *w, const double *inertia)
{
    put_numbers(w, inertia, inertia[3] == 0.0 && inertia[4] == 0.0 && inertia[5] == 0.0 ? 3 : 6);
}

// A text, or the path of a file: where it was found, seen from the file that is written
static void put_text_field(const writer *w, const kd_field *field, const void *def, const char *text)
{
    if (field->offset == offsetof(kd_shape, mesh) && strcmp(field->key, "mesh") == 0) {
        const kd_model_mesh *mesh = ((const kd_shape *)def)->read;
        put_path(w, mesh ? mesh->path : NULL, text);
    } else if (field->offset == offsetof(kd_body_def, flexible) && strcmp(field->key, "flexible") == 0) {
        put_path(w, path_of_part(w->model, ((const kd_body_def *)def)->read), text);
    } else if (field->flags & KD_FIELD_FILE) {
        const char *path = *(const char *const *)(const void *)((const char *)def + field->second);
        put_path(w, path ? path : text, text);
    } else {
        put_text(w->file, text);
    }
}

static void put_places(const writer *w, const kd_place *place, int length)
{
    fputc('[', w->file);
    for (int i = 0; i < length; i++) {
        if (i > 0) fputs(", ", w->file);
        put_place(w, place + i, w->over + i);
    }
    fputc(']', w->file);
}

static void put_shapes(const writer *w, const kd_shape *shape, int length)
{
    fputc('[', w->file);
    for (int i = 0; i < length; i++) {
        if (i > 0) fputs(", ", w->file);
        put_map(w, kd_schema_of(KD_SCHEMA_SHAPE), shape + i);
    }
    fputc(']', w->file);
}

// A field by the type that the schema gives it, as the reader takes it
static void put_value(const writer *w, const kd_field *field, int kind, const void *def)
{
    const void *value = at(def, field->offset);
    int         n = kd_field_count(field, kind), integer = 0, length = length_of(field, def);
    bool        truth = false;
    switch (field->type) {
    case KD_FIELD_NUMBER:
        put_number_field(w, field, n, value);
        break;
    case KD_FIELD_INERTIA:
        put_inertia(w, value);
        break;
    case KD_FIELD_MATRIX:
        put_matrix(w, value);
        break;
    case KD_FIELD_ORIENTATION:
        put_numbers(w, value, 4);
        break;
    case KD_FIELD_INTEGER:
        memcpy(&integer, value, sizeof integer);
        fprintf(w->file, "%d", integer);
        break;
    case KD_FIELD_WORD:
        memcpy(&integer, value, sizeof integer);
        fputs(field->words[integer], w->file);
        break;
    case KD_FIELD_BOOLEAN:
        memcpy(&truth, value, sizeof truth);
        fputs(truth ? "true" : "false", w->file);
        break;
    case KD_FIELD_TEXT:
    case KD_FIELD_NAME:
        put_text_field(w, field, def, *(const char *const *)value);
        break;
    case KD_FIELD_LAW:
        if (n == 1)
            put_text(w->file, *(const char *const *)value);
        else
            put_texts(w->file, value, n);
        break;
    case KD_FIELD_PATHS:
        put_texts(w->file, value, length);
        break;
    case KD_FIELD_PLACE:
        put_place(w, value, strcmp(field->key, "from") == 0 ? w->from : w->to);
        break;
    case KD_FIELD_PLACES:
        put_places(w, value, length);
        break;
    case KD_FIELD_SHAPES:
        put_shapes(w, value, length);
        break;
    case KD_FIELD_TERMS:
        put_terms(w, value, at(def, field->second), length);
        break;
    case KD_FIELD_SAMPLES:
        put_numbers(w, *(const double *const *)value, length);
        break;
    case KD_FIELD_SIGNALS:
        put_signals(w->file, field->second ? at(def, field->second) : NULL, value, length);
        break;
    case KD_FIELD_NEXT:
        put_named(w->file, at(def, field->second), value, length);
        break;
    case KD_FIELD_STARTS:
        put_numbers(w, value, length);
        break;
    case KD_FIELD_ROWS:
        memcpy(&integer, at(def, field->second), sizeof integer);
        put_rows(w, *(const double *const *)value, length, integer);
        break;
    case KD_FIELD_TYPE_COUNT:
        break;
    }
}

typedef union definition { // room for the defaults of any definition
    kd_curve_def      curve;
    kd_body_def       body;
    kd_joint_def      joint;
    kd_constraint_def constraint;
    kd_force_def      force;
    kd_block_def      block;
    kd_event_def      event;
    kd_run_def        run;
    kd_shape          shape;
} definition;

// fields that have no effect beside others
static bool is_idle(const kd_schema *schema, int kind, const kd_field *field, const void *def)
{
    if (schema == kd_schema_of(KD_SCHEMA_PLACE) && field->type == KD_FIELD_ORIENTATION) {
        const double *axis = ((const kd_place *)def)->axis;
        return axis[0] != 0.0 || axis[1] != 0.0 || axis[2] != 0.0;
    }
    return schema == kd_schema_of(KD_SCHEMA_FORCE) && field->type == KD_FIELD_PLACE &&
           kd_schema_field(schema, kind, "joint") && ((const kd_force_def *)def)->joint; // in place of places
}

// All fields that say something, each behind `before`; answers how many.
static int put_fields(const writer *w, const kd_schema *schema, const void *def, const char *first, const char *before)
{
    definition defaults;
    int        kind = kd_schema_kind_of(schema, def), count = 0;
    kd_schema_default(schema, kind, &defaults);
    if (schema == kd_schema_of(KD_SCHEMA_RUN)) { // rtol alone sets both
        const kd_run_def *run = def;
        if (run->rtol != defaults.run.rtol) defaults.run.atol = run->rtol;
    }
    if (kd_schema_has_kinds(schema) && !schema->kind_by_key) {
        fprintf(w->file, "%stype: %s", first, kd_schema_word(schema, kind)->word);
        count++;
    }
    // what is as it would be without being written is left out
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        bool            required = (field->flags & KD_FIELD_REQUIRED) != 0;
        if (!kd_field_has(field, kind) || is_idle(schema, kind, field, def) || is_in_part(schema, field, def)) continue;
        if (!required && (is_default(field, kind, def, &defaults) || is_found(w, field, def))) continue;
        fprintf(w->file, "%s%s: ", count++ == 0 ? first : before, field->key);
        writer numbers = *w; // expressions of numbers that were mirrored or shifted are not theirs any more
        if (w->placed && field->image != KD_IMAGE_SAME) numbers.own = 0;
        put_value(&numbers, field, kind, def);
    }
    return count;
}

static void put_map(const writer *w, const kd_schema *schema, const void *def)
{
    if (put_fields(w, schema, def, "{", ", ") == 0) fputc('{', w->file);
    fputc('}', w->file);
}

// ---- sections -------------------------------------------------------------------------------------------------------

typedef struct section {
    kd_schema_id id;
    kd_section   section;
    size_t       definition; // offset in the element
} section;

static const section sections[] = {
    {KD_SCHEMA_CURVE, KD_SECTION_CURVE, offsetof(kd_model_curve, def)},
    {KD_SCHEMA_TRACK, KD_SECTION_TRACK, offsetof(kd_model_track, def)},
    {KD_SCHEMA_INPUT, KD_SECTION_INPUT, offsetof(kd_input, def)},
    {KD_SCHEMA_BODY, KD_SECTION_BODY, offsetof(kd_body, def)},
    {KD_SCHEMA_FRAME, KD_SECTION_FRAME, offsetof(kd_frame, def)},
    {KD_SCHEMA_JOINT, KD_SECTION_JOINT, offsetof(kd_joint, def)},
    {KD_SCHEMA_CONSTRAINT, KD_SECTION_CONSTRAINT, offsetof(kd_constraint, def)},
    {KD_SCHEMA_FORCE, KD_SECTION_FORCE, offsetof(kd_force, def)},
    {KD_SCHEMA_STATE, KD_SECTION_STATE, offsetof(kd_state_element, def)},
    {KD_SCHEMA_ALGEBRAIC, KD_SECTION_ALGEBRAIC, offsetof(kd_algebraic, def)},
    {KD_SCHEMA_BLOCK, KD_SECTION_BLOCK, offsetof(kd_block, def)},
    {KD_SCHEMA_VARIABLE, KD_SECTION_VARIABLE, offsetof(kd_variable, def)},
    {KD_SCHEMA_EVENT, KD_SECTION_EVENT, offsetof(kd_model_event, def)},
    {KD_SCHEMA_SENSOR, KD_SECTION_SENSOR, offsetof(kd_sensor, def)},
    {KD_SCHEMA_INVARIANT, KD_SECTION_INVARIANT, offsetof(kd_invariant, def)},
    {KD_SCHEMA_CONDITION, KD_SECTION_CONDITION, offsetof(kd_condition, def)},
};

static void put_element(const writer *w, const kd_schema *schema, const char *name, const void *def)
{
    const bool inside = schema == kd_schema_of(KD_SCHEMA_CONDITION); // of start
    fputs(inside ? "    " : "  ", w->file);
    put_text(w->file, name);
    fputc(':', w->file);
    if (inside) {
        fputc(' ', w->file);
        put_map(w, schema, def);
        fputc('\n', w->file);
        return;
    }
    if (schema == kd_schema_of(KD_SCHEMA_FRAME) && is_image(w, &((const kd_frame_def *)def)->at)) {
        fputs("\n    ", w->file);
        put_anchor(w, &((const kd_frame_def *)def)->at, w->to, "\n    ");
    } else if (schema == kd_schema_of(KD_SCHEMA_FRAME)) { // the keys of the place are those of the frame
        put_fields(w, kd_schema_of(KD_SCHEMA_PLACE), &((const kd_frame_def *)def)->at, "\n    ", "\n    ");
    } else if (put_fields(w, schema, def, "\n    ", "\n    ") == 0) {
        fputs(" {}", w->file);
    }
    fputc('\n', w->file);
}

// Places of the element that is written next, and whether it is where it was written
static void find_anchors(writer *w, const kd_model *m, kd_section id, int i)
{
    const kd_subsystem *s = kd_subsystem_of(m, id, i);
    const kd_mat3       I = kd_mat_identity();
    w->placed = s && (memcmp(&s->Q, &I, sizeof I) != 0 || s->c.x != 0.0 || s->c.y != 0.0 || s->c.z != 0.0);
    w->from = w->to = NULL;
    if (id == KD_SECTION_FRAME) w->from = w->to = &m->frame[i].at;
    if (id == KD_SECTION_JOINT) w->from = &m->joint[i].from, w->to = &m->joint[i].to;
    if (id == KD_SECTION_CONSTRAINT)
        w->from = &m->constraint[i].from, w->over = m->constraint[i].over, w->to = &m->constraint[i].to;
    if (id == KD_SECTION_FORCE) w->from = &m->force[i].from, w->to = &m->force[i].to;
}

static void put_sections(writer *w, const kd_model *m)
{
    const struct kd_model_private *p = m->private;
    int                            next = 0; // expression
    for (size_t s = 0; s < sizeof sections / sizeof sections[0]; s++) {
        const kd_schema *schema = kd_schema_of(sections[s].id);
        int              n = kd_section_count(m, sections[s].section);
        if (n > 0)
            fprintf(w->file, sections[s].id == KD_SCHEMA_CONDITION ? "\nstart:\n  %s:\n" : "\n%s:\n", schema->word);
        for (int i = 0; i < n; i++) {
            int end = next; // the reader adds elements in this order, too
            while (end < p->nnumbers && p->number[end].section == sections[s].section && p->number[end].element == i) {
                end++;
            }
            w->own = end - next;
            w->text = w->own > 0 ? &p->number[next] : NULL;
            find_anchors(w, m, sections[s].section, i);
            w->definition = at(kd_element(m, sections[s].section, i), sections[s].definition);
            w->given = kd_model_given(m, sections[s].section, i);
            w->section = sections[s].section;
            w->element = i;
            put_element(w, schema, kd_element_name(m, sections[s].section, i), w->definition);
            next = end;
        }
    }
    w->definition = w->given = NULL;
}

static void put_head(const writer *w, const kd_model *m)
{
    fputs("kardan: 1\n", w->file);
    if (m->title[0]) {
        fputs("title: ", w->file);
        put_text(w->file, m->title);
        fputc('\n', w->file);
    }
    fputs("gravity: ", w->file);
    put_numbers(w, m->gravity, 3);
    fputc('\n', w->file);
    if (m->nparameters > 0) fputs("\nparameters:\n", w->file);
    for (int i = 0; i < m->nparameters; i++) {
        fputs("  ", w->file);
        put_text(w->file, m->parameter[i].name);
        fputs(": ", w->file);
        if (m->parameter[i].text)
            put_text(w->file, m->parameter[i].text);
        else
            put_number(w, &m->parameter[i].value);
        fputc('\n', w->file);
    }
}

// Is the option the first one of its group? "radau." has n letters
static bool begins_group(const kd_run_def *run, int i, size_t n)
{
    for (int k = 0; k < i; k++)
        if (strncmp(run->option[k].name, run->option[i].name, n) == 0) return false;
    return true;
}

// radau: {max_newton: 7, safety: 0.8}, group by group
static void put_options(const writer *w, const kd_run_def *run)
{
    for (int i = 0; i < run->noptions; i++) {
        const char  *dot = strchr(run->option[i].name, '.');
        const size_t n = dot ? (size_t)(dot - run->option[i].name) + 1 : 0;
        if (!dot || !begins_group(run, i, n)) continue;
        fprintf(w->file, "\n  %.*s: {", (int)n - 1, run->option[i].name);
        for (int k = i, count = 0; k < run->noptions; k++) {
            const kd_run_option *option = &run->option[k];
            if (strncmp(option->name, run->option[i].name, n) != 0) continue;
            fprintf(w->file, "%s%s: ", count++ > 0 ? ", " : "", option->name + n);
            if (option->word)
                put_text(w->file, option->word);
            else
                put_number(w, &option->value);
        }
        fputc('}', w->file);
    }
}

static void put_run(const writer *w, const kd_model *m)
{
    const int fields = put_fields(w, kd_schema_of(KD_SCHEMA_RUN), &m->run, "\nrun:\n  ", "\n  ");
    if (fields == 0 && m->run.noptions > 0) fputs("\nrun:", w->file);
    put_options(w, &m->run);
    if (fields + m->run.noptions > 0) fputc('\n', w->file);
}

// What a model with subsystems says, as the reader kept it
static void put_hierarchy(const writer *w, const kd_model *m)
{
    for (const kd_written *part = m->private->written; part; part = part->next) {
        fputs(part->text, w->file);
        if (part->curve >= 0) put_map(w, kd_schema_of(KD_SCHEMA_CURVE), &m->curve[part->curve].def);
        if (part->real) put_path(w, part->real, part->path);
    }
}

static kd_status check_writable(const kd_model *m, char *message, size_t size)
{
    if (m->nuser_forces > 0) {
        kd_text(message, size, "user force '%s' is written in C and cannot stand in a file", m->user_force[0].name);
        return KD_ERR_UNSUPPORTED;
    }
    // what is written in C has no words
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        const kd_block_element *class = kd_block_element_of(def);
        const bool named = class->matrices && def->state_name[0];
        if (!class->in_code && !named) continue;
        kd_text(message, size, "block '%s' %s cannot stand in a file", m->block[i].name,
                named ? "has matrices and names of states, which" : "is written in C and");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static kd_status write_model(const kd_model *m, const char *path, bool flat, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (!m || !path) return KD_ERR_ARGUMENT;
    const kd_status status = check_writable(m, message, size);
    if (status < 0) return status;
    FILE *file = fopen(path, "wb");
    if (!file) {
        kd_text(message, size, "%s: the file cannot be written", path);
        return KD_ERR_FILE;
    }
    char   name[KD_PATH_LENGTH];
    char  *folder = kd_folder_of(path, name) == KD_OK ? kd_real_path(name) : NULL;
    writer w = {.file = file, .model = m, .folder = folder};
    if (m->private->written && !flat) {
        put_hierarchy(&w, m);
    } else { // title, gravity and parameters, then sections in the order of the reader, then run
        put_head(&w, m);
        put_sections(&w, m);
        put_run(&w, m);
    }
    free(folder); // of the C library
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (failed) kd_text(message, size, "%s: the file could not be written to its end", path);
    return failed ? KD_ERR_FILE : KD_OK;
}

kd_status kd_model_write(const kd_model *m, const char *path, char *message, size_t size)
{
    return write_model(m, path, false, message, size);
}

kd_status kd_model_write_flat(const kd_model *m, const char *path, char *message, size_t size)
{
    return write_model(m, path, true, message, size);
}
