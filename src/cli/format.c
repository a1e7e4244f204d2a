// format.c: kardan format: a model file in the usual order, with its comments.
//
// Works on the lines of the file, not on the model: sections, elements and keys are moved with the comments above and behind
// them. What stands where:
//   - sections as in the reference page; comments in front of the first one are the head of the file;
//   - keys of an element: `type` and `for` first, then bodies and places, then as they are; in braces on one line, too;
//   - one empty line between sections, none at the end of lines and of the file.
// Elements keep their order: it is that of results. The file is read before and after: another model is never written.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "cli/subject.h"
#include "core/load.h"
#include "core/memory.h"

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

static void put(text *t, const char *at, size_t n)
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
    put(t, s.at, (size_t)(s.end - s.at));
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

static const char *const sections[] = {"kardan",      "title",     "include",     "library", "parameters", "gravity",
                                       "expressions", "curves",    "tracks",      "inputs",  "subsystems", "bodies",
                                       "frames",      "joints",    "constraints", "forces",  "algebraic",  "states",
                                       "blocks",      "variables", "events",      "sensors", "run"};
static const char *const keys[] = {"sphere",      "box",   "cylinder", "rod",    "tube", "mesh",      "for",
                                   "type",        "file",  "grid",     "bodies", "body", "joint",     "from",
                                   "to",          "point", "points",   "axis",   "axes", "reference", "position",
                                   "orientation", "mass",  "centre",   "inertia"};
#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

// The place of a word in a list; those that are not in it come behind
static int rank_of(span key, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (is_word(key, list[i])) return i;
    return n;
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

// ---- braces on one line ---------------------------------------------------------------------------------------------

// The end of a value in braces: behind the bracket that closes the one at `at`; NULL: not on this line
static const char *closing(const char *at, const char *end)
{
    int  depth = 0;
    char quote = '\0';
    for (; at < end; at++) {
        if (quote) {
            if (*at == quote) quote = '\0';
            continue;
        }
        if (*at == '"' || *at == '\'') quote = *at;
        if (*at == '#' && at[-1] == ' ') return NULL; // a comment: the value goes on in the next line
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && --depth == 0) return at + 1;
    }
    return NULL;
}

static span trim(span s)
{
    while (s.at < s.end && *s.at == ' ') s.at++;
    while (s.end > s.at && s.end[-1] == ' ') s.end--;
    return s;
}

// {a: 1, b: 2} with its keys in order. Values stay as they are.
static void put_braces(text *out, span braces)
{
    part parts[64];
    int  n = 0, depth = 0;
    char quote = '\0';
    span item = {braces.at + 1, braces.at + 1};
    for (const char *c = item.at; c < braces.end; c++) {
        const bool last = c == braces.end - 1;
        if (quote) {
            if (*c == quote) quote = '\0';
        } else if (*c == '"' || *c == '\'') {
            quote = *c;
        } else if (*c == '{' || *c == '[' || *c == '(') {
            depth++;
        } else if (!last && (*c == '}' || *c == ']' || *c == ')')) {
            depth--;
        }
        if (!last && !(*c == ',' && depth == 0 && !quote)) continue;
        item.end = c;
        const span value = trim(item);
        if (n == COUNT(parts) || (value.at == value.end && !last)) { // too many, or something unusual: as it is
            put_span(out, braces);
            return;
        }
        if (value.at < value.end) {
            parts[n] = (part){value, rank_of(key_of(value), keys, COUNT(keys)), n};
            // a piece without a key belongs to the expression before it: max(a, b)
            if (n > 0 && key_of(value).at == key_of(value).end)
                parts[n - 1].lines.end = value.end;
            else
                n++;
        }
        item.at = c + 1;
    }
    qsort(parts, (size_t)n, sizeof *parts, by_rank);
    put(out, "{", 1);
    for (int i = 0; i < n; i++) {
        if (i > 0) put(out, ", ", 2);
        put_span(out, parts[i].lines);
    }
    put(out, "}", 1);
}

// A line with `name: {..}` has the keys inside of the braces in order
static void put_line(text *out, span line)
{
    const span  key = key_of(line);
    const char *open = key.end;
    if (key.at < key.end && !is_comment(line)) {
        open++; // behind the colon
        while (open < line.end && *open == ' ') open++;
        const char *close = open < line.end && *open == '{' ? closing(open, line.end) : NULL;
        if (close) {
            put(out, line.at, (size_t)(open - line.at));
            put_braces(out, (span){open, close});
            line.at = close;
        }
    }
    put_span(out, line);
    put(out, "\n", 1);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// Split lines into parts that begin with a key at an indent; comments and empty lines above a key belong to it. What stands
// before the first key is the head. false: too many parts, or lines that are not as expected
static bool split(span lines, int indent, const char *const *list, int nlist, span *head, part *parts, int *n)
{
    span        rest = lines, line;
    const char *begin = lines.at;  // of the comments in front of the next key
    const char *before = lines.at; // of this line
    bool        touches = false;   // no empty line since the part above
    *n = 0;
    *head = (span){lines.at, lines.at};
    for (; before = rest.at, next_line(&rest, &line);) {
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
        const span key = key_of(line);
        if (own != indent || key.at == key.end || *n == MOST_PARTS) return false;
        if (*n == 0) *head = (span){lines.at, begin};
        parts[*n] = (part){{begin, rest.at}, rank_of(key, list, nlist), *n};
        ++*n;
        begin = rest.at;
    }
    if (*n > 0 && begin < lines.end) parts[*n - 1].lines.end = lines.end; // comments at the end
    return true;
}

static void put_lines(text *out, span lines, bool keep_empty)
{
    span line;
    while (next_line(&lines, &line))
        if (keep_empty || !is_empty(line)) put_line(out, line);
}

// Keys of an element that is written over several lines
static void put_element(text *out, span lines)
{
    span  rest = lines, line, head;
    part *parts = malloc(MOST_PARTS * sizeof *parts);
    int   n = 0, indent = -1;
    bool  bare = false;
    // the line with its name, behind its comments; then the indent of its keys
    const char *behind = lines.at;
    while (next_line(&rest, &line)) {
        if (is_empty(line) || is_comment(line)) continue;
        if (behind == lines.at) {
            behind = rest.at;
            bare = is_bare(line);
        } else {
            indent = indent_of(line);
            break;
        }
    }
    const span inner = {behind, lines.end};
    if (parts && bare && indent > 0 && split(inner, indent, keys, COUNT(keys), &head, parts, &n)) {
        put_lines(out, (span){lines.at, behind}, true);
        qsort(parts, (size_t)n, sizeof *parts, by_rank);
        put_lines(out, head, true);
        for (int i = 0; i < n; i++) put_lines(out, parts[i].lines, true);
    } else {
        put_lines(out, lines, true);
    }
    free(parts);
}

// A section: its elements in their order, each with its keys in order. Parameters are no elements.
static void put_section(text *out, span lines)
{
    span        rest = lines, line, head;
    part       *parts = malloc(MOST_PARTS * sizeof *parts);
    int         n = 0, indent = -1;
    bool        bare = false;
    const char *behind = lines.at;
    span        name = {lines.at, lines.at};
    while (next_line(&rest, &line)) {
        if (is_empty(line) || is_comment(line)) continue;
        if (behind == lines.at) {
            behind = rest.at;
            name = key_of(line);
            bare = is_bare(line);
        } else {
            indent = indent_of(line);
            break;
        }
    }
    const bool elements = !is_word(name, "parameters") && !is_word(name, "run") && !is_word(name, "expressions");
    if (parts && elements && bare && indent > 0 &&
        split((span){behind, lines.end}, indent, NULL, 0, &head, parts, &n)) {
        put_lines(out, (span){lines.at, behind}, true);
        put_lines(out, head, true);
        for (int i = 0; i < n; i++) put_element(out, parts[i].lines);
    } else {
        put_lines(out, lines, true);
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
    bool  fine = parts && split(lines, 0, sections, COUNT(sections), &head, parts, &n) && n > 0;
    if (fine) {
        // comments in front of the first section are the head of the file, wherever that section goes
        span        rest = parts[0].lines, line;
        const char *at = rest.at;
        while (next_line(&rest, &line) && (is_empty(line) || is_comment(line))) at = rest.at;
        const span top = without_empty_ends((span){parts[0].lines.at, at});
        parts[0].lines.at = at;
        qsort(parts, (size_t)n, sizeof *parts, by_rank);
        put_lines(out, top, true);
        for (int i = 0; i < n; i++) {
            // what is short stands together at the top
            const bool apart = i > 0 && (parts[i].rank > 5 || parts[i - 1].rank > 5);
            if (apart) put(out, "\n", 1);
            put_section(out, without_empty_ends(parts[i].lines));
        }
    }
    free(parts);
    return fine && !out->failed;
}

// ---- the file -------------------------------------------------------------------------------------------------------

typedef struct job {
    const char *path;
    bool        check;
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
    kd_status status = kd_model_read(from, NULL, 0, &m, j->message, sizeof j->message);
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

static int replace(job *j, const text *t)
{
    for (int i = 0; i < 3; i++) snprintf(j->name[i], sizeof j->name[i], "%.1000s.format-%d", j->path, i);
    const char *why = NULL;
    if (!write_file(j->name[0], t))
        why = "no file can be written beside it";
    else if (!is_same_model(j))
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
        status = replace(j, &out);
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
    };
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan format MODEL.yaml [--check]",
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
