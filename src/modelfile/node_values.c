// node_values.c: see node_values.h.
#include "modelfile/node_values.h"

#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "expr/expr.h"
#include "expr/quantity.h"

void kd_node_say(kd_file_findings *f, const kd_node *node, const char *what)
{
    kd_file_findings_add(f, node ? node->line : 0, node ? node->column : 0, "%s", what);
}

void kd_node_say_unknown(kd_file_findings *f, const kd_node *node, const char *what, const char *const *words,
                         int count)
{
    const char *meant = kd_nearest_word(node->text, words, count);
    kd_file_findings_add(f, node->line, node->column, "%s '%s'%s%s%s", what, node->text,
                         meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

bool kd_node_is_map(kd_file_findings *f, const kd_node *node, const char *const *keys, int nkeys)
{
    if (node->type != KD_NODE_MAP) {
        kd_node_say(f, node, "keys and values are expected here");
        return false;
    }
    for (int i = 0; keys && i < node->n; i++) {
        bool known = false;
        for (int k = 0; k < nkeys; k++) known = known || strcmp(node->item[2 * i].text, keys[k]) == 0;
        if (!known) kd_node_say_unknown(f, &node->item[2 * i], "there is no key", keys, nkeys);
    }
    return true;
}

bool kd_node_number(kd_file_findings *f, const kd_node *node, const char *unit, double *value)
{
    kd_expr_error error;
    if (node->type == KD_NODE_SCALAR && node->text[0]) {
        const kd_quantity q = kd_quantity_read(node->text, unit, NULL);
        if (q.kind == KD_QUANTITY_GOOD) {
            *value = q.value;
            return true;
        }
        if (q.kind == KD_QUANTITY_WRONG) {
            kd_node_say(f, node, q.text);
            return false;
        }
        if (kd_expr_constant(node->text, NULL, value, &error) >= 0 && isfinite(*value)) return true;
    }
    kd_node_say(f, node, "a number is expected here");
    return false;
}

void kd_node_number_of(kd_file_findings *f, const kd_node *map, const char *key, const char *unit, double *value)
{
    const kd_node *node = kd_node_find(map, key);
    if (node) (void)kd_node_number(f, node, unit, value);
}

bool kd_node_count(kd_file_findings *f, const kd_node *node, int least, int most, int *value)
{
    double x;
    if (!kd_node_number(f, node, "", &x)) return false;
    if (x == floor(x) && x >= least && x <= most) {
        *value = (int)x;
        return true;
    }
    kd_file_findings_add(f, node->line, node->column, "a whole number from %d to %d is expected here", least, most);
    return false;
}
