// recording.c: keeps channels at the output times: the state, accelerations, inputs, outputs, energies and violations
// of the constraints.
#include "results/recording.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

enum { UNIT_SIZE = 16 };

static const double SAME_TIME = 32 * DBL_EPSILON; // relative; times that are so close are one row

struct kd_recording {
    kd_arena      arena;
    const kd_eom *eom;
    kd_dims       dims;
    kd_inputs     inputs;
    kd_eom_data  *data; // for outputs; NULL: there are none
    double       *u;    // (3 nu) inputs with two derivatives
    int           first[KD_GROUP_COUNT + 1];
    int           columns;
    char (*name)[KD_CHANNEL_NAME]; // (columns)
    char (*unit)[UNIT_SIZE];       // (columns)
    int    *slot;                  // (nslots) columns by the hash of their name; -1: empty
    int     nslots;                // a power of two
    int     capacity, length;
    double *t;      // (capacity)
    double *values; // (capacity x columns)
    char    message[400];
};

// ---- names ----------------------------------------------------------------------------------------------------------

// First slot of a name (FNV-1a)
static int slot_of(const kd_recording *rec, const char *name)
{
    unsigned hash = 2166136261u;
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return (int)(hash & (unsigned)(rec->nslots - 1));
}

int kd_recording_find(const kd_recording *rec, const char *name)
{
    for (int i = slot_of(rec, name); rec->slot[i] >= 0; i = (i + 1) & (rec->nslots - 1))
        if (strcmp(rec->name[rec->slot[i]], name) == 0) return rec->slot[i];
    return -1;
}

static void remember_name(kd_recording *rec, int column)
{
    int i = slot_of(rec, rec->name[column]);
    while (rec->slot[i] >= 0) i = (i + 1) & (rec->nslots - 1);
    rec->slot[i] = column;
}

// The model's name of a component with the word of its group in front (word "": alone); with the index as well if that
// name is taken.
static void name_column(kd_recording *rec, int column, const char *word, const char *letter, int i, const char *name)
{
    char *out = rec->name[column];
    kd_text(out, KD_CHANNEL_NAME, "%s%s%.80s", word, word[0] ? " " : "", name);
    if (kd_recording_find(rec, out) >= 0) kd_text(out, KD_CHANNEL_NAME, "%s[%d] %.60s", letter, i, name);
    for (int k = 2; kd_recording_find(rec, out) >= 0; k++)
        kd_text(out, KD_CHANNEL_NAME, "%s[%d] %.50s (%d)", letter, i, name, k);
    remember_name(rec, column);
}

// Of a velocity that is a path of a model, joint.hinge.v, the acceleration is a path, too: joint.hinge.a
static bool is_rate_path(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot[1] == 'v' && (dot[2] == '\0' || (dot[2] >= '1' && dot[2] <= '9' && dot[3] == '\0'));
}

static void name_components(kd_recording *rec)
{
    // lambda and mu are named after their constraint, accelerations after their velocity, which are other things
    static const struct {
        kd_group    group;
        kd_kind     kind;
        const char *letter, *word;
    } list[] = {
        {KD_GROUP_P, KD_NAME_P, "p", ""},      {KD_GROUP_V, KD_NAME_V, "v", ""},
        {KD_GROUP_R, KD_NAME_R, "r", ""},      {KD_GROUP_W, KD_NAME_W, "w", ""},
        {KD_GROUP_S, KD_NAME_S, "s", ""},      {KD_GROUP_LAMBDA, KD_NAME_LAMBDA, "lambda", "lambda"},
        {KD_GROUP_MU, KD_NAME_MU, "mu", "mu"}, {KD_GROUP_A, KD_NAME_V, "acc", "acc"},
        {KD_GROUP_U, KD_NAME_U, "u", ""},      {KD_GROUP_Y, KD_NAME_Y, "y", ""},
    };
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        for (int j = rec->first[list[k].group]; j < rec->first[list[k].group + 1]; j++) {
            int         i = j - rec->first[list[k].group];
            char        own[KD_CHANNEL_NAME], plain[40];
            const char *name = kd_eom_name(rec->eom, list[k].kind, i, own, sizeof own);
            kd_text(plain, sizeof plain, "%s[%d]", list[k].letter, i);
            bool stands_alone = strcmp(name, plain) == 0;
            if (list[k].group == KD_GROUP_A && is_rate_path(name)) {
                own[strrchr(own, '.') - own + 1] = 'a';
                stands_alone = true;
            }
            name_column(rec, j, stands_alone ? "" : list[k].word, list[k].letter, i, name);
        }
    }
}

static void name_figures(kd_recording *rec)
{
    static const char *const ENERGY[KD_ENERGY_CHANNELS] = {"kinetic energy",    "potential energy", "total energy",
                                                           "dissipated energy", "supplied energy",  "energy balance"};
    static const char *const LEVEL[KD_LEVEL_COUNT] = {"position violation", "velocity violation",
                                                      "acceleration violation"};
    for (int j = rec->first[KD_GROUP_ENERGY], i = 0; j < rec->first[KD_GROUP_ENERGY + 1]; j++, i++) {
        name_column(rec, j, "", "energy", i, ENERGY[i]);
        kd_recording_set_unit(rec, j, "J");
    }
    for (int j = rec->first[KD_GROUP_VIOLATION], i = 0; j < rec->first[KD_GROUP_VIOLATION + 1]; j++, i++)
        name_column(rec, j, "", "violation", i, LEVEL[i]);
}

// ---- life cycle -----------------------------------------------------------------------------------------------------

static void count_columns(kd_recording *rec)
{
    kd_dims   d = rec->dims;
    bool      has_energy = kd_eom_definition(rec->eom)->energies != NULL;
    const int count[KD_GROUP_COUNT] = {d.np,
                                       d.nv,
                                       d.nr,
                                       d.nw,
                                       d.ns,
                                       d.nlambda,
                                       d.nmu,
                                       d.nv,
                                       d.nu,
                                       d.ny,
                                       has_energy ? KD_ENERGY_CHANNELS : 0,
                                       d.nlambda + d.nmu + d.ns > 0 ? KD_LEVEL_COUNT : 0};
    for (int group = 0; group < KD_GROUP_COUNT; group++) rec->first[group + 1] = rec->first[group] + count[group];
    rec->columns = rec->first[KD_GROUP_COUNT];
    for (rec->nslots = 16; rec->nslots < 2 * rec->columns;) rec->nslots *= 2;
}

double kd_recording_bytes(const kd_eom *eom, int capacity)
{
    kd_recording rec = {.eom = eom, .dims = kd_eom_dims(eom)};
    count_columns(&rec);
    return (double)capacity * (rec.columns + 1) * sizeof(double) + (double)rec.columns * (sizeof *rec.name + UNIT_SIZE);
}

kd_status kd_recording_create(const kd_eom *eom, const kd_inputs *inputs, int capacity, kd_recording **recording)
{
    *recording = NULL;
    if (capacity < 1) return KD_ERR_ARGUMENT;
    kd_recording *rec = kd_alloc(sizeof *rec);
    if (!rec) return KD_ERR_MEMORY;
    rec->eom = eom;
    rec->dims = kd_eom_dims(eom);
    if (inputs) rec->inputs = *inputs;
    rec->capacity = capacity;
    count_columns(rec);
    rec->u = kd_cut_double(&rec->arena, 3 * rec->dims.nu);
    rec->t = kd_cut_double(&rec->arena, capacity);
    rec->values = kd_arena_cut(&rec->arena, (size_t)capacity * (size_t)rec->columns, sizeof(double));
    rec->name = kd_arena_cut(&rec->arena, (size_t)rec->columns, sizeof *rec->name);
    rec->unit = kd_arena_cut(&rec->arena, (size_t)rec->columns, sizeof *rec->unit);
    rec->slot = kd_cut_int(&rec->arena, rec->nslots);
    kd_status status = rec->arena.failed ? KD_ERR_MEMORY : KD_OK;
    if (status >= 0 && rec->dims.ny > 0) status = kd_eom_data_create(eom, &rec->data);
    if (status < 0) {
        kd_recording_destroy(rec);
        return status;
    }
    for (int i = 0; i < rec->nslots; i++) rec->slot[i] = -1;
    name_components(rec);
    name_figures(rec);
    *recording = rec;
    return KD_OK;
}

void kd_recording_destroy(kd_recording *rec)
{
    if (!rec) return;
    kd_eom_data_destroy(rec->data);
    kd_arena_release(&rec->arena);
    kd_free(rec);
}

// ---- adding a state -------------------------------------------------------------------------------------------------

static kd_status add_inputs_and_outputs(kd_recording *rec, const kd_state *x, const double *a, double *row)
{
    kd_dims d = rec->dims;
    double *u = rec->u, *du = u + d.nu, *ddu = du + d.nu;
    if (d.nu + d.ny == 0) return KD_OK;
    if (rec->inputs.eval && rec->inputs.eval(x->t, rec->inputs.context, u, du, ddu) != KD_EVAL_OK) {
        kd_text(rec->message, sizeof rec->message, "the inputs cannot be evaluated at t = %.9g", x->t);
        return KD_ERR_CALLBACK_STOP;
    }
    memcpy(row + rec->first[KD_GROUP_U], u, (size_t)d.nu * sizeof(double));
    if (d.ny == 0) return KD_OK;
    kd_eom_at_parameters(rec->data, x->theta);
    kd_eom_at_time(rec->data, x->t, u, du, ddu, x->z);
    kd_eom_at_position(rec->data, x->p, x->s);
    kd_eom_at_velocity(rec->data, x->v, x->r);
    kd_eom_at_acceleration(rec->data, a, x->w, x->lambda, x->mu);
    if (kd_eom_eval(rec->data, KD_Y, row + rec->first[KD_GROUP_Y]) == KD_EVAL_OK) return KD_OK;
    kd_text(rec->message, sizeof rec->message, "%s", kd_eom_data_message(rec->data));
    return kd_eom_data_fault(rec->data).status;
}

static void add_figures(const kd_recording *rec, const kd_findings *f, double *row)
{
    const double energy[KD_ENERGY_CHANNELS] = {f->kinetic,    f->potential, f->kinetic + f->potential,
                                               f->dissipated, f->supplied,  f->balance};
    if (rec->first[KD_GROUP_ENERGY] < rec->first[KD_GROUP_ENERGY + 1])
        memcpy(row + rec->first[KD_GROUP_ENERGY], energy, sizeof energy);
    if (rec->first[KD_GROUP_VIOLATION] < rec->first[KD_GROUP_VIOLATION + 1])
        memcpy(row + rec->first[KD_GROUP_VIOLATION], f->violation, sizeof f->violation);
}

kd_status kd_recording_add(kd_recording *rec, const kd_state *x, const kd_findings *findings)
{
    int n = rec->length;
    if (n == rec->capacity || (n > 0 && x->t - rec->t[n - 1] <= SAME_TIME * fabs(x->t))) return KD_OK;
    double *row = rec->values + (size_t)n * (size_t)rec->columns;
    memcpy(row, x->p, (size_t)x->n * sizeof(double));
    memcpy(row + rec->first[KD_GROUP_A], findings->a, (size_t)rec->dims.nv * sizeof(double));
    kd_status status = add_inputs_and_outputs(rec, x, findings->a, row);
    if (status < 0) return status;
    add_figures(rec, findings, row);
    for (int j = 0; j < rec->columns; j++) {
        if (isfinite(row[j])) continue;
        kd_text(rec->message, sizeof rec->message, "'%s' is not a finite number at t = %.9g", rec->name[j], x->t);
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
int kd_recording_columns(const kd_recording *rec)
{
    return rec->columns;
}
const char *kd_recording_name(const kd_recording *rec, int column)
{
    return rec->name[column];
}
const char *kd_recording_unit(const kd_recording *rec, int column)
{
    return rec->unit[column];
}
void kd_recording_set_unit(kd_recording *rec, int column, const char *unit)
{
    kd_text(rec->unit[column], UNIT_SIZE, "%s", unit ? unit : "");
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
    *first = rec->first[group];
    *count = rec->first[group + 1] - rec->first[group];
}
