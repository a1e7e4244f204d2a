// fmu3.c: the functions of FMI 3.0 on an instance.
#include "fmi/fmi3.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "fmu/calls.h"

#define X(answer, name, arguments) KD_API answer name arguments;
KD_FMI3_LIST(X)
#undef X

static void log_message(kd_fmu *fmu, int level, const char *category, const char *message)
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

// log may be NULL: it stays silent
static kd_fmu *instantiate(kd_fmu_def *def, fmi3LogMessageCallback log)
{
    memcpy(&def->logger, &log, sizeof def->logger);
    def->log = log ? log_message : NULL;
    return kd_fmu_instantiate(def);
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                          fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log)
{
    (void)visible;
    kd_fmu_def def = {.call = __func__,
                      .name = name,
                      .token = token,
                      .resources = resources,
                      .kind = KD_PLANT_EXCHANGE,
                      .logging = logging,
                      .environment = environment};
    return instantiate(&def, log);
}

// Intermediate update: a step of the integrator has ended; the client reads, and may ask for the end of the step of co-simulation at a time
static bool tell_step(double t, void *context)
{
    kd_fmu           *fmu = context;
    const kd_fmu_mode mode = fmu->mode;
    fmi3Boolean       wanted = false;
    fmi3Float64       when = t;
    fmu->mode = KD_FMU_INSIDE;
    fmu->t = t;
    ((fmi3IntermediateUpdateCallback)fmu->update)(fmu->environment, t, false, true, true, fmu->early_return, &wanted,
                                                  &when);
    if (fmu->mode == KD_FMU_INSIDE) fmu->mode = mode;
    if (wanted && fmu->early_return) fmu->return_time = when;
    return t < fmu->return_time;
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
                                         const fmi3ValueReference intermediate[], size_t n,
                                         fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update)
{
    (void)visible, (void)intermediate, (void)n; // all variables can be read there
    kd_fmu_def def = {.call = __func__,
                      .name = name,
                      .token = token,
                      .resources = resources,
                      .kind = KD_PLANT_COSIMULATION,
                      .logging = logging,
                      .environment = environment};
    // what version 3 adds to co-simulation: events, early ends, steps that are told
    kd_fmu *fmu = instantiate(&def, log);
    if (fmu) {
        fmu->event_mode = event_mode;
        fmu->early_return = early_return;
        fmu->update = (void (*)(void))update;
        if (update) kd_plant_watch(fmu->plant, tell_step, fmu);
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
    return (fmi3Status)kd_fmu_set_logging(c, __func__, on, n, categories);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    const kd_fmu_answer set =
        kd_fmu_setup(c, __func__, has_tolerance ? &tolerance : NULL, start, has_stop ? &stop : NULL);
    return (fmi3Status)(set == KD_FMU_OK ? kd_fmu_initialise(c, __func__) : set);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    return (fmi3Status)kd_fmu_start(c, __func__);
}

fmi3Status fmi3EnterEventMode(fmi3Instance c)
{
    const kd_fmu *fmu = c;
    const int     from = KD_FMU_CONTINUOUS | (fmu && fmu->event_mode ? KD_FMU_STEP : 0);
    return (fmi3Status)kd_fmu_change(c, __func__, from, KD_FMU_EVENT);
}

fmi3Status fmi3Terminate(fmi3Instance c)
{
    return (fmi3Status)kd_fmu_terminate(c, __func__);
}

fmi3Status fmi3Reset(fmi3Instance c)
{
    return (fmi3Status)kd_fmu_reset(c, __func__);
}

// ---- values ---------------------------------------------------------------------------------------------------------

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[], size_t nvalues)
{
    if (c && !kd_fmu_has_count(c, __func__, nvalues, n)) return fmi3Error;
    return (fmi3Status)kd_fmu_get_reals(c, __func__, vr, n, value);
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                          size_t nvalues)
{
    if (c && !kd_fmu_has_count(c, __func__, nvalues, n)) return fmi3Error;
    return (fmi3Status)kd_fmu_set_reals(c, __func__, vr, n, value);
}

#define NONE(type)                                                                                                     \
    fmi3Status fmi3Get##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##type value[], size_t m)    \
    {                                                                                                                  \
        (void)vr, (void)value, (void)m;                                                                                \
        return (fmi3Status)kd_fmu_none(c, __func__, n);                                                                \
    }                                                                                                                  \
    fmi3Status fmi3Set##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##type value[],        \
                             size_t m)                                                                                 \
    {                                                                                                                  \
        (void)vr, (void)value, (void)m;                                                                                \
        return (fmi3Status)kd_fmu_none(c, __func__, n);                                                                \
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
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t size[],
                         const fmi3Binary value[], size_t nvalues)
{
    (void)vr, (void)size, (void)value, (void)nvalues;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock value[])
{
    (void)vr, (void)value;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[])
{
    (void)vr, (void)value;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
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
    return absent(c, __func__);
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference dependent, size_t elements_of_dependent[],
                                       fmi3ValueReference independent[], size_t elements_of_independent[],
                                       fmi3DependencyKind kind[], size_t n)
{
    (void)dependent, (void)elements_of_dependent, (void)independent, (void)elements_of_independent, (void)kind, (void)n;
    return absent(c, __func__);
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c)
{
    return absent(c, __func__);
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c)
{
    return absent(c, __func__);
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 interval[],
                                  fmi3IntervalQualifier qualifier[])
{
    (void)vr, (void)interval, (void)qualifier;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[],
                                   fmi3UInt64 resolution[], fmi3IntervalQualifier qualifier[])
{
    (void)vr, (void)counter, (void)resolution, (void)qualifier;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shift[])
{
    (void)vr, (void)shift;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[],
                                fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 interval[])
{
    (void)vr, (void)interval;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],
                                   const fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 shift[])
{
    (void)vr, (void)shift;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],
                                const fmi3UInt64 resolution[])
{
    (void)vr, (void)counter, (void)resolution;
    return (fmi3Status)kd_fmu_none(c, __func__, n);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 t)
{
    (void)clock, (void)t;
    return absent(c, __func__);
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 order[],
                                    fmi3Float64 value[], size_t nvalues)
{
    (void)vr, (void)order, (void)value, (void)nvalues;
    return n > 0 ? absent(c, __func__) : fmi3OK;
}

// ---- saved states ---------------------------------------------------------------------------------------------------

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    return (fmi3Status)kd_fmu_get_state(c, __func__, state);
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    return (fmi3Status)kd_fmu_set_state(c, __func__, state);
}

fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    kd_fmu_free_state(state);
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    return (fmi3Status)kd_fmu_state_size(c, state, size);
}

fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte out[], size_t size)
{
    return (fmi3Status)kd_fmu_serialise(c, state, out, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    return (fmi3Status)kd_fmu_deserialise(c, bytes, size, state);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns,
                                        const fmi3ValueReference known[], size_t nknowns, const fmi3Float64 seed[],
                                        size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity)
{
    kd_fmu *fmu = c;
    if (!kd_fmu_may(fmu, __func__, KD_FMU_INITIALISING | KD_FMU_RUNNING)) return fmi3Error;
    if (!kd_fmu_has_count(fmu, __func__, nseed, nknowns) || !kd_fmu_has_count(fmu, __func__, nsensitivity, nunknowns))
        return fmi3Error;
    return (fmi3Status)kd_fmu_directional(fmu, __func__, unknown, nunknowns, known, nknowns, seed, sensitivity);
}

// sensitivity_k = sum_i seed_i d unknown_i / d known_k: one direction after the other
fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns,
                                    const fmi3ValueReference known[], size_t nknowns, const fmi3Float64 seed[],
                                    size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity)
{
    kd_fmu *fmu = c;
    // allowed in this mode, with as many numbers as variables
    if (!kd_fmu_may(fmu, __func__, KD_FMU_INITIALISING | KD_FMU_RUNNING)) return fmi3Error;
    if (!kd_fmu_has_count(fmu, __func__, nseed, nunknowns) || !kd_fmu_has_count(fmu, __func__, nsensitivity, nknowns))
        return fmi3Error;
    if (!kd_fmu_given(fmu, __func__, nunknowns, unknown, seed) ||
        !kd_fmu_given(fmu, __func__, nknowns, known, sensitivity))
        return fmi3Error;
    // a column of derivatives for each known, then its product with the seed
    double *column = kd_alloc((nunknowns + 1) * sizeof *column);
    bool    good = column != NULL;
    for (size_t k = 0; k < nknowns && good; k++) {
        const double one = 1;
        good = kd_fmu_good(fmu, __func__,
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
    return kd_fmu_may(c, __func__, KD_FMU_INITIALISING | KD_FMU_EVENT) ? fmi3OK : fmi3Error;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *values, fmi3Boolean *has_next, fmi3Float64 *next)
{
    kd_fmu *fmu = c;
    bool    changed = false, stop = false;
    double  t = HUGE_VAL;
    if (!kd_fmu_may(fmu, __func__, KD_FMU_EVENT) || !kd_fmu_given(fmu, __func__, 1, again, terminate) ||
        !kd_fmu_given(fmu, __func__, 1, nominals, values) || !kd_fmu_given(fmu, __func__, 1, has_next, next))
        return fmi3Error;
    // events of a co-simulation were passed inside of the step
    if (fmu->kind == KD_PLANT_EXCHANGE) {
        if (kd_fmu_pass_events(fmu, __func__, &changed, &stop, &t) != KD_FMU_OK) return fmi3Error;
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
    const kd_fmu *fmu = c;
    const int     from = fmu && fmu->kind == KD_PLANT_EXCHANGE ? KD_FMU_EVENT : 0;
    return (fmi3Status)kd_fmu_change(c, __func__, from, KD_FMU_CONTINUOUS);
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no_return, fmi3Boolean *event_mode,
                                       fmi3Boolean *terminate)
{
    bool instant;
    (void)no_return;
    if (!kd_fmu_given(c, __func__, 1, event_mode, terminate)) return fmi3Error;
    if (kd_fmu_completed(c, __func__, &instant) != KD_FMU_OK) return fmi3Error;
    *event_mode = instant;
    *terminate = false;
    return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 t)
{
    return (fmi3Status)kd_fmu_set_time(c, __func__, t);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 x[], size_t n)
{
    return (fmi3Status)kd_fmu_set_states(c, __func__, x, n);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 dx[], size_t n)
{
    return (fmi3Status)kd_fmu_derivatives(c, __func__, dx, n);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 z[], size_t n)
{
    return (fmi3Status)kd_fmu_indicators(c, __func__, z, n);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    return (fmi3Status)kd_fmu_states(c, __func__, x, n);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 nominal[], size_t n)
{
    return (fmi3Status)kd_fmu_nominals(c, __func__, nominal, n);
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *n)
{
    kd_fmu *fmu = c;
    if (!fmu || !kd_fmu_given(fmu, __func__, 1, n, n)) return fmi3Error;
    *n = (size_t)kd_plant_indicators(fmu->plant);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *n)
{
    kd_fmu *fmu = c;
    if (!fmu || !kd_fmu_given(fmu, __func__, 1, n, n)) return fmi3Error;
    *n = (size_t)kd_plant_states(fmu->plant);
    return fmi3OK;
}

// ---- co-simulation --------------------------------------------------------------------------------------------------

fmi3Status fmi3EnterStepMode(fmi3Instance c)
{
    const kd_fmu *fmu = c;
    return (fmi3Status)kd_fmu_change(c, __func__, fmu && fmu->event_mode ? KD_FMU_EVENT : 0, KD_FMU_STEP);
}

// With event mode, a client that allows early return gets the time of every event
fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_return, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    kd_fmu          *fmu = c;
    kd_plant_outcome out;
    (void)no_return;
    if (!kd_fmu_may(fmu, __func__, KD_FMU_STEP) || !kd_fmu_given(fmu, __func__, 1, event, terminate) ||
        !kd_fmu_given(fmu, __func__, 1, early, last))
        return fmi3Error;
    const bool to_event = fmu->event_mode && fmu->early_return;
    fmu->return_time = HUGE_VAL;
    const bool good = kd_fmu_good(fmu, __func__, kd_plant_step(fmu->plant, t, h, to_event, &out));
    fmu->t = *last = out.t;
    *event = out.event;
    *terminate = out.stopped;
    // an event at the very end is not early
    *early = fmu->early_return && good && (out.event || out.stopped || out.asked) &&
             out.t < t + h - 16 * DBL_EPSILON * fabs(t + h);
    if (!good) return (fmi3Status)kd_fmu_fail(fmu);
    if (!*early && !out.stopped) *last = t + h;
    if (out.stopped) kd_fmu_tell(fmu, 0, "logEvents", "%s", kd_plant_message(fmu->plant));
    return fmi3OK;
}
