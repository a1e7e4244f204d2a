// Recorders: rows are those of the command line to the last bit; chosen channels, steps, misuse, memory.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/failing_allocator.h"
#include "project/command.h"
#include "results/oscillator.h"
#include "results/table.h"

#define FOLDER KD_BINARY_DIR "/recorder"

typedef struct run {
    kd_model    *model;
    kd_system   *system;
    kd_state    *x;
    kd_recorder *recorder;
} run;

static kd_status open_run(run *r, const char *name, const kd_recorder_options *opt, char *message, size_t size)
{
    char path[1000];
    *r = (run){0};
    snprintf(path, sizeof path, "%s/models/%s.yaml", KD_SOURCE_DIR, name);
    kd_status status = kd_model_read(path, NULL, 0, &r->model, message, size);
    if (status >= 0) {
        const char       *word = kd_model_run(r->model)->coordinates;
        kd_system_options options = kd_system_options_default();
        options.coordinates = word && strcmp(word, "cartesian") == 0 ? KD_CARTESIAN : KD_JOINT;
        status = kd_system_create(r->model, &options, &r->system, message, size);
    }
    if (status >= 0) status = kd_state_create(kd_system_eom(r->system), &r->x);
    if (status >= 0) status = kd_system_start(r->system, r->x, message, size);
    if (status >= 0) status = kd_recorder_create(r->system, opt, &r->recorder, message, size);
    return status;
}

static void close_run(run *r)
{
    kd_recorder_destroy(r->recorder);
    kd_state_destroy(r->x);
    kd_system_destroy(r->system);
    kd_model_destroy(r->model);
}

static run open_well(const char *name, const kd_recorder_options *opt)
{
    run  r;
    char message[1000] = "";
    if (open_run(&r, name, opt, message, sizeof message) < 0) fail_msg("%s: %s", name, message);
    return r;
}

// The part of a page between two words
static char *part_of(const char *path, const char *from, const char *to)
{
    char *text = read_text(path);
    assert_non_null(text);
    char *first = strstr(text, from), *last = first ? strstr(first, to) : NULL;
    if (!first || !last) fail_msg("%s has no part from '%s' to '%s'", path, from, to);
    *last = '\0';
    memmove(text, first, (size_t)(last - first) + 1);
    return text;
}

static void check_same_part(const char *a, const char *b, const char *from, const char *to)
{
    char *of_a = part_of(a, from, to), *of_b = part_of(b, from, to);
    assert_true(strlen(of_a) > 1000);
    assert_string_equal(of_a, of_b);
    free(of_a);
    free(of_b);
}

// Every number of every row of the table of `kardan simulate` is that of the recorder, names and units too.
static void check_table(const run *r, const char *path)
{
    kd_table table;
    char     message[500] = "";
    if (kd_table_read(path, &table, message, sizeof message) < 0) fail_msg("%s", message);
    assert_int_equal(table.nrows, kd_recorder_rows(r->recorder));
    assert_int_equal(table.ncolumns, kd_recorder_columns(r->recorder) + 1);
    for (int j = 1; j < table.ncolumns; j++) {
        assert_string_equal(table.name[j], kd_recorder_name(r->recorder, j - 1));
        assert_string_equal(table.unit[j], kd_recorder_unit(r->recorder, j - 1));
    }
    for (int i = 0; i < table.nrows; i++) {
        const double *row = table.value + (size_t)i * (size_t)table.ncolumns;
        assert_true(row[0] == kd_recorder_times(r->recorder)[i]);
        for (int j = 1; j < table.ncolumns; j++) assert_true(row[j] == kd_recorder_value(r->recorder, i, j - 1));
    }
    kd_table_release(&table);
}

static const char *const GALLERY[] = {"pendulum",    "slider-crank", "four-bar", "double-pendulum", "bouncing-ball",
                                      "impact-ball", "ladder",       "cam",      "quarter-car",     "clutch",
                                      "skate",       "satellite",    "trammel",  "damper-test"};

// A dozen models of the gallery: tables with the same bits, pages with the same plots and the same motion.
static void rows_are_those_of_the_command_line(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof GALLERY / sizeof *GALLERY; k++) {
        const char         *name = GALLERY[k];
        char                command[2000], csv[1000], html[1000], own[1000], message[1000] = "";
        kd_recorder_options opt = kd_recorder_options_default();
        opt.plain = true;
        snprintf(command, sizeof command,
                 "'%s/kardan' simulate '%s/models/%s.yaml' --plain --quiet --output '" FOLDER "'", KD_BINARY_DIR,
                 KD_SOURCE_DIR, name);
        command_result result = run_command(command);
        if (result.status != 0) fail_msg("%s\n%s", command, result.text);
        snprintf(csv, sizeof csv, FOLDER "/%s.csv", name);
        snprintf(html, sizeof html, FOLDER "/%s.html", name);
        snprintf(own, sizeof own, FOLDER "/%s-own.csv", name);
        run             r = open_well(name, &opt);
        const kd_status status = kd_recorder_simulate(r.recorder, NULL, r.x, kd_model_run(r.model)->t_end);
        if (status < 0) fail_msg("%s: %s", name, kd_recorder_message(r.recorder));
        check_table(&r, csv);
        assert_int_equal(kd_recorder_save_csv(r.recorder, own, message, sizeof message), KD_OK);
        check_table(&r, own);
        snprintf(own, sizeof own, FOLDER "/%s-own.html", name);
        assert_int_equal(kd_recorder_save_report(r.recorder, own, message, sizeof message), KD_OK);
        check_same_part(html, own, "<script", "</script>");
        check_same_part(html, own, "<h2>Plots", "<h2>Settings");
        close_run(&r);
    }
}

// Tables have the channels that were chosen, in their order; an unknown one is refused with what was meant.
static void channels_are_chosen(void **state)
{
    (void)state;
    static const char *const wanted[] = {"sensor.speed", "x"}, *const wrong[] = {"sped"};
    kd_recorder_options opt = kd_recorder_options_default();
    char                message[1000] = "";
    kd_table            table;
    opt.channels = wanted, opt.nchannels = 2, opt.intervals = 20;
    run r = open_well("slider-crank", &opt);
    assert_int_equal(kd_recorder_columns(r.recorder), 2);
    assert_string_equal(kd_recorder_name(r.recorder, 0), "speed");
    assert_int_equal(kd_recorder_find(r.recorder, "x"), 1);
    assert_int_equal(kd_recorder_find(r.recorder, "guide"), -1);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 0.5) >= 0);
    assert_int_equal(kd_recorder_rows(r.recorder), 21);
    assert_int_equal(kd_recorder_save_csv(r.recorder, FOLDER "/chosen.csv", message, sizeof message), KD_OK);
    assert_int_equal(kd_table_read(FOLDER "/chosen.csv", &table, message, sizeof message), KD_OK);
    assert_int_equal(table.ncolumns, 3);
    assert_string_equal(table.name[1], "speed");
    double values[21];
    assert_int_equal(kd_recorder_column(r.recorder, 1, values), KD_OK);
    for (int i = 0; i < 21; i++) assert_true(table.value[3 * i + 2] == values[i]);
    kd_table_release(&table);
    // the page plots them, and no other sensor
    assert_int_equal(kd_recorder_save_report(r.recorder, FOLDER "/chosen.html", message, sizeof message), KD_OK);
    char *page = part_of(FOLDER "/chosen.html", "<h1", "</html>");
    assert_non_null(strstr(page, "speed"));
    assert_null(strstr(page, "guide"));
    free(page);
    close_run(&r);
    opt.channels = wrong, opt.nchannels = 1;
    assert_int_equal(open_run(&r, "slider-crank", &opt, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "did you mean 'speed'"));
    assert_null(r.recorder);
    close_run(&r);
}

// Plots that a model asks for: a path that the system does not record is told among the warnings, one that is none of the
// model ends creation with its name; a system with the options of the model records them all.
static void plots_of_the_model(void **state)
{
    (void)state;
    static const char        head[] = "kardan: 1\n"
                                      "bodies: {bob: {mass: 1, inertia: [1, 1, 1], centre: [1, 0, 0]}}\n"
                                      "joints: {hinge: {type: revolute, from: {body: ground}, to: {body: bob}}}\n"
                                      "sensors: {height: body.bob.com.z}\n";
    static const char *const plots[] = {"[height, body.bob.vel.y]", "[body.bob.vell.y]", "[heigt]"};
    for (int k = 0; k < 4; k++) {
        char message[500] = "", text[1000];
        run  r = {0};
        snprintf(text, sizeof text, "%srun: {t_end: 0.1, plots: %s}\n", head, plots[k < 2 ? 0 : k - 1]);
        assert_int_equal(kd_model_read_text("t.yaml", text, strlen(text), NULL, 0, &r.model, message, sizeof message),
                         KD_OK);
        const kd_system_options watching = kd_system_options_of(r.model);
        assert_int_equal(kd_system_create(r.model, k == 1 ? &watching : NULL, &r.system, message, sizeof message),
                         KD_OK);
        const kd_status status = kd_recorder_create(r.system, NULL, &r.recorder, message, sizeof message);
        assert_int_equal(status, k < 2 ? KD_OK : KD_ERR_ARGUMENT);
        if (k >= 2) assert_non_null(strstr(message, k == 2 ? "did you mean 'vel.y'?" : "did you mean 'height'?"));
        if (k < 2) {
            assert_int_equal(kd_state_create(kd_system_eom(r.system), &r.x), KD_OK);
            assert_true(kd_system_start(r.system, r.x, NULL, 0) >= 0);
            assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 0.1) >= 0);
            assert_int_equal(kd_recorder_save_report(r.recorder, FOLDER "/plots.html", message, sizeof message), KD_OK);
            char *page = read_text(FOLDER "/plots.html");
            assert_non_null(page);
            const char *told = strstr(page, "is not recorded");
            assert_true(k == 0 ? told != NULL : told == NULL);
            assert_int_equal(kd_recorder_find(r.recorder, "body.bob.vel.y") >= 0, k == 1);
            free(page);
        }
        close_run(&r);
    }
}

// With steps there is a row for every accepted step; rows that find no room are counted.
static void steps_are_recorded(void **state)
{
    (void)state;
    kd_recorder_options opt = kd_recorder_options_default();
    opt.steps = true, opt.intervals = 1;
    run r = open_well("pendulum", &opt);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 1) >= 0);
    const long accepted = kd_recorder_certificate(r.recorder)->stats.accepted;
    const int  rows = kd_recorder_rows(r.recorder);
    assert_true(accepted > 5 && rows == (int)accepted + 1);
    close_run(&r);
    opt.rows = 4;
    r = open_well("pendulum", &opt);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 1) >= 0);
    assert_int_equal(kd_recorder_rows(r.recorder), 4);
    assert_true(kd_recorder_dropped(r.recorder) >= rows - 4);
    close_run(&r);
}

static kd_eval stop_late(const kd_state *x, bool at_time, void *context)
{
    (void)at_time;
    ++*(long *)context;
    return x->t > 0.5 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// A caller's output function is called as before, and what it asks for is done; a second run begins anew.
static void caller_sees_states_too(void **state)
{
    (void)state;
    kd_simulation_options options;
    char                  message[500] = "";
    long                  calls = 0;
    run                   r = open_well("pendulum", NULL);
    assert_int_equal(kd_system_run_options(r.system, &options, message, sizeof message), KD_OK);
    options.output = stop_late, options.context = &calls;
    assert_int_equal(kd_recorder_simulate(r.recorder, &options, r.x, 1), KD_STOPPED);
    const int rows = kd_recorder_rows(r.recorder);
    assert_true(calls >= rows - 1 && rows > 10 && kd_recorder_times(r.recorder)[rows - 1] < 0.6);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 2) >= 0);
    assert_true(kd_recorder_times(r.recorder)[0] > 0.5);
    assert_int_equal(kd_recorder_rows(r.recorder), 501);
    close_run(&r);
}

// Events of a run are those of this run: the second one of the same motion has the same, none of the first
static void events_begin_anew(void **state)
{
    (void)state;
    double first[100];
    run    r = open_well("impact-ball", NULL);
    int    n = 0;
    for (int i = 0; i < 3; i++) {
        char message[500] = "";
        r.x->t = 0;
        assert_true(kd_system_start(r.system, r.x, message, sizeof message) >= 0);
        assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 2) >= 0);
        if (i == 0) n = kd_recorder_events_count(r.recorder);
        assert_true(n > 1 && n <= 100);
        assert_int_equal(kd_recorder_events_count(r.recorder), n);
        for (int k = 0; k < n; k++) {
            const double t = kd_recorder_event(r.recorder, k).t;
            if (i == 0) first[k] = t;
            assert_true(t == first[k]);
        }
    }
    close_run(&r);
}

// What the file names is taken, what goes with it is completed; without a name the method is kardan's choice.
static void methods_of_the_file(void **state)
{
    (void)state;
    const struct {
        const char        *run;
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } list[] = {{"rtol: 1e-5", KD_FORMULATION_CHOSEN, KD_INTEGRATOR_CHOSEN},
                {"integrator: bdf", KD_GGL, KD_BDF},
                {"integrator: dop853", KD_ODE, KD_DOP853},
                {"formulation: index2", KD_INDEX2, KD_RADAU},
                {"formulation: index2, integrator: bdf", KD_INDEX2, KD_BDF}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char                  text[400], message[500] = "";
        kd_simulation_options o;
        kd_model             *model = NULL;
        kd_system            *system = NULL;
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies: {rod: {mass: 1, inertia: [1, 1, 1]}}\n"
                 "joints: {hinge: {type: revolute, bodies: [ground, rod], point: [1, 0, 0], axis: [0, 1, 0]}}\n"
                 "run: {t_end: 1, %s}\n",
                 list[i].run);
        if (kd_model_read_text("file", text, strlen(text), NULL, 0, &model, message, sizeof message) < 0)
            fail_msg("%s", message);
        assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
        assert_int_equal(kd_system_run_options(system, &o, message, sizeof message), KD_OK);
        assert_int_equal(o.formulation, list[i].formulation);
        assert_int_equal(o.integrator, list[i].integrator);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

// Options of `run` reach the simulation, numbers of parameters follow these; without options of their own systems have
// the coordinates of `run`.
static void options_of_the_file(void **state)
{
    (void)state;
    static const char TEXT[] =
        "kardan: 1\nparameters: {h: 0.002}\nbodies: {rod: {mass: 1, inertia: [1, 1, 1]}}\n"
        "joints: {hinge: {type: revolute, bodies: [ground, rod], point: [1, 0, 0], axis: [0, 1, 0]}}\n"
        "run: {coordinates: cartesian, radau: {max_newton: 7, classical: yes}, steps: {h_first: 2 * h, rtol: 1e-4},\n"
        "      form: {constraints: qr}, arkode: {table: ARKODE_SDIRK_5_3_4}}\n";
    kd_simulation_options o;
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    char                  message[500] = "";
    if (kd_model_read_text("file", TEXT, sizeof TEXT - 1, NULL, 0, &model, message, sizeof message) < 0)
        fail_msg("%s", message);
    assert_true(kd_system_create(model, NULL, &system, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_dims(kd_system_eom(system)).nlambda, 5);
    assert_int_equal(kd_system_run_options(system, &o, message, sizeof message), KD_OK);
    assert_int_equal(o.integrator_options.radau.max_newton, 7);
    assert_true(o.integrator_options.radau.classical && o.integrator_options.h_first == 0.004);
    assert_true(o.rtol == 1e-4 && o.atol == 1e-4);
    assert_int_equal(o.formulation_options.constraints, KD_DECOMPOSE_QR);
    assert_string_equal(o.integrator_options.arkode.table, "ARKODE_SDIRK_5_3_4");
    // a parameter changes
    assert_true(kd_system_set_parameters(system, &(double){0.003}, message, sizeof message) >= 0);
    assert_int_equal(kd_system_run_options(system, &o, message, sizeof message), KD_OK);
    assert_true(fabs(o.integrator_options.h_first - 0.006) < 1e-15);
    assert_true(kd_system_set_parameters(system, &(double){-1}, message, sizeof message) >= 0);
    assert_int_equal(kd_system_run_options(system, &o, message, sizeof message), KD_ERR_ARGUMENT);
    assert_string_equal(message, "run: steps.h_first = -2 must be at least 0");
    kd_system_destroy(system);
    kd_model_destroy(model);
}

// Equations written in C are recorded as models are.
static void equations_are_recorded(void **state)
{
    (void)state;
    kd_eom_def   def = oscillator();
    kd_eom      *eom = NULL;
    kd_state    *x = NULL;
    kd_recorder *recorder = NULL;
    char         message[500] = "";
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    oscillator_state(0, x);
    assert_int_equal(kd_recorder_create_for(eom, NULL, NULL, &recorder, message, sizeof message), KD_OK);
    assert_true(kd_recorder_simulate(recorder, NULL, x, 2) >= 0);
    assert_int_equal(kd_recorder_rows(recorder), 501);
    const double end = kd_recorder_value(recorder, 500, kd_recorder_find(recorder, "mass <1>"));
    assert_true(fabs(end - exp(-oscillator_damping) * cos(2)) < 1e-4);
    assert_int_equal(kd_recorder_save_report(recorder, FOLDER "/oscillator.html", message, sizeof message), KD_OK);
    kd_recorder_destroy(recorder);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// What is NULL or out of its order is refused, and nothing happens.
static void misuse_is_refused(void **state)
{
    (void)state;
    char                  message[500] = "";
    kd_recorder          *none = (kd_recorder *)message;
    kd_simulation_options options = kd_simulation_options_default();
    kd_recorder_options   negative = kd_recorder_options_default();
    negative.intervals = -1;
    assert_int_equal(kd_recorder_create(NULL, NULL, &none, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(none);
    assert_int_equal(kd_recorder_simulate(NULL, NULL, NULL, 1), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_attach(NULL, &options, 0, 1), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_begin(NULL, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_end(NULL, KD_OK), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_save_csv(NULL, "x.csv", NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_system_run_options(NULL, &options, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_rows(NULL) + kd_recorder_columns(NULL), 0);
    assert_string_equal(kd_recorder_name(NULL, 0), "");
    assert_null(kd_recorder_times(NULL));
    kd_recorder_destroy(NULL);
    run r = open_well("pendulum", NULL);
    assert_int_equal(kd_recorder_create(r.system, &negative, &none, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_save_report(r.recorder, FOLDER "/none.html", message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "nothing was recorded"));
    assert_int_equal(kd_recorder_end(r.recorder, KD_OK), KD_ERR_ARGUMENT);
    assert_int_equal(kd_recorder_see(r.x, true, r.recorder), KD_EVAL_STOP);
    assert_true(isnan(kd_recorder_value(r.recorder, 0, 0)));
    assert_string_equal(kd_recorder_name(r.recorder, -1), "");
    // a simulation that nobody told it of
    kd_simulation *simulation = NULL;
    assert_int_equal(kd_recorder_attach(r.recorder, &options, 0, 1), KD_OK);
    assert_true(kd_simulation_create(kd_system_eom(r.system), NULL, &options, r.x, &simulation, NULL, 0) >= 0);
    assert_int_equal(kd_simulation_run(simulation, 1), KD_STOPPED);
    assert_non_null(strstr(kd_recorder_message(r.recorder), "kd_recorder_begin"));
    kd_simulation_destroy(simulation);
    close_run(&r);
}

// Wherever memory ends, creation, attaching and the page say so and leave nothing behind.
static void memory_may_end(void **state)
{
    (void)state;
    run                   r = open_well("pendulum", NULL);
    kd_simulation_options options = kd_simulation_options_default();
    kd_status             status = KD_ERR_MEMORY;
    for (long at = 1; status == KD_ERR_MEMORY; at++) {
        failing_allocator f = {.fail_at = at};
        kd_recorder      *recorder = NULL;
        options = kd_simulation_options_default();
        failing_allocator_use(&f);
        status = kd_recorder_create(r.system, NULL, &recorder, NULL, 0);
        assert_true(status == KD_OK || !recorder);
        if (status == KD_OK) status = kd_recorder_attach(recorder, &options, 0, 1);
        kd_recorder_destroy(recorder);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(status == KD_OK || status == KD_ERR_MEMORY);
    }
    assert_int_equal(status, KD_OK);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 1) >= 0);
    status = KD_ERR_MEMORY;
    for (long at = 1; status < 0; at++) {
        failing_allocator f = {.fail_at = at};
        char              message[500] = "";
        failing_allocator_use(&f);
        status = kd_recorder_save_report(r.recorder, FOLDER "/memory.html", message, sizeof message);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        assert_true(status == KD_OK || message[0]);
    }
    close_run(&r);
}

static kd_eval count_allocations(const kd_state *x, bool at_time, void *context)
{
    const failing_allocator *f = context;
    static long              before;
    (void)at_time;
    if (x->t > 0) assert_int_equal(f->calls, before);
    before = f->calls;
    return KD_EVAL_OK;
}

// Nothing is allocated between the start and the last row.
static void steps_do_not_allocate(void **state)
{
    (void)state;
    failing_allocator     f = {0};
    kd_simulation_options options;
    failing_allocator_use(&f);
    run r = open_well("slider-crank", NULL);
    assert_int_equal(kd_system_run_options(r.system, &options, NULL, 0), KD_OK);
    options.output = count_allocations, options.context = &f;
    assert_true(kd_recorder_simulate(r.recorder, &options, r.x, 0.5) >= 0);
    assert_int_equal(kd_recorder_rows(r.recorder), 501);
    close_run(&r);
    kd_set_allocator(NULL);
    assert_int_equal(f.live, 0);
}

// The table as a whole has the numbers of its columns, chosen ones at their places.
static void table_is_seen_as_a_whole(void **state)
{
    (void)state;
    static const char *const wanted[] = {"thrust", "x"};
    kd_recorder_options      opt = kd_recorder_options_default();
    size_t                   stride = 7;
    opt.channels = wanted, opt.nchannels = 2, opt.intervals = 10;
    run r = open_well("slider-crank", &opt);
    assert_null(kd_recorder_table(r.recorder, &stride));
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 0.1) >= 0);
    const double *table = kd_recorder_table(r.recorder, &stride);
    assert_true(stride > 2);
    for (int i = 0; i < kd_recorder_rows(r.recorder); i++)
        for (int j = 0; j < 2; j++)
            assert_true(table[(size_t)i * stride + (size_t)kd_recorder_place(r.recorder, j)] ==
                        kd_recorder_value(r.recorder, i, j));
    assert_int_equal(kd_recorder_place(r.recorder, 2), -1);
    assert_null(kd_recorder_table(NULL, &stride));
    close_run(&r);
}

static kd_eval constant_input(double t, void *context, double *u, double *du, double *ddu)
{
    (void)t;
    u[0] = *(const double *)context, du[0] = ddu[0] = 0;
    return KD_EVAL_OK;
}

// Inputs of the caller take the place of the model's, in the run and in what is recorded.
static void inputs_of_the_caller(void **state)
{
    (void)state;
    double              value = 0;
    kd_inputs           inputs = {constant_input, &value};
    kd_recorder_options opt = kd_recorder_options_default();
    opt.inputs = &inputs, opt.intervals = 10;
    run       r = open_well("inverted-pendulum", &opt), plain = open_well("inverted-pendulum", NULL);
    const int nu = kd_eom_dims(kd_system_eom(r.system)).nu;
    assert_int_equal(nu, 1);
    value = 0.25;
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 0.1) >= 0);
    assert_true(kd_recorder_simulate(plain.recorder, NULL, plain.x, 0.1) >= 0);
    char      name[200];
    const int column =
        kd_recorder_find(r.recorder, kd_eom_name(kd_system_eom(r.system), KD_NAME_U, 0, name, sizeof name));
    assert_true(column >= 0);
    for (int i = 0; i < kd_recorder_rows(r.recorder); i++)
        assert_true(kd_recorder_value(r.recorder, i, column) == 0.25);
    assert_true(kd_recorder_value(plain.recorder, 0, column) != 0.25);
    close_run(&plain);
    close_run(&r);
}

// Events are at hand in their order.
static void events_are_at_hand(void **state)
{
    (void)state;
    run r = open_well("impact-ball", NULL);
    assert_int_equal(kd_recorder_events_count(r.recorder), 0);
    assert_true(kd_recorder_simulate(r.recorder, NULL, r.x, 1) >= 0);
    const int n = kd_recorder_events_count(r.recorder);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const kd_recorded_event e = kd_recorder_event(r.recorder, i);
        assert_true(e.text[0] && e.t > 0 && (i == 0 || e.t >= kd_recorder_event(r.recorder, i - 1).t));
    }
    assert_int_equal(kd_recorder_event(r.recorder, 0).kind, KD_EVENT_IMPACT);
    assert_true(isnan(kd_recorder_event(r.recorder, n).t));
    close_run(&r);
}

int main(void)
{
    if (run_command("mkdir -p '" FOLDER "'").status != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_command_line),
        cmocka_unit_test(channels_are_chosen),
        cmocka_unit_test(plots_of_the_model),
        cmocka_unit_test(steps_are_recorded),
        cmocka_unit_test(caller_sees_states_too),
        cmocka_unit_test(events_begin_anew),
        cmocka_unit_test(methods_of_the_file),
        cmocka_unit_test(options_of_the_file),
        cmocka_unit_test(equations_are_recorded),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(steps_do_not_allocate),
        cmocka_unit_test(table_is_seen_as_a_whole),
        cmocka_unit_test(inputs_of_the_caller),
        cmocka_unit_test(events_are_at_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
