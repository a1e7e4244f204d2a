// fmu2.c: the functions of FMI 2.0 on an instance.
#include "fmi/fmi2.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "fmu/fmu.h"

#define X(answer, name, arguments) KD_API answer name arguments;
KD_FMI2_LIST(X)
#undef X

enum {
    BEFORE = KD_FMU_INSTANTIATED | KD_FMU_INITIALISING,
    RUNNING = KD_FMU_EVENT | KD_FMU_CONTINUOUS | KD_FMU_STEP,
    READABLE = KD_FMU_INITIALISING | RUNNING | KD_FMU_STOPPED | KD_FMU_FAILED,
};

static fmi2Status outcome(kd_fmu *fmu, bool good)
{
    if (!good && fmu && (fmu->mode & RUNNING)) fmu->mode = KD_FMU_FAILED;
    return good ? fmi2OK : fmi2Error;
}

static void tell(kd_fmu *fmu, int level, const char *category, const char *message)
{
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...) = NULL;
    memcpy(&logger, &fmu->logger, sizeof logger);
    if (logger) logger(fmu->environment, fmu->name, (fmi2Status)level, category, "%s", message);
}

// ---- life -----------------------------------------------------------------------------------------------------------

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)visible;
    char    folder[4096];
    kd_fmu *fmu = kd_alloc(sizeof *fmu);
    if (!fmu) return NULL;
    kd_text(fmu->name, sizeof fmu->name, "%s", name ? name : "");
    if (functions && functions->logger) {
        memcpy(&fmu->logger, &functions->logger, sizeof fmu->logger);
        fmu->environment = functions->componentEnvironment;
        fmu->log = tell;
    }
    fmu->logs_events = logging != fmi2False;
    fmu->kind = type == fmi2ModelExchange ? KD_PLANT_EXCHANGE : KD_PLANT_COSIMULATION;
    bool good = name && *name;
    if (!good) kd_fmu_tell(fmu, 3, "logStatusError", "fmi2Instantiate: the instance has no name");
    if (good && !kd_fmu_folder(resources, folder, sizeof folder)) {
        kd_fmu_tell(fmu, 3, "logStatusError", "fmi2Instantiate: '%s' is no URI of a folder",
                    resources ? resources : "");
        good = false;
    }
    if (good && kd_fmu_open(fmu, folder, guid)) return fmu;
    kd_fmu_close(fmu);
    return NULL;
}

void fmi2FreeInstance(fmi2Component c)
{
    kd_fmu_close(c);
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetDebugLogging", KD_FMU_ANY)) return fmi2Error;
    bool events = n == 0;
    for (size_t i = 0; i < n; i++) events = events || strcmp(categories[i], "logEvents") == 0;
    if (events) fmu->logs_events = on != fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean has_stop, fmi2Real stop)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetupExperiment", KD_FMU_INSTANTIATED)) return fmi2Error;
    if (!isfinite(start) || (has_tolerance && !(tolerance > 0)) || (has_stop && !(stop >= start))) {
        kd_fmu_tell(fmu, 3, "logStatusError", "fmi2SetupExperiment: from %g to %g with tolerance %g makes no sense",
                    start, stop, tolerance);
        return fmi2Error;
    }
    fmu->tolerance = has_tolerance ? tolerance : 0;
    fmu->t_start = fmu->t = start;
    fmu->t_stop = has_stop ? stop : HUGE_VAL;
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2EnterInitializationMode", KD_FMU_INSTANTIATED)) return fmi2Error;
    kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    fmu->mode = KD_FMU_INITIALISING;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2ExitInitializationMode", KD_FMU_INITIALISING)) return fmi2Error;
    if (!kd_fmu_good(fmu, "fmi2ExitInitializationMode", kd_plant_start(fmu->plant))) {
        fmu->mode = KD_FMU_FAILED;
        return fmi2Error;
    }
    fmu->mode = fmu->kind == KD_PLANT_EXCHANGE ? KD_FMU_EVENT : KD_FMU_STEP;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2Terminate", RUNNING | KD_FMU_STOPPED)) return fmi2Error;
    fmu->mode = KD_FMU_STOPPED;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2Reset", KD_FMU_ANY)) return fmi2Error;
    kd_plant_reset(fmu->plant);
    fmu->mode = KD_FMU_INSTANTIATED;
    fmu->t = fmu->t_start = fmu->tolerance = 0;
    fmu->stopped = false;
    return fmi2OK;
}

// ---- values ---------------------------------------------------------------------------------------------------------

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetReal", READABLE | KD_FMU_INSTANTIATED)) return fmi2Error;
    return kd_fmu_get(fmu, "fmi2GetReal", vr, n, value) ? fmi2OK : fmi2Error;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetReal", BEFORE | RUNNING)) return fmi2Error;
    if (!kd_fmu_set(fmu, "fmi2SetReal", vr, n, value)) return fmi2Error;
    if (fmu->mode == KD_FMU_INITIALISING) kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    return fmi2OK;
}

// There are no variables of other types
static fmi2Status none(fmi2Component c, const char *call, size_t n)
{
    if (!kd_fmu_may(c, call, KD_FMU_ANY)) return fmi2Error;
    if (n > 0) kd_fmu_tell(c, 3, "logStatusError", "%s: all variables of this FMU are real", call);
    return n > 0 ? fmi2Error : fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2GetInteger", n);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2GetBoolean", n);
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2GetString", n);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2SetInteger", n);
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2SetBoolean", n);
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    (void)vr, (void)value;
    return none(c, "fmi2SetString", n);
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t nunknowns,
                                        const fmi2ValueReference known[], size_t nknowns, const fmi2Real dknown[],
                                        fmi2Real dunknown[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetDirectionalDerivative", KD_FMU_INITIALISING | RUNNING)) return fmi2Error;
    return kd_fmu_good(fmu, "fmi2GetDirectionalDerivative",
                       kd_plant_directional(fmu->plant, unknown, nunknowns, known, nknowns, dknown, dunknown))
               ? fmi2OK
               : fmi2Error;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    return kd_fmu_may(c, "fmi2GetFMUstate", KD_FMU_ANY) && state && kd_fmu_save(c, state) ? fmi2OK : fmi2Error;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    return kd_fmu_may(c, "fmi2SetFMUstate", KD_FMU_ANY) && kd_fmu_restore(c, state) ? fmi2OK : fmi2Error;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    kd_fmu_free_state(state);
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    const void *bytes;
    return c && size && kd_fmu_state_bytes(c, state, &bytes, size) ? fmi2OK : fmi2Error;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    const void *bytes;
    size_t      own;
    if (!c || !kd_fmu_state_bytes(c, state, &bytes, &own) || size < own) return fmi2Error;
    memcpy(out, bytes, own);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    return c && bytes && state && kd_fmu_state_of_bytes(c, bytes, size, state) ? fmi2OK : fmi2Error;
}

// ---- model exchange -------------------------------------------------------------------------------------------------

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2EnterEventMode", KD_FMU_CONTINUOUS)) return fmi2Error;
    fmu->mode = KD_FMU_EVENT;
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    kd_fmu *fmu = c;
    bool    changed, stop;
    if (!kd_fmu_may(fmu, "fmi2NewDiscreteStates", KD_FMU_EVENT)) return fmi2Error;
    if (!kd_fmu_good(fmu, "fmi2NewDiscreteStates", kd_plant_instant(fmu->plant, &changed, &stop)))
        return outcome(fmu, false);
    const double next = kd_plant_next_time(fmu->plant);
    *info = (fmi2EventInfo){.terminateSimulation = stop,
                            .valuesOfContinuousStatesChanged = changed,
                            .nextEventTimeDefined = isfinite(next),
                            .nextEventTime = isfinite(next) ? next : 0};
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2EnterContinuousTimeMode", KD_FMU_EVENT)) return fmi2Error;
    fmu->mode = KD_FMU_CONTINUOUS;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_return, fmi2Boolean *event_mode,
                                       fmi2Boolean *terminate)
{
    kd_fmu *fmu = c;
    bool    instant;
    (void)no_return;
    if (!kd_fmu_may(fmu, "fmi2CompletedIntegratorStep", KD_FMU_CONTINUOUS)) return fmi2Error;
    if (!kd_fmu_good(fmu, "fmi2CompletedIntegratorStep", kd_plant_completed(fmu->plant, &instant)))
        return outcome(fmu, false);
    *event_mode = instant;
    *terminate = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetTime", KD_FMU_EVENT | KD_FMU_CONTINUOUS) || !isfinite(t)) return fmi2Error;
    kd_plant_set_time(fmu->plant, t);
    return fmi2OK;
}

// Has the client counted as the description says?
static bool has_count(kd_fmu *fmu, const char *call, size_t n, int own)
{
    if (n == (size_t)own) return true;
    kd_fmu_tell(fmu, 3, "logStatusError", "%s: the client says %zu, there are %d", call, n, own);
    return false;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetContinuousStates", KD_FMU_EVENT | KD_FMU_CONTINUOUS)) return fmi2Error;
    if (!has_count(fmu, "fmi2SetContinuousStates", n, kd_plant_states(fmu->plant))) return fmi2Error;
    return kd_fmu_good(fmu, "fmi2SetContinuousStates", kd_plant_set_states(fmu->plant, x)) ? fmi2OK : fmi2Discard;
}

// What cannot be computed at the states of the client may be possible with smaller steps
fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetDerivatives", READABLE)) return fmi2Error;
    if (!has_count(fmu, "fmi2GetDerivatives", n, kd_plant_states(fmu->plant))) return fmi2Error;
    return kd_fmu_good(fmu, "fmi2GetDerivatives", kd_plant_derivatives(fmu->plant, dx)) ? fmi2OK : fmi2Discard;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetEventIndicators", READABLE)) return fmi2Error;
    if (!has_count(fmu, "fmi2GetEventIndicators", n, kd_plant_indicators(fmu->plant))) return fmi2Error;
    return kd_fmu_good(fmu, "fmi2GetEventIndicators", kd_plant_events(fmu->plant, z)) ? fmi2OK : fmi2Discard;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetContinuousStates", READABLE)) return fmi2Error;
    if (!has_count(fmu, "fmi2GetContinuousStates", n, kd_plant_states(fmu->plant))) return fmi2Error;
    return kd_fmu_good(fmu, "fmi2GetContinuousStates", kd_plant_get_states(fmu->plant, x)) ? fmi2OK : fmi2Error;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominal[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2GetNominalsOfContinuousStates", READABLE)) return fmi2Error;
    if (!has_count(fmu, "fmi2GetNominalsOfContinuousStates", n, kd_plant_states(fmu->plant))) return fmi2Error;
    kd_plant_nominals(fmu->plant, nominal);
    return fmi2OK;
}

// ---- co-simulation --------------------------------------------------------------------------------------------------

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi2SetRealInputDerivatives", BEFORE | KD_FMU_STEP)) return fmi2Error;
    for (size_t i = 0; i < n; i++) {
        if (order[i] != 1) {
            kd_fmu_tell(fmu, 3, "logStatusError", "fmi2SetRealInputDerivatives: first derivatives only");
            return fmi2Error;
        }
        if (!kd_fmu_good(fmu, "fmi2SetRealInputDerivatives", kd_plant_slope(fmu->plant, vr[i], value[i])))
            return fmi2Error;
    }
    return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    if (!kd_fmu_may(c, "fmi2GetRealOutputDerivatives", READABLE)) return fmi2Error;
    if (n > 0) kd_fmu_tell(c, 3, "logStatusError", "fmi2GetRealOutputDerivatives: maxOutputDerivativeOrder is 0");
    return n > 0 ? fmi2Error : fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_return)
{
    kd_fmu          *fmu = c;
    kd_plant_outcome out;
    (void)no_return;
    if (!kd_fmu_may(fmu, "fmi2DoStep", KD_FMU_STEP)) return fmi2Error;
    const bool good = kd_fmu_good(fmu, "fmi2DoStep", kd_plant_step(fmu->plant, t, h, false, &out));
    fmu->t = out.t;
    if (!good) return outcome(fmu, false);
    if (!out.stopped) return fmi2OK;
    kd_fmu_tell(fmu, 2, "logStatusDiscard", "%s", kd_plant_message(fmu->plant));
    fmu->stopped = true;
    fmu->mode = KD_FMU_STOPPED;
    return fmi2Discard;
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    (void)kd_fmu_may(c, "fmi2CancelStep", 0);
    return fmi2Error;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    (void)kd_fmu_may(c, "fmi2GetStatus", 0);
    return fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    kd_fmu *fmu = c;
    if (!fmu || kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = fmu->t;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    kd_fmu *fmu = c;
    if (!fmu || kind != fmi2Terminated) return fmi2Discard;
    *value = fmu->stopped;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}
