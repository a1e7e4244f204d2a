// csv.c: comma-separated values as in RFC 4180, numbers with as many digits as bring them back exactly.
#include "results/csv.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "core/text.h"
#include "results/file.h"

struct kd_csv {
    FILE *file;
    char *path;
    int   ncolumns;
};

void kd_csv_put_text(FILE *file, const char *text)
{
    // a cell without separators stands as it is
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if (*c == '"') fputc('"', file); // a quote is doubled
        fputc(*c, file);
    }
    fputc('"', file);
}

static void write_names(FILE *file, const char *const *names, int count)
{
    for (int j = 0; j < count; j++) {
        if (j > 0) fputc(',', file);
        kd_csv_put_text(file, names[j] ? names[j] : "");
    }
    fputc('\n', file);
}

kd_status kd_csv_create(const char *path, int ncolumns, kd_csv **csv, char *message, size_t size)
{
    *csv = NULL;
    kd_status status = KD_ERR_MEMORY;
    kd_csv   *c = kd_alloc(sizeof *c);
    if (!c) goto done;
    c->ncolumns = ncolumns;
    // the path is kept: closing gives the temporary file its name
    c->path = kd_alloc(strlen(path) + 1);
    if (!c->path) goto done;
    strcpy(c->path, path);
    status = kd_file_open(path, &c->file, message, size);
    if (status < 0) goto done;
    *csv = c;
    c = NULL;
done:
    if (status == KD_ERR_MEMORY) kd_text(message, size, "out of memory while creating '%s'", path);
    if (c) kd_free(c->path);
    kd_free(c);
    return status;
}

// A comment is one line, whatever its value was
void kd_csv_comment(kd_csv *csv, const char *name, const char *value)
{
    fprintf(csv->file, "# %s: ", name);
    for (const char *c = value; *c; c++) fputc(*c == '\n' || *c == '\r' ? ' ' : *c, csv->file);
    fputc('\n', csv->file);
}

void kd_csv_comment_row(kd_csv *csv, const char *name, const char *const *words)
{
    fprintf(csv->file, "# %s: ", name);
    write_names(csv->file, words, csv->ncolumns);
}

void kd_csv_header(kd_csv *csv, const char *const *names)
{
    write_names(csv->file, names, csv->ncolumns);
}

kd_status kd_csv_row(kd_csv *csv, const double *values)
{
    // a row is whole or not there: first all values are looked at
    for (int j = 0; j < csv->ncolumns; j++)
        if (!isfinite(values[j])) return KD_ERR_NOT_FINITE;
    // a decimal point in every locale, the fewest digits that read back as the same bits
    char number[KD_SHORTEST_SIZE];
    for (int j = 0; j < csv->ncolumns; j++) {
        if (j > 0) fputc(',', csv->file);
        fputs(kd_shortest_text(values[j], number), csv->file);
    }
    fputc('\n', csv->file);
    return ferror(csv->file) ? KD_ERR_FILE : KD_OK;
}

kd_status kd_csv_close(kd_csv *csv, char *message, size_t size)
{
    if (!csv) return KD_OK;
    kd_status status = kd_file_close(csv->file, csv->path, message, size);
    kd_free(csv->path);
    kd_free(csv);
    return status;
}

void kd_csv_abandon(kd_csv *csv)
{
    if (!csv) return;
    kd_file_abandon(csv->file, csv->path);
    kd_free(csv->path);
    kd_free(csv);
}

// The writer's rules on a file of somebody else, who keeps and closes it
kd_status kd_csv_wrap(FILE *file, int ncolumns, kd_csv **csv)
{
    *csv = kd_alloc(sizeof **csv);
    if (!*csv) return KD_ERR_MEMORY;
    **csv = (kd_csv){.file = file, .ncolumns = ncolumns};
    return KD_OK;
}

void kd_csv_unwrap(kd_csv *csv)
{
    kd_free(csv);
}

FILE *kd_csv_file(kd_csv *csv)
{
    return csv ? csv->file : NULL;
}
