// connections.c: bodies that subsystems are given must be there. What is not is told where it is handed in, before somebody
// inside stumbles over it. Offers that lead nowhere are warned of, unless a part of this instance has been taken away.
#include <string.h>

#include "core/text.h"
#include "modelfile/find.h"

static bool is_good(const kd_reader *r)
{
    return r->status == KD_OK && r->findings->count == 0 && kd_model_error_count(r->m) == 0;
}

// ---- bodies that are handed in --------------------------------------------------------------------------------------

// The body of a model that is nearest to a name
static const char *nearest_body(const kd_model *m, const char *name)
{
    kd_nearest nearest = kd_nearest_start(name);
    for (int i = 0; i < m->nbodies; i++) kd_nearest_offer(&nearest, m->body[i].name);
    return nearest.best;
}

static void check_body(kd_reader *r, kd_scope *scope, kd_handed *h)
{
    const char *body = h->name, *written = h->text;
    const int   complaints = r->findings->count;
    r->findings->at = h->node->file;
    kd_text(r->element, sizeof r->element, "subsystem '%s': '%s': ", scope->name, h->name);
    // the name leads, through parts and what was handed in, to a body of the model
    if (kd_reader_find_thing(r, h->node, scope, false, 0, &body) && strcmp(body, "ground") != 0 &&
        kd_model_find(r->m, KD_SECTION_BODY, body) < 0) {
        const char *near = nearest_body(r->m, body);
        const bool  path = strncmp(written, "body.", 5) == 0;
        // a path is a frequent mistake: the sentence has the name without it
        if (path)
            kd_reader_complain(r, h->node, "'%.60s' is handed in by its name alone: %.60s", written, written + 5);
        else
            kd_reader_complain(r, h->node, "unknown body '%.60s'%s%s%s", written, near ? ", did you mean '" : "",
                               near ? near : "", near ? "'?" : "");
    }
    r->element[0] = '\0';
    if (r->findings->count > complaints) scope->wrong = true;
}

void kd_reader_check_bodies(kd_reader *r)
{
    if (!is_good(r)) return; // a body that is wrong is missing, too
    for (int i = 0; i < r->nscopes && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        kd_scope *scope = r->scope_list[i];
        for (int k = 0; k < scope->nhanded; k++)
            if (scope->handed[k].kind == KD_NEED_BODY && scope->handed[k].node) check_body(r, scope, &scope->handed[k]);
    }
    kd_reader_enter_scope(r, r->scope_list[0]);
}

// ---- offers ---------------------------------------------------------------------------------------------------------

// "body.x" or "frame.x", or a name that leads to one of them
static bool is_thing(kd_reader *r, const kd_node *node, kd_scope *scope, const char *text)
{
    const char *name = strncmp(text, "body.", 5) == 0 ? text + 5 : strncmp(text, "frame.", 6) == 0 ? text + 6 : text;
    if (kd_reader_find_handed(scope, name, strlen(name))) return true;
    if (!kd_reader_find_thing(r, node, scope, true, 0, &name)) return false;
    return strcmp(name, "ground") == 0 || kd_model_find(r->m, KD_SECTION_BODY, name) >= 0 ||
           kd_model_find(r->m, KD_SECTION_FRAME, name) >= 0;
}

// Has a subsystem that the offer goes through been left out of this instance?
static bool is_left_out(const kd_reader *r, const kd_scope *scope, const char *text)
{
    const kd_node *parts = kd_node_find(scope->root, "subsystems");
    const size_t   n = strcspn(text, ".(");
    const char    *rest;
    if (kd_reader_find_part(r, scope, text, &rest)) return false;
    for (int i = 0; parts && parts->type == KD_NODE_MAP && i < parts->n; i++) {
        const char *key = parts->item[2 * i].text;
        if (strcspn(key, "(") == n && strncmp(key, text, n) == 0) return true;
    }
    return false;
}

// What is offered is looked for as by those who use it; what is found wrong on the way becomes the reason.
static void check_offer(kd_reader *r, kd_scope *scope, const char *name, kd_node *value, bool map)
{
    const int   complaints = r->findings->count;
    const char *text = value->text, *law = value->text;
    char        why[KD_FINDING_LENGTH] = "";
    bool        good = is_thing(r, value, scope, text);
    r->findings->count = complaints;
    // an expression, then: read as the value of a sensor would be
    if (!good && map) {
        const kd_field none = *kd_schema_field(kd_schema_of(KD_SCHEMA_SENSOR), 0, "value");
        r->field = &none;
        good = kd_reader_qualify(r, value, "offers", &law) && kd_reader_use_paths(r, law, why, sizeof why);
        if (r->findings->count > complaints && complaints < KD_FINDINGS_KEPT)
            kd_text(why, sizeof why, "%s", r->findings->item[complaints].text);
        r->findings->count = complaints;
        r->field = NULL;
    } else if (!good) {
        kd_text(why, sizeof why, "there is no body or frame of this name");
    }
    kd_arena_release(&r->scratch);
    // one that goes through a subsystem which was left out here is no mistake
    if (good || is_left_out(r, scope, text)) return;
    value->cache = 1; // once for all that are made of the same file
    const kd_source source = {value->file ? value->file : r->findings->file, value->line, value->column, 0};
    kd_model_warn_at(r->m, &source, "the offer '%.60s' leads nowhere: %s", name, why);
}

void kd_reader_check_offers(kd_reader *r)
{
    if (!is_good(r)) return;
    r->looks = true;
    // offers that something has read are known to be good: here are those that nobody reads
    for (int i = 0; i < r->nscopes && r->status == KD_OK; i++) {
        kd_scope      *scope = r->scope_list[i];
        const kd_node *offers = kd_node_find(scope->root, "offers");
        if (!offers || offers->type == KD_NODE_SCALAR || scope->replaced) continue;
        const bool map = offers->type == KD_NODE_MAP;
        kd_reader_enter_scope(r, scope);
        for (int k = 0; k < offers->n && r->status == KD_OK; k++) {
            kd_node *value = map ? &offers->item[2 * k + 1] : &offers->item[k];
            if (value->cache == 0 && !kd_node_is_null(value))
                check_offer(r, scope, map ? offers->item[2 * k].text : value->text, value, map);
        }
    }
    r->looks = false;
    kd_reader_enter_scope(r, r->scope_list[0]);
}
