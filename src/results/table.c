// table.c: comma-separated values with comment lines, as csv.c writes them. The file is read once into memory, names
// are cut in place, numbers are parsed row by row.
#include "results/table.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/read_number.h"
#include "core/text.h"

enum { MOST_COLUMNS = 100000 };

static const size_t LARGEST_TABLE = SIZE_MAX / 8; // bytes; memory ends earlier

typedef struct reader {
    const char *path;
    char       *next; // what is still to be read
    int         line;
    bool        ends_whole; // the last line has its line break
    bool        is_ours;    // kardan wrote it: every whole row has its line break
    kd_table   *table;
    char       *message;
    size_t      size;
} reader;

static kd_status refuse_line(const reader *r, const char *what)
{
    kd_text(r->message, r->size, "%s:%d: %s", r->path, r->line, what);
    return KD_ERR_FILE;
}

static kd_status no_memory(const reader *r)
{
    kd_text(r->message, r->size, "out of memory while reading '%s'", r->path);
    return KD_ERR_MEMORY;
}

// ---- the text -------------------------------------------------------------------------------------------------------

static kd_status read_text(reader *r)
{
    // the whole file, which holds no zero bytes
    kd_text_place place;
    size_t        length;
    char          why[400] = "";
    const size_t  head = strlen(r->path) + 2; // of the sentence: "path: "
    kd_status     status = kd_load_file(r->path, LARGEST_TABLE, &r->table->text, &length, why, sizeof why);
    if (status == KD_ERR_MEMORY) return no_memory(r);
    // the sentence begins with the path, which is told already
    if (status < 0) {
        kd_text(r->message, r->size, "'%s' cannot be read: %s", r->path, strlen(why) > head ? why + head : why);
        return status;
    }
    r->next = r->table->text;
    if (kd_find_zero_byte(r->next, length, &place)) {
        kd_text(r->message, r->size,
                "%s:%d:%d: a zero byte: this is no table of text (.csv), as simulate writes without --format", r->path,
                place.line, place.column);
        return KD_ERR_FILE;
    }
    r->ends_whole = length == 0 || r->next[length - 1] == '\n';
    return KD_OK;
}

// The next line, cut from the text; NULL: the end
static char *next_line(reader *r)
{
    // line breaks of both kinds
    char *line = r->next, *end;
    if (*line == '\0') return NULL;
    end = strchr(line, '\n');
    r->next = end ? end + 1 : line + strlen(line);
    if (end) *end = '\0';
    if (end && end > line && end[-1] == '\r') end[-1] = '\0';
    r->line++;
    return line;
}

// ---- names ----------------------------------------------------------------------------------------------------------

// The field at *rest, unquoted in place; *rest moves behind its comma, NULL behind the last one
static char *next_field(char **rest)
{
    // unquoted text is never longer than quoted: it is written over itself
    char *from = *rest, *field = from, *to = from;
    bool  quoted = *from == '"';
    if (quoted) from++;
    for (; *from && (quoted || *from != ','); from++) {
        // "" is a quote, a single one ends the quoted part
        if (quoted && *from == '"') {
            if (from[1] != '"') {
                quoted = false;
                continue;
            }
            from++;
        }
        *to++ = *from;
    }
    *rest = *from ? from + 1 : NULL;
    *to = '\0';
    return field;
}

// Commas outside of quotes
static int count_fields(const char *line)
{
    // quotes come in pairs, so that a doubled one changes nothing
    bool quoted = false;
    int  count = 1;
    for (; *line && count < MOST_COLUMNS; line++) {
        if (*line == '"') quoted = !quoted;
        if (*line == ',' && !quoted) count++;
    }
    return count;
}

static void split(char *line, int count, const char **field)
{
    for (int i = 0; i < count; i++) field[i] = line ? next_field(&line) : "";
}

static kd_status read_header(reader *r, char *header, char *units)
{
    kd_table *t = r->table;
    // names and units are cut from the text, which the table keeps
    t->ncolumns = count_fields(header);
    t->name = kd_arena_cut(&t->arena, (size_t)t->ncolumns, sizeof *t->name);
    t->unit = kd_arena_cut(&t->arena, (size_t)t->ncolumns, sizeof *t->unit);
    if (!t->name || !t->unit) return no_memory(r);
    split(header, t->ncolumns, t->name);
    split(units, t->ncolumns, t->unit);
    for (int i = 0; i < t->ncolumns; i++)
        if (t->name[i][0] == '\0') return refuse_line(r, "a column of the header line has no name");
    return KD_OK;
}

// Comments, then the header line
static kd_status read_head(reader *r)
{
    static const char title[] = "# title: ", units[] = "# units: ", ours[] = "# kardan: ";
    char             *line, *units_line = NULL;
    // of the comments only title, units and who wrote it matter
    while ((line = next_line(r)) != NULL && (line[0] == '#' || line[0] == '\0')) {
        if (strncmp(line, ours, sizeof ours - 1) == 0) r->is_ours = true;
        if (strncmp(line, title, sizeof title - 1) == 0) r->table->title = line + sizeof title - 1;
        if (strncmp(line, units, sizeof units - 1) == 0) units_line = line + sizeof units - 1;
    }
    return line ? read_header(r, line, units_line) : refuse_line(r, "there is no header line with names");
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static int count_rows(const char *text)
{
    int rows = 0;
    // a last line without line break is a row, too
    for (const char *c = text; *c && rows < INT_MAX; rows++) {
        const char *end = strchr(c, '\n');
        if (!end) return rows + 1;
        c = end + 1;
    }
    return rows;
}

// As many numbers as there are names
static kd_status read_row(reader *r, char *line, double *row)
{
    for (int i = 0; i < r->table->ncolumns; i++) {
        char *end;
        // missing numbers, numbers that are none, too many numbers: with line and column
        if (!line) return refuse_line(r, "there are fewer numbers than names in the header line");
        char *field = next_field(&line);
        row[i] = kd_read_number(field, &end);
        if (end != field && *end == '\0') continue;
        kd_text(r->message, r->size, "%s:%d: column '%s': '%.40s' is no number", r->path, r->line, r->table->name[i],
                field);
        return KD_ERR_FILE;
    }
    return line ? refuse_line(r, "there are more numbers than names in the header line") : KD_OK;
}

// Rows that the rest of the text can hold: a number takes a character and a separator each. One more for the row that
// is found to be too short.
static int most_rows(const reader *r)
{
    const size_t most = strlen(r->next) / (2 * (size_t)r->table->ncolumns) + 2;
    const int    lines = count_rows(r->next);
    return most < (size_t)lines ? (int)most : lines;
}

// A run that was killed, or a disk that was full, cuts the last line anywhere, even inside of a number.
static bool is_cut(const reader *r, const char *line)
{
    if (*r->next != '\0' || r->ends_whole) return false;
    int fields = 1;
    for (; *line; line++) fields += *line == ',';
    return r->is_ours || fields < r->table->ncolumns;
}

// All whole rows; one that was cut off ends them
static kd_status read_rows(reader *r)
{
    kd_table *t = r->table;
    char     *line;
    const int rows = most_rows(r);
    if (rows == 0) return refuse_line(r, "there are no rows of numbers behind the header line");
    // room for as many rows as there can be, then row by row
    t->value = kd_cut_matrix(&t->arena, rows, t->ncolumns);
    if (!t->value) return no_memory(r);
    // the last line may be cut in the middle: it is told, not taken
    while ((line = next_line(r)) != NULL) {
        if (is_cut(r, line)) {
            t->is_cut = true;
            break;
        }
        kd_status status = read_row(r, line, t->value + (size_t)t->nrows * (size_t)t->ncolumns);
        if (status < 0) return status;
        t->nrows++;
    }
    return t->nrows > 0 ? KD_OK : refuse_line(r, "there is no whole row of numbers behind the header line");
}

kd_status kd_table_read(const char *path, kd_table *table, char *message, size_t size)
{
    reader r = {.path = path, .table = table, .message = message, .size = size};
    *table = (kd_table){.title = ""};
    kd_status status = read_text(&r);
    if (status == KD_OK) status = read_head(&r);
    if (status == KD_OK) status = read_rows(&r);
    if (status < 0) kd_table_release(table);
    return status;
}

void kd_table_release(kd_table *table)
{
    kd_arena_release(&table->arena);
    kd_free(table->text);
    *table = (kd_table){.title = ""};
}

int kd_table_column(const kd_table *table, const char *name)
{
    for (int i = 0; i < table->ncolumns; i++)
        if (strcmp(table->name[i], name) == 0) return i;
    return -1;
}
