// bindings.c: numbers of a file that were written as expressions of parameters: what the model must know of them.
//
// While an element is read its numbers go to a definition, to arrays, or to variables of the reader from which others
// are made; so a number is noted with its address first, and gets its place in the model when the element is complete.
#include <stdint.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/reader.h"

// Room for one more number that is noted
static kd_pending *add_pending(kd_reader *r)
{
    if (r->npending == r->pending_capacity) {
        const int   capacity = r->pending_capacity > 0 ? 2 * r->pending_capacity : 64;
        kd_pending *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) {
            kd_reader_short_of_memory(r);
            return NULL;
        }
        if (r->npending > 0) memcpy(larger, r->pending, (size_t)r->npending * sizeof *larger);
        kd_free(r->pending);
        r->pending = larger;
        r->pending_capacity = capacity;
    }
    return &r->pending[r->npending++];
}

bool kd_reader_pend(kd_reader *r, const kd_node *node, const char *key, int expr, const double *value)
{
    kd_pending *p = add_pending(r);
    if (!p) return false;
    *p = (kd_pending){.value = value, .is_step = false};
    if (key != r->key_read) r->key_kept = kd_model_text(r->m, key);
    r->key_read = key;
    p->binding = (kd_binding){.expr = expr, .key = r->key_kept, .value = *value, .target = KD_BIND_DEFINITION};
    p->binding.source = (kd_source){NULL, node->line, node->column, 0};
    p->binding.index = kd_model_keep_indices(r->m, r->index_value, r->nindices);
    return (p->binding.index >= 0 && r->key_kept) || kd_reader_short_of_memory(r);
}

// What is held stands there with its element: "'for' of body 'link(i)'"
static bool hold_binding(kd_reader *r, kd_binding *b)
{
    char   text[300];
    size_t length = strlen(r->element);
    if (length > 2)
        kd_text(text, sizeof text, "'%s' of %.*s", b->key, (int)length - 2, r->element);
    else
        kd_text(text, sizeof text, "'%s'", b->key);
    if (kd_model_at(r->m, r->findings->at ? r->findings->at : r->findings->file, b->source.line, b->source.column) < 0)
        return kd_reader_short_of_memory(r);
    b->source = r->m->private->source;
    b->key = kd_model_text(r->m, text);
    b->target = KD_BIND_NOTHING;
    return (b->key && kd_model_bind(r->m, b) >= 0) || kd_reader_short_of_memory(r);
}

bool kd_reader_hold(kd_reader *r, int mark)
{
    bool fine = true;
    for (int i = mark; i < r->npending && fine; i++) fine = hold_binding(r, &r->pending[i].binding);
    r->npending = mark;
    return fine;
}

bool kd_reader_pend_gravity(kd_reader *r, int mark, const double *g)
{
    bool fine = true;
    for (int i = mark; i < r->npending && fine; i++) {
        kd_binding *b = &r->pending[i].binding;
        b->target = KD_BIND_GRAVITY;
        b->item = (int)(r->pending[i].value - g);
        fine = kd_model_bind(r->m, b) >= 0 || kd_reader_short_of_memory(r);
    }
    r->npending = mark;
    return fine;
}

static bool is_among(const double *value, const double *first, size_t n)
{
    return (uintptr_t)value >= (uintptr_t)first && (uintptr_t)value < (uintptr_t)(first + n);
}

bool kd_reader_spread(kd_reader *r, int mark, const double *from, double *to)
{
    const int n = r->npending;
    for (int i = mark; i < n; i++) {
        if (r->pending[i].is_step || r->pending[i].value != from) continue;
        kd_pending *p = add_pending(r);
        if (!p) return false;
        *p = r->pending[i];
        p->value = to;
    }
    return true;
}

void kd_reader_move(kd_reader *r, int mark, const double *from, double *to)
{
    for (int i = mark; i < r->npending; i++)
        if (!r->pending[i].is_step && r->pending[i].value == from) r->pending[i].value = to;
}

static bool add_step(kd_reader *r, kd_binding_op op, int from, const void *out)
{
    kd_pending *p = add_pending(r);
    if (!p) return false;
    *p = (kd_pending){.value = out, .is_step = true, .step = {.op = op, .from = from}};
    return true;
}

bool kd_reader_compose(kd_reader *r, int mark, kd_binding_op op, const double *in, int n, const void *out)
{
    bool any = false;
    for (int i = mark; i < r->npending; i++)
        any = any || (!r->pending[i].is_step && is_among(r->pending[i].value, in, (size_t)n));
    if (!any) return true;
    // inputs of the step stay in the model; bound numbers go there
    const int scratch = kd_model_keep_scratch(r->m, in, n);
    if (scratch < 0) return kd_reader_short_of_memory(r);
    for (int i = mark; i < r->npending; i++) {
        kd_pending *p = &r->pending[i];
        if (p->is_step || !is_among(p->value, in, (size_t)n)) continue;
        p->binding.target = KD_BIND_SCRATCH;
        p->binding.item = scratch + (int)(p->value - in);
        p->value = NULL;
    }
    return add_step(r, op, scratch, out);
}

bool kd_reader_compose_of(kd_reader *r, kd_binding_op op, int element, const void *out)
{
    return r->nparameters == 0 || add_step(r, op, element, out);
}

void kd_reader_array(kd_reader *r, const double *array, int n, size_t offset)
{
    if (r->narrays < KD_READER_MAX_ARRAYS) r->array[r->narrays++] = (kd_pending_array){array, n, offset};
}

// An address in the definition, in one of its arrays, or nowhere
static bool find_address(const kd_reader *r, const void *def, size_t size, const kd_pending *p, kd_binding *b)
{
    const uintptr_t at = (uintptr_t)p->value, base = (uintptr_t)def;
    if (b->target == KD_BIND_SCRATCH) return true;
    if (at >= base && at < base + size) {
        b->offset = at - base;
        return true;
    }
    for (int k = 0; k < r->narrays; k++) {
        const kd_pending_array *a = &r->array[k];
        if (!is_among(p->value, a->first, (size_t)a->n)) continue;
        b->target = KD_BIND_ARRAY;
        b->offset = a->offset;
        b->item = (int)(p->value - a->first);
        return true;
    }
    return false;
}

bool kd_reader_bind(kd_reader *r, const void *def, size_t size)
{
    bool fine = true;
    for (int i = 0; i < r->npending && fine; i++) {
        kd_pending *p = &r->pending[i];
        // offsets in the definition take the place of addresses
        if (p->is_step) {
            p->step.offset = (size_t)((uintptr_t)p->value - (uintptr_t)def);
            fine = kd_model_bind_step(r->m, &p->step) >= 0;
        } else if (find_address(r, def, size, p, &p->binding)) {
            p->binding.source.file = r->m->private->source.file;
            fine = kd_model_bind(r->m, &p->binding) >= 0;
        }
    }
    r->npending = r->narrays = 0;
    return fine || kd_reader_short_of_memory(r);
}
