// connections.c: bodies that subsystems are given must be there. What is not is told where it is handed in, before somebody
// inside stumbles over it. Offers that nobody uses may lead nowhere: a part may have been taken away.
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
