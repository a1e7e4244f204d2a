// tests/fuzz/fuzz_crg.c: any bytes as an OpenCRG file.
//
// Whatever is read: a refusal says the file and why; what is accepted has finite elevations and slopes everywhere, between its least
// and its largest one.
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "vehicle/crg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kd_crg *crg = NULL;
    char    message[400] = "";
    char   *copy = kd_alloc(size + 1); // with a zero byte behind it, as a file has
    demand(copy);
    if (size > 0) memcpy(copy, data, size);
    const kd_status status = kd_crg_parse("a.crg", copy, size, &crg, message, sizeof message);
    kd_free(copy);
    if (status != KD_OK) {
        demand(!crg && (status == KD_ERR_MEMORY || (status == KD_ERR_FILE && strncmp(message, "a.crg:", 6) == 0)));
        return 0;
    }
    double u[2], v[2], z[2], at[3], x, y;
    kd_crg_ends(crg, u, v, z);
    demand(u[1] > u[0] && v[1] > v[0] && z[1] >= z[0]);
    for (int i = 0; i < 5; i++) {
        kd_crg_place(crg, u[0] + 0.3 * i * (u[1] - u[0]), v[0] + 0.4 * i * (v[1] - v[0]), &x, &y);
        if (!isfinite(x) || !isfinite(y)) continue; // numbers near the largest
        kd_crg_at(crg, x, y, at, NULL);
        demand(!(at[0] < z[0] - 1e-6 * (fabs(z[0]) + fabs(z[1])) - 1e-9) || !isfinite(z[0] - z[1]));
    }
    kd_crg_destroy(crg);
    return 0;
}
