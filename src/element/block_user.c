// block_user.c: a sampled block written in C: outputs from inputs and states, then states become the next ones.
#include <math.h>

#include "element/block.h"
#include "model/fields.h"

static kd_eval sample(const kd_sampler *b, kd_work *w, double t, const double *u, const double *z, double *y,
                      double *z_new)
{
    const kd_block_def *def = &b->block->def;
    (void)w, (void)z;
    return def->sample(t, u, z_new, def->context, y);
}

// All of it, since no file and no schema describes it
static bool check(kd_model *m, const char *name, const kd_block_def *def)
{
    if (!(def->period > 0.0) || !isfinite(def->period) || !isfinite(def->offset))
        return kd_block_refuse(m, name, "period", "the period must be positive, and the offset finite");
    for (int i = 0; i < def->ninputs; i++)
        if (!def->input[i]) return kd_block_refuse(m, name, "input", "an input is missing");
    for (int i = 0; i < KD_MAX_SIGNALS; i++)
        if (!isfinite(def->start[i]) || !isfinite(def->start_output[i]))
            return kd_block_refuse(m, name, "start", "a start value is not finite");
    return true;
}

const kd_block_class kd_block_user = {
    .element = {.element = {.kind = {NULL, NULL}}, .check = check, .in_code = true, .named = true},
    .sample = sample,
};
