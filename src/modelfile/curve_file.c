// curve_file.c: curves whose numbers stand in a file beside the model: columns of measured values, grids of tables.
#include <math.h>
#include <string.h>

#include "core/load.h"
#include "core/text.h"
#include "expr/quantity.h"
#include "modelfile/csv.h"
#include "modelfile/paths.h"
#include "modelfile/reader.h"

// The factor of a unit as `x_unit: mm`; NULL: 1
static bool factor_of(kd_reader *r, const kd_node *map, const char *key, const char *unit, double *factor)
{
    char           text[300];
    const kd_unit  none = {0, 1.0, {0, 0, 0, 0}};
    kd_unit        found = none;
    int            column;
    const kd_node *node = kd_node_find(map, key);
    *factor = 1.0;
    if (!unit) return true;
    if (!kd_unit_parse(unit, NULL, &found, &column, text, sizeof text)) {
        kd_reader_complain(r, node ? node : map, "'%s': %s", key, text);
        return false;
    }
    *factor = found.factor * pow(10.0, found.decimal);
    return true;
}

// The numbers of a file, in memory
static bool load(kd_reader *r, const kd_node *node, const char *written, bool grid, kd_csv_table *table,
                 const char *shown)
{
    char      path[KD_PATH_LENGTH], why[500];
    char     *text = NULL;
    size_t    length = 0;
    kd_status status = kd_reader_data_path(r, written, path, why, sizeof why);
    if (status == KD_OK) status = kd_load_file(path, KD_CSV_MAX_BYTES, &text, &length, why, sizeof why);
    if (status == KD_OK) status = kd_csv_parse(shown, text, length, grid, table, why, sizeof why);
    kd_free(text);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    if (status < 0) kd_reader_complain(r, node, "%s", why);
    return status == KD_OK;
}

// Rising, with the line of what is not
static bool check_order(kd_reader *r, const kd_node *node, const char *file, const kd_csv_table *t, int column,
                        int first)
{
    for (int i = first + 1; i < t->rows; i++) {
        const double before = t->number[(i - 1) * t->columns + column], now = t->number[i * t->columns + column];
        if (now > before) continue;
        kd_reader_complain(r, node, "%.200s:%d: x must increase, but %.15g follows %.15g", file, t->line[i], now,
                           before);
        return false;
    }
    return true;
}

static double *take(kd_reader *r, const double *from, int n, int step, double factor)
{
    double *to = kd_cut_double(&r->scratch, n);
    for (int i = 0; to && i < n; i++) to[i] = factor * from[(size_t)i * (size_t)step];
    if (!to) kd_reader_short_of_memory(r);
    return to;
}

// Two columns
static bool take_columns(kd_reader *r, const kd_node *map, const kd_curve_file *f, const kd_csv_table *t,
                         const double *factor, kd_curve_def *def)
{
    static const char *const key[2] = {"x", "y"};
    const char *const        word[2] = {f->x ? f->x : "1", f->y ? f->y : "2"};
    int                      column[2];
    char                     why[600];
    // columns by name or number
    for (int k = 0; k < 2; k++) {
        const kd_node *node = kd_node_find(map, key[k]);
        column[k] = kd_csv_column(f->file, t, word[k], why, sizeof why);
        if (column[k] >= 0) continue;
        kd_reader_complain(r, node ? node : map, "'%s': %s", key[k], why);
        return false;
    }
    // x must rise; the rest is left to the curve
    if (!check_order(r, kd_node_find(map, "file"), f->file, t, column[0], 0)) return false;
    // both columns, in units of the model
    def->n = def->ny = t->rows;
    def->x = take(r, t->number + column[0], t->rows, t->columns, factor[0]);
    def->y = take(r, t->number + column[1], t->rows, t->columns, factor[1]);
    return def->x && def->y;
}

// First column x, first row y, the rest z
static bool take_grid(kd_reader *r, const kd_node *map, const kd_curve_file *f, const kd_csv_table *t,
                      const double *factor, kd_curve_def *def)
{
    const kd_node *node = kd_node_find(map, "grid");
    const int      nx = t->rows - 1, ny = t->columns - 1;
    // a grid has no columns to choose, and a least size
    if (f->x || f->y) {
        kd_reader_complain(r, kd_node_find(map, f->x ? "x" : "y"),
                           "a 'grid' has no columns to choose: its first column is x, its first row y");
        return false;
    }
    if (nx < 2 || ny < 2) {
        kd_reader_complain(r, node,
                           "%.200s: a grid needs at least 3 lines of 3 values: its first column is x, its first "
                           "row y",
                           f->grid);
        return false;
    }
    if (!check_order(r, node, f->grid, t, 0, 1)) return false;
    // x from the first column, y from the first row, z row by row
    def->n = nx, def->ny = ny;
    def->x = take(r, t->number + t->columns, nx, t->columns, factor[0]);
    def->y = take(r, t->number + 1, ny, 1, factor[1]);
    double *z = kd_cut_matrix(&r->scratch, nx, ny);
    if (!z) return kd_reader_short_of_memory(r);
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            z[(size_t)i * (size_t)ny + (size_t)j] =
                factor[2] * t->number[(size_t)(i + 1) * (size_t)t->columns + (size_t)j + 1];
    def->z = z;
    return def->x && def->y;
}

bool kd_reader_is_curve_file(const kd_node *map)
{
    return kd_node_find(map, "file") || kd_node_find(map, "grid");
}

bool kd_reader_curve_file(kd_reader *r, const kd_node *map, kd_curve_def *def)
{
    static const char *const unit[3] = {"x_unit", "y_unit", "z_unit"};
    kd_curve_file            f;
    kd_csv_table             table;
    double                   factor[3];
    // fields of the map
    kd_schema_default(kd_schema_of(KD_SCHEMA_CURVE_FILE), 0, &f);
    if (!kd_reader_fields(r, kd_schema_of(KD_SCHEMA_CURVE_FILE), 0, map, &f)) return false;
    const char *written = f.file ? f.file : f.grid;
    if (!written || (f.file && f.grid)) {
        kd_reader_complain(r, map, "a curve from a file needs 'file' or 'grid', one of them");
        return false;
    }
    // units
    for (int k = 0; k < 3; k++)
        if (!factor_of(r, map, unit[k], f.unit[k], &factor[k])) return false;
    if (f.file && f.unit[2]) {
        kd_reader_complain(r, kd_node_find(map, "z_unit"),
                           "'z_unit' is for a 'grid'; two columns have 'x_unit' and 'y_unit'");
        return false;
    }
    // the file, as columns or as a grid
    if (!load(r, kd_node_find(map, f.file ? "file" : "grid"), written, f.grid != NULL, &table, written)) return false;
    def->form = f.form;
    def->outside = f.outside;
    const bool fine =
        f.grid ? take_grid(r, map, &f, &table, factor, def) : take_columns(r, map, &f, &table, factor, def);
    kd_csv_release(&table);
    return fine;
}
