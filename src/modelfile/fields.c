// fields.c: all fields of a map: keys that the schema does not know, that are missing or come twice, in words with advice; then their
// values (values.c), those that depend on others last.
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "model/channel.h"
#include "model/element.h"
#include "modelfile/paths.h"
#include "modelfile/reader.h"

static bool has_places(const kd_schema *schema, int kind)
{
    const kd_field *to = kd_schema_field(schema, kind, "to");
    return to && to->type == KD_FIELD_PLACE;
}

// "a joint of type revolute", "an input", "a box"
static void say_what(const kd_schema *schema, int kind, char *text, size_t size)
{
    const char *word = kd_schema_has_kinds(schema) ? kd_schema_word(schema, kind)->word : NULL;
    const char *first = schema->kind_by_key ? word : schema->singular;
    kd_text(text, size, "%s %s", strchr("aeiou", first[0]) ? "an" : "a", first);
    if (word && !schema->kind_by_key) kd_text_append(text, size, " of type %s", word);
}

// `bodies` for `body`, `point` for `points`, and the other way round; NULL: that is not the mistake.
static const char *other_number(const kd_schema *schema, int kind, const char *key)
{
    static const char *const number[][2] = {{"body", "bodies"}, {"bodies", "body"}, {"points", "point"}};
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        if (strcmp(key, number[i][0]) == 0 && kd_reader_is_place_key(schema, kind, number[i][1])) return number[i][1];
    }
    return NULL;
}

// Of all keys that are possible here
static const char *nearest_key(kd_reader *r, const kd_schema *schema, int kind, const char *key)
{
    kd_nearest nearest = kd_nearest_start(key);
    if (kd_schema_has_kinds(schema) && !schema->kind_by_key) kd_nearest_offer(&nearest, "type");
    if (kd_reader_takes_material(schema, kind)) kd_nearest_offer(&nearest, "material");
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind)) kd_nearest_offer(&nearest, field->key);
    }
    kd_reader_offer_place_keys(schema, kind, &nearest);
    kd_reader_offer_option_groups(r, schema, &nearest);
    return nearest.best;
}

// The other kinds that have the key; false: none.
static bool list_kinds(const kd_schema *schema, const char *key, char *list, size_t size)
{
    list[0] = '\0';
    for (int k = 0; kd_schema_has_kinds(schema) && k < schema->nkinds; k++) {
        const char *word = kd_schema_word(schema, k)->word;
        const bool  has = kd_schema_field(schema, k, key) || kd_reader_is_place_key(schema, k, key);
        if (!word || !has) continue;
        kd_text_append(list, size, "%s%s", list[0] ? ", " : "", word);
    }
    return list[0] != '\0';
}

static void complain_key(kd_reader *r, const kd_schema *schema, int kind, const kd_node *key)
{
    char        what[100], list[300] = "";
    const char *other = other_number(schema, kind, key->text);
    const char *near = other ? other : nearest_key(r, schema, kind, key->text);
    say_what(schema, kind, what, sizeof what);
    if (kd_reader_complain_group(r, schema, key)) return;
    // the key of another kind; a misspelt one; or none at all
    if (!other && list_kinds(schema, key->text, list, sizeof list)) {
        kd_reader_complain(r, key, "'%s' does not apply to %s, only to %s", key->text, what, list);
    } else if (near) {
        kd_reader_complain(r, key, "unknown key '%.60s' for %s, did you mean '%s'?", key->text, what, near);
    } else {
        for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
            const kd_field *field = kd_schema_field_at(schema, kind, i);
            if (!kd_field_has(field, kind)) continue;
            kd_text_append(list, sizeof list, "%s%s", list[0] ? ", " : "", field->key);
        }
        kd_reader_complain(r, key, "unknown key '%.60s' for %s; possible are %s", key->text, what, list);
    }
}

// a key of the short form of places, not of the element itself
static bool is_short_key(const kd_schema *schema, int kind, const char *key)
{
    return has_places(schema, kind) && !kd_schema_field(schema, kind, key) && kd_reader_is_place_key(schema, kind, key);
}

static bool is_handled_elsewhere(const kd_schema *schema, int kind, const kd_node *map, const char *key)
{
    if (strcmp(key, "for") == 0 || (strcmp(key, "type") == 0 && kd_schema_has_kinds(schema) && !schema->kind_by_key))
        return true;
    if (strcmp(key, "material") == 0 && kd_reader_takes_material(schema, kind)) return true;
    if (schema == kd_schema_of(KD_SCHEMA_SHAPE) && kd_node_find(map, "from")) { // read_span has read these
        return strcmp(key, "from") == 0 || strcmp(key, "to") == 0 ||
               strcmp(key, kd_schema_word(schema, kind)->word) == 0;
    }
    return is_short_key(schema, kind, key) || kd_reader_is_option_group(schema, key);
}

// the frame of the model for `from` and `to`, or the joint that they come from
static bool has_places_otherwise(const kd_schema *schema, int kind, const kd_node *map)
{
    return kd_reader_has_short_places(map) || (kd_schema_field(schema, kind, "joint") && kd_node_find(map, "joint"));
}

static void complain_place(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, const char *key)
{
    char            what[100];
    const kd_field *from = kd_schema_field(schema, kind, "from");
    bool            both = from && (from->flags & KD_FIELD_REQUIRED);
    bool            joint = kd_schema_field(schema, kind, "joint") != NULL;
    say_what(schema, kind, what, sizeof what);
    if (!both) {
        kd_reader_complain(r, map, "%s needs 'body' or 'to'", what);
    } else if (kd_node_find(map, "from") || kd_node_find(map, "to")) {
        kd_reader_complain(r, map, "%s needs '%s'", what, key);
    } else if (strcmp(key, "from") == 0) { // once for both
        kd_reader_complain(r, map, "%s needs 'bodies', or 'from' and 'to'%s", what, joint ? ", or 'joint'" : "");
    }
}

// Fields that must be there
static bool check_required(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map)
{
    char what[100];
    bool fine = true;
    say_what(schema, kind, what, sizeof what);
    // fields that this kind has, needs, and was not given
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        const kd_node  *node = kd_node_find(map, field->key);
        if (!kd_field_has(field, kind) || !(field->flags & KD_FIELD_REQUIRED) || (node && !kd_node_is_null(node))) {
            continue;
        }
        // a place may be given by other fields, for example a point for two bodies
        if (field->type == KD_FIELD_PLACE) {
            if (has_places_otherwise(schema, kind, map)) continue;
            complain_place(r, schema, kind, map, field->key);
        } else {
            kd_reader_complain(r, map, "%s needs '%s'", what, field->key);
        }
        fine = false;
    }
    return fine;
}

// point, axis, ... beside 'from' and 'to' (or 'joint') would say nothing
static bool check_short_key(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, const kd_node *key)
{
    bool otherwise = kd_node_find(map, "from") || kd_node_find(map, "to") || has_places_otherwise(schema, kind, map);
    if (!is_short_key(schema, kind, key->text) || kd_reader_has_short_places(map) || !otherwise) return true;
    bool both = kd_reader_is_place_key(schema, kind, "bodies");
    kd_reader_complain(r, key, "'%s' belongs to '%s'; beside %s it is not read: write it inside of %s", key->text,
                       both ? "bodies" : "body", both ? "'from' and 'to'" : "'to'", both ? "these" : "it");
    return false;
}

// Fields whose sizes or names others say are read behind those, in the order of the schema.
static bool is_late(const kd_field *field)
{
    return field->type == KD_FIELD_NEXT || field->type == KD_FIELD_STARTS || field->type == KD_FIELD_ROWS;
}

static bool read_late_fields(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def)
{
    bool fine = true;
    for (int i = 0; i < kd_schema_field_count(schema, kind) && fine; i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        kd_node        *value = kd_field_has(field, kind) && is_late(field) ? kd_node_find(map, field->key) : NULL;
        if (value && !kd_node_is_null(value)) fine = kd_reader_value(r, field, kind, value, def);
    }
    return fine;
}

// Which of two units ("N/m|N m/rad") an element has: a joint by its coordinates, a force in a joint by that one's
static void choose_units(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map)
{
    const kd_units units = schema == kd_schema_of(KD_SCHEMA_FORCE) ? kd_force_element(kind)->units : KD_UNITS_MIXED;
    r->turns = KD_TURNS_UNKNOWN;
    r->joint = -1;
    if (schema == kd_schema_of(KD_SCHEMA_JOINT)) r->joint = kind;
    if (units == KD_UNITS_MIXED) return;
    // by the element itself, or by the coordinate of the joint that it acts in
    r->turns = units == KD_UNITS_OF_TURN;
    if (units != KD_UNITS_OF_JOINT) return;
    const kd_node *joint = kd_node_find(map, "joint"), *coordinate = kd_node_find(map, "coordinate");
    const char    *name = NULL;
    r->turns = KD_TURNS_UNKNOWN;
    if (!joint || joint->type != KD_NODE_SCALAR || !kd_reader_name(r, joint, &name)) return;
    if (!kd_reader_full_name(r, joint, name, &name)) return;
    if (coordinate && (coordinate->type != KD_NODE_SCALAR || strlen(coordinate->text) != 1)) return;
    r->turns = kd_model_joint_turns(r->m, name, coordinate ? coordinate->text[0] - '1' : 0);
}

// Where a field must be a number: which one takes an expression of t, inputs or the motion in its place
static const char *advice_for(const kd_schema *schema, int kind, const kd_field *field)
{
    static const char *const moved[] = {"length", "angle", "radius",
                                        "offset"}; // what a motion of a constraint is added to
    if (field->type == KD_FIELD_TERMS && schema == kd_schema_of(KD_SCHEMA_CONSTRAINT))
        return "a gear whose ratio changes couples speeds, as 'type: velocity' does";
    if (field->type != KD_FIELD_NUMBER) return NULL;
    if (schema == kd_schema_of(KD_SCHEMA_JOINT) && strcmp(field->key, "q") == 0)
        return "'motion' takes expressions of t and inputs";
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        if (strcmp(field->key, moved[i]) == 0 && kd_schema_field(schema, kind, "motion"))
            return "'motion' takes an expression, which is added to it";
    if (schema == kd_schema_of(KD_SCHEMA_FORCE) && kd_schema_field(schema, kind, "law"))
        return "'law' takes an expression";
    return NULL;
}

// Numbers of a material: the element's own, or of a shape that says nothing else that of its body
static bool read_material(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def)
{
    const kd_node *material = kd_node_find(map, "material");
    const bool     shape = schema == kd_schema_of(KD_SCHEMA_SHAPE);
    if (!kd_reader_takes_material(schema, kind)) return true;
    if (schema == kd_schema_of(KD_SCHEMA_BODY)) {
        if (!material || kd_node_find(map, "shape")) return true;
        kd_reader_complain(r, material, "'material' is that of its shapes, but it has no 'shape'");
        return false;
    }
    if (shape && !material && !kd_node_find(map, "density")) material = kd_node_find(r->map, "material");
    return !material || kd_reader_of_material(r, schema, kind, material, map, def);
}

bool kd_reader_fields(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def)
{
    bool fine = true;
    choose_units(r, schema, kind, map);
    for (int i = 0; i < map->n && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        // every key of the map is a field, or read elsewhere, or unknown
        kd_node        *key = &map->item[2 * i], *value = &map->item[2 * i + 1];
        const kd_field *field = kd_schema_field(schema, kind, key->text);
        if (!check_short_key(r, schema, kind, map, key)) fine = false;
        if (is_handled_elsewhere(schema, kind, map, key->text)) continue;
        if (!field) {
            complain_key(r, schema, kind, key);
            fine = false;
        } else if (is_late(field) || ((field->flags & KD_FIELD_REQUIRED) && kd_node_is_null(value))) {
            continue; // see below
        } else {
            r->advice = advice_for(schema, kind, field);
            fine = kd_reader_value(r, field, kind, value, def) && fine;
            r->advice = NULL;
        }
    }
    // then fields that need others, the short form of places, and what is missing
    if (fine) fine = read_late_fields(r, schema, kind, map, def) && read_material(r, schema, kind, map, def);
    if (kd_reader_has_short_places(map) && has_places(schema, kind)) {
        if (fine)
            fine = kd_reader_short_places(r, schema, kind, map, def);
        else
            kd_reader_check_short_bodies(r, map);
    }
    return check_required(r, schema, kind, map) && fine;
}
