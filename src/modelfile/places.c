// places.c: places of elements: by name, as a map, or in short form for both sides.
//
// Short form: bodies: [a, b], point: [..], axis: [..] in the world at the design position. Without any of them the
// frames of the bodies are meant.
#include <string.h>

#include "modelfile/reader.h"

static const char *const short_keys[] = {"bodies", "body", "point", "points", "axis", "reference", "orientation", "in"};
enum { NSHORT = sizeof short_keys / sizeof short_keys[0] };

static bool is_place(const kd_field *field)
{
    return field && field->type == KD_FIELD_PLACE;
}

// a place that the short form speaks of: one that can be left out has its own key
static bool is_needed_place(const kd_field *field)
{
    return is_place(field) && (field->flags & KD_FIELD_REQUIRED);
}

// may this element use the key in its short form
bool kd_reader_is_place_key(const kd_schema *schema, int kind, const char *key)
{
    bool from = is_needed_place(kd_schema_field(schema, kind, "from")),
         to = is_place(kd_schema_field(schema, kind, "to"));
    if (!to) return false;
    if (strcmp(key, "bodies") == 0 || strcmp(key, "points") == 0) return from;
    if (strcmp(key, "body") == 0) return !from;
    for (int i = 0; i < NSHORT; i++) {
        if (strcmp(short_keys[i], key) == 0) return true;
    }
    return false;
}

void kd_reader_offer_place_keys(const kd_schema *schema, int kind, kd_nearest *nearest)
{
    for (int i = 0; i < NSHORT; i++) {
        if (kd_reader_is_place_key(schema, kind, short_keys[i])) kd_nearest_offer(nearest, short_keys[i]);
    }
}

bool kd_reader_has_short_places(const kd_node *map)
{
    return kd_node_find(map, "bodies") || kd_node_find(map, "body");
}

// ---- one place ------------------------------------------------------------------------------------------------------

// A subsystem does not know the frame of a body that it was given: numbers in it would have no image.
static bool check_numbers_of(kd_reader *r, const kd_node *node, const kd_place *place)
{
    const size_t n = strlen(r->scope->name);
    const bool   ours = r->scope->number == 0 || !place->body || strcmp(place->body, "ground") == 0 ||
                      (strncmp(place->body, r->scope->name, n) == 0 && place->body[n] == '.');
    bool any = place->orientation[0] != 1.0;
    for (int i = 0; i < 3; i++) any = any || place->position[i] != 0.0 || place->axis[i] != 0.0;
    if (ours || !any || place->in == KD_IN_WORLD || place->frame > 0) return true;
    kd_reader_complain(
        r, node,
        "numbers in the frame of body '%s', which is not a part of this subsystem; write 'in: world', or "
        "hand in a point",
        place->body);
    return false;
}

bool kd_reader_place_map(kd_reader *r, kd_node *map, kd_place *place)
{
    const kd_schema *schema = kd_schema_of(KD_SCHEMA_PLACE);
    kd_schema_default(schema, 0, place);
    if (!kd_reader_fields(r, schema, 0, map, place)) return false;
    kd_node *orientation = kd_node_find(map, "orientation");
    if (orientation && kd_node_find(map, "axis")) {
        kd_reader_complain(r, orientation, "'orientation' and 'axis' say the same; leave out one");
        return false;
    }
    return check_numbers_of(r, map, place);
}

// the place of a frame, or the frame of a body
static bool named_place(kd_reader *r, const kd_node *node, kd_place *place)
{
    const char *name;
    if (!kd_reader_name(r, node, &name) || !kd_reader_find_place(r, node, &name)) return false;
    // frame or body? Both would be ambiguous
    int  frame = kd_model_find(r->m, KD_SECTION_FRAME, name);
    bool body = strcmp(name, "ground") == 0 || kd_model_find(r->m, KD_SECTION_BODY, name) >= 0;
    if (frame >= 0 && body) {
        kd_reader_complain(r, node, "'%s' is a frame and a body; write {body: %s} for the body", name, name);
        return false;
    }
    // a frame: its numbers, or where it stands if it belongs to another subsystem
    if (frame >= 0) {
        kd_model_use_frame(r->m, frame);
        if (r->m->frame[frame].source.subsystem != r->scope->number) { // of another one: its numbers are not ours
            *place = kd_in(r->m->frame[frame].def.at.body, 0, 0, 0);
            place->frame = frame + 1;
            return true;
        }
        *place = r->m->frame[frame].def.at;
        return !r->m->frame[frame].lives || kd_reader_compose_of(r, KD_MAKE_PLACE, frame, place);
    }
    // neither: the nearest of both kinds is named
    if (!body && r->bodies_known) {
        kd_nearest  nearest = kd_nearest_start(name);
        const char *near = kd_model_nearest(r->m, KD_SECTION_BODY, name);
        kd_nearest_offer(&nearest, kd_model_nearest(r->m, KD_SECTION_FRAME, name));
        kd_nearest_offer(&nearest, near);
        kd_reader_complain(r, node, "unknown frame or body '%s'%s%s%s", name, nearest.best ? ", did you mean '" : "",
                           nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
        return false;
    }
    // the origin of a body
    *place = kd_in(name, 0, 0, 0);
    return true;
}

bool kd_reader_place(kd_reader *r, const kd_field *field, kd_node *node, kd_place *place)
{
    if (node->type == KD_NODE_SCALAR && !kd_node_is_null(node)) {
        return kd_reader_note(r, field->key, node) && named_place(r, node, place);
    }
    if (node->type != KD_NODE_MAP) {
        kd_reader_complain(r, node, "'%s' must be the name of a frame or body, or like {body: a, point: [0, 0, 0]}",
                           field->key);
        return false;
    }
    kd_node *body = kd_node_find(node, "body");
    return kd_reader_note(r, field->key, body ? body : node) && kd_reader_place_map(r, node, place);
}

// One place, or a list of them
bool kd_reader_places(kd_reader *r, const kd_field *field, kd_node *node, void *def)
{
    const bool list = node->type == KD_NODE_LIST;
    const int  n = list ? node->n : 1;
    kd_place  *place = (kd_place *)(void *)((char *)def + field->offset);
    if (!kd_reader_check_room(r, field, node, n)) return false;
    for (int i = 0; i < n; i++) {
        place[i] = kd_place_default();
        if (!kd_reader_place(r, field, list ? &node->item[i] : node, &place[i])) return false;
    }
    memcpy((char *)def + field->length, &n, sizeof n);
    return true;
}

// ---- short form -----------------------------------------------------------------------------------------------------

// Names that no body has are told beside what else is wrong, not after it
static bool is_body(kd_reader *r, const kd_node *node, const char *name)
{
    char text[200];
    if (!r->bodies_known || !name || strcmp(name, "ground") == 0 || kd_model_find(r->m, KD_SECTION_BODY, name) >= 0)
        return true;
    kd_model_say_unknown(r->m, KD_SECTION_BODY, name, text, sizeof text);
    kd_reader_complain(r, node, "%s", text);
    return false;
}

static bool body_name(kd_reader *r, const kd_node *node, const char *field, kd_place *place)
{
    if (node->type != KD_NODE_SCALAR) {
        kd_reader_complain(r, node, "the name of a body is needed here");
        return false;
    }
    return kd_reader_name(r, node, &place->body) && kd_reader_find_body(r, node, &place->body) &&
           is_body(r, node, place->body) && kd_reader_note(r, field, node);
}

static bool body_names(kd_reader *r, const kd_node *map, kd_place *from, kd_place *to)
{
    kd_node *bodies = kd_node_find(map, "bodies"), *body = kd_node_find(map, "body");
    if (!from) return body_name(r, body, "to", to);
    if (bodies->type == KD_NODE_LIST && bodies->n == 2) {
        return body_name(r, &bodies->item[0], "from", from) && body_name(r, &bodies->item[1], "to", to);
    }
    kd_reader_complain(r, bodies, "'bodies' needs 2 names, got %d", bodies->type == KD_NODE_LIST ? bodies->n : 1);
    return false;
}

// index: which of `points`
static bool read_point(kd_reader *r, const kd_node *map, int index, kd_place *place)
{
    kd_node *point = kd_node_find(map, "point"), *points = kd_node_find(map, "points");
    if (point && points) {
        kd_reader_complain(r, points, "'point' is for both bodies, 'points' has one for each; leave out one");
        return false;
    }
    if (point) return kd_reader_numbers(r, point, "point", 3, false, place->position);
    if (!points) return true;
    if (points->type == KD_NODE_LIST && points->n == 2) {
        return kd_reader_numbers(r, &points->item[index], "points", 3, false, place->position);
    }
    kd_reader_complain(r, points, "'points' needs 2 points, got %d", points->type == KD_NODE_LIST ? points->n : 1);
    return false;
}

// axis, reference, orientation and in, read as those of one place
static bool read_axes(kd_reader *r, const kd_node *map, kd_place *place, bool *any)
{
    static const char *const keys[] = {"axis", "reference", "orientation", "in"};
    const kd_schema         *schema = kd_schema_of(KD_SCHEMA_PLACE);
    for (int i = 0; i < 4; i++) {
        kd_node *node = kd_node_find(map, keys[i]);
        if (!node) continue;
        *any = *any || i < 3;
        if (!kd_reader_value(r, kd_schema_field(schema, 0, keys[i]), 0, node, place)) return false;
    }
    kd_node *orientation = kd_node_find(map, "orientation");
    if (orientation && kd_node_find(map, "axis")) {
        kd_reader_complain(r, orientation, "'orientation' and 'axis' say the same; leave out one");
        return false;
    }
    return true;
}

// One of the places: index 0 or 1 of `bodies` and `points`. as_drawn: without point both are in the world
// (join_as_drawn), so that the bodies are joined as they are at the design position.
static bool short_place(kd_reader *r, const kd_node *map, int index, bool as_drawn, kd_place *place)
{
    bool axes = false, points = kd_node_find(map, "point") || kd_node_find(map, "points");
    *place = kd_place_default(); // in the world
    if (!read_axes(r, map, place, &axes)) return false;
    // an axis in the world needs a point that it goes through
    if (!points && axes && place->in == KD_IN_WORLD && !as_drawn) {
        kd_reader_complain(r, map, "'point' is missing: where is the axis?");
        return false;
    }
    if (!points && !as_drawn) place->in = KD_IN_BODY; // the frames of the bodies
    return read_point(r, map, index, place);
}

// Without a point both places are where the origin of `to` is at the design position, or, if that is the ground, the
// one of `from`: there the joint stands, and there its torque is reported.
static bool join_as_drawn(kd_reader *r, kd_place *from, kd_place *to)
{
    int       body = kd_model_find(r->m, KD_SECTION_BODY, to->body);
    const int other = kd_model_find(r->m, KD_SECTION_BODY, from->body);
    if (strcmp(to->body, "ground") == 0) body = other;
    // one whose position is written in the coordinates of this subsystem
    if (other >= 0 && body >= 0 && r->m->body[body].source.subsystem != r->scope->number) body = other;
    if (body < 0) return true; // no such body: the model will say so
    memcpy(from->position, r->m->body[body].def.position, sizeof from->position);
    memcpy(to->position, from->position, sizeof to->position);
    return kd_reader_compose_of(r, KD_MAKE_POSITION, body, from->position) &&
           kd_reader_compose_of(r, KD_MAKE_POSITION, body, to->position);
}

// Of an element that is wrong in other ways: its bodies are looked at all the same
void kd_reader_check_short_bodies(kd_reader *r, const kd_node *map)
{
    const kd_node *bodies = kd_node_find(map, "bodies"), *body = kd_node_find(map, "body");
    const bool     list = bodies && bodies->type == KD_NODE_LIST;
    for (int i = 0; i < (list ? bodies->n : body ? 1 : 0); i++) {
        const kd_node *node = list ? &bodies->item[i] : body;
        const char    *name;
        if (node->type == KD_NODE_SCALAR && kd_reader_name(r, node, &name) && kd_reader_find_body(r, node, &name))
            is_body(r, node, name);
    }
}

bool kd_reader_short_places(kd_reader *r, const kd_schema *schema, int kind, const kd_node *map, void *def)
{
    const kd_field *from_field = kd_schema_field(schema, kind, "from"), *to_field = kd_schema_field(schema, kind, "to");
    kd_place       *to = (kd_place *)(void *)((char *)def + to_field->offset);
    kd_place       *from = is_needed_place(from_field) ? (kd_place *)(void *)((char *)def + from_field->offset) : NULL;
    kd_node        *longer = kd_node_find(map, "from") ? kd_node_find(map, "from") : kd_node_find(map, "to");
    if (longer) {
        kd_reader_complain(r, longer, "'from' and 'to' are in place of '%s', not beside it", from ? "bodies" : "body");
        return false;
    }
    // a fixed joint may do without a point
    bool as_drawn = schema == kd_schema_of(KD_SCHEMA_JOINT) && kd_joint_form_of((kd_joint_kind)kind).ndof == 0;
    bool free_point = as_drawn && !kd_node_find(map, "point") && !kd_node_find(map, "points");
    if (from && !short_place(r, map, 0, as_drawn, from)) return false;
    if (!short_place(r, map, 1, as_drawn, to) || !body_names(r, map, from, to)) return false;
    if ((from && !check_numbers_of(r, map, from)) || !check_numbers_of(r, map, to)) return false;
    return !free_point || from->in != KD_IN_WORLD || join_as_drawn(r, from, to);
}
