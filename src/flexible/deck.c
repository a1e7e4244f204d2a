// deck.c: nodes, node sets and faces of elements of input decks (CalculiX, Abaqus), and of plain tables.
//
//     *NODE, NSET=ALL            *NSET, NSET=LEFT            *NSET, NSET=ROW, GENERATE      *INCLUDE, INPUT=mesh.inp
//     1, 0.0, 0.1, 0.2           1, 2, 7, ALL                1, 9, 2
// Words are written in any case; lines with ** are comments. Other blocks are passed over.
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/load.h"
#include "core/read_number.h"
#include "core/text.h"
#include "flexible/fe_files.h"

enum { LONGEST_LINE = 2000, MOST_CORNERS = 20, DEPTH = 8, LONGEST_PATH = 4096, MOST_BYTES = 2000000000 };
static const double LARGEST = 1e12; // coordinate of a node

// ---- lists that grow ------------------------------------------------------------------------------------------------

void kd_fe_nodes_release(kd_fe_nodes *nodes)
{
    for (int i = 0; i < nodes->nsets; i++) kd_free(nodes->set[i].id);
    kd_free(nodes->set);
    kd_free(nodes->id);
    kd_free(nodes->at);
    kd_free(nodes->face);
    *nodes = (kd_fe_nodes){0};
}

static kd_status add_node(kd_lines *text, kd_fe_nodes *nodes, int id, kd_vec3 at)
{
    if (nodes->n >= KD_FE_MOST_ROWS) return kd_lines_refuse(text, "too many nodes", "");
    if (nodes->n == nodes->room) {
        nodes->room = nodes->room > 0 ? 2 * nodes->room : 256;
        nodes->id = kd_fe_grow(nodes->id, (size_t)nodes->n, (size_t)nodes->room, sizeof *nodes->id);
        nodes->at = kd_fe_grow(nodes->at, (size_t)nodes->n, (size_t)nodes->room, sizeof *nodes->at);
        if (!nodes->id || !nodes->at) {
            nodes->n = 0;
            return KD_ERR_MEMORY;
        }
    }
    nodes->id[nodes->n] = id;
    nodes->at[nodes->n++] = at;
    return KD_OK;
}

static kd_status add_to_set(kd_lines *text, struct kd_fe_set *set, int id)
{
    if (set->n >= KD_FE_MOST_ROWS) return kd_lines_refuse(text, "too many nodes in a set", "");
    if (set->n == set->room) {
        set->room = set->room > 0 ? 2 * set->room : 64;
        set->id = kd_fe_grow(set->id, (size_t)set->n, (size_t)set->room, sizeof *set->id);
        if (!set->id) {
            set->n = 0;
            return KD_ERR_MEMORY;
        }
    }
    set->id[set->n++] = id;
    return KD_OK;
}

// The place of a set; -1: there is none
static int find_set(const kd_fe_nodes *nodes, const char *name)
{
    for (int i = 0; i < nodes->nsets; i++)
        if (strcasecmp(nodes->set[i].name, name) == 0) return i;
    return -1;
}

static kd_status enter_set(kd_lines *text, kd_fe_nodes *nodes, const char *name, int *place)
{
    *place = find_set(nodes, name);
    if (*place >= 0) return KD_OK;
    if (nodes->nsets >= KD_FE_MOST_SETS) return kd_lines_refuse(text, "too many node sets", "");
    if (nodes->nsets == nodes->sets_room) {
        nodes->sets_room = nodes->sets_room > 0 ? 2 * nodes->sets_room : 8;
        nodes->set = kd_fe_grow(nodes->set, (size_t)nodes->nsets, (size_t)nodes->sets_room, sizeof *nodes->set);
        if (!nodes->set) {
            nodes->nsets = 0;
            return KD_ERR_MEMORY;
        }
    }
    *place = nodes->nsets++;
    nodes->set[*place] = (struct kd_fe_set){0};
    kd_text(nodes->set[*place].name, sizeof nodes->set[*place].name, "%s", name);
    return KD_OK;
}

// ---- lines with commas ----------------------------------------------------------------------------------------------

// The next word between commas, without blanks around it, cut out of the line; NULL: no more
static char *next_word(char **at)
{
    if (!*at) return NULL;
    char *word = *at, *end = strchr(word, ',');
    *at = end ? end + 1 : NULL;
    if (end) *end = '\0';
    while (isspace((unsigned char)*word)) word++;
    for (char *last = word + strlen(word); last > word && isspace((unsigned char)last[-1]);) *--last = '\0';
    return word;
}

static bool whole_number(const char *word, int *value)
{
    char *end;
    errno = 0;
    const long n = strtol(word, &end, 10);
    if (end == word || *end || errno || n < 1 || n > INT_MAX) return false;
    *value = (int)n;
    return true;
}

// Value of a parameter of a keyword line, "NSET=LEFT", NULL: not there. flag: a word without value is enough
static const char *parameter_of(const char *line, const char *name, char *value, size_t size)
{
    const size_t n = strlen(name);
    for (const char *at = strchr(line, ','); at; at = strchr(at, ',')) {
        at++;
        while (isspace((unsigned char)*at)) at++;
        if (strncasecmp(at, name, n) != 0) continue;
        const char *behind = at + n;
        while (isspace((unsigned char)*behind)) behind++;
        if (*behind != '=' && *behind != ',' && *behind != '\0') continue;
        size_t length = 0;
        if (*behind == '=') {
            do behind++;
            while (isspace((unsigned char)*behind));
            while (behind[length] && behind[length] != ',') length++;
            while (length > 0 && isspace((unsigned char)behind[length - 1])) length--;
        }
        kd_text(value, size, "%.*s", (int)length, behind);
        return value;
    }
    return NULL;
}

static bool is_keyword(const char *line, const char *word)
{
    const size_t n = strlen(word);
    if (strncasecmp(line, word, n) != 0) return false;
    return line[n] == '\0' || line[n] == ',' || isspace((unsigned char)line[n]);
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

typedef struct deck {
    enum { PASS, NODES, SET, GENERATE, ELEMENTS } block;
    int  set; // that nodes go into; -1: none
    char type[16];
    int  wanted, has, id[MOST_CORNERS]; // nodes of the element that is read, over several lines
} deck;

static kd_status read_node(kd_lines *text, char *line, deck *d, kd_fe_nodes *nodes)
{
    char  *rest = line, *word = next_word(&rest);
    int    id;
    double x[3] = {0};
    if (!whole_number(word, &id)) return kd_lines_refuse(text, "the number of a node is expected, not", word);
    for (int i = 0; i < 3; i++) {
        // coordinates that are left out are zero, as in the programs
        char *end;
        word = next_word(&rest);
        if (!word || !*word) continue;
        x[i] = kd_read_number(word, &end);
        if (end == word || *end || !(fabs(x[i]) <= LARGEST))
            return kd_lines_refuse(text, "three finite coordinates are expected, not", word);
    }
    kd_status status = add_node(text, nodes, id, kd_vec_of(x));
    if (status == KD_OK && d->set >= 0) status = add_to_set(text, &nodes->set[d->set], id);
    return status;
}

static kd_status generate(kd_lines *text, char *line, deck *d, kd_fe_nodes *nodes)
{
    int   number[3] = {0, 0, 1};
    char *rest = line, *word;
    for (int i = 0; i < 3 && (word = next_word(&rest)) && *word; i++)
        if (!whole_number(word, &number[i])) return kd_lines_refuse(text, "first, last, step are expected, not", word);
    if (number[1] < number[0]) return kd_lines_refuse(text, "the last node of a set lies before its first", "");
    kd_status status = KD_OK;
    // numbers between two nodes need not be nodes: the programs leave them out
    for (long id = number[0]; status == KD_OK && id <= number[1]; id += number[2])
        status = add_to_set(text, &nodes->set[d->set], -(int)id);
    return status;
}

// Numbers of nodes, or names of other sets
static kd_status read_set(kd_lines *text, char *line, deck *d, kd_fe_nodes *nodes)
{
    kd_status status = KD_OK;
    for (char *rest = line, *word; status == KD_OK && (word = next_word(&rest));) {
        int id;
        if (!*word) continue;
        if (whole_number(word, &id)) {
            status = add_to_set(text, &nodes->set[d->set], id);
            continue;
        }
        const int other = find_set(nodes, word);
        if (other < 0 || other == d->set) return kd_lines_refuse(text, "neither a node nor a set of nodes:", word);
        const int n = nodes->set[other].n;
        for (int i = 0; status == KD_OK && i < n; i++)
            status = add_to_set(text, &nodes->set[d->set], nodes->set[other].id[i]);
    }
    return status;
}

// Number, then nodes of an element; where they do not fit into a line they go on in the next one
static kd_status read_element(kd_lines *text, char *line, deck *d, kd_fe_nodes *nodes)
{
    char *rest = line, *word;
    int   id;
    if (d->has < 0) (void)next_word(&rest), d->has = 0;
    while (d->has < d->wanted && (word = next_word(&rest))) {
        if (!*word) continue;
        if (!whole_number(word, &id)) return kd_lines_refuse(text, "the number of a node is expected, not", word);
        d->id[d->has++] = id;
    }
    if (d->has < d->wanted) return KD_OK;
    d->has = -1;
    return kd_fe_add_element(text, nodes, d->type, d->id);
}

static kd_status parse_deck(kd_lines *text, const char *folder, int depth, kd_fe_nodes *nodes);

static kd_status include(kd_lines *text, const char *line, const char *folder, int depth, kd_fe_nodes *nodes)
{
    char   name[400] = "", path[LONGEST_PATH];
    char  *bytes = NULL;
    size_t length;
    if (!parameter_of(line, "INPUT", name, sizeof name) || !name[0])
        return kd_lines_refuse(text, "INPUT=FILE is missing", "");
    if (!folder) return kd_lines_refuse(text, "no other files can be read here:", name);
    if (depth >= DEPTH) return kd_lines_refuse(text, "files include each other too deeply:", name);
    if (name[0] == '/' || strstr(name, ".."))
        return kd_lines_refuse(text, "a file outside of the folder of the deck:", name);
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || n >= (int)sizeof path) return kd_lines_refuse(text, "the path is too long:", name);
    kd_status status = kd_fe_load(path, &bytes, &length, text->message, text->size);
    if (status == KD_OK) {
        kd_lines inner = {
            .path = path, .at = bytes, .end = bytes + length, .message = text->message, .size = text->size};
        status = parse_deck(&inner, folder, depth + 1, nodes);
    }
    kd_free(bytes);
    return status;
}

static kd_status begin_block(kd_lines *text, const char *line, const char *folder, int depth, deck *d,
                             kd_fe_nodes *nodes)
{
    char name[80], ignored[8];
    *d = (deck){.block = PASS, .set = -1};
    if (is_keyword(line, "*INCLUDE")) return include(text, line, folder, depth, nodes);
    if (is_keyword(line, "*ELEMENT")) {
        if (parameter_of(line, "TYPE", d->type, sizeof d->type)) d->wanted = kd_fe_element_nodes(d->type);
        d->has = -1;
        d->block = d->wanted > 0 ? ELEMENTS : PASS;
        return KD_OK;
    }
    const bool set = is_keyword(line, "*NSET");
    if (!set && !is_keyword(line, "*NODE")) return KD_OK;
    d->block = !set ? NODES : parameter_of(line, "GENERATE", ignored, sizeof ignored) ? GENERATE : SET;
    if (parameter_of(line, "NSET", name, sizeof name) && name[0]) return enter_set(text, nodes, name, &d->set);
    return set ? kd_lines_refuse(text, "NSET=NAME is missing", "") : KD_OK;
}

static kd_status parse_deck(kd_lines *text, const char *folder, int depth, kd_fe_nodes *nodes)
{
    char      line[LONGEST_LINE];
    deck      d = {.set = -1};
    kd_status status = KD_OK;
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) {
        if (line[0] == '*' && line[1] == '*') continue;
        if (line[0] == '*')
            status = begin_block(text, line, folder, depth, &d, nodes);
        else if (d.block == NODES)
            status = read_node(text, line, &d, nodes);
        else if (d.block == ELEMENTS)
            status = read_element(text, line, &d, nodes);
        else if (d.block == GENERATE)
            status = generate(text, line, &d, nodes);
        else if (d.block == SET)
            status = read_set(text, line, &d, nodes);
    }
    return status;
}

kd_status kd_fe_parse_deck(kd_lines *text, const char *folder, kd_fe_nodes *nodes)
{
    kd_status status = parse_deck(text, folder, 0, nodes);
    if (status == KD_OK && nodes->n == 0) {
        kd_text(text->message, text->size, "%s: there are no nodes in it (*NODE)", text->path);
        status = KD_ERR_FILE;
    }
    return status;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// The columns of a line: node, x, y, z. false: something else
static bool read_columns(char *line, int *id, double x[3])
{
    const bool tabs = strchr(line, '\t');
    char      *at = line, *end;
    // decimal commas are only clear where tabs part the columns
    for (char *c = line; *c; c++)
        if (*c == ',' || *c == ';') *c = tabs && *c == ',' ? '.' : ' ';
    errno = 0;
    const long n = strtol(at, &end, 10);
    if (end == at || errno || n < 1 || n > INT_MAX) return false;
    *id = (int)n;
    for (int i = 0; i < 3; i++) {
        at = end;
        x[i] = kd_read_number(at, &end);
        if (end == at || !(fabs(x[i]) <= LARGEST)) return false;
    }
    return true;
}

kd_status kd_fe_parse_node_table(kd_lines *text, kd_fe_nodes *nodes)
{
    char      line[LONGEST_LINE], shown[60];
    kd_status status = KD_OK;
    bool      first = true;
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) {
        int    id;
        double x[3];
        kd_text(shown, sizeof shown, "%s", line);
        if (read_columns(line, &id, x))
            status = add_node(text, nodes, id, kd_vec_of(x));
        else if (!first) // a heading
            status = kd_lines_refuse(text, "node, x, y, z are expected, not", shown);
        first = false;
    }
    if (status == KD_OK && nodes->n == 0) {
        kd_text(text->message, text->size, "%s: there are no nodes in it", text->path);
        status = KD_ERR_FILE;
    }
    return status;
}
