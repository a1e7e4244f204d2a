// tests/fuzz/fuzz_tir.c: any bytes as a tyre property file.
//
// Whatever is read: a refusal says the file and why; what is accepted has finite numbers, positive where the formula divides by
// them, and tables that rise.
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "vehicle/magic_formula.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kd_tir tir;
    char          message[400] = "";
    char         *copy = kd_alloc(size + 1); // with a zero byte behind it, as a file has
    demand(copy);
    if (size > 0) memcpy(copy, data, size);
    const kd_status status = kd_tir_parse("a.tir", copy, size, &tir, message, sizeof message);
    kd_free(copy);
    if (status != KD_OK) {
        demand(status == KD_ERR_FILE && strncmp(message, "a.tir:", 6) == 0);
        return 0;
    }
    for (int i = 0; i < KD_TIR_COUNT; i++) demand(!isnan(tir.c[i]));
    demand(tir.c[KD_TIR_FNOMIN] > 0.0 && tir.c[KD_TIR_UNLOADED_RADIUS] > 0.0 && tir.c[KD_TIR_PKY1] < 0.0);
    for (int i = 1; i < tir.deflection.n; i++) demand(tir.deflection.x[i] >= tir.deflection.x[i - 1]);
    const double   in[KD_MAGIC_INPUTS] = {tir.c[KD_TIR_FNOMIN], 0.01, 0.01, 0.01, 1.0};
    kd_magic_force f;
    kd_magic_formula(&tir, KD_MAGIC_COMBINED, in, &f);
    return 0;
}
