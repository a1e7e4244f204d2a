// matrix_file.c: matrices of finite-element programs as text, and what their rows are.
//
//   CalculiX  .sti .mas   row column value, one triangle           .dof  node.direction of each row
//   Abaqus    .mtx        row column value, both triangles
//   ANSYS     Matrix Market (coordinate real symmetric | general), mapping vector (array integer)
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef KD_WITH_ZLIB
#include <zlib.h>
#endif

#include "core/load.h"
#include "core/read_number.h"
#include "core/text.h"
#include "flexible/fe_files.h"

enum { MOST_BYTES = 2000000000, LONGEST_LINE = 400 };

// ---- files ----------------------------------------------------------------------------------------------------------

#ifdef KD_WITH_ZLIB
// What gzip packed. Grows with what comes out: the length in the file is not to be trusted.
static kd_status unpack(const char *path, const char *packed, size_t npacked, char **bytes, size_t *length,
                        char *message, size_t size)
{
    z_stream  z = {.next_in = (Bytef *)(size_t)packed};
    size_t    room = 8 * npacked + 1000, left = npacked;
    char     *out = kd_alloc(room);
    kd_status status = KD_ERR_MEMORY;
    int       code = Z_OK;
    *length = 0;
    if (!out || inflateInit2(&z, 15 + 32) != Z_OK) goto done;
    status = KD_OK;
    while (status == KD_OK && code != Z_STREAM_END) {
        if (*length + 1 >= room) {
            char *more = room < MOST_BYTES / 2 ? kd_alloc(2 * room) : NULL;
            if (more) memcpy(more, out, *length);
            kd_free(out);
            out = more;
            room *= 2;
            if (!out) {
                kd_text(message, size, "%s: more than %d MB when unpacked", path, MOST_BYTES / 1000000);
                status = KD_ERR_FILE;
                break;
            }
        }
        // in pieces that the counters of zlib can hold
        const uInt in = left < UINT_MAX / 2 ? (uInt)left : UINT_MAX / 2;
        const uInt space = room - 1 - *length < UINT_MAX / 2 ? (uInt)(room - 1 - *length) : UINT_MAX / 2;
        z.avail_in = in;
        z.next_out = (Bytef *)out + *length;
        z.avail_out = space;
        code = inflate(&z, Z_NO_FLUSH);
        left -= in - z.avail_in;
        *length += space - z.avail_out;
        if (code != Z_OK && code != Z_STREAM_END && !(code == Z_BUF_ERROR && z.avail_out == 0)) {
            kd_text(message, size, "%s: the packed file is damaged or cut off", path);
            status = KD_ERR_FILE;
        }
    }
    inflateEnd(&z);
done:
    if (status == KD_OK) {
        out[*length] = '\0';
        *bytes = out;
    } else {
        kd_free(out);
    }
    return status;
}
#endif

kd_status kd_fe_load(const char *path, char **bytes, size_t *length, char *message, size_t size)
{
    *bytes = NULL;
    kd_status status = kd_load_file(path, MOST_BYTES, bytes, length, message, size);
    if (status == KD_OK && *length > MOST_BYTES) {
        kd_text(message, size, "%s: the file is larger than %d MB", path, MOST_BYTES / 1000000);
        status = KD_ERR_FILE;
    }
    if (status == KD_OK && *length > 2 && memcmp(*bytes, "\x1f\x8b", 2) == 0) {
        char *packed = *bytes;
        *bytes = NULL;
#ifdef KD_WITH_ZLIB
        status = unpack(path, packed, *length, bytes, length, message, size);
#else
        kd_text(message, size, "%s: kardan was built without zlib; please unpack it (gunzip)", path);
        status = KD_ERR_UNAVAILABLE;
#endif
        kd_free(packed);
    }
    if (status < 0) {
        kd_free(*bytes);
        *bytes = NULL;
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    return status;
}

void *kd_fe_grow(void *old, size_t n, size_t room, size_t size)
{
    void *more = kd_alloc(room * size);
    if (more && n > 0) memcpy(more, old, n * size);
    kd_free(old);
    return more;
}

// ---- numbers of a line ----------------------------------------------------------------------------------------------

// A whole number between 1 and most at *at, which moves behind it; false: there is none
static bool read_count(const char **at, long most, int *value)
{
    char *end;
    errno = 0;
    const long n = strtol(*at, &end, 10);
    if (end == *at || errno || n < 1 || n > most) return false;
    *at = end;
    *value = (int)n;
    return true;
}

static bool only_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') at++;
    return *at == '\0';
}

// ---- a matrix -------------------------------------------------------------------------------------------------------

typedef struct entries {
    int     n, room;
    int    *row, *column;
    double *value;
    bool    upper, lower; // entries there
    int     order;        // largest row or column
} entries;

static bool make_room(entries *e)
{
    if (e->n < e->room) return true;
    const int room = e->room > 0 ? (e->room < KD_FE_MOST_ENTRIES / 2 ? 2 * e->room : KD_FE_MOST_ENTRIES) : 4096;
    e->row = kd_fe_grow(e->row, (size_t)e->n, (size_t)room, sizeof *e->row);
    e->column = kd_fe_grow(e->column, (size_t)e->n, (size_t)room, sizeof *e->column);
    e->value = kd_fe_grow(e->value, (size_t)e->n, (size_t)room, sizeof *e->value);
    e->room = room;
    return e->row && e->column && e->value;
}

static void release_entries(entries *e)
{
    kd_free(e->row);
    kd_free(e->column);
    kd_free(e->value);
}

static kd_status add_entry(kd_lines *text, entries *e, const char *line)
{
    const char *at = line;
    char       *end;
    int         row, column;
    if (!read_count(&at, KD_FE_MOST_ROWS, &row) || !read_count(&at, KD_FE_MOST_ROWS, &column))
        return kd_lines_refuse(text, "row, column and value are expected, not", line);
    const double value = kd_read_number(at, &end);
    if (end == at || !only_blanks(end) || !isfinite(value))
        return kd_lines_refuse(text, "row, column and a finite value are expected, not", line);
    if (e->n >= KD_FE_MOST_ENTRIES) return kd_lines_refuse(text, "too many entries", "");
    if (!make_room(e)) return KD_ERR_MEMORY;
    e->upper = e->upper || column > row;
    e->lower = e->lower || column < row;
    if (row > e->order) e->order = row;
    if (column > e->order) e->order = column;
    e->row[e->n] = row - 1;
    e->column[e->n] = column - 1;
    e->value[e->n++] = value;
    return KD_OK;
}

// The other triangle
static kd_status mirror(entries *e)
{
    const int n = e->n;
    for (int k = 0; k < n; k++) {
        if (e->row[k] == e->column[k]) continue;
        if (e->n >= KD_FE_MOST_ENTRIES || !make_room(e)) return KD_ERR_MEMORY;
        e->row[e->n] = e->column[k];
        e->column[e->n] = e->row[k];
        e->value[e->n++] = e->value[k];
    }
    return KD_OK;
}

typedef struct market_head {
    bool there, symmetric, array;
    long rows, columns, count;
} market_head;

// "%%MatrixMarket matrix coordinate real symmetric", comments, sizes. line has the first line of the file.
static kd_status read_market_head(kd_lines *text, char *line, size_t size, market_head *head)
{
    if (strncmp(line, "%%MatrixMarket", 14) != 0) return KD_OK;
    head->there = true;
    for (char *c = line; *c; c++) *c = (char)tolower((unsigned char)*c);
    head->symmetric = strstr(line, "symmetric");
    head->array = strstr(line, "array");
    if (strstr(line, "complex") || strstr(line, "pattern") || strstr(line, "skew"))
        return kd_lines_refuse(text, "only real or integer matrices that are symmetric or general are read", "");
    do {
        if (!kd_lines_next(text, line, size)) return kd_lines_refuse(text, "the sizes of the matrix are missing", "");
    } while (line[0] == '%');
    char *at = line, *end;
    head->rows = strtol(at, &end, 10);
    head->columns = strtol(at = end, &end, 10);
    if (!head->array) head->count = strtol(end, &end, 10);
    if (end == at || !only_blanks(end) || head->rows < 1 || head->rows > KD_FE_MOST_ROWS || head->columns < 1 ||
        head->count < 0 || head->count > KD_FE_MOST_ENTRIES)
        return kd_lines_refuse(text, "the sizes of the matrix are expected, not", line);
    line[0] = '\0';
    return KD_OK;
}

static kd_status read_entries(kd_lines *text, entries *e, market_head *head)
{
    char line[LONGEST_LINE] = "";
    bool any = kd_lines_next(text, line, sizeof line);
    if (!any) return kd_lines_refuse(text, "the file is empty", "");
    kd_status status = read_market_head(text, line, sizeof line, head);
    if (status == KD_OK && head->array)
        return kd_lines_refuse(text, "a matrix by coordinates is expected, this one is an array", "");
    if (status == KD_OK && head->there && head->rows != head->columns)
        return kd_lines_refuse(text, "a square matrix is expected", "");
    if (status == KD_OK && !head->there) status = add_entry(text, e, line);
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) status = add_entry(text, e, line);
    return status;
}

// Entries of A are sums where places are there twice, which no program writes: a file that was appended to, or both triangles
// under a head that promises one. Which of the entries comes again.
static kd_status refuse_twice(kd_lines *text, const entries *e, const kd_sparse_matrix *A)
{
    bool *seen = kd_alloc((size_t)kd_sparse_count(A) * sizeof *seen);
    if (!seen) return KD_ERR_MEMORY;
    for (int k = 0; k < e->n; k++) {
        int at = A->column[e->column[k]];
        while (A->row[at] != e->row[k]) at++;
        if (seen[at]) {
            kd_text(text->message, text->size, "%s: the entry of row %d and column %d is there twice", text->path,
                    e->row[k] + 1, e->column[k] + 1);
            break;
        }
        seen[at] = true;
    }
    kd_free(seen);
    return KD_ERR_FILE;
}

kd_status kd_fe_parse_matrix(kd_lines *text, kd_arena *arena, kd_sparse_matrix *A)
{
    entries     e = {0};
    market_head head = {0};
    kd_status   status = read_entries(text, &e, &head);
    if (status == KD_OK && head.there) {
        if (e.n != head.count) {
            kd_text(text->message, text->size, "%s: the head says %ld entries, there are %d: is the file cut off?",
                    text->path, head.count, e.n);
            status = KD_ERR_FILE;
        } else if (e.order > head.rows) {
            kd_text(text->message, text->size, "%s: an entry in row or column %d of a matrix of order %ld", text->path,
                    e.order, head.rows);
            status = KD_ERR_FILE;
        }
        e.order = (int)head.rows;
    }
    // programs write one triangle or both
    if (status == KD_OK && (head.symmetric || e.upper != e.lower)) status = mirror(&e);
    if (status == KD_OK) status = kd_sparse_of_entries(e.order, e.order, e.n, e.row, e.column, e.value, arena, A);
    if (status == KD_OK && kd_sparse_count(A) < e.n) status = refuse_twice(text, &e, A);
    release_entries(&e);
    return status;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// A list of one or two whole numbers a line, which grows
typedef struct numbers {
    int  n, room;
    int *a, *b;
} numbers;

static kd_status add_numbers(kd_lines *text, numbers *list, int a, int b)
{
    if (list->n >= KD_FE_MOST_ROWS) return kd_lines_refuse(text, "too many rows", "");
    if (list->n == list->room) {
        const int room = list->room > 0 ? 2 * list->room : 1024;
        list->a = kd_fe_grow(list->a, (size_t)list->n, (size_t)room, sizeof *list->a);
        list->b = kd_fe_grow(list->b, (size_t)list->n, (size_t)room, sizeof *list->b);
        list->room = room;
        if (!list->a || !list->b) return KD_ERR_MEMORY;
    }
    list->a[list->n] = a;
    list->b[list->n++] = b;
    return KD_OK;
}

static kd_status keep_numbers(numbers *list, kd_arena *arena, int **a, int **b, int *n, kd_status status)
{
    if (status == KD_OK) {
        *n = list->n;
        *a = kd_cut_int(arena, list->n);
        if (b) *b = kd_cut_int(arena, list->n);
        if (arena->failed) status = KD_ERR_MEMORY;
    }
    if (status == KD_OK && list->n > 0) memcpy(*a, list->a, (size_t)list->n * sizeof **a);
    if (status == KD_OK && b && list->n > 0) memcpy(*b, list->b, (size_t)list->n * sizeof **b);
    kd_free(list->a);
    kd_free(list->b);
    return status;
}

// n = rows columns, which may be too large a number to be formed
static bool is_product(long n, long rows, long columns)
{
    if (rows <= 0 || columns <= 0) return n == 0;
    return n % rows == 0 && n / rows == columns;
}

kd_status kd_fe_parse_mapping(kd_lines *text, kd_arena *arena, int **value, int *n)
{
    char        line[LONGEST_LINE] = "";
    numbers     list = {0};
    market_head head = {0};
    kd_status   status = kd_lines_next(text, line, sizeof line) ? read_market_head(text, line, sizeof line, &head)
                                                                : kd_lines_refuse(text, "the file is empty", "");
    bool        waiting = !head.there; // the first line is a number already
    while (status == KD_OK && (waiting || kd_lines_next(text, line, sizeof line))) {
        const char *at = line;
        int         node;
        waiting = false;
        status = read_count(&at, INT_MAX, &node) && only_blanks(at)
                     ? add_numbers(text, &list, node, 0)
                     : kd_lines_refuse(text, "the number of a node is expected, not", line);
    }
    if (status == KD_OK && head.there && !is_product(list.n, head.rows, head.columns))
        status = kd_lines_refuse(text, "there are fewer or more nodes than the head of the file says", "");
    return keep_numbers(&list, arena, value, NULL, n, status);
}

kd_status kd_fe_parse_dofs(kd_lines *text, kd_arena *arena, int **id, int **direction, int *n)
{
    char      line[LONGEST_LINE];
    numbers   list = {0};
    kd_status status = KD_OK;
    while (status == KD_OK && kd_lines_next(text, line, sizeof line)) {
        const char *at = line;
        int         node, towards;
        bool        good = read_count(&at, INT_MAX, &node) && *at == '.';
        at += good;
        good = good && *at >= '1' && *at <= '6' && read_count(&at, 6, &towards) && only_blanks(at);
        status = good ? add_numbers(text, &list, node, towards - 1)
                      : kd_lines_refuse(text, "node.direction is expected, as 12.3, not", line);
    }
    if (status == KD_OK && list.n == 0) status = kd_lines_refuse(text, "the file is empty", "");
    return keep_numbers(&list, arena, id, direction, n, status);
}
