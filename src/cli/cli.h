// cli/cli.h: what the subcommands of kardan share: options, words that were meant, exit status, signals,
// progress.
#ifndef KD_CLI_CLI_H
#define KD_CLI_CLI_H

#include <gallery.h>
#include <stdio.h>

#include "core/json.h"

// Exit status of the program.
enum {
    KD_EXIT_OK = 0,
    KD_EXIT_FAILED = 1,
    KD_EXIT_USAGE = 2,        // not understood
    KD_EXIT_LIMIT = 3,        // the run is good, but a limit of the user is broken
    KD_EXIT_INTERRUPTED = 130 // by Ctrl-C (SIGINT) or SIGTERM; results so far are written
};

// ---- subcommands ----------------------------------------------------------------------------------------------------

// a word of the command line, and what it does
typedef struct kd_command {
    const char *name, *about;
    int (*run)(int argc, char **argv); // arguments behind the name of the command; answers the exit status
} kd_command;

enum { KD_CLI_MOST_COMMANDS = 64 }; // room for their names
const kd_command *kd_cli_commands(int *count);
int               kd_cli_simulate(int argc, char **argv);
int               kd_cli_realtime(int argc, char **argv);
int               kd_cli_linearize(int argc, char **argv);
int               kd_cli_modes(int argc, char **argv);
int               kd_cli_frequency(int argc, char **argv);
int               kd_cli_equilibrium(int argc, char **argv);
int               kd_cli_trim(int argc, char **argv);
int               kd_cli_compare(int argc, char **argv);
int               kd_cli_plot(int argc, char **argv);
int               kd_cli_render(int argc, char **argv);
int               kd_cli_view(int argc, char **argv);
int               kd_cli_rainflow(int argc, char **argv);
int               kd_cli_flex(int argc, char **argv);
int               kd_cli_loads(int argc, char **argv);
int               kd_cli_study(int argc, char **argv);
int               kd_cli_cosimulate(int argc, char **argv);
int               kd_cli_examples(int argc, char **argv);
int               kd_cli_new(int argc, char **argv);
int               kd_cli_format(int argc, char **argv);
int               kd_cli_check(int argc, char **argv);
int               kd_cli_info(int argc, char **argv);
int               kd_cli_convert(int argc, char **argv);
int               kd_cli_export(int argc, char **argv);
int               kd_cli_fmu(int argc, char **argv);
int               kd_cli_help(int argc, char **argv);
int               kd_cli_version(int argc, char **argv);

// ---- arguments ------------------------------------------------------------------------------------------------------
typedef enum kd_cli_kind {
    KD_CLI_FLAG,     // target: bool
    KD_CLI_TEXT,     // target: const char *
    KD_CLI_LIST,     // target: kd_cli_list, one more word each time
    KD_CLI_NUMBER,   // target: double, >= 0
    KD_CLI_POSITIVE, // target: double, > 0
    KD_CLI_SIGNED,   // target: double, of any sign
    KD_CLI_COUNT,    // target: int, from 1 to a million
} kd_cli_kind;

enum { KD_CLI_LONGEST_LIST = 64 };

// words that an option collected
typedef struct kd_cli_list {
    const char *word[KD_CLI_LONGEST_LIST];
    int         count;
} kd_cli_list;

// one row of the table of a command
typedef struct kd_cli_option {
    const char *name;  // "--rtol"
    const char *value; // "R" in the help; NULL for a flag
    const char *about;
    kd_cli_kind kind;
    void       *target;
} kd_cli_option;

// all that kd_cli_parse needs of a command
typedef struct kd_cli_syntax {
    const char          *usage;   // "kardan check MODEL"
    const char          *about;   // one paragraph
    const char          *details; // examples and the like, lines; may be NULL
    const kd_cli_option *options;
    int                  noptions;
    const char *const   *operand_name; // (noperands) "MODEL"
    const char         **operand;      // (noperands)
    int                  noperands;
    const kd_cli_option *further; // of the options: further operands are values of it; NULL: there are none
} kd_cli_syntax;

typedef enum kd_cli_parsed { KD_CLI_GO, KD_CLI_HELP_SHOWN, KD_CLI_WRONG } kd_cli_parsed;

// Read options ("--rtol 1e-6" or "--rtol=1e-6") and the operands. --help is known everywhere. A mistake is told on
// standard error.
kd_cli_parsed kd_cli_parse(const kd_cli_syntax *syntax, int argc, char **argv);

// "kardan: TEXT" on standard error; false
bool kd_cli_refuse(const char *text);

// ---- words ----------------------------------------------------------------------------------------------------------
// "kardan: unknown WHAT 'WORD', did you mean 'NEAREST'?" on standard error, or the list if none is near.
// what may begin with where the word stands: "file.yaml:4:7: run: |channel".
void kd_cli_unknown(const char *what, const char *word, const char *const *list, int count);
void kd_cli_print_lines(const char *text); // each line indented
// The index of word in the list; -1 after a message on standard error.
int kd_cli_choose(const char *what, const char *word, const char *const *list, int count);

// The next word of a list "a, b(1,2), c", cut in place: commas inside parentheses belong to a word. NULL: no more.
char *kd_cli_next_word(char **rest);

// ---- files ----------------------------------------------------------------------------------------------------------
// Create a folder and those above it, as far as they are missing; it must be one that can be written to.
kd_status kd_cli_make_folder(const char *folder, char *message, size_t size) KD_NODISCARD;
// Are these two names of one file that is there?
bool kd_cli_is_same_file(const char *a, const char *b);

// ---- time, signals, progress ----------------------------------------------------------------------------------------
double kd_cli_seconds(void); // clock that never goes back

// From now on Ctrl-C and SIGTERM are noted; another one more than a second later ends the program as usual.
void kd_cli_watch_signals(void);
// A file that would become larger than the limit (ulimit -f) makes the write fail instead of ending the program.
void kd_cli_survive_limits(void);
bool kd_cli_is_interrupted(void);

// A line on standard error that is written over again and again; nothing unless standard error is a terminal.
typedef struct kd_progress {
    bool   on;
    double t_start, t_end;    // of the motion
    double started, shown_at; // clock; shown_at 0: never
} kd_progress;
void kd_progress_start(kd_progress *progress, bool wanted, double t_start, double t_end);
void kd_progress_show(kd_progress *progress, double t, long steps);
void kd_progress_end(kd_progress *progress); // wipes the line
// "1 h 20 min", "3 min 5 s", "12 s", "0.4 s"
const char *kd_progress_duration(double seconds, char *buffer, size_t size);

#endif
