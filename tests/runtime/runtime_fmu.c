// runtime_fmu.c: FMUs of gallery models, loaded as a client does, beside the same runtime in this program.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <float.h>
#include <math.h>
#include <unistd.h>

#include "case.h"
#include "fmi/plant.h"
#include "runtime/client.h"
#include <kardan/results.h>
#include <kardan/simulation.h>
#include <kardan/system.h>

enum { STEPS = 12, MOST = 4000 };

// The model of the FMU in this program
typedef struct own_model {
    kd_model             *model;
    kd_system            *system;
    kd_state             *x;
    kd_simulation        *simulation;
    kd_simulation_options options;
} own_model;

static void own_open(own_model *m, const client *c)
{
    char path[400], message[2000];
    snprintf(path, sizeof path, "%s/resources/model.yaml", c->folder);
    assert_true(kd_model_read(path, NULL, 0, &m->model, message, sizeof message) >= 0);
    kd_system_options system_options = kd_system_options_of(m->model);
    system_options.nwatch = 0;
    assert_true(kd_system_create(m->model, &system_options, &m->system, message, sizeof message) >= 0);
    assert_true(kd_state_create(kd_system_eom(m->system), &m->x) >= 0);
    assert_true(kd_system_start(m->system, m->x, message, sizeof message) >= 0);
    assert_true(kd_system_run_options(m->system, &m->options, message, sizeof message) >= 0);
    m->options = kd_method_named(&m->options); // as units do: one method for all of a run
    if (kd_simulation_create(kd_system_eom(m->system), kd_system_inputs(m->system), &m->options, m->x, &m->simulation,
                             message, sizeof message) < 0)
        fail_msg("%s: %s", path, message);
}

static void own_close(own_model *m)
{
    kd_simulation_destroy(m->simulation);
    kd_state_destroy(m->x);
    kd_system_destroy(m->system);
    kd_model_destroy(m->model);
}

static void identifier_of(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && *name != '.' && n + 1 < size; name++) out[n++] = *name == '-' ? '_' : *name;
    out[n] = '\0';
}

// Names of the FMU's states are those of its plant: their references from the list
static void references_of(const client *c, kd_plant_kind kind, unsigned *reference, int *count)
{
    char      path[400], message[2000];
    kd_plant *plant;
    snprintf(path, sizeof path, "%s/resources", c->folder);
    assert_true(kd_plant_open(path, &plant, message, sizeof message) >= 0);
    const int first = kd_plant_first(plant, kind, count);
    for (int i = 0; i < *count; i++) reference[i] = (unsigned)(first + i);
    kd_plant_close(plant);
}

static void start3(client *c, fmi3Instance instance)
{
    assert_int_equal(c->fmi3EnterInitializationMode(instance, false, 0, 0, false, 0), fmi3OK);
    assert_int_equal(c->fmi3ExitInitializationMode(instance), fmi3OK);
}

static void start2(client *c, fmi2Component instance)
{
    assert_int_equal(c->fmi2SetupExperiment(instance, fmi2False, 0, 0, fmi2False, 0), fmi2OK);
    assert_int_equal(c->fmi2EnterInitializationMode(instance), fmi2OK);
    assert_int_equal(c->fmi2ExitInitializationMode(instance), fmi2OK);
}

// Steps of the FMU and of the library stopped at the same points have the same bits in all states
static void compare_steps(const char *name, int version, double duration)
{
    char     path[400], identifier[200];
    unsigned reference[MOST];
    double   value[MOST];
    int      count;
    client   c;
    snprintf(path, sizeof path, "%s/models/%s", KD_SOURCE_DIR, name);
    identifier_of(name, identifier, sizeof identifier);
    assert_true(client_export(&c, path, version, ""));
    assert_true(client_load(&c, identifier));
    references_of(&c, KD_PLANT_STATE, reference, &count);
    own_model own = {0};
    own_open(&own, &c);
    const kd_dims d = kd_eom_dims(kd_system_eom(own.system));
    assert_int_equal(count, d.np + d.nv + d.nr);
    if (duration <= 0) duration = kd_model_run(own.model)->t_end / 100;
    fmi2Component two = version == 2 ? client_instance2(&c, fmi2CoSimulation) : NULL;
    fmi3Instance  three = version == 3 ? client_instance3(&c, false) : NULL;
    assert_true(two || three);
    if (two)
        start2(&c, two);
    else
        start3(&c, three);
    const double h = duration / STEPS;
    for (int k = 0; k < STEPS; k++) {
        bool            event, terminate, early;
        double          last;
        const int       status = two ? (int)c.fmi2DoStep(two, k * h, h, fmi2True)
                                     : (int)c.fmi3DoStep(three, k * h, h, true, &event, &terminate, &early, &last);
        const kd_status expected = kd_simulation_run(own.simulation, k * h + h);
        if (expected < 0 || status != 0) {
            print_error("%s step %d: %d %s\n", name, k, status, kd_simulation_message(own.simulation));
            assert_true((expected < 0) == (status != 0));
            break;
        }
        const int answer = two ? (int)c.fmi2GetReal(two, reference, (size_t)count, value)
                               : (int)c.fmi3GetFloat64(three, reference, (size_t)count, value, (size_t)count);
        assert_int_equal(answer, 0);
        if (memcmp(value, own.x->p, (size_t)d.np * sizeof *value) != 0 ||
            memcmp(value + d.np, own.x->v, (size_t)d.nv * sizeof *value) != 0 ||
            (d.nr > 0 && memcmp(value + d.np + d.nv, own.x->r, (size_t)d.nr * sizeof *value) != 0))
            fail_msg("%s: other bits after step %d", name, k);
    }
    if (two)
        c.fmi2FreeInstance(two);
    else
        c.fmi3FreeInstance(three);
    own_close(&own);
    client_close(&c);
}

// Co-simulation gives the bits of the library in its runtime build, in both versions
static void cosimulation_has_the_bits_of_the_library(void **state)
{
    static const struct {
        const char *name;
        int         version;
    } model[] = {{"pendulum.yaml", 2},         {"pendulum.yaml", 3},        {"slider-crank.yaml", 3},
                 {"bouncing-ball.yaml", 2},    {"friction-slider.yaml", 3}, {"quarter-car.yaml", 3},
                 {"semi-active-truck.yaml", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) compare_steps(model[i].name, model[i].version, 0);
}

static bool is_valid(const char *name, int version)
{
    const char *schemas = KD_SOURCE_DIR "/../shared/fmi/schema";
    char        path[400], command[1500];
    client      c;
    if (access(schemas, R_OK) != 0 || access("/usr/bin/xmllint", X_OK) != 0) {
        print_message("not validated: there are no schemas in ../shared/fmi, or no xmllint\n");
        return true;
    }
    snprintf(path, sizeof path, "%s/models/%s", KD_SOURCE_DIR, name);
    if (!client_export(&c, path, version, "")) return false;
    snprintf(command, sizeof command,
             "xmllint --noout --schema %s/fmi%d/fmi%dModelDescription.xsd %s/modelDescription.xml 2>/dev/null", schemas,
             version, version, c.folder);
    const bool valid = run_command(command) == 0;
    client_close(&c);
    return valid;
}

// Descriptions are valid against the schemas of the standard
static void descriptions_are_valid(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++)
        if (!is_valid("bouncing-ball.yaml", version)) fail_msg("FMI %d", version);
}

// With KARDAN_ALL_FMUS=1: every model of the gallery
static void every_model_of_the_gallery(void **state)
{
    (void)state;
    if (!getenv("KARDAN_ALL_FMUS")) return;
    DIR *folder = opendir(KD_SOURCE_DIR "/models");
    assert_non_null(folder);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        const char *ending = strrchr(e->d_name, '.');
        if (!ending || strcmp(ending, ".yaml") != 0) continue;
        print_message("%s\n", e->d_name);
        for (int version = 2; version <= 3; version++) {
            compare_steps(e->d_name, version, 0);
            if (!is_valid(e->d_name, version)) fail_msg("%s: FMI %d", e->d_name, version);
        }
    }
    closedir(folder);
}

// Saved, gone on, restored, serialised, restored in another instance: the same bits each time
static void saved_states_go_on(void **state)
{
    unsigned reference[MOST];
    double   first[MOST], again[MOST];
    int      count;
    client   c;
    (void)state;
    assert_true(client_export(&c, KD_SOURCE_DIR "/models/bouncing-ball.yaml", 3, ""));
    assert_true(client_load(&c, "bouncing_ball"));
    references_of(&c, KD_PLANT_STATE, reference, &count);
    fmi3Instance a = client_instance3(&c, false), b = client_instance3(&c, false);
    fmi3FMUState saved = NULL, read = NULL;
    bool         event, terminate, early;
    double       last;
    size_t       size;
    start3(&c, a);
    start3(&c, b);
    assert_int_equal(c.fmi3DoStep(a, 0, 0.7, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3GetFMUState(a, &saved), fmi3OK);
    assert_int_equal(c.fmi3DoStep(a, 0.7, 0.9, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3GetFloat64(a, reference, (size_t)count, first, (size_t)count), fmi3OK);
    // back and on again
    assert_int_equal(c.fmi3SetFMUState(a, saved), fmi3OK);
    assert_int_equal(c.fmi3DoStep(a, 0.7, 0.9, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3GetFloat64(a, reference, (size_t)count, again, (size_t)count), fmi3OK);
    assert_memory_equal(first, again, (size_t)count * sizeof *first);
    // as bytes, into another instance
    assert_int_equal(c.fmi3SerializedFMUStateSize(a, saved, &size), fmi3OK);
    fmi3Byte *bytes = malloc(size);
    assert_int_equal(c.fmi3SerializeFMUState(a, saved, bytes, size), fmi3OK);
    assert_int_equal(c.fmi3DeserializeFMUState(b, bytes, size, &read), fmi3OK);
    assert_int_equal(c.fmi3SetFMUState(b, read), fmi3OK);
    assert_int_equal(c.fmi3DoStep(b, 0.7, 0.9, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3GetFloat64(b, reference, (size_t)count, again, (size_t)count), fmi3OK);
    assert_memory_equal(first, again, (size_t)count * sizeof *first);
    // damaged bytes are refused
    bytes[size / 2] ^= 1;
    fmi3FMUState wrong = NULL;
    assert_int_equal(c.fmi3DeserializeFMUState(b, bytes, size, &wrong), fmi3Error);
    free(bytes);
    c.fmi3FreeFMUState(a, &saved);
    c.fmi3FreeFMUState(b, &read);
    assert_null(saved);
    c.fmi3FreeInstance(a);
    c.fmi3FreeInstance(b);
    client_close(&c);
}

typedef struct seen {
    client      *c;
    fmi3Instance instance;
    int          calls, return_at; // return_at: the call that asks for it; 0: none
    double       t, time, value;   // of the last one
    unsigned     state;            // reference of a state that is read
} seen;

// The reference of the first state: of what the first derivative belongs to
static unsigned first_state(const client *c)
{
    char     command[600], line[100] = "";
    unsigned reference = 0;
    snprintf(command, sizeof command, "grep -o 'derivative=\"[0-9]*' %s/modelDescription.xml | head -1 | tr -dc 0-9",
             c->folder);
    FILE *out = popen(command, "r"); // NOLINT: of this test alone
    assert_non_null(out);
    assert_non_null(fgets(line, sizeof line, out));
    pclose(out);
    assert_int_equal(sscanf(line, "%u", &reference), 1);
    return reference;
}

static void hear_update(fmi3InstanceEnvironment e, fmi3Float64 t, fmi3Boolean set, fmi3Boolean get,
                        fmi3Boolean finished, fmi3Boolean can_return, fmi3Boolean *wanted, fmi3Float64 *when)
{
    seen          *s = e;
    const unsigned time = 0;
    assert_true(!set && get && finished && can_return);
    assert_true(t > s->t);
    s->t = t;
    s->calls++;
    assert_int_equal(s->c->fmi3GetFloat64(s->instance, &time, 1, &s->time, 1), fmi3OK);
    assert_int_equal(s->c->fmi3GetFloat64(s->instance, &s->state, 1, &s->value, 1), fmi3OK);
    assert_true(s->time == t);
    *wanted = s->calls == s->return_at;
    *when = t;
}

// A client that listens hears of every step of the integrator, reads there, and can end the step of co-simulation; the motion keeps its bits
static void steps_inside_are_told(void **state)
{
    client c;
    double last, with, without;
    bool   event, terminate, early;
    char   path[400];
    (void)state;
    assert_true(client_export(&c, KD_SOURCE_DIR "/models/pendulum.yaml", 3, ""));
    assert_true(client_load(&c, "pendulum"));
    snprintf(path, sizeof path, "%s/resources/", c.folder);
    seen s = {.c = &c, .state = first_state(&c)};
    s.instance =
        c.fmi3InstantiateCoSimulation("test", c.token, path, false, false, false, true, NULL, 0, &s, NULL, hear_update);
    assert_non_null(s.instance);
    start3(&c, s.instance);
    assert_int_equal(c.fmi3DoStep(s.instance, 0, 0.7, true, &event, &terminate, &early, &last), fmi3OK);
    assert_true(!early && last == 0.7 && s.calls > 3 && s.t == 0.7);
    assert_int_equal(c.fmi3GetFloat64(s.instance, &s.state, 1, &with, 1), fmi3OK);
    assert_true(with == s.value);
    fmi3Instance other = client_instance3(&c, false);
    start3(&c, other);
    assert_int_equal(c.fmi3DoStep(other, 0, 0.7, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3GetFloat64(other, &s.state, 1, &without, 1), fmi3OK);
    assert_true(with == without);
    // the second step from here on is the last one
    s.calls = 0, s.return_at = 2;
    assert_int_equal(c.fmi3DoStep(s.instance, 0.7, 5, true, &event, &terminate, &early, &last), fmi3OK);
    assert_true(early && !event && !terminate && s.calls == 2 && last == s.t && last < 5.7);
    s.return_at = 0;
    assert_int_equal(c.fmi3DoStep(s.instance, last, 0.1, true, &event, &terminate, &early, &last), fmi3OK);
    assert_true(!early);
    c.fmi3FreeInstance(other);
    c.fmi3FreeInstance(s.instance);
    client_close(&c);
}

// Reset is as new; wrong order of calls, wrong references and a wrong token are errors, not crashes
static void calls_are_checked(void **state)
{
    client c;
    double value, last;
    bool   event, terminate, early;
    (void)state;
    assert_true(client_export(&c, KD_SOURCE_DIR "/models/pendulum.yaml", 3, ""));
    assert_true(client_load(&c, "pendulum"));
    char path[400];
    snprintf(path, sizeof path, "%s/resources/", c.folder);
    assert_null(c.fmi3InstantiateModelExchange("test", "{wrong}", path, false, false, NULL, NULL));
    assert_null(c.fmi3InstantiateModelExchange("test", c.token, "/nowhere", false, false, NULL, NULL));
    fmi3Instance a =
        c.fmi3InstantiateCoSimulation("test", c.token, path, false, false, false, false, NULL, 0, NULL, NULL, NULL);
    assert_non_null(a);
    assert_int_equal(c.fmi3DoStep(a, 0, 0.1, true, &event, &terminate, &early, &last), fmi3Error);
    start3(&c, a);
    const unsigned none = 1000000, time = 0;
    assert_int_equal(c.fmi3GetFloat64(a, &none, 1, &value, 1), fmi3Error);
    assert_int_equal(c.fmi3SetFloat64(a, &time, 1, &value, 1), fmi3Error);
    assert_int_equal(c.fmi3GetInt32(a, &time, 1, (fmi3Int32[]){0}, 1), fmi3Error);
    assert_int_equal(c.fmi3DoStep(a, 0, 0.1, true, &event, &terminate, &early, &last), fmi3OK);
    assert_int_equal(c.fmi3DoStep(a, 5, 0.1, true, &event, &terminate, &early, &last), fmi3Error);
    assert_int_equal(c.fmi3Reset(a), fmi3OK);
    start3(&c, a);
    assert_int_equal(c.fmi3GetFloat64(a, &time, 1, &value, 1), fmi3OK);
    assert_true(value == 0);
    assert_int_equal(c.fmi3DoStep(a, 0, 0.1, true, &event, &terminate, &early, &last), fmi3OK);
    c.fmi3FreeInstance(a);
    client_close(&c);
}

// The binary that every FMU carries: below 3 MB
static void the_binary_is_small(void **state)
{
    (void)state;
#if defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    FILE *file = fopen(KD_BINARY_DIR "/libkardan-fmu.so", "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    fclose(file);
    if (size >= 3000000) fail_msg("%ld bytes", size);
#endif
}

// What a careless client forgets to bring is a message, not a crash; the instance goes on
static void places_that_are_missing_are_told(void **state)
{
    client        c, c3;
    fmi2EventInfo info;
    double        value = 0;
    (void)state;
    assert_true(client_export(&c, KD_SOURCE_DIR "/models/bouncing-ball.yaml", 2, ""));
    assert_true(client_load(&c, "bouncing_ball"));
    fmi2Component e = client_instance2(&c, fmi2ModelExchange);
    assert_non_null(e);
    const fmi2ValueReference first = 1;
    assert_int_equal(c.fmi2SetDebugLogging(e, 1, 1, NULL), fmi2Error);
    assert_int_equal(c.fmi2SetDebugLogging(e, 1, 1, (const fmi2String[]){NULL}), fmi2Error);
    start2(&c, e);
    assert_int_equal(c.fmi2GetReal(e, NULL, 1, &value), fmi2Error);
    assert_int_equal(c.fmi2GetReal(e, &first, 1, NULL), fmi2Error);
    assert_int_equal(c.fmi2GetReal(e, NULL, 0, NULL), fmi2OK);
    assert_int_equal(c.fmi2SetReal(e, &first, 1, NULL), fmi2Error);
    assert_int_equal(c.fmi2GetDirectionalDerivative(e, &first, 1, &first, 1, NULL, &value), fmi2Error);
    assert_int_equal(c.fmi2NewDiscreteStates(e, NULL), fmi2Error);
    assert_int_equal(c.fmi2NewDiscreteStates(e, &info), fmi2OK);
    assert_int_equal(c.fmi2EnterContinuousTimeMode(e), fmi2OK);
    assert_int_equal(c.fmi2GetDerivatives(e, NULL, 13), fmi2Error);
    assert_int_equal(c.fmi2GetEventIndicators(e, NULL, 1), fmi2Error);
    assert_int_equal(c.fmi2CompletedIntegratorStep(e, 1, NULL, NULL), fmi2Error);
    // a second end is one too many; a reset begins anew
    assert_int_equal(c.fmi2Terminate(e), fmi2OK);
    assert_int_equal(c.fmi2Terminate(e), fmi2Error);
    assert_int_equal(c.fmi2Reset(e), fmi2OK);
    start2(&c, e);
    assert_int_equal(c.fmi2Terminate(e), fmi2OK);
    c.fmi2FreeInstance(e);
    client_close(&c);

    assert_true(client_export(&c3, KD_SOURCE_DIR "/models/bouncing-ball.yaml", 3, ""));
    assert_true(client_load(&c3, "bouncing_ball"));
    fmi3Instance s = client_instance3(&c3, false);
    assert_non_null(s);
    start3(&c3, s);
    assert_int_equal(c3.fmi3GetFloat64(s, NULL, 1, &value, 1), fmi3Error);
    assert_int_equal(c3.fmi3GetNumberOfContinuousStates(s, NULL), fmi3Error);
    assert_int_equal(c3.fmi3DoStep(s, 0, 0.01, 1, NULL, NULL, NULL, NULL), fmi3Error);
    fmi3Boolean event, end, early;
    assert_int_equal(c3.fmi3DoStep(s, 0, 0.01, 1, &event, &end, &early, &value), fmi3OK);
    c3.fmi3FreeInstance(s);
    client_close(&c3);
}

// ---- model exchange -------------------------------------------------------------------------------------------------

// One classical Runge-Kutta step of a client that knows nothing but the derivatives
static void rk4(client *c, fmi3Instance a, double t, double h, double *y, int n)
{
    static const double PART[] = {0, 0.5, 0.5, 1}, WEIGHT[] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    double              k[4][MOST / 8], z[MOST / 8];
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < n; i++) z[i] = y[i] + (stage ? h * PART[stage] * k[stage - 1][i] : 0);
        assert_int_equal(c->fmi3SetTime(a, t + PART[stage] * h), fmi3OK);
        assert_int_equal(c->fmi3SetContinuousStates(a, z, (size_t)n), fmi3OK);
        assert_int_equal(c->fmi3GetContinuousStateDerivatives(a, k[stage], (size_t)n), fmi3OK);
    }
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < n; i++) y[i] += h * WEIGHT[stage] * k[stage][i];
    assert_int_equal(c->fmi3SetTime(a, t + h), fmi3OK);
    assert_int_equal(c->fmi3SetContinuousStates(a, y, (size_t)n), fmi3OK);
}

// Model exchange with a client's own Runge-Kutta method gives the motion of the library, loops closed
static void exchange_moves_as_the_library(void **state)
{
    static const char *const MODELS[] = {"slider-crank", "four-bar", "heavy-top"};
    (void)state;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++) {
        char   path[400], identifier[100];
        double y[MOST / 8];
        size_t n;
        client c;
        snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, MODELS[m]);
        identifier_of(MODELS[m], identifier, sizeof identifier);
        assert_true(client_export(&c, path, 3, "--kind me"));
        assert_true(client_load(&c, identifier));
        own_model own = {0};
        own_open(&own, &c);
        const kd_dims d = kd_eom_dims(kd_system_eom(own.system));
        // a finer run of the library
        kd_simulation_destroy(own.simulation);
        char message[1000];
        own.options.rtol = own.options.atol = 1e-11;
        assert_true(kd_system_start(own.system, own.x, message, sizeof message) >= 0);
        own.x->t = 0;
        assert_true(kd_simulation_create(kd_system_eom(own.system), kd_system_inputs(own.system), &own.options, own.x,
                                         &own.simulation, message, sizeof message) >= 0);
        fmi3Instance a = client_instance3(&c, true);
        start3(&c, a);
        bool         again, terminate, nominals, values, has_next, event;
        double       next, t = 0;
        const double h = m == 2 ? 5e-5 : 2e-4, t_end = m == 2 ? 0.05 : 0.2; // the top spins fast
        assert_int_equal(c.fmi3UpdateDiscreteStates(a, &again, &terminate, &nominals, &values, &has_next, &next),
                         fmi3OK);
        assert_int_equal(c.fmi3EnterContinuousTimeMode(a), fmi3OK);
        assert_int_equal(c.fmi3GetNumberOfContinuousStates(a, &n), fmi3OK);
        assert_int_equal((int)n, d.np + d.nv + d.nr);
        assert_int_equal(c.fmi3GetContinuousStates(a, y, n), fmi3OK);
        const int steps = (int)lround(t_end / h);
        for (int k = 0; k < steps; k++) {
            rk4(&c, a, t, h, y, (int)n);
            t = (k + 1) * h;
            assert_int_equal(c.fmi3CompletedIntegratorStep(a, true, &event, &terminate), fmi3OK);
            if (!event) continue;
            assert_int_equal(c.fmi3EnterEventMode(a), fmi3OK);
            assert_int_equal(c.fmi3UpdateDiscreteStates(a, &again, &terminate, &nominals, &values, &has_next, &next),
                             fmi3OK);
            assert_int_equal(c.fmi3EnterContinuousTimeMode(a), fmi3OK);
            assert_int_equal(c.fmi3GetContinuousStates(a, y, n), fmi3OK);
        }
        assert_true(kd_simulation_run(own.simulation, t_end) >= 0);
        for (int i = 0; i < d.np; i++)
            if (fabs(y[i] - own.x->p[i]) > 1e-8 * (1 + fabs(own.x->p[i])))
                fail_msg("%s: p[%d] %.12g, library %.12g", MODELS[m], i, y[i], own.x->p[i]);
        for (int i = 0; i < d.nv; i++)
            if (fabs(y[d.np + i] - own.x->v[i]) > 1e-7 * (1 + fabs(own.x->v[i])))
                fail_msg("%s: v[%d] %.12g, library %.12g", MODELS[m], i, y[d.np + i], own.x->v[i]);
        c.fmi3FreeInstance(a);
        own_close(&own);
        client_close(&c);
    }
}

// Directional and adjoint derivatives are those of differences of what the client itself can ask for
static void derivatives_along_directions(void **state)
{
    enum { MOST_STATES = 20 };
    client   c;
    size_t   n;
    int      count;
    unsigned state_reference[MOST], rate_reference[MOST];
    double   y[MOST_STATES], moved[MOST_STATES], plus[MOST_STATES], minus[MOST_STATES], seed[MOST_STATES],
        answer[MOST_STATES];
    bool   again, terminate, nominals, values, has_next;
    double next;
    (void)state;
    assert_true(client_export(&c, KD_SOURCE_DIR "/models/double-pendulum.yaml", 3, "--kind me"));
    assert_true(client_load(&c, "double_pendulum"));
    references_of(&c, KD_PLANT_STATE, state_reference, &count);
    references_of(&c, KD_PLANT_DERIVATIVE, rate_reference, &count);
    fmi3Instance a = client_instance3(&c, true);
    start3(&c, a);
    assert_int_equal(c.fmi3UpdateDiscreteStates(a, &again, &terminate, &nominals, &values, &has_next, &next), fmi3OK);
    assert_int_equal(c.fmi3EnterContinuousTimeMode(a), fmi3OK);
    assert_int_equal(c.fmi3GetNumberOfContinuousStates(a, &n), fmi3OK);
    assert_true(n > 0 && n < MOST_STATES && (size_t)count == n);
    assert_int_equal(c.fmi3GetContinuousStates(a, y, n), fmi3OK);
    for (size_t i = 0; i < n; i++) {
        y[i] += 0.1 * (double)(i + 1);
        seed[i] = 1 - 0.3 * (double)i;
    }
    assert_int_equal(c.fmi3SetContinuousStates(a, y, n), fmi3OK);
    assert_int_equal(c.fmi3GetDirectionalDerivative(a, rate_reference, n, state_reference, n, seed, n, answer, n),
                     fmi3OK);
    const double h = 1e-5;
    for (size_t i = 0; i < n; i++) moved[i] = y[i] + h * seed[i];
    assert_int_equal(c.fmi3SetContinuousStates(a, moved, n), fmi3OK);
    assert_int_equal(c.fmi3GetContinuousStateDerivatives(a, plus, n), fmi3OK);
    for (size_t i = 0; i < n; i++) moved[i] = y[i] - h * seed[i];
    assert_int_equal(c.fmi3SetContinuousStates(a, moved, n), fmi3OK);
    assert_int_equal(c.fmi3GetContinuousStateDerivatives(a, minus, n), fmi3OK);
    for (size_t i = 0; i < n; i++) {
        const double expected = (plus[i] - minus[i]) / (2 * h);
        if (fabs(answer[i] - expected) > 1e-6 * (1 + fabs(expected))) fail_msg("%zu: %g, %g", i, answer[i], expected);
    }
    // <w, J v> = <J' w, v>
    double adjoint[MOST_STATES], left = 0, right = 0;
    assert_int_equal(c.fmi3SetContinuousStates(a, y, n), fmi3OK);
    assert_int_equal(c.fmi3GetAdjointDerivative(a, rate_reference, n, state_reference, n, seed, n, adjoint, n), fmi3OK);
    for (size_t i = 0; i < n; i++) left += seed[i] * answer[i], right += adjoint[i] * seed[i];
    assert_true(fabs(left - right) < 1e-7 * (1 + fabs(left)));
    // the states are as before
    assert_int_equal(c.fmi3GetContinuousStates(a, moved, n), fmi3OK);
    assert_memory_equal(moved, y, n * sizeof *y);
    c.fmi3FreeInstance(a);
    client_close(&c);
}

// A client in another language, which reads the description by itself, finds nothing wrong
static void another_client_agrees(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return; // Python cannot load a library that wants a sanitizer
#endif
    if (access("/usr/bin/python3", X_OK) != 0) return;
    static const char *const CASE[][2] = {{"quarter-car", "--inputs luggage"},
                                          {"quarter-car", "--kind me"},
                                          {"quarter-car", "--kind cs"},
                                          {"ball-row", ""},
                                          {"closed-loop-car", ""},
                                          {"air-suspension", ""},
                                          {"damper-valves", ""},
                                          {"hertz-ellipsoid", ""}};
    for (int version = 2; version <= 3; version++)
        for (size_t i = 0; i < sizeof CASE / sizeof *CASE; i++) {
            char   command[1000], model[400];
            client c;
            snprintf(model, sizeof model, KD_SOURCE_DIR "/models/%s.yaml", CASE[i][0]);
            assert_true(client_export(&c, model, version, CASE[i][1]));
            if (i == 0) {
                snprintf(command, sizeof command,
                         "/usr/bin/python3 '%s/tests/runtime/client.py' '%s/model.fmu' > /dev/null", KD_SOURCE_DIR,
                         c.folder);
                if (run_command(command) != 0) fail_msg("FMI %d", version);
            }
            snprintf(command, sizeof command,
                     "/usr/bin/python3 '%s/tests/runtime/strict.py' '%s/model.fmu' > '%s/words'", KD_SOURCE_DIR,
                     c.folder, c.folder);
            if (run_command(command) != 0) {
                snprintf(command, sizeof command, "cat '%s/words'", c.folder);
                (void)run_command(command);
                fail_msg("FMI %d, %s %s", version, CASE[i][0], CASE[i][1]);
            }
            client_close(&c);
        }
}

// Python with a package; without it, or where it cannot load the library, there is no second opinion
static bool has_python(const char *package)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#endif
    char command[200];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import %s' 2> /dev/null", package);
    if (access("/usr/bin/python3", X_OK) == 0 && run_command(command) == 0) return true;
    print_message("skipped: /usr/bin/python3 with %s is missing\n", package);
    return false;
}

// Model exchange with an integrator of others (DOP853 of scipy): smooth motion, loops, impacts, samples, friction to 1e-8
static void foreign_integrators_agree(void **state)
{
    static const char *const MODELS[] = {"pendulum",    "slider-crank",  "four-bar",  "heavy-top",
                                         "impact-ball", "sampled-speed", "stick-slip"};
    (void)state;
    if (!has_python("scipy")) return;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++) {
        char   command[1000], path[400];
        client c;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s.yaml", MODELS[m]);
        assert_true(client_export(&c, path, m % 2 == 0 ? 3 : 2, ""));
        snprintf(command, sizeof command,
                 "/usr/bin/python3 '%s/tests/runtime/exchange.py' '%s/model.fmu' 0.3 1e-8 60 > /dev/null",
                 KD_SOURCE_DIR, c.folder);
        if (run_command(command) != 0) fail_msg("%s", MODELS[m]);
        client_close(&c);
    }
}

// Co-simulation is as near to the truth as kardan simulate; KARDAN_ALL_FMUS: all models of the gallery
static void cosimulation_is_as_good_as_simulate(void **state)
{
    static const char FEW[] = "pendulum slider-crank heavy-top governor stick-slip flexible-rotor";
    const bool        all = getenv("KARDAN_ALL_FMUS") != NULL;
    char              command[1000];
    (void)state;
    if (!has_python("numpy")) return;
    snprintf(command, sizeof command,
             "cd '%s/models' && /usr/bin/python3 ../tests/runtime/agreement.py '%s/kardan' $(for m in %s; do echo "
             "${m%%.yaml}.yaml; "
             "done) > /dev/null",
             KD_SOURCE_DIR, KD_BINARY_DIR, all ? "*.yaml" : FEW);
    assert_int_equal(run_command(command), 0);
}

int main(void)
{
    if (access("/usr/bin/unzip", X_OK) != 0) {
        print_message("skipped: unzip is missing\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cosimulation_has_the_bits_of_the_library),
        cmocka_unit_test(descriptions_are_valid),
        cmocka_unit_test(every_model_of_the_gallery),
        cmocka_unit_test(saved_states_go_on),
        cmocka_unit_test(steps_inside_are_told),
        cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(places_that_are_missing_are_told),
        cmocka_unit_test(the_binary_is_small),
        cmocka_unit_test(exchange_moves_as_the_library),
        cmocka_unit_test(derivatives_along_directions),
        cmocka_unit_test(another_client_agrees),
        cmocka_unit_test(foreign_integrators_agree),
        cmocka_unit_test(cosimulation_is_as_good_as_simulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
