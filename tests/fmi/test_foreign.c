// Foreign code in models: FMUs and shared objects as blocks move as the same laws inside, wrong files and misbehaviour are messages that
// name the block; FMUs as systems of co-simulations.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define OUT KD_BINARY_DIR "/test-foreign"
#define BEFORE "cd '" OUT "' && "
#include "case.h"
#include "cli/run.h"
#include "fmi/make_fmu.h"

enum { COLUMNS = 120, LINE = 8000 };

typedef struct table {
    char   name[COLUMNS][60];
    int    n;
    double row[COLUMNS]; // the last one that was read
    FILE  *file;
} table;

static void table_open(table *t, const char *path)
{
    char line[LINE];
    *t = (table){.file = fopen(path, "r")};
    if (!t->file) fail_msg("%s is missing", path);
    do assert_non_null(fgets(line, sizeof line, t->file));
    while (line[0] == '#');
    for (char *word = strtok(line, ",\n"); word && t->n < COLUMNS; word = strtok(NULL, ",\n"))
        snprintf(t->name[t->n++], sizeof t->name[0], "%s", word);
}

static bool table_next(table *t)
{
    char line[LINE], *at = line;
    if (!fgets(line, sizeof line, t->file)) return false;
    for (int i = 0; i < t->n; i++) {
        t->row[i] = strtod(at, &at);
        if (*at == ',') at++;
    }
    return true;
}

// The largest difference of columns whose names begin with a word, relative to their largest values; rows must be as many
static double table_difference(const char *a, const char *b, const char *word)
{
    table  x, y;
    double worst[COLUMNS] = {0}, size[COLUMNS] = {0}, most = 0;
    int    compared = 0;
    table_open(&x, a);
    table_open(&y, b);
    for (;;) {
        const bool more = table_next(&x);
        assert_int_equal(more, table_next(&y));
        if (!more) break;
        for (int i = 0; i < x.n; i++)
            for (int k = 0; k < y.n; k++) {
                if (strcmp(x.name[i], y.name[k]) != 0 || strncmp(x.name[i], word, strlen(word)) != 0) continue;
                worst[i] = fmax(worst[i], fabs(x.row[i] - y.row[k]));
                size[i] = fmax(size[i], fabs(y.row[k]));
                compared++;
            }
    }
    assert_true(compared > 0);
    for (int i = 0; i < x.n; i++) most = fmax(most, size[i] > 0 ? worst[i] / size[i] : worst[i]);
    fclose(x.file);
    fclose(y.file);
    return most;
}

// A cart and a block of these fields
static void write_cart(const char *block, const char *more)
{
    FILE *file = fopen(OUT "/cart.yaml", "w");
    assert_non_null(file);
    fprintf(file,
            "kardan: 1\ngravity: [0, 0, 0]\nbodies: {cart: {mass: 2, inertia: [0.1, 0.1, 0.1]}}\n"
            "joints: {slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0], v: 1}}\n"
            "blocks:\n  unit: {%s}\n%s\nrun: {t_end: 0.95, rtol: 1e-9}\n",
            block, more);
    fclose(file);
}

// The truck with its laws in an FMU moves as the one that has them inside: both versions, both kinds, with and without a process
static void truck_moves_as_with_its_own_laws(void **state)
{
    static const struct {
        const char *export, *kind, *options;
    } way[] = {{"--fmi 3 --kind cs", "cs", ""},
               {"--fmi 2 --kind cs", "cs", ""},
               {"--fmi 3 --kind both", "me", "--in-process"},
               {"--fmi 2 --kind both", "me", "--in-process"}};
    char command[600];
    (void)state;
    expect("simulate " MODELS "semi-active-truck.yaml --t-end 0.7 --quiet --no-drawing -o own", 0, "");
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        snprintf(command, sizeof command, "export fmu " MODELS "foreign/damper-laws.yaml %s --quiet", way[i].export);
        expect(command, 0, "");
        snprintf(command, sizeof command,
                 "sed 's/type: fmu/type: fmu\\n    kind: %s/' " MODELS "foreign/truck-fmu.yaml > '" OUT
                 "/truck-fmu.yaml'",
                 way[i].kind);
        assert_int_equal(run_command(command).status, 0);
        snprintf(command, sizeof command, "simulate truck-fmu.yaml --t-end 0.7 --quiet --no-drawing -o own %s",
                 way[i].options);
        expect(command, 0, "");
        const double d = table_difference(OUT "/own/truck-fmu.csv", OUT "/own/semi-active-truck.csv", "joint.");
        if (d > 1e-9) fail_msg("%s: %g", way[i].export, d); // that truck is made of library parts: rounding
    }
    // written and read again it is the same; as an FMU it is refused
    expect("convert truck-fmu.yaml again.yaml --quiet", 0, "");
    expect("simulate again.yaml --t-end 0.7 --quiet --no-drawing -o own", 0, "");
    assert_true(table_difference(OUT "/own/again.csv", OUT "/own/truck-fmu.csv", "joint.") == 0);
    expect("export fmu truck-fmu.yaml", 1, "laws: this block is foreign code, which an FMU cannot carry");
}

// A controller in a shared object: the motion of the pid block; only where it is allowed, with a message that names file and element
static void library_moves_as_the_pid_block(void **state)
{
    (void)state;
    assert_int_equal(run_command("cp " MODELS "foreign/cart-library.yaml '" OUT "' && cp '" KD_BINARY_DIR
                                 "/tests/libfixture_controller.so' '" OUT "/speed_controller.so'")
                         .status,
                     0);
    const command_result refused = expect("simulate cart-library.yaml", 1, "cart-library.yaml:");
    assert_null(strstr(refused.text, "no meaning"));
    expect("simulate cart-library.yaml", 1, "block 'speed': speed_controller.so: a shared object can do whatever");
    expect("simulate cart-library.yaml --load-libraries --quiet --no-drawing -o own", 0, "");
    expect("simulate " MODELS "sampled-speed.yaml --quiet --no-drawing -o own", 0, "");
    assert_true(table_difference(OUT "/own/cart-library.csv", OUT "/own/sampled-speed.csv", "joint.") == 0);
    // independent runs of one process begin anew
    expect("simulate cart-library.yaml --load-libraries --no-drawing -o own --cross-check", 0, "");
    // what the object itself says
    write_cart("type: library, file: speed_controller.so, period: 0.1, output: [a, b, c]", "");
    expect("simulate cart.yaml --load-libraries --no-drawing", 1,
           "block 'unit': kardan_controller_init answered NULL: it has 1 input and 2 outputs, not 0 and 3");
    write_cart("type: library, file: libc.so, period: 0.1, output: [a]", "");
    assert_int_equal(run_command("cp '" KD_BINARY_DIR "/tests/libfixture_ball.so' '" OUT "/libc.so'").status, 0);
    expect("simulate cart.yaml --load-libraries --no-drawing", 1, "has no function 'kardan_controller_init'");
    write_cart("type: library, file: cart.yaml, period: 0.1, output: [a]", "");
    expect("simulate cart.yaml --load-libraries --no-drawing", 1, "the shared object cannot be loaded");
}

static double last_of(const char *column)
{
    table  t;
    double value = NAN;
    table_open(&t, OUT "/own/cart.csv");
    while (table_next(&t))
        for (int i = 0; i < t.n; i++)
            if (strcmp(t.name[i], column) == 0) value = t.row[i];
    fclose(t.file);
    return value;
}

// Units of the shared descriptions: Euler's recursion of co-simulation, the exponential and the bounces of model exchange
static void shared_units_are_sampled(void **state)
{
    (void)state;
    if (!has_shared()) skip();
    for (int version = 2; version <= 3; version++) {
        char path[400];
        snprintf(path, sizeof path, SHARED "/models/Dahlquist/FMI%d.xml", version);
        make_fmu("Dahlquist", path, "dahlquist", version, "unit.fmu");
        write_cart("type: fmu, file: unit.fmu, kind: cs, period: 0.1, output: [x]", "sensors: {x: block.unit.out}");
        expect("simulate cart.yaml --quiet --no-drawing -o own", 0, "");
        assert_true(fabs(last_of("x") - pow(0.9, 9)) < 1e-15); // of the sample at 0.9 s
        write_cart(
            "type: fmu, file: unit.fmu, kind: me, period: 0.15, tolerance: 1e-11, parameters: {k: 2}, output: [x]",
            "sensors: {x: block.unit.out}");
        expect("simulate cart.yaml --quiet --no-drawing -o own", 0, "");
        assert_true(fabs(last_of("x") - exp(-2 * 0.9)) < 1e-10);
        // one bounce at 0.4515 s: then v = e sqrt(2 g) - g s
        snprintf(path, sizeof path, SHARED "/models/BouncingBall/FMI%d.xml", version);
        make_fmu("BouncingBall", path, "ball", version, "unit.fmu");
        write_cart("type: fmu, file: unit.fmu, kind: me, period: 0.3, tolerance: 1e-11, output: [h, v]",
                   "sensors: {h: block.unit.out1, v: block.unit.out2}");
        expect("simulate cart.yaml --quiet --no-drawing -o own", 0, "");
        const double fall = sqrt(2 / 9.81), s = 0.9 - fall, up = 0.7 * 9.81 * fall;
        assert_true(fabs(last_of("v") - (up - 9.81 * s)) < 1e-8);
        assert_true(fabs(last_of("h") - (up * s - 9.81 * s * s / 2)) < 1e-8);
    }
}

// Signals go in and come out: all numbers of the Feedthrough unit, inputs by expressions of the motion
static void signals_go_through(void **state)
{
    (void)state;
    if (!has_shared()) skip();
    for (int version = 2; version <= 3; version++)
        for (int exchange = 0; exchange < 2; exchange++) {
            char        path[400], block[600];
            const char *in[] = {"Real_continuous_input", "Float64_continuous_input"},
                       *out[] = {"Real_continuous_output", "Float64_continuous_output"};
            snprintf(path, sizeof path, SHARED "/models/Feedthrough/FMI%d.xml", version);
            make_fmu("Feedthrough", path, "feedthrough", version, "unit.fmu");
            char text[1000];
            snprintf(text, sizeof text, "grep -q %s '%s'", in[0], path);
            const int name = version == 2 && run_command(text).status == 0 ? 0 : 1;
            snprintf(block, sizeof block,
                     "type: fmu, file: unit.fmu, kind: %s, period: 0.3, input: {%s: 3*joint.slide.q + t}, output: [%s]",
                     exchange ? "me" : "cs", in[name], out[name]);
            write_cart(block, "sensors: {y: block.unit.out}");
            expect("simulate cart.yaml --quiet --no-drawing -o own", 0, "");
            assert_true(fabs(last_of("y") - 4 * 0.9) < 1e-9); // q = t
        }
}

// What is wrong with a block is one sentence with line and element
static void wrong_blocks_are_told(void **state)
{
    static const struct {
        const char *block, *sentence;
    } wrong[] = {
        {"type: fmu, file: none.fmu, period: 0.1, output: [x]", "none.fmu"},
        {"type: fmu, file: cart.yaml, period: 0.1, output: [x]", "block 'unit': cart.yaml: "},
        {"type: fmu, file: GOOD.fmu, period: 0.1, output: [y]", "GOOD.fmu: the FMU has no variable 'y'"},
        {"type: fmu, file: GOOD.fmu, period: 0.1, output: [der(y)]",
         "the FMU has no variable 'der(y)', did you mean 'der(x)'?"},
        {"type: fmu, file: GOOD.fmu, period: 0.1, input: {x: t}, output: [x]",
         "'x' is no input of the FMU, but its causality is output"},
        {"type: fmu, file: GOOD.fmu, period: 0.1, parameters: {x: 1}, output: [x]",
         "'x' is no parameter or input of the FMU"},
        {"type: fmu, file: GOOD.fmu, period: 0.1, input: t, output: [x]", "input"},
        {"type: fmu, file: GOOD.fmu, period: 0.1", "output"},
        {"type: fmu, file: GOOD.fmu, kind: cs, output: [x]", "give it a period"},
        {"type: fmu, file: GOOD.fmu, period: 0.1, kind: both, output: [x]", "kind"},
        {"type: fmu, period: 0.1, output: [x]", "file"},
    };
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("GOOD");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_cart(wrong[i].block, "");
        const command_result r = expect("check cart.yaml", 1, wrong[i].sentence);
        must_contain(r.text, "cart.yaml:");
        must_contain(r.text, "unit");
    }
}

// A unit that misbehaves in the middle of a run ends it with a message that names the block; rows so far are there
static void misbehaviour_names_the_block(void **state)
{
    static const struct {
        const char *token, *sentence;
    } way[] = {{"FALLS", "block 'unit': the FMU crashed in a step (Aborted)"},
               {"STALLS", "block 'unit': the FMU did not come back from a step within 3 s and was ended"},
               {"FAILS", "block 'unit': the FMU: DoStep answered \"error\""},
               {"LOSES", "block 'unit': the FMU: output 'x' is no finite number"},
               {"CRASH", "block 'unit': the FMU crashed in the start of initialisation"}};
    char block[200];
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        make_hostile(way[i].token);
        snprintf(block, sizeof block, "type: fmu, file: %s.fmu, kind: cs, period: 0.1, output: [x]", way[i].token);
        write_cart(block, "sensors: {x: block.unit.out}");
        assert_int_equal(run_command("rm -rf '" OUT "/own'").status, 0);
        expect("simulate cart.yaml --no-drawing --fmu-timeout 3 -o own", 1, way[i].sentence);
        if (strcmp(way[i].token, "CRASH") == 0) continue; // there is nothing before it
        assert_true(last_of("t") > 0.2 && last_of("t") < 0.45);
    }
}

// A run with a unit cannot go on from a file: told, not wrong
static void runs_do_not_go_on(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("GOOD");
    write_cart("type: fmu, file: GOOD.fmu, period: 0.1, output: [x]", "");
    expect("simulate cart.yaml --no-drawing --quiet --t-end 0.5 -o own --write-state own/cart.saved", 0, "");
    expect("simulate cart.yaml --no-drawing --quiet --t-end 0.9 -o own --continue own/cart.saved", 1,
           "block 'unit': it keeps its states to itself");
}

// ---- co-simulation --------------------------------------------------------------------------------------------------

static void write_systems(const char *left, const char *master)
{
    FILE *file = fopen(OUT "/two.yaml", "w");
    assert_non_null(file);
    fprintf(file,
            "cosimulation: two masses\nsystems:\n  left: {%s}\n  right: {model: '%s/models/systems/tied-mass.yaml'}\n"
            "connections:\n  left.F: right.F\n  right.x: left.x\n  right.v: left.v\nenergy: [[left.F, right.v]]\n"
            "master: {%s}\nrun: {t_end: 2, intervals: 100}\n",
            left, KD_SOURCE_DIR, master);
    fclose(file);
}

// Thousands of macro steps of FMUs in processes of their own, or 200
static const char *command_of_two(void)
{
    return test_often(1, 0) ? "cosimulate two.yaml --quiet --output own"
                            : "cosimulate two.yaml --quiet --output own --t-end 0.2";
}

// A mass as an FMU beside one as a model, against both as models: model exchange follows the same inputs, co-simulation holds them
static void fmus_are_systems(void **state)
{
    static const struct {
        const char *left, *master;
        double      bound;
    } way[] = {{"fmu: mass.fmu, kind: me, tolerance: 1e-10", "type: jacobi, degree: 2, step: 1 ms", 1e-7},
               {"fmu: mass.fmu, kind: cs, tolerance: 1e-10", "type: jacobi, degree: 2, step: 1 ms", 1e-4},
               {"fmu: mass.fmu, kind: me, tolerance: 1e-10", "type: iteration, degree: 1, step: 5 ms", 1e-6}};
    (void)state;
    for (int version = 2; version <= 3; version++) {
        char command[400];
        snprintf(command, sizeof command, "export fmu " MODELS "systems/mass.yaml --fmi %d --quiet", version);
        expect(command, 0, "");
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            write_systems("model: '" KD_SOURCE_DIR "/models/systems/mass.yaml', run: {rtol: 1e-12}", way[i].master);
            expect(command_of_two(), 0, "");
            assert_int_equal(run_command("mv '" OUT "/own/two.cosim.csv' '" OUT "/own/models.csv'").status, 0);
            write_systems(way[i].left, way[i].master);
            expect(command_of_two(), 0, "");
            const double d = table_difference(OUT "/own/two.cosim.csv", OUT "/own/models.csv", "left.");
            if (!(d < way[i].bound)) fail_msg("FMI %d, %s, %s: %g", version, way[i].left, way[i].master, d);
        }
        // steps that are made twice: its state is saved and restored
        write_systems("fmu: mass.fmu", "type: jacobi, degree: 1, step: 1 ms, control: halves, rtol: 1e-3");
        expect("cosimulate two.yaml --t-end 0.02 --output own", 0, "halves");
    }
}

static void wrong_systems_are_told(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("FALLS");
    write_systems("fmu: none.fmu", "step: 1 ms");
    expect("cosimulate two.yaml", 1, "two.yaml:3:");
    write_systems("fmu: FALLS.fmu, kind: all", "step: 1 ms");
    expect("cosimulate two.yaml", 1, "there is no kind");
    write_systems("fmu: FALLS.fmu, set: {nothing: 1}", "step: 1 ms");
    expect("cosimulate two.yaml", 1, "the FMU has no variable 'nothing'");
    FILE *file = fopen(OUT "/one.yaml", "w");
    assert_non_null(file);
    fputs("cosimulation: one\nsystems:\n  unit: {fmu: FALLS.fmu, kind: cs}\n  out: {inputs: {x: 1}, outputs: {y: "
          "{value: x}}}\n"
          "connections: {out.x: unit.x}\nmaster: {step: 0.1}\nrun: {t_end: 1}\n",
          file);
    fclose(file);
    const command_result r = expect("cosimulate one.yaml", 1, "the FMU crashed in a step");
    must_contain(r.text, "unit");
}

// ---- another program ------------------------------------------------------------------------------------------------

// The plant listens, the controller comes: both in the folder of the test; the exit status of the plant. The file of an
// earlier plant goes before the new one starts: its port would be taken for the new one's.
static int run_with_controller(const char *options, const char *controller)
{
    char line[2500];
    snprintf(
        line, sizeof line,
        "cd '" OUT "' && rm -f listen.txt status.txt; (" KARDAN "simulate " MODELS
        "systems/semi-active-plant.yaml --listen 0 "
        "--channels 'frame.*.vel.z,body.*.vel.z' --quiet --no-drawing -o own %s 2> listen.txt; echo $? > status.txt) & "
        "P=; for i in $(seq 1200); do P=$(sed -n 's/.*listening on port //p' listen.txt 2> /dev/null); "
        "[ -n \"$P\" ] && break; sleep 0.05; done; %s; wait; exit $(cat status.txt)",
        options, controller);
    return run_command(line).status;
}

static const char CONTROLLER[] = "/usr/bin/python3 '" KD_SOURCE_DIR "/tests/cli/truck_controller.py' $P";

// Truck and controllers in two programs at 200 Hz move as the truck that has them inside
static void truck_in_two_programs(void **state)
{
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) return;
    expect("simulate " MODELS "semi-active-truck.yaml --t-end 1 --quiet --no-drawing -o own", 0, "");
    assert_int_equal(run_with_controller("--macro-step 0.005 --t-end 1", CONTROLLER), 0);
    // ten tolerances of the run
    const double d = table_difference(OUT "/own/semi-active-plant.csv", OUT "/own/semi-active-truck.csv", "joint.");
    if (!(d < 1e-5)) fail_msg("%g", d);
}

// A plant of a co-simulation listens, then the master comes; the exit status of the master, whose words are in master.txt
static int run_with_plant(const char *plant, const char *systems)
{
    char line[3000];
    snprintf(line, sizeof line,
             "cd '" OUT "' && rm -f listen.txt master.txt; (" KARDAN "simulate " MODELS
             "systems/mass.yaml --listen 0 --quiet --no-drawing -o own %s 2> listen.txt) & "
             "P=; for i in $(seq 1200); do P=$(sed -n 's/.*listening on port //p' listen.txt 2> /dev/null); "
             "[ -n \"$P\" ] && break; sleep 0.05; done; sed \"s/PORT/$P/\" two.yaml > process.yaml; " KARDAN
             "cosimulate process.yaml --quiet --output own %s > master.txt 2>&1; s=$?; wait; exit $s",
             plant, systems);
    return run_command(line).status;
}

// A mass in another program beside one as a model, against both as models
static void programs_are_systems(void **state)
{
    static const char PROCESS[] = "process: PORT, inputs: {F: N}, outputs: {x: m, v: m/s}, patience: 30";
    (void)state;
    write_systems("model: '" KD_SOURCE_DIR "/models/systems/mass.yaml', run: {rtol: 1e-12}",
                  "type: jacobi, degree: 2, step: 1 ms");
    expect("cosimulate two.yaml --quiet --output own", 0, "");
    assert_int_equal(run_command("mv '" OUT "/own/two.cosim.csv' '" OUT "/own/models.csv'").status, 0);
    double before = 0;
    for (int k = 0; k < 2; k++) {
        char master[200], plant[100];
        snprintf(master, sizeof master, "type: jacobi, degree: 1, step: %d ms", k == 0 ? 4 : 2);
        snprintf(plant, sizeof plant, "--t-end 2 --macro-step %g", k == 0 ? 0.004 : 0.002);
        write_systems(PROCESS, master);
        assert_int_equal(run_with_plant(plant, ""), 0);
        const double d = table_difference(OUT "/own/process.cosim.csv", OUT "/own/models.csv", "left.");
        // held inputs are those of the middle of the step: second order
        if (!(d < 5e-3) || (k == 1 && !(d < 0.4 * before))) fail_msg("%g behind %g", d, before);
        before = d;
    }
    // other macro steps, and nobody there
    write_systems(PROCESS, "type: jacobi, degree: 1, step: 4 ms");
    assert_int_equal(run_with_plant("--t-end 2 --macro-step 0.003", ""), 1);
    const command_result r = run_command("cat '" OUT "/master.txt'");
    must_contain(r.text, "give both the same macro step");
    must_contain(r.text, "left");
    write_systems("process: 9, inputs: {F: N}, outputs: {x: m, v: m/s}, patience: 1", "step: 4 ms");
    expect("cosimulate two.yaml", 1, "port 9: ");
    write_systems("process: 70000, inputs: {F: N}, outputs: {x: m, v: m/s}", "step: 4 ms");
    expect("cosimulate two.yaml", 1, "a port from 1 to 65535 is expected here");
    write_systems("process: 4000, inputs: {F: m}, outputs: {x: m, v: m/s}", "step: 4 ms");
    expect("cosimulate two.yaml", 1, "two.yaml:");
}

// A controller that does not come, or goes, ends the run in words; what does not go together is refused
static void lost_controllers_are_told(void **state)
{
    (void)state;
    expect("simulate " MODELS "pendulum.yaml --listen 0", 1, "--macro-step");
    expect("simulate " MODELS "pendulum.yaml --macro-step 0.1", 2, "for --listen");
    expect("simulate " MODELS "pendulum.yaml --listen 70000 --macro-step 0.1", 2, "port from 0 to 65535");
    expect("simulate " MODELS "pendulum.yaml --listen 0 --macro-step 0.1 --cross-check", 1, "cannot be repeated");
    expect("simulate " MODELS "pendulum.yaml --listen 0 --macro-step 0.1 --patience 0.2", 1,
           "no controller within 0.2 s");
    if (access("/usr/bin/python3", X_OK) != 0) return;
    char killed[600];
    snprintf(killed, sizeof killed,
             "sed 's/        if kind == GOODBYE:/        if kind == GOODBYE or time > 0.1:/' '" KD_SOURCE_DIR
             "/tests/cli/truck_controller.py' > short.py; /usr/bin/python3 short.py $P");
    assert_int_equal(run_with_controller("--macro-step 0.005 --t-end 1 --patience 5", killed), 1);
    const command_result r = run_command("cat '" OUT "/listen.txt'");
    must_contain(r.text, "the controller does not answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truck_moves_as_with_its_own_laws),
        cmocka_unit_test(library_moves_as_the_pid_block),
        cmocka_unit_test(shared_units_are_sampled),
        cmocka_unit_test(signals_go_through),
        cmocka_unit_test(wrong_blocks_are_told),
        cmocka_unit_test(misbehaviour_names_the_block),
        cmocka_unit_test(runs_do_not_go_on),
        cmocka_unit_test(fmus_are_systems),
        cmocka_unit_test(wrong_systems_are_told),
        cmocka_unit_test(truck_in_two_programs),
        cmocka_unit_test(programs_are_systems),
        cmocka_unit_test(lost_controllers_are_told),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
