// linearize.c: kardan linearize: linear equations of a model, printed or written as JSON, text and MAT file.
#include <math.h>
#include <string.h>

#include "cli/equilibrium.h"
#include "cli/operating_point.h"
#include "results/file.h"
#include "results/linear_file.h"

// one linearisation
typedef struct task {
    kd_operating_point point;
    const char        *output; // folder; NULL: print only
    bool               json;
    char               message[1000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[3 + KD_OPERATING_POINT_OPTIONS] = {
        {"--descriptor", NULL, "also the descriptor form E, Ad, Bd, Cd, Dd with multipliers", KD_CLI_FLAG,
         &t->point.descriptor},
        {"--output", "FOLDER", "write NAME-linear.json, .txt and .mat there", KD_CLI_TEXT, &t->output},
        {"--json", NULL, "print one JSON object", KD_CLI_FLAG, &t->json},
    };
    int                      count = 3 + kd_operating_point_options(&t->point, options + 3);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan linearize MODEL [OPTION...]",
             .about = "Linear equations x' = A x + B u, y = C x + D u of MODEL, a file (.yaml, .urdf) or an example, in\n"
                           "independent coordinates, at its start or along its motion: states, inputs and sensors by name.",
             .details = "Examples:\n"
                             "  kardan linearize models/quarter-car.yaml\n"
                             "  kardan linearize models/four-bar-spring.yaml --at 40 --output results\n"
                             "  kardan linearize models/slider-crank.yaml --coordinates cartesian --descriptor --json\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->point.request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// files that are written
typedef enum kind { JSON, TEXT, MAT, KINDS } kind;

static void write_json(FILE *file, const kd_operating_point *p)
{
    kd_linear_write_json(file, p->linear, p->modes, p->subject.rest[0] ? p->subject.rest : NULL);
}

static bool save(task *t, kind k)
{
    static const char *const ending[KINDS] = {"json", "txt", "mat"};
    char                     path[1200];
    FILE                    *file;
    snprintf(path, sizeof path, "%s/%s-linear.%s", t->output, t->point.subject.name, ending[k]);
    // where MAT files cannot be written the others remain
    if (k == MAT) {
        kd_status status = kd_linear_save_mat(path, t->point.linear, t->point.modes, t->message, sizeof t->message);
        if (status == KD_ERR_UNAVAILABLE) fprintf(stderr, "kardan: %s\n", t->message); // the others are as good
        if (status < 0) return status == KD_ERR_UNAVAILABLE;
    } else {
        if (kd_file_open(path, &file, t->message, sizeof t->message) < 0) return false;
        if (k == JSON) write_json(file, &t->point);
        if (k == TEXT) kd_linear_write_text(file, t->point.linear);
        if (kd_file_close(file, path, t->message, sizeof t->message) < 0) return false;
    }
    if (!t->json) printf("%s\n", path);
    return true;
}

static bool save_all(task *t)
{
    if (!t->output) return true;
    bool good = kd_cli_make_folder(t->output, t->message, sizeof t->message) >= 0;
    for (int k = 0; k < KINDS && good; k++) good = save(t, (kind)k);
    if (!good) fprintf(stderr, "kardan: %s\n", t->message);
    return good;
}

// what limits the result comes before the matrices
static void tell_text(const task *t)
{
    const kd_linear *l = t->point.linear;
    printf("%s: %s\n", t->point.subject.name, t->point.subject.title);
    kd_cli_tell_held(&t->point.subject);
    if (l->speed > 0 || l->force > 1e-6)
        printf("not at rest: largest velocity %.3g, largest acceleration %.3g; the equations hold at this moment\n",
               l->speed, l->force);
    // inputs whose rates act: B and D are only part of it
    for (int i = 0; i < l->nu; i++)
        if (l->moves[i])
            printf("input %s acts by its rates, too: B and D hold while it changes slowly; files have B1, B2, D1, D2\n",
                   l->input_name[i]);
    if (l->difference_error > 0)
        printf("%sderivatives by differences: largest estimated error %.2g of the entry's row (%s)%s\n",
               l->difference_error > KD_LINEAR_ERROR ? "WARNING: " : "", l->difference_error, l->difference_name,
               l->difference_error > KD_LINEAR_ERROR ? ": a kink is near, B, C and D are not reliable" : "");
    printf("\n");
    kd_linear_write_text(stdout, l);
}

int kd_cli_linearize(int argc, char **argv)
{
    static task   t; // of this one command; large
    kd_cli_parsed parsed;
    int           status;
    t.point.at = NAN;
    parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (kd_operating_point_open(&t.point, &status)) {
        if (t.json)
            write_json(stdout, &t.point);
        else
            tell_text(&t);
        if (!save_all(&t)) status = KD_EXIT_FAILED;
    }
    kd_operating_point_close(&t.point);
    return status;
}
