// blocks.c: sampled blocks, variables and events while a model is built: checks that need no other element, copies.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"
#include "model/element.h"

static const double SHORTEST = 1e-12; // period [s]
// offset / period: beyond this, offset + k period loses the digits of k
static const double MOST_PERIODS = 1e12;

// ---- names ----------------------------------------------------------------------------------------------------------

// as given, or a letter with a number where there are several
static const char *numbered(const char *given, char letter, int i, int n, char buffer[KD_SIGNAL_NAME])
{
    if (given) return given;
    if (n == 1)
        kd_text(buffer, KD_SIGNAL_NAME, "%c", letter);
    else
        kd_text(buffer, KD_SIGNAL_NAME, "%c%d", letter, i + 1);
    return buffer;
}

const char *kd_block_input_name(const kd_block_def *def, int i, char buffer[KD_SIGNAL_NAME])
{
    return numbered(def->input_name[i], 'u', i, def->ninputs, buffer);
}

const char *kd_block_state_name(const kd_block_def *def, int i, char buffer[KD_SIGNAL_NAME])
{
    const char *const *own = kd_block_element_of(def)->states;
    return own ? own[i] : numbered(def->state_name[i], 'z', i, def->nstates, buffer);
}

// for messages: "set.variable.gear", "input[1]", "input"
void kd_signal_field(const char *key, int i, int n, const char *name, char *text, size_t size)
{
    if (name)
        kd_text(text, size, "%s.%s", key, name);
    else if (n > 1)
        kd_text(text, size, "%s[%d]", key, i);
    else
        kd_text(text, size, "%s", key);
}

// ---- checks ---------------------------------------------------------------------------------------------------------

bool kd_block_refuse(kd_model *m, const char *block, const char *field, const char *words)
{
    kd_model_refuse(m, KD_SECTION_BLOCK, block, field, "%s", words);
    return false;
}

// out, out1, out2, ..: outputs in paths
static bool is_output_name(const char *name)
{
    return strncmp(name, "out", 3) == 0 && strspn(name + 3, "0123456789") == strlen(name + 3);
}

// A name that expressions of the block can read: a word of letters, digits and '_' that means nothing else.
static bool check_signal_name(kd_model *m, const char *block, const char *field, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const size_t      length = strlen(name);
    const char       *why = NULL;
    if (length == 0 || length > 60 || strspn(name, letters) != length || strchr("0123456789", name[0]))
        why = "must be a word of letters, digits and '_'";
    else if (strcmp(name, "t") == 0 || kd_expr_is_reserved(name))
        why = "is a word of the expression language";
    else if (is_output_name(name))
        why = "is that of an output";
    if (why) kd_model_refuse(m, KD_SECTION_BLOCK, block, field, "the name '%.60s' %s", name, why);
    return !why;
}

// Inputs and states have different names.
static bool check_signal_names(kd_model *m, const char *block, const kd_block_def *def)
{
    char      text[2][KD_SIGNAL_NAME];
    const int n = def->ninputs + def->nstates;
    // every name against all before it: blocks have a few signals only
    for (int i = 0; i < n; i++) {
        const bool  input = i < def->ninputs;
        const char *key = input ? "input" : "states";
        const char *name =
            input ? kd_block_input_name(def, i, text[0]) : kd_block_state_name(def, i - def->ninputs, text[0]);
        if (!check_signal_name(m, block, key, name)) return false;
        for (int k = 0; k < i; k++) {
            const char *other = k < def->ninputs ? kd_block_input_name(def, k, text[1])
                                                 : kd_block_state_name(def, k - def->ninputs, text[1]);
            if (strcmp(name, other) != 0) continue;
            kd_model_refuse(m, KD_SECTION_BLOCK, block, key, "the name '%s' is used twice", name);
            return false;
        }
    }
    return true;
}

bool kd_block_is_continuous(const kd_block_def *def)
{
    return kd_block_element_of(def)->foreign && isnan(def->period);
}

// Sampling times offset + k period can be told apart by doubles.
static bool check_times(kd_model *m, const char *name, const kd_block_def *def)
{
    if (def->period < SHORTEST)
        return kd_block_refuse(m, name, "period", "the period is below 1e-12 s: too short for steps");
    if (-def->offset > MOST_PERIODS * def->period)
        return kd_block_refuse(m, name, "offset",
                               "the offset lies more than 1e12 periods back: sampling times lose all digits");
    return true;
}

// Times, then what the class asks for, which is all of a block in C; names where expressions can read them
static bool check_block(kd_model *m, const char *name, const kd_block_def *def)
{
    const kd_block_element *class = kd_block_element_of(def);
    if (!class->in_code && !check_times(m, name, def)) return false;
    if (class->check && !class->check(m, name, def)) return false;
    if (class->in_code && !check_times(m, name, def)) return false;
    return !class->named || check_signal_names(m, name, def);
}

static bool is_count(int n)
{
    return n >= 0 && n <= KD_MAX_SIGNALS;
}

// Numbers of signals that follow from the rest
static void count_signals(kd_block_def *def)
{
    if (kd_block_element_of(def)->count) kd_block_element_of(def)->count(def);
}

// ---- adding ---------------------------------------------------------------------------------------------------------

// beyond n: NULL, so that no text of a longer block is left
static void copy_texts(kd_model *m, const char **text, int n)
{
    for (int i = 0; i < KD_MAX_SIGNALS; i++) text[i] = i < n ? kd_model_text(m, text[i]) : NULL;
}

// row by row, as they were given
static const double *copy_matrix(kd_model *m, const double *A, int rows, int columns)
{
    return A ? kd_model_numbers(m, A, rows * columns) : NULL;
}

// Names that a file must have: of all states of a block of expressions, and of all inputs where one has a name
static void name_signals(kd_model *m, kd_block_def *def)
{
    char buffer[KD_SIGNAL_NAME];
    bool named = false;
    for (int i = 0; i < def->ninputs; i++) named = named || def->input_name[i];
    for (int i = 0; named && i < def->ninputs; i++)
        if (!def->input_name[i]) def->input_name[i] = kd_model_text(m, kd_block_input_name(def, i, buffer));
    for (int i = 0; kd_block_element_of(def)->expressions && i < def->nstates; i++)
        if (!def->state_name[i]) def->state_name[i] = kd_model_text(m, kd_block_state_name(def, i, buffer));
}

// numbers of signals are final: only as many texts and matrices are copied; what another kind would use is dropped
static void copy_block(kd_model *m, kd_block_def *def)
{
    const int n = def->nstates, nu = def->ninputs, ny = def->noutputs;
    // signals without names get numbers
    name_signals(m, def);
    copy_texts(m, def->input, nu);
    copy_texts(m, def->input_name, nu);
    copy_texts(m, def->state_name, n);
    copy_texts(m, def->next, n);
    copy_texts(m, def->output, ny);
    // foreign code has its files and names, others do not
    const bool foreign = kd_block_element_of(def)->foreign;
    copy_texts(m, def->output_name, foreign ? ny : 0);
    copy_texts(m, def->parameter_name, foreign ? def->nparameters : 0);
    def->file = foreign ? kd_model_text(m, def->file) : NULL;
    def->path = foreign && def->path ? kd_model_text(m, def->path) : NULL;
    def->arguments = foreign && def->arguments ? kd_model_text(m, def->arguments) : NULL;
    // matrices and polynomials, of the kinds that have them
    const bool matrices = kd_block_element_of(def)->matrices, transfer = kd_block_element_of(def)->polynomials;
    def->A = matrices ? copy_matrix(m, def->A, n, n) : NULL;
    def->B = matrices ? copy_matrix(m, def->B, n, nu) : NULL;
    def->C = matrices ? copy_matrix(m, def->C, ny, n) : NULL;
    def->D = matrices ? copy_matrix(m, def->D, ny, nu) : NULL;
    def->numerator = transfer ? kd_model_numbers(m, def->numerator, def->nnumerator) : NULL;
    def->denominator = transfer ? kd_model_numbers(m, def->denominator, def->ndenominator) : NULL;
}

kd_status kd_model_add_block(kd_model *m, const char *name, const kd_block_def *def)
{
    if (m && name && def && !kd_model_is_made(m, "block", name, def->cookie)) return KD_ERR_ARGUMENT;
    // sizes of arrays first: everything behind this reads them
    if (def &&
        (!is_count(def->ninputs) || !is_count(def->nstates) || !is_count(def->noutputs) || !is_count(def->nparameters)))
        return KD_ERR_ARGUMENT;
    if (def && ((int)def->kind < 0 || (int)def->kind >= KD_BLOCK_KIND_COUNT)) return KD_ERR_ARGUMENT;
    const bool in_code = def && kd_block_element_of(def)->in_code;
    if (in_code && !def->sample) return KD_ERR_ARGUMENT;
    // a block in C has no schema: its class checks its numbers
    kd_status status = kd_model_prepare(m, KD_SECTION_BLOCK, in_code ? KD_SCHEMA_COUNT : KD_SCHEMA_BLOCK, name, def);
    if (status < 0) return status;
    if (!check_block(m, name, def)) {
        kd_model_drop_fields(m);
        return KD_ERR_MODEL;
    }
    // written behind the last one, counted in by kd_model_enter
    kd_block *b = &m->block[m->nblocks];
    *b = (kd_block){kd_model_text(m, name), m->private->source, *def};
    count_signals(&b->def);
    copy_block(m, &b->def);
    return kd_model_enter(m, KD_SECTION_BLOCK, b->name);
}

// Numbers of parameters in a block that is there: only the checks of numbers, and as many states as before
void kd_model_check_block(kd_model *m, int i)
{
    const kd_block *b = &m->block[i];
    kd_block_def    def = b->def;
    // what was checked when it was added and can change with parameters; names and texts stay
    const kd_block_element *class = kd_block_element_of(&def);
    if (class->in_code || !check_times(m, b->name, &def)) return;
    if (class->check) (void)class->check(m, b->name, &def);
    count_signals(&def);
    if (def.nstates != b->def.nstates)
        kd_model_error(m, KD_SECTION_BLOCK, i, "kd", "it would have another number of states; read the model again");
}

kd_status kd_model_add_variable(kd_model *m, const char *name, const kd_variable_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_VARIABLE, KD_SCHEMA_VARIABLE, name, def);
    if (status < 0) return status;
    kd_variable *v = &m->variable[m->nvariables];
    *v = (kd_variable){kd_model_text(m, name), m->private->source, *def};
    return kd_model_enter(m, KD_SECTION_VARIABLE, v->name);
}

kd_status kd_model_add_event(kd_model *m, const char *name, const kd_event_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_EVENT, KD_SCHEMA_EVENT, name, def);
    if (status < 0) return status;
    kd_model_event *e = &m->event[m->nevents];
    *e = (kd_model_event){kd_model_text(m, name), m->private->source, *def};
    e->def.when = kd_model_text(m, def->when);
    e->def.message = kd_model_text(m, def->message);
    // targets and values up to nsettings; the rest may be anything
    for (int i = 0; i < KD_MAX_SETTINGS; i++) {
        e->def.target[i] = i < def->nsettings ? kd_model_text(m, def->target[i]) : NULL;
        e->def.value[i] = i < def->nsettings ? kd_model_text(m, def->value[i]) : NULL;
    }
    return kd_model_enter(m, KD_SECTION_EVENT, e->name);
}
