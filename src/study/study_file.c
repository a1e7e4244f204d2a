// study_file.c: study files.
//
//     study: comfort of the quarter car                # a title
//     model: quarter-car.yaml                          # beside the study file; left out: outputs are expressions of the parameters
//     run: {t_end: 5, rtol: 1e-6, integrator: radau}   # left out: as the model says
//     set: {mass: 300}                                 # parameters that are the same in all rows
//     parameters:
//       k: {range: [1e4, 3e4]}                         # uniform; normal: [mean, deviation]; lognormal: [median, deviation of the log]; values: [..]
//     correlations: [[k, c, 0.5]]
//     design: {latin: 100, seed: 1}                    # grid: 5, list: [[..], ..], sobol: 128, monte_carlo: 1000, sensitivity: 500, morris: 20
//     outputs:
//       comfort: {rms: acceleration, from: 1}
//       cost: 2*comfort + k/1e4                        # of parameters and outputs above
//     identify:                                        # in place of design: parameters from measurements
//       data: measured.csv
//       fit: {cab: {column: z, sigma: 0.001}}          # channel: column of the data, deviation of its noise
//     optimise:                                        # in place of design: the best parameters (search_file.c)
//       minimise: comfort                              # several: [comfort, travel], a front
//       constraints: [travel <= 0.1]
//     keep: {channels: [cab], reports: [17, worst]}    # of the runs themselves (keep.c)
// Everything that is wrong is told with its line, then nothing is made.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load.h"
#include "core/text.h"
#include "modelfile/paths.h"
#include "study/nodes.h"

enum { MOST_BYTES = 1 << 24 };

// ---- model and run --------------------------------------------------------------------------------------------------

static void read_pairs(kd_study_reader *r, const kd_node *node, kd_study_fixed *list, int *n)
{
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    for (int i = 0; i < node->n && *n < KD_STUDY_MOST; i++) {
        const kd_node *value = &node->item[2 * i + 1];
        if (value->type != KD_NODE_SCALAR) {
            kd_node_say(&r->findings, value, "a number or a word is expected here");
            continue;
        }
        list[(*n)++] = (kd_study_fixed){kd_nodes_copy(r, node->item[2 * i].text), kd_nodes_copy(r, value->text)};
    }
}

static void read_run(kd_study_reader *r, const kd_node *run)
{
    static const char *const KEYS[] = {"t_end",     "rtol",       "atol",        "max_step",
                                       "intervals", "integrator", "formulation", "options"};
    kd_study                *s = r->study;
    const kd_node           *node;
    kd_integrator_kind       integrator;
    kd_formulation           formulation;
    if (!KD_NODE_IS_MAP(&r->findings, run, KEYS)) return;
    // times and tolerances; what is not given is that of the model
    kd_node_number_of(&r->findings, run, "t_end", "s", &s->t_end);
    kd_node_number_of(&r->findings, run, "rtol", "", &s->rtol);
    kd_node_number_of(&r->findings, run, "atol", "", &s->atol);
    kd_node_number_of(&r->findings, run, "max_step", "s", &s->max_step);
    if ((node = kd_node_find(run, "intervals"))) (void)kd_node_count(&r->findings, node, 1, 1000000, &s->intervals);
    // names of methods, with the nearest one where they are wrong
    kd_nodes_word(r, run, "integrator", &s->integrator);
    kd_nodes_word(r, run, "formulation", &s->formulation);
    if (s->integrator && !kd_integrator_parse(s->integrator, &integrator))
        kd_nodes_say_of(r, kd_node_find(run, "integrator"), "there is no integrator", s->integrator);
    if (s->formulation && !kd_formulation_parse(s->formulation, &formulation))
        kd_nodes_say_of(r, kd_node_find(run, "formulation"), "there is no formulation", s->formulation);
    if (!(s->t_end > 0) && !isnan(s->t_end))
        kd_node_say(&r->findings, kd_node_find(run, "t_end"), "the end lies behind the start, at 0 s");
    // options of methods are tried on a set of them, so that mistakes are told here
    if ((node = kd_node_find(run, "options"))) {
        kd_simulation_options o = kd_simulation_options_default();
        char                  why[400];
        read_pairs(r, node, s->option, &s->noptions);
        for (int i = 0; i < s->noptions; i++)
            if (kd_option_set(&o, s->option[i].name, s->option[i].value, why, sizeof why) < 0)
                kd_node_say(&r->findings, &node->item[2 * i], why);
    }
}

static void read_model(kd_study_reader *r, const kd_node *node)
{
    kd_study  *s = r->study;
    char       folder[KD_PATH_LENGTH], path[KD_PATH_LENGTH], why[1000];
    char       message[900];
    kd_setting setting[KD_STUDY_MOST];
    if (node->type != KD_NODE_SCALAR || !node->text[0]) {
        kd_node_say(&r->findings, node, "the file of a model is expected here");
        return;
    }
    // beside the study file, or wherever it says: a study is the user's own, and names what he wants
    if (kd_folder_of(r->path, folder) < 0) folder[0] = '\0';
    kd_text(path, sizeof path, "%s%s%s", node->text[0] == '/' ? "" : folder, node->text[0] == '/' ? "" : "/",
            node->text);
    s->model_path = kd_nodes_copy(r, path);
    for (int i = 0; i < s->nset; i++) setting[i] = (kd_setting){s->set[i].name, s->set[i].value};
    if (kd_model_read(s->model_path, setting, s->nset, &s->model, message, sizeof message) >= 0) return;
    kd_text(why, sizeof why, "the model cannot be read: %s", message);
    kd_node_say(&r->findings, node, why);
}

// ---- parameters and design ------------------------------------------------------------------------------------------

static void read_distribution(kd_study_reader *r, const kd_node *node, kd_distribution *d)
{
    static const char *const KEYS[] = {"range", "normal", "lognormal", "values"};
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    // one kind of distribution
    if (node->n != 1) {
        kd_node_say(&r->findings, node, "one of range, normal, lognormal, values is expected here");
        return;
    }
    // its numbers
    int           n, kind = 0;
    const double *list = kd_nodes_numbers(r, &node->item[1], &n);
    while (kind < 4 && strcmp(node->item[0].text, KEYS[kind]) != 0) kind++;
    if (!list || kind == 4) return;
    // what they mean, and what they must satisfy
    static const kd_distribution_kind KIND[] = {KD_UNIFORM, KD_NORMAL, KD_LOGNORMAL, KD_DISCRETE};
    *d = (kd_distribution){.kind = KIND[kind], .a = list[0], .b = n > 1 ? list[1] : NAN, .n = n, .value = list};
    if (kind < 3 && n != 2) kd_node_say(&r->findings, &node->item[1], "two numbers are expected here");
    if (kind == 0 && n == 2 && !(d->a < d->b))
        kd_node_say(&r->findings, &node->item[1], "a range begins below its end");
    if ((kind == 1 || kind == 2) && n == 2 && !(d->b > 0))
        kd_node_say(&r->findings, &node->item[1], "a deviation is above 0");
    if (kind == 2 && !(d->a > 0)) kd_node_say(&r->findings, &node->item[1], "a median is above 0");
}

// A parameter of the model that may be set
static void check_parameter(kd_study_reader *r, const kd_node *key)
{
    const kd_model *m = r->study->model;
    if (!m || kd_model_parameter_index(m, key->text) >= 0) return;
    const int          n = kd_model_parameters(m, NULL, 0);
    kd_parameter_info *list = kd_arena_cut(&r->study->arena, (size_t)n + 1, sizeof *list);
    const char       **names = kd_arena_cut(&r->study->arena, (size_t)n + 1, sizeof *names);
    if (!list || !names) return;
    (void)kd_model_parameters(m, list, n);
    for (int i = 0; i < n; i++) names[i] = list[i].name;
    kd_node_say_unknown(&r->findings, key, "the model has no parameter", names, n);
}

static void read_parameters(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    if (!kd_node_is_map(&r->findings, node, NULL, 0)) return;
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i];
        if (s->nparameters == KD_STUDY_MOST) {
            kd_node_say(&r->findings, key, "there are too many parameters");
            return;
        }
        if (kd_expr_is_reserved(key->text))
            kd_nodes_say_of(r, key, "this is a word of the language of expressions:", key->text);
        check_parameter(r, key);
        s->parameter[s->nparameters] = kd_nodes_copy(r, key->text);
        read_distribution(r, &node->item[2 * i + 1], &s->distribution[s->nparameters]);
        s->nparameters++;
    }
}

static void read_correlations(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    const int n = s->nparameters;
    double   *R = kd_cut_matrix(&s->arena, n, n), value;
    if (!R || node->type != KD_NODE_LIST) {
        kd_node_say(&r->findings, node, "a list of [parameter, parameter, number] is expected here");
        return;
    }
    // R with ones, and the pairs that are given
    for (int i = 0; i < n; i++) R[i * n + i] = 1;
    for (int k = 0; k < node->n; k++) {
        const kd_node *row = &node->item[k];
        const bool     three = row->type == KD_NODE_LIST && row->n == 3 && row->item[0].text && row->item[1].text;
        const int      i = three ? kd_study_find_parameter(s, row->item[0].text) : -1,
                  j = three ? kd_study_find_parameter(s, row->item[1].text) : -1;
        if (i < 0 || j < 0 || i == j) {
            kd_node_say(&r->findings, row, "two parameters of the study and a number are expected here");
        } else if (kd_node_number(&r->findings, &row->item[2], "", &value)) {
            R[i * n + j] = R[j * n + i] = value;
        }
    }
    // it must have a Cholesky factor, which makes correlated values out of independent ones
    if (r->findings.count > 0) return;
    if (!kd_correlation_factor(n, R))
        kd_node_say(&r->findings, node, "no parameters can have these correlations together");
    s->design.correlation = R;
}

static void read_list(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    if (node->type != KD_NODE_LIST || node->n < 1) {
        kd_node_say(&r->findings, node, "a list of rows is expected here, each with a number for every parameter");
        return;
    }
    // as many numbers in each row as the study has parameters
    double *list = kd_cut_matrix(&s->arena, node->n, s->nparameters);
    for (int i = 0; list && i < node->n; i++) {
        const kd_node *row = &node->item[i];
        const bool     single = s->nparameters == 1 && row->type == KD_NODE_SCALAR;
        if (!single && (row->type != KD_NODE_LIST || row->n != s->nparameters)) {
            kd_file_findings_add(&r->findings, row->line, row->column, "a row has %d numbers", s->nparameters);
            continue;
        }
        for (int j = 0; j < s->nparameters; j++)
            (void)kd_node_number(&r->findings, single ? row : &row->item[j], "", &list[i * s->nparameters + j]);
    }
    s->design.list = list, s->design.n = node->n;
}

static void read_grid(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    int      *levels = kd_cut_int(&s->arena, s->nparameters + 1), all = 0;
    if (!levels) return;
    if (node->type == KD_NODE_SCALAR && !kd_node_count(&r->findings, node, 1, KD_DESIGN_MOST_ROWS, &all)) return;
    if (node->type == KD_NODE_LIST && node->n != s->nparameters) {
        kd_file_findings_add(&r->findings, node->line, node->column, "a grid has one number of levels, or %d",
                             s->nparameters);
        return;
    }
    for (int i = 0; i < s->nparameters; i++) {
        levels[i] = all;
        if (node->type == KD_NODE_LIST)
            (void)kd_node_count(&r->findings, &node->item[i], 1, KD_DESIGN_MOST_ROWS, &levels[i]);
        if (s->distribution[i].kind == KD_DISCRETE) levels[i] = s->distribution[i].n;
    }
    s->design.levels = levels;
}

// Outputs whose means are to be known to a width: the sample ends then
static void read_until(kd_study_reader *r, const kd_node *node)
{
    kd_study   *s = r->study;
    const char *names[KD_STUDY_MOST];
    for (int i = 0; i < s->noutputs; i++) names[i] = s->output[i].name;
    if (s->design.kind != KD_DESIGN_MONTE_CARLO && s->design.kind != KD_DESIGN_SOBOL)
        kd_node_say(&r->findings, node, "until belongs to monte_carlo and sobol: their first rows are a sample, too");
    if (!kd_node_is_map(&r->findings, node, names, s->noutputs)) return;
    for (int i = 0; i < node->n && s->nuntil < KD_STUDY_MOST; i++) {
        const kd_node *value = &node->item[2 * i + 1];
        for (int j = 0; j < s->noutputs; j++)
            if (strcmp(names[j], node->item[2 * i].text) == 0) s->until[s->nuntil].output = j;
        if (!kd_node_number(&r->findings, value, "", &s->until[s->nuntil].width)) continue;
        if (!(s->until[s->nuntil++].width > 0)) kd_node_say(&r->findings, value, "a width is above 0");
    }
}

static void read_design(kd_study_reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"list",        "grid",   "latin", "sobol", "monte_carlo",
                                       "sensitivity", "morris", "seed",  "until"};
    kd_study                *s = r->study;
    int                      found = -1;
    double                   seed = 1;
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    // one of the designs
    for (int i = 0; i < KD_DESIGN_COUNT; i++)
        if (kd_node_find(node, KEYS[i])) found = found < 0 ? i : KD_DESIGN_COUNT;
    if (found < 0 || found == KD_DESIGN_COUNT) {
        kd_node_say(
            &r->findings, node,
            "one of list, grid, latin, sobol, monte_carlo, sensitivity, morris is expected here, and seed if you like");
        return;
    }
    // the seed makes random designs repeatable
    kd_node_number_of(&r->findings, node, "seed", "", &seed);
    if (!(seed >= 0 && seed < 9e15 && seed == floor(seed)))
        kd_node_say(&r->findings, kd_node_find(node, "seed"), "a seed is a whole number, at least 0");
    s->design.kind = (kd_design_kind)found;
    s->design.seed = r->findings.count > 0 ? 0 : (uint64_t)seed;
    const kd_node *what = kd_node_find(node, KEYS[found]), *until = kd_node_find(node, "until");
    // when to stop, and how many rows
    if (until) read_until(r, until);
    if (found == KD_DESIGN_LIST)
        read_list(r, what);
    else if (found == KD_DESIGN_GRID)
        read_grid(r, what);
    else
        (void)kd_node_count(&r->findings, what, 1, KD_DESIGN_MOST_ROWS, &s->design.n);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static void read_root(kd_study_reader *r, const kd_node *root)
{
    static const char *const KEYS[] = {"study",  "model",   "run",      "set",      "parameters", "correlations",
                                       "design", "outputs", "identify", "optimise", "keep"};
    static void (*const READ[])(kd_study_reader *, const kd_node *) = {NULL,
                                                                       read_model,
                                                                       read_run,
                                                                       NULL,
                                                                       read_parameters,
                                                                       read_correlations,
                                                                       read_design,
                                                                       kd_study_read_outputs,
                                                                       kd_study_read_identify,
                                                                       kd_study_read_search,
                                                                       kd_study_read_keep};
    // the model is read with what is set, its parameters are known then; a design may name outputs
    static const int ORDER[] = {2, 1, 4, 5, 7, 6, 8, 9, 10};
    kd_study        *s = r->study;
    if (!KD_NODE_IS_MAP(&r->findings, root, KEYS)) return;
    s->title = "";
    kd_nodes_word(r, root, "study", &s->title);
    if (kd_node_find(root, "set")) read_pairs(r, kd_node_find(root, "set"), s->set, &s->nset);
    for (int k = 0; k < 9; k++) {
        const kd_node *node = kd_node_find(root, KEYS[ORDER[k]]);
        if (node) READ[ORDER[k]](r, node);
    }
    // data, or what is to be as small as possible, take the place of a design
    const kd_node *design = kd_node_find(root, "design"), *identify = kd_node_find(root, "identify"),
                  *optimise = kd_node_find(root, "optimise");
    if ((identify && (design || optimise)) || (design && optimise))
        kd_node_say(&r->findings, identify ? identify : optimise,
                    "a study has one of design, identify (data to find parameters from) and optimise");
    for (int k = 4; k < (identify ? 5 : 8); k++)
        if (k != 5 && !(k == 6 && optimise) && !kd_node_find(root, KEYS[k]))
            kd_file_findings_add(&r->findings, root->line, root->column, "'%s' is missing", KEYS[k]);
}

// A system with the channels of the outputs: what is wrong with them is known before hours of runs
static kd_status try_out(kd_study *s, char *message, size_t size)
{
    kd_row_maker   *maker;
    const kd_status status = kd_row_maker_create(s, 0, NULL, &maker, message, size);
    if (status >= 0) kd_row_maker_destroy(maker);
    return status;
}

// The line of the output whose channel a message names; 0: none
static int line_of(const kd_study *s, const char *why)
{
    if (strncmp(why, "keep:", 5) == 0) return s->keep_line;
    for (int i = 0; i < s->noutputs; i++) {
        char name[300];
        kd_text(name, sizeof name, "'%s'", s->output[i].channel ? s->output[i].channel : "");
        if (s->output[i].channel && strstr(why, name)) return s->output[i].line;
    }
    return 0;
}

static kd_status finish(kd_study *s, const char *text, size_t length, char *message, size_t size)
{
    s->design.nparameters = s->nparameters;
    s->design.distribution = s->distribution;
    kd_status status = kd_design_prepare(&s->design, &s->arena, message, size);
    if (status >= 0) status = try_out(s, message, size);
    if (status >= 0) status = kd_study_set_hash(s, text, length, message, size);
    if (status < 0) return status;
    if (s->search.nobjectives > 0) kd_search_prepare(s);
    s->cell = kd_arena_cut(&s->arena, (size_t)s->design.nrows, sizeof *s->cell);
    s->values = kd_arena_cut(&s->arena, (size_t)s->design.nrows * (size_t)s->noutputs + 1, sizeof *s->values);
    return s->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

kd_status kd_study_read_text(const char *path, const char *text, size_t length, kd_study **study, char *message,
                             size_t size)
{
    kd_text(message, size, "%s", "");
    if (study) *study = NULL;
    if (!path || !text || !study) return KD_ERR_ARGUMENT;
    kd_study_reader *r = kd_alloc(sizeof *r);
    kd_study        *s = kd_alloc(sizeof *s);
    kd_status        status = r && s ? KD_OK : KD_ERR_MEMORY;
    // what is not given is NaN until the model fills it in
    if (status >= 0) {
        s->t_end = s->rtol = s->atol = s->max_step = NAN;
        r->study = s, r->path = path, r->findings.file = path;
        status = kd_document_read(text, length, &r->document, &r->findings);
        if (status >= 0) read_root(r, r->document.root);
        if (s->arena.failed) status = KD_ERR_MEMORY; // what was found wrong then may be that
        if (status >= 0 && r->findings.count > 0) status = KD_ERR_MODEL;
        kd_file_findings_write(&r->findings, message, size);
        kd_document_release(&r->document);
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    char why[4000] = "";
    // the model is read last: its mistakes get the line that names it
    if (status >= 0 && (status = finish(s, text, length, why, sizeof why)) < 0) {
        const int line = line_of(s, why);
        kd_text(message, size, "%s:", path);
        if (line > 0) kd_text_append(message, size, "%d:", line);
        kd_text_append(message, size, " %s", why[0] ? why : kd_status_sentence(status));
    }
    kd_free(r);
    if (status < 0)
        kd_study_destroy(s);
    else
        *study = s;
    return status;
}

kd_status kd_study_read(const char *path, kd_study **study, char *message, size_t size)
{
    char  *text = NULL;
    size_t length;
    kd_text(message, size, "%s", "");
    if (study) *study = NULL;
    if (!path || !study) return KD_ERR_ARGUMENT;
    kd_status status = kd_load_file(path, MOST_BYTES, &text, &length, message, size);
    if (status >= 0) status = kd_study_read_text(path, text, length, study, message, size);
    kd_free(text);
    return status;
}
