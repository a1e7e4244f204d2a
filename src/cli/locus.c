// locus.c: root locus as table, JSON and picture; the numbers: analysis/locus.
//
// The values are shared out between threads, each of which has a model of its own, opened at the first value and changed to the others:
// what is found at a value does not depend on who finds it. Rows are told in their order.
#include "cli/locus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/locus.h"
#include "cli/mode_pictures.h"
#include "core/crew.h"
#include "report/svg.h"
#include "report/viewer.h"

enum { MOST_STEPS = 2000, MOST_FILMS = 72, MOST_SWINGS = 8 };

// one locus
typedef struct locus {
    kd_operating_point *point;  // (threads) each worker's own; the first is the caller's
    kd_crew_turn        turn;   // of rows
    int                 status; // of the first row that failed
    const char         *output;
    bool                as_json;
    kd_json             json;
    kd_locus           *found;
    kd_modes_page      *page; // NULL: none is wanted
    double              scale;
    // of --vary
    char   name[100];
    double from, to;
    int    steps;
    // where stability changes
    kd_critical critical[KD_LOCUS_CRITICAL];
    int         ncritical;
    char        subject[KD_SUBJECT_NAME], message[1000];
} locus;

// NAME=A:B:N
static bool read_range(locus *t, const char *vary)
{
    const char *equals = strchr(vary, '=');
    char        rest = 0;
    if (equals && equals > vary && (size_t)(equals - vary) < sizeof t->name &&
        sscanf(equals + 1, "%lf:%lf:%d%c", &t->from, &t->to, &t->steps, &rest) == 3 && isfinite(t->from) &&
        isfinite(t->to) && t->steps >= 2 && t->steps <= MOST_STEPS) {
        snprintf(t->name, sizeof t->name, "%.*s", (int)(equals - vary), vary);
        return true;
    }
    fprintf(stderr, "kardan: --vary '%s': write NAME=A:B:N with N from 2 to %d, for example cs=0:5000:26\n", vary,
            (int)MOST_STEPS);
    return false;
}

// N values, ends included
static double parameter_at(const locus *t, int i)
{
    return t->from + (t->to - t->from) * i / (t->steps - 1);
}

// The operating point with the parameter set: the model is read for the first value, and changed for the others. The
// setting is that of this call only.
static bool open_at(const locus *t, kd_operating_point *point, double value, int *status)
{
    kd_cli_list *settings = &point->request.settings;
    char         setting[200];
    snprintf(setting, sizeof setting, "%s=%.17g", t->name, value);
    settings->word[settings->count++] = setting;
    bool good = kd_operating_point_change(point, t->name, value, status);
    settings->count--;
    return good;
}

// ---- the eigenvalues ------------------------------------------------------------------------------------------------

// the least stable mode
static void tell_row(const kd_modes *m, double value)
{
    const int worst = kd_locus_slowest(m);
    if (worst >= 0)
        printf("  %14.7g %14.7g %14.7g %12.6g\n", value, m->real[worst], fabs(m->imaginary[worst]),
               m->frequency[worst]);
}

// a line of the table, or a member
static void tell_step(locus *t, int step, const kd_modes *m)
{
    char key[40];
    if (!t->as_json) {
        tell_row(m, parameter_at(t, step));
        return;
    }
    snprintf(key, sizeof key, "%d", step);
    kd_json_open(&t->json, key);
    kd_json_number(&t->json, "value", parameter_at(t, step));
    kd_cli_tell_modes(&t->json, m);
    kd_json_close(&t->json);
}

// The page of the locus, once the model is known; examples in C have nothing to show
static bool open_page(locus *t)
{
    char path[1200], title[400];
    if (!t->output || !t->point->subject.system || !kd_viewer_is_built()) return true;
    snprintf(path, sizeof path, "%s/%s-locus.html", t->output, t->subject);
    snprintf(title, sizeof title, "Root locus: %s", t->point->subject.title);
    if (kd_cli_make_folder(t->output, t->message, sizeof t->message) >= 0 &&
        kd_modes_page_open(path, title, t->name, &t->page, t->message, sizeof t->message) >= 0)
        return true;
    fprintf(stderr, "kardan: %s\n", t->message);
    return false;
}

// Modes that swing as points of the page, slow ones first; every so many values they move
static kd_status add_to_page(locus *t, const kd_operating_point *point, int step)
{
    const kd_modes *m = point->modes;
    int             swings = 0;
    for (int k = 0; k < m->n; k++) swings += m->imaginary[k] > 0;
    const int shown = swings < MOST_SWINGS ? swings : MOST_SWINGS,
              every = (t->steps * shown + MOST_FILMS - 1) / MOST_FILMS;
    kd_status status = KD_OK;
    for (int k = 0, i = 0; k < m->n && i < shown && status >= 0; k++) {
        if (!(m->imaginary[k] > 0)) continue;
        status =
            kd_cli_add_mode(point, k, parameter_at(t, step), every > 0 && step % every == 0 ? t->scale : 0, t->page);
        i++;
    }
    return status;
}

// A row of the locus, of its table and of its page; its turn has come
static int add_row(locus *t, const kd_operating_point *point, int step)
{
    snprintf(t->subject, sizeof t->subject, "%s", point->subject.name);
    if (step == 0 && !open_page(t)) return KD_EXIT_FAILED;
    if (kd_locus_add(t->found, parameter_at(t, step), point->modes) < 0 ||
        (t->page && add_to_page(t, point, step) < 0)) {
        fputs("kardan: out of memory\n", stderr);
        return KD_EXIT_FAILED;
    }
    tell_step(t, step, point->modes);
    return KD_EXIT_OK;
}

// One value: equations and modes side by side with others, then its row. Behind a row that failed nothing is told
static bool one_value(locus *t, int worker, int step)
{
    kd_operating_point *point = &t->point[worker];
    int                 status = KD_EXIT_OK;
    bool                good = point->modes || step == 0 || open_at(t, point, parameter_at(t, 0), &status);
    good = good && open_at(t, point, parameter_at(t, step), &status);
    kd_crew_turn_begin(&t->turn, step);
    if (t->status == KD_EXIT_OK) t->status = good ? add_row(t, point, step) : status;
    good = t->status == KD_EXIT_OK;
    kd_crew_turn_end(&t->turn);
    return good;
}

// The values behind the first one
static bool further_value(int worker, int unit, void *context)
{
    return one_value(context, worker, unit + 1);
}

// A model for each worker, made of the same words
static bool hire(locus *t, int threads)
{
    kd_operating_point *point = calloc((size_t)threads, sizeof *point);
    if (!point) return false;
    point[0] = *t->point;
    for (int i = 1; i < threads; i++) point[i] = point[0];
    t->point = point;
    return true;
}

static void dismiss(locus *t, int threads)
{
    for (int i = 0; i < threads; i++) kd_operating_point_close(&t->point[i]);
    free(t->point);
}

// ---- where stability changes ----------------------------------------------------------------------------------------

// for the search of critical values between two rows
static const kd_modes *modes_at(double value, void *context)
{
    locus *t = context;
    int    status;
    return open_at(t, t->point, value, &status) ? t->point->modes : NULL;
}

static void describe_mode(int mode, void *context, char *text, size_t size)
{
    const locus *t = context;
    kd_operating_point_moves_most(t->point, mode, text, size);
}

// where a mode begins or ends to grow, and which one
static void tell_critical(locus *t)
{
    char key[40];
    if (t->as_json) kd_json_open(&t->json, "critical");
    for (int i = 0; i < t->ncritical; i++) {
        const kd_critical *c = &t->critical[i];
        const char        *where = c->grows_above ? "above" : "below";
        snprintf(key, sizeof key, "%d", i);
        if (t->as_json) {
            kd_json_open(&t->json, key);
            kd_json_number(&t->json, "value", c->value);
            kd_json_number(&t->json, "frequency", c->frequency);
            kd_json_text(&t->json, "grows", where);
            kd_json_text(&t->json, "mode", c->mode);
            kd_json_close(&t->json);
        } else {
            printf("%scritical %s = %.9g: %s it a mode of %.6g Hz grows; %s\n", i == 0 ? "\n" : "", t->name, c->value,
                   where, c->frequency, c->mode);
        }
    }
    if (t->as_json) kd_json_close(&t->json);
}

// ---- all ------------------------------------------------------------------------------------------------------------

// all eigenvalues as points
static bool draw(locus *t)
{
    char          path[1200], note[600];
    const double *real, *imaginary;
    const int     count = kd_locus_points(t->found, &real, &imaginary);
    kd_series     series = {.x = real, .y = imaginary, .n = count, .markers = true};
    kd_plot       plot = {.title = "Root locus",
                          .xlabel = "real part [1/s]",
                          .ylabel = "imaginary part [rad/s]",
                          .nseries = 1,
                          .series = &series,
                          .note = note,
                          .height = 480};
    // the note names up to four critical values
    int length = snprintf(note, sizeof note, "%s = %.6g to %.6g, %d values", t->name, t->from, t->to, t->steps);
    for (int i = 0; i < t->ncritical && i < 4; i++)
        length += snprintf(note + length, sizeof note - (size_t)length, "%s%.6g", i == 0 ? "; critical: " : ", ",
                           t->critical[i].value);
    snprintf(path, sizeof path, "%s/%s-locus.svg", t->output, t->subject);
    if (kd_cli_make_folder(t->output, t->message, sizeof t->message) < 0 ||
        kd_svg_save(path, &plot, 1, 1, t->message, sizeof t->message) < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (!t->as_json) printf("\n%s\n", path);
    return true;
}

static bool close_page(locus *t, bool good)
{
    const bool has_page = t->page != NULL;
    if (kd_modes_page_close(t->page, good ? KD_OK : KD_ERR_ARGUMENT, t->message, sizeof t->message) < 0 && good) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (has_page && good && !t->as_json) printf("%s/%s-locus.html\n", t->output, t->subject);
    return true;
}

int kd_cli_locus(kd_operating_point *point, const char *vary, const char *output, double scale, int jobs, bool as_json)
{
    static locus t; // of this one command; large
    t = (locus){.point = point,
                .turn = KD_CREW_TURN_START,
                .output = output,
                .scale = scale,
                .as_json = as_json,
                .json = {.file = stdout}};
    if (!read_range(&t, vary)) return KD_EXIT_USAGE;
    // open_at needs room for one more setting
    if (point->request.settings.count >= KD_CLI_LONGEST_LIST) {
        fputs("kardan: too many --set\n", stderr);
        return KD_EXIT_USAGE;
    }
    const int threads = kd_crew_size(jobs, t.steps - 1);
    if (kd_locus_create(t.steps, &t.found) < 0 || !hire(&t, threads)) {
        fputs("kardan: out of memory\n", stderr);
        kd_locus_destroy(t.found);
        return KD_EXIT_FAILED;
    }
    // head of the table, rows as they come, then where stability changes
    if (as_json)
        kd_json_open(&t.json, NULL);
    else
        printf("The eigenvalue with the largest real part, but for those that are zero\n\n  %14s %14s %14s %12s\n",
               t.name, "real [1/s]", "imag [rad/s]", "[Hz]");
    // what is wrong with the model is found, and told once, at the first value
    if (one_value(&t, 0, 0)) kd_crew_run(threads, t.steps - 1, further_value, &t);
    const kd_locus_source source = {modes_at, describe_mode, &t};
    if (t.status == KD_EXIT_OK) t.ncritical = kd_locus_find_critical(t.found, &source, t.critical);
    if (t.status == KD_EXIT_OK) tell_critical(&t);
    if (as_json) kd_json_close(&t.json);
    if (as_json) printf("\n");
    if (t.status == KD_EXIT_OK && output && !draw(&t)) t.status = KD_EXIT_FAILED;
    if (!close_page(&t, t.status == KD_EXIT_OK)) t.status = KD_EXIT_FAILED;
    kd_locus_destroy(t.found);
    dismiss(&t, threads);
    return t.status;
}
