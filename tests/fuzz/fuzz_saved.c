// tests/fuzz/fuzz_saved.c: saved simulations with bytes changed in any way.
//
// The first byte chooses a run; each five further ones change it: three for the place, one for how, one for the value.
// Head and checksum are made right again, so that the fields themselves are read. A refusal has a reason; what is accepted
// runs on for some steps, whatever it answers. The bytes as they are, without a head of ours, are tried as well.
#include <kardan/kardan.h>
#include <math.h>

#include "core/saved.h"
#include "fuzz/fuzz.h"

enum { RUNS = 8, MOST_PATCHES = 40, STEPS = 12 };

static const char MODEL[] =
    "kardan: 1\n"
    "gravity: [0, -9.81, 0]\n"
    "bodies:\n"
    "  a: {position: [0.5, -0.1, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "  b: {position: [1, -0.6, 0], mass: 1, inertia: [0.1, 0.1, 0.1]}\n"
    "joints:\n"
    "  hinge: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 0, 1]}\n"
    "  knee: {type: revolute, bodies: [a, b], point: [1, -0.1, 0], axis: [0, 0, 1]}\n"
    "constraints:\n"
    "  rod: {type: distance, from: {body: ground, point: [2, 0, 0]}, to: {body: b, point: [1, -1, 0]}}\n"
    "forces:\n"
    "  bumper: {type: joint_stop, joint: hinge, lower: -0.05, restitution: 0.5}\n"
    "run: {t_end: 1}\n";

static const struct {
    kd_formulation     form;
    kd_integrator_kind integrator;
    bool               automatic;
} METHOD[RUNS] = {{KD_PSF, KD_RADAU, false},        {KD_GGL, KD_BDF, false},           {KD_ODE, KD_DOP853, false},
                  {KD_STATESPACE, KD_RADAU, false}, {KD_ODE, KD_EXTRAPOLATION, false}, {KD_PSF, KD_SDIRK, false},
                  {KD_PSF, KD_RADAU, true},         {KD_ODE, KD_ADAMS, false}};

typedef struct run {
    kd_state      *x;
    kd_simulation *simulation;
} run;

// Made once: the system, and the bytes of every run
static kd_system     *system_of_all;
static unsigned char *bytes_of[RUNS];
static size_t         size_of[RUNS];

static void open_run(int which, run *r)
{
    char                  message[2000] = "";
    kd_simulation_options o = kd_simulation_options_default();
    o.formulation = METHOD[which].form;
    o.integrator = METHOD[which].integrator;
    if (METHOD[which].automatic) o.formulation = KD_FORMULATION_CHOSEN, o.integrator = KD_INTEGRATOR_CHOSEN;
    o.integrator_options.max_steps = STEPS;
    demand(kd_state_create(kd_system_eom(system_of_all), &r->x) >= 0);
    demand(kd_system_start(system_of_all, r->x, message, sizeof message) >= 0);
    demand(kd_simulation_create(kd_system_eom(system_of_all), kd_system_inputs(system_of_all), &o, r->x, &r->simulation,
                                message, sizeof message) >= 0);
}

static void close_run(run *r)
{
    kd_simulation_destroy(r->simulation);
    kd_state_destroy(r->x);
}

static kd_model *model;

// At the end of the program: what was made once
static void release(void)
{
    kd_system_destroy(system_of_all);
    kd_model_destroy(model);
}

static void prepare(int which)
{
    char       message[2000] = "";
    run        r;
    kd_saved  *saved;
    kd_archive part;
    if (!model) {
        demand(atexit(release) == 0);
        demand(kd_model_read_text("fuzz", MODEL, sizeof MODEL - 1, NULL, 0, &model, message, sizeof message) >= 0);
        demand(kd_system_create(model, NULL, &system_of_all, message, sizeof message) >= 0);
    }
    if (bytes_of[which]) return;
    open_run(which, &r);
    demand(kd_simulation_run(r.simulation, 1.0) == KD_ERR_TOO_MANY_STEPS);
    demand(kd_simulation_save(r.simulation, &saved, message, sizeof message) >= 0);
    demand(kd_saved_part(saved, "simulation", &part));
    size_of[which] = part.size;
    demand((bytes_of[which] = malloc(part.size)));
    memcpy(bytes_of[which], part.bytes, part.size);
    kd_saved_destroy(saved);
    close_run(&r);
}

// One change: another byte, or a number of eight that is out of the ordinary
static void patch(unsigned char *bytes, size_t size, const uint8_t *data)
{
    static const double odd[] = {NAN, INFINITY, -1, 0, 1e300, -1e-300, 4294967296.0, 0.5};
    const size_t        at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % size;
    if (data[3] % 4 == 0 && at + sizeof(double) <= size)
        memcpy(bytes + at, &odd[data[4] % 8], sizeof(double));
    else if (data[3] % 4 == 1 && at + sizeof(int) <= size)
        memcpy(bytes + at, &(unsigned){data[4] * (data[3] % 8 == 1 ? 1u : 0xfefefeffu)}, sizeof(unsigned));
    else
        bytes[at] = data[4];
}

static void try_patched(int which, const uint8_t *data, size_t size)
{
    char       message[2000] = "";
    run        r;
    kd_saved  *saved;
    kd_archive part = kd_archive_writer();
    // changed bytes in an archive of ours
    part.bytes = kd_alloc(size_of[which]);
    part.size = part.room = size_of[which];
    demand(part.bytes);
    memcpy(part.bytes, bytes_of[which], size_of[which]);
    for (int i = 0; i < MOST_PATCHES && size >= 5; i++, data += 5, size -= 5) patch(part.bytes, part.size, data);
    demand(kd_saved_create(0.0, &saved) >= 0);
    demand(kd_saved_add(saved, "simulation", &part) >= 0);
    open_run(which, &r);
    const kd_status status = kd_simulation_restore(r.simulation, saved, message, sizeof message);
    if (status < 0) demand(message[0]);
    // whatever the run answers, it ends, and a failure has a reason
    const kd_status ended = status < 0 ? status : kd_simulation_run(r.simulation, r.x->t < 10 ? r.x->t + 0.1 : 10.0);
    if (status >= 0 && ended < 0) demand(kd_simulation_message(r.simulation)[0]);
    close_run(&r);
    kd_saved_destroy(saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char      message[200] = "";
    kd_saved *saved = NULL;
    if (size == 0) return 0;
    if (kd_saved_of_bytes(data, size, &saved, message, sizeof message) < 0) demand(message[0] && !saved);
    kd_saved_destroy(saved);
    const int which = data[0] % RUNS;
    prepare(which);
    try_patched(which, data + 1, size - 1);
    return 0;
}
