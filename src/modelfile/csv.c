// csv.c: numbers of a file of comma-separated values. Files are untrusted: sizes are bounded, what is wrong is named with
// its line.
#include "modelfile/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/nearest.h"
#include "core/read_number.h"
#include "core/text.h"

enum { SHOWN = 40, LONGEST = 60 }; // characters of a value in messages; of a number

typedef struct reading {
    const char   *path;
    const char   *at, *end;
    int           line;
    char          separator; // ' ': any number of blanks
    bool          grid;
    kd_csv_table *table;
    int           capacity; // rows
    char         *message;
    size_t        size;
} reading;

static kd_status refuse_line(const reading *r, int line, const char *what)
{
    kd_text(r->message, r->size, "%.200s:%d: %s", r->path, line, what);
    return KD_ERR_MODEL;
}

// ---- lines and values -----------------------------------------------------------------------------------------------

typedef struct span {
    const char *at, *end;
} span;

static span trimmed(span s)
{
    while (s.at < s.end && isspace((unsigned char)*s.at)) s.at++;
    while (s.end > s.at && isspace((unsigned char)s.end[-1])) s.end--;
    return s;
}

// The next line that says something; false: there is none
static bool next_line(reading *r, span *line)
{
    while (r->at < r->end) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        *line = trimmed((span){r->at, stop ? stop : r->end});
        r->at = stop ? stop + 1 : r->end;
        r->line++;
        if (line->at < line->end && *line->at != '#') return true;
    }
    return false;
}

static char separator_of(span line)
{
    static const char known[] = {';', ',', '\t'};
    for (size_t i = 0; i < sizeof known; i++)
        if (memchr(line.at, known[i], (size_t)(line.end - line.at))) return known[i];
    return ' ';
}

// The next value of a line; rest begins behind its separator, *last: there is none. Quotes keep separators.
static span next_value(span *rest, char separator, bool *last)
{
    const char *c = rest->at;
    bool        quoted = false;
    for (; c < rest->end; c++) {
        if (*c == '"') quoted = !quoted;
        if (!quoted && (*c == separator || (separator == ' ' && *c == '\t'))) break;
    }
    const span value = trimmed((span){rest->at, c});
    *last = c >= rest->end;
    rest->at = *last ? c : c + 1;
    if (separator == ' ') *rest = trimmed(*rest);
    return value;
}

// A finite number with a point; false: it is none
static bool number_of(span value, double *number)
{
    char         text[LONGEST + 1];
    char        *end;
    const size_t length = (size_t)(value.end - value.at);
    if (length == 0 || length > LONGEST) return false;
    for (size_t i = 0; i < length; i++)
        if (!strchr("0123456789+-.eE", value.at[i])) return false; // no hexadecimal ones, no "nan"
    memcpy(text, value.at, length);
    text[length] = '\0';
    *number = kd_read_number(text, &end);
    return *end == '\0' && isfinite(*number);
}

static int count_values(span line, char separator)
{
    int  n = 0;
    bool last = false;
    while (!last) {
        (void)next_value(&line, separator, &last);
        n++;
    }
    return n;
}

// ---- header ---------------------------------------------------------------------------------------------------------

// A name without its quotes; doubled ones stay
static const char *name_of(kd_arena *arena, span value)
{
    if (value.end - value.at >= 2 && *value.at == '"' && value.end[-1] == '"')
        value = (span){value.at + 1, value.end - 1};
    const size_t length = (size_t)(value.end - value.at);
    char        *name = kd_arena_cut(arena, length + 1, 1);
    if (name) memcpy(name, value.at, length);
    return name;
}

static bool is_header(span line, char separator)
{
    double number;
    bool   last = false;
    while (!last)
        if (!number_of(next_value(&line, separator, &last), &number)) return true;
    return false;
}

static kd_status read_header(reading *r, span line)
{
    kd_csv_table *t = r->table;
    bool          last = false;
    t->name = kd_arena_cut(&t->arena, (size_t)t->columns, sizeof *t->name);
    for (int i = 0; i < t->columns && t->name; i++)
        t->name[i] = name_of(&t->arena, next_value(&line, r->separator, &last));
    return t->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Lines of the text from here on, at most
static int lines_left(const reading *r)
{
    int n = 1;
    for (const char *c = r->at; c < r->end; c++) n += *c == '\n';
    return n;
}

static kd_status make_room(reading *r)
{
    kd_csv_table *t = r->table;
    const double  rows = 1.0 + lines_left(r);
    if (rows * t->columns > KD_CSV_MAX_NUMBERS)
        return refuse_line(r, r->line, "the file has more than 16777216 numbers");
    r->capacity = (int)rows;
    t->number = kd_cut_double(&t->arena, r->capacity * t->columns);
    t->line = kd_cut_int(&t->arena, r->capacity);
    return t->arena.failed ? KD_ERR_MEMORY : KD_OK;
}

static kd_status refuse_value(const reading *r, int column, span value)
{
    char text[200];
    kd_text(text, sizeof text, "'%.*s' in column %d is not a finite number%s",
            (int)(value.end - value.at < SHOWN ? value.end - value.at : SHOWN), value.at, column,
            memchr(value.at, ',', (size_t)(value.end - value.at)) ? "; decimals have a point" : "");
    return refuse_line(r, r->line, text);
}

static kd_status read_row(reading *r, span line)
{
    kd_csv_table *t = r->table;
    double       *row = t->number + (size_t)t->rows * (size_t)t->columns;
    const int     n = count_values(line, r->separator);
    const bool    corner = r->grid && t->rows == 0; // the first value of a grid says nothing and may be missing
    char          text[100];
    bool          last = false;
    // as many values as the lines before
    if (n != t->columns) {
        kd_text(text, sizeof text, "%d value%s, but %d in the lines before", n, n == 1 ? "" : "s", t->columns);
        return refuse_line(r, r->line, text);
    }
    // numbers, or the value that is none by its column
    for (int i = 0; i < n; i++) {
        const span value = next_value(&line, r->separator, &last);
        if (!number_of(value, &row[i]) && !(corner && i == 0)) return refuse_value(r, i + 1, value);
        if (corner && i == 0) row[i] = 0.0;
    }
    t->line[t->rows++] = r->line;
    return KD_OK;
}

static kd_status read_all(reading *r)
{
    kd_csv_table *t = r->table;
    kd_status     status = KD_OK;
    span          line;
    if (!next_line(r, &line)) return refuse_line(r, 1, "the file has no numbers");
    // the first line says how many columns there are, and perhaps their names
    r->separator = separator_of(line);
    t->columns = count_values(line, r->separator);
    if (t->columns > KD_CSV_MAX_COLUMNS) return refuse_line(r, r->line, "more than 4096 columns");
    const bool header = !r->grid && is_header(line, r->separator);
    if (header) status = read_header(r, line);
    if (status == KD_OK) status = make_room(r);
    if (status == KD_OK && !header) status = read_row(r, line);
    while (status == KD_OK && next_line(r, &line)) status = read_row(r, line);
    if (status == KD_OK && t->rows == 0) status = refuse_line(r, r->line, "the file has no numbers");
    return status;
}

// The line of the first character that no text has; 0: there is none
static int line_of_control(const char *text, size_t length)
{
    int line = 1;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 127) return line;
        line += c == '\n';
    }
    return 0;
}

kd_status kd_csv_parse(const char *path, const char *text, size_t length, bool grid, kd_csv_table *table, char *message,
                       size_t size)
{
    kd_text_place zero;
    *table = (kd_csv_table){0};
    reading r = {path, text, text + length, 0, ',', grid, table, 0, message, size};
    if (length > KD_CSV_MAX_BYTES) return refuse_line(&r, 1, "the file is larger than 256 MB");
    if (kd_find_zero_byte(text, length, &zero)) return refuse_line(&r, zero.line, "a zero byte: this is not a text");
    const int control = line_of_control(text, length);
    if (control > 0) return refuse_line(&r, control, "a control character: this is not a text");
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) r.at += 3; // mark of UTF-8
    const kd_status status = read_all(&r);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%.200s: out of memory", path);
    if (status != KD_OK) kd_csv_release(table);
    return status;
}

void kd_csv_release(kd_csv_table *table)
{
    kd_arena_release(&table->arena);
    *table = (kd_csv_table){0};
}

// ---- columns --------------------------------------------------------------------------------------------------------

static int refuse_column(const char *path, const kd_csv_table *t, const char *word, char *message, size_t size)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; t->name && i < t->columns; i++) kd_nearest_offer(&nearest, t->name[i]);
    kd_text(message, size, "%.200s: no column '%.60s'", path, word);
    if (nearest.best) {
        kd_text_append(message, size, ", did you mean '%.60s'?", nearest.best);
        return -1;
    }
    kd_text_append(message, size, "; it has %d column%s", t->columns, t->columns == 1 ? "" : "s");
    for (int i = 0; t->name && i < t->columns && i < 8; i++)
        kd_text_append(message, size, "%s%.30s", i == 0 ? ": " : ", ", t->name[i]);
    if (!t->name) kd_text_append(message, size, " and no header");
    return -1;
}

int kd_csv_column(const char *path, const kd_csv_table *table, const char *word, char *message, size_t size)
{
    char *end;
    int   found = -1;
    for (int i = 0; table->name && i < table->columns; i++) {
        if (strcmp(table->name[i], word) != 0) continue;
        if (found >= 0) {
            kd_text(message, size, "%.200s: columns %d and %d are both called '%.60s'; choose one by its number", path,
                    found + 1, i + 1, word);
            return -1;
        }
        found = i;
    }
    if (found >= 0) return found;
    const long number = strtol(word, &end, 10);
    if (*end == '\0' && end != word && number >= 1 && number <= table->columns) return (int)number - 1;
    return refuse_column(path, table, word, message, size);
}
