// help.c: kardan help and kardan version.
#include <string.h>

#include "cli/cli.h"

enum { MAX_NAMES = 24 };

static void show_commands(void)
{
    int               count;
    const kd_command *commands = kd_cli_commands(&count);
    printf("kardan %s: simulation of mechanical multibody systems\n\nUsage: kardan COMMAND [OPTION...]\n\nCommands:\n",
           kd_version());
    for (int i = 0; i < count; i++) printf("  %-12s %s\n", commands[i].name, commands[i].about);
    printf("\nkardan COMMAND --help tells more about a command. Every command has --memory SIZE, the largest memory "
           "that it\n"
           "may take. simulate checks its steps (--no-verify: not) and ends with a verdict; --clean: exit status 3 "
           "unless\n"
           "that is clean.\n\nExamples:\n"
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

int kd_cli_help(int argc, char **argv)
{
    if (argc == 0 || strcmp(argv[0], "--help") == 0) {
        show_commands();
        return KD_EXIT_OK;
    }
    int               count;
    const kd_command *commands = kd_cli_commands(&count);
    const char       *names[MAX_NAMES];
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

int kd_cli_version(int argc, char **argv)
{
    kd_cli_syntax syntax = {.usage = "kardan version", .about = "Print the version of kardan."};
    kd_cli_parsed parsed = kd_cli_parse(&syntax, argc, argv);
    if (parsed == KD_CLI_GO) printf("kardan %s\n", kd_version());
    return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
}
