// block_state_space.c: a sampled linear block: y = C z + D u, then z becomes A z + B u; matrices row by row.
#include "element/block.h"
#include "model/fields.h"

kd_eval kd_sample_linear(const kd_sampler *b, kd_work *w, double t, const double *u, const double *z, double *y,
                         double *z_new)
{
    const kd_block_def *def = &b->block->def;
    const int           n = def->nstates, m = def->ninputs;
    (void)w, (void)t;
    for (int i = 0; i < def->noutputs; i++) {
        y[i] = 0.0;
        for (int k = 0; k < n; k++) y[i] += b->C[n * i + k] * z[k];
        for (int k = 0; b->D && k < m; k++) y[i] += b->D[m * i + k] * u[k];
    }
    for (int i = 0; i < n; i++) {
        z_new[i] = 0.0;
        for (int k = 0; k < n; k++) z_new[i] += b->A[n * i + k] * z[k];
        for (int k = 0; k < m; k++) z_new[i] += b->B[m * i + k] * u[k];
    }
    return KD_EVAL_OK;
}

static kd_status make(kd_block_builder *b)
{
    const kd_block_def *def = &b->sampler->block->def;
    b->sampler->A = def->A, b->sampler->B = def->B, b->sampler->C = def->C, b->sampler->D = def->D;
    return KD_OK;
}

// clang-format off
#define O(member) offsetof(kd_block_def, member)
static const kd_field fields[] = {
    KD_BLOCK_TIMES,
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "expressions of any paths, as in sensors", .length = O(ninputs), .second = O(input_name)},
    {"A", KD_FIELD_ROWS, O(A), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, states by states", .length = O(nstates), .second = O(nstates)},
    {"B", KD_FIELD_ROWS, O(B), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, states by inputs", .length = O(nstates), .second = O(ninputs)},
    {"C", KD_FIELD_ROWS, O(C), 0, ALL, KD_FIELD_REQUIRED, 0, ANY, "",
     .doc = "matrix, outputs by states", .length = O(noutputs), .second = O(nstates)},
    {"D", KD_FIELD_ROWS, O(D), 0, ALL, 0, 0, ANY, "",
     .doc = "matrix, outputs by inputs; not given: 0", .length = O(noutputs), .second = O(ninputs)},
    {"start", KD_FIELD_STARTS, O(start), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",
     .doc = "start values of the states", .length = O(nstates)},
    KD_BLOCK_START_OUTPUTS,
};
// clang-format on

const kd_block_class kd_block_state_space = {
    .element =
        {
            .element =
                {
                    .kind = {"state_space", "outputs C z + D u of states z and inputs u; then z becomes A z + B u"},
                    .fields = fields,
                    .nfields = COUNT(fields),
                },
            .matrices = true,
            .named = true,
        },
    .make = make,
    .sample = kd_sample_linear,
};
