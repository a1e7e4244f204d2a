// run.c: the section `run` of a model file: fields of the schema, and options of the simulation by group,
// `radau: {max_newton: 7}`. Names, ranges, units and words of options come from the one table of the library
// (kd_option_at), so that files, --option and C know the same ones.
#include <kardan/simulation.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/reader.h"

// Options that are fields of `run` themselves; a file says one or the other.
static const struct {
    const char *option, *key;
} fields_too[] = {{"steps.rtol", "rtol"}, {"steps.atol", "atol"}, {"steps.h_max", "max_step"}};

// ---- groups ---------------------------------------------------------------------------------------------------------

static size_t group_length(const kd_option *row)
{
    return strcspn(row->name, ".");
}

static bool is_of_group(const kd_option *row, const char *group)
{
    const size_t n = group_length(row);
    return strlen(group) == n && strncmp(row->name, group, n) == 0;
}

bool kd_reader_is_option_group(const kd_schema *schema, const char *key)
{
    const kd_option *row;
    if (schema != kd_schema_of(KD_SCHEMA_RUN)) return false;
    for (int i = 0; (row = kd_option_at(i)); i++)
        if (is_of_group(row, key)) return true;
    return false;
}

void kd_reader_offer_option_groups(kd_reader *r, const kd_schema *schema, kd_nearest *nearest)
{
    const kd_option *row;
    char            *last = NULL;
    if (schema != kd_schema_of(KD_SCHEMA_RUN)) return;
    for (int i = 0; (row = kd_option_at(i)); i++) {
        if (last && is_of_group(row, last)) continue;
        last = kd_reader_copy(r, row->name, group_length(row));
        kd_nearest_offer(nearest, last);
    }
}

// Words of methods whose options stand elsewhere: psf: {..} under form, dop853: {..} under explicit
bool kd_reader_complain_group(kd_reader *r, const kd_schema *schema, const kd_node *key)
{
    const kd_option   *rows = NULL;
    kd_formulation     form;
    kd_integrator_kind method;
    if (schema != kd_schema_of(KD_SCHEMA_RUN)) return false;
    if (kd_formulation_parse(key->text, &form)) {
        kd_reader_complain(r, key, "options of formulations stand under 'form', not under '%s'", key->text);
        return true;
    }
    if (!kd_integrator_parse(key->text, &method) || kd_integrator_own_options(method, &rows) == 0) return false;
    kd_reader_complain(r, key, "options of %s stand under '%.*s'", key->text, (int)group_length(rows), rows->name);
    return true;
}

// ---- one option -----------------------------------------------------------------------------------------------------

// The row that a key means, or a complaint with what was probably meant
static const kd_option *find_row(kd_reader *r, const kd_node *group, const kd_node *key)
{
    const kd_option *row;
    const size_t     n = strlen(group->text) + 1;
    kd_nearest       nearest = kd_nearest_start(key->text);
    char             list[600] = "";
    // rows of this group by their own names
    for (int i = 0; (row = kd_option_at(i)); i++) {
        if (!is_of_group(row, group->text)) continue;
        if (strcmp(row->name + n, key->text) == 0) return row;
        kd_nearest_offer(&nearest, row->name + n);
        kd_text_append(list, sizeof list, "%s%s", list[0] ? ", " : "", row->name + n);
    }
    // the nearest name, or all of them
    if (nearest.best)
        kd_reader_complain(r, key, "%s: unknown option '%.60s', did you mean '%s'?", group->text, key->text,
                           nearest.best);
    else
        kd_reader_complain(r, key, "%s: unknown option '%.60s'; possible are %s", group->text, key->text, list);
    return NULL;
}

// Numbers may be expressions of parameters and have units; whole ones keep the parameters that they are made of.
static bool read_number(kd_reader *r, const kd_option *row, kd_node *node, double *value)
{
    const int mark = r->npending;
    r->unit = row->unit ? row->unit : "";
    return kd_reader_number(r, node, row->name, value) && (row->type == KD_OPTION_REAL || kd_reader_hold(r, mark));
}

static bool read_option(kd_reader *r, const kd_option *row, kd_node *node, kd_run_option *option)
{
    const bool            is_number = row->type <= KD_OPTION_LONG;
    kd_simulation_options tried = kd_simulation_options_default();
    char                  number[40], why[400];
    if (!kd_reader_note(r, row->name, node)) return false;
    if (!is_number && (node->type != KD_NODE_SCALAR || kd_node_is_null(node))) {
        kd_reader_complain(r, node, "%s must be %s%s", row->name, row->type == KD_OPTION_TEXT ? "" : "one of ",
                           kd_option_values(row, why, sizeof why));
        return false;
    }
    option->name = row->name;
    option->word = is_number ? NULL : node->text;
    if (is_number && !read_number(r, row, node, &option->value)) return false;
    // within its range, or one of its words
    snprintf(number, sizeof number, "%.17g", option->value);
    if (kd_option_set(&tried, row->name, is_number ? number : node->text, why, sizeof why) >= 0) return true;
    kd_reader_complain(r, node, "%s", why);
    return false;
}

// ---- all of a group -------------------------------------------------------------------------------------------------

// The field that is the same as an option; NULL: none
static const kd_field *same_field(const kd_option *row)
{
    for (size_t i = 0; i < sizeof fields_too / sizeof *fields_too; i++)
        if (strcmp(row->name, fields_too[i].option) == 0)
            return kd_schema_field(kd_schema_of(KD_SCHEMA_RUN), 0, fields_too[i].key);
    return NULL;
}

static bool read_same_field(kd_reader *r, const kd_field *field, const kd_node *map, kd_node *node, kd_run_def *run)
{
    if (!kd_node_find(map, field->key)) return kd_reader_value(r, field, 0, node, run);
    kd_reader_complain(r, node, "'%s' of run says the same: leave one of the two out", field->key);
    return false;
}

static bool read_group(kd_reader *r, const kd_node *map, const kd_node *group, const kd_node *value, kd_run_def *run)
{
    bool fine = true;
    if (kd_node_is_null(value)) return true;
    if (value->type != KD_NODE_MAP) {
        kd_reader_complain(r, value, "'%s' must be a map of options, like {name: value}", group->text);
        return false;
    }
    // an option is a field of 'run' under another name, or a row of the table of options
    for (int i = 0; i < value->n && r->status == KD_OK && !kd_reader_is_tired(r); i++) {
        kd_node         *node = &value->item[2 * i + 1];
        const kd_option *row = find_row(r, group, &value->item[2 * i]);
        const kd_field  *field = row ? same_field(row) : NULL;
        if (field) {
            fine = read_same_field(r, field, map, node, run) && fine;
        } else if (row && run->noptions == KD_RUN_OPTIONS_MAX) {
            kd_reader_complain(r, node, "more than %d options", KD_RUN_OPTIONS_MAX);
            return false;
        } else {
            fine = row && read_option(r, row, node, &run->option[run->noptions++]) && fine;
        }
    }
    return fine;
}

static bool read_groups(kd_reader *r, const kd_node *map, kd_run_def *run)
{
    bool fine = true;
    for (int i = 0; i < map->n; i++)
        if (kd_reader_is_option_group(kd_schema_of(KD_SCHEMA_RUN), map->item[2 * i].text))
            fine = read_group(r, map, &map->item[2 * i], &map->item[2 * i + 1], run) && fine;
    return fine;
}

// ---- the section ----------------------------------------------------------------------------------------------------

static const kd_node *find_option(const kd_node *map, const char *group, const char *key)
{
    const kd_node *options = kd_node_find(map, group);
    return options && options->type == KD_NODE_MAP ? kd_node_find(options, key) : NULL;
}

// rtol alone is both tolerances, as --rtol is
static bool spread_tolerance(kd_reader *r, const kd_node *map, kd_run_def *run)
{
    const bool relative = kd_node_find(map, "rtol") || find_option(map, "steps", "rtol");
    const bool absolute = kd_node_find(map, "atol") || find_option(map, "steps", "atol");
    if (!relative || absolute) return true;
    run->atol = run->rtol;
    return kd_reader_spread(r, 0, &run->rtol, &run->atol);
}

void kd_reader_run(kd_reader *r, const kd_node *map)
{
    kd_run_def run = kd_run_def_default();
    bool       fine = false;
    if (kd_node_is_null(map)) return;
    kd_text(r->element, sizeof r->element, "run: ");
    // nothing is left over from another element
    r->any_units = false;
    r->npending = r->narrays = 0;
    if (map->type != KD_NODE_MAP) {
        kd_reader_complain(r, map, "it must be a map, like {t_end: 10}");
    } else {
        fine = kd_reader_fields(r, kd_schema_of(KD_SCHEMA_RUN), 0, map, &run);
        fine = read_groups(r, map, &run) && fine;
    }
    if (fine) {
        // tolerances by kind take what the one for all gives
        if (!spread_tolerance(r, map, &run)) return;
        kd_status status = kd_model_at(r->m, r->findings->file, map->line, map->column);
        if (status >= 0 && !kd_reader_bind(r, &run, sizeof run)) return;
        if (status >= 0) status = kd_model_set_run(r->m, &run);
        if (status == KD_ERR_MEMORY) kd_reader_short_of_memory(r);
    }
    r->element[0] = '\0';
}
