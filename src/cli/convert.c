// convert.c: kardan convert: a robot description or a model file becomes a model file.
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "cli/subject.h"

// one conversion
typedef struct conversion {
    kd_subject_request request;
    kd_subject         subject;
    const char        *operand[2];
    bool               quiet, flat;
    char               message[1000];
} conversion;

static kd_cli_parsed read_arguments(conversion *c, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--set", "NAME=VALUE", "another value for a parameter of the model file; repeatable", KD_CLI_LIST,
         &c->request.settings},
        {"--flat", NULL, "without subsystems: their parts become elements of the model, with their full names",
         KD_CLI_FLAG, &c->flat},
        {"--library", "DIR", "folder of subsystems that the model may use besides its own; repeatable", KD_CLI_LIST,
         &c->request.folders},
        {"--free-base", NULL, "robot description: its root floats instead of being fixed", KD_CLI_FLAG,
         &c->request.free_base},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &c->quiet},
    };
    static const char *const names[] = {"FROM", "TO"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan convert FROM TO [OPTION...]",
             .about = "Write the model of FROM (.yaml, .urdf) as the model file TO (.yaml). For every element of a robot "
                           "description\n"
                           "a line says whether it was taken, converted or refused.",
             .details = "Examples:\n"
                             "  kardan convert robot.urdf robot.yaml\n"
                             "  kardan convert chain.yaml chain-40.yaml --set N=40\n"
                             "  kardan convert car.yaml flat.yaml --flat\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = c->operand,
             .noperands = 2,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

static bool check_operands(const conversion *c)
{
    // from a model file, to another one, of a kind that can be written
    const char *ending = strrchr(c->operand[1], '.');
    if (!kd_subject_is_file(c->operand[0])) {
        fprintf(stderr, "kardan: '%s' is not a model file (.yaml, .urdf)\n", c->operand[0]);
        return false;
    }
    if (kd_cli_is_same_file(c->operand[0], c->operand[1])) {
        fprintf(stderr,
                "kardan: '%s' is the file itself; its comments and repetitions would be lost: give TO another name\n",
                c->operand[1]);
        return false;
    }
    if (ending && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0)) return true;
    fprintf(stderr, "kardan: '%s' cannot be written: model files end with .yaml\n", c->operand[1]);
    return false;
}

// read, write, tell
static int convert(conversion *c)
{
    int status;
    c->request.word = c->operand[0];
    if (!kd_subject_read(&c->subject, &c->request, &status)) return status;
    const kd_model *m = c->subject.model;
    const kd_status written = c->flat ? kd_model_write_flat(m, c->operand[1], c->message, sizeof c->message)
                                      : kd_model_write(m, c->operand[1], c->message, sizeof c->message);
    if (written < 0) {
        fprintf(stderr, "kardan: %s\n", c->message);
        return KD_EXIT_FAILED;
    }
    if (c->quiet) return KD_EXIT_OK;
    fputs(c->subject.message, stdout); // what became of the elements of a robot description
    for (int i = 0; i < kd_model_warning_count(m); i++) printf("warning: %s\n", kd_model_warning(m, i));
    printf("%s: %s\n", c->operand[1], c->subject.title);
    return KD_EXIT_OK;
}

int kd_cli_convert(int argc, char **argv)
{
    static conversion c; // of this one command; large
    kd_cli_parsed     parsed = read_arguments(&c, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status = check_operands(&c) ? convert(&c) : KD_EXIT_USAGE;
    kd_subject_close(&c.subject);
    return status;
}
