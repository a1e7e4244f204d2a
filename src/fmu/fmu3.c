// fmu3.c: the functions of FMI 3.0 on an instance.
#include "fmi/fmi3.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "fmu/fmu.h"

#define X(answer, name, arguments) KD_API answer name arguments;
KD_FMI3_LIST(X)
#undef X

enum {
    BEFORE = KD_FMU_INSTANTIATED | KD_FMU_INITIALISING,
    RUNNING = KD_FMU_EVENT | KD_FMU_CONTINUOUS | KD_FMU_STEP,
    READABLE = KD_FMU_INITIALISING | RUNNING | KD_FMU_STOPPED | KD_FMU_FAILED,
};

static fmi3Status failed(kd_fmu *fmu)
{
    if (fmu && (fmu->mode & RUNNING)) fmu->mode = KD_FMU_FAILED;
    return fmi3Error;
}

static void tell(kd_fmu *fmu, int level, const char *category, const char *message)
{
    fmi3LogMessageCallback log = NULL;
    memcpy(&log, &fmu->logger, sizeof log);
    if (log) log(fmu->environment, (fmi3Status)level, category, message);
}

// ---- life -----------------------------------------------------------------------------------------------------------

const char *fmi3GetVersion(void)
{
    return "3.0";
}

static kd_fmu *instantiate(kd_plant_mode kind, const char *name, const char *token, const char *resources, bool logging,
                           void *environment, fmi3LogMessageCallback log)
{
    char    folder[4096];
    kd_fmu *fmu = kd_alloc(sizeof *fmu);
    if (!fmu) return NULL;
    kd_text(fmu->name, sizeof fmu->name, "%s", name ? name : "");
    memcpy(&fmu->logger, &log, sizeof fmu->logger);
    fmu->environment = environment;
    fmu->log = tell;
    fmu->logs_events = logging;
    fmu->kind = kind;
    bool good = name && *name;
    if (!good) kd_fmu_tell(fmu, 3, "logStatusError", "the instance has no name");
    if (good && !kd_fmu_folder(resources, folder, sizeof folder)) {
        kd_fmu_tell(fmu, 3, "logStatusError", "'%s' is no path of a folder", resources ? resources : "");
        good = false;
    }
    if (good && kd_fmu_open(fmu, folder, token)) return fmu;
    kd_fmu_close(fmu);
    return NULL;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                          fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log)
{
    (void)visible;
    return instantiate(KD_PLANT_EXCHANGE, name, token, resources, logging, environment, log);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
                                         const fmi3ValueReference intermediate[], size_t n,
                                         fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update)
{
    (void)visible, (void)intermediate, (void)update, (void)n;
    kd_fmu *fmu = instantiate(KD_PLANT_COSIMULATION, name, token, resources, logging, environment, log);
    if (fmu) {
        fmu->event_mode = event_mode;
        fmu->early_return = early_return;
    }
    return fmu;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                               fmi3Boolean visible, fmi3Boolean logging,
                                               fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                               fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
                                               fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)clock, (void)lock, (void)unlock;
    if (log) log(environment, fmi3Error, "logStatusError", "this FMU has no scheduled execution");
    return NULL;
}

void fmi3FreeInstance(fmi3Instance c)
{
    kd_fmu_close(c);
}

fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3SetDebugLogging", KD_FMU_ANY)) return fmi3Error;
    bool events = n == 0;
    for (size_t i = 0; i < n; i++) events = events || strcmp(categories[i], "logEvents") == 0;
    if (events) fmu->logs_events = on;
    return fmi3OK;
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3EnterInitializationMode", KD_FMU_INSTANTIATED)) return fmi3Error;
    if (!isfinite(start) || (has_tolerance && !(tolerance > 0)) || (has_stop && !(stop >= start))) {
        kd_fmu_tell(fmu, 3, "logStatusError", "from %g to %g with tolerance %g makes no sense", start, stop, tolerance);
        return fmi3Error;
    }
    fmu->tolerance = has_tolerance ? tolerance : 0;
    fmu->t_start = fmu->t = start;
    fmu->t_stop = has_stop ? stop : HUGE_VAL;
    kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    fmu->mode = KD_FMU_INITIALISING;
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3ExitInitializationMode", KD_FMU_INITIALISING)) return fmi3Error;
    if (!kd_fmu_good(fmu, "fmi3ExitInitializationMode", kd_plant_start(fmu->plant))) {
        fmu->mode = KD_FMU_FAILED;
        return fmi3Error;
    }
    fmu->mode = fmu->kind == KD_PLANT_EXCHANGE || fmu->event_mode ? KD_FMU_EVENT : KD_FMU_STEP;
    return fmi3OK;
}

fmi3Status fmi3EnterEventMode(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3EnterEventMode", KD_FMU_CONTINUOUS | (fmu && fmu->event_mode ? KD_FMU_STEP : 0)))
        return fmi3Error;
    fmu->mode = KD_FMU_EVENT;
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3Terminate", RUNNING | KD_FMU_STOPPED)) return fmi3Error;
    fmu->mode = KD_FMU_STOPPED;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3Reset", KD_FMU_ANY)) return fmi3Error;
    kd_plant_reset(fmu->plant);
    fmu->mode = KD_FMU_INSTANTIATED;
    fmu->t = fmu->t_start = fmu->tolerance = 0;
    fmu->stopped = false;
    return fmi3OK;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static bool has_count(kd_fmu *fmu, const char *call, size_t n, size_t own)
{
    if (n == own) return true;
    kd_fmu_tell(fmu, 3, "logStatusError", "%s: the client says %zu, there are %zu", call, n, own);
    return false;
}

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[], size_t nvalues)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetFloat64", READABLE | KD_FMU_INSTANTIATED)) return fmi3Error;
    if (!has_count(fmu, "fmi3GetFloat64", nvalues, n)) return fmi3Error;
    return kd_fmu_get(fmu, "fmi3GetFloat64", vr, n, value) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                          size_t nvalues)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3SetFloat64", BEFORE | RUNNING)) return fmi3Error;
    if (!has_count(fmu, "fmi3SetFloat64", nvalues, n)) return fmi3Error;
    if (!kd_fmu_set(fmu, "fmi3SetFloat64", vr, n, value)) return fmi3Error;
    if (fmu->mode == KD_FMU_INITIALISING) kd_plant_setup(fmu->plant, fmu->kind, fmu->t_start, fmu->tolerance);
    return fmi3OK;
}

// There are no variables of other types
static fmi3Status none(fmi3Instance c, const char *call, size_t n)
{
    if (!kd_fmu_may(c, call, KD_FMU_ANY)) return fmi3Error;
    if (n > 0) kd_fmu_tell(c, 3, "logStatusError", "%s: all variables of this FMU are Float64", call);
    return n > 0 ? fmi3Error : fmi3OK;
}

#define NONE(type)                                                                                                     \
    fmi3Status fmi3Get##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##type value[], size_t m)    \
    {                                                                                                                  \
        (void)vr, (void)value, (void)m;                                                                                \
        return none(c, "fmi3Get" #type, n);                                                                            \
    }                                                                                                                  \
    fmi3Status fmi3Set##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##type value[],        \
                             size_t m)                                                                                 \
    {                                                                                                                  \
        (void)vr, (void)value, (void)m;                                                                                \
        return none(c, "fmi3Set" #type, n);                                                                            \
    }
NONE(Float32)
NONE(Int8)
NONE(UInt8)
NONE(Int16)
NONE(UInt16)
NONE(Int32)
NONE(UInt32)
NONE(Int64)
NONE(UInt64)
NONE(Boolean)
NONE(String)

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t size[], fmi3Binary value[],
                         size_t nvalues)
{
    (void)vr, (void)size, (void)value, (void)nvalues;
    return none(c, "fmi3GetBinary", n);
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t size[],
                         const fmi3Binary value[], size_t nvalues)
{
    (void)vr, (void)size, (void)value, (void)nvalues;
    return none(c, "fmi3SetBinary", n);
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock value[])
{
    (void)vr, (void)value;
    return none(c, "fmi3GetClock", n);
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[])
{
    (void)vr, (void)value;
    return none(c, "fmi3SetClock", n);
}

// ---- what this FMU does not have ------------------------------------------------------------------------------------

static fmi3Status absent(fmi3Instance c, const char *call)
{
    if (c) kd_fmu_tell(c, 3, "logStatusError", "%s: its description does not promise this", call);
    return fmi3Error;
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t *n)
{
    (void)vr, (void)n;
    return absent(c, "fmi3GetNumberOfVariableDependencies");
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference dependent, size_t elements_of_dependent[],
                                       fmi3ValueReference independent[], size_t elements_of_independent[],
                                       fmi3DependencyKind kind[], size_t n)
{
    (void)dependent, (void)elements_of_dependent, (void)independent, (void)elements_of_independent, (void)kind, (void)n;
    return absent(c, "fmi3GetVariableDependencies");
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c)
{
    return absent(c, "fmi3EnterConfigurationMode");
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c)
{
    return absent(c, "fmi3ExitConfigurationMode");
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 interval[],
                                  fmi3IntervalQualifier qualifier[])
{
    (void)vr, (void)interval, (void)qualifier;
    return none(c, "fmi3GetIntervalDecimal", n);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[],
                                   fmi3UInt64 resolution[], fmi3IntervalQualifier qualifier[])
{
    (void)vr, (void)counter, (void)resolution, (void)qualifier;
    return none(c, "fmi3GetIntervalFraction", n);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shift[])
{
    (void)vr, (void)shift;
    return none(c, "fmi3GetShiftDecimal", n);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[],
                                fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return none(c, "fmi3GetShiftFraction", n);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 interval[])
{
    (void)vr, (void)interval;
    return none(c, "fmi3SetIntervalDecimal", n);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],
                                   const fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return none(c, "fmi3SetIntervalFraction", n);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 shift[])
{
    (void)vr, (void)shift;
    return none(c, "fmi3SetShiftDecimal", n);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],
                                const fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return none(c, "fmi3SetShiftFraction", n);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 t)
{
    (void)clock, (void)t;
    return absent(c, "fmi3ActivateModelPartition");
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 order[],
                                    fmi3Float64 value[], size_t nvalues)
{
    (void)vr, (void)order, (void)value, (void)nvalues;
    return n > 0 ? absent(c, "fmi3GetOutputDerivatives") : fmi3OK;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    return kd_fmu_may(c, "fmi3GetFMUState", KD_FMU_ANY) && state && kd_fmu_save(c, state) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    return kd_fmu_may(c, "fmi3SetFMUState", KD_FMU_ANY) && kd_fmu_restore(c, state) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    kd_fmu_free_state(state);
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    const void *bytes;
    return c && size && kd_fmu_state_bytes(c, state, &bytes, size) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte out[], size_t size)
{
    const void *bytes;
    size_t      own;
    if (!c || !kd_fmu_state_bytes(c, state, &bytes, &own) || size < own) return fmi3Error;
    memcpy(out, bytes, own);
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    return c && bytes && state && kd_fmu_state_of_bytes(c, bytes, size, state) ? fmi3OK : fmi3Error;
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns,
                                        const fmi3ValueReference known[], size_t nknowns, const fmi3Float64 seed[],
                                        size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetDirectionalDerivative", KD_FMU_INITIALISING | RUNNING)) return fmi3Error;
    if (!has_count(fmu, "fmi3GetDirectionalDerivative", nseed, nknowns) ||
        !has_count(fmu, "fmi3GetDirectionalDerivative", nsensitivity, nunknowns))
        return fmi3Error;
    return kd_fmu_good(fmu, "fmi3GetDirectionalDerivative",
                       kd_plant_directional(fmu->plant, unknown, nunknowns, known, nknowns, seed, sensitivity))
               ? fmi3OK
               : fmi3Error;
}

// sensitivity_k = sum_i seed_i d unknown_i / d known_k: one direction after the other
fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns,
                                    const fmi3ValueReference known[], size_t nknowns, const fmi3Float64 seed[],
                                    size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetAdjointDerivative", KD_FMU_INITIALISING | RUNNING)) return fmi3Error;
    if (!has_count(fmu, "fmi3GetAdjointDerivative", nseed, nunknowns) ||
        !has_count(fmu, "fmi3GetAdjointDerivative", nsensitivity, nknowns))
        return fmi3Error;
    double *column = kd_alloc((nunknowns + 1) * sizeof *column);
    bool    good = column != NULL;
    for (size_t k = 0; k < nknowns && good; k++) {
        const double one = 1;
        good = kd_fmu_good(fmu, "fmi3GetAdjointDerivative",
                           kd_plant_directional(fmu->plant, unknown, nunknowns, known + k, 1, &one, column));
        sensitivity[k] = 0;
        for (size_t i = 0; i < nunknowns && good; i++) sensitivity[k] += seed[i] * column[i];
    }
    kd_free(column);
    return good ? fmi3OK : fmi3Error;
}

// ---- events ---------------------------------------------------------------------------------------------------------

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c)
{
    return kd_fmu_may(c, "fmi3EvaluateDiscreteStates", KD_FMU_INITIALISING | KD_FMU_EVENT) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *values, fmi3Boolean *has_next, fmi3Float64 *next)
{
    kd_fmu *fmu = c;
    bool    changed = false, stop = false;
    double  t = HUGE_VAL;
    if (!kd_fmu_may(fmu, "fmi3UpdateDiscreteStates", KD_FMU_EVENT)) return fmi3Error;
    // events of a co-simulation were passed inside of the step
    if (fmu->kind == KD_PLANT_EXCHANGE) {
        if (!kd_fmu_good(fmu, "fmi3UpdateDiscreteStates", kd_plant_instant(fmu->plant, &changed, &stop)))
            return failed(fmu);
        t = kd_plant_next_time(fmu->plant);
    }
    *again = *nominals = false;
    *terminate = stop;
    *values = changed;
    *has_next = isfinite(t);
    *next = isfinite(t) ? t : 0;
    return fmi3OK;
}

// ---- model exchange -------------------------------------------------------------------------------------------------

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3EnterContinuousTimeMode", fmu && fmu->kind == KD_PLANT_EXCHANGE ? KD_FMU_EVENT : 0))
        return fmi3Error;
    fmu->mode = KD_FMU_CONTINUOUS;
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_return, fmi3Boolean *event_mode,
                                       fmi3Boolean *terminate)
{
    kd_fmu *fmu = c;
    bool    instant;
    (void)no_return;
    if (!kd_fmu_may(fmu, "fmi3CompletedIntegratorStep", KD_FMU_CONTINUOUS)) return fmi3Error;
    if (!kd_fmu_good(fmu, "fmi3CompletedIntegratorStep", kd_plant_completed(fmu->plant, &instant))) return failed(fmu);
    *event_mode = instant;
    *terminate = false;
    return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 t)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3SetTime", KD_FMU_EVENT | KD_FMU_CONTINUOUS) || !isfinite(t)) return fmi3Error;
    kd_plant_set_time(fmu->plant, t);
    return fmi3OK;
}

static bool has_states(kd_fmu *fmu, const char *call, size_t n)
{
    return has_count(fmu, call, n, (size_t)kd_plant_states(fmu->plant));
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 x[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3SetContinuousStates", KD_FMU_EVENT | KD_FMU_CONTINUOUS)) return fmi3Error;
    if (!has_states(fmu, "fmi3SetContinuousStates", n)) return fmi3Error;
    return kd_fmu_good(fmu, "fmi3SetContinuousStates", kd_plant_set_states(fmu->plant, x)) ? fmi3OK : fmi3Discard;
}

// What cannot be computed at the states of the client may be possible with smaller steps
fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 dx[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetContinuousStateDerivatives", READABLE)) return fmi3Error;
    if (!has_states(fmu, "fmi3GetContinuousStateDerivatives", n)) return fmi3Error;
    return kd_fmu_good(fmu, "fmi3GetContinuousStateDerivatives", kd_plant_derivatives(fmu->plant, dx)) ? fmi3OK
                                                                                                       : fmi3Discard;
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 z[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetEventIndicators", READABLE)) return fmi3Error;
    if (!has_count(fmu, "fmi3GetEventIndicators", n, (size_t)kd_plant_indicators(fmu->plant))) return fmi3Error;
    return kd_fmu_good(fmu, "fmi3GetEventIndicators", kd_plant_events(fmu->plant, z)) ? fmi3OK : fmi3Discard;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetContinuousStates", READABLE)) return fmi3Error;
    if (!has_states(fmu, "fmi3GetContinuousStates", n)) return fmi3Error;
    return kd_fmu_good(fmu, "fmi3GetContinuousStates", kd_plant_get_states(fmu->plant, x)) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 nominal[], size_t n)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3GetNominalsOfContinuousStates", READABLE)) return fmi3Error;
    if (!has_states(fmu, "fmi3GetNominalsOfContinuousStates", n)) return fmi3Error;
    kd_plant_nominals(fmu->plant, nominal);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    kd_fmu *fmu = c;
    if (!fmu) return fmi3Error;
    *n = (size_t)kd_plant_indicators(fmu->plant);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    kd_fmu *fmu = c;
    if (!fmu) return fmi3Error;
    *n = (size_t)kd_plant_states(fmu->plant);
    return fmi3OK;
}

// ---- co-simulation --------------------------------------------------------------------------------------------------

fmi3Status fmi3EnterStepMode(fmi3Instance c)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, "fmi3EnterStepMode", fmu && fmu->event_mode ? KD_FMU_EVENT : 0)) return fmi3Error;
    fmu->mode = KD_FMU_STEP;
    return fmi3OK;
}

// With event mode, a client that allows early return gets the time of every event
fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_return, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    kd_fmu          *fmu = c;
    kd_plant_outcome out;
    (void)no_return;
    if (!kd_fmu_may(fmu, "fmi3DoStep", KD_FMU_STEP)) return fmi3Error;
    const bool to_event = fmu->event_mode && fmu->early_return;
    const bool good = kd_fmu_good(fmu, "fmi3DoStep", kd_plant_step(fmu->plant, t, h, to_event, &out));
    fmu->t = *last = out.t;
    *event = out.event;
    *terminate = out.stopped;
    // an event at the very end is not early
    *early = fmu->early_return && good && (out.event || out.stopped) && out.t < t + h - 16 * DBL_EPSILON * fabs(t + h);
    if (!good) return failed(fmu);
    if (!*early && !out.stopped) *last = t + h;
    if (out.stopped) kd_fmu_tell(fmu, 0, "logEvents", "%s", kd_plant_message(fmu->plant));
    return fmi3OK;
}
