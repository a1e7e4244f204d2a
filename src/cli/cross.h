// cli/cross.h: --cross-check: a run is compared with those of independent methods.
#ifndef KD_CLI_CROSS_H
#define KD_CLI_CROSS_H

#include "cli/method.h"
#include "cli/sides.h"

typedef struct kd_cross {
    kd_other_side   other;
    kd_compare_side side[2];
    int             nsides;
    kd_cross_check *check;
    kd_cross_result result;
    bool            done; // there is a result
} kd_cross;

// Before the simulation is created. has_start: the start is not the model's, so that it exists in these coordinates
// only.
kd_status kd_cross_open(kd_cross *cross, const kd_subject *subject, const kd_method *method, bool has_start,
                        char *message, size_t size) KD_NODISCARD;
// Run the others after a run that took so long [s]. KD_OK, KD_STOPPED, < 0.
kd_status kd_cross_run(kd_cross *cross, const kd_method *method, double seconds) KD_NODISCARD;
void      kd_cross_tell(const kd_cross *cross);
void      kd_cross_tell_json(const kd_cross *cross, kd_json *json);
kd_status kd_cross_save(const kd_cross *cross, const char *title, const char *path, char *message,
                        size_t size) KD_NODISCARD;
void      kd_cross_close(kd_cross *cross);

#endif
