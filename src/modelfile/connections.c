// connections.c: what subsystems are given and what they offer must be there. It is told where it is handed in or
// offered, before somebody inside or outside stumbles over it.
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
    if (kd_reader_find_thing(r, h->node, scope, false, 0, &body) && strcmp(body, "ground") != 0 &&
        kd_model_find(r->m, KD_SECTION_BODY, body) < 0) {
        const char *near = nearest_body(r->m, body);
        const bool  path = strncmp(written, "body.", 5) == 0;
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

// An offer that is a path alone, "joint.hinge.q" or "body.arm", must lead to something. What parts of the subsystem
// offer may be switched off, and expressions are looked at where they are read.
static void check_offer(kd_reader *r, const kd_scope *scope, const kd_node *value)
{
    const char  *text = value->text;
    const size_t n = strcspn(text, ".");
    char         full[KD_MAX_NAME + 100], why[300];
    kd_path_info info;
    kd_section   section = KD_SECTION_COUNT;
    for (int s = 0; s < KD_SECTION_ENERGY; s++)
        if (strlen(kd_section_word((kd_section)s)) == n && strncmp(kd_section_word((kd_section)s), text, n) == 0)
            section = (kd_section)s;
    if (section == KD_SECTION_COUNT || text[n] != '.' || scope->has_parts || strpbrk(text, " +-*/^")) return;
    // a body, a frame, or something that can be read; what is handed in is looked at there
    const char *name = text + n + 1;
    if (kd_reader_find_handed(scope, name, strcspn(name, "."))) return;
    kd_text(full, sizeof full, "%s%s%s", scope->name, scope->number > 0 ? "." : "", name);
    const bool thing = section == KD_SECTION_BODY || section == KD_SECTION_FRAME;
    if (thing && (strcmp(name, "ground") == 0 || kd_model_find(r->m, section, full) >= 0)) return;
    kd_text(full, sizeof full, "%.*s.%s%s%s", (int)n, text, scope->name, scope->number > 0 ? "." : "", name);
    if (kd_model_path_about(r->m, full, &info, why, sizeof why) >= 0) return;
    kd_reader_complain(r, value, "'%.60s' is offered, but there is no such thing: %s", text, why);
}

// Those of subsystems made of the same are the same: one is enough. Where a part was taken away, so are its offers.
void kd_reader_check_offers(kd_reader *r)
{
    if (!is_good(r)) return;
    for (int i = 0; i < r->nscopes && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        kd_scope      *scope = r->scope_list[i];
        const kd_node *offers = kd_node_find(scope->root, "offers");
        if (!offers || offers->type != KD_NODE_MAP || scope->replaced || scope->root->owner < 0) continue;
        const int complaints = r->findings->count;
        kd_reader_enter_scope(r, scope);
        for (int k = 0; k < offers->n; k++)
            if (offers->item[2 * k + 1].type == KD_NODE_SCALAR) check_offer(r, scope, &offers->item[2 * k + 1]);
        if (r->findings->count > complaints) scope->root->owner = -1;
    }
    kd_reader_enter_scope(r, r->scope_list[0]);
}
