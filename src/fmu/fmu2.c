// fmu2.c: the functions of FMI 2.0 on an instance.
#include "fmi/fmi2.h"

#include <math.h>
#include <string.h>

#include "fmu/calls.h"

#define X(answer, name, arguments) KD_API answer name arguments;
KD_FMI2_LIST(X)
#undef X

// The message is a format of printf. Clients in languages without variable arguments show it as it is: it needs none, and what could
// be taken for a conversion is doubled
static void log_message(kd_fmu *fmu, int level, const char *category, const char *message)
{
    char   text[2600];
    size_t n = 0;
    for (; *message && n + 3 < sizeof text; message++) {
        text[n++] = *message;
        if (*message == '%') text[n++] = '%';
    }
    text[n] = '\0';
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...) = NULL;
    memcpy(&logger, &fmu->logger, sizeof logger);
    if (logger) logger(fmu->environment, fmu->name, (fmi2Status)level, category, text);
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
    const bool tells = functions && functions->logger;
    kd_fmu_def def = {.call = __func__,
                      .name = name,
                      .token = guid,
                      .resources = resources,
                      .kind = type == fmi2ModelExchange  ? KD_PLANT_EXCHANGE
                              : type == fmi2CoSimulation ? KD_PLANT_COSIMULATION
                                                         : (kd_plant_mode)-1,
                      .logging = logging != fmi2False,
                      .log = tells ? log_message : NULL,
                      .environment = tells ? functions->componentEnvironment : NULL};
    if (tells) memcpy(&def.logger, &functions->logger, sizeof def.logger);
    return kd_fmu_instantiate(&def);
}

void fmi2FreeInstance(fmi2Component c)
{
    kd_fmu_close(c);
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    return (fmi2Status)kd_fmu_set_logging(c, __func__, on != fmi2False, n, categories);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean has_stop, fmi2Real stop)
{
    return (fmi2Status)kd_fmu_setup(c, __func__, has_tolerance ? &tolerance : NULL, start, has_stop ? &stop : NULL);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    return (fmi2Status)kd_fmu_initialise(c, __func__);
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    return (fmi2Status)kd_fmu_start(c, __func__);
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    return (fmi2Status)kd_fmu_terminate(c, __func__);
}

fmi2Status fmi2Reset(fmi2Component c)
{
    return (fmi2Status)kd_fmu_reset(c, __func__);
}

// ---- values ---------------------------------------------------------------------------------------------------------

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    return (fmi2Status)kd_fmu_get_reals(c, __func__, vr, n, value);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    return (fmi2Status)kd_fmu_set_reals(c, __func__, vr, n, value);
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    (void)vr, (void)value;
    return (fmi2Status)kd_fmu_none(c, __func__, n);
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t nunknowns,
                                        const fmi2ValueReference known[], size_t nknowns, const fmi2Real dknown[],
                                        fmi2Real dunknown[])
{
    return (fmi2Status)kd_fmu_directional(c, __func__, unknown, nunknowns, known, nknowns, dknown, dunknown);
}

// ---- saved states ---------------------------------------------------------------------------------------------------

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    return (fmi2Status)kd_fmu_get_state(c, __func__, state);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    return (fmi2Status)kd_fmu_set_state(c, __func__, state);
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    kd_fmu_free_state(state);
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    return (fmi2Status)kd_fmu_state_size(c, state, size);
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    return (fmi2Status)kd_fmu_serialise(c, state, out, size);
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    return (fmi2Status)kd_fmu_deserialise(c, bytes, size, state);
}

// ---- model exchange -------------------------------------------------------------------------------------------------

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    return (fmi2Status)kd_fmu_change(c, __func__, KD_FMU_CONTINUOUS, KD_FMU_EVENT);
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    bool   changed, stop;
    double next;
    if (!kd_fmu_may(c, __func__, KD_FMU_EVENT) || !kd_fmu_given(c, __func__, 1, info, info)) return fmi2Error;
    if (kd_fmu_pass_events(c, __func__, &changed, &stop, &next) != KD_FMU_OK) return fmi2Error;
    *info = (fmi2EventInfo){.terminateSimulation = stop,
                            .valuesOfContinuousStatesChanged = changed,
                            .nextEventTimeDefined = isfinite(next),
                            .nextEventTime = isfinite(next) ? next : 0};
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    return (fmi2Status)kd_fmu_change(c, __func__, KD_FMU_EVENT, KD_FMU_CONTINUOUS);
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_return, fmi2Boolean *event_mode,
                                       fmi2Boolean *terminate)
{
    bool instant;
    (void)no_return;
    if (!kd_fmu_given(c, __func__, 1, event_mode, terminate)) return fmi2Error;
    if (kd_fmu_completed(c, __func__, &instant) != KD_FMU_OK) return fmi2Error;
    *event_mode = instant;
    *terminate = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t)
{
    return (fmi2Status)kd_fmu_set_time(c, __func__, t);
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    return (fmi2Status)kd_fmu_set_states(c, __func__, x, n);
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n)
{
    return (fmi2Status)kd_fmu_derivatives(c, __func__, dx, n);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    return (fmi2Status)kd_fmu_indicators(c, __func__, z, n);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    return (fmi2Status)kd_fmu_states(c, __func__, x, n);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominal[], size_t n)
{
    return (fmi2Status)kd_fmu_nominals(c, __func__, nominal, n);
}

// ---- co-simulation --------------------------------------------------------------------------------------------------

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, __func__, KD_FMU_BEFORE | KD_FMU_STEP)) return fmi2Error;
    if (!kd_fmu_given(fmu, __func__, n, vr, value) || !kd_fmu_given(fmu, __func__, n, order, order)) return fmi2Error;
    for (size_t i = 0; i < n; i++) {
        if (order[i] != 1) {
            kd_fmu_tell(fmu, 3, "logStatusError", "fmi2SetRealInputDerivatives: first derivatives only");
            return fmi2Error;
        }
        if (!kd_fmu_good(fmu, __func__, kd_plant_slope(fmu->plant, vr[i], value[i]))) return fmi2Error;
    }
    return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    if (!kd_fmu_may(c, __func__, KD_FMU_READABLE)) return fmi2Error;
    if (n > 0) kd_fmu_tell(c, 3, "logStatusError", "fmi2GetRealOutputDerivatives: maxOutputDerivativeOrder is 0");
    return n > 0 ? fmi2Error : fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_return)
{
    kd_fmu          *fmu = c;
    kd_plant_outcome out;
    (void)no_return;
    if (!kd_fmu_may(fmu, __func__, KD_FMU_STEP)) return fmi2Error;
    const bool good = kd_fmu_good(fmu, __func__, kd_plant_step(fmu->plant, t, h, false, &out));
    fmu->t = out.t;
    if (!good) return (fmi2Status)kd_fmu_fail(fmu);
    if (!out.stopped) return fmi2OK;
    kd_fmu_tell(fmu, 2, "logStatusDiscard", "%s", kd_plant_message(fmu->plant));
    fmu->stopped = true;
    fmu->mode = KD_FMU_STOPPED;
    return fmi2Discard;
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    (void)kd_fmu_may(c, __func__, 0);
    return fmi2Error;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    (void)kd_fmu_may(c, __func__, 0);
    return fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    kd_fmu *fmu = c;
    if (!fmu || !value || kind != fmi2LastSuccessfulTime) return fmi2Discard;
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
    if (!fmu || !value || kind != fmi2Terminated) return fmi2Discard;
    *value = fmu->stopped;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)c, (void)kind, (void)value;
    return fmi2Discard;
}
