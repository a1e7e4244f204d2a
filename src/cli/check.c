// check.c: kardan check: what a model is like before it is simulated, in words: degrees of freedom, redundant
// constraints, consistency of the initial values, supplied derivatives against differences.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank.h"
#include "cli/equilibrium.h"
#include "cli/method.h"
#include "cli/subject.h"
#include "cli/tree_picture.h"

enum { MESSAGE_SIZE = 4000, NAME_SIZE = 96 };

// what is checked, and what was found
typedef struct checked {
    kd_subject_request request;
    kd_subject         subject;
    kd_rank           *rank;
    kd_dims            dims;
    int                rows;
    bool               derivatives;
} checked;

// ---- the four checks ------------------------------------------------------------------------------------------------

static const char *counted(int n, const char *one, char *buffer, size_t size)
{
    snprintf(buffer, size, "%d %s%s", n, one, n == 1 ? "" : "s");
    return buffer;
}

// numbers of unknowns and equations; those that are 0 are left out, but for p and v
static void tell_structure(const checked *c)
{
    static const char *const WORD[] = {"position",           "velocity",      "inner state", "auxiliary variable",
                                       "contact coordinate", "norm equation", "invariant",   "input"};
    const int                count[] = {c->dims.np, c->dims.nv, c->dims.nr, c->dims.nw,
                                        c->dims.ns, c->dims.nq, c->dims.ne, c->dims.nu};
    char                     text[64];
    printf("%s: %s\n\nStructure. ", c->subject.name, c->subject.title);
    for (int i = 0; i < 8; i++) {
        if (i > 1 && count[i] == 0) continue;
        if (i == 1) {
            printf(", %d %s", count[i], count[i] == 1 ? "velocity" : "velocities");
        } else {
            printf("%s%s", i ? ", " : "", counted(count[i], WORD[i], text, sizeof text));
        }
    }
    printf("; %s", counted(c->dims.nlambda, "holonomic constraint", text, sizeof text));
    if (c->dims.nmu) printf(", %s", counted(c->dims.nmu, "nonholonomic constraint", text, sizeof text));
    printf(".\n");
}

// residuals as given, then correction: what kardan simulate would start from
static bool check_consistency(checked *c)
{
    kd_consistency     before;
    kd_initial_options options = kd_initial_options_default();
    char               message[MESSAGE_SIZE] = "";
    printf("Initial values. ");
    // a point nearby on all constraints, from the residuals as they stand in the file
    kd_status status = kd_initial_residuals(c->subject.eom, kd_subject_inputs(&c->subject), c->subject.x, &before);
    if (status >= 0)
        status = kd_initial_consistent(c->subject.eom, kd_subject_inputs(&c->subject), &options, c->subject.x, message,
                                       sizeof message);
    if (status < 0) {
        printf("Not consistent, and no consistent ones were found nearby: %s.\n  %s\n", kd_status_sentence(status),
               message);
        return false;
    }
    // how far it was off, and what moved
    printf("Residuals as given: position %.1e, velocity %.1e.", before.position, before.velocity);
    if (status == KD_CORRECTED) {
        printf(" They were corrected: %s.\n", message);
    } else {
        printf(" They are consistent%s%s.\n", message[0] ? "; " : "", message);
    }
    return true;
}

// rows behind the rank in the order of pivoting
static void name_dropped_rows(const checked *c, int rank)
{
    char name[NAME_SIZE];
    printf("  These follow from the others:");
    for (int i = rank; i < c->rows; i++) {
        int row = kd_rank_order(c->rank)[i];
        if (row < c->dims.nlambda) {
            kd_eom_name(c->subject.eom, KD_NAME_LAMBDA, row, name, sizeof name);
        } else {
            kd_eom_name(c->subject.eom, KD_NAME_MU, row - c->dims.nlambda, name, sizeof name);
        }
        printf("%s '%s'", i > rank ? "," : "", name);
    }
    printf(".\n");
}

static bool check_freedom(checked *c)
{
    // rank here and at poses around: a singular position or constraints that are redundant everywhere
    int found = 0, nearby = c->rows > 0 ? kd_rank_nearby(c->rank, c->subject.x, &found) : 0;
    int rank = c->rows > 0 ? kd_rank_at(c->rank, c->subject.x) : 0;
    if (rank < 0) {
        printf("Freedom. The constraint matrices cannot be evaluated: %s\n", kd_rank_message(c->rank));
        return false;
    }
    // generic rank: the larger one counts for the freedom
    int generic = found > 0 && nearby > rank ? nearby : rank;
    int freedom = c->dims.nv - generic;
    printf("Freedom. %d %s of freedom.", freedom, freedom == 1 ? "degree" : "degrees");
    if (c->rows == 0) {
        printf(" No constraints.\n");
    } else if (generic > rank) {
        printf(" The start is a singular position: the constraints have rank %d there, %d nearby.\n", rank, generic);
        name_dropped_rows(c, rank);
    } else if (rank < c->rows) {
        printf(" The constraints are redundant: rank %d of %d, here and at %d poses nearby.\n", rank, c->rows, found);
        name_dropped_rows(c, rank);
        printf(
            "  The motion is unique, the multipliers are not; kardan simulate takes --decomposition svd by itself.\n");
    } else {
        printf(c->rows == 1 ? " One constraint.\n" : " All %d constraints are independent.\n", c->rows);
    }
    return generic == rank;
}

// by differences, at the start and around it
static bool check_derivatives(checked *c)
{
    static char report[MESSAGE_SIZE]; // of this one command
    report[0] = '\0';
    kd_status status =
        kd_eom_check(c->subject.eom, kd_subject_inputs(&c->subject), c->subject.x, NULL, report, sizeof report);
    if (status >= 0) {
        printf("Derivatives. All that are supplied agree with differences.\n");
        return true;
    }
    printf("Derivatives. %s.\n%s\n", kd_status_sentence(status), report);
    return false;
}

// ---- model files ----------------------------------------------------------------------------------------------------

// Degrees of freedom, tree, loops, redundancy: the assembly found them
static bool tell_assembly(const kd_subject *s)
{
    size_t size = kd_system_describe(s->system, NULL, 0) + 1;
    char  *text = malloc(size);
    if (text) kd_system_describe(s->system, text, size);
    printf("Mechanism.\n");
    kd_cli_print_lines(text ? text : "");
    free(text);
    return s->info.nsingular == 0;
}

// what kd_model_finish doubts
static void tell_warnings(const kd_model *m)
{
    int count = kd_model_warning_count(m);
    if (count == 0)
        printf(
            "Plausibility. Inertias, signs of stiffness and damping, and gravity are plausible, all parts are used.\n");
    if (count > 0) printf("Plausibility. %d %s:\n", count, count == 1 ? "thing looks odd" : "things look odd");
    for (int i = 0; i < count; i++) printf("  %s\n", kd_model_warning(m, i));
}

// The start as given, and what the assembly changed
static bool tell_start(const kd_subject *s)
{
    kd_consistency now = {0};
    double         closure = 0;
    char           name[NAME_SIZE] = "";
    printf("Start. ");
    // before assembly: how far loops are open as they are given
    if (s->info.nloops > 0 && kd_system_closure(s->system, &closure, name, sizeof name) >= 0)
        printf("As given, loops close to %.1e%s%s. ", closure, name[0] ? ", worst in " : "", name);
    if (s->start < 0) {
        printf("It cannot be assembled: %s.\n  %s\n", kd_status_sentence(s->start), s->news);
        return false;
    }
    if (s->news[0]) printf("Assembly: %s. ", s->news);
    if (!s->news[0]) printf("Nothing had to be changed. ");
    // behind it: what is left
    if (kd_initial_residuals(s->eom, kd_subject_inputs(s), s->x, &now) >= 0)
        printf("Residuals at t0: position %.1e, velocity %.1e.", now.position, now.velocity);
    printf("\n");
    kd_cli_tell_caution(s);
    return true;
}

// Friction that depends on reactions: are accelerations and reactions unique?
static bool tell_friction(const kd_subject *s)
{
    kd_solvability found;
    char           words[500];
    // limit: factor by which friction may grow until motion is no longer unique, forwards or backwards
    kd_status status = kd_initial_solvable(s->eom, kd_subject_inputs(s), s->x, &found, words, sizeof words);
    double    limit = fmin(found.limit, found.reversed);
    if (status < 0 && !words[0]) return true; // there is none
    if (words[0])
        printf("Friction. At the start %s.\n", words);
    else if (isfinite(limit))
        printf("Friction. At the start accelerations and reactions are unique; coefficients of friction could be %.3g "
               "times as large.\n",
               limit);
    else
        printf("Friction. At the start accelerations and reactions are unique, however large friction is.\n");
    return status >= 0;
}

// words in the order of a report; good only if all are
static bool check_model(checked *c)
{
    const kd_subject *s = &c->subject;
    tell_structure(c);
    kd_cli_tree_picture(s->system);
    bool good = tell_assembly(s);
    good = tell_start(s) && good;
    if (s->start >= 0) good = tell_friction(s) && good;
    tell_warnings(s->model);
    if (c->derivatives && s->start >= 0) good = check_derivatives(c) && good;
    return good;
}

// ---- examples -------------------------------------------------------------------------------------------------------

// equations in C have no model: rank and derivatives are found by trying
static bool check_example(checked *c)
{
    c->rows = c->dims.nlambda + c->dims.nmu;
    kd_status status = kd_rank_create(c->subject.eom, kd_subject_inputs(&c->subject), &c->rank);
    if (status < 0) {
        fprintf(stderr, "kardan: %s\n", kd_status_sentence(status));
        return false;
    }
    tell_structure(c);
    bool good = check_consistency(c);
    good = check_freedom(c) && good;
    return check_derivatives(c) && good; // written by hand: always
}

// ---- command --------------------------------------------------------------------------------------------------------

static void release(checked *c)
{
    kd_rank_destroy(c->rank);
    kd_subject_close(&c->subject);
}

static kd_cli_parsed read_arguments(checked *c, int argc, char **argv)
{
    kd_cli_option options[1 + KD_SUBJECT_OPTIONS] = {
        {"--derivatives", NULL, "compare the derivatives with differences (examples: always)", KD_CLI_FLAG,
         &c->derivatives},
    };
    int                      count = 1 + kd_subject_options(&c->request, options + 1);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan check MODEL [OPTION...]",
             .about =
                 "Say in words what MODEL, a file (.yaml, .urdf) or an example, is like: its size, degrees of freedom, "
                      "tree\n"
                      "and loops, redundant constraints and reactions that are not unique, whether it can be assembled and what\n"
                      "that changed, implausible inertias and unused parts, and whether its derivatives are right. The exit\n"
                      "status is 0 if it is ready to simulate.",
             .details = "Examples:\n"
                             "  kardan check models/four-bar.yaml\n"
                             "  kardan check robot.urdf --derivatives\n"
                             "  kardan check andrews\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &c->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

int kd_cli_check(int argc, char **argv)
{
    static checked c; // of this one command; large
    kd_cli_parsed  parsed = read_arguments(&c, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status;
    // what cannot be assembled is told, not refused
    c.request.unassembled = true;
    if (kd_subject_open(&c.subject, &c.request, &status)) {
        c.dims = kd_eom_dims(c.subject.eom);
        bool good = c.subject.model ? check_model(&c) : check_example(&c);
        printf("\n%s\n", good ? "Ready to simulate." : "Not ready to simulate: see above.");
        status = good ? KD_EXIT_OK : KD_EXIT_FAILED;
    }
    release(&c);
    return status;
}
