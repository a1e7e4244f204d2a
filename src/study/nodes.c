// nodes.c: see nodes.h.
#include "study/nodes.h"

#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "expr/quantity.h"

enum { MOST_VALUES = 100000 };

void kd_nodes_say(kd_study_reader *r, const kd_node *node, const char *what)
{
    kd_file_findings_add(&r->findings, node ? node->line : 0, node ? node->column : 0, "%s", what);
}

void kd_nodes_say_of(kd_study_reader *r, const kd_node *node, const char *what, const char *word)
{
    kd_file_findings_add(&r->findings, node->line, node->column, "%s '%s'", what, word);
}

const char *kd_nodes_copy(kd_study_reader *r, const char *text)
{
    char *to = kd_arena_cut(&r->study->arena, strlen(text) + 1, 1);
    return to ? strcpy(to, text) : "";
}

void kd_nodes_say_unknown(kd_study_reader *r, const kd_node *node, const char *what, const char *const *words,
                          int count)
{
    const char *meant = kd_nearest_word(node->text, words, count);
    kd_file_findings_add(&r->findings, node->line, node->column, "%s '%s'%s%s%s", what, node->text,
                         meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

bool kd_nodes_is_map(kd_study_reader *r, const kd_node *node, const char *const *keys, int nkeys)
{
    if (node->type != KD_NODE_MAP) {
        kd_nodes_say(r, node, "keys and values are expected here");
        return false;
    }
    for (int i = 0; keys && i < node->n; i++) {
        bool known = false;
        for (int k = 0; k < nkeys; k++) known = known || strcmp(node->item[2 * i].text, keys[k]) == 0;
        if (!known) kd_nodes_say_unknown(r, &node->item[2 * i], "there is no key", keys, nkeys);
    }
    return true;
}

// A number, with a unit or as an expression of numbers
bool kd_nodes_number(kd_study_reader *r, const kd_node *node, const char *unit, double *value)
{
    kd_expr_error error;
    if (node->type == KD_NODE_SCALAR && node->text[0]) {
        const kd_quantity q = kd_quantity_read(node->text, unit, NULL);
        if (q.kind == KD_QUANTITY_GOOD) {
            *value = q.value;
            return true;
        }
        if (q.kind == KD_QUANTITY_WRONG) {
            kd_nodes_say(r, node, q.text);
            return false;
        }
        if (kd_expr_constant(node->text, NULL, value, &error) >= 0 && isfinite(*value)) return true;
    }
    kd_nodes_say(r, node, "a number is expected here");
    return false;
}

void kd_nodes_number_of(kd_study_reader *r, const kd_node *map, const char *key, const char *unit, double *value)
{
    const kd_node *node = kd_node_find(map, key);
    if (node) (void)kd_nodes_number(r, node, unit, value);
}

bool kd_nodes_count(kd_study_reader *r, const kd_node *node, int least, int most, int *value)
{
    double x;
    if (!kd_nodes_number(r, node, "", &x)) return false;
    if (x == floor(x) && x >= least && x <= most) {
        *value = (int)x;
        return true;
    }
    kd_file_findings_add(&r->findings, node->line, node->column, "a whole number from %d to %d is expected here", least,
                         most);
    return false;
}

const double *kd_nodes_numbers(kd_study_reader *r, const kd_node *node, int *n)
{
    *n = 0;
    if (node->type != KD_NODE_LIST || node->n < 1 || node->n > MOST_VALUES) {
        kd_nodes_say(r, node, "a list of numbers is expected here");
        return NULL;
    }
    double *list = kd_cut_double(&r->study->arena, node->n);
    for (int i = 0; list && i < node->n; i++)
        if (!kd_nodes_number(r, &node->item[i], "", &list[i])) return NULL;
    *n = list ? node->n : 0;
    return list;
}

void kd_nodes_word(kd_study_reader *r, const kd_node *map, const char *key, const char **out)
{
    const kd_node *node = kd_node_find(map, key);
    if (node && node->type == KD_NODE_SCALAR) *out = kd_nodes_copy(r, node->text);
    if (node && node->type != KD_NODE_SCALAR) kd_nodes_say(r, node, "a word is expected here");
}

int kd_study_find_parameter(const kd_study *s, const char *name)
{
    for (int i = 0; i < s->nparameters; i++)
        if (strcmp(s->parameter[i], name) == 0) return i;
    return -1;
}
