// repeat.c: elements that are repeated: for: i = 1..N, or for: [i = 1..N, j = 1..i], the last index running fastest.
#include <math.h>
#include <string.h>

#include "modelfile/reader.h"

typedef struct loop {
    const kd_node *node;
    const char    *name;
    kd_node        from, to; // expressions
} loop;

typedef struct loops {
    int             n;
    loop            loop[KD_READER_MAX_INDICES];
    kd_reader_each *each;
    void           *context;
} loops;

// text from begin to end without blanks around, as a node at its position
static bool cut_node(kd_reader *r, const kd_node *node, const char *begin, const char *end, kd_node *out)
{
    while (begin < end && *begin == ' ') begin++;
    while (end > begin && end[-1] == ' ') end--;
    *out = *node;
    out->cache = 0;
    out->text = kd_arena_cut(&r->document.arena, (size_t)(end - begin) + 1, 1);
    if (!out->text) return kd_reader_short_of_memory(r);
    memcpy((char *)out->text, begin, (size_t)(end - begin));
    if (node->first > 0) out->column = out->first = node->first + (int)(begin - node->text);
    return true;
}

static bool complain_form(kd_reader *r, const kd_node *node)
{
    kd_reader_complain(r, node, "'for' must be like i = 1..N, or a list of such ranges");
    return false;
}

static bool check_index(kd_reader *r, const kd_node *node, const char *name)
{
    static const char *const taken[] = {"t", "x", "q", "v", "length", "rate", "angle"}; // variables of laws
    char                     why[300];
    // words of expressions and of laws keep their meaning
    bool wrong = kd_expr_is_reserved(name);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) wrong = wrong || strcmp(taken[i], name) == 0;
    if (wrong) {
        kd_reader_complain(r, node, "'%s' cannot be an index: it has a meaning in expressions", name);
        return false;
    }
    // an index is a plain word
    if (!kd_name_check(name, why, sizeof why) || strpbrk(name, "(-") || strlen(name) > 60) {
        kd_reader_complain(r, node, "'%.60s' cannot be an index: it must be a short word", name);
        return false;
    }
    // parameters are known by name in the same expressions
    if (kd_reader_has_parameter(r, name)) {
        kd_reader_complain(r, node, "the index '%s' has the name of a parameter; choose another one", name);
        return false;
    }
    return true;
}

// name = from..to
static bool parse_loop(kd_reader *r, const kd_node *node, const char *begin, const char *end, loops *all)
{
    // the three parts: name, '=', from, '..', to
    const char *equals = memchr(begin, '=', (size_t)(end - begin)), *dots = NULL;
    for (const char *c = equals; c && c + 1 < end && !dots; c++) dots = c[0] == '.' && c[1] == '.' ? c : NULL;
    if (!equals || !dots) return complain_form(r, node);
    if (all->n == KD_READER_MAX_INDICES) {
        kd_reader_complain(r, node, "'for' has more than %d indices", KD_READER_MAX_INDICES);
        return false;
    }
    // each part is a text of its own, with its place in the file
    loop   *l = &all->loop[all->n];
    kd_node name;
    if (!cut_node(r, node, begin, equals, &name) || !cut_node(r, node, equals + 1, dots, &l->from) ||
        !cut_node(r, node, dots + 2, end, &l->to)) {
        return false;
    }
    l->node = node;
    l->name = name.text;
    // indices of one 'for' differ
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->loop[i].name, l->name) == 0) {
            kd_reader_complain(r, node, "'for' has the index '%s' twice", l->name);
            return false;
        }
    }
    all->n++;
    return check_index(r, &name, l->name);
}

// ranges separated by commas outside of parentheses
static bool parse_loops(kd_reader *r, const kd_node *node, loops *all)
{
    if (node->type != KD_NODE_SCALAR) return complain_form(r, node);
    const char *begin = node->text;
    int         open = 0;
    for (const char *c = node->text;; c++) {
        open += (*c == '(') - (*c == ')');
        if (*c != '\0' && (*c != ',' || open > 0)) continue;
        if (!parse_loop(r, node, begin, c, all)) return false;
        if (*c == '\0') return true;
        begin = c + 1;
    }
}

// Loop k for all values of those outside of it
static bool run_loop(kd_reader *r, loops *all, int k)
{
    if (k == all->n) return all->each(r, all->context);
    // bounds may depend on indices of outer loops
    loop *l = &all->loop[k];
    int   from, to;
    if (!kd_reader_integer(r, &l->from, "for", &from) || !kd_reader_integer(r, &l->to, "for", &to)) return false;
    // the innermost loop makes elements: bounded before the first is made
    double rounds = (double)to - from + 1;
    if (k + 1 == all->n && r->elements + rounds > KD_READER_MAX_ELEMENTS) {
        kd_reader_complain(r, l->node, "more than %d elements", KD_READER_MAX_ELEMENTS);
        return false;
    }
    // from now on the index has a value in expressions
    r->index[k] = l->name;
    bool fine = true;
    for (int i = from; i <= to && fine; i++) {
        r->nindices = k + 1;
        r->index_value[k] = i;
        fine = ++r->rounds <= KD_READER_MAX_ROUNDS;
        if (!fine) kd_reader_complain(r, l->node, "more than %d rounds of repetition", KD_READER_MAX_ROUNDS);
        fine = fine && run_loop(r, all, k + 1);
    }
    r->nindices = k;
    return fine;
}

bool kd_reader_repeat(kd_reader *r, const kd_node *node, kd_reader_each *each, void *context)
{
    loops all = {.each = each, .context = context};
    if (node && node->type == KD_NODE_LIST) {
        for (int i = 0; i < node->n; i++) {
            if (!parse_loops(r, &node->item[i], &all)) return false;
        }
        if (node->n == 0) return complain_form(r, node);
    } else if (node && !parse_loops(r, node, &all)) {
        return false;
    }
    return run_loop(r, &all, 0);
}
