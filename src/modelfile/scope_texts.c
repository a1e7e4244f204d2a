// scope_texts.c: names and laws of a file, with values in place of the indices of repetition: link(i-1) becomes link(3).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "modelfile/scope.h"

// ---- names ----------------------------------------------------------------------------------------------------------

// the end of an index: the next ',' or ')' outside of inner parentheses, or the end of the text
static size_t index_length(const char *text)
{
    int    open = 0;
    size_t n = 0;
    for (; text[n]; n++) {
        if (open == 0 && (text[n] == ',' || text[n] == ')')) break;
        open += (text[n] == '(') - (text[n] == ')');
    }
    return n;
}

// The value of an index expression, as digits
static bool expand_index(kd_reader *r, const kd_node *node, const char *text, size_t length, char *out, size_t size)
{
    double value;
    char  *index = kd_reader_copy(r, text, length);
    if (!index) return false;
    const int mark = r->npending;
    if (!kd_reader_evaluate(r, node, (int)(text - node->text), "index", index, &value)) return false;
    if (!kd_reader_hold(r, mark)) return false;
    if (!(value >= 0.0 && value <= 1e9 && value == floor(value))) {
        kd_reader_complain(r, node, "the index '%.60s' in '%.60s' must be a whole number from 0 on, but is %.*g", index,
                           node->text, kd_reader_digits(value), value);
        return false;
    }
    kd_text_append(out, size, "%.0f", value);
    return true;
}

bool kd_reader_name(kd_reader *r, const kd_node *node, const char **name)
{
    char        out[KD_EXPR_MAX_NAME + 1] = "";
    const char *c = node->text;
    if (!strchr(c, '(')) {
        *name = c;
        return true;
    }
    // what is too long is refused before it is copied
    if (strlen(c) > KD_EXPR_MAX_NAME) {
        kd_reader_complain(r, node, "the name '%.20s...' is longer than %d characters", c, KD_EXPR_MAX_NAME);
        return false;
    }
    while (*c) {
        // up to the next index
        size_t n = strcspn(c, "(");
        kd_text_append(out, sizeof out, "%.*s", (int)n, c);
        c += n;
        while (*c == '(' || *c == ',') {
            kd_text_append(out, sizeof out, "%c", *c++);
            // "(i + 1, 2)" becomes "(3,2)"
            n = index_length(c);
            if (!expand_index(r, node, c, n, out, sizeof out)) return false;
            c += n;
            if (*c == '\0') {
                kd_reader_complain(r, node, "')' is missing in '%.60s'", node->text);
                return false;
            }
            if (*c == ')') {
                kd_text_append(out, sizeof out, "%c", *c++);
                break;
            }
        }
    }
    // indices may have made it longer
    if (strlen(out) >= KD_EXPR_MAX_NAME) {
        kd_reader_complain(r, node, "the name '%.20s...' is longer than %d characters", out, KD_EXPR_MAX_NAME);
        return false;
    }
    *name = kd_reader_copy(r, out, strlen(out));
    return *name != NULL;
}

// ---- laws -----------------------------------------------------------------------------------------------------------

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t kd_reader_token(const char *c)
{
    size_t n = 0;
    if ((*c >= '0' && *c <= '9') || (c[0] == '.' && c[1] >= '0' && c[1] <= '9')) {
        // a number with its exponent
        while ((c[n] >= '0' && c[n] <= '9') || c[n] == '.') n++;
        if (c[n] != 'e' && c[n] != 'E') return n;
        size_t digits = n + (c[n + 1] == '-' || c[n + 1] == '+' ? 2 : 1);
        if (c[digits] < '0' || c[digits] > '9') return n;
        while (c[digits] >= '0' && c[digits] <= '9') digits++;
        return digits;
    }
    while (is_name_char(c[n])) n++;
    return n > 0 ? n : 1;
}

// Words that are indices become numbers, unless they are parts of a path. Answers the length; out may be NULL.
static size_t put_indices(const kd_reader *r, const char *text, char *out, size_t size)
{
    size_t used = 0;
    char   before = '\0', word[64];
    for (const char *c = text; *c;) {
        size_t      n = kd_reader_token(c), length = n;
        int         k;
        const char *piece = c;
        char        number[32];
        // a word that is an index becomes its number
        if (n < sizeof word && before != '.' && is_name_char(*c)) {
            memcpy(word, c, n);
            word[n] = '\0';
            if (kd_reader_find_index(r, word, &k)) {
                snprintf(number, sizeof number, r->index_value[k] < 0 ? "(%.0f)" : "%.0f", r->index_value[k]);
                piece = number;
                length = strlen(number);
            }
        }
        if (out && used + length < size) memcpy(out + used, piece, length);
        used += length;
        if (*c != ' ') before = c[n - 1];
        c += n;
    }
    if (out && used < size) out[used] = '\0';
    return used;
}

const char *kd_reader_text_with_indices(kd_reader *r, const kd_node *node)
{
    const size_t length = put_indices(r, node->text, NULL, 0);
    char        *text = kd_arena_cut(&r->memory, length + 1, 1);
    if (text)
        put_indices(r, node->text, text, length + 1);
    else
        kd_reader_short_of_memory(r);
    return text;
}

// A law that is a number with a unit becomes the number. What else is wrong with it the expression is told for.
static bool take_law_quantity(kd_reader *r, const kd_node *node, const char *key, const char **law, bool *literal)
{
    char              number[40];
    const char *const wanted = r->unit;
    const bool        free_unit = !wanted || wanted[0] == '\0';
    if (free_unit) r->unit = NULL;
    const kd_quantity quantity = kd_reader_quantity(r, node->text);
    r->unit = wanted;
    if (quantity.kind == KD_QUANTITY_NONE) return true;
    if (quantity.kind == KD_QUANTITY_WRONG) return kd_reader_complain_quantity(r, node, key, &quantity);
    kd_text(number, sizeof number, "%.17g", quantity.value);
    char *comma = strchr(number, ','); // of another locale
    if (comma) *comma = '.';
    *law = kd_reader_copy(r, number, strlen(number));
    *literal = false;
    return *law != NULL;
}

// Inside a repetition: with numbers in place of indices
static bool put_in_indices(kd_reader *r, const kd_node *node, const char *key, const char **law)
{
    if (r->nindices == 0) return true;
    size_t length = put_indices(r, *law, NULL, 0);
    if (length > KD_EXPR_MAX_LENGTH) {
        kd_reader_complain(r, node, "'%s' is longer than %d characters", key, KD_EXPR_MAX_LENGTH);
        return false;
    }
    char *text = kd_arena_cut(&r->scratch, length + 1, 1);
    if (!text) return kd_reader_short_of_memory(r);
    put_indices(r, *law, text, length + 1);
    *law = text;
    return true;
}

bool kd_reader_law(kd_reader *r, const kd_node *node, const char *key, const char **law, bool *literal)
{
    *law = NULL;
    *literal = node->first > 0;
    // one scalar; nothing is no law
    if (node->type != KD_NODE_SCALAR) {
        kd_reader_complain(r, node, "'%s' must be an expression, not a %s", key,
                           node->type == KD_NODE_LIST ? "list" : "map");
        return false;
    }
    if (kd_node_is_null(node)) return true;
    // numbers with units are laws, too
    *law = node->text;
    if (!take_law_quantity(r, node, key, law, literal)) return false;
    if (*law != node->text) return true;
    // a law in words: named expressions, indices, then full names
    if (!kd_reader_put_named(r, node, key, law)) return false;
    if (!put_in_indices(r, node, key, law)) return false;
    if (kd_reader_has_scopes(r) && !kd_reader_qualify(r, node, key, law)) return false;
    // literal: columns of messages count in the text of the file
    *literal = *literal && strcmp(*law, node->text) == 0;
    return true;
}
