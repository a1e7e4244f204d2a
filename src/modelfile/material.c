// material.c: materials: numbers of a stuff under one name, `materials: {steel: {density: 7850, E: 210 GPa, nu: 0.3}}`.
//
// An element that says `material: steel` has those of its numbers from there that it knows: a shape its density, a wheel
// on a rail the modulus of shear, G = E/(2 (1 + nu)), and Poisson's ratio. They are read as if they stood in the element
// itself, so that expressions of parameters live. `material` of a body is that of its shapes that say nothing else.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/reader.h"

// What a material gives: the key of an element, and of which numbers of the material it is made
static const struct {
    const char *key, *of, *with;
} given[] = {{"density", "density", NULL}, {"poisson", "nu", NULL}, {"shear", "E", "nu"}};
enum { GIVEN = sizeof given / sizeof given[0] };

bool kd_reader_takes_material(const kd_schema *schema, int kind)
{
    if (schema == kd_schema_of(KD_SCHEMA_MATERIAL)) return false;
    if (schema == kd_schema_of(KD_SCHEMA_BODY)) return true;
    for (int i = 0; i < GIVEN; i++)
        if (kd_schema_field(schema, kind, given[i].key)) return true;
    return false;
}

// ---- the section ----------------------------------------------------------------------------------------------------

static void check_material(kd_reader *r, const kd_node *key, kd_node *value)
{
    const kd_schema *schema = kd_schema_of(KD_SCHEMA_MATERIAL);
    kd_material      material;
    char             why[300];
    const int        complaints = r->findings->count;
    kd_text(r->element, sizeof r->element, "material '%.100s': ", key->text);
    // what is not given has its default
    kd_schema_default(schema, 0, &material);
    if (!kd_name_check(key->text, why, sizeof why))
        kd_reader_complain(r, key, "%s", why);
    else if (value->type == KD_NODE_MAP && kd_node_find(value, "for"))
        kd_reader_complain(r, kd_node_find(value, "for"), "materials are not repeated");
    // a map of fields, or a density alone
    else if (value->type == KD_NODE_MAP)
        (void)kd_reader_fields(r, schema, 0, value, &material);
    else if (value->type == KD_NODE_SCALAR && !kd_node_is_null(value))
        (void)kd_reader_value(r, kd_schema_field(schema, 0, schema->short_key), 0, value, &material);
    else
        kd_reader_complain(r, value, "it must be a density, or like {density: 7850, E: 210 GPa, nu: 0.3}");
    if (r->findings->count > complaints) value->owner = -1; // what is wrong is not said again where it is used
    r->element[0] = '\0';
}

void kd_reader_check_materials(kd_reader *r)
{
    kd_node *map = kd_node_find(r->scope->root, "materials");
    if (!map || kd_node_is_null(map)) return;
    if (map->type != KD_NODE_MAP) {
        kd_reader_complain(r, map, "'materials' must be a map, like materials: {steel: {density: 7850}}");
        return;
    }
    // all of them, used or not; what was noted on the way belongs to no element
    r->any_units = false;
    for (int i = 0; i < map->n && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        check_material(r, &map->item[2 * i], &map->item[2 * i + 1]);
        r->npending = r->narrays = 0;
        kd_model_drop_fields(r->m);
    }
}

// ---- its use --------------------------------------------------------------------------------------------------------

// Does a model around know the material? Inside of subsystems only own names are known.
static bool is_around(const kd_scope *scope, const char *name)
{
    for (const kd_scope *s = scope->outer; s; s = s->outer) {
        const kd_node *map = kd_node_find(s->root, "materials");
        if (map && map->type == KD_NODE_MAP && kd_node_find(map, name)) return true;
    }
    return false;
}

// The material of a name; NULL: there is none, or it is wrong, which has been told
static kd_node *find_material(kd_reader *r, const kd_node *node, const char **name)
{
    kd_node *map = kd_node_find(r->scope->root, "materials");
    if (node->type != KD_NODE_SCALAR || kd_node_is_null(node)) {
        // names from the model around are not seen: a subsystem brings its materials
        kd_reader_complain(r, node, "'material' must be the name of one of the 'materials'");
        return NULL;
    }
    if (!kd_reader_name(r, node, name)) return NULL;
    kd_node *found = map && map->type == KD_NODE_MAP ? kd_node_find(map, *name) : NULL;
    if (found) return found->owner < 0 ? NULL : found;
    // the nearest name, if there is one
    kd_nearest nearest = kd_nearest_start(*name);
    for (int i = 0; map && map->type == KD_NODE_MAP && i < map->n; i++)
        kd_nearest_offer(&nearest, map->item[2 * i].text);
    if (is_around(r->scope, *name))
        kd_reader_complain(r, node,
                           "there is no material '%.60s' here: it is one of the model around; include its file", *name);
    else
        kd_reader_complain(r, node, "there is no material '%.60s'%s%s%s", *name, nearest.best ? ", did you mean '" : "",
                           nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
    return NULL;
}

// A number of the material; NULL: it has none, which has been told
static kd_node *number_of(kd_reader *r, kd_node *material, const char *key, const kd_node *node, const char *name)
{
    const bool density = material->type == KD_NODE_SCALAR && strcmp(key, "density") == 0; // the short form
    kd_node   *number = material->type == KD_NODE_MAP ? kd_node_find(material, key) : density ? material : NULL;
    if (number && !kd_node_is_null(number)) return number;
    kd_reader_complain(r, node, "material '%.60s' has no '%s'", name, key);
    return NULL;
}

// A number as part of an expression: its value, or its text if that reads parameters
static bool put_number(kd_reader *r, kd_node *node, const char *key, char *text, size_t size)
{
    const int         mark = r->npending;
    const char *const unit = r->unit;
    double            value;
    r->unit = kd_schema_field(kd_schema_of(KD_SCHEMA_MATERIAL), 0, key)->unit;
    const bool fine = kd_reader_number(r, node, key, &value), lives = r->npending > mark;
    r->npending = mark;
    r->unit = unit;
    if (fine && lives)
        kd_text(text, size, "(%s)", node->text);
    else if (fine)
        snprintf(text, size, "%.17g", value);
    return fine;
}

// G = E/(2 (1 + nu)), as a node of its own
static bool make_shear(kd_reader *r, kd_node *E, kd_node *nu, kd_node *shear)
{
    enum { LENGTH = KD_EXPR_MAX_LENGTH };
    char modulus[LENGTH], ratio[LENGTH];
    if (!put_number(r, E, "E", modulus, LENGTH) || !put_number(r, nu, "nu", ratio, LENGTH)) return false;
    const size_t size = strlen(modulus) + strlen(ratio) + 20;
    char        *text = kd_arena_cut(&r->memory, size, 1);
    if (!text) return kd_reader_short_of_memory(r);
    kd_text(text, size, "%s/(2*(1 + %s))", modulus, ratio);
    *shear = *E;
    shear->text = text;
    shear->cache = 0;
    return true;
}

static bool take_number(kd_reader *r, const kd_field *field, int kind, int which, kd_node *material,
                        const kd_node *node, const char *name, void *def)
{
    kd_node *number = number_of(r, material, given[which].of, node, name), *with = NULL, made;
    if (number && given[which].with) with = number_of(r, material, given[which].with, node, name);
    if (!number || (given[which].with && !with)) return false;
    if (with) {
        if (!make_shear(r, number, with, &made)) return false;
        number = &made;
    }
    return kd_reader_value(r, field, kind, number, def);
}

bool kd_reader_of_material(kd_reader *r, const kd_schema *schema, int kind, const kd_node *node, const kd_node *map,
                           void *def)
{
    const char *name;
    kd_node    *material = find_material(r, node, &name);
    if (!material) return false;
    // indices of the element mean nothing in the material
    const int nindices = r->nindices;
    bool      fine = true;
    for (int i = 0; i < GIVEN && fine; i++) {
        const kd_field *field = kd_schema_field(schema, kind, given[i].key);
        if (!field) continue;
        const kd_node *own = kd_node_find(map, field->key);
        if (own) {
            kd_reader_complain(r, own, "'%s' is that of the material '%.60s' already; give one of both", field->key,
                               name);
            return false;
        }
        r->nindices = 0;
        fine = take_number(r, field, kind, i, material, node, name, def);
        r->nindices = nindices;
    }
    return fine;
}
