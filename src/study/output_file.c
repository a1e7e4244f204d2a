// output_file.c: outputs of study files: reductions of channels, and expressions of parameters and outputs above.
#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "study/nodes.h"

typedef struct names {
    const kd_study *study;
    const char     *list[2 * KD_STUDY_MOST];
    int             n;
} names;

// Parameters, then the outputs above
static bool find_symbol(const char *name, void *context, kd_symbol *out)
{
    const names *l = context;
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->list[i], name) == 0) {
            *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = i};
            return true;
        }
    return false;
}

static const char *suggest_symbol(const char *name, void *context)
{
    const names *l = context;
    return kd_nearest_word(name, l->list, l->n);
}

void kd_study_read_expression(kd_study_reader *r, const kd_node *node, const char *text, kd_expr **expr)
{
    kd_study     *s = r->study;
    names         l = {.study = s};
    kd_symbols    symbols = {find_symbol, suggest_symbol, &l};
    kd_expr_error error;
    for (int i = 0; i < s->nparameters; i++) l.list[l.n++] = s->parameter[i];
    for (int i = 0; i < s->noutputs; i++) l.list[l.n++] = s->output[i].name;
    const kd_status status = kd_expr_compile(text, &symbols, expr, &error);
    if (status == KD_ERR_MODEL) kd_node_say(&r->findings, node, error.text);
    if (status == KD_ERR_MEMORY) s->arena.failed = true;
}

static void read_reduction(kd_study_reader *r, const kd_node *node, kd_study_number *o)
{
    static const char *const OTHERS[] = {"from", "to", "time", "level", "band"};
    const char              *keys[KD_REDUCTION_COUNT + 5];
    int                      found = -1;
    memcpy(keys, KD_REDUCTION_WORD, sizeof KD_REDUCTION_WORD);
    memcpy(keys + KD_REDUCTION_COUNT, OTHERS, sizeof OTHERS);
    if (!KD_NODE_IS_MAP(&r->findings, node, keys)) return;
    // one reduction exactly, with its channel
    for (int i = 0; i < KD_REDUCTION_COUNT; i++)
        if (kd_node_find(node, KD_REDUCTION_WORD[i])) found = found < 0 ? i : KD_REDUCTION_COUNT;
    const kd_node *channel =
        found >= 0 && found < KD_REDUCTION_COUNT ? kd_node_find(node, KD_REDUCTION_WORD[found]) : NULL;
    if (!channel || channel->type != KD_NODE_SCALAR) {
        kd_node_say(
            &r->findings, node,
            "one of max, min, peak, range, mean, rms, integral, end, at, crossing, settling, frequency, amplitude with "
            "a channel is expected here");
        return;
    }
    o->channel = kd_nodes_copy(r, channel->text);
    o->reduction = (kd_study_reduction){
        .kind = (kd_study_reduction_kind)found, .from = NAN, .to = NAN, .time = NAN, .level = NAN, .band = NAN};
    // times and levels: which of them are needed depends on the reduction
    kd_node_number_of(&r->findings, node, "from", "s", &o->reduction.from);
    kd_node_number_of(&r->findings, node, "to", "s", &o->reduction.to);
    kd_node_number_of(&r->findings, node, "time", "s", &o->reduction.time);
    kd_node_number_of(&r->findings, node, "level", "", &o->reduction.level);
    kd_node_number_of(&r->findings, node, "band", "", &o->reduction.band);
    if (found == KD_REDUCE_AT && isnan(o->reduction.time)) kd_node_say(&r->findings, node, "at needs a time");
    if (found == KD_REDUCE_CROSSING && isnan(o->reduction.level))
        kd_node_say(&r->findings, node, "crossing needs a level");
    if (found == KD_REDUCE_SETTLING && !(o->reduction.band > 0))
        kd_node_say(&r->findings, node, "settling needs a band above 0");
    if (!r->study->model)
        kd_node_say(&r->findings, channel, "without a model there are no channels, only expressions of the parameters");
}

static void add_output(kd_study_reader *r, const kd_node *key, const kd_node *value)
{
    kd_study        *s = r->study;
    kd_study_number *o = &s->output[s->noutputs];
    if (value->type == KD_NODE_SCALAR) {
        o->text = kd_nodes_copy(r, value->text);
        kd_study_read_expression(r, value, value->text, &o->expr);
    } else {
        read_reduction(r, value, o);
    }
    o->name = kd_nodes_copy(r, key->text), o->line = value->line;
    s->noutputs++;
}

void kd_study_read_outputs(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        if (s->noutputs == KD_STUDY_MOST) {
            kd_node_say(&r->findings, key, "there are too many outputs");
            return;
        }
        if (kd_study_find_parameter(s, key->text) >= 0 || kd_expr_is_reserved(key->text))
            kd_nodes_say_of(r, key, "this name is taken already:", key->text);
        add_output(r, key, value);
    }
}
