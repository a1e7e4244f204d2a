// named.c: expressions with a name, which laws of the file use like a number: `expressions: {stretch: joint.a.q - l0}`.
//
// A name stands for its text in parentheses, put in while the file is read: the model holds whole laws, and common parts of
// one law are evaluated once (expr/builder.c). Expressions may use each other, in any order, but not in a circle.
#include <string.h>

#include "core/text.h"
#include "expr/internal.h"
#include "modelfile/reader.h"

enum { MOST_DEPTH = 32 };

static bool refuse_expression(kd_reader *r, const kd_named *e, const char *why)
{
    const char *const at = r->findings->at;
    if (e->file) r->findings->at = e->file;
    kd_file_findings_add(r->findings, e->line, e->column, "expression '%.100s': %s", e->name, why);
    r->findings->at = at;
    return false;
}

// Name and text of one expression, both checked
static bool enter(kd_reader *r, const kd_node *key, const kd_node *value)
{
    kd_named *e = &r->named[r->nnamed];
    char      why[300];
    *e = (kd_named){.name = key->text, .file = key->file, .line = key->line, .column = key->column};
    if (!kd_name_check(key->text, why, sizeof why)) return refuse_expression(r, e, why);
    if (strpbrk(key->text, "-(")) return refuse_expression(r, e, "the name must consist of letters, digits and '_'");
    if (kd_expr_is_reserved(key->text) || strcmp(key->text, "t") == 0)
        return refuse_expression(r, e, "the name is a word of the expression language");
    if (kd_reader_has_parameter(r, key->text)) return refuse_expression(r, e, "a parameter has this name already");
    if (kd_schema_is_local(key->text))
        return refuse_expression(r, e, "laws of some elements have this name for a quantity of their own");
    if (value->type != KD_NODE_SCALAR || kd_node_is_null(value))
        return refuse_expression(r, e, "it must be an expression");
    e->text = value->text;
    r->nnamed++;
    return true;
}

bool kd_reader_named(kd_reader *r, const kd_node *map)
{
    if (!map || kd_node_is_null(map)) return true;
    if (map->type != KD_NODE_MAP) {
        kd_reader_complain(r, map, "'expressions' must be a map, like expressions: {stretch: joint.a.q - l0}");
        return false;
    }
    r->named = kd_alloc((size_t)(map->n + 1) * sizeof *r->named);
    if (!r->named) return kd_reader_short_of_memory(r);
    for (int i = 0; i < map->n && !kd_reader_is_tired(r); i++) enter(r, &map->item[2 * i], &map->item[2 * i + 1]);
    return true;
}

const kd_named *kd_reader_find_named(const kd_reader *r, const char *name)
{
    for (int i = 0; i < r->nnamed; i++) {
        if (strcmp(r->named[i].name, name) != 0) continue;
        r->named[i].used = true;
        return &r->named[i];
    }
    return NULL;
}

void kd_reader_warn_named(kd_reader *r)
{
    const kd_scope *whole = r->scope_list[0];
    for (int i = 0; i < whole->nnamed; i++) {
        const kd_named *e = &whole->named[i];
        const kd_source source = {.file = r->findings->file, .line = e->line, .column = e->column};
        const bool      own = !e->file; // those that are included are there for others, too
        if (own && !e->used) kd_model_warn_at(r->m, &source, "expression '%.100s': it is never used", e->name);
    }
}

// ---- putting in -----------------------------------------------------------------------------------------------------

// Does the word that ends here begin a path, or is it called? Then it is no expression.
static bool is_more(const char *behind)
{
    if (*behind == '.') return true;
    while (*behind == ' ') behind++;
    return *behind == '(';
}

typedef struct expansion {
    kd_reader  *r;
    char       *out; // NULL: only the length is wanted
    size_t      used;
    const char *busy[MOST_DEPTH]; // names that are being put in, outermost first
    int         depth;
    const char *wrong; // why it cannot be put in; NULL
} expansion;

static void append_expansion(expansion *x, const char *text, size_t n)
{
    if (x->out) memcpy(x->out + x->used, text, n);
    x->used += n;
    if (x->used > KD_EXPR_MAX_LENGTH) x->wrong = "it is too long with its named expressions put in";
}

static void expand(expansion *x, const char *text)
{
    char before = '\0', word[64];
    for (const char *c = text; *c && !x->wrong;) {
        const size_t    n = kd_reader_token(c);
        const kd_named *found = NULL;
        // a whole name, not a part of a path, nor a function
        if (n < sizeof word && before != '.' && kd_is_name_start(*c) && !is_more(c + n)) {
            memcpy(word, c, n);
            word[n] = '\0';
            found = kd_reader_find_named(x->r, word);
        }
        // what is being expanded must not meet itself
        for (int i = 0; found && i < x->depth; i++)
            if (x->busy[i] == found->name) x->wrong = "expressions use each other in a circle";
        if (found && x->depth == MOST_DEPTH) x->wrong = "expressions use each other more than 32 deep";
        if (found && !x->wrong) {
            x->busy[x->depth++] = found->name;
            append_expansion(x, "(", 1);
            expand(x, found->text);
            append_expansion(x, ")", 1);
            x->depth--;
        } else if (!found) {
            append_expansion(x, c, n);
        }
        if (*c != ' ') before = c[n - 1];
        c += n;
    }
}

bool kd_reader_put_named(kd_reader *r, const kd_node *node, const char *key, const char **law)
{
    expansion x = {.r = r};
    if (r->nnamed == 0) return true;
    expand(&x, *law);
    if (x.wrong) {
        kd_reader_complain(r, node, "'%s': %s", key, x.wrong);
        return false;
    }
    if (x.used == strlen(*law)) return true; // as it is
    char *text = kd_arena_cut(&r->scratch, x.used + 1, 1);
    if (!text) return kd_reader_short_of_memory(r);
    x = (expansion){.r = r, .out = text};
    expand(&x, *law);
    *law = text;
    return true;
}
