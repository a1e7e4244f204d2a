// stress_file.c: displacements and stress of a structure in several cases, as finite-element programs write them.
//
//   CalculiX  .frd, text: blocks "-4  DISP" and "-4  STRESS" of each step; "-1", node in 10 columns, numbers in 12 columns each
//   others    a table: a line of names, then a line for each node in each case, by comma:
//                 case, node, ux, uy, uz, sxx, syy, szz, sxy, syz, szx
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/read_number.h"
#include "core/text.h"
#include "flexible/fe_files.h"
#include "flexible/stress.h"

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MOST_CASES = 20 };
#else
enum { MOST_CASES = 1000 };
#endif
enum { LONGEST_LINE = 400, COLUMNS = 11 };
enum { HAS_SHIFT = 1, HAS_STRESS = 2 };

static const double LARGEST = 1e100;

// All nodes of the structure in all cases so far
typedef struct builder {
    const kd_fe_structure *s;
    int                    n, room;
    double                *shift;  // (3 nnodes x room)
    double                *stress; // (6 nnodes x room)
    unsigned char         *has;    // (nnodes x room)
} builder;

static void release(builder *b)
{
    kd_free(b->shift);
    kd_free(b->stress);
    kd_free(b->has);
}

// Room for cases up to number n
static kd_status need_cases(kd_lines *text, builder *b, int n)
{
    const size_t nodes = (size_t)b->s->nnodes;
    if (n > MOST_CASES) return kd_lines_refuse(text, "too many cases", "");
    if (n > b->room) {
        const int old = b->room, room = 2 * n < MOST_CASES ? 2 * n : MOST_CASES;
        b->shift = kd_fe_grow(b->shift, 3 * nodes * (size_t)old, 3 * nodes * (size_t)room, sizeof *b->shift);
        b->stress = kd_fe_grow(b->stress, 6 * nodes * (size_t)old, 6 * nodes * (size_t)room, sizeof *b->stress);
        b->has = kd_fe_grow(b->has, nodes * (size_t)old, nodes * (size_t)room, 1);
        if (!b->shift || !b->stress || !b->has) return KD_ERR_MEMORY;
        b->room = room;
    }
    b->n = n > b->n ? n : b->n;
    return KD_OK;
}

// Numbers of a node in a case: 3 displacements or 6 stresses
static kd_status enter(kd_lines *text, builder *b, int at, int node, unsigned char what, const double *value)
{
    const size_t nodes = (size_t)b->s->nnodes, place = (size_t)at * nodes + (size_t)node;
    const int    count = what == HAS_SHIFT ? 3 : 6;
    if (b->has[place] & what) return kd_lines_refuse(text, "this node was there before in the same case", "");
    for (int i = 0; i < count; i++)
        if (!(fabs(value[i]) <= LARGEST)) return kd_lines_refuse(text, "a number is not finite", "");
    memcpy(what == HAS_SHIFT ? b->shift + 3 * place : b->stress + 6 * place, value, (size_t)count * sizeof *value);
    b->has[place] |= what;
    return KD_OK;
}

static kd_status refuse_node(kd_lines *text, const builder *b, int node, int at, const char *what)
{
    char words[120];
    kd_text(words, sizeof words, "node %d has no %s in case %d", b->s->id[node], what, at + 1);
    return kd_lines_refuse(text, words, "");
}

// Every node with rows has displacements in every case; nodes that have stress have it in all
static kd_status check(kd_lines *text, const builder *b)
{
    const kd_fe_structure *s = b->s;
    int                    places = 0;
    if (b->n == 0) return kd_lines_refuse(text, "there are no displacements in it", "");
    for (int i = 0; i < s->nnodes; i++) {
        const bool moves =
            !kd_fe_is_inner(s, i) && (s->first[6 * i] >= 0 || s->first[6 * i + 1] >= 0 || s->first[6 * i + 2] >= 0);
        const bool stressed = b->has[i] & HAS_STRESS;
        places += stressed;
        for (int k = 0; k < b->n; k++) {
            const unsigned char has = b->has[(size_t)k * (size_t)s->nnodes + (size_t)i];
            if (moves && !(has & HAS_SHIFT)) return refuse_node(text, b, i, k, "displacement");
            if (stressed != (bool)(has & HAS_STRESS)) return refuse_node(text, b, i, stressed ? k : 0, "stress");
        }
    }
    return places > 0 ? KD_OK : kd_lines_refuse(text, "no node of the structure has stress in it", "");
}

// In units of the SI, as the structure has it
static kd_status finish(kd_lines *text, builder *b, kd_fe_structure *s)
{
    kd_status status = check(text, b);
    if (status < 0) return status;
    kd_stress_cases *c = kd_arena_cut(&s->arena, 1, sizeof *c);
    int              places = 0;
    for (int i = 0; i < s->nnodes; i++) places += (b->has[i] & HAS_STRESS) != 0;
    if (!c) return KD_ERR_MEMORY;
    *c = (kd_stress_cases){.n = b->n,
                           .node = kd_cut_int(&s->arena, places),
                           .D = kd_cut_matrix(&s->arena, s->n, b->n),
                           .S = kd_cut_matrix(&s->arena, 6 * places, b->n)};
    if (s->arena.failed) return KD_ERR_MEMORY;
    kd_text(c->name, sizeof c->name, "%s", text->path);
    for (int i = 0; i < s->nnodes; i++)
        if (b->has[i] & HAS_STRESS) c->node[c->nplaces++] = i;
    const double pressure = s->unit_force / (s->unit_length * s->unit_length);
    for (size_t k = 0; k < (size_t)b->n; k++) {
        const double *shift = b->shift + 3 * k * (size_t)s->nnodes, *stress = b->stress + 6 * k * (size_t)s->nnodes;
        for (int r = 0; r < s->n; r++)
            if (s->direction[r] < 3)
                c->D[(size_t)r + k * (size_t)s->n] = s->unit_length * shift[3 * s->node[r] + s->direction[r]];
        for (int i = 0; i < places; i++)
            for (int d = 0; d < 6; d++)
                c->S[6 * (k * (size_t)places + (size_t)i) + (size_t)d] = pressure * stress[6 * c->node[i] + d];
    }
    s->cases = c;
    return KD_OK;
}

// ---- CalculiX -------------------------------------------------------------------------------------------------------

// Number i behind the node, 12 columns each; the next one may follow without a blank
static bool column_of(const char *line, int i, double *value)
{
    char         word[13], *end;
    const size_t from = 12 + 12 * (size_t)i;
    if (strlen(line) <= from) return false;
    kd_text(word, sizeof word, "%.12s", line + from);
    const char *at = word;
    while (*at == ' ') at++;
    *value = kd_read_number(at, &end);
    while (*end == ' ') end++;
    return end != at && *end == '\0';
}

static kd_status read_result(kd_lines *text, const char *line, builder *b, unsigned char what)
{
    char      word[11], *end;
    double    value[6];
    const int count = what == HAS_SHIFT ? 3 : 6;
    kd_text(word, sizeof word, "%.10s", strlen(line) > 2 ? line + 2 : "");
    errno = 0;
    const long id = strtol(word, &end, 10);
    if (end == word || *end || errno || id < 1 || id > 2147483647)
        return kd_lines_refuse(text, "the number of a node is expected, not", word);
    for (int i = 0; i < count; i++)
        if (!column_of(line, i, &value[i])) return kd_lines_refuse(text, "a number is expected in each 12 columns", "");
    const int node = kd_fe_structure_find(b->s, (int)id);
    return node < 0 ? KD_OK : enter(text, b, b->n - 1, node, what, value);
}

static kd_status parse_frd(kd_lines *text, builder *b)
{
    char          line[LONGEST_LINE];
    unsigned char what = 0; // in the block that is read
    kd_status     status = KD_OK;
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) {
        const size_t length = strlen(line);
        if (strncmp(line, "100C", 4) == 0) {
            if (line[length - 1] != '1') status = kd_lines_refuse(text, "results must be text in the long form", "");
        } else if (strncmp(line, "-4 ", 3) == 0) {
            const char *name = line + 2 + strspn(line + 2, " ");
            const bool  shift = strncmp(name, "DISP ", 5) == 0, stress = strncmp(name, "STRESS ", 7) == 0;
            what = shift ? HAS_SHIFT : stress ? HAS_STRESS : 0;
            if (shift) status = need_cases(text, b, b->n + 1);
            if (stress && b->n == 0) status = kd_lines_refuse(text, "stress comes before displacements", "");
        } else if (strncmp(line, "-3", 2) == 0) {
            what = 0;
        } else if (what && strncmp(line, "-1 ", 3) == 0) {
            status = read_result(text, line, b, what);
        }
    }
    return status;
}

// One kind of file into the structure
static kd_status parse_by(kd_status (*parse)(kd_lines *, builder *), kd_lines *text, kd_fe_structure *s)
{
    builder   b = {.s = s};
    kd_status status = parse(text, &b);
    if (status == KD_OK) status = finish(text, &b, s);
    release(&b);
    return status;
}

kd_status kd_stress_parse_frd(kd_lines *text, kd_fe_structure *s)
{
    return parse_by(parse_frd, text, s);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// Words between commas, cut out of the line, without blanks around them; how many there are
static int split(char *line, char *word[COLUMNS])
{
    int n = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
        char *comma = strchr(at, ',');
        if (comma) *comma = '\0';
        while (*at == ' ' || *at == '\t') at++;
        for (char *last = at + strlen(at); last > at && (last[-1] == ' ' || last[-1] == '\t');) *--last = '\0';
        word[n] = at;
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

// Which column has which of the names
static kd_status read_names(kd_lines *text, char *line, int place[COLUMNS])
{
    static const char *const names[COLUMNS] = {"case", "node", "ux",  "uy",  "uz", "sxx",
                                               "syy",  "szz",  "sxy", "syz", "szx"};
    char                    *word[COLUMNS];
    const int                n = split(line, word);
    for (int i = 0; i < COLUMNS; i++) {
        place[i] = -1;
        for (int k = 0; k < n; k++)
            if (strcasecmp(word[k], names[i]) == 0) place[i] = k;
        if (place[i] < 0) return kd_lines_refuse(text, "the first line must name the column", names[i]);
    }
    return KD_OK;
}

static kd_status read_line(kd_lines *text, char *line, const int place[COLUMNS], builder *b)
{
    char     *word[COLUMNS];
    double    value[COLUMNS];
    const int n = split(line, word);
    for (int i = 0; i < COLUMNS; i++) {
        char *end = NULL;
        if (place[i] < n) value[i] = kd_read_number(word[place[i]], &end);
        if (!end || end == word[place[i]] || *end) return kd_lines_refuse(text, "eleven numbers are expected", "");
    }
    if (!(value[0] >= 1 && value[0] <= MOST_CASES && value[0] == floor(value[0])))
        return kd_lines_refuse(text, "cases are counted from 1 on, not", word[place[0]]);
    if (!(value[1] >= 1 && value[1] <= 2147483647 && value[1] == floor(value[1])))
        return kd_lines_refuse(text, "the number of a node is expected, not", word[place[1]]);
    const int node = kd_fe_structure_find(b->s, (int)value[1]), at = (int)value[0] - 1;
    if (node < 0) return kd_lines_refuse(text, "the structure has no node", word[place[1]]);
    kd_status status = need_cases(text, b, at + 1);
    if (status == KD_OK) status = enter(text, b, at, node, HAS_SHIFT, value + 2);
    return status == KD_OK ? enter(text, b, at, node, HAS_STRESS, value + 5) : status;
}

static kd_status parse_table(kd_lines *text, builder *b)
{
    char      line[LONGEST_LINE];
    int       place[COLUMNS];
    kd_status status = kd_lines_next(text, line, sizeof line) ? read_names(text, line, place)
                                                              : kd_lines_refuse(text, "the table is empty", "");
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) status = read_line(text, line, place, b);
    return status;
}

kd_status kd_stress_parse_table(kd_lines *text, kd_fe_structure *s)
{
    return parse_by(parse_table, text, s);
}

// ---- files ----------------------------------------------------------------------------------------------------------

kd_status kd_stress_cases_read(kd_fe_structure *s, const char *path, char *message, size_t size)
{
    char     *bytes = NULL;
    size_t    length;
    kd_status status = kd_fe_load(path, &bytes, &length, message, size);
    if (status < 0) return status;
    kd_lines   text = {.path = path, .at = bytes, .end = bytes + length, .message = message, .size = size};
    const bool frd = kd_text_has_ending(path, ".frd") || kd_text_has_ending(path, ".frd.gz");
    status = frd ? kd_stress_parse_frd(&text, s) : kd_stress_parse_table(&text, s);
    kd_free(bytes);
    return status;
}

void kd_stress_cases_keep(kd_stress_cases *c, const int *node, int n)
{
    int kept = 0;
    for (int i = 0; i < c->nplaces; i++) {
        bool wanted = false;
        for (int k = 0; k < n && !wanted; k++) wanted = node[k] == c->node[i];
        if (!wanted) continue;
        c->node[kept] = c->node[i];
        for (size_t j = 0; j < (size_t)c->n; j++)
            memmove(c->S + 6 * (j * (size_t)c->nplaces + (size_t)kept), c->S + 6 * (j * (size_t)c->nplaces + (size_t)i),
                    6 * sizeof *c->S);
        kept++;
    }
    // columns side by side again
    for (size_t j = 1; j < (size_t)c->n; j++)
        memmove(c->S + 6 * j * (size_t)kept, c->S + 6 * j * (size_t)c->nplaces, 6 * (size_t)kept * sizeof *c->S);
    c->nplaces = kept;
}
