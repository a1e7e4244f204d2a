// starts.h: models that `kardan new` begins with.
#ifndef KD_CLI_STARTS_H
#define KD_CLI_STARTS_H

typedef struct kd_start_model {
    const char *word, *text;
} kd_start_model;

enum { KD_START_COUNT = 4 };
extern const kd_start_model kd_starts[KD_START_COUNT];

#endif
