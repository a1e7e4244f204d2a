// nodes.c: see nodes.h.
#include "study/nodes.h"

#include <string.h>

enum { MOST_VALUES = 100000 };

void kd_nodes_say_of(kd_study_reader *r, const kd_node *node, const char *what, const char *word)
{
    kd_file_findings_add(&r->findings, node->line, node->column, "%s '%s'", what, word);
}

const char *kd_nodes_copy(kd_study_reader *r, const char *text)
{
    char *to = kd_arena_cut(&r->study->arena, strlen(text) + 1, 1);
    return to ? strcpy(to, text) : "";
}

const double *kd_nodes_numbers(kd_study_reader *r, const kd_node *node, int *n)
{
    *n = 0;
    if (node->type != KD_NODE_LIST || node->n < 1 || node->n > MOST_VALUES) {
        kd_node_say(&r->findings, node, "a list of numbers is expected here");
        return NULL;
    }
    double *list = kd_cut_double(&r->study->arena, node->n);
    for (int i = 0; list && i < node->n; i++)
        if (!kd_node_number(&r->findings, &node->item[i], "", &list[i])) return NULL;
    *n = list ? node->n : 0;
    return list;
}

void kd_nodes_word(kd_study_reader *r, const kd_node *map, const char *key, const char **out)
{
    const kd_node *node = kd_node_find(map, key);
    if (node && node->type == KD_NODE_SCALAR) *out = kd_nodes_copy(r, node->text);
    if (node && node->type != KD_NODE_SCALAR) kd_node_say(&r->findings, node, "a word is expected here");
}

int kd_study_find_parameter(const kd_study *s, const char *name)
{
    for (int i = 0; i < s->nparameters; i++)
        if (strcmp(s->parameter[i], name) == 0) return i;
    return -1;
}
