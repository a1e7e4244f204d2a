// cli/subject.h: what a command works on: a model file or a built-in example, as equations of motion with a start.
#ifndef KD_CLI_SUBJECT_H
#define KD_CLI_SUBJECT_H

#include "cli/cli.h"

enum { KD_SUBJECT_NAME = 200, KD_SUBJECT_MESSAGE = 20000 };

// What the command line says about it.
typedef struct kd_subject_request {
    const char *word;        // file or name of an example
    const char *coordinates; // "joint", "cartesian"; NULL: as the file says, else joint
    kd_cli_list settings;    // "name=value"
    kd_cli_list folders;     // folders of subsystems and other files
    bool        free_base;   // robot description: the root link floats
    kd_cli_list watch;       // paths to be recorded besides
    const char *channels;    // the same by patterns, separated by commas, or "all"; NULL: none
    bool        unassembled; // a model that cannot be assembled will do
    bool        in_process;  // FMUs of blocks are trusted
    bool        libraries;   // shared objects of blocks may be loaded
    double      fmu_timeout; // [s]; 0: as usual
} kd_subject_request;

// a model or an example, opened
typedef struct kd_subject {
    char        name[KD_SUBJECT_NAME]; // of result files: the example, or the model file without folder and ending
    const char *title, *about;         // about may be NULL
    const kd_example *example;         // NULL: a model file
    const kd_eom     *eom;
    kd_inputs         inputs; // eval NULL: none
    kd_state         *x;      // the start, assembled
    kd_run_def        run;    // as the file says, or as the example wants
    // of an example
    kd_eom *own;
    // of a model file
    const char    *path;
    char          *text;
    kd_model      *model;
    kd_system     *system;
    kd_coordinates coordinates;
    char         **watch;                 // (nwatch) paths that are recorded besides
    int            nwatch, nplain;        // the last of them by a pattern: angles are shown, not counted
    bool           in_process, libraries; // as of the request
    double         fmu_timeout;
    kd_system_info info;
    kd_status      start;                       // what the assembly answered; < 0: x is not a start
    char           news[2000];                  // in words
    char           rest[1200];                  // how its start was found by --from-equilibrium; "": it was not
    char           message[KD_SUBJECT_MESSAGE]; // why it failed; of a robot description: what became of its elements
} kd_subject;

// Options that set the request, at most KD_SUBJECT_OPTIONS; returns their number.
enum { KD_SUBJECT_OPTIONS = 7 };
int kd_subject_options(kd_subject_request *request, kd_cli_option *options);

// Does the word name a file (rather than an example)?
bool kd_subject_is_file(const char *word);
// Folders of libraries that were given, and that of this program (room: KD_SUBJECT_PATH bytes); how many they are
enum { KD_SUBJECT_PATH = 4200 };
int kd_subject_libraries(const kd_cli_list *given, const char *library[KD_CLI_LONGEST_LIST + 1], char *room);
// The model of a file, with folders of libraries that were given, and that of this program
kd_status kd_subject_model(const char *path, const kd_cli_list *given, const kd_setting *settings, int nsettings,
                           kd_model **model, char *message, size_t size) KD_NODISCARD;
// The model alone, without equations. After a failure (false) standard error has been told, and *exit_status is set.
bool kd_subject_read(kd_subject *subject, const kd_subject_request *request, int *exit_status);
// With equations and start.
bool kd_subject_open(kd_subject *subject, const kd_subject_request *request, int *exit_status);
// Where a field of `run:` stands in the model file, "file.yaml:4:7: run: "; "" if it stands in none. Returns text.
const char *kd_subject_run_place(const kd_subject *subject, const char *field, char *text, size_t size);
void        kd_subject_close(kd_subject *subject); // what was opened, also in part

// Other values of parameters of a model that is open, and its start with them; false: they cannot be changed so, and
// the model must be read again. Parameters that were given by --set are independent.
bool kd_subject_change(kd_subject *subject, int n, const char *const *name, const double *value);
// The equations of a model file again, at its start, with a force written in C beside those of the file; def NULL:
// without (kd_model_attach). false: standard error has been told, and there are no equations.
bool kd_subject_attach(kd_subject *subject, const char *name, const kd_user_force_def *def);
// The reader of its states; inputs NULL: its own. *probe is NULL after a failure.
kd_status kd_subject_probe(const kd_subject *subject, const kd_inputs *inputs, kd_probe **probe) KD_NODISCARD;

// What --set said: the value of setting i, its name behind the word in front in buffer.
const char *kd_subject_setting(const kd_subject_request *request, int i, const char *front, char *name, size_t size);
// All of them as an object "set"; nothing if there are none.
void kd_subject_tell_settings(const kd_subject_request *request, kd_json *json);

static inline const kd_inputs *kd_subject_inputs(const kd_subject *subject)
{
    return subject->inputs.eval ? &subject->inputs : NULL;
}

#endif
