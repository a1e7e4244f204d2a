// examples.c: kardan examples: the gallery, one line each.
#include "cli/cli.h"

int kd_cli_examples(int argc, char **argv)
{
    bool          names_only = false, about = false;
    kd_cli_option options[] = {
        {"--names", NULL, "names only, for scripts", KD_CLI_FLAG, &names_only},
        {"--about", NULL, "with what each one shows and where it comes from", KD_CLI_FLAG, &about},
    };
    kd_cli_syntax syntax = {
        .usage = "kardan examples [--names] [--about]",
        .about = "List the examples that 'kardan simulate' and 'kardan check' know.",
        .details = "Examples:\n  kardan examples --about\n  for e in $(kardan examples --names); do kardan simulate "
                   "$e; done\n",
        .options = options,
        .noptions = sizeof options / sizeof options[0],
    };
    kd_cli_parsed parsed = kd_cli_parse(&syntax, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;

    // titles and length of the run
    for (const kd_example *const *example = kd_gallery(); *example; example++) {
        if (names_only) {
            printf("%s\n", (*example)->name);
            continue;
        }
        printf("%-20s %s (%g s)\n", (*example)->name, (*example)->title, (*example)->t_end);
        if (about) printf("    %s\n", (*example)->about);
    }
    return KD_EXIT_OK;
}
