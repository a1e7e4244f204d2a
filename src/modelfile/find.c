// find.c: names as a subsystem means them: its own, what was handed in, what its parts offer.
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/find.h"

enum { MAX_LOOKS = 64 }; // from one subsystem to the next in search of a name

// ---- names ----------------------------------------------------------------------------------------------------------

bool kd_reader_full_name(kd_reader *r, const kd_node *node, const char *name, const char **full)
{
    char text[KD_MAX_NAME + 1];
    *full = name;
    if (r->scope->number == 0) return true;
    if (snprintf(text, sizeof text, "%s.%s", r->scope->name, name) >= (int)sizeof text) {
        kd_reader_complain(r, node, "the name '%.20s...' is longer than %d characters", text, KD_MAX_NAME);
        return false;
    }
    char *copy = kd_arena_cut(&r->memory, strlen(text) + 1, 1);
    if (!copy) return kd_reader_short_of_memory(r);
    memcpy(copy, text, strlen(text));
    *full = copy;
    return true;
}

kd_handed *kd_reader_find_handed(const kd_scope *scope, const char *name, size_t length)
{
    for (int i = 0; i < scope->nhanded; i++) {
        const char *known = scope->handed[i].name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) return &scope->handed[i];
    }
    return NULL;
}

bool kd_reader_is_around(const kd_scope *scope, const char *name)
{
    for (const kd_scope *s = scope->outer; s; s = s->outer)
        if (kd_reader_has_element(s->root, "parameters", name) || kd_reader_has_element(s->root, "expressions", name) ||
            kd_reader_find_handed(s, name, strlen(name)))
            return true;
    return false;
}

// The part of a scope whose name the text begins with; *rest: behind it and a point
kd_scope *kd_reader_find_part(const kd_reader *r, const kd_scope *scope, const char *text, const char **rest)
{
    char name[KD_MAX_NAME + 1];
    if (!scope->has_parts) return NULL;
    int          open = 0;
    size_t       n = 0;
    const size_t room = sizeof name;
    for (; text[n] && (text[n] != '.' || open > 0); n++) open += (text[n] == '(') - (text[n] == ')');
    if (text[n] != '.') return NULL;
    const int length = scope->number > 0 ? snprintf(name, room, "%s.%.*s", scope->name, (int)n, text)
                                         : snprintf(name, room, "%.*s", (int)n, text);
    if (length >= (int)room) return NULL;
    *rest = text + n + 1;
    return kd_reader_find_scope(r, name);
}

// Does the text begin with a subsystem of the scope that is written there, but not used? Then this has been told.
bool kd_reader_misses_part(kd_reader *r, const kd_node *node, const kd_scope *scope, const char *text)
{
    const kd_node *map = scope->has_parts ? kd_node_find(scope->root, "subsystems") : NULL;
    const size_t   n = strcspn(text, ".("), all = strcspn(text, ")."), end = all + (text[all] == ')');
    if (!map || map->type != KD_NODE_MAP || text[end] != '.') return false;
    for (int i = 0; i < map->n; i++) {
        const char  *key = map->item[2 * i].text;
        const size_t length = strcspn(key, "(");
        if (length != n || strncmp(key, text, n) != 0) continue;
        if (key[length] == '(' && text[n] == '.')
            kd_reader_complain(r, node, "subsystem '%.*s' is repeated: which one, '%.*s(1)'?", (int)n, text, (int)n,
                               text);
        else
            kd_reader_complain(r, node, "there is no subsystem '%.*s'%s", (int)end, text,
                               key[length] == '(' ? "" : ": it is not enabled");
        return true;
    }
    return false;
}

// ---- offers ---------------------------------------------------------------------------------------------------------

bool kd_reader_has_element(const kd_node *root, const char *section, const char *name)
{
    const kd_node *map = kd_node_find(root, section);
    return map && map->type == KD_NODE_MAP && kd_node_find(map, name);
}

// "wheel, hub, eye": what a subsystem offers
static void list_offers(const kd_node *offers, char *text, size_t size)
{
    const bool map = offers->type == KD_NODE_MAP;
    text[0] = '\0';
    for (int i = 0; i < offers->n && i < 10; i++)
        kd_text_append(text, size, "%s%s", i > 0 ? ", " : "", offers->item[map ? 2 * i : i].text);
    if (offers->n > 10) kd_text_append(text, size, ", ..");
    if (offers->n == 0) kd_text(text, size, "nothing");
}

// What a subsystem means by a name that others use: an expression, "body.x" or "frame.x"; the name itself where it does
// not say what it offers. NULL: it is not offered, which has been told.
const char *kd_reader_find_offer(kd_reader *r, const kd_node *node, const kd_scope *part, const char *name)
{
    const kd_node *offers = kd_node_find(part->root, "offers");
    char           list[300];
    if (!offers || kd_node_is_null(offers)) return name;
    for (int i = 0; i < offers->n && offers->type == KD_NODE_LIST; i++)
        if (strcmp(offers->item[i].text, name) == 0) return name;
    const kd_node *value = offers->type == KD_NODE_MAP ? kd_node_find(offers, name) : NULL;
    if (value) return value->text;
    kd_nearest nearest = kd_nearest_start(name);
    for (int i = 0; i < offers->n; i++)
        kd_nearest_offer(&nearest, offers->item[offers->type == KD_NODE_MAP ? 2 * i : i].text);
    list_offers(offers, list, sizeof list);
    if (nearest.best)
        kd_reader_complain(r, node, "subsystem '%s' does not offer '%.60s', did you mean '%s'?", part->name, name,
                           nearest.best);
    else
        kd_reader_complain(r, node, "subsystem '%s' does not offer '%.60s'; it offers %s", part->name, name, list);
    return NULL;
}

// Has the scope no body or frame of this name, but the model around it has a body? Bodies are known already.
static bool is_body_around(const kd_reader *r, const kd_scope *scope, const char *full, const char *wanted)
{
    char name[KD_MAX_NAME + 1];
    if (kd_model_find(r->m, KD_SECTION_BODY, full) >= 0 || kd_reader_has_element(scope->root, "bodies", wanted) ||
        kd_reader_has_element(scope->root, "frames", wanted) || kd_model_find(r->m, KD_SECTION_FRAME, full) >= 0)
        return false;
    for (const kd_scope *s = scope->outer; s; s = s->outer) {
        kd_text(name, sizeof name, "%s%s%s", s->name, s->number > 0 ? "." : "", wanted);
        if (kd_model_find(r->m, KD_SECTION_BODY, name) >= 0) return true;
    }
    return false;
}

// ---- bodies and frames ----------------------------------------------------------------------------------------------

// A name as it is meant in a scope; looks counts those that were asked
bool kd_reader_find_thing(kd_reader *r, const kd_node *node, kd_scope *scope, bool frames, int looks, const char **name)
{
    const char     *rest, *wanted = *name;
    kd_scope *const before = r->scope;
    if (looks > MAX_LOOKS) {
        kd_reader_complain(r, node, "'%.60s' leads from one subsystem to the next in a circle", *name);
        return false;
    }
    if (strcmp(wanted, "ground") == 0) return true;
    // what was handed in
    kd_handed *handed = kd_reader_find_handed(scope, wanted, strlen(wanted));
    if (handed && !handed->node) return false; // it has been told
    if (handed && handed->kind == KD_NEED_BODY) {
        *name = handed->text;
        return kd_reader_find_thing(r, node, handed->scope, false, looks + 1, name);
    }
    if (handed && handed->kind == KD_NEED_SIGNAL) {
        kd_reader_complain(r, node, "'%s' is a signal, and no body", wanted);
        return false;
    }
    // what a part offers
    kd_scope *part = kd_reader_find_part(r, scope, wanted, &rest);
    if (part) {
        const char *offer = kd_reader_find_offer(r, node, part, rest);
        if (!offer) return false;
        // an offer is a body, a point (where one will do), or leads on into a part or to what was handed in
        const char *inner;
        if (offer != rest && strncmp(offer, "body.", 5) == 0) {
            offer += 5;
        } else if (offer != rest && frames && strncmp(offer, "frame.", 6) == 0) {
            offer += 6;
        } else if (offer != rest && !kd_reader_find_part(r, part, offer, &inner) &&
                   !kd_reader_find_handed(part, offer, strlen(offer))) {
            kd_reader_complain(r, node, "'%.60s' is %s, and no body%s", wanted,
                               strncmp(offer, "frame.", 6) == 0 ? "a point" : "a signal", frames ? " or point" : "");
            return false;
        }
        *name = offer;
        return kd_reader_find_thing(r, node, part, frames, looks + 1, name);
    }
    if (kd_reader_misses_part(r, node, scope, wanted)) return false;
    // its own
    r->scope = scope;
    const bool fine = kd_reader_full_name(r, node, wanted, name);
    r->scope = before;
    if (!fine || !is_body_around(r, scope, *name, wanted)) return fine;
    kd_reader_complain(r, node, "unknown body '%.60s': it is one of the model around; hand it in", wanted);
    return false;
}

bool kd_reader_find_body(kd_reader *r, const kd_node *node, const char **name)
{
    return !kd_reader_has_scopes(r) || !*name || kd_reader_find_thing(r, node, r->scope, false, 0, name);
}

bool kd_reader_find_place(kd_reader *r, const kd_node *node, const char **name)
{
    return !kd_reader_has_scopes(r) || kd_reader_find_thing(r, node, r->scope, true, 0, name);
}
