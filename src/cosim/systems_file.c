// systems_file.c: files of co-simulations.
//
//     cosimulation: two masses                        # a title
//     systems:
//       left: {model: mass.yaml, set: {k: 10}, run: {rtol: 1e-9}, units: {F: N}}     # units of inputs, to be checked
//       motor: {fmu: motor.fmu, kind: me, set: {gain: 2}, tolerance: 1e-8}           # an FMU; kind: cs, me
//       plant: {process: 40123, inputs: {F: N}, outputs: {x: m, v: m/s}}     # another program that listens there; key, patience
//       spring:                                       # formulas between systems
//         inputs: {x1: m, x2: m}
//         parameters: {k: 100 N/m}
//         outputs: {F: {value: k*(x2 - x1), unit: N}}
//     connections:                                    # input: output, a sensor or a path of the model
//       left.F: spring.F
//       spring.x1: left.joint.slide.q
//       right.F: {from: spring.F, factor: -1}
//     joints:                                         # rigid ones between frames of two models
//       hook: {type: spherical, frames: [car.hook, trailer.eye]}
//     energy: [[left.F, spring.v1]]                   # pairs of inputs: force one way, velocity the other way
//     master: {type: jacobi, degree: 1, step: 1 ms, control: extrapolation, rtol: 1e-4}
//     run: {t_end: 10, intervals: 1000}
// Everything that is wrong is told with its line, then nothing is made.
#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "core/option.h"
#include "core/text.h"
#include "cosim/cosim.h"
#include "cosim/expression_system.h"
#include "cosim/fmu_system.h"
#include "cosim/model_system.h"
#include "cosim/process_system.h"
#include "expr/expr.h"
#include "expr/quantity.h"
#include "modelfile/node_values.h"
#include "modelfile/paths.h"

enum { MOST_PORTS = 200, MOST_OPTIONS = 50 };

typedef struct reader {
    kd_cosim        *cosim;
    kd_file_findings findings;
    kd_document      document;
    const char      *path;
    kd_cosim_folders folders; // of libraries
} reader;

static void say(reader *r, const kd_node *node, const char *what)
{
    kd_node_say(&r->findings, node, what);
}

static const char *copy(reader *r, const char *text)
{
    char *to = kd_arena_cut(&r->cosim->arena, strlen(text) + 1, 1);
    return to ? strcpy(to, text) : "";
}

static const char *word_of(reader *r, const kd_node *map, const char *key)
{
    const kd_node *node = kd_node_find(map, key);
    if (!node) return NULL;
    if (node->type == KD_NODE_SCALAR && node->text[0]) return copy(r, node->text);
    say(r, node, "a word is expected here");
    return NULL;
}

static bool is_scalar(reader *r, const kd_node *node, const char *what)
{
    if (node->type == KD_NODE_SCALAR && node->text[0]) return true;
    say(r, node, what);
    return false;
}

// One of the words of a list; -1 after a finding
static int choice(reader *r, const kd_node *node, const char *what, const char *const *words, int n)
{
    if (!is_scalar(r, node, "a word is expected here")) return -1;
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], node->text) == 0) return i;
    kd_node_say_unknown(&r->findings, node, what, words, n);
    return -1;
}

// ---- models ---------------------------------------------------------------------------------------------------------

static int read_settings(reader *r, const kd_node *node, kd_setting *list)
{
    int n = 0;
    if (!node || !kd_node_is_map(&r->findings, node, NULL, 0)) return 0;
    for (int i = 0; i < node->n; i++) {
        if (n == MOST_OPTIONS) {
            say(r, node, "there are too many of these");
            break;
        }
        if (!is_scalar(r, &node->item[2 * i + 1], "a number or a word is expected here")) continue;
        list[n++] = (kd_setting){copy(r, node->item[2 * i].text), copy(r, node->item[2 * i + 1].text)};
    }
    return n;
}

static void read_run(reader *r, const kd_node *node, kd_system_run *run)
{
    static const char *const KEYS[] = {"integrator", "formulation", "rtol", "atol", "max_step", "options"};
    kd_file_findings        *f = &r->findings;
    kd_integrator_kind       integrator;
    kd_formulation           formulation;
    *run = (kd_system_run){.rtol = NAN, .atol = NAN, .max_step = NAN};
    if (!node || !KD_NODE_IS_MAP(f, node, KEYS)) return;
    run->integrator = word_of(r, node, "integrator");
    run->formulation = word_of(r, node, "formulation");
    kd_node_number_of(f, node, "rtol", "", &run->rtol);
    kd_node_number_of(f, node, "atol", "", &run->atol);
    kd_node_number_of(f, node, "max_step", "s", &run->max_step);
    if (run->integrator && !kd_integrator_parse(run->integrator, &integrator))
        say(r, kd_node_find(node, "integrator"), "there is no such integrator (kardan help methods)");
    if (run->formulation && !kd_formulation_parse(run->formulation, &formulation))
        say(r, kd_node_find(node, "formulation"), "there is no such formulation (kardan help methods)");
    const kd_node        *options = kd_node_find(node, "options");
    kd_simulation_options o = kd_simulation_options_default();
    char                  why[400];
    kd_setting           *list = options ? kd_arena_cut(&r->cosim->arena, MOST_OPTIONS, sizeof *list) : NULL;
    run->option = list;
    if (list) run->noptions = read_settings(r, options, list);
    for (int i = 0; i < run->noptions; i++)
        if (kd_option_set(&o, list[i].name, list[i].value, why, sizeof why) < 0) say(r, options, why);
}

// Units of inputs, as the file tells them
static void read_units(reader *r, const kd_node *node, kd_cosim_system *s)
{
    if (!node || !kd_node_is_map(&r->findings, node, NULL, 0)) return;
    const char *names[MOST_PORTS];
    const int   n = s->ninputs < MOST_PORTS ? s->ninputs : MOST_PORTS;
    for (int i = 0; i < n; i++) names[i] = s->input[i].name;
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        kd_unit        unit;
        char           why[300];
        int            column, k = 0;
        while (k < s->ninputs && strcmp(s->input[k].name, key->text) != 0) k++;
        if (k == s->ninputs) {
            kd_node_say_unknown(&r->findings, key, "the system has no input", names, n);
        } else if (is_scalar(r, value, "a unit is expected here")) {
            if (!kd_unit_parse(value->text, NULL, &unit, &column, why, sizeof why)) say(r, value, why);
            s->input[k].unit = copy(r, value->text);
        }
    }
}

// ---- ends of rigid joints -------------------------------------------------------------------------------------------

static const char AXIS[3][2] = {"x", "y", "z"};
enum { MOST_JOINTS = KD_COSIM_MOST_ROWS / 3 };

// A model whose frames carry ends of joints of the systems file
typedef struct ends {
    reader     *reader;
    const char *system;
} ends;

// "system.frame" of a node: is it of this system? *frame is what stands behind the point
static bool is_end_of(const kd_node *node, const char *system, const char **frame)
{
    const size_t length = strlen(system);
    if (node->type != KD_NODE_SCALAR || strncmp(node->text, system, length) != 0 || node->text[length] != '.')
        return false;
    *frame = node->text + length + 1;
    return true;
}

// Three inputs JOINT-x, JOINT-y, JOINT-z, and the force that they are, at the frame
static kd_status add_end(kd_model *m, const char *joint, const char *frame)
{
    const int i = kd_model_find(m, KD_SECTION_FRAME, frame);
    if (i < 0) return KD_OK; // told when the joint is read
    kd_force_def force = kd_force_def_default(KD_APPLIED);
    char         input[3][120], value[3][130], name[120];
    kd_status    status = KD_OK;
    force.to = kd_model_frame_def(m, i)->at;
    force.applied.in = KD_IN_WORLD;
    for (int k = 0; k < 3 && status >= 0; k++) {
        const kd_input_def def = kd_input_def_default();
        kd_text(input[k], sizeof input[k], "%.100s-%s", joint, AXIS[k]);
        kd_text(value[k], sizeof value[k], "input.%s", input[k]);
        force.applied.force[k] = value[k];
        status = kd_model_add_input(m, input[k], &def);
    }
    kd_text(name, sizeof name, "%.100s-joint", joint);
    return status < 0 ? status : kd_model_add_force(m, name, &force);
}

static kd_status add_ends(kd_model *m, void *context)
{
    const ends    *e = context;
    const kd_node *joints = kd_node_find(e->reader->document.root, "joints");
    kd_status      status = KD_OK;
    if (!joints || joints->type != KD_NODE_MAP) return KD_OK;
    for (int i = 0; i < joints->n && status >= 0; i++) {
        const kd_node *value = &joints->item[2 * i + 1];
        const kd_node *frames = value->type == KD_NODE_MAP ? kd_node_find(value, "frames") : NULL;
        const char    *frame;
        for (int k = 0; frames && frames->type == KD_NODE_LIST && k < frames->n && status >= 0; k++)
            if (is_end_of(&frames->item[k], e->system, &frame)) status = add_end(m, joints->item[2 * i].text, frame);
    }
    return status;
}

static kd_status read_with_ends(reader *r, const char *name, const char *path, const kd_setting *setting, int n,
                                kd_model **model, char *message, size_t size)
{
    ends            e = {r, name};
    kd_model_source source = kd_model_source_default();
    source.path = path, source.settings = setting, source.nsettings = n;
    source.complete = add_ends, source.context = &e;
    source.libraries = r->folders.folder, source.nlibraries = r->folders.n;
    return kd_model_read_by(&source, model, message, size);
}

// A file beside that of the systems, or wherever it says
static void path_of(const reader *r, const kd_node *file, char path[KD_PATH_LENGTH])
{
    char       folder[KD_PATH_LENGTH];
    const bool whole = file->text[0] == '/';
    if (kd_folder_of(r->path, folder) < 0) folder[0] = '\0';
    kd_text(path, KD_PATH_LENGTH, "%s%s%s", whole ? "" : folder, whole ? "" : "/", file->text);
}

static kd_cosim_system *read_model_system(reader *r, const char *name, const kd_node *node)
{
    static const char *const KEYS[] = {"model", "set", "run", "units"};
    const kd_node           *file = kd_node_find(node, "model");
    char                     path[KD_PATH_LENGTH], message[900], why[1000];
    kd_setting               setting[MOST_OPTIONS];
    kd_system_run            run;
    kd_model                *model;
    kd_cosim_system         *system = NULL;
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return NULL;
    const int n = read_settings(r, kd_node_find(node, "set"), setting);
    read_run(r, kd_node_find(node, "run"), &run);
    if (!is_scalar(r, file, "the file of a model is expected here")) return NULL;
    path_of(r, file, path);
    if (read_with_ends(r, name, path, setting, n, &model, message, sizeof message) < 0) {
        kd_text(why, sizeof why, "the model cannot be read: %s", message);
        say(r, file, why);
        return NULL;
    }
    if (kd_model_system_create(name, model, &run, &system, message, sizeof message) < 0) say(r, file, message);
    if (system) read_units(r, kd_node_find(node, "units"), system);
    return system;
}

// ---- FMUs -----------------------------------------------------------------------------------------------------------

static int read_values(reader *r, const kd_node *node, kd_named_number *list)
{
    int n = 0;
    if (!node || !kd_node_is_map(&r->findings, node, NULL, 0)) return 0;
    for (int i = 0; i < node->n; i++) {
        if (n == MOST_OPTIONS) {
            say(r, node, "there are too many of these");
            break;
        }
        if (!kd_node_number(&r->findings, &node->item[2 * i + 1], NULL, &list[n].value)) continue;
        list[n++].name = copy(r, node->item[2 * i].text);
    }
    return n;
}

static kd_cosim_system *read_fmu_system(reader *r, const char *name, const kd_node *node)
{
    static const char *const KEYS[] = {"fmu", "kind", "set", "tolerance", "units"}, *const KINDS[] = {"cs", "me"};
    const kd_node   *file = kd_node_find(node, "fmu"), *word = kd_node_find(node, "kind");
    char             path[KD_PATH_LENGTH], message[900] = "", why[1000];
    kd_named_number  value[MOST_OPTIONS];
    kd_cosim_system *system = NULL;
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return NULL;
    const int  before = r->findings.count;
    const int  kind = word ? choice(r, word, "there is no kind", KINDS, 2) : -1;
    kd_fmu_run run = {
        .path = path, .tolerance = NAN, .exchange = kind == 1, .cosimulation = kind == 0, .parameter = value};
    kd_node_number_of(&r->findings, node, "tolerance", "", &run.tolerance);
    run.nparameters = read_values(r, kd_node_find(node, "set"), value);
    if (!is_scalar(r, file, "the file of an FMU is expected here") || r->findings.count > before) return NULL;
    path_of(r, file, path);
    if (kd_fmu_system_create(name, &run, &system, message, sizeof message) < 0) {
        kd_text(why, sizeof why, "%s", message[0] ? message : "out of memory");
        say(r, file, why);
    }
    if (system) read_units(r, kd_node_find(node, "units"), system);
    return system;
}

// ---- other programs -------------------------------------------------------------------------------------------------

static int read_ports(reader *r, const kd_node *node, kd_port *list);

static kd_cosim_system *read_process_system(reader *r, const char *name, const kd_node *node)
{
    static const char *const KEYS[] = {"process", "inputs", "outputs", "key", "patience"};
    kd_cosim_system         *system = NULL;
    const int                before = r->findings.count;
    double                   port = NAN;
    char                     path[KD_PATH_LENGTH];
    kd_port                  input[MOST_PORTS], output[MOST_PORTS];
    kd_process_run           run = {.patience = 20, .input = input, .output = output};
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return NULL;
    kd_node_number_of(&r->findings, node, "process", "", &port);
    // port and patience, each told where it stands
    kd_node_number_of(&r->findings, node, "patience", "s", &run.patience);
    if (r->findings.count == before && !(port == floor(port) && port >= 1 && port <= 65535))
        say(r, kd_node_find(node, "process"),
            "a port from 1 to 65535 is expected here, at which the other program listens");
    if (!(run.patience > 0)) say(r, kd_node_find(node, "patience"), "a time above 0 is expected here");
    // what goes over the wire, by names of ports
    run.ninputs = read_ports(r, kd_node_find(node, "inputs"), input);
    run.noutputs = read_ports(r, kd_node_find(node, "outputs"), output);
    // the shared key is a file: a secret does not belong into this one
    const kd_node *key = kd_node_find(node, "key");
    if (key && is_scalar(r, key, "the file of a key is expected here")) {
        path_of(r, key, path);
        run.key = copy(r, path);
    }
    if (r->findings.count > before) return NULL;
    run.port = (int)port;
    if (kd_process_system_create(name, &run, &system) < 0) r->cosim->arena.failed = true;
    return system;
}

// ---- formulas -------------------------------------------------------------------------------------------------------

typedef struct formulas {
    kd_port         input[MOST_PORTS], output[MOST_PORTS];
    kd_named_number parameter[MOST_PORTS];
    const char     *formula[MOST_PORTS];
    const kd_node  *place[MOST_PORTS];
    int             ninputs, noutputs, nparameters;
} formulas;

static bool has_room(reader *r, const kd_node *node)
{
    if (node->n <= MOST_PORTS) return true;
    say(r, node, "there are too many of these");
    return false;
}

static void check_name(reader *r, const kd_node *key)
{
    if (kd_expr_is_reserved(key->text) || strcmp(key->text, "t") == 0)
        kd_file_findings_add(&r->findings, key->line, key->column, "'%s' is a word of the language of expressions",
                             key->text);
}

static const char *read_unit(reader *r, const kd_node *node)
{
    kd_unit unit;
    char    why[300];
    int     column;
    if (!node || kd_node_is_null(node)) return "";
    if (!is_scalar(r, node, "a unit is expected here")) return "";
    if (strcmp(node->text, "1") == 0) return "1";
    if (!kd_unit_parse(node->text, NULL, &unit, &column, why, sizeof why)) say(r, node, why);
    return copy(r, node->text);
}

// Names with their units
static int read_ports(reader *r, const kd_node *node, kd_port *list)
{
    if (!node || !kd_node_is_map(&r->findings, node, NULL, 0) || !has_room(r, node)) return 0;
    for (int i = 0; i < node->n; i++)
        list[i] = (kd_port){copy(r, node->item[2 * i].text), read_unit(r, &node->item[2 * i + 1]), 0};
    return node->n;
}

static void read_formulas(reader *r, const kd_node *node, formulas *f)
{
    static const char *const OUTPUT[] = {"value", "unit"};
    const kd_node           *inputs = kd_node_find(node, "inputs"), *outputs = kd_node_find(node, "outputs"),
                  *parameters = kd_node_find(node, "parameters");
    // inputs: name and unit
    if (inputs && kd_node_is_map(&r->findings, inputs, NULL, 0) && has_room(r, inputs))
        for (int i = 0; i < inputs->n; i++) {
            check_name(r, &inputs->item[2 * i]);
            f->input[f->ninputs++] =
                (kd_port){copy(r, inputs->item[2 * i].text), read_unit(r, &inputs->item[2 * i + 1]), 0};
        }
    // parameters: name and number
    if (parameters && kd_node_is_map(&r->findings, parameters, NULL, 0) && has_room(r, parameters))
        for (int i = 0; i < parameters->n; i++) {
            double value = 0;
            check_name(r, &parameters->item[2 * i]);
            (void)kd_node_number(&r->findings, &parameters->item[2 * i + 1], NULL, &value);
            f->parameter[f->nparameters++] = (kd_named_number){copy(r, parameters->item[2 * i].text), value};
        }
    // outputs: an expression, alone or with its unit
    if (!kd_node_is_map(&r->findings, outputs, NULL, 0) || !has_room(r, outputs)) return;
    for (int i = 0; i < outputs->n; i++) {
        const kd_node *value = &outputs->item[2 * i + 1], *law = value;
        const char    *unit = "";
        if (value->type == KD_NODE_MAP) {
            (void)KD_NODE_IS_MAP(&r->findings, value, OUTPUT);
            law = kd_node_find(value, "value");
            unit = read_unit(r, kd_node_find(value, "unit"));
        }
        // an expression that is missing is told where the output stands
        if (!law || law->type != KD_NODE_SCALAR || !law->text[0]) {
            say(r, value, "an expression is expected here: {value: k*x, unit: N}");
            continue;
        }
        f->place[f->noutputs] = law;
        f->formula[f->noutputs] = copy(r, law->text);
        f->output[f->noutputs++] = (kd_port){copy(r, outputs->item[2 * i].text), unit, 0};
    }
}

static kd_cosim_system *read_expression_system(reader *r, const char *name, const kd_node *node)
{
    static const char *const KEYS[] = {"inputs", "outputs", "parameters"};
    kd_cosim_system         *system = NULL;
    kd_formula_fault         fault;
    formulas                *f = kd_alloc(sizeof *f);
    if (!f) {
        r->cosim->arena.failed = true;
        return NULL;
    }
    const int before = r->findings.count;
    // every field is read, so that all mistakes are told at once
    if (KD_NODE_IS_MAP(&r->findings, node, KEYS)) read_formulas(r, node, f);
    if (r->findings.count == before && !r->cosim->arena.failed) {
        // expressions are compiled when the names of all inputs are known
        const kd_status status =
            kd_expression_system_create(name, f->input, f->ninputs, f->output, f->formula, f->noutputs, f->parameter,
                                        f->nparameters, &system, &fault);
        if (status == KD_ERR_MODEL) say(r, f->place[fault.output], fault.text);
        if (status == KD_ERR_MEMORY) r->cosim->arena.failed = true;
    }
    kd_free(f);
    return system;
}

// ---- systems --------------------------------------------------------------------------------------------------------

static void read_systems(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    if (node->n < 1) say(r, node, "systems by their names are expected here");
    // names first: an entry with a wrong one is read all the same
    for (int i = 0; i < node->n; i++) {
        const kd_node   *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        kd_cosim_system *system = NULL;
        if (strchr(key->text, '.')) say(r, key, "names of systems are without points");
        if (c->nsystems == KD_COSIM_MOST_SYSTEMS) {
            say(r, key, "there are too many systems");
            return;
        }
        const char *name = copy(r, key->text);
        // the key that is there tells the kind of system
        if (value->type == KD_NODE_MAP && kd_node_find(value, "model"))
            system = read_model_system(r, name, value);
        else if (value->type == KD_NODE_MAP && kd_node_find(value, "fmu"))
            system = read_fmu_system(r, name, value);
        else if (value->type == KD_NODE_MAP && kd_node_find(value, "process"))
            system = read_process_system(r, name, value);
        else if (value->type == KD_NODE_MAP && kd_node_find(value, "outputs"))
            system = read_expression_system(r, name, value);
        else
            say(r, value,
                "a system has a model (model: FILE), an FMU (fmu: FILE), another program (process: PORT) or formulas "
                "(inputs: .., outputs: ..)");
        if (system) c->system[c->nsystems++] = system;
    }
}

static int find_system(reader *r, const kd_node *node, size_t length)
{
    const kd_cosim *c = r->cosim;
    const char     *names[KD_COSIM_MOST_SYSTEMS], *text = node->text;
    char            word[100];
    for (int i = 0; i < c->nsystems; i++) {
        names[i] = c->system[i]->name;
        if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) return i;
    }
    kd_text(word, sizeof word, "%.*s", (int)(length < 90 ? length : 90), text);
    const char *meant = kd_nearest_word(word, names, c->nsystems);
    kd_file_findings_add(&r->findings, node->line, node->column, "there is no system '%s'%s%s%s", word,
                         meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    return -1;
}

// "system.port" of a node: the system; *port is what stands behind the point
static int split(reader *r, const kd_node *node, const char **port)
{
    if (!is_scalar(r, node, "'system.port' is expected here")) return -1;
    const char *point = strchr(node->text, '.');
    if (!point || !point[1]) {
        say(r, node, "'system.port' is expected here");
        return -1;
    }
    *port = point + 1;
    return find_system(r, node, (size_t)(point - node->text));
}

static const char *nearest_port(const char *word, const kd_port *port, int n)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; i < n; i++) kd_nearest_offer(&nearest, port[i].name);
    return nearest.best;
}

static void say_no_port(reader *r, const kd_node *node, const kd_cosim_system *s, bool input, const char *name)
{
    const char *meant = input ? nearest_port(name, s->input, s->ninputs) : nearest_port(name, s->output, s->noutputs);
    kd_file_findings_add(&r->findings, node->line, node->column, "system '%s' has no %s '%s'%s%s%s", s->name,
                         input ? "input" : "output", name, meant ? "; did you mean '" : "", meant ? meant : "",
                         meant ? "'?" : "");
}

static bool find_input(reader *r, const kd_node *node, int *system, int *input)
{
    const char *name;
    if ((*system = split(r, node, &name)) < 0) return false;
    const kd_cosim_system *s = r->cosim->system[*system];
    for (*input = 0; *input < s->ninputs; (*input)++)
        if (strcmp(s->input[*input].name, name) == 0) return true;
    say_no_port(r, node, s, true, name);
    return false;
}

static bool find_output(reader *r, const kd_node *node, int *system, int *output)
{
    const char *name;
    if ((*system = split(r, node, &name)) < 0) return false;
    kd_cosim_system *s = r->cosim->system[*system];
    *output = -1;
    if (s->class->find_output)
        *output = s->class->find_output(s, name);
    else
        for (int i = 0; i < s->noutputs; i++)
            if (strcmp(s->output[i].name, name) == 0) *output = i;
    if (*output >= 0) return true;
    say_no_port(r, node, s, false, name);
    return false;
}

// ---- connections ----------------------------------------------------------------------------------------------------

// The factor between the units of both ends, where both are known; false: they do not fit
static bool match_units(const char *from, const char *to, double *factor)
{
    kd_unit a, b;
    char    why[300];
    int     column;
    *factor = 1;
    if (!from[0] || !to[0] || strcmp(from, to) == 0) return true;
    const bool plain_a = strcmp(from, "1") == 0, plain_b = strcmp(to, "1") == 0;
    if (plain_a || plain_b) return plain_a == plain_b;
    if (!kd_unit_parse(from, NULL, &a, &column, why, sizeof why)) return true;
    if (!kd_unit_parse(to, NULL, &b, &column, why, sizeof why)) return true;
    if (memcmp(a.dimension, b.dimension, sizeof a.dimension) != 0) return false;
    *factor = a.factor / b.factor * pow(10, a.decimal - b.decimal);
    return true;
}

static void read_connection(reader *r, const kd_node *key, const kd_node *value)
{
    static const char *const KEYS[] = {"from", "factor"};
    kd_cosim                *c = r->cosim;
    kd_connection            l = {.factor = 1};
    double                   factor = 1, units;
    const kd_node           *from = value;
    // short form: the output alone; long form with a factor
    if (value->type == KD_NODE_MAP) {
        (void)KD_NODE_IS_MAP(&r->findings, value, KEYS);
        kd_node_number_of(&r->findings, value, "factor", "", &factor);
        from = kd_node_find(value, "from");
        if (!from) {
            say(r, value, "a connection tells from which output: {from: system.output, factor: 2}");
            return;
        }
    }
    // both ends must be there before their units can be compared
    const bool input = find_input(r, key, &l.to, &l.input), output = find_output(r, from, &l.from, &l.output);
    if (!input || !output) return;
    kd_cosim_system *a = c->system[l.from], *b = c->system[l.to];
    // a factor between units of one dimension belongs to the connection
    if (!match_units(a->output[l.output].unit, b->input[l.input].unit, &units)) {
        kd_file_findings_add(&r->findings, from->line, from->column, "the output is in %s, the input '%s' in %s",
                             a->output[l.output].unit, key->text, b->input[l.input].unit);
        return;
    }
    // an input that tells no unit takes that of its output
    if (!b->input[l.input].unit[0]) b->input[l.input].unit = a->output[l.output].unit;
    l.factor = factor * units;
    // a model frees the input from its own value
    if (b->class->drive) b->class->drive(b, l.input);
    c->connection[c->nconnections++] = l;
}

static void read_connections(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    if (node->n > KD_COSIM_MOST_CONNECTIONS) {
        say(r, node, "there are too many connections");
        return;
    }
    c->connection = kd_arena_cut(&c->arena, (size_t)node->n + 1, sizeof *c->connection);
    for (int i = 0; c->connection && i < node->n; i++) read_connection(r, &node->item[2 * i], &node->item[2 * i + 1]);
}

static int connection_of(reader *r, const kd_node *node)
{
    int system, input;
    if (!find_input(r, node, &system, &input)) return -1;
    for (int k = 0; k < r->cosim->nconnections; k++)
        if (r->cosim->connection[k].to == system && r->cosim->connection[k].input == input) return k;
    say(r, node, "nothing is connected with this input");
    return -1;
}

static void read_energy(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    // a list of pairs
    if (node->type != KD_NODE_LIST) {
        say(r, node, "a list of pairs of inputs is expected here: [[a.force, b.velocity]]");
        return;
    }
    for (int i = 0; i < node->n; i++) {
        const kd_node *pair = &node->item[i];
        if (pair->type != KD_NODE_LIST || pair->n != 2 || c->nbonds == KD_COSIM_MOST_BONDS) {
            say(r, pair,
                c->nbonds == KD_COSIM_MOST_BONDS ? "there are too many pairs" : "two inputs are expected here");
            return;
        }
        const kd_bond bond = {connection_of(r, &pair->item[0]), connection_of(r, &pair->item[1])};
        if (bond.effort < 0 || bond.flow < 0) continue;
        // each system of a pair must be told by the other: only then effort times flow is a power between the two
        const kd_connection *e = &c->connection[bond.effort], *f = &c->connection[bond.flow];
        if (e->from != f->to || e->to != f->from)
            say(r, pair, "the two inputs of a pair belong to two systems, each of which is told by the other");
        c->bond[c->nbonds++] = bond;
    }
}

// ---- rigid joints ---------------------------------------------------------------------------------------------------

static bool read_end(reader *r, const char *joint, const kd_node *node, int side, kd_cosim_row *rows)
{
    static const char *const LEVEL[3] = {"pos", "vel", "acc"};
    const char              *frame;
    char                     name[300];
    // the system and the frame in it
    const int system = split(r, node, &frame);
    if (system < 0) return false;
    kd_cosim_system *s = r->cosim->system[system];
    // for each axis: three levels that are read, and one force that acts on the frame
    for (int k = 0; k < 3; k++) {
        rows[k].system[side] = system;
        for (int l = 0; l < 3; l++) {
            kd_text(name, sizeof name, "frame.%.100s.%s.%s", frame, LEVEL[l], AXIS[k]);
            rows[k].output[side][l] = s->class->find_output ? s->class->find_output(s, name) : -1;
        }
        kd_text(name, sizeof name, "%.100s-%s", joint, AXIS[k]);
        rows[k].force[side] = -1;
        for (int i = 0; i < s->ninputs; i++)
            if (strcmp(s->input[i].name, name) == 0) rows[k].force[side] = i;
        if (rows[k].output[side][2] < 0 || rows[k].force[side] < 0) {
            kd_file_findings_add(&r->findings, node->line, node->column, "system '%s' is no model with a frame '%s'",
                                 s->name, frame);
            return false;
        }
        // the force is driven from outside from now on
        if (s->class->drive) s->class->drive(s, rows[k].force[side]);
    }
    return true;
}

static void read_joints(reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"type", "frames"}, *const TYPES[] = {"spherical"};
    kd_cosim *c = r->cosim;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        if (!KD_NODE_IS_MAP(&r->findings, value, KEYS)) continue;
        // what a joint needs: its type, and two frames in different systems
        const kd_node *type = kd_node_find(value, "type"), *frames = kd_node_find(value, "frames");
        if (type) (void)choice(r, type, "between systems there is no joint", TYPES, 1);
        if (!frames || frames->type != KD_NODE_LIST || frames->n != 2 || c->nrows_joined == 3 * MOST_JOINTS) {
            say(r, value,
                c->nrows_joined == 3 * MOST_JOINTS ? "there are too many joints"
                                                   : "two frames are expected here: frames: [car.hook, trailer.eye]");
            continue;
        }
        // three rows, one for each axis, with both ends
        kd_cosim_row *rows = c->row + c->nrows_joined;
        if (!read_end(r, key->text, &frames->item[0], 0, rows) || !read_end(r, key->text, &frames->item[1], 1, rows))
            continue;
        if (rows->system[0] == rows->system[1]) say(r, frames, "a joint between systems has two of them");
        c->nrows_joined += 3;
    }
}

// ---- master and run -------------------------------------------------------------------------------------------------

static void read_order(reader *r, const kd_node *node)
{
    kd_cosim *c = r->cosim;
    bool      seen[KD_COSIM_MOST_SYSTEMS] = {false};
    // all systems, each once
    if (node->type != KD_NODE_LIST || node->n != c->nsystems) {
        say(r, node, "the names of all systems are expected here, in the order in which they are to run");
        return;
    }
    // each by its name; twice is told
    for (int i = 0; i < node->n; i++) {
        const kd_node *item = &node->item[i];
        if (!is_scalar(r, item, "the name of a system is expected here")) return;
        const int s = find_system(r, item, strlen(item->text));
        if (s < 0) return;
        if (seen[s]) say(r, item, "this system is there already");
        seen[s] = true, c->order[i] = s;
    }
    c->order_given = true;
}

// kinds by words, with the nearest word where one is wrong
static void read_master(reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"type",    "degree",         "outputs",     "order",    "control",
                                       "step",    "rtol",           "atol",        "min_step", "max_step",
                                       "threads", "max_iterations", "convergence", "index",    "precondition"};
    static const char *const OUTPUTS[] = {"fresh", "held"}, *const PRECONDITION[] = {"auto", "no", "yes"};
    kd_file_findings *f = &r->findings;
    kd_cosim_options *o = &r->cosim->opt;
    const kd_node    *at;
    const char       *words[KD_COSIM_MASTER_COUNT + KD_COSIM_CONTROL_COUNT];
    if (!KD_NODE_IS_MAP(f, node, KEYS)) return;
    for (int i = 0; i < KD_COSIM_MASTER_COUNT; i++) words[i] = kd_cosim_master_word((kd_cosim_master)i);
    if ((at = kd_node_find(node, "type"))) {
        const int i = choice(r, at, "there is no master", words, KD_COSIM_MASTER_COUNT);
        if (i >= 0) o->master = (kd_cosim_master)i;
    }
    for (int i = 0; i < KD_COSIM_CONTROL_COUNT; i++) words[i] = kd_cosim_control_word((kd_cosim_control)i);
    if ((at = kd_node_find(node, "control"))) {
        const int i = choice(r, at, "there is no control of the macro step", words, KD_COSIM_CONTROL_COUNT);
        if (i >= 0) o->control = (kd_cosim_control)i;
    }
    // how outputs are taken, and how many threads take them
    if ((at = kd_node_find(node, "outputs")))
        o->held = choice(r, at, "outputs are fresh or held, not", OUTPUTS, 2) == 1;
    if ((at = kd_node_find(node, "degree"))) (void)kd_node_count(f, at, 0, 2, &o->degree);
    if ((at = kd_node_find(node, "threads"))) (void)kd_node_count(f, at, 0, KD_COSIM_MOST_SYSTEMS, &o->threads);
    if ((at = kd_node_find(node, "max_iterations"))) (void)kd_node_count(f, at, 1, 1000, &o->max_iterations);
    if ((at = kd_node_find(node, "order"))) read_order(r, at);
    if ((at = kd_node_find(node, "index"))) (void)kd_node_count(f, at, 1, 2, &r->cosim->joint_index);
    if ((at = kd_node_find(node, "precondition")))
        r->cosim->precondition = choice(r, at, "precondition is auto, no or yes, not", PRECONDITION, 3) - 1;
    // lengths of steps in seconds, tolerances without units
    kd_node_number_of(f, node, "step", "s", &o->step);
    kd_node_number_of(f, node, "min_step", "s", &o->min_step);
    kd_node_number_of(f, node, "max_step", "s", &o->max_step);
    kd_node_number_of(f, node, "rtol", "", &o->rtol);
    kd_node_number_of(f, node, "atol", "", &o->atol);
    kd_node_number_of(f, node, "convergence", "", &o->convergence);
}

static void read_cosim_run(reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"t_end", "intervals"};
    const kd_node           *at;
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    kd_node_number_of(&r->findings, node, "t_end", "s", &r->cosim->opt.t_end);
    if ((at = kd_node_find(node, "intervals")))
        (void)kd_node_count(&r->findings, at, 0, 1000000, &r->cosim->opt.intervals);
}

static void read_root(reader *r, const kd_node *root)
{
    static const char *const KEYS[] = {"cosimulation", "systems", "connections", "joints", "energy", "master", "run"};
    static void (*const READ[])(reader *, const kd_node *) = {NULL,        read_systems, read_connections, read_joints,
                                                              read_energy, read_master,  read_cosim_run};
    if (!KD_NODE_IS_MAP(&r->findings, root, KEYS)) return;
    const char *title = word_of(r, root, "cosimulation");
    r->cosim->title = title ? title : "co-simulation";
    if (!kd_node_find(root, "systems")) say(r, root, "a file of a co-simulation has systems");
    for (int i = 1; i < (int)(sizeof KEYS / sizeof KEYS[0]); i++) {
        const kd_node *node = kd_node_find(root, KEYS[i]);
        // names are known when all systems are
        if (node && (i == 1 || r->findings.count == 0 || i >= 5)) READ[i](r, node);
    }
    char why[300];
    if (r->findings.count == 0 && kd_cosim_set_options(r->cosim, &r->cosim->opt, why, sizeof why) < 0) {
        const kd_node *master = kd_node_find(root, "master");
        say(r, master ? master : root, why);
    }
}

kd_status kd_cosim_of_text(const char *path, const char *text, size_t length, kd_cosim_folders folders,
                           kd_cosim **cosim, char *message, size_t size)
{
    reader   *r = kd_alloc(sizeof *r);
    kd_cosim *c = kd_alloc(sizeof *c);
    kd_status status = r && c ? KD_OK : KD_ERR_MEMORY;
    // the reader collects mistakes and goes on; the file is refused with all of them
    if (status >= 0) {
        c->opt = kd_cosim_options_default();
        c->joint_index = 2, c->precondition = -1;
        r->cosim = c, r->path = path, r->findings.file = path, r->folders = folders;
        c->title = "", c->path = copy(r, path);
        status = kd_document_read(text, length, &r->document, &r->findings);
        if (status >= 0) read_root(r, r->document.root);
        if (c->arena.failed) status = KD_ERR_MEMORY; // what was found wrong then may be that
        if (status >= 0 && r->findings.count > 0) status = KD_ERR_MODEL;
        kd_file_findings_write(&r->findings, message, size);
        kd_document_release(&r->document);
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    kd_free(r);
    // what has been made so far goes
    if (status < 0)
        kd_cosim_destroy(c);
    else
        *cosim = c;
    return status;
}
