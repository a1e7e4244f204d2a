// linear_file.c: linear equations as JSON, as text and as MAT file (level 4: header of five integers, name, data by
// columns; all numbers as this machine has them, which the type in the header says).
#include "io/linear_file.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "io/file.h"

typedef struct matrix {
    const char   *name; // in JSON and MAT files
    const double *value;
    int           rows, columns;
} matrix;

enum { MOST_MATRICES = 16 };

static int list_matrices(const kd_linear *l, matrix *list)
{
    const int    nx = l->nx, nu = l->nu, ny = l->ny, nv = l->nv, nd = l->nd;
    const matrix all[] = {
        {"A", l->A, nx, nx},     {"B", l->B, nx, nu},
        {"C", l->C, ny, nx},     {"D", l->D, ny, nu},
        {"T", l->T, nv, nx},     {"M", l->M, nv, nv},
        {"R_v", l->R_v, nv, nv}, {"R_p", l->R_p, nv, nv},
        {"F", l->F, nv, nu},     {"J", l->J, l->nconstraints, nv},
        {"E", l->E, nd, nd},     {"Ad", l->A_d, nd, nd},
        {"Bd", l->B_d, nd, nu},  {"Cd", l->C_d, ny, nd},
        {"Dd", l->D_d, ny, nu},
    };
    const int count = (int)(sizeof all / sizeof all[0]) - (l->E ? 0 : 5);
    memcpy(list, all, (size_t)count * sizeof *list);
    return count;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if ((unsigned char)*c >= 0x20)
            fputc(*c, file);
    }
    fputc('"', file);
}

static void put_number(FILE *file, double value)
{
    char text[40];
    fputs(isfinite(value) ? kd_file_number(value, "%.17g", text, sizeof text) : "null", file);
}

static void put_names(FILE *file, const char *key, int n, const char *const *names)
{
    fprintf(file, ",\n\"%s\": [", key);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", file);
        put_text(file, names[i]);
    }
    fputs("]", file);
}

static void put_matrix(FILE *file, const matrix *m)
{
    fprintf(file, ",\n\"%s\": [", m->name);
    for (int i = 0; i < m->rows; i++) {
        fputs(i > 0 ? ",\n  [" : "[", file);
        for (int j = 0; j < m->columns; j++) {
            if (j > 0) fputs(", ", file);
            put_number(file, m->value[(size_t)i + (size_t)j * (size_t)m->rows]);
        }
        fputs("]", file);
    }
    fputs("]", file);
}

static void put_modes(FILE *file, const kd_modes *m)
{
    const struct {
        const char   *key;
        const double *value;
    } list[] = {{"real", m->real}, {"imaginary", m->imaginary}, {"frequency", m->frequency}, {"damping", m->damping}};
    for (int k = 0; k < 4; k++) {
        const matrix row = {list[k].key, list[k].value, m->n > 0, m->n};
        put_matrix(file, &row);
    }
}

void kd_linear_write_json(FILE *file, const kd_linear *l, const kd_modes *modes)
{
    matrix list[MOST_MATRICES];
    fputs("{\n\"t\": ", file);
    put_number(file, l->t);
    fputs(",\n\"speed\": ", file);
    put_number(file, l->speed);
    fputs(",\n\"acceleration\": ", file);
    put_number(file, l->force);
    fprintf(file, ",\n\"redundant\": %d", l->nredundant);
    put_names(file, "states", l->nx, l->state_name);
    put_names(file, "inputs", l->nu, l->input_name);
    put_names(file, "outputs", l->ny, l->output_name);
    put_names(file, "increments", l->nv, l->increment_name);
    if (l->E) put_names(file, "unknowns", l->nd, l->descriptor_name);
    const int count = list_matrices(l, list);
    for (int i = 0; i < count; i++) put_matrix(file, &list[i]);
    if (modes) put_modes(file, modes);
    fputs("\n}\n", file);
}

// ---- text -----------------------------------------------------------------------------------------------------------

static void tell_names(FILE *file, const char *title, const char *letter, int n, const char *const *names)
{
    fprintf(file, "%s\n", title);
    for (int i = 0; i < n; i++) fprintf(file, "  %s%-4d %s\n", letter, i + 1, names[i]);
    if (n == 0) fputs("  none\n", file);
}

static void tell_matrix(FILE *file, const matrix *m)
{
    char text[40];
    fprintf(file, "\n%s (%d x %d)\n", m->name, m->rows, m->columns);
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++)
            fprintf(file, " %16s",
                    kd_file_number(m->value[(size_t)i + (size_t)j * (size_t)m->rows], "%.9g", text, sizeof text));
        fputc('\n', file);
    }
}

void kd_linear_write_text(FILE *file, const kd_linear *l)
{
    matrix list[MOST_MATRICES];
    char   text[40];
    fprintf(file, "Linear equations x' = A x + B u, y = C x + D u at t = %s s\n\n",
            kd_file_number(l->t, "%.9g", text, sizeof text));
    tell_names(file, "States x", "x", l->nx, l->state_name);
    tell_names(file, "Inputs u", "u", l->nu, l->input_name);
    tell_names(file, "Outputs y", "y", l->ny, l->output_name);
    list_matrices(l, list);
    for (int i = 0; i < 4; i++)
        if (list[i].rows > 0 && list[i].columns > 0) tell_matrix(file, &list[i]);
}

// ---- MAT ------------------------------------------------------------------------------------------------------------

// Type MOPT: M 0 little, 1 big endian; O 0; P 0 doubles; T 0 numbers, 1 text
static void put_header(FILE *file, const char *name, int rows, int columns, bool is_text)
{
    const uint16_t probe = 1;
    unsigned char  first;
    memcpy(&first, &probe, 1);
    const int32_t length = (int32_t)strlen(name) + 1;
    const int32_t header[5] = {(first ? 0 : 1000) + (is_text ? 1 : 0), rows, columns, 0, length};
    fwrite(header, sizeof header[0], 5, file);
    fwrite(name, 1, (size_t)length, file);
}

// Lines of text as the rows of a character array, filled up with blanks
static void put_lines(FILE *file, const char *name, int n, const char *const *lines)
{
    size_t longest = 0;
    for (int i = 0; i < n; i++)
        if (strlen(lines[i]) > longest) longest = strlen(lines[i]);
    put_header(file, name, n, (int)longest, true);
    for (size_t j = 0; j < longest; j++)
        for (int i = 0; i < n; i++) {
            double c = j < strlen(lines[i]) ? (unsigned char)lines[i][j] : ' ';
            fwrite(&c, sizeof c, 1, file);
        }
}

void kd_linear_write_mat(FILE *file, const kd_linear *l)
{
    matrix    list[MOST_MATRICES];
    const int count = list_matrices(l, list);
    put_header(file, "t", 1, 1, false);
    fwrite(&l->t, sizeof l->t, 1, file);
    for (int i = 0; i < count; i++) {
        put_header(file, list[i].name, list[i].rows, list[i].columns, false);
        const size_t size = (size_t)list[i].rows * (size_t)list[i].columns;
        if (size > 0) fwrite(list[i].value, sizeof(double), size, file);
    }
    put_lines(file, "state_name", l->nx, l->state_name);
    put_lines(file, "input_name", l->nu, l->input_name);
    put_lines(file, "output_name", l->ny, l->output_name);
}
