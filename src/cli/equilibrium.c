// equilibrium.c: kardan equilibrium: where a model is at rest, what moved to get there, which loads it carries.
#include "cli/equilibrium.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/method.h"
#include "core/text.h"
#include "report/modes_page.h"
#include "report/viewer.h"
#include "results/state_file.h"

enum { PATH_SIZE = 4096, MESSAGE_SIZE = 1200, NAME_SIZE = 200 };

// words of results, in the order of the enumerations
static const char *const MOTION[] = {"none", "dropped", "steady", "unsteady", "whole"};
static const char *const STABILITY[] = {"unknown", "stable", "indifferent", "unstable"};

// ---- for all commands -----------------------------------------------------------------------------------------------

// z but for directions of friction as it was
static void keep_z(const kd_eom *eom, const double *before, double *z)
{
    const kd_eom_def *def = kd_eom_definition(eom);
    const kd_dims     n = kd_eom_dims(eom);
    // directions of friction were found by settling and stay; all else comes back
    for (int i = 0; i < n.nz; i++) {
        bool direction = false;
        for (int k = 0; def->friction && k < n.nmu; k++) direction = direction || def->friction[k] == i;
        if (!direction) z[i] = before[i];
    }
}

kd_status kd_cli_settle(kd_subject *s, char *message, size_t size)
{
    const kd_eom_def *def = kd_eom_definition(s->eom);
    const size_t      nz = (size_t)kd_eom_dims(s->eom).nz;
    // nothing that could come or go
    if (!def->restitution && !def->friction) return KD_OK;
    double *before = calloc(nz + 1, sizeof *before);
    if (!before) return KD_ERR_MEMORY;
    if (nz > 0) memcpy(before, s->x->z, nz * sizeof *before);
    // a simulation of no length: contacts and friction find their modes
    kd_method             method = {.run = &s->run, .fixed = true};
    kd_simulation_options opt = kd_simulation_options_default();
    if (kd_method_read(&method)) {
        kd_method_decide(&method, s);
        opt = kd_method_for_run(&method);
    }
    kd_status status = kd_simulate(s->eom, kd_subject_inputs(s), &opt, s->x, s->x->t, NULL, message, size);
    if (nz > 0) keep_z(s->eom, before, s->x->z);
    free(before);
    return status;
}

// said wherever a result depends on it
void kd_cli_tell_held(const kd_subject *s)
{
    if (s->rest[0]) printf("from equilibrium: %s\n", s->rest);
    if (kd_eom_definition(s->eom)->discrete)
        printf("sampled blocks keep the outputs that they have now: what they feed back is not part of this\n");
}

// contacts settle, then the balance of forces, then accelerations and contacts of that position
kd_status kd_cli_rest(kd_subject *s, bool stable, bool keep_motion, kd_equilibrium_result *result, char *message,
                      size_t size)
{
    kd_equilibrium_options opt = kd_equilibrium_options_default();
    kd_initial_options     initial = kd_initial_options_default();
    char                   news[MESSAGE_SIZE] = "";
    // stable: an unstable equilibrium is refused; keep_motion: what moves evenly goes on
    opt.stable = stable;
    opt.keep_motion = keep_motion;
    kd_status status = kd_cli_settle(s, message, size);
    if (status < 0) return status;
    // contacts first, then the balance of forces
    status = kd_equilibrium(s->eom, kd_subject_inputs(s), &opt, s->x, result, message, size);
    if (status < 0 && kd_eom_definition(s->eom)->restitution)
        kd_text_append(message, size,
                       "; stops and contacts with restitution that are not touched at the start carry "
                       "nothing: start where they are");
    if (status < 0) return status;
    // what drives prescribe moves on from here
    status = kd_initial_consistent(s->eom, kd_subject_inputs(s), &initial, s->x, news, sizeof news);
    if (status >= 0) status = kd_cli_settle(s, news, sizeof news); // rows that would pull open, those below zero fail
    if (status < 0) kd_text(message, size, "the equilibrium is no start: %s", news);
    return status;
}

// the state as a table with one row, which --start-state reads
bool kd_cli_save_state(const kd_subject *s, const char *folder, const char *ending, char *path, size_t size)
{
    char            message[MESSAGE_SIZE] = "";
    const kd_state *states[] = {s->x};
    kd_status       status = kd_cli_make_folder(folder, message, sizeof message);
    if (status >= 0 && snprintf(path, size, "%s/%s.%s.state.csv", folder, s->name, ending) >= (int)size)
        status = KD_ERR_FILE;
    if (status >= 0) status = kd_state_file_save(path, ending, s->eom, states, 1, message, sizeof message);
    if (status < 0) fprintf(stderr, "kardan: %s\n", message[0] ? message : kd_status_sentence(status));
    return status >= 0;
}

// ---- values by name -------------------------------------------------------------------------------------------------

// A law that no longer holds at the state of the subject
bool kd_cli_caution(const kd_subject *s, char *text, size_t size)
{
    // an evaluation point for this one question
    kd_eom_data *data = NULL;
    bool         found = false;
    if (size > 0) text[0] = '\0';
    if (kd_eom_data_create(s->eom, &data) >= 0 &&
        kd_eom_at_state(data, kd_subject_inputs(s), s->x, KD_STAGE_VELOCITY) == KD_EVAL_OK)
        found = kd_eom_caution(data, text, size);
    kd_eom_data_destroy(data);
    return found;
}

// all sensors at the state, by a probe
static kd_status read_outputs(const kd_subject *s, double *y)
{
    kd_probe *probe;
    kd_status status = kd_subject_probe(s, NULL, &probe);
    if (status >= 0) status = kd_probe_set(probe, s->x);
    const double *found = status >= 0 ? kd_probe_values(probe, KD_GROUP_Y) : NULL;
    if (found) memcpy(y, found, (size_t)kd_eom_dims(s->eom).ny * sizeof *y);
    if (status >= 0 && !found) status = kd_probe_status(probe);
    kd_probe_destroy(probe);
    return status;
}

void kd_cli_tell_caution(const kd_subject *s)
{
    char text[MESSAGE_SIZE];
    if (kd_cli_caution(s, text, sizeof text)) printf("WARNING: %s\n", text);
}

// what moved, or all values; the title only if there is something below it
static void tell_values(const kd_subject *s, const char *title, kd_kind kind, const double *value, const double *before,
                        int count)
{
    char name[NAME_SIZE];
    bool titled = false;
    for (int i = 0; i < count; i++) {
        if (before && !(fabs(value[i] - before[i]) > 1e-9)) continue;
        if (!titled) printf("\n%s\n", title);
        titled = true;
        printf("  %-40s %18.10g", kd_eom_name(s->eom, kind, i, name, sizeof name), value[i]);
        if (before) printf("   from %.10g", before[i]);
        printf("\n");
    }
}

// an object of values by name
static void tell_member(kd_json *json, const kd_subject *s, const char *key, kd_kind kind, const double *value,
                        int count)
{
    char name[NAME_SIZE];
    kd_json_open(json, key);
    for (int i = 0; i < count; i++) kd_json_number(json, kd_eom_name(s->eom, kind, i, name, sizeof name), value[i]);
    kd_json_close(json);
}

// what became of velocities of the start
void kd_cli_tell_motion_json(kd_json *json, const kd_subject *s, const kd_equilibrium_result *r)
{
    char name[NAME_SIZE];
    kd_json_text(json, "motion", MOTION[r->motion]);
    if (r->motion == KD_MOTION_NONE) return;
    kd_json_number(json, "speed", r->speed);
    kd_json_number(json, "dropped", r->dropped);
    kd_json_text(json, "dropped_velocity", kd_eom_name(s->eom, KD_NAME_V, r->dropped_row, name, sizeof name));
}

// members in the order of the words
void kd_cli_tell_rest_json(kd_json *json, const kd_subject *s, const kd_equilibrium_result *r)
{
    const kd_dims n = kd_eom_dims(s->eom);
    double       *y = calloc((size_t)n.ny + 1, sizeof *y);
    // what kind of equilibrium it is
    kd_json_text(json, "stability", STABILITY[r->stability]);
    kd_json_count(json, "free_directions", r->free_directions);
    // how well it is found, and with how much work
    kd_json_number(json, "residual", r->residual);
    kd_json_number(json, "force_scale", r->force_scale);
    kd_json_number(json, "moved", r->moved);
    kd_json_count(json, "iterations", r->iterations);
    kd_json_count(json, "attempts", r->attempts);
    kd_json_bool(json, "by_dynamics", r->by_dynamics);
    kd_json_count(json, "kept", r->kept);
    kd_json_text(json, "kept_states", r->kept_states);
    kd_cli_tell_motion_json(json, s, r);
    // what a reader must know, then the position itself
    char caution[MESSAGE_SIZE];
    (void)kd_cli_caution(s, caution, sizeof caution);
    kd_json_text(json, "caution", caution);
    tell_member(json, s, "positions", KD_NAME_P, s->x->p, n.np);
    tell_member(json, s, "multipliers", KD_NAME_LAMBDA, s->x->lambda, n.nlambda);
    if (y && n.ny > 0 && read_outputs(s, y) >= 0) tell_member(json, s, "outputs", KD_NAME_Y, y, n.ny);
    free(y);
}

// the same for people
void kd_cli_tell_rest(const kd_subject *s, const double *before)
{
    const kd_dims n = kd_eom_dims(s->eom);
    double       *y = calloc((size_t)n.ny + 1, sizeof *y);
    tell_values(s, "Moved", KD_NAME_P, s->x->p, before, n.np);
    if (n.nr > 0) tell_values(s, "Inner states", KD_NAME_R, s->x->r, NULL, n.nr);
    tell_values(s, "Constraint forces", KD_NAME_LAMBDA, s->x->lambda, NULL, n.nlambda);
    if (y && n.ny > 0 && read_outputs(s, y) >= 0) tell_values(s, "Outputs", KD_NAME_Y, y, NULL, n.ny);
    free(y);
}

// ---- command --------------------------------------------------------------------------------------------------------

// one search
typedef struct quest {
    kd_subject_request    request;
    kd_subject            subject;
    kd_equilibrium_result result;
    const char           *folder;
    double               *before; // position at the start
    bool                  json, stable, quiet;
    char                  message[MESSAGE_SIZE], path[PATH_SIZE], page[PATH_SIZE];
} quest;

static kd_cli_parsed read_arguments(quest *q, int argc, char **argv)
{
    kd_cli_option options[4 + KD_SUBJECT_OPTIONS] = {
        {"--output", "DIR", "folder for the state and the page; default: results", KD_CLI_TEXT, &q->folder},
        {"--stable", NULL, "an unstable equilibrium will not do", KD_CLI_FLAG, &q->stable},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &q->quiet},
        {"--json", NULL, "print the equilibrium as one JSON object", KD_CLI_FLAG, &q->json},
    };
    int                      count = 4 + kd_subject_options(&q->request, options + 4);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan equilibrium MODEL [OPTION...]",
             .about =
                 "Find a position in which MODEL rests, starting from that of the model: all forces balance, inputs are "
                      "held\n"
                      "at their first value. Prints what moved and the loads, and writes the state "
                      "(DIR/NAME.equilibrium.state.csv),\n"
                      "from which kardan simulate --start-state starts. Where none is found, it names the force that remains.",
             .details = "Examples:\n"
                             "  kardan equilibrium models/four-bar-spring.yaml\n"
                             "  kardan equilibrium models/hmmwv.yaml --coordinates cartesian --json\n"
                             "  kardan simulate models/four-bar-spring.yaml --from-equilibrium\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &q->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// with the message also where none was found
static void tell_json(quest *q, kd_status status)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", q->request.word);
    kd_json_text(&json, "status", kd_status_name(status));
    kd_json_text(&json, "message", q->message);
    if (status >= 0) {
        kd_cli_tell_rest_json(&json, &q->subject, &q->result);
        kd_json_text(&json, "state", q->path);
    }
    kd_json_close(&json);
    printf("\n");
}

// A page that goes from the start to the equilibrium, over the start; only of models that have bodies to show
static bool save_page(quest *q)
{
    kd_subject  *s = &q->subject;
    const size_t np = (size_t)kd_eom_dims(s->eom).np;
    kd_drawing  *way = NULL, *start = NULL;
    kd_probe    *probe = NULL;
    kd_state    *x = NULL;
    char         title[NAME_SIZE + 100];
    if (!s->system || s->model->nbodies == 0 || !kd_viewer_is_built()) return true;
    // two films: the way from start to equilibrium, and the start alone
    kd_status status = kd_drawing_create(s->system, 2, &way);
    if (status >= 0) status = kd_drawing_create(s->system, 2, &start);
    if (status >= 0) status = kd_probe_of_system(s->system, kd_subject_inputs(s), &probe);
    if (status >= 0) status = kd_state_create(s->eom, &x);
    // before, twice in the pale film; after
    for (int i = 0; i < 2 && status >= 0; i++) {
        kd_state_copy(s->x, x);
        memcpy(x->p, q->before, np * sizeof(double));
        status = kd_probe_set(probe, x);
        if (status >= 0) kd_drawing_add(start, probe, i, i == 1);
        if (status >= 0 && i == 1) status = kd_probe_set(probe, s->x);
        if (status >= 0) kd_drawing_add(way, probe, i, i == 1);
    }
    // the page beside the state
    snprintf(q->page, sizeof q->page, "%s/%s-equilibrium.html", q->folder, s->name);
    snprintf(title, sizeof title, "Equilibrium: %.150s", s->title);
    if (status >= 0 && kd_drawing_length(way) == 2 && kd_drawing_length(start) == 2)
        status = kd_motion_page_save(q->page, title, way, "before", start, q->message, sizeof q->message);
    else
        q->page[0] = '\0'; // a position that cannot be drawn
    if (status < 0) fprintf(stderr, "kardan: %s: %s\n", s->name, kd_status_sentence(status));
    kd_probe_destroy(probe);
    kd_state_destroy(x);
    kd_drawing_destroy(way);
    kd_drawing_destroy(start);
    return status >= 0;
}

// the start is kept, to tell what moved
static int find_equilibrium(quest *q)
{
    const kd_subject *s = &q->subject;
    const size_t      np = (size_t)kd_eom_dims(s->eom).np;
    q->before = calloc(np + 1, sizeof *q->before);
    if (!q->before) return KD_EXIT_FAILED;
    memcpy(q->before, s->x->p, np * sizeof(double));
    kd_status status = kd_cli_rest(&q->subject, q->stable, false, &q->result, q->message, sizeof q->message);
    if (status >= 0 && !kd_cli_save_state(s, q->folder, "equilibrium", q->path, sizeof q->path)) return KD_EXIT_FAILED;
    // files before words: what could not be written is no success
    if (q->json) tell_json(q, status);
    if (status >= 0 && !save_page(q)) return KD_EXIT_FAILED;
    if (status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", s->name, q->message);
        return KD_EXIT_FAILED;
    }
    if (q->json || q->quiet) return KD_EXIT_OK;
    // what moved, what was held, and where it is
    printf("%s: %s\n", s->name, q->message);
    kd_cli_tell_held(s);
    kd_cli_tell_caution(s);
    kd_cli_tell_rest(s, q->before);
    printf("\nState: %s\n", q->path);
    if (q->page[0]) printf("Page: %s\n", q->page);
    return KD_EXIT_OK;
}

int kd_cli_equilibrium(int argc, char **argv)
{
    static quest q; // of this one command; large
    q = (quest){.folder = "results"};
    kd_cli_parsed parsed = read_arguments(&q, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status;
    if (kd_subject_open(&q.subject, &q.request, &status)) status = find_equilibrium(&q);
    free(q.before);
    kd_subject_close(&q.subject);
    return status;
}
