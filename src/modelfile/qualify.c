// qualify.c: names inside of subsystems become those of the model: own ones get the names of the subsystems in front,
// those that were handed in become what was handed in, offers of parts become what is offered.
//
// Expressions are taken apart into words. Paths (joint.hinge.q), parameters and curves get full names; signals that were
// handed in are put in as they are meant outside. Components of vectors (body.wheel.pos.y, joint.hinge.force.x) are
// those in the coordinates of the subsystem: they become sums of the components that the model has, x = Q'(y - c).
#include <string.h>

#include "core/text.h"
#include "modelfile/find.h"
#include "modelfile/qualify.h"

enum { MAX_LOOKS = 64 }; // from one subsystem to the next in search of a name

// ---- words of expressions -------------------------------------------------------------------------------------------

typedef struct qualifier {
    kd_reader     *r;
    kd_scope      *scope; // in which the text is meant
    const kd_node *node;
    const char    *key;
    const char    *text;
    int            looks;
    bool           locals; // of the field that is being read are known
    kd_out        *out;
} qualifier;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static const char *const path_words[] = {"body",  "frame",  "joint", "force",    "constraint", "state",
                                         "input", "sensor", "block", "variable", "algebraic",  NULL};

static bool is_path_word(const char *text, size_t n)
{
    for (int i = 0; path_words[i]; i++)
        if (strlen(path_words[i]) == n && strncmp(path_words[i], text, n) == 0) return true;
    return false;
}

// u, u1, .., z, z1, ..: signals of a block that have no names of their own
static bool is_signal_word(const char *word)
{
    return (word[0] == 'u' || word[0] == 'z') && strspn(word + 1, "0123456789") == strlen(word + 1);
}

static bool has_key(const kd_node *map, const char *section, const char *word)
{
    const kd_node *inner = map && map->type == KD_NODE_MAP ? kd_node_find(map, section) : NULL;
    return inner && inner->type == KD_NODE_MAP && kd_node_find(inner, word);
}

// Which of the variables of the law itself; -1: none
static int local_of(const qualifier *q, const char *word)
{
    const kd_field *field = q->r->field;
    if (!q->locals || !field) return -1;
    for (int i = 0; field->locals && field->locals[i]; i++)
        if (strcmp(field->locals[i][0] ? field->locals[i] : q->r->name, word) == 0) return i;
    if (field->type != KD_FIELD_SIGNALS && field->type != KD_FIELD_NEXT) return -1;
    const bool own = has_key(q->r->map, "input", word) || has_key(q->r->map, "states", word) || is_signal_word(word);
    return own ? 0 : -1;
}

static bool complain_at(const qualifier *q, const char *c, const char *format, const char *word, const char *near)
{
    kd_node at = *q->node;
    char    text[300];
    if (q->node->first > 0 && q->text == q->node->text) at.column = q->node->first + (int)(c - q->text);
    kd_text(text, sizeof text, format, word);
    if (near) kd_text_append(text, sizeof text, ", did you mean '%s'?", near);
    const char *const before = q->r->findings->at;
    if (q->looks > 0) q->r->findings->at = q->node->file; // it was handed in
    kd_reader_complain(q->r, &at, "'%s': %s", q->key, text);
    q->r->findings->at = before;
    return false;
}

static const char *nearest_name(const qualifier *q, const char *word)
{
    kd_nearest     nearest = kd_nearest_start(word);
    const kd_node *parameters = kd_node_find(q->scope->root, "parameters");
    for (int i = 0; parameters && parameters->type == KD_NODE_MAP && i < parameters->n; i++)
        kd_nearest_offer(&nearest, parameters->item[2 * i].text);
    for (int i = 0; i < q->scope->nhanded; i++) kd_nearest_offer(&nearest, q->scope->handed[i].name);
    return nearest.best;
}

// The path of an element of the scope that is called so: 'algebraic.w' for 'w'; NULL: there is none
static const char *path_of(const qualifier *q, const char *word, char path[KD_EXPR_MAX_NAME])
{
    static const char *const section[][2] = {{"inputs", "input"},
                                             {"algebraic", "algebraic"},
                                             {"states", "state"},
                                             {"variables", "variable"},
                                             {"sensors", "sensor"}};
    for (size_t k = 0; k < sizeof section / sizeof section[0]; k++) {
        const kd_node *map = kd_node_find(q->scope->root, section[k][0]);
        if (!map || map->type != KD_NODE_MAP || !kd_node_find(map, word)) continue;
        kd_text(path, KD_EXPR_MAX_NAME, "%s.%.100s", section[k][1], word);
        return path;
    }
    return NULL;
}

// A name that the scope does not know; perhaps it is that of an element, or one around it does
static bool complain_name(const qualifier *q, const char *c, const char *word)
{
    char        path[KD_EXPR_MAX_NAME];
    const char *element = path_of(q, word, path), *near = element ? element : nearest_name(q, word);
    if (!near && kd_reader_is_around(q->scope, word))
        return complain_at(q, c, "unknown name '%s': it is one of the model around; hand it in", word, NULL);
    return complain_at(q, c, "unknown name '%s'", word, near);
}

static bool qualify(qualifier *q);

// The expression of a signal of another scope, in parentheses
static bool put_signal(qualifier *q, const char *c, const char *word, kd_scope *scope, const kd_node *node,
                       const char *text)
{
    qualifier inner = {q->r, scope, node, q->key, text, q->looks + 1, false, q->out};
    if (inner.looks > MAX_LOOKS)
        return complain_at(q, c, "'%s' leads from one subsystem to the next in a circle", word, NULL);
    kd_out_word(q->out, "(");
    if (!qualify(&inner)) return false;
    kd_out_word(q->out, ")");
    return true;
}

// A name of a scope: parameter, curve, function of a track
static void put_own(qualifier *q, const char *kind, const char *word)
{
    if (q->scope->number > 0) {
        kd_out_word(q->out, kind);
        kd_out_word(q->out, q->scope->name);
        kd_out_word(q->out, ".");
    }
    kd_out_word(q->out, word);
}

static bool is_curve(const kd_scope *scope, const char *word)
{
    static const char *const part[] = {"_x", "_y", "_heading", "_curvature"};
    if (kd_reader_has_element(scope->root, "curves", word)) return true;
    for (int i = 0; i < 4; i++) {
        const size_t n = strlen(word), m = strlen(part[i]);
        char         name[KD_EXPR_MAX_NAME + 1];
        if (n <= m || strcmp(word + n - m, part[i]) != 0) continue;
        kd_text(name, sizeof name, "%.*s", (int)(n - m), word);
        if (kd_reader_has_element(scope->root, "tracks", name)) return true;
    }
    return false;
}

static bool has_parameter(const qualifier *q, const char *word)
{
    kd_scope *const before = q->r->scope;
    q->r->scope = q->scope;
    const bool has = kd_reader_has_parameter(q->r, word);
    q->r->scope = before;
    return has;
}

// ---- paths ----------------------------------------------------------------------------------------------------------

// Does the path up to here end with something that can be read of a body?
static bool is_complete(const char *c, size_t n)
{
    static const char *const ends[] = {".pos.", ".vel.", ".acc.", ".com.", ".omega.", ".alpha.", ".force.", ".torque."};
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        const size_t m = strlen(ends[k]);
        if (n > m && kd_axis_letter(c[n - 1]) >= 0 && strncmp(c + n - 1 - m, ends[k], m) == 0) return true;
    }
    static const char *const words[] = {".roll", ".pitch", ".yaw", ".q", ".v", ".a", ".out"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        const size_t m = strlen(words[k]);
        size_t       end = n;
        while (end > 0 && c[end - 1] >= '0' && c[end - 1] <= '9') end--;
        if (end > m && strncmp(c + end - m, words[k], m) == 0) return true;
    }
    return n > 5 && strncmp(c + n - 5, ".R.", 3) == 0;
}

// Characters of the path at c
static size_t path_length(const char *c)
{
    size_t n = 0;
    for (;;) {
        if (is_name(c[n]) || (c[n] == '.' && is_name(c[n + 1]))) {
            n++;
        } else if (c[n] == '(' && strcspn(c, ".") < n) {
            int open = 0;
            do {
                open += (c[n] == '(') - (c[n] == ')');
                n++;
            } while (c[n] && open > 0);
        } else if (c[n] == '-' && n > 0 && is_name(c[n - 1]) && is_letter(c[n + 1]) && !is_complete(c, n)) {
            n++;
        } else {
            return n;
        }
    }
}

// What stands behind the name of an element: "pos.x", "q", ""
static const char *tail_of(const char *path)
{
    static const char *const two[] = {".pos.",   ".vel.", ".acc.",   ".com.",   ".omega.",
                                      ".alpha.", ".R.",   ".force.", ".torque."};
    const char              *last = strrchr(path, '.');
    for (size_t k = 0; k < sizeof two / sizeof two[0]; k++) {
        const size_t m = strlen(two[k]);
        if (last && last - path >= (long)m - 1 && strncmp(last + 1 - m, two[k], m) == 0) return last + 2 - m;
    }
    return last ? last + 1 : path;
}

static kd_section section_of(const char *word, size_t n)
{
    for (int s = 0; s < KD_SECTION_ENERGY; s++)
        if (strlen(kd_section_word((kd_section)s)) == n && strncmp(kd_section_word((kd_section)s), word, n) == 0)
            return (kd_section)s;
    return KD_SECTION_COUNT;
}

// A path section.NAME...: with the full name of the element
static bool put_path(qualifier *q, const char *c, size_t n)
{
    char         path[KD_EXPR_MAX_NAME + 1], full[2 * KD_EXPR_MAX_NAME];
    const size_t word = strcspn(c, ".");
    const char  *name = c + word + 1;
    if (n >= sizeof path) return complain_at(q, c, "the name '%.20s...' is too long", c, NULL);
    kd_text(path, sizeof path, "%.*s", (int)(n - word - 1), name);
    const size_t first = strcspn(path, ".");
    // of a body that was handed in: as it is called outside, and not in our coordinates
    kd_handed *handed = kd_reader_find_handed(q->scope, path, first);
    if (handed && !handed->node) return false; // it has been told
    if (handed && handed->kind == KD_NEED_BODY) {
        const char *body = handed->name;
        if (word != 4 || strncmp(c, "body", 4) != 0)
            return complain_at(q, c, "'%s' is a body that is handed in: only body.%.0s.. can be read of it",
                               handed->name, NULL);
        if (!kd_reader_find_thing(q->r, q->node, q->scope, false, q->looks, &body)) return false;
        if (strcmp(body, "ground") == 0)
            return complain_at(q, c, "'%s' is the ground here, of which nothing can be read", handed->name, NULL);
        kd_out_word(q->out, "body.");
        kd_out_word(q->out, body);
        kd_out_word(q->out, path + first);
        return true;
    }
    // outside of subsystems: as it is
    if (q->scope->number == 0) {
        kd_out_put(q->out, c, n);
        return true;
    }
    // inside: with the name of the subsystem; components in its coordinates
    kd_text(full, sizeof full, "%.*s.%s.%s", (int)word, c, q->scope->name, path);
    const kd_section    section = section_of(c, word);
    const kd_subsystem *s = &q->r->m->subsystem[q->scope->number - 1];
    const char         *tail = tail_of(full + word + 1 + strlen(q->scope->name));
    const bool          moves = section == KD_SECTION_BODY || section == KD_SECTION_FRAME;
    const bool loads = section == KD_SECTION_JOINT || section == KD_SECTION_FORCE || section == KD_SECTION_CONSTRAINT;
    if (q->scope->placed && (moves || loads) && tail > full && tail[-1] == '.') {
        char   head[2 * KD_EXPR_MAX_NAME];
        size_t used = q->out->used;
        kd_text(head, sizeof head, "%.*s", (int)(tail - 1 - full), full);
        const bool put_so = moves ? kd_out_motion(q->out, s, q->scope->origin, head, tail)
                                  : kd_out_wrench(q->out, q->r->m, s, section, head + word + 1, head, tail);
        if (put_so) return kd_reader_hold_place(q->r, q->scope);
        q->out->used = used;
    }
    kd_out_word(q->out, full);
    return true;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// table(name, x) becomes a call of the curve, whose full name may not be a word
static const char *put_table(qualifier *q, const char *c, size_t n)
{
    const char *open = c + n, *begin, *end;
    char        word[KD_EXPR_MAX_NAME + 1];
    while (*open == ' ') open++;
    for (begin = open + 1; *begin == ' ';) begin++;
    for (end = begin; is_name(*end);) end++;
    kd_text(word, sizeof word, "%.*s", (int)(end - begin), begin);
    while (*end == ' ') end++;
    if (*end != ',' || !is_curve(q->scope, word)) return NULL;
    put_own(q, "curve.", word);
    kd_out_word(q->out, "(");
    return end + 1;
}

// The word at c, which is no path: a variable, a parameter, a curve, a function, a signal
static bool put_name(qualifier *q, const char *c, size_t n, const char **next)
{
    char word[KD_EXPR_MAX_NAME + 1];
    // names that end the search at once: variables of the element
    const bool calls = c[n + strspn(c + n, " ")] == '(';
    *next = c + n;
    if (n >= sizeof word) return complain_at(q, c, "the name '%.20s...' is too long", c, NULL);
    kd_text(word, sizeof word, "%.*s", (int)n, c);
    const int local = local_of(q, word);
    if (local >= 0) {
        // components of a vector, in the axes of the element
        const bool turned = q->r->field->image == KD_IMAGE_FORCE && q->scope->number > 0 &&
                            q->r->m->subsystem[q->scope->number - 1].mirrored && local % 3 == 1;
        kd_out_word(q->out, turned ? "(-" : "");
        kd_out_word(q->out, word);
        kd_out_word(q->out, turned ? ")" : "");
        return true;
    }
    // tables: the first argument names a curve
    if (calls && (strcmp(word, "table") == 0 || strcmp(word, "spline") == 0)) {
        const char *behind = put_table(q, c, n);
        if (behind) *next = behind;
        if (!behind) kd_out_word(q->out, word);
        return true;
    }
    // words of the language
    const bool way = strcmp(word, "s") == 0 && !has_parameter(q, word); // along a track
    if (kd_expr_is_reserved(word) || way || strcmp(word, "t") == 0 || strcmp(word, "and") == 0 ||
        strcmp(word, "or") == 0 || strcmp(word, "not") == 0) {
        kd_out_word(q->out, word);
        return true;
    }
    // what was handed in, and named expressions
    kd_handed *handed = kd_reader_find_handed(q->scope, word, n);
    if (handed && !handed->node) return false; // it has been told
    if (handed && handed->kind == KD_NEED_SIGNAL)
        return put_signal(q, c, word, handed->scope, handed->node, handed->text);
    for (int i = 0; i < q->scope->nnamed && !calls; i++)
        if (strcmp(q->scope->named[i].name, word) == 0) {
            q->scope->named[i].used = true;
            return put_signal(q, c, word, q->scope, q->node, q->scope->named[i].text);
        }
    // what the file of the scope has: parameters, curves
    if (has_parameter(q, word)) {
        put_own(q, "parameter.", word);
    } else if (is_curve(q->scope, word)) {
        put_own(q, "curve.", word);
    } else if (q->scope->number == 0 && q->looks == 0) {
        kd_out_word(q->out, word); // the model will say what is wrong
    } else {
        return complain_name(q, c, word);
    }
    return true;
}

// part.signal, part.parameter; a signal that is offered hides a parameter of the same name
static bool put_offer(qualifier *q, const char *c, size_t n, bool *taken)
{
    char        path[KD_EXPR_MAX_NAME + 1];
    const char *rest = NULL, *offer;
    *taken = false;
    if (n >= sizeof path) return true;
    // a part of the scope?
    kd_text(path, sizeof path, "%.*s", (int)n, c);
    kd_scope *part = kd_reader_find_part(q->r, q->scope, path, &rest);
    if (!part) return !kd_reader_misses_part(q->r, q->node, q->scope, path);
    *taken = true;
    // a parameter that is not offered under this name is read by its own
    const kd_node *offers = kd_node_find(part->root, "offers");
    const bool     offered = offers && offers->type == KD_NODE_MAP && kd_node_find(offers, rest);
    if (!offered && has_key(part->root, "parameters", rest)) {
        kd_out_word(q->out, "parameter.");
        kd_out_word(q->out, part->name);
        kd_out_word(q->out, ".");
        kd_out_word(q->out, rest);
        return true;
    }
    // signals: the expression that the part offers, in its scope
    offer = kd_reader_find_offer(q->r, q->node, part, rest);
    if (!offer) return false;
    if (offer == rest) return complain_at(q, c, "'%s' is no signal", path, NULL);
    return put_signal(q, c, path, part, kd_node_find(offers, rest), offer);
}

static bool qualify(qualifier *q)
{
    bool fine = true;
    for (const char *c = q->text; *c && fine && !q->out->full;) {
        const size_t word =
            is_letter(*c) ? strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
        if (word == 0) { // numbers, operators
            const size_t n = (*c >= '0' && *c <= '9') ? kd_reader_token(c) : 1;
            kd_out_put(q->out, c, n);
            c += n;
            continue;
        }
        // what kind of word begins here
        const bool path = c[word] == '.' && is_path_word(c, word);
        const bool full = c[word] == '.' && (strncmp(c, "parameter.", 10) == 0 || strncmp(c, "curve.", 6) == 0);
        size_t     n = path || full || c[word] == '.' || c[word] == '(' ? path_length(c) : word;
        bool       taken = false;
        // paths and full names stand for themselves
        if (path) {
            fine = put_path(q, c, n);
        } else if (full && q->scope->number == 0) {
            kd_out_put(q->out, c, n);
        } else if (c[word] == '.' && strncmp(c, "energy", word) == 0 && word == 6 && q->scope->number > 0) {
            fine = complain_at(q, c, "'%s' is that of the whole model; hand it in as a signal", "energy", NULL);
        } else {
            // part(1).signal begins like a call
            const size_t reach = c[word] == '(' ? word + strcspn(c + word, ")") + 1 : word;
            if (c[word] == '.' || (c[word] == '(' && strlen(c) > reach && c[reach] == '.')) {
                // how far the name of the part goes, its index included
                if (c[word] == '(') {
                    n = reach + 1;
                    while (is_name(c[n]) || (c[n] == '.' && is_letter(c[n + 1]))) n++;
                }
                fine = put_offer(q, c, n, &taken);
            }
            // not of a part: a path of the model, or a name
            if (fine && !taken && c[word] == '.') {
                kd_out_put(q->out, c, n);
            } else if (fine && !taken) {
                const char *next;
                fine = put_name(q, c, word, &next);
                n = (size_t)(next - c);
            }
        }
        c += n;
    }
    return fine;
}

bool kd_reader_qualify(kd_reader *r, const kd_node *node, const char *key, const char **text)
{
    kd_out    o = {.size = 1024};
    const int complaints = r->findings->count;
    // at the top, without parts, names are full already
    if (r->scope->number == 0 && !r->scope->has_parts && r->scope->nhanded == 0) return true;
    // written into a buffer that grows until the text fits
    for (;;) {
        o.text = kd_arena_cut(&r->scratch, o.size, 1);
        if (!o.text) return kd_reader_short_of_memory(r);
        qualifier  q = {r, r->scope, node, key, *text, 0, true, &o};
        const bool fine = qualify(&q) && r->findings->count == complaints;
        if (!fine) return false;
        if (!o.full) break;
        if (o.size >= KD_EXPR_MAX_LENGTH) {
            kd_reader_complain(r, node, "'%s' is longer than %d characters", key, KD_EXPR_MAX_LENGTH);
            return false;
        }
        o = (kd_out){.size = 8 * o.size};
    }
    *text = o.text;
    return true;
}

bool kd_reader_qualify_path(kd_reader *r, const kd_node *node, const char **path)
{
    char full[2 * KD_EXPR_MAX_NAME];
    if (r->scope->number == 0) return true;
    const size_t word = strcspn(*path, ".");
    if (!is_path_word(*path, word)) return true; // the model will say what is wrong
    kd_text(full, sizeof full, "%.*s.%s%s", (int)word, *path, r->scope->name, *path + word);
    if (strlen(full) > KD_EXPR_MAX_NAME) {
        kd_reader_complain(r, node, "the name '%.20s...' is longer than %d characters", full, KD_EXPR_MAX_NAME);
        return false;
    }
    *path = kd_reader_copy(r, full, strlen(full));
    return *path != NULL;
}

bool kd_reader_use_paths(kd_reader *r, const char *text, char *why, size_t size)
{
    for (const char *c = text; *c;) {
        const size_t word =
            is_letter(*c) ? strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
        const size_t n = word == 0 ? 1 : c[word] == '.' ? path_length(c) : word;
        char         name[2 * KD_EXPR_MAX_NAME];
        kd_path      path;
        kd_text(name, sizeof name, "%.*s", (int)n, c);
        const int parameter = kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER,
                                            strncmp(name, "parameter.", 10) == 0 ? name + 10 : name);
        if (parameter >= 0) r->parameter[parameter].used = true;
        if (word > 0 && c[word] == '.' && is_path_word(c, word) && !kd_path_parse(r->m, name, &path, why, size))
            return false;
        c += n;
    }
    return true;
}
