// block.h: the class of a sampled block: what it computes at offset + k period, from its inputs u and its states z of
// before: outputs y, then the next states. Each kind is one file, block_NAME.c
#ifndef KARDAN_ELEMENT_BLOCK_H
#define KARDAN_ELEMENT_BLOCK_H

#include "element/list.h"
#include "model/element.h"
#include "system/system.h"

// One block of a system while it is made
typedef struct kd_block_builder {
    kd_system  *s;
    int         number;
    kd_sampler *sampler;
    char       *message;
    size_t      size;
} kd_block_builder;

typedef struct kd_block_class {
    kd_block_element element; // what the model knows
    // Beside the inputs, which are compiled: expressions, matrices; NULL: nothing
    kd_status (*make)(kd_block_builder *b);
    // Numbers of its definition have changed; NULL: nothing follows from them
    void (*set)(kd_sampler *sampler);
    // y holds the outputs of before, z_new the states of before, as z does
    kd_eval (*sample)(const kd_sampler *sampler, kd_work *w, double t, const double *u, const double *z, double *y,
                      double *z_new);
} kd_block_class;

#define KD_CLASS(kind, name) extern const kd_block_class name;
KD_BLOCKS(KD_CLASS)
#undef KD_CLASS
extern const kd_block_class *const kd_blocks_by_kind[KD_BLOCK_KIND_COUNT]; // list.c

// Of a block without period: block_foreign.c
kd_status kd_block_open_continuous(kd_block_builder *b) KD_NODISCARD;

// y = C z + D u, then z = A z + B u (block_state_space.c)
kd_eval kd_sample_linear(const kd_sampler *sampler, kd_work *w, double t, const double *u, const double *z, double *y,
                         double *z_new);

// clang-format off
// Rows of fields that all have
#define KD_BLOCK_TIMES                                                                                                 \
    {"period", KD_FIELD_NUMBER, offsetof(kd_block_def, period), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "s",           \
     .doc = "time between two samples"},                                                                               \
    {"offset", KD_FIELD_NUMBER, offsetof(kd_block_def, offset), 1, ALL, 0, 0, ANY, "s",                                \
     .doc = "time of the first sample"}
#define KD_BLOCK_START_OUTPUT                                                                                          \
    {"start_output", KD_FIELD_NUMBER, offsetof(kd_block_def, start_output), 1, ALL, 0, 0, ANY, "",                     \
     .doc = "output until the first sample"}
#define KD_BLOCK_START_OUTPUTS                                                                                         \
    {"start_output", KD_FIELD_STARTS, offsetof(kd_block_def, start_output), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",        \
     .doc = "outputs until the first sample", .length = offsetof(kd_block_def, noutputs)}
// clang-format on

#endif
