// state_file.c: states as comma-separated values, written with all digits that matter and read back exactly.
#include "results/state_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/read_number.h"
#include "core/text.h"
#include "results/csv.h"

enum { NAME = 160 };

static const char SAVED[] = "kdsaved\n"; // what files of whole runs begin with (core/saved.c)

static const size_t LARGEST_FILE = SIZE_MAX / 8; // bytes; memory ends earlier

// The columns behind t: blocks of the state in their order, then the flags
typedef struct block {
    const char *prefix;
    kd_kind     kind;
    int         n;
} block;
enum { BLOCKS = 11 };

// The parts of a state in the order of columns; answers the number of columns
static int list_blocks(const kd_eom *eom, block list[BLOCKS])
{
    const kd_dims d = kd_eom_dims(eom);
    const block   all[BLOCKS] = {
          {"position ", KD_NAME_P, d.np},     {"velocity ", KD_NAME_V, d.nv},
          {"inner state ", KD_NAME_R, d.nr},  {"auxiliary ", KD_NAME_W, d.nw},
          {"contact ", KD_NAME_S, d.ns},      {"multiplier ", KD_NAME_LAMBDA, d.nlambda},
          {"multiplier ", KD_NAME_MU, d.nmu}, {"acceleration ", KD_NAME_V, d.nv},
          {"discrete ", KD_NAME_Z, d.nz},     {"active ", KD_NAME_LAMBDA, d.nlambda},
          {"active ", KD_NAME_MU, d.nmu},
    };
    int columns = 0;
    memcpy(list, all, sizeof all);
    for (int k = 0; k < BLOCKS; k++) columns += list[k].n;
    return columns;
}

static void column_name(const kd_eom *eom, const block list[BLOCKS], int i, char *name, size_t size)
{
    char own[NAME - 20];
    int  k = 0;
    // the block that column i lies in
    while (i >= list[k].n) i -= list[k++].n;
    kd_text(name, size, "%s%s", list[k].prefix, kd_eom_name(eom, list[k].kind, i, own, sizeof own));
}

// State -> row of numbers, and back; the block p .. z is contiguous
static void to_row(const kd_state *x, int columns, double *row)
{
    row[0] = x->t;
    memcpy(row + 1, x->p, x->size * sizeof *row);
    for (size_t i = x->size; i < (size_t)columns; i++) row[1 + i] = x->active_lambda[i - x->size];
}

static void from_row(const double *row, int columns, kd_state *x)
{
    x->t = row[0];
    memcpy(x->p, row + 1, x->size * sizeof *row);
    for (size_t i = x->size; i < (size_t)columns; i++) x->active_lambda[i - x->size] = row[1 + i] != 0;
}

kd_status kd_state_file_save(const char *path, const char *title, const kd_eom *eom, const kd_state *const *states,
                             int count, char *message, size_t size)
{
    block        list[BLOCKS];
    const int    columns = list_blocks(eom, list);
    kd_arena     arena = {0};
    kd_csv      *csv = NULL;
    const char **name = kd_arena_cut(&arena, (size_t)columns + 1, sizeof *name);
    char        *text = kd_arena_cut(&arena, (size_t)columns + 1, NAME);
    double      *row = kd_cut_double(&arena, columns + 1);
    kd_status    status = KD_ERR_MEMORY;
    // memory first, then the file
    if (arena.failed) {
        kd_text(message, size, "out of memory while writing '%s'", path);
        goto done;
    }
    status = kd_csv_create(path, columns + 1, &csv, message, size);
    if (status < 0) goto done;
    // names of columns: t, then all components of a state
    name[0] = "t";
    for (int i = 0; i < columns; i++) {
        name[1 + i] = text + (size_t)i * NAME;
        column_name(eom, list, i, text + (size_t)i * NAME, NAME);
    }
    kd_csv_comment(csv, "states of", title);
    kd_csv_header(csv, name);
    // one row per state
    for (int i = 0; i < count && status >= 0; i++) {
        to_row(states[i], columns, row);
        status = kd_csv_row(csv, row);
    }
    if (status == KD_ERR_NOT_FINITE) {
        kd_text(message, size, "a state with NaN or infinity is not written to '%s'", path);
        kd_csv_abandon(csv);
        goto done;
    }
    // a failure of closing counts, too, but not more than one before
    const kd_status closed = kd_csv_close(csv, message, size);
    if (status >= 0) status = closed;
done:
    kd_arena_release(&arena);
    return status;
}

// ---- reading --------------------------------------------------------------------------------------------------------

// The whole file as text; NULL: message says why
static char *read_text(const char *path, char *message, size_t size)
{
    kd_text_place place;
    size_t        length;
    char         *text, why[400] = "";
    const size_t  head = strlen(path) + 2; // of the sentence: "path: "
    // the sentence begins with the path, which is told already
    if (kd_load_file(path, LARGEST_FILE, &text, &length, why, sizeof why) < 0) {
        kd_text(message, size, "cannot read '%s': %s", path, strlen(why) > head ? why + head : why);
        return NULL;
    }
    if (!kd_find_zero_byte(text, length, &place)) return text;
    if (length >= sizeof SAVED - 1 && memcmp(text, SAVED, sizeof SAVED - 1) == 0)
        kd_text(message, size,
                "'%s' is a whole run: '--continue %s' goes on with it; '--write-state NAME.csv' writes a state to "
                "start from",
                path, path);
    else
        kd_text(message, size, "'%s', line %d, column %d: a zero byte: this is no file of states", path, place.line,
                place.column);
    kd_free(text);
    return NULL;
}

// One field of a header line, quotes undone, cut to size; moves *at behind its comma
static void take_field(const char **at, char *field, size_t size)
{
    // quotes are undone as csv.c made them
    const char *c = *at;
    const bool  quoted = *c == '"';
    size_t      n = 0;
    if (quoted) c++;
    for (; *c && *c != '\n' && *c != '\r' && (quoted || *c != ','); c++) {
        // "" is a quote, a single one the end
        if (quoted && *c == '"') {
            if (c[1] != '"') break;
            c++;
        }
        if (n + 1 < size) field[n++] = *c;
    }
    field[n] = '\0';
    if (quoted && *c == '"') c++;
    *at = c + (*c == ',');
}

static const char *next_line(const char *text)
{
    text += strcspn(text, "\n");
    return *text ? text + 1 : text;
}

static bool is_end(const char *line)
{
    return !*line || *line == '\n' || *line == '\r';
}

// An angle that is counted over turns because its run recorded it: it follows from the rest, and others need it not
static bool is_angle(const char *name)
{
    return strncmp(name, "position angle ", 15) == 0;
}

// Are the names of the header those of these equations? *fields: how many there are; to[i]: where number i belongs, -1:
// nowhere. to has room for as many as there are commas, and one more. Counted angles may be missing[i].
static bool same_columns(const char *line, const kd_eom *eom, const block list[BLOCKS], int columns, int *to,
                         int *fields, bool *missing, char *message, size_t size)
{
    *fields = 0;
    for (int i = -1; i < columns; i++) {
        char        found[NAME] = "", wanted[NAME] = "t";
        const char *before = line;
        const int   known = *fields;
        // column by column, t first: the first one that differs is named
        if (i >= 0) column_name(eom, list, i, wanted, sizeof wanted);
        const bool more = !is_end(line);
        take_field(&line, found, sizeof found);
        while (strcmp(found, wanted) != 0 && is_angle(found) && !is_end(line)) {
            to[(*fields)++] = -1;
            take_field(&line, found, sizeof found);
        }
        to[(*fields)++] = i + 1;
        if (more && strcmp(found, wanted) == 0) continue;
        // an angle that the other run did not count follows from the rest
        if (is_angle(wanted)) {
            line = before;
            *fields = known;
            missing[i] = true;
            continue;
        }
        kd_text(message, size,
                more ? "column %d is '%s', not '%s': these are states of another model"
                     : "column %d is missing: these are states of another model",
                *fields, found, wanted);
        return false;
    }
    if (is_end(line)) return true;
    kd_text(message, size, "there are more than %d columns: these are states of another model", columns + 1);
    return false;
}

// A line of numbers, each to its place; false: something else
static bool take_row(const char *line, int fields, const int *to, double *row)
{
    // numbers, commas, the end of the line: nothing else
    for (int i = 0; i < fields; i++) {
        char        *end;
        const double number = kd_read_number(line, &end);
        if (end == line || !isfinite(number) || (i + 1 < fields && *end != ',')) return false;
        if (to[i] >= 0) row[to[i]] = number;
        line = end + (i + 1 < fields);
    }
    return is_end(line);
}

// Fields that a line may have at most
static int most_fields(const char *line)
{
    int n = 1;
    for (; !is_end(line); line++) n += *line == ',';
    return n;
}

// Counted angles that are missing, from the other coordinates, on the turns closest to those of x: 0 = p_i - angle_i(p)
static kd_status count_angles(const kd_eom *eom, const kd_inputs *inputs, const bool *missing, kd_state *x)
{
    const kd_dims d = kd_eom_dims(eom);
    kd_eom_data  *data = NULL;
    double       *q = kd_alloc((size_t)(d.nq + 1) * sizeof *q);
    kd_status     status = q ? kd_eom_data_create(eom, &data) : KD_ERR_MEMORY;
    if (status >= 0) kd_eom_at_parameters(data, x->theta);
    if (status >= 0 &&
        (kd_eom_at_state(data, inputs, x, KD_STAGE_POSITION) != KD_EVAL_OK || kd_eom_eval(data, KD_Q, q) != KD_EVAL_OK))
        status = KD_ERR_FILE;
    for (int i = 0; status >= 0 && i < d.np; i++) {
        char own[NAME], row[NAME], wanted[NAME];
        if (!missing[i]) continue;
        kd_text(wanted, sizeof wanted, "turns of %s", kd_eom_name(eom, KD_NAME_P, i, own, sizeof own));
        for (int k = 0; k < d.nq; k++)
            if (strcmp(kd_eom_name(eom, KD_NAME_Q, k, row, sizeof row), wanted) == 0) x->p[i] -= q[k];
    }
    kd_eom_data_destroy(data);
    kd_free(q);
    return status;
}

kd_status kd_state_file_load(const char *path, double t, const kd_eom *eom, const kd_inputs *inputs, kd_state *x,
                             char *message, size_t size)
{
    block       list[BLOCKS];
    const int   columns = list_blocks(eom, list);
    kd_arena    arena = {0};
    kd_status   status = KD_ERR_FILE;
    double     *row = kd_cut_double(&arena, columns + 1), *best = kd_cut_double(&arena, columns + 1);
    char        why[400] = "";
    int         found = 0, fields = 0;
    char       *text = row && best ? read_text(path, message, size) : NULL;
    const char *line = text;
    if (!line) goto done;
    // comments, then the header: the names must be those of these equations
    while (*line == '#') line = next_line(line);
    int  *to = kd_cut_int(&arena, most_fields(line) + columns + 1);
    bool *missing = kd_arena_cut(&arena, (size_t)columns + 1, sizeof *missing), any = false;
    if (!to || !missing) goto done;
    if (!same_columns(line, eom, list, columns, to, &fields, missing, why, sizeof why)) {
        kd_text(message, size, "'%s': %s", path, why);
        goto done;
    }
    // the last state that is not later than t; what it does not say stays
    to_row(x, columns, row);
    for (line = next_line(line); *line; line = next_line(line)) {
        if (!take_row(line, fields, to, row)) {
            kd_text(message, size, "'%s': state %d is not a row of %d numbers", path, found + 1, fields);
            goto done;
        }
        if (isnan(t) || row[0] <= t) memcpy(best, row, (size_t)(columns + 1) * sizeof *row), found++;
    }
    if (found == 0) {
        kd_text(message, size, isnan(t) ? "'%s' holds no state" : "'%s' holds no state up to t = %.9g s", path, t);
        goto done;
    }
    from_row(best, columns, x);
    for (int i = 0; i < columns; i++) any = any || missing[i];
    status = any ? count_angles(eom, inputs, missing, x) : KD_OK;
    if (status == KD_ERR_FILE) kd_text(message, size, "'%s': angles cannot be computed at this state", path);
done:
    if (arena.failed) status = KD_ERR_MEMORY;
    kd_free(text);
    kd_arena_release(&arena);
    return status;
}
