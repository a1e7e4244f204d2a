// linear_file.c: linear equations as JSON and as text. MAT files: mat_file.c.
#include "results/linear_file.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/rounded.h"
#include "results/file.h"
#include "results/linear_list.h"

typedef kd_linear_matrix matrix;

int kd_linear_list(const kd_linear *l, kd_linear_matrix *list)
{
    const int    nx = l->nx, nu = l->nu, ny = l->ny, nv = l->nv, nd = l->nd;
    bool         moves = false;
    const matrix all[] = {
        {"A", l->A, nx, nx},     {"B", l->B, nx, nu},
        {"C", l->C, ny, nx},     {"D", l->D, ny, nu},
        {"T", l->T, nv, nx},     {"M", l->M, nv, nv},
        {"R_v", l->R_v, nv, nv}, {"R_p", l->R_p, nv, nv},
        {"F", l->F, nv, nu},     {"J", l->J, l->nconstraints, nv},
    };
    const matrix descriptor[] = {
        {"E", l->E, nd, nd},    {"Ad", l->A_d, nd, nd}, {"Bd", l->B_d, nd, nu},
        {"Cd", l->C_d, ny, nd}, {"Dd", l->D_d, ny, nu},
    };
    const matrix rates[] = {{"B1", l->B1, nx, nu}, {"B2", l->B2, nx, nu}, {"D1", l->D1, ny, nu}, {"D2", l->D2, ny, nu}};
    // minimal form and second order form always, descriptor form and rates of inputs where there are any
    int count = sizeof all / sizeof all[0];
    memcpy(list, all, sizeof all);
    if (l->E) {
        memcpy(list + count, descriptor, sizeof descriptor);
        count += (int)(sizeof descriptor / sizeof descriptor[0]);
    }
    for (int i = 0; l->moves && l->B1 && i < nu; i++) moves = moves || l->moves[i];
    if (moves) {
        memcpy(list + count, rates, sizeof rates);
        count += (int)(sizeof rates / sizeof rates[0]);
    }
    return count;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

// Matrices are stored by columns, files have them by rows
static void put_matrix(kd_json *json, const matrix *m)
{
    kd_json_list(json, m->name);
    for (int i = 0; i < m->rows; i++) {
        kd_json_list(json, NULL);
        for (int j = 0; j < m->columns; j++)
            kd_json_number(json, NULL, m->value[(size_t)i + (size_t)j * (size_t)m->rows]);
        kd_json_list_close(json);
    }
    kd_json_list_close(json);
}

static void put_modes(kd_json *json, const kd_modes *m)
{
    const struct {
        const char   *key;
        const double *value;
    } list[] = {{"real", m->real}, {"imaginary", m->imaginary}, {"frequency", m->frequency}, {"damping", m->damping}};
    // one row each, or none: an empty list
    for (int k = 0; k < 4; k++) {
        const matrix row = {list[k].key, list[k].value, m->n > 0, m->n};
        put_matrix(json, &row);
    }
}

void kd_linear_write_json(FILE *file, const kd_linear *l, const kd_modes *modes, const char *rest)
{
    matrix  list[KD_LINEAR_MATRICES];
    kd_json json = {.file = file, .layout = KD_JSON_ROWS};
    kd_json_open(&json, NULL);
    // where and how exact, then names, then matrices
    if (rest) kd_json_text(&json, "from_equilibrium", rest);
    kd_json_number(&json, "t", l->t);
    kd_json_number(&json, "speed", l->speed);
    // how exact it is, and where differences took part
    kd_json_number(&json, "acceleration", l->force);
    kd_json_count(&json, "redundant", l->nredundant);
    kd_json_number(&json, "difference_error", l->difference_error);
    kd_json_text(&json, "difference_of", l->difference_name ? l->difference_name : "");
    // names in the order of rows and columns
    kd_json_texts(&json, "states", l->state_name, l->nx);
    kd_json_texts(&json, "inputs", l->input_name, l->nu);
    kd_json_texts(&json, "outputs", l->output_name, l->ny);
    kd_json_texts(&json, "increments", l->increment_name, l->nv);
    if (l->E) kd_json_texts(&json, "unknowns", l->descriptor_name, l->nd);
    const int count = kd_linear_list(l, list);
    for (int i = 0; i < count; i++) put_matrix(&json, &list[i]);
    if (modes) put_modes(&json, modes);
    kd_json_close(&json);
    fputc('\n', file);
}

// ---- text -----------------------------------------------------------------------------------------------------------

static void tell_names(FILE *file, const char *title, const char *letter, int n, const char *const *names)
{
    fprintf(file, "%s\n", title);
    for (int i = 0; i < n; i++) fprintf(file, "  %s%-4d %s\n", letter, i + 1, names[i]);
    if (n == 0) fputs("  none\n", file);
}

// As many digits as a reader wants to see
static void tell_matrix(FILE *file, const matrix *m)
{
    char text[40];
    fprintf(file, "\n%s (%d x %d)\n", m->name, m->rows, m->columns);
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->columns; j++)
            fprintf(file, " %16s",
                    kd_rounded_text(m->value[(size_t)i + (size_t)j * (size_t)m->rows], "%.9g", text, sizeof text));
        fputc('\n', file);
    }
}

void kd_linear_write_text(FILE *file, const kd_linear *l)
{
    matrix list[KD_LINEAR_MATRICES];
    char   text[40];
    fprintf(file, "Linear equations x' = A x + B u, y = C x + D u at t = %s s\n\n",
            kd_rounded_text(l->t, "%.9g", text, sizeof text));
    tell_names(file, "States x", "x", l->nx, l->state_name);
    tell_names(file, "Inputs u", "u", l->nu, l->input_name);
    tell_names(file, "Outputs y", "y", l->ny, l->output_name);
    kd_linear_list(l, list);
    // A, B, C, D are the first four
    for (int i = 0; i < 4; i++)
        if (list[i].rows > 0 && list[i].columns > 0) tell_matrix(file, &list[i]);
}
