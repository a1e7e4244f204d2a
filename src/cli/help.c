// help.c: kardan help and kardan version.
#include <string.h>

#include "cli/cli.h"
#include "results/linear_file.h"
#include "results/result.h"
#include <kardan/simulation.h>

static void show_commands(void)
{
    int               count;
    const kd_command *commands = kd_cli_commands(&count);
    printf("kardan %s: simulation of mechanical multibody systems\n\nUsage: kardan COMMAND [OPTION...]\n\nCommands:\n",
           kd_version());
    for (int i = 0; i < count; i++) printf("  %-12s %s\n", commands[i].name, commands[i].about);
    printf("\n"
           "kardan COMMAND --help tells more about a command, kardan help options lists the options of\n"
           "methods by name. Every command has --memory SIZE, the largest memory that it may take.\n"
           "simulate checks its steps (--no-verify: not) and ends with a verdict; --clean: exit status 3\n"
           "unless that is clean.\n"
           "\n"
           "Examples:\n"
           "  kardan simulate models/slider-crank.yaml\n"
           "  kardan check models/slider-crank.yaml\n"
           "  kardan equilibrium models/four-bar-spring.yaml\n"
           "  kardan realtime models/hmmwv.yaml --step 1e-3 --duration 60\n"
           "  kardan modes models/quarter-car.yaml\n"
           "  kardan compare models/slider-crank.yaml\n"
           "  kardan examples\n"
           "  kardan simulate andrews\n"
           "  kardan simulate pendulum --t-end 5 --rtol 1e-9 --output results\n"
           "  kardan check andrews\n");
}

// All options of a simulation by name, in groups
static void show_options(void)
{
    const kd_simulation_options standard = kd_simulation_options_default();
    const kd_option            *row;
    const char                 *group = "";
    char                        range[200], value[100];
    printf("Options by name: kardan simulate MODEL --option radau.max_newton=7.\n"
           "Name, default, values, meaning; names of S3 and DASSL in brackets.\n");
    // a group is what stands before the dot; its name is a title
    for (int i = 0; (row = kd_option_at(i)); i++) {
        const size_t n = strcspn(row->name, ".");
        if (strcspn(group, ".") != n || strncmp(row->name, group, n) != 0) printf("\n%.*s\n", (int)n, row->name);
        group = row->name;
        if (kd_option_get(&standard, row->name, value, sizeof value) < 0) value[0] = '\0';
        printf("  %-28s %-10s %s\n      %s%s%s%s\n", row->name, value, kd_option_values(row, range, sizeof range),
               row->sentence, row->paper ? " [" : "", row->paper ? row->paper : "", row->paper ? "]" : "");
    }
}

int kd_cli_help(int argc, char **argv)
{
    // options of methods have a page of their own
    if (argc > 0 && strcmp(argv[0], "options") == 0) {
        show_options();
        return KD_EXIT_OK;
    }
    if (argc == 0 || strcmp(argv[0], "--help") == 0) {
        show_commands();
        return KD_EXIT_OK;
    }
    int               count;
    const kd_command *commands = kd_cli_commands(&count);
    const char       *names[KD_CLI_MOST_COMMANDS];
    // help of a command is its own --help
    for (int i = 0; i < count; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[0], names[i]) != 0) continue;
        char  help[] = "--help";
        char *argument[] = {help};
        return commands[i].run(1, argument);
    }
    kd_cli_unknown("command", argv[0], names, count);
    return KD_EXIT_USAGE;
}

static void show_part(const char *what, bool there)
{
    printf("  %-28s %s\n", what, there ? "yes" : "no");
}

static void show_build(void)
{
    printf("  %-28s %s\n", "BLAS kernels", kd_blas_kernels());
    show_part("SUNDIALS (ida, cvode, arkode)", kd_integrator_about(KD_IDA, NULL)->available);
    show_part("results in HDF5", kd_result_has_hdf5());
    show_part("MAT files", kd_linear_has_mat());
}

int kd_cli_version(int argc, char **argv)
{
    bool                build = false;
    const kd_cli_option options[] = {
        {"--build", NULL, "what is built in, and the kernels that BLAS runs", KD_CLI_FLAG, &build},
    };
    kd_cli_syntax syntax = {.usage = "kardan version [--build]",
                            .about = "Print the version of kardan.",
                            .options = options,
                            .noptions = 1,
                            .details = "Example:\n  kardan version --build"};
    kd_cli_parsed parsed = kd_cli_parse(&syntax, argc, argv);
    if (parsed == KD_CLI_GO) printf("kardan %s\n", kd_version());
    if (parsed == KD_CLI_GO && build) show_build();
    return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
}
