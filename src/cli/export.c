// export.c: kardan export: a model for another tool.
#define _POSIX_C_SOURCE 200809L
#include <kardan/fmi.h>
#include <stdlib.h>
#include <string.h>

#include "cli/subject.h"
#include "core/text.h"

typedef struct task {
    kd_subject_request request;
    kd_subject         subject;
    const char        *operand[2];
    const char        *version, *kind, *inputs, *output, *binary, *identifier;
    bool               quiet, sources;
    char               message[4000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--fmi", "N", "version of FMI: 2 or 3 (default)", KD_CLI_TEXT, &t->version},
        {"--kind", "K", "me (model exchange), cs (co-simulation) or both (default)", KD_CLI_TEXT, &t->kind},
        {"--inputs", "A,B,..", "inputs with a law in the model that shall come from outside; those without always do",
         KD_CLI_TEXT, &t->inputs},
        {"--identifier", "NAME", "of the model in the FMU; default: from the name of the file", KD_CLI_TEXT,
         &t->identifier},
        {"--output", "FILE", "the FMU; default: MODEL.fmu here", KD_CLI_TEXT, &t->output},
        {"--binary", "FILE", "the shared object of the FMU; default: libkardan-fmu.so beside the program", KD_CLI_TEXT,
         &t->binary},
        {"--sources", NULL, "the sources of that, too, with a description of how to build them (FMI 3.0)", KD_CLI_FLAG,
         &t->sources},
        {"--set", "NAME=VALUE", "another value for a parameter of the model file; repeatable", KD_CLI_LIST,
         &t->request.settings},
        {"--library", "DIR", "folder of subsystems that the model may use besides its own; repeatable", KD_CLI_LIST,
         &t->request.folders},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
    };
    static const char *const names[] = {"fmu", "MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan export fmu MODEL [OPTION...]",
             .about = "Write MODEL, a file (.yaml, .urdf), as a Functional Mock-up Unit for other tools. It needs nothing "
                           "but the\n"
                           "C library: model, its files and kardan's runtime travel inside. Sensors become outputs, inputs "
                           "without a law\n"
                           "inputs, independent parameters parameters; joints, forces and bodies can be read by their paths.",
             .details = "Examples:\n"
                             "  kardan export fmu models/pendulum.yaml\n"
                             "  kardan export fmu models/quarter-car.yaml --fmi 2 --kind cs --inputs luggage\n"
                             "  kardan export fmu car.yaml --set speed=30 --output car30.fmu\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = t->operand,
             .noperands = 2,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

static bool refuse_word(const char *what, const char *word)
{
    fprintf(stderr, "kardan: %s '%s'\n", what, word);
    return false;
}

// Words to options; the words of inputs are cut in place
static bool choose(task *t, kd_fmu_export_options *o, char *inputs, const char **list, int most)
{
    static const char *const KINDS[] = {"me", "cs", "both"};
    // operands: the format and a file
    if (strcmp(t->operand[0], "fmu") != 0) return refuse_word("export knows fmu only, not", t->operand[0]);
    if (!kd_subject_is_file(t->operand[1])) return refuse_word("not a model file (.yaml, .urdf):", t->operand[1]);
    // version and kind; both stand for what is not said
    if (t->version && strcmp(t->version, "2") != 0 && strcmp(t->version, "3") != 0)
        return refuse_word("--fmi wants 2 or 3, not", t->version);
    const int kind = t->kind ? kd_cli_choose("kind", t->kind, KINDS, 3) : 2;
    if (kind < 0) return false;
    o->version = t->version ? t->version[0] - '0' : 3;
    o->kind = (kd_fmu_kind)(kind + 1);
    // files and names as they are given
    o->binary = t->binary;
    o->sources = t->sources;
    o->identifier = t->identifier;
    char *rest = inputs;
    for (char *word = inputs ? kd_cli_next_word(&rest) : NULL; word && o->ninputs < most;
         word = kd_cli_next_word(&rest))
        list[o->ninputs++] = word;
    o->inputs = list;
    return true;
}

int kd_cli_export(int argc, char **argv)
{
    static task           t;
    const char           *list[KD_CLI_LONGEST_LIST];
    char                  output[KD_SUBJECT_NAME + 8];
    kd_fmu_export_options options = kd_fmu_export_options_default();
    t = (task){0};
    const kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    // inputs are a list that is cut at its commas
    char *inputs = t.inputs ? strdup(t.inputs) : NULL;
    int   answer = KD_EXIT_USAGE;
    if (choose(&t, &options, inputs, list, KD_CLI_LONGEST_LIST)) {
        // the model, then the file beside it
        t.request.word = t.operand[1];
        if (kd_subject_read(&t.subject, &t.request, &answer)) {
            kd_text(output, sizeof output, "%s.fmu", t.subject.name);
            const char     *path = t.output ? t.output : output;
            const kd_status status =
                kd_fmu_export(t.subject.model, t.operand[1], path, &options, t.message, sizeof t.message);
            if (status < 0)
                fprintf(stderr, "kardan: %s\n", t.message[0] ? t.message : kd_status_sentence(status));
            else if (!t.quiet)
                printf("%s: FMI %d.0, %s\n", path, options.version,
                       options.kind == KD_FMU_BOTH       ? "model exchange and co-simulation"
                       : options.kind == KD_FMU_EXCHANGE ? "model exchange"
                                                         : "co-simulation");
            answer = status < 0 ? KD_EXIT_FAILED : KD_EXIT_OK;
        }
        kd_subject_close(&t.subject);
    }
    free(inputs);
    return answer;
}
