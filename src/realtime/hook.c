// hook.c: rigid joints between steppers (S4 4.3): every module makes its step up to the solution without the joints, the hook finds their
// impulses, and the modules end their steps with them.
//
//     K_i x_i = right-hand side,  K_i X_i = C_i'                each module by itself
//     D Lambda = sum of C_i x_i - sigma_i,  D = sum of C_i X_i   the hook; sigma_i = -h (gII + 2 alpha gI + beta g)
//     x_i <- x_i - X_i Lambda
//
// This is the elimination of the assembled matrix in another order: the same step but for rounding.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"
#include "realtime/internal.h"

// A row of a joint: open rows of two modules, with signs +1 and -1
typedef struct hook_row {
    int module[2], row[2];
} hook_row;

struct kd_hook {
    int           nmodules, n; // n: rows
    kd_realtime **module;
    hook_row     *row;
    double      **response; // (nmodules) of (n x unknowns): X of the rows that the module has, with their signs
    double       *D, *impulse;
    int          *pivot;
    kd_arena      arena;
    char          message[700];
};

// ---- creation -------------------------------------------------------------------------------------------------------

// Rows of models are called "joint 'hinge' shift along x"
static bool is_row_of(const kd_eom *eom, int i, const char *joint)
{
    static const char prefix[] = "joint '";
    char              name[256];
    const size_t      length = strlen(joint);
    kd_eom_name(eom, KD_NAME_LAMBDA, i, name, sizeof name);
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    const char *rest = name + sizeof prefix - 1;
    return strncmp(rest, joint, length) == 0 && rest[length] == '\'';
}

int kd_state_open(const kd_eom *eom, const char *name, kd_state *x)
{
    if (!eom || !name || !kd_state_fits(eom, x)) return 0;
    int count = 0;
    for (int i = 0; i < kd_eom_dims(eom).nlambda; i++)
        if (is_row_of(eom, i, name)) {
            x->active_lambda[i] = 0;
            x->lambda[i] = 0;
            count++;
        }
    return count;
}

static kd_status refuse(char *message, size_t size, const char *words)
{
    kd_text(message, size, "%s", words);
    return KD_ERR_ARGUMENT;
}

static int rows_of_end(const kd_realtime *rt, const char *name)
{
    int n = 0;
    for (int i = 0; i < rt->n.nlambda; i++) n += rt->open[i] && is_row_of(rt->eom, i, name);
    return n;
}

// The same steps everywhere, and only between steps of their own
static kd_status check_modules(kd_realtime *const *m, int n, char *message, size_t size)
{
    for (int i = 0; i < n; i++) {
        if (!m[i]) return refuse(message, size, "kd_hook_create: a module is NULL");
        if (m[i]->nopen == 0)
            return refuse(message, size, "a module has no open rows: kd_state_open, kd_realtime_options.open");
        for (int k = 0; k < i; k++)
            if (m[k] == m[i]) return refuse(message, size, "a module stands twice in the list");
        if (m[i]->opt.h != m[0]->opt.h || m[i]->alpha != m[0]->alpha || m[i]->beta != m[0]->beta ||
            m[i]->opt.stabilisation != m[0]->opt.stabilisation || m[i]->now->t != m[0]->now->t)
            return refuse(message, size, "modules must have the same time, step, stabilisation, alpha and beta");
    }
    return KD_OK;
}

static kd_status check_joints(kd_realtime *const *m, int n, const kd_hook_joint *joint, int njoints, int *rows,
                              char *message, size_t size)
{
    int open = 0;
    *rows = 0;
    for (int i = 0; i < n; i++) open += m[i]->nopen;
    for (int j = 0; j < njoints; j++) {
        const kd_hook_joint *k = &joint[j];
        if (k->first < 0 || k->first >= n || k->second < 0 || k->second >= n || k->first == k->second ||
            !k->first_end || !k->second_end)
            return refuse(message, size, "a joint must name two modules of the list, and an end of each");
        const int a = rows_of_end(m[k->first], k->first_end), b = rows_of_end(m[k->second], k->second_end);
        if (a == 0 || a != b) {
            kd_text(message, size, "joint %d: '%s' has %d open rows, '%s' %d", j + 1, k->first_end, a, k->second_end,
                    b);
            return KD_ERR_ARGUMENT;
        }
        *rows += a;
    }
    if (2 * *rows != open) return refuse(message, size, "every open row must belong to one joint");
    return KD_OK;
}

// The rows of one side of a joint, in their order
static void list_rows(const kd_realtime *rt, const char *end, int module, int side, hook_row *row)
{
    for (int i = 0, n = 0; i < rt->n.nlambda; i++)
        if (rt->open[i] && is_row_of(rt->eom, i, end)) {
            row[n].module[side] = module;
            row[n++].row[side] = i;
        }
}

// An end that two joints name is twice in the list, another one in none
static bool is_row_twice(const kd_hook *h)
{
    for (int i = 0; i < 2 * h->n; i++)
        for (int k = 0; k < i; k++)
            if (h->row[i / 2].module[i % 2] == h->row[k / 2].module[k % 2] &&
                h->row[i / 2].row[i % 2] == h->row[k / 2].row[k % 2])
                return true;
    return false;
}

static bool cut_arrays(kd_hook *h, kd_realtime *const *modules)
{
    kd_arena *a = &h->arena;
    h->module = kd_arena_cut(a, (size_t)h->nmodules, sizeof *h->module);
    h->response = kd_arena_cut(a, (size_t)h->nmodules, sizeof *h->response);
    h->row = kd_arena_cut(a, (size_t)h->n, sizeof *h->row);
    h->D = kd_cut_matrix(a, h->n, h->n);
    h->impulse = kd_cut_double(a, h->n);
    h->pivot = kd_cut_int(a, h->n);
    for (int i = 0; i < h->nmodules && !a->failed; i++) {
        h->module[i] = modules[i];
        h->response[i] = kd_cut_matrix(a, modules[i]->nunknowns, h->n);
    }
    return !a->failed;
}

kd_status kd_hook_create(kd_realtime *const *modules, int nmodules, const kd_hook_joint *joints, int njoints,
                         kd_hook **self, char *message, size_t size)
{
    int rows;
    kd_text(message, size, "%s", "");
    if (self) *self = NULL;
    if (!self || !modules || nmodules < 2 || !joints || njoints < 1)
        return refuse(message, size, "kd_hook_create: two modules and a joint at least");
    kd_status status = check_modules(modules, nmodules, message, size);
    if (status == KD_OK) status = check_joints(modules, nmodules, joints, njoints, &rows, message, size);
    if (status < 0) return status;
    kd_hook *h = kd_alloc(sizeof *h);
    if (!h) return KD_ERR_MEMORY;
    h->nmodules = nmodules, h->n = rows;
    if (!cut_arrays(h, modules)) {
        kd_hook_destroy(h);
        return KD_ERR_MEMORY;
    }
    hook_row *row = h->row;
    for (int j = 0; j < njoints; j++) {
        const kd_hook_joint *k = &joints[j];
        list_rows(modules[k->first], k->first_end, k->first, 0, row);
        list_rows(modules[k->second], k->second_end, k->second, 1, row);
        row += rows_of_end(modules[k->first], k->first_end);
    }
    if (is_row_twice(h)) {
        kd_hook_destroy(h);
        return refuse(message, size, "two joints have the same end");
    }
    *self = h;
    return KD_OK;
}

void kd_hook_destroy(kd_hook *self)
{
    if (!self) return;
    kd_arena_release(&self->arena);
    kd_free(self);
}

const char *kd_hook_message(const kd_hook *self)
{
    return self ? self->message : "";
}

// ---- a step ---------------------------------------------------------------------------------------------------------

// y (nlambda) = C x for open rows, where forces are taken
static const double *along_ends(kd_realtime *rt, const double *x)
{
    memset(rt->rows, 0, (size_t)rt->n.nlambda * sizeof *rt->rows);
    kd_rt_block_multiply(&rt->start.open, 1.0, x, rt->rows);
    return rt->rows;
}

// Column j of X_i and of D: the answer of module i to an impulse along row j, which acts on it with this sign
static void respond(kd_hook *h, int j, int side)
{
    const int    i = h->row[j].module[side], lambda = h->row[j].row[side];
    kd_realtime *rt = h->module[i];
    double      *X = h->response[i] + (size_t)j * (size_t)rt->nunknowns, sign = side == 0 ? 1.0 : -1.0;
    // K X = C' e_j
    memset(X, 0, (size_t)rt->nunknowns * sizeof *X);
    memset(rt->rows, 0, (size_t)rt->n.nlambda * sizeof *rt->rows);
    rt->rows[lambda] = sign;
    kd_rt_block_multiply_t(&rt->start.open, 1.0, rt->rows, X);
    kd_elimination_solve(rt->step.lu, X);
    // D += C X
    const double *y = along_ends(rt, X);
    for (int k = 0; k < h->n; k++)
        for (int other = 0; other < 2; other++)
            if (h->row[k].module[other] == i) h->D[j * h->n + k] += (other == 0 ? 1.0 : -1.0) * y[h->row[k].row[other]];
}

// C x - sigma of one module, added to the right-hand side; sigma stands in the entries of the open rows
static void ask(kd_hook *h, int i)
{
    kd_realtime  *rt = h->module[i];
    const double *sigma = rt->x + rt->n.nv + rt->n.nr, *y = along_ends(rt, rt->x);
    for (int k = 0; k < h->n; k++)
        for (int side = 0; side < 2; side++) {
            const int row = h->row[k].row[side];
            if (h->row[k].module[side] == i) h->impulse[k] += (side == 0 ? 1.0 : -1.0) * (y[row] - sigma[row]);
        }
}

// x_i <- x_i - X_i Lambda; the multipliers of the open rows
static void act(kd_hook *h)
{
    for (int k = 0; k < h->n; k++)
        for (int side = 0; side < 2; side++) {
            const int     i = h->row[k].module[side];
            kd_realtime  *rt = h->module[i];
            const double *X = h->response[i] + (size_t)k * (size_t)rt->nunknowns, impulse = h->impulse[k];
            for (int j = 0; j < rt->nunknowns; j++) rt->x[j] -= X[j] * impulse;
            rt->x[rt->n.nv + rt->n.nr + h->row[k].row[side]] = side == 0 ? impulse : -impulse;
        }
}

// Impulses of all joints
static bool find_impulses(kd_hook *h)
{
    memset(h->D, 0, (size_t)h->n * (size_t)h->n * sizeof *h->D);
    memset(h->impulse, 0, (size_t)h->n * sizeof *h->impulse);
    for (int i = 0; i < h->nmodules; i++) ask(h, i);
    for (int k = 0; k < h->n; k++)
        for (int side = 0; side < 2; side++) respond(h, k, side);
    if (kd_lu_factor(h->n, h->D, h->pivot) != 0) return false;
    kd_lu_solve(h->n, h->D, h->pivot, h->impulse, 1);
    act(h);
    return true;
}

static kd_status tell_module(kd_hook *h, int module, kd_status status)
{
    kd_text(h->message, sizeof h->message, "module %d: %s", module + 1, kd_realtime_message(h->module[module]));
    return status;
}

// No module has moved. ended: how many have made the whole step, begun: the first half
static void retreat(kd_hook *h, int ended, int begun, int failed)
{
    for (int i = 0; i < begun; i++)
        if (i != failed) kd_rt_undo(h->module[i], i < ended);
}

static kd_status make_step(kd_hook *h, const double *const *inputs, double *const *outputs)
{
    kd_status status = KD_OK, news = KD_OK;
    // all modules, without their joints
    for (int i = 0; i < h->nmodules; i++) {
        status = kd_rt_begin_step(h->module[i], inputs ? inputs[i] : NULL);
        if (status == KD_OK) continue;
        retreat(h, 0, i, -1);
        return tell_module(h, i, status);
    }
    // the joints
    if (!find_impulses(h)) {
        retreat(h, 0, h->nmodules, -1);
        kd_text(h->message, sizeof h->message, "step %ld: the joints between the modules depend on each other",
                h->module[0]->steps + 1);
        return KD_ERR_RANK_CHANGE;
    }
    // all modules, with them
    for (int i = 0; i < h->nmodules; i++) {
        status = kd_rt_end_step(h->module[i], outputs ? outputs[i] : NULL);
        if (status < 0) {
            retreat(h, i, h->nmodules, i);
            return tell_module(h, i, status);
        }
        if (status > 0) news = tell_module(h, i, status);
    }
    return news;
}

kd_status kd_hook_step(kd_hook *self, const double *const *inputs, double *const *outputs)
{
    if (!self) return KD_ERR_ARGUMENT;
    for (int i = 0; i < self->nmodules; i++)
        if (self->module[i]->busy) return KD_ERR_BUSY;
    self->message[0] = '\0';
    for (int i = 0; i < self->nmodules; i++) self->module[i]->busy = true;
    const kd_status status = make_step(self, inputs, outputs);
    for (int i = 0; i < self->nmodules; i++) self->module[i]->busy = false;
    return status;
}

// ---- between steps --------------------------------------------------------------------------------------------------

// Rows of one level of all ends, with their signs
static kd_status add_level(kd_hook *h, kd_fn fn, double *sum)
{
    memset(sum, 0, (size_t)h->n * sizeof *sum);
    for (int i = 0; i < h->nmodules; i++) {
        kd_realtime    *rt = h->module[i];
        const kd_status status = kd_rt_rows_now(rt, fn, rt->rows);
        if (status < 0) return tell_module(h, i, status);
        for (int k = 0; k < h->n; k++)
            for (int side = 0; side < 2; side++)
                if (h->row[k].module[side] == i) sum[k] += (side == 0 ? 1.0 : -1.0) * rt->rows[h->row[k].row[side]];
    }
    return KD_OK;
}

kd_status kd_hook_defects(kd_hook *self, kd_realtime_defect *out)
{
    if (!self || !out) return KD_ERR_ARGUMENT;
    *out = (kd_realtime_defect){0};
    kd_status status = add_level(self, KD_G, self->impulse);
    for (int k = 0; k < self->n && status >= 0; k++) out->position = fmax(out->position, fabs(self->impulse[k]));
    if (status >= 0) status = add_level(self, KD_GI, self->impulse);
    for (int k = 0; k < self->n && status >= 0; k++) out->velocity = fmax(out->velocity, fabs(self->impulse[k]));
    return status;
}
