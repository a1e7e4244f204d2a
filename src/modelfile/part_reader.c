// part_reader.c: words and numbers of part files.
#include "modelfile/part_reader.h"

#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "core/read_number.h"
#include "expr/quantity.h"
#include "modelfile/paths.h"

void kd_part_complain(kd_part_reader *p, const kd_node *node, const char *what, const char *word)
{
    p->findings.at = node ? node->file : NULL; // the file that it includes has a name of its own
    kd_file_findings_add(&p->findings, node ? node->line : 0, node ? node->column : 0, "%s%s%s%s", what,
                         word ? " '" : "", word ? word : "", word ? "'" : "");
    p->findings.at = NULL;
}

bool kd_part_is_wrong(const kd_part_reader *p)
{
    return p->findings.count > 0;
}

// A map whose keys are all known
bool kd_part_check_keys(kd_part_reader *p, const kd_node *map, const char *const *keys, int nkeys)
{
    if (map->type != KD_NODE_MAP) {
        kd_part_complain(p, map, "keys and values are expected here", NULL);
        return false;
    }
    for (int i = 0; i < map->n; i++) {
        const kd_node *key = &map->item[2 * i];
        bool           known = false;
        for (int k = 0; k < nkeys; k++) known = known || strcmp(key->text, keys[k]) == 0;
        if (known) continue;
        const char *meant = kd_nearest_word(key->text, keys, nkeys);
        kd_file_findings_add(&p->findings, key->line, key->column, "'%s' is not known here%s%s%s", key->text,
                             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    }
    return true;
}

const char *kd_part_nearest_key(const kd_node *map, const char *word)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; i < map->n; i++) kd_nearest_offer(&nearest, map->item[2 * i].text);
    return nearest.best;
}

const char *kd_part_text(kd_part_reader *p, const kd_node *map, const char *key)
{
    const kd_node *node = kd_node_find(map, key);
    if (!node) return NULL;
    if (node->type == KD_NODE_SCALAR && node->text[0]) return node->text;
    kd_part_complain(p, node, "a word is expected for", key);
    return NULL;
}

// A number, with a unit or without
bool kd_part_number_of(kd_part_reader *p, const kd_node *node, const char *key, const char *unit, double *value)
{
    char *end;
    if (node->type == KD_NODE_SCALAR) {
        // a number alone is in the base unit
        *value = kd_read_number(node->text, &end);
        if (end != node->text && *end == '\0' && isfinite(*value)) return true;
        // with a unit it is converted, or told what is wrong with it
        const kd_quantity q = kd_quantity_read(node->text, unit, NULL);
        if (q.kind == KD_QUANTITY_GOOD && isfinite(q.value)) {
            *value = q.value;
            return true;
        }
        if (q.kind == KD_QUANTITY_WRONG) {
            kd_part_complain(p, node, q.text, NULL);
            return false;
        }
    }
    kd_part_complain(p, node, "a number is expected for", key);
    return false;
}

// The number of a key; `otherwise` where it is not there
double kd_part_number(kd_part_reader *p, const kd_node *map, const char *key, const char *unit, double otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    double         value;
    return node && kd_part_number_of(p, node, key, unit, &value) ? value : otherwise;
}

int kd_part_count(kd_part_reader *p, const kd_node *map, const char *key, int least, int most, int otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    const double   value = kd_part_number(p, map, key, "", otherwise);
    if (!node) return otherwise;
    if (value == floor(value) && value >= least && value <= most) return (int)value;
    kd_file_findings_add(&p->findings, node->line, node->column, "%s must be a whole number from %d to %d", key, least,
                         most);
    return otherwise;
}

bool kd_part_flag(kd_part_reader *p, const kd_node *map, const char *key, bool otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    if (!node) return otherwise;
    if (node->type == KD_NODE_SCALAR && strcmp(node->text, "true") == 0) return true;
    if (node->type == KD_NODE_SCALAR && strcmp(node->text, "false") == 0) return false;
    kd_part_complain(p, node, "true or false is expected for", key);
    return otherwise;
}

bool kd_part_vector(kd_part_reader *p, const kd_node *node, const char *key, const char *unit, int n, double *value)
{
    if (node->type != KD_NODE_LIST || node->n != n) {
        kd_file_findings_add(&p->findings, node->line, node->column, "%s needs %d numbers", key, n);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!kd_part_number_of(p, &node->item[i], key, unit, &value[i])) return false;
    return true;
}

// The path of a file beside the part, in memory of the reader; NULL: not given, or complained of
const char *kd_part_path(kd_part_reader *p, const kd_node *map, const char *key)
{
    const kd_node *node = kd_node_find(map, key);
    const char    *written = kd_part_text(p, map, key);
    char           why[300], *path = kd_arena_cut(&p->arena, KD_PATH_LENGTH, 1);
    if (!written || !path) return NULL;
    if (kd_model_file_path(p->folder, written, path, why, sizeof why) == KD_OK) return path;
    kd_part_complain(p, node, why, NULL);
    return NULL;
}
