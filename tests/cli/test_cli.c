// The program kardan, run as a user runs it: exit status, words, files.
#define _XOPEN_SOURCE 700 // terminals
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <gallery.h>

#define OUT KD_BINARY_DIR "/test-cli"
#include "cli/run.h"
#include "results/markup.h"

// ---- tests --------------------------------------------------------------------------------------

// Help is everywhere, ends with success, and shows examples.
static void help_is_everywhere(void **state)
{
    (void)state;
    expect("help", 0, "Commands:");
    expect("--help", 0, "Commands:");
    expect("--help", 0, "--memory");
    expect("--help", 0, "--clean");
    expect("--help", 0, "--no-verify");
    expect("simulate --help", 0, "--no-verify");
    expect("simulate --help", 0, "--clean");
    expect("simulate --help", 0, "--memory");
    expect("help simulate", 0, "Examples:");
    expect("simulate --help", 0, "--formulation F");
    expect("simulate andrews --rtol nonsense --help", 0, "Usage: kardan simulate");
    expect("check --help", 0, "Examples:");
    expect("info --help", 0, "Examples:");
    expect("convert --help", 0, "Examples:");
    expect("simulate --help", 0, "130  interrupted");
    expect("examples --help", 0, "Examples:");
    expect("help help", 0, "Commands:");
    expect("", 2, "Commands:");
}

// The version is that of the library.
static void version_is_told(void **state)
{
    (void)state;
    assert_string_equal(expect("--version", 0, "kardan").text, "kardan " KD_PROJECT_VERSION "\n");
    assert_string_equal(expect("version", 0, "kardan").text, "kardan " KD_PROJECT_VERSION "\n");
    assert_string_equal(kd_version(), KD_PROJECT_VERSION);
}

// Unknown words get the word that was probably meant, or the list; nothing is run.
static void unknown_words_are_guessed(void **state)
{
    (void)state;
    expect("simluate andrews", 2, "unknown command 'simluate', did you mean 'simulate'?");
    expect("simulate andrew", 2, "did you mean 'andrews'?");
    expect("check adnrews", 2, "did you mean 'andrews'?");
    expect("simulate andrews --rtoll 1e-3", 2, "unknown option '--rtoll', did you mean '--rtol'?");
    expect("simulate andrews --formulation psv", 2, "unknown formulation 'psv', did you mean 'psf'?");
    expect("simulate andrews --formulation hamilton", 2, "known are psf, psf1");
    expect("simulate andrews --integrator radua", 2, "did you mean 'radau'?");
    expect("simulate andrews --decomposition svt", 2, "did you mean 'svd'?");
    expect("help simulat", 2, "did you mean 'simulate'?");
    expect("--versoin", 2, "unknown option");
    expect("zzzzzz", 2, "known are simulate");
}

// Wrong values are named with what is wanted.
static void wrong_values_are_named(void **state)
{
    (void)state;
    expect("simulate", 2, "MODEL is missing");
    expect("convert a.yaml", 2, "TO is missing");
    expect("convert andrews b.yaml", 2, "'andrews' is not a model file");
    expect("convert a.urdf b.urdf", 2, "model files end with .yaml");
    expect("simulate andrews --set a=1", 2, "--set is for model files");
    expect("simulate a.yaml --set a", 2, "--set wants NAME=VALUE, not 'a'");
    expect("simulate andrews pendulum", 2, "'pendulum' is one word too many");
    expect("simulate andrews --rtol", 2, "--rtol wants a value");
    expect("simulate andrews --rtol -1", 2, "--rtol wants a positive number, not '-1'");
    expect("simulate andrews --rtol=0", 2, "--rtol wants a positive number");
    expect("simulate andrews --atol nan", 2, "--atol wants a positive number");
    expect("simulate andrews --t-end 1e999", 2, "--t-end wants");
    expect("simulate andrews --intervals 0", 2, "--intervals wants a whole number");
    expect("simulate andrews --intervals 3.5", 2, "--intervals wants a whole number");
    expect("simulate andrews --intervals 1000001", 2, "from 1 to 1000000");
    expect("simulate andrews --quiet=1", 2, "--quiet wants no value");
}

// All examples are listed; names alone for scripts.
static void examples_are_listed(void **state)
{
    (void)state;
    command_result list = expect("examples", 0, "andrews"), names = expect("examples --names", 0, "andrews\n");
    for (const kd_example *const *example = kd_gallery(); *example; example++) {
        must_contain(list.text, (*example)->title);
        must_contain(names.text, (*example)->name);
    }
    expect("examples --about", 0, kd_gallery_find("andrews")->about);
}

// A simulation writes a table with all points, a sound page and picture, and says where they are.
static void simulation_writes_results(void **state)
{
    (void)state;
    command_result result = expect("simulate andrews --intervals 50 --output '" OUT "/new/folder'", 0, "to rounding");
    must_contain(result.text, OUT "/new/folder/andrews.csv");
    must_contain(result.text, OUT "/new/folder/andrews.html");
    must_contain(result.text, OUT "/new/folder/andrews.svg");
    char fault[200], *table = read_text(OUT "/new/folder/andrews.csv"),
                     *page = read_text(OUT "/new/folder/andrews.html"),
                     *picture = read_text(OUT "/new/folder/andrews.svg");
    assert_true(table && page && picture);
    int lines = 0;
    for (char *c = table; c && *c; c = strchr(c, '\n') + 1) lines += *c != '#';
    assert_int_equal(lines, 1 + 51);
    assert_non_null(strstr(table, "\nt,"));
    assert_int_equal(strncmp(table, "# kardan: ", 10), 0);
    if (!markup_is_sound(page, fault, sizeof fault) || !markup_is_sound(picture, fault, sizeof fault))
        fail_msg("%s", fault);
    free(table);
    free(page);
    free(picture);
}

// The outcome as JSON: it parses, the reference is met, and a smaller tolerance gives a smaller error.
static void outcome_as_json(void **state)
{
    (void)state;
    command_result coarse = expect("simulate andrews --json --intervals 20 --output '" OUT "'", 0, "\"ok\": true");
    must_be_json(coarse.text);
    command_result fine =
        expect("simulate andrews --json --rtol 1e-9 --atol 1e-9 --output '" OUT "'", 0, "\"ok\": true");
    must_be_json(fine.text);
    double error = json_number(coarse.text, "reference_error");
    assert_true(error > 0 && error < 1e-3);
    assert_true(json_number(fine.text, "reference_error") < 0.1 * error);
    assert_true(json_number(fine.text, "accepted") > json_number(coarse.text, "accepted"));
    assert_true(json_number(coarse.text, "position_residual") < 1e-9);
    assert_true(json_number(coarse.text, "t") == 0.03);
}

// The command line judges a run with the words of the report.
static void words_are_those_of_the_report(void **state)
{
    (void)state;
    command_result result = expect("simulate andrews --intervals 50 --output '" OUT "'", 0, "(to rounding)");
    must_contain(result.text, " s (balanced)\n");
    must_contain(result.text, " (agrees)\n");
    result = expect("simulate andrews --rtol 1 --formulation index1 --output '" OUT "'", 0, " (differs)\n");
    char *page = read_text(OUT "/andrews.html");
    assert_non_null(page);
    must_contain(page, ">differs<");
    assert_int_equal(strstr(result.text, "(not balanced)") != NULL, strstr(page, ">not balanced<") != NULL);
    assert_int_equal(strstr(result.text, "(drift)") != NULL, strstr(page, ">drift<") != NULL);
    free(page);
}

// --rtol alone sets both tolerances, --atol alone only the absolute one.
static void one_tolerance_sets_both(void **state)
{
    (void)state;
    command_result alone = expect("simulate andrews --json --rtol 1e-9 --output '" OUT "'", 0, "\"ok\": true"),
                   both = expect("simulate andrews --json --rtol 1e-9 --atol 1e-9 --output '" OUT "'", 0, ""),
                   absolute = expect("simulate andrews --json --atol 1e-9 --output '" OUT "'", 0, "");
    assert_true(json_number(alone.text, "accepted") == json_number(both.text, "accepted"));
    assert_true(json_number(alone.text, "reference_error") == json_number(both.text, "reference_error"));
    assert_true(json_number(absolute.text, "accepted") < json_number(both.text, "accepted"));
    expect("simulate --help", 0, "without --atol the absolute one as well");
}

// --quiet is silent; in a pipe there is no progress line.
static void quiet_is_silent(void **state)
{
    (void)state;
    assert_string_equal(expect("simulate pendulum --t-end 0.5 --quiet --output '" OUT "'", 0, "").text, "");
    assert_null(strchr(expect("simulate pendulum --t-end 0.5 --output '" OUT "'", 0, "pendulum").text, '\r'));
}

// The end time is obeyed, also an end at the start.
static void end_time_is_obeyed(void **state)
{
    (void)state;
    command_result result = expect("simulate pendulum --t-end 0.25 --json --output '" OUT "'", 0, "");
    assert_true(json_number(result.text, "t") == 0.25);
    result = expect("simulate pendulum --t-end 0 --json --output '" OUT "'", 0, "");
    must_be_json(result.text);
    assert_true(json_number(result.text, "t") == 0);
}

// A folder that cannot be made, a full disk and a closed pipe give status 1 and words.
static void failing_disk_is_reported(void **state)
{
    (void)state;
    expect("simulate pendulum --t-end 0.1 --output /dev/full/x", 1, "cannot create the folder");
    command_result json =
        expect("simulate pendulum --t-end 0.1 --json --output /dev/full/x 2>/dev/null", 1, "\"ok\": false");
    must_be_json(json.text);
    assert_int_equal(run_command("ln -sf /dev/full '" OUT "/pendulum.csv'").status, 0);
    command_result result =
        expect("simulate pendulum --t-end 0.1 --output '" OUT "'", 1, "pendulum.csv': No space left on device");
    assert_null(strstr(result.text, "report:")); // no promise
    must_contain(result.text, "(to rounding)");  // the run itself went well
    expect("examples > /dev/full", 1, "standard output could not be written");
}

// A folder that cannot be written to is found before anything is computed: also if it is a file, and the file is left
// alone.
static void folder_is_tried_first(void **state)
{
    (void)state;
    assert_int_equal(run_command("echo text > '" OUT "/file'").status, 0);
    command_result result = expect("simulate andrews --output '" OUT "/file'", 1, "Not a directory");
    assert_null(strstr(result.text, "steps"));
    result = expect("simulate andrews --json --output '" OUT "/file/below' 2>/dev/null", 1, "\"ok\": false");
    assert_true(json_number(result.text, "steps") == 0);
    assert_string_equal(run_command("cat '" OUT "/file'").text, "text\n");
}

// The JSON of a run that could not start has null for what was not computed, and status and message say why; one whose
// files could not be written says so, too.
static void failures_as_json(void **state)
{
    (void)state;
    static const char *const computed[] = {"position_residual", "velocity_residual", "acceleration_residual",
                                           "energy_error", "reference_error"};
    command_result           result =
        expect("simulate pendulum --json --rtol 1e-20 --output '" OUT "' 2>/dev/null", 1, "\"ok\": false");
    must_be_json(result.text);
    must_contain(result.text, "\"status\": \"KD_ERR_TOLERANCE\"");
    for (size_t i = 0; i < sizeof computed / sizeof computed[0]; i++) must_be_null(result.text, computed[i]);

    result = expect("simulate pendulum --json --output /dev/full/x 2>/dev/null", 1, "\"status\": \"KD_ERR_FILE\"");
    must_be_json(result.text);
    must_contain(result.text, "\"message\": \"cannot create the folder '/dev/full/x': Not a directory\"");
    for (size_t i = 0; i < sizeof computed / sizeof computed[0]; i++) must_be_null(result.text, computed[i]);
    assert_true(json_number(result.text, "t_end") == kd_gallery_find("pendulum")->t_end);

    assert_int_equal(run_command("ln -sf /dev/full '" OUT "/pendulum.csv'").status, 0);
    result = expect("simulate pendulum --t-end 0.1 --json --output '" OUT "' 2>/dev/null", 1, "\"ok\": false");
    must_be_json(result.text);
    must_contain(result.text, "\"status\": \"KD_ERR_FILE\"");
    must_contain(result.text, "pendulum.csv': No space left on device");
    assert_true(json_number(result.text, "position_residual") < 1e-9); // computed it was
}

// A run can be made again from its JSON: all that was chosen is in it, also what was chosen by default.
static void json_is_reproducible(void **state)
{
    (void)state;
    command_result first = expect("simulate andrews --json --t-end 0.02 --rtol 1e-7 --atol 3e-8 --formulation ggl "
                                  "--decomposition qr --intervals 30 --output '" OUT "'",
                                  0, "\"decomposition\": \"qr\"");
    assert_true(json_number(first.text, "rtol") == 1e-7 && json_number(first.text, "atol") == 3e-8);
    assert_true(json_number(first.text, "intervals") == 30 && json_number(first.text, "t_end") == 0.02);
    assert_true(json_number(first.text, "newton_updates") == 0);
    must_contain(first.text, "\"version\": \"" KD_PROJECT_VERSION "\"");
    command_result plain = expect("simulate andrews --json --output '" OUT "'", 0, "\"decomposition\": \"lu\"");
    assert_true(json_number(plain.text, "rtol") == 1e-6 && json_number(plain.text, "atol") == 1e-6);
    assert_true(json_number(plain.text, "intervals") == 500 && json_number(plain.text, "t_end") == 0.03);
}

// A table of hundreds of megabytes is announced.
static void large_table_is_announced(void **state)
{
    (void)state;
    expect("simulate andrews --intervals 1000000 --rtol 1e-20 --output '" OUT "'", 1, "the table will have about ");
}

// An impossible combination is refused in words.
static void impossible_combination_is_refused(void **state)
{
    (void)state;
    command_result result =
        run_command(KARDAN "simulate pendulum --formulation psf --integrator ida --output '" OUT "'");
    assert_int_equal(result.status, 2);
    must_contain(result.text, "--formulation ggl works");
}

// IDA runs with exactly those formulations that the library's rules and the guide name.
static void ida_runs_as_documented(void **state)
{
    (void)state;
    if (!kd_integrator_about(KD_IDA, NULL)->available) skip();
    char *page = read_text(KD_SOURCE_DIR "/docs/guide/formulations.md");
    assert_non_null(page);
    char *sentence = strstr(page, "`--integrator ida` works with ");
    assert_non_null(sentence);
    assert_non_null(strchr(sentence, '.'));
    *strchr(sentence, '.') = '\0';
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) {
        const char *word = kd_formulation_word((kd_formulation)i);
        char        arguments[300], quoted[40];
        snprintf(arguments, sizeof arguments,
                 "simulate pendulum --t-end 0.1 --integrator ida --formulation %s --output '" OUT "'", word);
        snprintf(quoted, sizeof quoted, "`%s`", word);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.integrator = KD_IDA;
        opt.formulation = (kd_formulation)i;
        const bool fits = kd_method_fits(&opt, NULL, 0);
        assert_int_equal(strstr(sentence, quoted) != NULL, fits);
        expect(arguments, fits ? 0 : 2, fits ? "" : "--formulation ggl works");
    }
    free(page);
    expect("simulate pendulum --t-end 0.1 --integrator ida --output '" OUT "'", 0, "ggl with ida: a formulation that");
}

// Options by name reach the integrator; unknown ones and values that are not allowed are refused with what was meant.
static void options_by_name(void **state)
{
    (void)state;
    expect("simulate pendulum --t-end 2 --option steps.max_steps=3 --output '" OUT "'", 1, "3 steps did not reach");
    expect("simulate pendulum --t-end 0.1 --integrator bdf --option bdf.order_max=2 --option form.natural=yes --output "
           "'" OUT "'",
           0, "ggl with bdf");
    expect("simulate pendulum --option radau.max_newtn=7 --output '" OUT "'", 2, "did you mean 'radau.max_newton'");
    expect("simulate pendulum --option radau.max_newton=1 --output '" OUT "'", 2, "must be at least 2");
    expect("simulate pendulum --option radau.max_newton --output '" OUT "'", 2, "--option wants NAME=VALUE");
    expect("help options", 0, "extrapolation.sequence");
}

// Options of the model file reach the run, the command line overrides them, and the run tells them.
static void options_of_the_file(void **state)
{
    (void)state;
    FILE *file = fopen(OUT "/options.yaml", "wb");
    assert_non_null(file);
    fputs("kardan: 1\nbodies: {rod: {mass: 1, inertia: [1, 1, 1]}}\n"
          "joints: {hinge: {type: revolute, bodies: [ground, rod], point: [1, 0, 0], axis: [0, 1, 0]}}\n"
          "run: {t_end: 1, rtol: 1e-7, max_step: 0.3, steps: {max_steps: 3}, radau: {classical: yes}}\n",
          file);
    assert_int_equal(fclose(file), 0);
    const char *const simulate = "simulate '" OUT "/options.yaml' --json --output '" OUT "' ";
    char              arguments[1000];
    const struct {
        const char *more;
        int         status;
        const char *told;
    } list[] = {
        {"", 1, "3 steps did not reach"},
        {"--option steps.max_steps=500", 0, "\"options\": \"steps.max_steps=500, radau.classical=yes\""},
        {"--max-steps 500 --option steps.h_max=0.01", 0, "\"options\": \"steps.h_max=0.01, "},
        {"--max-steps 500 --option steps.rtol=1e-6", 0, "\"rtol\": 1e-06"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        snprintf(arguments, sizeof arguments, "%s%s", simulate, list[i].more);
        expect(arguments, list[i].status, list[i].told);
    }
}

// cvode and arkode choose ode, take their methods and orders, project; what does not fit is refused with what works.
static void cvode_and_arkode_run_on_ode(void **state)
{
    (void)state;
    if (!kd_integrator_about(KD_CVODE, NULL)->available) skip();
    static const struct {
        const char *arguments, *expected;
        int         status;
    } runs[] = {
        {"--integrator cvode", "ode with cvode: a formulation that", 0},
        {"--integrator cvode --method adams --order-max 8", "ode with cvode", 0},
        {"--integrator cvode --projection always", "position level: largest violation", 0},
        {"--integrator arkode --order-max 4", "ode with arkode", 0},
        {"--integrator arkode --method dirk --projection bound", "to rounding", 0},
        {"--formulation ode --projection always", "ode with radau", 0},
        {"--integrator ida --formulation ode", "ode with ida", 0},
        {"--integrator cvode --method erk", "known are bdf, adams", 2},
        {"--integrator radau --method adams", "--integrator cvode --method adams works", 2},
        {"--integrator arkode --formulation ggl", "--formulation ode works", 2},
        {"--integrator cvode --projection bound", "--projection always works", 2},
        {"--integrator cvode --method adams --projection always", "--integrator arkode works", 2},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[300];
        snprintf(arguments, sizeof arguments, "simulate pendulum --t-end 0.1 %s --output '" OUT "'", runs[i].arguments);
        expect(arguments, runs[i].status, runs[i].expected);
    }
}

// extrapolation runs on ode or statespace, up to an order that can be told.
static void extrapolation_runs_on_ode(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *expected;
        int         status;
    } runs[] = {
        {"--integrator extrapolation --projection always", "ode with extrapolation: a formulation that", 0},
        {"--integrator extrapolation --formulation statespace", "to rounding", 0},
        {"--integrator extrapolation --order-max 8 --json", "\"order_max\": \"8\"", 0},
        {"--integrator extrapolation --order-max 2", "--order-max 20 works", 2},
        {"--integrator extrapolation --order-max 22", "--order-max 20 works", 2},
        {"--integrator extrapolation --formulation psf", "--formulation ode works", 2},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[300];
        snprintf(arguments, sizeof arguments, "simulate pendulum --t-end 0.1 %s --output '" OUT "'", runs[i].arguments);
        expect(arguments, runs[i].status, runs[i].expected);
    }
}

// sdirk runs on psf, on what it is told and, as a Rosenbrock method, on ode; the report has its method.
static void sdirk_has_two_methods(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *expected;
        int         status;
    } runs[] = {
        {"--integrator sdirk", "psf with sdirk", 0},
        {"--integrator sdirk --method sdirk --formulation ode --projection always", "to rounding", 0},
        {"--integrator sdirk --method rosenbrock", "ode with sdirk: a formulation that", 0},
        {"--integrator sdirk --method rosenbrock --json", "\"method\": \"rosenbrock\"", 0},
        {"--integrator sdirk --method rosenbrock --formulation psf", "--formulation ode works", 2},
        {"--integrator sdirk --formulation index3", "--formulation psf works", 2},
        {"--integrator sdirk --method adams", "known are sdirk, esdirk, rosenbrock", 2},
        {"--integrator sdirk --method esdirk", "ode with sdirk: a formulation that", 0},
        {"--integrator sdirk --method esdirk --formulation psf", "esdirk with psf", 2},
        {"--integrator sdirk --order-max 3", "--integrator bdf works", 2},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[300];
        snprintf(arguments, sizeof arguments, "simulate pendulum --t-end 0.1 %s --output '" OUT "'", runs[i].arguments);
        expect(arguments, runs[i].status, runs[i].expected);
    }
}

// A limit that is kept changes nothing; one that is broken gives status 3 and a sentence that says which; all is
// written all the same.
static void limits_have_a_status(void **state)
{
    (void)state;
    expect("simulate pendulum --limit-position 1e-9 --limit-energy 1e-3 -o '" OUT "'", 0, "to rounding");
    command_result result = expect("simulate pendulum --formulation index1 --limit-position 1e-9 --limit-velocity 1 "
                                   "--output '" OUT "'",
                                   3, "the limit of 1e-09 on constraint violation on position level is broken: ");
    must_contain(result.text, "'rod length'");
    must_contain(result.text, "report: ");
    assert_null(strstr(result.text, "velocity level is broken"));
    result = expect("simulate pendulum --limit-energy 1e-12 --json --output '" OUT "' 2>/dev/null", 3, "\"ok\": false");
    must_be_json(result.text);
    assert_true(json_number(result.text, "limits_broken") == 1);
    must_contain(result.text, "\"status\": \"KD_OK\"");
    expect("simulate pendulum --limit-energy -1", 2, "--limit-energy wants a number that is not negative");
}

// Results in the form that was asked for, and in no other.
static void format_is_obeyed(void **state)
{
    (void)state;
    expect("simulate pendulum --t-end 0.1 --format yaml --output '" OUT "'", 2, "unknown format 'yaml'");
#ifdef KD_WITH_HDF5
    expect("simulate pendulum --t-end 0.1 --format hdf5 --output '" OUT "'", 0, OUT "/pendulum.h5\n");
    assert_string_equal(run_command("ls '" OUT "'").text, "pendulum.h5\npendulum.html\npendulum.svg\n");
    assert_int_equal(run_command("head -c 4 '" OUT "/pendulum.h5' | tail -c 3 | grep -q HDF").status, 0);
    command_result result = expect("simulate pendulum --t-end 0.1 --format both --json --output '" OUT "'", 0, "");
    must_contain(result.text, "\"data\": \"" OUT "/pendulum.h5\"");
    must_contain(result.text, "\"table\": \"" OUT "/pendulum.csv\"");
    assert_int_equal(run_command("ln -sf /dev/full '" OUT "/pendulum.h5'").status, 0);
    expect("simulate pendulum --t-end 0.1 --format both --output '" OUT "'", 1,
           "pendulum.h5': No space left on device");
#else
    expect("simulate pendulum --t-end 0.1 --format hdf5 --output '" OUT "'", 2, "libhdf5-dev");
#endif
}

// The report shows the channels that were asked for; an unknown one is told before anything is computed.
static void plots_are_chosen(void **state)
{
    (void)state;
    expect("simulate pendulum --t-end 0.1 --plain --plots 'kinetic energy, bob x' --output '" OUT "'", 0, "report");
    char *page = read_text(OUT "/pendulum.html");
    assert_non_null(page);
    must_contain(page, ">kinetic energy<");
    assert_null(strstr(page, "Velocities v"));
    free(page);
    command_result result = expect("simulate pendulum --t-end 0.1 --plots 'kinetic energi' --output '" OUT "/no'", 2,
                                   "unknown channel 'kinetic energi', did you mean 'kinetic energy'?");
    assert_null(strstr(result.text, "steps"));
    assert_int_equal(run_command("test ! -e '" OUT "/no'").status, 0);
}

// --stats prints the statistics, and the line of the method says what was chosen and why, or that it was asked for.
static void method_and_statistics_are_told(void **state)
{
    (void)state;
    expect("simulate pendulum --t-end 0.1 --stats --output '" OUT "'", 0, "decompositions of the Newton matrix");
    expect("simulate pendulum --t-end 0.1 --output '" OUT "'", 0,
           "method: ode with dop853, as the fastest motion at the start, ");
    expect("simulate pendulum --t-end 0.1 --integrator radau --output '" OUT "'", 0,
           "method: psf with radau: keeps the constraints on all levels to rounding");
    expect("simulate pendulum --t-end 0.1 --formulation ggl --integrator radau --output '" OUT "'", 0,
           "method: ggl with radau, as asked for");
}

// Ctrl-C and SIGTERM end a run at its next step: status 130, and complete results up to that time.
static void interrupted_run_keeps_its_results(void **state)
{
    (void)state;
    static const char *const signals[] = {"INT", "TERM"};
    for (int i = 0; i < 2; i++) {
        char line[1000]; // in the foreground timeout sends one signal, otherwise a second one to the group
        snprintf(line, sizeof line,
                 "rm -f '" OUT "'/*; timeout --foreground --preserve-status -s %s 3 '" KD_BINARY_DIR
                 "/kardan' simulate pendulum --t-end 1e7 "
                 "--intervals 100000 --output '" OUT "'; echo \"status $?\"",
                 signals[i]);
        command_result result = run_command(line);
        must_contain(result.text, "status 130\n");
        must_contain(result.text, "interrupted at t = ");
        must_contain(result.text, "(to rounding)");
        must_contain(result.text, "report: ");
        assert_string_equal(run_command("ls '" OUT "'").text, "pendulum.csv\npendulum.html\npendulum.svg\n");
        assert_int_equal(run_command("tail -n 1 '" OUT "/pendulum.csv' | grep -q '^[0-9.,e+-]*$'").status, 0);
    }
}

// On a terminal a line shows time, part, rate and what is left, is written over, and is wiped at the end.
static void progress_is_shown_on_a_terminal(void **state)
{
    (void)state;
    static char text[100000];
    int         terminal = posix_openpt(O_RDWR | O_NOCTTY), status;
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) skip();
    char name[200];
    snprintf(name, sizeof name, "%s", ptsname(terminal));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int screen = open(name, O_WRONLY | O_NOCTTY), nowhere = open("/dev/null", O_WRONLY);
        if (screen < 0 || nowhere < 0 || dup2(screen, 2) < 0 || dup2(nowhere, 1) < 0) _exit(99);
        execl(KD_BINARY_DIR "/kardan", "kardan", "simulate", "pendulum", "--t-end", "1e7", "--output", OUT,
              (char *)NULL);
        _exit(98);
    }
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    assert_int_equal(kill(child, SIGINT), 0);
    size_t  length = 0;
    ssize_t got;
    while (length < sizeof text - 1 && (got = read(terminal, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    close(terminal);
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    must_contain(text, "\r  t = ");
    must_contain(text, " of 1e+07 s ");
    must_contain(text, " s per s");
    must_contain(text, " left");
    must_contain(text, "\r\x1b[K");
    must_contain(text, "interrupted at t = ");
}

// Sizes and channels of an example.
static void info_lists_sizes_and_channels(void **state)
{
    (void)state;
    command_result result = expect("info andrews", 0, "holonomic constraints");
    must_contain(result.text, "kinetic energy");
    assert_null(strstr(expect("info andrews --channels", 0, "beta (crank)").text, "holonomic"));
    result = expect("info andrews --json", 0, "\"title\"");
    must_be_json(result.text);
    assert_true(json_number(result.text, "nlambda") == 6 && json_number(result.text, "nv") == 7);
    expect("info adnrews", 2, "did you mean 'andrews'?");
}

// The check tells degrees of freedom and consistency in words.
static void check_speaks(void **state)
{
    (void)state;
    command_result result = expect("check andrews", 0, "7 positions, 7 velocities; 6 holonomic constraints");
    must_contain(result.text, "1 degree of freedom.");
    must_contain(result.text, "All 6 constraints are independent");
    must_contain(result.text, "They are consistent");
    must_contain(result.text, "agree with differences");
    must_contain(result.text, "Ready to simulate.");
    expect("check pendulum", 0, "1 degree of freedom.");
    expect("check nothing-like-this", 2, "unknown example");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_everywhere),
        cmocka_unit_test(version_is_told),
        cmocka_unit_test(unknown_words_are_guessed),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(examples_are_listed),
        cmocka_unit_test_setup(simulation_writes_results, start_afresh),
        cmocka_unit_test_setup(outcome_as_json, start_afresh),
        cmocka_unit_test_setup(words_are_those_of_the_report, start_afresh),
        cmocka_unit_test_setup(one_tolerance_sets_both, start_afresh),
        cmocka_unit_test_setup(quiet_is_silent, start_afresh),
        cmocka_unit_test_setup(end_time_is_obeyed, start_afresh),
        cmocka_unit_test_setup(failing_disk_is_reported, start_afresh),
        cmocka_unit_test_setup(folder_is_tried_first, start_afresh),
        cmocka_unit_test_setup(failures_as_json, start_afresh),
        cmocka_unit_test_setup(json_is_reproducible, start_afresh),
        cmocka_unit_test_setup(large_table_is_announced, start_afresh),
        cmocka_unit_test_setup(impossible_combination_is_refused, start_afresh),
        cmocka_unit_test_setup(ida_runs_as_documented, start_afresh),
        cmocka_unit_test_setup(options_by_name, start_afresh),
        cmocka_unit_test_setup(options_of_the_file, start_afresh),
        cmocka_unit_test_setup(cvode_and_arkode_run_on_ode, start_afresh),
        cmocka_unit_test_setup(extrapolation_runs_on_ode, start_afresh),
        cmocka_unit_test_setup(sdirk_has_two_methods, start_afresh),
        cmocka_unit_test_setup(limits_have_a_status, start_afresh),
        cmocka_unit_test_setup(format_is_obeyed, start_afresh),
        cmocka_unit_test_setup(plots_are_chosen, start_afresh),
        cmocka_unit_test_setup(method_and_statistics_are_told, start_afresh),
        cmocka_unit_test_setup(interrupted_run_keeps_its_results, start_afresh),
        cmocka_unit_test_setup(progress_is_shown_on_a_terminal, start_afresh),
        cmocka_unit_test(info_lists_sizes_and_channels),
        cmocka_unit_test(check_speaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
