// postmortem.c: what can be said about a run after it failed.
//
// Residuals are evaluated at the last good state, where they are small unless something is inconsistent, and one step
// ahead at p oplus h v, v + h a with the old accelerations and multipliers: what cannot be evaluated there, or is far
// from zero, is what the integrator ran into. Singular constraints: singular values of [GZ; HZ], each row in parts
// of its length in better times; the left vector of the smallest one combines constraints that depend on each other,
// the right one is a velocity that they no longer prevent.
#include "results/postmortem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rounded.h"
#include "core/shortest.h"
#include "core/text.h"
#include "math/dense.h"
#include "probe/probe.h"
#include "results/file.h"

enum { NAME = 160, TOLD = 5, LARGEST = 1000000 /* entries of a matrix that is decomposed */ };

static const double SINGULAR = 1e-8, NEARLY = 1e-2; // smallest singular value of the scaled matrix
static const double VISIBLE = 0.1;                  // part of the largest entry from which a vector's entry is told

typedef struct work {
    kd_arena     arena;
    kd_dims      d;
    kd_eom_data *data;
    double      *p, *v, *r;
    double      *out;
    FILE        *file;
} work;

// ---- states ---------------------------------------------------------------------------------------------------------

static void put_block(FILE *file, const kd_eom *eom, const char *title, kd_kind kind, int n, const double *values)
{
    char name[NAME], number[40];
    if (n > 0) fprintf(file, "\n%s\n", title);
    for (int i = 0; i < n; i++)
        fprintf(file, "  %-44s %s\n", kd_eom_name(eom, kind, i, name, sizeof name),
                kd_shortest_text(values[i], number));
}

static void put_state(FILE *file, const kd_eom *eom, const kd_state *x)
{
    const kd_dims d = kd_eom_dims(eom);
    char          number[40];
    fprintf(file, "\n== last good state ==\n\n  %-44s %s\n", "t", kd_shortest_text(x->t, number));
    put_block(file, eom, "positions", KD_NAME_P, d.np, x->p);
    put_block(file, eom, "velocities", KD_NAME_V, d.nv, x->v);
    put_block(file, eom, "accelerations of", KD_NAME_V, d.nv, x->a);
    put_block(file, eom, "inner states", KD_NAME_R, d.nr, x->r);
    put_block(file, eom, "auxiliary variables", KD_NAME_W, d.nw, x->w);
    put_block(file, eom, "contact coordinates", KD_NAME_S, d.ns, x->s);
    put_block(file, eom, "multipliers of", KD_NAME_LAMBDA, d.nlambda, x->lambda);
    put_block(file, eom, "multipliers of nonholonomic constraints", KD_NAME_MU, d.nmu, x->mu);
    put_block(file, eom, "discrete states", KD_NAME_Z, d.nz, x->z);
}

// ---- residuals ------------------------------------------------------------------------------------------------------

static const struct {
    kd_fn       fn;
    kd_kind     kind;
    const char *title;
} FUNCTIONS[] = {
    {KD_RESIDUAL, KD_NAME_V, "dynamics (force or torque left over) along"},
    {KD_G, KD_NAME_LAMBDA, "constraints on position level"},
    {KD_GI, KD_NAME_LAMBDA, "constraints on velocity level"},
    {KD_GII, KD_NAME_LAMBDA, "constraints on acceleration level"},
    {KD_H, KD_NAME_MU, "nonholonomic constraints"},
    {KD_HI, KD_NAME_MU, "nonholonomic constraints on acceleration level"},
    {KD_C, KD_NAME_S, "equations of contact coordinates"},
    {KD_D, KD_NAME_W, "equations of auxiliary variables"},
    {KD_Q, KD_NAME_Q, "norms of quaternions"},
};
enum { FUNCTIONS_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

// order of the TOLD largest values, largest first; returns their number
static int rank(const double *values, int n, int *order)
{
    int told = 0;
    for (int i = 0; i < n; i++) {
        // insertion among the largest so far
        int at = told < TOLD ? told++ : TOLD;
        for (; at > 0 && fabs(values[order[at - 1]]) < fabs(values[i]); at--)
            if (at < TOLD) order[at] = order[at - 1];
        if (at < TOLD) order[at] = i;
    }
    return told;
}

// The largest rows of a function
static void put_residual(work *w, const kd_eom *eom, int k)
{
    const int rows = kd_eom_rows(eom, FUNCTIONS[k].fn);
    int       order[TOLD + 1];
    char      name[NAME], number[40];
    if (rows == 0) return;
    fprintf(w->file, "\n%s\n", FUNCTIONS[k].title);
    if (kd_eom_eval(w->data, FUNCTIONS[k].fn, w->out) != KD_EVAL_OK) {
        fprintf(w->file, "  cannot be evaluated: %s\n", kd_eom_data_message(w->data));
        return;
    }
    const int told = rank(w->out, rows, order);
    for (int i = 0; i < told; i++)
        fprintf(w->file, "  %-44s %12s\n", kd_eom_name(eom, FUNCTIONS[k].kind, order[i], name, sizeof name),
                kd_rounded_text(w->out[order[i]], "%.4g", number, sizeof number));
}

static bool set_time(work *w, const kd_inputs *inputs, double t, const kd_state *x)
{
    if (kd_eom_at_instant(w->data, inputs, t, x) == KD_EVAL_OK) return true;
    fprintf(w->file, "\nthe inputs cannot be evaluated at t = %.9g s\n", t);
    return false;
}

static void put_residuals(work *w, const kd_postmortem *f)
{
    const kd_state *x = f->x;
    fprintf(w->file, "\n== largest residuals at the last good state ==\n");
    // the evaluation point at all stages of the state
    if (!set_time(w, f->inputs, x->t, x)) return;
    kd_eom_at_position(w->data, x->p, x->s);
    kd_eom_at_velocity(w->data, x->v, x->r);
    kd_eom_at_acceleration(w->data, x->a, x->w, x->lambda, x->mu);
    for (int k = 0; k < FUNCTIONS_COUNT; k++) put_residual(w, f->eom, k);
}

// p oplus h v, v + h a, r + h b
static bool step_ahead(work *w, const kd_postmortem *f)
{
    const kd_state *x = f->x;
    const kd_dims   d = w->d;
    // e = h v
    for (int i = 0; i < d.nv; i++) w->v[i] = f->h * x->v[i];
    if (kd_eom_oplus(w->data, x->p, w->v, w->p) != KD_EVAL_OK) return false;
    for (int i = 0; i < d.nv; i++) w->v[i] = x->v[i] + f->h * x->a[i];
    memcpy(w->r, x->r, (size_t)d.nr * sizeof(double));
    if (d.nr > 0 && kd_eom_eval(w->data, KD_B, w->out) == KD_EVAL_OK) kd_axpy(d.nr, f->h, w->out, w->r);
    return true;
}

static void put_residuals_ahead(work *w, const kd_postmortem *f)
{
    const kd_state *x = f->x;
    // without a next step nothing can be said about what lies ahead
    if (!(f->h > 0) || !step_ahead(w, f)) return;
    fprintf(w->file,
            "\n== largest residuals ahead: t = %.9g s, positions and velocities continued over %.3g s, accelerations "
            "and forces of constraints as they were ==\n",
            x->t + f->h, f->h);
    if (!set_time(w, f->inputs, x->t + f->h, x)) return;
    kd_eom_at_position(w->data, w->p, x->s);
    kd_eom_at_velocity(w->data, w->v, w->r);
    kd_eom_at_acceleration(w->data, x->a, x->w, x->lambda, x->mu);
    for (int k = 0; k < FUNCTIONS_COUNT; k++) put_residual(w, f->eom, k);
}

// ---- singular constraints -------------------------------------------------------------------------------------------

// A (m x n) = rows of GZ and HZ at x
static bool constraint_matrix(work *w, const kd_postmortem *f, const kd_state *x, double *GZ, double *HZ, double *A)
{
    const int rows = w->d.nlambda + w->d.nmu, n = w->d.nv;
    // rows of GZ, then rows of HZ, in one matrix by columns
    if (!set_time(w, f->inputs, x->t, x)) return false;
    kd_eom_at_position(w->data, x->p, x->s);
    kd_eom_at_velocity(w->data, x->v, x->r);
    if (kd_eom_constraint_matrices(w->data, w->d.nlambda ? GZ : NULL, w->d.nmu ? HZ : NULL) != KD_EVAL_OK) return false;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < w->d.nlambda; i++) A[i + rows * j] = GZ[i + w->d.nlambda * j];
        for (int i = 0; i < w->d.nmu; i++) A[w->d.nlambda + i + rows * j] = HZ[i + w->d.nmu * j];
    }
    return true;
}

// scale_i = largest length of row i so far
static void measure_rows(int rows, int columns, const double *A, double *scale)
{
    for (int i = 0; i < rows; i++) {
        double length = 0;
        for (int j = 0; j < columns; j++) length = hypot(length, A[i + rows * j]);
        scale[i] = fmax(scale[i], length);
    }
}

// Entries of a vector that are not small, with their names
static void put_vector(work *w, const kd_eom *eom, const double *vector, int stride, int n, bool constraints)
{
    double most = 0;
    char   name[NAME];
    // what is much smaller than the largest entry plays no part
    for (int i = 0; i < n; i++) most = fmax(most, fabs(vector[i * stride]));
    for (int i = 0; i < n; i++) {
        const double value = vector[i * stride];
        if (fabs(value) < VISIBLE * most) continue;
        // relative to the largest entry
        const bool    holonomic = i < w->d.nlambda;
        const kd_kind kind = !constraints ? KD_NAME_V : holonomic ? KD_NAME_LAMBDA : KD_NAME_MU;
        fprintf(w->file, "  %-44s %8.3f\n",
                kd_eom_name(eom, kind, constraints && !holonomic ? i - w->d.nlambda : i, name, sizeof name),
                value / most);
    }
}

// Singular values, and what the smallest one is about
static void put_singular(work *w, const kd_postmortem *f)
{
    const int m = w->d.nlambda + w->d.nmu, n = w->d.nv;
    kd_arena  arena = {0};
    if (m == 0 || n == 0) return;
    fprintf(w->file, "\n== constraint matrix at the last good state ==\n\n");
    // a decomposition that takes longer than reading the rest
    if ((double)m * n > LARGEST || (double)n * n > LARGEST || (double)m * m > LARGEST) {
        fprintf(w->file, "not decomposed: it has %d rows and %d columns\n", m, n);
        return;
    }
    // lengths of rows in better times and now, the larger ones
    const int least = m < n ? m : n;
    double   *GZ = kd_cut_double(&arena, w->d.nlambda * n), *HZ = kd_cut_double(&arena, w->d.nmu * n);
    double   *A = kd_cut_double(&arena, m * n), *U = kd_cut_double(&arena, m * m), *Vt = kd_cut_double(&arena, n * n);
    double   *sigma = kd_cut_double(&arena, least), *svd = kd_cut_double(&arena, kd_svd_work(m, n));
    double   *scale = kd_cut_double(&arena, m);
    bool      made = !arena.failed;
    if (made && f->before && constraint_matrix(w, f, f->before, GZ, HZ, A)) measure_rows(m, n, A, scale);
    made = made && constraint_matrix(w, f, f->x, GZ, HZ, A);
    if (made) measure_rows(m, n, A, scale);
    // A = U Sigma V', rows in parts of these lengths
    for (int i = 0; made && i < m; i++)
        for (int j = 0; j < n && scale[i] > 0; j++) A[i + m * j] /= scale[i];
    if (!made || kd_svd(m, n, A, U, sigma, Vt, svd) != 0) {
        fprintf(w->file, "could not be evaluated\n");
    } else {
        // more rows than columns: some always depend on others
        const double smallest = m > n ? 0 : sigma[least - 1];
        fprintf(w->file, "%d rows, each divided by its length, %d velocities; singular values from %.3g to %.3g: %s\n",
                m, n, smallest, sigma[0],
                smallest < SINGULAR ? "singular"
                : smallest < NEARLY ? "nearly singular"
                                    : "not singular");
        if (smallest < NEARLY) {
            fprintf(w->file, "\nthese constraints depend on each other (factors)\n");
            // the left vector combines rows, the right one is a motion
            put_vector(w, f->eom, U + (size_t)m * (size_t)(m > n ? m - 1 : least - 1), 1, m, true);
        }
        // a motion only where rows are missing, not where there are too many
        if (sigma[least - 1] < NEARLY) {
            fprintf(w->file, "\nthis motion is hardly prevented any more (velocities)\n");
            put_vector(w, f->eom, Vt + least - 1, n, n, false);
        }
    }
    kd_arena_release(&arena);
}

// ---- the file -------------------------------------------------------------------------------------------------------

static kd_status make_work(work *w, const kd_eom *eom)
{
    // rows of the function with most, without the mass matrix, which is not asked for
    int rows = 1;
    w->d = kd_eom_dims(eom);
    for (int k = 0; k < KD_FN_COUNT; k++)
        if (k != KD_MASS && kd_eom_rows(eom, (kd_fn)k) > rows) rows = kd_eom_rows(eom, (kd_fn)k);
    w->p = kd_cut_double(&w->arena, w->d.np);
    w->v = kd_cut_double(&w->arena, w->d.nv);
    w->r = kd_cut_double(&w->arena, w->d.nr);
    w->out = kd_cut_double(&w->arena, rows);
    return w->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &w->data);
}

static void put_head(FILE *file, const kd_postmortem *f)
{
    // what failed and why, how to see it again, who limited the steps
    fprintf(file, "kardan %s, post-mortem of: %s\n\n", kd_version(), f->title);
    fprintf(file, "%s (%s)\n", kd_status_sentence(f->status), kd_status_name(f->status));
    if (f->message && f->message[0]) fprintf(file, "%s\n", f->message);
    if (f->replay) fprintf(file, "\n== to run into it again from a second before ==\n\n  %s\n", f->replay);
    if (f->explanation) fprintf(file, "\n== step sizes ==\n\n%s", f->explanation);
}

// A state that was shown without accelerations gets those of its forces and multipliers, where there are any
static kd_status complete(const kd_postmortem *f, kd_state **x)
{
    kd_probe *probe = NULL;
    kd_status status = kd_state_create(f->eom, x);
    if (status >= 0) status = kd_state_copy(f->x, *x);
    if (status >= 0) status = kd_probe_create_nameless(f->eom, f->inputs, &probe);
    if (status >= 0) status = kd_probe_set(probe, f->x);
    // where M does not give them either, the state stays as it is
    const double *a = status >= 0 ? kd_probe_values(probe, KD_GROUP_A) : NULL;
    if (a) memcpy((*x)->a, a, (size_t)kd_eom_dims(f->eom).nv * sizeof *a);
    if (a) (*x)->unsolved = false;
    kd_probe_destroy(probe);
    return status;
}

kd_status kd_postmortem_save(const kd_postmortem *facts, const char *path, char *message, size_t size)
{
    // residuals need accelerations: those of the state, or found now
    work                 w = {0};
    kd_state            *x = NULL;
    kd_postmortem        all = *facts;
    const kd_postmortem *f = &all;
    kd_status            status = f->x->unsolved ? complete(facts, &x) : KD_OK;
    if (x) all.x = x;
    if (status >= 0) status = make_work(&w, f->eom);
    if (status < 0) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    status = kd_file_open(path, &w.file, message, size);
    if (status < 0) goto done;
    // from the reason to the numbers: residuals, ahead, constraints, the whole state
    put_head(w.file, f);
    put_residuals(&w, f);
    put_residuals_ahead(&w, f);
    put_singular(&w, f);
    put_state(w.file, f->eom, f->x);
    status = kd_file_close(w.file, path, message, size);
done:
    kd_state_destroy(x);
    kd_eom_data_destroy(w.data);
    kd_arena_release(&w.arena);
    return status;
}
