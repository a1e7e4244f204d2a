// identify.c: parameters of a model from measured signals, by least squares.
//
//     minimise |r(u)|^2,   r_i = (y(t_i; theta) - measured_i) / sigma,   theta = a + (b - a) u,  0 <= u <= 1
//
// Levenberg and Marquardt's method on the scaled parameters u; columns of J = dr/du are central differences with two steps, of which the difference tells their error.
// A direction of u along which the whole range changes r by less than noise (singular value of J below MOVES) cannot be known from these data: the parameters in it are
// named, and have no deviation. Of the others the covariance is inv(J'J) in the space of the remaining directions (with sigma from the residuals, where it is not given).
#define _POSIX_C_SOURCE 200809L
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/load.h"
#include "core/text.h"
#include "math/dense.h"
#include "modelfile/csv.h"
#include "study/study.h"

enum { ITERATIONS = 60, TRIALS = 12, MESSAGE = 1000 };
static const double STEP = 1e-4;  // of the differences, as a share of the range
static const double MOVES = 1;    // standard deviations of the data that a range must move
static const double SHARE = 0.15; // of a direction that belongs to a parameter
static const double WIDTH = 1.959963984540054;

typedef struct fit {
    const kd_study *study;
    kd_csv_table    table;
    kd_row_maker   *maker;
    int             n, p; // residuals, parameters
    double         *times;
    double         *r, *trial, *coarse; // (n)
    double         *J, *QR;             // (n p)
    double         *A, *R, *U, *Vt;     // (p p)
    double         *sigma, *tau;        // (p)
    int            *column;             // (p)
    int             runs;
    double          scale; // of the residuals, where sigma is not known
    kd_arena        arena;
    char            message[MESSAGE];
} fit;

// ---- residuals ------------------------------------------------------------------------------------------------------

// Weighted differences at u; false: the run failed
static bool residuals(fit *f, const double *u, double *r)
{
    const kd_study *s = f->study;
    double          value[KD_STUDY_MOST];
    for (int j = 0; j < f->p; j++)
        value[j] = s->distribution[j].a + (s->distribution[j].b - s->distribution[j].a) * u[j];
    f->runs++;
    if (kd_row_run(f->maker, value, f->times, f->table.rows, f->message, sizeof f->message) < 0) return false;
    // rows of the run: its start, then the measured times, of which the first may be the start
    kd_recorder  *recorder = kd_row_recorder(f->maker);
    size_t        stride;
    const double *table = kd_recorder_table(recorder, &stride);
    const int     first = kd_recorder_rows(recorder) - f->table.rows;
    for (int c = 0; c < s->nfits; c++) {
        const int place = kd_recorder_place(recorder, kd_recorder_find(recorder, s->fit[c].channel));
        for (int i = 0; i < f->table.rows; i++) {
            const double measured = f->table.number[i * f->table.columns + s->fit[c].column];
            r[c * f->table.rows + i] =
                (table[(size_t)(first + i) * stride + (size_t)place] - measured) / (s->fit[c].sigma * f->scale);
        }
    }
    return true;
}

static double square(int n, const double *r)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += r[i] * r[i];
    return sum;
}

// Column j of J with a step, on the side where there is room
static bool difference(fit *f, const double *u, int j, double h, double *column)
{
    double moved[KD_STUDY_MOST];
    memcpy(moved, u, (size_t)f->p * sizeof *u);
    const double high = fmin(1, u[j] + h), low = fmax(0, u[j] - h);
    moved[j] = high;
    if (!residuals(f, moved, column)) return false;
    moved[j] = low;
    if (!residuals(f, moved, f->trial)) return false;
    for (int i = 0; i < f->n; i++) column[i] = (column[i] - f->trial[i]) / (high - low);
    return true;
}

// All columns
static bool jacobian(fit *f, const double *u)
{
    for (int j = 0; j < f->p; j++)
        if (!difference(f, u, j, STEP, f->J + (size_t)j * (size_t)f->n)) return false;
    return true;
}

// Largest of the errors of the columns, relative, by those of twice the step
static bool judge_jacobian(fit *f, const double *u, double *error)
{
    *error = 0;
    for (int j = 0; j < f->p; j++) {
        const double *column = f->J + (size_t)j * (size_t)f->n;
        double        off = 0;
        if (!difference(f, u, j, 2 * STEP, f->coarse)) return false;
        for (int i = 0; i < f->n; i++) off = fmax(off, fabs(column[i] - f->coarse[i]));
        const double size = sqrt(square(f->n, column) / f->n);
        if (size > 0) *error = fmax(*error, off / (3 * size) * (size > 1e-6));
    }
    return true;
}

// ---- the search -----------------------------------------------------------------------------------------------------

// (J'J + damping diag) step = -J'r
static bool find_step(fit *f, double damping, double *step)
{
    const int p = f->p;
    double    largest = 0;
    // J'J by its lower half
    for (int a = 0; a < p; a++)
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            for (int i = 0; i < f->n; i++)
                sum += f->J[(size_t)a * (size_t)f->n + (size_t)i] * f->J[(size_t)b * (size_t)f->n + (size_t)i];
            f->A[a + b * p] = f->A[b + a * p] = sum;
            if (a == b) largest = fmax(largest, sum);
        }
    // damping by the diagonal, as the units of parameters differ; -J'r
    for (int a = 0; a < p; a++) {
        f->A[a + a * p] += damping * (f->A[a + a * p] + 1e-12 * largest) + DBL_MIN;
        step[a] = 0;
        for (int i = 0; i < f->n; i++) step[a] -= f->J[(size_t)a * (size_t)f->n + (size_t)i] * f->r[i];
    }
    if (kd_cholesky_factor(p, f->A) != 0) return false;
    kd_cholesky_solve(p, f->A, step, 1);
    return true;
}

// One improvement of u; false: there is none
static bool improve(fit *f, double *u, double *damping)
{
    double       step[KD_STUDY_MOST], moved[KD_STUDY_MOST];
    const double before = square(f->n, f->r);
    // Levenberg and Marquardt: more damping until the sum of squares falls; parameters stay in their ranges
    for (int trial = 0; trial < TRIALS; trial++, *damping *= 8) {
        if (!find_step(f, *damping, step)) continue;
        double way = 0;
        for (int j = 0; j < f->p; j++) {
            moved[j] = fmin(1, fmax(0, u[j] + step[j]));
            way = fmax(way, fabs(moved[j] - u[j]));
        }
        if (way < 1e-12) return false;
        if (!residuals(f, moved, f->coarse) || !(square(f->n, f->coarse) < before)) continue;
        // taken: less damping for the next one
        memcpy(u, moved, (size_t)f->p * sizeof *u);
        memcpy(f->r, f->coarse, (size_t)f->n * sizeof *f->r);
        *damping = fmax(1e-9, *damping / 10);
        return before - square(f->n, f->r) > 1e-10 * (before + f->n);
    }
    return false;
}

static kd_status search(fit *f, double *u, kd_identification *out)
{
    double damping = 1e-3;
    if (!residuals(f, u, f->r)) return KD_ERR_NO_EQUILIBRIUM;
    for (out->iterations = 0; out->iterations < ITERATIONS; out->iterations++) {
        if (!jacobian(f, u)) return KD_ERR_NO_EQUILIBRIUM;
        if (!improve(f, u, &damping)) break;
    }
    return jacobian(f, u) && judge_jacobian(f, u, &out->gradient_error) ? KD_OK : KD_ERR_NO_EQUILIBRIUM;
}

// ---- what is known --------------------------------------------------------------------------------------------------

// Singular values and directions of J by those of R in J = Q R
static kd_status decompose(fit *f)
{
    const int p = f->p;
    double   *work = kd_cut_double(&f->arena, kd_qr_work(f->n, p) + kd_svd_work(p, p));
    if (!work) return KD_ERR_MEMORY;
    memcpy(f->QR, f->J, (size_t)f->n * (size_t)p * sizeof *f->J);
    (void)kd_qr_pivot(f->n, p, f->QR, f->column, f->tau, 0, work);
    // columns back in their order
    for (int j = 0; j < p; j++)
        for (int i = 0; i < p; i++)
            f->R[i + f->column[j] * p] = i <= j ? f->QR[(size_t)i + (size_t)j * (size_t)f->n] : 0;
    return kd_svd(p, p, f->R, f->U, f->sigma, f->Vt, work) == 0 ? KD_OK : KD_ERR_NO_EQUILIBRIUM;
}

// Directions that move too little name their parameters, the others give the covariance of u
static kd_status judge(fit *f, kd_identification *out)
{
    const int p = f->p;
    // J = U S V': its singular values tell how much each direction of parameters moves the outputs
    double         *C = kd_cut_matrix(&f->arena, p, p);
    const kd_status status = C ? decompose(f) : KD_ERR_MEMORY;
    if (status < 0) return status;
    // errors of the differences move nothing, either
    const double least = fmax(MOVES, f->sigma[0] * fmin(0.5, fmax(1e-9, 10 * out->gradient_error)) * 1e-3);
    // C = sum over directions that are seen of v v' / s^2; the others name who they are made of
    for (int k = 0; k < p; k++) {
        const bool blind = f->sigma[k] < least;
        out->undetermined += blind;
        for (int i = 0; i < p; i++) {
            const double v = f->Vt[k + i * p];
            if (blind && fabs(v) > SHARE) out->determined[i] = false;
            for (int j = 0; j < p && !blind; j++) C[i + j * p] += v * f->Vt[k + j * p] / (f->sigma[k] * f->sigma[k]);
        }
    }
    // from shares of the ranges to parameters: deviations, then correlations
    for (int i = 0; i < p; i++) {
        const double width = f->study->distribution[i].b - f->study->distribution[i].a;
        out->deviation[i] = out->determined[i] ? width * sqrt(C[i + i * p]) : INFINITY;
        for (int j = 0; j < p; j++)
            out->correlation[i * p + j] =
                out->determined[i] && out->determined[j] ? C[i + j * p] / sqrt(C[i + i * p] * C[j + j * p]) : NAN;
    }
    return KD_OK;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static kd_status load_data(fit *f, char *message, size_t size)
{
    const kd_study *s = f->study;
    char           *text = NULL;
    size_t          length;
    kd_status       status = kd_load_file(s->data_path, KD_CSV_MAX_BYTES, &text, &length, message, size);
    if (status >= 0) status = kd_csv_parse(s->data_path, text, length, false, &f->table, message, size);
    kd_free(text);
    if (status < 0) return status;
    f->n = f->table.rows * s->nfits, f->p = s->nparameters;
    // fewer numbers than parameters determine nothing
    if (f->n <= f->p) {
        kd_text(message, size, "%s: %d numbers are too few for %d parameters", s->data_path, f->n, f->p);
        return KD_ERR_ARGUMENT;
    }
    // a run is shown at these times, so they rise
    f->times = kd_cut_double(&f->arena, f->table.rows);
    for (int i = 0; f->times && i < f->table.rows; i++) {
        f->times[i] = f->table.number[i * f->table.columns + s->time_column];
        if (f->times[i] < 0 || (i > 0 && f->times[i] <= f->times[i - 1])) {
            kd_text(message, size, "%s:%d: times rise, from 0 s on", s->data_path, f->table.line[i]);
            return KD_ERR_ARGUMENT;
        }
    }
    return f->times ? KD_OK : KD_ERR_MEMORY;
}

static kd_status make_room(fit *f)
{
    const int n = f->n, p = f->p;
    f->r = kd_cut_double(&f->arena, n), f->trial = kd_cut_double(&f->arena, n), f->coarse = kd_cut_double(&f->arena, n);
    f->J = kd_cut_matrix(&f->arena, n, p), f->QR = kd_cut_matrix(&f->arena, n, p);
    f->A = kd_cut_matrix(&f->arena, p, p), f->R = kd_cut_matrix(&f->arena, p, p);
    f->U = kd_cut_matrix(&f->arena, p, p), f->Vt = kd_cut_matrix(&f->arena, p, p);
    f->sigma = kd_cut_double(&f->arena, p), f->tau = kd_cut_double(&f->arena, p), f->column = kd_cut_int(&f->arena, p);
    return f->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

static void describe(const fit *f, const double *u, kd_identification *out)
{
    const kd_study *s = f->study;
    out->nparameters = f->p, out->ndata = f->n, out->runs = f->runs;
    for (int j = 0; j < f->p; j++) {
        const double a = s->distribution[j].a, b = s->distribution[j].b;
        out->value[j] = a + (b - a) * u[j];
        out->low[j] = out->value[j] - WIDTH * out->deviation[j],
        out->high[j] = out->value[j] + WIDTH * out->deviation[j];
        out->at_bound[j] = u[j] == 0 || u[j] == 1;
        if (!out->determined[j])
            kd_text_append(out->unknown, sizeof out->unknown, "%s%s", out->unknown[0] ? ", " : "", s->parameter[j]);
    }
    // what is left, in the unit of the first channels: the weights are taken away again
    for (int c = 0; c < s->nfits; c++)
        out->rms[c] =
            sqrt(square(f->table.rows, f->r + c * f->table.rows) / f->table.rows) * s->fit[c].sigma * f->scale;
    out->misfit = square(f->n, f->r) / (f->n - f->p);
}

kd_status kd_study_identify(kd_study *s, kd_identification *out, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (!s || !out || s->nfits == 0) {
        kd_text(message, size, "the study has no data to identify parameters from (identify:)");
        return KD_ERR_ARGUMENT;
    }
    fit    f = {.study = s, .scale = 1};
    double u[KD_STUDY_MOST];
    *out = (kd_identification){0};
    kd_status status = load_data(&f, message, size);
    if (status >= 0) status = make_room(&f);
    if (status >= 0) status = kd_row_maker_create(s, 0, NULL, &f.maker, message, size);
    for (int j = 0; j < s->nparameters; j++) u[j] = 0.5, out->determined[j] = true;
    if (status >= 0 && (status = search(&f, u, out)) < 0) kd_text(message, size, "no fit was found: %s", f.message);
    // one channel without a deviation of its own: that of the residuals
    if (status >= 0 && s->no_sigma) {
        f.scale = sqrt(square(f.n, f.r) / (f.n - f.p));
        if (!(f.scale > 0)) f.scale = DBL_MIN;
        for (int i = 0; i < f.n; i++) f.r[i] /= f.scale;
        for (int i = 0; i < f.n * f.p; i++) f.J[i] /= f.scale;
    }
    if (status >= 0) status = judge(&f, out);
    if (status >= 0) describe(&f, u, out);
    kd_row_maker_destroy(f.maker);
    kd_csv_release(&f.table);
    kd_arena_release(&f.arena);
    return status;
}
