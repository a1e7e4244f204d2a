// frequency.c: kardan frequency: the response of sensors to sinusoidal inputs over the frequency, from the linear
// equations of a model: table, JSON, Bode plot.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/equilibrium.h"
#include "cli/operating_point.h"
#include "cli/response_page.h"
#include "report/svg.h"
#include "report/viewer.h"
#include "results/csv.h"

enum { MOST_POINTS = 20000, MOST_PAIRS = 16, TEXT_SIZE = 4096, NAME_SIZE = 420 };

#define TWO_PI 6.28318530717958647692

// one input and one sensor
typedef struct pair {
    int     input, output;
    char    name[NAME_SIZE];      // "sensor by input"
    double *gain, *level, *phase; // (n) magnitude, in dB, [deg]
    int     peak;
} pair;

// one response: which pairs, which frequencies
typedef struct task {
    kd_operating_point point;
    const char        *range, *inputs, *sensors, *output;
    int                points;
    bool               json;
    double             from, to;  // [Hz]
    double            *frequency; // (n) [Hz]
    double            *memory;    // of all numbers
    int                n;
    pair               pair[MOST_PAIRS];
    int                npairs;
    char               message[1000];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_cli_option options[6 + KD_OPERATING_POINT_OPTIONS] = {
        {"--input", "A,B,...", "inputs that move; default: all", KD_CLI_TEXT, &t->inputs},
        {"--sensor", "A,B,...", "sensors that answer; default: all", KD_CLI_TEXT, &t->sensors},
        {"--range", "A:B", "from A to B [Hz]; default: around the frequencies of the modes", KD_CLI_TEXT, &t->range},
        {"--points", "N", "frequencies in the range, those of modes besides; default: 400", KD_CLI_COUNT, &t->points},
        {"--output", "FOLDER", "write NAME-frequency.csv, .svg and .html there", KD_CLI_TEXT, &t->output},
        {"--json", NULL, "print one JSON object", KD_CLI_FLAG, &t->json},
    };
    int                      count = 6 + kd_operating_point_options(&t->point, options + 6);
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan frequency MODEL [OPTION...]",
             .about = "Frequency response of MODEL from its inputs to its sensors, by its linear equations at the start or\n"
                           "along its motion: gain at low frequency, peak, phase; Bode plot.",
             .details = "Examples:\n"
                             "  kardan frequency models/quarter-car.yaml --output results\n"
                             "  kardan frequency models/truck7.yaml --input front --range 0.1:30\n",
             .options = options,
             .noptions = count,
             .operand_name = names,
             .operand = &t->point.request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- what is wanted -------------------------------------------------------------------------------------------------

// --range A:B, in Hz; without it choose_range takes one around the frequencies of the modes
static bool read_range(task *t)
{
    char rest = 0;
    if (!t->range) return true;
    if (sscanf(t->range, "%lf:%lf%c", &t->from, &t->to, &rest) == 2 && t->from > 0 && t->to > t->from &&
        isfinite(t->to))
        return true;
    fprintf(stderr, "kardan: --range '%s': write A:B with 0 < A < B in Hz, for example 0.1:100\n", t->range);
    return false;
}

// A name as it is, or without its first word: luggage for input.luggage
static bool names(const char *word, const char *name)
{
    const char *tail = strchr(name, '.');
    return strcmp(word, name) == 0 || (tail && strcmp(word, tail + 1) == 0);
}

// Numbers of the names in the list, all without one; -1 after a message
static int choose(const char *option, const char *list, int n, const char *const *name, int *chosen, int room)
{
    char text[TEXT_SIZE], *rest = text;
    int  count = 0;
    if (!list) {
        for (int i = 0; i < n && count < room; i++) chosen[count++] = i;
        return count;
    }
    // each word of the list is a name, or the list of names is told
    snprintf(text, sizeof text, "%s", list);
    for (char *word; (word = kd_cli_next_word(&rest)) && count < room;) {
        int i = 0;
        while (i < n && !names(word, name[i])) i++;
        if (i == n) {
            fprintf(stderr, "kardan: %s: the model has no '%s'; it has", option, word);
            for (int k = 0; k < n; k++) fprintf(stderr, "%s %s", k > 0 ? "," : "", name[k]);
            fprintf(stderr, "%s\n", n == 0 ? " none" : "");
            return -1;
        }
        chosen[count++] = i;
    }
    return count;
}

// every input with every sensor
static bool choose_pairs(task *t)
{
    const kd_linear *l = t->point.linear;
    int              input[MOST_PAIRS + 1], output[MOST_PAIRS + 1];
    const int        nu = choose("--input", t->inputs, l->nu, l->input_name, input, MOST_PAIRS + 1);
    const int        ny = nu < 0 ? -1 : choose("--sensor", t->sensors, l->ny, l->output_name, output, MOST_PAIRS + 1);
    if (nu < 0 || ny < 0) return false;
    if (nu == 0 || ny == 0) {
        fprintf(stderr, "kardan: the model has no %s\n", nu == 0 ? "inputs" : "sensors");
        return false;
    }
    if (nu * ny > MOST_PAIRS) {
        fprintf(stderr, "kardan: more than %d pairs: choose by --input and --sensor\n", (int)MOST_PAIRS);
        return false;
    }
    // every input with every sensor
    for (int i = 0; i < nu; i++)
        for (int k = 0; k < ny; k++) {
            pair *p = &t->pair[t->npairs++];
            *p = (pair){.input = input[i], .output = output[k]};
            snprintf(p->name, sizeof p->name, "%s by %s", l->output_name[output[k]], l->input_name[input[i]]);
        }
    return true;
}

// A decade around the modes that swing, or around all
static void choose_range(task *t)
{
    const kd_modes *m = t->point.modes;
    double          low = INFINITY, high = 0;
    if (t->range) return;
    // modes that swing; if there are none all that are not zero
    for (int only_swinging = 1; only_swinging >= 0 && high == 0; only_swinging--)
        for (int i = 0; i < m->n; i++) {
            if (m->frequency[i] <= 1e-6 * m->frequency[m->n - 1] || (only_swinging && m->imaginary[i] <= 0)) continue;
            low = fmin(low, m->frequency[i]);
            high = fmax(high, m->frequency[i]);
        }
    // without any mode: two decades around 1 Hz
    t->from = high > 0 ? low / 10 : 0.01;
    t->to = high > 0 ? high * 10 : 100;
}

// ---- the response ---------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Equal ratios, and the modes, where peaks are
static void choose_frequencies(task *t)
{
    const kd_modes *m = t->point.modes;
    for (int i = 0; i < t->points; i++)
        t->frequency[i] = t->points > 1 ? t->from * pow(t->to / t->from, (double)i / (t->points - 1)) : t->from;
    t->n = t->points;
    // exactly on a peak only where it is finite: an undamped mode has no response there
    for (int i = 0; i < m->n; i++) {
        const double f = m->imaginary[i] / TWO_PI;
        if (m->damping[i] > 1e-9 && f > t->from && f < t->to) t->frequency[t->n++] = f;
    }
    qsort(t->frequency, (size_t)t->n, sizeof *t->frequency, by_size);
}

static void read_pair(const task *t, pair *p, const double *re, const double *im)
{
    const kd_linear *l = t->point.linear;
    for (int i = 0; i < t->n; i++) {
        // column of the transfer matrix: (sensor, input) of frequency i
        const size_t at = (size_t)i * (size_t)(l->nu * l->ny) + (size_t)(p->output + p->input * l->ny);
        double       phase = atan2(im[at], re[at]) * 360 / TWO_PI;
        p->gain[i] = hypot(re[at], im[at]);
        p->level[i] = 20 * log10(p->gain[i]);
        // unwrapped: without jumps of a whole turn
        if (i > 0) phase += 360 * round((p->phase[i - 1] - phase) / 360);
        // a gain of 0 has no phase: that of the frequency before
        p->phase[i] = p->gain[i] > 0 ? phase : i > 0 ? p->phase[i - 1] : 0;
        if (p->gain[i] > p->gain[p->peak]) p->peak = i;
    }
}

static bool compute_responses(task *t)
{
    const kd_linear *l = t->point.linear;
    const size_t     most = (size_t)t->points + (size_t)t->point.modes->n, answers = (size_t)(l->nu * l->ny) * most;
    double          *at = t->memory = calloc((2 + 3 * (size_t)t->npairs) * most + 2 * answers, sizeof *at);
    if (!at) return false;
    // one block of memory: frequencies, then gain, level and phase of each pair
    t->frequency = at, at += most;
    for (int k = 0; k < t->npairs; k++) {
        t->pair[k].gain = at, t->pair[k].level = at + most, t->pair[k].phase = at + 2 * most;
        at += 3 * most;
    }
    // all responses at once, then pair by pair
    choose_frequencies(t);
    for (int i = 0; i < t->n; i++) at[i] = TWO_PI * t->frequency[i];
    double *re = at + most, *im = re + answers;
    if (kd_linear_response(l, t->n, at, re, im) < 0) return false;
    for (int k = 0; k < t->npairs; k++) read_pair(t, &t->pair[k], re, im);
    return true;
}

// ---- files and words ------------------------------------------------------------------------------------------------

static bool save_table(task *t, const char *path)
{
    const char *name[1 + 2 * MOST_PAIRS] = {"frequency [Hz]"};
    char        text[2 * MOST_PAIRS][NAME_SIZE + 20];
    double      row[1 + 2 * MOST_PAIRS];
    kd_csv     *csv;
    // two columns for each pair
    for (int k = 0; k < t->npairs; k++) {
        snprintf(text[2 * k], sizeof text[0], "%s gain", t->pair[k].name);
        snprintf(text[2 * k + 1], sizeof text[0], "%s phase [deg]", t->pair[k].name);
        name[1 + 2 * k] = text[2 * k], name[2 + 2 * k] = text[2 * k + 1];
    }
    if (kd_csv_create(path, 1 + 2 * t->npairs, &csv, t->message, sizeof t->message) < 0) return false;
    kd_csv_header(csv, name);
    kd_status status = KD_OK;
    // rows of frequencies with finite responses
    for (int i = 0; i < t->n && status >= 0; i++) {
        bool finite = true; // at an eigenvalue there is no response
        row[0] = t->frequency[i];
        for (int k = 0; k < t->npairs; k++) {
            row[1 + 2 * k] = t->pair[k].gain[i], row[2 + 2 * k] = t->pair[k].phase[i];
            finite = finite && isfinite(t->pair[k].gain[i]);
        }
        if (finite) status = kd_csv_row(csv, row);
    }
    return kd_csv_close(csv, t->message, sizeof t->message) >= 0 && status >= 0;
}

// gain above phase, over the same frequencies
static bool save_plot(task *t, const char *path)
{
    kd_series gain[MOST_PAIRS], phase[MOST_PAIRS];
    for (int k = 0; k < t->npairs; k++) {
        gain[k] = (kd_series){.name = t->pair[k].name, .x = t->frequency, .y = t->pair[k].level, .n = t->n};
        phase[k] = (kd_series){.name = t->pair[k].name, .x = t->frequency, .y = t->pair[k].phase, .n = t->n};
    }
    const kd_plot plots[] = {
        {.title = "Frequency response",
         .xlabel = "frequency [Hz]",
         .ylabel = "gain [dB]",
         .xlog = true,
         .nseries = t->npairs,
         .series = gain},
        {.xlabel = "frequency [Hz]", .ylabel = "phase [deg]", .xlog = true, .nseries = t->npairs, .series = phase}};
    return kd_svg_save(path, plots, 2, 1, t->message, sizeof t->message) >= 0;
}

// The page in which the mechanism swings, for model files where the viewer is built in
static bool save_page(task *t, char *path, size_t size)
{
    kd_response response[MOST_PAIRS];
    path[0] = '\0';
    if (!t->point.subject.system || !kd_viewer_is_built()) return true;
    snprintf(path, size, "%s/%s-frequency.html", t->output, t->point.subject.name);
    for (int k = 0; k < t->npairs; k++) {
        const pair *p = &t->pair[k];
        response[k] = (kd_response){p->name, p->input, p->level, p->phase, p->peak};
    }
    return kd_cli_save_responses(&t->point, path, t->frequency, t->n, response, t->npairs, t->message,
                                 sizeof t->message) >= 0;
}

// only if a folder was given
static bool save(task *t)
{
    char table[1200], plot[1200], page[1200];
    if (!t->output) return true;
    snprintf(table, sizeof table, "%s/%s-frequency.csv", t->output, t->point.subject.name);
    snprintf(plot, sizeof plot, "%s/%s-frequency.svg", t->output, t->point.subject.name);
    if (kd_cli_make_folder(t->output, t->message, sizeof t->message) < 0 || !save_table(t, table) ||
        !save_plot(t, plot) || !save_page(t, page, sizeof page)) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (!t->json) printf("\n%s\n%s\n%s%s", table, plot, page, page[0] ? "\n" : "");
    return true;
}

static void tell_text(const task *t)
{
    const kd_linear *l = t->point.linear;
    const int        last = t->n - 1;
    printf("%s: %s\n", t->point.subject.name, t->point.subject.title);
    kd_cli_tell_held(&t->point.subject);
    if (l->speed > 0 || l->force > 1e-6)
        printf("not at rest: largest velocity %.3g, largest acceleration %.3g; the response is that of this moment\n",
               l->speed, l->force);
    for (int k = 0; k < t->npairs; k++) {
        const pair *p = &t->pair[k];
        printf("\n%s\n  %14s %14s %12s %12s\n", p->name, "[Hz]", "gain", "[dB]", "phase [deg]");
        // first, largest, last
        const int   row[] = {0, p->peak, last};
        const char *word[] = {"", "   largest", ""};
        for (int i = 0; i < 3; i++)
            if (i == 0 || row[i] != row[i - 1])
                printf("  %14.7g %14.7g %12.4f %12.3f%s\n", t->frequency[row[i]], p->gain[row[i]], p->level[row[i]],
                       p->phase[row[i]], row[i] == p->peak ? word[1] : word[0]);
    }
}

// all numbers, for programs
static void tell_json(const task *t)
{
    kd_json json = {.file = stdout};
    kd_json_open(&json, NULL);
    kd_json_text(&json, "model", t->point.request.word);
    if (t->point.subject.rest[0]) kd_json_text(&json, "from_equilibrium", t->point.subject.rest);
    kd_json_number(&json, "t", t->point.linear->t);
    kd_json_numbers(&json, "frequency", t->frequency, t->n);
    for (int k = 0; k < t->npairs; k++) {
        kd_json_open(&json, t->pair[k].name);
        kd_json_numbers(&json, "gain", t->pair[k].gain, t->n);
        kd_json_numbers(&json, "phase", t->pair[k].phase, t->n);
        kd_json_close(&json);
    }
    kd_json_close(&json);
    printf("\n");
}

// pairs, range, responses, then words and files
static int respond(task *t)
{
    if (!choose_pairs(t)) return KD_EXIT_USAGE;
    choose_range(t);
    if (!compute_responses(t)) {
        fputs("kardan: out of memory\n", stderr);
        return KD_EXIT_FAILED;
    }
    if (t->json)
        tell_json(t);
    else
        tell_text(t);
    return save(t) ? KD_EXIT_OK : KD_EXIT_FAILED;
}

int kd_cli_frequency(int argc, char **argv)
{
    static task t; // of this one command; large
    int         status = KD_EXIT_USAGE;
    t = (task){.points = 400};
    t.point.at = NAN;
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    if (t.points > MOST_POINTS) {
        fprintf(stderr, "kardan: --points: at most %d\n", (int)MOST_POINTS);
        return KD_EXIT_USAGE;
    }
    if (!read_range(&t)) return KD_EXIT_USAGE;
    if (kd_operating_point_open(&t.point, &status)) status = respond(&t);
    free(t.memory);
    kd_operating_point_close(&t.point);
    return status;
}
