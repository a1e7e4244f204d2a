// tests/fuzz/fuzz_run.c: any bytes as a model file; what is accepted becomes equations and runs for some steps.
//
// A refusal on the way has words; a run that went well ends where it should, in a finite state.
#include <kardan/model.h>
#include <kardan/simulation.h>
#include <kardan/system.h>
#include <math.h>

#include "fuzz/fuzz.h"
#include "model/model.h"

enum { MOST_ELEMENTS = 12, STEPS = 30 };

static const double T_END = 0.02; // [s]

static void simulate(const kd_system *s, kd_state *x)
{
    char                  message[2000] = "";
    kd_simulation        *run = NULL;
    kd_simulation_options opt = kd_simulation_options_default();
    opt.integrator_options.max_steps = STEPS;
    kd_status status =
        kd_simulation_create(kd_system_eom(s), kd_system_inputs(s), &opt, x, &run, message, sizeof message);
    if (status >= 0) {
        status = kd_simulation_run(run, T_END);
        if (status == KD_OK) {
            demand(x->t == T_END);
            for (size_t i = 0; i < x->size; i++) demand(isfinite(x->p[i]));
        } else if (status < 0) {
            demand(kd_simulation_message(run)[0]);
        }
    } else {
        demand(message[0]);
    }
    kd_simulation_destroy(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char message[1 << 14];
    char       *text = text_of(data, size);
    kd_model   *m = NULL;
    kd_system  *s = NULL;
    kd_state   *x = NULL;
    if (kd_model_read_text("fuzz.yaml", text, size, NULL, 0, &m, message, sizeof message) == KD_OK &&
        m->nbodies <= MOST_ELEMENTS && m->nforces <= MOST_ELEMENTS && m->nblocks <= MOST_ELEMENTS) {
        const kd_status status = kd_system_create(m, NULL, &s, message, sizeof message);
        demand(status >= 0 || message[0]);
        if (status >= 0) demand(kd_state_create(kd_system_eom(s), &x) == KD_OK);
        if (status >= 0 && kd_system_start(s, x, message, sizeof message) >= 0) simulate(s, x);
    }
    kd_state_destroy(x);
    kd_system_destroy(s);
    kd_model_destroy(m);
    free(text);
    return 0;
}
