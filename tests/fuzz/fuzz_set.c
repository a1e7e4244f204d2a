// tests/fuzz/fuzz_set.c: any bytes as the value of --set, and as a number with a unit.
//
// A refusal names the parameter and says why; an accepted value is finite and is the one that the model has.
#include <kardan/model.h>
#include <math.h>

#include "expr/quantity.h"
#include "fuzz/fuzz.h"
#include "model/build.h"

static const char MODEL[] = "kardan: 1\nparameters: {l: 0.3, N: 2, k: 2*l}\n"
                            "bodies: {\"b(i)\": {for: i = 1..N, mass: 1, inertia: [1, 1, 1], position: [l, k, 0]}}\n";

static void read_quantity(const char *text)
{
    static const char *const wanted[] = {NULL, "", "m", "m|rad", "N m s/rad", "m^3/(s Pa)"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const kd_quantity q = kd_quantity_read(text, wanted[i], NULL);
        if (q.kind == KD_QUANTITY_GOOD) demand(isfinite(q.value) && !(wanted[i] && !wanted[i][0] && strchr(text, 'm')));
        if (q.kind == KD_QUANTITY_WRONG) demand(q.text[0] && q.column >= 1 && (size_t)q.column <= strlen(text) + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char     message[1 << 14];
    char           *text = text_of(data, size);
    kd_setting      setting = {"l", text};
    kd_model       *m = NULL;
    double          l = NAN, k = NAN;
    const kd_status status =
        kd_model_read_text("fuzz.yaml", MODEL, sizeof MODEL - 1, &setting, 1, &m, message, sizeof message);
    read_quantity(text);
    if (status == KD_OK) {
        demand(kd_model_use_parameter(m, "l", &l) && kd_model_use_parameter(m, "k", &k));
        demand(isfinite(l) && k == 2 * l);
    } else {
        demand(status == KD_ERR_MODEL && !m && strncmp(message, "fuzz.yaml:", 10) == 0);
    }
    kd_model_destroy(m);
    free(text);
    return 0;
}
