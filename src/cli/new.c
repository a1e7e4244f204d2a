// new.c: kardan new: a commented model to begin with.
#include <string.h>

#include "cli/cli.h"
#include "cli/starts.h"
#include "core/nearest.h"

typedef struct request {
    const char *name, *from;
    bool        force;
} request;

static kd_cli_parsed read_arguments(request *r, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--from", "KIND", "what to begin with: chain, car, robot or mechanism (default)", KD_CLI_TEXT, &r->from},
        {"--force", NULL, "write over a file that is there", KD_CLI_FLAG, &r->force},
    };
    static const char *const names[] = {"NAME"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan new NAME [--from chain|car|robot|mechanism]",
             .about = "Write NAME.yaml, a small model with comments that runs at once, to begin one's own with.",
             .details = "Examples:\n"
                             "  kardan new press && kardan simulate press.yaml\n"
                             "  kardan new arm --from robot\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &r->name,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

static const char *start_of(const char *kind)
{
    const char *word[KD_START_COUNT];
    for (int i = 0; i < KD_START_COUNT; i++) {
        word[i] = kd_starts[i].word;
        if (strcmp(kind, word[i]) == 0) return kd_starts[i].text;
    }
    kd_cli_unknown("start", kind, word, KD_START_COUNT);
    return NULL;
}

// NAME, or NAME.yaml
static bool path_of(const char *name, char *path, size_t size)
{
    const size_t length = strlen(name);
    const bool   ends = length > 5 && strcmp(name + length - 5, ".yaml") == 0;
    const int    n = snprintf(path, size, ends ? "%s" : "%s.yaml", name);
    return n > 0 && (size_t)n < size;
}

static int write_start(const request *r, const char *text)
{
    char path[1000];
    if (!r->name[0] || !path_of(r->name, path, sizeof path)) {
        fprintf(stderr, "kardan: '%.60s' is not the name of a file\n", r->name);
        return KD_EXIT_USAGE;
    }
    // "wx": a file that is there stays
    FILE *file = fopen(path, r->force ? "w" : "wx");
    if (!file) {
        fprintf(stderr, "kardan: '%s' cannot be written%s\n", path,
                r->force ? "" : "; if it is there, give another name or --force");
        return KD_EXIT_FAILED;
    }
    const bool written = fputs(text, file) >= 0;
    if (fclose(file) != 0 || !written) {
        fprintf(stderr, "kardan: '%s' could not be written\n", path);
        return KD_EXIT_FAILED;
    }
    printf("%s: try 'kardan check %s' and 'kardan simulate %s'\n", path, path, path);
    return KD_EXIT_OK;
}

int kd_cli_new(int argc, char **argv)
{
    request       r = {.from = "mechanism"};
    kd_cli_parsed parsed = read_arguments(&r, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    const char *text = start_of(r.from);
    return text ? write_start(&r, text) : KD_EXIT_USAGE;
}
