// compare.c: kardan compare: a model by all sensible methods: table, work-precision plot, recommendation.
#define _POSIX_C_SOURCE 200809L
#include <kardan/query.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/method.h"
#include "cli/sides.h"
#include "report/compare_file.h"

enum { PATH_SIZE = 4096, MESSAGE_SIZE = 1200 };
static const double INTERVAL = 0.1;    // [s] between two lines of progress
static const double BEFORE_END = 0.99; // of the motion up to an event that ends it
static const char  *DEFAULT_TOLERANCES = "1e-3:1e-9";

// one comparison
typedef struct task {
    kd_subject_request request;
    const char        *tolerances, *output, *coordinates;
    double             t_end, ended; // time of an event that ends the motion, 0: there is none
    bool               json, quiet, brief;
    kd_compare_options options;
    double             tolerance[KD_COMPARE_TOLERANCES];
    kd_subject         subject;
    kd_other_side      other;
    kd_compare_side    side[2];
    int                nsides;
    kd_comparison     *result;
    bool               shows;
    double             shown_at;
    char               message[MESSAGE_SIZE];
} task;

static kd_cli_parsed read_arguments(task *t, int argc, char **argv)
{
    kd_compare_options *o = &t->options;
    const kd_cli_option options[] = {
        {"--tol", "A:B", "tolerances from A to B in decades, or a list A,B,...; default 1e-3:1e-9", KD_CLI_TEXT,
         &t->tolerances},
        {"--only", "A,B,...", "methods: formulations, integrators, or both as ggl+bdf; default: all that make sense",
         KD_CLI_TEXT, &o->only},
        {"--all", NULL, "with those that drift off the constraints", KD_CLI_FLAG, &o->all},
        {"--coordinates", "C", "of a model file: joint, cartesian, both (default)", KD_CLI_TEXT, &t->coordinates},
        {"--t-end", "T", "end time [s]; default: the model's", KD_CLI_NUMBER, &t->t_end},
        {"--times", "N", "times at which motions are compared; default 50", KD_CLI_COUNT, &o->times},
        {"--max-step", "H", "largest step [s]; default: the model's, or no limit", KD_CLI_POSITIVE, &o->h_max},
        {"--budget", "S", "computing time of all runs together [s]; default 120", KD_CLI_POSITIVE, &o->budget},
        {"--patience", "F", "a run is cut off at F times the time of the fastest; default 20", KD_CLI_POSITIVE,
         &o->patience},
        {"--repetitions", "N", "of short runs, of which the fastest counts; default 8", KD_CLI_COUNT, &o->repetitions},
        {"--jobs", "N", "methods that run side by side, which makes times a little longer; default 1", KD_CLI_COUNT,
         &o->jobs},
        {"--output", "DIR", "folder for table, plot and page; default: results", KD_CLI_TEXT, &t->output},
        {"--set", "NAME=VALUE", "another value for a parameter of the model file; repeatable", KD_CLI_LIST,
         &t->request.settings},
        {"--brief", NULL, "print the recommendation without the table", KD_CLI_FLAG, &t->brief},
        {"--quiet", NULL, "print nothing but errors", KD_CLI_FLAG, &t->quiet},
        {"--json", NULL, "print one JSON object", KD_CLI_FLAG, &t->json},
    };
    static const char *const names[] = {"MODEL"};
    const kd_cli_syntax      syntax = {
             .usage = "kardan compare MODEL [OPTION...]",
             .about = "Run MODEL, a file (.yaml, .urdf) or the name of an example, through all sensible combinations of\n"
                           "coordinates, formulation and integrator over a range of tolerances. One table (time, steps, error,\n"
                           "constraints), one work-precision plot, and which method to take for which accuracy. No reference\n"
                           "solution is needed: the spread between independent methods is the error estimate.\n"
                           "Writes DIR/NAME-compare.csv, .svg and .html. Ctrl-C keeps what is done.",
             .details = "Exit status:\n"
                             "  0    compared\n"
                             "  1    nothing could be compared, or a file could not be written\n"
                             "  2    the command line was not understood\n"
                             "  3    the methods contradict each other: groups of them agree on different motions\n"
                             "  130  interrupted; what was done is told and written\n"
                             "\nExamples:\n"
                             "  kardan compare models/slider-crank.yaml\n"
                             "  kardan compare models/hmmwv.yaml --tol 1e-3:1e-6 --budget 600 --t-end 2\n"
                             "  kardan compare andrews --only radau,bdf,dop853\n"
                             "  kardan compare models/stewart.yaml --coordinates cartesian --json > stewart.json\n",
             .options = options,
             .noptions = (int)(sizeof options / sizeof *options),
             .operand_name = names,
             .operand = &t->request.word,
             .noperands = 1,
    };
    return kd_cli_parse(&syntax, argc, argv);
}

// ---- words to options -----------------------------------------------------------------------------------------------

// "1e-3:1e-8" in decades, or "1e-3,3e-4"
static bool read_tolerances(task *t)
{
    const char *text = t->tolerances ? t->tolerances : DEFAULT_TOLERANCES;
    double      from, to;
    char        rest;
    int         n = 0;
    bool        good = true;
    // decades from the first to the second
    if (sscanf(text, "%lf:%lf%c", &from, &to, &rest) == 2) {
        good = from > 0 && to > 0 && isfinite(from) && to <= from;
        // a little below the end: decades are products of 0.1
        for (double tol = from; good && tol >= 0.99 * to && n < KD_COMPARE_TOLERANCES; tol *= 0.1)
            t->tolerance[n++] = tol;
    } else {
        // a list must fall
        for (const char *c = text; good && *c;) {
            char  *end;
            double tol = strtod(c, &end);
            good = end != c && (*end == '\0' || *end == ',') && n < KD_COMPARE_TOLERANCES && tol > 0 &&
                   (n == 0 || tol < t->tolerance[n - 1]);
            if (good) t->tolerance[n++] = tol;
            c = *end ? end + 1 : end;
        }
    }
    good = good && n > 0 && t->tolerance[0] < 1;
    if (!good)
        fprintf(stderr,
                "kardan: --tol wants falling tolerances below 1, such as 1e-3:1e-8 or 1e-3,1e-5, at most %d of them, "
                "not '%s'\n",
                (int)KD_COMPARE_TOLERANCES, text);
    t->options.tolerances = t->tolerance;
    t->options.ntolerances = n;
    return good;
}

// Each word of --only must name something
static bool check_only(const task *t)
{
    kd_compare_method method[KD_COMPARE_METHODS];
    const int         count = kd_compare_methods(method, KD_COMPARE_METHODS);
    char              copy[400];
    if (!t->options.only) return true;
    snprintf(copy, sizeof copy, "%s", t->options.only);
    for (char *rest = copy, *word = kd_cli_next_word(&rest); word; word = kd_cli_next_word(&rest)) {
        bool known = false;
        for (int i = 0; i < count; i++) known = known || kd_compare_method_matches(&method[i], word);
        if (known) continue;
        fprintf(stderr,
                "kardan: --only: no method is called '%s'; words are formulations (psf), integrators (radau), their "
                "methods (cvode-adams, esdirk), or both (ggl+bdf)\n",
                word);
        return false;
    }
    return true;
}

static void take_defaults(task *t)
{
    const kd_run_def   *run = &t->subject.run;
    kd_compare_options *o = &t->options;
    const double        start = t->subject.x->t;
    o->t_end = t->t_end >= 0 ? t->t_end : run->t_end;
    o->h_max = kd_sides_max_step(&t->subject, o->h_max, o->t_end - start);
    // their ratio is kept at all tolerances
    if (run->rtol > 0 && run->atol > 0) o->atol = run->atol / run->rtol;
    // what kardan simulate would take
    kd_method usual = {.formulation = run->formulation, .integrator = run->integrator, .run = run};
    if (kd_method_read(&usual)) {
        kd_method_choose(&usual, &t->subject);
        o->usual.formulation = usual.options.formulation;
        o->usual.integrator = usual.options.integrator;
        o->usual.projected = usual.options.formulation == KD_ODE;
    }
}

// ---- running and telling --------------------------------------------------------------------------------------------

// called in every run; false ends it
static bool go_on(const kd_compare_progress *p, void *context)
{
    task  *t = context;
    double now = t->shows ? kd_cli_seconds() : 0;
    if (t->shows && now - t->shown_at > INTERVAL) {
        t->shown_at = now;
        fprintf(stderr, "\r  run %d of %d: %s, t = %.4g of %.4g s\x1b[K", p->run + 1, p->runs, p->words, p->t,
                t->options.t_end);
        fflush(stderr);
    }
    return !kd_cli_is_interrupted();
}

// table, plot and page; the first that fails ends it
static bool write_files(task *t)
{
    static const char *const ENDING[] = {".csv", ".svg", ".html"};
    char                     path[3][PATH_SIZE];
    const kd_subject        *s = &t->subject;
    kd_status                status = kd_cli_make_folder(t->output, t->message, sizeof t->message);
    // names first: the folder decides whether they fit
    for (int i = 0; i < 3 && status >= 0; i++)
        if (snprintf(path[i], PATH_SIZE, "%s/%s-compare%s", t->output, s->name, ENDING[i]) >= PATH_SIZE) {
            snprintf(t->message, sizeof t->message, "'%.60s' is too long", t->output);
            status = KD_ERR_FILE;
        }
    // numbers, diagram, and both with the advice
    if (status >= 0) status = kd_compare_save_csv(t->result, s->title, path[0], t->message, sizeof t->message);
    if (status >= 0) status = kd_compare_save_svg(t->result, s->title, path[1], t->message, sizeof t->message);
    if (status >= 0) status = kd_compare_save_html(t->result, s->title, path[2], t->message, sizeof t->message);
    if (status < 0) {
        fprintf(stderr, "kardan: %s\n", t->message);
        return false;
    }
    if (!t->quiet && !t->json)
        printf("table:  %s\nplot:   %s\nreport: %s  (open it in a browser)\n", path[0], path[1], path[2]);
    return true;
}

// length first, then the text
static bool print_long(const kd_comparison *c, size_t (*write)(const kd_comparison *c, char *text, size_t size))
{
    size_t size = write(c, NULL, 0) + 1;
    char  *text = malloc(size);
    if (!text) return false;
    write(c, text, size);
    fputs(text, stdout);
    free(text);
    return true;
}

// as JSON, or in words: what was compared, table, advice
static bool tell_comparison(const task *t)
{
    const kd_comparison *c = t->result;
    const kd_subject    *s = &t->subject;
    if (t->quiet) return true;
    if (t->json) {
        bool done = print_long(c, kd_comparison_json);
        printf("\n");
        return done;
    }
    printf("%s: %s, to t = %.6g s\n", s->name, s->title, c->t_end);
    if (t->ended > 0) printf("  an event ends the motion at t = %.6g s\n", t->ended);
    if (t->other.why[0] && t->nsides == 1) printf("  not in the other coordinates: %s\n", t->other.why);
    return (t->brief || print_long(c, kd_comparison_table)) && print_long(c, kd_comparison_advice);
}

// a run that only looks for the end still answers Ctrl-C
static kd_eval watch(const kd_state *x, bool at_time, void *context)
{
    (void)x, (void)at_time, (void)context;
    return kd_cli_is_interrupted() ? KD_EVAL_STOP : KD_EVAL_OK;
}

// An event may end the motion: runs are compared up to shortly before it, where all of them come.
static void shorten(task *t)
{
    const kd_subject *s = &t->subject;
    kd_state         *x = NULL;
    kd_method         method = {.rtol = 1e-6, .run = &s->run, .fixed = true};
    if (!kd_eom_definition(s->eom)->event || !kd_method_read(&method)) return;
    if (kd_state_create(s->eom, &x) < 0) return;
    // one run by the usual method: where does it end?
    kd_state_copy(s->x, x);
    kd_method_decide(&method, s);
    method.options.rtol = method.options.atol = method.rtol;
    method.options.output = watch;
    const kd_simulation_options options = kd_method_for_run(&method);
    kd_status status = kd_simulate(s->eom, kd_subject_inputs(s), &options, x, t->options.t_end, NULL, NULL, 0);
    if (status == KD_STOPPED && !kd_cli_is_interrupted() && x->t > s->x->t) {
        t->ended = x->t;
        t->options.t_end = s->x->t + BEFORE_END * (x->t - s->x->t);
    }
    kd_state_destroy(x);
}

static int compare(task *t)
{
    t->options.go_on = go_on;
    t->options.context = t;
    t->shows = !t->quiet && !t->json && isatty(STDERR_FILENO);
    kd_cli_watch_signals();
    // all runs, then table and advice, then files
    shorten(t);
    kd_status status = kd_compare(t->side, t->nsides, &t->options, &t->result, t->message, sizeof t->message);
    if (t->shows && t->shown_at > 0) fputs("\r\x1b[K", stderr);
    if (status < 0) {
        fprintf(stderr, "kardan: %s: %s\n", t->subject.name, t->message[0] ? t->message : kd_status_sentence(status));
        return status == KD_ERR_ARGUMENT ? KD_EXIT_USAGE : KD_EXIT_FAILED;
    }
    if (!tell_comparison(t) || !write_files(t)) return KD_EXIT_FAILED;
    if (status == KD_STOPPED) return KD_EXIT_INTERRUPTED;
    // nothing could be compared
    if (t->result->reference < 0) return KD_EXIT_FAILED;
    return t->result->split ? KD_EXIT_LIMIT : KD_EXIT_OK;
}

// Foreign code serves one run at a time
static bool can_share(const task *t)
{
    const kd_model *m = t->subject.model;
    for (int i = 0; m && t->options.jobs != 1 && i < kd_model_count(m, KD_SECTION_BLOCK); i++) {
        const kd_block_kind kind = kd_model_block_def(m, i)->kind;
        if (kind != KD_BLOCK_FMU && kind != KD_BLOCK_LIBRARY) continue;
        fprintf(stderr, "kardan: --jobs: block '%s' is foreign code, which serves one run at a time\n",
                kd_model_name(m, KD_SECTION_BLOCK, i));
        return false;
    }
    return true;
}

int kd_cli_compare(int argc, char **argv)
{
    static task t; // of this one command; large
    t = (task){.t_end = -1, .output = "results", .options = kd_compare_options_default()};
    kd_cli_parsed parsed = read_arguments(&t, argc, argv);
    if (parsed != KD_CLI_GO) return parsed == KD_CLI_WRONG ? KD_EXIT_USAGE : KD_EXIT_OK;
    int status = KD_EXIT_USAGE;
    if (!read_tolerances(&t) || !check_only(&t)) return status;
    if (t.coordinates && strcmp(t.coordinates, "both") != 0) t.request.coordinates = t.coordinates;
    if (!kd_subject_open(&t.subject, &t.request, &status)) goto done;
    // joint and Cartesian coordinates are the two sides
    t.nsides = kd_sides_of(&t.subject, t.request.coordinates ? KD_SIDES_OWN : KD_SIDES_BOTH, &t.other, t.side);
    take_defaults(&t);
    status = t.nsides > 0 && can_share(&t) ? compare(&t) : KD_EXIT_FAILED;
done:
    kd_comparison_destroy(t.result);
    kd_sides_close(&t.other);
    kd_subject_close(&t.subject);
    return status;
}
