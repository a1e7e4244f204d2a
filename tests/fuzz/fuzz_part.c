// tests/fuzz/fuzz_part.c: any bytes as a part file of beams: a body with a mass, or words that say what is wrong.
#include "fuzz/fuzz.h"

#include <string.h>

#include "modelfile/part.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char             message[4000] = "";
    kd_flexible_body body;
    kd_part_report   report;
    char            *copy = kd_alloc(size + 1);
    if (!copy) return 0;
    if (size > 0) memcpy(copy, data, size);
    const kd_status status =
        kd_part_read_text("part.yaml", copy, size, NULL, 1, 1, &body, &report, message, sizeof message);
    if (status == KD_OK)
        demand(body.nq >= 1 && body.mass > 0);
    else
        demand(message[0] != '\0');
    kd_flexible_body_release(&body);
    kd_free(copy);
    return 0;
}
