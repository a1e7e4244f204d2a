// format.c: kardan format: a model file in the usual order, with its comments.
//
// Works on the lines of the file, not on the model: sections, elements and keys are moved with the comments above and behind
// them. What stands where:
//   - sections as in the reference page; comments in front of the first one are the head of the file;
//   - keys of an element and of its parts: `type` and `for` first, then bodies and places, then as they are; in braces, too;
//   - one empty line between sections, none at the end of lines and of the file.
// Elements keep their order: it is that of results. The file is read before and after, as text and as a model: another
// one is never written.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "cli/subject.h"
#include "core/load.h"
#include "core/memory.h"
#include "model/schema.h"
#include "modelfile/document.h"

enum { MOST_BYTES = 1 << 24, MOST_PARTS = 4096 };

typedef struct span {
    const char *at, *end;
} span;

// A growing text
typedef struct text {
    char  *at;
    size_t length, room;
    bool   failed;
} text;

static void put_text(text *t, const char *at, size_t n)
{
    if (t->length + n + 1 > t->room) {
        const size_t room = 2 * (t->length + n + 1);
        char        *more = realloc(t->at, room);
        t->failed = t->failed || !more;
        if (!more) return;
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->length, at, n);
    t->length += n;
    t->at[t->length] = '\0';
}

static void put_span(text *t, span s)
{
    put_text(t, s.at, (size_t)(s.end - s.at));
}

// ---- lines ----------------------------------------------------------------------------------------------------------

// The next line without its end and without blanks there
static bool next_line(span *rest, span *line)
{
    if (rest->at >= rest->end) return false;
    const char *stop = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));
    *line = (span){rest->at, stop ? stop : rest->end};
    rest->at = stop ? stop + 1 : rest->end;
    while (line->end > line->at && (line->end[-1] == ' ' || line->end[-1] == '\r' || line->end[-1] == '\t'))
        line->end--;
    return true;
}

static int indent_of(span line)
{
    int n = 0;
    while (line.at + n < line.end && line.at[n] == ' ') n++;
    return n;
}

static bool is_empty(span line)
{
    return line.at >= line.end;
}

static bool is_comment(span line)
{
    const int n = indent_of(line);
    return line.at + n < line.end && line.at[n] == '#';
}

// The key at the beginning of a line, behind its indent
static span key_of(span line)
{
    span key = {line.at + indent_of(line), line.at + indent_of(line)};
    while (key.end < line.end && *key.end != ':' && *key.end != ' ' && *key.end != '{' && *key.end != '#') key.end++;
    return key.end < line.end && *key.end == ':' ? key : (span){key.at, key.at};
}

// Nothing but a comment behind the colon of its key: what belongs to it follows on lines of its own
static bool is_bare(span line)
{
    const span  key = key_of(line);
    const char *c = key.end + 1;
    if (key.at == key.end) return false;
    while (c < line.end && *c == ' ') c++;
    return c >= line.end || *c == '#';
}

static bool is_word(span key, const char *word)
{
    return strlen(word) == (size_t)(key.end - key.at) && strncmp(key.at, word, strlen(word)) == 0;
}

// ---- order ----------------------------------------------------------------------------------------------------------

static const char *const sections[] = {"kardan",      "title",       "include",     "library",   "needs",  "offers",
                                       "parameters",  "gravity",     "expressions", "materials", "curves", "tracks",
                                       "inputs",      "definitions", "subsystems",  "bodies",    "frames", "joints",
                                       "constraints", "forces",      "algebraic",   "states",    "blocks", "variables",
                                       "events",      "sensors",     "invariants",  "start",     "run"};
enum { LAST_SHORT = 7 }; // sections up to gravity stand together at the top
static const char *const keys[] = {"sphere",   "box",         "cylinder", "rod",    "tube",   "mesh", "for",
                                   "type",     "file",        "of",       "grid",   "bodies", "body", "joint",
                                   "from",     "to",          "point",    "points", "axis",   "axes", "reference",
                                   "position", "orientation", "mass",     "centre", "inertia"};
#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

// What the keys of a map are
typedef enum role {
    SECTIONS,    // of a file or a definition, in their order
    DEFINITIONS, // names of sections
    ELEMENTS,    // names of elements, which stay as they are: results have their order
    KEYS,        // of an element or a part of it, in their order
    NAMES,       // names with values
} role;

// Does some element have a map of names under this key: terms, signals, states?
static bool is_map_of_names(span key)
{
    for (int id = 0; id < KD_SCHEMA_COUNT; id++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)id);
        for (int i = 0; i < kd_schema_field_count(schema, -1); i++) {
            const kd_field *f = kd_schema_field_at(schema, -1, i);
            if (is_word(key, f->key) && (f->type == KD_FIELD_TERMS || f->type == KD_FIELD_SIGNALS ||
                                         f->type == KD_FIELD_NEXT || f->type == KD_FIELD_STARTS))
                return true;
        }
    }
    return is_word(key, "parameters") || is_word(key, "connect");
}

// What stands below a key
static role role_below(role r, span key)
{
    switch (r) {
    case DEFINITIONS:
        return SECTIONS;
    case ELEMENTS:
        return KEYS;
    case KEYS:
        return is_word(key, "replace") ? ELEMENTS : is_map_of_names(key) ? NAMES : KEYS;
    // sections have elements below them, but for those with values of their own
    case SECTIONS:
        if (is_word(key, "definitions")) return DEFINITIONS;
        if (is_word(key, "start")) return SECTIONS; // which has conditions, as files have sections
        for (int i = 0; i < COUNT(sections); i++)
            if (is_word(key, sections[i]) && (is_word(key, "parameters") || is_word(key, "expressions") ||
                                              is_word(key, "offers") || is_word(key, "run")))
                return NAMES;
        return ELEMENTS;
    default:
        return NAMES;
    }
}

// The place of a word in a list; those that are not in it come behind
static int rank_in(span key, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (is_word(key, list[i])) return i;
    return n;
}

static int rank_of(span key, role r)
{
    return r == SECTIONS ? rank_in(key, sections, COUNT(sections)) : r == KEYS ? rank_in(key, keys, COUNT(keys)) : 0;
}

typedef struct part {
    span lines;
    int  rank;
    int  number; // as it stood: equal ranks keep their order
} part;

static int by_rank(const void *a, const void *b)
{
    const part *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

// ---- braces ---------------------------------------------------------------------------------------------------------

// A walk over text in braces: quotes, comments and brackets inside
typedef struct walk {
    const char *at, *end;
    int         depth;
    char        quote, before; // the last sign that is no blank
} walk;

// The next sign; those of comments and quotes are passed over. '\0': the end
static char next_sign(walk *w)
{
    while (w->at < w->end) {
        const char c = *w->at++;
        // inside of quotes nothing else counts
        if (w->quote) {
            if (c == '\\' && w->quote == '"' && w->at < w->end) w->at++;
            if (c == w->quote) w->quote = '\0';
            continue;
        }
        // a comment begins behind a blank, and ends with its line
        if (c == '#' && (w->at[-2] == ' ' || w->at[-2] == '\n' || w->at[-2] == '\t')) {
            while (w->at < w->end && *w->at != '\n') w->at++;
            continue;
        }
        // quotes begin where a value does; brackets are counted outside of them
        if ((c == '"' || c == '\'') && strchr("{[,:", w->before)) w->quote = c;
        if (c != ' ' && c != '\n' && c != '\r') w->before = c;
        if (c == '{' || c == '[' || c == '(') w->depth++;
        if (c == '}' || c == ']' || c == ')') w->depth--;
        return c;
    }
    return '\0';
}

// Behind the bracket that closes the one at `at`; NULL: there is none
static const char *closing(const char *at, const char *end)
{
    walk w = {at, end, 0, '\0', ':'};
    while (next_sign(&w))
        if (w.depth == 0 && w.at > at) return w.at;
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static span trim(span s)
{
    while (s.at < s.end && is_blank(*s.at)) s.at++;
    while (s.end > s.at && is_blank(s.end[-1])) s.end--;
    return s;
}

typedef struct item {
    span text;    // key: value
    span above;   // comments on lines of their own in front of it
    span behind;  // the comment on its line
    int  newline; // -1: it stands on the line of the one before; else the indent of its line
    int  rank, number;
} item;

static int by_rank_of_item(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

// Blanks and comments in front of the text of an item
static void take_front(item *it)
{
    const char *c = it->text.at;
    it->newline = -1;
    it->above = (span){c, c};
    while (c < it->text.end && (is_blank(*c) || *c == '#')) {
        if (*c == '#') {
            if (it->above.at == it->above.end) it->above.at = c;
            while (c < it->text.end && *c != '\n') c++;
            it->above.end = c;
        } else if (*c == '\n') {
            const char *line = ++c;
            while (c < it->text.end && *c == ' ') c++;
            it->newline = (int)(c - line);
        } else {
            c++;
        }
    }
    it->text.at = c;
}

// A comment behind the text, before its comma or the end
static void take_comment_inside(item *it)
{
    walk        w = {it->text.at, it->text.end, 0, '\0', ','};
    const char *end = it->text.at;
    while (next_sign(&w))
        if (!is_blank(w.at[-1]) || w.quote) end = w.at;
    if (w.quote == '\0' && end < it->text.end) {
        // what was passed over behind the last sign: blanks, the rest of a quote, or a comment
        const char *c = end;
        for (const char *k = end; k < it->text.end; k++)
            if (*k == '#' && is_blank(k[-1])) {
                c = k;
                break;
            } else if (!is_blank(*k)) {
                end = k + 1;
            }
        if (c > end || (c < it->text.end && *c == '#')) it->behind = trim((span){c, it->text.end});
    }
    it->text.end = end;
}

enum { MOST_ITEMS = 512 };

// The items between brackets; false: too many, or something unusual
static bool split_items(span braces, role r, item *items, int *n, span *tail)
{
    walk        w = {braces.at + 1, braces.end, 0, '\0', braces.at[0]};
    const char *from = w.at;
    *n = 0;
    for (char c; (c = next_sign(&w)) != '\0';) {
        const bool last = w.depth < 0;
        if (!last && !(c == ',' && w.depth == 0)) continue;
        item it = {.text = {from, w.at - 1}};
        from = w.at;
        take_front(&it);
        if (it.text.at == it.text.end && last) { // nothing behind the last comma
            *tail = it.above;
            return true;
        }
        take_comment_inside(&it);
        if (it.text.at == it.text.end || *n == MOST_ITEMS) return false;
        // a comment behind the comma belongs to it, too
        if (!last) {
            const char *k = from;
            while (k < braces.end && *k == ' ') k++;
            if (k < braces.end && *k == '#') {
                const char *stop = memchr(k, '\n', (size_t)(braces.end - k));
                if (!stop || it.behind.at < it.behind.end) return false;
                it.behind = (span){k, stop};
                from = stop;
            }
        }
        const span key = key_of(it.text);
        // a piece without a key belongs to the expression before it: max(a, b)
        if (braces.at[0] == '{' && key.at == key.end) {
            if (*n == 0 || it.above.at < it.above.end || items[*n - 1].behind.at < items[*n - 1].behind.end)
                return false;
            items[*n - 1].text.end = it.text.end;
            items[*n - 1].behind = it.behind;
        } else {
            it.rank = braces.at[0] == '{' ? rank_of(key, r) : 0;
            it.number = *n;
            items[(*n)++] = it;
        }
        if (last) return true;
    }
    return false;
}

static void put_flow(text *out, span value, role r);

// key: value, whose value may be in brackets itself
static void put_item(text *out, span it, bool in_map, role r)
{
    const span  key = in_map ? key_of(it) : (span){it.at, it.at};
    const char *value = in_map ? key.end + 1 : it.at;
    while (value < it.end && *value == ' ') value++;
    if (value >= it.end || (*value != '{' && *value != '[') || closing(value, it.end) != it.end) {
        put_span(out, it);
        return;
    }
    put_span(out, (span){it.at, value});
    put_flow(out, (span){value, it.end}, in_map ? role_below(r, key) : r);
}

static void put_newline(text *out, int indent)
{
    put_text(out, "\n", 1);
    for (int i = 0; i < indent; i++) put_text(out, " ", 1);
}

// Comments, each on a line of its own
static void put_comments(text *out, span comments, int indent)
{
    span line;
    while (next_line(&comments, &line)) {
        const span words = trim(line);
        if (words.at == words.end) continue;
        put_newline(out, indent);
        put_span(out, words);
    }
}

// {a: 1, b: 2} with its keys in order, [..] as it is; breaks of lines stay where they are. With comments inside each item has
// a line of its own.
static void put_flow(text *out, span value, role r)
{
    item *items = malloc(MOST_ITEMS * sizeof *items);
    int   n = 0, indent = -1;
    bool  comments = false;
    span  tail = {value.end, value.end};
    if (!items || !split_items(value, r, items, &n, &tail)) {
        put_span(out, value);
        free(items);
        return;
    }
    // breaks of lines, and how far items are indented
    int *newline = malloc((size_t)(n + 1) * sizeof *newline);
    for (int i = 0; i < n; i++) {
        comments = comments || items[i].above.at < items[i].above.end || items[i].behind.at < items[i].behind.end;
        if (indent < 0) indent = items[i].newline;
        if (newline) newline[i] = items[i].newline;
    }
    comments = comments || tail.at < tail.end;
    if (indent < 0) indent = 2;
    // in their order; lines stay where they broke
    qsort(items, (size_t)n, sizeof *items, by_rank_of_item);
    put_text(out, value.at, 1);
    // comments above, the item, comments behind
    for (int i = 0; i < n; i++) {
        if (comments && (i > 0 || items[i].above.at < items[i].above.end)) {
            put_comments(out, items[i].above, indent);
            put_newline(out, indent);
        } else if (newline && newline[i] >= 0) {
            put_newline(out, newline[i]);
        } else if (i > 0) {
            put_text(out, " ", 1);
        }
        put_item(out, items[i].text, value.at[0] == '{', r);
        if (i + 1 < n) put_text(out, ",", 1);
        if (items[i].behind.at < items[i].behind.end) {
            put_text(out, "  ", 2);
            put_span(out, items[i].behind);
        }
    }
    // what stands behind the last item
    put_comments(out, tail, indent);
    if (tail.at < tail.end || (n > 0 && items[n - 1].behind.at < items[n - 1].behind.end)) put_newline(out, indent);
    put_text(out, value.end - 1, 1);
    free(newline);
    free(items);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

static void put_lines(text *out, span lines)
{
    span line;
    while (next_line(&lines, &line)) {
        put_span(out, line);
        put_text(out, "\n", 1);
    }
}

// Split lines into parts that begin with a key at an indent; comments and empty lines above a key belong to it. What stands
// before the first key is the head. false: too many parts, or lines that are not as expected
static bool split(span lines, int indent, role r, span *head, part *parts, int *n)
{
    span        rest = lines, line;
    const char *begin = lines.at;  // of the comments in front of the next key
    const char *before = lines.at; // of this line
    const char *inside = NULL;     // until where brackets go on over lines
    bool        touches = false;   // no empty line since the part above
    *n = 0;
    *head = (span){lines.at, lines.at};
    for (; before = rest.at, next_line(&rest, &line);) {
        if (inside && before < inside) { // whatever its indent is
            begin = rest.at;
            parts[*n - 1].lines.end = rest.at;
            continue;
        }
        // how the line begins
        const int  own = indent_of(line);
        const bool comment = is_comment(line);
        if (is_empty(line) && touches && *n > 0) { // comments right below a part belong to it
            parts[*n - 1].lines.end = before;
            begin = before;
        }
        touches = touches && !is_empty(line);
        if (is_empty(line) || (comment && (own <= indent || *n == 0))) continue;
        touches = true;
        if (own > indent && *n > 0) { // belongs to the key above, with the comments in between
            begin = rest.at;
            parts[*n - 1].lines.end = rest.at;
            continue;
        }
        // a key: a part begins, with the comments in front of it
        const span key = key_of(line);
        if (own != indent || key.at == key.end || *n == MOST_PARTS) return false;
        if (*n == 0) *head = (span){lines.at, begin};
        parts[*n] = (part){{begin, rest.at}, rank_of(key, r), *n};
        ++*n;
        begin = rest.at;
        // brackets may go on over lines
        const char *value = key.end + 1;
        while (value < line.end && *value == ' ') value++;
        inside = value < line.end && (*value == '{' || *value == '[') ? closing(value, lines.end) : NULL;
    }
    if (*n > 0 && begin < lines.end) parts[*n - 1].lines.end = lines.end; // comments at the end
    return true;
}

// Lines as they are, but for what stands in brackets behind a key or a dash
static void put_values(text *out, span lines, role r)
{
    span rest = lines, line;
    while (next_line(&rest, &line)) {
        const char *value = line.at + indent_of(line);
        if (!is_comment(line) && value < line.end) {
            const span key = key_of(line);
            const bool dash = *value == '-' && value + 1 < line.end && value[1] == ' ';
            // the value begins behind the dash, or behind the key
            value = dash ? value + 2 : key.at < key.end ? key.end + 1 : line.end;
            while (value < line.end && *value == ' ') value++;
            const bool  opens = value < line.end && (*value == '{' || *value == '[');
            const char *close = opens ? closing(value, lines.end) : NULL;
            // a bracket is written anew, to its end; what follows it in the line stays
            if (close) {
                put_span(out, (span){line.at, value});
                put_flow(out, (span){value, close}, dash ? r : role_below(r, key));
                rest.at = close;
                if (!next_line(&rest, &line)) line = (span){close, close}; // what is left of its last line
            }
        }
        put_span(out, line);
        put_text(out, "\n", 1);
    }
}

static void put_block(text *out, span lines, int indent, role r);

// One key with what belongs to it
static void put_part(text *out, span lines, role r)
{
    span        rest = lines, line, key = {lines.at, lines.at};
    const char *behind = lines.at;
    int         indent = -1;
    bool        bare = false;
    // the line with its key, behind its comments; then the indent of what is inside
    while (next_line(&rest, &line)) {
        if (is_empty(line) || is_comment(line)) continue;
        if (behind != lines.at) {
            indent = indent_of(line);
            break;
        }
        behind = rest.at;
        bare = is_bare(line);
        key = key_of(line);
    }
    if (!bare || indent < 0) {
        put_values(out, lines, r);
        return;
    }
    put_lines(out, (span){lines.at, behind});
    put_block(out, (span){behind, lines.end}, indent, role_below(r, key));
}

// Lines with keys at an indent
static void put_block(text *out, span lines, int indent, role r)
{
    part *parts = malloc(MOST_PARTS * sizeof *parts);
    span  head;
    int   n = 0;
    if (parts && split(lines, indent, r, &head, parts, &n) && n > 0) {
        qsort(parts, (size_t)n, sizeof *parts, by_rank);
        put_lines(out, head);
        for (int i = 0; i < n; i++) put_part(out, parts[i].lines, r);
    } else {
        put_values(out, lines, r); // a list
    }
    free(parts);
}

// Without empty lines at both ends
static span without_empty_ends(span lines)
{
    span        rest = lines, line;
    const char *begin = lines.at, *end = lines.at;
    bool        any = false;
    while (rest.at < rest.end) {
        const char *at = rest.at;
        (void)next_line(&rest, &line);
        if (is_empty(line)) continue;
        if (!any) begin = at;
        any = true;
        end = rest.at;
    }
    return (span){begin, end};
}

// The whole file; false: it is not written as sections of keys
static bool put_file(text *out, span lines)
{
    part *parts = malloc(MOST_PARTS * sizeof *parts);
    span  head;
    int   n = 0;
    bool  fine = parts && split(lines, 0, SECTIONS, &head, parts, &n) && n > 0;
    if (fine) {
        // comments in front of the first section are the head of the file, wherever that section goes
        span        rest = parts[0].lines, line;
        const char *at = rest.at;
        while (next_line(&rest, &line) && (is_empty(line) || is_comment(line))) at = rest.at;
        const span top = without_empty_ends((span){parts[0].lines.at, at});
        parts[0].lines.at = at;
        qsort(parts, (size_t)n, sizeof *parts, by_rank);
        put_lines(out, top);
        for (int i = 0; i < n; i++) {
            // what is short stands together at the top
            const bool apart = i > 0 && (parts[i].rank > LAST_SHORT || parts[i - 1].rank > LAST_SHORT);
            if (apart) put_text(out, "\n", 1);
            put_part(out, without_empty_ends(parts[i].lines), SECTIONS);
        }
    }
    free(parts);
    return fine && !out->failed;
}

// ---- the file -------------------------------------------------------------------------------------------------------

typedef struct job {
    const char *path;
    bool        check;
    kd_cli_list library;
    char        message[4000];
    char        name[3][1100]; // of the new file, and of both models as they are written
} job;

static bool write_file(const char *path, const text *t)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    const bool written = fwrite(t->at, 1, t->length, file) == t->length;
    return fclose(file) == 0 && written;
}

// The model of a file, written to another
static bool rewrite(job *j, const char *from, const char *to)
{
    kd_model *m = NULL;
    kd_status status = kd_subject_model(from, &j->library, NULL, 0, &m, j->message, sizeof j->message);
    if (status >= 0) status = kd_model_write_flat(m, to, j->message, sizeof j->message);
    kd_model_destroy(m);
    return status >= 0;
}

static bool same_content(const char *a, const char *b)
{
    char  *x = NULL, *y = NULL;
    size_t n = 0, k = 0;
    bool   same =
        kd_load_file(a, MOST_BYTES, &x, &n, NULL, 0) == KD_OK && kd_load_file(b, MOST_BYTES, &y, &k, NULL, 0) == KD_OK;
    same = same && n == k && memcmp(x, y, n) == 0;
    kd_free(x);
    kd_free(y);
    return same;
}

// The same keys, in any order, with the same values
static bool is_same_node(const kd_node *a, const kd_node *b)
{
    if (a->type != b->type || a->n != b->n) return false;
    if (a->type == KD_NODE_SCALAR) return strcmp(a->text, b->text) == 0 && a->plain == b->plain;
    for (int i = 0; i < a->n; i++) {
        const bool     map = a->type == KD_NODE_MAP;
        const kd_node *x = map ? &a->item[2 * i + 1] : &a->item[i];
        const kd_node *y = map ? kd_node_find(b, a->item[2 * i].text) : &b->item[i];
        if (!y || !is_same_node(x, y)) return false;
    }
    return true;
}

static bool read_tree(job *j, const char *at, size_t length, kd_document *document)
{
    kd_file_findings *findings = kd_alloc(sizeof *findings);
    if (!findings) return false;
    findings->file = j->path;
    const kd_status status = kd_document_read(at, length, document, findings);
    if (status < 0) kd_file_findings_write(findings, j->message, sizeof j->message);
    kd_free(findings);
    return status == KD_OK;
}

// Do both texts say the same? *of_others: a subsystem, which may be no model without those that use it
static bool is_same_text(job *j, span before, span after, bool *of_others)
{
    kd_document a = {0}, b = {0};
    bool        same = read_tree(j, before.at, (size_t)(before.end - before.at), &a) &&
                read_tree(j, after.at, (size_t)(after.end - after.at), &b);
    if (same && !is_same_node(a.root, b.root)) {
        snprintf(j->message, sizeof j->message, "it would say something else; please report the file");
        same = false;
    }
    *of_others = same && a.root->type == KD_NODE_MAP && kd_node_find(a.root, "needs");
    kd_document_release(&a);
    kd_document_release(&b);
    return same;
}

// Both files give the same model
static bool is_same_model(job *j)
{
    bool same = rewrite(j, j->path, j->name[1]) && rewrite(j, j->name[0], j->name[2]);
    if (same && !same_content(j->name[1], j->name[2])) {
        snprintf(j->message, sizeof j->message, "the model would become another one; please report the file");
        same = false;
    }
    remove(j->name[1]);
    remove(j->name[2]);
    return same;
}

static int replace(job *j, span before, const text *t)
{
    bool of_others = false;
    for (int i = 0; i < 3; i++) snprintf(j->name[i], sizeof j->name[i], "%.1000s.format-%d", j->path, i);
    const char *why = NULL;
    if (!is_same_text(j, before, (span){t->at, t->at + t->length}, &of_others))
        why = j->message;
    else if (!write_file(j->name[0], t))
        why = "no file can be written beside it";
    else if (!of_others && !is_same_model(j))
        why = j->message;
    else if (rename(j->name[0], j->path) != 0)
        why = "it cannot be replaced";
    if (!why) return KD_EXIT_OK;
    remove(j->name[0]);
    fprintf(stderr, "kardan: '%s' is left as it is: %s\n", j->path, why);
    return KD_EXIT_FAILED;
}

static int format(job *j)
{
    char  *content = NULL;
    size_t length = 0;
    text   out = {0};
    int    status = KD_EXIT_FAILED;
    // read, put in order, compared: only what differs is written
    if (kd_load_file(j->path, MOST_BYTES, &content, &length, j->message, sizeof j->message) != KD_OK) {
        fprintf(stderr, "kardan: %s\n", j->message);
    } else if (!put_file(&out, (span){content, content + length})) {
        fprintf(stderr,
                "kardan: '%s' is left as it is: it is not written as sections, each with its name at the beginning of "
                "a line\n",
                j->path);
    } else if (out.length == length && memcmp(out.at, content, length) == 0) {
        printf("%s: in order\n", j->path);
        status = KD_EXIT_OK;
    } else if (j->check) {
        printf("%s: not in order; 'kardan format %s' puts it so\n", j->path, j->path);
    } else {
        status = replace(j, (span){content, content + length}, &out);
        if (status == KD_EXIT_OK) printf("%s: put in order\n", j->path);
    }
    kd_free(content);
    free(out.at);
    return status;
}

static kd_cli_parsed read_arguments(job *j, int argc, char **argv)
{
    kd_cli_option options[] = {
        {"--check", NULL, "change nothing; the exit status says whether it is in order", KD_CLI_FLAG, &j->check},
        {"--library", "DIR", "folder of subsystems that the model may use besides its own; repeatable", KD_CLI_LIST,
         &j->library},
    };
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan format MODEL.yaml [--check] [--library DIR]",
             .about = "Put the sections of a model file and the keys of its elements into the usual order. Comments stay "
                           "with what they\n"
                           "stand above or behind, elements in their order. The model stays the same, which is checked.",
             .details = "Examples:\n"
                             "  kardan format car.yaml\n"
                             "  kardan format car.yaml --check\n",
             .options = options,
             .noptions = sizeof options / sizeof options[0],
             .operand_name = names,
             .operand = &j->path,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

int kd_cli_format(int argc, char **argv)
{
    static job    j; // of this one command; large
    kd_cli_parsed parsed = read_arguments(&j, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    return format(&j);
}
