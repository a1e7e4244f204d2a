// signals.c: fields of blocks and events: lists and maps of expressions, matrices, start values whose number others
// say.
#include <string.h>

#include "modelfile/reader.h"

// ---- numbers --------------------------------------------------------------------------------------------------------

// Numbers of a list whose length is known: one without brackets, or as many as there are.
bool kd_reader_starts(kd_reader *r, const kd_field *field, kd_node *node, char *def)
{
    int n;
    memcpy(&n, def + field->length, sizeof n);
    return kd_reader_numbers(r, node, field->key, n, false, (double *)(void *)(def + field->offset));
}

// A size of a matrix that was not known is that of the first one that shows it.
static bool fit(kd_reader *r, const kd_field *field, const kd_node *node, const char *what, int found, char *size)
{
    int known;
    memcpy(&known, size, sizeof known);
    if (known == 0 && found > 0 && found <= KD_MAX_SIGNALS) {
        memcpy(size, &found, sizeof found);
        return true;
    }
    if (known > 0 && known == found) return true;
    if (known > 0)
        kd_reader_complain(r, node, "'%s' needs %d %s, got %d", field->key, known, what, found);
    else
        kd_reader_complain(r, node, "'%s' has %d %s; 1 to %d are possible", field->key, found, what, KD_MAX_SIGNALS);
    return false;
}

// Rows of numbers; one row or one column may be a plain list, one number stands alone.
bool kd_reader_rows(kd_reader *r, const kd_field *field, kd_node *node, char *def)
{
    // how many rows and columns the lists have; one list is a row where rows are that long
    const bool nested = node->type == KD_NODE_LIST && node->n > 0 && node->item[0].type == KD_NODE_LIST;
    const int  n = node->type == KD_NODE_LIST ? node->n : 1;
    int        rows = n, columns;
    memcpy(&columns, def + field->second, sizeof columns);
    if (node->type == KD_NODE_MAP) {
        kd_reader_complain(r, node, "'%s' must be a matrix, like [[1, 2], [3, 4]]", field->key);
        return false;
    }
    if (nested) columns = node->item[0].n;
    if (!nested && (columns == n || columns == 0) && n > 1) {
        rows = 1;
        columns = n;
    } else if (!nested) {
        columns = 1;
    }
    // counts may be known already, by another field
    if (!fit(r, field, node, "rows", rows, def + field->length)) return false;
    if (!fit(r, field, node, "columns", columns, def + field->second)) return false;
    // room for the numbers, which parameters may change later
    double *matrix = kd_cut_double(&r->scratch, rows * columns);
    if (!matrix) return kd_reader_short_of_memory(r);
    kd_reader_array(r, matrix, rows * columns, field->offset);
    if (!nested && !kd_reader_numbers(r, node, field->key, n, false, matrix)) return false;
    // row by row
    for (int i = 0; nested && i < rows; i++) {
        if (!kd_reader_numbers(r, &node->item[i], field->key, columns, false, matrix + i * columns)) return false;
    }
    memcpy(def + field->offset, &matrix, sizeof matrix);
    return true;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// A signal: its expression, and where that stands.
static bool read_signal(kd_reader *r, const kd_field *field, int i, int n, const char *name, const kd_node *node,
                        const char **law)
{
    bool literal;
    char text[KD_EXPR_MAX_NAME + 20];
    if (!kd_reader_law(r, node, field->key, law, &literal)) return false;
    if (!*law) {
        kd_reader_complain(r, node, "'%s' needs an expression", field->key);
        return false;
    }
    kd_signal_field(field->key, i, n, name, text, sizeof text);
    const char *kept = kd_model_text(r->m, text);
    return kept ? kd_reader_note_law(r, kept, node, literal) : kd_reader_short_of_memory(r);
}

// One expression, a list of them, or a map from names to expressions
bool kd_reader_signals(kd_reader *r, const kd_field *field, kd_node *node, char *def)
{
    const bool map = node->type == KD_NODE_MAP, named = (field->flags & KD_FIELD_NAMED) != 0;
    // as many laws as the node has entries
    const int    n = node->type == KD_NODE_SCALAR ? 1 : node->n;
    const char **law = (const char **)(void *)(def + field->offset);
    const char **name = (const char **)(void *)(def + field->second);
    if ((map && !field->second) || (!map && named)) {
        kd_reader_complain(r, node, "'%s' must be %s", field->key,
                           named ? "a map, like {variable.gear: 2}" : "an expression or a list of expressions");
        return false;
    }
    if (!kd_reader_check_room(r, field, node, n)) return false;
    // each with its name, if there are names
    for (int i = 0; i < n; i++) {
        const kd_node *value = map ? &node->item[2 * i + 1] : node->type == KD_NODE_SCALAR ? node : &node->item[i];
        if (map && !kd_reader_name(r, &node->item[2 * i], &name[i])) return false;
        if (map && named && !kd_reader_qualify_path(r, &node->item[2 * i], &name[i])) return false;
        if (!read_signal(r, field, i, n, map ? name[i] : NULL, value, &law[i])) return false;
    }
    memcpy(def + field->length, &n, sizeof n);
    return true;
}

// A map from names of states to expressions
bool kd_reader_next(kd_reader *r, const kd_field *field, const kd_node *node, char *def)
{
    const char       **law = (const char **)(void *)(def + field->offset);
    const char *const *known = (const char *const *)(const void *)(def + field->second);
    int                count;
    memcpy(&count, def + field->length, sizeof count);
    if (node->type != KD_NODE_MAP) {
        kd_reader_complain(r, node, "'%s' must be a map from states to expressions, like {z: z + u}", field->key);
        return false;
    }
    // a state by its name
    for (int i = 0; i < node->n; i++) {
        const kd_node *key = &node->item[2 * i];
        const char    *name;
        kd_nearest     nearest = kd_nearest_start(key->text);
        int            k = 0;
        if (!kd_reader_name(r, key, &name)) return false;
        // its number among those of the block, with the nearest name for a mistake
        for (int j = 0; j < count; j++) kd_nearest_offer(&nearest, known[j]);
        while (k < count && strcmp(known[k], name) != 0) k++;
        if (k == count) {
            kd_reader_complain(r, key, "'%s': unknown state '%.60s'%s%s%s", field->key, name,
                               nearest.best ? ", did you mean '" : "", nearest.best ? nearest.best : "",
                               nearest.best ? "'?"
                               : count == 0 ? "; the block has no 'states'"
                                            : "");
            return false;
        }
        // its law in the place of that number
        if (!read_signal(r, field, k, count, name, &node->item[2 * i + 1], &law[k])) return false;
    }
    return true;
}
