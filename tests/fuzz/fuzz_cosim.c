// tests/fuzz/fuzz_cosim.c: any bytes as a systems file without models beside it: formulas that run for some steps, or words that say what is wrong.
#include "fuzz/fuzz.h"

#include <kardan/cosim.h>
#include <string.h>

#include "core/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char      message[4000] = "";
    kd_cosim *cosim = NULL;
    char     *copy = kd_alloc(size + 1);
    if (!copy) return 0;
    if (size > 0) memcpy(copy, data, size);
    const kd_status status =
        kd_cosim_read_text("no-such-folder/systems.yaml", copy, size, &cosim, message, sizeof message);
    if (status >= 0) {
        kd_cosim_options opt = kd_cosim_options_of(cosim);
        opt.t_end = 5 * opt.step, opt.threads = 1;
        demand(kd_cosim_systems(cosim) >= 1);
        if (kd_cosim_set_options(cosim, &opt, message, sizeof message) >= 0 &&
            kd_cosim_run(cosim, message, sizeof message) < 0)
            demand(message[0] != '\0');
    } else {
        demand(message[0] != '\0');
    }
    kd_cosim_destroy(cosim);
    kd_free(copy);
    return 0;
}
