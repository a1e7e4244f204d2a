// arguments.c: options and operands of a subcommand, read by its table; the help page comes from the same table.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/budget.h"
#include "cli/cli.h"

// names that a suggestion can come from; a count beyond is surely a typing error
enum { MAX_OPTIONS = 80, LARGEST_COUNT = 1000000 };
static const char OUTPUT[] = "--output"; // -o

// the page of --help; options that all commands have come last
static void show_help(const kd_cli_syntax *syntax)
{
    printf("Usage: %s\n\n%s\n", syntax->usage, syntax->about);
    printf("\nOptions:\n");
    for (int i = 0; i < syntax->noptions; i++) {
        const kd_cli_option *option = &syntax->options[i];
        char                 left[64];
        // the only option with a short form
        const bool output = strcmp(option->name, OUTPUT) == 0;
        snprintf(left, sizeof left, "%s%s %s", output ? "-o, " : "", option->name, option->value ? option->value : "");
        printf("  %-24s %s\n", left, option->about);
    }
    printf("  %-24s %s\n", "--memory SIZE", "largest memory, like 4G; default: what is free");
    printf("  %-24s %s\n", "--help", "this page");
    if (syntax->details) printf("\n%s", syntax->details);
}

bool kd_cli_refuse(const char *text)
{
    fprintf(stderr, "kardan: %s\n", text);
    return false;
}

static bool refuse_value(const kd_cli_option *option, const char *value, const char *wanted)
{
    fprintf(stderr, "kardan: %s wants %s, not '%s'\n", option->name, wanted, value);
    return false;
}

// all of the word must be a number; the kind says of which sign
static bool take_number(const kd_cli_option *option, const char *value)
{
    char  *end;
    double number = strtod(value, &end);
    // strtod accepts "inf" and "nan": no option means them
    bool is_number = end != value && *end == '\0' && isfinite(number);
    if (option->kind == KD_CLI_POSITIVE && (!is_number || number <= 0))
        return refuse_value(option, value, "a positive number");
    if (option->kind == KD_CLI_SIGNED && !is_number) return refuse_value(option, value, "a number");
    if (!is_number || (number < 0 && option->kind != KD_CLI_SIGNED))
        return refuse_value(option, value, "a number that is not negative");
    *(double *)option->target = number;
    return true;
}

static bool take_count(const kd_cli_option *option, const char *value)
{
    char *end;
    // a number beyond long shows in errno only
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < 1 || number > LARGEST_COUNT)
        return refuse_value(option, value, "a whole number from 1 to 1000000");
    *(int *)option->target = (int)number;
    return true;
}

// an option that may be given several times
static bool take_word(const kd_cli_option *option, const char *value)
{
    kd_cli_list *list = option->target;
    if (list->count == KD_CLI_LONGEST_LIST) {
        fprintf(stderr, "kardan: %s is given more than %d times\n", option->name, KD_CLI_LONGEST_LIST);
        return false;
    }
    list->word[list->count++] = value;
    return true;
}

// what the table says goes to the target
static bool take_value(const kd_cli_option *option, const char *value)
{
    switch (option->kind) {
    case KD_CLI_TEXT:
        *(const char **)option->target = value;
        return true;
    case KD_CLI_LIST:
        return take_word(option, value);
    case KD_CLI_COUNT:
        return take_count(option, value);
    default:
        return take_number(option, value);
    }
}

static void unknown_option(const kd_cli_syntax *syntax, const char *word)
{
    // the command's own names, then those of all commands
    const char *names[MAX_OPTIONS + 2];
    int         count = 0;
    for (; count < syntax->noptions && count < MAX_OPTIONS; count++) names[count] = syntax->options[count].name;
    names[count++] = "--memory";
    names[count++] = "--help";
    kd_cli_unknown("option", word, names, count);
}

// --memory SIZE, which every command has; false: wrong, told
static bool take_memory(const char *equals, int argc, char **argv, int *i)
{
    const char *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : "";
    if (kd_budget_set(value)) return true;
    fprintf(stderr, "kardan: --memory wants a size like 500M or 4G, not '%s'\n", value);
    return false;
}

// One option at argv[*i]; moves *i to its last word
static bool take_option(const kd_cli_syntax *syntax, int argc, char **argv, int *i)
{
    // "--name=value" or "--name value"
    const char *word = strcmp(argv[*i], "-o") == 0 ? OUTPUT : argv[*i], *equals = strchr(word, '=');
    size_t      length = equals ? (size_t)(equals - word) : strlen(word);
    for (int k = 0; k < syntax->noptions; k++) {
        const kd_cli_option *option = &syntax->options[k];
        if (strlen(option->name) != length || strncmp(option->name, word, length) != 0) continue;
        // a flag takes no value
        if (option->kind == KD_CLI_FLAG) {
            if (equals) return refuse_value(option, equals + 1, "no value");
            *(bool *)option->target = true;
            return true;
        }
        if (equals) return take_value(option, equals + 1);
        if (*i + 1 >= argc) {
            fprintf(stderr, "kardan: %s wants a value: %s %s\n", option->name, option->name, option->value);
            return false;
        }
        return take_value(option, argv[++*i]);
    }
    // behind the own options: a command could have one of that name
    if (length == strlen("--memory") && strncmp(word, "--memory", length) == 0)
        return take_memory(equals, argc, argv, i);
    unknown_option(syntax, word);
    return false;
}

kd_cli_parsed kd_cli_parse(const kd_cli_syntax *syntax, int argc, char **argv)
{
    // help wins over everything else
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            show_help(syntax);
            return KD_CLI_HELP_SHOWN;
        }
    }
    // options by the table, other words as operands
    int count = 0;
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!take_option(syntax, argc, argv, &i)) return KD_CLI_WRONG;
        } else if (count == syntax->noperands && syntax->further) {
            if (!take_value(syntax->further, argv[i])) return KD_CLI_WRONG;
        } else if (count == syntax->noperands) {
            fprintf(stderr, "kardan: '%s' is one word too many\nUsage: %s\n", argv[i], syntax->usage);
            return KD_CLI_WRONG;
        } else {
            syntax->operand[count++] = argv[i];
        }
    }
    // all operands are required
    if (count < syntax->noperands) {
        fprintf(stderr, "kardan: %s is missing\nUsage: %s\n", syntax->operand_name[count], syntax->usage);
        return KD_CLI_WRONG;
    }
    return KD_CLI_GO;
}
