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

#include "core/option.h"
#include "core/text.h"
#include "cosim/cosim.h"
#include "cosim/expression_system.h"
#include "cosim/fmu_system.h"
#include "cosim/model_system.h"
#include "cosim/process_system.h"
#include "cosim/systems_file.h"
#include "expr/expr.h"
#include "expr/quantity.h"
#include "modelfile/node_values.h"
#include "modelfile/paths.h"

enum { MOST_PORTS = 200, MOST_OPTIONS = 50 };

typedef kd_cosim_reader reader;

void kd_cosim_say(reader *r, const kd_node *node, const char *what)
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
    kd_cosim_say(r, node, "a word is expected here");
    return NULL;
}

bool kd_cosim_is_scalar(reader *r, const kd_node *node, const char *what)
{
    if (node->type == KD_NODE_SCALAR && node->text[0]) return true;
    kd_cosim_say(r, node, what);
    return false;
}

// One of the words of a list; -1 after a finding
int kd_cosim_choice(reader *r, const kd_node *node, const char *what, const char *const *words, int n)
{
    if (!kd_cosim_is_scalar(r, node, "a word is expected here")) return -1;
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
            kd_cosim_say(r, node, "there are too many of these");
            break;
        }
        if (!kd_cosim_is_scalar(r, &node->item[2 * i + 1], "a number or a word is expected here")) continue;
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
        kd_cosim_say(r, kd_node_find(node, "integrator"), "there is no such integrator (kardan help methods)");
    if (run->formulation && !kd_formulation_parse(run->formulation, &formulation))
        kd_cosim_say(r, kd_node_find(node, "formulation"), "there is no such formulation (kardan help methods)");
    const kd_node        *options = kd_node_find(node, "options");
    kd_simulation_options o = kd_simulation_options_default();
    char                  why[400];
    kd_setting           *list = options ? kd_arena_cut(&r->cosim->arena, MOST_OPTIONS, sizeof *list) : NULL;
    run->option = list;
    if (list) run->noptions = read_settings(r, options, list);
    for (int i = 0; i < run->noptions; i++)
        if (kd_option_set(&o, list[i].name, list[i].value, why, sizeof why) < 0) kd_cosim_say(r, options, why);
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
        } else if (kd_cosim_is_scalar(r, value, "a unit is expected here")) {
            if (!kd_unit_parse(value->text, NULL, &unit, &column, why, sizeof why)) kd_cosim_say(r, value, why);
            s->input[k].unit = copy(r, value->text);
        }
    }
}

// ---- ends of rigid joints -------------------------------------------------------------------------------------------

static const char AXIS[3][2] = {"x", "y", "z"};

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
    if (!kd_cosim_is_scalar(r, file, "the file of a model is expected here")) return NULL;
    path_of(r, file, path);
    if (read_with_ends(r, name, path, setting, n, &model, message, sizeof message) < 0) {
        kd_text(why, sizeof why, "the model cannot be read: %s", message);
        kd_cosim_say(r, file, why);
        return NULL;
    }
    if (kd_model_system_create(name, model, &run, &system, message, sizeof message) < 0) kd_cosim_say(r, file, message);
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
            kd_cosim_say(r, node, "there are too many of these");
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
    const int  kind = word ? kd_cosim_choice(r, word, "there is no kind", KINDS, 2) : -1;
    kd_fmu_run run = {
        .path = path, .tolerance = NAN, .exchange = kind == 1, .cosimulation = kind == 0, .parameter = value};
    kd_node_number_of(&r->findings, node, "tolerance", "", &run.tolerance);
    run.nparameters = read_values(r, kd_node_find(node, "set"), value);
    if (!kd_cosim_is_scalar(r, file, "the file of an FMU is expected here") || r->findings.count > before) return NULL;
    path_of(r, file, path);
    if (kd_fmu_system_create(name, &run, &system, message, sizeof message) < 0) {
        kd_text(why, sizeof why, "%s", message[0] ? message : "out of memory");
        kd_cosim_say(r, file, why);
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
        kd_cosim_say(r, kd_node_find(node, "process"),
                     "a port from 1 to 65535 is expected here, at which the other program listens");
    if (!(run.patience > 0)) kd_cosim_say(r, kd_node_find(node, "patience"), "a time above 0 is expected here");
    // what goes over the wire, by names of ports
    run.ninputs = read_ports(r, kd_node_find(node, "inputs"), input);
    run.noutputs = read_ports(r, kd_node_find(node, "outputs"), output);
    // the shared key is a file: a secret does not belong into this one
    const kd_node *key = kd_node_find(node, "key");
    if (key && kd_cosim_is_scalar(r, key, "the file of a key is expected here")) {
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
    kd_cosim_say(r, node, "there are too many of these");
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
    if (!kd_cosim_is_scalar(r, node, "a unit is expected here")) return "";
    if (strcmp(node->text, "1") == 0) return "1";
    if (!kd_unit_parse(node->text, NULL, &unit, &column, why, sizeof why)) kd_cosim_say(r, node, why);
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
            kd_cosim_say(r, value, "an expression is expected here: {value: k*x, unit: N}");
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
        if (status == KD_ERR_MODEL) kd_cosim_say(r, f->place[fault.output], fault.text);
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
    if (node->n < 1) kd_cosim_say(r, node, "systems by their names are expected here");
    // names first: an entry with a wrong one is read all the same
    for (int i = 0; i < node->n; i++) {
        const kd_node   *key = &node->item[2 * i], *value = &node->item[2 * i + 1];
        kd_cosim_system *system = NULL;
        if (strchr(key->text, '.')) kd_cosim_say(r, key, "names of systems are without points");
        if (c->nsystems == KD_COSIM_MOST_SYSTEMS) {
            kd_cosim_say(r, key, "there are too many systems");
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
            kd_cosim_say(
                r, value,
                "a system has a model (model: FILE), an FMU (fmu: FILE), another program (process: PORT) or formulas "
                "(inputs: .., outputs: ..)");
        if (system) c->system[c->nsystems++] = system;
    }
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
    static void (*const READ[])(reader *, const kd_node *) = {NULL,
                                                              read_systems,
                                                              kd_cosim_read_connections,
                                                              kd_cosim_read_joints,
                                                              kd_cosim_read_energy,
                                                              kd_cosim_read_master,
                                                              read_cosim_run};
    if (!KD_NODE_IS_MAP(&r->findings, root, KEYS)) return;
    const char *title = word_of(r, root, "cosimulation");
    r->cosim->title = title ? title : "co-simulation";
    if (!kd_node_find(root, "systems")) kd_cosim_say(r, root, "a file of a co-simulation has systems");
    for (int i = 1; i < (int)(sizeof KEYS / sizeof KEYS[0]); i++) {
        const kd_node *node = kd_node_find(root, KEYS[i]);
        // names are known when all systems are
        if (node && (i == 1 || r->findings.count == 0 || i >= 5)) READ[i](r, node);
    }
    char why[300];
    if (r->findings.count == 0 && kd_cosim_set_options(r->cosim, &r->cosim->opt, why, sizeof why) < 0) {
        const kd_node *master = kd_node_find(root, "master");
        kd_cosim_say(r, master ? master : root, why);
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
