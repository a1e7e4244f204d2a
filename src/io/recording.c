// recording.c: keeps states at the output times and what can be checked about them: the residuals of the constraints on
// three levels, and the energy balance E(t) - E(0) = integral of (supplied - dissipated power) dt.
#include "io/recording.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "io/csv.h"

enum { NAME_SIZE = 96 };
static const double STALE = 1e-9;   // dynamic residual [N] above which x->a does not belong to the state
static const double EXPLODED = 1e8; // growth of positions or velocities that no mechanism has: the run lost its track
static const double SMALLEST_SHOWN = 1e-17; // residuals of exactly 0 on a logarithmic axis

// The last four samples of the power, at steps and output times
typedef struct window {
    int    n, known; // samples; work is known up to this one
    double t[4], power[4];
    int    state[4]; // recorded state at that time; -1: none
    double work;     // integral from the start to sample known
} window;

struct kd_recording {
    kd_arena       arena;
    const kd_eom  *eom;
    kd_inputs      inputs;
    bool           has_inputs;
    kd_eom_data   *data;  // for energies and accelerations
    double        *u;     // (3 nu) inputs with two derivatives
    kd_state      *at;    // a state with other accelerations
    double        *M;     // (nv x nv)
    double        *force; // (nv)
    int            group_first[KD_GROUP_COUNT + 1];
    int            columns;
    int            nv;
    char         **name; // (columns + nv) of the components, then of the accelerations
    int            capacity, length;
    double        *t;                       // (capacity)
    double        *values;                  // (capacity x columns)
    double        *acceleration;            // (capacity x nv)
    double        *residual[3];             // (capacity)
    double        *energy[KD_ENERGY_COUNT]; // (capacity)
    double        *work;                    // (capacity) integral of power = supplied - dissipated
    bool           has_energy;
    window         last;     // for that integral
    double         start[2]; // scale of positions and velocities at the first state
    kd_certificate certificate;
};

// ---- names --------------------------------------------------------------------------------------

static const kd_kind     GROUP_KIND[KD_GROUP_COUNT] = {KD_NAME_P, KD_NAME_V,      KD_NAME_R, KD_NAME_W,
                                                       KD_NAME_S, KD_NAME_LAMBDA, KD_NAME_MU};
static const char *const GROUP_WORD[KD_GROUP_COUNT] = {"p", "v", "r", "w", "s", "lambda", "mu"};

static bool is_taken(const kd_recording *rec, const char *name, int before)
{
    for (int j = 0; j < before; j++)
        if (strcmp(rec->name[j], name) == 0) return true;
    return false;
}

// Column names: the model's, with the letter of the quantity in front where that alone would not tell them apart
static void name_columns(kd_recording *rec)
{
    for (int group = 0; group < KD_GROUP_COUNT; group++) {
        for (int j = rec->group_first[group]; j < rec->group_first[group + 1]; j++) {
            int         i = j - rec->group_first[group];
            char        own[NAME_SIZE], letter[24];
            const char *name = kd_eom_name(rec->eom, GROUP_KIND[group], i, own, sizeof own);
            kd_text(letter, sizeof letter, "%s[%d]", GROUP_WORD[group], i);
            // lambda and mu are named after their constraint, which is another thing
            bool is_plain = strcmp(name, letter) == 0 || group < KD_GROUP_LAMBDA;
            if (is_plain) {
                kd_text(rec->name[j], NAME_SIZE, "%s", name);
            } else {
                kd_text(rec->name[j], NAME_SIZE, "%s %.80s", GROUP_WORD[group], name);
            }
            if (is_taken(rec, rec->name[j], j)) kd_text(rec->name[j], NAME_SIZE, "%s %.70s", letter, name);
        }
    }
}

// "acc" and the name of the velocity component
static void name_accelerations(kd_recording *rec)
{
    for (int i = 0; i < rec->nv; i++) {
        char        own[NAME_SIZE];
        int         j = rec->columns + i;
        const char *name = kd_eom_name(rec->eom, KD_NAME_V, i, own, sizeof own);
        kd_text(rec->name[j], NAME_SIZE, "acc %.80s", name);
        if (is_taken(rec, rec->name[j], j)) kd_text(rec->name[j], NAME_SIZE, "acc[%d] %.70s", i, name);
    }
}

// ---- life cycle ---------------------------------------------------------------------------------

static void cut_arrays(kd_recording *rec, kd_dims dims, int capacity)
{
    rec->u = kd_cut_double(&rec->arena, 3 * dims.nu);
    rec->M = kd_arena_cut(&rec->arena, (size_t)dims.nv * (size_t)dims.nv, sizeof(double));
    rec->force = kd_cut_double(&rec->arena, dims.nv);
    rec->t = kd_cut_double(&rec->arena, capacity);
    rec->values = kd_arena_cut(&rec->arena, (size_t)capacity * (size_t)rec->columns, sizeof(double));
    rec->acceleration = kd_arena_cut(&rec->arena, (size_t)capacity * (size_t)dims.nv, sizeof(double));
    for (int level = 0; level < 3; level++) rec->residual[level] = kd_cut_double(&rec->arena, capacity);
    for (int k = 0; k < KD_ENERGY_COUNT; k++) rec->energy[k] = kd_cut_double(&rec->arena, capacity);
    rec->work = kd_cut_double(&rec->arena, capacity);
    int names = rec->columns + dims.nv;
    rec->name = kd_arena_cut(&rec->arena, (size_t)names, sizeof(char *));
    char *letters = kd_arena_cut(&rec->arena, (size_t)names, NAME_SIZE);
    for (int j = 0; !rec->arena.failed && j < names; j++) rec->name[j] = letters + (size_t)j * NAME_SIZE;
}

kd_status kd_recording_create(const kd_eom *eom, const kd_inputs *inputs, int capacity, kd_recording **recording)
{
    *recording = NULL;
    if (capacity < 1) return KD_ERR_ARGUMENT;
    kd_recording *rec = kd_alloc(sizeof *rec);
    if (!rec) return KD_ERR_MEMORY;

    kd_dims   dims = kd_eom_dims(eom);
    const int count[KD_GROUP_COUNT] = {dims.np, dims.nv, dims.nr, dims.nw, dims.ns, dims.nlambda, dims.nmu};
    for (int group = 0; group < KD_GROUP_COUNT; group++)
        rec->group_first[group + 1] = rec->group_first[group] + count[group];
    rec->columns = rec->group_first[KD_GROUP_COUNT];
    rec->nv = dims.nv;
    rec->eom = eom;
    rec->has_inputs = inputs && inputs->eval;
    if (rec->has_inputs) rec->inputs = *inputs;
    rec->capacity = capacity;
    for (int level = 0; level < 3; level++) rec->certificate.scale[level] = 1;
    rec->has_energy = kd_eom_definition(eom)->energies != NULL;
    cut_arrays(rec, dims, capacity);
    kd_status status = rec->arena.failed ? KD_ERR_MEMORY : kd_eom_data_create(eom, &rec->data);
    if (status >= 0) status = kd_state_create(eom, &rec->at);
    if (status < 0) {
        kd_recording_destroy(rec);
        return status;
    }
    name_columns(rec);
    name_accelerations(rec);
    *recording = rec;
    return KD_OK;
}

void kd_recording_destroy(kd_recording *rec)
{
    if (!rec) return;
    kd_eom_data_destroy(rec->data);
    kd_state_destroy(rec->at);
    kd_arena_release(&rec->arena);
    kd_free(rec);
}

// ---- adding a state -----------------------------------------------------------------------------

// Evaluate at the time, position and velocity of x
static bool go_to(kd_recording *rec, const kd_state *x)
{
    int     nu = kd_eom_dims(rec->eom).nu;
    double *u = rec->u, *du = u + nu, *ddu = du + nu;
    if (rec->has_inputs && rec->inputs.eval(x->t, rec->inputs.context, u, du, ddu) != KD_EVAL_OK) return false;
    kd_eom_at_time(rec->data, x->t, u, du, ddu, x->z);
    kd_eom_at_position(rec->data, x->p, x->s);
    kd_eom_at_velocity(rec->data, x->v, x->r);
    return true;
}

// Solve M y = y by Cholesky; M (n x n, column-major) is overwritten. False: not positive definite.
static bool solve_mass(double *M, int n, double *y)
{
    for (int j = 0; j < n; j++) { // M = L L'
        for (int k = 0; k < j; k++)
            for (int i = j; i < n; i++) M[j * n + i] -= M[k * n + i] * M[k * n + j];
        if (!(M[j * n + j] > 0)) return false;
        double pivot = sqrt(M[j * n + j]);
        for (int i = j; i < n; i++) M[j * n + i] /= pivot;
    }
    for (int j = 0; j < n; j++) { // L y = y
        y[j] /= M[j * n + j];
        for (int i = j + 1; i < n; i++) y[i] -= M[j * n + i] * y[j];
    }
    for (int j = n - 1; j >= 0; j--) { // L' y = y
        for (int i = j + 1; i < n; i++) y[j] -= M[j * n + i] * y[i];
        y[j] /= M[j * n + j];
    }
    return true;
}

// The acceleration that forces and multipliers of x give, a = M \ (f - (GZ)' lambda - (HZ)' mu), in rec->at
static bool accelerate(kd_recording *rec, const kd_state *x)
{
    int     nv = kd_eom_dims(rec->eom).nv;
    double *a = rec->at->a;
    if (!go_to(rec, x)) return false;
    kd_state_copy(x, rec->at);
    for (int i = 0; i < nv; i++) a[i] = 0;
    kd_eom_at_acceleration(rec->data, a, x->w, x->lambda, x->mu);
    if (kd_eom_eval(rec->data, KD_MASS, rec->M) != KD_EVAL_OK) return false;
    if (kd_eom_eval(rec->data, KD_RESIDUAL, rec->force) != KD_EVAL_OK) return false;
    for (int i = 0; i < nv; i++) a[i] = -rec->force[i];
    return solve_mass(rec->M, nv, a);
}

// Integral of f from t[i] to t[i + 1] for the polynomial through n <= 4 points: Lagrange's form, two Gauss points,
// exact for cubics.
static double integral_between(const double *t, const double *f, int n, int i)
{
    double middle = 0.5 * (t[i] + t[i + 1]), half = 0.5 * (t[i + 1] - t[i]), sum = 0;
    for (int g = -1; g <= 1; g += 2) {
        double at = middle + g * half / sqrt(3.0);
        for (int j = 0; j < n; j++) {
            double weight = 1;
            for (int k = 0; k < n; k++)
                if (k != j) weight *= (at - t[k]) / (t[j] - t[k]);
            sum += weight * f[j];
        }
    }
    return half * sum;
}

// Work up to sample i of the window, given to the recorded states on the way
static void integrate_to(kd_recording *rec, window *w, int i)
{
    for (; w->known < i; w->known++) {
        w->work += integral_between(w->t, w->power, w->n, w->known);
        if (w->state[w->known + 1] >= 0) rec->work[w->state[w->known + 1]] = w->work;
    }
}

// One more sample. An interval is integrated when a point behind it is known, so that the polynomial reaches over both
// ends.
static void push_sample(kd_recording *rec, double t, double power, int state)
{
    window *w = &rec->last;
    if (w->n == 4) {
        for (int i = 0; i < 3; i++) w->t[i] = w->t[i + 1], w->power[i] = w->power[i + 1], w->state[i] = w->state[i + 1];
        w->n = 3;
        w->known--;
    }
    w->t[w->n] = t;
    w->power[w->n] = power;
    w->state[w->n] = state;
    w->n++;
    if (w->n == 4) integrate_to(rec, w, 2);
}

// Energies at x; state: index of the recorded state, -1: for the work only
static kd_status add_energies(kd_recording *rec, const kd_state *x, int state)
{
    const window *w = &rec->last;
    kd_energies   energies;
    if (!go_to(rec, x)) return KD_ERR_CALLBACK_STOP;
    if (kd_eom_energies(rec->data, &energies) != KD_EVAL_OK) return kd_eom_data_fault(rec->data).status;
    if (state >= 0) {
        rec->energy[KD_ENERGY_KINETIC][state] = energies.kinetic;
        rec->energy[KD_ENERGY_POTENTIAL][state] = energies.potential;
        rec->energy[KD_ENERGY_TOTAL][state] = energies.kinetic + energies.potential;
    }
    if (w->n == 0 || x->t > w->t[w->n - 1]) {
        push_sample(rec, x->t, energies.supplied - energies.dissipated, state);
    } else if (x->t == w->t[w->n - 1]) { // a step that ends at an output time
        rec->last.state[w->n - 1] = state >= 0 ? state : w->state[w->n - 1];
    }
    return KD_OK;
}

kd_status kd_recording_sample(kd_recording *rec, const kd_state *x)
{
    return rec->has_energy ? add_energies(rec, x, -1) : KD_OK;
}

static void name_equation(const kd_recording *rec, int row, char *text, size_t size)
{
    int nlambda = kd_eom_dims(rec->eom).nlambda;
    if (row < 0) {
        kd_text(text, size, "%s", "");
    } else if (row < nlambda) {
        kd_eom_name(rec->eom, KD_NAME_LAMBDA, row, text, size);
    } else {
        kd_eom_name(rec->eom, KD_NAME_MU, row - nlambda, text, size);
    }
}

// Largest components so far: residuals are judged relative to them
static void widen_scale(kd_recording *rec, const kd_state *x, const double *a)
{
    kd_dims       dims = kd_eom_dims(rec->eom);
    const double *values[3] = {x->p, x->v, a};
    const int     count[3] = {dims.np, dims.nv, dims.nv};
    for (int level = 0; level < 3; level++)
        for (int i = 0; i < count[level]; i++)
            rec->certificate.scale[level] = fmax(rec->certificate.scale[level], fabs(values[level][i]));
    for (int level = 0; level < 2; level++) {
        if (rec->length == 0) rec->start[level] = rec->certificate.scale[level];
        if (rec->certificate.scale[level] > EXPLODED * rec->start[level]) rec->certificate.exploded = true;
    }
}

static kd_status add_residuals(kd_recording *rec, const kd_state *x)
{
    const kd_inputs *inputs = rec->has_inputs ? &rec->inputs : NULL;
    kd_consistency   res;
    kd_status        status = kd_initial_residuals(rec->eom, inputs, x, &res);
    const double    *a = x->a;
    // Between steps not every formulation knows the acceleration: then that of the forces counts.
    if (status >= 0 && res.dynamics > STALE && accelerate(rec, x)) {
        status = kd_initial_residuals(rec->eom, inputs, rec->at, &res);
        a = rec->at->a;
    }
    for (int i = 0; status >= 0 && i < rec->nv; i++)
        if (!isfinite(a[i])) status = KD_ERR_NOT_FINITE;
    if (status < 0) return status;
    memcpy(rec->acceleration + (size_t)rec->length * (size_t)rec->nv, a, (size_t)rec->nv * sizeof(double));
    widen_scale(rec, x, a);
    const double value[3] = {res.position, res.velocity, res.acceleration};
    const int    row[3] = {res.worst_position, res.worst_velocity, res.worst_acceleration};
    for (int level = 0; level < 3; level++) {
        rec->residual[level][rec->length] = fmax(value[level], SMALLEST_SHOWN);
        if (value[level] <= rec->certificate.residual[level]) continue;
        rec->certificate.residual[level] = value[level];
        rec->certificate.time[level] = x->t;
        name_equation(rec, row[level], rec->certificate.equation[level], sizeof rec->certificate.equation[level]);
    }
    return KD_OK;
}

kd_status kd_recording_add(kd_recording *rec, const kd_state *x)
{
    int n = rec->length;
    if (n == rec->capacity || (n > 0 && x->t <= rec->t[n - 1])) return KD_OK;
    for (int j = 0; j < rec->columns; j++)
        if (!isfinite(x->p[j])) return KD_ERR_NOT_FINITE;
    kd_status status = add_residuals(rec, x);
    if (status >= 0 && rec->has_energy) status = add_energies(rec, x, n);
    if (status < 0) return status;
    rec->t[n] = x->t;
    memcpy(rec->values + (size_t)n * (size_t)rec->columns, x->p, (size_t)rec->columns * sizeof(double));
    rec->length = n + 1;
    return KD_OK;
}

// ---- energy balance -----------------------------------------------------------------------------

static void update_balance(kd_recording *rec)
{
    double *balance = rec->energy[KD_ENERGY_BALANCE], *total = rec->energy[KD_ENERGY_TOTAL];
    double  kinetic = 0, low = INFINITY, high = -INFINITY;
    window  rest = rec->last;
    integrate_to(rec, &rest, rest.n - 1); // the last intervals, for now without a point behind them
    rec->certificate.energy_error = 0;
    for (int i = 0; i < rec->length; i++) {
        balance[i] = total[i] - total[0] - rec->work[i];
        rec->certificate.energy_error = fmax(rec->certificate.energy_error, fabs(balance[i]));
        kinetic = fmax(kinetic, rec->energy[KD_ENERGY_KINETIC][i]);
        low = fmin(low, rec->energy[KD_ENERGY_POTENTIAL][i]);
        high = fmax(high, rec->energy[KD_ENERGY_POTENTIAL][i]);
    }
    rec->certificate.energy_scale = rec->length > 0 ? kinetic + (high - low) : 0;
    rec->certificate.has_energy = true;
}

// ---- queries ------------------------------------------------------------------------------------

const kd_eom *kd_recording_eom(const kd_recording *rec)
{
    return rec->eom;
}
int kd_recording_length(const kd_recording *rec)
{
    return rec->length;
}
int kd_recording_columns(const kd_recording *rec)
{
    return rec->columns;
}
const char *kd_recording_name(const kd_recording *rec, int column)
{
    return rec->name[column];
}
const double *kd_recording_times(const kd_recording *rec)
{
    return rec->t;
}
const double *kd_recording_values(const kd_recording *rec)
{
    return rec->values;
}
const double *kd_recording_accelerations(const kd_recording *rec)
{
    return rec->acceleration;
}
const char *kd_recording_acceleration_name(const kd_recording *rec, int i)
{
    return rec->name[rec->columns + i];
}
const double *kd_recording_residuals(const kd_recording *rec, int level)
{
    return rec->residual[level];
}

void kd_recording_group(const kd_recording *rec, kd_group group, int *first, int *count)
{
    *first = rec->group_first[group];
    *count = rec->group_first[group + 1] - rec->group_first[group];
}

const double *kd_recording_energy(kd_recording *rec, kd_energy which)
{
    if (!rec->has_energy) return NULL;
    update_balance(rec);
    return rec->energy[which];
}

kd_certificate kd_recording_certificate(kd_recording *rec)
{
    if (rec->has_energy) update_balance(rec);
    return rec->certificate;
}

// ---- table --------------------------------------------------------------------------------------

static const char *const ENERGY_NAME[KD_ENERGY_COUNT] = {"kinetic energy", "potential energy", "total energy",
                                                         "energy balance"};

kd_status kd_recording_save_csv(kd_recording *rec, const char *path, char *message, size_t size)
{
    kd_arena     arena = {0};
    kd_csv      *csv = NULL;
    int          states = rec->columns + rec->nv, energies = rec->has_energy ? KD_ENERGY_COUNT : 0;
    int          total = 1 + states + energies;
    const char **name = kd_arena_cut(&arena, (size_t)total, sizeof(char *));
    double      *row = kd_cut_double(&arena, total);
    kd_status    status = KD_ERR_MEMORY;
    if (arena.failed) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    if (rec->has_energy) update_balance(rec);
    name[0] = "t";
    for (int j = 0; j < states; j++) name[1 + j] = rec->name[j];
    for (int k = 0; k < energies; k++) name[1 + states + k] = ENERGY_NAME[k];
    status = kd_csv_create(path, total, name, &csv, message, size);
    for (int i = 0; status >= 0 && i < rec->length; i++) {
        row[0] = rec->t[i];
        memcpy(row + 1, rec->values + (size_t)i * (size_t)rec->columns, (size_t)rec->columns * sizeof(double));
        memcpy(row + 1 + rec->columns, rec->acceleration + (size_t)i * (size_t)rec->nv,
               (size_t)rec->nv * sizeof(double));
        for (int k = 0; k < energies; k++) row[1 + states + k] = rec->energy[k][i];
        status = kd_csv_row(csv, row);
    }
    if (status == KD_ERR_NOT_FINITE)
        kd_text(message, size, "an energy is NaN or infinite; '%s' is cut off there", path);
    kd_status closed = kd_csv_close(csv, status == KD_ERR_NOT_FINITE ? NULL : message, size);
    if (status >= 0 || closed == KD_ERR_FILE) status = closed < 0 ? closed : status;
done:
    kd_arena_release(&arena);
    return status;
}
