// values.c: fields of definitions from nodes of a file, as the schema says.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "math/space.h"
#include "model/channel.h"
#include "model/element.h"
#include "model/mesh_shape.h"
#include "modelfile/paths.h"
#include "modelfile/reader.h"

// ---- positions ------------------------------------------------------------------------------------------------------

bool kd_reader_note(kd_reader *r, const char *field, const kd_node *node)
{
    if (kd_model_field_at(r->m, field, node->line, node->first > 0 ? node->first : node->column) >= 0) return true;
    return kd_reader_short_of_memory(r);
}

bool kd_reader_note_law(kd_reader *r, const char *field, const kd_node *node, bool literal)
{
    if (!literal) return kd_reader_note(r, field, node);
    return kd_model_law_at(r->m, field, node->line, node->first) >= 0 || kd_reader_short_of_memory(r);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static const char *numbers_word(int n)
{
    return n == 1 ? "number" : "numbers";
}

// The unit of coordinate or velocity i of the joint that is being read
static void choose_coordinate(kd_reader *r, int i)
{
    const bool velocity = r->unit && strchr(r->unit, '/');
    if (r->joint < 0) return;
    r->turns = kd_joint_turns((kd_joint_kind)r->joint, i);
    if (i >= kd_joint_form_of((kd_joint_kind)r->joint).nscalars) r->turns = velocity ? 1 : KD_TURNS_PLAIN; // of a ball
}

// A list of n numbers, or one number for n = 1; maybe: null is NaN.
bool kd_reader_numbers(kd_reader *r, kd_node *node, const char *key, int n, bool maybe, double *value)
{
    if (node->type == KD_NODE_MAP) {
        kd_reader_complain(r, node, "'%s' needs %d %s, got a map", key, n, numbers_word(n));
        return false;
    }
    // a single number is a list of one
    int      got = node->type == KD_NODE_LIST ? node->n : 1;
    kd_node *item = node->type == KD_NODE_LIST ? node->item : node;
    if (got != n) {
        kd_reader_complain(r, node, "'%s' needs %d %s, got %d", key, n, numbers_word(n), got);
        return false;
    }
    // each number knows its coordinate, whose unit may be another
    for (int i = 0; i < n; i++) {
        choose_coordinate(r, i);
        if (maybe && kd_node_is_null(&item[i]))
            value[i] = NAN;
        else if (!kd_reader_number(r, &item[i], key, &value[i]))
            return false;
    }
    return true;
}

// xx yy zz, or xx yy zz xy xz yz
static bool read_inertia(kd_reader *r, const kd_field *field, kd_node *node, double *value)
{
    if (node->type == KD_NODE_LIST && node->n == 3) {
        value[3] = value[4] = value[5] = 0.0;
        return kd_reader_numbers(r, node, field->key, 3, false, value);
    }
    if (node->type == KD_NODE_LIST && node->n == 6) return kd_reader_numbers(r, node, field->key, 6, false, value);
    kd_reader_complain(r, node, "'%s' needs 3 numbers (xx yy zz) or 6 (xx yy zz xy xz yz), got %d", field->key,
                       node->type == KD_NODE_LIST ? node->n : 1);
    return false;
}

static bool read_matrix(kd_reader *r, const kd_field *field, kd_node *node, double *value)
{
    // six rows
    bool rows = node->type == KD_NODE_LIST && node->n == 6 && node->item[0].type == KD_NODE_LIST;
    if (rows) {
        for (int i = 0; i < 6; i++) {
            if (!kd_reader_numbers(r, &node->item[i], field->key, 6, false, value + 6 * i)) return false;
        }
        return true;
    }
    // or the diagonal
    double diagonal[6];
    if (node->type != KD_NODE_LIST || node->n != 6) {
        kd_reader_complain(r, node, "'%s' of a bushing needs 6 numbers (the diagonal) or 6 rows of 6, got %d",
                           field->key, node->type == KD_NODE_LIST ? node->n : 1);
        return false;
    }
    const int mark = r->npending;
    if (!kd_reader_numbers(r, node, field->key, 6, false, diagonal)) return false;
    memset(value, 0, 36 * sizeof *value);
    for (int i = 0; i < 6; i++) {
        value[7 * i] = diagonal[i];
        kd_reader_move(r, mark, &diagonal[i], &value[7 * i]);
    }
    return true;
}

// A list of any length
static bool read_samples(kd_reader *r, const kd_field *field, const kd_node *node, char *def)
{
    if (node->type != KD_NODE_LIST || node->n == 0) {
        kd_reader_complain(r, node, "'%s' must be a list of numbers", field->key);
        return false;
    }
    double *sample = kd_cut_double(&r->scratch, node->n);
    if (!sample) return kd_reader_short_of_memory(r);
    kd_reader_array(r, sample, node->n, field->offset);
    for (int i = 0; i < node->n; i++) {
        if (!kd_reader_number(r, &node->item[i], field->key, &sample[i])) return false;
    }
    memcpy(def + field->offset, &sample, sizeof sample);
    memcpy(def + field->length, &node->n, sizeof node->n);
    return true;
}

// ---- orientations ---------------------------------------------------------------------------------------------------

static bool complain_orientation(kd_reader *r, const kd_node *node)
{
    kd_reader_complain(r, node,
                       "an orientation is [w, x, y, z], {axis: [x, y, z], angle: a} or "
                       "{roll: a, pitch: b, yaw: c}");
    return false;
}

// Angles are in rad: more than a turn is probably in degrees
static void warn_of_degrees(kd_reader *r, const kd_node *node, const char *key, double angle)
{
    if (!(fabs(angle) > 2.0 * KD_PI + 1e-9)) return;
    const kd_source source = {.file = r->findings->file, .line = node->line, .column = node->column};
    kd_model_warn_at(r->m, &source, "%s%s: %g rad is %.3g turns; degrees are written '%g deg'", r->element, key, angle,
                     angle / (2.0 * KD_PI), angle);
}

static bool read_axis_angle(kd_reader *r, const kd_node *map, double *q)
{
    double    in[4], *axis = in, *angle = in + 3;
    const int mark = r->npending;
    r->unit = "rad"; // of the angle
    kd_node *axis_node = kd_node_find(map, "axis"), *angle_node = kd_node_find(map, "angle");
    if (map->n != 2 || !axis_node || !angle_node) return complain_orientation(r, map);
    if (!kd_reader_numbers(r, axis_node, "axis", 3, false, axis) || !kd_reader_number(r, angle_node, "angle", angle)) {
        return false;
    }
    warn_of_degrees(r, angle_node, "angle", *angle);
    double n = kd_vec_norm(kd_vec_of(axis));
    if (!(n > 0.0) || isinf(n)) {
        kd_reader_complain(r, axis_node, "'axis' must not be the zero vector");
        return false;
    }
    // q = (cos(a/2), sin(a/2) axis/|axis|), again when a parameter in it changes
    kd_make_axis_angle(in, q);
    return kd_reader_compose(r, mark, KD_MAKE_AXIS_ANGLE, in, 4, q);
}

// Rz(yaw) Ry(pitch) Rx(roll)
static bool read_cardan(kd_reader *r, const kd_node *map, double *q)
{
    static const char *const word[] = {"roll", "pitch", "yaw"};
    double                   angle[3] = {0, 0, 0};
    const int                mark = r->npending;
    r->unit = "rad";
    int given = 0;
    for (int i = 0; i < 3; i++) {
        kd_node *node = kd_node_find(map, word[i]);
        if (!node) continue;
        given++;
        if (!kd_reader_number(r, node, word[i], &angle[i])) return false;
        warn_of_degrees(r, node, word[i], angle[i]);
    }
    if (given == 0 || given != map->n) return complain_orientation(r, map);
    kd_make_cardan(angle, q);
    return kd_reader_compose(r, mark, KD_MAKE_CARDAN, angle, 3, q);
}

static bool read_orientation(kd_reader *r, const kd_field *field, kd_node *node, double *q)
{
    if (node->type == KD_NODE_MAP) {
        return kd_node_find(node, "axis") || kd_node_find(node, "angle") ? read_axis_angle(r, node, q)
                                                                         : read_cardan(r, node, q);
    }
    if (node->type != KD_NODE_LIST || node->n != 4) return complain_orientation(r, node);
    return kd_reader_numbers(r, node, field->key, 4, false, q);
}

// ---- texts ----------------------------------------------------------------------------------------------------------

// The path of a file that an element reads, from where the program runs
static bool find_file(kd_reader *r, const kd_node *node, const char **found)
{
    char            path[KD_PATH_LENGTH], why[600];
    const kd_status status = kd_reader_data_path(r, node->text, path, why, sizeof why);
    if (status < 0) {
        if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
        kd_reader_complain(r, node, "%s", why);
        return false;
    }
    char *kept = kd_arena_cut(&r->scratch, strlen(path) + 1, 1);
    if (!kept) return kd_reader_short_of_memory(r);
    memcpy(kept, path, strlen(path) + 1);
    *found = kept;
    return true;
}

static bool read_text(kd_reader *r, const kd_field *field, const kd_node *node, const char **text)
{
    *text = NULL;
    if (node->type != KD_NODE_SCALAR) {
        kd_reader_complain(r, node, "'%s' must be a %s, not a %s", field->key,
                           field->type == KD_FIELD_TEXT ? "text" : "name", node->type == KD_NODE_LIST ? "list" : "map");
        return false;
    }
    if (kd_node_is_null(node)) return true;
    if (field->type == KD_FIELD_NAME) {
        if (!kd_reader_name(r, node, text)) return false;
        return field->refers == KD_SCHEMA_BODY ? kd_reader_find_body(r, node, text)
                                               : kd_reader_full_name(r, node, *text, text);
    }
    *text = node->text;
    return true;
}

// A parameter by its name whose value is one of 0 .. count - 1
static bool number_of_parameter(kd_reader *r, const kd_node *node, const char *name, int count, int *number)
{
    const char *full;
    double      value;
    if (!kd_reader_has_parameter(r, name) || !kd_reader_full_name(r, node, name, &full) ||
        !kd_model_use_parameter(r->m, full, &value) || !(value >= 0 && value < count) || value != floor(value))
        return false;
    *number = (int)value;
    return true;
}

// A word, or the name of a parameter that is its number, from 0 on: so that --set can choose it.
static bool read_word(kd_reader *r, const kd_field *field, const kd_node *node, int *value)
{
    const char *text;
    int         count = 0;
    if (!read_text(r, field, node, &text)) return false;
    for (; field->words[count]; count++) {
        // yes and no are other words for true and false
        const char *other = strcmp(field->words[count], "true") == 0    ? "yes"
                            : strcmp(field->words[count], "false") == 0 ? "no"
                                                                        : field->words[count];
        if (text && strcmp(other, text) == 0) {
            *value = count;
            return true;
        }
        if (text && strcmp(field->words[count], text) == 0) {
            *value = count;
            return true;
        }
    }
    // the number of a word, as a parameter
    int number;
    if (text && number_of_parameter(r, node, text, count, &number)) {
        *value = number;
        return kd_reader_hold_parameter(r, node, field->key, text);
    }
    // else what is possible
    char        list[300] = "";
    const char *near = text ? kd_nearest_word(text, field->words, count) : NULL;
    if (near) {
        kd_text(list, sizeof list, ", did you mean '%s'?", near);
    } else {
        kd_text(list, sizeof list, "; possible are");
        for (int i = 0; i < count; i++) kd_text_append(list, sizeof list, "%s %s", i > 0 ? "," : "", field->words[i]);
    }
    kd_reader_complain(r, node, "'%s' cannot be '%.60s'%s", field->key, text ? text : "", list);
    return false;
}

static bool read_boolean(kd_reader *r, const kd_field *field, const kd_node *node, bool *value)
{
    const char *text = node->type == KD_NODE_SCALAR ? node->text : "";
    bool        yes = strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    *value = yes;
    if (yes || strcmp(text, "false") == 0 || strcmp(text, "no") == 0) return true;
    int number;
    if (number_of_parameter(r, node, text, 2, &number)) {
        *value = number == 1;
        return kd_reader_hold_parameter(r, node, field->key, text);
    }
    kd_reader_complain(r, node, "'%s' must be true or false, or a parameter that is 1 or 0", field->key);
    return false;
}

// The words under which the model knows parts of fields; they must live as long as the model.
static const char *part_of(const char *key, int i)
{
    static const char *const parts[][16] = {
        {"motion[0]", "motion[1]", "motion[2]", "motion[3]", "motion[4]", "motion[5]"},
        {"force[0]", "force[1]", "force[2]"},
        {"torque[0]", "torque[1]", "torque[2]"},
        {"plots[0]", "plots[1]", "plots[2]", "plots[3]", "plots[4]", "plots[5]", "plots[6]", "plots[7]", "plots[8]",
         "plots[9]", "plots[10]", "plots[11]", "plots[12]", "plots[13]", "plots[14]", "plots[15]"},
        {"terms[0]", "terms[1]", "terms[2]", "terms[3]", "terms[4]", "terms[5]", "terms[6]", "terms[7]"},
    };
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        size_t length = strcspn(parts[k][0], "[");
        if (strlen(key) == length && strncmp(parts[k][0], key, length) == 0 && parts[k][i]) return parts[k][i];
    }
    return key;
}

// One expression or a list of n. A single coordinate needs no list.
static bool read_laws(kd_reader *r, const kd_field *field, int n, kd_node *node, const char **law)
{
    bool literal;
    if (field->count == 1) {
        return kd_reader_law(r, node, field->key, law, &literal) && kd_reader_note_law(r, field->key, node, literal);
    }
    int      got = node->type == KD_NODE_LIST ? node->n : 1;
    kd_node *item = node->type == KD_NODE_LIST ? node->item : node;
    if (got != n || node->type == KD_NODE_MAP) {
        kd_reader_complain(r, node, "'%s' needs %d expression%s, got %d", field->key, n, n == 1 ? "" : "s",
                           node->type == KD_NODE_MAP ? 0 : got);
        return false;
    }
    for (int i = 0; i < n; i++) {
        choose_coordinate(r, i);
        if (!kd_reader_law(r, &item[i], field->key, &law[i], &literal)) return false;
        if (law[i] && !kd_reader_note_law(r, part_of(field->key, i), &item[i], literal)) return false;
    }
    if (field->image != KD_IMAGE_SAME && r->scope->number > 0) return kd_reader_image_laws(r, field, law);
    return true;
}

// ---- lists of parts -------------------------------------------------------------------------------------------------

bool kd_reader_check_room(kd_reader *r, const kd_field *field, const kd_node *node, int n)
{
    if (n <= field->count) return true;
    kd_reader_complain(r, node, "'%s' has %d entries, at most %d are possible", field->key, n, field->count);
    return false;
}

static bool read_paths(kd_reader *r, const kd_field *field, kd_node *node, char *def)
{
    int          n = node->type == KD_NODE_LIST ? node->n : 1;
    kd_node     *item = node->type == KD_NODE_LIST ? node->item : node;
    const char **path = (const char **)(void *)(def + field->offset);
    if (!kd_reader_check_room(r, field, node, n)) return false;
    for (int i = 0; i < n; i++) {
        if (item[i].type != KD_NODE_SCALAR) {
            kd_reader_complain(r, &item[i], "'%s' must be a list of names", field->key);
            return false;
        }
        // names of somebody else's may have parentheses that are no indices: der(x)
        const bool own = (field->flags & KD_FIELD_OWN) != 0;
        if (own) path[i] = item[i].text;
        if ((!own && !kd_reader_name(r, &item[i], &path[i])) || !kd_reader_note(r, part_of(field->key, i), &item[i]))
            return false;
    }
    memcpy(def + field->length, &n, sizeof n);
    return true;
}

static bool read_terms(kd_reader *r, const kd_field *field, const kd_node *node, char *def)
{
    const char **path = (const char **)(void *)(def + field->offset);
    double      *factor = (double *)(void *)(def + field->second);
    if (node->type != KD_NODE_MAP || node->n == 0) {
        kd_reader_complain(r, node, "'%s' must be like %s", field->key,
                           strcmp(field->key, "terms") == 0 ? "{joint.a.q: 1, joint.b.q: -2}" : "{z: 0}");
        return false;
    }
    if (!kd_reader_check_room(r, field, node, node->n)) return false;
    for (int i = 0; i < node->n; i++) {
        kd_node   *key = &node->item[2 * i];
        const bool own = (field->flags & KD_FIELD_OWN) != 0;
        if (!kd_reader_name(r, key, &path[i]) || (!own && !kd_reader_qualify_path(r, key, &path[i])) ||
            !kd_reader_note(r, part_of(field->key, i), key) ||
            !kd_reader_number(r, &node->item[2 * i + 1], key->text, &factor[i])) {
            return false;
        }
    }
    memcpy(def + field->length, &node->n, sizeof node->n);
    return true;
}

// {rod: radius, from: [..], to: [..]}: from where to where in place of length, position and orientation
static bool read_span(kd_reader *r, kd_node *map, int kind, kd_shape *shape)
{
    const char *word = kd_schema_of(KD_SCHEMA_SHAPE)->kinds[kind].word;
    double      ends[6], *from = ends, *to = ends + 3;
    const int   mark = r->npending;
    kd_node    *from_node = kd_node_find(map, "from"), *to_node = kd_node_find(map, "to");
    int         radii = kind == KD_TUBE ? 2 : 1;
    if (kind != KD_ROD && kind != KD_CYLINDER && kind != KD_TUBE) {
        kd_reader_complain(r, from_node ? from_node : to_node,
                           "'from' and 'to' are for rod, cylinder and tube; a %s has a position", word);
        return false;
    }
    if (!from_node || !to_node) {
        kd_reader_complain(r, map, "a %s from one point to another needs both 'from' and 'to'", word);
        return false;
    }
    if (kd_node_find(map, "position") || kd_node_find(map, "orientation")) {
        kd_reader_complain(r, map, "'from' and 'to' say already where the %s is; leave out position and orientation",
                           word);
        return false;
    }
    if (!kd_reader_numbers(r, kd_node_find(map, word), word, radii, false, shape->size) ||
        !kd_reader_numbers(r, from_node, "from", 3, false, from) ||
        !kd_reader_numbers(r, to_node, "to", 3, false, to)) {
        return false;
    }
    kd_vec3 d = kd_vec_sub(kd_vec_of(to), kd_vec_of(from));
    double  length = kd_vec_norm(d);
    if (!(length > 0.0) || isinf(length)) {
        kd_reader_complain(r, from_node, "'from' and 'to' must be different points");
        return false;
    }
    kd_make_span(from, to, shape);
    return kd_reader_compose(r, mark, KD_MAKE_SPAN, ends, 6, shape);
}

// The file of a mesh, in the folder of the model
static bool read_mesh(kd_reader *r, const kd_node *node, kd_shape *shape)
{
    char      path[KD_PATH_LENGTH], why[600];
    kd_status status = kd_reader_data_path(r, shape->mesh, path, why, sizeof why);
    if (status == KD_OK) status = kd_model_mesh_read(r->m, path, &shape->read, why, sizeof why);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    if (status < 0) kd_reader_complain(r, node, "%s", why);
    return status == KD_OK;
}

static bool read_shape(kd_reader *r, kd_node *node, kd_shape *shape)
{
    const kd_schema *schema = kd_schema_of(KD_SCHEMA_SHAPE);
    int              kind = -1;
    for (int i = 0; node->type == KD_NODE_MAP && i < node->n; i++) {
        int k = kd_schema_kind(schema, node->item[2 * i].text);
        if (k >= 0 && kind >= 0) {
            kd_reader_complain(r, &node->item[2 * i], "a shape is one of %s and %s, not both; write a list of shapes",
                               schema->kinds[kind].word, schema->kinds[k].word);
            return false;
        }
        if (k >= 0) kind = k;
    }
    if (kind < 0) {
        kd_nearest nearest = kd_nearest_start(node->type == KD_NODE_MAP && node->n > 0 ? node->item[0].text : "");
        for (int k = 0; k < schema->nkinds; k++) kd_nearest_offer(&nearest, schema->kinds[k].word);
        if (nearest.best) {
            kd_reader_complain(r, node, "unknown shape '%.60s', did you mean '%s'?", nearest.word, nearest.best);
        } else {
            kd_reader_complain(r, node,
                               "a shape is like {box: [1, 2, 3]}; possible are sphere, box, cylinder, rod, "
                               "tube and mesh");
        }
        return false;
    }
    kd_schema_default(schema, kind, shape);
    if (kd_node_find(node, "from") || kd_node_find(node, "to")) {
        if (!read_span(r, node, kind, shape)) return false;
    }
    if (!kd_reader_fields(r, schema, kind, node, shape)) return false;
    return kind != KD_MESH || read_mesh(r, kd_node_find(node, "mesh"), shape);
}

static bool read_shapes(kd_reader *r, const kd_field *field, kd_node *node, char *def)
{
    int       n = node->type == KD_NODE_LIST ? node->n : 1;
    kd_node  *item = node->type == KD_NODE_LIST ? node->item : node;
    kd_shape *shape = (kd_shape *)(void *)(def + field->offset);
    if (!kd_reader_check_room(r, field, node, n)) return false;
    for (int i = 0; i < n; i++) {
        if (!read_shape(r, &item[i], &shape[i])) return false;
    }
    memcpy(def + field->length, &n, sizeof n);
    return true;
}

// ---- one field ------------------------------------------------------------------------------------------------------

static bool is_zero(const double *a)
{
    return a[0] == 0.0 && a[1] == 0.0 && a[2] == 0.0;
}

// Numbers of a field: all of them, fewer, or one for all
static bool read_number_field(kd_reader *r, const kd_field *field, int n, kd_node *node, double *number)
{
    if ((field->flags & KD_FIELD_EQUAL) && node->type == KD_NODE_SCALAR) {
        const int mark = r->npending;
        if (!kd_reader_number(r, node, field->key, number)) return false;
        for (int i = 1; i < n; i++) {
            number[i] = number[0];
            if (!kd_reader_spread(r, mark, number, &number[i])) return false;
        }
        return true;
    }
    if ((field->flags & KD_FIELD_FEWER) && node->type == KD_NODE_LIST && node->n < n) n = node->n;
    if (!kd_reader_numbers(r, node, field->key, n, (field->flags & KD_FIELD_MAYBE) != 0, number)) return false;
    if (!(field->flags & KD_FIELD_DIRECTION) || !is_zero(number)) return true;
    kd_reader_complain(r, node, "'%s' must not be the zero vector", field->key);
    return false;
}

// A field by the type that the schema gives it
static bool read_by_type(kd_reader *r, const kd_field *field, int kind, kd_node *node, char *def)
{
    void   *at = def + field->offset;
    int     n = kd_field_count(field, kind), integer = 0;
    bool    truth = false;
    double *number = at;
    switch (field->type) {
    case KD_FIELD_NUMBER:
        return read_number_field(r, field, n, node, number);
    case KD_FIELD_INTEGER:
        if (!kd_reader_integer(r, node, field->key, &integer)) return false;
        memcpy(at, &integer, sizeof integer);
        return true;
    case KD_FIELD_WORD:
        if (!read_word(r, field, node, &integer)) return false;
        memcpy(at, &integer, sizeof integer);
        return true;
    case KD_FIELD_BOOLEAN:
        if (!read_boolean(r, field, node, &truth)) return false;
        memcpy(at, &truth, sizeof truth);
        return true;
    case KD_FIELD_TEXT:
        return read_text(r, field, node, at) &&
               (!(field->flags & KD_FIELD_FILE) || kd_node_is_null(node) ||
                find_file(r, node, (const char **)(void *)((char *)def + field->second)));
    case KD_FIELD_NAME:
        return read_text(r, field, node, at) &&
               (field->refers != KD_SCHEMA_CURVE || kd_reader_note(r, "value", node)); // where the model keeps it
    case KD_FIELD_LAW:
        return read_laws(r, field, n, node, at);
    case KD_FIELD_PATHS:
        return read_paths(r, field, node, def);
    case KD_FIELD_ORIENTATION:
        return read_orientation(r, field, node, number);
    case KD_FIELD_INERTIA:
        return read_inertia(r, field, node, number);
    case KD_FIELD_MATRIX:
        return read_matrix(r, field, node, number);
    case KD_FIELD_PLACE:
        return kd_reader_place(r, field, node, at);
    case KD_FIELD_PLACES:
        return kd_reader_places(r, field, node, def);
    case KD_FIELD_SHAPES:
        return read_shapes(r, field, node, def);
    case KD_FIELD_TERMS:
        return read_terms(r, field, node, def);
    case KD_FIELD_SAMPLES:
        return read_samples(r, field, node, def);
    case KD_FIELD_SIGNALS:
        return kd_reader_signals(r, field, node, def);
    case KD_FIELD_NEXT:
        return kd_reader_next(r, field, node, def);
    case KD_FIELD_STARTS:
        return kd_reader_starts(r, field, node, def);
    case KD_FIELD_ROWS:
        return kd_reader_rows(r, field, node, def);
    case KD_FIELD_TYPE_COUNT:
        break;
    }
    return false;
}

// The unit of what a field holds: of the schema; what has none there takes none, or any
static const char *unit_of_field(const kd_reader *r, const kd_field *field)
{
    const bool any = r->any_units || field->type == KD_FIELD_SAMPLES || field->type == KD_FIELD_TERMS ||
                     field->type == KD_FIELD_STARTS || field->type == KD_FIELD_ROWS;
    return field->unit[0] == '\0' && any ? NULL : field->unit;
}

bool kd_reader_value(kd_reader *r, const kd_field *field, int kind, kd_node *node, void *def)
{
    char              why[400];
    const char *const outer = r->unit;
    r->unit = unit_of_field(r, field);
    r->field = field;
    const bool fine = read_by_type(r, field, kind, node, def);
    r->unit = outer;
    if (!fine) return false;
    if (!kd_field_check(field, kind, def, why, sizeof why)) {
        kd_reader_complain(r, node, "%s", why);
        return false;
    }
    bool noted = field->type == KD_FIELD_LAW || field->type == KD_FIELD_PLACE || field->type == KD_FIELD_PLACES ||
                 (field->type == KD_FIELD_SIGNALS && node->type == KD_NODE_SCALAR);
    return noted || kd_reader_note(r, field->key, node);
}
