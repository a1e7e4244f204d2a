// main.c: the program kardan: finds the subcommand and hands over.
#include <string.h>

#include "cli/budget.h"
#include "cli/cli.h"
#include "core/nearest.h"

const kd_command *kd_cli_commands(int *count)
{
    static const kd_command list[] = {
        {"simulate", "simulate a model file or an example; writes results, report and plots", kd_cli_simulate},
        {"realtime", "simulate in steps of fixed work against the clock, and tell the margin", kd_cli_realtime},
        {"linearize", "linear equations A, B, C, D of a model at its start or along its motion", kd_cli_linearize},
        {"modes", "eigenvalues with frequency, damping and coordinates; root locus over a parameter", kd_cli_modes},
        {"frequency", "frequency response from inputs to sensors; Bode plot", kd_cli_frequency},
        {"equilibrium", "where a model rests, what moved to get there, and its loads", kd_cli_equilibrium},
        {"trim", "inputs and parameters that hold a position or a steady motion", kd_cli_trim},
        {"compare", "all sensible methods on one model: time against error, and which to take", kd_cli_compare},
        {"study", "many runs of a model: designs, uncertainty, sensitivity; goes on where it was ended", kd_cli_study},
        {"cosimulate", "several systems side by side, each with its own integrator: co-simulation", kd_cli_cosimulate},
        {"plot", "channels of one or several tables of results in one picture", kd_cli_plot},
        {"rainflow", "load cycles of channels of a table of results, and their damage", kd_cli_rainflow},
        {"render", "the 3-D view of a run as a picture or a film", kd_cli_render},
        {"view", "a model that runs along with the clock in a page: sliders, bodies to pull", kd_cli_view},
        {"check", "degrees of freedom, redundancy, assembly, plausibility, derivatives, in words", kd_cli_check},
        {"info", "sizes, elements and channels of a model", kd_cli_info},
        {"convert", "robot description (URDF) or model file to model file", kd_cli_convert},
        {"export", "a model as FMU (FMI 2.0, 3.0) for other tools", kd_cli_export},
        {"fmu", "what is in an FMU, what is wrong with it, a run of it", kd_cli_fmu},
        {"flex", "a part of finite elements or beams becomes a flexible body with few modes", kd_cli_flex},
        {"loads", "what a flexible body carries along a run: a table, load cases for CalculiX", kd_cli_loads},
        {"new", "a commented model file to begin with", kd_cli_new},
        {"format", "a model file in the usual order, with its comments", kd_cli_format},
        {"examples", "list the examples", kd_cli_examples},
        {"help", "this page, or the page of a command", kd_cli_help},
        {"version", "version of kardan", kd_cli_version},
    };
    _Static_assert(sizeof list / sizeof *list <= KD_CLI_MOST_COMMANDS, "more room for names");
    *count = sizeof list / sizeof list[0];
    return list;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        kd_cli_help(0, NULL);
        return KD_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) word = "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) word = "version";

    // the limits first: a command may write large files
    kd_cli_survive_limits();
    (void)kd_blas_choose_kernels();
    int               count;
    const kd_command *commands = kd_cli_commands(&count);
    const char       *names[KD_CLI_MOST_COMMANDS];
    for (int i = 0; i < count; i++) {
        if (strcmp(commands[i].name, word) == 0) {
            // memory is counted from here on
            if (!kd_budget_start()) return KD_EXIT_FAILED;
            int status = commands[i].run(argc - 2, argv + 2);
            kd_budget_tell();
            // what was printed must have arrived
            if (fflush(stdout) != 0 || ferror(stdout)) {
                fputs("kardan: standard output could not be written\n", stderr);
                if (status == KD_EXIT_OK) status = KD_EXIT_FAILED;
            }
            return status;
        }
        names[i] = commands[i].name;
    }
    // an option in place of a command
    if (word[0] == '-' && !kd_nearest_word(word, names, count))
        fprintf(stderr, "kardan: options follow a command, but '%s' stands in its place\n", word);
    else
        kd_cli_unknown(word[0] == '-' ? "option" : "command", word, names, count);
    fputs("Type 'kardan help' for all commands.\n", stderr);
    return KD_EXIT_USAGE;
}
