// document.c: YAML events (libyaml) to a tree. Everything that YAML has beyond lists, maps and scalars is refused:
// anchors, aliases, tags, several documents; depth and number of nodes are bounded while reading.
#include "modelfile/document.h"

#include <string.h>
#include <yaml.h>

#include "core/text.h"
#include "model/build.h"

typedef struct builder {
    kd_document      *document;
    kd_file_findings *findings;
    const char       *text;
    size_t            length;
    kd_node          *stack; // nodes whose list or map is not closed yet
    int               count, capacity;
    int               nodes;                       // all so far
    int               open[KD_DOCUMENT_MAX_DEPTH]; // places in the stack of the open lists and maps
    bool              flow[KD_DOCUMENT_MAX_DEPTH]; // written with brackets
    int               depth;
    size_t            mark_index, mark_byte; // libyaml counts characters: the last one asked for, and its byte
    char             *pool;                  // memory for texts
    size_t            pool_left;
    kd_status         status;
} builder;

static bool refuse_node(builder *b, yaml_mark_t mark, const char *why)
{
    kd_file_findings_add(b->findings, (int)mark.line + 1, (int)mark.column + 1, "%s", why);
    b->status = KD_ERR_MODEL;
    return false;
}

static bool out_of_memory(builder *b)
{
    b->status = KD_ERR_MEMORY;
    return false;
}

// ---- UTF-8 ----------------------------------------------------------------------------------------------------------

// bytes of the character at c, at most `left`; 0: not UTF-8 (overlong forms and surrogates included)
static int utf8_length(const unsigned char *c, size_t left)
{
    int      n = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    unsigned code = n == 2 ? c[0] & 0x1Fu : n == 3 ? c[0] & 0x0Fu : c[0] & 0x07u;
    if (n == 0 || (size_t)n > left) return 0;
    // six bits from each further byte
    for (int i = 1; i < n; i++) {
        if ((c[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (c[i] & 0x3Fu);
    }
    // overlong forms, surrogates, beyond the last code
    bool wrong = (n == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) ||
                 (n == 4 && (code < 0x10000 || code > 0x10FFFF));
    return wrong ? 0 : n;
}

// Where it is not, line and column are told
static bool check_utf8(builder *b)
{
    const unsigned char *c = (const unsigned char *)b->text;
    size_t               line = 0, column = 0;
    for (size_t i = 0; i < b->length;) {
        int n = utf8_length(c + i, b->length - i);
        if (n == 0)
            return refuse_node(b, (yaml_mark_t){i, line, column}, "this is not UTF-8; save the file in that encoding");
        if (c[i] == 0) return refuse_node(b, (yaml_mark_t){i, line, column}, "a zero byte; this is not a text");
        column++;
        if (c[i] == '\n') {
            line++;
            column = 0;
        }
        i += (size_t)n;
    }
    return true;
}

// byte of the character that libyaml's mark counts; marks are asked for in nearly rising order
static size_t byte_of(builder *b, yaml_mark_t mark)
{
    if (mark.index < b->mark_index) b->mark_index = b->mark_byte = 0;
    while (b->mark_index < mark.index && b->mark_byte < b->length) {
        b->mark_byte++;
        while (b->mark_byte < b->length && ((unsigned char)b->text[b->mark_byte] & 0xC0) == 0x80) b->mark_byte++;
        b->mark_index++;
    }
    return b->mark_byte;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// A copy in the memory of the document
static char *keep_text(builder *b, const char *text, size_t length)
{
    enum { POOL = 1 << 16 };
    if (length + 1 > b->pool_left) {
        size_t size = length + 1 > POOL ? length + 1 : POOL;
        b->pool = kd_arena_cut(&b->document->arena, size, 1);
        b->pool_left = b->pool ? size : 0;
        if (!b->pool) return NULL;
    }
    char *kept = b->pool;
    memcpy(kept, text, length);
    kept[length] = '\0';
    b->pool += length + 1;
    b->pool_left -= length + 1;
    return kept;
}

static bool push(builder *b, const kd_node *node)
{
    if (b->count == b->capacity) {
        int      capacity = b->capacity > 0 ? 2 * b->capacity : 256;
        kd_node *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) return out_of_memory(b);
        if (b->count > 0) memcpy(larger, b->stack, (size_t)b->count * sizeof *larger);
        kd_free(b->stack);
        b->stack = larger;
        b->capacity = capacity;
    }
    b->stack[b->count++] = *node;
    return true;
}

// ---- commas in expressions ------------------------------------------------------------------------------------------

static int open_parentheses(const char *text)
{
    int open = 0;
    for (; *text; text++) open += (*text == '(') - (*text == ')');
    return open;
}

static bool is_plain(const kd_node *node)
{
    return node->type == KD_NODE_SCALAR && node->plain;
}

// a := the text from the begin of a to the end of z
static bool join(builder *b, kd_node *a, const kd_node *z)
{
    char *text = keep_text(b, b->text + a->begin, (size_t)(z->end - a->begin));
    if (!text) return out_of_memory(b);
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r') {
            *c = ' ';
            a->first = 0; // columns no longer count
        }
    }
    a->text = text;
    a->end = z->end;
    return true;
}

// Items of a list in brackets: [max(a, b), 0] arrives as "max(a", "b)", "0".
static bool join_items(builder *b, kd_node *item, int *n)
{
    int kept = 0;
    for (int i = 0; i < *n; i++) {
        // items are joined until all parentheses are closed
        int open = is_plain(&item[i]) ? open_parentheses(item[i].text) : 0, last = i;
        while (open > 0 && last + 1 < *n && is_plain(&item[last + 1])) open += open_parentheses(item[++last].text);
        item[kept] = item[i];
        if (open == 0 && last > i) {
            if (!join(b, &item[kept], &item[last])) return false;
            i = last;
        }
        kept++;
    }
    *n = kept;
    return true;
}

static bool is_empty(const kd_node *node)
{
    return is_plain(node) && node->text[0] == '\0';
}

// Keys and values of a map in braces: {a: max(b, c)} arrives as "a": "max(b" and "c)": "", {link(i, j): x} as
// "link(i": "" and "j)": x.
static bool join_pairs(builder *b, kd_node *item, int *n)
{
    int kept = 0, count = 2 * *n;
    for (int i = 0; i < count; i += 2) {
        // a key with open parentheses goes on in the keys behind, which have no values
        int key = is_plain(&item[i]) ? open_parentheses(item[i].text) : 0, last = i;
        while (key > 0 && is_empty(&item[last + 1]) && last + 2 < count && is_plain(&item[last + 2])) {
            last += 2;
            key += open_parentheses(item[last].text);
        }
        bool    joined = key == 0 && last > i;
        kd_node pair[2] = {item[i], joined ? item[last + 1] : item[i + 1]};
        if (joined && !join(b, &pair[0], &item[last])) return false;
        if (joined) i = last;
        // so does a value, in keys without values
        int value = is_plain(&pair[1]) ? open_parentheses(pair[1].text) : 0;
        last = i;
        while (value > 0 && last + 2 < count && is_plain(&item[last + 2]) && is_empty(&item[last + 3])) {
            last += 2;
            value += open_parentheses(item[last].text);
        }
        if (value == 0 && last > i) {
            if (!join(b, &pair[1], &item[last])) return false;
            i = last;
        }
        item[kept++] = pair[0];
        item[kept++] = pair[1];
    }
    *n = kept / 2;
    return true;
}

// ---- lists and maps -------------------------------------------------------------------------------------------------

static bool check_keys(builder *b, const kd_node *map)
{
    kd_names names = {0};
    bool     fine = true;
    for (int i = 0; fine && i < map->n; i++) {
        const kd_node *key = &map->item[2 * i];
        if (key->type != KD_NODE_SCALAR) {
            kd_file_findings_add(b->findings, key->line, key->column, "a key must be a word");
            fine = false;
            break;
        }
        int other = -1;
        // twice the same key? Many keys by a table, few one by one
        if (map->n > 16) {
            other = kd_names_find(&names, KD_SECTION_BODY, key->text); // any section: the table is ours alone
            if (other < 0 && kd_names_add(&names, KD_SECTION_BODY, key->text, i) < 0) fine = out_of_memory(b);
        } else {
            for (int j = 0; j < i && other < 0; j++) other = strcmp(map->item[2 * j].text, key->text) == 0 ? j : -1;
        }
        if (other >= 0) {
            kd_file_findings_add(b->findings, key->line, key->column, "the key '%.80s' is already in line %d",
                                 key->text, map->item[2 * other].line);
            fine = false;
        }
    }
    if (!fine && b->status == KD_OK) b->status = KD_ERR_MODEL;
    kd_names_release(&names);
    return fine;
}

static bool begin(builder *b, kd_node_type type, bool flow, yaml_mark_t mark)
{
    if (b->depth == KD_DOCUMENT_MAX_DEPTH)
        return refuse_node(b, mark, "lists and maps inside each other, more than 32 deep");
    b->open[b->depth] = b->count;
    b->flow[b->depth] = flow;
    b->depth++;
    kd_node node = {.type = type, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
    node.file = b->document->file;
    return push(b, &node);
}

// the items on the stack become those of their list or map
static bool end(builder *b)
{
    int      at = b->open[--b->depth];
    bool     map = b->stack[at].type == KD_NODE_MAP;
    kd_node *item = b->stack + at + 1;
    int      n = b->count - at - 1;
    // joined where expressions were cut at commas, then moved from the stack to where they stay
    if (map) n /= 2;
    if (b->flow[b->depth] && !(map ? join_pairs(b, item, &n) : join_items(b, item, &n))) return false;
    kd_node *kept = kd_arena_cut(&b->document->arena, (size_t)(map ? 2 * n : n), sizeof *kept);
    if (!kept) return out_of_memory(b);
    if (n > 0) memcpy(kept, item, (size_t)(map ? 2 * n : n) * sizeof *kept);
    kd_node *node = &b->stack[at];
    node->n = n;
    node->item = kept;
    b->count = at + 1;
    return !map || check_keys(b, node);
}

static int characters(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

// A value with its place in the file
static bool scalar(builder *b, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    yaml_mark_t from = event->start_mark, to = event->end_mark;
    if (strlen(value) != event->data.scalar.length) return refuse_node(b, from, "a zero byte in a text");
    kd_node node = {.type = KD_NODE_SCALAR, .line = (int)from.line + 1, .column = (int)from.column + 1};
    node.file = b->document->file;
    node.plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node.begin = (int)byte_of(b, from);
    node.end = (int)byte_of(b, to);
    node.text = keep_text(b, value, event->data.scalar.length);
    if (!node.text) return out_of_memory(b);
    // text as it stands in the file: its columns are known
    int marks = node.plain ? 0 : 1; // quotes
    if (from.line == to.line && (int)(to.column - from.column) == characters(value) + 2 * marks) {
        node.first = node.column + marks;
    }
    return push(b, &node);
}

// ---- events ---------------------------------------------------------------------------------------------------------

// line and column (0-based) of a byte
static yaml_mark_t mark_of(const builder *b, size_t byte)
{
    yaml_mark_t mark = {0, 0, 0};
    for (size_t i = 0; i < byte && i < b->length; i++) {
        mark.column += ((unsigned char)b->text[i] & 0xC0) != 0x80;
        if (b->text[i] != '\n') continue;
        mark.line++;
        mark.column = 0;
    }
    return mark;
}

// libyaml's words, and what usually is the reason
static void tell_yaml_error(builder *b, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "this is not YAML";
    const char *hint = "";
    char        begun[80] = "";
    yaml_mark_t mark = parser->problem_mark;
    // where, and the usual reason
    if (parser->error == YAML_READER_ERROR) { // such errors know only their byte
        mark = mark_of(b, parser->problem_offset);
        hint = "; remove them";
    } else if (strstr(problem, "unexpected end of stream")) {
        hint = "; a quotation mark is not closed";
    } else if (strstr(problem, "cannot start any token")) {
        hint = "; indent by blanks instead of tabs, and put texts with special characters into quotes";
    } else if (strstr(problem, "mapping values are not allowed")) {
        hint = "; put a text that contains ': ' into quotes, and check the indentation";
    } else if (strstr(problem, "could not find expected ':'")) {
        hint = "; write 'key: value', with a blank behind the colon";
    } else if (strstr(problem, "expected ',' or")) {
        hint = "; a bracket is not closed, or a comma is missing";
    } else if (strstr(problem, "block end") || strstr(problem, "expected key")) {
        hint = "; check the indentation";
    }
    // brackets and quotes that began elsewhere
    if (parser->context && parser->error != YAML_READER_ERROR && parser->context_mark.line != mark.line) {
        kd_text(begun, sizeof begun, " (begun in line %d)", (int)parser->context_mark.line + 1);
    }
    kd_file_findings_add(b->findings, (int)mark.line + 1, (int)mark.column + 1, "YAML: %s%s%s", problem, hint, begun);
    b->status = parser->error == YAML_MEMORY_ERROR ? KD_ERR_MEMORY : KD_ERR_MODEL;
}

static bool check_properties(builder *b, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return refuse_node(b, event->start_mark, "anchors (&name) are not used in model files; use a parameter");
    if (tag) return refuse_node(b, event->start_mark, "tags (!name) are not used in model files; quote the text");
    if (++b->nodes > KD_DOCUMENT_MAX_NODES)
        return refuse_node(b, event->start_mark, "more than 2000000 values in one file");
    return true;
}

// false: stop
static bool take_event(builder *b, const yaml_event_t *event, int *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (event->data.document_start.version_directive ||
            event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end) {
            return refuse_node(b, event->start_mark, "directives (%YAML, %TAG) are not used in model files");
        }
        if (++*documents > 1)
            return refuse_node(b, event->start_mark, "a second document (---); write one model per file");
        return true;
    case YAML_ALIAS_EVENT:
        return refuse_node(b, event->start_mark,
                           "aliases (*name) are not used in model files; use a parameter, or quote the expression");
    case YAML_SCALAR_EVENT:
        return check_properties(b, event, event->data.scalar.anchor, event->data.scalar.tag) && scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return check_properties(b, event, event->data.sequence_start.anchor, event->data.sequence_start.tag) &&
               begin(b, KD_NODE_LIST, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return check_properties(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag) &&
               begin(b, KD_NODE_MAP, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return end(b);
    default:
        return true;
    }
}

static void read_events(builder *b)
{
    yaml_parser_t parser;
    yaml_event_t  event;
    int           documents = 0;
    bool          more = true;
    // a parser of events: no tree but our own is made
    if (!yaml_parser_initialize(&parser)) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)b->text, b->length);
    // until something is refused or the stream ends
    while (more) {
        if (!yaml_parser_parse(&parser, &event)) {
            tell_yaml_error(b, &parser);
            break;
        }
        more = take_event(b, &event, &documents) && event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
}

kd_status kd_document_read(const char *text, size_t length, kd_document *document, kd_file_findings *findings)
{
    *document = (kd_document){.file = findings->at};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { // byte order mark
        text += 3;
        length -= 3;
    }
    if (length > KD_DOCUMENT_MAX_BYTES) {
        kd_file_findings_add(findings, 0, 0, "the file is larger than 64 MiB");
        return KD_ERR_MODEL;
    }
    builder b = {.document = document, .findings = findings, .text = text, .length = length};
    if (check_utf8(&b)) read_events(&b);
    // the builder's stack holds the root alone when all went well
    if (b.status == KD_OK && b.count == 0) {
        kd_file_findings_add(findings, 1, 1, "the file is empty; a model begins with 'kardan: 1'");
        b.status = KD_ERR_MODEL;
    }
    if (b.status == KD_OK) {
        document->root = kd_arena_cut(&document->arena, 1, sizeof *document->root);
        if (document->root)
            *document->root = b.stack[0];
        else
            b.status = KD_ERR_MEMORY;
    }
    kd_free(b.stack);
    return b.status;
}

void kd_document_release(kd_document *document)
{
    kd_arena_release(&document->arena);
    document->root = NULL;
}

kd_node *kd_node_find(const kd_node *map, const char *key)
{
    for (int i = 0; i < map->n; i++) {
        if (strcmp(map->item[2 * i].text, key) == 0) return &map->item[2 * i + 1];
    }
    return NULL;
}

bool kd_node_is_null(const kd_node *node)
{
    return is_plain(node) &&
           (strcmp(node->text, "") == 0 || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}
