// cli/cli.h: what the subcommands of kardan share: options, words that were meant, exit status, JSON.
#ifndef KD_CLI_CLI_H
#define KD_CLI_CLI_H

#include <gallery.h>
#include <stdio.h>

// Exit status of the program.
enum { KD_EXIT_OK = 0, KD_EXIT_FAILED = 1, KD_EXIT_USAGE = 2 };

// ---- subcommands --------------------------------------------------------------------------------
typedef struct kd_command {
    const char *name, *about;
    int (*run)(int argc, char **argv); // arguments behind the name of the command; answers the exit status
} kd_command;

const kd_command *kd_cli_commands(int *count);
int               kd_cli_simulate(int argc, char **argv);
int               kd_cli_examples(int argc, char **argv);
int               kd_cli_check(int argc, char **argv);
int               kd_cli_help(int argc, char **argv);
int               kd_cli_version(int argc, char **argv);

// ---- arguments ----------------------------------------------------------------------------------
typedef enum kd_cli_kind {
    KD_CLI_FLAG,     // target: bool
    KD_CLI_TEXT,     // target: const char *
    KD_CLI_NUMBER,   // target: double, >= 0
    KD_CLI_POSITIVE, // target: double, > 0
    KD_CLI_COUNT,    // target: int, from 2 to a million
} kd_cli_kind;

typedef struct kd_cli_option {
    const char *name;  // "--rtol"
    const char *value; // "R" in the help; NULL for a flag
    const char *about;
    kd_cli_kind kind;
    void       *target;
} kd_cli_option;

typedef struct kd_cli_syntax {
    const char          *usage;   // "kardan check EXAMPLE"
    const char          *about;   // one paragraph
    const char          *details; // examples and the like, lines; may be NULL
    const kd_cli_option *options;
    int                  noptions;
    const char          *operand_name; // "EXAMPLE"; NULL: none
    const char         **operand;
} kd_cli_syntax;

typedef enum kd_cli_parsed { KD_CLI_GO, KD_CLI_HELP_SHOWN, KD_CLI_WRONG } kd_cli_parsed;

// Read options ("--rtol 1e-6" or "--rtol=1e-6") and the operand. --help is known everywhere. A mistake is told on
// standard error.
kd_cli_parsed kd_cli_parse(const kd_cli_syntax *syntax, int argc, char **argv);

// ---- words -------------------------------------------------------------------------------------- -------------------
// "kardan: unknown WHAT 'WORD', did you mean 'NEAREST'?" on standard error, or the list if none is near.
void kd_cli_unknown(const char *what, const char *word, const char *const *list, int count);
// The example of that name; NULL after a message on standard error.
const kd_example *kd_cli_find_example(const char *name);

// ---- JSON --------------------------------------------------------------------------------------- -------------------
// Members
// of an object, each with its own comma: start with first = true.
typedef struct kd_json {
    FILE *file;
    bool  first;
} kd_json;
void kd_json_open(kd_json *json, const char *key); // key NULL: the outermost object
void kd_json_close(kd_json *json);
void kd_json_text(kd_json *json, const char *key, const char *value);
void kd_json_number(kd_json *json, const char *key, double value); // NaN and infinity: null
void kd_json_count(kd_json *json, const char *key, long value);
void kd_json_bool(kd_json *json, const char *key, bool value);

#endif
