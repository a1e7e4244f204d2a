// jacobian.c: S0 figures 3, 4, 5 and 7 for any model.
#include "cli/jacobian.h"

#include <stdio.h>

#include "core/text.h"
#include "report/structure.h"

enum { PATH_SIZE = 4096 };

// over the first input, or the first channel
static kd_status save_instants(const kd_jacobian *j, char *message, size_t size)
{
    const kd_recording *rec = j->recording;
    int                 curve, count;
    char                path[PATH_SIZE], title[300];
    kd_recording_group(rec, KD_GROUP_U, &curve, &count);
    if (count == 0) curve = 0;
    snprintf(path, sizeof path, "%s/%s-instants.svg", j->folder, j->name);
    snprintf(title, sizeof title, "%.200s: evaluations and updates of the Newton matrix", j->title);
    return kd_instants_save(j->instants, title, kd_recording_name(rec, curve), kd_recording_times(rec),
                            kd_recording_values(rec) + curve, kd_recording_length(rec), kd_recording_columns(rec), path,
                            message, size);
}

// pattern, groups, compressed pattern; then when it was evaluated
kd_status kd_jacobian_save(const kd_jacobian *j, char *message, size_t size)
{
    kd_structure *structure;
    kd_status     status = kd_formulation_structure(j->dae, &structure);
    if (status < 0) {
        kd_text(message, size,
                "the %s form has no sparse Newton matrix to show here; --formulation ggl has, with the "
                "decomposition lu",
                j->dae->methods->name);
        return status;
    }
    status = kd_structure_save(structure, j->title, j->folder, j->name, message, size);
    if (status >= 0) status = save_instants(j, message, size);
    kd_structure_destroy(structure);
    return status;
}
