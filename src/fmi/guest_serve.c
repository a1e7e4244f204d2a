// guest_serve.c: the side of the FMU: its shared object is loaded, its functions are called in the order of the standard.
#define _POSIX_C_SOURCE 200809L
#include "fmi/guest_serve.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "fmi/fmi2.h"
#include "fmi/fmi3.h"

struct kd_served {
    void *library, *instance;
    int   version;
    bool  exchange;
    char  log[KD_GUEST_TEXT]; // the last error that it told
#define X(answer, name, arguments) answer(*name) arguments;
    KD_FMI2_LIST(X)
    KD_FMI3_LIST(X)
#undef X
    fmi2CallbackFunctions callbacks;
    void                 *saved[KD_GUEST_SLOTS]; // states of the FMU
    bool                  goes_back;             // something was saved: steps may begin again at an earlier time
    double               *numbers;               // (room) of evaluations
    uint32_t             *references;            // (room)
    size_t                room;
};

// ---- bytes ----------------------------------------------------------------------------------------------------------

void kd_bytes_put(kd_guest_bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        const size_t   room = 2 * (b->size + size) + 256;
        unsigned char *larger = room <= 2 * (size_t)KD_GUEST_BYTES ? kd_alloc(room) : NULL;
        if (!larger) return;
        if (b->size > 0) memcpy(larger, b->data, b->size);
        kd_free(b->data);
        b->data = larger;
        b->room = room;
    }
    if (size > 0) memcpy(b->data + b->size, data, size);
    b->size += size;
}

bool kd_bytes_get(kd_guest_bytes *b, void *data, size_t size)
{
    if (size > b->size - b->at) return false;
    if (size > 0) memcpy(data, b->data + b->at, size);
    b->at += size;
    return true;
}

static bool get_text(kd_guest_bytes *b, char *text, size_t size)
{
    uint32_t length = 0;
    if (!kd_bytes_get(b, &length, sizeof length) || length >= size || !kd_bytes_get(b, text, length)) return false;
    text[length] = '\0';
    return true;
}

// ---- loading --------------------------------------------------------------------------------------------------------

kd_served *kd_served_create(void)
{
    return kd_alloc(sizeof(kd_served));
}

void kd_served_destroy(kd_served *s)
{
    if (!s) return;
    for (int i = 0; i < KD_GUEST_SLOTS; i++) {
        if (s->saved[i] && s->version == 2) s->fmi2FreeFMUstate(s->instance, &s->saved[i]);
        if (s->saved[i] && s->version == 3) s->fmi3FreeFMUState(s->instance, &s->saved[i]);
    }
    if (s->instance && s->version == 2) s->fmi2FreeInstance(s->instance);
    if (s->instance && s->version == 3) s->fmi3FreeInstance(s->instance);
    if (s->library) dlclose(s->library);
    kd_free(s->numbers);
    kd_free(s->references);
    kd_free(s);
}

static void hear2(fmi2ComponentEnvironment e, fmi2String instance, fmi2Status status, fmi2String category,
                  fmi2String message, ...)
{
    kd_served *s = e;
    va_list    arguments;
    (void)instance, (void)category;
    if (!s || status < fmi2Discard || !message) return;
    va_start(arguments, message);
    vsnprintf(s->log, sizeof s->log, message, arguments);
    va_end(arguments);
}

static void hear3(fmi3InstanceEnvironment e, fmi3Status status, fmi3String category, fmi3String message)
{
    kd_served *s = e;
    (void)category;
    if (s && status >= fmi3Discard && message) kd_text(s->log, sizeof s->log, "%s", message);
}

// All functions of a list; those that a kind of FMU need not have may be missing
static void load(kd_served *s)
{
    void *found;
#define X(answer, name, arguments)                                                                                     \
    found = dlsym(s->library, #name);                                                                                  \
    memcpy(&s->name, &found, sizeof found);
    KD_FMI2_LIST(X)
    KD_FMI3_LIST(X)
#undef X
}

// The first function that is missing and will be needed; NULL: none
static const char *missing(const kd_served *s)
{
#define NEED(name)                                                                                                     \
    if (!s->name) return #name;
    if (s->version == 2) {
        NEED(fmi2Instantiate)
        NEED(fmi2FreeInstance)
        NEED(fmi2SetupExperiment)
        NEED(fmi2EnterInitializationMode)
        NEED(fmi2ExitInitializationMode)
        NEED(fmi2Terminate)
        NEED(fmi2GetReal)
        NEED(fmi2SetReal)
        NEED(fmi2GetInteger)
        NEED(fmi2SetInteger)
        NEED(fmi2GetBoolean)
        NEED(fmi2SetBoolean)
        NEED(fmi2GetString)
        NEED(fmi2SetString)
        if (!s->exchange) {
            NEED(fmi2DoStep)
            return NULL;
        }
        NEED(fmi2EnterEventMode)
        NEED(fmi2NewDiscreteStates)
        NEED(fmi2EnterContinuousTimeMode)
        NEED(fmi2CompletedIntegratorStep)
        NEED(fmi2SetTime)
        NEED(fmi2SetContinuousStates)
        NEED(fmi2GetDerivatives)
        NEED(fmi2GetEventIndicators)
        NEED(fmi2GetContinuousStates)
        return NULL;
    }
    NEED(fmi3FreeInstance)
    NEED(fmi3EnterInitializationMode)
    NEED(fmi3ExitInitializationMode)
    NEED(fmi3Terminate)
#define NEED_TYPE(answer, name, arguments) NEED(name)
    KD_FMI3_TYPE(NEED_TYPE, Float64)
    KD_FMI3_TYPES(NEED_TYPE)
#undef NEED_TYPE
    NEED(fmi3GetBinary)
    NEED(fmi3SetBinary)
    if (!s->exchange) {
        NEED(fmi3InstantiateCoSimulation)
        NEED(fmi3DoStep)
        return NULL;
    }
    NEED(fmi3InstantiateModelExchange)
    NEED(fmi3EnterEventMode)
    NEED(fmi3UpdateDiscreteStates)
    NEED(fmi3EnterContinuousTimeMode)
    NEED(fmi3CompletedIntegratorStep)
    NEED(fmi3SetTime)
    NEED(fmi3SetContinuousStates)
    NEED(fmi3GetContinuousStateDerivatives)
    NEED(fmi3GetEventIndicators)
    NEED(fmi3GetContinuousStates)
#undef NEED
    return NULL;
}

// file:///folder, with what is no letter, digit or one of -._~/ as %XX (RFC 3986)
static void write_uri(const char *path, char *uri, size_t size)
{
    kd_text(uri, size, "file://");
    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        const bool          plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
        kd_text_append(uri, size, plain ? "%c" : "%%%02X", c);
    }
}

// exchange, version, then binary, token, folder of resources
static kd_status open_it(kd_served *s, kd_guest_bytes *in, char *text)
{
    char    binary[4200], token[400], resources[4200], uri[3 * 4200 + 10];
    uint8_t head[2];
    if (!kd_bytes_get(in, head, 2) || !get_text(in, binary, sizeof binary) || !get_text(in, token, sizeof token) ||
        !get_text(in, resources, sizeof resources))
        return KD_ERR_ARGUMENT;
    // the library with its functions, all that are needed
    s->exchange = head[0];
    s->version = head[1];
    s->library = dlopen(binary, RTLD_NOW | RTLD_LOCAL);
    if (!s->library) {
        kd_text(text, KD_GUEST_TEXT, "its binary cannot be loaded: %s", dlerror());
        return KD_ERR_FILE;
    }
    load(s);
    const char *name = missing(s);
    if (name) {
        kd_text(text, KD_GUEST_TEXT, "its binary has no function %s", name);
        return KD_ERR_FILE;
    }
    // an instance of that version
    if (s->version == 2) {
        s->callbacks = (fmi2CallbackFunctions){hear2, calloc, free, NULL, s};
        write_uri(resources, uri, sizeof uri);
        s->instance = s->fmi2Instantiate("guest", s->exchange ? fmi2ModelExchange : fmi2CoSimulation, token, uri,
                                         &s->callbacks, fmi2False, fmi2False);
    } else {
        kd_text(uri, sizeof uri, "%s/", resources);
        s->instance = s->exchange ? s->fmi3InstantiateModelExchange("guest", token, uri, false, false, s, hear3)
                                  : s->fmi3InstantiateCoSimulation("guest", token, uri, false, false, false, false,
                                                                   NULL, 0, s, hear3, NULL);
    }
    if (s->instance) return KD_OK;
    kd_text(text, KD_GUEST_TEXT, "it could not be instantiated%s%s", *s->log ? ": " : "", s->log);
    return KD_ERR_FILE;
}

// ---- values ---------------------------------------------------------------------------------------------------------

// What the FMU answered, both versions alike: 0 good, 1 warning, 2 discard, 3 error, 4 fatal
static kd_status judged(kd_served *s, int answer, const char *call, char *text)
{
    if (answer == 0 || answer == 1) return KD_OK;
    kd_text(text, KD_GUEST_TEXT, "%s answered %s%s%s", call,
            answer == 2   ? "\"discard\""
            : answer == 3 ? "\"error\""
                          : "\"fatal\"",
            *s->log ? ": " : "", s->log);
    return answer == 2 ? KD_ERR_RETRY_FAILED : KD_ERR_CALLBACK_STOP;
}

static int set_value2(kd_served *s, int type, uint32_t reference, kd_guest_bytes *in)
{
    fmi2Real    real;
    fmi2Integer whole;
    char        word[2000];
    switch (type) {
    case KD_FMI_FLOAT64:
        return kd_bytes_get(in, &real, sizeof real) ? (int)s->fmi2SetReal(s->instance, &reference, 1, &real) : 3;
    case KD_FMI_BOOLEAN:
        return kd_bytes_get(in, &whole, sizeof whole) ? (int)s->fmi2SetBoolean(s->instance, &reference, 1, &whole) : 3;
    case KD_FMI_INT32:
    case KD_FMI_ENUMERATION:
        return kd_bytes_get(in, &whole, sizeof whole) ? (int)s->fmi2SetInteger(s->instance, &reference, 1, &whole) : 3;
    case KD_FMI_STRING:
        return get_text(in, word, sizeof word) ? (int)s->fmi2SetString(s->instance, &reference, 1, &(fmi2String){word})
                                               : 3;
    default:
        return 3;
    }
}

static void put_text(kd_guest_bytes *out, const char *text)
{
    const uint32_t length = text ? (uint32_t)strnlen(text, KD_GUEST_BYTES / 2) : 0;
    kd_bytes_put(out, &length, sizeof length);
    kd_bytes_put(out, text, length);
}

static int get_value2(kd_served *s, int type, uint32_t reference, kd_guest_bytes *out)
{
    fmi2Real    real = 0;
    fmi2Integer whole = 0;
    fmi2String  word = NULL;
    int         answer = 3;
    switch (type) {
    case KD_FMI_FLOAT64:
        answer = (int)s->fmi2GetReal(s->instance, &reference, 1, &real);
        kd_bytes_put(out, &real, sizeof real);
        break;
    case KD_FMI_BOOLEAN:
        answer = (int)s->fmi2GetBoolean(s->instance, &reference, 1, &whole);
        kd_bytes_put(out, &whole, sizeof whole);
        break;
    case KD_FMI_INT32:
    case KD_FMI_ENUMERATION:
        answer = (int)s->fmi2GetInteger(s->instance, &reference, 1, &whole);
        kd_bytes_put(out, &whole, sizeof whole);
        break;
    case KD_FMI_STRING:
        answer = (int)s->fmi2GetString(s->instance, &reference, 1, &word);
        put_text(out, answer < 2 ? word : NULL);
        break;
    default:
        break;
    }
    return answer;
}

#define TYPES3(X)                                                                                                      \
    X(FLOAT64, Float64)                                                                                                \
    X(FLOAT32, Float32)                                                                                                \
    X(INT8, Int8)                                                                                                      \
    X(UINT8, UInt8)                                                                                                    \
    X(INT16, Int16)                                                                                                    \
    X(UINT16, UInt16)                                                                                                  \
    X(INT32, Int32)                                                                                                    \
    X(UINT32, UInt32)                                                                                                  \
    X(INT64, Int64)                                                                                                    \
    X(UINT64, UInt64)                                                                                                  \
    X(BOOLEAN, Boolean)

static int set_value3(kd_served *s, int type, uint32_t reference, kd_guest_bytes *in)
{
    char     word[2000];
    uint32_t length;
    switch (type) {
#define CASE(name, word_)                                                                                              \
    case KD_FMI_##name: {                                                                                              \
        fmi3##word_ value;                                                                                             \
        return kd_bytes_get(in, &value, sizeof value) ? (int)s->fmi3Set##word_(s->instance, &reference, 1, &value, 1)  \
                                                      : 3;                                                             \
    }
        TYPES3(CASE)
#undef CASE
    case KD_FMI_ENUMERATION: {
        fmi3Int64 value;
        return kd_bytes_get(in, &value, sizeof value) ? (int)s->fmi3SetInt64(s->instance, &reference, 1, &value, 1) : 3;
    }
    case KD_FMI_STRING:
        return get_text(in, word, sizeof word)
                   ? (int)s->fmi3SetString(s->instance, &reference, 1, &(fmi3String){word}, 1)
                   : 3;
    case KD_FMI_BINARY:
        if (!kd_bytes_get(in, &length, sizeof length) || length > in->size - in->at) return 3;
        return (int)s->fmi3SetBinary(s->instance, &reference, 1, &(size_t){length}, &(fmi3Binary){in->data + in->at},
                                     1);
    default:
        return 3;
    }
}

static int get_value3(kd_served *s, int type, uint32_t reference, kd_guest_bytes *out)
{
    int answer = 3;
    switch (type) {
#define CASE(name, word_)                                                                                              \
    case KD_FMI_##name: {                                                                                              \
        fmi3##word_ value = 0;                                                                                         \
        answer = (int)s->fmi3Get##word_(s->instance, &reference, 1, &value, 1);                                        \
        kd_bytes_put(out, &value, sizeof value);                                                                       \
        return answer;                                                                                                 \
    }
        TYPES3(CASE)
#undef CASE
    case KD_FMI_ENUMERATION: {
        fmi3Int64 value = 0;
        answer = (int)s->fmi3GetInt64(s->instance, &reference, 1, &value, 1);
        kd_bytes_put(out, &value, sizeof value);
        return answer;
    }
    case KD_FMI_STRING: {
        fmi3String word = NULL;
        answer = (int)s->fmi3GetString(s->instance, &reference, 1, &word, 1);
        put_text(out, answer < 2 ? word : NULL);
        return answer;
    }
    case KD_FMI_BINARY: {
        fmi3Binary bytes = NULL;
        size_t     size = 0;
        answer = (int)s->fmi3GetBinary(s->instance, &reference, 1, &size, &bytes, 1);
        const uint32_t length = answer < 2 && bytes && size < KD_GUEST_BYTES / 2 ? (uint32_t)size : 0;
        kd_bytes_put(out, &length, sizeof length);
        kd_bytes_put(out, bytes, length);
        return answer;
    }
    default:
        return answer;
    }
}

// ---- calls ----------------------------------------------------------------------------------------------------------

static int begin(kd_served *s, const double *in)
{
    const bool has_stop = isfinite(in[1]), has_tolerance = in[2] > 0;
    if (s->version == 3)
        return (int)s->fmi3EnterInitializationMode(s->instance, has_tolerance, in[2], in[0], has_stop,
                                                   has_stop ? in[1] : 0);
    const int answer =
        (int)s->fmi2SetupExperiment(s->instance, has_tolerance, in[2], in[0], has_stop, has_stop ? in[1] : 0);
    return answer > 1 ? answer : (int)s->fmi2EnterInitializationMode(s->instance);
}

static int make_step(kd_served *s, const double *in, double *out)
{
    out[0] = in[0] + in[1];
    out[1] = 0;
    if (s->version == 3) {
        // version 3 tells events and early ends itself
        bool      event = false, stop = false, early = false;
        double    last = out[0];
        const int answer = (int)s->fmi3DoStep(s->instance, in[0], in[1], !s->goes_back, &event, &stop, &early, &last);
        if (early || stop) out[0] = last;
        out[1] = stop;
        return answer;
    }
    // version 2 tells an end by a status that is asked for
    int         answer = (int)s->fmi2DoStep(s->instance, in[0], in[1], s->goes_back ? fmi2False : fmi2True);
    fmi2Boolean stopped = fmi2False;
    if (answer == 2 && s->fmi2GetBooleanStatus &&
        s->fmi2GetBooleanStatus(s->instance, fmi2Terminated, &stopped) == fmi2OK && stopped) {
        if (s->fmi2GetRealStatus) (void)s->fmi2GetRealStatus(s->instance, fmi2LastSuccessfulTime, out);
        out[1] = 1;
        answer = 0;
    }
    return answer;
}

static int rates(kd_served *s, double t, const double *x, size_t n, double *dx, double *z, size_t m)
{
    const bool three = s->version == 3;
    int        answer = three ? (int)s->fmi3SetTime(s->instance, t) : (int)s->fmi2SetTime(s->instance, t);
    if (answer < 2 && n > 0)
        answer = three ? (int)s->fmi3SetContinuousStates(s->instance, x, n)
                       : (int)s->fmi2SetContinuousStates(s->instance, x, n);
    if (answer < 2 && n > 0)
        answer = three ? (int)s->fmi3GetContinuousStateDerivatives(s->instance, dx, n)
                       : (int)s->fmi2GetDerivatives(s->instance, dx, n);
    if (answer < 2 && m > 0)
        answer = three ? (int)s->fmi3GetEventIndicators(s->instance, z, m)
                       : (int)s->fmi2GetEventIndicators(s->instance, z, m);
    return answer;
}

static int enter_events(kd_served *s)
{
    return s->version == 3 ? (int)s->fmi3EnterEventMode(s->instance) : (int)s->fmi2EnterEventMode(s->instance);
}

// Event mode until nothing changes any more, then continuous time. out: changed, stop, next
static int update(kd_served *s, bool enter, double *out)
{
    enum { MOST = 1000 };
    const bool three = s->version == 3;
    int        answer = 0;
    bool       again = true;
    out[0] = out[1] = 0;
    out[2] = HUGE_VAL;
    // the FMU says whether it is done; one that never is, is ended
    if (enter) answer = enter_events(s);
    for (int k = 0; k < MOST && again && answer < 2; k++) {
        bool          stop = false, nominals = false, values = false, has_next = false;
        double        next = 0;
        fmi2EventInfo info = {0};
        if (three) {
            answer = (int)s->fmi3UpdateDiscreteStates(s->instance, &again, &stop, &nominals, &values, &has_next, &next);
        } else {
            answer = (int)s->fmi2NewDiscreteStates(s->instance, &info);
            again = info.newDiscreteStatesNeeded;
            stop = info.terminateSimulation;
            values = info.valuesOfContinuousStatesChanged;
            has_next = info.nextEventTimeDefined;
            next = info.nextEventTime;
        }
        // what changed in any round counts, the time of the next event is that of the last
        if (values) out[0] = 1;
        if (stop) out[1] = 1;
        out[2] = has_next ? next : HUGE_VAL;
    }
    if (again && answer < 2) {
        kd_text(s->log, sizeof s->log, "it asks for event updates without end");
        return 3;
    }
    if (answer < 2)
        answer =
            three ? (int)s->fmi3EnterContinuousTimeMode(s->instance) : (int)s->fmi2EnterContinuousTimeMode(s->instance);
    return answer;
}

// The state of the FMU into a slot, or back from there
static kd_status keep_state(kd_served *s, uint32_t slot, bool back, char *text)
{
    const bool three = s->version == 3;
    if (slot >= KD_GUEST_SLOTS || (back && !s->saved[slot])) return KD_ERR_ARGUMENT;
    // functions that a binary may leave out
    if (three ? !s->fmi3GetFMUState || !s->fmi3SetFMUState || !s->fmi3FreeFMUState
              : !s->fmi2GetFMUstate || !s->fmi2SetFMUstate || !s->fmi2FreeFMUstate) {
        kd_text(text, KD_GUEST_TEXT, "its binary has no functions for saved states");
        return KD_ERR_UNSUPPORTED;
    }
    s->goes_back = true;
    // the FMU writes over what was in the slot before
    if (back)
        return judged(s,
                      three ? (int)s->fmi3SetFMUState(s->instance, s->saved[slot])
                            : (int)s->fmi2SetFMUstate(s->instance, s->saved[slot]),
                      "SetFMUState", text);
    return judged(s,
                  three ? (int)s->fmi3GetFMUState(s->instance, &s->saved[slot])
                        : (int)s->fmi2GetFMUstate(s->instance, &s->saved[slot]),
                  "GetFMUState", text);
}

static kd_status serve_rates(kd_served *s, kd_guest_bytes *in, kd_guest_bytes *out, char *text)
{
    uint32_t size[2];
    double   t;
    if (!kd_bytes_get(in, &t, sizeof t) || !kd_bytes_get(in, size, sizeof size) || size[0] > 1000000 ||
        size[1] > 1000000)
        return KD_ERR_ARGUMENT;
    double *x = kd_alloc(((size_t)2 * size[0] + size[1] + 1) * sizeof *x), *dx = x ? x + size[0] : NULL;
    if (!x) return KD_ERR_MEMORY;
    kd_status status = kd_bytes_get(in, x, size[0] * sizeof *x) ? KD_OK : KD_ERR_ARGUMENT;
    if (status >= 0)
        status = judged(s, rates(s, t, x, size[0], dx, dx + size[0], size[1]), "the evaluation of derivatives", text);
    kd_bytes_put(out, dx, (size[0] + size[1]) * sizeof *x);
    kd_free(x);
    return status;
}

static kd_status serve_states(kd_served *s, kd_guest_bytes *in, kd_guest_bytes *out, char *text)
{
    uint32_t n;
    if (!kd_bytes_get(in, &n, sizeof n) || n > 1000000) return KD_ERR_ARGUMENT;
    double *x = kd_alloc(((size_t)n + 1) * sizeof *x);
    if (!x) return KD_ERR_MEMORY;
    const int answer = s->version == 3 ? (int)s->fmi3GetContinuousStates(s->instance, x, n)
                                       : (int)s->fmi2GetContinuousStates(s->instance, x, n);
    kd_bytes_put(out, x, n * sizeof *x);
    kd_free(x);
    return judged(s, answer, "GetContinuousStates", text);
}

// ---- evaluations of model exchange ----------------------------------------------------------------------------------

typedef struct point {
    double    t;
    uint32_t  nx, nz, nu, ny;
    double   *x, *u, *dx, *z, *y, *other; // other: (nx + ny)
    uint32_t *u_reference, *y_reference, *known, *unknown;
} point;

// Room for all numbers and references of an evaluation; it is kept
static bool make_room(kd_served *s, size_t n)
{
    if (n <= s->room) return true;
    kd_free(s->numbers);
    kd_free(s->references);
    s->numbers = kd_alloc(n * sizeof *s->numbers);
    s->references = kd_alloc(n * sizeof *s->references);
    s->room = s->numbers && s->references ? n : 0;
    return s->room > 0;
}

static kd_status read_point(kd_served *s, kd_guest_bytes *in, point *p)
{
    enum { MOST = 100000 };
    uint32_t n[4];
    // numbers of states, indicators, inputs and outputs, bounded
    if (!kd_bytes_get(in, &p->t, sizeof p->t) || !kd_bytes_get(in, n, sizeof n)) return KD_ERR_ARGUMENT;
    for (int i = 0; i < 4; i++)
        if (n[i] > MOST) return KD_ERR_ARGUMENT;
    p->nx = n[0], p->nz = n[1], p->nu = n[2], p->ny = n[3];
    // one piece of memory, cut in their order
    if (!make_room(s, (size_t)3 * n[0] + n[1] + n[2] + 2 * (size_t)n[3] + 1)) return KD_ERR_MEMORY;
    p->x = s->numbers, p->u = p->x + n[0], p->dx = p->u + n[2], p->z = p->dx + n[0], p->y = p->z + n[1];
    p->other = p->y + n[3];
    p->u_reference = s->references, p->y_reference = p->u_reference + n[2], p->known = p->y_reference + n[3];
    p->unknown = p->known + n[0];
    // values as they were sent
    const bool read = kd_bytes_get(in, p->x, n[0] * sizeof *p->x) &&
                      kd_bytes_get(in, p->u_reference, n[2] * sizeof *p->u_reference) &&
                      kd_bytes_get(in, p->u, n[2] * sizeof *p->u) &&
                      kd_bytes_get(in, p->y_reference, n[3] * sizeof *p->y_reference);
    return read ? KD_OK : KD_ERR_ARGUMENT;
}

// Inputs, then time and states, then what follows from them
static int evaluate_point(kd_served *s, const point *p, double *dx, double *z, double *y)
{
    const bool three = s->version == 3;
    int        answer = 0;
    if (p->nu > 0)
        answer = three ? (int)s->fmi3SetFloat64(s->instance, p->u_reference, p->nu, p->u, p->nu)
                       : (int)s->fmi2SetReal(s->instance, p->u_reference, p->nu, p->u);
    if (answer < 2) answer = rates(s, p->t, p->x, p->nx, dx, z, z ? p->nz : 0);
    if (answer < 2 && p->ny > 0)
        answer = three ? (int)s->fmi3GetFloat64(s->instance, p->y_reference, p->ny, y, p->ny)
                       : (int)s->fmi2GetReal(s->instance, p->y_reference, p->ny, y);
    return answer;
}

static kd_status serve_evaluate(kd_served *s, kd_guest_bytes *in, kd_guest_bytes *out, char *text)
{
    point     p;
    kd_status status = read_point(s, in, &p);
    if (status >= 0) status = judged(s, evaluate_point(s, &p, p.dx, p.z, p.y), "its evaluation", text);
    if (status < 0) return status;
    kd_bytes_put(out, p.dx, p.nx * sizeof *p.dx);
    kd_bytes_put(out, p.z, p.nz * sizeof *p.z);
    kd_bytes_put(out, p.y, p.ny * sizeof *p.y);
    return KD_OK;
}

// Column j of the slopes into dx, y: central differences, increment eps^(1/3)
static int difference(kd_served *s, point *p, uint32_t j)
{
    double      *of = j < p->nx ? &p->x[j] : &p->u[j - p->nx];
    const double kept = *of, h = 6e-6 * fmax(1.0, fabs(kept));
    *of = kept + h;
    int answer = evaluate_point(s, p, p->dx, NULL, p->y);
    *of = kept - h;
    if (answer < 2) answer = evaluate_point(s, p, p->other, NULL, p->other + p->nx);
    *of = kept;
    for (uint32_t i = 0; i < p->nx; i++) p->dx[i] = (p->dx[i] - p->other[i]) / (2 * h);
    for (uint32_t i = 0; i < p->ny; i++) p->y[i] = (p->y[i] - p->other[p->nx + i]) / (2 * h);
    return answer;
}

static int derive(kd_served *s, const uint32_t *unknown, size_t n, uint32_t known, double *out)
{
    const double one = 1;
    if (n == 0) return 0;
    return s->version == 3 ? (int)s->fmi3GetDirectionalDerivative(s->instance, unknown, n, &known, 1, &one, 1, out, n)
                           : (int)s->fmi2GetDirectionalDerivative(s->instance, unknown, n, &known, 1, &one, out);
}

// The same by directional derivatives; an output that is a state needs none
static int directional(kd_served *s, point *p, uint32_t j)
{
    const uint32_t known = j < p->nx ? p->known[j] : p->u_reference[j - p->nx];
    int            answer = derive(s, p->unknown, p->nx, known, p->dx);
    for (uint32_t i = 0; i < p->ny && answer < 2; i++) {
        bool state = false;
        for (uint32_t k = 0; k < p->nx; k++) state = state || p->known[k] == p->y_reference[i];
        p->y[i] = p->y_reference[i] == known;
        if (!state) answer = derive(s, &p->y_reference[i], 1, known, &p->y[i]);
    }
    return answer;
}

static kd_status serve_slopes(kd_served *s, kd_guest_bytes *in, kd_guest_bytes *out, char *text)
{
    point     p;
    uint8_t   differences = 1;
    kd_status status = read_point(s, in, &p);
    if (status < 0) return status;
    if (!kd_bytes_get(in, &differences, sizeof differences)) return KD_ERR_ARGUMENT;
    if (!differences &&
        (!kd_bytes_get(in, p.known, p.nx * sizeof *p.known) || !kd_bytes_get(in, p.unknown, p.nx * sizeof *p.unknown)))
        return KD_ERR_ARGUMENT;
    if (!differences &&
        !(s->version == 3 ? s->fmi3GetDirectionalDerivative != NULL : s->fmi2GetDirectionalDerivative != NULL)) {
        kd_text(text, KD_GUEST_TEXT, "its binary has no function for directional derivatives");
        return KD_ERR_UNSUPPORTED;
    }
    // where the derivatives are taken
    if (!differences) status = judged(s, evaluate_point(s, &p, p.dx, NULL, p.y), "its evaluation", text);
    for (uint32_t j = 0; j < p.nx + p.nu && status >= 0; j++) {
        status = judged(s, differences ? difference(s, &p, j) : directional(s, &p, j),
                        differences ? "its evaluation" : "GetDirectionalDerivative", text);
        kd_bytes_put(out, p.dx, p.nx * sizeof *p.dx);
        kd_bytes_put(out, p.y, p.ny * sizeof *p.y);
    }
    return status;
}

static kd_status serve_completed(kd_served *s, kd_guest_bytes *out, char *text)
{
    double flags[2] = {0, 0};
    int    answer;
    if (s->version == 3) {
        bool event = false, stop = false;
        answer = (int)s->fmi3CompletedIntegratorStep(s->instance, !s->goes_back, &event, &stop);
        flags[0] = event;
        flags[1] = stop;
    } else {
        fmi2Boolean event = 0, stop = 0;
        answer = (int)s->fmi2CompletedIntegratorStep(s->instance, s->goes_back ? fmi2False : fmi2True, &event, &stop);
        flags[0] = event != 0;
        flags[1] = stop != 0;
    }
    kd_bytes_put(out, flags, sizeof flags);
    return judged(s, answer, "CompletedIntegratorStep", text);
}

kd_status kd_served_call(kd_served *s, kd_guest_call call, kd_guest_bytes *in, kd_guest_bytes *out, char *text)
{
    double   number[3];
    uint32_t word[2];
    text[0] = s->log[0] = '\0';
    if (call == KD_CALL_OPEN) return open_it(s, in, text);
    if (!s->instance) return KD_ERR_STAGE;
    // calls have their numbers from guest.h: each reads its arguments, calls and answers
    switch (call) {
    case KD_CALL_SET:
        if (!kd_bytes_get(in, word, sizeof word)) return KD_ERR_ARGUMENT;
        return judged(
            s, s->version == 2 ? set_value2(s, (int)word[0], word[1], in) : set_value3(s, (int)word[0], word[1], in),
            "setting a value", text);
    case KD_CALL_GET:
        if (!kd_bytes_get(in, word, sizeof word)) return KD_ERR_ARGUMENT;
        return judged(
            s, s->version == 2 ? get_value2(s, (int)word[0], word[1], out) : get_value3(s, (int)word[0], word[1], out),
            "reading a value", text);
    case KD_CALL_BEGIN:
        return kd_bytes_get(in, number, sizeof number) ? judged(s, begin(s, number), "EnterInitializationMode", text)
                                                       : KD_ERR_ARGUMENT;
    case KD_CALL_FINISH:
        return judged(s,
                      s->version == 3 ? (int)s->fmi3ExitInitializationMode(s->instance)
                                      : (int)s->fmi2ExitInitializationMode(s->instance),
                      "ExitInitializationMode", text);
    case KD_CALL_STEP: {
        double reached[2];
        if (!kd_bytes_get(in, number, 2 * sizeof *number)) return KD_ERR_ARGUMENT;
        const kd_status status = judged(s, make_step(s, number, reached), "DoStep", text);
        kd_bytes_put(out, reached, sizeof reached);
        return status;
    }
    case KD_CALL_END:
        return judged(s, s->version == 3 ? (int)s->fmi3Terminate(s->instance) : (int)s->fmi2Terminate(s->instance),
                      "Terminate", text);
    case KD_CALL_STATES:
        return serve_states(s, in, out, text);
    case KD_CALL_RATES:
        return serve_rates(s, in, out, text);
    case KD_CALL_EVALUATE:
        return serve_evaluate(s, in, out, text);
    case KD_CALL_SLOPES:
        return serve_slopes(s, in, out, text);
    case KD_CALL_COMPLETED:
        return serve_completed(s, out, text);
    case KD_CALL_UPDATE: {
        uint8_t enter = 0;
        (void)kd_bytes_get(in, &enter, 1);
        const kd_status status = judged(s, update(s, enter != 0, number), "the update of events", text);
        kd_bytes_put(out, number, sizeof number);
        return status;
    }
    case KD_CALL_ENTER:
        return judged(s, enter_events(s), "EnterEventMode", text);
    case KD_CALL_SAVE:
    case KD_CALL_RESTORE:
        return kd_bytes_get(in, word, sizeof *word) ? keep_state(s, word[0], call == KD_CALL_RESTORE, text)
                                                    : KD_ERR_ARGUMENT;
    default:
        return KD_ERR_ARGUMENT;
    }
}
