// tests/fuzz/fuzz_study.c: any bytes as a study file without files beside it: a study whose first and last row can be made, or words that say what is wrong.
#include "fuzz/fuzz.h"

#include <kardan/study.h>
#include <string.h>

#include "core/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         message[4000] = "";
    kd_study    *study = NULL;
    kd_study_row row;
    char        *copy = kd_alloc(size + 1);
    if (!copy) return 0;
    if (size > 0) memcpy(copy, data, size);
    const kd_status status =
        kd_study_read_text("no-such-folder/study.yaml", copy, size, &study, message, sizeof message);
    if (status >= 0) {
        demand(kd_study_rows(study) >= 1);
        if (kd_study_objectives(study) > 0) { // points of a search are not known before
            demand(kd_study_searches(study) >= 1 && kd_study_best(study, 0) == -1);
            kd_study_destroy(study);
            kd_free(copy);
            return 0;
        }
        demand(kd_study_repeat(study, 0, NULL, &row, message, sizeof message) == KD_OK && row.done);
        demand(kd_study_repeat(study, kd_study_rows(study) - 1, NULL, &row, message, sizeof message) == KD_OK);
    } else {
        demand(message[0] != '\0');
    }
    kd_study_destroy(study);
    kd_free(copy);
    return 0;
}
