// fixture.c: FMUs for tests, FMI 2.0 and 3.0 in one: the models that ../shared/fmi describes, and one that misbehaves. FIXTURE says
// which; written after the descriptions alone.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fmi/fmi2.h"
#include "fmi/fmi3.h"

#define BALL 1
#define DAHLQUIST 2
#define FEEDTHROUGH 3
#define RESOURCE 4
// what it does stands in its token: CRASH, EXIT, HANG, ERROR, NAN at once; behind 0.35 s FALLS (a crash), STALLS (a hang), FAILS (an
// error), LOSES (no number)
#define HOSTILE 5
// x' = a u - k x, y = x + 3 u; a changes at 0.25 and 0.6 s (time events), k at the end of the first step with x < -0.1 (step event).
// slopes counts what was asked of directional derivatives
#define STAGES 6

#define API __attribute__((visibility("default")))
#define X(answer, name, arguments) API answer name arguments;
KD_FMI2_LIST(X)
KD_FMI3_LIST(X)
#undef X

enum { VARIABLES = 40 };

typedef struct model {
    double   t, t_start;
    long     steps;
    double   f64[VARIABLES], z;
    bool     asked; // for an event, at the end of a step
    float    f32[VARIABLES];
    int64_t  i64[VARIABLES]; // all signed integers, Booleans
    uint64_t u64[VARIABLES];
    char     text[VARIABLES][64];
    uint8_t  bytes[VARIABLES][64];
    size_t   nbytes[VARIABLES];
    char     token[100], folder[1000];
} model;

// ---- the models -----------------------------------------------------------------------------------------------------

static void reset(model *m)
{
    m->t = m->t_start = m->z = 0;
    m->steps = 0;
    memset(m->f64, 0, sizeof m->f64);
#if FIXTURE == BALL
    m->f64[1] = 1, m->f64[5] = -9.81, m->f64[6] = 0.7, m->f64[7] = 0.1;
#elif FIXTURE == DAHLQUIST || FIXTURE == HOSTILE
    m->f64[1] = 1, m->f64[3] = 1;
#elif FIXTURE == STAGES
    m->f64[1] = 0.5, m->f64[3] = 2, m->f64[5] = 1;
#elif FIXTURE == FEEDTHROUGH
    memset(m->f32, 0, sizeof m->f32);
    memset(m->i64, 0, sizeof m->i64);
    memset(m->u64, 0, sizeof m->u64);
    strcpy(m->text[29], "Set me!");
    m->nbytes[31] = 3;
    memcpy(m->bytes[31], "foo", 3);
    m->i64[33] = 1;
#endif
}

static void outputs(model *m)
{
    m->f64[0] = m->t;
#if FIXTURE == BALL
    m->f64[2] = m->f64[3], m->f64[4] = m->f64[5];
#elif FIXTURE == DAHLQUIST || FIXTURE == HOSTILE
    m->f64[2] = -m->f64[3] * m->f64[1];
#elif FIXTURE == STAGES
    m->f64[2] = m->f64[5] * m->f64[4] - m->f64[3] * m->f64[1];
    m->f64[6] = m->f64[1] + 3 * m->f64[4];
#elif FIXTURE == FEEDTHROUGH
    static const int INPUT[] = {1, 3, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33};
    for (size_t k = 0; k < sizeof INPUT / sizeof *INPUT; k++) {
        const int i = INPUT[k];
        m->f64[i + 1] = m->f64[i];
        m->f32[i + 1] = m->f32[i];
        m->i64[i + 1] = m->i64[i];
        m->u64[i + 1] = m->u64[i];
        memcpy(m->text[i + 1], m->text[i], sizeof m->text[i]);
        memcpy(m->bytes[i + 1], m->bytes[i], sizeof m->bytes[i]);
        m->nbytes[i + 1] = m->nbytes[i];
    }
#elif FIXTURE == RESOURCE
    char path[1100];
    snprintf(path, sizeof path, "%s/y.txt", m->folder);
    FILE *file = fopen(path, "r");
    m->i64[1] = file ? fgetc(file) : -1;
    if (file) fclose(file);
#endif
}

// Places of the states among the variables; behind each stands its derivative
static int states(int *place)
{
    (void)place;
#if FIXTURE == BALL
    place[0] = 1, place[1] = 3;
    return 2;
#elif FIXTURE == DAHLQUIST || FIXTURE == HOSTILE || FIXTURE == STAGES
    place[0] = 1;
    return 1;
#else
    return 0;
#endif
}

static double indicator(const model *m)
{
#if FIXTURE == BALL
    return m->f64[1] > -1e-10 && m->f64[1] <= 0 && m->f64[3] > 0 ? -1e-10 : m->f64[1];
#else
    (void)m;
    return 1;
#endif
}

// true: the states have changed
static bool update(model *m)
{
#if FIXTURE == BALL
    if (m->f64[1] <= 0 && m->f64[3] < 0) {
        m->f64[1] = DBL_MIN;
        m->f64[3] *= -m->f64[6];
        if (m->f64[3] < m->f64[7]) m->f64[3] = m->f64[5] = 0;
        return true;
    }
#elif FIXTURE == STAGES
    m->f64[5] = m->t >= 0.6 ? 2 : m->t >= 0.25 ? -1 : 1;
    if (m->asked) m->f64[3] = 5;
    m->asked = false;
#endif
    (void)m;
    return false;
}

// Time of the next event; 0: there is none
static double next_event(const model *m)
{
    if (FIXTURE != STAGES || m->t >= 0.6) return 0;
    return m->t >= 0.25 ? 0.6 : 0.25;
}

// Does the end of a step ask for an event?
static bool completed(model *m)
{
    m->asked = FIXTURE == STAGES && m->f64[1] < -0.1 && m->f64[3] == 2;
    return m->asked;
}

// dy/dx of variables of STAGES
static double slope(model *m, unsigned of, unsigned by)
{
    m->f64[7]++;
    if (of == 2) return by == 1 ? -m->f64[3] : by == 4 ? m->f64[5] : 0;
    return of == 6 ? (by == 1) + 3 * (by == 4) : 0;
}

// Explicit Euler, events at the end of its steps
static void step(model *m, double t_end)
{
    const double h = FIXTURE == BALL ? 1e-3 : FIXTURE == RESOURCE ? 1 : 0.1;
    while (m->t + h < t_end + 0.1 * h) {
        int    place[2];
        double x[2];
        outputs(m);
        const int n = states(place);
        for (int i = 0; i < n; i++) x[i] = m->f64[place[i]] + h * m->f64[place[i] + 1];
        for (int i = 0; i < n; i++) m->f64[place[i]] = x[i];
        m->t = m->t_start + (double)++m->steps * h;
        const double z = indicator(m);
        if ((m->z <= 0 && z > 0) || (m->z > 0 && z <= 0)) update(m);
        m->z = indicator(m);
    }
    outputs(m);
}

// ---- instances ------------------------------------------------------------------------------------------------------

// A path as it is (3.0), or what stands in a URI (2.0)
static void take_folder(const char *from, char *to, size_t size)
{
    const bool uri = strncmp(from, "file://", 7) == 0;
    size_t     n = 0;
    for (from += uri ? 7 : 0; *from && n + 1 < size; from++) {
        unsigned   code;
        const bool coded = uri && *from == '%' && sscanf(from + 1, "%2x", &code) == 1;
        to[n++] = coded ? (char)code : *from;
        if (coded) from += 2;
    }
    to[n] = '\0';
}

static model *make(const char *token, const char *folder)
{
    model *m = calloc(1, sizeof *m);
    snprintf(m->token, sizeof m->token, "%s", token);
    take_folder(folder, m->folder, sizeof m->folder);
    reset(m);
    return m;
}

static bool is(const model *m, const char *word)
{
    return strstr(m->token, word) != NULL;
}

static void start(model *m, double t)
{
    if (is(m, "CRASH")) abort();
    if (is(m, "EXIT")) _exit(3);
    // a process of its own that holds on to standard output
    if (is(m, "BREEDS") && fork() == 0)
        for (;;) sleep(100);
    for (char *p; is(m, "EATS");) {
        if (!(p = malloc(1 << 24))) abort();
        memset(p, 1, 1 << 24);
    }
    m->t = m->t_start = t;
    m->steps = 0;
}

static void finish(model *m)
{
    outputs(m);
    m->z = indicator(m);
}

static bool do_step(model *m, double t_end)
{
    volatile int turns = 0;
    while (is(m, "HANG")) turns = turns ^ 1;
    step(m, t_end);
    const bool late = t_end > 0.35;
    if (late && is(m, "FALLS")) abort();
    while (late && is(m, "STALLS")) turns = turns ^ 1;
    if (late && is(m, "LOSES")) m->f64[1] = (double)NAN;
    return !is(m, "ERROR") && !(late && is(m, "FAILS"));
}

static void set_states(model *m, const double *value)
{
    int place[2];
    for (int i = 0, n = states(place); i < n; i++) m->f64[place[i]] = value[i];
}

// shift 1: derivatives
static void get_states(model *m, double *value, int shift)
{
    int place[2];
    outputs(m);
    for (int i = 0, n = states(place); i < n; i++)
        value[i] = is(m, "NAN") && shift ? (double)NAN : m->f64[place[i] + shift];
}

// ---- FMI 2.0 --------------------------------------------------------------------------------------------------------

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *f, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)name, (void)f, (void)visible, (void)logging, (void)type;
    return make(guid, resources);
}

void fmi2FreeInstance(fmi2Component c)
{
    free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real t, fmi2Boolean d, fmi2Real e)
{
    (void)a, (void)b, (void)d, (void)e;
    start(c, t);
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    finish(c);
    return fmi2OK;
}

#define GET2(type, array)                                                                                              \
    fmi2Status fmi2Get##type(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2##type value[])             \
    {                                                                                                                  \
        outputs(c);                                                                                                    \
        for (size_t i = 0; i < n; i++) value[i] = (fmi2##type)((model *)c)->array[vr[i]];                              \
        return fmi2OK;                                                                                                 \
    }                                                                                                                  \
    fmi2Status fmi2Set##type(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2##type value[])       \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) ((model *)c)->array[vr[i]] = value[i];                                          \
        return fmi2OK;                                                                                                 \
    }
GET2(Real, f64)
GET2(Integer, i64)
GET2(Boolean, i64)

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    outputs(c);
    for (size_t i = 0; i < n; i++) value[i] = ((model *)c)->text[vr[i]];
    return fmi2OK;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    for (size_t i = 0; i < n; i++) snprintf(((model *)c)->text[vr[i]], 64, "%s", value[i]);
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    const bool changed = update(c);
    *info = (fmi2EventInfo){.valuesOfContinuousStatesChanged = changed,
                            .nextEventTimeDefined = next_event(c) > 0,
                            .nextEventTime = next_event(c)};
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no, fmi2Boolean *e, fmi2Boolean *t)
{
    (void)no;
    *e = completed(c);
    *t = 0;
    return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t nunknowns,
                                        const fmi2ValueReference known[], size_t nknowns, const fmi2Real dknown[],
                                        fmi2Real dunknown[])
{
    for (size_t i = 0; i < nunknowns; i++) {
        dunknown[i] = 0;
        for (size_t k = 0; k < nknowns; k++) dunknown[i] += slope(c, unknown[i], known[k]) * dknown[k];
    }
    return fmi2OK;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (!*state) *state = malloc(sizeof(model));
    memcpy(*state, c, sizeof(model));
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    memcpy(c, state, sizeof(model));
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t)
{
    ((model *)c)->t = t;
    return fmi2OK;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    (void)n;
    set_states(c, x);
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t n)
{
    (void)n;
    get_states(c, dx, 1);
    return fmi2OK;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    if (n > 0) z[0] = indicator(c);
    return fmi2OK;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    (void)n;
    get_states(c, x, 0);
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean no)
{
    (void)no;
    return do_step(c, t + h) ? fmi2OK : fmi2Error;
}

#define NOTHING2(name)                                                                                                 \
    fmi2Status name(fmi2Component c)                                                                                   \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        return fmi2OK;                                                                                                 \
    }
NOTHING2(fmi2EnterInitializationMode)
NOTHING2(fmi2Terminate)
NOTHING2(fmi2EnterEventMode)
NOTHING2(fmi2EnterContinuousTimeMode)

// ---- FMI 3.0 --------------------------------------------------------------------------------------------------------

const char *fmi3GetVersion(void)
{
    return "3.0";
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean v,
                                          fmi3Boolean l, fmi3InstanceEnvironment e, fmi3LogMessageCallback log)
{
    (void)name, (void)v, (void)l, (void)e, (void)log;
    return make(token, resources);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean v,
                                         fmi3Boolean l, fmi3Boolean em, fmi3Boolean er, const fmi3ValueReference i[],
                                         size_t n, fmi3InstanceEnvironment e, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback u)
{
    (void)name, (void)v, (void)l, (void)em, (void)er, (void)i, (void)n, (void)e, (void)log, (void)u;
    return make(token, resources);
}

void fmi3FreeInstance(fmi3Instance c)
{
    free(c);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean a, fmi3Float64 b, fmi3Float64 t, fmi3Boolean d,
                                       fmi3Float64 e)
{
    (void)a, (void)b, (void)d, (void)e;
    start(c, t);
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    finish(c);
    return fmi3OK;
}

#define GET3(type, array)                                                                                              \
    fmi3Status fmi3Get##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3##type value[], size_t m)    \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        outputs(c);                                                                                                    \
        for (size_t i = 0; i < n; i++) value[i] = (fmi3##type)((model *)c)->array[vr[i]];                              \
        return fmi3OK;                                                                                                 \
    }                                                                                                                  \
    fmi3Status fmi3Set##type(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3##type value[],        \
                             size_t m)                                                                                 \
    {                                                                                                                  \
        (void)m;                                                                                                       \
        for (size_t i = 0; i < n; i++) ((model *)c)->array[vr[i]] = value[i];                                          \
        return fmi3OK;                                                                                                 \
    }
GET3(Float64, f64)
GET3(Float32, f32)
GET3(Int8, i64)
GET3(UInt8, u64)
GET3(Int16, i64)
GET3(UInt16, u64)
GET3(Int32, i64)
GET3(UInt32, u64)
GET3(Int64, i64)
GET3(UInt64, u64)
GET3(Boolean, i64)

fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3String value[], size_t m)
{
    (void)m;
    return (fmi3Status)fmi2GetString(c, vr, n, value);
}

fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3String value[], size_t m)
{
    (void)m;
    return (fmi3Status)fmi2SetString(c, vr, n, value);
}

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t size[], fmi3Binary value[],
                         size_t m)
{
    (void)m;
    outputs(c);
    for (size_t i = 0; i < n; i++) {
        size[i] = ((model *)c)->nbytes[vr[i]];
        value[i] = ((model *)c)->bytes[vr[i]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t size[],
                         const fmi3Binary value[], size_t m)
{
    (void)m;
    for (size_t i = 0; i < n; i++) {
        ((model *)c)->nbytes[vr[i]] = size[i] < 64 ? size[i] : 64;
        memcpy(((model *)c)->bytes[vr[i]], value[i], ((model *)c)->nbytes[vr[i]]);
    }
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *values, fmi3Boolean *has_next, fmi3Float64 *next)
{
    *again = *terminate = *nominals = false;
    *values = update(c);
    *next = next_event(c);
    *has_next = *next > 0;
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean no, fmi3Boolean *e, fmi3Boolean *t)
{
    (void)no;
    *e = completed(c);
    *t = false;
    return fmi3OK;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknown[], size_t nunknowns,
                                        const fmi3ValueReference known[], size_t nknowns, const fmi3Float64 seed[],
                                        size_t nseed, fmi3Float64 sensitivity[], size_t nsensitivity)
{
    (void)nseed, (void)nsensitivity;
    return (fmi3Status)fmi2GetDirectionalDerivative(c, unknown, nunknowns, known, nknowns, seed, sensitivity);
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    return (fmi3Status)fmi2GetFMUstate(c, state);
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    return (fmi3Status)fmi2SetFMUstate(c, state);
}

fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    return (fmi3Status)fmi2FreeFMUstate(c, state);
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 t)
{
    ((model *)c)->t = t;
    return fmi3OK;
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 x[], size_t n)
{
    return (fmi3Status)fmi2SetContinuousStates(c, x, n);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 dx[], size_t n)
{
    return (fmi3Status)fmi2GetDerivatives(c, dx, n);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 z[], size_t n)
{
    return (fmi3Status)fmi2GetEventIndicators(c, z, n);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t n)
{
    return (fmi3Status)fmi2GetContinuousStates(c, x, n);
}

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 t, fmi3Float64 h, fmi3Boolean no, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    (void)no;
    *event = *terminate = *early = false;
    *last = t + h;
    return do_step(c, t + h) ? fmi3OK : fmi3Error;
}

#define NOTHING3(name)                                                                                                 \
    fmi3Status name(fmi3Instance c)                                                                                    \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        return fmi3OK;                                                                                                 \
    }
NOTHING3(fmi3EnterEventMode)
NOTHING3(fmi3Terminate)
NOTHING3(fmi3EnterContinuousTimeMode)
