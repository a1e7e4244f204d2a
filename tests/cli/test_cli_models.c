// The program kardan with model files: simulate, check, info, convert, as a user runs them.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-models"
#include "cli/run.h"
#include "results/markup.h"

#define CRANK "'" KD_SOURCE_DIR "/models/slider-crank.yaml'"
#define ROBOT "'" KD_SOURCE_DIR "/models/robot6.urdf'"
#define TO "--output '" OUT "' "

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// The value of a channel in the last row of a table
static double last_value(const char *path, const char *channel)
{
    char *table = read_text(path), *line = table, *header = NULL;
    assert_non_null(table);
    while (*line == '#') line = strchr(line, '\n') + 1;
    header = line;
    int column = 0;
    for (char *c = header;; column++) {
        size_t length = strcspn(c, ",\n");
        if (length == strlen(channel) && strncmp(c, channel, length) == 0) break;
        if (c[length] != ',') fail_msg("no channel %s", channel);
        c += length + 1;
    }
    char *end = table + strlen(table) - 1;
    *end = '\0';
    line = strrchr(table, '\n') + 1;
    for (int i = 0; i < column; i++) line = strchr(line, ',') + 1;
    double value = strtod(line, NULL);
    free(table);
    return value;
}

// A model file is simulated: the method is told with its reason, the certificate is clean, names are paths, units and
// parameters are in the table, and the report has the plots that the file asks for.
static void model_file_is_simulated(void **state)
{
    (void)state;
    command_result result =
        expect("simulate " CRANK " --t-end 0.5 --plain --set speed=10 " TO, 0,
               "method: joint coordinates (tree with 1 loop), ode with dop853, as the fastest motion at the start, ");
    must_contain(result.text, "(balanced)");
    must_contain(result.text, "constraints on acceleration level: ");
    assert_null(strstr(result.text, "drift"));
    char *table = read_text(OUT "/slider-crank.csv"), *page = read_text(OUT "/slider-crank.html"), fault[200];
    assert_true(table && page);
    must_contain(table, "# title: Slider-crank\n");
    must_contain(table, "# parameter speed: 10\n");
    must_contain(table, "# coordinates: joint\n");
    must_contain(table, "# units: s,rad,");
    must_contain(table, "\nt,joint.hinge.q,");
    if (!markup_is_sound(page, fault, sizeof fault)) fail_msg("%s", fault);
    must_contain(page, ">guide<");
    must_contain(page, "<summary>");           // the text of the model
    assert_null(strstr(page, "Velocities v")); // not asked for
    free(table);
    free(page);
    // x = r cos q + sqrt(l^2 - r^2 sin^2 q)
    double q = last_value(OUT "/slider-crank.csv", "joint.hinge.q"), x = last_value(OUT "/slider-crank.csv", "x");
    assert_true(fabs(x - (0.1 * cos(q) + sqrt(0.09 - 0.01 * sin(q) * sin(q)))) < 1e-12);
}

// Joint and Cartesian coordinates give the same motion; the word in the file's place is obeyed and checked.
static void coordinates_agree(void **state)
{
    (void)state;
    static const char *const channels[] = {"x", "speed", "guide"};
    double                   value[2][3];
    for (int k = 0; k < 2; k++) {
        char arguments[500];
        snprintf(arguments, sizeof arguments,
                 "simulate " CRANK " --t-end 0.2 --rtol 1e-10 --intervals 5 --coordinates %s " TO,
                 k ? "cartesian" : "joint");
        expect(arguments, 0, k ? "cartesian coordinates (3 bodies)" : "joint coordinates");
        for (int i = 0; i < 3; i++) value[k][i] = last_value(OUT "/slider-crank.csv", channels[i]);
    }
    for (int i = 0; i < 3; i++) assert_true(fabs(value[0][i] - value[1][i]) < 1e-6 * fmax(1, fabs(value[0][i])));
    expect("simulate " CRANK " --coordinates cartesain " TO, 2, "did you mean 'cartesian'?");
}

// Any path can be plotted and is then recorded, once; what is no path is refused with a guess, before anything is run.
static void paths_are_recorded(void **state)
{
    (void)state;
    expect("simulate " CRANK " --t-end 0.1 --plain --plots body.rod.pos.z,joint.hinge.q,sensor.x " TO, 0, "report");
    char *page = read_text(OUT "/slider-crank.html"), *table = read_text(OUT "/slider-crank.csv");
    assert_true(page && table);
    must_contain(page, ">body.rod.pos.z<");
    must_contain(table, ",body.rod.pos.z,");
    assert_null(strstr(strstr(table, "joint.hinge.q") + 1, "joint.hinge.q"));
    free(page);
    free(table);
    expect("simulate " CRANK " --plots body.rodd.pos.z --output '" OUT "/no'", 2, "did you mean 'rod'?");
    expect("simulate " CRANK " --plots guid --output '" OUT "/no'", 2, "did you mean 'guide'?");
    assert_int_equal(run_command("test ! -e '" OUT "/no'").status, 0);
}

// What is wrong in a file is told with its place; a file that is not there, too; parameters are checked.
static void wrong_files_are_explained(void **state)
{
    (void)state;
    write_text(OUT "/wrong.yaml", "kardan: 1\nbodies:\n  arm: {mass: 1, inertia: [1, 1, 1]}\njoints:\n"
                                  "  hinge: {type: revolut, bodies: [ground, arm], point: [0, 0, 0]}\n");
    command_result result = expect("simulate '" OUT "/wrong.yaml' " TO, 1, OUT "/wrong.yaml:5:");
    must_contain(result.text, "did you mean 'revolute'?");
    expect("check '" OUT "/wrong.yaml'", 1, OUT "/wrong.yaml:5:");
    expect("info '" OUT "/wrong.yaml'", 1, OUT "/wrong.yaml:5:");
    expect("convert '" OUT "/wrong.yaml' '" OUT "/b.yaml'", 1, OUT "/wrong.yaml:5:");
    assert_int_equal(run_command("test ! -e '" OUT "/b.yaml'").status, 0);
    expect("simulate '" OUT "/absent.yaml'", 1, "absent.yaml");
    expect("simulate " CRANK " --set sped=1 " TO, 1, "did you mean 'speed'?");
    expect("simulate " CRANK " --set speed " TO, 2, "--set wants NAME=VALUE");
}

// What the file says under run is obeyed, and the command line overrides it; its limits give status 3.
static void run_section_is_obeyed(void **state)
{
    (void)state;
    write_text(OUT "/own.yaml", "kardan: 1\nbodies:\n  arm: {mass: 1, inertia: [1, 1, 1], centre: [1, 0, 0]}\njoints:\n"
                                "  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                                "run: {t_end: 0.3, intervals: 7, rtol: 1e-5, atol: 1e-6, formulation: index1, "
                                "limit_energy: 1e-14}\n");
    command_result result = expect("simulate '" OUT "/own.yaml' --json " TO "2>/dev/null", 3, "\"t_end\": 0.3,");
    must_contain(result.text, "\"intervals\": 7");
    must_contain(result.text, "\"formulation\": \"index1\"");
    must_contain(result.text, "\"rtol\": 1e-05");
    must_contain(result.text, "relative error of the energy balance is broken");
    result = expect("simulate '" OUT "/own.yaml' --json --t-end 0.1 --formulation psf --limit-energy 1 " TO, 0,
                    "\"ok\": true");
    must_contain(result.text, "\"formulation\": \"psf\"");
    must_contain(result.text, "\"t_end\": 0.1");
}

// The check says degrees of freedom, loops, redundancy, what assembly changed, and what looks odd; derivatives on
// demand.
static void check_explains(void **state)
{
    (void)state;
    command_result result = expect("check " CRANK, 0, "1 degree of freedom");
    must_contain(result.text, "redundant");
    must_contain(result.text, "loops close to");
    must_contain(result.text, "Ready to simulate.");
    assert_null(strstr(result.text, "Derivatives."));
    expect("check " KD_SOURCE_DIR "/models/friction-slider.yaml", 0,
           "Friction. At the start accelerations and reactions are unique");
    expect("check " CRANK " --derivatives", 0, "Derivatives. All that are supplied agree with differences.");
    expect("check " CRANK " --derivatives --coordinates cartesian", 0, "Derivatives. All that are supplied agree");
    write_text(OUT "/odd.yaml",
               "kardan: 1\nparameters: {unused: 3}\nbodies:\n  arm: {mass: 1, inertia: [1, 1, 5], centre: [1, 0, 0]}\n"
               "joints:\n  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0]}\n");
    result = expect("check '" OUT "/odd.yaml'", 0, "look odd");
    must_contain(result.text, "'unused'");
}

// A mechanism that cannot be assembled is described all the same, and is not ready; simulate refuses it.
static void impossible_mechanism_is_described(void **state)
{
    (void)state;
    write_text(OUT "/far.yaml",
               "kardan: 1\nbodies:\n  arm: {mass: 1, inertia: [1, 1, 1]}\njoints:\n"
               "  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0]}\n"
               "constraints:\n  rod: {type: distance, from: {body: ground, point: [9, 0, 0]}, to: {body: arm, point: "
               "[1, 0, 0]}, length: 2}\n");
    command_result result = expect("check '" OUT "/far.yaml'", 1, "cannot be assembled");
    must_contain(result.text, "'rod'");
    must_contain(result.text, "Not ready to simulate");
    expect("simulate '" OUT "/far.yaml' " TO, 1, "kardan: ");
}

// Sizes, elements and channels with their units.
static void info_lists_everything(void **state)
{
    (void)state;
    command_result result = expect("info " CRANK, 0, "degrees of freedom");
    must_contain(result.text, "joint        crank-pin                    revolute");
    must_contain(result.text, "force        gas                          joint_spring");
    must_contain(result.text, "joint.slide.v                                      m/s");
    must_contain(result.text, "guide                                              N");
    result = expect("info " CRANK " --json", 0, "\"dof\": 1");
    must_contain(result.text, "\"loops\": 1");
    must_be_json(result.text);
    must_contain(result.text, "\"kind\": \"revolute\",\n\"from\": \"crank\",\n\"to\": \"rod\"");
    must_contain(result.text, "\"parent\": \"crank\",\n\"joint\": \"crank-pin\",\n\"mass\": 0.93");
    must_contain(result.text, "{\n\"name\": \"joint.slide.v\",\n\"unit\": \"m/s\"\n}");
    must_be_json(
        expect("info " CRANK " --json --paths", 0, "\"name\": \"joint.hinge.torque.x\",\n\"unit\": \"N m\"").text);
    assert_null(strstr(expect("info " CRANK " --elements", 0, "crank-pin").text, "Channels"));
    result = expect("info " CRANK " --paths", 0, "force.gas.force                                    N\n");
    assert_null(strstr(result.text, "Channels"));
}

// A robot description becomes a model file with a line for every element; read back it moves in the same way.
static void robot_is_converted(void **state)
{
    (void)state;
    command_result result = expect("convert " ROBOT " '" OUT "/robot6.yaml'", 0, "taken");
    must_contain(result.text, OUT "/robot6.yaml: ");
    double value[2];
    for (int k = 0; k < 2; k++) {
        expect(k ? "simulate '" OUT "/robot6.yaml' --t-end 0.2 " TO : "simulate " ROBOT " --t-end 0.2 " TO, 0,
               "tree without loops");
        value[k] = last_value(OUT "/robot6.csv", "joint.axis_3.q");
    }
    assert_true(value[0] != 0 && fabs(value[0] - value[1]) < 1e-9);
    expect("convert " CRANK " '" OUT "/again.yaml' --quiet", 0, "");
    expect("check '" OUT "/again.yaml'", 0, "Ready to simulate.");
    expect("convert " ROBOT " /dev/full/x.yaml", 1, "/dev/full/x.yaml");
    expect("simulate " ROBOT " --free-base --t-end 0.01 " TO, 0, "report");
}

// A mechanism of which every coordinate is prescribed is simulated, too: an arm about -y with a block on it, at the
// distances 1 and 2, needs the torque of their weights, and the block the force of its weight and of its turning; the
// same in both coordinate sets.
static void everything_is_driven(void **state)
{
    (void)state;
    write_text(OUT "/driven.yaml",
               "kardan: 1\nbodies:\n  arm: {mass: 2, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}\n"
               "  block: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [2, 0, 0]}\njoints:\n"
               "  turn: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, -1, 0], motion: t}\n"
               "  slide: {type: prismatic, bodies: [arm, block], point: [2, 0, 0], axis: [1, 0, 0], motion: 0*t}\n"
               "sensors: {torque: joint.turn.torque.z, force: joint.slide.force.z, a: body.block.acc.x}\n"
               "run: {t_end: 1, limit_energy: 1e-6, limit_position: 1e-9}\n");
    static const char *const sets[] = {"joint", "cartesian"};
    for (int i = 0; i < 2; i++) {
        char line[500];
        snprintf(line, sizeof line, "simulate '" OUT "/driven.yaml' " TO "--coordinates %s", sets[i]);
        expect(line, 0, "balanced");
        assert_true(fabs(last_value(OUT "/driven.csv", "torque") - (2 * 1 + 1 * 2) * 9.81 * cos(1.0)) < 1e-6);
        assert_true(fabs(last_value(OUT "/driven.csv", "force") - (9.81 * sin(1.0) - 2.0)) < 1e-6);
        assert_true(fabs(last_value(OUT "/driven.csv", "a") + 2.0 * cos(1.0)) < 1e-6);
    }
}

// A mechanism that locks is told with its joint, also where it is the look into a step that finds it.
static void locks_are_told(void **state)
{
    (void)state;
    static const char *const methods[] = {"sdirk --method rosenbrock", "sdirk --method esdirk", "bdf", "extrapolation"};
    for (int i = 0; i < 8; i++) {
        char line[500];
        snprintf(
            line, sizeof line,
            "simulate '" KD_SOURCE_DIR
            "/models/four-bar.yaml' --set a=0.25 --set b=0.2 --set c=0.2 --coordinates %s --formulation statespace "
            "--integrator %s --rtol 1e-6 --t-end 0.5 --intervals 100 --quiet " TO,
            i % 2 ? "cartesian" : "joint", methods[i / 2]);
        expect(line, 1, "joint '");
    }
}

// What cannot move is said to be so, in the words of models.
static void nothing_moves(void **state)
{
    (void)state;
    write_text(OUT "/none.yaml", "kardan: 1\n");
    expect("check '" OUT "/none.yaml'", 1, "nothing can move: the model has no bodies");
    write_text(OUT "/weld.yaml", "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
                                 "joints: {j: {type: fixed, bodies: [ground, a]}}\n");
    expect("simulate '" OUT "/weld.yaml' --output '" OUT "/weld'", 0, "checked at"); // its reactions are wanted
}

// Slips of the hand: a file is not written over itself, a parameter in the wrong case is named, a missing file is told
// with its cause, an option in place of the command is called that, and rows are named once.
static void slips_of_the_hand(void **state)
{
    (void)state;
    write_text(OUT "/own.yaml",
               "kardan: 1 # mine\nparameters: {L: 1}\n"
               "bodies: {a: {mass: L, inertia: [1, 1, 1], position: [1, 0, 0]}}\n"
               "joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]}}\n"
               "constraints:\n"
               "  r: {type: distance, bodies: [ground, a], points: [[0, 0, 2], [1, 0, 0]], length: 9}\n");
    expect("convert '" OUT "/own.yaml' '" OUT "/../test-cli-models/own.yaml'", 2, "is the file itself");
    char *text = read_text(OUT "/own.yaml");
    assert_non_null(strstr(text, "# mine"));
    free(text);
    expect("check '" OUT "/own.yaml' --set l=2", 1, "unknown parameter 'l' is set, did you mean 'L'?");
    expect("check '" OUT "/own.yaml' --set width=2", 1, "unknown parameter 'width' is set; the file has L");
    expect("check '" OUT "/absent.yaml'", 1, "absent.yaml: the file cannot be opened: No such file");
    expect("--set l=2", 2, "options follow a command, but '--set' stands in its place");
    command_result result = expect("check '" OUT "/own.yaml'", 1, "constraint 'r' length");
    assert_null(strstr(result.text, "constraint constraint"));
}

// The report of a model file shows it in motion, beside it is a picture; --no-drawing leaves both out.
static void motion_is_drawn(void **state)
{
    (void)state;
    char           fault[200], *page, *picture;
    command_result result = expect("simulate " CRANK " --t-end 0.2 --plain --json " TO, 0, "slider-crank-motion.svg");
    must_contain(result.text, "\"motion\": ");
    page = read_text(OUT "/slider-crank.html");
    picture = read_text(OUT "/slider-crank-motion.svg");
    assert_true(page && picture);
    must_contain(page, "kardanDrawing(document.currentScript.parentNode,{\n\"names\":[\"crank\",\"rod\",\"piston\"]");
    must_contain(picture, "<title>Slider-crank</title>");
    if (!markup_is_sound(page, fault, sizeof fault) || !markup_is_sound(picture, fault, sizeof fault))
        fail_msg("%s", fault);
    free(page);
    free(picture);
    assert_int_equal(remove(OUT "/slider-crank-motion.svg"), 0);
    result = expect("simulate " CRANK " --t-end 0.2 --plain --no-drawing " TO, 0, "report");
    assert_null(strstr(result.text, "motion:"));
    page = read_text(OUT "/slider-crank.html");
    assert_null(strstr(page, "<script"));
    assert_null(read_text(OUT "/slider-crank-motion.svg"));
    free(page);
}

// Sampled blocks, variables and events: they are listed, a run that an event ends is a good one and says so, and fixed
// steps sample, too; poles of a loop that a block closes are those of the open loop.
static void discrete_models(void **state)
{
    (void)state;
#define MODEL(name) "'" KD_SOURCE_DIR "/models/" name ".yaml' "
    command_result info = expect("info --elements " MODEL("gear-shift"), 0, "event        shift");
    must_contain(info.text, "joint.road.v - v_shift*variable.gear");
    must_contain(info.text, "variable     clutch");
    expect("info --elements " MODEL("sampled-speed"), 0, "pid, every 0.05 s");
    expect("check " MODEL("inverted-pendulum"), 0, "Ready to simulate.");
    expect("simulate " MODEL("gear-shift") TO, 0, "note: stopped by an event at t = 32.8907054: finish");
    command_result log = run_command("cat '" OUT "/gear-shift-events.csv'");
    must_contain(log.text, "t,kind,element,direction,text\n2.0697861446");
    must_contain(log.text, ",switch,event 'shift',1,shift up\n");
    must_contain(log.text, "\n2.469786144");
    must_contain(log.text, ",switch,event 'finish',1,finish\n");
    assert_null(strstr(log.text, "fell")); // what crosses the other way is no event
    expect("simulate " MODEL("sampled-speed") "--t-end 0.5 --coordinates cartesian --formulation ggl " TO, 0,
           "(balanced)");
    write_text(OUT "/hoist.yaml",
               "kardan: 1\n"
               "bodies: {cage: {mass: 50, inertia: [1, 1, 1]}}\n"
               "joints: {rail: {type: prismatic, bodies: [ground, cage], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
               "blocks: {brake: {type: expression, period: 0.01, output: -600*joint.rail.v}}\n"
               "forces: {brake: {type: joint_spring, joint: rail, law: block.brake.out}}\n");
    expect("simulate '" OUT "/hoist.yaml' --t-end 1 --intervals 100 " TO, 0, "(balanced)"); // wanted times at samples
    expect("simulate " MODEL("sampled-speed") "--t-end 0.5 " TO, 0, "(balanced)");
    command_result last = run_command("tail -n 1 '" OUT "/sampled-speed.csv'");
    must_contain(last.text, "0.8901312"); // the speed at the tenth sample
    expect("realtime --as-fast-as-possible --duration 1 " MODEL("sampled-speed") TO, 0, "1000 steps");
    expect("modes " MODEL("sampled-speed"), 0, "-0.5"); // -d/m: nothing of the controller
    expect("equilibrium " MODEL("position-control") TO, 0, "indifferent");
    write_text(OUT "/wrong.yaml", "kardan: 1\nvariables: {gear: 1}\nevents: {e: {when: variable.gaer}}\n");
    expect("check '" OUT "/wrong.yaml'", 1, "unknown variable 'gaer', did you mean 'gear'?");
#undef MODEL
}

// Events of a run: counts in words and JSON, marks in the plots, a table; chattering ends with the name of the function
// in the post-mortem; steps of fixed length end at the event as well.
static void events_are_told(void **state)
{
    (void)state;
#define MODEL(name) "'" KD_SOURCE_DIR "/models/" name ".yaml' "
    command_result result = expect("simulate " MODEL("pendulum-stop") TO, 0, "events: 7 impacts, first at t = 0.63637");
    must_contain(result.text, "events: " OUT "/pendulum-stop-events.csv");
    char *plots = read_text(OUT "/pendulum-stop.svg"), *page = read_text(OUT "/pendulum-stop.html");
    assert_true(plots && page && strstr(plots, "class=\"mark\"") && strstr(page, "<h2>Events</h2>"));
    free(plots);
    free(page);
    result = expect("simulate --json " MODEL("stick-slip") TO, 0, "\"stick\": 2");
    must_contain(result.text, "\"slide\": 2");
    must_contain(result.text, "\"impact\": 0");
    must_contain(result.text, "stick-slip-events.csv");
    expect("simulate --quiet " CRANK " " TO, 0, "");
    assert_null(read_text(OUT "/slider-crank-events.csv")); // it cannot have any
    expect("realtime --as-fast-as-possible " MODEL("gear-shift") TO, 0, "stopped by an event at t = 32.8");
    expect("realtime --as-fast-as-possible " MODEL("impact-ball") TO, 1, "'stiffness' in place of 'restitution'");
    write_text(OUT "/relay.yaml",
               "kardan: 1\ngravity: [0, 0, 0]\nbodies: {cart: {mass: 2, inertia: [1, 1, 1]}}\n"
               "joints: {slide: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
               "variables: {push: 1}\n"
               "events: {level: {when: joint.slide.v - 1, set: {variable.push: -variable.push}}}\n"
               "forces: {motor: {type: joint_spring, joint: slide, law: 4*variable.push}}\nrun: {t_end: 5}\n");
    expect("simulate '" OUT "/relay.yaml' " TO, 1, "events follow each other without end");
    char *words = read_text(OUT "/relay.post-mortem.txt");
    assert_non_null(words);
    must_contain(words, "KD_ERR_CHATTER");
    must_contain(words, "event 'level'");
    must_contain(words, "a band between switching on and off");
    free(words);
#undef MODEL
}

// A method that is chosen for the equations: explicit for what is not stiff, changed where that does not last, and not beside one
// that is named.
static void methods_are_chosen(void **state)
{
    (void)state;
    command_result r = expect("simulate " MODELS "slider-crank.yaml --clean --output '" OUT "'", 0, "ode with dop853");
    must_contain(r.text, "verdict: clean");
    expect("simulate " MODELS "truck5.yaml --clean --output '" OUT "'", 0, "psf with radau, as stability limits steps");
    expect("simulate " MODELS "slider-crank.yaml --formulation psf --integrator radau --output '" OUT "'", 0,
           "psf with radau, as asked for");
    // named by the model file: --automatic chooses although
    FILE *file = fopen(OUT "/named.yaml", "wb");
    assert_non_null(file);
    fputs("kardan: 1\nbodies: {rod: {mass: 1, inertia: [1, 1, 1]}}\n"
          "joints: {hinge: {type: revolute, bodies: [ground, rod], point: [1, 0, 0], axis: [0, 1, 0]}}\n"
          "run: {t_end: 1, integrator: bdf, formulation: index2}\n",
          file);
    assert_int_equal(fclose(file), 0);
    expect("simulate '" OUT "/named.yaml' --output '" OUT "'", 0, "index2 with bdf, as asked for");
    expect("simulate '" OUT "/named.yaml' --automatic --output '" OUT "'", 0, "ode with dop853, as the fastest motion");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(methods_are_chosen, start_afresh),
        cmocka_unit_test_setup(model_file_is_simulated, start_afresh),
        cmocka_unit_test_setup(coordinates_agree, start_afresh),
        cmocka_unit_test_setup(paths_are_recorded, start_afresh),
        cmocka_unit_test_setup(wrong_files_are_explained, start_afresh),
        cmocka_unit_test_setup(run_section_is_obeyed, start_afresh),
        cmocka_unit_test_setup(check_explains, start_afresh),
        cmocka_unit_test_setup(impossible_mechanism_is_described, start_afresh),
        cmocka_unit_test_setup(info_lists_everything, start_afresh),
        cmocka_unit_test_setup(robot_is_converted, start_afresh),
        cmocka_unit_test_setup(everything_is_driven, start_afresh),
        cmocka_unit_test_setup(locks_are_told, start_afresh),
        cmocka_unit_test_setup(nothing_moves, start_afresh),
        cmocka_unit_test_setup(slips_of_the_hand, start_afresh),
        cmocka_unit_test_setup(motion_is_drawn, start_afresh),
        cmocka_unit_test_setup(discrete_models, start_afresh),
        cmocka_unit_test_setup(events_are_told, start_afresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
