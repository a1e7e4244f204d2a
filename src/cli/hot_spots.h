// cli/hot_spots.h: where the flexible bodies of a model have the largest stress along a recorded run.
#ifndef KD_CLI_HOT_SPOTS_H
#define KD_CLI_HOT_SPOTS_H

#include "core/json.h"
#include "core/memory.h"
#include "model/model.h"
#include "results/result.h"

typedef struct kd_cli_hot_spots {
    int                n; // the hottest first, body by body
    kd_result_spot    *spot;
    kd_result_setting *fact;  // (n) the same as rows of a table
    kd_result_facts    facts; // of the report
    kd_arena           arena;
} kd_cli_hot_spots;

// Rows of the recording are looked at, nothing in between. KD_ERR_MEMORY: none are known
kd_status kd_cli_hot_spots_find(const kd_model *model, const kd_recording *recording,
                                kd_cli_hot_spots *spots) KD_NODISCARD;
void      kd_cli_hot_spots_release(kd_cli_hot_spots *spots);
void      kd_cli_hot_spots_print(const kd_cli_hot_spots *spots);
void      kd_cli_hot_spots_tell(const kd_cli_hot_spots *spots, kd_json *json);

#endif
