// info.c: kardan info: sizes, elements, channels and paths of a model, in lines or as JSON.
#include <math.h>
#include <string.h>

#include "cli/method.h"
#include "model/model.h"
#include "results/recording.h"

// one question
typedef struct inquiry {
    kd_subject_request request;
    kd_subject         subject;
    kd_probe          *probe;
    kd_recording      *recording; // for its names
    bool               json, elements, channels, paths;
} inquiry;

static kd_cli_parsed read_arguments(inquiry *q, int argc, char **argv)
{
    kd_cli_option options[4 + KD_SUBJECT_OPTIONS] = {
        {"--elements", NULL, "list the elements only", KD_CLI_FLAG, &q->elements},
        {"--channels", NULL, "list the channels of the results only", KD_CLI_FLAG, &q->channels},
        {"--paths", NULL, "list what sensors, laws and --plots can read only", KD_CLI_FLAG, &q->paths},
        {"--json", NULL, "print sizes, elements and channels (with --paths also paths) as one JSON object", KD_CLI_FLAG,
         &q->json},
    };
    int                      count = 4 + kd_subject_options(&q->request, options + 4);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan info MODEL [OPTION...]",
             .about =
                 "Show what MODEL, a file (.yaml, .urdf) or an example, consists of: sizes of its equations, its elements, "
                      "and the\n"
                      "channels that its results have, with their units. Expressions and --plots read further quantities by\n"
                      "path: body.NAME.pos.x, joint.NAME.force.z, force.NAME.length, ... (--paths).",
             .details = "Examples:\n"
                             "  kardan info models/slider-crank.yaml\n"
                             "  kardan info robot.urdf --channels\n"
                             "  kardan info andrews --json\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &q->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

// a number of the equations with its name
typedef struct size_entry {
    const char *key, *label;
    int         count;
} size_entry;

enum { SIZES = 14 };

// in the order of kd_dims
static void list_sizes(const inquiry *q, size_entry list[SIZES])
{
    kd_dims          d = kd_eom_dims(q->subject.eom);
    const size_entry all[SIZES] = {
        {"np", "positions p", d.np},
        {"nv", "velocities v", d.nv},
        {"nr", "inner states r", d.nr},
        {"nw", "auxiliary variables w", d.nw},
        {"ns", "contact coordinates s", d.ns},
        {"nlambda", "holonomic constraints", d.nlambda},
        {"nmu", "nonholonomic constraints", d.nmu},
        {"nq", "norm equations", d.nq},
        {"ne", "invariants", d.ne},
        {"nz", "discrete states z", d.nz},
        {"nswitch", "switching functions", d.nswitch},
        {"nu", "inputs u", d.nu},
        {"ny", "outputs y", d.ny},
        {"ntheta", "parameters", d.ntheta},
    };
    memcpy(list, all, sizeof all);
}

// zeros are left out, but for p and v
static void tell_sizes(const inquiry *q)
{
    const kd_subject *s = &q->subject;
    size_entry        list[SIZES];
    list_sizes(q, list);
    printf("%s: %s\n", s->name, s->title);
    if (s->about) printf("%s\n", s->about);
    printf("\nSizes%s%s%s\n", s->model ? " in " : "", s->model ? kd_method_coordinates(s) : "",
           s->model ? " coordinates" : "");
    for (int i = 0; i < SIZES; i++)
        if (list[i].count > 0 || i < 2) printf("  %-26s %6d\n", list[i].label, list[i].count);
    if (!s->model) return;
    printf("  %-26s %6d\n", "degrees of freedom", s->info.dof);
    printf("  %-26s %6d\n", "loops", s->info.nloops);
    printf("  %-26s %6d\n", "redundant constraints", s->info.nredundant);
}

// ---- elements -------------------------------------------------------------------------------------------------------

// Sections in the order of the list, and their keys
static const struct {
    kd_section  section;
    const char *key;
} listed[] = {
    {KD_SECTION_PARAMETER, "parameters"},   {KD_SECTION_BODY, "bodies"},
    {KD_SECTION_FRAME, "frames"},           {KD_SECTION_JOINT, "joints"},
    {KD_SECTION_CONSTRAINT, "constraints"}, {KD_SECTION_FORCE, "forces"},
    {KD_SECTION_USER_FORCE, "user_forces"}, {KD_SECTION_STATE, "states"},
    {KD_SECTION_ALGEBRAIC, "algebraic"},    {KD_SECTION_BLOCK, "blocks"},
    {KD_SECTION_VARIABLE, "variables"},     {KD_SECTION_EVENT, "events"},
    {KD_SECTION_INPUT, "inputs"},           {KD_SECTION_CURVE, "curves"},
    {KD_SECTION_TRACK, "tracks"},           {KD_SECTION_SENSOR, "sensors"},
    {KD_SECTION_SUBSYSTEM, "subsystems"},
};
enum { LISTED = sizeof listed / sizeof listed[0] };

// the ground is no element
static const char *body_name(const kd_model *m, int body)
{
    return body == KD_GROUND ? "ground" : kd_model_name(m, KD_SECTION_BODY, body);
}

// "q [rad], "
static void append_coordinates(const kd_model *m, int joint, char *text, size_t size)
{
    for (int i = 0; i < kd_model_coordinates(m, joint); i++) {
        const kd_coordinate_info c = kd_model_coordinate(m, joint, i);
        const size_t             used = strlen(text);
        snprintf(text + used, size - used, ", %s [%s]", c.name, c.unit);
    }
}

// What stands behind the name: mass and carrier of a body, kind, bodies and coordinates of a joint, values, expressions
static void describe(const inquiry *q, kd_section section, int i, char *text, size_t size)
{
    const kd_model       *m = q->subject.model;
    const kd_element_info e = kd_model_about(m, section, i);
    const char           *unit = e.unit[0] ? e.unit : "";
    text[0] = '\0';
    if (section == KD_SECTION_SUBSYSTEM) {
        snprintf(text, size, "of %s%s", e.text, m->subsystem[i].mirrored ? ", mirrored" : "");
    } else if (section == KD_SECTION_BODY) {
        // the tree says which joint carries it, also in Cartesian coordinates
        const kd_carrier c = kd_system_carrier(q->subject.system, i);
        snprintf(text, size, "%.9g kg, %s%s", kd_model_body_def(m, i)->mass, c.joint < 0 ? "floats" : "on ",
                 kd_model_name(m, KD_SECTION_JOINT, c.joint));
    } else if (section == KD_SECTION_BLOCK) {
        snprintf(text, size, "%s, every %.9g s", e.kind, kd_model_block_def(m, i)->period);
    } else if (section == KD_SECTION_PARAMETER) {
        snprintf(text, size, e.text ? "%.9g = %s" : "%.9g", e.value, e.text);
        // the first that applies: in a joint, between bodies, on one, by an expression, by a number, by its kind
    } else if (e.joint >= 0) {
        snprintf(text, size, "%s in %s", e.kind, kd_model_name(m, KD_SECTION_JOINT, e.joint));
    } else if (e.from != KD_NO_BODY) {
        snprintf(text, size, "%s, %s to %s", e.kind, body_name(m, e.from), body_name(m, e.to));
        if (section == KD_SECTION_JOINT) append_coordinates(m, i, text, size);
    } else if (e.to != KD_NO_BODY) {
        snprintf(text, size, "%s%son %s", e.kind, e.kind[0] ? ", " : "", body_name(m, e.to));
    } else if (e.text) {
        snprintf(text, size, "%s%s%s%s%s%s", e.kind, e.kind[0] ? " of " : "", e.text, unit[0] ? " [" : "", unit,
                 unit[0] ? "]" : "");
    } else if (!isnan(e.value)) {
        snprintf(text, size, "%.9g", e.value);
    } else {
        snprintf(text, size, "%s", e.kind);
    }
}

// one line each, sections in the order of the list
static void tell_elements(const inquiry *q)
{
    char text[400];
    printf("Elements\n");
    for (int k = 0; k < LISTED; k++) {
        const kd_section section = listed[k].section;
        for (int i = 0; i < kd_model_count(q->subject.model, section); i++) {
            describe(q, section, i, text, sizeof text);
            printf("  %-12s %-28s %s\n", kd_section_word(section), kd_model_name(q->subject.model, section, i), text);
        }
    }
}

// ---- channels and paths ---------------------------------------------------------------------------------------------

// t is no column of its own in a recording
static void tell_channels(const inquiry *q)
{
    const kd_recording *rec = q->recording;
    printf("Channels\n  %-50s s\n", "t");
    for (int j = 0; j < kd_recording_columns(rec); j++)
        printf("  %-50s %s\n", kd_recording_name(rec, j), kd_recording_unit(rec, j));
}

// Call tell for all paths of the model, with their units
static void for_paths(const kd_model *m, void (*tell)(const char *path, const char *unit, void *context), void *context)
{
    char path[600];
    // sections that paths begin with; energy has no elements
    for (int section = 0; section <= KD_SECTION_ENERGY; section++) {
        const int n = section == KD_SECTION_ENERGY ? 1 : kd_model_count(m, (kd_section)section);
        for (int i = 0; i < n; i++)
            for (int k = 0; kd_model_path(m, (kd_section)section, i, k, path, sizeof path) > 0; k++) {
                kd_path_info info;
                if (kd_model_path_about(m, path, &info, NULL, 0) >= 0) tell(path, info.unit, context);
            }
    }
}

static void print_path(const char *path, const char *unit, void *context)
{
    (void)context;
    printf("  %-50s %s\n", path, unit);
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

// a list of objects with name and unit
static void put_named(const char *name, const char *unit, void *context)
{
    kd_json *json = context;
    kd_json_open(json, NULL);
    kd_json_text(json, "name", name);
    kd_json_text(json, "unit", unit);
    kd_json_close(json);
}

// what a drawing or another program needs of a body
static void put_body(const inquiry *q, int i, kd_json *json)
{
    const kd_model    *m = q->subject.model;
    const kd_body_def *def = kd_model_body_def(m, i);
    const kd_carrier   carrier = kd_system_carrier(q->subject.system, i);
    // where it hangs, and what moves with it
    kd_json_text(json, "parent", body_name(m, carrier.parent));
    if (carrier.joint >= 0) kd_json_text(json, "joint", kd_model_name(m, KD_SECTION_JOINT, carrier.joint));
    kd_json_number(json, "mass", def->mass);
    kd_json_numbers(json, "centre", def->centre, 3);
    // where it is in the model
    kd_json_numbers(json, "inertia", def->inertia, 6);
    kd_json_numbers(json, "position", def->position, 3);
    kd_json_numbers(json, "orientation", def->orientation, 4);
    // what is drawn of it
    kd_json_list(json, "shapes");
    for (int k = 0; k < def->nshapes; k++) {
        const kd_shape *shape = &def->shape[k];
        kd_json_open(json, NULL);
        kd_json_text(json, "kind", kd_shape_word(shape->kind));
        kd_json_numbers(json, "size", shape->size, 3);
        kd_json_numbers(json, "position", shape->position, 3);
        kd_json_numbers(json, "orientation", shape->orientation, 4);
        kd_json_close(json);
    }
    kd_json_list_close(json);
}

// Coordinates of a joint and their rates, and whether it also turns by a quaternion
static void put_coordinates(const kd_model *m, int joint, kd_json *json)
{
    kd_json_list(json, "coordinates");
    for (int i = 0; i < kd_model_coordinates(m, joint); i++) {
        const kd_coordinate_info c = kd_model_coordinate(m, joint, i);
        kd_json_open(json, NULL);
        kd_json_text(json, "name", c.name);
        kd_json_text(json, "unit", c.unit);
        kd_json_text(json, "rate", c.rate);
        kd_json_text(json, "rate_unit", c.rate_unit);
        if (c.motion) kd_json_text(json, "motion", c.motion);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_bool(json, "quaternion", kd_model_has_ball(m, joint));
}

// members that the element does not have are left out
static void put_element(const inquiry *q, kd_section section, int i, kd_json *json)
{
    const kd_model       *m = q->subject.model;
    const kd_element_info e = kd_model_about(m, section, i);
    kd_json_open(json, NULL);
    kd_json_text(json, "name", e.name);
    if (e.kind[0]) kd_json_text(json, "kind", e.kind);
    if (e.unit[0]) kd_json_text(json, "unit", e.unit);
    if (e.text) kd_json_text(json, section == KD_SECTION_SUBSYSTEM ? "of" : "expression", e.text);
    if (section == KD_SECTION_SUBSYSTEM) kd_json_bool(json, "mirrored", m->subsystem[i].mirrored);
    if (!isnan(e.value)) kd_json_number(json, "value", e.value);
    if (e.from != KD_NO_BODY) kd_json_text(json, "from", body_name(m, e.from));
    if (e.to != KD_NO_BODY) kd_json_text(json, section == KD_SECTION_FRAME ? "body" : "to", body_name(m, e.to));
    if (e.joint >= 0) kd_json_text(json, "joint", kd_model_name(m, KD_SECTION_JOINT, e.joint));
    if (section == KD_SECTION_BODY) put_body(q, i, json);
    if (section == KD_SECTION_JOINT) put_coordinates(m, i, json);
    if (e.file && e.line > 0) kd_json_count(json, "line", e.line);
    kd_json_close(json);
}

// sizes of the mechanism, then all elements
static void put_model(const inquiry *q, kd_json *json)
{
    const kd_subject *s = &q->subject;
    kd_json_text(json, "coordinates", kd_method_coordinates(s));
    kd_json_count(json, "bodies", s->info.nbodies);
    kd_json_count(json, "joints", s->info.njoints);
    kd_json_count(json, "loops", s->info.nloops);
    kd_json_count(json, "dof", s->info.dof);
    kd_json_count(json, "redundant", s->info.nredundant);
    kd_json_count(json, "singular", s->info.nsingular);
    kd_json_count(json, "warnings", kd_model_warning_count(s->model));
    kd_json_open(json, "elements");
    for (int k = 0; k < LISTED; k++) {
        kd_json_list(json, listed[k].key);
        for (int i = 0; i < kd_model_count(s->model, listed[k].section); i++)
            put_element(q, listed[k].section, i, json);
        kd_json_list_close(json);
    }
    kd_json_close(json);
}

// the whole as one object
static void tell_json(const inquiry *q)
{
    const kd_subject *s = &q->subject;
    kd_json           json = {.file = stdout};
    size_entry        list[SIZES];
    list_sizes(q, list);
    // which model, how large
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", q->request.word);
    kd_json_text(&json, "title", s->title);
    for (int i = 0; i < SIZES; i++) kd_json_count(&json, list[i].key, list[i].count);
    if (s->model) put_model(q, &json);
    // all that a run would record
    kd_json_list(&json, "channels");
    for (int j = 0; j < kd_recording_columns(q->recording); j++)
        put_named(kd_recording_name(q->recording, j), kd_recording_unit(q->recording, j), &json);
    kd_json_list_close(&json);
    // all paths that expressions can read
    if (s->model && q->paths) {
        kd_json_list(&json, "paths");
        for_paths(s->model, put_named, &json);
        kd_json_list_close(&json);
    }
    kd_json_close(&json);
    printf("\n");
}

// ---- command --------------------------------------------------------------------------------------------------------

static int tell_all(inquiry *q)
{
    bool all = !q->elements && !q->channels && !q->paths;
    // channels are those of a recording of one row
    if (kd_subject_probe(&q->subject, NULL, &q->probe) < 0 || kd_recording_create(q->probe, 1, &q->recording) < 0) {
        fputs("kardan: out of memory\n", stderr);
        return KD_EXIT_FAILED;
    }
    // everything, or what was asked for
    if (q->json) {
        tell_json(q);
        return KD_EXIT_OK;
    }
    if (all) tell_sizes(q);
    if (all) printf("\n");
    if (q->subject.model && (all || q->elements)) tell_elements(q);
    if (q->subject.model && all) printf("\n");
    if (all || q->channels) tell_channels(q);
    if (q->subject.model && q->paths) {
        printf("Paths\n");
        for_paths(q->subject.model, print_path, NULL);
    }
    return KD_EXIT_OK;
}

int kd_cli_info(int argc, char **argv)
{
    static inquiry q; // of this one command; large
    kd_cli_parsed  parsed = read_arguments(&q, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status;
    if (kd_subject_open(&q.subject, &q.request, &status)) status = tell_all(&q);
    kd_recording_destroy(q.recording);
    kd_probe_destroy(q.probe);
    kd_subject_close(&q.subject);
    return status;
}
