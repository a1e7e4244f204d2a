// block_expression.c: a sampled block of expressions: outputs and next states by expressions of its inputs, of its states
// of before, all by their names, and of paths.
#include "element/block.h"
#include "model/fields.h"

// Names of inputs and states in the expressions
typedef struct names {
    char     text[2 * KD_MAX_SIGNALS][KD_SIGNAL_NAME];
    kd_local local[2 * KD_MAX_SIGNALS];
    int      n;
} names;

static bool list_names(const kd_block_builder *b, names *of)
{
    kd_sampler         *sampler = b->sampler;
    const kd_block_def *def = &sampler->block->def;
    bool                made = true;
    of->n = 0;
    // inputs by variables that are set while the block is sampled, states by their places in z
    for (int i = 0; i < def->ninputs; i++, of->n++) {
        sampler->input_slot[i] = kd_system_slot(b->s, KD_SLOT_SIGNAL, b->number * KD_MAX_SIGNALS + i, 0);
        of->local[of->n] = (kd_local){kd_block_input_name(def, i, of->text[of->n]), sampler->input_slot[i]};
        made = made && sampler->input_slot[i] >= 0;
    }
    for (int i = 0; i < def->nstates; i++, of->n++) {
        const int slot = kd_system_slot(b->s, KD_SLOT_DISCRETE, sampler->z + def->noutputs + i, 0);
        of->local[of->n] = (kd_local){kd_block_state_name(def, i, of->text[of->n]), slot};
        made = made && slot >= 0;
    }
    return made;
}

static kd_status compile(const kd_block_builder *b, const names *of, const char *text, kd_expr **expr)
{
    const kd_block *block = b->sampler->block;
    if (!text) return KD_OK;
    return kd_system_compile(b->s, text, block->name, &block->source, true, of->local, of->n, expr, b->message,
                             b->size);
}

static kd_status make(kd_block_builder *b)
{
    kd_sampler         *sampler = b->sampler;
    const kd_block_def *def = &sampler->block->def;
    kd_status           status = KD_OK;
    names               of;
    if (!list_names(b, &of)) return KD_ERR_MEMORY;
    for (int k = 0; k < def->noutputs && status == KD_OK; k++)
        status = compile(b, &of, def->output[k], &sampler->output[k]);
    for (int k = 0; k < def->nstates && status == KD_OK; k++) status = compile(b, &of, def->next[k], &sampler->next[k]);
    return status;
}

static double value_of(const kd_expr *e, kd_work *w)
{
    return kd_expr_value(e, w->slot, w->expr_work);
}

// inputs by name, then outputs and next states, all from the states of before
static kd_eval sample(const kd_sampler *b, kd_work *w, double t, const double *u, const double *z, double *y,
                      double *z_new)
{
    const kd_block_def *def = &b->block->def;
    (void)t;
    for (int i = 0; i < def->ninputs; i++) w->slot[b->input_slot[i]] = u[i];
    for (int i = 0; i < def->noutputs; i++) y[i] = value_of(b->output[i], w);
    for (int i = 0; i < def->nstates; i++) z_new[i] = b->next[i] ? value_of(b->next[i], w) : z[i];
    return KD_EVAL_OK;
}

static bool check(kd_model *m, const char *name, const kd_block_def *def)
{
    if (def->noutputs + def->nstates > 0) return true;
    kd_model_refuse(m, KD_SECTION_BLOCK, name, "output", "it has neither outputs nor states");
    return false;
}

// clang-format off
#define O(member) offsetof(kd_block_def, member)
static const kd_field fields[] = {
    KD_BLOCK_TIMES,
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",
     .doc = "expressions of any paths, as in sensors; without names they are called u, or u1, u2 and so on", .length = O(ninputs), .second = O(input_name)},
    {"states", KD_FIELD_TERMS, O(state_name), KD_MAX_SIGNALS, ALL, KD_FIELD_OWN, 0, ANY, "",
     .doc = "names of states with their start values: `{z: 0}`", .length = O(nstates), .second = O(start)},
    {"next", KD_FIELD_NEXT, O(next), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",
     .doc = "states behind the sample: `{z: z + 0.1*u}`; those not given keep their values", .length = O(nstates),
     .second = O(state_name)},
    {"output", KD_FIELD_SIGNALS, O(output), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",
     .doc = "expressions of inputs, states before the sample and paths", .length = O(noutputs)},
    KD_BLOCK_START_OUTPUTS,
};
// clang-format on

const kd_block_class kd_block_expression = {
    .element =
        {
            .element =
                {
                    .kind = {"expression", "outputs and next states by expressions of inputs, states and paths"},
                    .fields = fields,
                    .nfields = COUNT(fields),
                },
            .check = check,
            .expressions = true,
            .named = true,
        },
    .make = make,
    .sample = sample,
};
