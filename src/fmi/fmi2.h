// fmi/fmi2.h: own declarations of the interface of FMI 2.0 (fmi-standard.org, version 2.0.5): types, constants, functions.
//
// Functions are one list, from which FMUs are declared and, as pointers, loaded: X(answer, name, arguments).
#ifndef KD_FMI_FMI2_H
#define KD_FMI_FMI2_H

#include <stddef.h>

typedef void        *fmi2Component;
typedef void        *fmi2ComponentEnvironment;
typedef void        *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double       fmi2Real;
typedef int          fmi2Integer;
typedef int          fmi2Boolean;
typedef char         fmi2Char;
typedef const char  *fmi2String;
typedef char         fmi2Byte;
enum { fmi2False = 0, fmi2True = 1 };

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String instance, fmi2Status, fmi2String category, fmi2String message,
                   ...);
    void *(*allocateMemory)(size_t count, size_t size);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean newDiscreteStatesNeeded;
    fmi2Boolean terminateSimulation;
    fmi2Boolean nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged;
    fmi2Boolean nextEventTimeDefined;
    fmi2Real    nextEventTime;
} fmi2EventInfo;

#define KD_FMI2_COMMON(X)                                                                                              \
    X(const char *, fmi2GetTypesPlatform, (void))                                                                      \
    X(const char *, fmi2GetVersion, (void))                                                                            \
    X(fmi2Status, fmi2SetDebugLogging, (fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]))     \
    X(fmi2Component, fmi2Instantiate,                                                                                  \
      (fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources, const fmi2CallbackFunctions *functions,  \
       fmi2Boolean visible, fmi2Boolean logging))                                                                      \
    X(void, fmi2FreeInstance, (fmi2Component c))                                                                       \
    X(fmi2Status, fmi2SetupExperiment,                                                                                 \
      (fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start, fmi2Boolean has_stop,           \
       fmi2Real stop))                                                                                                 \
    X(fmi2Status, fmi2EnterInitializationMode, (fmi2Component c))                                                      \
    X(fmi2Status, fmi2ExitInitializationMode, (fmi2Component c))                                                       \
    X(fmi2Status, fmi2Terminate, (fmi2Component c))                                                                    \
    X(fmi2Status, fmi2Reset, (fmi2Component c))                                                                        \
    X(fmi2Status, fmi2GetReal, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]))           \
    X(fmi2Status, fmi2GetInteger, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[]))     \
    X(fmi2Status, fmi2GetBoolean, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[]))     \
    X(fmi2Status, fmi2GetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]))       \
    X(fmi2Status, fmi2SetReal, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]))     \
    X(fmi2Status, fmi2SetInteger,                                                                                      \
      (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[]))                           \
    X(fmi2Status, fmi2SetBoolean,                                                                                      \
      (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[]))                           \
    X(fmi2Status, fmi2SetString, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[])) \
    X(fmi2Status, fmi2GetFMUstate, (fmi2Component c, fmi2FMUstate * state))                                            \
    X(fmi2Status, fmi2SetFMUstate, (fmi2Component c, fmi2FMUstate state))                                              \
    X(fmi2Status, fmi2FreeFMUstate, (fmi2Component c, fmi2FMUstate * state))                                           \
    X(fmi2Status, fmi2SerializedFMUstateSize, (fmi2Component c, fmi2FMUstate state, size_t * size))                    \
    X(fmi2Status, fmi2SerializeFMUstate, (fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size))         \
    X(fmi2Status, fmi2DeSerializeFMUstate,                                                                             \
      (fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state))                                     \
    X(fmi2Status, fmi2GetDirectionalDerivative,                                                                        \
      (fmi2Component c, const fmi2ValueReference unknown[], size_t nunknowns, const fmi2ValueReference known[],        \
       size_t nknowns, const fmi2Real dknown[], fmi2Real dunknown[]))

#define KD_FMI2_EXCHANGE(X)                                                                                            \
    X(fmi2Status, fmi2EnterEventMode, (fmi2Component c))                                                               \
    X(fmi2Status, fmi2NewDiscreteStates, (fmi2Component c, fmi2EventInfo * info))                                      \
    X(fmi2Status, fmi2EnterContinuousTimeMode, (fmi2Component c))                                                      \
    X(fmi2Status, fmi2CompletedIntegratorStep,                                                                         \
      (fmi2Component c, fmi2Boolean no_return, fmi2Boolean * event_mode, fmi2Boolean * terminate))                     \
    X(fmi2Status, fmi2SetTime, (fmi2Component c, fmi2Real t))                                                          \
    X(fmi2Status, fmi2SetContinuousStates, (fmi2Component c, const fmi2Real x[], size_t n))                            \
    X(fmi2Status, fmi2GetDerivatives, (fmi2Component c, fmi2Real dx[], size_t n))                                      \
    X(fmi2Status, fmi2GetEventIndicators, (fmi2Component c, fmi2Real z[], size_t n))                                   \
    X(fmi2Status, fmi2GetContinuousStates, (fmi2Component c, fmi2Real x[], size_t n))                                  \
    X(fmi2Status, fmi2GetNominalsOfContinuousStates, (fmi2Component c, fmi2Real nominal[], size_t n))

#define KD_FMI2_COSIMULATION(X)                                                                                        \
    X(fmi2Status, fmi2SetRealInputDerivatives,                                                                         \
      (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[], const fmi2Real value[]))   \
    X(fmi2Status, fmi2GetRealOutputDerivatives,                                                                        \
      (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[], fmi2Real value[]))         \
    X(fmi2Status, fmi2DoStep, (fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no_return))                        \
    X(fmi2Status, fmi2CancelStep, (fmi2Component c))                                                                   \
    X(fmi2Status, fmi2GetStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Status *value))                      \
    X(fmi2Status, fmi2GetRealStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Real *value))                    \
    X(fmi2Status, fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value))              \
    X(fmi2Status, fmi2GetBooleanStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value))              \
    X(fmi2Status, fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2String *value))

#define KD_FMI2_LIST(X) KD_FMI2_COMMON(X) KD_FMI2_EXCHANGE(X) KD_FMI2_COSIMULATION(X)

#endif
