// search_file.c: `optimise` of study files.
//
//     optimise:
//       minimise: comfort                    # an output or an expression; several: a front. maximise: likewise
//       constraints: [travel <= 0.1, k*m == 1]
//       method: cobyla                       # search_methods.c
//       polish: bobyqa                       # goes on from what a global method has found
//       starts: 5, runs: 200, tolerance: 1e-4, seed: 1, front: 20
//       start: {k: 1e4}                      # of the first search; left out: the values of the model
//
// Objectives and constraints that are expressions become outputs of their own (objective1, constraint1): rows have them.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "study/nodes.h"
#include "study/search_methods.h"

// An expression as a further output of the study; its number, -1: none
static int add_output(kd_study_reader *r, const kd_node *node, const char *word, int number, const char *text)
{
    kd_study        *s = r->study;
    kd_study_number *o = &s->output[s->noutputs];
    char             name[40];
    kd_text(name, sizeof name, "%s%d", word, number);
    if (s->noutputs == KD_STUDY_MOST) {
        kd_node_say(&r->findings, node, "there are too many outputs");
        return -1;
    }
    for (int i = 0; i < s->noutputs + s->nparameters; i++)
        if (strcmp(name, i < s->noutputs ? s->output[i].name : s->parameter[i - s->noutputs]) == 0)
            kd_nodes_say_of(r, node, "the name is needed for an expression of the search:", name);
    o->name = kd_nodes_copy(r, name), o->text = kd_nodes_copy(r, text), o->line = node->line;
    kd_study_read_expression(r, node, text, &o->expr);
    return s->noutputs++;
}

// ---- objectives -----------------------------------------------------------------------------------------------------

static void add_objective(kd_study_reader *r, const kd_node *node, double sign)
{
    kd_study  *s = r->study;
    kd_search *q = &s->search;
    if (node->type != KD_NODE_SCALAR || !node->text[0] || q->nobjectives == KD_SEARCH_OBJECTIVES) {
        kd_node_say(&r->findings, node,
                    q->nobjectives == KD_SEARCH_OBJECTIVES ? "there are too many objectives"
                                                           : "an output or an expression is expected here");
        return;
    }
    // an output by its name, or an expression, which becomes one
    int output = 0;
    while (output < s->noutputs && strcmp(s->output[output].name, node->text) != 0) output++;
    if (output == s->noutputs) output = add_output(r, node, "objective", q->nobjectives + 1, node->text);
    if (output < 0) return;
    q->objective[q->nobjectives].output = output;
    q->objective[q->nobjectives++].sign = sign;
}

static void read_objectives(kd_study_reader *r, const kd_node *node, const char *key, double sign)
{
    const kd_node *what = kd_node_find(node, key);
    if (!what) return;
    if (what->type != KD_NODE_LIST) add_objective(r, what, sign);
    for (int i = 0; what->type == KD_NODE_LIST && i < what->n; i++) add_objective(r, &what->item[i], sign);
}

// ---- constraints ----------------------------------------------------------------------------------------------------

// Where a comparison stands outside of brackets; NULL: there is none, or more than one. *length: of its sign
static const char *find_comparison(const char *text, int *length)
{
    const char *found = NULL;
    int         depth = 0;
    for (const char *c = text; *c; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth != 0 || !strchr("<>=!", *c)) continue;
        if (found || *c == '!') return NULL;
        found = c;
        *length = c[1] == '=' ? 2 : 1;
        c += *length - 1;
    }
    return found;
}

static void add_constraint(kd_study_reader *r, const kd_node *node)
{
    kd_search  *q = &r->study->search;
    char        text[2000];
    int         length = 0;
    const char *sign = node->type == KD_NODE_SCALAR ? find_comparison(node->text, &length) : NULL;
    // one comparison, of two sides
    if (!sign || (*sign == '=' && length == 1) || strlen(node->text) > 900) {
        kd_node_say(&r->findings, node, "a constraint compares two expressions by <=, >= or ==, as in 'travel <= 0.1'");
        return;
    }
    if (q->nconstraints == KD_SEARCH_CONSTRAINTS) {
        kd_node_say(&r->findings, node, "there are too many constraints");
        return;
    }
    // left <= right: left - right is at most 0
    const int left = (int)(sign - node->text);
    if (*sign == '>')
        kd_text(text, sizeof text, "(%s) - (%.*s)", sign + length, left, node->text);
    else
        kd_text(text, sizeof text, "(%.*s) - (%s)", left, node->text, sign + length);
    // the right side tells the size of what must vanish
    kd_expr_error error;
    double        limit = 0;
    if (kd_expr_constant(sign + length, NULL, &limit, &error) < 0 || !isfinite(limit)) limit = 0;
    if (*sign == '=' && limit == 0) {
        kd_node_say(
            &r->findings, node,
            "an equation has a number other than 0 on its right side, as in 'k*m == 3': it tells what is small");
        return;
    }
    // the difference is an output like others
    const int output = add_output(r, node, "constraint", q->nconstraints + 1, text);
    if (output < 0) return;
    q->constraint[q->nconstraints].size = fabs(limit);
    q->constraint[q->nconstraints].output = output;
    q->constraint[q->nconstraints].equal = *sign == '=';
    q->constraint[q->nconstraints++].text = kd_nodes_copy(r, node->text);
}

// ---- method ---------------------------------------------------------------------------------------------------------

static int read_method(kd_study_reader *r, const kd_node *node, const char *key, int usual)
{
    const char    *words[KD_SEARCH_METHODS];
    const kd_node *what = kd_node_find(node, key);
    if (!what) return usual;
    for (int i = 0; i < KD_SEARCH_METHODS; i++) words[i] = KD_SEARCH_METHOD[i].word;
    const int method = what->type == KD_NODE_SCALAR ? kd_search_method_of(what->text) : -1;
    if (what->type != KD_NODE_SCALAR)
        kd_node_say(&r->findings, what, "the word of a method is expected here");
    else if (method < 0)
        kd_node_say_unknown(&r->findings, what, "there is no method", words, KD_SEARCH_METHODS);
    return method < 0 ? usual : method;
}

// Does a method know what the study has? A front is a search with constraints
static void check_method(kd_study_reader *r, const kd_node *node, const char *key, int method)
{
    const kd_search        *q = &r->study->search;
    const kd_search_method *m = &KD_SEARCH_METHOD[method];
    bool                    unequal = q->nobjectives > 1, equal = false;
    for (int i = 0; i < q->nconstraints; i++) q->constraint[i].equal ? (equal = true) : (unequal = true);
    if ((!unequal || m->unequal) && (!equal || m->equal)) return;
    const kd_node *what = kd_node_find(node, key);
    kd_file_findings_add(&r->findings, (what ? what : node)->line, (what ? what : node)->column,
                         "method '%s' knows no %s%s; cobyla, slsqp and isres do", m->word,
                         !m->equal && equal ? "equations as constraints" : "constraints",
                         q->nobjectives > 1 && !m->unequal ? ", which a front needs" : "");
}

static void read_start(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    if (!node || !kd_node_is_map(&r->findings, node, s->parameter, s->nparameters)) return;
    for (int i = 0; i < node->n; i++) {
        const int j = kd_study_find_parameter(s, node->item[2 * i].text);
        if (j < 0 || !kd_node_number(&r->findings, &node->item[2 * i + 1], "", &s->search.start[j])) continue;
        if (s->search.start[j] < s->distribution[j].a || s->search.start[j] > s->distribution[j].b)
            kd_node_say(&r->findings, &node->item[2 * i + 1], "the start lies outside of the parameter's range");
    }
}

void kd_study_read_search(kd_study_reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"minimise", "maximise", "constraints", "method", "polish", "starts",
                                       "runs",     "start",    "tolerance",   "seed",   "front"};
    kd_study                *s = r->study;
    kd_search               *q = &s->search;
    const kd_node           *what;
    double                   seed = 1;
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    // what is to be small, and what must hold
    for (int i = 0; i < s->nparameters; i++)
        if (s->distribution[i].kind != KD_UNIFORM)
            kd_node_say(&r->findings, node, "parameters that are searched for have a range");
    read_objectives(r, node, "minimise", 1);
    read_objectives(r, node, "maximise", -1);
    if (q->nobjectives == 0)
        kd_node_say(&r->findings, node, "optimise needs minimise or maximise: an output, or several");
    if ((what = kd_node_find(node, "constraints"))) {
        if (what->type != KD_NODE_LIST) add_constraint(r, what);
        for (int i = 0; what->type == KD_NODE_LIST && i < what->n; i++) add_constraint(r, &what->item[i]);
    }
    // how
    q->method = read_method(r, node, "method", 0);
    q->polish = read_method(r, node, "polish", -1);
    check_method(r, node, "method", q->method);
    if (q->polish >= 0) check_method(r, node, "polish", q->polish);
    // numbers with their defaults, each within its bounds
    q->starts = 1, q->runs = 200, q->front = 12, q->tolerance = 1e-4;
    if ((what = kd_node_find(node, "starts"))) (void)kd_node_count(&r->findings, what, 1, 10000, &q->starts);
    if ((what = kd_node_find(node, "runs"))) (void)kd_node_count(&r->findings, what, 1, KD_DESIGN_MOST_ROWS, &q->runs);
    if ((what = kd_node_find(node, "front"))) (void)kd_node_count(&r->findings, what, 1, 10000, &q->front);
    kd_node_number_of(&r->findings, node, "tolerance", "", &q->tolerance);
    if (!(q->tolerance > 0 && q->tolerance < 1))
        kd_node_say(&r->findings, kd_node_find(node, "tolerance"),
                    "a tolerance lies between 0 and 1: a share of the ranges");
    kd_node_number_of(&r->findings, node, "seed", "", &seed);
    if (!(seed >= 0 && seed < 9e15 && seed == floor(seed)))
        kd_node_say(&r->findings, kd_node_find(node, "seed"), "a seed is a whole number, at least 0");
    else
        q->seed = (uint64_t)seed;
    // starting points: random but for those that are given
    for (int i = 0; i < KD_STUDY_MOST; i++) q->start[i] = NAN;
    read_start(r, kd_node_find(node, "start"));
    // rows of all searches
    q->nsearches = q->nobjectives * q->starts + (q->nobjectives > 1 ? q->front : 0);
    s->design.kind = KD_DESIGN_SEARCH;
    const double rows = (double)q->nsearches * q->runs;
    s->design.n = rows > KD_DESIGN_MOST_ROWS ? KD_DESIGN_MOST_ROWS : (int)rows;
    if (rows > KD_DESIGN_MOST_ROWS)
        kd_node_say(&r->findings, node, "searches and their runs are more than ten million together");
}
