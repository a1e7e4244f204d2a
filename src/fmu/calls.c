// calls.c: the calls that FMI 2.0 and 3.0 have in common. Each asks first whether it may be made now.
#include "fmu/calls.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

static kd_fmu_answer answer(bool good)
{
    return good ? KD_FMU_OK : KD_FMU_ERROR;
}

// ---- life -----------------------------------------------------------------------------------------------------------

// Name, folder and token must be good
static bool is_opened(kd_fmu *fmu, const kd_fmu_def *def)
{
    char folder[4096];
    if (!def->name || !*def->name) {
        kd_fmu_tell(fmu, 3, "logStatusError", "%s: the instance has no name", def->call);
        return false;
    }
    if (def->kind != KD_PLANT_EXCHANGE && def->kind != KD_PLANT_COSIMULATION) {
        kd_fmu_tell(fmu, 3, "logStatusError", "%s: there is no such kind of FMU", def->call);
        return false;
    }
    if (!kd_fmu_folder(def->resources, folder, sizeof folder)) {
        kd_fmu_tell(fmu, 3, "logStatusError", "%s: '%s' is neither the path nor the URI of a folder", def->call,
                    def->resources ? def->resources : "");
        return false;
    }
    return kd_fmu_open(fmu, folder, def->token, def->call);
}

kd_fmu *kd_fmu_instantiate(const kd_fmu_def *def)
{
    kd_fmu *fmu = kd_alloc(sizeof *fmu);
    if (!fmu) return NULL;
    kd_text(fmu->name, sizeof fmu->name, "%s", def->name ? def->name : "");
    fmu->log = def->log;
    fmu->logger = def->logger;
    fmu->environment = def->environment;
    fmu->logs_events = def->logging;
    fmu->kind = def->kind;
    if (is_opened(fmu, def)) return fmu;
    kd_fmu_close(fmu);
    return NULL;
}

kd_fmu_answer kd_fmu_set_logging(kd_fmu *fmu, const char *call, bool on, size_t n, const char *const *categories)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_ANY) || !kd_fmu_given(fmu, call, n, categories, categories)) return KD_FMU_ERROR;
    // no category means all of them
    bool events = n == 0;
    for (size_t i = 0; i < n; i++) {
        if (!kd_fmu_given(fmu, call, 1, categories[i], categories[i])) return KD_FMU_ERROR;
        events = events || strcmp(categories[i], "logEvents") == 0;
    }
    if (events) fmu->logs_events = on;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_setup(kd_fmu *fmu, const char *call, const double *tolerance, double start, const double *stop)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_INSTANTIATED)) return KD_FMU_ERROR;
    if (!isfinite(start) || (tolerance && !(*tolerance > 0)) || (stop && !(*stop >= start))) {
        kd_fmu_tell(fmu, 3, "logStatusError", "%s: from %g to %g with tolerance %g makes no sense", call, start,
                    stop ? *stop : HUGE_VAL, tolerance ? *tolerance : 0);
        return KD_FMU_ERROR;
    }
    fmu->tolerance = tolerance ? *tolerance : 0;
    fmu->t_start = fmu->t = start;
    fmu->t_stop = stop ? *stop : HUGE_VAL;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_initialise(kd_fmu *fmu, const char *call)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_INSTANTIATED)) return KD_FMU_ERROR;
    kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    fmu->mode = KD_FMU_INITIALISING;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_start(kd_fmu *fmu, const char *call)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_INITIALISING)) return KD_FMU_ERROR;
    if (!kd_fmu_good(fmu, call, kd_plant_start(fmu->plant))) {
        fmu->mode = KD_FMU_FAILED;
        return KD_FMU_ERROR;
    }
    fmu->mode = fmu->kind == KD_PLANT_EXCHANGE || fmu->event_mode ? KD_FMU_EVENT : KD_FMU_STEP;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_terminate(kd_fmu *fmu, const char *call)
{
    // where the model has asked for the end, the client still says so
    const int           from = KD_FMU_RUNNING | (fmu && !fmu->terminated ? KD_FMU_STOPPED : 0);
    const kd_fmu_answer done = kd_fmu_change(fmu, call, from, KD_FMU_STOPPED);
    if (done == KD_FMU_OK) fmu->terminated = true;
    return done;
}

kd_fmu_answer kd_fmu_reset(kd_fmu *fmu, const char *call)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_ANY)) return KD_FMU_ERROR;
    kd_plant_reset(fmu->plant);
    fmu->mode = KD_FMU_INSTANTIATED;
    fmu->t = fmu->t_start = fmu->tolerance = 0;
    fmu->stopped = fmu->terminated = false;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_change(kd_fmu *fmu, const char *call, int from, kd_fmu_mode to)
{
    if (!kd_fmu_may(fmu, call, from)) return KD_FMU_ERROR;
    fmu->mode = to;
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_fail(kd_fmu *fmu)
{
    if (fmu && (fmu->mode & KD_FMU_RUNNING)) fmu->mode = KD_FMU_FAILED;
    return KD_FMU_ERROR;
}

// ---- values ---------------------------------------------------------------------------------------------------------

kd_fmu_answer kd_fmu_get_reals(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, double *value)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_READABLE | KD_FMU_INSTANTIATED)) return KD_FMU_ERROR;
    if (!kd_fmu_given(fmu, call, n, reference, value)) return KD_FMU_ERROR;
    return answer(kd_fmu_get(fmu, call, reference, n, value));
}

kd_fmu_answer kd_fmu_set_reals(kd_fmu *fmu, const char *call, const uint32_t *reference, size_t n, const double *value)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_BEFORE | KD_FMU_RUNNING)) return KD_FMU_ERROR;
    if (!kd_fmu_given(fmu, call, n, reference, value)) return KD_FMU_ERROR;
    if (!kd_fmu_set(fmu, call, reference, n, value)) return KD_FMU_ERROR;
    // the start is another one now
    if (fmu->mode == KD_FMU_INITIALISING) kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_none(kd_fmu *fmu, const char *call, size_t n)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_ANY)) return KD_FMU_ERROR;
    if (n > 0) kd_fmu_tell(fmu, 3, "logStatusError", "%s: all variables of this FMU are real numbers", call);
    return answer(n == 0);
}

kd_fmu_answer kd_fmu_directional(kd_fmu *fmu, const char *call, const uint32_t *unknown, size_t nunknowns,
                                 const uint32_t *known, size_t nknowns, const double *seed, double *sensitivity)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_INITIALISING | KD_FMU_RUNNING)) return KD_FMU_ERROR;
    if (!kd_fmu_given(fmu, call, nknowns, known, seed) || !kd_fmu_given(fmu, call, nunknowns, unknown, sensitivity))
        return KD_FMU_ERROR;
    return answer(kd_fmu_good(fmu, call,
                              kd_plant_directional(fmu->plant, unknown, nunknowns, known, nknowns, seed, sensitivity)));
}

bool kd_fmu_has_count(kd_fmu *fmu, const char *call, size_t n, size_t own)
{
    if (n == own) return true;
    kd_fmu_tell(fmu, 3, "logStatusError", "%s: the client says %zu, there are %zu", call, n, own);
    return false;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

kd_fmu_answer kd_fmu_get_state(kd_fmu *fmu, const char *call, void **state)
{
    return answer(kd_fmu_may(fmu, call, KD_FMU_ANY) && state && kd_fmu_save(fmu, state));
}

kd_fmu_answer kd_fmu_set_state(kd_fmu *fmu, const char *call, void *state)
{
    return answer(kd_fmu_may(fmu, call, KD_FMU_ANY) && kd_fmu_restore(fmu, state));
}

kd_fmu_answer kd_fmu_state_size(kd_fmu *fmu, void *state, size_t *size)
{
    const void *bytes;
    return answer(fmu && size && kd_fmu_state_bytes(fmu, state, &bytes, size));
}

kd_fmu_answer kd_fmu_serialise(kd_fmu *fmu, void *state, void *out, size_t size)
{
    const void *bytes;
    size_t      own;
    if (!fmu || !kd_fmu_state_bytes(fmu, state, &bytes, &own) || !out || size < own) return KD_FMU_ERROR;
    memcpy(out, bytes, own);
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_deserialise(kd_fmu *fmu, const void *bytes, size_t size, void **state)
{
    return answer(fmu && bytes && state && kd_fmu_state_of_bytes(fmu, bytes, size, state));
}

// ---- model exchange -------------------------------------------------------------------------------------------------

kd_fmu_answer kd_fmu_set_time(kd_fmu *fmu, const char *call, double t)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_EVENT | KD_FMU_CONTINUOUS) || !isfinite(t)) return KD_FMU_ERROR;
    kd_plant_set_time(fmu->plant, t);
    return KD_FMU_OK;
}

// May the call be made, and are there n states?
static bool may_with_states(kd_fmu *fmu, const char *call, int modes, const double *x, size_t n)
{
    return kd_fmu_may(fmu, call, modes) && kd_fmu_given(fmu, call, n, x, x) &&
           kd_fmu_has_count(fmu, call, n, (size_t)kd_plant_states(fmu->plant));
}

// What cannot be computed at the states of the client may be possible with smaller steps
static kd_fmu_answer answer_or_discard(kd_fmu *fmu, const char *call, kd_status status)
{
    return kd_fmu_good(fmu, call, status) ? KD_FMU_OK : KD_FMU_DISCARD;
}

kd_fmu_answer kd_fmu_set_states(kd_fmu *fmu, const char *call, const double *x, size_t n)
{
    if (!may_with_states(fmu, call, KD_FMU_EVENT | KD_FMU_CONTINUOUS, x, n)) return KD_FMU_ERROR;
    return answer_or_discard(fmu, call, kd_plant_set_states(fmu->plant, x));
}

kd_fmu_answer kd_fmu_states(kd_fmu *fmu, const char *call, double *x, size_t n)
{
    if (!may_with_states(fmu, call, KD_FMU_READABLE, x, n)) return KD_FMU_ERROR;
    return answer(kd_fmu_good(fmu, call, kd_plant_get_states(fmu->plant, x)));
}

kd_fmu_answer kd_fmu_derivatives(kd_fmu *fmu, const char *call, double *dx, size_t n)
{
    if (!may_with_states(fmu, call, KD_FMU_READABLE, dx, n)) return KD_FMU_ERROR;
    return answer_or_discard(fmu, call, kd_plant_derivatives(fmu->plant, dx));
}

kd_fmu_answer kd_fmu_indicators(kd_fmu *fmu, const char *call, double *z, size_t n)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_READABLE) || !kd_fmu_given(fmu, call, n, z, z)) return KD_FMU_ERROR;
    if (!kd_fmu_has_count(fmu, call, n, (size_t)kd_plant_indicators(fmu->plant))) return KD_FMU_ERROR;
    return answer_or_discard(fmu, call, kd_plant_events(fmu->plant, z));
}

kd_fmu_answer kd_fmu_nominals(kd_fmu *fmu, const char *call, double *nominal, size_t n)
{
    if (!may_with_states(fmu, call, KD_FMU_READABLE, nominal, n)) return KD_FMU_ERROR;
    kd_plant_nominals(fmu->plant, nominal);
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_pass_events(kd_fmu *fmu, const char *call, bool *changed, bool *stop, double *next)
{
    if (!kd_fmu_good(fmu, call, kd_plant_instant(fmu->plant, changed, stop))) return kd_fmu_fail(fmu);
    *next = kd_plant_next_time(fmu->plant);
    return KD_FMU_OK;
}

kd_fmu_answer kd_fmu_completed(kd_fmu *fmu, const char *call, bool *instant)
{
    if (!kd_fmu_may(fmu, call, KD_FMU_CONTINUOUS)) return KD_FMU_ERROR;
    if (!kd_fmu_good(fmu, call, kd_plant_completed(fmu->plant, instant))) return kd_fmu_fail(fmu);
    return KD_FMU_OK;
}
