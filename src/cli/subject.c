// subject.c: from the word on the command line to equations of motion.
#define _POSIX_C_SOURCE 200809L
#include "cli/subject.h"
#include <fnmatch.h>
#include <limits.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/text.h"
#include "model/build.h"

enum { LARGEST_TEXT = 1 << 26 }; // bytes of a model file that are kept for the results

static const char *const COORDINATES[] = {"joint", "cartesian"};

int kd_subject_options(kd_subject_request *r, kd_cli_option *options)
{
    const kd_cli_option list[KD_SUBJECT_OPTIONS] = {
        {"--coordinates", "C", "joint (default), cartesian; of a model file", KD_CLI_TEXT, &r->coordinates},
        {"--set", "NAME=VALUE", "another value for a parameter of the model file; repeatable", KD_CLI_LIST,
         &r->settings},
        {"--library", "DIR", "folder of subsystems that the model may use besides its own; repeatable", KD_CLI_LIST,
         &r->folders},
        {"--free-base", NULL, "robot description: its root floats instead of being fixed", KD_CLI_FLAG, &r->free_base},
        {"--load-libraries", NULL, "load shared objects of blocks: code that can do whatever you may", KD_CLI_FLAG,
         &r->libraries},
        {"--in-process", NULL, "trust the FMUs of blocks, without processes of their own", KD_CLI_FLAG, &r->in_process},
        {"--fmu-timeout", "S", "for one call of an FMU [s]; default 10", KD_CLI_POSITIVE, &r->fmu_timeout},
    };
    memcpy(options, list, sizeof list);
    return KD_SUBJECT_OPTIONS;
}

// ---- formats of model files -----------------------------------------------------------------------------------------
// Readers leave the model in s->model and their report, or what is wrong, in s->message.

// The library that belongs to this program: share/kardan beside the folder of the program, where it is installed, or models
// beside the folder that it was built in. false: there is none
static bool installed_library(char *folder, size_t size)
{
    char          program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return false;
    program[n] = '\0';
    // PREFIX/bin/kardan
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(program, '/');
        if (!slash) return false;
        *slash = '\0';
    }
    kd_text(folder, size, "%s/share/kardan", program);
    if (access(folder, R_OK) == 0) return true;
    char part[PATH_MAX + 40];
    kd_text(folder, size, "%s/models", program);
    kd_text(part, sizeof part, "%s/library/wheel.yaml", folder);
    return access(part, R_OK) == 0;
}

int kd_subject_libraries(const kd_cli_list *given, const char *library[KD_CLI_LONGEST_LIST + 1], char *room)
{
    int n = 0;
    for (; n < given->count; n++) library[n] = given->word[n];
    if (installed_library(room, KD_SUBJECT_PATH)) library[n++] = room;
    return n;
}

kd_status kd_subject_model(const char *path, const kd_cli_list *given, const kd_setting *settings, int nsettings,
                           kd_model **model, char *message, size_t size)
{
    char        installed[KD_SUBJECT_PATH];
    const char *library[KD_CLI_LONGEST_LIST + 1];
    const int   n = kd_subject_libraries(given, library, installed);
    return kd_model_read_with(path, settings, nsettings, library, n, model, message, size);
}

static kd_status read_yaml(kd_subject *s, const kd_subject_request *r, const kd_setting *settings)
{
    return kd_subject_model(s->path, &r->folders, settings, r->settings.count, &s->model, s->message,
                            sizeof s->message);
}

// A failure is told by its reason, not by the report of what was taken and converted
static kd_status read_urdf(kd_subject *s, const kd_subject_request *r, const kd_setting *settings)
{
    char            why[4000] = "";
    const char     *package[KD_CLI_LONGEST_LIST];
    kd_urdf_options opt = kd_urdf_options_default();
    (void)settings;
    opt.free_base = r->free_base;
    opt.package = package;
    for (; opt.npackages < r->folders.count; opt.npackages++) package[opt.npackages] = r->folders.word[opt.npackages];
    kd_status status = kd_model_read_urdf(s->path, &opt, &s->model, s->message, sizeof s->message, why, sizeof why);
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", why);
    return status;
}

// how a file is read, by its ending
typedef struct model_format {
    const char *ending;
    const char *without_parameters; // what it is called where --set is refused; NULL: it has parameters
    kd_status (*read)(kd_subject *s, const kd_subject_request *r, const kd_setting *settings);
} model_format;

// The first one also reads files that end otherwise.
static const model_format FORMATS[] = {
    {".yaml", NULL, read_yaml},
    {".yml", NULL, read_yaml},
    {".urdf", "a robot description", read_urdf},
    {".xml", "a robot description", read_urdf},
};

// NULL: another ending, or none
static const model_format *format_of(const char *path)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0]; i++)
        if (kd_text_ends_with(path, FORMATS[i].ending) && strcmp(path, FORMATS[i].ending) != 0)
            return &FORMATS[i]; // a name stands before the ending
    return NULL;
}

bool kd_subject_is_file(const char *word)
{
    // names of examples go first: a file of that name needs its folder
    if (kd_gallery_find(word)) return false;
    return format_of(word) || strchr(word, '/') || access(word, F_OK) == 0;
}

// ---- examples -------------------------------------------------------------------------------------------------------

// The gallery has no example of this name: guess which was meant
static void tell_unknown(const char *word)
{
    const kd_example *const *gallery = kd_gallery();
    int                      count = 0;
    while (gallery[count]) count++;
    const char **names = malloc((size_t)(count + 1) * sizeof *names);
    if (names) {
        for (int i = 0; i < count; i++) names[i] = gallery[i]->name;
        kd_cli_unknown("example", word, names, count);
    }
    free(names);
    fputs("A model file ends with .yaml or .urdf; 'kardan examples' lists the examples.\n", stderr);
}

// examples are equations in C: nothing of them can be set
static bool open_example(kd_subject *s, const kd_subject_request *r, int *exit_status)
{
    *exit_status = KD_EXIT_USAGE;
    s->example = kd_gallery_find(r->word);
    if (!s->example) {
        tell_unknown(r->word);
        return false;
    }
    if (r->settings.count > 0 || r->coordinates) {
        fprintf(stderr, "kardan: '%s' is an example written in C: %s is for model files\n", r->word,
                r->coordinates ? "--coordinates" : "--set");
        return false;
    }
    *exit_status = KD_EXIT_FAILED;
    kd_status status = s->example->create(&s->own, &s->x, &s->inputs);
    s->eom = s->own;
    s->title = s->example->title;
    s->about = s->example->about;
    // examples have no limits and no largest step
    s->run = (kd_run_def){.t_end = s->example->t_end,
                          .intervals = 500,
                          .max_step = NAN,
                          .limit_position = NAN,
                          .limit_velocity = NAN,
                          .limit_acceleration = NAN,
                          .limit_energy = NAN};
    snprintf(s->name, sizeof s->name, "%s", s->example->name);
    if (status >= 0) return true;
    fprintf(stderr, "kardan: %s could not be created: %s\n", r->word, kd_status_sentence(status));
    return false;
}

// ---- model files ----------------------------------------------------------------------------------------------------

// "folder/slider-crank.yaml" -> "slider-crank"
static void name_of_file(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot > name) *dot = '\0';
}

// the sentence of the status, then all that the reader found
static bool tell_findings(const kd_subject *s, kd_status status)
{
    const char *message = s->message;
    if (!message[0]) message = kd_status_sentence(status);
    fprintf(stderr, "kardan: %s\n%s%s", kd_status_sentence(status), message,
            message[strlen(message) - 1] == '\n' ? "" : "\n");
    return false;
}

// "name=value" -> name, value; the texts are cut in place in a copy
static bool split_settings(const kd_cli_list *list, char *copy, size_t size, kd_setting *settings)
{
    size_t used = 0;
    for (int i = 0; i < list->count; i++) {
        const char *equals = strchr(list->word[i], '=');
        size_t      length = strlen(list->word[i]) + 1;
        // neither name nor value may be empty
        if (!equals || equals == list->word[i] || equals[1] == '\0') {
            fprintf(stderr, "kardan: --set wants NAME=VALUE, not '%s'\n", list->word[i]);
            return false;
        }
        if (used + length > size) {
            fputs("kardan: the values of --set are too long\n", stderr);
            return false;
        }
        char *name = memcpy(copy + used, list->word[i], length), *value = name + (equals - list->word[i]);
        *value++ = '\0';
        settings[i] = (kd_setting){name, value};
        used += length;
    }
    return true;
}

// The text of the file for the results; NULL if it cannot be had
static char *text_of_file(const char *path)
{
    char  *text, why[400];
    size_t length;
    return kd_load_file(path, LARGEST_TEXT, &text, &length, why, sizeof why) >= 0 ? text : NULL;
}

static bool read_model(kd_subject *s, const kd_subject_request *r, int *exit_status)
{
    kd_setting settings[KD_CLI_LONGEST_LIST];
    char       copy[4096];
    *exit_status = KD_EXIT_USAGE;
    // wrong words are a matter of usage, wrong files a failure
    if (!split_settings(&r->settings, copy, sizeof copy, settings)) return false;
    s->path = r->word;
    name_of_file(s->path, s->name, sizeof s->name);
    const model_format *format = format_of(s->path);
    if (!format) format = &FORMATS[0];
    if (format->without_parameters && r->settings.count > 0) {
        fprintf(stderr, "kardan: %s has no parameters for --set\n", format->without_parameters);
        return false;
    }
    *exit_status = KD_EXIT_FAILED;
    // the reader leaves its report in the message
    kd_status status = format->read(s, r, settings);
    if (status < 0) return tell_findings(s, status);
    s->title = kd_model_title(s->model);
    if (!s->title[0]) s->title = s->name;
    s->run = *kd_model_run(s->model);
    // results carry the text of their model
    s->text = text_of_file(s->path);
    return true;
}

// command line, file, joint coordinates
static bool choose_coordinates(kd_subject *s, const kd_subject_request *r)
{
    const char *word = r->coordinates ? r->coordinates : s->run.coordinates;
    int         i = word ? kd_cli_choose("coordinates", word, COORDINATES, 2) : 0;
    s->coordinates = i == 1 ? KD_CARTESIAN : KD_JOINT;
    return i >= 0;
}

// equations, inputs, assembled start
static bool make_system(kd_subject *s, bool unassembled)
{
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = s->coordinates;
    opt.watch = (const char *const *)s->watch;
    opt.nwatch = s->nwatch;
    opt.nplain = s->nplain;
    opt.fmu_in_process = s->in_process;
    opt.libraries = s->libraries;
    if (s->fmu_timeout > 0) opt.fmu_timeout = s->fmu_timeout;
    kd_status status = kd_system_create(s->model, &opt, &s->system, s->message, sizeof s->message);
    if (status < 0) return tell_findings(s, status);
    s->eom = kd_system_eom(s->system);
    const kd_inputs *inputs = kd_system_inputs(s->system);
    if (inputs) s->inputs = *inputs;
    s->info = kd_system_info_of(s->system);
    status = kd_state_create(s->eom, &s->x);
    if (status < 0) return tell_findings(s, status);
    status = s->start = kd_system_start(s->system, s->x, s->news, sizeof s->news);
    // kardan check looks at models that cannot be assembled, too
    if (status >= 0 || unassembled) return true;
    kd_text(s->message, sizeof s->message, "%s", s->news);
    return tell_findings(s, status);
}

bool kd_subject_change(kd_subject *s, int n, const char *const *name, const double *value)
{
    enum { MOST = 1000 };
    double            theta[MOST];
    kd_parameter_info info[MOST];
    // more parameters than there is room for: read the file again
    const int count = kd_model_parameters(s->model, info, MOST);
    if (!s->system || count > MOST) return false;
    memcpy(theta, kd_system_parameters(s->system), (size_t)count * sizeof *theta);
    // all values as they are, but for these
    for (int i = 0; i < n; i++) {
        const int at = kd_model_parameter_index(s->model, name[i]);
        if (at < 0 || !info[at].independent) return false;
        theta[at] = value[i];
    }
    if (kd_system_set_parameters(s->system, theta, s->message, sizeof s->message) < 0) return false;
    s->run = *kd_model_run(kd_system_model(s->system));
    // the start may be another one
    kd_state_destroy(s->x);
    s->x = NULL;
    if (kd_state_create(s->eom, &s->x) < 0) return false;
    s->start = kd_system_start(s->system, s->x, s->news, sizeof s->news);
    return s->start >= 0;
}

// ---- channels besides -----------------------------------------------------------------------------------------------

enum { MOST_CHANNELS = 4000 };

// One more path for the system; false: standard error has been told
static bool watch_path(kd_subject *s, const char *path)
{
    if (!s->watch) s->watch = kd_alloc(MOST_CHANNELS * sizeof *s->watch);
    char *copy = s->watch ? kd_alloc(strlen(path) + 1) : NULL;
    if (!copy) {
        fputs("kardan: out of memory\n", stderr);
        return false;
    }
    s->watch[s->nwatch++] = strcpy(copy, path);
    return true;
}

// Paths that are to be recorded: those of the request, else of the file. false: one is none of this model
static bool watch_paths(kd_subject *s, const kd_subject_request *r)
{
    const bool  of_run = r->watch.count == 0;
    kd_cli_list watch = r->watch;
    for (int i = 0; of_run && i < s->run.nplots; i++) watch.word[watch.count++] = s->run.plots[i];
    for (int i = 0; i < watch.count; i++) {
        const char  *word = watch.word[i];
        char         why[400], place[400] = "", field[20];
        kd_path_info info;
        // a path has a dot and no blank; other channels are looked for later
        if (!strchr(word, '.') || strchr(word, ' ')) continue;
        if (kd_model_path_about(s->model, word, &info, why, sizeof why) >= 0) {
            if (!watch_path(s, word)) return false;
            continue;
        }
        snprintf(field, sizeof field, "plots[%d]", i);
        if (of_run) kd_subject_run_place(s, field, place, sizeof place);
        fprintf(stderr, "kardan: %schannel '%s': %s\n", place, word, why);
        return false;
    }
    return true;
}

// ---- channels by patterns -------------------------------------------------------------------------------------------

// Poses and velocities of bodies, coordinates and reactions of joints, constraints, forces, outputs of blocks, variables
static const char everything[] = "body.*.pos.?,body.*.roll,body.*.pitch,body.*.yaw,body.*.vel.?,body.*.omega.?,joint.*,"
                                 "constraint.*,force.*,block.*,variable.*";

// Record the paths of an element that a pattern fits; false: standard error has been told
static bool watch_element(kd_subject *s, const char *pattern, kd_section section, int i, int *found)
{
    char path[400];
    for (int k = 0; kd_model_path(s->model, section, i, k, path, sizeof path) > 0; k++) {
        if (fnmatch(pattern, path, 0) != 0) continue;
        ++*found;
        if (s->nwatch == MOST_CHANNELS) {
            fprintf(stderr, "kardan: --channels '%s' gives more than %d channels; choose fewer by a pattern\n", pattern,
                    MOST_CHANNELS);
            return false;
        }
        if (!watch_path(s, path)) return false;
        s->nplain++;
    }
    return true;
}

static bool watch_patterns(kd_subject *s, const char *patterns)
{
    static const kd_section sections[] = {KD_SECTION_BODY,       KD_SECTION_FRAME,   KD_SECTION_JOINT,
                                          KD_SECTION_CONSTRAINT, KD_SECTION_FORCE,   KD_SECTION_STATE,
                                          KD_SECTION_ALGEBRAIC,  KD_SECTION_INPUT,   KD_SECTION_SENSOR,
                                          KD_SECTION_BLOCK,      KD_SECTION_VARIABLE};
    char                    list[2000];
    const bool              all = strcmp(patterns, "all") == 0;
    kd_text(list, sizeof list, "%s", all ? everything : patterns);
    for (char *rest = list, *pattern; (pattern = kd_cli_next_word(&rest)) != NULL;) {
        int found = 0;
        for (size_t k = 0; k < sizeof sections / sizeof sections[0]; k++)
            for (int i = 0; i < kd_model_count(s->model, sections[k]); i++)
                if (!watch_element(s, pattern, sections[k], i, &found)) return false;
        if (found > 0 || all) continue;
        fprintf(stderr, "kardan: --channels: nothing fits '%s'; 'kardan info MODEL --paths' lists what there is\n",
                pattern);
        return false;
    }
    return true;
}

static void drop_system(kd_subject *s)
{
    kd_state_destroy(s->x);
    kd_system_destroy(s->system);
    s->x = NULL;
    s->system = NULL;
    s->eom = NULL;
}

bool kd_subject_attach(kd_subject *s, const char *name, const kd_user_force_def *def)
{
    drop_system(s);
    kd_status status = kd_model_attach(s->model, name, def);
    return status < 0 ? tell_findings(s, status) : make_system(s, false);
}

// ---- exported -------------------------------------------------------------------------------------------------------

// a file or an example by its word
bool kd_subject_read(kd_subject *s, const kd_subject_request *r, int *exit_status)
{
    *s = (kd_subject){0};
    return kd_subject_is_file(r->word) ? read_model(s, r, exit_status) : open_example(s, r, exit_status);
}

bool kd_subject_open(kd_subject *s, const kd_subject_request *r, int *exit_status)
{
    if (!kd_subject_read(s, r, exit_status)) return false;
    // an example is complete; a model becomes a system
    if (s->example) return true;
    *exit_status = KD_EXIT_USAGE;
    s->in_process = r->in_process;
    s->libraries = r->libraries;
    s->fmu_timeout = r->fmu_timeout;
    if (!choose_coordinates(s, r) || !watch_paths(s, r) || (r->channels && !watch_patterns(s, r->channels)))
        return false;
    *exit_status = KD_EXIT_FAILED;
    return make_system(s, r->unassembled);
}

kd_status kd_subject_probe(const kd_subject *s, const kd_inputs *inputs, kd_probe **probe)
{
    if (!inputs) inputs = kd_subject_inputs(s);
    return s->system ? kd_probe_of_system(s->system, inputs, probe) : kd_probe_create(s->eom, inputs, probe);
}

void kd_subject_close(kd_subject *s)
{
    drop_system(s);
    kd_eom_destroy(s->own);
    kd_model_destroy(s->model);
    kd_free(s->text);
    for (int i = 0; i < s->nwatch; i++) kd_free(s->watch[i]);
    kd_free(s->watch);
    *s = (kd_subject){0};
}

const char *kd_subject_run_place(const kd_subject *s, const char *field, char *text, size_t size)
{
    // fields that were not written have no place
    const kd_source source = s->model ? kd_model_run_source(s->model, field) : (kd_source){0};
    kd_text(text, size, "%s", "");
    if (source.file) kd_text(text, size, "%s:%d:%d: run: ", source.file, source.line, source.column);
    return text;
}

// --set was checked: there is an equals sign
const char *kd_subject_setting(const kd_subject_request *r, int i, const char *front, char *name, size_t size)
{
    const char *word = r->settings.word[i], *equals = strchr(word, '=');
    snprintf(name, size, "%s%.*s", front, (int)(equals - word), word);
    return equals + 1;
}

void kd_subject_tell_settings(const kd_subject_request *r, kd_json *json)
{
    if (r->settings.count == 0) return;
    kd_json_open(json, "set");
    for (int i = 0; i < r->settings.count; i++) {
        char        name[100];
        const char *value = kd_subject_setting(r, i, "", name, sizeof name);
        kd_json_text(json, name, value);
    }
    kd_json_close(json);
}
