// info.c: kardan info: sizes, elements and channels of a model.
#include <string.h>

#include "cli/method.h"
#include "model/model.h"
#include "model/schema.h"
#include "results/recording.h"

typedef struct inquiry {
    kd_subject_request request;
    kd_subject         subject;
    kd_probe          *probe;
    kd_recording      *recording; // for its names
    bool               json, elements, channels;
} inquiry;

static kd_cli_parsed read_arguments(inquiry *q, int argc, char **argv)
{
    kd_cli_option options[3 + KD_SUBJECT_OPTIONS] = {
        {"--elements", NULL, "list the elements only", KD_CLI_FLAG, &q->elements},
        {"--channels", NULL, "list the channels of the results only", KD_CLI_FLAG, &q->channels},
        {"--json", NULL, "print the sizes as one JSON object", KD_CLI_FLAG, &q->json},
    };
    int                      count = 3 + kd_subject_options(&q->request, options + 3);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan info MODEL [OPTION...]",
             .about =
                 "Show what MODEL, a file (.yaml, .urdf) or an example, consists of: sizes of its equations, its elements, "
                      "and the\n"
                      "channels that its results have, with their units. Expressions and --plots read further quantities by\n"
                      "path: body.NAME.pos.x, joint.NAME.force.z, force.NAME.length, ...",
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

typedef struct size_entry {
    const char *key, *label;
    int         count;
} size_entry;

enum { SIZES = 14 };

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

static void tell_json(const inquiry *q)
{
    const kd_subject *s = &q->subject;
    kd_json           json = {.file = stdout};
    size_entry        list[SIZES];
    list_sizes(q, list);
    kd_json_open(&json, NULL);
    kd_json_text(&json, "version", kd_version());
    kd_json_text(&json, "model", q->request.word);
    kd_json_text(&json, "title", s->title);
    for (int i = 0; i < SIZES; i++) kd_json_count(&json, list[i].key, list[i].count);
    if (s->model) {
        kd_json_text(&json, "coordinates", kd_method_coordinates(s));
        kd_json_count(&json, "bodies", s->info.nbodies);
        kd_json_count(&json, "joints", s->info.njoints);
        kd_json_count(&json, "loops", s->info.nloops);
        kd_json_count(&json, "dof", s->info.dof);
        kd_json_count(&json, "redundant", s->info.nredundant);
        kd_json_count(&json, "singular", s->info.nsingular);
        kd_json_count(&json, "warnings", kd_model_warning_count(s->model));
    }
    kd_json_close(&json);
    printf("\n");
}

// ---- elements and channels ------------------------------------------------------------------------------------------

static void tell_element(const char *section, const char *name, const char *kind)
{
    printf("  %-12s %-28s %s\n", section, name, kind ? kind : "");
}

static const char *word_of(kd_schema_id section, int kind)
{
    const kd_schema *schema = kd_schema_of(section);
    return kd_schema_has_kinds(schema) && kind >= 0 && kind < schema->nkinds ? kd_schema_word(schema, kind)->word : "";
}

static void tell_elements(const kd_model *m)
{
    char text[80];
    printf("Elements\n");
    for (int i = 0; i < m->nparameters; i++) {
        const kd_parameter *p = &m->parameter[i];
        snprintf(text, sizeof text, p->expr ? "%.9g = %.60s" : "%.9g", p->value, p->text);
        tell_element("parameter", m->parameter[i].name, text);
    }
    for (int i = 0; i < m->nbodies; i++) {
        snprintf(text, sizeof text, "%.9g kg", m->body[i].def.mass);
        tell_element("body", m->body[i].name, text);
    }
    for (int i = 0; i < m->nframes; i++) tell_element("frame", m->frame[i].name, NULL);
    for (int i = 0; i < m->njoints; i++)
        tell_element("joint", m->joint[i].name, word_of(KD_SCHEMA_JOINT, (int)m->joint[i].def.kind));
    for (int i = 0; i < m->nconstraints; i++)
        tell_element("constraint", m->constraint[i].name,
                     word_of(KD_SCHEMA_CONSTRAINT, (int)m->constraint[i].def.kind));
    for (int i = 0; i < m->nforces; i++)
        tell_element("force", m->force[i].name, word_of(KD_SCHEMA_FORCE, (int)m->force[i].def.kind));
    for (int i = 0; i < m->nstates; i++)
        tell_element("state", m->state[i].name, word_of(KD_SCHEMA_STATE, (int)m->state[i].def.kind));
    for (int i = 0; i < m->nblocks; i++) {
        const kd_block_def *def = &m->block[i].def;
        snprintf(text, sizeof text, "%s, every %.9g s",
                 def->kind == KD_BLOCK_USER ? "in C" : word_of(KD_SCHEMA_BLOCK, (int)def->kind), def->period);
        tell_element("block", m->block[i].name, text);
    }
    for (int i = 0; i < m->nvariables; i++) {
        snprintf(text, sizeof text, "%.9g", m->variable[i].def.start);
        tell_element("variable", m->variable[i].name, text);
    }
    for (int i = 0; i < m->nevents; i++) tell_element("event", m->event[i].name, m->event[i].def.when);
    for (int i = 0; i < m->ninputs; i++) tell_element("input", m->input[i].name, m->input[i].def.value);
    for (int i = 0; i < m->ncurves; i++) tell_element("curve", m->curve[i].name, NULL);
    for (int i = 0; i < m->ntracks; i++) tell_element("track", m->track[i].name, m->track[i].def.curvature);
    for (int i = 0; i < m->nsensors; i++) tell_element("sensor", m->sensor[i].name, m->sensor[i].def.value);
}

static void tell_channels(const inquiry *q)
{
    const kd_recording *rec = q->recording;
    printf("Channels\n  %-50s s\n", "t");
    for (int j = 0; j < kd_recording_columns(rec); j++)
        printf("  %-50s %s\n", kd_recording_name(rec, j), kd_recording_unit(rec, j));
}

// ---- command --------------------------------------------------------------------------------------------------------

static int tell_all(inquiry *q)
{
    bool all = !q->elements && !q->channels;
    if (kd_subject_probe(&q->subject, NULL, &q->probe) < 0 || kd_recording_create(q->probe, 1, &q->recording) < 0) {
        fputs("kardan: out of memory\n", stderr);
        return KD_EXIT_FAILED;
    }
    if (q->json) {
        tell_json(q);
        return KD_EXIT_OK;
    }
    if (all) tell_sizes(q);
    if (all) printf("\n");
    if (q->subject.model && (all || q->elements)) tell_elements(q->subject.model);
    if (q->subject.model && all) printf("\n");
    if (all || q->channels) tell_channels(q);
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
