// fmi/fmi3.h: own declarations of the interface of FMI 3.0 (fmi-standard.org, version 3.0.2), as fmi2.h.
#ifndef KD_FMI_FMI3_H
#define KD_FMI_FMI3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void          *fmi3Instance;
typedef void          *fmi3InstanceEnvironment;
typedef void          *fmi3FMUState;
typedef uint32_t       fmi3ValueReference;
typedef float          fmi3Float32;
typedef double         fmi3Float64;
typedef int8_t         fmi3Int8;
typedef uint8_t        fmi3UInt8;
typedef int16_t        fmi3Int16;
typedef uint16_t       fmi3UInt16;
typedef int32_t        fmi3Int32;
typedef uint32_t       fmi3UInt32;
typedef int64_t        fmi3Int64;
typedef uint64_t       fmi3UInt64;
typedef bool           fmi3Boolean;
typedef char           fmi3Char;
typedef const char    *fmi3String;
typedef uint8_t        fmi3Byte;
typedef const uint8_t *fmi3Binary;
typedef bool           fmi3Clock;

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64 t, fmi3Boolean set_requested,
                                               fmi3Boolean get_allowed, fmi3Boolean step_finished,
                                               fmi3Boolean can_return, fmi3Boolean *return_requested,
                                               fmi3Float64 *return_time);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

// Get and set of a type of numbers
#define KD_FMI3_TYPE(X, type)                                                                                          \
    X(fmi3Status, fmi3Get##type,                                                                                       \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##type value[], size_t nvalues))                   \
    X(fmi3Status, fmi3Set##type,                                                                                       \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##type value[], size_t nvalues))
#define KD_FMI3_TYPES(X)                                                                                               \
    KD_FMI3_TYPE(X, Float32)                                                                                           \
    KD_FMI3_TYPE(X, Int8)                                                                                              \
    KD_FMI3_TYPE(X, UInt8)                                                                                             \
    KD_FMI3_TYPE(X, Int16)                                                                                             \
    KD_FMI3_TYPE(X, UInt16)                                                                                            \
    KD_FMI3_TYPE(X, Int32)                                                                                             \
    KD_FMI3_TYPE(X, UInt32)                                                                                            \
    KD_FMI3_TYPE(X, Int64)                                                                                             \
    KD_FMI3_TYPE(X, UInt64)                                                                                            \
    KD_FMI3_TYPE(X, Boolean)                                                                                           \
    KD_FMI3_TYPE(X, String)

#define KD_FMI3_COMMON(X)                                                                                              \
    X(const char *, fmi3GetVersion, (void))                                                                            \
    X(fmi3Status, fmi3SetDebugLogging, (fmi3Instance c, fmi3Boolean on, size_t n, const fmi3String categories[]))      \
    X(fmi3Instance, fmi3InstantiateModelExchange,                                                                      \
      (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,              \
       fmi3InstanceEnvironment environment, fmi3LogMessageCallback log))                                               \
    X(fmi3Instance, fmi3InstantiateCoSimulation,                                                                       \
      (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,              \
       fmi3Boolean event_mode, fmi3Boolean early_return, const fmi3ValueReference intermediate[], size_t n,            \
       fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update))        \
    X(fmi3Instance, fmi3InstantiateScheduledExecution,                                                                 \
      (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,              \
       fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,                 \
       fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock))                                          \
    X(void, fmi3FreeInstance, (fmi3Instance c))                                                                        \
    X(fmi3Status, fmi3EnterInitializationMode,                                                                         \
      (fmi3Instance c, fmi3Boolean has_tolerance, fmi3Float64 tolerance, fmi3Float64 start, fmi3Boolean has_stop,      \
       fmi3Float64 stop))                                                                                              \
    X(fmi3Status, fmi3ExitInitializationMode, (fmi3Instance c))                                                        \
    X(fmi3Status, fmi3EnterEventMode, (fmi3Instance c))                                                                \
    X(fmi3Status, fmi3Terminate, (fmi3Instance c))                                                                     \
    X(fmi3Status, fmi3Reset, (fmi3Instance c))                                                                         \
    KD_FMI3_TYPE(X, Float64)                                                                                           \
    KD_FMI3_TYPES(X)                                                                                                   \
    X(fmi3Status, fmi3GetBinary,                                                                                       \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t size[], fmi3Binary value[], size_t nvalues))    \
    X(fmi3Status, fmi3SetBinary,                                                                                       \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t size[], const fmi3Binary value[],         \
       size_t nvalues))                                                                                                \
    X(fmi3Status, fmi3GetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock value[]))          \
    X(fmi3Status, fmi3SetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[]))    \
    X(fmi3Status, fmi3GetNumberOfVariableDependencies, (fmi3Instance c, fmi3ValueReference vr, size_t * n))            \
    X(fmi3Status, fmi3GetVariableDependencies,                                                                         \
      (fmi3Instance c, fmi3ValueReference dependent, size_t elements_of_dependent[], fmi3ValueReference independent[], \
       size_t elements_of_independent[], fmi3DependencyKind kind[], size_t n))                                         \
    X(fmi3Status, fmi3GetFMUState, (fmi3Instance c, fmi3FMUState * state))                                             \
    X(fmi3Status, fmi3SetFMUState, (fmi3Instance c, fmi3FMUState state))                                               \
    X(fmi3Status, fmi3FreeFMUState, (fmi3Instance c, fmi3FMUState * state))                                            \
    X(fmi3Status, fmi3SerializedFMUStateSize, (fmi3Instance c, fmi3FMUState state, size_t * size))                     \
    X(fmi3Status, fmi3SerializeFMUState, (fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size))          \
    X(fmi3Status, fmi3DeserializeFMUState, (fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)) \
    X(fmi3Status, fmi3GetDirectionalDerivative,                                                                        \
      (fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns, const fmi3ValueReference known[],         \
       size_t nknowns, const fmi3Float64 seed[], size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity))        \
    X(fmi3Status, fmi3GetAdjointDerivative,                                                                            \
      (fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns, const fmi3ValueReference known[],         \
       size_t nknowns, const fmi3Float64 seed[], size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity))        \
    X(fmi3Status, fmi3EnterConfigurationMode, (fmi3Instance c))                                                        \
    X(fmi3Status, fmi3ExitConfigurationMode, (fmi3Instance c))                                                         \
    X(fmi3Status, fmi3GetIntervalDecimal,                                                                              \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 interval[],                                \
       fmi3IntervalQualifier qualifier[]))                                                                             \
    X(fmi3Status, fmi3GetIntervalFraction,                                                                             \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[], fmi3UInt64 resolution[],         \
       fmi3IntervalQualifier qualifier[]))                                                                             \
    X(fmi3Status, fmi3GetShiftDecimal, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shift[])) \
    X(fmi3Status, fmi3GetShiftFraction,                                                                                \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 counter[], fmi3UInt64 resolution[]))        \
    X(fmi3Status, fmi3SetIntervalDecimal,                                                                              \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 interval[]))                         \
    X(fmi3Status, fmi3SetIntervalFraction,                                                                             \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],                            \
       const fmi3UInt64 resolution[]))                                                                                 \
    X(fmi3Status, fmi3SetShiftDecimal,                                                                                 \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 shift[]))                            \
    X(fmi3Status, fmi3SetShiftFraction,                                                                                \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 counter[],                            \
       const fmi3UInt64 resolution[]))                                                                                 \
    X(fmi3Status, fmi3EvaluateDiscreteStates, (fmi3Instance c))                                                        \
    X(fmi3Status, fmi3UpdateDiscreteStates,                                                                            \
      (fmi3Instance c, fmi3Boolean * again, fmi3Boolean * terminate, fmi3Boolean * nominals, fmi3Boolean * values,     \
       fmi3Boolean * has_next, fmi3Float64 * next))

#define KD_FMI3_EXCHANGE(X)                                                                                            \
    X(fmi3Status, fmi3EnterContinuousTimeMode, (fmi3Instance c))                                                       \
    X(fmi3Status, fmi3CompletedIntegratorStep,                                                                         \
      (fmi3Instance c, fmi3Boolean no_return, fmi3Boolean * event_mode, fmi3Boolean * terminate))                      \
    X(fmi3Status, fmi3SetTime, (fmi3Instance c, fmi3Float64 t))                                                        \
    X(fmi3Status, fmi3SetContinuousStates, (fmi3Instance c, const fmi3Float64 x[], size_t n))                          \
    X(fmi3Status, fmi3GetContinuousStateDerivatives, (fmi3Instance c, fmi3Float64 dx[], size_t n))                     \
    X(fmi3Status, fmi3GetEventIndicators, (fmi3Instance c, fmi3Float64 z[], size_t n))                                 \
    X(fmi3Status, fmi3GetContinuousStates, (fmi3Instance c, fmi3Float64 x[], size_t n))                                \
    X(fmi3Status, fmi3GetNominalsOfContinuousStates, (fmi3Instance c, fmi3Float64 nominal[], size_t n))                \
    X(fmi3Status, fmi3GetNumberOfEventIndicators, (fmi3Instance c, size_t * n))                                        \
    X(fmi3Status, fmi3GetNumberOfContinuousStates, (fmi3Instance c, size_t * n))

#define KD_FMI3_COSIMULATION(X)                                                                                        \
    X(fmi3Status, fmi3EnterStepMode, (fmi3Instance c))                                                                 \
    X(fmi3Status, fmi3GetOutputDerivatives,                                                                            \
      (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 order[], fmi3Float64 value[],          \
       size_t nvalues))                                                                                                \
    X(fmi3Status, fmi3DoStep,                                                                                          \
      (fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no_return, fmi3Boolean * event,                       \
       fmi3Boolean * terminate, fmi3Boolean * early, fmi3Float64 * last))

#define KD_FMI3_OTHER(X)                                                                                               \
    X(fmi3Status, fmi3ActivateModelPartition, (fmi3Instance c, fmi3ValueReference clock, fmi3Float64 t))

#define KD_FMI3_LIST(X) KD_FMI3_COMMON(X) KD_FMI3_EXCHANGE(X) KD_FMI3_COSIMULATION(X) KD_FMI3_OTHER(X)

#endif
