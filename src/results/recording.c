// recording.c: keeps channels at the output times: the state, accelerations, inputs, outputs, energies and violations
// of the constraints.
#include "results/recording.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"
#include "probe/probe.h"

// Equations, Newton matrices and history of a run by the number of velocities: chains and free bodies of 60 to 240 in
// joint, 60 to 180 in Cartesian coordinates, psf, ggl, ode, index1, statespace took 660 to 2000 bytes per square.
static const double BYTES_PER_SQUARE = 1000;
static const double SAME_TIME = 32 * DBL_EPSILON; // relative; times that are so close are one row

struct kd_recording {
    kd_arena         arena;
    kd_probe        *probe; // the caller's
    const kd_eom    *eom;
    kd_dims          dims;
    int              first[KD_RECORDED_GROUPS + 1]; // first column of each group; the last entry is their number
    int              columns;
    kd_channel_names names;
    bool             unbalanced; // nobody knows the energies of the run: NaN
    int              capacity, length;
    double          *t;      // (capacity)
    double          *values; // (capacity x columns)
    char             message[400];
};

// ---- names ----------------------------------------------------------------------------------------------------------

int kd_recording_find(const kd_recording *rec, const char *name)
{
    return kd_channel_names_find(&rec->names, name);
}

// Figures of the run beside those of states
static void name_figures(kd_recording *rec)
{
    static const char *const of_run[KD_ENERGY_CHANNELS - 3] = {"dissipated energy", "supplied energy",
                                                               "energy balance"};
    for (int j = rec->first[KD_GROUP_ENERGY], i = 0; j < rec->first[KD_GROUP_ENERGY + 1]; j++, i++) {
        kd_channel_names_add(&rec->names, "", "energy", i, i < 3 ? KD_ENERGY_WORD[i] : of_run[i - 3]);
        kd_recording_set_unit(rec, j, "J");
    }
    for (int j = rec->first[KD_GROUP_VIOLATION], i = 0; j < rec->first[KD_GROUP_VIOLATION + 1]; j++, i++)
        kd_channel_names_add(&rec->names, "", "violation", i, KD_VIOLATION_WORD[i]);
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

// Columns of each group; answers their number
static int count_columns(const kd_eom *eom, int first[KD_RECORDED_GROUPS + 1])
{
    // as many as the probe has, three energies more
    first[0] = 0;
    for (int group = 0; group < KD_RECORDED_GROUPS; group++) {
        const int count = kd_group_count(eom, NULL, (kd_group)group);
        first[group + 1] = first[group] + (group == KD_GROUP_ENERGY && count > 0 ? KD_ENERGY_CHANNELS : count);
    }
    return first[KD_RECORDED_GROUPS];
}

double kd_recording_bytes(const kd_eom *eom, int capacity)
{
    int       first[KD_RECORDED_GROUPS + 1];
    const int columns = count_columns(eom, first);
    // rows with their time, and the names
    return (double)capacity * (columns + 1) * sizeof(double) + (double)columns * (KD_CHANNEL_NAME + KD_CHANNEL_UNIT);
}

double kd_run_bytes(int velocities)
{
    return BYTES_PER_SQUARE * velocities * velocities;
}

kd_status kd_recording_create(kd_probe *probe, int capacity, kd_recording **recording)
{
    if (recording) *recording = NULL;
    if (!probe || !recording || capacity < 1) return KD_ERR_ARGUMENT;
    kd_recording *rec = kd_alloc(sizeof *rec);
    if (!rec) return KD_ERR_MEMORY;
    rec->probe = probe;
    rec->eom = kd_probe_eom(probe);
    rec->dims = kd_eom_dims(rec->eom);
    rec->capacity = capacity;
    rec->columns = count_columns(rec->eom, rec->first);
    // all rows of the run at once: nothing is allocated while it goes on
    rec->t = kd_cut_double(&rec->arena, capacity);
    rec->values = kd_arena_cut(&rec->arena, (size_t)capacity * (size_t)rec->columns, sizeof(double));
    if (!kd_channel_names_cut(&rec->names, &rec->arena, rec->columns)) {
        kd_recording_destroy(rec);
        return KD_ERR_MEMORY;
    }
    // names: components of the equations, then figures of the run; units as the probe knows them
    kd_channel_names_of_equations(&rec->names, rec->eom);
    name_figures(rec);
    for (int j = 0; j < rec->first[KD_GROUP_ENERGY]; j++) kd_recording_set_unit(rec, j, kd_probe_unit(probe, j));
    *recording = rec;
    return KD_OK;
}

void kd_recording_destroy(kd_recording *rec)
{
    if (!rec) return;
    kd_arena_release(&rec->arena);
    kd_free(rec);
}

void kd_recording_set_balanced(kd_recording *rec, bool balanced)
{
    rec->unbalanced = !balanced;
}

// The energies of the run are behind the three of states
bool kd_recording_knows(const kd_recording *rec, int column)
{
    return !rec->unbalanced || column < rec->first[KD_GROUP_ENERGY] + 3 || column >= rec->first[KD_GROUP_ENERGY + 1];
}

// ---- adding a state -------------------------------------------------------------------------------------------------

// What has to be evaluated: inputs and outputs
static kd_status add_inputs_and_outputs(kd_recording *rec, double *row)
{
    // groups that a state does not hold; energies of the state where the certificate does not tell them
    static const kd_group list[] = {KD_GROUP_U, KD_GROUP_Y, KD_GROUP_ENERGY};
    for (int k = 0; k < (rec->unbalanced ? 3 : 2); k++) {
        const int     first = rec->first[list[k]], count = kd_group_count(rec->eom, NULL, list[k]);
        const double *value = count > 0 ? kd_probe_values(rec->probe, list[k]) : NULL;
        if (count > 0 && !value) {
            kd_text(rec->message, sizeof rec->message, "%s", kd_probe_message(rec->probe));
            return kd_probe_status(rec->probe);
        }
        if (count > 0) memcpy(row + first, value, (size_t)count * sizeof *row);
    }
    return KD_OK;
}

// Energies and violations, as the certificate found them
static void add_figures(const kd_recording *rec, const kd_findings *f, double *row)
{
    // energies of the state, then those that were spent and fed since the start
    const double energy[KD_ENERGY_CHANNELS] = {f->kinetic,    f->potential, f->kinetic + f->potential,
                                               f->dissipated, f->supplied,  f->balance};
    if (!rec->unbalanced && rec->first[KD_GROUP_ENERGY] < rec->first[KD_GROUP_ENERGY + 1])
        memcpy(row + rec->first[KD_GROUP_ENERGY], energy, sizeof energy);
    for (int j = 0; j < rec->columns; j++)
        if (!kd_recording_knows(rec, j)) row[j] = NAN;
    if (rec->first[KD_GROUP_VIOLATION] < rec->first[KD_GROUP_VIOLATION + 1])
        memcpy(row + rec->first[KD_GROUP_VIOLATION], f->violation, sizeof f->violation);
}

kd_status kd_recording_add(kd_recording *rec, const kd_state *x, const kd_findings *findings)
{
    int n = rec->length;
    // full, or the same time once more (the end of a run that is a wanted time, too)
    if (n == rec->capacity || (n > 0 && x->t - rec->t[n - 1] <= SAME_TIME * fabs(x->t))) return KD_OK;
    double *row = rec->values + (size_t)n * (size_t)rec->columns;
    // the state as it is, accelerations as they were found, then what has to be evaluated
    memcpy(row, x->p, (size_t)x->n * sizeof(double));
    memcpy(row + rec->first[KD_GROUP_A], findings->a, (size_t)rec->dims.nv * sizeof(double));
    // the certifier has left the probe at this state, unless it has one of its own
    kd_status status = findings->probe == rec->probe ? KD_OK : kd_probe_set_with(rec->probe, x, findings->a);
    if (status >= 0) status = add_inputs_and_outputs(rec, row);
    if (status < 0) return status;
    add_figures(rec, findings, row);
    // no row with NaN or infinity
    for (int j = 0; j < rec->columns; j++) {
        if (isfinite(row[j]) || !kd_recording_knows(rec, j)) continue;
        kd_text(rec->message, sizeof rec->message, "'%s' is not a finite number at t = %.9g", rec->names.name[j], x->t);
        return KD_ERR_NOT_FINITE;
    }
    rec->t[n] = x->t;
    rec->length = n + 1;
    return KD_OK;
}

const char *kd_recording_message(const kd_recording *rec)
{
    return rec ? rec->message : "";
}

// ---- queries --------------------------------------------------------------------------------------------------------

const kd_eom *kd_recording_eom(const kd_recording *rec)
{
    return rec ? rec->eom : NULL;
}
int kd_recording_length(const kd_recording *rec)
{
    return rec->length;
}
int kd_recording_capacity(const kd_recording *rec)
{
    return rec->capacity;
}
int kd_recording_columns(const kd_recording *rec)
{
    return rec->columns;
}
const char *kd_recording_name(const kd_recording *rec, int column)
{
    return rec->names.name[column];
}
const char *kd_recording_unit(const kd_recording *rec, int column)
{
    return rec->names.unit[column];
}
void kd_recording_set_unit(kd_recording *rec, int column, const char *unit)
{
    kd_channel_names_set_unit(&rec->names, column, unit);
}
const double *kd_recording_times(const kd_recording *rec)
{
    return rec ? rec->t : NULL;
}
const double *kd_recording_values(const kd_recording *rec)
{
    return rec ? rec->values : NULL;
}

void kd_recording_group(const kd_recording *rec, kd_group group, int *first, int *count)
{
    const bool recorded = (int)group < KD_RECORDED_GROUPS;
    *first = recorded ? rec->first[group] : 0;
    *count = recorded ? rec->first[group + 1] - rec->first[group] : 0;
}
