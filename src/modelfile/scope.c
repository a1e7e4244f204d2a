// scope.c: names with values while a file is read: parameters, which may use each other in any order, and indices of
// repetition; numbers that are made with them (names and laws: scope_texts.c).
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "expr/quantity.h"
#include "modelfile/find.h"
#include "modelfile/scope.h"

// ---- symbols of expressions -----------------------------------------------------------------------------------------

static bool compute_parameter(kd_reader *r, int i);

// A parameter of the scope that is being read, or of one inside of it: its name with those of the subsystems around it
static int find_parameter(const kd_reader *r, const char *name)
{
    char full[KD_EXPR_MAX_NAME + 1];
    if (strncmp(name, "parameter.", 10) == 0)
        return kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, name + 10);
    if (!r->scope || r->scope->number == 0) return kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, name);
    const int length = snprintf(full, sizeof full, "%s.%s", r->scope->name, name);
    return length < (int)sizeof full ? kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, full) : -1;
}

bool kd_reader_has_parameter(const kd_reader *r, const char *name)
{
    return find_parameter(r, name) >= 0;
}

bool kd_reader_find_index(const kd_reader *r, const char *name, int *k)
{
    for (*k = r->nindices - 1; *k >= 0; --*k) {
        if (strcmp(r->index[*k], name) == 0) return true;
    }
    return false;
}

// A name in an expression of the file: index, parameter, or nothing that has a value now
static bool find_symbol(const char *name, void *context, kd_symbol *out)
{
    kd_reader *r = context;
    int        k;
    *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER};
    // indices of repetition first, the innermost first
    if (kd_reader_find_index(r, name, &k)) {
        if (r->indices_vary)
            *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = k};
        else
            out->number = r->index_value[k];
        return true;
    }
    // parameters, computed when they are needed
    int i = find_parameter(r, name);
    if (i >= 0) {
        r->parameter[i].used = true;
        compute_parameter(r, i); // if it is wrong, that has been said: go on with the value 1
        out->number = r->parameter[i].value;
        r->reads_parameter = true;
        if (r->parameters_live) *out = (kd_symbol){KD_SYMBOL_PARAMETER, .number = out->number, .slot = i};
        return true;
    }
    // what only a simulation knows is named in the message
    if ((strcmp(name, "t") == 0 || strchr(name, '.')) && !r->denied[0]) {
        kd_text(r->denied, sizeof r->denied, "%.90s", name);
    }
    return false;
}

static const char *suggest_symbol(const char *name, void *context)
{
    const kd_reader *r = context;
    kd_nearest       nearest = kd_nearest_start(name);
    const size_t     around = r->scope && r->scope->number > 0 ? strlen(r->scope->name) + 1 : 0;
    for (int i = 0; i < r->nparameters; i++) {
        const char *other = r->parameter[i].name;
        const bool  inside =
            around == 0 || (strncmp(other, r->scope->name, around - 1) == 0 && other[around - 1] == '.');
        if (inside) kd_nearest_offer(&nearest, other + around);
    }
    for (int k = 0; k < r->nindices; k++) kd_nearest_offer(&nearest, r->index[k]);
    return nearest.best;
}

// Complain about an expression at its column in the file. from: where in the text of the node the expression begins.
static bool refuse_expression(kd_reader *r, int line, int column, int first, int from, const char *key,
                              const char *text, const kd_expr_error *error)
{
    if (r->denied[0]) {
        kd_file_findings_add(r->findings, line, column,
                             "%s'%s' must be a number, but '%s' is known only during the simulation%s%s", r->element,
                             key, r->denied, r->advice ? "; " : "", r->advice ? r->advice : "");
        return false;
    }
    if (strcmp(key, "index") == 0 && r->nindices == 0) {
        kd_file_findings_add(r->findings, line, first > 0 ? first + from : column,
                             "%sindex: %s; an element is repeated by 'for: i = 1..N'", r->element, error->text);
        return false;
    }
    // a name of the model around a subsystem
    char        name[KD_EXPR_MAX_NAME + 1] = "";
    const char *hint = "";
    if (sscanf(error->text, "unknown name '%255[^']'", name) == 1 && !strstr(error->text, "did you") &&
        kd_reader_is_around(r->scope, name))
        hint = ": it is one of the model around; hand it in";
    if (first > 0 && error->column > 0) {
        kd_file_findings_add(r->findings, line, first + from + error->column - 1, "%s'%s': %s%s", r->element, key,
                             error->text, hint);
    } else {
        kd_file_findings_add(r->findings, line, column, "%s'%s': %s in '%.60s%s'", r->element, key, error->text, text,
                             strlen(text) > 60 ? "..." : "");
    }
    return false;
}

// The value of a text; from: as above.
static bool evaluate_text(kd_reader *r, const kd_node *node, int from, const char *key, const char *text, double *value)
{
    kd_symbols    symbols = {find_symbol, suggest_symbol, r};
    kd_expr_error error = {0};
    r->denied[0] = '\0';
    kd_status status = kd_expr_constant(text, &symbols, value, &error);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    return status >= 0 || refuse_expression(r, node->line, node->column, node->first, from, key, text, &error);
}

// ---- numbers with units ---------------------------------------------------------------------------------------------

static bool is_name_here(const char *word, void *context)
{
    const kd_reader *r = context;
    int              k;
    return kd_reader_find_index(r, word, &k) || find_parameter(r, word) >= 0;
}

// The unit that is wanted: one of "m|rad" if it is known which
static const char *wanted_unit(const kd_reader *r, char *text, size_t size)
{
    const char *bar = r->unit ? strchr(r->unit, '|') : NULL;
    if (!bar || r->turns == KD_TURNS_UNKNOWN) return r->unit;
    if (r->turns == KD_TURNS_PLAIN) return "";
    if (r->turns == 0)
        kd_text(text, size, "%.*s", (int)(bar - r->unit), r->unit);
    else
        kd_text(text, size, "%s", bar + 1);
    return text;
}

kd_quantity kd_reader_quantity(kd_reader *r, const char *text)
{
    char                 wanted[60];
    const kd_taken_words taken = {is_name_here, r};
    return kd_quantity_read(text, wanted_unit(r, wanted, sizeof wanted), &taken);
}

bool kd_reader_complain_quantity(kd_reader *r, const kd_node *node, const char *key, const kd_quantity *q)
{
    kd_file_findings_add(r->findings, node->line, node->first > 0 ? node->first + q->column - 1 : node->column,
                         "%s'%s': %s", r->element, key, q->text);
    return false;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

static bool complain_parameter(kd_reader *r, const kd_file_parameter *p, const char *why)
{
    const char *const at = r->findings->at;
    r->findings->at = p->set ? NULL : p->file;
    if (p->set)
        kd_file_findings_add(r->findings, 0, 0, "parameter '%s', set to '%.100s': %s", p->name, p->text, why);
    else
        kd_file_findings_add(r->findings, p->line, p->column, "parameter '%s': %s", p->name, why);
    r->findings->at = at;
    return false;
}

// a -> b -> a
static bool complain_circle(kd_reader *r, int i)
{
    char circle[400] = "parameters that use each other in a circle: ";
    int  k = 0;
    while (r->busy[k] != i) k++;
    for (; k < r->nbusy; k++) {
        kd_text_append(circle, sizeof circle, "%.50s -> ", r->parameter[r->busy[k]].name);
    }
    kd_text_append(circle, sizeof circle, "%.50s", r->parameter[i].name);
    return complain_parameter(r, &r->parameter[i], circle);
}

// The scope and the indices that are known in it
typedef struct outlook {
    kd_scope   *scope;
    int         nindices;
    const char *index[KD_READER_MAX_INDICES];
    double      value[KD_READER_MAX_INDICES];
} outlook;

// Names are those that the text of a parameter can read; answers what was before
static outlook look_from(kd_reader *r, const kd_file_parameter *p)
{
    outlook before = {.scope = r->scope, .nindices = r->nindices};
    memcpy(before.index, r->index, sizeof before.index);
    memcpy(before.value, r->index_value, sizeof before.value);
    r->scope = p->scope;
    r->nindices = p->looped ? p->looped->nindices : 0;
    if (p->looped) {
        memcpy(r->index, p->looped->index, sizeof r->index);
        memcpy(r->index_value, p->looped->index_value, sizeof r->index_value);
    }
    return before;
}

static void look_back(kd_reader *r, const outlook *before)
{
    r->scope = before->scope;
    r->nindices = before->nindices;
    memcpy(r->index, before->index, sizeof r->index);
    memcpy(r->index_value, before->value, sizeof r->index_value);
}

// The value of a parameter from its text
static bool compute_text(kd_reader *r, kd_file_parameter *p)
{
    kd_symbols    symbols = {find_symbol, suggest_symbol, r};
    kd_expr_error error = {0};
    double        value = 1.0;
    r->denied[0] = '\0';
    r->unit = NULL; // any
    // a number with a unit
    const kd_quantity quantity = kd_reader_quantity(r, p->text);
    if (quantity.kind == KD_QUANTITY_GOOD) {
        p->value = quantity.value;
        return true;
    }
    if (quantity.kind == KD_QUANTITY_WRONG) {
        kd_file_parameter at = *p;
        if (p->first > 0) at.column = p->first + quantity.column - 1;
        return complain_parameter(r, &at, quantity.text);
    }
    // or an expression of other parameters
    kd_status status = kd_expr_constant(p->text, &symbols, &value, &error);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    if (status < 0) {
        char why[400];
        kd_text(why, sizeof why, "%s", error.text);
        if (r->denied[0]) {
            kd_text(why, sizeof why, "it must be a number, but '%s' is known only during the simulation", r->denied);
        }
        kd_file_parameter at = *p;
        if (p->first > 0 && error.column > 0 && !r->denied[0]) at.column = p->first + error.column - 1;
        r->denied[0] = '\0';
        return complain_parameter(r, &at, why);
    }
    if (!isfinite(value)) return complain_parameter(r, p, "the value is not finite");
    p->value = value;
    return true;
}

// Those that it uses first
static bool compute_parameter(kd_reader *r, int i)
{
    kd_file_parameter *p = &r->parameter[i];
    if (p->state == KD_PARAMETER_DONE) return true;
    if (p->state == KD_PARAMETER_BUSY) return complain_circle(r, i);
    if (r->nbusy == KD_READER_MAX_PARAMETER_DEPTH) {
        return complain_parameter(r, p, "parameters that use each other more than 64 deep");
    }
    // busy while those that it uses are computed: whoever comes back here went in a circle
    p->state = KD_PARAMETER_BUSY;
    p->value = 1.0;
    r->busy[r->nbusy++] = i;
    const outlook before = look_from(r, p);
    bool          fine = p->text && compute_text(r, p);
    look_back(r, &before);
    r->nbusy--;
    p->state = KD_PARAMETER_DONE;
    r->order[r->nordered++] = i;
    return fine;
}

static bool more_parameters(kd_reader *r)
{
    if (r->nparameters < r->parameters_capacity) return true;
    const int capacity = r->parameters_capacity > 0 ? 2 * r->parameters_capacity : 64;
    // both grow together: a parameter and its place in the order of computation
    kd_file_parameter *larger = kd_alloc((size_t)capacity * sizeof *larger);
    int               *order = kd_alloc((size_t)capacity * sizeof *order);
    if (!larger || !order) {
        kd_free(larger);
        kd_free(order);
        return kd_reader_short_of_memory(r);
    }
    // what is there moves
    if (r->nparameters > 0) memcpy(larger, r->parameter, (size_t)r->nparameters * sizeof *larger);
    if (r->nordered > 0) memcpy(order, r->order, (size_t)r->nordered * sizeof *order);
    kd_free(r->parameter);
    kd_free(r->order);
    r->parameter = larger;
    r->order = order;
    r->parameters_capacity = capacity;
    return true;
}

// May a parameter have this name? In a flat file of a model with subsystems it has points.
static bool check_parameter_name(const kd_node *key, char *why, size_t size)
{
    const bool parts = strchr(key->text, '.') != NULL;
    if (!kd_name_check_parts(key->text, why, size)) return false;
    if (!parts && strpbrk(key->text, "-(")) {
        kd_text(why, size, "the name '%.100s' must consist of letters, digits and '_'", key->text);
        return false;
    }
    if (kd_expr_is_reserved(key->text) || strcmp(key->text, "t") == 0) {
        kd_text(why, size, "the name is a word of the expression language");
        return false;
    }
    return true;
}

// Name and text; the value comes later
bool kd_reader_enter_parameter(kd_reader *r, kd_scope *scope, const kd_node *key, const kd_node *value, kd_scope *reads,
                               kd_scope *looped)
{
    char why[300];
    if (!more_parameters(r)) return false;
    // what is known before its value: name and place, and in whose words it is written
    kd_file_parameter *p = &r->parameter[r->nparameters];
    *p = (kd_file_parameter){.name = key->text, .line = key->line, .column = key->column, .value = 1.0};
    p->file = key->file;
    p->scope = reads;
    p->looped = looped;
    if (!check_parameter_name(key, why, sizeof why)) return complain_parameter(r, p, why);
    // its full name is that in the scope where it stands, not of the scope that hands it in
    kd_scope *const before = r->scope;
    r->scope = scope;
    const bool named = kd_reader_full_name(r, key, key->text, &p->name);
    r->scope = before;
    if (!named) return false;
    // two of one name, from files that include each other, say
    const int other = kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, p->name);
    if (other >= 0) {
        kd_text(why, sizeof why, "the name is used twice, first in line %d", r->parameter[other].line);
        return complain_parameter(r, p, why);
    }
    // no number and no expression
    if (value->type != KD_NODE_SCALAR || kd_node_is_null(value)) {
        kd_file_parameter at = *p;
        if (looped) at.file = value->file, at.line = value->line, at.column = value->column;
        complain_parameter(r, &at, "it must be a number or an expression");
    } else {
        // the text, and where it stands
        p->text = value->text;
        p->file = value->file;
        p->line = value->line;
        p->column = value->column;
        p->first = value->first;
    }
    if (kd_names_add(&r->parameter_names, KD_SECTION_PARAMETER, p->name, r->nparameters) < 0) {
        return kd_reader_short_of_memory(r);
    }
    r->nparameters++;
    return true;
}

// A setting from outside takes the place of the text, and is meant where a value for the subsystem would stand
void kd_reader_override(kd_reader *r, const kd_setting *settings, int nsettings, int from)
{
    for (int k = 0; k < nsettings; k++) {
        const char *name = settings[k].name ? settings[k].name : "";
        const int   i = kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, name);
        if (i < from) continue;
        r->parameter[i].text = settings[k].value ? settings[k].value : "";
        r->parameter[i].set = true;
        r->parameter[i].scope = r->scope;
    }
}

static void check_setting(kd_reader *r, const kd_setting *setting)
{
    const char *name = setting->name ? setting->name : "";
    if (kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER, name) >= 0) return;
    const char *near = suggest_symbol(name, r);
    if (near) {
        kd_file_findings_add(r->findings, 0, 0, "unknown parameter '%.60s' is set, did you mean '%s'?", name, near);
    } else {
        enum { LISTED = 10 };
        char known[400] = "no parameters";
        for (int k = 0; k < r->nparameters && k < LISTED; k++) {
            if (k == 0) known[0] = '\0';
            kd_text_append(known, sizeof known, "%s%.30s", k > 0 ? ", " : "", r->parameter[k].name);
        }
        if (r->nparameters > LISTED) kd_text_append(known, sizeof known, ", ...");
        kd_file_findings_add(r->findings, 0, 0, "unknown parameter '%.60s' is set; the file has %s", name, known);
    }
}

void kd_reader_check_settings(kd_reader *r, const kd_setting *settings, int nsettings)
{
    for (int i = 0; i < nsettings; i++) check_setting(r, &settings[i]);
}

// A parameter of other parameters keeps its expression.
static bool keep_derived(kd_reader *r, int i)
{
    kd_symbols    symbols = {find_symbol, suggest_symbol, r};
    kd_expr_error error = {0};
    kd_expr      *expr = NULL;
    // in the words of the scope where it is written
    const outlook before = look_from(r, &r->parameter[i]);
    kd_status     status = KD_ERR_MODEL;
    // a number with a unit does not follow others
    if (r->parameter[i].text && kd_reader_quantity(r, r->parameter[i].text).kind == KD_QUANTITY_NONE) {
        r->parameters_live = true;
        status = kd_expr_compile(r->parameter[i].text, &symbols, &expr, &error);
        r->parameters_live = false;
    }
    look_back(r, &before);
    // what reads no parameter is constant, and kept as a number
    if (status == KD_OK && kd_expr_has_parameters(expr))
        kd_model_derive_parameter(r->m, i, expr);
    else
        kd_expr_destroy(expr);
    return status != KD_ERR_MEMORY || kd_reader_short_of_memory(r); // what else is wrong has been said
}

// The expression of a parameter, as the writer puts it: with numbers in place of indices, and the full names of others
static bool keep_parameter_text(kd_reader *r, const kd_file_parameter *p)
{
    const char *text = p->text;
    kd_node     node = {.text = p->text, .line = p->line, .column = p->column, .file = p->file};
    if (text && kd_reader_has_scopes(r)) {
        const outlook before = look_from(r, p);
        if (r->nindices > 0) text = kd_reader_text_with_indices(r, &node);
        const bool fine = text && kd_reader_qualify(r, &node, p->name, &text);
        look_back(r, &before);
        if (!fine) return r->status == KD_OK; // it has been told
    }
    return kd_model_set_parameter_text(r->m, p->name, text) != KD_ERR_MEMORY || kd_reader_short_of_memory(r);
}

// into the model, in the order of the file
bool kd_reader_add_parameters(kd_reader *r)
{
    for (int i = 0; i < r->nparameters; i++) {
        const kd_file_parameter *p = &r->parameter[i];
        kd_status                status = kd_model_at(r->m, p->file ? p->file : r->findings->file, p->line, p->column);
        if (status >= 0) status = kd_model_add_parameter(r->m, p->name, p->value);
        if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
        const bool wrong = r->findings->count > 0; // then nothing will be changed, and each search for a name costs
        if (status >= 0 && !wrong && (!keep_parameter_text(r, p) || !keep_derived(r, i))) return false;
    }
    kd_arena_release(&r->scratch);
    if (r->m->nparameters < r->nparameters) return true; // one was refused: nothing will be changed
    return kd_model_order_parameters(r->m, r->order) >= 0 || kd_reader_short_of_memory(r);
}

bool kd_reader_compute_parameters(kd_reader *r, int from)
{
    for (int i = from; i < r->nparameters && r->status == KD_OK && !kd_reader_is_tired(r); i++) compute_parameter(r, i);
    return r->status == KD_OK;
}

void kd_reader_scope_release(kd_reader *r)
{
    double value;
    for (int i = 0; i < r->nparameters; i++) {
        if (r->parameter[i].used) (void)kd_model_use_parameter(r->m, r->parameter[i].name, &value);
    }
    kd_names_release(&r->parameter_names);
    kd_free(r->parameter);
    kd_free(r->order);
    kd_free(r->pending);
    kd_free(r->work);
    kd_arena_release(&r->scratch);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// Keep a compiled expression; it belongs to the model then. Its place in the list of that; -1: out of memory
static int keep_expression(kd_reader *r, kd_expr *expr)
{
    const int place = kd_model_keep_expr(r->m, expr);
    if (place < 0) kd_reader_short_of_memory(r);
    if (place < 0) return -1;
    if (kd_expr_work_size(expr) > r->work_size) {
        double *work = kd_alloc((size_t)kd_expr_work_size(expr) * sizeof *work);
        if (!work) kd_reader_short_of_memory(r);
        if (!work) return -1;
        kd_free(r->work);
        r->work = work;
        r->work_size = kd_expr_work_size(expr);
    }
    return place;
}

// Inside a repetition: compiled once, evaluated for each index.
static bool evaluate_repeated(kd_reader *r, kd_node *node, const char *key, double *value)
{
    // compiled at the first round, with indices as variables
    if (node->cache == 0 || node->owner != r->scope->number) {
        kd_symbols    symbols = {find_symbol, suggest_symbol, r};
        kd_expr_error error = {0};
        kd_expr      *expr = NULL;
        // indices are variables, parameters stay parameters
        r->denied[0] = '\0';
        r->indices_vary = r->parameters_live = true;
        kd_status status = kd_expr_compile(node->text, &symbols, &expr, &error);
        r->indices_vary = r->parameters_live = false;
        if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
        if (status < 0) return refuse_expression(r, node->line, node->column, node->first, 0, key, node->text, &error);
        // the next round finds it at the node
        const int place = keep_expression(r, expr);
        if (place < 0) return false;
        node->cache = place + 1;
        node->owner = r->scope->number;
    }
    // its value for this index; what reads parameters is bound to the field as well
    const kd_expr *expr = r->m->private->bindings.expr[node->cache - 1];
    *value = kd_expr_value(expr, r->index_value, r->work);
    return !kd_expr_has_parameters(expr) || kd_reader_pend(r, node, key, node->cache - 1, value);
}

// The same of a number that stands once: a second time with its parameters, if it has any
bool kd_reader_evaluate(kd_reader *r, const kd_node *node, int from, const char *key, const char *text, double *value)
{
    kd_symbols    symbols = {find_symbol, suggest_symbol, r};
    kd_expr_error error = {0};
    kd_expr      *expr = NULL;
    r->reads_parameter = false;
    if (!evaluate_text(r, node, from, key, text, value)) return false;
    if (!r->reads_parameter) return true;
    r->parameters_live = true;
    const kd_status status = kd_expr_compile(text, &symbols, &expr, &error);
    r->parameters_live = false;
    const int place = status == KD_OK ? keep_expression(r, expr) : -1;
    return place >= 0 ? kd_reader_pend(r, node, key, place, value) : kd_reader_short_of_memory(r);
}

// Nothing but digits, signs, a point and an exponent: 1e-3, but not 1-e, which reads a parameter
static bool is_plain_number(const char *text)
{
    static const char digits[] = "0123456789";
    text += strspn(text, "+-");
    const size_t n = strspn(text, "0123456789.");
    if (strcspn(text, digits) >= n) return false;
    text += n;
    if (*text != 'e' && *text != 'E') return *text == '\0';
    text += 1 + (text[1] == '+' || text[1] == '-');
    return *text != '\0' && text[strspn(text, digits)] == '\0';
}

// The model keeps the expression of a number of a definition, for the writer. Repeated elements are written as numbers.
static bool keep_text(kd_reader *r, const kd_node *node, const double *value)
{
    uintptr_t at = (uintptr_t)value, base = (uintptr_t)r->definition;
    if (!r->definition || at < base || at >= base + r->definition_size || r->nindices > 0) return true;
    if (is_plain_number(node->text)) return true;
    const char *text = node->text;
    if (kd_reader_has_scopes(r) && !kd_reader_qualify(r, node, "value", &text)) return false;
    return kd_model_number_text(r->m, at - base, text) >= 0 || kd_reader_short_of_memory(r);
}

bool kd_reader_number(kd_reader *r, kd_node *node, const char *key, double *value)
{
    // one scalar, not empty
    if (node->type != KD_NODE_SCALAR) {
        kd_reader_complain(r, node, "'%s' must be a number, not a %s", key,
                           node->type == KD_NODE_LIST ? "list" : "map");
        return false;
    }
    if (kd_node_is_null(node)) {
        kd_reader_complain(r, node, "'%s' must be a number, but is empty", key);
        return false;
    }
    // a number with a unit needs no expression
    const kd_quantity quantity = kd_reader_quantity(r, node->text);
    if (quantity.kind == KD_QUANTITY_WRONG) return kd_reader_complain_quantity(r, node, key, &quantity);
    if (quantity.kind == KD_QUANTITY_GOOD) {
        *value = quantity.value;
        return keep_text(r, node, value);
    }
    // an expression: for each index again, or once
    bool fine = r->nindices > 0 ? evaluate_repeated(r, node, key, value)
                                : kd_reader_evaluate(r, node, 0, key, node->text, value);
    if (fine && isfinite(*value)) return keep_text(r, node, value);
    if (!fine) return false;
    kd_reader_complain(r, node, "'%s' is not finite: '%.60s'", key, node->text);
    return false;
}

// A parameter that was taken for a word of a list
bool kd_reader_hold_parameter(kd_reader *r, const kd_node *node, const char *key, const char *name)
{
    double    value;
    const int mark = r->npending;
    return kd_reader_evaluate(r, node, 0, key, name, &value) && kd_reader_hold(r, mark);
}

// Digits that show that a number is not whole: 2.9999999999 is not 3
int kd_reader_digits(double number)
{
    int  digits = 6;
    char text[40];
    for (; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strpbrk(text, ".,e")) break;
    }
    return digits;
}

static void complain_whole(kd_reader *r, const kd_node *node, const char *key, double number)
{
    const bool near = fabs(number - round(number)) < 1e-6 * fabs(number);
    kd_reader_complain(r, node, "'%s' must be a whole number, but is %.*g%s", key, kd_reader_digits(number), number,
                       near ? "; floor(x + 0.5) rounds" : "");
}

bool kd_reader_integer(kd_reader *r, kd_node *node, const char *key, int *value)
{
    double            number;
    const char *const outer = r->unit;
    const int         mark = r->npending;
    r->unit = "";
    const bool fine = kd_reader_number(r, node, key, &number) && kd_reader_hold(r, mark);
    r->unit = outer;
    if (!fine) return false;
    if (fabs(number) > 1e9 || number != floor(number)) {
        complain_whole(r, node, key, number);
        return false;
    }
    *value = (int)number;
    return true;
}
