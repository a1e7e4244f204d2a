// check.c: kardan check: what a model is like before it is simulated, in words: degrees of freedom, redundant
// constraints, consistency of the initial values, supplied derivatives against differences.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MESSAGE_SIZE = 4000, NAME_SIZE = 96, SAMPLES = 3 };

static const double RANK_TOLERANCE = 1e-8; // a pivot below this times the largest is zero
static const double SPREAD = 0.05;         // size of the moves to poses nearby, relative to max(1, |p|)

typedef struct checked {
    const kd_example *example;
    kd_eom           *eom;
    kd_state         *x, *moved;
    kd_inputs         inputs;
    kd_eom_data      *data;
    double           *u;     // (3 nu)
    double           *GZ;    // (rows x nv) [GZ; HZ], row-major scaled copy in A
    double           *HZ;    //
    double           *A;     // (rows x nv)
    int              *order; // (rows) rows in the order of the pivots
    double           *e;     // (nv)
    kd_dims           dims;
    int               rows;
    bool              all_good;
} checked;

static const kd_inputs *inputs_of(const checked *c)
{
    return c->inputs.eval ? &c->inputs : NULL;
}

// ---- rank ---------------------------------------------------------------------------------------

static void swap(double *a, double *b)
{
    double old = *a;
    *a = *b;
    *b = old;
}

// Rank of A (rows x columns, row-major) by elimination with full pivoting; the first rank entries of order are a
// largest set of independent rows.
static int rank_of(double *A, int rows, int columns, int *order)
{
    double largest = 0;
    for (int i = 0; i < rows; i++) order[i] = i;
    for (int k = 0; k < rows && k < columns; k++) {
        int    pi = k, pj = k;
        double pivot = 0;
        for (int i = k; i < rows; i++)
            for (int j = k; j < columns; j++)
                if (fabs(A[i * columns + j]) > pivot) pivot = fabs(A[i * columns + j]), pi = i, pj = j;
        if (k == 0) largest = pivot;
        if (pivot <= RANK_TOLERANCE * largest) return k;
        for (int j = 0; j < columns; j++) swap(&A[k * columns + j], &A[pi * columns + j]);
        for (int i = 0; i < rows; i++) swap(&A[i * columns + k], &A[i * columns + pj]);
        int row = order[k];
        order[k] = order[pi];
        order[pi] = row;
        for (int i = k + 1; i < rows; i++) {
            double factor = A[i * columns + k] / A[k * columns + k];
            for (int j = k; j < columns; j++) A[i * columns + j] -= factor * A[k * columns + j];
        }
    }
    return rows < columns ? rows : columns;
}

// Rank of [GZ; HZ] with rows scaled to length 1; -1 if it cannot be evaluated
static int constraint_rank(checked *c, const kd_state *x)
{
    kd_dims d = c->dims;
    double *u = c->u;
    if (c->inputs.eval && c->inputs.eval(x->t, c->inputs.context, u, u + d.nu, u + 2 * d.nu) != KD_EVAL_OK) return -1;
    kd_eom_at_time(c->data, x->t, u, u + d.nu, u + 2 * d.nu, x->z);
    kd_eom_at_position(c->data, x->p, x->s);
    if (kd_eom_constraint_matrices(c->data, d.nlambda ? c->GZ : NULL, d.nmu ? c->HZ : NULL) != KD_EVAL_OK) return -1;
    for (int i = 0; i < c->rows; i++) {
        const double *matrix = i < d.nlambda ? c->GZ + i : c->HZ + (i - d.nlambda);
        int           stride = i < d.nlambda ? d.nlambda : d.nmu;
        double        length = 0;
        for (int j = 0; j < d.nv; j++) length = hypot(length, matrix[j * stride]);
        for (int j = 0; j < d.nv; j++) c->A[i * d.nv + j] = length > 0 ? matrix[j * stride] / length : 0;
    }
    return rank_of(c->A, c->rows, d.nv, c->order);
}

// ---- the four checks ----------------------------------------------------------------------------

static const char *counted(int n, const char *one, char *buffer, size_t size)
{
    snprintf(buffer, size, "%d %s%s", n, one, n == 1 ? "" : "s");
    return buffer;
}

static void tell_structure(const checked *c)
{
    static const char *const WORD[] = {"position",           "velocity",      "inner state", "auxiliary variable",
                                       "contact coordinate", "norm equation", "invariant",   "input"};
    const int                count[] = {c->dims.np, c->dims.nv, c->dims.nr, c->dims.nw,
                                        c->dims.ns, c->dims.nq, c->dims.ne, c->dims.nu};
    char                     text[64];
    printf("%s: %s\n\nStructure. ", c->example->name, c->example->title);
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

static bool check_consistency(checked *c)
{
    kd_consistency     before;
    kd_initial_options options = kd_initial_options_default();
    char               message[MESSAGE_SIZE] = "";
    printf("Initial values. ");
    kd_status status = kd_initial_residuals(c->eom, inputs_of(c), c->x, &before);
    if (status >= 0) status = kd_initial_consistent(c->eom, inputs_of(c), &options, c->x, message, sizeof message);
    if (status < 0) {
        printf("Not consistent, and no consistent ones were found nearby: %s.\n  %s\n", kd_status_sentence(status),
               message);
        return false;
    }
    printf("Residuals as given: position %.1e, velocity %.1e.", before.position, before.velocity);
    if (status == KD_CORRECTED) {
        printf(" They were corrected: %s.\n", message);
    } else {
        printf(" They are consistent%s%s.\n", message[0] ? "; " : "", message);
    }
    return true;
}

// A reproducible random number in [-1, 1]
static double random_number(unsigned long *seed)
{
    *seed = (*seed * 1103515245UL + 12345UL) & 0x7fffffffUL;
    return 2.0 * (double)*seed / 2147483647.0 - 1.0;
}

// Largest rank at poses nearby that satisfy the constraints; *found counts the poses that could be reached
static int rank_nearby(checked *c, int *found)
{
    kd_initial_options options = kd_initial_options_default();
    unsigned long      seed = 7;
    int                best = 0;
    double             size = 1;
    options.compute_multipliers = false;
    *found = 0;
    for (int i = 0; i < c->dims.np; i++) size = fmax(size, fabs(c->x->p[i]));
    for (int k = 0; k < SAMPLES; k++) {
        for (int j = 0; j < c->dims.nv; j++) c->e[j] = SPREAD * random_number(&seed) * fmin(size, 10);
        kd_state_copy(c->x, c->moved);
        if (kd_eom_oplus(c->data, c->x->p, c->e, c->moved->p) != KD_EVAL_OK) continue;
        if (kd_initial_consistent(c->eom, inputs_of(c), &options, c->moved, NULL, 0) < 0) continue;
        int rank = constraint_rank(c, c->moved);
        if (rank < 0) continue;
        ++*found;
        if (rank > best) best = rank;
    }
    return best;
}

static void name_dropped_rows(const checked *c, int rank)
{
    char name[NAME_SIZE];
    printf("  These follow from the others:");
    for (int i = rank; i < c->rows; i++) {
        int row = c->order[i];
        if (row < c->dims.nlambda) {
            kd_eom_name(c->eom, KD_NAME_LAMBDA, row, name, sizeof name);
        } else {
            kd_eom_name(c->eom, KD_NAME_MU, row - c->dims.nlambda, name, sizeof name);
        }
        printf("%s '%s'", i > rank ? "," : "", name);
    }
    printf(".\n");
}

static bool check_freedom(checked *c)
{
    int found = 0, nearby = c->rows > 0 ? rank_nearby(c, &found) : 0;
    int rank = c->rows > 0 ? constraint_rank(c, c->x) : 0;
    if (rank < 0) {
        printf("Freedom. The constraint matrices cannot be evaluated: %s\n", kd_eom_data_message(c->data));
        return false;
    }
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
        printf("  The motion is unique, the multipliers are not; simulate with --decomposition svd.\n");
    } else {
        printf(c->rows == 1 ? " One constraint.\n" : " All %d constraints are independent.\n", c->rows);
    }
    return generic == rank;
}

static bool check_derivatives(checked *c)
{
    static char report[MESSAGE_SIZE]; // of this one command
    report[0] = '\0';
    kd_status status = kd_eom_check(c->eom, inputs_of(c), c->x, NULL, report, sizeof report);
    if (status >= 0) {
        printf("Derivatives. All that are supplied agree with differences.\n");
        return true;
    }
    printf("Derivatives. %s.\n%s\n", kd_status_sentence(status), report);
    return false;
}

// ---- command ------------------------------------------------------------------------------------

static kd_status prepare(checked *c)
{
    kd_status status = c->example->create(&c->eom, &c->x, &c->inputs);
    if (status < 0) return status;
    c->dims = kd_eom_dims(c->eom);
    c->rows = c->dims.nlambda + c->dims.nmu;
    size_t nv = (size_t)c->dims.nv, rows = (size_t)c->rows;
    c->u = calloc(3 * (size_t)c->dims.nu + 1, sizeof *c->u);
    c->GZ = calloc((size_t)c->dims.nlambda * nv + 1, sizeof *c->GZ);
    c->HZ = calloc((size_t)c->dims.nmu * nv + 1, sizeof *c->HZ);
    c->A = calloc(rows * nv + 1, sizeof *c->A);
    c->order = calloc(rows + 1, sizeof *c->order);
    c->e = calloc(nv + 1, sizeof *c->e);
    if (!c->u || !c->GZ || !c->HZ || !c->A || !c->order || !c->e) return KD_ERR_MEMORY;
    status = kd_eom_data_create(c->eom, &c->data);
    if (status >= 0) status = kd_state_create(c->eom, &c->moved);
    return status;
}

static void release(checked *c)
{
    kd_eom_data_destroy(c->data);
    kd_state_destroy(c->moved);
    kd_state_destroy(c->x);
    kd_eom_destroy(c->eom);
    free(c->u);
    free(c->GZ);
    free(c->HZ);
    free(c->A);
    free(c->order);
    free(c->e);
}

int kd_cli_check(int argc, char **argv)
{
    const char   *name = NULL;
    kd_cli_syntax syntax = {
        .usage = "kardan check EXAMPLE",
        .about =
            "Say in words what an example is like: its size, degrees of freedom, redundant constraints, whether its\n"
            "initial values are consistent, and whether its derivatives are right. The exit status is 0 if all is "
            "well.",
        .details = "Examples:\n  kardan check andrews\n",
        .operand_name = "EXAMPLE",
        .operand = &name,
    };
    kd_cli_parsed parsed = kd_cli_parse(&syntax, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;

    checked c = {.example = kd_cli_find_example(name)};
    if (!c.example) return KD_EXIT_USAGE;
    kd_status status = prepare(&c);
    bool      good = status >= 0;
    if (good) {
        tell_structure(&c);
        good = check_consistency(&c) && good;
        good = check_freedom(&c) && good;
        good = check_derivatives(&c) && good;
        printf("\n%s\n", good ? "Ready to simulate." : "Not ready to simulate: see above.");
    } else {
        fprintf(stderr, "kardan: the example could not be created: %s\n", kd_status_sentence(status));
    }
    release(&c);
    return good ? KD_EXIT_OK : KD_EXIT_FAILED;
}
